/* One piece of work after another on all processors, with an ear for the host.
 *
 * The thread that calls does its share and is the only one that looks at the link; the others see
 * that it was cancelled, or that one of them failed, and stop. What a piece makes must not depend
 * on which thread made it. */
#ifndef AL_DATA_WORK_H
#define AL_DATA_WORK_H
#include "base/err.h"
#include "data/link.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define AL_WORK_MAX_THREADS 64

typedef struct al_work {
    unsigned threads; /* at least 1 */
    al_link *link;    /* NULL: nobody cancels */
    atomic_bool stop;
    uint64_t deadline;  /* of al_clock_monotonic; 0: none. Then "query_timeout" */
    uint64_t total;     /* for progress frames: bytes to read; 0: none are sent */
    atomic_ullong done; /* bytes read */
    atomic_ullong rows; /* rows read */
} al_work;

/* threads 0: as many as there are processors that this process may use. */
void al_work_init(al_work *w, unsigned threads, al_link *link);

/* What a piece of work is told: which one, and on which of the threads [0, w->threads). */
typedef struct al_work_part {
    al_work *work;
    size_t index;
    unsigned thread;
} al_work_part;

/* Called from within a piece at least every 20 ms: AL_OK, or AL_ECANCELED when it has to end. */
int al_work_tick(const al_work_part *part, al_err *err);

/* fn(arg, part) for every index in [0, n), begun in this order, on up to w->threads threads. The
 * answer is AL_OK or what failed first; everything has ended when it returns. Not reentrant. */
int al_work_each(al_work *w, size_t n, int (*fn)(void *arg, const al_work_part *part, al_err *err),
                 void *arg, al_err *err);

#endif
