/* host.json: JSON text and Lua values, over base/json. Integers stay integers; null is the light
 * userdata NULL (the same value as cjson.null); arrays carry a metatable so that `[]` survives. */
#include "base/json.h"
#include "bind/util.h"
#include <stdlib.h>
#include <string.h>

#define ARRAY_TYPE "al.json.array"
#define RAW_TYPE   "al.json.raw"

int luaopen_host_json(lua_State *L);

static bool has_mark(lua_State *L, int idx, const char *type)
{
    if (!lua_getmetatable(L, idx))
        return false;
    luaL_getmetatable(L, type);
    bool same = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    return same;
}

/* ---- decode ---- */

/* Pushes the value that begins with the token `type`; false on an error (nothing pushed then is of
 * use, the caller cuts the stack). */
static bool read_value(lua_State *L, al_json *j, al_json_type type);

static bool read_array(lua_State *L, al_json *j)
{
    lua_newtable(L);
    luaL_setmetatable(L, ARRAY_TYPE);
    for (lua_Integer i = 1;; i++) {
        al_json_type type = al_json_next(j);
        if (type == AL_JSON_ARRAY_END)
            return true;
        if (!read_value(L, j, type))
            return false;
        lua_rawseti(L, -2, i);
    }
}

static bool read_object(lua_State *L, al_json *j)
{
    lua_newtable(L);
    for (;;) {
        al_json_type type = al_json_next(j);
        if (type == AL_JSON_OBJECT_END)
            return true;
        if (type != AL_JSON_KEY)
            return false;
        lua_pushlstring(L, j->text, j->len);
        if (!read_value(L, j, al_json_next(j)))
            return false;
        lua_rawset(L, -3);
    }
}

static bool read_value(lua_State *L, al_json *j, al_json_type type)
{
    luaL_checkstack(L, 4, "JSON nested too deeply");
    switch (type) {
    case AL_JSON_OBJECT: return read_object(L, j);
    case AL_JSON_ARRAY: return read_array(L, j);
    case AL_JSON_STRING: lua_pushlstring(L, j->text, j->len); return true;
    case AL_JSON_NUMBER:
        if (j->is_int)
            lua_pushinteger(L, j->integer);
        else
            lua_pushnumber(L, j->real);
        return true;
    case AL_JSON_TRUE:
    case AL_JSON_FALSE: lua_pushboolean(L, type == AL_JSON_TRUE); return true;
    case AL_JSON_NULL: lua_pushlightuserdata(L, NULL); return true;
    default: return false;
    }
}

/* decode(text, options?) -> value | nil, message, id, fields */
static int l_decode(lua_State *L)
{
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    lua_Integer depth = al_opt_int(L, 2, "maxDepth", 0);
    lua_Integer max = al_opt_int(L, 2, "maxBytes", 0);
    al_err err = { 0 };

    luaL_argcheck(L, depth >= 0 && depth <= AL_JSON_MAX_DEPTH, 2, "maxDepth must be 0 to 128");
    lua_settop(L, 1);
    if (max > 0 && len > (size_t)max) {
        al_err_setf(&err, AL_ELIMIT, "json_limit", "maxBytes", "%zu bytes are more than %lld", len,
                    (long long)max);
        return al_fail(L, &err);
    }
    al_json *j = al_lua_json(L, text, len, (int)depth);
    bool ok = read_value(L, j, al_json_next(j));
    if (ok)
        ok = al_json_next(j) == AL_JSON_END;
    if (!ok) {
        err = j->err;
        al_json_close(j);
        return al_fail(L, &err);
    }
    al_json_close(j);
    return 1;
}

/* ---- encode ---- */

typedef struct writer {
    lua_State *L;
    al_buf *buf;
    bool pretty;
    int depth;
} writer;

typedef struct key_ref {
    const char *text;
    size_t len;
} key_ref;

static void write_value(writer *w, int idx);

static int by_bytes(const void *a, const void *b)
{
    const key_ref *x = a, *y = b;
    size_t n = x->len < y->len ? x->len : y->len;
    int c = memcmp(x->text, y->text, n);
    return c ? c : (x->len > y->len) - (x->len < y->len);
}

typedef struct key_count {
    size_t strings, integers;
    bool other; /* a key of another kind, or integers that are not 1..n */
} key_count;

static key_count count_keys(lua_State *L, int idx)
{
    key_count n = { 0 };
    lua_Integer top = 0;

    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        if (lua_type(L, -2) == LUA_TSTRING) {
            n.strings++;
        } else if (lua_isinteger(L, -2) && lua_tointeger(L, -2) > 0) {
            n.integers++;
            if (lua_tointeger(L, -2) > top)
                top = lua_tointeger(L, -2);
        } else {
            n.other = true;
        }
    }
    n.other = n.other || (size_t)top != n.integers;
    return n;
}

/* A marked table is an array even when it is empty; an unmarked one when its keys are 1..n. */
static bool is_array(lua_State *L, int idx, key_count n)
{
    return !n.strings && !n.other && (n.integers > 0 || has_mark(L, idx, ARRAY_TYPE));
}

/* Stands before each element, and before the closing bracket with comma false. */
static void next_element(writer *w, bool comma)
{
    if (comma)
        al_buf_char(w->buf, ',');
    if (!w->pretty)
        return;
    al_buf_char(w->buf, '\n');
    for (int i = 0; i < w->depth; i++)
        al_buf_str(w->buf, "  ");
}

static void write_array(writer *w, int idx, size_t count)
{
    al_buf_char(w->buf, '[');
    w->depth++;
    for (size_t i = 1; i <= count; i++) {
        next_element(w, i > 1);
        lua_rawgeti(w->L, idx, (lua_Integer)i);
        write_value(w, lua_gettop(w->L));
        lua_pop(w->L, 1);
    }
    w->depth--;
    if (count > 0)
        next_element(w, false);
    al_buf_char(w->buf, ']');
}

static void write_object(writer *w, int idx, size_t count)
{
    lua_State *L = w->L;
    key_ref *keys = lua_newuserdatauv(L, (count ? count : 1) * sizeof *keys, 0);
    size_t n = 0;

    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1), n++)
        keys[n].text = lua_tolstring(L, -2, &keys[n].len);
    qsort(keys, count, sizeof *keys, by_bytes);
    al_buf_char(w->buf, '{');
    w->depth++;
    for (n = 0; n < count; n++) {
        next_element(w, n > 0);
        al_json_quote(w->buf, keys[n].text, keys[n].len);
        al_buf_str(w->buf, w->pretty ? ": " : ":");
        lua_pushlstring(L, keys[n].text, keys[n].len);
        lua_rawget(L, idx); /* [keys, value] */
        write_value(w, lua_gettop(L));
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    w->depth--;
    if (count > 0)
        next_element(w, false);
    al_buf_char(w->buf, '}');
}

static void write_table(writer *w, int idx)
{
    lua_State *L = w->L;
    size_t len;

    if (has_mark(L, idx, RAW_TYPE)) {
        lua_rawgeti(L, idx, 1);
        const char *text = lua_tolstring(L, -1, &len);
        al_buf_add(w->buf, text, len);
        lua_pop(L, 1);
        return;
    }
    if (w->depth >= AL_JSON_MAX_DEPTH)
        luaL_error(L, "cannot encode a table nested deeper than %d (a cycle?)", AL_JSON_MAX_DEPTH);
    key_count n = count_keys(L, idx);
    if (n.other || (n.strings && n.integers))
        luaL_error(L, "cannot encode a table whose keys are neither all strings nor 1 to n");
    if (is_array(L, idx, n))
        write_array(w, idx, n.integers);
    else
        write_object(w, idx, n.strings);
}

static void write_value(writer *w, int idx)
{
    lua_State *L = w->L;
    al_json_out out;
    size_t len;

    luaL_checkstack(L, 8, "value nested too deeply");
    al_json_out_init(&out, w->buf);
    switch (lua_type(L, idx)) {
    case LUA_TNIL: al_json_null(&out); return;
    case LUA_TBOOLEAN: al_json_bool(&out, lua_toboolean(L, idx)); return;
    case LUA_TTABLE: write_table(w, idx); return;
    case LUA_TNUMBER:
        if (lua_isinteger(L, idx))
            al_json_int(&out, lua_tointeger(L, idx));
        else
            al_json_real(&out, lua_tonumber(L, idx));
        return;
    case LUA_TSTRING: {
        const char *text = lua_tolstring(L, idx, &len);
        al_json_string(&out, text, len);
        return;
    }
    case LUA_TLIGHTUSERDATA:
        if (lua_touserdata(L, idx) == NULL) {
            al_json_null(&out);
            return;
        }
    }
    luaL_error(L, "cannot encode a %s as JSON", luaL_typename(L, idx));
}

/* encode(value, options?) -> text; raises for what JSON cannot say */
static int l_encode(lua_State *L)
{
    luaL_checkany(L, 1);
    writer w = { .L = L, .pretty = al_opt_bool(L, 2, "pretty", false) };

    lua_settop(L, 1);
    w.buf = al_lua_buf(L, 0);
    write_value(&w, 1);
    if (w.buf->failed)
        return luaL_error(L, "not enough memory");
    lua_pushlstring(L, w.buf->data ? w.buf->data : "", w.buf->len);
    al_buf_free(w.buf);
    return 1;
}

/* ---- marks ---- */

static int l_array(lua_State *L)
{
    if (lua_isnoneornil(L, 1)) {
        lua_settop(L, 0);
        lua_newtable(L);
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    luaL_setmetatable(L, ARRAY_TYPE);
    return 1;
}

static int l_is_array(lua_State *L)
{
    lua_pushboolean(L, lua_istable(L, 1) && is_array(L, 1, count_keys(L, 1)));
    return 1;
}

static int l_raw(lua_State *L)
{
    luaL_checkstring(L, 1);
    lua_createtable(L, 1, 0);
    lua_pushvalue(L, 1);
    lua_rawseti(L, -2, 1);
    luaL_setmetatable(L, RAW_TYPE);
    return 1;
}

int luaopen_host_json(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "array", l_array },       { "decode", l_decode }, { "encode", l_encode },
        { "is_array", l_is_array }, { "raw", l_raw },       { NULL, NULL },
    };
    static const luaL_Reg none[] = { { NULL, NULL } };

    al_lua_type(L, ARRAY_TYPE, NULL, none);
    al_lua_type(L, RAW_TYPE, NULL, none);
    luaL_newlib(L, functions);
    lua_pushlightuserdata(L, NULL);
    lua_setfield(L, -2, "null");
    return 1;
}
