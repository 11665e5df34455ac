/* What a started program finds, by asking a shell. */
#include "child.h"
#include "jail/session.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

static int run_shell(al_session *s, const char *script)
{
    char *const argv[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };
    al_err err = { 0 };
    al_started started;
    int status;

    s->argv = argv;
    if (al_session_start(s, &started, &err) != AL_OK) {
        fprintf(stderr, "%s: %s\n", err.object, err.detail);
        return -1;
    }
    CHECK(waitpid(started.pid, &status, 0) == started.pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int leads_its_session(void *arg)
{
    char *const argv[] = { (char *)"sleep", (char *)"10", NULL };
    al_session s = { .argv = argv };
    al_started started;

    (void)arg;
    CHECK(al_session_start(&s, &started, NULL) == AL_OK);
    CHECK(getsid(started.pid) == started.pid && getpgid(started.pid) == started.pid);
    CHECK(kill(started.pid, SIGKILL) == 0 && waitpid(started.pid, NULL, 0) == started.pid);
    return 0;
}

static int inherits_only_three_descriptors(void *arg)
{
    al_session s = { 0 };

    (void)arg;
    CHECK(fcntl(0, F_DUPFD, 50) >= 50 && dup(0) >= 3);
    CHECK(run_shell(&s, "for n in 3 4 5 50 51; do [ ! -e /dev/fd/$n ] || exit $n; done") == 0);
    return 0;
}

static int takes_default_signals(void *arg)
{
    al_session s = { 0 };
    sigset_t all;

    (void)arg;
    signal(SIGPIPE, SIG_IGN);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    CHECK(run_shell(&s, "kill -PIPE $$; exit 3") == 128 + SIGPIPE);
    return 0;
}

static int has_the_limits(void *arg)
{
    al_session s = { .limits = { .open_files = 40, .file_bytes = 512 } };

    (void)arg;
    CHECK(run_shell(&s, "[ $(ulimit -n) = 40 ]") == 0);
    CHECK(run_shell(&s, "[ $(ulimit -f) = 1 ]") == 0);
    return 0;
}

static int names_what_is_missing(void *arg)
{
    char *const argv[] = { (char *)"no-such-program", NULL };
    al_session s = { .argv = argv };
    al_err err = { 0 };
    al_started started;

    (void)arg;
    CHECK(al_session_start(&s, &started, &err) == AL_ENOTFOUND);
    CHECK(strcmp(err.object, "no-such-program") == 0 && strcmp(err.id, "not_found") == 0);
    CHECK(waitpid(-1, NULL, 0) == -1 && errno == ECHILD);
    return 0;
}

static int dies_with_its_parent(void *arg)
{
    char *const argv[] = { (char *)"sleep", (char *)"10", NULL };
    al_session s = { .argv = argv };
    int report[2];
    pid_t parent, pid = 0;
    al_started started;

    (void)arg;
    CHECK(pipe(report) == 0);
    parent = fork();
    if (parent == 0) {
        CHECK(al_session_start(&s, &started, NULL) == AL_OK);
        CHECK(write(report[1], &started.pid, sizeof pid) == (ssize_t)sizeof pid);
        pause();
    }
    CHECK(read(report[0], &pid, sizeof pid) == (ssize_t)sizeof pid);
    CHECK(kill(parent, SIGKILL) == 0 && waitpid(parent, NULL, 0) == parent);
    for (int i = 0; i < 2000 && kill(pid, 0) == 0; i++)
        usleep(1000);
    CHECK(kill(pid, 0) == -1 && errno == ESRCH);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHILD_TEST(leads_its_session),
        CHILD_TEST(inherits_only_three_descriptors),
        CHILD_TEST(takes_default_signals),
        CHILD_TEST(has_the_limits),
        CHILD_TEST(names_what_is_missing),
#if defined(__linux__) && !defined(AL_PORTABLE)
        CHILD_TEST(dies_with_its_parent),
#endif
    };
    (void)dies_with_its_parent;
    return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
