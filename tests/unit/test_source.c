#include "base/hash.h"
#include "data.h"
#include "data/source.h"
#include "packer.h"
#include <stdlib.h>

static void reads_all_and_hashes(void **state)
{
    char bytes[10000], out[10000], hex[65], want[65];
    al_source_file *s;
    size_t have = 0, got;
    int fd;

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7);
    al_sha256_of(bytes, sizeof bytes, want);
    for (size_t most = 0; most < 4000; most = most * 2 + 1) {
        fd = file_with(bytes, sizeof bytes, NULL);
        assert_int_equal(al_source_file_open(&s, fd, sizeof bytes, NULL), AL_OK);
        al_source_file_limit_reads(s, most);
        assert_int_equal(al_source_file_size(s), sizeof bytes);
        have = 0;
        do {
            assert_int_equal(al_source_file_read(s, out + have, sizeof out - have + 1, &got, NULL),
                             AL_OK);
            have += got;
        } while (got);
        assert_int_equal(have, sizeof bytes);
        assert_memory_equal(out, bytes, sizeof bytes);
        assert_int_equal(al_source_file_bytes(s), sizeof bytes);
        assert_int_equal(al_source_file_sha256(s, hex, NULL), AL_OK);
        assert_string_equal(hex, want);
        al_source_file_close(s);
        close(fd);
    }
}

static void a_peek_does_not_count(void **state)
{
    al_source_file *s;
    char out[8];
    size_t got;
    int fd = file_with("abcdef", 6, NULL);

    (void)state;
    assert_int_equal(al_source_file_open(&s, fd, 100, NULL), AL_OK);
    al_source_file_limit_reads(s, 1);
    assert_int_equal(al_source_file_peek(s, out, 8, &got, NULL), AL_OK);
    assert_int_equal(got, 6);
    assert_int_equal(al_source_file_bytes(s), 0);
    al_source_file_close(s);
    close(fd);
}

static void too_large(void **state)
{
    al_source_file *s;
    al_err err = { 0 };
    char out[64];
    size_t got;
    int fd = file_with("abcdef", 6, NULL);

    (void)state;
    assert_int_equal(al_source_file_open(&s, fd, 5, &err), AL_ELIMIT);
    assert_null(s);
    assert_string_equal(err.id, "ingest_limit");
    assert_string_equal(err.object, "analysis.data.maxFileBytes");
    assert_string_equal(err.reason, "maxFileBytes");
    /* and when it grows while it is read */
    assert_int_equal(al_source_file_open(&s, fd, 6, &err), AL_OK);
    assert_int_equal(pwrite(fd, "ghi", 3, 6), 3);
    assert_int_equal(al_source_file_read(s, out, sizeof out, &got, &err), AL_ELIMIT);
    al_source_file_close(s);
    close(fd);
}

static void no_regular_file(void **state)
{
    al_source_file *s;
    al_err err = { 0 };
    int fd = open("/", O_RDONLY), ends[2];

    (void)state;
    assert_int_equal(al_source_file_open(&s, fd, 100, &err), AL_EDATA);
    assert_string_equal(err.id, "ingest_invalid");
    close(fd);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(al_source_file_open(&s, ends[0], 100, &err), AL_EDATA);
    close(ends[0]);
    close(ends[1]);
}

static void read_n(al_source_file *s, size_t n)
{
    char out[64];
    size_t got;

    for (; n > 0; n -= got) {
        assert_int_equal(al_source_file_read(s, out, n, &got, NULL), AL_OK);
        assert_true(got > 0);
    }
}

static void a_second_pass_must_be_the_same(void **state)
{
    char hex[65], want[65], out[64];
    al_source_file *s;
    al_err err = { 0 };
    size_t got;
    int fd = file_with("0123456789", 10, NULL);

    (void)state;
    al_sha256_of("0123456789", 10, want);
    assert_int_equal(al_source_file_open(&s, fd, 100, NULL), AL_OK);
    read_n(s, 4);
    assert_int_equal(al_source_file_rewind(s, NULL), AL_OK);
    read_n(s, 10);
    assert_int_equal(al_source_file_sha256(s, hex, NULL), AL_OK);
    assert_string_equal(hex, want);
    al_source_file_close(s);

    assert_int_equal(al_source_file_open(&s, fd, 100, NULL), AL_OK);
    read_n(s, 4);
    assert_int_equal(al_source_file_rewind(s, NULL), AL_OK);
    assert_int_equal(pwrite(fd, "x", 1, 1), 1);
    assert_int_equal(al_source_file_read(s, out, 8, &got, &err), AL_EIO);
    assert_string_equal(err.id, "io_error");
    al_source_file_close(s);

    assert_int_equal(al_source_file_open(&s, fd, 100, NULL), AL_OK);
    read_n(s, 8);
    assert_int_equal(al_source_file_rewind(s, NULL), AL_OK);
    assert_int_equal(ftruncate(fd, 2), 0);
    assert_int_equal(al_source_file_read(s, out, 8, &got, NULL), AL_OK);
    assert_int_equal(al_source_file_sha256(s, hex, &err), AL_EIO);
    al_source_file_close(s);
    close(fd);
}

/* Cut or written over it would be a mixture of two files; what grew is whole as far as it was read.
 */
static void a_file_that_changes(void **state)
{
    char hex[65], out[16];
    al_err err = { 0 };
    al_source_file *s;
    size_t got;

    (void)state;
    for (int way = 0; way < 4; way++) {
        int fd = file_with("0123456789", 10, NULL);

        assert_int_equal(al_source_file_open(&s, fd, 100, NULL), AL_OK);
        read_n(s, 4);
        usleep(20000); /* times of files are coarse */
        if (way == 0)
            assert_int_equal(ftruncate(fd, 3), 0);
        else
            assert_int_equal(pwrite(fd, "xyz", 3, way == 1 ? 6 : 10), 3);
        if (way == 3)
            read_n(s, 9);
        if (way > 1) {
            assert_int_equal(al_source_file_sha256(s, hex, &err), AL_OK);
        } else {
            int rc = al_source_file_read(s, out, 10, &got, &err);

            assert_int_equal(rc == AL_OK ? al_source_file_sha256(s, hex, &err) : rc, AL_EIO);
            assert_string_equal(err.id, "io_error");
        }
        al_source_file_close(s);
        close(fd);
    }
}

static void read_whole(al_source_file *s, const char *want, size_t len)
{
    char out[4096];
    size_t have = 0, got;

    do {
        assert_int_equal(al_source_file_read(s, out + have, sizeof out - have, &got, NULL), AL_OK);
        have += got;
    } while (got);
    assert_int_equal(have, len);
    assert_memory_equal(out, want, len);
}

static void packed_files(void **state)
{
    char bytes[3000], out[100], hex[65], want[65];

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)('a' + i * i % 26);
    for (al_packing p = AL_GZIP; p <= AL_ZIP; p++) {
        al_source_file *s;
        al_err err = { 0 };
        size_t got;
        al_buf b;
        int fd;

        al_buf_init(&b, 0);
        pack(&b, p, bytes, sizeof bytes);
        al_sha256_of(b.data, b.len, want);
        fd = file_with(b.data, b.len, NULL);
        for (int most = 0; most < 2; most++) {
            assert_int_equal(al_source_file_open(&s, fd, 100000, NULL), AL_OK);
            if (p == AL_ZIP) {
                assert_int_equal(al_source_file_open_zip(s, NULL), AL_OK);
                assert_int_equal(al_source_file_unzip(s, al_zip_at(al_source_file_zip(s), 0), NULL),
                                 AL_OK);
            } else {
                assert_int_equal(al_source_file_unpack(s, p, NULL), AL_OK);
            }
            al_source_file_limit_reads(s, most ? 7 : 0);
            assert_int_equal(al_source_file_read(s, out, 10, &got, NULL), AL_OK);
            assert_int_equal(al_source_file_peek(s, out, sizeof out, &got, NULL), AL_OK);
            assert_int_equal(got, sizeof out);
            assert_memory_equal(out, bytes, sizeof out);
            assert_int_equal(al_source_file_rewind(s, NULL), AL_OK);
            read_whole(s, bytes, sizeof bytes);
            assert_true(al_source_file_bytes(s) <= b.len);
            assert_int_equal(al_source_file_sha256(s, hex, NULL), AL_OK);
            assert_string_equal(hex, want);
            assert_int_equal(al_source_file_bytes(s), b.len);
            al_source_file_close(s);
        }
        /* It grows while it is read. */
        assert_int_equal(al_source_file_open(&s, fd, 100000, NULL), AL_OK);
        if (p != AL_ZIP)
            assert_int_equal(al_source_file_unpack(s, p, NULL), AL_OK);
        else
            assert_int_equal(al_source_file_open_zip(s, NULL), AL_OK);
        assert_int_equal(pwrite(fd, "x", 1, (off_t)b.len), 1);
        assert_int_equal(al_source_file_sha256(s, hex, &err), AL_EIO);
        assert_string_equal(err.id, "io_error");
        al_source_file_close(s);
        close(fd);
        al_buf_free(&b);
    }
}

/* Their hash is made beside the reading, and is not the last to look. */
static void large_packed_files(void **state)
{
    const size_t len = 5u << 20;
    char *bytes = malloc(len), hex[65], want[65];
    uint64_t x = 88172645463325252u;
    al_source_file *s;
    al_err err = { 0 };
    al_buf b;
    int fd;

    (void)state;
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)next_random(&x);
    al_buf_init(&b, 0);
    pack(&b, AL_ZIP, bytes, len);
    al_sha256_of(b.data, b.len, want);
    fd = file_with(b.data, b.len, NULL);
    assert_int_equal(al_source_file_open(&s, fd, 1u << 30, NULL), AL_OK);
    assert_int_equal(al_source_file_open_zip(s, NULL), AL_OK);
    assert_int_equal(al_source_file_sha256(s, hex, NULL), AL_OK);
    assert_string_equal(hex, want);
    assert_int_equal(al_source_file_bytes(s), b.len);
    al_source_file_close(s);

    assert_int_equal(al_source_file_open(&s, fd, 1u << 30, NULL), AL_OK);
    assert_int_equal(al_source_file_open_zip(s, NULL), AL_OK);
    al_source_file_close(s); /* in the middle */

    assert_int_equal(al_source_file_open(&s, fd, 1u << 30, NULL), AL_OK);
    assert_int_equal(al_source_file_open_zip(s, NULL), AL_OK);
    usleep(100000); /* it may be hashed by now */
    assert_int_equal(pwrite(fd, "x", 1, (off_t)b.len), 1);
    assert_int_equal(al_source_file_sha256(s, hex, &err), AL_EIO);
    assert_string_equal(err.id, "io_error");
    al_source_file_close(s);
    close(fd);
    al_buf_free(&b);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_all_and_hashes),
        cmocka_unit_test(a_peek_does_not_count),
        cmocka_unit_test(packed_files),
        cmocka_unit_test(large_packed_files),
        cmocka_unit_test(too_large),
        cmocka_unit_test(no_regular_file),
        cmocka_unit_test(a_second_pass_must_be_the_same),
        cmocka_unit_test(a_file_that_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
