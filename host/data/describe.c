/* Reads the tables that every dataset has about itself. */
#include "data/describe.h"
#include "base/buf.h"
#include "data/answer.h"
#include "data/sqlguard.h"
#include <stdio.h>
#include <string.h>

#define SAMPLE_CELL  256                /* bytes of a cell in a sample */
#define SAMPLE_BYTES (4u * 1024 * 1024) /* of a sample as JSON, about */

/* Runs sql and hands each row to fn until it answers other than AL_OK. */
typedef int (*row_fn)(sqlite3_stmt *stmt, void *arg, al_err *err);

static int each(al_guard *g, const char *sql, row_fn fn, void *arg, al_err *err)
{
    sqlite3_stmt *stmt;
    int rc = al_guard_prepare(g, sql, strlen(sql), &stmt, err);

    if (rc != AL_OK)
        return rc;
    while ((rc = al_guard_step(g, stmt, err)) == SQLITE_ROW) {
        rc = fn(stmt, arg, err);
        if (rc != AL_OK)
            break;
    }
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? AL_OK : rc;
}

struct describe {
    al_guard *guard;
    al_json_out *o;
    uint64_t sample;
    size_t sample_from; /* length of the output where the sample began */
};

static void key_cell(al_json_out *o, const char *key, sqlite3_stmt *stmt, int column)
{
    char kind;

    al_json_key(o, key);
    al_answer_cell(o, stmt, column, SIZE_MAX, &kind);
}

/* JSON that the file holds as text; what is none is not passed on. */
static void key_json(al_json_out *o, const char *key, sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    size_t len = (size_t)sqlite3_column_bytes(stmt, column), at, n;
    bool good = false;
    al_json j;

    if (text) {
        al_json_open(&j, text, len, 8);
        good = al_json_next(&j) == AL_JSON_ARRAY && al_json_skip(&j, &at, &n) == AL_OK &&
               al_json_next(&j) == AL_JSON_END;
        al_json_close(&j);
    }
    al_json_key(o, key);
    al_json_raw(o, good ? text : "[]", good ? len : 2);
}

static int meta_row(sqlite3_stmt *stmt, void *arg, al_err *err)
{
    struct describe *d = arg;

    (void)err;
    key_cell(d->o, "format", stmt, 0);
    key_cell(d->o, "encoding", stmt, 1);
    key_cell(d->o, "delimiter", stmt, 2);
    al_json_key(d->o, "header");
    al_json_bool(d->o, sqlite3_column_int(stmt, 3) != 0);
    key_cell(d->o, "irregularRows", stmt, 4);
    key_json(d->o, "notes", stmt, 5);
    key_cell(d->o, "rows", stmt, 6);
    return AL_OK;
}

static int column_row(sqlite3_stmt *stmt, void *arg, al_err *err)
{
    static const char *const keys[] = { "name", "label", "type", "nulls", "distinct" };
    static const char *const more[] = { "min", "max", "mean", "textFallbacks" };
    struct describe *d = arg;

    (void)err;
    al_json_begin_object(d->o);
    for (int i = 0; i < 5; i++)
        key_cell(d->o, keys[i], stmt, i);
    al_json_key(d->o, "distinctExact");
    al_json_bool(d->o, sqlite3_column_int(stmt, 5) != 0);
    for (int i = 0; i < 4; i++)
        key_cell(d->o, more[i], stmt, 6 + i);
    key_json(d->o, "top", stmt, 10);
    al_json_end_object(d->o);
    return AL_OK;
}

static int sample_row(sqlite3_stmt *stmt, void *arg, al_err *err)
{
    struct describe *d = arg;
    char kind;

    (void)err;
    if (d->o->b->len - d->sample_from > SAMPLE_BYTES)
        return AL_OK;
    al_json_begin_array(d->o);
    for (int i = 0; i < sqlite3_column_count(stmt); i++)
        al_answer_cell(d->o, stmt, i, SAMPLE_CELL, &kind);
    al_json_end_array(d->o);
    return AL_OK;
}

static int sample(struct describe *d, const char *table, al_err *err)
{
    char *sql = sqlite3_mprintf("SELECT * FROM \"%w\" ORDER BY rowid LIMIT %lld", table,
                                (long long)d->sample);
    int rc;

    if (!sql)
        return al_err_set(err, AL_ENOMEM, "internal", "dataset", "not enough memory");
    d->sample_from = d->o->b->len;
    rc = each(d->guard, sql, sample_row, d, err);
    sqlite3_free(sql);
    return rc;
}

static int sheet_row(sqlite3_stmt *stmt, void *arg, al_err *err)
{
    struct describe *d = arg;
    const char *table = (const char *)sqlite3_column_text(stmt, 1);
    char *sql;
    int rc;

    sql = sqlite3_mprintf("SELECT name, label, inferred_type, nulls, distinct_count, "
                          "distinct_exact, min, max, mean, text_fallbacks, top_values "
                          "FROM _alisio_columns WHERE table_name = %Q ORDER BY ordinal",
                          table);
    if (!table || !sql)
        return al_err_set(err, AL_ENOMEM, "internal", "dataset", "not enough memory");
    al_json_begin_object(d->o);
    key_cell(d->o, "name", stmt, 0);
    key_cell(d->o, "table", stmt, 1);
    key_cell(d->o, "rows", stmt, 2);
    al_json_key(d->o, "columns");
    al_json_begin_array(d->o);
    rc = each(d->guard, sql, column_row, d, err);
    al_json_end_array(d->o);
    al_json_key(d->o, "sample");
    al_json_begin_array(d->o);
    if (rc == AL_OK)
        rc = sample(d, table, err);
    al_json_end_array(d->o);
    al_json_end_object(d->o);
    sqlite3_free(sql);
    return rc;
}

int al_describe(int fd, int tmp, uint64_t rows, al_json_out *o, al_err *err)
{
    static const char meta[] =
        "SELECT max(value) FILTER (WHERE key='format'), max(value) FILTER (WHERE key='encoding'), "
        "max(value) FILTER (WHERE key='delimiter'), max(value) FILTER (WHERE key='header'), "
        "max(value) FILTER (WHERE key='irregular_rows'), max(value) FILTER (WHERE key='notes'), "
        "(SELECT sum(rows) FROM _alisio_sheets) FROM _alisio_meta";
    struct describe d = { .o = o, .sample = rows < INT32_MAX ? rows : INT32_MAX };
    int rc = al_guard_open(&d.guard, fd, tmp, err);

    if (rc != AL_OK)
        return rc;
    rc = each(d.guard, meta, meta_row, &d, err);
    al_json_key(o, "sheets");
    al_json_begin_array(o);
    if (rc == AL_OK)
        rc = each(d.guard, "SELECT name, table_name, rows FROM _alisio_sheets ORDER BY ordinal",
                  sheet_row, &d, err);
    al_json_end_array(o);
    al_guard_close(d.guard);
    return rc;
}
