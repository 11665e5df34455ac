/* Tables with open addressing and 16-byte slots, at a place that is a monotone function of the
 * hash: a table grows in one sequential walk, without hashing again. They serve columns of few
 * values.
 *
 * Many values would be looked up in a table that no cache holds. So those of a segment are listed,
 * and made a pile, parted by their hashes into pieces. When it matters which of them are the same,
 * the first pieces of all piles are united in a small table, then the second ones, and so on.
 *
 * The estimate is HyperLogLog with 2^14 registers (0.8 % standard error). */
#include "data/values.h"
#include "base/big.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/hash_inline.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK         32      /* values that are looked at before they are counted */
#define SPREAD        65536   /* values of a run that make a pile */
#define TABLE_LEAST   32      /* values that the table of any segment may have */
#define TABLE_MOST    4096    /* and at most; what follows is listed */
#define TABLES_ALL    49152   /* values of the tables of all columns of a segment */
#define FIRST_ROOM    64      /* slots of a new table */
#define SMALL_ROOM    262144  /* slots; smaller tables grow fast, */
#define LARGE_ROOM    1048576 /* larger ones slowly, for they are most of all memory */
#define CHUNK_MIN     1024
#define CHUNK_MAX     (1u << 20)
#define PIECE_BITS    8
#define PIECES        (1u << PIECE_BITS) /* of a pile */
#define UNITED_LEAST  2048               /* values that are united at a time, about */
#define SLOT_COST     32                 /* a slot of a table, and its share of the empty ones */
#define MAX_RUN       ((UINT64_C(256) << 20) / SLOT_COST) /* a longer one that ends: an estimate */
#define SETTLE_GROWTH 16   /* settling is worth while when so much of all is new: 1 of 16 */
#define FEW           128  /* cells of a segment, whose values go to the table all the same */
#define KEPT          4096 /* values at most that an estimate goes on counting */
#define REG_BITS      14
#define REGISTERS     (1u << REG_BITS)
#define HASH_BITS     29 /* of a hash, in the tag */

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

/* Values one by one, some of them several times. Those of piece i end at ends[i], and the pieces
 * follow each other; the texts lie behind them. */
struct al_pile {
    uint64_t text_bytes;
    uint64_t cells, cell_text; /* of which they are, and bytes of their texts, one by one */
    uint32_t ends[PIECES];
    struct al_slot slots[];
};

struct al_values {
    bool scattered;    /* until then the values are run_first, run_first + 1 …: row ids, mostly */
    int64_t run_first; /* they need no table */
    uint64_t run;
    al_table table;         /* of segments with few values */
    struct al_pile **piles; /* of the others */
    size_t npiles, piles_room;
    uint64_t piled, piled_text; /* values in the piles, and bytes of their texts */
    uint64_t cells, cell_text;  /* that have come to the piles since they were settled */
    struct {
        uint64_t distinct, text; /* different values, and bytes of their texts */
        struct al_slot top[AL_VALUES_TOP];
        size_t ntop;
    } settled;
    bool finished; /* only what is settled is left */
    /* An estimate, from when there are registers: which values the table has does not change any
     * more, and what is counted since is in `kept`, by slots: other threads look up meanwhile. */
    _Atomic(unsigned char *) registers;
    uint32_t *kept;
    uint64_t exact_distinct; /* when it became one */
};

static inline uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

/* Tables use a hash with a secret key. What they hold does not depend on it; estimates do, and use
 * one without a key. */
static inline uint64_t hash_key(uint64_t key, unsigned kind)
{
    return mix(key + (kind >> 1));
}

static inline uint64_t keyed_hash(uint64_t key, unsigned kind)
{
    return mix((key ^ al_hash_secret.a) * (al_hash_secret.b | 1) + (kind >> 1));
}

static inline unsigned kind_of(const struct al_listed *it)
{
    return it->len >= IN_KEY(0) ? it->len - IN_KEY(0) : LONG_TEXT;
}

static inline const char *text_of(const struct al_listed *it)
{
    return (const char *)(uintptr_t)it->key;
}

static inline uint64_t short_key(const al_cell *cell)
{
    const char *text = cell->text;
    const uint32_t len = cell->len;
    unsigned char bytes[8] = { 0 };
    uint64_t key;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (cell->slack) {
        memcpy(&key, text, sizeof key);
        return (key & ~(~UINT64_C(0) << 8 * len)) | (uint64_t)len << 8 * SHORT;
    }
#endif
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

static inline __attribute__((always_inline)) struct al_listed listed(const al_cell *cell)
{
    uint64_t key = (uint64_t)cell->integer, hash;
    unsigned kind = INTEGER;

    if (cell->kind == AL_CELL_TEXT && cell->len > SHORT) {
        hash = al_hash64_keyed_inline(cell->text, cell->len, al_hash_secret.text);
        return (struct al_listed){ (uint64_t)(uintptr_t)cell->text, (uint32_t)(hash >> 32),
                                   cell->len };
    }
    if (cell->kind == AL_CELL_TEXT) {
        kind = SHORT_TEXT;
        key = short_key(cell);
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
    s->tag &= tag_of(it); /* the integer, of the two kinds that are one value */
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
    free(c->pile);
    free(c->registers);
    memset(c, 0, sizeof *c);
}

int al_counts_clear(al_counts *c, size_t columns, const al_values *v)
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
    free(c->pile); /* it was not taken */
    c->pile = NULL;
    c->estimate = v && v->registers ? v : NULL;
    if (!c->estimate)
        return AL_OK;
    c->scattered = true;
    free(c->registers);
    c->registers = calloc(REGISTERS, 1);
    return c->registers ? AL_OK : AL_ENOMEM;
}

static int list_all(al_counts *c, const al_cell *cells, size_t n, size_t stride)
{
    const al_cell *cell = cells;

    if (c->listed + n > c->list_room) {
        size_t room = 2 * (c->listed + n);
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

/* Hashes first, so that no wrong guess about a value holds up the way to another one's slot. */
static int count_cells(al_counts *c, const al_cell *cells, size_t n, size_t stride)
{
    for (size_t done = 0; done < n;) {
        const size_t end = n - done < BLOCK ? n : done + BLOCK;
        struct al_listed block[BLOCK];
        size_t have = 0;

        if (c->table.used >= c->most) {
            c->listing = true;
            return list_all(c, cells + done * stride, n - done, stride);
        }
        for (; done < end; done++)
            if (cells[done * stride].kind != AL_CELL_NULL)
                block[have++] = listed(&cells[done * stride]);
        if (make_room(&c->table, have) != AL_OK)
            return AL_ENOMEM;
        for (size_t i = 0; i < have; i++)
            if (add_value(&c->table, &block[i], 1) != AL_OK)
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

/* The values of a run go where others go. */
static int spread_run(int64_t first, uint64_t n, al_counts *c)
{
    al_cell cells[BLOCK];

    for (uint64_t i = 0; i < n;) {
        size_t have = 0;

        for (; have < BLOCK && i < n; have++, i++)
            cells[have] = al_cell_integer(first + (int64_t)i);
        if (count_or_list(c, cells, have, 1) != AL_OK)
            return AL_ENOMEM;
    }
    return AL_OK;
}

static inline void observe(unsigned char *registers, uint64_t hash)
{
    size_t i = (size_t)(hash >> (64 - REG_BITS));
    uint64_t rest = hash << REG_BITS;
    unsigned char rank = (unsigned char)(rest ? __builtin_clzll(rest) + 1 : 64 - REG_BITS + 1);

    if (registers[i] < rank)
        registers[i] = rank;
}

static int observe_cells(al_counts *c, const al_cell *cells, size_t n, size_t stride)
{
    const al_table *kept = &c->estimate->table;

    for (size_t i = 0; i < n; i++, cells += stride) {
        struct al_listed it;

        if (cells->kind == AL_CELL_NULL)
            continue;
        it = listed(cells);
        observe(c->registers, full_hash(&it));
        if (kept->used > 0 && find(kept, &it)->count && list_all(c, cells, 1, 1) != AL_OK)
            return AL_ENOMEM;
    }
    return AL_OK;
}

int al_counts_add(al_counts *c, const al_cell *cells, size_t n, size_t stride)
{
    size_t done = c->scattered ? 0 : follow_run(c, cells, n, stride);

    if (done == n)
        return AL_OK;
    if (c->estimate)
        return observe_cells(c, cells, n, stride);
    if (!c->scattered) {
        c->scattered = true;
        if (spread_run(c->run_first, c->run, c) != AL_OK)
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

/* ---- piles ---- */

static inline size_t piece_of(uint32_t tag)
{
    return tag >> (32 - PIECE_BITS);
}

/* An empty one for values whose numbers in each piece are in counts. */
static struct al_pile *new_pile(const uint32_t *counts, uint64_t text_bytes)
{
    struct al_pile *p;
    size_t n = 0;

    for (size_t i = 0; i < PIECES; i++)
        n += counts[i];
    p = malloc(sizeof *p + n * sizeof *p->slots + text_bytes);
    if (!p)
        return NULL;
    p->text_bytes = text_bytes;
    for (size_t i = 0, at = 0; i < PIECES; at += counts[i++])
        p->ends[i] = (uint32_t)at;
    return p;
}

/* The next value of its piece. *texts: where the next text goes. */
static inline void put_in_pile(struct al_pile *p, const struct al_listed *it, uint32_t count,
                               unsigned char **texts)
{
    uint32_t tag = tag_of(it);
    uint64_t key = it->key;

    if (it->len < IN_KEY(0)) {
        key = (uint64_t)(uintptr_t)*texts;
        memcpy(*texts, &it->len, sizeof it->len);
        memcpy(*texts + sizeof it->len, text_of(it), it->len);
        *texts += sizeof it->len + it->len;
    }
    p->slots[p->ends[piece_of(tag)]++] = (struct al_slot){ key, tag, count };
}

static inline size_t text_cost(const struct al_listed *it)
{
    return it->len < IN_KEY(0) ? sizeof it->len + it->len : 0;
}

static size_t pile_begin(const struct al_pile *p, size_t piece)
{
    return piece ? p->ends[piece - 1] : 0;
}

static inline size_t pile_size(const struct al_pile *p)
{
    return p->ends[PIECES - 1];
}

/* Those of n slots (some of them free) and of a list as a pile; NULL without memory. */
static struct al_pile *pile_of(const struct al_slot *slots, size_t n, const struct al_listed *list,
                               size_t listed)
{
    uint32_t counts[PIECES] = { 0 };
    uint64_t text_bytes = 0, cells = listed, cell_text = 0;
    unsigned char *texts;
    struct al_pile *p;
    size_t used = listed;

    for (size_t i = 0; i < listed; i++) {
        counts[piece_of(list[i].hash)]++;
        text_bytes += text_cost(&list[i]);
    }
    cell_text = text_bytes;
    for (size_t i = 0; i < n; i++) {
        struct al_listed it;

        if (!slots[i].count)
            continue;
        it = listed_again(&slots[i]);
        used++;
        counts[piece_of(it.hash)]++;
        text_bytes += text_cost(&it);
        cells += slots[i].count;
        cell_text += (uint64_t)slots[i].count * text_cost(&it);
    }
    p = new_pile(counts, text_bytes);
    if (!p)
        return NULL;
    p->cells = cells;
    p->cell_text = cell_text;
    texts = (unsigned char *)(p->slots + used);
    for (size_t i = 0; i < n; i++)
        if (slots[i].count) {
            struct al_listed it = listed_again(&slots[i]);

            put_in_pile(p, &it, slots[i].count, &texts);
        }
    for (size_t i = 0; i < listed; i++)
        put_in_pile(p, &list[i], 1, &texts);
    return p;
}

/* ---- the values of a column ---- */

int al_values_open(al_values **out)
{
    al_hash_prepare();
    *out = calloc(1, sizeof **out);
    return *out ? AL_OK : AL_ENOMEM;
}

static void drop_piles(al_values *v)
{
    for (size_t i = 0; i < v->npiles; i++)
        free(v->piles[i]);
    v->npiles = 0;
    v->piled = v->piled_text = v->cells = v->cell_text = 0;
}

void al_values_close(al_values *v)
{
    if (!v)
        return;
    table_close(&v->table);
    drop_piles(v);
    free(v->piles);
    free(v->registers);
    free(v->kept);
    free(v);
}

static int add_pile(al_values *v, struct al_pile *p)
{
    if (v->npiles == v->piles_room) {
        size_t room = v->piles_room ? v->piles_room * 2 : 16;
        struct al_pile **more = realloc(v->piles, room * sizeof *more);

        if (!more)
            return AL_ENOMEM;
        v->piles = more;
        v->piles_room = room;
    }
    v->piles[v->npiles++] = p;
    v->piled += pile_size(p);
    v->piled_text += p->text_bytes;
    v->cells += p->cells;
    v->cell_text += p->cell_text;
    return AL_OK;
}

/* All values are in piles then. */
static int pile_table(al_values *v)
{
    struct al_pile *p;

    if (v->table.used == 0)
        return AL_OK;
    p = pile_of(v->table.slots, v->table.room, NULL, 0);
    if (!p || add_pile(v, p) != AL_OK) {
        free(p);
        return AL_ENOMEM;
    }
    table_close(&v->table);
    return AL_OK;
}

/* What an estimate goes on with: only values that were frequent are still in the table. */
static void count_kept(al_values *v, const struct al_listed *it, uint32_t times)
{
    if (v->table.used > 0) {
        const struct al_slot *s = find(&v->table, it);

        if (s->count)
            v->kept[s - v->table.slots] += times;
    }
}

static void observe_again(al_values *v, const struct al_slot *slots, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct al_listed it;

        if (!slots[i].count)
            continue;
        it = listed_again(&slots[i]);
        observe(v->registers, full_hash(&it));
        count_kept(v, &it, slots[i].count);
    }
}

static void take_observed(al_values *v, const al_counts *c)
{
    unsigned char *registers = v->registers;

    for (size_t i = 0; i < REGISTERS; i++)
        if (registers[i] < c->registers[i])
            registers[i] = c->registers[i];
    for (size_t i = 0; i < c->listed; i++)
        count_kept(v, &c->list[i], 1);
}

static int take_table(al_values *v, const al_table *t)
{
    if (t->used == 0)
        return AL_OK;
    if (make_room(&v->table, t->used) != AL_OK)
        return AL_ENOMEM;
    for (size_t i = 0; i < t->room; i++) {
        struct al_listed it;

        if (!t->slots[i].count)
            continue;
        it = listed_again(&t->slots[i]);
        if (add_value(&v->table, &it, t->slots[i].count) != AL_OK)
            return AL_ENOMEM;
    }
    return AL_OK;
}

/* ---- settling ---- */

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

/* Values of all piles without repetitions. */
struct united {
    struct al_slot *slots;
    size_t n;
    uint64_t repeated; /* bytes of the texts that were left out */
    uint32_t *places;  /* a table: numbers of slots, from 1 */
};

/* The first place from k on that is free, or has a value that may be this one. */
static inline size_t look_for(const struct united *u, size_t k, size_t room, uint32_t tag)
{
    while (u->places[k] && (u->slots[u->places[k] - 1].tag ^ tag) >> 1)
        k = (k + 1) & (room - 1);
    return k;
}

static inline void unite_one(struct united *u, const struct al_slot *it, size_t k, size_t room)
{
    struct al_slot *there;

    while (u->places[k] && !same_slots(&u->slots[u->places[k] - 1], it))
        k = look_for(u, (k + 1) & (room - 1), room, it->tag);
    if (!u->places[k]) {
        u->slots[u->n++] = *it;
        u->places[k] = (uint32_t)u->n;
        return;
    }
    there = &u->slots[u->places[k] - 1];
    there->tag &= it->tag;
    there->count += it->count;
    if ((it->tag & 7) == LONG_TEXT)
        u->repeated += sizeof(uint32_t) + kept_text(it->key).len;
}

/* Adds n values; the table has `room` places. Texts are compared when both are on their way. */
static void unite(struct united *u, const struct al_slot *slots, size_t n, size_t room)
{
    for (size_t done = 0; done < n; done += BLOCK) {
        size_t some = n - done < BLOCK ? n - done : BLOCK, at[BLOCK];

        for (size_t i = 0; i < some; i++) {
            const struct al_slot *it = &slots[done + i];

            at[i] = look_for(u, (it->tag >> 3) & (room - 1), room, it->tag);
            if ((it->tag & 7) == LONG_TEXT && u->places[at[i]]) {
                __builtin_prefetch((const void *)(uintptr_t)it->key);
                __builtin_prefetch((const void *)(uintptr_t)u->slots[u->places[at[i]] - 1].key);
            }
        }
        for (size_t i = 0; i < some; i++)
            unite_one(u, &slots[done + i], at[i], room);
    }
}

static size_t places_for(size_t n)
{
    size_t room = 2;

    while (room < 4 * n)
        room *= 2;
    return room;
}

/* How many values the pieces [from, to) of all piles have. */
static size_t pieces_size(const al_values *v, size_t from, size_t to)
{
    size_t n = 0;

    for (size_t i = 0; i < v->npiles; i++)
        n += v->piles[i]->ends[to - 1] - pile_begin(v->piles[i], from);
    return n;
}

typedef int united_fn(void *arg, const struct al_slot *slots, size_t n);

/* Calls fn with the different values of all piles, those of `step` pieces at a time; sets the bytes
 * of the texts that are repeated. AL_OK, or what fn returned, or AL_ENOMEM. */
static int each_united(const al_values *v, size_t step, united_fn *fn, void *arg,
                       uint64_t *repeated)
{
    struct united u = { 0 };
    size_t most = 0;
    int rc;

    for (size_t from = 0; from < PIECES; from += step) {
        size_t n = pieces_size(v, from, from + step);

        most = n > most ? n : most;
    }
    u.slots = al_big_malloc((most ? most : 1) * sizeof *u.slots);
    u.places = malloc(places_for(most) * sizeof *u.places);
    rc = u.slots && u.places ? AL_OK : AL_ENOMEM;
    for (size_t from = 0; from < PIECES && rc == AL_OK; from += step) {
        size_t room = places_for(pieces_size(v, from, from + step));

        u.n = 0;
        memset(u.places, 0, room * sizeof *u.places);
        for (size_t i = 0; i < v->npiles; i++) {
            const struct al_pile *p = v->piles[i];
            size_t begin = pile_begin(p, from);

            unite(&u, p->slots + begin, p->ends[from + step - 1] - begin, room);
        }
        rc = fn(arg, u.slots, u.n);
    }
    free(u.slots);
    free(u.places);
    *repeated = u.repeated;
    return rc;
}

static size_t fitting_step(const al_values *v)
{
    size_t step = 1;

    while (step < PIECES && v->piled * step / PIECES < UNITED_LEAST)
        step *= 2;
    return step;
}

/* Puts those of n slots that belong there among the first ones. */
static void rank(const struct al_slot *slots, size_t n, struct al_slot *top, size_t *have)
{
    for (size_t k = 0; k < n; k++) {
        const struct al_slot *s = &slots[k];
        size_t i;

        if (!s->count || (*have == AL_VALUES_TOP && s->count < top[*have - 1].count))
            continue;
        for (i = *have < AL_VALUES_TOP ? (*have)++ : *have; i > 0 && before(s, &top[i - 1]); i--)
            if (i < AL_VALUES_TOP)
                top[i] = top[i - 1];
        if (i < AL_VALUES_TOP)
            top[i] = *s;
    }
}

static int note_united(void *values, const struct al_slot *slots, size_t n)
{
    al_values *v = values;

    v->settled.distinct += n;
    rank(slots, n, v->settled.top, &v->settled.ntop);
    return AL_OK;
}

/* One pile that is being made of many. */
struct compaction {
    struct al_pile *pile;
    size_t piece;
    unsigned char *texts;
};

static int add_united(void *compaction, const struct al_slot *slots, size_t n)
{
    struct compaction *c = compaction;

    c->pile->ends[c->piece] = (uint32_t)pile_begin(c->pile, c->piece);
    for (size_t i = 0; i < n; i++) {
        struct al_listed it = listed_again(&slots[i]);

        put_in_pile(c->pile, &it, slots[i].count, &c->texts);
    }
    c->piece++;
    return AL_OK;
}

/* Makes one pile of all. */
static int compact(al_values *v)
{
    const size_t n = v->settled.distinct;
    struct compaction c = { 0 };
    uint64_t repeated;

    c.pile = malloc(sizeof *c.pile + n * sizeof *c.pile->slots + v->settled.text);
    if (!c.pile)
        return AL_ENOMEM;
    c.pile->text_bytes = v->settled.text;
    c.texts = (unsigned char *)(c.pile->slots + n);
    if (each_united(v, 1, add_united, &c, &repeated) != AL_OK) {
        free(c.pile);
        return AL_ENOMEM;
    }
    drop_piles(v);
    c.pile->cells = c.pile->cell_text = 0; /* they are settled */
    add_pile(v, c.pile);                   /* there is room for one */
    v->settled.ntop = 0;                   /* the texts have moved */
    rank(c.pile->slots, n, v->settled.top, &v->settled.ntop);
    return AL_OK;
}

/* What has come since all was settled. */
static uint64_t unsettled(const al_values *v)
{
    return v->table.used + v->cells;
}

/* Which values are the same, but all stay as they are. */
static int learn(al_values *v)
{
    uint64_t repeated;

    if (v->npiles == 0 || v->registers || unsettled(v) == 0)
        return AL_OK; /* a table knows, or it is known */
    if (pile_table(v) != AL_OK)
        return AL_ENOMEM;
    v->settled.distinct = v->settled.ntop = 0;
    if (each_united(v, fitting_step(v), note_united, v, &repeated) != AL_OK)
        return AL_ENOMEM;
    v->settled.text = v->piled_text - repeated;
    v->cells = v->cell_text = 0;
    return AL_OK;
}

int al_values_settle(al_values *v)
{
    uint64_t now, then;

    if (learn(v) != AL_OK)
        return AL_ENOMEM;
    now = v->piled * sizeof(struct al_slot) + v->piled_text;
    then = v->settled.distinct * sizeof(struct al_slot) + v->settled.text;
    if (v->npiles < 2 || then > now - now / 4)
        return AL_OK;
    return compact(v); /* for they are a good deal less than they were */
}

/* ---- the end of a segment ---- */

/* How many different values there may be in a segment of so many cells that is no pile. What
 * becomes of a segment depends on its cells alone, not on what was done for speed. */
static uint64_t few(uint64_t cells)
{
    return (cells + FEW) / 4;
}

struct counting {
    uint64_t have, most;
};

static int count_different(void *counting, const struct al_slot *slots, size_t n)
{
    struct counting *c = counting;

    (void)slots;
    c->have += n;
    return c->have > c->most; /* more need not be known */
}

/* The table, where it has all values and these are few; else a pile. */
int al_counts_end(al_counts *c)
{
    struct al_pile *p;
    al_values one = { .piles = &p, .npiles = 1 };
    struct counting different = { 0 };
    uint64_t repeated;
    int rc;

    if (c->estimate || !c->scattered)
        return AL_OK;
    if (c->listed == 0 && c->table.used <= FEW / 4)
        return AL_OK;
    if (c->listed == 0) {
        uint64_t cells = 0;

        for (size_t i = 0; i < c->table.room; i++)
            cells += c->table.slots[i].count;
        if (c->table.used <= few(cells))
            return AL_OK;
    }
    p = pile_of(c->table.slots, c->table.used ? c->table.room : 0, c->list, c->listed);
    if (!p)
        return AL_ENOMEM;
    one.piled = pile_size(p);
    different.most = few(p->cells);
    rc = each_united(&one, fitting_step(&one), count_different, &different, &repeated);
    if (rc < 0) {
        free(p);
        return rc;
    }
    if (different.have > different.most) {
        c->pile = p;
        if (c->table.used > 0)
            memset(c->table.slots, 0, c->table.room * sizeof *c->table.slots);
        c->table.used = 0;
        return AL_OK;
    }
    rc = AL_OK;
    for (size_t i = 0; i < c->listed && rc == AL_OK; i++)
        rc = make_room(&c->table, 1) == AL_OK ? add_value(&c->table, &c->list[i], 1) : AL_ENOMEM;
    free(p);
    return rc;
}

/* The values of a run go where others go. */
static int take_run(al_values *v, int64_t first, uint64_t n)
{
    al_counts part = { .scattered = true };
    int rc = AL_OK;

    for (uint64_t done = 0; done < n && rc == AL_OK; done += SPREAD) {
        uint64_t some = n - done < SPREAD ? n - done : SPREAD;

        rc = al_counts_clear(&part, 1, NULL);
        part.scattered = true;
        if (rc == AL_OK)
            rc = spread_run(first + (int64_t)done, some, &part);
        if (rc == AL_OK)
            rc = al_counts_end(&part);
        if (rc == AL_OK)
            rc = al_values_take(v, &part);
    }
    al_counts_close(&part);
    return rc;
}

static int end_run(al_values *v)
{
    const uint64_t values = v->run;

    v->scattered = true;
    if (values > MAX_RUN && al_values_estimate(v) != AL_OK)
        return AL_ENOMEM;
    if (take_run(v, v->run_first, values) != AL_OK)
        return AL_ENOMEM;
    if (v->registers)
        v->exact_distinct = values;
    return AL_OK;
}

int al_values_take(al_values *v, al_counts *c)
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
        return take_run(v, c->run_first, c->run);
    if (c->estimate) {
        take_observed(v, c);
        return AL_OK;
    }
    if (v->registers) {
        observe_again(v, c->table.slots, c->table.used ? c->table.room : 0);
        if (c->pile)
            observe_again(v, c->pile->slots, pile_size(c->pile));
        return AL_OK;
    }
    if (take_table(v, &c->table) != AL_OK || (c->pile && add_pile(v, c->pile) != AL_OK))
        return AL_ENOMEM;
    c->pile = NULL;
    return AL_OK;
}

uint64_t al_values_cost(const al_values *v)
{
    if (v->registers)
        return 0;
    return (v->settled.distinct + unsettled(v)) * SLOT_COST + v->table.text_bytes +
           v->settled.text + v->cell_text;
}

bool al_values_unsettled(const al_values *v)
{
    return !v->registers && v->npiles > 0 && unsettled(v) * SETTLE_GROWTH > v->settled.distinct;
}

/* An estimate that is being made. */
struct estimation {
    unsigned shift;
    size_t above[KEPT + 2]; /* values with each count >> shift; the last: with a larger one */
    uint64_t distinct;
    al_table kept; /* those with more than */
    uint32_t least;
};

static int keep_frequent(void *estimation, const struct al_slot *slots, size_t n)
{
    struct estimation *e = estimation;

    for (size_t i = 0; i < n && e->kept.used <= KEPT; i++) {
        struct al_listed it;

        if (slots[i].count <= e->least)
            continue;
        it = listed_again(&slots[i]);
        if (make_room(&e->kept, 1) != AL_OK || add_value(&e->kept, &it, slots[i].count) != AL_OK)
            return AL_ENOMEM;
    }
    return AL_OK;
}

static int count_counts(void *estimation, const struct al_slot *slots, size_t n)
{
    struct estimation *e = estimation;

    e->distinct += n;
    for (size_t i = 0; i < n; i++) {
        uint32_t count = slots[i].count >> e->shift;

        e->above[count <= KEPT ? count : KEPT + 1]++;
    }
    return keep_frequent(e, slots, n);
}

/* The smallest count that at most KEPT values exceed; of large ones about. */
static uint32_t threshold(const struct estimation *e)
{
    size_t total = e->above[KEPT + 1];
    uint32_t least = KEPT;

    for (; least > 0 && total + e->above[least] <= KEPT; least--)
        total += e->above[least];
    return least << e->shift | ((UINT32_C(1) << e->shift) - 1);
}

/* Mostly few values are there more than once, and to look at all once is enough. */
static int find_frequent(const al_values *v, struct estimation *e)
{
    const size_t step = fitting_step(v);
    uint64_t repeated;
    uint32_t least;
    int rc;

    e->least = 1;
    rc = each_united(v, step, count_counts, e, &repeated);
    while (rc == AL_OK && e->above[KEPT + 1] > KEPT) {
        e->shift += 10;
        e->distinct = 0;
        memset(e->above, 0, sizeof e->above);
        rc = each_united(v, step, count_counts, e, &repeated);
    }
    least = threshold(e);
    if (rc != AL_OK || least == e->least)
        return rc;
    table_close(&e->kept);
    e->least = least;
    return each_united(v, step, keep_frequent, e, &repeated);
}

int al_values_estimate(al_values *v)
{
    unsigned char *registers = NULL;
    struct estimation *e;
    int rc;

    if (v->registers)
        return AL_OK;
    if (!v->scattered && end_run(v) != AL_OK)
        return AL_ENOMEM;
    if (v->registers) /* the run was so long */
        return AL_OK;
    e = calloc(1, sizeof *e);
    rc = e ? pile_table(v) : AL_ENOMEM;
    if (rc == AL_OK)
        rc = find_frequent(v, e);
    if (rc == AL_OK) {
        registers = calloc(REGISTERS, 1);
        v->kept = calloc(e->kept.room ? e->kept.room : 1, sizeof *v->kept);
        rc = registers && v->kept ? AL_OK : AL_ENOMEM;
    }
    for (size_t i = 0; i < v->npiles && rc == AL_OK; i++)
        for (size_t k = 0; k < pile_size(v->piles[i]); k++) {
            struct al_listed it = listed_again(&v->piles[i]->slots[k]);

            observe(registers, full_hash(&it));
        }
    if (rc == AL_OK) {
        drop_piles(v);
        v->table = e->kept;
        v->exact_distinct = e->distinct;
        v->registers = registers;
    } else {
        free(registers);
        if (e)
            table_close(&e->kept);
    }
    free(e);
    return rc;
}

int al_values_finish(al_values *v)
{
    if (v->npiles == 0)
        return AL_OK;
    if (learn(v) != AL_OK)
        return AL_ENOMEM;
    for (size_t i = 0; i < v->settled.ntop; i++) {
        struct al_slot *s = &v->settled.top[i];
        al_cell text;

        if ((s->tag & 7) != LONG_TEXT)
            continue;
        text = kept_text(s->key);
        s->key = keep_text(&v->table, text.text, text.len);
        if (!s->key)
            return AL_ENOMEM;
    }
    drop_piles(v);
    v->finished = true;
    return AL_OK;
}

bool al_values_exact(const al_values *v)
{
    return !v->registers;
}

static double sigma(double x)
{
    double y = 1, z = x, before;

    if (x >= 1)
        return INFINITY;
    do {
        before = z;
        x *= x;
        z += x * y;
        y += y;
    } while (z != before);
    return z;
}

static double tau(double x)
{
    double y = 1, z = 1 - x, before;

    if (x <= 0 || x >= 1)
        return 0;
    do {
        before = z;
        x = sqrt(x);
        y /= 2;
        z -= (1 - x) * (1 - x) * y;
    } while (z != before);
    return z / 3;
}

/* Otmar Ertl, New cardinality estimation algorithms for HyperLogLog sketches (2017), algorithm 6:
 * without a bias at any number. */
static uint64_t estimate(const al_values *v)
{
    enum { Q = 64 - REG_BITS };
    const unsigned char *registers = v->registers;
    const double m = REGISTERS;
    unsigned have[Q + 2] = { 0 };
    double z;

    for (unsigned i = 0; i < REGISTERS; i++)
        have[registers[i]]++;
    z = m * tau(1 - have[Q + 1] / m);
    for (unsigned k = Q; k >= 1; k--)
        z = (z + have[k]) / 2;
    z += m * sigma(have[0] / m);
    return (uint64_t)(m * m / (2 * 0.69314718055994530942) / z + 0.5);
}

static bool in_table(const al_values *v)
{
    return v->npiles == 0 && !v->finished;
}

uint64_t al_values_distinct(const al_values *v)
{
    uint64_t n;

    if (!v->scattered)
        return v->run;
    if (!v->registers)
        return in_table(v) ? v->table.used : v->settled.distinct;
    n = estimate(v);
    return n > v->exact_distinct ? n : v->exact_distinct;
}

size_t al_values_top(al_values *v, al_value_count *top, size_t n)
{
    const struct al_slot *best = v->settled.top;
    size_t have = 0;

    assert(n <= AL_VALUES_TOP);
    for (; !v->scattered && have < n && have < v->run; have++)
        top[have] = (al_value_count){ al_cell_integer(v->run_first + (int64_t)have), 1 };
    if (!v->scattered)
        return have;
    for (size_t i = 0; v->kept && i < v->table.room; i++) {
        v->table.slots[i].count += v->kept[i];
        v->kept[i] = 0;
    }
    if (in_table(v)) {
        v->settled.ntop = 0;
        rank(v->table.slots, v->table.room, v->settled.top, &v->settled.ntop);
    }
    for (; have < n && have < v->settled.ntop; have++)
        top[have] = (al_value_count){ value_of(&best[have]), best[have].count };
    return have;
}
