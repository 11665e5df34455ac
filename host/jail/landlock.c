/* Landlock over its three system calls. The header of Debian 12 stops at version 2 of the
 * interface, so the constants stand here. */
#include "jail/landlock.h"
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__linux__) && !defined(AL_PORTABLE)
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif

enum {
    VERSION_FLAG = 1,
    RULE_PATH_BENEATH = 1,
    NET_BIND_TCP = 1 << 0,
    NET_CONNECT_TCP = 1 << 1,
    SCOPE_ABSTRACT_UNIX_SOCKET = 1 << 0,
    SCOPE_SIGNAL = 1 << 1
};
enum { /* bits of file access in the order the kernel gave them */
       FS_EXECUTE = 1 << 0,
       FS_WRITE_FILE = 1 << 1,
       FS_READ_FILE = 1 << 2,
       FS_READ_DIR = 1 << 3,
       FS_REMOVE_DIR = 1 << 4,
       FS_REMOVE_FILE = 1 << 5,
       FS_MAKE_CHAR = 1 << 6,
       FS_MAKE_DIR = 1 << 7,
       FS_MAKE_REG = 1 << 8,
       FS_MAKE_SOCK = 1 << 9,
       FS_MAKE_FIFO = 1 << 10,
       FS_MAKE_BLOCK = 1 << 11,
       FS_MAKE_SYM = 1 << 12,
       FS_REFER = 1 << 13,    /* version 2 */
       FS_TRUNCATE = 1 << 14, /* version 3 */
       FS_IOCTL_DEV = 1 << 15 /* version 5 */
};
#define FS_OF_VERSION_1 (FS_REFER - 1)
#define FS_FOR_FILES    (FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV)
#define FS_CHANGES                                                                              \
    (FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR | FS_MAKE_REG | FS_MAKE_SOCK | FS_MAKE_FIFO | \
     FS_MAKE_SYM | FS_REFER)

struct ruleset { /* struct landlock_ruleset_attr as of version 6 */
    uint64_t fs, net, scoped;
};
struct path_rule { /* struct landlock_path_beneath_attr */
    uint64_t access;
    int32_t fd;
} __attribute__((packed));

int al_landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, VERSION_FLAG);

    return abi > 0 ? (int)abi : 0;
}

static uint64_t rights(unsigned access, uint64_t handled, int is_folder)
{
    uint64_t bits = 0;

    if (access & AL_ACCESS_READ)
        bits |= FS_READ_FILE | FS_READ_DIR;
    if (access & AL_ACCESS_EXECUTE)
        bits |= FS_EXECUTE;
    if (access & AL_ACCESS_WRITE)
        bits |= FS_WRITE_FILE | FS_TRUNCATE;
    if (access & AL_ACCESS_CHANGE)
        bits |= FS_CHANGES;
    return bits & handled & (is_folder ? ~(uint64_t)0 : FS_FOR_FILES);
}

static int add_rule(int ruleset, uint64_t handled, const al_landlock_rule *rule, al_err *err)
{
    const char *name = rule->path ? rule->path : "landlock rule";
    struct path_rule attr = { 0 };
    struct stat st;
    int rc = AL_OK;

    attr.fd = rule->fd >= 0 ? rule->fd : open(rule->path, O_PATH | O_CLOEXEC);
    if (attr.fd < 0 || fstat(attr.fd, &st) != 0) {
        rc = al_err_errno(err, errno, name);
    } else {
        attr.access = rights(rule->access, handled, S_ISDIR(st.st_mode));
        if (syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &attr, 0) != 0)
            rc = al_err_errno(err, errno, name);
    }
    if (rule->fd < 0 && attr.fd >= 0)
        close(attr.fd);
    return rc;
}

int al_landlock_restrict(const al_landlock_rule *rules, size_t n, al_err *err)
{
    int abi = al_landlock_abi(), rc = AL_OK, fd;
    struct ruleset attr = { .fs = FS_OF_VERSION_1 };
    size_t size = sizeof attr.fs;

    if (abi == 0)
        return al_err_set(err, AL_ENOTSUP, "internal", "Landlock", "this system has none");
    if (abi >= 2)
        attr.fs |= FS_REFER;
    if (abi >= 3)
        attr.fs |= FS_TRUNCATE;
    if (abi >= 4) {
        attr.net = NET_BIND_TCP | NET_CONNECT_TCP;
        size = 2 * sizeof attr.fs;
    }
    if (abi >= 5)
        attr.fs |= FS_IOCTL_DEV;
    if (abi >= 6) {
        attr.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL;
        size = sizeof attr;
    }
    fd = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
    if (fd < 0)
        return al_err_errno(err, errno, "landlock_create_ruleset");
    for (size_t i = 0; rc == AL_OK && i < n; i++)
        rc = add_rule(fd, attr.fs, &rules[i], err);
    if (rc == AL_OK && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        rc = al_err_errno(err, errno, "no_new_privs");
    if (rc == AL_OK && syscall(SYS_landlock_restrict_self, fd, 0) != 0)
        rc = al_err_errno(err, errno, "landlock_restrict_self");
    close(fd);
    return rc;
}

#else /* no Landlock: the answer says so */

int al_landlock_abi(void)
{
    return 0;
}

int al_landlock_restrict(const al_landlock_rule *rules, size_t n, al_err *err)
{
    (void)rules, (void)n;
    return al_err_set(err, AL_ENOTSUP, "internal", "Landlock", "this system has none");
}
#endif
