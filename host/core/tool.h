/* The registry of tools and its one door: every call of a tool, from Lua or C, from any face, comes
 * through al_tool_call, which asks the gate first.
 *
 * A tool is a table { name, description, effect, capability?, input, run, … }. The registry keeps a
 * copy; what it hands out is without `run`, which nothing but the door can reach. */
#ifndef AL_CORE_TOOL_H
#define AL_CORE_TOOL_H
#include <lua.h>

void al_tool_open(lua_State *L); /* the registry of a new state; may raise */

/* These are functions Lua may call (host.tool has them); the first three raise on misuse. */
int al_tool_register(lua_State *L); /* (definition); raises when the name is taken */
int al_tool_remove(lua_State *L);   /* (name) → whether it was there */
int al_tool_set_gate(lua_State *L); /* (fn), once */
int al_tool_get(lua_State *L);      /* (name) → definition or nil */
int al_tool_list(lua_State *L);     /* () → definitions, by name */
/* (name, input, call) → what the tool returns; or nil, message, id. The gate is called with
 * { tool, input, call } and lets through by returning true. Both may wait. What they raise is
 * raised here. */
int al_tool_call(lua_State *L);

#endif
