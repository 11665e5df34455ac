/* base/json on any bytes: it never reads outside, never accepts what it cannot write again with the
 * same meaning, and places its errors within the text. */
#include "base/json.h"
#include "base/utf8.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void write_token(al_json_out *o, al_buf *key, const al_json *j, al_json_type t)
{
    switch (t) {
    case AL_JSON_OBJECT: al_json_begin_object(o); break;
    case AL_JSON_OBJECT_END: al_json_end_object(o); break;
    case AL_JSON_ARRAY: al_json_begin_array(o); break;
    case AL_JSON_ARRAY_END: al_json_end_array(o); break;
    case AL_JSON_KEY: /* the writer's keys end at a NUL, so this one is quoted by hand */
        al_buf_clear(key);
        if (o->comma)
            al_buf_char(o->b, ',');
        al_json_quote(o->b, j->text, j->len);
        al_buf_char(o->b, ':');
        o->comma = false;
        break;
    case AL_JSON_STRING: al_json_string(o, j->text, j->len); break;
    case AL_JSON_NUMBER:
        if (j->is_int)
            al_json_int(o, j->integer);
        else
            al_json_real(o, j->real);
        break;
    case AL_JSON_TRUE: al_json_bool(o, true); break;
    case AL_JSON_FALSE: al_json_bool(o, false); break;
    case AL_JSON_NULL: al_json_null(o); break;
    default: break;
    }
}

/* Reads the text and writes it again into out; true when it is JSON. */
static bool rewrite(const char *text, size_t len, al_buf *out, bool lenient)
{
    al_json_out o;
    al_json_type t;
    al_buf key;
    al_json j;

    al_buf_init(&key, 0);
    al_json_open(&j, text, len, 0);
    j.lone_surrogates = lenient;
    al_json_out_init(&o, out);
    while ((t = al_json_next(&j)) != AL_JSON_END && t != AL_JSON_ERROR) {
        check(j.start < j.end && j.end <= len);
        check(t != AL_JSON_NUMBER || isfinite(j.real));
        if (t == AL_JSON_STRING || t == AL_JSON_KEY)
            check(al_utf8_valid(j.text, j.len) == j.len);
        write_token(&o, &key, &j, t);
    }
    if (t == AL_JSON_ERROR)
        check(j.err.offset <= len && j.err.line >= 1 && j.err.column >= 1 && j.err.reason);
    check(al_json_next(&j) == t);
    al_json_close(&j);
    al_buf_free(&key);
    return t == AL_JSON_END;
}

static void small_readers(const char *text, size_t len, bool valid)
{
    const char *raw;
    size_t raw_len;
    int64_t integer;
    bool boolean;
    al_buf b;
    al_err err;

    al_buf_init(&b, 1000);
    al_json_get_string(text, len, "a", &b);
    al_json_get_int(text, len, "a", &integer);
    al_json_get_bool(text, len, "a", &boolean);
    if (al_json_get_raw(text, len, "a", &raw, &raw_len))
        check(valid && raw >= text && raw + raw_len <= text + len);
    al_err_parse(text, len, &err);
    check(err.id && strlen(err.object) < sizeof err.object);
    al_buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    al_buf once, twice;
    bool valid;

    al_buf_init(&once, 0);
    al_buf_init(&twice, 0);
    valid = rewrite(text, size, &once, size % 2);
    if (valid) {
        check(rewrite(once.data, once.len, &twice, false));
        check(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
    }
    small_readers(text, size, valid);
    al_buf_free(&once);
    al_buf_free(&twice);
    return 0;
}
