/* Files as the rest of the host sees them: a folder held open, with a rule for links, and calls
 * that take a path beneath it. Everything here blocks; bindings run it on the thread pool where
 * that can be long. A root may be used by several threads at once. */
#ifndef AL_PRIM_FS_H
#define AL_PRIM_FS_H
#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef enum al_links {
    AL_LINKS_NONE,   /* no link is followed, no mount crossed: folders others have written to */
    AL_LINKS_INSIDE, /* links that stay beneath: a workspace of the user */
    AL_LINKS_FOLLOW  /* any path, as the system resolves it: the host's own files */
} al_links;

typedef struct al_root {
    int fd;
    al_links links;
    mode_t file_mode; /* of new files: 0600, in a workspace what the user's umask leaves */
    mode_t dir_mode;
} al_root;

typedef enum al_file_type { AL_FILE, AL_DIR, AL_LINK, AL_OTHER } al_file_type;

typedef struct al_stat {
    al_file_type type;
    mode_t mode; /* permission bits */
    uint64_t size, ino, dev, links;
    int64_t mtime_ms;
} al_stat;

/* Opens a folder. al_root_close accepts a root that was never opened as long as its fd is -1. */
int al_root_open(al_root *out, const char *path, al_links links, al_err *err);
/* The same folder with a descriptor of its own. */
int al_root_copy(al_root *out, const al_root *root, al_err *err);
void al_root_close(al_root *root);
/* The host's own view: any path, absolute or from the working folder. Never closed. */
extern const al_root al_root_any;

/* A descriptor (O_CLOEXEC) or AL_E*. */
int al_root_openat(const al_root *root, const char *rel, int flags, mode_t mode, al_err *err);

/* Appends at most max bytes from offset on; *more says whether the file goes on. Regular files
 * only. */
int al_root_read(const al_root *root, const char *rel, uint64_t offset, size_t max, al_buf *out,
                 bool *more, al_err *err);

typedef struct al_write_how {
    int mode;       /* permission bits, -1: those of the file there, else root's file_mode */
    bool exclusive; /* AL_EEXISTS when the name is taken */
    bool parents;   /* makes missing folders */
} al_write_how;

/* Writes a file whole: beside it, synced, renamed. Through a link it is the link's target that is
 * written, where the root's rule allows that link. */
int al_root_write(const al_root *root, const char *rel, const void *bytes, size_t len,
                  const al_write_how *how, al_err *err);

/* Of the thing itself under AL_LINKS_NONE, of a link's target otherwise. */
int al_root_stat(const al_root *root, const char *rel, al_stat *out, al_err *err);
int al_fd_stat(int fd, const char *name, al_stat *out, al_err *err);

typedef struct al_entry {
    char *name; /* bytes as the folder has them */
    al_file_type type;
    uint64_t size;
    int64_t mtime_ms;
} al_entry;
typedef struct al_entries {
    al_entry *items; /* sorted by the bytes of the names */
    size_t count;
} al_entries;

/* The entries of a folder, links not followed; al_entries_free also after a failure. */
int al_root_list(const al_root *root, const char *rel, al_entries *out, al_err *err);
void al_entries_free(al_entries *e);

int al_root_mkdirs(const al_root *root, const char *rel, al_err *err);
/* Removes rel with all below it; a link itself, never what it points to. Missing is fine. */
int al_root_remove(const al_root *root, const char *rel, al_err *err);
/* Renames within the root and syncs both folders; replaces a file, or an empty folder. */
int al_root_rename(const al_root *root, const char *from, const char *to, al_err *err);
/* Copies one regular file into `to`: shares its blocks where the file system can, never links. The
 * copy appears whole (beside, synced, renamed). *bytes is its size. */
int al_root_copy_file(const al_root *from, const char *from_rel, const al_root *to,
                      const char *to_rel, const al_write_how *how, uint64_t *bytes, al_err *err);
/* The bytes of one open file into another, from both offsets 0. */
int al_fd_copy(int from, int to, const char *name, uint64_t *bytes, al_err *err);

/* A file that appears at `path` only when it is whole: nameless until then where the system can,
 * else "<folder>/.<name>.part", which is locked while it is written. The
 * folder must be there. */
typedef struct al_output {
    int fd, dir; /* fd: to be written, 0600 */
    char *name;  /* the last part of path */
    char *part;  /* NULL when nameless */
} al_output;

int al_output_open(al_output *out, const char *path, al_err *err);
/* Gives it its name and syncs the folder; AL_EEXISTS when the name is taken. The bytes are the
 * writer's to sync. */
int al_output_commit(al_output *out, al_err *err);
void al_output_close(al_output *out); /* without a commit nothing stays */

/* Makes a folder of a new name below parent: 0700, "<prefix><random>". */
int al_temp_dir(const char *parent, const char *prefix, al_buf *path, al_err *err);

/* Takes the lock file at path (made 0600): a descriptor that holds it until it is closed.
 * AL_ELOCKED with id "session_locked" when another holds it; *holder then has what that one wrote
 * in it. */
int al_lock_take(const char *path, al_buf *holder, al_err *err);
/* Replaces what the lock file says. */
int al_lock_write(int fd, const char *text, size_t len, const char *name, al_err *err);

#endif
