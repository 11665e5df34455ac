/* data/xmlscan against expat: of any bytes, in any pieces, both readers make the same events at the
 * same offsets, and both accept or neither does. */
#include "base/buf.h"
#include "data/feed.h"
#include "data/xml.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct log {
    al_buf b;
    al_xml *xml;
};

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void put_name(al_buf *b, const al_xml_name *name)
{
    al_buf_add(b, name->space, name->space_len);
    al_buf_char(b, '\1');
    al_buf_add(b, name->local, name->len);
    al_buf_char(b, '\2');
}

static int on_start(void *data, const al_xml_name *name, const al_xml_attr *attrs, size_t n,
                    al_err *err)
{
    struct log *l = data;

    (void)err;
    al_buf_printf(&l->b, "\3%llu", (unsigned long long)al_xml_offset(l->xml));
    put_name(&l->b, name);
    for (size_t i = 0; i < n; i++) {
        put_name(&l->b, &attrs[i].name);
        al_buf_add(&l->b, attrs[i].value, attrs[i].len);
    }
    return l->b.failed;
}

static int on_end(void *data, const al_xml_name *name, al_err *err)
{
    struct log *l = data;

    (void)err;
    al_buf_printf(&l->b, "\4%llu", (unsigned long long)al_xml_offset(l->xml));
    put_name(&l->b, name);
    return l->b.failed;
}

static int on_text(void *data, const char *text, size_t len, al_err *err)
{
    (void)err;
    check(len > 0);
    return al_buf_add(&((struct log *)data)->b, text, len);
}

/* Pieces of `piece` bytes, in memory of their own size. */
static int read_in(const uint8_t *data, size_t size, size_t piece, bool scan, struct log *l)
{
    const al_xml_events events = {
        .start = on_start, .end = on_end, .text = on_text, .scan = scan
    };
    size_t from = 0, to = 0, used;
    al_err err = { 0 };
    int rc;

    al_buf_init(&l->b, 0);
    rc = al_xml_open(&l->xml, "part", &events, l, &err);
    for (bool last = false; rc == AL_OK && !last;) {
        char *copy;

        to = size - to < piece ? size : to + piece;
        last = to == size;
        copy = malloc(to - from + 1);
        memcpy(copy, data + from, to - from);
        rc = al_xml_feed(l->xml, copy, to - from, last, &used, &err);
        free(copy);
        check(used <= to - from);
        from += used;
        check(rc != AL_OK || to - from <= AL_FEED_KEEP);
        check(rc != AL_OK || !last || from == to);
    }
    check(rc == err.code && (rc == AL_OK || strcmp(err.id, "ingest_invalid") == 0));
    al_xml_close(l->xml);
    return rc;
}

/* In front of an error, expat may keep a text to itself. */
static bool same(const al_buf *a, const al_buf *b, bool to_the_end)
{
    size_t len = a->len < b->len ? a->len : b->len;

    return (a->len == b->len || !to_the_end) && (len == 0 || memcmp(a->data, b->data, len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t pieces[] = { size + 1, 1 + size % 13 };
    struct log expat, scanner;
    int rc = read_in(data, size, size + 1, false, &expat);

    for (size_t i = 0; i < 2; i++) {
        check(read_in(data, size, pieces[i], true, &scanner) == rc);
        check(same(&scanner.b, &expat.b, rc == AL_OK));
        al_buf_free(&scanner.b);
    }
    al_buf_free(&expat.b);
    return 0;
}
