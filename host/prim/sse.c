/* See sse.h. A line that lies whole in the caller's bytes is read there; only the pieces of a cut
 * one are collected. */
#include "prim/sse.h"
#include "base/utf8.h"
#include <string.h>

void al_sse_init(al_sse *p, size_t line_max, size_t event_max)
{
    *p = (al_sse){ .retry = -1, .new_retry = -1 };
    al_buf_init(&p->line, line_max);
    al_buf_init(&p->text, event_max);
    al_buf_init(&p->type, line_max);
    al_buf_init(&p->last_id, line_max);
    al_buf_init(&p->clean, 0);
}

void al_sse_free(al_sse *p)
{
    al_buf_free(&p->line);
    al_buf_free(&p->text);
    al_buf_free(&p->type);
    al_buf_free(&p->last_id);
    al_buf_free(&p->clean);
}

static int fail(const al_buf *b, al_err *err)
{
    if (b->failed != AL_ELIMIT)
        return al_err_set(err, AL_ENOMEM, "internal", "event stream", "not enough memory");
    al_err_setf(err, AL_ELIMIT, "io_error", "event stream", "more than %zu bytes in one piece",
                b->max);
    return al_err_reason(err, AL_ELIMIT, "maxBytes");
}

static int set(al_buf *b, const char *bytes, size_t len, al_err *err)
{
    al_buf_clear(b);
    return al_buf_add(b, bytes, len) == AL_OK ? AL_OK : fail(b, err);
}

static bool is(const char *name, size_t len, const char *field)
{
    return len == strlen(field) && memcmp(name, field, len) == 0;
}

static void set_retry(al_sse *p, const char *value, size_t len)
{
    int64_t ms = 0;

    if (len == 0 || len > 12)
        return;
    for (size_t i = 0; i < len; i++) {
        if (value[i] < '0' || value[i] > '9')
            return;
        ms = ms * 10 + (value[i] - '0');
    }
    p->new_retry = ms;
}

/* One line that is not blank. */
static int field(al_sse *p, const char *line, size_t len, al_err *err)
{
    const char *colon = memchr(line, ':', len);
    size_t name_len = colon ? (size_t)(colon - line) : len;
    const char *value = colon ? colon + 1 : line + len;
    size_t value_len = (size_t)(line + len - value);

    if (value_len > 0 && *value == ' ') {
        value++;
        value_len--;
    }
    if (is(line, name_len, "data")) {
        if (p->has_data)
            al_buf_char(&p->text, '\n');
        p->has_data = true;
        return al_buf_add(&p->text, value, value_len) == AL_OK ? AL_OK : fail(&p->text, err);
    }
    if (is(line, name_len, "event"))
        return set(&p->type, value, value_len, err);
    if (is(line, name_len, "id") && !memchr(value, '\0', value_len))
        return set(&p->last_id, value, value_len, err);
    if (is(line, name_len, "retry"))
        set_retry(p, value, value_len);
    return AL_OK;
}

/* Points at text as UTF-8, through `clean` when some of it is not. */
static int make_valid(al_sse *p, al_err *err)
{
    const char *at = p->text.data;
    size_t len = p->text.len, good = al_utf8_valid(at, len);

    if (good == len)
        return AL_OK;
    al_buf_clear(&p->clean);
    while (len > 0) {
        al_buf_add(&p->clean, at, good);
        at += good;
        len -= good;
        if (len > 0) {
            al_buf_str(&p->clean, "\xef\xbf\xbd");
            at++;
            len--;
            good = al_utf8_valid(at, len);
        }
    }
    if (p->clean.failed)
        return fail(&p->clean, err);
    p->data = p->clean.data;
    p->data_len = p->clean.len;
    return AL_OK;
}

/* A blank line: 1 when it ends an event. What the event is made of stays until the next call. */
static int dispatch(al_sse *p, al_err *err)
{
    if (!p->has_data) {
        al_buf_clear(&p->type);
        return 0;
    }
    p->spent = true;
    p->data = p->text.len ? p->text.data : "";
    p->data_len = p->text.len;
    p->event = p->type.len ? p->type.data : "";
    p->id = p->last_id.len ? p->last_id.data : "";
    p->retry = p->new_retry;
    if (p->text.len == 0)
        return 1;
    int rc = make_valid(p, err);
    return rc < 0 ? rc : 1;
}

static void forget(al_sse *p)
{
    if (!p->spent)
        return;
    al_buf_clear(&p->text);
    al_buf_clear(&p->type);
    p->new_retry = -1;
    p->has_data = p->spent = false;
}

/* Drops the byte-order mark, which may come in pieces; what only looked like one is given back. */
static int skip_mark(al_sse *p, const char **bytes, size_t *len, al_err *err)
{
    static const char mark[] = "\xef\xbb\xbf";

    while (p->mark < 3 && *len > 0 && **bytes == mark[p->mark]) {
        ++*bytes;
        --*len;
        p->mark++;
    }
    if (p->mark == 3 || *len == 0)
        return AL_OK;
    al_buf_add(&p->line, mark, p->mark);
    p->mark = 3;
    return p->line.failed ? fail(&p->line, err) : AL_OK;
}

static int end_line(al_sse *p, const char *line, size_t len, al_err *err)
{
    int rc;

    if (p->line.len > 0) {
        if (al_buf_add(&p->line, line, len) != AL_OK)
            return fail(&p->line, err);
        line = p->line.data;
        len = p->line.len;
    } else if (p->line.max && len > p->line.max) {
        p->line.failed = AL_ELIMIT;
        return fail(&p->line, err);
    }
    rc = len == 0 ? dispatch(p, err) : *line == ':' ? 0 : field(p, line, len, err);
    al_buf_clear(&p->line);
    return rc;
}

int al_sse_next(al_sse *p, const char **bytes, size_t *len, al_err *err)
{
    int rc = AL_OK;

    forget(p);
    if (p->mark < 3 && (rc = skip_mark(p, bytes, len, err)) < 0)
        return rc;
    if (p->skip_lf && *len > 0) {
        p->skip_lf = false;
        if (**bytes == '\n') {
            ++*bytes;
            --*len;
        }
    }
    while (*len > 0) {
        const char *line = *bytes;
        size_t n = 0;
        while (n < *len && line[n] != '\n' && line[n] != '\r')
            n++;
        if (n == *len) {
            *bytes += n;
            *len = 0;
            return al_buf_add(&p->line, line, n) == AL_OK ? 0 : fail(&p->line, err);
        }
        size_t used = n + 1;
        if (line[n] == '\r' && used < *len && line[used] == '\n')
            used++;
        else
            p->skip_lf = line[n] == '\r' && used == *len;
        *bytes += used;
        *len -= used;
        if ((rc = end_line(p, line, n, err)) != 0)
            return rc;
    }
    return 0;
}

int al_sse_finish(al_sse *p, al_err *err)
{
    int rc;

    forget(p);
    if (p->line.len > 0 && (rc = end_line(p, "", 0, err)) < 0)
        return rc;
    return dispatch(p, err);
}
