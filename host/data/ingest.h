/* From a file to a dataset: one ingestion, and what its readers share. */
#ifndef AL_DATA_INGEST_H
#define AL_DATA_INGEST_H
#include "base/buf.h"
#include "base/err.h"
#include "data/dataset.h"
#include "data/link.h"
#include "data/source.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct al_ingest_options {
    const char *name;   /* of the file, a hint */
    const char *format; /* these are NULL where the bytes decide */
    const char *encoding;
    const char *delimiter; /* one ASCII character */
    int header;            /* 1, 0, or -1: look */
    uint64_t skip;         /* lines in front */
    uint64_t sample;       /* rows shown in the result */
    uint64_t max_rows, max_columns, max_cell_bytes, max_file_bytes;
    uint64_t threads;          /* 0: as many as there are processors */
    size_t read_limit, window; /* for tests: bytes a read gives, bytes of text seen at once; or 0 */
} al_ingest_options;

typedef struct al_ingest { /* what a reader works with */
    const al_ingest_options *options;
    al_source_file *source;
    al_link *link;
    int out;
    bool format_sure;    /* meta.format is; else a delimiter may say otherwise */
    al_dataset *dataset; /* NULL until al_ingest_begin */
    al_dataset_meta meta;
    al_buf notes;
    char delimiter[2];
} al_ingest;

/* Reads in->source into in->dataset and fills in->meta. */
typedef int al_reader(al_ingest *in, al_err *err);
al_reader al_read_delimited, al_read_xlsx, al_read_ods;
al_reader al_read_json; /* meta.format says whether one object a line or any of its shapes */

/* Opens in->dataset, an empty one, whatever was there. */
int al_ingest_begin(al_ingest *in, al_err *err);
/* Between batches: cancel, progress. */
int al_ingest_step(al_ingest *in, al_err *err);
/* Reads text with the encoding asked for; else as what it seems to be, and as windows-1252 once a
 * byte comes that is no UTF-8. encoding: NULL or a name, as in data/encoding.h. */
int al_ingest_text(al_ingest *in, int (*read)(al_ingest *in, const char *encoding, al_err *err),
                   al_err *err);
/* Adds a note, unless count is 0; lines: n line numbers, or NULL. */
void al_ingest_note(al_ingest *in, const char *id, uint64_t count, const uint64_t *lines, size_t n);

/* The defaults of the limits; nothing is overridden. */
void al_ingest_defaults(al_ingest_options *o);
/* Reads `input` and writes the dataset to `output` (an empty regular file, open for both), synced.
 * Appends the description of al_describe and the file's sha256 and bytes to result. On failure
 * output is left empty. */
int al_ingest_run(const al_ingest_options *o, int input, int output, al_link *link, al_buf *result,
                  al_err *err);

#endif
