#include "base/err.h"
#include "data.h"
#include "data/column.h"
#include <math.h>

static al_column c;
static uint64_t rows; /* so far */

static int open_column(void **state)
{
    (void)state;
    rows = 0;
    return al_column_open(&c, "name", "Name", 4);
}

static int close_column(void **state)
{
    (void)state;
    al_column_close(&c);
    return 0;
}

/* The cells as a segment of their own. */
static void add_segment(const al_cell *cells, size_t n, size_t stride)
{
    static al_part part; /* used again, as they are */

    assert_int_equal(al_part_clear(&part, 1, c.values), AL_OK);
    assert_int_equal(al_part_add(&part, cells, n, stride,
                                 rows < AL_COLUMN_HINT_ROWS ? AL_COLUMN_HINT_ROWS - rows : 0),
                     AL_OK);
    assert_int_equal(al_part_end(&part), AL_OK);
    assert_int_equal(al_column_take(&c, &part), AL_OK);
    rows += n;
}

/* Texts as they stand in a file. */
static void add_all(const char *const *texts, size_t n)
{
    al_cell *cells = malloc((n + 1) * sizeof *cells);

    for (size_t i = 0; i < n; i++)
        al_cell_parse(&cells[i], texts[i], strlen(texts[i]));
    add_segment(cells, n, 1);
    free(cells);
}

#define ADD(...)                                            \
    do {                                                    \
        static const char *const list_[] = { __VA_ARGS__ }; \
        add_all(list_, sizeof list_ / sizeof list_[0]);     \
    } while (0)

static const char *shown(bool (*of)(const al_column *, al_buf *))
{
    static char out[1000];
    al_buf b;

    al_buf_init(&b, 0);
    snprintf(out, sizeof out, "%s", of(&c, &b) ? (b.data ? b.data : "") : "(none)");
    al_buf_free(&b);
    return out;
}

static double mean(void)
{
    double m;

    assert_true(al_column_mean(&c, &m));
    return m;
}

static void integers(void **state)
{
    double m;

    (void)state;
    ADD("10", "", "-3", "20", "10");
    assert_string_equal(al_column_type(&c), "integer");
    assert_int_equal(rows - c.numbers - c.texts, 1); /* NULL */
    assert_string_equal(shown(al_column_min), "-3");
    assert_string_equal(shown(al_column_max), "20");
    assert_true(al_column_mean(&c, &m) && m == 9.25);
    assert_int_equal(al_column_fallbacks(&c), 0);
}

static void reals(void **state)
{
    (void)state;
    ADD("1.50", "2", "0.25");
    assert_string_equal(al_column_type(&c), "real");
    assert_string_equal(shown(al_column_min), "0.25");
    assert_string_equal(shown(al_column_max), "2");
    assert_true(mean() == 1.25);
}

static void dates(void **state)
{
    (void)state;
    ADD("2024-02-29", "2016-03-11T09:00:00Z", "", "2016-10-20 09:00");
    assert_string_equal(al_column_type(&c), "date");
    assert_string_equal(shown(al_column_min), "2016-03-11T09:00:00Z");
    assert_int_equal(al_column_fallbacks(&c), 0);
}

static void booleans(void **state)
{
    (void)state;
    ADD("true", "FALSE", "True");
    assert_string_equal(al_column_type(&c), "boolean");
}

static void nothing_but_nulls(void **state)
{
    double m;

    (void)state;
    ADD("", "");
    assert_string_equal(al_column_type(&c), "text");
    assert_string_equal(shown(al_column_min), "(none)");
    assert_string_equal(shown(al_column_max), "(none)");
    assert_false(al_column_mean(&c, &m));
}

static void mostly_numbers_or_mostly_texts(void **state)
{
    (void)state;
    ADD("5", "N/A", "7", "n"); /* half */
    assert_string_equal(al_column_type(&c), "text");
    assert_string_equal(shown(al_column_min), "5");
    assert_string_equal(shown(al_column_max), "7");
    assert_int_equal(al_column_fallbacks(&c), 2);
    ADD("z");
    assert_string_equal(shown(al_column_min), "N/A");
    assert_string_equal(shown(al_column_max), "z");
    assert_true(mean() == 6.0);
}

static void texts_that_look_like_numbers(void **state)
{
    (void)state;
    ADD("007", "1,234", "(12)", "12a", "x", "\xC3\xB1 5", "-");
    assert_string_equal(al_column_type(&c), "text");
    assert_int_equal(al_column_fallbacks(&c), 4);
}

static void the_hint_is_of_the_first_thousand_rows(void **state)
{
    static char numbers[1000][16];
    static const char *texts[1000];

    (void)state;
    for (int i = 0; i < 1000; i++) {
        snprintf(numbers[i], sizeof numbers[i], "%d", i);
        texts[i] = numbers[i];
    }
    add_all(texts, 1000);
    ADD("9a", "7.5", "2024-01-01");
    assert_string_equal(al_column_type(&c), "integer");
    assert_int_equal(al_column_fallbacks(&c), 2);
}

static void sums_keep_what_doubles_drop(void **state)
{
    (void)state;
    ADD("1e16", "1.0", "-1e16", "1.0");
    assert_true(mean() == 0.5);
}

static void sums_are_made_by_segment(void **state)
{
    (void)state;
    ADD("0.1", "0.2");
    ADD("0.3");
    ADD("");
    assert_true(mean() == 0.6 / 3);
    assert_int_equal(c.numbers, 3);
}

static void long_texts_are_cut_at_a_character(void **state)
{
    char least[300], most[300], *p;

    (void)state;
    memset(least, 'a', sizeof least);
    memcpy(least + AL_COLUMN_SHOWN - 1, "\xC3\xB1", 2);
    least[299] = '\0';
    memset(most, 'b', sizeof most);
    most[299] = '\0';
    {
        const char *texts[] = { most, least };

        add_all(texts, 2);
    }
    p = strstr(shown(al_column_min), "\xE2\x80\xA6");
    assert_non_null(p);
    assert_int_equal(strlen(shown(al_column_min)), AL_COLUMN_SHOWN - 1 + 3);
    assert_int_equal(strlen(shown(al_column_max)), AL_COLUMN_SHOWN + 3);
}

/* Beyond what is kept of them, a longer text is larger than its own beginning. */
static void beginnings_that_are_equal(void **state)
{
    char exact[AL_COLUMN_SHOWN + 1], longer[AL_COLUMN_SHOWN + 2];

    (void)state;
    memset(exact, 'k', sizeof exact);
    exact[AL_COLUMN_SHOWN] = '\0';
    memset(longer, 'k', sizeof longer);
    longer[AL_COLUMN_SHOWN + 1] = '\0';
    {
        const char *texts[] = { longer, exact, longer };

        add_all(texts, 3);
    }
    assert_string_equal(shown(al_column_min), exact);
    assert_int_equal(strlen(shown(al_column_max)), AL_COLUMN_SHOWN + 3);
}

static void smallest_and_largest_by_bytes(void **state)
{
    (void)state;
    ADD("same begin b", "same begin a", "\xC3\xA9", "Zz", "same begin ab", "zzzzzzzzz", "zzzzzzzz");
    assert_string_equal(shown(al_column_min), "Zz");
    assert_string_equal(shown(al_column_max), "\xC3\xA9");
}

static void top_values(void **state)
{
    al_buf b;

    (void)state;
    ADD("b", "a", "b", "2.0", "2", "c \"q\"", "d", "e", "");
    al_buf_init(&b, 0);
    assert_int_equal(al_column_top_json(&c, &b), AL_OK);
    assert_string_equal(b.data,
                        "[{\"value\":\"2\",\"count\":2},{\"value\":\"b\",\"count\":2},"
                        "{\"value\":\"a\",\"count\":1},{\"value\":\"c \\\"q\\\"\",\"count\":1},"
                        "{\"value\":\"d\",\"count\":1}]");
    al_buf_free(&b);
}

static void dates_by_the_letter(void **state)
{
    static const char *const good[] = { "2024-12-31",
                                        "0001-01-01",
                                        "2000-02-29",
                                        "2024-01-01T00:00",
                                        "2024-01-01T23:59:59",
                                        "2024-01-01 10:00:00.5",
                                        "2024-01-01T10:00:00,25Z",
                                        "2024-01-01T10:00+02",
                                        "2024-01-01T10:00:00-0330",
                                        "2024-01-01T10:00:00.123456+02:00" };
    static const char *const bad[] = { "2024-13-01",
                                       "2024-00-10",
                                       "2023-02-29",
                                       "1900-02-29",
                                       "2024-04-31",
                                       "2024-1-1",
                                       "20240101",
                                       "2024-01-01T",
                                       "2024-01-01T1",
                                       "2024-01-01T24:00",
                                       "2024-01-01T10:60",
                                       "2024-01-01x10:00",
                                       "2024-01-01T10:00:00.",
                                       "2024/01/01",
                                       "2024-01-01T10:00 Z",
                                       "2024-01-01T10:00+2",
                                       "2024-01",
                                       "",
                                       "2024-01-01T10:00:00+25:00",
                                       "01/02/2024",
                                       "2024-01-011" };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (!al_column_is_date(good[i], strlen(good[i])))
            fail_msg("%s is a date", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (al_column_is_date(bad[i], strlen(bad[i])))
            fail_msg("%s is no date", bad[i]);
}

static void long_labels_are_cut(void **state)
{
    char label[2000];

    (void)state;
    memset(label, 'l', sizeof label);
    al_column_close(&c);
    assert_int_equal(al_column_open(&c, "l", label, sizeof label), AL_OK);
    assert_int_equal(strlen(c.label), AL_COLUMN_LABEL + 3);
}

static void labels_keep_their_nuls(void **state)
{
    (void)state;
    al_column_close(&c);
    assert_int_equal(al_column_open(&c, "a_b", "a\0b", 3), AL_OK);
    assert_int_equal(c.label_len, 3);
    assert_memory_equal(c.label, "a\0b", 4);
}

/* Their sum is no double. */
static void the_mean_of_huge_numbers_is_known(void **state)
{
    (void)state;
    ADD("1.5e308", "1.5e308", "1", "-1e308");
    assert_true(mean() == 0.5e308);
    ADD("1.5e308", "1.5e308");
    assert_true(fabs(mean() - (double)(5e308L / 6)) < 1e293);
    ADD("1.5e308");
    assert_true(fabs(mean() - (double)(6.5e308L / 7)) < 1e293);
}

static void sums_of_segments_may_be_huge_together(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        ADD("1.5e308");
    assert_true(mean() == 1.5e308);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_column, close_column)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(integers),
        TEST(reals),
        TEST(dates),
        TEST(booleans),
        TEST(nothing_but_nulls),
        TEST(mostly_numbers_or_mostly_texts),
        TEST(texts_that_look_like_numbers),
        TEST(the_hint_is_of_the_first_thousand_rows),
        TEST(sums_keep_what_doubles_drop),
        TEST(sums_are_made_by_segment),
        TEST(long_texts_are_cut_at_a_character),
        TEST(beginnings_that_are_equal),
        TEST(smallest_and_largest_by_bytes),
        TEST(top_values),
        cmocka_unit_test(dates_by_the_letter),
        TEST(long_labels_are_cut),
        TEST(labels_keep_their_nuls),
        TEST(the_mean_of_huge_numbers_is_known),
        TEST(sums_of_segments_may_be_huge_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
