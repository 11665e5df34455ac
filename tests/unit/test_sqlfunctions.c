/* Values here are those of Python's statistics module; tests/e2e/test_engine.py asks it for more.
 */
#include "data.h"
#include "data/sqlfunctions.h"

static sqlite3 *db;

static int open_db(void **state)
{
    (void)state;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(al_sqlfunctions_add(db), SQLITE_OK);
    return 0;
}

static int close_db(void **state)
{
    (void)state;
    return sqlite3_close(db);
}

static void gives(const char *sql, const char *want)
{
    const char *got = ask(db, sql);

    if (strcmp(got, want) != 0)
        fail_msg("%s gave %s, not %s", sql, got, want);
}

static void fails(const char *sql, const char *words)
{
    char *message = NULL;

    if (sqlite3_exec(db, sql, NULL, NULL, &message) == SQLITE_OK)
        fail_msg("%s did not fail", sql);
    if (!strstr(message, words))
        fail_msg("%s: %s", sql, message);
    sqlite3_free(message);
}

#define OF(values) " FROM (SELECT column1 AS x FROM (VALUES " values "))"

static void order(void **state)
{
    (void)state;
    gives("SELECT median(x)" OF("(3),(1),(2)"), "2.0");
    gives("SELECT median(x)" OF("(4),(1),(3),(2)"), "2.5");
    gives("SELECT median(x)" OF("(7)"), "7.0");
    gives("SELECT median(x)" OF("(NULL),(5),(NULL)"), "5.0");
    gives("SELECT median(x)" OF("('10'),('x'),(''),(x'31'),(20),(' 30 ')"), "20.0");
    gives("SELECT median(x) IS NULL" OF("(NULL),('x')"), "1");
    gives("SELECT median(1) IS NULL FROM (SELECT 1) WHERE 0", "1");
    gives("SELECT median(x)" OF("(1e999),(1)"), "Inf");
    gives("SELECT median(x)" OF("(1e999),(1),(2)"), "2.0");
    gives("SELECT median(x) IS NULL" OF("(1e999),(-1e999)"), "1");
    gives("SELECT median(x)" OF("(1.7e308),(1.6e308)"), "1.65e+308");
    gives("SELECT median(x)" OF("(0.1),(0.3)"), "0.2");
    gives("SELECT percentile(x, 25)" OF("(1),(2),(4),(10)"), "1.75");
    gives("SELECT percentile(x, 0) || ' ' || percentile(x, 100)" OF("(5),(1),(9)"), "1.0 9.0");
    gives("SELECT percentile(x, '50')" OF("(1),(2)"), "1.5");
    gives("SELECT percentile_cont(x, 0.9)" OF("(1),(2),(3),(4),(5),(6),(7),(8),(9),(10),(11)"),
          "10.0");
    gives("SELECT percentile_disc(x, 0.5)" OF("(1),(2),(3),(4)"), "2.0");
    gives("SELECT percentile_disc(x, 0.51)" OF("(1),(2),(3),(4)"), "3.0");
    gives("SELECT percentile_disc(x, 0) || ' ' || percentile_disc(x, 1)" OF("(1),(2),(3)"),
          "1.0 3.0");
    gives("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT 100) "
          "SELECT percentile_disc(x, 0.07) FROM c",
          "7.0");
    fails("SELECT percentile(1, 101)", "from 0 to 100");
    fails("SELECT percentile(1, NULL)", "from 0 to 100");
    fails("SELECT percentile_cont(1, 1.5)", "from 0 to 1");
    fails("SELECT percentile(x, x)" OF("(1),(2)"), "the same for all rows");
}

static void spread(void **state)
{
    (void)state;
    gives("SELECT stddev(x)" OF("(1),(2),(4),(10)"), "4.03112887414927");
    gives("SELECT stddev_samp(x) = stddev(x) AND var_samp(x) = variance(x)" OF("(1),(2)"), "1");
    gives("SELECT variance(x) || ' ' || var_pop(x) || ' ' || stddev_pop(x)" OF("(2),(4)"),
          "2.0 1.0 1.0");
    gives("SELECT stddev(x) IS NULL AND variance(x) IS NULL" OF("(5)"), "1");
    gives("SELECT stddev_pop(x)" OF("(5)"), "0.0");
    gives("SELECT stddev(x)" OF("(5),(5),(5)"), "0.0");
    gives("SELECT var_pop(x) IS NULL" OF("(NULL),('x')"), "1");
    gives("SELECT stddev(1) IS NULL FROM (SELECT 1) WHERE 0", "1");
    gives("SELECT variance(x)" OF("('2'),(NULL),('x'),(4)"), "2.0");
    gives("SELECT variance(x) IS NULL" OF("(1),(1e999)"), "1");
    gives("SELECT variance(x) IS NULL" OF("(1e999),(1)"), "1");
    gives("SELECT variance(x) IS NULL" OF("(1e200),(2e200)"), "1");
    /* digits that squares of doubles do not have */
    gives("SELECT variance(x)" OF("(1e9+4),(1e9+7),(1e9+13),(1e9+16)"), "30.0");
    gives("SELECT variance(x)" OF("(1e15+4),(1e15+7),(1e15+13),(1e15+16)"), "30.0");
    gives("SELECT variance(x)" OF("(0),(1e9+4),(1e9+7),(1e9+13)") " WHERE x > 0", "21.0");
}

static void most_frequent(void **state)
{
    (void)state;
    gives("SELECT mode(x)" OF("('a'),('b'),('b')"), "b");
    gives("SELECT mode(x)" OF("('b'),('a'),('c')"), "a"); /* a tie: the smallest */
    gives("SELECT mode(x)" OF("('b'),(x'61'),(7),(3.5),(NULL),(NULL)"), "3.5");
    gives("SELECT mode(x) || typeof(mode(x))" OF("(1.0),(1),(2)"), "1integer");
    gives("SELECT mode(x) || typeof(mode(x))" OF("(1.0),(1.0),(2)"), "1.0real");
    gives("SELECT typeof(mode(x))" OF("('1'),('1'),(1)"), "text");
    gives("SELECT hex(mode(x))" OF("(x''),(x''),('')"), "");
    gives("SELECT typeof(mode(x))" OF("(x''),(x''),('')"), "blob");
    gives("SELECT mode(x)" OF("(9007199254740993),(9007199254740992.0),(9007199254740993)"),
          "9007199254740993");
    gives("SELECT mode(x)" OF("(9223372036854775807),(9223372036854775808.0)"),
          "9223372036854775807");
    gives("SELECT mode(x)" OF("(-0.0),(0),(5)"), "0");
    gives("SELECT mode(x) IS NULL" OF("(NULL)"), "1");
    gives("SELECT mode(1) IS NULL FROM (SELECT 1) WHERE 0", "1");
    gives("WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x+1 FROM c LIMIT 30000) "
          "SELECT mode('v' || (x % 9973)) FROM c",
          "v0");
}

static void windows(void **state)
{
    (void)state;
    assert_int_equal(sqlite3_exec(db,
                                  "CREATE TABLE w AS SELECT column1 AS i, column2 AS x FROM "
                                  "(VALUES (1,4),(2,NULL),(3,1e15),(4,'a'),(5,2),(6,8),(7,8))",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    gives("SELECT group_concat(ifnull(m, '-'), ' ') FROM (SELECT median(x) OVER (ORDER BY i ROWS "
          "BETWEEN 2 PRECEDING AND CURRENT ROW) AS m FROM w)",
          "4.0 4.0 500000000000002.0 1.0e+15 500000000000001.0 5.0 8.0");
    gives("SELECT group_concat(ifnull(m, '-'), ' ') FROM (SELECT var_pop(x) OVER (ORDER BY i ROWS "
          "BETWEEN 2 PRECEDING AND CURRENT ROW) AS m FROM w)",
          "0.0 0.0 2.49999999999998e+29 0.0 2.49999999999999e+29 9.0 8.0");
    gives("SELECT group_concat(ifnull(m, '-'), ' ') FROM (SELECT mode(x) OVER (ORDER BY i ROWS "
          "BETWEEN 1 PRECEDING AND CURRENT ROW) AS m FROM w)",
          "4 4 1.0e+15 1.0e+15 2 2 8");
    gives("SELECT group_concat(m, ' ') FROM (SELECT median(x) OVER (ORDER BY i ROWS BETWEEN "
          "UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW) AS m FROM w)",
          "8.0 8.0 6.0 8.0 8.0 6.0 6.0");
    /* many rows through a small frame: what has left it is given back */
    gives("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT 100000) SELECT "
          "sum(m) FROM (SELECT median(x) OVER (ORDER BY x ROWS 2 PRECEDING) AS m FROM c)",
          "4999950001.5");
}

static void patterns(void **state)
{
    (void)state;
    gives("SELECT 'abc' REGEXP '^a.c$'", "1");
    gives("SELECT regexp('^b', 'abc')", "0");
    gives("SELECT NULL REGEXP 'a' IS NULL AND ('a' REGEXP NULL) IS NULL", "1");
    gives("SELECT 12.5 REGEXP '^\\d+\\.5$'", "1");
    gives("SELECT '' REGEXP ''", "1");
    gives("SELECT CAST('a' || char(0) || 'b' AS TEXT) REGEXP 'b$'", "1");
    gives("SELECT group_concat(x REGEXP p) FROM (SELECT 'ab' AS x, column1 AS p FROM (VALUES "
          "('a'),('^b'),('b$'),('c')))",
          "1,0,1,0"); /* the pattern is another one in every row */
    fails("SELECT 'a' REGEXP '('", "never closed");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_db, close_db)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(order), TEST(spread), TEST(most_frequent), TEST(windows), TEST(patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
