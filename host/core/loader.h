/* `require` inside the host: C modules of bind/, Lua from the assets in the binary. */
#ifndef AL_CORE_LOADER_H
#define AL_CORE_LOADER_H
#include <lua.h>

typedef struct al_module {
    const char *name; /* "host.fs" */
    lua_CFunction open;
} al_module;

extern const al_module al_modules[]; /* in bind/modules.c; ends with a NULL name */

#endif
