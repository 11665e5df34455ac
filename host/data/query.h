/* One question to a dataset. */
#ifndef AL_DATA_QUERY_H
#define AL_DATA_QUERY_H
#include "base/buf.h"
#include "base/err.h"
#include "data/link.h"
#include <stddef.h>
#include <stdint.h>

typedef struct al_query_options {
    const char *sql;
    size_t len;
    uint64_t max_rows, timeout_ms, cell_bytes;
} al_query_options;

/* Runs the statement on the dataset (fd, tmp: see al_guard_open), sends {"rows":[…],"kinds":[…]}
 * frames over the link (a letter a cell: i, r, t, b, n), and appends to result {"columns":[…],
 * "truncated":…,"elapsedMs":…,"cut":[[row,column],…]}, both counted from 0: the cells that were
 * cut. truncated: there are more rows than max_rows or AL_ANSWER_MAX_BYTES allow. */
int al_query_run(int fd, int tmp, const al_query_options *o, al_link *link, al_buf *result,
                 al_err *err);

#endif
