/* Answers are compared with SQLite's, row by row and cell by cell. */
#include "base/json.h"
#include "data/aggregate.h"
#include "data/day.h"
#include "table.h"
#include <math.h>

static const int styles[] = { FEW_TEXTS, MANY_TEXTS, ROW_NUMBERS, FEW_INTEGERS, MANY_INTEGERS,
                              CENTS,     REALS,      MIXED,       DATES,        NULLS };

#define COLUMNS 10

static table t;
static sqlite3 *db;
static al_store *store;

static void sql_begin(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    static const char *const units[] = { "day", "week", "month", "quarter", "year" };
    int64_t day;
    char out[16];

    (void)n;
    if (sqlite3_value_type(v[0]) != SQLITE_TEXT ||
        !al_day_of((const char *)sqlite3_value_text(v[0]), (size_t)sqlite3_value_bytes(v[0]), &day))
        return;
    for (int i = 0; i < 5; i++)
        if (strcmp(units[i], (const char *)sqlite3_value_text(v[1])) == 0) {
            al_day_text(al_day_begin(day, (al_day_unit)i), out);
            sqlite3_result_text(ctx, out, -1, SQLITE_TRANSIENT);
        }
}

static void sql_bin(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    double width = sqlite3_value_double(v[1]), start = sqlite3_value_double(v[2]), bin;
    int type = sqlite3_value_type(v[0]);
    char text[32];

    (void)n;
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
        return;
    bin = (sqlite3_value_double(v[0]) - start) / width;
    bin = fabs(bin - round(bin)) <= fabs(bin) * 0x1p-51 ? round(bin) : floor(bin);
    snprintf(text, sizeof text, "%.15g", start + bin * width);
    sqlite3_result_double(ctx, strtod(text, NULL));
}

static void open_styles(const int *columns, uint32_t rows, unsigned page_size, uint64_t seed)
{
    make_table(&t, rows, COLUMNS, columns, page_size, seed % 2, seed);
    db = open_file(t.path);
    sqlite3_create_function(db, "al_begin", 2, SQLITE_UTF8, NULL, sql_begin, NULL, NULL);
    sqlite3_create_function(db, "al_bin", 3, SQLITE_UTF8, NULL, sql_bin, NULL, NULL);
    assert_int_equal(al_store_open(&store, NULL), AL_OK);
}

static void open_table(uint32_t rows, unsigned page_size, uint64_t seed)
{
    open_styles(styles, rows, page_size, seed);
}

static void close_table(void)
{
    al_store_close(store);
    sqlite3_close(db);
    drop_table(&t);
}

static int answer_to(const char *filter, const char *groups, const char *samples, unsigned threads,
                     al_buf *out, al_err *err)
{
    const al_aggregate_options o = { .filter = filter,
                                     .filter_len = filter ? strlen(filter) : 0,
                                     .groups = groups,
                                     .groups_len = groups ? strlen(groups) : 0,
                                     .samples = samples,
                                     .samples_len = samples ? strlen(samples) : 0,
                                     .threads = threads };

    return al_aggregate_run(store, t.fd, &o, NULL, out, err);
}

/* ---- reading answers ---- */

struct columns {
    al_cell *cells[32];
    size_t n, rows;
    al_buf kept[65536]; /* texts */
    size_t nkept;
    int64_t other; /* how many rows are the rest of a key */
};

static void free_columns(struct columns *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->cells[i]);
    for (size_t i = 0; i < c->nkept; i++)
        al_buf_free(&c->kept[i]);
    free(c);
}

/* Reads a list of cells, at its bracket. */
static void read_cells(struct columns *c, al_json *j)
{
    al_cell *cells = calloc(20000, sizeof *cells);
    size_t n = 0;

    assert_int_equal(al_json_next(j), AL_JSON_ARRAY);
    for (;; n++) {
        al_json_type type = al_json_next(j);

        if (type == AL_JSON_ARRAY_END)
            break;
        assert_true(n < 20000);
        if (type == AL_JSON_NUMBER) {
            cells[n] = j->is_int ? al_cell_integer(j->integer) : al_cell_real(j->real);
        } else if (type == AL_JSON_STRING) {
            al_buf *b = &c->kept[c->nkept++ % 65536];

            assert_true(c->nkept <= 65536);
            al_buf_add(b, j->text, j->len);
            al_buf_str(b, "");
            cells[n] = al_cell_text(b->data, b->len);
        } else {
            assert_int_equal(type, AL_JSON_NULL);
        }
    }
    c->rows = n;
    c->cells[c->n++] = cells;
}

static void read_keys(struct columns *c, al_json *j)
{
    al_json_type type;
    size_t at, len;

    assert_int_equal(al_json_next(j), AL_JSON_ARRAY);
    while (al_json_next(j) == AL_JSON_OBJECT)
        while ((type = al_json_next(j)) == AL_JSON_KEY) {
            bool values = j->len == 6 && memcmp(j->text, "values", 6) == 0;
            bool other = j->len == 5 && memcmp(j->text, "other", 5) == 0;

            if (values) {
                read_cells(c, j);
                continue;
            }
            type = al_json_next(j);
            if (other)
                while (al_json_next(j) != AL_JSON_ARRAY_END)
                    c->other++;
            else
                assert_int_equal(al_json_skip(j, &at, &len), AL_OK);
        }
}

/* The keys and measures of group-by i. */
static struct columns *read_answer(const al_buf *json, size_t i)
{
    struct columns *c = calloc(1, sizeof *c);
    const char *groups;
    al_json_type type;
    size_t len, at, skip;
    al_json j;

    assert_true(al_json_get_raw(json->data, json->len, "groups", &groups, &len));
    al_json_open(&j, groups, len, 0);
    al_json_next(&j);
    for (size_t k = 0; k <= i; k++) {
        assert_int_equal(al_json_next(&j), AL_JSON_OBJECT);
        if (k < i)
            al_json_skip(&j, &at, &skip);
    }
    while (al_json_next(&j) == AL_JSON_KEY) {
        if (j.len == 4 && memcmp(j.text, "keys", 4) == 0) {
            read_keys(c, &j);
        } else if (j.len == 8 && memcmp(j.text, "measures", 8) == 0) {
            assert_int_equal(al_json_next(&j), AL_JSON_ARRAY);
            for (;;) {
                size_t before = j.pos;

                type = al_json_next(&j);
                if (type == AL_JSON_ARRAY_END)
                    break;
                (void)before;
                assert_int_equal(type, AL_JSON_ARRAY);
                /* the bracket is taken already: read the cells behind it */
                {
                    al_json inner;
                    size_t start, size;

                    assert_int_equal(al_json_skip(&j, &start, &size), AL_OK);
                    al_json_open(&inner, groups + start, size, 0);
                    read_cells(c, &inner);
                    al_json_close(&inner);
                }
            }
        } else {
            al_json_next(&j);
            al_json_skip(&j, &at, &skip);
        }
    }
    al_json_close(&j);
    return c;
}

static bool agrees(const al_cell *got, sqlite3_stmt *stmt, int column)
{
    double want, have;

    switch (sqlite3_column_type(stmt, column)) {
    case SQLITE_NULL: return got->kind == AL_CELL_NULL;
    case SQLITE_TEXT:
        return got->kind == AL_CELL_TEXT &&
               got->len == (size_t)sqlite3_column_bytes(stmt, column) &&
               memcmp(got->text, sqlite3_column_text(stmt, column), got->len) == 0;
    case SQLITE_INTEGER:
        if (got->kind == AL_CELL_INTEGER)
            return got->integer == sqlite3_column_int64(stmt, column);
        break;
    default: break;
    }
    if (got->kind != AL_CELL_INTEGER && got->kind != AL_CELL_REAL)
        return false;
    want = sqlite3_column_double(stmt, column);
    have = got->kind == AL_CELL_INTEGER ? (double)got->integer : got->real;
    return fabs(want - have) <= 1e-9 * fmax(fabs(want), fabs(have)) + 1e-9;
}

static void compare_rows(const struct columns *c, const char *groups, const char *sql)
{
    sqlite3_stmt *stmt;
    size_t row = 0;

    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    assert_int_equal(c->n, sqlite3_column_count(stmt));
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        if (row >= c->rows)
            fail_msg("%s: more rows than %zu: %s", sql, c->rows, groups);
        for (size_t k = 0; k < c->n; k++)
            if (!agrees(&c->cells[k][row], stmt, (int)k))
                fail_msg("%s: row %zu, column %zu is %s (%s): %g %lld", sql, row, k,
                         sqlite3_column_text(stmt, (int)k), groups,
                         c->cells[k][row].kind == AL_CELL_REAL ? c->cells[k][row].real : 0,
                         c->cells[k][row].kind == AL_CELL_INTEGER
                             ? (long long)c->cells[k][row].integer
                             : 0);
        row++;
    }
    if (row != c->rows)
        fail_msg("%s: %zu rows, not %zu: %s", sql, row, c->rows, groups);
    sqlite3_finalize(stmt);
}

static struct columns *gives(const char *filter, const char *groups, const char *sql)
{
    struct columns *c;
    al_buf one, three;
    al_err err;

    al_buf_init(&one, 0);
    al_buf_init(&three, 0);
    if (answer_to(filter, groups, NULL, 1, &one, &err) != AL_OK)
        fail_msg("%s: %s %s", groups, err.id, err.detail);
    assert_int_equal(answer_to(filter, groups, NULL, 3, &three, &err), AL_OK);
    /* up to elapsedMs, which comes last */
    assert_int_equal(one.len > 20, 1);
    assert_memory_equal(one.data, three.data,
                        (size_t)(strstr(one.data, "\"elapsedMs\"") - one.data));
    c = read_answer(&one, 0);
    compare_rows(c, groups, sql);
    al_buf_free(&one);
    al_buf_free(&three);
    return c;
}

static void check(const char *filter, const char *groups, const char *sql)
{
    free_columns(gives(filter, groups, sql));
}

/* ---- tests ---- */

static int set_up(void **state)
{
    (void)state;
    open_table(30000, 4096, 42);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close_table();
    return 0;
}

static void one_key(void **state)
{
    (void)state;
    check(NULL, "[{\"by\":[{\"column\":\"c0\"}]}]",
          "SELECT c0, count(*) FROM data GROUP BY c0 ORDER BY c0");
    check(NULL,
          "[{\"by\":[{\"column\":\"c3\"}],\"measures\":[{\"fn\":\"sum\",\"column\":\"c5\"}]}]",
          "SELECT c3, sum(c5) FROM data GROUP BY c3 ORDER BY c3");
    check(NULL, "[{\"by\":[{\"column\":\"c7\"}]}]",
          "SELECT c7, count(*) FROM data GROUP BY c7 ORDER BY c7");
    check(NULL, "[{\"by\":[{\"column\":\"c6\"}],\"limit\":15000}]",
          "SELECT c6, count(*) FROM data GROUP BY c6 ORDER BY c6 LIMIT 15000");
    check(NULL, "[{\"by\":[{\"column\":\"c2\"}],\"limit\":7}]",
          "SELECT c2, count(*) FROM data GROUP BY c2 ORDER BY c2 LIMIT 7");
    check(NULL, "[{\"by\":[{\"column\":\"c9\"}]}]", "SELECT c9, count(*) FROM data GROUP BY c9");
}

static void no_key(void **state)
{
    (void)state;
    check(NULL,
          "[{\"measures\":[{\"fn\":\"count\"},{\"fn\":\"sum\",\"column\":\"c2\"},{\"fn\":\"avg\","
          "\"column\":\"c4\"},{\"fn\":\"distinct\",\"column\":\"c7\"}]}]",
          "SELECT count(*), sum(c2), avg(c4), count(DISTINCT c7) FROM data");
    check("[{\"column\":\"c0\",\"eq\":\"nowhere\"}]",
          "[{\"measures\":[{\"fn\":\"count\"},{\"fn\":\"sum\",\"column\":\"c2\"},{\"fn\":\"max\","
          "\"column\":\"c1\"}]}]",
          "SELECT count(*), sum(c2), max(c1) FROM data WHERE c0 = 'nowhere'");
    check("[{\"column\":\"c0\",\"eq\":\"nowhere\"}]", "[{\"by\":[{\"column\":\"c1\"}]}]",
          "SELECT c1, count(*) FROM data WHERE c0 = 'nowhere' GROUP BY c1");
}

static void time_and_bins(void **state)
{
    static const char *const units[] = { "day", "week", "month", "quarter", "year" };
    char groups[256], sql[256];

    (void)state;
    for (int i = 0; i < 5; i++) {
        snprintf(groups, sizeof groups, "[{\"by\":[{\"column\":\"c8\",\"unit\":\"%s\"}]}]",
                 units[i]);
        snprintf(sql, sizeof sql,
                 "SELECT al_begin(c8,'%s') k, count(*) FROM data GROUP BY k ORDER BY k", units[i]);
        check(NULL, groups, sql);
    }
    check(NULL, "[{\"by\":[{\"column\":\"c2\",\"unit\":\"month\"}]}]",
          "SELECT NULL, count(*) FROM data");
    check(NULL, "[{\"by\":[{\"column\":\"c5\",\"width\":250}]}]",
          "SELECT al_bin(c5,250,0) k, count(*) FROM data GROUP BY k ORDER BY k");
    check(NULL, "[{\"by\":[{\"column\":\"c5\",\"width\":333.3,\"start\":-7.5}]}]",
          "SELECT al_bin(c5,333.3,-7.5) k, count(*) FROM data GROUP BY k ORDER BY k");
    check(NULL, "[{\"by\":[{\"column\":\"c3\",\"width\":10}]}]",
          "SELECT al_bin(c3,10,0) k, count(*) FROM data GROUP BY k ORDER BY k");
    check(NULL, "[{\"by\":[{\"column\":\"c6\",\"width\":1e5}]}]",
          "SELECT al_bin(c6,1e5,0) k, count(*) FROM data GROUP BY k ORDER BY k");
    check(NULL, "[{\"by\":[{\"column\":\"c7\",\"width\":2}]}]",
          "SELECT al_bin(c7,2,0) k, count(*) FROM data GROUP BY k ORDER BY k");
}

static void the_largest_and_the_rest(void **state)
{
    struct columns *c;

    (void)state;
    c = gives(NULL,
              "[{\"by\":[{\"column\":\"c1\",\"top\":10}],\"measures\":[{\"fn\":\"sum\",\"column\":"
              "\"c2\"},{\"fn\":\"min\",\"column\":\"c5\"},{\"fn\":\"count\"}]}]",
              "WITH g AS (SELECT c1 k, sum(c2) s, min(c5) m, count(*) n FROM data GROUP BY c1), "
              "r AS (SELECT *, row_number() OVER (ORDER BY s DESC, k) i FROM g) "
              "SELECT k, s, m, n FROM (SELECT k, s, m, n, i FROM r WHERE i <= 10 UNION ALL "
              "SELECT NULL, sum(s), min(m), sum(n), 11 FROM r WHERE i > 10) ORDER BY i");
    assert_int_equal(c->other, 1);
    free_columns(c);
    c = gives(
        NULL,
        "[{\"by\":[{\"column\":\"c0\"},{\"column\":\"c1\",\"top\":3,\"rank\":1}],"
        "\"measures\":[{\"fn\":\"distinct\",\"column\":\"c3\"},{\"fn\":\"count\"}]}]",
        "WITH t AS MATERIALIZED (SELECT c1 k, row_number() OVER (ORDER BY count(*) DESC, c1) i "
        "FROM data GROUP BY c1 LIMIT 3), d AS MATERIALIZED (SELECT c0, c1, c3, "
        "ifnull((SELECT i FROM t WHERE k IS c1), 4) i FROM data) "
        "SELECT c0, CASE WHEN i < 4 THEN c1 END, count(DISTINCT c3), count(*) FROM d "
        "GROUP BY c0, i ORDER BY c0, i");
    assert_int_equal(c->other, 21);
    free_columns(c);
    c = gives(NULL, "[{\"by\":[{\"column\":\"c0\",\"top\":500}]}]",
              "SELECT c0, count(*) n FROM data GROUP BY c0 ORDER BY n DESC, c0");
    assert_int_equal(c->other, 0);
    free_columns(c);
    c = gives(NULL,
              "[{\"by\":[{\"column\":\"c0\",\"top\":2}],\"measures\":[{\"fn\":\"distinct\","
              "\"column\":\"c1\"}]}]",
              "WITH g AS (SELECT c0 k, count(DISTINCT c1) n FROM data GROUP BY c0), "
              "t AS MATERIALIZED (SELECT k FROM g ORDER BY n DESC, k LIMIT 2), d AS MATERIALIZED "
              "(SELECT c0, c1, EXISTS (SELECT 1 FROM t WHERE k IS c0) o FROM data) "
              "SELECT CASE WHEN o THEN c0 END, count(DISTINCT c1) FROM d GROUP BY o, "
              "CASE WHEN o THEN c0 END ORDER BY o DESC, 2 DESC");
    assert_int_equal(c->other, 1);
    free_columns(c);
}

/* Of a column of which few values repeat, whose groups are not made as a whole. */
static void the_largest_of_many(void **state)
{
    static const int own[COLUMNS] = { FEW_TEXTS,     OWN_TEXTS, ROW_NUMBERS, FEW_INTEGERS,
                                      MANY_INTEGERS, CENTS,     REALS,       MIXED,
                                      DATES,         NULLS };
    static const char filter[] = "[{\"column\":\"c3\",\"range\":{\"gt\":40}}]";

    (void)state;
    open_styles(own, 80000, 4096, 7);
    for (int filtered = 0; filtered < 2; filtered++) {
        const char *where = filtered ? " WHERE c3 > 40" : "";
        char sql[1024];

        snprintf(
            sql, sizeof sql,
            "WITH g AS (SELECT c1 k, sum(c5) s, avg(c3) a, count(c5) m, count(*) n FROM data%s "
            "GROUP BY c1), r AS (SELECT *, row_number() OVER (ORDER BY s DESC, k) i FROM g) "
            "SELECT k, s, a, m, n FROM (SELECT * FROM r WHERE i <= 50 UNION ALL SELECT NULL, "
            "sum(s), (SELECT avg(c3) FROM data%s%s c1 NOT IN (SELECT k FROM r WHERE i <= 50 "
            "AND k IS NOT NULL)), sum(m), sum(n), 51 FROM r WHERE i > 50) ORDER BY i",
            where, where, filtered ? " AND" : " WHERE");
        check(filtered ? filter : NULL,
              "[{\"by\":[{\"column\":\"c1\",\"top\":50}],\"measures\":[{\"fn\":\"sum\",\"column\":"
              "\"c5\"},{\"fn\":\"avg\",\"column\":\"c3\"},{\"fn\":\"count\",\"column\":\"c5\"},"
              "{\"fn\":\"count\"}]}]",
              sql);
        snprintf(sql, sizeof sql,
                 "SELECT k, n FROM (SELECT k, n, row_number() OVER (ORDER BY n DESC, k) i FROM "
                 "(SELECT c1 k, count(*) n FROM data%s GROUP BY c1)) WHERE i <= 2000 ORDER BY i "
                 "LIMIT 1999",
                 where);
        check(filtered ? filter : NULL,
              "[{\"by\":[{\"column\":\"c1\",\"top\":2000}],\"limit\":1999}]", sql);
    }
    close_table();
}

static void order_and_limit(void **state)
{
    (void)state;
    check(NULL,
          "[{\"by\":[{\"column\":\"c1\"}],\"measures\":[{\"fn\":\"avg\",\"column\":\"c3\"}],"
          "\"order\":{\"measure\":0,\"descending\":true},\"limit\":25}]",
          "SELECT c1, avg(c3) a FROM data GROUP BY c1 ORDER BY a DESC, c1 LIMIT 25");
    check(NULL,
          "[{\"by\":[{\"column\":\"c1\"}],\"measures\":[{\"fn\":\"count\"}],"
          "\"order\":{\"measure\":0},\"limit\":300}]",
          "SELECT c1, count(*) n FROM data GROUP BY c1 ORDER BY n, c1 LIMIT 300");
    check(NULL,
          "[{\"by\":[{\"column\":\"c0\"}],\"measures\":[{\"fn\":\"max\",\"column\":\"c1\"}],"
          "\"order\":{\"measure\":0}}]",
          "SELECT c0, max(c1) n FROM data GROUP BY c0 ORDER BY n, c0");
}

static void combinations_that_are_many(void **state)
{
    (void)state;
    check(NULL, "[{\"by\":[{\"column\":\"c1\"},{\"column\":\"c8\"}],\"limit\":100}]",
          "SELECT c1, c8, count(*) FROM data GROUP BY c1, c8 ORDER BY c1, c8 LIMIT 100");
    check("[{\"column\":\"c3\",\"range\":{\"lt\":5}}]",
          "[{\"by\":[{\"column\":\"c1\"},{\"column\":\"c2\"},{\"column\":\"c8\"},{\"column\":"
          "\"c0\"}],\"measures\":[{\"fn\":\"sum\",\"column\":\"c6\"}],\"limit\":1000}]",
          "SELECT c1, c2, c8, c0, sum(c6) FROM data WHERE c3 < 5 GROUP BY 1,2,3,4 ORDER BY 1,2,3,4 "
          "LIMIT 1000");
}

static void products(void **state)
{
    (void)state;
    check(
        NULL,
        "[{\"by\":[{\"column\":\"c0\"}],\"measures\":[{\"fn\":\"sum\",\"column\":\"c3\",\"times\":"
        "\"c5\"},{\"fn\":\"avg\",\"column\":\"c5\",\"times\":\"c6\"},{\"fn\":\"max\",\"column\":"
        "\"c3\",\"times\":\"c3\"},{\"fn\":\"count\",\"column\":\"c3\",\"times\":\"c5\"},"
        "{\"fn\":\"min\",\"column\":\"c4\",\"times\":\"c5\"}]}]",
        "SELECT c0, sum(c3*c5), avg(c5*c6), max(c3*c3), count(c3*c5), min(c4*c5) FROM data "
        "GROUP BY c0 ORDER BY c0");
}

static void numbers_only(void **state)
{
    (void)state;
    check(NULL,
          "[{\"by\":[{\"column\":\"c0\"}],\"measures\":["
          "{\"fn\":\"sum\",\"column\":\"c7\"},{\"fn\":\"sum\",\"column\":\"c7\",\"numbers\":true},"
          "{\"fn\":\"count\",\"column\":\"c7\",\"numbers\":true},"
          "{\"fn\":\"max\",\"column\":\"c7\"},{\"fn\":\"max\",\"column\":\"c7\",\"numbers\":true},"
          "{\"fn\":\"distinct\",\"column\":\"c7\",\"numbers\":true}]}]",
          "SELECT c0, sum(c7), sum(n), count(n), max(c7), max(n), count(DISTINCT n) FROM (SELECT "
          "*, CASE WHEN typeof(c7) <> 'text' THEN c7 END n FROM data) GROUP BY c0 ORDER BY c0");
}

/* One group-by of random keys, measures and filters, as JSON and as SQL. */
static void random_question(uint64_t *x, al_buf *filter, al_buf *groups, al_buf *sql)
{
    static const char *const fns[] = { "count", "distinct", "sum", "avg", "min", "max" };
    static const struct {
        const char *json, *sql;
    } filters[] = {
        { "", "1" },
        { "{\"column\":\"c3\",\"range\":{\"ge\":20}}", "c3 >= 20" },
        { "{\"column\":\"c0\",\"in\":[\"town 1\",\"town 5\",null]}",
          "(c0 IN ('town 1','town 5') OR c0 IS NULL)" },
        { "{\"column\":\"c8\",\"range\":{\"ge\":\"2019\",\"lt\":\"2021\"}}",
          "(c8 >= '2019' AND c8 < '2021')" },
        { "{\"column\":\"c2\",\"range\":{\"lt\":500}}", "c2 < 500" },
    };
    static const struct {
        const char *json, *sql;
    } keys[] = {
        { "{\"column\":\"c0\"}", "c0" },
        { "{\"column\":\"c3\"}", "c3" },
        { "{\"column\":\"c7\"}", "c7" },
        { "{\"column\":\"c1\"}", "c1" },
        { "{\"column\":\"c8\",\"unit\":\"quarter\"}", "al_begin(c8,'quarter')" },
        { "{\"column\":\"c8\",\"unit\":\"year\"}", "al_begin(c8,'year')" },
        { "{\"column\":\"c5\",\"width\":1000,\"start\":10}", "al_bin(c5,1000,10)" },
        { "{\"column\":\"c9\"}", "c9" },
    };
    size_t f = next_random(x) % 5, nkeys = next_random(x) % 3, nmeasures = 1 + next_random(x) % 4;
    size_t key[3];

    al_buf_clear(filter);
    al_buf_clear(groups);
    al_buf_clear(sql);
    al_buf_printf(filter, "[%s]", filters[f].json);
    al_buf_str(groups, "[{\"by\":[");
    al_buf_str(sql, "SELECT ");
    for (size_t i = 0; i < nkeys; i++) {
        key[i] = next_random(x) % 8;
        al_buf_printf(groups, "%s%s", i ? "," : "", keys[key[i]].json);
        al_buf_printf(sql, "%s k%zu,", keys[key[i]].sql, i);
    }
    al_buf_str(groups, "],\"limit\":20000,\"measures\":[");
    for (size_t i = 0; i < nmeasures; i++) {
        size_t fn = next_random(x) % 6, column = next_random(x) % COLUMNS;

        if (fn == 2 && column == 4)
            column = 5; /* SQLite's own sum may overflow */
        al_buf_printf(groups, "%s{\"fn\":\"%s\",\"column\":\"c%zu\"}", i ? "," : "", fns[fn],
                      column);
        al_buf_printf(sql, "%s%s%sc%zu)", i ? "," : "", fn == 1 ? "count" : fns[fn],
                      fn == 1 ? "(DISTINCT " : "(", column);
    }
    al_buf_str(groups, "]}]");
    al_buf_printf(sql, " FROM data WHERE %s", filters[f].sql);
    for (size_t i = 0; i < nkeys; i++)
        al_buf_printf(sql, "%s%zu", i ? "," : " GROUP BY ", i + 1);
    for (size_t i = 0; i < nkeys; i++)
        al_buf_printf(sql, "%s%zu", i ? "," : " ORDER BY ", i + 1);
}

static void random_questions(void **state)
{
    al_buf filter, groups, sql;
    uint64_t x = 99;

    (void)state;
    al_buf_init(&filter, 0);
    al_buf_init(&groups, 0);
    al_buf_init(&sql, 0);
    for (int i = 0; i < 6; i++) {
        open_table(i == 0 ? 0 : (uint32_t)(next_random(&x) % 4000), 4096u << i % 5, 100 + i);
        for (int k = 0; k < 40; k++) {
            random_question(&x, &filter, &groups, &sql);
            check(filter.data, groups.data, sql.data);
        }
        close_table();
    }
    al_buf_free(&filter);
    al_buf_free(&groups);
    al_buf_free(&sql);
}

/* A sum of integers is exact up to 64 bits, and real beyond; one of decimals has no rest. */
static void exact_sums(void **state)
{
    static const int styles3[] = { MANY_INTEGERS, CENTS, ROW_NUMBERS };
    const uint32_t rows = 5000;
    al_buf out;
    char want[256];

    (void)state;
    memset(&t, 0, sizeof t);
    t.fd = file_with("", 0, t.path);
    t.rows = rows;
    t.columns = 3;
    t.cells = calloc((size_t)rows * 3, sizeof *t.cells);
    for (uint32_t r = 0; r < rows; r++) {
        t.cells[3 * r] = al_cell_integer(AL_CELL_MAX_INTEGER - r);
        t.cells[3 * r + 1] = al_cell_real(r % 2 ? 0.1 : 0.2);
        t.cells[3 * r + 2] = al_cell_integer(r < 1000 ? 0 : r < 1200 ? 1 : 2);
    }
    write_table(&t, 4096, false, styles3);
    assert_int_equal(al_store_open(&store, NULL), AL_OK);
    al_buf_init(&out, 0);
    assert_int_equal(answer_to(NULL,
                               "[{\"by\":[{\"column\":\"c2\"}],\"measures\":[{\"fn\":\"sum\","
                               "\"column\":\"c0\"},{\"fn\":\"sum\",\"column\":\"c1\"}]}]",
                               NULL, 2, &out, NULL),
                     AL_OK);
    snprintf(want, sizeof want, "\"measures\":[[%lld,%lld,3.422",
             (long long)(1000 * AL_CELL_MAX_INTEGER - 999 * 1000 / 2),
             (long long)(200 * AL_CELL_MAX_INTEGER - 1099 * 200 - 100));
    if (!strstr(out.data, want))
        fail_msg("%s in %s", want, out.data);
    assert_non_null(strstr(out.data, "[150.0,30.0,570.0]"));
    al_buf_free(&out);
    al_store_close(store);
    drop_table(&t);
}

static void many_at_once(void **state)
{
    const char groups[] =
        "[{\"by\":[{\"column\":\"c0\"}],\"filter\":[{\"column\":\"c3\",\"range\":{\"gt\":0}}]},"
        "{\"by\":[{\"column\":\"c3\"}],\"filter\":[{\"column\":\"c0\",\"eq\":\"town 3\"}]},"
        "{\"by\":[{\"column\":\"c8\",\"unit\":\"year\"}]},"
        "{\"by\":[{\"column\":\"c8\",\"unit\":\"month\"}]},"
        "{\"by\":[{\"column\":\"c0\"},{\"column\":\"c8\",\"unit\":\"year\"}],"
        "\"measures\":[{\"fn\":\"sum\",\"column\":\"c5\"},{\"fn\":\"max\",\"column\":\"c5\"}]}]";
    static const char *const sql[] = {
        "SELECT c0, count(*) FROM data WHERE c2 > 100 AND c3 > 0 GROUP BY c0 ORDER BY c0",
        "SELECT c3, count(*) FROM data WHERE c2 > 100 AND c0 = 'town 3' GROUP BY c3 ORDER BY c3",
        "SELECT al_begin(c8,'year') k, count(*) FROM data WHERE c2 > 100 GROUP BY k ORDER BY k",
        "SELECT al_begin(c8,'month') k, count(*) FROM data WHERE c2 > 100 GROUP BY k ORDER BY k",
        ("SELECT c0, al_begin(c8,'year') k, sum(c5), max(c5) FROM data WHERE c2 > 100 "
         "GROUP BY c0, k ORDER BY c0, k"),
    };
    al_buf out;

    (void)state;
    al_buf_init(&out, 0);
    assert_int_equal(
        answer_to("[{\"column\":\"c2\",\"range\":{\"gt\":100}}]", groups, NULL, 2, &out, NULL),
        AL_OK);
    for (size_t i = 0; i < 5; i++) {
        struct columns *c = read_answer(&out, i);

        compare_rows(c, groups, sql[i]);
        free_columns(c);
    }
    al_buf_free(&out);
}

/* Keys that are cut are looked at one by one first: that may be more cubes than there are
 * group-bys. */
static void as_many_as_may_be(void **state)
{
    static const char group[] =
        "{\"by\":[{\"column\":\"c0\",\"top\":2},{\"column\":\"c3\",\"top\":2},"
        "{\"column\":\"c0\",\"top\":3},{\"column\":\"c3\",\"top\":3}]}";
    static const char front[] = "\"groups\":[", end[] = "],\"samples\"";
    al_buf groups, one, all, want;
    const char *from, *to;

    (void)state;
    al_buf_init(&groups, 0);
    al_buf_init(&one, 0);
    al_buf_init(&all, 0);
    al_buf_init(&want, 0);
    al_buf_printf(&groups, "[%s]", group);
    assert_int_equal(answer_to(NULL, groups.data, NULL, 2, &one, NULL), AL_OK);
    from = strstr(one.data, front);
    to = strstr(one.data, end);
    assert_true(from && to);
    from += strlen(front);
    al_buf_clear(&groups);
    for (int i = 0; i < AL_AGGREGATE_MAX_GROUPS; i++) {
        al_buf_printf(&groups, "%c%s", i ? ',' : '[', group);
        al_buf_str(&want, i ? "," : front);
        al_buf_add(&want, from, (size_t)(to - from));
    }
    al_buf_str(&groups, "]");
    al_buf_str(&want, end);
    assert_int_equal(answer_to(NULL, groups.data, NULL, 2, &all, NULL), AL_OK);
    assert_non_null(strstr(all.data, want.data));
    al_buf_free(&groups);
    al_buf_free(&one);
    al_buf_free(&all);
    al_buf_free(&want);
}

static void samples(void **state)
{
    al_buf out;

    (void)state;
    al_buf_init(&out, 0);
    assert_int_equal(answer_to("[{\"column\":\"c0\",\"eq\":\"town 3\"}]", NULL,
                               "[{\"columns\":[\"c2\",\"c5\"],\"rows\":50}]", 2, &out, NULL),
                     AL_OK);
    {
        const char *list;
        al_buf kept;
        size_t len;
        int64_t all, want;

        al_buf_init(&kept, 0);
        assert_true(al_json_get_raw(out.data, out.len, "samples", &list, &len));
        assert_true(al_json_get_int(list + 1, len - 2, "rows", &all));
        want = atoll(ask(db, "SELECT count(*) FROM data WHERE c0='town 3' AND c5 IS NOT NULL"));
        assert_int_equal(all, want);
        al_buf_printf(&kept,
                      "SELECT '[['||group_concat(c2)||'],[' FROM (SELECT c2, row_number() OVER "
                      "(ORDER BY rowid)-1 i FROM data WHERE c0='town 3' AND c5 IS NOT NULL) WHERE "
                      "i IN (WITH RECURSIVE n(k) AS (VALUES(0) UNION ALL SELECT k+1 FROM n WHERE "
                      "k<49) SELECT k*%lld/50 FROM n)",
                      (long long)all);
        assert_non_null(strstr(list, ask(db, kept.data)));
        al_buf_free(&kept);
    }
    al_buf_free(&out);
}

static void what_is_wrong_is_said(void **state)
{
    static const struct {
        const char *groups, *detail;
    } cases[] = {
        { "{}", "groups: not a list" },
        { "[{\"by\":[{\"column\":\"x\"}]}]", "no such column: x" },
        { "[{\"by\":[{}]}]", "by: column: not a text" },
        { "[{\"by\":[{\"column\":\"c0\",\"units\":1}]}]", "by: no field is called units" },
        { "[{\"by\":[{\"column\":\"c0\",\"unit\":\"hour\"}]}]", "unit: hour is none" },
        { "[{\"by\":[{\"column\":\"c0\",\"unit\":\"day\",\"width\":1}]}]",
          "by: a unit and a width" },
        { "[{\"by\":[{\"column\":\"c5\",\"width\":0}]}]", "width: not more than 0" },
        { "[{\"by\":[{\"column\":\"c5\",\"width\":-1}]}]", "width: not more than 0" },
        { "[{\"by\":[{\"column\":\"c5\",\"width\":1e-9}]}]", "width: more than 10000 bins" },
        { "[{\"by\":[{\"column\":\"c5\",\"start\":1}]}]", "start: needs a width" },
        { "[{\"by\":[{\"column\":\"c5\",\"top\":0}]}]", "top: not an integer between" },
        { "[{\"by\":[{\"column\":\"c5\",\"top\":3,\"rank\":1}]}]", "rank: no such measure" },
        { "[{\"by\":[{\"column\":\"c5\",\"rank\":0}]}]", "rank: needs a top" },
        { "[{\"measures\":[{\"fn\":\"median\",\"column\":\"c0\"}]}]", "fn: median is none" },
        { "[{\"measures\":[{\"fn\":\"sum\"}]}]", "measures: column: not a text" },
        { "[{\"measures\":[{\"fn\":\"distinct\",\"column\":\"c0\",\"times\":\"c1\"}]}]",
          "times: not with this fn" },
        { "[{\"order\":{\"measure\":1}}]", "order: measure: not an integer between 0 and 0" },
        { "[{\"limit\":0}]", "limit: not an integer between 1 and" },
        { "[{\"filter\":[{\"column\":\"c0\"}]}]", "filter: one of eq" },
        { "[{\"by\":[{\"column\":\"c0\"},{\"column\":\"c0\"},{\"column\":\"c0\"},{\"column\":"
          "\"c0\"},{\"column\":\"c0\"}]}]",
          "by: more than 4" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        al_buf out;
        al_err err;

        al_buf_init(&out, 0);
        assert_int_equal(answer_to(NULL, cases[i].groups, NULL, 1, &out, &err), AL_EINVAL);
        assert_string_equal(err.id, "query_rejected");
        if (strncmp(err.detail, cases[i].detail, strlen(cases[i].detail)) != 0)
            fail_msg("%s: %s", cases[i].groups, err.detail);
        al_buf_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(time_and_bins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_largest_and_the_rest, set_up, tear_down),
        cmocka_unit_test(the_largest_of_many),
        cmocka_unit_test_setup_teardown(order_and_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(combinations_that_are_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(products, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_only, set_up, tear_down),
        cmocka_unit_test(random_questions),
        cmocka_unit_test(exact_sums),
        cmocka_unit_test_setup_teardown(many_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(as_many_as_may_be, set_up, tear_down),
        cmocka_unit_test_setup_teardown(samples, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_said, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
