#include "base/num.h"
#include "unit.h"
#include <float.h>
#include <math.h>

static const char *shortest(double v)
{
    static char out[32];
    size_t n = al_num_shortest(v, out);
    assert_int_equal(n, strlen(out));
    assert_in_range(n, 3, 31);
    return out;
}

static void known_forms(void **state)
{
    (void)state;
    assert_string_equal(shortest(0.0), "0.0");
    assert_string_equal(shortest(-0.0), "-0.0");
    assert_string_equal(shortest(1), "1.0");
    assert_string_equal(shortest(-100), "-100.0");
    assert_string_equal(shortest(1.5), "1.5");
    assert_string_equal(shortest(0.1), "0.1");
    assert_string_equal(shortest(0.1 + 0.2), "0.30000000000000004");
    assert_string_equal(shortest(1.0 / 3), "0.3333333333333333");
    assert_string_equal(shortest(123456.789), "123456.789");
    assert_string_equal(shortest(0.0001), "0.0001");
    assert_string_equal(shortest(0.00012345), "0.00012345");
    assert_string_equal(shortest(0.00001), "1e-5");
    assert_string_equal(shortest(1e15), "1000000000000000.0");
    assert_string_equal(shortest(1e16), "1e16");
    assert_string_equal(shortest(9007199254740993.0), "9007199254740992.0");
    assert_string_equal(shortest(1.2345e20), "1.2345e20");
    assert_string_equal(shortest(1e300), "1e300");
    assert_string_equal(shortest(-2.5e-300), "-2.5e-300");
}

static void hard_values(void **state)
{
    (void)state;
    assert_string_equal(shortest(5e-324), "5e-324");
    assert_string_equal(shortest(DBL_MIN), "2.2250738585072014e-308");
    assert_string_equal(shortest(2.225073858507201e-308), "2.225073858507201e-308");
    assert_string_equal(shortest(DBL_MAX), "1.7976931348623157e308");
    assert_string_equal(shortest(DBL_EPSILON), "2.220446049250313e-16");
    assert_string_equal(shortest(ldexp(1, -44)), "5.684341886080802e-14"); /* the nearest 16 miss */
    assert_string_equal(shortest(9.5367431640625e-07), "9.5367431640625e-7");
    assert_string_equal(shortest(2e-44), "2e-44");
    assert_string_equal(shortest(1e23), "1e23");
    assert_string_equal(shortest(4.35), "4.35");
    assert_string_equal(shortest(2251799813685248.5), "2251799813685248.5");
    assert_string_equal(shortest(2.98023223876953125e-8), "2.9802322387695312e-8");
    assert_string_equal(shortest(8.41e21), "8.41e21");
    assert_string_equal(shortest(9.409340012568248e18), "9.409340012568248e18");
}

/* Digits from the first to the last that is not zero. */
static int significant(const char *text)
{
    int n = 0, zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text < '0' || *text > '9')
            continue;
        zeros = *text == '0' ? zeros + (n > 0) : 0;
        n += *text != '0' || n > 0;
    }
    return n - zeros;
}

/* Below a power of two the gap is half as wide as above it. */
static void powers_of_two(void **state)
{
    (void)state;
    for (int e = -1074; e < 1024; e++) {
        double v = ldexp(1, e);
        char out[32], rounded[40];

        al_num_shortest(v, out);
        assert_true(strtod(out, NULL) == v);
        for (int digits = 1; digits < 17; digits++) {
            snprintf(rounded, sizeof rounded, "%.*e", digits - 1, v);
            if (strtod(rounded, NULL) == v && significant(out) > digits)
                fail_msg("%s is shorter than %s", rounded, out);
        }
    }
}

static uint64_t next(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    return *x ^= *x << 17;
}

static void a_million_read_back(void **state)
{
    uint64_t x = 88172645463325252u;
    (void)state;
    for (int i = 0; i < 1000000; i++) {
        uint64_t bits = next(&x);
        char out[32];
        double v, back;
        size_t n;

        memcpy(&v, &bits, sizeof v);
        if (!isfinite(v))
            continue;
        n = al_num_shortest(v, out);
        back = al_num_parse(out, n);
        if (memcmp(&back, &v, sizeof v) != 0)
            fail_msg("%a became %s became %a", v, out, back);
    }
}

/* Decimals of at most 15 digits come back as they were written. */
static void decimals_stay_as_written(void **state)
{
    uint64_t x = 1234567;
    (void)state;
    for (int i = 0; i < 200000; i++) {
        char text[40];
        snprintf(text, sizeof text, "%d.%06d", (int)(next(&x) % 1000000),
                 (int)(next(&x) % 100000 * 10 + 1 + next(&x) % 9));
        assert_string_equal(shortest(al_num_parse(text, strlen(text))), text);
    }
}

static void parse_is_exact(void **state)
{
    char digits[5000];
    (void)state;
#define assert_parse(text, want) assert_true(al_num_parse(text, sizeof text - 1) == (want))
    assert_parse("0", 0.0);
    assert_true(signbit(al_num_parse("-0", 2)));
    assert_true(signbit(al_num_parse("-0.000e99", 9)));
    assert_parse("0.1", 0.1);
    assert_parse("-12.50", -12.5);
    assert_parse("1e22", 1e22);
    assert_parse("1e23", 1e23);
    assert_parse("123E-2", 1.23);
    assert_parse("1e+5", 1e5);
    assert_parse("9007199254740993", 9007199254740992.0);
    assert_parse("9007199254740993.0000000000000000000000001", 9007199254740994.0);
    assert_parse("2.4703282292062328e-324", 5e-324);
    assert_parse("2.4703282292062327e-324", 0.0);
    assert_parse("1e400", INFINITY);
    assert_parse("-1e400", -INFINITY);
    assert_parse("1e-400", 0.0);
    assert_parse("1e99999999999999999999", INFINITY);
    assert_parse("1e-99999999999999999999", 0.0);
    assert_parse("0.00000000000000000000000000000000001e35", 1.0);
    assert_parse("1.7976931348623158e308", DBL_MAX);
    assert_parse("1.7976931348623159e308", INFINITY);
    /* Half way between two doubles but for the last of 4,000 digits. */
    memset(digits, '0', sizeof digits);
    memcpy(digits, "9007199254740993.", 17);
    assert_true(al_num_parse(digits, 4000) == 9007199254740992.0);
    digits[3999] = '1';
    assert_true(al_num_parse(digits, 4000) == 9007199254740994.0);
    /* A number of 4,000 digits before its point is brought back by its exponent. */
    memset(digits, '0', sizeof digits);
    digits[0] = '7';
    memcpy(digits + 4000, "e-3999", 6);
    assert_true(al_num_parse(digits, 4006) == 7.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_forms),
        cmocka_unit_test(hard_values),
        cmocka_unit_test(powers_of_two),
        cmocka_unit_test(a_million_read_back),
        cmocka_unit_test(decimals_stay_as_written),
        cmocka_unit_test(parse_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
