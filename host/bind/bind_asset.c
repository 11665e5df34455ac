/* host.asset: the files inside the binary, and those that ALISIO_ASSET_PATH puts in front. */
#include "base/hash.h"
#include "bind/util.h"
#include "core/loader.h"
#include <string.h>

int luaopen_host_asset(lua_State *L);

static int l_read(lua_State *L) /* read(name) → bytes */
{
    const char *name = luaL_checkstring(L, 1), *bytes;
    al_buf *own = al_lua_buf(L, 0);
    size_t size;
    al_err err = { 0 };

    if (al_asset_read(name, own, &bytes, &size, &err) != AL_OK)
        return al_fail(L, &err);
    lua_pushlstring(L, bytes, size);
    al_buf_free(own);
    return 1;
}

static int l_sha256(lua_State *L) /* sha256(name) → hex */
{
    const char *name = luaL_checkstring(L, 1), *bytes;
    al_buf *own = al_lua_buf(L, 0);
    size_t size;
    char hex[65];
    al_err err = { 0 };

    int rc = al_asset_read(name, own, &bytes, &size, &err);
    if (rc == AL_OK && al_sha256_of(bytes, size, hex) != AL_OK)
        rc = al_err_set(&err, AL_EIO, "internal", name, "SHA-256 failed");
    if (rc != AL_OK)
        return al_fail(L, &err);
    lua_pushstring(L, hex);
    return 1;
}

static int l_list(lua_State *L) /* list(prefix) → names of both places, in no order, some twice */
{
    size_t len, count = al_asset_count();
    const char *prefix = luaL_checklstring(L, 1, &len);
    al_buf *front = al_lua_buf(L, 0);
    lua_Integer n = 0;

    if (al_asset_list_front(prefix, front) != AL_OK)
        return luaL_error(L, "not enough memory");
    lua_newtable(L);
    for (size_t i = 0; i < count; i++) {
        const char *name = al_asset_at(i).name;
        if (strncmp(name, prefix, len) != 0)
            continue;
        lua_pushstring(L, name);
        lua_rawseti(L, -2, ++n);
    }
    for (size_t at = 0; at < front->len; at += strlen(front->data + at) + 1) {
        lua_pushstring(L, front->data + at);
        lua_rawseti(L, -2, ++n);
    }
    return 1;
}

static const luaL_Reg functions[] = {
    { "list", l_list }, { "read", l_read }, { "sha256", l_sha256 }, { NULL, NULL }
};

int luaopen_host_asset(lua_State *L)
{
    luaL_newlib(L, functions);
    return 1;
}
