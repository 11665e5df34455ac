/* The filter of the engine, as a list of what it may do: what a new kernel adds stays forbidden. */
#include "jail/seccomp.h"
#include "jail/sanitizer.h"

#if defined(__linux__) && !defined(AL_PORTABLE)
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static const int always[] = {
    /* bytes of descriptors held */
    SCMP_SYS(read),
    SCMP_SYS(write),
    SCMP_SYS(readv),
    SCMP_SYS(writev),
    SCMP_SYS(pread64),
    SCMP_SYS(pwrite64),
    SCMP_SYS(preadv),
    SCMP_SYS(pwritev),
    SCMP_SYS(lseek),
    SCMP_SYS(close),
    SCMP_SYS(fcntl),
    SCMP_SYS(fstat),
    SCMP_SYS(newfstatat), /* fstat, in newer C libraries */
    SCMP_SYS(ftruncate),
    SCMP_SYS(fallocate),
    SCMP_SYS(fadvise64),
    SCMP_SYS(fsync),
    SCMP_SYS(fdatasync),
    SCMP_SYS(sync_file_range),
    SCMP_SYS(sendmsg),
    SCMP_SYS(recvmsg),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    /* memory */
    SCMP_SYS(brk),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    /* threads and signals */
    SCMP_SYS(futex),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    /* time, chance, facts */
    SCMP_SYS(nanosleep),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_getres),
    SCMP_SYS(setitimer), /* an alarm for what cannot be interrupted */
    SCMP_SYS(gettimeofday),
    SCMP_SYS(getrandom),
    SCMP_SYS(getrusage),
    SCMP_SYS(sysinfo),
};

static const int sanitizer_extra[] = {
    SCMP_SYS(openat), SCMP_SYS(open),     SCMP_SYS(readlink), SCMP_SYS(readlinkat),
    SCMP_SYS(mmap),   SCMP_SYS(mprotect), SCMP_SYS(ioctl),    SCMP_SYS(prctl),
    SCMP_SYS(clone),  SCMP_SYS(wait4),    SCMP_SYS(ptrace),   SCMP_SYS(getppid),
};

/* Allowed when (argument & mask) == value. Arguments of type int are compared by their low half. */
struct condition {
    int call;
    unsigned arg;
    uint64_t mask, value;
};

#define WHOLE 0xffffffffffffffffu
#define INT   0xffffffffu

static const struct condition conditions[] = {
    { SCMP_SYS(mmap), 2, PROT_EXEC, 0 },
    { SCMP_SYS(mprotect), 2, PROT_EXEC, 0 },
    { SCMP_SYS(clone), 0, CLONE_THREAD, CLONE_THREAD },
    { SCMP_SYS(prctl), 0, INT, PR_SET_NAME },
    { SCMP_SYS(prlimit64), 2, WHOLE, 0 }, /* asks, does not set */
    { SCMP_SYS(sendto), 4, WHOLE, 0 },    /* an address would only serve a socket unconnected */
    { SCMP_SYS(recvfrom), 4, WHOLE, 0 },
};

static struct scmp_arg_cmp masked(unsigned arg, uint64_t mask, uint64_t value)
{
    const struct scmp_arg_cmp cmp = { arg, SCMP_CMP_MASKED_EQ, mask, value };

    return cmp;
}

static int add_conditions(scmp_filter_ctx ctx, int tmp_fd)
{
    const struct scmp_arg_cmp nameless[] = { masked(0, INT, (uint32_t)tmp_fd),
                                             masked(2, O_TMPFILE, O_TMPFILE) };
    const struct scmp_arg_cmp self = masked(0, INT, (uint32_t)getpid());
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof conditions / sizeof *conditions; i++) {
        const struct condition *c = &conditions[i];
        const struct scmp_arg_cmp cmp = masked(c->arg, c->mask, c->value);
        rc = seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, c->call, 1, &cmp);
    }
    if (rc == 0 && tmp_fd >= 0)
        rc = seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 2, nameless);
    if (rc == 0) /* abort and raise */
        rc = seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, &self);
    /* Its flags lie in memory, where a filter cannot look; the C library then uses clone. */
    if (rc == 0)
        rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    return rc;
}

int al_seccomp_engine(int tmp_fd, al_err *err)
{
    scmp_filter_ctx ctx;
    int rc = 0;

    if (!al_seccomp_available())
        return al_err_set(err, AL_ENOTSUP, "internal", "seccomp", "this system has none");
    ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (!ctx)
        return al_err_set(err, AL_ENOMEM, "internal", "seccomp", "no memory for the filter");
    for (size_t i = 0; rc == 0 && i < sizeof always / sizeof *always; i++)
        rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, always[i], 0);
    for (size_t i = 0; AL_SANITIZER && rc == 0 && i < sizeof sanitizer_extra / sizeof(int); i++)
        rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, sanitizer_extra[i], 0);
    if (rc == 0)
        rc = add_conditions(ctx, tmp_fd);
    if (rc == 0)
        rc = seccomp_load(ctx);
    seccomp_release(ctx);
    return rc == 0 ? AL_OK : al_err_errno(err, -rc, "seccomp");
}

#else /* no seccomp: the answer says so */

int al_seccomp_engine(int tmp_fd, al_err *err)
{
    (void)tmp_fd;
    return al_err_set(err, AL_ENOTSUP, "internal", "seccomp", "this system has none");
}
#endif
