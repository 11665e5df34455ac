#include "base/err.h"
#include "prim/text.h"
#include "unit.h"

static al_buf out;

static int clear(void **state)
{
    (void)state;
    al_buf_free(&out);
    al_buf_init(&out, 0);
    return 0;
}

static const char *got(void)
{
    return out.data ? out.data : "";
}

static void widths_of_clusters(void **state)
{
    static const struct {
        const char *text;
        size_t columns;
    } cases[] = {
        { "", 0 },
        { "abc", 3 },
        { "e\xCC\x81", 1 },                                    /* a combining accent */
        { "\xE6\x97\xA5\xE6\x9C\xAC", 4 },                     /* two wide characters */
        { "\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA7", 2 }, /* joined emoji */
        { "\xE2\x9D\xA4\xEF\xB8\x8F", 2 },                     /* emoji by selector */
        { "\033[1;31mx\033[0m", 1 },
        { "\033[2Jx", 4 }, /* no colour: three visible characters and x */
        { "\xff\xfe", 2 },
        { "a\tb\n", 2 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(al_text_width(cases[i].text, strlen(cases[i].text)), cases[i].columns);
}

static void next_never_stands_still(void **state)
{
    char text[4];
    int columns;
    (void)state;
    for (unsigned a = 0; a < 256; a++)
        for (unsigned b = 0; b < 256; b++) {
            text[0] = (char)a, text[1] = (char)b, text[2] = (char)0xCC, text[3] = (char)0x81;
            for (size_t at = 0; at < sizeof text;) {
                size_t n = al_text_next(text + at, sizeof text - at, &columns);
                assert_true(n > 0 && n <= sizeof text - at);
                assert_true(columns >= 0 && columns <= 2);
                at += n;
            }
        }
}

static void truncation_fits(void **state)
{
    const char *text = "ab\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E";
    (void)state;
    for (size_t columns = 0; columns < 10; columns++) {
        clear(NULL);
        assert_int_equal(al_text_truncate(&out, text, strlen(text), columns), AL_OK);
        assert_true(al_text_width(got(), out.len) <= columns);
    }
    assert_string_equal(got(), text); /* nine columns: all of it */
}

static void wrapped_lines_fit_and_lose_nothing(void **state)
{
    const char *text = "one two  three\nfour\n\nfivesixseveneightnine ten\xE6\x97\xA5\xE6\x9C\xAC";
    (void)state;
    for (size_t columns = 2; columns < 40; columns++) {
        size_t kept = 0, letters = 0;
        clear(NULL);
        assert_int_equal(al_text_wrap(&out, text, strlen(text), columns), AL_OK);
        for (const char *line = got();;) {
            const char *lf = strchr(line, '\n');
            size_t n = lf ? (size_t)(lf - line) : strlen(line);
            while (n > 0 && line[n - 1] == ' ')
                n--;
            assert_true(al_text_width(line, n) <= columns);
            if (!lf)
                break;
            line = lf + 1;
        }
        for (const char *c = got(); *c; c++)
            kept += *c != ' ' && *c != '\n';
        for (const char *c = text; *c; c++)
            letters += *c != ' ' && *c != '\n';
        assert_int_equal(kept, letters);
    }
}

static void colours_end_with_the_line(void **state)
{
    const char *text = "\033[1mab \033[36mcd\033[0m ef";
    (void)state;
    al_text_wrap(&out, text, strlen(text), 2);
    assert_string_equal(got(), "\033[1mab\033[0m\n\033[1m\033[36mcd\033[0m\nef");
}

static void visible_text_cannot_act(void **state)
{
    const char *text = "a\033]0;x\007\xE2\x80\xAE\xE2\x94\x81\xC2\x9B\xFF\xF3\xA0\x81\x81\r\n\t";
    (void)state;
    al_text_visible(&out, text, strlen(text), false);
    assert_string_equal(
        got(), "a\\u001b]0;x\\u0007\\u202e\\u2501\\u009b\\xff\\u{e0041}\\u000d\\u000a\\u0009");
    clear(NULL);
    al_text_visible(&out, "a\n\tb\r", 5, true);
    assert_string_equal(got(), "a\n\tb\\u000d");
    clear(NULL);
    al_text_visible(&out, "\0", 1, true);
    assert_string_equal(got(), "\\u0000");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, clear, clear)
    const struct CMUnitTest tests[] = {
        TEST(widths_of_clusters),        TEST(next_never_stands_still),
        TEST(truncation_fits),           TEST(wrapped_lines_fit_and_lose_nothing),
        TEST(colours_end_with_the_line), TEST(visible_text_cannot_act),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
