/* The file to read: its bytes in order, counted and hashed on the way. */
#ifndef AL_DATA_SOURCE_H
#define AL_DATA_SOURCE_H
#include "base/err.h"
#include <stddef.h>
#include <stdint.h>

typedef struct al_source_file al_source_file;

/* fd: open for reading, borrowed; only pread is used. "ingest_invalid" when it is no regular file,
 * "ingest_limit" when it has more than max_bytes. */
int al_source_file_open(al_source_file **out, int fd, uint64_t max_bytes, al_err *err);
void al_source_file_close(al_source_file *s);
/* For tests: no read gives more than n bytes; 0 is no limit. */
void al_source_file_limit_reads(al_source_file *s, size_t n);

/* The next bytes, at most len > 0: how many in *got, 0 at the end. "ingest_limit" when the file has
 * grown past max_bytes. */
int al_source_file_read(al_source_file *s, void *out, size_t len, size_t *got, al_err *err);
/* Bytes at the front, whatever was read so far; they are not counted. */
int al_source_file_peek(al_source_file *s, void *out, size_t len, size_t *got, al_err *err);
/* Bytes from `at` on, for formats that are read in an order of their own: as al_source_file_read
 * but neither counted nor hashed, and safe on any thread. */
int al_source_file_read_at(al_source_file *s, uint64_t at, void *out, size_t len, size_t *got,
                           al_err *err);
/* Counts and hashes what was not yet read in order. */
int al_source_file_read_rest(al_source_file *s, al_err *err);
/* Begins again at byte 0; the bytes must then be the same as before. */
int al_source_file_rewind(al_source_file *s, al_err *err);

uint64_t al_source_file_bytes(const al_source_file *s); /* read so far */
uint64_t al_source_file_size(const al_source_file *s);  /* of the file when it was opened */
/* The SHA-256 of all that was read, to be called once, at the end. "io_error" when a second reading
 * gave other bytes than the first. */
int al_source_file_sha256(al_source_file *s, char hex[65], al_err *err);

#endif
