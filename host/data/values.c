/* Tables with open addressing and 16-byte slots, at a place that is a monotone function of the
 * hash: a table grows in one sequential walk, without hashing again. That of a segment is small
 * enough for the processor's cache; that of a column is added to in blocks: prefetch all, then look
 * up all.
 *
 * The estimate is HyperLogLog with 2^14 registers (0.8 % standard error). */
#include "data/values.h"
#include "base/big.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash_inline.h"
#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK            64 /* values of a run that are spread at a time */
#define TAKEN            16 /* values whose slots are on their way before the first is looked up */
#define TABLE_LEAST      32 /* values that the table of any segment may have */
#define TABLE_MOST       4096    /* and at most; what follows is listed */
#define TABLES_ALL       49152   /* values of the tables of all columns of a segment */
#define FIRST_ROOM       64      /* slots of a new table */
#define SMALL_ROOM       262144  /* slots; smaller tables grow fast, */
#define LARGE_ROOM       1048576 /* larger ones slowly, for they are most of all memory */
#define CHUNK_MIN        1024
#define CHUNK_MAX        (1u << 20)
#define PIECE            4096 /* values that are united at a time, about */
#define MOST_PIECES_BITS 10
#define SLOT_COST        32 /* a slot and its share of the empty ones */
#define MAX_RUN          ((UINT64_C(256) << 20) / SLOT_COST) /* a longer one that ends: an estimate */
#define KEPT             4096 /* values at most that an estimate goes on counting */
#define REG_BITS         14
#define REGISTERS        (1u << REG_BITS)
#define HASH_BITS        29 /* of a hash, in the tag */

/* Kinds of value. All but LONG_TEXT are in the key: a real that is a whole number as that integer,
 * a text of up to SHORT bytes as they are, with their number in the last byte. Halves of kinds are
 * equal where values may be. */
enum { INTEGER = 0, WHOLE_REAL = 1, REAL = 2, SHORT_TEXT = 4, LONG_TEXT = 6 };
#define SHORT 7

/* In place of a long text's length: a value of that kind. */
#define IN_KEY(kind) (UINT32_MAX - 7 + (kind))

struct al_listed {
    uint64_t key;  /* the value, or the address of the text */
    uint32_t hash; /* its upper half */
    uint32_t len;  /* of the text, or IN_KEY() */
};

struct al_slot {
    uint64_t key;   /* as above, but the address of the kept text */
    uint32_t tag;   /* the upper bits of the hash, and the kind in the lowest three */
    uint32_t count; /* 0: free */
};

struct al_chunk { /* kept texts: length, bytes, length, bytes … */
    struct al_chunk *next;
    size_t used, room;
    unsigned char bytes[];
};

struct al_values {
    bool scattered;    /* until then the values are run_first, run_first + 1 …: row ids, mostly */
    int64_t run_first; /* they need no table */
    uint64_t run;
    al_table table;
    /* What came since: values one by one, some of them several times, in order. Once there is one,
     * all go here, until they are settled. */
    struct al_slot *pending;
    size_t npending, pending_room;
    bool direct;   /* they go to the table at once */
    bool finished; /* the table is gone; its `used` and these are left */
    struct al_slot top[AL_VALUES_TOP];
    size_t ntop;
    unsigned char *registers; /* NULL: exact */
    uint64_t exact_distinct;  /* when it became an estimate */
};

static inline uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

/* Tables are keyed, or chosen values could all be put in one place of them. What they hold does not
 * depend on it; estimates do, and use hashes without a key. */
static struct {
    pthread_once_t once;
    uint64_t add, multiply, text;
} secret = { .once = PTHREAD_ONCE_INIT, .multiply = 1 };

static void make_secret(void)
{
    uint64_t bytes[3];

    if (al_clock_random(bytes, sizeof bytes, NULL) != AL_OK)
        return; /* what there is serves; it is only not secret */
    secret.add = bytes[0];
    secret.multiply = bytes[1] | 1;
    secret.text = bytes[2];
}

void al_values_prepare(void)
{
    pthread_once(&secret.once, make_secret);
}

static inline uint64_t hash_key(uint64_t key, unsigned kind)
{
    return mix(key + (kind >> 1));
}

static inline uint64_t keyed_hash(uint64_t key, unsigned kind)
{
    return mix((key ^ secret.add) * secret.multiply + (kind >> 1));
}

static inline unsigned kind_of(const struct al_listed *it)
{
    return it->len >= IN_KEY(0) ? it->len - IN_KEY(0) : LONG_TEXT;
}

static inline const char *text_of(const struct al_listed *it)
{
    return (const char *)(uintptr_t)it->key;
}

static inline uint64_t short_key(const char *text, uint32_t len)
{
    unsigned char bytes[8] = { 0 };
    uint64_t key;

    if (len >= 4) {
        memcpy(bytes + len - 4, text + len - 4, 4);
        memcpy(bytes, text, 4);
    } else {
        for (uint32_t i = 0; i < len; i++)
            bytes[i] = (unsigned char)text[i];
    }
    bytes[SHORT] = (unsigned char)len;
    memcpy(&key, bytes, sizeof key);
    return key;
}

/* The text in a key, which stays in it. */
static inline al_cell short_text(const uint64_t *key)
{
    const char *bytes = (const char *)key;

    return al_cell_text(bytes, (unsigned char)bytes[SHORT]);
}

static inline struct al_listed listed(const al_cell *cell)
{
    uint64_t key = (uint64_t)cell->integer, hash;
    unsigned kind = INTEGER;

    if (cell->kind == AL_CELL_TEXT && cell->len > SHORT) {
        hash = al_hash64_keyed_inline(cell->text, cell->len, secret.text);
        return (struct al_listed){ (uint64_t)(uintptr_t)cell->text, (uint32_t)(hash >> 32),
                                   cell->len };
    }
    if (cell->kind == AL_CELL_TEXT) {
        kind = SHORT_TEXT;
        key = short_key(cell->text, cell->len);
    } else if (cell->kind == AL_CELL_REAL) {
        bool whole = cell->real >= -0x1p63 && cell->real < 0x1p63 &&
                     cell->real == (double)(int64_t)cell->real;

        kind = whole ? WHOLE_REAL : REAL;
        if (whole)
            key = (uint64_t)(int64_t)cell->real;
        else
            memcpy(&key, &cell->real, sizeof key);
    }
    hash = keyed_hash(key, kind);
    return (struct al_listed){ key, (uint32_t)(hash >> 32), IN_KEY(kind) };
}

/* All bits of the hash without a key. */
static inline uint64_t full_hash(const struct al_listed *it)
{
    return it->len >= IN_KEY(0) ? hash_key(it->key, kind_of(it))
                                : al_hash64_inline(text_of(it), it->len);
}

/* False when the value is no text. */
static inline bool listed_text(const struct al_listed *it, al_cell *text)
{
    if (it->len < IN_KEY(0))
        *text = al_cell_text(text_of(it), it->len);
    else if (it->len == IN_KEY(SHORT_TEXT))
        *text = short_text(&it->key);
    else
        return false;
    return true;
}

/* ---- tables ---- */

static void free_chunks(struct al_chunk *c)
{
    while (c) {
        struct al_chunk *next = c->next;

        al_big_free(c, sizeof *c + c->room);
        c = next;
    }
}

static void table_close(al_table *t)
{
    free_chunks(t->chunks);
    al_big_free(t->slots, t->room * sizeof *t->slots);
    *t = (al_table){ 0 };
}

static inline uint32_t tag_of(const struct al_listed *it)
{
    return (it->hash & ~UINT32_C(7)) | kind_of(it);
}

static inline size_t place(uint32_t tag, size_t room)
{
    return (size_t)((uint64_t)(tag >> 3) * room >> HASH_BITS);
}

static inline al_cell kept_text(uint64_t key)
{
    const char *at = (const char *)(uintptr_t)key;
    uint32_t len;

    memcpy(&len, at, sizeof len);
    return al_cell_text(at + sizeof len, len);
}

/* The common lengths without a call. */
static inline bool same_bytes(const char *a, const char *b, size_t len)
{
    uint64_t x, y, v, w;

    if (len > 16 || len < 8)
        return memcmp(a, b, len) == 0;
    memcpy(&x, a, 8);
    memcpy(&y, a + len - 8, 8);
    memcpy(&v, b, 8);
    memcpy(&w, b + len - 8, 8);
    return ((x ^ v) | (y ^ w)) == 0;
}

static inline bool same(const struct al_slot *s, uint32_t tag, const struct al_listed *it)
{
    al_cell kept;

    if ((s->tag ^ tag) >> 1) /* the kind's last bit does not matter */
        return false;
    if (it->len >= IN_KEY(0))
        return s->key == it->key;
    kept = kept_text(s->key);
    return kept.len == it->len && same_bytes(kept.text, text_of(it), it->len);
}

/* The slot of the value, or the free one where it belongs. */
static inline struct al_slot *find(const al_table *t, const struct al_listed *it)
{
    uint32_t tag = tag_of(it);
    size_t i = place(tag, t->room);

    while (t->slots[i].count && !same(&t->slots[i], tag, it))
        i = i + 1 < t->room ? i + 1 : 0;
    return &t->slots[i];
}

static int resize(al_table *t, size_t room)
{
    struct al_slot *slots = al_big_alloc(room * sizeof *slots);

    if (!slots)
        return AL_ENOMEM;
    for (size_t k = 0; k < t->room; k++) {
        const struct al_slot *s = &t->slots[k];
        size_t i;

        if (!s->count)
            continue;
        for (i = place(s->tag, room); slots[i].count;)
            i = i + 1 < room ? i + 1 : 0;
        slots[i] = *s;
    }
    al_big_free(t->slots, t->room * sizeof *slots);
    t->slots = slots;
    t->room = room;
    return AL_OK;
}

/* At most 7 of 10 slots are taken. */
static inline int make_room(al_table *t, size_t more)
{
    size_t room = t->room ? t->room : FIRST_ROOM;

    while ((t->used + more) * 10 > room * 7)
        room = room < SMALL_ROOM ? room * 4 : room < LARGE_ROOM ? room * 2 : room / 2 * 3;
    return room == t->room ? AL_OK : resize(t, room);
}

/* The key of a copy of the text that stays where it is; 0 without memory. */
static uint64_t keep_text(al_table *t, const char *text, uint32_t len)
{
    size_t need = sizeof len + len;
    struct al_chunk *c = t->chunks;
    unsigned char *p;

    if (!c || c->room - c->used < need) {
        size_t room = !c ? CHUNK_MIN : c->room < CHUNK_MAX / 2 ? c->room * 2 : CHUNK_MAX;

        room = room < need ? need : room;
        c = al_big_alloc(sizeof *c + room);
        if (!c)
            return 0;
        *c = (struct al_chunk){ .next = t->chunks, .room = room };
        t->chunks = c;
    }
    p = c->bytes + c->used;
    memcpy(p, &len, sizeof len);
    memcpy(p + sizeof len, text, len);
    c->used += need;
    t->text_bytes += need;
    return (uint64_t)(uintptr_t)p;
}

/* A new value, to the free slot where it belongs. */
static int fill(al_table *t, struct al_slot *s, const struct al_listed *it, uint32_t count)
{
    uint64_t key = it->len < IN_KEY(0) ? keep_text(t, text_of(it), it->len) : it->key;

    if (it->len < IN_KEY(0) && !key)
        return AL_ENOMEM;
    *s = (struct al_slot){ key, tag_of(it), count };
    t->used++;
    return AL_OK;
}

static inline int add_value(al_table *t, const struct al_listed *it, uint32_t count)
{
    struct al_slot *s = find(t, it);

    if (!s->count)
        return fill(t, s, it, count);
    s->count += count;
    return AL_OK;
}

static al_cell value_of(const struct al_slot *s)
{
    double real;

    switch (s->tag & 7) {
    case INTEGER: return al_cell_integer((int64_t)s->key);
    case WHOLE_REAL: return al_cell_real((double)(int64_t)s->key);
    case SHORT_TEXT: return short_text(&s->key);
    case LONG_TEXT: return kept_text(s->key);
    default: memcpy(&real, &s->key, sizeof real); return al_cell_real(real);
    }
}

/* A value of a table as one of a list. */
static inline struct al_listed listed_again(const struct al_slot *s)
{
    struct al_listed it = { s->key, s->tag, IN_KEY(s->tag & 7) };

    if ((s->tag & 7) == LONG_TEXT) {
        al_cell text = kept_text(s->key);

        it.key = (uint64_t)(uintptr_t)text.text;
        it.len = text.len;
    }
    return it;
}

/* ---- the values of a segment ---- */

void al_counts_close(al_counts *c)
{
    table_close(&c->table);
    free(c->list);
    memset(c, 0, sizeof *c);
}

void al_counts_clear(al_counts *c, size_t columns)
{
    size_t most = TABLES_ALL / (columns ? columns : 1);

    if (c->table.used > 0)
        memset(c->table.slots, 0, c->table.room * sizeof *c->table.slots);
    if (c->table.chunks) { /* the newest is the largest */
        free_chunks(c->table.chunks->next);
        c->table.chunks->next = NULL;
        c->table.chunks->used = 0;
    }
    c->table.used = c->listed = c->told = 0;
    c->most = most < TABLE_LEAST ? TABLE_LEAST : most > TABLE_MOST ? TABLE_MOST : most;
    c->scattered = false;
    c->run = 0;
}

static int list_all(al_counts *c, const al_cell *cells, size_t n, size_t stride)
{
    const al_cell *cell = cells;

    if (c->listed + n > c->list_room) {
        size_t room = (c->listed + n) + (c->listed + n) / 2;
        struct al_listed *more = realloc(c->list, room * sizeof *more);

        if (!more)
            return AL_ENOMEM;
        c->list = more;
        c->list_room = room;
    }
    for (size_t i = 0; i < n; i++, cell += stride)
        if (cell->kind != AL_CELL_NULL)
            c->list[c->listed++] = listed(cell);
    return AL_OK;
}

static int count_cells(al_counts *c, const al_cell *cells, size_t n, size_t stride)
{
    for (size_t i = 0; i < n; i++, cells += stride) {
        struct al_listed it;

        if (cells->kind == AL_CELL_NULL)
            continue;
        if (c->table.used >= c->most) {
            c->listing = true;
            return list_all(c, cells, n - i, stride);
        }
        it = listed(cells);
        if (make_room(&c->table, 1) != AL_OK || add_value(&c->table, &it, 1) != AL_OK)
            return AL_ENOMEM;
    }
    return AL_OK;
}

static int count_or_list(al_counts *c, const al_cell *cells, size_t n, size_t stride)
{
    return c->listing ? list_all(c, cells, n, stride) : count_cells(c, cells, n, stride);
}

/* How many of the cells the run goes on with. */
static size_t follow_run(al_counts *c, const al_cell *cells, size_t n, size_t stride)
{
    for (size_t i = 0; i < n; i++) {
        const al_cell *cell = &cells[i * stride];

        if (cell->kind == AL_CELL_NULL)
            continue;
        if (cell->kind != AL_CELL_INTEGER)
            return i;
        if (c->run == 0)
            c->run_first = cell->integer;
        if (cell->integer != c->run_first + (int64_t)c->run)
            return i;
        c->run++;
    }
    return n;
}

typedef int add_fn(void *to, const al_cell *cells, size_t n, size_t stride);

/* The values of a run go where others go. */
static int spread_run(int64_t first, uint64_t n, add_fn *add, void *to)
{
    al_cell cells[BLOCK];

    for (uint64_t i = 0; i < n;) {
        size_t have = 0;

        for (; have < BLOCK && i < n; have++, i++)
            cells[have] = al_cell_integer(first + (int64_t)i);
        if (add(to, cells, have, 1) != AL_OK)
            return AL_ENOMEM;
    }
    return AL_OK;
}

static int add_to_counts(void *c, const al_cell *cells, size_t n, size_t stride)
{
    return count_or_list(c, cells, n, stride);
}

int al_counts_add(al_counts *c, const al_cell *cells, size_t n, size_t stride)
{
    size_t done = c->scattered ? 0 : follow_run(c, cells, n, stride);

    if (done == n)
        return AL_OK;
    if (!c->scattered) {
        c->scattered = true;
        if (spread_run(c->run_first, c->run, add_to_counts, c) != AL_OK)
            return AL_ENOMEM;
    }
    return count_or_list(c, cells + done * stride, n - done, stride);
}

void al_counts_texts(al_counts *c, bool all, al_counts_fn *fn, void *arg)
{
    al_cell text;

    for (; c->told < c->listed; c->told++)
        if (listed_text(&c->list[c->told], &text))
            fn(arg, &text, 1);
    for (size_t i = 0; all && c->table.used && i < c->table.room; i++) {
        const struct al_slot *s = &c->table.slots[i];

        if (!s->count || (s->tag & 7) < SHORT_TEXT)
            continue;
        text = value_of(s);
        fn(arg, &text, s->count);
    }
}

/* ---- the values of a column ---- */

int al_values_open(al_values **out)
{
    al_values_prepare();
    *out = calloc(1, sizeof **out);
    return *out ? AL_OK : AL_ENOMEM;
}

void al_values_close(al_values *v)
{
    if (!v)
        return;
    table_close(&v->table);
    free(v->pending);
    free(v->registers);
    free(v);
}

static void observe(al_values *v, uint64_t hash)
{
    size_t i = (size_t)(hash >> (64 - REG_BITS));
    uint64_t rest = hash << REG_BITS;
    unsigned char rank = (unsigned char)(rest ? __builtin_clzll(rest) + 1 : 64 - REG_BITS + 1);

    if (v->registers[i] < rank)
        v->registers[i] = rank;
}

/* For an estimate: only values that were frequent are still in the table. */
static void observe_again(al_values *v, const struct al_listed *it, uint32_t times)
{
    observe(v, full_hash(it));
    if (v->table.used > 0) {
        struct al_slot *s = find(&v->table, it);

        if (s->count)
            s->count += times;
    }
}

static int defer(al_values *v, const struct al_listed *list, size_t n, const uint32_t *counts)
{
    if (v->npending + n > v->pending_room) {
        size_t room = v->npending + n + (v->npending + n) / 2;
        struct al_slot *more = realloc(v->pending, room * sizeof *more);

        if (!more)
            return AL_ENOMEM;
        v->pending = more;
        v->pending_room = room;
    }
    for (size_t i = 0; i < n; i++) {
        const struct al_listed *it = &list[i];
        bool text = it->len < IN_KEY(0);
        uint64_t key = text ? keep_text(&v->table, text_of(it), it->len) : it->key;

        if (text && !key)
            return AL_ENOMEM;
        v->pending[v->npending++] = (struct al_slot){ key, tag_of(it), counts ? counts[i] : 1 };
    }
    return AL_OK;
}

static int take_table(al_values *v, const al_table *t)
{
    if (t->used == 0)
        return AL_OK;
    if (!v->registers && v->npending == 0 && make_room(&v->table, t->used) != AL_OK)
        return AL_ENOMEM;
    for (size_t i = 0; i < t->room; i++) {
        const uint32_t count = t->slots[i].count;
        struct al_listed it;
        int rc = AL_OK;

        if (!count)
            continue;
        it = listed_again(&t->slots[i]);
        if (v->registers)
            observe_again(v, &it, count);
        else if (v->npending)
            rc = defer(v, &it, 1, &count);
        else
            rc = add_value(&v->table, &it, count);
        if (rc != AL_OK)
            return rc;
    }
    return AL_OK;
}

static int take_list(al_values *v, const struct al_listed *list, size_t n)
{
    if (!v->registers && !v->direct)
        return n ? defer(v, list, n, NULL) : AL_OK;
    for (size_t from = 0; from < n; from += TAKEN) {
        size_t to = n - from < TAKEN ? n : from + TAKEN;

        if (v->registers) {
            for (size_t i = from; i < to; i++)
                observe_again(v, &list[i], 1);
            continue;
        }
        if (make_room(&v->table, to - from) != AL_OK)
            return AL_ENOMEM;
        for (size_t i = from; i < to; i++)
            __builtin_prefetch(&v->table.slots[place(tag_of(&list[i]), v->table.room)], 1);
        for (size_t i = from; i < to; i++)
            if (add_value(&v->table, &list[i], 1) != AL_OK)
                return AL_ENOMEM;
    }
    return AL_OK;
}

static double number_of(const al_cell *cell)
{
    return cell->kind == AL_CELL_INTEGER ? (double)cell->integer : cell->real;
}

int al_cell_compare(const al_cell *a, const al_cell *b)
{
    int x = a->kind == AL_CELL_NULL ? 0 : a->kind == AL_CELL_TEXT ? 2 : 1;
    int y = b->kind == AL_CELL_NULL ? 0 : b->kind == AL_CELL_TEXT ? 2 : 1;

    if (x != y || x == 0)
        return x - y;
    if (x == 2) {
        int order = memcmp(a->text, b->text, a->len < b->len ? a->len : b->len);

        return order ? order : (a->len > b->len) - (a->len < b->len);
    }
    /* Stored integers fit a double exactly. */
    return (number_of(a) > number_of(b)) - (number_of(a) < number_of(b));
}

/* Whether a is to be shown before b. */
static bool before(const struct al_slot *a, const struct al_slot *b)
{
    al_cell x, y;

    if (a->count != b->count)
        return a->count > b->count;
    x = value_of(a);
    y = value_of(b);
    return al_cell_compare(&x, &y) < 0;
}

/* The values that come first of those in n slots; how many, at most AL_VALUES_TOP. */
static size_t rank(const struct al_slot *slots, size_t n, struct al_slot *top)
{
    size_t have = 0;

    for (size_t k = 0; k < n; k++) {
        const struct al_slot *s = &slots[k];
        size_t i;

        if (!s->count || (have == AL_VALUES_TOP && s->count < top[have - 1].count))
            continue;
        for (i = have < AL_VALUES_TOP ? have++ : have; i > 0 && before(s, &top[i - 1]); i--)
            if (i < AL_VALUES_TOP)
                top[i] = top[i - 1];
        if (i < AL_VALUES_TOP)
            top[i] = *s;
    }
    return have;
}

/* ---- settling ----
 *
 * A column with many values would look each of them up in a table that no cache holds. So they are
 * kept as they come, and parted by their hashes into pieces that a cache does hold. */

static inline bool same_slots(const struct al_slot *a, const struct al_slot *b)
{
    al_cell x, y;

    if ((a->tag ^ b->tag) >> 1)
        return false;
    if ((a->tag & 7) != LONG_TEXT)
        return a->key == b->key;
    x = kept_text(a->key);
    y = kept_text(b->key);
    return x.len == y.len && same_bytes(x.text, y.text, x.len);
}

static unsigned piece_bits(size_t n)
{
    unsigned bits = 0;

    while (bits < MOST_PIECES_BITS && n >> bits > PIECE)
        bits++;
    return bits;
}

static inline size_t piece_of(const struct al_slot *s, unsigned bits)
{
    return bits ? s->tag >> (32 - bits) : 0;
}

/* The table's values and then the pending ones, those of a piece together, in the order in which
 * they came. ends: where each piece ends. */
static void make_pieces(const al_values *v, struct al_slot *out, unsigned bits, size_t *ends)
{
    size_t at = 0;

    for (size_t i = 0; i < v->table.room; i++)
        if (v->table.slots[i].count)
            ends[piece_of(&v->table.slots[i], bits)]++;
    for (size_t i = 0; i < v->npending; i++)
        ends[piece_of(&v->pending[i], bits)]++;
    for (size_t i = 0; i < (size_t)1 << bits; i++) {
        size_t n = ends[i];

        ends[i] = at;
        at += n;
    }
    for (size_t i = 0; i < v->table.room; i++)
        if (v->table.slots[i].count)
            out[ends[piece_of(&v->table.slots[i], bits)]++] = v->table.slots[i];
    for (size_t i = 0; i < v->npending; i++)
        out[ends[piece_of(&v->pending[i], bits)]++] = v->pending[i];
}

/* The n values of a piece without repetitions, to out (which may be where they are); how many. */
static size_t unite(const struct al_slot *piece, size_t n, struct al_slot *out, uint32_t *places,
                    size_t room, uint64_t *text_bytes)
{
    size_t have = 0;

    memset(places, 0, room * sizeof *places);
    for (size_t i = 0; i < n; i++) {
        const struct al_slot it = piece[i];
        size_t k = (it.tag >> 3) & (room - 1);

        while (places[k] && !same_slots(&out[places[k] - 1], &it))
            k = (k + 1) & (room - 1);
        if (places[k]) {
            out[places[k] - 1].count += it.count;
            continue;
        }
        out[have++] = it;
        places[k] = (uint32_t)have;
        if ((it.tag & 7) == LONG_TEXT)
            *text_bytes += sizeof(uint32_t) + kept_text(it.key).len;
    }
    return have;
}

/* All values without repetitions to `all`, which has room for *n, with repetitions; *n becomes how
 * many they are. The order is that of their hashes. */
static int unite_all(const al_values *v, struct al_slot *all, size_t *n, uint64_t *text_bytes)
{
    const unsigned bits = piece_bits(*n);
    size_t *ends = calloc((size_t)1 << bits, sizeof *ends), most = 0, have = 0, room = 2;
    uint32_t *places = NULL;

    *text_bytes = 0;
    if (ends) {
        make_pieces(v, all, bits, ends);
        for (size_t i = 0, from = 0; i < (size_t)1 << bits; from = ends[i++])
            most = ends[i] - from > most ? ends[i] - from : most;
        while (room < 2 * most)
            room *= 2;
        places = malloc(room * sizeof *places);
    }
    for (size_t i = 0, from = 0; places && i < (size_t)1 << bits; from = ends[i++]) {
        size_t count = ends[i] - from, fits = 2;

        while (fits < 2 * count)
            fits *= 2;
        have += unite(all + from, count, all + have, places, fits, text_bytes);
    }
    *n = have;
    free(ends);
    if (!places)
        return AL_ENOMEM;
    free(places);
    return AL_OK;
}

static void drop_pending(al_values *v)
{
    free(v->pending);
    v->pending = NULL;
    v->npending = v->pending_room = 0;
}

int al_values_settle(al_values *v, bool direct)
{
    const size_t room = v->table.used + v->npending;
    al_table table = { .chunks = v->table.chunks };
    struct al_slot *all;
    size_t n = room;
    int rc;

    v->direct = direct;
    if (v->npending == 0)
        return AL_OK;
    all = al_big_alloc(room * sizeof *all);
    rc = all ? unite_all(v, all, &n, &table.text_bytes) : AL_ENOMEM;
    if (rc == AL_OK) { /* before the new table needs its room */
        al_big_free(v->table.slots, v->table.room * sizeof *v->table.slots);
        v->table = (al_table){ .chunks = v->table.chunks };
        drop_pending(v);
        rc = make_room(&table, n);
    }
    for (size_t k = 0; k < n && rc == AL_OK; k++) { /* one walk through the table */
        size_t i = place(all[k].tag, table.room);

        while (table.slots[i].count)
            i = i + 1 < table.room ? i + 1 : 0;
        table.slots[i] = all[k];
    }
    al_big_free(all, room * sizeof *all);
    if (rc != AL_OK)
        return rc;
    table.used = n;
    v->table = table;
    return AL_OK;
}

void al_scratch_free(al_scratch *s)
{
    al_big_free(s->bytes, s->room);
    *s = (al_scratch){ 0 };
}

static int scratch_room(al_scratch *s, size_t bytes)
{
    if (bytes <= s->room)
        return AL_OK;
    al_scratch_free(s);
    s->bytes = al_big_alloc(bytes);
    s->room = s->bytes ? bytes : 0;
    return s->bytes ? AL_OK : AL_ENOMEM;
}

int al_values_finish(al_values *v, al_scratch *scratch)
{
    size_t n = v->table.used + v->npending;
    uint64_t text_bytes;

    if (v->npending == 0)
        return AL_OK;
    if (scratch_room(scratch, n * sizeof(struct al_slot)) != AL_OK ||
        unite_all(v, scratch->bytes, &n, &text_bytes) != AL_OK)
        return AL_ENOMEM;
    v->ntop = rank(scratch->bytes, n, v->top);
    v->finished = true;
    al_big_free(v->table.slots, v->table.room * sizeof *v->table.slots);
    v->table.slots = NULL;
    v->table.room = 0;
    v->table.used = n;
    drop_pending(v);
    return AL_OK;
}

static int add_to_values(void *v, const al_cell *cells, size_t n, size_t stride)
{
    struct al_listed list[BLOCK];

    for (size_t i = 0; i < n; i++)
        list[i] = listed(&cells[i * stride]);
    return take_list(v, list, n);
}

/* The values of the run go where others go. */
static int end_run(al_values *v)
{
    const uint64_t values = v->run;

    v->scattered = true;
    if (values > MAX_RUN && al_values_estimate(v) != AL_OK)
        return AL_ENOMEM;
    if (spread_run(v->run_first, values, add_to_values, v) != AL_OK)
        return AL_ENOMEM;
    if (v->registers)
        v->exact_distinct = values;
    return AL_OK;
}

int al_values_take(al_values *v, const al_counts *c)
{
    if (!c->scattered && c->run == 0)
        return AL_OK;
    if (!v->scattered && !c->scattered &&
        (v->run == 0 || c->run_first == v->run_first + (int64_t)v->run)) {
        if (v->run == 0)
            v->run_first = c->run_first;
        v->run += c->run;
        return AL_OK;
    }
    if (!v->scattered && end_run(v) != AL_OK)
        return AL_ENOMEM;
    if (!c->scattered)
        return spread_run(c->run_first, c->run, add_to_values, v);
    return take_table(v, &c->table) == AL_OK ? take_list(v, c->list, c->listed) : AL_ENOMEM;
}

uint64_t al_values_cost(const al_values *v)
{
    return v->registers ? 0
                        : (v->table.used + v->npending) * (uint64_t)SLOT_COST + v->table.text_bytes;
}

/* The smallest count that at most KEPT values exceed. */
static uint32_t threshold(const al_table *t)
{
    size_t *above = calloc(KEPT + 2, sizeof *above), total = 0;
    uint32_t least = KEPT;

    if (!above)
        return UINT32_MAX;
    for (size_t i = 0; i < t->room; i++)
        above[t->slots[i].count <= KEPT ? t->slots[i].count : KEPT + 1]++;
    for (total = above[KEPT + 1]; least > 0 && total + above[least] <= KEPT; least--)
        total += above[least];
    free(above);
    return least;
}

/* Observes all values, and puts those that occur more than `least` times into kept. */
static int keep_frequent(al_values *v, al_table *kept, uint32_t least)
{
    for (size_t i = 0; i < v->table.room; i++) {
        const struct al_slot *s = &v->table.slots[i];
        struct al_listed it;

        if (!s->count)
            continue;
        it = listed_again(s);
        observe(v, full_hash(&it));
        if (s->count > least && add_value(kept, &it, s->count) != AL_OK)
            return AL_ENOMEM;
    }
    return AL_OK;
}

int al_values_estimate(al_values *v)
{
    al_table kept = { 0 };

    if (v->registers)
        return AL_OK;
    if (!v->scattered && end_run(v) != AL_OK)
        return AL_ENOMEM;
    if (v->registers) /* the run was so long */
        return AL_OK;
    if (al_values_settle(v, v->direct) != AL_OK)
        return AL_ENOMEM;
    v->registers = calloc(REGISTERS, 1);
    if (!v->registers || make_room(&kept, KEPT) != AL_OK ||
        keep_frequent(v, &kept, threshold(&v->table)) != AL_OK) {
        table_close(&kept);
        return AL_ENOMEM;
    }
    v->exact_distinct = v->table.used;
    table_close(&v->table);
    v->table = kept;
    return AL_OK;
}

bool al_values_exact(const al_values *v)
{
    return !v->registers;
}

static uint64_t estimate(const al_values *v)
{
    const double m = REGISTERS, alpha = 0.7213 / (1 + 1.079 / m);
    double sum = 0, e;
    unsigned zeros = 0;

    for (unsigned i = 0; i < REGISTERS; i++) {
        sum += ldexp(1, -v->registers[i]);
        zeros += v->registers[i] == 0;
    }
    e = alpha * m * m / sum;
    if (zeros && e <= 2.5 * m)
        e = m * log(m / zeros);
    return (uint64_t)(e + 0.5);
}

uint64_t al_values_distinct(const al_values *v)
{
    uint64_t n;

    if (!v->scattered)
        return v->run;
    if (!v->registers)
        return v->table.used;
    n = estimate(v);
    return n > v->exact_distinct ? n : v->exact_distinct;
}

size_t al_values_top(al_values *v, al_value_count *top, size_t n)
{
    size_t have = 0;

    assert(n <= AL_VALUES_TOP);
    for (; !v->scattered && have < n && have < v->run; have++)
        top[have] = (al_value_count){ al_cell_integer(v->run_first + (int64_t)have), 1 };
    if (!v->scattered)
        return have;
    if (!v->finished)
        v->ntop = rank(v->table.slots, v->table.room, v->top);
    for (; have < n && have < v->ntop; have++)
        top[have] = (al_value_count){ value_of(&v->top[have]), v->top[have].count };
    return have;
}
