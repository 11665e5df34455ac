/* Reading an output folder that somebody else wrote, and may still be writing.
 *
 * A scan holds the folder open and lists everything below it; nothing is followed, nothing outside
 * can be reached, and any file that is not plain, or any limit, refuses the whole folder:
 * "artifact_rejected" with the reason and the path. A file is handed out only if it is still,
 * before and after it was read, the very file the scan saw. Everything here blocks. */
#ifndef AL_PRIM_ARTIFACT_H
#define AL_PRIM_ARTIFACT_H
#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define AL_SOURCE_DEPTH 8    /* parts a path may have */
#define AL_SNIFF_BYTES  4096 /* leading bytes that tell a type */

typedef struct al_source_limits {
    uint64_t max_files, max_file_bytes, max_output_bytes;
} al_source_limits;

typedef struct al_source_item {
    char *path; /* beneath the folder, NFC */
    char *raw;  /* the same as the folder has it */
    bool dir;
    uint64_t bytes;
    dev_t dev; /* what it must still be when it is read */
    ino_t ino;
    struct timespec mtime, ctime;
} al_source_item;

typedef struct al_source al_source;

/* The folder itself must not be a link. limits NULL: none but the depth. */
int al_source_scan(al_source **out, const char *folder, const al_source_limits *limits,
                   al_err *err);
void al_source_close(al_source *s);
size_t al_source_count(const al_source *s);
const al_source_item *al_source_at(const al_source *s, size_t i); /* sorted by path, by bytes */
const al_source_item *al_source_find(const al_source *s, const char *path); /* or NULL */

/* Hands the bytes of a file to sink, in order; what sink answers below 0 ends it. */
typedef int (*al_source_sink)(void *data, const void *bytes, size_t len, al_err *err);
int al_source_stream(const al_source *s, const al_source_item *item, al_source_sink sink,
                     void *data, al_err *err);

typedef struct al_source_copied {
    uint64_t bytes;
    char sha256[65];
    const char *mime; /* of the leading bytes, NULL when they tell nothing */
} al_source_copied;

/* Copies a file to dest, which must be new: 0600, synced. A failure leaves nothing. */
int al_source_copy(const al_source *s, const al_source_item *item, const char *dest,
                   al_source_copied *out, al_err *err);

/* Whether a name, one part of a path, may be kept: NULL, and its composed form (NFC) is in nfc;
 * else why not, a reason of artifact_rejected: hidden, bad_name. nfc->failed is AL_ENOMEM without
 * memory. */
const char *al_artifact_name(const char *name, size_t len, al_buf *nfc);

/* What the leading bytes say: static text, "text/plain" for any text; NULL when nothing. */
const char *al_artifact_sniff(const char *bytes, size_t len);
int al_artifact_digest(const char *path, char hex[65], al_err *err);

#endif
