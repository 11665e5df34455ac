/* Files: everything that a script or a model could have touched is opened beneath a folder, by
 * openat2; and everything that must survive a crash is written beside, synced and renamed. */
#ifndef AL_BASE_FS_H
#define AL_BASE_FS_H
#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Opens rel beneath dirfd without following any link or leaving the mount: openat2 with
 * RESOLVE_BENEATH, NO_SYMLINKS, NO_XDEV, NO_MAGICLINKS; O_CLOEXEC always. Where openat2 is missing
 * (old kernels, macOS) each component is opened with O_NOFOLLOW instead. Retries EAGAIN. Returns a
 * descriptor or AL_E*; reasons: symlink, bad_path, missing. */
int al_fs_open_beneath(int dirfd, const char *rel, int flags, mode_t mode, al_err *err);
/* The same for a workspace a user owns: links are followed as long as they stay beneath
 * (RESOLVE_BENEATH and NO_MAGICLINKS only). */
int al_fs_open_inside(int dirfd, const char *rel, int flags, mode_t mode, al_err *err);
bool al_fs_has_openat2(void);

/* Makes rel and its parents beneath dirfd, each 0700. An existing folder is fine. */
int al_fs_mkdirs_beneath(int dirfd, const char *rel, al_err *err);
int al_fs_mkdirs(const char *path, al_err *err); /* absolute path, folders 0700 */

int al_fs_read_fd(int fd, const char *name, al_buf *out,
                  al_err *err); /* to the end; out->max caps */
int al_fs_read(const char *path, al_buf *out, al_err *err);
int al_fs_write_all(int fd, const void *bytes, size_t len, const char *name, al_err *err);

/* Writes path whole: a file beside it, synced, renamed, its folder synced. A crash leaves the old
 * bytes or the new ones. mode is exact, whatever the umask. */
int al_fs_replace(const char *path, const void *bytes, size_t len, mode_t mode, al_err *err);
int al_fs_replace_at(int dirfd, const char *rel, const void *bytes, size_t len, mode_t mode,
                     al_err *err);
int al_fs_sync_dir(int dirfd, const char *name, al_err *err);

/* Removes rel beneath dirfd with all below it, never following a link. Missing is fine. */
int al_fs_remove_tree(int dirfd, const char *rel, al_err *err);

#endif
