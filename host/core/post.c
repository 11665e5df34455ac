/* The queue by which other threads reach the host thread: a list under a mutex, and an async handle
 * that wakes the loop. The handle keeps the loop alive only while something is expected. */
#include "core/post.h"
#include "core/mem.h"
#include "core/state.h"

struct al_posted {
    al_posted *next;
    void (*fn)(al_host *host, void *data);
    void *data;
};

static al_posted *take_all(al_host *h)
{
    uv_mutex_lock(&h->post_lock);
    al_posted *first = h->posted_first;
    h->posted_first = h->posted_last = NULL;
    uv_mutex_unlock(&h->post_lock);
    return first;
}

void al_post_drain(al_host *h)
{
    al_posted *p = take_all(h), *next;

    for (; p; p = next) {
        next = p->next;
        p->fn(h, p->data);
        free(p);
    }
}

static void on_wake(uv_async_t *handle)
{
    al_post_drain(handle->data);
}

int al_post(al_host *h, void (*fn)(al_host *host, void *data), void *data)
{
    al_posted *p = calloc(1, sizeof *p); /* not al_mem_zero: any thread comes here */

    if (!p)
        return AL_ENOMEM;
    p->fn = fn;
    p->data = data;
    uv_mutex_lock(&h->post_lock);
    bool closed = h->post_closed;
    if (!closed) {
        if (h->posted_last)
            h->posted_last->next = p;
        else
            h->posted_first = p;
        h->posted_last = p;
        uv_async_send(&h->wake);
    }
    uv_mutex_unlock(&h->post_lock);
    if (closed)
        free(p);
    return closed ? AL_ECANCELED : AL_OK;
}

void al_post_wake(al_host *h)
{
    uv_async_send(&h->wake);
}

void al_host_expect(al_host *h)
{
    if (h->expects++ == 0)
        uv_ref((uv_handle_t *)&h->wake);
}

void al_host_expected(al_host *h)
{
    if (--h->expects == 0)
        uv_unref((uv_handle_t *)&h->wake);
}

int al_post_init(al_host *h)
{
    int rc = uv_async_init(&h->loop, &h->wake, on_wake);

    if (rc < 0)
        return rc;
    h->wake.data = h;
    uv_unref((uv_handle_t *)&h->wake);
    al_host_hold(h);
    return 0;
}

void al_post_end(al_host *h)
{
    uv_mutex_lock(&h->post_lock);
    h->post_closed = true;
    uv_mutex_unlock(&h->post_lock);
}
