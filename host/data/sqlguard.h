/* The guard between a statement that nobody vouches for and a dataset: one SELECT or WITH, that
 * reads tables of the dataset and calls functions of a list, within bounds of time and memory.
 *
 * Two statements are refused by their text, before SQLite sees them. What a statement may touch is
 * decided by SQLite's authorizer while it compiles. The file is read-only, immutable and not
 * trusted. Time is watched by the progress handler; what that cannot stop is al_link_deadline's. */
#ifndef AL_DATA_SQLGUARD_H
#define AL_DATA_SQLGUARD_H
#include "base/err.h"
#include "data/link.h"
#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#define AL_GUARD_MAX_SQL (1000 * 1000) /* bytes of a statement */

typedef struct al_guard al_guard;

/* fd: the dataset; tmp: a folder (O_PATH will do) for nameless files, or -1: both borrowed until
 * close. "io_error" when the file is damaged or no dataset. One guard at a time and process: memory
 * limits of SQLite are the process's. */
int al_guard_open(al_guard **out, int fd, int tmp, al_err *err);
void al_guard_close(al_guard *g); /* statements must be finalized */

/* From now on statements stop ms milliseconds later, or when the link is cancelled. */
void al_guard_limit(al_guard *g, al_link *link, uint64_t ms);
/* *out: ready to be stepped. "query_rejected" with what was refused in the detail, "query_failed"
 * with SQLite's words and the place in the statement. */
int al_guard_prepare(al_guard *g, const char *sql, size_t len, sqlite3_stmt **out, al_err *err);
/* SQLITE_ROW, SQLITE_DONE or AL_E* with err set. */
int al_guard_step(al_guard *g, sqlite3_stmt *stmt, al_err *err);

/* The check by text alone: exactly one statement, that begins with SELECT or WITH. */
int al_guard_check(const char *sql, size_t len, al_err *err);

#endif
