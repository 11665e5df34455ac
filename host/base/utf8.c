/* UTF-8 by the letter (no overlong forms, no surrogates, nothing above U+10FFFF); utf8proc knows
 * the tables. */
#include "base/utf8.h"
#include "base/err.h"
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

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

size_t al_utf8_valid(const char *text, size_t len)
{
    const uint64_t high = UINT64_C(0x8080808080808080);
    size_t i = 0;

    while (i < len) {
        uint64_t word;
        uint32_t cp;
        int n;

        if (len - i >= sizeof word) {
            memcpy(&word, text + i, sizeof word);
            if (!(word & high)) {
                i += sizeof word;
                continue;
            }
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

/* *out (to be freed) gets the *n code points of text, decomposed by options. */
static int decompose(const char *text, size_t len, int options, utf8proc_int32_t **out, size_t *n)
{
    const utf8proc_uint8_t *in = (const utf8proc_uint8_t *)text;
    utf8proc_ssize_t count;

    if (len > INT32_MAX)
        return AL_ELIMIT;
    if (al_utf8_valid(text, len) != len)
        return AL_EDATA;
    count = utf8proc_decompose(in, (utf8proc_ssize_t)len, NULL, 0, (utf8proc_option_t)options);
    if (count < 0)
        return count == UTF8PROC_ERROR_NOMEM ? AL_ENOMEM : AL_EDATA;
    /* utf8proc_reencode writes over the array, with a NUL behind. */
    *out = calloc((size_t)count + 1, sizeof **out);
    if (!*out)
        return AL_ENOMEM;
    utf8proc_decompose(in, (utf8proc_ssize_t)len, *out, count, (utf8proc_option_t)options);
    *n = (size_t)count;
    return AL_OK;
}

static bool all_ascii(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] >= 0x80)
            return false;
    return true;
}

int al_utf8_nfc(al_buf *out, const char *text, size_t len)
{
    const int options = UTF8PROC_STABLE | UTF8PROC_COMPOSE;
    utf8proc_int32_t *cps = NULL;
    utf8proc_ssize_t bytes;
    size_t n = 0;
    int rc;

    if (all_ascii(text, len))
        return al_buf_add(out, text, len);
    rc = decompose(text, len, options, &cps, &n);
    if (rc != AL_OK)
        return rc;
    bytes = utf8proc_reencode(cps, (utf8proc_ssize_t)n, (utf8proc_option_t)options);
    rc = bytes < 0 ? AL_EDATA : al_buf_add(out, cps, (size_t)bytes);
    free(cps);
    return rc;
}

int al_utf8_fold(al_buf *out, const char *text, size_t len)
{
    const int options = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT | UTF8PROC_STRIPMARK;
    utf8proc_int32_t *cps = NULL;
    size_t n = 0;
    int rc = decompose(text, len, options, &cps, &n);

    if (rc != AL_OK)
        return rc;
    rc = al_buf_reserve(out, 0);
    for (size_t i = 0; i < n && rc == AL_OK; i++) {
        char bytes[4];
        int size = al_utf8_encode((uint32_t)utf8proc_tolower(cps[i]), bytes);

        rc = al_buf_add(out, bytes, (size_t)size);
    }
    free(cps);
    return rc;
}

int al_utf8_width(uint32_t cp)
{
    if (cp < 0x20 || (cp >= 0x7F && cp < 0xA0))
        return -1;
    if (cp < 0x7F)
        return 1;
    return utf8proc_charwidth((utf8proc_int32_t)cp);
}
