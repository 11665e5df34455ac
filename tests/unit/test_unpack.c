#include "data.h"
#include "data/expansion.h"
#include "packer.h"

static const al_packing streams[] = { AL_GZIP, AL_BZIP2, AL_XZ, AL_ZSTD };

/* Text that packs, but not to nothing: several blocks of any reader. */
static void make_text(al_buf *b, size_t len)
{
    uint64_t x = 7;

    while (b->len < len)
        al_buf_printf(b, "%llu,north\n", (unsigned long long)(next_random(&x) % 100000));
    b->len = len;
}

/* Reads all of fd in pieces. */
static int unpack(int fd, al_packing packing, uint64_t max_bytes, size_t piece, al_buf *out,
                  al_err *err)
{
    uint64_t size = (uint64_t)lseek(fd, 0, SEEK_END);
    static char bytes[65536];
    al_unpack *u;
    size_t got;
    int rc;

    memset(err, 0, sizeof *err);
    al_buf_clear(out);
    rc = al_unpack_open(&u, fd, size, packing, max_bytes, err);
    if (rc != AL_OK) {
        assert_null(u);
        return rc;
    }
    do {
        rc = al_unpack_read(u, bytes, piece, &got, err);
        if (rc == AL_OK)
            al_buf_add(out, bytes, got);
        assert_true(al_unpack_consumed(u) <= size);
    } while (rc == AL_OK && got);
    if (rc == AL_OK) {
        assert_int_equal(al_unpack_read(u, bytes, piece, &got, err), AL_OK);
        assert_int_equal(got, 0);
    }
    al_unpack_close(u);
    return rc;
}

static void check(const al_buf *packed, al_packing packing, const char *bytes, size_t len)
{
    int fd = file_with(packed->data, packed->len, NULL);
    al_buf out;
    al_err err;

    al_buf_init(&out, 0);
    for (size_t piece = 7; piece <= 65536; piece = piece * 10 + 1) {
        if (unpack(fd, packing, 1u << 30, piece, &out, &err) != AL_OK)
            fail_msg("packing %d: %s", packing, err.detail);
        assert_int_equal(out.len, len);
        assert_memory_equal(len ? out.data : "", len ? bytes : "", len);
    }
    al_buf_free(&out);
    close(fd);
}

static void comes_out_as_it_went_in(void **state)
{
    static const size_t sizes[] = { 0, 1, 5000, 400000 };
    al_buf text, packed;

    (void)state;
    al_buf_init(&text, 0);
    al_buf_init(&packed, 0);
    make_text(&text, 400000);
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 4; k++) {
            al_buf_clear(&packed);
            pack(&packed, streams[i], text.data, sizes[k]);
            check(&packed, streams[i], text.data, sizes[k]);
            /* as `cat a.gz b.gz` makes them */
            pack(&packed, streams[i], text.data + sizes[k], text.len - sizes[k]);
            check(&packed, streams[i], text.data, text.len);
        }
    al_buf_free(&text);
    al_buf_free(&packed);
}

static int unpack_bytes(const char *bytes, size_t len, al_packing packing, al_err *err)
{
    int fd = file_with(bytes, len, NULL), rc;
    al_buf out;

    al_buf_init(&out, 0);
    rc = unpack(fd, packing, 1u << 30, 4096, &out, err);
    al_buf_free(&out);
    close(fd);
    return rc;
}

static void expect_invalid(int rc, const al_err *err, size_t len)
{
    assert_int_equal(rc, AL_EDATA);
    assert_string_equal(err->id, "ingest_invalid");
    assert_true(err->offset <= len);
    assert_true(strlen(err->detail) > 0);
}

static void cut_anywhere(void **state)
{
    al_buf text, packed;
    al_err err;

    (void)state;
    al_buf_init(&text, 0);
    al_buf_init(&packed, 0);
    make_text(&text, 400000);
    for (size_t i = 0; i < 8; i++) {
        bool small = i < 4;

        al_buf_clear(&packed);
        pack(&packed, streams[i % 4], text.data, small ? 3000 : text.len);
        for (size_t len = 6; len < packed.len; len += small ? 1 : packed.len / 23) {
            int rc = unpack_bytes(packed.data, len, streams[i % 4], &err);

            if (rc == AL_OK)
                fail_msg("packing %d: %zu of %zu bytes were enough", streams[i % 4], len,
                         packed.len);
            expect_invalid(rc, &err, len);
        }
    }
    al_buf_free(&text);
    al_buf_free(&packed);
}

/* No changed bit gives other bytes. Some stand for nothing: the time and the name in a header. */
static void damage_is_found(void **state)
{
    al_buf text, packed, out;
    al_err err;

    (void)state;
    al_buf_init(&text, 0);
    al_buf_init(&packed, 0);
    al_buf_init(&out, 0);
    make_text(&text, 3000);
    for (size_t i = 0; i < 3; i++) { /* libarchive's zstd writes no checksum */
        size_t passed = 0;

        al_buf_clear(&packed);
        pack(&packed, streams[i], text.data, text.len);
        for (size_t at = 0; at < packed.len; at++) {
            int fd, rc;

            packed.data[at] ^= (char)(1 << at % 8);
            fd = file_with(packed.data, packed.len, NULL);
            rc = unpack(fd, streams[i], 1u << 30, 4096, &out, &err);
            close(fd);
            packed.data[at] ^= (char)(1 << at % 8);
            if (rc == AL_OK) {
                passed++;
                assert_int_equal(out.len, text.len);
                assert_memory_equal(out.data, text.data, text.len);
            } else if (rc != AL_ELIMIT) {
                expect_invalid(rc, &err, packed.len);
            }
        }
        if (passed > 10)
            fail_msg("packing %d: %zu damaged files were read", streams[i], passed);
    }
    al_buf_free(&text);
    al_buf_free(&packed);
    al_buf_free(&out);
}

static void what_stands_behind(void **state)
{
    static char zeros[200000];
    al_buf packed;
    al_err err;

    (void)state;
    al_buf_init(&packed, 0);
    for (size_t i = 0; i < 4; i++) {
        size_t len;
        int rc;

        al_buf_clear(&packed);
        pack(&packed, streams[i], "a,b\n1,2\n", 8);
        len = packed.len;
        al_buf_str(&packed, "more");
        rc = unpack_bytes(packed.data, packed.len, streams[i], &err);
        expect_invalid(rc, &err, packed.len);
        if (i < 2) { /* the formats of the others have padding of their own, or none */
            assert_string_equal(err.reason, "trailing");
            assert_int_equal(err.offset, len);
            packed.len = len;
            al_buf_add(&packed, zeros, sizeof zeros);
            check(&packed, streams[i], "a,b\n1,2\n", 8);
            al_buf_char(&packed, 'x');
            rc = unpack_bytes(packed.data, packed.len, streams[i], &err);
            expect_invalid(rc, &err, packed.len);
            assert_int_equal(err.offset, packed.len - 1);
        }
    }
    al_buf_free(&packed);
}

static void bombs(void **state)
{
    static const struct {
        size_t size;
        uint64_t max_bytes;
        const char *reason;
    } cases[] = {
        { AL_EXPANSION_FLOOR, AL_EXPANSION_FLOOR, NULL },
        { AL_EXPANSION_FLOOR + 1, 1u << 30, "expansion" },
        { 5000, 4999, "maxFileBytes" },
    };
    char *zeros = calloc(1, AL_EXPANSION_FLOOR + 1);
    al_buf packed, out;
    al_err err;

    (void)state;
    al_buf_init(&packed, 0);
    al_buf_init(&out, 0);
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 3; k++) {
            int fd, rc;

            al_buf_clear(&packed);
            pack(&packed, streams[i], zeros, cases[k].size);
            fd = file_with(packed.data, packed.len, NULL);
            rc = unpack(fd, streams[i], cases[k].max_bytes, 65536, &out, &err);
            assert_int_equal(rc, cases[k].reason ? AL_ELIMIT : AL_OK);
            if (cases[k].reason)
                assert_string_equal(err.reason, cases[k].reason);
            close(fd);
        }
    al_buf_free(&packed);
    al_buf_free(&out);
    free(zeros);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_out_as_it_went_in),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(what_stands_behind),
        cmocka_unit_test(bombs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
