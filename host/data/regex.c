/* A recursive-descent parser that writes instructions, and a machine that runs them with all its
 * states in step (Thompson's construction). Jumps are relative, so that a piece of program can be
 * moved and copied. */
#include "data/regex.h"
#include "base/utf8.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 100
#define MAX_TIMES 1000
#define NO_CHAR   0x200000u /* in front of and behind the text */
#define BAD_BYTE  0x110000u /* added to a byte that is no UTF-8 */

enum { CHAR, ANY, SET, SPLIT, JUMP, BEGIN, END, WORD_EDGE, NO_WORD_EDGE, MATCH };

struct inst {
    uint8_t op;
    int32_t a, b; /* CHAR: the character; SET: its number; SPLIT, JUMP: where to go, from here */
};

struct range {
    uint32_t low, high;
};

struct set {
    struct range *ranges;
    size_t n, cap;
    unsigned classes, not_classes; /* AL_UTF8_*: members are those of one, and those outside one */
    bool negated;
    uint64_t ascii[2]; /* the answer for each ASCII character */
};

/* A set of instructions that keeps its order and is emptied in no time. */
struct states {
    uint16_t *list, *at;
    size_t n;
};

struct al_regex {
    struct inst *prog;
    size_t n, cap;
    struct set *sets;
    size_t nsets, sets_cap;
    bool any_case, anchored, has_edges;
    uint64_t first[4]; /* bytes that a match may begin with */
    struct states now, next;
    uint16_t *stack;
};

struct parser {
    al_regex *r;
    const char *at, *end;
    al_err *err;
    int depth;
};

static int bad(const struct parser *p, const char *what)
{
    return al_err_setf(p->err, AL_EDATA, "query_failed", "", "regular expression: %s", what);
}

static int no_memory(const struct parser *p)
{
    return al_err_set(p->err, AL_ENOMEM, "query_failed", "",
                      "not enough memory for the regular expression");
}

/* ---- sets ---- */

static bool in_set(const struct set *s, uint32_t c)
{
    unsigned class = s->classes || s->not_classes ? al_utf8_class(c) : 0;

    if ((class & s->classes) || (s->not_classes && !(class & s->not_classes)))
        return !s->negated;
    for (size_t i = 0; i < s->n; i++)
        if (c >= s->ranges[i].low && c <= s->ranges[i].high)
            return !s->negated;
    return s->negated;
}

static bool in_set_of(const al_regex *r, const struct set *s, uint32_t c)
{
    struct set plain = *s;

    if (!r->any_case)
        return in_set(s, c);
    plain.negated = false;
    return (in_set(&plain, c) || in_set(&plain, al_utf8_lower(c)) ||
            in_set(&plain, al_utf8_upper(c))) != s->negated;
}

static int add_range(struct parser *p, struct set *s, uint32_t low, uint32_t high)
{
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 8;
        struct range *more = realloc(s->ranges, cap * sizeof *more);

        if (!more)
            return no_memory(p);
        s->ranges = more;
        s->cap = cap;
    }
    s->ranges[s->n++] = (struct range){ low, high };
    return AL_OK;
}

static struct set *new_set(struct parser *p)
{
    al_regex *r = p->r;

    if (r->nsets == r->sets_cap) {
        size_t cap = r->sets_cap ? 2 * r->sets_cap : 8;
        struct set *more = realloc(r->sets, cap * sizeof *more);

        if (!more)
            return NULL;
        r->sets = more;
        r->sets_cap = cap;
    }
    memset(&r->sets[r->nsets], 0, sizeof *r->sets);
    return &r->sets[r->nsets++];
}

static void finish_set(const al_regex *r, struct set *s)
{
    for (uint32_t c = 0; c < 128; c++)
        if (in_set_of(r, s, c))
            s->ascii[c >> 6] |= UINT64_C(1) << (c & 63);
}

/* ---- the program ---- */

/* Makes room for n instructions at `at`. */
static int insert(struct parser *p, size_t at, size_t n)
{
    al_regex *r = p->r;

    if (r->n + n > AL_REGEX_MAX_SIZE)
        return bad(p, "too large");
    if (r->n + n > r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 64;
        struct inst *more;

        while (cap < r->n + n)
            cap *= 2;
        more = realloc(r->prog, cap * sizeof *more);
        if (!more)
            return no_memory(p);
        r->prog = more;
        r->cap = cap;
    }
    memmove(r->prog + at + n, r->prog + at, (r->n - at) * sizeof *r->prog);
    r->n += n;
    return AL_OK;
}

static int put(struct parser *p, size_t at, uint8_t op, int32_t a, int32_t b)
{
    int rc = insert(p, at, 1);

    if (rc == AL_OK)
        p->r->prog[at] = (struct inst){ op, a, b };
    return rc;
}

static int emit(struct parser *p, uint8_t op, int32_t a)
{
    return put(p, p->r->n, op, a, 0);
}

/* ---- the syntax ---- */

static bool next_is(const struct parser *p, const char *text)
{
    size_t n = strlen(text);

    return (size_t)(p->end - p->at) >= n && memcmp(p->at, text, n) == 0;
}

static bool take(struct parser *p, const char *text)
{
    if (!next_is(p, text))
        return false;
    p->at += strlen(text);
    return true;
}

static int take_char(struct parser *p, uint32_t *c)
{
    int n = al_utf8_decode(p->at, (size_t)(p->end - p->at), c);

    if (!n)
        return bad(p, "not UTF-8");
    p->at += n;
    return AL_OK;
}

/* \d, \w, \s and their opposites, into s; false when c names none. */
static bool add_escape_class(struct parser *p, struct set *s, uint32_t c, int *rc)
{
    *rc = AL_OK;
    switch (c) {
    case 'd': *rc = add_range(p, s, '0', '9'); return true;
    case 'w':
        s->classes |= AL_UTF8_LETTER | AL_UTF8_NUMBER;
        *rc = add_range(p, s, '_', '_');
        return true;
    case 's': s->classes |= AL_UTF8_SPACE; return true;
    case 'D':
        *rc = add_range(p, s, 0, '0' - 1);
        if (*rc == AL_OK)
            *rc = add_range(p, s, '9' + 1, NO_CHAR - 1);
        return true;
    case 'S': s->not_classes |= AL_UTF8_SPACE; return true;
    default: return false;
    }
}

/* The character that an escape stands for, behind its backslash. */
static int take_escaped(struct parser *p, uint32_t *c)
{
    static const char names[] = "ntrfv", values[] = "\n\t\r\f\v";
    const char *name;
    int rc;

    if (p->at == p->end)
        return bad(p, "ends in a backslash");
    rc = take_char(p, c);
    if (rc != AL_OK)
        return rc;
    name = *c && *c < 128 ? strchr(names, (int)*c) : NULL;
    if (name)
        *c = (uint32_t)values[name - names];
    else if (al_utf8_class(*c) & (AL_UTF8_LETTER | AL_UTF8_NUMBER))
        return bad(p, "an escape that means nothing here (\\1, \\A and the like are not known)");
    return AL_OK;
}

static int take_posix_class(struct parser *p, struct set *s)
{
    static const struct {
        const char *name;
        unsigned classes;
        const char *ranges; /* pairs */
    } known[] = {
        { "alpha:]", AL_UTF8_LETTER, "" },
        { "digit:]", 0, "09" },
        { "alnum:]", AL_UTF8_LETTER | AL_UTF8_NUMBER, "" },
        { "upper:]", AL_UTF8_UPPER, "" },
        { "lower:]", AL_UTF8_LOWER, "" },
        { "space:]", AL_UTF8_SPACE, "" },
        { "blank:]", 0, "  \t\t" },
        { "punct:]", AL_UTF8_PUNCT, "" },
        { "xdigit:]", 0, "09afAF" },
        { "cntrl:]", 0, "\001\037\177\177" },
        { "graph:]", AL_UTF8_LETTER | AL_UTF8_NUMBER | AL_UTF8_PUNCT, "" },
        { "print:]", AL_UTF8_LETTER | AL_UTF8_NUMBER | AL_UTF8_PUNCT, "  " },
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        int rc = AL_OK;

        if (!take(p, known[i].name))
            continue;
        s->classes |= known[i].classes;
        for (const char *r = known[i].ranges; rc == AL_OK && *r; r += 2)
            rc = add_range(p, s, (unsigned char)r[0], (unsigned char)r[1]);
        return rc;
    }
    return bad(p, "an unknown class in [: :]");
}

/* One end of a range, or *class when it was a class instead. */
static int take_member(struct parser *p, struct set *s, uint32_t *c, bool *class)
{
    int rc = AL_OK;

    *class = true;
    if (take(p, "[:"))
        return take_posix_class(p, s);
    if (next_is(p, "[.") || next_is(p, "[="))
        return bad(p, "[. .] and [= =] are not known");
    if (take(p, "\\")) {
        if (p->at < p->end && add_escape_class(p, s, (unsigned char)*p->at, &rc)) {
            p->at++;
            return rc;
        }
        *class = false;
        return take_escaped(p, c);
    }
    *class = false;
    return take_char(p, c);
}

/* Behind its [. */
static int parse_brackets(struct parser *p)
{
    struct set *s = new_set(p);
    bool first = true;
    int rc = AL_OK;

    if (!s)
        return no_memory(p);
    s->negated = take(p, "^");
    while (rc == AL_OK && (first || !next_is(p, "]"))) {
        uint32_t low, high;
        bool class;

        if (p->at == p->end)
            return bad(p, "a [ that is never closed");
        rc = take_member(p, s, &low, &class);
        first = false;
        if (rc != AL_OK || class)
            continue;
        high = low;
        if (next_is(p, "-") && p->at + 1 < p->end && p->at[1] != ']') {
            p->at++;
            rc = take_member(p, s, &high, &class);
            if (rc == AL_OK && (class || high < low))
                rc = bad(p, "a range in [ ] that is none");
        }
        if (rc == AL_OK)
            rc = add_range(p, s, low, high);
    }
    if (rc != AL_OK)
        return rc;
    p->at++;
    finish_set(p->r, s);
    return emit(p, SET, (int32_t)(s - p->r->sets));
}

static int parse_escape(struct parser *p)
{
    struct set class = { .n = 0 }, *s;
    uint32_t c;
    int rc;

    if (take(p, "b") || take(p, "B")) {
        p->r->has_edges = true;
        return emit(p, p->at[-1] == 'b' ? WORD_EDGE : NO_WORD_EDGE, 0);
    }
    if (p->at < p->end && *p->at == 'W') {
        class.negated = true;
        add_escape_class(p, &class, 'w', &rc);
    } else if (p->at == p->end || !add_escape_class(p, &class, (unsigned char)*p->at, &rc)) {
        rc = take_escaped(p, &c);
        return rc == AL_OK ? emit(p, CHAR, (int32_t)(p->r->any_case ? al_utf8_lower(c) : c)) : rc;
    }
    p->at++;
    if (rc != AL_OK)
        return rc;
    s = new_set(p);
    if (!s) {
        free(class.ranges);
        return no_memory(p);
    }
    *s = class;
    finish_set(p->r, s);
    return emit(p, SET, (int32_t)(s - p->r->sets));
}

static int parse_choice(struct parser *p);

/* Behind its ( */
static int parse_group(struct parser *p)
{
    int rc;

    if (next_is(p, "?") && !take(p, "?:"))
        return bad(p, "of what begins with (? only (?: is known, and (?i) in front of all");
    if (++p->depth > MAX_DEPTH)
        return bad(p, "too many groups in each other");
    rc = parse_choice(p);
    p->depth--;
    if (rc == AL_OK && !take(p, ")"))
        rc = bad(p, "a ( that is never closed");
    return rc;
}

static int parse_atom(struct parser *p)
{
    uint32_t c;
    int rc;

    if (take(p, "("))
        return parse_group(p);
    if (take(p, "["))
        return parse_brackets(p);
    if (take(p, "\\"))
        return parse_escape(p);
    if (take(p, "."))
        return emit(p, ANY, 0);
    if (take(p, "^"))
        return emit(p, BEGIN, 0);
    if (take(p, "$"))
        return emit(p, END, 0);
    if (next_is(p, "*") || next_is(p, "+") || next_is(p, "?"))
        return bad(p, "nothing in front of *, + or ?");
    rc = take_char(p, &c);
    return rc == AL_OK ? emit(p, CHAR, (int32_t)(p->r->any_case ? al_utf8_lower(c) : c)) : rc;
}

static bool take_number(const char **at, const char *end, int *out)
{
    const char *from = *at;

    for (*out = 0; *at < end && **at >= '0' && **at <= '9'; ++*at)
        if (*out <= MAX_TIMES)
            *out = 10 * *out + (**at - '0');
    return *at > from;
}

/* {m}, {m,} or {m,n}; anything else that begins with { means itself. most: -1 without end. */
static bool take_times(struct parser *p, int *least, int *most)
{
    const char *at = p->at + 1;

    if (!next_is(p, "{") || !take_number(&at, p->end, least))
        return false;
    *most = *least;
    if (at < p->end && *at == ',') {
        at++;
        if (!take_number(&at, p->end, most))
            *most = -1;
    }
    if (at == p->end || *at != '}')
        return false;
    p->at = at + 1;
    return true;
}

static int copy(struct parser *p, size_t from, size_t n)
{
    size_t to = p->r->n;
    int rc = n ? insert(p, to, n) : AL_OK;

    if (rc == AL_OK && n)
        memcpy(p->r->prog + to, p->r->prog + from, n * sizeof *p->r->prog);
    return rc;
}

/* The instructions from `from` on, as often as said: a{3,} becomes aaa+, and a{1,3} a(a(a)?)?. */
static int repeat(struct parser *p, size_t from, int least, int most)
{
    const size_t n = p->r->n - from;
    const int32_t len = (int32_t)n;
    int rc = AL_OK;

    if (least > MAX_TIMES || most > MAX_TIMES || (most >= 0 && most < least))
        return bad(p, "a repetition in { } that is none, or more than 1000");
    if (least == 0 && most == 0) {
        p->r->n = from;
        return AL_OK;
    }
    for (int i = 1; rc == AL_OK && i < least; i++)
        rc = copy(p, from, n);
    if (rc != AL_OK || most == least)
        return rc;
    if (most < 0 && least > 0)
        return put(p, p->r->n, SPLIT, -len, 1);
    if (most < 0) {
        rc = put(p, from, SPLIT, 1, len + 2);
        return rc == AL_OK ? emit(p, JUMP, -len - 1) : rc;
    }
    if (least == 0) { /* the first copy is there and becomes optional */
        rc = put(p, from, SPLIT, 1, most * (len + 1));
        least = 1;
        from++;
    }
    for (int i = least; rc == AL_OK && i < most; i++) {
        rc = put(p, p->r->n, SPLIT, 1, (most - i) * (len + 1));
        if (rc == AL_OK)
            rc = copy(p, from, n);
    }
    return rc;
}

static int parse_repeated(struct parser *p)
{
    const size_t from = p->r->n;
    int least, most, rc = parse_atom(p);

    while (rc == AL_OK) {
        if (take(p, "*"))
            least = 0, most = -1;
        else if (take(p, "+"))
            least = 1, most = -1;
        else if (take(p, "?"))
            least = 0, most = 1;
        else if (!take_times(p, &least, &most))
            break;
        take(p, "?"); /* lazy: where a match ends does not matter */
        rc = repeat(p, from, least, most);
    }
    return rc;
}

/* a|b|c becomes ((a|b)|c). */
static int parse_choice(struct parser *p)
{
    const size_t from = p->r->n;
    size_t right = from;
    int rc = AL_OK;

    for (;;) {
        while (rc == AL_OK && p->at < p->end && *p->at != '|' && *p->at != ')')
            rc = parse_repeated(p);
        if (rc == AL_OK && right > from)
            p->r->prog[right - 1].a = (int32_t)(p->r->n - right + 1);
        if (rc != AL_OK || !take(p, "|"))
            return rc;
        rc = put(p, from, SPLIT, 1, (int32_t)(p->r->n - from + 2));
        if (rc == AL_OK)
            rc = emit(p, JUMP, 0);
        right = p->r->n;
    }
}

/* ---- the machine ---- */

static bool is_word(uint32_t c)
{
    if (c < 128)
        return c == '_' || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
    return c < BAD_BYTE && (al_utf8_class(c) & (AL_UTF8_LETTER | AL_UTF8_NUMBER));
}

static bool holds(const struct states *s, uint16_t pc)
{
    return s->at[pc] < s->n && s->list[s->at[pc]] == pc;
}

static bool assertion_holds(uint8_t op, uint32_t before, uint32_t after)
{
    switch (op) {
    case BEGIN: return before == NO_CHAR;
    case END: return after == NO_CHAR;
    case WORD_EDGE: return is_word(before) != is_word(after);
    default: return is_word(before) == is_word(after);
    }
}

/* Adds pc and all that can be reached from there without a character; true when that is the end.
 * Jumps and assertions are kept in the set too, so that each is followed once. */
static bool follow(al_regex *r, struct states *s, size_t pc, uint32_t before, uint32_t after)
{
    size_t depth = 0;

    r->stack[depth++] = (uint16_t)pc;
    while (depth) {
        const uint16_t at = r->stack[--depth];
        const struct inst *i = &r->prog[at];

        if (holds(s, at))
            continue;
        s->at[at] = (uint16_t)s->n;
        s->list[s->n++] = at;
        switch (i->op) {
        case MATCH: return true;
        case SPLIT: r->stack[depth++] = (uint16_t)(at + i->b); /* fall through */
        case JUMP: r->stack[depth++] = (uint16_t)(at + i->a); break;
        case BEGIN:
        case END:
        case WORD_EDGE:
        case NO_WORD_EDGE:
            if (assertion_holds(i->op, before, after))
                r->stack[depth++] = (uint16_t)(at + 1);
            break;
        default: break;
        }
    }
    return false;
}

static bool steps_over(const al_regex *r, const struct inst *i, uint32_t c, uint32_t lower)
{
    switch (i->op) {
    case CHAR: return (uint32_t)i->a == lower;
    case ANY: return true;
    case SET:
        if (c < 128)
            return r->sets[i->a].ascii[c >> 6] >> (c & 63) & 1;
        return in_set_of(r, &r->sets[i->a], c);
    default: return false;
    }
}

static uint32_t char_at(const char *text, size_t len, size_t at, size_t *next)
{
    uint32_t c;
    int n;

    if (at == len) {
        *next = at;
        return NO_CHAR;
    }
    n = al_utf8_decode(text + at, len - at, &c);
    *next = at + (n ? (size_t)n : 1);
    return n ? c : BAD_BYTE + (unsigned char)text[at];
}

static bool may_begin(const al_regex *r, char c)
{
    const unsigned char b = (unsigned char)c;

    return r->first[b >> 6] >> (b & 63) & 1;
}

bool al_regex_find(al_regex *r, const char *text, size_t len)
{
    uint32_t before = NO_CHAR;
    size_t at = 0, next;

    r->now.n = 0;
    for (;; at = next) {
        uint32_t c, lower, after = NO_CHAR;
        size_t beyond;

        if (r->now.n == 0 && at > 0) {
            if (r->anchored)
                return false;
            /* Nothing is under way: on to where something may begin. */
            if (!r->has_edges)
                while (at < len && !may_begin(r, text[at]))
                    at++;
        }
        c = char_at(text, len, at, &next);
        if ((at == 0 || !r->anchored) && follow(r, &r->now, 0, before, c))
            return true;
        if (at == len)
            return false;
        if (r->has_edges || next == len)
            after = char_at(text, len, next, &beyond);
        else
            after = 0; /* any character: only the end is asked for */
        lower = r->any_case ? al_utf8_lower(c) : c;
        r->next.n = 0;
        for (size_t i = 0; i < r->now.n; i++) {
            const uint16_t pc = r->now.list[i];

            if (steps_over(r, &r->prog[pc], c, lower) &&
                follow(r, &r->next, (size_t)pc + 1, c, after))
                return true;
        }
        before = c;
        struct states swap = r->now;
        r->now = r->next;
        r->next = swap;
    }
}

/* ---- from pattern to machine ---- */

static void allow_first(al_regex *r, unsigned byte)
{
    r->first[byte >> 6] |= UINT64_C(1) << (byte & 63);
}

/* Which bytes the instruction can begin with. All bytes above ASCII go together but for the
 * characters of a pattern that minds case. */
static void allow_firsts(al_regex *r, const struct inst *i)
{
    char bytes[4];

    if (i->op == CHAR && i->a >= 128 && !r->any_case && al_utf8_encode((uint32_t)i->a, bytes)) {
        allow_first(r, (unsigned char)bytes[0]);
        return;
    }
    for (unsigned c = 0; c < 128; c++)
        if (i->op == MATCH || steps_over(r, i, c, r->any_case ? al_utf8_lower(c) : c))
            allow_first(r, c);
    if (i->op != CHAR || r->any_case)
        for (unsigned c = 128; c < 256; c++)
            allow_first(r, c);
}

/* Everything that can stand first, whatever assertions say. */
static void find_firsts(al_regex *r)
{
    size_t depth = 0;

    r->now.n = 0;
    r->stack[depth++] = 0;
    while (depth) {
        const uint16_t at = r->stack[--depth];
        const struct inst *i = &r->prog[at];

        if (holds(&r->now, at))
            continue;
        r->now.at[at] = (uint16_t)r->now.n;
        r->now.list[r->now.n++] = at;
        switch (i->op) {
        case SPLIT: r->stack[depth++] = (uint16_t)(at + i->b); /* fall through */
        case JUMP: r->stack[depth++] = (uint16_t)(at + i->a); break;
        case CHAR:
        case ANY:
        case SET:
        case MATCH: allow_firsts(r, i); break;
        default: r->stack[depth++] = (uint16_t)(at + 1); break;
        }
    }
}

static int get_ready(struct parser *p)
{
    al_regex *r = p->r;
    /* A state is left on the stack for each side of a split at most once. */
    uint16_t *memory = calloc(6 * r->n + 2, sizeof *memory);

    if (!memory)
        return no_memory(p);
    r->now = (struct states){ memory, memory + r->n, 0 };
    r->next = (struct states){ memory + 2 * r->n, memory + 3 * r->n, 0 };
    r->stack = memory + 4 * r->n;
    r->anchored = r->prog[0].op == BEGIN;
    find_firsts(r);
    return AL_OK;
}

int al_regex_open(al_regex **out, const char *pattern, size_t len, al_err *err)
{
    al_regex *r = calloc(1, sizeof *r);
    struct parser p = { .r = r, .at = pattern, .end = pattern + len, .err = err };
    int rc;

    *out = NULL;
    if (!r)
        return no_memory(&p);
    if (len > AL_REGEX_MAX_BYTES) {
        rc = bad(&p, "too long");
    } else {
        r->any_case = take(&p, "(?i)");
        rc = parse_choice(&p);
    }
    if (rc == AL_OK && p.at < p.end)
        rc = bad(&p, "a ) that closes nothing");
    if (rc == AL_OK)
        rc = emit(&p, MATCH, 0);
    if (rc == AL_OK)
        rc = get_ready(&p);
    if (rc == AL_OK)
        *out = r;
    else
        al_regex_close(r);
    return rc;
}

void al_regex_close(al_regex *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->nsets; i++)
        free(r->sets[i].ranges);
    free(r->sets);
    free(r->prog);
    /* The states change places; the memory is where the lower of them begins. */
    free(r->now.list < r->next.list ? r->now.list : r->next.list);
    free(r);
}
