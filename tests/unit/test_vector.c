#include "data/store.h"
#include "data/values.h"
#include "data/vector.h"
#include "table.h"

static const int styles[] = { FEW_TEXTS,     MANY_TEXTS, ROW_NUMBERS, FEW_INTEGERS,
                              MANY_INTEGERS, CENTS,      REALS,       MIXED,
                              DATES,         NULLS,      LONG_TEXTS };
static const uint32_t all[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };

static al_work work;

static al_work *hands(unsigned n)
{
    al_work_init(&work, n, NULL);
    return &work;
}

/* Equal as SQLite sees it. */
static bool equal(const al_cell *a, const al_cell *b)
{
    return al_cell_compare(a, b) == 0;
}

static void check_cells(const table *t, const al_vector *v, uint32_t column)
{
    assert_int_equal(v->rows, t->rows);
    for (uint32_t r = 0; r < t->rows; r++) {
        const al_cell *want = &t->cells[(size_t)r * t->columns + column],
                      got = al_vector_cell(v, r);

        if (!equal(want, &got))
            fail_msg("column %u, row %u", column, r);
    }
}

static void check_keys(const table *t, al_vector *v, uint32_t column)
{
    uint64_t *keys = malloc((t->rows + 1) * sizeof *keys), x = 9, least = 1, most = 0;
    uint32_t *rows = malloc((t->rows + 1) * sizeof *rows);

    for (uint32_t i = 0; i < t->rows; i++)
        rows[i] = i;
    assert_int_equal(al_vector_rank(v, hands(2), NULL), AL_OK);
    al_vector_keys(v, rows, t->rows, keys);
    free(rows);
    al_vector_key_range(v, &least, &most);
    for (uint32_t i = 0; i < t->rows; i++)
        assert_true(keys[i] == 0 || (keys[i] >= least && keys[i] <= most));
    for (int i = 0; i < 20000; i++) {
        uint32_t a = (uint32_t)(next_random(&x) % t->rows),
                 b = (uint32_t)(next_random(&x) % t->rows);
        int want = al_cell_compare(&t->cells[(size_t)a * t->columns + column],
                                   &t->cells[(size_t)b * t->columns + column]);

        if ((keys[a] > keys[b]) - (keys[a] < keys[b]) != (want > 0) - (want < 0))
            fail_msg("column %u, rows %u and %u", column, a, b);
    }
    free(keys);
}

/* Codes come in the order of the first rows, however many threads there are. */
static void check_codes(const al_vector *v)
{
    uint32_t next = 1;

    if (v->form != AL_VECTOR_CODES)
        return;
    for (uint32_t r = 0; r < v->rows; r++) {
        uint32_t code = v->width == 1   ? ((uint8_t *)v->data)[r]
                        : v->width == 2 ? ((uint16_t *)v->data)[r]
                                        : ((uint32_t *)v->data)[r];

        assert_true(code <= next);
        next += code == next;
    }
    assert_int_equal(next, v->codes);
}

static void columns_of_every_kind(void **state)
{
    static const uint32_t rows[] = { 0, 1, 300, 100000 };

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        al_vector *one[11], *three[11];
        al_scan *s;
        table t;

        make_table(&t, rows[i], i == 3 ? 10 : 11, styles, 4096, i % 2, 1 + i);
        assert_int_equal(al_scan_open(&s, t.fd, NULL, NULL), AL_OK);
        assert_int_equal(al_vector_read(s, all, t.columns, one, hands(1), NULL), AL_OK);
        assert_int_equal(al_vector_read(s, all, t.columns, three, hands(3), NULL), AL_OK);
        for (uint32_t k = 0; k < t.columns; k++) {
            check_cells(&t, one[k], k);
            check_codes(one[k]);
            if (t.rows)
                check_keys(&t, one[k], k);
            assert_int_equal(one[k]->form, three[k]->form);
            assert_int_equal(one[k]->width, three[k]->width);
            assert_memory_equal(one[k]->data, three[k]->data, (size_t)t.rows * one[k]->width);
            al_vector_free(one[k]);
            al_vector_free(three[k]);
        }
        al_scan_close(s);
        drop_table(&t);
    }
}

static void forms_are_small(void **state)
{
    al_vector *v[10];
    al_scan *s;
    table t;

    (void)state;
    make_table(&t, 30000, 10, styles, 16384, false, 77);
    assert_int_equal(al_scan_open(&s, t.fd, NULL, NULL), AL_OK);
    assert_int_equal(al_vector_read(s, all, 10, v, hands(2), NULL), AL_OK);
    assert_int_equal(v[0]->form, AL_VECTOR_CODES);
    assert_int_equal(v[0]->width, 1);
    assert_int_equal(v[0]->codes, 21);
    assert_int_equal(v[2]->form, AL_VECTOR_INTEGERS);
    assert_int_equal(v[2]->width, 4);
    assert_int_equal(v[2]->kinds, AL_VECTOR_HAS_INTEGER);
    assert_int_equal(v[5]->form, AL_VECTOR_INTEGERS);
    assert_int_equal(v[5]->decimals, 2);
    assert_int_equal(v[6]->form, AL_VECTOR_REALS);
    assert_int_equal(v[7]->form, AL_VECTOR_CODES);
    assert_int_equal(v[9]->codes, 1);
    for (int k = 0; k < 10; k++)
        al_vector_free(v[k]);
    al_scan_close(s);
    drop_table(&t);
}

/* Rows and columns in which what a column is like turns out late. */
static void late_surprises(void **state)
{
    const uint32_t rows = 600000;
    al_vector *v[2];
    al_scan *s;
    table t;
    int two[] = { MANY_INTEGERS, FEW_TEXTS };

    (void)state;
    memset(&t, 0, sizeof t);
    t.fd = file_with("", 0, t.path);
    t.rows = rows;
    t.columns = 2;
    t.cells = calloc((size_t)rows * 2, sizeof *t.cells);
    for (uint32_t r = 0; r < rows; r++) {
        t.cells[2 * r] = r == 150000 ? text("n/a") : al_cell_integer(r % 100000);
        t.cells[2 * r + 1] = r < 100000 ? al_cell_integer(r % 3) : al_cell_real(r + 0.5);
    }
    t.cells[2 * 100 + 1] = al_cell_real(-0.0);
    write_table(&t, 4096, false, two);
    assert_int_equal(al_scan_open(&s, t.fd, NULL, NULL), AL_OK);
    assert_int_equal(al_vector_read(s, all, 2, v, hands(2), NULL), AL_OK);
    check_cells(&t, v[0], 0);
    check_cells(&t, v[1], 1);
    assert_int_equal(v[0]->form, AL_VECTOR_CODES);
    assert_int_equal(v[0]->codes, 100002);
    check_codes(v[0]);
    check_keys(&t, v[0], 0);
    assert_int_equal(v[1]->kinds, AL_VECTOR_HAS_INTEGER | AL_VECTOR_HAS_REAL);
    assert_int_not_equal(v[1]->form, AL_VECTOR_CODES);
    check_keys(&t, v[1], 1);
    al_vector_free(v[0]);
    al_vector_free(v[1]);
    al_scan_close(s);
    drop_table(&t);
}

static void the_store_keeps_within_its_budget(void **state)
{
    const uint32_t first[] = { 0, 3, 0 }, second[] = { 4, 5 };
    al_store_table *at, *again;
    al_vector *v;
    al_store *s;
    table t;

    (void)state;
    make_table(&t, 20000, 10, styles, 4096, false, 6);
    assert_int_equal(al_store_open(&s, NULL), AL_OK);
    assert_int_equal(al_store_get(s, t.fd, NULL, &at, NULL), AL_OK);
    assert_int_equal(al_store_need(at, first, 3, hands(2), NULL), AL_OK);
    v = al_store_vector(at, 0);
    assert_non_null(v);
    assert_int_equal(al_store_cost(at, first, 2), 0);
    assert_true(al_store_cost(at, second, 2) >= 2 * 20000 * 4);
    assert_int_equal(al_store_get(s, t.fd, "data", &again, NULL), AL_OK);
    assert_ptr_equal(at, again);
    assert_int_equal(al_store_need(again, second, 2, hands(2), NULL), AL_OK);
    assert_ptr_equal(al_store_vector(again, 0), v);
    al_store_budget(s, 2 * v->bytes); /* those used last stay, as far as they fit */
    assert_null(al_store_vector(again, 0));
    assert_int_equal(al_store_get(s, t.fd, "data", &again, NULL), AL_OK);
    assert_int_equal(al_store_need(again, first, 2, hands(1), NULL), AL_OK);
    assert_int_equal(al_store_need(again, second, 2, hands(1), NULL), AL_OK);
    assert_non_null(al_store_vector(again, 0)); /* needed since al_store_get: over the budget */
    assert_non_null(al_store_vector(again, 4));
    al_store_close(s);
    drop_table(&t);
}

static void a_change_of_the_file_is_seen(void **state)
{
    const uint32_t column = 2;
    al_store_table *at;
    al_store *s;
    table t;

    (void)state;
    make_table(&t, 100, 10, styles, 4096, false, 6);
    assert_int_equal(al_store_open(&s, NULL), AL_OK);
    assert_int_equal(al_store_get(s, t.fd, NULL, &at, NULL), AL_OK);
    assert_int_equal(al_store_need(at, &column, 1, hands(1), NULL), AL_OK);
    t.rows = 50;
    assert_int_equal(ftruncate(t.fd, 0), 0);
    write_table(&t, 8192, false, styles);
    assert_int_equal(al_store_get(s, t.fd, NULL, &at, NULL), AL_OK);
    assert_int_equal(al_scan_rows(al_store_scan(at)), 50);
    assert_null(al_store_vector(at, 2));
    al_store_close(s);
    drop_table(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_of_every_kind),
        cmocka_unit_test(forms_are_small),
        cmocka_unit_test(late_surprises),
        cmocka_unit_test(the_store_keeps_within_its_budget),
        cmocka_unit_test(a_change_of_the_file_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
