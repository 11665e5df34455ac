/* A restricted child reaches exactly what its rules name; the parent is untouched. */
#include "child.h"
#include "jail/landlock.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

static char base[64];

static void path_of(char out[128], const char *rel)
{
    snprintf(out, 128, "%s/%s", base, rel);
}

static int try_open(const char *rel, int flags)
{
    char path[128];
    int fd;

    path_of(path, rel);
    fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

static int make_tree(void **state)
{
    char path[128];

    (void)state;
    strcpy(base, "/tmp/alisio-landlock-XXXXXX");
    if (!mkdtemp(base))
        return -1;
    for (const char *const *d = (const char *const[]){ "in", "out", NULL }; *d; d++) {
        path_of(path, *d);
        if (mkdir(path, 0700) != 0)
            return -1;
    }
    return try_open("in/a", O_WRONLY | O_CREAT) || try_open("out/a", O_WRONLY | O_CREAT) ||
           try_open("secret", O_WRONLY | O_CREAT);
}

static int remove_tree(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", base);
    return system(command);
}

static int only_what_is_named(void *arg)
{
    char in[128];
    al_landlock_rule rules[2] = { { -1, in, AL_ACCESS_READ }, { -1, NULL, AL_ACCESS_WRITE } };
    char out[128];

    (void)arg;
    path_of(in, "in");
    path_of(out, "out");
    rules[1].fd = open(out, O_PATH | O_CLOEXEC);
    rules[1].access |= AL_ACCESS_READ;
    CHECK(al_landlock_restrict(rules, 2, NULL) == AL_OK);
    CHECK(try_open("in/a", O_RDONLY) == 0);
    CHECK(try_open("in/a", O_WRONLY) == EACCES);
    CHECK(try_open("secret", O_RDONLY) == EACCES);
    CHECK(try_open("out/a", O_RDWR) == 0);
    CHECK(try_open("out", O_RDWR | O_TMPFILE) == 0);
    CHECK(try_open("out/new", O_WRONLY | O_CREAT) == EACCES);
    CHECK(unlinkat(rules[1].fd, "a", 0) == -1 && errno == EACCES);
    if (al_landlock_abi() >= 3)
        CHECK(truncate(in, 0) == -1);
    return 0;
}

static int changes_where_allowed(void *arg)
{
    char out[128];
    al_landlock_rule rule = { -1, out, AL_ACCESS_READ | AL_ACCESS_WRITE | AL_ACCESS_CHANGE };

    (void)arg;
    path_of(out, "out");
    CHECK(al_landlock_restrict(&rule, 1, NULL) == AL_OK);
    CHECK(try_open("out/new", O_WRONLY | O_CREAT | O_EXCL) == 0);
    path_of(out, "out/new");
    CHECK(unlink(out) == 0);
    path_of(out, "out/device");
    CHECK(mknod(out, S_IFCHR | 0600, 0) == -1);
    return 0;
}

static int a_missing_place_restricts_nothing(void *arg)
{
    const al_landlock_rule rule = { -1, "/no/such/place", AL_ACCESS_READ };
    al_err err = { 0 };

    (void)arg;
    CHECK(al_landlock_restrict(&rule, 1, &err) == AL_ENOTFOUND);
    CHECK(strcmp(err.object, "/no/such/place") == 0);
    CHECK(try_open("secret", O_RDONLY) == 0);
    return 0;
}

static int beyond_files(void *arg)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
    int s = socket(AF_INET, SOCK_STREAM, 0);

    (void)arg;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(al_landlock_restrict(NULL, 0, NULL) == AL_OK);
    if (al_landlock_abi() >= 4)
        CHECK(connect(s, (struct sockaddr *)&to, sizeof to) == -1 && errno == EACCES);
    if (al_landlock_abi() >= 6)
        CHECK(kill(getppid(), 0) == -1 && errno == EPERM);
    return 0;
}

static int says_when_there_is_none(void *arg)
{
    al_err err = { 0 };

    (void)arg;
    CHECK(al_landlock_restrict(NULL, 0, &err) == AL_ENOTSUP);
    CHECK(strcmp(err.object, "Landlock") == 0);
    CHECK(try_open("secret", O_RDONLY) == 0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHILD_TEST(only_what_is_named),
        CHILD_TEST(changes_where_allowed),
        CHILD_TEST(a_missing_place_restricts_nothing),
        CHILD_TEST(beyond_files),
    };
    const struct CMUnitTest without[] = { CHILD_TEST(says_when_there_is_none) };

    if (al_landlock_abi() == 0)
        return cmocka_run_group_tests_name("landlock (none here)", without, make_tree, remove_tree);
    return cmocka_run_group_tests_name("landlock", tests, make_tree, remove_tree);
}
