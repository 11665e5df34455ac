/* The container of a ZIP file: what is in it, and its entries as streams. */
#ifndef AL_DATA_ZIP_H
#define AL_DATA_ZIP_H
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AL_ZIP_MAX_ENTRIES 65536

typedef struct al_zip al_zip;
typedef struct al_zip_stream al_zip_stream;

typedef struct al_zip_entry {
    const char *name; /* with `/` between folders and nothing in front, whatever the writer used;
                         UTF-8 where it says that it is, else any bytes */
    uint64_t size;    /* expanded, as the file says; 0 where it does not */
    bool folder, encrypted;
} al_zip_entry;

/* fd: a regular file open for reading, borrowed while the zip lives; only pread is used. What its
 * central directory lists, whatever lies in front of the first entry. max_bytes: of all that comes
 * out of it (data/expansion.h). "ingest_invalid" when it is no ZIP file or a damaged one,
 * "ingest_limit" when it has too many entries. */
int al_zip_open(al_zip **out, int fd, uint64_t max_bytes, al_err *err);
void al_zip_close(al_zip *z); /* after its streams */

size_t al_zip_count(const al_zip *z);
const al_zip_entry *al_zip_at(const al_zip *z, size_t i); /* in the order of the file */
/* The first entry of that name, folders aside; ASCII letters of either case are the same, as in
 * names of parts. NULL when there is none. */
const al_zip_entry *al_zip_find(const al_zip *z, const char *name);

/* Reads an entry of z from its first byte on, soonest when it lies behind the one of the stream
 * closed last: "ingest_invalid" when too many headers were passed to find entries. Streams of one
 * zip may be read at the same time, each by one thread. "dataset_unsupported" for an encrypted
 * entry or an unknown way of packing. */
int al_zip_stream_open(al_zip_stream **out, al_zip *z, const al_zip_entry *entry, al_err *err);
void al_zip_stream_close(al_zip_stream *s);
/* The next bytes, at most len > 0: how many in *got, 0 at the end. Size and CRC are checked:
 * "ingest_invalid" comes at the latest in the place of that 0. "ingest_limit" when more came out of
 * the zip than may; what is read twice counts once. The error's object is the entry's name. */
int al_zip_stream_read(al_zip_stream *s, void *out, size_t len, size_t *got, al_err *err);

/* Bytes of the file that streams have read so far, for progress. */
uint64_t al_zip_consumed(const al_zip *z);

#endif
