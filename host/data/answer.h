/* Rows of a statement as JSON, cell by cell or as the frames that the host gets. */
#ifndef AL_DATA_ANSWER_H
#define AL_DATA_ANSWER_H
#include "base/json.h"
#include "data/link.h"
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AL_ANSWER_MAX_BYTES (64u * 1024 * 1024) /* of rows as JSON */

/* Adds the cell: null, number or string. A number that a double cannot hold and infinities are
 * strings, a blob is x'…' in hexadecimal; what is longer than max bytes is cut and ends in …, and
 * the answer is true. *kind: i, r, t, b or n. */
bool al_answer_cell(al_json_out *o, sqlite3_stmt *stmt, int column, size_t max, char *kind);

/* Rows on their way: {"rows":[…],"kinds":[…]} frames, a letter a cell. */
typedef struct al_answer {
    al_link *link;
    size_t columns, max_cell;
    uint64_t count; /* rows so far */
    /* private */
    al_json_out o;
    al_buf json, kinds; /* of rows that are not sent yet */
    al_buf cut;
    char *letters; /* of one row */
    uint64_t sent_bytes;
} al_answer;

/* max_cell: bytes of a cell. link is borrowed. To be closed whatever it answers. */
int al_answer_open(al_answer *a, al_link *link, size_t columns, size_t max_cell, al_err *err);
void al_answer_close(al_answer *a);
/* Adds the row that stmt is at. */
int al_answer_row(al_answer *a, sqlite3_stmt *stmt, al_err *err);
/* No more rows are to be added: there are AL_ANSWER_MAX_BYTES, or a long list of cut cells. */
bool al_answer_is_full(const al_answer *a);
/* Sends what is not sent yet. */
int al_answer_flush(al_answer *a, al_err *err);
/* Writes [[row,column],…], both counted from 0: the cells that were cut. */
void al_answer_cut(const al_answer *a, al_json_out *o);

#endif
