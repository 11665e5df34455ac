/* From SQLite's values to JSON. */
#include "data/answer.h"
#include "base/hash.h"
#include <stdio.h>
#include <string.h>

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
