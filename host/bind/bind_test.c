/* host.test: makes allocations fail on purpose, and counts tasks. Only in builds with test hooks.
 */
#ifdef AL_TEST_HOOKS
#include "core/mem.h"
#include "core/task.h"
#include <lauxlib.h>
#include <lua.h>

int luaopen_host_test(lua_State *L);

static int l_fail(lua_State *L) /* fail("lua" or "c", n) → whether the one armed before was hit */
{
    static const char *const kinds[] = { "c", "lua", NULL };
    int lua = luaL_checkoption(L, 1, NULL, kinds);
    lua_Integer n = luaL_checkinteger(L, 2);

    lua_pushboolean(L, al_mem_fail(lua, (unsigned long)n));
    return 1;
}

static int l_tasks(lua_State *L) /* tasks() → how many are not over */
{
    lua_pushinteger(L, al_task_count(al_host_of(L)));
    return 1;
}

static const luaL_Reg functions[] = { { "fail", l_fail }, { "tasks", l_tasks }, { NULL, NULL } };

int luaopen_host_test(lua_State *L)
{
    luaL_newlib(L, functions);
    return 1;
}
#endif
