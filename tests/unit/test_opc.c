#include "data.h"
#include "data/opc.h"
#include "zipmaker.h"
#include <stdlib.h>

static void means(const char *base, const char *target, const char *want)
{
    char *part = al_opc_resolve(base, target, strlen(target));

    assert_non_null(part);
    if (strcmp(part, want) != 0)
        fail_msg("%s in %s is %s, not %s", target, base, part, want);
    free(part);
}

static void names_of_parts(void **state)
{
    (void)state;
    means("xl/workbook.xml", "worksheets/sheet1.xml", "xl/worksheets/sheet1.xml");
    means("xl/workbook.xml", "/xl/worksheets/sheet1.xml", "xl/worksheets/sheet1.xml");
    means("xl/workbook.xml", "\\xl\\a.xml", "xl/a.xml");
    means("xl/workbook.xml", "./a.xml", "xl/a.xml");
    means("xl/workbook.xml", "../a.xml", "a.xml");
    means("xl/workbook.xml", "../../../a.xml", "a.xml");
    means("xl/a/workbook.xml", "../b//c/./d/../e.xml", "xl/b/c/e.xml");
    means("xl/workbook.xml", "two%20x%2Fy.xml", "xl/two x/y.xml");
    means("xl/workbook.xml", "50%.xml", "xl/50%.xml");
    means("xl/workbook.xml", "%", "xl/%");
    means("workbook.xml", "a.xml", "a.xml");
    means("", "xl/workbook.xml", "xl/workbook.xml");
    means("xl/workbook.xml", "", "xl");
    means("", "", "");
    means("a/b", "..", "");
}

static al_rels rels;
static al_err err;

static int read_of(const char *part, const char *name, const char *xml)
{
    const struct member member = { .name = name, .bytes = xml };
    al_buf b;
    al_zip *zip;
    int fd, rc;

    al_buf_init(&b, 0);
    make_zip(&b, &member, 1);
    fd = file_with(b.data, b.len, NULL);
    assert_int_equal(al_zip_open(&zip, fd, 1 << 20, NULL), AL_OK);
    rc = al_rels_read(&rels, zip, part, &err);
    al_zip_close(zip);
    close(fd);
    al_buf_free(&b);
    return rc;
}

static void relationships(void **state)
{
    static const char xml[] =
        "<p:Relationships xmlns:p='x'><p:Relationship Id='one' Type='http://a/worksheet' "
        "Target='s.xml'/><p:Relationship Id='two' Type='styles' Target='/t.xml'/>"
        "<p:Relationship Id='web' Type='x/hyperlink' Target='http://x' TargetMode='External'/>"
        "<p:Relationship Id='half' Type='x'/><p:Other Id='o' Type='o' Target='o'/>"
        "</p:Relationships>";

    (void)state;
    assert_int_equal(read_of("xl/book.xml", "xl/_rels/book.xml.rels", xml), AL_OK);
    assert_int_equal(rels.count, 2);
    assert_string_equal(al_rels_by_id(&rels, "one", 3)->part, "xl/s.xml");
    assert_string_equal(al_rels_by_id(&rels, "one", 3)->type, "worksheet");
    assert_string_equal(al_rels_by_type(&rels, "styles")->part, "t.xml");
    assert_null(al_rels_by_id(&rels, "on", 2));
    assert_null(al_rels_by_type(&rels, "hyperlink"));
    al_rels_free(&rels);
}

static void none_or_broken(void **state)
{
    (void)state;
    assert_int_equal(read_of("xl/other.xml", "xl/_rels/book.xml.rels", "<a/>"), AL_OK);
    assert_int_equal(rels.count, 0);
    assert_int_equal(read_of("", "_rels/.rels", "<a>"), AL_EDATA);
    assert_string_equal(err.object, "_rels/.rels");
    al_rels_free(&rels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_parts),
        cmocka_unit_test(relationships),
        cmocka_unit_test(none_or_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
