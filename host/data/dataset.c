/* Rows to their table and to the statistics of their columns; at the end the tables that describe
 * them. */
#include "data/dataset.h"
#include "base/hash.h"
#include "base/json.h"
#include "data/column.h"
#include "data/ident.h"
#include "data/pool.h"
#include "data/sqlitefile.h"
#include "data/work.h"
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of the sizes SQLite knows, 16 KiB: rows of up to 2,000 small cells stay in their page, and a look
 * at a single row does not read much more than the row. */
#define PAGE_SIZE      16384
#define DEFAULT_BUDGET (UINT64_C(256) << 20)

#define SLICE_CELLS 4096 /* cells that stay in the processor's cache while they are looked at */

struct sheet {
    char *name, *table;
    al_column *columns;
    size_t ncolumns;
    al_idents *idents;
    uint64_t rows; /* of all jobs submitted */
};

/* A segment: a job and what is made of it. */
struct al_rows {
    al_dataset *dataset;
    al_job *job;
    struct sheet *sheet;
    uint64_t first; /* number of its first row in the sheet, from 0 */
    uint64_t rows;  /* made so far */
    al_pages pages; /* of its rows */
    uint32_t at;    /* their place in the file */
    al_part *parts; /* of its columns */
    size_t ncolumns, columns_room;
    al_rows *next; /* in the list of those that are free */
};

/* Rows that al_dataset_rows has copied. */
struct copy {
    al_job job;
    al_batch batch;
    char *texts;
    size_t texts_len, texts_room;
};

struct al_dataset {
    al_sqlitefile *file;
    al_dataset_options options;
    struct sheet *sheets;
    size_t nsheets;
    al_pool *pool;
    pthread_mutex_t mutex; /* of `free`, and of the columns while there are jobs */
    al_rows *free;
    struct copy *copy;
};

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "dataset", "not enough memory");
}

static const al_pool_calls segment_calls;

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
    al_hash_prepare();
    pthread_mutex_init(&d->mutex, NULL);
    d->options = *o;
    if (!d->options.values_budget)
        d->options.values_budget = DEFAULT_BUDGET;
    if (d->options.max_rows > UINT32_MAX)
        d->options.max_rows = UINT32_MAX; /* counts of values have 32 bits */
    rc = al_sqlitefile_open(&d->file, fd, PAGE_SIZE, err);
    if (rc == AL_OK)
        rc = al_pool_open(&d->pool, o->threads, &segment_calls, err);
    if (rc != AL_OK)
        al_dataset_close(d);
    else
        *out = d;
    return rc;
}

static void rows_close(al_rows *r)
{
    for (size_t i = 0; i < r->columns_room; i++)
        al_part_close(&r->parts[i]);
    free(r->parts);
    al_pages_close(&r->pages);
    free(r);
}

static void copy_free(al_job *job);

void al_dataset_close(al_dataset *d)
{
    if (!d)
        return;
    al_pool_close(d->pool);
    if (d->copy)
        copy_free(&d->copy->job);
    for (al_rows *r = d->free, *next; r; r = next) {
        next = r->next;
        rows_close(r);
    }
    for (size_t i = 0; i < d->nsheets; i++) {
        for (size_t k = 0; k < d->sheets[i].ncolumns; k++)
            al_column_close(&d->sheets[i].columns[k]);
        free(d->sheets[i].columns);
        free(d->sheets[i].name);
        free(d->sheets[i].table);
        al_idents_close(d->sheets[i].idents);
    }
    free(d->sheets);
    al_sqlitefile_close(d->file);
    pthread_mutex_destroy(&d->mutex);
    free(d);
}

/* Sheets. */

static int open_idents(struct sheet *s)
{
    static const char *const taken[] = { "rowid", "oid", "_rowid_" };
    int rc = al_idents_open(&s->idents);

    for (size_t i = 0; i < 3 && rc == AL_OK; i++)
        rc = al_idents_reserve(s->idents, taken[i]);
    return rc;
}

static int add_column(struct sheet *s, const al_cell *label)
{
    bool given = label->kind == AL_CELL_TEXT && label->len > 0;
    char name[AL_IDENT_MAX + 1];
    al_column *more = realloc(s->columns, (s->ncolumns + 1) * sizeof *more);
    int rc;

    if (!more)
        return AL_ENOMEM;
    s->columns = more;
    rc = al_idents_name(s->idents, "", given ? label->text : "", given ? label->len : 0, "column_",
                        s->ncolumns + 1, name);
    if (rc == AL_OK)
        rc = al_column_open(&more[s->ncolumns++], name, given ? label->text : name,
                            given ? label->len : strlen(name));
    return rc;
}

static int create_statement(const struct sheet *s, al_buf *sql)
{
    al_buf_printf(sql, "CREATE TABLE \"%s\"", s->table);
    for (size_t i = 0; i < s->ncolumns; i++)
        al_buf_printf(sql, "%c\"%s\"", i ? ',' : '(', s->columns[i].name);
    return al_buf_char(sql, ')');
}

static int submit_copy(al_dataset *d, al_err *err);

/* All rows of the sheet are there. */
static int end_sheet(al_dataset *d, al_err *err)
{
    struct sheet *s;
    al_buf sql;
    int rc;

    if (d->nsheets == 0)
        return AL_OK;
    rc = submit_copy(d, err);
    if (rc == AL_OK)
        rc = al_pool_wait(d->pool, err);
    if (rc != AL_OK)
        return rc;
    s = &d->sheets[d->nsheets - 1];
    assert(s->ncolumns > 0);
    al_buf_init(&sql, 0);
    rc = create_statement(s, &sql) == AL_OK ? al_sqlitefile_table(d->file, s->table, sql.data, err)
                                            : no_memory(err);
    al_buf_free(&sql);
    return rc;
}

int al_dataset_sheet(al_dataset *d, const char *name, const char *table, const al_cell *labels,
                     size_t n, al_err *err)
{
    struct sheet *more, *s;
    int rc = end_sheet(d, err);

    assert(n <= AL_DATASET_MAX_COLUMNS);
    if (rc != AL_OK)
        return rc;
    more = realloc(d->sheets, (d->nsheets + 1) * sizeof *more);
    if (!more)
        return no_memory(err);
    d->sheets = more;
    s = &d->sheets[d->nsheets++];
    *s = (struct sheet){ .name = strdup(name), .table = strdup(table) };
    if (!s->name || !s->table || open_idents(s) != AL_OK)
        return no_memory(err);
    for (size_t i = 0; i < n; i++)
        if (add_column(s, &labels[i]) != AL_OK)
            return no_memory(err);
    return AL_OK;
}

int al_dataset_column(al_dataset *d, const al_cell *label, al_err *err)
{
    struct sheet *s = &d->sheets[d->nsheets - 1];
    int rc;

    assert(s->ncolumns < AL_DATASET_MAX_COLUMNS);
    pthread_mutex_lock(&d->mutex);
    rc = add_column(s, label);
    pthread_mutex_unlock(&d->mutex);
    return rc == AL_OK ? AL_OK : no_memory(err);
}

/* What the values of all columns cost, and where they cost most. */
static uint64_t values_cost(const al_dataset *d, al_values **most)
{
    uint64_t all = 0, largest = 0;

    for (size_t i = 0; i < d->nsheets; i++)
        for (size_t k = 0; k < d->sheets[i].ncolumns; k++) {
            al_values *v = d->sheets[i].columns[k].values;
            uint64_t cost = al_values_cost(v);

            all += cost;
            if (cost > largest) {
                largest = cost;
                *most = v;
            }
        }
    return all;
}

/* Where the values of all columns cost too much, those that cost most are settled, or become
 * estimates, until the rest fits. */
static int keep_budget(al_dataset *d)
{
    al_values *most = NULL;
    int rc = AL_OK;

    while (rc == AL_OK && values_cost(d, &most) > d->options.values_budget)
        rc = al_values_unsettled(most) ? al_values_settle(most) : al_values_estimate(most);
    return rc;
}

/* Segments. */

static void begin_rows(al_rows *r)
{
    r->rows = 0;
    r->ncolumns = 0;
    al_pages_begin(&r->pages, (int64_t)r->first + 1, 0);
}

/* Parts for so many columns, those that are new empty. */
static int need_parts(al_rows *r, size_t columns)
{
    al_dataset *d = r->dataset;
    int rc = AL_OK;

    if (columns > r->columns_room) {
        al_part *more = realloc(r->parts, columns * sizeof *more);

        if (!more)
            return AL_ENOMEM;
        memset(more + r->columns_room, 0, (columns - r->columns_room) * sizeof *more);
        r->parts = more;
        r->columns_room = columns;
    }
    if (r->ncolumns >= columns)
        return AL_OK;
    pthread_mutex_lock(&d->mutex);
    for (; r->ncolumns < columns && rc == AL_OK; r->ncolumns++) {
        const struct sheet *s = &d->sheets[d->nsheets - 1];

        rc = al_part_clear(&r->parts[r->ncolumns], columns,
                           r->ncolumns < s->ncolumns ? s->columns[r->ncolumns].values : NULL);
    }
    pthread_mutex_unlock(&d->mutex);
    return rc;
}

static int add_slice(al_rows *r, const al_cell *cells, size_t rows, size_t columns, al_err *err)
{
    uint64_t row = r->first + r->rows;
    size_t hints = row < AL_COLUMN_HINT_ROWS ? (size_t)(AL_COLUMN_HINT_ROWS - row) : 0;

    for (size_t i = 0; i < rows; i++) {
        int rc = al_pages_row(&r->pages, cells + i * columns, columns, err);

        if (rc != AL_OK)
            return rc;
    }
    for (size_t i = 0; i < columns; i++)
        if (al_part_add(&r->parts[i], cells + i, rows, columns, hints) != AL_OK)
            return no_memory(err);
    r->rows += rows;
    return AL_OK;
}

int al_rows_add(al_rows *r, const al_batch *b, al_err *err)
{
    size_t slice = b->columns < SLICE_CELLS ? SLICE_CELLS / (b->columns + 1) : 1;
    int rc = need_parts(r, b->columns) == AL_OK ? AL_OK : no_memory(err);

    for (size_t done = 0; done < b->rows && rc == AL_OK; done += slice) {
        size_t rows = b->rows - done < slice ? b->rows - done : slice;

        rc = add_slice(r, b->cells + done * b->columns, rows, b->columns, err);
        if (rc == AL_OK && r->dataset->options.link)
            rc = al_link_check(r->dataset->options.link, err);
    }
    return rc;
}

static int segment_run(void *segment, al_err *err)
{
    al_rows *r = segment;
    int rc;

    begin_rows(r);
    rc = r->job->run(r->job, r, err);
    if (rc != AL_OK)
        return rc;
    assert(r->rows == r->job->rows);
    al_pages_end(&r->pages);
    for (size_t i = 0; i < r->ncolumns; i++)
        if (al_part_end(&r->parts[i]) != AL_OK)
            return no_memory(err);
    return AL_OK;
}

static int segment_turn(void *segment, al_err *err)
{
    al_rows *r = segment;
    al_dataset *d = r->dataset;
    struct sheet *s = &d->sheets[d->nsheets - 1];
    int rc = r->job->turn ? r->job->turn(r->job, err) : AL_OK;

    if (rc == AL_JOB_AGAIN) {
        rc = segment_run(r, err);
        if (rc == AL_OK)
            rc = r->job->turn(r->job, err);
    }
    if (rc != AL_OK)
        return rc;
    assert(r->ncolumns <= s->ncolumns);
    for (size_t i = 0; i < r->ncolumns; i++)
        if (al_column_take(&s->columns[i], &r->parts[i]) != AL_OK)
            return no_memory(err);
    if (keep_budget(d) != AL_OK)
        return no_memory(err);
    return al_sqlitefile_place(d->file, &r->pages, &r->at, err);
}

static int segment_after(void *segment, al_err *err)
{
    al_rows *r = segment;

    return al_sqlitefile_write(r->dataset->file, &r->pages, r->at, err);
}

static void segment_free(void *segment)
{
    al_rows *r = segment;
    al_dataset *d = r->dataset;

    r->job->free(r->job);
    pthread_mutex_lock(&d->mutex);
    r->next = d->free;
    d->free = r;
    pthread_mutex_unlock(&d->mutex);
}

static const al_pool_calls segment_calls = { segment_run, segment_turn, segment_after,
                                             segment_free };

/* One that was used before, or a new one. */
static al_rows *take_rows(al_dataset *d)
{
    al_rows *r;

    pthread_mutex_lock(&d->mutex);
    r = d->free;
    if (r)
        d->free = r->next;
    pthread_mutex_unlock(&d->mutex);
    if (r)
        return r;
    r = calloc(1, sizeof *r);
    if (r && al_pages_open(&r->pages, PAGE_SIZE) != AL_OK) {
        free(r);
        return NULL;
    }
    return r;
}

int al_dataset_submit(al_dataset *d, al_job *job, al_err *err)
{
    struct sheet *s = &d->sheets[d->nsheets - 1];
    al_rows *r;

    if (job->rows > d->options.max_rows - s->rows) {
        job->free(job);
        al_err_setf(err, AL_ELIMIT, "ingest_limit", "analysis.data.maxRows", "more than %llu rows",
                    (unsigned long long)d->options.max_rows);
        return al_err_reason(err, AL_ELIMIT, "maxRows");
    }
    r = take_rows(d);
    if (!r) {
        job->free(job);
        return no_memory(err);
    }
    r->dataset = d;
    r->job = job;
    r->first = s->rows;
    s->rows += job->rows;
    return al_pool_submit(d->pool, r, err);
}

int al_dataset_wait(al_dataset *d, al_err *err)
{
    return al_pool_wait(d->pool, err);
}

/* Copied rows. */

static void copy_free(al_job *job)
{
    struct copy *c = (struct copy *)job;

    free(c->batch.cells);
    free(c->texts);
    free(c);
}

static int copy_run(al_job *job, al_rows *rows, al_err *err)
{
    struct copy *c = (struct copy *)job;

    return al_rows_add(rows, &c->batch, err);
}

/* Texts were kept as offsets: where they would lie was not known before all were there. */
static int submit_copy(al_dataset *d, al_err *err)
{
    struct copy *c = d->copy;

    if (!c)
        return AL_OK;
    d->copy = NULL;
    for (size_t i = 0; i < c->batch.rows * c->batch.columns; i++)
        if (c->batch.cells[i].kind == AL_CELL_TEXT)
            c->batch.cells[i].text = c->texts + c->batch.cells[i].integer;
    c->job = (al_job){ .rows = c->batch.rows, .run = copy_run, .free = copy_free };
    return al_dataset_submit(d, &c->job, err);
}

static int copy_room(struct copy *c, const al_batch *b, size_t bytes)
{
    size_t rows = c->batch.rows + b->rows;

    if (rows > c->batch.room) {
        size_t room = rows * 2;
        al_cell *more = realloc(c->batch.cells, room * b->columns * sizeof *more);

        if (!more)
            return AL_ENOMEM;
        c->batch.cells = more;
        c->batch.room = room;
    }
    if (c->texts_len + bytes > c->texts_room) {
        size_t room = (c->texts_len + bytes) * 2;
        char *more = realloc(c->texts, room);

        if (!more)
            return AL_ENOMEM;
        c->texts = more;
        c->texts_room = room;
    }
    return AL_OK;
}

static int copy_batch(struct copy *c, const al_batch *b)
{
    const size_t n = b->rows * b->columns;
    al_cell *to;
    size_t bytes = 0;

    for (size_t i = 0; i < n; i++)
        bytes += b->cells[i].kind == AL_CELL_TEXT ? b->cells[i].len : 0;
    if (copy_room(c, b, bytes) != AL_OK)
        return AL_ENOMEM;
    to = c->batch.cells + c->batch.rows * b->columns;
    for (size_t i = 0; i < n; i++) {
        to[i] = b->cells[i];
        to[i].slack = false;
        if (to[i].kind != AL_CELL_TEXT)
            continue;
        memcpy(c->texts + c->texts_len, b->cells[i].text, to[i].len);
        to[i].integer = (int64_t)c->texts_len;
        c->texts_len += to[i].len;
    }
    c->batch.rows += b->rows;
    return AL_OK;
}

int al_dataset_rows(al_dataset *d, const al_batch *b, al_err *err)
{
    assert(b->columns == d->sheets[d->nsheets - 1].ncolumns);
    if (!d->copy) {
        d->copy = calloc(1, sizeof *d->copy);
        if (!d->copy)
            return no_memory(err);
        d->copy->batch.columns = b->columns;
    }
    if (b->rows > 0 && copy_batch(d->copy, b) != AL_OK)
        return no_memory(err);
    return b->segment_end ? submit_copy(d, err) : AL_OK;
}

uint64_t al_dataset_row_count(const al_dataset *d)
{
    uint64_t n = 0;

    for (size_t i = 0; i < d->nsheets; i++)
        n += d->sheets[i].rows;
    return n + (d->copy ? d->copy->batch.rows : 0);
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
    for (size_t i = 0; i < n && rc == AL_OK; i++) {
        const al_cell row[] = { text_cell(pairs[i].key), pairs[i].value };

        rc = al_sqlitefile_row(d->file, row, 2, err);
    }
    al_buf_free(&notes);
    if (rc == AL_OK)
        rc = al_sqlitefile_table(d->file, "_alisio_meta",
                                 "CREATE TABLE \"_alisio_meta\"(key,value)", err);
    return rc;
}

static int write_sheets(al_dataset *d, al_err *err)
{
    int rc = AL_OK;

    for (size_t i = 0; i < d->nsheets && rc == AL_OK; i++) {
        const struct sheet *s = &d->sheets[i];
        const al_cell row[] = { al_cell_integer((int64_t)i + 1), text_cell(s->name),
                                text_cell(s->table), al_cell_integer((int64_t)s->rows),
                                al_cell_integer((int64_t)s->ncolumns) };

        rc = al_sqlitefile_row(d->file, row, 5, err);
    }
    if (rc == AL_OK)
        rc = al_sqlitefile_table(
            d->file, "_alisio_sheets",
            "CREATE TABLE \"_alisio_sheets\"(ordinal,name,table_name,rows,columns)", err);
    return rc;
}

static int write_column(al_dataset *d, const struct sheet *s, size_t i, al_err *err)
{
    const al_column *c = &s->columns[i];
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
            text_cell(s->table),
            al_cell_integer((int64_t)i + 1),
            text_cell(c->name),
            al_cell_text(c->label, c->label_len),
            text_cell(al_column_type(c)),
            al_cell_integer((int64_t)(s->rows - c->numbers - c->texts)),
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
    int rc = AL_OK;

    for (size_t i = 0; i < d->nsheets; i++)
        for (size_t k = 0; k < d->sheets[i].ncolumns && rc == AL_OK; k++)
            rc = write_column(d, &d->sheets[i], k, err);
    if (rc == AL_OK)
        rc = al_sqlitefile_table(
            d->file, "_alisio_columns",
            "CREATE TABLE \"_alisio_columns\"(table_name,ordinal,name,label,inferred_type,nulls,"
            "distinct_count,distinct_exact,min,max,mean,text_fallbacks,top_values)",
            err);
    return rc;
}

static int finish_values(void *arg, const al_work_part *part, al_err *err)
{
    const al_dataset *d = arg;
    const struct sheet *s = d->sheets;
    size_t column = part->index;

    while (column >= s->ncolumns)
        column -= s++->ncolumns;
    return al_values_finish(s->columns[column].values) == AL_OK ? AL_OK : no_memory(err);
}

/* Columns with many values take their time. */
static int finish_all_values(al_dataset *d, al_err *err)
{
    size_t columns = 0;
    al_work work;

    for (size_t i = 0; i < d->nsheets; i++)
        columns += d->sheets[i].ncolumns;
    al_work_init(&work, al_pool_threads(d->pool), NULL);
    return al_work_each(&work, columns, finish_values, d, err);
}

int al_dataset_finish(al_dataset *d, const al_dataset_meta *meta, al_err *err)
{
    int rc = end_sheet(d, err);

    assert(d->nsheets > 0);
    if (rc == AL_OK)
        rc = finish_all_values(d, err);
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
