/* Numbers of workbooks: what their formats make of them, and their exact values.
 *
 * A workbook keeps dates, times and durations as numbers of days, and only the format of the cell
 * tells. They become the text of ISO 8601: 2024-01-31, 2024-01-31T06:00:00, 06:00:00, and hours
 * that run on past 24 for durations; milliseconds where there are any. */
#ifndef AL_DATA_NUMFMT_H
#define AL_DATA_NUMFMT_H
#include "data/cell.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum al_numfmt {
    AL_NUMFMT_NUMBER,
    AL_NUMFMT_DATE,
    AL_NUMFMT_TIME,     /* of the day */
    AL_NUMFMT_DATETIME, /* both */
    AL_NUMFMT_ELAPSED   /* [h]:mm and the like */
} al_numfmt;

al_numfmt al_numfmt_of_code(const char *code, size_t len);
al_numfmt al_numfmt_of_id(uint32_t id); /* the formats that are built in */

#define AL_NUMFMT_TEXT 40 /* bytes that hold any text of these */

/* The text of a number of days, its length; 0 when it stays a number: there is no such day. Day 60
 * of the calendar from 1900 is the 29 February that this year never had. Below one day, in that
 * calendar, it is a time; a time of more than a day is a duration up to the 9,999 hours that can be
 * typed, else a day and a time. Halves of milliseconds are rounded away. */
size_t al_numfmt_text(double days, al_numfmt format, bool from_1904, char out[AL_NUMFMT_TEXT]);
/* Hours, minutes and seconds of a duration in milliseconds. */
size_t al_numfmt_duration(int64_t ms, char out[AL_NUMFMT_TEXT]);

/* The cell of a number as a workbook has it, a double: INTEGER when it is one that its CSV export
 * would show as one ("1.0" is 1, "-0" is 0), else REAL. An integer written with more digits than a
 * double holds keeps them as TEXT, as does what is no finite number. The text is borrowed. */
void al_numfmt_number(al_cell *cell, const char *text, size_t len);

#endif
