/* From cells to columns in memory, in two steps.
 *
 * The leaves of a table are cut into stripes, by their number alone. Each stripe makes a chunk of
 * every column, on any thread: codes into the values of this chunk, or plain numbers once it is
 * clear that they are many. Then the chunks of a column become one vector: the values of all chunks
 * are told apart in parallel, by parts of their hashes, and numbered in the order in which they
 * came first. So neither threads nor chance have a say in the result. */
#include "data/vector.h"
#include "base/big.h"
#include "base/hash.h"
#include "base/hash_inline.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STRIPE       1024  /* leaves */
#define MANY_NUMBERS 4096  /* distinct numbers of a chunk; more are no dictionary */
#define MANY_CODES   65536 /* distinct numbers of a vector; more are no dictionary */
#define FEW_REPEATS  16384 /* values of a chunk; from here on it asks whether any repeat */
#define MOST_FOUND   (UINT16_MAX - SOME) /* values of a chunk that are looked up */
#define FIRST_SLOTS  256
#define SOME         256   /* codes on their way */
#define FREE_SLOTS   6     /* slots for a value, at least: most are found at once then */
#define PARTITION    32768 /* values told apart at a time, about */
#define MAX_PARTS    4096
#define MAX_DECIMALS 9
#define EXACT        0x1p50 /* below, a product with a power of ten rounds to the right integer */

static const double ten[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9 };

double al_vector_unit(int decimals)
{
    return ten[decimals];
}

/* ---- values as bytes ---- */

enum { LONG_TEXT = 248, INTEGER, REAL }; /* first bytes; less: a text of so many */

/* Without a call. May read and write up to 8 bytes, however few they are. */
static inline void put_text(unsigned char *to, const char *text, uint32_t len)
{
    if (len < 8) {
        memcpy(to, text, 8);
        return;
    }
    for (uint32_t i = 0; i + 8 < len; i += 8)
        memcpy(to + i, text + i, 8);
    memcpy(to + len - 8, text + len - 8, 8);
}

static inline size_t put_value(unsigned char *p, const al_cell *v)
{
    if (v->kind != AL_CELL_TEXT) {
        p[0] = v->kind == AL_CELL_INTEGER ? INTEGER : REAL;
        memcpy(p + 1, &v->integer, 8);
        return 9;
    }
    if (v->len < LONG_TEXT) {
        p[0] = (unsigned char)v->len;
        put_text(p + 1, v->text, v->len);
        return 1 + v->len;
    }
    p[0] = LONG_TEXT;
    memcpy(p + 1, &v->len, 4);
    put_text(p + 5, v->text, v->len);
    return 5 + (size_t)v->len;
}

static inline size_t value_size(const al_cell *v)
{
    return v->kind != AL_CELL_TEXT ? 9 : (v->len < LONG_TEXT ? 1 : 5) + (size_t)v->len;
}

static inline al_cell get_value(const unsigned char *p)
{
    al_cell v;
    uint32_t len;

    if (p[0] < LONG_TEXT)
        return al_cell_text((const char *)p + 1, p[0]);
    if (p[0] == LONG_TEXT) {
        memcpy(&len, p + 1, 4);
        return al_cell_text((const char *)p + 5, len);
    }
    v.kind = p[0] == INTEGER ? AL_CELL_INTEGER : AL_CELL_REAL;
    v.len = 0;
    memcpy(&v.integer, p + 1, 8);
    return v;
}

/* The nearest whole number, for less than 2^51; without SSE 4.1 the library's is a call. */
static inline double to_whole(double v)
{
    return (v + 0x1.8p52) - 0x1.8p52;
}

static inline bool is_whole(double v)
{
    return v >= -0x1p53 && v <= 0x1p53 && v == (double)(int64_t)v;
}

/* A real that is a whole number is that integer. */
static inline al_cell plain(const al_cell *cell)
{
    if (cell->kind == AL_CELL_REAL && is_whole(cell->real))
        return al_cell_integer((int64_t)cell->real);
    return *cell;
}

static inline bool same(const al_cell *x, const al_cell *y)
{
    al_cell a, b;

    if (x->kind == AL_CELL_TEXT)
        return y->kind == AL_CELL_TEXT && x->len == y->len && memcmp(x->text, y->text, x->len) == 0;
    a = plain(x);
    b = plain(y);
    return a.kind == b.kind && a.integer == b.integer;
}

/* What tells values apart: all of a number or a short text; of a long one its hash and length,
 * which leaves few to compare. */
struct mark {
    uint64_t a, b; /* the upper byte of b: the length of a short text, or what else it is */
};

enum { SHORT = 15, MARK_INTEGER = 0xF0, MARK_REAL, MARK_LONG };

#define MARK_KIND 56 /* bits below it */

/* The first len bytes, at most 8; as many are there to be read. */
static inline uint64_t load_first(const char *p, uint32_t len)
{
    const uint32_t half = 32 - 4 * len; /* of the bits that are none of them */
    uint64_t v;

    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return v << half << half;
#else
    return v >> half >> half;
#endif
}

/* All but the first of 8 bytes. */
static inline uint64_t seven(uint64_t bytes)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return bytes >> 8;
#else
    return bytes & (UINT64_MAX >> 8);
#endif
}

static inline struct mark mark_of(const al_cell *cell)
{
    if (cell->kind == AL_CELL_TEXT && cell->len > SHORT) {
        return (struct mark){ al_hash64_keyed_inline(cell->text, cell->len, al_hash_secret.text),
                              (uint64_t)MARK_LONG << MARK_KIND | cell->len };
    } else if (cell->kind == AL_CELL_TEXT) {
        const uint32_t len = cell->len, some = len < 8 ? len : 8;

        return (struct mark){ load_first(cell->text, some),
                              (uint64_t)len << MARK_KIND |
                                  seven(load_first(cell->text + len - some, some)) };
    } else {
        const al_cell v = plain(cell);

        return (struct mark){ (uint64_t)v.integer,
                              (uint64_t)(v.kind == AL_CELL_INTEGER ? MARK_INTEGER : MARK_REAL)
                                  << MARK_KIND };
    }
}

static inline bool same_mark(const struct mark *x, const struct mark *y)
{
    return x->a == y->a && x->b == y->b;
}

/* There is more to compare. */
static inline bool is_long(const struct mark *m)
{
    return m->b >> MARK_KIND == MARK_LONG;
}

static inline uint32_t hash_of(const struct mark *m)
{
    return (uint32_t)al_hash_pair_inline(m->a, m->b);
}

/* ---- chunks ---- */

/* What the chunks of a column are made in, each in that of its rows: fresh memory is dear, and in
 * large pieces costs least. */
struct column {
    bool numbers, append; /* as its chunks begin */
    uint8_t width;
    void *data;          /* becomes the vector's, where that has the same width */
    uint32_t *at, *hash; /* append: of values */
    struct chunk *chunks;
};

struct chunk {
    bool numbers;                /* data are doubles, NaN for NULL; else codes, 0 for NULL */
    bool append;                 /* values are not looked up any more: the same may come again */
    bool big;                    /* an integer that a double does not hold */
    bool lent_data, lent_values; /* data; at and hash: are the column's */
    uint8_t width, kinds;
    uint32_t room, rows; /* of data */
    void *data;
    double least, most; /* numbers */
    int decimals;       /* numbers: that all have at most so many; -1: some have too many */

    uint32_t n, value_room; /* values, at codes 1 to n */
    uint32_t *at, *hash;
    unsigned char *bytes;
    size_t used, bytes_room;
    /* Small, for all that is looked up shall stay in the cache: codes by hash, marks by code. */
    uint16_t *slots; /* 0: free */
    uint32_t nslots;
    struct mark *marks;
};

static void forget_marks(struct chunk *c)
{
    free(c->slots);
    free(c->marks);
    c->slots = NULL;
    c->marks = NULL;
    c->nslots = 0;
}

static void free_values(struct chunk *c)
{
    if (!c->lent_values) {
        free(c->at);
        free(c->hash);
    }
    free(c->bytes);
    forget_marks(c);
    c->at = NULL;
    c->hash = NULL;
    c->bytes = NULL;
    c->n = c->value_room = 0;
    c->used = c->bytes_room = 0;
}

static void free_data(struct chunk *c)
{
    if (!c->lent_data)
        free(c->data);
    c->data = NULL;
    c->lent_data = false;
}

static void free_chunk(struct chunk *c)
{
    free_values(c);
    free_data(c);
}

static void free_column(struct column *c, size_t nchunks)
{
    for (size_t i = 0; c->chunks && i < nchunks; i++)
        free_chunk(&c->chunks[i]);
    free(c->chunks);
    free(c->data);
    free(c->at);
    free(c->hash);
    *c = (struct column){ .data = NULL };
}

/* By what the dataset says of it; where that is wrong, chunks change. */
static int open_column(struct column *c, size_t nchunks, const al_scan_column *about, uint32_t rows)
{
    const bool numeric = strcmp(about->type, "integer") == 0 || strcmp(about->type, "real") == 0;

    c->numbers = numeric && about->fallbacks == 0 && about->distinct > MANY_NUMBERS;
    c->append = !c->numbers && about->distinct > rows / 2 && about->distinct > FEW_REPEATS;
    c->width = c->numbers                                    ? sizeof(double)
               : about->distinct <= UINT8_MAX                ? 1
               : about->distinct <= UINT16_MAX && !c->append ? 2
                                                             : 4;
    c->chunks = calloc(nchunks + 1, sizeof *c->chunks);
    c->data = al_big_malloc((size_t)rows * c->width + 1);
    if (!c->chunks || !c->data)
        return AL_ENOMEM;
    if (!c->append)
        return AL_OK;
    c->at = al_big_malloc((size_t)rows * sizeof *c->at + 1);
    c->hash = al_big_malloc((size_t)rows * sizeof *c->hash + 1);
    return c->at && c->hash ? AL_OK : AL_ENOMEM;
}

/* The chunk of rows [first, end). */
static void open_chunk(struct chunk *c, const struct column *column, uint32_t first, uint32_t end)
{
    *c = (struct chunk){ .numbers = column->numbers,
                         .append = column->append,
                         .width = column->width,
                         .lent_data = true,
                         .room = end - first,
                         .data = (char *)column->data + (size_t)first * column->width,
                         .least = HUGE_VAL,
                         .most = -HUGE_VAL };
    if (c->append) {
        c->lent_values = true;
        c->value_room = c->room;
        c->at = column->at + first;
        c->hash = column->hash + first;
    }
}

static inline uint32_t code_at(const void *data, unsigned width, size_t i)
{
    return width == 1   ? ((const uint8_t *)data)[i]
           : width == 2 ? ((const uint16_t *)data)[i]
                        : ((const uint32_t *)data)[i];
}

static int widen(struct chunk *c)
{
    unsigned width = 2u * c->width;
    void *more = malloc((size_t)c->room * width);

    if (!more)
        return AL_ENOMEM;
    for (size_t i = 0; i < c->rows; i++) {
        uint32_t code = code_at(c->data, c->width, i);

        if (width == 2)
            ((uint16_t *)more)[i] = (uint16_t)code;
        else
            ((uint32_t *)more)[i] = code;
    }
    free_data(c);
    c->data = more;
    c->width = (uint8_t)width;
    return AL_OK;
}

static int grow_slots(struct chunk *c)
{
    uint32_t n = c->nslots ? c->nslots * 2 : FIRST_SLOTS;
    uint16_t *slots = calloc(n, sizeof *slots);

    if (!slots)
        return AL_ENOMEM;
    for (uint32_t code = 1; code <= c->n; code++) {
        uint32_t i = c->hash[code - 1] & (n - 1);

        while (slots[i])
            i = (i + 1) & (n - 1);
        slots[i] = (uint16_t)code;
    }
    free(c->slots);
    c->slots = slots;
    c->nslots = n;
    return AL_OK;
}

#define TEXT_BYTES 32 /* of a value in a chunk of many, about */

static int grow_bytes(struct chunk *c, size_t bytes)
{
    size_t room = c->bytes_room    ? c->bytes_room * 2
                  : c->lent_values ? (size_t)c->room * TEXT_BYTES
                                   : 1024;
    unsigned char *more;

    while (room < c->used + bytes)
        room *= 2;
    if (room > UINT32_MAX)
        return AL_ENOMEM;
    more = c->bytes ? realloc(c->bytes, room) : al_big_malloc(room);
    if (!more)
        return AL_ENOMEM;
    c->bytes = more;
    c->bytes_room = room;
    return AL_OK;
}

static int grow_values(struct chunk *c)
{
    uint32_t room = c->value_room ? c->value_room * 2 : 64;
    uint32_t *at = realloc(c->at, room * sizeof *at), *hash;

    if (!at)
        return AL_ENOMEM;
    c->at = at;
    hash = realloc(c->hash, room * sizeof *hash);
    if (!hash)
        return AL_ENOMEM;
    c->hash = hash;
    if (!c->append) {
        struct mark *marks = realloc(c->marks, room * sizeof *marks);

        if (!marks)
            return AL_ENOMEM;
        c->marks = marks;
    }
    c->value_room = room;
    return AL_OK;
}

/* A value behind the others; its code. 0: no memory. */
static inline uint32_t add_value(struct chunk *c, const al_cell *cell, uint32_t hash)
{
    if (c->n == c->value_room && grow_values(c) != AL_OK)
        return 0;
    /* put_value writes up to 8 bytes more. */
    if (c->used + value_size(cell) + 8 > c->bytes_room &&
        grow_bytes(c, value_size(cell) + 8) != AL_OK)
        return 0;
    c->at[c->n] = (uint32_t)c->used;
    c->hash[c->n] = hash;
    c->used += put_value(c->bytes + c->used, cell);
    return ++c->n;
}

static bool is_value(const struct chunk *c, uint32_t code, const al_cell *cell)
{
    const al_cell value = get_value(c->bytes + c->at[code - 1]);

    return same(&value, cell);
}

/* The code of a value that is not NULL; 0: no memory. */
static uint32_t find_code(struct chunk *c, const al_cell *cell, const struct mark *m, uint32_t hash)
{
    uint32_t i, code;

    if (FREE_SLOTS * c->n >= c->nslots && grow_slots(c) != AL_OK)
        return 0;
    for (i = hash & (c->nslots - 1); c->slots[i]; i = (i + 1) & (c->nslots - 1)) {
        const struct mark *known = &c->marks[c->slots[i] - 1];

        if (same_mark(known, m) && (!is_long(m) || is_value(c, c->slots[i], cell)))
            return c->slots[i];
    }
    code = add_value(c, cell, hash);
    if (code)
        c->marks[code - 1] = *m;
    c->slots[i] = (uint16_t)code;
    return code;
}

static int add_codes(struct chunk *c, const al_cell *cells, size_t n);

static const uint8_t kind_bits[] = { [AL_CELL_NULL] = AL_VECTOR_HAS_NULL,
                                     [AL_CELL_INTEGER] = AL_VECTOR_HAS_INTEGER,
                                     [AL_CELL_REAL] = AL_VECTOR_HAS_REAL,
                                     [AL_CELL_TEXT] = AL_VECTOR_HAS_TEXT };

static inline bool is_big(int64_t v)
{
    return v > AL_CELL_MAX_INTEGER || v < -AL_CELL_MAX_INTEGER;
}

/* The number as a cell; that of a column of reals stays one. */
static al_cell number_cell(double v, unsigned kinds)
{
    if (v != v)
        return al_cell_null();
    return kinds & AL_VECTOR_HAS_REAL ? al_cell_real(v) : al_cell_integer((int64_t)v);
}

/* Plain numbers to codes: something came that is none. */
static int to_codes(struct chunk *c)
{
    const bool lent = c->lent_data;
    double *numbers = c->data;
    uint32_t rows = c->rows;
    uint8_t kinds = c->kinds;
    int rc = AL_OK;

    c->numbers = false;
    c->append = true;
    c->width = 4;
    c->rows = 0;
    c->lent_data = false;
    c->data = malloc((size_t)c->room * c->width + 1);
    if (!c->data)
        rc = AL_ENOMEM;
    for (uint32_t i = 0; i < rows && rc == AL_OK; i++) {
        const al_cell cell = number_cell(numbers[i], kinds);

        rc = add_codes(c, &cell, 1);
    }
    c->kinds = kinds;
    if (!lent)
        free(numbers);
    return rc;
}

/* Codes to plain numbers: they are many. */
static int to_numbers(struct chunk *c)
{
    double *numbers = malloc((size_t)c->room * sizeof *numbers + 1);

    if (!numbers)
        return AL_ENOMEM;
    for (uint32_t i = 0; i < c->rows; i++) {
        uint32_t code = code_at(c->data, c->width, i);
        al_cell v;

        if (code)
            v = get_value(c->bytes + c->at[code - 1]);
        numbers[i] = !code ? NAN : v.kind == AL_CELL_INTEGER ? (double)v.integer : v.real;
    }
    free_data(c);
    free_values(c);
    c->data = numbers;
    c->width = sizeof *numbers;
    c->numbers = true;
    return AL_OK;
}

static int add_numbers(struct chunk *c, const al_cell *cells, size_t n)
{
    double *to = (double *)c->data + c->rows;
    uint8_t kinds = c->kinds;
    size_t i;

    for (i = 0; i < n; i++) {
        const al_cell *cell = &cells[i];

        if (cell->kind == AL_CELL_TEXT || (cell->kind == AL_CELL_INTEGER && is_big(cell->integer)))
            break;
        kinds |= kind_bits[cell->kind];
        to[i] = cell->kind == AL_CELL_REAL      ? cell->real
                : cell->kind == AL_CELL_INTEGER ? (double)cell->integer
                                                : NAN;
    }
    c->kinds = kinds;
    c->rows += (uint32_t)i;
    if (i == n)
        return AL_OK;
    if (to_codes(c) != AL_OK)
        return AL_ENOMEM;
    return add_codes(c, cells + i, n - i);
}

static int append_codes(struct chunk *c, const al_cell *cells, size_t n)
{
    uint32_t *codes = (uint32_t *)c->data + c->rows;
    uint8_t kinds = c->kinds;

    for (size_t i = 0; i < n; i++) {
        const al_cell *cell = &cells[i];
        struct mark m;

        kinds |= kind_bits[cell->kind];
        if (cell->kind == AL_CELL_NULL) {
            codes[i] = 0;
            continue;
        }
        c->big |= cell->kind == AL_CELL_INTEGER && is_big(cell->integer);
        m = mark_of(cell);
        codes[i] = add_value(c, cell, hash_of(&m));
        if (!codes[i])
            return AL_ENOMEM;
    }
    c->kinds = kinds;
    c->rows += (uint32_t)n;
    return AL_OK;
}

/* The codes of n cells; what was seen before is found without a call. The largest, or UINT32_MAX
 * when there is no memory. */
static uint32_t find_codes(struct chunk *c, const al_cell *cells, uint32_t n, uint32_t *codes)
{
    const uint16_t *slots = c->slots;
    const struct mark *known = c->marks;
    struct mark marks[SOME];
    uint32_t hashes[SOME], mask = c->nslots - 1, largest = 0;
    uint8_t kinds = c->kinds;

    for (uint32_t i = 0; i < n; i++) {
        kinds |= kind_bits[cells[i].kind];
        marks[i] = mark_of(&cells[i]);
        hashes[i] = hash_of(&marks[i]);
    }
    for (uint32_t i = 0; i < n; i++) {
        const al_cell *cell = &cells[i];
        uint32_t code;

        if (cell->kind == AL_CELL_NULL) {
            codes[i] = 0;
            continue;
        }
        code = slots ? slots[hashes[i] & mask] : 0;
        if (!code || !same_mark(&known[code - 1], &marks[i]) || is_long(&marks[i])) {
            c->big |= cell->kind == AL_CELL_INTEGER && is_big(cell->integer);
            code = find_code(c, cell, &marks[i], hashes[i]);
            if (!code)
                return UINT32_MAX;
            slots = c->slots;
            known = c->marks;
            mask = c->nslots - 1;
        }
        codes[i] = code;
        largest = code > largest ? code : largest;
    }
    c->kinds = kinds;
    return largest;
}

static void put_codes(struct chunk *c, const uint32_t *codes, uint32_t n)
{
    uint8_t *one = (uint8_t *)c->data + c->rows;
    uint16_t *two = (uint16_t *)c->data + c->rows;

    switch (c->width) {
    case 1:
        for (uint32_t i = 0; i < n; i++)
            one[i] = (uint8_t)codes[i];
        break;
    case 2:
        for (uint32_t i = 0; i < n; i++)
            two[i] = (uint16_t)codes[i];
        break;
    default: memcpy((uint32_t *)c->data + c->rows, codes, n * sizeof *codes);
    }
    c->rows += n;
}

static int add_codes(struct chunk *c, const al_cell *cells, size_t n)
{
    uint32_t codes[SOME];

    if (c->append)
        return append_codes(c, cells, n);
    while (n > 0) {
        uint32_t some = n < SOME ? (uint32_t)n : SOME;
        uint32_t largest = find_codes(c, cells, some, codes);

        if (largest == UINT32_MAX)
            return AL_ENOMEM;
        while ((c->width == 1 && largest > UINT8_MAX) || (c->width == 2 && largest > UINT16_MAX))
            if (widen(c) != AL_OK)
                return AL_ENOMEM;
        put_codes(c, codes, some);
        cells += some;
        n -= some;
    }
    return AL_OK;
}

static int add_cells(struct chunk *c, const al_cell *cells, size_t n)
{
    int rc;

    if (c->numbers)
        return add_numbers(c, cells, n);
    rc = add_codes(c, cells, n);
    if (rc != AL_OK || c->append)
        return rc;
    if (c->n > MANY_NUMBERS && !(c->kinds & AL_VECTOR_HAS_TEXT) && !c->big)
        return to_numbers(c);
    if (c->n <= MOST_FOUND && (c->n <= FEW_REPEATS || c->n <= c->rows / 2))
        return AL_OK;
    c->append = true;
    forget_marks(c);
    while (c->width < 4 && rc == AL_OK)
        rc = widen(c);
    return rc;
}

int al_vector_decimals(const double *v, uint32_t n)
{
    int least = 0;

    for (uint32_t i = 0; i < n; i++) {
        for (;; least++) {
            double scaled, whole;

            if (v[i] != v[i])
                break;
            if (least == 0 && is_whole(v[i]) && (v[i] != 0 || !signbit(v[i])))
                break;
            if (least > MAX_DECIMALS)
                return -1;
            scaled = v[i] * ten[least];
            if (!(fabs(scaled) < EXACT))
                return -1;
            whole = to_whole(scaled);
            if (whole / ten[least] == v[i] && (whole != 0 || !signbit(v[i])))
                break;
        }
    }
    return least;
}

static void end_chunk(struct chunk *c)
{
    const double *v = c->data;

    forget_marks(c);
    if (!c->numbers)
        return;
    for (uint32_t i = 0; i < c->rows; i++) {
        c->least = v[i] < c->least ? v[i] : c->least;
        c->most = v[i] > c->most ? v[i] : c->most;
    }
    c->decimals = al_vector_decimals(v, c->rows);
}

/* ---- reading ---- */

struct reading {
    const al_scan *scan;
    const uint32_t *columns;
    size_t n, nstripes;
    struct column *made;
    al_work *work;
};

static uint32_t stripe_row(const struct reading *r, size_t i)
{
    return al_scan_leaf_row(r->scan, i * STRIPE);
}

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "dataset", "not enough memory");
}

static int read_stripe(void *arg, const al_work_part *part, al_err *err)
{
    struct reading *r = arg;
    size_t from = part->index * STRIPE;
    al_scan_batch b;
    al_cursor *c = NULL;
    int rc, more = 1;

    for (size_t k = 0; k < r->n; k++)
        open_chunk(&r->made[k].chunks[part->index], &r->made[k], stripe_row(r, part->index),
                   stripe_row(r, part->index + 1));
    rc = al_cursor_open(&c, r->scan, from, from + STRIPE, r->columns, r->n, err);
    for (uint32_t told = 0; rc == AL_OK && (more = al_cursor_next(c, &b, err)) == 1;) {
        for (size_t k = 0; k < r->n && rc == AL_OK; k++)
            if (add_cells(&r->made[k].chunks[part->index], b.cells + k * b.stride, b.rows) != AL_OK)
                rc = no_memory(err);
        told += b.rows;
        if (rc == AL_OK && told > 2048) {
            atomic_fetch_add(&r->work->rows, told);
            told = 0;
            rc = al_work_tick(part, err);
        }
    }
    al_cursor_close(c);
    for (size_t k = 0; k < r->n; k++)
        end_chunk(&r->made[k].chunks[part->index]);
    atomic_fetch_add(&r->work->done, STRIPE * (uint64_t)al_scan_page_size(r->scan));
    return rc != AL_OK ? rc : more < 0 ? more : AL_OK;
}

/* ---- a vector of the chunks of a column ---- */

struct making {
    struct column *column;
    struct chunk *chunks; /* its */
    size_t nchunks;
    uint32_t *row; /* first of each chunk, and how many there are */
    al_vector *v;
    /* values of all chunks, in order: those of chunk i from base[i] on */
    uint32_t *base;
    unsigned nparts, part_shift; /* a power of two; bits of a hash below its part */
    uint32_t *starts;            /* of part p in chunk i, in `sorted`: starts[p * nchunks + i] */
    uint64_t *sorted;            /* the hash, and which value */
    atomic_ullong *repeats;      /* a bit a value: one that came before */
    uint32_t *code;   /* of each value; until they are numbered, of a repeat: what it repeats */
    uint32_t *firsts; /* how many of each chunk, later the code of the first of them */
    atomic_bool inexact;
};

static size_t chunk_of(const struct making *m, uint32_t value)
{
    size_t low = 0, high = m->nchunks;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (m->base[middle] <= value)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static al_cell value_of(const struct making *m, uint32_t value)
{
    size_t i = chunk_of(m, value);

    return get_value(m->chunks[i].bytes + m->chunks[i].at[value - m->base[i]]);
}

static unsigned part_of(const struct making *m, uint64_t hash)
{
    return (unsigned)(hash >> m->part_shift);
}

static bool is_repeat(const struct making *m, uint32_t value)
{
    return atomic_load_explicit(&m->repeats[value / 64], memory_order_relaxed) >> value % 64 & 1;
}

static int count_parts(void *arg, const al_work_part *part, al_err *err)
{
    struct making *m = arg;
    const struct chunk *c = &m->chunks[part->index];

    (void)err;
    for (uint32_t i = 0; i < c->n; i++)
        m->starts[part_of(m, c->hash[i]) * m->nchunks + part->index]++;
    return AL_OK;
}

static int sort_parts(void *arg, const al_work_part *part, al_err *err)
{
    struct making *m = arg;
    struct chunk *c = &m->chunks[part->index];

    (void)err;
    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t *at = &m->starts[part_of(m, c->hash[i]) * m->nchunks + part->index];

        m->sorted[(*at)++] = (uint64_t)c->hash[i] << 32 | (m->base[part->index] + i);
    }
    return AL_OK;
}

/* After sort_parts each start is where the next one began. */
static int part_firsts(void *arg, const al_work_part *part, al_err *err)
{
    struct making *m = arg;
    size_t p = part->index, end = m->starts[(p + 1) * m->nchunks - 1];
    size_t from = p ? m->starts[p * m->nchunks - 1] : 0;
    uint32_t mask = 1, *slots;

    while (mask < 2 * (end - from))
        mask *= 2;
    slots = calloc(mask, sizeof *slots);
    if (!slots)
        return no_memory(err);
    mask--;
    for (size_t k = from; k < end; k++) {
        uint32_t value = (uint32_t)m->sorted[k], hash = (uint32_t)(m->sorted[k] >> 32), i;
        al_cell mine = al_cell_null();

        for (i = hash & mask; slots[i]; i = (i + 1) & mask) {
            uint64_t other = m->sorted[from + slots[i] - 1];
            al_cell theirs;

            if ((uint32_t)(other >> 32) != hash)
                continue;
            if (mine.kind == AL_CELL_NULL)
                mine = value_of(m, value);
            theirs = value_of(m, (uint32_t)other);
            if (same(&mine, &theirs)) {
                m->code[value] = (uint32_t)other;
                atomic_fetch_or_explicit(&m->repeats[value / 64], UINT64_C(1) << value % 64,
                                         memory_order_relaxed);
                break;
            }
        }
        if (!slots[i])
            slots[i] = (uint32_t)(k - from) + 1;
    }
    free(slots);
    return AL_OK;
}

static int count_firsts(void *arg, const al_work_part *part, al_err *err)
{
    struct making *m = arg;
    uint32_t n = 0;

    (void)err;
    for (uint32_t i = m->base[part->index]; i < m->base[part->index + 1]; i++)
        n += !is_repeat(m, i);
    m->firsts[part->index] = n;
    return AL_OK;
}

/* Without what lies between the values that stay. */
static void squeeze(struct chunk *c, uint32_t n)
{
    size_t used = 0;

    for (uint32_t i = 0; i < n; i++) {
        const al_cell v = get_value(c->bytes + c->at[i]);
        const size_t size = value_size(&v);

        memmove(c->bytes + used, c->bytes + c->at[i], size);
        c->at[i] = (uint32_t)used;
        used += size;
    }
    c->used = used;
}

/* To `bytes` elements of memory; none: it is freed. */
static void *trim(void *memory, size_t bytes)
{
    void *less = bytes ? realloc(memory, bytes) : NULL;

    if (!bytes)
        free(memory);
    return less || !bytes ? less : memory;
}

/* Values that stay get their codes. */
static int number_firsts(void *arg, const al_work_part *part, al_err *err)
{
    struct making *m = arg;
    struct chunk *c = &m->chunks[part->index];
    uint32_t code = m->firsts[part->index], base = m->base[part->index], n = 0;
    struct al_vector_part *to = &m->v->parts[part->index];

    (void)err;
    to->first = code;
    for (uint32_t i = 0; i < c->n; i++) {
        if (is_repeat(m, base + i))
            continue;
        c->at[n++] = c->at[i];
        m->code[base + i] = code++;
    }
    if (n < c->n - c->n / 8)
        squeeze(c, n);
    to->bytes = trim(c->bytes, n ? c->used : 0);
    to->len = (uint32_t)(n ? c->used : 0);
    to->at = c->lent_values ? c->at : trim(c->at, n * sizeof *c->at);
    c->bytes = NULL;
    c->at = NULL;
    return AL_OK;
}

#define MOVE(from, to)                                              \
    for (uint32_t i = 0; i < c->rows; i++) {                        \
        uint32_t local = ((const from *)c->data)[i];                \
        ((to *)data)[row + i] = (to)(local ? codes[local - 1] : 0); \
    }

/* The codes of a chunk to those of the vector: codes[i] for i + 1. */
static void move(const struct chunk *c, const uint32_t *codes, void *data, unsigned width,
                 uint32_t row)
{
    switch (c->width * 8u + width) {
    case 8 * 1 + 1: MOVE(uint8_t, uint8_t) break;
    case 8 * 1 + 2: MOVE(uint8_t, uint16_t) break;
    case 8 * 1 + 4: MOVE(uint8_t, uint32_t) break;
    case 8 * 2 + 1: MOVE(uint16_t, uint8_t) break;
    case 8 * 2 + 2: MOVE(uint16_t, uint16_t) break;
    case 8 * 2 + 4: MOVE(uint16_t, uint32_t) break;
    case 8 * 4 + 1: MOVE(uint32_t, uint8_t) break;
    case 8 * 4 + 2: MOVE(uint32_t, uint16_t) break;
    default: MOVE(uint32_t, uint32_t)
    }
}

static int move_codes(void *arg, const al_work_part *part, al_err *err)
{
    struct making *m = arg;
    struct chunk *c = &m->chunks[part->index];
    uint32_t base = m->base[part->index], row = m->row[part->index];

    (void)err;
    for (uint32_t i = 0; i < c->n; i++)
        if (is_repeat(m, base + i))
            m->code[base + i] = m->code[m->code[base + i]];
    move(c, m->code + base, m->v->data, m->v->width, row);
    free_chunk(c);
    return AL_OK;
}

/* Where the values of each chunk begin among all, and where those of each part do. */
static int lay_out(struct making *m)
{
    uint64_t n = 0;

    m->base = calloc(m->nchunks + 1, sizeof *m->base);
    if (!m->base)
        return AL_ENOMEM;
    for (size_t i = 0; i < m->nchunks; i++) {
        m->base[i] = (uint32_t)n;
        n += m->chunks[i].n;
    }
    if (n >= UINT32_MAX)
        return AL_ENOMEM;
    m->base[m->nchunks] = (uint32_t)n;
    m->nparts = 1;
    m->part_shift = 32;
    for (; m->nparts < MAX_PARTS && m->nparts * (uint64_t)PARTITION < n; m->part_shift--)
        m->nparts *= 2;
    m->starts = calloc(m->nparts * m->nchunks, sizeof *m->starts);
    m->sorted = al_big_malloc((n + 1) * sizeof *m->sorted);
    m->repeats = calloc(n / 64 + 1, sizeof *m->repeats);
    m->code = al_big_malloc((n + 1) * sizeof *m->code);
    m->firsts = calloc(m->nchunks, sizeof *m->firsts);
    return m->starts && m->sorted && m->repeats && m->code && m->firsts ? AL_OK : AL_ENOMEM;
}

/* What was counted becomes where it begins; the sum. */
static uint32_t running(uint32_t *counts, size_t n, uint32_t from)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t count = counts[i];

        counts[i] = from;
        from += count;
    }
    return from;
}

/* Work that is over in a moment stays on this thread. */
static int spread(struct making *m, al_work *w, size_t n, bool much,
                  int (*fn)(void *, const al_work_part *, al_err *), al_err *err)
{
    unsigned threads = w->threads;
    int rc;

    if (!much)
        w->threads = 1;
    rc = al_work_each(w, n, fn, m, err);
    w->threads = threads;
    return rc;
}

/* Room for the elements: what the chunks were made in, where it fits. */
static int make_data(struct making *m)
{
    al_vector *v = m->v;
    struct column *c = m->column;

    if (c->width == v->width) {
        v->data = c->data;
        c->data = NULL;
    } else {
        v->data = al_big_malloc((size_t)v->rows * v->width + 1);
    }
    return v->data ? AL_OK : AL_ENOMEM;
}

static int make_codes(struct making *m, al_work *w, al_err *err)
{
    al_vector *v = m->v;
    bool much;
    int rc = lay_out(m);

    if (rc != AL_OK)
        return no_memory(err);
    much = m->base[m->nchunks] > PARTITION;
    rc = spread(m, w, m->nchunks, much, count_parts, err);
    if (rc == AL_OK) {
        running(m->starts, m->nparts * m->nchunks, 0);
        rc = spread(m, w, m->nchunks, much, sort_parts, err);
    }
    if (rc == AL_OK)
        rc = spread(m, w, m->nparts, much, part_firsts, err);
    free(m->sorted);
    m->sorted = NULL;
    if (rc == AL_OK)
        rc = spread(m, w, m->nchunks, much, count_firsts, err);
    if (rc != AL_OK)
        return rc;
    v->codes = running(m->firsts, m->nchunks, 1);
    v->width = v->codes <= UINT8_MAX + 1 ? 1 : v->codes <= UINT16_MAX + 1 ? 2 : 4;
    v->parts = calloc(m->nchunks, sizeof *v->parts);
    if (!v->parts || make_data(m) != AL_OK)
        return no_memory(err);
    v->nparts = m->nchunks;
    v->at = m->column->at;
    m->column->at = NULL;
    rc = spread(m, w, m->nchunks, much, number_firsts, err);
    return rc == AL_OK ? spread(m, w, m->nchunks, true, move_codes, err) : rc;
}

static int convert_chunk(void *arg, const al_work_part *part, al_err *err)
{
    struct making *m = arg;
    struct chunk *c = &m->chunks[part->index];

    if (c->numbers)
        return AL_OK;
    if (to_numbers(c) != AL_OK)
        return no_memory(err);
    end_chunk(c);
    return AL_OK;
}

static int code_chunk(void *arg, const al_work_part *part, al_err *err)
{
    struct making *m = arg;
    struct chunk *c = &m->chunks[part->index];

    return !c->numbers || to_codes(c) == AL_OK ? AL_OK : no_memory(err);
}

static int move_integers(void *arg, const al_work_part *part, al_err *err)
{
    struct making *m = arg;
    struct chunk *c = &m->chunks[part->index];
    const double unit = ten[m->v->decimals], *from = c->data;
    int32_t *narrow = m->v->data;
    int64_t *wide = m->v->data;
    bool exact = true;

    (void)err;
    narrow += m->row[part->index];
    wide += m->row[part->index];
    for (uint32_t i = 0; i < c->rows; i++) {
        double whole = m->v->decimals ? to_whole(from[i] * unit) : from[i];

        exact &= whole / unit == from[i] || from[i] != from[i];
        if (m->v->width == 4)
            narrow[i] = from[i] != from[i] ? INT32_MIN : (int32_t)whole;
        else
            wide[i] = from[i] != from[i] ? INT64_MIN : (int64_t)whole;
    }
    if (!exact)
        atomic_store(&m->inexact, true);
    return AL_OK;
}

static int move_reals(void *arg, const al_work_part *part, al_err *err)
{
    struct making *m = arg;
    struct chunk *c = &m->chunks[part->index];

    (void)err;
    if (!c->lent_data)
        memcpy((double *)m->v->data + m->row[part->index], c->data, c->rows * sizeof(double));
    return AL_OK;
}

static int make_numbers(struct making *m, al_work *w, al_err *err)
{
    al_vector *v = m->v;
    double least = HUGE_VAL, most = -HUGE_VAL, large;
    int decimals = 0, rc;

    for (size_t i = 0; i < m->nchunks; i++) {
        const struct chunk *c = &m->chunks[i];

        decimals = c->decimals < 0 || decimals < 0 ? -1
                   : c->decimals > decimals        ? c->decimals
                                                   : decimals;
        least = fmin(least, c->least);
        most = fmax(most, c->most);
    }
    v->least = least;
    v->most = most;
    large = least <= most ? fmax(fabs(least), fabs(most)) : 0;
    if (decimals == 0 || (decimals > 0 && large * ten[decimals] < EXACT)) {
        v->form = AL_VECTOR_INTEGERS;
        v->decimals = (uint8_t)decimals;
        v->width = large * ten[decimals] < INT32_MAX ? 4 : 8;
        v->data = al_big_malloc((size_t)v->rows * v->width + 1);
        if (!v->data)
            return no_memory(err);
        rc = al_work_each(w, m->nchunks, move_integers, m, err);
        if (rc != AL_OK || !atomic_load(&m->inexact))
            return rc;
        free(v->data);
    }
    v->form = AL_VECTOR_REALS;
    v->decimals = 0;
    v->width = sizeof(double);
    return make_data(m) == AL_OK ? al_work_each(w, m->nchunks, move_reals, m, err) : no_memory(err);
}

static void measure(al_vector *v)
{
    v->bytes = sizeof *v + (size_t)v->rows * v->width +
               (size_t)(v->at ? v->rows : v->codes) * sizeof *v->at;
    for (size_t i = 0; i < v->nparts; i++)
        v->bytes += v->parts[i].len + sizeof *v->parts;
    if (v->rank)
        v->bytes += (size_t)v->codes * sizeof *v->rank;
    if (v->slices)
        v->bytes += v->slices[v->nslices].late * sizeof *v->late;
}

static int make_vector(struct making *m, al_work *w, al_err *err)
{
    bool numbers = false, big = false;
    uint64_t values = 0;
    int rc;

    for (size_t i = 0; i < m->nchunks; i++) {
        m->v->kinds |= m->chunks[i].kinds;
        numbers |= m->chunks[i].numbers;
        big |= m->chunks[i].big;
        values += m->chunks[i].n;
    }
    if (!(m->v->kinds & AL_VECTOR_HAS_TEXT) && !big && (numbers || values > MANY_CODES)) {
        rc = al_work_each(w, m->nchunks, convert_chunk, m, err);
        return rc == AL_OK ? make_numbers(m, w, err) : rc;
    }
    rc = numbers ? al_work_each(w, m->nchunks, code_chunk, m, err) : AL_OK;
    return rc == AL_OK ? make_codes(m, w, err) : rc;
}

/* Frees all but the vector, which becomes *out when rc is AL_OK. */
static void end_making(struct making *m, int rc, al_vector **out)
{
    free_column(m->column, m->nchunks);
    free(m->row);
    free(m->base);
    free(m->starts);
    free(m->sorted);
    free(m->repeats);
    free(m->code);
    free(m->firsts);
    if (rc == AL_OK) {
        measure(m->v);
        *out = m->v;
    } else {
        al_vector_free(m->v);
    }
}

/* The vector of column k, whose chunks go. */
static int finish(struct reading *r, size_t k, al_vector **out, al_err *err)
{
    struct making m = { .column = &r->made[k],
                        .chunks = r->made[k].chunks,
                        .nchunks = r->nstripes };
    int rc = AL_ENOMEM;

    m.v = calloc(1, sizeof *m.v);
    m.row = malloc((r->nstripes + 1) * sizeof *m.row);
    if (m.v && m.row) {
        for (size_t i = 0; i <= r->nstripes; i++)
            m.row[i] = stripe_row(r, i);
        m.v->rows = al_scan_rows(r->scan);
        rc = make_vector(&m, r->work, err);
    } else {
        no_memory(err);
    }
    end_making(&m, rc, out);
    return rc;
}

#define CODED_ROWS (1u << 17) /* of a chunk of al_vector_codes */

struct coding {
    struct making m;
    const al_vector *numbers;
};

/* A chunk of codes for some rows of a vector of numbers. */
static int chunk_numbers(void *arg, const al_work_part *part, al_err *err)
{
    struct coding *k = arg;
    struct chunk *c = &k->m.chunks[part->index];
    uint32_t first = k->m.row[part->index], end = k->m.row[part->index + 1];

    *c = (struct chunk){ .width = 1, .room = end - first };
    c->data = malloc(c->room + 1);
    if (!c->data)
        return no_memory(err);
    for (uint32_t row = first; row < end; row++) {
        const al_cell cell = al_vector_cell(k->numbers, row);

        if (add_codes(c, &cell, 1) != AL_OK)
            return no_memory(err);
    }
    end_chunk(c);
    return AL_OK;
}

int al_vector_codes(const al_vector *numbers, al_vector **out, al_work *w, al_err *err)
{
    size_t n = numbers->rows / CODED_ROWS + 1;
    struct column column = { .chunks = calloc(n, sizeof *column.chunks) };
    struct coding k = { .m = { .column = &column, .chunks = column.chunks, .nchunks = n },
                        .numbers = numbers };
    int rc;

    *out = NULL;
    al_hash_prepare();
    k.m.v = calloc(1, sizeof *k.m.v);
    k.m.row = malloc((n + 1) * sizeof *k.m.row);
    if (!k.m.v || !k.m.row || !k.m.chunks) {
        rc = no_memory(err);
    } else {
        for (size_t i = 0; i < n; i++)
            k.m.row[i] = (uint32_t)i * CODED_ROWS;
        k.m.row[n] = numbers->rows;
        k.m.v->rows = numbers->rows;
        k.m.v->kinds = numbers->kinds;
        rc = al_work_each(w, n, chunk_numbers, &k, err);
        if (rc == AL_OK)
            rc = make_codes(&k.m, w, err);
    }
    end_making(&k.m, rc, out);
    return rc;
}

int al_vector_read(const al_scan *s, const uint32_t *columns, size_t n, al_vector **out, al_work *w,
                   al_err *err)
{
    struct reading r = { .scan = s, .columns = columns, .n = n, .work = w };
    int rc = AL_OK;

    al_hash_prepare();
    for (size_t k = 0; k < n; k++)
        out[k] = NULL;
    r.nstripes = (al_scan_leaves(s) + STRIPE - 1) / STRIPE;
    r.made = calloc(n + 1, sizeof *r.made);
    for (size_t k = 0; r.made && k < n && rc == AL_OK; k++)
        rc = open_column(&r.made[k], r.nstripes, al_scan_column_at(s, columns[k]), al_scan_rows(s));
    rc = r.made && rc == AL_OK ? al_work_each(w, r.nstripes, read_stripe, &r, err) : no_memory(err);
    for (size_t k = 0; k < n && rc == AL_OK; k++)
        rc = finish(&r, k, &out[k], err);
    for (size_t k = 0; r.made && k < n; k++)
        free_column(&r.made[k], r.nstripes);
    free(r.made);
    for (size_t k = 0; k < n && rc != AL_OK; k++) {
        al_vector_free(out[k]);
        out[k] = NULL;
    }
    return rc;
}

void al_vector_free(al_vector *v)
{
    if (!v)
        return;
    for (size_t i = 0; i < v->nparts; i++) {
        free(v->parts[i].bytes);
        if (!v->at)
            free(v->parts[i].at);
    }
    free(v->parts);
    free(v->at);
    free(v->rank);
    free(v->slices);
    free(v->late);
    free(v->data);
    free(v);
}

/* ---- looking ---- */

static inline al_cell part_value(const struct al_vector_part *p, uint32_t code)
{
    return get_value(p->bytes + p->at[code - p->first]);
}

al_cell al_vector_value(const al_vector *v, uint32_t code)
{
    size_t low = 0, high = v->nparts;

    if (code == 0)
        return al_cell_null();
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (v->parts[middle].first <= code)
            low = middle;
        else
            high = middle;
    }
    return part_value(&v->parts[low], code);
}

al_cell al_vector_cell(const al_vector *v, uint32_t row)
{
    int64_t n;

    if (v->form == AL_VECTOR_CODES)
        return al_vector_value(v, code_at(v->data, v->width, row));
    if (v->form == AL_VECTOR_REALS)
        return number_cell(((const double *)v->data)[row], v->kinds);
    n = v->width == 4 ? ((const int32_t *)v->data)[row] : ((const int64_t *)v->data)[row];
    if (n == (v->width == 4 ? INT32_MIN : INT64_MIN))
        return al_cell_null();
    return number_cell((double)n / ten[v->decimals], v->kinds);
}

bool al_vector_is_null(const al_vector *v, uint32_t row)
{
    if (v->form == AL_VECTOR_CODES)
        return code_at(v->data, v->width, row) == 0;
    if (v->form == AL_VECTOR_REALS)
        return isnan(((const double *)v->data)[row]);
    return v->width == 4 ? ((const int32_t *)v->data)[row] == INT32_MIN
                         : ((const int64_t *)v->data)[row] == INT64_MIN;
}

/* ---- slices ---- */

/* Codes are numbered as they come: a slice ends where the first code of the next one stands. */
static uint32_t find_slices(al_vector *v, struct al_vector_slice *slices, uint32_t *late)
{
    const uint32_t *codes = v->data;
    uint32_t most = 0, at = 0, n = 0;

    for (uint32_t row = 0; row < v->rows; row++) {
        const uint32_t slice = codes[row] / AL_VECTOR_SLICE;

        if (codes[row] > most) {
            most = codes[row];
            if (slice != at)
                slices[++at].row = row;
        } else if (slice != at) {
            late[n++] = row;
        }
    }
    return n;
}

int al_vector_slice(al_vector *v, al_err *err)
{
    const uint32_t *codes = v->data;
    const size_t n = (v->codes + AL_VECTOR_SLICE - (size_t)1) / AL_VECTOR_SLICE;
    struct al_vector_slice *slices;
    uint32_t *rows, *late, nlate;

    if (v->form != AL_VECTOR_CODES || v->width != 4 || v->slices ||
        v->rows - (v->codes - 1) > v->rows / 8)
        return AL_OK;
    slices = calloc(n + 1, sizeof *slices);
    rows = malloc((v->rows / 8 + (size_t)1) * sizeof *rows);
    late = malloc((v->rows / 8 + (size_t)1) * sizeof *late);
    if (!slices || !rows || !late) {
        free(slices);
        free(rows);
        free(late);
        return no_memory(err);
    }
    nlate = find_slices(v, slices, rows);
    for (uint32_t i = 0; i < nlate; i++)
        slices[codes[rows[i]] / AL_VECTOR_SLICE].late++;
    for (size_t i = 1; i <= n; i++)
        slices[i].late += slices[i - 1].late;
    for (uint32_t i = nlate; i-- > 0;)
        late[--slices[codes[rows[i]] / AL_VECTOR_SLICE].late] = rows[i];
    free(rows);
    slices[n].row = v->rows;
    v->slices = slices;
    v->nslices = n;
    v->late = late;
    measure(v);
    return AL_OK;
}

/* ---- order ---- */

/* Sorting texts: they are put in buckets by where the first eight bytes lie between the least and
 * the most of some, then each bucket is sorted in place by a radix sort over eight bytes at a time,
 * which are kept beside the text, by those eight bits that tell most. The texts lie all over the
 * memory: what is loaded next is asked for well before. */
#define BUCKETS    4096
#define SAMPLE     1024 /* values, for the limits of the buckets */
#define FEW        16
#define AHEAD      12
#define TICK_ITEMS 65536

struct item {
    uint64_t key;
    const char *text;
    uint32_t code;
    uint32_t len;
};

struct range {
    struct item *items;
    uint32_t n, depth;
};

struct sorting {
    const al_vector *v;
    struct item *items;
    uint32_t *rank, numbers; /* the first so many items are no texts */
    /* Of texts alone: the bucket of a key is (key - least) >> shift, or the first or last one. */
    uint64_t least;
    unsigned shift;
    uint32_t (*places)[BUCKETS]; /* by part: how many, then where the next one goes */
    struct range *ranges;        /* that threads sort on their own */
    size_t n, room;
    uint32_t small; /* ranges of so many are left to them; 0: all is sorted at once */
    const al_work_part *part;
    al_err *err;
    int rc; /* what stopped it */
};

static uint64_t load_key(const char *text, uint32_t len, uint32_t depth)
{
    uint64_t key = 0;

    if (len >= depth + 8) {
        memcpy(&key, text + depth, 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        key = __builtin_bswap64(key);
#endif
        return key;
    }
    for (uint32_t i = depth; i < len; i++)
        key |= (uint64_t)(unsigned char)text[i] << (56 - 8 * (i - depth));
    return key;
}

static void swap(struct item *a, struct item *b)
{
    struct item t = *a;

    *a = *b;
    *b = t;
}

static int by_length(const void *a, const void *b)
{
    uint32_t x = ((const struct item *)a)->len, y = ((const struct item *)b)->len;

    return (x > y) - (x < y);
}

/* Of two items whose texts are the same up to depth. */
static bool is_behind(const struct item *a, const struct item *b, uint32_t depth)
{
    uint32_t a_rest = a->len > depth + 8 ? a->len - depth - 8 : 0;
    uint32_t b_rest = b->len > depth + 8 ? b->len - depth - 8 : 0;
    uint32_t least = a_rest < b_rest ? a_rest : b_rest;
    int order;

    if (a->key != b->key)
        return a->key > b->key;
    order = least ? memcmp(a->text + depth + 8, b->text + depth + 8, least) : 0;
    return order > 0 || (order == 0 && a->len > b->len);
}

static void sort_few(struct item *items, uint32_t n, uint32_t depth)
{
    for (uint32_t i = 1; i < n; i++) {
        struct item it = items[i];
        uint32_t k = i;

        for (; k > 0 && is_behind(&items[k - 1], &it, depth); k--)
            items[k] = items[k - 1];
        items[k] = it;
    }
}

static void leave(struct sorting *s, struct item *items, uint32_t n, uint32_t depth)
{
    if (s->n == s->room) {
        size_t room = s->room ? s->room * 2 : 256;
        struct range *more = realloc(s->ranges, room * sizeof *more);

        if (!more) {
            s->rc = no_memory(s->err);
            return;
        }
        s->ranges = more;
        s->room = room;
    }
    s->ranges[s->n++] = (struct range){ items, n, depth };
}

/* Up to where all texts are the same, which they are up to depth. */
static uint32_t common(const struct item *items, uint32_t n, uint32_t depth)
{
    uint32_t end = items[0].len;

    for (uint32_t i = 1; i < n; i++) {
        uint32_t at = depth, most = items[i].len < end ? items[i].len : end;

        while (at < most && items[i].text[at] == items[0].text[at])
            at++;
        end = at;
    }
    return end;
}

/* Of items with equal keys those that end here come first, the shorter in front (they differ in
 * NULs at their ends). The others get their next keys; how many they are, at the end. */
static uint32_t go_deeper(struct item *items, uint32_t n, uint32_t *depth)
{
    uint32_t ended = 0;

    for (uint32_t i = 0; i < n; i++)
        if (items[i].len <= *depth + 8)
            swap(&items[i], &items[ended++]);
    if (ended > 1)
        qsort(items, ended, sizeof *items, by_length);
    items += ended;
    n -= ended;
    *depth += 8;
    if (n > 1 && *depth >= 64) /* long texts with one beginning are not crept along */
        *depth = common(items, n, *depth);
    for (uint32_t i = 0; i < n; i++) {
        if (n - i > AHEAD)
            __builtin_prefetch(items[i + AHEAD].text + *depth);
        items[i].key = load_key(items[i].text, items[i].len, *depth);
    }
    return n;
}

/* The bits of keys that items are parted by. */
struct digit {
    unsigned shift, mask;
};

/* The first ones that differ; fewer for few items, which would be less than there are parts. */
static struct digit choose_digit(uint64_t differ, uint32_t n)
{
    const unsigned bits = n > 2048 ? 8 : n > 128 ? 6 : 4;
    const unsigned above = 64 - (unsigned)__builtin_clzll(differ);

    return (struct digit){ above > bits ? above - bits : 0, (1u << bits) - 1 };
}

/* Moves every item to its part; ends[d] is where part d ends. */
static void scatter(struct item *items, uint32_t n, struct digit digit, uint32_t ends[256])
{
    uint32_t heads[256], sum = 0;

    memset(heads, 0, (digit.mask + 1) * sizeof *heads);
    for (uint32_t i = 0; i < n; i++)
        heads[items[i].key >> digit.shift & digit.mask]++;
    for (unsigned d = 0; d <= digit.mask; d++) {
        sum += heads[d];
        heads[d] = sum - heads[d];
        ends[d] = sum;
    }
    for (unsigned d = 0; d <= digit.mask; d++)
        while (heads[d] < ends[d]) {
            struct item it = items[heads[d]];
            unsigned to;

            while ((to = it.key >> digit.shift & digit.mask) != d)
                swap(&it, &items[heads[to]++]);
            items[heads[d]++] = it;
        }
}

/* The largest part is gone on with here, so that calls are at most log2(n) deep. */
static void sort_range(struct sorting *s, struct item *items, uint32_t n, uint32_t depth)
{
    uint32_t ends[256];

    while (n > FEW && n > s->small && s->rc == AL_OK) {
        uint64_t differ = 0;
        uint32_t from = 0, largest = 0, most = 0;
        struct digit digit;

        if (n > TICK_ITEMS)
            s->rc = al_work_tick(s->part, s->err);
        for (uint32_t i = 1; i < n; i++)
            differ |= items[i].key ^ items[0].key;
        if (!differ) {
            const uint32_t left = go_deeper(items, n, &depth);

            items += n - left;
            n = left;
            continue;
        }
        digit = choose_digit(differ, n);
        scatter(items, n, digit, ends);
        for (unsigned d = 0; d <= digit.mask; from = ends[d++])
            if (ends[d] - from > most) {
                most = ends[d] - from;
                largest = from;
            }
        from = 0;
        for (unsigned d = 0; d <= digit.mask; from = ends[d++])
            if (from != largest && ends[d] - from > 1)
                sort_range(s, items + from, ends[d] - from, depth);
        items += largest;
        n = most;
    }
    if (n > FEW && s->small)
        leave(s, items, n, depth);
    else if (n <= FEW)
        sort_few(items, n, depth);
}

static int sort_left(void *arg, const al_work_part *part, al_err *err)
{
    const struct sorting *all = arg;
    struct sorting mine = { .part = part, .err = err };
    const struct range *r = &all->ranges[part->index];

    sort_range(&mine, r->items, r->n, r->depth);
    return mine.rc;
}

/* Up to ranges that are worth a thread each. */
static int sort_first(void *arg, const al_work_part *part, al_err *err)
{
    struct sorting *s = arg;

    const uint32_t *ends = s->places ? s->places[s->v->nparts - 1] : NULL;

    s->part = part;
    s->err = err;
    if (!ends)
        sort_range(s, s->items + s->numbers, s->v->codes - 1 - s->numbers, 0);
    for (uint32_t b = 0, from = 0; ends && b < BUCKETS; from = ends[b++])
        sort_range(s, s->items + from, ends[b] - from, 0);
    return s->rc;
}

/* Bits in the order of the numbers. */
static uint64_t real_key(double v)
{
    uint64_t bits;

    if (v == 0)
        v = 0; /* -0.0 is 0 */
    memcpy(&bits, &v, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static int compare_numbers(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    return (x->key > y->key) - (x->key < y->key);
}

static struct item item_of(al_cell cell, uint32_t code)
{
    struct item item = { .code = code };

    if (cell.kind == AL_CELL_TEXT) {
        item.key = load_key(cell.text, cell.len, 0);
        item.text = cell.text;
        item.len = cell.len;
    } else {
        item.key = real_key(cell.kind == AL_CELL_REAL ? cell.real : (double)cell.integer);
    }
    return item;
}

static uint32_t part_end(const al_vector *v, size_t p)
{
    return p + 1 < v->nparts ? v->parts[p + 1].first : v->codes;
}

/* Numbers to the front, texts behind them; how many numbers. */
static uint32_t fill_mixed(const al_vector *v, struct item *items)
{
    uint32_t numbers = 0, texts = v->codes - 1;

    for (size_t p = 0; p < v->nparts; p++)
        for (uint32_t code = v->parts[p].first; code < part_end(v, p); code++) {
            const al_cell cell = part_value(&v->parts[p], code);

            items[cell.kind == AL_CELL_TEXT ? --texts : numbers++] = item_of(cell, code);
        }
    return numbers;
}

static uint64_t first_key(const struct al_vector_part *p, uint32_t code)
{
    const al_cell cell = part_value(p, code);

    return load_key(cell.text, cell.len, 0);
}

static unsigned bucket_of(const struct sorting *s, uint64_t key)
{
    const uint64_t bucket = key > s->least ? (key - s->least) >> s->shift : 0;

    return bucket < BUCKETS ? (unsigned)bucket : BUCKETS - 1;
}

static int count_buckets(void *arg, const al_work_part *part, al_err *err)
{
    const struct sorting *s = arg;
    const struct al_vector_part *p = &s->v->parts[part->index];

    (void)err;
    for (uint32_t code = p->first; code < part_end(s->v, part->index); code++)
        s->places[part->index][bucket_of(s, first_key(p, code))]++;
    return AL_OK;
}

static int fill_buckets(void *arg, const al_work_part *part, al_err *err)
{
    const struct sorting *s = arg;
    const struct al_vector_part *p = &s->v->parts[part->index];

    (void)err;
    for (uint32_t code = p->first; code < part_end(s->v, part->index); code++) {
        const struct item item = item_of(part_value(p, code), code);

        s->items[s->places[part->index][bucket_of(s, item.key)]++] = item;
    }
    return AL_OK;
}

static int fill_texts(struct sorting *s, al_work *w, al_err *err)
{
    const al_vector *v = s->v;
    uint64_t most = 0;
    uint32_t place = 0;
    int rc;

    s->places = calloc(v->nparts, sizeof *s->places);
    if (!s->places)
        return no_memory(err);
    s->least = UINT64_MAX;
    for (uint32_t code = 1; code < v->codes; code += v->codes / SAMPLE + 1) {
        const al_cell cell = al_vector_value(v, code);
        const uint64_t key = load_key(cell.text, cell.len, 0);

        s->least = key < s->least ? key : s->least;
        most = key > most ? key : most;
    }
    while (most > s->least && (most - s->least) >> s->shift >= BUCKETS)
        s->shift++;
    rc = al_work_each(w, v->nparts, count_buckets, s, err);
    for (unsigned b = 0; b < BUCKETS; b++)
        for (size_t p = 0; p < v->nparts; p++) {
            const uint32_t n = s->places[p][b];

            s->places[p][b] = place;
            place += n;
        }
    return rc == AL_OK ? al_work_each(w, v->nparts, fill_buckets, s, err) : rc;
}

#define RANK_STRIPES 16

static int note_ranks(void *arg, const al_work_part *part, al_err *err)
{
    const struct sorting *s = arg;
    const uint64_t n = s->v->codes - 1;

    (void)err;
    for (uint64_t i = n * part->index / RANK_STRIPES; i < n * (part->index + 1) / RANK_STRIPES; i++)
        s->rank[s->items[i].code] = (uint32_t)i + 1;
    return AL_OK;
}

static int by_size(const void *a, const void *b)
{
    const struct range *x = a, *y = b;

    return (x->n < y->n) - (x->n > y->n);
}

static int sort_values(struct sorting *s, al_work *w, al_err *err)
{
    int rc = AL_OK;

    if (s->v->kinds & (AL_VECTOR_HAS_INTEGER | AL_VECTOR_HAS_REAL))
        s->numbers = fill_mixed(s->v, s->items);
    else
        rc = fill_texts(s, w, err);
    qsort(s->items, s->numbers, sizeof *s->items, compare_numbers);
    s->small = s->v->codes > PARTITION ? s->v->codes / 16 : 0;
    if (rc == AL_OK)
        rc = al_work_each(w, 1, sort_first, s, err);
    if (rc == AL_OK && s->n > 0) {
        /* The largest begin first, so that no thread is left alone with one at the end. */
        qsort(s->ranges, s->n, sizeof *s->ranges, by_size);
        rc = al_work_each(w, s->n, sort_left, s, err);
    }
    return rc == AL_OK ? al_work_each(w, RANK_STRIPES, note_ranks, s, err) : rc;
}

int al_vector_rank(al_vector *v, al_work *w, al_err *err)
{
    struct sorting s = { .v = v };
    int rc;

    if (v->form != AL_VECTOR_CODES || v->rank)
        return AL_OK;
    s.items = al_big_malloc(v->codes * sizeof *s.items);
    s.rank = al_big_malloc(v->codes * sizeof *s.rank);
    if (s.items && s.rank) {
        s.rank[0] = 0;
        rc = sort_values(&s, w, err);
    } else {
        rc = no_memory(err);
    }
    free(s.items);
    free(s.places);
    free(s.ranges);
    if (rc != AL_OK) {
        free(s.rank);
        return rc;
    }
    v->rank = s.rank;
    measure(v);
    return AL_OK;
}

static uint64_t narrow_key(int32_t v)
{
    return (uint64_t)((int64_t)v - INT32_MIN);
}

static uint64_t wide_key(int64_t v)
{
    return (uint64_t)v ^ UINT64_C(1) << 63;
}

void al_vector_keys(const al_vector *v, const uint32_t *rows, uint32_t n, uint64_t *keys)
{
    const double *reals = v->data;
    const int32_t *narrow = v->data;
    const int64_t *wide = v->data;

    switch (v->form) {
    case AL_VECTOR_CODES:
        for (uint32_t i = 0; i < n; i++)
            keys[i] = v->rank[code_at(v->data, v->width, rows[i])];
        break;
    case AL_VECTOR_INTEGERS: /* the least one is NULL */
        for (uint32_t i = 0; i < n; i++)
            keys[i] = v->width == 4 ? narrow_key(narrow[rows[i]]) : wide_key(wide[rows[i]]);
        break;
    case AL_VECTOR_REALS:
        for (uint32_t i = 0; i < n; i++)
            keys[i] = reals[rows[i]] != reals[rows[i]] ? 0 : real_key(reals[rows[i]]);
        break;
    }
}

bool al_vector_key_range(const al_vector *v, uint64_t *least, uint64_t *most)
{
    const double unit = ten[v->decimals];

    if (v->form == AL_VECTOR_CODES) {
        *least = 1;
        *most = v->codes - 1;
        return v->codes > 1;
    }
    if (v->form == AL_VECTOR_REALS) {
        *least = real_key(v->least);
        *most = real_key(v->most);
    } else if (v->width == 4) {
        *least = narrow_key((int32_t)llrint(v->least * unit));
        *most = narrow_key((int32_t)llrint(v->most * unit));
    } else {
        *least = wide_key((int64_t)llrint(v->least * unit));
        *most = wide_key((int64_t)llrint(v->most * unit));
    }
    return v->least <= v->most;
}
