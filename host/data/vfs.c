/* sqlite3_vfs over descriptors. */
#include "data/vfs.h"
#include "base/clock.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct vfs_file {
    sqlite3_file base;
    int fd;
    bool own; /* a nameless one: writable, closed here */
} vfs_file;

static int file_close(sqlite3_file *f)
{
    vfs_file *v = (vfs_file *)f;

    if (v->own)
        close(v->fd);
    v->fd = -1;
    return SQLITE_OK;
}

static int file_read(sqlite3_file *f, void *out, int len, sqlite3_int64 at)
{
    vfs_file *v = (vfs_file *)f;
    int have = 0;

    while (have < len) {
        ssize_t n = pread(v->fd, (char *)out + have, (size_t)(len - have), at + have);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return SQLITE_IOERR_READ;
        if (n == 0) {
            memset((char *)out + have, 0, (size_t)(len - have));
            return SQLITE_IOERR_SHORT_READ;
        }
        have += (int)n;
    }
    return SQLITE_OK;
}

static int file_write(sqlite3_file *f, const void *bytes, int len, sqlite3_int64 at)
{
    vfs_file *v = (vfs_file *)f;
    int done = 0;

    if (!v->own)
        return SQLITE_READONLY;
    while (done < len) {
        ssize_t n = pwrite(v->fd, (const char *)bytes + done, (size_t)(len - done), at + done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? SQLITE_FULL
                                                                        : SQLITE_IOERR_WRITE;
        done += (int)n;
    }
    return SQLITE_OK;
}

static int file_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    vfs_file *v = (vfs_file *)f;

    if (!v->own)
        return SQLITE_READONLY;
    return ftruncate(v->fd, size) == 0 ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
}

static int file_sync(sqlite3_file *f, int flags)
{
    (void)f, (void)flags; /* what is nameless is gone after a crash anyway */
    return SQLITE_OK;
}

static int file_size(sqlite3_file *f, sqlite3_int64 *size)
{
    struct stat st;

    if (fstat(((vfs_file *)f)->fd, &st) != 0)
        return SQLITE_IOERR_FSTAT;
    *size = st.st_size;
    return SQLITE_OK;
}

static int file_lock(sqlite3_file *f, int level)
{
    (void)f, (void)level; /* nobody writes to a dataset that is whole */
    return SQLITE_OK;
}

static int file_reserved(sqlite3_file *f, int *out)
{
    (void)f;
    *out = 0;
    return SQLITE_OK;
}

static int file_control(sqlite3_file *f, int op, void *arg)
{
    (void)f, (void)op, (void)arg;
    return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *f)
{
    (void)f;
    return 4096;
}

static int file_traits(sqlite3_file *f)
{
    return ((vfs_file *)f)->own ? 0 : SQLITE_IOCAP_IMMUTABLE;
}

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_lock,
    .xCheckReservedLock = file_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_traits,
};

static int open_nameless(int folder)
{
#if defined(__linux__) && !defined(AL_PORTABLE)
    return folder < 0 ? -1 : openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
#else
    (void)folder; /* memory serves instead */
    return -1;
#endif
}

static int vfs_open(sqlite3_vfs *base, const char *name, sqlite3_file *f, int flags, int *out)
{
    al_vfs *v = (al_vfs *)base;
    vfs_file *file = (vfs_file *)f;

    memset(file, 0, sizeof *file);
    if (flags & SQLITE_OPEN_MAIN_DB)
        file->fd = v->file;
    else if (!name || (flags & SQLITE_OPEN_DELETEONCLOSE))
        file->fd = open_nameless(v->tmp);
    else
        return SQLITE_CANTOPEN;
    if (file->fd < 0)
        return SQLITE_CANTOPEN;
    file->own = !(flags & SQLITE_OPEN_MAIN_DB);
    file->base.pMethods = &methods;
    if (out)
        *out = file->own ? flags : SQLITE_OPEN_READONLY;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *v, const char *name, int sync)
{
    (void)v, (void)name, (void)sync;
    return SQLITE_IOERR_DELETE;
}

static int vfs_access(sqlite3_vfs *v, const char *name, int flags, int *out)
{
    (void)v, (void)name, (void)flags;
    *out = 0;
    return SQLITE_OK;
}

static int vfs_full_path(sqlite3_vfs *v, const char *name, int size, char *out)
{
    (void)v;
    snprintf(out, (size_t)size, "%s", name);
    return SQLITE_OK;
}

static int vfs_randomness(sqlite3_vfs *v, int len, char *out)
{
    (void)v;
    return al_clock_random(out, (size_t)len, NULL) == AL_OK ? len : 0;
}

static int vfs_sleep(sqlite3_vfs *v, int microseconds)
{
    (void)v;
    poll(NULL, 0, microseconds / 1000);
    return microseconds;
}

static int vfs_time(sqlite3_vfs *v, sqlite3_int64 *out)
{
    (void)v;
    *out = 210866760000000 + al_clock_now(); /* milliseconds of the Julian day number */
    return SQLITE_OK;
}

static int vfs_day(sqlite3_vfs *v, double *out)
{
    sqlite3_int64 ms;

    vfs_time(v, &ms);
    *out = (double)ms / 86400000.0;
    return SQLITE_OK;
}

static int vfs_last_error(sqlite3_vfs *v, int size, char *out)
{
    (void)v, (void)size, (void)out;
    return 0;
}

int al_vfs_open(al_vfs *v, int file, int tmp, al_err *err)
{
    int probe = open_nameless(tmp);

    memset(v, 0, sizeof *v);
    if (probe >= 0)
        close(probe);
    v->file = file;
    v->tmp = probe >= 0 ? tmp : -1;
    snprintf(v->name, sizeof v->name, "al-%p", (void *)v);
    v->base = (sqlite3_vfs){
        .iVersion = 2,
        .szOsFile = sizeof(vfs_file),
        .mxPathname = 64,
        .zName = v->name,
        .xOpen = vfs_open,
        .xDelete = vfs_delete,
        .xAccess = vfs_access,
        .xFullPathname = vfs_full_path,
        .xRandomness = vfs_randomness,
        .xSleep = vfs_sleep,
        .xCurrentTime = vfs_day,
        .xGetLastError = vfs_last_error,
        .xCurrentTimeInt64 = vfs_time,
    };
    if (sqlite3_vfs_register(&v->base, 0) != SQLITE_OK)
        return al_err_set(err, AL_ENOMEM, "internal", "dataset", "SQLite cannot start");
    return AL_OK;
}

void al_vfs_close(al_vfs *v)
{
    if (v->name[0])
        sqlite3_vfs_unregister(&v->base);
    v->name[0] = '\0';
}
