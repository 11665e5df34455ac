/* host.fs: folders held open (al.root), file handles (al.file), locks (al.lock), over prim/fs. What
 * can block for long runs on the thread pool with a descriptor of its own, so that closing a root
 * never disturbs work in flight; the rest runs inline. */
#include "base/fs.h"
#include "bind/file.h"
#include "bind/util.h"
#include "prim/fs.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOT_TYPE "al.root"
#define FILE_TYPE "al.file"
#define LOCK_TYPE "al.lock"
#define READ_MAX  ((lua_Integer)1 << 30) /* of a read without maxBytes */

int luaopen_host_fs(lua_State *L);

typedef struct fs_op {
    al_work work;
    al_root root, other;
    int fd;
    char *path, *path2;
    al_buf bytes;
    al_write_how how;
    uint64_t offset, count;
    size_t max;
    bool more, cut;
} fs_op;

static void op_drop(al_work *w)
{
    fs_op *op = (fs_op *)w;
    al_root_close(&op->root);
    al_root_close(&op->other);
    if (op->fd >= 0)
        close(op->fd);
    free(op->path);
    free(op->path2);
    al_buf_free(&op->bytes);
    free(op);
}

static int push_true(lua_State *L, al_work *w)
{
    (void)w;
    lua_pushboolean(L, 1);
    return 1;
}

/* A new operation on path (copied) beneath root; NULL with the error in *err, or no memory. */
static fs_op *op_new(lua_State *L, const al_root *root, const char *path)
{
    fs_op *op = al_work_new(L, sizeof *op);
    op->work.drop = op_drop;
    op->work.push = push_true;
    op->root.fd = op->other.fd = op->fd = -1;
    if (root && al_root_copy(&op->root, root, &op->work.err) < 0)
        return op;
    op->path = strdup(path);
    if (!op->path)
        al_err_set(&op->work.err, AL_ENOMEM, "internal", path, "not enough memory");
    return op;
}

static int op_start(lua_State *L, fs_op *op, int (*run)(al_work *w))
{
    op->work.run = run;
    return op->work.err.code ? al_work_abort(L, &op->work) : al_work_start(L, &op->work);
}

static al_root *check_root(lua_State *L, int idx)
{
    al_root *root = luaL_checkudata(L, idx, ROOT_TYPE);
    if (root->fd == -1)
        luaL_argerror(L, idx, "the root is closed");
    return root;
}

static int done(lua_State *L, int rc, const al_err *err)
{
    if (rc < 0)
        return al_fail(L, err);
    lua_pushboolean(L, 1);
    return 1;
}

/* ---- root ---- */

static al_root *new_root(lua_State *L)
{
    al_root *root = lua_newuserdatauv(L, sizeof *root, 0);
    root->fd = -1;
    luaL_setmetatable(L, ROOT_TYPE);
    return root;
}

/* open_root(path, { links = "none"|"inside" }?) -> root */
static int l_open_root(lua_State *L)
{
    const char *path = al_check_path(L, 1);
    const char *links = al_opt_text(L, 2, "links", "none", NULL);
    al_err err = { 0 };

    luaL_argcheck(L, !strcmp(links, "none") || !strcmp(links, "inside"), 2,
                  "links must be \"none\" or \"inside\"");
    al_root *root = new_root(L);
    if (al_root_open(root, path, *links == 'n' ? AL_LINKS_NONE : AL_LINKS_INSIDE, &err) < 0)
        return al_fail(L, &err);
    return 1;
}

static int root_close(lua_State *L)
{
    al_root *root = luaL_checkudata(L, 1, ROOT_TYPE);
    if (root->fd != AT_FDCWD)
        al_root_close(root);
    return 0;
}

static int read_run(al_work *w)
{
    fs_op *op = (fs_op *)w;
    int rc = al_root_read(&op->root, op->path, op->offset, op->max, &op->bytes, &op->more, &w->err);
    if (rc == AL_OK && op->more && !op->cut)
        return al_err_setf(&w->err, AL_ELIMIT, "io_error", op->path, "is larger than %zu bytes",
                           op->max);
    return rc;
}

static int read_push(lua_State *L, al_work *w)
{
    fs_op *op = (fs_op *)w;
    lua_pushlstring(L, op->bytes.data ? op->bytes.data : "", op->bytes.len);
    lua_pushboolean(L, op->more);
    return 2;
}

/* root:read(rel, { maxBytes, offset }?) -> bytes, truncated */
static int l_read(lua_State *L)
{
    const al_root *root = check_root(L, 1);
    const char *rel = al_check_path(L, 2);
    lua_Integer max = al_opt_int(L, 3, "maxBytes", -1);
    lua_Integer offset = al_opt_int(L, 3, "offset", 0);

    luaL_argcheck(L, offset >= 0, 3, "offset must not be negative");
    fs_op *op = op_new(L, root, rel);
    op->work.push = read_push;
    op->cut = max >= 0;
    op->max = (size_t)(max >= 0 ? max : READ_MAX);
    op->offset = (uint64_t)offset;
    return op_start(L, op, read_run);
}

static al_write_how check_how(lua_State *L, int idx)
{
    lua_Integer mode = al_opt_int(L, idx, "mode", -1);
    luaL_argcheck(L, mode >= -1 && mode <= 07777, idx, "mode must be permission bits");
    return (al_write_how){ .mode = (int)mode,
                           .exclusive = al_opt_bool(L, idx, "exclusive", false),
                           .parents = al_opt_bool(L, idx, "parents", false) };
}

static int write_run(al_work *w)
{
    fs_op *op = (fs_op *)w;
    return al_root_write(&op->root, op->path, op->bytes.data, op->bytes.len, &op->how, &w->err);
}

static void op_bytes(fs_op *op, const char *bytes, size_t len)
{
    if (al_buf_add(&op->bytes, bytes, len) < 0)
        al_err_set(&op->work.err, AL_ENOMEM, "internal", op->path, "not enough memory");
}

/* root:write(rel, bytes, { mode, parents, exclusive }?) -> true */
static int l_write(lua_State *L)
{
    size_t len;
    const al_root *root = check_root(L, 1);
    const char *rel = al_check_path(L, 2);
    const char *bytes = luaL_checklstring(L, 3, &len);
    al_write_how how = check_how(L, 4);

    fs_op *op = op_new(L, root, rel);
    op->how = how;
    op_bytes(op, bytes, len);
    return op_start(L, op, write_run);
}

static const char *const type_names[] = { "file", "dir", "link", "other" };

static int push_stat(lua_State *L, const al_stat *st)
{
    lua_createtable(L, 0, 6);
    lua_pushstring(L, type_names[st->type]);
    lua_setfield(L, -2, "type");
    lua_pushinteger(L, (lua_Integer)st->size);
    lua_setfield(L, -2, "size");
    lua_pushinteger(L, st->mtime_ms);
    lua_setfield(L, -2, "mtimeMs");
    lua_pushinteger(L, (lua_Integer)st->links);
    lua_setfield(L, -2, "links");
    lua_pushinteger(L, st->mode);
    lua_setfield(L, -2, "mode");
    lua_pushinteger(L, (lua_Integer)st->ino);
    lua_setfield(L, -2, "ino");
    return 1;
}

static int l_stat(lua_State *L)
{
    const al_root *root = check_root(L, 1);
    al_stat st;
    al_err err = { 0 };
    if (al_root_stat(root, al_check_path(L, 2), &st, &err) < 0)
        return al_fail(L, &err);
    return push_stat(L, &st);
}

static int entries_gc(lua_State *L)
{
    al_entries_free(luaL_checkudata(L, 1, "al.entries"));
    return 0;
}

/* root:list(rel?) -> { { name, type, size, mtimeMs }, … } */
static int l_list(lua_State *L)
{
    static const luaL_Reg metas[] = { { "__gc", entries_gc }, { NULL, NULL } };
    const al_root *root = check_root(L, 1);
    const char *rel = lua_isnoneornil(L, 2) ? "." : al_check_path(L, 2);
    al_err err = { 0 };
    al_entries *e = lua_newuserdatauv(L, sizeof *e, 0);

    *e = (al_entries){ NULL, 0 };
    al_lua_type(L, "al.entries", NULL, metas);
    lua_setmetatable(L, -2);
    if (al_root_list(root, rel, e, &err) < 0)
        return al_fail(L, &err);
    lua_createtable(L, e->count < INT_MAX ? (int)e->count : INT_MAX, 0);
    for (size_t i = 0; i < e->count; i++) {
        lua_createtable(L, 0, 4);
        lua_pushstring(L, e->items[i].name);
        lua_setfield(L, -2, "name");
        lua_pushstring(L, type_names[e->items[i].type]);
        lua_setfield(L, -2, "type");
        lua_pushinteger(L, (lua_Integer)e->items[i].size);
        lua_setfield(L, -2, "size");
        lua_pushinteger(L, e->items[i].mtime_ms);
        lua_setfield(L, -2, "mtimeMs");
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    al_entries_free(e);
    return 1;
}

static int l_mkdir(lua_State *L)
{
    const al_root *root = check_root(L, 1);
    al_err err = { 0 };
    return done(L, al_root_mkdirs(root, al_check_path(L, 2), &err), &err);
}

static int remove_run(al_work *w)
{
    fs_op *op = (fs_op *)w;
    return al_root_remove(&op->root, op->path, &w->err);
}

static int l_remove(lua_State *L)
{
    const al_root *root = check_root(L, 1);
    const char *rel = al_check_path(L, 2);
    return op_start(L, op_new(L, root, rel), remove_run);
}

static int rename_run(al_work *w)
{
    fs_op *op = (fs_op *)w;
    return al_root_rename(&op->root, op->path, op->path2, &w->err);
}

static void op_path2(fs_op *op, const char *path)
{
    op->path2 = strdup(path);
    if (!op->path2)
        al_err_set(&op->work.err, AL_ENOMEM, "internal", path, "not enough memory");
}

static int l_rename(lua_State *L)
{
    const al_root *root = check_root(L, 1);
    const char *from = al_check_path(L, 2), *to = al_check_path(L, 3);
    fs_op *op = op_new(L, root, from);
    op_path2(op, to);
    return op_start(L, op, rename_run);
}

static int copy_run(al_work *w)
{
    fs_op *op = (fs_op *)w;
    return al_root_copy_file(&op->other, op->path2, &op->root, op->path, &op->how, &op->count,
                             &w->err);
}

static int count_push(lua_State *L, al_work *w)
{
    lua_pushinteger(L, (lua_Integer)((fs_op *)w)->count);
    return 1;
}

/* root:copy_in(source_root, source_rel, rel, { mode, parents, exclusive }?) -> bytes */
static int l_copy_in(lua_State *L)
{
    const al_root *root = check_root(L, 1), *source = check_root(L, 2);
    const char *from = al_check_path(L, 3), *to = al_check_path(L, 4);
    al_write_how how = check_how(L, 5);

    fs_op *op = op_new(L, root, to);
    op->how = how;
    op->work.push = count_push;
    op_path2(op, from);
    if (!op->work.err.code)
        al_root_copy(&op->other, source, &op->work.err);
    return op_start(L, op, copy_run);
}

/* ---- file handles ---- */

typedef struct file {
    int fd;
} file;

int al_file_fd(lua_State *L, int idx)
{
    file *f = luaL_testudata(L, idx, FILE_TYPE);
    if (!f)
        return -1;
    if (f->fd < 0)
        luaL_argerror(L, idx, "the file is closed");
    return f->fd;
}

static int check_file(lua_State *L)
{
    luaL_checkudata(L, 1, FILE_TYPE);
    return al_file_fd(L, 1);
}

static int file_close(lua_State *L)
{
    file *f = luaL_checkudata(L, 1, FILE_TYPE);
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
    return 0;
}

/* root:open(rel, mode?) -> file; r: read, rw: read and write, x: make new, a: append */
static int l_open(lua_State *L)
{
    static const char *const names[] = { "r", "rw", "x", "a", NULL };
    static const int flags[] = { O_RDONLY, O_RDWR, O_RDWR | O_CREAT | O_EXCL,
                                 O_WRONLY | O_CREAT | O_APPEND };
    const al_root *root = check_root(L, 1);
    const char *rel = al_check_path(L, 2);
    int mode = luaL_checkoption(L, 3, "r", names);
    struct stat st;
    al_err err = { 0 };
    file *f = lua_newuserdatauv(L, sizeof *f, 0);

    f->fd = -1;
    luaL_setmetatable(L, FILE_TYPE);
    f->fd = al_root_openat(root, rel, flags[mode] | O_NONBLOCK | O_NOCTTY, root->file_mode, &err);
    if (f->fd < 0)
        return al_fail(L, &err);
    if (fstat(f->fd, &st) < 0 || S_ISDIR(st.st_mode)) {
        al_err_set(&err, AL_EINVAL, "io_error", rel, "is a folder");
        return al_fail(L, &err);
    }
    return 1;
}

static fs_op *file_op(lua_State *L, int fd)
{
    fs_op *op = op_new(L, NULL, "file");
    op->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (op->fd < 0)
        al_err_errno(&op->work.err, errno, "file");
    return op;
}

static int file_read_run(al_work *w)
{
    fs_op *op = (fs_op *)w;
    while (op->bytes.len < op->max) {
        ssize_t n;
        if (al_buf_reserve(&op->bytes, op->max - op->bytes.len) < 0)
            return al_err_set(&w->err, AL_ENOMEM, "internal", "file", "not enough memory");
        n = pread(op->fd, op->bytes.data + op->bytes.len, op->max - op->bytes.len,
                  (off_t)(op->offset + op->bytes.len));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return al_err_errno(&w->err, errno, "file");
        if (n == 0)
            break;
        op->bytes.len += (size_t)n;
    }
    return AL_OK;
}

static int file_read_push(lua_State *L, al_work *w)
{
    fs_op *op = (fs_op *)w;
    lua_pushlstring(L, op->bytes.data ? op->bytes.data : "", op->bytes.len);
    return 1;
}

/* file:read(offset, n) -> bytes, shorter at the end of the file */
static int l_file_read(lua_State *L)
{
    int fd = check_file(L);
    lua_Integer offset = luaL_checkinteger(L, 2), n = luaL_checkinteger(L, 3);

    luaL_argcheck(L, offset >= 0, 2, "must not be negative");
    luaL_argcheck(L, n >= 0 && n <= READ_MAX, 3, "must be 0 to 1 GiB");
    fs_op *op = file_op(L, fd);
    op->offset = (uint64_t)offset;
    op->max = (size_t)n;
    op->work.push = file_read_push;
    return op_start(L, op, file_read_run);
}

static int file_write_run(al_work *w)
{
    fs_op *op = (fs_op *)w;
    return al_fs_write_all(op->fd, op->bytes.data, op->bytes.len, "file", &w->err);
}

/* file:write(bytes) -> true; where the last write ended, or at the end of the file in mode a */
static int l_file_write(lua_State *L)
{
    size_t len;
    int fd = check_file(L);
    const char *bytes = luaL_checklstring(L, 2, &len);
    fs_op *op = file_op(L, fd);
    op_bytes(op, bytes, len);
    return op_start(L, op, file_write_run);
}

static int file_sync_run(al_work *w)
{
    fs_op *op = (fs_op *)w;
    return fsync(op->fd) < 0 ? al_err_errno(&w->err, errno, "file") : AL_OK;
}

static int l_file_sync(lua_State *L)
{
    int fd = check_file(L);
    return op_start(L, file_op(L, fd), file_sync_run);
}

static int l_file_stat(lua_State *L)
{
    al_stat st;
    al_err err = { 0 };
    if (al_fd_stat(check_file(L), "file", &st, &err) < 0)
        return al_fail(L, &err);
    return push_stat(L, &st);
}

/* ---- locks ---- */

typedef struct lock {
    int fd;
} lock;

static lock *check_lock(lua_State *L)
{
    lock *k = luaL_checkudata(L, 1, LOCK_TYPE);
    if (k->fd < 0)
        luaL_argerror(L, 1, "the lock is released");
    return k;
}

static int lock_close(lua_State *L)
{
    lock *k = luaL_checkudata(L, 1, LOCK_TYPE);
    if (k->fd >= 0)
        close(k->fd);
    k->fd = -1;
    return 0;
}

/* lock(path) -> lock | nil, message, "session_locked", { holder = text } */
static int l_lock(lua_State *L)
{
    const char *path = al_check_path(L, 1);
    al_err err = { 0 };
    al_buf *holder = al_lua_buf(L, 0);
    lock *k = lua_newuserdatauv(L, sizeof *k, 0);

    k->fd = -1;
    luaL_setmetatable(L, LOCK_TYPE);
    k->fd = al_lock_take(path, holder, &err);
    if (k->fd >= 0)
        return 1;
    int n = al_fail(L, &err);
    if (err.code == AL_ELOCKED) { /* [… nil, message, id, fields] */
        lua_pushlstring(L, holder->data ? holder->data : "", holder->len);
        lua_setfield(L, -2, "holder");
    }
    return n;
}

static int l_lock_write(lua_State *L)
{
    size_t len;
    lock *k = check_lock(L);
    const char *text = luaL_checklstring(L, 2, &len);
    al_err err = { 0 };
    return done(L, al_lock_write(k->fd, text, len, "lock", &err), &err);
}

/* ---- the process ---- */

static int sync_run(al_work *w)
{
    fs_op *op = (fs_op *)w;
    op->fd = open(op->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (op->fd < 0 || fsync(op->fd) < 0)
        return al_err_errno(&w->err, errno, op->path);
    return AL_OK;
}

/* sync(path) -> true; of a folder: which names are in it */
static int l_sync(lua_State *L)
{
    return op_start(L, op_new(L, NULL, al_check_path(L, 1)), sync_run);
}

static int l_realpath(lua_State *L)
{
    const char *path = al_check_path(L, 1);
    char real[PATH_MAX];
    al_err err = { 0 };
    if (!realpath(path, real)) {
        al_err_errno(&err, errno, path);
        return al_fail(L, &err);
    }
    lua_pushstring(L, real);
    return 1;
}

static int l_temp_dir(lua_State *L)
{
    const char *parent = al_check_path(L, 1);
    const char *prefix = luaL_optstring(L, 2, "tmp-");
    al_err err = { 0 };
    al_buf *path = al_lua_buf(L, 0);
    if (al_temp_dir(parent, prefix, path, &err) < 0)
        return al_fail(L, &err);
    lua_pushlstring(L, path->data, path->len);
    return 1;
}

static int l_cwd(lua_State *L)
{
    char path[PATH_MAX];
    al_err err = { 0 };
    if (!getcwd(path, sizeof path)) {
        al_err_errno(&err, errno, "working folder");
        return al_fail(L, &err);
    }
    lua_pushstring(L, path);
    return 1;
}

/* home() -> the user's home folder: HOME, else what the system's user list says */
static int l_home(lua_State *L)
{
    char path[PATH_MAX];
    size_t size = sizeof path;
    al_err err = { 0 };
    int rc = uv_os_homedir(path, &size);
    uv_passwd_t user;
    if (rc == 0 && path[0] != '/' && (rc = uv_os_get_passwd(&user)) == 0) {
        /* HOME is empty or depends on where the program was started: that is no home */
        lua_pushstring(L, user.homedir ? user.homedir : "/");
        uv_os_free_passwd(&user);
        return 1;
    }
    if (rc < 0) {
        al_err_set(&err, AL_ENOTFOUND, "not_found", "home folder", uv_strerror(rc));
        return al_fail(L, &err);
    }
    lua_pushlstring(L, path, size);
    return 1;
}

static int l_env(lua_State *L)
{
    const char *value = getenv(luaL_checkstring(L, 1));
    lua_pushstring(L, value); /* nil when it is not set */
    return 1;
}

int luaopen_host_fs(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "cwd", l_cwd },
        { "env", l_env },
        { "home", l_home },
        { "lock", l_lock },
        { "open_root", l_open_root },
        { "realpath", l_realpath },
        { "sync", l_sync },
        { "temp_dir", l_temp_dir },
        { NULL, NULL },
    };
    static const luaL_Reg root_methods[] = {
        { "close", root_close }, { "copy_in", l_copy_in }, { "list", l_list },
        { "mkdir", l_mkdir },    { "open", l_open },       { "read", l_read },
        { "remove", l_remove },  { "rename", l_rename },   { "stat", l_stat },
        { "write", l_write },    { NULL, NULL },
    };
    static const luaL_Reg root_metas[] = { { "__gc", root_close },
                                           { "__close", root_close },
                                           { NULL, NULL } };
    static const luaL_Reg file_methods[] = {
        { "close", file_close }, { "read", l_file_read },   { "stat", l_file_stat },
        { "sync", l_file_sync }, { "write", l_file_write }, { NULL, NULL },
    };
    static const luaL_Reg file_metas[] = { { "__gc", file_close },
                                           { "__close", file_close },
                                           { NULL, NULL } };
    static const luaL_Reg lock_methods[] = { { "close", lock_close },
                                             { "write", l_lock_write },
                                             { NULL, NULL } };
    static const luaL_Reg lock_metas[] = { { "__gc", lock_close },
                                           { "__close", lock_close },
                                           { NULL, NULL } };

    al_lua_type(L, ROOT_TYPE, root_methods, root_metas);
    al_lua_type(L, FILE_TYPE, file_methods, file_metas);
    al_lua_type(L, LOCK_TYPE, lock_methods, lock_metas);
    luaL_newlib(L, functions);
    *new_root(L) = al_root_any;
    lua_setfield(L, -2, "any");
    return 1;
}
