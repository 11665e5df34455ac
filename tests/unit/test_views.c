#include "base/wire.h"
#include "data/views.h"
#include "table.h"
#include <sys/socket.h>

#define COLUMNS STYLES

static table t;
static sqlite3 *db;
static al_store *store;
static al_views *views;
static al_err err;

static int set_up(void **state)
{
    int styles[COLUMNS];

    (void)state;
    for (int i = 0; i < COLUMNS; i++)
        styles[i] = i;
    make_table(&t, 3000, COLUMNS, styles, 4096, true, 5);
    db = open_file(t.path);
    assert_int_equal(al_store_open(&store, &err), AL_OK);
    assert_int_equal(al_views_open(&views, &err), AL_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    al_views_close(views);
    al_store_close(store);
    sqlite3_close(db);
    drop_table(&t);
    return 0;
}

static int make(uint64_t id, const char *sort, const char *filter, unsigned threads, uint64_t *rows)
{
    const al_view_options o = { .id = id,
                                .sort = sort,
                                .sort_len = sort ? strlen(sort) : 0,
                                .filter = filter,
                                .filter_len = filter ? strlen(filter) : 0,
                                .threads = threads };

    memset(&err, 0, sizeof err);
    return al_views_make(views, store, t.fd, &o, NULL, rows, &err);
}

static const uint32_t *order_of(uint64_t id, uint64_t *rows)
{
    const uint32_t *order;
    const char *name;

    if (al_views_find(views, id, t.fd, &name, &order, rows, &err) != AL_OK)
        fail_msg("no view %llu", (unsigned long long)id);
    assert_string_equal(name, "data");
    return order;
}

/* A view holds the rows that SQLite gives, in its order. */
static void is_as_in_sqlite(const char *sort, const char *filter, const char *sql)
{
    uint64_t made, rows, n = 0;
    const uint32_t *order;
    sqlite3_stmt *stmt;

    for (unsigned threads = 1; threads <= 3; threads += 2) {
        if (make(threads, sort, filter, threads, &made) != AL_OK)
            fail_msg("%s %s: %s", sort, filter, err.detail);
        order = order_of(threads, &rows);
        assert_int_equal(made, rows);
        if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
            fail_msg("%s: %s", sql, sqlite3_errmsg(db));
        for (n = 0; sqlite3_step(stmt) == SQLITE_ROW; n++)
            if (n >= rows || order[n] + 1 != (uint32_t)sqlite3_column_int(stmt, 0))
                fail_msg("%s: row %llu of %llu", sql, (unsigned long long)n,
                         (unsigned long long)rows);
        sqlite3_finalize(stmt);
        if (n != rows)
            fail_msg("%s: %llu rows are there, %llu came", sql, (unsigned long long)n,
                     (unsigned long long)rows);
    }
}

static void random_keys(uint64_t *x, al_buf *sort, al_buf *sql)
{
    const char *const nulls[] = { "", ",\"nulls\":\"first\"", ",\"nulls\":\"last\"" };
    const char *const in_sql[] = { "", " NULLS FIRST", " NULLS LAST" };
    uint64_t n = next_random(x) % 4;

    al_buf_char(sort, '[');
    al_buf_str(sql, " ORDER BY ");
    for (uint64_t i = 0; i < n; i++) {
        unsigned column = (unsigned)(next_random(x) % COLUMNS), where = next_random(x) % 3;
        bool descending = next_random(x) % 2;

        al_buf_printf(sort, "%s{\"column\":\"c%u\",\"descending\":%s%s}", i ? "," : "", column,
                      descending ? "true" : "false", nulls[where]);
        al_buf_printf(sql, "c%u %s%s,", column, descending ? "DESC" : "", in_sql[where]);
    }
    al_buf_char(sort, ']');
    al_buf_str(sql, "rowid");
}

static void random_filter(uint64_t *x, al_buf *filter, al_buf *sql)
{
    int n = (int)(next_random(x) % 1000);

    switch (next_random(x) % 5) {
    case 0:
        al_buf_printf(filter, "[{\"column\":\"c%d\",\"range\":{\"ge\":%d}}]", CENTS, n * 10);
        al_buf_printf(sql, " WHERE c%d >= %d AND typeof(c%d) <> 'text'", CENTS, n * 10, CENTS);
        break;
    case 1:
        al_buf_printf(filter,
                      "[{\"column\":\"c%d\",\"eq\":\"town %d\"},{\"column\":\"c%d\","
                      "\"null\":false}]",
                      FEW_TEXTS, n % 20, FEW_INTEGERS);
        al_buf_printf(sql, " WHERE c%d = 'town %d' AND c%d IS NOT NULL", FEW_TEXTS, n % 20,
                      FEW_INTEGERS);
        break;
    case 2:
        al_buf_printf(filter, "[{\"column\":\"c%d\",\"eq\":\"nowhere\"}]", MIXED);
        al_buf_str(sql, " WHERE 0");
        break;
    case 3: al_buf_str(filter, "[]"); break;
    default: break;
    }
}

static void as_in_sqlite(void **state)
{
    uint64_t x = 77;

    (void)state;
    for (int i = 0; i < 150; i++) {
        al_buf sort, filter, sql;

        al_buf_init(&sort, 0);
        al_buf_init(&filter, 0);
        al_buf_init(&sql, 0);
        al_buf_str(&sql, "SELECT rowid FROM data");
        random_filter(&x, &filter, &sql);
        random_keys(&x, &sort, &sql);
        is_as_in_sqlite(sort.data, filter.data, sql.data);
        al_buf_free(&sort);
        al_buf_free(&filter);
        al_buf_free(&sql);
    }
    is_as_in_sqlite(NULL, NULL, "SELECT rowid FROM data");
}

/* Enough rows for several stripes, and keys of more than 32 bits. */
static void many_rows(void **state)
{
    static const int styles[] = { REALS, MANY_INTEGERS, FEW_INTEGERS, MANY_TEXTS };

    tear_down(state);
    make_table(&t, 300000, 4, styles, 16384, false, 6);
    db = open_file(t.path);
    assert_int_equal(al_store_open(&store, &err), AL_OK);
    assert_int_equal(al_views_open(&views, &err), AL_OK);
    is_as_in_sqlite("[{\"column\":\"c0\"}]", NULL, "SELECT rowid FROM data ORDER BY c0,rowid");
    is_as_in_sqlite("[{\"column\":\"c1\",\"descending\":true,\"nulls\":\"first\"}]", NULL,
                    "SELECT rowid FROM data ORDER BY c1 DESC NULLS FIRST,rowid");
    is_as_in_sqlite("[{\"column\":\"c2\",\"descending\":true},{\"column\":\"c3\"}]", NULL,
                    "SELECT rowid FROM data ORDER BY c2 DESC,c3,rowid");
}

/* Texts that differ late, or by their length alone, or in NULs: long ones are not crept along. */
static void long_beginnings(void **state)
{
    enum { ROWS = 600, LONG = 300000 };
    static const int styles[] = { LONG_TEXTS };
    char *bytes = malloc(LONG + 16);

    tear_down(state);
    make_table(&t, ROWS, 1, styles, 16384, false, 8);
    memset(bytes, 'x', LONG + 16);
    for (uint32_t r = 0; r < ROWS; r += 3) {
        al_cell *cell = &t.cells[r];

        *cell = al_cell_text(bytes, r % 2 ? 40 * r : LONG);
        if (r % 4 == 0) {
            char *own = malloc(LONG + 16);

            memset(own, r % 8 ? '\0' : 'x', LONG + 16);
            snprintf(own + 200000, 12, "%u", (r * 7919) % 1000);
            *cell = al_cell_text(own, 200000 + r % 9);
        }
    }
    assert_int_equal(ftruncate(t.fd, 0), 0);
    write_table(&t, 16384, false, styles);
    db = open_file(t.path);
    assert_int_equal(al_store_open(&store, &err), AL_OK);
    assert_int_equal(al_views_open(&views, &err), AL_OK);
    is_as_in_sqlite("[{\"column\":\"c0\"}]", NULL, "SELECT rowid FROM data ORDER BY c0,rowid");
    for (uint32_t r = 0; r < ROWS; r += 12)
        free((char *)t.cells[r].text);
    free(bytes);
}

static void no_rows(void **state)
{
    static const int styles[] = { FEW_TEXTS };
    uint64_t rows;

    tear_down(state);
    make_table(&t, 0, 1, styles, 4096, false, 7);
    db = open_file(t.path);
    assert_int_equal(al_store_open(&store, &err), AL_OK);
    assert_int_equal(al_views_open(&views, &err), AL_OK);
    assert_int_equal(
        make(1, "[{\"column\":\"c0\"}]", "[{\"column\":\"c0\",\"eq\":\"x\"}]", 0, &rows), AL_OK);
    assert_int_equal(rows, 0);
    order_of(1, &rows);
    assert_int_equal(rows, 0);
}

static void is_gone(uint64_t id, int fd)
{
    const uint32_t *order;
    const char *name;
    uint64_t rows;

    assert_int_equal(al_views_find(views, id, fd, &name, &order, &rows, &err), AL_ENOTFOUND);
    assert_string_equal(err.id, "not_found");
    assert_string_equal(err.reason, "view");
}

static void the_oldest_goes(void **state)
{
    uint64_t rows;

    (void)state;
    al_views_budget(views, 3 * 3000 * sizeof(uint32_t));
    for (uint64_t id = 1; id <= 3; id++)
        assert_int_equal(make(id, NULL, NULL, 1, &rows), AL_OK);
    order_of(1, &rows); /* looked at: now 2 is the oldest */
    assert_int_equal(make(4, NULL, NULL, 1, &rows), AL_OK);
    is_gone(2, t.fd);
    order_of(1, &rows);
    order_of(3, &rows);
    al_views_budget(views, 1); /* one that is larger than all of it is made, too */
    assert_int_equal(make(5, NULL, NULL, 1, &rows), AL_OK);
    assert_int_equal(order_of(5, &rows)[2999], 2999);
    is_gone(1, t.fd);
    al_views_drop(views, 5);
    al_views_drop(views, 5);
    is_gone(5, t.fd);
    al_views_budget(views, AL_VIEWS_BUDGET);
    for (uint64_t id = 1; id <= AL_VIEWS_MAX + 1; id++)
        assert_int_equal(make(id, NULL, "[{\"column\":\"c0\",\"eq\":1}]", 1, &rows), AL_OK);
    is_gone(1, t.fd);
    order_of(AL_VIEWS_MAX + 1, &rows);
}

static void of_one_file(void **state)
{
    int other = file_with("", 0, NULL);
    uint64_t rows;

    (void)state;
    assert_int_equal(make(1, NULL, NULL, 1, &rows), AL_OK);
    is_gone(1, other);
    is_gone(2, t.fd);
    order_of(1, &rows);
    close(other);
}

static void wrong_requests(void **state)
{
    static const char *const sorts[] = { "{}",
                                         "7",
                                         "[7]",
                                         "[{}]",
                                         "[{\"column\":\"nope\"}]",
                                         "[{\"column\":7}]",
                                         "[{\"column\":\"c1\",\"descending\":1}]",
                                         "[{\"column\":\"c1\",\"nulls\":\"middle\"}]",
                                         "[{\"column\":\"c1\",\"nulls\":true}]",
                                         "[{\"column\":\"c1\",\"order\":\"up\"}]" };
    const al_view_options other = { .id = 1, .table = "s_other" };
    uint64_t rows;
    al_buf many;

    (void)state;
    assert_int_equal(make(1, NULL, NULL, 1, &rows), AL_OK);
    for (size_t i = 0; i < sizeof sorts / sizeof sorts[0]; i++) {
        if (make(1, sorts[i], NULL, 1, &rows) != AL_EINVAL)
            fail_msg("%s was taken", sorts[i]);
        assert_string_equal(err.id, "query_rejected");
        assert_true(err.detail[0]);
        is_gone(1, t.fd); /* what fails leaves no view */
    }
    assert_int_equal(make(1, NULL, "[{\"column\":\"nope\",\"eq\":1}]", 1, &rows), AL_EINVAL);
    assert_string_equal(err.id, "query_rejected");
    al_buf_init(&many, 0);
    for (int i = 0; i <= AL_VIEWS_MAX_KEYS; i++)
        al_buf_printf(&many, "%c{\"column\":\"c0\"}", i ? ',' : '[');
    al_buf_char(&many, ']');
    assert_int_equal(make(1, many.data, NULL, 1, &rows), AL_EINVAL);
    al_buf_free(&many);
    assert_int_equal(al_views_make(views, store, t.fd, &other, NULL, &rows, &err), AL_ENOTFOUND);
}

static void a_cancel_stops_it(void **state)
{
    static const char sort[] = "[{\"column\":\"c2\"}]";
    const al_view_options o = { .id = 1, .sort = sort, .sort_len = sizeof sort - 1, .threads = 2 };
    uint64_t rows;
    al_link link;
    int ends[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    al_link_init(&link, ends[0]);
    assert_int_equal(al_wire_send(ends[1], AL_WIRE_CANCEL, "", 0, NULL, 0), AL_OK);
    assert_int_equal(al_views_make(views, store, t.fd, &o, &link, &rows, &err), AL_ECANCELED);
    is_gone(1, t.fd);
    al_link_init(&link, ends[0]);
    assert_int_equal(al_views_make(views, store, t.fd, &o, &link, &rows, &err), AL_OK);
    close(ends[0]);
    close(ends[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(as_in_sqlite),    TEST(many_rows),   TEST(long_beginnings), TEST(no_rows),
        TEST(the_oldest_goes), TEST(of_one_file), TEST(wrong_requests),  TEST(a_cancel_stops_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
