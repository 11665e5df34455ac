/* Raw mode by termios, keys by libtermkey fed from our own reads. */
#include "prim/term.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <termkey.h>
#include <unistd.h>

#define ESCAPE_MS 50 /* an Escape that is followed by nothing for so long is the key */

#define TO_OTHER_SCREEN   "\033[?1049h\033[?25l\033[H"
#define FROM_OTHER_SCREEN "\033[0m\033[?25h\033[?1049l"

bool al_term_is_tty(int fd)
{
    return isatty(fd) == 1;
}

bool al_term_size(int fd, int *columns, int *rows)
{
    struct winsize w;

    if (ioctl(fd, TIOCGWINSZ, &w) < 0 || w.ws_col == 0 || w.ws_row == 0)
        return false;
    *columns = w.ws_col;
    *rows = w.ws_row;
    return true;
}

/* ---- raw mode ---- */

static const int fatal[] = { SIGHUP,  SIGTERM, SIGQUIT, SIGINT, SIGABRT,
                             SIGSEGV, SIGBUS,  SIGFPE,  SIGILL };
enum { FATAL = sizeof fatal / sizeof *fatal };

static struct {
    volatile sig_atomic_t on, other_screen;
    int fd, screen_fd;
    struct termios before;
    bool ours[FATAL]; /* signals whose handler we set */
    bool at_exit;
} raw;

/* Async-signal-safe. A terminal that takes no bytes now keeps its other screen: nothing may wait.
 */
static void first_screen(void)
{
    ssize_t ignored = 0;

    if (raw.other_screen)
        ignored = write(raw.screen_fd, FROM_OTHER_SCREEN, sizeof FROM_OTHER_SCREEN - 1);
    (void)ignored;
    raw.other_screen = 0;
}

static void restore_and_die(int sig)
{
    first_screen();
    if (raw.on)
        tcsetattr(raw.fd, TCSANOW, &raw.before);
    signal(sig, SIG_DFL);
    raise(sig);
}

void al_term_cooked(void)
{
    if (!raw.on)
        return;
    first_screen();
    tcsetattr(raw.fd, TCSADRAIN, &raw.before);
    raw.on = 0;
    for (int i = 0; i < FATAL; i++) {
        struct sigaction now;
        if (raw.ours[i] && sigaction(fatal[i], NULL, &now) == 0 &&
            now.sa_handler == restore_and_die)
            signal(fatal[i], SIG_DFL);
        raw.ours[i] = false;
    }
}

/* Signals somebody handles (libuv for one) end in al_term_cooked or exit without us. */
static void guard_signals(void)
{
    struct sigaction ours = { .sa_handler = restore_and_die }, now;

    sigemptyset(&ours.sa_mask);
    for (int i = 0; i < FATAL; i++)
        if (sigaction(fatal[i], NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
            now.sa_handler == SIG_DFL)
            raw.ours[i] = sigaction(fatal[i], &ours, NULL) == 0;
    if (!raw.at_exit)
        raw.at_exit = atexit(al_term_cooked) == 0;
}

int al_term_raw(int fd, bool signals, al_err *err)
{
    struct termios t;

    if (raw.on)
        return al_err_set(err, AL_EBUSY, "internal", "terminal", "is in raw mode already");
    if (tcgetattr(fd, &raw.before) < 0)
        return al_err_errno(err, errno, "terminal");
    raw.fd = fd;
    guard_signals();
    t = raw.before;
    t.c_iflag &= ~(tcflag_t)(BRKINT | ICRNL | INPCK | ISTRIP | IXON);
    t.c_lflag &= ~(tcflag_t)(ECHO | ICANON | IEXTEN | (signals ? 0 : ISIG));
    t.c_cc[VMIN] = 1;
    t.c_cc[VTIME] = 0;
    raw.on = 1;
    if (tcsetattr(fd, TCSADRAIN, &t) == 0)
        return AL_OK;
    int rc = al_err_errno(err, errno, "terminal");
    al_term_cooked();
    return rc;
}

int al_term_other_screen(int fd, al_err *err)
{
    if (!raw.on)
        return al_err_set(err, AL_EINVAL, "internal", "terminal", "is not in raw mode");
    raw.screen_fd = fd;
    raw.other_screen = 1;
    return al_term_write(fd, TO_OTHER_SCREEN, sizeof TO_OTHER_SCREEN - 1, err);
}

int al_term_write(int fd, const char *bytes, size_t len, al_err *err)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno == EAGAIN) {
            struct pollfd p = { fd, POLLOUT, 0 };
            poll(&p, 1, -1);
        } else if (n < 0 && errno != EINTR) {
            return al_err_errno(err, errno, fd == 1 ? "standard output" : "standard error");
        } else if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        }
    }
    return AL_OK;
}

/* ---- keys ---- */

struct al_keys {
    uv_poll_t poll;
    uv_timer_t timer;
    TermKey *parser;
    int fd, handles; /* handles libuv still holds */
    bool ended;
    enum { NEXT_TURN, ESCAPE, TIMEOUT, CANCELLED } timer_is;
    int64_t timeout_ms;
    al_keys_done done;
    void *data;
    void (*closed)(void *data);
    void *closed_data;
};

static void name_key(TermKey *parser, const TermKeyKey *in, al_key *out)
{
    *out = (al_key){ .ctrl = in->modifiers & TERMKEY_KEYMOD_CTRL,
                     .alt = in->modifiers & TERMKEY_KEYMOD_ALT,
                     .shift = in->modifiers & TERMKEY_KEYMOD_SHIFT };
    if (in->type == TERMKEY_TYPE_UNICODE) {
        memcpy(out->name, in->utf8, sizeof in->utf8);
    } else if (in->type == TERMKEY_TYPE_FUNCTION) {
        TermKeyKey plain = *in;
        plain.modifiers = 0;
        termkey_strfkey(parser, out->name, sizeof out->name, &plain, 0);
    } else if (in->type == TERMKEY_TYPE_KEYSYM) {
        strncpy(out->name, termkey_get_keyname(parser, in->code.sym), sizeof out->name - 1);
    }
}

static void finish(al_keys *k, int rc, const al_key *key)
{
    al_keys_done done = k->done;

    uv_poll_stop(&k->poll);
    uv_timer_stop(&k->timer);
    k->done = NULL;
    if (done)
        done(rc, key, k->data);
}

/* Hands out a key that is there; an incomplete one (a lone Escape) only when forced. */
static TermKeyResult take_key(al_keys *k, bool force)
{
    TermKeyKey in;
    al_key key;
    TermKeyResult r;

    do {
        r = force ? termkey_getkey_force(k->parser, &in) : termkey_getkey(k->parser, &in);
        if (r == TERMKEY_RES_KEY)
            name_key(k->parser, &in, &key);
    } while (r == TERMKEY_RES_KEY && !key.name[0]); /* a mouse or a report: nobody asked */
    if (r == TERMKEY_RES_KEY)
        finish(k, AL_OK, &key);
    return r;
}

static void on_timer(uv_timer_t *timer);

static void look(al_keys *k, bool force)
{
    TermKeyResult r = take_key(k, force || k->ended);

    if (r == TERMKEY_RES_KEY)
        return;
    if (k->ended) {
        finish(k, AL_ENOTFOUND, NULL);
    } else if (r == TERMKEY_RES_AGAIN) {
        k->timer_is = ESCAPE;
        uv_timer_start(&k->timer, on_timer, ESCAPE_MS, 0);
    } else if (k->timeout_ms >= 0) {
        k->timer_is = TIMEOUT;
        uv_timer_start(&k->timer, on_timer, (uint64_t)k->timeout_ms, 0);
    }
}

static void on_timer(uv_timer_t *timer)
{
    al_keys *k = timer->data;

    if (k->timer_is == TIMEOUT)
        finish(k, AL_ETIMEOUT, NULL);
    else if (k->timer_is == CANCELLED)
        finish(k, AL_ECANCELED, NULL);
    else
        look(k, k->timer_is == ESCAPE);
}

static void on_readable(uv_poll_t *poll_handle, int status, int events)
{
    al_keys *k = poll_handle->data;
    char bytes[128]; /* no more than the parser has room for */
    ssize_t n = 0;
    (void)events;

    if (status == 0) {
        size_t room = termkey_get_buffer_remaining(k->parser);
        n = read(k->fd, bytes, room < sizeof bytes ? room : sizeof bytes);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
    }
    if (n > 0)
        termkey_push_bytes(k->parser, bytes, (size_t)n);
    k->ended = n <= 0;
    if (k->timer_is != CANCELLED)
        look(k, false);
}

int al_keys_open(al_keys **out, uv_loop_t *loop, int fd, al_err *err)
{
    const char *term = getenv("TERM");
    al_keys *k = calloc(1, sizeof *k);
    int rc, flags;

    if (!k)
        return al_err_set(err, AL_ENOMEM, "internal", "terminal", "not enough memory");
    k->fd = fd;
    k->parser = termkey_new_abstract(term && *term ? term : "vt100", TERMKEY_FLAG_UTF8);
    if (!k->parser) {
        free(k);
        return al_err_set(err, AL_EIO, "io_error", "terminal", "TERM names no known terminal");
    }
    termkey_set_canonflags(k->parser, TERMKEY_CANON_DELBS);
    termkey_start(k->parser);
    /* libuv makes the descriptor non-blocking, and with it that of whoever shares the terminal: the
     * shell's. It is read only when poll says so, so it can stay as it was. */
    flags = fcntl(fd, F_GETFL);
    rc = uv_poll_init(loop, &k->poll, fd);
    if (flags >= 0)
        fcntl(fd, F_SETFL, flags);
    if (rc < 0) {
        termkey_destroy(k->parser);
        free(k);
        return al_err_set(err, AL_EIO, "io_error", "terminal", uv_strerror(rc));
    }
    uv_timer_init(loop, &k->timer);
    k->poll.data = k->timer.data = k;
    k->handles = 2;
    *out = k;
    return AL_OK;
}

int al_keys_wait(al_keys *k, int64_t timeout_ms, al_keys_done done, void *data, al_err *err)
{
    int rc;

    if (k->done)
        return al_err_set(err, AL_EBUSY, "internal", "terminal", "a key is being waited for");
    rc = uv_poll_start(&k->poll, UV_READABLE, on_readable);
    if (rc < 0)
        return al_err_set(err, AL_EIO, "io_error", "terminal", uv_strerror(rc));
    k->done = done;
    k->data = data;
    k->timeout_ms = timeout_ms;
    /* A key may be there that was read together with the one before. */
    k->timer_is = NEXT_TURN;
    uv_timer_start(&k->timer, on_timer, 0, 0);
    return AL_OK;
}

void al_keys_cancel(al_keys *k)
{
    if (!k->done)
        return;
    k->timer_is = CANCELLED;
    uv_timer_start(&k->timer, on_timer, 0, 0);
}

static void on_closed(uv_handle_t *handle)
{
    al_keys *k = handle->data;

    if (--k->handles > 0)
        return;
    if (k->done)
        k->done(AL_ECANCELED, NULL, k->data);
    if (k->closed)
        k->closed(k->closed_data);
    termkey_destroy(k->parser);
    free(k);
}

void al_keys_close(al_keys *k, void (*closed)(void *data), void *data)
{
    k->closed = closed;
    k->closed_data = data;
    uv_close((uv_handle_t *)&k->poll, on_closed);
    uv_close((uv_handle_t *)&k->timer, on_closed);
}
