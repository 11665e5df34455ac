/* Running a host: alisio_run on a loop of its own, or from the loop of the program. */
#include "core/embed.h"
#include "core/post.h"
#include "core/state.h"
#include <stdlib.h>

void embed_put(alisio_host *h, embed_item *item)
{
    item->next = NULL;
    if (h->last)
        h->last->next = item;
    else
        h->first = item;
    h->last = item;
}

void embed_flush(alisio_host *h)
{
    embed_item *last = h->last, *item;

    h->flushing = true;
    for (bool more = last != NULL; more; item->run(h, item)) {
        item = h->first;
        h->first = item->next;
        if (!h->first)
            h->last = NULL;
        more = item != last;
    }
    h->flushing = false;
}

static uv_loop_t *inner(const alisio_host *h)
{
    return al_host_loop(h->core);
}

static void drive(alisio_host *h);

/* ---- from the program's loop ---- */

static void on_poll(uv_poll_t *poll, int status, int events)
{
    (void)status, (void)events;
    drive(poll->data);
}

static void on_timer(uv_timer_t *timer)
{
    drive(timer->data);
}

/* The outer loop stays alive exactly while the inner one is. */
static void arm_outer(alisio_host *h, int timeout)
{
    bool alive = uv_loop_alive(inner(h)) || h->first;

    if (alive)
        uv_ref((uv_handle_t *)&h->poll);
    else
        uv_unref((uv_handle_t *)&h->poll);
    if (timeout >= 0)
        uv_timer_start(&h->timer, on_timer, (uint64_t)timeout, 0);
    else
        uv_timer_stop(&h->timer);
}

static void drive(alisio_host *h)
{
    int timeout = al_drive(h->core);

    if (h->ending)
        embed_tools_detach(h);
    embed_flush(h);
    if (h->ending && al_host_closed(h->core) && !h->first) {
        embed_loop_close(h);
        return;
    }
    timeout = h->first ? 0 : al_drive_timeout(h->core);
    arm_outer(h, timeout);
}

int embed_loop_open(alisio_host *h, uv_loop_t *outer, al_err *err)
{
    h->fd = (al_drive_fd){ -1, -1 };
    if (!outer)
        return AL_OK;
    int rc = uv_poll_init(outer, &h->poll, uv_backend_fd(inner(h)));
    if (rc < 0)
        return al_err_set(err, AL_EIO, "io_error", "event loop", uv_strerror(rc));
    uv_timer_init(outer, &h->timer);
    h->outer = outer;
    h->outer_handles = 2;
    h->poll.data = h->timer.data = h;
    uv_poll_start(&h->poll, UV_READABLE, on_poll);
    embed_touch(h);
    return AL_OK;
}

static void outer_closed(uv_handle_t *handle)
{
    alisio_host *h = handle->data;

    if (--h->outer_handles == 0)
        embed_end(h);
}

void embed_loop_close(alisio_host *h)
{
    uv_close((uv_handle_t *)&h->poll, outer_closed);
    uv_close((uv_handle_t *)&h->timer, outer_closed);
}

void embed_touch(alisio_host *h)
{
    if (h->outer)
        arm_outer(h, 0);
    else if (h->fd.fd >= 0)
        al_drive_fd_arm(&h->fd, 0);
}

/* ---- from alisio_run ---- */

static void on_deadline(uv_timer_t *timer)
{
    *(bool *)timer->data = true;
}

static void close_timer(uv_handle_t *handle)
{
    free(handle);
}

/* Turns until the time is over, alisio_stop, or nothing is left to do. */
static void run_turns(alisio_host *h, bool *over)
{
    for (;;) {
        embed_flush(h);
        if (atomic_exchange(&h->stop, false) || *over)
            return;
        if (!uv_run(inner(h), h->first ? UV_RUN_NOWAIT : UV_RUN_ONCE) && !h->first)
            return;
    }
}

static int run_for(alisio_host *h, int timeout_ms)
{
    uv_timer_t *timer = calloc(1, sizeof *timer);
    bool over = false;

    if (!timer)
        return embed_fail(h, ALISIO_ENOMEM, "not enough memory");
    uv_timer_init(inner(h), timer);
    uv_unref((uv_handle_t *)timer);
    timer->data = &over;
    uv_update_time(inner(h));
    uv_timer_start(timer, on_deadline, (uint64_t)timeout_ms, 0);
    run_turns(h, &over);
    uv_close((uv_handle_t *)timer, close_timer);
    return ALISIO_OK;
}

int alisio_run(alisio_host *h, int timeout_ms)
{
    bool never = false;
    int rc = ALISIO_OK;

    if (!h || timeout_ms < -1)
        return ALISIO_EINVAL;
    if (h->outer)
        return embed_fail(h, ALISIO_EINVAL, "the loop is borrowed: run that one");
    if (h->flushing || h->running)
        return embed_fail(h, ALISIO_EBUSY, "not from a callback");
    h->running = true;
    if (timeout_ms > 0)
        rc = run_for(h, timeout_ms);
    else if (timeout_ms < 0)
        run_turns(h, &never);
    al_drive(h->core);
    embed_flush(h);
    h->running = false;
    if (rc != ALISIO_OK)
        return rc;
    if (h->fd.fd >= 0)
        al_drive_fd_arm(&h->fd, h->first ? 0 : al_drive_timeout(h->core));
    return uv_loop_alive(inner(h)) || h->first;
}

int alisio_fd(const alisio_host *host)
{
    alisio_host *h = (alisio_host *)host; /* the descriptor is made when first asked for */

    if (!h)
        return ALISIO_EINVAL;
    if (h->outer)
        return embed_fail(h, ALISIO_EINVAL, "the loop is borrowed: it has its own descriptor");
    if (h->fd.fd < 0 && al_drive_fd_open(&h->fd, h->core) != 0)
        return embed_fail(h, ALISIO_EIO, "no descriptor to poll can be made");
    embed_touch(h);
    return h->fd.fd;
}

int alisio_stop(alisio_host *h)
{
    if (!h)
        return ALISIO_EINVAL;
    atomic_store(&h->stop, true);
    al_post_wake(h->core);
    return ALISIO_OK;
}

/* ---- the end ---- */

void embed_end(alisio_host *h)
{
    void (*done)(void *data) = h->done;
    void *data = h->done_data;

    embed_tools_free(h);
    al_drive_fd_close(&h->fd);
    al_host_free(h->core);
    free(h);
    if (done)
        done(data);
}

int alisio_destroy(alisio_host *h, void (*done)(void *data), void *data)
{
    if (!h) {
        if (done)
            done(data);
        return ALISIO_OK;
    }
    if (h->flushing || h->running || h->ending)
        return embed_fail(h, ALISIO_EBUSY, "not from a callback, and not twice");
    embed_ask(h, &(embed_question){ .function = "shutdown" });
    h->ending = true;
    h->done = done;
    h->done_data = data;
    al_host_close_begin(h->core);
    if (h->outer) {
        embed_touch(h);
        return ALISIO_OK;
    }
    while (!al_host_closed(h->core) || h->first) {
        if (!h->first && !al_host_closed(h->core))
            uv_run(inner(h), UV_RUN_ONCE);
        embed_tools_detach(h);
        embed_flush(h);
    }
    embed_end(h);
    return ALISIO_OK;
}
