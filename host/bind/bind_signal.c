/* host.signal: signals to this process, as names a task can wait for. While a handle is open its
 * signals do nothing else, with one exception: who sends the same signal again while the loop has
 * not come to the first (Lua that runs on and on) ends the process. */
#include "bind/util.h"
#include "core/host.h"
#include "core/mem.h"
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

#define AGAIN_MS 100 /* sooner it is one press that arrived twice */

/* For signals that ask to end: libuv's own handler, and since when (ms, 0: not) one waits for the
 * loop. */
static struct {
    void (*handler)(int);
    atomic_llong waits_since;
} unseen[KNOWN];

static bool asks_to_end(int number)
{
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

static long long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t); /* may be called in a handler */
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000 + 1;
}

static void on_arrival(int number)
{
    long long now = now_ms();

    for (int i = 0; i < KNOWN; i++)
        if (known[i].number == number) {
            long long first = atomic_load(&unseen[i].waits_since);
            if (first == 0)
                atomic_store(&unseen[i].waits_since, now);
            else if (now - first >= AGAIN_MS)
                _exit(128 + number);
            unseen[i].handler(number);
        }
}

/* Puts on_arrival in front of the handler that libuv has just set. */
static void stand_in_front(int at)
{
    struct sigaction now;

    if (!asks_to_end(known[at].number) || sigaction(known[at].number, NULL, &now) != 0 ||
        (now.sa_flags & SA_SIGINFO) || now.sa_handler == on_arrival)
        return;
    unseen[at].handler = now.sa_handler;
    atomic_store(&unseen[at].waits_since, 0);
    now.sa_handler = on_arrival;
    sigaction(known[at].number, &now, NULL);
}

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
    atomic_store(&unseen[w->index].waits_since, 0);
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
        stand_in_front(at);
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
