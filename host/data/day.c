/* The calendar's arithmetic after Howard Hinnant: years begin in March, eras of 400 years. */
#include "data/day.h"
#include "data/column.h"
#include <stdio.h>

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int64_t from_civil(int64_t year, int month, int day)
{
    int64_t y = year - (month <= 2), era = floor_div(y, 400), of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void to_civil(int64_t days, int64_t *year, int *month, int *day)
{
    int64_t z = days + 719468, era = floor_div(z, 146097), of_era = z - era * 146097;
    int64_t y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * y + y / 4 - y / 100), m = (5 * of_year + 2) / 153;

    *day = (int)(of_year - (153 * m + 2) / 5 + 1);
    *month = (int)(m < 10 ? m + 3 : m - 9);
    *year = y + era * 400 + (*month <= 2);
}

static int two(const char *p)
{
    return (p[0] - '0') * 10 + (p[1] - '0');
}

/* Minutes behind the day of a zone: +HH, +HHMM, +HH:MM. */
static int offset_of(const char *p, size_t len)
{
    int minutes = two(p + 1) * 60 + (len == 6 ? two(p + 4) : len == 5 ? two(p + 3) : 0);

    return *p == '-' ? -minutes : minutes;
}

bool al_day_of(const char *text, size_t len, int64_t *day)
{
    int64_t minutes;

    if (!al_column_is_date(text, len))
        return false;
    *day = from_civil(two(text) * 100 + two(text + 2), two(text + 5), two(text + 8));
    for (size_t i = 16; i < len; i++)
        if (text[i] == '+' || text[i] == '-') {
            minutes = two(text + 11) * 60 + two(text + 14) - offset_of(text + i, len - i);
            *day += floor_div(minutes, 1440);
            break;
        }
    return true;
}

int64_t al_day_begin(int64_t day, al_day_unit unit)
{
    int64_t year;
    int month, of_month;

    if (unit == AL_DAY)
        return day;
    if (unit == AL_DAY_WEEK)
        return day - (day + 3 - floor_div(day + 3, 7) * 7); /* day 0 was a Thursday */
    to_civil(day, &year, &month, &of_month);
    if (unit == AL_DAY_QUARTER)
        month = (month - 1) / 3 * 3 + 1;
    return from_civil(year, unit == AL_DAY_YEAR ? 1 : month, 1);
}

void al_day_text(int64_t day, char out[16])
{
    int64_t year;
    int month, of_month;

    to_civil(day, &year, &month, &of_month);
    snprintf(out, 16, "%04d-%02d-%02d", (int)year, month, of_month);
}
