/* The reader of CSV and TSV: window, dialect, header, then segments of rows. */
#include "data/csv.h"
#include "data/dialect.h"
#include "data/encoding.h"
#include "data/ingest.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BATCH_CELLS  8192 /* they and their text stay in the processor's cache */
#define WINDOW_BYTES (AL_DATASET_SEGMENT + (512u << 10)) /* most segments fit */

struct state {
    al_ingest *in;
    al_window window;
    size_t at;     /* of the window: what is read already */
    uint64_t line; /* of what is next, from 1 */
    char delimiter;
    size_t columns;
    al_csv_irregular short_rows, long_rows;
};

/* A segment of the text. */
struct segment {
    al_job job;
    struct state *state;
    char *text;
    size_t from, len; /* of the text in its buffer */
    uint64_t *ends;
    uint64_t line;
    al_csv_fields fields;
    al_cell *cells;
};

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
}

static int invalid(const char *reason, const char *detail, al_err *err)
{
    al_err_set(err, AL_EDATA, "ingest_invalid", "input", detail);
    return al_err_reason(err, AL_EDATA, reason);
}

static int more(struct state *s, al_err *err)
{
    int rc = al_ingest_step(s->in, err);

    if (rc == AL_OK)
        rc = al_window_more(&s->window, s->at, err);
    s->at = 0;
    return rc;
}

static const char *rest(const struct state *s, size_t *len)
{
    *len = s->window.len - s->at;
    return s->window.data + s->at;
}

/* What is decided by looking is decided by the same bytes, whatever the window is. */
static int fill_sample(struct state *s, al_err *err)
{
    int rc = AL_OK;

    while (rc == AL_OK && !s->window.last && s->window.len - s->at < AL_DIALECT_SAMPLE)
        rc = more(s, err);
    return rc;
}

/* Text hardly has control characters, and no text that is not UTF-8 has a NUL. What is UTF-8 may
 * hold some; where there are many it is UTF-16 without its mark, or no text. */
static int check_text(const struct state *s, al_err *err)
{
    size_t len = s->window.len < AL_DIALECT_SAMPLE ? s->window.len : AL_DIALECT_SAMPLE;
    bool utf8 = strcmp(al_window_encoding(&s->window), "utf-8") == 0;
    size_t nuls = 0, controls = 0;

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)s->window.data[i];

        nuls += c == 0;
        controls += c < 0x20 && !(c >= '\t' && c <= '\r') && c != 0x1B;
    }
    if (nuls > len / 4 && utf8)
        return invalid("binary",
                       "not text; if it is UTF-16 without a byte-order mark, give the encoding",
                       err);
    if (controls > len / 10 || (nuls && !utf8))
        return invalid("binary", "not text", err);
    return AL_OK;
}

/* The end of the line that text begins with: behind its LF, CRLF or CR; NULL when it is not there
 * (a CR at the end of text may be half of a line end, unless the text is over). */
static const char *line_end(const char *text, size_t len, bool last)
{
    const char *lf = memchr(text, '\n', len);
    const char *cr = memchr(text, '\r', lf ? (size_t)(lf - text) : len);

    if (cr && (cr + 1 < text + len ? cr[1] != '\n' : last))
        return cr + 1;
    return lf ? lf + 1 : NULL;
}

/* Passes the lines in front that were to be skipped. */
static int skip_lines(struct state *s, al_err *err)
{
    for (uint64_t left = s->in->options->skip; left > 0;) {
        size_t len;
        const char *text = rest(s, &len), *end = line_end(text, len, s->window.last);
        int rc;

        if (end) {
            s->at += (size_t)(end - text);
            s->line++;
            left--;
            continue;
        }
        s->at += len && text[len - 1] == '\r' ? len - 1 : len; /* long lines go piece by piece */
        if (s->window.last)
            return AL_OK;
        rc = more(s, err);
        if (rc != AL_OK)
            return rc;
    }
    return fill_sample(s, err);
}

/* A first line `sep=;`, as spreadsheets write it, names the delimiter and is no row. */
static bool separator_line(struct state *s, char *delimiter)
{
    size_t len;
    const char *text = rest(s, &len), *end = line_end(text, len < 7 ? len : 7, true);

    if (len < 6 || end <= text + 5 || strncasecmp(text, "sep=", 4) != 0 ||
        strchr("\"\r\n", text[4]) || (text[5] != '\r' && text[5] != '\n'))
        return false;
    *delimiter = text[4];
    s->at += (size_t)(end - text);
    s->line++;
    return true;
}

static int given_delimiter(const char *text, char *delimiter, al_err *err)
{
    unsigned char c = (unsigned char)text[0];

    if (!c || text[1] || c >= 0x80 || strchr("\"\r\n", c))
        return al_err_set(err, AL_EDATA, "ingest_invalid", "delimiter",
                          "a delimiter is one ASCII character, no quote and no line end");
    *delimiter = (char)c;
    return AL_OK;
}

static int find_delimiter(struct state *s, al_err *err)
{
    const al_ingest_options *o = s->in->options;
    bool tabs = strcmp(s->in->meta.format, "tsv") == 0, single = false, separator;
    size_t len;
    const char *text;
    char delimiter;
    int rc = AL_OK;

    separator = separator_line(s, &delimiter);
    if (o->delimiter)
        rc = given_delimiter(o->delimiter, &delimiter, err);
    else if (!separator) {
        bool whole;

        text = rest(s, &len);
        whole = s->window.last && len <= AL_DIALECT_SAMPLE;
        rc = al_dialect_delimiter(text, len < AL_DIALECT_SAMPLE ? len : AL_DIALECT_SAMPLE, whole,
                                  tabs, &delimiter, &single, err);
    }
    if (rc != AL_OK)
        return rc;
    if (!s->in->format_sure && delimiter == '\t')
        s->in->meta.format = "tsv";
    s->delimiter = single ? AL_CSV_NO_DELIMITER : delimiter;
    s->in->delimiter[0] = delimiter;
    s->in->meta.delimiter = s->in->delimiter;
    return AL_OK;
}

static bool all_numbers(const al_cell *cells, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        al_cell cell = cells[i];

        if (cell.kind == AL_CELL_TEXT)
            al_cell_parse(&cell, cell.text, cell.len);
        if (cell.kind == AL_CELL_TEXT)
            return false;
    }
    return true;
}

static int too_many_columns(size_t have, size_t most, uint64_t line, al_err *err)
{
    al_err_setf(err, AL_ELIMIT, "ingest_limit", "analysis.data.maxColumns",
                "%zu columns, where %zu are allowed", have, most);
    if (err)
        err->line = line;
    return al_err_reason(err, AL_ELIMIT, "maxColumns");
}

/* Scans from s->at on until a record is there, and the blank lines in front of it. */
static int scan_first(struct state *s, al_csv_scan *scan, al_err *err)
{
    for (;;) {
        size_t len;
        const char *text = rest(s, &len);
        int rc = al_csv_scan_text(scan, text, len, s->window.last, 1,
                                  (size_t)s->in->options->max_cell_bytes, s->line, err);

        if (rc != 0)
            return rc < 0 ? rc : AL_OK;
        rc = more(s, err);
        if (rc != AL_OK)
            return rc;
    }
}

/* Begins the sheet: columns and labels from the first record. */
static int begin_sheet(struct state *s, al_err *err)
{
    size_t most = (size_t)s->in->options->max_columns, n = 0, len;
    al_cell *cells = calloc(most, sizeof *cells);
    int wanted = s->in->options->header, rc;
    al_csv_fields fields = { 0 };
    al_csv_scan scan;

    al_csv_scan_open(&scan, s->delimiter);
    rc = cells ? scan_first(s, &scan, err) : no_memory(err);
    if (rc == AL_OK) {
        al_csv_fields_open(&fields, rest(s, &len), scan.end, scan.ends, s->delimiter,
                           (size_t)s->in->options->max_cell_bytes, s->line);
        rc = al_csv_record(&fields, cells, most, &n, err);
        if (rc == 0)
            rc = invalid("empty", "there is nothing in it", err);
        else if (rc == 1 && n > most)
            rc = too_many_columns(n, most, al_csv_line(&fields), err);
        else if (rc == 1)
            rc = AL_OK;
    }
    if (rc == AL_OK) {
        s->in->meta.header = wanted < 0 ? !all_numbers(cells, n) : wanted;
        if (s->in->meta.header) {
            s->line += scan.lines;
            s->at += scan.end;
        } else {
            memset(cells, 0, most * sizeof *cells);
        }
        rc = al_dataset_sheet(s->in->dataset, "data", "data", cells, n, err);
        s->columns = n;
    }
    al_csv_fields_close(&fields);
    al_csv_scan_close(&scan);
    free(cells);
    return rc;
}

static int segment_run(al_job *job, al_rows *rows, al_err *err)
{
    struct segment *g = (struct segment *)job;
    const struct state *s = g->state;
    al_batch b = { .columns = s->columns };
    int rc;

    al_csv_fields_close(&g->fields);
    al_csv_fields_open(&g->fields, g->text + g->from, g->len, g->ends, s->delimiter,
                       (size_t)s->in->options->max_cell_bytes, g->line);
    b.room = b.columns < BATCH_CELLS ? BATCH_CELLS / b.columns : 1;
    if (!g->cells)
        g->cells = malloc(b.room * b.columns * sizeof *g->cells);
    b.cells = g->cells;
    if (!b.cells)
        return no_memory(err);
    do {
        rc = al_csv_rows(&g->fields, &b, err);
        if (rc == AL_OK)
            rc = al_rows_add(rows, &b, err);
    } while (rc == AL_OK && b.rows == b.room);
    return rc;
}

static int segment_turn(al_job *job, al_err *err)
{
    struct segment *g = (struct segment *)job;

    (void)err;
    al_csv_irregular_add(&g->state->short_rows, &g->fields.short_rows);
    al_csv_irregular_add(&g->state->long_rows, &g->fields.long_rows);
    return AL_OK;
}

static void segment_free(al_job *job)
{
    struct segment *g = (struct segment *)job;

    al_csv_fields_close(&g->fields);
    if (g->text)
        al_window_give(&g->state->window, g->text);
    free(g->ends);
    free(g->cells);
    free(g);
}

/* What was scanned becomes a segment, and the window goes on behind it. */
static int submit(struct state *s, al_csv_scan *scan, al_err *err)
{
    struct segment *g = calloc(1, sizeof *g);
    size_t len = scan->end, from = s->at;

    if (!g)
        return no_memory(err);
    g->job = (al_job){ scan->rows, segment_run, segment_turn, segment_free };
    g->state = s;
    g->from = from;
    g->len = len;
    g->line = s->line;
    s->line += scan->lines;
    g->ends = al_csv_scan_take(scan);
    g->text = al_window_take(&s->window, from + len);
    s->at = 0;
    if (!g->text) {
        segment_free(&g->job);
        return no_memory(err);
    }
    return al_dataset_submit(s->in->dataset, &g->job, err);
}

static int read_segments(struct state *s, al_csv_scan *scan, al_err *err)
{
    for (;;) {
        size_t len;
        const char *text = rest(s, &len);
        uint64_t offset = s->window.offset + s->at;
        size_t limit = (size_t)(AL_DATASET_SEGMENT - offset % AL_DATASET_SEGMENT);
        int rc = al_csv_scan_text(scan, text, len, s->window.last, limit,
                                  (size_t)s->in->options->max_cell_bytes, s->line, err);

        if (rc < 0)
            return rc;
        if (rc == 0) {
            rc = more(s, err);
        } else {
            bool over = s->window.last && scan->end == len;

            rc = submit(s, scan, err);
            if (rc == AL_OK)
                rc = al_ingest_step(s->in, err);
            if (over)
                return rc;
        }
        if (rc != AL_OK)
            return rc;
    }
}

static int read_rows(struct state *s, al_err *err)
{
    al_csv_scan scan;
    al_err first = { 0 };
    int rc, ended;

    al_csv_scan_open(&scan, s->delimiter);
    rc = read_segments(s, &scan, err);
    al_csv_scan_close(&scan);
    /* What went wrong in a segment before comes first. */
    ended = al_dataset_wait(s->in->dataset, &first);
    if (ended == AL_OK)
        return rc;
    if (err)
        *err = first;
    return ended;
}

static void note_irregular(al_ingest *in, const char *id, const al_csv_irregular *i)
{
    al_ingest_note(in, id, i->count, i->lines,
                   i->count < AL_CSV_LINES ? (size_t)i->count : AL_CSV_LINES);
}

static void note_all(struct state *s)
{
    al_ingest *in = s->in;

    in->meta.irregular_rows = s->short_rows.count + s->long_rows.count;
    note_irregular(in, "short_rows", &s->short_rows);
    note_irregular(in, "long_rows", &s->long_rows);
    al_ingest_note(in, "replaced_characters", s->window.replaced, NULL, 0);
}

static int read_as(al_ingest *in, const char *encoding, al_err *err)
{
    struct state s = { .in = in, .line = 1 };
    size_t window = in->options->window ? in->options->window : WINDOW_BYTES;
    int rc = al_ingest_begin(in, err);

    if (rc == AL_OK)
        rc = al_window_open(&s.window, in->source, encoding, window, err);
    if (rc == AL_OK)
        rc = fill_sample(&s, err);
    if (rc == AL_OK) {
        in->meta.encoding = al_window_encoding(&s.window);
        rc = in->options->encoding ? AL_OK : check_text(&s, err);
    }
    if (rc == AL_OK)
        rc = skip_lines(&s, err);
    if (rc == AL_OK)
        rc = find_delimiter(&s, err);
    if (rc == AL_OK)
        rc = begin_sheet(&s, err);
    if (rc == AL_OK)
        rc = read_rows(&s, err);
    if (rc == AL_OK)
        note_all(&s);
    al_window_close(&s.window);
    return rc;
}

int al_read_delimited(al_ingest *in, al_err *err)
{
    return al_ingest_text(in, read_as, err);
}
