/* Steps a statement and sends its rows. */
#include "data/query.h"
#include "base/clock.h"
#include "base/json.h"
#include "data/answer.h"
#include "data/sqlguard.h"
#include <stdlib.h>
#include <string.h>

#define FRAME_BYTES    (256u * 1024)
#define MAX_CUT_BYTES  (4u * 1024 * 1024) /* of the list of cut cells */
#define DEADLINE_GRACE 150                /* ms behind the time-out, for what cannot be stopped */

struct rows {
    al_link *link;
    al_json_out o;
    al_buf json;  /* rows not sent yet, with commas between */
    al_buf kinds; /* of those */
    al_buf cut;
    char *letters; /* of one row */
    uint64_t count, sent_bytes;
};

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "query", "not enough memory");
}

static int send_rows(struct rows *r, al_err *err)
{
    al_buf frame;
    int rc;

    if (r->json.len == 0)
        return AL_OK;
    al_buf_init(&frame, 0);
    al_buf_str(&frame, "{\"rows\":[");
    al_buf_add(&frame, r->json.data, r->json.len);
    al_buf_str(&frame, "],\"kinds\":[");
    al_buf_add(&frame, r->kinds.data, r->kinds.len);
    al_buf_str(&frame, "]}");
    rc = al_link_send(r->link, AL_WIRE_ROWS, &frame, err);
    r->sent_bytes += frame.len;
    al_buf_free(&frame);
    al_buf_clear(&r->json);
    al_buf_clear(&r->kinds);
    al_json_out_init(&r->o, &r->json);
    return rc;
}

static int add_row(struct rows *r, sqlite3_stmt *stmt, size_t columns, size_t max, al_err *err)
{
    al_json_begin_array(&r->o);
    for (size_t i = 0; i < columns; i++)
        if (al_answer_cell(&r->o, stmt, (int)i, max, &r->letters[i]))
            al_buf_printf(&r->cut, "%s[%llu,%zu]", r->cut.len ? "," : "",
                          (unsigned long long)r->count, i);
    al_json_end_array(&r->o);
    if (r->kinds.len)
        al_buf_char(&r->kinds, ',');
    al_json_quote(&r->kinds, r->letters, columns);
    r->count++;
    if (r->json.failed || r->kinds.failed || r->cut.failed)
        return no_memory(err);
    return r->json.len >= FRAME_BYTES ? send_rows(r, err) : AL_OK;
}

static bool is_full(const struct rows *r, uint64_t max_rows)
{
    return r->count >= max_rows || r->sent_bytes + r->json.len >= AL_QUERY_MAX_BYTES ||
           r->cut.len >= MAX_CUT_BYTES;
}

static int step_all(al_guard *g, sqlite3_stmt *stmt, const al_query_options *o, struct rows *r,
                    bool *truncated, al_err *err)
{
    size_t columns = (size_t)sqlite3_column_count(stmt);

    r->letters = calloc(columns + 1, 1);
    if (!r->letters)
        return no_memory(err);
    for (;;) {
        int rc = al_guard_step(g, stmt, err);

        if (rc == SQLITE_DONE)
            return send_rows(r, err);
        if (rc != SQLITE_ROW)
            return rc;
        if (is_full(r, o->max_rows)) {
            *truncated = true;
            return send_rows(r, err);
        }
        rc = add_row(r, stmt, columns, (size_t)o->cell_bytes, err);
        if (rc != AL_OK)
            return rc;
    }
}

static void write_result(sqlite3_stmt *stmt, const struct rows *r, bool truncated, uint64_t start,
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
    al_json_begin_array(&o);
    if (r->cut.len)
        al_json_raw(&o, r->cut.data, r->cut.len);
    al_json_end_array(&o);
    al_json_end_object(&o);
}

int al_query_run(int fd, int tmp, const al_query_options *o, al_link *link, al_buf *result,
                 al_err *err)
{
    uint64_t start = al_clock_monotonic();
    struct rows r = { .link = link };
    sqlite3_stmt *stmt = NULL;
    bool truncated = false;
    al_guard *g;
    int rc = al_guard_open(&g, fd, tmp, err);

    if (rc != AL_OK)
        return rc;
    al_json_out_init(&r.o, &r.json);
    al_guard_limit(g, link, o->timeout_ms);
    al_link_deadline(link, o->timeout_ms + DEADLINE_GRACE);
    rc = al_guard_prepare(g, o->sql, o->len, &stmt, err);
    if (rc == AL_OK)
        rc = step_all(g, stmt, o, &r, &truncated, err);
    al_link_no_deadline(link);
    if (rc == AL_OK)
        write_result(stmt, &r, truncated, start, result);
    sqlite3_finalize(stmt);
    al_guard_close(g);
    al_buf_free(&r.json);
    al_buf_free(&r.kinds);
    al_buf_free(&r.cut);
    free(r.letters);
    return rc;
}
