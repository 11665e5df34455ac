/* Words by row. Numbers with few decimals are exact integers, whose sums are the same in any order;
 * the rest are doubles. */
#include "data/measure.h"
#include "base/buf.h"
#include "base/num.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PRODUCT 0x1p53 /* of exact factors */

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "aggregate", "not enough memory");
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Its digits as JSON wants them. */
static double parse(const char *sign, const char *digits, size_t len)
{
    al_buf b;
    double v;

    al_buf_init(&b, 0);
    al_buf_str(&b, *sign == '-' ? "-" : "");
    while (len > 1 && digits[0] == '0' && is_digit(digits[1])) {
        digits++;
        len--;
    }
    if (!is_digit(digits[0]))
        al_buf_char(&b, '0');
    for (size_t i = 0; i < len; i++)
        if (digits[i] != '.' || (i + 1 < len && is_digit(digits[i + 1])))
            al_buf_char(&b, digits[i]);
    v = b.failed ? 0 : al_num_parse(b.data, b.len);
    al_buf_free(&b);
    return v;
}

/* The number that a text is to SQLite's sum; whether all of it is an integer. */
static double number_of_text(const char *text, size_t len, bool *integer)
{
    const char *p = text, *end = text + len, *sign, *digits;
    bool any = false, whole = true;
    double v;

    *integer = false;
    while (p < end && is_space(*p))
        p++;
    sign = p;
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    digits = p;
    for (; p < end && is_digit(*p); p++)
        any = true;
    if (p < end && *p == '.') {
        whole = false;
        for (p++; p < end && is_digit(*p); p++)
            any = true;
    }
    if (!any)
        return 0;
    if (p < end && (*p == 'e' || *p == 'E')) {
        const char *e = p + 1;

        if (e < end && (*e == '-' || *e == '+'))
            e++;
        if (e < end && is_digit(*e)) {
            whole = false;
            while (e < end && is_digit(*e))
                e++;
            p = e;
        }
    }
    v = parse(sign == digits ? "+" : sign, digits, (size_t)(p - digits));
    while (p < end && is_space(*p))
        p++;
    *integer = whole && p == end && fabs(v) < 0x1p63;
    return v;
}

/* ---- opening ---- */

static double number_of(const al_cell *cell, bool *integer)
{
    *integer = cell->kind == AL_CELL_INTEGER;
    switch (cell->kind) {
    case AL_CELL_INTEGER: return (double)cell->integer;
    case AL_CELL_REAL: return cell->real;
    default: return number_of_text(cell->text, cell->len, integer);
    }
}

struct operand {
    const al_vector *v;
    bool real, integer, nulls;
    int decimals;
    double most;
    al_word *table;
};

/* The numbers of a dictionary, exact where all of them are. */
static int open_codes(struct operand *o, bool only_numbers, al_err *err)
{
    const al_vector *v = o->v;
    double *numbers = malloc(v->codes * sizeof *numbers);

    o->table = malloc(v->codes * sizeof *o->table);
    if (!numbers || !o->table) {
        free(numbers);
        return no_memory(err);
    }
    numbers[0] = NAN;
    for (uint32_t code = 1; code < v->codes; code++) {
        const al_cell cell = al_vector_value(v, code);
        bool integer = true;

        if (cell.kind == AL_CELL_TEXT && only_numbers) {
            numbers[code] = NAN;
            o->nulls = true;
            continue;
        }
        numbers[code] = number_of(&cell, &integer);
        o->integer &= integer;
        o->most = fmax(o->most, fabs(numbers[code]));
    }
    o->decimals = al_vector_decimals(numbers, v->codes);
    o->real = o->decimals < 0;
    if (!o->real) {
        double unit = al_vector_unit(o->decimals);

        o->most *= unit;
        for (uint32_t code = 0; code < v->codes; code++)
            o->table[code].i =
                isnan(numbers[code]) ? AL_WORD_NULL : (int64_t)llrint(numbers[code] * unit);
    } else {
        for (uint32_t code = 0; code < v->codes; code++)
            o->table[code].d = numbers[code];
    }
    free(numbers);
    return AL_OK;
}

static int open_operand(struct operand *o, const al_vector *v, bool only_numbers, al_err *err)
{
    *o = (struct operand){ .v = v,
                           .integer = !(v->kinds & AL_VECTOR_HAS_REAL),
                           .nulls = v->kinds & AL_VECTOR_HAS_NULL };
    if (v->form == AL_VECTOR_CODES)
        return open_codes(o, only_numbers, err);
    o->real = v->form == AL_VECTOR_REALS;
    o->decimals = v->decimals;
    if (v->least <= v->most)
        o->most = fmax(fabs(v->least), fabs(v->most)) * al_vector_unit(v->decimals);
    return AL_OK;
}

/* What was exact becomes doubles. */
static void make_real(struct operand *o)
{
    double unit = al_vector_unit(o->decimals);

    for (uint32_t code = 0; o->table && !o->real && code < o->v->codes; code++)
        o->table[code].d = o->table[code].i == AL_WORD_NULL ? NAN : (double)o->table[code].i / unit;
}

static int open_sum(al_measure *m, bool only_numbers, al_err *err)
{
    struct operand a, b = { .table = NULL };
    int rc = open_operand(&a, m->v, only_numbers, err);

    if (rc == AL_OK && m->times)
        rc = open_operand(&b, m->times, only_numbers, err);
    m->table = a.table;
    m->times_table = b.table;
    if (rc != AL_OK)
        return rc;
    m->real = a.real;
    m->decimals = a.decimals;
    m->integer = a.integer;
    m->nulls = a.nulls;
    if (m->times) {
        m->decimals += b.decimals;
        m->integer &= b.integer;
        m->nulls |= b.nulls;
        a.most *= b.most;
        m->real |= b.real || m->decimals > 9 || a.most >= MAX_PRODUCT;
        if (m->real) {
            make_real(&a);
            make_real(&b);
        }
    }
    m->wide = !m->real && a.most * m->v->rows >= 0x1p62;
    return AL_OK;
}

static int open_order(al_measure *m, bool only_numbers, al_err *err)
{
    const al_vector *v = m->v;

    m->nulls = v->kinds & AL_VECTOR_HAS_NULL;
    m->integer = !(v->kinds & AL_VECTOR_HAS_REAL);
    m->real = v->form == AL_VECTOR_REALS;
    m->decimals = v->decimals;
    if (v->form != AL_VECTOR_CODES)
        return AL_OK;
    m->ranks = true;
    m->table = malloc(v->codes * sizeof *m->table);
    m->by_rank = malloc(v->codes * sizeof *m->by_rank);
    if (!m->table || !m->by_rank)
        return no_memory(err);
    for (uint32_t code = 0; code < v->codes; code++) {
        bool null = code == 0;

        if (only_numbers && (v->kinds & AL_VECTOR_HAS_TEXT) && code > 0)
            null = al_vector_value(v, code).kind == AL_CELL_TEXT;
        m->nulls |= null && code > 0;
        m->table[code].i = null ? AL_WORD_NULL : (int64_t)v->rank[code];
        m->by_rank[v->rank[code]] = code;
    }
    return AL_OK;
}

static int open_code(al_measure *m, bool only_numbers, al_err *err)
{
    const al_vector *v = m->v;

    m->nulls = v->kinds & AL_VECTOR_HAS_NULL;
    m->table = malloc(v->codes * sizeof *m->table);
    if (!m->table)
        return no_memory(err);
    for (uint32_t code = 0; code < v->codes; code++) {
        bool null = code == 0 || (only_numbers && (v->kinds & AL_VECTOR_HAS_TEXT) &&
                                  al_vector_value(v, code).kind == AL_CELL_TEXT);

        m->nulls |= null && code > 0;
        m->table[code].i = null ? AL_WORD_NULL : (int64_t)code;
    }
    return AL_OK;
}

int al_measure_open(al_measure *m, const al_vector *v, const al_vector *times, al_measure_use use,
                    bool only_numbers, al_err *err)
{
    *m = (al_measure){ .v = v, .times = times, .use = use };
    if (use == AL_MEASURE_CODE)
        return open_code(m, only_numbers, err);
    return use == AL_MEASURE_SUM || times ? open_sum(m, only_numbers, err)
                                          : open_order(m, only_numbers, err);
}

void al_measure_close(al_measure *m)
{
    free(m->table);
    free(m->times_table);
    free(m->by_rank);
    *m = (al_measure){ .v = NULL };
}

/* ---- words ---- */

static void look_up(const al_vector *v, const al_word *table, uint32_t first, uint32_t n,
                    al_word *words)
{
    const uint8_t *one = (const uint8_t *)v->data + first;
    const uint16_t *two = (const uint16_t *)v->data + first;
    const uint32_t *four = (const uint32_t *)v->data + first;

    switch (v->width) {
    case 1:
        for (uint32_t i = 0; i < n; i++)
            words[i] = table[one[i]];
        break;
    case 2:
        for (uint32_t i = 0; i < n; i++)
            words[i] = table[two[i]];
        break;
    default:
        for (uint32_t i = 0; i < n; i++)
            words[i] = table[four[i]];
    }
}

/* real: doubles are wanted, whatever the form. */
static void operand_words(const al_vector *v, const al_word *table, bool real, uint32_t first,
                          uint32_t n, al_word *words)
{
    const int32_t *narrow = (const int32_t *)v->data + first;
    const int64_t *wide = (const int64_t *)v->data + first;
    const double unit = al_vector_unit(v->decimals);

    if (v->form == AL_VECTOR_CODES) {
        look_up(v, table, first, n, words);
        return;
    }
    if (v->form == AL_VECTOR_REALS) {
        memcpy(words, (const double *)v->data + first, n * sizeof *words);
        return;
    }
    if (v->width == 4)
        for (uint32_t i = 0; i < n; i++)
            words[i].i = narrow[i] == INT32_MIN ? AL_WORD_NULL : narrow[i];
    else
        memcpy(words, wide, n * sizeof *words);
    for (uint32_t i = 0; real && i < n; i++)
        words[i].d = words[i].i == AL_WORD_NULL ? NAN : (double)words[i].i / unit;
}

#define PART 1024 /* rows whose other factor is kept on the stack */

static void multiply(const al_measure *m, uint32_t first, uint32_t n, al_word *words)
{
    al_word other[PART];

    for (uint32_t from = 0; from < n; from += PART) {
        uint32_t part = n - from < PART ? n - from : PART;
        al_word *w = words + from;

        operand_words(m->times, m->times_table, m->real, first + from, part, other);
        if (m->real)
            for (uint32_t i = 0; i < part; i++)
                w[i].d *= other[i].d;
        else
            for (uint32_t i = 0; i < part; i++)
                w[i].i = w[i].i == AL_WORD_NULL || other[i].i == AL_WORD_NULL ? AL_WORD_NULL
                                                                              : w[i].i * other[i].i;
    }
}

void al_measure_words(const al_measure *m, uint32_t first, uint32_t n, al_word *words)
{
    operand_words(m->v, m->table, m->real, first, n, words);
    if (m->times)
        multiply(m, first, n, words);
}

al_cell al_measure_cell(const al_measure *m, al_word word)
{
    double v;

    if (m->ranks)
        return al_vector_value(m->v, m->by_rank[word.i]);
    if (m->integer && !m->real && m->decimals == 0)
        return al_cell_integer(word.i);
    v = m->real ? word.d : (double)word.i / al_vector_unit(m->decimals);
    return m->integer ? al_cell_integer((int64_t)v) : al_cell_real(v);
}
