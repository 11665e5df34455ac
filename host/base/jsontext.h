/* The inside of JSON strings, for the tokenizer of base/json.h and for readers that know which
 * token comes next. */
#ifndef AL_BASE_JSONTEXT_H
#define AL_BASE_JSONTEXT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__) && !defined(AL_PORTABLE)
#include <emmintrin.h>
#elif defined(__aarch64__) && defined(__ARM_NEON) && !defined(AL_PORTABLE)
#include <arm_neon.h>
#endif

/* The first byte from p on that is a quote, a backslash or a control character (below 0x20); end
 * when there is none. Reads nothing from end on. UTF-8 is not checked. */
static inline const char *al_json_plain(const char *p, const char *end)
{
#if defined(__SSE2__) && !defined(AL_PORTABLE)
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i backslash = _mm_set1_epi8('\\');
    const __m128i control = _mm_set1_epi8(0x1F);

    for (; end - p >= 16; p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, backslash));
        unsigned mask;

        hit = _mm_or_si128(hit, _mm_cmpeq_epi8(_mm_min_epu8(v, control), v));
        mask = (unsigned)_mm_movemask_epi8(hit);
        if (mask)
            return p + __builtin_ctz(mask);
    }
#elif defined(__aarch64__) && defined(__ARM_NEON) && !defined(AL_PORTABLE)
    for (; end - p >= 16; p += 16) {
        uint8x16_t v = vld1q_u8((const uint8_t *)p);
        uint8x16_t hit = vorrq_u8(vceqq_u8(v, vdupq_n_u8('"')), vceqq_u8(v, vdupq_n_u8('\\')));
        uint64_t mask; /* four bits a byte */

        hit = vorrq_u8(hit, vcltq_u8(v, vdupq_n_u8(0x20)));
        mask = vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(hit), 4)), 0);
        if (mask)
            return p + __builtin_ctzll(mask) / 4;
    }
#endif
    while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20)
        p++;
    return p;
}

/* The escape whose backslash stands at p (p < end): where it ends, its character as UTF-8 in
 * out[0, *n). Half of a surrogate pair gives U+FFFD, and *half is true. NULL when it is none. */
const char *al_json_escape(const char *p, const char *end, char out[4], size_t *n, bool *half);

#endif
