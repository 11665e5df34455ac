/* A dataset being written: its sheets, their rows, and what is known of them.
 *
 * Tables: one per sheet, columns without declared types; _alisio_meta(key, value),
 * _alisio_sheets(ordinal, name, table_name, rows, columns), _alisio_columns(table_name, ordinal,
 * name, label, inferred_type, nulls, distinct_count, distinct_exact, min, max, mean,
 * text_fallbacks, top_values). Nothing in the file depends on time, place or how the rows came in
 * batches. */
#ifndef AL_DATA_DATASET_H
#define AL_DATA_DATASET_H
#include "base/buf.h"
#include "base/err.h"
#include "data/cell.h"
#include "data/link.h"

#define AL_DATASET_VERSION     1
#define AL_DATASET_APPLICATION 0x416c6973u /* "Alis" in the header of the file */
#define AL_DATASET_SEGMENT     (UINT64_C(2) << 20)
#define AL_DATASET_MAX_COLUMNS 2000 /* SQLite's own */

typedef struct al_dataset al_dataset;

typedef struct al_dataset_options {
    uint64_t max_rows;      /* per sheet */
    uint64_t values_budget; /* bytes for distinct values of all columns; 0: 256 MiB */
    unsigned threads;       /* 0: as many as there are processors */
    al_link *link;          /* borrowed; its cancel ends jobs in the middle. NULL: nobody cancels */
} al_dataset_options;

/* What a reader says of the whole file at its end. */
typedef struct al_dataset_meta {
    const char *format;   /* "csv" … */
    const char *encoding; /* NULL where it means nothing; so below */
    const char *delimiter;
    bool header; /* the first row gave the labels */
    uint64_t irregular_rows;
    const al_buf *notes; /* JSON objects with an id each, with commas between, or empty */
} al_dataset_meta;

/* fd: a regular file open for reading and writing, borrowed; it is emptied first. */
int al_dataset_open(al_dataset **out, int fd, const al_dataset_options *o, al_err *err);
void al_dataset_close(al_dataset *d); /* an unfinished file is no database */

/* Begins the next sheet. labels: n TEXT or NULL cells; there may be none if columns follow. */
int al_dataset_sheet(al_dataset *d, const char *name, const char *table, const al_cell *labels,
                     size_t n, al_err *err);

/* A segment is the unit in which rows are read, pages and sums made, and the memory budget looked
 * at: segment k ends with the first row that ends at or after byte (k + 1) * AL_DATASET_SEGMENT of
 * the sheet's text (a reader may add a rule of its own that depends on the text only).
 *
 * Segments are jobs, done on several threads at once. A job has members of its own behind these. */
typedef struct al_rows al_rows;
typedef struct al_job al_job;
struct al_job {
    uint64_t rows; /* that run makes: known before it is run */
    /* Makes the rows; may be called again, and makes the same of what is the same. */
    int (*run)(al_job *job, al_rows *rows, al_err *err);
    /* In the order of the jobs, one at a time, on any thread, with the rows made; or NULL. May be
     * AL_JOB_AGAIN: run and turn are called once more, now with all that the jobs before did. */
    int (*turn)(al_job *job, al_err *err);
    void (*free)(al_job *job);
};
enum { AL_JOB_AGAIN = 1 };

/* Rows of a job, in order. They may have fewer cells than the sheet has columns, and more when its
 * turn adds those. Texts must stay where they are until the job is freed. */
int al_rows_add(al_rows *rows, const al_batch *batch, al_err *err);
/* The next segment of the sheet; the job is taken whatever the answer is. "ingest_limit" when there
 * are more than max_rows. */
int al_dataset_submit(al_dataset *d, al_job *job, al_err *err);
/* Waits until all jobs were ended and freed; what the first of them that failed answered. */
int al_dataset_wait(al_dataset *d, al_err *err);
/* One more column of the sheet, NULL in all rows so far; to be called in a turn. label as above. */
int al_dataset_column(al_dataset *d, const al_cell *label, al_err *err);

/* For readers that have rows at hand: appends them to the segment in work. All of the batch is
 * copied; its columns are those of the sheet. */
int al_dataset_rows(al_dataset *d, const al_batch *batch, al_err *err);

uint64_t al_dataset_row_count(const al_dataset *d); /* of all sheets so far */
/* Waits for all jobs, writes the tables about the tables and syncs the file. */
int al_dataset_finish(al_dataset *d, const al_dataset_meta *meta, al_err *err);

#endif
