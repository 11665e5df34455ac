/* Regular expressions that nobody vouches for: no pattern hangs and none takes memory without
 * bounds. All ways through a pattern are followed at once, so that a search takes at most (length
 * of the text) × (size of the pattern) steps.
 *
 * POSIX extended syntax: . [ ] ( ) | * + ? {m,n} ^ $ and classes such as [[:alpha:]]; beside it (?:
 * ), lazy quantifiers (which find the same), \d \w \s \b and their opposites, \n \t \r \f \v, a
 * backslash in front of any character that is no letter or digit, in brackets too, and (?i) in
 * front of all for any case. What needs going back (\1, lookaround) is refused. */
#ifndef AL_DATA_REGEX_H
#define AL_DATA_REGEX_H
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

#define AL_REGEX_MAX_BYTES 4096 /* of a pattern */
#define AL_REGEX_MAX_SIZE  4096 /* of it with repetitions written out: characters and operators */

typedef struct al_regex al_regex;

/* "query_failed" (AL_EDATA) with what is wrong in the detail; pattern is UTF-8. */
int al_regex_open(al_regex **out, const char *pattern, size_t len, al_err *err);
void al_regex_close(al_regex *r);
/* Whether the text holds a match. What is not UTF-8 in it is matched by . and by what excludes
 * characters only, a byte at a time. One search at a time. */
bool al_regex_find(al_regex *r, const char *text, size_t len);

#endif
