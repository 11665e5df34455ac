/* The reader of XLSX: the package's parts one after another, then each worksheet by
 * data/worksheet.c. */
#include "data/ingest.h"
#include "data/opc.h"
#include "data/worksheet.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MOST_SHEETS  1000
#define MOST_FORMATS (1u << 20)

struct sheet {
    char *name, *id; /* of its relationship */
    const al_zip_entry *entry;
    bool hidden;
};

struct format {
    uint32_t id;
    al_numfmt kind;
};

struct xlsx {
    al_ingest *in;
    al_zip *zip;
    char *part; /* of the workbook */
    al_rels rels;
    struct sheet *sheets;
    size_t nsheets, sheets_room;
    struct format *customs; /* formats with a code */
    size_t ncustoms, customs_room;
    size_t styles_room;
    bool styles; /* in the list that cells point into */
    al_workbook book;
};

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
}

/* Room for one more in an array of `size` bytes each. */
static int grow(void **items, size_t count, size_t *room, size_t size, size_t most,
                const char *what, al_err *err)
{
    void *more;
    size_t wanted = *room ? *room * 2 : 16;

    if (count == most)
        return al_err_setf(err, AL_ELIMIT, "ingest_limit", "input", "more than %zu %s", most, what);
    if (count < *room)
        return AL_OK;
    more = realloc(*items, wanted * size);
    if (!more)
        return no_memory(err);
    *items = more;
    *room = wanted;
    return AL_OK;
}

static int on_step(void *data, al_err *err)
{
    return al_ingest_step(data, err);
}

/* --- the workbook part --- */

static bool is_true(const al_xml_attr *a)
{
    return a && (al_xml_is(a->value, a->len, "1", 1) || al_xml_is(a->value, a->len, "true", 4) ||
                 al_xml_is(a->value, a->len, "on", 2));
}

static const al_xml_attr *with_prefix(const al_xml_attr *attrs, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (attrs[i].name.space_len > 0 &&
            al_xml_is(attrs[i].name.local, attrs[i].name.len, name, strlen(name)))
            return &attrs[i];
    return NULL;
}

static int add_sheet(struct xlsx *x, const al_xml_attr *attrs, size_t n, al_err *err)
{
    const al_xml_attr *name = al_xml_attr_of(attrs, n, "name");
    const al_xml_attr *state = al_xml_attr_of(attrs, n, "state");
    const al_xml_attr *id = with_prefix(attrs, n, "id");
    struct sheet *s;
    int rc = grow((void **)&x->sheets, x->nsheets, &x->sheets_room, sizeof *x->sheets, MOST_SHEETS,
                  "sheets", err);

    if (rc != AL_OK)
        return rc;
    s = &x->sheets[x->nsheets++];
    *s = (struct sheet){
        .name = name ? strndup(name->value, name->len) : strdup(""),
        .id = id ? strndup(id->value, id->len) : strdup(""),
        .hidden = state && !al_xml_is(state->value, state->len, "visible", 7),
    };
    return s->name && s->id ? AL_OK : no_memory(err);
}

static int on_book(void *data, const al_xml_name *name, const al_xml_attr *attrs, size_t n,
                   al_err *err)
{
    struct xlsx *x = data;

    if (AL_XML_IS(name, "workbookPr"))
        x->book.from_1904 = is_true(al_xml_attr_of(attrs, n, "date1904"));
    return AL_XML_IS(name, "sheet") ? add_sheet(x, attrs, n, err) : AL_OK;
}

static int on_end(void *data, const al_xml_name *name, al_err *err)
{
    (void)data, (void)name, (void)err;
    return AL_OK;
}

static int read_book(struct xlsx *x, al_err *err)
{
    static const al_xml_events events = { .start = on_book, .end = on_end };
    const al_zip_entry *entry;
    al_rels package;
    const al_rel *rel;
    int rc = al_rels_read(&package, x->zip, "", err);

    if (rc == AL_OK) {
        rel = al_rels_by_type(&package, "officeDocument");
        x->part = strdup(rel ? rel->part : "xl/workbook.xml");
        rc = x->part ? AL_OK : no_memory(err);
    }
    al_rels_free(&package);
    if (rc != AL_OK)
        return rc;
    if (strlen(x->part) > 4 && strcasecmp(x->part + strlen(x->part) - 4, ".bin") == 0)
        return al_err_set(err, AL_ENOTSUP, "dataset_unsupported", "input",
                          "a binary workbook (.xlsb): save it as .xlsx");
    entry = al_zip_find(x->zip, x->part);
    if (!entry)
        return al_opc_missing(x->part, err);
    rc = al_xml_part(x->zip, entry, &events, x, NULL, err);
    return rc == AL_OK ? al_rels_read(&x->rels, x->zip, x->part, err) : rc;
}

/* --- styles: which formats show dates and times --- */

static uint32_t number_of(const al_xml_attr *a)
{
    return a ? (uint32_t)strtoul(a->value, NULL, 10) : 0;
}

static int add_custom(struct xlsx *x, const al_xml_attr *attrs, size_t n, al_err *err)
{
    const al_xml_attr *code = al_xml_attr_of(attrs, n, "formatCode");
    int rc = grow((void **)&x->customs, x->ncustoms, &x->customs_room, sizeof *x->customs,
                  MOST_FORMATS, "number formats", err);

    if (rc == AL_OK && code)
        x->customs[x->ncustoms++] =
            (struct format){ number_of(al_xml_attr_of(attrs, n, "numFmtId")),
                             al_numfmt_of_code(code->value, code->len) };
    return rc;
}

static int by_id(const void *a, const void *b)
{
    const struct format *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static int add_style(struct xlsx *x, const al_xml_attr *attrs, size_t n, al_err *err)
{
    struct format key = { .id = number_of(al_xml_attr_of(attrs, n, "numFmtId")) }, *found = NULL;
    int rc = grow((void **)&x->book.styles, x->book.nstyles, &x->styles_room,
                  sizeof *x->book.styles, MOST_FORMATS, "styles", err);

    if (rc != AL_OK)
        return rc;
    if (x->ncustoms)
        found = bsearch(&key, x->customs, x->ncustoms, sizeof *x->customs, by_id);
    x->book.styles[x->book.nstyles++] =
        (unsigned char)(found ? found->kind : al_numfmt_of_id(key.id));
    return AL_OK;
}

static int on_style(void *data, const al_xml_name *name, const al_xml_attr *attrs, size_t n,
                    al_err *err)
{
    struct xlsx *x = data;

    if (AL_XML_IS(name, "numFmt"))
        return add_custom(x, attrs, n, err);
    if (AL_XML_IS(name, "cellXfs")) {
        if (x->ncustoms)
            qsort(x->customs, x->ncustoms, sizeof *x->customs, by_id);
        x->styles = true;
    } else if (x->styles && AL_XML_IS(name, "xf")) {
        return add_style(x, attrs, n, err);
    }
    return AL_OK;
}

static int on_style_end(void *data, const al_xml_name *name, al_err *err)
{
    struct xlsx *x = data;

    (void)err;
    if (AL_XML_IS(name, "cellXfs"))
        x->styles = false;
    return AL_OK;
}

/* --- all of it --- */

/* The entry of a part of that kind: where the relationships say, else where it usually lies; NULL
 * when there is none, which need not be wrong. */
static int find_part(const struct xlsx *x, const char *type, const char *usual,
                     const al_zip_entry **entry, al_err *err)
{
    const al_rel *rel = al_rels_by_type(&x->rels, type);

    *entry = al_zip_find(x->zip, rel ? rel->part : usual);
    return *entry || !rel ? AL_OK : al_opc_missing(rel->part, err);
}

static int read_styles(struct xlsx *x, al_err *err)
{
    static const al_xml_events events = { .start = on_style, .end = on_style_end };
    const al_zip_entry *entry;
    int rc = find_part(x, "styles", "xl/styles.xml", &entry, err);

    return rc == AL_OK && entry ? al_xml_part(x->zip, entry, &events, x, NULL, err) : rc;
}

static int read_strings(struct xlsx *x, al_err *err)
{
    const al_zip_entry *entry;
    int rc = find_part(x, "sharedStrings", "xl/sharedStrings.xml", &entry, err);

    return rc == AL_OK && entry
               ? al_strings_read(&x->book.strings, x->zip, entry, x->in->options->max_cell_bytes,
                                 on_step, x->in, err)
               : rc;
}

/* A small file cannot have a part read a thousand times. */
static int check_once(const struct xlsx *x, const struct sheet *s, al_err *err)
{
    for (const struct sheet *t = x->sheets; t < s; t++)
        if (t->entry == s->entry)
            return al_err_setf(err, AL_EDATA, "ingest_invalid", s->entry->name,
                               "it is the part of two sheets, \"%.80s\" and \"%.80s\"", t->name,
                               s->name);
    return AL_OK;
}

/* Chart sheets, dialogs and macros have no cells. */
static int read_sheet(struct xlsx *x, al_sheets *sheets, struct sheet *s, al_err *err)
{
    const al_rel *rel = al_rels_by_id(&x->rels, s->id, strlen(s->id));
    int rc;

    if (!rel)
        return al_err_set(err, AL_EDATA, "ingest_invalid", s->name,
                          "this sheet has no part: the workbook is damaged");
    if (strcmp(rel->type, "worksheet") != 0)
        return AL_OK;
    s->entry = al_zip_find(x->zip, rel->part);
    if (!s->entry)
        return al_opc_missing(rel->part, err);
    rc = check_once(x, s, err);
    if (rc == AL_OK)
        rc = al_sheet_begin(sheets, s->name, s->hidden, err);
    if (rc == AL_OK)
        rc = al_worksheet_read(sheets, &x->book, x->zip, s->entry, err);
    return rc == AL_OK ? al_sheet_end(sheets, err) : rc;
}

static int read_all(struct xlsx *x, al_sheets *sheets, al_err *err)
{
    int rc = al_ingest_begin(x->in, err);

    if (rc == AL_OK)
        rc = al_sheets_open(sheets, x->in, err);
    if (rc == AL_OK)
        rc = read_book(x, err);
    if (rc == AL_OK)
        rc = read_styles(x, err);
    if (rc == AL_OK)
        rc = read_strings(x, err);
    for (size_t i = 0; i < x->nsheets && rc == AL_OK; i++)
        rc = read_sheet(x, sheets, &x->sheets[i], err);
    return rc == AL_OK ? al_sheets_finish(sheets, err) : rc;
}

int al_read_xlsx(al_ingest *in, al_err *err)
{
    struct xlsx x = { .in = in, .zip = al_source_file_zip(in->source) };
    al_sheets sheets = { 0 };
    int rc = read_all(&x, &sheets, err);

    al_sheets_close(&sheets);
    for (size_t i = 0; i < x.nsheets; i++) {
        free(x.sheets[i].name);
        free(x.sheets[i].id);
    }
    free(x.sheets);
    free(x.customs);
    free(x.book.styles);
    free(x.part);
    al_rels_free(&x.rels);
    al_strings_free(&x.book.strings);
    return rc;
}
