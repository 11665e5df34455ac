#include "base/json.h"
#include "base/jsontext.h"
#include "unit.h"
#include <math.h>

/* The tokens of text as one line: "{ k:a 1 }", or the error's reason behind a "!". */
static const char *tokens(const char *text, size_t len, int depth)
{
    static char line[4096];
    static const char *const marks[] = { ".", "{", "}", "[", "]" };
    al_json_type t;
    al_buf b;
    al_json j;

    al_buf_init(&b, sizeof line - 1);
    al_json_open(&j, text, len, depth);
    do {
        t = al_json_next(&j);
        if (b.len)
            al_buf_char(&b, ' ');
        if (t <= AL_JSON_ARRAY_END)
            al_buf_str(&b, marks[t]);
        else if (t == AL_JSON_ERROR)
            al_buf_printf(&b, "!%s", j.err.reason);
        else if (t == AL_JSON_KEY)
            al_buf_printf(&b, "%.*s:", (int)j.len, j.text);
        else if (t == AL_JSON_STRING)
            al_buf_printf(&b, "'%.*s'", (int)j.len, j.text);
        else
            al_buf_printf(&b, "%.*s", (int)j.len, j.text);
    } while (t != AL_JSON_END && t != AL_JSON_ERROR);
    assert_int_equal(al_json_next(&j), t); /* the last answer stays */
    al_json_close(&j);
    snprintf(line, sizeof line, "%s", b.data);
    al_buf_free(&b);
    return line;
}

#define assert_tokens(text, want) assert_string_equal(tokens(text, sizeof text - 1, 0), want)

static void reads_what_is_json(void **state)
{
    (void)state;
    assert_tokens("null", "null .");
    assert_tokens(" \t\r\n[ ] ", "[ ] .");
    assert_tokens("{}", "{ } .");
    assert_tokens("{\"a\":[1,-2.5e+3,true,false,null,\"x\"],\"\":{}}",
                  "{ a: [ 1 -2.5e+3 true false null 'x' ] : { } } .");
    assert_tokens("[[],[[]]]", "[ [ ] [ [ ] ] ] .");
    assert_tokens("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "'\"\\/\b\f\n\r\t' .");
    assert_tokens("\"a\\u00e9\\u20AC\\ud83d\\ude00z\"",
                  "'a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z' .");
    assert_tokens("\"\xC3\xA9\xF0\x9F\x98\x80\x7F\"", "'\xC3\xA9\xF0\x9F\x98\x80\x7F' .");
    assert_tokens("{\"a\":1,\"a\":2}", "{ a: 1 a: 2 } .");
}

static void refuses_what_is_not(void **state)
{
    (void)state;
    assert_tokens("", "!truncated");
    assert_tokens("  ", "!truncated");
    assert_tokens("\xEF\xBB\xBF{}", "!syntax");
    assert_tokens("{", "{ !truncated");
    assert_tokens("[1", "[ 1 !truncated");
    assert_tokens("[1,]", "[ 1 !syntax");
    assert_tokens("[,1]", "[ !syntax");
    assert_tokens("[1 2]", "[ 1 !syntax");
    assert_tokens("[1}", "[ 1 !syntax");
    assert_tokens("{\"a\"}", "{ a: !syntax");
    assert_tokens("{\"a\" 1}", "{ a: !syntax");
    assert_tokens("{\"a\":}", "{ a: !syntax");
    assert_tokens("{\"a\":1,}", "{ a: 1 !syntax");
    assert_tokens("{\"a\":1 \"b\":2}", "{ a: 1 !syntax");
    assert_tokens("{a:1}", "{ !syntax");
    assert_tokens("{1:1}", "{ !syntax");
    assert_tokens("{'a':1}", "{ !syntax");
    assert_tokens("1 2", "1 !syntax");
    assert_tokens("[]]", "[ ] !syntax");
    assert_tokens("tru", "!syntax");
    assert_tokens("nulll", "null !syntax");
    assert_tokens("True", "!syntax");
    assert_tokens("NaN", "!syntax");
    assert_tokens("Infinity", "!syntax");
    assert_tokens("[1]//x", "[ 1 ] !syntax");
    assert_tokens("[1\0]", "[ 1 !syntax");
    assert_tokens("\f1", "!syntax");
    assert_tokens("\"a", "!truncated");
    assert_tokens("\"a\nb\"", "!syntax");
    assert_tokens("\"a\0b\"", "!syntax");
    assert_tokens("\"\\x41\"", "!syntax");
    assert_tokens("\"\\u12g4\"", "!syntax");
    assert_tokens("\"\\u12", "!syntax");
    assert_tokens("\"\\", "!truncated");
    assert_tokens("\"\\\0\"", "!syntax");
}

static void refuses_numbers_of_other_languages(void **state)
{
    (void)state;
    assert_tokens("01", "!number");
    assert_tokens("-01", "!number");
    assert_tokens("00", "!number");
    assert_tokens("+1", "!syntax");
    assert_tokens(".5", "!syntax");
    assert_tokens("1.", "!truncated");
    assert_tokens("[1.]", "[ !number");
    assert_tokens("[1.e5]", "[ !number");
    assert_tokens("1e", "!truncated");
    assert_tokens("[1e+]", "[ !number");
    assert_tokens("-", "!truncated");
    assert_tokens("[-]", "[ !number");
    assert_tokens("-Infinity", "!number");
    assert_tokens("0x10", "0 !syntax");
    assert_tokens("1_000", "1 !syntax");
    assert_tokens("1e400", "!number");
    assert_tokens("-1E400", "!number");
    assert_tokens("1e-400", "1e-400 .");
}

static void refuses_bad_utf8(void **state)
{
    (void)state;
    assert_tokens("\"\xFF\"", "!utf8");
    assert_tokens("\"\xC0\xAF\"", "!utf8");     /* overlong */
    assert_tokens("\"\xED\xA0\x80\"", "!utf8"); /* a surrogate */
    assert_tokens("\"\xF4\x90\x80\x80\"", "!utf8");
    assert_tokens("\"\xE2\x82\"", "!utf8");
    assert_tokens("\"ok\xE2\x82", "!utf8");
    assert_tokens("\xFF", "!syntax");
    assert_tokens("\"\\ud800\"", "!surrogate");
    assert_tokens("\"\\ud800\\u0041\"", "!surrogate");
    assert_tokens("\"\\udc00\\ud800\"", "!surrogate");
    assert_tokens("\"\\ud800\\ud800\"", "!surrogate");
    assert_tokens("{\"k\\udfff\":1}", "{ !surrogate");
}

static void says_where(void **state)
{
    const char *text = "{\"a\": 1,\r\n \"\xC3\xA9\xC3\xA9\": tru}";
    al_json j;
    (void)state;
    al_json_open(&j, text, strlen(text), 0);
    while (al_json_next(&j) != AL_JSON_ERROR)
        continue;
    assert_int_equal(j.err.code, AL_EDATA);
    assert_string_equal(j.err.id, "json_invalid");
    assert_int_equal(j.err.line, 2);
    assert_int_equal(j.err.column, 8);
    assert_int_equal(j.err.offset, 19);
    al_json_close(&j);
}

static void depth_is_limited(void **state)
{
    char deep[600];
    (void)state;
    assert_string_equal(tokens("[[1]]", 5, 2), "[ [ 1 ] ] .");
    assert_string_equal(tokens("[[[1]]]", 7, 2), "[ [ !depth");
    assert_string_equal(tokens("{\"a\":{}}", 8, 1), "{ a: !depth");
    memset(deep, '[', 300);
    memset(deep + 300, ']', 300);
    assert_non_null(strstr(tokens(deep, 600, 0), "!depth"));
    assert_non_null(strstr(tokens(deep, 600, 100000), "!depth"));
    assert_null(strstr(tokens(deep + 300 - AL_JSON_MAX_DEPTH, 2 * AL_JSON_MAX_DEPTH, 0), "!"));
}

static al_json one(const char *text)
{
    al_json j;
    al_json_open(&j, text, strlen(text), 0);
    assert_int_equal(al_json_next(&j), AL_JSON_NUMBER);
    return j; /* nothing was allocated for a number */
}

static void integers_keep_64_bits(void **state)
{
    (void)state;
    assert_true(one("0").is_int);
    assert_true(one("9223372036854775807").is_int);
    assert_int_equal(one("9223372036854775807").integer, INT64_MAX);
    assert_int_equal(one("-9223372036854775808").integer, INT64_MIN);
    assert_true(one("-9223372036854775808").is_int);
    assert_false(one("9223372036854775808").is_int);
    assert_false(one("-9223372036854775809").is_int);
    assert_false(one("99999999999999999999999").is_int);
    assert_true(one("99999999999999999999999").real == 1e23);
    assert_false(one("1.0").is_int);
    assert_false(one("1e2").is_int);
    assert_false(one("-0").is_int);
    assert_true(signbit(one("-0").real));
    assert_true(one("42").real == 42.0);
    assert_true(one("-1.5e-3").real == -1.5e-3);
}

static void leniencies_are_asked_for(void **state)
{
    const char *text = "[\"x\\ud83dy\",\"\\udc00\",\"\\ud800\\ud83d\\ude00\",1e999,-1e999]";
    al_json j;
    (void)state;
    al_json_open(&j, text, strlen(text), 0);
    j.lone_surrogates = j.big_numbers = true;
    assert_int_equal(al_json_next(&j), AL_JSON_ARRAY);
    assert_int_equal(al_json_next(&j), AL_JSON_STRING);
    assert_memory_equal(j.text, "x\xEF\xBF\xBDy", j.len);
    assert_int_equal(al_json_next(&j), AL_JSON_STRING);
    assert_memory_equal(j.text, "\xEF\xBF\xBD", j.len);
    assert_int_equal(al_json_next(&j), AL_JSON_STRING);
    assert_memory_equal(j.text, "\xEF\xBF\xBD\xF0\x9F\x98\x80", j.len);
    assert_int_equal(al_json_next(&j), AL_JSON_NUMBER);
    assert_true(isinf(j.real));
    assert_memory_equal(j.text, "1e999", j.len);
    assert_int_equal(al_json_next(&j), AL_JSON_NUMBER);
    assert_true(isinf(j.real) && j.real < 0);
    al_json_close(&j);
}

static void skip_says_where_a_value_stands(void **state)
{
    const char *text = "{\"a\": {\"b\":[1,{}]} ,\"s\":\"\\n\",\"n\":12}";
    size_t start, len;
    al_json j;
    (void)state;
    al_json_open(&j, text, strlen(text), 0);
    al_json_next(&j);
    al_json_next(&j);
    assert_int_equal(al_json_next(&j), AL_JSON_OBJECT);
    assert_int_equal(al_json_skip(&j, &start, &len), AL_OK);
    assert_memory_equal(text + start, "{\"b\":[1,{}]}", len);
    assert_int_equal(al_json_next(&j), AL_JSON_KEY);
    al_json_next(&j);
    assert_int_equal(al_json_skip(&j, &start, &len), AL_OK);
    assert_int_equal(len, 4);
    assert_memory_equal(text + start, "\"\\n\"", len);
    al_json_next(&j);
    al_json_next(&j);
    assert_int_equal(al_json_skip(&j, &start, &len), AL_OK);
    assert_memory_equal(text + start, "12", len);
    assert_int_equal(al_json_next(&j), AL_JSON_OBJECT_END);
    assert_int_equal(al_json_next(&j), AL_JSON_END);
    al_json_close(&j);
    al_json_open(&j, "[[1,[}", 6, 0);
    al_json_next(&j);
    al_json_next(&j);
    assert_int_equal(al_json_skip(&j, &start, &len), AL_EDATA);
    al_json_close(&j);
}

/* Each text stands in memory of exactly its size, so that the sanitizer sees a read behind it. */
static void never_reads_behind_the_text(void **state)
{
    const char *text =
        "{\"a\\u00e9\xC3\xA9\":[true,false,null,-1.5e+7,\"\\ud83d\\ude00\"],\"b\":{}}";
    (void)state;
    for (size_t n = 0; n <= strlen(text); n++) {
        char *copy = malloc(n ? n : 1);
        assert_non_null(copy);
        memcpy(copy, text, n);
        if (n < strlen(text))
            assert_non_null(strchr(tokens(copy, n, 0), '!'));
        else
            assert_null(strchr(tokens(copy, n, 0), '!'));
        free(copy);
    }
}

static void writes_what_it_reads(void **state)
{
    al_json_out o;
    al_buf b;
    (void)state;
    al_buf_init(&b, 0);
    al_json_out_init(&o, &b);
    al_json_begin_object(&o);
    al_json_key(&o, "a\"");
    al_json_begin_array(&o);
    al_json_int(&o, INT64_MIN);
    al_json_real(&o, 0.1);
    al_json_real(&o, 1e300);
    al_json_real(&o, NAN);
    al_json_real(&o, -INFINITY);
    al_json_bool(&o, true);
    al_json_bool(&o, false);
    al_json_null(&o);
    al_json_cstring(&o, NULL);
    al_json_raw(&o, "{\"r\":1}", 7);
    al_json_begin_object(&o);
    al_json_end_object(&o);
    al_json_end_array(&o);
    al_json_key(&o, "b");
    al_json_string(&o, "\0\x1f\b\f\n\r\t\\/\x7f", 10);
    al_json_end_object(&o);
    assert_string_equal(
        b.data, "{\"a\\\"\":[-9223372036854775808,0.1,1e300,\"NaN\",\"-Infinity\",true,false,"
                "null,null,{\"r\":1},{}],\"b\":\"\\u0000\\u001f\\b\\f\\n\\r\\t\\\\/\x7f\"}");
    assert_null(strchr(tokens(b.data, b.len, 0), '!'));
    al_buf_free(&b);
}

static void quote_mends_bad_utf8(void **state)
{
    al_buf b;
    (void)state;
    al_buf_init(&b, 0);
    assert_int_equal(al_json_quote(&b, "a\xFF\xC3\xA9\xE2\x82", 6), AL_OK);
    assert_string_equal(b.data, "\"a\xEF\xBF\xBD\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD\"");
    al_buf_free(&b);
    al_buf_init(&b, 4);
    assert_int_equal(al_json_quote(&b, "toolong", 7), AL_ELIMIT);
    al_buf_free(&b);
}

static void small_readers(void **state)
{
    const char *text = "{\"op\":\"x\",\"v\":1,\"op\":\"in\\u0067est\",\"f\":1.0,\"deep\":{\"v\":9,"
                       "\"no\":1},\"t\":true,\"z\":null,\"l\":[1,[2]]}";
    size_t len = strlen(text), raw_len;
    const char *raw;
    int64_t v = -1;
    bool t = false;
    al_buf b;
    (void)state;
    al_buf_init(&b, 0);
    assert_true(al_json_get_string(text, len, "op", &b)); /* the last one counts */
    assert_string_equal(b.data, "ingest");
    assert_false(al_json_get_string(text, len, "v", &b));
    assert_true(al_json_get_int(text, len, "v", &v));
    assert_int_equal(v, 1);
    assert_false(al_json_get_int(text, len, "f", &v));
    assert_false(al_json_get_int(text, len, "no", &v));
    assert_false(al_json_get_int(text, len, "op", &v));
    assert_true(al_json_get_bool(text, len, "t", &t));
    assert_true(t);
    assert_false(al_json_get_bool(text, len, "z", &t));
    assert_true(al_json_get_raw(text, len, "l", &raw, &raw_len));
    assert_memory_equal(raw, "[1,[2]]", raw_len);
    assert_true(al_json_get_raw(text, len, "z", &raw, &raw_len));
    assert_int_equal(raw_len, 4);
    assert_false(al_json_get_int(text, len - 1, "v", &v)); /* the whole text must be right */
    assert_false(al_json_get_int("[1]", 3, "v", &v));
    assert_false(al_json_get_int("", 0, "v", &v));
    al_buf_free(&b);
}

/* The same at every distance from the end and for every byte. */
static void plain_runs(void **state)
{
    char text[70];

    (void)state;
    for (size_t len = 0; len < sizeof text; len++)
        for (size_t at = 0; at <= len; at++)
            for (int c = 0; c < 256; c += at == len / 2 ? 1 : 31) {
                bool stops = c < 0x20 || c == '"' || c == '\\';

                memset(text, 'a', sizeof text);
                text[at < sizeof text ? at : 0] = (char)c;
                assert_ptr_equal(al_json_plain(text, text + len),
                                 text + (stops && at < len ? at : len));
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_is_json),
        cmocka_unit_test(refuses_what_is_not),
        cmocka_unit_test(refuses_numbers_of_other_languages),
        cmocka_unit_test(refuses_bad_utf8),
        cmocka_unit_test(says_where),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(integers_keep_64_bits),
        cmocka_unit_test(leniencies_are_asked_for),
        cmocka_unit_test(skip_says_where_a_value_stands),
        cmocka_unit_test(never_reads_behind_the_text),
        cmocka_unit_test(writes_what_it_reads),
        cmocka_unit_test(quote_mends_bad_utf8),
        cmocka_unit_test(small_readers),
        cmocka_unit_test(plain_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
