/* Requests in, frames out. A request is JSON from a peer that is not trusted to be right: each
 * field is checked, and what is wrong with it is answered. */
#include "data/engine.h"
#include "base/err.h"
#include "base/json.h"
#include "data/aggregate.h"
#include "data/archive.h"
#include "data/describe.h"
#include "data/fields.h"
#include "data/format.h"
#include "data/ingest.h"
#include "data/link.h"
#include "data/lint.h"
#include "data/pool.h"
#include "data/query.h"
#include "data/rows.h"
#include "data/store.h"
#include "data/views.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REQUEST_MAX (2u * 1024 * 1024)
#define MAX_FORGET  10000

/* What stays in memory between requests; made when it is needed first. */
struct kept {
    al_store *store;
    al_views *views;
    al_guard *guard; /* of the dataset whose rows were asked for last, open as fd */
    int fd;
};

/* There is one guard at a time. */
static void drop_guard(struct kept *k)
{
    if (k->guard)
        al_guard_close(k->guard);
    if (k->fd >= 0)
        close(k->fd);
    k->guard = NULL;
    k->fd = -1;
}

struct request {
    const char *json;
    size_t len;
    int fds[AL_WIRE_MAX_FDS];
    int nfds;
    int tmp;
    struct kept *kept;
    al_link *link;
    al_buf texts[6]; /* strings of the request, kept while it is served */
    size_t ntexts;
};

static int bad_field(const char *key, const char *detail, al_err *err)
{
    return al_err_setf(err, AL_EINVAL, "internal", "request", "%s: %s", key, detail);
}

static bool has(const struct request *r, const char *key)
{
    const char *raw;
    size_t len;

    return al_json_get_raw(r->json, r->len, key, &raw, &len) &&
           !(len == 4 && memcmp(raw, "null", 4) == 0);
}

/* The string at key, NULL when there is none; never one with a NUL inside. */
static int get_text(struct request *r, const char *key, const char **out, size_t *len, al_err *err)
{
    al_buf *b;

    if (!has(r, key))
        return AL_OK;
    b = &r->texts[r->ntexts++];
    al_buf_init(b, REQUEST_MAX);
    if (!al_json_get_string(r->json, r->len, key, b))
        return bad_field(key, "not a text", err);
    *out = b->data ? b->data : "";
    if (len)
        *len = b->len;
    else if (strlen(*out) != b->len)
        return bad_field(key, "a NUL character inside", err);
    return AL_OK;
}

/* The integer at key of a JSON object, between least and most; *out is left when it is missing. */
static int get_number(const char *json, size_t len, const char *key, uint64_t least, uint64_t most,
                      uint64_t *out, al_err *err)
{
    const struct request r = { .json = json, .len = len };
    int64_t v;

    if (!has(&r, key))
        return AL_OK;
    if (!al_json_get_int(json, len, key, &v) || v < 0 || (uint64_t)v < least || (uint64_t)v > most)
        return al_err_setf(err, AL_EINVAL, "internal", "request",
                           "%s: not an integer between %llu and %llu", key,
                           (unsigned long long)least, (unsigned long long)most);
    *out = (uint64_t)v;
    return AL_OK;
}

static int need_fds(const struct request *r, int n, al_err *err)
{
    if (r->nfds == n)
        return AL_OK;
    return al_err_setf(err, AL_EINVAL, "internal", "request", "%d descriptors came, %d are needed",
                       r->nfds, n);
}

static int get_limits(const struct request *r, al_ingest_options *o, al_err *err)
{
    const struct {
        const char *key;
        uint64_t least, most, *out;
    } limits[] = {
        { "maxRows", 1, UINT32_MAX, &o->max_rows },
        { "maxColumns", 1, AL_DATASET_MAX_COLUMNS, &o->max_columns },
        { "maxCellBytes", 1, 16u << 20, &o->max_cell_bytes },
        { "maxFileBytes", 1, INT64_MAX, &o->max_file_bytes },
    };
    const char *json;
    size_t len;
    int rc = AL_OK;

    if (!has(r, "limits"))
        return AL_OK;
    if (!al_json_get_raw(r->json, r->len, "limits", &json, &len) || *json != '{')
        return bad_field("limits", "not an object", err);
    for (size_t i = 0; i < sizeof limits / sizeof limits[0] && rc == AL_OK; i++)
        rc = get_number(json, len, limits[i].key, limits[i].least, limits[i].most, limits[i].out,
                        err);
    return rc;
}

static int ingest(struct request *r, al_buf *result, al_err *err)
{
    al_ingest_options o;
    bool header;
    int rc = need_fds(r, 2, err);

    al_ingest_defaults(&o);
    if (rc == AL_OK)
        rc = get_text(r, "name", &o.name, NULL, err);
    if (rc == AL_OK)
        rc = get_text(r, "format", &o.format, NULL, err);
    if (rc == AL_OK)
        rc = get_text(r, "encoding", &o.encoding, NULL, err);
    if (rc == AL_OK)
        rc = get_text(r, "delimiter", &o.delimiter, NULL, err);
    if (rc == AL_OK && has(r, "header")) {
        if (!al_json_get_bool(r->json, r->len, "header", &header))
            return bad_field("header", "not true or false", err);
        o.header = header;
    }
    if (rc == AL_OK)
        rc = get_number(r->json, r->len, "skip", 0, INT64_MAX, &o.skip, err);
    if (rc == AL_OK)
        rc = get_number(r->json, r->len, "sample", 0, INT32_MAX, &o.sample, err);
    if (rc == AL_OK)
        rc = get_number(r->json, r->len, "threads", 0, AL_POOL_MAX_THREADS, &o.threads, err);
    if (rc == AL_OK)
        rc = get_limits(r, &o, err);
    return rc == AL_OK ? al_ingest_run(&o, r->fds[0], r->fds[1], r->link, result, err) : rc;
}

static int describe(struct request *r, al_buf *result, al_err *err)
{
    uint64_t sample = 5;
    al_json_out o;
    int rc = need_fds(r, 1, err);

    drop_guard(r->kept);
    if (rc == AL_OK)
        rc = get_number(r->json, r->len, "sample", 0, INT32_MAX, &sample, err);
    if (rc != AL_OK)
        return rc;
    al_json_out_init(&o, result);
    al_json_begin_object(&o);
    rc = al_describe(r->fds[0], r->tmp, sample, &o, err);
    al_json_end_object(&o);
    return rc;
}

static int query(struct request *r, al_buf *result, al_err *err)
{
    al_query_options o = { .max_rows = 200, .timeout_ms = 5000, .cell_bytes = 2048 };
    int rc = need_fds(r, 1, err);

    drop_guard(r->kept);
    if (rc == AL_OK)
        rc = get_text(r, "sql", &o.sql, &o.len, err);
    if (rc == AL_OK && !o.sql)
        rc = bad_field("sql", "missing", err);
    if (rc == AL_OK)
        rc = get_number(r->json, r->len, "maxRows", 0, UINT32_MAX, &o.max_rows, err);
    if (rc == AL_OK)
        rc = get_number(r->json, r->len, "timeoutMs", 1, 86400000, &o.timeout_ms, err);
    if (rc == AL_OK)
        rc = get_number(r->json, r->len, "cellBytes", 16, AL_WIRE_MAX / 16, &o.cell_bytes, err);
    return rc == AL_OK ? al_query_run(r->fds[0], r->tmp, &o, r->link, result, err) : rc;
}

/* The raw JSON at key; what is wrong with it is found by who reads it. */
static void get_json(const struct request *r, const char *key, const char **json, size_t *len)
{
    if (has(r, key))
        al_json_get_raw(r->json, r->len, key, json, len);
}

static int forget_one(void *arg, size_t i, al_field item, al_err *err)
{
    int64_t id = 0;
    int rc = al_fields_integer(item, "forget", 1, INT64_MAX, &id, err);

    (void)i;
    if (rc == AL_OK && arg)
        al_views_drop(arg, (uint64_t)id);
    return rc;
}

/* Views that nobody wants any more are named in the next request about pages. */
static int forget(struct request *r, al_err *err)
{
    al_field ids = { NULL, 0 };

    get_json(r, "forget", &ids.json, &ids.len);
    return ids.json ? al_fields_each(ids, "forget", MAX_FORGET, forget_one, r->kept->views, err)
                    : AL_OK;
}

/* The columns that are kept, within what the request says. */
static int need_store(struct request *r, al_err *err)
{
    uint64_t budget = AL_STORE_BUDGET;
    int rc = get_number(r->json, r->len, "columnBytes", 0, INT64_MAX, &budget, err);

    if (rc == AL_OK && !r->kept->store)
        rc = al_store_open(&r->kept->store, err);
    if (rc == AL_OK)
        al_store_budget(r->kept->store, budget);
    return rc;
}

static int view(struct request *r, al_buf *result, al_err *err)
{
    al_view_options o = { .id = 0 };
    uint64_t threads = 0, rows = 0;
    int rc = need_fds(r, 1, err);

    if (rc == AL_OK)
        rc = forget(r, err);
    if (rc == AL_OK)
        rc = get_number(r->json, r->len, "view", 1, INT64_MAX, &o.id, err);
    if (rc == AL_OK && o.id == 0)
        rc = bad_field("view", "missing", err);
    if (rc == AL_OK)
        rc = get_text(r, "table", &o.table, NULL, err);
    if (rc == AL_OK)
        rc = get_number(r->json, r->len, "threads", 0, AL_WORK_MAX_THREADS, &threads, err);
    o.threads = (unsigned)threads;
    get_json(r, "sort", &o.sort, &o.sort_len);
    get_json(r, "filter", &o.filter, &o.filter_len);
    if (rc == AL_OK)
        rc = need_store(r, err);
    if (rc == AL_OK && !r->kept->views)
        rc = al_views_open(&r->kept->views, err);
    if (rc == AL_OK)
        rc = al_views_make(r->kept->views, r->kept->store, r->fds[0], &o, r->link, &rows, err);
    al_buf_printf(result, "{\"rows\":%llu}", (unsigned long long)rows);
    return rc;
}

/* A file that is open cannot be another one of the same number. */
static bool is_same_file(int a, int b)
{
    struct stat x, y;

    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* To open a dataset takes as long as a page. */
static int need_guard(struct request *r, al_err *err)
{
    struct kept *k = r->kept;
    int rc;

    if (k->guard && is_same_file(k->fd, r->fds[0]))
        return AL_OK;
    drop_guard(k);
    k->fd = fcntl(r->fds[0], F_DUPFD_CLOEXEC, 0);
    if (k->fd < 0)
        return al_err_errno(err, errno, "dataset");
    rc = al_guard_open(&k->guard, k->fd, r->tmp, err);
    if (rc != AL_OK)
        drop_guard(k);
    return rc;
}

static int rows(struct request *r, al_buf *result, al_err *err)
{
    al_rows_options o = { .first = 1, .count = 100, .cell_bytes = 2048 };
    uint64_t view_id = 0;
    int rc = need_fds(r, 1, err);

    if (rc == AL_OK)
        rc = forget(r, err);

    if (rc == AL_OK)
        rc = get_text(r, "table", &o.table, NULL, err);
    get_json(r, "columns", &o.columns, &o.columns_len);
    if (rc == AL_OK)
        rc = get_number(r->json, r->len, "first", 1, INT64_MAX, &o.first, err);
    if (rc == AL_OK)
        rc = get_number(r->json, r->len, "count", 0, UINT32_MAX, &o.count, err);
    if (rc == AL_OK)
        rc = get_number(r->json, r->len, "cellBytes", 16, AL_WIRE_MAX / 16, &o.cell_bytes, err);
    if (rc == AL_OK)
        rc = get_number(r->json, r->len, "view", 1, INT64_MAX, &view_id, err);
    if (rc == AL_OK && view_id)
        rc = al_views_find(r->kept->views, view_id, r->fds[0], &o.table, &o.order, &o.order_rows,
                           err);
    if (rc == AL_OK)
        rc = need_guard(r, err);
    return rc == AL_OK ? al_rows_run(r->kept->guard, &o, r->link, result, err) : rc;
}

static int aggregate(struct request *r, al_buf *result, al_err *err)
{
    al_aggregate_options o = { .table = NULL };
    uint64_t threads = 0;
    int rc = need_fds(r, 1, err);

    if (rc == AL_OK)
        rc = forget(r, err);
    if (rc == AL_OK)
        rc = get_text(r, "table", &o.table, NULL, err);
    if (rc == AL_OK)
        rc = get_number(r->json, r->len, "threads", 0, AL_WORK_MAX_THREADS, &threads, err);
    if (rc == AL_OK)
        rc = get_number(r->json, r->len, "timeoutMs", 1, 86400000, &o.timeout_ms, err);
    o.threads = (unsigned)threads;
    get_json(r, "filter", &o.filter, &o.filter_len);
    get_json(r, "groups", &o.groups, &o.groups_len);
    get_json(r, "samples", &o.samples, &o.samples_len);
    if (rc == AL_OK)
        rc = need_store(r, err);
    return rc == AL_OK ? al_aggregate_run(r->kept->store, r->fds[0], &o, r->link, result, err) : rc;
}

static int lint(struct request *r, al_buf *result, al_err *err)
{
    int rc = need_fds(r, 1, err);

    return rc == AL_OK ? al_lint_run(r->fds[0], result, err) : rc;
}

/* Says who is there; the host may ask to see whether the two fit. */
static int hello(struct request *r, al_buf *result, al_err *err)
{
    int rc = need_fds(r, 0, err);

    al_buf_printf(result, "{\"v\":%d,\"engine\":\"%s\"}", AL_WIRE_VERSION, AL_VERSION_TEXT);
    return rc;
}

static int dispatch(struct request *r, al_buf *result, al_err *err)
{
    static const struct {
        const char *op;
        int (*serve)(struct request *, al_buf *, al_err *);
    } ops[] = {
        { "hello", hello }, { "ingest", ingest }, { "describe", describe },   { "query", query },
        { "rows", rows },   { "view", view },     { "aggregate", aggregate }, { "lint", lint },
    };
    const char *op = NULL;
    int64_t version = 0;
    int rc;

    if (!al_json_get_int(r->json, r->len, "v", &version))
        return al_err_set(err, AL_EDATA, "internal", "request", "no JSON object with a version v");
    if (version != AL_WIRE_VERSION)
        return al_err_setf(err, AL_EVERSION, "internal", "request",
                           "version %lld, and this engine speaks %d", (long long)version,
                           AL_WIRE_VERSION);
    rc = get_text(r, "op", &op, NULL, err);
    if (rc != AL_OK)
        return rc;
    for (size_t i = 0; op && i < sizeof ops / sizeof ops[0]; i++)
        if (strcmp(ops[i].op, op) == 0)
            return ops[i].serve(r, result, err);
    return bad_field("op", op ? op : "missing", err);
}

static int answer_error(al_link *link, const al_err *failed)
{
    al_buf body;
    int rc;

    al_buf_init(&body, 0);
    al_err_json(failed, &body);
    rc = al_link_send(link, AL_WIRE_ERROR, &body, NULL);
    al_buf_free(&body);
    return rc;
}

/* AL_OK when the host heard of the end of the request, whatever that was. */
static int serve(struct request *r)
{
    al_err failed = { 0 };
    al_buf result;
    int rc;

    al_buf_init(&result, 0);
    rc = dispatch(r, &result, &failed);
    if (rc == AL_OK) {
        rc = al_link_send(r->link, AL_WIRE_RESULT, &result, &failed);
        if (rc != AL_OK && failed.code != AL_EIO) /* too large: still an answer */
            rc = answer_error(r->link, &failed);
    } else {
        rc = answer_error(r->link, &failed);
    }
    al_buf_free(&result);
    for (size_t i = 0; i < r->ntexts; i++)
        al_buf_free(&r->texts[i]);
    return rc;
}

void al_engine_prepare(int socket)
{
    int fds[AL_WIRE_MAX_FDS], nfds = AL_LATE ? AL_WIRE_MAX_FDS : 0;

    if (nfds == 0 || al_wire_peek(socket, fds, &nfds) != AL_OK)
        return; /* what is wrong is said when the request is read */
    if (nfds == 2 && al_format_needs_archive(fds[0])) /* an ingestion */
        al_archive_load(NULL);
    for (int i = 0; i < nfds; i++)
        close(fds[i]);
}

int al_engine_serve(int socket, int tmp)
{
    struct kept kept = { .fd = -1 };
    al_buf body;
    int got, rc = AL_OK;

    al_buf_init(&body, REQUEST_MAX);
    for (;;) {
        struct request r = { .tmp = tmp, .kept = &kept, .nfds = AL_WIRE_MAX_FDS };
        al_wire_type type;
        al_link link;

        al_link_init(&link, socket);
        r.link = &link;
        got = al_wire_recv(socket, &type, &body, r.fds, &r.nfds);
        if (got <= 0)
            break;
        r.json = body.data ? body.data : "";
        r.len = body.len;
        /* A cancel that came when its request was over means nothing any more. */
        if (type == AL_WIRE_REQUEST)
            rc = serve(&r);
        for (int i = 0; i < r.nfds; i++)
            close(r.fds[i]);
        if (rc != AL_OK || (type != AL_WIRE_REQUEST && type != AL_WIRE_CANCEL))
            break;
    }
    if (got < 0) {
        al_err failed = { 0 };
        al_link link;

        al_link_init(&link, socket);
        al_err_set(&failed, got, "internal", "request", "a frame that cannot be understood");
        answer_error(&link, &failed);
    }
    al_buf_free(&body);
    drop_guard(&kept);
    al_views_close(kept.views);
    if (kept.store)
        al_store_close(kept.store);
    return got == 0 ? 0 : 1;
}
