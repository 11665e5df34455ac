#include "data.h"
#include "data/zip.h"
#include "packer.h"
#include "zipmaker.h"
#include <pthread.h>

static al_zip *open_zip(const al_buf *b, int *fd)
{
    al_zip *z;
    al_err err = { 0 };

    *fd = file_with(b->data, b->len, NULL);
    if (al_zip_open(&z, *fd, 1u << 30, &err) != AL_OK)
        fail_msg("%s", err.detail);
    return z;
}

/* All of an entry, in pieces of `piece` bytes; terminated, the caller's. */
static int read_entry(al_zip *z, const al_zip_entry *e, size_t piece, al_buf *out, al_err *err)
{
    al_zip_stream *s;
    char bytes[4096];
    size_t got;
    int rc = al_zip_stream_open(&s, z, e, err);

    al_buf_clear(out);
    if (rc != AL_OK)
        return rc;
    do {
        rc = al_zip_stream_read(s, bytes, piece, &got, err);
        if (rc == AL_OK)
            al_buf_add(out, bytes, got);
    } while (rc == AL_OK && got);
    al_zip_stream_close(s);
    return rc;
}

static void expect(al_zip *z, const char *name, const char *bytes)
{
    const al_zip_entry *e = al_zip_find(z, name);
    al_err err = { 0 };
    al_buf b;

    al_buf_init(&b, 0);
    assert_non_null(e);
    for (size_t piece = 1; piece <= 4096; piece *= 16) {
        if (read_entry(z, e, piece, &b, &err) != AL_OK)
            fail_msg("%s: %s", err.object, err.detail);
        assert_int_equal(b.len, strlen(bytes));
        assert_memory_equal(b.data ? b.data : "", bytes, b.len);
    }
    al_buf_free(&b);
}

static void every_way_to_write_an_entry(void **state)
{
    const struct member members[] = {
        { .name = "folder/", .bytes = "" },
        { .name = "folder/plain.csv", .bytes = "a\n1\n" },
        { .name = "late.csv", .bytes = "b\n2\n", .descriptor = true },
        { .name = "wide.csv", .bytes = "c\n3\n", .wide = true },
        { .name = "both.csv", .bytes = "d\n4\n", .wide = true, .descriptor = true },
        { .name = "empty", .bytes = "" },
    };

    (void)state;
    for (int prefix = 0; prefix < 2; prefix++) {
        al_buf b;
        al_zip *z;
        int fd;

        al_buf_init(&b, 0);
        if (prefix)
            al_buf_str(&b, "#!/bin/sh\nunpack me\n");
        make_zip(&b, members, 6);
        z = open_zip(&b, &fd);
        assert_int_equal(al_zip_count(z), 6);
        assert_true(al_zip_at(z, 0)->folder);
        assert_false(al_zip_at(z, 1)->folder);
        assert_string_equal(al_zip_at(z, 1)->name, "folder/plain.csv");
        assert_int_equal(al_zip_at(z, 2)->size, 4);
        expect(z, "both.csv", "d\n4\n");
        expect(z, "wide.csv", "c\n3\n");
        expect(z, "late.csv", "b\n2\n");
        expect(z, "folder/plain.csv", "a\n1\n");
        expect(z, "empty", "");
        assert_true(al_zip_consumed(z) > 0);
        al_zip_close(z);
        close(fd);
        al_buf_free(&b);
    }
}

static void names_are_found_as_packages_compare_them(void **state)
{
    const struct member members[] = {
        { .name = "XL\\Workbook.XML", .bytes = "w" },
        { .name = "xl/sharedStrings.xml", .bytes = "first" },
        { .name = "xl/SHAREDSTRINGS.xml", .bytes = "second" },
        { .name = "/xl/styles.xml", .bytes = "s" },
        { .name = "se\xc3\xb1or.csv", .bytes = "x" },
    };
    al_buf b;
    al_zip *z;
    int fd;

    (void)state;
    al_buf_init(&b, 0);
    make_zip(&b, members, 5);
    z = open_zip(&b, &fd);
    expect(z, "xl/workbook.xml", "w");
    expect(z, "XL/sharedstrings.xml", "first");
    assert_string_equal(al_zip_at(z, 0)->name, "XL/Workbook.XML");
    expect(z, "xl/styles.xml", "s");
    assert_null(al_zip_find(z, "xl/style.xml"));
    assert_null(al_zip_find(z, "xl/styles.xml2"));
    assert_null(al_zip_find(z, ""));
    assert_int_equal(al_zip_count(z), 5);
    assert_string_equal(al_zip_at(z, 4)->name, "se\xc3\xb1or.csv");
    al_zip_close(z);
    close(fd);
    al_buf_free(&b);
}

static void damage_is_found(void **state)
{
    const struct member members[] = {
        { .name = "good", .bytes = "fine" },
        { .name = "bad", .bytes = "spoiled", .spoil = 1 },
        { .name = "secret", .bytes = "0123456789abcdef", .encrypted = true },
        { .name = "odd", .bytes = "imploded", .method = 6 },
    };
    al_err err = { 0 };
    al_buf b, out;
    al_zip *z;
    int fd;

    (void)state;
    al_buf_init(&b, 0);
    al_buf_init(&out, 0);
    make_zip(&b, members, 4);
    z = open_zip(&b, &fd);
    expect(z, "good", "fine");
    assert_int_equal(read_entry(z, al_zip_find(z, "bad"), 3, &out, &err), AL_EDATA);
    assert_string_equal(err.id, "ingest_invalid");
    assert_string_equal(err.object, "bad");
    assert_true(err.offset > 0);
    assert_true(al_zip_find(z, "secret")->encrypted);
    assert_int_equal(read_entry(z, al_zip_find(z, "secret"), 3, &out, &err), AL_ENOTSUP);
    assert_string_equal(err.id, "dataset_unsupported");
    assert_int_equal(read_entry(z, al_zip_find(z, "odd"), 3, &out, &err), AL_ENOTSUP);
    assert_string_equal(err.id, "dataset_unsupported");
    al_zip_close(z);
    close(fd);
    al_buf_free(&b);
    al_buf_free(&out);
}

/* Cut anywhere: it does not open, or what it has is right. */
static void truncated_files(void **state)
{
    const struct member members[] = {
        { .name = "one", .bytes = "1111111111" },
        { .name = "two", .bytes = "2222222222", .descriptor = true },
    };
    al_buf b;

    (void)state;
    al_buf_init(&b, 0);
    make_zip(&b, members, 2);
    for (size_t len = 0; len < b.len; len++) {
        int fd = file_with(b.data, len, NULL);
        al_err err = { 0 };
        al_zip *z;

        assert_int_equal(al_zip_open(&z, fd, 1000, &err), AL_EDATA);
        assert_null(z);
        assert_string_equal(err.id, "ingest_invalid");
        close(fd);
    }
    al_buf_free(&b);
}

static void what_comes_out_is_counted(void **state)
{
    static const struct {
        size_t size;
        uint64_t max_bytes;
        const char *reason;
    } cases[] = {
        { 2u << 20, 1u << 30, NULL },
        { 2u << 20, 2u << 20, NULL },
        { 2u << 20, (2u << 20) - 1, "maxFileBytes" },
        { 40u << 20, 1u << 30, "expansion" },
    };
    char *zeros = calloc(1, 40u << 20);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        al_err err = { 0 };
        al_buf b, out;
        al_zip *z;
        int fd;

        al_buf_init(&b, 0);
        al_buf_init(&out, 0);
        pack(&b, AL_ZIP, zeros, cases[i].size);
        fd = file_with(b.data, b.len, NULL);
        assert_int_equal(al_zip_open(&z, fd, cases[i].max_bytes, &err), AL_OK);
        for (int again = 0; again < 2; again++) { /* it counts once */
            int rc = read_entry(z, al_zip_at(z, 0), 4096, &out, &err);

            assert_int_equal(rc, cases[i].reason ? AL_ELIMIT : AL_OK);
            if (cases[i].reason)
                assert_string_equal(err.reason, cases[i].reason);
            else
                assert_int_equal(out.len, cases[i].size);
        }
        al_zip_close(z);
        close(fd);
        al_buf_free(&b);
        al_buf_free(&out);
    }
    free(zeros);
}

/* By the size that the directory tells, before anything is unpacked; or where it told too little.
 */
static void sizes_that_are_told(void **state)
{
    char *zeros = calloc(1, 40u << 20), *out = malloc(1 << 20);
    al_err err = { 0 };
    al_zip_stream *s;
    size_t got, all = 0;
    al_buf b;
    al_zip *z;
    int fd, rc;

    (void)state;
    al_buf_init(&b, 0);
    pack(&b, AL_ZIP, zeros, 40u << 20);
    z = open_zip(&b, &fd);
    assert_int_equal(al_zip_stream_open(&s, z, al_zip_at(z, 0), &err), AL_ELIMIT);
    assert_int_equal(al_zip_consumed(z), 0);
    al_zip_close(z);
    close(fd);
    for (size_t i = 0; i + 4 <= b.len; i++)
        if (memcmp(b.data + i, "\0\0\x80\2", 4) == 0)
            memcpy(b.data + i, "\1\0\0\0", 4);
    z = open_zip(&b, &fd);
    assert_int_equal(al_zip_at(z, 0)->size, 1);
    rc = al_zip_stream_open(&s, z, al_zip_at(z, 0), &err);
    for (got = 1; rc == AL_OK && got; all += got)
        rc = al_zip_stream_read(s, out, 1 << 20, &got, &err);
    assert_int_equal(rc, AL_EDATA);
    assert_string_equal(err.reason, "damaged");
    assert_true(all < 1u << 20);
    al_zip_stream_close(s);
    al_zip_close(z);
    close(fd);
    al_buf_free(&b);
    free(zeros);
    free(out);
}

static void too_many_entries(void **state)
{
    static struct member members[AL_ZIP_MAX_ENTRIES - 1];
    char *long_name = calloc(1, 60001);
    al_err err = { 0 };
    al_buf b;
    al_zip *z;
    int fd;

    (void)state;
    memset(long_name, 'n', 60000);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        members[i] = (struct member){ .name = i < 200 ? long_name : "n", .bytes = "" };
    al_buf_init(&b, 0);
    make_zip(&b, members, 200);
    fd = file_with(b.data, b.len, NULL);
    assert_int_equal(al_zip_open(&z, fd, 1000, &err), AL_ELIMIT);
    assert_string_equal(err.id, "ingest_limit");
    close(fd);
    al_buf_clear(&b);
    make_zip(&b, members + 200, sizeof members / sizeof *members - 200);
    fd = file_with(b.data, b.len, NULL);
    assert_int_equal(al_zip_open(&z, fd, 1000, &err), AL_OK);
    assert_int_equal(al_zip_count(z), sizeof members / sizeof *members - 200);
    al_zip_close(z);
    close(fd);
    al_buf_free(&b);
    free(long_name);
}

struct reader {
    al_zip *zip;
    const al_zip_entry *entry;
    int rc;
    size_t len;
};

/* In whatever order: those that were left in the middle, those in front, the same again. */
static void one_after_another(void **state)
{
    const struct member members[] = {
        { .name = "a", .bytes = "first" },
        { .name = "b", .bytes = "second", .descriptor = true },
        { .name = "c", .bytes = "" },
        { .name = "d", .bytes = "fourth" },
    };
    static const char order[] = "abcdabcddcbaacbdbbda";
    al_err err = { 0 };
    al_buf b;
    al_zip *z;
    int fd;

    (void)state;
    al_buf_init(&b, 0);
    make_zip(&b, members, 4);
    z = open_zip(&b, &fd);
    for (size_t i = 0; order[i]; i++) {
        const struct member *m = &members[order[i] - 'a'];
        size_t len = strlen(m->bytes), want = i % 3 == 0 && len ? 2 : len, got;
        al_zip_stream *s;
        char bytes[16];

        assert_int_equal(al_zip_stream_open(&s, z, al_zip_find(z, m->name), &err), AL_OK);
        assert_int_equal(al_zip_stream_read(s, bytes, want ? want : 1, &got, &err), AL_OK);
        assert_int_equal(got, want);
        assert_memory_equal(bytes, m->bytes, want);
        al_zip_stream_close(s);
    }
    al_zip_close(z);
    close(fd);
    al_buf_free(&b);
}

static void forth_and_back_too_often(void **state)
{
    enum { MEMBERS = 4000 };
    struct member *members = calloc(MEMBERS, sizeof *members);
    al_zip_stream *s;
    al_err err = { 0 };
    int fd, rc = AL_OK, tries = 0;
    al_buf b;
    al_zip *z;

    (void)state;
    for (size_t i = 0; i < MEMBERS; i++)
        members[i] = (struct member){ .name = "x", .bytes = "" };
    al_buf_init(&b, 0);
    make_zip(&b, members, MEMBERS);
    z = open_zip(&b, &fd);
    for (; rc == AL_OK && tries < 200; tries++) {
        rc = al_zip_stream_open(&s, z, al_zip_at(z, tries % 2 ? 0 : MEMBERS - 1), &err);
        if (rc == AL_OK)
            al_zip_stream_close(s);
    }
    assert_int_equal(rc, AL_EDATA);
    assert_string_equal(err.id, "ingest_invalid");
    assert_in_range(tries, 50, 199);
    al_zip_close(z);
    close(fd);
    al_buf_free(&b);
    free(members);
}

static void *read_all(void *data)
{
    struct reader *r = data;
    al_buf out;

    al_buf_init(&out, 0);
    r->rc = read_entry(r->zip, r->entry, 1000, &out, NULL);
    r->len = out.len;
    al_buf_free(&out);
    return NULL;
}

static void streams_on_threads(void **state)
{
    char *big = calloc(1, 500001);
    struct reader readers[4];
    pthread_t threads[4];
    al_buf b;
    al_zip *z;
    int fd;

    (void)state;
    memset(big, 'x', 500000);
    const struct member members[] = { { .name = "a", .bytes = big },
                                      { .name = "b", .bytes = big } };
    al_buf_init(&b, 0);
    make_zip(&b, members, 2);
    z = open_zip(&b, &fd);
    for (int i = 0; i < 4; i++) {
        readers[i] = (struct reader){ .zip = z, .entry = al_zip_at(z, (size_t)i % 2) };
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, &readers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(readers[i].rc, AL_OK);
        assert_int_equal(readers[i].len, 500000);
    }
    al_zip_close(z);
    close(fd);
    al_buf_free(&b);
    free(big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_to_write_an_entry),
        cmocka_unit_test(names_are_found_as_packages_compare_them),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(truncated_files),
        cmocka_unit_test(what_comes_out_is_counted),
        cmocka_unit_test(sizes_that_are_told),
        cmocka_unit_test(too_many_entries),
        cmocka_unit_test(one_after_another),
        cmocka_unit_test(forth_and_back_too_often),
        cmocka_unit_test(streams_on_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
