/* Jobs that are done on several threads and ended in the order in which they came.
 *
 * The thread that submits works too: with one thread there is no other, and everything happens in
 * al_pool_submit. Not more than a few jobs are under way at a time. */
#ifndef AL_DATA_POOL_H
#define AL_DATA_POOL_H
#include "base/err.h"

#define AL_POOL_MAX_THREADS 64

typedef struct al_pool al_pool;

typedef struct al_pool_calls {
    int (*run)(void *job, al_err *err);   /* on any thread, several at a time */
    int (*turn)(void *job, al_err *err);  /* in order, one at a time, where run had AL_OK */
    int (*after)(void *job, al_err *err); /* behind its turn, several at a time, in any order */
    void (*free)(void *job);              /* once for every job, whatever happened to it */
} al_pool_calls;

/* threads: 0 for as many as there are processors for this process. calls is borrowed. */
int al_pool_open(al_pool **out, unsigned threads, const al_pool_calls *calls, al_err *err);
void al_pool_close(al_pool *p); /* jobs that were not ended are freed */
unsigned al_pool_threads(const al_pool *p);

/* Takes the job, and works on jobs until there is room for one more. Once a job failed, this and
 * wait answer what the first of them in order answered, and the jobs behind it are freed. */
int al_pool_submit(al_pool *p, void *job, al_err *err);
/* Works until all jobs are ended. */
int al_pool_wait(al_pool *p, al_err *err);

#endif
