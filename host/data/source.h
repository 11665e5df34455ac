/* The file to read: its bytes in order, counted and hashed on the way.
 *
 * Of a packed file, what is in it comes out; counts, sizes and the hash are those of the file as it
 * is. Bytes that come out are "ingest_limit" when they are too many (data/expansion.h), and
 * "ingest_invalid" when they are damaged, at the latest in the place of the end. */
#ifndef AL_DATA_SOURCE_H
#define AL_DATA_SOURCE_H
#include "base/err.h"
#include "data/unpack.h"
#include "data/zip.h"
#include <stddef.h>
#include <stdint.h>

typedef struct al_source_file al_source_file;

/* fd: open for reading, borrowed; only pread is used. "ingest_invalid" when it is no regular file,
 * "ingest_limit" when it has more than max_bytes. */
int al_source_file_open(al_source_file **out, int fd, uint64_t max_bytes, al_err *err);
void al_source_file_close(al_source_file *s);
int al_source_file_fd(const al_source_file *s);
/* For tests: no read gives more than n bytes; 0 is no limit. */
void al_source_file_limit_reads(al_source_file *s, size_t n);

/* From here on the source gives what the file packs, from its first byte on. packing: one of the
 * four streams. */
int al_source_file_unpack(al_source_file *s, al_packing packing, al_err *err);
/* Opens the file as a zip; then one entry of it may be what the source gives. */
int al_source_file_open_zip(al_source_file *s, al_err *err);
int al_source_file_unzip(al_source_file *s, const al_zip_entry *entry, al_err *err);
/* NULL when it is none; lives as long as s. */
al_zip *al_source_file_zip(al_source_file *s);

/* The next bytes, at most len > 0: how many in *got, 0 at the end. "ingest_limit" when the file has
 * grown past max_bytes. */
int al_source_file_read(al_source_file *s, void *out, size_t len, size_t *got, al_err *err);
/* Bytes at the front, whatever was read so far; they are not counted. */
int al_source_file_peek(al_source_file *s, void *out, size_t len, size_t *got, al_err *err);
/* Begins again at byte 0; the bytes must then be the same as before. */
int al_source_file_rewind(al_source_file *s, al_err *err);

uint64_t al_source_file_bytes(const al_source_file *s); /* of the file, read so far */
uint64_t al_source_file_size(const al_source_file *s);  /* of the file when it was opened */
/* The SHA-256 of the file, to be called once, at the end: of a plain one what was read. "io_error"
 * when a second reading gave other bytes than the first, or the file changed meanwhile: a plain one
 * may have grown. */
int al_source_file_sha256(al_source_file *s, char hex[65], al_err *err);

#endif
