/* What is known of a column: name, label, type hint, statistics. Everything is made in one pass
 * over its cells: an al_part counts the cells of a segment, on any thread; the column takes the
 * parts in order. The result is the same however the rows of a segment are cut into batches. */
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

/* The beginning of a text: the smallest or the largest of some. */
typedef struct al_beginning {
    char text[AL_COLUMN_SHOWN + 1];
    uint32_t len; /* AL_COLUMN_SHOWN + 1: there is more */
    uint64_t key; /* the first eight bytes, for a quick no */
} al_beginning;

/* The cells of one segment. */
typedef struct al_part {
    uint64_t numbers, texts;
    uint64_t integers, reals, dates, booleans, others; /* of the rows that hint at the type */
    al_sum sum;
    al_cell least, most;              /* of the numbers, */
    double least_number, most_number; /* and as doubles, which hold them exactly */
    al_counts counts;
    uint64_t texts_seen; /* of the texts, all of them once the part was ended: these three */
    al_beginning text_least, text_most;
    uint64_t fallback_texts; /* texts with a digit and no ASCII letter */
} al_part;

typedef struct al_column {
    char name[AL_IDENT_MAX + 1];
    char *label; /* may hold NULs */
    size_t label_len;
    uint64_t numbers, texts;
    uint64_t fallback_texts;
    uint64_t integers, reals, dates, booleans, others;
    al_sum sum;
    al_cell least, most;
    double least_number, most_number;
    al_beginning text_least, text_most;
    al_values *values;
} al_column;

/* Empties a part (of zeros, or used before) of one of so many columns; its memory is
 * kept. values: the column's, or NULL, as al_counts_clear has it. AL_OK or AL_ENOMEM. */
int al_part_clear(al_part *p, size_t columns, const al_values *values);
void al_part_close(al_part *p);
/* The next n cells: cells[0], cells[stride] …; the first `hints` of them say what type the column
 * has. Texts must stay until the part is taken. AL_OK or AL_ENOMEM. */
int al_part_add(al_part *p, const al_cell *cells, size_t n, size_t stride, size_t hints);
/* All its cells were added. AL_OK or AL_ENOMEM. */
int al_part_end(al_part *p);

/* label is UTF-8 and copied; AL_OK or AL_ENOMEM. */
int al_column_open(al_column *c, const char *name, const char *label, size_t len);
void al_column_close(al_column *c);
/* Takes the next segment's part. AL_OK or AL_ENOMEM. */
int al_column_take(al_column *c, al_part *p);

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
