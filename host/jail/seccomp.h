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

#endif
