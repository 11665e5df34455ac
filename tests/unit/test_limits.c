/* Limits are inherited, so each case runs in a child of its own. */
#include "child.h"
#include "jail/limits.h"
#include "jail/sanitizer.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

static int sets_each(void *arg)
{
    const al_limits limits = { .memory_bytes = (uint64_t)1 << 40,
                               .open_files = 64,
                               .file_bytes = 4096,
                               .cpu_seconds = 7,
                               .no_core = true };
    struct rlimit r;

    (void)arg;
    CHECK(al_limits_set(&limits, NULL) == AL_OK);
    CHECK(getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur == 64 && r.rlim_max == 64);
    CHECK(getrlimit(RLIMIT_FSIZE, &r) == 0 && r.rlim_cur == 4096 && r.rlim_max == 4096);
    CHECK(getrlimit(RLIMIT_CPU, &r) == 0 && r.rlim_cur == 7 && r.rlim_max == 8);
    CHECK(getrlimit(RLIMIT_CORE, &r) == 0 && r.rlim_cur == 0 && r.rlim_max == 0);
    CHECK(getrlimit(RLIMIT_AS, &r) == 0);
    CHECK(AL_SANITIZER ? r.rlim_cur == RLIM_INFINITY : r.rlim_cur == (rlim_t)1 << 40);
    return 0;
}

static int never_raises(void *arg)
{
    const struct rlimit low = { 20, 30 };
    const al_limits limits = { .open_files = 1024 };
    struct rlimit r;

    (void)arg;
    CHECK(setrlimit(RLIMIT_NOFILE, &low) == 0);
    CHECK(al_limits_set(&limits, NULL) == AL_OK);
    CHECK(getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur == 20 && r.rlim_max == 30);
    return 0;
}

static int zero_changes_nothing(void *arg)
{
    const al_limits none = { 0 };
    struct rlimit before[5], after[5];
    const int which[5] = { RLIMIT_AS, RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_CPU, RLIMIT_CORE };

    (void)arg;
    for (int i = 0; i < 5; i++)
        CHECK(getrlimit(which[i], &before[i]) == 0);
    CHECK(al_limits_set(&none, NULL) == AL_OK);
    for (int i = 0; i < 5; i++)
        CHECK(getrlimit(which[i], &after[i]) == 0 && after[i].rlim_cur == before[i].rlim_cur &&
              after[i].rlim_max == before[i].rlim_max);
    return 0;
}

static int closes_from(void *arg)
{
    int a = dup(0), b = dup(0), far = fcntl(0, F_DUPFD, 200);

    (void)arg;
    CHECK(a >= 3 && b == a + 1 && far >= 200);
    al_limits_close_from(b);
    CHECK(fcntl(a, F_GETFD) == 0);
    CHECK(fcntl(b, F_GETFD) == -1 && errno == EBADF);
    CHECK(fcntl(far, F_GETFD) == -1 && errno == EBADF);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHILD_TEST(sets_each),
        CHILD_TEST(never_raises),
        CHILD_TEST(zero_changes_nothing),
        CHILD_TEST(closes_from),
    };
    return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
