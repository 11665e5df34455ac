/* How C failures reach Lua: nil, message, id, fields. */
#include "core/task.h"
#include <lauxlib.h>

static void set_text(lua_State *L, const char *key, const char *text)
{
    if (!text || !*text)
        return;
    lua_pushstring(L, text);
    lua_setfield(L, -2, key);
}

static void set_number(lua_State *L, const char *key, uint64_t n)
{
    if (n == 0)
        return;
    lua_pushinteger(L, (lua_Integer)n);
    lua_setfield(L, -2, key);
}

int al_fail(lua_State *L, const al_err *err)
{
    char text[1024];

    lua_pushnil(L);
    lua_pushstring(L, al_err_text(err, text, sizeof text));
    lua_pushstring(L, err->id ? err->id : "internal");
    lua_createtable(L, 0, 7);
    lua_pushinteger(L, err->code);
    lua_setfield(L, -2, "code");
    set_text(L, "reason", err->reason);
    set_text(L, "object", err->object);
    set_text(L, "detail", err->detail);
    set_number(L, "line", err->line);
    set_number(L, "column", err->column);
    if (err->line || err->code == AL_EDATA) {
        lua_pushinteger(L, (lua_Integer)err->offset);
        lua_setfield(L, -2, "offset");
    }
    return 4;
}
