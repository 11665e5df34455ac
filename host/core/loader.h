/* `require` inside the host: C modules of bind/, Lua from the assets in the binary.
 *
 * An asset is a file of the repository, named by its path there ("stdlib/lua/std/fs.lua"). A folder
 * in ALISIO_ASSET_PATH stands in front of those in the binary, file by file. */
#ifndef AL_CORE_LOADER_H
#define AL_CORE_LOADER_H
#include "base/buf.h"
#include "base/err.h"
#include <lua.h>

typedef struct al_module {
    const char *name; /* "host.fs" */
    lua_CFunction open;
} al_module;

extern const al_module al_modules[]; /* in bind/modules.c; ends with a NULL name */

typedef struct al_asset {
    const char *name;
    const char *bytes; /* size of them, in the binary */
    size_t size;
    const char *sha256; /* hex */
} al_asset;

size_t al_asset_count(void);
al_asset al_asset_at(size_t index); /* by name, ascending */
/* The bytes of an asset, from ALISIO_ASSET_PATH when it is there: then they are read into `own`
 * (the caller's, initialized), else *bytes points into the binary. AL_ENOTFOUND, AL_EIO. */
int al_asset_read(const char *name, al_buf *own, const char **bytes, size_t *size, al_err *err);
/* Appends the names that begin with prefix in the folder of ALISIO_ASSET_PATH, each with a NUL, in
 * no order. AL_ENOMEM. */
int al_asset_list_front(const char *prefix, al_buf *names);

/* Puts dir/?.lua and dir/?/init.lua in front of package.path. May raise. */
void al_loader_add_path(lua_State *L, const char *dir);
/* Loads asset `name` as a Lua chunk (text only), which it pushes; or pushes nothing and answers
 * AL_ENOTFOUND. Raises when it does not compile. */
int al_loader_chunk(lua_State *L, const char *name);

#endif
