/* host.clock: time and randomness, over base/clock (which tests can fake). */
#include "base/clock.h"
#include "bind/util.h"

int luaopen_host_clock(lua_State *L);

static int l_now(lua_State *L)
{
    lua_pushinteger(L, al_clock_now());
    return 1;
}

static int l_monotonic(lua_State *L)
{
    lua_pushnumber(L, (double)al_clock_monotonic() / 1e6);
    return 1;
}

static int l_random(lua_State *L)
{
    lua_Integer n = luaL_checkinteger(L, 1);
    luaL_Buffer b;
    al_err err = { 0 };

    luaL_argcheck(L, n >= 0 && n <= 1 << 20, 1, "must be 0 to 1048576 bytes");
    char *bytes = luaL_buffinitsize(L, &b, (size_t)n);
    if (al_clock_random(bytes, (size_t)n, &err) < 0)
        return al_fail(L, &err);
    luaL_pushresultsize(&b, (size_t)n);
    return 1;
}

int luaopen_host_clock(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "monotonic", l_monotonic },
        { "now", l_now },
        { "random", l_random },
        { NULL, NULL },
    };
    luaL_newlib(L, functions);
    return 1;
}
