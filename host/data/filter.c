/* A condition on a vector of codes is asked once for each code; one on numbers becomes a range of
 * them, or a search in a sorted list. */
#include "data/filter.h"
#include "base/num.h"
#include "base/utf8.h"
#include "data/fields.h"
#include "data/values.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 65536 /* rows looked at by one thread at a time; a multiple of 64 */
#define CODES 16384 /* codes of the same */

enum { IN, NOT_IN, IS_NULL, NOT_NULL, CONTAINS, RANGE };

struct condition {
    uint32_t column;
    int op;
    al_cell *values; /* IN, NOT_IN: sorted; CONTAINS: one, in lower case; RANGE: least and most */
    size_t n;
    bool open[2]; /* RANGE: the end itself is not in it */
    bool ascii;   /* CONTAINS */
};

struct al_filter {
    struct condition *conditions;
    size_t n;
    uint32_t *columns;
    size_t ncolumns;
    size_t values;
    const al_scan *scan; /* while it is parsed */
};

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "filter", "not enough memory");
}

/* Appends text with each character in lower case by itself; what is not UTF-8 stays as it is. */
static int add_lower(al_buf *out, const char *text, size_t len)
{
    int rc = al_buf_reserve(out, len);

    for (size_t i = 0; i < len && rc == AL_OK;) {
        uint32_t cp;
        char bytes[4];
        int n = al_utf8_decode(text + i, len - i, &cp);

        if (n == 0) {
            rc = al_buf_char(out, text[i++]);
            continue;
        }
        i += (size_t)n;
        n = al_utf8_encode(al_utf8_lower(cp), bytes);
        rc = al_buf_add(out, bytes, (size_t)n);
    }
    return rc;
}

/* ---- reading ---- */

static int by_value(const void *a, const void *b)
{
    return al_cell_compare(a, b);
}

static int add_cell(void *arg, size_t i, al_field item, al_err *err)
{
    struct condition *c = arg;

    if (c->n == i && (i & (i - 1)) == 0) { /* room for 1, 2, 4 … */
        al_cell *more = realloc(c->values, (i ? 2 * i : 1) * sizeof *more);

        if (!more)
            return no_memory(err);
        c->values = more;
    }
    c->n = i + 1;
    return al_fields_cell(item, "filter", &c->values[i], err);
}

static int read_values(al_filter *f, struct condition *c, int op, al_field list, al_err *err)
{
    size_t left = f->values < AL_FILTER_MAX_VALUES ? AL_FILTER_MAX_VALUES - f->values : 0;
    int rc = al_fields_each(list, "filter", left, add_cell, c, err);

    c->op = op;
    f->values += c->n;
    if (rc == AL_OK && c->n > 0)
        qsort(c->values, c->n, sizeof *c->values, by_value);
    return rc;
}

static int read_null(struct condition *c, al_field field, al_err *err)
{
    bool null;
    int rc = al_fields_bool(field, "filter: null", &null, err);

    c->op = rc == AL_OK && null ? IS_NULL : NOT_NULL;
    return rc;
}

static int read_contains(struct condition *c, al_field field, al_err *err)
{
    al_buf text, lower;
    int rc;

    c->op = CONTAINS;
    c->ascii = true;
    al_buf_init(&text, 0);
    al_buf_init(&lower, 0);
    rc = al_fields_text(field, "filter: contains", &text, err);
    if (rc == AL_OK &&
        (add_lower(&lower, text.data, text.len) != AL_OK || al_buf_str(&lower, "") != AL_OK))
        rc = no_memory(err);
    c->values = rc == AL_OK ? malloc(sizeof *c->values) : NULL;
    if (rc == AL_OK && !c->values)
        rc = no_memory(err);
    if (rc == AL_OK) {
        for (size_t i = 0; i < lower.len; i++)
            c->ascii &= (unsigned char)lower.data[i] < 0x80;
        c->n = 1;
        c->values[0] = al_cell_text(NULL, lower.len);
        c->values[0].text = al_buf_steal(&lower);
    }
    al_buf_free(&text);
    al_buf_free(&lower);
    return rc;
}

static int read_range(struct condition *c, al_field field, al_err *err)
{
    static const char *const keys[] = { "ge", "gt", "le", "lt" };
    al_field ends[4];
    int rc = al_fields_read(field, "filter: range", keys, ends, 4, err);

    c->op = RANGE;
    if (rc != AL_OK)
        return rc;
    if ((ends[0].json && ends[1].json) || (ends[2].json && ends[3].json) ||
        (!ends[0].json && !ends[1].json && !ends[2].json && !ends[3].json))
        return al_fields_wrong("filter: range", "one of ge and gt, one of le and lt, or one alone",
                               err);
    c->values = calloc(2, sizeof *c->values);
    if (!c->values)
        return no_memory(err);
    c->n = 2;
    for (int i = 0; i < 2 && rc == AL_OK; i++) {
        c->open[i] = ends[2 * i + 1].json != NULL;
        rc = al_fields_cell(ends[2 * i + c->open[i]], "filter: range", &c->values[i], err);
    }
    if (rc == AL_OK && c->values[0].kind != AL_CELL_NULL && c->values[1].kind != AL_CELL_NULL &&
        (c->values[0].kind == AL_CELL_TEXT) != (c->values[1].kind == AL_CELL_TEXT))
        rc = al_fields_wrong("filter: range", "a number and a text", err);
    return rc;
}

static int read_condition(void *arg, size_t i, al_field item, al_err *err)
{
    static const char *const keys[] = {
        "column", "eq", "in", "notIn", "null", "contains", "range"
    };
    al_filter *f = arg;
    struct condition *c = &f->conditions[i];
    al_field fields[7];
    al_buf name;
    size_t column, given = 0;
    int rc;

    /* "eq":null is a condition, where a null elsewhere is none. */
    f->n = i + 1;
    rc = al_fields_read(item, "filter", keys, fields, 7, err);
    for (int k = 1; k < 7; k++)
        given += fields[k].json != NULL;
    if (rc != AL_OK)
        return rc;
    if (given != 1)
        return al_fields_wrong("filter", "one of eq, in, notIn, null, contains, range is needed",
                               err);
    al_buf_init(&name, 0);
    rc = al_fields_text(fields[0], "filter: column", &name, err);
    column = rc == AL_OK ? al_scan_find(f->scan, name.data, name.len) : 0;
    if (rc == AL_OK && column == SIZE_MAX)
        rc = al_err_setf(err, AL_EINVAL, "query_rejected", "", "no such column: %.100s", name.data);
    al_buf_free(&name);
    c->column = (uint32_t)column;
    if (rc != AL_OK)
        return rc;
    if (fields[1].json) {
        c->op = IN;
        f->values++;
        return add_cell(c, 0, fields[1], err);
    }
    return fields[2].json   ? read_values(f, c, IN, fields[2], err)
           : fields[3].json ? read_values(f, c, NOT_IN, fields[3], err)
           : fields[4].json ? read_null(c, fields[4], err)
           : fields[5].json ? read_contains(c, fields[5], err)
                            : read_range(c, fields[6], err);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static int collect_columns(al_filter *f, al_err *err)
{
    f->columns = malloc((f->n + 1) * sizeof *f->columns);
    if (!f->columns)
        return no_memory(err);
    for (size_t i = 0; i < f->n; i++)
        f->columns[i] = f->conditions[i].column;
    qsort(f->columns, f->n, sizeof *f->columns, by_number);
    for (size_t i = 0; i < f->n; i++)
        if (i == 0 || f->columns[i] != f->columns[i - 1])
            f->columns[f->ncolumns++] = f->columns[i];
    return AL_OK;
}

int al_filter_parse(al_filter **out, const char *json, size_t len, const al_scan *s, al_err *err)
{
    al_filter *f = calloc(1, sizeof *f);
    int rc;

    *out = NULL;
    if (!f)
        return no_memory(err);
    f->scan = s;
    f->conditions = calloc(AL_FILTER_MAX_CONDITIONS, sizeof *f->conditions);
    rc = f->conditions ? al_fields_each((al_field){ json, len }, "filter", AL_FILTER_MAX_CONDITIONS,
                                        read_condition, f, err)
                       : no_memory(err);
    if (rc == AL_OK)
        rc = collect_columns(f, err);
    if (rc != AL_OK) {
        al_filter_free(f);
        return rc;
    }
    *out = f;
    return AL_OK;
}

void al_filter_free(al_filter *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->n; i++) {
        for (size_t k = 0; k < f->conditions[i].n; k++)
            al_fields_drop(&f->conditions[i].values[k]);
        free(f->conditions[i].values);
    }
    free(f->conditions);
    free(f->columns);
    free(f);
}

static bool equal_condition(const struct condition *a, const struct condition *b)
{
    if (a->column != b->column || a->op != b->op || a->n != b->n || a->open[0] != b->open[0] ||
        a->open[1] != b->open[1])
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (al_cell_compare(&a->values[i], &b->values[i]) != 0)
            return false;
    return true;
}

bool al_filter_equal(const al_filter *a, const al_filter *b)
{
    size_t n = a ? a->n : 0;

    if (n != (b ? b->n : 0))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!equal_condition(&a->conditions[i], &b->conditions[i]))
            return false;
    return true;
}

size_t al_filter_columns(const al_filter *f, const uint32_t **columns)
{
    *columns = f ? f->columns : NULL;
    return f ? f->ncolumns : 0;
}

/* ---- one cell ---- */

struct scratch {
    al_buf lower;
};

static bool contains_text(const struct condition *c, const char *text, size_t len,
                          struct scratch *s)
{
    const al_cell *needle = &c->values[0];
    bool ascii = true;

    if (needle->len > len && c->ascii)
        return false;
    al_buf_clear(&s->lower);
    if (al_buf_reserve(&s->lower, len + 1) != AL_OK)
        return false; /* remembered by the buffer */
    for (size_t i = 0; i < len; i++) {
        unsigned char b = (unsigned char)text[i];

        ascii &= b < 0x80;
        s->lower.data[i] = (char)(b + ((b >= 'A' && b <= 'Z') ? 32 : 0));
    }
    s->lower.len = len;
    if (!c->ascii) {
        if (ascii)
            return false;
        al_buf_clear(&s->lower);
        if (add_lower(&s->lower, text, len) != AL_OK)
            return false;
    }
    return needle->len == 0 ||
           memmem(s->lower.data, s->lower.len, needle->text, needle->len) != NULL;
}

static bool contains(const struct condition *c, const al_cell *cell, struct scratch *s)
{
    char digits[32];
    int n;

    switch (cell->kind) {
    case AL_CELL_TEXT: return contains_text(c, cell->text, cell->len, s);
    case AL_CELL_INTEGER:
        n = snprintf(digits, sizeof digits, "%lld", (long long)cell->integer);
        return contains_text(c, digits, (size_t)n, s);
    case AL_CELL_REAL: return contains_text(c, digits, al_num_shortest(cell->real, digits), s);
    default: return false;
    }
}

static bool in_range(const struct condition *c, const al_cell *cell)
{
    for (int i = 0; i < 2; i++) {
        const al_cell *end = &c->values[i];
        int order;

        if (end->kind == AL_CELL_NULL)
            continue;
        if (cell->kind == AL_CELL_NULL ||
            (cell->kind == AL_CELL_TEXT) != (end->kind == AL_CELL_TEXT))
            return false;
        order = al_cell_compare(cell, end);
        if (i == 1)
            order = -order;
        if (order < 0 || (order == 0 && c->open[i]))
            return false;
    }
    return true;
}

static bool holds(const struct condition *c, const al_cell *cell, struct scratch *s)
{
    switch (c->op) {
    case IS_NULL: return cell->kind == AL_CELL_NULL;
    case NOT_NULL: return cell->kind != AL_CELL_NULL;
    case CONTAINS: return contains(c, cell, s);
    case RANGE: return in_range(c, cell);
    default:
        return (c->n > 0 && bsearch(cell, c->values, c->n, sizeof *c->values, by_value)) ==
               (c->op == IN);
    }
}

/* ---- all rows ---- */

struct test { /* a condition and its vector */
    const struct condition *c;
    const al_vector *v;
    uint8_t *pass;       /* CODES: by code */
    int64_t least, most; /* INTEGERS and a range: what passes */
    bool between;
};

struct running {
    struct test *tests;
    size_t n;
    size_t now; /* the test whose codes are asked */
    uint32_t rows;
    uint64_t *bits;
    atomic_ullong count;
};

static int ask_codes(void *arg, const al_work_part *part, al_err *err)
{
    struct running *r = arg;
    struct test *t = &r->tests[r->now];
    uint64_t from = (uint64_t)part->index * CODES, end = from + CODES;
    struct scratch s;
    int rc;

    al_buf_init(&s.lower, 0);
    for (uint64_t code = from; code < end && code < t->v->codes; code++) {
        const al_cell cell = al_vector_value(t->v, (uint32_t)code);

        t->pass[code] = holds(t->c, &cell, &s);
    }
    rc = s.lower.failed ? no_memory(err) : AL_OK;
    al_buf_free(&s.lower);
    return rc;
}

static const double ten[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9 };

/* The least element whose value is at least (or, when open, more than) the number. */
static int64_t first_from(const al_vector *v, double number, bool open)
{
    double unit = ten[v->decimals], scaled = number * unit;
    int64_t e;

    if (!(scaled >= -0x1p53))
        return INT64_MIN + 1;
    if (scaled > 0x1p53)
        return INT64_MAX;
    e = (int64_t)floor(scaled) - 2;
    while ((double)e / unit < number || (open && (double)e / unit == number))
        e++;
    return e;
}

static double number_of(const al_cell *cell)
{
    return cell->kind == AL_CELL_INTEGER ? (double)cell->integer : cell->real;
}

/* Ranges of integers, and one value, which is a range of one. */
static void make_between(struct test *t)
{
    const struct condition *c = t->c;
    bool one = c->op == IN && c->n == 1 && c->values[0].kind != AL_CELL_NULL;

    if (t->v->form != AL_VECTOR_INTEGERS || (c->op != RANGE && !one))
        return;
    t->between = true;
    t->least = INT64_MIN + 1;
    t->most = INT64_MAX;
    for (size_t i = 0; i < c->n; i++) {
        const al_cell *end = &c->values[i];

        if (end->kind == AL_CELL_TEXT) {
            t->most = INT64_MIN;
        } else if (one) {
            t->least = first_from(t->v, number_of(end), false);
            t->most = first_from(t->v, number_of(end), true) - 1;
        } else if (end->kind != AL_CELL_NULL && i == 0) {
            t->least = first_from(t->v, number_of(end), c->open[0]);
        } else if (end->kind != AL_CELL_NULL) {
            t->most = first_from(t->v, number_of(end), !c->open[1]) - 1;
        }
    }
}

static uint64_t word_of_codes(const struct test *t, uint32_t from, uint32_t n)
{
    uint64_t word = 0;

    switch (t->v->width) {
    case 1:
        for (uint32_t i = 0; i < n; i++)
            word |= (uint64_t)t->pass[((const uint8_t *)t->v->data)[from + i]] << i;
        break;
    case 2:
        for (uint32_t i = 0; i < n; i++)
            word |= (uint64_t)t->pass[((const uint16_t *)t->v->data)[from + i]] << i;
        break;
    default:
        for (uint32_t i = 0; i < n; i++)
            word |= (uint64_t)t->pass[((const uint32_t *)t->v->data)[from + i]] << i;
    }
    return word;
}

static uint64_t word_between(const struct test *t, uint32_t from, uint32_t n)
{
    const int32_t *narrow = (const int32_t *)t->v->data + from;
    const int64_t *wide = (const int64_t *)t->v->data + from;
    uint64_t word = 0;

    if (t->v->width == 4)
        for (uint32_t i = 0; i < n; i++)
            word |=
                (uint64_t)(narrow[i] >= t->least && narrow[i] <= t->most && narrow[i] != INT32_MIN)
                << i;
    else
        for (uint32_t i = 0; i < n; i++)
            word |= (uint64_t)(wide[i] >= t->least && wide[i] <= t->most) << i;
    return word;
}

static uint64_t word_of_cells(const struct test *t, uint32_t from, uint32_t n, struct scratch *s)
{
    uint64_t word = 0;

    for (uint32_t i = 0; i < n; i++) {
        const al_cell cell = al_vector_cell(t->v, from + i);

        word |= (uint64_t)holds(t->c, &cell, s) << i;
    }
    return word;
}

static int run_block(void *arg, const al_work_part *part, al_err *err)
{
    struct running *r = arg;
    uint64_t from = (uint64_t)part->index * BLOCK, end = from + BLOCK, count = 0;
    struct scratch s;
    int rc;

    al_buf_init(&s.lower, 0);
    if (end > r->rows)
        end = r->rows;
    for (uint64_t row = from; row < end; row += 64) {
        uint32_t n = end - row < 64 ? (uint32_t)(end - row) : 64;
        uint64_t word = n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;

        for (size_t i = 0; i < r->n && word; i++) {
            const struct test *t = &r->tests[i];

            word &= t->pass      ? word_of_codes(t, (uint32_t)row, n)
                    : t->between ? word_between(t, (uint32_t)row, n)
                                 : word_of_cells(t, (uint32_t)row, n, &s);
        }
        r->bits[row / 64] = word;
        count += (uint64_t)__builtin_popcountll(word);
    }
    atomic_fetch_add(&r->count, count);
    rc = s.lower.failed ? no_memory(err) : AL_OK;
    al_buf_free(&s.lower);
    return rc;
}

int al_filter_run(const al_filter *f, const al_vector *(*vector)(void *data, uint32_t column),
                  void *data, uint32_t rows, uint64_t *bits, uint64_t *count, al_work *w,
                  al_err *err)
{
    struct running r = { .n = f ? f->n : 0, .rows = rows, .bits = bits };
    int rc = AL_OK;

    atomic_init(&r.count, 0);
    r.tests = calloc(r.n + 1, sizeof *r.tests);
    if (!r.tests)
        return no_memory(err);
    for (size_t i = 0; i < r.n && rc == AL_OK; i++) {
        struct test *t = &r.tests[i];

        t->c = &f->conditions[i];
        t->v = vector(data, t->c->column);
        r.now = i;
        if (t->v->form != AL_VECTOR_CODES) {
            make_between(t);
            continue;
        }
        t->pass = malloc(t->v->codes);
        rc = t->pass ? al_work_each(w, (t->v->codes + CODES - 1) / CODES, ask_codes, &r, err)
                     : no_memory(err);
    }
    if (rc == AL_OK)
        rc = al_work_each(w, ((size_t)rows + BLOCK - 1) / BLOCK, run_block, &r, err);
    for (size_t i = 0; i < r.n; i++)
        free(r.tests[i].pass);
    free(r.tests);
    *count = atomic_load(&r.count);
    return rc;
}
