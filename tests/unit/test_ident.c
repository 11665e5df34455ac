#include "data/ident.h"
#include "unit.h"

static al_idents *ids;

static int open_ids(void **state)
{
    (void)state;
    return al_idents_open(&ids);
}

static int close_ids(void **state)
{
    (void)state;
    al_idents_close(ids);
    return 0;
}

static const char *name_at(const char *label, size_t ordinal)
{
    static char out[AL_IDENT_MAX + 1];

    assert_int_equal(al_idents_name(ids, "", label, strlen(label), "column_", ordinal, out), AL_OK);
    assert_true(strlen(out) <= AL_IDENT_MAX);
    return out;
}

static void folds(void **state)
{
    (void)state;
    assert_string_equal(name_at("Region", 1), "region");
    assert_string_equal(name_at("Año de venta", 2), "ano_de_venta");
    assert_string_equal(name_at("Precio ($)", 3), "precio");
    assert_string_equal(name_at("ﬂow № ¾", 4), "flow_no_3_4");
    assert_string_equal(name_at("weiß", 5), "wei");
    assert_string_equal(name_at("two\nlines", 6), "two_lines");
    assert_string_equal(name_at("__a--b__", 7), "a_b");
}

static void a_digit_in_front_gets_an_underscore(void **state)
{
    (void)state;
    assert_string_equal(name_at("2024 m²", 1), "_2024_m2");
    assert_string_equal(name_at("_1", 2), "_1");
}

static void nothing_left(void **state)
{
    (void)state;
    assert_string_equal(name_at("", 1), "column_1");
    assert_string_equal(name_at("Цена €", 2), "column_2");
    assert_string_equal(name_at("😀", 3), "column_3");
    assert_string_equal(name_at("Column 3", 4), "column_3_2");
}

static void repeats(void **state)
{
    (void)state;
    assert_string_equal(name_at("a", 1), "a");
    assert_string_equal(name_at("A", 2), "a_2");
    assert_string_equal(name_at("á", 3), "a_3");
    assert_string_equal(name_at("a_2", 4), "a_2_2");
    assert_int_equal(al_idents_reserve(ids, "rowid"), AL_OK);
    assert_string_equal(name_at("ROWID", 5), "rowid_2");
    assert_string_equal(name_at("_rowid_", 6), "rowid_3");
}

static void the_suffix_counts(void **state)
{
    char longest[61];
    const char *second;

    (void)state;
    memset(longest, 'x', 60);
    longest[60] = '\0';
    assert_int_equal(strlen(name_at(longest, 1)), AL_IDENT_MAX);
    second = name_at(longest, 2);
    assert_int_equal(strlen(second), AL_IDENT_MAX);
    assert_string_equal(second + AL_IDENT_MAX - 3, "x_2");
}

static void a_cut_leaves_no_underscore(void **state)
{
    char label[64];

    (void)state;
    memset(label, 'y', sizeof label);
    label[AL_IDENT_MAX - 1] = ' ';
    label[sizeof label - 1] = '\0';
    assert_int_equal(strlen(name_at(label, 1)), AL_IDENT_MAX - 1);
}

static void prefixes(void **state)
{
    char out[AL_IDENT_MAX + 1];

    (void)state;
    assert_int_equal(al_idents_name(ids, "s_", "Hoja 1", 6, "sheet_", 1, out), AL_OK);
    assert_string_equal(out, "s_hoja_1");
    assert_int_equal(al_idents_name(ids, "s_", "2024", 4, "sheet_", 2, out), AL_OK);
    assert_string_equal(out, "s_2024");
    assert_int_equal(al_idents_name(ids, "s_", "表", 3, "sheet_", 3, out), AL_OK);
    assert_string_equal(out, "s_sheet_3");
}

static void a_thousand_of_the_same(void **state)
{
    (void)state;
    assert_string_equal(name_at("same", 1), "same");
    for (int i = 2; i <= 1000; i++) {
        char want[32];

        snprintf(want, sizeof want, "same_%d", i);
        assert_string_equal(name_at("Same", (size_t)i), want);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_ids, close_ids)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(folds),
        TEST(a_digit_in_front_gets_an_underscore),
        TEST(nothing_left),
        TEST(repeats),
        TEST(the_suffix_counts),
        TEST(a_cut_leaves_no_underscore),
        TEST(prefixes),
        TEST(a_thousand_of_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
