/* prim/sse on any bytes: the same events whole and in pieces, each of them valid UTF-8 and within
 * the limits. */
#include "base/utf8.h"
#include "prim/sse.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES  100
#define EVENT_MAX_BYTES 200

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void add_event(al_buf *out, const al_sse *p)
{
    /* one byte that was not UTF-8 became three */
    check(p->data_len <= 3 * EVENT_MAX_BYTES && strlen(p->event) <= LINE_MAX_BYTES);
    check(al_utf8_valid(p->data, p->data_len) == p->data_len);
    check(p->retry >= -1 && !memchr(p->id, '\n', strlen(p->id)));
    al_buf_printf(out, "%s|%s|%lld|", p->event, p->id, (long long)p->retry);
    al_buf_add(out, p->data, p->data_len);
    al_buf_char(out, '\n');
}

static void parse(const uint8_t *data, size_t size, size_t step, al_buf *out)
{
    al_sse p;
    al_err err = { 0 };
    int rc = 0;

    al_sse_init(&p, LINE_MAX_BYTES, EVENT_MAX_BYTES);
    for (size_t at = 0; at < size && rc >= 0; at += step) {
        size_t len = size - at < step ? size - at : step;
        const char *bytes = (const char *)data + at, *end = bytes + len;
        while ((rc = al_sse_next(&p, &bytes, &len, &err)) == 1)
            add_event(out, &p);
        check(rc < 0 || (len == 0 && bytes == end));
    }
    if (rc >= 0 && (rc = al_sse_finish(&p, &err)) == 1)
        add_event(out, &p);
    if (rc < 0) {
        check(rc == AL_ELIMIT && err.code == rc);
        al_buf_str(out, "limit");
    }
    al_sse_free(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    al_buf whole = { 0 }, pieces = { 0 };

    if (size < 2)
        return 0;
    parse(data + 1, size - 1, size, &whole);
    parse(data + 1, size - 1, 1 + data[0] % 7u, &pieces);
    check(whole.len == pieces.len &&
          (!whole.len || memcmp(whole.data, pieces.data, whole.len) == 0));
    al_buf_free(&whole);
    al_buf_free(&pieces);
    return 0;
}
