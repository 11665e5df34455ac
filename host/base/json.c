/* The JSON tokenizer and writer. The tokenizer is one loop over a state: what may stand here. */
#include "base/json.h"
#include "base/jsontext.h"
#include "base/num.h"
#include "base/utf8.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum state {
    WANT_VALUE,
    WANT_VALUE_OR_END, /* behind [ */
    WANT_KEY,          /* behind a comma in an object */
    WANT_KEY_OR_END,   /* behind { */
    WANT_COLON,
    WANT_COMMA_OR_END, /* behind a value; at depth 0 only the end */
    FAILED
};

void al_json_open(al_json *j, const char *text, size_t len, int max_depth)
{
    memset(j, 0, sizeof *j);
    j->in = text;
    j->in_len = len;
    j->max_depth = max_depth <= 0 || max_depth > AL_JSON_MAX_DEPTH ? AL_JSON_MAX_DEPTH : max_depth;
    j->state = WANT_VALUE;
    al_buf_init(&j->scratch, 0);
}

void al_json_close(al_json *j)
{
    al_buf_free(&j->scratch);
}

static al_json_type fail(al_json *j, size_t at, const char *reason, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static al_json_type fail(al_json *j, size_t at, const char *reason, const char *format, ...)
{
    uint64_t line = 1, column = 1;
    char detail[128];
    va_list args;

    for (size_t i = 0; i < at; i++) {
        if (j->in[i] == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)j->in[i] & 0xC0) != 0x80) {
            column++;
        }
    }
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    al_err_set(&j->err, AL_EDATA, "json_invalid", NULL, detail);
    j->err.reason = reason;
    j->err.line = line;
    j->err.column = column;
    j->err.offset = at;
    j->state = FAILED;
    return AL_JSON_ERROR;
}

static al_json_type no_memory(al_json *j)
{
    al_err_set(&j->err, AL_ENOMEM, "internal", NULL, "not enough memory");
    j->state = FAILED;
    return AL_JSON_ERROR;
}

static al_json_type unexpected(al_json *j, const char *wanted)
{
    unsigned char c;

    if (j->pos >= j->in_len)
        return fail(j, j->in_len, "truncated", "the text ends where %s should follow", wanted);
    c = (unsigned char)j->in[j->pos];
    if (c > 0x20 && c < 0x7F)
        return fail(j, j->pos, "syntax", "expected %s, found '%c'", wanted, c);
    return fail(j, j->pos, "syntax", "expected %s, found byte 0x%02x", wanted, c);
}

static int hex4(const char *p)
{
    int value = 0;

    for (int i = 0; i < 4; i++) {
        char c = p[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

/* The \u escape at p, a pair of them when it is a surrogate pair. */
static const char *unicode_escape(const char *p, const char *end, char out[4], size_t *n,
                                  bool *half)
{
    int32_t cp = end - p >= 6 ? hex4(p + 2) : -1;

    if (cp < 0)
        return NULL;
    if (cp >= 0xD800 && cp <= 0xDFFF) {
        int low = cp <= 0xDBFF && end - p >= 12 && p[6] == '\\' && p[7] == 'u' ? hex4(p + 8) : -1;

        *half = !(low >= 0xDC00 && low <= 0xDFFF);
        cp = *half ? 0xFFFD : 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
        p += *half ? 0 : 6;
    }
    *n = (size_t)al_utf8_encode((uint32_t)cp, out);
    return p + 6;
}

const char *al_json_escape(const char *p, const char *end, char out[4], size_t *n, bool *half)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = end - p >= 2 ? p[1] : '\0';
    const char *which = c ? strchr(from, c) : NULL;

    *half = false;
    if (c == 'u')
        return unicode_escape(p, end, out, n, half);
    if (!which)
        return NULL;
    out[0] = to[which - from];
    *n = 1;
    return p + 2;
}

static al_json_type escape(al_json *j)
{
    const char *p = j->in + j->pos, *end = j->in + j->in_len, *after;
    char utf8[4];
    size_t n;
    bool half;

    after = al_json_escape(p, end, utf8, &n, &half);
    if (!after && end - p >= 2 && p[1] == 'u')
        return fail(j, j->pos, "syntax", "\\u needs four hexadecimal digits");
    if (!after)
        return fail(j, j->pos, end - p >= 2 ? "syntax" : "truncated",
                    "not an escape that JSON knows");
    if (half && !j->lone_surrogates)
        return fail(j, j->pos, "surrogate", "half of a surrogate pair");
    al_buf_add(&j->scratch, utf8, n);
    j->pos = (size_t)(after - j->in);
    return AL_JSON_STRING;
}

/* From pos to the first byte that needs a look: a quote, a backslash, a control, bad UTF-8. */
static size_t plain_run(const al_json *j)
{
    const char *from = j->in + j->pos, *to = al_json_plain(from, j->in + j->in_len);

    if (j->valid_utf8)
        return (size_t)(to - j->in);
    return j->pos + al_utf8_valid(from, (size_t)(to - from));
}

/* The string whose opening quote stands at pos: as it is in the input, or unescaped in scratch. */
static al_json_type string(al_json *j, al_json_type type)
{
    size_t run = ++j->pos;
    bool copied = false;

    for (;;) {
        j->pos = plain_run(j);
        if (j->pos >= j->in_len)
            return fail(j, j->start, "truncated", "a string that does not end");
        if (j->in[j->pos] == '"')
            break;
        if ((unsigned char)j->in[j->pos] < 0x20)
            return fail(j, j->pos, "syntax", "control character 0x%02x in a string",
                        (unsigned char)j->in[j->pos]);
        if (j->in[j->pos] != '\\')
            return fail(j, j->pos, "utf8", "not valid UTF-8 in a string");
        if (!copied)
            al_buf_clear(&j->scratch);
        copied = true;
        al_buf_add(&j->scratch, j->in + run, j->pos - run);
        if (escape(j) == AL_JSON_ERROR)
            return AL_JSON_ERROR;
        run = j->pos;
    }
    j->text = j->in + run;
    j->len = j->pos - run;
    if (copied) {
        if (al_buf_add(&j->scratch, j->text, j->len) != AL_OK)
            return no_memory(j);
        j->text = j->scratch.data;
        j->len = j->scratch.len;
    }
    j->end = ++j->pos;
    return type;
}

static size_t digits(const al_json *j, size_t i)
{
    while (i < j->in_len && j->in[i] >= '0' && j->in[i] <= '9')
        i++;
    return i;
}

/* The integer of text as a 64-bit one; false when it does not fit or is "-0". */
static bool integer_of(const char *text, size_t len, int64_t *out)
{
    bool negative = text[0] == '-';
    uint64_t limit = (uint64_t)INT64_MAX + negative, value = 0;

    for (size_t i = negative; i < len; i++) {
        uint64_t digit = (uint64_t)(text[i] - '0');

        if (value > (limit - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (negative && value == 0)
        return false;
    *out = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

static al_json_type number(al_json *j)
{
    size_t i = j->pos + (j->in[j->pos] == '-'), from = i;
    bool whole = true;

    i = digits(j, from);
    if (i == from)
        return fail(j, j->start, i < j->in_len ? "number" : "truncated", "a minus needs a digit");
    if (j->in[from] == '0' && i > from + 1)
        return fail(j, j->start, "number", "a number does not begin with 0");
    if (i < j->in_len && j->in[i] == '.') {
        whole = false;
        from = ++i;
        i = digits(j, from);
        if (i == from)
            return fail(j, j->start, i < j->in_len ? "number" : "truncated",
                        "a decimal point needs a digit behind it");
    }
    if (i < j->in_len && (j->in[i] == 'e' || j->in[i] == 'E')) {
        whole = false;
        from = i + 1;
        from += from < j->in_len && (j->in[from] == '+' || j->in[from] == '-');
        i = digits(j, from);
        if (i == from)
            return fail(j, j->start, i < j->in_len ? "number" : "truncated",
                        "an exponent needs a digit");
    }
    j->text = j->in + j->pos;
    j->len = i - j->pos;
    j->end = j->pos = i;
    j->is_int = whole && integer_of(j->text, j->len, &j->integer);
    j->real = j->is_int ? (double)j->integer : al_num_parse(j->text, j->len);
    if (isinf(j->real) && !j->big_numbers)
        return fail(j, j->start, "number", "a number too large for a double");
    return AL_JSON_NUMBER;
}

static al_json_type word(al_json *j, const char *name, al_json_type type)
{
    size_t len = strlen(name);

    if (j->in_len - j->pos < len || memcmp(j->in + j->pos, name, len) != 0)
        return unexpected(j, "a value");
    j->text = j->in + j->pos;
    j->len = len;
    j->end = j->pos += len;
    return type;
}

static bool in_object(const al_json *j)
{
    int level = j->depth - 1;

    return j->depth > 0 && (j->stack[level / 8] >> level % 8 & 1);
}

static al_json_type begin(al_json *j, bool object)
{
    unsigned char bit = (unsigned char)(1 << j->depth % 8);

    if (j->depth == j->max_depth)
        return fail(j, j->pos, "depth", "nested deeper than %d levels", j->max_depth);
    if (object)
        j->stack[j->depth / 8] |= bit;
    else
        j->stack[j->depth / 8] &= (unsigned char)~bit;
    j->depth++;
    j->end = ++j->pos;
    j->state = object ? WANT_KEY_OR_END : WANT_VALUE_OR_END;
    return object ? AL_JSON_OBJECT : AL_JSON_ARRAY;
}

static al_json_type finish(al_json *j)
{
    al_json_type type = in_object(j) ? AL_JSON_OBJECT_END : AL_JSON_ARRAY_END;

    j->depth--;
    j->end = ++j->pos;
    j->state = WANT_COMMA_OR_END;
    return type;
}

static al_json_type value(al_json *j)
{
    al_json_type type;

    if (j->pos >= j->in_len)
        return unexpected(j, "a value");
    switch (j->in[j->pos]) {
    case '{': return begin(j, true);
    case '[': return begin(j, false);
    case '"': type = string(j, AL_JSON_STRING); break;
    case 't': type = word(j, "true", AL_JSON_TRUE); break;
    case 'f': type = word(j, "false", AL_JSON_FALSE); break;
    case 'n': type = word(j, "null", AL_JSON_NULL); break;
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9': type = number(j); break;
    case '\xEF':
        if (j->pos == 0)
            return fail(j, 0, "syntax", "begins with a byte-order mark");
        return unexpected(j, "a value");
    default: return unexpected(j, "a value");
    }
    if (type != AL_JSON_ERROR)
        j->state = WANT_COMMA_OR_END;
    return type;
}

static al_json_type key(al_json *j)
{
    if (j->pos >= j->in_len || j->in[j->pos] != '"')
        return unexpected(j, "a key in quotes");
    if (string(j, AL_JSON_KEY) == AL_JSON_ERROR)
        return AL_JSON_ERROR;
    j->state = WANT_COLON;
    return AL_JSON_KEY;
}

/* Moves to the next byte that is not white space: it, or NUL at the end. */
static char skip_space(al_json *j)
{
    while (j->pos < j->in_len) {
        char c = j->in[j->pos];

        if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
            return c;
        j->pos++;
    }
    return '\0';
}

al_json_type al_json_next(al_json *j)
{
    char c = skip_space(j);

    if (j->state == FAILED)
        return AL_JSON_ERROR;
    if (j->state == WANT_COMMA_OR_END) {
        if (j->depth == 0) {
            j->start = j->end = j->pos;
            return j->pos >= j->in_len ? AL_JSON_END : unexpected(j, "the end of the text");
        }
        if (c == ',') {
            j->pos++;
            skip_space(j);
            j->state = in_object(j) ? WANT_KEY : WANT_VALUE;
        } else if (c != (in_object(j) ? '}' : ']')) {
            return unexpected(j, in_object(j) ? "',' or '}'" : "',' or ']'");
        }
    } else if (j->state == WANT_COLON) {
        if (c != ':')
            return unexpected(j, "':'");
        j->pos++;
        skip_space(j);
        j->state = WANT_VALUE;
    }
    j->start = j->pos;
    switch (j->state) {
    case WANT_COMMA_OR_END: return finish(j);
    case WANT_VALUE_OR_END: return c == ']' ? finish(j) : value(j);
    case WANT_KEY_OR_END: return c == '}' ? finish(j) : key(j);
    case WANT_KEY: return key(j);
    default: return value(j);
    }
}

int al_json_skip(al_json *j, size_t *start, size_t *len)
{
    size_t from = j->start;
    int outside = j->depth - 1;

    *start = *len = 0;
    /* A scalar is whole already, and so is a container once its level is left. */
    if (j->state == WANT_KEY_OR_END || j->state == WANT_VALUE_OR_END)
        while (j->state != FAILED && j->depth > outside)
            al_json_next(j);
    if (j->state == FAILED)
        return j->err.code;
    *start = from;
    *len = j->end - from;
    return AL_OK;
}

void al_json_out_init(al_json_out *o, al_buf *b)
{
    o->b = b;
    o->comma = false;
}

static void before_value(al_json_out *o)
{
    if (o->comma)
        al_buf_char(o->b, ',');
    o->comma = true;
}

void al_json_begin_object(al_json_out *o)
{
    before_value(o);
    al_buf_char(o->b, '{');
    o->comma = false;
}

void al_json_end_object(al_json_out *o)
{
    al_buf_char(o->b, '}');
    o->comma = true;
}

void al_json_begin_array(al_json_out *o)
{
    before_value(o);
    al_buf_char(o->b, '[');
    o->comma = false;
}

void al_json_end_array(al_json_out *o)
{
    al_buf_char(o->b, ']');
    o->comma = true;
}

void al_json_key(al_json_out *o, const char *name)
{
    before_value(o);
    al_json_quote(o->b, name, strlen(name));
    al_buf_char(o->b, ':');
    o->comma = false;
}

void al_json_string(al_json_out *o, const char *text, size_t len)
{
    before_value(o);
    al_json_quote(o->b, text, len);
}

void al_json_cstring(al_json_out *o, const char *text)
{
    if (text)
        al_json_string(o, text, strlen(text));
    else
        al_json_null(o);
}

void al_json_int(al_json_out *o, int64_t v)
{
    before_value(o);
    al_buf_printf(o->b, "%lld", (long long)v);
}

void al_json_real(al_json_out *o, double v)
{
    char text[32];

    before_value(o);
    if (isnan(v))
        al_buf_str(o->b, "\"NaN\"");
    else if (isinf(v))
        al_buf_str(o->b, v > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    else
        al_buf_add(o->b, text, al_num_shortest(v, text));
}

void al_json_bool(al_json_out *o, bool v)
{
    before_value(o);
    al_buf_str(o->b, v ? "true" : "false");
}

void al_json_null(al_json_out *o)
{
    before_value(o);
    al_buf_str(o->b, "null");
}

void al_json_raw(al_json_out *o, const char *json, size_t len)
{
    before_value(o);
    al_buf_add(o->b, json, len);
}

static void quote_byte(al_buf *b, unsigned char c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *which = c ? strchr(from, c) : NULL;

    if (which)
        al_buf_add(b, (char[]){ '\\', to[which - from] }, 2);
    else
        al_buf_printf(b, "\\u%04x", c);
}

int al_json_quote(al_buf *b, const char *text, size_t len)
{
    size_t run = 0, i = 0;

    al_buf_char(b, '"');
    while (i < len) {
        unsigned char c = (unsigned char)text[i];
        bool plain = c >= 0x20 && c != '"' && c != '\\';
        uint32_t cp;
        int n = c < 0x80 ? 1 : al_utf8_decode(text + i, len - i, &cp);

        if (plain && n) {
            i += (size_t)n;
            continue;
        }
        al_buf_add(b, text + run, i - run);
        if (n)
            quote_byte(b, c);
        else
            al_buf_str(b, "\xEF\xBF\xBD");
        run = ++i;
    }
    al_buf_add(b, text + run, len - run);
    return al_buf_char(b, '"');
}

/* Checks the whole text as an object and says where the value of its last key `name` stands. The
 * caller closes j, also after false. */
static bool find(const char *json, size_t len, const char *name, al_json *j, al_json_type *type,
                 size_t *start, size_t *size)
{
    size_t want = strlen(name);
    bool found = false;
    al_json_type t;

    al_json_open(j, json, len, 0);
    if (al_json_next(j) != AL_JSON_OBJECT)
        return false;
    while ((t = al_json_next(j)) == AL_JSON_KEY) {
        bool mine = j->len == want && memcmp(j->text, name, want) == 0;
        size_t at, n;

        t = al_json_next(j);
        if (t == AL_JSON_ERROR || al_json_skip(j, &at, &n) != AL_OK)
            return false;
        if (mine) {
            found = true;
            *type = t;
            *start = at;
            *size = n;
        }
    }
    return found && t == AL_JSON_OBJECT_END && al_json_next(j) == AL_JSON_END;
}

/* Reads the one token of the value again, now that it is known to be the right one. */
static bool get(const char *json, size_t len, const char *name, al_json *j, al_json_type *type,
                size_t *start, size_t *size)
{
    bool found = find(json, len, name, j, type, start, size);

    al_json_close(j);
    al_json_open(j, found ? json + *start : "", found ? *size : 0, 0);
    if (found)
        al_json_next(j);
    return found;
}

bool al_json_get_string(const char *json, size_t len, const char *name, al_buf *out)
{
    size_t start, size;
    al_json_type type;
    al_json j;
    bool ok = get(json, len, name, &j, &type, &start, &size) && type == AL_JSON_STRING &&
              al_buf_add(out, j.text, j.len) == AL_OK;

    al_json_close(&j);
    return ok;
}

bool al_json_get_int(const char *json, size_t len, const char *name, int64_t *out)
{
    size_t start, size;
    al_json_type type;
    al_json j;
    bool ok = get(json, len, name, &j, &type, &start, &size) && type == AL_JSON_NUMBER && j.is_int;

    if (ok)
        *out = j.integer;
    al_json_close(&j);
    return ok;
}

bool al_json_get_bool(const char *json, size_t len, const char *name, bool *out)
{
    size_t start, size;
    al_json_type type;
    al_json j;
    bool ok = get(json, len, name, &j, &type, &start, &size) &&
              (type == AL_JSON_TRUE || type == AL_JSON_FALSE);

    if (ok)
        *out = type == AL_JSON_TRUE;
    al_json_close(&j);
    return ok;
}

bool al_json_get_raw(const char *json, size_t len, const char *name, const char **out,
                     size_t *out_len)
{
    size_t start, size;
    al_json_type type;
    al_json j;
    bool ok = find(json, len, name, &j, &type, &start, &size);

    al_json_close(&j);
    if (ok) {
        *out = json + start;
        *out_len = size;
    }
    return ok;
}
