/* From SQLite's values to JSON. */
#include "data/answer.h"
#include "base/hash.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_BYTES   (256u * 1024)
#define MAX_CUT_BYTES (4u * 1024 * 1024) /* of the list of cut cells */

static const char ellipsis[] = "\xE2\x80\xA6";

static void add_integer(al_json_out *o, int64_t v)
{
    const double d = (double)v;
    char text[24];

    /* 2^63 is what the largest integers round to, and no integer itself. */
    if (d < 0x1p63 && (int64_t)d == v) {
        al_json_int(o, v);
        return;
    }
    snprintf(text, sizeof text, "%lld", (long long)v);
    al_json_cstring(o, text);
}

/* The largest n <= max that ends a character; text may be anything but mostly is UTF-8. */
static size_t cut(const char *text, size_t max)
{
    size_t n = max;

    while (n > 0 && max - n < 4 && ((unsigned char)text[n] & 0xC0) == 0x80)
        n--;
    return ((unsigned char)text[n] & 0xC0) == 0x80 ? max : n;
}

static bool add_text(al_json_out *o, const char *text, size_t len, size_t max)
{
    al_buf shown;

    if (len <= max) {
        al_json_string(o, text ? text : "", len);
        return false;
    }
    al_buf_init(&shown, 0);
    al_buf_add(&shown, text, cut(text, max));
    al_buf_str(&shown, ellipsis);
    al_json_string(o, shown.data ? shown.data : "", shown.len);
    if (shown.failed)
        o->b->failed = shown.failed;
    al_buf_free(&shown);
    return true;
}

static bool add_blob(al_json_out *o, const void *bytes, size_t len, size_t max)
{
    bool whole = len <= (max < 3 ? 0 : (max - 3) / 2);
    size_t keep = whole ? len : max / 2;
    al_buf shown;

    al_buf_init(&shown, 0);
    al_buf_str(&shown, "x'");
    if (al_buf_reserve(&shown, 2 * keep + 8) == AL_OK) {
        al_hex(shown.data + shown.len, bytes, keep);
        shown.len += 2 * keep;
    }
    al_buf_str(&shown, whole ? "'" : ellipsis);
    al_json_string(o, shown.data ? shown.data : "", shown.len);
    if (shown.failed)
        o->b->failed = shown.failed;
    al_buf_free(&shown);
    return !whole;
}

bool al_answer_cell(al_json_out *o, sqlite3_stmt *stmt, int column, size_t max, char *kind)
{
    const char *text;

    switch (sqlite3_column_type(stmt, column)) {
    case SQLITE_INTEGER:
        *kind = 'i';
        add_integer(o, sqlite3_column_int64(stmt, column));
        return false;
    case SQLITE_FLOAT:
        *kind = 'r';
        al_json_real(o, sqlite3_column_double(stmt, column));
        return false;
    case SQLITE_TEXT:
        *kind = 't';
        text = (const char *)sqlite3_column_text(stmt, column);
        return add_text(o, text, (size_t)sqlite3_column_bytes(stmt, column), max);
    case SQLITE_BLOB:
        *kind = 'b';
        text = sqlite3_column_blob(stmt, column);
        return add_blob(o, text ? text : "", (size_t)sqlite3_column_bytes(stmt, column), max);
    default:
        *kind = 'n';
        al_json_null(o);
        return false;
    }
}

/* ---- rows ---- */

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "rows", "not enough memory");
}

int al_answer_open(al_answer *a, al_link *link, size_t columns, size_t max_cell, al_err *err)
{
    *a = (al_answer){ .link = link, .columns = columns, .max_cell = max_cell };
    al_json_out_init(&a->o, &a->json);
    a->letters = calloc(columns + 1, 1);
    return a->letters ? AL_OK : no_memory(err);
}

void al_answer_close(al_answer *a)
{
    al_buf_free(&a->json);
    al_buf_free(&a->kinds);
    al_buf_free(&a->cut);
    free(a->letters);
    a->letters = NULL;
}

int al_answer_flush(al_answer *a, al_err *err)
{
    al_buf frame;
    int rc;

    if (a->json.len == 0)
        return AL_OK;
    al_buf_init(&frame, 0);
    al_buf_str(&frame, "{\"rows\":[");
    al_buf_add(&frame, a->json.data, a->json.len);
    al_buf_str(&frame, "],\"kinds\":[");
    al_buf_add(&frame, a->kinds.data, a->kinds.len);
    al_buf_str(&frame, "]}");
    rc = al_link_send(a->link, AL_WIRE_ROWS, &frame, err);
    a->sent_bytes += frame.len;
    al_buf_free(&frame);
    al_buf_clear(&a->json);
    al_buf_clear(&a->kinds);
    al_json_out_init(&a->o, &a->json);
    return rc;
}

int al_answer_row(al_answer *a, sqlite3_stmt *stmt, al_err *err)
{
    al_json_begin_array(&a->o);
    for (size_t i = 0; i < a->columns; i++)
        if (al_answer_cell(&a->o, stmt, (int)i, a->max_cell, &a->letters[i]))
            al_buf_printf(&a->cut, "%s[%llu,%zu]", a->cut.len ? "," : "",
                          (unsigned long long)a->count, i);
    al_json_end_array(&a->o);
    if (a->kinds.len)
        al_buf_char(&a->kinds, ',');
    al_json_quote(&a->kinds, a->letters, a->columns);
    a->count++;
    if (a->json.failed || a->kinds.failed || a->cut.failed)
        return no_memory(err);
    return a->json.len >= FRAME_BYTES ? al_answer_flush(a, err) : AL_OK;
}

bool al_answer_is_full(const al_answer *a)
{
    return a->sent_bytes + a->json.len >= AL_ANSWER_MAX_BYTES || a->cut.len >= MAX_CUT_BYTES;
}

void al_answer_cut(const al_answer *a, al_json_out *o)
{
    al_json_begin_array(o);
    if (a->cut.len)
        al_json_raw(o, a->cut.data, a->cut.len);
    al_json_end_array(o);
}
