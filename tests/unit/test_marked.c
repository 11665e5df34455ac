/* Children with a mark in their environment, and one without. */
#include "child.h"
#include "prim/marked.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pid_t start_program(const char *program, const char *arg, const char *entry)
{
    pid_t pid = fork();

    if (pid == 0) {
        char *const argv[] = { (char *)program, (char *)arg, NULL };
        char *const env[] = { (char *)"PATH=/usr/bin:/bin", (char *)entry, NULL };
        setsid();
        execve(program, argv, env);
        _exit(127);
    }
    return pid;
}

static pid_t start(const char *entry)
{
    return start_program("/bin/sleep", "60", entry);
}

/* Each forks and goes, for ten seconds. */
static void be_a_chain(void)
{
    const time_t end = time(NULL) + 10;

    while (time(NULL) < end) {
        if (fork() != 0)
            _exit(0);
        setsid();
    }
}

static void ends_chains_of_forks(void **state)
{
    const time_t begin = time(NULL);

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(
            waitpid(start_program("/proc/self/exe", "chain", "MARK=chain"), NULL, 0) > 0, 1);
    assert_true(al_marked_end("MARK=chain", 5000));
    assert_true(time(NULL) < begin + 9); /* it is not that they were over */
    assert_true(al_marked_end("MARK=chain", 0));
}

/* execve has happened when its pipe closes; here it is enough to see the name change. */
static void until_running(pid_t pid)
{
    char path[32], name[32];

    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    for (;;) {
        FILE *f = fopen(path, "r");
        bool runs = f && fgets(name, sizeof name, f) && name[0] == 's' && name[1] == 'l';
        if (f)
            fclose(f);
        if (runs)
            return;
        usleep(500);
    }
}

static int ended_by_kill(pid_t pid)
{
    int status;

    return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static void ends_those_and_no_others(void **state)
{
    pid_t a = start("MARK=one"), b = start("MARK=one"), other = start("MARK=one2");

    (void)state;
    until_running(a);
    until_running(b);
    until_running(other);
    assert_true(al_marked_end("MARK=one", 2000));
    assert_true(ended_by_kill(a));
    assert_true(ended_by_kill(b));
    assert_int_equal(waitpid(other, NULL, WNOHANG), 0);
    kill(other, SIGKILL);
    assert_true(ended_by_kill(other));
}

static void nothing_to_end_is_fine(void **state)
{
    (void)state;
    assert_true(al_marked_end("MARK=never-used", 100));
}

static void says_that_it_cannot(void **state)
{
    (void)state;
    assert_false(al_marked_end("MARK=one", 100));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_those_and_no_others),
        cmocka_unit_test(nothing_to_end_is_fine),
        cmocka_unit_test(ends_chains_of_forks),
    };
    const struct CMUnitTest without[] = { cmocka_unit_test(says_that_it_cannot) };

    if (argc == 2 && strcmp(argv[1], "chain") == 0)
        return be_a_chain(), 0;
#if defined(__linux__) && !defined(AL_PORTABLE)
    (void)without;
    return cmocka_run_group_tests_name("marked", tests, NULL, NULL);
#else
    (void)tests;
    return cmocka_run_group_tests_name("marked (cannot be found here)", without, NULL, NULL);
#endif
}
