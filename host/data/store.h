/* Columns kept in memory between questions, for the tables asked last, within a budget: what was
 * not used for longest goes first. One store an engine, used by aggregations and views. */
#ifndef AL_DATA_STORE_H
#define AL_DATA_STORE_H
#include "base/err.h"
#include "data/scan.h"
#include "data/vector.h"
#include "data/work.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define AL_STORE_BUDGET (UINT64_C(256) << 20)

typedef struct al_store al_store;
typedef struct al_store_table al_store_table;

int al_store_open(al_store **out, al_err *err);
void al_store_close(al_store *s);
/* Bytes of columns that may stay; at once and from now on. */
void al_store_budget(al_store *s, uint64_t bytes);

/* The question is over: what is above the budget goes. */
void al_store_done(al_store *s);

/* The table of the dataset at fd (see al_scan_open), found again when it is the same file; fd is
 * duplicated. It and its vectors are the store's and live until the next al_store_get,
 * al_store_budget or al_store_done. */
int al_store_get(al_store *s, int fd, const char *table, al_store_table **out, al_err *err);
const al_scan *al_store_scan(const al_store_table *t);

/* Whether a dataset looks the same as before; what was made of it holds as long as it does. */
bool al_store_same_file(const struct stat *a, const struct stat *b);

/* Reads those of the n columns (any order) that are not there yet, in one pass. Vectors that others
 * asked for go when the budget demands it; those asked for here do not, until al_store_get. */
int al_store_need(al_store_table *t, const uint32_t *columns, size_t n, al_work *w, al_err *err);
/* A column that was needed before. Not const: a rank may be added, see al_vector_rank. */
al_vector *al_store_vector(al_store_table *t, uint32_t column);
/* The same, as codes: made of the numbers and kept, when it is no vector of codes. */
int al_store_codes(al_store_table *t, uint32_t column, al_vector **out, al_work *w, al_err *err);
/* About how many bytes need would add; a guess from what the dataset says of its columns. */
uint64_t al_store_cost(const al_store_table *t, const uint32_t *columns, size_t n);

#endif
