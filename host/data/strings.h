/* The shared strings of a workbook: one run of bytes and where each string ends. */
#ifndef AL_DATA_STRINGS_H
#define AL_DATA_STRINGS_H
#include "base/err.h"
#include "data/cell.h"
#include "data/xml.h"
#include <stddef.h>
#include <stdint.h>

#define AL_STRINGS_BYTES (UINT32_C(1) << 31) /* all strings have less: an end has a bit left */
#define AL_STRINGS_PLAIN (UINT32_C(1) << 31) /* in an end: a text, and no number written as one */

typedef struct al_strings {
    char *bytes;
    size_t used, room;
    uint32_t *ends;
    size_t count, ends_room;
} al_strings;

/* Reads the part: texts of all runs of a string, without its phonetic guides. step as in
 * al_xml_events. "ingest_limit" for a string of more than max_cell bytes, or
 * too many in all. */
int al_strings_read(al_strings *s, al_zip *zip, const al_zip_entry *entry, uint64_t max_cell,
                    int (*step)(void *data, al_err *err), void *data, al_err *err);
void al_strings_free(al_strings *s);

/* What al_cell_parse makes of string `index` < count. */
static inline void al_strings_cell(const al_strings *s, size_t index, al_cell *cell)
{
    size_t from = index ? s->ends[index - 1] & ~AL_STRINGS_PLAIN : 0;
    size_t len = (s->ends[index] & ~AL_STRINGS_PLAIN) - from;

    if (s->ends[index] & AL_STRINGS_PLAIN)
        *cell = al_cell_text(s->bytes + from, len);
    else
        al_cell_parse(cell, s->bytes + from, len);
}

/* Texts of workbooks spell characters that XML cannot hold as _xHHHH_ (UTF-16): replaces them in
 * place, returns the new length. Halves of pairs become U+FFFD. */
size_t al_strings_unescape(char *text, size_t len);

#endif
