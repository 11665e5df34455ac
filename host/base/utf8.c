/* UTF-8 by the letter: no overlong forms, no surrogates, nothing above U+10FFFF. */
#include "base/utf8.h"
#include "base/cpu.h"
#include <string.h>
#if AL_CPU_X86
#include <immintrin.h>
#endif

int al_utf8_decode(const char *text, size_t len, uint32_t *cp)
{
    const unsigned char *s = (const unsigned char *)text;
    uint32_t c;
    int n;

    if (s[0] < 0x80) {
        *cp = s[0];
        return 1;
    }
    if (s[0] < 0xC2 || s[0] > 0xF4)
        return 0;
    n = s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
    if (len < (size_t)n)
        return 0;
    c = s[0] & (0xFFu >> (n + 1));
    for (int i = 1; i < n; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3F);
    }
    if ((n == 3 && c < 0x800) || (n == 4 && c < 0x10000) || c > 0x10FFFF ||
        (c >= 0xD800 && c <= 0xDFFF))
        return 0;
    *cp = c;
    return n;
}

/* How many ASCII characters text begins with, or fewer of them; 16 bytes at a time, or 8. */
static inline size_t ascii_prefix(const char *text, size_t len)
{
    size_t i = 0;

#if AL_CPU_X86
    for (; len - i >= 16; i += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(text + i));
        unsigned high = (unsigned)_mm_movemask_epi8(v);

        if (high)
            return i + (unsigned)__builtin_ctz(high);
    }
#endif
    for (; len - i >= 8; i += 8) {
        uint64_t word;

        memcpy(&word, text + i, sizeof word);
        if (word & UINT64_C(0x8080808080808080))
            break;
    }
    return i;
}

#if AL_CPU_X86
__attribute__((target("avx2"))) static inline uint64_t in_range(__m256i a, __m256i b, int from,
                                                                int to)
{
    const __m256i least = _mm256_set1_epi8((char)from), most = _mm256_set1_epi8((char)(to - from));

    a = _mm256_sub_epi8(a, least);
    b = _mm256_sub_epi8(b, least);
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(a, most), a)) |
           (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(b, most), b))
               << 32;
}

/* How many bytes text begins with of whole characters, or fewer of them: 64 at a time while no
 * character begins with E0, ED or F0 to F4, after which not all bytes may follow. */
__attribute__((target("avx2"))) static size_t common_prefix(const char *text, size_t len)
{
    uint64_t after = 0; /* bytes of the next block that go on with a character */
    size_t i = 0, cut = 0;

    for (; len - i >= 64; i += 64) {
        __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(text + i));
        __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(text + i + 32));
        uint64_t high =
            (uint32_t)_mm256_movemask_epi8(a) | (uint64_t)(uint32_t)_mm256_movemask_epi8(b) << 32;
        uint64_t two, three, rest;

        if (!(high | after)) {
            cut = 0;
            continue;
        }
        two = in_range(a, b, 0xC2, 0xDF);
        three = in_range(a, b, 0xE1, 0xEC) | in_range(a, b, 0xEE, 0xEF);
        rest = in_range(a, b, 0x80, 0xBF);
        if (high != (two | three | rest) || rest != (after | (two | three) << 1 | three << 2))
            break;
        after = (two | three) >> 63 | three >> 62;
        cut = three >> 62 & 1 ? 2 : (two | three) >> 63;
    }
    return i - cut;
}
#endif

/* Where the first character after some that are common begins, if that was worth a look. */
static inline size_t skip_common(const char *text, size_t len, size_t i)
{
#if AL_CPU_X86
    if (len - i >= 64 && al_cpu_avx2())
        return i + common_prefix(text + i, len - i);
#else
    (void)text, (void)len;
#endif
    return i;
}

size_t al_utf8_valid(const char *text, size_t len)
{
    size_t i = skip_common(text, len, 0), again = i + 64;

    while (i < len) {
        unsigned char c = (unsigned char)text[i];
        uint32_t cp;
        int n;

        if (i >= again) {
            i = skip_common(text, len, i);
            again = i + 64;
            continue;
        }
        if (c < 0x80) {
            size_t plain = ascii_prefix(text + i, len - i);

            i += plain ? plain : 1;
            continue;
        }
        if (c >= 0xC2 && c < 0xE0 && len - i >= 2 && ((unsigned char)text[i + 1] & 0xC0) == 0x80) {
            i += 2;
            continue;
        }
        n = al_utf8_decode(text + i, len - i, &cp);
        if (!n)
            return i;
        i += (size_t)n;
    }
    return len;
}

int al_utf8_encode(uint32_t cp, char *out)
{
    if (cp > 0x10FFFF || (cp >= 0xD800 && cp <= 0xDFFF))
        return 0;
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xC0 | cp >> 6);
        out[1] = (char)(0x80 | (cp & 0x3F));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (char)(0xE0 | cp >> 12);
        out[1] = (char)(0x80 | (cp >> 6 & 0x3F));
        out[2] = (char)(0x80 | (cp & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | cp >> 18);
    out[1] = (char)(0x80 | (cp >> 12 & 0x3F));
    out[2] = (char)(0x80 | (cp >> 6 & 0x3F));
    out[3] = (char)(0x80 | (cp & 0x3F));
    return 4;
}

size_t al_utf8_cut(const char *text, size_t len, size_t max)
{
    if (len <= max)
        return len;
    while (max > 0 && ((unsigned char)text[max] & 0xC0) == 0x80)
        max--;
    return max;
}
