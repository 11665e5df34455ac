/* Which rows: conditions on columns, all of which must hold.
 *
 * As JSON a filter is a list of objects {"column":NAME, and exactly one of
 *   "eq":VALUE            equal
 *   "in":[VALUE, …]       equal to one of them
 *   "notIn":[VALUE, …]    equal to none of them; NULL is a value like others
 *   "null":true|false     is NULL, is not
 *   "contains":TEXT       the cell as text contains it, whatever the case of letters
 *   "range":{"ge"|"gt":VALUE, "le"|"lt":VALUE}   one or both ends, both numbers or both texts
 * }. Values are numbers and texts, in lists also null. 1 and 1.0 are equal, '1' is another value. A
 * range holds for cells of its own class only: one of numbers for no text. Texts compare by their
 * bytes. */
#ifndef AL_DATA_FILTER_H
#define AL_DATA_FILTER_H
#include "base/err.h"
#include "data/scan.h"
#include "data/vector.h"
#include "data/work.h"

#define AL_FILTER_MAX_CONDITIONS 64
#define AL_FILTER_MAX_VALUES     10000 /* of all conditions */

typedef struct al_filter al_filter;

/* json: the list; column names are those of s. AL_EINVAL, "query_rejected" with what is wrong in
 * the detail. */
int al_filter_parse(al_filter **out, const char *json, size_t len, const al_scan *s, al_err *err);
void al_filter_free(al_filter *f);                            /* NULL does nothing */
bool al_filter_equal(const al_filter *a, const al_filter *b); /* NULL is the filter without any */

/* The columns it looks at, ascending, each once; how many. */
size_t al_filter_columns(const al_filter *f, const uint32_t **columns);

/* One bit a row, bit r & 63 of word r >> 6, set when the row is let through. */
#define AL_FILTER_WORDS(rows) (((size_t)(rows) + 63) / 64)

/* vector(data, column) gives the vector of a column. bits: AL_FILTER_WORDS words, all written.
 * *count: how many rows. */
int al_filter_run(const al_filter *f, const al_vector *(*vector)(void *data, uint32_t column),
                  void *data, uint32_t rows, uint64_t *bits, uint64_t *count, al_work *w,
                  al_err *err);

#endif
