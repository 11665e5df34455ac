/* Assets and `require`. The searcher stands behind package.preload and before package.path, so that
 * nothing in a folder can take the place of a part of the host; ALISIO_ASSET_PATH is the way to
 * replace one. */
#include "core/loader.h"
#include "base/fs.h"
#include "core/state.h"
#include <fts.h>
#include <lauxlib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

extern const uint32_t al_assets[]; /* made by assets.sh, which says its layout */

size_t al_asset_count(void)
{
    return al_assets[0];
}

al_asset al_asset_at(size_t index)
{
    const char *start = (const char *)al_assets;
    const uint32_t *at = al_assets + 1 + 4 * index;

    return (al_asset){ start + at[0], start + at[1], at[3], start + at[2] };
}

static bool find(const char *name, al_asset *out)
{
    size_t low = 0, high = al_asset_count();

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        *out = al_asset_at(middle);
        int order = strcmp(name, out->name);
        if (order == 0)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

/* The folder in front of the assets, or NULL. */
static const char *front_folder(void)
{
    const char *path = getenv("ALISIO_ASSET_PATH");

    return path && *path ? path : NULL;
}

static bool is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

int al_asset_read(const char *name, al_buf *own, const char **bytes, size_t *size, al_err *err)
{
    al_asset asset;
    char path[4096];

    if (front_folder() && snprintf(path, sizeof path, "%s/%s", front_folder(), name) > 0 &&
        is_file(path)) {
        int rc = al_fs_read(path, own, err);
        *bytes = own->data ? own->data : "";
        *size = own->len;
        return rc;
    }
    if (!find(name, &asset))
        return al_err_set(err, AL_ENOTFOUND, "not_found", name, "no such asset");
    *bytes = asset.bytes;
    *size = asset.size;
    return AL_OK;
}

int al_asset_list_front(const char *prefix, al_buf *names)
{
    static const char *const roots[] = { "lua", "stdlib", "vendor/assets" };
    char paths[3][4096], *starts[4] = { paths[0], paths[1], paths[2], NULL };
    size_t skip;
    FTSENT *e;

    if (!front_folder())
        return AL_OK;
    skip = strlen(front_folder()) + 1;
    for (int i = 0; i < 3; i++)
        snprintf(paths[i], sizeof paths[i], "%s/%s", front_folder(), roots[i]);
    FTS *walk = fts_open(starts, FTS_LOGICAL | FTS_NOCHDIR, NULL);
    while (walk && (e = fts_read(walk))) {
        if (e->fts_name[0] == '.')
            fts_set(walk, e, FTS_SKIP);
        else if (e->fts_info == FTS_F && strncmp(e->fts_path + skip, prefix, strlen(prefix)) == 0)
            al_buf_add(names, e->fts_path + skip, strlen(e->fts_path + skip) + 1);
    }
    if (walk)
        fts_close(walk);
    return names->failed;
}

/* ---- require ---- */

int al_loader_chunk(lua_State *L, const char *name)
{
    al_asset asset;
    const char *path = lua_pushfstring(L, "%s/%s", front_folder() ? front_folder() : "", name);
    int rc;

    if (front_folder() && is_file(path)) {
        rc = luaL_loadfilex(L, path, "t");
    } else if (find(name, &asset)) {
        const char *chunk = lua_pushfstring(L, "@%s", name); /* [path, chunk name] */
        rc = luaL_loadbufferx(L, asset.bytes, asset.size, chunk, "t");
        lua_remove(L, -2);
    } else {
        lua_pop(L, 1);
        return AL_ENOTFOUND;
    }
    lua_remove(L, -2);
    if (rc != LUA_OK)
        lua_error(L);
    return AL_OK;
}

static int l_searcher(lua_State *L) /* [module name] → [chunk, asset name] or [why not] */
{
    static const char *const places[] = { "stdlib/lua/%s.lua", "lua/%s.lua", "lua/%s/init.lua" };
    const char *path = luaL_gsub(L, luaL_checkstring(L, 1), ".", "/"); /* [name, path] */

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *name = lua_pushfstring(L, places[i], path); /* [name, path, asset] */
        if (al_loader_chunk(L, name) == AL_OK) {
            lua_insert(L, -2);
            return 2;
        }
        lua_pop(L, 1);
    }
    lua_pushfstring(L, "no asset for '%s'", path);
    return 1;
}

/* Without LUA_PATH or LUA_CPATH the working folder is no place to load code from. */
static void drop_working_folder(lua_State *L, const char *field, const char *variable)
{
    lua_pushfstring(L, "%s_5_4", variable);
    if (!getenv(variable) && !getenv(lua_tostring(L, -1))) { /* [package, variable] */
        lua_getfield(L, -2, field);
        const char *entry = lua_tostring(L, -1), *end;
        luaL_Buffer kept;
        luaL_buffinit(L, &kept);
        for (; *entry; entry = *end ? end + 1 : end) {
            end = entry + strcspn(entry, ";");
            if (strncmp(entry, "./", 2) == 0)
                continue;
            if (luaL_bufflen(&kept) > 0)
                luaL_addchar(&kept, ';');
            luaL_addlstring(&kept, entry, (size_t)(end - entry));
        }
        luaL_pushresult(&kept);
        lua_setfield(L, -4, field);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

void al_loader_add_path(lua_State *L, const char *dir)
{
    lua_getglobal(L, "package");
    lua_getfield(L, -1, "path");
    lua_pushfstring(L, "%s/?.lua;%s/?/init.lua;%s", dir, dir, lua_tostring(L, -1));
    lua_setfield(L, -3, "path");
    lua_pop(L, 2);
}

void al_loader_open(lua_State *L)
{
    lua_getglobal(L, "package");
    lua_getfield(L, -1, "preload"); /* [package, preload] */
    for (const al_module *m = al_modules; m->name; m++) {
        lua_pushcfunction(L, m->open);
        lua_setfield(L, -2, m->name);
    }
    lua_pop(L, 1);
    lua_getfield(L, -1, "searchers");
    for (lua_Integer i = (lua_Integer)lua_rawlen(L, -1); i >= 2; i--) {
        lua_rawgeti(L, -1, i);
        lua_rawseti(L, -2, i + 1);
    }
    lua_pushcfunction(L, l_searcher);
    lua_rawseti(L, -2, 2);
    lua_pop(L, 1);
    drop_working_folder(L, "path", "LUA_PATH");
    drop_working_folder(L, "cpath", "LUA_CPATH");
    lua_pop(L, 1);
}
