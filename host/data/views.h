/* Sorted and filtered views of sheets: lists of row numbers, made once and then paged by
 * al_rows_run. What was not looked at for longest goes when they take too much memory; whoever asks
 * for such a view has it made again. One of these an engine. */
#ifndef AL_DATA_VIEWS_H
#define AL_DATA_VIEWS_H
#include "base/err.h"
#include "data/link.h"
#include "data/store.h"
#include <stddef.h>
#include <stdint.h>

#define AL_VIEWS_BUDGET   (UINT64_C(128) << 20) /* bytes; one view may take more */
#define AL_VIEWS_MAX      256
#define AL_VIEWS_MAX_KEYS 16 /* columns that a view is sorted by */

typedef struct al_views al_views;

typedef struct al_view_options {
    uint64_t id;       /* the caller's; a view of this id is replaced */
    const char *table; /* NULL or "": the first sheet */
    const char
        *sort; /* JSON [{"column":NAME, "descending":BOOL?, "nulls":"first"|"last"?}, …], the */
    size_t sort_len; /* first counts most; NULL: by row number. nulls: as in SQLite when left out */
    const char *filter; /* JSON, see data/filter.h; NULL: all rows */
    size_t filter_len;
    unsigned threads; /* 0: as many as there are processors */
} al_view_options;

int al_views_open(al_views **out, al_err *err);
void al_views_close(al_views *v);
void al_views_budget(al_views *v, uint64_t bytes); /* from the next view on */

/* Makes a view of the dataset at fd with columns of the store; *rows: how many rows are in it.
 * Sends progress over the link. "query_rejected" for what is wrong with sort or filter, "not_found"
 * (reason "sheet"), "cancelled". What fails leaves no view of the id. */
int al_views_make(al_views *v, al_store *store, int fd, const al_view_options *o, al_link *link,
                  uint64_t *rows, al_err *err);
/* The row numbers of a view, counted from 0, until the next call of make or drop: *order, *rows and
 * *table. "not_found" (reason "view") when there is none of this id and file. */
int al_views_find(al_views *v, uint64_t id, int fd, const char **table, const uint32_t **order,
                  uint64_t *rows, al_err *err);
void al_views_drop(al_views *v, uint64_t id);

#endif
