/* Delimited text by RFC 4180, leniently: lines end in LF, CRLF or CR; blank lines are skipped; a
 * quote inside an unquoted field is literal; text behind a closing quote is kept; short rows are
 * padded and long rows trimmed, and both are counted. A quote that is never closed is an error.
 *
 * The parser holds no state inside a row: it is given whole text, answers how much of it was whole
 * rows, and reads the rest again when there is more. So the result does not depend on how the text
 * was cut. */
#ifndef AL_DATA_CSV_H
#define AL_DATA_CSV_H
#include "base/buf.h"
#include "base/err.h"
#include "data/cell.h"

#define AL_CSV_MAX_RECORD   (64u * 1024 * 1024) /* bytes of one row as written */
#define AL_CSV_NO_DELIMITER '\xFF'              /* a byte that no UTF-8 holds: rows of one field */
#define AL_CSV_LINES        10                  /* line numbers kept of irregular rows */

typedef struct al_csv_irregular {
    uint64_t count;
    uint64_t lines[AL_CSV_LINES];
} al_csv_irregular;

typedef struct al_csv {
    char delimiter;
    size_t max_cell; /* bytes */
    uint64_t line;   /* of the next record, from 1 */
    uint64_t offset; /* of the next record in the text */
    uint64_t segment_end;
    al_csv_irregular short_rows, long_rows;
    char *scratch; /* fields without their doubled quotes */
    size_t scratch_used, scratch_room;
} al_csv;

typedef struct al_csv_record {
    size_t fields;  /* that it has */
    size_t used;    /* bytes, the line end included */
    uint64_t lines; /* line ends among them */
    bool blank;     /* an empty line */
} al_csv_record;

void al_csv_init(al_csv *c, char delimiter, size_t max_cell);
void al_csv_free(al_csv *c);

/* The record at text, of which 16 bytes behind len must be readable: 1 with *r and the first `room`
 * fields as TEXT or NULL, not yet as numbers (they live until the next call); 0 when the text ends
 * inside it, or at once; else an error. last: the text ends for good. c is not moved on. */
int al_csv_read(al_csv *c, const char *text, size_t len, bool last, al_cell *cells, size_t room,
                al_csv_record *r, al_err *err);
/* Moves behind a record read. */
void al_csv_pass(al_csv *c, const al_csv_record *r);

/* Whole rows from the front of text into batch, until it is full, a segment ends, or the text does;
 * *used says how much of the text they were. Cells live until the next call. */
int al_csv_rows(al_csv *c, const char *text, size_t len, bool last, al_batch *batch, size_t *used,
                al_err *err);

#endif
