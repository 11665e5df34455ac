/* Three ways to aggregate. Order statistics keep every number; moments keep sums with twice the
 * digits of a double, from which rows can be taken again; mode counts values in a hash table. */
#include "data/sqlfunctions.h"
#include "base/hash.h"
#include "data/regex.h"
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The value as a number that is to be calculated with. */
static bool number_of(sqlite3_value *value, double *out)
{
    const int type = sqlite3_value_numeric_type(value);

    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
        return false;
    *out = sqlite3_value_double(value);
    return true;
}

/* Room for one more element behind `used`, in an array that starts with `first`. */
static bool grow(void **array, size_t size, uint64_t used, uint64_t *room, uint64_t first)
{
    uint64_t more = *room ? *room + *room / 2 : first;
    void *grown;

    if (used < *room)
        return true;
    grown = sqlite3_realloc64(*array, more * size);
    if (!grown)
        return false;
    *array = grown;
    *room = more;
    return true;
}

/* ---- order statistics ---- */

enum { MEDIAN, PERCENTILE, CONTINUOUS, DISCRETE };

struct numbers {
    double *v;
    uint64_t head, tail, room; /* of a window: rows leave it in the order in which they came */
    double fraction;
    bool started;
};

static int kind_of(sqlite3_context *ctx)
{
    return (int)(intptr_t)sqlite3_user_data(ctx);
}

static bool set_fraction(sqlite3_context *ctx, struct numbers *n, int argc, sqlite3_value **argv)
{
    const int kind = kind_of(ctx);
    const double most = kind == PERCENTILE ? 100 : 1;
    double f = 0.5;

    if (argc > 1 && (!number_of(argv[1], &f) || !(f >= 0 && f <= most))) {
        sqlite3_result_error(ctx,
                             kind == PERCENTILE ? "percentile(x, p): p goes from 0 to 100"
                                                : "percentile_cont(x, f), percentile_disc(x, f): "
                                                  "f goes from 0 to 1",
                             -1);
        return false;
    }
    if (n->started && f / most != n->fraction) {
        sqlite3_result_error(ctx, "a percentile is the same for all rows", -1);
        return false;
    }
    n->started = true;
    n->fraction = argc > 1 ? f / most : f;
    return true;
}

static void numbers_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    struct numbers *n = sqlite3_aggregate_context(ctx, sizeof *n);
    double x;

    if (!n) {
        sqlite3_result_error_nomem(ctx);
        return;
    }
    if (!set_fraction(ctx, n, argc, argv) || !number_of(argv[0], &x))
        return;
    if (n->tail == n->room && n->head > n->room / 2) {
        memmove(n->v, n->v + n->head, (n->tail - n->head) * sizeof *n->v);
        n->tail -= n->head;
        n->head = 0;
    }
    if (!grow((void **)&n->v, sizeof *n->v, n->tail, &n->room, 64)) {
        sqlite3_result_error_nomem(ctx);
        return;
    }
    n->v[n->tail++] = x;
}

static void numbers_inverse(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    struct numbers *n = sqlite3_aggregate_context(ctx, 0);
    double x;

    (void)argc;
    if (n && number_of(argv[0], &x) && n->head < n->tail)
        n->head++;
}

static void swap(double *a, double *b)
{
    const double t = *a;

    *a = *b;
    *b = t;
}

/* Puts at v[k] what stands there in order, what is smaller in front of it, larger behind. The pivot
 * comes by chance, so that no order of rows makes it slow; equals are set aside. */
static void select_at(double *v, uint64_t n, uint64_t k)
{
    uint64_t low = 0, high = n, chance = 0x9E3779B97F4A7C15;

    while (high - low > 1) {
        uint64_t less = low, at = low, more = high;
        double pivot;

        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        pivot = v[low + chance % (high - low)];
        while (at < more) {
            if (v[at] < pivot)
                swap(&v[at++], &v[less++]);
            else if (v[at] > pivot)
                swap(&v[at], &v[--more]);
            else
                at++;
        }
        if (k < less)
            high = less;
        else if (k >= more)
            low = more;
        else
            return;
    }
}

static double between(double a, double b, double part)
{
    if (part == 0 || a == b)
        return a;
    if (part == 0.5 && isfinite(a + b))
        return (a + b) / 2;
    return isfinite(b - a) ? a + (b - a) * part : a * (1 - part) + b * part;
}

/* v is put in another order. n > 0. */
static double percentile(double *v, uint64_t n, double fraction, bool discrete)
{
    double place = fraction * (double)(n - 1), whole = floor(place), next;

    if (discrete) { /* the first value up to which so many of all are; 0.07 * 100 is 7, too */
        whole = ceil(fraction * (double)n * (1 - 0x1p-52)) - 1;
        place = whole = whole < 0 ? 0 : whole;
    }
    const uint64_t k = (uint64_t)whole;

    select_at(v, n, k);
    if (place == whole || k + 1 >= n)
        return v[k];
    next = v[k + 1];
    for (uint64_t i = k + 2; i < n; i++)
        if (v[i] < next)
            next = v[i];
    return between(v[k], next, place - whole);
}

/* A NaN, as between two infinities, becomes NULL. */
static void numbers_answer(sqlite3_context *ctx, const struct numbers *n, double *v)
{
    sqlite3_result_double(ctx,
                          percentile(v, n->tail - n->head, n->fraction, kind_of(ctx) == DISCRETE));
}

static void numbers_value(sqlite3_context *ctx)
{
    struct numbers *n = sqlite3_aggregate_context(ctx, 0);
    double *copy;

    if (!n || n->head == n->tail)
        return;
    copy = sqlite3_malloc64((n->tail - n->head) * sizeof *copy);
    if (!copy) {
        sqlite3_result_error_nomem(ctx);
        return;
    }
    memcpy(copy, n->v + n->head, (n->tail - n->head) * sizeof *copy);
    numbers_answer(ctx, n, copy);
    sqlite3_free(copy);
}

static void numbers_final(sqlite3_context *ctx)
{
    struct numbers *n = sqlite3_aggregate_context(ctx, 0);

    if (!n)
        return;
    if (n->head < n->tail)
        numbers_answer(ctx, n, n->v + n->head);
    sqlite3_free(n->v);
    n->v = NULL;
}

/* ---- moments ---- */

enum { VARIANCE = 1, DEVIATION = 2, POPULATION = 4 };

/* high + low, with low less than half a unit of high's last place. */
struct twice {
    double high, low;
};

static struct twice sum_of(double a, double b)
{
    const double sum = a + b, part = sum - a;

    return (struct twice){ sum, (a - (sum - part)) + (b - part) };
}

static void add(struct twice *t, double high, double low)
{
    const struct twice sum = sum_of(t->high, high);

    *t = sum_of(sum.high, sum.low + t->low + low);
}

static struct twice square(struct twice t)
{
    const double p = t.high * t.high;

    return sum_of(p, fma(t.high, t.high, -p) + 2 * t.high * t.low);
}

/* Sums of the differences from the first number and of their squares. With 106 digits they stay
 * good when rows leave a window, unless one was 10^12 times as far off as the others are. */
struct moments {
    int64_t n, wild; /* wild: whose square no double holds */
    double first;
    bool started;
    struct twice sum, squares;
};

static void moments_move(sqlite3_context *ctx, sqlite3_value *value, double sign)
{
    struct moments *m = sqlite3_aggregate_context(ctx, sizeof *m);
    struct twice d, s;
    double x;

    if (!m) {
        sqlite3_result_error_nomem(ctx);
        return;
    }
    if (!number_of(value, &x))
        return;
    if (!m->started) {
        m->started = true;
        m->first = isfinite(x) ? x : 0;
    }
    m->n += (int64_t)sign;
    d = sum_of(x, -m->first);
    s = square(d);
    if (!isfinite(s.high)) {
        m->wild += (int64_t)sign;
        return;
    }
    add(&m->sum, sign * d.high, sign * d.low);
    add(&m->squares, sign * s.high, sign * s.low);
}

static void moments_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    moments_move(ctx, argv[0], 1);
}

static void moments_inverse(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    moments_move(ctx, argv[0], -1);
}

static void moments_value(sqlite3_context *ctx)
{
    const struct moments *m = sqlite3_aggregate_context(ctx, 0);
    const int kind = kind_of(ctx);
    double n, q, variance;
    struct twice p;

    if (!m || m->wild || m->n < (kind & POPULATION ? 1 : 2))
        return;
    n = (double)m->n;
    p = square(m->sum);
    q = p.high / n;
    variance = (m->squares.high - q) + (m->squares.low - (fma(-q, n, p.high) + p.low) / n);
    variance = (variance > 0 ? variance : 0) / (kind & POPULATION ? n : n - 1);
    sqlite3_result_double(ctx, kind & DEVIATION ? sqrt(variance) : variance);
}

/* ---- the most frequent value ---- */

struct entry {
    uint64_t count, hash;
    sqlite3_int64 integer; /* of an integer, or of a real that is one */
    double real;
    uint64_t at; /* of a text or blob: its bytes */
    int len;
    uint8_t type; /* SQLITE_INTEGER also for a real that is one; `written` is what came */
    uint8_t written;
};

struct counts {
    struct entry *entries;
    uint64_t n, room;
    char *bytes;
    uint64_t used, bytes_room;
    uint32_t *slots; /* number of the entry + 1; 0: free */
    uint64_t mask;   /* of slots; they are a power of two, and twice as many as entries at least */
};

static bool read_entry(sqlite3_value *value, struct entry *e, const void **bytes)
{
    memset(e, 0, sizeof *e);
    e->type = e->written = (uint8_t)sqlite3_value_type(value);
    *bytes = "";
    switch (e->type) {
    case SQLITE_NULL: return false;
    case SQLITE_INTEGER: e->integer = sqlite3_value_int64(value); break;
    case SQLITE_FLOAT:
        e->real = sqlite3_value_double(value);
        if (e->real >= -0x1p63 && e->real < 0x1p63 && floor(e->real) == e->real) {
            e->type = SQLITE_INTEGER; /* 1.0 is 1 */
            e->integer = (sqlite3_int64)e->real;
        }
        break;
    default:
        *bytes = e->type == SQLITE_TEXT ? (const void *)sqlite3_value_text(value)
                                        : sqlite3_value_blob(value);
        e->len = sqlite3_value_bytes(value);
        if (!*bytes)
            *bytes = "", e->len = 0;
    }
    if (e->type == SQLITE_INTEGER)
        e->hash = al_hash64(&e->integer, sizeof e->integer);
    else if (e->type == SQLITE_FLOAT)
        e->hash = al_hash64(&e->real, sizeof e->real);
    else
        e->hash = al_hash64(*bytes, (size_t)e->len) ^ e->type;
    return true;
}

static bool same(const struct counts *c, const struct entry *a, const struct entry *b,
                 const void *bytes)
{
    if (a->hash != b->hash || a->type != b->type || a->len != b->len)
        return false;
    if (a->type == SQLITE_INTEGER)
        return a->integer == b->integer;
    if (a->type == SQLITE_FLOAT)
        return a->real == b->real;
    return memcmp(c->bytes + a->at, bytes, (size_t)a->len) == 0;
}

static uint32_t *slot_of(const struct counts *c, const struct entry *e, const void *bytes)
{
    uint64_t i = e->hash & c->mask;

    while (c->slots[i] && !same(c, &c->entries[c->slots[i] - 1], e, bytes))
        i = (i + 1) & c->mask;
    return &c->slots[i];
}

static bool more_slots(struct counts *c)
{
    const uint64_t n = c->slots ? 2 * (c->mask + 1) : 64;
    uint32_t *slots;

    if (c->slots && 2 * (c->n + 1) <= c->mask + 1)
        return true;
    slots = sqlite3_malloc64(n * sizeof *slots);
    if (!slots || c->n >= UINT32_MAX - 1) {
        sqlite3_free(slots);
        return false;
    }
    memset(slots, 0, n * sizeof *slots);
    sqlite3_free(c->slots);
    c->slots = slots;
    c->mask = n - 1;
    for (uint64_t k = 0; k < c->n; k++) {
        uint64_t i = c->entries[k].hash & c->mask;

        while (slots[i])
            i = (i + 1) & c->mask;
        slots[i] = (uint32_t)k + 1;
    }
    return true;
}

static bool keep_bytes(struct counts *c, struct entry *e, const void *bytes)
{
    const uint64_t need = c->used + (uint64_t)e->len;

    if (!c->bytes || need > c->bytes_room) {
        uint64_t room = c->bytes_room + c->bytes_room / 2 + 1024;
        char *more;

        room = room < need ? need : room;
        more = sqlite3_realloc64(c->bytes, room);
        if (!more)
            return false;
        c->bytes = more;
        c->bytes_room = room;
    }
    if (e->len)
        memcpy(c->bytes + c->used, bytes, (size_t)e->len);
    e->at = c->used;
    c->used = need;
    return true;
}

static bool count(struct counts *c, struct entry *e, const void *bytes)
{
    uint32_t *slot;

    if (!more_slots(c))
        return false;
    slot = slot_of(c, e, bytes);
    if (!*slot) {
        if (!grow((void **)&c->entries, sizeof *c->entries, c->n, &c->room, 32) ||
            !keep_bytes(c, e, bytes))
            return false;
        c->entries[c->n++] = *e;
        *slot = (uint32_t)c->n;
    }
    c->entries[*slot - 1].count++;
    if (e->written == SQLITE_INTEGER)
        c->entries[*slot - 1].written = SQLITE_INTEGER;
    return true;
}

static void mode_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    struct counts *c = sqlite3_aggregate_context(ctx, sizeof *c);
    const void *bytes;
    struct entry e;

    (void)argc;
    if (!c || (read_entry(argv[0], &e, &bytes) && !count(c, &e, bytes)))
        sqlite3_result_error_nomem(ctx);
}

static void mode_inverse(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    struct counts *c = sqlite3_aggregate_context(ctx, 0);
    const void *bytes;
    struct entry e;

    (void)argc;
    if (c && c->slots && read_entry(argv[0], &e, &bytes)) {
        const uint32_t slot = *slot_of(c, &e, bytes);

        if (slot)
            c->entries[slot - 1].count--;
    }
}

static bool integer_below_real(sqlite3_int64 i, double r)
{
    return r >= 0x1p63 || (r >= -0x1p63 && i < (sqlite3_int64)ceil(r));
}

/* In SQLite's order: numbers, texts by their bytes, blobs. */
static bool is_below(const struct counts *c, const struct entry *a, const struct entry *b)
{
    const bool a_number = a->type <= SQLITE_FLOAT, b_number = b->type <= SQLITE_FLOAT;
    int order;

    if (a_number != b_number)
        return a_number;
    if (!a_number) {
        if (a->type != b->type)
            return a->type == SQLITE_TEXT;
        order =
            memcmp(c->bytes + a->at, c->bytes + b->at, (size_t)(a->len < b->len ? a->len : b->len));
        return order < 0 || (order == 0 && a->len < b->len);
    }
    if (a->type == SQLITE_INTEGER && b->type == SQLITE_INTEGER)
        return a->integer < b->integer;
    if (a->type == SQLITE_INTEGER)
        return integer_below_real(a->integer, b->real);
    if (b->type == SQLITE_INTEGER)
        return !integer_below_real(b->integer, a->real);
    return a->real < b->real;
}

static void mode_value(sqlite3_context *ctx)
{
    const struct counts *c = sqlite3_aggregate_context(ctx, 0);
    const struct entry *best = NULL;

    for (uint64_t i = 0; c && i < c->n; i++) {
        const struct entry *e = &c->entries[i];

        if (e->count &&
            (!best || e->count > best->count || (e->count == best->count && is_below(c, e, best))))
            best = e;
    }
    if (!best)
        return;
    if (best->written == SQLITE_INTEGER)
        sqlite3_result_int64(ctx, best->integer);
    else if (best->written == SQLITE_FLOAT)
        sqlite3_result_double(ctx, best->real);
    else if (best->written == SQLITE_TEXT)
        sqlite3_result_text(ctx, c->bytes + best->at, best->len, SQLITE_TRANSIENT);
    else
        sqlite3_result_blob(ctx, c->bytes + best->at, best->len, SQLITE_TRANSIENT);
}

static void mode_final(sqlite3_context *ctx)
{
    struct counts *c = sqlite3_aggregate_context(ctx, 0);

    if (!c)
        return;
    mode_value(ctx);
    sqlite3_free(c->entries);
    sqlite3_free(c->bytes);
    sqlite3_free(c->slots);
    memset(c, 0, sizeof *c);
}

/* ---- regular expressions ---- */

static void regex_free(void *regex)
{
    al_regex_close(regex);
}

static void regexp(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    al_regex *regex = sqlite3_get_auxdata(ctx, 0);
    const bool made = !regex;
    const char *text;
    al_err err;

    (void)argc;
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL || sqlite3_value_type(argv[1]) == SQLITE_NULL)
        return;
    if (made) {
        text = (const char *)sqlite3_value_text(argv[0]);
        if (al_regex_open(&regex, text ? text : "", (size_t)sqlite3_value_bytes(argv[0]), &err) !=
            AL_OK) {
            sqlite3_result_error(ctx, err.detail, -1);
            return;
        }
    }
    text = (const char *)sqlite3_value_text(argv[1]);
    sqlite3_result_int(ctx,
                       text && al_regex_find(regex, text, (size_t)sqlite3_value_bytes(argv[1])));
    if (made)
        sqlite3_set_auxdata(ctx, 0, regex, regex_free); /* for the rows that follow; it may free */
}

/* ---- all of them ---- */

#define FLAGS (SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS)

typedef void step_fn(sqlite3_context *ctx, int argc, sqlite3_value **argv);
typedef void value_fn(sqlite3_context *ctx);

int al_sqlfunctions_add(sqlite3 *db)
{
    static const struct {
        const char *name;
        int argc;
        intptr_t kind;
        step_fn *step, *inverse;
        value_fn *value, *final;
    } aggregates[] = {
        { "median", 1, MEDIAN, numbers_step, numbers_inverse, numbers_value, numbers_final },
        { "percentile", 2, PERCENTILE, numbers_step, numbers_inverse, numbers_value,
          numbers_final },
        { "percentile_cont", 2, CONTINUOUS, numbers_step, numbers_inverse, numbers_value,
          numbers_final },
        { "percentile_disc", 2, DISCRETE, numbers_step, numbers_inverse, numbers_value,
          numbers_final },
        { "stddev", 1, DEVIATION, moments_step, moments_inverse, moments_value, moments_value },
        { "stddev_samp", 1, DEVIATION, moments_step, moments_inverse, moments_value,
          moments_value },
        { "stddev_pop", 1, DEVIATION | POPULATION, moments_step, moments_inverse, moments_value,
          moments_value },
        { "variance", 1, VARIANCE, moments_step, moments_inverse, moments_value, moments_value },
        { "var_samp", 1, VARIANCE, moments_step, moments_inverse, moments_value, moments_value },
        { "var_pop", 1, VARIANCE | POPULATION, moments_step, moments_inverse, moments_value,
          moments_value },
        { "mode", 1, 0, mode_step, mode_inverse, mode_value, mode_final },
    };
    int rc = sqlite3_create_function_v2(db, "regexp", 2, FLAGS, NULL, regexp, NULL, NULL, NULL);

    for (size_t i = 0; i < sizeof aggregates / sizeof aggregates[0] && rc == SQLITE_OK; i++)
        rc = sqlite3_create_window_function(db, aggregates[i].name, aggregates[i].argc, FLAGS,
                                            (void *)aggregates[i].kind, aggregates[i].step,
                                            aggregates[i].final, aggregates[i].value,
                                            aggregates[i].inverse, NULL);
    return rc;
}
