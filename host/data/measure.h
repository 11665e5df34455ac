/* What is added up: a column, or the product of two, as one number a row. */
#ifndef AL_DATA_MEASURE_H
#define AL_DATA_MEASURE_H
#include "base/err.h"
#include "data/vector.h"
#include "data/work.h"

typedef union al_word {
    int64_t i;
    double d;
} al_word;

#define AL_WORD_NULL INT64_MIN /* of integers; of doubles it is NaN */

typedef enum al_measure_use {
    AL_MEASURE_SUM,   /* numbers, as SQLite's sum sees them: a text is what it begins with, or 0 */
    AL_MEASURE_ORDER, /* numbers that are in the order of the cells */
    AL_MEASURE_CODE   /* the code of the cell */
} al_measure_use;

typedef struct al_measure {
    const al_vector *v, *times; /* borrowed; times: NULL, or the other factor */
    al_measure_use use;
    bool real;                    /* words are doubles; else integers, */
    bool ranks;                   /* which are ranks of the vector's values, */
    int decimals;                 /* or stand for integer / 10^decimals */
    bool integer;                 /* every number is an INTEGER */
    bool nulls;                   /* some rows have none */
    bool wide;                    /* a sum of them all may not fit 64 bits */
    al_word *table, *times_table; /* by code */
    uint32_t *by_rank;            /* ranks: the code of each */
} al_measure;

/* only_numbers: texts count as NULL. v has its rank for AL_MEASURE_ORDER, when it is of codes, and
 * is of codes for AL_MEASURE_CODE. */
int al_measure_open(al_measure *m, const al_vector *v, const al_vector *times, al_measure_use use,
                    bool only_numbers, al_err *err);
void al_measure_close(al_measure *m);

/* The words of rows [first, first + n). */
void al_measure_words(const al_measure *m, uint32_t first, uint32_t n, al_word *words);
/* The cell that a word of AL_MEASURE_ORDER stands for. */
al_cell al_measure_cell(const al_measure *m, al_word word);

#endif
