/* Loading libarchive, and its callbacks: read, skip and seek over pread. */
#include "data/archive.h"
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEAST_BLOCK 4096u /* what a seek reads: a header, mostly */
#define MOST_BLOCK  131072u

static pthread_once_t once = PTHREAD_ONCE_INIT;
static al_archive_lib lib;
static char load_error[200]; /* "" when it can be used */
/* libarchive reads names that are UTF-8 only where the thread's locale is; the program's is "C".
 * Taken when libarchive is loaded, since a locale is a file. */
static locale_t utf8;

static void load(void)
{
#define FUNCTION(name) AL_LATE_FUNCTION(lib, name),
    static const char *const files[] = { "libarchive.so.13", NULL };
    static const al_late functions[] = { AL_ARCHIVE_FUNCTIONS(FUNCTION) };

    al_late_load(files, functions, sizeof functions / sizeof functions[0], load_error,
                 sizeof load_error);
    utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

const al_archive_lib *al_archive_load(al_err *err)
{
    pthread_once(&once, load);
    if (!load_error[0])
        return &lib;
    al_err_set(err, AL_ENOTSUP, "internal", "libarchive", load_error);
    return NULL;
}

uint64_t al_archive_position(const al_archive *a)
{
    la_int64_t at = lib.archive_filter_bytes(a->handle, -1);

    return at > 0 ? (uint64_t)at : 0;
}

static int damaged(const char *why, uint64_t offset, const char *object, al_err *err)
{
    al_err_set(err, AL_EDATA, "ingest_invalid", object, why);
    if (err)
        err->offset = offset;
    return al_err_reason(err, AL_EDATA, "damaged");
}

/* What libarchive found wrong in object. */
static int failed(const al_archive *a, const char *object, al_err *err)
{
    const char *why = lib.archive_error_string(a->handle);

    if (!why || strncmp(why, "Unrecognized", 12) == 0)
        why = "damaged or cut short";
    if (a->failed)
        return al_err_errno(err, a->failed, object);
    if (lib.archive_errno(a->handle) == ENOMEM)
        return al_err_set(err, AL_ENOMEM, "internal", object, "not enough memory");
    if (strncmp(why, "Unsupported", 11) == 0)
        return al_err_set(err, AL_ENOTSUP, "dataset_unsupported", object, why);
    return damaged(why, al_archive_position(a), object, err);
}

static la_ssize_t on_read(struct archive *handle, void *data, const void **out)
{
    al_archive *a = data;
    ssize_t n;

    if (a->taken >= a->may_take) {
        a->too_much = true;
        lib.archive_set_error(handle, EIO, "too much to read");
        return -1;
    }
    do
        n = pread(a->fd, a->buffer, a->block, (off_t)a->at);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        a->failed = errno;
        lib.archive_set_error(handle, errno, "read failed");
        return -1;
    }
    a->at += (uint64_t)n;
    a->taken += (uint64_t)n;
    if (a->block < MOST_BLOCK)
        a->block *= 2;
    *out = a->buffer;
    return n;
}

static la_int64_t on_skip(struct archive *handle, void *data, la_int64_t n)
{
    al_archive *a = data;
    uint64_t left = a->at < a->size ? a->size - a->at : 0;

    (void)handle;
    if (n < 0)
        return 0;
    if ((uint64_t)n > left)
        n = (la_int64_t)left;
    a->at += (uint64_t)n;
    return n;
}

static la_int64_t on_seek(struct archive *handle, void *data, la_int64_t offset, int whence)
{
    al_archive *a = data;
    int64_t base = whence == SEEK_SET ? 0 : (int64_t)(whence == SEEK_CUR ? a->at : a->size);

    /* Offsets of a damaged file lead anywhere. */
    if (offset < -base || offset > INT64_MAX - base || (uint64_t)(base + offset) > a->size) {
        lib.archive_set_error(handle, EINVAL, "an offset outside of the file");
        return ARCHIVE_FATAL;
    }
    a->at = (uint64_t)(base + offset);
    a->block = LEAST_BLOCK;
    return (la_int64_t)a->at;
}

/* ARCHIVE_WARN would be a filter that libarchive cannot undo by itself. */
static int set_kind(struct archive *handle, al_archive_kind kind)
{
    if (kind == AL_ARCHIVE_ZIP)
        return lib.archive_read_support_format_zip_seekable(handle);
    if (lib.archive_read_support_format_raw(handle) != ARCHIVE_OK ||
        lib.archive_read_support_format_empty(handle) != ARCHIVE_OK)
        return ARCHIVE_FATAL;
    return kind == AL_ARCHIVE_BZIP2 ? lib.archive_read_support_filter_bzip2(handle)
           : kind == AL_ARCHIVE_XZ  ? lib.archive_read_support_filter_xz(handle)
                                    : lib.archive_read_support_filter_zstd(handle);
}

int al_archive_open(al_archive *a, int fd, uint64_t size, al_archive_kind kind, al_err *err)
{
    struct archive *handle;

    *a = (al_archive){ .fd = fd, .size = size, .may_take = UINT64_MAX, .block = LEAST_BLOCK };
    a->lib = al_archive_load(err);
    if (!a->lib)
        return AL_ENOTSUP;
    a->buffer = malloc(MOST_BLOCK);
    handle = a->handle = lib.archive_read_new();
    if (!a->buffer || !handle)
        return al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
    if (set_kind(handle, kind) != ARCHIVE_OK)
        return al_err_set(err, AL_ENOTSUP, "internal", "libarchive",
                          lib.archive_error_string(handle));
    lib.archive_read_set_callback_data(handle, a);
    lib.archive_read_set_read_callback(handle, on_read);
    lib.archive_read_set_skip_callback(handle, on_skip);
    lib.archive_read_set_seek_callback(handle, on_seek);
    if (lib.archive_read_open1(handle) != ARCHIVE_OK)
        return failed(a, "input", err);
    /* With too little of a header it would hand out the packed bytes themselves. */
    if (kind != AL_ARCHIVE_ZIP && lib.archive_filter_code(handle, 0) == ARCHIVE_FILTER_NONE)
        return damaged("its header is damaged", 0, "input", err);
    return AL_OK;
}

void al_archive_close(al_archive *a)
{
    if (a->handle)
        lib.archive_read_free(a->handle);
    free(a->buffer);
    *a = (al_archive){ 0 };
}

int al_archive_next(al_archive *a, struct archive_entry **entry, const char *object, al_err *err)
{
    locale_t before = utf8 ? uselocale(utf8) : (locale_t)0;
    int status = lib.archive_read_next_header(a->handle, entry);

    if (utf8)
        uselocale(before);
    /* What cannot be unpacked from its first byte on looks empty to it. */
    if (status == ARCHIVE_EOF)
        return lib.archive_errno(a->handle) == 0 ? 0 : failed(a, object, err);
    /* A warning is about a name that does not fit the locale. */
    return status == ARCHIVE_OK || status == ARCHIVE_WARN ? 1 : failed(a, object, err);
}

int al_archive_data(al_archive *a, const unsigned char **out, size_t *len, const char *object,
                    al_err *err)
{
    la_int64_t offset;
    const void *block;
    int status;

    do {
        *len = 0;
        status = lib.archive_read_data_block(a->handle, &block, len, &offset);
    } while (status == ARCHIVE_OK && *len == 0);
    *out = block;
    if (status == ARCHIVE_EOF)
        *len = 0;
    /* Here a warning is about a size or a CRC. */
    return status == ARCHIVE_OK || status == ARCHIVE_EOF ? AL_OK : failed(a, object, err);
}
