/* From a request to cubes and from cubes to an answer. First it is read as a whole, so that all
 * columns come in one pass over the file; then the keys that show only their largest parts are
 * ranked; then everything else is answered together. */
#include "data/aggregate.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/num.h"
#include "base/utf8.h"
#include "data/cube.h"
#include "data/day.h"
#include "data/fields.h"
#include "data/filter.h"
#include "data/measure.h"
#include "data/values.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES     2048  /* of a text in the answer; then … */
#define MAX_SAMPLE     10000 /* rows */
#define SAMPLE_COLUMNS 16
#define RANKED         16384 /* so many groups are put in the order of their keys by ranks */
#define REST           UINT32_MAX

struct key_spec {
    uint32_t column;
    bool plain, day; /* neither: bins */
    al_day_unit unit;
    double start, width;
    int64_t top, rank;
};

struct measure_spec {
    al_cube_fn fn;
    bool rows; /* count of rows */
    uint32_t column, times;
    bool has_times, numbers;
    al_measure *of;
};

/* What the parts of a key are. */
struct parts {
    uint32_t n;
    const al_vector *v; /* plain: of codes */
    uint32_t *map;
    int64_t *days;       /* by part; the first is NULL's */
    double start, width; /* bins; part 1 begins at start + first * width */
    int64_t first;
    uint32_t *shown, nshown; /* top: the parts that are shown; REST is the last */
    uint64_t count;          /* top: how many parts there are */
};

struct group {
    struct key_spec keys[AL_CUBE_KEYS];
    struct parts parts[AL_CUBE_KEYS];
    unsigned nkeys;
    struct measure_spec measures[AL_CUBE_MEASURES];
    unsigned nmeasures;
    size_t filter;
    int64_t order; /* a measure, or -1: by keys */
    bool descending;
    int64_t limit;
    al_cube cube, margins[AL_CUBE_KEYS];
    bool folds;             /* its one key is cut when everything is counted … */
    al_cube_slices *slices; /* … slice by slice, or NULL */
};

struct sample {
    uint32_t columns[SAMPLE_COLUMNS];
    size_t ncolumns;
    int64_t rows;
    size_t filter;
};

struct selection {
    al_filter *shared, *own;
    uint64_t *bits; /* NULL: all rows */
    uint64_t count;
};

struct run {
    al_store_table *table;
    const al_scan *scan;
    al_work *work;
    al_filter *shared;
    struct selection *selections; /* different ones */
    size_t nselections;
    struct group *groups;
    size_t ngroups;
    struct sample *samples;
    size_t nsamples;
    struct source {
        struct source *next;
        uint32_t column, times;
        bool has_times, numbers;
        al_measure_use use;
        al_measure measure;
    } * sources;
    struct group *reading; /* while it is parsed */
};

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "aggregate", "not enough memory");
}

/* ---- reading ---- */

static int read_column(const struct run *r, al_field f, const char *what, uint32_t *column,
                       al_err *err)
{
    al_buf name;
    size_t i = 0;
    int rc;

    al_buf_init(&name, 0);
    rc = al_fields_text(f, what, &name, err);
    if (rc == AL_OK) {
        i = al_scan_find(r->scan, name.data, name.len);
        if (i == SIZE_MAX)
            rc = al_err_setf(err, AL_EINVAL, "query_rejected", "", "no such column: %.100s",
                             name.data);
    }
    al_buf_free(&name);
    *column = (uint32_t)i;
    return rc;
}

/* One of these words. */
static int read_word(al_field f, const char *what, const char *const *words, size_t n, size_t *out,
                     al_err *err)
{
    al_buf text;
    int rc;

    al_buf_init(&text, 0);
    rc = al_fields_text(f, what, &text, err);
    for (*out = 0; rc == AL_OK && *out < n && strcmp(words[*out], text.data) != 0; ++*out)
        ;
    if (rc == AL_OK && *out == n)
        rc =
            al_err_setf(err, AL_EINVAL, "query_rejected", "", "%s: %.50s is none", what, text.data);
    al_buf_free(&text);
    return rc;
}

static int read_width(struct key_spec *k, al_field width, al_field start, al_err *err)
{
    int rc = al_fields_real(width, "width", &k->width, err);

    k->plain = false;
    if (rc == AL_OK && start.json)
        rc = al_fields_real(start, "start", &k->start, err);
    if (rc == AL_OK && !(k->width > 0 && k->width < HUGE_VAL))
        rc = al_fields_wrong("width", "not more than 0", err);
    return rc;
}

static int read_key(void *arg, size_t i, al_field item, al_err *err)
{
    static const char *const names[] = { "column", "unit", "width", "start", "top", "rank" };
    static const char *const units[] = { "day", "week", "month", "quarter", "year" };
    struct run *r = arg;
    struct key_spec *k = &r->reading->keys[i];
    al_field f[6];
    size_t unit;
    int rc = al_fields_read(item, "by", names, f, 6, err);

    r->reading->nkeys = (unsigned)i + 1;
    k->plain = true;
    if (rc == AL_OK)
        rc = read_column(r, f[0], "by: column", &k->column, err);
    if (rc == AL_OK && f[1].json) {
        rc = read_word(f[1], "unit", units, 5, &unit, err);
        k->unit = (al_day_unit)unit;
        k->day = true;
        k->plain = false;
    }
    if (rc == AL_OK && f[1].json && (f[2].json || f[3].json))
        rc = al_fields_wrong("by", "a unit and a width", err);
    if (rc == AL_OK && f[3].json && !f[2].json)
        rc = al_fields_wrong("start", "needs a width", err);
    if (rc == AL_OK && f[2].json)
        rc = read_width(k, f[2], f[3], err);
    if (rc == AL_OK && f[4].json)
        rc = al_fields_integer(f[4], "top", 1, AL_AGGREGATE_ROWS, &k->top, err);
    if (rc == AL_OK && f[5].json)
        rc = al_fields_integer(f[5], "rank", 0, AL_CUBE_MEASURES - 1, &k->rank, err);
    if (rc == AL_OK && f[5].json && !f[4].json)
        rc = al_fields_wrong("rank", "needs a top", err);
    return rc;
}

static int read_measure(void *arg, size_t i, al_field item, al_err *err)
{
    static const char *const names[] = { "fn", "column", "times", "numbers" };
    static const char *const fns[] = { "count", "distinct", "sum", "avg", "min", "max" };
    struct run *r = arg;
    struct measure_spec *m = &r->reading->measures[i];
    al_field f[4];
    size_t fn = 0;
    int rc = al_fields_read(item, "measures", names, f, 4, err);

    r->reading->nmeasures = (unsigned)i + 1;
    if (rc == AL_OK)
        rc = read_word(f[0], "fn", fns, 6, &fn, err);
    m->fn = (al_cube_fn)fn;
    m->rows = m->fn == AL_CUBE_COUNT && !f[1].json;
    m->has_times = f[2].json != NULL;
    if (rc == AL_OK && !m->rows)
        rc = read_column(r, f[1], "measures: column", &m->column, err);
    if (rc == AL_OK && m->has_times)
        rc = read_column(r, f[2], "measures: times", &m->times, err);
    if (rc == AL_OK && m->has_times && (m->rows || m->fn == AL_CUBE_DISTINCT))
        rc = al_fields_wrong("times", "not with this fn", err);
    if (rc == AL_OK && f[3].json)
        rc = al_fields_bool(f[3], "numbers", &m->numbers, err);
    return rc;
}

static int read_filter(struct run *r, al_field f, size_t *out, al_err *err)
{
    al_filter *own = NULL;
    struct selection *more;
    int rc = f.json ? al_filter_parse(&own, f.json, f.len, r->scan, err) : AL_OK;

    if (rc != AL_OK)
        return rc;
    for (*out = 0; *out < r->nselections; ++*out)
        if (al_filter_equal(r->selections[*out].own, own)) {
            al_filter_free(own);
            return AL_OK;
        }
    more = realloc(r->selections, (r->nselections + 1) * sizeof *more);
    if (!more) {
        al_filter_free(own);
        return no_memory(err);
    }
    r->selections = more;
    more[r->nselections++] = (struct selection){ .shared = r->shared, .own = own };
    return AL_OK;
}

static int read_order(struct group *g, al_field order, al_err *err)
{
    static const char *const names[] = { "measure", "descending" };
    al_field f[2];
    int rc = al_fields_read(order, "order", names, f, 2, err);

    if (rc == AL_OK && f[0].json)
        rc =
            al_fields_integer(f[0], "order: measure", 0, (int64_t)g->nmeasures - 1, &g->order, err);
    if (rc == AL_OK && f[1].json)
        rc = al_fields_bool(f[1], "order: descending", &g->descending, err);
    return rc;
}

static bool has_distinct(const struct group *g)
{
    for (unsigned i = 0; i < g->nmeasures; i++)
        if (g->measures[i].fn == AL_CUBE_DISTINCT)
            return true;
    return false;
}

static int read_group(void *arg, size_t i, al_field item, al_err *err)
{
    static const char *const names[] = { "by", "measures", "filter", "order", "limit" };
    struct run *r = arg;
    struct group *g = &r->groups[i];
    al_field f[5];
    int rc = al_fields_read(item, "groups", names, f, 5, err);

    r->ngroups = i + 1;
    r->reading = g;
    g->order = -1;
    g->limit = AL_AGGREGATE_ROWS;
    if (rc == AL_OK && f[0].json)
        rc = al_fields_each(f[0], "by", AL_CUBE_KEYS, read_key, r, err);
    if (rc == AL_OK && f[1].json)
        rc = al_fields_each(f[1], "measures", AL_CUBE_MEASURES, read_measure, r, err);
    if (rc == AL_OK && !f[1].json) {
        g->measures[0] = (struct measure_spec){ .fn = AL_CUBE_COUNT, .rows = true };
        g->nmeasures = 1;
    }
    if (rc == AL_OK)
        rc = read_filter(r, f[2], &g->filter, err);
    if (rc == AL_OK && f[3].json)
        rc = read_order(g, f[3], err);
    if (rc == AL_OK && f[4].json)
        rc = al_fields_integer(f[4], "limit", 1, AL_AGGREGATE_MAX_ROWS, &g->limit, err);
    for (unsigned k = 0; k < g->nkeys && rc == AL_OK; k++)
        if (g->keys[k].top && g->keys[k].rank >= g->nmeasures)
            rc = al_fields_wrong("rank", "no such measure", err);
    g->folds = g->nkeys == 1 && g->keys[0].top && !has_distinct(g);
    return rc;
}

static int read_sample_column(void *arg, size_t i, al_field item, al_err *err)
{
    struct run *r = arg;
    struct sample *s = &r->samples[r->nsamples - 1];

    s->ncolumns = i + 1;
    return read_column(r, item, "samples: columns", &s->columns[i], err);
}

static int read_sample(void *arg, size_t i, al_field item, al_err *err)
{
    static const char *const names[] = { "columns", "rows", "filter" };
    struct run *r = arg;
    al_field f[3];
    int rc = al_fields_read(item, "samples", names, f, 3, err);

    r->nsamples = i + 1;
    if (rc == AL_OK)
        rc = al_fields_each(f[0], "samples: columns", SAMPLE_COLUMNS, read_sample_column, r, err);
    if (rc == AL_OK && r->samples[i].ncolumns == 0)
        rc = al_fields_wrong("samples: columns", "none", err);
    if (rc == AL_OK)
        rc = al_fields_integer(f[1], "samples: rows", 1, MAX_SAMPLE, &r->samples[i].rows, err);
    return rc == AL_OK ? read_filter(r, f[2], &r->samples[i].filter, err) : rc;
}

static int read_request(struct run *r, const al_aggregate_options *o, al_err *err)
{
    int rc = AL_OK;

    r->groups = calloc(AL_AGGREGATE_MAX_GROUPS, sizeof *r->groups);
    r->samples = calloc(AL_AGGREGATE_MAX_GROUPS, sizeof *r->samples);
    if (!r->groups || !r->samples)
        return no_memory(err);
    if (o->filter)
        rc = al_filter_parse(&r->shared, o->filter, o->filter_len, r->scan, err);
    if (rc == AL_OK && o->groups)
        rc = al_fields_each((al_field){ o->groups, o->groups_len }, "groups",
                            AL_AGGREGATE_MAX_GROUPS, read_group, r, err);
    if (rc == AL_OK && o->samples)
        rc = al_fields_each((al_field){ o->samples, o->samples_len }, "samples",
                            AL_AGGREGATE_MAX_GROUPS, read_sample, r, err);
    return rc;
}

/* ---- columns ---- */

static void want(bool *wanted, const al_filter *f)
{
    const uint32_t *columns;
    size_t n = al_filter_columns(f, &columns);

    for (size_t i = 0; i < n; i++)
        wanted[columns[i]] = true;
}

static int need_columns(struct run *r, al_err *err)
{
    size_t all = al_scan_columns(r->scan), n = 0;
    bool *wanted = calloc(all, sizeof *wanted);
    uint32_t *columns = malloc(all * sizeof *columns);
    int rc;

    if (!wanted || !columns) {
        free(wanted);
        free(columns);
        return no_memory(err);
    }
    for (size_t i = 0; i < r->nselections; i++) {
        want(wanted, r->selections[i].shared);
        want(wanted, r->selections[i].own);
    }
    for (size_t i = 0; i < r->ngroups; i++) {
        const struct group *g = &r->groups[i];

        for (unsigned k = 0; k < g->nkeys; k++)
            wanted[g->keys[k].column] = true;
        for (unsigned k = 0; k < g->nmeasures; k++) {
            wanted[g->measures[k].column] |= !g->measures[k].rows;
            wanted[g->measures[k].times] |= g->measures[k].has_times;
        }
    }
    for (size_t i = 0; i < r->nsamples; i++)
        for (size_t k = 0; k < r->samples[i].ncolumns; k++)
            wanted[r->samples[i].columns[k]] = true;
    for (size_t i = 0; i < all; i++)
        if (wanted[i])
            columns[n++] = (uint32_t)i;
    rc = al_store_need(r->table, columns, n, r->work, err);
    free(wanted);
    free(columns);
    return rc;
}

static const al_vector *vector_of(void *data, uint32_t column)
{
    return al_store_vector(((struct run *)data)->table, column);
}

static int select_rows(struct run *r, struct selection *s, al_err *err)
{
    uint32_t rows = al_scan_rows(r->scan);
    size_t words = AL_FILTER_WORDS(rows);
    uint64_t *own = NULL, ignored;
    int rc = AL_OK;

    s->count = rows;
    if (!s->shared && !s->own)
        return AL_OK;
    s->bits = malloc((words + 1) * sizeof *s->bits);
    if (!s->bits)
        return no_memory(err);
    rc = al_filter_run(s->shared ? s->shared : s->own, vector_of, r, rows, s->bits, &s->count,
                       r->work, err);
    if (rc != AL_OK || !s->shared || !s->own)
        return rc;
    own = malloc((words + 1) * sizeof *own);
    rc = own ? al_filter_run(s->own, vector_of, r, rows, own, &ignored, r->work, err)
             : no_memory(err);
    s->count = 0;
    for (size_t i = 0; i < words && rc == AL_OK; i++) {
        s->bits[i] &= own[i];
        s->count += (uint64_t)__builtin_popcountll(s->bits[i]);
    }
    free(own);
    return rc;
}

/* ---- measures ---- */

static int open_source(struct run *r, struct source *s, al_err *err)
{
    al_vector *v = al_store_vector(r->table, s->column);
    const al_vector *times = s->has_times ? al_store_vector(r->table, s->times) : NULL;
    int rc = AL_OK;

    if (s->use == AL_MEASURE_CODE)
        rc = al_store_codes(r->table, s->column, &v, r->work, err);
    if (rc == AL_OK && s->use == AL_MEASURE_ORDER && !s->has_times)
        rc = al_vector_rank(v, r->work, err);
    return rc == AL_OK ? al_measure_open(&s->measure, v, times, s->use, s->numbers, err) : rc;
}

static int find_measure(struct run *r, struct measure_spec *m, al_err *err)
{
    struct source *s;
    al_measure_use use = m->fn == AL_CUBE_SUM || m->fn == AL_CUBE_AVG ? AL_MEASURE_SUM
                         : m->fn == AL_CUBE_DISTINCT                  ? AL_MEASURE_CODE
                                                                      : AL_MEASURE_ORDER;

    if (m->rows)
        return AL_OK;
    /* Which cells are NULL shows in codes and in numbers alike. */
    if (m->fn == AL_CUBE_COUNT)
        use = al_store_vector(r->table, m->column)->form == AL_VECTOR_CODES ? AL_MEASURE_CODE
                                                                            : AL_MEASURE_SUM;
    if (m->has_times)
        use = AL_MEASURE_SUM;
    for (s = r->sources; s; s = s->next)
        if (s->column == m->column && s->use == use && s->numbers == m->numbers &&
            s->has_times == m->has_times && s->times == m->times)
            break;
    if (!s) {
        int rc;

        s = calloc(1, sizeof *s);
        if (!s)
            return no_memory(err);
        *s = (struct source){ .next = r->sources,
                              .column = m->column,
                              .times = m->times,
                              .has_times = m->has_times,
                              .numbers = m->numbers,
                              .use = use };
        r->sources = s;
        rc = open_source(r, s, err);
        if (rc != AL_OK)
            return rc;
    }
    m->of = &s->measure;
    return AL_OK;
}

/* ---- keys ---- */

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The parts of numbers that each code has: part 0 where there is none. */
static int map_numbers(struct parts *p, const al_vector *v, const int64_t *numbers,
                       const bool *given, al_err *err)
{
    size_t n = 0, kept = 0;

    p->map = calloc(v->codes, sizeof *p->map);
    p->days = malloc((v->codes + 1) * sizeof *p->days);
    if (!p->map || !p->days)
        return no_memory(err);
    for (uint32_t code = 0; code < v->codes; code++)
        if (given[code] && (n == 0 || p->days[n - 1] != numbers[code]))
            p->days[n++] = numbers[code];
    qsort(p->days, n, sizeof *p->days, by_number);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || p->days[kept - 1] != p->days[i])
            p->days[kept++] = p->days[i];
    for (uint32_t code = 0; code < v->codes; code++)
        if (given[code]) {
            const int64_t *at = bsearch(&numbers[code], p->days, kept, sizeof *at, by_number);

            p->map[code] = (uint32_t)(at - p->days) + 1;
        }
    p->n = (uint32_t)kept + 1;
    return AL_OK;
}

static bool number_of_code(const struct key_spec *k, const al_cell *cell, int64_t *out)
{
    double bin;

    if (k->day) {
        if (cell->kind != AL_CELL_TEXT || !al_day_of(cell->text, cell->len, out))
            return false;
        *out = al_day_begin(*out, k->unit);
        return true;
    }
    if (cell->kind != AL_CELL_INTEGER && cell->kind != AL_CELL_REAL)
        return false;
    bin = al_cube_bin(cell->kind == AL_CELL_INTEGER ? (double)cell->integer : cell->real, k->start,
                      k->width);
    *out = bin > -0x1p62 && bin < 0x1p62 ? (int64_t)bin : bin < 0 ? INT64_MIN : INT64_MAX;
    return true;
}

static int map_codes(struct parts *p, const struct key_spec *k, const al_vector *v, al_err *err)
{
    int64_t *numbers = malloc(v->codes * sizeof *numbers);
    bool *given = calloc(v->codes, sizeof *given);
    int rc = numbers && given ? AL_OK : no_memory(err);

    for (uint32_t code = 1; code < v->codes && rc == AL_OK; code++) {
        const al_cell cell = al_vector_value(v, code);

        given[code] = number_of_code(k, &cell, &numbers[code]);
    }
    if (rc == AL_OK)
        rc = map_numbers(p, v, numbers, given, err);
    free(numbers);
    free(given);
    return rc;
}

static int too_many_bins(al_err *err)
{
    return al_err_setf(err, AL_EINVAL, "query_rejected", "", "width: more than %d bins",
                       AL_AGGREGATE_MAX_BINS);
}

static int open_bins(struct parts *p, const struct key_spec *k, const al_vector *v, al_err *err)
{
    double first = al_cube_bin(v->least, k->start, k->width);
    double last = al_cube_bin(v->most, k->start, k->width);

    p->n = 1;
    if (!(v->least <= v->most))
        return AL_OK;
    if (!(fabs(first) < 0x1p62) || !(last - first < AL_AGGREGATE_MAX_BINS))
        return too_many_bins(err);
    p->first = (int64_t)first;
    p->n = (uint32_t)(last - first) + 2;
    return AL_OK;
}

static int open_key(struct run *r, const struct key_spec *k, struct parts *p, al_cube_key *c,
                    al_err *err)
{
    al_vector *v = al_store_vector(r->table, k->column);
    int rc = AL_OK;

    p->start = k->start;
    p->width = k->width;
    if (k->plain || (k->day && v->form != AL_VECTOR_CODES)) {
        rc = al_store_codes(r->table, k->column, &v, r->work, err);
        if (rc != AL_OK)
            return rc;
    }
    p->v = v;
    p->n = v->codes;
    if (k->plain)
        rc = AL_OK;
    else if (v->form == AL_VECTOR_CODES)
        rc = map_codes(p, k, v, err);
    else
        rc = open_bins(p, k, v, err);
    if (rc == AL_OK && !k->plain && !k->day && p->n > AL_AGGREGATE_MAX_BINS + 1)
        rc = too_many_bins(err);
    *c = (al_cube_key){ .parts = p->n,
                        .v = v,
                        .map = p->map,
                        .start = p->start,
                        .width = p->width,
                        .first = p->first };
    return rc;
}

/* ---- order ---- */

/* Without the noise of its last bits: the third by 0.1 begins at 0.3. */
static double begin_of_bin(const struct parts *p, double bin)
{
    double begin = p->start + bin * p->width;
    char text[32];
    int len = begin == floor(begin) ? 0 : snprintf(text, sizeof text, "%.15g", begin);

    return len > 0 ? al_num_parse(text, (size_t)len) : begin;
}

/* The cell of a part, which is not the rest. */
static al_cell part_cell(const struct key_spec *k, const struct parts *p, uint32_t part, char *day)
{
    if (p->shown)
        part = p->shown[part];
    if (k->plain)
        return al_vector_value(p->v, part);
    if (part == 0)
        return al_cell_null();
    if (k->day) {
        al_day_text(p->days[part - 1], day);
        return al_cell_text(day, strlen(day));
    }
    return al_cell_real(
        begin_of_bin(p, (double)(p->days ? p->days[part - 1] : p->first + part - 1)));
}

static bool is_rest(const struct parts *p, uint32_t part)
{
    return p->shown && p->shown[part] == REST;
}

struct ordering {
    const struct group *g;
    al_cube *c;
    int64_t measure; /* -1: keys only */
    bool descending;
};

static int compare_parts(const struct key_spec *k, const struct parts *p, uint32_t a, uint32_t b)
{
    al_cell x, y;

    if (a == b)
        return 0;
    if (p->shown)
        return a < b ? -1 : 1; /* the largest first, the rest last */
    if (!k->plain)
        return a < b ? -1 : 1; /* they are numbered in their order */
    if (p->v->rank)
        return p->v->rank[a] < p->v->rank[b] ? -1 : 1;
    x = al_vector_value(p->v, a);
    y = al_vector_value(p->v, b);
    return al_cell_compare(&x, &y);
}

static int compare_keys(const struct ordering *o, uint32_t a, uint32_t b)
{
    for (unsigned k = 0; k < o->c->nkeys; k++) {
        int order = compare_parts(&o->g->keys[k], &o->g->parts[k], al_cube_part(o->c, a, k),
                                  al_cube_part(o->c, b, k));

        if (order != 0)
            return order;
    }
    return 0;
}

struct candidate {
    double rough;
    uint32_t group;
};

static int compare(const void *a, const void *b, void *arg)
{
    const struct ordering *o = arg;
    const struct candidate *x = a, *y = b;
    int order = 0;

    if (o->measure >= 0) {
        order = (x->rough > y->rough) - (x->rough < y->rough);
        if (order == 0) {
            const al_cell p = al_cube_result(o->c, x->group, (unsigned)o->measure);
            const al_cell q = al_cube_result(o->c, y->group, (unsigned)o->measure);

            order = al_cell_compare(&p, &q);
        }
        if (o->descending)
            order = -order;
    }
    return order != 0 ? order : compare_keys(o, x->group, y->group);
}

/* A heap with the candidate that would go first of all at its top. */
static void sift(struct candidate *heap, size_t n, size_t i, struct ordering *o)
{
    for (;;) {
        size_t child = 2 * i + 1;
        struct candidate t = heap[i];

        if (child >= n)
            return;
        if (child + 1 < n && compare(&heap[child + 1], &heap[child], o) > 0)
            child++;
        if (compare(&heap[child], &t, o) <= 0)
            return;
        heap[i] = heap[child];
        heap[child] = t;
        i = child;
    }
}

#define SOME    1024         /* groups looked at together */
#define STRETCH (64u * SOME) /* groups of one piece of work */

struct found {
    struct candidate *heap;
    size_t n;
    uint64_t all; /* groups that have rows */
    /* of a slice, which does not stay: */
    al_word *words;      /* those of the groups in the heap */
    uint32_t first_part; /* of group 0 */
};

struct choosing {
    const struct ordering *o;
    al_cube_slices *slices; /* the stretches are these; or NULL */
    size_t limit;
    struct found *found; /* by stretch */
    al_word *sums;       /* of each stretch, the words of a group; NULL: not wanted */
};

static void keep(struct found *f, size_t room, struct ordering *o, double rough, uint32_t group)
{
    struct candidate it = { rough, group };

    if (f->n < room) {
        f->heap[f->n++] = it;
        if (f->n == room)
            for (size_t i = room / 2 + 1; i-- > 0;)
                sift(f->heap, room, i, o);
    } else if (compare(&it, &f->heap[0], o) < 0) {
        f->heap[0] = it;
        sift(f->heap, room, 0, o);
    }
}

static int keep_words(struct found *f, const al_cube *c, al_err *err)
{
    const size_t size = c->words * sizeof *f->words;

    f->words = malloc((f->n + 1) * size);
    if (!f->words)
        return no_memory(err);
    for (size_t i = 0; i < f->n; i++)
        memcpy(f->words + i * c->words, c->groups + (size_t)f->heap[i].group * c->words, size);
    return AL_OK;
}

/* The first groups of a stretch, without those that cannot be among them. */
static int choose_some(void *arg, const al_work_part *part, al_err *err)
{
    const struct choosing *c = arg;
    const al_cube *cube = c->o->c;
    struct ordering o = *c->o;
    struct found *f = &c->found[part->index];
    uint64_t from = (uint64_t)part->index * STRETCH, end = from + STRETCH;
    uint64_t all = 0;
    size_t room;
    double rough[SOME];
    al_cube slice;

    if (c->slices) {
        al_cube_slice(c->slices, part, &slice);
        f->first_part = slice.first_part;
        o.c = &slice;
        cube = &slice;
        from = 0;
        end = slice.n;
    } else if (end > cube->n) {
        end = cube->n;
    }
    room = c->limit < end - from ? c->limit : (size_t)(end - from);
    f->heap = malloc((room + 1) * sizeof *f->heap);
    if (!f->heap)
        return no_memory(err);
    for (; from < end; from += SOME) {
        uint32_t n = end - from < SOME ? (uint32_t)(end - from) : SOME;

        if (c->sums)
            al_cube_add_up(cube, (uint32_t)from, n, c->sums + part->index * cube->words);
        al_cube_roughs(cube, o.measure < 0 ? 0 : (unsigned)o.measure, (uint32_t)from, n, rough);
        for (uint32_t i = 0; i < n; i++) {
            if (rough[i] != rough[i] && cube->nkeys > 0)
                continue;
            all++;
            if (f->n == room && o.measure >= 0 &&
                (o.descending ? rough[i] < f->heap[0].rough : rough[i] > f->heap[0].rough))
                continue;
            keep(f, room, &o, rough[i], (uint32_t)from + i);
        }
    }
    f->all = all;
    return c->slices ? keep_words(f, cube, err) : AL_OK;
}

/* What was chosen of all slices becomes all that there is of the cube. */
static int unite_slices(const struct found *found, size_t n, size_t groups, al_cube *c, al_err *err)
{
    c->groups = calloc((groups + 2) * c->words, sizeof *c->groups);
    c->combos = malloc((groups + 1) * sizeof *c->combos);
    if (!c->groups || !c->combos)
        return no_memory(err);
    c->n = 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(c->groups + (size_t)c->n * c->words, found[i].words,
               found[i].n * c->words * sizeof *c->groups);
        for (size_t k = 0; k < found[i].n; k++) {
            c->combos[c->n] = (uint64_t)found[i].first_part + found[i].heap[k].group;
            found[i].heap[k].group = c->n++;
        }
    }
    return AL_OK;
}

/* The first `limit` groups in this order, with room for one more; *n: how many, *all: of how many
 * that have rows. sums: NULL, or what becomes the words of all groups, added up. slices: NULL, or
 * those of the cube, which gets the groups chosen. */
static int choose(struct run *r, struct ordering *o, al_cube_slices *slices, size_t limit,
                  struct candidate **out, size_t *n, uint64_t *all, al_word *sums, al_err *err)
{
    const al_cube *cube = o->c;
    size_t pieces = slices ? cube->keys[0].v->nslices : cube->n / STRETCH + (size_t)1, kept = 0;
    struct choosing c = { .o = o, .slices = slices, .limit = limit };
    int rc = AL_OK;

    *n = 0;
    *all = 0;
    *out = NULL;
    c.found = calloc(pieces, sizeof *c.found);
    c.sums = sums ? calloc(pieces * cube->words, sizeof *c.sums) : NULL;
    if (!c.found || (sums && !c.sums))
        rc = no_memory(err);
    if (rc == AL_OK)
        rc = al_work_each(r->work, pieces, choose_some, &c, err);
    for (size_t i = 0; i < pieces && rc == AL_OK; i++) {
        kept += c.found[i].n;
        *all += c.found[i].all;
        for (unsigned at = 0; sums && at < cube->words; at++)
            sums[at].i += c.sums[i * cube->words + at].i;
    }
    if (rc == AL_OK && slices)
        rc = unite_slices(c.found, pieces, kept, o->c, err);
    *out = rc == AL_OK ? malloc((kept + 1) * sizeof **out) : NULL;
    if (rc == AL_OK && !*out)
        rc = no_memory(err);
    for (size_t i = 0; i < pieces && rc == AL_OK; i++) {
        memcpy(*out + *n, c.found[i].heap, c.found[i].n * sizeof **out);
        *n += c.found[i].n;
    }
    if (rc == AL_OK)
        qsort_r(*out, *n, sizeof **out, compare, o);
    if (*n > limit)
        *n = limit;
    for (size_t i = 0; c.found && i < pieces; i++) {
        free(c.found[i].heap);
        free(c.found[i].words);
    }
    free(c.found);
    free(c.sums);
    return rc;
}

/* Many groups in the order of their keys: numbers are compared faster than texts. */
static int rank_keys(struct run *r, struct group *g, al_err *err)
{
    int rc = AL_OK;

    for (unsigned k = 0; k < g->nkeys && rc == AL_OK; k++)
        if (g->keys[k].plain && g->parts[k].v->codes > RANKED)
            rc = al_vector_rank((al_vector *)g->parts[k].v, r->work, err);
    return rc;
}

/* ---- the largest parts of a key ---- */

/* Of a cube by one key: its largest parts, REST behind them when there are more. */
static int choose_parts(struct run *r, const struct group *g, unsigned key, al_cube *c,
                        unsigned measure, struct parts *p, al_err *err)
{
    const struct group only = { .nkeys = 1, .keys = { g->keys[key] }, .parts = { g->parts[key] } };
    struct ordering o = { &only, c, measure, true };
    struct candidate *chosen;
    size_t n;
    int rc = choose(r, &o, NULL, (size_t)g->keys[key].top, &chosen, &n, &p->count, NULL, err);

    p->shown = rc == AL_OK ? malloc((n + 1) * sizeof *p->shown) : NULL;
    if (rc == AL_OK && !p->shown)
        rc = no_memory(err);
    for (size_t i = 0; i < n && rc == AL_OK; i++)
        p->shown[i] = chosen[i].group;
    if (rc == AL_OK) {
        p->nshown = (uint32_t)n;
        if (p->count > n)
            p->shown[p->nshown++] = REST;
    }
    free(chosen);
    return rc;
}

/* Parts become their places among those shown. */
static int map_shown(struct parts *p, al_cube_key *c, al_err *err)
{
    uint32_t last = p->nshown && p->shown[p->nshown - 1] == REST ? p->nshown - 1 : 0;
    uint32_t *place = malloc(p->n * sizeof *place);
    al_vector *v = (al_vector *)p->v;

    if (!place)
        return no_memory(err);
    for (uint32_t i = 0; i < p->n; i++)
        place[i] = last;
    for (uint32_t i = 0; i < p->nshown; i++)
        if (p->shown[i] != REST)
            place[p->shown[i]] = i;
    if (!p->map) {
        p->map = place;
    } else {
        for (uint32_t code = 0; code < v->codes; code++)
            p->map[code] = place[p->map[code]];
        free(place);
    }
    c->map = p->map;
    c->parts = p->nshown ? p->nshown : 1;
    return AL_OK;
}

/* ---- running ---- */

static void fill_cube(const struct run *r, const struct group *g, al_cube *c)
{
    c->bits = r->selections[g->filter].bits;
    c->nkeys = g->nkeys;
    c->nmeasures = g->nmeasures;
    for (unsigned k = 0; k < g->nmeasures; k++)
        c->measures[k] = (al_cube_measure){ .fn = g->measures[k].fn, .of = g->measures[k].of };
}

static int open_group(struct run *r, struct group *g, al_err *err)
{
    int rc = AL_OK;

    for (unsigned k = 0; k < g->nmeasures && rc == AL_OK; k++)
        rc = find_measure(r, &g->measures[k], err);
    for (unsigned k = 0; k < g->nkeys && rc == AL_OK; k++)
        rc = open_key(r, &g->keys[k], &g->parts[k], &g->cube.keys[k], err);
    fill_cube(r, g, &g->cube);
    for (unsigned k = 0; k < g->nkeys && rc == AL_OK; k++) {
        al_cube *m = &g->margins[k];

        if (!g->keys[k].top || g->folds)
            continue;
        m->bits = g->cube.bits;
        m->keys[0] = g->cube.keys[k];
        m->nkeys = 1;
        m->measures[0] = g->cube.measures[g->keys[k].rank];
        m->nmeasures = 1;
    }
    if (rc == AL_OK && g->folds && g->keys[0].plain)
        rc = al_vector_slice((al_vector *)g->parts[0].v, err);
    if (rc == AL_OK && g->folds && al_cube_has_slices(&g->cube))
        rc = al_cube_slices_open(&g->slices, &g->cube, r->work, err);
    return rc;
}

static int run_margins(struct run *r, al_err *err)
{
    al_cube *cubes[AL_AGGREGATE_MAX_GROUPS * AL_CUBE_KEYS];
    size_t n = 0;
    int rc;

    for (size_t i = 0; i < r->ngroups; i++)
        for (unsigned k = 0; k < r->groups[i].nkeys; k++)
            if (r->groups[i].margins[k].nkeys)
                cubes[n++] = &r->groups[i].margins[k];
    rc = n ? al_cube_run(cubes, n, al_scan_rows(r->scan), r->work, err) : AL_OK;
    for (size_t i = 0; i < r->ngroups; i++)
        for (unsigned k = 0; k < r->groups[i].nkeys && rc == AL_OK; k++) {
            struct group *g = &r->groups[i];

            if (!g->margins[k].nkeys)
                continue;
            rc = choose_parts(r, g, k, &g->margins[k], 0, &g->parts[k], err);
            if (rc == AL_OK)
                rc = map_shown(&g->parts[k], &g->cube.keys[k], err);
            al_cube_free(&g->margins[k]);
        }
    return rc;
}

static int run_groups(struct run *r, al_err *err)
{
    al_cube *cubes[AL_AGGREGATE_MAX_GROUPS];
    size_t n = 0;
    int rc = AL_OK;

    for (size_t i = 0; i < r->nselections && rc == AL_OK; i++)
        rc = select_rows(r, &r->selections[i], err);
    for (size_t i = 0; i < r->ngroups && rc == AL_OK; i++) {
        rc = open_group(r, &r->groups[i], err);
        if (!r->groups[i].slices)
            cubes[n++] = &r->groups[i].cube;
    }
    if (rc == AL_OK)
        rc = run_margins(r, err);
    return rc == AL_OK ? al_cube_run(cubes, n, al_scan_rows(r->scan), r->work, err) : rc;
}

/* ---- answering ---- */

static void write_text(al_json_out *o, const al_cell *cell)
{
    size_t keep = al_utf8_cut(cell->text, cell->len, TEXT_BYTES);
    al_buf cut;

    if (cell->len <= TEXT_BYTES) {
        al_json_string(o, cell->text, cell->len);
        return;
    }
    al_buf_init(&cut, 0);
    al_buf_add(&cut, cell->text, keep);
    al_buf_str(&cut, "\xE2\x80\xA6");
    al_json_string(o, cut.data ? cut.data : "", cut.len);
    if (cut.failed)
        o->b->failed = cut.failed;
    al_buf_free(&cut);
}

static void write_cell(al_json_out *o, const al_cell *cell)
{
    switch (cell->kind) {
    case AL_CELL_INTEGER: al_json_int(o, cell->integer); break;
    case AL_CELL_REAL: al_json_real(o, cell->real); break;
    case AL_CELL_TEXT: write_text(o, cell); break;
    default: al_json_null(o);
    }
}

struct answer { /* of a group-by: its groups in order */
    const struct group *g;
    struct candidate *chosen;
    size_t n;
    uint64_t all;
};

static uint32_t part_at(const struct answer *a, size_t i, unsigned key)
{
    if (a->chosen[i].group == AL_CUBE_REST(&a->g->cube))
        return REST;
    return al_cube_part(&a->g->cube, a->chosen[i].group, key);
}

/* How many parts of the key occur in groups with rows. */
static uint64_t count_parts(al_json_out *o, const struct answer *a, unsigned key)
{
    const struct group *g = a->g;
    const al_cube *c = &g->cube;
    uint64_t n = 0;
    bool *seen;

    if (g->parts[key].shown || g->folds)
        return g->parts[key].count;
    if (c->nkeys == 1)
        return a->all;
    seen = calloc(c->keys[key].parts, sizeof *seen);
    if (!seen)
        o->b->failed = AL_ENOMEM;
    for (uint32_t i = 0; seen && i < c->n; i++)
        if (al_cube_rows(c, i) > 0) {
            uint32_t part = al_cube_part(c, i, key);

            n += !seen[part];
            seen[part] = true;
        }
    free(seen);
    return n;
}

static void write_key(al_json_out *o, const struct answer *a, unsigned key)
{
    const struct group *g = a->g;
    bool any = false;

    al_json_begin_object(o);
    al_json_key(o, "count");
    al_json_int(o, (int64_t)count_parts(o, a, key));
    al_json_key(o, "values");
    al_json_begin_array(o);
    for (size_t i = 0; i < a->n; i++) {
        uint32_t part = part_at(a, i, key);
        bool rest = part == REST || is_rest(&g->parts[key], part);
        char day[16];
        const al_cell cell =
            rest ? al_cell_null() : part_cell(&g->keys[key], &g->parts[key], part, day);

        any |= rest;
        write_cell(o, &cell);
    }
    al_json_end_array(o);
    if (any) {
        al_json_key(o, "other");
        al_json_begin_array(o);
        for (size_t i = 0; i < a->n; i++) {
            uint32_t part = part_at(a, i, key);

            if (part == REST || is_rest(&g->parts[key], part))
                al_json_int(o, (int64_t)i);
        }
        al_json_end_array(o);
    }
    al_json_end_object(o);
}

static void write_answer(al_json_out *o, const struct run *r, const struct answer *a)
{
    const struct group *g = a->g;

    al_json_begin_object(o);
    al_json_key(o, "rows");
    al_json_int(o, (int64_t)r->selections[g->filter].count);
    al_json_key(o, "count");
    al_json_int(o, (int64_t)a->all);
    al_json_key(o, "truncated");
    al_json_bool(o, a->n < a->all);
    al_json_key(o, "keys");
    al_json_begin_array(o);
    for (unsigned k = 0; k < g->nkeys; k++)
        write_key(o, a, k);
    al_json_end_array(o);
    al_json_key(o, "measures");
    al_json_begin_array(o);
    for (unsigned k = 0; k < g->nmeasures; k++) {
        al_json_begin_array(o);
        for (size_t i = 0; i < a->n; i++) {
            const al_cell cell = al_cube_result(&g->cube, a->chosen[i].group, k);

            write_cell(o, &cell);
        }
        al_json_end_array(o);
    }
    al_json_end_array(o);
    al_json_end_object(o);
}

/* A key that shows its largest parts, and whose rest is folded into one group. */
static int fold(struct run *r, struct group *g, struct answer *a, al_err *err)
{
    al_word *sums = al_cube_adds_up(&g->cube) ? calloc(g->cube.words, sizeof *sums) : NULL;
    struct ordering o = { g, &g->cube, g->keys[0].rank, true };
    uint64_t all;
    size_t n;
    int rc = choose(r, &o, g->slices, (size_t)g->keys[0].top, &a->chosen, &n, &all, sums, err);
    uint32_t *kept = rc == AL_OK ? malloc((n + 1) * sizeof *kept) : NULL;

    g->parts[0].count = all;
    if (rc == AL_OK && !kept)
        rc = no_memory(err);
    for (size_t i = 0; i < n && rc == AL_OK; i++)
        kept[i] = a->chosen[i].group;
    if (rc == AL_OK && all > n) {
        rc = al_cube_fold(&g->cube, kept, n, sums, err);
        a->chosen[n].group = AL_CUBE_REST(&g->cube); /* choose leaves room for it */
    }
    free(kept);
    free(sums);
    a->n = n + (all > n);
    a->all = a->n;
    if (rc == AL_OK && (g->order >= 0 || (int64_t)a->n > g->limit)) {
        o.measure = g->order;
        o.descending = g->descending;
        if (g->order >= 0 && g->order != g->keys[0].rank)
            for (size_t i = 0; i < n; i++)
                a->chosen[i].rough =
                    al_cube_rough(&g->cube, a->chosen[i].group, (unsigned)g->order);
        if (g->order >= 0)
            qsort_r(a->chosen, n, sizeof *a->chosen, compare, &o);
        if ((int64_t)a->n > g->limit)
            a->n = (size_t)g->limit;
    }
    return rc;
}

static int answer_group(struct run *r, struct group *g, al_json_out *o, al_err *err)
{
    struct answer a = { .g = g };
    struct ordering by = { g, &g->cube, g->order, g->descending };
    int rc = AL_OK;

    if (g->folds) {
        rc = fold(r, g, &a, err);
    } else {
        if (g->order < 0 && g->cube.n > RANKED)
            rc = rank_keys(r, g, err);
        if (rc == AL_OK)
            rc = choose(r, &by, NULL, (size_t)g->limit, &a.chosen, &a.n, &a.all, NULL, err);
    }
    if (rc == AL_OK)
        write_answer(o, r, &a);
    free(a.chosen);
    return rc;
}

static bool has_all(const struct run *r, const struct sample *s, uint32_t row)
{
    const uint64_t *bits = r->selections[s->filter].bits;

    if (bits && !(bits[row / 64] >> row % 64 & 1))
        return false;
    for (size_t k = 0; k < s->ncolumns; k++)
        if (al_vector_is_null(al_store_vector(r->table, s->columns[k]), row))
            return false;
    return true;
}

/* Rows evenly spread over those without NULL: of n rows and m wanted, row i * n / m. */
static int answer_sample(const struct run *r, const struct sample *s, al_json_out *o, al_err *err)
{
    uint32_t rows = al_scan_rows(r->scan), *chosen = malloc(((size_t)s->rows + 1) * sizeof *chosen);
    uint64_t all = 0, n = 0, seen = 0;

    if (!chosen)
        return no_memory(err);
    for (uint32_t row = 0; row < rows; row++)
        all += has_all(r, s, row);
    for (uint32_t row = 0; row < rows && n < (uint64_t)s->rows && n < all; row++) {
        if (!has_all(r, s, row))
            continue;
        if (all <= (uint64_t)s->rows || seen == n * all / (uint64_t)s->rows)
            chosen[n++] = row;
        seen++;
    }
    al_json_begin_object(o);
    al_json_key(o, "rows");
    al_json_int(o, (int64_t)all);
    al_json_key(o, "columns");
    al_json_begin_array(o);
    for (size_t k = 0; k < s->ncolumns; k++) {
        const al_vector *v = al_store_vector(r->table, s->columns[k]);

        al_json_begin_array(o);
        for (uint64_t i = 0; i < n; i++) {
            const al_cell cell = al_vector_cell(v, chosen[i]);

            write_cell(o, &cell);
        }
        al_json_end_array(o);
    }
    al_json_end_array(o);
    al_json_end_object(o);
    free(chosen);
    return AL_OK;
}

static int answer(struct run *r, uint64_t start, al_buf *result, al_err *err)
{
    al_json_out o;
    int rc = AL_OK;

    al_json_out_init(&o, result);
    al_json_begin_object(&o);
    al_json_key(&o, "rows");
    al_json_int(&o, al_scan_rows(r->scan));
    al_json_key(&o, "groups");
    al_json_begin_array(&o);
    for (size_t i = 0; i < r->ngroups && rc == AL_OK; i++)
        rc = answer_group(r, &r->groups[i], &o, err);
    al_json_end_array(&o);
    al_json_key(&o, "samples");
    al_json_begin_array(&o);
    for (size_t i = 0; i < r->nsamples && rc == AL_OK; i++)
        rc = answer_sample(r, &r->samples[i], &o, err);
    al_json_end_array(&o);
    al_json_key(&o, "elapsedMs");
    al_json_int(&o, (int64_t)((al_clock_monotonic() - start) / 1000000));
    al_json_end_object(&o);
    return rc == AL_OK && result->failed ? no_memory(err) : rc;
}

static void free_run(struct run *r)
{
    for (size_t i = 0; i < r->ngroups; i++) {
        struct group *g = &r->groups[i];

        al_cube_free(&g->cube);
        al_cube_slices_close(g->slices);
        for (unsigned k = 0; k < g->nkeys; k++) {
            al_cube_free(&g->margins[k]);
            free(g->parts[k].map);
            free(g->parts[k].days);
            free(g->parts[k].shown);
        }
    }
    for (size_t i = 0; i < r->nselections; i++) {
        al_filter_free(r->selections[i].own);
        free(r->selections[i].bits);
    }
    while (r->sources) {
        struct source *s = r->sources;

        r->sources = s->next;
        al_measure_close(&s->measure);
        free(s);
    }
    al_filter_free(r->shared);
    free(r->selections);
    free(r->groups);
    free(r->samples);
}

int al_aggregate_run(al_store *s, int fd, const al_aggregate_options *o, al_link *link,
                     al_buf *result, al_err *err)
{
    uint64_t start = al_clock_monotonic();
    struct run r = { .table = NULL };
    al_work work;
    int rc = al_store_get(s, fd, o->table, &r.table, err);

    if (rc != AL_OK)
        return rc;
    al_work_init(&work, o->threads, link);
    if (o->timeout_ms)
        work.deadline = start + o->timeout_ms * 1000000;
    r.work = &work;
    r.scan = al_store_scan(r.table);
    work.total = (uint64_t)al_scan_leaves(r.scan) * al_scan_page_size(r.scan);
    rc = read_request(&r, o, err);
    if (rc == AL_OK)
        rc = need_columns(&r, err);
    if (rc == AL_OK)
        rc = run_groups(&r, err);
    if (rc == AL_OK)
        rc = answer(&r, start, result, err);
    free_run(&r);
    al_store_done(s);
    return rc;
}
