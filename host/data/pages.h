/* The pages of a run of rows, as the SQLite file format has them: leaves of a table's tree and the
 * overflow pages that follow them, in memory, before it is known where in the file they go.
 *
 * Pages are numbered from 0; al_pages_move makes page numbers of the file of them. A run depends on
 * its rows, the number of its first row and the page size only. Runs may be made on several threads
 * at once, each by one of them. */
#ifndef AL_DATA_PAGES_H
#define AL_DATA_PAGES_H
#include "base/err.h"
#include "data/cell.h"

#define AL_PAGES_CHUNK   (2u << 20)          /* bytes of pages that lie together */
#define AL_PAGES_MAX_ROW (64u * 1024 * 1024) /* bytes of one row's values */

typedef struct al_leaf {
    uint32_t page;
    int64_t last; /* its largest row number */
} al_leaf;

typedef struct al_pages {
    unsigned size; /* of a page */
    uint32_t count;
    al_leaf *leaves;
    size_t nleaves;
    unsigned char *
        *chunks; /* AL_PAGES_CHUNK bytes of pages each; there may be more than are used */
    /* private */
    size_t nchunks, leaves_room;
    unsigned char *leaf; /* NULL: none is open */
    unsigned offset;     /* of the head of the leaves: not 0 on page 1 of a file only */
    unsigned cells, top; /* of the open leaf */
    int64_t row;         /* the last one */
    uint64_t *links;     /* where page numbers stand, as bytes from the front */
    size_t nlinks, links_room;
    unsigned char *head, *body; /* of the row being written: its serial types, its values */
    size_t head_room, body_room;
} al_pages;

/* page_size: a power of two from 4096 to 65536. AL_OK or AL_ENOMEM. */
int al_pages_open(al_pages *p, unsigned page_size);
void al_pages_close(al_pages *p);
/* Begins a run, the next row of which has number first_row. What memory it had it keeps. offset:
 * bytes in front of the first leaf's head; if it is not 0 there may be that one leaf only. */
void al_pages_begin(al_pages *p, int64_t first_row, unsigned offset);
/* Appends a row; NULLs at its end are left out, as SQLite reads what is missing as NULL.
 * "ingest_limit" when it is larger than AL_PAGES_MAX_ROW. */
int al_pages_row(al_pages *p, const al_cell *cells, size_t n, al_err *err);
/* Ends the run, or its last leaf only: rows may follow. An empty run has no pages. */
void al_pages_end(al_pages *p);
/* The leaf of a run that has no rows; AL_OK or AL_ENOMEM. */
int al_pages_empty_leaf(al_pages *p);
/* The run's page 0 becomes page `first` of the file; page `skipped` is left out. */
void al_pages_move(al_pages *p, uint32_t first, uint32_t skipped);

static inline unsigned char *al_pages_at(const al_pages *p, uint32_t page)
{
    uint32_t per_chunk = AL_PAGES_CHUNK / p->size;

    return p->chunks[page / per_chunk] + (size_t)(page % per_chunk) * p->size;
}

/* The number that page `page` of a run gets when its page 0 becomes `first`. */
static inline uint32_t al_pages_number(uint32_t page, uint32_t first, uint32_t skipped)
{
    uint32_t number = first + page;

    return first <= skipped && number >= skipped ? number + 1 : number;
}

/* Bytes that a row takes on a leaf if all of it is there, its entry in the leaf's head included. */
int al_pages_row_bytes(al_pages *p, const al_cell *cells, size_t n, int64_t row, size_t *bytes,
                       al_err *err);

/* The pieces of the format that interior pages have as well. */
enum { AL_PAGE_NODE = 0x05, AL_PAGE_LEAF = 0x0d };
#define AL_PAGE_NODE_HEAD  12
#define AL_PAGE_LEAF_HEAD  8
#define AL_PAGE_MAX_VARINT 9

static inline void al_put16(unsigned char *p, unsigned v)
{
    p[0] = (unsigned char)(v >> 8);
    p[1] = (unsigned char)v;
}

static inline void al_put32(unsigned char *p, uint32_t v)
{
    al_put16(p, v >> 16);
    al_put16(p + 2, v & 0xFFFF);
}

unsigned char *al_put_long_varint(unsigned char *p, uint64_t v);

/* v < 2^56; behind it. */
static inline unsigned char *al_put_varint(unsigned char *p, uint64_t v)
{
    if (v < 0x80) {
        *p++ = (unsigned char)v;
        return p;
    }
    if (v < 0x4000) {
        *p++ = (unsigned char)(0x80 | v >> 7);
        *p++ = (unsigned char)(v & 0x7F);
        return p;
    }
    return al_put_long_varint(p, v);
}

unsigned al_varint_size(uint64_t v);
/* The head of a page of which `cells` cells stand from `top` on; the gap between becomes zero. */
void al_page_head(unsigned char *page, unsigned offset, unsigned char type, unsigned cells,
                  unsigned top, uint32_t right);

#endif
