#include "workbook.h"

#define NAMES                                                            \
    " xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\"" \
    " xmlns:table=\"urn:oasis:names:tc:opendocument:xmlns:table:1.0\""   \
    " xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\""     \
    " xmlns:style=\"urn:oasis:names:tc:opendocument:xmlns:style:1.0\""   \
    " xmlns:draw=\"urn:oasis:names:tc:opendocument:xmlns:drawing:1.0\""  \
    " xmlns:calcext=\"urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0\""

#define MIMETYPE "application/vnd.oasis.opendocument.spreadsheet"

static void make_of(const char *content, const char *manifest)
{
    const struct member parts[] = {
        { .name = "mimetype", .bytes = MIMETYPE },
        { .name = "content.xml", .bytes = content },
        { .name = "META-INF/manifest.xml", .bytes = manifest },
    };

    al_buf_clear(&bytes);
    make_zip(&bytes, parts, manifest ? 3 : 2);
    options.name = "book.ods";
}

/* A document of these tables. */
static void document(const char *styles, const char *tables)
{
    al_buf xml;

    al_buf_init(&xml, 0);
    al_buf_printf(&xml,
                  "<office:document-content" NAMES "><office:automatic-styles>%s"
                  "</office:automatic-styles><office:body><office:spreadsheet>%s"
                  "</office:spreadsheet></office:body></office:document-content>",
                  styles, tables);
    make_of(xml.data, NULL);
    al_buf_free(&xml);
}

static void sheet(const char *rows)
{
    al_buf xml;

    al_buf_init(&xml, 0);
    al_buf_printf(&xml, "<table:table table:name=\"Sheet1\">%s</table:table>", rows);
    document("", xml.data);
    al_buf_free(&xml);
}

#define ROW(cells)           "<table:table-row>" cells "</table:table-row>"
#define CELL(attrs, content) "<table:table-cell " attrs ">" content "</table:table-cell>"
#define P(text)              "<text:p>" text "</text:p>"
#define T(text)              CELL("office:value-type=\"string\"", P(text))
#define V(type, attr, value) \
    CELL("office:value-type=\"" type "\" office:" attr "=\"" value "\"", P("shown"))
#define N(value) V("float", "value", value)

static void a_small_table(void **state)
{
    (void)state;
    sheet(ROW(T("Region") T("Total")) ROW(T("East") N("10")) ROW(T("West") N("2.50"))
              ROW("<table:table-cell/>" T("007")));
    gives("s_sheet1", "region,total|'East',10/'West',2.5/-,'007'");
    assert_true(says("\"format\":\"ods\",\"encoding\":null,\"delimiter\":null,\"header\":true"));
    assert_true(says("\"notes\":[]"));
}

static void are(const struct shown *cases, size_t n)
{
    shows(sheet, "table:table-row", T("v"), cases, n);
}

#define ARE(cases) are(cases, sizeof(cases) / sizeof((cases)[0]))

static void kinds_of_cells(void **state)
{
    static const struct shown cases[] = {
        { N("1.1000000000000001"), "1.1" },
        { N("12345678901234567890"), "'12345678901234567890'" },
        { N("many"), "'many'" },
        { V("percentage", "value", "0.5"), "0.5" },
        { V("currency", "value", "12"), "12" },
        { V("date", "date-value", "2024-01-31"), "'2024-01-31'" },
        { V("date", "date-value", "2024-01-31T06:00:00"), "'2024-01-31T06:00:00'" },
        { V("date", "date-value", "2024-01-31T06:00:00.250000000"), "'2024-01-31T06:00:00.250'" },
        { V("date", "date-value", "2024-01-31T06:00:00.000000000"), "'2024-01-31T06:00:00'" },
        { V("date", "date-value", "2024-01-31T06:00:00.5"), "'2024-01-31T06:00:00.500'" },
        { V("date", "date-value", "2024-01-31T06:00:00.0"), "'2024-01-31T06:00:00'" },
        { V("date", "date-value", "2024-01-31T06:00:00.123450"), "'2024-01-31T06:00:00.12345'" },
        { V("date", "date-value", "2024-01-31T06:00:00.5Z"), "'2024-01-31T06:00:00.5Z'" },
        { V("boolean", "boolean-value", "true"), "'TRUE'" },
        { V("boolean", "boolean-value", "false"), "'FALSE'" },
        { CELL("office:value-type=\"float\" office:value=\"1\"", P("TRUE")), "'TRUE'" },
        { CELL("office:value-type=\"float\" office:value=\"0\"", P("FALSE")), "'FALSE'" },
        { CELL("office:value-type=\"float\" office:value=\"2\"", P("TRUE")), "2" },
        { V("string", "string-value", " kept  as is"), "' kept  as is'" },
        { V("string", "string-value", "5"), "5" },
        { CELL("office:value-type=\"string\" office:string-value=\"\"", P("#N/A")), "'#N/A'" },
        { CELL("", P("typeless")), "'typeless'" },
        { CELL("office:value-type=\"float\"", P("7")), "7" },
        { CELL("office:value-type=\"new\"", P("x")), "'x'" },
    };

    (void)state;
    ARE(cases);
    sheet(ROW(T("v")) ROW(CELL("table:formula=\"of:=1\"", "") N("1")));
    gives("s_sheet1", "v,column_2|-,1");
    assert_true(says("\"notes\":[{\"id\":\"formulas_without_values\",\"count\":1}]"));
}

static void durations(void **state)
{
    static const struct shown cases[] = {
        { V("time", "time-value", "PT12H30M15S"), "'12:30:15'" },
        { V("time", "time-value", "PT00H00M01.5S"), "'00:00:01.500'" },
        { V("time", "time-value", "PT0,25S"), "'00:00:00.250'" },
        { V("time", "time-value", "P1DT2H"), "'26:00:00'" },
        { V("time", "time-value", "-PT6H"), "'-06:00:00'" },
        { V("time", "time-value", "PT255H10M10S"), "'255:10:10'" },
        { V("time", "time-value", "P2M"), "'P2M'" },
        { V("time", "time-value", "12:30"), "'12:30'" },
        { V("time", "time-value", "P"), "'P'" },
        { V("time", "time-value", "PTxS"), "'PTxS'" },
        { V("time", "time-value", "PT99999999999999999999H"), "'PT99999999999999999999H'" },
    };

    (void)state;
    ARE(cases);
}

static void texts(void **state)
{
    static const struct shown cases[] = {
        { CELL("", P("one") P("two") P("") P("four")), "'one\ntwo\n\nfour'" },
        { T("a<text:s/>b<text:s text:c=\"3\"/>c"), "'a b   c'" },
        { T("a<text:tab/>b<text:line-break/>c"), "'a\tb\nc'" },
        { T("<text:s text:c=\"2\"/>in"), "'  in'" },
        { T("in <text:span>red <text:span>and</text:span></text:span> <text:a>blue</text:a>"),
          "'in red and blue'" },
        { T("\n  laid\n   out\t\n"), "'laid out'" },
        { T("one blank "), "'one blank '" },
        { T("a &amp; &lt;b&gt;"), "'a & <b>'" },
        { CELL("", "<office:annotation>" P("no") "</office:annotation>" P("yes")), "'yes'" },
        { CELL("", P("yes") "<draw:frame><draw:text-box>" P("no") "</draw:text-box></draw:frame>"),
          "'yes'" },
        { CELL("", "<text:list><text:list-item>" P("item") "</text:list-item></text:list>"),
          "'item'" },
        { T("note<text:note>" P("no") "</text:note>"), "'note'" },
        { CELL("", "<text:h>head</text:h>" P("body")), "'head\nbody'" },
    };

    (void)state;
    ARE(cases);
}

static void repeats(void **state)
{
    (void)state;
    sheet(ROW(T("a") T("b") T(
        "c") "<table:table-cell table:number-columns-repeated=\"16381\"/>") "<table:table-row "
                                                                            "table:number-rows-"
                                                                            "repeated=\"3\">"
                                                                            "<table:table-cell "
                                                                            "table:number-columns-"
                                                                            "repeated=\"2\" "
                                                                            "office:value-type="
                                                                            "\"float\" "
                                                                            "office:value=\"1\"/"
                                                                            ">" T(
                                                                                "x") "</"
                                                                                     "table:table-"
                                                                                     "row>"
                                                                                     "<table:table-"
                                                                                     "row "
                                                                                     "table:number-"
                                                                                     "rows-"
                                                                                     "repeated="
                                                                                     "\"1048000\"><"
                                                                                     "table:table-"
                                                                                     "cell "
                                                                                     "table:number-"
                                                                                     "columns-"
                                                                                     "repeated="
                                                                                     "\"16384\"/></"
                                                                                     "table:table-"
                                                                                     "row>" ROW(
                                                                                         "<table:"
                                                                                         "covered-"
                                                                                         "table-"
                                                                                         "cell/>" N(
                                                                                             "2")));
    gives("s_sheet1", "a,b,c|1,1,'x'/1,1,'x'/1,1,'x'/-,2,-");
    options.skip = 3;
    gives("s_sheet1", "_1,_1_2,x|-,2,-");
}

/* The whole of a column, as a fill makes it, is read; what repeats make of little is bounded. */
static void many_repeats(void **state)
{
    sqlite3 *db;

    (void)state;
    sheet(ROW(T("a") T("b")) "<table:table-row table:number-rows-repeated=\"1048575\">" N("1")
              T("long enough to be told") "</table:table-row>");
    assert_int_equal(ingest(), AL_OK);
    db = open_file(path);
    assert_string_equal(ask(db, "SELECT sum(a) || ' ' || count(DISTINCT b) FROM s_sheet1"),
                        "1048575 1");
    sqlite3_close(db);
    sheet(ROW(T("a")) "<table:table-row table:number-rows-repeated=\"1048575\">"
                      "<table:table-cell table:number-columns-repeated=\"1000\" "
                      "office:value-type=\"float\" "
                      "office:value=\"1\"/></table:table-row>");
    fails(AL_ELIMIT, "ingest_limit", "Sheet1", "repeated cells");
    sheet(ROW(T("a")) "<table:table-row table:number-rows-repeated=\"18446744073709551615\">" N(
        "1") "</table:table-row>");
    fails(AL_ELIMIT, "ingest_limit", "Sheet1", "repeated cells");
    sheet(ROW(T("a")) ROW("<table:table-cell table:number-columns-repeated=\"16384\" "
                          "office:value-type=\"float\" office:value=\"1\"/>"));
    fails(AL_ELIMIT, "ingest_limit", "analysis.data.maxColumns", "Sheet1");
}

static void sheets(void **state)
{
    static const char styles[] = "<style:style style:name=\"ta1\" style:family=\"table\">"
                                 "<style:table-properties table:display=\"true\"/></style:style>"
                                 "<style:style style:name=\"ta2\" style:family=\"table\">"
                                 "<style:table-properties table:display=\"false\"/></style:style>";
    static const char *const pieces[] = {
        "<table:tracked-changes><table:table-cell>" P("no") "</table:table-cell>",
        "</table:tracked-changes>",
        "<table:table table:name=\"One\" table:style-name=\"ta1\"><table:table-column/>",
        "<table:table-header-rows>" ROW(T("a")) "</table:table-header-rows>",
        "<table:table-row-group><table:table-row-group>",
        ROW(N("1")),
        "</table:table-row-group>",
        ROW(N("2")),
        "</table:table-row-group>",
        "<table:table-rows>" ROW(N("3")) "</table:table-rows>",
        "<table:shapes><table:table>" ROW(N("4")) "</table:table></table:shapes>",
        "</table:table>",
        "<table:table table:name=\"Empty\"/>",
        "<table:table table:name=\"Two\" table:style-name=\"ta2\">",
        ROW(N("5")),
        "</table:table>",
        "<table:table table:name=\"'file:///x'#$A\" table:style-name=\"ta_extref\">",
        ROW(N("6")),
        "</table:table><table:named-expressions/>",
        "<table:dde-links><table:table>" ROW(N("7")) "</table:table></table:dde-links>",
    };
    al_buf tables;

    (void)state;
    al_buf_init(&tables, 0);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++)
        al_buf_str(&tables, pieces[i]);
    document(styles, tables.data);
    al_buf_free(&tables);
    gives("s_one", "a|1/2/3");
    holds("s_two", "column_1|5");
    assert_true(says("\"notes\":[{\"id\":\"hidden_sheets\",\"sheets\":[\"Two\"]},"
                     "{\"id\":\"empty_sheets\",\"sheets\":[\"Empty\"]}]"));
}

static void other_prefixes(void **state)
{
    (void)state;
    make_of("<o:document-content xmlns:o=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" "
            "xmlns=\"urn:oasis:names:tc:opendocument:xmlns:table:1.0\"><o:body><o:spreadsheet>"
            "<table xmlns:t=\"urn:oasis:names:tc:opendocument:xmlns:table:1.0\" t:name=\"S\">"
            "<table-row><table-cell o:value-type=\"float\" o:value=\"1\" value=\"2\"/></table-row>"
            "</table></o:spreadsheet></o:body></o:document-content>",
            NULL);
    gives("s_s", "column_1|1");
}

static void what_cannot_be_read(void **state)
{
    static const struct member parts[] = {
        { .name = "mimetype", .bytes = MIMETYPE },
        { .name = "styles.xml", .bytes = "<x/>" },
    };

    (void)state;
    document("", "");
    fails(AL_EDATA, "ingest_invalid", "input", "no sheet has a value");
    al_buf_clear(&bytes);
    make_zip(&bytes, parts, 2);
    fails(AL_EDATA, "ingest_invalid", "content.xml", "lacks");
    make_of("<a><b></a>", NULL);
    fails(AL_EDATA, "ingest_invalid", "content.xml", "mismatched tag");
    make_of("<!DOCTYPE a [<!ENTITY b 'c'>]><a/>", NULL);
    fails(AL_EDATA, "ingest_invalid", "content.xml", "document type");
    make_of("\x8f\x03 no XML but noise",
            "<m:manifest xmlns:m=\"urn:oasis:names:tc:opendocument:xmlns:manifest:1.0\">"
            "<m:file-entry m:full-path=\"content.xml\"><m:encryption-data/></m:file-entry>"
            "</m:manifest>");
    fails(AL_ENOTSUP, "dataset_unsupported", "input", "encrypted");
    options.max_cell_bytes = 10;
    sheet(ROW(T("a")) ROW(T("12345678901")));
    fails(AL_ELIMIT, "ingest_limit", "analysis.data.maxCellBytes", "Sheet1");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_small_table), TEST(kinds_of_cells), TEST(durations),
        TEST(texts),         TEST(repeats),        TEST(many_repeats),
        TEST(sheets),        TEST(other_prefixes), TEST(what_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
