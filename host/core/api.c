/* alisio.h: the host for other programs. The conversations themselves are Lua, alisio.ui.embed;
 * here are the rules of the header, and the way of its events from Lua to the program. */
#include "core/embed.h"
#include "core/mem.h"
#include "core/post.h"
#include "core/state.h"
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char module_key = 0; /* registry: what alisio.ui.embed returned */

uint32_t alisio_version(void)
{
    return ALISIO_VERSION;
}

const char *alisio_error_name(int error)
{
    static const char *const names[] = {
        "ok",        "invalid argument", "out of memory", "busy",
        "not found", "exists",           "script failed", "input or output failed",
        "cancelled", "version",          "locked"
    };
    size_t at = error > 0 ? sizeof names : (size_t) - (long)error;

    return at < sizeof names / sizeof *names ? names[at] : "unknown error";
}

const char *alisio_error_detail(const alisio_host *host)
{
    return host ? host->detail : "";
}

int embed_fail(alisio_host *h, int rc, const char *detail)
{
    snprintf(h->detail, sizeof h->detail, "%s", detail ? detail : "");
    return rc;
}

/* ---- asking Lua ---- */

static int error_of(const char *id)
{
    static const struct {
        const char *id;
        int error;
    } known[] = {
        { "busy", ALISIO_EBUSY },          { "cancelled", ALISIO_ECANCELED },
        { "exists", ALISIO_EEXISTS },      { "invalid", ALISIO_EINVAL },
        { "io_error", ALISIO_EIO },        { "no_space", ALISIO_EIO },
        { "not_found", ALISIO_ENOTFOUND }, { "session_locked", ALISIO_ELOCKED },
    };

    for (size_t i = 0; id && i < sizeof known / sizeof *known; i++)
        if (strcmp(id, known[i].id) == 0)
            return known[i].error;
    return ALISIO_ESCRIPT;
}

typedef struct ask {
    const embed_question *q;
    al_task *task; /* when it waits */
} ask;

static void push_question(lua_State *L, const embed_question *q) /* → [fn, arguments…] */
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &module_key);
    lua_getfield(L, -1, q->function);
    lua_remove(L, -2);
    for (int i = 0; i < q->count; i++)
        lua_pushstring(L, q->texts[i]);
    if (q->bytes)
        lua_pushlstring(L, q->bytes, q->size);
    for (int i = 0; i < 2 && q->numbers[i]; i++)
        lua_pushinteger(L, (lua_Integer)q->numbers[i]);
    if (q->tool) {
        lua_pushlightuserdata(L, q->tool);
        lua_pushcclosure(L, embed_tool_call, 1);
    }
}

static int ask_now(lua_State *L) /* [ask] → what it answers */
{
    ask *a = lua_touserdata(L, 1);

    push_question(L, a->q);
    lua_call(L, lua_gettop(L) - 2, 3);
    return 3;
}

static int ask_task(lua_State *L) /* [ask] → [task] */
{
    ask *a = lua_touserdata(L, 1);

    push_question(L, a->q);
    a->task = al_task_spawn(L, lua_gettop(L) - 2);
    return 1;
}

static int task_answer(lua_State *L) /* [ask, task] → what it answered, or its error */
{
    ask *a = lua_touserdata(L, 1);
    int n;

    if (!al_task_outcome(L, a->task, &n)) {
        al_task_traceback(L, 2);
        return lua_error(L);
    }
    return n;
}

static int protected(lua_State *L, lua_CFunction fn, ask *a, int nargs, int nresults)
{
    lua_pushcfunction(L, fn);
    lua_insert(L, -1 - nargs);
    lua_pushlightuserdata(L, a);
    lua_insert(L, -1 - nargs);
    return lua_pcall(L, nargs + 1, nresults, 0);
}

int embed_ask(alisio_host *h, const embed_question *q)
{
    lua_State *L = h->core->L;
    ask a = { .q = q };
    int rc;

    if (h->ending)
        return embed_fail(h, ALISIO_ECANCELED, "the host is being destroyed");
    if (q->waits) {
        rc = protected(L, ask_task, &a, 0, 1);
        if (rc == LUA_OK) {
            al_host_wait(h->core, a.task);
            rc = protected(L, task_answer, &a, 1, 3);
        }
    } else {
        rc = protected(L, ask_now, &a, 0, 3);
    }
    embed_touch(h);
    if (rc != LUA_OK) {
        embed_fail(h, 0, lua_tostring(L, -1));
        rc = strcmp(h->detail, "not enough memory") == 0 ? ALISIO_ENOMEM : ALISIO_ESCRIPT;
    } else if (lua_toboolean(L, -3)) {
        rc = ALISIO_OK;
        if (q->task)
            *q->task = *(al_task **)lua_touserdata(L, -2);
    } else {
        rc = embed_fail(h, error_of(lua_tostring(L, -1)), lua_tostring(L, -2));
    }
    lua_settop(L, 0);
    return rc;
}

/* ---- events and turns ---- */

typedef struct event_item {
    embed_item item;
    alisio_event event;
    char json[];
} event_item;

struct embed_turn {
    alisio_host *host;
    uint64_t id, session;
    al_task *task;   /* alive while it is not over */
    event_item *end; /* for when not even the last event can be made */
    embed_turn *prev, *next;
};

static void run_event(alisio_host *h, embed_item *item)
{
    event_item *e = (event_item *)item; /* item is the first member */

    h->on_event(h, &e->event, h->on_event_data);
    free(e);
}

static event_item *event_new(const alisio_event *event, const char *json, size_t len)
{
    event_item *e = al_mem_zero(sizeof *e + len + 1);

    if (!e)
        return NULL;
    memcpy(e->json, json, len);
    e->event = *event;
    e->event.size = sizeof e->event;
    e->event.json = e->json;
    e->event.json_len = len;
    e->item.run = run_event;
    return e;
}

static embed_turn *turn_of(alisio_host *h, uint64_t id, uint64_t session)
{
    embed_turn *t = h->turns;

    while (t && t->id != id && t->session != session)
        t = t->next;
    return t;
}

/* The session is free for another turn. */
static void turn_free(embed_turn *t)
{
    alisio_host *h = t->host;

    if (t->prev)
        t->prev->next = t->next;
    else
        h->turns = t->next;
    if (t->next)
        t->next->prev = t->prev;
    al_host_expected(h->core);
    free(t->end);
    free(t);
}

/* Its task is over. When that was for want of memory, the last event is still to come. */
static void turn_over(void *data)
{
    alisio_host *h = data;

    for (embed_turn *t = h->turns, *next; t; t = next) {
        next = t->next;
        if (!al_task_over(t->task))
            continue;
        embed_put(h, &t->end->item);
        t->end = NULL;
        turn_free(t);
    }
}

static int l_emit(lua_State *L) /* emit(kind, session, turn, request, error id or nil, json) */
{
    alisio_host *h = lua_touserdata(L, lua_upvalueindex(1));
    size_t len;
    const char *json = luaL_checklstring(L, 6, &len);
    alisio_event event = { .kind = (int32_t)luaL_checkinteger(L, 1),
                           .session = (uint64_t)luaL_checkinteger(L, 2),
                           .turn = (uint64_t)luaL_checkinteger(L, 3),
                           .request = (uint64_t)luaL_checkinteger(L, 4) };

    event.error = lua_isnoneornil(L, 5) ? ALISIO_OK : error_of(luaL_checkstring(L, 5));
    embed_turn *turn = event.turn ? turn_of(h, event.turn, 0) : NULL;
    if (event.turn && !turn) /* it has had its last event */
        return 0;
    event_item *e = event_new(&event, json, len);
    if (!e)
        return luaL_error(L, "not enough memory");
    embed_put(h, &e->item);
    if (event.kind == ALISIO_EV_TURN_END)
        turn_free(turn);
    return 0;
}

static int l_next_id(lua_State *L) /* next_id() → a number no other thing of this host has */
{
    alisio_host *h = lua_touserdata(L, lua_upvalueindex(1));

    lua_pushinteger(L, (lua_Integer)++h->last_id);
    return 1;
}

/* ---- the host ---- */

typedef struct beginning {
    alisio_host *host;
    const alisio_options *options;
} beginning;

static void set_text(lua_State *L, const char *key, const char *text)
{
    lua_pushstring(L, text);
    lua_setfield(L, -2, key);
}

static void set_function(lua_State *L, const char *key, lua_CFunction fn, alisio_host *h)
{
    lua_pushlightuserdata(L, h);
    lua_pushcclosure(L, fn, 1);
    lua_setfield(L, -2, key);
}

static int start(lua_State *L) /* [beginning]: loads the module and keeps it */
{
    beginning *b = lua_touserdata(L, 1);
    const alisio_options *o = b->options;

    lua_getglobal(L, "require");
    lua_pushliteral(L, "alisio.ui.embed");
    lua_call(L, 1, 1);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &module_key);
    lua_getfield(L, -1, "options");
    set_text(L, "config_dir", o->config_dir);
    set_text(L, "state_dir", o->state_dir);
    lua_pushboolean(L, o->read_only);
    lua_setfield(L, -2, "read_only");
    lua_pushinteger(L, o->log_level);
    lua_setfield(L, -2, "log_level");
    set_function(L, "emit", l_emit, b->host);
    set_function(L, "next_id", l_next_id, b->host);
    return 0;
}

static int begin_lua(alisio_host *h, const alisio_options *o)
{
    lua_State *L = h->core->L;
    beginning b = { h, o };

    lua_pushcfunction(L, start);
    lua_pushlightuserdata(L, &b);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
        embed_fail(h, 0, lua_tostring(L, -1));
        lua_settop(L, 0);
        return strcmp(h->detail, "not enough memory") == 0 ? ALISIO_ENOMEM : ALISIO_ESCRIPT;
    }
    return embed_ask(h, &(embed_question){ .function = "start", .waits = true });
}

static int check_options(const alisio_options *o, const char **why)
{
    if (!o || o->size < sizeof *o)
        *why = "options are set by ALISIO_OPTIONS_INIT";
    else if (o->size > sizeof *o)
        *why = "the options were built for a newer library";
    else if (!o->state_dir || !*o->state_dir)
        *why = "state_dir is required";
    else if (!o->on_event)
        *why = "on_event is required";
    else if (o->log_level < 0 || o->log_level > 3)
        *why = "log_level is 0 to 3";
    else
        return ALISIO_OK;
    return o && o->size > sizeof *o ? ALISIO_EVERSION : ALISIO_EINVAL;
}

static void report(al_host *core, const char *text, void *data)
{
    (void)core, (void)text, (void)data; /* alisio.ui.embed hears of it by std.task.on_error */
}

static int open_host(alisio_host *h, const alisio_options *o)
{
    al_host_options core = { .helper_dir = o->helper_dir, .report = report, .data = h };
    al_err err = { 0 };
    int rc = al_host_open(&h->core, &core, &err);

    if (rc != AL_OK) {
        al_err_text(&err, h->detail, sizeof h->detail);
        return rc;
    }
    h->fd = (al_drive_fd){ -1, -1 };
    h->on_event = o->on_event;
    h->on_event_data = o->on_event_data;
    rc = begin_lua(h, o);
    if (rc == ALISIO_OK && embed_loop_open(h, o->loop, &err) != AL_OK) {
        al_err_text(&err, h->detail, sizeof h->detail);
        rc = ALISIO_EIO;
    }
    return rc;
}

static void drop_items(alisio_host *h)
{
    embed_item *item;

    while ((item = h->first)) {
        h->first = item->next;
        free(item); /* events only: nothing else was there to begin */
    }
}

int alisio_create(alisio_host **out, const alisio_options *o, char *why, size_t why_size)
{
    const char *reason = "not enough memory";
    int rc = out ? check_options(o, &reason) : ALISIO_EINVAL;
    alisio_host *h = rc == ALISIO_OK ? al_mem_zero(sizeof *h) : NULL;

    if (h) {
        rc = open_host(h, o);
        reason = h->detail;
    } else if (rc == ALISIO_OK) {
        rc = ALISIO_ENOMEM;
    }
    if (rc != ALISIO_OK && why && why_size > 0)
        snprintf(why, why_size, "%s", reason);
    if (rc == ALISIO_OK) {
        *out = h;
    } else if (h) {
        al_host_close(h->core);
        drop_items(h);
        free(h);
    }
    return rc;
}

/* ---- posts ---- */

typedef struct posted_item {
    embed_item item;
    alisio_host *host;
    void (*fn)(alisio_host *host, void *data);
    void *data;
} posted_item;

static void run_posted(alisio_host *h, embed_item *item)
{
    posted_item *p = (posted_item *)item; /* item is the first member */

    p->fn(h, p->data);
    free(p);
}

static void to_outbox(al_host *core, void *data)
{
    posted_item *p = data;
    (void)core;

    embed_put(p->host, &p->item);
}

int alisio_post(alisio_host *h, void (*fn)(alisio_host *host, void *data), void *data)
{
    if (!h || !fn)
        return ALISIO_EINVAL;
    posted_item *p = calloc(1, sizeof *p);
    if (!p)
        return ALISIO_ENOMEM;
    p->item.run = run_posted;
    p->host = h;
    p->fn = fn;
    p->data = data;
    int rc = al_post(h->core, to_outbox, p);
    if (rc != AL_OK)
        free(p);
    return rc;
}

/* ---- conversations ---- */

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int alisio_session_open(alisio_host *h, const char *cwd, const char *resume_id, int flags,
                        uint64_t *session)
{
    if (!h || !session)
        return ALISIO_EINVAL;
    if (!cwd || cwd[0] != '/' || !is_folder(cwd))
        return embed_fail(h, ALISIO_EINVAL, "cwd has to be the absolute path of a folder");
    if (flags & ~ALISIO_SESSION_READ_ONLY)
        return embed_fail(h, ALISIO_EINVAL, "unknown flags");
    const char *texts[] = { cwd, resume_id };
    uint64_t id = ++h->last_id;
    int rc = embed_ask(h, &(embed_question){ .function = flags ? "open_read_only" : "open",
                                             .texts = texts,
                                             .count = 2,
                                             .numbers = { id },
                                             .waits = true });
    if (rc == ALISIO_OK)
        *session = id;
    return rc;
}

int alisio_session_close(alisio_host *h, uint64_t session)
{
    if (!h || session == 0)
        return ALISIO_EINVAL;
    return embed_ask(h, &(embed_question){ .function = "close", .numbers = { session } });
}

static embed_turn *turn_new(alisio_host *h, uint64_t session)
{
    static const char json[] =
        "{\"v\":1,\"type\":\"run_completed\",\"status\":\"failed\",\"usage\":{},"
        "\"durationMs\":0,\"error\":{\"code\":\"internal\","
        "\"message\":\"not enough memory\"}}";
    embed_turn *t = al_mem_zero(sizeof *t);
    alisio_event end = { .kind = ALISIO_EV_TURN_END, .error = ALISIO_ESCRIPT, .session = session };

    if (!t)
        return NULL;
    end.turn = t->id = ++h->last_id;
    t->session = session;
    t->host = h;
    t->end = event_new(&end, json, sizeof json - 1);
    if (!t->end) {
        free(t);
        return NULL;
    }
    t->next = h->turns;
    if (h->turns)
        h->turns->prev = t;
    h->turns = t;
    al_host_expect(h->core); /* until its last event */
    return t;
}

int alisio_prompt(alisio_host *h, uint64_t session, const char *text, size_t len, uint64_t *turn)
{
    if (!h || session == 0 || !text || !turn)
        return ALISIO_EINVAL;
    if (turn_of(h, 0, session))
        return embed_fail(h, ALISIO_EBUSY, "a turn is running in this session");
    embed_turn *t = turn_new(h, session);
    if (!t)
        return embed_fail(h, ALISIO_ENOMEM, "not enough memory");
    int rc = embed_ask(h, &(embed_question){ .function = "prompt",
                                             .bytes = text,
                                             .size = len,
                                             .numbers = { session, t->id },
                                             .task = &t->task });
    if (rc != ALISIO_OK) {
        turn_free(t);
        return rc;
    }
    al_task_watch(t->task, turn_over, h);
    *turn = t->id;
    return ALISIO_OK;
}

int alisio_cancel(alisio_host *h, uint64_t turn)
{
    if (!h || turn == 0)
        return ALISIO_EINVAL;
    if (!turn_of(h, turn, 0))
        return embed_fail(h, ALISIO_ENOTFOUND, "there is no such turn, or it has ended");
    return embed_ask(h, &(embed_question){ .function = "cancel", .numbers = { turn } });
}

int alisio_answer(alisio_host *h, uint64_t request, const char *option_id)
{
    if (!h || request == 0)
        return ALISIO_EINVAL;
    const char *texts[] = { option_id };
    return embed_ask(
        h, &(embed_question){
               .function = "answer", .texts = texts, .count = 1, .numbers = { request } });
}
