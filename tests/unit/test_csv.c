#include "base/cpu.h"
#include "base/err.h"
#include "data.h"
#include "data/csv.h"
#include "data/dataset.h"

#define COLUMNS 3

static al_err err;
static uint64_t shorts, longs, first_short, lines;

static void dump(al_buf *out, const al_batch *b)
{
    for (size_t i = 0; i < b->rows; i++) {
        for (size_t k = 0; k < b->columns; k++) {
            const al_cell *c = &b->cells[i * b->columns + k];

            if (k)
                al_buf_char(out, '|');
            switch (c->kind) {
            case AL_CELL_NULL: al_buf_str(out, "~"); break;
            case AL_CELL_INTEGER: al_buf_printf(out, "i%lld", (long long)c->integer); break;
            case AL_CELL_REAL: al_buf_printf(out, "r%g", c->real); break;
            default: al_buf_add(out, c->text, c->len);
            }
        }
        al_buf_char(out, '/');
    }
}

/* All rows of text, with `room` rows a batch; it is scanned with the first n bytes known, then with
 * all, in segments that end at or behind `limit` bytes. The caller frees it; NULL when it fails. */
static char *parse(const char *s, size_t len, char delimiter, size_t n, size_t room, size_t limit)
{
    char *bytes = calloc(1, len + 80);
    al_cell cells[COLUMNS * 64];
    al_batch b = { .cells = cells, .columns = COLUMNS, .room = room };
    al_csv_irregular short_rows = { 0 }, long_rows = { 0 };
    al_csv_scan scan;
    al_buf out;
    size_t at = 0;
    int rc = AL_OK;

    memset(&err, 0, sizeof err);
    memset(bytes, '"', len + 80); /* what stands behind the part that is known means nothing */
    al_csv_scan_open(&scan, delimiter);
    al_buf_init(&out, 0);
    al_buf_str(&out, "");
    lines = 1;
    memcpy(bytes, s, n);
    for (bool last = false; rc == AL_OK && !(last && at == len && len > 0);) {
        size_t end = last ? len : n;
        al_csv_fields f;

        if (last)
            memset(memcpy(bytes, s, len) + len, 0, 80);
        rc = al_csv_scan_text(&scan, bytes + at, end - at, last, limit, 1000, lines, &err);
        if (rc == 0)
            last = true;
        if (rc != 1)
            continue;
        rc = AL_OK;
        al_csv_fields_open(&f, bytes + at, scan.end, scan.ends, delimiter, 1000, lines);
        for (uint64_t left = scan.rows;; left -= b.rows) {
            rc = al_csv_rows(&f, &b, &err);
            if (rc != AL_OK)
                break;
            dump(&out, &b);
            assert_true(b.rows <= left);
            if (b.rows < b.room) {
                assert_int_equal(b.rows, left);
                break;
            }
        }
        al_csv_irregular_add(&short_rows, &f.short_rows);
        al_csv_irregular_add(&long_rows, &f.long_rows);
        al_csv_fields_close(&f);
        at += scan.end;
        lines += scan.lines;
        free(al_csv_scan_take(&scan));
        if (len == 0)
            break;
    }
    shorts = short_rows.count;
    longs = long_rows.count;
    first_short = short_rows.lines[0];
    al_csv_scan_close(&scan);
    free(bytes);
    if (rc == AL_OK)
        return al_buf_steal(&out);
    al_buf_free(&out);
    return NULL;
}

/* The same rows wherever the text is cut and however many go to a batch, with and without what the
 * processor has for it. */
static void is(const char *s, const char *want)
{
    size_t len = strlen(s);

    for (size_t n = 0; n <= len; n++)
        for (size_t room = 1; room <= 64; room *= 4)
            for (int way = 0; way < 4; way++) {
                char *got;

                al_cpu_set_plain(way & 1);
                got = parse(s, len, ',', n, room, way & 2 ? 5 : SIZE_MAX);
                al_cpu_set_plain(false);
                if (!got)
                    fail_msg("%s: %s", s, err.detail);
                if (strcmp(got, want) != 0)
                    fail_msg("\"%s\" cut at %zu, way %d: %s, not %s", s, n, way, got, want);
                free(got);
            }
}

static void plain(void **state)
{
    (void)state;
    is("", "");
    is("a,b,c\n", "a|b|c/");
    is("a,b,c", "a|b|c/");
    is("a,b,c\n1,2.5,x\n", "a|b|c/i1|r2.5|x/");
    is(",,\n", "~|~|~/");
    is("a,b,", "a|b|~/");
}

static void line_ends(void **state)
{
    (void)state;
    is("a,b,c\r\nd,e,f\r\n", "a|b|c/d|e|f/");
    is("a,b,c\rd,e,f\r", "a|b|c/d|e|f/");
    is("a,b,c\rd,e,f\ng,h,i\r\n", "a|b|c/d|e|f/g|h|i/");
    is("a,b,c\r\n\nd,e,f\n\r\n\r\r\n", "a|b|c/d|e|f/");
    is("\n\r\n", "");
}

static void quotes(void **state)
{
    (void)state;
    is("\"a\",\"b,c\",d\n", "a|b,c|d/");
    is("\"two\r\nlines\",\"\",\"\"\"\"\n", "two\r\nlines|~|\"/");
    is("\"say \"\"hi\"\", ok\",x,y", "say \"hi\", ok|x|y/");
    is("\"\"\"\"\"\",\"a\"\"\",\"\"\"b\"\n", "\"\"|a\"|\"b/");
    is("\"12\",\"007\",\"1.50\"\n", "i12|007|r1.5/");
    is("\"\"\n", "~|~|~/"); /* a row, for it is not blank */
}

static void leniency(void **state)
{
    (void)state;
    is("5\" pipe,a\"b\"c,x\"\n", "5\" pipe|a\"b\"c|x\"/");
    is("\"abc\"def,\"a\"\"b\"c\"d,\"x\" \n", "abcdef|a\"bc\"d|x /");
    is(" \"a\",b,c\n", " \"a\"|b|c/");
    is("\"a\"\"\"b,c,d\n", "a\"b|c|d/");
}

static void ragged(void **state)
{
    (void)state;
    is("1\n2,3\n4,5,6,7,8\n9,10,11\n", "i1|~|~/i2|i3|~/i4|i5|i6/i9|i10|i11/");
    assert_int_equal(shorts, 2);
    assert_int_equal(longs, 1);
}

static void lines_are_counted(void **state)
{
    (void)state;
    is("a,b,c\n\n\"x\ny\r\nz\rw\",2,3\r\nshort\n", "a|b|c/x\ny\r\nz\rw|i2|i3/short|~|~/");
    assert_int_equal(first_short, 7);
    assert_int_equal(lines, 8);
    for (int n = 50; n < 70; n++) { /* a CRLF inside quotes, across blocks too */
        char s[100];

        memset(s, 'x', sizeof s);
        memcpy(s, "\"", 1);
        memcpy(s + n, "\r\ny\",2,3\nz", 10);
        free(parse(s, (size_t)n + 10, ',', 0, 64, SIZE_MAX));
        assert_int_equal(lines, 3);
    }
}

static void other_delimiters(void **state)
{
    char *got;

    (void)state;
    got = parse("a;b,c;\"d;e\"\n", 12, ';', 5, 4, SIZE_MAX);
    assert_string_equal(got, "a|b,c|d;e/");
    free(got);
    got = parse("a\tb\t c\n", 7, '\t', 3, 4, SIZE_MAX);
    assert_string_equal(got, "a|b| c/");
    free(got);
}

static void text_with_nul(void **state)
{
    char *got = parse("a\0b,c,d\n", 8, ',', 3, 4, SIZE_MAX);

    (void)state;
    assert_memory_equal(got, "a\0b|c|d/", 8);
    free(got);
}

static void fails(const char *s, int code, const char *id, uint64_t line)
{
    size_t len = strlen(s);

    for (size_t n = 0; n <= len; n++) {
        assert_null(parse(s, len, ',', n, 64, SIZE_MAX));
        assert_int_equal(err.code, code);
        assert_string_equal(err.id, id);
        assert_int_equal(err.line, line);
    }
}

static void a_quote_that_stays_open(void **state)
{
    (void)state;
    fails("a,b,c\n1,\"x\n2,y\n", AL_EDATA, "ingest_invalid", 2);
    fails("\"", AL_EDATA, "ingest_invalid", 1);
    fails("a,\"x\"\"", AL_EDATA, "ingest_invalid", 1);
    fails("\"p\nq\",\"r", AL_EDATA, "ingest_invalid", 2);
}

static void cells_have_a_limit(void **state)
{
    char s[4000], want[1100];

    (void)state;
    memset(s, 'x', sizeof s);
    strcpy(s + 1000, ",b,c\n");
    memset(want, 'x', 1000);
    strcpy(want + 1000, "|b|c/");
    is(s, want);
    memset(s, 'x', sizeof s);
    strcpy(s, "a,b,c\n\n1,");
    s[9] = 'x';
    strcpy(s + 1020, ",2");
    fails(s, AL_ELIMIT, "ingest_limit", 3);
    assert_string_equal(err.object, "analysis.data.maxCellBytes");
    assert_string_equal(err.reason, "maxCellBytes");
    memset(s, '"', sizeof s); /* 1,999 quotes and a closing one that is missing or not */
    s[3999] = '\0';
    fails(s, AL_ELIMIT, "ingest_limit", 1);
}

static void a_segment_ends_with_the_first_row_at_its_limit(void **state)
{
    /* For each limit, where a text of these rows is cut; the blank line is no row. */
    static const char s[] = "aa,b\r\n\"c\nd\",e\n\nf,g\rh,i";
    static const size_t ends[] = { 6,  6,  6,  6,  6,  6,  6,  14, 14, 14, 14,
                                   14, 14, 14, 14, 19, 19, 19, 19, 19, 22 };

    (void)state;
    for (size_t limit = 0; limit < sizeof ends / sizeof ends[0]; limit++) {
        char bytes[128] = { 0 };
        al_csv_scan scan;

        memcpy(bytes, s, sizeof s - 1);
        al_csv_scan_open(&scan, ',');
        assert_int_equal(al_csv_scan_text(&scan, bytes, sizeof s - 1, true, limit, 1000, 1, NULL),
                         1);
        assert_int_equal(scan.end, ends[limit]);
        assert_int_equal(scan.rows, ends[limit] == 6    ? 1
                                    : ends[limit] == 14 ? 2
                                    : ends[limit] == 19 ? 3
                                                        : 4);
        assert_int_equal(scan.lines, ends[limit] == 6 ? 1 : ends[limit] == 14 ? 3 : 5);
        al_csv_scan_close(&scan);
    }
}

/* Texts that go over many blocks: every place of a block has seen every byte that means something.
 */
static void long_texts(void **state)
{
    static const char alphabet[] = "abcdefghij,,\"\n\r1";
    uint64_t x = 7;

    (void)state;
    for (int i = 0; i < 300; i++) {
        size_t len = 200 + next_random(&x) % 800;
        char *s = malloc(len + 1), *whole;

        for (size_t k = 0; k < len; k++)
            s[k] = alphabet[next_random(&x) % (sizeof alphabet - 1)];
        s[len] = '\0';
        whole = parse(s, len, ',', len, 64, SIZE_MAX);
        for (int k = 0; k < 12; k++) {
            char *cut;

            al_cpu_set_plain(k & 1);
            cut = parse(s, len, ',', next_random(&x) % (len + 1), 1 + next_random(&x) % 64,
                        next_random(&x) % 300);
            al_cpu_set_plain(false);
            assert_int_equal(!cut, !whole);
            if (cut && strcmp(cut, whole) != 0)
                fail_msg("\"%s\": %s, not %s", s, cut, whole);
            free(cut);
        }
        free(whole);
        free(s);
    }
}

/* Bytes that mean something, in every order that chance gives, cut anywhere: always one result. */
static void random_texts(void **state)
{
    static const char alphabet[] = "a,\"\"\n\r,1\n ";
    uint64_t x = 42;

    (void)state;
    for (int i = 0; i < 3000; i++) {
        char s[40], *whole;
        size_t len = next_random(&x) % 30;

        for (size_t k = 0; k < len; k++)
            s[k] = alphabet[next_random(&x) % (sizeof alphabet - 1)];
        whole = parse(s, len, ',', len, 64, SIZE_MAX);
        for (size_t n = 0; n <= len; n++) {
            char *cut = parse(s, len, ',', n, 1 + n % 3, n % 5);

            assert_int_equal(!cut, !whole);
            if (cut && strcmp(cut, whole) != 0)
                fail_msg("%.*s cut at %zu: %s, not %s", (int)len, s, n, cut, whole);
            free(cut);
        }
        free(whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain),
        cmocka_unit_test(line_ends),
        cmocka_unit_test(quotes),
        cmocka_unit_test(leniency),
        cmocka_unit_test(ragged),
        cmocka_unit_test(lines_are_counted),
        cmocka_unit_test(other_delimiters),
        cmocka_unit_test(text_with_nul),
        cmocka_unit_test(a_quote_that_stays_open),
        cmocka_unit_test(cells_have_a_limit),
        cmocka_unit_test(a_segment_ends_with_the_first_row_at_its_limit),
        cmocka_unit_test(long_texts),
        cmocka_unit_test(random_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
