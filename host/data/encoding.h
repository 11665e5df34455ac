/* A file's text as valid UTF-8, seen through a window that moves over it.
 *
 * UTF-16 by its byte-order mark; else UTF-8, with a mark or without, while the bytes are that; else
 * windows-1252. Whether a file is UTF-8 is known only at its end, so the text of one that is not
 * may be read a long way as if it were: al_window_more then answers AL_EDATA with reason "utf8",
 * and the caller begins again with "windows-1252". Nothing is lost in any of them: the five bytes
 * that windows-1252 does not assign become the control characters of the same number. Halves of
 * surrogate pairs in UTF-16 are no characters; they become U+FFFD and are counted. */
#ifndef AL_DATA_ENCODING_H
#define AL_DATA_ENCODING_H
#include "base/err.h"
#include "data/source.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AL_WINDOW_BYTES   (1024u * 1024) /* of text, at first, unless told otherwise */
#define AL_WINDOW_PADDING 64             /* readable zero bytes behind the text */

typedef struct al_window {
    const char *data;
    size_t len;
    bool last;         /* the text ends with the window */
    uint64_t offset;   /* of data in the text; a byte-order mark is no part of it */
    uint64_t replaced; /* halves of surrogate pairs so far */
    /* private */
    struct al_decoder *decoder;
} al_window;

/* encoding: utf-8, utf-16le, utf-16be, windows-1252 (their usual other names too), or NULL to find
 * out. bytes: the window's first size, at least 16, or 0. The source is borrowed and stands at its
 * byte 0. "ingest_invalid" for an unknown name. The window is empty until al_window_more. */
int al_window_open(al_window *w, al_source_file *source, const char *encoding, size_t bytes,
                   al_err *err);
void al_window_close(al_window *w);

/* Drops the first `used` bytes of the window and fills it: it grows when it was full of what is
 * kept, so each call brings more text or sets `last`. In UTF-8, whether asked for or found by its
 * mark or assumed, wrong bytes are AL_EDATA, "ingest_invalid", reason "utf8", with their offset in
 * the file. */
int al_window_more(al_window *w, size_t used, al_err *err);

/* Gives the buffer with the text away, the caller goes on with its first `used` bytes (what follows
 * them stays readable); the window has a new one with the rest. al_window_give takes one back, on
 * any thread, before the window is closed. NULL without memory. */
char *al_window_take(al_window *w, size_t used);
void al_window_give(al_window *w, char *text);

const char *al_window_encoding(const al_window *w); /* static: the name that results report */

#endif
