#include "data/numfmt.h"
#include "unit.h"
#include <math.h>
#include <time.h>

static void codes(void **state)
{
    static const struct {
        const char *code;
        al_numfmt kind;
    } cases[] = {
        { "General", AL_NUMFMT_NUMBER },
        { "GENERAL;[Red]-General", AL_NUMFMT_NUMBER },
        { "0.00", AL_NUMFMT_NUMBER },
        { "#,##0.00 \"days\"", AL_NUMFMT_NUMBER },
        { "0.00E+00", AL_NUMFMT_NUMBER },
        { "##0.0E+0", AL_NUMFMT_NUMBER },
        { "[Red]0", AL_NUMFMT_NUMBER },
        { "[DBNum1]0", AL_NUMFMT_NUMBER },
        { "[$\xE2\x82\xAC-407] #,##0", AL_NUMFMT_NUMBER },
        { "\"day\" 0", AL_NUMFMT_NUMBER },
        { "\\d0", AL_NUMFMT_NUMBER },
        { "_d0_)", AL_NUMFMT_NUMBER },
        { "* 0", AL_NUMFMT_NUMBER },
        { "# ?/?", AL_NUMFMT_NUMBER },
        { "@", AL_NUMFMT_NUMBER },
        { ";;;", AL_NUMFMT_NUMBER },
        { "", AL_NUMFMT_NUMBER },
        { "\"unclosed", AL_NUMFMT_NUMBER },
        { "[unclosed", AL_NUMFMT_NUMBER },
        { "\\", AL_NUMFMT_NUMBER },
        { "0 h", AL_NUMFMT_NUMBER },
        { "yyyy-mm-dd", AL_NUMFMT_DATE },
        { "YYYY/MM/DD", AL_NUMFMT_DATE },
        { "[$-409]d-mmm-yy;@", AL_NUMFMT_DATE },
        { "dd\\.mm\\.yyyy", AL_NUMFMT_DATE },
        { "mmmm", AL_NUMFMT_DATE },
        { "mmm-yy", AL_NUMFMT_DATE },
        { "m/d", AL_NUMFMT_DATE },
        { "[$-411]ggge\"\xE5\xB9\xB4\"m\"\xE6\x9C\x88\"d\"\xE6\x97\xA5\"", AL_NUMFMT_DATE },
        { "[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy", AL_NUMFMT_DATE },
        { "d/m/bb", AL_NUMFMT_DATE },
        { "h:mm", AL_NUMFMT_TIME },
        { "h:mm AM/PM", AL_NUMFMT_TIME },
        { "h:mm:ss a/p", AL_NUMFMT_TIME },
        { "mm:ss", AL_NUMFMT_TIME },
        { "mm:ss.0", AL_NUMFMT_TIME },
        { "ss.000", AL_NUMFMT_TIME },
        { "h \"h\" mm", AL_NUMFMT_TIME },
        { "[$-F400]h:mm:ss\\ AM/PM", AL_NUMFMT_TIME },
        { "yyyy-mm-dd\\ hh:mm", AL_NUMFMT_DATETIME },
        { "m/d/yy h:mm", AL_NUMFMT_DATETIME },
        { "hh:mm dd/mm", AL_NUMFMT_DATETIME },
        { "yyyy-mm-ddThh:mm:ss", AL_NUMFMT_DATETIME },
        { "[h]:mm", AL_NUMFMT_ELAPSED },
        { "[hh]:mm:ss.00", AL_NUMFMT_ELAPSED },
        { "[mm]:ss", AL_NUMFMT_ELAPSED },
        { "[SS].00", AL_NUMFMT_ELAPSED },
        { "[Blue][h]:mm;[Red]-[h]:mm", AL_NUMFMT_ELAPSED },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (al_numfmt_of_code(cases[i].code, strlen(cases[i].code)) != cases[i].kind)
            fail_msg("%s", cases[i].code);
}

static void built_in(void **state)
{
    (void)state;
    assert_int_equal(al_numfmt_of_id(0), AL_NUMFMT_NUMBER);
    assert_int_equal(al_numfmt_of_id(11), AL_NUMFMT_NUMBER);
    assert_int_equal(al_numfmt_of_id(14), AL_NUMFMT_DATE);
    assert_int_equal(al_numfmt_of_id(17), AL_NUMFMT_DATE);
    assert_int_equal(al_numfmt_of_id(18), AL_NUMFMT_TIME);
    assert_int_equal(al_numfmt_of_id(21), AL_NUMFMT_TIME);
    assert_int_equal(al_numfmt_of_id(22), AL_NUMFMT_DATETIME);
    assert_int_equal(al_numfmt_of_id(37), AL_NUMFMT_NUMBER);
    assert_int_equal(al_numfmt_of_id(45), AL_NUMFMT_TIME);
    assert_int_equal(al_numfmt_of_id(46), AL_NUMFMT_ELAPSED);
    assert_int_equal(al_numfmt_of_id(47), AL_NUMFMT_TIME);
    assert_int_equal(al_numfmt_of_id(49), AL_NUMFMT_NUMBER);
    assert_int_equal(al_numfmt_of_id(58), AL_NUMFMT_DATE);
    assert_int_equal(al_numfmt_of_id(164), AL_NUMFMT_NUMBER);
}

static void shows(double days, al_numfmt format, bool from_1904, const char *want)
{
    char text[AL_NUMFMT_TEXT] = "";
    size_t len = al_numfmt_text(days, format, from_1904, text);

    if (len != strlen(want) || memcmp(text, want, len) != 0)
        fail_msg("%.17g: %.*s, not %s", days, (int)len, text, want);
}

static void dates(void **state)
{
    (void)state;
    shows(1, AL_NUMFMT_DATE, false, "1900-01-01");
    shows(59, AL_NUMFMT_DATE, false, "1900-02-28");
    shows(60, AL_NUMFMT_DATE, false, "1900-02-29");
    shows(60.25, AL_NUMFMT_DATETIME, false, "1900-02-29T06:00:00");
    shows(61, AL_NUMFMT_DATE, false, "1900-03-01");
    shows(36526, AL_NUMFMT_DATE, false, "2000-01-01");
    shows(36585, AL_NUMFMT_DATE, false, "2000-02-29");
    shows(43831, AL_NUMFMT_DATE, false, "2020-01-01");
    shows(45292.25, AL_NUMFMT_DATETIME, false, "2024-01-01T06:00:00");
    shows(45292, AL_NUMFMT_DATETIME, false, "2024-01-01T00:00:00");
    shows(45292.5, AL_NUMFMT_DATE, false, "2024-01-01T12:00:00");
    shows(2958465, AL_NUMFMT_DATE, false, "9999-12-31");
    shows(2958466, AL_NUMFMT_DATE, false, "");
    shows(-1, AL_NUMFMT_DATE, false, "");
    shows(0, AL_NUMFMT_DATE, false, "");
    shows(0, AL_NUMFMT_DATETIME, false, "00:00:00");
    shows(0.75, AL_NUMFMT_DATETIME, false, "18:00:00");
    shows(0.75, AL_NUMFMT_DATE, false, "18:00:00");
    shows(0, AL_NUMFMT_DATE, true, "1904-01-01");
    shows(0.5, AL_NUMFMT_DATETIME, true, "1904-01-01T12:00:00");
    shows(42735, AL_NUMFMT_DATE, true, "2021-01-01");
    shows(59, AL_NUMFMT_DATE, true, "1904-02-29");
    shows(2957003, AL_NUMFMT_DATE, true, "9999-12-31");
    shows(2957004, AL_NUMFMT_DATE, true, "");
    shows(45292, AL_NUMFMT_NUMBER, false, "");
    shows(INFINITY, AL_NUMFMT_DATE, false, "");
    shows(1e300, AL_NUMFMT_ELAPSED, false, "");
}

/* Every day of four centuries, against the calendar of the C library. */
static void all_days(void **state)
{
    char text[AL_NUMFMT_TEXT];

    (void)state;
    for (int day = 61; day < 150000; day++) {
        time_t at = ((time_t)day - 25569) * 86400;
        struct tm tm;
        char want[32];

        gmtime_r(&at, &tm);
        strftime(want, sizeof want, "%Y-%m-%d", &tm);
        assert_int_equal(al_numfmt_text(day, AL_NUMFMT_DATE, false, text), 10);
        assert_memory_equal(text, want, 10);
    }
}

static void times(void **state)
{
    (void)state;
    shows(0.5, AL_NUMFMT_TIME, false, "12:00:00");
    shows(0, AL_NUMFMT_TIME, true, "00:00:00");
    shows(1.5, AL_NUMFMT_TIME, false, "36:00:00");
    shows(45292.25, AL_NUMFMT_TIME, false, "2024-01-01T06:00:00");
    shows(-0.5, AL_NUMFMT_TIME, false, "");
    shows(0.0104166666666667, AL_NUMFMT_TIME, false, "00:15:00");
    shows(1.1574074074074e-05, AL_NUMFMT_TIME, false, "00:00:01");
    shows(1.5, AL_NUMFMT_ELAPSED, false, "36:00:00");
    shows(10.632060185185185, AL_NUMFMT_ELAPSED, false, "255:10:10");
    shows(-0.25, AL_NUMFMT_ELAPSED, true, "-06:00:00");
    shows(100000, AL_NUMFMT_ELAPSED, false, "2400000:00:00");
    shows(45292.572916666664, AL_NUMFMT_DATETIME, false, "2024-01-01T13:45:00");
    shows(0.5 + 0.25 / 86400, AL_NUMFMT_TIME, false, "12:00:00.250");
    shows(0.99999999999, AL_NUMFMT_ELAPSED, false, "24:00:00");
    shows(45291.999999999, AL_NUMFMT_DATE, false, "2024-01-01");
}

static void number(const char *text, char kind, double want)
{
    al_cell cell;

    al_numfmt_number(&cell, text, strlen(text));
    if (kind == 'i' && !(cell.kind == AL_CELL_INTEGER && (double)cell.integer == want))
        fail_msg("%s is no integer %.17g", text, want);
    if (kind == 'r' && !(cell.kind == AL_CELL_REAL && cell.real == want))
        fail_msg("%s is no real %.17g", text, want);
    if (kind == 't' &&
        !(cell.kind == AL_CELL_TEXT && cell.text == text && cell.len == strlen(text)))
        fail_msg("%s is no text", text);
}

static void numbers(void **state)
{
    (void)state;
    number("1", 'i', 1);
    number("-17", 'i', -17);
    number("1.0", 'i', 1);
    number("-0", 'i', 0);
    number("-0.0", 'i', 0);
    number("1E3", 'i', 1000);
    number("1.5E3", 'i', 1500);
    number("+7", 'i', 7);
    number("007", 'i', 7);
    number("9007199254740991", 'i', 9007199254740991.0);
    number("9.007199254740991E15", 'i', 9007199254740991.0);
    number("0.5", 'r', 0.5);
    number(".5", 'r', 0.5);
    number("5.", 'i', 5);
    number("1.5e-7", 'r', 1.5e-7);
    /* as programs write their doubles: with 17 digits */
    number("1.1000000000000001", 'r', 1.1);
    number("0.30000000000000004", 'r', 0.1 + 0.2);
    number("0.10000000000000001", 'r', 0.1);
    number("33.299999999999997", 'r', 33.3);
    number("2.9999999999999996", 'r', 2.9999999999999996);
    number("4.9406564584124654E-324", 'r', 4.9406564584124654e-324);
    number("1.7976931348623157E+308", 'r', 1.7976931348623157e308);
    number("1.2345678901234567E+19", 'r', 1.2345678901234567e19);
    number("0.3333333333333333333333333333", 'r', 1.0 / 3);
    number("100.00000000000000", 'i', 100);
    /* what no double is */
    number("9007199254740993", 't', 0);
    number("12345678901234567890", 't', 0);
    number("1e999", 't', 0);
    number("NaN", 't', 0);
    number("INF", 't', 0);
    number("1 2", 't', 0);
    number("0x10", 't', 0);
    number("1e", 't', 0);
    number(".", 't', 0);
    number("-", 't', 0);
    number("+", 't', 0);
}

static void long_numbers(void **state)
{
    char text[400];

    (void)state;
    memset(text, '3', sizeof text);
    memcpy(text, "0.", 2);
    text[399] = '\0';
    number(text, 'r', 1.0 / 3);
    memset(text, '0', 398);
    memcpy(text, "+", 1);
    text[398] = '7';
    number(text, 'i', 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes),        cmocka_unit_test(built_in), cmocka_unit_test(dates),
        cmocka_unit_test(all_days),     cmocka_unit_test(times),    cmocka_unit_test(numbers),
        cmocka_unit_test(long_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
