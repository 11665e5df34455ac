#include "core/loader.h"
#include "lua_host.h"
#include "unit.h"
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static void write_file(const char *name, const char *text)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int make_folder(void **state)
{
    strcpy(root, "/tmp/test-loader-XXXXXX");
    if (!mkdtemp(root))
        return -1;
    return lua_host_open(state);
}

static int remove_folder(void **state)
{
    char command[128];

    unsetenv("ALISIO_ASSET_PATH");
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command) | lua_host_close(state);
}

static void lists_assets_by_name(void **state)
{
    (void)state;
    assert_true(al_asset_count() > 10);
    for (size_t i = 0; i < al_asset_count(); i++) {
        al_asset a = al_asset_at(i), b = al_asset_at(i > 0 ? i - 1 : 0);
        assert_int_equal(strlen(a.sha256), 64);
        assert_int_equal(a.bytes[a.size], 0);
        if (i > 0)
            assert_true(strcmp(b.name, a.name) < 0);
    }
}

static void reads_each_asset(void **state)
{
    al_buf own;
    const char *bytes;
    size_t size;
    al_err err = { 0 };
    (void)state;

    al_buf_init(&own, 0);
    for (size_t i = 0; i < al_asset_count(); i++) {
        al_asset a = al_asset_at(i);
        assert_int_equal(al_asset_read(a.name, &own, &bytes, &size, NULL), AL_OK);
        assert_ptr_equal(bytes, a.bytes);
        assert_int_equal(size, a.size);
    }
    assert_int_equal(al_asset_read("lua/nothing.lua", &own, &bytes, &size, &err), AL_ENOTFOUND);
    assert_string_equal(err.object, "lua/nothing.lua");
    assert_string_equal(err.id, "not_found");
    al_buf_free(&own);
}

static void puts_a_folder_in_front(void **state)
{
    al_buf own;
    const char *bytes;
    size_t size;
    char *why;

    write_file("stdlib/lua/std/asset.lua", "return { mine = true }");
    write_file("lua/added/thing.lua", "return 'added'");
    write_file("lua/.hidden/x.lua", "");
    setenv("ALISIO_ASSET_PATH", root, 1);
    al_buf_init(&own, 0);
    assert_int_equal(al_asset_read("stdlib/lua/std/asset.lua", &own, &bytes, &size, NULL), AL_OK);
    assert_string_equal(bytes, "return { mine = true }");
    al_buf_clear(&own);
    assert_int_equal(al_asset_read("stdlib/lua/std/path.lua", &own, &bytes, &size, NULL), AL_OK);
    assert_int_equal(al_asset_list_front("lua/", &own), AL_OK);
    assert_string_equal(own.data, "lua/added/thing.lua");
    assert_int_equal(own.len, strlen(own.data) + 1);
    al_buf_free(&own);
    assert_int_equal(
        run_lua(*state,
                "assert(require 'std.asset'.mine and require 'added.thing' == 'added')\n"
                "return { main = function() end }",
                &why),
        0);
}

static void names_the_asset_in_errors(void **state)
{
    char *why;

    write_file("lua/broken.lua", "return (");
    write_file("lua/binary.lua", "\033Lua");
    setenv("ALISIO_ASSET_PATH", root, 1);
    assert_int_equal(run_lua(*state, "return { main = function() require 'broken' end }", &why),
                     -1);
    assert_non_null(strstr(why, "lua/broken.lua:1:"));
    free(why);
    assert_int_equal(run_lua(*state, "return { main = function() require 'binary' end }", &why),
                     -1);
    assert_non_null(strstr(why, "attempt to load a binary chunk"));
    free(why);
    unsetenv("ALISIO_ASSET_PATH");
    assert_int_equal(
        run_lua(*state, "return { main = function() require('std.task').map(nil) end }", &why), -1);
    assert_non_null(strstr(why, "stdlib/lua/std/task.lua:"));
    free(why);
}

static void searches_folders_after_the_program(void **state)
{
    lua_host *l = *state;
    char *why;

    write_file("std/path.lua", "error 'the wrong one'");
    write_file("mine.lua", "return 1");
    write_file("more/init.lua", "return 2");
    al_loader_add_path(al_host_lua(l->host), root);
    assert_int_equal(
        run_lua(l,
                "require 'std.path'\n"
                "return { main = function() return require 'mine' + require 'more' end }",
                &why),
        3);
}

static void loads_nothing_from_the_working_folder(void **state)
{
    char *why, before[4096];

    assert_non_null(getcwd(before, sizeof before));
    write_file("here.lua", "return 1");
    assert_int_equal(chdir(root), 0);
    assert_int_equal(
        run_lua(*state, "return { main = function() return pcall(require, 'here') and 1 or 0 end }",
                &why),
        0);
    assert_int_equal(chdir(before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_assets_by_name),
        cmocka_unit_test(reads_each_asset),
        cmocka_unit_test_setup_teardown(puts_a_folder_in_front, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(names_the_asset_in_errors, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(searches_folders_after_the_program, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(loads_nothing_from_the_working_folder, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
