/* A zip file: what is in it, and its entries' bytes, by libarchive over the source's pread.
 *
 * Expanded bytes are counted over all entries read: AL_ZIP_RATIO times the file is the most (or
 * AL_ZIP_FLOOR, where that is more), so that a small file never costs much. */
#ifndef AL_DATA_ZIP_H
#define AL_DATA_ZIP_H
#include "base/err.h"
#include "data/source.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AL_ZIP_RATIO   100
#define AL_ZIP_FLOOR   (UINT64_C(1) << 20)
#define AL_ZIP_ENTRIES 65535 /* the most that are listed */
#define AL_ZIP_NONE    SIZE_MAX

typedef struct al_zip al_zip;

typedef struct al_zip_entry {
    char *name;    /* with slashes between folders and none in front, whatever the writer used */
    uint64_t size; /* as the directory says; 0 when it does not */
    bool folder, encrypted;
} al_zip_entry;

/* Lists the entries. source is borrowed until al_zip_close. max_bytes: the most that may come out
 * of it. "ingest_invalid" when there is no directory that can be read. */
int al_zip_open(al_zip **out, al_source_file *source, uint64_t max_bytes, al_err *err);
void al_zip_close(al_zip *z);

size_t al_zip_count(const al_zip *z);
const al_zip_entry *al_zip_at(const al_zip *z, size_t index);
/* The first entry of that name, folders aside; ASCII letters of either case are the same, as in
 * names of parts. AL_ZIP_NONE without one. */
size_t al_zip_find(const al_zip *z, const char *name);

/* Begins to read an entry; the one before is left. In the order in which they lie in the file (that
 * of the indexes) it costs least. "dataset_unsupported" for an encrypted one, "ingest_limit". */
int al_zip_part_open(al_zip *z, size_t index, al_err *err);
/* The next bytes, len unless it ends: *got < len is the end. "ingest_invalid" with the entry's name
 * when it is damaged, "ingest_limit" when it is too large. */
int al_zip_part_read(al_zip *z, void *out, size_t len, size_t *got, al_err *err);
/* Bytes of the file that were passed to get here. Safe on any thread. */
uint64_t al_zip_position(const al_zip *z);

#endif
