/* The file handle of std.fs, for other bindings that take one. */
#ifndef AL_BIND_FILE_H
#define AL_BIND_FILE_H
#include <lua.h>

/* The descriptor of the handle at idx, or -1 when the value is no file handle; raises when it is a
 * closed one. The handle keeps it. */
int al_file_fd(lua_State *L, int idx);

#endif
