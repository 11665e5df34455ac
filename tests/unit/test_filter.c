#include "data/filter.h"
#include "table.h"

static const int styles[] = { FEW_TEXTS, MANY_TEXTS, ROW_NUMBERS, FEW_INTEGERS, MANY_INTEGERS,
                              CENTS,     REALS,      MIXED,       DATES,        NULLS };
static const uint32_t all[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };

static table t;
static al_scan *scan;
static al_vector *vectors[10];
static sqlite3 *db;

static int set_up(void **state)
{
    al_work work;

    (void)state;
    make_table(&t, 20000, 10, styles, 8192, false, 4711);
    al_work_init(&work, 2, NULL);
    assert_int_equal(al_scan_open(&scan, t.fd, NULL, NULL), AL_OK);
    assert_int_equal(al_vector_read(scan, all, 10, vectors, &work, NULL), AL_OK);
    db = open_file(t.path);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sqlite3_close(db);
    for (int i = 0; i < 10; i++)
        al_vector_free(vectors[i]);
    al_scan_close(scan);
    drop_table(&t);
    return 0;
}

static const al_vector *vector_of(void *data, uint32_t column)
{
    return ((al_vector **)data)[column];
}

/* The filter lets the rows through for which the condition of SQL is true. */
static void selects(const char *json, const char *sql)
{
    uint64_t *bits = malloc(AL_FILTER_WORDS(t.rows) * sizeof *bits), count;
    sqlite3_stmt *stmt;
    char query[512];
    al_filter *f;
    al_work work;
    al_err err;

    if (al_filter_parse(&f, json, strlen(json), scan, &err) != AL_OK)
        fail_msg("%s: %s", json, err.detail);
    al_work_init(&work, 2, NULL);
    assert_int_equal(al_filter_run(f, vector_of, vectors, t.rows, bits, &count, &work, NULL),
                     AL_OK);
    snprintf(query, sizeof query, "SELECT ifnull(%s,0) FROM data ORDER BY rowid", sql);
    assert_int_equal(sqlite3_prepare_v2(db, query, -1, &stmt, NULL), SQLITE_OK);
    for (uint32_t r = 0; r < t.rows; r++) {
        bool bit = bits[r / 64] >> r % 64 & 1;

        assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
        if (bit != (sqlite3_column_int(stmt, 0) != 0))
            fail_msg("%s: row %u", json, r);
        count -= bit;
    }
    assert_int_equal(count, 0);
    assert_int_equal(bits[t.rows / 64] >> t.rows % 64, 0);
    sqlite3_finalize(stmt);
    al_filter_free(f);
    free(bits);
}

static void conditions(void **state)
{
    (void)state;
    selects("[]", "1");
    selects("[{\"column\":\"c0\",\"eq\":\"town 7\"}]", "c0 = 'town 7'");
    selects("[{\"column\":\"c0\",\"in\":[\"town 7\",\"no\",\"town 19\"]}]",
            "c0 IN ('town 7','town 19')");
    selects("[{\"column\":\"c0\",\"in\":[null,\"town 19\"]}]", "c0 IS NULL OR c0 = 'town 19'");
    selects("[{\"column\":\"c0\",\"notIn\":[\"town 7\"]}]", "c0 IS NOT 'town 7'");
    selects("[{\"column\":\"c0\",\"in\":[]}]", "0");
    selects("[{\"column\":\"c0\",\"notIn\":[]}]", "1");
    selects("[{\"column\":\"c3\",\"null\":true}]", "c3 IS NULL");
    selects("[{\"column\":\"c5\",\"null\":false}]", "c5 IS NOT NULL");
    selects("[{\"column\":\"c9\",\"null\":true}]", "1");
    selects("[{\"column\":\"c3\",\"range\":{\"ge\":10,\"lt\":20.5}}]", "c3 >= 10 AND c3 < 20.5");
    selects("[{\"column\":\"c2\",\"eq\":77}]", "c2 = 77");
    selects("[{\"column\":\"c2\",\"eq\":77.0}]", "c2 = 77");
    selects("[{\"column\":\"c2\",\"eq\":77.5}]", "0");
    selects("[{\"column\":\"c2\",\"eq\":\"77\"}]", "0");
    selects("[{\"column\":\"c2\",\"in\":[77,79,1e300,\"80\"]}]", "c2 IN (77,79)");
    selects("[{\"column\":\"c2\",\"range\":{\"gt\":100,\"le\":200}}]", "c2 > 100 AND c2 <= 200");
    selects("[{\"column\":\"c4\",\"range\":{\"gt\":0}}]", "c4 > 0");
    selects("[{\"column\":\"c4\",\"range\":{\"lt\":-1e300}}]", "0");
    selects("[{\"column\":\"c4\",\"range\":{\"lt\":1e300}}]", "c4 IS NOT NULL");
    selects("[{\"column\":\"c5\",\"range\":{\"ge\":-12.34,\"le\":99.99}}]",
            "c5 BETWEEN -12.34 AND 99.99");
    selects("[{\"column\":\"c5\",\"range\":{\"gt\":-12.345}}]", "c5 > -12.345");
    selects("[{\"column\":\"c5\",\"range\":{\"gt\":\"a\"}}]", "0");
    selects("[{\"column\":\"c6\",\"range\":{\"gt\":0}}]", "c6 > 0");
    selects("[{\"column\":\"c6\",\"eq\":0}]", "c6 = 0");
    selects("[{\"column\":\"c7\",\"eq\":1}]", "c7 = 1");
    selects("[{\"column\":\"c7\",\"in\":[\"1\",2.5]}]", "c7 IN ('1', 2.5)");
    selects("[{\"column\":\"c7\",\"range\":{\"ge\":3}}]",
            "c7 >= 3 AND typeof(c7) IN ('integer','real')");
    selects("[{\"column\":\"c7\",\"range\":{\"lt\":\"5\"}}]", "c7 < '5' AND typeof(c7)='text'");
    selects("[{\"column\":\"c8\",\"range\":{\"ge\":\"2019-06\",\"lt\":\"2021\"}}]",
            "c8 >= '2019-06' AND c8 < '2021'");
    selects("[{\"column\":\"c0\",\"contains\":\"OWN 1\"}]", "c0 LIKE '%own 1%'");
    selects("[{\"column\":\"c0\",\"contains\":\"\"}]", "c0 IS NOT NULL");
    selects("[{\"column\":\"c2\",\"contains\":\"99\"}]", "c2 LIKE '%99%'");
    selects("[{\"column\":\"c1\",\"contains\":\"9 6\"}]", "c1 LIKE '%9 6%'");
    selects("[{\"column\":\"c5\",\"contains\":\"5.7\"}]", "c5 LIKE '%5.7%'");
    selects("[{\"column\":\"c0\",\"contains\":\"3\"},{\"column\":\"c3\",\"range\":{\"gt\":40}},"
            "{\"column\":\"c0\",\"notIn\":[\"town 3\"]}]",
            "c0 LIKE '%3%' AND c3 > 40 AND c0 IS NOT 'town 3'");
}

static void letters_of_any_case(void **state)
{
    static const char *const names[] = { "JOS\xC3\x89 \xC3\x91", "jos\xC3\xA9", "Jose", "X", NULL };
    static const int one[] = { FEW_TEXTS };
    const uint32_t column = 0;
    static const struct {
        const char *json;
        uint64_t bits;
    } cases[] = { { "[{\"column\":\"c0\",\"contains\":\"Jos\xC3\xA9\"}]", 3 },
                  { "[{\"column\":\"c0\",\"contains\":\"\xC3\xB1\"}]", 1 },
                  { "[{\"column\":\"c0\",\"contains\":\"jos\"}]", 7 },
                  { "[{\"column\":\"c0\",\"contains\":\"x\"}]", 8 } };
    al_vector *v;
    al_work work;
    al_scan *s;
    table few;

    (void)state;
    memset(&few, 0, sizeof few);
    few.fd = file_with("", 0, few.path);
    few.rows = 5;
    few.columns = 1;
    few.cells = calloc(5, sizeof *few.cells);
    for (int i = 0; i < 5; i++)
        few.cells[i] = text(names[i]);
    write_table(&few, 4096, false, one);
    al_work_init(&work, 1, NULL);
    assert_int_equal(al_scan_open(&s, few.fd, NULL, NULL), AL_OK);
    assert_int_equal(al_vector_read(s, &column, 1, &v, &work, NULL), AL_OK);
    for (size_t i = 0; i < 4; i++) {
        uint64_t bits, count;
        al_filter *f;

        assert_int_equal(al_filter_parse(&f, cases[i].json, strlen(cases[i].json), s, NULL), AL_OK);
        assert_int_equal(al_filter_run(f, vector_of, &v, 5, &bits, &count, &work, NULL), AL_OK);
        assert_int_equal(bits, cases[i].bits);
        al_filter_free(f);
    }
    al_vector_free(v);
    al_scan_close(s);
    drop_table(&few);
}

static void what_is_wrong_is_said(void **state)
{
    static const struct {
        const char *json, *detail;
    } cases[] = {
        { "{}", "filter: not a list" },
        { "[1]", "filter: not an object" },
        { "[{\"column\":\"c0\"}]", "filter: one of eq, in" },
        { "[{\"column\":\"c0\",\"eq\":1,\"null\":true}]", "filter: one of eq, in" },
        { "[{\"column\":\"c0\",\"like\":1}]", "filter: no field is called like" },
        { "[{\"column\":\"c0\",\"column\":\"c0\",\"eq\":1}]", "filter: column stands there twice" },
        { "[{\"column\":\"nope\",\"eq\":1}]", "no such column: nope" },
        { "[{\"column\":7,\"eq\":1}]", "filter: column: not a text" },
        { "[{\"eq\":1}]", "filter: column: not a text" },
        { "[{\"column\":\"c0\",\"eq\":[1]}]", "filter: not a number, text or null" },
        { "[{\"column\":\"c0\",\"in\":1}]", "filter: not a list" },
        { "[{\"column\":\"c0\",\"in\":[true]}]", "filter: not a number, text or null" },
        { "[{\"column\":\"c0\",\"null\":1}]", "filter: null: not true or false" },
        { "[{\"column\":\"c0\",\"contains\":1}]", "filter: contains: not a text" },
        { "[{\"column\":\"c0\",\"range\":{}}]", "filter: range: one of ge and gt" },
        { "[{\"column\":\"c0\",\"range\":{\"ge\":1,\"gt\":1}}]",
          "filter: range: one of ge and gt" },
        { "[{\"column\":\"c0\",\"range\":{\"ge\":1,\"le\":\"2\"}}]",
          "filter: range: a number and" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        al_filter *f;
        al_err err;

        assert_int_equal(al_filter_parse(&f, cases[i].json, strlen(cases[i].json), scan, &err),
                         AL_EINVAL);
        assert_null(f);
        assert_string_equal(err.id, "query_rejected");
        if (strncmp(err.detail, cases[i].detail, strlen(cases[i].detail)) != 0)
            fail_msg("%s: %s", cases[i].json, err.detail);
    }
}

/* Values count in all conditions together, single ones too. */
static void values_have_an_end(void **state)
{
    al_filter *f;
    al_buf json;
    al_err err;

    (void)state;
    al_buf_init(&json, 0);
    al_buf_str(&json, "[{\"column\":\"c0\",\"eq\":0},{\"column\":\"c0\",\"in\":[0");
    for (int i = 1; i < AL_FILTER_MAX_VALUES - 1; i++)
        al_buf_printf(&json, ",%d", i);
    al_buf_str(&json, "]},{\"column\":\"c0\",\"eq\":0}");
    al_buf_str(&json, ",{\"column\":\"c0\",\"notIn\":[1,2]}]");
    assert_int_equal(json.failed, AL_OK);
    assert_int_equal(al_filter_parse(&f, json.data, json.len, scan, &err), AL_EINVAL);
    assert_string_equal(err.detail, "filter: more than 0");
    al_buf_free(&json);
}

static void equal_filters(void **state)
{
    static const char *const json[] = {
        "[{\"column\":\"c0\",\"in\":[1,\"a\"]}]",     "[{\"column\":\"c0\",\"in\":[\"a\",1.0]}]",
        "[{\"column\":\"c0\",\"notIn\":[\"a\",1]}]",  "[{\"column\":\"c1\",\"in\":[1,\"a\"]}]",
        "[{\"column\":\"c0\",\"range\":{\"ge\":1}}]", "[{\"column\":\"c0\",\"range\":{\"gt\":1}}]"
    };
    al_filter *f[6];

    (void)state;
    for (int i = 0; i < 6; i++)
        assert_int_equal(al_filter_parse(&f[i], json[i], strlen(json[i]), scan, NULL), AL_OK);
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 6; k++)
            assert_int_equal(al_filter_equal(f[i], f[k]), i == k || i + k == 1);
    assert_true(al_filter_equal(NULL, NULL));
    assert_false(al_filter_equal(f[0], NULL));
    for (int i = 0; i < 6; i++)
        al_filter_free(f[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions),
        cmocka_unit_test(letters_of_any_case),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(values_have_an_end),
        cmocka_unit_test(equal_filters),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
