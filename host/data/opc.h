/* Parts of an Office package and what relates them (ECMA-376 part 2). */
#ifndef AL_DATA_OPC_H
#define AL_DATA_OPC_H
#include "base/err.h"
#include "data/zip.h"
#include <stddef.h>

typedef struct al_rel {
    char *id;
    char *type; /* its last word: "worksheet", "styles" …, for both families of namespaces */
    char *part; /* the name of the part, as al_zip_find takes it */
} al_rel;

typedef struct al_rels {
    al_rel *items;
    size_t count, room;
} al_rels;

/* What the part relates to inside the package, in the order of the file; "" is the package itself.
 * A part without relationships has none. To be freed even when it fails. */
int al_rels_read(al_rels *rels, al_zip *zip, const char *part, al_err *err);
void al_rels_free(al_rels *rels);
const al_rel *al_rels_by_id(const al_rels *rels, const char *id, size_t len);
const al_rel *al_rels_by_type(const al_rels *rels, const char *type);

/* "ingest_invalid": the workbook speaks of a part that is not there. */
int al_opc_missing(const char *part, al_err *err);

/* The name of the part that `target`, said in `base`, means; malloc'd, NULL without memory. Both
 * kinds of slashes, percent signs, `.` and `..` are understood. */
char *al_opc_resolve(const char *base, const char *target, size_t len);

#endif
