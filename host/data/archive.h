/* libarchive for the engine: loaded late, reading through pread, its failures as errors of ours.
 * Only data/zip.c and data/unpack.c use it.
 *
 * It brings libxml2, ICU and the C++ library along, 3 ms at every start. So on Linux it is loaded
 * when the first file needs it; the engine, which can open no library once it has confined itself,
 * looks at the first bytes of its first input before (data/engine.h). */
#ifndef AL_DATA_ARCHIVE_H
#define AL_DATA_ARCHIVE_H
#include "base/err.h"
#include "base/late.h"
#include <archive.h>
#include <archive_entry.h>
#include <stdbool.h>
#include <stdint.h>

#define AL_ARCHIVE_FUNCTIONS(X)                 \
    X(archive_entry_filetype)                   \
    X(archive_entry_is_encrypted)               \
    X(archive_entry_pathname)                   \
    X(archive_entry_size)                       \
    X(archive_entry_size_is_set)                \
    X(archive_errno)                            \
    X(archive_error_string)                     \
    X(archive_filter_bytes)                     \
    X(archive_filter_code)                      \
    X(archive_read_data_block)                  \
    X(archive_read_free)                        \
    X(archive_read_new)                         \
    X(archive_read_next_header)                 \
    X(archive_read_open1)                       \
    X(archive_read_set_callback_data)           \
    X(archive_read_set_read_callback)           \
    X(archive_read_set_seek_callback)           \
    X(archive_read_set_skip_callback)           \
    X(archive_read_support_filter_bzip2)        \
    X(archive_read_support_filter_xz)           \
    X(archive_read_support_filter_zstd)         \
    X(archive_read_support_format_empty)        \
    X(archive_read_support_format_raw)          \
    X(archive_read_support_format_zip_seekable) \
    X(archive_set_error)

typedef struct al_archive_lib {
    AL_ARCHIVE_FUNCTIONS(AL_LATE_MEMBER)
} al_archive_lib;

/* NULL when libarchive cannot be loaded: AL_ENOTSUP, "internal". From any thread. */
const al_archive_lib *al_archive_load(al_err *err);

/* One reading of a file. Stays where it is while the handle lives; one thread at a time. */
typedef struct al_archive {
    const al_archive_lib *lib;
    struct archive *handle;
    int fd;            /* borrowed; only pread is used */
    uint64_t at, size; /* of the file */
    uint64_t taken;    /* bytes read from it */
    uint64_t may_take; /* at most; for what must stay small */
    bool too_much;     /* it wanted more than that */
    int failed;        /* errno of a read */
    size_t block;      /* bytes of the next read: few after a seek, then more */
    unsigned char *buffer;
} al_archive;

typedef enum al_archive_kind {
    AL_ARCHIVE_ZIP,
    AL_ARCHIVE_BZIP2, /* these hold one nameless entry */
    AL_ARCHIVE_XZ,
    AL_ARCHIVE_ZSTD
} al_archive_kind;

/* Nothing of the file but its kind is tried. To be closed even when it fails. */
int al_archive_open(al_archive *a, int fd, uint64_t size, al_archive_kind kind, al_err *err);
void al_archive_close(al_archive *a);
/* The next header: 1, 0 behind the last. */
int al_archive_next(al_archive *a, struct archive_entry **entry, const char *object, al_err *err);

/* The next piece of the entry, at *out until the next call; *len is 0 at its end. */
int al_archive_data(al_archive *a, const unsigned char **out, size_t *len, const char *object,
                    al_err *err);
/* Bytes of the file that are done with; those it only looked ahead at are not. */
uint64_t al_archive_position(const al_archive *a);
/* next and data: object (what is read) and the offset in the file are in "ingest_invalid" for what
 * is damaged; "dataset_unsupported" for ways of packing that it does not know; "io_error". */

#endif
