/* host.http: prim/http and prim/sse for Lua, as std.http uses them. A transfer is a userdata; what
 * waits on it is an operation of at most one task. */
#include "bind/util.h"
#include "core/host.h"
#include "core/mem.h"
#include "core/task.h"
#include "prim/http.h"
#include "prim/sse.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define CLIENT   "al.http_client"
#define TRANSFER "al.http_transfer"
#define PARSER   "al.sse_parser"

int luaopen_host_http(lua_State *L);

typedef struct http_op http_op;

typedef struct http_transfer {
    al_http_transfer *t;
    http_op *waiting;
} http_transfer;

struct http_op {
    al_op op; /* first member */
    http_transfer *of;
    bool for_head;
};

/* --- what an answer looks like in Lua --- */

static int push_failure(lua_State *L, const al_http_transfer *t)
{
    al_err err = { 0 };
    al_http_ended(t, &err);
    return al_fail(L, &err);
}

/* name → value; a header that came more than once is joined by ", ". */
static void push_headers(lua_State *L, const al_http_transfer *t)
{
    size_t left;
    const char *line = al_http_headers(t, &left);

    lua_newtable(L);
    while (left > 0) {
        size_t len = strlen(line);
        const char *value = strstr(line, ": ");
        lua_pushlstring(L, line, (size_t)(value - line)); /* [headers, name] */
        lua_pushvalue(L, -1);
        if (lua_rawget(L, -3) == LUA_TSTRING) { /* [headers, name, first] */
            lua_pushliteral(L, ", ");
            lua_pushstring(L, value + 2);
            lua_concat(L, 3);
        } else {
            lua_pop(L, 1);
            lua_pushstring(L, value + 2);
        }
        lua_rawset(L, -3);
        line += len + 1;
        left -= len + 1;
    }
}

static bool head_ready(const al_http_transfer *t)
{
    return al_http_status(t) != 0 || al_http_ended(t, NULL);
}

static int push_head(lua_State *L, const al_http_transfer *t)
{
    if (al_http_status(t) == 0)
        return push_failure(L, t);
    lua_pushinteger(L, al_http_status(t));
    push_headers(L, t);
    return 2;
}

static bool read_ready(const al_http_transfer *t)
{
    size_t len;
    al_http_peek(t, &len);
    return len > 0 || al_http_ended(t, NULL);
}

static int push_read(lua_State *L, al_http_transfer *t)
{
    size_t len;
    const char *bytes = al_http_peek(t, &len);
    al_err err = { 0 };

    if (len > 0) {
        lua_pushlstring(L, bytes, len);
        al_http_drain(t);
        return 1;
    }
    al_http_ended(t, &err);
    if (err.code)
        return al_fail(L, &err);
    lua_pushnil(L);
    return 1;
}

static int push_waited(lua_State *L, void *arg)
{
    http_op *op = arg;

    luaL_checkstack(L, 10, "http");
    return op->for_head ? push_head(L, op->of->t) : push_read(L, op->of->t);
}

static void on_news(void *data)
{
    http_transfer *h = data;
    http_op *op = h->waiting;

    if (!op || !(op->for_head ? head_ready(h->t) : read_ready(h->t)))
        return;
    h->waiting = NULL;
    al_op_done(&op->op, push_waited, op);
    free(op);
}

static void op_cancel(al_op *base)
{
    http_op *op = (http_op *)base;

    op->of->waiting = NULL;
    al_op_done(base, NULL, NULL);
    free(op);
}

/* --- what Lua calls --- */

static int l_client_gc(lua_State *L)
{
    al_http **slot = lua_touserdata(L, 1);
    al_http_free(*slot);
    *slot = NULL;
    return 0;
}

static void client_gone(void *host)
{
    al_host_drop(host);
}

/* The client of this state, made at the first request. NULL with *err set. */
static al_http *client_of(lua_State *L, al_err *err)
{
    static const char key;
    al_http **slot;

    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &key) == LUA_TUSERDATA) {
        slot = lua_touserdata(L, -1);
        lua_pop(L, 1);
        return *slot;
    }
    lua_pop(L, 1);
    slot = lua_newuserdatauv(L, sizeof *slot, 0);
    *slot = NULL;
    luaL_setmetatable(L, CLIENT);
    al_host *host = al_host_of(L);
    if (al_http_new(slot, al_host_loop(host), err) == AL_OK) {
        al_host_hold(host); /* a host is closed when its connections are */
        al_http_on_gone(*slot, client_gone, host);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &key);
    }
    al_http *client = *slot;
    lua_pop(L, 1);
    return client;
}

static unsigned check_ms(lua_State *L, int arg)
{
    lua_Integer ms = luaL_optinteger(L, arg, 0);
    luaL_argcheck(L, ms >= 0 && ms <= INT_MAX, arg, "milliseconds expected");
    return (unsigned)ms;
}

static const char *check_text(lua_State *L, int arg)
{
    size_t len;
    const char *text = luaL_checklstring(L, arg, &len);
    luaL_argcheck(L, strlen(text) == len, arg, "a NUL byte in it");
    return text;
}

/* The list of "Name: value" at arg, as C strings that live as long as the list does. */
static const char **check_headers(lua_State *L, int arg, size_t *n)
{
    luaL_checktype(L, arg, LUA_TTABLE);
    *n = lua_rawlen(L, arg);
    const char **list = lua_newuserdatauv(L, (*n + 1) * sizeof *list, 0);
    for (size_t i = 0; i < *n; i++) {
        size_t len;
        if (lua_rawgeti(L, arg, (lua_Integer)i + 1) != LUA_TSTRING)
            luaL_argerror(L, arg, "strings expected");
        list[i] = lua_tolstring(L, -1, &len);
        luaL_argcheck(L, strlen(list[i]) == len, arg, "a NUL byte in a header");
        lua_pop(L, 1);
    }
    return list;
}

/* start(method, url, headers, body, connectMs, idleMs, totalMs, maxBytes) -> transfer */
static int l_start(lua_State *L)
{
    al_http_request r = { .method = check_text(L, 1), .url = check_text(L, 2) };
    al_err err = { 0 };

    lua_settop(L, 8);
    r.headers = check_headers(L, 3, &r.nheaders);
    r.body = luaL_optlstring(L, 4, NULL, &r.body_len);
    r.connect_ms = check_ms(L, 5);
    r.idle_ms = check_ms(L, 6);
    r.total_ms = check_ms(L, 7);
    lua_Integer max = luaL_optinteger(L, 8, 0);
    luaL_argcheck(L, max >= 0, 8, "bytes expected");
    r.max_bytes = (uint64_t)max;
    al_http *client = client_of(L, &err);
    if (!client)
        return al_fail(L, &err);
    http_transfer *h = lua_newuserdatauv(L, sizeof *h, 0);
    *h = (http_transfer){ 0 };
    luaL_setmetatable(L, TRANSFER);
    if (al_http_start(&h->t, client, &r, on_news, h, &err) < 0)
        return al_fail(L, &err);
    return 1;
}

static int wait_for(lua_State *L, bool for_head)
{
    http_transfer *h = luaL_checkudata(L, 1, TRANSFER);
    al_task *task = al_task_check(L);

    if (!h->t)
        return luaL_error(L, "the transfer is closed");
    if (h->waiting)
        return luaL_error(L, "another task waits for this transfer");
    if (for_head && head_ready(h->t))
        return push_head(L, h->t);
    if (!for_head && read_ready(h->t))
        return push_read(L, h->t);
    http_op *op = al_mem_zero(sizeof *op);
    if (!op)
        return luaL_error(L, "not enough memory");
    op->of = h;
    op->for_head = for_head;
    h->waiting = op;
    return al_op_wait(L, task, &op->op, op_cancel);
}

static int l_head(lua_State *L) /* transfer:head() -> status, headers */
{
    return wait_for(L, true);
}

static int l_read(lua_State *L) /* transfer:read() -> bytes, or nil at the end */
{
    return wait_for(L, false);
}

static int push_closed(lua_State *L, void *arg)
{
    (void)arg;
    return luaL_error(L, "the transfer was closed by another task");
}

static int l_close(lua_State *L)
{
    http_transfer *h = luaL_checkudata(L, 1, TRANSFER);
    http_op *op = h->waiting;

    al_http_close(h->t);
    h->t = NULL;
    h->waiting = NULL;
    if (op) {
        al_op_done(&op->op, push_closed, NULL);
        free(op);
    }
    return 0;
}

/* --- server-sent events --- */

static void push_event(lua_State *L, const al_sse *p)
{
    lua_createtable(L, 0, 4);
    lua_pushlstring(L, p->data, p->data_len);
    lua_setfield(L, -2, "data");
    lua_pushstring(L, *p->event ? p->event : "message");
    lua_setfield(L, -2, "event");
    lua_pushstring(L, p->id);
    lua_setfield(L, -2, "id");
    if (p->retry >= 0) {
        lua_pushinteger(L, p->retry);
        lua_setfield(L, -2, "retry");
    }
}

static int l_sse_parser(lua_State *L) /* sse_parser(lineMax, eventMax) */
{
    lua_Integer line_max = luaL_optinteger(L, 1, AL_SSE_LINE_MAX);
    lua_Integer event_max = luaL_optinteger(L, 2, AL_SSE_EVENT_MAX);
    luaL_argcheck(L, line_max > 0, 1, "bytes expected");
    luaL_argcheck(L, event_max > 0, 2, "bytes expected");
    al_sse *p = lua_newuserdatauv(L, sizeof *p, 0);
    al_sse_init(p, (size_t)line_max, (size_t)event_max);
    luaL_setmetatable(L, PARSER);
    return 1;
}

static int l_feed(lua_State *L) /* parser:feed(bytes) -> events */
{
    al_sse *p = luaL_checkudata(L, 1, PARSER);
    size_t len;
    const char *bytes = luaL_checklstring(L, 2, &len);
    al_err err = { 0 };
    lua_Integer n = 0;
    int rc;

    lua_newtable(L);
    while ((rc = al_sse_next(p, &bytes, &len, &err)) == 1) {
        push_event(L, p);
        lua_rawseti(L, -2, ++n);
    }
    return rc < 0 ? al_fail(L, &err) : 1;
}

static int l_finish(lua_State *L) /* parser:finish() -> event that stood unfinished, or nil */
{
    al_sse *p = luaL_checkudata(L, 1, PARSER);
    al_err err = { 0 };
    int rc = al_sse_finish(p, &err);

    if (rc < 0)
        return al_fail(L, &err);
    if (rc == 0) {
        lua_pushnil(L);
        return 1;
    }
    push_event(L, p);
    lua_pushboolean(L, 1);
    lua_setfield(L, -2, "unfinished");
    return 1;
}

static int l_parser_gc(lua_State *L)
{
    al_sse_free(luaL_checkudata(L, 1, PARSER));
    return 0;
}

int luaopen_host_http(lua_State *L)
{
    static const luaL_Reg client_meta[] = { { "__gc", l_client_gc }, { NULL, NULL } };
    static const luaL_Reg transfer[] = {
        { "head", l_head }, { "read", l_read }, { "close", l_close }, { NULL, NULL }
    };
    static const luaL_Reg transfer_meta[] = { { "__gc", l_close },
                                              { "__close", l_close },
                                              { NULL, NULL } };
    static const luaL_Reg parser[] = { { "feed", l_feed }, { "finish", l_finish }, { NULL, NULL } };
    static const luaL_Reg parser_meta[] = { { "__gc", l_parser_gc }, { NULL, NULL } };
    static const luaL_Reg module[] = { { "start", l_start },
                                       { "sse_parser", l_sse_parser },
                                       { NULL, NULL } };

    al_lua_type(L, CLIENT, NULL, client_meta);
    al_lua_type(L, TRANSFER, transfer, transfer_meta);
    al_lua_type(L, PARSER, parser, parser_meta);
    lua_settop(L, 0);
    luaL_newlib(L, module);
    return 1;
}
