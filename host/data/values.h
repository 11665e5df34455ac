/* The distinct values of a column and how often each occurs, counted as SQLite counts them: 1 and
 * 1.0 are one value, '1' is another.
 *
 * Values are counted segment by segment in an al_counts, on any thread, and then taken into the
 * column's al_values in the order of the segments, where those of columns with many are kept as
 * they come until they are settled. Exact while memory allows. al_values_estimate lets go of most
 * values: from then on the number of distinct values is an estimate, and counts are kept (exactly)
 * for those that were frequent. All of it depends on the cells and on what is a segment only. */
#ifndef AL_DATA_VALUES_H
#define AL_DATA_VALUES_H
#include "data/cell.h"

typedef struct al_table { /* values and how often each was there */
    struct al_slot *slots;
    size_t room, used;       /* of the slots */
    struct al_chunk *chunks; /* its texts; the newest first */
    uint64_t text_bytes;
} al_table;

typedef struct al_values al_values;

/* The values of one segment: first a run of row ids or the like, then a table, and a mere list once
 * the table has many values. Ended, they are a table of few values or a pile of many. Of a column
 * that is an estimate there is only what it goes on with. */
typedef struct al_counts {
    bool scattered;    /* until then the values are run_first, run_first + 1 … */
    int64_t run_first; /* they need no table */
    uint64_t run;
    al_table table;
    size_t most;  /* values that it may have */
    bool listing; /* nothing is added to the table any more */
    struct al_listed *list;
    size_t listed, list_room, told;
    struct al_pile *pile;
    const al_values *estimate; /* the column's, or NULL; then the list has what it counts */
    unsigned char *registers;
} al_counts;

#define AL_VALUES_TOP 5

typedef struct al_value_count {
    al_cell value; /* its text belongs to the al_values */
    uint64_t count;
} al_value_count;

void al_counts_close(al_counts *c);
/* Empties it, but keeps its memory and begins as it ended: with a table or a list. For speed only:
 * columns: how many share the processor's cache; v: where it will be taken, or NULL (others may
 * take theirs meanwhile). AL_OK or AL_ENOMEM. */
int al_counts_clear(al_counts *c, size_t columns, const al_values *v);
/* Counts the n cells cells[0], cells[stride] …, NULLs do not count. Their texts must stay where
 * they are until they are taken. AL_OK or AL_ENOMEM. */
int al_counts_add(al_counts *c, const al_cell *cells, size_t n, size_t stride);
/* Calls fn for the texts and how often each stood there: those that were listed since the last
 * call, or, with `all`, those of the table as well. One text may come several times; it is the
 * caller's for the time of the call. Not for an estimate. */
typedef void al_counts_fn(void *arg, const al_cell *text, uint32_t n);
void al_counts_texts(al_counts *c, bool all, al_counts_fn *fn, void *arg);
/* All its cells were added. AL_OK or AL_ENOMEM. */
int al_counts_end(al_counts *c);

int al_values_open(al_values **out);
void al_values_close(al_values *v);
/* Takes the counts of the next segment, which were ended; AL_OK or AL_ENOMEM. Texts are kept. */
int al_values_take(al_values *v, al_counts *c);
/* What the values cost against the memory budget: a sum over the distinct values, where those taken
 * since they were settled count as if all were different. 0 once it is an estimate. */
uint64_t al_values_cost(const al_values *v);
/* Whether settling is likely to lower the cost by more than it is work. */
bool al_values_unsettled(const al_values *v);
/* Finds out which values are the same; AL_OK or AL_ENOMEM. */
int al_values_settle(al_values *v);
int al_values_estimate(al_values *v);
/* All was taken: settles, and lets go of all but the answers below. AL_OK or AL_ENOMEM. */
int al_values_finish(al_values *v);

/* Of settled values, until others are taken: */
bool al_values_exact(const al_values *v);
uint64_t al_values_distinct(const al_values *v);
/* The most frequent values, at most n <= AL_VALUES_TOP, ties in SQLite's order; how many there are.
 * Where 1 and 1.0 are there it is 1 (of an estimate: if both were when it became one). */
size_t al_values_top(al_values *v, al_value_count *top, size_t n);

/* SQLite's order: NULL, numbers, texts by their bytes. */
int al_cell_compare(const al_cell *a, const al_cell *b);

#endif
