/* The part is read in test_xlsx.c; here, its escapes and what a string is as a cell. */
#include "data/strings.h"
#include "unit.h"

static void gives(const char *text, const char *want)
{
    char bytes[200];
    size_t len = strlen(text);

    memcpy(bytes, text, len);
    len = al_strings_unescape(bytes, len);
    if (len != strlen(want) || memcmp(bytes, want, len) != 0)
        fail_msg("%s: %.*s, not %s", text, (int)len, bytes, want);
}

static void escapes(void **state)
{
    char nul[] = "a_x0000_b";

    (void)state;
    gives("", "");
    gives("plain", "plain");
    gives("a_b_c", "a_b_c");
    gives("_x0041_", "A");
    gives("a_x000d__x000A_b", "a\r\nb");
    gives("_x005F_x0041_", "_x0041_");
    gives("_x00e9_", "\xC3\xA9");
    gives("_x20AC_", "\xE2\x82\xAC");
    gives("_xD83D__xDE00_", "\xF0\x9F\x98\x80");
    gives("_xD83D_", "\xEF\xBF\xBD");
    gives("_xDE00__xD83D_", "\xEF\xBF\xBD\xEF\xBF\xBD");
    gives("_xD83D__x0041_", "\xEF\xBF\xBD"
                            "A");
    gives("_X0041_ _x041_ _x00411_ _x004G_ _x0041", "_X0041_ _x041_ _x00411_ _x004G_ _x0041");
    gives("__x0041__", "_A_");
    assert_int_equal(al_strings_unescape(nul, sizeof nul - 1), 3);
    assert_memory_equal(nul, "a\0b", 3);
}

static void cells(void **state)
{
    char bytes[] = "text12.507";
    uint32_t ends[] = { 4 | AL_STRINGS_PLAIN, 4, 5, 8, 10 | AL_STRINGS_PLAIN };
    const al_strings s = { .bytes = bytes, .used = 10, .ends = ends, .count = 5 };
    al_cell cell;

    (void)state;
    al_strings_cell(&s, 0, &cell);
    assert_true(cell.kind == AL_CELL_TEXT && cell.len == 4 && cell.text == bytes);
    al_strings_cell(&s, 1, &cell);
    assert_int_equal(cell.kind, AL_CELL_NULL);
    al_strings_cell(&s, 2, &cell);
    assert_true(cell.kind == AL_CELL_INTEGER && cell.integer == 1);
    al_strings_cell(&s, 3, &cell);
    assert_true(cell.kind == AL_CELL_REAL && cell.real == 2.5);
    al_strings_cell(&s, 4, &cell);
    assert_true(cell.kind == AL_CELL_TEXT && cell.len == 2 && memcmp(cell.text, "07", 2) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escapes),
        cmocka_unit_test(cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
