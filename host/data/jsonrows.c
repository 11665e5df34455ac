/* One loop reads an object straight into its row, and stops at whatever it does not take. Then the
 * tokenizer of base/json.h reads the same object again and says what is wrong with it: so there is
 * one grammar that makes messages, and none of its cost where there is nothing to say.
 *
 * Objects of a file mostly have the same keys in the same order. Each key remembers which one
 * followed it last, and that one is compared first. */
#include "data/jsonrows.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/jsontext.h"
#include "base/utf8.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_CELLS 32768 /* they and their text stay in the processor's cache */
#define BATCH_ROWS  1024
#define BLOCK       65536
#define NO_KEY      UINT32_MAX

#define LONGEST_ESCAPE 6 /* bytes for one */

enum { NO_JSON, TAKEN, NEW_KEY }; /* what reading answers beside errors */

struct key {
    const char *text;
    size_t len;
    uint64_t hash;
    uint64_t seen; /* the mark of the object that had it last */
    uint32_t follower;
    bool plain; /* it stands in JSON as it is */
};

struct block { /* of memory for texts that are not as in the segment */
    struct block *before;
    char bytes[];
};

enum state { AT_FRONT, AT_VALUE, BETWEEN, BEHIND };

struct al_jsonrows {
    al_json_shape shape;
    al_json_segment segment;
    const char *at, *end;
    const char *line_end; /* AL_JSON_LINES: of the line last asked for */
    enum state state;
    size_t max_columns, max_cell;
    al_cell_number_fn *number;
    struct key *keys;
    uint32_t *slots; /* a hash table of indexes of keys */
    size_t nkeys, key_room, nslots;
    uint32_t first; /* the key that objects begin with */
    al_cell *cells;
    size_t cell_room;
    size_t rows, most; /* of the batch: so far, at most */
    uint64_t mark;     /* another one for each time that an object is read */
    struct block *block;
    size_t block_used, block_room;
    al_json_odd odd;
    const char *counted; /* lines are, up to here */
    uint64_t counted_line;
};

/* ---- errors ---- */

/* Fills in where `at` is: line, column in characters, offset. Answers code. */
static int place(const al_jsonrows *r, const char *at, int code, al_err *err)
{
    const al_json_segment *s = &r->segment;

    if (!err)
        return code;
    err->line = s->line;
    err->column = s->column + 1;
    for (const char *p = s->text; p < at; p++) {
        if (*p == '\n') {
            err->line++;
            err->column = 1;
        } else if (((unsigned char)*p & 0xC0) != 0x80) {
            err->column++;
        }
    }
    err->offset = s->offset + (uint64_t)(at - s->text);
    return code;
}

static int invalid(const al_jsonrows *r, const char *at, const char *reason, const char *detail,
                   al_err *err)
{
    al_err_set(err, AL_EDATA, "ingest_invalid", "input", detail);
    al_err_reason(err, AL_EDATA, reason);
    return place(r, at, AL_EDATA, err);
}

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
}

static int cell_too_long(const al_jsonrows *r, const char *at, const struct key *k, al_err *err)
{
    al_err_setf(err, AL_ELIMIT, "ingest_limit", "analysis.data.maxCellBytes",
                "the value of \"%.*s\" is longer than %zu bytes",
                (int)al_utf8_cut(k->text, k->len, 80), k->text, r->max_cell);
    al_err_reason(err, AL_ELIMIT, "maxCellBytes");
    return place(r, at, AL_ELIMIT, err);
}

/* Where the line of `at` ends; elsewhere the segment. */
static const char *limit(al_jsonrows *r, const char *at)
{
    const char *lf;

    if (r->shape != AL_JSON_LINES)
        return r->end;
    if (!r->line_end || r->line_end < at) {
        lf = memchr(at, '\n', (size_t)(r->end - at));
        r->line_end = lf ? lf : r->end;
    }
    return r->line_end;
}

static void open_tokens(al_json *j, const char *at, const char *end, int depth)
{
    al_json_open(j, at, (size_t)(end - at), depth);
    j->lone_surrogates = true;
    j->big_numbers = true;
    j->valid_utf8 = true;
}

/* What is wrong with the value at `at`. */
static int explain(al_jsonrows *r, const char *at, al_err *err)
{
    static const char *const kinds[] = {
        [AL_JSON_ARRAY] = "an array", [AL_JSON_STRING] = "a string", [AL_JSON_NUMBER] = "a number",
        [AL_JSON_TRUE] = "true",      [AL_JSON_FALSE] = "false",     [AL_JSON_NULL] = "null",
    };
    al_json_type t, first;
    size_t start, len;
    al_json j;
    int rc;

    open_tokens(&j, at, limit(r, at), 0);
    t = first = al_json_next(&j);
    if (t != AL_JSON_ERROR && al_json_skip(&j, &start, &len) != AL_OK)
        t = AL_JSON_ERROR;
    if (t == AL_JSON_ERROR && j.err.code == AL_ENOMEM) {
        rc = no_memory(err);
    } else if (t == AL_JSON_ERROR && strcmp(j.err.reason, "depth") == 0) {
        al_err_set(err, AL_ELIMIT, "ingest_limit", "depth", j.err.detail);
        al_err_reason(err, AL_ELIMIT, "depth");
        rc = place(r, at + j.err.offset, AL_ELIMIT, err);
    } else if (t == AL_JSON_ERROR) {
        if (r->shape == AL_JSON_LINES && strncmp(j.err.detail, "the text ends", 13) == 0)
            memcpy(j.err.detail, "the line", 8); /* for the tokenizer it is all there is */
        rc = invalid(r, at + j.err.offset, j.err.reason, j.err.detail, err);
    } else {
        assert(first != AL_JSON_OBJECT);
        al_err_setf(err, AL_EDATA, "ingest_invalid", "input",
                    "%s, where an object should be: a table is one array of objects, or one object "
                    "a line",
                    kinds[first]);
        al_err_reason(err, AL_EDATA, "shape");
        rc = place(r, at, AL_EDATA, err);
    }
    al_json_close(&j);
    return rc;
}

/* ---- memory ---- */

/* n bytes that live as long as r, or NULL. */
static char *keep(al_jsonrows *r, size_t n)
{
    if (!r->block || n > r->block_room - r->block_used) {
        size_t room = n > BLOCK ? n : BLOCK;
        struct block *b = malloc(sizeof *b + room + AL_CELL_SLACK);

        if (!b)
            return NULL;
        b->before = r->block;
        r->block = b;
        r->block_room = room;
        r->block_used = 0;
    }
    r->block_used += n;
    return r->block->bytes + r->block_used - n;
}

/* ---- keys ---- */

static struct key *look_up(const al_jsonrows *r, const char *text, size_t len, uint64_t hash)
{
    if (r->nslots == 0)
        return NULL;
    for (size_t i = hash & (r->nslots - 1); r->slots[i] != NO_KEY; i = (i + 1) & (r->nslots - 1)) {
        struct key *k = &r->keys[r->slots[i]];

        if (k->hash == hash && k->len == len && memcmp(k->text, text, len) == 0)
            return k;
    }
    return NULL;
}

static void put_slot(al_jsonrows *r, uint32_t index)
{
    size_t i = r->keys[index].hash & (r->nslots - 1);

    while (r->slots[i] != NO_KEY)
        i = (i + 1) & (r->nslots - 1);
    r->slots[i] = index;
}

static int more_keys(al_jsonrows *r)
{
    size_t room = r->key_room ? r->key_room * 2 : 32;
    struct key *keys = realloc(r->keys, room * sizeof *keys);
    uint32_t *slots;

    if (!keys)
        return AL_ENOMEM;
    r->keys = keys;
    slots = realloc(r->slots, room * 2 * sizeof *slots);
    if (!slots)
        return AL_ENOMEM;
    r->slots = slots;
    r->nslots = room * 2;
    r->key_room = room;
    memset(slots, 0xFF, r->nslots * sizeof *slots);
    for (size_t i = 0; i < r->nkeys; i++)
        put_slot(r, (uint32_t)i);
    return AL_OK;
}

int al_jsonrows_know(al_jsonrows *r, const char *text, size_t len)
{
    if (r->nkeys == r->key_room && more_keys(r) != AL_OK)
        return AL_ENOMEM;
    r->keys[r->nkeys] = (struct key){
        .text = text,
        .len = len,
        .hash = al_hash64(text, len),
        .follower = NO_KEY,
        .plain = al_json_plain(text, text + len) == text + len,
    };
    put_slot(r, (uint32_t)r->nkeys++);
    return AL_OK;
}

/* The batch is empty; its rows get as many cells as there are keys now. */
static int widen(al_jsonrows *r)
{
    size_t need = r->most * r->nkeys < BATCH_CELLS ? r->most * r->nkeys : BATCH_CELLS;
    al_cell *cells;

    need = need > r->nkeys ? need : r->nkeys + 1;
    if (need <= r->cell_room)
        return AL_OK;
    cells = realloc(r->cells, need * sizeof *cells);
    if (!cells)
        return AL_ENOMEM;
    r->cells = cells;
    r->cell_room = need;
    return AL_OK;
}

static int new_key(al_jsonrows *r, const char *at, const char *text, size_t len, al_err *err)
{
    char *copy;

    if (r->rows > 0)
        return NEW_KEY;
    if (r->nkeys == r->max_columns) {
        al_err_setf(err, AL_ELIMIT, "ingest_limit", "analysis.data.maxColumns",
                    "more than %zu different keys", r->max_columns);
        return al_err_reason(err, AL_ELIMIT, "maxColumns");
    }
    if (len > AL_JSON_MAX_KEY) {
        al_err_setf(err, AL_ELIMIT, "ingest_limit", "key", "a key is longer than %u bytes",
                    AL_JSON_MAX_KEY);
        return place(r, at, AL_ELIMIT, err);
    }
    copy = keep(r, len + AL_JSON_KEY_SPARE);
    if (!copy)
        return no_memory(err);
    memcpy(copy, text, len);
    memset(copy + len, 0, AL_JSON_KEY_SPARE);
    if (al_jsonrows_know(r, copy, len) != AL_OK || widen(r) != AL_OK)
        return no_memory(err);
    r->cells[r->nkeys - 1] = al_cell_null();
    return TAKEN;
}

/* Whether k and its closing quote stand at p. */
static inline bool is_key(const al_jsonrows *r, const char *p, const struct key *k)
{
    const char *text = k->text;
    size_t n = k->len;
    uint64_t x, y;

    if (r->end - p <= (ptrdiff_t)n || p[n] != '"')
        return false;
    for (; n >= 8; n -= 8, p += 8, text += 8) {
        memcpy(&x, p, 8);
        memcpy(&y, text, 8);
        if (x != y)
            return false;
    }
    memcpy(&x, p, 8);
    memcpy(&y, text, 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return n == 0 || (x ^ y) << (64 - 8 * n) == 0;
#else
    return n == 0 || (x ^ y) >> (64 - 8 * n) == 0;
#endif
}

/* ---- values ---- */

/* The string whose opening quote stands before `from`, with escapes in it: its characters in memory
 * of their own, and where it ends. */
static int escaped(al_jsonrows *r, const char *from, const char **text, size_t *len,
                   const char **after, al_err *err)
{
    const char *p = from;
    char *to;

    for (;;) {
        p = al_json_plain(p, r->end);
        if (p >= r->end && (r->end - from) / LONGEST_ESCAPE > (ptrdiff_t)r->max_cell) {
            *text = from;
            *len = (size_t)(r->end - from);
            *after = r->end;
            return TAKEN; /* too long, wherever it may end */
        }
        if (p >= r->end || (unsigned char)*p < 0x20)
            return NO_JSON;
        if (*p == '"')
            break;
        p += 2;
    }
    to = keep(r, (size_t)(p - from));
    if (!to)
        return no_memory(err);
    *text = to;
    *after = p + 1;
    for (p = from;;) {
        const char *run = p;
        size_t n;
        bool half;

        p = al_json_plain(p, *after);
        memcpy(to, run, (size_t)(p - run));
        to += p - run;
        if (*p == '"')
            break;
        {
            char utf8[4];

            p = al_json_escape(p, *after, utf8, &n, &half);
            if (!p)
                return NO_JSON;
            memcpy(to, utf8, n);
        }
        to += n;
        r->odd.replaced += half;
    }
    *len = (size_t)(to - *text);
    return TAKEN;
}

/* The string at the quote at *at. */
static inline int string(al_jsonrows *r, const char **at, const char **text, size_t *len,
                         al_err *err)
{
    const char *from = *at + 1, *p = al_json_plain(from, r->end);

    if (*p == '"' && p < r->end) {
        *text = from;
        *len = (size_t)(p - from);
        *at = p + 1;
        return TAKEN;
    }
    return escaped(r, from, text, len, at, err);
}

static inline bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Copies valid JSON without the white space between its tokens; to NULL: only counts. */
static size_t compact(const char *p, const char *end, char *to)
{
    size_t n = 0;

    while (p < end) {
        const char *from = p;

        if (*p++ == '"') {
            while (*(p = al_json_plain(p, end)) != '"')
                p += 2;
            p++;
        } else if (is_space(*from)) {
            continue;
        }
        if (to)
            memcpy(to + n, from, (size_t)(p - from));
        n += (size_t)(p - from);
    }
    return n;
}

/* What an object or array that does not end has at least when it is compact. */
static size_t least(const char *p, const char *end)
{
    size_t n = 0;

    for (; p < end; p++)
        n += !is_space(*p);
    return n;
}

static int nested(al_jsonrows *r, const char **at, al_cell *cell, al_err *err)
{
    const char *from = *at, *end;
    size_t start, len, used;
    bool ends;
    al_json j;
    int rc;

    if (from >= r->end)
        return NO_JSON;
    end = limit(r, from);
    open_tokens(&j, from, end, AL_JSON_MAX_DEPTH - 1);
    al_json_next(&j);
    rc = al_json_skip(&j, &start, &len);
    ends = rc == AL_OK || strcmp(j.err.reason ? j.err.reason : "", "truncated") != 0;
    al_json_close(&j);
    if (!ends && (used = least(from, end)) > r->max_cell) {
        *cell = al_cell_text(from, used);
        *at = end;
        return TAKEN; /* too long, wherever it may end */
    }
    if (rc != AL_OK)
        return rc == AL_ENOMEM ? no_memory(err) : NO_JSON;
    *at = from + len;
    used = compact(from, *at, NULL);
    if (used < len && used <= r->max_cell) {
        char *to = keep(r, used);

        if (!to)
            return no_memory(err);
        compact(from, *at, to);
        from = to;
    }
    *cell = al_cell_text(from, used);
    return TAKEN;
}

static inline int number(const al_jsonrows *r, const char **at, al_cell *cell)
{
    const char *end = r->number(cell, *at, r->end);

    if (!end)
        return NO_JSON;
    *at = end;
    return TAKEN;
}

static inline int word(const char **at, const char *name, size_t len)
{
    const char *p = *at;

    if (memcmp(p, name, len) != 0)
        return NO_JSON;
    *at += len;
    return TAKEN;
}

static inline int value(al_jsonrows *r, const char **at, al_cell *cell, al_err *err)
{
    const char *text = *at;
    size_t len = 0;
    int rc;

    switch (*text) {
    case '"':
        rc = string(r, at, &text, &len, err);
        *cell = al_cell_slack_text(text, len);
        return rc;
    case 't': *cell = al_cell_slack_text(text, 4); return word(at, "true", 4);
    case 'f': *cell = al_cell_slack_text(text, 5); return word(at, "false", 5);
    case 'n': *cell = al_cell_null(); return word(at, "null", 4);
    case '{':
    case '[': return nested(r, at, cell, err);
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
    case '9': return number(r, at, cell);
    default: return NO_JSON;
    }
}

/* ---- objects ---- */

/* Behind white space; a line end is none within a line. */
static inline const char *skip(const al_jsonrows *r, const char *p)
{
    if ((unsigned char)*p > ' ')
        return p;
    while (p < r->end && is_space(*p) && !(*p == '\n' && r->shape == AL_JSON_LINES))
        p++;
    return p;
}

/* Where the key that is expected behind `before` is noted. */
static inline uint32_t *follower(al_jsonrows *r, uint32_t before)
{
    return before == NO_KEY ? &r->first : &r->keys[before].follower;
}

/* The key at *at where another one stands than was expected behind `before`. */
static int find_key(al_jsonrows *r, const char **at, uint32_t before, uint32_t *index, al_err *err)
{
    const char *from = *at, *text;
    struct key *k;
    size_t len;
    int rc;

    if (*from != '"')
        return NO_JSON;
    rc = string(r, at, &text, &len, err);
    if (rc != TAKEN)
        return rc;
    k = look_up(r, text, len, al_hash64(text, len));
    if (!k) {
        rc = new_key(r, from, text, len, err);
        if (rc != TAKEN)
            return rc;
        k = &r->keys[r->nkeys - 1];
    }
    *index = (uint32_t)(k - r->keys);
    if (k->plain)
        *follower(r, before) = *index;
    return TAKEN;
}

/* The number of the line that `at` is in; it does not go back. */
static uint64_t line_of(al_jsonrows *r, const char *at)
{
    for (; r->counted < at; r->counted++)
        r->counted_line += *r->counted == '\n';
    return r->counted_line;
}

/* The value of a key is too long, or the key is there again. */
static int unusual(al_jsonrows *r, const char *at, const struct key *k, const al_cell *cell,
                   bool *repeats, al_err *err)
{
    if (cell->kind == AL_CELL_TEXT && cell->len > r->max_cell)
        return cell_too_long(r, at, k, err);
    if (!*repeats && r->odd.repeats++ < AL_JSON_NOTED)
        r->odd.lines[r->odd.repeats - 1] = line_of(r, at);
    *repeats = true;
    return TAKEN;
}

/* The object at *at as the next row of the batch; NEW_KEY: it has to begin a batch. */
static int object(al_jsonrows *r, const char **at, al_err *err)
{
    const char *p = *at;
    const size_t row = r->rows * r->nkeys;
    const uint64_t mark = ++r->mark;
    uint32_t index = NO_KEY, expected = r->first;
    bool repeats = false;
    int rc;

    if (*p != '{')
        return NO_JSON;
    memset(r->cells + row, 0, r->nkeys * sizeof *r->cells); /* all NULL */
    p = skip(r, p + 1);
    while (*p != '}') {
        const char *key_at = p;
        struct key *k;
        al_cell *cell;

        if (expected != NO_KEY && *p == '"' && (k = &r->keys[expected], is_key(r, p + 1, k))) {
            index = expected;
            p += k->len + 2;
        } else {
            rc = find_key(r, &p, index, &index, err);
            if (rc != TAKEN)
                return rc;
            k = &r->keys[index];
        }
        expected = k->follower;
        p = skip(r, p);
        if (*p != ':')
            return NO_JSON;
        p = skip(r, p + 1);
        cell = &r->cells[row + index];
        rc = value(r, &p, cell, err);
        if (rc != TAKEN)
            return rc;
        if (k->seen == mark || (cell->kind == AL_CELL_TEXT && cell->len > r->max_cell)) {
            rc = unusual(r, key_at, k, cell, &repeats, err);
            if (rc != TAKEN)
                return rc;
        }
        k->seen = mark;
        p = skip(r, p);
        if (*p == '}')
            break;
        if (*p != ',')
            return NO_JSON;
        p = skip(r, p + 1);
        if (*p != '"')
            return NO_JSON;
    }
    *at = p + 1;
    return p < r->end ? TAKEN : NO_JSON;
}

/* ---- between objects ---- */

static const char *spaces(const al_jsonrows *r, const char *p)
{
    while (p < r->end && is_space(*p))
        p++;
    return p;
}

/* The array is over. */
static int behind_list(al_jsonrows *r, const char *p, al_err *err)
{
    r->state = BEHIND;
    r->at = spaces(r, p);
    return r->at == r->end ? 0
                           : invalid(r, r->at, "syntax", "something stands behind the array", err);
}

/* To the next value of the array: 1, or 0 at the end of the segment. */
static int next_in_list(al_jsonrows *r, al_err *err)
{
    const char *p = spaces(r, r->at);
    const char *wanted = "the text ends where an object should follow";

    if (r->state == BEHIND || (r->state == BETWEEN && *p == ']'))
        return behind_list(r, r->state == BEHIND ? p : p + 1, err);
    if (r->state == BETWEEN && p == r->end) {
        if (!r->segment.last)
            return 0;
        wanted = "the text ends where ',' or ']' should follow";
    } else {
        if (r->state == BETWEEN && *p != ',')
            return invalid(r, p, "syntax", "expected ',' or ']' behind an object", err);
        p = spaces(r, p + 1);
        if (r->state == AT_FRONT && *p == ']')
            return behind_list(r, p + 1, err);
    }
    if (p == r->end)
        return invalid(r, p, "truncated", wanted, err);
    r->at = p;
    r->state = AT_VALUE;
    return 1;
}

/* The same of objects on lines of their own. */
static int next_on_line(al_jsonrows *r, al_err *err)
{
    bool new_line = r->state == AT_FRONT;
    const char *p = r->at;

    for (; p < r->end && is_space(*p); p++)
        new_line |= *p == '\n' || (*p == '\r' && r->shape == AL_JSON_STREAM);
    r->at = p;
    if (p == r->end)
        return 0;
    if (!new_line)
        return invalid(r, p, "shape",
                       "more than one value in a line: a table is one array of objects, or one "
                       "object a line",
                       err);
    r->state = AT_VALUE;
    return 1;
}

/* ---- the whole ---- */

int al_jsonrows_open(al_jsonrows **out, al_json_shape shape, const al_json_segment *segment,
                     size_t max_columns, size_t max_cell, al_err *err)
{
    al_jsonrows *r = calloc(1, sizeof *r);

    *out = r;
    if (!r)
        return no_memory(err);
    r->shape = shape;
    r->segment = *segment;
    r->at = r->counted = segment->text;
    r->counted_line = segment->line;
    r->end = segment->text + segment->len;
    r->max_columns = max_columns;
    r->max_cell = max_cell;
    r->number = al_cell_slack_number();
    r->first = NO_KEY;
    /* A segment that goes on begins behind an object, in lines behind its line end. */
    r->state = segment->first || shape == AL_JSON_LINES ? AT_FRONT : BETWEEN;
    return AL_OK;
}

void al_jsonrows_close(al_jsonrows *r)
{
    if (!r)
        return;
    while (r->block) {
        struct block *before = r->block->before;

        free(r->block);
        r->block = before;
    }
    free(r->keys);
    free(r->slots);
    free(r->cells);
    free(r);
}

/* The value at r->at as a row: TAKEN, NEW_KEY or an error. */
static int row(al_jsonrows *r, al_err *err)
{
    const char *from = r->at;
    uint64_t repeats = r->odd.repeats, replaced = r->odd.replaced;
    int rc = object(r, &r->at, err);

    if (rc == NO_JSON)
        return explain(r, from, err);
    if (rc == NEW_KEY) {
        r->odd.repeats = repeats;
        r->odd.replaced = replaced;
        return rc;
    }
    r->state = BETWEEN;
    r->rows += rc == TAKEN;
    return rc;
}

int al_jsonrows_next(al_jsonrows *r, size_t most, al_batch *batch, al_err *err)
{
    int rc;

    r->rows = 0;
    r->most = most < BATCH_ROWS ? most : BATCH_ROWS;
    rc = widen(r) == AL_OK ? TAKEN : no_memory(err);
    while (rc == TAKEN && r->rows < r->most && (r->rows + 1) * r->nkeys <= r->cell_room) {
        if (r->state != AT_VALUE)
            rc = r->shape == AL_JSON_LIST ? next_in_list(r, err) : next_on_line(r, err);
        if (rc > 0)
            rc = row(r, err);
    }
    *batch = (al_batch){ .cells = r->cells, .columns = r->nkeys, .rows = r->rows };
    return rc < 0 ? rc : AL_OK;
}

size_t al_jsonrows_columns(const al_jsonrows *r)
{
    return r->nkeys;
}

const char *al_jsonrows_key(const al_jsonrows *r, size_t column, size_t *len)
{
    *len = r->keys[column].len;
    return r->keys[column].text;
}

const al_json_odd *al_jsonrows_odd(const al_jsonrows *r)
{
    return &r->odd;
}
