/* Delimited text by RFC 4180, leniently: lines end in LF, CRLF or CR; blank lines are skipped; a
 * quote inside an unquoted field is literal; text behind a closing quote is kept; short rows are
 * padded and long rows trimmed, and both are counted. A quote that is never closed is an error.
 *
 * Reading has two steps. The scan goes over the text in order, 64 bytes at a time, and marks where
 * fields and records end: it alone knows what is inside quotes. The fields of a piece of text that
 * was scanned can then be read by themselves, on any thread. */
#ifndef AL_DATA_CSV_H
#define AL_DATA_CSV_H
#include "base/err.h"
#include "data/cell.h"
#include <stdbool.h>

#define AL_CSV_MAX_RECORD   (64u * 1024 * 1024) /* bytes of one row as written */
#define AL_CSV_NO_DELIMITER '\xFF'              /* a byte that no UTF-8 holds: rows of one field */
#define AL_CSV_LINES        10                  /* line numbers kept of irregular rows */

typedef struct al_csv_scan {
    char delimiter;
    uint64_t *ends; /* a bit for each byte of text: a delimiter, or the first byte of a line end */
    size_t end;     /* of what was scanned: the records that it holds are whole */
    uint64_t rows;  /* of it: records that are no blank lines */
    uint64_t lines; /* line ends in it, those inside quotes too */
    /* private */
    uint64_t blanks, quoted_lines;
    size_t words, at, opened, last_end, last_field;
    bool inside, closing, separated, after_cr, after_any_cr, at_start;
} al_csv_scan;

void al_csv_scan_open(al_csv_scan *s, char delimiter);
void al_csv_scan_close(al_csv_scan *s);
/* Gives the marks away, for the caller to free(), and begins a new text. */
uint64_t *al_csv_scan_take(al_csv_scan *s);

/* Goes on over text, the first len bytes of which are there (and 64 readable ones behind). A call
 * that follows sees the same bytes, and more. 1: the first record that ends at or behind `limit`
 * ends at s->end, where the next text begins; or, with `last`, the text ends there: the last record
 * needs no line end. 0: more text is needed. Else an error: a quote that is never closed, a field
 * that goes on past twice max_cell bytes (it might be doubled quotes), or a row longer than
 * AL_CSV_MAX_RECORD; its err->line counts from `line`, the number of the text's first line. */
int al_csv_scan_text(al_csv_scan *s, const char *text, size_t len, bool last, size_t limit,
                     size_t max_cell, uint64_t line, al_err *err);

typedef struct al_csv_irregular {
    uint64_t count;
    uint64_t lines[AL_CSV_LINES];
} al_csv_irregular;

/* Adds what a later piece of text had. */
void al_csv_irregular_add(al_csv_irregular *to, const al_csv_irregular *more);

typedef struct al_csv_fields { /* reads the fields of a text that was scanned */
    const char *text;
    size_t len;
    const uint64_t *ends;
    char delimiter;
    size_t max_cell; /* bytes */
    uint64_t line;   /* number of the text's first line */
    al_csv_irregular short_rows, long_rows;
    /* private */
    size_t at, start, word, counted;
    uint64_t bits, counted_line;
    al_cell_number_fn *number;
    struct al_csv_scratch *scratch; /* fields without their doubled quotes */
} al_csv_fields;

void al_csv_fields_open(al_csv_fields *f, const char *text, size_t len, const uint64_t *ends,
                        char delimiter, size_t max_cell, uint64_t line);
void al_csv_fields_close(al_csv_fields *f);
/* The next rows: batch->rows of them, at most batch->room; 0 at the end. Their texts stay until
 * close. "ingest_limit" for a cell longer than max_cell. */
int al_csv_rows(al_csv_fields *f, al_batch *batch, al_err *err);
/* The next record that is no blank line, its fields as TEXT or NULL, not yet as numbers: 1 with the
 * first `room` of them and how many there are, 0 at the end; else an error. */
int al_csv_record(al_csv_fields *f, al_cell *cells, size_t room, size_t *fields, al_err *err);
/* The line on which the record that was read last begins. */
uint64_t al_csv_line(al_csv_fields *f);

#endif
