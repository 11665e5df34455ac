/* Over base/json. */
#include "data/fields.h"
#include "base/json.h"
#include <stdlib.h>
#include <string.h>

int al_fields_wrong(const char *what, const char *detail, al_err *err)
{
    return al_err_setf(err, AL_EINVAL, "query_rejected", "", "%s: %s", what, detail);
}

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "request", "not enough memory");
}

static size_t index_of(const char *const *keys, size_t n, const char *key, size_t len)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(keys[i]) == len && memcmp(keys[i], key, len) == 0)
            return i;
    return n;
}

int al_fields_read(al_field object, const char *what, const char *const *keys, al_field *fields,
                   size_t n, al_err *err)
{
    al_json_type type;
    int rc = AL_OK;
    al_json j;

    memset(fields, 0, n * sizeof *fields);
    al_json_open(&j, object.json ? object.json : "null", object.json ? object.len : 4, 0);
    if (al_json_next(&j) != AL_JSON_OBJECT)
        rc = al_fields_wrong(what, "not an object", err);
    while (rc == AL_OK && (type = al_json_next(&j)) == AL_JSON_KEY) {
        size_t i = index_of(keys, n, j.text, j.len), at, len;

        if (i == n) {
            rc = al_err_setf(err, AL_EINVAL, "query_rejected", "", "%s: no field is called %.*s",
                             what, (int)(j.len < 64 ? j.len : 64), j.text);
            break;
        }
        if (fields[i].json) {
            rc = al_err_setf(err, AL_EINVAL, "query_rejected", "", "%s: %s stands there twice",
                             what, keys[i]);
            break;
        }
        type = al_json_next(&j);
        if (type == AL_JSON_ERROR || al_json_skip(&j, &at, &len) != AL_OK)
            rc = al_fields_wrong(what, "not valid JSON", err);
        else if (type != AL_JSON_NULL)
            fields[i] = (al_field){ object.json + at, len };
    }
    al_json_close(&j);
    return rc;
}

int al_fields_each(al_field array, const char *what, size_t max,
                   int (*fn)(void *arg, size_t i, al_field item, al_err *err), void *arg,
                   al_err *err)
{
    al_json_type type;
    size_t n = 0;
    int rc = AL_OK;
    al_json j;

    al_json_open(&j, array.json ? array.json : "null", array.json ? array.len : 4, 0);
    if (al_json_next(&j) != AL_JSON_ARRAY)
        rc = al_fields_wrong(what, "not a list", err);
    while (rc == AL_OK && (type = al_json_next(&j)) != AL_JSON_ARRAY_END) {
        size_t at, len;

        if (type == AL_JSON_ERROR || al_json_skip(&j, &at, &len) != AL_OK)
            rc = al_fields_wrong(what, "not valid JSON", err);
        else if (n == max)
            rc = al_err_setf(err, AL_EINVAL, "query_rejected", "", "%s: more than %zu", what, max);
        else
            rc = fn(arg, n++, (al_field){ array.json + at, len }, err);
    }
    al_json_close(&j);
    return rc;
}

/* The only token of the field. */
static al_json_type token(al_json *j, al_field f)
{
    al_json_open(j, f.json ? f.json : "null", f.json ? f.len : 4, 1);
    return al_json_next(j);
}

int al_fields_text(al_field f, const char *what, al_buf *out, al_err *err)
{
    al_json j;
    int rc = AL_OK;

    if (token(&j, f) != AL_JSON_STRING)
        rc = al_fields_wrong(what, "not a text", err);
    else if (al_buf_add(out, j.text, j.len) != AL_OK || al_buf_str(out, "") != AL_OK)
        rc = no_memory(err);
    al_json_close(&j);
    return rc;
}

int al_fields_integer(al_field f, const char *what, int64_t least, int64_t most, int64_t *out,
                      al_err *err)
{
    al_json j;
    bool good =
        token(&j, f) == AL_JSON_NUMBER && j.is_int && j.integer >= least && j.integer <= most;

    if (good)
        *out = j.integer;
    al_json_close(&j);
    if (!good)
        return al_err_setf(err, AL_EINVAL, "query_rejected", "",
                           "%s: not an integer between %lld and %lld", what, (long long)least,
                           (long long)most);
    return AL_OK;
}

int al_fields_real(al_field f, const char *what, double *out, al_err *err)
{
    al_json j;
    bool good = token(&j, f) == AL_JSON_NUMBER;

    if (good)
        *out = j.real;
    al_json_close(&j);
    return good ? AL_OK : al_fields_wrong(what, "not a number", err);
}

int al_fields_bool(al_field f, const char *what, bool *out, al_err *err)
{
    al_json j;
    al_json_type type = token(&j, f);

    al_json_close(&j);
    *out = type == AL_JSON_TRUE;
    return *out || type == AL_JSON_FALSE ? AL_OK : al_fields_wrong(what, "not true or false", err);
}

int al_fields_cell(al_field f, const char *what, al_cell *out, al_err *err)
{
    int rc = AL_OK;
    al_json j;
    char *text;

    *out = al_cell_null();
    switch (token(&j, f)) {
    case AL_JSON_NULL: break;
    case AL_JSON_NUMBER: *out = j.is_int ? al_cell_integer(j.integer) : al_cell_real(j.real); break;
    case AL_JSON_STRING:
        text = malloc(j.len + 1);
        if (!text) {
            rc = no_memory(err);
            break;
        }
        memcpy(text, j.text, j.len);
        *out = al_cell_text(text, j.len);
        break;
    default: rc = al_fields_wrong(what, "not a number, text or null", err);
    }
    al_json_close(&j);
    return rc;
}

void al_fields_drop(al_cell *cell)
{
    if (cell->kind == AL_CELL_TEXT)
        free((char *)cell->text);
    *cell = al_cell_null();
}
