/* What kind of file it is: the one place where that is decided, from the bytes, with the name as a
 * hint. */
#ifndef AL_DATA_FORMAT_H
#define AL_DATA_FORMAT_H
#include "base/err.h"
#include "data/ingest.h"
#include <stdbool.h>
#include <stddef.h>

#define AL_FORMAT_HEAD 4096 /* bytes at the front that are looked at */

typedef struct al_format {
    const char *name; /* csv, tsv, json, jsonl, xlsx, ods: as results report it */
    bool sure;        /* said by the file's name or by the user; else its delimiter may say tsv */
    al_reader *read;
} al_format;

/* Looks into source, and sets it up for the reader: what is packed comes out of it, a workbook has
 * its zip open. wanted: the format asked for, or NULL. "dataset_unsupported" for what no reader
 * reads, with what it is and what to do in the detail; what reading source finds wrong. */
int al_format_find(al_source_file *source, const char *file_name, const char *wanted,
                   al_format *out, al_err *err);

/* Whether a file may need libarchive to be read. Only a few of its bytes are compared. */
bool al_format_needs_archive(int fd);

#endif
