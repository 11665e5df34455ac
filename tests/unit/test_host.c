#include "core/host.h"
#include "core/mem.h"
#include "lua_host.h"
#include "unit.h"

static void returns_the_code_of_main(void **state)
{
    char *why;

    assert_int_equal(run_lua(*state,
                             "return { main = function(argv) assert(argv[0] == 'test' and "
                             "#argv == 2) return 7 end }",
                             &why),
                     7);
    assert_int_equal(run_lua(*state, "return { main = function() return 'text' end }", &why), 0);
    assert_int_equal(run_lua(*state, "return { main = function() end }", &why), 0);
}

static void says_where_main_failed(void **state)
{
    char *why;

    assert_int_equal(run_lua(*state, "return { main = function()\n error 'no luck' end }", &why),
                     -1);
    assert_non_null(strstr(why, "test:2: no luck\nstack traceback:"));
    free(why);
}

static void names_a_module_that_is_missing(void **state)
{
    lua_host *l = *state;
    char *why = NULL;
    int code;

    assert_int_equal(al_host_main(l->host, "no.such.module", "main", &code, &why), AL_ESCRIPT);
    assert_non_null(strstr(why, "no.such.module"));
    free(why);
}

static void reports_a_deadlock_with_its_place(void **state)
{
    char *why;

    assert_int_equal(run_lua(*state,
                             "local task = require 'std.task'\n"
                             "return { main = function()\n task.channel():receive() end }",
                             &why),
                     -1);
    assert_non_null(strstr(why, "deadlock"));
    assert_non_null(strstr(why, "test:3:"));
    free(why);
}

static void reports_once_what_nobody_waits_for(void **state)
{
    lua_host *l = *state;
    char *why;

    assert_int_equal(
        run_lua(l,
                "local task = require 'std.task'\n"
                "return { main = function()\n"
                " task.spawn(error, 'unheard', 0) task.sleep(1) collectgarbage() end }",
                &why),
        0);
    char *first = strstr(l->reports, "unheard");
    assert_non_null(first);
    assert_null(strstr(first + 1, "unheard"));
}

static void closes_what_still_runs(void **state)
{
    char *why;

    /* one sleeps, one closes slowly, one never gives up */
    assert_int_equal(
        run_lua(*state,
                "local task = require 'std.task'\n"
                "return { main = function()\n"
                " task.spawn(task.sleep, 100000)\n"
                " task.spawn(function() local _ <close> = setmetatable({}, { __close = function()\n"
                "   task.sleep(20) end }) task.sleep(100000) end)\n"
                " task.spawn(function() while true do pcall(task.sleep, 100000) end end)\n"
                " task.sleep(1) return 3 end }",
                &why),
        3);
}

static void gives_a_warning_to_the_report(void **state)
{
    lua_host *l = *state;
    char *why;

    assert_int_equal(
        run_lua(l, "return { main = function() warn('beware ', 'of this') warn '@off' end }", &why),
        0);
    assert_string_equal(l->reports, "beware of this");
}

static void frees_all_when_memory_runs_out_at_its_start(void **state)
{
    char *argv[] = { "test", NULL };
    al_host_options o = { .argc = 1, .argv = argv, .helper_dir = "/somewhere" };
    (void)state;

    for (int lua = 0; lua <= 1; lua++) {
        unsigned long n = 1;
        al_host *host = NULL;
        al_err err = { 0 };
        int rc;

        do {
            al_mem_fail(lua, n);
            rc = al_host_open(&host, &o, &err);
            if (rc != AL_OK)
                assert_int_equal(rc, AL_ENOMEM);
            n += lua ? 1 + n / 50 : 1;
        } while (al_mem_fail(lua, 0) && rc != AL_OK);
        assert_int_equal(rc, AL_OK);
        assert_true(n > 3);
        al_host_close(host);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(returns_the_code_of_main, lua_host_open, lua_host_close),
        cmocka_unit_test_setup_teardown(says_where_main_failed, lua_host_open, lua_host_close),
        cmocka_unit_test_setup_teardown(names_a_module_that_is_missing, lua_host_open,
                                        lua_host_close),
        cmocka_unit_test_setup_teardown(reports_a_deadlock_with_its_place, lua_host_open,
                                        lua_host_close),
        cmocka_unit_test_setup_teardown(reports_once_what_nobody_waits_for, lua_host_open,
                                        lua_host_close),
        cmocka_unit_test_setup_teardown(closes_what_still_runs, lua_host_open, lua_host_close),
        cmocka_unit_test_setup_teardown(gives_a_warning_to_the_report, lua_host_open,
                                        lua_host_close),
        cmocka_unit_test(frees_all_when_memory_runs_out_at_its_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
