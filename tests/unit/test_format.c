#include "data.h"
#include "data/format.h"
#include "packer.h"
#include "zipmaker.h"

static al_format format;
static al_err err;
static al_source_file *source;
static int fd = -1;

static void shut(void)
{
    al_source_file_close(source);
    source = NULL;
    close(fd);
}

static int decide(const char *bytes, size_t len, const char *name, const char *wanted)
{
    shut();
    memset(&err, 0, sizeof err);
    memset(&format, 0, sizeof format);
    fd = file_with(bytes, len, NULL);
    assert_int_equal(al_source_file_open(&source, fd, 1u << 30, NULL), AL_OK);
    return al_format_find(source, name, wanted, &format, &err);
}

/* The format's name, of one that has no reader too; what it is instead, for others. */
static const char *found(const char *bytes, size_t len, const char *name)
{
    int rc = decide(bytes, len, name, NULL);

    if (rc == AL_OK)
        assert_non_null(format.read);
    return format.name ? format.name : err.detail;
}

static const char *text_as(const char *bytes, const char *name)
{
    return found(bytes, strlen(bytes), name);
}

static void by_name(void **state)
{
    (void)state;
    assert_string_equal(text_as("a,b", "x.csv"), "csv");
    assert_true(format.sure);
    assert_string_equal(text_as("a\tb", "X.TSV"), "tsv");
    assert_string_equal(text_as("{a}", "braces.csv"), "csv");
    assert_string_equal(text_as("[id],[name]\n1,x\n", "x.csv"), "csv");
    assert_string_equal(text_as("{\"a\":1},{\"b\":2}\n", "json-cells.csv"), "csv");
    assert_string_equal(text_as("[1,2]\n[3,4]\n", "x.csv"), "csv");
    assert_string_equal(text_as("3", "x.json"), "json");
    assert_string_equal(text_as("{\"a\":", "x.json"), "json");
    assert_string_equal(text_as("\"a, b\"", "x.json"), "json");
    assert_string_equal(text_as("nonsense", "x.json"), "json");
    assert_string_equal(text_as("", "x.json"), "json");
    assert_string_equal(found("\xFF\xFE[\0]\0", 6, "x.json"), "json");
}

static void by_look(void **state)
{
    (void)state;
    assert_string_equal(text_as("a,b", "data.txt"), "csv");
    assert_false(format.sure);
    assert_string_equal(text_as("", ""), "csv");
    assert_string_equal(text_as(" \n[{}]", "data"), "json");
    assert_string_equal(text_as("[1, 2]", "data"), "json");
    assert_string_equal(text_as("\xEF\xBB\xBF{\"a\":1}", "data"), "json");
    assert_string_equal(text_as("{\"a\":1}\r\n{\"a\":2}\r\n", "data"), "jsonl");
    assert_string_equal(text_as("{\"a\": }", "data"), "json");
    assert_string_equal(text_as("[id],[name]\n", "data"), "csv");
    assert_string_equal(text_as("a;b\n", "fake.xls"), "csv");
}

static void misnamed(void **state)
{
    char long_json[10000];

    (void)state;
    assert_string_equal(text_as("[{\"a\":1},\n{\"a\":2}]", "x.csv"), "json");
    assert_string_equal(text_as("{\"a\":1}\n{\"a\":2}\n", "x.csv"), "jsonl");
    assert_string_equal(text_as("{\n  \"a\": 1\n}\n", "x.tsv"), "json");
    assert_string_equal(text_as("[]", "x.csv"), "json");
    assert_string_equal(text_as("[{\"a\":1},\n{\"a\":2}]\n", "x.jsonl"), "json");
    assert_string_equal(text_as("[{\"a\":1}]\n[{\"a\":2}]\n", "x.jsonl"), "jsonl");
    assert_string_equal(text_as("{\"a\":1}\n", "x.jsonl"), "jsonl");
    memset(long_json, 'x', sizeof long_json);
    memcpy(long_json, "{\"a\":\"", 6);
    assert_string_equal(found(long_json, sizeof long_json, "x.csv"), "json");
    assert_string_equal(text_as("a,b\n1,2\n", "x.json"), "csv");
    assert_string_equal(text_as("\"a\",\"b\"\n\"1\",\"2\"\n", "x.json"), "csv");
    assert_string_equal(text_as("id\tname\n1\tx\n", "x.jsonl"), "csv");
    assert_false(format.sure);
    assert_string_equal(text_as("a,b\n1,2\n", "x.xlsx"), "csv");
    assert_string_equal(text_as("a,b\n1,2\n", "x.ods"), "csv");
    assert_string_equal(text_as("{\"a\":1}", "x.xlsx"), "json");
}

static void by_wish(void **state)
{
    (void)state;
    assert_int_equal(decide("[a", 2, "data", "csv"), AL_OK);
    assert_int_equal(decide("{\"a\":1}", 7, "x.json", "TSV"), AL_OK);
    assert_string_equal(format.name, "tsv");
    assert_int_equal(decide("<html>", 6, "x.html", "csv"), AL_OK);
    assert_int_equal(decide("a", 1, "x.csv", "parquet"), AL_ENOTSUP);
    assert_string_equal(err.object, "format");
    assert_non_null(strstr(err.detail, "parquet"));
    assert_int_equal(decide("a,b\n", 4, "x.csv", "xlsx"), AL_EDATA);
    assert_string_equal(err.id, "ingest_invalid");
}

static void what_is_not_read(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *says;
    } cases[] = {
#define CASE(bytes, says) { bytes, sizeof(bytes) - 1, says }
        CASE("\x04\x22\x4d\x18....", "lz4"),
        CASE("7z\xbc\xaf\x27\x1c", "7z"),
        CASE("Rar!\x1a\x07", "RAR"),
        CASE("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ".xls"),
        CASE("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "encrypted"),
        CASE("SQLite format 3\0", "SQLite"),
        CASE("PAR1\x15\x04\0", "Parquet"),
        CASE("P*M\x18\4\0\0\0abcd\x28\xb5\x2f\xfd", "pzstd"),
        CASE("ARROW1\0\0", "Arrow"),
        CASE("FEA1\0\0\0\0", "Feather"),
        CASE("Obj\1\4\x14", "Avro"),
        CASE("ORC\n\0", "ORC"),
        CASE("\x93NUMPY\1\0v\0{", "NumPy"),
        CASE("$FL2@(#) SPSS\0", "SPSS"),
        CASE("<stata_dta><header>\0", "Stata"),
        CASE("RDX3\nX\n\0\0", "R data"),
        CASE("\x89HDF\r\n\x1a\n\0", "HDF5"),
        CASE("\0\0\0\0\0\0\0\0DUCK", "DuckDB"),
        CASE("PK\5\6\0\0\0\0", "empty zip"),
        CASE("%PDF-1.7", "PDF"),
        CASE("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "PNG"),
        CASE("\xff\xd8\xff\xe0\0\x10JFIF", "JPEG"),
        CASE("BM\x36\0\0\0", "BMP"),
        CASE("MZ\x90\0\3", "program"),
        CASE("\x7f\x45LF\2", "program"),
        CASE("<!DOCTYPE HTML><p>", "HTML"),
        CASE("\xEF\xBB\xBF\n<html>", "HTML"),
        CASE("<?xml version='1.0'?>", "XML"),
        CASE("{\\rtf1 ", "RTF"),
        CASE("version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
    };
    static const char *const tables[] = { "PAR1,b\n",     "BZh,b\n", "P",
                                          "ORC,name\n",   "MZ;1\n",  "BM\n",
                                          "RDX2\nRDX3\n", "PK\n",    "GIF8,x\n",
                                          "Obj,1\n",      "<b>,x\n" };
    char tar[600] = "table.csv";

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (decide(cases[i].bytes, cases[i].len, "x.csv", NULL) != AL_ENOTSUP)
            fail_msg("%s is read", cases[i].says);
        assert_string_equal(err.id, "dataset_unsupported");
        if (!strstr(err.detail, cases[i].says))
            fail_msg("%s does not say %s", err.detail, cases[i].says);
    }
    memcpy(tar + 257, "ustar", 5);
    assert_non_null(strstr(found(tar, sizeof tar, "x.csv"), "tar archive"));
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        assert_string_equal(text_as(tables[i], "x.csv"), "csv");
}

static const char *packed_as(al_packing packing, const char *bytes, size_t len, const char *name)
{
    const char *what;
    al_buf b;

    al_buf_init(&b, 0);
    pack(&b, packing, bytes, len);
    what = found(b.data, b.len, name);
    al_buf_free(&b);
    return what;
}

static void expect_bytes(const char *bytes)
{
    char out[100];
    size_t got, len = 0;

    do {
        assert_int_equal(al_source_file_read(source, out + len, sizeof out - len, &got, NULL),
                         AL_OK);
        len += got;
    } while (got);
    assert_int_equal(len, strlen(bytes));
    assert_memory_equal(out, bytes, len);
}

static void in_a_stream(void **state)
{
    (void)state;
    for (al_packing p = AL_GZIP; p <= AL_ZSTD; p++) {
        al_buf twice;

        assert_string_equal(packed_as(p, "a,b\n", 4, "x.csv.gz"), "csv");
        assert_true(format.sure);
        expect_bytes("a,b\n");
        assert_string_equal(packed_as(p, "a\tb\n", 4, "x.TSV.XZ"), "tsv");
        assert_string_equal(packed_as(p, "a\tb\n", 4, "x.gz"), "csv");
        assert_false(format.sure);
        assert_string_equal(packed_as(p, "a\tb\n", 4, ".gz"), "csv");
        assert_string_equal(packed_as(p, "a,b\n", 4, "x.csv"), "csv");
        assert_string_equal(packed_as(p, "[{\"a\":1}]", 9, "x.zst"), "json");
        assert_string_equal(packed_as(p, "", 0, "x.csv.bz2"), "csv");
        assert_non_null(strstr(packed_as(p, "PAR1\0", 5, "x.csv.gz"), "Parquet"));
        al_buf_init(&twice, 0);
        pack(&twice, AL_GZIP, "a,b\n", 4);
        assert_non_null(strstr(packed_as(p, twice.data, twice.len, "x.gz.gz"), "unpack it once"));
        assert_string_equal(err.id, "dataset_unsupported");
        al_buf_free(&twice);
    }
}

static const char *zipped_as(const struct member *members, size_t n, const char *name)
{
    const char *what;
    al_buf b;

    al_buf_init(&b, 0);
    make_zip(&b, members, n);
    what = found(b.data, b.len, name);
    al_buf_free(&b);
    return what;
}

static void in_a_zip(void **state)
{
    const struct member one[] = {
        { .name = "data/", .bytes = "" },
        { .name = "__MACOSX/data/._a.tsv", .bytes = "noise" },
        { .name = "data/a.tsv", .bytes = "a\tb\n" },
    };
    const struct member two[] = { { .name = "a.csv", .bytes = "a" },
                                  { .name = "b.csv", .bytes = "b" } };
    const struct member twice[] = { { .name = "a.zip", .bytes = "PK\3\4...." } };
    const struct member secret[] = {
        { .name = "a.csv", .bytes = "0123456789abcdef", .encrypted = true }
    };
    const struct member broken[] = { { .name = "a.csv", .bytes = "a,b\n", .spoil = 1 } };

    (void)state;
    assert_string_equal(zipped_as(one, 3, "x.zip"), "tsv");
    assert_true(format.sure);
    expect_bytes("a\tb\n");
    assert_string_equal(zipped_as(one, 3, "x.csv"), "tsv");
    assert_non_null(strstr(zipped_as(two, 2, "x.zip"), "2 files"));
    assert_string_equal(err.id, "dataset_unsupported");
    assert_non_null(strstr(zipped_as(one, 1, "x.zip"), "empty zip"));
    assert_non_null(strstr(zipped_as(twice, 1, "x.zip"), "zip file inside another"));
    assert_non_null(strstr(zipped_as(secret, 1, "x.zip"), "encrypted"));
    assert_string_equal(err.id, "dataset_unsupported");
    zipped_as(broken, 1, "x.zip");
    assert_string_equal(err.id, "ingest_invalid");
    assert_string_equal(err.object, "a.csv");
    assert_int_equal(decide("PK\3\4....", 8, "x.csv", NULL), AL_EDATA);
    assert_string_equal(err.id, "ingest_invalid");
}

static void packages(void **state)
{
    const struct member book[] = { { .name = "[Content_Types].xml", .bytes = "" },
                                   { .name = "XL\\workbook.xml", .bytes = "" } };
    const struct member binary[] = { { .name = "xl/workbook.bin", .bytes = "" } };
    const struct member word[] = { { .name = "word/document.xml", .bytes = "" } };
    const struct member slides[] = { { .name = "ppt/presentation.xml", .bytes = "" } };
    const char *ods = "application/vnd.oasis.opendocument.spreadsheet";
    const struct member sheet[] = { { .name = "mimetype", .bytes = ods },
                                    { .name = "content.xml", .bytes = "" } };
    const struct member book_of[] = { { .name = "mimetype", .bytes = "application/epub+zip" },
                                      { .name = "content.xml", .bytes = "" } };
    al_buf b;

    (void)state;
    assert_string_equal(zipped_as(book, 2, "x.csv"), "xlsx");
    assert_non_null(al_source_file_zip(source));
    assert_string_equal(zipped_as(sheet, 2, "x.zip"), "ods");
    assert_non_null(strstr(zipped_as(binary, 1, "x.xlsx"), ".xlsb"));
    assert_non_null(strstr(zipped_as(word, 1, "x.xlsx"), "Word"));
    assert_non_null(strstr(zipped_as(slides, 1, "x.xlsx"), "presentation"));
    assert_non_null(strstr(zipped_as(book_of, 2, "x.ods"), "epub"));
    /* something in front of it */
    al_buf_init(&b, 0);
    al_buf_str(&b, "#!/bin/sh\n");
    make_zip(&b, book, 2);
    assert_string_equal(found(b.data, b.len, "x.xlsx"), "xlsx");
    assert_true(al_format_needs_archive(fd));
    al_buf_free(&b);
}

static void what_needs_libarchive(void **state)
{
    (void)state;
    assert_string_equal(text_as("a,b\n", "x.csv"), "csv");
    assert_false(al_format_needs_archive(fd));
    text_as("", "x.csv");
    assert_false(al_format_needs_archive(fd));
    for (al_packing p = AL_GZIP; p <= AL_ZIP; p++) {
        packed_as(p, "a,b\n", 4, "x");
        assert_int_equal(al_format_needs_archive(fd), p != AL_GZIP);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_name),
        cmocka_unit_test(by_look),
        cmocka_unit_test(misnamed),
        cmocka_unit_test(by_wish),
        cmocka_unit_test(in_a_stream),
        cmocka_unit_test(what_is_not_read),
        cmocka_unit_test(in_a_zip),
        cmocka_unit_test(packages),
        cmocka_unit_test(what_needs_libarchive),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    shut();
    return failed;
}
