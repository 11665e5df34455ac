/* Watching a program and all it starts until nothing of it is left. */
#ifndef AL_JAIL_SUPERVISOR_H
#define AL_JAIL_SUPERVISOR_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct al_watch {
    int channel;         /* any byte on it asks to stop; its end means that the host is gone */
    uint64_t timeout_ms; /* 0: none */
    uint64_t grace_ms;   /* between SIGTERM and SIGKILL on a stop or time-out; 0: SIGKILL at once */
    unsigned max_processes; /* 0: as many as it likes */
    int over; /* al_started.over of what is watched, closed at its end; 0: child is the program */
} al_watch;

typedef struct al_outcome {
    const char *reason; /* "exited", "signaled", "timeout", "stopped", "limit", "host_gone" */
    const char *limit;  /* with "limit": "processes", "cpuMs" or "fileBytes"; else NULL */
    int code;           /* exit code, -1 when a signal ended it */
    int signal;         /* 0 when it exited */
    unsigned ended;     /* processes still alive when the program was over */
    bool left;          /* one of them could not be ended within a second */
    unsigned processes; /* most seen at once; 0 when nobody counted */
    uint64_t wall_ms, user_ms, system_ms, max_rss_bytes;
} al_outcome;

/* Before the program starts: signals of children are held until they are waited for, and SIGTERM,
 * SIGINT and SIGHUP to this process become a request to stop. */
void al_supervisor_prepare(void);

/* Waits for the end of the program, of the time or of the host's patience, then ends the whole
 * tree. */
void al_supervise(const al_watch *watch, pid_t child, al_outcome *out);

#endif
