/* What the engine's filter lets through and what it refuses, each in a child of its own. */
#include "child.h"
#include "jail/sanitizer.h"
#include "jail/seccomp.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define DENIED(call) CHECK((call) == -1 && errno == EPERM)

static int filtered(void)
{
    int tmp = open("/tmp", O_PATH | O_CLOEXEC);

    CHECK(tmp >= 0);
    CHECK(al_seccomp_engine(tmp, NULL) == AL_OK);
    return tmp;
}

static int no_network(void *arg)
{
    int pair[2];

    (void)arg;
    filtered();
    DENIED(socket(AF_INET, SOCK_STREAM, 0));
    DENIED(socket(AF_UNIX, SOCK_STREAM, 0));
    DENIED(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    return 0;
}

static int no_new_process(void *arg)
{
    char *const argv[] = { (char *)"true", NULL };

    (void)arg;
    filtered();
    if (!AL_SANITIZER) /* its leak check starts a process and traces its parent */
        DENIED(fork());
    DENIED(vfork());
    DENIED(execv("/bin/true", argv));
    DENIED(kill(getpid(), 0));
    if (!AL_SANITIZER)
        DENIED(syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0));
    return 0;
}

static int no_names(void *arg)
{
    char path[32];
    int tmp = filtered(), fd;

    (void)arg;
    if (!AL_SANITIZER)
        DENIED(open("/etc/passwd", O_RDONLY));
    if (!AL_SANITIZER)
        DENIED(openat(tmp, "x", O_RDWR | O_CREAT, 0600));
    DENIED(unlink("/tmp/no-such-file"));
    DENIED(mkdir("/tmp/alisio-never", 0700));
    fd = openat(tmp, ".", O_TMPFILE | O_RDWR, 0600);
    CHECK(fd >= 0 && write(fd, "x", 1) == 1 && pread(fd, path, 1, 0) == 1 && path[0] == 'x');
    return 0;
}

static int no_executable_memory(void *arg)
{
    (void)arg;
    filtered();
    if (AL_SANITIZER)
        return 0;
    DENIED((long)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    CHECK(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
          MAP_FAILED);
    return 0;
}

static void *increments(void *n)
{
    ++*(int *)n;
    return NULL;
}

static int threads_and_memory_work(void *arg)
{
    pthread_t threads[4];
    int counts[4] = { 0 };

    (void)arg;
    filtered();
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, increments, &counts[i]) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0 && counts[i] == 1);
    for (size_t size = 1; size < (size_t)64 << 20; size *= 4) {
        char *p = malloc(size);
        CHECK(p != NULL);
        memset(p, 1, size);
        p = realloc(p, size * 2);
        CHECK(p != NULL);
        free(p);
    }
    return 0;
}

/* What a thread of the pool does: its own memory, given back; a file, written and synced. */
static void *works(void *file)
{
    int fd = *(int *)file;
    cpu_set_t set;

    for (size_t size = 100; size < (size_t)16 << 20; size *= 3) {
        char *p = calloc(1, size);

        CHECK(p != NULL);
        CHECK(pwrite(fd, p, size, 0) == (ssize_t)size);
        free(p);
    }
    CHECK(sync_file_range(fd, 0, 4096, SYNC_FILE_RANGE_WRITE) == 0);
    CHECK(fdatasync(fd) == 0);
    CHECK(sched_getaffinity(0, sizeof set, &set) == 0);
    return NULL;
}

static int a_pool_of_threads_works(void *arg)
{
    pthread_t threads[8];
    int tmp = filtered(), fd = openat(tmp, ".", O_TMPFILE | O_RDWR, 0600);

    (void)arg;
    CHECK(fd >= 0);
    for (int round = 0; round < 3; round++) { /* stacks are used again */
        for (int i = 0; i < 8; i++)
            CHECK(pthread_create(&threads[i], NULL, works, &fd) == 0);
        for (int i = 0; i < 8; i++)
            CHECK(pthread_join(threads[i], NULL) == 0);
    }
    /* A thread is under the same filter. */
    CHECK(open("/etc/passwd", O_RDONLY) == -1 || AL_SANITIZER);
    return 0;
}

static int held_sockets_work(void *arg)
{
    int pair[2];
    char c = 0;

    (void)arg;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    filtered();
    CHECK(send(pair[0], "y", 1, 0) == 1 && recv(pair[1], &c, 1, 0) == 1 && c == 'y');
    return 0;
}

static int aborts(void *arg)
{
    (void)arg;
    filtered();
    abort();
}

static void abort_still_ends_it(void **state)
{
    int status = child_status(aborts, NULL);

    (void)state;
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}

static int says_when_there_is_none(void *arg)
{
    al_err err = { 0 };

    (void)arg;
    CHECK(al_seccomp_engine(-1, &err) == AL_ENOTSUP);
    CHECK(strcmp(err.object, "seccomp") == 0);
    CHECK(open("/etc/passwd", O_RDONLY) >= 0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHILD_TEST(no_network),
        CHILD_TEST(no_new_process),
        CHILD_TEST(no_names),
        CHILD_TEST(no_executable_memory),
        CHILD_TEST(threads_and_memory_work),
        CHILD_TEST(a_pool_of_threads_works),
        CHILD_TEST(held_sockets_work),
        cmocka_unit_test(abort_still_ends_it),
    };
    const struct CMUnitTest without[] = { CHILD_TEST(says_when_there_is_none) };

    if (!al_seccomp_available())
        return cmocka_run_group_tests_name("seccomp (none here)", without, NULL, NULL);
    return cmocka_run_group_tests_name("seccomp", tests, NULL, NULL);
}
