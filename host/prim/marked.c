/* Looking through the environments in /proc: what proc.c does when the jail was killed. */
#include "prim/marked.h"

#if defined(__linux__) && !defined(AL_PORTABLE)
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ENVIRONMENT_MAX = 4 << 20, CHUNK = 4096 };

/* An ended process that nobody has waited for has no environment any more. */
static bool has_mark(const char *pid, const char *mark)
{
    char path[64];
    bool found = false;
    al_buf env;
    int fd;

    snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    al_buf_init(&env, ENVIRONMENT_MAX);
    for (ssize_t n = 1; n > 0 && al_buf_reserve(&env, CHUNK) == AL_OK;) {
        n = read(fd, env.data + env.len, CHUNK);
        env.len += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    if (al_buf_char(&env, '\0') == AL_OK) /* else: no memory, or longer than any */
        for (size_t at = 0; at < env.len && !found; at += strlen(env.data + at) + 1)
            found = strcmp(env.data + at, mark) == 0;
    al_buf_free(&env);
    return found;
}

static int kill_all(const char *mark)
{
    struct dirent *entry;
    int found = 0;
    DIR *dir = opendir("/proc");

    if (!dir)
        return -1;
    while ((entry = readdir(dir))) {
        int pid = atoi(entry->d_name);
        if (pid > 1 && pid != getpid() && has_mark(entry->d_name, mark)) {
            kill(pid, SIGKILL);
            found++;
        }
    }
    closedir(dir);
    return found;
}

bool al_marked_end(const char *mark, unsigned ms)
{
    const uint64_t deadline = al_clock_monotonic() + (uint64_t)ms * 1000000;
    const struct timespec pause = { 0, 2000000 };

    for (;;) {
        int found = kill_all(mark);
        if (found <= 0)
            return found == 0;
        if (al_clock_monotonic() > deadline)
            return false;
        nanosleep(&pause, NULL);
    }
}

#else

bool al_marked_end(const char *mark, unsigned ms)
{
    (void)mark, (void)ms;
    return false;
}
#endif
