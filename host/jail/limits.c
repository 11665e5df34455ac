/* Resource limits: what the engine sets on itself and the jail on a job. */
#include "jail/limits.h"
#include "jail/sanitizer.h"
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#if defined(__linux__) && !defined(AL_PORTABLE)
#include <sys/syscall.h>
#endif

static int lower(int resource, const char *name, rlim_t soft, rlim_t hard, al_err *err)
{
    struct rlimit now;

    if (getrlimit(resource, &now) != 0)
        return al_err_errno(err, errno, name);
    if (now.rlim_max == RLIM_INFINITY || now.rlim_max > hard)
        now.rlim_max = hard;
    if (now.rlim_cur == RLIM_INFINITY || now.rlim_cur > soft)
        now.rlim_cur = soft;
    if (setrlimit(resource, &now) != 0)
        return al_err_errno(err, errno, name);
    return AL_OK;
}

int al_limits_set(const al_limits *l, al_err *err)
{
    int rc = AL_OK;

#ifdef RLIMIT_AS
    if (rc == AL_OK && l->memory_bytes && !AL_SANITIZER)
        rc = lower(RLIMIT_AS, "RLIMIT_AS", l->memory_bytes, l->memory_bytes, err);
#endif
    if (rc == AL_OK && l->open_files)
        rc = lower(RLIMIT_NOFILE, "RLIMIT_NOFILE", l->open_files, l->open_files, err);
    if (rc == AL_OK && l->file_bytes)
        rc = lower(RLIMIT_FSIZE, "RLIMIT_FSIZE", l->file_bytes, l->file_bytes, err);
    if (rc == AL_OK && l->cpu_seconds)
        rc = lower(RLIMIT_CPU, "RLIMIT_CPU", l->cpu_seconds, l->cpu_seconds + 1, err);
    if (rc == AL_OK && l->no_core)
        rc = lower(RLIMIT_CORE, "RLIMIT_CORE", 0, 0, err);
    return rc;
}

void al_limits_close_from(int first)
{
    struct rlimit now;
    int end = 1024;

#if defined(__linux__) && !defined(AL_PORTABLE) && defined(SYS_close_range)
    if (syscall(SYS_close_range, (unsigned)first, ~0u, 0u) == 0)
        return;
#endif
    if (getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_cur != RLIM_INFINITY)
        end = now.rlim_cur > 1 << 20 ? 1 << 20 : (int)now.rlim_cur;
    for (int fd = first; fd < end; fd++)
        close(fd);
}
