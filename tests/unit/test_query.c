#include "base/wire.h"
#include "data.h"
#include "data/dataset.h"
#include "data/query.h"
#include <sys/socket.h>

static int dataset, ends[2];
static al_link link_;
static al_buf rows, result;
static al_err err;

static int set_up(void **state)
{
    const al_cell labels[] = { text("a"), text("b") };
    const al_dataset_options o = { .max_rows = 100 };
    const al_dataset_meta meta = { .format = "csv" };
    al_cell cells[] = { al_cell_integer(1), text("x"), al_cell_integer(2), al_cell_null() };
    const al_batch b = { .cells = cells, .columns = 2, .rows = 2 };
    al_dataset *d;

    (void)state;
    dataset = file_with("", 0, NULL);
    assert_int_equal(al_dataset_open(&d, dataset, &o, NULL), AL_OK);
    assert_int_equal(al_dataset_sheet(d, "data", "data", labels, 2, NULL), AL_OK);
    assert_int_equal(al_dataset_rows(d, &b, NULL), AL_OK);
    assert_int_equal(al_dataset_finish(d, &meta, NULL), AL_OK);
    al_dataset_close(d);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    al_link_init(&link_, ends[0]);
    al_buf_init(&rows, 0);
    al_buf_init(&result, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(dataset);
    close(ends[0]);
    close(ends[1]);
    al_buf_free(&rows);
    al_buf_free(&result);
    return 0;
}

/* Runs the statement; `rows` are the bodies of the frames, one a line. */
static int run(const char *sql, uint64_t max_rows, uint64_t cell_bytes)
{
    const al_query_options o = { sql, strlen(sql), max_rows, 5000, cell_bytes };
    char bytes[65536];
    al_buf stream;
    ssize_t n;
    int rc;

    memset(&err, 0, sizeof err);
    al_buf_clear(&rows);
    al_buf_clear(&result);
    rc = al_query_run(dataset, -1, &o, &link_, &result, &err);
    al_buf_init(&stream, 0);
    while ((n = recv(ends[1], bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        al_buf_add(&stream, bytes, (size_t)n);
    while (stream.len) {
        al_wire_type type;
        const char *body;
        size_t len, used;

        assert_int_equal(al_wire_parse(stream.data, stream.len, &type, &body, &len, &used), 1);
        assert_int_equal(type, AL_WIRE_ROWS);
        al_buf_add(&rows, body, len);
        al_buf_char(&rows, '\n');
        al_buf_drop(&stream, used);
    }
    al_buf_free(&stream);
    return rc;
}

static void gives(const char *sql, const char *want)
{
    if (run(sql, 200, 2048) != AL_OK)
        fail_msg("%s: %s", sql, err.detail);
    if (strcmp(rows.data ? rows.data : "", want) != 0)
        fail_msg("%s gave %s", sql, rows.data ? rows.data : "");
}

static void rows_and_kinds(void **state)
{
    (void)state;
    gives("SELECT * FROM data", "{\"rows\":[[1,\"x\"],[2,null]],\"kinds\":[\"it\",\"in\"]}\n");
    assert_non_null(strstr(result.data, "\"columns\":[\"a\",\"b\"],\"truncated\":false"));
    assert_non_null(strstr(result.data, "\"cut\":[]"));
}

static void no_rows(void **state)
{
    (void)state;
    gives("SELECT a AS \"x\"\"y\", a FROM data WHERE a > 5", "");
    assert_non_null(strstr(result.data, "\"columns\":[\"x\\\"y\",\"a\"]"));
}

static void numbers_are_exact(void **state)
{
    (void)state;
    gives("SELECT 9007199254740992, 9007199254740993, 9223372036854775807, -9223372036854775808",
          "{\"rows\":[[9007199254740992,\"9007199254740993\",\"9223372036854775807\","
          "-9223372036854775808]],\"kinds\":[\"iiii\"]}\n");
    gives("SELECT 0.1+0.2, 1e999, -1e999, 2.0, 1e300",
          "{\"rows\":[[0.30000000000000004,\"Infinity\",\"-Infinity\",2.0,1e300]],"
          "\"kinds\":[\"rrrrr\"]}\n");
    gives("SELECT NULL, '', 0, 0.0, 1/0",
          "{\"rows\":[[null,\"\",0,0.0,null]],\"kinds\":[\"ntirn\"]}\n");
}

static void blobs_and_odd_texts(void **state)
{
    (void)state;
    gives("SELECT x'00ff', zeroblob(2), x''",
          "{\"rows\":[[\"x'00ff'\",\"x'0000'\",\"x''\"]],\"kinds\":[\"bbb\"]}\n");
    gives("SELECT 'a'||char(0)||'b'", "{\"rows\":[[\"a\\u0000b\"]],\"kinds\":[\"t\"]}\n");
    gives("SELECT CAST(x'61ff62' AS TEXT)", "{\"rows\":[[\"a\xEF\xBF\xBD"
                                            "b\"]],\"kinds\":[\"t\"]}\n");
}

static void long_cells_are_cut(void **state)
{
    (void)state;
    assert_int_equal(
        run("SELECT 'short', printf('%.*c', 40, 'y'), 'ñññññññññ', x'0011223344556677' "
            "UNION ALL SELECT 1, 2, 3, 4",
            10, 16),
        AL_OK);
    assert_string_equal(rows.data, "{\"rows\":[[\"short\",\"yyyyyyyyyyyyyyyy\xE2\x80\xA6\","
                                   "\"ññññññññ\xE2\x80\xA6\",\"x'0011223344556677\xE2\x80\xA6\"],"
                                   "[1,2,3,4]],\"kinds\":[\"tttb\",\"iiii\"]}\n");
    assert_non_null(strstr(result.data, "\"cut\":[[0,1],[0,2],[0,3]]"));
}

static void many_rows_are_cut(void **state)
{
    (void)state;
    assert_int_equal(run("SELECT a FROM data", 1, 2048), AL_OK);
    assert_non_null(strstr(result.data, "\"truncated\":true"));
    assert_string_equal(rows.data, "{\"rows\":[[1]],\"kinds\":[\"i\"]}\n");
    assert_int_equal(run("SELECT a FROM data", 2, 2048), AL_OK);
    assert_non_null(strstr(result.data, "\"truncated\":false"));
    assert_int_equal(run("SELECT a FROM data", 0, 2048), AL_OK);
    assert_non_null(strstr(result.data, "\"truncated\":true"));
    /* and an endless source is left as soon as there is enough */
    assert_int_equal(
        run("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c", 3,
            2048),
        AL_OK);
    assert_string_equal(rows.data, "{\"rows\":[[1],[2],[3]],\"kinds\":[\"i\",\"i\",\"i\"]}\n");
}

static void refusals_send_nothing(void **state)
{
    (void)state;
    assert_int_equal(run("DELETE FROM data", 10, 2048), AL_EDENIED);
    assert_int_equal(rows.len, 0);
    assert_int_equal(result.len, 0);
}

static void a_cancel_stops_it(void **state)
{
    (void)state;
    assert_int_equal(al_wire_send(ends[1], AL_WIRE_CANCEL, "", 0, NULL, 0), AL_OK);
    assert_int_equal(
        run("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT max(x) "
            "FROM c",
            3, 2048),
        AL_ECANCELED);
    assert_string_equal(err.id, "cancelled");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_and_kinds),        TEST(no_rows),
        TEST(numbers_are_exact),     TEST(blobs_and_odd_texts),
        TEST(long_cells_are_cut),    TEST(many_rows_are_cut),
        TEST(refusals_send_nothing), TEST(a_cancel_stops_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
