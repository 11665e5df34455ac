/* A host of its own for each test, and Lua text run in it as the main task. */
#ifndef UNIT_LUA_HOST_H
#define UNIT_LUA_HOST_H
#include "core/host.h"
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

typedef struct lua_host {
    al_host *host;
    char reports[4096]; /* what nobody waited for */
} lua_host;

static inline void take_report(al_host *host, const char *text, void *data)
{
    lua_host *l = data;
    (void)host;

    strncat(l->reports, text, sizeof l->reports - strlen(l->reports) - 1);
}

static inline int lua_host_open(void **state)
{
    lua_host *l = calloc(1, sizeof *l);
    char *argv[] = { "test", "one", "two" };
    al_host_options o = { .report = take_report, .data = l, .argc = 3, .argv = argv };

    *state = l;
    return al_host_open(&l->host, &o, NULL);
}

static inline int lua_host_close(void **state)
{
    lua_host *l = *state;

    al_host_close(l->host);
    free(l);
    return 0;
}

/* Runs `body` as module "test", whose main is to be a global function of it. The exit code, or -1
 * with *why (to be freed). */
static inline int run_lua(lua_host *l, const char *body, char **why)
{
    lua_State *L = al_host_lua(l->host);
    int code = -1;

    *why = NULL;
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    if (luaL_loadbuffer(L, body, strlen(body), "=test") != LUA_OK)
        abort();
    lua_setfield(L, -2, "test");
    lua_pop(L, 1);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_pushnil(L);
    lua_setfield(L, -2, "test");
    lua_pop(L, 1);
    return al_host_main(l->host, "test", "main", &code, why) == AL_OK ? code : -1;
}

#endif
