/* Two tables with open addressing. That of a segment is small enough for the processor's cache, and
 * points to the texts of the segment. That of the column has 16-byte slots, at a place that is a
 * monotone function of the hash: it grows by any factor in one sequential walk, without hashing
 * again; it is added to in blocks: prefetch all, then look up all.
 *
 * The estimate is HyperLogLog with 2^14 registers (0.8 % standard error). */
#include "data/values.h"
#include "base/err.h"
#include "base/hash_inline.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BLOCK       64    /* values of a run that are spread at a time */
#define TAKEN       16    /* values whose slots are on their way before the first is looked up */
#define TABLE_FIRST 64    /* slots of a segment's table */
#define TABLE_LEAST 32    /* values that any table may have */
#define TABLE_MOST  4096  /* values of a table; then they are listed */
#define TEXTS       65536 /* bytes of texts of a table that lie together */
#define TABLES_ALL  49152 /* values of the tables of all columns */
#define FIRST_ROOM  128   /* slots of a column's table */
#define CHUNK_MIN   1024
#define CHUNK_MAX   (1u << 20)
#define SLOT_COST   32                                  /* a slot and its share of the empty ones */
#define MAX_RUN     ((UINT64_C(256) << 20) / SLOT_COST) /* a longer one that ends: an estimate */
#define KEPT        4096 /* values at most that an estimate goes on counting */
#define REG_BITS    14
#define REGISTERS   (1u << REG_BITS)
#define HUGE_FROM   ((size_t)4 << 20) /* bytes of a table that get pages of their own */
#define HASH_BITS   29                /* of a hash, in the tag */

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

struct al_counted {
    struct al_listed it;
    uint32_t count; /* 0: free */
};

struct slot {
    uint64_t key;   /* as above, but the address of the kept text */
    uint32_t tag;   /* the upper bits of the hash, and the kind in the lowest three */
    uint32_t count; /* 0: free */
};

struct chunk { /* kept texts: length, bytes, length, bytes … */
    struct chunk *next;
    size_t used, room;
    unsigned char bytes[];
};

struct al_values {
    bool scattered; /* until then the values are run_first, run_first + 1 … : row ids, mostly */
    int64_t run_first; /* they need no table */
    uint64_t run;
    struct slot *slots;
    size_t room, used;
    struct chunk *chunks; /* the newest first */
    uint64_t text_bytes;
    unsigned char *registers; /* NULL: exact */
    uint64_t exact_distinct;  /* when it became an estimate */
};

/* Tables are reached at random: with pages of 4 KiB most of the time would go to finding them. */
static struct slot *slots_alloc(size_t room)
{
    size_t bytes = room * sizeof(struct slot);
    void *p;

    if (bytes < HUGE_FROM)
        return calloc(room, sizeof(struct slot));
    p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
#ifdef MADV_HUGEPAGE
    madvise(p, bytes, MADV_HUGEPAGE);
#endif
    return p;
}

static void slots_free(struct slot *slots, size_t room)
{
    size_t bytes = room * sizeof *slots;

    if (bytes < HUGE_FROM)
        free(slots);
    else
        munmap(slots, bytes);
}

int al_values_open(al_values **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? AL_OK : AL_ENOMEM;
}

static void free_chunks(struct chunk *c)
{
    while (c) {
        struct chunk *next = c->next;

        free(c);
        c = next;
    }
}

void al_values_close(al_values *v)
{
    if (!v)
        return;
    free_chunks(v->chunks);
    slots_free(v->slots, v->room);
    free(v->registers);
    free(v);
}

static inline uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

static inline uint64_t hash_key(uint64_t key, unsigned kind)
{
    return mix(key + (kind >> 1));
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
        hash = al_hash64_inline(cell->text, cell->len);
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
    hash = hash_key(key, kind);
    return (struct al_listed){ key, (uint32_t)(hash >> 32), IN_KEY(kind) };
}

/* All bits of the hash. */
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

/* The values of a segment. */

void al_counts_close(al_counts *c)
{
    free(c->table);
    free(c->list);
    free(c->texts);
    memset(c, 0, sizeof *c);
}

void al_counts_clear(al_counts *c, size_t columns)
{
    size_t most = TABLES_ALL / (columns ? columns : 1);

    if (c->used > 0)
        memset(c->table, 0, c->room * sizeof *c->table);
    c->used = c->listed = c->told = 0;
    c->texts_used = 0;
    c->most = most < TABLE_LEAST ? TABLE_LEAST : most > TABLE_MOST ? TABLE_MOST : most;
    c->scattered = false;
    c->run = 0;
}

/* The common lengths without a call. */
static inline bool same_bytes(const char *a, const char *b, size_t len)
{
    uint64_t x, y, v, w;

    if (len > 16)
        return memcmp(a, b, len) == 0;
    if (len >= 8) {
        memcpy(&x, a, 8);
        memcpy(&y, a + len - 8, 8);
        memcpy(&v, b, 8);
        memcpy(&w, b + len - 8, 8);
        return ((x ^ v) | (y ^ w)) == 0;
    }
    for (size_t i = 0; i < len; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

static inline bool same_listed(const struct al_listed *a, const struct al_listed *b)
{
    if (a->hash != b->hash)
        return false;
    if (b->len < IN_KEY(0))
        return a->len == b->len && same_bytes(text_of(a), text_of(b), b->len);
    return a->key == b->key && kind_of(a) >> 1 == kind_of(b) >> 1;
}

/* The slot of the value, or the free one where it belongs. */
static inline struct al_counted *find_counted(const al_counts *c, const struct al_listed *it)
{
    size_t i = it->hash & (c->room - 1);

    while (c->table[i].count && !same_listed(&c->table[i].it, it))
        i = (i + 1) & (c->room - 1);
    return &c->table[i];
}

static int grow_table(al_counts *c)
{
    al_counts more = *c;

    more.room = c->room ? c->room * 2 : TABLE_FIRST;
    more.table = calloc(more.room, sizeof *more.table);
    if (!more.table)
        return AL_ENOMEM;
    for (size_t i = 0; i < c->room; i++)
        if (c->table[i].count) {
            size_t k = c->table[i].it.hash & (more.room - 1);

            while (more.table[k].count)
                k = (k + 1) & (more.room - 1);
            more.table[k] = c->table[i];
        }
    free(c->table);
    *c = more;
    return AL_OK;
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

/* Texts of the table lie together, as long as there is room: they are compared all the time. */
static void gather_text(al_counts *c, struct al_listed *it)
{
    if (it->len > TEXTS - c->texts_used)
        return; /* or it is no text of that kind */
    if (!c->texts)
        c->texts = malloc(TEXTS);
    if (!c->texts)
        return;
    memcpy(c->texts + c->texts_used, text_of(it), it->len);
    it->key = (uint64_t)(uintptr_t)(c->texts + c->texts_used);
    c->texts_used += it->len;
}

static int count_cells(al_counts *c, const al_cell *cells, size_t n, size_t stride)
{
    for (size_t i = 0; i < n && !c->listing; i++, cells += stride) {
        struct al_counted *slot;
        struct al_listed it;

        if (cells->kind == AL_CELL_NULL)
            continue;
        if (c->used >= c->most) {
            c->listing = true;
            return list_all(c, cells, n - i, stride);
        }
        if (2 * c->used >= c->room && grow_table(c) != AL_OK)
            return AL_ENOMEM;
        it = listed(cells);
        slot = find_counted(c, &it);
        if (slot->count++ == 0) {
            gather_text(c, &it);
            slot->it = it;
            c->used++;
        }
    }
    return AL_OK;
}

static int add_scattered(al_counts *c, const al_cell *cells, size_t n, size_t stride)
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
    return add_scattered(c, cells, n, stride);
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
    return add_scattered(c, cells + done * stride, n - done, stride);
}

void al_counts_texts(al_counts *c, bool all, al_counts_fn *fn, void *arg)
{
    for (; c->told < c->listed; c->told++) {
        al_cell text;

        if (listed_text(&c->list[c->told], &text))
            fn(arg, &text, 1);
    }
    for (size_t i = 0; all && c->used && i < c->room; i++) {
        const struct al_counted *s = &c->table[i];
        al_cell text;

        if (s->count && listed_text(&s->it, &text))
            fn(arg, &text, s->count);
    }
}

/* The values of a column. */

static inline uint32_t tag_of(const struct al_listed *it)
{
    return (it->hash & ~UINT32_C(7)) | kind_of(it);
}

static inline size_t place(uint32_t tag, size_t room)
{
    return (size_t)((uint64_t)(tag >> 3) * room >> HASH_BITS);
}

static al_cell kept_text(uint64_t key)
{
    const char *at = (const char *)(uintptr_t)key;
    uint32_t len;

    memcpy(&len, at, sizeof len);
    return al_cell_text(at + sizeof len, len);
}

static inline bool same(const struct slot *s, uint32_t tag, const struct al_listed *it)
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
static inline struct slot *find(const al_values *v, const struct al_listed *it)
{
    uint32_t tag = tag_of(it);
    size_t i = place(tag, v->room);

    while (v->slots[i].count && !same(&v->slots[i], tag, it))
        i = i + 1 < v->room ? i + 1 : 0;
    return &v->slots[i];
}

static int resize(al_values *v, size_t room)
{
    struct slot *slots = slots_alloc(room);

    if (!slots)
        return AL_ENOMEM;
    for (size_t k = 0; k < v->room; k++) {
        const struct slot *s = &v->slots[k];
        size_t i;

        if (!s->count)
            continue;
        for (i = place(s->tag, room); slots[i].count;)
            i = i + 1 < room ? i + 1 : 0;
        slots[i] = *s;
    }
    slots_free(v->slots, v->room);
    v->slots = slots;
    v->room = room;
    return AL_OK;
}

/* At most 7 of 10 slots are taken. */
static int make_room(al_values *v, size_t more)
{
    size_t room = v->room ? v->room : FIRST_ROOM;

    while ((v->used + more) * 10 > room * 7)
        room *= 2;
    return room == v->room ? AL_OK : resize(v, room);
}

/* The key of a copy of the text that stays where it is; 0 without memory. */
static uint64_t keep_text(al_values *v, const char *text, uint32_t len)
{
    size_t need = sizeof len + len;
    struct chunk *c = v->chunks;
    unsigned char *p;

    if (!c || c->room - c->used < need) {
        size_t room = !c ? CHUNK_MIN : c->room < CHUNK_MAX ? c->room * 2 : CHUNK_MAX;

        room = room < need ? need : room;
        c = malloc(sizeof *c + room);
        if (!c)
            return 0;
        *c = (struct chunk){ .next = v->chunks, .room = room };
        v->chunks = c;
    }
    p = c->bytes + c->used;
    memcpy(p, &len, sizeof len);
    memcpy(p + sizeof len, text, len);
    c->used += need;
    v->text_bytes += need;
    return (uint64_t)(uintptr_t)p;
}

static void observe(al_values *v, uint64_t hash)
{
    size_t i = (size_t)(hash >> (64 - REG_BITS));
    uint64_t rest = hash << REG_BITS;
    unsigned char rank = (unsigned char)(rest ? __builtin_clzll(rest) + 1 : 64 - REG_BITS + 1);

    if (v->registers[i] < rank)
        v->registers[i] = rank;
}

static int count(al_values *v, const struct al_listed *it, uint32_t times)
{
    struct slot *s;

    if (v->registers) {
        observe(v, full_hash(it));
        if (v->used == 0)
            return AL_OK;
    }
    s = find(v, it);
    if (s->count) {
        s->count += times;
        return AL_OK;
    }
    if (v->registers)
        return AL_OK;
    *s = (struct slot){ .key = it->key, .tag = tag_of(it), .count = times };
    if (it->len < IN_KEY(0)) {
        s->key = keep_text(v, text_of(it), it->len);
        if (!s->key) {
            s->count = 0;
            return AL_ENOMEM;
        }
    }
    v->used++;
    return AL_OK;
}

static int take_table(al_values *v, const al_counts *c)
{
    if (c->used == 0)
        return AL_OK;
    if (!v->registers && make_room(v, c->used) != AL_OK)
        return AL_ENOMEM;
    for (size_t i = 0; i < c->room; i++)
        if (c->table[i].count && count(v, &c->table[i].it, c->table[i].count) != AL_OK)
            return AL_ENOMEM;
    return AL_OK;
}

static int take_list(al_values *v, const struct al_listed *list, size_t n)
{
    for (size_t from = 0; from < n; from += TAKEN) {
        size_t to = n - from < TAKEN ? n : from + TAKEN;

        if (!v->registers && make_room(v, to - from) != AL_OK)
            return AL_ENOMEM;
        for (size_t i = from; i < to; i++)
            __builtin_prefetch(&v->slots[place(tag_of(&list[i]), v->room)], 1);
        for (size_t i = from; i < to; i++)
            if (count(v, &list[i], 1) != AL_OK)
                return AL_ENOMEM;
    }
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
    return take_table(v, c) == AL_OK ? take_list(v, c->list, c->listed) : AL_ENOMEM;
}

uint64_t al_values_cost(const al_values *v)
{
    return v->registers ? 0 : v->used * (uint64_t)SLOT_COST + v->text_bytes;
}

static al_cell value_of(const struct slot *s)
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

/* The smallest count that at most KEPT values exceed. */
static uint32_t threshold(const al_values *v)
{
    size_t *above = calloc(KEPT + 2, sizeof *above), total = 0;
    uint32_t t = KEPT;

    if (!above)
        return UINT32_MAX;
    for (size_t i = 0; i < v->room; i++)
        above[v->slots[i].count <= KEPT ? v->slots[i].count : KEPT + 1]++;
    for (total = above[KEPT + 1]; t > 0 && total + above[t] <= KEPT; t--)
        total += above[t];
    free(above);
    return t;
}

/* Observes all values, and puts those that occur more than `least` times into kept. */
static int keep_frequent(al_values *v, al_values *kept, uint32_t least)
{
    for (size_t i = 0; i < v->room; i++) {
        const struct slot *s = &v->slots[i];
        struct al_listed it;
        al_cell value;

        if (!s->count)
            continue;
        value = value_of(s);
        it = listed(&value);
        observe(v, full_hash(&it));
        if (s->count > least && count(kept, &it, s->count) != AL_OK)
            return AL_ENOMEM;
    }
    return AL_OK;
}

int al_values_estimate(al_values *v)
{
    al_values kept = { .scattered = true };

    if (v->registers)
        return AL_OK;
    if (!v->scattered && end_run(v) != AL_OK)
        return AL_ENOMEM;
    if (v->registers) /* the run was so long */
        return AL_OK;
    v->registers = calloc(REGISTERS, 1);
    if (!v->registers || make_room(&kept, 2 * KEPT) != AL_OK ||
        keep_frequent(v, &kept, threshold(v)) != AL_OK) {
        free_chunks(kept.chunks);
        slots_free(kept.slots, kept.room);
        return AL_ENOMEM;
    }
    kept.registers = v->registers;
    kept.exact_distinct = v->used;
    free_chunks(v->chunks);
    slots_free(v->slots, v->room);
    *v = kept;
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
        return v->used;
    n = estimate(v);
    return n > v->exact_distinct ? n : v->exact_distinct;
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

size_t al_values_top(const al_values *v, al_value_count *top, size_t n)
{
    size_t have = 0;

    for (; !v->scattered && have < n && have < v->run; have++)
        top[have] = (al_value_count){ al_cell_integer(v->run_first + (int64_t)have), 1 };
    for (size_t k = 0; k < v->room; k++) {
        const struct slot *s = &v->slots[k];
        al_value_count it;
        size_t i;

        if (!s->count || (have == n && (n == 0 || s->count < top[n - 1].count)))
            continue;
        it = (al_value_count){ value_of(s), s->count };
        for (i = have < n ? have++ : n; i > 0; i--) {
            const al_value_count *before = &top[i - 1];

            if (before->count > it.count ||
                (before->count == it.count && al_cell_compare(&before->value, &it.value) < 0))
                break;
            if (i < n)
                top[i] = *before;
        }
        if (i < n)
            top[i] = it;
    }
    return have;
}
