#include "prim/markdown.h"
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

static const char *draw(const char *text, size_t columns, bool colour)
{
    clear(NULL);
    assert_int_equal(al_markdown(&out, text, strlen(text), columns, colour, NULL), AL_OK);
    return out.data ? out.data : "";
}

static void blocks(void **state)
{
    (void)state;
    assert_string_equal(draw("", 40, false), "");
    assert_string_equal(draw("# T\n\np", 40, false), "T\n\np\n");
    assert_string_equal(draw("- a\n- b\n  - c\n", 40, false), "• a\n• b\n  • c\n");
    assert_string_equal(draw("9. a\n10. b\n", 40, false), "9.  a\n10. b\n");
    assert_string_equal(draw("- [x] a\n- [ ] b\n", 40, false), "☑ a\n☐ b\n");
    assert_string_equal(draw("> a\n>\n> b\n", 40, false), "│ a\n│ \n│ b\n");
    assert_string_equal(draw("- > q\n", 40, false), "• │ q\n");
    assert_string_equal(draw("```\na\tb\n```\n", 40, false), "  a    b\n");
    assert_string_equal(draw("- t\n  ```\n  c\n  ```\n", 40, false), "• t\n    c\n");
    assert_string_equal(draw("a\n\n---\n", 20, false), "a\n\n────────────────────\n");
    assert_string_equal(draw("<b>x</b>\n", 40, false), "<b>x</b>\n");
}

static void spans(void **state)
{
    (void)state;
    assert_string_equal(draw("**a** *b* `c` ~~d~~ &amp; &#65; &x;", 40, false),
                        "a b `c` ~~d~~ & A &x;\n");
    assert_string_equal(draw("[t](http://a) <http://b> ![alt](i.png)", 60, false),
                        "t (http://a) http://b [alt]\n");
    assert_string_equal(draw("**a**", 40, true), "\033[0m\033[1ma\033[0m\n");
}

static void long_lines_are_wrapped_behind_their_indent(void **state)
{
    (void)state;
    assert_string_equal(draw("- one two three four five six", 20, false),
                        "• one two three four\n  five six\n");
    assert_string_equal(draw("> one two three four five", 20, false),
                        "│ one two three four\n│ five\n");
}

static void tables_fit(void **state)
{
    const char *wide = "|name|n|\n|---|--:|\n|a long name that goes on and on|12|\n|b|3|\n";
    (void)state;
    assert_string_equal(draw("|a|b|\n|---|--:|\n|x|12|\n", 40, false), "a   b\n─────\nx  12\n");
    draw(wide, 24, false);
    for (const char *line = out.data, *lf; (lf = strchr(line, '\n')); line = lf + 1)
        assert_true(al_text_width(line, (size_t)(lf - line)) <= 24);
    assert_non_null(strstr(out.data, "…"));
}

static void nothing_of_the_text_acts(void **state)
{
    (void)state;
    draw("\033[31m `\033]0;t\007` [\xE2\x80\xAE](\033) \xE2\x94\x81\n\n\033[2J\n", 40, false);
    assert_null(strchr(out.data, '\033'));
    assert_null(strstr(out.data, "\xE2\x80\xAE"));
    assert_null(strstr(out.data, "\xE2\x94\x81"));
}

static void deep_and_large_texts_are_bounded(void **state)
{
    size_t n = 200000;
    char *text = malloc(n + 1);
    (void)state;
    memset(text, '>', n);
    text[n] = '\0';
    draw(text, 40, false);
    for (size_t i = 0; i < n; i++)
        text[i] = "- "[i % 2];
    draw(text, 40, false);
    memset(text, '[', n);
    draw(text, 40, false);
    for (size_t i = 0; i + 2 < n; i++)
        text[i] = "|---|\n"[i < 7 ? 0 : i % 6];
    draw(text, 40, true);
    assert_true(out.len < 40u << 20);
    free(text);
}

static void too_large_a_text_is_shown_as_it_is(void **state)
{
    size_t n = AL_MARKDOWN_MAX + 2;
    char *text = malloc(n + 1);
    (void)state;
    memset(text, 'a', n);
    memcpy(text, "**a**\033", 6);
    text[n] = '\0';
    draw(text, 40, true);
    assert_memory_equal(out.data, "**a**\\u001b", 11);
    free(text);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, clear, clear)
    const struct CMUnitTest tests[] = {
        TEST(blocks),
        TEST(spans),
        TEST(long_lines_are_wrapped_behind_their_indent),
        TEST(tables_fit),
        TEST(nothing_of_the_text_acts),
        TEST(deep_and_large_texts_are_bounded),
        TEST(too_large_a_text_is_shown_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
