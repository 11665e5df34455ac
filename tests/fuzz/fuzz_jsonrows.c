/* data/jsonrows against a slow reader that is made of tokens: the same rows, or both refuse. The
 * first byte chooses the shape, the second how many rows are read at a time. */
#include "base/buf.h"
#include "base/json.h"
#include "base/utf8.h"
#include "data/jsonrows.h"
#include <stdlib.h>
#include <string.h>

#define MAX_COLUMNS 20
#define MAX_CELL    200

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

/* A row as bytes: each cell by its kind, its length and its text or value. */
static void add_row(al_buf *out, const al_cell *cells, size_t n)
{
    al_buf_add(out, &n, sizeof n);
    for (size_t i = 0; i < n; i++) {
        al_buf_char(out, (char)('0' + cells[i].kind));
        if (cells[i].kind == AL_CELL_TEXT) {
            al_buf_add(out, &cells[i].len, sizeof cells[i].len);
            al_buf_add(out, cells[i].text, cells[i].len);
        } else if (cells[i].kind != AL_CELL_NULL) {
            al_buf_add(out, &cells[i].integer, sizeof cells[i].integer);
        }
    }
}

/* ---- the slow reader ---- */

struct slow {
    al_buf keys[MAX_COLUMNS];
    al_buf texts[MAX_COLUMNS];
    al_cell cells[MAX_COLUMNS];
    size_t n;
};

static bool slow_key(struct slow *s, const al_json *j, size_t *column)
{
    for (*column = 0; *column < s->n; ++*column)
        if (s->keys[*column].len == j->len &&
            (j->len == 0 || memcmp(s->keys[*column].data, j->text, j->len) == 0))
            return true;
    if (s->n == MAX_COLUMNS)
        return false;
    al_buf_init(&s->keys[s->n], 0);
    al_buf_init(&s->texts[s->n], 0);
    al_buf_add(&s->keys[s->n], j->text, j->len);
    s->cells[s->n++] = al_cell_null();
    return true;
}

/* The value that j is at. */
static bool slow_value(struct slow *s, al_json *j, al_json_type t, size_t column)
{
    al_buf *text = &s->texts[column];
    al_cell *cell = &s->cells[column];
    int depth = 0;

    al_buf_clear(text);
    if (t == AL_JSON_STRING || t == AL_JSON_NUMBER || t == AL_JSON_TRUE || t == AL_JSON_FALSE)
        al_buf_add(text, j->text, j->len);
    if (t == AL_JSON_OBJECT || t == AL_JSON_ARRAY) {
        for (size_t last = j->start;; t = al_json_next(j)) {
            if (t == AL_JSON_ERROR)
                return false;
            for (; last < j->start; last++)
                if (!strchr(" \t\r\n", j->in[last]))
                    al_buf_char(text, j->in[last]);
            al_buf_add(text, j->in + j->start, j->end - j->start);
            last = j->end;
            depth += t == AL_JSON_OBJECT || t == AL_JSON_ARRAY;
            depth -= t == AL_JSON_OBJECT_END || t == AL_JSON_ARRAY_END;
            if (depth == 0)
                break;
        }
    }
    *cell = al_cell_text(text->data ? text->data : "", text->len);
    if (t == AL_JSON_NULL)
        *cell = al_cell_null();
    if (t == AL_JSON_NUMBER)
        al_cell_parse(cell, text->data, text->len);
    return cell->kind != AL_CELL_TEXT || cell->len <= MAX_CELL;
}

/* The object at text: its length, 0 when it is none. */
static size_t slow_object(struct slow *s, const char *text, size_t len)
{
    al_json_type t;
    size_t end = 0;
    al_json j;

    for (size_t i = 0; i < s->n; i++)
        s->cells[i] = al_cell_null();
    al_json_open(&j, text, len, 0);
    j.lone_surrogates = true;
    j.big_numbers = true;
    if (al_json_next(&j) == AL_JSON_OBJECT && j.start == 0) {
        while ((t = al_json_next(&j)) == AL_JSON_KEY) {
            size_t column;

            if (!slow_key(s, &j, &column) || !slow_value(s, &j, al_json_next(&j), column))
                break;
        }
        if (t == AL_JSON_OBJECT_END)
            end = j.end;
    }
    al_json_close(&j);
    return end;
}

static const char *spaces(const char *p, const char *end)
{
    while (p < end && strchr(" \t\r\n", *p) && *p)
        p++;
    return p;
}

static bool slow_rows(struct slow *s, al_json_shape shape, const char *text, size_t len,
                      al_buf *out)
{
    const char *p = spaces(text, text + len), *end = text + len;
    bool list = shape == AL_JSON_LIST;

    if (list) {
        check(*p == '[');
        p = spaces(p + 1, end);
        if (p < end && *p == ']')
            return spaces(p + 1, end) == end;
    }
    for (;;) {
        const char *stop = end, *after;
        size_t used;

        if (p == end)
            return !list;
        if (shape == AL_JSON_LINES && memchr(p, '\n', (size_t)(end - p)))
            stop = memchr(p, '\n', (size_t)(end - p));
        used = slow_object(s, p, (size_t)(stop - p));
        if (used == 0)
            return false;
        add_row(out, s->cells, s->n);
        p += used;
        after = spaces(p, end);
        if (list) {
            if (after == end)
                return false;
            if (*after == ']')
                return spaces(after + 1, end) == end;
            if (*after != ',')
                return false;
            after = spaces(after + 1, end);
        } else if (after < end && !memchr(p, '\n', (size_t)(after - p)) &&
                   (shape == AL_JSON_LINES || !memchr(p, '\r', (size_t)(after - p)))) {
            return false;
        }
        p = after;
    }
}

/* ---- the reader under test ---- */

static bool fast_rows(al_json_shape shape, const char *text, size_t len, size_t most, al_buf *out)
{
    al_json_segment segment = { .text = text, .len = len, .first = true, .last = true, .line = 1 };
    al_err err = { 0 };
    al_jsonrows *r;
    al_batch b;
    int rc;

    check(al_jsonrows_open(&r, shape, &segment, MAX_COLUMNS, MAX_CELL, &err) == AL_OK);
    do {
        rc = al_jsonrows_next(r, most, &b, &err);
        for (size_t i = 0; rc == AL_OK && i < b.rows; i++)
            add_row(out, b.cells + i * b.columns, b.columns);
    } while (rc == AL_OK && b.rows > 0);
    al_jsonrows_close(r);
    check(rc == err.code);
    check(rc == AL_OK || strcmp(err.id, "ingest_invalid") == 0 ||
          strcmp(err.id, "ingest_limit") == 0);
    return rc == AL_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slow slow = { .n = 0 };
    al_json_shape shape;
    al_buf want, got;
    const char *p;
    char *text;
    size_t len;
    bool good;

    if (size < 2)
        return 0;
    len = al_utf8_valid((const char *)data + 2, size - 2);
    text = malloc(len + 64);
    check(text != NULL);
    memcpy(text, data + 2, len);
    memset(text + len, data[0], 64);
    p = spaces(text, text + len);
    shape = data[0] % 2                   ? AL_JSON_LINES
            : p < text + len && *p == '[' ? AL_JSON_LIST
                                          : AL_JSON_STREAM;
    al_buf_init(&want, 0);
    al_buf_init(&got, 0);
    good = slow_rows(&slow, shape, text, len, &want);
    check(fast_rows(shape, text, len, 1 + data[1] % 8u, &got) == good);
    if (good)
        check(want.len == got.len && (want.len == 0 || memcmp(want.data, got.data, want.len) == 0));
    for (size_t i = 0; i < slow.n; i++) {
        al_buf_free(&slow.keys[i]);
        al_buf_free(&slow.texts[i]);
    }
    al_buf_free(&want);
    al_buf_free(&got);
    free(text);
    return 0;
}
