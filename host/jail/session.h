/* Starting a program in a session of its own. */
#ifndef AL_JAIL_SESSION_H
#define AL_JAIL_SESSION_H
#include "base/err.h"
#include "jail/limits.h"
#include "jail/sandbox.h"
#include <stdbool.h>
#include <sys/types.h>

typedef struct al_session {
    char *const *argv; /* argv[0] without a slash is looked up in the PATH of the environment */
    al_limits limits;
    bool confined; /* no new privileges, so that everything below can be ended by its own user */
    const al_sandbox *sandbox; /* NULL: none */
} al_session;

typedef struct al_started {
    pid_t pid; /* leads its group and session; the program's, or with namespaces their process 1 */
    int over;  /* with namespaces: a pipe that gives an al_program_end; else 0 */
} al_started;

typedef struct al_program_end {
    int status; /* as of waitpid */
    int others; /* whether it left processes behind */
} al_program_end;

/* Forks; the child makes a new session and process group, takes default signal handling, the limits
 * and descriptors 0 to 2 only, asks to die with its parent, enters the sandbox and runs the program
 * with the caller's environment and folder. In namespaces the program has a parent there, which
 * waits for it and for what loses its own; all of it ends when that one is killed.
 *
 * Answers once the program runs, or AL_ENOTFOUND, AL_ENOTSUP, AL_EIO (object: argv[0], the limit or
 * the layer) when it could not: then no child is left. */
int al_session_start(const al_session *session, al_started *started, al_err *err);

#endif
