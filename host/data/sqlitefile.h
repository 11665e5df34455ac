/* Writes the SQLite file format itself: no SQL, no journal, no indexes.
 *
 * A file is tables one after another. A table is runs of rows (see pages.h), placed in the order of
 * their row numbers; behind them come its interior pages; page 1, which makes it a database, is
 * written last. So a file that was not finished is no database.
 *
 * Any SQLite from 3.8 on reads the result. Runs that were placed may be written on several threads
 * at once; all else is for one thread at a time. */
#ifndef AL_DATA_SQLITEFILE_H
#define AL_DATA_SQLITEFILE_H
#include "base/err.h"
#include "data/pages.h"

typedef struct al_sqlitefile al_sqlitefile;

/* fd: an empty regular file open for writing, borrowed until close. page_size: a power of two from
 * 4096 to 65536. */
int al_sqlitefile_open(al_sqlitefile **out, int fd, unsigned page_size, al_err *err);
void al_sqlitefile_close(al_sqlitefile *f);

/* The next run of the table in work gets its place; *first is its first page. */
int al_sqlitefile_place(al_sqlitefile *f, al_pages *run, uint32_t *first, al_err *err);
/* Writes a run that was placed. "no_space" when the disk is full. */
int al_sqlitefile_write(const al_sqlitefile *f, const al_pages *run, uint32_t first, al_err *err);

/* Appends a row to the table in work, for tables that are small: their rows are one run. */
int al_sqlitefile_row(al_sqlitefile *f, const al_cell *cells, size_t n, al_err *err);
/* Ends the table in work. sql is its CREATE TABLE statement; both are copied. */
int al_sqlitefile_table(al_sqlitefile *f, const char *name, const char *sql, al_err *err);
/* Writes schema and header, and syncs. application_id and user_version go to the header as they
 * are. Only close may follow. */
int al_sqlitefile_finish(al_sqlitefile *f, uint32_t application_id, uint32_t user_version,
                         al_err *err);

#endif
