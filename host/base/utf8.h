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
/* Columns a terminal needs for cp: 0, 1 or 2; -1 for control characters. */
int al_utf8_width(uint32_t cp);

#endif
