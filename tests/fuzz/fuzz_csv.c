/* data/csv on any text: the same rows as a reader that goes byte by byte and knows no windows,
 * wherever the text is cut and however few rows a batch holds. */
#include "base/buf.h"
#include "base/cpu.h"
#include "data/csv.h"
#include <stdlib.h>
#include <string.h>

#define COLUMNS  3
#define MAX_CELL 200

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

/* A row as bytes: each cell by its kind, its length and its text or value. */
static void add_cell(al_buf *out, const al_cell *c)
{
    char kind = (char)('0' + c->kind);

    al_buf_char(out, kind);
    if (c->kind == AL_CELL_TEXT) {
        al_buf_add(out, &c->len, sizeof c->len);
        al_buf_add(out, c->text, c->len);
    } else if (c->kind != AL_CELL_NULL) {
        al_buf_add(out, &c->integer, sizeof c->integer);
    }
}

/* ---- the slow reader ---- */

struct slow {
    const char *p, *end;
    char delimiter;
    al_buf field;
    size_t line, opened;
};

static bool at_end(const struct slow *s)
{
    return s->p == s->end || *s->p == s->delimiter || *s->p == '\n' || *s->p == '\r';
}

static void take(struct slow *s)
{
    if (*s->p == '\n' || (*s->p == '\r' && !(s->p + 1 < s->end && s->p[1] == '\n')))
        s->line++;
    al_buf_char(&s->field, *s->p++);
}

/* One field to s->field; false when its quote is never closed. */
static bool slow_field(struct slow *s)
{
    al_buf_clear(&s->field);
    if (s->p < s->end && *s->p == '"') {
        s->opened = s->line;
        for (s->p++;;) {
            if (s->p == s->end)
                return false;
            if (*s->p != '"') {
                take(s);
            } else if (s->p + 1 < s->end && s->p[1] == '"') {
                al_buf_char(&s->field, '"');
                s->p += 2;
            } else {
                s->p++;
                break;
            }
        }
    }
    while (!at_end(s))
        al_buf_char(&s->field, *s->p++);
    return true;
}

struct counts {
    al_csv_irregular short_rows, long_rows;
    uint64_t line;
};

static int slow_rows(const char *text, size_t len, char delimiter, al_buf *out,
                     struct counts *counts)
{
    struct slow s = { .p = text, .end = text + len, .delimiter = delimiter, .line = 1 };
    int rc = AL_OK;

    while (rc == AL_OK && s.p < s.end) {
        const char *from = s.p;
        size_t fields = 0, first_line = s.line;
        bool more = true, blank;
        al_buf row;

        al_buf_init(&row, 0);
        while (more && rc == AL_OK) {
            al_cell cell;

            if (!slow_field(&s)) {
                /* the fast reader also gives up where the field could only be too long */
                rc = AL_EDATA;
                break;
            }
            if (s.field.len > MAX_CELL)
                rc = AL_ELIMIT;
            al_cell_parse(&cell, s.field.data ? s.field.data : "", s.field.len);
            if (fields < COLUMNS)
                add_cell(&row, &cell);
            fields++;
            more = s.p < s.end && *s.p == delimiter;
            s.p += more;
        }
        blank = fields == 1 && s.p == from;
        if (rc == AL_OK && s.p < s.end) {
            s.p += *s.p == '\r' && s.p + 1 < s.end && s.p[1] == '\n' ? 2 : 1;
            s.line++;
        }
        if (rc == AL_OK && !blank) {
            al_cell null = al_cell_null();

            al_buf_add(out, row.data, row.len);
            for (size_t i = fields; i < COLUMNS; i++)
                add_cell(out, &null);
            counts->short_rows.count += fields < COLUMNS;
            counts->long_rows.count += fields > COLUMNS;
            if (fields < COLUMNS && counts->short_rows.count == 1)
                counts->short_rows.lines[0] = first_line;
        }
        al_buf_free(&row);
    }
    counts->line = s.line;
    al_buf_free(&s.field);
    return rc;
}

/* ---- the reader under test, which learns of the text in two pieces and makes segments of it ----
 */

static int read_segment(const char *text, const al_csv_scan *scan, size_t room, al_buf *out,
                        struct counts *counts)
{
    al_cell cells[COLUMNS * 16];
    al_batch b = { .cells = cells, .columns = COLUMNS, .room = room };
    al_csv_fields f;
    uint64_t rows = 0;
    int rc;

    al_csv_fields_open(&f, text, scan->end, scan->ends, scan->delimiter, MAX_CELL, counts->line);
    do {
        rc = al_csv_rows(&f, &b, NULL);
        for (size_t i = 0; i < b.rows * COLUMNS && rc == AL_OK; i++)
            add_cell(out, &cells[i]);
        rows += b.rows;
    } while (rc == AL_OK && b.rows == b.room);
    check(rc != AL_OK || rows == scan->rows);
    al_csv_irregular_add(&counts->short_rows, &f.short_rows);
    al_csv_irregular_add(&counts->long_rows, &f.long_rows);
    counts->line += scan->lines;
    al_csv_fields_close(&f);
    return rc;
}

static int fast_rows(const char *text, size_t len, char delimiter, size_t cut, size_t room,
                     al_buf *out, struct counts *counts)
{
    char *bytes = calloc(1, len + 80);
    al_csv_scan scan;
    size_t at = 0;
    int rc = AL_OK;

    check(bytes != NULL);
    if (len)
        memcpy(bytes, text, len);
    al_csv_scan_open(&scan, delimiter);
    counts->line = 1;
    for (bool last = false; rc == AL_OK;) {
        rc = al_csv_scan_text(&scan, bytes + at, (last ? len : cut) - at, last, cut % 100, MAX_CELL,
                              counts->line, NULL);
        if (rc == 0)
            last = true;
        if (rc != 1)
            continue;
        rc = read_segment(bytes + at, &scan, room, out, counts);
        at += scan.end;
        free(al_csv_scan_take(&scan));
        if (at >= (last ? len : cut)) {
            if (last || cut == len)
                break;
            last = true;
        }
    }
    check(rc != AL_OK || at == len);
    al_csv_scan_close(&scan);
    free(bytes);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char delimiters[] = ",;\t|";
    struct counts slow = { 0 }, fast = { 0 };
    al_buf want, got;
    const char *text;
    size_t len;
    int rc, again;

    if (size < 4)
        return 0;
    text = (const char *)data + 4;
    len = size - 4;
    al_cpu_set_plain(data[3] & 16);
    al_buf_init(&want, 0);
    al_buf_init(&got, 0);
    rc = slow_rows(text, len, delimiters[data[0] % 4], &want, &slow);
    again = fast_rows(text, len, delimiters[data[0] % 4],
                      len ? (data[1] | (size_t)data[2] << 8) % (len + 1) : 0, 1 + data[3] % 16,
                      &got, &fast);
    check((rc == AL_OK) == (again == AL_OK));
    if (rc == AL_OK) {
        check(want.len == got.len && (want.len == 0 || memcmp(want.data, got.data, want.len) == 0));
        check(slow.short_rows.count == fast.short_rows.count);
        check(slow.long_rows.count == fast.long_rows.count);
        check(slow.short_rows.lines[0] == fast.short_rows.lines[0]);
        check(slow.line == fast.line);
    }
    al_buf_free(&want);
    al_buf_free(&got);
    return 0;
}
