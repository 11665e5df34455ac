/* 64 bytes at a time, with AVX2, SSE2 or plain C; what they find is the same. */
#include "data/jsonscan.h"
#include "data/bytemask.h"
#include <string.h>

#define BLOCK AL_MASK_BLOCK
#define AHEAD 64 /* blocks whose masks are made in one go */

struct masks {
    uint64_t quotes, backslashes, opens, closes; /* brackets of both kinds */
};

static void masks_plain(const char *text, size_t n, struct masks *out)
{
    for (size_t i = 0; i < n; i++, text += BLOCK)
        out[i] = (struct masks){ al_mask_plain(text, '"'), al_mask_plain(text, '\\'),
                                 al_mask_plain(text, '{') | al_mask_plain(text, '['),
                                 al_mask_plain(text, '}') | al_mask_plain(text, ']') };
}

#if AL_CPU_X86
static void masks_sse2(const char *text, size_t n, struct masks *out)
{
    const __m128i bit = _mm_set1_epi8(0x20); /* it makes a brace of a square bracket */

    for (size_t i = 0; i < n; i++, text += BLOCK) {
        __m128i v[4], braces[4];

        for (unsigned k = 0; k < 4; k++) {
            v[k] = _mm_loadu_si128((const __m128i *)(const void *)(text + 16 * k));
            braces[k] = _mm_or_si128(v[k], bit);
        }
        out[i] = (struct masks){ al_mask_sse2(v, '"'), al_mask_sse2(v, '\\'),
                                 al_mask_sse2(braces, '{'), al_mask_sse2(braces, '}') };
    }
}

AL_AVX2 static void masks_avx2(const char *text, size_t n, struct masks *out)
{
    const __m256i bit = _mm256_set1_epi8(0x20);

    for (size_t i = 0; i < n; i++, text += BLOCK) {
        __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)text);
        __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(text + 32));
        __m256i c = _mm256_or_si256(a, bit), d = _mm256_or_si256(b, bit);

        out[i] = (struct masks){ al_mask_avx2(a, b, '"'), al_mask_avx2(a, b, '\\'),
                                 al_mask_avx2(c, d, '{'), al_mask_avx2(c, d, '}') };
    }
}
#endif

static void make_masks(const char *text, size_t n, struct masks *out)
{
#if AL_CPU_X86
    if (al_cpu_avx2()) {
        masks_avx2(text, n, out);
        return;
    }
    if (!al_cpu_plain()) {
        masks_sse2(text, n, out);
        return;
    }
#endif
    masks_plain(text, n, out);
}

/* The bytes behind a backslash that is not itself behind one: those at odd places of a run of them,
 * and the first behind a run of odd length. */
static inline uint64_t escaped_bytes(al_json_scan *c, uint64_t backslashes)
{
    const uint64_t even = UINT64_C(0x5555555555555555);
    uint64_t follows, starts, runs;

    if (!backslashes && !c->escaped)
        return 0;
    backslashes &= ~(uint64_t)c->escaped;
    follows = backslashes << 1 | c->escaped;
    starts = backslashes & ~even & ~follows;
    runs =
        starts + backslashes; /* the carry goes to the end of a run that begins at an odd place */
    c->escaped = runs < starts;
    return (even ^ runs << 1) & follows;
}

/* The bytes inside strings, opening quotes among them. */
static inline uint64_t inside_strings(al_json_scan *c, uint64_t quotes)
{
    for (unsigned shift = 1; shift < BLOCK; shift *= 2)
        quotes ^= quotes << shift;
    quotes ^= -(uint64_t)c->inside;
    c->inside = quotes >> (BLOCK - 1);
    return quotes;
}

static inline bool is_whole(const al_json_scan *c, size_t limit)
{
    return c->end >= limit || c->objects == AL_JSON_MOST_OBJECTS;
}

/* An object ends at `at`: whether to stop there. */
static inline bool object_ends(al_json_scan *c, size_t at, size_t limit)
{
    bool too_long = at - c->end > AL_JSON_MAX_RECORD;

    if (!too_long) {
        c->end = at;
        c->objects++;
    }
    if (!too_long && !is_whole(c, limit))
        return false;
    c->at = at;
    return true;
}

/* Whether to stop in the block at c->at. valid: the bytes of it that are text. */
static inline bool scan_block(al_json_scan *c, const char *text, const struct masks *m,
                              uint64_t valid, size_t limit)
{
    const int64_t level = c->shape == AL_JSON_LIST; /* the depth at which objects end */
    uint64_t quotes = m->quotes & ~escaped_bytes(c, m->backslashes);
    uint64_t outside = ~inside_strings(c, quotes) & valid;
    uint64_t opens = m->opens & outside, brackets = opens | (m->closes & outside);

    for (; brackets; brackets &= brackets - 1) {
        size_t at = c->at + (size_t)__builtin_ctzll(brackets);

        if (opens & brackets & -brackets) {
            c->depth++;
            continue;
        }
        c->depth -= c->depth > 0;
        if (c->depth == level && text[at] == '}' && object_ends(c, at + 1, limit))
            return true;
    }
    return false;
}

static void scan_brackets(al_json_scan *c, const char *text, size_t len, bool last, size_t limit)
{
    struct masks masks[AHEAD];

    while (last ? c->at < len : c->at + BLOCK <= len) {
        size_t left = len - c->at, n = last ? (left + BLOCK - 1) / BLOCK : left / BLOCK;

        n = n < AHEAD ? n : AHEAD;
        make_masks(text + c->at, n, masks);
        for (size_t i = 0; i < n; i++, c->at += BLOCK) {
            size_t have = len - c->at;

            if (scan_block(c, text, &masks[i],
                           have < BLOCK ? ~(~UINT64_C(0) << have) : ~UINT64_C(0), limit))
                return;
        }
    }
    if (c->at > len)
        c->at = len;
}

static bool is_blank(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
        p++;
    return p == end;
}

static void scan_lines(al_json_scan *c, const char *text, size_t len, bool last, size_t limit)
{
    while (c->line < len) {
        const char *lf = memchr(text + c->at, '\n', len - c->at);
        size_t line = c->line;

        c->at = lf ? (size_t)(lf + 1 - text) : len;
        if (!lf && !last)
            return;
        c->lines += lf != NULL;
        c->line = c->at;
        if (!is_blank(text + line, text + c->at)) {
            if (object_ends(c, c->at, limit))
                return;
        } else if (c->at - c->end > AL_JSON_MAX_RECORD) {
            return;
        }
    }
}

void al_json_scan_open(al_json_scan *c, al_json_shape shape, bool first)
{
    *c = (al_json_scan){ .shape = shape, .depth = !first && shape == AL_JSON_LIST };
}

bool al_json_scan_text(al_json_scan *c, const char *text, size_t len, bool last, size_t limit)
{
    if (is_whole(c, limit) || c->at - c->end > AL_JSON_MAX_RECORD)
        return is_whole(c, limit);
    if (c->shape == AL_JSON_LINES)
        scan_lines(c, text, len, last, limit);
    else
        scan_brackets(c, text, len, last, limit);
    return is_whole(c, limit);
}
