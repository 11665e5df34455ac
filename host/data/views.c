/* From a request to a list of row numbers, and the lists that are kept. */
#include "data/views.h"
#include "base/big.h"
#include "data/fields.h"
#include "data/filter.h"
#include "data/order.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct view {
    uint64_t id, used; /* used: when, in calls */
    struct stat file;
    char *table;
    uint32_t *order;
    uint64_t rows;
};

struct al_views {
    struct view list[AL_VIEWS_MAX];
    size_t n;
    uint64_t budget, calls;
};

/* A view being made. */
struct making {
    const al_view_options *o;
    al_store_table *table;
    const al_scan *scan;
    al_filter *filter;
    struct {
        uint32_t column;
        bool descending, nulls_last;
    } keys[AL_VIEWS_MAX_KEYS];
    size_t nkeys;
    al_work work;
};

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "view", "not enough memory for the view");
}

/* ---- the request ---- */

static int read_nulls(al_field f, bool *last, al_err *err)
{
    al_buf text;
    int rc;

    if (!f.json)
        return AL_OK;
    al_buf_init(&text, 0);
    rc = al_fields_text(f, "nulls", &text, err);
    if (rc == AL_OK) {
        *last = text.len == 4 && memcmp(text.data, "last", 4) == 0;
        if (!*last && (text.len != 5 || memcmp(text.data, "first", 5) != 0))
            rc = al_fields_wrong("nulls", "neither first nor last", err);
    }
    al_buf_free(&text);
    return rc;
}

static int read_key(void *arg, size_t i, al_field item, al_err *err)
{
    static const char *const names[] = { "column", "descending", "nulls" };
    struct making *m = arg;
    bool descending = false;
    size_t column = SIZE_MAX;
    al_field fields[3];
    al_buf text;
    int rc = al_fields_read(item, "sort", names, fields, 3, err);

    if (rc != AL_OK)
        return rc;
    al_buf_init(&text, 0);
    rc = al_fields_text(fields[0], "column", &text, err);
    if (rc == AL_OK) {
        column = al_scan_find(m->scan, text.data ? text.data : "", text.len);
        if (column == SIZE_MAX)
            rc = al_err_setf(err, AL_EINVAL, "query_rejected", "", "sort: no column %.100s",
                             text.data ? text.data : "");
    }
    al_buf_free(&text);
    if (rc == AL_OK && fields[1].json)
        rc = al_fields_bool(fields[1], "descending", &descending, err);
    m->keys[i].column = (uint32_t)column;
    m->keys[i].descending = descending;
    m->keys[i].nulls_last = descending;
    m->nkeys = i + 1;
    return rc == AL_OK ? read_nulls(fields[2], &m->keys[i].nulls_last, err) : rc;
}

static int read_request(struct making *m, al_err *err)
{
    const al_view_options *o = m->o;
    int rc = AL_OK;

    if (o->sort)
        rc = al_fields_each((al_field){ o->sort, o->sort_len }, "sort", AL_VIEWS_MAX_KEYS, read_key,
                            m, err);
    if (rc == AL_OK && o->filter)
        rc = al_filter_parse(&m->filter, o->filter, o->filter_len, m->scan, err);
    return rc;
}

/* ---- the list ---- */

static const al_vector *vector_of(void *data, uint32_t column)
{
    return al_store_vector(data, column);
}

static int need_columns(struct making *m, al_err *err)
{
    const uint32_t *filtered = NULL;
    const size_t n = m->filter ? al_filter_columns(m->filter, &filtered) : 0;
    uint32_t *columns = malloc((n + m->nkeys + 1) * sizeof *columns);
    int rc;

    if (!columns)
        return no_memory(err);
    if (n)
        memcpy(columns, filtered, n * sizeof *columns);
    for (size_t i = 0; i < m->nkeys; i++)
        columns[n + i] = m->keys[i].column;
    m->work.total = (uint64_t)al_scan_leaves(m->scan) * al_scan_page_size(m->scan);
    rc = al_store_need(m->table, columns, n + m->nkeys, &m->work, err);
    free(columns);
    for (size_t i = 0; i < m->nkeys && rc == AL_OK; i++)
        rc = al_vector_rank(al_store_vector(m->table, m->keys[i].column), &m->work, err);
    return rc;
}

static void list_bits(const uint64_t *bits, uint32_t rows, uint32_t *order)
{
    for (size_t w = 0; w < AL_FILTER_WORDS(rows); w++)
        for (uint64_t left = bits[w]; left; left &= left - 1)
            *order++ = (uint32_t)(64 * w) + (uint32_t)__builtin_ctzll(left);
}

/* The rows that the filter lets through, in their order. */
static int list_rows(struct making *m, struct view *view, al_err *err)
{
    const uint32_t rows = al_scan_rows(m->scan);
    uint64_t *bits = NULL;
    int rc = AL_OK;

    view->rows = rows;
    if (m->filter) {
        bits = malloc((AL_FILTER_WORDS(rows) + 1) * sizeof *bits);
        if (!bits)
            return no_memory(err);
        rc = al_filter_run(m->filter, vector_of, m->table, rows, bits, &view->rows, &m->work, err);
    }
    if (rc == AL_OK) {
        view->order = al_big_malloc(((size_t)view->rows + 1) * sizeof *view->order);
        if (!view->order)
            rc = no_memory(err);
        else if (bits)
            list_bits(bits, rows, view->order);
        else
            for (uint32_t i = 0; i < rows; i++)
                view->order[i] = i;
    }
    free(bits);
    return rc;
}

static int sort_rows(struct making *m, struct view *view, al_err *err)
{
    al_order_key keys[AL_VIEWS_MAX_KEYS];

    for (size_t i = 0; i < m->nkeys; i++)
        keys[i] = (al_order_key){ al_store_vector(m->table, m->keys[i].column),
                                  m->keys[i].descending, m->keys[i].nulls_last };
    return al_order_sort(view->order, (uint32_t)view->rows, keys, m->nkeys, &m->work, err);
}

static int make(struct making *m, struct view *view, al_err *err)
{
    int rc = read_request(m, err);

    if (rc == AL_OK)
        rc = need_columns(m, err);
    if (rc == AL_OK)
        rc = list_rows(m, view, err);
    if (rc == AL_OK)
        rc = sort_rows(m, view, err);
    al_filter_free(m->filter);
    return rc;
}

/* ---- what is kept ---- */

static void view_free(struct view *v)
{
    free(v->table);
    free(v->order);
}

static void remove_at(al_views *v, size_t i)
{
    view_free(&v->list[i]);
    v->list[i] = v->list[--v->n];
}

static struct view *find(al_views *v, uint64_t id)
{
    for (size_t i = 0; i < v->n; i++)
        if (v->list[i].id == id)
            return &v->list[i];
    return NULL;
}

static uint64_t bytes_of(const al_views *v)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < v->n; i++)
        sum += v->list[i].rows * sizeof *v->list[i].order;
    return sum;
}

/* Room for one that takes so many bytes. */
static void make_room(al_views *v, uint64_t bytes)
{
    while (v->n > 0 && (v->n == AL_VIEWS_MAX || bytes_of(v) + bytes > v->budget)) {
        size_t oldest = 0;

        for (size_t i = 1; i < v->n; i++)
            if (v->list[i].used < v->list[oldest].used)
                oldest = i;
        remove_at(v, oldest);
    }
}

int al_views_open(al_views **out, al_err *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return no_memory(err);
    (*out)->budget = AL_VIEWS_BUDGET;
    return AL_OK;
}

void al_views_close(al_views *v)
{
    while (v && v->n > 0)
        remove_at(v, 0);
    free(v);
}

void al_views_budget(al_views *v, uint64_t bytes)
{
    v->budget = bytes;
}

int al_views_make(al_views *v, al_store *store, int fd, const al_view_options *o, al_link *link,
                  uint64_t *rows, al_err *err)
{
    struct making m = { .o = o };
    struct view view = { .id = o->id };
    int rc;

    al_views_drop(v, o->id);
    al_work_init(&m.work, o->threads, link);
    if (fstat(fd, &view.file) != 0)
        return al_err_set(err, AL_EIO, "io_error", "dataset", "it cannot be looked at");
    rc = al_store_get(store, fd, o->table, &m.table, err);
    if (rc == AL_OK) {
        m.scan = al_store_scan(m.table);
        view.table = strdup(al_scan_table(m.scan));
        rc = view.table ? make(&m, &view, err) : no_memory(err);
    }
    al_store_done(store);
    if (rc != AL_OK) {
        view_free(&view);
        return rc;
    }
    make_room(v, view.rows * sizeof *view.order);
    view.used = ++v->calls;
    v->list[v->n++] = view;
    *rows = view.rows;
    return AL_OK;
}

int al_views_find(al_views *v, uint64_t id, int fd, const char **table, const uint32_t **order,
                  uint64_t *rows, al_err *err)
{
    struct view *view = v ? find(v, id) : NULL;
    struct stat file;
    char name[24];

    if (!view || fstat(fd, &file) != 0 || !al_store_same_file(&file, &view->file)) {
        snprintf(name, sizeof name, "%llu", (unsigned long long)id);
        al_err_set(err, AL_ENOTFOUND, "not_found", name, "there is no such view (any more)");
        return al_err_reason(err, AL_ENOTFOUND, "view");
    }
    view->used = ++v->calls;
    *table = view->table;
    *order = view->order;
    *rows = view->rows;
    return AL_OK;
}

void al_views_drop(al_views *v, uint64_t id)
{
    struct view *view = find(v, id);

    if (view)
        remove_at(v, (size_t)(view - v->list));
}
