/* peak PROGRAM [ARG...]: runs it, its output to /dev/null, and prints the largest resident memory
 * (VmHWM, mapped pages included) of it and of every process it started: a line "KiB NAME" for each
 * and at last "KiB sum". Fails when PROGRAM does.
 *
 * Each process is looked at in the moment before it goes, where its memory is still there; its
 * tracer is stopped for nothing else but new processes, so it runs as fast as alone. */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 256 /* processes */

typedef struct process {
    pid_t pid;
    long kib;
    char name[64];
} process;

static process seen[MOST];
static int count;

static process *find(pid_t pid)
{
    for (int i = 0; i < count; i++)
        if (seen[i].pid == pid)
            return &seen[i];
    if (count == MOST)
        return NULL;
    seen[count] = (process){ .pid = pid };
    return &seen[count++];
}

/* A thread is counted with its process. */
static void look(pid_t tid)
{
    char path[64], line[256], name[64] = "";
    long kib = 0, pid = 0;
    process *p;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%ld/status", (long)tid);
    f = fopen(path, "r");
    if (!f)
        return;
    while (fgets(line, sizeof line, f)) {
        sscanf(line, "Name:\t%63s", name);
        sscanf(line, "Tgid:\t%ld", &pid);
        sscanf(line, "VmHWM:\t%ld", &kib);
    }
    fclose(f);
    p = find((pid_t)pid);
    if (p && kib >= p->kib) {
        p->kib = kib;
        snprintf(p->name, sizeof p->name, "%s", name);
    }
}

static int run(char **argv)
{
    if (!freopen("/dev/null", "w", stdout) || ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        return 126;
    raise(SIGSTOP);
    execv(argv[0], argv);
    return 127;
}

/* Lets a stopped thread go on; a signal that is not of the tracing is handed to it. */
static void go_on(pid_t tid, int status)
{
    int sig = WSTOPSIG(status);

    if (status >> 16 == PTRACE_EVENT_EXIT)
        look(tid);
    if (status >> 16 || sig == SIGTRAP || sig == SIGSTOP)
        sig = 0;
    ptrace(PTRACE_CONT, tid, NULL, (void *)(intptr_t)sig);
}

int main(int argc, char **argv)
{
    const long options = PTRACE_O_TRACEEXIT | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                         PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
    pid_t first = argc > 1 ? fork() : -1, pid;
    int status, result = 1;
    long sum = 0;

    if (first == 0)
        _exit(run(argv + 1));
    if (first < 0 || waitpid(first, &status, 0) != first || !WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, first, NULL, (void *)options) != 0)
        return 1;
    ptrace(PTRACE_CONT, first, NULL, NULL);
    while ((pid = waitpid(-1, &status, __WALL)) > 0) {
        if (WIFSTOPPED(status))
            go_on(pid, status);
        else if (pid == first)
            result = status != 0;
    }
    for (int i = 0; i < count; i++) {
        printf("%ld %s\n", seen[i].kib, seen[i].name);
        sum += seen[i].kib;
    }
    printf("%ld sum\n", sum);
    return result;
}
