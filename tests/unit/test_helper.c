#include "core/host.h"
#include "unit.h"
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/test-helper-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[128];
    (void)state;

    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void make_program(const char *name, mode_t mode)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
    assert_int_equal(chmod(path, mode), 0);
}

static void looks_only_in_the_folder_it_was_given(void **state)
{
    al_host *host = NULL;
    al_buf path;
    al_err err = { 0 };
    char wanted[128];
    (void)state;

    make_program("engine", 0700);
    make_program("jail", 0600);
    assert_int_equal(al_host_open(&host, &(al_host_options){ .helper_dir = folder }, &err), AL_OK);
    al_buf_init(&path, 0);
    assert_int_equal(al_host_helper(host, "engine", &path, &err), AL_OK);
    snprintf(wanted, sizeof wanted, "%s/engine", folder);
    assert_string_equal(path.data, wanted);
    assert_int_equal(al_host_helper(host, "jail", &path, &err), AL_ENOTFOUND); /* no program */
    assert_int_equal(al_host_helper(host, "other", &path, &err), AL_ENOTFOUND);
    snprintf(wanted, sizeof wanted, "%s/other", folder);
    assert_string_equal(err.object, wanted);
    al_buf_free(&path);
    al_host_close(host);
}

static void never_looks_in_path_or_the_working_folder(void **state)
{
    al_host *host = NULL;
    al_buf path;
    al_err err = { 0 };
    char before[4096];
    (void)state;

    make_program("nowhere", 0700);
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(folder), 0);
    setenv("PATH", folder, 1);
    assert_int_equal(al_host_open(&host, &(al_host_options){ 0 }, &err), AL_OK);
    al_buf_init(&path, 0);
    assert_int_equal(al_host_helper(host, "nowhere", &path, &err), AL_ENOTFOUND);
    assert_string_equal(err.object, "nowhere");
    assert_non_null(strstr(err.detail, "libexec/alisio"));
    al_buf_free(&path);
    al_host_close(host);
    assert_int_equal(chdir(before), 0);
}

int main(void)
{
    char *path = strdup(getenv("PATH"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(looks_only_in_the_folder_it_was_given, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(never_looks_in_path_or_the_working_folder, make_folder,
                                        NULL),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);

    setenv("PATH", path, 1);
    free(path);
    return rc | remove_folder(NULL);
}
