/* What most bindings need: memory that survives a raise, options from a table, and blocking work on
 * the thread pool as one yield of the running task. */
#ifndef AL_BIND_UTIL_H
#define AL_BIND_UTIL_H
#include "base/buf.h"
#include "base/json.h"
#include "core/task.h"
#include <lauxlib.h>
#include <lua.h>

/* Pushes a userdata that holds an empty buffer and frees it when it is collected. */
al_buf *al_lua_buf(lua_State *L, size_t max);

/* Pushes a userdata that holds an open reader of text (which must outlive it); it may be closed
 * before it is collected. */
al_json *al_lua_json(lua_State *L, const char *text, size_t len, int max_depth);

/* Pushes the metatable `name`, made at the first call: methods behind __index, metas in itself. */
void al_lua_type(lua_State *L, const char *name, const luaL_Reg *methods, const luaL_Reg *metas);

/* Field `key` of the options table at idx (nil or none: no options); raises on a wrong type. A text
 * lives as long as the table keeps it. */
bool al_opt_bool(lua_State *L, int idx, const char *key, bool def);
lua_Integer al_opt_int(lua_State *L, int idx, const char *key, lua_Integer def);
const char *al_opt_text(lua_State *L, int idx, const char *key, const char *def, size_t *len);

/* A path argument: a string without NUL. */
const char *al_check_path(lua_State *L, int idx);

/* Work that blocks. Embed it first; run() is called on a pool thread and returns AL_OK or an error
 * it has set in err; push() then leaves the results on the host thread (protected, may raise). An
 * error is pushed by al_fail without push. drop() frees what the work holds and the work itself. */
typedef struct al_work {
    al_op op;
    uv_work_t req;
    int rc;
    al_err err;
    int (*run)(struct al_work *w);
    int (*push)(lua_State *L, struct al_work *w);
    void (*drop)(struct al_work *w);
} al_work;

/* Allocates a zeroed work of `size` bytes; raises when there is no task to wait or no memory. */
void *al_work_new(lua_State *L, size_t size);
/* Hands w to the pool and yields; nothing may raise between al_work_new and this. The last
 * expression of a binding function. */
int al_work_start(lua_State *L, al_work *w);
/* When w could not be filled and w->err says why: drops it and returns al_fail. */
int al_work_abort(lua_State *L, al_work *w);

#endif
