#include "base/big.h"
#include "unit.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* On both sides of where large pages begin. */
static const size_t sizes[] = { 1, 4096, AL_BIG_PAGE - 1, AL_BIG_PAGE, 3 * AL_BIG_PAGE + 1 };

static void zeros_come(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        unsigned char *p = al_big_alloc(sizes[i]);

        assert_non_null(p);
        for (size_t k = 0; k < sizes[i]; k++)
            assert_true(p[k] == 0);
        memset(p, 0xFF, sizes[i]);
        al_big_free(p, sizes[i]);
        al_big_free(NULL, sizes[i]);
    }
}

static void what_is_filled_goes_to_free(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *p = al_big_malloc(sizes[i]);

        assert_non_null(p);
        memset(p, 0xFF, sizes[i]);
        free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeros_come),
        cmocka_unit_test(what_is_filled_goes_to_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
