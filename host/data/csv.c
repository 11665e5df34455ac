/* The parser of delimited text. Separators are found 16 bytes at a time where SSE2 is at hand
 * (every x86-64), else byte by byte; both find the same. */
#include "data/csv.h"
#include "data/dataset.h"
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__) && !defined(AL_PORTABLE)
#include <emmintrin.h>
#endif

void al_csv_init(al_csv *c, char delimiter, size_t max_cell)
{
    memset(c, 0, sizeof *c);
    c->delimiter = delimiter;
    c->max_cell = max_cell;
    c->line = 1;
    c->segment_end = AL_DATASET_SEGMENT;
}

void al_csv_free(al_csv *c)
{
    free(c->scratch);
    c->scratch = NULL;
}

/* Where the field at p ends: the first delimiter or line end, or end. */
static inline const char *find_end(const char *p, const char *end, char delimiter)
{
#if defined(__SSE2__) && !defined(AL_PORTABLE)
    const __m128i d = _mm_set1_epi8(delimiter);
    const __m128i lf = _mm_set1_epi8('\n');
    const __m128i cr = _mm_set1_epi8('\r');

    for (; p < end; p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(v, d),
                                   _mm_or_si128(_mm_cmpeq_epi8(v, lf), _mm_cmpeq_epi8(v, cr)));
        unsigned mask = (unsigned)_mm_movemask_epi8(hit);

        if (mask) {
            p += __builtin_ctz(mask);
            return p < end ? p : end;
        }
    }
    return end;
#else
    while (p < end && *p != delimiter && *p != '\n' && *p != '\r')
        p++;
    return p;
#endif
}

static inline bool is_end(const al_csv *c, char ch)
{
    return ch == c->delimiter || ch == '\n' || ch == '\r';
}

/* LF, CRLF and CR each end one line. */
static uint64_t count_lines(const char *p, const char *end)
{
    uint64_t n = 0;

    for (; p < end; p++)
        n += *p == '\n' || (*p == '\r' && !(p + 1 < end && p[1] == '\n'));
    return n;
}

static int too_long(const al_csv *c, const al_csv_record *r, al_err *err)
{
    al_err_setf(err, AL_ELIMIT, "ingest_limit", "analysis.data.maxCellBytes",
                "field %zu is longer than %zu bytes", r->fields + 1, c->max_cell);
    if (err)
        err->line = c->line + r->lines;
    return al_err_reason(err, AL_ELIMIT, "maxCellBytes");
}

static int unclosed(const al_csv *c, uint64_t lines, al_err *err)
{
    al_err_set(err, AL_EDATA, "ingest_invalid", "input",
               "a quoted field begins here and is never closed");
    if (err)
        err->line = c->line + lines;
    return al_err_reason(err, AL_EDATA, "syntax");
}

static void add_scratch(al_csv *c, const char *text, size_t len)
{
    memcpy(c->scratch + c->scratch_used, text, len);
    c->scratch_used += len;
}

/* A quoted field with quotes in it or text behind it: copied, from `from` on. *at is where it ends.
 * Same answers as quoted(). */
static int quoted_slow(al_csv *c, const char *from, const char *end, bool last, al_cell *cell,
                       const char **at)
{
    const char *start = c->scratch + c->scratch_used, *q;

    for (;;) {
        q = memchr(from, '"', (size_t)(end - from));
        if (!q)
            return 0;
        add_scratch(c, from, (size_t)(q - from));
        if (q + 1 == end && !last)
            return 0;
        if (q + 1 == end || q[1] != '"')
            break;
        add_scratch(c, q, 1);
        from = q + 2;
    }
    *at = find_end(q + 1, end, c->delimiter);
    if (*at == end && !last)
        return 0;
    add_scratch(c, q + 1, (size_t)(*at - (q + 1)));
    *cell = al_cell_text(start, (size_t)(c->scratch + c->scratch_used - start));
    return 1;
}

/* The field whose opening quote stands before `from`: 1 with *cell and where it ends, 0 when the
 * text ends first. */
static inline int quoted(al_csv *c, const char *from, const char *end, bool last, al_cell *cell,
                         const char **at)
{
    const char *q = memchr(from, '"', (size_t)(end - from));

    if (!q || (q + 1 == end && !last))
        return 0;
    if (q + 1 < end && !is_end(c, q[1]))
        return quoted_slow(c, from, end, last, cell, at);
    *cell = al_cell_text(from, (size_t)(q - from));
    *at = q + 1;
    return 1;
}

static inline int record(al_csv *c, const char *text, size_t len, bool last, al_cell *cells,
                         size_t room, al_csv_record *r, al_err *err)
{
    const char *p = text, *end = text + len, *at;
    al_cell cell;

    *r = (al_csv_record){ 0 };
    if (len == 0)
        return 0;
    for (;; p = at + 1) {
        bool in_quotes = p < end && *p == '"';

        if (in_quotes) {
            if (!quoted(c, p + 1, end, last, &cell, &at)) {
                if ((size_t)(end - p) >
                    2 * c->max_cell + 2) /* even if all of it were doubled quotes */
                    return too_long(c, r, err);
                return last ? unclosed(c, r->lines, err) : 0;
            }
        } else {
            at = find_end(p, end, c->delimiter);
            cell = al_cell_text(p, (size_t)(at - p));
        }
        if (cell.len > c->max_cell)
            return too_long(c, r, err);
        if (at == end && !last)
            return 0;
        if (in_quotes)
            r->lines += count_lines(p, at);
        if (r->fields < room) {
            if (cell.len == 0)
                cell.kind = AL_CELL_NULL;
            cells[r->fields] = cell;
        }
        r->fields++;
        if (at == end || *at != c->delimiter)
            break;
    }
    r->blank = at == text;
    if (at < end) {
        if (*at == '\r' && at + 1 == end && !last)
            return 0;
        at += *at == '\r' && at + 1 < end && at[1] == '\n' ? 2 : 1;
        r->lines++;
    }
    r->used = (size_t)(at - text);
    return 1;
}

/* Room for all of text in the scratch: no field needs more than it had in the text. */
static int begin(al_csv *c, size_t len, al_err *err)
{
    char *more;

    c->scratch_used = 0;
    if (len <= c->scratch_room)
        return AL_OK;
    more = realloc(c->scratch, len);
    if (!more)
        return al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
    c->scratch = more;
    c->scratch_room = len;
    return AL_OK;
}

static int check_size(const al_csv *c, size_t bytes, al_err *err)
{
    if (bytes <= AL_CSV_MAX_RECORD)
        return AL_OK;
    al_err_setf(err, AL_ELIMIT, "ingest_limit", "row", "a row is longer than %u bytes",
                AL_CSV_MAX_RECORD);
    if (err)
        err->line = c->line;
    return AL_ELIMIT;
}

int al_csv_read(al_csv *c, const char *text, size_t len, bool last, al_cell *cells, size_t room,
                al_csv_record *r, al_err *err)
{
    int rc = begin(c, len, err), found;

    if (rc != AL_OK)
        return rc;
    found = record(c, text, len, last, cells, room, r, err);
    if (found >= 0)
        rc = check_size(c, found ? r->used : len, err);
    return rc == AL_OK ? found : rc;
}

void al_csv_pass(al_csv *c, const al_csv_record *r)
{
    c->line += r->lines;
    c->offset += r->used;
}

static void note_irregular(al_csv_irregular *i, uint64_t line)
{
    if (i->count < AL_CSV_LINES)
        i->lines[i->count] = line;
    i->count++;
}

/* From the fields of a record to the cells of a row. */
static void make_row(al_csv *c, al_cell *row, size_t columns, size_t fields)
{
    size_t have = fields < columns ? fields : columns;

    for (size_t i = 0; i < have; i++)
        if (row[i].kind == AL_CELL_TEXT)
            al_cell_parse(&row[i], row[i].text, row[i].len);
    for (size_t i = have; i < columns; i++)
        row[i] = al_cell_null();
    if (fields < columns)
        note_irregular(&c->short_rows, c->line);
    else if (fields > columns)
        note_irregular(&c->long_rows, c->line);
}

int al_csv_rows(al_csv *c, const char *text, size_t len, bool last, al_batch *b, size_t *used,
                al_err *err)
{
    int rc = begin(c, len, err);

    b->rows = 0;
    b->segment_end = false;
    *used = 0;
    if (rc != AL_OK)
        return rc;
    while (b->rows < b->room && !b->segment_end) {
        al_cell *row = b->cells + b->rows * b->columns;
        al_csv_record r;
        int found = record(c, text + *used, len - *used, last, row, b->columns, &r, err);

        if (found < 0)
            return found;
        rc = check_size(c, found ? r.used : len - *used, err);
        if (rc != AL_OK || !found)
            return rc;
        if (!r.blank) {
            make_row(c, row, b->columns, r.fields);
            b->rows++;
        }
        *used += r.used;
        al_csv_pass(c, &r);
        if (!r.blank && c->offset >= c->segment_end) {
            b->segment_end = true;
            c->segment_end = (c->offset / AL_DATASET_SEGMENT + 1) * AL_DATASET_SEGMENT;
        }
    }
    return AL_OK;
}
