#include "data/zip.h"
#include "zip_data.h"
#include <stdlib.h>

#define MANY (UINT64_C(4) << 30)

static al_buf bytes;
static al_source_file *source;
static al_zip *zip;
static al_err err;
static int fd;

static int set_up(void **state)
{
    (void)state;
    al_buf_init(&bytes, 0);
    return 0;
}

static void shut(void)
{
    al_zip_close(zip);
    al_source_file_close(source);
    zip = NULL;
    source = NULL;
    if (fd > 0)
        close(fd);
    fd = -1;
}

static int tear_down(void **state)
{
    (void)state;
    shut();
    al_buf_free(&bytes);
    return 0;
}

static int open_bytes(uint64_t max, size_t reads)
{
    shut();
    memset(&err, 0, sizeof err);
    fd = file_with(bytes.data, bytes.len, NULL);
    assert_int_equal(al_source_file_open(&source, fd, MANY, NULL), AL_OK);
    al_source_file_limit_reads(source, reads);
    return al_zip_open(&zip, source, max, &err);
}

static void holds(const char *name, const char *want)
{
    char out[64];
    size_t index = al_zip_find(zip, name), got;

    assert_true(index != AL_ZIP_NONE);
    if (al_zip_part_open(zip, index, &err) != AL_OK ||
        al_zip_part_read(zip, out, sizeof out, &got, &err) != AL_OK)
        fail_msg("%s: %s %s", name, err.object, err.detail);
    assert_int_equal(got, strlen(want));
    assert_memory_equal(out, want, got);
}

static const zip_part three[] = {
    { "a.xml", "first", 0 }, { "folder/", NULL, 0 }, { "folder/B.xml", "second", 0 },
    { "c.xml", "", 0 },      { NULL, NULL, 0 },
};

static void entries_in_any_order(void **state)
{
    static const char *const options[] = { NULL, "zip:compression=store", "zip:zip64" };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        zip_make(&bytes, options[i], three);
        for (size_t reads = 0; reads < 100; reads += 33) {
            assert_int_equal(open_bytes(MANY, reads), AL_OK);
            assert_int_equal(al_zip_count(zip), 4);
            assert_true(al_zip_at(zip, 1)->folder);
            assert_int_equal(al_zip_find(zip, "folder/"), AL_ZIP_NONE);
            assert_int_equal(al_zip_find(zip, "none"), AL_ZIP_NONE);
            assert_int_equal(al_zip_at(zip, 2)->size, 6);
            holds("a.xml", "first");
            holds("FOLDER/b.xml", "second");
            holds("c.xml", "");
            holds("a.xml", "first");
            holds("a.xml", "first");
            assert_true(al_zip_position(zip) > 0 && al_zip_position(zip) <= bytes.len);
        }
    }
}

static void odd_names(void **state)
{
    static const zip_part parts[] = {
        { "xl\\a.xml", "one", 0 },     { "/xl/b.xml", "two", 0 },
        { "./xl/c.xml", "three", 0 },  { "xl/d\xC3\xA9.xml", "four", 0 },
        { "xl/e\xFF.xml", "five", 0 }, { NULL, NULL, 0 },
    };

    (void)state;
    zip_make(&bytes, NULL, parts);
    assert_int_equal(open_bytes(MANY, 0), AL_OK);
    holds("xl/a.xml", "one");
    holds("xl/b.xml", "two");
    holds("xl/c.xml", "three");
    holds("xl/d\xC3\xA9.xml", "four");
    holds("xl/e\xFF.xml", "five");
}

static void no_zip(void **state)
{
    (void)state;
    zip_make(&bytes, NULL, three);
    for (size_t cut = 1; cut < bytes.len; cut += 7) {
        size_t len = bytes.len;

        bytes.len -= cut;
        assert_int_equal(open_bytes(MANY, 0), AL_EDATA);
        assert_string_equal(err.id, "ingest_invalid");
        assert_null(zip);
        bytes.len = len;
    }
    memset(bytes.data, 'x', bytes.len);
    assert_int_equal(open_bytes(MANY, 0), AL_EDATA);
}

/* Any one bit that is wrong is either seen or of no importance. */
static void damage(void **state)
{
    char out[64];
    size_t got, seen = 0;

    (void)state;
    zip_make(&bytes, NULL, three);
    for (size_t i = 0; i < bytes.len; i++) {
        bytes.data[i] ^= 0x10;
        if (open_bytes(MANY, 0) == AL_OK && al_zip_count(zip) > 0 &&
            al_zip_part_open(zip, 0, &err) == AL_OK &&
            al_zip_part_read(zip, out, sizeof out, &got, &err) == AL_OK)
            assert_true(got == 0 || (got == 5 && memcmp(out, "first", 5) == 0));
        else
            seen++;
        bytes.data[i] ^= 0x10;
    }
    assert_true(seen > 40);
}

static void a_wrong_checksum(void **state)
{
    char out[64];
    size_t got;

    (void)state;
    zip_make(&bytes, "zip:compression=store", three);
    for (size_t i = 0; i + 5 < bytes.len; i++)
        if (memcmp(bytes.data + i, "first", 5) == 0)
            bytes.data[i] = 'F';
    assert_int_equal(open_bytes(MANY, 0), AL_OK);
    assert_int_equal(al_zip_part_open(zip, 0, &err), AL_OK);
    assert_int_equal(al_zip_part_read(zip, out, sizeof out, &got, &err), AL_EDATA);
    assert_string_equal(err.id, "ingest_invalid");
    assert_string_equal(err.object, "a.xml");
    assert_string_equal(err.reason, "damaged");
}

static void encrypted(void **state)
{
    (void)state;
    zip_make(&bytes, "zip:encryption=traditional", three);
    assert_int_equal(open_bytes(MANY, 0), AL_OK);
    assert_true(al_zip_at(zip, 0)->encrypted);
    assert_int_equal(al_zip_part_open(zip, 0, &err), AL_ENOTSUP);
    assert_string_equal(err.id, "dataset_unsupported");
    assert_string_equal(err.object, "a.xml");
}

/* A size that the directory tells is refused at once; one that it hides, where it passes the limit.
 */
static void bombs(void **state)
{
    size_t len = 8u << 20, got, all = 0;
    char *zeros = calloc(1, len), *out = malloc(1u << 16);
    const zip_part parts[] = { { "small.txt", "x", 0 },
                               { "zeros", zeros, len },
                               { NULL, NULL, 0 } };
    int rc;

    (void)state;
    zip_make(&bytes, NULL, parts);
    assert_int_equal(open_bytes(MANY, 0), AL_OK);
    assert_int_equal(al_zip_part_open(zip, 1, &err), AL_ELIMIT);
    assert_string_equal(err.id, "ingest_limit");
    assert_string_equal(err.object, "analysis.data.maxFileBytes");
    assert_non_null(strstr(err.detail, "zeros"));
    holds("small.txt", "x");

    /* the directory says 1 byte, twice: in front of the entry and at the end */
    for (size_t i = 0; i + 4 <= bytes.len; i++)
        if (memcmp(bytes.data + i, "\0\0\x80\0", 4) == 0)
            memcpy(bytes.data + i, "\1\0\0\0", 4);
    assert_int_equal(open_bytes(MANY, 0), AL_OK);
    rc = al_zip_part_open(zip, 1, &err);
    while (rc == AL_OK) {
        rc = al_zip_part_read(zip, out, 1u << 16, &got, &err);
        all += got;
    }
    assert_true(rc == AL_ELIMIT || rc == AL_EDATA);
    assert_true(all <= bytes.len * AL_ZIP_RATIO + (1u << 20));
    free(zeros);
    free(out);
}

static void the_most_that_may_come_out(void **state)
{
    (void)state;
    zip_make(&bytes, NULL, three);
    assert_int_equal(open_bytes(10, 0), AL_OK);
    holds("a.xml", "first");
    assert_int_equal(al_zip_part_open(zip, 2, &err), AL_ELIMIT);
    assert_int_equal(open_bytes(11, 0), AL_OK);
    holds("a.xml", "first");
    holds("folder/B.xml", "second");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(entries_in_any_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(odd_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_zip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damage, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_wrong_checksum, set_up, tear_down),
        cmocka_unit_test_setup_teardown(encrypted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bombs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_most_that_may_come_out, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
