/* A column in memory.
 *
 * Three forms, whichever is smallest: codes into a dictionary of the distinct values, in the order
 * in which they came first; integers, which stand for numbers with a fixed number of decimals; and
 * doubles. All forms keep every value exactly. Two values are one when SQLite says they are equal
 * (1 and 1.0, but not '1'); the first one stands for both. */
#ifndef AL_DATA_VECTOR_H
#define AL_DATA_VECTOR_H
#include "base/err.h"
#include "data/cell.h"
#include "data/scan.h"
#include "data/work.h"
#include <stdbool.h>

typedef enum al_vector_form {
    AL_VECTOR_CODES,    /* unsigned of 1, 2 or 4 bytes; code 0 is NULL */
    AL_VECTOR_INTEGERS, /* signed of 4 or 8 bytes; the least one is NULL */
    AL_VECTOR_REALS     /* doubles; NaN is NULL */
} al_vector_form;

enum {
    AL_VECTOR_HAS_NULL = 1,
    AL_VECTOR_HAS_INTEGER = 2,
    AL_VECTOR_HAS_REAL = 4,
    AL_VECTOR_HAS_TEXT = 8
};

typedef struct al_vector {
    al_vector_form form;
    uint8_t width;    /* bytes of an element */
    uint8_t decimals; /* INTEGERS: the value is element / 10^decimals */
    uint8_t kinds;    /* AL_VECTOR_HAS_*: the kinds of cells that there are */
    uint32_t rows;
    void *data;         /* rows elements */
    double least, most; /* of the numbers; INTEGERS and REALS only; least > most: there is none */
    uint32_t codes;     /* CODES: how many, the one of NULL included, whether it occurs or not */
    /* CODES: values by code; private, see al_vector_value. Part p has the values of codes
     * [parts[p].first, parts[p + 1].first): that of the i-th of them at bytes[at[i]]. */
    struct al_vector_part {
        uint32_t first, len; /* len: of bytes */
        uint32_t *at;
        unsigned char *bytes;
    } * parts;
    size_t nparts;
    uint32_t *at; /* what all parts' are pieces of; NULL: each has its own */
    /* CODES, after al_vector_slice; NULL when more than few values repeat. The first rows of the
     * codes of slice i are among rows [slices[i].row, slices[i + 1].row), and all others of them
     * there or at late[slices[i].late] up to late[slices[i + 1].late]. */
    struct al_vector_slice {
        uint32_t row, late;
    } * slices;
    size_t nslices;
    uint32_t *late;
    uint32_t *rank; /* CODES, after al_vector_rank: the place of each code in SQLite's order */
    size_t bytes;   /* of memory, all in all */
} al_vector;

void al_vector_free(al_vector *v);

/* Reads the n columns (ascending) of a table in one pass. out: n pointers, filled or all NULL.
 * "io_error", "cancelled", or "internal" when memory does not suffice. What is made does not depend
 * on the number of threads. */
int al_vector_read(const al_scan *s, const uint32_t *columns, size_t n, al_vector **out, al_work *w,
                   al_err *err);

/* A vector of codes for one of numbers, for what goes by distinct values. */
int al_vector_codes(const al_vector *numbers, al_vector **out, al_work *w, al_err *err);

/* How many decimals n numbers have at most, NaN aside, where 10^decimals times each is exactly an
 * integer below 2^50; -1 when there are more than 9, or a -0.0. al_vector_unit: 10^decimals. */
int al_vector_decimals(const double *numbers, uint32_t n);
double al_vector_unit(int decimals);

/* The value of a code; its text points into v. */
al_cell al_vector_value(const al_vector *v, uint32_t code);
/* The cell of a row, whatever the form. In a column that has both integers and reals a number that
 * is whole comes as a real. */
al_cell al_vector_cell(const al_vector *v, uint32_t row);

bool al_vector_is_null(const al_vector *v, uint32_t row);

/* CODES: sorts the values, once. */
int al_vector_rank(al_vector *v, al_work *w, al_err *err);

#define AL_VECTOR_SLICE 16384 /* codes: those of slice i begin with i * AL_VECTOR_SLICE */

/* CODES of 4 bytes, NULL and repeats in an eighth of the rows at most: finds the slices, once. */
int al_vector_slice(al_vector *v, al_err *err);

/* Numbers that are in the order of the cells of n rows, and equal when those are: SQLite's order,
 * NULL 0 and first, then numbers, then texts by their bytes. A vector of codes needs its rank. */
void al_vector_keys(const al_vector *v, const uint32_t *rows, uint32_t n, uint64_t *keys);
/* Between which they all are, NULL's aside; false when there is nothing but NULL. */
bool al_vector_key_range(const al_vector *v, uint64_t *least, uint64_t *most);

#endif
