/* host.text: Unicode text and its shape on a terminal, over base/utf8, prim/text, prim/markdown. */
#include "base/utf8.h"
#include "bind/util.h"
#include "prim/markdown.h"
#include "prim/text.h"
#include <string.h>

int luaopen_host_text(lua_State *L);

/* Pushes what was collected, or raises when it could not all be. */
static int push_buf(lua_State *L, al_buf *b)
{
    if (b->failed)
        return luaL_error(L, "not enough memory");
    lua_pushlstring(L, b->data ? b->data : "", b->len);
    al_buf_free(b);
    return 1;
}

typedef int (*transform)(al_buf *out, const char *text, size_t len);

/* Pushes what `how` makes of argument 1, or nil when that is not UTF-8. */
static int transformed(lua_State *L, transform how)
{
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    al_buf *out = al_lua_buf(L, 0);

    if (how(out, text, len) == AL_EDATA) {
        lua_pushnil(L);
        return 1;
    }
    return push_buf(L, out);
}

static int l_normalize(lua_State *L)
{
    return transformed(L, al_utf8_nfc);
}

static int l_fold(lua_State *L)
{
    return transformed(L, al_utf8_fold);
}

static int l_valid(lua_State *L)
{
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    lua_pushboolean(L, al_utf8_valid(text, len) == len);
    return 1;
}

/* cut(text, max) -> the longest beginning of at most max bytes that cuts no character */
static int l_cut(lua_State *L)
{
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    lua_Integer max = luaL_checkinteger(L, 2);

    luaL_argcheck(L, max >= 0, 2, "must not be negative");
    if ((size_t)max >= len)
        lua_settop(L, 1);
    else
        lua_pushlstring(L, text, al_utf8_cut(text, len, (size_t)max));
    return 1;
}

static int l_width(lua_State *L)
{
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    lua_pushinteger(L, (lua_Integer)al_text_width(text, len));
    return 1;
}

static size_t check_columns(lua_State *L, int idx)
{
    lua_Integer n = luaL_checkinteger(L, idx);
    luaL_argcheck(L, n >= 0, idx, "columns must not be negative");
    return (size_t)n;
}

static int l_truncate(lua_State *L)
{
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    size_t columns = check_columns(L, 2);
    al_buf *out = al_lua_buf(L, 0);
    al_text_truncate(out, text, len, columns);
    return push_buf(L, out);
}

/* wrap(text, columns) -> list of lines */
static int l_wrap(lua_State *L)
{
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    size_t columns = check_columns(L, 2);
    al_buf *out = al_lua_buf(L, 0);

    if (al_text_wrap(out, text, len, columns) < 0)
        return luaL_error(L, "not enough memory");
    lua_newtable(L);
    const char *line = out->data ? out->data : "", *end = line + out->len;
    for (lua_Integer i = 1;; i++) {
        const char *lf = memchr(line, '\n', (size_t)(end - line));
        lua_pushlstring(L, line, (size_t)((lf ? lf : end) - line));
        lua_rawseti(L, -2, i);
        if (!lf)
            break;
        line = lf + 1;
    }
    al_buf_free(out);
    return 1;
}

/* visible(text, keep_lines?) */
static int l_visible(lua_State *L)
{
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    bool lines = lua_toboolean(L, 2);
    al_buf *out = al_lua_buf(L, 0);
    al_text_visible(out, text, len, lines);
    return push_buf(L, out);
}

/* markdown(text, { width, color }?) */
static int l_markdown(lua_State *L)
{
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    lua_Integer width = al_opt_int(L, 2, "width", 80);
    bool colour = al_opt_bool(L, 2, "color", false);
    al_buf *out = al_lua_buf(L, 0);

    luaL_argcheck(L, width > 0, 2, "width must be positive");
    if (al_markdown(out, text, len, (size_t)width, colour, NULL) < 0)
        return luaL_error(L, "not enough memory");
    return push_buf(L, out);
}

int luaopen_host_text(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "cut", l_cut },           { "fold", l_fold },
        { "markdown", l_markdown }, { "normalize", l_normalize },
        { "truncate", l_truncate }, { "valid", l_valid },
        { "visible", l_visible },   { "width", l_width },
        { "wrap", l_wrap },         { NULL, NULL },
    };
    luaL_newlib(L, functions);
    return 1;
}
