/* Writes the SQLite file format itself, in one pass and in order: no SQL, no journal, no indexes.
 *
 * A file is tables one after another. Rows get the row numbers 1, 2, 3 … and go to leaf pages as
 * they come; what does not fit a page goes to overflow pages that follow; the interior pages stand
 * behind the leaves of their table; page 1, which makes it a database, is written last. So a file
 * that was not finished is no database. Where a segment ends the next row begins a new page: the
 * pages of a segment depend on its rows and the first page number only.
 *
 * Any SQLite from 3.8 on reads the result. Not thread-safe. */
#ifndef AL_DATA_SQLITEFILE_H
#define AL_DATA_SQLITEFILE_H
#include "base/err.h"
#include "data/cell.h"

#define AL_SQLITEFILE_MAX_ROW (64u * 1024 * 1024) /* bytes of one row's values */

typedef struct al_sqlitefile al_sqlitefile;

/* fd: an empty regular file open for writing, borrowed until close. page_size: a power of two from
 * 4096 to 65536. */
int al_sqlitefile_open(al_sqlitefile **out, int fd, unsigned page_size, al_err *err);
void al_sqlitefile_close(al_sqlitefile *f);

/* Begins a table and ends the one before. sql is its CREATE TABLE statement; both are copied. */
int al_sqlitefile_table(al_sqlitefile *f, const char *name, const char *sql, al_err *err);
/* Appends a row to the table begun last. "no_space" when the disk is full, "ingest_limit" when the
 * row is larger than AL_SQLITEFILE_MAX_ROW. */
int al_sqlitefile_row(al_sqlitefile *f, const al_cell *cells, size_t n, al_err *err);
int al_sqlitefile_segment(al_sqlitefile *f, al_err *err);
/* Ends the last table, writes schema and header, and syncs. application_id and user_version go to
 * the header as they are. Only close may follow. */
int al_sqlitefile_finish(al_sqlitefile *f, uint32_t application_id, uint32_t user_version,
                         al_err *err);

#endif
