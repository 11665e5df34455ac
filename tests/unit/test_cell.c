#include "base/cpu.h"
#include "data.h"
#include "data/cell.h"
#include <math.h>

static al_cell parse(const char *s)
{
    al_cell cell;

    al_cell_parse(&cell, s, strlen(s));
    return cell;
}

static void is_integer(const char *s, int64_t v)
{
    al_cell cell = parse(s);

    if (cell.kind != AL_CELL_INTEGER || cell.integer != v)
        fail_msg("%s is not the integer %lld", s, (long long)v);
}

static void is_real(const char *s, double v)
{
    al_cell cell = parse(s);

    if (cell.kind != AL_CELL_REAL || memcmp(&cell.real, &v, sizeof v) != 0)
        fail_msg("%s is not the real %.17g", s, v);
}

static void is_text(const char *s)
{
    al_cell cell = parse(s);

    if (cell.kind != AL_CELL_TEXT || cell.text != s || cell.len != strlen(s))
        fail_msg("%s did not stay a text", s);
}

static void nothing_is_null(void **state)
{
    (void)state;
    assert_int_equal(parse("").kind, AL_CELL_NULL);
}

static void plain_integers(void **state)
{
    (void)state;
    is_integer("0", 0);
    is_integer("7", 7);
    is_integer("-1", -1);
    is_integer("20160311", 20160311);
    is_integer("9007199254740991", INT64_C(9007199254740991));
    is_integer("-9007199254740991", INT64_C(-9007199254740991));
}

static void integers_that_stay_texts(void **state)
{
    (void)state;
    is_text("-0");
    is_text("007");
    is_text("-07");
    is_text("00");
    is_text("+5");
    is_text("9007199254740992");
    is_text("-9007199254740992");
    is_text("18446744073709551617"); /* 2^64 + 1 */
    is_text("99999999999999999999999999999999999999");
    is_text("-");
    is_text("1 ");
    is_text(" 1");
    is_text("1,234");
    is_text("1_000");
    is_text("12-");
    is_text("--1");
    is_text("0x1F");
}

static void plain_decimals(void **state)
{
    (void)state;
    is_real("1.5", 1.5);
    is_real("1.50", 1.5);
    is_real("-0.5", -0.5);
    is_real("0.0", 0.0);
    is_real("-0.0", -0.0);
    is_real("0e7", 0.0);
    is_real("2e3", 2000.0);
    is_real("1E-7", 1e-7);
    is_real("6.02e+23", 6.02e23);
    is_real("100.000", 100.0);
    is_real("123456789012345.0", 123456789012345.0);
    is_real("0.1", 0.1);
    is_real("0.30000000000000004", 0.1 + 0.2);
    is_real("1.7976931348623157e308", 1.7976931348623157e308);
    is_real("5e-324", 5e-324);
    is_real("9007199254740992.0", 9007199254740992.0);
    is_real("0.000000000000000000000000000000000000001", 1e-39);
    is_real("1000000000000000000000000000000.0", 1e30);
    is_real("1.500000000000000000000000000000000000000000000000", 1.5);
}

static void decimals_a_double_does_not_keep(void **state)
{
    (void)state;
    is_text("0.1000000000000000055511151231257827");
    is_text("123456789.123456789");
    is_text("9007199254740993.0");
    is_text("1e400");
    is_text("-1e400");
    is_text("1e-400");
    is_text("4.9e-324");
    is_text("0.10000000000000001");
    is_text("1e99999999999999999999999999");
    is_text("1e-99999999999999999999999999");
}

static void not_quite_numbers(void **state)
{
    static const char *const texts[] = { ".5",       "5.",    "00.5",  "1e",  "1e+",  "e5",
                                         "1.e5",     "1.5.2", "1e5.5", "NaN", "inf",  "-inf",
                                         "Infinity", "1/2",   "$12",   "12%", "(12)", "1'234",
                                         "-.5",      "1e 5",  "0x1p3", "1.5f" };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        is_text(texts[i]);
}

/* What 15, 16 or 17 digits of a double's text give must read back as that text, or stay one. */
static void numbers_read_back(void **state)
{
    uint64_t x = 88172645463325252u;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        char s[40], back[40];
        int digits = 1 + (int)(next_random(&x) % 17), exponent = (int)(next_random(&x) % 40) - 20;
        double v = (double)(int64_t)next_random(&x) * pow(10, exponent);
        al_cell cell;

        snprintf(s, sizeof s, "%.*e", digits - 1, v);
        al_cell_parse(&cell, s, strlen(s));
        if (cell.kind == AL_CELL_TEXT) {
            if (digits <= 15)
                fail_msg("%s became a text", s);
            continue;
        }
        assert_int_equal(cell.kind, AL_CELL_REAL);
        snprintf(back, sizeof back, "%.*e", digits - 1, cell.real);
        if (strcmp(s, back) != 0 || cell.real != strtod(s, NULL))
            fail_msg("%s became %.17g", s, cell.real);
    }
}

/* Short numbers go a way of their own, which must be the same: with zeros behind they are long. */
static void short_numbers(void **state)
{
    static const char alphabet[] = "0123456789012345678901234567890123456789....-e/:";
    uint64_t x = 11;

    (void)state;
    for (int i = 0; i < 300000; i++) {
        char s[40];
        size_t n = 1 + next_random(&x) % 9;
        al_cell cell, other;
        const char *end;

        for (size_t k = 0; k < n; k++)
            s[k] = alphabet[next_random(&x) % (sizeof alphabet - 1)];
        s[n] = '\0';
        al_cell_parse(&cell, s, n);
        end = s[0] == '-' || (s[0] >= '0' && s[0] <= '9') ? al_cell_number(&other, s, s + n) : NULL;
        if (end != s + n)
            other = al_cell_text(s, n);
        if (cell.kind != other.kind ||
            (cell.kind == AL_CELL_TEXT ? cell.len != other.len : cell.integer != other.integer))
            fail_msg("%s", s);
    }
}

/* With bytes behind them, whatever those are, in plain C and with what the processor can. */
static void numbers_with_slack(void **state)
{
    static const char alphabet[] = "01234567890123456789012345678901234567890123456789....-e/:";
    uint64_t x = 13;

    (void)state;
    for (int i = 0; i < 600000; i++) {
        char s[20 + AL_CELL_SLACK];
        size_t n = 1 + next_random(&x) % 19;
        al_cell want, got;
        const char *end;

        for (size_t k = 0; k < sizeof s; k++)
            s[k] = alphabet[next_random(&x) % (sizeof alphabet - 1)];
        if (s[0] != '-' && (s[0] < '0' || s[0] > '9'))
            s[0] = '1';
        al_cpu_set_plain(i % 2);
        end = al_cell_number(&want, s, s + n);
        if (al_cell_slack_number()(&got, s, s + n) != end ||
            (end &&
             (got.kind != want.kind ||
              (got.kind == AL_CELL_TEXT ? got.len != want.len : got.integer != want.integer))))
            fail_msg("%.*s", (int)n, s);
        al_cell_parse(&want, s, n);
        al_cell_parse_slack(&got, s, n, al_cell_slack_number());
        if (got.kind != want.kind)
            fail_msg("%.*s", (int)n, s);
    }
    al_cpu_set_plain(false);
}

/* Long digit strings cost no more than their length. */
static void long_texts(void **state)
{
    const size_t len = 1 << 20;
    char *s = calloc(1, len + 1);
    al_cell cell;

    (void)state;
    memset(s, '7', len);
    al_cell_parse(&cell, s, len);
    assert_int_equal(cell.kind, AL_CELL_TEXT);
    s[1] = '.';
    al_cell_parse(&cell, s, len);
    assert_int_equal(cell.kind, AL_CELL_TEXT);
    memset(s + 2, '0', len - 2);
    al_cell_parse(&cell, s, len);
    assert_int_equal(cell.kind, AL_CELL_REAL);
    assert_true(cell.real == 7.0);
    free(s);
}

/* As al_cell_parse has it, wherever the number ends. */
static void numbers_in_front(void **state)
{
    static const char *const whole[] = {
        "0", "-7", "12.50", "1e5", "-0", "1E400", "99999999999999999999"
    };
    static const char *const none[] = { "-", "01", "1.", "1.e5", "1e", "1e+", "-x", "00" };

    (void)state;
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        size_t len = strlen(whole[i]);
        al_cell want = parse(whole[i]), got;
        char text[64];

        for (const char *tail = ",} x-."; *tail; tail++) {
            snprintf(text, sizeof text, "%s%c", whole[i], *tail);
            if (*tail == '.' && strchr(whole[i], '.') == NULL && strpbrk(whole[i], "eE") == NULL)
                assert_null(al_cell_number(&got, text, text + len + 1));
            else
                assert_ptr_equal(al_cell_number(&got, text, text + len + 1), text + len);
        }
        assert_ptr_equal(al_cell_number(&got, text, text + len), text + len);
        assert_int_equal(got.kind, want.kind);
        assert_int_equal(got.len, want.len);
        if (want.kind != AL_CELL_TEXT)
            assert_int_equal(got.integer, want.integer);
    }
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        al_cell got;

        assert_null(al_cell_number(&got, none[i], none[i] + strlen(none[i])));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_null),
        cmocka_unit_test(plain_integers),
        cmocka_unit_test(integers_that_stay_texts),
        cmocka_unit_test(plain_decimals),
        cmocka_unit_test(decimals_a_double_does_not_keep),
        cmocka_unit_test(not_quite_numbers),
        cmocka_unit_test(numbers_read_back),
        cmocka_unit_test(short_numbers),
        cmocka_unit_test(numbers_with_slack),
        cmocka_unit_test(long_texts),
        cmocka_unit_test(numbers_in_front),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
