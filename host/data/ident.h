/* Names a person can type in SQL, made from headers and sheet names. */
#ifndef AL_DATA_IDENT_H
#define AL_DATA_IDENT_H
#include "base/buf.h"
#include "base/err.h"

#define AL_IDENT_MAX 48 /* characters, a suffix counted */

/* The names given so far; no two differ only by case, as all are lower case. */
typedef struct al_idents al_idents;

int al_idents_open(al_idents **out);
void al_idents_close(al_idents *ids);
/* Counts name as given. */
int al_idents_reserve(al_idents *ids, const char *name);
/* The name for label: prefix, then its letters and digits without accents in lower case, all else
 * one underscore; `fallback` followed by ordinal when nothing is left; _2, _3 … when it was given
 * before. AL_OK or AL_ENOMEM. label is UTF-8. */
int al_idents_name(al_idents *ids, const char *prefix, const char *label, size_t len,
                   const char *fallback, size_t ordinal, char out[AL_IDENT_MAX + 1]);

#endif
