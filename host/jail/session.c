/* From fork to exec. What fails in the child travels to the parent through a pipe that exec closes;
 * an al_err may, since both are one program: its static texts stand at the same place. */
#include "jail/session.h"
#include <errno.h>
#include <fcntl.h>
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

/* False when the parent is gone already. */
static bool die_with(pid_t parent)
{
#if defined(__linux__) && !defined(AL_PORTABLE)
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
#endif
    return getppid() == parent;
}

static int confine(const al_session *s, al_err *err)
{
#if defined(__linux__) && !defined(AL_PORTABLE)
    if (s->confined && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return al_err_errno(err, errno, "no_new_privs");
#endif
    return al_limits_set(&s->limits, err);
}

static void run(const al_session *s, pid_t parent, int report)
{
    al_err err = { 0 };

    if (report != 3)
        dup2(report, 3);
    report = 3;
    fcntl(report, F_SETFD, FD_CLOEXEC);
    al_limits_close_from(report + 1);
    setsid();
    default_signals();
    if (!die_with(parent))
        _exit(127);
    if (confine(s, &err) == AL_OK) {
        execvp(s->argv[0], s->argv);
        al_err_errno(&err, errno, s->argv[0]);
    }
    if (write(report, &err, sizeof err) != (ssize_t)sizeof err)
        _exit(126);
    _exit(127);
}

int al_session_start(const al_session *s, pid_t *pid, al_err *err)
{
    const pid_t parent = getpid();
    al_err failed;
    int report[2];
    ssize_t n;

    if (pipe(report) != 0)
        return al_err_errno(err, errno, "pipe");
    fcntl(report[0], F_SETFD, FD_CLOEXEC);
    fcntl(report[1], F_SETFD, FD_CLOEXEC);
    *pid = fork();
    if (*pid == 0)
        run(s, parent, report[1]);
    close(report[1]);
    if (*pid < 0) {
        close(report[0]);
        return al_err_errno(err, errno, "fork");
    }
    do
        n = read(report[0], &failed, sizeof failed);
    while (n < 0 && errno == EINTR);
    close(report[0]);
    if (n == 0)
        return AL_OK;
    waitpid(*pid, NULL, 0);
    if (n != (ssize_t)sizeof failed)
        return al_err_set(err, AL_EIO, "io_error", s->argv[0], "could not be started");
    if (err)
        *err = failed;
    return failed.code;
}
