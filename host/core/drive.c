/* libuv tells the kernel about new descriptors only when a turn of the loop begins. Callbacks of
 * one turn may have added some, for which the loop's own descriptor would not become readable yet;
 * so a loop that is driven from outside is turned until there are none. */
#include "core/drive.h"
#include "core/host.h"
#include <errno.h>
#include <stdbool.h>
#include <unistd.h>
#if defined(__linux__) && !defined(AL_PORTABLE)
#include <sys/epoll.h>
#include <sys/timerfd.h>
#endif

#define MOST_TURNS 16 /* then the other loop has its turn */

/* The queue of new watchers is a ring of two pointers, which points to itself while it is empty. It
 * is private to libuv, which has no public way to ask. */
static bool has_new_watchers(const uv_loop_t *loop)
{
    _Static_assert(sizeof loop->watcher_queue == 2 * sizeof(void *), "libuv's queue is no ring");
    void *const *ring = (void *const *)&loop->watcher_queue;

    return ring[0] != (const void *)ring;
}

int al_drive_timeout(al_host *host)
{
    const uv_loop_t *loop = al_host_loop(host);

    if (has_new_watchers(loop))
        return 0;
    return uv_loop_alive(loop) ? uv_backend_timeout(loop) : -1;
}

int al_drive(al_host *host)
{
    int timeout = 0;

    for (int i = 0; i < MOST_TURNS && timeout == 0; i++) {
        al_host_expect(host); /* a loop that is not alive would not look at its descriptors */
        uv_run(al_host_loop(host), UV_RUN_NOWAIT);
        al_host_expected(host);
        timeout = al_drive_timeout(host);
    }
    return timeout;
}

#if defined(__linux__) && !defined(AL_PORTABLE)
static int add_fd(int epoll, int fd)
{
    struct epoll_event event = { .events = EPOLLIN };

    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

int al_drive_fd_open(al_drive_fd *d, al_host *host)
{
    d->fd = epoll_create1(EPOLL_CLOEXEC);
    d->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (d->fd >= 0 && d->timer_fd >= 0 && add_fd(d->fd, d->timer_fd) == 0 &&
        add_fd(d->fd, uv_backend_fd(al_host_loop(host))) == 0)
        return 0;
    int rc = -errno;
    al_drive_fd_close(d);
    return rc;
}

void al_drive_fd_arm(al_drive_fd *d, int timeout_ms)
{
    struct itimerspec at = { 0 }; /* all zero: never */

    at.it_value.tv_sec = timeout_ms > 0 ? timeout_ms / 1000 : 0;
    at.it_value.tv_nsec = timeout_ms > 0 ? timeout_ms % 1000 * 1000000L : timeout_ms == 0;
    timerfd_settime(d->timer_fd, 0, &at, NULL);
}

void al_drive_fd_close(al_drive_fd *d)
{
    if (d->fd >= 0)
        close(d->fd);
    if (d->timer_fd >= 0)
        close(d->timer_fd);
    d->fd = d->timer_fd = -1;
}
#else
int al_drive_fd_open(al_drive_fd *d, al_host *host)
{
    d->fd = uv_backend_fd(al_host_loop(host));
    d->timer_fd = -1;
    return 0;
}

void al_drive_fd_arm(al_drive_fd *d, int timeout_ms)
{
    (void)d, (void)timeout_ms;
}

void al_drive_fd_close(al_drive_fd *d)
{
    d->fd = -1; /* the loop's own */
}
#endif
