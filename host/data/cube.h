/* Groups of rows and what is counted and added up in them, many cubes in one pass over vectors.
 *
 * A group is a combination of one part of each key; parts and groups are numbered from 0, a group
 * ((part of the first key) * parts of the second + part of the second) * …; group n collects the
 * rows that the filter does not let through. Results do not depend on the number of threads: sums
 * are of exact integers, or of doubles (Neumaier) in the order of the rows. */
#ifndef AL_DATA_CUBE_H
#define AL_DATA_CUBE_H
#include "base/err.h"
#include "data/measure.h"
#include "data/vector.h"
#include "data/work.h"
#include <math.h>

#define AL_CUBE_KEYS     4
#define AL_CUBE_MAX_KEYS 8 /* of a cube that others are made of */
#define AL_CUBE_MEASURES 16

/* The number of the bin [start + n * width, start + (n + 1) * width) that v lies in. A decimal that
 * is to be the beginning of one is it, however its double and those of the division are rounded:
 * 0.3 by 0.1 is 3. */
static inline double al_cube_bin(double v, double start, double width)
{
    double n = (v - start) / width, most_error = fabs(n) * 0x1p-51;

    return floor(n + (most_error < 1e-6 ? most_error : 0));
}

typedef struct al_cube_key {
    uint32_t parts;
    const al_vector *v;
    const uint32_t *map; /* v of codes: the part of each; NULL: it is the code itself */
    /* v of numbers: part 0 is NULL, 1 the numbers from start + first * width on, below width more
     */
    double start, width;
    int64_t first;
} al_cube_key;

typedef enum al_cube_fn {
    AL_CUBE_COUNT, /* cells that are not NULL; without a measure: rows */
    AL_CUBE_DISTINCT,
    AL_CUBE_SUM,
    AL_CUBE_AVG,
    AL_CUBE_MIN,
    AL_CUBE_MAX
} al_cube_fn;

typedef struct al_cube_measure {
    al_cube_fn fn;
    const al_measure *of; /* COUNT: NULL for rows; DISTINCT: of codes */
    unsigned word;        /* private: where its words are in a group's */
} al_cube_measure;

typedef struct al_cube {
    al_cube_key keys[AL_CUBE_MAX_KEYS];
    unsigned nkeys;
    const uint64_t *bits; /* of a filter; NULL: all rows */
    al_cube_measure measures[AL_CUBE_MEASURES];
    unsigned nmeasures;
    /* made by al_cube_run */
    uint32_t n;          /* groups */
    unsigned words;      /* of a group; the first is how many rows it has */
    al_word *groups;     /* (n + 2) * words */
    uint32_t first_part; /* of a slice, see al_cube_slice: that of group 0 */
    uint32_t *ids;       /* private; too many combinations: the group of each row, */
    uint64_t *combos;    /* and the combination of parts of each group */
} al_cube;

/* Fills the cubes; al_cube_free takes what it made. "query_rejected" when there are too many
 * groups. */
int al_cube_run(al_cube **cubes, size_t n, uint32_t rows, al_work *w, al_err *err);
void al_cube_free(al_cube *c);

/* A cube by one column with slices (see al_vector_slice) that adds up may be looked at slice by
 * slice, without ever being in memory as a whole. */
bool al_cube_has_slices(const al_cube *c);
typedef struct al_cube_slices al_cube_slices;
/* c is borrowed; it gets no groups. There are as many slices as its vector has. */
int al_cube_slices_open(al_cube_slices **out, al_cube *c, const al_work *w, al_err *err);
void al_cube_slices_close(al_cube_slices *s);
/* A cube of the groups of slice part->index alone, until the next one on this thread. */
void al_cube_slice(al_cube_slices *s, const al_work_part *part, al_cube *slice);

uint64_t al_cube_rows(const al_cube *c, uint32_t group);
uint32_t al_cube_part(const al_cube *c, uint32_t group, unsigned key);
/* The result of a measure. Integer sums beyond 64 bits are real. */
al_cell al_cube_result(const al_cube *c, uint32_t group, unsigned measure);
/* A number in the order of the results of the measure; results that differ little may have the same
 * one. NULL is the least. */
double al_cube_rough(const al_cube *c, uint32_t group, unsigned measure);
/* Of groups [from, from + n); NaN for those without rows. */
void al_cube_roughs(const al_cube *c, unsigned measure, uint32_t from, uint32_t n, double *rough);

/* Whether all measures are counts and exact sums: then the words of groups may be added, */
bool al_cube_adds_up(const al_cube *c);
/* which this does for groups [from, from + n). */
void al_cube_add_up(const al_cube *c, uint32_t from, uint32_t n, al_word *into);
/* All groups but the n kept become group AL_CUBE_REST(c). all: the words of all groups added up, or
 * NULL. Not for cubes with DISTINCT. */
int al_cube_fold(al_cube *c, const uint32_t *kept, size_t n, const al_word *all, al_err *err);
#define AL_CUBE_REST(c) ((c)->n + 1)

#endif
