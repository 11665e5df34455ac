#include "data/format.h"
#include "unit.h"

static al_format format;
static al_err err;

static int decide(const char *bytes, size_t len, const char *name, const char *wanted)
{
    memset(&err, 0, sizeof err);
    return al_format_decide((const unsigned char *)bytes, len, name, wanted, &format, &err);
}

static void by_name(void **state)
{
    (void)state;
    assert_int_equal(decide("a,b", 3, "x.csv", NULL), AL_OK);
    assert_string_equal(format.name, "csv");
    assert_true(format.sure);
    assert_int_equal(decide("a\tb", 3, "X.TSV", NULL), AL_OK);
    assert_string_equal(format.name, "tsv");
    assert_int_equal(decide("{a}", 3, "braces.csv", NULL), AL_OK);
    assert_string_equal(format.name, "csv");
}

static void by_look(void **state)
{
    (void)state;
    assert_int_equal(decide("a,b", 3, "data.txt", NULL), AL_OK);
    assert_string_equal(format.name, "csv");
    assert_false(format.sure);
    assert_int_equal(decide("", 0, "", NULL), AL_OK);
    assert_int_equal(decide(" \n[{}]", 6, "data", NULL), AL_ENOTSUP);
    assert_int_equal(decide("\xEF\xBB\xBF{\"a\":1}", 10, "data", NULL), AL_ENOTSUP);
    assert_int_equal(decide("<!DOCTYPE HTML>", 15, "report.xls", NULL), AL_ENOTSUP);
    assert_int_equal(decide("<?xml ?>", 8, "x", NULL), AL_ENOTSUP);
    assert_int_equal(decide("a;b\n", 4, "fake.xls", NULL), AL_OK);
}

static void by_wish(void **state)
{
    (void)state;
    assert_int_equal(decide("[a", 2, "data", "csv"), AL_OK);
    assert_int_equal(decide("a", 1, "x.json", "TSV"), AL_OK);
    assert_string_equal(format.name, "tsv");
    assert_int_equal(decide("a", 1, "x.csv", "jsonl"), AL_ENOTSUP);
    assert_int_equal(decide("a", 1, "x.csv", "parquet"), AL_ENOTSUP);
    assert_string_equal(err.object, "format");
    assert_non_null(strstr(err.detail, "parquet"));
}

static void bytes_before_names(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *says;
    } cases[] = {
        { "PK\3\4....", 8, "zip" },
        { "\x1f\x8b\x08", 3, "gzip" },
        { "BZh91AY&SY", 10, "bzip2" },
        { "\xfd"
          "7zXZ\0",
          6, "xz" },
        { "\x28\xb5\x2f\xfd", 4, "zstd" },
        { "%PDF-1.7", 8, "PDF" },
        { "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 8, ".xls" },
        { "SQLite format 3", 16, "SQLite" },
        { "\x89PNG\r\n", 6, "PNG" },
        { "\x7f"
          "ELF",
          4, "program" },
        { "PAR1\x15\x04", 6, "Parquet" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(decide(cases[i].bytes, cases[i].len, "x.csv", "csv"), AL_ENOTSUP);
        assert_string_equal(err.id, "dataset_unsupported");
        if (!strstr(err.detail, cases[i].says))
            fail_msg("%s does not say %s", err.detail, cases[i].says);
    }
    assert_int_equal(decide("PAR1,b\n", 7, "x.csv", NULL), AL_OK);
    assert_int_equal(decide("BZh,b\n", 6, "x.csv", NULL), AL_OK);
    assert_int_equal(decide("P", 1, "x.csv", NULL), AL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_name),
        cmocka_unit_test(by_look),
        cmocka_unit_test(by_wish),
        cmocka_unit_test(bytes_before_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
