/* One pass over the bytes by classes of characters. Whatever is not in the class that a place
 * allows ends the scanner's work, so it has neither errors nor rare paths of its own. */
#include "data/xmlscan.h"
#include "base/utf8.h"
#include <stdlib.h>
#include <string.h>

enum { START = 1, NAME = 2, BLANK = 4, PLAIN = 8, VALUE = 16 };

#define LETTER (START | NAME | PLAIN | VALUE)
#define DIGIT  (NAME | PLAIN | VALUE)
#define MARK   (PLAIN | VALUE)

/* PLAIN: text that stands for itself, but for `<`, `&`, `]`, `\r` and what is not ASCII. VALUE: of
 * attributes, where quotes are looked at and blanks other than one kind change. */
static const unsigned char classes[256] = {
    ['\t'] = BLANK | PLAIN, ['\n'] = BLANK | PLAIN, ['\r'] = BLANK,        [' '] = BLANK | MARK,
    ['!'] = MARK,           ['"'] = PLAIN,          ['#'] = MARK,          ['$'] = MARK,
    ['%'] = MARK,           ['\''] = PLAIN,         ['('] = MARK,          [')'] = MARK,
    ['*'] = MARK,           ['+'] = MARK,           [','] = MARK,          ['-'] = DIGIT,
    ['.'] = DIGIT,          ['/'] = MARK,           ['0' ... '9'] = DIGIT, [':'] = DIGIT,
    [';'] = MARK,           ['='] = MARK,           ['>'] = MARK,          ['?'] = MARK,
    ['@'] = MARK,           ['A' ... 'Z'] = LETTER, ['['] = MARK,          ['\\'] = MARK,
    [']'] = VALUE,          ['^'] = MARK,           ['_'] = LETTER,        ['`'] = MARK,
    ['a' ... 'z'] = LETTER, ['{'] = MARK,           ['|'] = MARK,          ['}'] = MARK,
    ['~'] = MARK,           [0x7F] = MARK,
};

static inline bool in(char c, int class)
{
    return classes[(unsigned char)c] & class;
}

static inline const char *over(const char *p, const char *end, int class)
{
    while (p < end && in(*p, class))
        p++;
    return p;
}

/* Of names, most of which have one letter. */
static inline bool same(const char *a, size_t a_len, const char *b, size_t b_len)
{
    return a_len == b_len && (a_len == 0 || *a == *b) && (a_len < 2 || memcmp(a, b, a_len) == 0);
}

/* What became of a token; where it ends is told of those that were taken, and of text. */
enum step { TAKEN, UNFINISHED, FOREIGN, REFUSED };

/* The bytes of one character that is not ASCII; 0 when they are none that XML has, -1 when more
 * have to be seen. */
static int wide(const char *p, const char *end)
{
    uint32_t cp;
    int n = al_utf8_decode(p, (size_t)(end - p), &cp);

    if (n == 0)
        return end - p < 4 ? -1 : 0;
    return cp == 0xFFFE || cp == 0xFFFF ? 0 : n;
}

static inline int text(al_xmlscan *s, const char *from, const char *to, al_err *err)
{
    return to > from && s->events->text ? s->events->text(s->data, from, (size_t)(to - from), err)
                                        : AL_OK;
}

/* &lt; and the like, &#10; and the like; *to is behind it. */
static enum step reference(al_xmlscan *s, const char *p, const char *end, const char **to, int *rc,
                           al_err *err)
{
    static const struct {
        const char *name;
        char c;
    } known[] = { { "amp", '&' }, { "lt", '<' }, { "gt", '>' }, { "quot", '"' }, { "apos", '\'' } };
    const char *semicolon = memchr(p, ';', end - p < 12 ? (size_t)(end - p) : 12);
    uint32_t cp = 0, base = 10;
    char out[4];
    int n = 0;

    if (!semicolon)
        return end - p < 12 ? UNFINISHED : FOREIGN;
    p++;
    if (*p != '#') {
        for (size_t i = 0; i < sizeof known / sizeof known[0] && n == 0; i++)
            if (al_xml_is(p, (size_t)(semicolon - p), known[i].name, strlen(known[i].name)))
                out[n++] = known[i].c;
    } else {
        p++;
        if (*p == 'x') {
            base = 16;
            p++;
        }
        if (p == semicolon)
            return FOREIGN;
        for (; p < semicolon; p++) {
            char low = (char)(*p | 0x20);
            uint32_t digit = *p >= '0' && *p <= '9'                   ? (uint32_t)(*p - '0')
                             : base == 16 && low >= 'a' && low <= 'f' ? (uint32_t)(low - 'a' + 10)
                                                                      : 16;

            if (digit >= base || cp > 0x10FFFF)
                return FOREIGN;
            cp = cp * base + digit;
        }
        if ((cp < 0x20 && cp != '\t' && cp != '\n' && cp != '\r') || cp == 0xFFFE || cp == 0xFFFF)
            return FOREIGN;
        n = al_utf8_encode(cp, out);
    }
    if (n == 0)
        return FOREIGN;
    *to = semicolon + 1;
    *rc = text(s, out, out + n, err);
    return *rc == AL_OK ? TAKEN : REFUSED;
}

/* From p up to the next tag, or as far as it goes; *to: where the next token begins. */
static enum step content(al_xmlscan *s, const char *p, const char *end, const char **to, int *rc,
                         al_err *err)
{
    const char *from = p;
    enum step step = TAKEN;
    int n;

    for (;;) {
        p = over(p, end, PLAIN);
        if (p == end || *p == '<' || *p == '&')
            break;
        if (*p == ']') {
            if (end - p < 3)
                step = UNFINISHED;
            else if (p[1] == ']' && p[2] == '>')
                step = FOREIGN;
        } else {
            n = (unsigned char)*p >= 0x80 ? wide(p, end) : 0;
            if (n > 0) {
                p += n;
                continue;
            }
            step = n < 0 ? UNFINISHED : FOREIGN;
        }
        if (step != TAKEN)
            break;
        p++;
    }
    *to = p;
    *rc = text(s, from, p, err);
    return *rc == AL_OK ? step : REFUSED;
}

static bool push(al_xmlscan *s, const char *name, size_t len)
{
    if (s->names_room - s->names_len < len) {
        size_t room = (s->names_room + len) * 2;
        char *more = realloc(s->names, room);

        if (!more)
            return false;
        s->names = more;
        s->names_room = room;
    }
    s->starts[s->depth++] = s->names_len;
    memcpy(s->names + s->names_len, name, len);
    s->names_len += len;
    return true;
}

static void pop(al_xmlscan *s)
{
    s->names_len = s->starts[--s->depth];
    s->ended = s->depth == 0;
}

/* p is behind the opening quote; *to becomes the closing one. */
static enum step value(const char *p, const char *end, char quote, const char **to)
{
    for (;;) {
        p = over(p, end, VALUE);
        if (p == end)
            return UNFINISHED;
        if (*p == quote) {
            *to = p;
            return TAKEN;
        }
        if (*p == '"' || *p == '\'') {
            p++;
        } else {
            int n = (unsigned char)*p >= 0x80 ? wide(p, end) : 0;

            if (n <= 0)
                return n < 0 ? UNFINISHED : FOREIGN;
            p += n;
        }
    }
}

/* An attribute; *to is behind it. */
static enum step attribute(al_xmlscan *s, size_t n, const char *p, const char *end, const char **to)
{
    const char *name = p, *name_end;
    al_xml_attr *a = &s->attrs[n];
    enum step step;
    char quote;

    if (!in(*p, START) || n == AL_XMLSCAN_ATTRS)
        return FOREIGN;
    name_end = over(p + 1, end, NAME);
    p = over(name_end, end, BLANK);
    if (p == end)
        return UNFINISHED;
    if (*p != '=')
        return FOREIGN;
    p = over(p + 1, end, BLANK);
    if (p == end)
        return UNFINISHED;
    quote = *p++;
    if (quote != '"' && quote != '\'')
        return FOREIGN;
    step = value(p, end, quote, to);
    if (step != TAKEN)
        return step;
    a->value = p;
    a->len = (size_t)(*to - p);
    ++*to;
    al_xml_split(&a->name, name, (size_t)(name_end - name), ':');
    for (size_t i = 0; i < n; i++)
        if (same(s->attrs[i].name.local, s->attrs[i].name.len, a->name.local, a->name.len))
            return FOREIGN; /* a repeated one perhaps */
    return TAKEN;
}

static enum step start_tag(al_xmlscan *s, const char *p, const char *end, const char **to, int *rc,
                           al_err *err)
{
    const char *name = ++p;
    bool empty = false;
    al_xml_name own;
    size_t n = 0, len;

    if (s->ended || s->depth == AL_XML_DEPTH)
        return FOREIGN;
    p = over(p, end, NAME);
    len = (size_t)(p - name);
    while (p < end && *p != '>') {
        const char *from = p;
        enum step step;

        p = over(p, end, BLANK);
        if (p == end)
            break;
        if (*p == '>')
            continue;
        if (*p == '/') {
            if (p + 1 == end)
                return UNFINISHED;
            if (p[1] != '>')
                return FOREIGN;
            empty = true;
            p++;
            break;
        }
        if (p == from)
            return FOREIGN;
        step = attribute(s, n, p, end, &p);
        if (step != TAKEN)
            return step;
        n++;
    }
    if (p == end)
        return UNFINISHED;
    if (!push(s, name, len))
        return FOREIGN;
    *to = p + 1;
    s->behind = s->at + (uint64_t)(*to - end);
    al_xml_split(&own, name, len, ':');
    *rc = s->events->start(s->data, &own, s->attrs, n, err);
    if (empty) {
        if (*rc == AL_OK)
            *rc = s->events->end(s->data, &own, err);
        pop(s);
    }
    return *rc == AL_OK ? TAKEN : REFUSED;
}

static enum step end_tag(al_xmlscan *s, const char *p, const char *end, const char **to, int *rc,
                         al_err *err)
{
    const char *name = p + 2, *open;
    al_xml_name own;
    size_t len;

    if (s->depth == 0)
        return FOREIGN;
    open = s->names + s->starts[s->depth - 1];
    len = s->names_len - s->starts[s->depth - 1];
    if ((size_t)(end - name) <= len)
        return UNFINISHED;
    if (!same(name, len, open, len))
        return FOREIGN;
    p = over(name + len, end, BLANK);
    if (p == end)
        return UNFINISHED;
    if (*p != '>')
        return FOREIGN;
    *to = p + 1;
    s->behind = s->at + (uint64_t)(*to - end);
    al_xml_split(&own, name, len, ':');
    *rc = s->events->end(s->data, &own, err);
    pop(s);
    return *rc == AL_OK ? TAKEN : REFUSED;
}

static enum step tag(al_xmlscan *s, const char *p, const char *end, const char **to, int *rc,
                     al_err *err)
{
    if (p + 1 == end)
        return UNFINISHED;
    if (p[1] == '/')
        return end_tag(s, p, end, to, rc, err);
    return in(p[1], START) ? start_tag(s, p, end, to, rc, err) : FOREIGN;
}

/* One pseudo-attribute of the declaration, if it comes next: its value is one of two words. */
static const char *pseudo(const char *p, const char *end, const char *name, const char *one,
                          const char *other)
{
    const char *words[] = { one, other };
    const char *from = over(p, end, BLANK);
    size_t len = strlen(name);

    if (from == p || (size_t)(end - from) < len + 2 || memcmp(from, name, len) != 0)
        return p;
    from += len;
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(words[i]);

        if ((size_t)(end - from) >= n + 2 && (*from == '"' || *from == '\'') &&
            from[n + 1] == *from && memcmp(from + 1, words[i], n) == 0)
            return from + n + 2;
    }
    return p;
}

/* <?xml version="1.0" encoding="UTF-8" standalone="yes"?>, or no declaration. */
static enum step declaration(const char *p, const char *end, const char **to)
{
    static const char open[] = "<?xml";
    const char *at = p;
    size_t len = (size_t)(end - p);

    if (memcmp(p, open, len < 5 ? len : 5) != 0) {
        *to = p;
        return TAKEN;
    }
    while (end - at > 1 && !(at[0] == '?' && at[1] == '>' && at > p + 1))
        at++;
    if (end - at < 2)
        return len < 200 ? UNFINISHED : FOREIGN;
    p = pseudo(p + 5, at, "version=", "1.0", "1.0");
    if (p[-1] != '"' && p[-1] != '\'')
        return FOREIGN;
    p = pseudo(p, at, "encoding=", "UTF-8", "utf-8");
    p = pseudo(p, at, "standalone=", "yes", "no");
    if (over(p, at, BLANK) != at)
        return FOREIGN;
    *to = at + 2;
    return TAKEN;
}

al_xmlscan_end al_xmlscan_feed(al_xmlscan *s, const char *bytes, size_t len, size_t *used, int *rc,
                               al_err *err)
{
    const char *p = bytes, *end = bytes + len;
    enum step step = TAKEN;

    *rc = AL_OK;
    s->at += len; /* offset of the end while this runs */
    if (!s->begun && len > 0) {
        step = declaration(p, end, &p);
        s->begun = step == TAKEN;
    }
    while (step == TAKEN && p < end) {
        if (*p == '<')
            step = tag(s, p, end, &p, rc, err);
        else if (s->depth == 0) {
            p = over(p, end, BLANK);
            if (p < end && *p != '<')
                step = FOREIGN;
        } else if (*p == '&')
            step = reference(s, p, end, &p, rc, err);
        else
            step = content(s, p, end, &p, rc, err);
    }
    *used = (size_t)(p - bytes);
    s->at -= len - *used;
    return step == FOREIGN   ? AL_XMLSCAN_OTHER
           : step == REFUSED ? AL_XMLSCAN_STOPPED
                             : AL_XMLSCAN_MORE;
}

void al_xmlscan_free(al_xmlscan *s)
{
    free(s->names);
}
