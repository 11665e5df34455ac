/* The host's side of the jail: four descriptors, one child, and what is done when the jail does not
 * do its part (a script of the same user can stop or kill it).
 *
 * The channel speaks base/wire: the spec goes out, {"pid"} and one result or error come back, and
 * the channel's end is what ends the tree when this process is gone. */
#include "prim/proc.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/wire.h"
#include "prim/marked.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* such systems have SO_NOSIGPIPE, which libuv sets */
#endif

enum {
    READ_SIZE = 64 * 1024,
    REPLY_MAX = 64 * 1024,
    QUIET_MS = 100, /* a stream still open that long after the end, and silent, is given up */
    LOOK_MS = 40,   /* beyond time-out or stop the jail is looked at that often: */
    BACKSTOP_MS =
        1500,       /* if it is stopped it is continued once, then killed; after that long, too */
    SWEEP_MS = 1000 /* for ending what a killed jail has left */
};

struct port {
    al_proc *p;
    uv_pipe_t pipe;
    char *bytes;               /* READ_SIZE */
    size_t len;                /* waiting to be delivered */
    int stream;                /* 1 or 2 */
    bool open, reading, heard; /* heard: bytes came since the last look */
};

struct al_proc {
    uv_loop_t *loop;
    uv_process_t process;
    uv_pipe_t channel;
    uv_poll_t input;
    uv_timer_t soon;  /* delivers what is there, outside any call */
    uv_timer_t watch; /* backstop before the end, quiet streams after it */
    uv_work_t sweep;
    struct port ports[2];
    int handles; /* open on the loop, the sweep included */
    int last;    /* index of the port delivered last */
    bool released, stopping, jail_gone, channel_open, sweeping, ended;
    bool has_result, failed, continued;
    uint64_t kill_at; /* in the loop's time */
    long pid;
    uint64_t timeout_ms, grace_ms;
    char *mark;
    char name[256];
    al_buf replies;
    char reply_chunk[4096];
    al_proc_result result;
    al_err err;
    /* input */
    int input_fd; /* -1: none or closed */
    bool input_polled, close_input;
    al_buf pending;
    size_t written;
    al_err write_err;
    bool write_over; /* to be told */

    al_proc_read_cb read_cb;
    void *read_data;
    al_proc_write_cb write_cb;
    void *write_data;
    al_proc_end_cb end_cb;
    void *end_data;
    void (*closed)(void *data);
    void *closed_data;
};

static void deliver_soon(al_proc *p);
static void on_watch(uv_timer_t *timer);

/* ---- closing ---- */

static void free_proc(al_proc *p)
{
    void (*closed)(void *data) = p->closed;
    void *data = p->closed_data;

    al_buf_free(&p->replies);
    al_buf_free(&p->pending);
    free(p->ports[0].bytes);
    free(p->ports[1].bytes);
    free(p->mark);
    free(p);
    if (closed)
        closed(data);
}

static void drop_handle(al_proc *p)
{
    if (--p->handles == 0 && p->released)
        free_proc(p);
}

static void on_closed(uv_handle_t *handle)
{
    drop_handle(handle->data);
}

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, on_closed);
}

static void close_port(struct port *port)
{
    if (!port->open)
        return;
    port->open = false;
    port->reading = false;
    close_handle((uv_handle_t *)&port->pipe);
}

static void close_input(al_proc *p)
{
    if (p->input_fd < 0)
        return;
    if (p->input_polled)
        close_handle((uv_handle_t *)&p->input);
    close(p->input_fd);
    p->input_fd = -1;
}

static void close_channel(al_proc *p)
{
    if (!p->channel_open)
        return;
    p->channel_open = false;
    close_handle((uv_handle_t *)&p->channel);
}

/* The jail is left to itself where it still tries to end what cannot be ended. */
static void close_rest(al_proc *p)
{
    close_handle((uv_handle_t *)&p->watch);
    close_handle((uv_handle_t *)&p->process);
}

/* ---- the end ---- */

/* Both words are in: what the jail said (or that it says nothing more), and that it is gone. */
static void try_end(al_proc *p)
{
    bool told = p->has_result || p->failed;

    if (p->ended || p->sweeping || !told || !(p->jail_gone || p->result.left))
        return;
    p->ended = true;
    close_channel(p);
    if (p->released)
        close_rest(p);
    else
        uv_timer_start(&p->watch, on_watch, QUIET_MS, QUIET_MS);
    deliver_soon(p);
}

static void sweep_work(uv_work_t *req)
{
    al_proc *p = req->data;

    p->result.left = !al_marked_end(p->mark, SWEEP_MS);
}

static void sweep_done(uv_work_t *req, int status)
{
    al_proc *p = req->data;

    (void)status;
    p->sweeping = false;
    try_end(p);
    drop_handle(p);
}

/* The jail fell silent without a result. Its direct child died with it; the rest of the group, and
 * what carries the mark, is ended here. */
static void jail_lost(al_proc *p)
{
    memset(&p->result, 0, sizeof p->result);
    strcpy(p->result.reason, "lost");
    p->result.code = -1;
    p->has_result = true;
    if (p->pid > 1)
        kill((pid_t)-p->pid, SIGKILL);
    if (!p->mark)
        return;
    p->sweep.data = p;
    if (uv_queue_work(p->loop, &p->sweep, sweep_work, sweep_done) != 0)
        return;
    p->sweeping = true;
    p->handles++;
}

static void on_exit_of_jail(uv_process_t *process, int64_t status, int signal)
{
    al_proc *p = process->data;

    p->jail_gone = true;
    close_handle((uv_handle_t *)process);
    if (p->released && status == 0 && signal == 0)
        p->has_result = true; /* it heard that nobody waits, and did its part */
    if (!p->channel_open && !p->has_result && !p->failed)
        jail_lost(p);
    try_end(p);
}

/* Whether SIGSTOP holds a process; false where that cannot be seen. */
static bool is_stopped(int pid)
{
    char path[32], text[512];
    const char *state;
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    state = strrchr(text, ')');
    return state && strncmp(state, ") T", 3) == 0;
}

/* It should have ended by now. A script of the same user can stop it: then it neither ends nor
 * answers, and a script that does so again is not asked a third time. */
static void press_jail(al_proc *p)
{
    bool late = uv_now(p->loop) >= p->kill_at;
    bool stopped = !late && is_stopped(uv_process_get_pid(&p->process));

    if (late || (stopped && p->continued)) {
        uv_process_kill(&p->process, SIGKILL);
        uv_timer_stop(&p->watch);
    } else if (stopped) {
        uv_process_kill(&p->process, SIGCONT);
        p->continued = true;
    }
}

static void on_watch(uv_timer_t *timer)
{
    al_proc *p = timer->data;

    if (!p->ended) {
        if (p->jail_gone)
            uv_timer_stop(timer);
        else
            press_jail(p);
        return;
    }
    for (int i = 0; i < 2; i++) {
        struct port *port = &p->ports[i];
        if (port->open && port->reading && !port->heard)
            close_port(port);
        port->heard = false;
    }
    if (!p->ports[0].open && !p->ports[1].open)
        uv_timer_stop(timer);
    deliver_soon(p);
}

static void arm_backstop(al_proc *p, uint64_t ms)
{
    if (p->ended)
        return;
    uv_update_time(p->loop);
    p->kill_at = uv_now(p->loop) + ms + p->grace_ms + BACKSTOP_MS;
    uv_timer_start(&p->watch, on_watch, ms + p->grace_ms + LOOK_MS, LOOK_MS);
}

/* ---- what the jail says ---- */

static void read_word(const al_buf *reply, const char *key, char *out, size_t size)
{
    al_buf text;

    al_buf_init(&text, size - 1);
    out[0] = '\0';
    if (al_json_get_string(reply->data, reply->len, key, &text) && text.len)
        memcpy(out, text.data, text.len + 1);
    al_buf_free(&text);
}

static int64_t read_number(const al_buf *reply, const char *key)
{
    int64_t n = 0;

    return al_json_get_int(reply->data, reply->len, key, &n) ? n : 0;
}

static void take_result(al_proc *p, const al_buf *reply)
{
    al_proc_result *r = &p->result;

    read_word(reply, "reason", r->reason, sizeof r->reason);
    read_word(reply, "limit", r->limit, sizeof r->limit);
    r->code = (int)read_number(reply, "code");
    r->signal = (int)read_number(reply, "signal");
    r->ended = (unsigned)read_number(reply, "ended");
    r->processes = (unsigned)read_number(reply, "processes");
    r->wall_ms = (uint64_t)read_number(reply, "wallMs");
    r->user_ms = (uint64_t)read_number(reply, "userMs");
    r->system_ms = (uint64_t)read_number(reply, "systemMs");
    r->max_rss_bytes = (uint64_t)read_number(reply, "maxRssBytes");
    r->left = false;
    al_json_get_bool(reply->data, reply->len, "left", &r->left);
    p->has_result = true;
}

static void take_frame(al_proc *p, al_wire_type type, const char *body, size_t len)
{
    const al_buf reply = { .data = (char *)body, .len = len };

    if (type == AL_WIRE_PROGRESS) {
        p->pid = (long)read_number(&reply, "pid");
    } else if (type == AL_WIRE_RESULT && !p->failed) {
        take_result(p, &reply);
    } else if (type == AL_WIRE_ERROR && !p->has_result) {
        if (al_err_parse(body, len, &p->err) != AL_OK)
            al_err_set(&p->err, AL_EIO, "internal", p->name, "the jail gave no reason");
        p->failed = true;
    }
}

static void on_channel(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    al_proc *p = stream->data;
    al_wire_type type;
    const char *body;
    size_t len, used;
    int rc = AL_OK;

    if (n == 0)
        return;
    if (n > 0)
        rc = al_buf_add(&p->replies, buf->base, (size_t)n);
    while (rc == AL_OK &&
           (rc = al_wire_parse(p->replies.data, p->replies.len, &type, &body, &len, &used)) == 1) {
        take_frame(p, type, body, len);
        al_buf_drop(&p->replies, used);
        rc = AL_OK;
    }
    if (n < 0 || rc < 0) {
        close_channel(p);
        if (p->jail_gone && !p->has_result && !p->failed)
            jail_lost(p);
    }
    try_end(p);
}

static void give_reply_room(uv_handle_t *handle, size_t wanted, uv_buf_t *buf)
{
    al_proc *p = handle->data;

    (void)wanted;
    *buf = uv_buf_init(p->reply_chunk, sizeof p->reply_chunk);
}

/* ---- output ---- */

static struct port *port_of(void *pipe)
{
    return (struct port *)((char *)pipe - offsetof(struct port, pipe));
}

static void give_port_room(uv_handle_t *handle, size_t wanted, uv_buf_t *buf)
{
    (void)wanted;
    *buf = uv_buf_init(port_of(handle)->bytes, READ_SIZE);
}

static void on_output(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct port *port = port_of(stream);

    (void)buf;
    if (n == 0)
        return;
    if (n > 0) {
        port->len = (size_t)n;
        port->heard = true;
        port->reading = false;
        uv_read_stop(stream);
    } else {
        close_port(port);
    }
    deliver_soon(port->p);
}

static void read_on(struct port *port)
{
    if (!port->open || port->reading || port->len)
        return;
    port->reading = uv_read_start((uv_stream_t *)&port->pipe, give_port_room, on_output) == 0;
    if (!port->reading)
        close_port(port);
}

/* ---- delivering ---- */

static void deliver_output(al_proc *p)
{
    al_proc_read_cb cb = p->read_cb;
    struct port *port = &p->ports[1 - p->last]; /* turn about, so that neither starves */

    if (!port->len)
        port = &p->ports[p->last];
    if (port->len) {
        size_t len = port->len;
        p->read_cb = NULL;
        p->last = port->stream - 1;
        port->len = 0;
        cb(p->read_data, port->stream, port->bytes, len);
        if (!p->released)
            read_on(port);
    } else if (!p->ports[0].open && !p->ports[1].open) {
        p->read_cb = NULL;
        cb(p->read_data, 0, NULL, 0);
    }
}

static void deliver_write(al_proc *p)
{
    al_proc_write_cb cb = p->write_cb;

    p->write_over = false;
    p->write_cb = NULL;
    if (cb)
        cb(p->write_data, p->write_err.code ? &p->write_err : NULL);
}

static void deliver_end(al_proc *p)
{
    al_proc_end_cb cb = p->end_cb;

    p->end_cb = NULL;
    cb(p->end_data, p->failed ? &p->err : NULL, p->failed ? NULL : &p->result);
}

/* A callback may release p, which lives on until its handles are closed: this timer is one. */
static void on_soon(uv_timer_t *timer)
{
    al_proc *p = timer->data;

    if (!p->released && p->write_over)
        deliver_write(p);
    if (!p->released && p->read_cb)
        deliver_output(p);
    if (!p->released && p->end_cb && p->ended)
        deliver_end(p);
}

static void deliver_soon(al_proc *p)
{
    if (!p->released)
        uv_timer_start(&p->soon, on_soon, 0, 0);
}

void al_proc_read(al_proc *p, al_proc_read_cb cb, void *data)
{
    p->read_cb = cb;
    p->read_data = data;
    deliver_soon(p);
}

void al_proc_wait(al_proc *p, al_proc_end_cb cb, void *data)
{
    p->end_cb = cb;
    p->end_data = data;
    deliver_soon(p);
}

/* ---- input ---- */

/* write() without the SIGPIPE that a host which did not ask for it would die of. */
static ssize_t write_quietly(int fd, const char *bytes, size_t len)
{
    sigset_t pipe_signal, before, pending;
    ssize_t n;
    int saved, sig;

    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    n = write(fd, bytes, len);
    saved = errno;
    if (n < 0 && saved == EPIPE && !sigismember(&pending, SIGPIPE) && sigpending(&pending) == 0 &&
        sigismember(&pending, SIGPIPE))
        sigwait(&pipe_signal, &sig);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return n;
}

static void input_over(al_proc *p, int errnum)
{
    uv_poll_stop(&p->input);
    al_buf_clear(&p->pending);
    memset(&p->write_err, 0, sizeof p->write_err);
    if (errnum) {
        al_err_errno(&p->write_err, errnum, p->name);
        al_err_reason(&p->write_err, p->write_err.code, errnum == EPIPE ? "closed" : NULL);
    }
    p->write_over = true;
    if (errnum || p->close_input)
        close_input(p);
    deliver_soon(p);
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
    al_proc *p = poll->data;
    ssize_t n;

    (void)status, (void)events; /* a closed pipe is an error here; write() has the better word */
    n = write_quietly(p->input_fd, p->pending.data + p->written, p->pending.len - p->written);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n >= 0 && (p->written += (size_t)n) < p->pending.len)
        return;
    input_over(p, n < 0 ? errno : 0);
}

int al_proc_write(al_proc *p, const void *bytes, size_t len, al_proc_write_cb cb, void *data,
                  al_err *err)
{
    if (p->input_fd < 0 || p->close_input)
        return al_err_reason(
            err, al_err_set(err, AL_EINVAL, "io_error", p->name, "its input is closed"), "closed");
    if (p->pending.len || p->write_over)
        return al_err_set(err, AL_EBUSY, "io_error", p->name, "another write is under way");
    if (al_buf_add(&p->pending, bytes, len) != AL_OK)
        return al_err_set(err, AL_ENOMEM, "internal", p->name, "not enough memory");
    p->written = 0;
    p->write_cb = cb;
    p->write_data = data;
    if (len == 0)
        input_over(p, 0);
    else if (uv_poll_start(&p->input, UV_WRITABLE, on_writable) != 0)
        input_over(p, EIO);
    return AL_OK;
}

void al_proc_forget_write(al_proc *p)
{
    p->write_cb = NULL;
}

void al_proc_close_stdin(al_proc *p)
{
    p->close_input = true;
    if (!p->pending.len)
        close_input(p);
}

/* ---- stopping ---- */

void al_proc_stop(al_proc *p)
{
    uv_os_fd_t fd;
    al_buf frame;

    if (p->stopping || p->ended || p->jail_gone)
        return;
    p->stopping = true;
    al_buf_init(&frame, 0);
    uv_process_kill(&p->process, SIGCONT);
    if (p->channel_open && uv_fileno((uv_handle_t *)&p->channel, &fd) == 0 &&
        al_wire_frame(&frame, AL_WIRE_CANCEL, NULL, 0) == AL_OK)
        send(fd, frame.data, frame.len, MSG_NOSIGNAL);
    al_buf_free(&frame);
    arm_backstop(p, 0);
}

long al_proc_pid(const al_proc *p)
{
    return p->pid;
}

/* The process handle stays until the jail is reaped, the watch until then too: a jail that does not
 * end although its channel is closed is killed. */
void al_proc_release(al_proc *p, void (*closed)(void *data), void *data)
{
    if (!p)
        return;
    assert(!p->released);
    p->released = true;
    p->closed = closed;
    p->closed_data = data;
    p->read_cb = NULL;
    p->write_cb = NULL;
    p->end_cb = NULL;
    close_input(p);
    close_channel(p);
    close_port(&p->ports[0]);
    close_port(&p->ports[1]);
    close_handle((uv_handle_t *)&p->soon);
    if (p->ended) {
        close_rest(p);
        return;
    }
    uv_process_kill(&p->process, SIGCONT);
    arm_backstop(p, 0);
}

/* ---- starting ---- */

static void number(al_json_out *o, const char *key, uint64_t value)
{
    if (!value)
        return;
    al_json_key(o, key);
    al_json_int(o, (int64_t)value);
}

static void paths(al_json_out *o, const char *key, const char *const *list)
{
    if (!list)
        return;
    al_json_key(o, key);
    al_json_begin_array(o);
    for (; *list; list++)
        al_json_cstring(o, *list);
    al_json_end_array(o);
}

static void sandbox(al_json_out *o, const al_proc_sandbox *s)
{
    al_json_key(o, "sandbox");
    al_json_begin_object(o);
    paths(o, "read", s->read);
    paths(o, "write", s->write);
    paths(o, "memory", s->memory);
    al_json_key(o, "namespaces");
    al_json_bool(o, s->namespaces);
    al_json_end_object(o);
}

/* The spec waits in the socket before the jail is there to read it. */
static int send_spec(int fd, const al_proc_options *opt, al_err *err)
{
    al_buf body, frame;
    al_json_out o;
    int rc = AL_OK;

    al_buf_init(&body, 0);
    al_buf_init(&frame, 0);
    al_json_out_init(&o, &body);
    al_json_begin_object(&o);
    number(&o, "v", AL_WIRE_VERSION);
    number(&o, "timeoutMs", opt->timeout_ms);
    number(&o, "graceMs", opt->grace_ms);
    if (opt->confined) {
        al_json_key(&o, "limits");
        al_json_begin_object(&o);
        number(&o, "memoryBytes", opt->memory_bytes);
        number(&o, "openFiles", opt->open_files);
        number(&o, "fileBytes", opt->file_bytes);
        number(&o, "cpuMs", opt->cpu_ms);
        number(&o, "processes", opt->processes);
        al_json_end_object(&o);
    }
    if (opt->sandbox)
        sandbox(&o, opt->sandbox);
    al_json_end_object(&o);
    if (body.failed || al_wire_frame(&frame, AL_WIRE_REQUEST, body.data, body.len) != AL_OK)
        rc = al_err_set(err, AL_ENOMEM, "internal", opt->argv[0], "not enough memory");
    else if (send(fd, frame.data, frame.len, MSG_NOSIGNAL) != (ssize_t)frame.len)
        rc = al_err_errno(err, errno, "socket of the jail");
    al_buf_free(&body);
    al_buf_free(&frame);
    return rc;
}

enum { MINE, JAILS }; /* the two ends of each pair */

typedef struct ends {
    int in[2], out[2], err[2], channel[2];
} ends;

static void close_pair(int pair[2])
{
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0)
            close(pair[i]);
}

static int open_ends(ends *e, const al_proc_options *opt, al_err *err)
{
    int rc, reversed[2] = { -1, -1 };

    rc = uv_pipe(e->out, UV_NONBLOCK_PIPE, 0);
    if (rc == 0)
        rc = uv_pipe(e->err, UV_NONBLOCK_PIPE, 0);
    if (rc == 0 && opt->open_stdin) {
        rc = uv_pipe(reversed, 0, UV_NONBLOCK_PIPE);
        e->in[MINE] = reversed[1];
        e->in[JAILS] = reversed[0];
    }
    if (rc == 0)
        rc = uv_socketpair(SOCK_STREAM, 0, e->channel, UV_NONBLOCK_PIPE, 0);
    return rc == 0 ? AL_OK : al_err_errno(err, -rc, "pipe");
}

static uv_stdio_container_t inherit(int fd)
{
    uv_stdio_container_t c = { .flags = fd < 0 ? UV_IGNORE : UV_INHERIT_FD };

    if (fd >= 0)
        c.data.fd = fd;
    return c;
}

static int start_jail(al_proc *p, const al_proc_options *opt, const ends *e, al_err *err)
{
    uv_stdio_container_t stdio[] = { inherit(e->in[JAILS]), inherit(e->out[JAILS]),
                                     inherit(e->err[JAILS]), inherit(e->channel[JAILS]) };
    uv_process_options_t o = { .exit_cb = on_exit_of_jail,
                               .file = opt->jail,
                               .env = (char **)opt->env,
                               .cwd = opt->cwd,
                               .flags = UV_PROCESS_DETACHED,
                               .stdio_count = 4,
                               .stdio = stdio };
    size_t n = 0;
    int rc;

    while (opt->argv[n])
        n++;
    o.args = calloc(n + 2, sizeof *o.args);
    if (!o.args)
        return al_err_set(err, AL_ENOMEM, "internal", p->name, "not enough memory");
    o.args[0] = (char *)"jail";
    memcpy(o.args + 1, opt->argv, n * sizeof *o.args);
    rc = uv_spawn(p->loop, &p->process, &o);
    free(o.args);
    if (rc == 0)
        return AL_OK;
    return al_err_errno(err, -rc, opt->cwd && access(opt->cwd, X_OK) != 0 ? opt->cwd : opt->jail);
}

static int adopt_port(struct port *port, int *fd)
{
    int rc = uv_pipe_open(&port->pipe, *fd);

    if (rc < 0)
        return rc;
    *fd = -1; /* the handle's now */
    port->open = true;
    read_on(port);
    return 0;
}

/* The host's ends become handles of p. */
static int adopt(al_proc *p, ends *e, al_err *err)
{
    int rc = adopt_port(&p->ports[0], &e->out[MINE]);

    if (rc == 0)
        rc = adopt_port(&p->ports[1], &e->err[MINE]);
    if (rc == 0)
        rc = uv_pipe_open(&p->channel, e->channel[MINE]);
    if (rc == 0) {
        e->channel[MINE] = -1;
        rc = uv_read_start((uv_stream_t *)&p->channel, give_reply_room, on_channel);
    }
    if (rc == 0 && e->in[MINE] >= 0) {
        rc = uv_poll_init(p->loop, &p->input, e->in[MINE]);
        if (rc == 0) {
            p->input.data = p;
            p->input_polled = true;
            p->handles++;
            p->input_fd = e->in[MINE];
            e->in[MINE] = -1;
        }
    }
    return rc == 0 ? AL_OK : al_err_errno(err, -rc, "pipe");
}

static void init_handles(al_proc *p)
{
    uv_timer_init(p->loop, &p->soon);
    uv_timer_init(p->loop, &p->watch);
    uv_pipe_init(p->loop, &p->channel, 0);
    p->channel_open = true;
    p->soon.data = p->watch.data = p->channel.data = p->process.data = p;
    for (int i = 0; i < 2; i++) {
        uv_pipe_init(p->loop, &p->ports[i].pipe, 0);
        p->ports[i].pipe.data = p;
        p->ports[i].open = true;
    }
    p->handles = 6; /* with the process, which uv_spawn makes whether it fails or not */
}

static al_proc *new_proc(uv_loop_t *loop, const al_proc_options *opt)
{
    al_proc *p = calloc(1, sizeof *p);

    if (!p)
        return NULL;
    p->loop = loop;
    p->input_fd = -1;
    p->timeout_ms = opt->timeout_ms;
    p->grace_ms = opt->grace_ms;
    snprintf(p->name, sizeof p->name, "%s", opt->argv[0]);
    al_buf_init(&p->replies, REPLY_MAX);
    al_buf_init(&p->pending, 0);
    p->mark = opt->mark ? strdup(opt->mark) : NULL;
    for (int i = 0; i < 2; i++) {
        p->ports[i] = (struct port){ .p = p, .stream = i + 1, .bytes = malloc(READ_SIZE) };
        if (!p->ports[i].bytes || (opt->mark && !p->mark)) {
            free_proc(p);
            return NULL;
        }
    }
    return p;
}

int al_proc_spawn(al_proc **out, uv_loop_t *loop, const al_proc_options *opt, al_err *err)
{
    ends e = { { -1, -1 }, { -1, -1 }, { -1, -1 }, { -1, -1 } };
    al_proc *p = new_proc(loop, opt);
    int rc;

    if (!p)
        return al_err_set(err, AL_ENOMEM, "internal", opt->argv[0], "not enough memory");
    rc = open_ends(&e, opt, err);
    if (rc == AL_OK)
        rc = send_spec(e.channel[MINE], opt, err);
    if (rc == AL_OK) {
        init_handles(p);
        rc = start_jail(p, opt, &e, err);
        p->jail_gone = p->ended = rc != AL_OK;
        if (rc == AL_OK)
            rc = adopt(p, &e, err);
        if (rc == AL_OK && opt->timeout_ms)
            arm_backstop(p, opt->timeout_ms);
        if (rc != AL_OK)
            al_proc_release(p, NULL, NULL);
    } else {
        free_proc(p);
    }
    close_pair(e.in);
    close_pair(e.out);
    close_pair(e.err);
    close_pair(e.channel);
    if (rc == AL_OK)
        *out = p;
    return rc;
}
