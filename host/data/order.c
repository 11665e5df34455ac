/* Sorts by the last key first, with a sort that keeps the order of equals: a radix sort of (32 bits
 * of key, row number) in one word. Every pass counts in stripes, adds the counts up, and moves the
 * stripes' elements to where their counts say, all stripes at once. */
#include "data/order.h"
#include "base/big.h"
#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS  11      /* at most; the write heads of a pass stay in the caches */
#define STRIPE_ROWS 65536u  /* fewer are not worth a thread */
#define SOME        1024u   /* keys on their way */
#define TICK_ROWS   131072u /* between two looks at the link: some milliseconds */

struct sorting {
    al_work *work;
    uint32_t *rows, n;
    const al_order_key *key;
    size_t stripes;
    uint64_t *from, *to;
    uint32_t (*counts)[1u << DIGIT_BITS]; /* a stripe */
    /* What of a key counts: (key - least or most - key) + offset, NULL is null_code. */
    uint64_t least, most, null_code, offset;
    unsigned shift;        /* of the 32 bits of the key that are sorted by */
    unsigned digit, width; /* where the digit of this pass is in an element, its bits */
};

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "order", "not enough memory to sort");
}

/* Stripe i: [*first, *end). */
static void stripe_of(const struct sorting *s, size_t i, uint32_t *first, uint32_t *end)
{
    *first = (uint32_t)((uint64_t)s->n * i / s->stripes);
    *end = (uint32_t)((uint64_t)s->n * (i + 1) / s->stripes);
}

static uint32_t next_tick(uint32_t at, uint32_t end)
{
    return end - at > TICK_ROWS ? at + TICK_ROWS : end;
}

static int pack(void *arg, const al_work_part *part, al_err *err)
{
    struct sorting *s = arg;
    const bool descending = s->key->descending;
    uint64_t keys[SOME];
    uint32_t at, end;
    int rc = AL_OK;

    for (stripe_of(s, part->index, &at, &end); rc == AL_OK && at < end;) {
        const uint32_t n = end - at < SOME ? end - at : SOME;

        if (at / TICK_ROWS != (at + n) / TICK_ROWS)
            rc = al_work_tick(part, err);
        al_vector_keys(s->key->vector, s->rows + at, n, keys);
        for (uint32_t i = 0; i < n; i++, at++) {
            const uint64_t k = keys[i];
            const uint64_t code =
                k == 0 ? s->null_code : (descending ? s->most - k : k - s->least) + s->offset;

            s->from[at] = (code >> s->shift) << 32 | s->rows[at];
        }
    }
    return rc;
}

static int unpack(void *arg, const al_work_part *part, al_err *err)
{
    struct sorting *s = arg;
    uint32_t at, end;

    (void)err;
    for (stripe_of(s, part->index, &at, &end); at < end; at++)
        s->rows[at] = (uint32_t)s->from[at];
    return AL_OK;
}

static uint32_t digit_of(const struct sorting *s, uint64_t element)
{
    return (uint32_t)(element >> s->digit) & ((1u << s->width) - 1);
}

static int count(void *arg, const al_work_part *part, al_err *err)
{
    struct sorting *s = arg;
    uint32_t *counts = s->counts[part->index], at, end;

    (void)err;
    memset(counts, 0, sizeof *s->counts);
    for (stripe_of(s, part->index, &at, &end); at < end; at++)
        counts[digit_of(s, s->from[at])]++;
    return AL_OK;
}

/* From how many there are to where they go; false when one digit has them all. */
static bool add_up(struct sorting *s)
{
    uint32_t sum = 0;

    for (uint32_t d = 0; d < 1u << s->width; d++) {
        const uint32_t before = sum;

        for (size_t i = 0; i < s->stripes; i++) {
            const uint32_t n = s->counts[i][d];

            s->counts[i][d] = sum;
            sum += n;
        }
        if (sum - before == s->n)
            return false;
    }
    return true;
}

static int move(void *arg, const al_work_part *part, al_err *err)
{
    struct sorting *s = arg;
    uint32_t *places = s->counts[part->index], at, end;
    int rc = AL_OK;

    for (stripe_of(s, part->index, &at, &end); rc == AL_OK && at < end;) {
        const uint32_t stop = next_tick(at, end);

        rc = al_work_tick(part, err);
        for (; at < stop; at++)
            s->to[places[digit_of(s, s->from[at])]++] = s->from[at];
    }
    return rc;
}

/* Sorts by `bits` bits of the key from s->shift on. */
static int sort_word(struct sorting *s, unsigned bits, al_err *err)
{
    const unsigned passes = (bits + DIGIT_BITS - 1) / DIGIT_BITS;
    int rc = al_work_each(s->work, s->stripes, pack, s, err);

    s->width = (bits + passes - 1) / passes;
    s->digit = 32;
    for (unsigned i = 0; i < passes && rc == AL_OK; i++, s->digit += s->width) {
        uint64_t *swap = s->from;

        rc = al_work_each(s->work, s->stripes, count, s, err);
        if (rc != AL_OK || !add_up(s))
            continue;
        rc = al_work_each(s->work, s->stripes, move, s, err);
        s->from = s->to;
        s->to = swap;
    }
    return rc == AL_OK ? al_work_each(s->work, s->stripes, unpack, s, err) : rc;
}

/* What of the keys counts; the highest code. */
static uint64_t measure(struct sorting *s)
{
    const bool nulls = s->key->vector->kinds & AL_VECTOR_HAS_NULL;
    uint64_t span;

    if (!al_vector_key_range(s->key->vector, &s->least, &s->most))
        return 0;
    span = s->most - s->least;
    s->offset = nulls && !s->key->nulls_last;
    s->null_code = nulls && s->key->nulls_last ? span + 1 : 0;
    return span + nulls;
}

static int sort_key(struct sorting *s, al_err *err)
{
    const uint64_t highest = measure(s);
    int rc = AL_OK;

    for (s->shift = 0; s->shift < 64 && highest >> s->shift && rc == AL_OK; s->shift += 32) {
        unsigned bits = 1;

        while (bits < 32 && highest >> s->shift >> bits)
            bits++;
        rc = sort_word(s, bits, err);
    }
    return rc;
}

int al_order_sort(uint32_t *rows, uint32_t n, const al_order_key *keys, size_t nkeys, al_work *w,
                  al_err *err)
{
    struct sorting s = { .work = w, .rows = rows, .n = n };
    uint64_t *memory;
    int rc = AL_OK;

    if (nkeys == 0 || n == 0)
        return AL_OK;
    s.stripes = n / STRIPE_ROWS < w->threads ? n / STRIPE_ROWS : w->threads;
    if (s.stripes == 0)
        s.stripes = 1;
    memory = al_big_malloc(2 * (size_t)n * sizeof *memory);
    s.counts = calloc(s.stripes, sizeof *s.counts);
    if (memory && s.counts) {
        s.from = memory;
        s.to = memory + n;
        for (size_t i = nkeys; i-- > 0 && rc == AL_OK;) {
            s.key = &keys[i];
            rc = sort_key(&s, err);
        }
    } else {
        rc = no_memory(err);
    }
    free(memory);
    free(s.counts);
    return rc;
}
