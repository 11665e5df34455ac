/* UTF-8 by the letter: no overlong forms, no surrogates, nothing above U+10FFFF. */
#include "base/utf8.h"
#include "base/cpu.h"
#include <string.h>
#if AL_CPU_X86
#include <emmintrin.h>
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

size_t al_utf8_valid(const char *text, size_t len)
{
    size_t i = 0;

    while (i < len) {
        unsigned char c = (unsigned char)text[i];
        uint32_t cp;
        int n;

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
