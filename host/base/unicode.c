/* What of utf8.h needs the tables of Unicode. It stands apart from utf8.c so that the jail, which
 * starts with every child, does not load utf8proc. */
#include "base/err.h"
#include "base/utf8.h"
#include <stdlib.h>
#include <utf8proc.h>

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

unsigned al_utf8_class(uint32_t cp)
{
    switch (utf8proc_category((utf8proc_int32_t)cp)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT: return AL_UTF8_LETTER | AL_UTF8_UPPER;
    case UTF8PROC_CATEGORY_LL: return AL_UTF8_LETTER | AL_UTF8_LOWER;
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME: return AL_UTF8_LETTER;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO: return AL_UTF8_NUMBER;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return AL_UTF8_SPACE;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
    case UTF8PROC_CATEGORY_SM:
    case UTF8PROC_CATEGORY_SC:
    case UTF8PROC_CATEGORY_SK:
    case UTF8PROC_CATEGORY_SO: return AL_UTF8_PUNCT;
    default: return (cp >= '\t' && cp <= '\r') || cp == 0x85 ? AL_UTF8_SPACE : 0;
    }
}

uint32_t al_utf8_lower(uint32_t cp)
{
    if (cp < 0x80)
        return cp >= 'A' && cp <= 'Z' ? cp | 0x20 : cp;
    return (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp);
}

uint32_t al_utf8_upper(uint32_t cp)
{
    if (cp < 0x80)
        return cp >= 'a' && cp <= 'z' ? cp & ~UINT32_C(0x20) : cp;
    return (uint32_t)utf8proc_toupper((utf8proc_int32_t)cp);
}

int al_utf8_width(uint32_t cp)
{
    if (cp < 0x20 || (cp >= 0x7F && cp < 0xA0))
        return -1;
    if (cp < 0x7F)
        return 1;
    return utf8proc_charwidth((utf8proc_int32_t)cp);
}
