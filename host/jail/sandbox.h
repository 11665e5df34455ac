/* Shutting a program in before it runs. */
#ifndef AL_JAIL_SANDBOX_H
#define AL_JAIL_SANDBOX_H
#include "base/err.h"
#include "jail/namespaces.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct al_sandbox {
    const al_place *places; /* all that can be reached: read and run, or read and changed */
    size_t n;
    bool namespaces; /* the calling process was forked by al_namespaces_fork: places are its root */
} al_sandbox;

/* From here on the calling process, and all it starts, reaches the places and nothing else: no
 * other file, no socket but pairs, no process outside, no capability, and none of the system calls
 * by which a process gets more (host/jail/seccomp.h). Every layer holds or it is an error, after
 * which the caller must not go on: AL_ENOTSUP names the layer that the system lacks (Landlock,
 * seccomp), else AL_ENOTFOUND, AL_EIO. */
int al_sandbox_enter(const al_sandbox *s, al_err *err);

/* Makes namespaces and a root of bind mounts in a child, since asking does not tell whether they
 * can be had. AL_OK, or why not. */
int al_sandbox_try_namespaces(al_err *err);

#endif
