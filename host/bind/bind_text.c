/* host.text: Unicode text, over base/utf8. */
#include "base/utf8.h"
#include "bind/util.h"

int luaopen_host_text(lua_State *L);

typedef int (*transform)(al_buf *out, const char *text, size_t len);

/* Pushes what `how` makes of argument 1, or nil when that is not UTF-8. */
static int transformed(lua_State *L, transform how)
{
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    al_buf *out = al_lua_buf(L, 0);
    int rc = how(out, text, len);

    if (rc == AL_ENOMEM)
        return luaL_error(L, "not enough memory");
    if (rc < 0)
        lua_pushnil(L);
    else
        lua_pushlstring(L, out->data ? out->data : "", out->len);
    al_buf_free(out);
    return 1;
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

int luaopen_host_text(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "fold", l_fold },
        { "normalize", l_normalize },
        { "valid", l_valid },
        { NULL, NULL },
    };
    luaL_newlib(L, functions);
    return 1;
}
