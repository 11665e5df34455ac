/* The distinct values of a column and how often each occurs, counted as SQLite counts them: 1 and
 * 1.0 are one value, '1' is another.
 *
 * Exact while memory allows. al_values_estimate lets go of most values: from then on the number of
 * distinct values is an estimate, and counts are kept (exactly) for those that were frequent. All
 * of it depends on the cells and their order only. */
#ifndef AL_DATA_VALUES_H
#define AL_DATA_VALUES_H
#include "data/cell.h"

typedef struct al_values al_values;

typedef struct al_value_count {
    al_cell value; /* as it came first; its text belongs to the al_values */
    uint64_t count;
} al_value_count;

int al_values_open(al_values **out);
void al_values_close(al_values *v);

/* Counts the n cells cells[0], cells[stride], cells[2 * stride] …; NULLs do not count. AL_OK or
 * AL_ENOMEM. */
int al_values_add(al_values *v, const al_cell *cells, size_t n, size_t stride);
/* What the values cost against the memory budget: a sum over the distinct values, whatever the
 * tables really take. 0 once it is an estimate. */
uint64_t al_values_cost(const al_values *v);
int al_values_estimate(al_values *v);

bool al_values_exact(const al_values *v);
uint64_t al_values_distinct(const al_values *v);
/* The most frequent values, at most n, ties in SQLite's order; how many there are. */
size_t al_values_top(const al_values *v, al_value_count *top, size_t n);

/* SQLite's order: NULL, numbers, texts by their bytes. */
int al_cell_compare(const al_cell *a, const al_cell *b);

#endif
