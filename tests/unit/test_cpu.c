#include "base/cpu.h"
#include "unit.h"
#include <sched.h>

/* As taskset and containers limit it, not as many as the machine has. */
static void processors_are_those_of_the_process(void **state)
{
    (void)state;
    assert_true(al_cpu_count() >= 1);
#if defined(__linux__) && !defined(AL_PORTABLE)
    {
        cpu_set_t before, one;
        int first = 0;

        assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
        while (!CPU_ISSET(first, &before))
            first++;
        CPU_ZERO(&one);
        CPU_SET(first, &one);
        assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
        assert_int_equal(al_cpu_count(), 1);
        assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    }
#endif
}

static void plain_c_can_be_asked_for(void **state)
{
    (void)state;
    assert_false(al_cpu_plain());
    al_cpu_set_plain(true);
    assert_true(al_cpu_plain());
    assert_false(al_cpu_avx2());
    al_cpu_set_plain(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processors_are_those_of_the_process),
        cmocka_unit_test(plain_c_can_be_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
