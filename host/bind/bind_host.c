/* host.host: what the program knows about itself. */
#include "base/fs.h"
#include "bind/util.h"
#include "core/host.h"
#include "core/loader.h"
#include <lauxlib.h>
#include <string.h>
#include <sys/utsname.h>

int luaopen_host_host(lua_State *L);

static int l_argv(lua_State *L) /* argv() → list from 0: the program, then its arguments */
{
    char **argv;
    int argc = al_host_args(al_host_of(L), &argv);

    lua_createtable(L, argc, 0);
    for (int i = 0; i < argc; i++) {
        lua_pushstring(L, argv[i]);
        lua_rawseti(L, -2, i);
    }
    return 1;
}

static int l_platform(lua_State *L) /* platform() → { os, release, machine, openat2 } */
{
    struct utsname u = { 0 };

    uname(&u);
    lua_createtable(L, 0, 4);
    lua_pushboolean(L, al_fs_has_openat2());
    lua_setfield(L, -2, "openat2");
    lua_pushstring(L, u.sysname);
    lua_setfield(L, -2, "os");
    lua_pushstring(L, u.release);
    lua_setfield(L, -2, "release");
    lua_pushstring(L, u.machine);
    lua_setfield(L, -2, "machine");
    return 1;
}

static int l_helper(lua_State *L) /* helper(name) → path */
{
    const char *name = luaL_checkstring(L, 1);
    al_buf *path = al_lua_buf(L, 0);
    al_err err = { 0 };

    if (al_host_helper(al_host_of(L), name, path, &err) != AL_OK)
        return al_fail(L, &err);
    lua_pushlstring(L, path->data, path->len);
    return 1;
}

static int l_add_path(lua_State *L) /* add_path(dir) */
{
    const char *dir = al_check_path(L, 1);

    luaL_argcheck(L, !strpbrk(dir, ";?"), 1, "a folder of modules cannot have ; or ? in its path");
    al_loader_add_path(L, dir);
    return 0;
}

static int l_pid(lua_State *L) /* pid() → integer */
{
    lua_pushinteger(L, uv_os_getpid());
    return 1;
}

static const luaL_Reg functions[] = { { "add_path", l_add_path }, { "argv", l_argv },
                                      { "helper", l_helper },     { "pid", l_pid },
                                      { "platform", l_platform }, { NULL, NULL } };

int luaopen_host_host(lua_State *L)
{
    luaL_newlib(L, functions);
    lua_pushliteral(L, AL_VERSION_TEXT);
    lua_setfield(L, -2, "version");
    return 1;
}
