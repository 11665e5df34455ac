/* Functions that SQLite does not have, for the guard's statements: median(x), percentile(x, p) with
 * p from 0 to 100, percentile_cont(x, f) and percentile_disc(x, f) with f from 0 to 1, stddev and
 * variance (of a sample, as stddev_samp and var_samp; stddev_pop and var_pop), mode(x), and
 * regexp(pattern, text), which is `text REGEXP pattern`.
 *
 * Aggregates leave out NULL. Those that calculate also leave out blobs and texts that are no whole
 * number ('007' is 7), as the mean of a column does. All can be window functions; all that grows
 * with the rows is SQLite's memory and ends at its limits. */
#ifndef AL_DATA_SQLFUNCTIONS_H
#define AL_DATA_SQLFUNCTIONS_H
#include <sqlite3.h>

/* SQLITE_OK, or SQLite's error. */
int al_sqlfunctions_add(sqlite3 *db);

#endif
