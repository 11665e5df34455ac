/* UTF-8: checking, decoding, and the two foldings the host needs. */
#ifndef AL_BASE_UTF8_H
#define AL_BASE_UTF8_H
#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length of the valid prefix of text; len when all of it is valid. */
size_t al_utf8_valid(const char *text, size_t len);
/* Decodes one character at text (len > 0): its length 1 to 4 and *cp, or 0 when invalid. */
int al_utf8_decode(const char *text, size_t len, uint32_t *cp);
/* Encodes cp into out (4 bytes of room); its length, 0 when cp is no scalar value. */
int al_utf8_encode(uint32_t cp, char *out);
/* The largest n <= max that does not cut a character of valid text. */
size_t al_utf8_cut(const char *text, size_t len, size_t max);
/* Appends text as NFC. AL_OK, AL_EDATA (not UTF-8), AL_ENOMEM, AL_ELIMIT. */
int al_utf8_nfc(al_buf *out, const char *text, size_t len);
/* Appends text as NFKD without combining marks, lower case: what identifiers are made from. */
int al_utf8_fold(al_buf *out, const char *text, size_t len);
/* What a character is, of what Unicode says: a sum of AL_UTF8_*, 0 for what is none of these. */
#define AL_UTF8_LETTER 1u /* marks too, which continue a word */
#define AL_UTF8_NUMBER 2u
#define AL_UTF8_UPPER  4u
#define AL_UTF8_LOWER  8u
#define AL_UTF8_SPACE  16u
#define AL_UTF8_PUNCT  32u /* symbols too */
unsigned al_utf8_class(uint32_t cp);
/* The one character that is cp in the other case; cp itself when there is none. */
uint32_t al_utf8_lower(uint32_t cp);
uint32_t al_utf8_upper(uint32_t cp);
/* Columns a terminal needs for cp: 0, 1 or 2; -1 for control characters. */
int al_utf8_width(uint32_t cp);

#endif
