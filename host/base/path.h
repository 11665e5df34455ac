/* Paths as text. Nothing here touches the file system. */
#ifndef AL_BASE_PATH_H
#define AL_BASE_PATH_H
#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>

/* Appends a/b, with one slash between; b alone when it is absolute. */
int al_path_join(al_buf *out, const char *a, const char *b);
const char *al_path_base(const char *path); /* behind the last slash; points into path */
const char *al_path_ext(const char *path);  /* ".csv" of the base name, "" without one */
/* A relative path that may be used beneath a folder: not empty, not absolute, no "..", no NUL. */
bool al_path_beneath(const char *path, size_t len);
/* Removes "." and double slashes, resolves ".." as text; never above "/" of an absolute path. */
int al_path_clean(al_buf *out, const char *path);

#endif
