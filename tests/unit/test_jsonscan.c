#include "base/cpu.h"
#include "data.h"
#include "data/dataset.h"
#include "data/jsonscan.h"

/* The ends of objects in text by a scan that is given the first n bytes and then all, with a limit
 * of 1: each is a segment of its own. Ends are added up from 0. Answers how many. */
static size_t ends_of(al_json_shape shape, const char *text, size_t len, size_t n, size_t *ends,
                      size_t room)
{
    size_t from = 0, found = 0;
    al_json_scan c;

    al_json_scan_open(&c, shape, true);
    while (found < room) {
        size_t first = n > from ? n - from : 0;

        if (!al_json_scan_text(&c, text + from, first, false, 1) &&
            !al_json_scan_text(&c, text + from, len - from, true, 1))
            return found;
        from += c.end;
        ends[found++] = from;
        al_json_scan_open(&c, shape, false);
    }
    return found;
}

static void is(al_json_shape shape, const char *bytes, const size_t *want, size_t count)
{
    size_t len = strlen(bytes), ends[64];
    char *text = malloc(len + 64);

    memcpy(text, bytes, len);
    memset(text + len, '}', 64);
    for (int way = 0; way < 2; way++) {
        al_cpu_set_plain(way == 1);
        for (size_t n = 0; n <= len; n++) {
            assert_int_equal(ends_of(shape, text, len, n, ends, 64), count);
            for (size_t i = 0; i < count; i++)
                assert_int_equal(ends[i], want[i]);
        }
    }
    al_cpu_set_plain(false);
    free(text);
}

static void lines(void **state)
{
    (void)state;
    is(AL_JSON_LINES, "", NULL, 0);
    is(AL_JSON_LINES, "\n \t\r\n", NULL, 0);
    is(AL_JSON_LINES, "{}\n\n{\"a\":\"}\"}\r\n \n{}", (size_t[]){ 3, 15, 19 }, 3);
    is(AL_JSON_LINES, "x", (size_t[]){ 1 }, 1);
}

static void brackets(void **state)
{
    (void)state;
    is(AL_JSON_STREAM, " {} \n{\"a\":[{}]}", (size_t[]){ 3, 15 }, 2);
    is(AL_JSON_LIST, "[{},{\"a\":{}} ]", (size_t[]){ 3, 12 }, 2);
    is(AL_JSON_LIST, "[{\"}\":\"{\\\"}\"},{\"\\\\\":\"}\"}]", (size_t[]){ 13, 24 }, 2);
    is(AL_JSON_LIST, "[{\"\\\\\\\"}\":1}]", (size_t[]){ 12 }, 1);
    is(AL_JSON_LIST, "[[{}],5,{}]", (size_t[]){ 10 }, 1);
    is(AL_JSON_STREAM, "{\"never", NULL, 0);
    is(AL_JSON_STREAM, "}}{}", (size_t[]){ 1, 2, 4 }, 3);
}

/* The same wherever strings and runs of backslashes stand in a block, whatever finds them. */
static void by_chance(void **state)
{
    static const char *const bits[] = { "\\\\", "\\\"", "{",  "}",        "[",
                                        "]",    "x",    "  ", "\xC3\xA9", "\\\\\\\\\\\\" };
    uint64_t x = 5;

    (void)state;
    for (int round = 0; round < 300; round++) {
        char bytes[600] = "[";
        size_t want[8], count = next_random(&x) % 8;

        for (size_t i = 0; i < count; i++) {
            char *p = bytes + strlen(bytes);

            p += sprintf(p, "%s{\"", i ? "," : "");
            for (size_t k = next_random(&x) % 30; k > 0 && p < bytes + 60 * (i + 1); k--)
                p += sprintf(p, "%s", bits[next_random(&x) % 10]);
            p += sprintf(p, "\":[{}]}");
            want[i] = (size_t)(p - bytes);
        }
        strcat(bytes, "]");
        is(AL_JSON_LIST, bytes, want, count);
    }
}

static void segments(void **state)
{
    const size_t objects = AL_JSON_MOST_OBJECTS + 10;
    char *text = calloc(1, objects * 3 + 64);
    al_json_scan c;

    (void)state;
    for (size_t i = 0; i < objects; i++)
        memcpy(text + 3 * i, "{}\n", 3);
    for (int shape = AL_JSON_LINES; shape <= AL_JSON_STREAM; shape++) {
        size_t line_end = shape == AL_JSON_LINES;

        al_json_scan_open(&c, (al_json_shape)shape, true);
        assert_true(al_json_scan_text(&c, text, 3 * objects, false, AL_DATASET_SEGMENT));
        assert_int_equal(c.objects, AL_JSON_MOST_OBJECTS);
        assert_int_equal(c.end, 3 * AL_JSON_MOST_OBJECTS - 1 + line_end);
        assert_int_equal(c.lines, line_end ? AL_JSON_MOST_OBJECTS : 0);
        al_json_scan_open(&c, (al_json_shape)shape, true);
        assert_true(al_json_scan_text(&c, text, 3 * objects, false, 300));
        assert_int_equal(c.end, 300 + (line_end ? 0 : 2));
        al_json_scan_open(&c, (al_json_shape)shape, true);
        assert_false(al_json_scan_text(&c, text, 300, true, 1000));
        assert_int_equal(c.objects, 100);
        assert_int_equal(c.at, 300);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),
        cmocka_unit_test(brackets),
        cmocka_unit_test(by_chance),
        cmocka_unit_test(segments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
