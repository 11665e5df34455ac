/* Tasks: coroutines that wait for libuv. Everything that waits is a yield of its task.
 *
 * An operation embeds an al_op as its first member. The binding checks for a task, allocates the
 * operation, starts libuv, and returns al_op_wait(). The libuv callback calls al_op_done() exactly
 * once and then frees the operation, in that one place. When the task was cancelled meanwhile,
 * al_op_done() is a no-op but still releases the task.
 *
 *     static int l_sleep(lua_State *L)
 *     {
 *         lua_Integer ms = luaL_checkinteger(L, 1);
 *         al_task *task = al_task_check(L);
 *         sleep_op *op = calloc(1, sizeof *op);
 *         if (!op)
 *             return luaL_error(L, "not enough memory");
 *         ... uv_timer_start(...)
 *         return al_op_wait(L, task, &op->op, sleep_cancel);
 *     }
 *
 * Host thread only. */
#ifndef AL_CORE_TASK_H
#define AL_CORE_TASK_H
#include "base/err.h"
#include <lua.h>
#include <stdbool.h>
#include <uv.h>

typedef struct al_host al_host;
typedef struct al_task al_task;
typedef struct al_op al_op;

#define AL_TASK_TYPE "al.task" /* the metatable of tasks */

/* Pushes results onto L and returns how many; runs protected on the main state, may raise. */
typedef int (*al_push)(lua_State *L, void *arg);

struct al_op {
    al_task *task;             /* set by al_op_wait, released by al_op_done */
    void (*cancel)(al_op *op); /* asks the operation to stop; its done callback still comes */
};

/* The running task. Raises when L is not one, or when it cannot yield here. */
al_task *al_task_check(lua_State *L);
/* Yields until al_op_done. cancel may be NULL: the operation then simply runs on, unheard. Returns
 * what the binding returns. Nothing that may raise stands between starting libuv and this. */
int al_op_wait(lua_State *L, al_task *task, al_op *op, void (*cancel)(al_op *op));
/* The operation is over: resumes its task with what push leaves (NULL: no values), unless the task
 * was cancelled. Never raises, never nests in another resume of the same task. arg stays the
 * caller's. Not to be called from inside the function that calls al_op_wait. */
void al_op_done(al_op *op, al_push push, void *arg);

/* Pops a function and its nargs arguments, pushes the task that will run it; its first step is
 * queued. May raise; raises once the host closes. The pointer lives as long as the pushed value. */
al_task *al_task_spawn(lua_State *L, int nargs);
void al_task_cancel(al_task *task);     /* no-op on one that is over. Never raises, never resumes */
int al_task_count(const al_host *host); /* those that are not over */
bool al_task_over(const al_task *task); /* however it ended */
/* Functions Lua may call. (task) → true and its results, or nil and its error; once it is over. */
int al_task_wait(lua_State *L);
int al_task_wait_any(lua_State *L);           /* (task…) → the first that is over */
al_task *al_task_to(lua_State *L, int index); /* luaL_checkudata */
void al_task_push_current(lua_State *L);      /* the running task, or nil */

/* Hears of the end of a task, however it comes, memory or not. The memory is the caller's, who
 * keeps it and the target until over was called, from outside of Lua, or al_end_wait_stop. */
typedef struct al_end_wait {
    void (*over)(struct al_end_wait *w);
    al_task *target;
    struct al_end_wait *next; /* of the same target */
} al_end_wait;

/* false when it is over already: then it is not called. */
bool al_end_wait_begin(al_end_wait *w, al_task *target, void (*over)(al_end_wait *w));
void al_end_wait_stop(al_end_wait *w); /* no-op once it was called */

/* A function Lua may call: (fn), what gets the text of errors that nobody waited for, or nil. */
int al_task_on_error(lua_State *L);
/* Once the task is over: 1 and its results, or 0 and its error, on L; -1 while it runs. Raises only
 * for want of memory. Counts as having waited for it. */
int al_task_outcome(lua_State *L, al_task *task, int *nresults);

al_host *al_host_of(lua_State *L);
uv_loop_t *al_host_loop(al_host *host);

/* nil, message, id: what a binding returns for what the world refused. The message is
 * al_err_text; the fields ride along as a fourth value, a table {code, reason, line, column,
 * offset, object, detail}. */
int al_fail(lua_State *L, const al_err *err);

#endif
