/* The layers of the sandbox together, around this test instead of a program: what is refused, by
 * what error, and what goes on. What a script tries is in tests/e2e/probes.py. */
#include "child.h"
#include "jail/landlock.h"
#include "jail/sandbox.h"
#include "jail/seccomp.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#if defined(__linux__) && !defined(AL_PORTABLE)
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static char work[] = "/tmp/alisio-sandbox-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(work) && chdir(work) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[64];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", work);
    return system(command);
}

static void shut_in(bool namespaces)
{
    const char *const system_ones[] = { "/usr", "/bin", "/lib", "/lib64" };
    al_place places[6] = { { work, true, false }, { "/dev/null", true, false } };
    al_sandbox s = { places, 2, namespaces };
    al_err err = { 0 };

    for (size_t i = 0; i < 4; i++)
        if (access(system_ones[i], F_OK) == 0)
            places[s.n++] = (al_place){ system_ones[i], false, false };
    if (al_sandbox_enter(&s, &err) != AL_OK) {
        fprintf(stderr, "%s: %s\n", err.object, err.detail);
        _exit(97);
    }
}

/* Holds with and without namespaces. */
static int check_refusals(void)
{
    struct rlimit limit = { 10, 10 };
    int pair[2], fd = open("file", O_CREAT | O_RDWR, 0600);

    CHECK(fd >= 0);
    CHECK(open("/etc/passwd", O_RDONLY) == -1);
    CHECK(socket(AF_INET, SOCK_STREAM, 0) == -1 && errno == EPERM);
    CHECK(socket(AF_UNIX, SOCK_DGRAM, 0) == -1 && errno == EPERM);
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == -1);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    CHECK(send(pair[0], "x", 1, 0) == 1);
    CHECK(unshare(CLONE_NEWUSER) == -1 && errno == EPERM);
    CHECK(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0) == -1 && errno == ENOSYS);
    CHECK(ioctl(fd, TIOCSTI, "x") == -1 && errno == ENOSYS);
    CHECK(setpriority(PRIO_USER, 0, 0) == -1);
    CHECK(setpriority(PRIO_PROCESS, 0, 0) == 0);
    CHECK(syscall(SYS_prlimit64, getpid(), RLIMIT_CORE, &limit, NULL) == -1);
    CHECK(setrlimit(RLIMIT_CORE, &limit) == 0);
    CHECK(syscall(SYS_keyctl, 0, -3, 1) == -1);
    CHECK(prctl(PR_CAPBSET_READ, 21, 0, 0, 0) == 0 || geteuid() != 0);
    CHECK(syscall(600) == -1 && errno == ENOSYS); /* libraries then fall back */
    CHECK(WEXITSTATUS(system("exit 5")) == 5);
    return 0;
}

static int refuses_in_namespaces_of_its_own(void *arg)
{
    pid_t pid;
    int status, rc = al_namespaces_fork(&pid, NULL);

    (void)arg;
    CHECK(rc == AL_OK);
    if (pid == 0) {
        shut_in(true);
        CHECK(access("/etc", F_OK) == -1);
        CHECK(check_refusals() == 0);
        CHECK(chmod("file", 0640) == 0);
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int refuses_without_namespaces(void *arg)
{
    struct stat st;

    (void)arg;
    shut_in(false);
    CHECK(check_refusals() == 0);
    CHECK(kill(getppid(), 0) == -1 && errno == EPERM);
    CHECK(chmod("file", 0777) == 0 && stat("file", &st) == 0 && (st.st_mode & 0777) == 0600);
    return 0;
}

int main(void)
{
    const struct CMUnitTest both[] = {
        CHILD_TEST(refuses_without_namespaces),
        CHILD_TEST(refuses_in_namespaces_of_its_own),
    };
    const size_t n = al_sandbox_try_namespaces(NULL) == AL_OK ? 2 : 1;

    if (al_landlock_abi() < 6 || !al_seccomp_available()) {
        puts("1..1\nok 1 # SKIP sandbox: Landlock 6 or seccomp is not there");
        return 0;
    }
    return _cmocka_run_group_tests("sandbox", both, n, make_folder, remove_folder);
}

#else

static int says_when_there_is_none(void *arg)
{
    const al_sandbox s = { 0 };
    al_err err = { 0 };

    (void)arg;
    CHECK(al_sandbox_enter(&s, &err) == AL_ENOTSUP);
    CHECK(al_sandbox_try_namespaces(&err) == AL_ENOTSUP);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = { CHILD_TEST(says_when_there_is_none) };

    return cmocka_run_group_tests_name("sandbox (none here)", tests, NULL, NULL);
}
#endif
