/* The loop of a host inside another kind of main loop: run what is ready, say when to come again.
 */
#ifndef AL_CORE_DRIVE_H
#define AL_CORE_DRIVE_H
#include "core/task.h"

/* Runs what is ready without waiting. Answers the milliseconds after which to come again at the
 * latest: 0 at once, -1 when only the loop's descriptor says. Not from inside the loop. */
int al_drive(al_host *host);
/* The same answer, running nothing. */
int al_drive_timeout(al_host *host);

/* A descriptor that is readable whenever the loop has something to do, its timers included. Where
 * the system has no such thing (timer_fd is -1 then) it is the loop's own, and timers are only seen
 * when the loop is run. */
typedef struct al_drive_fd {
    int fd;       /* to poll */
    int timer_fd; /* -1: none */
} al_drive_fd;

int al_drive_fd_open(al_drive_fd *d, al_host *host);  /* 0 or a negative errno */
void al_drive_fd_arm(al_drive_fd *d, int timeout_ms); /* as al_drive answers */
void al_drive_fd_close(al_drive_fd *d);

#endif
