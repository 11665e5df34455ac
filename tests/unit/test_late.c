#include "base/late.h"
#include "unit.h"
#include <math.h>

static struct {
    AL_LATE_MEMBER(cosh)
    AL_LATE_MEMBER(sinh)
} lib;

static const al_late functions[] = { AL_LATE_FUNCTION(lib, cosh), AL_LATE_FUNCTION(lib, sinh) };

static void the_first_that_is_there(void **state)
{
    const char *const files[] = { "libno-such-thing.so.1", "libm.so.6", NULL };
    char why[100] = "";

    (void)state;
    assert_true(al_late_load(files, functions, 2, why, sizeof why));
    assert_string_equal(why, "");
    assert_true(lib.cosh(0) == 1 && lib.sinh(0) == 0);
}

static void says_what_is_missing(void **state)
{
    const char *const none[] = { "libno-such-thing.so.1", NULL };
    const char *const files[] = { "libm.so.6", NULL };
    const al_late odd[] = { { "no_such_function", &lib.cosh, NULL } };
    char why[100] = "";

    (void)state;
    if (!AL_LATE)
        skip(); /* nothing is looked for */
    assert_false(al_late_load(none, functions, 2, why, sizeof why));
    assert_non_null(strstr(why, "libno-such-thing.so.1"));
    assert_false(al_late_load(files, odd, 1, why, sizeof why));
    assert_non_null(strstr(why, "no_such_function"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_that_is_there),
        cmocka_unit_test(says_what_is_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
