/* https://www.sqlite.org/fileformat2.html, the part that reads tables. */
#include "data/scan.h"
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER    100         /* bytes of page 1 in front of its tree */
#define WINDOW    64          /* pages read at once */
#define MAX_DEPTH 20          /* of a tree; SQLite's own bound */
#define MAX_ROW   (65u << 20) /* bytes of a record; the writer makes none so large */
#define KEPT      (16u << 20) /* bytes of long records in a batch, about */
#define MAX_ROWS  252         /* of a batch */
#define MAX_CELLS 8192        /* of a batch, about */

#define READABLE 8 /* bytes behind what was read that may be looked at */

enum { NODE = 0x05, LEAF = 0x0d };

struct al_scan {
    int fd;
    unsigned size, usable;
    unsigned max_local, min_local;
    uint32_t pages;
    char *table;
    al_scan_column *columns;
    size_t ncolumns;
    uint32_t *leaf;     /* page numbers */
    uint32_t *leaf_row; /* first rows, and behind the last leaf the number of rows */
    size_t nleaves, room;
};

static int damaged(al_err *err, const char *what)
{
    return al_err_set(err, AL_EDATA, "io_error", "dataset", what);
}

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "dataset", "not enough memory");
}

static inline unsigned get16(const unsigned char *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

static inline uint32_t get32(const unsigned char *p)
{
    return (uint32_t)get16(p) << 16 | get16(p + 2);
}

/* Behind the varint at p, or NULL when it does not end before `end`. */
static inline const unsigned char *get_varint(const unsigned char *p, const unsigned char *end,
                                              uint64_t *v)
{
    uint64_t n = 0;

    for (int i = 0; i < 8; i++) {
        if (p >= end)
            return NULL;
        n = n << 7 | (*p & 0x7F);
        if (!(*p++ & 0x80)) {
            *v = n;
            return p;
        }
    }
    if (p >= end)
        return NULL;
    *v = n << 8 | *p;
    return p + 1;
}

static int read_at(int fd, void *out, size_t len, off_t at, al_err *err)
{
    char *to = out;

    while (len > 0) {
        ssize_t n = pread(fd, to, len, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return al_err_errno(err, errno, "dataset");
        if (n == 0)
            return damaged(err, "the file is shorter than it was");
        to += n;
        at += n;
        len -= (size_t)n;
    }
    return AL_OK;
}

static int read_pages(const al_scan *s, void *out, uint32_t page, uint32_t n, al_err *err)
{
    return read_at(s->fd, out, (size_t)n * s->size, (off_t)(page - 1) * s->size, err);
}

static int read_header(al_scan *s, al_err *err)
{
    unsigned char h[HEADER];
    struct stat st;
    int rc;

    if (fstat(s->fd, &st) != 0)
        return al_err_errno(err, errno, "dataset");
    if (st.st_size < 512)
        return damaged(err, "not a dataset");
    rc = read_at(s->fd, h, sizeof h, 0, err);
    if (rc != AL_OK)
        return rc;
    if (memcmp(h, "SQLite format 3", 16) != 0)
        return damaged(err, "not a dataset");
    s->size = get16(h + 16) == 1 ? 65536 : get16(h + 16);
    if (s->size < 512 || (s->size & (s->size - 1)) != 0 || s->size - h[20] < 480)
        return damaged(err, "pages of an impossible size");
    if (get32(h + 56) != 1)
        return damaged(err, "texts that are not UTF-8");
    s->usable = s->size - h[20];
    s->max_local = s->usable - 35;
    s->min_local = (s->usable - 12) * 32 / 255 - 23;
    s->pages = st.st_size / s->size < UINT32_MAX ? (uint32_t)(st.st_size / s->size) : UINT32_MAX;
    return s->pages > 0 ? AL_OK : damaged(err, "not a dataset");
}

/* ---- the leaves of a tree ---- */

struct walk {
    unsigned char *pages[MAX_DEPTH];
    uint32_t seen; /* pages, so that a circle ends */
    uint64_t last; /* the largest row number so far that an interior page told */
};

static int add_leaf(al_scan *s, uint32_t page, uint64_t row, al_err *err)
{
    if (s->nleaves + 1 >= s->room) {
        size_t room = s->room ? s->room * 2 : 64;
        uint32_t *leaf = realloc(s->leaf, room * sizeof *leaf), *first;

        if (!leaf)
            return no_memory(err);
        s->leaf = leaf;
        first = realloc(s->leaf_row, room * sizeof *first);
        if (!first)
            return no_memory(err);
        s->leaf_row = first;
        s->room = room;
    }
    s->leaf[s->nleaves] = page;
    s->leaf_row[s->nleaves++] = (uint32_t)row;
    return AL_OK;
}

static int read_page(const al_scan *s, unsigned char **p, uint32_t page, al_err *err)
{
    if (page == 0 || page > s->pages)
        return damaged(err, "a page outside the file");
    if (!*p)
        *p = malloc(s->size);
    return *p ? read_pages(s, *p, page, 1, err) : no_memory(err);
}

static unsigned head_of(uint32_t page)
{
    return page == 1 ? HEADER : 0;
}

/* Where child i of the n + 1 stands in a node; the last is the right one, without a row number. */
static int child_of(const al_scan *s, const unsigned char *p, unsigned head, unsigned i, unsigned n,
                    uint32_t *page, uint64_t *row, al_err *err)
{
    unsigned at;

    if (i == n) {
        *page = get32(p + head + 8);
        return AL_OK;
    }
    at = get16(p + head + 12 + 2 * i);
    if (at < head + 12 + 2 * n || at + 4 > s->usable || !get_varint(p + at + 4, p + s->usable, row))
        return damaged(err, "a cell outside its page");
    *page = get32(p + at);
    return AL_OK;
}

static int node_cells(const al_scan *s, const unsigned char *p, unsigned head, unsigned *n,
                      al_err *err)
{
    *n = get16(p + head + 3);
    if (p[head] != NODE || head + 12 + 2 * *n > s->usable)
        return damaged(err, "a page of another kind");
    return AL_OK;
}

/* How many levels stand above the leaves: all leaves have the same depth. */
static int find_height(const al_scan *s, struct walk *w, uint32_t page, int *height, al_err *err)
{
    for (*height = 0; *height < MAX_DEPTH; ++*height) {
        unsigned char **p = &w->pages[0];
        unsigned head = head_of(page), n;
        uint64_t row;
        int rc = read_page(s, p, page, err);

        if (rc != AL_OK)
            return rc;
        if ((*p)[head] == LEAF)
            return AL_OK;
        rc = node_cells(s, *p, head, &n, err);
        if (rc == AL_OK)
            rc = child_of(s, *p, head, 0, n, &page, &row, err);
        if (rc != AL_OK)
            return rc;
    }
    return damaged(err, "a tree without leaves");
}

static int walk(al_scan *s, struct walk *w, uint32_t page, int height, al_err *err)
{
    unsigned head = head_of(page), n;
    unsigned char **p = &w->pages[height];
    int rc;

    if (page == 0 || page > s->pages || w->seen++ >= s->pages)
        return damaged(err, "a page outside the file, or twice");
    if (height == 0) /* read when its rows are */
        return add_leaf(s, page, w->last, err);
    rc = read_page(s, p, page, err);
    if (rc == AL_OK)
        rc = node_cells(s, *p, head, &n, err);
    for (unsigned i = 0; rc == AL_OK && i <= n; i++) {
        uint64_t row = w->last;
        uint32_t child;

        rc = child_of(s, *p, head, i, n, &child, &row, err);
        if (rc == AL_OK && (row < w->last || row > UINT32_MAX))
            rc = damaged(err, "row numbers out of order");
        if (rc == AL_OK)
            rc = walk(s, w, child, height - 1, err);
        if (i < n)
            w->last = row;
    }
    return rc;
}

/* Row numbers are 1, 2, 3 …: how many the last leaf has says how many there are. */
static int end_leaves(al_scan *s, struct walk *w, al_err *err)
{
    uint32_t page = s->leaf[s->nleaves - 1];
    uint64_t rows = s->leaf_row[s->nleaves - 1];
    int rc = read_page(s, &w->pages[0], page, err);

    if (rc != AL_OK)
        return rc;
    rows += get16(w->pages[0] + head_of(page) + 3);
    if (rows > UINT32_MAX)
        return damaged(err, "too many rows");
    s->leaf_row[s->nleaves] = (uint32_t)rows;
    return AL_OK;
}

/* The leaves of the tree at root instead of those before. */
static int find_leaves(al_scan *s, uint32_t root, al_err *err)
{
    struct walk w = { .last = 0 };
    int height = 0, rc = find_height(s, &w, root, &height, err);

    s->nleaves = 0;
    if (rc == AL_OK)
        rc = walk(s, &w, root, height, err);
    if (rc == AL_OK)
        rc = end_leaves(s, &w, err);
    for (int i = 0; i < MAX_DEPTH; i++)
        free(w.pages[i]);
    return rc;
}

/* ---- rows ---- */

struct al_cursor {
    const al_scan *s;
    size_t next, end;     /* leaves */
    unsigned cell, cells; /* of the leaf being read; cell == cells: the next one */
    const unsigned char *leaf;
    unsigned head;
    uint32_t row;
    unsigned char *window;
    uint32_t first, have; /* pages in it */
    al_cell *batch;
    size_t stride;
    unsigned char **kept; /* long records of the batch */
    size_t nkept, kept_room, kept_bytes;
    uint32_t sizes[256]; /* of a cell, by the first byte of its serial type; see HARD */
    size_t n;
    uint32_t columns[];
};

/* By serial types; blobs and what is reserved are not for datasets. */
static const unsigned char type_bytes[] = { 0, 1, 2, 3, 4, 6, 8, 8, 0, 0 };

static inline bool type_size(uint64_t type, uint64_t *size)
{
    if (type >= 13 && (type & 1))
        *size = (type - 13) / 2;
    else if (type < sizeof type_bytes)
        *size = type_bytes[type];
    else
        return false;
    return true;
}

#define SIMPLE 64                  /* columns of a row that read_simple reads; so many … */
#define HARD   (UINT32_C(1) << 24) /* … sizes have a sum. A type of more bytes, or none. */

int al_cursor_open(al_cursor **out, const al_scan *s, size_t from, size_t to,
                   const uint32_t *columns, size_t n, al_err *err)
{
    al_cursor *c = calloc(1, sizeof *c + n * sizeof *columns);

    *out = NULL;
    if (!c)
        return no_memory(err);
    c->s = s;
    c->next = from;
    c->end = to < s->nleaves ? to : s->nleaves;
    c->n = n;
    if (n)
        memcpy(c->columns, columns, n * sizeof *columns);
    for (unsigned type = 0; type < 256; type++) {
        uint64_t size;

        c->sizes[type] = type < 0x80 && type_size(type, &size) ? (uint32_t)size : HARD;
    }
    /* Few enough to stay in the nearest cache; four more, lest the columns meet in its sets. */
    c->stride = n * MAX_ROWS <= MAX_CELLS ? MAX_ROWS : MAX_CELLS / n;
    c->stride = (c->stride < 8 ? 8 : c->stride) + 4;
    c->window = malloc((size_t)WINDOW * s->size + READABLE);
    c->batch = malloc((n ? n : 1) * c->stride * sizeof *c->batch);
    if (!c->window || !c->batch) {
        al_cursor_close(c);
        return no_memory(err);
    }
    *out = c;
    return AL_OK;
}

static void drop_kept(al_cursor *c)
{
    while (c->nkept > 0)
        free(c->kept[--c->nkept]);
    c->kept_bytes = 0;
}

void al_cursor_close(al_cursor *c)
{
    if (!c)
        return;
    drop_kept(c);
    free(c->kept);
    free(c->window);
    free(c->batch);
    free(c);
}

/* The page, from the window or read with those behind it that will be wanted next. */
static int window_page(al_cursor *c, uint32_t page, const unsigned char **p, al_err *err)
{
    const al_scan *s = c->s;

    if (page - c->first >= c->have || page < c->first) {
        uint32_t last = page, n;
        int rc;

        for (size_t i = c->next + 1; i < c->end && s->leaf[i] > last && s->leaf[i] - page < WINDOW;
             i++)
            last = s->leaf[i];
        n = last - page + 1;
        c->have = 0;
        rc = read_pages(s, c->window, page, n, err);
        if (rc != AL_OK)
            return rc;
        c->first = page;
        c->have = n;
    }
    *p = c->window + (size_t)(page - c->first) * s->size;
    return AL_OK;
}

static int begin_leaf(al_cursor *c, al_err *err)
{
    const al_scan *s = c->s;
    uint32_t page = s->leaf[c->next], rows = s->leaf_row[c->next + 1] - s->leaf_row[c->next];
    int rc = window_page(c, page, &c->leaf, err);

    if (rc != AL_OK)
        return rc;
    c->head = head_of(page);
    c->cell = 0;
    c->cells = get16(c->leaf + c->head + 3);
    c->row = s->leaf_row[c->next++];
    if (c->leaf[c->head] != LEAF || c->cells != rows || c->head + 8 + 2 * c->cells > s->usable)
        return damaged(err, "a leaf that is none");
    return AL_OK;
}

struct record {
    const unsigned char *bytes, *end; /* what there is of it in one piece */
    uint64_t size;                    /* of all */
    uint32_t chain;                   /* where the rest is; 0: there is none */
};

/* The whole record, from its chain of overflow pages; it lives as long as the batch. */
static int gather(al_cursor *c, struct record *r, al_err *err)
{
    const al_scan *s = c->s;
    size_t have = (size_t)(r->end - r->bytes);
    uint32_t page = r->chain;
    unsigned char *all, *buffer;
    int rc = AL_OK;

    if (c->nkept == c->kept_room) {
        size_t room = c->kept_room ? 2 * c->kept_room : 8;
        unsigned char **more = realloc(c->kept, room * sizeof *more);

        if (!more)
            return no_memory(err);
        c->kept = more;
        c->kept_room = room;
    }
    all = malloc(r->size + READABLE);
    buffer = malloc(s->size);
    if (!all || !buffer) {
        free(all);
        free(buffer);
        return no_memory(err);
    }
    c->kept[c->nkept++] = all;
    c->kept_bytes += r->size;
    memcpy(all, r->bytes, have);
    while (have < r->size && rc == AL_OK) {
        size_t part = s->usable - 4 < r->size - have ? s->usable - 4 : r->size - have;
        const unsigned char *p = buffer;

        if (page == 0 || page > s->pages)
            rc = damaged(err, "a chain that ends too early");
        else if (page - c->first < c->have && page >= c->first)
            p = c->window + (size_t)(page - c->first) * s->size;
        else
            rc = read_pages(s, buffer, page, 1, err);
        if (rc == AL_OK) {
            memcpy(all + have, p + 4, part);
            have += part;
            page = get32(p);
        }
    }
    free(buffer);
    r->bytes = all;
    r->end = all + r->size;
    r->chain = 0;
    return rc;
}

static size_t local_bytes(const al_scan *s, uint64_t size)
{
    uint64_t k;

    if (size <= s->max_local)
        return size;
    k = s->min_local + (size - s->min_local) % (s->usable - 4);
    return k <= s->max_local ? k : s->min_local;
}

static int find_record(al_cursor *c, struct record *r, al_err *err)
{
    const al_scan *s = c->s;
    const unsigned char *p, *end = c->leaf + s->usable;
    unsigned at = get16(c->leaf + c->head + 8 + 2 * c->cell);
    uint64_t row;
    size_t local;

    if (at < c->head + 8 + 2 * c->cells || at >= s->usable)
        return damaged(err, "a row outside its page");
    p = get_varint(c->leaf + at, end, &r->size);
    if (p)
        p = get_varint(p, end, &row);
    if (!p)
        return damaged(err, "a row that ends outside its page");
    if (row != (uint64_t)c->row + 1)
        return damaged(err, "row numbers out of order");
    if (r->size > MAX_ROW || r->size > (uint64_t)s->pages * s->size)
        return damaged(err, "a row of an impossible length");
    local = local_bytes(s, r->size);
    if (local + (local < r->size ? 4 : 0) > (size_t)(end - p))
        return damaged(err, "a row that ends outside its page");
    r->bytes = p;
    r->end = p + local;
    r->chain = 0;
    if (local < r->size) {
        r->chain = get32(p + local);
        if (r->chain == 0)
            return damaged(err, "a chain that ends too early");
    }
    return AL_OK;
}

/* 1 to 8 bytes, big-endian; more are there to be read. */
static inline int64_t get_integer(const unsigned char *p, unsigned bytes)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return (int64_t)v >> (64 - 8 * bytes);
}

static inline void get_cell(al_cell *cell, uint64_t type, const unsigned char *p, uint64_t size)
{
    uint64_t bits;

    if (type >= 13) {
        *cell = al_cell_text((const char *)p, size);
    } else if (type == 0) {
        *cell = al_cell_null();
    } else if (type == 7) {
        bits = (uint64_t)get_integer(p, 8);
        cell->kind = AL_CELL_REAL;
        memcpy(&cell->real, &bits, sizeof bits);
        if (isnan(cell->real))
            *cell = al_cell_null();
    } else if (type >= 8) {
        *cell = al_cell_integer((int64_t)type - 8);
    } else {
        *cell = al_cell_integer(get_integer(p, (unsigned)size));
    }
}

/* Most rows: in one piece, with a head of one byte for each column. False: this is none of them. */
static inline bool read_simple(const al_cursor *c, const struct record *r, al_cell *cells)
{
    const unsigned char *bytes = r->bytes;
    const uint32_t have = (uint32_t)(r->end - bytes), n = (uint32_t)c->n;
    const uint32_t columns = n ? c->columns[n - 1] + 1 : 0;
    uint32_t at[SIMPLE], body = bytes[0];

    if (body >= 0x80 || body <= columns || body > have || columns > SIMPLE)
        return false;
    for (uint32_t i = 0; i < columns; i++) {
        at[i] = body;
        body += c->sizes[bytes[1 + i]];
    }
    if (body > have)
        return false;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t column = c->columns[k], type = bytes[1 + column];

        get_cell(&cells[k * c->stride], type, bytes + at[column], c->sizes[type]);
    }
    return true;
}

/* The cells that are asked for: cells[0], cells[stride] … A record may have fewer than the table
 * has columns. Where it has to be gathered first, it is read again from its beginning. */
static int read_record(al_cursor *c, struct record *r, al_cell *cells, al_err *err)
{
    /* Stores to cells may be to anything, as far as the compiler knows: what is read for each
     * column stands in variables. */
    const unsigned char *p, *head_end, *bytes;
    const uint32_t *want, *last = c->columns + c->n;
    const size_t stride = c->stride;
    const uint64_t all = r->size;
    uint64_t head, have, body;
    al_cell *to;
    int rc;

again:
    bytes = r->bytes;
    have = (uint64_t)(r->end - bytes);
    p = get_varint(bytes, r->end, &head);
    if (!p || head > all || (uint64_t)(p - bytes) > head)
        return damaged(err, "a row whose head is larger than itself");
    if (head > have)
        goto gather;
    head_end = bytes + head;
    body = head;
    want = c->columns;
    to = cells;
    for (uint32_t column = 0; want < last && p < head_end; column++) {
        uint64_t type = *p++, size, at = body;

        if (type >= 0x80) {
            p = get_varint(p - 1, head_end, &type);
            if (!p)
                return damaged(err, "a row whose head is cut");
        }
        if (!type_size(type, &size))
            return damaged(err, "a cell of a kind that datasets do not have");
        body += size; /* no sum of two is too large: a size has 63 bits, and body fewer */
        if (body > all)
            return damaged(err, "a cell that ends outside its row");
        if (column != *want)
            continue;
        if (body > have)
            goto gather;
        get_cell(to, type, bytes + at, size);
        to += stride;
        want++;
    }
    for (; want < last; want++, to += stride)
        *to = al_cell_null();
    return AL_OK;
gather:
    rc = gather(c, r, err);
    if (rc != AL_OK)
        return rc;
    goto again;
}

int al_cursor_next(al_cursor *c, al_scan_batch *batch, al_err *err)
{
    uint32_t n = 0;

    drop_kept(c);
    while (c->cell == c->cells) {
        int rc;

        if (c->next >= c->end)
            return 0;
        rc = begin_leaf(c, err);
        if (rc != AL_OK)
            return rc;
    }
    batch->first = c->row;
    for (; c->cell < c->cells && n < c->stride && c->kept_bytes < KEPT; c->cell++, c->row++) {
        struct record r = { NULL, NULL, 0, 0 };
        int rc = find_record(c, &r, err);

        if (rc == AL_OK && !read_simple(c, &r, c->batch + n))
            rc = read_record(c, &r, c->batch + n, err);
        if (rc != AL_OK)
            return rc;
        n++;
    }
    batch->rows = n;
    batch->stride = c->stride;
    batch->cells = c->batch;
    return 1;
}

/* ---- what the dataset says of itself ---- */

static bool is_text(const al_cell *cell, const char *text)
{
    return cell->kind == AL_CELL_TEXT && cell->len == strlen(text) &&
           memcmp(cell->text, text, cell->len) == 0;
}

static uint64_t count_of(const al_cell *cell)
{
    return cell->kind == AL_CELL_INTEGER && cell->integer > 0 ? (uint64_t)cell->integer : 0;
}

/* Calls fn for the rows of the leaves found last: 0 goes on, 1 ends, AL_E* fails. */
static int each_row(const al_scan *s, const uint32_t *columns, size_t n,
                    int (*fn)(al_scan *out, const al_cell *cells, size_t stride, const void *arg,
                              al_err *err),
                    al_scan *out, const void *arg, al_err *err)
{
    al_scan_batch b;
    al_cursor *c;
    int rc = al_cursor_open(&c, s, 0, s->nleaves, columns, n, err), more = 1;

    while (rc == AL_OK && (more = al_cursor_next(c, &b, err)) == 1)
        for (uint32_t i = 0; i < b.rows && rc == AL_OK; i++)
            rc = fn(out, b.cells + i, b.stride, arg, err);
    al_cursor_close(c);
    return rc < 0 ? rc : more < 0 ? more : AL_OK;
}

struct wanted {
    const char *name;
    uint32_t *root;
};

static int schema_row(al_scan *s, const al_cell *cells, size_t stride, const void *arg, al_err *err)
{
    const struct wanted *w = arg;
    const al_cell *root = &cells[2 * stride];

    (void)s;
    if (!is_text(&cells[0], "table") || !is_text(&cells[stride], w->name))
        return 0;
    if (root->kind != AL_CELL_INTEGER || root->integer < 1 || root->integer > UINT32_MAX)
        return damaged(err, "a table without pages");
    *w->root = (uint32_t)root->integer;
    return 1;
}

/* The leaves of the table of this name. */
static int open_table(al_scan *s, const char *name, al_err *err)
{
    static const uint32_t columns[] = { 0, 1, 3 }; /* type, name, root page */
    uint32_t root = 0;
    const struct wanted w = { name, &root };
    int rc = find_leaves(s, 1, err);

    if (rc == AL_OK)
        rc = each_row(s, columns, 3, schema_row, s, &w, err);
    if (rc != AL_OK)
        return rc;
    if (!root)
        return damaged(err, "a table is missing");
    return find_leaves(s, root, err);
}

static int sheet_row(al_scan *s, const al_cell *cells, size_t stride, const void *arg, al_err *err)
{
    const char *name = arg;

    (void)stride;
    if (cells->kind != AL_CELL_TEXT || (name && !is_text(cells, name)))
        return 0;
    s->table = strndup(cells->text, cells->len);
    return s->table ? 1 : no_memory(err);
}

static int column_row(al_scan *s, const al_cell *cells, size_t stride, const void *arg, al_err *err)
{
    const al_cell *type = &cells[2 * stride];
    al_scan_column *c, *more;

    (void)arg;
    if (!is_text(&cells[0], s->table))
        return 0;
    if (cells[stride].kind != AL_CELL_TEXT)
        return damaged(err, "a column without a name");
    more = realloc(s->columns, (s->ncolumns + 1) * sizeof *more);
    if (!more)
        return no_memory(err);
    s->columns = more;
    c = &more[s->ncolumns];
    memset(c, 0, sizeof *c);
    c->name = strndup(cells[stride].text, cells[stride].len);
    if (!c->name)
        return no_memory(err);
    s->ncolumns++;
    if (type->kind == AL_CELL_TEXT && type->len < sizeof c->type)
        memcpy(c->type, type->text, type->len);
    c->nulls = count_of(&cells[3 * stride]);
    c->distinct = count_of(&cells[4 * stride]);
    c->fallbacks = count_of(&cells[5 * stride]);
    return 0;
}

static int open_sheet(al_scan *s, const char *table, al_err *err)
{
    static const uint32_t name[] = { 2 };                  /* table_name of _alisio_sheets */
    static const uint32_t about[] = { 0, 2, 4, 5, 6, 11 }; /* of _alisio_columns: table_name, name,
                                                            * inferred_type, nulls, distinct_count,
                                                            * text_fallbacks */
    int rc = open_table(s, "_alisio_sheets", err);

    if (rc == AL_OK)
        rc = each_row(s, name, 1, sheet_row, s, table && *table ? table : NULL, err);
    if (rc == AL_OK && !s->table) {
        al_err_set(err, AL_ENOTFOUND, "not_found", table ? table : "", "no such sheet");
        return al_err_reason(err, AL_ENOTFOUND, "sheet");
    }
    if (rc == AL_OK)
        rc = open_table(s, "_alisio_columns", err);
    if (rc == AL_OK)
        rc = each_row(s, about, 6, column_row, s, NULL, err);
    if (rc == AL_OK && s->ncolumns == 0)
        rc = damaged(err, "a sheet without columns");
    return rc == AL_OK ? open_table(s, s->table, err) : rc;
}

int al_scan_open(al_scan **out, int fd, const char *table, al_err *err)
{
    al_scan *s = calloc(1, sizeof *s);
    int rc;

    *out = NULL;
    if (!s)
        return no_memory(err);
    s->fd = fd;
    rc = read_header(s, err);
    if (rc == AL_OK)
        rc = open_sheet(s, table, err);
    if (rc != AL_OK) {
        al_scan_close(s);
        return rc;
    }
    *out = s;
    return AL_OK;
}

void al_scan_close(al_scan *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->ncolumns; i++)
        free(s->columns[i].name);
    free(s->columns);
    free(s->table);
    free(s->leaf);
    free(s->leaf_row);
    free(s);
}

void al_scan_descriptor(al_scan *s, int fd)
{
    s->fd = fd;
}

const char *al_scan_table(const al_scan *s)
{
    return s->table;
}

uint32_t al_scan_rows(const al_scan *s)
{
    return s->leaf_row[s->nleaves];
}

size_t al_scan_columns(const al_scan *s)
{
    return s->ncolumns;
}

const al_scan_column *al_scan_column_at(const al_scan *s, size_t i)
{
    return &s->columns[i];
}

size_t al_scan_find(const al_scan *s, const char *name, size_t len)
{
    for (size_t i = 0; i < s->ncolumns; i++)
        if (strlen(s->columns[i].name) == len && memcmp(s->columns[i].name, name, len) == 0)
            return i;
    return SIZE_MAX;
}

size_t al_scan_leaves(const al_scan *s)
{
    return s->nleaves;
}

uint32_t al_scan_leaf_row(const al_scan *s, size_t leaf)
{
    return s->leaf_row[leaf < s->nleaves ? leaf : s->nleaves];
}

unsigned al_scan_page_size(const al_scan *s)
{
    return s->size;
}
