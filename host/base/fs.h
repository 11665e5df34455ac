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

/* Opens rel (by the rule of al_path_beneath) beneath dirfd without following any link or leaving
 * the mount: openat2 with RESOLVE_BENEATH, NO_SYMLINKS, NO_XDEV, NO_MAGICLINKS; O_CLOEXEC always.
 * Where openat2 is missing (old kernels, macOS) each component is opened with O_NOFOLLOW instead
 * (a bind mount of the same file system is then not seen as another mount). O_PATH | O_NOFOLLOW
 * gives a last link itself. A fifo blocks without O_NONBLOCK. Returns a descriptor or AL_E*:
 * AL_EDENIED with the reasons symlink and bad_path, AL_ENOTFOUND with missing, AL_EEXISTS. */
int al_fs_open_beneath(int dirfd, const char *rel, int flags, mode_t mode, al_err *err);
/* The same for a workspace a user owns: links are followed as long as they stay beneath
 * (RESOLVE_BENEATH and NO_MAGICLINKS only). */
int al_fs_open_inside(int dirfd, const char *rel, int flags, mode_t mode, al_err *err);
bool al_fs_has_openat2(void);

/* Makes rel and its parents beneath dirfd, each 0700. An existing folder is fine. */
int al_fs_mkdirs_beneath(int dirfd, const char *rel, al_err *err);
int al_fs_mkdirs(const char *path, al_err *err); /* absolute path, folders 0700 */

/* Appends all from the descriptor's offset to its end. More than out->max is AL_ELIMIT with the
 * reason too_large. name is only for errors. */
int al_fs_read_fd(int fd, const char *name, al_buf *out, al_err *err);
int al_fs_read(const char *path, al_buf *out, al_err *err);
int al_fs_write_all(int fd, const void *bytes, size_t len, const char *name, al_err *err);

/* Writes path whole: a file beside it, synced, renamed, its folder synced. A crash leaves the old
 * bytes or the new ones, and so does a failure, after which no file of ours stays behind. mode is
 * exact, whatever the umask. A link in the place of path is replaced, not followed; the folders on
 * the way to rel are opened beneath. */
int al_fs_replace(const char *path, const void *bytes, size_t len, mode_t mode, al_err *err);
int al_fs_replace_at(int dirfd, const char *rel, const void *bytes, size_t len, mode_t mode,
                     al_err *err);
/* dirfd is open for reading (no O_PATH). */
int al_fs_sync_dir(int dirfd, const char *name, al_err *err);

/* Removes rel beneath dirfd with all below it, however deep and whatever its modes, never following
 * a link nor entering another file system. Goes on past what cannot be removed and answers the
 * first such failure. Missing is fine. */
int al_fs_remove_tree(int dirfd, const char *rel, al_err *err);

#endif
