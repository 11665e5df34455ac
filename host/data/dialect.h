/* How delimited text is written: its delimiter, and whether its first row is a header. */
#ifndef AL_DATA_DIALECT_H
#define AL_DATA_DIALECT_H
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

#define AL_DIALECT_SAMPLE 65536 /* bytes of text that are looked at */

/* Finds the delimiter in the first len (up to AL_DIALECT_SAMPLE) bytes of a text, 16 readable bytes
 * behind them: the one of `,` `;` TAB `|` that splits most rows into the same number, above one, of
 * fields; where they tie the first in that order, or TAB when tabs are expected. One that leaves
 * the first row whole is none when another splits it, and most of its rows alike. whole: the text
 * has no more than len bytes.
 *
 * *single: it is one column. The first row is not split and most others neither, so that what looks
 * like a delimiter in some of them is text, and would be lost as such. */
int al_dialect_delimiter(const char *text, size_t len, bool whole, bool tabs, char *delimiter,
                         bool *single, al_err *err);

#endif
