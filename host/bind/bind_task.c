/* host.task: what std.task is made of. spawn, sleep, and a waiter that another task wakes. */
#include "core/host.h"
#include "core/mem.h"
#include "core/task.h"
#include <lauxlib.h>
#include <stddef.h>

int luaopen_host_task(lua_State *L);

#define WAITER_TYPE "al.waiter"

/* ---- sleep ---- */

typedef struct sleep_op {
    al_op op;
    uv_timer_t timer;
} sleep_op;

static void sleep_closed(uv_handle_t *handle)
{
    sleep_op *s = handle->data;

    al_op_done(&s->op, NULL, NULL);
    free(s);
}

static void sleep_over(uv_timer_t *timer)
{
    uv_close((uv_handle_t *)timer, sleep_closed);
}

static void sleep_cancel(al_op *op)
{
    sleep_op *s = (sleep_op *)op; /* op is the first member */

    if (!uv_is_closing((uv_handle_t *)&s->timer))
        sleep_over(&s->timer);
}

static int l_sleep(lua_State *L) /* sleep(ms) */
{
    lua_Integer ms = luaL_checkinteger(L, 1);
    luaL_argcheck(L, ms >= 0, 1, "milliseconds cannot be negative");
    al_task *task = al_task_check(L);
    uv_loop_t *loop = al_host_loop(al_host_of(L));
    sleep_op *s = al_mem_zero(sizeof *s);

    if (!s)
        return luaL_error(L, "not enough memory");
    uv_timer_init(loop, &s->timer);
    s->timer.data = s;
    uv_update_time(loop);
    uv_timer_start(&s->timer, sleep_over, (uint64_t)ms, 0);
    return al_op_wait(L, task, &s->op, sleep_cancel);
}

/* ---- waiter ---- */

typedef struct waiter_op waiter_op;

typedef struct waiter {
    waiter_op *waiting; /* NULL while nobody waits */
} waiter;

struct waiter_op {
    al_op op;
    al_end_wait end; /* its target is NULL where it waits for no task */
    waiter *owner;
};

typedef struct passed {
    lua_State *from;
    int n;
} passed;

static int push_passed(lua_State *L, void *arg)
{
    passed *p = arg;

    if (!lua_checkstack(L, p->n))
        luaL_error(L, "not enough memory");
    lua_xmove(p->from, L, p->n);
    return p->n;
}

static void waiter_end(waiter_op *w, al_push push, void *arg)
{
    w->owner->waiting = NULL;
    if (w->end.target)
        al_end_wait_stop(&w->end);
    al_op_done(&w->op, push, arg);
    free(w);
}

static void waiter_cancel(al_op *op)
{
    waiter_end((waiter_op *)op, NULL, NULL);
}

static void waiter_task_over(al_end_wait *end)
{
    waiter_end((waiter_op *)((char *)end - offsetof(waiter_op, end)), NULL, NULL);
}

static int l_waiter(lua_State *L) /* waiter() */
{
    waiter *w = lua_newuserdatauv(L, sizeof *w, 0);

    w->waiting = NULL;
    luaL_setmetatable(L, WAITER_TYPE);
    return 1;
}

/* waiter:wait(task?) → what wake passes; nothing when the task is over first */
static int l_wait(lua_State *L)
{
    waiter *w = luaL_checkudata(L, 1, WAITER_TYPE);
    al_task *target = lua_isnoneornil(L, 2) ? NULL : al_task_to(L, 2);
    al_task *task = al_task_check(L);
    waiter_op *op;

    luaL_argcheck(L, !w->waiting, 1, "another task waits on it");
    luaL_argcheck(L, target != task, 2, "a task cannot wait for itself");
    op = al_mem_zero(sizeof *op);
    if (!op)
        return luaL_error(L, "not enough memory");
    if (target && !al_end_wait_begin(&op->end, target, waiter_task_over)) {
        free(op);
        return 0;
    }
    op->owner = w;
    w->waiting = op;
    return al_op_wait(L, task, &op->op, waiter_cancel);
}

static int l_wake(lua_State *L) /* waiter:wake(values…) → whether a task was waiting */
{
    waiter *w = luaL_checkudata(L, 1, WAITER_TYPE);
    passed p = { L, lua_gettop(L) - 1 };
    bool waits = w->waiting != NULL;

    if (waits)
        waiter_end(w->waiting, push_passed, &p);
    lua_pushboolean(L, waits);
    return 1;
}

/* ---- tasks ---- */

static int l_spawn(lua_State *L) /* spawn(fn, arguments…) → task */
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    al_task_spawn(L, lua_gettop(L) - 1);
    return 1;
}

static int l_task_cancel(lua_State *L) /* task:cancel() */
{
    al_task_cancel(al_task_to(L, 1));
    return 0;
}

static int l_task_over(lua_State *L) /* task:over() → however it ended */
{
    lua_pushboolean(L, al_task_over(al_task_to(L, 1)));
    return 1;
}

static int l_current(lua_State *L) /* current() → task or nil */
{
    al_task_push_current(L);
    return 1;
}

static const luaL_Reg waiter_methods[] = { { "wait", l_wait }, { "wake", l_wake }, { NULL, NULL } };

static const luaL_Reg task_methods[] = {
    { "wait", al_task_wait }, { "cancel", l_task_cancel }, { "over", l_task_over }, { NULL, NULL }
};

static const luaL_Reg functions[] = { { "spawn", l_spawn },
                                      { "sleep", l_sleep },
                                      { "current", l_current },
                                      { "on_error", al_task_on_error },
                                      { "wait_any", al_task_wait_any },
                                      { "waiter", l_waiter },
                                      { NULL, NULL } };

int luaopen_host_task(lua_State *L)
{
    luaL_newmetatable(L, WAITER_TYPE);
    luaL_newlib(L, waiter_methods);
    lua_setfield(L, -2, "__index");
    luaL_getmetatable(L, AL_TASK_TYPE);
    luaL_newlib(L, task_methods);
    lua_setfield(L, -2, "__index");
    luaL_newlib(L, functions);
    return 1;
}
