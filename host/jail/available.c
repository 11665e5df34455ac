/* Whether this system can filter system calls, asked without the library that makes the filters. */
#include "jail/seccomp.h"
#if defined(__linux__) && !defined(AL_PORTABLE)
#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

bool al_seccomp_available(void)
{
    const uint32_t action = SECCOMP_RET_ERRNO;

    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

#else

bool al_seccomp_available(void)
{
    return false;
}
#endif
