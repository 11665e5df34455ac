/* Blocks of rows stay in the nearest caches while all cubes take what they need of them: the words
 * of each measure are made once a block, then each cube adds them to its groups.
 *
 * Cubes with few groups have copies of them for each thread; those with the same filter are made of
 * one cube that has the keys of them all, as long as that is not large. Others are made by one
 * thread each, in the order of the rows. */
#include "data/cube.h"
#include "base/big.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK        1024          /* rows; a multiple of 64 */
#define STRIPE       (64u * BLOCK) /* rows of one piece of work */
#define FEW_WORDS    65536         /* of a cube that threads share */
#define MAX_WORDS    (UINT64_C(1) << 27)
#define PACK_WORDS   49152 /* of a cube that others are made of */
#define PACK_MEMBERS 64
#define PACK_SHARE   8                   /* rows that there are for each of its groups, at least */
#define MAX_BITS     (UINT64_C(1) << 28) /* of (group, value) pairs seen */
#define MAX_PASSES   16                  /* over the rows, for so many bits each */

struct space {      /* of a thread */
    al_word *words; /* of measure k: words + k * BLOCK */
    bool *made;
    uint32_t at[BLOCK]; /* of each row: its group, times the words of one */
    al_word **copies;   /* of each shared cube */
};

struct running {
    al_cube **cubes;
    size_t n;
    uint32_t rows;
    const al_measure **measures; /* that the cubes use, each once */
    size_t nmeasures;
    struct space *spaces;
    size_t *shared, nshared;
    struct task {
        al_cube *cube;
        int measure; /* DISTINCT; -1: all others */
    } * tasks;       /* of one thread each */
    size_t ntasks;
};

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "aggregate", "not enough memory");
}

/* ---- groups of rows ---- */

static inline uint32_t bin_of(const al_cube_key *k, double v)
{
    double bin = al_cube_bin(v, k->start, k->width) - (double)k->first + 1;

    /* The ends were found with the same arithmetic: this is for NaN, which is NULL. */
    return bin >= 1 && bin < k->parts ? (uint32_t)bin : 0;
}

#define EACH_PART(expression)        \
    for (uint32_t i = 0; i < n; i++) \
    at[i] += scale * (expression)

/* By fours: these loops take most of the time of a cube. */
#define EACH_CODE(codes)                                           \
    {                                                              \
        uint32_t i = 0;                                            \
        for (; map && i + 4 <= n; i += 4) {                        \
            uint32_t p = map[codes[i]], q = map[codes[i + 1]];     \
            uint32_t r = map[codes[i + 2]], s = map[codes[i + 3]]; \
            at[i] += scale * p;                                    \
            at[i + 1] += scale * q;                                \
            at[i + 2] += scale * r;                                \
            at[i + 3] += scale * s;                                \
        }                                                          \
        for (; map && i < n; i++)                                  \
            at[i] += scale * map[codes[i]];                        \
        for (; i < n; i++)                                         \
            at[i] += scale * codes[i];                             \
    }

/* Adds scale times the part of the key to at, row by row. */
static void add_parts(const al_cube_key *k, uint32_t scale, uint32_t first, uint32_t n,
                      uint32_t *restrict at)
{
    const al_vector *v = k->v;
    const uint32_t *map = k->map;
    const uint8_t *one = (const uint8_t *)v->data + first;
    const uint16_t *two = (const uint16_t *)v->data + first;
    const uint32_t *four = (const uint32_t *)v->data + first;
    const int32_t *narrow = (const int32_t *)v->data + first;
    const int64_t *wide = (const int64_t *)v->data + first;
    const double *reals = (const double *)v->data + first, unit = al_vector_unit(v->decimals);

    if (v->form == AL_VECTOR_REALS)
        EACH_PART(bin_of(k, reals[i]));
    else if (v->form == AL_VECTOR_INTEGERS && v->width == 4)
        EACH_PART(narrow[i] == INT32_MIN ? 0 : bin_of(k, narrow[i] / unit));
    else if (v->form == AL_VECTOR_INTEGERS)
        EACH_PART(wide[i] == INT64_MIN ? 0 : bin_of(k, (double)wide[i] / unit));
    else if (v->width == 1)
        EACH_CODE(one)
    else if (v->width == 2)
        EACH_CODE(two)
    else
        EACH_CODE(four)
}

/* Rows that the filter does not let through go to the last group. */
static void drop_filtered(const al_cube *c, uint32_t step, uint32_t first, uint32_t n, uint32_t *at)
{
    for (uint32_t i = 0; i < n; i += 64) {
        uint64_t word = ~c->bits[(first + i) / 64];
        uint32_t end = n - i < 64 ? n - i : 64;

        if (word == 0)
            continue;
        for (uint32_t k = 0; k < end; k++)
            at[i + k] = word >> k & 1 ? c->n * step : at[i + k];
    }
}

/* step times the group of each row. */
static void block_groups(const al_cube *c, uint32_t step, uint32_t first, uint32_t n, uint32_t *at)
{
    uint32_t scale = step;

    if (c->ids) {
        for (uint32_t i = 0; i < n; i++)
            at[i] = c->ids[first + i] * step;
    } else {
        memset(at, 0, n * sizeof *at);
        for (unsigned k = c->nkeys; k-- > 0;) {
            add_parts(&c->keys[k], scale, first, n, at);
            scale *= c->keys[k].parts;
        }
    }
    if (c->bits)
        drop_filtered(c, step, first, n, at);
}

/* ---- words of a group ---- */

/* SUM: the sum (two words when it is wide: upper and lower half; real: sum and rest), and how many
 * there are when some are NULL. */
static unsigned words_of(const al_cube_measure *m)
{
    switch (m->fn) {
    case AL_CUBE_COUNT: return m->of && m->of->nulls ? 1 : 0;
    case AL_CUBE_DISTINCT: return 1;
    case AL_CUBE_SUM:
    case AL_CUBE_AVG: return 1 + (m->of->real || m->of->wide) + m->of->nulls;
    default: return 1;
    }
}

static bool in_order(const al_cube *c)
{
    for (unsigned k = 0; k < c->nmeasures; k++)
        if ((c->measures[k].fn == AL_CUBE_SUM || c->measures[k].fn == AL_CUBE_AVG) &&
            c->measures[k].of->real)
            return true;
    return false;
}

static al_word nothing(const al_cube_measure *m)
{
    bool least = m->fn == AL_CUBE_MIN;

    if (m->fn != AL_CUBE_MIN && m->fn != AL_CUBE_MAX)
        return (al_word){ .i = 0 };
    if (m->of->real)
        return (al_word){ .d = least ? HUGE_VAL : -HUGE_VAL };
    return (al_word){ .i = least ? INT64_MAX : AL_WORD_NULL };
}

/* Groups without rows, of zeros. */
static void clear(const al_cube *c, al_word *groups, size_t n)
{
    for (unsigned k = 0; k < c->nmeasures; k++) {
        const al_word none = nothing(&c->measures[k]);

        for (size_t i = 0; i < n && none.i != 0; i++)
            groups[i * c->words + c->measures[k].word] = none;
    }
}

/* ---- adding ---- */

static void add_rows(al_word *g, const uint32_t *at, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        g[at[i]].i++;
}

static void add_counts(al_word *g, const uint32_t *at, uint32_t n, const al_word *w, bool real)
{
    if (real)
        for (uint32_t i = 0; i < n; i++)
            g[at[i]].i += w[i].d == w[i].d;
    else
        for (uint32_t i = 0; i < n; i++)
            g[at[i]].i += w[i].i != AL_WORD_NULL;
}

static void add_sums(al_word *g, const uint32_t *at, uint32_t n, const al_word *w,
                     const al_measure *m)
{
    if (m->real) {
        for (uint32_t i = 0; i < n; i++) {
            double *sum = &g[at[i]].d, *rest = &g[at[i] + 1].d, v = w[i].d, t;

            if (v != v)
                continue;
            t = *sum + v;
            *rest += fabs(*sum) >= fabs(v) ? (*sum - t) + v : (v - t) + *sum;
            *sum = t;
        }
    } else if (m->wide) {
        for (uint32_t i = 0; i < n; i++) {
            al_word *to = &g[at[i]];

            if (w[i].i == AL_WORD_NULL)
                continue;
            to[0].i += w[i].i >> 32;
            to[1].i += w[i].i & 0xFFFFFFFF;
        }
    } else if (m->nulls) {
        for (uint32_t i = 0; i < n; i++)
            g[at[i]].i += w[i].i == AL_WORD_NULL ? 0 : w[i].i;
    } else {
        for (uint32_t i = 0; i < n; i++)
            g[at[i]].i += w[i].i;
    }
}

static void add_least(al_word *g, const uint32_t *at, uint32_t n, const al_word *w, bool real)
{
    if (real)
        for (uint32_t i = 0; i < n; i++) {
            double *to = &g[at[i]].d;

            *to = w[i].d < *to ? w[i].d : *to;
        }
    else
        for (uint32_t i = 0; i < n; i++) {
            int64_t *to = &g[at[i]].i;

            *to = w[i].i < *to && w[i].i != AL_WORD_NULL ? w[i].i : *to;
        }
}

static void add_most(al_word *g, const uint32_t *at, uint32_t n, const al_word *w, bool real)
{
    if (real)
        for (uint32_t i = 0; i < n; i++) {
            double *to = &g[at[i]].d;

            *to = w[i].d > *to ? w[i].d : *to;
        }
    else
        for (uint32_t i = 0; i < n; i++) {
            int64_t *to = &g[at[i]].i;

            *to = w[i].i > *to ? w[i].i : *to; /* NULL is the least */
        }
}

static void add_measure(const al_cube_measure *m, al_word *g, const uint32_t *at, uint32_t n,
                        const al_word *w)
{
    g += m->word;
    switch (m->fn) {
    case AL_CUBE_COUNT:
        if (m->of && m->of->nulls)
            add_counts(g, at, n, w, m->of->real);
        break;
    case AL_CUBE_SUM:
    case AL_CUBE_AVG:
        add_sums(g, at, n, w, m->of);
        if (m->of->nulls)
            add_counts(g + words_of(m) - 1, at, n, w, m->of->real);
        break;
    case AL_CUBE_MIN: add_least(g, at, n, w, m->of->real); break;
    case AL_CUBE_MAX: add_most(g, at, n, w, m->of->real); break;
    default: break;
    }
}

static const al_word *block_words(const struct running *r, struct space *s, const al_measure *m,
                                  uint32_t first, uint32_t n)
{
    size_t k = 0;

    while (r->measures[k] != m)
        k++;
    if (!s->made[k])
        al_measure_words(m, first, n, s->words + k * BLOCK);
    s->made[k] = true;
    return s->words + k * BLOCK;
}

static bool needs_words(const al_cube_measure *m)
{
    return m->fn != AL_CUBE_DISTINCT && m->of && (m->fn != AL_CUBE_COUNT || m->of->nulls);
}

/* Most measures are a sum of exact numbers, and their rows are counted beside them. */
static bool is_plain_sum(const al_cube_measure *m)
{
    return (m->fn == AL_CUBE_SUM || m->fn == AL_CUBE_AVG) && words_of(m) == 1;
}

/* The same where the two words are neighbours: one addition for both. */
static void add_rows_beside_sums(al_word *g, const uint32_t *at, uint32_t n, const al_word *w)
{
    typedef int64_t pair __attribute__((vector_size(16)));

    for (uint32_t i = 0; i < n; i++) {
        pair both;

        memcpy(&both, &g[at[i]], sizeof both);
        both += (pair){ 1, w[i].i };
        memcpy(&g[at[i]], &both, sizeof both);
    }
}

static void add_rows_and_sums(al_word *g, unsigned word, const uint32_t *at, uint32_t n,
                              const al_word *w)
{
    if (word == 1) {
        add_rows_beside_sums(g, at, n, w);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        al_word *to = &g[at[i]];

        to[0].i++;
        to[word].i += w[i].i;
    }
}

/* Rows [first, first + n), whose groups are at s->at, to these groups. */
static void add_words(const struct running *r, struct space *s, const al_cube *c, al_word *groups,
                      uint32_t first, uint32_t n)
{
    unsigned done = 0;

    while (done < c->nmeasures && !is_plain_sum(&c->measures[done]))
        done++;
    if (done < c->nmeasures)
        add_rows_and_sums(groups, c->measures[done].word, s->at, n,
                          block_words(r, s, c->measures[done].of, first, n));
    else
        add_rows(groups, s->at, n);
    for (unsigned k = 0; k < c->nmeasures; k++) {
        const al_cube_measure *m = &c->measures[k];

        if (k != done && needs_words(m))
            add_measure(m, groups, s->at, n, block_words(r, s, m->of, first, n));
    }
}

static void add_block(const struct running *r, struct space *s, const al_cube *c, al_word *groups,
                      uint32_t first, uint32_t n)
{
    block_groups(c, c->words, first, n, s->at);
    add_words(r, s, c, groups, first, n);
}

static void merge_groups(const al_cube *c, al_word *into, const al_word *from);

static int add_stripe(const struct running *r, const al_work_part *part, size_t stripe)
{
    struct space *s = &r->spaces[part->thread];
    uint64_t from = (uint64_t)stripe * STRIPE, end = from + STRIPE;

    if (end > r->rows)
        end = r->rows;
    for (uint64_t first = from; first < end; first += BLOCK) {
        uint32_t n = end - first < BLOCK ? (uint32_t)(end - first) : BLOCK;

        memset(s->made, 0, r->nmeasures * sizeof *s->made);
        for (size_t k = 0; k < r->nshared; k++)
            add_block(r, s, r->cubes[r->shared[k]], s->copies[k], (uint32_t)first, n);
    }
    return AL_OK;
}

static int add_alone(const struct running *r, const al_work_part *part, al_cube *c, al_err *err)
{
    struct space *s = &r->spaces[part->thread];
    int rc = AL_OK;

    for (uint64_t first = 0; first < r->rows && rc == AL_OK; first += BLOCK) {
        uint32_t n = r->rows - first < BLOCK ? (uint32_t)(r->rows - first) : BLOCK;

        memset(s->made, 0, r->nmeasures * sizeof *s->made);
        add_block(r, s, c, c->groups, (uint32_t)first, n);
        if (first % STRIPE == 0)
            rc = al_work_tick(part, err);
    }
    return rc;
}

/* ---- distinct values ---- */

static void sort_pairs(uint64_t *pairs, uint64_t *other, size_t n, unsigned bits)
{
    for (unsigned shift = 0; shift < bits; shift += 16) {
        size_t counts[65537] = { 0 };

        for (size_t i = 0; i < n; i++)
            counts[(pairs[i] >> shift & 0xFFFF) + 1]++;
        for (size_t i = 0; i < 65536; i++)
            counts[i + 1] += counts[i];
        for (size_t i = 0; i < n; i++)
            other[counts[pairs[i] >> shift & 0xFFFF]++] = pairs[i];
        memcpy(pairs, other, n * sizeof *pairs);
    }
}

struct distinct {
    const struct running *r;
    const al_work_part *part;
    al_cube *c;
    const al_cube_measure *m;
};

static al_word *distinct_word(const struct distinct *d, uint64_t group)
{
    return &d->c->groups[group * d->c->words + d->m->word];
}

/* Codes [low, high) by a bit for each pair of them and a group. */
static int distinct_bits(const struct distinct *d, int64_t low, int64_t high, uint64_t *bits,
                         al_err *err)
{
    struct space *s = &d->r->spaces[d->part->thread];
    const uint32_t rows = d->r->rows, span = (uint32_t)(high - low);
    int rc = AL_OK;

    for (uint64_t first = 0; first < rows && rc == AL_OK; first += BLOCK) {
        uint32_t n = rows - first < BLOCK ? (uint32_t)(rows - first) : BLOCK;

        block_groups(d->c, 1, (uint32_t)first, n, s->at);
        al_measure_words(d->m->of, (uint32_t)first, n, s->words);
        for (uint32_t i = 0; i < n; i++) {
            uint64_t bit = (uint64_t)s->at[i] * span + (uint64_t)(s->words[i].i - low);

            if (s->words[i].i < low || s->words[i].i >= high || s->at[i] == d->c->n)
                continue;
            distinct_word(d, s->at[i])->i += !(bits[bit / 64] >> bit % 64 & 1);
            bits[bit / 64] |= UINT64_C(1) << bit % 64;
        }
        if (first % STRIPE == 0)
            rc = al_work_tick(d->part, err);
    }
    return rc;
}

static int distinct_sorted(const struct distinct *d, al_err *err)
{
    struct space *s = &d->r->spaces[d->part->thread];
    const uint32_t rows = d->r->rows;
    uint64_t *pairs = malloc((rows + UINT64_C(1)) * sizeof *pairs);
    uint64_t *other = malloc((rows + UINT64_C(1)) * sizeof *other);
    unsigned code_bits = 1;
    size_t n = 0;

    if (!pairs || !other) {
        free(pairs);
        free(other);
        return no_memory(err);
    }
    while (d->m->of->v->codes >> code_bits && code_bits < 32)
        code_bits++;
    for (uint64_t first = 0; first < rows; first += BLOCK) {
        uint32_t part = rows - first < BLOCK ? (uint32_t)(rows - first) : BLOCK;

        block_groups(d->c, 1, (uint32_t)first, part, s->at);
        al_measure_words(d->m->of, (uint32_t)first, part, s->words);
        for (uint32_t i = 0; i < part; i++)
            if (s->words[i].i != AL_WORD_NULL && s->at[i] != d->c->n)
                pairs[n++] = (uint64_t)s->at[i] << code_bits | (uint64_t)s->words[i].i;
    }
    sort_pairs(pairs, other, n, code_bits + 32);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || pairs[i] != pairs[i - 1])
            distinct_word(d, pairs[i] >> code_bits)->i++;
    free(pairs);
    free(other);
    return AL_OK;
}

static int count_distinct(const struct running *r, const al_work_part *part, al_cube *c,
                          const al_cube_measure *m, al_err *err)
{
    const struct distinct d = { r, part, c, m };
    uint64_t codes = m->of->v->codes, span = MAX_BITS / (c->n ? c->n : 1), words;
    uint64_t *bits;
    int rc = AL_OK;

    if (span >= codes)
        span = codes;
    /* Bits that are many more than the rows cost more than sorting these. */
    if (span == 0 || codes / span >= MAX_PASSES || span * c->n / 64 > 4 * (uint64_t)r->rows + 1024)
        return distinct_sorted(&d, err);
    words = (span * c->n + 63) / 64 + 1;
    bits = malloc(words * sizeof *bits);
    if (!bits)
        return no_memory(err);
    for (uint64_t low = 0; low < codes && rc == AL_OK; low += span) {
        memset(bits, 0, words * sizeof *bits);
        rc = distinct_bits(&d, (int64_t)low, (int64_t)(low + span < codes ? low + span : codes),
                           bits, err);
    }
    free(bits);
    return rc;
}

/* ---- combinations ---- */

static uint64_t hash_combo(uint64_t v)
{
    v *= UINT64_C(0x9E3779B97F4A7C15);
    return v ^ v >> 32;
}

static int grow_combos(al_cube *c, uint32_t **slots, uint64_t *room, al_err *err)
{
    uint64_t n = *room ? *room * 4 : 4096;
    uint32_t *more = calloc(n, sizeof *more);
    uint64_t *combos = realloc(c->combos, n / 2 * sizeof *combos);

    if (combos)
        c->combos = combos;
    if (!more || !combos) {
        free(more);
        return no_memory(err);
    }
    for (uint32_t id = 0; id < c->n; id++) {
        uint64_t i = hash_combo(c->combos[id]) & (n - 1);

        while (more[i])
            i = (i + 1) & (n - 1);
        more[i] = id + 1;
    }
    free(*slots);
    *slots = more;
    *room = n;
    return AL_OK;
}

/* Groups are the combinations that occur, in the order of their first rows. */
static int find_combos(al_cube *c, uint32_t rows, al_work *w, al_err *err)
{
    const al_work_part part = { .work = w };
    uint32_t at[BLOCK], *slots = NULL;
    uint64_t combos[BLOCK], room = 0;
    int rc = AL_OK;

    c->n = 0;
    c->ids = malloc((rows + (size_t)1) * sizeof *c->ids);
    if (!c->ids)
        return no_memory(err);
    for (uint64_t first = 0; first < rows && rc == AL_OK; first += BLOCK) {
        uint32_t n = rows - first < BLOCK ? (uint32_t)(rows - first) : BLOCK;

        memset(combos, 0, sizeof combos);
        for (unsigned k = 0; k < c->nkeys; k++) {
            memset(at, 0, sizeof at);
            add_parts(&c->keys[k], 1, (uint32_t)first, n, at);
            for (uint32_t i = 0; i < n; i++)
                combos[i] = combos[i] * c->keys[k].parts + at[i];
        }
        for (uint32_t i = 0; i < n && rc == AL_OK; i++) {
            uint64_t slot;

            if (c->bits && !(c->bits[(first + i) / 64] >> (first + i) % 64 & 1)) {
                c->ids[first + i] = 0;
                continue;
            }
            if (2 * (uint64_t)c->n >= room)
                rc = grow_combos(c, &slots, &room, err);
            if (rc != AL_OK)
                break;
            slot = hash_combo(combos[i]) & (room - 1);
            while (slots[slot] && c->combos[slots[slot] - 1] != combos[i])
                slot = (slot + 1) & (room - 1);
            if (!slots[slot]) {
                c->combos[c->n] = combos[i];
                slots[slot] = ++c->n;
            }
            c->ids[first + i] = slots[slot] - 1;
        }
        if (rc == AL_OK && first % STRIPE == 0)
            rc = al_work_tick(&part, err);
    }
    free(slots);
    return rc;
}

/* ---- running ---- */

static int too_many_groups(al_err *err)
{
    return al_err_set(err, AL_EINVAL, "query_rejected", "",
                      "too many groups: group by fewer columns, or by larger units or bins");
}

static void place_words(al_cube *c)
{
    c->words = 1;
    for (unsigned k = 0; k < c->nmeasures; k++) {
        c->measures[k].word = c->words;
        c->words += words_of(&c->measures[k]);
    }
}

static int lay_out(al_cube *c, uint32_t rows, al_work *w, al_err *err)
{
    double all = 1;
    int rc = AL_OK;

    place_words(c);
    for (unsigned k = 0; k < c->nkeys; k++)
        all *= c->keys[k].parts;
    if (all >= 0x1p63)
        return too_many_groups(err);
    /* A dense cube may be larger than its rows, but not by much. */
    if (c->nkeys > 1 && all > 65536 && all > 2.0 * rows)
        rc = find_combos(c, rows, w, err);
    else if (all > MAX_WORDS)
        rc = too_many_groups(err);
    else
        c->n = (uint32_t)all;
    if (rc != AL_OK)
        return rc;
    if (((uint64_t)c->n + 1) * c->words > MAX_WORDS || (uint64_t)c->n * c->words > UINT32_MAX)
        return too_many_groups(err);
    c->groups = al_big_malloc(((size_t)c->n + 2) * c->words * sizeof *c->groups);
    if (!c->groups)
        return no_memory(err);
    memset(c->groups, 0, ((size_t)c->n + 2) * c->words * sizeof *c->groups);
    clear(c, c->groups, (size_t)c->n + 2);
    return AL_OK;
}

static int add_measures(struct running *r, al_err *err)
{
    size_t room = 1;

    for (size_t i = 0; i < r->n; i++)
        room += r->cubes[i]->nmeasures;
    r->measures = calloc(room, sizeof *r->measures);
    r->shared = calloc(r->n + 1, sizeof *r->shared);
    r->tasks = calloc(room + r->n, sizeof *r->tasks);
    if (!r->measures || !r->shared || !r->tasks)
        return no_memory(err);
    for (size_t i = 0; i < r->n; i++) {
        al_cube *c = r->cubes[i];

        if (in_order(c) || ((size_t)c->n + 1) * c->words > FEW_WORDS)
            r->tasks[r->ntasks++] = (struct task){ c, -1 };
        else
            r->shared[r->nshared++] = i;
        for (unsigned k = 0; k < c->nmeasures; k++) {
            size_t at = 0;

            if (c->measures[k].fn == AL_CUBE_DISTINCT)
                r->tasks[r->ntasks++] = (struct task){ c, (int)k };
            while (at < r->nmeasures && r->measures[at] != c->measures[k].of)
                at++;
            r->measures[at] = c->measures[k].of;
            r->nmeasures += at == r->nmeasures;
        }
    }
    return AL_OK;
}

static int open_spaces(struct running *r, unsigned threads, al_err *err)
{
    r->spaces = calloc(threads, sizeof *r->spaces);
    if (!r->spaces)
        return no_memory(err);
    for (unsigned t = 0; t < threads; t++) {
        struct space *s = &r->spaces[t];

        s->words = malloc((r->nmeasures + 1) * BLOCK * sizeof *s->words);
        s->made = calloc(r->nmeasures + 1, sizeof *s->made);
        s->copies = calloc(r->nshared + 1, sizeof *s->copies);
        if (!s->words || !s->made || !s->copies)
            return no_memory(err);
        for (size_t k = 0; k < r->nshared; k++) {
            const al_cube *c = r->cubes[r->shared[k]];
            size_t n = (size_t)c->n + 1;

            s->copies[k] = calloc(n * c->words, sizeof *s->copies[k]);
            if (!s->copies[k])
                return no_memory(err);
            clear(c, s->copies[k], n);
        }
    }
    return AL_OK;
}

static int run_piece(void *arg, const al_work_part *part, al_err *err)
{
    struct running *r = arg;
    const struct task *t = &r->tasks[part->index];

    if (part->index >= r->ntasks)
        return add_stripe(r, part, part->index - r->ntasks);
    if (t->measure < 0)
        return add_alone(r, part, t->cube, err);
    return count_distinct(r, part, t->cube, &t->cube->measures[t->measure], err);
}

static void merge_copies(struct running *r, unsigned threads)
{
    for (size_t k = 0; k < r->nshared; k++) {
        al_cube *c = r->cubes[r->shared[k]];

        for (unsigned t = 0; t < threads; t++)
            for (size_t i = 0; i <= c->n; i++)
                merge_groups(c, c->groups + i * c->words, r->spaces[t].copies[k] + i * c->words);
    }
}

/* ---- cubes of cubes ---- */

struct pack {
    al_cube cube;
    al_cube *members[PACK_MEMBERS];
    size_t n;
};

static bool same_key(const al_cube_key *a, const al_cube_key *b)
{
    if (a->v != b->v || a->parts != b->parts)
        return false;
    if (a->v->form != AL_VECTOR_CODES)
        return a->start == b->start && a->width == b->width && a->first == b->first;
    if (a->map == b->map)
        return true;
    return a->map && b->map && memcmp(a->map, b->map, a->v->codes * sizeof *a->map) == 0;
}

static uint32_t part_of(const al_cube_key *k, uint32_t code)
{
    return k->map ? k->map[code] : code;
}

#define MAX_REFINED 65536 /* codes that are looked through */

/* The part of b by that of a, in a list to be freed, where a part of a lies within one of b, as a
 * month does in a year; else NULL. */
static uint32_t *parts_within(const al_cube_key *a, const al_cube_key *b)
{
    uint32_t *parts;

    if (a->v != b->v || a->v->form != AL_VECTOR_CODES || a->parts < b->parts ||
        a->v->codes > MAX_REFINED)
        return NULL;
    parts = malloc(a->parts * sizeof *parts);
    for (uint32_t i = 0; parts && i < a->parts; i++)
        parts[i] = UINT32_MAX;
    for (uint32_t code = 0; parts && code < a->v->codes; code++) {
        uint32_t *part = &parts[part_of(a, code)];

        if (*part != UINT32_MAX && *part != part_of(b, code)) {
            free(parts);
            return NULL;
        }
        *part = part_of(b, code);
    }
    return parts;
}

static bool tells(const al_cube_key *a, const al_cube_key *b)
{
    uint32_t *parts = same_key(a, b) ? NULL : parts_within(a, b);
    const bool within = parts != NULL;

    free(parts);
    return within || same_key(a, b);
}

/* The key of a cube that tells the part of this one. */
static unsigned key_in(const al_cube *c, const al_cube_key *key)
{
    unsigned k = 0;

    while (k < c->nkeys && !tells(&c->keys[k], key))
        k++;
    return k;
}

/* Adds what is not told by the keys yet; it may tell one of them. */
static bool add_key(al_cube *c, const al_cube_key *key)
{
    if (key_in(c, key) < c->nkeys)
        return true;
    for (unsigned k = 0; k < c->nkeys; k++)
        if (tells(key, &c->keys[k])) {
            c->keys[k] = *key;
            return true;
        }
    if (c->nkeys == AL_CUBE_MAX_KEYS)
        return false;
    c->keys[c->nkeys++] = *key;
    return true;
}

/* A mean is made of the same words as a sum. */
static al_cube_fn words_as(al_cube_fn fn)
{
    return fn == AL_CUBE_AVG ? AL_CUBE_SUM : fn;
}

static unsigned measure_in(const al_cube *c, const al_cube_measure *m)
{
    unsigned k = 0;

    while (k < c->nmeasures &&
           (words_as(c->measures[k].fn) != words_as(m->fn) || c->measures[k].of != m->of))
        k++;
    return k;
}

/* What the cube would be that has the keys and measures of both; false when it is too large. */
static bool unite(const al_cube *a, const al_cube *b, uint32_t rows, al_cube *out)
{
    uint64_t n = 1, words = 1;

    *out = *a;
    if (a->bits != b->bits)
        return false;
    for (unsigned k = 0; k < b->nkeys; k++)
        if (!add_key(out, &b->keys[k]))
            return false;
    for (unsigned k = 0; k < b->nmeasures; k++)
        if (measure_in(out, &b->measures[k]) == out->nmeasures) {
            if (out->nmeasures == AL_CUBE_MEASURES)
                return false;
            out->measures[out->nmeasures++] = b->measures[k];
        }
    for (unsigned k = 0; k < out->nmeasures; k++)
        words += words_of(&out->measures[k]);
    for (unsigned k = 0; k < out->nkeys; k++)
        n = n > PACK_WORDS ? n : n * out->keys[k].parts;
    return n * words <= PACK_WORDS && n * PACK_SHARE <= rows;
}

static bool packs(const al_cube *c)
{
    for (unsigned k = 0; k < c->nmeasures; k++)
        if (c->measures[k].fn == AL_CUBE_DISTINCT)
            return false;
    return !c->ids && !in_order(c);
}

static void put_in_pack(struct pack *all, size_t *n, al_cube *c, uint32_t rows)
{
    al_cube united;
    size_t i = 0;

    while (i < *n && (all[i].n == PACK_MEMBERS || !unite(&all[i].cube, c, rows, &united)))
        i++;
    if (i == *n) {
        all[i] = (struct pack){ .cube = *c };
        all[i].cube.groups = NULL;
        ++*n;
    } else {
        all[i].cube = united;
    }
    all[i].members[all[i].n++] = c;
}

static void merge_measure(const al_cube_measure *m, al_word *into, const al_word *from);

/* A member's groups are sums over those of its pack. */
static int unpack(const al_cube *p, al_cube *c, al_err *err)
{
    unsigned key[AL_CUBE_MAX_KEYS], measure[AL_CUBE_MEASURES];
    uint32_t *parts[AL_CUBE_MAX_KEYS] = { NULL }; /* NULL: those of the pack's key */
    int rc = AL_OK;

    for (unsigned k = 0; k < c->nkeys; k++) {
        key[k] = key_in(p, &c->keys[k]);
        if (key[k] < p->nkeys && same_key(&p->keys[key[k]], &c->keys[k]))
            continue;
        parts[k] = key[k] < p->nkeys ? parts_within(&p->keys[key[k]], &c->keys[k]) : NULL;
        if (!parts[k])
            rc = no_memory(err);
    }
    for (unsigned k = 0; k < c->nmeasures; k++)
        measure[k] = measure_in(p, &c->measures[k]);
    for (uint32_t g = 0; g < p->n && rc == AL_OK; g++) {
        const al_word *from = p->groups + (size_t)g * p->words;
        al_word *into;
        size_t at = 0;

        if (from[0].i == 0)
            continue;
        for (unsigned k = 0; k < c->nkeys; k++) {
            const uint32_t part = al_cube_part(p, g, key[k]);

            at = at * c->keys[k].parts + (parts[k] ? parts[k][part] : part);
        }
        into = c->groups + at * c->words;
        into[0].i += from[0].i;
        for (unsigned k = 0; k < c->nmeasures; k++)
            merge_measure(&c->measures[k], into + c->measures[k].word,
                          from + p->measures[measure[k]].word);
    }
    for (unsigned k = 0; k < c->nkeys; k++)
        free(parts[k]);
    return rc;
}

static void close_running(struct running *r, unsigned threads)
{
    for (unsigned t = 0; r->spaces && t < threads; t++) {
        for (size_t k = 0; r->spaces[t].copies && k < r->nshared; k++)
            free(r->spaces[t].copies[k]);
        free(r->spaces[t].copies);
        free(r->spaces[t].words);
        free(r->spaces[t].made);
    }
    free(r->spaces);
    free(r->measures);
    free(r->shared);
    free(r->tasks);
}

static int run_cubes(struct running *r, al_work *w, al_err *err)
{
    size_t stripes = ((size_t)r->rows + STRIPE - 1) / STRIPE;
    int rc = add_measures(r, err);

    if (rc == AL_OK)
        rc = open_spaces(r, w->threads, err);
    if (rc == AL_OK)
        rc = al_work_each(w, r->ntasks + (r->nshared ? stripes : 0), run_piece, r, err);
    if (rc == AL_OK)
        merge_copies(r, w->threads);
    close_running(r, w->threads);
    return rc;
}

static int by_size(const void *a, const void *b)
{
    const al_cube *x = *(al_cube *const *)a, *y = *(al_cube *const *)b;

    return (x->n < y->n) - (x->n > y->n);
}

int al_cube_run(al_cube **cubes, size_t n, uint32_t rows, al_work *w, al_err *err)
{
    struct running r = { .rows = rows };
    struct pack *p = calloc(n + 1, sizeof *p);
    al_cube **all = calloc(2 * n + 1, sizeof *all), **packed = all ? all + n : NULL;
    size_t npacked = 0, npacks = 0;
    int rc = p && all ? AL_OK : no_memory(err);

    for (size_t i = 0; i < n && rc == AL_OK; i++)
        rc = lay_out(cubes[i], rows, w, err);
    for (size_t i = 0; i < n && rc == AL_OK; i++)
        if (packs(cubes[i]))
            packed[npacked++] = cubes[i];
        else
            all[r.n++] = cubes[i];
    /* What is large first: what is small finds room beside it. */
    if (rc == AL_OK)
        qsort(packed, npacked, sizeof(al_cube *), by_size);
    for (size_t i = 0; i < npacked; i++)
        put_in_pack(p, &npacks, packed[i], rows);
    for (size_t i = 0; i < npacks && rc == AL_OK; i++) {
        all[r.n++] = p[i].n == 1 ? p[i].members[0] : &p[i].cube;
        if (p[i].n > 1)
            rc = lay_out(&p[i].cube, rows, w, err);
    }
    r.cubes = all;
    if (rc == AL_OK)
        rc = run_cubes(&r, w, err);
    for (size_t i = 0; i < npacks; i++) {
        for (size_t k = 0; k < p[i].n && p[i].n > 1 && rc == AL_OK; k++)
            rc = unpack(&p[i].cube, p[i].members[k], err);
        if (p[i].n > 1)
            al_cube_free(&p[i].cube);
    }
    free(p);
    free(all);
    return rc;
}

/* ---- slices ---- */

struct al_cube_slices {
    struct running r;
    al_cube *cube;
    unsigned threads;
    al_word *groups; /* of a slice, by thread */
};

bool al_cube_has_slices(const al_cube *c)
{
    return c->nkeys == 1 && c->keys[0].v->slices && !c->keys[0].map && al_cube_adds_up(c);
}

static size_t slice_words(const al_cube *c)
{
    return (AL_VECTOR_SLICE + 2) * (size_t)c->words;
}

int al_cube_slices_open(al_cube_slices **out, al_cube *c, const al_work *w, al_err *err)
{
    al_cube_slices *s = calloc(1, sizeof *s);
    int rc;

    *out = s;
    if (!s)
        return no_memory(err);
    place_words(c);
    s->cube = c;
    s->threads = w->threads;
    s->r = (struct running){ .cubes = &s->cube, .n = 1, .rows = c->keys[0].v->rows };
    rc = add_measures(&s->r, err);
    s->r.nshared = 0;
    if (rc == AL_OK)
        rc = open_spaces(&s->r, s->threads, err);
    s->groups = malloc(s->threads * slice_words(c) * sizeof *s->groups);
    return rc == AL_OK && !s->groups ? no_memory(err) : rc;
}

void al_cube_slices_close(al_cube_slices *s)
{
    if (!s)
        return;
    close_running(&s->r, s->threads);
    free(s->groups);
    free(s);
}

static void add_to_slice(al_cube_slices *s, unsigned thread, const al_cube *slice, uint32_t first,
                         uint32_t n)
{
    const uint32_t *codes = (const uint32_t *)slice->keys[0].v->data + first;
    struct space *space = &s->r.spaces[thread];

    for (uint32_t i = 0; i < n; i++) {
        const uint32_t group = codes[i] - slice->first_part;

        space->at[i] = (group < slice->n ? group : slice->n) * slice->words;
    }
    for (uint32_t i = 0; slice->bits && i < n; i++)
        if (!(slice->bits[(first + i) / 64] >> (first + i) % 64 & 1))
            space->at[i] = slice->n * slice->words;
    memset(space->made, 0, s->r.nmeasures * sizeof *space->made);
    add_words(&s->r, space, slice, slice->groups, first, n);
}

void al_cube_slice(al_cube_slices *s, const al_work_part *part, al_cube *slice)
{
    const al_vector *v = s->cube->keys[0].v;
    const struct al_vector_slice *of = &v->slices[part->index];

    *slice = *s->cube;
    slice->first_part = (uint32_t)part->index * AL_VECTOR_SLICE;
    slice->n = v->codes - slice->first_part;
    if (slice->n > AL_VECTOR_SLICE)
        slice->n = AL_VECTOR_SLICE;
    slice->groups = s->groups + part->thread * slice_words(slice);
    memset(slice->groups, 0, slice_words(slice) * sizeof *slice->groups);
    for (uint32_t row = of[0].row; row < of[1].row; row += BLOCK)
        add_to_slice(s, part->thread, slice, row,
                     of[1].row - row < BLOCK ? of[1].row - row : BLOCK);
    for (uint32_t i = of[0].late; i < of[1].late; i++)
        add_to_slice(s, part->thread, slice, v->late[i], 1);
}

void al_cube_free(al_cube *c)
{
    free(c->groups);
    free(c->ids);
    free(c->combos);
    c->groups = NULL;
    c->ids = NULL;
    c->combos = NULL;
}

/* ---- results ---- */

static double as_double(const al_cell *c)
{
    return c->kind == AL_CELL_INTEGER ? (double)c->integer : c->real;
}

uint64_t al_cube_rows(const al_cube *c, uint32_t group)
{
    return (uint64_t)c->groups[(size_t)group * c->words].i;
}

uint32_t al_cube_part(const al_cube *c, uint32_t group, unsigned key)
{
    uint64_t combo = c->combos ? c->combos[group] : group + (uint64_t)c->first_part;

    for (unsigned k = c->nkeys - 1; k > key; k--)
        combo /= c->keys[k].parts;
    return (uint32_t)(combo % c->keys[key].parts);
}

static void add_real(al_word *to, double v)
{
    double t = to[0].d + v;

    to[1].d += fabs(to[0].d) >= fabs(v) ? (to[0].d - t) + v : (v - t) + to[0].d;
    to[0].d = t;
}

static void merge_measure(const al_cube_measure *m, al_word *into, const al_word *from)
{
    unsigned at = 0, end = words_of(m);

    switch (m->fn) {
    case AL_CUBE_MIN:
        if (m->of->real)
            into->d = fmin(into->d, from->d);
        else
            into->i = into->i < from->i ? into->i : from->i;
        break;
    case AL_CUBE_MAX:
        if (m->of->real)
            into->d = fmax(into->d, from->d);
        else
            into->i = into->i > from->i ? into->i : from->i;
        break;
    case AL_CUBE_DISTINCT: break; /* counted apart */
    default:
        if (m->fn != AL_CUBE_COUNT && m->of->real) {
            add_real(into, from->d);
            into[1].d += from[1].d;
            at = 2;
        }
        for (; at < end; at++)
            into[at].i += from[at].i;
    }
}

static void merge_groups(const al_cube *c, al_word *into, const al_word *from)
{
    into[0].i += from[0].i;
    for (unsigned k = 0; k < c->nmeasures; k++)
        merge_measure(&c->measures[k], into + c->measures[k].word, from + c->measures[k].word);
}

bool al_cube_adds_up(const al_cube *c)
{
    for (unsigned k = 0; k < c->nmeasures; k++) {
        const al_cube_measure *m = &c->measures[k];

        if (m->fn != AL_CUBE_COUNT &&
            ((m->fn != AL_CUBE_SUM && m->fn != AL_CUBE_AVG) || m->of->real))
            return false;
    }
    return true;
}

void al_cube_add_up(const al_cube *c, uint32_t from, uint32_t n, al_word *into)
{
    const al_word *groups = c->groups + (size_t)from * c->words;

    for (unsigned at = 0; at < c->words; at++) {
        int64_t sum = 0;

        for (size_t g = 0; g < n; g++)
            sum += groups[g * c->words + at].i;
        into[at].i += sum;
    }
}

int al_cube_fold(al_cube *c, const uint32_t *kept, size_t n, const al_word *all, al_err *err)
{
    size_t size = c->words * sizeof *c->groups;
    al_word *into = c->groups + ((size_t)c->n + 1) * c->words;
    uint64_t *is_kept;

    memset(into, 0, size);
    clear(c, into, 1);
    if (all) {
        memcpy(into, all, size);
        for (size_t i = 0; i < n; i++)
            for (unsigned at = 0; at < c->words; at++)
                into[at].i -= c->groups[(size_t)kept[i] * c->words + at].i;
        return AL_OK;
    }
    is_kept = calloc(c->n / 64 + (size_t)1, sizeof *is_kept);
    if (!is_kept)
        return no_memory(err);
    for (size_t i = 0; i < n; i++)
        is_kept[kept[i] / 64] |= UINT64_C(1) << kept[i] % 64;
    for (uint32_t g = 0; g < c->n; g++)
        if (!(is_kept[g / 64] >> g % 64 & 1))
            merge_groups(c, into, c->groups + (size_t)g * c->words);
    free(is_kept);
    return AL_OK;
}

void al_cube_roughs(const al_cube *c, unsigned measure, uint32_t from, uint32_t n, double *rough)
{
    const al_cube_measure *m = &c->measures[measure];
    const al_word *g = c->groups + (size_t)from * c->words;
    unsigned at = m->word;

    if (m->fn == AL_CUBE_COUNT && words_of(m) == 0)
        at = 0;
    else if (m->fn != AL_CUBE_COUNT && m->fn != AL_CUBE_DISTINCT &&
             !(m->fn == AL_CUBE_SUM && is_plain_sum(m))) {
        for (uint32_t i = 0; i < n; i++)
            rough[i] = al_cube_rows(c, from + i) ? al_cube_rough(c, from + i, measure) : NAN;
        return;
    }
    for (size_t i = 0; i < n; i++)
        rough[i] = g[i * c->words].i ? (double)g[i * c->words + at].i : NAN;
}

double al_cube_rough(const al_cube *c, uint32_t group, unsigned measure)
{
    const al_cube_measure *m = &c->measures[measure];
    const al_word *g = c->groups + (size_t)group * c->words, *w = g + m->word;
    al_cell cell;

    if (m->fn == AL_CUBE_COUNT)
        return (double)(words_of(m) ? w : g)->i;
    if ((m->fn == AL_CUBE_SUM && !m->of->real && !m->of->wide && !m->of->nulls) ||
        m->fn == AL_CUBE_DISTINCT)
        return (double)w->i;
    if ((m->fn == AL_CUBE_MIN || m->fn == AL_CUBE_MAX) && m->of->ranks)
        return w->i == nothing(m).i ? -HUGE_VAL : (double)w->i;
    cell = al_cube_result(c, group, measure);
    return cell.kind == AL_CELL_NULL ? -HUGE_VAL : as_double(&cell);
}

/* An exact sum as a cell; in 64 bits when it fits. */
static al_cell sum_cell(const al_measure *m, int64_t sum)
{
    if (m->decimals == 0 && m->integer)
        return al_cell_integer(sum);
    return al_cell_real((double)sum / al_vector_unit(m->decimals));
}

static al_cell wide_cell(const al_measure *m, const al_word *w)
{
    int64_t high = w[0].i + (w[1].i >> 32), low = w[1].i & 0xFFFFFFFF;

    if (high >= INT32_MIN && high <= INT32_MAX)
        return sum_cell(m, (int64_t)((uint64_t)high << 32) | low);
    return al_cell_real(((double)high * 0x1p32 + (double)low) / al_vector_unit(m->decimals));
}

al_cell al_cube_result(const al_cube *c, uint32_t group, unsigned measure)
{
    const al_cube_measure *m = &c->measures[measure];
    const al_word *g = c->groups + (size_t)group * c->words, *w = g + m->word;
    int64_t count = g[0].i;
    al_cell sum;

    switch (m->fn) {
    case AL_CUBE_COUNT: return al_cell_integer(words_of(m) ? w->i : count);
    case AL_CUBE_DISTINCT: return al_cell_integer(w->i);
    case AL_CUBE_MIN:
    case AL_CUBE_MAX: return w->i == nothing(m).i ? al_cell_null() : al_measure_cell(m->of, *w);
    default: break;
    }
    if (m->of->nulls)
        count = w[words_of(m) - 1].i;
    if (count == 0)
        return al_cell_null();
    sum = m->of->real   ? al_cell_real(w[0].d + (isfinite(w[0].d) ? w[1].d : 0))
          : m->of->wide ? wide_cell(m->of, w)
                        : sum_cell(m->of, w[0].i);
    if (m->fn == AL_CUBE_SUM)
        return sum;
    if (!m->of->real && !m->of->wide) /* one rounding */
        return al_cell_real((double)w[0].i / (al_vector_unit(m->of->decimals) * (double)count));
    return al_cell_real(as_double(&sum) / (double)count);
}
