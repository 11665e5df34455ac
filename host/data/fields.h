/* Strict reading of the nested parts of a request. What is wrong is "query_rejected" (AL_EINVAL),
 * with the place in the detail; json is text that stands in a larger, valid one. */
#ifndef AL_DATA_FIELDS_H
#define AL_DATA_FIELDS_H
#include "base/buf.h"
#include "base/err.h"
#include "data/cell.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct al_field {
    const char *json; /* NULL: not there */
    size_t len;
} al_field;

/* Reads an object: fields[i] is the value of keys[i]; null counts as not there. Other keys, and
 * keys twice, are wrong. what: what it is, for the message. */
int al_fields_read(al_field object, const char *what, const char *const *keys, al_field *fields,
                   size_t n, al_err *err);
/* Calls fn(arg, i, item, err) for each item of an array; "not a list" and more than max are wrong.
 */
int al_fields_each(al_field array, const char *what, size_t max,
                   int (*fn)(void *arg, size_t i, al_field item, al_err *err), void *arg,
                   al_err *err);

int al_fields_text(al_field f, const char *what, al_buf *out, al_err *err);
int al_fields_integer(al_field f, const char *what, int64_t least, int64_t most, int64_t *out,
                      al_err *err);
int al_fields_real(al_field f, const char *what, double *out, al_err *err);
int al_fields_bool(al_field f, const char *what, bool *out, al_err *err);
/* A number, text or null as a cell; the text becomes the caller's to free, with al_cell_drop. */
int al_fields_cell(al_field f, const char *what, al_cell *out, al_err *err);
void al_fields_drop(al_cell *cell);

int al_fields_wrong(const char *what, const char *detail, al_err *err);

#endif
