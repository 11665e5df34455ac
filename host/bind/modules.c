/* The C modules `require` finds, sorted by name. */
#include "core/loader.h"
#include <stddef.h>

#ifdef AL_CJSON
int luaopen_cjson(lua_State *L); /* of lua-cjson, for scripts that ask for it */
int luaopen_cjson_safe(lua_State *L);
#endif
int luaopen_host_artifact(lua_State *L);
int luaopen_host_asset(lua_State *L);
int luaopen_host_clock(lua_State *L);
int luaopen_host_engine(lua_State *L);
int luaopen_host_fs(lua_State *L);
int luaopen_host_host(lua_State *L);
int luaopen_host_http(lua_State *L);
int luaopen_host_json(lua_State *L);
int luaopen_host_proc(lua_State *L);
int luaopen_host_signal(lua_State *L);
int luaopen_host_sql(lua_State *L);
int luaopen_host_task(lua_State *L);
int luaopen_host_term(lua_State *L);
#ifdef AL_TEST_HOOKS
int luaopen_host_test(lua_State *L);
#endif
int luaopen_host_text(lua_State *L);
int luaopen_host_tool(lua_State *L);

const al_module al_modules[] = {
#ifdef AL_CJSON
    { "cjson", luaopen_cjson },
    { "cjson.safe", luaopen_cjson_safe },
#endif
    { "host.artifact", luaopen_host_artifact },
    { "host.asset", luaopen_host_asset },
    { "host.clock", luaopen_host_clock },
    { "host.engine", luaopen_host_engine },
    { "host.fs", luaopen_host_fs },
    { "host.host", luaopen_host_host },
    { "host.http", luaopen_host_http },
    { "host.json", luaopen_host_json },
    { "host.proc", luaopen_host_proc },
    { "host.signal", luaopen_host_signal },
    { "host.sql", luaopen_host_sql },
    { "host.task", luaopen_host_task },
    { "host.term", luaopen_host_term },
#ifdef AL_TEST_HOOKS
    { "host.test", luaopen_host_test },
#endif
    { "host.text", luaopen_host_text },
    { "host.tool", luaopen_host_tool },
    { NULL, NULL },
};
