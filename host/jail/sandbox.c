/* The layers one after the other: the root first, since mounting needs the capabilities that go
 * next, then Landlock, and the filter of system calls last, since it forbids the calls before it.
 */
#include "jail/sandbox.h"
#include "jail/landlock.h"
#include "jail/seccomp.h"
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__linux__) && !defined(AL_PORTABLE)
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* None is left, and no program can bring any back: the bounding set is empty too where it can be,
 * and no_new_privs holds for those who are not root. */
static int drop_capabilities(al_err *err)
{
    struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct none[2];
    int held;

    memset(none, 0, sizeof none);
    for (unsigned long cap = 0; (held = prctl(PR_CAPBSET_READ, cap, 0, 0, 0)) >= 0; cap++)
        if (held > 0 && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0 && geteuid() == 0)
            return al_err_errno(err, errno, "capabilities");
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capset, &head, none) != 0)
        return al_err_errno(err, errno, "capabilities");
    return AL_OK;
}

static int restrict_files(const al_sandbox *s, al_err *err)
{
    al_landlock_rule *rules = calloc(s->n + 1, sizeof *rules);
    int rc;

    if (!rules)
        return al_err_set(err, AL_ENOMEM, "internal", "Landlock", "not enough memory");
    for (size_t i = 0; i < s->n; i++) {
        rules[i].fd = -1;
        rules[i].path = s->places[i].path;
        rules[i].access = AL_ACCESS_READ | (s->places[i].writable || s->places[i].memory
                                                ? AL_ACCESS_WRITE | AL_ACCESS_CHANGE
                                                : AL_ACCESS_EXECUTE);
    }
    rc = al_landlock_restrict(rules, s->n, err);
    free(rules);
    return rc;
}

int al_sandbox_enter(const al_sandbox *s, al_err *err)
{
    int rc = AL_OK;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return al_err_errno(err, errno, "no_new_privs");
    if (s->namespaces)
        rc = al_namespaces_root(s->places, s->n, err);
    if (rc == AL_OK)
        rc = drop_capabilities(err);
    if (rc == AL_OK)
        rc = restrict_files(s, err);
    if (rc == AL_OK)
        rc = al_seccomp_job(s->namespaces, err);
    return rc;
}

/* The child builds a root as a job's, with a place of either kind. */
int al_sandbox_try_namespaces(al_err *err)
{
    const al_place places[] = { { "/dev/null", true, false }, { "/dev/shm", false, true } };
    al_err found = { 0 };
    int report[2], rc;
    ssize_t n;
    pid_t pid;

    if (pipe(report) != 0)
        return al_err_errno(err, errno, "pipe");
    rc = al_namespaces_fork(&pid, &found);
    if (pid == 0) {
        if (rc == AL_OK && (rc = chdir("/")) == 0)
            rc = al_namespaces_root(places, 2, &found);
        _exit(write(report[1], &found, sizeof found) != (ssize_t)sizeof found || rc != AL_OK);
    }
    close(report[1]);
    n = rc == AL_OK ? read(report[0], &found, sizeof found) : 0;
    close(report[0]);
    if (rc == AL_OK)
        waitpid(pid, NULL, 0);
    if (rc == AL_OK && n != (ssize_t)sizeof found)
        rc = al_err_set(&found, AL_ENOTSUP, "internal", "namespaces", "their process was ended");
    if (found.code != AL_OK && err)
        *err = found;
    return found.code;
}

#else /* nothing to shut in with: the answer says so */

int al_sandbox_enter(const al_sandbox *s, al_err *err)
{
    (void)s;
    return al_err_set(err, AL_ENOTSUP, "internal", "sandbox", "this system has none");
}

int al_sandbox_try_namespaces(al_err *err)
{
    return al_err_set(err, AL_ENOTSUP, "internal", "namespaces", "this system has none");
}
#endif
