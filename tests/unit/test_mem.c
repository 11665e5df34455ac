#include "core/mem.h"
#include "unit.h"

static void fails_the_nth_request_once(void **state)
{
    (void)state;
    al_mem_fail(false, 2);
    void *a = al_mem_zero(8), *b = al_mem_zero(8), *c = al_mem_zero(8);
    assert_non_null(a);
    assert_null(b);
    assert_non_null(c);
    assert_true(al_mem_fail(false, 0));
    assert_false(al_mem_fail(false, 0));
    free(a);
    free(c);
}

static void fails_lua_twice_and_never_when_it_shrinks(void **state)
{
    (void)state;
    char *block = al_mem_lua(NULL, NULL, 0, 64);
    assert_non_null(block);
    al_mem_fail(true, 1);
    block = al_mem_lua(NULL, block, 64, 16);
    assert_non_null(block);
    assert_null(al_mem_lua(NULL, block, 16, 64));
    assert_null(al_mem_lua(NULL, block, 16, 64)); /* asked again after a collection */
    block = al_mem_lua(NULL, block, 16, 64);
    assert_non_null(block);
    assert_true(al_mem_fail(true, 0));
    assert_null(al_mem_lua(NULL, block, 64, 0));
}

static void says_when_nothing_came_to_fail(void **state)
{
    (void)state;
    al_mem_fail(false, 3);
    free(al_mem_zero(8));
    assert_false(al_mem_fail(false, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fails_the_nth_request_once),
        cmocka_unit_test(fails_lua_twice_and_never_when_it_shrinks),
        cmocka_unit_test(says_when_nothing_came_to_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
