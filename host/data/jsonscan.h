/* Where objects end: goes over the text of JSON before it is read, so that it can be cut into
 * segments that any thread reads.
 *
 * In lines an object ends behind its line; else where the brackets outside strings say. Of text
 * that is no JSON that makes something, too, and the same wherever it is cut: who reads the segment
 * sees what it is. */
#ifndef AL_DATA_JSONSCAN_H
#define AL_DATA_JSONSCAN_H
#include "data/jsonrows.h"

/* Of a segment; small objects may have many columns all the same. */
#define AL_JSON_MOST_OBJECTS 65536

typedef struct al_json_scan {
    size_t at;        /* what was looked at, from the segment's front on */
    size_t end;       /* of the last object; 0: there is none */
    uint64_t objects; /* that end */
    uint64_t lines;   /* AL_JSON_LINES: line ends up to `at` */
    /* private */
    al_json_shape shape;
    size_t line;
    int64_t depth;
    bool inside, escaped;
} al_json_scan;

/* first: the text begins here, not behind an object. */
void al_json_scan_open(al_json_scan *c, al_json_shape shape, bool first);

/* Goes on over text, the first len bytes of which are there (and 64 readable ones behind). A call
 * that follows sees the same bytes, and more. last: the text ends there. True: the segment is
 * whole, for the last object is the first that ends at or behind limit, or it is one of
 * AL_JSON_MOST_OBJECTS. It stops early where one takes more than AL_JSON_MAX_RECORD: at - end says
 * so. */
bool al_json_scan_text(al_json_scan *c, const char *text, size_t len, bool last, size_t limit);

#endif
