#include "data.h"
#include "data/day.h"

static int64_t day_of(const char *text)
{
    int64_t day;

    assert_true(al_day_of(text, strlen(text), &day));
    return day;
}

static void begins(const char *date, al_day_unit unit, const char *want)
{
    char got[16];

    al_day_text(al_day_begin(day_of(date), unit), got);
    assert_string_equal(got, want);
}

static void days_are_those_of_sqlite(void **state)
{
    sqlite3 *db = open_file(":memory:");
    char sql[128], got[16];

    (void)state;
    for (int64_t day = -719528; day < 2932890; day += 911) {
        snprintf(sql, sizeof sql, "SELECT date(%lld * 86400, 'unixepoch')", (long long)day);
        al_day_text(day, got);
        assert_string_equal(got, ask(db, sql));
        assert_int_equal(day_of(got), day);
        snprintf(sql, sizeof sql, "SELECT date('%s', '-6 days', 'weekday 1')", got);
        if (day > -719000)
            begins(got, AL_DAY_WEEK, ask(db, sql));
        snprintf(sql, sizeof sql, "SELECT date('%s', 'start of month')", got);
        begins(got, AL_DAY_MONTH, ask(db, sql));
        snprintf(sql, sizeof sql, "SELECT date('%s', 'start of year')", got);
        begins(got, AL_DAY_YEAR, ask(db, sql));
    }
    sqlite3_close(db);
}

static void units(void **state)
{
    (void)state;
    begins("2024-02-29", AL_DAY, "2024-02-29");
    begins("2024-02-29", AL_DAY_QUARTER, "2024-01-01");
    begins("2024-12-31", AL_DAY_QUARTER, "2024-10-01");
    begins("2024-09-30T23:59:60.5Z", AL_DAY_QUARTER, "2024-07-01");
    begins("2023-01-01", AL_DAY_WEEK, "2022-12-26");
    begins("2023-01-02", AL_DAY_WEEK, "2023-01-02");
}

static void offsets_are_taken_off(void **state)
{
    int64_t day;

    (void)state;
    begins("2024-01-01T00:30:00+02:00", AL_DAY, "2023-12-31");
    begins("2024-01-01 00:30+0200", AL_DAY, "2023-12-31");
    begins("2024-01-01T02:30:00.25+02", AL_DAY, "2024-01-01");
    begins("2023-12-31T23:30-00:30", AL_DAY, "2024-01-01");
    begins("2023-12-31T23:29-00:30", AL_DAY, "2023-12-31");
    assert_false(al_day_of("2023-02-29", 10, &day));
    assert_false(al_day_of("20230228", 8, &day));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(days_are_those_of_sqlite),
        cmocka_unit_test(units),
        cmocka_unit_test(offsets_are_taken_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
