#include "data.h"
#include "data/dialect.h"

static bool single;

static char find(const char *s, bool tabs)
{
    size_t len = strlen(s), n = len < AL_DIALECT_SAMPLE ? len : AL_DIALECT_SAMPLE;
    char *bytes = calloc(1, len + 64), delimiter;

    memcpy(bytes, s, len);
    assert_int_equal(al_dialect_delimiter(bytes, n, n == len, tabs, &delimiter, &single, NULL),
                     AL_OK);
    free(bytes);
    return delimiter;
}

static void each_candidate(void **state)
{
    (void)state;
    assert_int_equal(find("a,b\n1,2\n", false), ',');
    assert_int_equal(find("a;b\n1;2\n", false), ';');
    assert_int_equal(find("a\tb\n1\t2\n", false), '\t');
    assert_int_equal(find("a|b\n1|2\n", false), '|');
}

static void most_rows_alike_win(void **state)
{
    (void)state;
    assert_int_equal(find("name;price\na;1,5\nb;2\nc;3,25\n", false), ';');
    assert_int_equal(find("name,note\na,x;y\nb,z\nc,p;q;r\n", false), ',');
    assert_int_equal(find("a;\"x,y\"\nb;\"x,y\"\nc;z\n", false), ';');
    assert_int_equal(find("p;q\nplace;\"1,2;3\"\nother;\"4;5,6\"\n", false), ';');
}

static void ties_go_by_order(void **state)
{
    (void)state;
    assert_int_equal(find("1,5;2,5\n3,5;4,5\n", false), ',');
    assert_int_equal(find("a;b|c\nd;e|f\n", false), ';');
    assert_int_equal(find("a,b\tc\nd,e\tf\n", true), '\t');
}

static void one_column(void **state)
{
    (void)state;
    assert_int_equal(find("name\nx\ny\n", false), ',');
    assert_int_equal(find("name\nx\ny\n", true), '\t');
    assert_int_equal(find("", false), ',');
}

/* To a candidate that sees no quotes their lines are rows, and more than there are rows. */
static void lines_of_quoted_texts(void **state)
{
    (void)state;
    assert_int_equal(find("id,code\n1,\"a;\nb;\nc;\nd;\"\n2,\"e;\nf;\ng;\"\n", false), ',');
    assert_false(single);
    assert_int_equal(find("id,log\n1,\"x\ty\nv\tw\nz\nz\nz\nz\"\n2,\"a\tb\nc\td\nz\nz\"\n", false),
                     ',');
    assert_false(single);
    assert_int_equal(find("Report 2024\na;b;c\n1,5;2;3\n2,5;3;4\n", false), ';');
    assert_int_equal(find("Report, 2024\na;b;c\n1;2;3\n2;3;4\n", false), ';');
}

/* Commas in some rows of a column of texts are texts. */
static void one_column_of_texts(void **state)
{
    (void)state;
    find("comment\nhello\nhello, world\nbye\n", false);
    assert_true(single);
    find("name\n\"Smith, J\"\n", false);
    assert_true(single);
    find("n\n1\n2\n", true);
    assert_true(single);
    assert_int_equal(find("note\nx\na\tb\n1\n2\n", false), ',');
    assert_true(single);
    find("a title, of sorts\nx\ny\nz\n", false);
    assert_false(single);
    find("A title\na,b\n1,2\n3,4\n", false);
    assert_false(single);
    find("a,b,c\n1\n2\n3,4\n5,6,7,8\n", false);
    assert_false(single);
}

static void quotes_may_hold_anything(void **state)
{
    (void)state;
    assert_int_equal(find("a;b\n\"1,2\n3,4\n5,6\";x\ny;z\n", false), ';');
    assert_int_equal(find("a;b\nc;d\n1;\"never closed, this, one\n2,3\n", false), ';');
}

static void the_sample_is_enough(void **state)
{
    char *s = malloc(200001);
    size_t at = 0;

    (void)state;
    while (at < AL_DIALECT_SAMPLE)
        at += (size_t)sprintf(s + at, "1;2\n");
    while (at < 200000 - 10)
        at += (size_t)sprintf(s + at, "1,2\n");
    assert_int_equal(find(s, false), ';');
    memset(s, 'x', 200000); /* a first row longer than the sample */
    s[200000] = '\0';
    s[1000] = '|';
    assert_int_equal(find(s, false), '|');
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_candidate),           cmocka_unit_test(most_rows_alike_win),
        cmocka_unit_test(ties_go_by_order),         cmocka_unit_test(one_column),
        cmocka_unit_test(one_column_of_texts),      cmocka_unit_test(lines_of_quoted_texts),
        cmocka_unit_test(quotes_may_hold_anything), cmocka_unit_test(the_sample_is_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
