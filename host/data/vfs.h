/* A file system for SQLite that knows two kinds of file: the one it is handed, read-only, and
 * nameless ones in a folder, for what does not fit memory. It opens nothing by name. */
#ifndef AL_DATA_VFS_H
#define AL_DATA_VFS_H
#include "base/err.h"
#include <sqlite3.h>
#include <stdbool.h>

typedef struct al_vfs {
    sqlite3_vfs base;
    char name[32];
    int file; /* borrowed */
    int tmp;  /* folder for nameless files, borrowed; -1: there are none */
} al_vfs;

/* Registers v under v->name; it must stay where it is until al_vfs_close. tmp may be -1, and
 * becomes so where the folder gives no nameless files: temp_store must then be memory. */
int al_vfs_open(al_vfs *v, int file, int tmp, al_err *err);
void al_vfs_close(al_vfs *v);

#endif
