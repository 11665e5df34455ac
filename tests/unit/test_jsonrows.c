#include "base/json.h"
#include "base/utf8.h"
#include "data.h"
#include "data/jsonrows.h"

static al_err err;
static al_json_odd odd;

static void dump(al_buf *out, const al_jsonrows *r, const al_batch *b)
{
    for (size_t i = 0; i < b->rows; i++) {
        al_buf_str(out, out->len ? " /" : "");
        for (size_t k = 0; k < b->columns; k++) {
            const al_cell *c = &b->cells[i * b->columns + k];
            size_t len;
            const char *key = al_jsonrows_key(r, k, &len);

            al_buf_printf(out, "%s%.*s=", out->len ? " " : "", (int)len, key);
            switch (c->kind) {
            case AL_CELL_NULL: al_buf_char(out, '~'); break;
            case AL_CELL_INTEGER: al_buf_printf(out, "i%lld", (long long)c->integer); break;
            case AL_CELL_REAL: al_buf_printf(out, "r%.17g", c->real); break;
            default:
                al_buf_char(out, '\'');
                al_buf_add(out, c->text, c->len);
                al_buf_char(out, '\'');
            }
        }
    }
}

/* The rows of a whole text, in one line; NULL when it fails. Static. */
static const char *rows_of(al_json_shape shape, const char *bytes, size_t len, size_t most)
{
    static char line[65536];
    char *text = malloc(len + 64);
    al_json_segment segment = { .text = text, .len = len, .first = true, .last = true, .line = 1 };
    al_jsonrows *r;
    al_batch b;
    al_buf out;
    int rc;

    memset(&err, 0, sizeof err);
    if (len)
        memcpy(text, bytes, len);
    memset(text + len, '"', 64); /* whatever stands there */
    al_buf_init(&out, 0);
    al_buf_str(&out, "");
    assert_int_equal(al_jsonrows_open(&r, shape, &segment, 4, 50, &err), AL_OK);
    do {
        rc = al_jsonrows_next(r, most, &b, &err);
        if (rc == AL_OK) {
            assert_int_equal(b.columns, al_jsonrows_columns(r));
            assert_true(b.rows <= most);
            dump(&out, r, &b);
        }
    } while (rc == AL_OK && b.rows > 0);
    odd = *al_jsonrows_odd(r);
    al_jsonrows_close(r);
    free(text);
    snprintf(line, sizeof line, "%s", out.data);
    al_buf_free(&out);
    if (rc != AL_OK)
        assert_int_equal(err.code, rc);
    return rc == AL_OK ? line : NULL;
}

static void is(al_json_shape shape, const char *text, const char *want)
{
    for (size_t most = 1; most < 1000; most *= 10) {
        const char *got = rows_of(shape, text, strlen(text), most);

        if (!got)
            fail_msg("%s: %s", text, err.detail);
        if (strcmp(got, want) != 0)
            fail_msg("%s gave %s", text, got);
    }
}

static void fails(al_json_shape shape, const char *text, const char *id, const char *reason,
                  uint64_t line, uint64_t column)
{
    if (rows_of(shape, text, strlen(text), 100))
        fail_msg("%s was taken", text);
    if (strcmp(err.id, id) != 0 || (reason && (!err.reason || strcmp(err.reason, reason) != 0)) ||
        err.line != line || err.column != column)
        fail_msg("%s: %s, %s, line %llu, column %llu: %s", text, err.id,
                 err.reason ? err.reason : "no reason", (unsigned long long)err.line,
                 (unsigned long long)err.column, err.detail);
}

static void lines(void **state)
{
    (void)state;
    is(AL_JSON_LINES, "", "");
    is(AL_JSON_LINES, "\n\r\n \t\n", "");
    is(AL_JSON_LINES, "{\"a\":1}", "a=i1");
    is(AL_JSON_LINES, "{\"a\":1,\"b\":\"x\"}\n\n{\"a\":2,\"b\":\"y\"}\r\n  \r\n",
       "a=i1 b='x' / a=i2 b='y'");
    is(AL_JSON_LINES, " { \"a\"\t:\r1 , \"b\" : null } \n{}", "a=i1 b=~ / a=~ b=~");
    fails(AL_JSON_LINES, "{\"a\":1}\n{\"a\":\n2}", "ingest_invalid", "truncated", 2, 6);
    assert_string_equal(err.detail, "the line ends where a value should follow");
    fails(AL_JSON_LINES, "{\"a\":1}\n{\"a\":[1,\n2]}", "ingest_invalid", "truncated", 2, 9);
    fails(AL_JSON_LINES, "{\"a\":1}\n[2]\n{\"a\":3}", "ingest_invalid", "shape", 2, 1);
    fails(AL_JSON_LINES, "{\"a\":1} {\"a\":2}", "ingest_invalid", "shape", 1, 9);
    fails(AL_JSON_LINES, "{\"a\":1}\r{\"a\":2}", "ingest_invalid", "shape", 1, 9);
    fails(AL_JSON_LINES, "{\"a\":1},\n{\"a\":2}", "ingest_invalid", "shape", 1, 8);
    fails(AL_JSON_LINES, "{\"\xC3\xA9\":1}\n\n{\"\xC3\xA9\":x}", "ingest_invalid", "syntax", 3, 6);
}

static void streams(void **state)
{
    (void)state;
    is(AL_JSON_STREAM, "{\n \"a\": 1,\n \"b\": \"x\"\n}\n", "a=i1 b='x'");
    is(AL_JSON_STREAM, "{\n\"a\":1\n}\n{\n\"a\":2\n}", "a=i1 / a=i2");
    is(AL_JSON_STREAM, "{\"a\":1}\r{\"a\":2}\r\n", "a=i1 / a=i2");
    is(AL_JSON_STREAM, "{\"items\":[{\"id\":1},{\"id\":2}],\"total\":2}",
       "items='[{\"id\":1},{\"id\":2}]' total=i2");
    fails(AL_JSON_STREAM, "{\"a\":1}{\"a\":2}", "ingest_invalid", "shape", 1, 8);
    fails(AL_JSON_STREAM, "{\"a\":1}\n,{\"a\":2}", "ingest_invalid", "syntax", 2, 1);
    fails(AL_JSON_STREAM, "\"hello\"", "ingest_invalid", "shape", 1, 1);
    fails(AL_JSON_STREAM, "{\"a\":1}\n5", "ingest_invalid", "shape", 2, 1);
}

static void lists(void **state)
{
    (void)state;
    is(AL_JSON_LIST, "[]", "");
    is(AL_JSON_LIST, " [ \n ] \n", "");
    is(AL_JSON_LIST, "[{\"a\":1}]", "a=i1");
    is(AL_JSON_LIST, "\n[ {\"a\":1}\n,\n{\"a\":2} ] ", "a=i1 / a=i2");
    is(AL_JSON_LIST, "[{\"a\":\"} {\",\"b\":\"]\\n[\"}]", "a='} {' b=']\n['");
    fails(AL_JSON_LIST, "[", "ingest_invalid", "truncated", 1, 2);
    fails(AL_JSON_LIST, "[{\"a\":1}", "ingest_invalid", "truncated", 1, 9);
    fails(AL_JSON_LIST, "[{\"a\":1},", "ingest_invalid", "truncated", 1, 10);
    fails(AL_JSON_LIST, "[{\"a\":1},]", "ingest_invalid", "syntax", 1, 10);
    fails(AL_JSON_LIST, "[,{\"a\":1}]", "ingest_invalid", "syntax", 1, 2);
    fails(AL_JSON_LIST, "[{\"a\":1} {\"a\":2}]", "ingest_invalid", "syntax", 1, 10);
    fails(AL_JSON_LIST, "[{\"a\":1}]]", "ingest_invalid", "syntax", 1, 10);
    fails(AL_JSON_LIST, "[{\"a\":1}]\n[{\"a\":1}]", "ingest_invalid", "syntax", 2, 1);
    fails(AL_JSON_LIST, "[] x", "ingest_invalid", "syntax", 1, 4);
    fails(AL_JSON_LIST, "[1,2,3]", "ingest_invalid", "shape", 1, 2);
    fails(AL_JSON_LIST, "[[1,2],[3,4]]", "ingest_invalid", "shape", 1, 2);
    fails(AL_JSON_LIST, "[{\"a\":1},\n5,{\"a\":2}]", "ingest_invalid", "shape", 2, 1);
    fails(AL_JSON_LIST, "[null]", "ingest_invalid", "shape", 1, 2);
}

static void values(void **state)
{
    (void)state;
    is(AL_JSON_LINES, "{\"a\":true,\"b\":false,\"c\":null}", "a='true' b='false' c=~");
    is(AL_JSON_LINES, "{\"a\":\"5\",\"b\":\"\",\"c\":\"null\"}", "a='5' b='' c='null'");
    is(AL_JSON_LINES, "{\"a\":0,\"b\":-0,\"c\":1.50,\"d\":-0.0}", "a=i0 b='-0' c=r1.5 d=r-0");
    is(AL_JSON_LINES, "{\"a\":9007199254740991,\"b\":9007199254740993,\"c\":1e2,\"d\":1E400}",
       "a=i9007199254740991 b='9007199254740993' c=r100 d='1E400'");
    is(AL_JSON_LINES, "{\"a\":5e-324,\"b\":0.1234567890123456789,\"c\":1e+5}",
       "a=r4.9406564584124654e-324 b='0.1234567890123456789' c=r100000");
    is(AL_JSON_LINES, "{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", "a='\"\\/\b\f\n\r\t'");
    is(AL_JSON_LINES, "{\"a\":\"caf\\u00e9 \\ud83d\\ude00!\"}",
       "a='caf\xC3\xA9 \xF0\x9F\x98\x80!'");
}

static void nested_values(void **state)
{
    (void)state;
    is(AL_JSON_LINES, "{\"a\":{},\"b\":[],\"c\":[1,{\"x\":null}]}",
       "a='{}' b='[]' c='[1,{\"x\":null}]'");
    is(AL_JSON_STREAM, "{\"a\": {\n  \"x\": [ 1.50, \"p q\\\" r\" ],\n\t\"y\": \"\\u00e9 \"\r\n} }",
       "a='{\"x\":[1.50,\"p q\\\" r\"],\"y\":\"\\u00e9 \"}'");
    is(AL_JSON_LINES, "{\"a\":[\"x\\\\\", 1],\"b\":2}", "a='[\"x\\\\\",1]' b=i2");
    fails(AL_JSON_LINES, "{\"a\":[1,],\"b\":2}", "ingest_invalid", "syntax", 1, 9);
    fails(AL_JSON_LINES, "{\"a\":{\"x\":01}}", "ingest_invalid", "number", 1, 11);
    fails(AL_JSON_LINES, "{\"a\":[", "ingest_invalid", "truncated", 1, 7);
}

static void halves_of_surrogate_pairs(void **state)
{
    (void)state;
    is(AL_JSON_LINES, "{\"a\":\"x\\ud83dy\",\"k\\ud83d\":\"\\udc00\\ud83d\"}",
       "a='x\xEF\xBF\xBDy' k\xEF\xBF\xBD='\xEF\xBF\xBD\xEF\xBF\xBD'");
    assert_int_equal(odd.replaced, 4);
    is(AL_JSON_LINES, "{\"a\":\"\\ud83d\\ud83d\\ude00\"}", "a='\xEF\xBF\xBD\xF0\x9F\x98\x80'");
    assert_int_equal(odd.replaced, 1);
    /* they are as they were in JSON text */
    is(AL_JSON_LINES, "{\"a\":[\"\\ud83d\"]}", "a='[\"\\ud83d\"]'");
    assert_int_equal(odd.replaced, 0);
}

static void keys(void **state)
{
    (void)state;
    is(AL_JSON_LINES, "{\"2021\":5,\"\":1,\"10\":2}\n{\"10\":3,\"2021\":4}",
       "2021=i5 =i1 10=i2 / 2021=i4 =~ 10=i3");
    is(AL_JSON_LINES, "{\"a\":1}\n{\"b\":2}\n{\"a\":3,\"b\":4}\n{\"c\":5,\"d\":6,\"a\":7}",
       "a=i1 / a=~ b=i2 / a=i3 b=i4 / a=i7 b=~ c=i5 d=i6");
    is(AL_JSON_LINES, "{\"a\\\"b\":1}\n{\"a\\\"b\":2}\n{\"a\\u0022b\":3}",
       "a\"b=i1 / a\"b=i2 / a\"b=i3");
    is(AL_JSON_LINES, "{\"a-long-key\":1,\"a-long-kez\":2}\n{\"a-long-kez\":1,\"a-long-key\":2}",
       "a-long-key=i1 a-long-kez=i2 / a-long-key=i2 a-long-kez=i1");
    is(AL_JSON_LINES, "{\"\\u00e9\":1}\n{\"\xC3\xA9\":2}", "\xC3\xA9=i1 / \xC3\xA9=i2");
    fails(AL_JSON_LINES, "{\"a\":1}\n{\"a\"b\":1}", "ingest_invalid", "syntax", 2, 5);
    fails(AL_JSON_LINES, "{\"a\\\"b\":1}\n{\"a\"b\":1}", "ingest_invalid", "syntax", 2, 5);
}

static void repeated_keys(void **state)
{
    (void)state;
    is(AL_JSON_LINES, "{\"a\":1,\"b\":2,\"a\":3}\n{\"a\":4,\"b\":5}\n{\"b\":6,\"\\u0062\":null}",
       "a=i3 b=i2 / a=i4 b=i5 / a=~ b=~");
    assert_int_equal(odd.repeats, 2);
    assert_int_equal(odd.lines[0], 1);
    assert_int_equal(odd.lines[1], 3);
    is(AL_JSON_LINES, "{\"a\":1}\n\n{\"a\":1,\"a\":2,\"a\":3,\"new\":4}", "a=i1 / a=i3 new=i4");
    assert_int_equal(odd.repeats, 1);
    assert_int_equal(odd.lines[0], 3);
}

static void limits(void **state)
{
    char deep[1200];

    (void)state;
    fails(AL_JSON_LINES, "{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1}", "ingest_limit", "maxColumns",
          0, 0);
    assert_string_equal(err.object, "analysis.data.maxColumns");
    is(AL_JSON_LINES, "{\"a\":\"12345678901234567890123456789012345678901234567890\"}",
       "a='12345678901234567890123456789012345678901234567890'");
    fails(AL_JSON_LINES,
          "{\"b\":1}\n{\"a\":\"123456789012345678901234567890123456789012345678901\"}",
          "ingest_limit", "maxCellBytes", 2, 2);
    assert_string_equal(err.object, "analysis.data.maxCellBytes");
    assert_non_null(strstr(err.detail, "\"a\""));
    fails(AL_JSON_LINES, "{\"a\":123456789012345678901234567890123456789012345678901}",
          "ingest_limit", "maxCellBytes", 1, 2);
    fails(AL_JSON_LINES, "{\"a\":[\"123456789012345678901234567890123456789012345678901\"]}",
          "ingest_limit", "maxCellBytes", 1, 2);
    is(AL_JSON_LINES, "{\"a\":[ 1 ,                                                      2 ]}",
       "a='[1,2]'");
    is(AL_JSON_LINES, "{\"a\":\"\\u0041\\u0041\\u0041\\u0041\\u0041\\u0041\\u0041\\u0041\\u0041\"}",
       "a='AAAAAAAAA'");
    /* what cannot end as a cell any more */
    snprintf(deep, sizeof deep, "{\"a\":\"%0400d", 0);
    fails(AL_JSON_LINES, deep, "ingest_limit", "maxCellBytes", 1, 2);
    snprintf(deep, sizeof deep, "{\"a\":[%0100d", 0);
    deep[7] = '1';
    fails(AL_JSON_LINES, deep, "ingest_invalid", "number", 1, 7);
    snprintf(deep, sizeof deep, "{\"a\":[1%0100d,", 0);
    fails(AL_JSON_LINES, deep, "ingest_limit", "maxCellBytes", 1, 2);

    memset(deep, '[', sizeof deep);
    memcpy(deep, "{\"a\":", 5);
    memset(deep + 5 + AL_JSON_MAX_DEPTH - 1, ']', AL_JSON_MAX_DEPTH - 1);
    memcpy(deep + 5 + 2 * (AL_JSON_MAX_DEPTH - 1), "}", 2);
    fails(AL_JSON_LINES, deep, "ingest_limit", "maxCellBytes", 1, 2);
    deep[5 + AL_JSON_MAX_DEPTH - 1] = '[';
    fails(AL_JSON_LINES, deep, "ingest_limit", "depth", 1, 5 + AL_JSON_MAX_DEPTH);
}

/* Segments of one text, as the reader makes them: what was known before is known again, and places
 * count on. */
static void segments(void **state)
{
    static const char first[] = "[{\"a\":1}\n,{\"a\":2}", second[] = ",{\"b\":3},\n {\"a\":x}]";
    char text[64 + sizeof second];
    al_json_segment segment = { .text = text,
                                .len = strlen(second),
                                .last = true,
                                .offset = strlen(first),
                                .line = 2,
                                .column = 8 };
    char key[1 + AL_JSON_KEY_SPARE] = "a";
    al_jsonrows *r;
    al_batch b;
    size_t len;

    (void)state;
    memcpy(text, second, sizeof second);
    assert_int_equal(al_jsonrows_open(&r, AL_JSON_LIST, &segment, 4, 50, &err), AL_OK);
    assert_int_equal(al_jsonrows_know(r, key, 1), AL_OK);
    assert_int_equal(al_jsonrows_next(r, 1, &b, &err), AL_OK);
    assert_int_equal(b.rows, 1);
    assert_int_equal(b.columns, 2);
    assert_int_equal(b.cells[0].kind, AL_CELL_NULL);
    assert_int_equal(b.cells[1].integer, 3);
    assert_string_equal(al_jsonrows_key(r, 1, &len), "b");
    assert_int_equal(al_jsonrows_next(r, 1, &b, &err), AL_EDATA);
    assert_int_equal(err.line, 3);
    assert_int_equal(err.column, 7);
    assert_int_equal(err.offset, strlen(first) + 16);
    al_jsonrows_close(r);

    segment.text =
        ",{\"b\":3}x                                                                    ";
    segment.len = 9;
    assert_int_equal(al_jsonrows_open(&r, AL_JSON_LIST, &segment, 4, 50, &err), AL_OK);
    assert_int_equal(al_jsonrows_next(r, 9, &b, &err), AL_EDATA);
    assert_int_equal(err.line, 2);
    assert_int_equal(err.column, 17);
    al_jsonrows_close(r);

    segment.len = 8;
    segment.last = false;
    assert_int_equal(al_jsonrows_open(&r, AL_JSON_LIST, &segment, 4, 50, &err), AL_OK);
    assert_int_equal(al_jsonrows_next(r, 9, &b, &err), AL_OK);
    assert_int_equal(b.rows, 1);
    assert_int_equal(al_jsonrows_next(r, 9, &b, &err), AL_OK);
    assert_int_equal(b.rows, 0);
    al_jsonrows_close(r);
}

/* ---- what RFC 8259 says ---- */

static bool is_json(const char *text, size_t len, al_json_type *first)
{
    al_json_type t;
    al_json j;

    al_json_open(&j, text, len, 0);
    j.lone_surrogates = true;
    j.big_numbers = true;
    t = *first = al_json_next(&j);
    while (t != AL_JSON_ERROR && t != AL_JSON_END)
        t = al_json_next(&j);
    al_json_close(&j);
    return t == AL_JSON_END;
}

static bool is_cell(const char *text, size_t len)
{
    al_buf b;
    bool good;

    al_buf_init(&b, 0);
    al_buf_str(&b, "{\"v\":");
    al_buf_add(&b, text, len);
    al_buf_char(&b, '}');
    good = rows_of(AL_JSON_STREAM, b.data, b.len, 10) != NULL;
    if (!good && err.id && strcmp(err.id, "ingest_limit") == 0)
        good = true; /* 50 bytes are not much */
    al_buf_free(&b);
    return good;
}

static size_t unpack(char *line)
{
    char *to = line;

    for (const char *p = line; *p && *p != '\n'; p++) {
        unsigned byte = (unsigned char)*p;

        if (*p == '%') {
            assert_int_equal(sscanf(p + 1, "%2x", &byte), 1);
            p += 2;
        }
        *to++ = (char)byte;
    }
    return (size_t)(to - line);
}

static void verdicts(void **state)
{
    FILE *f = fopen("tests/data/json/verdicts", "r");
    char line[1024];
    int n = 0;

    (void)state;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        bool good = line[0] == 'y';
        char *text = line + 2;
        al_json_type type;
        size_t len;

        if (line[0] == '#')
            continue;
        len = unpack(text);
        n++;
        if (is_json(text, len, &type) != good)
            fail_msg("tokens: not %c, %.*s", line[0], (int)len, text);
        if (al_utf8_valid(text, len) != len)
            continue; /* no reader is given such */
        if (is_cell(text, len) != good)
            fail_msg("a cell: not %c, %.*s (%s)", line[0], (int)len, text, err.detail);
        if (good && type == AL_JSON_OBJECT && !rows_of(AL_JSON_STREAM, text, len, 10))
            fail_msg("an object: %.*s (%s)", (int)len, text, err.detail);
        if (!good && len && strchr("{ \n", text[0]) &&
            (rows_of(AL_JSON_STREAM, text, len, 10) && memchr(text, '{', len)))
            fail_msg("an object: %.*s was taken", (int)len, text);
    }
    fclose(f);
    assert_true(n >= 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),         cmocka_unit_test(streams),
        cmocka_unit_test(lists),         cmocka_unit_test(values),
        cmocka_unit_test(nested_values), cmocka_unit_test(halves_of_surrogate_pairs),
        cmocka_unit_test(keys),          cmocka_unit_test(repeated_keys),
        cmocka_unit_test(limits),        cmocka_unit_test(segments),
        cmocka_unit_test(verdicts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
