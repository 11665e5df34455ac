/* For the tests of host/data: nameless files, cells, and a look into what was written with SQLite's
 * own library. */
#ifndef TESTS_DATA_H
#define TESTS_DATA_H
#include "data/cell.h"
#include "unit.h"
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

/* An open file of its own, with the bytes in it; path (if given, 256 bytes) stays and is the
 * caller's to unlink. */
static inline int file_with(const void *bytes, size_t len, char *path)
{
    const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    char name[256];
    int fd;

    snprintf(name, sizeof name, "%.200s/data-XXXXXX", folder);
    fd = mkstemp(name);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), len);
    if (path)
        snprintf(path, 256, "%s", name);
    else
        unlink(name);
    return fd;
}

static inline al_cell text(const char *s)
{
    return s ? al_cell_text(s, strlen(s)) : al_cell_null();
}

static inline sqlite3 *open_file(const char *path)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    return db;
}

/* The first cell of the first row as text, in a buffer of its own; "(null)" for NULL. */
static inline const char *ask(sqlite3 *db, const char *sql)
{
    static char answer[4096];
    sqlite3_stmt *stmt = NULL;
    const char *got;

    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    snprintf(answer, sizeof answer, "(no row)");
    if (sqlite3_step(stmt) == SQLITE_ROW) {
        got = (const char *)sqlite3_column_text(stmt, 0);
        snprintf(answer, sizeof answer, "%s", got ? got : "(null)");
    }
    sqlite3_finalize(stmt);
    return answer;
}

static inline uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    return *x ^= *x << 17;
}

#endif
