/* Tasks. A task is a coroutine whose body runs inside a protected call, so that errors unwind there
 * and __close handlers may wait. All resumes happen in drain(), which the loop calls while tasks
 * are ready: no resume ever nests in another, nor in the callback that ended an operation.
 *
 * Cancelling resumes a task with the error "cancelled". From then on every wait raises it again,
 * but in a __close handler, which may wait until the task's deadline. A task that goes on
 * swallowing the error is closed from outside. */
#include "core/task.h"
#include "core/mem.h"
#include "core/state.h"
#include <assert.h>
#include <lauxlib.h>
#include <string.h>

#define CLOSE_MS   1000 /* what the __close handlers of a cancelled task may wait, in all */
#define MAX_RAISES 64   /* waits that raise after that; then the task is closed from outside */
#define CANCELLED  "cancelled"

enum { UV_COROUTINE = 1, UV_TRACEBACK = 2 }; /* user values of a task's userdata */

typedef enum task_state {
    TASK_NEW,     /* queued for its first step */
    TASK_READY,   /* queued with what its wait has brought */
    TASK_RUNNING, /* inside lua_resume */
    TASK_WAITING, /* op is what it waits for */
    TASK_DOOMED,  /* yielded to be closed from outside */
    TASK_OVER
} task_state;

typedef enum wake_kind {
    WAKE_VALUES,
    WAKE_ERROR, /* its message is the value */
    WAKE_NO_MEMORY,
    WAKE_CANCELLED,
    WAKE_DEADLOCK
} wake_kind;

struct al_task {
    al_host *host;
    lua_State *co; /* lives in the userdata; NULL once that was collected */
    al_op *op;     /* what it waits for */
    task_state state;
    wake_kind wake;    /* how the wait ended */
    int nvalues;       /* on top of co: arguments of the next resume, or the results when over */
    int refs;          /* its userdata, its operations, its place in the queue */
    int raises;        /* "cancelled" raised again */
    uint64_t deadline; /* of a cancelled task, ms of the loop; 0 before it was told */
    bool cancelled;    /* asked to end */
    bool late;         /* its deadline has passed */
    bool failed;       /* over, with an error */
    bool quiet;        /* that error is "cancelled", which is news to nobody */
    const char *why;   /* that error when it is a fixed text, not on top of co */
    void (*over)(void *data); /* who watches for the end */
    void *over_data;
    bool stops_loop;      /* uv_stop when it is over */
    bool heard;           /* somebody has waited for it */
    al_end_wait *waiters; /* for its end */
    al_task *prev, *next; /* all that are not over */
    al_task *next_ready, *next_late;
};

typedef struct end_node { /* one of the ends that an end_op waits for */
    al_end_wait wait;
    struct end_op *owner;
} end_node;

typedef struct end_op { /* a task waiting for the first end among others */
    al_op op;
    al_push push; /* with the target that ended */
    int count;
    end_node nodes[];
} end_op;

static void drain(uv_idle_t *handle);

al_host *al_host_of(lua_State *L)
{
    return *(al_host **)lua_getextraspace(L);
}

uv_loop_t *al_host_loop(al_host *host)
{
    return &host->loop;
}

static void release(al_task *t)
{
    if (--t->refs == 0)
        free(t);
}

/* ---- The end of a task ---- */

static void late_remove(al_task *t)
{
    al_host *h = t->host;
    al_task *before = NULL, *at = h->late_first;

    while (at && at != t) {
        before = at;
        at = at->next_late;
    }
    if (!at)
        return;
    if (before)
        before->next_late = t->next_late;
    else
        h->late_first = t->next_late;
    if (h->late_last == t)
        h->late_last = before;
    if (!h->late_first)
        uv_timer_stop(&h->reaper);
}

static void unlink_task(al_task *t)
{
    t->state = TASK_OVER;
    if (t->prev)
        t->prev->next = t->next;
    else
        t->host->tasks = t->next;
    if (t->next)
        t->next->prev = t->prev;
    late_remove(t);
}

static int push_outcome(lua_State *L, void *arg) /* true, results… or nil, message */
{
    al_task *t = arg;
    int n;

    if (t->failed)
        lua_pushnil(L);
    else
        lua_pushboolean(L, 1);
    if (al_task_outcome(L, t, &n) < 0)
        assert(!"the task is not over");
    return n + 1;
}

int al_task_outcome(lua_State *L, al_task *t, int *nresults)
{
    if (t->state != TASK_OVER)
        return -1;
    t->heard = true;
    if (t->why) {
        lua_pushstring(L, t->why);
        *nresults = 1;
        return 0;
    }
    *nresults = t->nvalues;
    int first = lua_gettop(t->co) - t->nvalues + 1;
    if (!lua_checkstack(L, t->nvalues) || !lua_checkstack(t->co, 1))
        luaL_error(L, "not enough memory");
    for (int i = 0; i < t->nvalues; i++) {
        lua_pushvalue(t->co, first + i);
        lua_xmove(t->co, L, 1);
    }
    return !t->failed;
}

bool al_end_wait_begin(al_end_wait *w, al_task *target, void (*over)(al_end_wait *w))
{
    al_end_wait **at = &target->waiters;

    if (target->state == TASK_OVER)
        return false;
    while (*at)
        at = &(*at)->next;
    *at = w;
    w->target = target;
    w->over = over;
    w->next = NULL;
    return true;
}

void al_end_wait_stop(al_end_wait *w)
{
    al_end_wait **at = &w->target->waiters;

    while (*at && *at != w)
        at = &(*at)->next;
    if (*at)
        *at = w->next;
}

/* Ends the operation with the target that ended, or NULL when it was cancelled. */
static void end_op_end(end_op *e, al_task *ended)
{
    for (int i = 0; i < e->count; i++)
        al_end_wait_stop(&e->nodes[i].wait);
    al_op_done(&e->op, ended ? e->push : NULL, ended);
    free(e);
}

static void end_op_over(al_end_wait *w)
{
    end_op_end(((end_node *)w)->owner, w->target); /* wait is the first member */
}

/* The task is over, with nvalues on top of its coroutine or with the fixed error why. */
static void finish(al_task *t, bool failed, int nvalues, const char *why)
{
    al_host *h = t->host;
    al_end_wait *w;

    t->failed = failed;
    t->nvalues = nvalues;
    t->why = why;
    t->quiet |= why && strcmp(why, CANCELLED) == 0;
    unlink_task(t);
    while ((w = t->waiters)) {
        t->waiters = w->next;
        w->over(w);
    }
    if (failed && !t->heard && !t->quiet)
        h->unheard = true;
    if (t->over)
        t->over(t->over_data);
    if (t->stops_loop)
        uv_stop(&h->loop);
    lua_rawgetp(h->L, LUA_REGISTRYINDEX, (void *)&h->tasks); /* [tasks] */
    lua_pushnil(h->L);
    lua_rawsetp(h->L, -2, t->co); /* the key is there: allocates nothing */
    lua_pop(h->L, 1);
}

/* Runs what is left of its __close handlers, which cannot wait here. */
static void close_from_outside(al_task *t, const char *why)
{
    al_host *h = t->host;

    t->raises = MAX_RAISES;
    t->late = true;
    t->cancelled = true;
    t->state = TASK_RUNNING;
    h->running = t;
    lua_resetthread(t->co);
    h->running = NULL;
    lua_settop(t->co, 0);
    finish(t, true, 0, why);
}

/* ---- Steps ---- */

static int on_error(lua_State *L) /* [error] → [text]; keeps the traceback with the task */
{
    al_host *h = al_host_of(L);
    const char *text = luaL_tolstring(L, 1, NULL); /* [error, text] */

    h->running->quiet = strcmp(text, CANCELLED) == 0;
    if (h->running->quiet)
        return 1;
    lua_rawgetp(L, LUA_REGISTRYINDEX, (void *)&h->tasks);
    if (lua_rawgetp(L, -1, L) == LUA_TUSERDATA) { /* [error, text, tasks, task] */
        luaL_traceback(L, L, text, 1);
        lua_setiuservalue(L, -2, UV_TRACEBACK);
    }
    lua_pushvalue(L, 2);
    return 1;
}

static int body_end(lua_State *L, int status, lua_KContext context) /* [on_error, values…] */
{
    (void)context;
    al_host_of(L)->running->failed = status != LUA_OK && status != LUA_YIELD;
    return lua_gettop(L) - 1;
}

static int body(lua_State *L) /* [fn, arguments…] */
{
    lua_pushcfunction(L, on_error);
    lua_insert(L, 1);
    return body_end(L, lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 1, 0, body_end), 0);
}

static void step(al_task *t)
{
    al_host *h = t->host;
    int nresults = 0;

    if (t->state == TASK_NEW && t->cancelled) {
        lua_settop(t->co, 0);
        finish(t, true, 0, CANCELLED);
        return;
    }
    t->state = TASK_RUNNING;
    h->running = t;
    int rc = lua_resume(t->co, h->L, t->nvalues, &nresults);
    h->running = NULL;
    if (rc == LUA_OK) {
        finish(t, t->failed, nresults, NULL);
    } else if (rc != LUA_YIELD) { /* no memory to begin or to end the body */
        finish(t, true, 1, NULL);
    } else if (t->state == TASK_DOOMED) {
        close_from_outside(t, CANCELLED);
    } else if (t->state == TASK_RUNNING) {
        close_from_outside(t, "a task yielded by coroutine.yield: wait with std.task, or yield in "
                              "a coroutine of its own");
    }
}

/* An error that nobody waits for is reported when its task is collected; that is made to happen
 * soon, not at some later cycle. */
static void collect_unheard(al_host *h)
{
    h->unheard = false;
    lua_gc(h->L, LUA_GCCOLLECT);
}

static void drain(uv_idle_t *handle)
{
    al_host *h = handle->data;
    al_task *last = h->ready_last; /* those that become ready meanwhile are for the next turn */
    al_task *t;

    for (bool more = last != NULL; more; release(t)) {
        t = h->ready_first;
        h->ready_first = t->next_ready;
        if (!h->ready_first)
            h->ready_last = NULL;
        more = t != last;
        step(t);
    }
    if (h->unheard)
        collect_unheard(h);
    if (!h->ready_first)
        uv_idle_stop(handle);
    al_host_settle(h);
}

static void enqueue(al_task *t, task_state state)
{
    al_host *h = t->host;

    t->state = state;
    t->refs++;
    t->next_ready = NULL;
    if (h->ready_last)
        h->ready_last->next_ready = t;
    else
        h->ready_first = t;
    h->ready_last = t;
    uv_idle_start(&h->ready, drain);
}

/* ---- Waiting ---- */

/* Is L inside a __close handler? On a normal exit Lua names the call. When an error unwinds, the
 * handler's caller is the C function that protects: then there is more on that function's stack
 * than what it calls its argument with. (A variadic function leaves itself there too, as Lua moves
 * it behind its arguments.) */
static bool in_close(lua_State *L)
{
    al_host *h = al_host_of(L);
    lua_Debug at, caller;

    if (!lua_checkstack(L, 2))
        return false;
    for (int level = 0; lua_getstack(L, level, &at); level++) {
        lua_getinfo(L, "n", &at);
        if (strcmp(at.namewhat, "metamethod") == 0 && strcmp(at.name, "close") == 0)
            return true;
        if (!lua_getstack(L, level + 1, &caller) || !lua_getinfo(L, "f", &caller))
            continue;
        lua_CFunction f = lua_tocfunction(L, -1);
        lua_pop(L, 1);
        int below = f && f == h->pcall ? 1 : f && f == h->xpcall ? 3 : f == body ? 1 : 0;
        if (below > 0 && lua_getlocal(L, &caller, below + 1)) {
            lua_getinfo(L, "f", &at); /* [local, the function called] */
            bool itself = lua_rawequal(L, -1, -2);
            lua_pop(L, 2);
            if (!itself)
                return true;
        }
    }
    return false;
}

/* Ends the wait of a task with an error. The operation still comes to its end. */
static void interrupt(al_task *t, wake_kind why)
{
    al_op *op = t->op;

    t->op = NULL;
    t->wake = why;
    t->nvalues = 0;
    enqueue(t, TASK_READY);
    if (op->cancel)
        op->cancel(op);
}

static void reap(uv_timer_t *timer)
{
    al_host *h = timer->data;
    uint64_t now = uv_now(&h->loop);
    al_task *t;

    while ((t = h->late_first) && t->deadline <= now) {
        late_remove(t);
        t->late = true;
        if (t->state == TASK_WAITING)
            interrupt(t, WAKE_CANCELLED);
    }
    if (h->late_first)
        uv_timer_start(timer, reap, h->late_first->deadline - now, 0);
}

/* The task hears that it was cancelled: its second begins. */
static void tell(al_task *t)
{
    al_host *h = t->host;

    if (t->deadline)
        return;
    uv_update_time(&h->loop);
    t->deadline = uv_now(&h->loop) + CLOSE_MS;
    t->next_late = NULL;
    if (h->late_last)
        h->late_last->next_late = t;
    else
        h->late_first = t;
    h->late_last = t;
    if (h->late_first == t)
        uv_timer_start(&h->reaper, reap, CLOSE_MS, 0);
}

static int raise_cancelled(lua_State *L, al_task *t)
{
    tell(t);
    lua_pushliteral(L, CANCELLED);
    return lua_error(L);
}

/* A wait begins in a cancelled task: returns when it may, raises, or yields for good. */
static void refuse(lua_State *L, al_task *t)
{
    if (!t->late && in_close(L)) {
        tell(t);
        return;
    }
    if (t->deadline && t->raises++ >= MAX_RAISES && lua_isyieldable(L)) {
        t->state = TASK_DOOMED;
        lua_yield(L, 0);
    }
    raise_cancelled(L, t);
}

al_task *al_task_check(lua_State *L)
{
    al_task *t = al_host_of(L)->running;

    if (!t)
        luaL_error(L, "cannot wait here: only a task can wait, and none is running");
    if (t->co != L)
        luaL_error(L, "cannot wait inside a coroutine: only the task itself can wait");
    if (t->cancelled)
        refuse(L, t);
    if (!lua_isyieldable(L))
        luaL_error(L,
                   "cannot wait here: a C function (a sort, a gsub, a metamethod) is in between");
    return t;
}

static int wait_end(lua_State *L, int status, lua_KContext context)
{
    al_task *t = al_host_of(L)->running;
    (void)status, (void)context;

    switch (t->wake) {
    case WAKE_CANCELLED: return raise_cancelled(L, t);
    case WAKE_DEADLOCK:
        return luaL_error(L, "deadlock: this waits for something that can no longer come");
    case WAKE_NO_MEMORY: return luaL_error(L, "not enough memory");
    case WAKE_ERROR: return lua_error(L);
    case WAKE_VALUES: break;
    }
    return t->nvalues;
}

int al_op_wait(lua_State *L, al_task *t, al_op *op, void (*cancel)(al_op *op))
{
    op->task = t;
    op->cancel = cancel;
    t->op = op;
    t->state = TASK_WAITING;
    t->refs++;
    al_host_hold(t->host);
    return lua_yieldk(L, 0, 0, wait_end);
}

typedef struct delivery {
    al_task *task;
    al_push push;
    void *arg;
} delivery;

static int deliver(lua_State *L) /* [delivery], on the side state, protected */
{
    delivery *d = lua_touserdata(L, 1);
    int n = d->push(L, d->arg);

    if (!lua_checkstack(d->task->co, n))
        return luaL_error(L, "not enough memory");
    lua_xmove(L, d->task->co, n);
    d->task->nvalues = n;
    return 0;
}

void al_op_done(al_op *op, al_push push, void *arg)
{
    al_task *t = op->task;
    al_host *h = t->host;

    if (t->op == op) {
        delivery d = { t, push, arg };
        t->op = NULL;
        t->nvalues = 0;
        t->wake = WAKE_VALUES;
        if (push) {
            lua_pushcfunction(h->side, deliver);
            lua_pushlightuserdata(h->side, &d);
            if (lua_pcall(h->side, 1, 0, 0) != LUA_OK) { /* [message] */
                t->wake = lua_checkstack(t->co, 1) ? WAKE_ERROR : WAKE_NO_MEMORY;
                if (t->wake == WAKE_ERROR)
                    lua_xmove(h->side, t->co, t->nvalues = 1);
                else
                    lua_pop(h->side, 1);
            }
        }
        enqueue(t, TASK_READY);
    }
    release(t);
    al_host_drop(h);
}

/* ---- What others ask of a task ---- */

void al_task_cancel(al_task *t)
{
    if (t->state == TASK_OVER || t->cancelled)
        return;
    t->cancelled = true;
    if (t->state != TASK_WAITING && t->state != TASK_READY)
        return;
    if (in_close(t->co)) { /* the handler goes on, within its second */
        tell(t);
    } else if (t->state == TASK_WAITING) {
        interrupt(t, WAKE_CANCELLED);
    } else { /* what its wait has brought is dropped */
        lua_pop(t->co, t->nvalues);
        t->nvalues = 0;
        t->wake = WAKE_CANCELLED;
    }
}

static void end_op_cancel(al_op *op)
{
    end_op_end((end_op *)op, NULL); /* op is the first member */
}

/* Waits for the first end of the count tasks from index on. */
static int wait_for_end(lua_State *L, int index, int count, al_push push)
{
    al_task *t = al_task_check(L);
    end_op *e = al_mem_zero(sizeof *e + (size_t)count * sizeof *e->nodes);

    if (!e)
        return luaL_error(L, "not enough memory");
    e->push = push;
    for (; e->count < count; e->count++) {
        end_node *node = &e->nodes[e->count];
        al_task *target = *(al_task **)lua_touserdata(L, index + e->count);
        node->owner = e;
        al_end_wait_begin(&node->wait, target, end_op_over);
    }
    return al_op_wait(L, t, &e->op, end_op_cancel);
}

static al_task *check_other(lua_State *L, int index)
{
    al_task *t = al_task_to(L, index);

    luaL_argcheck(L, t != al_host_of(L)->running, index, "a task cannot wait for itself");
    return t;
}

int al_task_wait(lua_State *L)
{
    al_task *target = check_other(L, 1);

    lua_settop(L, 1);
    if (target->state != TASK_OVER)
        return wait_for_end(L, 1, 1, push_outcome);
    al_task_check(L);
    return push_outcome(L, target);
}

static int push_task(lua_State *L, void *arg)
{
    al_task *t = arg;

    lua_rawgetp(L, LUA_REGISTRYINDEX, (void *)&t->host->tasks);
    lua_rawgetp(L, -1, t->co);
    return 1;
}

int al_task_wait_any(lua_State *L)
{
    int count = lua_gettop(L);

    luaL_argcheck(L, count > 0, 1, "a task expected");
    for (int i = 1; i <= count; i++)
        if (check_other(L, i)->state == TASK_OVER) {
            al_task_check(L);
            lua_settop(L, i);
            return 1;
        }
    return wait_for_end(L, 1, count, push_task);
}

al_task *al_task_to(lua_State *L, int index)
{
    return *(al_task **)luaL_checkudata(L, index, AL_TASK_TYPE);
}

void al_task_push_current(lua_State *L)
{
    al_host *h = al_host_of(L);

    if (!h->running) {
        lua_pushnil(L);
        return;
    }
    lua_rawgetp(L, LUA_REGISTRYINDEX, (void *)&h->tasks);
    lua_rawgetp(L, -1, h->running->co);
    lua_remove(L, -2);
}

al_task *al_task_spawn(lua_State *L, int nargs) /* [fn, arguments…] → [task] */
{
    al_host *h = al_host_of(L);
    int fn = lua_gettop(L) - nargs;
    al_task **ud, *t;
    lua_State *co;

    if (h->closing)
        luaL_error(L, "the host is closing: no task can begin");
    luaL_checkstack(L, 4, NULL);
    ud = lua_newuserdatauv(L, sizeof *ud, 2);
    *ud = NULL;
    luaL_setmetatable(L, AL_TASK_TYPE);
    *ud = t = al_mem_zero(sizeof *t);
    if (!t)
        luaL_error(L, "not enough memory");
    t->host = h;
    t->refs = 1;
    t->state = TASK_OVER;
    co = lua_newthread(L); /* [fn, arguments…, task, co] */
    lua_setiuservalue(L, -2, UV_COROUTINE);
    if (!lua_checkstack(co, nargs + 2))
        luaL_error(L, "not enough memory");
    lua_rawgetp(L, LUA_REGISTRYINDEX, (void *)&h->tasks);
    lua_pushvalue(L, -2);
    lua_rawsetp(L, -2, co);
    lua_pop(L, 1);
    lua_insert(L, fn); /* [task, fn, arguments…] */
    lua_pushcfunction(co, body);
    lua_xmove(L, co, nargs + 1);
    t->co = co;
    t->nvalues = nargs + 1;
    t->next = h->tasks;
    if (h->tasks)
        h->tasks->prev = t;
    h->tasks = t;
    enqueue(t, TASK_NEW);
    return t;
}

bool al_task_over(const al_task *t)
{
    return t->state == TASK_OVER;
}

void al_task_watch(al_task *t, void (*fn)(void *data), void *data)
{
    t->over = fn;
    t->over_data = data;
}

void al_task_deadlock(al_task *t)
{
    if (t->state == TASK_WAITING)
        interrupt(t, WAKE_DEADLOCK);
}

void al_task_stop_after(al_task *t)
{
    t->stops_loop = true;
    t->heard = true;
}

void al_task_traceback(lua_State *L, int index) /* [message] → [text] */
{
    if (lua_getiuservalue(L, index, UV_TRACEBACK) != LUA_TSTRING) {
        lua_pop(L, 1);
        return;
    }
    lua_remove(L, -2);
}

/* ---- Beginning and end ---- */

static void report(lua_State *L, al_host *h) /* [text] → [] */
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, (void *)&h->report);
    lua_pushvalue(L, -2);
    if (!lua_isfunction(L, -2) || lua_pcall(L, 1, 0, 0) != LUA_OK)
        al_host_report(h, lua_tostring(L, -1));
    lua_settop(L, 0);
}

int al_task_on_error(lua_State *L) /* (fn or nil) */
{
    lua_settop(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, (void *)&al_host_of(L)->report);
    return 0;
}

static int l_gc(lua_State *L)
{
    al_task **ud = luaL_checkudata(L, 1, AL_TASK_TYPE), *t = *ud;

    if (!t)
        return 0;
    *ud = NULL;
    if (t->state != TASK_OVER && t->co) /* the state is closed under it, by os.exit */
        unlink_task(t);
    if (t->failed && !t->heard && !t->quiet) {
        int n;
        al_task_outcome(L, t, &n);
        al_task_traceback(L, 1);
        report(L, t->host);
    }
    t->co = NULL;
    release(t);
    return 0;
}

void al_task_open_lua(lua_State *L)
{
    al_host *h = al_host_of(L);

    luaL_newmetatable(L, AL_TASK_TYPE);
    lua_pushcfunction(L, l_gc);
    lua_setfield(L, -2, "__gc");
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, (void *)&h->tasks); /* coroutine → task, while not over */
    h->side = lua_newthread(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, (void *)&h->side);
    lua_getglobal(L, "pcall");
    h->pcall = lua_tocfunction(L, -1);
    lua_getglobal(L, "xpcall");
    h->xpcall = lua_tocfunction(L, -1);
    lua_settop(L, 0);
}

void al_task_init(al_host *h)
{
    uv_idle_init(&h->loop, &h->ready); /* these two cannot fail */
    uv_timer_init(&h->loop, &h->reaper);
    h->ready.data = h->reaper.data = h;
    al_host_hold(h);
    al_host_hold(h);
}

int al_task_count(const al_host *h)
{
    int n = 0;

    for (const al_task *t = h->tasks; t; t = t->next)
        n++;
    return n;
}

void al_task_cancel_all(al_host *h)
{
    for (al_task *t = h->tasks; t; t = t->next)
        al_task_cancel(t);
}

void al_task_end(al_host *h)
{
    uv_close((uv_handle_t *)&h->ready, al_host_handle_closed);
    uv_close((uv_handle_t *)&h->reaper, al_host_handle_closed);
}
