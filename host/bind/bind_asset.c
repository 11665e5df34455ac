/* host.asset: the files inside the binary, and those that ALISIO_ASSET_PATH puts in front. */
#include "core/loader.h"
#include "core/task.h"
#include <lauxlib.h>
#include <string.h>

int luaopen_host_asset(lua_State *L);

static int l_read(lua_State *L) /* read(name) → bytes */
{
    const char *name = luaL_checkstring(L, 1), *bytes;
    size_t size;
    al_err err = { 0 };
    al_buf *own = lua_newuserdatauv(L, sizeof *own, 0);

    al_buf_init(own, 0);
    luaL_setmetatable(L, "al.asset.buf");
    if (al_asset_read(name, own, &bytes, &size, &err) != AL_OK)
        return al_fail(L, &err);
    lua_pushlstring(L, bytes, size);
    al_buf_free(own);
    return 1;
}

static int l_buf_gc(lua_State *L)
{
    al_buf_free(luaL_checkudata(L, 1, "al.asset.buf"));
    return 0;
}

static int l_list(lua_State *L) /* list(prefix) → list of names, ascending */
{
    size_t len, count = al_asset_count();
    const char *prefix = luaL_checklstring(L, 1, &len);
    lua_Integer n = 0;

    lua_newtable(L);
    for (size_t i = 0; i < count; i++) {
        const char *name = al_asset_at(i).name;
        if (strncmp(name, prefix, len) != 0)
            continue;
        lua_pushstring(L, name);
        lua_rawseti(L, -2, ++n);
    }
    return 1;
}

static const luaL_Reg functions[] = { { "read", l_read }, { "list", l_list }, { NULL, NULL } };

int luaopen_host_asset(lua_State *L)
{
    luaL_newmetatable(L, "al.asset.buf");
    lua_pushcfunction(L, l_buf_gc);
    lua_setfield(L, -2, "__gc");
    luaL_newlib(L, functions);
    return 1;
}
