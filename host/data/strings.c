/* Shared strings, collected as their part is read. */
#include "data/strings.h"
#include "base/utf8.h"
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ESCAPE       7 /* _xHHHH_ */
#define MOST_ESCAPED 8 /* at most bytes of the part for one of a text */

struct reading {
    al_strings *strings;
    const char *part;
    uint64_t max_cell;
    size_t from; /* where the string in work begins */
    bool item, take;
    unsigned guide; /* depth inside what is no text of the string */
    int (*step)(void *data, al_err *err);
    void *data;
};

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
}

static bool unit(const char *p, size_t len, uint32_t *out)
{
    uint32_t v = 0;

    if (len < ESCAPE || p[0] != '_' || p[1] != 'x' || p[6] != '_')
        return false;
    for (int i = 2; i < 6; i++) {
        char c = p[i], low = (char)(c | 0x20);

        if (c >= '0' && c <= '9')
            v = v << 4 | (uint32_t)(c - '0');
        else if (low >= 'a' && low <= 'f')
            v = v << 4 | (uint32_t)(low - 'a' + 10);
        else
            return false;
    }
    *out = v;
    return true;
}

size_t al_strings_unescape(char *text, size_t len)
{
    char *p = memchr(text, '_', len), *out = p, *end = text + len;
    uint32_t c, low;

    if (!p)
        return len;
    while (p < end) {
        if (*p != '_' || !unit(p, (size_t)(end - p), &c)) {
            *out++ = *p++;
            continue;
        }
        p += ESCAPE;
        if ((c & 0xFC00) == 0xD800 && unit(p, (size_t)(end - p), &low) &&
            (low & 0xFC00) == 0xDC00) {
            c = 0x10000 + ((c & 0x3FF) << 10 | (low & 0x3FF));
            p += ESCAPE;
        }
        out += al_utf8_encode((c & 0xFFFFF800) == 0xD800 ? 0xFFFD : c, out);
    }
    return (size_t)(out - text);
}

static int too_long(const struct reading *r, al_err *err)
{
    al_err_setf(err, AL_ELIMIT, "ingest_limit", "analysis.data.maxCellBytes",
                "%.100s: string %zu has more than %llu bytes", r->part, r->strings->count,
                (unsigned long long)r->max_cell);
    return al_err_reason(err, AL_ELIMIT, "maxCellBytes");
}

static int too_many(const struct reading *r, al_err *err)
{
    return al_err_setf(err, AL_ELIMIT, "ingest_limit", r->part,
                       "more than %" PRIu32 " bytes of strings", AL_STRINGS_BYTES);
}

static int on_start(void *data, const al_xml_name *name, const al_xml_attr *attrs, size_t n,
                    al_err *err)
{
    struct reading *r = data;

    (void)attrs, (void)n, (void)err;
    if (r->guide > 0 || (r->item && (AL_XML_IS(name, "rPh") || AL_XML_IS(name, "rPr") || r->take)))
        r->guide++;
    else if (AL_XML_IS(name, "si"))
        r->item = true;
    else
        r->take = r->item && AL_XML_IS(name, "t");
    return AL_OK;
}

static int end_item(struct reading *r, al_err *err)
{
    al_strings *s = r->strings;
    size_t len = s->used - r->from;
    al_cell cell;

    if (len)
        len = al_strings_unescape(s->bytes + r->from, len);
    if (len > r->max_cell)
        return too_long(r, err);
    if (s->count == s->ends_room) {
        size_t room = s->ends_room ? s->ends_room * 2 : 1024;
        uint32_t *more = realloc(s->ends, room * sizeof *more);

        if (!more)
            return no_memory(err);
        s->ends = more;
        s->ends_room = room;
    }
    s->used = r->from + len;
    al_cell_parse(&cell, s->bytes + r->from, len);
    s->ends[s->count++] = (uint32_t)s->used | (cell.kind == AL_CELL_TEXT ? AL_STRINGS_PLAIN : 0);
    r->from = s->used;
    r->item = false;
    return AL_OK;
}

static int on_end(void *data, const al_xml_name *name, al_err *err)
{
    struct reading *r = data;

    if (r->guide > 0)
        r->guide--;
    else if (r->take)
        r->take = false;
    else if (r->item && AL_XML_IS(name, "si"))
        return end_item(r, err);
    return AL_OK;
}

static int on_text(void *data, const char *text, size_t len, al_err *err)
{
    struct reading *r = data;
    al_strings *s = r->strings;

    if (!r->take || r->guide > 0)
        return AL_OK;
    if ((s->used - r->from + len) / MOST_ESCAPED > r->max_cell)
        return too_long(r, err);
    if (len >= AL_STRINGS_BYTES - s->used)
        return too_many(r, err);
    if (s->room - s->used < len) {
        size_t room = s->room ? s->room : 65536;
        char *more;

        while (room - s->used < len)
            room *= 2;
        more = realloc(s->bytes, room);
        if (!more)
            return no_memory(err);
        s->bytes = more;
        s->room = room;
    }
    memcpy(s->bytes + s->used, text, len);
    s->used += len;
    return AL_OK;
}

static int on_step(void *data, al_err *err)
{
    struct reading *r = data;

    return r->step ? r->step(r->data, err) : AL_OK;
}

int al_strings_read(al_strings *s, al_zip *zip, const al_zip_entry *entry, uint64_t max_cell,
                    int (*step)(void *data, al_err *err), void *data, al_err *err)
{
    static const al_xml_events events = {
        .start = on_start, .end = on_end, .text = on_text, .step = on_step, .scan = true
    };
    struct reading r = {
        .strings = s, .part = entry->name, .max_cell = max_cell, .step = step, .data = data
    };

    return al_xml_part(zip, entry, &events, &r, NULL, err);
}

void al_strings_free(al_strings *s)
{
    free(s->bytes);
    free(s->ends);
    *s = (al_strings){ 0 };
}
