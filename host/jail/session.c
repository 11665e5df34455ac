/* From fork to exec. What fails in the child travels to the parent through a pipe that exec closes;
 * an al_err may, since both are one program: its static texts stand at the same place. */
#include "jail/session.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__) && !defined(AL_PORTABLE)
#include <sys/prctl.h>
#endif

/* Handlers end with exec by themselves; what is ignored or blocked does not. */
static void default_signals(void)
{
    sigset_t none;

    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* False when the parent is gone already: then nobody reads the pipe any more. */
static bool die_with_parent(int report)
{
    struct pollfd p = { .fd = report };

#if defined(__linux__) && !defined(AL_PORTABLE)
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
#endif
    return poll(&p, 1, 0) == 0;
}

static int confine(const al_session *s, al_err *err)
{
    int rc;

#if defined(__linux__) && !defined(AL_PORTABLE)
    if (s->confined && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return al_err_errno(err, errno, "no_new_privs");
#endif
    rc = al_limits_set(&s->limits, err);
    return rc == AL_OK && s->sandbox ? al_sandbox_enter(s->sandbox, err) : rc;
}

static _Noreturn void fail(int report, const al_err *err)
{
    if (write(report, err, sizeof *err) != (ssize_t)sizeof *err)
        _exit(126);
    _exit(127);
}

/* Descriptors 3 and 4 are the report and, where there is one, the pipe for the status. */
static void keep_descriptors(int *report, int *over)
{
    int high = fcntl(*report, F_DUPFD_CLOEXEC, 16);

    if (*over >= 0)
        *over = fcntl(*over, F_DUPFD_CLOEXEC, 16);
    *report = dup2(high, 3);
    if (*over >= 0)
        *over = dup2(*over, 4);
    fcntl(3, F_SETFD, FD_CLOEXEC);
    if (*over >= 0)
        fcntl(4, F_SETFD, FD_CLOEXEC);
    al_limits_close_from(*over >= 0 ? 5 : 4);
}

static _Noreturn void run(const al_session *s, int report)
{
    al_err err = { 0 };

    setsid();
    default_signals();
    if (!die_with_parent(report))
        _exit(127);
    if (confine(s, &err) == AL_OK) {
        execvp(s->argv[0], s->argv);
        al_err_errno(&err, errno, s->argv[0]);
    }
    fail(report, &err);
}

/* Process 1 of the namespaces. It is killed when all is over; until then it says how the program
 * ended, and reaps. */
static _Noreturn void be_first(const al_session *s, int report, int over)
{
    al_program_end end = { 0 };
    pid_t program, pid;

    setsid();
    default_signals();
    if (!die_with_parent(report))
        _exit(127);
    program = fork();
    if (program == 0) {
        close(over);
        run(s, report);
    }
    al_limits_close_from(over + 1);
    for (int fd = 0; fd < over; fd++)
        close(fd);
    while ((pid = waitpid(-1, &end.status, 0)) > 0 || errno == EINTR) {
        if (pid != program)
            continue;
        end.others = waitid(P_ALL, 0, &(siginfo_t){ 0 }, WEXITED | WNOHANG | WNOWAIT) == 0;
        if (write(over, &end, sizeof end) != (ssize_t)sizeof end)
            _exit(127); /* nobody listens any more */
    }
    for (;;)
        pause();
}

static bool has_namespaces(const al_session *s)
{
    return s->sandbox && s->sandbox->namespaces;
}

static _Noreturn void be_child(const al_session *s, int rc, const al_err *failed, int report,
                               int over)
{
    keep_descriptors(&report, &over);
    if (rc != AL_OK)
        fail(report, failed);
    if (over >= 0)
        be_first(s, report, over);
    run(s, report);
}

static int open_pipe(int pair[2], al_err *err)
{
    if (pipe(pair) != 0)
        return al_err_errno(err, errno, "pipe");
    fcntl(pair[0], F_SETFD, FD_CLOEXEC);
    fcntl(pair[1], F_SETFD, FD_CLOEXEC);
    return AL_OK;
}

static void close_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* What the child says until its end of the pipe is closed by exec: nothing, or why not. */
static int hear(int report, const al_session *s, al_err *err)
{
    al_err failed;
    ssize_t n;

    do
        n = read(report, &failed, sizeof failed);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return AL_OK;
    if (n != (ssize_t)sizeof failed)
        return al_err_set(err, AL_EIO, "io_error", s->argv[0], "could not be started");
    if (err)
        *err = failed;
    return failed.code;
}

int al_session_start(const al_session *s, al_started *out, al_err *err)
{
    int report[2] = { -1, -1 }, over[2] = { -1, -1 }, rc = open_pipe(report, err);
    al_err failed = { 0 };

    *out = (al_started){ .pid = -1 };
    if (rc == AL_OK && has_namespaces(s))
        rc = open_pipe(over, err);
    if (rc == AL_OK && has_namespaces(s)) {
        rc = al_namespaces_fork(&out->pid, &failed);
    } else if (rc == AL_OK) {
        out->pid = fork();
        rc = out->pid < 0 ? al_err_errno(&failed, errno, "fork") : AL_OK;
    }
    if (report[1] >= 0 && out->pid == 0)
        be_child(s, rc, &failed, report[1], over[1]);
    if (failed.code && err)
        *err = failed;
    close_open(report[1]);
    close_open(over[1]);
    if (rc == AL_OK) {
        rc = hear(report[0], s, err);
        if (rc != AL_OK) {
            kill(out->pid, SIGKILL);
            while (waitpid(out->pid, NULL, 0) < 0 && errno == EINTR)
                continue;
        }
    }
    close_open(report[0]);
    if (rc != AL_OK)
        close_open(over[0]);
    else if (over[0] >= 0)
        out->over = over[0];
    return rc;
}
