/* host.engine: the engine's client (prim/engine) for Lua, and the decoder of its rows.
 *
 * A rows frame is {"rows":[[…],…],"kinds":["itrbn…",…]}, one letter a cell. Nothing in it is taken
 * on trust: a cell that does not fit its letter fails the request. */
#include "base/json.h"
#include "bind/file.h"
#include "bind/util.h"
#include "core/host.h"
#include "core/mem.h"
#include "prim/engine.h"
#include "prim/fs.h"
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ENGINE_TYPE "al.engine"
#define OUTPUT_TYPE "al.output"
#define MAX_COLUMNS 2000 /* of an answer: SQLite has no more */

int luaopen_host_engine(lua_State *L);

/* ---- rows ---- */

static int hex_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Pushes the bytes of x'00ff', or, of a cut one, those that stand before its "…". */
static bool push_blob(lua_State *L, const char *text, size_t len)
{
    luaL_Buffer b;
    size_t i = 2;

    if (len < 3 || text[0] != 'x' || text[1] != '\'')
        return false;
    luaL_buffinit(L, &b);
    for (; i + 1 < len && hex_value(text[i]) >= 0 && hex_value(text[i + 1]) >= 0; i += 2)
        luaL_addchar(&b, (char)(hex_value(text[i]) << 4 | hex_value(text[i + 1])));
    luaL_pushresult(&b);
    return (len - i == 1 && text[i] == '\'') || !strncmp(text + i, "…", len - i);
}

/* An integer that a double would not keep. */
static bool push_big_integer(lua_State *L, const char *text, size_t len)
{
    char digits[24], *end = digits;
    size_t n = len < sizeof digits ? len : 0;

    memcpy(digits, text, n);
    digits[n] = '\0';
    errno = 0;
    lua_pushinteger(L, strtoll(digits, &end, 10));
    return n > 0 && !errno && end == digits + n;
}

static bool push_infinity(lua_State *L, const char *text, size_t len)
{
    bool minus = len > 0 && text[0] == '-';
    lua_pushnumber(L, minus ? -INFINITY : INFINITY);
    return len - minus == 8 && !memcmp(text + minus, "Infinity", 8);
}

/* Pushes one cell (anything, when it answers false). */
static bool push_cell(lua_State *L, const al_json *j, al_json_type type, char kind)
{
    bool string = type == AL_JSON_STRING, number = type == AL_JSON_NUMBER;

    switch (kind) {
    case 'n': lua_pushnil(L); return type == AL_JSON_NULL;
    case 'i':
        if (string)
            return push_big_integer(L, j->text, j->len);
        lua_pushinteger(L, j->integer);
        return number && j->is_int;
    case 'r':
        if (string)
            return push_infinity(L, j->text, j->len);
        lua_pushnumber(L, j->real);
        return number;
    case 't': lua_pushlstring(L, string ? j->text : "", string ? j->len : 0); return string;
    case 'b': return string && push_blob(L, j->text, j->len);
    default: return false;
    }
}

/* One row: into a table on the stack, or only looked at. */
static bool read_row(lua_State *L, al_json *rows, const char *kinds, size_t count, bool raw)
{
    if (al_json_next(rows) != AL_JSON_ARRAY)
        return false;
    if (!raw)
        lua_createtable(L, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        int top = lua_gettop(L);
        if (!push_cell(L, rows, al_json_next(rows), kinds[i]))
            return false;
        if (raw)
            lua_settop(L, top);
        else
            lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return al_json_next(rows) == AL_JSON_ARRAY_END;
}

/* Pushes the rows of a frame as a list of lists, or (raw) as the text between the outer brackets;
 * then their number and their width. False when the frame is not what it should be. */
static bool push_rows(lua_State *L, const char *body, size_t len, bool raw)
{
    const char *rows_text, *kinds_text;
    size_t rows_len, kinds_len, width = 0;
    lua_Integer n = 0;

    if (!al_json_get_raw(body, len, "rows", &rows_text, &rows_len) ||
        !al_json_get_raw(body, len, "kinds", &kinds_text, &kinds_len))
        return false;
    al_json *rows = al_lua_json(L, rows_text, rows_len, 3);
    al_json *kinds = al_lua_json(L, kinds_text, kinds_len, 2);
    if (al_json_next(rows) != AL_JSON_ARRAY || al_json_next(kinds) != AL_JSON_ARRAY)
        return false;
    if (!raw)
        lua_newtable(L);
    for (;;) {
        al_json_type type = al_json_next(kinds);
        if (type == AL_JSON_ARRAY_END)
            break;
        if (n == 0)
            width = kinds->len;
        if (type != AL_JSON_STRING || kinds->len != width || width > MAX_COLUMNS ||
            !read_row(L, rows, kinds->text, kinds->len, raw))
            return false;
        n++;
        if (!raw)
            lua_rawseti(L, -2, n);
    }
    if (al_json_next(rows) != AL_JSON_ARRAY_END || al_json_next(rows) != AL_JSON_END)
        return false;
    if (raw)
        lua_pushlstring(L, rows_text + 1, rows_len - 2);
    lua_pushinteger(L, n);
    lua_pushinteger(L, (lua_Integer)width);
    return true;
}

/* ---- the engine ---- */

typedef struct engine {
    al_engine *e;
} engine;

static al_engine *check_engine(lua_State *L)
{
    engine *h = luaL_checkudata(L, 1, ENGINE_TYPE);
    luaL_argcheck(L, h->e != NULL, 1, "the engine is closed");
    return h->e;
}

static void on_closed(void *data)
{
    al_host_drop(data);
}

static int engine_close(lua_State *L)
{
    engine *h = luaL_checkudata(L, 1, ENGINE_TYPE);
    if (h->e)
        al_engine_close(h->e, on_closed, al_host_of(L));
    h->e = NULL;
    return 0;
}

/* start(tmp_dir, program?) -> engine; program: the one that came with this one */
static int l_start(lua_State *L)
{
    const char *tmp = al_check_path(L, 1);
    const char *program = lua_isnoneornil(L, 2) ? NULL : al_check_path(L, 2);
    al_host *host = al_host_of(L);
    al_err err = { 0 };
    engine *h = lua_newuserdatauv(L, sizeof *h, 0);

    h->e = NULL;
    luaL_setmetatable(L, ENGINE_TYPE);
    int at = lua_gettop(L);
    if (!program) {
        al_buf *path = al_lua_buf(L, 0);
        if (al_host_helper(host, "engine", path, &err) < 0) {
            err.id = "internal"; /* an installation that is not whole, nothing the caller named */
            return al_fail(L, &err);
        }
        program = path->data;
    }
    if (al_engine_start(&h->e, al_host_loop(host), program, tmp, &err) < 0)
        return al_fail(L, &err);
    al_host_hold(host);
    lua_pushvalue(L, at);
    return 1;
}

static int output_fd(lua_State *L, int idx)
{
    al_output *out = luaL_testudata(L, idx, OUTPUT_TYPE);
    return out ? out->fd : al_file_fd(L, idx);
}

/* engine:send(json, { file, … }, timeoutMs?) -> true */
static int l_send(lua_State *L)
{
    size_t len;
    al_engine *e = check_engine(L);
    const char *json = luaL_checklstring(L, 2, &len);
    lua_Integer timeout = luaL_optinteger(L, 4, 0);
    int fds[AL_WIRE_MAX_FDS], n = 0;
    al_err err = { 0 };

    luaL_checktype(L, 3, LUA_TTABLE);
    luaL_argcheck(L, lua_rawlen(L, 3) <= AL_WIRE_MAX_FDS, 3, "too many files");
    luaL_argcheck(L, timeout >= 0, 4, "must not be negative");
    for (; n < (int)lua_rawlen(L, 3); n++) {
        lua_rawgeti(L, 3, n + 1);
        fds[n] = output_fd(L, lua_gettop(L));
        luaL_argcheck(L, fds[n] >= 0, 3, "an open file expected");
    }
    if (al_engine_send(e, json, len, fds, n, (uint64_t)timeout, &err) < 0)
        return al_fail(L, &err);
    lua_pushboolean(L, 1);
    return 1;
}

/* Pushes what al_engine_take said. */
static int push_news(lua_State *L, al_engine *e, bool raw)
{
    static const char *const names[] = {
        [AL_WIRE_PROGRESS] = "progress", [AL_WIRE_ROWS] = "rows", [AL_WIRE_RESULT] = "result"
    };
    al_wire_type type;
    const char *body;
    size_t len;
    al_err err = { 0 };
    int top = lua_gettop(L), rc = al_engine_take(e, &type, &body, &len, &err);

    if (rc < 0)
        return al_fail(L, &err);
    assert(rc == 1); /* it is asked only when there is news */
    lua_pushstring(L, names[type]);
    if (type != AL_WIRE_ROWS) {
        lua_pushlstring(L, body, len);
        return 2;
    }
    if (push_rows(L, body, len, raw)) { /* [name, reader, reader, rows, n, width] */
        lua_remove(L, top + 2);
        lua_remove(L, top + 2);
        return 4;
    }
    al_err_set(&err, AL_EIO, "engine_failed", "engine", "it sent rows that are none");
    return al_fail(L, &err);
}

typedef struct next_op {
    al_op op;
    al_engine *e;
    bool raw;
} next_op;

static int next_push(lua_State *L, void *arg)
{
    next_op *op = arg;
    return push_news(L, op->e, op->raw);
}

static void next_ready(void *data)
{
    next_op *op = data;
    al_op_done(&op->op, next_push, op);
    free(op);
}

static void next_cancel(al_op *op)
{
    al_engine_cancel(((next_op *)op)->e);
}

/* engine:next(raw?) -> "progress", json | "result", json | "rows", list or text, count, width */
static int l_next(lua_State *L)
{
    al_engine *e = check_engine(L);
    bool raw = lua_toboolean(L, 2);
    al_task *task = al_task_check(L);

    if (!al_engine_busy(e))
        return luaL_error(L, "no request is running");
    if (al_engine_has_news(e))
        return push_news(L, e, raw);
    next_op *op = al_mem_zero(sizeof *op);
    if (!op)
        return luaL_error(L, "not enough memory");
    op->e = e;
    op->raw = raw;
    al_engine_wait(e, next_ready, op);
    return al_op_wait(L, task, &op->op, next_cancel);
}

static int l_alive(lua_State *L)
{
    engine *h = luaL_checkudata(L, 1, ENGINE_TYPE);
    lua_pushboolean(L, h->e && al_engine_alive(h->e));
    return 1;
}

static int l_busy(lua_State *L)
{
    lua_pushboolean(L, al_engine_busy(check_engine(L)));
    return 1;
}

static int l_pid(lua_State *L)
{
    lua_pushinteger(L, al_engine_pid(check_engine(L)));
    return 1;
}

/* ---- outputs ---- */

static int output_close(lua_State *L)
{
    al_output_close(luaL_checkudata(L, 1, OUTPUT_TYPE));
    return 0;
}

/* output(path) -> a file that appears at path only when it is committed */
static int l_output(lua_State *L)
{
    const char *path = al_check_path(L, 1);
    al_err err = { 0 };
    al_output *out = lua_newuserdatauv(L, sizeof *out, 0);

    *out = (al_output){ -1, -1, NULL, NULL };
    luaL_setmetatable(L, OUTPUT_TYPE);
    if (al_output_open(out, path, &err) < 0)
        return al_fail(L, &err);
    return 1;
}

typedef struct commit_op {
    al_work work;
    al_output out;
} commit_op;

static int commit_run(al_work *w)
{
    return al_output_commit(&((commit_op *)w)->out, &w->err);
}

static int commit_push(lua_State *L, al_work *w)
{
    (void)w;
    lua_pushboolean(L, 1);
    return 1;
}

static void commit_drop(al_work *w)
{
    al_output_close(&((commit_op *)w)->out);
    free(w);
}

/* out:commit() -> true; the handle is closed in any case */
static int l_commit(lua_State *L)
{
    al_output *out = luaL_checkudata(L, 1, OUTPUT_TYPE);
    luaL_argcheck(L, out->fd >= 0, 1, "the output is closed");
    commit_op *op = al_work_new(L, sizeof *op);

    op->out = *out;
    *out = (al_output){ -1, -1, NULL, NULL };
    op->work.run = commit_run;
    op->work.push = commit_push;
    op->work.drop = commit_drop;
    return al_work_start(L, &op->work);
}

int luaopen_host_engine(lua_State *L)
{
    static const luaL_Reg functions[] = { { "output", l_output },
                                          { "start", l_start },
                                          { NULL, NULL } };
    static const luaL_Reg methods[] = {
        { "alive", l_alive }, { "busy", l_busy }, { "close", engine_close },
        { "next", l_next },   { "pid", l_pid },   { "send", l_send },
        { NULL, NULL }
    };
    static const luaL_Reg metas[] = { { "__gc", engine_close },
                                      { "__close", engine_close },
                                      { NULL, NULL } };
    static const luaL_Reg out_methods[] = { { "close", output_close },
                                            { "commit", l_commit },
                                            { NULL, NULL } };
    static const luaL_Reg out_metas[] = { { "__gc", output_close },
                                          { "__close", output_close },
                                          { NULL, NULL } };

    al_lua_type(L, ENGINE_TYPE, methods, metas);
    al_lua_type(L, OUTPUT_TYPE, out_methods, out_metas);
    luaL_newlib(L, functions);
    return 1;
}
