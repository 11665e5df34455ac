/* Days of the calendar, counted from 1970-01-01, in UTC. */
#ifndef AL_DATA_DAY_H
#define AL_DATA_DAY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum al_day_unit {
    AL_DAY,
    AL_DAY_WEEK, /* begins on Monday */
    AL_DAY_MONTH,
    AL_DAY_QUARTER,
    AL_DAY_YEAR
} al_day_unit;

/* The day of an ISO 8601 date (see al_column_is_date). A time of day with an offset is that of UTC:
 * 2024-01-01T00:30:00+02:00 is a moment of 2023-12-31. */
bool al_day_of(const char *text, size_t len, int64_t *day);
/* The first day of the unit that day is in. */
int64_t al_day_begin(int64_t day, al_day_unit unit);
/* YYYY-MM-DD, for years 0000 to 9999 (a week may begin in the year before 0000, which is -001). */
void al_day_text(int64_t day, char out[16]);

#endif
