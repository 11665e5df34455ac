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
#include <unistd.h>

enum {
    ENVIRONMENT_MAX = 4 << 20,
    CHUNK = 4096,
    AHEAD = 64,    /* numbers behind that of a process where its child is looked for */
    ALL_CLEAR = 2, /* passes in a row that find nothing */
};

/* An ended process that nobody has waited for has no environment any more. */
static bool has_mark(int pid, const char *mark)
{
    char path[64];
    bool found = false;
    al_buf env;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/environ", pid);
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

static bool end_marked(int pid, const char *mark)
{
    if (pid <= 1 || pid == getpid() || !has_mark(pid, mark))
        return false;
    kill(pid, SIGKILL);
    return true;
}

/* A chain in which each forks and goes would be ahead of any walk over all processes. But its
 * numbers follow one another, and looking at a few is faster than forking once; and a process with
 * a SIGKILL waiting forks no more. */
static void follow(int pid, const char *mark)
{
    for (int next = pid + 1; next <= pid + AHEAD; next++)
        if (end_marked(next, mark))
            pid = next;
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
        if (end_marked(pid, mark)) {
            follow(pid, mark);
            found++;
        }
    }
    closedir(dir);
    return found;
}

bool al_marked_end(const char *mark, unsigned ms)
{
    const uint64_t deadline = al_clock_monotonic() + (uint64_t)ms * 1000000;
    int clear = 0;

    while (clear < ALL_CLEAR) {
        int found = kill_all(mark);
        if (found < 0)
            return false;
        clear = found ? 0 : clear + 1;
        if (found && al_clock_monotonic() > deadline)
            return false;
    }
    return true;
}

#else

bool al_marked_end(const char *mark, unsigned ms)
{
    (void)mark, (void)ms;
    return false;
}
#endif
