#include "base/err.h"
#include "base/utf8.h"
#include "data.h"
#include "data/encoding.h"

static al_err err;
static uint64_t replaced;
static char found[32];

/* The whole text of bytes, read in small pieces through a small window; NULL when it fails. The
 * caller frees it. */
static char *decode(const char *bytes, size_t len, const char *encoding, size_t reads,
                    size_t window, size_t *out_len)
{
    int fd = file_with(bytes, len, NULL), rc;
    char *all = calloc(1, len * 3 + 10);
    al_source_file *s;
    al_window w;

    memset(&err, 0, sizeof err);
    *out_len = 0;
    assert_int_equal(al_source_file_open(&s, fd, 1 << 20, NULL), AL_OK);
    al_source_file_limit_reads(s, reads);
    rc = al_window_open(&w, s, encoding, window, &err);
    while (rc == AL_OK) {
        rc = al_window_more(&w, w.len, &err);
        if (rc != AL_OK)
            break;
        assert_int_equal(w.offset, *out_len);
        assert_int_equal(al_utf8_valid(w.data, w.len), w.len);
        memcpy(all + *out_len, w.data, w.len);
        *out_len += w.len;
        replaced = w.replaced;
        snprintf(found, sizeof found, "%s", al_window_encoding(&w));
        if (w.last)
            break;
        assert_true(w.len > 0 || *out_len == 0);
    }
    al_window_close(&w);
    al_source_file_close(s);
    close(fd);
    if (rc == AL_OK)
        return all;
    free(all);
    return NULL;
}

static void is(const char *bytes, size_t len, const char *encoding, const char *name,
               const char *want, size_t want_len)
{
    static const size_t reads[] = { 0, 1, 2, 3, 7 }, windows[] = { 0, 16, 17, 31, 64 };

    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++)
        for (size_t k = 0; k < sizeof windows / sizeof windows[0]; k++) {
            size_t n;
            char *got = decode(bytes, len, encoding, reads[i], windows[k], &n);

            if (!got)
                fail_msg("%s: %s", name, err.detail);
            if (n != want_len || memcmp(got, want, n) != 0)
                fail_msg("%s with reads of %zu, window %zu: %.*s", name, reads[i], windows[k],
                         (int)n, got);
            assert_string_equal(found, name);
            free(got);
        }
}

#define IS(bytes, encoding, name, want) \
    is(bytes, sizeof(bytes) - 1, encoding, name, want, sizeof(want) - 1)

static const char euro[] = "a,b\n1,\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC tres \xF0\x9F\x98\x80 "
                           "\xC3\xB1\xC3\xB1\xC3\xB1 y m\xC3\xA1s texto para llenar\n";

static void utf8(void **state)
{
    (void)state;
    IS("", NULL, "utf-8", "");
    IS("plain\n", NULL, "utf-8", "plain\n");
    is(euro, sizeof euro - 1, NULL, "utf-8", euro, sizeof euro - 1);
    IS("\xEF\xBB\xBF"
       "x,y",
       NULL, "utf-8", "x,y");
    IS("\xEF\xBB\xBF", NULL, "utf-8", "");
    IS("x\0y", NULL, "utf-8", "x\0y");
    IS("\xEF\xBB\xBF"
       "x",
       "UTF-8", "utf-8", "x");
}

static void utf16(void **state)
{
    (void)state;
    IS("\xFF\xFEh\0i\0\n\0\xAC\x20=\xD8\0\xDE", NULL, "utf-16le",
       "hi\n\xE2\x82\xAC\xF0\x9F\x98\x80");
    IS("\xFE\xFF\0h\0i\0\n\x20\xAC\xD8=\xDE\0", NULL, "utf-16be",
       "hi\n\xE2\x82\xAC\xF0\x9F\x98\x80");
    IS("h\0i\0", "utf-16le", "utf-16le", "hi");
    IS("\xFF\xFEh\0", "utf-16", "utf-16le", "h");
    IS("\xFE\xFF\0h", "utf-16", "utf-16be", "h");
    IS("\xFF\xFE", NULL, "utf-16le", "");
}

static void halves_are_replaced_and_counted(void **state)
{
    (void)state;
    IS("\xFF\xFE=\xD8x\0", NULL, "utf-16le", "\xEF\xBF\xBDx");
    assert_int_equal(replaced, 1);
    IS("\xFF\xFE\0\xDEx\0=\xD8=\xD8\0\xDE", NULL, "utf-16le",
       "\xEF\xBF\xBDx\xEF\xBF\xBD\xF0\x9F\x98\x80");
    assert_int_equal(replaced, 2);
    IS("\xFF\xFEx\0=\xD8", NULL, "utf-16le", "x\xEF\xBF\xBD");
    IS("\xFF\xFEx\0y", NULL, "utf-16le", "x\xEF\xBF\xBD");
    assert_int_equal(replaced, 1);
}

static void windows1252(void **state)
{
    (void)state;
    IS("caf\xE9 \x80 \x93q\x94 \x96 \x8A \x81\x8D\x8F\x90\x9D \xFF\n", "windows-1252",
       "windows-1252",
       "caf\xC3\xA9 \xE2\x82\xAC \xE2\x80\x9Cq\xE2\x80\x9D \xE2\x80\x93 \xC5\xA0 "
       "\xC2\x81\xC2\x8D\xC2\x8F\xC2\x90\xC2\x9D \xC3\xBF\n");
    IS("\xE9", "latin1", "windows-1252", "\xC3\xA9");
    IS("\xEF\xBB\xBF"
       "a\xE9",
       "windows-1252", "windows-1252", "a\xC3\xA9");
}

static void all_bytes_of_windows1252_differ(void **state)
{
    char bytes[256], *got;
    size_t n, at = 0;
    uint32_t seen[256], cp;

    (void)state;
    for (int i = 0; i < 256; i++)
        bytes[i] = (char)i;
    got = decode(bytes, 256, "windows-1252", 0, 0, &n);
    assert_non_null(got);
    for (int i = 0; i < 256; i++) {
        at += (size_t)al_utf8_decode(got + at, n - at, &cp);
        seen[i] = cp;
        for (int k = 0; k < i; k++)
            assert_true(seen[k] != cp);
    }
    assert_int_equal(at, n);
    free(got);
}

static void wrong_bytes_say_where(void **state)
{
    static const struct {
        const char *bytes;
        size_t len, at;
    } cases[] = {
        { "abc\xE9,def", 8, 3 },
        { "ab\xE2\x82", 4, 2 }, /* cut at the end */
        { "\xEF\xBB\xBFok\x80", 6, 5 },
        { "a long line of text, longer than a small window \xF0\x9F\x98 x", 53, 48 },
        { "\xED\xA0\x80", 3, 0 }, /* a surrogate */
        { "\xC0\x80", 2, 0 },
        { "\xF4\x90\x80\x80", 4, 0 },
        { "0123456789abcde\xC3", 16, 15 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t reads = 0; reads < 4; reads++)
            for (size_t window = 16; window < 20; window++) {
                size_t n;

                assert_null(decode(cases[i].bytes, cases[i].len, NULL, reads, window, &n));
                assert_int_equal(err.code, AL_EDATA);
                assert_string_equal(err.id, "ingest_invalid");
                assert_string_equal(err.reason, "utf8");
                assert_int_equal(err.offset, cases[i].at);
            }
}

static void unknown_names(void **state)
{
    size_t n;

    (void)state;
    assert_null(decode("x", 1, "ebcdic", 0, 0, &n));
    assert_string_equal(err.id, "ingest_invalid");
    assert_non_null(strstr(err.detail, "ebcdic"));
}

static void keeps_what_is_not_used(void **state)
{
    char bytes[1000];
    int fd;
    al_source_file *s;
    al_window w;

    (void)state;
    memset(bytes, 'k', sizeof bytes);
    bytes[0] = '0';
    fd = file_with(bytes, sizeof bytes, NULL);
    assert_int_equal(al_source_file_open(&s, fd, 1 << 20, NULL), AL_OK);
    assert_int_equal(al_window_open(&w, s, NULL, 16, NULL), AL_OK);
    for (size_t before = 0; !w.last; before = w.len) {
        assert_int_equal(al_window_more(&w, 0, NULL), AL_OK);
        assert_true(w.len > before || w.last);
        assert_int_equal(w.data[0], '0');
    }
    assert_int_equal(w.len, sizeof bytes);
    for (int i = 0; i < AL_WINDOW_PADDING; i++)
        assert_int_equal(w.data[w.len + (size_t)i], 0);
    assert_int_equal(al_window_more(&w, 990, NULL), AL_OK);
    assert_int_equal(w.offset, 990);
    assert_int_equal(w.len, 10);
    al_window_close(&w);
    al_source_file_close(s);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8),
        cmocka_unit_test(utf16),
        cmocka_unit_test(halves_are_replaced_and_counted),
        cmocka_unit_test(windows1252),
        cmocka_unit_test(all_bytes_of_windows1252_differ),
        cmocka_unit_test(wrong_bytes_say_where),
        cmocka_unit_test(unknown_names),
        cmocka_unit_test(keeps_what_is_not_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
