/* host.proc: prim/proc for Lua, as std.process uses it. The handle keeps its process until it is
 * collected; a task that reads, writes or waits holds the handle on its stack meanwhile. */
#include "bind/util.h"
#include "core/host.h"
#include "core/mem.h"
#include "prim/proc.h"
#include <stdlib.h>
#include <string.h>

#define PROC "al.proc"

int luaopen_host_proc(lua_State *L);

typedef struct handle {
    al_proc *p;
    bool reading, writing, waiting;
} handle;

typedef struct proc_op {
    al_op op;
    handle *h;
    bool *busy; /* the flag in h that this operation holds */
    void (*forget)(al_proc *p);
    /* the answer, for as long as its push runs */
    int stream;
    const char *bytes;
    size_t len;
    const al_err *err;
    const al_proc_result *result;
} proc_op;

/* ---- operations ---- */

static void forget_read(al_proc *p)
{
    al_proc_read(p, NULL, NULL);
}

static void forget_wait(al_proc *p)
{
    al_proc_wait(p, NULL, NULL);
}

static void op_end(proc_op *op, al_push push)
{
    *op->busy = false;
    al_op_done(&op->op, push, op);
    free(op);
}

static void op_cancel(al_op *op)
{
    proc_op *mine = (proc_op *)op;

    mine->forget(mine->h->p);
    op_end(mine, NULL);
}

static proc_op *op_new(lua_State *L, handle *h, bool *busy, void (*forget)(al_proc *p))
{
    proc_op *op;

    if (*busy)
        luaL_error(L, "another task does the same with this process");
    al_task_check(L);
    op = al_mem_zero(sizeof *op);
    if (!op)
        luaL_error(L, "not enough memory");
    op->h = h;
    op->busy = busy;
    op->forget = forget;
    return op;
}

static int op_wait(lua_State *L, proc_op *op)
{
    *op->busy = true;
    return al_op_wait(L, al_task_check(L), &op->op, op_cancel);
}

static int push_read(lua_State *L, void *arg)
{
    const proc_op *op = arg;

    luaL_checkstack(L, 2, NULL);
    if (op->stream == 0) {
        lua_pushnil(L);
        return 1;
    }
    lua_pushinteger(L, op->stream);
    lua_pushlstring(L, op->bytes, op->len);
    return 2;
}

static void on_read(void *data, int stream, const char *bytes, size_t len)
{
    proc_op *op = data;

    op->stream = stream;
    op->bytes = bytes;
    op->len = len;
    op_end(op, push_read);
}

static int push_write(lua_State *L, void *arg)
{
    const proc_op *op = arg;

    if (op->err)
        return al_fail(L, op->err);
    lua_pushboolean(L, 1);
    return 1;
}

static void on_write(void *data, const al_err *err)
{
    proc_op *op = data;

    op->err = err;
    op_end(op, push_write);
}

static void set_number(lua_State *L, const char *key, uint64_t value)
{
    lua_pushinteger(L, (lua_Integer)value);
    lua_setfield(L, -2, key);
}

static void set_text(lua_State *L, const char *key, const char *text)
{
    if (text[0] == '\0')
        return;
    lua_pushstring(L, text);
    lua_setfield(L, -2, key);
}

static int push_result(lua_State *L, void *arg)
{
    const proc_op *op = arg;
    const al_proc_result *r = op->result;

    luaL_checkstack(L, 3, NULL);
    if (op->err)
        return al_fail(L, op->err);
    lua_createtable(L, 0, 12);
    set_text(L, "reason", r->reason);
    set_text(L, "limit", r->limit);
    if (r->code >= 0)
        set_number(L, "code", (uint64_t)r->code);
    if (r->signal > 0)
        set_number(L, "signal", (uint64_t)r->signal);
    set_number(L, "ended", r->ended);
    lua_pushboolean(L, r->left);
    lua_setfield(L, -2, "left");
    set_number(L, "processes", r->processes);
    set_number(L, "wallMs", r->wall_ms);
    set_number(L, "userMs", r->user_ms);
    set_number(L, "systemMs", r->system_ms);
    set_number(L, "maxRssBytes", r->max_rss_bytes);
    return 1;
}

static void on_end(void *data, const al_err *err, const al_proc_result *result)
{
    proc_op *op = data;

    op->err = err;
    op->result = result;
    op_end(op, push_result);
}

/* ---- what Lua calls ---- */

static handle *check_handle(lua_State *L)
{
    handle *h = luaL_checkudata(L, 1, PROC);

    luaL_argcheck(L, h->p, 1, "the process was given up");
    return h;
}

static int l_read(lua_State *L) /* p:read() -> 1|2, bytes; nil at the end of both */
{
    handle *h = check_handle(L);
    proc_op *op = op_new(L, h, &h->reading, forget_read);

    al_proc_read(h->p, on_read, op);
    return op_wait(L, op);
}

static int l_write(lua_State *L) /* p:write(bytes) -> true */
{
    size_t len;
    handle *h = check_handle(L);
    const char *bytes = luaL_checklstring(L, 2, &len);
    proc_op *op = op_new(L, h, &h->writing, al_proc_forget_write);
    al_err err = { 0 };

    if (al_proc_write(h->p, bytes, len, on_write, op, &err) != AL_OK) {
        free(op);
        return al_fail(L, &err);
    }
    return op_wait(L, op);
}

static int l_wait(lua_State *L) /* p:wait() -> { reason, code?, signal?, … } */
{
    handle *h = check_handle(L);
    proc_op *op = op_new(L, h, &h->waiting, forget_wait);

    al_proc_wait(h->p, on_end, op);
    return op_wait(L, op);
}

static int l_close_stdin(lua_State *L)
{
    al_proc_close_stdin(check_handle(L)->p);
    return 0;
}

/* p:feed(bytes) -> true: all of the input; written and ended while others wait. That nobody reads
 * it to its end is no news. */
static int l_feed(lua_State *L)
{
    size_t len;
    handle *h = check_handle(L);
    const char *bytes = luaL_checklstring(L, 2, &len);
    al_err err = { 0 };

    if (al_proc_write(h->p, bytes, len, NULL, NULL, &err) != AL_OK)
        return al_fail(L, &err);
    al_proc_close_stdin(h->p);
    lua_pushboolean(L, 1);
    return 1;
}

static int l_stop(lua_State *L) /* never waits */
{
    al_proc_stop(check_handle(L)->p);
    return 0;
}

static int l_pid(lua_State *L) /* nil while it is not known */
{
    long pid = al_proc_pid(check_handle(L)->p);

    if (pid > 0)
        lua_pushinteger(L, pid);
    else
        lua_pushnil(L);
    return 1;
}

static void on_closed(void *host)
{
    al_host_drop(host);
}

static int l_gc(lua_State *L)
{
    handle *h = luaL_checkudata(L, 1, PROC);
    al_proc *p = h->p;

    h->p = NULL;
    al_proc_release(p, on_closed, al_host_of(L));
    return 0;
}

/* ---- starting ---- */

/* The strings of the list in field key of the table at idx, as a NULL-terminated array on the
 * stack; NULL without it. */
static const char *const *text_list(lua_State *L, int idx, const char *key)
{
    const char **list;
    lua_Integer n;

    if (lua_getfield(L, idx, key) == LUA_TNIL)
        return NULL;
    luaL_argcheck(L, lua_istable(L, -1), 1, "argv, env and places must be lists");
    n = luaL_len(L, -1);
    list = lua_newuserdatauv(L, ((size_t)n + 1) * sizeof *list, 0); /* [list of strings, array] */
    for (lua_Integer i = 1; i <= n; i++) {
        size_t len;
        if (lua_rawgeti(L, -2, i) != LUA_TSTRING)
            luaL_argerror(L, 1, "argv, env and places must be lists of strings");
        list[i - 1] = lua_tolstring(L, -1, &len);
        luaL_argcheck(L, strlen(list[i - 1]) == len, 1, "an argument contains a NUL byte");
        lua_pop(L, 1); /* the list keeps it alive */
    }
    list[n] = NULL;
    return list;
}

static const char *plain_text(lua_State *L, const char *key)
{
    size_t len;
    const char *text = al_opt_text(L, 1, key, NULL, &len);

    luaL_argcheck(L, !text || strlen(text) == len, 1, "cwd or mark contains a NUL byte");
    return text;
}

static uint64_t amount(lua_State *L, int idx, const char *key)
{
    lua_Integer n = al_opt_int(L, idx, key, 0);

    luaL_argcheck(L, n >= 0, 1, "times and limits cannot be negative");
    return (uint64_t)n;
}

static void read_limits(lua_State *L, al_proc_options *o)
{
    if (lua_getfield(L, 1, "limits") == LUA_TNIL)
        return;
    int at = lua_gettop(L);
    luaL_argcheck(L, lua_istable(L, at), 1, "limits must be a table");
    o->confined = true;
    o->memory_bytes = amount(L, at, "memoryBytes");
    o->open_files = amount(L, at, "openFiles");
    o->file_bytes = amount(L, at, "fileBytes");
    o->cpu_ms = amount(L, at, "cpuMs");
    o->processes = amount(L, at, "processes");
}

static void read_sandbox(lua_State *L, al_proc_options *o, al_proc_sandbox *s)
{
    if (lua_getfield(L, 1, "sandbox") == LUA_TNIL)
        return;
    int at = lua_gettop(L);
    luaL_argcheck(L, lua_istable(L, at), 1, "sandbox must be a table");
    s->read = text_list(L, at, "read");
    s->write = text_list(L, at, "write");
    s->memory = text_list(L, at, "memory");
    s->namespaces = al_opt_bool(L, at, "namespaces", false);
    o->sandbox = s;
}

/* spawn{ argv, env?, cwd?, stdin?, timeoutMs?, graceMs?, limits?, mark?, sandbox? } -> handle */
static int l_spawn(lua_State *L)
{
    al_host *host = al_host_of(L);
    al_proc_options o = { 0 };
    al_proc_sandbox sandbox = { 0 };
    al_err err = { 0 };
    al_buf *jail;
    handle *h;

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    luaL_checkstack(L, 24, NULL);
    o.argv = text_list(L, 1, "argv");
    luaL_argcheck(L, o.argv && o.argv[0], 1, "argv needs at least a program");
    o.env = text_list(L, 1, "env");
    o.cwd = plain_text(L, "cwd");
    o.mark = plain_text(L, "mark");
    o.open_stdin = al_opt_bool(L, 1, "stdin", false);
    o.timeout_ms = amount(L, 1, "timeoutMs");
    o.grace_ms = amount(L, 1, "graceMs");
    read_limits(L, &o);
    read_sandbox(L, &o, &sandbox);
    jail = al_lua_buf(L, 0);
    if (al_host_helper(host, "jail", jail, &err) != AL_OK) {
        err.id = "internal"; /* an installation that is not whole, nothing the caller named */
        return al_fail(L, &err);
    }
    o.jail = jail->data;
    h = lua_newuserdatauv(L, sizeof *h, 0);
    memset(h, 0, sizeof *h);
    luaL_setmetatable(L, PROC);
    if (al_proc_spawn(&h->p, al_host_loop(host), &o, &err) != AL_OK)
        return al_fail(L, &err);
    al_host_hold(host);
    return 1;
}

static int push_environ(lua_State *L) /* [items, count] -> [table] */
{
    const uv_env_item_t *items = lua_touserdata(L, 1);
    lua_Integer n = lua_tointeger(L, 2);

    lua_createtable(L, 0, (int)n);
    for (lua_Integer i = 0; i < n; i++) {
        lua_pushstring(L, items[i].value);
        lua_setfield(L, -2, items[i].name);
    }
    return 1;
}

static int l_environ(lua_State *L) /* environ() -> { NAME = value } */
{
    uv_env_item_t *items;
    int n, rc;

    lua_settop(L, 0);
    if (uv_os_environ(&items, &n) != 0)
        return luaL_error(L, "not enough memory");
    lua_pushcfunction(L, push_environ);
    lua_pushlightuserdata(L, items);
    lua_pushinteger(L, n);
    rc = lua_pcall(L, 2, 1, 0);
    uv_os_free_environ(items, n);
    return rc == LUA_OK ? 1 : lua_error(L);
}

int luaopen_host_proc(lua_State *L)
{
    static const luaL_Reg methods[] = { { "read", l_read },
                                        { "write", l_write },
                                        { "feed", l_feed },
                                        { "wait", l_wait },
                                        { "close_stdin", l_close_stdin },
                                        { "stop", l_stop },
                                        { "pid", l_pid },
                                        { NULL, NULL } };
    static const luaL_Reg metas[] = { { "__gc", l_gc }, { NULL, NULL } };
    static const luaL_Reg module[] = { { "environ", l_environ },
                                       { "spawn", l_spawn },
                                       { NULL, NULL } };

    al_lua_type(L, PROC, methods, metas);
    luaL_newlib(L, module);
#if defined(__linux__) && !defined(AL_PORTABLE)
    lua_pushboolean(L, 1);
#else
    lua_pushboolean(L, 0); /* no reaper of orphans, so groups are all that can be ended */
#endif
    lua_setfield(L, -2, "orphans");
    return 1;
}
