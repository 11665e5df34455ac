/* Cells: what every reader makes and the dataset stores.
 *
 * A reader fills batches of cells; texts point into the reader's own memory and live until the
 * batch was taken. Nothing is converted that would not read back the same: see al_cell_parse. */
#ifndef AL_DATA_CELL_H
#define AL_DATA_CELL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AL_CELL_NULL, AL_CELL_INTEGER, AL_CELL_REAL, AL_CELL_TEXT };

#define AL_CELL_MAX_INTEGER ((INT64_C(1) << 53) - 1)

typedef struct al_cell {
    union {
        int64_t integer;
        double real; /* finite */
        const char *text;
    };
    uint32_t len; /* of text */
    uint8_t kind;
    bool slack; /* AL_CELL_SLACK readable bytes follow the text: it can be had without a loop */
} al_cell;

#define AL_CELL_SLACK 32

/* Rows of one sheet, in order: cells[row * columns + column]. */
typedef struct al_batch {
    al_cell *cells;
    size_t columns;
    size_t rows;
    size_t room; /* rows that fit */
    bool
        segment_end; /* the last of these rows ends a segment (al_dataset_rows says what that is) */
} al_batch;

/* The cell of a text (len < 4 GiB), exactly: nothing is NULL; a plain integer within 2^53 - 1 is
 * INTEGER; a plain decimal whose digits and magnitude a double keeps is REAL; all else is TEXT and
 * points to the text. */
static inline void al_cell_parse(al_cell *cell, const char *text, size_t len);
/* The cell of the number that text (less than 4 GiB up to end, a digit or a minus first) begins
 * with: where it ends, or NULL when there is none. */
const char *al_cell_number(al_cell *cell, const char *text, const char *end);
/* The same, but all of text must be the number: false when it is none. */
bool al_cell_whole_number(al_cell *cell, const char *text, size_t len);

typedef const char *al_cell_number_fn(al_cell *cell, const char *text, const char *end);
/* What al_cell_number does, as this processor does it best, for texts with AL_CELL_SLACK readable
 * bytes behind them. */
al_cell_number_fn *al_cell_slack_number(void);
/* al_cell_parse with it. */
static inline void al_cell_parse_slack(al_cell *cell, const char *text, size_t len,
                                       al_cell_number_fn *number);

static inline al_cell al_cell_null(void)
{
    return (al_cell){ .kind = AL_CELL_NULL };
}
static inline al_cell al_cell_integer(int64_t v)
{
    return (al_cell){ .integer = v, .kind = AL_CELL_INTEGER };
}
static inline al_cell al_cell_real(double v)
{
    return (al_cell){ .real = v, .kind = AL_CELL_REAL };
}
static inline al_cell al_cell_text(const char *text, size_t len)
{
    return (al_cell){ .text = text, .len = (uint32_t)len, .kind = AL_CELL_TEXT };
}
static inline al_cell al_cell_slack_text(const char *text, size_t len)
{
    return (al_cell){ .text = text, .len = (uint32_t)len, .kind = AL_CELL_TEXT, .slack = true };
}

static inline void al_cell_parse(al_cell *cell, const char *text, size_t len)
{
    if (len == 0)
        *cell = al_cell_null();
    else if (((unsigned char)(*text - '0') > 9 && *text != '-') ||
             !al_cell_whole_number(cell, text, len))
        *cell = al_cell_text(text, len);
}

static inline void al_cell_parse_slack(al_cell *cell, const char *text, size_t len,
                                       al_cell_number_fn *number)
{
    if (len == 0)
        *cell = al_cell_null();
    else if (((unsigned char)(*text - '0') > 9 && *text != '-') ||
             number(cell, text, text + len) != text + len)
        *cell = al_cell_slack_text(text, len);
}

#endif
