/* Worksheets: sheetData > row > c > v or is. All else in a part is passed over. */
#include "data/worksheet.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MOST_COLUMNS 1000000 /* where counting on would mean nothing any more */

enum place { OUTSIDE, DATA, ROW, CELL, VALUE, INLINE, INLINE_TEXT };

enum kind { NUMBER, SHARED, INLINE_STRING, STRING, BOOLEAN, ERROR, ISO_DATE };

struct reader {
    al_sheets *sheets;
    const al_workbook *book;
    al_xml *xml;
    enum place place;
    unsigned passed; /* depth inside an element that is passed over */
    uint64_t row;
    /* of the cell */
    size_t column; /* from 0 */
    size_t next;   /* where a cell stands that does not say where */
    enum kind kind;
    uint32_t style;
    bool formula, has_value;
    al_buf value;
};

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
}

/* "BC23": column 54. False when it does not begin with letters, or says no number of a row. */
static bool column_of(const char *p, size_t len, size_t *column)
{
    size_t n = 0, i = 0;

    i += i < len && p[i] == '$';
    for (; i < len; i++) {
        unsigned char c = (unsigned char)((p[i] | 0x20) - 'a');

        if (c >= 26)
            break;
        if (n < MOST_COLUMNS)
            n = n * 26 + c + 1;
    }
    i += i < len && p[i] == '$';
    if (n == 0 || i == len || p[i] < '1' || p[i] > '9')
        return false;
    *column = n - 1;
    return true;
}

/* Digits only, and not too many. */
static bool whole(const char *p, size_t len, uint64_t *out)
{
    uint64_t v = 0;

    if (len == 0 || len > 18)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (p[i] < '0' || p[i] > '9')
            return false;
        v = v * 10 + (uint64_t)(p[i] - '0');
    }
    *out = v;
    return true;
}

static void begin_row(struct reader *r, const al_xml_attr *attrs, size_t n)
{
    const al_xml_attr *number = al_xml_attr_of(attrs, n, "r");
    uint64_t v;

    r->row = number && whole(number->value, number->len, &v) && v > 0 ? v : r->row + 1;
    r->next = 0;
    r->place = ROW;
}

static enum kind kind_of(const char *p, size_t len)
{
    static const struct {
        const char *name;
        enum kind kind;
    } kinds[] = {
        { "s", SHARED },   { "n", NUMBER },  { "inlineStr", INLINE_STRING },
        { "str", STRING }, { "b", BOOLEAN }, { "e", ERROR },
        { "d", ISO_DATE },
    };

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (al_xml_is(p, len, kinds[i].name, strlen(kinds[i].name)))
            return kinds[i].kind;
    return NUMBER;
}

static void begin_cell(struct reader *r, const al_xml_attr *attrs, size_t n)
{
    uint64_t style;

    r->kind = NUMBER;
    r->style = 0;
    r->column = r->next;
    for (size_t i = 0; i < n; i++) {
        const al_xml_attr *a = &attrs[i];

        if (a->name.space_len > 0 || a->name.len != 1)
            continue;
        if (*a->name.local == 'r')
            column_of(a->value, a->len, &r->column);
        else if (*a->name.local == 't')
            r->kind = kind_of(a->value, a->len);
        else if (*a->name.local == 's' && whole(a->value, a->len, &style))
            r->style = style < r->book->nstyles ? (uint32_t)style : 0;
    }
    r->next = r->column + 1;
    r->formula = r->has_value = false;
    r->value.len = 0;
    r->place = CELL;
}

static void in_cell(struct reader *r, const al_xml_name *name)
{
    if (AL_XML_IS(name, "v")) {
        r->has_value = true;
        r->place = VALUE;
    } else if (AL_XML_IS(name, "is")) {
        r->kind = INLINE_STRING;
        r->place = INLINE;
    } else {
        r->formula = r->formula || AL_XML_IS(name, "f");
        r->passed = 1;
    }
}

static int on_start(void *data, const al_xml_name *name, const al_xml_attr *attrs, size_t n,
                    al_err *err)
{
    struct reader *r = data;

    (void)err;
    if (r->passed > 0) {
        r->passed++;
        return AL_OK;
    }
    switch (r->place) {
    case OUTSIDE:
        if (AL_XML_IS(name, "sheetData"))
            r->place = DATA;
        break;
    case DATA:
        if (AL_XML_IS(name, "row"))
            begin_row(r, attrs, n);
        else
            r->passed = 1;
        break;
    case ROW:
        if (AL_XML_IS(name, "c"))
            begin_cell(r, attrs, n);
        else
            r->passed = 1;
        break;
    case CELL: in_cell(r, name); break;
    case INLINE:
        if (AL_XML_IS(name, "t"))
            r->place = INLINE_TEXT;
        else if (!AL_XML_IS(name, "r"))
            r->passed = 1; /* phonetic guides, properties */
        break;
    default: r->passed = 1;
    }
    return AL_OK;
}

static int on_text(void *data, const char *text, size_t len, al_err *err)
{
    struct reader *r = data;

    if (r->passed > 0 || (r->place != VALUE && r->place != INLINE_TEXT))
        return AL_OK;
    if (r->value.len / 8 > r->sheets->in->options->max_cell_bytes) {
        const al_cell cell = al_cell_text(r->value.data, UINT32_MAX);

        return al_sheet_cell(r->sheets, r->column, &cell, err); /* says that it is too long */
    }
    return al_buf_add(&r->value, text, len) == AL_OK ? AL_OK : no_memory(err);
}

static int no_string(const struct reader *r, al_err *err)
{
    al_err_setf(err, AL_EDATA, "ingest_invalid", r->sheets->name,
                "row %" PRIu64 ", column %zu: a shared string that the workbook does not have",
                r->row, r->column + 1);
    if (err)
        err->line = r->row;
    return al_err_reason(err, AL_EDATA, "missing");
}

/* A text that goes with the value's buffer, to stay. */
static int keep(struct reader *r, const char *text, size_t len, al_cell *cell, al_err *err)
{
    char *copy;

    if (len > r->sheets->in->options->max_cell_bytes) {
        *cell = al_cell_text(text, len); /* refused where it is put */
        return AL_OK;
    }
    copy = al_sheet_text(r->sheets, len);
    if (!copy)
        return no_memory(err);
    memcpy(copy, text, len);
    al_cell_parse(cell, copy, len);
    return AL_OK;
}

static int number(struct reader *r, const char *p, size_t len, al_cell *cell, al_err *err)
{
    al_numfmt format = r->book->nstyles ? r->book->styles[r->style] : AL_NUMFMT_NUMBER;
    char text[AL_NUMFMT_TEXT];

    al_numfmt_number(cell, p, len);
    if (cell->kind == AL_CELL_TEXT)
        return keep(r, p, len, cell, err);
    if (format == AL_NUMFMT_NUMBER)
        return AL_OK;
    len = al_numfmt_text(cell->kind == AL_CELL_REAL ? cell->real : (double)cell->integer, format,
                         r->book->from_1904, text);
    return len ? keep(r, text, len, cell, err) : AL_OK;
}

static int shared(const struct reader *r, const char *p, size_t len, al_cell *cell, al_err *err)
{
    uint64_t index;

    if (!whole(p, len, &index) || index >= r->book->strings.count)
        return no_string(r, err);
    al_strings_cell(&r->book->strings, (size_t)index, cell);
    return cell->kind == AL_CELL_TEXT ? al_sheet_shared(r->sheets, cell->len, err) : AL_OK;
}

static inline bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static inline const char *trim(const char *p, size_t *len)
{
    while (*len > 0 && is_blank(*p))
        p++, (*len)--;
    while (*len > 0 && is_blank(p[*len - 1]))
        (*len)--;
    return p;
}

static int end_cell(struct reader *r, al_err *err)
{
    char *value = r->value.data;
    size_t len = r->value.len;
    const char *p;
    al_cell cell;
    int rc;

    r->place = ROW;
    r->sheets->uncalculated += r->formula && !r->has_value;
    if (len == 0)
        return AL_OK;
    if (r->kind == STRING || r->kind == INLINE_STRING) {
        rc = keep(r, value, al_strings_unescape(value, len), &cell, err);
        return rc == AL_OK ? al_sheet_cell(r->sheets, r->column, &cell, err) : rc;
    }
    p = trim(value, &len);
    if (len == 0)
        return AL_OK;
    switch (r->kind) {
    case SHARED: rc = shared(r, p, len, &cell, err); break;
    case NUMBER: rc = number(r, p, len, &cell, err); break;
    case BOOLEAN:
        if (al_xml_is(p, len, "1", 1) || al_xml_is(p, len, "true", 4))
            cell = al_cell_text("TRUE", 4), rc = AL_OK;
        else if (al_xml_is(p, len, "0", 1) || al_xml_is(p, len, "false", 5))
            cell = al_cell_text("FALSE", 5), rc = AL_OK;
        else
            rc = keep(r, p, len, &cell, err);
        break;
    default: rc = keep(r, p, len, &cell, err);
    }
    return rc == AL_OK ? al_sheet_cell(r->sheets, r->column, &cell, err) : rc;
}

static int on_end(void *data, const al_xml_name *name, al_err *err)
{
    struct reader *r = data;

    if (r->passed > 0) {
        r->passed--;
        return AL_OK;
    }
    switch (r->place) {
    case DATA: r->place = OUTSIDE; return AL_OK;
    case ROW:
        r->place = DATA;
        return al_sheet_row(r->sheets, r->row, 1, al_xml_offset(r->xml), err);
    case CELL: return end_cell(r, err);
    case VALUE: r->place = CELL; return AL_OK;
    case INLINE:
        if (AL_XML_IS(name, "is"))
            r->place = CELL;
        return AL_OK;
    case INLINE_TEXT: r->place = INLINE; return AL_OK;
    default: return AL_OK;
    }
}

static int on_step(void *data, al_err *err)
{
    struct reader *r = data;

    return al_ingest_step(r->sheets->in, err);
}

int al_worksheet_read(al_sheets *sheets, const al_workbook *book, al_zip *zip,
                      const al_zip_entry *entry, al_err *err)
{
    static const al_xml_events events = {
        .start = on_start, .end = on_end, .text = on_text, .step = on_step, .scan = true
    };
    struct reader r = { .sheets = sheets, .book = book };
    int rc;

    al_buf_init(&r.value, 0);
    rc = al_xml_part(zip, entry, &events, &r, &r.xml, err);
    al_buf_free(&r.value);
    return rc;
}
