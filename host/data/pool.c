/* A ring of jobs. Whoever finds the oldest one done, and nobody at it, gives it its turn. */
#include "data/pool.h"
#include "base/cpu.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define AHEAD 1 /* jobs under way beside one for each thread */

enum state { FREE, QUEUED, RUNNING, DONE };

struct place {
    void *job;
    enum state state;
    int rc;
    al_err err;
};

struct al_pool {
    const al_pool_calls *calls;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_t threads[AL_POOL_MAX_THREADS];
    unsigned nthreads, started; /* the submitting one counts in nthreads */
    struct place ring[AL_POOL_MAX_THREADS + AHEAD];
    unsigned room;
    uint64_t first, next; /* places [first, next) are in use */
    unsigned after;       /* jobs in their after call */
    bool turning, stop;
    int rc; /* of the first job in order that failed */
    al_err err;
};

static struct place *at(al_pool *p, uint64_t i)
{
    return &p->ring[i % p->room];
}

static void fail(al_pool *p, int rc, const al_err *err)
{
    if (p->rc == AL_OK) {
        p->rc = rc;
        p->err = *err;
    }
}

/* The oldest job is done: gives it its turn. The mutex is held, and let go meanwhile. */
static void end_first(al_pool *p)
{
    struct place *place = at(p, p->first);
    void *job = place->job;
    int rc = place->rc;
    al_err err = place->err;

    p->turning = true;
    if (p->rc == AL_OK && rc == AL_OK) {
        pthread_mutex_unlock(&p->mutex);
        rc = p->calls->turn(job, &err);
        pthread_mutex_lock(&p->mutex);
    }
    if (rc != AL_OK)
        fail(p, rc, &err);
    place->state = FREE;
    p->first++;
    p->after++;
    p->turning = false;
    rc = p->rc;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->mutex);
    if (rc == AL_OK)
        rc = p->calls->after(job, &err);
    p->calls->free(job);
    pthread_mutex_lock(&p->mutex);
    p->after--;
    if (rc != AL_OK)
        fail(p, rc, &err);
    pthread_cond_broadcast(&p->changed);
}

static struct place *queued(al_pool *p)
{
    for (uint64_t i = p->first; i < p->next; i++)
        if (at(p, i)->state == QUEUED)
            return at(p, i);
    return NULL;
}

/* One piece of work, if there is any. The mutex is held, and let go meanwhile. */
static bool work(al_pool *p)
{
    struct place *place;

    if (!p->turning && p->first < p->next && at(p, p->first)->state == DONE) {
        end_first(p);
        return true;
    }
    place = queued(p);
    if (!place)
        return false;
    place->state = RUNNING;
    if (p->rc == AL_OK) {
        pthread_mutex_unlock(&p->mutex);
        place->rc = p->calls->run(place->job, &place->err);
        pthread_mutex_lock(&p->mutex);
    }
    place->state = DONE;
    return true;
}

static void *thread_main(void *arg)
{
    al_pool *p = arg;

    pthread_mutex_lock(&p->mutex);
    while (!p->stop)
        if (!work(p))
            pthread_cond_wait(&p->changed, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

int al_pool_open(al_pool **out, unsigned threads, const al_pool_calls *calls, al_err *err)
{
    al_pool *p = calloc(1, sizeof *p);

    *out = NULL;
    if (!p)
        return al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
    p->calls = calls;
    p->nthreads = threads ? threads : al_cpu_count();
    if (p->nthreads > AL_POOL_MAX_THREADS)
        p->nthreads = AL_POOL_MAX_THREADS;
    p->room = p->nthreads == 1 ? 1 : p->nthreads + AHEAD;
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->changed, NULL);
    *out = p;
    return AL_OK;
}

void al_pool_close(al_pool *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->mutex);
    p->stop = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->mutex);
    for (unsigned i = 0; i < p->started; i++)
        pthread_join(p->threads[i], NULL);
    for (; p->first < p->next; p->first++)
        p->calls->free(at(p, p->first)->job);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->mutex);
    free(p);
}

unsigned al_pool_threads(const al_pool *p)
{
    return p->nthreads;
}

/* Where there is work for a second thread it begins; where none can be had this one does it. */
static void start_thread(al_pool *p)
{
    if (p->started + 1 < p->nthreads &&
        pthread_create(&p->threads[p->started], NULL, thread_main, p) == 0)
        p->started++;
}

/* Works, or waits, until at most `left` jobs are under way. */
static int work_off(al_pool *p, uint64_t left, al_err *err)
{
    int rc;

    while (p->next - p->first > left || (left == 0 && p->after > 0))
        if (!work(p))
            pthread_cond_wait(&p->changed, &p->mutex);
    rc = p->rc;
    if (rc != AL_OK && err)
        *err = p->err;
    return rc;
}

int al_pool_submit(al_pool *p, void *job, al_err *err)
{
    int rc;

    pthread_mutex_lock(&p->mutex);
    *at(p, p->next++) = (struct place){ .job = job, .state = QUEUED };
    start_thread(p);
    pthread_cond_broadcast(&p->changed);
    rc = work_off(p, p->nthreads == 1 ? 0 : p->room - 1, err);
    pthread_mutex_unlock(&p->mutex);
    return rc;
}

int al_pool_wait(al_pool *p, al_err *err)
{
    int rc;

    pthread_mutex_lock(&p->mutex);
    rc = work_off(p, 0, err);
    pthread_mutex_unlock(&p->mutex);
    return rc;
}
