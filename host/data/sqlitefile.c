/* https://www.sqlite.org/fileformat2.html: the file around runs of rows. */
#include "data/sqlitefile.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOCK_BYTE (1u << 30) /* the page that holds it is never used */
#define HEADER    100        /* bytes of page 1 in front of its tree */

struct table {
    char *name, *sql;
    uint32_t root;
};

struct al_sqlitefile {
    int fd;
    unsigned size; /* of a page */
    uint32_t lock_page;
    uint32_t next;     /* the page that is given away next */
    al_leaf *children; /* pages below interior pages that are yet to be made */
    size_t nchildren, children_room;
    al_pages rows; /* of al_sqlitefile_row */
    struct table *tables;
    size_t ntables;
};

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "dataset", "not enough memory");
}

static int write_at(const al_sqlitefile *f, const unsigned char *bytes, size_t len, uint32_t page,
                    al_err *err)
{
    off_t at = (off_t)(page - 1) * f->size;

    while (len > 0) {
        ssize_t n = pwrite(f->fd, bytes, len, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) /* EFBIG: a limit on the size of files, or the file system's own */
            return al_err_errno(err, errno == EFBIG ? ENOSPC : errno, "dataset");
        bytes += n;
        len -= (size_t)n;
        at += n;
    }
    return AL_OK;
}

int al_sqlitefile_open(al_sqlitefile **out, int fd, unsigned page_size, al_err *err)
{
    al_sqlitefile *f = calloc(1, sizeof *f);

    *out = f;
    if (!f)
        return no_memory(err);
    f->fd = fd;
    f->size = page_size;
    f->lock_page = LOCK_BYTE / page_size + 1;
    f->next = 2;
    if (al_pages_open(&f->rows, page_size) != AL_OK) {
        free(f);
        *out = NULL;
        return no_memory(err);
    }
    al_pages_begin(&f->rows, 1, 0);
    return AL_OK;
}

void al_sqlitefile_close(al_sqlitefile *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->ntables; i++) {
        free(f->tables[i].name);
        free(f->tables[i].sql);
    }
    free(f->tables);
    free(f->children);
    al_pages_close(&f->rows);
    free(f);
}

static int add_children(al_sqlitefile *f, const al_leaf *leaves, size_t n, al_err *err)
{
    if (f->nchildren + n > f->children_room) {
        size_t room = (f->nchildren + n) * 2;
        al_leaf *more = realloc(f->children, room * sizeof *more);

        if (!more)
            return no_memory(err);
        f->children = more;
        f->children_room = room;
    }
    if (n > 0)
        memcpy(f->children + f->nchildren, leaves, n * sizeof *leaves);
    f->nchildren += n;
    return AL_OK;
}

int al_sqlitefile_place(al_sqlitefile *f, al_pages *run, uint32_t *first, al_err *err)
{
    *first = f->next;
    if (run->count == 0)
        return AL_OK;
    f->next = al_pages_number(run->count - 1, f->next, f->lock_page) + 1;
    al_pages_move(run, *first, f->lock_page);
    return add_children(f, run->leaves, run->nleaves, err);
}

/* Has the system begin to write what it holds: there is less to wait for at the end. */
static void start_writing(const al_sqlitefile *f, uint32_t page, size_t len)
{
#if defined(__linux__) && !defined(AL_PORTABLE)
    sync_file_range(f->fd, (off_t)(page - 1) * f->size, (off_t)len, SYNC_FILE_RANGE_WRITE);
#else
    (void)f, (void)page, (void)len;
#endif
}

int al_sqlitefile_write(const al_sqlitefile *f, const al_pages *run, uint32_t first, al_err *err)
{
    const uint32_t per_chunk = AL_PAGES_CHUNK / f->size;

    for (uint32_t page = 0; page < run->count;) {
        uint32_t n = per_chunk - page % per_chunk, left = run->count - page;
        uint32_t number = al_pages_number(page, first, f->lock_page);
        size_t bytes;
        int rc;

        n = n < left ? n : left;
        if (number < f->lock_page && number + n > f->lock_page)
            n = f->lock_page - number;
        bytes = (size_t)n * f->size;
        rc = write_at(f, al_pages_at(run, page), bytes, number, err);
        if (rc != AL_OK)
            return rc;
        if (bytes == AL_PAGES_CHUNK)
            start_writing(f, number, bytes);
        page += n;
    }
    return AL_OK;
}

int al_sqlitefile_row(al_sqlitefile *f, const al_cell *cells, size_t n, al_err *err)
{
    return al_pages_row(&f->rows, cells, n, err);
}

/* How many of the n children an interior page with `room` bytes for cells takes: all but the last
 * of them as cells, that one as its right child. Never leaves a single child for the next page. */
static size_t node_takes(const al_leaf *c, size_t n, size_t room)
{
    size_t i = 0;

    while (i + 1 < n) {
        size_t cell = 4 + al_varint_size((uint64_t)c[i].last) + 2;

        if (cell > room)
            break;
        room -= cell;
        i++;
    }
    return n - (i + 1) == 1 ? i : i + 1;
}

static void fill_node(unsigned char *page, unsigned size, unsigned offset, const al_leaf *c,
                      size_t n)
{
    unsigned top = size;

    for (size_t i = 0; i + 1 < n; i++) {
        unsigned char cell[4 + AL_PAGE_MAX_VARINT];
        unsigned len = (unsigned)(al_put_varint(cell + 4, (uint64_t)c[i].last) - cell);

        al_put32(cell, c[i].page);
        top -= len;
        memcpy(page + top, cell, len);
        al_put16(page + offset + AL_PAGE_NODE_HEAD + 2 * i, top);
    }
    al_page_head(page, offset, AL_PAGE_NODE, (unsigned)(n - 1), top, c[n - 1].page);
}

/* One level of interior pages over the children, which they replace. */
static int add_level(al_sqlitefile *f, unsigned char *page, al_err *err)
{
    size_t done = 0, made = 0;
    int rc = AL_OK;

    while (done < f->nchildren && rc == AL_OK) {
        const al_leaf *c = f->children + done;
        size_t n = node_takes(c, f->nchildren - done, f->size - AL_PAGE_NODE_HEAD);
        al_leaf node = { .page = f->next + (f->next == f->lock_page), .last = c[n - 1].last };

        fill_node(page, f->size, 0, c, n);
        rc = write_at(f, page, f->size, node.page, err);
        f->next = node.page + 1;
        f->children[made++] = node;
        done += n;
    }
    f->nchildren = made;
    return rc;
}

/* Levels of interior pages until those of the last are few enough for `stop`. */
static int add_levels(al_sqlitefile *f, bool (*stop)(const al_sqlitefile *f), al_err *err)
{
    unsigned char *page = malloc(f->size);
    int rc = page ? AL_OK : no_memory(err);

    while (rc == AL_OK && !stop(f))
        rc = add_level(f, page, err);
    free(page);
    return rc;
}

static int end_rows(al_sqlitefile *f, al_err *err)
{
    uint32_t first;
    int rc = AL_OK;

    if (f->rows.count == 0 && f->nchildren == 0 && al_pages_empty_leaf(&f->rows) != AL_OK)
        return no_memory(err);
    al_pages_end(&f->rows);
    rc = al_sqlitefile_place(f, &f->rows, &first, err);
    if (rc == AL_OK)
        rc = al_sqlitefile_write(f, &f->rows, first, err);
    al_pages_begin(&f->rows, 1, 0);
    return rc;
}

static bool is_root(const al_sqlitefile *f)
{
    return f->nchildren == 1;
}

int al_sqlitefile_table(al_sqlitefile *f, const char *name, const char *sql, al_err *err)
{
    struct table *more;
    int rc = end_rows(f, err);

    if (rc == AL_OK)
        rc = add_levels(f, is_root, err);
    if (rc != AL_OK)
        return rc;
    more = realloc(f->tables, (f->ntables + 1) * sizeof *more);
    if (!more)
        return no_memory(err);
    f->tables = more;
    more[f->ntables++] = (struct table){ strdup(name), strdup(sql), f->children[0].page };
    f->nchildren = 0;
    return more[f->ntables - 1].name && more[f->ntables - 1].sql ? AL_OK : no_memory(err);
}

/* The row of sqlite_schema for table i. */
static void schema_row(const al_sqlitefile *f, size_t i, al_cell row[5])
{
    const struct table *t = &f->tables[i];

    row[0] = al_cell_text("table", 5);
    row[1] = row[2] = al_cell_text(t->name, strlen(t->name));
    row[3] = al_cell_integer(t->root);
    row[4] = al_cell_text(t->sql, strlen(t->sql));
}

static int schema_fits(al_sqlitefile *f, bool *fits, al_err *err)
{
    size_t room = f->size - HEADER - AL_PAGE_LEAF_HEAD, need = 0;
    al_cell row[5];

    for (size_t i = 0; i < f->ntables; i++) {
        size_t bytes;
        int rc;

        schema_row(f, i, row);
        rc = al_pages_row_bytes(&f->rows, row, 5, (int64_t)i + 1, &bytes, err);
        if (rc != AL_OK)
            return rc;
        need += bytes;
    }
    *fits = need <= room;
    return AL_OK;
}

static bool fits_page1(const al_sqlitefile *f)
{
    return node_takes(f->children, f->nchildren, f->size - HEADER - AL_PAGE_NODE_HEAD) ==
           f->nchildren;
}

/* The schema as a tree whose root is page 1: a leaf where that is enough, else an interior page
 * over at least two leaves. */
static int make_page1(al_sqlitefile *f, unsigned char *page1, al_err *err)
{
    uint32_t first;
    al_cell row[5];
    bool fits = false;
    int rc = schema_fits(f, &fits, err);

    if (rc != AL_OK)
        return rc;
    al_pages_begin(&f->rows, 1, fits ? HEADER : 0);
    for (size_t i = 0; i < f->ntables && rc == AL_OK; i++) {
        schema_row(f, i, row);
        rc = al_pages_row(&f->rows, row, 5, err);
        if (!fits && i == 0)
            al_pages_end(&f->rows);
    }
    al_pages_end(&f->rows);
    if (rc == AL_OK && fits) {
        memcpy(page1, al_pages_at(&f->rows, 0), f->size);
        return AL_OK;
    }
    if (rc == AL_OK)
        rc = al_sqlitefile_place(f, &f->rows, &first, err);
    if (rc == AL_OK)
        rc = al_sqlitefile_write(f, &f->rows, first, err);
    if (rc == AL_OK)
        rc = add_levels(f, fits_page1, err);
    if (rc == AL_OK)
        fill_node(page1, f->size, HEADER, f->children, f->nchildren);
    return rc;
}

static void file_header(const al_sqlitefile *f, unsigned char *p, uint32_t application_id,
                        uint32_t user_version)
{
    memset(p, 0, HEADER);
    memcpy(p, "SQLite format 3", 16);
    al_put16(p + 16, f->size == 65536 ? 1 : f->size);
    p[18] = p[19] = 1; /* rollback journal, not WAL */
    p[20] = 0;         /* no bytes reserved on pages */
    p[21] = 64;        /* fixed fractions */
    p[22] = p[23] = 32;
    al_put32(p + 24, 1);           /* change counter */
    al_put32(p + 28, f->next - 1); /* pages of the file */
    al_put32(p + 40, 1);           /* schema cookie */
    al_put32(p + 44, 4);           /* schema format */
    al_put32(p + 56, 1);           /* UTF-8 */
    al_put32(p + 60, user_version);
    al_put32(p + 68, application_id);
    al_put32(p + 92, 1); /* the change counter that the next line is for */
    al_put32(p + 96, 3008000);
}

int al_sqlitefile_finish(al_sqlitefile *f, uint32_t application_id, uint32_t user_version,
                         al_err *err)
{
    unsigned char *page1 = malloc(f->size);
    int rc;

    assert(f->ntables > 0);
    rc = page1 ? make_page1(f, page1, err) : no_memory(err);
    if (rc == AL_OK) {
        file_header(f, page1, application_id, user_version);
        rc = write_at(f, page1, f->size, 1, err);
    }
    if (rc == AL_OK && fsync(f->fd) != 0)
        rc = al_err_errno(err, errno, "dataset");
    free(page1);
    return rc;
}
