/* Server-sent events: bytes in, events out, whatever the pieces they come in.
 *
 * By the WHATWG rules: lines end in LF, CRLF or CR and in nothing else, one byte-order mark at the
 * start is dropped, comments and unknown fields are ignored, data lines are joined by LF, and a
 * blank line without data before it makes no event. Bytes that are not UTF-8 become U+FFFD. Beyond
 * them: al_sse_finish hands out an event whose last blank line never came. */
#ifndef AL_PRIM_SSE_H
#define AL_PRIM_SSE_H
#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AL_SSE_LINE_MAX  (8u * 1024 * 1024)
#define AL_SSE_EVENT_MAX (16u * 1024 * 1024)

typedef struct al_sse {
    /* the event after a call that answered 1, until the next call */
    const char *data; /* never NULL then */
    size_t data_len;
    const char *event; /* its type, "" for none; NUL-terminated */
    const char *id;    /* the last id of the stream, "" for none; NUL-terminated */
    int64_t retry;     /* milliseconds, -1 when this event named none */
    /* private */
    al_buf line, text, type, last_id, clean;
    int64_t new_retry;
    size_t mark; /* bytes of the byte-order mark seen, 3 once that is settled */
    bool has_data, skip_lf, spent;
} al_sse;

/* Limits in bytes of one line and of all data of one event. */
void al_sse_init(al_sse *p, size_t line_max, size_t event_max);
void al_sse_free(al_sse *p);

/* Reads on in *bytes and moves it forward. 1: an event; call again for the next. 0: all is read.
 * AL_ELIMIT (`io_error`, reason `maxBytes`) or AL_ENOMEM: the stream cannot be followed further. */
int al_sse_next(al_sse *p, const char **bytes, size_t *len, al_err *err);
/* The stream is over: 1 when an event stood unfinished, else 0, or as al_sse_next. */
int al_sse_finish(al_sse *p, al_err *err);

#endif
