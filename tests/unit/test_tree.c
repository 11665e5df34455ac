/* Each case runs in a child that becomes the reaper of what it starts. */
#include "child.h"
#include "jail/tree.h"
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>

/* Shared with all processes of a case: they announce themselves here. */
static volatile int *alive;

static void announce_and_wait(void)
{
    __atomic_fetch_add(alive, 1, __ATOMIC_SEQ_CST);
    for (;;)
        pause();
}

static void wait_for(int n)
{
    while (__atomic_load_n(alive, __ATOMIC_SEQ_CST) < n)
        usleep(500);
}

static int counts_all_generations(void *arg)
{
    (void)arg;
    if (!al_tree_adopt())
        return al_tree_count() == -1 ? 0 : 1;
    CHECK(al_tree_empty());
    CHECK(al_tree_count() == 0);
    for (int i = 0; i < 3; i++)
        if (fork() == 0) {
            if (fork() == 0)
                announce_and_wait();
            announce_and_wait();
        }
    wait_for(6);
    CHECK(al_tree_count() == 6);
    CHECK(!al_tree_empty());
    CHECK(al_tree_end(1000, NULL, NULL));
    CHECK(al_tree_empty() && al_tree_count() == 0);
    return 0;
}

static int finds_who_left(void *arg)
{
    (void)arg;
    if (!al_tree_adopt())
        return 0;
    if (fork() == 0) { /* daemonises: two forks, a session of its own, parents gone */
        if (fork() == 0) {
            setsid();
            if (fork() == 0) {
                signal(SIGTERM, SIG_IGN);
                announce_and_wait();
            }
        }
        _exit(0);
    }
    wait_for(1);
    CHECK(al_tree_count() >= 1);
    CHECK(al_tree_end(1000, NULL, NULL));
    return 0;
}

static int ends_the_stopped(void *arg)
{
    (void)arg;
    if (!al_tree_adopt())
        return 0;
    for (int i = 0; i < 4; i++)
        if (fork() == 0) {
            setsid();
            __atomic_fetch_add(alive, 1, __ATOMIC_SEQ_CST);
            raise(SIGSTOP);
        }
    wait_for(4);
    CHECK(al_tree_end(1000, NULL, NULL));
    return 0;
}

/* Every process forks its successor and ends, each in a session of its own. */
static void chain(void)
{
    for (;;) {
        if (fork() != 0)
            _exit(0);
        setsid();
        __atomic_fetch_add(alive, 1, __ATOMIC_SEQ_CST);
    }
}

static int ends_chains(void *arg)
{
    (void)arg;
    if (!al_tree_adopt())
        return 0;
    for (int i = 0; i < 5; i++)
        if (fork() == 0)
            chain();
    wait_for(100);
    CHECK(al_tree_end(2000, NULL, NULL));
    return 0;
}

static int last_pid, last_status;

static void remember(void *data, int pid, int status)
{
    ++*(int *)data;
    last_pid = pid;
    last_status = status;
}

static int tells_of_each_end(void *arg)
{
    int told = 0;
    pid_t pid = fork();

    (void)arg;
    if (pid == 0)
        _exit(7);
    while (waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT) != 0)
        CHECK(errno == EINTR);
    CHECK(al_tree_end(1000, remember, &told));
    CHECK(told == 1 && last_pid == pid && WEXITSTATUS(last_status) == 7);
    return 0;
}

static int fresh(void **state)
{
    (void)state;
    *alive = 0;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHILD_TEST(counts_all_generations), CHILD_TEST(finds_who_left),
        CHILD_TEST(ends_the_stopped),       CHILD_TEST(ends_chains),
        CHILD_TEST(tells_of_each_end),
    };
    struct CMUnitTest all[sizeof tests / sizeof *tests];

    alive = mmap(NULL, sizeof *alive, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        all[i] = tests[i];
        all[i].setup_func = fresh;
    }
    return cmocka_run_group_tests_name("tree", all, NULL, NULL);
}
