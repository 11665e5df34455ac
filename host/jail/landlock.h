/* Landlock: a process gives up the file system but for the places it names, and with newer kernels
 * TCP, abstract unix sockets and signals to processes outside. There is no way back. */
#ifndef AL_JAIL_LANDLOCK_H
#define AL_JAIL_LANDLOCK_H
#include "base/err.h"
#include <stddef.h>

enum {
    AL_ACCESS_READ = 1,    /* read files, list folders */
    AL_ACCESS_EXECUTE = 2, /* run files; also needed to map shared libraries when they are run */
    AL_ACCESS_WRITE = 4,   /* write and truncate files that exist, and nameless ones (O_TMPFILE) */
    AL_ACCESS_CHANGE = 8   /* make, rename, link and remove what is inside; never devices */
};

typedef struct al_landlock_rule {
    int fd;           /* an open file or folder, O_PATH is enough; or -1: */
    const char *path; /* opened for the rule; borrowed for the call */
    unsigned access;  /* AL_ACCESS_*; what the system cannot tell apart is allowed with its kin */
} al_landlock_rule;

/* The version of Landlock this kernel offers, 0 when there is none (or the build has none). From 3
 * on truncating is covered, 4 TCP, 5 ioctl on devices, 6 abstract sockets and signals. */
int al_landlock_abi(void);

/* Forbids the calling thread, and all it starts, every access to files that no rule allows, and all
 * that the kernel's version covers beyond files: TCP, device ioctls, abstract sockets and signals
 * to processes outside. Call it before any other thread exists. Descriptors that are open already
 * keep working; stat, chmod, UDP, netlink and named unix sockets are not covered by Landlock. Sets
 * no_new_privs.
 *
 * AL_OK; AL_ENOTSUP when the system has no Landlock: nothing was restricted, and the caller says so
 * or goes without; AL_ENOTFOUND or AL_EIO when a rule's place cannot be opened or the kernel
 * refuses: nothing was restricted either, and the caller should not go on. */
int al_landlock_restrict(const al_landlock_rule *rules, size_t n, al_err *err);

#endif
