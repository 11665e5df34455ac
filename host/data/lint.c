/* A tokenizer of HTML as far as tags, attributes, comments and raw text go, and what it tells.
 *
 * Browsers are more exact (character references, foreign content); a page that fools this one only
 * goes without its warning. Every loop goes forward, and what has no end ends the page. */
#include "data/lint.h"
#include "base/json.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

typedef struct span {
    const char *at;
    size_t len;
} span;

enum { A_CLASS, A_D, A_HREF, A_REL, A_SRC, A_STYLE, A_TYPE, A_VIEWBOX, A_WIDTH, A_XLINK, A_COUNT };

static const char *const attribute_names[A_COUNT] = { "class", "d",         "href", "rel",
                                                      "src",   "style",     "type", "viewbox",
                                                      "width", "xlink:href" };

typedef struct tag {
    span name;
    span values[A_COUNT]; /* at is NULL where there is none */
    bool closing, closed; /* </name>, <name/> */
} tag;

typedef struct page {
    const char *at, *end;
    unsigned found;
    unsigned depth; /* of <svg> */
    unsigned ours;  /* the depth of one that a helper drew, 0 outside */
    bool far_base;  /* what is relative comes from the network */
} page;

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(span s, const char *word)
{
    return s.len == strlen(word) && !strncasecmp(s.at, word, s.len);
}

static bool begins(span s, const char *word)
{
    return s.len >= strlen(word) && !strncasecmp(s.at, word, strlen(word));
}

static span behind(span s, size_t n)
{
    return (span){ s.at + n, s.len - n };
}

static span skip_space(span s)
{
    while (s.len && is_space(*s.at))
        s = behind(s, 1);
    return s;
}

/* The next of the words that spaces separate; empty behind the last. */
static span next_word(span *s)
{
    span word = *s = skip_space(*s);

    while (s->len && !is_space(*s->at))
        *s = behind(*s, 1);
    word.len -= s->len;
    return word;
}

static bool has_word(span s, const char *word)
{
    for (span w = next_word(&s); w.len; w = next_word(&s))
        if (is_word(w, word))
            return true;
    return false;
}

/* ---- tags ---- */

/* Reads ="value" or =value behind a name. */
static span read_value(page *p)
{
    span v = { p->at, 0 };
    char quote = p->at < p->end ? *p->at : '\0';

    if (quote == '"' || quote == '\'') {
        const char *close = memchr(p->at + 1, quote, (size_t)(p->end - p->at - 1));
        p->at++;
        v = (span){ p->at, (size_t)((close ? close : p->end) - p->at) };
        p->at = close ? close + 1 : p->end;
        return v;
    }
    while (p->at < p->end && !is_space(*p->at) && *p->at != '>')
        p->at++;
    v.len = (size_t)(p->at - v.at);
    return v;
}

static void pass_space(page *p)
{
    while (p->at < p->end && is_space(*p->at))
        p->at++;
}

static bool ends_name(char c)
{
    return is_space(c) || c == '/' || c == '>' || c == '=';
}

static span read_name(page *p)
{
    span name = { p->at, 0 };

    while (p->at < p->end && !ends_name(*p->at))
        p->at++;
    name.len = (size_t)(p->at - name.at);
    return name;
}

static void read_attribute(page *p, tag *t)
{
    span name, value = { p->at, 0 };

    if (*p->at == '=') /* which begins a name then */
        p->at++;
    name = read_name(p);
    pass_space(p);
    if (p->at < p->end && *p->at == '=') {
        p->at++;
        pass_space(p);
        value = read_value(p);
    }
    for (int i = 0; i < A_COUNT; i++)
        if (!t->values[i].at && is_word(name, attribute_names[i]))
            t->values[i] = value;
}

/* Reads a tag, at its name. False when the page ends in it. */
static bool read_tag(page *p, tag *t)
{
    t->name = read_name(p);
    for (;;) {
        pass_space(p);
        if (p->at == p->end)
            return false;
        if (*p->at == '>') {
            p->at++;
            return true;
        }
        t->closed = *p->at == '/';
        if (t->closed)
            p->at++;
        else
            read_attribute(p, t);
    }
}

/* What stands between a tag and its </name, which is left to be read; all the rest without one. */
static span read_raw(page *p, span name)
{
    span raw = { p->at, (size_t)(p->end - p->at) };

    while ((p->at = memchr(p->at, '<', (size_t)(p->end - p->at))) != NULL) {
        span rest = { p->at + 1, (size_t)(p->end - p->at - 1) };
        if (rest.len > name.len && *rest.at == '/' &&
            !strncasecmp(rest.at + 1, name.at, name.len)) {
            raw.len = (size_t)(p->at - raw.at);
            return raw;
        }
        p->at++;
    }
    p->at = p->end;
    return raw;
}

/* ---- loads from the network ---- */

static bool is_network(const page *p, span url)
{
    url = skip_space(url);
    if (begins(url, "http:") || begins(url, "https:") || begins(url, "//"))
        return true;
    return p->far_base && url.len && *url.at != '#' && !begins(url, "data:") &&
           !begins(url, "blob:");
}

/* A word in a text as it is written. */
static bool find_word(span *text, const char *word)
{
    const char *at = text->len ? memmem(text->at, text->len, word, strlen(word)) : NULL;

    if (!at)
        return false;
    *text = behind(*text, (size_t)(at - text->at) + strlen(word));
    return true;
}

/* Whether a quoted address of the network stands here, in `open` (a bracket) or not. */
static bool names_network(const page *p, span text, const char *open)
{
    text = skip_space(text);
    if (begins(text, open))
        text = skip_space(behind(text, strlen(open)));
    if (!text.len || (*text.at != '"' && *text.at != '\''))
        return false;
    return is_network(p, behind(text, 1));
}

static bool script_loads(const page *p, span code, bool module)
{
    for (span rest = code; find_word(&rest, "import");)
        if (names_network(p, rest, "(") ||
            (begins(rest, "Scripts") && names_network(p, behind(rest, 7), "(")))
            return true;
    for (span rest = code; module && find_word(&rest, "from");)
        if (names_network(p, rest, ""))
            return true;
    return false;
}

static bool style_loads(const page *p, span css)
{
    while (find_word(&css, "@import")) {
        span url = skip_space(css);
        if (begins(url, "url("))
            url = skip_space(behind(url, 4));
        if (url.len && (*url.at == '"' || *url.at == '\''))
            url = behind(url, 1);
        if (is_network(p, url))
            return true;
    }
    return false;
}

static void check_script(page *p, const tag *t)
{
    span code = t->closed && p->depth ? (span){ p->at, 0 } : read_raw(p, t->name);

    if (is_network(p, t->values[A_SRC]) || is_network(p, t->values[A_HREF]) ||
        is_network(p, t->values[A_XLINK]) ||
        script_loads(p, code, is_word(t->values[A_TYPE], "module")))
        p->found |= AL_LINT_NETWORK;
}

static void check_style(page *p, const tag *t)
{
    if (style_loads(p, read_raw(p, t->name)))
        p->found |= AL_LINT_NETWORK;
}

static void check_link(page *p, const tag *t)
{
    span rel = t->values[A_REL];

    if ((has_word(rel, "stylesheet") || has_word(rel, "preload") ||
         has_word(rel, "modulepreload")) &&
        is_network(p, t->values[A_HREF]))
        p->found |= AL_LINT_NETWORK;
}

static void check_base(page *p, const tag *t)
{
    p->far_base = p->far_base || is_network(p, t->values[A_HREF]);
}

/* ---- charts drawn by hand ---- */

/* A number without a unit that gives way. */
static bool is_fixed(span width)
{
    width = skip_space(width);
    if (!width.len || !is_digit(*width.at))
        return false;
    while (width.len && (is_digit(*width.at) || *width.at == '.'))
        width = behind(width, 1);
    return !width.len || is_space(*width.at) || *width.at == ';' || begins(width, "px") ||
           begins(width, "pt") || begins(width, "mm") || begins(width, "cm") || begins(width, "in");
}

static bool style_is_fixed(span css)
{
    const char *start = css.at;

    while (find_word(&css, "width")) {
        size_t before = (size_t)(css.at - start) - strlen("width");
        span value = skip_space(css);
        if ((!before || is_space(start[before - 1]) || start[before - 1] == ';') &&
            begins(value, ":") && is_fixed(behind(value, 1)))
            return true;
    }
    return false;
}

static void check_svg(page *p, const tag *t)
{
    bool fixed = is_fixed(t->values[A_WIDTH]) || style_is_fixed(t->values[A_STYLE]);

    if (fixed && !t->values[A_VIEWBOX].at && !p->depth)
        p->found |= AL_LINT_FIXED_SVG;
    if (t->closed)
        return;
    p->depth++;
    if (!p->ours && has_word(t->values[A_CLASS], "alisio-chart"))
        p->ours = p->depth;
}

static void leave_svg(page *p)
{
    if (p->depth && p->ours == p->depth)
        p->ours = 0;
    if (p->depth)
        p->depth--;
}

/* A slice of a pie or of a ring goes along one or two lines and one or two arcs, and back to where
 * it began; a whole one along two arcs. */
static bool is_slice(span d)
{
    char shape[7] = "";
    size_t n = 0, lines = 0, arcs = 0;

    for (size_t i = 0; i < d.len; i++) {
        char c = (char)(d.at[i] | 0x20);
        if (!is_letter(d.at[i]) || c == 'e')
            continue;
        if (n == sizeof shape - 1 || !strchr("mlaz", c))
            return false;
        lines += c == 'l';
        arcs += c == 'a';
        shape[n++] = c;
    }
    return n > 2 && shape[0] == 'm' && (shape[n - 1] == 'z' || shape[n - 1] == 'l') &&
           memchr(shape + 1, 'm', n - 1) == NULL &&
           ((lines && arcs && arcs <= 2) || (!lines && arcs == 2));
}

static void check_path(page *p, const tag *t)
{
    if (!p->ours && is_slice(t->values[A_D]))
        p->found |= AL_LINT_SVG_ARCS;
}

static void pass_raw(page *p, const tag *t)
{
    if (!p->depth) /* an <svg> has elements of the same names that hold others */
        read_raw(p, t->name);
}

/* ---- the page ---- */

static void check_tag(page *p, const tag *t)
{
    static const struct {
        const char *name;
        void (*check)(page *p, const tag *t);
    } checks[] = {
        { "base", check_base },     { "iframe", pass_raw },   { "link", check_link },
        { "noembed", pass_raw },    { "noframes", pass_raw }, { "path", check_path },
        { "script", check_script }, { "style", check_style }, { "svg", check_svg },
        { "textarea", pass_raw },   { "title", pass_raw },    { "xmp", pass_raw },
    };

    if (t->closing) {
        if (is_word(t->name, "svg"))
            leave_svg(p);
        return;
    }
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
        if (is_word(t->name, checks[i].name))
            checks[i].check(p, t);
}

/* Passes <!-- a comment --> at its "--". */
static void pass_comment(page *p)
{
    const char *close = memmem(p->at, (size_t)(p->end - p->at), "-->", 3);

    p->at = close ? close + 3 : p->end;
}

unsigned al_lint_page(const char *text, size_t len)
{
    page p = { .at = text, .end = text + len };

    while (p.at < p.end && (p.at = memchr(p.at, '<', (size_t)(p.end - p.at))) != NULL) {
        tag t = { .closing = p.end - p.at > 1 && p.at[1] == '/' };
        const char *name = p.at + 1 + t.closing;

        if (p.end - p.at >= 4 && !memcmp(p.at, "<!--", 4)) {
            p.at += 2;
            pass_comment(&p);
        } else if (name < p.end && is_letter(*name)) {
            p.at = name;
            if (!read_tag(&p, &t))
                break;
            check_tag(&p, &t);
        } else {
            p.at++;
        }
    }
    return p.found;
}

/* ---- a file ---- */

static int read_page(int fd, char *out, size_t *len, al_err *err)
{
    *len = 0;
    while (*len < AL_LINT_BYTES) {
        ssize_t n = pread(fd, out + *len, AL_LINT_BYTES - *len, (off_t)*len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return al_err_errno(err, errno, "page");
        if (n == 0)
            break;
        *len += (size_t)n;
    }
    return AL_OK;
}

/* UTF-16 as the ASCII in it; all that counts here is. */
static size_t narrow(char *text, size_t len)
{
    const unsigned char *in = (const unsigned char *)text;
    size_t low, n = 0;

    if (len < 2 || !((in[0] == 0xFF && in[1] == 0xFE) || (in[0] == 0xFE && in[1] == 0xFF)))
        return len;
    low = in[0] == 0xFE;
    for (size_t i = 2; i + 1 < len; i += 2)
        text[n++] = in[i + !low] || in[i + low] > 0x7F ? '?' : (char)in[i + low];
    return n;
}

int al_lint_run(int fd, al_buf *result, al_err *err)
{
    static const char *const names[] = { "network_resource", "fixed_svg", "svg_arcs" };
    char *text = malloc(AL_LINT_BYTES);
    al_json_out o;
    size_t len;
    int rc;

    if (!text)
        return al_err_set(err, AL_ENOMEM, "internal", "page", "not enough memory");
    rc = read_page(fd, text, &len, err);
    if (rc == AL_OK) {
        unsigned found = al_lint_page(text, narrow(text, len));
        al_json_out_init(&o, result);
        al_json_begin_object(&o);
        al_json_key(&o, "found");
        al_json_begin_array(&o);
        for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
            if (found & 1u << i)
                al_json_cstring(&o, names[i]);
        al_json_end_array(&o);
        al_json_end_object(&o);
    }
    free(text);
    return rc;
}
