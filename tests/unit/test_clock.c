#include "base/clock.h"
#include "unit.h"
#include <time.h>

static void wall_time_is_now(void **state)
{
    int64_t a = al_clock_now();
    (void)state;
    assert_in_range(a, (uint64_t)(time(NULL) - 2) * 1000, (uint64_t)(time(NULL) + 2) * 1000);
    assert_true(al_clock_now() >= a);
}

static void monotonic_moves(void **state)
{
    uint64_t a = al_clock_monotonic(), b = a;
    (void)state;
    while (b == a)
        b = al_clock_monotonic();
    assert_true(b > a);
}

static void faked_time_stands_and_ticks(void **state)
{
    int64_t a;
    (void)state;
    setenv("ALISIO_TEST_CLOCK", "1700000000000", 1);
    a = al_clock_now();
    assert_true(a >= 1700000000000 && a < 1700000001000);
    assert_true(al_clock_now() == a + 1);
    setenv("ALISIO_TEST_CLOCK", "nonsense", 1); /* not a number: the real one */
    assert_true(al_clock_now() > 1700000001000);
    unsetenv("ALISIO_TEST_CLOCK");
}

static void random_fills_all(void **state)
{
    unsigned char a[1000] = { 0 }, b[1000] = { 0 }, or [8] = { 0 };
    (void)state;
    assert_int_equal(al_clock_random(a, sizeof a, NULL), AL_OK);
    assert_int_equal(al_clock_random(b, sizeof b, NULL), AL_OK);
    assert_memory_not_equal(a, b, sizeof a);
    for (size_t i = 992; i < 1000; i++)
        for (int t = 0; t < 8; t++) {
            al_clock_random(b, sizeof b, NULL);
            or [i - 992] |= b[i];
        }
    for (int i = 0; i < 8; i++)
        assert_int_not_equal(or [i], 0); /* the last bytes, too */
    assert_int_equal(al_clock_random(a, 0, NULL), AL_OK);
}

static void seeded_random_goes_on(void **state)
{
    unsigned char a[16], b[16];
    (void)state;
    setenv("ALISIO_TEST_SEED", "7", 1);
    assert_int_equal(al_clock_random(a, sizeof a, NULL), AL_OK);
    assert_int_equal(al_clock_random(b, sizeof b, NULL), AL_OK);
    unsetenv("ALISIO_TEST_SEED");
    assert_memory_not_equal(a, b, sizeof a);
    /* SplitMix64 with seed 7: the top byte of its first four numbers. */
    assert_memory_equal(a, "\x63\x04\xe6\x95", 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wall_time_is_now),
        cmocka_unit_test(monotonic_moves),
        cmocka_unit_test(faked_time_stands_and_ticks),
        cmocka_unit_test(random_fills_all),
        cmocka_unit_test(seeded_random_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
