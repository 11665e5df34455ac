/* What is known of a column: name, label, type hint, statistics. Everything is made in one pass
 * over its cells, in order, and is the same however the rows are cut into batches. */
#ifndef AL_DATA_COLUMN_H
#define AL_DATA_COLUMN_H
#include "base/buf.h"
#include "data/cell.h"
#include "data/ident.h"
#include "data/values.h"

#define AL_COLUMN_HINT_ROWS 1000
#define AL_COLUMN_TOP       5
#define AL_COLUMN_SHOWN     200 /* bytes of a text in min, max and top values; then … */
#define AL_COLUMN_LABEL     512 /* bytes of a label; then … */

/* A sum that keeps what doubles drop (Neumaier). One that would leave their range goes on in units
 * of 2^64, which no number of rows fills. */
typedef struct al_sum {
    double sum, rest;
    bool scaled;
} al_sum;

typedef struct al_column {
    char name[AL_IDENT_MAX + 1];
    char *label; /* may hold NULs */
    size_t label_len;
    uint64_t nulls, numbers, texts;
    uint64_t fallback_texts; /* texts with a digit and no ASCII letter */
    uint64_t hint_rows, hint_integers, hint_reals, hint_dates, hint_booleans, hint_texts;
    al_sum total, segment;
    al_cell least, most;              /* of the numbers, */
    double least_number, most_number; /* and as doubles, which hold them exactly */
    char text_least[AL_COLUMN_SHOWN + 1], text_most[AL_COLUMN_SHOWN + 1]; /* beginnings */
    uint32_t least_len, most_len; /* of those; AL_COLUMN_SHOWN + 1: there is more */
    uint64_t least_key, most_key; /* their first eight bytes, for a quick no */
    al_values *values;
} al_column;

/* label is UTF-8 and copied; AL_OK or AL_ENOMEM. */
int al_column_open(al_column *c, const char *name, const char *label, size_t len);
void al_column_close(al_column *c);

/* The next n cells of the column: cells[0], cells[stride] … AL_OK or AL_ENOMEM. */
int al_column_add(al_column *c, const al_cell *cells, size_t n, size_t stride);
/* The rows so far end a segment: sums are made by segment. */
void al_column_segment(al_column *c);

const char *al_column_type(const al_column *c); /* integer, real, date, boolean, text */
bool al_column_mean(const al_column *c, double *mean);
uint64_t al_column_fallbacks(const al_column *c);
uint64_t al_column_distinct(const al_column *c); /* an estimate when al_values_exact says so */
/* Appends the smallest or largest value as text; false when there is none. */
bool al_column_min(const al_column *c, al_buf *out);
bool al_column_max(const al_column *c, al_buf *out);
/* Appends [{"value":…,"count":…}, …]. */
int al_column_top_json(const al_column *c, al_buf *out);

/* Whether text is an ISO 8601 date: YYYY-MM-DD, with a time of day or without. */
bool al_column_is_date(const char *text, size_t len);

#endif
