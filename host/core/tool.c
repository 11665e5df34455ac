/* The door. What the gate was shown is what runs: the function is fetched before the gate is asked,
 * so a tool that is replaced meanwhile does not run on its predecessor's permission. */
#include "core/tool.h"
#include <lauxlib.h>
#include <lualib.h>
#include <stdbool.h>
#include <string.h>

#define MAX_NAME 64

/* Keys in the Lua registry, by address. */
static const char infos_key, runs_key, gate_key; /* name → definition; name → run; the gate */

static const char *const effects[] = { "read", "write", "process", "external", "internal", NULL };

void al_tool_open(lua_State *L)
{
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &infos_key);
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &runs_key);
}

static bool is_name(const char *name)
{
    return name[0] >= 'a' && name[0] <= 'z' && strlen(name) <= MAX_NAME &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

/* The text at `field` of the definition at index 1, left on the stack. */
static const char *text_field(lua_State *L, const char *field)
{
    if (lua_getfield(L, 1, field) != LUA_TSTRING)
        luaL_error(L, "tool: %s has to be a text", field);
    return lua_tostring(L, -1);
}

static void check_effect(lua_State *L, const char *effect)
{
    for (const char *const *e = effects; *e; e++)
        if (strcmp(effect, *e) == 0)
            return;
    luaL_error(L, "tool: effect is '%s', not read, write, process, external or internal", effect);
}

/* Pushes a copy of the table at index, without its `run`. */
static void push_info(lua_State *L, int index)
{
    index = lua_absindex(L, index);
    lua_newtable(L);
    lua_pushnil(L);
    while (lua_next(L, index)) { /* [copy, key, value] */
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, -4);
    }
    lua_pushnil(L);
    lua_setfield(L, -2, "run");
}

int al_tool_register(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    const char *name = text_field(L, "name"); /* [definition, name] */
    if (!is_name(name))
        return luaL_error(L, "tool: '%s' is no name (lower-case letters, digits and _)", name);
    text_field(L, "description");
    check_effect(L, text_field(L, "effect"));
    if (lua_getfield(L, 1, "run") != LUA_TFUNCTION)
        return luaL_error(L, "tool '%s': run has to be a function", name);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &infos_key);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &runs_key); /* [definition, name, …, run, infos, runs] */
    if (lua_getfield(L, -2, name) != LUA_TNIL)
        return luaL_error(L, "there is a tool '%s' already", name);
    lua_pushvalue(L, -4);
    lua_setfield(L, -3, name); /* a run without a definition is never called */
    push_info(L, 1);
    lua_setfield(L, -4, name);
    return 0;
}

int al_tool_remove(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);

    lua_rawgetp(L, LUA_REGISTRYINDEX, &infos_key);
    bool there = lua_getfield(L, -1, name) != LUA_TNIL;
    if (there) {
        lua_pushnil(L);
        lua_setfield(L, -3, name);
        lua_rawgetp(L, LUA_REGISTRYINDEX, &runs_key);
        lua_pushnil(L);
        lua_setfield(L, -2, name);
    }
    lua_pushboolean(L, there);
    return 1;
}

int al_tool_set_gate(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &gate_key) != LUA_TNIL)
        return luaL_error(L, "the gate is set already");
    lua_pushvalue(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &gate_key);
    return 0;
}

int al_tool_get(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);

    lua_rawgetp(L, LUA_REGISTRYINDEX, &infos_key);
    if (lua_getfield(L, -1, name) == LUA_TTABLE)
        push_info(L, -1);
    return 1;
}

int al_tool_list(lua_State *L)
{
    lua_Integer n = 0;

    lua_settop(L, 0);
    lua_newtable(L);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &infos_key); /* [names, infos] */
    lua_pushnil(L);
    while (lua_next(L, 2)) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_rawseti(L, 1, ++n);
    }
    lua_getglobal(L, LUA_TABLIBNAME);
    lua_getfield(L, -1, "sort");
    lua_pushvalue(L, 1);
    lua_call(L, 1, 0);
    for (lua_Integer i = 1; i <= n; i++) { /* each name becomes its definition */
        lua_rawgeti(L, 1, i);
        lua_rawget(L, 2);
        push_info(L, -1);
        lua_rawseti(L, 1, i);
        lua_pop(L, 1);
    }
    lua_settop(L, 1);
    return 1;
}

static int refuse(lua_State *L, const char *message, const char *id)
{
    lua_pushnil(L);
    lua_pushstring(L, message);
    lua_pushstring(L, id);
    return 3;
}

static int run_end(lua_State *L, int status, lua_KContext context)
{
    (void)status, (void)context;
    return lua_gettop(L);
}

static int gate_end(lua_State *L, int status, lua_KContext context)
{
    (void)status, (void)context; /* [input, call, run, allowed, reason, id] */
    if (!lua_isboolean(L, 4) || !lua_toboolean(L, 4))
        return refuse(L, luaL_optstring(L, 5, "the gate gave no reason"),
                      luaL_optstring(L, 6, "permission_denied"));
    lua_settop(L, 3);
    lua_insert(L, 1); /* [run, input, call] */
    lua_callk(L, 2, LUA_MULTRET, 0, run_end);
    return run_end(L, LUA_OK, 0);
}

int al_tool_call(lua_State *L) /* [name, input, call] */
{
    const char *name = luaL_checkstring(L, 1);

    lua_settop(L, 3);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &infos_key);
    if (lua_getfield(L, -1, name) != LUA_TTABLE)
        return refuse(L, lua_pushfstring(L, "there is no tool '%s'", name), "not_found");
    lua_rawgetp(L, LUA_REGISTRYINDEX, &runs_key);
    lua_getfield(L, -1, name); /* [name, input, call, infos, info, runs, run] */
    lua_replace(L, 4);
    lua_pop(L, 1); /* [name, input, call, run, info] */
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &gate_key) != LUA_TFUNCTION)
        return refuse(L, "no permission policy is set, so no tool may run", "permission_denied");
    lua_createtable(L, 0, 3); /* [name, input, call, run, info, gate, step] */
    lua_pushvalue(L, 2);
    lua_setfield(L, -2, "input");
    lua_pushvalue(L, 3);
    lua_setfield(L, -2, "call");
    push_info(L, 5);
    lua_setfield(L, -2, "tool");
    lua_remove(L, 5);
    lua_remove(L, 1); /* [input, call, run, gate, step] */
    lua_callk(L, 1, 3, 0, gate_end);
    return gate_end(L, LUA_OK, 0);
}
