/* Look-ups by rowid, which is the row number. */
#include "data/rows.h"
#include "base/json.h"
#include "data/answer.h"
#include <stdbool.h>
#include <string.h>

#define TIMEOUT_MS 10000 /* for a file system that is slow; the look-ups themselves take few */

struct page {
    const al_rows_options *o;
    al_guard *guard;
    al_buf table;             /* its name */
    uint64_t total, from, to; /* from 0; `to` is not among them */
    al_answer answer;
};

static int find_sheet(struct page *p, al_err *err)
{
    static const char sql[] =
        "SELECT table_name, rows FROM _alisio_sheets WHERE table_name = ?1 OR "
        "?1 IS NULL ORDER BY ordinal LIMIT 1";
    const char *table = p->o->table && *p->o->table ? p->o->table : NULL;
    sqlite3_stmt *stmt;
    int rc = al_guard_prepare(p->guard, sql, sizeof sql - 1, &stmt, err);

    if (rc != AL_OK)
        return rc;
    if (table)
        sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
    rc = al_guard_step(p->guard, stmt, err);
    if (rc == SQLITE_ROW) {
        al_buf_add(&p->table, sqlite3_column_text(stmt, 0), (size_t)sqlite3_column_bytes(stmt, 0));
        p->total = sqlite3_column_int64(stmt, 1) > 0 ? (uint64_t)sqlite3_column_int64(stmt, 1) : 0;
        rc = AL_OK;
    } else if (rc == SQLITE_DONE) {
        al_err_set(err, AL_ENOTFOUND, "not_found", table, NULL);
        rc = al_err_reason(err, AL_ENOTFOUND, "sheet");
    }
    sqlite3_finalize(stmt);
    return rc;
}

static void add_name(al_buf *sql, const char *name, size_t len)
{
    al_buf_char(sql, '"');
    for (size_t i = 0; i < len; i++) {
        if (name[i] == '"')
            al_buf_char(sql, '"');
        al_buf_char(sql, name[i]);
    }
    al_buf_char(sql, '"');
}

static int bad_columns(al_err *err)
{
    return al_err_set(err, AL_EINVAL, "internal", "request", "columns: not a list of names");
}

static int add_columns(const struct page *p, al_buf *sql, al_err *err)
{
    al_json_type type;
    size_t n = 0;
    al_json j;

    if (!p->o->columns) {
        al_buf_char(sql, '*');
        return AL_OK;
    }
    al_json_open(&j, p->o->columns, p->o->columns_len, 1);
    type = al_json_next(&j);
    if (type == AL_JSON_ARRAY)
        while ((type = al_json_next(&j)) == AL_JSON_STRING) {
            if (n++)
                al_buf_char(sql, ',');
            add_name(sql, j.text, j.len);
        }
    al_json_close(&j);
    return type == AL_JSON_ARRAY_END && n > 0 ? AL_OK : bad_columns(err);
}

static int prepare(struct page *p, sqlite3_stmt **stmt, al_err *err)
{
    al_buf sql;
    int rc;

    al_buf_init(&sql, AL_GUARD_MAX_SQL);
    al_buf_str(&sql, "SELECT ");
    rc = add_columns(p, &sql, err);
    al_buf_str(&sql, " FROM ");
    add_name(&sql, p->table.data ? p->table.data : "", p->table.len);
    al_buf_str(&sql, p->o->order ? " WHERE rowid = ?1" : " WHERE rowid BETWEEN ?1 AND ?2");
    if (rc == AL_OK && sql.failed)
        rc = bad_columns(err);
    if (rc == AL_OK)
        rc = al_guard_prepare(p->guard, sql.data, sql.len, stmt, err);
    al_buf_free(&sql);
    return rc;
}

static int missing_row(al_err *err)
{
    al_err_set(err, AL_EIO, "io_error", "dataset", "a row is missing");
    return al_err_reason(err, AL_EIO, "corrupt");
}

static int send_order(struct page *p, sqlite3_stmt *stmt, al_err *err)
{
    for (uint64_t i = p->from; i < p->to && !al_answer_is_full(&p->answer); i++) {
        int rc;

        sqlite3_bind_int64(stmt, 1, (sqlite3_int64)p->o->order[i] + 1);
        rc = al_guard_step(p->guard, stmt, err);
        if (rc == SQLITE_DONE)
            return missing_row(err);
        if (rc == SQLITE_ROW)
            rc = al_answer_row(&p->answer, stmt, err);
        if (rc != AL_OK)
            return rc;
        sqlite3_reset(stmt);
    }
    return AL_OK;
}

static int send_range(struct page *p, sqlite3_stmt *stmt, al_err *err)
{
    sqlite3_bind_int64(stmt, 1, (sqlite3_int64)p->from + 1);
    sqlite3_bind_int64(stmt, 2, (sqlite3_int64)p->to);
    while (p->answer.count < p->to - p->from && !al_answer_is_full(&p->answer)) {
        int rc = al_guard_step(p->guard, stmt, err);

        if (rc == SQLITE_DONE)
            return missing_row(err);
        if (rc == SQLITE_ROW)
            rc = al_answer_row(&p->answer, stmt, err);
        if (rc != AL_OK)
            return rc;
    }
    return AL_OK;
}

static void write_result(const struct page *p, sqlite3_stmt *stmt, al_buf *result)
{
    al_json_out o;

    al_json_out_init(&o, result);
    al_json_begin_object(&o);
    al_json_key(&o, "columns");
    al_json_begin_array(&o);
    for (int i = 0; i < sqlite3_column_count(stmt); i++)
        al_json_cstring(&o, sqlite3_column_name(stmt, i));
    al_json_end_array(&o);
    al_json_key(&o, "first");
    al_json_int(&o, (int64_t)p->o->first);
    al_json_key(&o, "total");
    al_json_int(&o, (int64_t)p->total);
    al_json_key(&o, "numbers");
    al_json_begin_array(&o);
    for (uint64_t i = p->from; i < p->from + p->answer.count; i++)
        al_json_int(&o, (int64_t)(p->o->order ? p->o->order[i] : i) + 1);
    al_json_end_array(&o);
    al_json_key(&o, "truncated");
    al_json_bool(&o, p->answer.count < p->to - p->from);
    al_json_key(&o, "cut");
    al_answer_cut(&p->answer, &o);
    al_json_end_object(&o);
}

static int run(struct page *p, sqlite3_stmt **stmt, al_link *link, al_err *err)
{
    const al_rows_options *o = p->o;
    int rc = find_sheet(p, err);

    if (rc != AL_OK)
        return rc;
    if (o->order)
        p->total = o->order_rows;
    p->from = o->first - 1 < p->total ? o->first - 1 : p->total;
    p->to = o->count < p->total - p->from ? p->from + o->count : p->total;
    rc = prepare(p, stmt, err);
    if (rc == AL_OK)
        rc = al_answer_open(&p->answer, link, (size_t)sqlite3_column_count(*stmt),
                            (size_t)o->cell_bytes, err);
    if (rc == AL_OK)
        rc = o->order ? send_order(p, *stmt, err) : send_range(p, *stmt, err);
    return rc == AL_OK ? al_answer_flush(&p->answer, err) : rc;
}

int al_rows_run(al_guard *g, const al_rows_options *o, al_link *link, al_buf *result, al_err *err)
{
    struct page p = { .o = o, .guard = g };
    sqlite3_stmt *stmt = NULL;
    int rc;

    al_guard_limit(g, link, TIMEOUT_MS);
    rc = run(&p, &stmt, link, err);
    if (rc == AL_OK)
        write_result(&p, stmt, result);
    sqlite3_finalize(stmt);
    al_answer_close(&p.answer);
    al_buf_free(&p.table);
    return rc;
}
