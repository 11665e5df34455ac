/* Text on a terminal: how wide it is, where it may be cut, and how to show what must not act.
 *
 * Width is counted by grapheme clusters. Colour sequences (ESC [ … m) have no width and are kept
 * whole; other control characters count nothing. Text that is not from the program itself goes
 * through al_text_visible first. All append to out; AL_OK or out->failed. */
#ifndef AL_PRIM_TEXT_H
#define AL_PRIM_TEXT_H
#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>

#define AL_SGR_RESET  "\033[0m"
#define AL_SGR_STRONG "\033[1m"
#define AL_SGR_QUIET  "\033[2m"
#define AL_SGR_SLANT  "\033[3m"
#define AL_SGR_ACCENT "\033[36m"

size_t al_text_width(const char *text, size_t len);
/* The bytes of the next cluster (or colour sequence) and its columns; 0 at the end. A byte that is
 * no UTF-8 is a cluster of one column. */
size_t al_text_next(const char *text, size_t len, int *columns);
/* At most `columns` wide; what was cut ends in "…". */
int al_text_truncate(al_buf *out, const char *text, size_t len, size_t columns);
/* Lines of at most `columns`, joined by line feeds: broken at spaces and before wide characters, a
 * longer word where it must be. Colours that are on at a break are ended and begun again. */
int al_text_wrap(al_buf *out, const char *text, size_t len, size_t columns);
/* Control, format and bidi characters, U+2501 (the rule of an approval) and bytes that are no UTF-8
 * as \u001b, \u{e0041}, \x9b. Line feeds and tabs stay when `lines`. */
int al_text_visible(al_buf *out, const char *text, size_t len, bool lines);

#endif
