/* The reader of ODS: the tables of content.xml. Values are taken from the attributes of cells,
 * which keep them exactly; only texts are in what a cell shows. */
#include "base/num.h"
#include "data/ingest.h"
#include "data/numfmt.h"
#include "data/opc.h"
#include "data/sheet.h"
#include "data/xml.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_REPEATS (UINT64_C(1) << 32)
#define MOST_SHEETS  1000
#define MOST_HIDDEN  65536 /* bytes of names of styles */

enum space { OFFICE, TABLE, TEXT, STYLE, MANIFEST, OTHER };

enum place { OUTSIDE, BODY, SHEET, ROW, CELL, PARAGRAPH };

struct reader {
    al_ingest *in;
    al_sheets sheets;
    al_xml *xml;
    enum place place;
    unsigned passed;               /* depth inside an element that is passed over */
    unsigned inner[PARAGRAPH + 1]; /* elements around a place's content that change nothing */
    al_buf style;                  /* the table style that is read */
    al_buf hidden;                 /* names of styles of hidden sheets, a NUL behind each */
    char *name;                    /* of the sheet */
    uint64_t row, row_times;
    uint64_t row_cost; /* bytes of its cells, by a rough measure */
    uint64_t column;
    /* of the cell */
    uint64_t times;
    al_cell cell;
    bool valued, error, formula;
    al_buf text;
    unsigned paragraphs;
    bool start, space, broken; /* no character yet; blanks wait; a line end among them */
};

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
}

static enum space space_of(const al_xml_name *n)
{
    static const char front[] = "urn:oasis:names:tc:opendocument:xmlns:";
    static const char *const spaces[] = { "office:1.0", "table:1.0", "text:1.0", "style:1.0",
                                          "manifest:1.0" };
    const size_t len = sizeof front - 1;

    if (n->space_len > len && memcmp(n->space, front, len) == 0)
        for (int i = 0; i < OTHER; i++)
            if (al_xml_is(n->space + len, n->space_len - len, spaces[i], strlen(spaces[i])))
                return (enum space)i;
    return OTHER;
}

static bool is(const al_xml_name *name, enum space space, const char *local)
{
    return al_xml_is(name->local, name->len, local, strlen(local)) && space_of(name) == space;
}

static const al_xml_attr *attr(const al_xml_attr *attrs, size_t n, enum space space,
                               const char *local)
{
    for (size_t i = 0; i < n; i++)
        if (is(&attrs[i].name, space, local))
            return &attrs[i];
    return NULL;
}

static uint64_t times_of(const al_xml_attr *a)
{
    unsigned long long v = a ? strtoull(a->value, NULL, 10) : 1;

    return v == 0 ? 1 : v < MOST_REPEATS ? v : MOST_REPEATS;
}

/* --- styles: which sheets are hidden --- */

static int style_start(struct reader *r, const al_xml_name *name, const al_xml_attr *attrs,
                       size_t n, al_err *err)
{
    const al_xml_attr *a;

    if (is(name, STYLE, "style")) {
        al_buf_clear(&r->style);
        a = attr(attrs, n, STYLE, "name");
        if (a && al_buf_add(&r->style, a->value, a->len + 1) != AL_OK)
            return no_memory(err);
    } else if (is(name, STYLE, "table-properties")) {
        a = attr(attrs, n, TABLE, "display");
        if (a && strcmp(a->value, "false") == 0 && r->style.len && r->hidden.len < MOST_HIDDEN &&
            al_buf_add(&r->hidden, r->style.data, r->style.len) != AL_OK)
            return no_memory(err);
    }
    return AL_OK;
}

static bool is_hidden(const struct reader *r, const al_xml_attr *style)
{
    const char *p = r->hidden.data;

    for (; style && p && p < r->hidden.data + r->hidden.len; p += strlen(p) + 1)
        if (strcmp(p, style->value) == 0)
            return true;
    return false;
}

/* LibreOffice keeps what formulas saw of other files as tables, by this style. */
static bool is_cache(const al_xml_attr *style)
{
    return style && strcmp(style->value, "ta_extref") == 0;
}

/* --- tables, rows, cells --- */

static int begin_sheet(struct reader *r, const al_xml_attr *attrs, size_t n, al_err *err)
{
    const al_xml_attr *name = attr(attrs, n, TABLE, "name");

    if (r->sheets.begun == MOST_SHEETS)
        return al_err_setf(err, AL_ELIMIT, "ingest_limit", "input", "more than %d sheets",
                           MOST_SHEETS);
    free(r->name);
    r->name = strdup(name ? name->value : "");
    if (!r->name)
        return no_memory(err);
    r->row = 1;
    r->place = SHEET;
    return al_sheet_begin(&r->sheets, r->name, is_hidden(r, attr(attrs, n, TABLE, "style-name")),
                          err);
}

static void begin_row(struct reader *r, const al_xml_attr *attrs, size_t n)
{
    r->row_times = times_of(attr(attrs, n, TABLE, "number-rows-repeated"));
    r->row_cost = r->column = 0;
    r->place = ROW;
}

/* Texts of attributes and of what is shown go where they stay. */
static int keep(struct reader *r, const char *text, size_t len, al_cell *cell, al_err *err)
{
    char *copy;

    if (len > r->in->options->max_cell_bytes) {
        *cell = al_cell_text(text, len); /* refused where it is put */
        return AL_OK;
    }
    copy = al_sheet_text(&r->sheets, len);
    if (!copy)
        return no_memory(err);
    memcpy(copy, text, len);
    al_cell_parse(cell, copy, len);
    return AL_OK;
}

static int take_number(struct reader *r, const al_xml_attr *a, al_err *err)
{
    al_numfmt_number(&r->cell, a->value, a->len);
    return r->cell.kind == AL_CELL_TEXT ? keep(r, a->value, a->len, &r->cell, err) : AL_OK;
}

/* 2024-01-31T06:00:00.25: a fraction of a second gets three digits, unless it has more that count,
 * or goes when it is nothing. */
static int take_date(struct reader *r, const al_xml_attr *a, al_err *err)
{
    const char *point = memchr(a->value, '.', a->len);
    size_t front = point ? (size_t)(point - a->value) : a->len, digits = a->len - front;
    char text[64];

    if (!point || a->len + 3 > sizeof text || strspn(point + 1, "0123456789") != digits - 1)
        return keep(r, a->value, a->len, &r->cell, err);
    memcpy(text, a->value, a->len);
    memset(text + a->len, '0', 3);
    for (digits = a->len < front + 4 ? 4 : digits; digits > 4 && text[front + digits - 1] == '0';)
        digits--;
    if (memcmp(text + front, ".000", 4) == 0 && digits == 4)
        digits = 0;
    return keep(r, text, front + digits, &r->cell, err);
}

/* A duration, -P1DT2H30M15.5S: milliseconds. */
static bool duration(const char *p, int64_t *out)
{
    bool negative = *p == '-', clock = false, any = false;
    double ms = 0;

    p += negative;
    if (*p++ != 'P')
        return false;
    for (; *p; p++) {
        double unit, v;
        char *end, number[32];
        size_t n;

        if (*p == 'T') {
            clock = true;
            continue;
        }
        n = strspn(p, "0123456789.,");
        if (n == 0 || n >= sizeof number)
            return false;
        memcpy(number, p, n);
        number[n] = '\0';
        for (end = number; *end; end++)
            if (*end == ',')
                *end = '.';
        v = al_num_parse(number, n);
        p += n;
        unit = *p == 'D' && !clock  ? 86400e3
               : *p == 'H' && clock ? 3600e3
               : *p == 'M' && clock ? 60e3
               : *p == 'S' && clock ? 1e3
                                    : 0;
        if (unit == 0)
            return false;
        ms += v * unit;
        any = true;
    }
    if (!any || !(ms < 9e15))
        return false;
    *out = llround(negative ? -ms : ms);
    return true;
}

static int take_time(struct reader *r, const al_xml_attr *a, al_err *err)
{
    char text[AL_NUMFMT_TEXT];
    int64_t ms;

    if (!duration(a->value, &ms))
        return keep(r, a->value, a->len, &r->cell, err);
    return keep(r, text, al_numfmt_duration(ms, text), &r->cell, err);
}

static int take_boolean(struct reader *r, const al_xml_attr *a, al_err *err)
{
    (void)err;
    r->cell = strcmp(a->value, "true") == 0 ? al_cell_text("TRUE", 4) : al_cell_text("FALSE", 5);
    return AL_OK;
}

static int take_string(struct reader *r, const al_xml_attr *a, al_err *err)
{
    return keep(r, a->value, a->len, &r->cell, err);
}

/* The value of the attribute that the cell's type names. */
static int take_value(struct reader *r, const al_xml_attr *attrs, size_t n, al_err *err)
{
    static const struct {
        const char *type, *attr;
        int (*take)(struct reader *, const al_xml_attr *, al_err *);
    } kinds[] = {
        { "float", "value", take_number },         { "percentage", "value", take_number },
        { "currency", "value", take_number },      { "date", "date-value", take_date },
        { "time", "time-value", take_time },       { "boolean", "boolean-value", take_boolean },
        { "string", "string-value", take_string },
    };
    const al_xml_attr *type = attr(attrs, n, OFFICE, "value-type");

    for (size_t i = 0; type && i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(type->value, kinds[i].type) == 0) {
            const al_xml_attr *a = attr(attrs, n, OFFICE, kinds[i].attr);

            /* An empty one may be that of an error, whose name is shown. */
            r->valued = a && a->len > 0;
            return r->valued ? kinds[i].take(r, a, err) : AL_OK;
        }
    return AL_OK;
}

static int begin_cell(struct reader *r, const al_xml_attr *attrs, size_t n, al_err *err)
{
    r->times = times_of(attr(attrs, n, TABLE, "number-columns-repeated"));
    r->formula = attr(attrs, n, TABLE, "formula") != NULL;
    r->cell = al_cell_null();
    r->valued = false;
    r->text.len = 0;
    r->paragraphs = 0;
    r->place = CELL;
    return take_value(r, attrs, n, err);
}

/* LibreOffice writes what the functions TRUE and FALSE give as numbers. */
static void show_boolean(struct reader *r)
{
    static const char *const words[] = { "FALSE", "TRUE" };
    const char *word;

    if (r->cell.kind != AL_CELL_INTEGER || (r->cell.integer != 0 && r->cell.integer != 1))
        return;
    word = words[r->cell.integer];
    if (al_xml_is(r->text.data, r->text.len, word, strlen(word)))
        r->cell = al_cell_text(word, strlen(word));
}

static int end_cell(struct reader *r, al_err *err)
{
    uint64_t cost, most = r->in->options->max_columns;
    int rc = AL_OK;

    r->place = ROW;
    if (!r->valued && r->text.len)
        rc = keep(r, r->text.data, r->text.len, &r->cell, err);
    else if (r->valued)
        show_boolean(r);
    else if (r->formula && r->paragraphs == 0)
        r->sheets.uncalculated++;
    if (rc == AL_OK && r->cell.kind != AL_CELL_NULL) {
        cost = sizeof r->cell + (r->cell.kind == AL_CELL_TEXT ? r->cell.len : 0);
        rc = r->times > 1 && r->column + r->times <= most
                 ? al_sheets_spend(&r->sheets, r->times - 1, cost, err)
                 : AL_OK;
        r->row_cost += cost * (r->times < most ? r->times : most);
        for (uint64_t i = 0; i < r->times && rc == AL_OK; i++)
            rc = al_sheet_cell(&r->sheets, (size_t)(r->column + i), &r->cell, err);
    }
    r->column += r->times;
    return rc;
}

static int end_row(struct reader *r, al_err *err)
{
    int rc = AL_OK;

    r->place = SHEET;
    if (r->row_cost)
        rc = al_sheets_spend(&r->sheets, r->row_times - 1, r->row_cost, err);
    if (rc == AL_OK)
        rc = al_sheet_row(&r->sheets, r->row, r->row_times, al_xml_offset(r->xml), err);
    r->row += r->row_times;
    return rc;
}

/* --- texts, with the blanks of OpenDocument: runs of them are one, none begin a paragraph, and
 * what shall be more is an element --- */

static int add_text(struct reader *r, const char *p, size_t len, al_err *err)
{
    if (r->text.len / 8 > r->in->options->max_cell_bytes) {
        const al_cell cell = al_cell_text(r->text.data, UINT32_MAX);

        return al_sheet_cell(&r->sheets, (size_t)r->column, &cell, err); /* says it is too long */
    }
    if (r->space && len)
        al_buf_char(&r->text, ' ');
    if (len)
        r->start = r->space = false;
    return al_buf_add(&r->text, p, len) == AL_OK ? AL_OK : no_memory(err);
}

static int on_text(void *data, const char *text, size_t len, al_err *err)
{
    struct reader *r = data;
    const char *end = text + len;
    int rc = AL_OK;

    if (r->passed > 0 || r->place != PARAGRAPH)
        return AL_OK;
    while (text < end && rc == AL_OK) {
        const char *from = text;

        while (text < end && !strchr(" \t\r\n", *text))
            text++;
        rc = add_text(r, from, (size_t)(text - from), err);
        for (; text < end && strchr(" \t\r\n", *text); text++) {
            r->broken = (r->space && r->broken) || *text != ' ';
            r->space = !r->start;
        }
    }
    return rc;
}

static void begin_paragraph(struct reader *r)
{
    if (r->paragraphs++)
        al_buf_char(&r->text, '\n');
    r->start = true;
    r->space = r->broken = false;
    r->place = PARAGRAPH;
}

/* One blank at the end is there because it was written so; a line end is layout. */
static void end_paragraph(struct reader *r)
{
    if (r->space && !r->broken)
        al_buf_char(&r->text, ' ');
    r->place = CELL;
}

static int in_paragraph(struct reader *r, const al_xml_name *name, const al_xml_attr *attrs,
                        size_t n, al_err *err)
{
    uint64_t blanks;
    int rc = AL_OK;

    r->passed = 1;
    if (is(name, TEXT, "tab"))
        return add_text(r, "\t", 1, err);
    if (is(name, TEXT, "line-break"))
        return add_text(r, "\n", 1, err);
    if (is(name, TEXT, "s")) {
        blanks = times_of(attr(attrs, n, TEXT, "c"));
        for (; blanks > 0 && rc == AL_OK; blanks--)
            rc = add_text(r, " ", 1, err);
        return rc;
    }
    if (space_of(name) != TEXT || is(name, TEXT, "note") || is(name, TEXT, "ruby-text"))
        return AL_OK;
    r->passed = 0; /* spans, links, fields */
    r->inner[r->place]++;
    return AL_OK;
}

/* --- the events --- */

/* Groups of rows, lists in cells: their content is where they are. */
static void into(struct reader *r, bool counts)
{
    if (counts)
        r->inner[r->place]++;
    else
        r->passed = 1;
}

static int on_start(void *data, const al_xml_name *name, const al_xml_attr *attrs, size_t n,
                    al_err *err)
{
    struct reader *r = data;

    if (r->passed > 0) {
        r->passed++;
        return AL_OK;
    }
    switch (r->place) {
    case OUTSIDE:
        if (is(name, OFFICE, "spreadsheet"))
            r->place = BODY;
        return style_start(r, name, attrs, n, err);
    case BODY:
        if (is(name, TABLE, "table") && !is_cache(attr(attrs, n, TABLE, "style-name")))
            return begin_sheet(r, attrs, n, err);
        r->passed = 1;
        break;
    case SHEET:
        if (is(name, TABLE, "table-row"))
            begin_row(r, attrs, n);
        else
            into(r, is(name, TABLE, "table-row-group") || is(name, TABLE, "table-rows") ||
                        is(name, TABLE, "table-header-rows"));
        break;
    case ROW:
        if (is(name, TABLE, "table-cell") || is(name, TABLE, "covered-table-cell"))
            return begin_cell(r, attrs, n, err);
        r->passed = 1;
        break;
    case CELL:
        if (is(name, TEXT, "p") || is(name, TEXT, "h"))
            begin_paragraph(r);
        else
            into(r, space_of(name) == TEXT);
        break;
    case PARAGRAPH: return in_paragraph(r, name, attrs, n, err);
    }
    return AL_OK;
}

static int on_end(void *data, const al_xml_name *name, al_err *err)
{
    struct reader *r = data;

    (void)name;
    if (r->passed > 0) {
        r->passed--;
        return AL_OK;
    }
    if (r->inner[r->place] > 0) {
        r->inner[r->place]--;
        return AL_OK;
    }
    switch (r->place) {
    case OUTSIDE: break;
    case BODY: r->place = OUTSIDE; break;
    case SHEET: r->place = BODY; return al_sheet_end(&r->sheets, err);
    case ROW: return end_row(r, err);
    case CELL: return end_cell(r, err);
    case PARAGRAPH: end_paragraph(r); break;
    }
    return AL_OK;
}

static int on_step(void *data, al_err *err)
{
    struct reader *r = data;

    return al_ingest_step(r->in, err);
}

/* --- encryption, as the manifest tells it --- */

static int on_manifest(void *data, const al_xml_name *name, const al_xml_attr *attrs, size_t n,
                       al_err *err)
{
    (void)data, (void)attrs, (void)n;
    return is(name, MANIFEST, "encryption-data")
               ? al_err_set(err, AL_ENOTSUP, "dataset_unsupported", "input",
                            "an encrypted workbook: save it without a password")
               : AL_OK;
}

static int on_manifest_end(void *data, const al_xml_name *name, al_err *err)
{
    (void)data, (void)name, (void)err;
    return AL_OK;
}

static int check_manifest(al_zip *zip, al_err *err)
{
    static const al_xml_events events = { .start = on_manifest,
                                          .end = on_manifest_end,
                                          .namespaces = true };
    const al_zip_entry *entry = al_zip_find(zip, "META-INF/manifest.xml");

    return entry ? al_xml_part(zip, entry, &events, NULL, NULL, err) : AL_OK;
}

static int read_content(struct reader *r, al_zip *zip, al_err *err)
{
    static const al_xml_events events = {
        .start = on_start, .end = on_end, .text = on_text, .step = on_step, .namespaces = true
    };
    const al_zip_entry *entry = al_zip_find(zip, "content.xml");
    int rc = check_manifest(zip, err);

    if (rc == AL_OK && !entry)
        rc = al_opc_missing("content.xml", err);
    if (rc == AL_OK)
        rc = al_ingest_begin(r->in, err);
    if (rc == AL_OK)
        rc = al_sheets_open(&r->sheets, r->in, err);
    if (rc == AL_OK)
        rc = al_xml_part(zip, entry, &events, r, &r->xml, err);
    return rc == AL_OK ? al_sheets_finish(&r->sheets, err) : rc;
}

int al_read_ods(al_ingest *in, al_err *err)
{
    struct reader r = { .in = in };
    int rc;

    al_buf_init(&r.style, 0);
    al_buf_init(&r.hidden, 0);
    al_buf_init(&r.text, 0);
    rc = read_content(&r, al_source_file_zip(in->source), err);
    al_sheets_close(&r.sheets);
    al_buf_free(&r.style);
    al_buf_free(&r.hidden);
    al_buf_free(&r.text);
    free(r.name);
    return rc;
}
