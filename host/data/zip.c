/* libarchive's reader of zip files with a directory, told to read by pread. It goes through the
 * entries in one direction only: to read an earlier one it is opened anew. */
#include "data/zip.h"
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WINDOW 65536

struct al_zip {
    al_source_file *source;
    struct archive *archive;
    size_t next; /* the entry whose header comes next */
    al_zip_entry *entries;
    size_t count, room;
    const char *part; /* the name of the entry being read */
    uint64_t max_bytes, expanded, size;
    _Atomic uint64_t position;
    al_err failed; /* of a read, behind libarchive's back */
    /* the bytes of the file that libarchive sees: its small hops stay inside */
    uint64_t at, window_at;
    size_t window_len;
    unsigned char window[WINDOW];
};

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
}

static la_ssize_t give(struct archive *a, void *data, const void **bytes)
{
    al_zip *z = data;
    size_t got;

    if (z->at < z->window_at || z->at >= z->window_at + z->window_len) {
        if (al_source_file_read_at(z->source, z->at, z->window, WINDOW, &got, &z->failed) !=
            AL_OK) {
            archive_set_error(a, EIO, "reading failed");
            return -1;
        }
        z->window_at = z->at;
        z->window_len = got;
    }
    *bytes = z->window + (z->at - z->window_at);
    got = z->window_len - (size_t)(z->at - z->window_at);
    z->at += got;
    if (z->at > atomic_load_explicit(&z->position, memory_order_relaxed))
        atomic_store_explicit(&z->position, z->at, memory_order_relaxed);
    return (la_ssize_t)got;
}

static la_int64_t move(struct archive *a, void *data, la_int64_t offset, int whence)
{
    al_zip *z = data;
    la_int64_t from = whence == SEEK_SET   ? 0
                      : whence == SEEK_CUR ? (la_int64_t)z->at
                                           : (la_int64_t)z->size;

    (void)a;
    if (offset > INT64_MAX - from || from + offset < 0)
        return ARCHIVE_FATAL;
    z->at = (uint64_t)(from + offset);
    return from + offset;
}

static la_int64_t pass(struct archive *a, void *data, la_int64_t bytes)
{
    al_zip *z = data;

    (void)a;
    if (bytes < 0 || (uint64_t)bytes > z->size - (z->at < z->size ? z->at : z->size))
        return 0; /* it reads on, and finds the end */
    z->at += (uint64_t)bytes;
    return bytes;
}

/* What libarchive could not do, unless it was the reading of the file itself. */
static int damaged(al_zip *z, const char *object, const char *what, al_err *err)
{
    const char *why = z->archive ? archive_error_string(z->archive) : NULL;

    if (z->failed.code) {
        if (err)
            *err = z->failed;
        return z->failed.code;
    }
    al_err_setf(err, AL_EDATA, "ingest_invalid", object, "%s%s%s", what, why ? ": " : "",
                why ? why : "");
    return al_err_reason(err, AL_EDATA, "damaged");
}

static int open_archive(al_zip *z, al_err *err)
{
    struct archive *a;

    archive_read_free(z->archive);
    z->archive = a = archive_read_new();
    z->next = 0;
    z->at = z->window_at = 0;
    z->window_len = 0;
    if (!a)
        return no_memory(err);
    if (archive_read_support_format_zip_seekable(a) != ARCHIVE_OK ||
        archive_read_set_read_callback(a, give) != ARCHIVE_OK ||
        archive_read_set_seek_callback(a, move) != ARCHIVE_OK ||
        archive_read_set_skip_callback(a, pass) != ARCHIVE_OK ||
        archive_read_set_callback_data(a, z) != ARCHIVE_OK)
        return no_memory(err);
    return archive_read_open1(a) == ARCHIVE_OK
               ? AL_OK
               : damaged(z, "input", "a zip file that is damaged or not complete", err);
}

/* Forward slashes, nothing in front. */
static char *clean_name(const char *name)
{
    char *copy, *p;

    while (*name == '/' || *name == '\\' || (name[0] == '.' && strchr("/\\", name[1]) && name[1]))
        name++;
    copy = strdup(name);
    for (p = copy; p && *p; p++)
        if (*p == '\\')
            *p = '/';
    return copy;
}

static int add_entry(al_zip *z, struct archive_entry *e, al_err *err)
{
    const char *name = archive_entry_pathname_utf8(e);
    al_zip_entry *entry;
    size_t len;

    if (z->count == AL_ZIP_ENTRIES)
        return al_err_setf(err, AL_EDATA, "ingest_invalid", "input",
                           "a zip file with more than %d entries", AL_ZIP_ENTRIES);
    if (z->count == z->room) {
        size_t room = z->room ? z->room * 2 : 32;
        al_zip_entry *more = realloc(z->entries, room * sizeof *more);

        if (!more)
            return no_memory(err);
        z->entries = more;
        z->room = room;
    }
    if (!name)
        name = archive_entry_pathname(e);
    entry = &z->entries[z->count];
    *entry = (al_zip_entry){
        .name = clean_name(name ? name : ""),
        .size = archive_entry_size_is_set(e) ? (uint64_t)archive_entry_size(e) : 0,
        .encrypted = archive_entry_is_encrypted(e) != 0,
    };
    if (!entry->name)
        return no_memory(err);
    z->count++;
    len = strlen(entry->name);
    entry->folder =
        archive_entry_filetype(e) == AE_IFDIR || (len > 0 && entry->name[len - 1] == '/');
    return AL_OK;
}

static int list(al_zip *z, al_err *err)
{
    struct archive_entry *e;
    int rc = open_archive(z, err);

    while (rc == AL_OK) {
        int got = archive_read_next_header(z->archive, &e);

        if (got == ARCHIVE_EOF)
            break;
        if (got != ARCHIVE_OK && got != ARCHIVE_WARN)
            return damaged(z, "input", "a zip file that is damaged or not complete", err);
        z->next++;
        rc = add_entry(z, e, err);
    }
    return rc;
}

int al_zip_open(al_zip **out, al_source_file *source, uint64_t max_bytes, al_err *err)
{
    al_zip *z = calloc(1, sizeof *z);
    int rc;

    *out = NULL;
    if (!z)
        return no_memory(err);
    z->source = source;
    z->size = al_source_file_size(source);
    z->max_bytes = z->size > AL_ZIP_FLOOR / AL_ZIP_RATIO ? z->size * AL_ZIP_RATIO : AL_ZIP_FLOOR;
    if (z->max_bytes > max_bytes)
        z->max_bytes = max_bytes;
    rc = list(z, err);
    if (rc != AL_OK) {
        al_zip_close(z);
        return rc;
    }
    *out = z;
    return AL_OK;
}

void al_zip_close(al_zip *z)
{
    if (!z)
        return;
    archive_read_free(z->archive);
    for (size_t i = 0; i < z->count; i++)
        free(z->entries[i].name);
    free(z->entries);
    free(z);
}

size_t al_zip_count(const al_zip *z)
{
    return z->count;
}

const al_zip_entry *al_zip_at(const al_zip *z, size_t index)
{
    return &z->entries[index];
}

size_t al_zip_find(const al_zip *z, const char *name)
{
    for (size_t i = 0; i < z->count; i++)
        if (!z->entries[i].folder && strcasecmp(z->entries[i].name, name) == 0)
            return i;
    return AL_ZIP_NONE;
}

uint64_t al_zip_position(const al_zip *z)
{
    return atomic_load_explicit(&z->position, memory_order_relaxed);
}

static int too_large(const al_zip *z, al_err *err)
{
    al_err_setf(err, AL_ELIMIT, "ingest_limit", "analysis.data.maxFileBytes",
                "%.100s: unpacked it would be more than %" PRIu64
                " bytes, which is what a zip file of %" PRIu64 " may hold",
                z->part, z->max_bytes, z->size);
    return al_err_reason(err, AL_ELIMIT, "maxFileBytes");
}

int al_zip_part_open(al_zip *z, size_t index, al_err *err)
{
    struct archive_entry *e;
    int rc = index >= z->next ? AL_OK : open_archive(z, err);

    if (rc != AL_OK)
        return rc;
    z->part = z->entries[index].name;
    if (z->entries[index].encrypted)
        return al_err_set(err, AL_ENOTSUP, "dataset_unsupported", z->part,
                          "it is encrypted: save it without a password");
    if (z->entries[index].size > z->max_bytes - z->expanded)
        return too_large(z, err);
    while (z->next <= index) {
        int got = archive_read_next_header(z->archive, &e);

        if (got != ARCHIVE_OK && got != ARCHIVE_WARN)
            return damaged(z, z->part, "damaged", err);
        z->next++;
    }
    return AL_OK;
}

int al_zip_part_read(al_zip *z, void *out, size_t len, size_t *got, al_err *err)
{
    *got = 0;
    while (*got < len) {
        la_ssize_t n = archive_read_data(z->archive, (char *)out + *got, len - *got);

        /* A wrong checksum is a mere warning to libarchive. */
        if (n < 0)
            return damaged(z, z->part, "damaged", err);
        if (n == 0)
            break;
        *got += (size_t)n;
        z->expanded += (uint64_t)n;
        if (z->expanded > z->max_bytes)
            return too_large(z, err);
    }
    return AL_OK;
}
