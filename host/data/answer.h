/* Cells of a statement as JSON. */
#ifndef AL_DATA_ANSWER_H
#define AL_DATA_ANSWER_H
#include "base/json.h"
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

/* Adds the cell: null, number or string. A number that a double cannot hold and infinities are
 * strings, a blob is x'…' in hexadecimal; what is longer than max bytes is cut and ends in …, and
 * the answer is true. *kind: i, r, t, b or n. */
bool al_answer_cell(al_json_out *o, sqlite3_stmt *stmt, int column, size_t max, char *kind);

#endif
