/* Statistics of a column and the hint of its type. */
#include "data/column.h"
#include "base/err.h"
#include "base/json.h"
#include "base/num.h"
#include "base/utf8.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char ellipsis[] = "\xE2\x80\xA6";

/* Appends text, cut at max bytes and marked when it is longer. */
static int add_cut(al_buf *out, const char *text, size_t len, size_t max)
{
    size_t keep = al_utf8_cut(text, len, max);

    al_buf_add(out, text, keep);
    return keep < len ? al_buf_str(out, ellipsis) : out->failed;
}

int al_column_open(al_column *c, const char *name, const char *label, size_t len)
{
    al_buf b;

    memset(c, 0, sizeof *c);
    snprintf(c->name, sizeof c->name, "%s", name);
    al_buf_init(&b, 0);
    if (add_cut(&b, label, len, AL_COLUMN_LABEL) == AL_OK) {
        c->label_len = b.len;
        c->label = al_buf_steal(&b);
    }
    al_buf_free(&b);
    return c->label ? al_values_open(&c->values) : AL_ENOMEM;
}

void al_column_close(al_column *c)
{
    free(c->label);
    al_values_close(c->values);
    memset(c, 0, sizeof *c);
}

#define UNIT 0x1p-64

/* From here on in units of 2^64. */
static void scale(al_sum *s)
{
    if (!s->scaled) {
        s->sum *= UNIT;
        s->rest *= UNIT;
        s->scaled = true;
    }
}

static inline void step(al_sum *s, double v)
{
    double t = s->sum + v, added = t - s->sum;

    s->rest += (s->sum - (t - added)) + (v - added);
    s->sum = t;
}

static inline void add_to(al_sum *s, double v)
{
    if (s->scaled || !isfinite(s->sum + v)) {
        scale(s);
        v *= UNIT;
    }
    step(s, v);
}

static void merge(al_sum *s, al_sum part)
{
    if (s->scaled || part.scaled || !isfinite(s->sum + part.sum)) {
        scale(s);
        scale(&part);
    }
    step(s, part.sum);
    s->rest += part.rest;
}

/* The first eight bytes in an order that is theirs; missing ones are zeros. */
static inline uint64_t key_of(const char *text, size_t len)
{
    uint64_t key = 0;

    if (len >= sizeof key)
        memcpy(&key, text, sizeof key);
    else
        memcpy(&key, text, len);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    key = __builtin_bswap64(key);
#endif
    return key;
}

/* Compares beginnings. Where they are equal and one text goes on, that one is larger; how two that
 * both go on differ does not show. */
static int compare_beginning(const char *text, uint32_t len, const al_beginning *kept)
{
    uint32_t a = len < AL_COLUMN_SHOWN + 1 ? len : AL_COLUMN_SHOWN + 1;
    uint32_t n = a < kept->len ? a : kept->len;
    int order = memcmp(text, kept->text, n < AL_COLUMN_SHOWN ? n : AL_COLUMN_SHOWN);

    return order ? order : (a > kept->len) - (a < kept->len);
}

static void keep_beginning(al_beginning *kept, const al_cell *cell, uint64_t key)
{
    uint32_t n = cell->len < AL_COLUMN_SHOWN ? cell->len : AL_COLUMN_SHOWN;

    memcpy(kept->text, cell->text, n);
    kept->text[n] = '\0';
    kept->len = cell->len < AL_COLUMN_SHOWN + 1 ? cell->len : AL_COLUMN_SHOWN + 1;
    kept->key = key;
}

static bool digits_without_letters(const char *text, size_t len)
{
    bool digit = false;

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if ((unsigned char)((c | 0x20) - 'a') < 26)
            return false;
        digit = digit || (unsigned char)(c - '0') < 10;
    }
    return digit;
}

static bool two_digits(const char *p, int least, int most)
{
    int v;

    if ((unsigned char)(p[0] - '0') > 9 || (unsigned char)(p[1] - '0') > 9)
        return false;
    v = (p[0] - '0') * 10 + (p[1] - '0');
    return v >= least && v <= most;
}

static int days_of(int year, int month)
{
    static const signed char days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && leap);
}

/* Z, +HH, +HHMM or +HH:MM, or nothing. */
static bool is_zone(const char *p, size_t len)
{
    if (len == 0 || (len == 1 && *p == 'Z'))
        return true;
    if ((*p != '+' && *p != '-') || len < 3 || !two_digits(p + 1, 0, 23))
        return false;
    if (len == 6)
        return p[3] == ':' && two_digits(p + 4, 0, 59);
    return len == 3 || (len == 5 && two_digits(p + 3, 0, 59));
}

bool al_column_is_date(const char *p, size_t len)
{
    const char *end = p + len;
    int year, month;

    if (len < 10 || !two_digits(p, 0, 99) || !two_digits(p + 2, 0, 99) || p[4] != '-' ||
        !two_digits(p + 5, 1, 12) || p[7] != '-')
        return false;
    year = (p[0] - '0') * 1000 + (p[1] - '0') * 100 + (p[2] - '0') * 10 + (p[3] - '0');
    month = (p[5] - '0') * 10 + (p[6] - '0');
    if (!two_digits(p + 8, 1, days_of(year, month)))
        return false;
    if (len == 10)
        return true;
    p += 10;
    if ((*p != 'T' && *p != ' ') || end - p < 6 || !two_digits(p + 1, 0, 23) || p[3] != ':' ||
        !two_digits(p + 4, 0, 59))
        return false;
    p += 6;
    if (end - p >= 3 && *p == ':') {
        if (!two_digits(p + 1, 0, 60))
            return false;
        p += 3;
        if (end - p >= 2 && (*p == '.' || *p == ',') && (unsigned char)(p[1] - '0') < 10)
            for (p++; p < end && (unsigned char)(*p - '0') < 10;)
                p++;
    }
    return is_zone(p, (size_t)(end - p));
}

static bool is_boolean(const char *text, size_t len)
{
    return (len == 4 && strncasecmp(text, "true", 4) == 0) ||
           (len == 5 && strncasecmp(text, "false", 5) == 0);
}

static void add_hint(al_part *p, const al_cell *cell)
{
    switch (cell->kind) {
    case AL_CELL_NULL: break;
    case AL_CELL_INTEGER: p->integers++; break;
    case AL_CELL_REAL: p->reals++; break;
    default:
        if (al_column_is_date(cell->text, cell->len))
            p->dates++;
        else if (is_boolean(cell->text, cell->len))
            p->booleans++;
        else
            p->others++;
    }
}

int al_part_clear(al_part *p, size_t columns, const al_values *values)
{
    al_counts counts = p->counts;
    int rc = al_counts_clear(&counts, columns, values);

    *p = (al_part){ .counts = counts };
    return rc;
}

void al_part_close(al_part *p)
{
    al_counts_close(&p->counts);
}

static void add_numbers(al_part *p, const al_cell *cells, size_t n, size_t stride)
{
    const al_cell *cell = cells, *least = NULL, *most = NULL;
    double least_number = p->numbers ? p->least_number : INFINITY;
    double most_number = p->numbers ? p->most_number : -INFINITY;
    uint64_t numbers = 0, texts = 0;
    al_sum sum = p->sum;

    for (size_t i = 0; i < n; i++, cell += stride) {
        double v;

        switch (cell->kind) {
        case AL_CELL_NULL: continue;
        case AL_CELL_INTEGER: v = (double)cell->integer; break;
        case AL_CELL_REAL: v = cell->real; break;
        default: texts++; continue;
        }
        if (v < least_number) {
            least_number = v;
            least = cell;
        }
        if (v > most_number) {
            most_number = v;
            most = cell;
        }
        add_to(&sum, v);
        numbers++;
    }
    if (least) {
        p->least = *least;
        p->least_number = least_number;
    }
    if (most) {
        p->most = *most;
        p->most_number = most_number;
    }
    p->sum = sum;
    p->numbers += numbers;
    p->texts += texts;
}

static void look_at_text(void *part, const al_cell *text, uint32_t n)
{
    al_part *p = part;
    uint64_t key = key_of(text->text, text->len);

    if (p->texts_seen == 0 ||
        (key <= p->text_least.key && compare_beginning(text->text, text->len, &p->text_least) < 0))
        keep_beginning(&p->text_least, text, key);
    if (p->texts_seen == 0 ||
        (key >= p->text_most.key && compare_beginning(text->text, text->len, &p->text_most) > 0))
        keep_beginning(&p->text_most, text, key);
    p->fallback_texts += digits_without_letters(text->text, text->len) ? n : 0;
    p->texts_seen += n;
}

int al_part_add(al_part *p, const al_cell *cells, size_t n, size_t stride, size_t hints)
{
    for (size_t i = 0; i < n && i < hints; i++)
        add_hint(p, &cells[i * stride]);
    add_numbers(p, cells, n, stride);
    if (al_counts_add(&p->counts, cells, n, stride) != AL_OK)
        return AL_ENOMEM;
    if (p->texts == 0)
        return AL_OK;
    if (!p->counts.estimate) { /* while they are in the cache */
        al_counts_texts(&p->counts, false, look_at_text, p);
        return AL_OK;
    }
    for (size_t i = 0; i < n; i++)
        if (cells[i * stride].kind == AL_CELL_TEXT)
            look_at_text(p, &cells[i * stride], 1);
    return AL_OK;
}

int al_part_end(al_part *p)
{
    if (p->texts > 0 && !p->counts.estimate)
        al_counts_texts(&p->counts, true, look_at_text, p);
    return al_counts_end(&p->counts);
}

static void take_numbers(al_column *c, const al_part *p)
{
    if (p->numbers == 0)
        return;
    if (c->numbers == 0 || p->least_number < c->least_number) {
        c->least = p->least;
        c->least_number = p->least_number;
    }
    if (c->numbers == 0 || p->most_number > c->most_number) {
        c->most = p->most;
        c->most_number = p->most_number;
    }
    merge(&c->sum, p->sum);
    c->numbers += p->numbers;
}

static void take_texts(al_column *c, const al_part *p)
{
    if (p->texts == 0)
        return;
    if (c->texts == 0 ||
        compare_beginning(p->text_least.text, p->text_least.len, &c->text_least) < 0)
        c->text_least = p->text_least;
    if (c->texts == 0 || compare_beginning(p->text_most.text, p->text_most.len, &c->text_most) > 0)
        c->text_most = p->text_most;
    c->fallback_texts += p->fallback_texts;
    c->texts += p->texts;
}

int al_column_take(al_column *c, al_part *p)
{
    take_numbers(c, p);
    take_texts(c, p);
    c->integers += p->integers;
    c->reals += p->reals;
    c->dates += p->dates;
    c->booleans += p->booleans;
    c->others += p->others;
    return al_values_take(c->values, &p->counts);
}

const char *al_column_type(const al_column *c)
{
    uint64_t numbers = c->integers + c->reals;
    uint64_t all = numbers + c->dates + c->booleans + c->others;

    if (all == 0)
        return "text";
    if (numbers == all)
        return c->reals ? "real" : "integer";
    if (c->dates == all)
        return "date";
    return c->booleans == all ? "boolean" : "text";
}

bool al_column_mean(const al_column *c, double *mean)
{
    *mean = c->numbers ? (c->sum.sum + c->sum.rest) / (double)c->numbers : 0;
    if (c->sum.scaled)
        *mean /= UNIT;
    return c->numbers && isfinite(*mean);
}

uint64_t al_column_fallbacks(const al_column *c)
{
    if (c->numbers)
        return c->texts;
    return strcmp(al_column_type(c), "text") == 0 ? c->fallback_texts : 0;
}

uint64_t al_column_distinct(const al_column *c)
{
    uint64_t n = al_values_distinct(c->values), all = c->numbers + c->texts;

    return n < all ? n : all;
}

static int add_shown(al_buf *out, const al_cell *cell)
{
    char number[32];

    switch (cell->kind) {
    case AL_CELL_INTEGER: return al_buf_printf(out, "%lld", (long long)cell->integer);
    case AL_CELL_REAL: return al_buf_add(out, number, al_num_shortest(cell->real, number));
    default: return add_cut(out, cell->text, cell->len, AL_COLUMN_SHOWN);
    }
}

static bool extreme(const al_column *c, const al_cell *number, const al_beginning *text,
                    al_buf *out)
{
    if (c->numbers && c->numbers >= c->texts)
        return add_shown(out, number) == AL_OK;
    if (!c->texts)
        return false;
    if (text->len <= AL_COLUMN_SHOWN)
        return al_buf_add(out, text->text, text->len) == AL_OK;
    al_buf_add(out, text->text, al_utf8_valid(text->text, AL_COLUMN_SHOWN)); /* whole characters */
    return al_buf_str(out, ellipsis) == AL_OK;
}

bool al_column_min(const al_column *c, al_buf *out)
{
    return extreme(c, &c->least, &c->text_least, out);
}

bool al_column_max(const al_column *c, al_buf *out)
{
    return extreme(c, &c->most, &c->text_most, out);
}

int al_column_top_json(const al_column *c, al_buf *out)
{
    al_value_count top[AL_COLUMN_TOP];
    size_t n = al_values_top(c->values, top, AL_COLUMN_TOP);
    al_json_out o;
    al_buf shown;

    al_buf_init(&shown, 0);
    al_json_out_init(&o, out);
    al_json_begin_array(&o);
    for (size_t i = 0; i < n; i++) {
        al_buf_clear(&shown);
        add_shown(&shown, &top[i].value);
        al_json_begin_object(&o);
        al_json_key(&o, "value");
        al_json_string(&o, shown.data, shown.len);
        al_json_key(&o, "count");
        al_json_int(&o, (int64_t)top[i].count);
        al_json_end_object(&o);
    }
    al_json_end_array(&o);
    if (shown.failed)
        out->failed = shown.failed;
    al_buf_free(&shown);
    return out->failed;
}
