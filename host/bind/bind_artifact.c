/* host.artifact: output folders (al.source) for Lua, over prim/artifact and prim/archive. A scan is
 * shared by its handle and the work that reads from it; the last of them closes it. */
#include "base/hash.h"
#include "bind/file.h"
#include "bind/util.h"
#include "core/mem.h"
#include "prim/archive.h"
#include "prim/artifact.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOURCE_TYPE "al.source"

int luaopen_host_artifact(lua_State *L);

typedef struct shared {
    al_source *source;
    int holds; /* host thread only */
} shared;

static void let_go(shared *s)
{
    if (!s || --s->holds > 0)
        return;
    al_source_close(s->source);
    free(s);
}

typedef struct artifact_op {
    al_work work;
    shared *from;
    al_source *scanned; /* until Lua has it */
    const al_source_item *item;
    al_source_limits limits;
    al_source_copied copied;
    char *path, *dest;
    al_buf bytes;
    int fd;
    char hex[65];
} artifact_op;

static void op_drop(al_work *w)
{
    artifact_op *op = (artifact_op *)w;
    let_go(op->from);
    al_source_close(op->scanned);
    free(op->path);
    free(op->dest);
    al_buf_free(&op->bytes);
    if (op->fd >= 0)
        close(op->fd);
    free(op);
}

static artifact_op *op_new(lua_State *L, shared *from, const char *path, const char *dest)
{
    artifact_op *op = al_work_new(L, sizeof *op);
    op->work.drop = op_drop;
    op->from = from;
    op->fd = -1;
    if (from)
        from->holds++;
    op->path = strdup(path);
    op->dest = dest ? strdup(dest) : NULL;
    if (!op->path || (dest && !op->dest))
        al_err_set(&op->work.err, AL_ENOMEM, "internal", path, "not enough memory");
    return op;
}

static int op_start(lua_State *L, artifact_op *op, int (*run)(al_work *w),
                    int (*push)(lua_State *L, al_work *w))
{
    op->work.run = run;
    op->work.push = push;
    return op->work.err.code ? al_work_abort(L, &op->work) : al_work_start(L, &op->work);
}

/* ---- digests and types ---- */

static int digest_run(al_work *w)
{
    artifact_op *op = (artifact_op *)w;
    if (op->fd >= 0)
        return al_sha256_fd(op->fd, op->hex, &w->err);
    return al_artifact_digest(op->path, op->hex, &w->err);
}

static int digest_push(lua_State *L, al_work *w)
{
    lua_pushstring(L, ((artifact_op *)w)->hex);
    return 1;
}

/* digest(path or file) -> hex */
static int l_digest(lua_State *L)
{
    int fd = al_file_fd(L, 1);
    artifact_op *op = op_new(L, NULL, fd < 0 ? al_check_path(L, 1) : "file", NULL);

    if (fd >= 0) {
        op->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        if (op->fd < 0)
            al_err_errno(&op->work.err, errno, "file");
    }
    return op_start(L, op, digest_run, digest_push);
}

static int l_digest_bytes(lua_State *L)
{
    size_t len;
    char hex[65];
    const char *bytes = luaL_checklstring(L, 1, &len);

    if (al_sha256_of(bytes, len, hex) < 0)
        return luaL_error(L, "SHA-256 failed");
    lua_pushstring(L, hex);
    return 1;
}

static int l_sniff(lua_State *L)
{
    size_t len;
    const char *bytes = luaL_checklstring(L, 1, &len);
    lua_pushstring(L, al_artifact_sniff(bytes, len < AL_SNIFF_BYTES ? len : AL_SNIFF_BYTES));
    return 1;
}

/* name(raw) -> its composed form; nil, reason when it may not be kept */
static int l_name(lua_State *L)
{
    size_t len;
    const char *raw = luaL_checklstring(L, 1, &len);
    al_buf *nfc = al_lua_buf(L, 0);
    const char *reason = al_artifact_name(raw, len, nfc);

    if (nfc->failed)
        return luaL_error(L, "not enough memory");
    if (!reason)
        return lua_pushlstring(L, nfc->data, nfc->len), 1;
    lua_pushnil(L);
    lua_pushstring(L, reason);
    return 2;
}

/* ---- scans ---- */

static int scan_run(al_work *w)
{
    artifact_op *op = (artifact_op *)w;
    return al_source_scan(&op->scanned, op->path, &op->limits, &w->err);
}

static int scan_push(lua_State *L, al_work *w)
{
    artifact_op *op = (artifact_op *)w;
    shared **slot = lua_newuserdatauv(L, sizeof *slot, 0);

    *slot = NULL;
    luaL_setmetatable(L, SOURCE_TYPE);
    *slot = al_mem_zero(sizeof **slot);
    if (!*slot)
        return luaL_error(L, "not enough memory");
    **slot = (shared){ op->scanned, 1 };
    op->scanned = NULL;
    return 1;
}

static uint64_t check_limit(lua_State *L, const char *key)
{
    lua_Integer n = al_opt_int(L, 2, key, -1);
    return n < 0 ? UINT64_MAX : (uint64_t)n;
}

/* scan(folder, { maxFiles, maxFileBytes, maxOutputBytes }?) -> source */
static int l_scan(lua_State *L)
{
    const char *folder = al_check_path(L, 1);
    al_source_limits limits = { check_limit(L, "maxFiles"), check_limit(L, "maxFileBytes"),
                                check_limit(L, "maxOutputBytes") };
    artifact_op *op = op_new(L, NULL, folder, NULL);
    op->limits = limits;
    return op_start(L, op, scan_run, scan_push);
}

static shared *check_source(lua_State *L)
{
    shared **slot = luaL_checkudata(L, 1, SOURCE_TYPE);
    luaL_argcheck(L, *slot != NULL, 1, "the scan is closed");
    return *slot;
}

static int source_close(lua_State *L)
{
    shared **slot = luaL_checkudata(L, 1, SOURCE_TYPE);
    let_go(*slot);
    *slot = NULL;
    return 0;
}

/* source:list() -> { { path, bytes, dir }, … } sorted by path */
static int l_list(lua_State *L)
{
    const al_source *s = check_source(L)->source;
    size_t n = al_source_count(s);

    lua_newtable(L);
    for (size_t i = 0; i < n; i++) {
        const al_source_item *item = al_source_at(s, i);
        lua_createtable(L, 0, 3);
        lua_pushstring(L, item->path);
        lua_setfield(L, -2, "path");
        lua_pushinteger(L, (lua_Integer)item->bytes);
        lua_setfield(L, -2, "bytes");
        lua_pushboolean(L, item->dir);
        lua_setfield(L, -2, "dir");
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

static const al_source_item *check_file(lua_State *L, const al_source *s)
{
    const al_source_item *item = al_source_find(s, al_check_path(L, 2));
    luaL_argcheck(L, item && !item->dir, 2, "no file of the scan");
    return item;
}

static int read_sink(void *data, const void *bytes, size_t len, al_err *err)
{
    artifact_op *op = data;
    int rc = al_buf_add(&op->bytes, bytes, len);
    return rc < 0 ? al_err_set(err, rc, "internal", op->path, "not enough memory") : AL_OK;
}

static int read_run(al_work *w)
{
    artifact_op *op = (artifact_op *)w;
    return al_source_stream(op->from->source, op->item, read_sink, op, &w->err);
}

static int read_push(lua_State *L, al_work *w)
{
    artifact_op *op = (artifact_op *)w;
    lua_pushlstring(L, op->bytes.data ? op->bytes.data : "", op->bytes.len);
    return 1;
}

/* source:read(path) -> bytes; the caller has looked at its size */
static int l_read(lua_State *L)
{
    shared *s = check_source(L);
    const al_source_item *item = check_file(L, s->source);
    artifact_op *op = op_new(L, s, item->path, NULL);
    op->item = item;
    return op_start(L, op, read_run, read_push);
}

static int copied_push(lua_State *L, al_work *w)
{
    const al_source_copied *c = &((artifact_op *)w)->copied;

    lua_createtable(L, 0, 3);
    lua_pushinteger(L, (lua_Integer)c->bytes);
    lua_setfield(L, -2, "bytes");
    lua_pushstring(L, c->sha256);
    lua_setfield(L, -2, "sha256");
    lua_pushstring(L, c->mime);
    lua_setfield(L, -2, "mime");
    return 1;
}

static int copy_run(al_work *w)
{
    artifact_op *op = (artifact_op *)w;
    return al_source_copy(op->from->source, op->item, op->dest, &op->copied, &w->err);
}

/* source:copy(path, dest) -> { bytes, sha256, mime } */
static int l_copy(lua_State *L)
{
    shared *s = check_source(L);
    const al_source_item *item = check_file(L, s->source);
    artifact_op *op = op_new(L, s, item->path, al_check_path(L, 3));
    op->item = item;
    return op_start(L, op, copy_run, copied_push);
}

static int zip_run(al_work *w)
{
    artifact_op *op = (artifact_op *)w;
    return al_archive_zip(op->from->source, op->path, op->dest, &op->copied, &w->err);
}

/* source:zip(folder, dest) -> { bytes, sha256, mime }; folder "": everything */
static int l_zip(lua_State *L)
{
    shared *s = check_source(L);
    const char *folder = al_check_path(L, 2), *dest = al_check_path(L, 3);
    return op_start(L, op_new(L, s, folder, dest), zip_run, copied_push);
}

int luaopen_host_artifact(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "digest", l_digest }, { "digest_bytes", l_digest_bytes },
        { "name", l_name },     { "scan", l_scan },
        { "sniff", l_sniff },   { NULL, NULL }
    };
    static const luaL_Reg methods[] = { { "close", source_close }, { "copy", l_copy },
                                        { "list", l_list },        { "read", l_read },
                                        { "zip", l_zip },          { NULL, NULL } };
    static const luaL_Reg metas[] = { { "__gc", source_close },
                                      { "__close", source_close },
                                      { NULL, NULL } };

    al_lua_type(L, SOURCE_TYPE, methods, metas);
    luaL_newlib(L, functions);
    return 1;
}
