/* Expat's events as ours, or the scanner's until it meets what is not its business. */
#include "data/xml.h"
#include "base/buf.h"
#include "data/feed.h"
#include "data/xmlscan.h"
#include <expat.h>
#include <stdlib.h>
#include <string.h>

#define SEPARATOR '\f' /* between URI and name: no character of XML */

struct al_xml {
    const char *part;
    const al_xml_events *events;
    void *data;
    XML_Parser expat; /* NULL while it is the scanner's turn */
    al_xmlscan scan;
    uint64_t fed, base; /* bytes given to expat; where its first byte stands in the document */
    size_t depth;
    int rc; /* of a handler */
    al_err *err;
    al_xml_attr *attrs;
    size_t room;
};

static int no_memory(const al_xml *x, al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", x->part, "not enough memory");
}

static int invalid(const al_xml *x, const char *what, uint64_t offset, al_err *err)
{
    al_err_setf(err, AL_EDATA, "ingest_invalid", x->part, "%s (byte %llu of it)", what,
                (unsigned long long)offset);
    if (err)
        err->offset = offset;
    return al_err_reason(err, AL_EDATA, "xml");
}

static void stop(al_xml *x, int rc)
{
    if (rc == AL_OK || x->rc != AL_OK)
        return;
    x->rc = rc;
    XML_StopParser(x->expat, XML_FALSE);
}

static void split_given(const al_xml *x, al_xml_name *name, const char *text)
{
    al_xml_split(name, text, strlen(text), x->events->namespaces ? SEPARATOR : ':');
}

static uint64_t expat_offset(const al_xml *x)
{
    XML_Index at = XML_GetCurrentByteIndex(x->expat);

    return x->base + (at < 0 ? 0 : (uint64_t)at);
}

static void XMLCALL on_start(void *data, const XML_Char *name, const XML_Char **given)
{
    al_xml *x = data;
    al_xml_name own;
    size_t n = 0;

    if (x->rc != AL_OK)
        return;
    if (++x->depth > AL_XML_DEPTH) {
        stop(x, invalid(x, "elements nested too deeply", expat_offset(x), x->err));
        return;
    }
    for (; given[2 * n]; n++) {
        if (n == x->room) {
            size_t room = n ? n * 2 : 16;
            al_xml_attr *more = realloc(x->attrs, room * sizeof *more);

            if (!more) {
                stop(x, no_memory(x, x->err));
                return;
            }
            x->attrs = more;
            x->room = room;
        }
        split_given(x, &x->attrs[n].name, given[2 * n]);
        x->attrs[n].value = given[2 * n + 1];
        x->attrs[n].len = strlen(given[2 * n + 1]);
    }
    split_given(x, &own, name);
    stop(x, x->events->start(x->data, &own, x->attrs, n, x->err));
}

static void XMLCALL on_end(void *data, const XML_Char *name)
{
    al_xml *x = data;
    al_xml_name own;

    if (x->rc != AL_OK)
        return;
    x->depth--;
    split_given(x, &own, name);
    stop(x, x->events->end(x->data, &own, x->err));
}

static void XMLCALL on_text(void *data, const XML_Char *text, int len)
{
    al_xml *x = data;

    if (x->rc == AL_OK)
        stop(x, x->events->text(x->data, text, (size_t)len, x->err));
}

static void XMLCALL on_doctype(void *data, const XML_Char *name, const XML_Char *system,
                               const XML_Char *public_id, int subset)
{
    al_xml *x = data;

    (void)name, (void)system, (void)public_id, (void)subset;
    stop(x, invalid(x, "a document type declaration is not allowed", expat_offset(x), x->err));
}

static int open_expat(al_xml *x, const char *encoding, al_err *err)
{
    x->expat = x->events->namespaces ? XML_ParserCreateNS(encoding, SEPARATOR)
                                     : XML_ParserCreate(encoding);
    if (!x->expat)
        return no_memory(x, err);
    XML_SetUserData(x->expat, x);
    XML_SetStartDoctypeDeclHandler(x->expat, on_doctype);
    return AL_OK;
}

/* To be called before the first byte that is to make events. */
static void listen(al_xml *x)
{
    XML_SetElementHandler(x->expat, on_start, on_end);
    if (x->events->text)
        XML_SetCharacterDataHandler(x->expat, on_text);
}

/* Expat goes on where the scanner stopped: it is told the tags that are open there. */
static int hand_over(al_xml *x, al_err *err)
{
    const al_xmlscan *s = &x->scan;
    al_buf tags;
    int rc = open_expat(x, s->at ? "UTF-8" : NULL, err);

    if (rc != AL_OK)
        return rc;
    al_buf_init(&tags, 0);
    for (size_t i = 0; i < s->depth; i++) {
        size_t to = i + 1 < s->depth ? s->starts[i + 1] : s->names_len;

        al_buf_char(&tags, '<');
        al_buf_add(&tags, s->names + s->starts[i], to - s->starts[i]);
        al_buf_char(&tags, '>');
    }
    if (s->ended)
        al_buf_str(&tags, "<a/>");
    if (tags.failed || (tags.len && XML_Parse(x->expat, tags.data, (int)tags.len, 0) == 0))
        rc = no_memory(x, err);
    x->depth = s->depth;
    x->fed = tags.len;
    x->base = s->at - tags.len; /* may be below 0; sums come out right */
    al_buf_free(&tags);
    listen(x);
    return rc;
}

int al_xml_open(al_xml **out, const char *part, const al_xml_events *events, void *data,
                al_err *err)
{
    al_xml *x = calloc(1, sizeof *x);

    *out = x;
    if (!x)
        return al_err_set(err, AL_ENOMEM, "internal", part, "not enough memory");
    x->part = part;
    x->events = events;
    x->data = data;
    x->scan = (al_xmlscan){ .events = events, .data = data };
    if (events->scan)
        return AL_OK;
    if (open_expat(x, NULL, err) != AL_OK)
        return AL_ENOMEM;
    listen(x);
    return AL_OK;
}

void al_xml_close(al_xml *x)
{
    if (!x)
        return;
    if (x->expat)
        XML_ParserFree(x->expat);
    al_xmlscan_free(&x->scan);
    free(x->attrs);
    free(x);
}

uint64_t al_xml_offset(const al_xml *x)
{
    return x->expat ? expat_offset(x) + (uint64_t)XML_GetCurrentByteCount(x->expat)
                    : x->scan.behind;
}

static int feed_expat(al_xml *x, const char *bytes, size_t len, bool last, al_err *err)
{
    enum XML_Status status;

    x->err = err;
    status = XML_Parse(x->expat, bytes, (int)len, last);
    x->fed += len;
    if (x->rc != AL_OK)
        return x->rc;
    if (status == XML_STATUS_ERROR) {
        enum XML_Error code = XML_GetErrorCode(x->expat);

        return code == XML_ERROR_NO_MEMORY
                   ? no_memory(x, err)
                   : invalid(x, XML_ErrorString(code), expat_offset(x), err);
    }
    /* Expat looks at an unfinished token from its beginning each time. */
    if (!last && x->base + x->fed - expat_offset(x) > AL_XML_TOKEN)
        return invalid(x, "a tag that is too long", expat_offset(x), err);
    return AL_OK;
}

int al_xml_feed(al_xml *x, const char *bytes, size_t len, bool last, size_t *used, al_err *err)
{
    al_xmlscan_end end;
    int rc;

    *used = 0;
    if (!x->expat) {
        end = al_xmlscan_feed(&x->scan, bytes, len, used, &rc, err);
        if (end == AL_XMLSCAN_STOPPED)
            return rc;
        if (end == AL_XMLSCAN_MORE && len - *used <= AL_FEED_KEEP &&
            (!last || (*used == len && x->scan.ended)))
            return AL_OK;
        rc = hand_over(x, err);
        if (rc != AL_OK)
            return rc;
    }
    bytes += *used;
    len -= *used;
    *used += len;
    return feed_expat(x, bytes, len, last, err);
}

int al_xml_part(al_zip *zip, const al_zip_entry *entry, const al_xml_events *events, void *data,
                al_xml **out, al_err *err)
{
    al_feed *feed;
    al_xml *x = NULL;
    const char *bytes;
    size_t len, used, keep = 0;
    bool last = false;
    int rc = al_feed_open(&feed, zip, entry, err);

    if (rc == AL_OK)
        rc = al_xml_open(&x, entry->name, events, data, err);
    if (out)
        *out = x;
    while (rc == AL_OK && !last) {
        rc = al_feed_next(feed, keep, &bytes, &len, &last, err);
        if (rc == AL_OK)
            rc = al_xml_feed(x, bytes, len, last, &used, err);
        if (rc == AL_OK) {
            keep = len - used;
            rc = events->step ? events->step(data, err) : AL_OK;
        }
    }
    if (out)
        *out = NULL;
    al_xml_close(x);
    al_feed_close(feed);
    return rc;
}

const al_xml_attr *al_xml_attr_of(const al_xml_attr *attrs, size_t n, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < n; i++)
        if (attrs[i].name.space_len == 0 &&
            al_xml_is(attrs[i].name.local, attrs[i].name.len, name, len))
            return &attrs[i];
    return NULL;
}
