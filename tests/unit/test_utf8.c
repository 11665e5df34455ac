#include "base/cpu.h"
#include "base/err.h"
#include "base/utf8.h"
#include "data.h"

static void every_scalar_value_round_trips(void **state)
{
    (void)state;
    for (uint32_t cp = 0; cp < 0x110800; cp++) {
        bool scalar = cp <= 0x10FFFF && !(cp >= 0xD800 && cp <= 0xDFFF);
        uint32_t back = 0;
        char out[4];
        int n = al_utf8_encode(cp, out);

        if (!scalar) {
            assert_int_equal(n, 0);
            continue;
        }
        if (n < 1 || al_utf8_decode(out, (size_t)n, &back) != n || back != cp)
            fail_msg("U+%04X", cp);
        for (int cut = 1; cut < n; cut++)
            if (al_utf8_decode(out, (size_t)cut, &back) != 0)
                fail_msg("U+%04X cut to %d bytes", cp, cut);
    }
}

static void decode_is_strict(void **state)
{
    static const char *const bad[] = { "\x80",
                                       "\xBF",
                                       "\xC0\x80",
                                       "\xC1\xBF",
                                       "\xC3(",
                                       "\xE0\x9F\xBF",
                                       "\xE2\x82(",
                                       "\xED\xA0\x80",
                                       "\xED\xBF\xBF",
                                       "\xF0\x8F\xBF\xBF",
                                       "\xF4\x90\x80\x80",
                                       "\xF5\x80\x80\x80",
                                       "\xFE",
                                       "\xFF" };
    uint32_t cp;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(al_utf8_decode(bad[i], strlen(bad[i]), &cp), 0);
}

static void valid_prefix(void **state)
{
    const char *text = "0123456789\xC3\xA9 abcdefgh\xE2\x82";
    (void)state;
    assert_int_equal(al_utf8_valid("", 0), 0);
    assert_int_equal(al_utf8_valid("abc", 3), 3);
    assert_int_equal(al_utf8_valid(text, strlen(text)), 21);
    assert_int_equal(al_utf8_valid(text, 21), 21);
    assert_int_equal(al_utf8_valid("12345678\xFF", 9), 8);
    assert_int_equal(al_utf8_valid("1234567\xFF", 8), 7);
}

/* However long the text, in plain C and with what the processor can. */
static void valid_prefix_of_long_texts(void **state)
{
    static const char *const parts[] = { "a", "0", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80",
                                         "\xE0\xA4\x85", "\xED\x95\x9C", "\xEF\xBF\xBD",
                                         /* from here on wrong */
                                         "\xFF", "\x80", "\xED\xA0\x80", "\xC0\x80", "\xE2\x82" };
    uint64_t x = 3;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        char text[400];
        size_t n = 0, good = 0, most = next_random(&x) % 380, kinds = 1 + next_random(&x) % 8;
        uint32_t cp;
        int step = 1;

        while (n < most) {
            const char *part = parts[next_random(&x) % (next_random(&x) % 100 ? kinds : 13)];

            memcpy(text + n, part, strlen(part));
            n += strlen(part);
        }
        for (; good < n && step; good += (size_t)step)
            step = al_utf8_decode(text + good, n - good, &cp);
        al_cpu_set_plain(i % 2);
        assert_int_equal(al_utf8_valid(text, n), good);
    }
    al_cpu_set_plain(false);
}

static void cut_keeps_characters_whole(void **state)
{
    const char *text = "a\xC3\xA9\xF0\x9F\x98\x80";
    (void)state;
    assert_int_equal(al_utf8_cut(text, 7, 100), 7);
    assert_int_equal(al_utf8_cut(text, 7, 7), 7);
    assert_int_equal(al_utf8_cut(text, 7, 6), 3);
    assert_int_equal(al_utf8_cut(text, 7, 3), 3);
    assert_int_equal(al_utf8_cut(text, 7, 2), 1);
    assert_int_equal(al_utf8_cut(text, 7, 0), 0);
}

static void assert_maps(int (*map)(al_buf *, const char *, size_t), const char *in,
                        const char *want)
{
    al_buf b;
    al_buf_init(&b, 0);
    assert_int_equal(map(&b, in, strlen(in)), AL_OK);
    assert_string_equal(b.data, want);
    al_buf_free(&b);
}

static void nfc(void **state)
{
    (void)state;
    assert_maps(al_utf8_nfc, "", "");
    assert_maps(al_utf8_nfc, "plain", "plain");
    assert_maps(al_utf8_nfc, "cafe\xCC\x81", "caf\xC3\xA9");
    assert_maps(al_utf8_nfc, "caf\xC3\xA9", "caf\xC3\xA9");
    assert_maps(al_utf8_nfc, "\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB", "\xED\x95\x9C"); /* Hangul */
    assert_maps(al_utf8_nfc, "\xEF\xAC\x81", "\xEF\xAC\x81"); /* a ligature stays */
}

static void fold(void **state)
{
    (void)state;
    assert_maps(al_utf8_fold, "", "");
    assert_maps(al_utf8_fold, "REGI\xC3\x93N", "region");
    assert_maps(al_utf8_fold, "A\xC3\xB1o \xC3\x9C", "ano u");
    assert_maps(al_utf8_fold, "\xEF\xAC\x81n", "fin");           /* ligature */
    assert_maps(al_utf8_fold, "\xE2\x84\xA2", "tm");             /* TM sign */
    assert_maps(al_utf8_fold, "\xEF\xBC\xA1\xEF\xBC\x92", "a2"); /* full width */
    assert_maps(al_utf8_fold, "\xC4\xB0", "i");                  /* dotted capital I */
    assert_maps(al_utf8_fold,
                "stra\xC3\x9F"
                "e",
                "stra\xC3\x9F"
                "e");
    assert_maps(al_utf8_fold, "\xCC\x81", "");
}

static void maps_refuse_bad_text_and_caps(void **state)
{
    al_buf b;
    (void)state;
    al_buf_init(&b, 4);
    assert_int_equal(al_utf8_nfc(&b, "\xC3\xA9\xFF", 3), AL_EDATA);
    assert_int_equal(al_utf8_fold(&b, "\xED\xA0\x80", 3), AL_EDATA);
    assert_int_equal(al_utf8_nfc(&b, "\xC3\xA9\xC3\xA9\xC3\xA9", 6), AL_ELIMIT);
    al_buf_clear(&b);
    assert_int_equal(al_utf8_fold(&b, "abcdef", 6), AL_ELIMIT);
    al_buf_free(&b);
}

static void widths(void **state)
{
    (void)state;
    assert_int_equal(al_utf8_width('a'), 1);
    assert_int_equal(al_utf8_width(0xE9), 1);
    assert_int_equal(al_utf8_width(0x4E2D), 2);
    assert_int_equal(al_utf8_width(0x1F600), 2);
    assert_int_equal(al_utf8_width(0x301), 0);
    assert_int_equal(al_utf8_width(0x200B), 0);
    assert_int_equal(al_utf8_width('\n'), -1);
    assert_int_equal(al_utf8_width(0x7F), -1);
    assert_int_equal(al_utf8_width(0x9B), -1);
}

static void classes(void **state)
{
    (void)state;
    assert_int_equal(al_utf8_class('Q'), AL_UTF8_LETTER | AL_UTF8_UPPER);
    assert_int_equal(al_utf8_class(0xF1), AL_UTF8_LETTER | AL_UTF8_LOWER);
    assert_int_equal(al_utf8_class(0x4E2D), AL_UTF8_LETTER);
    assert_int_equal(al_utf8_class(0x301), AL_UTF8_LETTER);
    assert_int_equal(al_utf8_class('7'), AL_UTF8_NUMBER);
    assert_int_equal(al_utf8_class('\t'), AL_UTF8_SPACE);
    assert_int_equal(al_utf8_class(0xA0), AL_UTF8_SPACE);
    assert_int_equal(al_utf8_class(0x20AC), AL_UTF8_PUNCT);
    assert_int_equal(al_utf8_class('_'), AL_UTF8_PUNCT);
    assert_int_equal(al_utf8_class(0), 0);
    assert_int_equal(al_utf8_class(0x110000), 0);
    assert_int_equal(al_utf8_lower('Z'), 'z');
    assert_int_equal(al_utf8_lower('['), '[');
    assert_int_equal(al_utf8_lower(0xD1), 0xF1);
    assert_int_equal(al_utf8_lower(0x4E2D), 0x4E2D);
    assert_int_equal(al_utf8_upper('z'), 'Z');
    assert_int_equal(al_utf8_upper('{'), '{');
    assert_int_equal(al_utf8_upper(0xF1), 0xD1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_scalar_value_round_trips),
        cmocka_unit_test(decode_is_strict),
        cmocka_unit_test(valid_prefix),
        cmocka_unit_test(valid_prefix_of_long_texts),
        cmocka_unit_test(cut_keeps_characters_whole),
        cmocka_unit_test(nfc),
        cmocka_unit_test(fold),
        cmocka_unit_test(maps_refuse_bad_text_and_caps),
        cmocka_unit_test(widths),
        cmocka_unit_test(classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
