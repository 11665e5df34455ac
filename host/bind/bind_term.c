/* host.term: the terminal, over prim/term. */
#include "bind/util.h"
#include "core/host.h"
#include "core/mem.h"
#include "prim/term.h"
#include <stdio.h>
#include <stdlib.h>

#define RAW_TYPE "al.term.raw"

int luaopen_host_term(lua_State *L);

typedef struct raw_mode {
    al_keys *keys;
    bool on;
} raw_mode;

static int check_fd(lua_State *L, int idx)
{
    lua_Integer fd = luaL_checkinteger(L, idx);
    luaL_argcheck(L, fd >= 0 && fd <= 2, idx, "must be 0, 1 or 2");
    return (int)fd;
}

static int l_is_tty(lua_State *L)
{
    lua_pushboolean(L, al_term_is_tty(check_fd(L, 1)));
    return 1;
}

/* size(fd) -> columns, rows | nothing */
static int l_size(lua_State *L)
{
    int columns, rows;
    if (!al_term_size(check_fd(L, 1), &columns, &rows))
        return 0;
    lua_pushinteger(L, columns);
    lua_pushinteger(L, rows);
    return 2;
}

/* raw(fd, { signals, screen }?) -> handle */
static int l_raw(lua_State *L)
{
    int fd = check_fd(L, 1);
    bool signals = al_opt_bool(L, 2, "signals", true);
    lua_Integer screen = al_opt_int(L, 2, "screen", -1);
    al_err err = { 0 };
    raw_mode *r = lua_newuserdatauv(L, sizeof *r, 0);

    *r = (raw_mode){ NULL, false };
    luaL_setmetatable(L, RAW_TYPE);
    if (al_keys_open(&r->keys, al_host_loop(al_host_of(L)), fd, &err) < 0)
        return al_fail(L, &err);
    al_host_hold(al_host_of(L));
    if (al_term_raw(fd, signals, &err) < 0)
        return al_fail(L, &err);
    r->on = true; /* closing the handle leaves the other screen, too */
    if (screen >= 0 && al_term_other_screen((int)screen, &err) < 0)
        return al_fail(L, &err);
    return 1;
}

static void on_closed(void *data)
{
    al_host_drop(data);
}

static int raw_close(lua_State *L)
{
    raw_mode *r = luaL_checkudata(L, 1, RAW_TYPE);
    if (r->keys)
        al_keys_close(r->keys, on_closed, al_host_of(L));
    if (r->on)
        al_term_cooked();
    *r = (raw_mode){ NULL, false };
    return 0;
}

typedef struct key_op {
    al_op op;
    al_keys *keys;
    int rc;
    al_key key;
} key_op;

static int push_key(lua_State *L, void *arg)
{
    key_op *op = arg;
    al_err err = { 0 };

    if (op->rc == AL_ETIMEOUT)
        al_err_set(&err, AL_ETIMEOUT, "timeout", "terminal", "no key was pressed in time");
    else if (op->rc == AL_ENOTFOUND)
        al_err_set(&err, AL_ENOTFOUND, "end", "terminal", "the input has ended");
    else if (op->rc < 0)
        al_err_set(&err, AL_ECANCELED, "cancelled", "terminal", NULL);
    if (op->rc < 0)
        return al_fail(L, &err);
    lua_createtable(L, 0, 4);
    lua_pushstring(L, op->key.name);
    lua_setfield(L, -2, "key");
    lua_pushboolean(L, op->key.ctrl);
    lua_setfield(L, -2, "ctrl");
    lua_pushboolean(L, op->key.alt);
    lua_setfield(L, -2, "alt");
    lua_pushboolean(L, op->key.shift);
    lua_setfield(L, -2, "shift");
    return 1;
}

static void key_done(int rc, const al_key *key, void *data)
{
    key_op *op = data;
    op->rc = rc;
    if (key)
        op->key = *key;
    al_op_done(&op->op, push_key, op);
    free(op);
}

static void key_cancel(al_op *op)
{
    al_keys_cancel(((key_op *)op)->keys);
}

/* read_key(handle, timeoutMs?) -> { key, ctrl, alt, shift } */
static int l_read_key(lua_State *L)
{
    raw_mode *r = luaL_checkudata(L, 1, RAW_TYPE);
    lua_Integer timeout = luaL_optinteger(L, 2, -1);
    al_task *task = al_task_check(L);
    al_err err = { 0 };

    luaL_argcheck(L, r->keys != NULL, 1, "the terminal is given back");
    key_op *op = al_mem_zero(sizeof *op);
    if (!op)
        return luaL_error(L, "not enough memory");
    op->keys = r->keys;
    if (al_keys_wait(r->keys, timeout, key_done, op, &err) < 0) {
        free(op);
        return al_fail(L, &err);
    }
    return al_op_wait(L, task, &op->op, key_cancel);
}

/* write(fd, text) -> true */
static int l_write(lua_State *L)
{
    int fd = check_fd(L, 1);
    size_t len;
    const char *text = luaL_checklstring(L, 2, &len);
    al_err err = { 0 };

    fflush(fd == 2 ? stderr : stdout); /* what print and io.write left comes first */
    if (al_term_write(fd, text, len, &err) < 0)
        return al_fail(L, &err);
    lua_pushboolean(L, 1);
    return 1;
}

int luaopen_host_term(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "is_tty", l_is_tty }, { "raw", l_raw },     { "read_key", l_read_key },
        { "size", l_size },     { "write", l_write }, { NULL, NULL },
    };
    static const luaL_Reg methods[] = { { "close", raw_close }, { NULL, NULL } };
    static const luaL_Reg metas[] = { { "__gc", raw_close },
                                      { "__close", raw_close },
                                      { NULL, NULL } };

    al_lua_type(L, RAW_TYPE, methods, metas);
    luaL_newlib(L, functions);
    return 1;
}
