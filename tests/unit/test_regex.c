#include "base/clock.h"
#include "base/err.h"
#include "data/regex.h"
#include "unit.h"

static al_err err;

static al_regex *compiled(const char *pattern)
{
    al_regex *r;

    if (al_regex_open(&r, pattern, strlen(pattern), &err) != AL_OK)
        fail_msg("%s: %s", pattern, err.detail);
    return r;
}

static void check(const char *pattern, const char *text, bool want)
{
    al_regex *r = compiled(pattern);

    if (al_regex_find(r, text, strlen(text)) != want)
        fail_msg("%s %s %s", pattern, want ? "does not find" : "finds", text);
    al_regex_close(r);
}

static void matches(void **state)
{
    static const struct {
        const char *pattern, *yes[4], *no[4];
    } cases[] = {
        { "", { "", "x" }, { NULL } },
        { "abc", { "abc", "xxabcx", "ababc" }, { "", "ab", "acb" } },
        { "a|b|cd", { "a", "b", "xcd" }, { "c", "d", "dc" } },
        { "a||b", { "", "q" }, { NULL } },
        { "^(ab|a)(c|bcd)$", { "abc", "abcd", "ac", "abbcd" }, { "ab", "abcc" } },
        { "^a*$", { "", "aaaa" }, { "b", "aab" } },
        { "^a+$", { "a", "aa" }, { "", "ab" } },
        { "^ab?c$", { "ac", "abc" }, { "abbc", "b" } },
        { "^a{3}$", { "aaa" }, { "aa", "aaaa" } },
        { "^a{2,}$", { "aa", "aaaaa" }, { "a", "" } },
        { "^a{1,3}$", { "a", "aa", "aaa" }, { "", "aaaa" } },
        { "^a{0,2}$", { "", "a", "aa" }, { "aaa" } },
        { "^xa{0}y$", { "xy" }, { "xay" } },
        { "^(ab){2,3}$", { "abab", "ababab" }, { "ab", "abababab" } },
        { "^(a|b){3}c$", { "abac" }, { "abc" } },
        { "^(a*)*$", { "", "aaa" }, { "b" } },
        { "^(a?){3}$", { "", "aaa" }, { "aaaa" } },
        { "(){2}x", { "x" }, { "" } },
        { "()*x", { "x" }, { "" } },
        { "^a{,3}$", { "a{,3}" }, { "aaa" } }, /* no repetition: it means itself */
        { "a{b", { "a{b" }, { "ab" } },
        { "x*?y+?z??", { "y", "xxyz" }, { "x" } },
        { ".", { "a", "\n", "\xC3\xB1", "\xFF" }, { "" } },
        { "^.$", { "\xF0\x9F\x98\x80" }, { "ab" } },
        { "[abc]", { "b", "xc" }, { "d", "" } },
        { "[^abc]", { "d", "\xFF", "\xC3\xB1" }, { "a", "abc" } },
        { "[]a]", { "]", "a" }, { "b" } },
        { "[^]a]", { "b" }, { "]", "a" } },
        { "[a-]", { "-", "a" }, { "b" } },
        { "[a\\-z]", { "-", "z" }, { "b" } },
        { "[\\]\\\\]", { "]", "\\" }, { "[" } },
        { "[\\d.]", { "5", "." }, { "d", "\\" } },
        { "^[[:alpha:]_]+$", { "a_Z", "\xC3\xB1" }, { "a1", "-" } },
        { "[[:digit:][:space:]]", { "1", "\t" }, { "a" } },
        { "[^[:alnum:]]", { "-" }, { "a", "7" } },
        { "[[:upper:]]", { "\xC3\x91" }, { "\xC3\xB1", "a" } },
        { "[[:punct:]]", { "!", "\xE2\x82\xAC" }, { "a", " " } },
        { "[[:xdigit:]]", { "f", "F", "0" }, { "g" } },
        { "[\xC3\xA1-\xC3\xBA]", { "\xC3\xB1" }, { "n", "\xC3\xBF" } },
        { "^\\d{4}-\\d{2}$", { "2024-01" }, { "2024-1", "dddd-dd" } },
        { "^\\w+$", { "a_1\xC3\xB1" }, { "a-b", "" } },
        { "\\W", { "a b" }, { "ab" } },
        { "\\D", { "1a" }, { "12" } },
        { "\\s", { "a\nb", "\xC2\xA0" }, { "ab" } },
        { "\\S", { " x" }, { " \t" } },
        { "\\bcat\\b", { "a cat", "cat.", "(cat)" }, { "concat", "cats", "_cat" } },
        { "\\Bcat", { "concat" }, { "cat", "a cat" } },
        { "a\\.b", { "a.b" }, { "axb" } },
        { "\\$\\^\\(\\)\\*", { "$^()*" }, { "$" } },
        { "a\\tb\\n", { "a\tb\n" }, { "atbn" } },
        { "^ab|c$", { "abx", "xc" }, { "xab", "cx" } },
        { "(^a|b)c", { "ac", "xbc" }, { "xac" } },
        { "b$", { "ab" }, { "ba" } },
        { "a$b", { NULL }, { "ab", "a$b" } },
        { "(?i)stra\xC3\x9F"
          "e \xC3\x91",
          { "STRA\xC3\x9F"
            "E \xC3\xB1" },
          { "strase n" } },
        { "(?i)^[a-f]+$", { "aBcF" }, { "abG" } },
        { "(?i)[^a]", { "b" }, { "A", "a" } },
        { "(?:ab)+c", { "ababc" }, { "ac" } },
        { "\xC3\xB1", { "a\xC3\xB1o" }, { "ano", "\xC3" } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t k = 0; k < 4; k++) {
            if (cases[i].yes[k])
                check(cases[i].pattern, cases[i].yes[k], true);
            if (cases[i].no[k])
                check(cases[i].pattern, cases[i].no[k], false);
        }
}

static void bytes_that_are_none(void **state)
{
    al_regex *r = compiled("^a.b.c$");

    (void)state;
    assert_true(al_regex_find(r,
                              "a\0b\xC3"
                              "c",
                              5));
    assert_false(al_regex_find(r,
                               "a\0\0b\xC3"
                               "c",
                               6));
    al_regex_close(r);
}

static void mistakes(void **state)
{
    static const char *const bad[] = { "(",        "(a",          ")",       "a)b",      "[",
                                       "[a",       "[]",          "[^]",     "[z-a]",    "[[:no:]]",
                                       "[[:alpha", "[[.a.]]",     "[[=a=]]", "[a-\\d]",  "*",
                                       "+a",       "a|?",         "\\",      "\\1",      "(a)\\1",
                                       "\\z",      "(?=a)",       "(?<n>a)", "a(?i)b",   "a{2,1}",
                                       "a{1001}",  "a{99999999}", "\xFF",    "[\xC3-b]", "[\\W]" };
    static const char *const large[] = { "((a{100}){100}){100}", "(a{1000}){1000}",
                                         "(((((a{9}){9}){9}){9}){9}){9}" };
    char deep[600];
    al_regex *r;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (al_regex_open(&r, bad[i], strlen(bad[i]), &err) != AL_EDATA)
            fail_msg("%s was taken", bad[i]);
        assert_null(r);
        assert_string_equal(err.id, "query_failed");
    }
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        assert_int_equal(al_regex_open(&r, large[i], strlen(large[i]), &err), AL_EDATA);
        assert_non_null(strstr(err.detail, "too large"));
    }
    memset(deep, '(', 300);
    memset(deep + 300, ')', 300);
    assert_int_equal(al_regex_open(&r, deep, sizeof deep, &err), AL_EDATA);
    assert_non_null(strstr(err.detail, "in each other"));
    assert_int_equal(al_regex_open(&r, deep, AL_REGEX_MAX_BYTES + 1, &err), AL_EDATA);
    assert_non_null(strstr(err.detail, "too long"));
}

/* What ruins machines that go back. The limit leaves room for sanitizers and a busy machine. */
static void no_pattern_hangs(void **state)
{
    static const char *const hostile[] = {
        "^(a+)+$",          "^(a|aa)+$",          "^(a*)*b$",
        "(.*)*(.*)*(.*)*z", "^(a?){500}a{500}b$", "(x+x+)+y|(a|b)*a(a|b){20}z",
        "((((a*)*)*)*)*c"
    };
    char text[20001];
    const uint64_t start = al_clock_monotonic();

    (void)state;
    memset(text, 'a', 20000);
    text[19999] = '!';
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        al_regex *r = compiled(hostile[i]);

        assert_false(al_regex_find(r, text, 20000));
        al_regex_close(r);
    }
    assert_true((al_clock_monotonic() - start) / 1000000 < 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches),
        cmocka_unit_test(bytes_that_are_none),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(no_pattern_hangs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
