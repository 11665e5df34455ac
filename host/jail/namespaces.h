/* A process that sees a system of its own: users, mounts, processes, network, IPC and host name. */
#ifndef AL_JAIL_NAMESPACES_H
#define AL_JAIL_NAMESPACES_H
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct al_place { /* a file or folder by its absolute path, borrowed */
    const char *path;
    bool writable;
    bool memory; /* an empty folder in memory instead of what is there; namespaces only */
} al_place;

/* Forks into new namespaces of all six kinds. The child is process 1 there, keeps its user and
 * group and holds every capability over what is its own now; when it ends, all below it ends. *pid
 * is its number here, 0 in the child. AL_ENOTSUP where the system or its rules refuse: no child is
 * left. A child that could not be told its user ends with status 127, with the reason in err. */
int al_namespaces_fork(pid_t *pid, al_err *err);

/* In the child: replaces the root folder by one that holds exactly these places, without links, and
 * goes to the folder that was current. What is not writable cannot be changed in any way, modes and
 * times included. AL_ENOTFOUND, AL_EIO name the place. */
int al_namespaces_root(const al_place *places, size_t n, al_err *err);

#endif
