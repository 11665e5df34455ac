/* host.tool: the registry of tools and its one door. */
#include "core/tool.h"
#include <lauxlib.h>

int luaopen_host_tool(lua_State *L);

static const luaL_Reg functions[] = { { "call", al_tool_call },
                                      { "get", al_tool_get },
                                      { "list", al_tool_list },
                                      { "register", al_tool_register },
                                      { "remove", al_tool_remove },
                                      { "set_gate", al_tool_set_gate },
                                      { NULL, NULL } };

int luaopen_host_tool(lua_State *L)
{
    luaL_newlib(L, functions);
    return 1;
}
