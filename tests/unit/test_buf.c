#include "base/buf.h"
#include "base/err.h"
#include "unit.h"

static void grows_and_stays_terminated(void **state)
{
    al_buf b;
    (void)state;
    al_buf_init(&b, 0);
    assert_null(b.data);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(al_buf_char(&b, (char)('a' + i % 26)), AL_OK);
    assert_int_equal(b.len, 1000);
    assert_int_equal(strlen(b.data), 1000);
    assert_int_equal(b.data[999], 'a' + 999 % 26);
    al_buf_free(&b);
    assert_null(b.data);
}

static void empty_add_gives_an_empty_text(void **state)
{
    al_buf b;
    (void)state;
    al_buf_init(&b, 0);
    assert_int_equal(al_buf_add(&b, NULL, 0), AL_OK);
    assert_string_equal(b.data, "");
    al_buf_free(&b);
}

static void the_cap_holds_and_leaves_the_bytes(void **state)
{
    al_buf b;
    (void)state;
    al_buf_init(&b, 5);
    assert_int_equal(al_buf_str(&b, "abc"), AL_OK);
    assert_int_equal(al_buf_str(&b, "def"), AL_ELIMIT);
    assert_string_equal(b.data, "abc");
    assert_int_equal(al_buf_char(&b, 'd'), AL_ELIMIT); /* once failed, always */
    al_buf_clear(&b);
    assert_int_equal(al_buf_str(&b, "abcde"), AL_OK);
    assert_string_equal(b.data, "abcde");
    assert_int_equal(b.failed, AL_OK);
    al_buf_free(&b);
    assert_int_equal(b.max, 5);
}

static void absurd_sizes_fail_without_wrapping(void **state)
{
    al_buf b;
    (void)state;
    al_buf_init(&b, 0);
    al_buf_str(&b, "x");
    assert_int_equal(al_buf_reserve(&b, SIZE_MAX), AL_ENOMEM);
    assert_int_equal(b.failed, AL_ENOMEM);
    assert_string_equal(b.data, "x");
    al_buf_free(&b);
    al_buf_init(&b, SIZE_MAX);
    assert_int_equal(al_buf_reserve(&b, SIZE_MAX - 1), AL_ENOMEM);
    al_buf_free(&b);
    al_buf_init(&b, SIZE_MAX);
    assert_int_equal(al_buf_str(&b, "fine"), AL_OK);
    al_buf_free(&b);
}

static void printf_takes_long_texts(void **state)
{
    char wide[700];
    al_buf b;
    (void)state;
    memset(wide, 'w', sizeof wide - 1);
    wide[sizeof wide - 1] = '\0';
    al_buf_init(&b, 0);
    assert_int_equal(al_buf_printf(&b, "%d-", 42), AL_OK);
    assert_int_equal(al_buf_printf(&b, "%s", wide), AL_OK);
    assert_int_equal(b.len, 3 + 699);
    assert_memory_equal(b.data, "42-ww", 5);
    al_buf_free(&b);
    al_buf_init(&b, 100);
    assert_int_equal(al_buf_printf(&b, "%s", wide), AL_ELIMIT);
    assert_int_equal(b.len, 0);
    al_buf_free(&b);
}

static void drop_takes_from_the_front(void **state)
{
    al_buf b;
    (void)state;
    al_buf_init(&b, 0);
    al_buf_drop(&b, 3); /* nothing there */
    al_buf_str(&b, "hello");
    al_buf_drop(&b, 0);
    al_buf_drop(&b, 2);
    assert_string_equal(b.data, "llo");
    al_buf_drop(&b, 99);
    assert_string_equal(b.data, "");
    assert_int_equal(b.len, 0);
    al_buf_free(&b);
}

static void steal_hands_the_bytes_over(void **state)
{
    al_buf b;
    char *text;
    (void)state;
    al_buf_init(&b, 9);
    text = al_buf_steal(&b); /* of an empty buffer too */
    assert_string_equal(text, "");
    free(text);
    al_buf_str(&b, "mine");
    text = al_buf_steal(&b);
    assert_string_equal(text, "mine");
    assert_null(b.data);
    assert_int_equal(b.len + b.cap, 0);
    assert_int_equal(b.max, 9);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_and_stays_terminated),
        cmocka_unit_test(empty_add_gives_an_empty_text),
        cmocka_unit_test(the_cap_holds_and_leaves_the_bytes),
        cmocka_unit_test(absurd_sizes_fail_without_wrapping),
        cmocka_unit_test(printf_takes_long_texts),
        cmocka_unit_test(drop_takes_from_the_front),
        cmocka_unit_test(steal_hands_the_bytes_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
