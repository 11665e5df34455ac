#include "data/dataset.h"
#include "data/scan.h"
#include "table.h"

static const int styles[] = { FEW_TEXTS,     MANY_TEXTS, ROW_NUMBERS, FEW_INTEGERS,
                              MANY_INTEGERS, CENTS,      REALS,       MIXED,
                              DATES,         NULLS,      LONG_TEXTS };

/* Every cell that is asked for, in every leaf, is the one that was written. */
static void check(const table *t, const al_scan *s, size_t from, size_t to, const uint32_t *columns,
                  size_t n)
{
    uint32_t row = al_scan_leaf_row(s, from);
    al_scan_batch b;
    al_cursor *c;
    al_err err;
    int rc;

    assert_int_equal(al_cursor_open(&c, s, from, to, columns, n, NULL), AL_OK);
    while ((rc = al_cursor_next(c, &b, &err)) == 1) {
        assert_int_equal(b.first, row);
        for (uint32_t i = 0; i < b.rows; i++, row++)
            for (size_t k = 0; k < n; k++)
                assert_true(same_cell(&b.cells[k * b.stride + i],
                                      &t->cells[(size_t)row * t->columns + columns[k]]));
    }
    if (rc < 0)
        fail_msg("row %u: %s", row, err.detail);
    assert_int_equal(row, al_scan_leaf_row(s, to));
    al_cursor_close(c);
}

static void cells_of(uint32_t rows, unsigned page_size, bool ragged)
{
    const uint32_t all[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, some[] = { 2, 5, 7 },
                   last[] = { 10 };
    al_scan *s;
    table t;

    make_table(&t, rows, 11, styles, page_size, ragged, rows + page_size);
    assert_int_equal(al_scan_open(&s, t.fd, NULL, NULL), AL_OK);
    assert_int_equal(al_scan_rows(s), rows);
    assert_int_equal(al_scan_columns(s), 11);
    assert_int_equal(al_scan_page_size(s), page_size);
    check(&t, s, 0, al_scan_leaves(s), all, 11);
    check(&t, s, 0, al_scan_leaves(s), some, 3);
    check(&t, s, 0, al_scan_leaves(s), last, 1);
    check(&t, s, 0, al_scan_leaves(s), NULL, 0);
    check(&t, s, al_scan_leaves(s) / 3, al_scan_leaves(s) / 2, all, 11);
    al_scan_close(s);
    drop_table(&t);
}

static void pages_of_every_size(void **state)
{
    (void)state;
    for (unsigned size = 4096; size <= 65536; size *= 2)
        cells_of(700, size, size % 3 == 0);
    cells_of(0, 4096, false);
    cells_of(1, 16384, false);
    cells_of(5000, 4096, true);
}

static void a_thousand_columns(void **state)
{
    int many[1000];
    uint32_t some[] = { 0, 1, 500, 998, 999 };
    al_scan *s;
    table t;

    (void)state;
    for (int i = 0; i < 1000; i++)
        many[i] = styles[i % 10];
    make_table(&t, 60, 1000, many, 16384, true, 5);
    assert_int_equal(al_scan_open(&s, t.fd, "data", NULL), AL_OK);
    check(&t, s, 0, al_scan_leaves(s), some, 5);
    assert_int_equal(al_scan_find(s, "c998", 4), 998);
    assert_int_equal(al_scan_find(s, "C998", 4), SIZE_MAX);
    al_scan_close(s);
    drop_table(&t);
}

static void what_is_no_dataset(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
    } files[] = { { "", 0 }, { "SQLite format 3", 16 }, { "x", 1 } };
    unsigned char page[4096] = "SQLite format 3";
    al_scan *s;
    al_err err;
    int fd;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        fd = file_with(files[i].bytes, files[i].len, NULL);
        assert_int_equal(al_scan_open(&s, fd, NULL, &err), AL_EDATA);
        assert_string_equal(err.id, "io_error");
        assert_null(s);
        close(fd);
    }
    page[16] = 0x10;
    page[59] = 1;
    fd = file_with(page, sizeof page, NULL);
    assert_int_equal(al_scan_open(&s, fd, NULL, &err), AL_EDATA);
    close(fd);
}

static void a_sheet_that_is_not_there(void **state)
{
    al_scan *s;
    al_err err;
    table t;

    (void)state;
    make_table(&t, 3, 11, styles, 4096, false, 3);
    assert_int_equal(al_scan_open(&s, t.fd, "date", &err), AL_ENOTFOUND);
    assert_string_equal(err.id, "not_found");
    drop_table(&t);
}

static void read_all(int fd)
{
    const uint32_t all[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
    al_scan_batch b;
    al_cursor *c;
    al_scan *s;
    al_err err;
    int rc = al_scan_open(&s, fd, NULL, &err);

    if (rc == AL_OK) {
        size_t n = al_scan_columns(s) < 11 ? al_scan_columns(s) : 11;

        assert_int_equal(al_cursor_open(&c, s, 0, al_scan_leaves(s), all, n, NULL), AL_OK);
        while ((rc = al_cursor_next(c, &b, &err)) == 1)
            for (size_t k = 0; k < n; k++)
                for (uint32_t i = 0; i < b.rows; i++) {
                    const al_cell *cell = &b.cells[k * b.stride + i];
                    volatile char last = 0;

                    if (cell->kind == AL_CELL_TEXT && cell->len)
                        last = (char)(cell->text[0] + cell->text[cell->len - 1]);
                    (void)last;
                }
        al_cursor_close(c);
        al_scan_close(s);
    }
    if (rc < 0)
        assert_true(strcmp(err.id, "io_error") == 0 || strcmp(err.id, "not_found") == 0);
}

/* Any byte may be any other, anywhere: what comes is rows or an error. */
static void damaged_files(void **state)
{
    uint64_t x = 7;
    table t;

    (void)state;
    make_table(&t, 300, 11, styles, 4096, true, 11);
    for (int i = 0; i < 1500; i++) {
        off_t size = lseek(t.fd, 0, SEEK_END), at[4];
        unsigned char old[4], new[4];
        int n = 1 + (int)(next_random(&x) % 4);

        for (int k = 0; k < n; k++) {
            at[k] = (off_t)(next_random(&x) % (uint64_t)size);
            if (next_random(&x) % 2) /* heads of pages decide most */
                at[k] -= at[k] % 4096 - (off_t)(next_random(&x) % 64);
            new[k] = next_random(&x) % 4 ? (unsigned char)next_random(&x) : 0xFF;
            assert_int_equal(pread(t.fd, &old[k], 1, at[k]), 1);
            assert_int_equal(pwrite(t.fd, &new[k], 1, at[k]), 1);
        }
        read_all(t.fd);
        for (int k = n; k-- > 0;)
            assert_int_equal(pwrite(t.fd, &old[k], 1, at[k]), 1);
    }
    for (off_t size = lseek(t.fd, 0, SEEK_END); size > 0; size -= size / 10 + 1) {
        assert_int_equal(ftruncate(t.fd, size), 0);
        read_all(t.fd);
    }
    drop_table(&t);
}

/* What SQLite itself wrote, in its own order of pages. */
static void a_file_of_sqlite(void **state)
{
    const uint32_t column = 1;
    char path[256], sql[512];
    al_scan_batch b;
    al_cursor *c;
    al_scan *s;
    sqlite3 *db;
    int fd = file_with("", 0, path);
    int64_t sum = 0;

    (void)state;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    snprintf(sql, sizeof sql, "%s",
             "PRAGMA page_size=1024;"
             "CREATE TABLE _alisio_sheets(ordinal,name,table_name,rows,columns);"
             "CREATE TABLE _alisio_columns(table_name,ordinal,name,label,inferred_type,nulls,"
             "distinct_count,distinct_exact,min,max,mean,text_fallbacks,top_values);"
             "CREATE TABLE t(a,b);"
             "INSERT INTO _alisio_sheets VALUES(1,'t','t',9,2);");
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    snprintf(sql, sizeof sql, "%s",
             "INSERT INTO _alisio_columns(table_name,ordinal,name) VALUES('t',1,'a'),('t',2,'b');"
             "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i<5000)"
             "INSERT INTO t SELECT printf('%.*c', i%3000, 'x'), i*i FROM n;");
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(al_scan_open(&s, fd, "t", NULL), AL_OK);
    assert_int_equal(al_scan_rows(s), 5000);
    assert_int_equal(al_cursor_open(&c, s, 0, al_scan_leaves(s), &column, 1, NULL), AL_OK);
    while (al_cursor_next(c, &b, NULL) == 1)
        for (uint32_t i = 0; i < b.rows; i++)
            sum += b.cells[i].integer;
    assert_int_equal(sum, INT64_C(5000) * 5001 * 10001 / 6);
    al_cursor_close(c);
    al_scan_close(s);
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_of_every_size), cmocka_unit_test(a_thousand_columns),
        cmocka_unit_test(what_is_no_dataset),  cmocka_unit_test(a_sheet_that_is_not_there),
        cmocka_unit_test(damaged_files),       cmocka_unit_test(a_file_of_sqlite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
