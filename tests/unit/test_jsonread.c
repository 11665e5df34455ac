#include "base/json.h"
#include "data/dataset.h"
#include "data/jsonrows.h"
#include "ingestion.h"

static int set_up_lines(void **state)
{
    int rc = set_up(state);

    options.name = "data.jsonl";
    return rc;
}

static int ingest(const char *name, const char *bytes)
{
    options.name = name;
    return ingest_bytes(bytes, strlen(bytes));
}

static bool says(const char *part)
{
    return strstr(result.data, part) != NULL;
}

/* The labels, and the answer to a question about the rows. */
static void is(const char *name, const char *bytes, const char *labels, const char *sql,
               const char *answer)
{
    sqlite3 *db;

    if (ingest(name, bytes) != AL_OK)
        fail_msg("%s: %s", bytes, err.detail);
    db = open_file(path);
    assert_string_equal(ask(db, "PRAGMA integrity_check"), "ok");
    assert_string_equal(ask(db, "SELECT group_concat(label) FROM (SELECT label FROM "
                                "_alisio_columns ORDER BY ordinal)"),
                        labels);
    assert_string_equal(ask(db, sql), answer);
    sqlite3_close(db);
}

static void refused(const char *name, const char *bytes, const char *reason, uint64_t line)
{
    if (ingest(name, bytes) != AL_EDATA)
        fail_msg("%s was taken", bytes);
    if (strcmp(err.id, "ingest_invalid") != 0 || strcmp(err.reason, reason) != 0 ||
        err.line != line)
        fail_msg("%s: %s in line %llu: %s", bytes, err.reason, (unsigned long long)err.line,
                 err.detail);
}

static void shapes(void **state)
{
    static const char a[] = "SELECT group_concat(a) FROM data";

    (void)state;
    is("x.json", "{\"a\":1,\"b\":\"x\"}", "a,b", a, "1");
    assert_true(says("\"format\":\"json\",\"encoding\":\"utf-8\",\"delimiter\":null"));
    is("x.json", "{\n  \"a\": 1,\n  \"b\": \"x\"\n}\n", "a,b", a, "1");
    is("x.json", "{\"a\":1}\n{\"a\":2}\n", "a", a, "1,2");
    is("x.json", " [ {\"a\":1} , {\"a\":2} ] ", "a", a, "1,2");
    is("x.json", "{\"items\":[{\"id\":1},{\"id\":2}],\"total\":2}", "items,total",
       "SELECT items FROM data", "[{\"id\":1},{\"id\":2}]");
    is("data", "[{\"a\":1}]", "a", a, "1");
    is("x.jsonl", "[{\"a\":1}]", "a", a, "1"); /* the bytes decide */
    assert_true(says("\"format\":\"json\""));
    is("x.ndjson", "{\"a\":1}\r\n\r\n{\"a\":2}", "a", a, "1,2");
    assert_true(says("\"format\":\"jsonl\""));
    is("x.jsonl", "{}\n{\"a\":2}\n{}\n", "a", "SELECT count(*) || quote(min(a)) FROM data", "32");
    refused("x.json", "{\"a\":1}{\"a\":2}", "shape", 1);
    refused("x.json", "[1,2,3]", "shape", 1);
    refused("x.json", "[[1,2],[3,4]]", "shape", 1);
    refused("x.json", "[{\"a\":1},5,{\"a\":2}]", "shape", 1);
    refused("x.json", "\"hello\"", "shape", 1);
    refused("x.json", "{\"a\":1}\n[2]", "shape", 2);
    refused("x.jsonl", "{\"a\":1}\n[2]\n{\"a\":3}", "shape", 2);
    refused("x.jsonl", "{\"id\":1}\n{\"id\":2}\n{\"id\":3,\n{\"id\":4}\n", "truncated", 3);
    refused("x.json", "[{\"a\":1}", "truncated", 1);
    refused("x.json", "[{\"a\":1}]\n]", "syntax", 2);
}

static void nothing_in_it(void **state)
{
    static const char *const files[] = { "", " \n\t", "\xEF\xBB\xBF", "\xEF\xBB\xBF\n" };

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        refused("x.json", files[i], "empty", 0);
        refused("x.jsonl", files[i], "empty", 0);
    }
    refused("x.json", "[]", "empty", 0);
    refused("x.json", "{}", "empty", 0);
    refused("x.json", "[{},{}]", "empty", 0);
    refused("x.jsonl", "{}\n{}\n", "empty", 0);
}

static void encodings(void **state)
{
    static const char utf16[] = "\xFE\xFF\0{\0\"\0a\0\"\0:\0\"\0\xE9\0\"\0}";

    (void)state;
    is("x.jsonl", "\xEF\xBB\xBF{\"a\":\"\xC3\xA9\"}", "a", "SELECT a FROM data", "\xC3\xA9");
    assert_true(says("utf-8"));
    assert_int_equal(ingest_bytes(utf16, sizeof utf16 - 1), AL_OK);
    assert_true(says("utf-16be"));
    assert_true(says("\"sample\":[[\"\xC3\xA9\"]]"));
    is("x.json", "[{\"a\":\"caf\xE9\"}]", "a", "SELECT a FROM data", "caf\xC3\xA9");
    assert_true(says("windows-1252"));
    options.encoding = "utf-8";
    refused("x.json", "[{\"a\":\"caf\xE9\"}]", "utf8", 0);
}

static void notes(void **state)
{
    (void)state;
    is("x.jsonl", "{\"a\":1,\"a\":2}\n{\"a\":3}\n{\"a\":4,\"a\":\"\\ud800\"}", "a",
       "SELECT group_concat(a) FROM data", "2,3,\xEF\xBF\xBD");
    assert_true(says("{\"id\":\"repeated_keys\",\"count\":2,\"lines\":[1,3]}"));
    assert_true(says("{\"id\":\"replaced_characters\",\"count\":1}"));
}

static void limits(void **state)
{
    (void)state;
    options.max_rows = 2;
    assert_int_equal(ingest("x.json", "[{\"a\":1},{\"a\":2}]"), AL_OK);
    assert_int_equal(ingest("x.json", "[{\"a\":1},{\"a\":2},{\"a\":3}]"), AL_ELIMIT);
    assert_string_equal(err.object, "analysis.data.maxRows");
    assert_string_equal(err.reason, "maxRows");
    options.max_columns = 2;
    assert_int_equal(ingest("x.jsonl", "{\"a\":1}\n{\"b\":1}"), AL_OK);
    assert_int_equal(ingest("x.jsonl", "{\"a\":1,\"b\":1,\"c\":1}"), AL_ELIMIT);
    assert_string_equal(err.object, "analysis.data.maxColumns");
    options.max_cell_bytes = 5;
    assert_int_equal(ingest("x.jsonl", "{\"a\":\"12345\"}"), AL_OK);
    assert_int_equal(ingest("x.jsonl", "{\"a\":\"123456\"}"), AL_ELIMIT);
    assert_string_equal(err.object, "analysis.data.maxCellBytes");
    options.max_file_bytes = 3;
    assert_int_equal(ingest("x.jsonl", "{\"a\":1}"), AL_ELIMIT);
    assert_string_equal(err.object, "analysis.data.maxFileBytes");
}

/* What has no end is refused long before it is all in memory. */
static void without_an_end(void **state)
{
    static const char *const fronts[] = { "{\"a\":\"", "[{\"a\":\"", "{\"a\":[1",
                                          "[{\"a\":1},{\"b\":{\"c\":\"", "{\"" };
    const size_t len = 20u << 20;
    char *bytes = malloc(len);

    (void)state;
    for (size_t i = 0; i < sizeof fronts / sizeof fronts[0]; i++) {
        memset(bytes, '1', len);
        memcpy(bytes, fronts[i], strlen(fronts[i]));
        options.name = i % 2 ? "x.json" : "x.jsonl";
        if (ingest_bytes(bytes, len) != AL_ELIMIT || err.line != 1)
            fail_msg("%s: %s in line %llu", fronts[i], err.detail, (unsigned long long)err.line);
    }
    memset(bytes, '1', len);
    memcpy(bytes, "[{\"a\":1},\n{\"a\":x},{\"a\":\"", 24);
    options.name = "x.json";
    assert_int_equal(ingest_bytes(bytes, len), AL_EDATA);
    assert_int_equal(err.line, 2);
    memset(bytes, '[', len);
    memcpy(bytes, "{\"a\":", 5);
    assert_int_equal(ingest_bytes(bytes, len), AL_ELIMIT);
    assert_string_equal(err.reason, "depth");
    free(bytes);
    bytes = malloc(AL_JSON_MAX_RECORD + 100);
    memset(bytes, ' ', AL_JSON_MAX_RECORD + 100);
    memcpy(bytes, "{\"a\":1}\n{", 9);
    assert_int_equal(ingest_bytes(bytes, AL_JSON_MAX_RECORD + 100), AL_ELIMIT);
    assert_string_equal(err.object, "row");
    free(bytes);
}

/* ---- segments ---- */

/* The file made is the one of *first, or becomes it. */
static void same_file(al_buf *first)
{
    off_t size = lseek(output, 0, SEEK_END);
    al_buf again;

    al_buf_init(&again, 0);
    assert_int_equal(al_buf_reserve(&again, (size_t)size), AL_OK);
    assert_int_equal(pread(output, again.data, (size_t)size, 0), size);
    if (first->len == 0)
        al_buf_add(first, again.data, (size_t)size);
    assert_int_equal(first->len, size);
    assert_memory_equal(first->data, again.data, (size_t)size);
    al_buf_free(&again);
}

/* Objects with keys that come late, in the shape asked for, of `size` bytes at least. */
static void many_objects(al_buf *bytes, al_json_shape shape, size_t size, size_t *rows)
{
    static const char *const bits[] = { "\"tw\\no\"", "\"\xE2\x82\xAC } {\"",
                                        "\"\\\\\"",   "null",
                                        "1.50",       "[1, {\"x\": \"]\\\"\"}]",
                                        "true",       "-3",
                                        "\"\"",       "\"\\ud83d\"" };
    uint64_t x = 3;

    al_buf_str(bytes, shape == AL_JSON_LIST ? "\n[ " : "");
    for (*rows = 0; bytes->len < size; ++*rows) {
        unsigned late = (unsigned)(bytes->len * 30 / size);

        if (*rows)
            al_buf_str(bytes, shape == AL_JSON_LIST ? next_random(&x) % 9 ? "," : " ,\n" : "\n");
        al_buf_printf(bytes, "{\"n\":%zu,\"pad\":\"%0500d\"", *rows, 0);
        for (int k = 0; k < 3; k++)
            if (next_random(&x) % 8)
                al_buf_printf(bytes, ",\"%s%d\":%s", next_random(&x) % 50 ? "k" : "\\u006b", k,
                              bits[next_random(&x) % 10]);
        if (next_random(&x) % 20 == 0)
            al_buf_printf(bytes, ", \"late %u\" :1", late);
        al_buf_str(bytes, "}");
    }
    al_buf_str(bytes, shape == AL_JSON_LIST ? "]\n" : "\n");
}

static void the_file_depends_on_the_bytes_only(void **state)
{
    static const struct {
        size_t reads, window;
        unsigned threads;
    } ways[] = { { 0, 0, 1 }, { 0, 0, 3 }, { 4099, 64, 2 }, { 65537, 65536, 4 } };
    static const char *const names[] = { "x.jsonl", "x.json", "x.json" };

    (void)state;
    for (int shape = AL_JSON_LINES; shape <= AL_JSON_LIST; shape++) {
        al_buf bytes, first;
        char count[32];
        sqlite3 *db;
        size_t rows;

        al_buf_init(&bytes, 0);
        al_buf_init(&first, 0);
        many_objects(&bytes, (al_json_shape)shape, 2 * AL_DATASET_SEGMENT + 1000, &rows);
        options.name = names[shape];
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
            options.read_limit = ways[i].reads;
            options.window = ways[i].window;
            options.threads = ways[i].threads;
            assert_int_equal(ingest_bytes(bytes.data, bytes.len), AL_OK);
            same_file(&first);
        }
        db = open_file(path);
        snprintf(count, sizeof count, "%zu", rows);
        assert_string_equal(ask(db, "SELECT count(*) FROM data WHERE n = rowid - 1"), count);
        assert_string_equal(ask(db, "PRAGMA integrity_check"), "ok");
        assert_string_equal(ask(db, "SELECT count(*) FROM _alisio_columns"), "35");
        assert_string_equal(ask(db, "SELECT count(*) FROM _alisio_columns WHERE label = 'late 29' "
                                    "AND nulls + (SELECT count(late_29) FROM data) = "
                                    "(SELECT count(*) FROM data)"),
                            "1");
        sqlite3_close(db);
        al_buf_free(&bytes);
        al_buf_free(&first);
    }
}

/* Segments of small objects end before they have 8 MiB. */
static void small_objects(void **state)
{
    al_buf bytes, first;
    sqlite3 *db;

    (void)state;
    al_buf_init(&bytes, 0);
    al_buf_init(&first, 0);
    for (int i = 0; i < 150000; i++)
        al_buf_printf(&bytes, i % 50000 ? "{\"a\":%d}\n" : "{\"a\":%d,\"b%d\":2}\n", i, i);
    options.name = "x.jsonl";
    for (options.threads = 1; options.threads <= 3; options.threads++) {
        assert_int_equal(ingest_bytes(bytes.data, bytes.len), AL_OK);
        same_file(&first);
        options.window = 5000 * options.threads;
    }
    db = open_file(path);
    assert_string_equal(ask(db, "SELECT count(*) || ' ' || sum(b0) || sum(b50000) || sum(b100000) "
                                "FROM data WHERE a = rowid - 1"),
                        "150000 222");
    sqlite3_close(db);
    al_buf_free(&bytes);
    al_buf_free(&first);
}

/* The first thing that is wrong is told, with its place in the whole file, whoever finds it. */
static void errors_far_behind(void **state)
{
    static const char *const names[] = { "x.jsonl", "x.json", "x.json" };

    (void)state;
    for (int shape = AL_JSON_LINES; shape <= AL_JSON_LIST; shape++) {
        uint64_t line = 0, column = 0;
        al_buf bytes;
        size_t rows, at;

        al_buf_init(&bytes, 0);
        many_objects(&bytes, (al_json_shape)shape, 2 * AL_DATASET_SEGMENT + 1000, &rows);
        at = bytes.len - AL_DATASET_SEGMENT / 2;
        while (memcmp(bytes.data + at, "{\"n\":", 5) != 0)
            at--;
        memcpy(bytes.data + at, "{\"n\"!", 5);
        memset(bytes.data + bytes.len - 10, '\0', 10); /* too late */
        options.name = names[shape];
        for (unsigned threads = 1; threads <= 3; threads++) {
            options.threads = threads;
            assert_int_equal(ingest_bytes(bytes.data, bytes.len), AL_EDATA);
            assert_string_equal(err.reason, "syntax");
            assert_int_equal(err.offset, at + 4);
            if (threads == 1) {
                line = err.line;
                column = err.column;
            }
            assert_int_equal(err.line, line);
            assert_int_equal(err.column, column);
        }
        for (at += 4; at > 0 && bytes.data[at - 1] != '\n'; at--)
            column -= ((unsigned char)bytes.data[at - 1] & 0xC0) != 0x80;
        assert_int_equal(column, 1);
        for (; at > 0; at--)
            line -= bytes.data[at - 1] == '\n';
        assert_int_equal(line, 1);
        al_buf_free(&bytes);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_lines, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(shapes),
        TEST(nothing_in_it),
        TEST(encodings),
        TEST(notes),
        TEST(limits),
        TEST(without_an_end),
        TEST(the_file_depends_on_the_bytes_only),
        TEST(small_objects),
        TEST(errors_far_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
