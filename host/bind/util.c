/* Helpers shared by the bindings; util.h says what each does. */
#include "bind/util.h"
#include "core/mem.h"
#include <stdlib.h>
#include <string.h>

#define BUF_TYPE  "al.buf"
#define JSON_TYPE "al.json.reader"

static int buf_gc(lua_State *L)
{
    al_buf_free(luaL_checkudata(L, 1, BUF_TYPE));
    return 0;
}

al_buf *al_lua_buf(lua_State *L, size_t max)
{
    static const luaL_Reg metas[] = { { "__gc", buf_gc }, { NULL, NULL } };
    al_buf *b = lua_newuserdatauv(L, sizeof *b, 0);

    al_buf_init(b, max);
    al_lua_type(L, BUF_TYPE, NULL, metas);
    lua_setmetatable(L, -2);
    return b;
}

static int json_gc(lua_State *L)
{
    al_json_close(luaL_checkudata(L, 1, JSON_TYPE));
    return 0;
}

al_json *al_lua_json(lua_State *L, const char *text, size_t len, int max_depth)
{
    static const luaL_Reg metas[] = { { "__gc", json_gc }, { NULL, NULL } };
    al_json *j = lua_newuserdatauv(L, sizeof *j, 0);

    al_json_open(j, text, len, max_depth);
    al_lua_type(L, JSON_TYPE, NULL, metas);
    lua_setmetatable(L, -2);
    return j;
}

void al_lua_type(lua_State *L, const char *name, const luaL_Reg *methods, const luaL_Reg *metas)
{
    if (!luaL_newmetatable(L, name))
        return;
    luaL_setfuncs(L, metas, 0);
    if (methods) {
        lua_newtable(L);
        luaL_setfuncs(L, methods, 0);
        lua_setfield(L, -2, "__index");
    }
}

static int opt_field(lua_State *L, int idx, const char *key)
{
    if (lua_isnoneornil(L, idx))
        return LUA_TNIL;
    luaL_checktype(L, idx, LUA_TTABLE);
    int type = lua_getfield(L, idx, key);
    if (type == LUA_TNIL)
        lua_pop(L, 1);
    return type;
}

static int opt_error(lua_State *L, int idx, const char *key, const char *want)
{
    return luaL_argerror(
        L, idx, lua_pushfstring(L, "%s must be %s, not a %s", key, want, luaL_typename(L, -1)));
}

bool al_opt_bool(lua_State *L, int idx, const char *key, bool def)
{
    int type = opt_field(L, idx, key);
    if (type == LUA_TNIL)
        return def;
    if (type != LUA_TBOOLEAN)
        opt_error(L, idx, key, "true or false");
    bool v = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return v;
}

lua_Integer al_opt_int(lua_State *L, int idx, const char *key, lua_Integer def)
{
    int whole = 0;
    if (opt_field(L, idx, key) == LUA_TNIL)
        return def;
    lua_Integer v = lua_tointegerx(L, -1, &whole);
    if (!whole)
        opt_error(L, idx, key, "a whole number");
    lua_pop(L, 1);
    return v;
}

const char *al_opt_text(lua_State *L, int idx, const char *key, const char *def, size_t *len)
{
    int type = opt_field(L, idx, key);
    if (type == LUA_TNIL) {
        if (len)
            *len = def ? strlen(def) : 0;
        return def;
    }
    if (type != LUA_TSTRING)
        opt_error(L, idx, key, "a string");
    const char *text = lua_tolstring(L, -1, len);
    lua_pop(L, 1);
    return text;
}

const char *al_check_path(lua_State *L, int idx)
{
    size_t len;
    const char *path = luaL_checklstring(L, idx, &len);
    luaL_argcheck(L, strlen(path) == len, idx, "a path cannot contain a NUL byte");
    return path;
}

/* ---- blocking work ---- */

static void work_run(uv_work_t *req)
{
    al_work *w = req->data;
    w->rc = w->run(w);
}

static int work_push(lua_State *L, void *arg)
{
    al_work *w = arg;
    return w->rc == AL_OK ? w->push(L, w) : al_fail(L, &w->err);
}

static void work_done(uv_work_t *req, int status)
{
    al_work *w = req->data;
    if (status == UV_ECANCELED)
        w->rc = al_err_set(&w->err, AL_ECANCELED, "cancelled", NULL, NULL);
    al_op_done(&w->op, work_push, w);
    w->drop(w);
}

static void work_cancel(al_op *op)
{
    uv_cancel((uv_req_t *)&((al_work *)op)->req); /* when it runs already, it runs on unheard */
}

void *al_work_new(lua_State *L, size_t size)
{
    al_task_check(L);
    al_work *w = al_mem_zero(size);
    if (!w)
        luaL_error(L, "not enough memory");
    return w;
}

int al_work_start(lua_State *L, al_work *w)
{
    int rc = AL_OK;
    w->req.data = w;
    rc = uv_queue_work(al_host_loop(al_host_of(L)), &w->req, work_run, work_done);
    if (rc < 0) {
        w->rc = al_err_set(&w->err, AL_EIO, "internal", "thread pool", uv_strerror(rc));
        return al_work_abort(L, w);
    }
    return al_op_wait(L, al_task_check(L), &w->op, work_cancel);
}

int al_work_abort(lua_State *L, al_work *w)
{
    al_err err = w->err;
    w->drop(w);
    return al_fail(L, &err);
}
