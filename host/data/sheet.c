/* Rows of workbooks: batches of them, the texts that they borrow, what is said of the sheets. */
#include "data/sheet.h"
#include "base/json.h"
#include "base/num.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_CELLS 32768
#define BLOCK_BYTES (64u << 10)
#define MOST_BYTES  (8u << 20) /* of cells and texts, at which a segment ends wherever it is */
#define ALL_COLUMNS 20000      /* of all sheets, at most */
#define SPEND_RATIO 100
#define SPEND_FLOOR (UINT64_C(64) << 20)

/* Texts that do not move. The first block of the list is the one in use. */
struct block {
    struct block *next;
    size_t used, size;
    char bytes[];
};

/* Rows of one width. */
struct chunk {
    struct chunk *next;
    size_t widest; /* of them, as they came */
    al_batch batch;
    al_cell cells[];
};

/* A segment of the sheet's rows, until the dataset has them. */
struct al_segment {
    al_job job;
    al_sheets *sheets;
    size_t columns, bytes;
    struct block *texts;
    struct chunk *first, *last;
};

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
}

int al_sheets_open(al_sheets *s, al_ingest *in, al_err *err)
{
    uint64_t size = al_source_file_size(in->source);

    *s = (al_sheets){ .in = in, .most = size * SPEND_RATIO };
    if (s->most < SPEND_FLOOR)
        s->most = SPEND_FLOOR;
    if (s->most > in->options->max_file_bytes)
        s->most = in->options->max_file_bytes;
    al_buf_init(&s->hidden, 0);
    al_buf_init(&s->empty, 0);
    return al_idents_open(&s->tables) == AL_OK ? AL_OK : no_memory(err);
}

static void free_segment(al_job *job)
{
    struct al_segment *g = (struct al_segment *)job;

    for (struct block *b = g->texts, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    for (struct chunk *c = g->first, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(g);
}

void al_sheets_close(al_sheets *s)
{
    if (s->in && s->in->dataset)
        al_dataset_wait(s->in->dataset, NULL);
    if (s->segment)
        free_segment(&s->segment->job);
    al_idents_close(s->tables);
    al_buf_free(&s->hidden);
    al_buf_free(&s->empty);
    free(s->row);
}

static void note_sheets(al_buf *notes, const char *id, const al_buf *names)
{
    if (names->len)
        al_buf_printf(notes, "%s{\"id\":\"%s\",\"sheets\":[%s]}", notes->len ? "," : "", id,
                      names->data);
}

int al_sheets_finish(al_sheets *s, al_err *err)
{
    al_buf *notes = &s->in->notes;
    int rc = al_dataset_wait(s->in->dataset, err);

    if (rc != AL_OK)
        return rc;
    if (s->made == 0) {
        al_err_set(err, AL_EDATA, "ingest_invalid", "input", "no sheet has a value in it");
        return al_err_reason(err, AL_EDATA, "empty");
    }
    note_sheets(notes, "hidden_sheets", &s->hidden);
    note_sheets(notes, "empty_sheets", &s->empty);
    if (s->uncalculated)
        al_buf_printf(notes, "%s{\"id\":\"formulas_without_values\",\"count\":%" PRIu64 "}",
                      notes->len ? "," : "", s->uncalculated);
    return s->hidden.failed || s->empty.failed || notes->failed ? no_memory(err) : AL_OK;
}

static int add_name(al_buf *names, const char *name)
{
    if (names->len)
        al_buf_char(names, ',');
    return al_json_quote(names, name, strlen(name));
}

static int out_of_proportion(const al_sheets *s, al_err *err)
{
    al_err_setf(err, AL_ELIMIT, "ingest_limit", s->name,
                "repeated cells, and empty ones between others, of more than %" PRIu64
                " bytes, which no table in a file of this size has",
                s->most);
    return al_err_reason(err, AL_ELIMIT, "expansion");
}

int al_sheets_spend(al_sheets *s, uint64_t n, uint64_t bytes, al_err *err)
{
    if (n > 0 && bytes > (s->most - s->spent) / n)
        return out_of_proportion(s, err);
    s->spent += n * bytes;
    return AL_OK;
}

static void clear(al_sheets *s)
{
    if (s->width)
        memset(s->row, 0, s->width * sizeof *s->row);
    s->width = s->values = 0;
}

int al_sheet_begin(al_sheets *s, const char *name, bool hidden, al_err *err)
{
    s->name = name;
    s->begun++;
    s->rows = 0;
    s->columns = 0;
    clear(s);
    s->segment_end = AL_DATASET_SEGMENT;
    return hidden && add_name(&s->hidden, name) != AL_OK ? no_memory(err) : AL_OK;
}

static int run_segment(al_job *job, al_rows *rows, al_err *err)
{
    struct al_segment *g = (struct al_segment *)job;
    int rc = AL_OK;

    for (struct chunk *c = g->first; c && rc == AL_OK; c = c->next)
        rc = al_rows_add(rows, &c->batch, err);
    return rc;
}

/* Columns that the header does not have. */
static int turn_segment(al_job *job, al_err *err)
{
    struct al_segment *g = (struct al_segment *)job;
    al_sheets *s = g->sheets;
    const al_cell unnamed = al_cell_null();
    int rc = AL_OK;

    for (; s->table_columns < g->columns && rc == AL_OK; s->table_columns++)
        rc = al_dataset_column(s->in->dataset, &unnamed, err);
    return rc;
}

static int need_segment(al_sheets *s)
{
    if (s->segment)
        return AL_OK;
    s->segment = calloc(1, sizeof *s->segment);
    if (!s->segment)
        return AL_ENOMEM;
    s->segment->job = (al_job){ .run = run_segment, .turn = turn_segment, .free = free_segment };
    s->segment->sheets = s;
    return AL_OK;
}

static int submit(al_sheets *s, al_err *err)
{
    struct al_segment *g = s->segment;

    s->segment = NULL;
    if (g && g->job.rows)
        return al_dataset_submit(s->in->dataset, &g->job, err);
    if (g)
        free_segment(&g->job);
    return AL_OK;
}

int al_sheet_end(al_sheets *s, al_err *err)
{
    int rc = submit(s, err);

    if (rc == AL_OK && s->rows == 0 && add_name(&s->empty, s->name) != AL_OK)
        rc = no_memory(err);
    return rc;
}

static struct block *new_block(size_t len)
{
    size_t size = len > BLOCK_BYTES ? len : BLOCK_BYTES;
    struct block *b = malloc(sizeof *b + size);

    if (b)
        *b = (struct block){ .size = size };
    return b;
}

char *al_sheet_text(al_sheets *s, size_t len)
{
    struct al_segment *g;
    struct block *b;

    if (need_segment(s) != AL_OK)
        return NULL;
    g = s->segment;
    b = g->texts;
    if (!b || b->size - b->used < len) {
        b = new_block(len);
        if (!b)
            return NULL;
        g->bytes += b->size;
        b->next = g->texts;
        g->texts = b;
    }
    b->used += len;
    return b->bytes + b->used - len;
}

static int too_wide(const al_sheets *s, size_t column, al_err *err)
{
    al_err_setf(err, AL_ELIMIT, "ingest_limit", "analysis.data.maxColumns",
                "sheet \"%.100s\" has a value in column %zu, where %" PRIu64 " are allowed",
                s->name, column + 1, s->in->options->max_columns);
    return al_err_reason(err, AL_ELIMIT, "maxColumns");
}

static int too_long(const al_sheets *s, size_t column, al_err *err)
{
    al_err_setf(err, AL_ELIMIT, "ingest_limit", "analysis.data.maxCellBytes",
                "sheet \"%.100s\", column %zu: a text of more than %" PRIu64 " bytes", s->name,
                column + 1, s->in->options->max_cell_bytes);
    return al_err_reason(err, AL_ELIMIT, "maxCellBytes");
}

static int widen(al_sheets *s, size_t column, al_err *err)
{
    size_t room = s->room ? s->room : 32;
    al_cell *more;

    if (column >= s->in->options->max_columns)
        return too_wide(s, column, err);
    while (room <= column)
        room *= 2;
    more = realloc(s->row, room * sizeof *more);
    if (!more)
        return no_memory(err);
    memset(more + s->room, 0, (room - s->room) * sizeof *more);
    s->row = more;
    s->room = room;
    return AL_OK;
}

int al_sheet_cell(al_sheets *s, size_t column, const al_cell *cell, al_err *err)
{
    if (cell->kind == AL_CELL_NULL)
        return AL_OK;
    if (cell->kind == AL_CELL_TEXT && cell->len > s->in->options->max_cell_bytes)
        return too_long(s, column, err);
    if (column >= s->room || column >= s->in->options->max_columns) {
        int rc = widen(s, column, err);

        if (rc != AL_OK)
            return rc;
    }
    s->values += s->row[column].kind == AL_CELL_NULL;
    s->row[column] = *cell;
    if (column >= s->width)
        s->width = column + 1;
    return AL_OK;
}

int al_sheet_shared(al_sheets *s, size_t len, al_err *err)
{
    if (need_segment(s) != AL_OK)
        return no_memory(err);
    s->segment->bytes += len; /* its pages will take them */
    if (len > s->most - s->spent)
        return out_of_proportion(s, err);
    s->spent += len;
    return AL_OK;
}

/* The cell as a label: a number as its text. */
static int label(al_sheets *s, al_cell *cell, al_err *err)
{
    char text[32], *copy;
    size_t len;

    if (cell->kind == AL_CELL_NULL || cell->kind == AL_CELL_TEXT)
        return AL_OK;
    len = cell->kind == AL_CELL_REAL
              ? al_num_shortest(cell->real, text)
              : (size_t)snprintf(text, sizeof text, "%" PRId64, cell->integer);
    copy = al_sheet_text(s, len);
    if (!copy)
        return no_memory(err);
    memcpy(copy, text, len);
    *cell = al_cell_text(copy, len);
    return AL_OK;
}

static int more_columns(al_sheets *s, size_t n, al_err *err)
{
    s->all_columns += n;
    s->columns += n;
    if (s->all_columns <= ALL_COLUMNS)
        return AL_OK;
    al_err_setf(err, AL_ELIMIT, "ingest_limit", "analysis.data.maxColumns",
                "more than %d columns in all sheets", ALL_COLUMNS);
    return al_err_reason(err, AL_ELIMIT, "maxColumns");
}

/* Begins the table by the first row that holds something; *header: it was its labels. */
static int first_row(al_sheets *s, bool *header, al_err *err)
{
    int rc = AL_OK, wanted = s->in->options->header;
    char table[AL_IDENT_MAX + 1];
    al_cell *labels;
    bool numbers = true;

    for (size_t i = 0; i < s->width; i++)
        numbers = numbers && s->row[i].kind != AL_CELL_TEXT;
    *header = wanted < 0 ? !numbers : wanted;
    if (s->made == 0)
        s->in->meta.header = *header;
    if (al_idents_name(s->tables, "s_", s->name, strlen(s->name), "sheet_", s->begun, table) !=
        AL_OK)
        return no_memory(err);
    labels = calloc(s->width, sizeof *labels);
    if (!labels)
        return no_memory(err);
    rc = more_columns(s, s->width, err);
    for (size_t i = 0; i < s->width && *header && rc == AL_OK; i++) {
        labels[i] = s->row[i];
        rc = label(s, &labels[i], err);
    }
    if (rc == AL_OK)
        rc = al_dataset_sheet(s->in->dataset, s->name, table, labels, s->width, err);
    free(labels);
    s->made++;
    s->table_columns = s->width;
    return rc;
}

/* Where the row in work goes. Rows stand with others about as wide as they are: where most are much
 * narrower than the widest, that costs nothing. */
static al_cell *next_row(al_sheets *s)
{
    struct al_segment *g = s->segment;
    struct chunk *c = g->last;
    size_t room, columns;

    if (!c || c->batch.rows == c->batch.room || c->batch.columns < s->width) {
        columns = c && c->widest > s->width ? c->widest : s->width;
        room = columns < CHUNK_CELLS ? CHUNK_CELLS / columns : 1;
        c = malloc(sizeof *c + room * columns * sizeof *c->cells);
        if (!c)
            return NULL;
        *c = (struct chunk){ .batch = { .columns = columns, .room = room } };
        c->batch.cells = c->cells;
        g->bytes += room * columns * sizeof *c->cells;
        *(g->last ? &g->last->next : &g->first) = c;
        g->last = c;
    }
    if (s->width > c->widest)
        c->widest = s->width;
    g->job.rows++;
    return c->cells + c->batch.rows++ * c->batch.columns;
}

static int add_row(al_sheets *s, al_err *err)
{
    al_cell *cells = need_segment(s) == AL_OK ? next_row(s) : NULL;
    size_t columns;

    if (!cells)
        return no_memory(err);
    columns = s->segment->last->batch.columns;
    if (columns > s->segment->columns)
        s->segment->columns = columns;
    memcpy(cells, s->row, s->width * sizeof *cells);
    memset(cells + s->width, 0, (columns - s->width) * sizeof *cells);
    s->rows++;
    return AL_OK;
}

/* The row's texts to the segment in work: the one that they came with is handed on. */
static int copy_texts(al_sheets *s, al_err *err)
{
    for (size_t i = 0; i < s->width; i++) {
        al_cell *cell = &s->row[i];
        char *copy;

        if (cell->kind != AL_CELL_TEXT)
            continue;
        copy = al_sheet_text(s, cell->len);
        if (!copy)
            return no_memory(err);
        memcpy(copy, cell->text, cell->len);
        cell->text = copy;
    }
    return AL_OK;
}

int al_sheet_row(al_sheets *s, uint64_t number, uint64_t times, uint64_t offset, al_err *err)
{
    uint64_t skip = s->in->options->skip, passed = skip < number ? 0 : skip - number + 1;
    bool header = false;
    int rc = AL_OK;

    times = s->width > 0 && times > passed ? times - passed : 0;
    if (times > 0 && s->rows == 0) {
        rc = first_row(s, &header, err);
        times -= header;
        s->rows += header;
    }
    if (rc == AL_OK && s->width > s->columns)
        rc = more_columns(s, s->width - s->columns, err);
    if (rc == AL_OK)
        rc = al_sheets_spend(s, times, s->width - s->values, err);
    for (; rc == AL_OK && times > 0; times--) {
        rc = add_row(s, err);
        if (rc == AL_OK && s->segment->bytes >= MOST_BYTES && times > 1) {
            struct al_segment *full = s->segment;

            s->segment = NULL;
            rc = copy_texts(s, err);
            if (rc == AL_OK)
                rc = al_dataset_submit(s->in->dataset, &full->job, err);
            else
                free_segment(&full->job);
        }
    }
    clear(s);
    if (rc == AL_OK && s->segment && (offset >= s->segment_end || s->segment->bytes >= MOST_BYTES))
        rc = submit(s, err);
    while (offset >= s->segment_end)
        s->segment_end += AL_DATASET_SEGMENT;
    return rc;
}
