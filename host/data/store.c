/* Tables in a list, the one asked last in front; their vectors by column. */
#include "data/store.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_TABLES 16 /* and descriptors */

struct kept {
    al_vector *vector, *codes; /* codes: of a vector of numbers, or NULL */
    uint64_t used;             /* when, in questions */
    bool needed;               /* since al_store_get */
};

struct al_store_table {
    al_store_table *next;
    al_store *store;
    int fd;
    struct stat stat;
    al_scan *scan;
    struct kept *columns;
};

struct al_store {
    al_store_table *tables;
    uint64_t budget, clock;
};

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "dataset", "not enough memory");
}

int al_store_open(al_store **out, al_err *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return no_memory(err);
    (*out)->budget = AL_STORE_BUDGET;
    return AL_OK;
}

static void drop(struct kept *k)
{
    al_vector_free(k->vector);
    al_vector_free(k->codes);
    k->vector = k->codes = NULL;
}

static uint64_t size_of(const struct kept *k)
{
    return (k->vector ? k->vector->bytes : 0) + (k->codes ? k->codes->bytes : 0);
}

static void close_table(al_store_table *t)
{
    for (size_t i = 0; t->columns && i < al_scan_columns(t->scan); i++)
        drop(&t->columns[i]);
    free(t->columns);
    al_scan_close(t->scan);
    if (t->fd >= 0)
        close(t->fd);
    free(t);
}

void al_store_close(al_store *s)
{
    if (!s)
        return;
    while (s->tables) {
        al_store_table *t = s->tables;

        s->tables = t->next;
        close_table(t);
    }
    free(s);
}

static uint64_t bytes_of(const al_store *s)
{
    uint64_t n = 0;

    for (const al_store_table *t = s->tables; t; t = t->next)
        for (size_t i = 0; i < al_scan_columns(t->scan); i++)
            n += size_of(&t->columns[i]);
    return n;
}

static struct kept *oldest(const al_store *s)
{
    struct kept *found = NULL;

    for (const al_store_table *t = s->tables; t; t = t->next)
        for (size_t i = 0; i < al_scan_columns(t->scan); i++) {
            struct kept *k = &t->columns[i];

            if (k->vector && !k->needed && (!found || k->used < found->used))
                found = k;
        }
    return found;
}

/* Lets go of vectors that nobody needs now until `more` bytes fit, or none is left. */
static void make_room(al_store *s, uint64_t more)
{
    while (bytes_of(s) + more > s->budget) {
        struct kept *k = oldest(s);

        if (!k)
            return;
        drop(k);
    }
}

static void nothing_needed(al_store *s)
{
    for (al_store_table *t = s->tables; t; t = t->next)
        for (size_t i = 0; i < al_scan_columns(t->scan); i++)
            t->columns[i].needed = false;
}

void al_store_budget(al_store *s, uint64_t bytes)
{
    s->budget = bytes;
    al_store_done(s);
}

void al_store_done(al_store *s)
{
    nothing_needed(s);
    make_room(s, 0);
}

bool al_store_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtime == b->st_mtime;
}

/* Tables whose file changed or has gone, and those beyond what may be kept. */
static void drop_stale(al_store *s)
{
    int n = 0;

    for (al_store_table **at = &s->tables; *at;) {
        al_store_table *t = *at;
        struct stat now;

        if (++n < MAX_TABLES && fstat(t->fd, &now) == 0 && now.st_nlink == t->stat.st_nlink &&
            al_store_same_file(&now, &t->stat)) {
            at = &t->next;
        } else {
            *at = t->next;
            close_table(t);
        }
    }
}

/* The table of this name in this file moves to the front of the list; NULL when it is not there. */
static al_store_table *find(al_store *s, const struct stat *st, const char *name)
{
    for (al_store_table **at = &s->tables; *at; at = &(*at)->next) {
        al_store_table *t = *at;

        if (!al_store_same_file(&t->stat, st) || strcmp(al_scan_table(t->scan), name) != 0)
            continue;
        *at = t->next;
        t->next = s->tables;
        s->tables = t;
        return t;
    }
    return NULL;
}

/* Takes scan. */
static int add_table(al_store *s, int fd, const struct stat *st, al_scan *scan, al_err *err)
{
    al_store_table *t = calloc(1, sizeof *t);
    struct kept *columns = calloc(al_scan_columns(scan), sizeof *columns);
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0), failed = errno;

    if (!t || !columns || own < 0) {
        free(t);
        free(columns);
        al_scan_close(scan);
        if (own < 0)
            return al_err_errno(err, failed, "dataset");
        close(own);
        return no_memory(err);
    }
    al_scan_descriptor(scan, own);
    *t = (al_store_table){
        .next = s->tables, .store = s, .fd = own, .stat = *st, .scan = scan, .columns = columns
    };
    s->tables = t;
    return AL_OK;
}

int al_store_get(al_store *s, int fd, const char *table, al_store_table **out, al_err *err)
{
    struct stat st;
    al_scan *scan;
    int rc;

    *out = NULL;
    if (fstat(fd, &st) != 0)
        return al_err_errno(err, errno, "dataset");
    nothing_needed(s);
    drop_stale(s);
    s->clock++;
    if (table && *table)
        *out = find(s, &st, table);
    if (*out)
        return AL_OK;
    rc = al_scan_open(&scan, fd, table, err);
    if (rc != AL_OK)
        return rc;
    *out = find(s, &st, al_scan_table(scan)); /* the first sheet, when none was named */
    if (*out) {
        al_scan_close(scan);
        return AL_OK;
    }
    rc = add_table(s, fd, &st, scan, err);
    if (rc == AL_OK)
        *out = s->tables;
    return rc;
}

const al_scan *al_store_scan(const al_store_table *t)
{
    return t->scan;
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

int al_store_need(al_store_table *t, const uint32_t *columns, size_t n, al_work *w, al_err *err)
{
    uint32_t *missing = malloc((n + 1) * sizeof *missing);
    al_vector **made = malloc((n + 1) * sizeof *made);
    size_t m = 0;
    int rc = missing && made ? AL_OK : no_memory(err);

    for (size_t i = 0; i < n && rc == AL_OK; i++) {
        struct kept *k = &t->columns[columns[i]];

        if (!k->vector && (!k->needed || k->used != t->store->clock))
            missing[m++] = columns[i];
        k->needed = true;
        k->used = t->store->clock;
    }
    if (rc == AL_OK && m > 0) {
        qsort(missing, m, sizeof *missing, ascending);
        make_room(t->store, al_store_cost(t, missing, m));
        rc = al_vector_read(t->scan, missing, m, made, w, err);
    }
    for (size_t i = 0; i < m; i++) {
        if (rc == AL_OK)
            t->columns[missing[i]].vector = made[i];
        else
            t->columns[missing[i]].needed = false;
    }
    free(missing);
    free(made);
    return rc;
}

al_vector *al_store_vector(al_store_table *t, uint32_t column)
{
    return t->columns[column].vector;
}

int al_store_codes(al_store_table *t, uint32_t column, al_vector **out, al_work *w, al_err *err)
{
    struct kept *k = &t->columns[column];
    int rc = AL_OK;

    if (k->vector->form != AL_VECTOR_CODES && !k->codes)
        rc = al_vector_codes(k->vector, &k->codes, w, err);
    *out = k->codes ? k->codes : k->vector;
    return rc;
}

/* Longer than most texts are; what they really take shows when they are read. */
#define TEXT_BYTES 24

uint64_t al_store_cost(const al_store_table *t, const uint32_t *columns, size_t n)
{
    uint64_t rows = al_scan_rows(t->scan), cost = 0;

    for (size_t i = 0; i < n; i++) {
        const al_scan_column *c = al_scan_column_at(t->scan, columns[i]);
        bool numeric = strcmp(c->type, "integer") == 0 || strcmp(c->type, "real") == 0;
        unsigned width = c->distinct < UINT8_MAX ? 1 : c->distinct < UINT16_MAX ? 2 : 4;

        if (t->columns[columns[i]].vector)
            continue;
        if (numeric && c->distinct > UINT8_MAX)
            width = 8;
        cost += rows * width;
        if (width == 4)
            cost += c->distinct * (TEXT_BYTES + sizeof(uint32_t));
    }
    return cost;
}
