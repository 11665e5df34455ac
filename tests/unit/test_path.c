#include "base/err.h"
#include "base/path.h"
#include "unit.h"

static void join(void **state)
{
    static const char *const cases[][3] = {
        { "a", "b", "a/b" }, { "a/", "b", "a/b" }, { "/", "b", "/b" }, { "", "b", "b" },
        { "a", "/b", "/b" }, { "a", "", "a" },     { "a/", "", "a/" }, { "", "", "" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        al_buf b;
        al_buf_init(&b, 0);
        assert_int_equal(al_path_join(&b, cases[i][0], cases[i][1]), AL_OK);
        assert_string_equal(b.data, cases[i][2]);
        al_buf_free(&b);
    }
}

static void base_and_ext(void **state)
{
    (void)state;
    assert_string_equal(al_path_base("/a/b.csv"), "b.csv");
    assert_string_equal(al_path_base("b"), "b");
    assert_string_equal(al_path_base("a/"), "");
    assert_string_equal(al_path_ext("/a.d/b.csv"), ".csv");
    assert_string_equal(al_path_ext("b.tar.gz"), ".gz");
    assert_string_equal(al_path_ext("/a.d/b"), "");
    assert_string_equal(al_path_ext(".hidden"), "");
    assert_string_equal(al_path_ext("b."), ".");
}

static void beneath(void **state)
{
    static const char *const yes[] = { "a",   "a/b", ".",   "./a", "a//b",
                                       "a/.", "..a", "a..", "...", "a/..b/c" };
    static const char *const no[] = { "", "/", "/a", "..", "../a", "a/..", "a/../b", "a/b/.." };
    (void)state;
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        if (!al_path_beneath(yes[i], strlen(yes[i])))
            fail_msg("%s", yes[i]);
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        if (al_path_beneath(no[i], strlen(no[i])))
            fail_msg("%s", no[i]);
    assert_false(al_path_beneath("a\0b", 3));
}

static void clean(void **state)
{
    static const char *const cases[][2] = {
        { "", "." },
        { ".", "." },
        { "./", "." },
        { "a", "a" },
        { "a/", "a" },
        { "a//b/./c", "a/b/c" },
        { "a/../b", "b" },
        { "a/b/../..", "." },
        { "../a", "../a" },
        { "a/../../b", "../b" },
        { "../../a/..", "../.." },
        { "/", "/" },
        { "//a//", "/a" },
        { "/..", "/" },
        { "/../a/./..", "/" },
        { "/a/../../b", "/b" },
        { "..a/.b", "..a/.b" },
        { "/a/...", "/a/..." },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        al_buf b;
        al_buf_init(&b, 0);
        al_buf_str(&b, "x/"); /* what stands there already is not touched */
        assert_int_equal(al_path_clean(&b, cases[i][0]), AL_OK);
        assert_string_equal(b.data + 2, cases[i][1]);
        al_buf_free(&b);
    }
}

static void caps_are_answered(void **state)
{
    al_buf b;
    (void)state;
    al_buf_init(&b, 3);
    assert_int_equal(al_path_clean(&b, "/abc/../def/.."), AL_ELIMIT);
    al_buf_clear(&b);
    assert_int_equal(al_path_join(&b, "ab", "cd"), AL_ELIMIT);
    al_buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(join),  cmocka_unit_test(base_and_ext),      cmocka_unit_test(beneath),
        cmocka_unit_test(clean), cmocka_unit_test(caps_are_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
