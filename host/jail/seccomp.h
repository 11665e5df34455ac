/* System call filters (libseccomp). */
#ifndef AL_JAIL_SECCOMP_H
#define AL_JAIL_SECCOMP_H
#include "base/err.h"
#include <stdbool.h>

bool al_seccomp_available(void);

/* From here on the calling thread and the threads it starts may compute, use the descriptors they
 * hold or receive, and open nameless files (O_TMPFILE) in the folder tmp_fd; nothing else: no other
 * open, no socket, no exec, no new process, no executable memory. What is forbidden fails with
 * EPERM. tmp_fd -1: no files at all. Sanitizer builds may also open files and map as they like,
 * which their reports need.
 *
 * Call it before any other thread exists, and only once. Sets no_new_privs. AL_OK; AL_ENOTSUP where
 * the system or the build has no seccomp, and nothing was restricted; AL_EIO when the kernel
 * refused the filter. */
int al_seccomp_engine(int tmp_fd, al_err *err);

/* From here on the calling process, and all it starts, cannot open a socket of any family
 * (connected pairs stay), make namespaces, mount, trace, use keys, io_uring or shared memory of
 * System V, change limits or priority of others, push input into a terminal; 32-bit calls end the
 * process. own_root: it reaches only files whose modes and times it may change; without, changing
 * those does nothing.
 *
 * Call it before any other thread exists, with no_new_privs set. Errors as al_seccomp_engine. */
int al_seccomp_job(bool own_root, al_err *err);

#endif
