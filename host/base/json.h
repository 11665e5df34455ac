/* JSON, strictly by RFC 8259: a pull tokenizer that keeps numbers exact, and a writer.
 *
 * The tokenizer works on one whole text in memory, allocates only for strings with escapes, and
 * never reads past text + len. Duplicate keys are passed on; what they mean is the caller's. */
#ifndef AL_BASE_JSON_H
#define AL_BASE_JSON_H
#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AL_JSON_MAX_DEPTH 128

typedef enum al_json_type {
    AL_JSON_END = 0, /* the text is over; nothing but white space is left */
    AL_JSON_OBJECT,
    AL_JSON_OBJECT_END,
    AL_JSON_ARRAY,
    AL_JSON_ARRAY_END,
    AL_JSON_KEY,    /* text, len: unescaped UTF-8 */
    AL_JSON_STRING, /* text, len: unescaped UTF-8 */
    AL_JSON_NUMBER, /* text, len: as written; is_int and integer when it is a 64-bit integer */
    AL_JSON_TRUE,
    AL_JSON_FALSE,
    AL_JSON_NULL,
    AL_JSON_ERROR /* err of the reader is set: AL_EDATA with line, column, offset, or AL_ENOMEM */
} al_json_type;

typedef struct al_json {
    const char *text; /* of the last token; lives until the next call */
    size_t len;
    size_t start, end; /* byte range of the last token in the input, quotes included */
    bool is_int;       /* "-0" is not one: its sign would be lost */
    int64_t integer;
    double real; /* every number: the nearest double; finite unless big_numbers */
    al_err err;
    /* choices, set between open and the first next */
    bool lone_surrogates; /* a lone surrogate escape becomes U+FFFD instead of an error */
    bool big_numbers;     /* a number too large for a double is infinite instead of an error */
    bool valid_utf8;      /* the text is known to be; it is not checked again */
    /* private */
    const char *in;
    size_t in_len, pos;
    int depth, max_depth;
    unsigned char state;
    unsigned char stack[AL_JSON_MAX_DEPTH / 8]; /* a bit a level: 1 object, 0 array */
    al_buf scratch;
} al_json;

/* text is borrowed until al_json_close. max_depth 0 means AL_JSON_MAX_DEPTH, more is cut to it.
 * Invalid UTF-8, a byte-order mark and lone surrogate escapes are errors. An error has the id
 * "json_invalid" (the caller names its own), a reason (syntax, utf8, surrogate, number, depth,
 * truncated) and the place, its column counted in characters; the reader stays in it. */
void al_json_open(al_json *j, const char *text, size_t len, int max_depth);
al_json_type al_json_next(al_json *j);
/* Call on AL_JSON_OBJECT, AL_JSON_ARRAY or a scalar: consumes the rest of that value and says where
 * it stands in the text, [*start, *start + *len). Answers AL_OK or j->err.code. */
int al_json_skip(al_json *j, size_t *start, size_t *len);
void al_json_close(al_json *j);

/* The writer appends to a buffer; commas and colons are its business, nesting the caller's. Errors
 * collect in b->failed. Invalid UTF-8 is written as U+FFFD. */
typedef struct al_json_out {
    al_buf *b;
    bool comma; /* private */
} al_json_out;

void al_json_out_init(al_json_out *o, al_buf *b);
void al_json_begin_object(al_json_out *o);
void al_json_end_object(al_json_out *o);
void al_json_begin_array(al_json_out *o);
void al_json_end_array(al_json_out *o);
void al_json_key(al_json_out *o, const char *key);
void al_json_string(al_json_out *o, const char *text, size_t len);
void al_json_cstring(al_json_out *o, const char *text); /* NULL writes null */
void al_json_int(al_json_out *o, int64_t v);
void al_json_real(al_json_out *o,
                  double v); /* shortest form; else "NaN", "Infinity", "-Infinity" */
void al_json_bool(al_json_out *o, bool v);
void al_json_null(al_json_out *o);
void al_json_raw(al_json_out *o, const char *json, size_t len); /* already valid JSON */

/* Appends text as a JSON string literal, quotes included. */
int al_json_quote(al_buf *b, const char *text, size_t len);

/* Small readers for flat request objects: the value of `key` at the top level of an object. False
 * when the text is no valid object, when the key is missing or of another type; the last of
 * repeated keys counts. */
bool al_json_get_string(const char *json, size_t len, const char *key, al_buf *out);
bool al_json_get_int(const char *json, size_t len, const char *key, int64_t *out);
bool al_json_get_bool(const char *json, size_t len, const char *key, bool *out);
/* Where the value of `key` stands in json. */
bool al_json_get_raw(const char *json, size_t len, const char *key, const char **out,
                     size_t *out_len);

#endif
