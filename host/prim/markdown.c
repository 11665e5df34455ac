/* Markdown for a terminal. md4c calls back with blocks, spans and text; the text of a leaf block is
 * collected with its colours and laid out when the block ends. No Lua here. */
#include "prim/markdown.h"
#include "base/utf8.h"
#include "prim/text.h"
#include <md4c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH                                                                                  \
    16                 /* levels of quotes and lists that are indented; deeper ones share the last \
                        */
#define MAX_COLUMNS 64 /* of a table; a larger one is shown as it is written */
#define MAX_CELLS   65536
#define MIN_WIDTH   20

typedef struct level {
    bool quote;
    bool ordered;
    unsigned number; /* of the next item */
} level;

typedef struct table {
    al_buf cells; /* texts one after another */
    size_t *ends; /* where each ends */
    size_t count, room;
    unsigned columns;
    MD_ALIGN align[MAX_COLUMNS];
} table;

typedef struct md {
    al_buf *out;
    al_buf leaf; /* text of the block being read */
    size_t columns;
    bool colour;
    level levels[MAX_DEPTH];
    int depth;
    char marker[24]; /* of the list item that begins, "" once it is written */
    int marker_level;
    size_t link_start;     /* where the text of the open link begins in leaf */
    bool gap;              /* an empty line is due before the next block */
    int bold, slant, link; /* spans that are open */
    table table;
    bool refused; /* too large for what it would become */
} md;

/* ---- colours ---- */

static void paint(md *m, al_buf *b, const char *sgr)
{
    if (m->colour)
        al_buf_str(b, sgr);
}

/* A span ended: everything off, then what is still open on again. */
static void repaint(md *m)
{
    paint(m, &m->leaf, AL_SGR_RESET);
    if (m->bold)
        paint(m, &m->leaf, AL_SGR_STRONG);
    if (m->slant)
        paint(m, &m->leaf, AL_SGR_SLANT);
    if (m->link)
        paint(m, &m->leaf, AL_SGR_ACCENT);
}

/* ---- lines ---- */

static int shown_depth(const md *m)
{
    return m->depth < MAX_DEPTH ? m->depth : MAX_DEPTH;
}

static size_t indent_width(const md *m)
{
    size_t n = 0;
    for (int i = 0; i < shown_depth(m); i++)
        n += m->levels[i].ordered ? 4 : 2;
    return n;
}

static void put_indent(md *m)
{
    for (int i = 0; i < shown_depth(m); i++) {
        if (m->levels[i].quote) {
            paint(m, m->out, AL_SGR_QUIET);
            al_buf_str(m->out, "│ ");
            paint(m, m->out, AL_SGR_RESET);
        } else if (i == m->marker_level && m->marker[0]) {
            al_buf_str(m->out, m->marker);
        } else {
            al_buf_str(m->out, m->levels[i].ordered ? "    " : "  ");
        }
    }
    m->marker[0] = '\0';
}

static size_t inner_width(const md *m)
{
    size_t used = indent_width(m);
    return m->columns > used + MIN_WIDTH / 2 ? m->columns - used : MIN_WIDTH / 2;
}

static void put_gap(md *m)
{
    if (!m->gap)
        return;
    m->gap = false;
    if (m->depth && m->levels[shown_depth(m) - 1].quote) {
        put_indent(m);
        al_buf_char(m->out, '\n');
    } else if (m->out->len) {
        al_buf_char(m->out, '\n');
    }
}

/* Writes text as lines behind the indent. */
static void put_lines(md *m, const char *text, size_t len)
{
    for (;;) {
        const char *lf = memchr(text, '\n', len);
        size_t n = lf ? (size_t)(lf - text) : len;
        put_indent(m);
        al_buf_add(m->out, text, n);
        al_buf_char(m->out, '\n');
        if (!lf)
            return;
        text += n + 1;
        len -= n + 1;
    }
}

static void put_leaf(md *m)
{
    al_buf wrapped;

    if (!m->leaf.len && !m->marker[0])
        return;
    al_buf_init(&wrapped, 0);
    while (m->leaf.len && m->leaf.data[m->leaf.len - 1] == '\n')
        m->leaf.data[--m->leaf.len] = '\0'; /* raw HTML ends with one */
    put_gap(m);
    al_text_wrap(&wrapped, m->leaf.data ? m->leaf.data : "", m->leaf.len, inner_width(m));
    put_lines(m, wrapped.data ? wrapped.data : "", wrapped.len);
    if (wrapped.failed)
        m->out->failed = wrapped.failed;
    al_buf_free(&wrapped);
    al_buf_clear(&m->leaf);
}

/* ---- tables ---- */

static void table_cell(md *m)
{
    table *t = &m->table;

    if (t->count == t->room) {
        size_t room = t->room ? t->room * 2 : 64;
        size_t *ends = realloc(t->ends, room * sizeof *ends);
        if (!ends) {
            m->out->failed = AL_ENOMEM;
            return;
        }
        t->ends = ends;
        t->room = room;
    }
    al_buf_add(&t->cells, m->leaf.data, m->leaf.len);
    al_buf_clear(&m->leaf);
    t->ends[t->count++] = t->cells.len;
}

static const char *cell_text(const table *t, size_t i, size_t *len)
{
    size_t start = i ? t->ends[i - 1] : 0;
    *len = t->ends[i] - start;
    return t->cells.data ? t->cells.data + start : "";
}

static void spaces(al_buf *b, size_t n)
{
    while (n--)
        al_buf_char(b, ' ');
}

/* Widths that fit: the widest column gives way first. */
static void fit_widths(const md *m, size_t *width)
{
    const table *t = &m->table;
    size_t room = inner_width(m), sum = 2 * (t->columns - 1), len;

    for (size_t i = 0; i < t->count; i++) {
        const char *text = cell_text(t, i, &len);
        size_t w = al_text_width(text, len);
        if (w > width[i % t->columns])
            width[i % t->columns] = w;
    }
    for (unsigned c = 0; c < t->columns; c++)
        sum += width[c];
    while (sum > room) {
        unsigned widest = 0;
        for (unsigned c = 1; c < t->columns; c++)
            if (width[c] > width[widest])
                widest = c;
        if (width[widest] <= 3)
            break;
        width[widest]--;
        sum--;
    }
}

static void table_row(md *m, size_t first, const size_t *width)
{
    const table *t = &m->table;
    size_t len;

    put_indent(m);
    for (unsigned c = 0; c < t->columns; c++) {
        const char *text = cell_text(t, first + c, &len);
        size_t w = al_text_width(text, len), pad = w < width[c] ? width[c] - w : 0;
        size_t left = t->align[c] == MD_ALIGN_RIGHT    ? pad
                      : t->align[c] == MD_ALIGN_CENTER ? pad / 2
                                                       : 0;
        spaces(m->out, left);
        if (first == 0)
            paint(m, m->out, AL_SGR_STRONG);
        al_text_truncate(m->out, text, len, width[c]);
        if (first == 0)
            paint(m, m->out, AL_SGR_RESET);
        if (c + 1 < t->columns)
            spaces(m->out, pad - left + 2);
    }
    al_buf_char(m->out, '\n');
}

static void table_end(md *m)
{
    table *t = &m->table;
    size_t width[MAX_COLUMNS] = { 0 }, sum = 0;

    if (!m->out->failed) {
        fit_widths(m, width);
        for (unsigned c = 0; c < t->columns; c++)
            sum += width[c] + (c ? 2 : 0);
        put_gap(m);
        for (size_t i = 0; i + t->columns <= t->count; i += t->columns) {
            table_row(m, i, width);
            if (i > 0)
                continue;
            put_indent(m);
            paint(m, m->out, AL_SGR_QUIET);
            for (size_t n = 0; n < sum; n++)
                al_buf_str(m->out, "─");
            paint(m, m->out, AL_SGR_RESET);
            al_buf_char(m->out, '\n');
        }
    }
    t->count = 0;
    al_buf_clear(&t->cells);
    m->gap = true;
}

/* ---- md4c's callbacks ---- */

static void push_level(md *m, level l)
{
    if (m->depth < MAX_DEPTH)
        m->levels[m->depth] = l;
    m->depth++;
}

static void begin_item(md *m, const MD_BLOCK_LI_DETAIL *li)
{
    level *l = &m->levels[shown_depth(m) - 1];

    put_gap(m);
    m->marker_level = shown_depth(m) - 1;
    if (!l->ordered) {
        strcpy(m->marker, !li->is_task ? "• " : li->task_mark == ' ' ? "☐ " : "☑ ");
        return;
    }
    int n = snprintf(m->marker, sizeof m->marker, "%u. ", l->number++);
    while (n < 4)
        m->marker[n++] = ' ';
    m->marker[n] = '\0';
}

/* md4c fills short rows up to the width of the head, so a table can be far larger than its text. */
static int begin_table(md *m, const MD_BLOCK_TABLE_DETAIL *t)
{
    m->refused = t->col_count > MAX_COLUMNS || t->body_row_count > MAX_CELLS / MAX_COLUMNS;
    m->table.columns = t->col_count;
    return m->refused;
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
    md *m = arg;

    if (m->leaf.len)
        put_leaf(m); /* the text of the tight item around this block */
    switch (type) {
    case MD_BLOCK_QUOTE:
        put_gap(m);
        push_level(m, (level){ .quote = true });
        break;
    case MD_BLOCK_UL:
        put_leaf(m); /* a marker that has no text of its own */
        put_gap(m);
        push_level(m, (level){ 0 });
        break;
    case MD_BLOCK_OL:
        put_leaf(m);
        put_gap(m);
        push_level(m, (level){ .ordered = true, .number = ((MD_BLOCK_OL_DETAIL *)detail)->start });
        break;
    case MD_BLOCK_LI: begin_item(m, detail); break;
    case MD_BLOCK_HR:
        put_gap(m);
        put_indent(m);
        paint(m, m->out, AL_SGR_QUIET);
        for (size_t i = 0, n = inner_width(m); i < n; i++)
            al_buf_str(m->out, "─");
        paint(m, m->out, AL_SGR_RESET);
        al_buf_char(m->out, '\n');
        m->gap = true;
        break;
    case MD_BLOCK_H:
        m->bold++;
        paint(m, &m->leaf, AL_SGR_STRONG);
        break;
    case MD_BLOCK_TABLE: return begin_table(m, detail);
    case MD_BLOCK_TH: m->table.align[m->table.count] = ((MD_BLOCK_TD_DETAIL *)detail)->align; break;
    default: break;
    }
    return m->out->failed;
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
    md *m = arg;
    (void)detail;

    switch (type) {
    case MD_BLOCK_H:
        m->bold--;
        paint(m, &m->leaf, AL_SGR_RESET);
        put_leaf(m);
        m->gap = true;
        break;
    case MD_BLOCK_P:
    case MD_BLOCK_HTML:
        put_leaf(m);
        m->gap = true;
        break;
    case MD_BLOCK_LI: put_leaf(m); break; /* a tight item has no paragraph */
    case MD_BLOCK_CODE:
        put_gap(m);
        if (m->leaf.len && m->leaf.data[m->leaf.len - 1] == '\n')
            m->leaf.data[--m->leaf.len] = '\0';
        push_level(m, (level){ 0 });
        put_lines(m, m->leaf.data ? m->leaf.data : "", m->leaf.len);
        m->depth--;
        al_buf_clear(&m->leaf);
        m->gap = true;
        break;
    case MD_BLOCK_UL:
    case MD_BLOCK_OL:
    case MD_BLOCK_QUOTE:
        put_leaf(m);
        m->depth--;
        m->gap = !m->depth || m->levels[shown_depth(m) - 1].quote;
        break;
    case MD_BLOCK_TH:
    case MD_BLOCK_TD: table_cell(m); break;
    case MD_BLOCK_TABLE: table_end(m); break;
    default: break;
    }
    return m->out->failed;
}

static int enter_span(MD_SPANTYPE type, void *detail, void *arg)
{
    md *m = arg;
    (void)detail;

    switch (type) {
    case MD_SPAN_EM: m->slant++; break;
    case MD_SPAN_STRONG: m->bold++; break;
    case MD_SPAN_A:
        m->link++;
        m->link_start = m->leaf.len;
        break;
    case MD_SPAN_CODE: al_buf_char(&m->leaf, '`'); return 0;
    case MD_SPAN_DEL: al_buf_str(&m->leaf, "~~"); return 0;
    case MD_SPAN_IMG: al_buf_char(&m->leaf, '['); return 0;
    default: return 0;
    }
    repaint(m);
    return 0;
}

/* " (where it leads)", unless the text of the link says it already. */
static void put_address(md *m, const MD_ATTRIBUTE *href)
{
    al_buf address;

    al_buf_init(&address, 0);
    al_text_visible(&address, href->text, href->size, false);
    if (address.len &&
        !(m->leaf.len >= address.len && m->leaf.len - address.len >= m->link_start &&
          !memcmp(m->leaf.data + m->leaf.len - address.len, address.data, address.len)))
        al_buf_printf(&m->leaf, " (%s)", address.data);
    al_buf_free(&address);
}

static int leave_span(MD_SPANTYPE type, void *detail, void *arg)
{
    md *m = arg;

    switch (type) {
    case MD_SPAN_EM: m->slant--; break;
    case MD_SPAN_STRONG: m->bold--; break;
    case MD_SPAN_A:
        put_address(m, &((MD_SPAN_A_DETAIL *)detail)->href);
        m->link--;
        break;
    case MD_SPAN_CODE: al_buf_char(&m->leaf, '`'); return 0;
    case MD_SPAN_DEL: al_buf_str(&m->leaf, "~~"); return 0;
    case MD_SPAN_IMG: al_buf_char(&m->leaf, ']'); return 0;
    default: return 0;
    }
    repaint(m);
    return 0;
}

/* The few entities that text from a model has; others stay as they are written. */
static void put_entity(md *m, const char *text, size_t len)
{
    static const struct {
        const char *name, *text;
    } known[] = { { "&amp;", "&" },   { "&lt;", "<" },    { "&gt;", ">" },
                  { "&quot;", "\"" }, { "&apos;", "'" },  { "&nbsp;", " " },
                  { "&mdash;", "—" }, { "&ndash;", "–" }, { "&hellip;", "…" } };
    char utf8[4];
    int n = 0;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i].name) == len && !memcmp(known[i].name, text, len)) {
            al_buf_str(&m->leaf, known[i].text);
            return;
        }
    }
    if (len > 3 && text[1] == '#') {
        bool hex = text[2] == 'x' || text[2] == 'X';
        n = al_utf8_encode((uint32_t)strtoul(text + (hex ? 3 : 2), NULL, hex ? 16 : 10), utf8);
    }
    al_text_visible(&m->leaf, n ? utf8 : text, n ? (size_t)n : len, false);
}

static int put_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE size, void *arg)
{
    md *m = arg;

    switch (type) {
    case MD_TEXT_NULLCHAR: al_buf_str(&m->leaf, "\xEF\xBF\xBD"); break;
    case MD_TEXT_BR: al_buf_char(&m->leaf, '\n'); break;
    case MD_TEXT_SOFTBR: al_buf_char(&m->leaf, ' '); break;
    case MD_TEXT_ENTITY: put_entity(m, text, size); break;
    case MD_TEXT_CODE:
    case MD_TEXT_HTML: {
        /* Tabs become spaces, line feeds stay: both are part of such a block. */
        const char *tab;
        while (size && (tab = memchr(text, '\t', size)) != NULL) {
            al_text_visible(&m->leaf, text, (size_t)(tab - text), true);
            al_buf_str(&m->leaf, "    ");
            size -= (MD_SIZE)(tab + 1 - text);
            text = tab + 1;
        }
        al_text_visible(&m->leaf, text, size, true);
        break;
    }
    default: al_text_visible(&m->leaf, text, size, false); break;
    }
    return m->leaf.failed;
}

int al_markdown(al_buf *out, const char *text, size_t len, size_t columns, bool colour, al_err *err)
{
    const MD_PARSER parser = { 0,          MD_DIALECT_GITHUB, enter_block, leave_block, enter_span,
                               leave_span, put_text,          NULL,        NULL };
    md m = { .out = out, .columns = columns < MIN_WIDTH ? MIN_WIDTH : columns, .colour = colour };
    size_t start = out->len;
    int rc = AL_OK, stop;

    al_buf_init(&m.leaf, 0);
    al_buf_init(&m.table.cells, 0);
    m.refused = len > AL_MARKDOWN_MAX;
    stop = m.refused || md_parse(text, (MD_SIZE)len, &parser, &m) != 0;
    if (m.refused) {
        out->len = start;
        al_text_visible(out, text, len, true);
    }
    if ((stop && !m.refused) || m.leaf.failed || out->failed)
        rc = al_err_set(err, AL_ENOMEM, "internal", "markdown", "not enough memory");
    al_buf_free(&m.leaf);
    al_buf_free(&m.table.cells);
    free(m.table.ends);
    return rc;
}
