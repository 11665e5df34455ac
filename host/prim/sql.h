/* SQLite on libuv: every statement runs on a pool thread, one after another per connection.
 *
 * A caller fills an al_sql_job (usually as part of an operation of its own), submits it, and hears
 * of it once in `done`, on the loop's thread. Jobs of one connection run first in, first out; while
 * an owner holds a transaction only the jobs of that owner run and the others wait. No call here
 * blocks; all but the job's execution is for the loop's thread.
 *
 * Errors: `no_space`, `session_locked` (held by another connection for too long), `not_found` (no
 * such file to read), `cancelled`, `io_error` (file trouble; reason `corrupt` for a damaged file),
 * `internal` (memory), else `query_failed`. The object is the file, the detail SQLite's words. */
#ifndef AL_PRIM_SQL_H
#define AL_PRIM_SQL_H
#include "base/buf.h"
#include "base/err.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#define AL_SQL_BUSY_MS    5000 /* the usual patience with a lock of another connection */
#define AL_SQL_BATCH_ROWS 256
#define AL_SQL_BATCH_MAX  (256 * 1024) /* bytes of text after which a batch ends */

typedef struct al_sql al_sql;
typedef struct al_sql_cursor al_sql_cursor;
typedef struct al_sql_job al_sql_job;

enum {
    AL_SQL_READONLY = 1, /* the file must exist and is not changed */
    AL_SQL_WAL = 2,      /* write-ahead log; fails where the file system cannot do it */
    AL_SQL_PRIVATE = 4   /* a new file gets mode 0600 whatever the umask */
};

typedef enum al_sql_type {
    AL_SQL_NULL,
    AL_SQL_INTEGER,
    AL_SQL_REAL,
    AL_SQL_TEXT,
    AL_SQL_BLOB
} al_sql_type;

typedef struct al_sql_value {
    al_sql_type type;
    int64_t integer;
    double real;
    size_t at, len; /* text and blob: where in `bytes` of the list */
} al_sql_value;

/* Parameters of a statement, or the cells of a batch row by row. Zeroed memory is an empty list. */
typedef struct al_sql_values {
    al_sql_value *v;
    size_t n, cap;
    al_buf bytes;
} al_sql_values;

/* Append one value; AL_OK or AL_ENOMEM. */
int al_sql_add_null(al_sql_values *list);
int al_sql_add_integer(al_sql_values *list, int64_t v);
int al_sql_add_real(al_sql_values *list, double v);
int al_sql_add_bytes(al_sql_values *list, al_sql_type type, const char *bytes, size_t len);

typedef enum al_sql_kind {
    AL_SQL_OPEN,     /* must be the first job of a connection */
    AL_SQL_EXEC,     /* all statements of `sql`, no parameters, rows dropped */
    AL_SQL_RUN,      /* one statement to its end, rows dropped: changes, last_id */
    AL_SQL_QUERY,    /* one statement, the first batch of its rows: cells, columns, end */
    AL_SQL_NEXT,     /* the next batch of `cursor` */
    AL_SQL_BEGIN,    /* BEGIN IMMEDIATE; `owner` then has the connection to itself */
    AL_SQL_COMMIT,   /* ends the transaction of `owner`, rolled back when it fails */
    AL_SQL_CLOSE,    /* finalises what is open; later jobs are refused */
    AL_SQL_ROLLBACK, /* private: see al_sql_rollback */
    AL_SQL_FINALIZE  /* private: see al_sql_cursor_release */
} al_sql_kind;

struct al_sql_job {
    /* the caller's part */
    al_sql_kind kind;
    const void *owner; /* who asks; compared, never followed */
    char *sql;         /* malloc'd, the job's from then on; NUL-terminated */
    al_sql_values params;
    al_sql_cursor *cursor; /* AL_SQL_QUERY and AL_SQL_NEXT; the caller's */
    void (*done)(al_sql_job *job);
    /* the answer, complete when done is called */
    al_err err;
    int64_t changes, last_id;
    al_sql_values cells; /* rows × al_sql_cursor_columns() values */
    bool end;            /* no rows follow these */
    /* private */
    uv_work_t req;
    al_sql *db;
    al_sql_job *next;
    atomic_bool cancelled;
};

/* A connection for path (":memory:" is one) with nothing done yet: submit AL_SQL_OPEN first.
 * busy_ms is how long to wait for a lock of another connection. AL_OK or AL_ENOMEM. */
int al_sql_new(al_sql **out, uv_loop_t *loop, const char *path, unsigned flags, unsigned busy_ms);
/* Gives the handle up: closes in its turn without anybody waiting. Accepts NULL; never fails and
 * allocates nothing, so a finaliser may call it. */
void al_sql_release(al_sql *db);
/* gone(data) is called once nothing of the connection is left, not even on the loop. */
void al_sql_on_gone(al_sql *db, void (*gone)(void *data), void *data);

/* Queues the job; done is called later, never from inside. The job's memory is the caller's and
 * stays until done. AL_EINVAL with err `io_error` when the connection is closed: then done is not
 * called. */
int al_sql_submit(al_sql *db, al_sql_job *job, al_err *err);
/* Asks a submitted job to stop: a waiting one will not run, a running one is interrupted. */
void al_sql_cancel(al_sql_job *job);
/* Ends the owner's transaction, or the one it is waiting for, without anybody waiting: it is rolled
 * back before any job that is not running yet. Allocates nothing; no-op without a transaction. */
void al_sql_rollback(al_sql *db, const void *owner);
/* Frees what the job owns (sql, params, cells), not the job. */
void al_sql_job_free(al_sql_job *job);

/* A cursor is made before its AL_SQL_QUERY and may be released at any time. */
int al_sql_cursor_new(al_sql_cursor **out, al_sql *db);
void al_sql_cursor_release(al_sql_cursor *cursor); /* as al_sql_release */
int al_sql_cursor_columns(const al_sql_cursor *cursor);
const char *al_sql_cursor_name(const al_sql_cursor *cursor, int column);
al_sql *al_sql_cursor_db(al_sql_cursor *cursor);

#endif
