/* The C modules `require` finds, sorted by name. */
#include "core/loader.h"
#include <stddef.h>

int luaopen_host_clock(lua_State *L);
int luaopen_host_fs(lua_State *L);
int luaopen_host_json(lua_State *L);
int luaopen_host_term(lua_State *L);
int luaopen_host_text(lua_State *L);

const al_module al_modules[] = {
    { "host.clock", luaopen_host_clock }, { "host.fs", luaopen_host_fs },
    { "host.json", luaopen_host_json },   { "host.term", luaopen_host_term },
    { "host.text", luaopen_host_text },   { NULL, NULL },
};
