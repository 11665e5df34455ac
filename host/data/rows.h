/* Pages of a sheet by row number, or of an order of its rows: a few look-ups each, wherever the
 * page is. */
#ifndef AL_DATA_ROWS_H
#define AL_DATA_ROWS_H
#include "base/buf.h"
#include "base/err.h"
#include "data/link.h"
#include "data/sqlguard.h"
#include <stddef.h>
#include <stdint.h>

typedef struct al_rows_options {
    const char *table;   /* NULL or "": the first sheet */
    const char *columns; /* a JSON list of names; NULL: all, in their order */
    size_t columns_len;
    uint64_t first, count; /* from the first-th row on, from 1, so many at most */
    uint64_t cell_bytes;
    const uint32_t
        *order; /* row numbers, counted from 0, that are paged instead; NULL: the sheet's */
    uint64_t order_rows;
} al_rows_options;

/* Sends rows of the dataset behind g as frames, see al_answer, and appends to
 * result {"columns":[…],"first":…,"total":…,"numbers":[…],"truncated":…,"cut":[…]}. total: rows of
 * the sheet or the order; numbers: the row number of each row, from 1; truncated: fewer rows than
 * were asked for and are there. "not_found" (reason "sheet") when there is no such sheet,
 * "query_failed" when there is no such column. */
int al_rows_run(al_guard *g, const al_rows_options *o, al_link *link, al_buf *result, al_err *err);

#endif
