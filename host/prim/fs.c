/* Files beneath a folder held open. base/fs opens paths safely; here stand the calls Lua sees. */
#include "prim/fs.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/hash.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__) && !defined(AL_PORTABLE)
#include <linux/fs.h>
#include <sys/ioctl.h>
#endif
#ifndef O_PATH
#define O_PATH (O_RDONLY | O_NONBLOCK)
#endif

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY)

const al_root al_root_any = { AT_FDCWD, AL_LINKS_FOLLOW, 0600, 0700 };

/* ---- roots ---- */

int al_root_open(al_root *out, const char *path, al_links links, al_err *err)
{
    *out = (al_root){ -1, links, 0600, 0700 };
    out->fd = open(path, DIR_FLAGS | O_CLOEXEC);
    if (out->fd < 0)
        return al_err_errno(err, errno, path);
    if (links == AL_LINKS_INSIDE) {
        mode_t mask = umask(022);
        umask(mask);
        out->file_mode = 0666 & ~mask;
        out->dir_mode = 0777 & ~mask;
    }
    return AL_OK;
}

int al_root_copy(al_root *out, const al_root *root, al_err *err)
{
    *out = *root;
    if (root->fd == AT_FDCWD)
        return AL_OK;
    out->fd = fcntl(root->fd, F_DUPFD_CLOEXEC, 3);
    return out->fd < 0 ? al_err_errno(err, errno, "folder") : AL_OK;
}

void al_root_close(al_root *root)
{
    if (root->fd >= 0)
        close(root->fd);
    root->fd = -1;
}

int al_root_openat(const al_root *root, const char *rel, int flags, mode_t mode, al_err *err)
{
    int fd;

    if (root->links == AL_LINKS_NONE)
        return al_fs_open_beneath(root->fd, rel, flags, mode, err);
    if (root->links == AL_LINKS_INSIDE)
        return al_fs_open_inside(root->fd, rel, flags, mode, err);
    fd = openat(root->fd, rel, flags | O_CLOEXEC, mode);
    return fd < 0 ? al_err_errno(err, errno, rel) : fd;
}

/* Opens the folder that holds rel; *base is the name in it and points into rel. */
static int open_parent(const al_root *root, const char *rel, const char **base, al_err *err)
{
    const char *slash = strrchr(rel, '/');
    char *dir;
    int fd;

    *base = slash ? slash + 1 : rel;
    if (!**base || !strcmp(*base, ".") || !strcmp(*base, ".."))
        return al_err_reason(err, al_err_set(err, AL_EINVAL, "io_error", rel, "names no file"),
                             "bad_path");
    if (!slash)
        return al_root_openat(root, ".", DIR_FLAGS, 0, err);
    dir = strndup(rel, slash == rel ? 1 : (size_t)(slash - rel));
    if (!dir)
        return al_err_set(err, AL_ENOMEM, "internal", rel, "not enough memory");
    fd = al_root_openat(root, dir, DIR_FLAGS, 0, err);
    free(dir);
    return fd;
}

static int file_error(al_err *err, const char *name, const struct stat *st)
{
    al_err_set(err, AL_EINVAL, "io_error", name,
               S_ISDIR(st->st_mode) ? "is a folder" : "is not a regular file");
    return al_err_reason(err, AL_EINVAL, "special_file");
}

/* O_NONBLOCK so that a FIFO cannot hold the call; regular files do not care. */
static int open_regular(const al_root *root, const char *rel, struct stat *st, al_err *err)
{
    int fd = al_root_openat(root, rel, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, err);

    if (fd < 0)
        return fd;
    if (fstat(fd, st) == 0 && S_ISREG(st->st_mode))
        return fd;
    close(fd);
    return file_error(err, rel, st);
}

/* ---- reading ---- */

int al_root_read(const al_root *root, const char *rel, uint64_t offset, size_t max, al_buf *out,
                 bool *more, al_err *err)
{
    struct stat st;
    size_t left = max, room;
    ssize_t n = 1;
    int rc = AL_OK, fd = open_regular(root, rel, &st, err);

    *more = false;
    if (fd < 0)
        return fd;
    while (rc == AL_OK && n > 0) {
        /* One byte past max is asked for, to learn whether there is more. */
        room = left < 1 << 20 ? left + 1 : 1 << 20;
        if ((uint64_t)st.st_size > offset && room > (uint64_t)st.st_size - offset + 1)
            room = (size_t)((uint64_t)st.st_size - offset + 1);
        if (al_buf_reserve(out, room) < 0) {
            rc = al_err_set(err, AL_ENOMEM, "internal", rel, "not enough memory");
            break;
        }
        do
            n = pread(fd, out->data + out->len, room, (off_t)offset);
        while (n < 0 && errno == EINTR);
        if (n < 0)
            rc = al_err_errno(err, errno, rel);
        *more = n > 0 && (size_t)n > left;
        if (*more)
            n = (ssize_t)left;
        if (n > 0) {
            out->len += (size_t)n;
            out->data[out->len] = '\0';
            offset += (size_t)n;
            left -= (size_t)n;
        }
        if (*more)
            break;
    }
    close(fd);
    return rc;
}

static al_file_type type_of(mode_t mode)
{
    return S_ISREG(mode) ? AL_FILE : S_ISDIR(mode) ? AL_DIR : S_ISLNK(mode) ? AL_LINK : AL_OTHER;
}

static int64_t mtime_ms(const struct stat *st)
{
#ifdef __APPLE__
    return (int64_t)st->st_mtimespec.tv_sec * 1000 + st->st_mtimespec.tv_nsec / 1000000;
#else
    return (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
#endif
}

int al_fd_stat(int fd, const char *name, al_stat *out, al_err *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return al_err_errno(err, errno, name);
    *out = (al_stat){ .type = type_of(st.st_mode),
                      .mode = st.st_mode & 07777,
                      .size = (uint64_t)st.st_size,
                      .ino = st.st_ino,
                      .dev = st.st_dev,
                      .links = st.st_nlink,
                      .mtime_ms = mtime_ms(&st) };
    return AL_OK;
}

int al_root_stat(const al_root *root, const char *rel, al_stat *out, al_err *err)
{
    int flags = O_PATH | (root->links == AL_LINKS_NONE ? O_NOFOLLOW : 0);
    int rc, fd = al_root_openat(root, rel, flags, 0, err);

    if (fd < 0)
        return fd;
    rc = al_fd_stat(fd, rel, out, err);
    close(fd);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const al_entry *)a)->name, ((const al_entry *)b)->name);
}

static int add_entry(al_entries *e, size_t *room, const char *name, const struct stat *st)
{
    if (e->count == *room) {
        size_t more = *room ? *room * 2 : 32;
        al_entry *items = realloc(e->items, more * sizeof *items);
        if (!items)
            return AL_ENOMEM;
        e->items = items;
        *room = more;
    }
    char *copy = strdup(name);
    if (!copy)
        return AL_ENOMEM;
    e->items[e->count++] =
        (al_entry){ copy, type_of(st->st_mode), (uint64_t)st->st_size, mtime_ms(st) };
    return AL_OK;
}

int al_root_list(const al_root *root, const char *rel, al_entries *out, al_err *err)
{
    size_t room = 0;
    int rc = AL_OK, fd = al_root_openat(root, rel, DIR_FLAGS, 0, err);
    DIR *dir;

    *out = (al_entries){ NULL, 0 };
    if (fd < 0)
        return fd;
    dir = fdopendir(fd);
    if (!dir) {
        rc = al_err_errno(err, errno, rel);
        close(fd);
        return rc;
    }
    for (;;) {
        struct stat st;
        errno = 0;
        struct dirent *d = readdir(dir);
        if (!d) {
            if (errno)
                rc = al_err_errno(err, errno, rel);
            break;
        }
        if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
            continue;
        if (fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue; /* gone since it was listed */
        if (add_entry(out, &room, d->d_name, &st) < 0) {
            rc = al_err_set(err, AL_ENOMEM, "internal", rel, "not enough memory");
            break;
        }
    }
    closedir(dir);
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, by_name);
    return rc;
}

void al_entries_free(al_entries *e)
{
    for (size_t i = 0; i < e->count; i++)
        free(e->items[i].name);
    free(e->items);
    *e = (al_entries){ NULL, 0 };
}

/* ---- writing: a file beside, renamed when it is whole ---- */

typedef struct beside {
    int dir, fd;
    char *base;    /* the final name */
    char name[32]; /* the name until then, "" when there is none to remove */
} beside;

static void beside_close(beside *b)
{
    if (b->fd >= 0)
        close(b->fd);
    if (b->dir >= 0 && b->name[0])
        unlinkat(b->dir, b->name, 0);
    if (b->dir >= 0)
        close(b->dir);
    free(b->base);
}

/* The path of an open descriptor, in memory of its own; NULL where the system does not tell. */
static char *fd_path(int fd)
{
#if defined(__linux__) && !defined(AL_PORTABLE)
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path);
    return n > 0 && (size_t)n < sizeof path ? strndup(path, (size_t)n) : NULL;
#else
    (void)fd;
    return NULL;
#endif
}

/* Where a link leads, as a path beneath the same root; NULL when that cannot be said. */
static char *link_target(const al_root *root, const char *rel)
{
    char *target = NULL, *top = NULL, *out = NULL;
    size_t n;

    if (root->links == AL_LINKS_NONE)
        return NULL;
    if (root->links == AL_LINKS_FOLLOW)
        return realpath(rel, NULL);
    int fd = al_root_openat(root, rel, O_PATH, 0, NULL);
    if (fd < 0)
        return NULL;
    target = fd_path(fd);
    top = fd_path(root->fd);
    n = top ? strlen(top) : 0;
    if (target && top && n > 1 && !strncmp(target, top, n) && target[n] == '/')
        out = strdup(target + n + 1);
    else if (target && top && n == 1)
        out = strdup(target + 1);
    close(fd);
    free(target);
    free(top);
    return out;
}

static int beside_begin(beside *b, const al_root *root, const char *rel, al_err *err)
{
    unsigned char salt[8];
    char hex[17];
    const char *base;
    int rc;

    b->dir = open_parent(root, rel, &base, err);
    if (b->dir < 0)
        return b->dir;
    b->base = strdup(base);
    if (!b->base)
        return al_err_set(err, AL_ENOMEM, "internal", rel, "not enough memory");
    for (;;) {
        if ((rc = al_clock_random(salt, sizeof salt, err)) < 0)
            return rc;
        al_hex(hex, salt, sizeof salt);
        snprintf(b->name, sizeof b->name, ".al-%s.part", hex);
        b->fd = openat(b->dir, b->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (b->fd >= 0)
            return AL_OK;
        b->name[0] = '\0';
        if (errno != EEXIST)
            return al_err_errno(err, errno, rel);
    }
}

static int rename_new(int dir, const char *from, const char *to)
{
#if defined(__linux__) && !defined(AL_PORTABLE)
    if (renameat2(dir, from, dir, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
#endif
    if (linkat(dir, from, dir, to, 0) < 0)
        return -1;
    return unlinkat(dir, from, 0);
}

static int beside_commit(beside *b, const al_write_how *how, mode_t new_mode, const char *rel,
                         al_err *err)
{
    struct stat old;
    mode_t mode = how->mode >= 0 ? (mode_t)how->mode : new_mode;
    int rc;

    if (fstatat(b->dir, b->base, &old, AT_SYMLINK_NOFOLLOW) == 0) {
        if (how->exclusive)
            return al_err_errno(err, EEXIST, rel);
        if (!S_ISREG(old.st_mode))
            return file_error(err, rel, &old);
        if (how->mode < 0)
            mode = old.st_mode & 07777;
    }
    if (fchmod(b->fd, mode) < 0 || fsync(b->fd) < 0)
        return al_err_errno(err, errno, rel);
    if (close(b->fd) < 0) {
        b->fd = -1;
        return al_err_errno(err, errno, rel);
    }
    b->fd = -1;
    rc = how->exclusive ? rename_new(b->dir, b->name, b->base)
                        : renameat(b->dir, b->name, b->dir, b->base);
    if (rc < 0)
        return al_err_errno(err, errno, rel);
    b->name[0] = '\0';
    return al_fs_sync_dir(b->dir, rel, err);
}

static int make_parents(const al_root *root, const char *rel, al_err *err)
{
    const char *slash = strrchr(rel, '/');
    int rc = AL_OK;

    if (!slash || slash == rel)
        return AL_OK;
    char *dir = strndup(rel, (size_t)(slash - rel));
    if (!dir)
        return al_err_set(err, AL_ENOMEM, "internal", rel, "not enough memory");
    rc = al_root_mkdirs(root, dir, err);
    free(dir);
    return rc;
}

/* The name that is to be written: rel itself, or where rel leads when it is a link. */
static int write_target(const al_root *root, const char *rel, char **out, al_err *err)
{
    struct stat st;
    const char *base;
    bool is_link;
    int dir = open_parent(root, rel, &base, err);

    if (dir < 0)
        return dir;
    is_link = fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
    close(dir);
    *out = is_link ? link_target(root, rel) : strdup(rel);
    if (*out)
        return AL_OK;
    if (!is_link)
        return al_err_set(err, AL_ENOMEM, "internal", rel, "not enough memory");
    al_err_set(err, AL_EDENIED, "io_error", rel, "is a link that is not followed");
    return al_err_reason(err, AL_EDENIED, "symlink");
}

int al_root_write(const al_root *root, const char *rel, const void *bytes, size_t len,
                  const al_write_how *how, al_err *err)
{
    beside b = { -1, -1, NULL, "" };
    char *target = NULL;
    int rc = how->parents ? make_parents(root, rel, err) : AL_OK;

    if (rc == AL_OK)
        rc = write_target(root, rel, &target, err);
    if (rc == AL_OK)
        rc = beside_begin(&b, root, target, err);
    if (rc == AL_OK)
        rc = al_fs_write_all(b.fd, bytes, len, rel, err);
    if (rc == AL_OK)
        rc = beside_commit(&b, how, root->file_mode, rel, err);
    beside_close(&b);
    free(target);
    return rc;
}

/* ---- copying ---- */

static int copy_slowly(int from, int to, off_t at, off_t end, const char *name, al_err *err)
{
    char buf[65536];

    if (lseek(to, at, SEEK_SET) < 0)
        return al_err_errno(err, errno, name);
    while (at < end) {
        size_t want = end - at < (off_t)sizeof buf ? (size_t)(end - at) : sizeof buf;
        ssize_t n = pread(from, buf, want, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return al_err_errno(err, errno, name);
        if (n == 0)
            break; /* it became shorter: the copy is what was there */
        int rc = al_fs_write_all(to, buf, (size_t)n, name, err);
        if (rc < 0)
            return rc;
        at += n;
    }
    return AL_OK;
}

int al_fd_copy(int from, int to, const char *name, uint64_t *bytes, al_err *err)
{
    struct stat st;
    off_t at = 0;
    int rc = AL_OK;

    if (fstat(from, &st) < 0)
        return al_err_errno(err, errno, name);
#if defined(__linux__) && !defined(AL_PORTABLE)
    if (st.st_size > 0 && ioctl(to, FICLONE, from) == 0) {
        at = st.st_size;
    } else {
        off_t in = 0, out = 0;
        while (at < st.st_size) {
            ssize_t n = copy_file_range(from, &in, to, &out, (size_t)(st.st_size - at), 0);
            if (n <= 0)
                break; /* across file systems, or not supported: the loop below goes on */
            at = out;
        }
    }
#endif
    if (at < st.st_size)
        rc = copy_slowly(from, to, at, st.st_size, name, err);
    if (rc == AL_OK && fstat(to, &st) < 0)
        rc = al_err_errno(err, errno, name);
    if (rc == AL_OK && bytes)
        *bytes = (uint64_t)st.st_size;
    return rc;
}

int al_root_copy_file(const al_root *from, const char *from_rel, const al_root *to,
                      const char *to_rel, const al_write_how *how, uint64_t *bytes, al_err *err)
{
    beside b = { -1, -1, NULL, "" };
    struct stat st;
    int rc, in = open_regular(from, from_rel, &st, err);

    if (in < 0)
        return in;
    rc = how->parents ? make_parents(to, to_rel, err) : AL_OK;
    if (rc == AL_OK)
        rc = beside_begin(&b, to, to_rel, err);
    if (rc == AL_OK)
        rc = al_fd_copy(in, b.fd, to_rel, bytes, err);
    if (rc == AL_OK)
        rc = beside_commit(&b, how, to->file_mode, to_rel, err);
    beside_close(&b);
    close(in);
    return rc;
}

/* ---- folders, names ---- */

int al_root_mkdirs(const al_root *root, const char *rel, al_err *err)
{
    const char *base;
    al_err why = { 0 };
    int rc, fd;

    if (root->links == AL_LINKS_NONE)
        return al_fs_mkdirs_beneath(root->fd, rel, err);
    fd = al_root_openat(root, rel, O_PATH | O_DIRECTORY, 0, &why);
    if (fd >= 0)
        return close(fd), AL_OK;
    if (fd != AL_ENOTFOUND || (rc = make_parents(root, rel, &why)) < 0) {
        if (err)
            *err = why;
        return why.code;
    }
    fd = open_parent(root, rel, &base, err);
    if (fd < 0)
        return fd;
    rc = AL_OK;
    if (mkdirat(fd, base, 0700) == 0) {
        if (fchmodat(fd, base, root->dir_mode, 0) < 0)
            rc = al_err_errno(err, errno, rel);
    } else if (errno != EEXIST) {
        rc = al_err_errno(err, errno, rel);
    }
    close(fd);
    return rc;
}

int al_root_remove(const al_root *root, const char *rel, al_err *err)
{
    const char *base;
    al_err why = { 0 };
    int rc, dir = open_parent(root, rel, &base, &why);

    if (dir == AL_ENOTFOUND)
        return AL_OK;
    if (dir < 0) {
        if (err)
            *err = why;
        return dir;
    }
    rc = al_fs_remove_tree(dir, base, err);
    close(dir);
    return rc;
}

int al_root_rename(const al_root *root, const char *from, const char *to, al_err *err)
{
    const char *a, *b;
    int rc = AL_OK, da, db;

    da = open_parent(root, from, &a, err);
    if (da < 0)
        return da;
    db = open_parent(root, to, &b, err);
    if (db < 0)
        return close(da), db;
    if (renameat(da, a, db, b) < 0)
        rc = al_err_errno(err, errno, from);
    if (rc == AL_OK)
        rc = al_fs_sync_dir(db, to, err);
    if (rc == AL_OK)
        rc = al_fs_sync_dir(da, from, err);
    close(da);
    close(db);
    return rc;
}

int al_temp_dir(const char *parent, const char *prefix, al_buf *path, al_err *err)
{
    unsigned char salt[10];
    char hex[21];
    int rc;

    for (;;) {
        if ((rc = al_clock_random(salt, sizeof salt, err)) < 0)
            return rc;
        al_hex(hex, salt, sizeof salt);
        al_buf_clear(path);
        al_buf_printf(path, "%s/%s%s", parent, prefix, hex);
        if (path->failed)
            return al_err_set(err, AL_ENOMEM, "internal", parent, "not enough memory");
        if (mkdir(path->data, 0700) == 0)
            return AL_OK;
        if (errno != EEXIST)
            return al_err_errno(err, errno, parent);
    }
}

/* ---- outputs ---- */

static int open_part(al_output *out, al_err *err)
{
    size_t size = strlen(out->name) + 7;

    out->part = malloc(size);
    if (!out->part)
        return al_err_set(err, AL_ENOMEM, "internal", out->name, "not enough memory");
    snprintf(out->part, size, ".%s.part", out->name);
    out->fd = openat(out->dir, out->part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (out->fd < 0) {
        int rc = al_err_errno(err, errno, out->name);
        free(out->part);
        out->part = NULL;
        return rc;
    }
    flock(out->fd, LOCK_EX | LOCK_NB); /* its own: says that somebody still writes */
    return AL_OK;
}

int al_output_open(al_output *out, const char *path, al_err *err)
{
    const char *base;

    *out = (al_output){ -1, -1, NULL, NULL };
    out->dir = open_parent(&al_root_any, path, &base, err);
    if (out->dir < 0)
        return out->dir;
    out->name = strdup(base);
    if (!out->name)
        return al_err_set(err, AL_ENOMEM, "internal", path, "not enough memory");
#if defined(__linux__) && !defined(AL_PORTABLE)
    if (access("/proc/self/fd", X_OK) == 0)
        out->fd = openat(out->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (out->fd >= 0)
        return AL_OK;
#endif
    return open_part(out, err);
}

int al_output_commit(al_output *out, al_err *err)
{
    int rc;

    if (out->part) {
        rc = rename_new(out->dir, out->part, out->name);
    } else {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", out->fd);
        rc = linkat(AT_FDCWD, link, out->dir, out->name, AT_SYMLINK_FOLLOW);
    }
    if (rc < 0)
        return al_err_errno(err, errno, out->name);
    free(out->part);
    out->part = NULL;
    return al_fs_sync_dir(out->dir, out->name, err);
}

void al_output_close(al_output *out)
{
    if (out->part)
        unlinkat(out->dir, out->part, 0);
    if (out->fd >= 0)
        close(out->fd);
    if (out->dir >= 0)
        close(out->dir);
    free(out->name);
    free(out->part);
    *out = (al_output){ -1, -1, NULL, NULL };
}

/* ---- locks ---- */

static int lock_held(int fd, const char *path, al_buf *holder, al_err *err)
{
    char text[4096];
    ssize_t n = pread(fd, text, sizeof text, 0);

    if (holder && n > 0)
        al_buf_add(holder, text, (size_t)n);
    close(fd);
    return al_err_set(err, AL_ELOCKED, "session_locked", path, "held by another process");
}

int al_lock_take(const char *path, al_buf *holder, al_err *err)
{
    struct stat a, b;
    int fd, rc;

    for (;;) {
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        if (fd < 0)
            return al_err_errno(err, errno, path);
        while ((rc = flock(fd, LOCK_EX | LOCK_NB)) < 0 && errno == EINTR)
            ;
        if (rc < 0 && errno == EWOULDBLOCK)
            return lock_held(fd, path, holder, err);
        if (rc < 0) {
            rc = al_err_errno(err, errno, path);
            close(fd);
            return rc;
        }
        /* Held, unless the file was removed between open and flock: then it locks nothing. */
        if (fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_ino == b.st_ino &&
            a.st_dev == b.st_dev)
            return fd;
        close(fd);
    }
}

int al_lock_write(int fd, const char *text, size_t len, const char *name, al_err *err)
{
    if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return al_err_errno(err, errno, name);
    return al_fs_write_all(fd, text, len, name, err);
}
