/* Steps a statement and sends its rows. */
#include "data/query.h"
#include "base/clock.h"
#include "base/json.h"
#include "data/answer.h"
#include "data/sqlguard.h"
#include <string.h>

#define DEADLINE_GRACE 150 /* ms behind the time-out, for what cannot be stopped */

static int step_all(al_guard *g, sqlite3_stmt *stmt, uint64_t max_rows, al_answer *a,
                    bool *truncated, al_err *err)
{
    for (;;) {
        int rc = al_guard_step(g, stmt, err);

        if (rc == SQLITE_DONE)
            return al_answer_flush(a, err);
        if (rc != SQLITE_ROW)
            return rc;
        if (a->count >= max_rows || al_answer_is_full(a)) {
            *truncated = true;
            return al_answer_flush(a, err);
        }
        rc = al_answer_row(a, stmt, err);
        if (rc != AL_OK)
            return rc;
    }
}

static void write_result(sqlite3_stmt *stmt, const al_answer *a, bool truncated, uint64_t start,
                         al_buf *result)
{
    al_json_out o;

    al_json_out_init(&o, result);
    al_json_begin_object(&o);
    al_json_key(&o, "columns");
    al_json_begin_array(&o);
    for (int i = 0; i < sqlite3_column_count(stmt); i++)
        al_json_cstring(&o, sqlite3_column_name(stmt, i));
    al_json_end_array(&o);
    al_json_key(&o, "truncated");
    al_json_bool(&o, truncated);
    al_json_key(&o, "elapsedMs");
    al_json_int(&o, (int64_t)((al_clock_monotonic() - start) / 1000000));
    al_json_key(&o, "cut");
    al_answer_cut(a, &o);
    al_json_end_object(&o);
}

int al_query_run(int fd, int tmp, const al_query_options *o, al_link *link, al_buf *result,
                 al_err *err)
{
    uint64_t start = al_clock_monotonic();
    sqlite3_stmt *stmt = NULL;
    bool truncated = false;
    al_answer a = { 0 };
    al_guard *g;
    int rc = al_guard_open(&g, fd, tmp, err);

    if (rc != AL_OK)
        return rc;
    al_guard_limit(g, link, o->timeout_ms);
    al_link_deadline(link, o->timeout_ms + DEADLINE_GRACE);
    rc = al_guard_prepare(g, o->sql, o->len, &stmt, err);
    if (rc == AL_OK)
        rc = al_answer_open(&a, link, (size_t)sqlite3_column_count(stmt), (size_t)o->cell_bytes,
                            err);
    if (rc == AL_OK)
        rc = step_all(g, stmt, o->max_rows, &a, &truncated, err);
    al_link_no_deadline(link);
    if (rc == AL_OK)
        write_result(stmt, &a, truncated, start, result);
    sqlite3_finalize(stmt);
    al_guard_close(g);
    al_answer_close(&a);
    return rc;
}
