#include "workbook.h"
#include <stdlib.h>

#define MAIN   "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
#define OFFICE "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
#define RELS   "http://schemas.openxmlformats.org/package/2006/relationships"

#define ROOT                                                                     \
    "<Relationships xmlns=\"" RELS "\"><Relationship Id=\"rId1\" Type=\"" OFFICE \
    "/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>"

/* The parts of a workbook; what is NULL is left out. */
struct book {
    const char *root, *book, *rels, *sheet, *strings, *styles;
};

static const struct book plain = {
    .root = ROOT,
    .book = "<workbook xmlns=\"" MAIN "\" xmlns:r=\"" OFFICE "\"><sheets><sheet name=\"Sheet1\" "
            "sheetId=\"1\" r:id=\"rId1\"/></sheets></workbook>",
    .rels =
        "<Relationships xmlns=\"" RELS "\">"
        "<Relationship Id=\"rId1\" Type=\"" OFFICE "/worksheet\" Target=\"worksheets/sheet1.xml\"/>"
        "<Relationship Id=\"rId2\" Type=\"" OFFICE "/styles\" Target=\"styles.xml\"/>"
        "<Relationship Id=\"rId3\" Type=\"" OFFICE
        "/sharedStrings\" Target=\"sharedStrings.xml\"/></Relationships>",
    .sheet = "<worksheet/>",
    .strings = "<sst/>",
    .styles = "<styleSheet/>",
};

static void make(const struct book *b)
{
    const struct member all[] = {
        { .name = "[Content_Types].xml", .bytes = "<Types/>" },
        { .name = "_rels/.rels", .bytes = b->root },
        { .name = "xl/workbook.xml", .bytes = b->book },
        { .name = "xl/_rels/workbook.xml.rels", .bytes = b->rels },
        { .name = "xl/worksheets/sheet1.xml", .bytes = b->sheet },
        { .name = "xl/sharedStrings.xml", .bytes = b->strings },
        { .name = "xl/styles.xml", .bytes = b->styles },
    };
    struct member there[sizeof all / sizeof all[0]];
    size_t n = 0;

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].bytes)
            there[n++] = all[i];
    al_buf_clear(&bytes);
    make_zip(&bytes, there, n);
}

/* A workbook of one sheet with these rows. */
static void sheet(const char *rows)
{
    struct book b = plain;
    al_buf xml;

    al_buf_init(&xml, 0);
    al_buf_printf(&xml, "<worksheet xmlns=\"" MAIN "\"><sheetData>%s</sheetData></worksheet>",
                  rows);
    b.sheet = xml.data;
    make(&b);
    al_buf_free(&xml);
}

#define T(text) "<c t=\"inlineStr\"><is><t>" text "</t></is></c>"
#define N(text) "<c><v>" text "</v></c>"

static void a_small_table(void **state)
{
    (void)state;
    sheet("<row>" T("Region") T("Total") "</row><row>" T("East")
              N("10") "</row>"
                      "<row>" T("West") N("2.50") "</row><row>" T("") T("007") "</row>");
    gives("s_sheet1", "region,total|'East',10/'West',2.5/-,'007'");
    assert_true(says("\"format\":\"xlsx\",\"encoding\":null,\"delimiter\":null,\"header\":true"));
    assert_true(says("\"name\":\"Sheet1\",\"table\":\"s_sheet1\",\"rows\":3"));
    assert_true(says("\"notes\":[]"));
}

static void shared_strings(void **state)
{
    struct book b = plain;

    (void)state;
    b.strings =
        "<sst><si><t>h</t></si><si/><si><t> a </t></si>"
        "<si><r><rPr><b/><t>no</t></rPr><t>x</t></r><r><t xml:space=\"preserve\"> y</t></r>"
        "<rPh sb=\"0\" eb=\"1\"><t>no</t></rPh><phoneticPr fontId=\"1\"/></si>"
        "<si><t>12</t></si><si><t>_x0041__x000D__x005F_x0041_ _x00e9_ _xD83D__xDE00_ _xD83D_ "
        "_x12_</t></si><extLst><t>no</t></extLst><si><t>&lt;<![CDATA[&]]>&#x10FFFF;</t></si></sst>";
    b.sheet =
        "<worksheet><sheetData><row><c t=\"s\"><v>0</v></c></row>"
        "<row><c t=\"s\"><v>1</v></c><c t=\"s\"><v>4</v></c></row>"
        "<row><c t=\"s\"><v> 2 </v></c></row><row><c t=\"s\"><v>3</v></c></row>"
        "<row><c t=\"s\"><v>4</v></c></row><row><c t=\"s\"><v>5</v></c></row>"
        "<row><c t=\"s\"><v>6</v></c></row><row><c t=\"s\"><v/></c></row></sheetData></worksheet>";
    make(&b);
    gives("s_sheet1", "h,column_2|-,12/' a ',-/'x y',-/12,-/'A\r_x0041_ \xC3\xA9 \xF0\x9F\x98\x80 "
                      "\xEF\xBF\xBD _x12_',-/'<&\xF4\x8F\xBF\xBF',-");
}

static void strings_that_are_not_there(void **state)
{
    static const char *const wrong[] = { "7", "-1", "x", "1.0", "99999999999999999999" };
    struct book b = plain;
    char xml[200];

    (void)state;
    b.strings = "<sst><si><t>h</t></si></sst>";
    for (size_t i = 0; i < 5; i++) {
        snprintf(xml, sizeof xml,
                 "<worksheet><sheetData><row r=\"4\"><c r=\"C4\" t=\"s\"><v>%s</v></c></row>"
                 "</sheetData></worksheet>",
                 wrong[i]);
        b.sheet = xml;
        make(&b);
        fails(AL_EDATA, "ingest_invalid", "Sheet1", "row 4, column 3");
        assert_int_equal(err.line, 4);
    }
    b.strings = NULL;
    make(&b);
    fails(AL_EDATA, "ingest_invalid", "xl/sharedStrings.xml", "lacks");
}

static void kinds_of_cells(void **state)
{
    static const struct shown cases[] = {
        { "<c t=\"b\"><v>1</v></c>", "'TRUE'" },
        { "<c t=\"b\"><v>0</v></c>", "'FALSE'" },
        { "<c t=\"b\"><v>true</v></c>", "'TRUE'" },
        { "<c t=\"b\"><v>false</v></c>", "'FALSE'" },
        { "<c t=\"b\"><v>maybe</v></c>", "'maybe'" },
        { "<c t=\"e\"><v>#DIV/0!</v></c>", "'#DIV/0!'" },
        { "<c t=\"str\"><f>A1</f><v> spaced </v></c>", "' spaced '" },
        { "<c t=\"str\"><v>5</v></c>", "5" },
        { "<c t=\"str\"><v>_x0041_</v></c>", "'A'" },
        { "<c t=\"n\"><v>\n 5 \t</v></c>", "5" },
        { "<c t=\"d\"><v>2024-03-17</v></c>", "'2024-03-17'" },
        { "<c t=\"new\"><v>1E2</v></c>", "100" },
        { "<c><v>not a number</v></c>", "'not a number'" },
        { "<c><v>1.1000000000000001</v></c>", "1.1" },
        { "<c><v>12345678901234567890</v></c>", "'12345678901234567890'" },
        { "<c><is><t>inline</t></is></c>", "'inline'" },
        { "<c t=\"inlineStr\"><v>also</v></c>", "'also'" },
        { "<c t=\"inlineStr\"><is><r><t>a</t></r><rPh><t>no</t></rPh><r><rPr><t/></rPr><t>b</t></r>"
          "</is></c>",
          "'ab'" },
        { "<c><v>3<x>no</x></v><extLst><ext><v>no</v></ext></extLst></c>", "3" },
    };

    (void)state;
    shows(sheet, "row", T("v"), cases, sizeof cases / sizeof cases[0]);
    sheet("<row>" T("v") "</row><row><c><extLst><v>no</v></extLst></c></row>");
    gives("s_sheet1", "v|");
}

static void formulas(void **state)
{
    (void)state;
    sheet("<row>" T("v") "</row><row><c><f>1+1</f><v>2</v></c></row><row><c><f>1+1</f></c>" N(
        "1") "</row><row><c t=\"str\"><f>\"\"</f><v></v></c>" N("2") "</row>");
    gives("s_sheet1", "v,column_2|2,-/-,1/-,2");
    assert_true(says("\"notes\":[{\"id\":\"formulas_without_values\",\"count\":1}]"));
}

static void dates(void **state)
{
    struct book b = plain;

    (void)state;
    b.styles = "<styleSheet><numFmts count=\"2\"><numFmt numFmtId=\"164\" formatCode=\"[h]:mm\"/>"
               "<numFmt numFmtId=\"20\" formatCode=\"0.0\"/></numFmts>"
               "<cellStyleXfs><xf numFmtId=\"14\"/></cellStyleXfs>"
               "<cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/><xf numFmtId=\"22\"/><xf "
               "numFmtId=\"164\"/>"
               "<xf numFmtId=\"20\"/><xf/></cellXfs><dxfs><dxf><numFmt numFmtId=\"165\" "
               "formatCode=\"yy\"/></dxf></dxfs></styleSheet>";
    b.sheet = "<worksheet><sheetData><row>" T(
        "v") "</row>"
             "<row><c s=\"1\"><v>45292</v></c></row><row><c s=\"2\"><v>45292.5</v></c></row>"
             "<row><c s=\"3\"><v>1.5</v></c></row><row><c s=\"4\"><v>0.5</v></c></row>"
             "<row><c s=\"5\"><v>45292</v></c></row><row><c s=\"99\"><v>45292</v></c></row>"
             "<row><c s=\"1\" t=\"str\"><v>45292</v></c></row><row><c s=\"1\"><v>-5</v></c></row>"
             "<row><c s=\"1\"><v>60</v></c></row></sheetData></worksheet>";
    make(&b);
    gives("s_sheet1", "v|'2024-01-01'/'2024-01-01T12:00:00'/'36:00:00'/0.5/45292/45292/45292/-5/"
                      "'1900-02-29'");
    b.book = "<workbook xmlns:r=\"" OFFICE "\"><workbookPr date1904=\"1\"/><sheets><sheet "
             "name=\"Sheet1\" r:id=\"rId1\"/></sheets></workbook>";
    make(&b);
    gives("s_sheet1", "v|'2028-01-02'/'2028-01-02T12:00:00'/'36:00:00'/0.5/45292/45292/45292/-5/"
                      "'1904-03-01'");
}

static void places(void **state)
{
    (void)state;
    sheet(
        "<row r=\"3\"><c r=\"A3\"><v>1</v></c><c r=\"C3\" t=\"str\"><v>x</v></c></row>"
        "<row r=\"9\"><c r=\"b9\"><v>2</v></c><c><v>3</v></c><c r=\"$A$9\"><v>4</v></c></row>"
        "<row r=\"10\"><c r=\"?\"><v>5</v></c><c r=\"7\"><v>6</v></c><c r=\"A\"><v>7</v></c></row>"
        "<row r=\"0\"><c r=\"C1\"><v>8</v></c></row>"
        "<row r=\"x\"><c r=\"A1\"><v>9</v></c><c r=\"A1\"><v>10</v></c></row>");
    gives("s_sheet1", "_1,column_2,x|4,2,3/5,6,7/-,-,8/10,-,-");
}

static void headers(void **state)
{
    (void)state;
    sheet("<row>" N("1") N("2.5") "</row><row>" T("a") "</row>");
    gives("s_sheet1", "column_1,column_2|1,2.5/'a',-");
    options.header = 1;
    gives("s_sheet1", "_1,_2_5|'a',-");
    assert_true(says("\"label\":\"2.5\""));
    sheet("<row>" T("a") N("2020") "</row><row>" N("1") "</row>");
    options.header = 0;
    gives("s_sheet1", "column_1,column_2|'a',2020/1,-");
    options.header = -1;
    gives("s_sheet1", "a,_2020|1,-");
    sheet("<row>" T("a") "</row>");
    gives("s_sheet1", "a|");
    options.skip = 2;
    sheet("<row>" T("title") "</row><row r=\"3\">" T("a") "</row><row>" N("1") "</row>");
    gives("s_sheet1", "a|1");
}

static void empty_rows_and_cells(void **state)
{
    (void)state;
    sheet("<row r=\"1\"><c r=\"XFD1\" s=\"1\"/></row><row r=\"2\">" T(
        "a") "<c/></row>"
             "<row r=\"3\"><c s=\"1\"/><c t=\"s\"/></row><row r=\"1048576\">" N("1") "</row>");
    gives("s_sheet1", "a|1");
}

static void sheets(void **state)
{
    static const char rels[] =
        "<Relationships><Relationship Id=\"a\" Type=\"x/worksheet\" "
        "Target=\"/xl/worksheets/one.xml\"/>"
        "<Relationship Id=\"b\" Type=\"x/worksheet\" Target=\".\\worksheets\\..\\two%20x.xml\"/>"
        "<Relationship Id=\"c\" Type=\"x/chartsheet\" Target=\"chart.xml\"/>"
        "<Relationship Id=\"d\" Type=\"x/worksheet\" Target=\"empty.xml\"/>"
        "<Relationship Id=\"e\" Type=\"x/worksheet\" "
        "Target=\"WORKSHEETS/ONE.XML\"/></Relationships>";
    static const char book[] =
        "<w:workbook xmlns:w=\"http://purl.oclc.org/ooxml/spreadsheetml/main\" "
        "xmlns:q=\"http://purl.oclc.org/ooxml/officeDocument/relationships\"><w:sheets>"
        "<w:sheet name=\"\xC3\x9C"
        "bersicht &amp; Plan\" q:id=\"b\" state=\"hidden\"/>"
        "<w:sheet name=\"Chart\" q:id=\"c\"/>"
        "<w:sheet name=\"ubersicht plan\" q:id=\"a\" state=\"visible\"/>"
        "<w:sheet name=\"Nothing\" q:id=\"d\" state=\"veryHidden\"/>"
        "</w:sheets></w:workbook>";
    static const struct member parts[] = {
        { .name = "xl/two x.xml",
          .bytes =
              "<w:worksheet xmlns:w=\"x\"><w:sheetData><w:row><w:c t=\"str\"><w:v>a</w:v></w:c>"
              "</w:row><w:row><w:c><w:v>1</w:v></w:c></w:row></w:sheetData></w:worksheet>" },
        { .name = "xl/empty.xml", .bytes = "<worksheet><sheetData/></worksheet>" },
        { .name = "XL\\Worksheets\\One.xml",
          .bytes = "<worksheet><sheetData><row>" N("5") "</row></sheetData></worksheet>" },
        { .name = "xl/_rels/workbook.xml.rels", .bytes = rels },
        { .name = "xl/workbook.xml", .bytes = book },
    };

    (void)state;
    make_zip(&bytes, parts, 5);
    gives("s_ubersicht_plan", "a|1");
    holds("s_ubersicht_plan_2", "column_1|5");
    assert_true(says("\"notes\":[{\"id\":\"hidden_sheets\",\"sheets\":[\"\xC3\x9C"
                     "bersicht & Plan\","
                     "\"Nothing\"]},{\"id\":\"empty_sheets\",\"sheets\":[\"Nothing\"]}]"));
    assert_true(says("\"rows\":2"));
}

static void one_part_for_two_sheets(void **state)
{
    struct book b = plain;

    (void)state;
    b.book = "<workbook xmlns:r=\"r\"><sheets><sheet name=\"One\" r:id=\"rId1\"/>"
             "<sheet name=\"Two\" r:id=\"rId1\"/></sheets></workbook>";
    make(&b);
    fails(AL_EDATA, "ingest_invalid", "xl/worksheets/sheet1.xml", "\"One\" and \"Two\"");
}

static void nothing_in_it(void **state)
{
    (void)state;
    make(&plain);
    fails(AL_EDATA, "ingest_invalid", "input", "no sheet has a value");
    assert_string_equal(err.reason, "empty");
}

static void missing_parts(void **state)
{
    struct book b = plain;

    (void)state;
    b.sheet = NULL;
    make(&b);
    fails(AL_EDATA, "ingest_invalid", "xl/worksheets/sheet1.xml", "lacks");
    b = plain;
    b.book = NULL;
    make(&b);
    fails(AL_EDATA, "ingest_invalid", "xl/workbook.xml", "lacks");
    b = plain;
    b.styles = NULL;
    make(&b);
    fails(AL_EDATA, "ingest_invalid", "xl/styles.xml", "lacks");
    b = plain;
    b.rels = NULL;
    make(&b);
    fails(AL_EDATA, "ingest_invalid", "Sheet1", "no part");
}

/* A workbook without styles and strings says nothing of them; the root may be guessed. */
static void parts_that_need_not_be(void **state)
{
    struct book b = plain;

    (void)state;
    b.root = b.styles = b.strings = NULL;
    b.rels = "<Relationships><Relationship Id=\"rId1\" Type=\"x/worksheet\" "
             "Target=\"worksheets/sheet1.xml\"/><Relationship Id=\"l\" Type=\"x/styles\" "
             "Target=\"http://x\" TargetMode=\"External\"/></Relationships>";
    b.sheet = "<worksheet><sheetData><row>" T("a") "</row></sheetData></worksheet>";
    make(&b);
    gives("s_sheet1", "a|");
}

static void broken_xml(void **state)
{
    struct book b = plain;

    (void)state;
    b.sheet = "<worksheet><sheetData><row>" T("a") "</row><row><c><v>1</c></row>";
    make(&b);
    fails(AL_EDATA, "ingest_invalid", "xl/worksheets/sheet1.xml", "mismatched tag");
    b = plain;
    b.strings = "<!DOCTYPE sst [<!ENTITY a \"b\">]><sst><si><t>&a;</t></si></sst>";
    make(&b);
    fails(AL_EDATA, "ingest_invalid", "xl/sharedStrings.xml", "document type");
    b = plain;
    b.book = "";
    make(&b);
    fails(AL_EDATA, "ingest_invalid", "xl/workbook.xml", "no element");
}

static void too_much(void **state)
{
    (void)state;
    sheet("<row>" T("a") "</row><row><c r=\"ALM2\"><v>1</v></c></row>");
    fails(AL_ELIMIT, "ingest_limit", "analysis.data.maxColumns", "column 1001");
    sheet("<row>" T("a") "</row><row><c r=\"ZZZZZZZZZZZZZ2\"><v>1</v></c></row>");
    fails(AL_ELIMIT, "ingest_limit", "analysis.data.maxColumns", "Sheet1");
    options.max_cell_bytes = 10;
    sheet("<row>" T("a") "</row><row>" T("12345678901") "</row>");
    fails(AL_ELIMIT, "ingest_limit", "analysis.data.maxCellBytes", "Sheet1");
    sheet("<row>" T("a") "</row><row>" T("1234567890") "</row>");
    gives("s_sheet1", "a|1234567890");
    options.max_rows = 1;
    sheet("<row>" T("a") "</row><row>" N("1") "</row><row>" N("2") "</row>");
    fails(AL_ELIMIT, "ingest_limit", "analysis.data.maxRows", "1 rows");
}

/* Rows much narrower than the widest one, and NULLs of columns that they do not reach. */
static void uneven_rows(void **state)
{
    sqlite3 *db;
    al_buf xml;

    (void)state;
    al_buf_init(&xml, 0);
    al_buf_str(&xml, "<row><c r=\"Z1\" t=\"str\"><v>last</v></c></row>");
    for (int i = 1; i <= 3000; i++)
        al_buf_printf(&xml, "<row><c><v>%d</v></c>%s%s</row>", i,
                      i % 1000 == 0 ? "<c r=\"Z1\"><v>7</v></c>" : "",
                      i == 2500 ? "<c r=\"AB1\"><v>8</v></c>" : "");
    sheet(xml.data);
    al_buf_free(&xml);
    assert_int_equal(ingest(), AL_OK);
    db = open_file(path);
    assert_string_equal(ask(db,
                            "SELECT count(*) || ' ' || sum(column_1) || ' ' || sum(last) || ' ' || "
                            "sum(column_28) || ' ' || count(column_2) FROM s_sheet1"),
                        "3000 4501500 21 8 0");
    assert_string_equal(ask(db, "SELECT group_concat(nulls) FROM _alisio_columns WHERE name IN "
                                "('column_1', 'column_2', 'last', 'column_28')"),
                        "0,3000,2997,2999");
    sqlite3_close(db);
}

static void long_strings(void **state)
{
    struct book b = plain;

    (void)state;
    options.max_cell_bytes = 10;
    b.sheet = "<worksheet><sheetData><row>" T("a") "</row></sheetData></worksheet>";
    b.strings = "<sst><si><t>12345678901</t></si></sst>";
    make(&b);
    fails(AL_ELIMIT, "ingest_limit", "analysis.data.maxCellBytes", "xl/sharedStrings.xml");
    b.strings = "<sst><si><t>123456789_x0041_</t></si></sst>";
    make(&b);
    gives("s_sheet1", "a|");
}

static void other_packages(void **state)
{
    struct book b = plain;

    (void)state;
    b.root = "<Relationships><Relationship Id=\"r\" Type=\"x/officeDocument\" "
             "Target=\"xl/workbook.bin\"/></Relationships>";
    make(&b);
    fails(AL_ENOTSUP, "dataset_unsupported", "input", ".xlsb");
}

/* Many rows: batches, segments, texts that outlive their row, and the same file each time. */
static void many_rows(void **state)
{
    const size_t rows = 30000;
    struct book b = plain;
    sqlite3 *db;
    al_buf xml;

    (void)state;
    al_buf_init(&xml, 0);
    al_buf_str(&xml, "<worksheet><sheetData><row>" T("n") T("text") T("more") "</row>");
    for (size_t i = 1; i <= rows; i++)
        al_buf_printf(&xml,
                      "<row r=\"%zu\"><c r=\"A%zu\"><v>%zu</v></c><c t=\"str\"><v>text of row "
                      "%zu</v></c><c t=\"inlineStr\"><is><t>%0*d</t></is></c></row>",
                      i + 1, i + 1, i, i, 200 + (int)(i % 100), 1);
    al_buf_str(&xml, "</sheetData></worksheet>");
    b.sheet = xml.data;
    make(&b);
    assert_true(xml.len > AL_DATASET_SEGMENT);
    al_buf_free(&xml);
    assert_int_equal(ingest(), AL_OK);
    db = open_file(path);
    assert_string_equal(ask(db, "PRAGMA integrity_check"), "ok");
    assert_string_equal(ask(db,
                            "SELECT count(*) || ' ' || sum(n) FROM s_sheet1 WHERE n = rowid AND "
                            "text = 'text of row ' || n AND length(more) = 200 + n % 100"),
                        "30000 450015000");
    sqlite3_close(db);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_small_table),
        TEST(shared_strings),
        TEST(strings_that_are_not_there),
        TEST(kinds_of_cells),
        TEST(formulas),
        TEST(dates),
        TEST(places),
        TEST(headers),
        TEST(empty_rows_and_cells),
        TEST(sheets),
        TEST(one_part_for_two_sheets),
        TEST(nothing_in_it),
        TEST(missing_parts),
        TEST(parts_that_need_not_be),
        TEST(broken_xml),
        TEST(too_much),
        TEST(uneven_rows),
        TEST(long_strings),
        TEST(other_packages),
        TEST(many_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
