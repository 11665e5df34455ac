#include "base/err.h"
#include "data.h"
#include "data/dataset.h"
#include "data/sqlguard.h"

static al_err err;

/* ---- by the text alone ---- */

static void passes(const char *sql)
{
    if (al_guard_check(sql, strlen(sql), &err) != AL_OK)
        fail_msg("%s: %s", sql, err.detail);
}

static void refuses(const char *sql, size_t len)
{
    if (al_guard_check(sql, len, &err) != AL_EDENIED)
        fail_msg("%s was let through", sql);
    assert_string_equal(err.id, "query_rejected");
}

static void one_statement(void **state)
{
    static const char *const good[] = { "select 1",
                                        "SELECT 1;",
                                        "SELECT 1 ; ; -- x\n;",
                                        "with t as (select 1) select * from t",
                                        "SELECT ';'",
                                        "SELECT ';' ';' \";\" [;] `;`",
                                        "SELECT 'it''s; so'",
                                        "SELECT \"a\"\"b;c\"",
                                        "SELECT 1 -- ; drop table data",
                                        "SELECT 1 /* ; */",
                                        "SELECT 1 /* ; ",
                                        "/*/ ; */ SELECT 1",
                                        "-- a; b\n SELECT 1",
                                        "SELECT(1)",
                                        "SELECT\n1",
                                        "SELECT'x;'",
                                        "SELECT \"x",
                                        "SELECT [a;b]",
                                        "SELECT 1--",
                                        "SELECT x'3b'",
                                        "SELECT -1",
                                        "SELECT 1/2",
                                        "SELECT 4 - -1;",
                                        "  \n\t\f\rSELECT 1",
                                        "SELECT '--' || ';'",
                                        "SELECT 1 AS [a]]" };
    static const char *const bad[] = { "",
                                       " ",
                                       ";",
                                       "-- only",
                                       "/* only */",
                                       "/* open",
                                       "SELECT 1; SELECT 2",
                                       "SELECT 1;;x",
                                       "; SELECT 1",
                                       "DELETE FROM data",
                                       "PRAGMA user_version",
                                       "EXPLAIN SELECT 1",
                                       "VALUES (1)",
                                       "selection",
                                       "WITHOUT",
                                       "select_1",
                                       "ATTACH 'x' AS y",
                                       "SELECT 1; -- x\nDROP TABLE data",
                                       "SELECT 'a' ; 'b'",
                                       "SELECT 1 /* ; */; x",
                                       "SELECT [a]];b]; x",
                                       "SELECT `a``;`; x",
                                       "BEGIN",
                                       "SELECT 1;\"\"",
                                       "SELECT 1; /* */ x",
                                       "--\nDROP TABLE data",
                                       "SELECT$" };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        passes(good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refuses(bad[i], strlen(bad[i]));
    refuses("SELECT 1\0; DROP TABLE data", 26);
    refuses("SELECT 1\0", 9);
}

static void long_statements(void **state)
{
    char *sql = malloc(AL_GUARD_MAX_SQL + 2);

    (void)state;
    memset(sql, ' ', AL_GUARD_MAX_SQL + 1);
    memcpy(sql, "SELECT 1", 8);
    sql[AL_GUARD_MAX_SQL] = '\0';
    passes(sql);
    sql[AL_GUARD_MAX_SQL] = ' ';
    refuses(sql, AL_GUARD_MAX_SQL + 1);
    free(sql);
}

/* ---- on a dataset ---- */

static int dataset, tmp;
static al_guard *guard;

static int make_dataset(void)
{
    static const char *const words[] = { "one", "two", "three" };
    const al_cell labels[] = { text("id"), text("word"), text("n") };
    const al_dataset_options o = { .max_rows = 100 };
    const al_dataset_meta meta = { .format = "csv" };
    al_cell cells[9];
    al_batch b = { .cells = cells, .columns = 3, .rows = 3 };
    int fd = file_with("", 0, NULL);
    al_dataset *d;

    for (int i = 0; i < 3; i++) {
        cells[3 * i] = al_cell_integer(i + 1);
        cells[3 * i + 1] = text(words[i]);
        cells[3 * i + 2] = i ? al_cell_real(i * 1.5) : al_cell_null();
    }
    assert_int_equal(al_dataset_open(&d, fd, &o, NULL), AL_OK);
    assert_int_equal(al_dataset_sheet(d, "data", "data", labels, 3, NULL), AL_OK);
    assert_int_equal(al_dataset_rows(d, &b, NULL), AL_OK);
    assert_int_equal(al_dataset_finish(d, &meta, NULL), AL_OK);
    al_dataset_close(d);
    return fd;
}

static int open_guard(void **state)
{
    (void)state;
    dataset = make_dataset();
    tmp = open(getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", O_RDONLY | O_DIRECTORY);
    memset(&err, 0, sizeof err);
    return al_guard_open(&guard, dataset, tmp, &err);
}

static int close_guard(void **state)
{
    (void)state;
    al_guard_close(guard);
    close(dataset);
    close(tmp);
    return 0;
}

/* The first cell as text, "(none)" without a row; NULL when the statement fails. */
static const char *answer(const char *sql)
{
    static char out[5000];
    sqlite3_stmt *stmt;
    int rc = al_guard_prepare(guard, sql, strlen(sql), &stmt, &err);

    if (rc != AL_OK)
        return NULL;
    rc = al_guard_step(guard, stmt, &err);
    snprintf(out, sizeof out, "(none)");
    if (rc == SQLITE_ROW && sqlite3_column_text(stmt, 0))
        snprintf(out, sizeof out, "%s", (const char *)sqlite3_column_text(stmt, 0));
    while (rc == SQLITE_ROW)
        rc = al_guard_step(guard, stmt, &err);
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? out : NULL;
}

static void gives(const char *sql, const char *want)
{
    const char *got = answer(sql);

    if (!got)
        fail_msg("%s: %s", sql, err.detail);
    if (strcmp(got, want) != 0)
        fail_msg("%s gave %s, not %s", sql, got, want);
}

static void is_refused(const char *sql)
{
    if (answer(sql))
        fail_msg("%s was let through", sql);
    if (strcmp(err.id, "query_rejected") != 0)
        fail_msg("%s: %s, %s", sql, err.id, err.detail);
}

static void fails(const char *sql, const char *id)
{
    if (answer(sql))
        fail_msg("%s did not fail", sql);
    if (strcmp(err.id, id) != 0)
        fail_msg("%s: %s, %s", sql, err.id, err.detail);
}

static void reading_works(void **state)
{
    (void)state;
    gives("SELECT count(*) FROM data", "3");
    gives("SELECT word FROM data WHERE id = 2", "two");
    gives("SELECT group_concat(word) FROM (SELECT word FROM data ORDER BY word DESC)",
          "two,three,one");
    gives("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x<10) SELECT sum(x) "
          "FROM c",
          "55");
    gives("SELECT row_number() OVER (ORDER BY id DESC) FROM data", "1");
    gives("SELECT group_concat(value) FROM json_each('[1,2]')", "1,2");
    gives("SELECT count(*) FROM json_tree('{\"a\":[1]}')", "3");
    gives("SELECT '{\"a\":5}' ->> 'a'", "5");
    gives("SELECT name FROM pragma_table_info('data') LIMIT 1", "id");
    gives("SELECT count(*) FROM data, pragma_table_xinfo('data')", "9");
    gives("SELECT count(*) FROM sqlite_schema", "4");
    gives("SELECT value FROM _alisio_meta WHERE key = 'format'", "csv");
    gives("SELECT date('2024-02-29', '+1 year')", "2025-03-01");
    gives("SELECT printf('%05.1f', 3)", "003.0");
    gives("SELECT word FROM data WHERE word LIKE 'TH%' OR word GLOB 't[w]o' ORDER BY 1", "three");
    gives("SELECT \"abs\"(-1)", "1");
    gives("SELECT CASE WHEN 1 THEN 'insert' END", "insert");
    gives("SELECT sqrt(2) > 1.4 AND typeof(random()) = 'integer'", "1");
    gives("SELECT 1 WHERE ?1 IS NULL AND :a IS NULL", "1");
}

static void nothing_else_does(void **state)
{
    static const char *const bad[] = { "SELECT load_extension('x')",
                                       "SELECT \"load_extension\"('x')",
                                       "SELECT [load_extension]('x','y')",
                                       "SELECT fts3_tokenizer('simple')",
                                       "SELECT * FROM pragma_database_list",
                                       "SELECT * FROM pragma_journal_mode('wal')",
                                       "SELECT * FROM pragma_integrity_check",
                                       "SELECT * FROM pragma_compile_options",
                                       "SELECT * FROM dbstat",
                                       "SELECT * FROM sqlite_stmt",
                                       "WITH x AS (SELECT 1) DELETE FROM data",
                                       "WITH x AS (SELECT 1) INSERT INTO data SELECT 1,2,3",
                                       "WITH x AS (SELECT 1) UPDATE data SET id = 1",
                                       "SELECT sqlite_log(1,'x')" };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        is_refused(bad[i]);
    gives("SELECT count(*) FROM data", "3"); /* and then it goes on */
}

static void failures_say_where(void **state)
{
    (void)state;
    fails("SELECT id,\n  nope FROM data", "query_failed");
    assert_string_equal(err.detail, "no such column: nope");
    assert_int_equal(err.line, 2);
    assert_int_equal(err.column, 3);
    fails("SELECT \"nope\" FROM data", "query_failed"); /* a name in quotes is no text */
    fails("SELECT * FROM nowhere", "query_failed");
    fails("SELECT readfile('/etc/passwd')", "query_failed");
    fails("SELECT sum(x) FROM (SELECT 9223372036854775807 AS x UNION ALL SELECT 1)",
          "query_failed");
    assert_non_null(strstr(err.detail, "overflow"));
    fails("SELECT 'x", "query_failed");
    fails("SELECT json_extract('{', '$')", "query_failed");
}

static void time_has_a_limit(void **state)
{
    static const char *const endless[] = {
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c ORDER BY x "
        "DESC",
        "SELECT 1 WHERE EXISTS (WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) "
        "SELECT 1 "
        "FROM c WHERE x < 0)"
    };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        al_guard_close(guard);
        assert_int_equal(al_guard_open(&guard, dataset, tmp, &err), AL_OK);
        al_guard_limit(guard, NULL, 50);
        fails(endless[i], "query_timeout");
        assert_string_equal(err.object, "analysis.data.queryTimeoutMs");
    }
}

static void memory_has_a_limit(void **state)
{
    (void)state;
    fails("SELECT length(group_concat(hex(zeroblob(8000000)))) FROM data a, data b, data c",
          "query_failed");
    fails("SELECT zeroblob(900000000)", "query_failed");
    fails("WITH RECURSIVE c(x) AS (SELECT zeroblob(60000000) UNION ALL SELECT x || zeroblob(1) "
          "FROM c "
          "LIMIT 30) SELECT json_group_array(hex(x)) FROM c",
          "query_failed");
    gives("SELECT 1", "1");
}

/* A sort larger than SQLite's cache spills to the folder, and without one stays in memory. */
static void sorting_spills(void **state)
{
    static const char sql[] = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT "
                              "400000) SELECT x || printf('%0100d', x) FROM c ORDER BY 1 DESC";

    (void)state;
    assert_int_equal(strlen(answer(sql)), 105);
    al_guard_close(guard);
    assert_int_equal(al_guard_open(&guard, dataset, -1, &err), AL_OK);
    assert_int_equal(strlen(answer(sql)), 105);
}

static void what_is_no_dataset(void **state)
{
    static const char junk[] =
        "this is no database, but it is long enough to have a header, maybe: "
        "......................................................";
    al_guard *g;
    sqlite3 *db;
    char path[256];
    int fd = file_with(junk, sizeof junk, NULL);

    (void)state;
    assert_int_equal(al_guard_open(&g, fd, -1, &err), AL_EIO);
    assert_string_equal(err.id, "io_error");
    close(fd);
    fd = file_with("", 0, path);
    assert_int_equal(al_guard_open(&g, fd, -1, &err), AL_EIO);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db,
                     "CREATE TABLE \"_alisio_meta\"(key,value); CREATE VIEW \"data\" AS "
                     "SELECT 1",
                     NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(al_guard_open(&g, fd, -1, &err), AL_EIO);
    assert_string_equal(err.reason, "corrupt");
    close(fd);
    unlink(path);
}

/* Every page of a dataset is damaged in turn: an answer or an error, never more. */
static void damaged_datasets(void **state)
{
    uint64_t x = 99;

    (void)state;
    al_guard_close(guard);
    guard = NULL;
    for (int i = 0; i < 400; i++) {
        int fd = make_dataset();
        off_t size = lseek(fd, 0, SEEK_END);
        al_guard *g;

        for (int k = 0; k < 1 + i % 8; k++) {
            /* mostly where the structure is: the first bytes of a page */
            off_t at = (off_t)(next_random(&x) % (uint64_t)size);
            char byte = (char)next_random(&x);

            if (k % 2)
                at = at / 16384 * 16384 + at % 128;
            assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        }
        if (al_guard_open(&g, fd, -1, &err) == AL_OK) {
            static const char sql[] = "SELECT group_concat(id || word || n) FROM data";
            sqlite3_stmt *stmt;

            al_guard_limit(g, NULL, 1000);
            if (al_guard_prepare(g, sql, sizeof sql - 1, &stmt, &err) == AL_OK) {
                while (al_guard_step(g, stmt, &err) == SQLITE_ROW)
                    ;
                sqlite3_finalize(stmt);
            }
            al_guard_close(g);
        }
        close(fd);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_guard, close_guard)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_statement),
        cmocka_unit_test(long_statements),
        TEST(reading_works),
        TEST(nothing_else_does),
        TEST(failures_say_where),
        TEST(time_has_a_limit),
        TEST(memory_has_a_limit),
        TEST(sorting_spills),
        TEST(what_is_no_dataset),
        TEST(damaged_datasets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
