/* Datasets of random cells, with pages of any size, and the same cells in memory beside them. */
#ifndef TESTS_TABLE_H
#define TESTS_TABLE_H
#include "data.h"
#include "data/sqlitefile.h"

typedef struct table {
    char path[256];
    int fd;
    uint32_t rows, columns;
    al_cell *cells; /* of row r and column c: cells[r * columns + c] */
    al_buf texts;
} table;

/* What the cells of a column are like. */
enum {
    FEW_TEXTS,
    MANY_TEXTS,
    ROW_NUMBERS,
    FEW_INTEGERS,
    MANY_INTEGERS,
    CENTS,
    REALS,
    MIXED,
    DATES,
    NULLS,
    LONG_TEXTS,
    OWN_TEXTS, /* few repeat */
    STYLES
};

static inline al_cell new_text(table *t, const char *format, uint64_t a, uint64_t b)
{
    char bytes[64];
    al_cell cell = al_cell_null();

    cell.kind = AL_CELL_TEXT;
    cell.len = (uint32_t)snprintf(bytes, sizeof bytes, format, (unsigned long long)a,
                                  (unsigned long long)b);
    cell.integer = (int64_t)t->texts.len; /* an address only when all are there */
    al_buf_add(&t->texts, bytes, cell.len);
    return cell;
}

static inline al_cell long_text(table *t, uint64_t *x)
{
    al_cell cell = new_text(t, "%llu-%llu", next_random(x) % 50, 0);
    size_t more = next_random(x) % 100 == 0 ? 100000 : next_random(x) % 6000;

    al_buf_reserve(&t->texts, more);
    memset(t->texts.data + t->texts.len, 'a' + (int)(next_random(x) % 26), more);
    t->texts.len += more;
    cell.len += (uint32_t)more;
    return cell;
}

static inline al_cell random_cell(table *t, int style, uint32_t row, uint64_t *x)
{
    static const char *const odd[] = { "1", "1.0", " 12", "12abc", "-", "1e3", "N/A", "0x10", "" };
    uint64_t r = next_random(x), s = next_random(x);
    al_cell cell;

    if (r % 16 == 0 && style != ROW_NUMBERS)
        return al_cell_null();
    switch (style) {
    case FEW_TEXTS: return new_text(t, "town %llu", s % 20, 0);
    case MANY_TEXTS: return new_text(t, "%llu %llu", s % 5000, r % 7);
    case ROW_NUMBERS: return al_cell_integer(row + 1);
    case FEW_INTEGERS: return al_cell_integer((int64_t)(s % 100) - 10);
    case MANY_INTEGERS:
        return al_cell_integer((int64_t)(s % 9007199254740991) - (int64_t)(s >> 20));
    case CENTS: return al_cell_real((double)((int64_t)(s % 2000000) - 500000) / 100);
    case REALS:
        return al_cell_real(s % 50 == 0 ? 0.0 - (double)(s % 3) : (double)(int64_t)s / 12345.678e9);
    case MIXED:
        switch (s % 5) {
        case 0: return al_cell_integer((int64_t)(r >> 8) % 10);
        case 1: return al_cell_real((double)(r % 40) / 4);
        case 2: return new_text(t, "%llu", r % 10, 0);
        case 3:
            cell = new_text(t, "", 0, 0);
            cell.len = (uint32_t)strlen(odd[r % 9]);
            al_buf_str(&t->texts, odd[r % 9]);
            return cell;
        default: return new_text(t, "text %llu", r % 30, 0);
        }
    case DATES:
        if (s % 40 == 0)
            return new_text(t, "2021-13-%02llu", s % 9, 0);
        cell = new_text(t, "20%02llu-", 15 + s % 10, 0);
        cell.len += new_text(t, "%02llu-%02llu", 1 + r % 12, 1 + r / 16 % 28).len;
        if (s % 10 == 1)
            cell.len += new_text(t, "T%02llu:30:00+0%llu:00", r % 24, s % 10).len;
        return cell;
    case OWN_TEXTS: return new_text(t, "%llu is the number of one", s % 1000000, 0);
    case LONG_TEXTS: return long_text(t, x);
    default: return al_cell_null();
    }
}

/* Rows of it get shorter when ragged: fewer fields than the table has columns. */
static inline void write_table(table *t, unsigned page_size, bool ragged, const int *styles)
{
    static const char *const types[] = { "text", "text", "integer", "integer", "integer", "real",
                                         "real", "text", "date",    "text",    "text",    "text" };
    const al_cell sheet[] = { al_cell_integer(1), text("data"), text("data"),
                              al_cell_integer(t->rows), al_cell_integer(t->columns) };
    al_sqlitefile *f;
    uint32_t first;
    al_pages run;
    al_buf sql;

    al_buf_init(&sql, 0);
    al_buf_str(&sql, "CREATE TABLE data");
    for (uint32_t c = 0; c < t->columns; c++)
        al_buf_printf(&sql, "%cc%u", c ? ',' : '(', c);
    al_buf_char(&sql, ')');
    assert_int_equal(al_sqlitefile_open(&f, t->fd, page_size, NULL), AL_OK);
    assert_int_equal(al_pages_open(&run, page_size), AL_OK);
    al_pages_begin(&run, 1, 0);
    for (uint32_t r = 0; r < t->rows; r++) {
        uint32_t n = t->columns;

        while (ragged && n > 0 && t->cells[(size_t)r * t->columns + n - 1].kind == AL_CELL_NULL)
            n--;
        assert_int_equal(al_pages_row(&run, t->cells + (size_t)r * t->columns, n, NULL), AL_OK);
        if (r % 1000 == 999 || r + 1 == t->rows) {
            al_pages_end(&run);
            assert_int_equal(al_sqlitefile_place(f, &run, &first, NULL), AL_OK);
            assert_int_equal(al_sqlitefile_write(f, &run, first, NULL), AL_OK);
            al_pages_begin(&run, r + 2, 0);
        }
    }
    al_pages_close(&run);
    assert_int_equal(al_sqlitefile_table(f, "data", sql.data, NULL), AL_OK);
    al_sqlitefile_row(f, sheet, 5, NULL);
    al_sqlitefile_table(f, "_alisio_sheets",
                        "CREATE TABLE _alisio_sheets(ordinal,name,table_name,rows,columns)", NULL);
    for (uint32_t c = 0; c < t->columns; c++) {
        char name[16];
        const al_cell none = al_cell_null();
        al_cell row[13] = { text("data"), al_cell_integer(c + 1) };

        snprintf(name, sizeof name, "c%u", c);
        row[2] = row[3] = text(name);
        row[4] = text(types[styles[c]]);
        row[5] = row[7] = al_cell_integer(0);
        row[6] =
            al_cell_integer(styles[c] == FEW_TEXTS || styles[c] == FEW_INTEGERS ? 20 : t->rows);
        row[8] = row[9] = row[10] = row[12] = none;
        row[11] = al_cell_integer(0);
        assert_int_equal(al_sqlitefile_row(f, row, 13, NULL), AL_OK);
    }
    al_sqlitefile_table(f, "_alisio_columns",
                        "CREATE TABLE _alisio_columns(table_name,ordinal,name,label,inferred_type,"
                        "nulls,distinct_count,distinct_exact,min,max,mean,text_fallbacks,"
                        "top_values)",
                        NULL);
    assert_int_equal(al_sqlitefile_finish(f, 1, 1, NULL), AL_OK);
    al_sqlitefile_close(f);
    al_buf_free(&sql);
}

static inline void make_table(table *t, uint32_t rows, uint32_t columns, const int *styles,
                              unsigned page_size, bool ragged, uint64_t seed)
{
    memset(t, 0, sizeof *t);
    t->fd = file_with("", 0, t->path);
    t->rows = rows;
    t->columns = columns;
    t->cells = calloc((size_t)rows * columns + 1, sizeof *t->cells);
    al_buf_init(&t->texts, 0);
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < columns; c++)
            t->cells[(size_t)r * columns + c] = random_cell(t, styles[c], r, &seed);
    for (size_t i = 0; i < (size_t)rows * columns; i++)
        if (t->cells[i].kind == AL_CELL_TEXT)
            t->cells[i].text = (t->texts.data ? t->texts.data : "") + t->cells[i].integer;
    write_table(t, page_size, ragged, styles);
}

static inline void drop_table(table *t)
{
    close(t->fd);
    unlink(t->path);
    free(t->cells);
    al_buf_free(&t->texts);
}

static inline bool same_cell(const al_cell *a, const al_cell *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == AL_CELL_TEXT)
        return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
    return a->kind == AL_CELL_NULL ||
           (a->kind == AL_CELL_INTEGER ? a->integer == b->integer : a->real == b->real);
}

#endif
