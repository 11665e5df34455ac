#include "base/json.h"
#include "data/describe.h"
#include "ingestion.h"

static int ingest(const char *bytes)
{
    return ingest_bytes(bytes, strlen(bytes));
}

static sqlite3 *made_of(const char *bytes)
{
    sqlite3 *db;

    if (ingest(bytes) != AL_OK)
        fail_msg("%s: %s", bytes, err.detail);
    db = open_file(path);
    assert_string_equal(ask(db, "PRAGMA integrity_check"), "ok");
    return db;
}

/* Columns and rows as text: names, then rows, quoted as SQL has them. */
static void is(const char *bytes, const char *columns, const char *rows)
{
    sqlite3 *db = made_of(bytes);
    sqlite3_stmt *stmt;
    al_buf sql;

    assert_string_equal(ask(db, "SELECT group_concat(name) FROM (SELECT name FROM _alisio_columns "
                                "ORDER BY ordinal)"),
                        columns);
    al_buf_init(&sql, 0);
    al_buf_str(&sql, "SELECT group_concat(r, '/') FROM (SELECT ''");
    assert_int_equal(
        sqlite3_prepare_v2(db, "SELECT name FROM pragma_table_info('data')", -1, &stmt, NULL),
        SQLITE_OK);
    for (int i = 0; sqlite3_step(stmt) == SQLITE_ROW; i++)
        al_buf_printf(&sql, " || '%s' || quote(\"%s\")", i ? "," : "",
                      sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
    al_buf_str(&sql, " AS r FROM data ORDER BY rowid)");
    assert_string_equal(ask(db, sql.data), rows);
    al_buf_free(&sql);
    sqlite3_close(db);
}

static bool says(const char *part)
{
    return strstr(result.data, part) != NULL;
}

static void a_small_table(void **state)
{
    (void)state;
    is("Region,Total\nEast,10\nWest,2.50\n,007\n", "region,total",
       "'East',10/'West',2.5/NULL,'007'");
    assert_true(
        says("\"format\":\"csv\",\"encoding\":\"utf-8\",\"delimiter\":\",\",\"header\":true"));
    assert_true(says("\"rows\":3"));
    assert_true(says("\"name\":\"total\",\"label\":\"Total\",\"type\":\"text\",\"nulls\":0,"
                     "\"distinct\":3,\"distinctExact\":true,\"min\":\"2.5\",\"max\":\"10\","
                     "\"mean\":6.25,\"textFallbacks\":1"));
    assert_true(says("\"sample\":[[\"East\",10],[\"West\",2.5],[null,\"007\"]]"));
    assert_true(says("\"bytes\":36"));
    assert_true(says("\"notes\":[]"));
}

static void headers(void **state)
{
    (void)state;
    is("1,2\n3,4\n", "column_1,column_2", "1,2/3,4");
    is("1,,2.5\n3,4,5\n", "column_1,column_2,column_3", "1,NULL,2.5/3,4,5");
    is("year,2020,2021\nx,1,2\n", "year,_2020,_2021", "'x',1,2");
    options.header = 1;
    is("1,2\n3,4\n", "_1,_2", "3,4");
    options.header = 0;
    is("a,b\n3,4\n", "column_1,column_2", "'a','b'/3,4");
    assert_true(says("\"header\":false"));
}

static void labels_keep_their_nuls(void **state)
{
    static const char bytes[] = "a\0question of length,\0\n1,2\n3,4\n5,6\n";

    (void)state;
    assert_int_equal(ingest_bytes(bytes, sizeof bytes - 1), AL_OK);
    assert_true(says("\"name\":\"a_question_of_length\",\"label\":\"a\\u0000question of length\""));
    assert_true(says("\"name\":\"column_2\",\"label\":\"\\u0000\""));
}

static void one_column_loses_nothing(void **state)
{
    (void)state;
    is("comment\nhello\nhello, world\n\"a, b\"\n\n1,5\nbye\n", "comment",
       "'hello'/'hello, world'/'a, b'/'1,5'/'bye'");
    assert_true(says("\"irregularRows\":0"));
    options.delimiter = ",";
    is("comment\nhello\nhello, world\n", "comment", "'hello'/'hello'");
}

static void header_without_rows(void **state)
{
    sqlite3 *db;

    (void)state;
    db = made_of("a,b\n");
    assert_string_equal(ask(db, "SELECT count(*) FROM data"), "0");
    assert_string_equal(ask(db, "SELECT group_concat(inferred_type) FROM _alisio_columns"),
                        "text,text");
    sqlite3_close(db);
}

static void nothing_in_it(void **state)
{
    static const char *const empty[] = { "", "\n", "\r\n\n\r\r", "\xEF\xBB\xBF", "\xEF\xBB\xBF\n" };

    (void)state;
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        assert_int_equal(ingest(empty[i]), AL_EDATA);
        assert_string_equal(err.id, "ingest_invalid");
        assert_string_equal(err.reason, "empty");
        assert_int_equal(lseek(output, 0, SEEK_END), 0);
    }
}

static void overrides(void **state)
{
    (void)state;
    options.delimiter = "|";
    is("a,b|c\n1,2|3\n", "a_b,c", "'1,2',3");
    options.delimiter = "";
    assert_int_equal(ingest("a,b\n"), AL_EDATA);
    assert_string_equal(err.object, "delimiter");
    options.delimiter = "::";
    assert_int_equal(ingest("a,b\n"), AL_EDATA);
    options.delimiter = "\"";
    assert_int_equal(ingest("a,b\n"), AL_EDATA);
    options.delimiter = NULL;
    options.skip = 2;
    is("Report\r\n\rx;y\n1;2\n", "x,y", "1,2");
    options.skip = 1;
    is("only\ra,b\r1,2\r", "a,b", "1,2");
    options.skip = 9;
    assert_int_equal(ingest("a\nb"), AL_EDATA);
    assert_string_equal(err.reason, "empty");
}

static void skipped_lines_count(void **state)
{
    (void)state;
    options.skip = 3;
    assert_int_equal(ingest("1\n2\n3\na,b\nx\n\n1,2,3\n"), AL_OK);
    assert_true(says("{\"id\":\"short_rows\",\"count\":1,\"lines\":[5]}"));
    assert_true(says("{\"id\":\"long_rows\",\"count\":1,\"lines\":[7]}"));
    assert_true(says("\"irregularRows\":2"));
}

static void a_separator_line(void **state)
{
    (void)state;
    is("sep=;\r\na;b,c\r\n1;2\r\n", "a,b_c", "1,2");
    is("SEP=|\na|b,c\n1|2\n", "a,b_c", "1,2");
    is("sep=a\n1\n", "column_1", "1");
    is("sep=ab\n1\n", "sep_ab", "1");
}

static void formats(void **state)
{
    (void)state;
    options.name = "x.tsv";
    is("a\tb,c\n1\t2\n", "a,b_c", "1,2");
    assert_true(says("\"format\":\"tsv\",\"encoding\":\"utf-8\",\"delimiter\":\"\\t\""));
    options.name = "x";
    is("a\tb\n1\t2\n", "a,b", "1,2");
    assert_true(says("\"format\":\"tsv\""));
    options.name = "x.csv";
    is("a\tb\n1\t2\n", "a,b", "1,2");
    assert_true(says("\"format\":\"csv\""));
    options.name = "x.xls";
    assert_int_equal(ingest("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), AL_ENOTSUP);
    assert_string_equal(err.id, "dataset_unsupported");
}

static void encodings(void **state)
{
    static const char utf16[] = "\xFF\xFE"
                                "a\0,\0b\0\n\0\xE9\0,\0\x31\0\n";

    (void)state;
    is("a,b\ncaf\xE9,\x80\n", "a,b", "'caf\xC3\xA9','\xE2\x82\xAC'");
    assert_true(says("windows-1252"));
    assert_int_equal(ingest_bytes(utf16, sizeof utf16), AL_OK);
    assert_true(says("utf-16le"));
    assert_true(says("\"sample\":[[\"\xC3\xA9\",1]]"));
    options.encoding = "utf-8";
    assert_int_equal(ingest("a,b\ncaf\xE9,1\n"), AL_EDATA);
    assert_string_equal(err.reason, "utf8");
    assert_int_equal(err.offset, 7);
}

/* The byte that is no UTF-8 comes when the dataset is almost done. */
static void late_windows1252(void **state)
{
    const size_t rows = 400000;
    al_buf bytes;
    sqlite3 *db;

    (void)state;
    al_buf_init(&bytes, 0);
    al_buf_str(&bytes, "n,word\n");
    for (size_t i = 0; i < rows; i++)
        al_buf_printf(&bytes, "%zu,caf\xC3\xA9\n", i);
    al_buf_str(&bytes, "-1,caf\xE9\n");
    assert_int_equal(ingest_bytes(bytes.data, bytes.len), AL_OK);
    assert_true(says("windows-1252"));
    db = open_file(path);
    assert_string_equal(ask(db, "SELECT word FROM data WHERE n = -1"), "caf\xC3\xA9");
    assert_string_equal(ask(db, "SELECT count(*) FROM data WHERE word = 'caf\xC3\x83\xC2\xA9'"),
                        "400000");
    assert_string_equal(ask(db, "PRAGMA integrity_check"), "ok");
    sqlite3_close(db);
    al_buf_free(&bytes);
}

static void what_is_no_text(void **state)
{
    char bytes[4000];
    uint64_t x = 7;

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)next_random(&x);
    assert_int_equal(ingest_bytes(bytes, sizeof bytes), AL_EDATA);
    assert_string_equal(err.reason, "binary");
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(ingest_bytes(bytes, sizeof bytes), AL_EDATA);
    assert_string_equal(err.reason, "binary");
    assert_int_equal(ingest_bytes("a\0,\0b\0\n\0"
                                  "1\0,\0"
                                  "2\0\n",
                                  16),
                     AL_EDATA);
    assert_non_null(strstr(err.detail, "UTF-16"));
    options.encoding = "utf-16le";
    assert_int_equal(ingest_bytes("a\0,\0b\0\n\0"
                                  "1\0,\0"
                                  "2\0\n",
                                  16),
                     AL_OK);
    options.encoding = NULL;
    assert_int_equal(ingest_bytes("name,x\nonly one \0 here,1\n", 25), AL_OK);
}

static void limits(void **state)
{
    (void)state;
    options.max_rows = 2;
    assert_int_equal(ingest("a\n1\n2\n"), AL_OK);
    assert_int_equal(ingest("a\n1\n2\n3\n"), AL_ELIMIT);
    assert_string_equal(err.object, "analysis.data.maxRows");
    assert_string_equal(err.reason, "maxRows");
    assert_int_equal(lseek(output, 0, SEEK_END), 0);
    options.max_columns = 3;
    assert_int_equal(ingest("a,b,c\n1,2,3,4,5\n"), AL_OK);
    assert_int_equal(ingest("\na,b,c,d\n"), AL_ELIMIT);
    assert_string_equal(err.object, "analysis.data.maxColumns");
    assert_int_equal(err.line, 2);
    options.max_cell_bytes = 5;
    assert_int_equal(ingest("a\n12345\n"), AL_OK);
    assert_int_equal(ingest("a\n123456\n"), AL_ELIMIT);
    assert_string_equal(err.object, "analysis.data.maxCellBytes");
    assert_int_equal(err.line, 2);
    options.max_file_bytes = 3;
    assert_int_equal(ingest("a\n1\n"), AL_ELIMIT);
    assert_string_equal(err.object, "analysis.data.maxFileBytes");
}

static void an_output_that_will_not_do(void **state)
{
    int input = file_with("a\n1\n", 4, NULL);
    char bytes[2];

    (void)state;
    assert_int_equal(write(output, "x", 1), 1);
    assert_int_equal(al_ingest_run(&options, input, output, &nobody, &result, &err), AL_EINVAL);
    assert_int_equal(pread(output, bytes, 2, 0), 1); /* it was not touched */
    assert_int_equal(
        al_ingest_run(&options, input, open("/dev/null", O_RDWR), &nobody, &result, &err),
        AL_EINVAL);
    close(input);
}

struct way {
    size_t reads, window;
    unsigned threads;
};

/* Rows of every delicate thing. */
static void add_delicate_rows(al_buf *bytes, size_t len)
{
    static const char *const bits[] = { "\"two\r\nlines\"",
                                        "\"a \"\"q\"\"\"",
                                        "\xE2\x82\xAC",
                                        "x\"y",
                                        "",
                                        "1.50",
                                        "007",
                                        "-3",
                                        "\"\"",
                                        "\"tail\"x" };
    uint64_t x = 3;

    while (bytes->len < len) {
        for (int k = 0; k < 3; k++)
            al_buf_printf(bytes, "%s%s", k ? "," : "", bits[next_random(&x) % 10]);
        al_buf_str(bytes, next_random(&x) % 3 ? "\n" : "\r\n");
    }
}

static void read_output(al_buf *bytes)
{
    off_t size = lseek(output, 0, SEEK_END);

    al_buf_clear(bytes);
    assert_int_equal(al_buf_reserve(bytes, (size_t)size), AL_OK);
    assert_int_equal(pread(output, bytes->data, (size_t)size, 0), size);
    bytes->len = (size_t)size;
}

static void assert_one_file(const al_buf *bytes, const struct way *ways, size_t n)
{
    al_buf first, again;

    al_buf_init(&first, 0);
    al_buf_init(&again, 0);
    for (size_t i = 0; i < n; i++) {
        options.read_limit = ways[i].reads;
        options.window = ways[i].window;
        options.threads = ways[i].threads;
        assert_int_equal(ingest_bytes(bytes->data, bytes->len), AL_OK);
        read_output(i ? &again : &first);
        if (i == 0)
            continue;
        assert_int_equal(again.len, first.len);
        assert_memory_equal(again.data, first.data, first.len);
    }
    al_buf_free(&first);
    al_buf_free(&again);
}

/* Longer than the sample: the same file, byte for byte, whatever the reads and windows. */
static void the_file_depends_on_the_bytes_only(void **state)
{
    static const struct way ways[] = { { 0, 0, 1 },      { 1, 0, 0 },     { 7, 64, 1 },
                                       { 1000, 100, 2 }, { 3, 4096, 64 }, { 65537, 65536, 0 } };
    al_buf bytes;

    (void)state;
    al_buf_init(&bytes, 0);
    al_buf_str(&bytes, "a,b,c\r\n");
    add_delicate_rows(&bytes, 200000);
    assert_one_file(&bytes, ways, sizeof ways / sizeof ways[0]);
    al_buf_free(&bytes);
}

/* And so it is with several segments, each of which may begin inside of quotes. */
static void segments_depend_on_the_bytes_only(void **state)
{
    static const struct way ways[] = {
        { 0, 0, 1 }, { 0, 0, 3 }, { 4093, 0, 2 }, { 100003, 70001, 2 }
    };
    al_buf bytes;

    (void)state;
    al_buf_init(&bytes, 0);
    al_buf_str(&bytes, "a,b,c\r\n");
    for (int i = 0; i < 3; i++) {
        add_delicate_rows(&bytes, bytes.len + AL_DATASET_SEGMENT - 600000);
        al_buf_str(&bytes, "1,\""); /* a long text that looks like rows */
        for (int k = 0; k < 60000; k++)
            al_buf_str(&bytes, "x,\"\"y\"\",\r\nz\n");
        al_buf_str(&bytes, "\",3\r\n");
    }
    assert_one_file(&bytes, ways, sizeof ways / sizeof ways[0]);
    al_buf_free(&bytes);
}

/* What is stored is what was said, but for what is of the source and not of the dataset. */
static void a_description_is_stored(void **state)
{
    al_buf again;
    al_json_out o;
    char *cut;

    (void)state;
    assert_int_equal(ingest("a,b\n1,x\n2\n"), AL_OK);
    al_buf_init(&again, 0);
    al_json_out_init(&o, &again);
    al_json_begin_object(&o);
    assert_int_equal(al_describe(output, -1, 5, &o, NULL), AL_OK);
    cut = strstr(result.data, ",\"sha256\"");
    assert_non_null(cut);
    *cut = '\0';
    assert_string_equal(again.data, result.data);
    al_buf_clear(&again);
    al_json_out_init(&o, &again);
    assert_int_equal(al_describe(output, -1, 1, &o, NULL), AL_OK);
    assert_non_null(strstr(again.data, "\"sample\":[[1,\"x\"]]"));
    al_buf_free(&again);
}

/* More distinct values than the budget holds: the largest columns become estimates, and it is said.
 */
static void estimates_are_named(void **state)
{
    const size_t rows = 500;
    const al_dataset_options small = { .max_rows = 1000, .values_budget = 20000 };
    const al_dataset_meta meta = { .format = "csv" };
    const al_cell labels[] = { text("long"), text("short"), text("two") };
    char words[500][40];
    al_cell cells[500 * 3];
    al_batch b = { .cells = cells, .columns = 3, .rows = rows };
    al_dataset *d;
    sqlite3 *db;

    (void)state;
    for (size_t i = 0; i < rows; i++) {
        snprintf(words[i], sizeof words[i], "a longer text, number %zu", i);
        cells[3 * i] = text(words[i]);
        cells[3 * i + 1] = al_cell_integer((int64_t)i);
        cells[3 * i + 2] = al_cell_integer((int64_t)i % 2);
    }
    assert_int_equal(al_dataset_open(&d, output, &small, NULL), AL_OK);
    assert_int_equal(al_dataset_sheet(d, "data", "data", labels, 3, NULL), AL_OK);
    assert_int_equal(al_dataset_rows(d, &b, NULL), AL_OK);
    assert_int_equal(al_dataset_finish(d, &meta, NULL), AL_OK);
    al_dataset_close(d);
    db = open_file(path);
    assert_string_equal(ask(db, "SELECT group_concat(distinct_exact) FROM _alisio_columns"),
                        "0,1,1");
    assert_string_equal(ask(db, "SELECT value FROM _alisio_meta WHERE key='notes'"),
                        "[{\"id\":\"distinct_estimated\",\"columns\":[\"long\"]}]");
    assert_string_equal(
        ask(db, "SELECT distinct_count >= 500 FROM _alisio_columns WHERE ordinal=1"), "1");
    sqlite3_close(db);
}

/* Which columns are estimates is the same with any number of threads. */
static void estimates_depend_on_the_cells_only(void **state)
{
    enum { MANY = 60000, FEW = 5500 };
    const al_dataset_meta meta = { .format = "csv" };
    const al_cell label = text("x");
    al_cell *cells = malloc(MANY * sizeof *cells);
    char *first = NULL;

    (void)state;
    for (unsigned budget = 0; budget < 6; budget++) {
        for (unsigned threads = 1; threads <= 4; threads++) {
            const al_dataset_options small = { .max_rows = 1000000,
                                               .threads = threads,
                                               .values_budget =
                                                   (MANY / 2 + budget * 2 * FEW) * UINT64_C(32) };
            al_batch b = { .cells = cells, .columns = 1, .segment_end = true };
            al_dataset *d;
            sqlite3 *db;

            assert_int_equal(al_dataset_open(&d, output, &small, NULL), AL_OK);
            assert_int_equal(al_dataset_sheet(d, "data", "data", &label, 1, NULL), AL_OK);
            for (int segment = 0; segment < 9; segment++) {
                b.rows = segment ? FEW : MANY;
                for (size_t i = 0; i < b.rows; i++)
                    cells[i] =
                        al_cell_integer((int64_t)(segment % 2 ? i % 9 * 5 : i % (MANY / 2) * 3));
                assert_int_equal(al_dataset_rows(d, &b, NULL), AL_OK);
            }
            assert_int_equal(al_dataset_finish(d, &meta, NULL), AL_OK);
            al_dataset_close(d);
            db = open_file(path);
            if (threads == 1) {
                free(first);
                first = strdup(ask(db, "SELECT distinct_exact || distinct_count || top_values "
                                       "FROM _alisio_columns"));
            }
            assert_string_equal(first, ask(db, "SELECT distinct_exact || distinct_count || "
                                               "top_values FROM _alisio_columns"));
            sqlite3_close(db);
        }
    }
    free(first);
    free(cells);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_small_table),
        TEST(headers),
        TEST(labels_keep_their_nuls),
        TEST(one_column_loses_nothing),
        TEST(header_without_rows),
        TEST(nothing_in_it),
        TEST(overrides),
        TEST(skipped_lines_count),
        TEST(a_separator_line),
        TEST(formats),
        TEST(encodings),
        TEST(late_windows1252),
        TEST(what_is_no_text),
        TEST(limits),
        TEST(an_output_that_will_not_do),
        TEST(the_file_depends_on_the_bytes_only),
        TEST(segments_depend_on_the_bytes_only),
        TEST(a_description_is_stored),
        TEST(estimates_are_named),
        TEST(estimates_depend_on_the_cells_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
