/* What the first process of new namespaces is and sees. */
#include "child.h"
#include "jail/namespaces.h"
#include "jail/sandbox.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char base[] = "/tmp/alisio-namespaces-XXXXXX";

static int make_tree(void **state)
{
    (void)state;
    if (!mkdtemp(base) || chdir(base) != 0 || mkdir("in", 0700) != 0 || mkdir("out", 0700) != 0)
        return -1;
    return close(open("in/a", O_CREAT | O_WRONLY, 0600));
}

static int remove_tree(void **state)
{
    char command[64];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", base);
    return system(command);
}

/* Runs body in new namespaces; its result is that of the test. */
static int in_namespaces(int (*body)(void))
{
    al_err err = { 0 };
    pid_t pid;
    int status, rc = al_namespaces_fork(&pid, &err);

    if (pid == 0) {
        CHECK(rc == AL_OK);
        _exit(body());
    }
    CHECK(rc == AL_OK);
    CHECK(waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

static uid_t me;
static pid_t other;

static int who_it_is(void)
{
    CHECK(getpid() == 1 && getppid() == 0);
    CHECK(geteuid() == me && getuid() == me);
    CHECK(kill(other, 0) == -1 && errno == ESRCH);
    return 0;
}

static int is_the_same_user_alone(void *arg)
{
    (void)arg;
    me = geteuid();
    other = getpid();
    return in_namespaces(who_it_is);
}

static int see_the_places(void)
{
    char in[64], out[64];
    const al_place places[] = { { in, false, false },
                                { out, true, false },
                                { "/dev/null", true, false },
                                { "/dev/shm", false, true } };
    struct stat st;

    snprintf(in, sizeof in, "%s/in", base);
    snprintf(out, sizeof out, "%s/out", base);
    CHECK(chdir(out) == 0);
    CHECK(al_namespaces_root(places, sizeof places / sizeof *places, NULL) == AL_OK);
    CHECK(open("made", O_CREAT | O_WRONLY, 0600) >= 0); /* it is still the current folder */
    CHECK(chmod("made", 0640) == 0);
    CHECK(open("../in/a", O_RDONLY) >= 0);
    CHECK(open("../in/a", O_WRONLY) == -1 && errno == EROFS);
    CHECK(chmod("../in/a", 0644) == -1 && errno == EROFS);
    CHECK(stat("/etc", &st) == -1 && errno == ENOENT);
    CHECK(stat("/proc", &st) == -1 && errno == ENOENT);
    CHECK(mkdir("/made", 0700) == -1 && errno == EROFS);
    CHECK(open("/dev/null", O_RDWR) >= 0);
    CHECK(open("/dev/shm/x", O_CREAT | O_RDWR, 0600) >= 0);
    return 0;
}

static int has_a_root_of_places(void *arg)
{
    char path[64];

    (void)arg;
    CHECK(in_namespaces(see_the_places) == 0);
    snprintf(path, sizeof path, "%s/out/made", base);
    CHECK(access(path, F_OK) == 0 && access("/dev/shm/x", F_OK) == -1);
    return 0;
}

static int miss_a_place(void)
{
    const al_place places[] = { { "/no/such/place", false, false } };
    al_err err = { 0 };

    CHECK(al_namespaces_root(places, 1, &err) == AL_ENOTFOUND || err.code == AL_ENOTFOUND);
    CHECK(strcmp(err.object, "/no/such/place") == 0);
    return 0;
}

static int names_a_missing_place(void *arg)
{
    (void)arg;
    return in_namespaces(miss_a_place);
}

static int says_when_there_are_none(void *arg)
{
    al_err err = { 0 };

    (void)arg;
    CHECK(al_sandbox_try_namespaces(&err) != AL_OK && err.detail[0] != '\0');
    fprintf(stderr, "no namespaces here: %s: %s\n", err.object, err.detail);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHILD_TEST(is_the_same_user_alone),
        CHILD_TEST(has_a_root_of_places),
        CHILD_TEST(names_a_missing_place),
    };
    const struct CMUnitTest without[] = { CHILD_TEST(says_when_there_are_none) };

    if (al_sandbox_try_namespaces(NULL) != AL_OK)
        return cmocka_run_group_tests_name("namespaces (none here)", without, NULL, NULL);
    return cmocka_run_group_tests_name("namespaces", tests, make_tree, remove_tree);
}
