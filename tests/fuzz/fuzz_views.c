/* data/views on a dataset that is damaged at will: the first line is the sort, the second the
 * filter, each four bytes that follow a place (of a page and in it) and what is written there. What
 * is made of an undamaged one is a list of different rows of the sheet, as long as it says. */
#include "data/dataset.h"
#include "data/rows.h"
#include "data/views.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROWS 300
#define PAGE 16384

static unsigned char *whole; /* the bytes of the dataset */
static size_t length;

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void make_dataset(void)
{
    static char words[ROWS][64];
    const al_cell labels[] = { al_cell_text("a", 1), al_cell_text("b", 1), al_cell_text("c", 1) };
    const al_dataset_options o = { .max_rows = ROWS };
    const al_dataset_meta meta = { .format = "csv" };
    al_cell cells[3 * ROWS];
    const al_batch b = { .cells = cells, .columns = 3, .rows = ROWS };
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    al_dataset *d;
    struct stat st;

    for (int i = 0; i < ROWS; i++) {
        int n = snprintf(words[i], sizeof words[i], "%*d", 8 + i % 40, i * 7919 % ROWS);

        cells[3 * i] = i % 9 ? al_cell_integer(i * 31 % 100) : al_cell_null();
        cells[3 * i + 1] = al_cell_text(words[i], (size_t)n);
        cells[3 * i + 2] = i % 5 ? al_cell_real(i / 7.0) : al_cell_text("x", 1);
    }
    check(fd >= 0);
    check(al_dataset_open(&d, fd, &o, NULL) == AL_OK);
    check(al_dataset_sheet(d, "data", "data", labels, 3, NULL) == AL_OK);
    check(al_dataset_rows(d, &b, NULL) == AL_OK);
    check(al_dataset_finish(d, &meta, NULL) == AL_OK);
    al_dataset_close(d);
    check(fstat(fd, &st) == 0);
    length = (size_t)st.st_size;
    whole = malloc(length);
    check(whole && pread(fd, whole, length, 0) == (ssize_t)length);
    close(fd);
}

static size_t take_line(const uint8_t **at, const uint8_t *end, const char **line)
{
    const uint8_t *lf = memchr(*at, '\n', (size_t)(end - *at));
    const size_t len = (size_t)((lf ? lf : end) - *at);

    *line = (const char *)*at;
    *at = lf ? lf + 1 : end;
    return len;
}

static int damaged(const uint8_t *at, const uint8_t *end)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    check(fd >= 0 && write(fd, whole, length) == (ssize_t)length);
    for (; end - at >= 4; at += 4) {
        const off_t place = (off_t)(at[0] % (length / PAGE)) * PAGE + (at[1] << 8 | at[2]) % PAGE;

        check(pwrite(fd, at + 3, 1, place) == 1);
    }
    return fd;
}

static void check_rows(const uint32_t *order, uint64_t rows)
{
    bool seen[ROWS] = { false };

    check(rows <= ROWS);
    for (uint64_t i = 0; i < rows; i++) {
        check(order[i] < ROWS && !seen[order[i]]);
        seen[order[i]] = true;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *at = data, *end = data + size;
    al_view_options o = { .id = 1, .threads = 1 };
    const uint32_t *order = NULL;
    uint64_t rows = 0, again = 0;
    const char *table = NULL;
    al_views *views;
    al_store *store;
    al_err err = { 0 };
    int fd;

    if (!whole)
        make_dataset();
    o.sort_len = take_line(&at, end, &o.sort);
    o.filter_len = take_line(&at, end, &o.filter);
    if (o.filter_len == 4 && memcmp(o.filter, "null", 4) == 0)
        o.filter = NULL;
    fd = damaged(at, end);
    check(al_views_open(&views, NULL) == AL_OK);
    check(al_store_open(&store, NULL) == AL_OK);
    if (al_views_make(views, store, fd, &o, NULL, &rows, &err) == AL_OK) {
        al_rows_options page = { .first = 1, .count = 5, .cell_bytes = 64 };
        al_guard *guard;
        al_link nobody;
        al_buf result;

        check(al_views_find(views, 1, fd, &table, &order, &again, NULL) == AL_OK && again == rows);
        if (end - at < 4)
            check_rows(order, rows);
        al_link_init(&nobody, -1);
        al_buf_init(&result, 0);
        page.table = table;
        page.order = order;
        page.order_rows = rows;
        if (al_guard_open(&guard, fd, -1, &err) == AL_OK) {
            if (al_rows_run(guard, &page, &nobody, &result, &err) != AL_OK)
                check(err.id && err.id[0]);
            al_guard_close(guard);
        }
        al_buf_free(&result);
    } else {
        check(err.id && err.id[0]);
    }
    al_views_close(views);
    al_store_close(store);
    close(fd);
    return 0;
}
