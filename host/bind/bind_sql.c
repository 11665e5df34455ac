/* host.sql: prim/sql for Lua, as std.sql uses it. An operation owns its job, and what the job makes
 * (a connection, a cursor) until the push function hands that to Lua. */
#include "core/host.h"
#include "core/mem.h"
#include "core/task.h"
#include "prim/sql.h"
#include <lauxlib.h>
#include <limits.h>
#include <lua.h>
#include <stdlib.h>
#include <string.h>

#define DB     "al.sql"
#define CURSOR "al.sql_cursor"

int luaopen_host_sql(lua_State *L);

typedef struct sql_op {
    al_op op;
    al_sql_job job;
    al_sql *db;            /* AL_SQL_OPEN: until Lua has it */
    al_sql_cursor *cursor; /* AL_SQL_QUERY: until Lua has it */
} sql_op;

/* --- what runs when a job is done --- */

static void push_cell(lua_State *L, const al_sql_values *cells, size_t i)
{
    const al_sql_value *v = &cells->v[i];

    switch (v->type) {
    case AL_SQL_NULL: lua_pushnil(L); break;
    case AL_SQL_INTEGER: lua_pushinteger(L, v->integer); break;
    case AL_SQL_REAL: lua_pushnumber(L, v->real); break;
    case AL_SQL_TEXT:
    case AL_SQL_BLOB: lua_pushlstring(L, v->len ? cells->bytes.data + v->at : "", v->len); break;
    }
}

/* A row is { 1 = …, 2 = …, n = columns, name = … }; a name wins over n, the first of two over the
 * second. */
static void push_row(lua_State *L, int names, const al_sql_values *cells, size_t first, int columns)
{
    lua_createtable(L, columns, columns + 1);
    lua_pushinteger(L, columns);
    lua_setfield(L, -2, "n");
    for (int i = columns; i >= 1; i--) {
        push_cell(L, cells, first + (size_t)i - 1); /* [row, cell] */
        lua_rawgeti(L, names, i);
        lua_pushvalue(L, -2); /* [row, cell, name, cell] */
        lua_rawset(L, -4);
        lua_rawseti(L, -2, i);
    }
}

static void push_rows(lua_State *L, const al_sql_job *job)
{
    int columns = al_sql_cursor_columns(job->cursor);
    size_t rows = columns ? job->cells.n / (size_t)columns : 0;

    lua_createtable(L, columns, 0);
    for (int i = 0; i < columns; i++) {
        lua_pushstring(L, al_sql_cursor_name(job->cursor, i));
        lua_rawseti(L, -2, i + 1);
    }
    int names = lua_gettop(L);
    lua_createtable(L, (int)rows, 0); /* [names, list] */
    for (size_t i = 0; i < rows; i++) {
        push_row(L, names, &job->cells, i * (size_t)columns, columns);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_remove(L, names);
}

static int push_answer(lua_State *L, void *arg)
{
    sql_op *op = arg;
    al_sql_job *job = &op->job;

    luaL_checkstack(L, 10, "sql");
    if (job->err.code)
        return al_fail(L, &job->err);
    switch (job->kind) {
    case AL_SQL_OPEN: {
        al_sql **slot = lua_newuserdatauv(L, sizeof *slot, 0);
        *slot = op->db;
        op->db = NULL;
        luaL_setmetatable(L, DB);
        return 1;
    }
    case AL_SQL_RUN:
        lua_createtable(L, 0, 2);
        lua_pushinteger(L, job->changes);
        lua_setfield(L, -2, "changes");
        lua_pushinteger(L, job->last_id);
        lua_setfield(L, -2, "lastId");
        return 1;
    case AL_SQL_QUERY: {
        push_rows(L, job);
        if (job->end)
            return 1;
        al_sql_cursor **slot = lua_newuserdatauv(L, sizeof *slot, 0);
        *slot = op->cursor;
        op->cursor = NULL;
        luaL_setmetatable(L, CURSOR);
        return 2;
    }
    case AL_SQL_NEXT:
        push_rows(L, job);
        lua_pushboolean(L, job->end);
        return 2;
    default: lua_pushboolean(L, 1); return 1;
    }
}

static void op_free(sql_op *op)
{
    al_sql_cursor_release(op->cursor);
    al_sql_release(op->db);
    al_sql_job_free(&op->job);
    free(op);
}

static void op_done(al_sql_job *job)
{
    sql_op *op = (sql_op *)((char *)job - offsetof(sql_op, job));
    al_op_done(&op->op, push_answer, op);
    op_free(op);
}

static void op_cancel(al_op *op)
{
    al_sql_cancel(&((sql_op *)op)->job);
}

/* --- what Lua calls --- */

static al_sql *check_db(lua_State *L)
{
    al_sql **slot = luaL_checkudata(L, 1, DB);
    if (!*slot)
        luaL_error(L, "the database is closed");
    return *slot;
}

static const char *check_sql(lua_State *L, int arg)
{
    size_t len;
    const char *sql = luaL_checklstring(L, arg, &len);
    luaL_argcheck(L, strlen(sql) == len, arg, "a NUL byte in the statement");
    return sql;
}

/* A blob is { bytes }, as std.sql.blob makes it. */
static bool is_blob(lua_State *L, int arg)
{
    if (!lua_istable(L, arg))
        return false;
    bool blob = lua_rawgeti(L, arg, 1) == LUA_TSTRING;
    lua_pop(L, 1);
    return blob;
}

static void check_params(lua_State *L, int first)
{
    luaL_checkstack(L, 2, "sql");
    for (int i = first; i <= lua_gettop(L); i++)
        switch (lua_type(L, i)) {
        case LUA_TNIL:
        case LUA_TBOOLEAN:
        case LUA_TNUMBER:
        case LUA_TSTRING: break;
        default:
            if (!is_blob(L, i))
                luaL_argerror(L, i, "nil, boolean, number, string or blob expected");
        }
}

/* Copies the checked arguments; raises nothing. */
static int add_params(lua_State *L, int first, al_sql_values *list)
{
    int rc = AL_OK;

    for (int i = first; i <= lua_gettop(L) && rc == AL_OK; i++) {
        size_t len;
        const char *text;
        switch (lua_type(L, i)) {
        case LUA_TNIL: rc = al_sql_add_null(list); break;
        case LUA_TBOOLEAN: rc = al_sql_add_integer(list, lua_toboolean(L, i)); break;
        case LUA_TNUMBER:
            rc = lua_isinteger(L, i) ? al_sql_add_integer(list, lua_tointeger(L, i))
                                     : al_sql_add_real(list, lua_tonumber(L, i));
            break;
        case LUA_TSTRING:
            text = lua_tolstring(L, i, &len);
            rc = al_sql_add_bytes(list, AL_SQL_TEXT, text, len);
            break;
        default:
            lua_rawgeti(L, i, 1);
            text = lua_tolstring(L, -1, &len);
            rc = al_sql_add_bytes(list, AL_SQL_BLOB, text, len);
            lua_pop(L, 1);
        }
    }
    return rc;
}

static sql_op *op_new(al_task *task, al_sql_kind kind)
{
    sql_op *op = al_mem_zero(sizeof *op);
    if (!op)
        return NULL;
    op->job.kind = kind;
    op->job.owner = task;
    op->job.done = op_done;
    return op;
}

static int no_memory(lua_State *L, sql_op *op)
{
    if (op)
        op_free(op);
    return luaL_error(L, "not enough memory");
}

static int submit(lua_State *L, al_task *task, al_sql *db, sql_op *op)
{
    al_err err = { 0 };

    if (al_sql_submit(db, &op->job, &err) < 0) {
        op_free(op);
        return al_fail(L, &err);
    }
    return al_op_wait(L, task, &op->op, op_cancel);
}

static void db_gone(void *host)
{
    al_host_drop(host);
}

static int l_open(lua_State *L) /* open(path, readonly, wal, private, busyMs) */
{
    const char *path = check_sql(L, 1);
    unsigned flags = (lua_toboolean(L, 2) ? AL_SQL_READONLY : 0) |
                     (lua_toboolean(L, 3) ? AL_SQL_WAL : 0) |
                     (lua_toboolean(L, 4) ? AL_SQL_PRIVATE : 0);
    lua_Integer busy_ms = luaL_optinteger(L, 5, AL_SQL_BUSY_MS);
    luaL_argcheck(L, busy_ms >= 0 && busy_ms <= INT_MAX, 5, "milliseconds expected");
    al_task *task = al_task_check(L);
    al_host *host = al_host_of(L);
    sql_op *op = op_new(task, AL_SQL_OPEN);

    if (!op || al_sql_new(&op->db, al_host_loop(host), path, flags, (unsigned)busy_ms) < 0)
        return no_memory(L, op);
    al_host_hold(host); /* a host is closed when its databases are */
    al_sql_on_gone(op->db, db_gone, host);
    return submit(L, task, op->db, op);
}

static int statement(lua_State *L, al_sql_kind kind)
{
    al_sql *db = check_db(L);
    const char *sql = check_sql(L, 2);
    check_params(L, 3);
    al_task *task = al_task_check(L);
    sql_op *op = op_new(task, kind);

    if (!op || !(op->job.sql = strdup(sql)) || add_params(L, 3, &op->job.params) < 0)
        return no_memory(L, op);
    if (kind == AL_SQL_QUERY) {
        if (al_sql_cursor_new(&op->cursor, db) < 0)
            return no_memory(L, op);
        op->job.cursor = op->cursor;
    }
    return submit(L, task, db, op);
}

static int l_exec(lua_State *L) /* db:exec(sql) */
{
    lua_settop(L, 2);
    return statement(L, AL_SQL_EXEC);
}

static int l_run(lua_State *L) /* db:run(sql, …) -> { changes, lastId } */
{
    return statement(L, AL_SQL_RUN);
}

static int l_query(lua_State *L) /* db:query(sql, …) -> rows, cursor when more follow */
{
    return statement(L, AL_SQL_QUERY);
}

static int plain(lua_State *L, al_sql_kind kind)
{
    al_sql *db = check_db(L);
    al_task *task = al_task_check(L);
    sql_op *op = op_new(task, kind);
    return op ? submit(L, task, db, op) : no_memory(L, NULL);
}

static int l_begin(lua_State *L)
{
    return plain(L, AL_SQL_BEGIN);
}

static int l_commit(lua_State *L)
{
    return plain(L, AL_SQL_COMMIT);
}

/* Never waits, so that a cancelled task may call it; owner is what db:owner() said in the task that
 * began the transaction. */
static int l_rollback(lua_State *L) /* db:rollback(owner) */
{
    al_sql **slot = luaL_checkudata(L, 1, DB);
    luaL_checktype(L, 2, LUA_TLIGHTUSERDATA);
    if (*slot)
        al_sql_rollback(*slot, lua_touserdata(L, 2));
    return 0;
}

static int l_owner(lua_State *L)
{
    lua_pushlightuserdata(L, al_task_check(L));
    return 1;
}

static int l_close(lua_State *L)
{
    al_sql **slot = luaL_checkudata(L, 1, DB);
    if (!*slot) {
        lua_pushboolean(L, 1);
        return 1;
    }
    al_sql *db = *slot;
    al_task *task = al_task_check(L);
    sql_op *op = op_new(task, AL_SQL_CLOSE);
    if (!op)
        return no_memory(L, NULL);
    *slot = NULL;
    op->db = db; /* given up when the job is done */
    return submit(L, task, db, op);
}

static int l_db_gc(lua_State *L)
{
    al_sql **slot = luaL_checkudata(L, 1, DB);
    al_sql_release(*slot);
    *slot = NULL;
    return 0;
}

static int l_next(lua_State *L) /* cursor:next() -> rows, end */
{
    al_sql_cursor **slot = luaL_checkudata(L, 1, CURSOR);
    if (!*slot)
        return luaL_error(L, "the query is closed");
    al_task *task = al_task_check(L);
    sql_op *op = op_new(task, AL_SQL_NEXT);
    if (!op)
        return no_memory(L, NULL);
    op->job.cursor = *slot;
    return submit(L, task, al_sql_cursor_db(*slot), op);
}

static int l_cursor_close(lua_State *L) /* never waits */
{
    al_sql_cursor **slot = luaL_checkudata(L, 1, CURSOR);
    al_sql_cursor_release(*slot);
    *slot = NULL;
    return 0;
}

static void make_class(lua_State *L, const char *name, const luaL_Reg *methods, lua_CFunction gc)
{
    luaL_newmetatable(L, name);
    luaL_setfuncs(L, methods, 0);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, gc);
    lua_setfield(L, -2, "__gc");
    lua_pop(L, 1);
}

int luaopen_host_sql(lua_State *L)
{
    static const luaL_Reg db[] = { { "exec", l_exec },     { "run", l_run },
                                   { "query", l_query },   { "begin", l_begin },
                                   { "commit", l_commit }, { "owner", l_owner },
                                   { "close", l_close },   { "rollback", l_rollback },
                                   { NULL, NULL } };
    static const luaL_Reg cursor[] = { { "next", l_next },
                                       { "close", l_cursor_close },
                                       { NULL, NULL } };
    static const luaL_Reg module[] = { { "open", l_open }, { NULL, NULL } };

    make_class(L, DB, db, l_db_gc);
    make_class(L, CURSOR, cursor, l_cursor_close);
    luaL_newlib(L, module);
    return 1;
}
