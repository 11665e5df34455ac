/* Many group-bys and samples of a sheet, answered together from its columns in memory.
 *
 * Request (see docs/primitives/dataset.md): {"table"?, "filter"?:[…], "groups"?:[{"by":[KEY…],
 * "measures":[MEASURE…], "filter"?:[…], "order"?:{"measure":i,"descending"?:bool}, "limit"?:n}…],
 * "samples"?:[{"columns":[…],"rows":n,"filter"?:[…]}…]}
 * KEY: {"column":NAME, "unit"?:"day|week|month|quarter|year", or "width"?:w,"start"?:s, "top"?:n,
 *       "rank"?:i}
 * MEASURE: {"fn":"count|distinct|sum|avg|min|max","column"?:NAME,"times"?:NAME,"numbers"?:bool}
 *
 * Result: {"rows":N,"elapsedMs":…,"groups":[{"rows":…,"count":…,"truncated":bool,
 * "keys":[{"count":…,"values":[…],"other":[…]}…],"measures":[[…]…]}…],
 * "samples":[{"rows":…,"columns":[[…]…]}…]} */
#ifndef AL_DATA_AGGREGATE_H
#define AL_DATA_AGGREGATE_H
#include "base/buf.h"
#include "base/err.h"
#include "data/link.h"
#include "data/store.h"
#include <stddef.h>

#define AL_AGGREGATE_MAX_GROUPS 64 /* group-bys of a request; as many samples */
#define AL_AGGREGATE_ROWS       10000
#define AL_AGGREGATE_MAX_ROWS   1000000
#define AL_AGGREGATE_MAX_BINS   10000

typedef struct al_aggregate_options {
    const char *table;                     /* NULL or "": the first sheet */
    const char *filter, *groups, *samples; /* JSON; NULL: none */
    size_t filter_len, groups_len, samples_len;
    unsigned threads;    /* 0: as many as there are processors */
    uint64_t timeout_ms; /* 0: none */
} al_aggregate_options;

/* Answers about the dataset at fd, with columns that s keeps, and appends the result. Progress goes
 * over the link. "query_rejected" (AL_EINVAL) says what is wrong with a request; "query_timeout",
 * "cancelled", "not_found" (the sheet), "io_error". */
int al_aggregate_run(al_store *s, int fd, const al_aggregate_options *o, al_link *link,
                     al_buf *result, al_err *err);

#endif
