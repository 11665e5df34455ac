/* Finding and ending descendants through /proc.
 *
 * The kernel's list of children (/proc/PID/task/TID/children) is missing from many kernels, so the
 * parents are read from /proc/PID/stat. That is slow with many processes, and what is no descendant
 * never becomes one; so their numbers are kept, and only forgotten now and then because numbers are
 * used again. Whether any descendant is left is not asked of /proc: as the reaper of orphans, this
 * process has children as long as there are any. */
#include "jail/tree.h"
#include "base/clock.h"
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__) && !defined(AL_PORTABLE)
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>

enum {
    PIDS = 1 << 22,    /* the kernel's own upper bound */
    MANY = 4096,       /* descendants remembered in one pass */
    FORGET_AFTER = 50, /* passes: one second of counting */
};

struct process {
    pid_t pid, parent, group;
};

static uint64_t foreign[PIDS / 64], ours[PIDS / 64];

static bool has(const uint64_t *set, pid_t pid)
{
    return pid > 0 && pid < PIDS && (set[pid / 64] >> (pid % 64) & 1);
}

static void put(uint64_t *set, pid_t pid)
{
    if (pid > 0 && pid < PIDS)
        set[pid / 64] |= (uint64_t)1 << (pid % 64);
}

static void take(uint64_t *set, pid_t pid)
{
    if (pid > 0 && pid < PIDS)
        set[pid / 64] &= ~((uint64_t)1 << (pid % 64));
}

bool al_tree_adopt(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}

/* "PID (name) S PARENT GROUP …", where the name may hold anything, parentheses too. */
static bool read_process(int proc, const char *number, struct process *p)
{
    char path[32], text[512], *rest;
    ssize_t n;
    int fd, parent, group;

    snprintf(path, sizeof path, "%.15s/stat", number);
    fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    rest = strrchr(text, ')');
    if (!rest || sscanf(rest + 1, " %*c %d %d", &parent, &group) != 2)
        return false;
    *p = (struct process){ atoi(number), parent, group };
    return true;
}

/* By group first: a signal to a group reaches a process that is just being forked too. A
 * descendant's group is always of the job's own sessions, never one of outside. */
static void end_process(const struct process *p)
{
    if (p->group > 1 && p->group != getpgrp())
        kill(-p->group, SIGKILL);
    kill(p->pid, SIGKILL);
}

/* A process is foreign when its parent is; one whose parent is neither that nor ours may have lost
 * it a moment ago, so it is looked at again. */
static bool is_foreign(const struct process *p)
{
    return p->parent == 0 || has(foreign, p->parent);
}

/* One walk over /proc; -1 when it cannot be read. With `end` each descendant is killed the moment
 * it is seen, since by the end of the walk a process that forks in a chain is gone. */
static int walk(bool end)
{
    static struct process found[MANY], open_question[MANY];
    static unsigned passes;
    int count = 0, questions = 0;
    const pid_t self = getpid();
    struct dirent *entry;
    DIR *dir = opendir("/proc");

    if (!dir)
        return -1;
    if (++passes % FORGET_AFTER == 0)
        memset(foreign, 0, sizeof foreign);
    put(ours, self);
    while ((entry = readdir(dir))) {
        struct process p;
        pid_t pid = atoi(entry->d_name);
        if (pid <= 0 || pid == self || has(foreign, pid) ||
            !read_process(dirfd(dir), entry->d_name, &p))
            continue;
        if (has(ours, p.parent) && count < MANY) {
            if (end)
                end_process(&p);
            put(ours, pid);
            found[count++] = p;
        } else if (is_foreign(&p)) {
            put(foreign, pid);
        } else if (questions < MANY) {
            open_question[questions++] = p;
        }
    }
    closedir(dir);
    /* Children whose number is lower than their parent's. */
    for (int i = 0; i < questions && count < MANY; i++) {
        struct process p = open_question[i];
        if (!has(ours, p.parent))
            continue;
        if (end)
            end_process(&p);
        put(ours, p.pid);
        found[count++] = p;
        open_question[i] = open_question[--questions];
        i = -1;
    }
    for (int i = 0; i < count; i++)
        take(ours, found[i].pid);
    return count;
}

#else /* no subreaper and no /proc: groups are all there is */

bool al_tree_adopt(void)
{
    return false;
}

static int walk(bool end)
{
    (void)end;
    return -1;
}
#endif

int al_tree_count(void)
{
    return walk(false);
}

bool al_tree_empty(void)
{
    siginfo_t info;

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
}

bool al_tree_end(unsigned ms, void (*on_end)(void *data, int pid, int status), void *data)
{
    const uint64_t deadline = al_clock_monotonic() + (uint64_t)ms * 1000000;
    struct timespec pause = { 0, 100000 };

    while (!al_tree_empty()) {
        int status;
        pid_t pid;
        if (al_clock_monotonic() > deadline)
            return false;
        walk(true);
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
            if (on_end)
                on_end(data, pid, status);
        if (pid < 0)
            continue;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 10000000)
            pause.tv_nsec += pause.tv_nsec / 2;
    }
    return true;
}
