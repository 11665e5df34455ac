/* data/sqlitefile with any rows: SQLite finds the file whole and the rows as they were given. */
#include "data/sqlitefile.h"
#include "data/vfs.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define COLUMNS  3
#define MAX_ROWS 3000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char letters[140000];

static void check(bool holds)
{
    if (!holds)
        abort();
}

struct bytes {
    const uint8_t *p, *end;
};

static uint64_t number(struct bytes *b, int n)
{
    uint64_t v = 0;

    while (n-- > 0)
        v = v << 8 | (b->p < b->end ? *b->p++ : 0);
    return v;
}

static al_cell next_cell(struct bytes *b)
{
    double real;
    uint64_t bits;

    switch (number(b, 1) % 6) {
    case 0: return al_cell_null();
    case 1: return al_cell_integer((int8_t)number(b, 1));
    case 2: return al_cell_integer((int64_t)number(b, 8));
    case 3:
        bits = number(b, 8);
        memcpy(&real, &bits, sizeof real);
        return al_cell_real(real - real == 0 ? real : 0.5);
    case 4: return al_cell_text(letters, number(b, 1) % 64);
    default: return al_cell_text(letters, (number(b, 2) << 1) % sizeof letters);
    }
}

static void same(sqlite3_stmt *stmt, int column, const al_cell *c)
{
    switch (c->kind) {
    case AL_CELL_INTEGER:
        check(sqlite3_column_type(stmt, column) == SQLITE_INTEGER);
        check(sqlite3_column_int64(stmt, column) == c->integer);
        break;
    case AL_CELL_REAL:
        check(sqlite3_column_type(stmt, column) == SQLITE_FLOAT);
        check(sqlite3_column_double(stmt, column) == c->real);
        break;
    case AL_CELL_TEXT:
        check(sqlite3_column_type(stmt, column) == SQLITE_TEXT);
        check(sqlite3_column_bytes(stmt, column) == (int)c->len);
        check(memcmp(sqlite3_column_text(stmt, column), c->text, c->len) == 0);
        break;
    default: check(sqlite3_column_type(stmt, column) == SQLITE_NULL);
    }
}

static void read_back(int fd, const al_cell *cells, size_t rows)
{
    sqlite3_stmt *stmt;
    sqlite3 *db;
    al_vfs vfs;

    check(al_vfs_open(&vfs, fd, -1, NULL) == AL_OK);
    check(sqlite3_open_v2("dataset", &db, SQLITE_OPEN_READONLY, vfs.name) == SQLITE_OK);
    check(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &stmt, NULL) == SQLITE_OK);
    check(sqlite3_step(stmt) == SQLITE_ROW);
    check(strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") == 0);
    sqlite3_finalize(stmt);
    check(sqlite3_prepare_v2(db, "SELECT a, b, c FROM t", -1, &stmt, NULL) == SQLITE_OK);
    for (size_t i = 0; i < rows; i++) {
        check(sqlite3_step(stmt) == SQLITE_ROW);
        for (int k = 0; k < COLUMNS; k++)
            same(stmt, k, &cells[i * COLUMNS + (size_t)k]);
    }
    check(sqlite3_step(stmt) == SQLITE_DONE);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    al_vfs_close(&vfs);
}

static void end_run(al_sqlitefile *f, al_pages *run)
{
    uint32_t first;

    al_pages_end(run);
    check(al_sqlitefile_place(f, run, &first, NULL) == AL_OK);
    check(al_sqlitefile_write(f, run, first, NULL) == AL_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes b = { data, data + size };
    al_cell *cells = malloc(MAX_ROWS * COLUMNS * sizeof *cells);
    al_sqlitefile *f;
    unsigned page_size;
    size_t rows = 0;
    al_pages run;
    int fd = memfd_create("fuzz", MFD_CLOEXEC); /* nothing waits for a disk */

    check(cells && fd >= 0);
    if (!letters[0])
        for (size_t i = 0; i < sizeof letters; i++)
            letters[i] = (char)('a' + i % 26);
    page_size = 4096u << number(&b, 1) % 5;
    check(al_sqlitefile_open(&f, fd, page_size, NULL) == AL_OK);
    check(al_pages_open(&run, page_size) == AL_OK);
    al_pages_begin(&run, 1, 0);
    for (; b.p < b.end && rows < MAX_ROWS; rows++) {
        al_cell *row = cells + rows * COLUMNS;

        for (int k = 0; k < COLUMNS; k++)
            row[k] = next_cell(&b);
        check(al_pages_row(&run, row, COLUMNS, NULL) == AL_OK);
        if (number(&b, 1) == 255) {
            end_run(f, &run);
            al_pages_begin(&run, (int64_t)rows + 2, 0);
        }
    }
    end_run(f, &run);
    al_pages_close(&run);
    check(al_sqlitefile_table(f, "t", "CREATE TABLE t(a,b,c)", NULL) == AL_OK);
    check(al_sqlitefile_finish(f, 1, 1, NULL) == AL_OK);
    al_sqlitefile_close(f);
    read_back(fd, cells, rows);
    close(fd);
    free(cells);
    return 0;
}
