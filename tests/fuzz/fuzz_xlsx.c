/* data/xlsx and data/ods. The first byte says what the others are: a file as it is, for the zip
 * path; the content of an ODS document; or parts of an XLSX workbook with form feeds between:
 * sheet, strings, styles, workbook and its relationships (those that are missing are usual ones).
 * One thread or several make the same dataset. */
#include "../unit/zipmaker.h"
#include "ingest.h"

static const char rels[] = "<Relationships><Relationship Id=\"a\" Type=\"x/worksheet\" "
                           "Target=\"worksheets/sheet1.xml\"/></Relationships>";

static const struct member usual[] = {
    { .name = "xl/worksheets/sheet1.xml", .bytes = "<worksheet/>" },
    { .name = "xl/sharedStrings.xml", .bytes = "<sst><si><t>a</t></si><si><t>1</t></si></sst>" },
    { .name = "xl/styles.xml",
      .bytes = "<styleSheet><cellXfs><xf/><xf numFmtId=\"14\"/><xf "
               "numFmtId=\"46\"/></cellXfs></styleSheet>" },
    { .name = "xl/workbook.xml",
      .bytes =
          "<workbook xmlns:r=\"r\"><sheets><sheet name=\"S\" r:id=\"a\"/></sheets></workbook>" },
    { .name = "xl/_rels/workbook.xml.rels", .bytes = rels },
};

enum { PARTS = sizeof usual / sizeof usual[0] };

static void workbook(al_buf *b, const char *text, size_t len)
{
    struct member members[PARTS];

    memcpy(members, usual, sizeof usual);
    for (size_t i = 0; i < PARTS && len > 0; i++) {
        const char *end = memchr(text, '\f', len);
        size_t n = end ? (size_t)(end - text) : len;

        if (n) {
            members[i].bytes = text;
            members[i].len = n;
        }
        text += n + (end != NULL);
        len -= n + (end != NULL);
    }
    make_zip(b, members, PARTS);
}

static void document(al_buf *b, const char *text, size_t len)
{
    const struct member members[] = {
        { .name = "mimetype", .bytes = "application/vnd.oasis.opendocument.spreadsheet" },
        { .name = "content.xml", .bytes = text, .len = len },
    };

    make_zip(b, members, len ? 2 : 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data + 1;
    char one[65], other[65];
    al_ingest_options o;
    al_buf b;
    int rc;

    if (size == 0)
        return 0;
    al_buf_init(&b, 0);
    if (data[0] == 'z')
        al_buf_add(&b, text, size - 1);
    else if (data[0] == 'o')
        document(&b, text, size - 1);
    else
        workbook(&b, text, size - 1);
    al_ingest_defaults(&o);
    o.name = "fuzz.xlsx";
    o.max_cell_bytes = 4096;
    o.max_rows = 100000;
    o.threads = 1;
    rc = ingest(&o, b.data, b.len, one);
    o.threads = 2;
    check(ingest(&o, b.data, b.len, other) == rc);
    check(rc != AL_OK || strcmp(one, other) == 0);
    al_buf_free(&b);
    return 0;
}
