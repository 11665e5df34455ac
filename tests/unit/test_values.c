#include "base/err.h"
#include "data.h"
#include "data/values.h"
#include <time.h>

static al_values *v;
static bool settle = true; /* before it is looked at */
static bool known = true;  /* where counts will be taken */

static int open_values(void **state)
{
    (void)state;
    return al_values_open(&v);
}

static int close_values(void **state)
{
    (void)state;
    al_values_close(v);
    return 0;
}

/* The cells as a segment of their own. */
static void add_segment(const al_cell *cells, size_t n, size_t stride)
{
    static al_counts counts; /* used again, as they are */

    assert_int_equal(al_counts_clear(&counts, 1, known ? v : NULL), AL_OK);
    assert_int_equal(al_counts_add(&counts, cells, n, stride), AL_OK);
    assert_int_equal(al_counts_end(&counts), AL_OK);
    assert_int_equal(al_values_take(v, &counts), AL_OK);
    if (n > 64) /* a large table would be emptied for each of many small segments */
        al_counts_close(&counts);
}

static void settled(void)
{
    if (settle)
        assert_int_equal(al_values_settle(v), AL_OK);
}

static uint64_t distinct(void)
{
    settled();
    return al_values_distinct(v);
}

static size_t top_of(al_value_count *top, size_t n)
{
    settled();
    return al_values_top(v, top, n);
}

static uint64_t cost(void)
{
    settled();
    return al_values_cost(v);
}

static void add(al_cell cell)
{
    add_segment(&cell, 1, 1);
}

static void counts_as_sqlite_does(void **state)
{
    al_value_count top[5];

    (void)state;
    add(al_cell_integer(1));
    add(al_cell_real(1.0));
    add(text("1"));
    add(al_cell_null());
    add(al_cell_real(0.5));
    add(al_cell_real(-0.0));
    add(al_cell_integer(0));
    assert_int_equal(distinct(), 4);
    assert_int_equal(top_of(top, 5), 4);
    assert_int_equal(top[0].count, 2);                    /* 0 and -0.0 */
    assert_int_equal(top[0].value.kind, AL_CELL_INTEGER); /* whichever came first */
    assert_int_equal(top[1].count, 2);
    assert_int_equal(top[1].value.kind, AL_CELL_INTEGER);
    assert_true(top[2].value.real == 0.5);
    assert_int_equal(top[3].value.kind, AL_CELL_TEXT);
}

static void reals_too_large_for_integers(void **state)
{
    (void)state;
    add(al_cell_real(1e300));
    add(al_cell_real(1e300));
    add(al_cell_real(-9223372036854775808.0));
    add(al_cell_real(9223372036854775808.0));
    assert_int_equal(distinct(), 3);
}

static void texts_with_equal_beginnings(void **state)
{
    (void)state;
    add(text("a"));
    add(al_cell_text("a\0", 2));
    add(al_cell_text("a\0b", 3));
    add(text("A"));
    add(al_cell_text("a\0b", 3));
    assert_int_equal(distinct(), 4);
}

static void ties_come_in_sqlites_order(void **state)
{
    static const char *const words[] = { "b", "a", "ab", "Z" };
    al_value_count top[5];

    (void)state;
    for (int i = 0; i < 4; i++)
        add(text(words[i]));
    add(al_cell_integer(9));
    add(al_cell_real(8.5));
    assert_int_equal(top_of(top, 5), 5);
    assert_true(top[0].value.real == 8.5);
    assert_int_equal(top[1].value.integer, 9);
    assert_memory_equal(top[2].value.text, "Z", 1);
    assert_int_equal(top[3].value.len, 1);
    assert_memory_equal(top[4].value.text, "ab", 2);
}

static void strides_and_blocks(void **state)
{
    al_cell cells[3 * 1000];
    al_value_count top[1];

    (void)state;
    for (int i = 0; i < 3000; i++)
        cells[i] = i % 3 ? text("other") : al_cell_integer(i / 3 % 400);
    add_segment(cells, 1000, 3);
    assert_int_equal(distinct(), 400);
    assert_int_equal(top_of(top, 1), 1);
    assert_int_equal(top[0].value.integer, 0);
    assert_int_equal(top[0].count, 3);
}

static void many_values_grow_the_table(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 300000; i++) {
            char word[24];

            snprintf(word, sizeof word, "value %d", i);
            add(i % 2 ? text(word) : al_cell_real(i * 0.37));
        }
    assert_int_equal(distinct(), 300000);
    assert_true(al_values_exact(v));
    assert_in_range(cost(), 300000 * 32, 300000 * 60);
}

static void estimate_near(void)
{
    al_value_count top[5];
    uint64_t n;

    for (int i = 0; i < 400000; i++) {
        char word[24];

        snprintf(word, sizeof word, "value %d", i);
        add(text(word));
        if (i % 4 == 0)
            add(text("often"));
        if (i % 100 == 0)
            add(al_cell_integer(7));
        if (i == 200000) {
            assert_int_equal(al_values_estimate(v), AL_OK);
            assert_int_equal(al_values_estimate(v), AL_OK);
        }
    }
    assert_false(al_values_exact(v));
    assert_int_equal(cost(), 0);
    n = distinct();
    assert_in_range(n, 400002 * 0.97, 400002 * 1.03);
    assert_int_equal(top_of(top, 5), 2);
    assert_memory_equal(top[0].value.text, "often", 5);
    assert_int_equal(top[0].count, 100000);
    assert_int_equal(top[1].value.integer, 7);
    assert_int_equal(top[1].count, 4000);
}

/* Whether a segment knows that it is one or not: what it finds is the same. */
static void an_estimate_is_near_and_keeps_the_frequent(void **state)
{
    uint64_t n;

    (void)state;
    estimate_near();
    n = distinct();
    al_values_close(v);
    assert_int_equal(al_values_open(&v), AL_OK);
    known = false;
    estimate_near();
    known = true;
    assert_int_equal(distinct(), n);
}

static void an_estimate_of_little(void **state)
{
    al_value_count top[5];

    (void)state;
    assert_int_equal(al_values_estimate(v), AL_OK);
    assert_int_equal(distinct(), 0);
    add(text("x"));
    add(text("x"));
    add(text("y"));
    assert_int_equal(distinct(), 2);
    assert_int_equal(top_of(top, 5), 0); /* nothing is counted any more */
}

/* In a segment of many values the first are counted in a table and the rest are listed: in one
 * piece or in several, with what was counted before, it comes to the same. */
static void segments_of_many_values(void **state)
{
    enum { N = 20000 };
    char(*words)[16] = malloc(N * sizeof *words);
    al_cell *cells = malloc(N * sizeof *cells);
    al_value_count top[3];

    (void)state;
    for (size_t i = 0; i < N; i++) {
        snprintf(words[i], sizeof *words, "w%zu", i / 2);
        cells[i] = i % 3   ? text(words[i])
                   : i % 2 ? al_cell_integer((int64_t)i % 900)
                           : al_cell_real((double)(i % 600));
    }
    for (size_t piece = 1000, way = 0; piece <= N;
         piece *= way == 2 ? 20 : 1, way = (way + 1) % 3) {
        al_values_close(v);
        assert_int_equal(al_values_open(&v), AL_OK);
        settle = false;
        for (size_t i = 0; i < N; i += piece) {
            add_segment(cells + i, piece, 1);
            if (way == 1 && i % 5000 == 0)
                assert_int_equal(al_values_settle(v), AL_OK);
        }
        if (way == 2)
            assert_int_equal(al_values_settle(v), AL_OK);
        assert_int_equal(al_values_finish(v), AL_OK);
        settle = false; /* it is over */
        /* Each pair of rows makes a word but where the pair begins with a number: then the other
         * row of it makes it. Numbers: the multiples of 3 below 900 and below 600. */
        assert_int_equal(distinct(), N / 2 + 250);
        assert_int_equal(top_of(top, 3), 3);
        assert_int_equal(top[0].count, top[1].count);
        assert_true(top[0].value.kind != AL_CELL_TEXT);
    }
    settle = true;
    free(cells);
    free(words);
}

/* Integers whose hashes without a key begin alike: by the inverse of the mixing in values.c. */
static int64_t chosen(uint64_t i)
{
    uint64_t x = UINT64_C(0x123456) << 40 | i, inverse = 1;

    for (int k = 0; k < 6; k++) /* Newton: the bits that are right double */
        inverse *= 2 - UINT64_C(0xd6e8feb86659fd93) * inverse;
    for (int k = 0; k < 2; k++) {
        x ^= x >> 32;
        x *= inverse;
    }
    return (int64_t)(x ^ x >> 32);
}

static double seconds_for(int64_t (*value)(uint64_t i), size_t n)
{
    al_cell *cells = malloc(n * sizeof *cells);
    clock_t begin = clock();

    for (size_t i = 0; i < n; i++)
        cells[i] = al_cell_integer(value(i));
    al_values_close(v);
    assert_int_equal(al_values_open(&v), AL_OK);
    for (size_t i = 0; i < n; i += n / 10) /* each by a table of its own, all by another one */
        add_segment(cells + i, n / 10, 1);
    assert_int_equal(al_values_settle(v), AL_OK);
    assert_int_equal(distinct(), n);
    free(cells);
    return (double)(clock() - begin) / CLOCKS_PER_SEC;
}

static int64_t any(uint64_t i)
{
    return (int64_t)(i * UINT64_C(0x9E3779B97F4A7C15));
}

static void chosen_values_cost_no_more(void **state)
{
    (void)state;
    settle = false;
    assert_true(seconds_for(chosen, 100000) < 10 * seconds_for(any, 100000) + 0.2);
    settle = true;
}

/* Consecutive integers need no table, and are what they were when something else comes. */
static void runs(void **state)
{
    static const al_cell others[] = { { .integer = 5, .kind = AL_CELL_INTEGER },
                                      { .real = 100001.0, .kind = AL_CELL_REAL },
                                      { .text = "x", .len = 1, .kind = AL_CELL_TEXT } };
    al_value_count top[5];

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        al_values_close(v);
        assert_int_equal(al_values_open(&v), AL_OK);
        for (int i = 0; i < 100000; i++) {
            add(al_cell_integer(i - 3));
            if (i % 100 == 0)
                add(al_cell_null());
        }
        assert_int_equal(distinct(), 100000);
        assert_int_equal(cost(), 0);
        assert_int_equal(top_of(top, 5), 5);
        assert_int_equal(top[0].value.integer, -3);
        assert_int_equal(top[4].value.integer, 1);
        assert_int_equal(top[4].count, 1);
        add(others[k]);
        assert_int_equal(distinct(), 100000 + (k > 0));
        assert_true(cost() > 0);
        add(al_cell_integer(7));
        assert_int_equal(top_of(top, 5), 5);
        assert_int_equal(top[0].value.integer, k == 0 ? 5 : 7);
        assert_int_equal(top[0].count, 2);
    }
}

static void a_run_can_become_an_estimate(void **state)
{
    (void)state;
    for (int i = 1; i <= 50000; i++)
        add(al_cell_integer(i));
    assert_int_equal(al_values_estimate(v), AL_OK);
    add(al_cell_integer(50001));
    assert_in_range(distinct(), 50000, 51500);
}

/* Past some millions a run that ends is not worth a table. */
static void a_very_long_run_that_ends(void **state)
{
    enum { ROWS = 1000 };
    al_cell cells[ROWS];
    int64_t n = 0;

    (void)state;
    while (n < 8500000) {
        for (int i = 0; i < ROWS; i++)
            cells[i] = al_cell_integer(n++);
        add_segment(cells, ROWS, 1);
    }
    assert_true(al_values_exact(v));
    add(al_cell_integer(0));
    assert_false(al_values_exact(v));
    assert_in_range(distinct(), n, n * 1.03);
}

/* What is settled costs what it is; what comes then counts as if it were new. */
static void costs(void **state)
{
    enum { N = 20000 };
    al_cell *cells = malloc(N * sizeof *cells);
    uint64_t once;

    (void)state;
    settle = false;
    for (size_t i = 0; i < N; i++)
        cells[i] = al_cell_real((double)i + 0.5);
    add_segment(cells, N, 1);
    once = cost();
    assert_true(once >= N * 32);
    assert_true(al_values_unsettled(v));
    assert_int_equal(al_values_settle(v), AL_OK);
    assert_int_equal(cost(), N * 32);
    assert_false(al_values_unsettled(v));
    add_segment(cells, N / 20, 1);
    assert_int_equal(cost(), (N + N / 20) * 32);
    assert_false(al_values_unsettled(v)); /* so few are not worth it */
    add_segment(cells, N / 2, 1);
    assert_true(al_values_unsettled(v));
    assert_int_equal(al_values_settle(v), AL_OK);
    assert_int_equal(cost(), N * 32);
    assert_int_equal(al_values_distinct(v), N);
    settle = true;
    free(cells);
}

/* What a segment costs does not depend on whether the one before it was listed. */
static void costs_of_segments(void **state)
{
    enum { N = 30000, REPEATED = 5000 };
    al_cell *many = malloc(N * sizeof *many), *few = malloc(N * sizeof *few);
    uint64_t costs[2];

    (void)state;
    settle = false;
    for (size_t i = 0; i < N; i++) {
        many[i] = al_cell_integer((int64_t)i * 3);
        few[i] = al_cell_integer((int64_t)(i % REPEATED) * 5);
    }
    for (int k = 0; k < 2; k++) {
        al_counts other = { 0 };

        al_values_close(v);
        assert_int_equal(al_values_open(&v), AL_OK);
        add_segment(many, N, 1);
        if (k == 0) {
            add_segment(few, N, 1); /* by the same counts */
        } else {
            assert_int_equal(al_counts_clear(&other, 1, v), AL_OK);
            assert_int_equal(al_counts_add(&other, few, N, 1), AL_OK);
            assert_int_equal(al_counts_end(&other), AL_OK);
            assert_int_equal(al_values_take(v, &other), AL_OK);
            al_counts_close(&other);
        }
        costs[k] = cost();
    }
    assert_int_equal(costs[0], costs[1]);
    settle = true;
    free(many);
    free(few);
}

/* Of more values than an estimate counts, the most frequent are kept, however frequent all are. */
static void many_frequent_values(void **state)
{
    enum { VALUES = 5000, TIMES = 5000 };
    al_cell *cells = malloc(VALUES * sizeof *cells);
    al_value_count top[2];

    (void)state;
    settle = false;
    for (int i = 0; i < TIMES + 2000; i++) {
        size_t n = i < TIMES ? VALUES : 2;

        for (size_t k = 0; k < n; k++)
            cells[k] = al_cell_integer((int64_t)(k * 7919 % VALUES) * 3 + 1);
        add_segment(cells, n, 1);
        if (i % 500 == 499)
            assert_int_equal(al_values_settle(v), AL_OK);
    }
    assert_int_equal(al_values_estimate(v), AL_OK);
    settle = true;
    assert_int_equal(top_of(top, 2), 2);
    assert_int_equal(top[0].value.integer, 1);
    assert_int_equal(top[0].count, TIMES + 2000);
    assert_int_equal(top[1].count, TIMES + 2000);
    free(cells);
}

/* The estimate has no bias, wherever the number of values lies. */
static void estimates_of_any_number(void **state)
{
    enum { MOST = 200000 };
    al_cell *cells = malloc(MOST * sizeof *cells);

    (void)state;
    settle = false;
    for (size_t n = 500; n < MOST; n = n * 5 / 4) {
        double sum = 0;

        for (size_t round = 0; round < 3; round++) {
            for (size_t i = 0; i < n; i++)
                cells[i] = al_cell_real((double)(i + 1000003 * round) + 0.25);
            al_values_close(v);
            assert_int_equal(al_values_open(&v), AL_OK);
            assert_int_equal(al_values_estimate(v), AL_OK);
            add_segment(cells, n, 1);
            sum += (double)al_values_distinct(v) / (double)n;
        }
        assert_true(sum / 3 > 0.98 && sum / 3 < 1.02);
    }
    settle = true;
    free(cells);
}

static void nothing_at_all(void **state)
{
    al_value_count top[5];

    (void)state;
    assert_int_equal(distinct(), 0);
    assert_int_equal(top_of(top, 5), 0);
    assert_int_equal(cost(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_values, close_values)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(counts_as_sqlite_does),
        TEST(reals_too_large_for_integers),
        TEST(texts_with_equal_beginnings),
        TEST(ties_come_in_sqlites_order),
        TEST(strides_and_blocks),
        TEST(many_values_grow_the_table),
        TEST(an_estimate_is_near_and_keeps_the_frequent),
        TEST(an_estimate_of_little),
        TEST(segments_of_many_values),
        TEST(chosen_values_cost_no_more),
        TEST(runs),
        TEST(a_run_can_become_an_estimate),
        TEST(a_very_long_run_that_ends),
        TEST(costs),
        TEST(costs_of_segments),
        TEST(many_frequent_values),
        TEST(estimates_of_any_number),
        TEST(nothing_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
