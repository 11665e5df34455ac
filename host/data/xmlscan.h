/* A scanner for XML as programs write it: tags, texts, the usual references. It gives the events of
 * data/xml.h for what it knows and stops in front of the first token that is anything else, be it
 * unusual or wrong: it has no opinion on that, and expat goes on from there. */
#ifndef AL_DATA_XMLSCAN_H
#define AL_DATA_XMLSCAN_H
#include "data/xml.h"

#define AL_XMLSCAN_ATTRS 32

typedef struct al_xmlscan {
    const al_xml_events *events;
    void *data;
    uint64_t at;     /* bytes of the document that were taken */
    uint64_t behind; /* in an event: as al_xml_offset */
    bool begun;      /* the declaration, if any, is behind */
    bool ended;      /* the root is closed */
    /* the elements that are open: names one behind the other, and where each begins */
    char *names;
    size_t names_len, names_room;
    size_t starts[AL_XML_DEPTH];
    size_t depth;
    al_xml_attr attrs[AL_XMLSCAN_ATTRS];
} al_xmlscan;

typedef enum al_xmlscan_end {
    AL_XMLSCAN_MORE,   /* all tokens that are whole were taken */
    AL_XMLSCAN_OTHER,  /* what comes next is for expat */
    AL_XMLSCAN_STOPPED /* a handler said so: *rc */
} al_xmlscan_end;

/* Takes bytes from the front: *used of them. */
al_xmlscan_end al_xmlscan_feed(al_xmlscan *s, const char *bytes, size_t len, size_t *used, int *rc,
                               al_err *err);
void al_xmlscan_free(al_xmlscan *s);

#endif
