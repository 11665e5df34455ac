/* Reads the rows of a dataset's table from its leaf pages, without SQLite: whole columns, many
 * times faster than a statement gives them.
 *
 * The file is hostile: every page number, offset and length is checked, and what does not fit is
 * "io_error" (AL_EDATA), never a crash. Rows and columns are counted from 0: row r has the row
 * number r + 1 in SQL. */
#ifndef AL_DATA_SCAN_H
#define AL_DATA_SCAN_H
#include "base/err.h"
#include "data/cell.h"

/* What the dataset says of a column. Only the name is sure; the rest are hints. */
typedef struct al_scan_column {
    char *name;
    char type[8]; /* integer, real, date, boolean, text */
    uint64_t nulls;
    uint64_t distinct;  /* an estimate when it was too many to count */
    uint64_t fallbacks; /* texts in a column of numbers */
} al_scan_column;

typedef struct al_scan al_scan; /* a table: its columns and its leaf pages */

/* table: NULL or "" means the first sheet. fd is borrowed and read by pread only. "not_found" when
 * there is no such sheet. A scan is not changed by reading: any number of threads may. */
int al_scan_open(al_scan **out, int fd, const char *table, al_err *err);
void al_scan_close(al_scan *s);
/* Reads from this descriptor of the same file from now on. */
void al_scan_descriptor(al_scan *s, int fd);

const char *al_scan_table(const al_scan *s);
uint32_t al_scan_rows(const al_scan *s);
size_t al_scan_columns(const al_scan *s);
const al_scan_column *al_scan_column_at(const al_scan *s, size_t i);
/* The column of this name (case counts); SIZE_MAX when there is none. */
size_t al_scan_find(const al_scan *s, const char *name, size_t len);

/* Leaf pages in row order. al_scan_leaf_row(s, i): the first row of leaf i; of one past the last
 * leaf, the number of rows. */
size_t al_scan_leaves(const al_scan *s);
uint32_t al_scan_leaf_row(const al_scan *s, size_t leaf);
unsigned al_scan_page_size(const al_scan *s);

/* Some rows, column by column: cell k of row i is cells[k * stride + i]. */
typedef struct al_scan_batch {
    uint32_t first; /* row */
    uint32_t rows;
    size_t stride;
    const al_cell *cells; /* texts included they live until the next call; 8 bytes behind the
                           * beginning of a text may always be read */
} al_scan_batch;

typedef struct al_cursor al_cursor; /* one thread's way through some leaves */

/* Leaves [from, to) and the n columns of the table that are asked for, in ascending order without
 * repetition. s is borrowed; columns is copied. A NaN is NULL. */
int al_cursor_open(al_cursor **out, const al_scan *s, size_t from, size_t to,
                   const uint32_t *columns, size_t n, al_err *err);
void al_cursor_close(al_cursor *c);
/* The next rows, at most those of a leaf: 1, 0 when the last leaf is done, or AL_E*. */
int al_cursor_next(al_cursor *c, al_scan_batch *batch, al_err *err);

#endif
