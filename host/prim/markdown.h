/* Markdown as text for a terminal, by md4c. The text is hostile: it goes through al_text_visible,
 * so that no escape sequence but our own colours is in the result. */
#ifndef AL_PRIM_MARKDOWN_H
#define AL_PRIM_MARKDOWN_H
#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

#define AL_MARKDOWN_MAX (1u << 20) /* longer text is not read as Markdown but shown as it is */

/* Appends lines of at most `columns` (at least 20), the last one ended. */
int al_markdown(al_buf *out, const char *text, size_t len, size_t columns, bool colour,
                al_err *err);

#endif
