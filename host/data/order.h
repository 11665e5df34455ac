/* Row numbers in the order of columns, as ORDER BY has it, with the row number as the last key. */
#ifndef AL_DATA_ORDER_H
#define AL_DATA_ORDER_H
#include "base/err.h"
#include "data/vector.h"
#include "data/work.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct al_order_key {
    const al_vector *vector; /* one of codes has its rank */
    bool descending;
    bool nulls_last; /* wherever they would come by descending */
} al_order_key;

/* Sorts rows[0, n), distinct row numbers of the vectors' table, counted from 0 and ascending, by
 * the keys, the first of which counts most. "cancelled", or "internal" without enough memory (16
 * bytes a row); the rows are in any order then. The result does
 * not depend on the number of threads. */
int al_order_sort(uint32_t *rows, uint32_t n, const al_order_key *keys, size_t nkeys, al_work *w,
                  al_err *err);

#endif
