/* A file packed as one stream: gzip, bzip2, xz or zstd. */
#ifndef AL_DATA_UNPACK_H
#define AL_DATA_UNPACK_H
#include "base/err.h"
#include <stddef.h>
#include <stdint.h>

typedef enum al_packing {
    AL_PLAIN,
    AL_GZIP,
    AL_BZIP2,
    AL_XZ,
    AL_ZSTD,
    AL_ZIP /* a container: data/zip.h */
} al_packing;

typedef struct al_unpack al_unpack;

/* fd: a regular file of `size` bytes, borrowed while al_unpack lives; only pread is used. packing:
 * one of the four streams, as its first bytes said. Streams behind one another are read as one.
 * max_bytes: of what comes out (data/expansion.h). */
int al_unpack_open(al_unpack **out, int fd, uint64_t size, al_packing packing, uint64_t max_bytes,
                   al_err *err);
void al_unpack_close(al_unpack *u);
/* The next bytes, at most len > 0: how many in *got, 0 at the end, which comes only when all
 * checksums were right and nothing but zero bytes stands behind the last stream. "ingest_invalid"
 * with the offset in the file for what is damaged or cut short, "ingest_limit". */
int al_unpack_read(al_unpack *u, void *out, size_t len, size_t *got, al_err *err);
uint64_t al_unpack_consumed(const al_unpack *u); /* bytes of the file so far, for progress */

#endif
