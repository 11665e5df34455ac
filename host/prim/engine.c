/* Starting the engine, its socket, and the end of requests and processes. base/wire has the frames.
 */
#include "prim/engine.h"
#include "base/buf.h"
#include "base/fs.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_AT_ONCE 65536
#ifndef O_PATH
#define O_PATH O_RDONLY
#endif
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

struct al_engine {
    uv_process_t process;
    uv_poll_t poll;
    uv_timer_t timer;
    int fd, handles, pid;
    al_buf in, out;
    size_t used;                    /* bytes of `in` that the frame taken last occupies */
    size_t rows;                    /* bytes of rows that this request brought */
    int fds[AL_WIRE_MAX_FDS], nfds; /* they go out with the next byte */
    bool busy, exited, ended, closing;
    enum { RUNNING, TIMED_OUT, CANCELLING, BROKEN } state;
    const char *breach;
    int64_t exit_status;
    int exit_signal;
    uint64_t timeout_ms;
    void (*ready)(void *data);
    void *ready_data;
    void (*closed)(void *data);
    void *closed_data;
};

/* ---- starting ---- */

/* What the loader and the sanitizers need; nothing else of ours is the engine's business. */
static const char *const env_names[] = { "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "ASAN_OPTIONS",
                                         "UBSAN_OPTIONS",   "LSAN_OPTIONS",      NULL };

static int make_env(char **env, al_buf *text)
{
    size_t at[sizeof env_names / sizeof *env_names];
    int n = 0;

    for (int i = 0; env_names[i]; i++) {
        const char *value = getenv(env_names[i]);
        if (!value)
            continue;
        at[n++] = text->len;
        al_buf_printf(text, "%s=%s", env_names[i], value);
        al_buf_char(text, '\0');
    }
    if (text->failed)
        return text->failed;
    for (int i = 0; i < n; i++)
        env[i] = text->data + at[i];
    env[n] = NULL;
    return AL_OK;
}

static void finish_request(al_engine *e)
{
    e->busy = false;
    uv_timer_stop(&e->timer);
    for (int i = 0; i < e->nfds; i++)
        close(e->fds[i]);
    e->nfds = 0;
}

static void tell(al_engine *e)
{
    void (*ready)(void *data) = e->ready;

    e->ready = NULL;
    if (ready)
        ready(e->ready_data);
}

static void on_handle_closed(uv_handle_t *handle)
{
    al_engine *e = handle->data;
    void (*closed)(void *data) = e->closed;
    void *data = e->closed_data;

    if (--e->handles > 0)
        return;
    finish_request(e);
    al_buf_free(&e->in);
    al_buf_free(&e->out);
    free(e);
    if (closed)
        closed(data);
}

static void close_handles(al_engine *e)
{
    uv_close((uv_handle_t *)&e->poll, on_handle_closed);
    uv_close((uv_handle_t *)&e->timer, on_handle_closed);
    if (e->process.type == UV_PROCESS)
        uv_close((uv_handle_t *)&e->process, on_handle_closed);
    else
        e->handles--; /* uv_spawn was never reached */
    if (e->fd >= 0)
        close(e->fd);
    e->fd = -1;
}

static void read_more(al_engine *e);

static void on_exit_status(uv_process_t *process, int64_t status, int sig)
{
    al_engine *e = process->data;

    e->exited = true;
    e->exit_status = status;
    e->exit_signal = sig;
    if (e->closing) {
        tell(e);
        close_handles(e);
        return;
    }
    while (!e->ended && e->state != BROKEN)
        read_more(e); /* what it said before its end */
    tell(e);
}

static int spawn(al_engine *e, uv_loop_t *loop, const char *program, int child, int tmp,
                 al_err *err)
{
    char *env[sizeof env_names / sizeof *env_names];
    char *args[] = { (char *)program, NULL };
    uv_stdio_container_t io[5] = { { .flags = UV_IGNORE },
                                   { .flags = UV_IGNORE },
                                   { .flags = UV_INHERIT_FD, .data.fd = 2 },
                                   { .flags = UV_INHERIT_FD, .data.fd = child },
                                   { .flags = UV_INHERIT_FD, .data.fd = tmp } };
    /* Its own session: Ctrl-C on the terminal is ours to answer. */
    uv_process_options_t o = { .exit_cb = on_exit_status,
                               .file = program,
                               .args = args,
                               .env = env,
                               .cwd = "/",
                               .flags = UV_PROCESS_DETACHED,
                               .stdio_count = 5,
                               .stdio = io };
    al_buf text;
    int rc;

    al_buf_init(&text, 0);
    if (make_env(env, &text) < 0)
        rc = al_err_set(err, AL_ENOMEM, "internal", program, "not enough memory");
    else if ((rc = uv_spawn(loop, &e->process, &o)) < 0)
        rc = al_err_set(err, AL_EIO, "engine_failed", program, uv_strerror(rc));
    al_buf_free(&text);
    e->pid = e->process.pid;
    return rc;
}

int al_engine_start(al_engine **out, uv_loop_t *loop, const char *program, const char *tmp_dir,
                    al_err *err)
{
    int rc, tmp, pair[2];
    al_engine *e;

    rc = al_fs_mkdirs(tmp_dir, err);
    if (rc < 0)
        return rc;
    tmp = open(tmp_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (tmp < 0)
        return al_err_errno(err, errno, tmp_dir);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        rc = al_err_errno(err, errno, "socket of the engine");
        close(tmp);
        return rc;
    }
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    e = calloc(1, sizeof *e);
    if (!e) {
        close(pair[0]), close(pair[1]), close(tmp);
        return al_err_set(err, AL_ENOMEM, "internal", program, "not enough memory");
    }
    e->fd = pair[0];
    al_buf_init(&e->in, AL_WIRE_HEAD + AL_WIRE_MAX + READ_AT_ONCE);
    al_buf_init(&e->out, 0);
    e->handles = 3;
    e->poll.data = e->timer.data = e->process.data = e;
    uv_timer_init(loop, &e->timer);
    rc = uv_poll_init(loop, &e->poll, e->fd);
    if (rc < 0) {
        rc = al_err_set(err, AL_EIO, "engine_failed", program, uv_strerror(rc));
        e->handles = 1;
        uv_close((uv_handle_t *)&e->timer, on_handle_closed);
        close(e->fd);
    } else if ((rc = spawn(e, loop, program, pair[1], tmp, err)) < 0) {
        close_handles(e);
    }
    close(pair[1]);
    close(tmp);
    if (rc < 0)
        return rc;
    /* An idle engine keeps no loop alive; a request that is waited for does. */
    uv_unref((uv_handle_t *)&e->process);
    *out = e;
    return AL_OK;
}

/* ---- sending ---- */

static void poll_for(al_engine *e);

static void kill_engine(al_engine *e)
{
    if (!e->exited)
        uv_process_kill(&e->process, SIGKILL);
}

static void broken(al_engine *e, const char *breach)
{
    if (e->state == RUNNING || e->state == CANCELLING)
        e->state = BROKEN, e->breach = breach;
    e->ended = true;
    kill_engine(e);
}

/* Sends what fits; descriptors travel with the first byte. */
static void flush(al_engine *e)
{
    while (e->out.len > 0) {
        union {
            char bytes[CMSG_SPACE(sizeof(int) * AL_WIRE_MAX_FDS)];
            struct cmsghdr align;
        } control = { .bytes = "" };
        struct iovec iov = { e->out.data, e->out.len };
        struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
        if (e->nfds > 0) {
            msg.msg_control = control.bytes;
            msg.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)e->nfds);
            struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
            c->cmsg_level = SOL_SOCKET;
            c->cmsg_type = SCM_RIGHTS;
            c->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)e->nfds);
            memcpy(CMSG_DATA(c), e->fds, sizeof(int) * (size_t)e->nfds);
        }
        ssize_t n = sendmsg(e->fd, &msg, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            if (errno != EAGAIN && errno != EWOULDBLOCK)
                al_buf_clear(&e->out); /* it is gone: its end is on the way */
            return;
        }
        for (int i = 0; i < e->nfds; i++)
            close(e->fds[i]);
        e->nfds = 0;
        al_buf_drop(&e->out, (size_t)n);
    }
}

static void on_timer(uv_timer_t *timer)
{
    al_engine *e = timer->data;

    if (e->state == RUNNING)
        e->state = TIMED_OUT;
    kill_engine(e);
}

int al_engine_send(al_engine *e, const char *json, size_t len, const int *fds, int nfds,
                   uint64_t timeout_ms, al_err *err)
{
    if (e->busy)
        return al_err_set(err, AL_EBUSY, "internal", "engine", "a request is running");
    if (!al_engine_alive(e))
        return al_err_set(err, AL_EIO, "engine_failed", "engine", "the process has ended");
    if (nfds > AL_WIRE_MAX_FDS || len > AL_WIRE_MAX)
        return al_err_set(err, AL_ELIMIT, "engine_failed", "engine", "the request is too large");
    al_buf_drop(&e->in, e->used);
    e->used = 0;
    al_buf_clear(&e->out);
    if (al_wire_frame(&e->out, AL_WIRE_REQUEST, json, len) < 0)
        return al_err_set(err, AL_ENOMEM, "internal", "engine", "not enough memory");
    for (int i = 0; i < nfds; i++) {
        int fd = fcntl(fds[i], F_DUPFD_CLOEXEC, 5);
        if (fd < 0) {
            finish_request(e);
            return al_err_errno(err, errno, "engine");
        }
        e->fds[e->nfds++] = fd;
    }
    e->busy = true;
    e->rows = 0;
    e->timeout_ms = timeout_ms;
    if (timeout_ms > 0)
        uv_timer_start(&e->timer, on_timer, timeout_ms, 0);
    flush(e);
    return AL_OK;
}

void al_engine_cancel(al_engine *e)
{
    if (!e->busy || e->state != RUNNING || e->exited)
        return;
    e->state = CANCELLING;
    al_wire_frame(&e->out, AL_WIRE_CANCEL, "", 0);
    flush(e);
    uv_timer_start(&e->timer, on_timer, AL_ENGINE_CANCEL_MS, 0);
    poll_for(e);
}

/* ---- receiving ---- */

static void read_more(al_engine *e)
{
    ssize_t n;

    if (al_buf_reserve(&e->in, READ_AT_ONCE) < 0) {
        broken(e, "more than a frame came");
        return;
    }
    do
        n = recv(e->fd, e->in.data + e->in.len, READ_AT_ONCE, 0);
    while (n < 0 && errno == EINTR);
    if (n > 0) {
        e->in.len += (size_t)n;
        e->in.data[e->in.len] = '\0';
    } else if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK) || e->exited) {
        e->ended = true;
        kill_engine(e); /* without its socket it is of no use */
    }
}

/* Whether a whole frame stands in `in`, or something that can never be one. */
static int peek(const al_engine *e, al_wire_type *type, const char **body, size_t *len,
                size_t *used)
{
    const char *from = e->in.data ? e->in.data + e->used : "";
    return al_wire_parse(from, e->in.len - e->used, type, body, len, used);
}

bool al_engine_has_news(const al_engine *e)
{
    al_wire_type type;
    const char *body;
    size_t len, used;

    return peek(e, &type, &body, &len, &used) != 0 || e->exited || e->state == BROKEN;
}

static void on_event(uv_poll_t *poll, int status, int events)
{
    al_engine *e = poll->data;

    if (events & UV_WRITABLE)
        flush(e);
    if ((events & UV_READABLE) || status < 0)
        read_more(e);
    if (e->ready && al_engine_has_news(e))
        tell(e); /* it may close e: nothing of it is touched after a close but by libuv */
    poll_for(e);
}

/* Reads only while somebody waits: a slow reader slows the engine, not our memory. */
static void poll_for(al_engine *e)
{
    int events = (e->ready && !e->ended ? UV_READABLE : 0) | (e->out.len ? UV_WRITABLE : 0);

    if (e->closing || e->fd < 0)
        return;
    if (events && !e->ended)
        uv_poll_start(&e->poll, events, on_event);
    else
        uv_poll_stop(&e->poll);
    if (e->ready)
        uv_ref((uv_handle_t *)&e->process);
    else
        uv_unref((uv_handle_t *)&e->process);
}

void al_engine_wait(al_engine *e, void (*ready)(void *data), void *data)
{
    e->ready = ready;
    e->ready_data = data;
    poll_for(e);
}

static int end_error(const al_engine *e, al_err *err)
{
    switch (e->state) {
    case TIMED_OUT:
        return al_err_setf(err, AL_ETIMEOUT, "query_timeout", "analysis.data.queryTimeoutMs",
                           "no answer within %llu ms", (unsigned long long)e->timeout_ms);
    case CANCELLING: return al_err_set(err, AL_ECANCELED, "cancelled", NULL, NULL);
    case BROKEN:
        return al_err_setf(err, AL_EIO, "engine_failed", "engine", "it broke the protocol: %s",
                           e->breach);
    default: break;
    }
    if (e->exit_signal)
        return al_err_setf(err, AL_EIO, "engine_failed", "engine", "it was ended by signal %d (%s)",
                           e->exit_signal, strsignal(e->exit_signal));
    return al_err_setf(err, AL_EIO, "engine_failed", "engine", "it ended with status %lld",
                       (long long)e->exit_status);
}

int al_engine_take(al_engine *e, al_wire_type *type, const char **body, size_t *len, al_err *err)
{
    al_err told = { 0 };
    size_t used = 0;
    int rc;

    if (!e->busy)
        return al_err_set(err, AL_EINVAL, "internal", "engine", "no request is running");
    al_buf_drop(&e->in, e->used);
    e->used = 0;
    rc = e->state == BROKEN ? 0 : peek(e, type, body, len, &used);
    if (rc < 0 || (rc == 1 && (*type == AL_WIRE_REQUEST || *type == AL_WIRE_CANCEL))) {
        broken(e, "a frame of a kind or size that cannot be");
        rc = 0;
    }
    if (rc == 1 && *type == AL_WIRE_ROWS && (e->rows += *len) > AL_ENGINE_MAX_ROWS) {
        broken(e, "more rows than any answer has");
        rc = 0;
    }
    if (rc == 0 && !e->exited && e->state != BROKEN)
        return 0;
    if (rc == 0) {
        finish_request(e);
        return end_error(e, err);
    }
    e->used = used;
    if (*type == AL_WIRE_PROGRESS || *type == AL_WIRE_ROWS)
        return 1;
    finish_request(e);
    if (e->state == CANCELLING)
        e->state = RUNNING; /* it obeyed, or had just finished */
    if (*type == AL_WIRE_RESULT)
        return 1;
    if (al_err_parse(*body, *len, &told) != AL_OK)
        return al_err_set(err, AL_EIO, "engine_failed", "engine", "its error cannot be read");
    if (told.code == AL_ETIMEOUT)
        e->state =
            TIMED_OUT; /* it may be ending itself, as a statement that nothing stops makes it */
    if (err)
        *err = told;
    return told.code ? told.code : AL_EIO;
}

/* ---- facts and the end ---- */

bool al_engine_alive(const al_engine *e)
{
    return !e->exited && !e->ended && e->state == RUNNING;
}

bool al_engine_busy(const al_engine *e)
{
    return e->busy;
}

int al_engine_pid(const al_engine *e)
{
    return e->pid;
}

void al_engine_close(al_engine *e, void (*closed)(void *data), void *data)
{
    e->closed = closed;
    e->closed_data = data;
    e->closing = true;
    uv_poll_stop(&e->poll);
    uv_timer_stop(&e->timer);
    uv_ref((uv_handle_t *)&e->process);
    if (e->exited) {
        close_handles(e);
        return;
    }
    if (e->state == RUNNING && e->busy)
        e->state = CANCELLING;
    kill_engine(e);
}
