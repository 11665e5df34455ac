/* Threads are made for each call: that costs less than a leaf page, and an idle engine has none. */
#include "data/work.h"
#include "base/clock.h"
#include "base/cpu.h"
#include <pthread.h>
#include <signal.h>

struct crew {
    al_work *work;
    size_t n;
    int (*fn)(void *arg, const al_work_part *part, al_err *err);
    void *arg;
    atomic_size_t next;
    pthread_mutex_t lock; /* of what failed first */
    int rc;
    al_err err;
};

struct hand {
    struct crew *crew;
    unsigned thread;
    pthread_t id;
};

void al_work_init(al_work *w, unsigned threads, al_link *link)
{
    if (threads == 0)
        threads = al_cpu_count();
    w->threads = threads < AL_WORK_MAX_THREADS ? threads : AL_WORK_MAX_THREADS;
    w->link = link;
    w->deadline = 0;
    w->total = 0;
    atomic_init(&w->stop, false);
    atomic_init(&w->done, 0);
    atomic_init(&w->rows, 0);
}

int al_work_tick(const al_work_part *part, al_err *err)
{
    al_work *w = part->work;

    if (part->thread == 0 && w->link) {
        int rc = w->total ? al_link_progress(w->link, atomic_load(&w->done), w->total,
                                             atomic_load(&w->rows), err)
                          : al_link_check(w->link, err);

        if (rc != AL_OK)
            return rc;
    }
    if (part->thread == 0 && w->deadline && al_clock_monotonic() > w->deadline)
        return al_err_set(err, AL_ETIMEOUT, "query_timeout", "analysis.data.queryTimeoutMs",
                          "the question took too long");
    if (atomic_load_explicit(&w->stop, memory_order_relaxed))
        return al_err_set(err, AL_ECANCELED, "cancelled", "", "");
    return AL_OK;
}

static void *labour(void *data)
{
    struct hand *h = data;
    struct crew *c = h->crew;
    al_work_part part = { .work = c->work, .thread = h->thread };
    al_err err = { 0 };

    for (;;) {
        int rc;

        part.index = atomic_fetch_add(&c->next, 1);
        if (part.index >= c->n)
            return NULL;
        rc = al_work_tick(&part, &err);
        if (rc == AL_OK)
            rc = c->fn(c->arg, &part, &err);
        if (rc == AL_OK)
            continue;
        pthread_mutex_lock(&c->lock);
        if (c->rc == AL_OK) { /* the others are told to stop, and that is no failure of theirs */
            c->rc = rc;
            c->err = err;
        }
        pthread_mutex_unlock(&c->lock);
        atomic_store(&c->work->stop, true);
        return NULL;
    }
}

int al_work_each(al_work *w, size_t n, int (*fn)(void *arg, const al_work_part *part, al_err *err),
                 void *arg, al_err *err)
{
    struct crew crew = { .work = w, .n = n, .fn = fn, .arg = arg, .rc = AL_OK };
    struct hand hands[AL_WORK_MAX_THREADS];
    unsigned started = 1;
    sigset_t all, before;

    atomic_init(&crew.next, 0);
    pthread_mutex_init(&crew.lock, NULL);
    for (unsigned i = 0; i < w->threads; i++)
        hands[i] = (struct hand){ .crew = &crew, .thread = i };
    /* Signals are the first thread's. Where no thread can be had, those that are there do it all.
     */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < w->threads && started < n &&
           pthread_create(&hands[started].id, NULL, labour, &hands[started]) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    labour(&hands[0]);
    for (unsigned i = 1; i < started; i++)
        pthread_join(hands[i].id, NULL);
    pthread_mutex_destroy(&crew.lock);
    if (crew.rc != AL_OK && err)
        *err = crew.err;
    return crew.rc;
}
