/* XML as events, for the parts of workbooks. No document type declaration is allowed in any. */
#ifndef AL_DATA_XML_H
#define AL_DATA_XML_H
#include "base/err.h"
#include "data/zip.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AL_XML_DEPTH 256        /* of elements in each other */
#define AL_XML_TOKEN (4u << 20) /* bytes of one tag, comment … */

/* Texts of names and values live while the event does. Values end in a NUL, unless `scan` was asked
 * for. */
typedef struct al_xml_name {
    const char *local; /* without its prefix */
    size_t len;
    const char *space; /* the prefix or, with namespaces, the URI; "" where there is none */
    size_t space_len;
} al_xml_name;

typedef struct al_xml_attr {
    al_xml_name name;
    const char *value;
    size_t len;
} al_xml_attr;

typedef struct al_xml al_xml;

/* What is not AL_OK stops the parser, and is what it returns; *err is the handler's to fill. */
typedef struct al_xml_events {
    int (*start)(void *data, const al_xml_name *name, const al_xml_attr *attrs, size_t n,
                 al_err *err);
    int (*end)(void *data, const al_xml_name *name, al_err *err);
    int (*text)(void *data, const char *text, size_t len, al_err *err); /* in any pieces; or NULL */
    int (*step)(void *data, al_err *err); /* now and then: progress, cancel; or NULL */
    bool namespaces;                      /* spaces are URIs */
    bool scan; /* by data/xmlscan.h, as far as that goes; not with namespaces */
} al_xml_events;

/* part: names the document in errors; borrowed, as the rest is. Errors: "ingest_invalid" for what
 * is not well-formed or has a DTD, with the part and the offset in it. */
int al_xml_open(al_xml **out, const char *part, const al_xml_events *events, void *data,
                al_err *err);
void al_xml_close(al_xml *x);
/* The next bytes of the document; with `last` they end it. *used: those that need not be given
 * again, in front of the ones that follow (all, with `last`). */
int al_xml_feed(al_xml *x, const char *bytes, size_t len, bool last, size_t *used, al_err *err);
/* In a start or an end: the offset in the document of the byte behind it. */
uint64_t al_xml_offset(const al_xml *x);

/* Reads a whole entry of the zip; *out, while it does, is the parser. */
int al_xml_part(al_zip *zip, const al_zip_entry *entry, const al_xml_events *events, void *data,
                al_xml **out, al_err *err);

/* The attribute without a prefix of that name, or NULL. */
const al_xml_attr *al_xml_attr_of(const al_xml_attr *attrs, size_t n, const char *name);

/* A name as it is written, `space` and its separator in front or not. */
static inline void al_xml_split(al_xml_name *name, const char *text, size_t len, char separator)
{
    const char *at = len > 1 ? (const char *)__builtin_memchr(text, separator, len) : NULL;

    name->space = at ? text : "";
    name->space_len = at ? (size_t)(at - text) : 0;
    name->local = at ? at + 1 : text;
    name->len = at ? len - name->space_len - 1 : len;
}

static inline bool al_xml_is(const char *text, size_t len, const char *want, size_t want_len)
{
    return len == want_len && __builtin_memcmp(text, want, want_len) == 0;
}
/* AL_XML_IS(name, "row"): its local name is that. */
#define AL_XML_IS(name, text) al_xml_is((name)->local, (name)->len, text, sizeof(text) - 1)

#endif
