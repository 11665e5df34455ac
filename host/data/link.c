/* Looking at the socket between two pieces of work. A cancel is taken out of the stream; anything
 * else stays there for the request loop. */
#include "data/link.h"
#include "base/clock.h"
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* SIGPIPE is ignored in the engine anyway */
#endif

#define CHECK_EVERY UINT64_C(4000000)   /* 4 ms */
#define TELL_EVERY  UINT64_C(200000000) /* 200 ms */

/* For the signal handler, which can be given nothing. */
static volatile sig_atomic_t deadline_fd = -1, sending;
static char deadline_frame[512];
static size_t deadline_len;

void al_link_init(al_link *link, int fd)
{
    memset(link, 0, sizeof *link);
    link->fd = fd;
    link->told = al_clock_monotonic();
}

int al_link_send(al_link *link, al_wire_type type, const al_buf *body, al_err *err)
{
    int rc;

    if (link->fd < 0)
        return AL_OK;
    if (body->failed)
        return al_err_set(err, AL_ENOMEM, "internal", "engine", "not enough memory for the answer");
    sending = 1;
    rc = al_wire_send(link->fd, type, body->data ? body->data : "", body->len, NULL, 0);
    sending = 0;
    if (rc == AL_ELIMIT)
        return al_err_set(err, AL_ELIMIT, "internal", "engine", "the answer is too large");
    return rc == AL_OK ? AL_OK : al_err_set(err, AL_EIO, "io_error", "engine", "the host is gone");
}

static bool cancelled(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    unsigned char head[AL_WIRE_HEAD];
    static const unsigned char cancel[AL_WIRE_HEAD] = { 0, 0, 0, 0, AL_WIRE_CANCEL };
    ssize_t n;

    if (poll(&p, 1, 0) <= 0)
        return false;
    n = recv(fd, head, sizeof head, MSG_PEEK | MSG_DONTWAIT);
    if (n == 0)
        return true;
    if (n != AL_WIRE_HEAD || memcmp(head, cancel, sizeof head) != 0)
        return false;
    return recv(fd, head, sizeof head, MSG_DONTWAIT) == AL_WIRE_HEAD;
}

int al_link_check(al_link *link, al_err *err)
{
    uint64_t now;

    if (link->fd < 0)
        return AL_OK;
    now = al_clock_monotonic();
    if (now - link->checked >= CHECK_EVERY && !atomic_exchange(&link->looking, true)) {
        link->checked = now;
        if (!link->cancelled && cancelled(link->fd))
            link->cancelled = true;
        link->looking = false;
    }
    return link->cancelled ? al_err_set(err, AL_ECANCELED, "cancelled", "", "") : AL_OK;
}

int al_link_progress(al_link *link, uint64_t bytes, uint64_t total, uint64_t rows, al_err *err)
{
    int rc = al_link_check(link, err);
    uint64_t now = link->checked;
    al_buf body;

    if (rc != AL_OK || now - link->told < TELL_EVERY || link->fd < 0)
        return rc;
    link->told = now;
    al_buf_init(&body, 0);
    al_buf_printf(&body, "{\"bytes\":%llu,\"total\":%llu,\"rows\":%llu}", (unsigned long long)bytes,
                  (unsigned long long)total, (unsigned long long)rows);
    rc = al_link_send(link, AL_WIRE_PROGRESS, &body, err);
    al_buf_free(&body);
    return rc;
}

/* Only what a signal handler may do. A frame that was being sent cannot be completed: the host then
 * sees the end of the stream. */
static void overdue(int signal_number)
{
    (void)signal_number;
    if (!sending && deadline_fd >= 0)
        send(deadline_fd, deadline_frame, deadline_len, MSG_DONTWAIT | MSG_NOSIGNAL);
    _exit(1);
}

static void set_timer(uint64_t ms)
{
    const struct itimerval in = { .it_value = { .tv_sec = (time_t)(ms / 1000),
                                                .tv_usec = (suseconds_t)(ms % 1000 * 1000) } };

    setitimer(ITIMER_REAL, &in, NULL);
}

void al_link_deadline(al_link *link, uint64_t ms)
{
    const struct sigaction action = { .sa_handler = overdue };
    al_buf body, frame;
    al_err late;

    al_err_set(&late, AL_ETIMEOUT, "query_timeout", "analysis.data.queryTimeoutMs",
               "the statement took too long, and the engine was ended");
    al_buf_init(&body, 0);
    al_buf_init(&frame, sizeof deadline_frame);
    al_err_json(&late, &body);
    deadline_len = 0;
    if (al_wire_frame(&frame, AL_WIRE_ERROR, body.data, body.len) == AL_OK) {
        memcpy(deadline_frame, frame.data, frame.len);
        deadline_len = frame.len;
    }
    al_buf_free(&body);
    al_buf_free(&frame);
    deadline_fd = link->fd;
    sigaction(SIGALRM, &action, NULL);
    set_timer(ms);
}

void al_link_no_deadline(al_link *link)
{
    (void)link;
    set_timer(0);
}
