/* Rows to their table and to the statistics of their columns; at the end the tables that describe
 * them. */
#include "data/dataset.h"
#include "base/json.h"
#include "data/column.h"
#include "data/ident.h"
#include "data/sqlitefile.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of the sizes SQLite knows, 16 KiB: rows of up to 2,000 small cells stay in their page, and a look
 * at a single row does not read much more than the row. */
#define PAGE_SIZE      16384
#define DEFAULT_BUDGET (UINT64_C(256) << 20)

struct sheet {
    char *name, *table;
    al_column *columns;
    size_t ncolumns;
    uint64_t rows;
};

struct al_dataset {
    al_sqlitefile *file;
    al_dataset_options options;
    struct sheet *sheets;
    size_t nsheets;
};

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "dataset", "not enough memory");
}

int al_dataset_open(al_dataset **out, int fd, const al_dataset_options *o, al_err *err)
{
    al_dataset *d;
    int rc;

    *out = NULL;
    if (ftruncate(fd, 0) != 0)
        return al_err_errno(err, errno, "dataset");
    d = calloc(1, sizeof *d);
    if (!d)
        return no_memory(err);
    d->options = *o;
    if (!d->options.values_budget)
        d->options.values_budget = DEFAULT_BUDGET;
    if (d->options.max_rows > UINT32_MAX)
        d->options.max_rows = UINT32_MAX; /* counts of values have 32 bits */
    rc = al_sqlitefile_open(&d->file, fd, PAGE_SIZE, err);
    if (rc != AL_OK) {
        free(d);
        return rc;
    }
    *out = d;
    return AL_OK;
}

void al_dataset_close(al_dataset *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->nsheets; i++) {
        for (size_t k = 0; k < d->sheets[i].ncolumns; k++)
            al_column_close(&d->sheets[i].columns[k]);
        free(d->sheets[i].columns);
        free(d->sheets[i].name);
        free(d->sheets[i].table);
    }
    free(d->sheets);
    al_sqlitefile_close(d->file);
    free(d);
}

static int open_columns(struct sheet *s, const al_cell *labels, size_t n)
{
    static const char *const taken[] = { "rowid", "oid", "_rowid_" };
    al_idents *ids;
    int rc = al_idents_open(&ids);

    s->columns = calloc(n, sizeof *s->columns);
    if (rc == AL_OK && !s->columns)
        rc = AL_ENOMEM;
    for (size_t i = 0; i < 3 && rc == AL_OK; i++)
        rc = al_idents_reserve(ids, taken[i]);
    for (size_t i = 0; i < n && rc == AL_OK; i++) {
        bool given = labels[i].kind == AL_CELL_TEXT;
        const char *label = given ? labels[i].text : "";
        size_t len = given ? labels[i].len : 0;
        char name[AL_IDENT_MAX + 1];

        rc = al_idents_name(ids, "", label, len, "column_", i + 1, name);
        if (rc == AL_OK)
            rc = al_column_open(&s->columns[i], name, given ? label : name,
                                given ? len : strlen(name));
        s->ncolumns = i + 1;
    }
    al_idents_close(ids);
    return rc;
}

static int create_statement(const struct sheet *s, al_buf *sql)
{
    al_buf_printf(sql, "CREATE TABLE \"%s\"", s->table);
    for (size_t i = 0; i < s->ncolumns; i++)
        al_buf_printf(sql, "%c\"%s\"", i ? ',' : '(', s->columns[i].name);
    return al_buf_char(sql, ')');
}

/* The last segment of a sheet ends where its rows do. */
static int end_segment(al_dataset *d, al_err *err);

int al_dataset_sheet(al_dataset *d, const char *name, const char *table, const al_cell *labels,
                     size_t n, al_err *err)
{
    struct sheet *more, *s;
    al_buf sql;
    int rc = d->nsheets ? end_segment(d, err) : AL_OK;

    assert(n >= 1 && n <= AL_DATASET_MAX_COLUMNS);
    if (rc != AL_OK)
        return rc;
    more = realloc(d->sheets, (d->nsheets + 1) * sizeof *more);
    if (!more)
        return no_memory(err);
    d->sheets = more;
    s = &d->sheets[d->nsheets++];
    *s = (struct sheet){ .name = strdup(name), .table = strdup(table) };
    if (!s->name || !s->table || open_columns(s, labels, n) != AL_OK)
        return no_memory(err);
    al_buf_init(&sql, 0);
    rc = create_statement(s, &sql) == AL_OK ? al_sqlitefile_table(d->file, table, sql.data, err)
                                            : no_memory(err);
    al_buf_free(&sql);
    return rc;
}

/* The column whose values cost most becomes an estimate, until the rest fits. */
static int keep_budget(al_dataset *d)
{
    for (;;) {
        uint64_t all = 0, most = 0;
        al_column *largest = NULL;

        for (size_t i = 0; i < d->nsheets; i++)
            for (size_t k = 0; k < d->sheets[i].ncolumns; k++) {
                al_column *c = &d->sheets[i].columns[k];
                uint64_t cost = al_values_cost(c->values);

                all += cost;
                if (cost > most) {
                    most = cost;
                    largest = c;
                }
            }
        if (all <= d->options.values_budget || !largest)
            return AL_OK;
        if (al_values_estimate(largest->values) != AL_OK)
            return AL_ENOMEM;
    }
}

static int end_segment(al_dataset *d, al_err *err)
{
    struct sheet *s = &d->sheets[d->nsheets - 1];

    for (size_t i = 0; i < s->ncolumns; i++)
        al_column_segment(&s->columns[i]);
    if (keep_budget(d) != AL_OK)
        return no_memory(err);
    return al_sqlitefile_segment(d->file, err);
}

int al_dataset_rows(al_dataset *d, const al_batch *batch, al_err *err)
{
    struct sheet *s = &d->sheets[d->nsheets - 1];

    assert(batch->columns == s->ncolumns);
    if (batch->rows > d->options.max_rows - s->rows) {
        al_err_setf(err, AL_ELIMIT, "ingest_limit", "analysis.data.maxRows", "more than %llu rows",
                    (unsigned long long)d->options.max_rows);
        return al_err_reason(err, AL_ELIMIT, "maxRows");
    }
    for (size_t i = 0; i < batch->rows; i++) {
        int rc = al_sqlitefile_row(d->file, batch->cells + i * batch->columns, batch->columns, err);

        if (rc != AL_OK)
            return rc;
    }
    s->rows += batch->rows;
    for (size_t i = 0; i < s->ncolumns; i++)
        if (al_column_add(&s->columns[i], batch->cells + i, batch->rows, batch->columns) != AL_OK)
            return no_memory(err);
    return batch->segment_end ? end_segment(d, err) : AL_OK;
}

uint64_t al_dataset_row_count(const al_dataset *d)
{
    uint64_t n = 0;

    for (size_t i = 0; i < d->nsheets; i++)
        n += d->sheets[i].rows;
    return n;
}

static al_cell text_cell(const char *text)
{
    return text ? al_cell_text(text, strlen(text)) : al_cell_null();
}

static al_cell buf_cell(const al_buf *b)
{
    return al_cell_text(b->data ? b->data : "", b->len);
}

/* The reader's notes and ours as one JSON array. */
static int all_notes(const al_dataset *d, const al_dataset_meta *meta, al_buf *notes)
{
    al_json_out o;
    bool any = false;

    al_json_out_init(&o, notes);
    al_json_begin_array(&o);
    if (meta->notes && meta->notes->len)
        al_json_raw(&o, meta->notes->data, meta->notes->len);
    for (size_t i = 0; i < d->nsheets; i++)
        for (size_t k = 0; k < d->sheets[i].ncolumns; k++) {
            const al_column *c = &d->sheets[i].columns[k];

            if (al_values_exact(c->values))
                continue;
            if (!any) {
                al_json_begin_object(&o);
                al_json_key(&o, "id");
                al_json_cstring(&o, "distinct_estimated");
                al_json_key(&o, "columns");
                al_json_begin_array(&o);
            }
            any = true;
            al_json_cstring(&o, c->name);
        }
    if (any) {
        al_json_end_array(&o);
        al_json_end_object(&o);
    }
    al_json_end_array(&o);
    return notes->failed;
}

static int write_meta(al_dataset *d, const al_dataset_meta *meta, al_err *err)
{
    struct {
        const char *key;
        al_cell value;
    } pairs[] = {
        { "version", al_cell_integer(AL_DATASET_VERSION) },
        { "format", text_cell(meta->format) },
        { "encoding", text_cell(meta->encoding) },
        { "delimiter", text_cell(meta->delimiter) },
        { "header", al_cell_integer(meta->header) },
        { "irregular_rows", al_cell_integer((int64_t)meta->irregular_rows) },
        { "notes", al_cell_null() },
    };
    const size_t n = sizeof pairs / sizeof pairs[0];
    al_buf notes;
    int rc;

    al_buf_init(&notes, 0);
    rc = all_notes(d, meta, &notes) == AL_OK ? AL_OK : no_memory(err);
    pairs[n - 1].value = buf_cell(&notes);
    if (rc == AL_OK)
        rc = al_sqlitefile_table(d->file, "_alisio_meta",
                                 "CREATE TABLE \"_alisio_meta\"(key,value)", err);
    for (size_t i = 0; i < n && rc == AL_OK; i++) {
        const al_cell row[] = { text_cell(pairs[i].key), pairs[i].value };

        rc = al_sqlitefile_row(d->file, row, 2, err);
    }
    al_buf_free(&notes);
    return rc;
}

static int write_sheets(al_dataset *d, al_err *err)
{
    int rc = al_sqlitefile_table(
        d->file, "_alisio_sheets",
        "CREATE TABLE \"_alisio_sheets\"(ordinal,name,table_name,rows,columns)", err);

    for (size_t i = 0; i < d->nsheets && rc == AL_OK; i++) {
        const struct sheet *s = &d->sheets[i];
        const al_cell row[] = { al_cell_integer((int64_t)i + 1), text_cell(s->name),
                                text_cell(s->table), al_cell_integer((int64_t)s->rows),
                                al_cell_integer((int64_t)s->ncolumns) };

        rc = al_sqlitefile_row(d->file, row, 5, err);
    }
    return rc;
}

static int write_column(al_dataset *d, const char *table, size_t ordinal, const al_column *c,
                        al_err *err)
{
    al_buf least, most, top;
    double mean;
    int rc;

    al_buf_init(&least, 0);
    al_buf_init(&most, 0);
    al_buf_init(&top, 0);
    {
        bool has_min = al_column_min(c, &least), has_max = al_column_max(c, &most);
        bool has_mean = al_column_mean(c, &mean);
        const al_cell row[] = {
            text_cell(table),
            al_cell_integer((int64_t)ordinal),
            text_cell(c->name),
            al_cell_text(c->label, c->label_len),
            text_cell(al_column_type(c)),
            al_cell_integer((int64_t)c->nulls),
            al_cell_integer((int64_t)al_column_distinct(c)),
            al_cell_integer(al_values_exact(c->values)),
            has_min ? buf_cell(&least) : al_cell_null(),
            has_max ? buf_cell(&most) : al_cell_null(),
            has_mean ? al_cell_real(mean) : al_cell_null(),
            al_cell_integer((int64_t)al_column_fallbacks(c)),
            al_column_top_json(c, &top) == AL_OK ? buf_cell(&top) : al_cell_null(),
        };

        rc = least.failed || most.failed || top.failed
                 ? no_memory(err)
                 : al_sqlitefile_row(d->file, row, sizeof row / sizeof row[0], err);
    }
    al_buf_free(&least);
    al_buf_free(&most);
    al_buf_free(&top);
    return rc;
}

static int write_columns(al_dataset *d, al_err *err)
{
    int rc = al_sqlitefile_table(
        d->file, "_alisio_columns",
        "CREATE TABLE \"_alisio_columns\"(table_name,ordinal,name,label,inferred_type,nulls,"
        "distinct_count,distinct_exact,min,max,mean,text_fallbacks,top_values)",
        err);

    for (size_t i = 0; i < d->nsheets; i++)
        for (size_t k = 0; k < d->sheets[i].ncolumns && rc == AL_OK; k++)
            rc = write_column(d, d->sheets[i].table, k + 1, &d->sheets[i].columns[k], err);
    return rc;
}

int al_dataset_finish(al_dataset *d, const al_dataset_meta *meta, al_err *err)
{
    int rc = end_segment(d, err);

    assert(d->nsheets > 0);
    if (rc == AL_OK)
        rc = write_meta(d, meta, err);
    if (rc == AL_OK)
        rc = write_sheets(d, err);
    if (rc == AL_OK)
        rc = write_columns(d, err);
    if (rc == AL_OK)
        rc = al_sqlitefile_finish(d->file, AL_DATASET_APPLICATION, AL_DATASET_VERSION, err);
    return rc;
}
