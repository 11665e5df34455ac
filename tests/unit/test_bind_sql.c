/* bind_sql: what a script leaves open ends with the host. */
#include "lua_host.h"
#include "unit.h"
#include <sqlite3.h>
#include <unistd.h>

static int64_t count_rows(const char *path)
{
    sqlite3 *db;
    sqlite3_stmt *stmt;
    int64_t n = -1;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM t", -1, &stmt, NULL), SQLITE_OK);
    if (sqlite3_step(stmt) == SQLITE_ROW)
        n = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return n;
}

static void a_host_closes_with_queries_and_transactions_open(void **state)
{
    static const char body[] =
        "local sql, task = require 'std.sql', require 'std.task'\n"
        "return { main = function()\n"
        "  local path = PATH\n"
        "  local db, other = assert(sql.open(path)), assert(sql.open(':memory:'))\n"
        "  assert(db:exec 'CREATE TABLE t(x)')\n"
        "  local series = 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) '\n"
        "  kept = { other:query(series .. 'SELECT x FROM c') }\n"
        "  task.spawn(function() return other:value(series .. 'SELECT count(*) FROM c') end)\n"
        "  task.spawn(function()\n"
        "    db:transaction(function() db:run 'INSERT INTO t VALUES (1)' task.sleep(100000) end)\n"
        "  end)\n"
        "  task.spawn(function() db:run 'INSERT INTO t VALUES (2)' end)\n"
        "  task.sleep(50)\n"
        "  return 7\n"
        "end }\n";
    lua_host *l = *state;
    char path[] = "/tmp/test_bind_sql.XXXXXX", *why;
    int fd = mkstemp(path);

    close(fd);
    lua_pushstring(al_host_lua(l->host), path);
    lua_setglobal(al_host_lua(l->host), "PATH");
    int code = run_lua(l, body, &why);
    if (why)
        print_message("%s\n", why);
    free(why);
    assert_int_equal(code, 7);
    al_host_close(l->host);
    l->host = NULL;
    assert_string_equal(l->reports, "");
    assert_int_equal(count_rows(path), 0);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_host_closes_with_queries_and_transactions_open,
                                        lua_host_open, lua_host_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
