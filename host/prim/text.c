/* Widths and line breaks of terminal text; clusters by utf8proc, columns by base/utf8. */
#include "prim/text.h"
#include "base/utf8.h"
#include <string.h>
#include <utf8proc.h>

#define SGR_KEPT 128 /* bytes of colour sequences remembered across a break */

static bool is_sgr(const char *text, size_t len, size_t *size)
{
    size_t i = 2;

    if (len < 3 || text[0] != '\033' || text[1] != '[')
        return false;
    while (i < len && i < 32 && ((text[i] >= '0' && text[i] <= '9') || text[i] == ';'))
        i++;
    if (i >= len || text[i] != 'm')
        return false;
    *size = i + 1;
    return true;
}

size_t al_text_next(const char *text, size_t len, int *columns)
{
    uint32_t cp, next;
    utf8proc_int32_t state = 0;
    size_t at, n;
    int width;

    *columns = 0;
    if (len == 0 || is_sgr(text, len, &n))
        return len ? n : 0;
    if ((unsigned char)text[0] < 0x80 && (len == 1 || (unsigned char)text[1] < 0x80)) {
        *columns = text[0] >= 0x20 && text[0] < 0x7F;
        return 1;
    }
    at = (size_t)al_utf8_decode(text, len, &cp);
    if (at == 0) {
        *columns = 1;
        return 1;
    }
    width = al_utf8_width(cp);
    while (
        at < len && (n = (size_t)al_utf8_decode(text + at, len - at, &next)) > 0 &&
        !utf8proc_grapheme_break_stateful((utf8proc_int32_t)cp, (utf8proc_int32_t)next, &state)) {
        int w = next == 0xFE0F ? 2 : al_utf8_width(next); /* FE0F asks for the emoji form */
        if (w > width)
            width = w;
        cp = next;
        at += n;
    }
    *columns = width > 0 ? width : 0;
    return at;
}

size_t al_text_width(const char *text, size_t len)
{
    size_t at = 0, width = 0, n;
    int columns;

    while ((n = al_text_next(text + at, len - at, &columns)) > 0) {
        at += n;
        width += (size_t)columns;
    }
    return width;
}

int al_text_truncate(al_buf *out, const char *text, size_t len, size_t columns)
{
    size_t at = 0, width = 0, n;
    bool coloured = false;
    int w;

    if (al_text_width(text, len) <= columns)
        return al_buf_add(out, text, len);
    if (columns == 0)
        return out->failed;
    while ((n = al_text_next(text + at, len - at, &w)) > 0 && width + (size_t)w <= columns - 1) {
        coloured = coloured || text[at] == '\033';
        at += n;
        width += (size_t)w;
    }
    al_buf_add(out, text, at);
    al_buf_str(out, "…");
    if (coloured)
        al_buf_str(out, AL_SGR_RESET);
    return out->failed;
}

/* ---- wrapping ---- */

typedef struct wrapper {
    al_buf *out;
    char sgr[SGR_KEPT]; /* the sequences that are on */
    size_t sgr_len;
} wrapper;

/* Keeps track of what is on behind the line text[0..len). */
static void follow_colours(wrapper *w, const char *text, size_t len)
{
    size_t n;

    for (size_t i = 0; i < len; i++) {
        if (text[i] != '\033' || !is_sgr(text + i, len - i, &n))
            continue;
        if (n == 4 && text[i + 2] == '0')
            w->sgr_len = 0;
        else if (w->sgr_len + n <= sizeof w->sgr)
            memcpy(w->sgr + w->sgr_len, text + i, n), w->sgr_len += n;
        i += n - 1;
    }
}

static void put_line(wrapper *w, const char *text, size_t len, bool last)
{
    al_buf_add(w->out, w->sgr, w->sgr_len);
    follow_colours(w, text, len);
    al_buf_add(w->out, text, len);
    if (w->sgr_len)
        al_buf_str(w->out, AL_SGR_RESET);
    if (!last)
        al_buf_char(w->out, '\n');
}

/* One line of the source; text has no line feed. */
static void wrap_line(wrapper *w, const char *text, size_t len, size_t columns, bool last)
{
    size_t start = 0, at = 0, n, width = 0;
    size_t cut = 0, resume = 0, resume_width = 0; /* the last place to break, and what follows it */
    int cw;

    while ((n = al_text_next(text + at, len - at, &cw)) > 0) {
        bool space = text[at] == ' ';
        if (cw == 2 && at > start)
            cut = resume = at, resume_width = 0;
        if (width + (size_t)cw > columns && at > start && !space) {
            if (cut <= start)
                cut = resume = at, resume_width = 0;
            put_line(w, text + start, cut - start, false);
            start = resume;
            width = resume_width;
        }
        if (space) {
            if (at == 0 || text[at - 1] != ' ')
                cut = at;
            resume = at + n;
            resume_width = 0;
        } else {
            resume_width += (size_t)cw;
        }
        width += (size_t)cw;
        at += n;
    }
    put_line(w, text + start, len - start, last);
}

int al_text_wrap(al_buf *out, const char *text, size_t len, size_t columns)
{
    wrapper w = { .out = out };
    const char *end = text + len, *line = text;

    if (columns == 0)
        columns = 1;
    for (;;) {
        const char *lf = memchr(line, '\n', (size_t)(end - line));
        wrap_line(&w, line, (size_t)((lf ? lf : end) - line), columns, lf == NULL);
        if (!lf)
            return out->failed;
        line = lf + 1;
    }
}

/* ---- what must be seen and not act ---- */

static bool must_show(uint32_t cp)
{
    switch (utf8proc_category((utf8proc_int32_t)cp)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
        return cp != 0x200D && cp != 0x200C; /* joiners of emoji and scripts */
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN: return true;
    default: return cp == 0x2501;
    }
}

int al_text_visible(al_buf *out, const char *text, size_t len, bool lines)
{
    uint32_t cp;

    for (size_t at = 0; at < len;) {
        char c = text[at];
        if ((c >= 0x20 && c < 0x7F) || (lines && (c == '\n' || c == '\t'))) {
            al_buf_char(out, c);
            at++;
            continue;
        }
        size_t n = (size_t)al_utf8_decode(text + at, len - at, &cp);
        if (n == 0)
            al_buf_printf(out, "\\x%02x", (unsigned char)c), n = 1;
        else if (!must_show(cp))
            al_buf_add(out, text + at, n);
        else if (cp > 0xFFFF)
            al_buf_printf(out, "\\u{%x}", cp);
        else
            al_buf_printf(out, "\\u%04x", cp);
        at += n;
    }
    return out->failed;
}
