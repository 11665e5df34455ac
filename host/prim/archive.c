/* Writing ZIP files with libarchive, from files that al_source_stream has checked.
 *
 * Few runs write one, and libarchive brings libxml2, ICU and the C++ library along, 3 ms and 3 MB
 * at every start. So on Linux it is loaded at the first ZIP, as prim/http.c loads libcurl. */
#include "prim/archive.h"
#include "base/hash.h"
#include "base/late.h"
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#define FIXED_TIME 315532800 /* 1980-01-01 UTC, where ZIP's own calendar begins */

#define ARCHIVE_FUNCTIONS(X)      \
    X(archive_entry_free)         \
    X(archive_entry_new)          \
    X(archive_entry_set_filetype) \
    X(archive_entry_set_mtime)    \
    X(archive_entry_set_pathname) \
    X(archive_entry_set_perm)     \
    X(archive_entry_set_size)     \
    X(archive_errno)              \
    X(archive_error_string)       \
    X(archive_write_close)        \
    X(archive_write_data)         \
    X(archive_write_fail)         \
    X(archive_write_finish_entry) \
    X(archive_write_free)         \
    X(archive_write_header)       \
    X(archive_write_new)          \
    X(archive_write_open_fd)      \
    X(archive_write_set_format_zip)

static struct {
    ARCHIVE_FUNCTIONS(AL_LATE_MEMBER)
} lib;

static uv_once_t once = UV_ONCE_INIT;
static char load_error[200]; /* why libarchive cannot be used, "" when it can */

static void load(void)
{
#define FUNCTION(name) AL_LATE_FUNCTION(lib, name),
    static const char *const files[] = { "libarchive.so.13", NULL };
    static const al_late functions[] = { ARCHIVE_FUNCTIONS(FUNCTION) };

    al_late_load(files, functions, sizeof functions / sizeof functions[0], load_error,
                 sizeof load_error);
}

static int archive_failed(struct archive *a, const char *dest, al_err *err)
{
    if (lib.archive_errno(a) == ENOSPC || lib.archive_errno(a) == EDQUOT)
        return al_err_errno(err, lib.archive_errno(a), dest);
    const char *why = lib.archive_error_string(a);
    return al_err_set(err, AL_EIO, "io_error", dest, why ? why : "the archive cannot be written");
}

typedef struct zip {
    struct archive *a;
    const char *dest;
} zip;

static int zip_sink(void *data, const void *bytes, size_t len, al_err *err)
{
    zip *z = data;
    if (lib.archive_write_data(z->a, bytes, len) != (la_ssize_t)len)
        return archive_failed(z->a, z->dest, err);
    return AL_OK;
}

static int add_file(zip *z, const al_source *s, const al_source_item *item, const char *name,
                    al_err *err)
{
    struct archive_entry *e = lib.archive_entry_new();
    int rc = AL_OK;

    if (!e)
        return al_err_set(err, AL_ENOMEM, "internal", z->dest, "not enough memory");
    lib.archive_entry_set_pathname(e, name);
    lib.archive_entry_set_filetype(e, AE_IFREG);
    lib.archive_entry_set_perm(e, 0644);
    lib.archive_entry_set_size(e, (la_int64_t)item->bytes);
    lib.archive_entry_set_mtime(e, FIXED_TIME, 0);
    if (lib.archive_write_header(z->a, e) != ARCHIVE_OK)
        rc = archive_failed(z->a, z->dest, err);
    lib.archive_entry_free(e);
    return rc < 0 ? rc : al_source_stream(s, item, zip_sink, z, err);
}

/* `base` is how much of a path is left out of the names: the folders above the zipped one. */
static int add_files(zip *z, const al_source *s, const char *folder, al_err *err)
{
    size_t len = strlen(folder);
    const char *slash = strrchr(folder, '/');
    size_t base = slash ? (size_t)(slash + 1 - folder) : 0;
    int rc = AL_OK;

    for (size_t i = 0; i < al_source_count(s) && rc == AL_OK; i++) {
        const al_source_item *item = al_source_at(s, i);
        bool below = !len || (!strncmp(item->path, folder, len) && item->path[len] == '/');
        if (below && !item->dir)
            rc = add_file(z, s, item, item->path + base, err);
    }
    return rc;
}

static int write_zip(const al_source *s, const char *folder, int fd, const char *dest, al_err *err)
{
    zip z = { lib.archive_write_new(), dest };
    int rc = AL_OK;

    if (!z.a)
        return al_err_set(err, AL_ENOMEM, "internal", dest, "not enough memory");
    if (lib.archive_write_set_format_zip(z.a) != ARCHIVE_OK ||
        lib.archive_write_open_fd(z.a, fd) != ARCHIVE_OK)
        rc = archive_failed(z.a, dest, err);
    if (rc == AL_OK)
        rc = add_files(&z, s, folder, err);
    if (rc < 0) {
        lib.archive_write_finish_entry(z.a); /* frees the compressor of an entry cut short */
        lib.archive_write_fail(z.a);
    }
    if (lib.archive_write_close(z.a) != ARCHIVE_OK && rc == AL_OK)
        rc = archive_failed(z.a, dest, err);
    lib.archive_write_free(z.a);
    return rc;
}

int al_archive_zip(const al_source *s, const char *folder, const char *dest, al_source_copied *out,
                   al_err *err)
{
    struct stat st;
    locale_t utf8, before;
    int rc, fd;

    uv_once(&once, load);
    if (load_error[0])
        return al_err_set(err, AL_ENOTSUP, "internal", "libarchive", load_error);
    fd = open(dest, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return al_err_errno(err, errno, dest);
    /* libarchive marks names as UTF-8 only where the thread's locale is; the program's is "C". */
    utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    before = utf8 ? uselocale(utf8) : (locale_t)0;
    rc = write_zip(s, folder, fd, dest, err);
    if (utf8) {
        uselocale(before);
        freelocale(utf8);
    }
    if (rc == AL_OK && (fsync(fd) < 0 || fstat(fd, &st) < 0))
        rc = al_err_errno(err, errno, dest);
    if (rc == AL_OK)
        rc = al_sha256_fd(fd, out->sha256, err);
    if (rc == AL_OK) {
        out->bytes = (uint64_t)st.st_size;
        out->mime = "application/zip";
    }
    if (close(fd) < 0 && rc == AL_OK)
        rc = al_err_errno(err, errno, dest);
    if (rc < 0)
        unlink(dest);
    return rc;
}
