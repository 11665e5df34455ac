/* New namespaces and a root of bind mounts, over the system calls of Linux 5.12, which every kernel
 * with Landlock has. Places are cloned while the old root is there, then put into a file system in
 * memory, which becomes the root; the old one is let go. */
#include "jail/namespaces.h"
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__linux__) && !defined(AL_PORTABLE)
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifndef SYS_open_tree
#define SYS_open_tree  428
#define SYS_move_mount 429
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

#define NEW_ALL \
    (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)

enum { TREE_CLONE = 1, MOVE_EMPTY_PATH = 4, EMPTY_PATH = 0x1000, RECURSIVE = 0x8000 };
enum { ATTR_RDONLY = 1, ATTR_NOSUID = 2, ATTR_NODEV = 4 };

struct clone_arguments {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
};
struct attributes {
    uint64_t set, clear, propagation, userns;
};

static const char stage[] = "/dev"; /* any folder that is surely there; covered, never changed */

static int put(const char *file, const char *text, al_err *err)
{
    int fd = open(file, O_WRONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));
    int saved = errno;

    if (fd >= 0)
        close(fd);
    return n < 0 ? al_err_errno(err, saved, file) : AL_OK;
}

/* One user and one group, mapped to themselves. */
static int keep_identity(uid_t uid, gid_t gid, al_err *err)
{
    char text[64];
    int rc;

    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* else these files would be root's */
    rc = put("/proc/self/setgroups", "deny", err);
    snprintf(text, sizeof text, "%lu %lu 1\n", (unsigned long)uid, (unsigned long)uid);
    if (rc == AL_OK)
        rc = put("/proc/self/uid_map", text, err);
    snprintf(text, sizeof text, "%lu %lu 1\n", (unsigned long)gid, (unsigned long)gid);
    if (rc == AL_OK)
        rc = put("/proc/self/gid_map", text, err);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    return rc;
}

int al_namespaces_fork(pid_t *pid, al_err *err)
{
    struct clone_arguments args = { .flags = NEW_ALL, .exit_signal = SIGCHLD };
    const uid_t uid = geteuid();
    const gid_t gid = getegid();

    *pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
    if (*pid < 0)
        return al_err_set(err, AL_ENOTSUP, "internal", "namespaces", strerror(errno));
    return *pid == 0 ? keep_identity(uid, gid, err) : AL_OK;
}

static int restrict_mount(int fd, const char *path, uint64_t set, unsigned flags)
{
    const struct attributes attr = { .set = set };

    return (int)syscall(SYS_mount_setattr, fd, path, flags, &attr, sizeof attr);
}

/* A detached copy of what is at the place, restricted. */
static int clone_place(const al_place *p, al_err *err)
{
    struct stat st;
    int fd = (int)syscall(SYS_open_tree, AT_FDCWD, p->path, TREE_CLONE | O_CLOEXEC | RECURSIVE);
    uint64_t set = ATTR_NOSUID | (p->writable ? 0 : ATTR_RDONLY);

    if (fd < 0) {
        al_err_errno(err, errno, p->path);
        return -1;
    }
    if (fstat(fd, &st) == 0 && !S_ISCHR(st.st_mode))
        set |= ATTR_NODEV;
    if (restrict_mount(fd, "", set, EMPTY_PATH | RECURSIVE) == 0)
        return fd;
    al_err_errno(err, errno, p->path);
    close(fd);
    return -1;
}

/* The place's path below top, with a folder or a file at its end. */
static int make_point(int top, const char *path, bool folder)
{
    char name[PATH_MAX];

    if (path[0] != '/' || strlen(path) >= sizeof name)
        return errno = EINVAL, -1;
    for (const char *end = strchr(path + 1, '/'); end; end = strchr(end + 1, '/')) {
        size_t len = (size_t)(end - path - 1);
        memcpy(name, path + 1, len);
        name[len] = '\0';
        if (mkdirat(top, name, 0755) != 0 && errno != EEXIST)
            return -1;
    }
    if (folder)
        return mkdirat(top, path + 1, 0755) == 0 || errno == EEXIST ? 0 : -1;
    return mknodat(top, path + 1, S_IFREG | 0644, 0) == 0 || errno == EEXIST ? 0 : -1;
}

static int add_place(int top, int fd, const al_place *p)
{
    struct stat st;

    if (p->memory)
        return make_point(top, p->path, true) == 0
                   ? mount("none", p->path + 1, "tmpfs", MS_NOSUID | MS_NODEV, "size=64m,mode=1777")
                   : -1;
    if (fstat(fd, &st) != 0 || make_point(top, p->path, S_ISDIR(st.st_mode)) != 0)
        return -1;
    return (int)syscall(SYS_move_mount, fd, "", top, p->path + 1, MOVE_EMPTY_PATH);
}

/* From the stage, which is the current folder, on. */
static int enter(const char *cwd, al_err *err)
{
    if (syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0 || chdir("/") != 0)
        return al_err_errno(err, errno, "root folder");
    if (restrict_mount(AT_FDCWD, "/", ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV, 0) != 0)
        return al_err_errno(err, errno, "root folder");
    return chdir(cwd) == 0 ? AL_OK : al_err_errno(err, errno, cwd);
}

static int build(const al_place *places, size_t n, const int *fds, const char *cwd, al_err *err)
{
    int rc = AL_OK, top;

    if (mount("none", stage, "tmpfs", MS_NOSUID, "size=1m,mode=0755") != 0 || chdir(stage) != 0)
        return al_err_errno(err, errno, "tmpfs");
    top = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (top < 0)
        return al_err_errno(err, errno, "tmpfs");
    for (size_t i = 0; rc == AL_OK && i < n; i++)
        if (add_place(top, fds[i], &places[i]) != 0)
            rc = al_err_errno(err, errno, places[i].path);
    close(top);
    return rc == AL_OK ? enter(cwd, err) : rc;
}

int al_namespaces_root(const al_place *places, size_t n, al_err *err)
{
    char cwd[PATH_MAX];
    int *fds = malloc((n + 1) * sizeof *fds), rc = AL_OK;
    size_t open_ones = 0;

    if (!fds)
        return al_err_set(err, AL_ENOMEM, "internal", "root folder", "not enough memory");
    if (!getcwd(cwd, sizeof cwd) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        rc = al_err_errno(err, errno, "root folder");
    for (; rc == AL_OK && open_ones < n; open_ones++) {
        fds[open_ones] = places[open_ones].memory ? -1 : clone_place(&places[open_ones], err);
        if (fds[open_ones] < 0 && !places[open_ones].memory) {
            rc = AL_EIO;
            break;
        }
    }
    if (rc == AL_OK)
        rc = build(places, n, fds, cwd, err);
    for (size_t i = 0; i < open_ones; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free(fds);
    return rc;
}

#else /* no namespaces: the answer says so */

int al_namespaces_fork(pid_t *pid, al_err *err)
{
    *pid = -1;
    return al_err_set(err, AL_ENOTSUP, "internal", "namespaces", "this system has none");
}

int al_namespaces_root(const al_place *places, size_t n, al_err *err)
{
    (void)places, (void)n;
    return al_err_set(err, AL_ENOTSUP, "internal", "namespaces", "this system has none");
}
#endif
