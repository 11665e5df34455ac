/* The writer of SQLite files: https://www.sqlite.org/fileformat2.html in one pass.
 *
 * Pages are filled in a window of the file, [first, first + used), and written when it is full. The
 * leaf being filled lies in the window too; when the window must go (a long overflow chain) the
 * leaf moves to a page of its own and is written by itself later. */
#include "data/sqlitefile.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WINDOW_BYTES (1u << 20)
#define LOCK_BYTE    (1u << 30) /* the page that holds it is never used */
#define HEADER       100        /* bytes of page 1 in front of its tree */
#define LEAF_HEAD    8
#define NODE_HEAD    12
#define MAX_VARINT   9

enum { NODE = 0x05, LEAF = 0x0d };

struct child { /* a page below an interior page that is yet to be made */
    uint32_t page;
    int64_t last; /* its largest row number */
};

struct table {
    char *name, *sql;
    uint32_t root;
};

struct al_sqlitefile {
    int fd;
    unsigned size;                 /* of a page */
    unsigned max_local, min_local; /* bytes of a row that stay in its leaf */
    uint32_t lock_page;

    unsigned char *window;
    uint32_t first, used, room;

    unsigned char *leaf; /* NULL: no leaf is open */
    unsigned char *apart;
    uint32_t leaf_page;
    unsigned offset, cells, top; /* offset: of the leaf's head, not 0 on page 1 only */

    struct child *children;
    size_t nchildren, children_room;
    int64_t row;

    struct table *tables;
    size_t ntables;

    unsigned char *head; /* of the row being written: its serial types */
    size_t head_room;
    unsigned char *payload; /* a row that goes to overflow pages */
    size_t payload_room;
};

static void put16(unsigned char *p, unsigned v)
{
    p[0] = (unsigned char)(v >> 8);
    p[1] = (unsigned char)v;
}

static void put32(unsigned char *p, uint32_t v)
{
    put16(p, v >> 16);
    put16(p + 2, v & 0xFFFF);
}

static inline unsigned char *put_varint(unsigned char *p, uint64_t v)
{
    unsigned char digits[10];
    int n = 0;

    if (v < 0x80) {
        *p++ = (unsigned char)v;
        return p;
    }
    if (v < 0x4000) {
        *p++ = (unsigned char)(0x80 | v >> 7);
        *p++ = (unsigned char)(v & 0x7F);
        return p;
    }
    assert(v >> 56 == 0); /* the ninth byte would hold eight bits; nothing here is so large */
    for (; v; v >>= 7)
        digits[n++] = (unsigned char)(0x80 | (v & 0x7F));
    digits[0] &= 0x7F;
    while (n > 0)
        *p++ = digits[--n];
    return p;
}

static unsigned varint_size(uint64_t v)
{
    unsigned n = 1;

    while (v >>= 7)
        n++;
    return n;
}

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "dataset", "not enough memory");
}

static int write_at(al_sqlitefile *f, const unsigned char *bytes, size_t len, uint32_t page,
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

    assert(page_size >= 4096 && page_size <= 65536 && (page_size & (page_size - 1)) == 0);
    *out = f;
    if (!f)
        return no_memory(err);
    f->fd = fd;
    f->size = page_size;
    f->max_local = page_size - 35;
    f->min_local = (page_size - 12) * 32 / 255 - 23;
    f->lock_page = LOCK_BYTE / page_size + 1;
    f->first = 2;
    f->room = WINDOW_BYTES / page_size;
    f->window = malloc(WINDOW_BYTES);
    f->apart = malloc(page_size);
    if (!f->window || !f->apart) {
        al_sqlitefile_close(f);
        *out = NULL;
        return no_memory(err);
    }
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
    free(f->window);
    free(f->apart);
    free(f->head);
    free(f->payload);
    free(f);
}

static int flush(al_sqlitefile *f, al_err *err)
{
    int rc;

    if (f->leaf && f->leaf != f->apart) {
        memcpy(f->apart, f->leaf, f->size);
        f->leaf = f->apart;
    }
    rc = write_at(f, f->window, (size_t)f->used * f->size, f->first, err);
    f->first += f->used;
    f->used = 0;
    return rc;
}

/* The next page of the file, its bytes undefined. */
static int new_page(al_sqlitefile *f, uint32_t *page, unsigned char **bytes, al_err *err)
{
    do {
        int rc = f->used < f->room ? AL_OK : flush(f, err);

        if (rc != AL_OK)
            return rc;
        *page = f->first + f->used;
        *bytes = f->window + (size_t)f->used * f->size;
        f->used++;
        if (*page == f->lock_page)
            memset(*bytes, 0, f->size);
    } while (*page == f->lock_page);
    return AL_OK;
}

static int add_child(al_sqlitefile *f, uint32_t page, int64_t last, al_err *err)
{
    if (f->nchildren == f->children_room) {
        size_t room = f->children_room ? f->children_room * 2 : 256;
        struct child *more = realloc(f->children, room * sizeof *more);

        if (!more)
            return no_memory(err);
        f->children = more;
        f->children_room = room;
    }
    f->children[f->nchildren++] = (struct child){ page, last };
    return AL_OK;
}

/* The head of a page of which `cells` cells stand from `top` on; the gap between becomes zero. */
static void page_head(unsigned char *page, unsigned offset, unsigned char type, unsigned cells,
                      unsigned top, uint32_t right)
{
    unsigned char *head = page + offset;
    unsigned size = type == NODE ? NODE_HEAD : LEAF_HEAD, gap = offset + size + 2 * cells;

    head[0] = type;
    put16(head + 1, 0); /* no free blocks */
    put16(head + 3, cells);
    put16(head + 5, top & 0xFFFF); /* 65536 is written 0 */
    head[7] = 0;
    if (type == NODE)
        put32(head + 8, right);
    memset(page + gap, 0, top - gap);
}

static int end_leaf(al_sqlitefile *f, al_err *err)
{
    int rc = AL_OK;

    if (!f->leaf)
        return AL_OK;
    page_head(f->leaf, 0, LEAF, f->cells, f->top, 0);
    if (f->leaf == f->apart)
        rc = write_at(f, f->apart, f->size, f->leaf_page, err);
    f->leaf = NULL;
    return rc == AL_OK ? add_child(f, f->leaf_page, f->row, err) : rc;
}

static int begin_leaf(al_sqlitefile *f, al_err *err)
{
    f->cells = 0;
    f->top = f->size;
    return new_page(f, &f->leaf_page, &f->leaf, err);
}

int al_sqlitefile_segment(al_sqlitefile *f, al_err *err)
{
    return end_leaf(f, err);
}

/* How many of the n children an interior page with `room` bytes for cells takes: all but the last
 * of them as cells, that one as its right child. Never leaves a single child for the next page. */
static size_t node_takes(const struct child *c, size_t n, size_t room)
{
    size_t i = 0;

    while (i + 1 < n) {
        size_t cell = 4 + varint_size((uint64_t)c[i].last) + 2;

        if (cell > room)
            break;
        room -= cell;
        i++;
    }
    return n - (i + 1) == 1 ? i : i + 1;
}

static void fill_node(unsigned char *page, unsigned size, unsigned offset, const struct child *c,
                      size_t n)
{
    unsigned top = size;

    for (size_t i = 0; i + 1 < n; i++) {
        unsigned char cell[4 + MAX_VARINT];
        unsigned len = (unsigned)(put_varint(cell + 4, (uint64_t)c[i].last) - cell);

        put32(cell, c[i].page);
        top -= len;
        memcpy(page + top, cell, len);
        put16(page + offset + NODE_HEAD + 2 * i, top);
    }
    page_head(page, offset, NODE, (unsigned)(n - 1), top, c[n - 1].page);
}

/* One level of interior pages over the children, which they replace. */
static int add_level(al_sqlitefile *f, al_err *err)
{
    size_t done = 0, made = 0;

    while (done < f->nchildren) {
        const struct child *c = f->children + done;
        size_t n = node_takes(c, f->nchildren - done, f->size - NODE_HEAD);
        struct child node = { 0, c[n - 1].last };
        unsigned char *page;
        int rc = new_page(f, &node.page, &page, err);

        if (rc != AL_OK)
            return rc;
        fill_node(page, f->size, 0, c, n);
        f->children[made++] = node;
        done += n;
    }
    f->nchildren = made;
    return AL_OK;
}

static int end_table(al_sqlitefile *f, al_err *err)
{
    int rc = AL_OK;

    if (!f->ntables || f->tables[f->ntables - 1].root)
        return AL_OK;
    if (!f->leaf && f->nchildren == 0)
        rc = begin_leaf(f, err);
    if (rc == AL_OK)
        rc = end_leaf(f, err);
    while (rc == AL_OK && f->nchildren > 1)
        rc = add_level(f, err);
    if (rc == AL_OK)
        f->tables[f->ntables - 1].root = f->children[0].page;
    f->nchildren = 0;
    f->row = 0;
    return rc;
}

int al_sqlitefile_table(al_sqlitefile *f, const char *name, const char *sql, al_err *err)
{
    struct table t = { 0 }, *more;
    int rc = end_table(f, err);

    if (rc != AL_OK)
        return rc;
    more = realloc(f->tables, (f->ntables + 1) * sizeof *more);
    if (!more)
        return no_memory(err);
    f->tables = more;
    t.name = strdup(name);
    t.sql = strdup(sql);
    f->tables[f->ntables++] = t;
    return t.name && t.sql ? AL_OK : no_memory(err);
}

static unsigned integer_bytes(int64_t v, unsigned *type)
{
    static const unsigned char bytes[] = { 0, 1, 2, 3, 4, 6, 8 };

    if (v == 0 || v == 1)
        return *type = 8 + (unsigned)v, 0;
    if (v >= INT8_MIN && v <= INT8_MAX)
        *type = 1;
    else if (v >= INT16_MIN && v <= INT16_MAX)
        *type = 2;
    else if (v >= -(1 << 23) && v < (1 << 23))
        *type = 3;
    else if (v >= INT32_MIN && v <= INT32_MAX)
        *type = 4;
    else if (v >= -(INT64_C(1) << 47) && v < (INT64_C(1) << 47))
        *type = 5;
    else
        *type = 6;
    return bytes[*type];
}

static inline unsigned char *put_big_endian(unsigned char *p, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        p[i] = (unsigned char)(v >> 8 * (bytes - 1 - i));
    return p + bytes;
}

static unsigned char *put_value(unsigned char *p, const al_cell *cell)
{
    uint64_t bits;
    unsigned type;

    switch (cell->kind) {
    case AL_CELL_INTEGER:
        return put_big_endian(p, (uint64_t)cell->integer, integer_bytes(cell->integer, &type));
    case AL_CELL_REAL: memcpy(&bits, &cell->real, sizeof bits); return put_big_endian(p, bits, 8);
    case AL_CELL_TEXT: memcpy(p, cell->text, cell->len); return p + cell->len;
    default: return p;
    }
}

struct record {
    size_t types; /* bytes in f->head */
    size_t head;  /* those and their own length */
    size_t body;
};

/* Serial types to f->head; sizes to *r. */
static int measure(al_sqlitefile *f, const al_cell *cells, size_t n, struct record *r, al_err *err)
{
    unsigned char *p;
    size_t body = 0;

    if (n * MAX_VARINT > f->head_room) {
        unsigned char *more = realloc(f->head, n * MAX_VARINT);

        if (!more)
            return no_memory(err);
        f->head = more;
        f->head_room = n * MAX_VARINT;
    }
    p = f->head;
    for (const al_cell *cell = cells; cell < cells + n; cell++) {
        unsigned type = 0;

        switch (cell->kind) {
        case AL_CELL_INTEGER:
            body += integer_bytes(cell->integer, &type);
            *p++ = (unsigned char)type;
            break;
        case AL_CELL_REAL:
            body += 8;
            *p++ = 7;
            break;
        case AL_CELL_TEXT:
            body += cell->len;
            p = put_varint(p, 2 * (uint64_t)cell->len + 13);
            break;
        default: *p++ = 0;
        }
    }
    r->types = (size_t)(p - f->head);
    r->head = r->types + 1;
    while (r->head - r->types < varint_size(r->head))
        r->head++;
    r->body = body;
    if (body > AL_SQLITEFILE_MAX_ROW)
        return al_err_setf(err, AL_ELIMIT, "ingest_limit", "row", "a row of more than %u bytes",
                           AL_SQLITEFILE_MAX_ROW);
    return AL_OK;
}

static void put_record(al_sqlitefile *f, unsigned char *p, const struct record *r,
                       const al_cell *cells, size_t n)
{
    p = put_varint(p, r->head);
    memcpy(p, f->head, r->types);
    p += r->types;
    for (size_t i = 0; i < n; i++)
        p = put_value(p, &cells[i]);
}

/* How much of a payload stays in the leaf. */
static size_t local_bytes(const al_sqlitefile *f, size_t payload)
{
    size_t k;

    if (payload <= f->max_local)
        return payload;
    k = f->min_local + (payload - f->min_local) % (f->size - 4);
    return k <= f->max_local ? k : f->min_local;
}

static size_t cell_bytes(const al_sqlitefile *f, size_t payload, int64_t row)
{
    size_t local = local_bytes(f, payload);

    return varint_size(payload) + varint_size((uint64_t)row) + local + (local < payload ? 4 : 0);
}

/* The chain of overflow pages for len bytes; its first page. The page behind is known, since
 * nothing else takes pages meanwhile; only around the lock page it is not the next number. */
static int write_chain(al_sqlitefile *f, const unsigned char *bytes, size_t len, uint32_t *first,
                       al_err *err)
{
    *first = 0;
    while (len > 0) {
        size_t part = len < f->size - 4 ? len : f->size - 4;
        unsigned char *page;
        uint32_t number, next;
        int rc = new_page(f, &number, &page, err);

        if (rc != AL_OK)
            return rc;
        if (!*first)
            *first = number;
        next = number + 1 == f->lock_page ? number + 2 : number + 1;
        put32(page, part < len ? next : 0);
        memcpy(page + 4, bytes, part);
        memset(page + 4 + part, 0, f->size - 4 - part);
        bytes += part;
        len -= part;
    }
    return AL_OK;
}

/* Room for a cell of `size` bytes at the leaf's top, on a new leaf if need be. */
static int make_room(al_sqlitefile *f, size_t size, al_err *err)
{
    int rc;

    if (f->leaf && f->offset + LEAF_HEAD + 2 * (f->cells + 1) + size <= f->top)
        return AL_OK;
    rc = end_leaf(f, err);
    return rc == AL_OK ? begin_leaf(f, err) : rc;
}

/* Assembles a row too long for a leaf; its head and local part go to the leaf, the rest follows. */
static int put_long(al_sqlitefile *f, unsigned char *p, const struct record *r,
                    const al_cell *cells, size_t n, al_err *err)
{
    size_t size = r->head + r->body, local = local_bytes(f, size);
    unsigned char link[4], *page = f->leaf, *at;
    uint32_t first;
    int rc;

    if (size > f->payload_room) {
        unsigned char *more = realloc(f->payload, size);

        if (!more)
            return no_memory(err);
        f->payload = more;
        f->payload_room = size;
    }
    put_record(f, f->payload, r, cells, n);
    memcpy(p, f->payload, local);
    rc = write_chain(f, f->payload + local, size - local, &first, err);
    put32(link, first);
    at = f->leaf + (p - page) + local; /* the leaf may have moved */
    memcpy(at, link, sizeof link);
    return rc;
}

int al_sqlitefile_row(al_sqlitefile *f, const al_cell *cells, size_t n, al_err *err)
{
    struct record r;
    unsigned char *p;
    size_t payload, size;
    int rc = measure(f, cells, n, &r, err);

    if (rc != AL_OK)
        return rc;
    payload = r.head + r.body;
    size = cell_bytes(f, payload, f->row + 1);
    rc = make_room(f, size, err);
    if (rc != AL_OK)
        return rc;
    f->row++;
    f->top -= (unsigned)size;
    put16(f->leaf + f->offset + LEAF_HEAD + 2 * f->cells++, f->top);
    p = put_varint(f->leaf + f->top, payload);
    p = put_varint(p, (uint64_t)f->row);
    if (payload <= f->max_local)
        put_record(f, p, &r, cells, n);
    else
        rc = put_long(f, p, &r, cells, n, err);
    return rc;
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
    size_t room = f->size - HEADER - LEAF_HEAD, need = 0;
    al_cell row[5];

    for (size_t i = 0; i < f->ntables; i++) {
        struct record r;
        int rc;

        schema_row(f, i, row);
        rc = measure(f, row, 5, &r, err);
        if (rc != AL_OK)
            return rc;
        need += cell_bytes(f, r.head + r.body, (int64_t)i + 1) + 2;
    }
    *fits = need <= room;
    return AL_OK;
}

/* The schema as a tree whose root is page 1, made in f->apart: a leaf where that is enough, else an
 * interior page over at least two leaves. */
static int write_schema(al_sqlitefile *f, al_err *err)
{
    al_cell row[5];
    bool fits = false;
    int rc = schema_fits(f, &fits, err);

    if (fits) {
        f->leaf = f->apart;
        f->offset = HEADER;
        f->cells = 0;
        f->top = f->size;
    }
    for (size_t i = 0; i < f->ntables && rc == AL_OK; i++) {
        schema_row(f, i, row);
        rc = al_sqlitefile_row(f, row, 5, err);
        if (rc == AL_OK && i == 0 && !fits)
            rc = end_leaf(f, err);
    }
    if (fits) {
        page_head(f->apart, HEADER, LEAF, f->cells, f->top, 0);
        f->leaf = NULL;
        return rc;
    }
    if (rc == AL_OK)
        rc = end_leaf(f, err);
    while (rc == AL_OK &&
           node_takes(f->children, f->nchildren, f->size - HEADER - NODE_HEAD) < f->nchildren)
        rc = add_level(f, err);
    if (rc == AL_OK)
        fill_node(f->apart, f->size, HEADER, f->children, f->nchildren);
    return rc;
}

static void file_header(const al_sqlitefile *f, unsigned char *p, uint32_t application_id,
                        uint32_t user_version)
{
    memset(p, 0, HEADER);
    memcpy(p, "SQLite format 3", 16);
    put16(p + 16, f->size == 65536 ? 1 : f->size);
    p[18] = p[19] = 1; /* rollback journal, not WAL */
    p[20] = 0;         /* no bytes reserved on pages */
    p[21] = 64;        /* fixed fractions */
    p[22] = p[23] = 32;
    put32(p + 24, 1);                      /* change counter */
    put32(p + 28, f->first + f->used - 1); /* pages of the file */
    put32(p + 40, 1);                      /* schema cookie */
    put32(p + 44, 4);                      /* schema format */
    put32(p + 56, 1);                      /* UTF-8 */
    put32(p + 60, user_version);
    put32(p + 68, application_id);
    put32(p + 92, 1); /* the change counter that the next line is for */
    put32(p + 96, 3008000);
}

int al_sqlitefile_finish(al_sqlitefile *f, uint32_t application_id, uint32_t user_version,
                         al_err *err)
{
    int rc = end_table(f, err);

    assert(f->ntables > 0);
    if (rc == AL_OK)
        rc = write_schema(f, err);
    if (rc == AL_OK)
        rc = flush(f, err);
    if (rc != AL_OK)
        return rc;
    file_header(f, f->apart, application_id, user_version);
    rc = write_at(f, f->apart, f->size, 1, err);
    if (rc == AL_OK && fsync(f->fd) != 0)
        rc = al_err_errno(err, errno, "dataset");
    return rc;
}
