#include "data.h"
#include "data/sqlitefile.h"

static char path[256];
static int fd;
static al_pages run;
static char *table_name, *table_sql; /* of the table in work */
static int64_t next_row;

static al_sqlitefile *begin_file(int file, unsigned page_size)
{
    al_sqlitefile *f;

    fd = file;
    assert_int_equal(al_sqlitefile_open(&f, fd, page_size, NULL), AL_OK);
    assert_int_equal(al_pages_open(&run, page_size), AL_OK);
    return f;
}

static al_sqlitefile *begin(unsigned page_size)
{
    return begin_file(file_with("", 0, path), page_size);
}

/* What was appended becomes a run of the table. */
static int segment(al_sqlitefile *f, al_err *err)
{
    uint32_t first;
    int rc;

    al_pages_end(&run);
    assert_int_equal(al_sqlitefile_place(f, &run, &first, NULL), AL_OK);
    rc = al_sqlitefile_write(f, &run, first, err);
    al_pages_begin(&run, next_row, 0);
    return rc;
}

static void end_table(al_sqlitefile *f)
{
    if (table_name) {
        assert_int_equal(segment(f, NULL), AL_OK);
        assert_int_equal(al_sqlitefile_table(f, table_name, table_sql, NULL), AL_OK);
    }
    free(table_name);
    free(table_sql);
    table_name = table_sql = NULL;
}

static void table(al_sqlitefile *f, const char *name, const char *sql)
{
    end_table(f);
    table_name = strdup(name);
    table_sql = strdup(sql);
    next_row = 1;
    al_pages_begin(&run, next_row, 0);
}

static int append(const al_cell *cells, size_t n, al_err *err)
{
    int rc = al_pages_row(&run, cells, n, err);

    next_row += rc == AL_OK;
    return rc;
}

static void end(al_sqlitefile *f)
{
    free(table_name);
    free(table_sql);
    table_name = table_sql = NULL;
    al_pages_close(&run);
    al_sqlitefile_close(f);
    close(fd);
}

/* The finished file, open; it must hold together. */
static sqlite3 *finish(al_sqlitefile *f)
{
    al_err err = { 0 };
    sqlite3 *db;

    end_table(f);
    assert_int_equal(al_sqlitefile_finish(f, 0x01020304, 7, &err), AL_OK);
    end(f);
    db = open_file(path);
    unlink(path);
    assert_string_equal(ask(db, "PRAGMA integrity_check"), "ok");
    assert_string_equal(ask(db, "PRAGMA freelist_count"), "0");
    return db;
}

static void header_says_who_wrote_it(void **state)
{
    al_sqlitefile *f = begin(4096);
    sqlite3 *db;

    (void)state;
    table(f, "t", "CREATE TABLE t(a)");
    db = finish(f);
    assert_string_equal(ask(db, "PRAGMA application_id"), "16909060");
    assert_string_equal(ask(db, "PRAGMA user_version"), "7");
    assert_string_equal(ask(db, "PRAGMA encoding"), "UTF-8");
    assert_string_equal(ask(db, "PRAGMA journal_mode"), "delete");
    assert_string_equal(ask(db, "SELECT count(*) FROM t"), "0");
    sqlite3_close(db);
}

static void every_kind_of_value(void **state)
{
    static const int64_t integers[] = { 0,
                                        1,
                                        2,
                                        -1,
                                        127,
                                        128,
                                        -128,
                                        -129,
                                        32767,
                                        32768,
                                        -32768,
                                        -32769,
                                        8388607,
                                        8388608,
                                        -8388608,
                                        -8388609,
                                        INT32_MAX,
                                        (int64_t)INT32_MAX + 1,
                                        INT32_MIN,
                                        (int64_t)INT32_MIN - 1,
                                        (INT64_C(1) << 47) - 1,
                                        INT64_C(1) << 47,
                                        -(INT64_C(1) << 47),
                                        -(INT64_C(1) << 47) - 1,
                                        AL_CELL_MAX_INTEGER,
                                        -AL_CELL_MAX_INTEGER,
                                        INT64_MAX,
                                        INT64_MIN };
    const size_t n = sizeof integers / sizeof integers[0];
    al_sqlitefile *f = begin(4096);
    sqlite3_stmt *stmt;
    sqlite3 *db;

    (void)state;
    table(f, "t", "CREATE TABLE t(a,b,c,d)");
    for (size_t i = 0; i < n; i++) {
        const al_cell row[] = { al_cell_integer(integers[i]), al_cell_real((double)i / 8),
                                text("\xC3\xB1"), al_cell_null() };

        assert_int_equal(append(row, 4, NULL), AL_OK);
    }
    db = finish(f);
    sqlite3_prepare_v2(db, "SELECT rowid, a, b, c, d FROM t", -1, &stmt, NULL);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
        assert_int_equal(sqlite3_column_int64(stmt, 0), i + 1);
        assert_int_equal(sqlite3_column_type(stmt, 1), SQLITE_INTEGER);
        assert_true(sqlite3_column_int64(stmt, 1) == integers[i]);
        assert_int_equal(sqlite3_column_type(stmt, 2), SQLITE_FLOAT);
        assert_true(sqlite3_column_double(stmt, 2) == (double)i / 8);
        assert_string_equal(sqlite3_column_text(stmt, 3), "\xC3\xB1");
        assert_int_equal(sqlite3_column_type(stmt, 4), SQLITE_NULL);
    }
    assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
}

/* Texts whose lengths lie around every border of a page: local, overflow, exact fits. */
static void lengths_around_the_borders(void **state)
{
    static const unsigned sizes[] = { 4096, 8192, 16384, 32768, 65536 };
    char *letters = malloc(300000);

    (void)state;
    for (size_t i = 0; i < 300000; i++)
        letters[i] = (char)('a' + i % 26);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        al_sqlitefile *f = begin(sizes[s]);
        char sql[200];
        sqlite3 *db;
        int rows = 0;

        table(f, "t", "CREATE TABLE t(n,s)");
        for (unsigned pages = 0; pages < 4; pages++)
            for (int d = -60; d <= 60; d++) {
                long n = (long)pages * (sizes[s] - 4) + (long)(sizes[s] - 35) * (pages == 0) + d;
                const al_cell row[] = { al_cell_integer(n), al_cell_text(letters, (size_t)n) };

                assert_int_equal(append(row, 2, NULL), AL_OK);
                rows++;
            }
        db = finish(f);
        snprintf(sql, sizeof sql,
                 "SELECT count(*) FROM t WHERE length(s) = n AND substr(s,1,5) = 'abcde' "
                 "AND unicode(substr(s,-1)) = 97 + (n - 1) %% 26");
        assert_int_equal(atoi(ask(db, sql)), rows);
        sqlite3_close(db);
    }
    free(letters);
}

static void many_rows_make_a_tree(void **state)
{
    static const int counts[] = { 1, 2, 3, 400, 401, 150000 };

    (void)state;
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        al_sqlitefile *f = begin(4096);
        char sql[120];
        sqlite3 *db;

        table(f, "t", "CREATE TABLE t(a)");
        for (int i = 1; i <= counts[k]; i++) {
            const al_cell row[] = { al_cell_integer(i) };

            assert_int_equal(append(row, 1, NULL), AL_OK);
        }
        db = finish(f);
        snprintf(sql, sizeof sql,
                 "SELECT count(*) || '/' || sum(a = rowid) || '/' || max(a) FROM t");
        {
            char want[64];

            snprintf(want, sizeof want, "%d/%d/%d", counts[k], counts[k], counts[k]);
            assert_string_equal(ask(db, sql), want);
        }
        for (int i = 1; i <= counts[k]; i += 1 + counts[k] / 50) {
            snprintf(sql, sizeof sql, "SELECT a = %d FROM t WHERE rowid = %d", i, i);
            assert_string_equal(ask(db, sql), "1");
        }
        sqlite3_close(db);
    }
}

/* A leaf each, so that the tree gets three levels. */
static void a_deep_tree(void **state)
{
    al_sqlitefile *f = begin(4096);
    char big[3000];
    sqlite3 *db;

    (void)state;
    memset(big, 'z', sizeof big);
    table(f, "t", "CREATE TABLE t(a,s)");
    for (int i = 1; i <= 1200; i++) {
        const al_cell row[] = { al_cell_integer(i), al_cell_text(big, sizeof big) };

        assert_int_equal(append(row, 2, NULL), AL_OK);
    }
    db = finish(f);
    assert_string_equal(ask(db, "SELECT count(*) FROM t WHERE a = rowid"), "1200");
    assert_string_equal(ask(db, "SELECT a FROM t WHERE rowid = 1200"), "1200");
    sqlite3_close(db);
}

static void segments_begin_pages(void **state)
{
    al_sqlitefile *f = begin(4096);
    sqlite3 *db;

    (void)state;
    table(f, "t", "CREATE TABLE t(a)");
    for (int i = 1; i <= 10; i++) {
        const al_cell row[] = { al_cell_integer(i) };

        assert_int_equal(append(row, 1, NULL), AL_OK);
        if (i % 2 == 0)
            assert_int_equal(segment(f, NULL), AL_OK);
    }
    assert_int_equal(segment(f, NULL), AL_OK); /* none to end */
    db = finish(f);
    assert_string_equal(ask(db, "SELECT sum(a) FROM t"), "55");
    assert_string_equal(ask(db, "PRAGMA page_count"), "7"); /* schema, five leaves, their parent */
    sqlite3_close(db);
}

/* A chain longer than what is kept in memory moves the leaf it hangs from. */
static void a_long_chain_between_short_rows(void **state)
{
    const size_t len = 5 << 20;
    char *big = malloc(len);
    al_sqlitefile *f = begin(4096);
    const al_cell small[] = { text("small") }, large[] = { al_cell_text(big, len) };
    sqlite3 *db;

    (void)state;
    memset(big, 'q', len);
    table(f, "t", "CREATE TABLE t(a)");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(append(small, 1, NULL), AL_OK);
        assert_int_equal(append(large, 1, NULL), AL_OK);
        assert_int_equal(append(small, 1, NULL), AL_OK);
    }
    db = finish(f);
    assert_string_equal(ask(db, "SELECT group_concat(length(a)) FROM t"),
                        "5,5242880,5,5,5242880,5,5,5242880,5");
    sqlite3_close(db);
    free(big);
}

static void schemas_that_leave_page_one(void **state)
{
    static const int counts[] = { 1, 2, 40, 3000 };

    (void)state;
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        al_sqlitefile *f = begin(4096);
        char name[32], *sql = malloc(9000), count[16];
        sqlite3 *db;

        for (int i = 0; i < counts[k]; i++) {
            const al_cell row[] = { al_cell_integer(i) };
            /* a statement that leaves its page, or almost fills it, or is short */
            int columns = i % 3 == 0 ? 700 : i % 3 == 1 ? 320 : 1;
            char *p = sql;

            snprintf(name, sizeof name, "table_%d", i);
            p += sprintf(p, "CREATE TABLE \"%s\"", name);
            for (int c = 0; c < columns; c++)
                p += sprintf(p, "%c\"column%03d\"", c ? ',' : '(', c);
            sprintf(p, ")");
            table(f, name, sql);
            assert_int_equal(append(row, 1, NULL), AL_OK);
        }
        db = finish(f);
        snprintf(count, sizeof count, "%d", counts[k]);
        assert_string_equal(ask(db, "SELECT count(*) FROM sqlite_schema"), count);
        snprintf(sql, 9000, "SELECT column000 FROM table_%d", counts[k] - 1);
        snprintf(count, sizeof count, "%d", counts[k] - 1);
        assert_string_equal(ask(db, sql), count);
        sqlite3_close(db);
        free(sql);
    }
}

static void random_rows(void **state)
{
    uint64_t x = 20240607;
    const size_t room = 20000;
    char *letters = malloc(room);

    (void)state;
    memset(letters, 'm', room);
    for (int round = 0; round < 12; round++) {
        unsigned size = 4096u << next_random(&x) % 5;
        al_sqlitefile *f = begin(size);
        int64_t integers = 0, bytes = 0;
        int nulls = 0, rows = 200 + (int)(next_random(&x) % 2000);
        char want[100];
        sqlite3 *db;

        table(f, "t", "CREATE TABLE t(a,b,c)");
        for (int i = 0; i < rows; i++) {
            al_cell row[3];

            for (int k = 0; k < 3; k++)
                switch (next_random(&x) % 4) {
                case 0:
                    row[k] = al_cell_null();
                    nulls++;
                    break;
                case 1:
                    row[k] =
                        al_cell_integer((int64_t)(next_random(&x) >> next_random(&x) % 50 >> 12));
                    integers += row[k].integer & 0xFFFF;
                    break;
                case 2: row[k] = al_cell_real((double)next_random(&x)); break;
                default:
                    row[k] = al_cell_text(letters, next_random(&x) % (i % 50 ? 60 : room));
                    bytes += row[k].len;
                }
            assert_int_equal(append(row, 3, NULL), AL_OK);
            if (next_random(&x) % 300 == 0)
                assert_int_equal(segment(f, NULL), AL_OK);
        }
        db = finish(f);
        snprintf(want, sizeof want, "%d/%d/%lld/%lld", rows, nulls, (long long)integers,
                 (long long)bytes);
        assert_string_equal(
            ask(db, "WITH v(x) AS (SELECT a FROM t UNION ALL SELECT b FROM t UNION ALL SELECT c "
                    "FROM t) SELECT (count(*)/3) || '/' || sum(x IS NULL) || '/' || "
                    "sum(CASE typeof(x) WHEN 'integer' THEN x & 0xFFFF END) || '/' || "
                    "sum(CASE typeof(x) WHEN 'text' THEN length(x) END) FROM v"),
            want);
        sqlite3_close(db);
    }
    free(letters);
}

static void rows_have_a_limit(void **state)
{
    const size_t len = 33u << 20;
    char *big = malloc(len);
    al_sqlitefile *f = begin(4096);
    const al_cell row[] = { al_cell_text(big, len), al_cell_text(big, len) };
    al_err err = { 0 };

    (void)state;
    memset(big, 'b', len);
    table(f, "t", "CREATE TABLE t(a,b)");
    assert_int_equal(append(row, 2, &err), AL_ELIMIT);
    assert_string_equal(err.id, "ingest_limit");
    end(f);
    unlink(path);
    free(big);
}

static void a_full_disk_is_said(void **state)
{
    al_sqlitefile *f;
    al_err err = { 0 };
    char block[2000];
    int full = open("/dev/full", O_WRONLY), rc = AL_OK;

    (void)state;
    if (full < 0)
        skip();
    memset(block, 'x', sizeof block);
    f = begin_file(full, 4096);
    table(f, "t", "CREATE TABLE t(a)");
    for (int i = 0; i < 2000 && rc == AL_OK; i++) {
        const al_cell row[] = { al_cell_text(block, sizeof block) };

        rc = append(row, 1, &err);
        if (rc == AL_OK && i % 100 == 99)
            rc = segment(f, &err);
    }
    assert_int_equal(rc, AL_EIO);
    assert_string_equal(err.id, "no_space");
    end(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_says_who_wrote_it),
        cmocka_unit_test(every_kind_of_value),
        cmocka_unit_test(lengths_around_the_borders),
        cmocka_unit_test(many_rows_make_a_tree),
        cmocka_unit_test(a_deep_tree),
        cmocka_unit_test(segments_begin_pages),
        cmocka_unit_test(a_long_chain_between_short_rows),
        cmocka_unit_test(schemas_that_leave_page_one),
        cmocka_unit_test(random_rows),
        cmocka_unit_test(rows_have_a_limit),
        cmocka_unit_test(a_full_disk_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
