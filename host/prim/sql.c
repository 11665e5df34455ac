/* See sql.h. Who touches what: `handle`, the statements and the list of cursors belong to the job
 * that runs (a pool thread, one at a time); the queue, `owner` and the reference count belong to
 * the loop's thread, which changes `owner` only while no job runs. libuv orders the two. */
#include "prim/sql.h"
#include "base/clock.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PROGRESS_OPS 1000 /* virtual machine steps between two looks at the cancel flag */

struct al_sql {
    uv_loop_t *loop;
    unsigned flags, busy_ms;
    int refs; /* the handle, each queued job, each cursor */
    bool closing, doomed, ending;
    const void *owner; /* of the open transaction */
    void (*gone)(void *data);
    void *gone_data;
    al_sql_job *head, *tail, *active;
    al_sql_job ender, closer; /* for the two ends nobody waits for */
    /* the running job's */
    sqlite3 *handle;
    al_sql_cursor *cursors;
    al_sql_job *running;
    uint64_t busy_since;
    bool lost; /* SQLite itself rolled the transaction back */
    char path[];
};

struct al_sql_cursor {
    al_sql *db;
    al_sql_cursor *next;
    sqlite3_stmt *stmt;
    int columns;
    char *names; /* NUL after each */
    bool fresh;  /* no job was made with it yet, or it ended: nothing to finalise */
    al_sql_job finalizer;
};

static void pump(al_sql *db);

/* --- values --- */

static al_sql_value *add(al_sql_values *list, al_sql_type type)
{
    if (list->n == list->cap) {
        size_t cap = list->cap ? list->cap * 2 : 8;
        al_sql_value *v = realloc(list->v, cap * sizeof *v);
        if (!v)
            return NULL;
        list->v = v;
        list->cap = cap;
    }
    al_sql_value *slot = &list->v[list->n++];
    *slot = (al_sql_value){ .type = type };
    return slot;
}

int al_sql_add_null(al_sql_values *list)
{
    return add(list, AL_SQL_NULL) ? AL_OK : AL_ENOMEM;
}

int al_sql_add_integer(al_sql_values *list, int64_t v)
{
    al_sql_value *slot = add(list, AL_SQL_INTEGER);
    if (!slot)
        return AL_ENOMEM;
    slot->integer = v;
    return AL_OK;
}

int al_sql_add_real(al_sql_values *list, double v)
{
    al_sql_value *slot = add(list, AL_SQL_REAL);
    if (!slot)
        return AL_ENOMEM;
    slot->real = v;
    return AL_OK;
}

int al_sql_add_bytes(al_sql_values *list, al_sql_type type, const char *bytes, size_t len)
{
    size_t at = list->bytes.len;
    if (al_buf_add(&list->bytes, bytes, len) != AL_OK)
        return AL_ENOMEM;
    al_sql_value *slot = add(list, type);
    if (!slot)
        return AL_ENOMEM;
    slot->at = at;
    slot->len = len;
    return AL_OK;
}

static void values_free(al_sql_values *list)
{
    free(list->v);
    al_buf_free(&list->bytes);
    *list = (al_sql_values){ 0 };
}

void al_sql_job_free(al_sql_job *job)
{
    free(job->sql);
    job->sql = NULL;
    values_free(&job->params);
    values_free(&job->cells);
}

/* --- on the pool thread --- */

static int no_memory(al_sql_job *job)
{
    return al_err_set(&job->err, AL_ENOMEM, "internal", job->db->path, "not enough memory");
}

/* What SQLite's last failure on this connection means to a person. */
static int fail(al_sql_job *job, int rc)
{
    al_sql *db = job->db;
    const char *text = db->handle ? sqlite3_errmsg(db->handle) : sqlite3_errstr(rc);
    int sys = db->handle ? sqlite3_system_errno(db->handle) : 0;
    struct stat st;

    switch (rc & 0xff) {
    case SQLITE_INTERRUPT: return al_err_set(&job->err, AL_ECANCELED, "cancelled", db->path, text);
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return al_err_set(&job->err, AL_ELOCKED, "session_locked", db->path, text);
    case SQLITE_NOMEM: return no_memory(job);
    case SQLITE_FULL: return al_err_set(&job->err, AL_EIO, "no_space", db->path, text);
    case SQLITE_IOERR:
        if (sys == ENOSPC || sys == EDQUOT)
            return al_err_set(&job->err, AL_EIO, "no_space", db->path, strerror(sys));
        return al_err_set(&job->err, AL_EIO, "io_error", db->path, sys ? strerror(sys) : text);
    case SQLITE_CANTOPEN:
        if ((db->flags & AL_SQL_READONLY) && stat(db->path, &st) != 0 && errno == ENOENT)
            return al_err_errno(&job->err, ENOENT, db->path);
        if (!(db->flags & AL_SQL_READONLY) && access(db->path, W_OK) != 0 && errno != ENOENT)
            sys = errno; /* SQLite went on to open it for reading, and then missed its log */
        return al_err_set(&job->err, AL_EIO, "io_error", db->path, sys ? strerror(sys) : text);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        al_err_set(&job->err, AL_EIO, "io_error", db->path, text);
        return al_err_reason(&job->err, AL_EIO, "corrupt");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH: return al_err_set(&job->err, AL_EIO, "io_error", db->path, text);
    default: return al_err_set(&job->err, AL_EINVAL, "query_failed", db->path, text);
    }
}

static int query_failed(al_sql_job *job, const char *text)
{
    return al_err_set(&job->err, AL_EINVAL, "query_failed", job->db->path, text);
}

static int on_progress(void *data)
{
    al_sql *db = data;
    return db->running && atomic_load(&db->running->cancelled);
}

/* SQLite asks whether to try again for a lock: for busy_ms, and not once cancelled. */
static int on_busy(void *data, int tries)
{
    al_sql *db = data;
    uint64_t now = al_clock_monotonic();

    if (tries == 0)
        db->busy_since = now;
    if (on_progress(db) || now - db->busy_since > db->busy_ms * 1000000ull)
        return 0;
    struct timespec pause = { .tv_nsec = (tries < 8 ? tries + 1 : 10) * 1000000l };
    nanosleep(&pause, NULL);
    return 1;
}

/* SQLite goes on writing to a file that was removed or replaced; that would be lost. */
static int check_moved(al_sql_job *job)
{
    int moved = 0;
    if (sqlite3_file_control(job->db->handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved) ==
            SQLITE_OK &&
        moved)
        return al_err_set(&job->err, AL_EIO, "io_error", job->db->path,
                          "the file was removed or replaced while it was open");
    return AL_OK;
}

static int plain(al_sql_job *job, const char *sql)
{
    int rc = sqlite3_exec(job->db->handle, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? AL_OK : fail(job, rc);
}

/* Switching to WAL answers busy without asking the busy handler. */
static int enter_wal(al_sql_job *job)
{
    al_sql *db = job->db;
    sqlite3_stmt *stmt = NULL;
    int rc, tries = 0, out = AL_OK;

    do {
        sqlite3_finalize(stmt);
        rc = sqlite3_prepare_v2(db->handle, "PRAGMA journal_mode=WAL", -1, &stmt, NULL);
        if (rc == SQLITE_OK)
            rc = sqlite3_step(stmt);
    } while (rc == SQLITE_BUSY && on_busy(db, tries++));
    if (rc != SQLITE_ROW)
        out = fail(job, rc);
    else if (strcmp((const char *)sqlite3_column_text(stmt, 0), "wal") != 0)
        out = al_err_set(&job->err, AL_EIO, "io_error", db->path,
                         "the file system cannot hold a write-ahead log");
    sqlite3_finalize(stmt);
    return out;
}

static int make_private(al_sql_job *job)
{
    int fd = open(job->db->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EEXIST ? AL_OK : al_err_errno(&job->err, errno, job->db->path);
    int rc = fchmod(fd, 0600) == 0 ? AL_OK : al_err_errno(&job->err, errno, job->db->path);
    close(fd);
    return rc;
}

static int open_file(al_sql_job *job)
{
    al_sql *db = job->db;
    int mode = db->flags & AL_SQL_READONLY ? SQLITE_OPEN_READONLY
                                           : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;

    if ((db->flags & AL_SQL_PRIVATE) && !(db->flags & AL_SQL_READONLY) && make_private(job) < 0)
        return job->err.code;
    int rc = sqlite3_open_v2(db->path, &db->handle, mode | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc != SQLITE_OK)
        return fail(job, rc);
    sqlite3_extended_result_codes(db->handle, 1);
    sqlite3_busy_handler(db->handle, on_busy, db);
    sqlite3_progress_handler(db->handle, PROGRESS_OPS, on_progress, db);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    /* reads the header: a file that is no database is refused here, not at the first query */
    if (plain(job, "PRAGMA schema_version; PRAGMA synchronous=FULL") < 0)
        return job->err.code;
    return db->flags & AL_SQL_WAL && !(db->flags & AL_SQL_READONLY) ? enter_wal(job) : AL_OK;
}

static int bind_params(al_sql_job *job, sqlite3_stmt *stmt)
{
    const al_sql_values *p = &job->params;

    if ((size_t)sqlite3_bind_parameter_count(stmt) != p->n)
        return al_err_setf(&job->err, AL_EINVAL, "query_failed", job->db->path,
                           "the statement has %d parameters and got %zu values",
                           sqlite3_bind_parameter_count(stmt), p->n);
    for (size_t i = 0; i < p->n; i++) {
        const al_sql_value *v = &p->v[i];
        const char *bytes = v->len ? p->bytes.data + v->at : "";
        int rc = SQLITE_OK, at = (int)i + 1;
        switch (v->type) {
        case AL_SQL_NULL: rc = sqlite3_bind_null(stmt, at); break;
        case AL_SQL_INTEGER: rc = sqlite3_bind_int64(stmt, at, v->integer); break;
        case AL_SQL_REAL: rc = sqlite3_bind_double(stmt, at, v->real); break;
        case AL_SQL_TEXT:
            rc = sqlite3_bind_text64(stmt, at, bytes, v->len, SQLITE_TRANSIENT, SQLITE_UTF8);
            break;
        case AL_SQL_BLOB:
            rc = sqlite3_bind_blob64(stmt, at, bytes, v->len, SQLITE_TRANSIENT);
            break;
        }
        if (rc != SQLITE_OK)
            return fail(job, rc);
    }
    return AL_OK;
}

/* Exactly one statement: what stands behind it may only be space and comments. */
static int prepare(al_sql_job *job, sqlite3_stmt **stmt)
{
    sqlite3_stmt *second = NULL;
    const char *tail = NULL;

    *stmt = NULL;
    int rc = sqlite3_prepare_v2(job->db->handle, job->sql, -1, stmt, &tail);
    if (rc != SQLITE_OK)
        return fail(job, rc);
    if (!*stmt)
        return query_failed(job, "there is no statement in it");
    rc = *tail ? sqlite3_prepare_v2(job->db->handle, tail, -1, &second, NULL) : SQLITE_OK;
    sqlite3_finalize(second);
    if (rc != SQLITE_OK || second)
        query_failed(job, "more than one statement");
    else
        bind_params(job, *stmt);
    if (job->err.code) {
        sqlite3_finalize(*stmt);
        *stmt = NULL;
    }
    return job->err.code;
}

static int run_statement(al_sql_job *job)
{
    sqlite3_stmt *stmt;
    int rc;

    if (prepare(job, &stmt) < 0)
        return job->err.code;
    sqlite3_int64 before = sqlite3_total_changes64(job->db->handle);
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
        ;
    if (rc != SQLITE_DONE)
        fail(job, rc);
    else if (sqlite3_total_changes64(job->db->handle) != before)
        job->changes = sqlite3_changes64(job->db->handle);
    job->last_id = sqlite3_last_insert_rowid(job->db->handle);
    sqlite3_finalize(stmt);
    return job->err.code;
}

static int add_cell(al_sql_values *cells, sqlite3_stmt *stmt, int column)
{
    switch (sqlite3_column_type(stmt, column)) {
    case SQLITE_INTEGER: return al_sql_add_integer(cells, sqlite3_column_int64(stmt, column));
    case SQLITE_FLOAT: return al_sql_add_real(cells, sqlite3_column_double(stmt, column));
    case SQLITE_NULL: return al_sql_add_null(cells);
    case SQLITE_TEXT: {
        const char *text = (const char *)sqlite3_column_text(stmt, column);
        if (!text)
            return AL_ENOMEM;
        return al_sql_add_bytes(cells, AL_SQL_TEXT, text,
                                (size_t)sqlite3_column_bytes(stmt, column));
    }
    default: {
        const char *blob = sqlite3_column_blob(stmt, column);
        size_t len = (size_t)sqlite3_column_bytes(stmt, column);
        if (len && !blob)
            return AL_ENOMEM;
        return al_sql_add_bytes(cells, AL_SQL_BLOB, blob ? blob : "", len);
    }
    }
}

static void cursor_end(al_sql_cursor *cursor)
{
    al_sql_cursor **p = &cursor->db->cursors;

    sqlite3_finalize(cursor->stmt);
    cursor->stmt = NULL;
    while (*p && *p != cursor)
        p = &(*p)->next;
    if (*p)
        *p = cursor->next;
}

static int fetch(al_sql_job *job)
{
    al_sql_cursor *cursor = job->cursor;
    int rc = SQLITE_DONE;

    for (int rows = 0; cursor->stmt && rows < AL_SQL_BATCH_ROWS; rows++) {
        rc = sqlite3_step(cursor->stmt);
        if (rc != SQLITE_ROW)
            break;
        for (int i = 0; i < cursor->columns; i++)
            if (add_cell(&job->cells, cursor->stmt, i) < 0) {
                cursor_end(cursor);
                return no_memory(job);
            }
        if (job->cells.bytes.len > AL_SQL_BATCH_MAX)
            break;
    }
    if (rc == SQLITE_ROW)
        return AL_OK;
    if (rc != SQLITE_DONE)
        fail(job, rc);
    cursor_end(cursor);
    job->end = true;
    return job->err.code;
}

static int start_query(al_sql_job *job)
{
    al_sql_cursor *cursor = job->cursor;
    al_buf names = { 0 };

    assert(!cursor->stmt && !cursor->names);
    if (prepare(job, &cursor->stmt) < 0)
        return job->err.code;
    cursor->next = job->db->cursors;
    job->db->cursors = cursor;
    cursor->columns = sqlite3_column_count(cursor->stmt);
    for (int i = 0; i < cursor->columns; i++) {
        const char *name = sqlite3_column_name(cursor->stmt, i);
        al_buf_add(&names, name ? name : "", (name ? strlen(name) : 0) + 1);
    }
    if (names.failed) {
        al_buf_free(&names);
        cursor_end(cursor);
        return no_memory(job);
    }
    cursor->names = al_buf_steal(&names);
    return fetch(job);
}

static void close_file(al_sql *db)
{
    while (db->cursors)
        cursor_end(db->cursors);
    sqlite3_close(db->handle);
    db->handle = NULL;
}

static int perform(al_sql_job *job)
{
    al_sql *db = job->db;

    switch (job->kind) {
    case AL_SQL_OPEN:
        if (open_file(job) < 0)
            close_file(db);
        return job->err.code;
    case AL_SQL_EXEC: return plain(job, job->sql);
    case AL_SQL_RUN: return run_statement(job);
    case AL_SQL_QUERY: return start_query(job);
    case AL_SQL_NEXT: return fetch(job);
    case AL_SQL_BEGIN: db->lost = false; return plain(job, "BEGIN IMMEDIATE");
    case AL_SQL_COMMIT:
        if (plain(job, "COMMIT") < 0 && !sqlite3_get_autocommit(db->handle))
            sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
        return job->err.code;
    case AL_SQL_ROLLBACK:
        if (db->handle && !sqlite3_get_autocommit(db->handle))
            sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
        return AL_OK;
    case AL_SQL_CLOSE: close_file(db); return AL_OK;
    case AL_SQL_FINALIZE: cursor_end(job->cursor); return AL_OK;
    }
    return AL_OK;
}

/* A failure may have ended the transaction inside SQLite; nothing of its owner may then be stored
 * on its own. And what was stored into a file that is gone was not stored. */
static void check_after(al_sql_job *job, bool transaction)
{
    al_sql *db = job->db;

    if (transaction && job->kind != AL_SQL_COMMIT && sqlite3_get_autocommit(db->handle))
        db->lost = true;
    bool stores = job->kind == AL_SQL_COMMIT || job->kind == AL_SQL_EXEC || job->kind == AL_SQL_RUN;
    if (stores && job->err.code == AL_OK && sqlite3_get_autocommit(db->handle))
        check_moved(job);
}

static void work(uv_work_t *req)
{
    al_sql_job *job = req->data;
    al_sql *db = job->db;
    bool transaction = db->owner != NULL;

    if (job->kind >= AL_SQL_CLOSE || job->kind == AL_SQL_OPEN) {
        db->running = job->kind == AL_SQL_OPEN ? job : NULL;
        perform(job);
        db->running = NULL;
        return;
    }
    if (atomic_load(&job->cancelled))
        al_err_set(&job->err, AL_ECANCELED, "cancelled", db->path, "before it began");
    else if (!db->handle)
        al_err_set(&job->err, AL_EIO, "io_error", db->path, "the database is closed");
    else if (transaction && db->lost)
        query_failed(job, "the transaction was rolled back by an earlier failure");
    else if (check_moved(job) == AL_OK) {
        db->running = job;
        perform(job);
        db->running = NULL;
        check_after(job, transaction);
    }
}

/* --- on the loop's thread --- */

static void unref(al_sql *db)
{
    if (--db->refs > 0)
        return;
    assert(!db->handle && !db->head && !db->active);
    if (db->gone)
        db->gone(db->gone_data);
    free(db);
}

static void after_begin_or_end(al_sql *db, const al_sql_job *job)
{
    switch (job->kind) {
    case AL_SQL_OPEN:
        if (job->err.code)
            db->closing = true;
        break;
    case AL_SQL_BEGIN:
        if (job->err.code == AL_OK)
            db->owner = job->owner;
        else if (!db->owner)
            db->doomed = false;
        break;
    case AL_SQL_COMMIT:
    case AL_SQL_ROLLBACK:
    case AL_SQL_CLOSE:
        db->owner = NULL;
        db->doomed = db->ending = false;
        break;
    case AL_SQL_QUERY:
    case AL_SQL_NEXT: job->cursor->fresh = job->end || job->err.code; break;
    default: break;
    }
}

static void after_work(uv_work_t *req, int status)
{
    al_sql_job *job = req->data;
    al_sql *db = job->db;

    (void)status; /* nobody calls uv_cancel on it */
    db->active = NULL;
    after_begin_or_end(db, job);
    void (*done)(al_sql_job *) = job->done;
    if (done)
        done(job); /* may free the job, submit others, release db */
    pump(db);
    unref(db);
}

static void start(al_sql *db, al_sql_job *job)
{
    db->active = job;
    job->req.data = job;
    int rc = uv_queue_work(db->loop, &job->req, work, after_work);
    assert(rc == 0);
    (void)rc;
}

static bool may_run(const al_sql *db, const al_sql_job *job)
{
    return !db->owner || job->owner == db->owner || job->kind == AL_SQL_FINALIZE;
}

static void pump(al_sql *db)
{
    al_sql_job *before = NULL, *job = db->head;

    if (db->active)
        return;
    if (db->doomed && db->owner) {
        if (!db->ending) {
            db->ending = true;
            db->refs++;
            start(db, &db->ender);
        }
        return;
    }
    while (job && !may_run(db, job)) {
        before = job;
        job = job->next;
    }
    if (!job)
        return;
    *(before ? &before->next : &db->head) = job->next;
    if (db->tail == job)
        db->tail = before;
    job->next = NULL;
    start(db, job);
}

static void enqueue(al_sql *db, al_sql_job *job)
{
    job->db = db;
    job->next = NULL;
    atomic_store(&job->cancelled, false);
    *(db->tail ? &db->tail->next : &db->head) = job;
    db->tail = job;
    db->refs++;
    pump(db);
}

int al_sql_new(al_sql **out, uv_loop_t *loop, const char *path, unsigned flags, unsigned busy_ms)
{
    size_t len = strlen(path);
    al_sql *db = calloc(1, sizeof *db + len + 1);

    *out = db;
    if (!db)
        return AL_ENOMEM;
    memcpy(db->path, path, len + 1);
    db->loop = loop;
    db->flags = flags;
    db->busy_ms = busy_ms;
    db->refs = 1;
    db->ender.kind = AL_SQL_ROLLBACK;
    db->closer.kind = AL_SQL_CLOSE;
    db->ender.db = db->closer.db = db;
    return AL_OK;
}

void al_sql_on_gone(al_sql *db, void (*gone)(void *data), void *data)
{
    db->gone = gone;
    db->gone_data = data;
}

int al_sql_submit(al_sql *db, al_sql_job *job, al_err *err)
{
    if (db->closing && !(db->owner && job->owner == db->owner && job->kind != AL_SQL_CLOSE))
        return al_err_set(err, AL_EINVAL, "io_error", db->path, "the database is closed");
    if (job->kind == AL_SQL_CLOSE)
        db->closing = true;
    if (job->cursor)
        job->cursor->fresh = false;
    enqueue(db, job);
    return AL_OK;
}

void al_sql_cancel(al_sql_job *job)
{
    atomic_store(&job->cancelled, true);
}

void al_sql_rollback(al_sql *db, const void *owner)
{
    for (al_sql_job *job = db->head; job; job = job->next)
        if (job->owner == owner)
            atomic_store(&job->cancelled, true);
    if ((db->owner && db->owner == owner) ||
        (db->active && db->active->kind == AL_SQL_BEGIN && db->active->owner == owner))
        db->doomed = true;
    pump(db);
}

void al_sql_release(al_sql *db)
{
    if (!db)
        return;
    if (db->owner)
        al_sql_rollback(db, db->owner);
    if (!db->closing) {
        db->closing = true;
        enqueue(db, &db->closer);
    }
    unref(db);
}

int al_sql_cursor_new(al_sql_cursor **out, al_sql *db)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return AL_ENOMEM;
    (*out)->db = db;
    (*out)->fresh = true;
    db->refs++;
    return AL_OK;
}

static void cursor_free(al_sql_cursor *cursor)
{
    al_sql *db = cursor->db;
    free(cursor->names);
    free(cursor);
    unref(db);
}

static void finalized(al_sql_job *job)
{
    cursor_free(job->cursor);
}

void al_sql_cursor_release(al_sql_cursor *cursor)
{
    if (!cursor)
        return;
    if (cursor->fresh) {
        cursor_free(cursor);
        return;
    }
    cursor->finalizer =
        (al_sql_job){ .kind = AL_SQL_FINALIZE, .cursor = cursor, .done = finalized };
    enqueue(cursor->db, &cursor->finalizer);
}

int al_sql_cursor_columns(const al_sql_cursor *cursor)
{
    return cursor->columns;
}

const char *al_sql_cursor_name(const al_sql_cursor *cursor, int column)
{
    const char *name = cursor->names;
    while (column-- > 0)
        name += strlen(name) + 1;
    return name;
}

al_sql *al_sql_cursor_db(al_sql_cursor *cursor)
{
    return cursor->db;
}
