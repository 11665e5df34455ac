/* The loop of the jail. It sleeps in pselect until a child ends, the host speaks or a time is over;
 * only a limit on processes makes it look around every 20 ms. */
#include "jail/supervisor.h"
#include "base/clock.h"
#include "jail/session.h"
#include "jail/tree.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT_EVERY_MS = 20, PATIENCE_MS = 1000 };

static volatile sig_atomic_t asked_to_stop;
static sigset_t wait_mask; /* what pselect waits with: everything may come in */

static void wake(int sig)
{
    (void)sig;
}

static void on_stop(int sig)
{
    (void)sig;
    asked_to_stop = 1;
}

void al_supervisor_prepare(void)
{
    /* SIGCONT wakes too: after a SIGSTOP the system would wait once more for what was left of the
     * time when it came. */
    const int signals[] = { SIGCHLD, SIGCONT, SIGTERM, SIGINT, SIGHUP };
    const size_t n = sizeof signals / sizeof *signals;
    struct sigaction action;
    sigset_t held;

    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    sigemptyset(&held);
    for (size_t i = 0; i < n; i++) {
        action.sa_handler = signals[i] == SIGCHLD || signals[i] == SIGCONT ? wake : on_stop;
        sigaction(signals[i], &action, NULL);
        sigaddset(&held, signals[i]);
    }
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_BLOCK, &held, &wait_mask);
    for (size_t i = 0; i < n; i++)
        sigdelset(&wait_mask, signals[i]);
}

struct state {
    const al_watch *watch;
    pid_t child;
    bool over;  /* the program has ended; status holds how */
    bool alone; /* it is known to have left nothing */
    int status;
    al_outcome *out;
};

static uint64_t now_ms(void)
{
    return al_clock_monotonic() / 1000000;
}

static void on_end(void *data, int pid, int status)
{
    struct state *s = data;

    if (pid != s->child || s->over)
        return;
    s->over = true;
    s->status = status;
}

static void reap(struct state *s)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        on_end(s, pid, status);
}

/* The program's end by the word of its parent in the namespaces; that one's own end is seen by
 * reap. */
static void hear_the_end(struct state *s)
{
    al_program_end end;

    if (read(s->watch->over, &end, sizeof end) == (ssize_t)sizeof end) {
        s->over = true;
        s->status = end.status;
        s->alone = !end.others;
    }
}

/* Sleeps at most ms, or until a signal or a descriptor; then says what the host wants, or NULL. */
static const char *listen_for(struct state *s, uint64_t ms)
{
    const int channel = s->watch->channel, over = s->watch->over;
    const struct timespec limit = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 };
    char bytes[256];
    fd_set readable;
    ssize_t n;
    int rc;

    FD_ZERO(&readable);
    FD_SET(channel, &readable);
    if (over > 0)
        FD_SET(over, &readable);
    rc = pselect((over > channel ? over : channel) + 1, &readable, NULL, NULL, &limit, &wait_mask);
    if (asked_to_stop)
        return "stopped";
    if (rc > 0 && over > 0 && FD_ISSET(over, &readable))
        hear_the_end(s);
    if (rc <= 0 || !FD_ISSET(channel, &readable))
        return NULL;
    n = read(channel, bytes, sizeof bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return NULL;
    return n > 0 ? "stopped" : "host_gone";
}

/* Those of the job: the first process of its namespaces is none. */
static int job_processes(const struct state *s)
{
    return al_tree_count() - (s->watch->over > 0);
}

static void count(struct state *s)
{
    int n = job_processes(s);

    if (n > 0 && (unsigned)n > s->out->processes)
        s->out->processes = (unsigned)n;
}

/* Until the program is over or has to be. */
static void watch_it(struct state *s, uint64_t start)
{
    const al_watch *w = s->watch;
    const uint64_t deadline = w->timeout_ms ? start + w->timeout_ms : UINT64_MAX;
    uint64_t next_count = start + COUNT_EVERY_MS;

    for (reap(s); !s->over && !s->out->reason; reap(s)) {
        uint64_t now = now_ms(), wake = deadline;
        if (now >= deadline) {
            s->out->reason = "timeout";
            return;
        }
        if (w->max_processes && now >= next_count) {
            count(s);
            next_count = now + COUNT_EVERY_MS;
            if (s->out->processes > w->max_processes) {
                s->out->reason = "limit";
                s->out->limit = "processes";
                return;
            }
        }
        if (w->max_processes && next_count < wake)
            wake = next_count;
        s->out->reason = listen_for(s, wake == UINT64_MAX ? 3600000 : wake - now);
    }
}

/* A polite request first; the host's death ends the politeness. */
static void ask_to_end(struct state *s)
{
    const uint64_t deadline = now_ms() + s->watch->grace_ms;
    uint64_t now;

    kill(-s->child, SIGTERM);
    kill(-s->child, SIGCONT);
    asked_to_stop = 0;
    for (reap(s); !s->over && (now = now_ms()) < deadline; reap(s)) {
        const char *word = listen_for(s, deadline - now);
        if (word && strcmp(word, "host_gone") == 0) {
            s->out->reason = word;
            return;
        }
    }
}

static uint64_t milliseconds(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_usec / 1000;
}

static void tell(const struct state *s, uint64_t start)
{
    al_outcome *out = s->out;
    struct rusage used;

    out->code = s->over && WIFEXITED(s->status) ? WEXITSTATUS(s->status) : -1;
    out->signal = s->over && WIFSIGNALED(s->status) ? WTERMSIG(s->status) : 0;
    if (!out->reason && (out->signal == SIGXCPU || out->signal == SIGXFSZ)) {
        out->reason = "limit";
        out->limit = out->signal == SIGXCPU ? "cpuMs" : "fileBytes";
    }
    if (!out->reason)
        out->reason = out->signal ? "signaled" : "exited";
    out->wall_ms = now_ms() - start;
    if (getrusage(RUSAGE_CHILDREN, &used) == 0) {
        out->user_ms = milliseconds(used.ru_utime);
        out->system_ms = milliseconds(used.ru_stime);
#if defined(__APPLE__)
        out->max_rss_bytes = (uint64_t)used.ru_maxrss;
#else
        out->max_rss_bytes = (uint64_t)used.ru_maxrss * 1024;
#endif
    }
}

/* Ends what is there. Namespaces end with their first process, so nobody has to be looked for. */
static bool end_all(struct state *s)
{
    const uint64_t deadline = now_ms() + PATIENCE_MS;

    kill(-s->child, SIGKILL);
    while (s->watch->over > 0 && !al_tree_empty() && now_ms() < deadline) {
        const struct timespec pause = { 0, 200000 };
        pselect(0, NULL, NULL, NULL, &pause, &wait_mask); /* the end of a child wakes it */
        reap(s);
    }
    return al_tree_end(PATIENCE_MS, on_end, s);
}

void al_supervise(const al_watch *watch, pid_t child, al_outcome *out)
{
    struct state s = { .watch = watch, .child = child, .out = out };
    const uint64_t start = now_ms();

    memset(out, 0, sizeof *out);
    watch_it(&s, start);
    if (!s.over && watch->grace_ms && out->reason && strcmp(out->reason, "host_gone") != 0)
        ask_to_end(&s);
    if (s.over && !s.alone && !al_tree_empty()) {
        int alive = job_processes(&s);
        out->ended = alive > 0 ? (unsigned)alive : 0;
    }
    out->left = !end_all(&s);
    if (watch->over > 0)
        close(watch->over);
    tell(&s, start);
}
