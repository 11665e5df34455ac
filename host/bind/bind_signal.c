/* host.signal: signals to this process, as names a task can wait for. While a handle is open its
 * signals do nothing else. */
#include "bind/util.h"
#include "core/host.h"
#include "core/mem.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define SIGNALS "al.signals"

int luaopen_host_signal(lua_State *L);

static const struct {
    const char *name;
    int number;
} known[] = { { "HUP", SIGHUP },     { "INT", SIGINT },   { "QUIT", SIGQUIT },
              { "TERM", SIGTERM },   { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 },
              { "WINCH", SIGWINCH }, { "CONT", SIGCONT }, { "TSTP", SIGTSTP } };
enum { KNOWN = sizeof known / sizeof *known };

typedef struct watcher watcher;
typedef struct set {
    al_host *host;
    al_op *op;       /* the task that waits */
    int came[KNOWN]; /* how often, not yet told; index in known */
    watcher *watchers[KNOWN];
} set;

struct watcher { /* freed when its handle is closed, maybe after the set */
    uv_signal_t handle;
    set *set;
    int index;
    al_host *host;
};

static int push_name(lua_State *L, void *arg)
{
    set *s = arg;

    for (int i = 0; i < KNOWN; i++)
        if (s->came[i] > 0) {
            s->came[i]--;
            lua_pushstring(L, known[i].name);
            return 1;
        }
    lua_pushnil(L);
    return 1;
}

static bool any(const set *s)
{
    for (int i = 0; i < KNOWN; i++)
        if (s->came[i] > 0)
            return true;
    return false;
}

static void answer(set *s, al_push push)
{
    al_op *op = s->op;

    s->op = NULL;
    al_op_done(op, push, s);
    free(op);
}

static void on_signal(uv_signal_t *handle, int number)
{
    watcher *w = (watcher *)handle;

    (void)number;
    w->set->came[w->index]++;
    if (w->set->op)
        answer(w->set, push_name);
}

static void on_closed(uv_handle_t *handle)
{
    watcher *w = (watcher *)handle;

    al_host_drop(w->host);
    free(w);
}

static int close_set(lua_State *L)
{
    set *s = luaL_checkudata(L, 1, SIGNALS);

    if (s->op)
        answer(s, push_name); /* nothing came: nil */
    for (int i = 0; i < KNOWN; i++) {
        if (s->watchers[i])
            uv_close((uv_handle_t *)&s->watchers[i]->handle, on_closed);
        s->watchers[i] = NULL;
    }
    return 0;
}

struct wait_op {
    al_op op;
    set *set;
};

static void cancel_wait(al_op *op)
{
    answer(((struct wait_op *)op)->set, NULL);
}

static int l_wait(lua_State *L) /* signals:wait() -> name */
{
    set *s = luaL_checkudata(L, 1, SIGNALS);
    al_task *task = al_task_check(L);
    struct wait_op *op;

    if (any(s))
        return push_name(L, s);
    if (s->op)
        return luaL_error(L, "another task waits for these signals");
    op = al_mem_zero(sizeof *op);
    if (!op)
        return luaL_error(L, "not enough memory");
    op->set = s;
    s->op = &op->op;
    return al_op_wait(L, task, &op->op, cancel_wait);
}

static int find(lua_State *L, const char *name)
{
    for (int i = 0; i < KNOWN; i++)
        if (strcmp(name, known[i].name) == 0)
            return i;
    return luaL_error(L, "no signal '%s': HUP, INT, QUIT, TERM, USR1, USR2, WINCH, CONT, TSTP",
                      name);
}

static int l_open(lua_State *L) /* open{ "INT", … } -> signals */
{
    lua_Integer n = (luaL_checktype(L, 1, LUA_TTABLE), luaL_len(L, 1));
    set *s = lua_newuserdatauv(L, sizeof *s, 0);

    memset(s, 0, sizeof *s);
    s->host = al_host_of(L);
    luaL_setmetatable(L, SIGNALS);
    for (lua_Integer i = 1; i <= n; i++) {
        int at, rc;
        lua_geti(L, 1, i);
        at = find(L, luaL_checkstring(L, -1));
        lua_pop(L, 1);
        if (s->watchers[at])
            continue;
        watcher *w = al_mem_zero(sizeof *w);
        if (!w)
            return luaL_error(L, "not enough memory");
        *w = (watcher){ .set = s, .index = at, .host = s->host };
        uv_signal_init(al_host_loop(s->host), &w->handle);
        al_host_hold(s->host);
        s->watchers[at] = w; /* closed with the set from here on */
        rc = uv_signal_start(&w->handle, on_signal, known[at].number);
        if (rc < 0)
            return luaL_error(L, "signal %s: %s", known[at].name, uv_strerror(rc));
    }
    return 1;
}

int luaopen_host_signal(lua_State *L)
{
    static const luaL_Reg methods[] = { { "wait", l_wait },
                                        { "close", close_set },
                                        { NULL, NULL } };
    static const luaL_Reg metas[] = { { "__gc", close_set },
                                      { "__close", close_set },
                                      { NULL, NULL } };
    static const luaL_Reg module[] = { { "open", l_open }, { NULL, NULL } };

    al_lua_type(L, SIGNALS, methods, metas);
    luaL_newlib(L, module);
    return 1;
}
