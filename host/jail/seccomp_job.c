/* The filter of a job in the sandbox, as a list of what a Python with any library may need: what is
 * not there does not exist (ENOSYS), so that libraries fall back; what a script may ask for
 * knowingly is refused (EPERM). Files are Landlock's business, other processes its and the
 * namespaces'. */
#include "jail/seccomp.h"

#if defined(__linux__) && !defined(AL_PORTABLE)
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

static const int allowed[] = {
    /* bytes of descriptors */
    SCMP_SYS(read),
    SCMP_SYS(write),
    SCMP_SYS(readv),
    SCMP_SYS(writev),
    SCMP_SYS(pread64),
    SCMP_SYS(pwrite64),
    SCMP_SYS(preadv),
    SCMP_SYS(pwritev),
    SCMP_SYS(preadv2),
    SCMP_SYS(pwritev2),
    SCMP_SYS(lseek),
    SCMP_SYS(close),
    SCMP_SYS(close_range),
    SCMP_SYS(dup),
    SCMP_SYS(dup2),
    SCMP_SYS(dup3),
    SCMP_SYS(fcntl),
    SCMP_SYS(flock),
    SCMP_SYS(fsync),
    SCMP_SYS(fdatasync),
    SCMP_SYS(sync_file_range),
    SCMP_SYS(fadvise64),
    SCMP_SYS(readahead),
    SCMP_SYS(ftruncate),
    SCMP_SYS(truncate),
    SCMP_SYS(fallocate),
    SCMP_SYS(sendfile),
    SCMP_SYS(copy_file_range),
    SCMP_SYS(pipe),
    SCMP_SYS(pipe2),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(select),
    SCMP_SYS(pselect6),
    SCMP_SYS(epoll_create),
    SCMP_SYS(epoll_create1),
    SCMP_SYS(epoll_ctl),
    SCMP_SYS(epoll_wait),
    SCMP_SYS(epoll_pwait),
    SCMP_SYS(epoll_pwait2),
    SCMP_SYS(eventfd),
    SCMP_SYS(eventfd2),
    SCMP_SYS(signalfd),
    SCMP_SYS(signalfd4),
    SCMP_SYS(timerfd_create),
    SCMP_SYS(timerfd_settime),
    SCMP_SYS(timerfd_gettime),
    /* pairs of sockets, connected for good */
    SCMP_SYS(getsockname),
    SCMP_SYS(getpeername),
    SCMP_SYS(getsockopt),
    SCMP_SYS(shutdown),
    SCMP_SYS(sendmsg),
    SCMP_SYS(recvmsg),
    SCMP_SYS(recvfrom),
    SCMP_SYS(recvmmsg),
    /* files */
    SCMP_SYS(open),
    SCMP_SYS(openat),
    SCMP_SYS(openat2),
    SCMP_SYS(creat),
    SCMP_SYS(access),
    SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2),
    SCMP_SYS(stat),
    SCMP_SYS(lstat),
    SCMP_SYS(fstat),
    SCMP_SYS(newfstatat),
    SCMP_SYS(statx),
    SCMP_SYS(statfs),
    SCMP_SYS(fstatfs),
    SCMP_SYS(getdents),
    SCMP_SYS(getdents64),
    SCMP_SYS(getcwd),
    SCMP_SYS(chdir),
    SCMP_SYS(fchdir),
    SCMP_SYS(mkdir),
    SCMP_SYS(mkdirat),
    SCMP_SYS(rmdir),
    SCMP_SYS(unlink),
    SCMP_SYS(unlinkat),
    SCMP_SYS(rename),
    SCMP_SYS(renameat),
    SCMP_SYS(renameat2),
    SCMP_SYS(link),
    SCMP_SYS(linkat),
    SCMP_SYS(symlink),
    SCMP_SYS(symlinkat),
    SCMP_SYS(readlink),
    SCMP_SYS(readlinkat),
    SCMP_SYS(umask),
    SCMP_SYS(mknod),
    SCMP_SYS(mknodat),
    /* memory */
    SCMP_SYS(brk),
    SCMP_SYS(mmap),
    SCMP_SYS(munmap),
    SCMP_SYS(mprotect),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    SCMP_SYS(msync),
    SCMP_SYS(mincore),
    SCMP_SYS(mlock),
    SCMP_SYS(mlock2),
    SCMP_SYS(munlock),
    SCMP_SYS(membarrier),

    SCMP_SYS(pkey_alloc),
    SCMP_SYS(pkey_free),
    SCMP_SYS(pkey_mprotect),
    /* processes, threads, signals */
    SCMP_SYS(fork),
    SCMP_SYS(vfork),
    SCMP_SYS(execve),
    SCMP_SYS(execveat),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(wait4),
    SCMP_SYS(waitid),
    SCMP_SYS(getpid),
    SCMP_SYS(getppid),
    SCMP_SYS(gettid),
    SCMP_SYS(getpgrp),
    SCMP_SYS(getpgid),
    SCMP_SYS(getsid),
    SCMP_SYS(setpgid),
    SCMP_SYS(setsid),
    SCMP_SYS(getuid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getgid),
    SCMP_SYS(getegid),
    SCMP_SYS(getresuid),
    SCMP_SYS(getresgid),
    SCMP_SYS(getgroups),
    SCMP_SYS(capget),
    SCMP_SYS(prctl),
    SCMP_SYS(arch_prctl),
    SCMP_SYS(set_tid_address),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(get_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(futex),
    SCMP_SYS(futex_waitv),
    SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(sched_getparam),
    SCMP_SYS(sched_getscheduler),
    SCMP_SYS(sched_get_priority_max),
    SCMP_SYS(sched_get_priority_min),
    SCMP_SYS(sched_rr_get_interval),
    SCMP_SYS(getcpu),
    SCMP_SYS(getpriority),
    SCMP_SYS(getrlimit),
    SCMP_SYS(setrlimit),
    SCMP_SYS(getrusage),
    SCMP_SYS(times),
    SCMP_SYS(kill),
    SCMP_SYS(tkill),
    SCMP_SYS(tgkill),
    SCMP_SYS(rt_sigqueueinfo),
    SCMP_SYS(rt_tgsigqueueinfo),
    SCMP_SYS(pidfd_open),
    SCMP_SYS(pidfd_send_signal),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigpending),
    SCMP_SYS(rt_sigtimedwait),
    SCMP_SYS(rt_sigsuspend),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(pause),
    SCMP_SYS(alarm),
    SCMP_SYS(getitimer),
    SCMP_SYS(setitimer),
    SCMP_SYS(timer_create),
    SCMP_SYS(timer_settime),
    SCMP_SYS(timer_gettime),
    SCMP_SYS(timer_getoverrun),
    SCMP_SYS(timer_delete),
    SCMP_SYS(restart_syscall),
    /* time, chance, facts */
    SCMP_SYS(nanosleep),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_getres),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(getrandom),
    SCMP_SYS(sysinfo),
    SCMP_SYS(uname),
};

static const int refused[] = {
    SCMP_SYS(socket),
    SCMP_SYS(connect),
    SCMP_SYS(bind),
    SCMP_SYS(listen),
    SCMP_SYS(accept),
    SCMP_SYS(accept4),
    SCMP_SYS(setsockopt),
    SCMP_SYS(unshare),
    SCMP_SYS(setns),
    SCMP_SYS(mount),
    SCMP_SYS(umount2),
    SCMP_SYS(chroot),
    SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(chown),
    SCMP_SYS(fchown),
    SCMP_SYS(lchown),
    SCMP_SYS(fchownat),
    SCMP_SYS(setuid),
    SCMP_SYS(setgid),
    SCMP_SYS(setgroups),
    SCMP_SYS(setresuid),
    SCMP_SYS(setresgid),
    SCMP_SYS(sched_setaffinity),
};

/* Copying a file asks for them, and goes on where they are not supported. */
static const int attributes[] = {
    SCMP_SYS(getxattr),   SCMP_SYS(lgetxattr),   SCMP_SYS(fgetxattr),    SCMP_SYS(listxattr),
    SCMP_SYS(llistxattr), SCMP_SYS(flistxattr),  SCMP_SYS(setxattr),     SCMP_SYS(lsetxattr),
    SCMP_SYS(fsetxattr),  SCMP_SYS(removexattr), SCMP_SYS(lremovexattr), SCMP_SYS(fremovexattr),
};

/* No Landlock covers these. With a root of its own a job reaches only what it may change by them,
 * and the mounts see to the rest; without, they would reach every file of the user. */
static const int modes[] = {
    SCMP_SYS(chmod),  SCMP_SYS(fchmod),    SCMP_SYS(fchmodat),  SCMP_SYS(utime),
    SCMP_SYS(utimes), SCMP_SYS(futimesat), SCMP_SYS(utimensat),
};

#define INT   0xffffffffu
#define WHOLE 0xffffffffffffffffu
#define NAMESPACES                                                                           \
    (0x2000000u | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
     CLONE_NEWNET) /* the first is CLONE_NEWCGROUP */

/* Allowed when the first, and where there is one the second, argument & mask equals value. */
struct condition {
    int call;
    struct scmp_arg_cmp args[2];
};

#define ARG(n, mask, value)                      \
    {                                            \
        (n), SCMP_CMP_MASKED_EQ, (mask), (value) \
    }
#define NONE ARG(5, 0, 0)

static const struct condition conditions[] = {
    { SCMP_SYS(clone), { ARG(0, NAMESPACES, 0), NONE } },
    /* A pair of datagram sockets could be sent from to any other, by its address. */
    { SCMP_SYS(socketpair), { ARG(0, INT, AF_UNIX), ARG(1, 0xf, SOCK_STREAM) } },
    { SCMP_SYS(socketpair), { ARG(0, INT, AF_UNIX), ARG(1, 0xf, SOCK_SEQPACKET) } },
    { SCMP_SYS(sendto), { ARG(4, WHOLE, 0), NONE } },
    /* Its own limits and priority, nobody else's. */
    { SCMP_SYS(prlimit64), { ARG(0, INT, 0), NONE } },
    { SCMP_SYS(setpriority), { ARG(0, INT, PRIO_PROCESS), ARG(1, INT, 0) } },
    /* What a program asks of any descriptor; no terminal, no device, no flags of files. */
    { SCMP_SYS(ioctl), { ARG(1, INT, TCGETS), NONE } },
    { SCMP_SYS(ioctl), { ARG(1, INT, TIOCGWINSZ), NONE } },
    { SCMP_SYS(ioctl), { ARG(1, INT, FIONREAD), NONE } },
    { SCMP_SYS(ioctl), { ARG(1, INT, FIONBIO), NONE } },
    { SCMP_SYS(ioctl), { ARG(1, INT, FIOCLEX), NONE } },
    { SCMP_SYS(ioctl), { ARG(1, INT, FIONCLEX), NONE } },
};

static int add(scmp_filter_ctx ctx, uint32_t action, const int *calls, size_t n)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = seccomp_rule_add(ctx, action, calls[i], 0);
    return rc;
}

#define COUNT(list) (sizeof(list) / sizeof *(list))

int al_seccomp_job(bool own_root, al_err *err)
{
    scmp_filter_ctx ctx;
    int rc;

    if (!al_seccomp_available())
        return al_err_set(err, AL_ENOTSUP, "internal", "seccomp", "this system has none");
    ctx = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
    if (!ctx)
        return al_err_set(err, AL_ENOMEM, "internal", "seccomp", "no memory for the filter");
    rc = add(ctx, SCMP_ACT_ALLOW, allowed, COUNT(allowed));
    if (rc == 0)
        rc = add(ctx, SCMP_ACT_ERRNO(EPERM), refused, COUNT(refused));
    if (rc == 0)
        rc = add(ctx, SCMP_ACT_ERRNO(EOPNOTSUPP), attributes, COUNT(attributes));
    if (rc == 0) /* an error would break every copy of a file, so nothing is done, without one */
        rc = add(ctx, own_root ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(0), modes, COUNT(modes));
    for (size_t i = 0; rc == 0 && i < COUNT(conditions); i++)
        rc = seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, conditions[i].call,
                                    conditions[i].args[1].datum_a ? 2 : 1, conditions[i].args);
    if (rc == 0)
        rc = seccomp_load(ctx);
    seccomp_release(ctx);
    return rc == 0 ? AL_OK : al_err_errno(err, -rc, "seccomp");
}

#else /* no seccomp: the answer says so */

int al_seccomp_job(bool own_root, al_err *err)
{
    (void)own_root;
    return al_err_set(err, AL_ENOTSUP, "internal", "seccomp", "this system has none");
}
#endif
