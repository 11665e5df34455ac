/* Objects of JSON, by RFC 8259, as rows of cells: a column a key, in the order in which keys are
 * first seen.
 *
 * A cell: a string is its text; a number what al_cell_parse makes of it as written; true and false
 * the texts of these names; null NULL, as is a key that an object does not have; an object or an
 * array its JSON as written, without white space between tokens. Of a key that stands twice in an
 * object the last value counts. Half of a surrogate pair is U+FFFD.
 *
 * The text of a file comes in segments that end where an object does, each parsed by an al_jsonrows
 * of its own, on any thread. */
#ifndef AL_DATA_JSONROWS_H
#define AL_DATA_JSONROWS_H
#include "base/err.h"
#include "data/cell.h"

#define AL_JSON_MAX_RECORD                                                                \
    (64u * 1024 * 1024)                /* bytes from the end of one object to that of the \
                                          next */
#define AL_JSON_MAX_KEY   (64u * 1024) /* bytes of a key */
#define AL_JSON_KEY_SPARE 8            /* readable bytes behind one */
#define AL_JSON_NOTED     10           /* line numbers kept of objects with repeated keys */

typedef enum al_json_shape {
    AL_JSON_LINES,  /* one object a line; lines may be blank */
    AL_JSON_STREAM, /* objects, each on lines of its own */
    AL_JSON_LIST    /* one array of objects */
} al_json_shape;

typedef struct al_json_segment {
    const char *text; /* valid UTF-8, borrowed while cells are used; 64 bytes behind are readable */
    size_t len;
    bool first;      /* the whole text begins here */
    bool last;       /* and ends here */
    uint64_t offset; /* of this in the whole text */
    uint64_t line;   /* that it begins in, from 1 */
    uint64_t column; /* characters of that line in front of it */
} al_json_segment;

typedef struct al_json_odd { /* what the user is told of */
    uint64_t repeats;        /* objects in which a key stands twice, */
    uint64_t lines[AL_JSON_NOTED];
    uint64_t replaced; /* halves of surrogate pairs */
} al_json_odd;

typedef struct al_jsonrows al_jsonrows;

int al_jsonrows_open(al_jsonrows **out, al_json_shape shape, const al_json_segment *segment,
                     size_t max_columns, size_t max_cell, al_err *err);
void al_jsonrows_close(al_jsonrows *r);

/* A key known before the segment: the next column. text is borrowed, AL_JSON_KEY_SPARE bytes behind
 * it are readable. AL_OK or AL_ENOMEM. */
int al_jsonrows_know(al_jsonrows *r, const char *text, size_t len);

/* The next rows, at most as many as are told; none at the end of the segment. They are as wide as
 * there are columns then: a row that brings a new key begins a batch. batch->cells live until the
 * next call, texts until al_jsonrows_close. "ingest_invalid" for what is no JSON or no table;
 * "ingest_limit" for too many columns, too long a cell, too deep a nest; with the line where there
 * is one. */
int al_jsonrows_next(al_jsonrows *r, size_t most, al_batch *batch, al_err *err);

/* Columns so far, and their keys, which live until al_jsonrows_close. */
size_t al_jsonrows_columns(const al_jsonrows *r);
const char *al_jsonrows_key(const al_jsonrows *r, size_t column, size_t *len);
const al_json_odd *al_jsonrows_odd(const al_jsonrows *r);

#endif
