/* Files beneath a folder, whole writes, whole removals.
 *
 * Two ways to open beneath: the kernel's (openat2), and ours, which walks one component at a time
 * and never lets the system follow a link. Ours is for kernels and systems without the first. */
#include "base/fs.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/path.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__linux__) && !defined(AL_PORTABLE)
#include <linux/openat2.h>
#include <sys/syscall.h>
#define DIR_FLAGS (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#else
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#endif

enum {
    MAX_LINKS = 40,
    MAX_LEVELS = 128,
    MAX_TRIES = 64,
    MAX_PASSES = 64,
    MAX_TOP_PASSES = 100000,
    FLAT_LEVELS = 24
};

static int open_err(al_err *err, int errnum, const char *rel)
{
    if (errnum == ELOOP) {
        al_err_set(err, AL_EDENIED, "permission_denied", rel, "a symbolic link is in the way");
        return al_err_reason(err, AL_EDENIED, "symlink");
    }
    if (errnum == EXDEV) {
        al_err_set(err, AL_EDENIED, "permission_denied", rel, "leads out of its folder");
        return al_err_reason(err, AL_EDENIED, "bad_path");
    }
    if (errnum == ENOENT || errnum == ENOTDIR) {
        al_err_errno(err, errnum, rel);
        return al_err_reason(err, AL_ENOTFOUND, "missing");
    }
    al_err_errno(err, errnum, rel);
    return errnum == EEXIST ? AL_EEXISTS : errnum == ENOMEM ? AL_ENOMEM : AL_EIO;
}

/* --- the kernel's way --- */

#if defined(__linux__) && !defined(AL_PORTABLE)
static int openat2_fd(int dirfd, const char *rel, int flags, mode_t mode, bool follow)
{
    struct open_how how = {
        .flags = (unsigned)flags | O_CLOEXEC,
        .mode = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? mode & 07777 : 0,
        .resolve = follow ? RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS
                          : RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV |
                                RESOLVE_NO_MAGICLINKS,
    };
    long fd;
    int tries = 0;

    do /* EAGAIN: something on the way was renamed meanwhile */
        fd = syscall(SYS_openat2, dirfd, rel, &how, sizeof how);
    while (fd < 0 && (errno == EINTR || (errno == EAGAIN && ++tries < MAX_TRIES)));
    return (int)fd;
}

bool al_fs_has_openat2(void)
{
    static atomic_int known; /* 0 not asked yet, 1 yes, 2 no */
    int answer = atomic_load(&known);

    if (!answer) {
        int fd = openat2_fd(AT_FDCWD, ".", O_PATH, 0, true);

        /* A filter may answer ENOSYS or EPERM; any other failure is about ".", not the call. */
        answer = fd < 0 && (errno == ENOSYS || errno == EPERM) ? 2 : 1;
        if (fd >= 0)
            close(fd);
        atomic_store(&known, answer);
    }
    return answer == 1;
}
#else
static int openat2_fd(int dirfd, const char *rel, int flags, mode_t mode, bool follow)
{
    (void)dirfd, (void)rel, (void)flags, (void)mode, (void)follow;
    errno = ENOSYS;
    return -1;
}

bool al_fs_has_openat2(void)
{
    return false;
}
#endif

/* --- our way --- */

typedef struct walk {
    int levels[MAX_LEVELS]; /* descriptors of the folders entered; [0] is the caller's */
    int depth;              /* index of the current one */
    int links;              /* followed so far */
    bool follow;
    dev_t dev;
    char rest[2 * 4096]; /* what is left of the path */
} walk;

/* Puts the target of the link `name` in front of rest ("" or "/…"). 0, or an errno. */
static int splice_link(walk *w, const char *name, const char *rest)
{
    char joined[sizeof w->rest];
    ssize_t n = readlinkat(w->levels[w->depth], name, joined, sizeof joined);
    size_t left = strlen(rest);

    if (n < 0)
        return errno == EINVAL ? ENOTDIR : errno; /* no link: a file where a folder should be */
    if (!w->follow || ++w->links > MAX_LINKS)
        return ELOOP;
    if (n == 0 || joined[0] == '/')
        return EXDEV;
    if ((size_t)n + left >= sizeof joined)
        return ENAMETOOLONG;
    memcpy(joined + n, rest, left + 1);
    memcpy(w->rest, joined, (size_t)n + left + 1);
    return 0;
}

static int enter(walk *w, const char *name, const char *rest)
{
    struct stat st;
    int fd;

    if (w->depth + 1 == MAX_LEVELS)
        return ENAMETOOLONG;
    fd = openat(w->levels[w->depth], name, DIR_FLAGS);
    if (fd < 0)
        return errno == ENOTDIR || errno == ELOOP ? splice_link(w, name, rest) : errno;
    if (fstat(fd, &st) != 0 || (!w->follow && st.st_dev != w->dev)) {
        close(fd);
        return EXDEV;
    }
    w->levels[++w->depth] = fd;
    memmove(w->rest, rest, strlen(rest) + 1);
    return 0;
}

/* ".." comes only from the target of a link. */
static int leave(walk *w, const char *rest)
{
    if (w->depth == 0)
        return EXDEV;
    close(w->levels[w->depth--]);
    memmove(w->rest, rest, strlen(rest) + 1);
    return 0;
}

/* Opens the last component. *fd, or an errno; 0 with *fd < 0 when it was a link, now in rest. */
static int open_last(walk *w, const char *name, int flags, mode_t mode, int *fd)
{
    bool link_itself = flags & O_NOFOLLOW;
    struct stat st;

    *fd = openat(w->levels[w->depth], name, flags | O_NOFOLLOW | O_CLOEXEC, mode);
    if (*fd < 0) {
        int seen = errno;

        if ((seen != ELOOP && seen != ENOTDIR) || (link_itself && w->follow))
            return seen;
        return splice_link(w, name, "");
    }
    if (fstat(*fd, &st) != 0 || (!w->follow && st.st_dev != w->dev)) {
        close(*fd);
        return EXDEV;
    }
    if (!S_ISLNK(st.st_mode) || link_itself)
        return 0;
    close(*fd); /* O_PATH opens a link itself */
    *fd = -1;
    return splice_link(w, name, "");
}

static int step(walk *w, int flags, mode_t mode, int *fd)
{
    const char *p = w->rest + strspn(w->rest, "/");
    size_t n = strcspn(p, "/");
    const char *rest = p + n;
    char name[256];

    if (n >= sizeof name)
        return ENAMETOOLONG;
    memcpy(name, p, n);
    name[n] = '\0';
    if (n == 0)
        return open_last(w, ".", flags, mode, fd);
    if (strcmp(name, ".") == 0)
        return memmove(w->rest, rest, strlen(rest) + 1), 0;
    if (strcmp(name, "..") == 0)
        return leave(w, rest);
    return *rest ? enter(w, name, rest) : open_last(w, name, flags, mode, fd);
}

/* The descriptor, or -1 with errno set. */
static int walk_fd(int dirfd, const char *rel, int flags, mode_t mode, bool follow)
{
    walk w = { .levels = { dirfd }, .follow = follow };
    struct stat st = { 0 };
    int fd = -1, rc = 0;

    if (strlen(rel) >= sizeof w.rest)
        rc = ENAMETOOLONG;
    else if (fstatat(dirfd, ".", &st, 0) != 0)
        rc = errno;
    else
        strcpy(w.rest, rel);
    w.dev = st.st_dev;
    while (!rc && fd < 0)
        rc = step(&w, flags, mode, &fd);
    while (w.depth > 0)
        close(w.levels[w.depth--]);
    if (rc)
        errno = rc;
    return rc ? -1 : fd;
}

static int open_fd(int dirfd, const char *rel, int flags, mode_t mode, bool follow, al_err *err)
{
    int fd;

    if (!al_path_beneath(rel, strlen(rel)))
        return open_err(err, EXDEV, rel);
    fd = al_fs_has_openat2() ? openat2_fd(dirfd, rel, flags, mode, follow)
                             : walk_fd(dirfd, rel, flags, mode, follow);
    return fd >= 0 ? fd : open_err(err, errno, rel);
}

int al_fs_open_beneath(int dirfd, const char *rel, int flags, mode_t mode, al_err *err)
{
    return open_fd(dirfd, rel, flags, mode, false, err);
}

int al_fs_open_inside(int dirfd, const char *rel, int flags, mode_t mode, al_err *err)
{
    return open_fd(dirfd, rel, flags, mode, true, err);
}

/* --- folders --- */

/* Makes one folder, 0700 under any umask, and opens it. An existing one is opened as it is. The
 * descriptor, or -1 with errno set. */
static int make_dir(int parent, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    bool made = mkdirat(parent, name, 0700) == 0;
    struct stat st;
    int fd;

    if (!made && errno != EEXIST)
        return -1;
    if (!made)
        return openat(parent, name, DIR_FLAGS);
    fd = openat(parent, name, flags);
    if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
        fd = openat(parent, name, flags);
    if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0777) != 0700)
        fchmod(fd, 0700);
    return fd;
}

int al_fs_mkdirs_beneath(int dirfd, const char *rel, al_err *err)
{
    size_t len = strlen(rel), from = 0;
    char *part = malloc(len + 1);
    int fd, rc = AL_OK;

    if (!part)
        return al_err_set(err, AL_ENOMEM, "internal", rel, "not enough memory");
    fd = al_path_beneath(rel, len) ? openat(dirfd, ".", DIR_FLAGS) : -1;
    if (fd < 0)
        rc = open_err(err, al_path_beneath(rel, len) ? errno : EXDEV, rel);
    while (rc == AL_OK && from < len) {
        size_t n = strcspn(rel + from, "/");

        memcpy(part, rel + from, n);
        part[n] = '\0';
        from += n + (rel[from + n] == '/');
        if (n && strcmp(part, ".") != 0) {
            struct stat st;
            int next = make_dir(fd, part), why = errno;

            if (next < 0 && fstatat(fd, part, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
                why = ELOOP;
            if (next < 0)
                rc = open_err(err, why, rel);
            close(fd);
            fd = next;
        }
    }
    if (fd >= 0)
        close(fd);
    free(part);
    return rc;
}

int al_fs_mkdirs(const char *path, al_err *err)
{
    size_t len = strlen(path), at = 0;
    char *part = malloc(len + 1);
    int rc = AL_OK;

    if (!part)
        return al_err_set(err, AL_ENOMEM, "internal", path, "not enough memory");
    while (rc == AL_OK && at < len) {
        struct stat st;
        int fd;

        at += strspn(path + at, "/");
        at += strcspn(path + at, "/");
        memcpy(part, path, at);
        part[at] = '\0';
        if (stat(part, &st) == 0) { /* a link to a folder is one, too */
            if (!S_ISDIR(st.st_mode))
                rc = al_err_errno(err, ENOTDIR, path);
            continue;
        }
        fd = make_dir(AT_FDCWD, part);
        if (fd < 0)
            rc = al_err_errno(err, errno, path);
        else
            close(fd);
    }
    free(part);
    return rc;
}

int al_fs_sync_dir(int dirfd, const char *name, al_err *err)
{
    if (fsync(dirfd) == 0 || errno == EINVAL) /* EINVAL: a file system that has no such thing */
        return AL_OK;
    return al_err_errno(err, errno, name);
}

/* --- whole files --- */

int al_fs_read_fd(int fd, const char *name, al_buf *out, al_err *err)
{
    for (;;) {
        size_t room = out->max && out->max - out->len < 65536 ? out->max - out->len : 65536;
        char probe;
        ssize_t n;

        if (al_buf_reserve(out, room) != AL_OK)
            return al_err_set(err, out->failed, "internal", name, "not enough memory");
        n = room ? read(fd, out->data + out->len, room) : read(fd, &probe, 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return al_err_errno(err, errno, name);
        if (n == 0)
            break;
        if (!room) {
            al_err_setf(err, AL_ELIMIT, "io_error", name, "larger than %zu bytes", out->max);
            return al_err_reason(err, out->failed = AL_ELIMIT, "too_large");
        }
        out->len += (size_t)n;
        out->data[out->len] = '\0';
    }
    return AL_OK;
}

int al_fs_read(const char *path, al_buf *out, al_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc;

    if (fd < 0)
        return al_err_errno(err, errno, path);
    rc = al_fs_read_fd(fd, path, out, err);
    close(fd);
    return rc;
}

int al_fs_write_all(int fd, const void *bytes, size_t len, const char *name, al_err *err)
{
    const char *p = bytes;

    while (len) {
        ssize_t n = write(fd, p, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return al_err_errno(err, n < 0 ? errno : EIO, name);
        p += n;
        len -= (size_t)n;
    }
    return AL_OK;
}

static int sync_file(int fd)
{
#ifdef F_FULLFSYNC
    if (fcntl(fd, F_FULLFSYNC) == 0)
        return 0;
#endif
    return fsync(fd);
}

/* Writes the new bytes to `part`, a name of our own in the folder. */
static int write_part(int dirfd, const char *part, const void *bytes, size_t len, mode_t mode,
                      const char *name, al_err *err)
{
    int fd = openat(dirfd, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), rc;

    if (fd < 0)
        return al_err_errno(err, errno, name);
    rc = al_fs_write_all(fd, bytes, len, name, err);
    if (rc == AL_OK && (fchmod(fd, mode) != 0 || sync_file(fd) != 0))
        rc = al_err_errno(err, errno, name);
    if (close(fd) != 0 && rc == AL_OK)
        rc = al_err_errno(err, errno, name);
    if (rc != AL_OK)
        unlinkat(dirfd, part, 0);
    return rc;
}

static int replace_in(int dirfd, const char *base, const void *bytes, size_t len, mode_t mode,
                      const char *name, al_err *err)
{
    char part[32] = ".alisio-", *hex = part + strlen(part);
    int rc = AL_EEXISTS;

    for (int tries = 0; rc == AL_EEXISTS && tries < MAX_TRIES; tries++) {
        unsigned char noise[8];

        rc = al_clock_random(noise, sizeof noise, err);
        if (rc != AL_OK)
            return rc;
        al_hex(hex, noise, sizeof noise);
        rc = write_part(dirfd, part, bytes, len, mode, name, err);
    }
    if (rc != AL_OK)
        return rc;
    if (renameat(dirfd, part, dirfd, base) != 0) {
        rc = al_err_errno(err, errno, name);
        unlinkat(dirfd, part, 0);
        return rc;
    }
    return al_fs_sync_dir(dirfd, name, err);
}

/* Splits path into its folder ("." without one), to be freed, and its last name. NULL: no memory,
 * or no name (*base is NULL then). */
static char *split(const char *path, const char **base)
{
    const char *slash = strrchr(path, '/');
    char *dir;

    *base = slash ? slash + 1 : path;
    if (!**base || strcmp(*base, ".") == 0 || strcmp(*base, "..") == 0) {
        *base = NULL;
        return NULL;
    }
    if (!slash)
        return strdup(".");
    dir = strndup(path, slash == path ? 1 : (size_t)(slash - path));
    return dir;
}

static int split_err(al_err *err, const char *base, const char *path)
{
    if (base)
        return al_err_set(err, AL_ENOMEM, "internal", path, "not enough memory");
    al_err_set(err, AL_EINVAL, "io_error", path, "not the name of a file");
    return al_err_reason(err, AL_EINVAL, "bad_path");
}

int al_fs_replace(const char *path, const void *bytes, size_t len, mode_t mode, al_err *err)
{
    const char *base;
    char *dir = split(path, &base);
    int fd, rc;

    if (!dir)
        return split_err(err, base, path);
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    rc =
        fd < 0 ? al_err_errno(err, errno, path) : replace_in(fd, base, bytes, len, mode, path, err);
    if (fd >= 0)
        close(fd);
    free(dir);
    return rc;
}

int al_fs_replace_at(int dirfd, const char *rel, const void *bytes, size_t len, mode_t mode,
                     al_err *err)
{
    const char *base;
    char *dir = split(rel, &base);
    int fd, rc;

    if (!dir)
        return split_err(err, base, rel);
    fd = rc = al_fs_open_beneath(dirfd, dir, O_RDONLY | O_DIRECTORY, 0, err);
    if (fd >= 0) {
        rc = replace_in(fd, base, bytes, len, mode, rel, err);
        close(fd);
    }
    free(dir);
    return rc;
}

/* --- removing trees --- */

typedef struct removal {
    int top;        /* where folders from far below are moved to */
    int first;      /* errno of the first thing that stayed */
    unsigned moved; /* numbers the names they get there */
    dev_t dev;
} removal;

static void stays(removal *r, int errnum)
{
    if (!r->first)
        r->first = errnum;
}

/* Opens a folder that is about to be emptied and gives its owner all rights to do so. */
static int open_doomed(int parent, const char *name, removal *r)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(parent, name, flags);
    struct stat st;

    if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
        fd = openat(parent, name, flags);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) != 0 || st.st_dev != r->dev) {
        close(fd);
        errno = EXDEV;
        return -1;
    }
    if ((st.st_mode & 0700) != 0700)
        fchmod(fd, 0700);
    return fd;
}

static bool remove_entry(removal *r, int parent, const char *name, int level);

/* Empties the folder behind fd, and closes it. */
static void empty(removal *r, int fd, int level)
{
    DIR *dir = fdopendir(fd);
    bool progress = true;

    if (!dir) {
        stays(r, errno);
        close(fd);
        return;
    }
    /* Removing while reading may hide entries, and so may a script that still makes new ones. */
    for (int pass = 0; progress && pass < (level ? MAX_PASSES : MAX_TOP_PASSES); pass++) {
        struct dirent *entry;

        progress = false;
        rewinddir(dir);
        while ((entry = readdir(dir)))
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                progress = remove_entry(r, dirfd(dir), entry->d_name, level) || progress;
    }
    closedir(dir);
}

/* Moves a folder from far below up to the top, where the next pass finds it: descriptors and stack
 * stay small however deep the tree is. */
static bool move_up(removal *r, int parent, const char *name)
{
    struct stat st;
    char to[32];

    do
        snprintf(to, sizeof to, ".alisio-rm-%u", r->moved++);
    while (fstatat(r->top, to, &st, AT_SYMLINK_NOFOLLOW) == 0);
    if (renameat(parent, name, r->top, to) == 0)
        return true;
    /* Its ".." is written anew, so its own mode counts. */
    if (errno == EACCES && fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW) == 0 &&
        renameat(parent, name, r->top, to) == 0)
        return true;
    stays(r, errno);
    return false;
}

/* True when the entry is gone from where it was. */
static bool remove_entry(removal *r, int parent, const char *name, int level)
{
    int fd;

    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
        return true;
    if (errno != EISDIR && errno != EPERM) /* EPERM: what POSIX says of a folder */
        return stays(r, errno), false;
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
        return true;
    if (errno != ENOTEMPTY && errno != EEXIST)
        return stays(r, errno), false;
    if (level == FLAT_LEVELS)
        return move_up(r, parent, name);
    fd = open_doomed(parent, name, r);
    if (fd < 0)
        return stays(r, errno), false;
    empty(r, fd, level + 1);
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return true;
    return stays(r, errno), false;
}

/* Removes `name` from the folder. Its own folder, when it is one, is the top of the removal. */
static int remove_from(int parent, const char *name)
{
    removal r = { .top = -1 };
    struct stat st;
    int fd, why;

    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
        return 0;
    why = errno;
    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode))
        return why;
    if (fstat(parent, &st) != 0)
        return errno;
    r.dev = st.st_dev;
    fd = open_doomed(parent, name, &r);
    if (fd < 0)
        return errno == ENOENT ? 0 : errno;
    r.top = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (r.top < 0) {
        why = errno;
        close(fd);
        return why;
    }
    empty(&r, fd, 0);
    close(r.top);
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    return r.first ? r.first : errno;
}

int al_fs_remove_tree(int dirfd, const char *rel, al_err *err)
{
    const char *base;
    char *dir = split(rel, &base);
    int fd, rc, why;

    if (!dir)
        return split_err(err, base, rel);
    fd = rc = al_fs_open_beneath(dirfd, dir, O_RDONLY | O_DIRECTORY, 0, err);
    free(dir);
    if (rc == AL_ENOTFOUND)
        return AL_OK;
    if (fd < 0)
        return rc;
    why = remove_from(fd, base);
    close(fd);
    return why ? al_err_errno(err, why, rel) : AL_OK;
}
