/* Format codes by their letters, days to dates, numbers to cells. */
#include "data/numfmt.h"
#include "base/num.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define DAY_MS   INT64_C(86400000)
#define LAST_DAY 2958465 /* 9999-12-31 from 1900 */
#define EPOCHS   1462    /* days from the calendar of 1900 to that of 1904 */

/* What a code shows, found on the way through it. */
struct look {
    bool date, time, elapsed;
    bool minutes_next; /* an m would be minutes: hours came last */
    bool month;        /* an m that is a month unless seconds follow */
    bool number;       /* placeholders of digits came first */
};

static void settle_month(struct look *l)
{
    l->date = l->date || l->month;
    l->month = false;
}

/* A run of one letter. */
static void letter(struct look *l, char c)
{
    switch (c) {
    case 'y':
    case 'd':
    case 'e':
    case 'g':
    case 'b':
        settle_month(l);
        l->date = true;
        l->minutes_next = false;
        break;
    case 'h':
        settle_month(l);
        l->time = l->minutes_next = true;
        break;
    case 'm':
        if (l->minutes_next)
            l->time = true;
        else
            l->month = true;
        l->minutes_next = false;
        break;
    case 's':
        l->month = false; /* it was minutes */
        l->time = true;
        l->minutes_next = false;
        break;
    default: break;
    }
}

/* [h], [mm], [s]: what runs on; all else in brackets is colours, conditions, languages. */
static void bracket(struct look *l, const char *p, size_t len)
{
    char c = len ? (char)tolower((unsigned char)*p) : 0;

    if (!c || !strchr("hms", c))
        return;
    for (size_t i = 1; i < len; i++)
        if (tolower((unsigned char)p[i]) != c)
            return;
    settle_month(l);
    l->elapsed = true;
    l->minutes_next = c == 'h';
}

/* One step through the code, over what stands at p. */
static const char *look_at(struct look *l, const char *p, const char *end)
{
    char c = (char)tolower((unsigned char)*p);
    const char *to;

    switch (c) {
    case '"': to = memchr(p + 1, '"', (size_t)(end - p - 1)); return to ? to + 1 : end;
    case '\\':
    case '_':
    case '*': return end - p > 1 ? p + 2 : end;
    case '[':
        to = memchr(p, ']', (size_t)(end - p));
        if (to)
            bracket(l, p + 1, (size_t)(to - p - 1));
        return to ? to + 1 : end;
    case '0':
    case '#':
    case '?':
        l->number = l->number || !(l->date || l->time || l->elapsed || l->month);
        return p + 1;
    case 'a':
        if (end - p >= 5 && strncasecmp(p, "am/pm", 5) == 0)
            return l->time = true, p + 5;
        if (end - p >= 3 && strncasecmp(p, "a/p", 3) == 0)
            return l->time = true, p + 3;
        return p + 1;
    case 'g':
        if (end - p >= 7 && strncasecmp(p, "general", 7) == 0)
            return l->number = true, p + 7;
        break;
    default: break;
    }
    letter(l, c);
    for (to = p + 1; to < end && tolower((unsigned char)*to) == c; to++)
        ;
    return to;
}

al_numfmt al_numfmt_of_code(const char *code, size_t len)
{
    const char *p = code, *end = code + len;
    struct look l = { 0 };

    while (p < end && *p != ';' && !l.number)
        p = look_at(&l, p, end);
    settle_month(&l);
    if (l.number)
        return AL_NUMFMT_NUMBER;
    if (l.date)
        return l.time || l.elapsed ? AL_NUMFMT_DATETIME : AL_NUMFMT_DATE;
    return l.elapsed ? AL_NUMFMT_ELAPSED : l.time ? AL_NUMFMT_TIME : AL_NUMFMT_NUMBER;
}

/* 27 to 36 and 50 to 58 are those of China, Japan and Korea, 71 to 81 those of Thailand; where they
 * differ among themselves, the one that loses nothing. */
al_numfmt al_numfmt_of_id(uint32_t id)
{
    if ((id >= 14 && id <= 17) || (id >= 27 && id <= 31) || id == 36 || (id >= 50 && id <= 54) ||
        id == 57 || id == 58 || (id >= 71 && id <= 74) || id == 81)
        return AL_NUMFMT_DATE;
    if (id == 46 || id == 79)
        return AL_NUMFMT_ELAPSED;
    if ((id >= 18 && id <= 21) || (id >= 32 && id <= 33) || id == 45 || id == 47 || id == 75 ||
        id == 76 || id == 78 || id == 80)
        return AL_NUMFMT_TIME;
    if (id == 22 || id == 34 || id == 35 || id == 55 || id == 56 || id == 77)
        return AL_NUMFMT_DATETIME;
    return AL_NUMFMT_NUMBER;
}

static size_t add_clock(char *out, size_t n, int64_t ms)
{
    int64_t s = ms / 1000;

    n += (size_t)snprintf(out + n, AL_NUMFMT_TEXT - n, "%02lld:%02d:%02d", (long long)(s / 3600),
                          (int)(s / 60 % 60), (int)(s % 60));
    if (ms % 1000)
        n += (size_t)snprintf(out + n, AL_NUMFMT_TEXT - n, ".%03d", (int)(ms % 1000));
    return n;
}

size_t al_numfmt_duration(int64_t ms, char out[AL_NUMFMT_TEXT])
{
    out[0] = '-';
    return add_clock(out, ms < 0, ms < 0 ? -ms : ms);
}

/* Days since 1970-01-01 to a date, by eras of 400 years that begin in March. */
static size_t add_date(char *out, int64_t days)
{
    int64_t shifted = days + 719468, era = shifted / 146097, of_era = shifted % 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153;
    int day = (int)(of_year - (153 * month + 2) / 5 + 1);

    month += month < 10 ? 3 : -9;
    year += era * 400 + (month <= 2);
    return (size_t)snprintf(out, AL_NUMFMT_TEXT, "%04d-%02d-%02d", (int)year, (int)month, day);
}

static size_t date_text(int64_t ms, al_numfmt format, bool from_1904, char *out)
{
    int64_t day = ms / DAY_MS, rest = ms % DAY_MS;
    size_t n;

    if (!from_1904 && day == 0)
        return rest || format != AL_NUMFMT_DATE ? add_clock(out, 0, rest) : 0;
    if (day > (from_1904 ? LAST_DAY - EPOCHS : LAST_DAY))
        return 0;
    if (from_1904)
        n = add_date(out, day - 24107);
    else if (day == 60)
        n = (size_t)snprintf(out, AL_NUMFMT_TEXT, "1900-02-29");
    else
        n = add_date(out, day - (day < 60 ? 25568 : 25569));
    if (rest || format != AL_NUMFMT_DATE) {
        out[n++] = 'T';
        n = add_clock(out, n, rest);
    }
    return n;
}

size_t al_numfmt_text(double days, al_numfmt format, bool from_1904, char out[AL_NUMFMT_TEXT])
{
    int64_t ms;

    if (format == AL_NUMFMT_NUMBER || !(fabs(days) < 1e9))
        return 0;
    ms = llround(days * DAY_MS);
    if (format == AL_NUMFMT_ELAPSED)
        return al_numfmt_duration(ms, out);
    if (ms < 0)
        return 0;
    if (format == AL_NUMFMT_TIME && ms < INT64_C(10000) * 3600000)
        return add_clock(out, 0, ms);
    return date_text(ms, format, from_1904, out);
}

/* A decimal, as lenient as programs that read workbooks are: a plus,
 * no digit on one side of the point. *integer: it has neither fraction nor exponent. */
static bool is_decimal(const char *p, size_t len, bool *integer)
{
    const char *end = p + len;
    size_t digits = 0;

    *integer = true;
    p += p < end && (*p == '-' || *p == '+');
    for (; p < end && isdigit((unsigned char)*p); p++)
        digits++;
    if (p < end && *p == '.') {
        *integer = false;
        for (p++; p < end && isdigit((unsigned char)*p); p++)
            digits++;
    }
    if (digits == 0)
        return false;
    if (p < end && (*p == 'e' || *p == 'E')) {
        *integer = false;
        p++;
        p += p < end && (*p == '-' || *p == '+');
        digits = 0;
        for (; p < end && isdigit((unsigned char)*p); p++)
            digits++;
    }
    return p == end && digits > 0;
}

void al_numfmt_number(al_cell *cell, const char *text, size_t len)
{
    bool integer;
    double v;

    al_cell_parse(cell, text, len);
    if (cell->kind == AL_CELL_TEXT && is_decimal(text, len, &integer)) {
        v = al_num_parse(text + (*text == '+'), len - (*text == '+'));
        if (isfinite(v) && (!integer || fabs(v) <= (double)AL_CELL_MAX_INTEGER))
            *cell = al_cell_real(v);
    }
    if (cell->kind == AL_CELL_REAL && fabs(cell->real) <= (double)AL_CELL_MAX_INTEGER &&
        cell->real == trunc(cell->real))
        *cell = al_cell_integer((int64_t)cell->real);
}
