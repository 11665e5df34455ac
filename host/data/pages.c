/* https://www.sqlite.org/fileformat2.html: table leaves, records, overflow chains. */
#include "data/pages.h"
#include "base/big.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SLACK AL_CELL_SLACK /* bytes behind a row's values that may be written over */

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "dataset", "not enough memory");
}

unsigned char *al_put_long_varint(unsigned char *p, uint64_t v)
{
    unsigned char digits[10];
    int n = 0;

    assert(v >> 56 == 0); /* the ninth byte would hold eight bits; nothing here is so large */
    do
        digits[n++] = (unsigned char)(0x80 | (v & 0x7F));
    while (v >>= 7);
    digits[0] &= 0x7F;
    while (n > 0)
        *p++ = digits[--n];
    return p;
}

unsigned al_varint_size(uint64_t v)
{
    unsigned n = 1;

    while (v >>= 7)
        n++;
    return n;
}

void al_page_head(unsigned char *page, unsigned offset, unsigned char type, unsigned cells,
                  unsigned top, uint32_t right)
{
    unsigned char *head = page + offset;
    unsigned size = type == AL_PAGE_NODE ? AL_PAGE_NODE_HEAD : AL_PAGE_LEAF_HEAD;
    unsigned gap = offset + size + 2 * cells;

    head[0] = type;
    al_put16(head + 1, 0); /* no free blocks */
    al_put16(head + 3, cells);
    al_put16(head + 5, top & 0xFFFF); /* 65536 is written 0 */
    head[7] = 0;
    if (type == AL_PAGE_NODE)
        al_put32(head + 8, right);
    memset(page + gap, 0, top - gap);
}

int al_pages_open(al_pages *p, unsigned page_size)
{
    assert(page_size >= 4096 && page_size <= 65536 && (page_size & (page_size - 1)) == 0);
    memset(p, 0, sizeof *p);
    p->size = page_size;
    p->body_room = 4096;
    p->body = malloc(p->body_room + SLACK);
    return p->body ? AL_OK : AL_ENOMEM;
}

void al_pages_close(al_pages *p)
{
    for (size_t i = 0; i < p->nchunks; i++)
        al_big_free(p->chunks[i], AL_PAGES_CHUNK);
    free(p->chunks);
    free(p->leaves);
    free(p->links);
    free(p->head);
    free(p->body);
    memset(p, 0, sizeof *p);
}

void al_pages_begin(al_pages *p, int64_t first_row, unsigned offset)
{
    p->count = 0;
    p->nleaves = p->nlinks = 0;
    p->leaf = NULL;
    p->offset = offset;
    p->row = first_row - 1;
}

/* Doubles the room of an array when `used` elements fill it. */
static int grow(void *array, size_t used, size_t *room, size_t element)
{
    size_t more = *room ? *room * 2 : 256;
    void *p;

    if (used < *room)
        return AL_OK;
    memcpy(&p, array, sizeof p);
    p = realloc(p, more * element);
    if (!p)
        return AL_ENOMEM;
    memcpy(array, &p, sizeof p);
    *room = more;
    return AL_OK;
}

/* The next page of the run, its bytes undefined; NULL without memory. */
static unsigned char *new_page(al_pages *p)
{
    if (p->count / (AL_PAGES_CHUNK / p->size) == p->nchunks) {
        unsigned char **more = realloc(p->chunks, (p->nchunks + 1) * sizeof *more);

        if (!more)
            return NULL;
        p->chunks = more;
        more[p->nchunks] = al_big_alloc(AL_PAGES_CHUNK);
        if (!more[p->nchunks])
            return NULL;
        p->nchunks++;
    }
    return al_pages_at(p, p->count++);
}

static int begin_leaf(al_pages *p)
{
    uint32_t page = p->count;

    assert(p->offset == 0 || page == 0);
    if (grow(&p->leaves, p->nleaves, &p->leaves_room, sizeof *p->leaves) != AL_OK)
        return AL_ENOMEM;
    p->leaf = new_page(p);
    if (!p->leaf)
        return AL_ENOMEM;
    p->leaves[p->nleaves++] = (al_leaf){ .page = page };
    p->cells = 0;
    p->top = p->size;
    return AL_OK;
}

static void end_leaf(al_pages *p)
{
    if (!p->leaf)
        return;
    al_page_head(p->leaf, p->offset, AL_PAGE_LEAF, p->cells, p->top, 0);
    p->leaves[p->nleaves - 1].last = p->row;
    p->leaf = NULL;
}

void al_pages_end(al_pages *p)
{
    end_leaf(p);
}

int al_pages_empty_leaf(al_pages *p)
{
    return begin_leaf(p);
}

static inline unsigned integer_type(int64_t v, unsigned *bytes)
{
    static const unsigned char types[] = { 0, 1, 2, 3, 4, 5, 5, 6, 6 }; /* by bytes needed */
    static const unsigned char sizes[] = { 0, 1, 2, 3, 4, 6, 8 };
    uint64_t magnitude = (uint64_t)(v ^ v >> 63);
    unsigned type;

    if ((uint64_t)v <= 1) {
        *bytes = 0;
        return 8 + (unsigned)v;
    }
    type = types[(72 - __builtin_clzll(magnitude | 1)) >> 3];
    *bytes = sizes[type];
    return type;
}

static inline uint64_t big_endian(uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return __builtin_bswap64(v);
#else
    return v;
#endif
}

/* Copies short texts without a call; up to SLACK bytes more than there are. */
static inline void copy_text(unsigned char *to, const al_cell *cell)
{
    const char *from = cell->text;
    const size_t len = cell->len;

    if (cell->slack && len <= SLACK) {
        memcpy(to, from, SLACK);
    } else if (len > 16) {
        memcpy(to, from, len);
    } else if (len >= 8) {
        uint64_t a, b;

        memcpy(&a, from, 8);
        memcpy(&b, from + len - 8, 8);
        memcpy(to, &a, 8);
        memcpy(to + len - 8, &b, 8);
    } else if (len >= 4) {
        uint32_t a, b;

        memcpy(&a, from, 4);
        memcpy(&b, from + len - 4, 4);
        memcpy(to, &a, 4);
        memcpy(to + len - 4, &b, 4);
    } else {
        for (size_t i = 0; i < len; i++)
            to[i] = (unsigned char)from[i];
    }
}

struct record {
    size_t types; /* bytes in p->head */
    size_t head;  /* those and their own length */
    size_t body;  /* bytes in p->body */
};

static int need_head(al_pages *p, size_t columns, al_err *err)
{
    unsigned char *more;

    if (columns * AL_PAGE_MAX_VARINT <= p->head_room)
        return AL_OK;
    more = realloc(p->head, columns * AL_PAGE_MAX_VARINT);
    if (!more)
        return no_memory(err);
    p->head = more;
    p->head_room = columns * AL_PAGE_MAX_VARINT;
    return AL_OK;
}

static int need_body(al_pages *p, size_t bytes, al_err *err)
{
    size_t room = p->body_room;
    unsigned char *more;

    if (bytes > AL_PAGES_MAX_ROW)
        return al_err_setf(err, AL_ELIMIT, "ingest_limit", "row", "a row of more than %u bytes",
                           AL_PAGES_MAX_ROW);
    while (room < bytes)
        room *= 2;
    more = realloc(p->body, room + SLACK);
    if (!more)
        return no_memory(err);
    p->body = more;
    p->body_room = room;
    return AL_OK;
}

/* Serial types to p->head, values to p->body, sizes to *r. */
static int encode(al_pages *p, const al_cell *cells, size_t n, struct record *r, al_err *err)
{
    unsigned char *type, *value, *full;
    int rc;

    while (n > 1 && cells[n - 1].kind == AL_CELL_NULL) /* read as NULL when they are missing */
        n--;
    rc = need_head(p, n, err);
    if (rc != AL_OK)
        return rc;
    type = p->head;
    value = p->body;
    full = p->body + p->body_room;
    for (const al_cell *cell = cells; cell < cells + n; cell++) {
        size_t need = cell->kind == AL_CELL_TEXT ? cell->len : 8;
        uint64_t bits;
        unsigned bytes;

        if (need > (size_t)(full - value)) {
            size_t used = (size_t)(value - p->body);

            rc = need_body(p, used + need, err);
            if (rc != AL_OK)
                return rc;
            value = p->body + used;
            full = p->body + p->body_room;
        }
        switch (cell->kind) {
        case AL_CELL_INTEGER:
            *type++ = (unsigned char)integer_type(cell->integer, &bytes);
            bits = big_endian((uint64_t)cell->integer << (bytes ? 64 - 8 * bytes : 0));
            memcpy(value, &bits, sizeof bits);
            value += bytes;
            break;
        case AL_CELL_REAL:
            *type++ = 7;
            memcpy(&bits, &cell->real, sizeof bits);
            bits = big_endian(bits);
            memcpy(value, &bits, sizeof bits);
            value += sizeof bits;
            break;
        case AL_CELL_TEXT:
            type = al_put_varint(type, 2 * (uint64_t)cell->len + 13);
            copy_text(value, cell);
            value += cell->len;
            break;
        default: *type++ = 0;
        }
    }
    r->types = (size_t)(type - p->head);
    r->head = r->types + 1;
    while (r->head - r->types < al_varint_size(r->head))
        r->head++;
    r->body = (size_t)(value - p->body);
    return AL_OK;
}

/* How much of a payload stays in the leaf. */
static size_t local_bytes(const al_pages *p, size_t payload)
{
    size_t most = p->size - 35, least = (p->size - 12) * 32 / 255 - 23, k;

    if (payload <= most)
        return payload;
    k = least + (payload - least) % (p->size - 4);
    return k <= most ? k : least;
}

/* Of the whole payload, or of what stays of it and a link. */
static size_t cell_bytes(size_t payload, size_t local, int64_t row)
{
    return al_varint_size(payload) + al_varint_size((uint64_t)row) + local +
           (local < payload ? 4 : 0);
}

int al_pages_row_bytes(al_pages *p, const al_cell *cells, size_t n, int64_t row, size_t *bytes,
                       al_err *err)
{
    struct record r;
    int rc = encode(p, cells, n, &r, err);

    if (rc == AL_OK)
        *bytes = cell_bytes(r.head + r.body, r.head + r.body, row) + 2;
    return rc;
}

/* Writes a page number of the run at `at` (in the pages), to be moved with it. */
static int put_link(al_pages *p, uint32_t page, unsigned char *at, uint32_t number)
{
    if (grow(&p->links, p->nlinks, &p->links_room, sizeof *p->links) != AL_OK)
        return AL_ENOMEM;
    p->links[p->nlinks++] = (uint64_t)page * p->size + (uint64_t)(at - al_pages_at(p, page));
    al_put32(at, number);
    return AL_OK;
}

/* The overflow pages of a record whose first `from` bytes are on the leaf. */
static int put_chain(al_pages *p, const struct record *r, const unsigned char *head,
                     size_t head_len, size_t from, al_err *err)
{
    size_t len = head_len + r->body;

    while (from < len) {
        size_t part = len - from < p->size - 4 ? len - from : p->size - 4, at = 4, n = part;
        uint32_t number = p->count;
        unsigned char *page = new_page(p);

        if (!page)
            return no_memory(err);
        if (from < head_len) {
            size_t k = head_len - from < n ? head_len - from : n;

            memcpy(page + at, head + from, k);
            at += k;
            n -= k;
        }
        if (n > 0)
            memcpy(page + at, p->body + (from + part - n - head_len), n);
        memset(page + 4 + part, 0, p->size - 4 - part);
        from += part;
        if (from == len)
            al_put32(page, 0);
        else if (put_link(p, number, page, number + 1) != AL_OK)
            return no_memory(err);
    }
    return AL_OK;
}

/* A row too long for a leaf: its head and local part go to `at` on the leaf, the rest follows. */
static int put_long(al_pages *p, unsigned char *at, const struct record *r, al_err *err)
{
    size_t len = r->head + r->body, local = local_bytes(p, len);
    size_t first = r->head < local ? r->head : local;
    unsigned char *head = malloc(r->head);
    int rc;

    if (!head)
        return no_memory(err);
    memcpy(al_put_varint(head, r->head), p->head, r->types);
    memcpy(at, head, first);
    memcpy(at + first, p->body, local - first);
    rc = put_link(p, p->leaves[p->nleaves - 1].page, at + local, p->count) == AL_OK
             ? put_chain(p, r, head, r->head, local, err)
             : no_memory(err);
    free(head);
    return rc;
}

/* Room for a cell of `size` bytes at the leaf's top, on a new leaf if need be. */
static int make_room(al_pages *p, size_t size, al_err *err)
{
    if (p->leaf && p->offset + AL_PAGE_LEAF_HEAD + 2 * (p->cells + 1) + size <= p->top)
        return AL_OK;
    end_leaf(p);
    return begin_leaf(p) == AL_OK ? AL_OK : no_memory(err);
}

int al_pages_row(al_pages *p, const al_cell *cells, size_t n, al_err *err)
{
    struct record r;
    unsigned char *at;
    size_t payload, size;
    int rc = encode(p, cells, n, &r, err);

    if (rc != AL_OK)
        return rc;
    payload = r.head + r.body;
    size = cell_bytes(payload, local_bytes(p, payload), p->row + 1);
    rc = make_room(p, size, err);
    if (rc != AL_OK)
        return rc;
    p->row++;
    p->top -= (unsigned)size;
    al_put16(p->leaf + p->offset + AL_PAGE_LEAF_HEAD + 2 * p->cells++, p->top);
    at = al_put_varint(p->leaf + p->top, payload);
    at = al_put_varint(at, (uint64_t)p->row);
    if (payload > p->size - 35)
        return put_long(p, at, &r, err);
    at = al_put_varint(at, r.head);
    memcpy(at, p->head, r.types);
    memcpy(at + r.types, p->body, r.body);
    return AL_OK;
}

void al_pages_move(al_pages *p, uint32_t first, uint32_t skipped)
{
    for (size_t i = 0; i < p->nlinks; i++) {
        unsigned char *at =
            al_pages_at(p, (uint32_t)(p->links[i] / p->size)) + p->links[i] % p->size;
        uint32_t page =
            (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];

        al_put32(at, al_pages_number(page, first, skipped));
    }
    for (size_t i = 0; i < p->nleaves; i++)
        p->leaves[i].page = al_pages_number(p->leaves[i].page, first, skipped);
}
