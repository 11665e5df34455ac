/* Everything runs twice: with openat2, and in a child whose kernel answers ENOSYS to it. */
#include "base/fs.h"
#include "unit.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__) && !defined(AL_PORTABLE)
#include <seccomp.h>
#endif

static char base[64];
static int dir; /* a fresh folder for every test */
static al_err err;

static int make_base(void **state)
{
    (void)state;
    snprintf(base, sizeof base, "/tmp/alisio-fs-XXXXXX");
    err = (al_err){ 0 };
    if (!mkdtemp(base))
        return -1;
    dir = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir < 0;
}

static int drop_base(void **state)
{
    (void)state;
    close(dir);
    dir = open("/tmp", O_RDONLY | O_DIRECTORY);
    assert_int_equal(al_fs_remove_tree(dir, base + 5, &err), AL_OK);
    assert_int_not_equal(access(base, F_OK), 0);
    close(dir);
    return 0;
}

static void put(const char *name, const char *text)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void ln(const char *target, const char *name)
{
    if (symlinkat(target, dir, name) != 0)
        abort();
}

static void chm(const char *name, mode_t mode)
{
    if (fchmodat(dir, name, mode, 0) != 0)
        abort();
}

static const char *get(int fd)
{
    static char text[256];
    ssize_t n = read(fd, text, sizeof text - 1);
    assert_true(n >= 0);
    text[n] = '\0';
    close(fd);
    return text;
}

static int entries(const char *rel)
{
    char command[256];
    FILE *p;
    int n = -1;
    snprintf(command, sizeof command, "find %s/%s -mindepth 1 | wc -l", base, rel);
    p = popen(command, "r");
    assert_non_null(p);
    assert_int_equal(fscanf(p, "%d", &n), 1);
    pclose(p);
    return n;
}

static int open_files(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void refused(int rc, int code, const char *reason)
{
    if (rc >= 0)
        close(rc);
    assert_int_equal(rc, code);
    assert_int_equal(err.code, code);
    if (reason)
        assert_string_equal(err.reason, reason);
}

static void opens_what_is_beneath(void **state)
{
    int fd;
    (void)state;
    mkdirat(dir, "a", 0755);
    mkdirat(dir, "a/b", 0755);
    put("a/b/f", "deep");
    assert_string_equal(get(al_fs_open_beneath(dir, "a/b/f", O_RDONLY, 0, &err)), "deep");
    assert_string_equal(get(al_fs_open_beneath(dir, "./a//b/./f", O_RDONLY, 0, &err)), "deep");
    assert_string_equal(get(al_fs_open_inside(dir, "a/b/f", O_RDONLY, 0, &err)), "deep");
    fd = al_fs_open_beneath(dir, ".", O_RDONLY | O_DIRECTORY, 0, &err);
    assert_true(fd >= 0);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
    fd = al_fs_open_beneath(dir, "a/b/", O_RDONLY, 0, &err);
    assert_true(fd >= 0);
    close(fd);
    fd = al_fs_open_beneath(dir, "a/new", O_WRONLY | O_CREAT | O_EXCL, 0600, &err);
    assert_true(fd >= 0);
    close(fd);
    refused(al_fs_open_beneath(dir, "a/new", O_WRONLY | O_CREAT | O_EXCL, 0600, &err), AL_EEXISTS,
            NULL);
}

static void refuses_what_is_not(void **state)
{
    int files = open_files();
    char name[300];
    (void)state;
    mkdirat(dir, "a", 0755);
    put("f", "x");
    refused(al_fs_open_beneath(dir, "", O_RDONLY, 0, &err), AL_EDENIED, "bad_path");
    refused(al_fs_open_beneath(dir, "/etc/passwd", O_RDONLY, 0, &err), AL_EDENIED, "bad_path");
    refused(al_fs_open_beneath(dir, "..", O_RDONLY, 0, &err), AL_EDENIED, "bad_path");
    refused(al_fs_open_beneath(dir, "a/../f", O_RDONLY, 0, &err), AL_EDENIED, "bad_path");
    refused(al_fs_open_inside(dir, "a/../../x", O_RDONLY, 0, &err), AL_EDENIED, "bad_path");
    refused(al_fs_open_beneath(dir, "no", O_RDONLY, 0, &err), AL_ENOTFOUND, "missing");
    refused(al_fs_open_beneath(dir, "no/f", O_RDONLY, 0, &err), AL_ENOTFOUND, "missing");
    refused(al_fs_open_beneath(dir, "f/x", O_RDONLY, 0, &err), AL_ENOTFOUND, "missing");
    refused(al_fs_open_beneath(dir, "f/", O_RDONLY, 0, &err), AL_ENOTFOUND, "missing");
    refused(al_fs_open_beneath(dir, "a", O_WRONLY, 0, &err), AL_EIO, NULL);
    refused(al_fs_open_beneath(dir, "a", O_WRONLY | O_CREAT, 0600, &err), AL_EIO, NULL);
    refused(al_fs_open_beneath(-1, "f", O_RDONLY, 0, &err), AL_EIO, NULL);
    assert_string_equal(err.object, "f");
    memset(name, 'n', 299);
    name[299] = '\0';
    refused(al_fs_open_beneath(dir, name, O_RDONLY, 0, &err), AL_EIO, NULL);
    assert_string_equal(err.detail, strerror(ENAMETOOLONG));
    assert_int_equal(open_files(), files);
}

static void links_are_never_followed_beneath(void **state)
{
    int files = open_files();
    (void)state;
    mkdirat(dir, "a", 0755);
    put("a/f", "inside");
    ln("a/f", "file");
    ln("a", "folder");
    ln("/etc/passwd", "out");
    ln("nowhere", "dangling");
    ln("/proc/self/root", "magic");
    refused(al_fs_open_beneath(dir, "file", O_RDONLY, 0, &err), AL_EDENIED, "symlink");
    refused(al_fs_open_beneath(dir, "folder/f", O_RDONLY, 0, &err), AL_EDENIED, "symlink");
    refused(al_fs_open_beneath(dir, "folder", O_RDONLY | O_DIRECTORY, 0, &err), AL_EDENIED,
            "symlink");
    refused(al_fs_open_beneath(dir, "folder/", O_RDONLY, 0, &err), AL_EDENIED, "symlink");
    refused(al_fs_open_beneath(dir, "out", O_RDONLY, 0, &err), AL_EDENIED, "symlink");
    refused(al_fs_open_beneath(dir, "magic/etc/passwd", O_RDONLY, 0, &err), AL_EDENIED, "symlink");
    refused(al_fs_open_beneath(dir, "dangling", O_WRONLY | O_CREAT, 0600, &err), AL_EDENIED,
            "symlink");
    refused(al_fs_open_beneath(dir, "dangling", O_WRONLY | O_CREAT | O_EXCL, 0600, &err),
            AL_EEXISTS, NULL);
#ifdef O_PATH
    struct stat st;
    int fd;
    refused(al_fs_open_beneath(dir, "file", O_PATH, 0, &err), AL_EDENIED, "symlink");
    fd = al_fs_open_beneath(dir, "file", O_PATH | O_NOFOLLOW, 0, &err); /* the link itself */
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    close(fd);
#endif
    assert_int_not_equal(faccessat(dir, "nowhere", F_OK, 0), 0);
    assert_int_equal(open_files(), files);
}

static void links_inside_are_followed(void **state)
{
    int files = open_files();
    char deep[64];
    (void)state;
    mkdirat(dir, "a", 0755);
    mkdirat(dir, "a/b", 0755);
    put("a/f", "inside");
    put("top", "up");
    ln("a/f", "file");
    ln("a/b", "folder");
    ln("folder/../../top", "round");
    ln("../../top", "a/b/up");
    ln("../../../etc/passwd", "a/b/escape");
    ln("/etc/passwd", "absolute");
    ln("..", "parent");
    ln("new", "dangling");
    ln("loop", "loop");
    ln(".", "dot");
    assert_string_equal(get(al_fs_open_inside(dir, "file", O_RDONLY, 0, &err)), "inside");
    assert_string_equal(get(al_fs_open_inside(dir, "folder/up", O_RDONLY, 0, &err)), "up");
    assert_string_equal(get(al_fs_open_inside(dir, "round", O_RDONLY, 0, &err)), "up");
    assert_string_equal(get(al_fs_open_inside(dir, "dot/dot/top", O_RDONLY, 0, &err)), "up");
    refused(al_fs_open_inside(dir, "folder/escape", O_RDONLY, 0, &err), AL_EDENIED, "bad_path");
    refused(al_fs_open_inside(dir, "absolute", O_RDONLY, 0, &err), AL_EDENIED, "bad_path");
    refused(al_fs_open_inside(dir, "parent", O_RDONLY, 0, &err), AL_EDENIED, "bad_path");
    refused(al_fs_open_inside(dir, "loop", O_RDONLY, 0, &err), AL_EDENIED, "symlink");
    refused(al_fs_open_inside(dir, "file/x", O_RDONLY, 0, &err), AL_ENOTFOUND, "missing");
    refused(al_fs_open_inside(dir, "file", O_RDONLY | O_NOFOLLOW, 0, &err), AL_EDENIED, "symlink");
    close(al_fs_open_inside(dir, "dangling", O_WRONLY | O_CREAT, 0600, &err));
    assert_int_equal(faccessat(dir, "new", F_OK, 0), 0);
    for (int i = 0; i < 45; i++) { /* one link more each: 40 are enough for anybody */
        char name[16], target[16];
        snprintf(name, sizeof name, "l%d", i);
        snprintf(target, sizeof target, i ? "l%d" : "top", i - 1);
        ln(target, name);
    }
    assert_string_equal(get(al_fs_open_inside(dir, "l39", O_RDONLY, 0, &err)), "up");
    refused(al_fs_open_inside(dir, "l40", O_RDONLY, 0, &err), AL_EDENIED, "symlink");
    snprintf(deep, sizeof deep, "dot/dot/dot/dot/dot/dot/dot/dot/top");
    assert_string_equal(get(al_fs_open_inside(dir, deep, O_RDONLY, 0, &err)), "up");
    assert_int_equal(open_files(), files);
}

static void other_mounts_are_not_entered(void **state)
{
    char path[128];
    (void)state;
    mkdirat(dir, "m", 0755);
    snprintf(path, sizeof path, "%s/m", base);
    if (mount("tmpfs", path, "tmpfs", 0, "size=64k") != 0) {
        print_message("mounting a tmpfs needs root\n");
        skip();
    }
    put("m/f", "other");
    refused(al_fs_open_beneath(dir, "m/f", O_RDONLY, 0, &err), AL_EDENIED, "bad_path");
    refused(al_fs_open_beneath(dir, "m", O_RDONLY, 0, &err), AL_EDENIED, "bad_path");
    assert_string_equal(get(al_fs_open_inside(dir, "m/f", O_RDONLY, 0, &err)), "other");
    assert_int_not_equal(al_fs_remove_tree(dir, "m", &err), AL_OK);
    assert_int_equal(faccessat(dir, "m/f", F_OK, 0), 0); /* a removal stays out, too */
    assert_int_equal(umount(path), 0);
    assert_int_equal(al_fs_remove_tree(dir, "m", &err), AL_OK);
}

static void mkdirs(void **state)
{
    mode_t old = umask(0777);
    char path[128];
    struct stat st;
    int files = open_files();
    (void)state;
    assert_int_equal(al_fs_mkdirs_beneath(dir, "x/./y//z/", &err), AL_OK);
    assert_int_equal(al_fs_mkdirs_beneath(dir, "x/y/z", &err), AL_OK);
    umask(old);
    assert_int_equal(fstatat(dir, "x/y/z", &st, 0), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(fstatat(dir, "x", &st, 0), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    put("x/f", "");
    ln("x", "l");
    refused(al_fs_mkdirs_beneath(dir, "x/f/g", &err), AL_ENOTFOUND, "missing");
    refused(al_fs_mkdirs_beneath(dir, "l/g", &err), AL_EDENIED, "symlink");
    refused(al_fs_mkdirs_beneath(dir, "../g", &err), AL_EDENIED, "bad_path");
    refused(al_fs_mkdirs_beneath(-1, "g", &err), AL_EIO, NULL);
    snprintf(path, sizeof path, "%s/l/p/q", base); /* one's own path: links are fine */
    assert_int_equal(al_fs_mkdirs(path, &err), AL_OK);
    assert_int_equal(al_fs_mkdirs(path, &err), AL_OK);
    assert_int_equal(fstatat(dir, "x/p/q", &st, 0), 0);
    snprintf(path, sizeof path, "%s/x/f/g", base);
    assert_int_equal(al_fs_mkdirs(path, &err), AL_ENOTFOUND);
    assert_string_equal(err.object, path);
    assert_int_equal(al_fs_mkdirs("/proc/no/such", &err), AL_ENOTFOUND);
    assert_int_equal(open_files(), files);
}

static void reading(void **state)
{
    char path[128];
    int p[2];
    al_buf b;
    (void)state;
    put("f", "12345");
    snprintf(path, sizeof path, "%s/f", base);
    al_buf_init(&b, 0);
    assert_int_equal(al_fs_read(path, &b, &err), AL_OK);
    assert_string_equal(b.data, "12345");
    assert_int_equal(al_fs_read(path, &b, &err), AL_OK);
    assert_string_equal(b.data, "1234512345"); /* appends */
    al_buf_free(&b);
    al_buf_init(&b, 5);
    assert_int_equal(al_fs_read(path, &b, &err), AL_OK);
    al_buf_free(&b);
    al_buf_init(&b, 4);
    assert_int_equal(al_fs_read(path, &b, &err), AL_ELIMIT);
    assert_string_equal(err.reason, "too_large");
    assert_string_equal(err.object, path);
    assert_string_equal(b.data, "1234");
    al_buf_free(&b);
    al_buf_init(&b, 0);
    assert_int_equal(al_fs_read(base, &b, &err), AL_EIO);
    assert_string_equal(err.detail, strerror(EISDIR));
    assert_int_equal(al_fs_read("/no/such", &b, &err), AL_ENOTFOUND);
    assert_string_equal(err.object, "/no/such");
    assert_int_equal(pipe(p), 0);
    assert_int_equal(write(p[1], "piped", 5), 5);
    close(p[1]);
    assert_int_equal(al_fs_read_fd(p[0], "a pipe", &b, &err), AL_OK);
    assert_string_equal(b.data, "piped");
    close(p[0]);
    al_buf_free(&b);
}

static void replacing(void **state)
{
    char path[128];
    struct stat st;
    mode_t old = umask(0777);
    (void)state;
    snprintf(path, sizeof path, "%s/f", base);
    assert_int_equal(al_fs_replace(path, "one", 3, 0640, &err), AL_OK);
    assert_int_equal(al_fs_replace(path, "two", 3, 0600, &err), AL_OK);
    mkdirat(dir, "d", 0);
    chm("d", 0755);
    assert_int_equal(al_fs_replace_at(dir, "d/g", "", 0, 0666, &err), AL_OK);
    umask(old);
    assert_string_equal(get(openat(dir, "f", O_RDONLY)), "two");
    fstatat(dir, "f", &st, 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    fstatat(dir, "d/g", &st, 0);
    assert_int_equal(st.st_mode & 07777, 0666);
    assert_int_equal(st.st_size, 0);
    ln("f", "l"); /* a link is replaced, not followed */
    assert_int_equal(al_fs_replace_at(dir, "l", "three", 5, 0600, &err), AL_OK);
    assert_string_equal(get(openat(dir, "f", O_RDONLY)), "two");
    assert_string_equal(get(openat(dir, "l", O_RDONLY | O_NOFOLLOW)), "three");
    ln("d", "dl");
    refused(al_fs_replace_at(dir, "dl/g", "x", 1, 0600, &err), AL_EDENIED, "symlink");
    refused(al_fs_replace_at(dir, "../g", "x", 1, 0600, &err), AL_EDENIED, "bad_path");
    refused(al_fs_replace_at(dir, "no/g", "x", 1, 0600, &err), AL_ENOTFOUND, "missing");
    refused(al_fs_replace_at(dir, "d/", "x", 1, 0600, &err), AL_EINVAL, "bad_path");
    refused(al_fs_replace_at(dir, "d/..", "x", 1, 0600, &err), AL_EINVAL, "bad_path");
    refused(al_fs_replace_at(dir, "d", "x", 1, 0600, &err), AL_EIO, NULL); /* a folder is there */
    refused(al_fs_replace("/no/such/f", "x", 1, 0600, &err), AL_ENOTFOUND, NULL);
    assert_int_equal(entries(""), 5); /* no part of ours stayed behind */
}

static void a_full_disk_keeps_the_old_bytes(void **state)
{
    static char big[200000];
    char path[128];
    int fd;
    (void)state;
    mkdirat(dir, "m", 0755);
    snprintf(path, sizeof path, "%s/m", base);
    if (mount("tmpfs", path, "tmpfs", 0, "size=64k") != 0) {
        print_message("mounting a tmpfs needs root\n");
        skip();
    }
    fd = open(path, O_RDONLY | O_DIRECTORY);
    assert_int_equal(al_fs_replace_at(fd, "f", "old", 3, 0600, &err), AL_OK);
    assert_int_equal(al_fs_replace_at(fd, "f", big, sizeof big, 0600, &err), AL_EIO);
    assert_string_equal(err.id, "no_space");
    assert_string_equal(err.object, "f");
    assert_int_equal(entries("m"), 1);
    assert_string_equal(get(openat(fd, "f", O_RDONLY)), "old");
    assert_int_equal(al_fs_replace_at(fd, "f", "new", 3, 0600, &err), AL_OK); /* goes on */
    close(fd);
    assert_int_equal(umount(path), 0);
    fd = open("/dev/full", O_WRONLY);
    assert_int_equal(al_fs_write_all(fd, "x", 1, "full", &err), AL_EIO);
    assert_string_equal(err.id, "no_space");
    close(fd);
}

static void no_descriptors_left(void **state)
{
    struct rlimit old, few;
    int files = open_files();
    char path[128];
    al_buf b;
    (void)state;
    put("f", "old");
    mkdirat(dir, "d", 0755);
    put("d/f", "x");
    snprintf(path, sizeof path, "%s/f", base);
    al_buf_init(&b, 0);
    getrlimit(RLIMIT_NOFILE, &old);
    few = old;
    for (few.rlim_cur = 0; few.rlim_cur < (rlim_t)dir + 8; few.rlim_cur++) {
        int fd;
        setrlimit(RLIMIT_NOFILE, &few);
        fd = al_fs_open_beneath(dir, "d/f", O_RDONLY, 0, &err);
        if (fd >= 0)
            close(fd);
        else
            assert_string_equal(err.detail, strerror(EMFILE));
        if (al_fs_replace_at(dir, "f", "new", 3, 0600, &err) != AL_OK)
            assert_string_equal(err.detail, strerror(EMFILE));
        if (al_fs_read(path, &b, &err) != AL_OK)
            assert_string_equal(err.detail, strerror(EMFILE));
        if (al_fs_mkdirs_beneath(dir, "p/q", &err) != AL_OK)
            assert_string_equal(err.detail, strerror(EMFILE));
        if (al_fs_remove_tree(dir, "p", &err) != AL_OK)
            assert_string_equal(err.detail, strerror(EMFILE));
    }
    setrlimit(RLIMIT_NOFILE, &old);
    assert_string_equal(get(openat(dir, "f", O_RDONLY)), "new");
    assert_int_equal(open_files(), files);
    assert_int_equal(entries(""), 3);
    al_buf_free(&b);
}

static void removing(void **state)
{
    int files = open_files();
    (void)state;
    mkdirat(dir, "t", 0755);
    mkdirat(dir, "t/a", 0755);
    mkdirat(dir, "keep", 0755);
    put("keep/f", "safe");
    put("t/f", "");
    put("t/a/f", "");
    ln("../keep", "t/link");
    ln("keep", "l");
    mkfifoat(dir, "t/fifo", 0600);
    assert_int_equal(al_fs_remove_tree(dir, "t", &err), AL_OK);
    assert_int_equal(al_fs_remove_tree(dir, "t", &err), AL_OK); /* missing is fine */
    assert_int_equal(al_fs_remove_tree(dir, "t/u/v", &err), AL_OK);
    assert_int_equal(al_fs_remove_tree(dir, "l", &err), AL_OK); /* the link, not its target */
    assert_string_equal(get(openat(dir, "keep/f", O_RDONLY)), "safe");
    ln("keep", "l");
    refused(al_fs_remove_tree(dir, "l/f", &err), AL_EDENIED, "symlink");
    refused(al_fs_remove_tree(dir, "../x", &err), AL_EDENIED, "bad_path");
    refused(al_fs_remove_tree(dir, ".", &err), AL_EINVAL, "bad_path");
    refused(al_fs_remove_tree(dir, "", &err), AL_EINVAL, "bad_path");
    assert_int_equal(al_fs_remove_tree(dir, "keep/f", &err), AL_OK);
    assert_int_equal(entries("keep"), 0);
    assert_int_equal(open_files(), files);
}

static void removing_what_is_very_deep(void **state)
{
    int at = dup(dir), levels = 0;
    struct rlimit old, few;
    (void)state;
    for (; levels < 1000; levels++) {
        int next;
        assert_int_equal(mkdirat(at, "d", 0755), 0);
        close(openat(at, "f", O_CREAT | O_WRONLY, 0644));
        next = openat(at, "d", O_RDONLY | O_DIRECTORY);
        assert_true(next >= 0);
        close(at);
        at = next;
    }
    close(at);
    getrlimit(RLIMIT_NOFILE, &old);
    few = old;
    few.rlim_cur = (rlim_t)dir + 60;
    setrlimit(RLIMIT_NOFILE, &few);
    assert_int_equal(al_fs_remove_tree(dir, "d", &err), AL_OK);
    setrlimit(RLIMIT_NOFILE, &old);
    assert_int_equal(entries(""), 1); /* the f beside it */
}

/* As a user for whom modes count: folders without rights are opened up and removed. */
static void removing_without_rights(void **state)
{
    pid_t pid;
    int status;
    (void)state;
    fchmod(dir, 0777);
    pid = fork();
    if (pid == 0) {
        int ok;
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(9);
        mkdirat(dir, "t", 0755);
        mkdirat(dir, "t/a", 0755);
        mkdirat(dir, "t/a/b", 0755);
        put("t/a/b/f", "");
        put("t/a/f", "");
        chm("t/a/b", 0);
        chm("t/a", 0500);
        chm("t", 0);
        ok = al_fs_remove_tree(dir, "t", &err) == AL_OK && faccessat(dir, "t", F_OK, 0) != 0;
        _exit(ok ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void removing_goes_on_and_tells(void **state)
{
    pid_t pid;
    int status;
    (void)state;
    if (geteuid() != 0) {
        print_message("files of another owner need root\n");
        skip();
    }
    fchmod(dir, 0777);
    mkdirat(dir, "t", 0777);
    chm("t", 0777);
    mkdirat(dir, "t/theirs", 0755);
    put("t/theirs/f", "");
    put("t/z", "");
    pid = fork();
    if (pid == 0) {
        int rc;
        if (setgid(65534) != 0 || setuid(65534) != 0)
            _exit(9);
        rc = al_fs_remove_tree(dir, "t", &err);
        _exit(rc == AL_EIO && strcmp(err.object, "t") == 0 &&
                      strcmp(err.detail, strerror(EACCES)) == 0
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(faccessat(dir, "t/theirs/f", F_OK, 0), 0);
    assert_int_not_equal(faccessat(dir, "t/z", F_OK, 0), 0);
}

static void syncing(void **state)
{
    (void)state;
    assert_int_equal(al_fs_sync_dir(dir, base, &err), AL_OK);
    assert_int_equal(al_fs_sync_dir(-1, base, &err), AL_EIO);
    assert_string_equal(err.object, base);
}

/* A folder on the way is swapped for a link to another one all the time. */
static volatile int stop;

static void *swap(void *arg)
{
    (void)arg;
    while (!stop) {
        renameat(dir, "a", dir, "was");
        renameat(dir, "link", dir, "a");
        renameat(dir, "a", dir, "link");
        renameat(dir, "was", dir, "a");
    }
    return NULL;
}

static void swaps_do_not_lead_out(void **state)
{
    pthread_t thread;
    int good = 0;
    (void)state;
    mkdirat(dir, "a", 0755);
    mkdirat(dir, "evil", 0755);
    put("a/f", "good");
    put("evil/f", "evil");
    ln("evil", "link");
    stop = 0;
    assert_int_equal(pthread_create(&thread, NULL, swap, NULL), 0);
    for (int i = 0; i < 4000; i++) {
        int fd = al_fs_open_beneath(dir, "a/f", O_RDONLY, 0, &err);
        if (fd >= 0 && strcmp(get(fd), "good") != 0)
            good = -1000000;
        good += fd >= 0;
    }
    stop = 1;
    pthread_join(thread, NULL);
    assert_true(good > 0);
}

#define in_base(f) cmocka_unit_test_setup_teardown(f, make_base, drop_base)

static int run(const char *name)
{
    const struct CMUnitTest tests[] = {
        in_base(opens_what_is_beneath),
        in_base(refuses_what_is_not),
        in_base(links_are_never_followed_beneath),
        in_base(links_inside_are_followed),
        in_base(other_mounts_are_not_entered),
        in_base(mkdirs),
        in_base(reading),
        in_base(replacing),
        in_base(a_full_disk_keeps_the_old_bytes),
        in_base(no_descriptors_left),
        in_base(removing),
        in_base(removing_what_is_very_deep),
        in_base(removing_without_rights),
        in_base(removing_goes_on_and_tells),
        in_base(syncing),
        in_base(swaps_do_not_lead_out),
    };
    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

#if defined(__linux__) && !defined(AL_PORTABLE)
static int run_without_openat2(void)
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
    if (!ctx || seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(openat2), 0) != 0 ||
        seccomp_load(ctx) != 0 || al_fs_has_openat2())
        return 100;
    seccomp_release(ctx);
    return run("fs, by components");
}

int main(void)
{
    int status, failed;
    pid_t pid = fork();
    if (pid == 0)
        exit(run_without_openat2());
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return 1;
    failed = WEXITSTATUS(status);
    return failed + (al_fs_has_openat2() ? run("fs, by openat2") : 1);
}
#else
int main(void)
{
    return run("fs, by components");
}
#endif
