/* What specs of std.fs do not reach: outputs that appear whole, copies, races of names. */
#include "base/fs.h"
#include "prim/fs.h"
#include "unit.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static char base[64], path[96];
static al_root root;
static al_err err;

static int make_base(void **state)
{
    (void)state;
    err = (al_err){ 0 };
    snprintf(base, sizeof base, "/tmp/alisio-files-XXXXXX");
    if (!mkdtemp(base))
        return -1;
    snprintf(path, sizeof path, "%s/out.sqlite", base);
    return al_root_open(&root, base, AL_LINKS_NONE, &err);
}

static int drop_base(void **state)
{
    (void)state;
    al_root_close(&root);
    return al_root_remove(&al_root_any, base, &err);
}

static int entries(void)
{
    al_entries e;
    assert_int_equal(al_root_list(&root, ".", &e, &err), AL_OK);
    int n = (int)e.count;
    al_entries_free(&e);
    return n;
}

static void an_output_appears_when_it_is_committed(void **state)
{
    al_output out;
    struct stat st;
    (void)state;
    assert_int_equal(al_output_open(&out, path, &err), AL_OK);
    assert_int_equal(write(out.fd, "abc", 3), 3);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(al_output_commit(&out, &err), AL_OK);
    al_output_close(&out);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 3);
    assert_int_equal(st.st_nlink, 1);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(entries(), 1);
}

static void an_output_that_is_given_up_leaves_nothing(void **state)
{
    al_output out;
    (void)state;
    assert_int_equal(al_output_open(&out, path, &err), AL_OK);
    al_output_close(&out);
    al_output_close(&out);
    assert_int_equal(entries(), 0);
}

static void an_output_replaces_nothing(void **state)
{
    al_output one, two;
    (void)state;
    assert_int_equal(al_output_open(&one, path, &err), AL_OK);
    assert_int_equal(write(one.fd, "1", 1), 1);
    assert_int_equal(al_output_commit(&one, &err), AL_OK);
    assert_int_equal(al_output_open(&two, path, &err), AL_OK);
    assert_int_equal(al_output_commit(&two, &err), AL_EEXISTS);
    al_output_close(&one);
    al_output_close(&two);
    assert_int_equal(entries(), 1);
}

static void an_output_needs_its_folder(void **state)
{
    al_output out;
    (void)state;
    snprintf(path, sizeof path, "%s/none/out", base);
    assert_int_equal(al_output_open(&out, path, &err), AL_ENOTFOUND);
    al_output_close(&out);
}

static void a_copy_shares_nothing_with_its_source(void **state)
{
    static char big[300000];
    al_write_how how = { .mode = -1 };
    uint64_t bytes = 0;
    al_buf out;
    bool more;
    (void)state;
    memset(big, 'x', sizeof big);
    assert_int_equal(al_root_write(&root, "a", big, sizeof big, &how, &err), AL_OK);
    assert_int_equal(al_root_copy_file(&root, "a", &root, "b", &how, &bytes, &err), AL_OK);
    assert_int_equal(bytes, sizeof big);
    assert_int_equal(al_root_write(&root, "a", "changed", 7, &how, &err), AL_OK);
    al_buf_init(&out, 0);
    assert_int_equal(al_root_read(&root, "b", 0, sizeof big, &out, &more, &err), AL_OK);
    assert_int_equal(out.len, sizeof big);
    assert_false(more);
    assert_memory_equal(out.data, big, sizeof big);
    al_buf_free(&out);
    assert_int_equal(al_root_copy_file(&root, "none", &root, "c", &how, &bytes, &err),
                     AL_ENOTFOUND);
    assert_int_equal(entries(), 2);
}

static void an_empty_file_is_copied(void **state)
{
    al_write_how how = { .mode = 0640 };
    uint64_t bytes = 7;
    al_stat st;
    (void)state;
    assert_int_equal(al_root_write(&root, "a", NULL, 0, &how, &err), AL_OK);
    assert_int_equal(al_root_copy_file(&root, "a", &root, "b", &how, &bytes, &err), AL_OK);
    assert_int_equal(bytes, 0);
    assert_int_equal(al_root_stat(&root, "b", &st, &err), AL_OK);
    assert_int_equal(st.mode, 0640);
}

static void modes_are_exact_under_any_umask(void **state)
{
    al_write_how how = { .mode = -1, .parents = true };
    al_stat st;
    (void)state;
    mode_t before = umask(0);
    assert_int_equal(al_root_write(&root, "d/a", "x", 1, &how, &err), AL_OK);
    umask(before);
    assert_int_equal(al_root_stat(&root, "d/a", &st, &err), AL_OK);
    assert_int_equal(st.mode, 0600);
    assert_int_equal(al_root_stat(&root, "d", &st, &err), AL_OK);
    assert_int_equal(st.mode, 0700);
}

static void a_lock_on_a_removed_file_is_none(void **state)
{
    al_buf holder;
    (void)state;
    al_buf_init(&holder, 0);
    int one = al_lock_take(path, &holder, &err);
    assert_true(one >= 0);
    assert_int_equal(al_lock_write(one, "me", 2, path, &err), AL_OK);
    assert_int_equal(al_lock_take(path, &holder, &err), AL_ELOCKED);
    assert_string_equal(holder.data, "me");
    unlink(path);
    int two = al_lock_take(path, NULL, &err); /* a new file, a new lock */
    assert_true(two >= 0);
    close(one);
    al_buf_clear(&holder);
    assert_int_equal(al_lock_take(path, &holder, &err), AL_ELOCKED);
    close(two);
    al_buf_free(&holder);
}

static void paths_that_name_no_file_are_refused(void **state)
{
    static const char *const bad[] = { "", ".", "..", "a/", "a/..", "/etc/passwd", "../x" };
    al_write_how how = { .mode = -1 };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_true(al_root_write(&root, bad[i], "x", 1, &how, &err) < 0);
        assert_true(al_root_rename(&root, bad[i], "y", &err) < 0);
    }
    assert_true(al_root_remove(&root, "..", &err) < 0);
    assert_int_equal(entries(), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_base, drop_base)
    const struct CMUnitTest tests[] = {
        TEST(an_output_appears_when_it_is_committed),
        TEST(an_output_that_is_given_up_leaves_nothing),
        TEST(an_output_replaces_nothing),
        TEST(an_output_needs_its_folder),
        TEST(a_copy_shares_nothing_with_its_source),
        TEST(an_empty_file_is_copied),
        TEST(modes_are_exact_under_any_umask),
        TEST(a_lock_on_a_removed_file_is_none),
        TEST(paths_that_name_no_file_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
