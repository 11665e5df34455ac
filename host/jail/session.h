/* Starting a program in a session of its own. */
#ifndef AL_JAIL_SESSION_H
#define AL_JAIL_SESSION_H
#include "base/err.h"
#include "jail/limits.h"
#include <stdbool.h>
#include <sys/types.h>

typedef struct al_session {
    char *const *argv; /* argv[0] without a slash is looked up in the PATH of the environment */
    al_limits limits;
    bool confined; /* no new privileges, so that everything below can be ended by its own user */
} al_session;

/* Forks; the child makes a new session and process group, takes default signal handling, the limits
 * and descriptors 0 to 2 only, asks to die with its parent, and runs the program with the caller's
 * environment and folder. *pid is the child's, which leads its group and session.
 *
 * Answers once the program runs, or AL_ENOTFOUND, AL_EIO (object: argv[0] or the limit) when it
 * could not: then no child is left. */
int al_session_start(const al_session *session, pid_t *pid, al_err *err);

#endif
