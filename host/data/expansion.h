/* How much may come out of a packed file: maxFileBytes, and 100 times what went in. */
#ifndef AL_DATA_EXPANSION_H
#define AL_DATA_EXPANSION_H
#include "base/err.h"
#include <stddef.h>
#include <stdint.h>

#define AL_EXPANSION_FACTOR 100
#define AL_EXPANSION_FLOOR  (UINT64_C(16) << 20) /* small files may expand to this */

typedef struct al_expansion {
    uint64_t packed, max_bytes; /* of the file as it is; of a file at all (maxFileBytes) */
    uint64_t bytes;             /* that came out so far */
} al_expansion;

/* n more came out of `object` ("input", the name of a part). "ingest_limit" when they are too many.
 */
int al_expansion_add(al_expansion *x, uint64_t n, const char *object, al_err *err);

#endif
