/* What only shows when memory runs out; the rules of alisio.h are tested in tests/api. */
#include "alisio.h"
#include "core/mem.h"
#include "unit.h"
#include <fcntl.h>
#include <glob.h>
#include <sys/file.h>
#include <unistd.h>

static char state_dir[64], cwd[64];
static int ends;

static void on_event(alisio_host *host, const alisio_event *event, void *data)
{
    (void)host, (void)data;
    ends += event->kind == ALISIO_EV_TURN_END;
}

static int make_folders(void **state)
{
    (void)state;
    strcpy(state_dir, "/tmp/test-api-XXXXXX");
    strcpy(cwd, "/tmp/test-api-XXXXXX");
    return mkdtemp(state_dir) && mkdtemp(cwd) ? 0 : -1;
}

static int remove_folders(void **state)
{
    char command[160];
    (void)state;

    snprintf(command, sizeof command, "rm -rf %s %s", state_dir, cwd);
    return system(command);
}

static int create(alisio_host **host)
{
    alisio_options o = ALISIO_OPTIONS_INIT;

    o.state_dir = state_dir;
    o.on_event = on_event;
    return alisio_create(host, &o, NULL, 0);
}

/* Far into the thousands of allocations only some are tried. */
static unsigned long following(bool lua, unsigned long n)
{
    return lua ? n + 1 + n / 8 : n + 1;
}

static void a_host_that_cannot_be_made_leaves_nothing(void **state)
{
    (void)state;
    for (int lua = 0; lua <= 1; lua++) {
        alisio_host *host = NULL;
        int rc, fails = 0;
        bool hit = true;

        for (unsigned long n = 1; hit; n = following(lua, n)) {
            al_mem_fail(lua, n);
            rc = create(&host);
            hit = al_mem_fail(lua, 0);
            fails += rc != ALISIO_OK;
            if (rc == ALISIO_OK) { /* something did without */
                assert_int_equal(alisio_destroy(host, NULL, NULL), ALISIO_OK);
                host = NULL;
            } else {
                assert_null(host);
            }
        }
        assert_int_equal(rc, ALISIO_OK);
        assert_true(fails > 2);
    }
}

static void a_host_stays_usable_without_memory(void **state)
{
    alisio_host *host = NULL;
    uint64_t session, turn;
    (void)state;

    assert_int_equal(create(&host), ALISIO_OK);
    for (int lua = 0; lua <= 1; lua++) {
        bool hit = true;
        for (unsigned long n = 1; hit; n = following(lua, n)) {
            int started = 0, before = ends;
            al_mem_fail(lua, n);
            int opened = alisio_session_open(host, cwd, NULL, 0, &session);
            if (opened == ALISIO_OK)
                started = alisio_prompt(host, session, "hello", 5, &turn) == ALISIO_OK;
            for (int i = 0; started && ends == before && i < 50; i++) {
                if (i == 20) /* what ran out of memory may have left it waiting */
                    alisio_cancel(host, turn);
                alisio_run(host, 100);
            }
            hit = al_mem_fail(lua, 0);
            if (started)
                assert_int_equal(ends, before + 1);
            if (opened == ALISIO_OK)
                assert_int_equal(alisio_session_close(host, session), ALISIO_OK);
        }
    }
    int before = ends;
    assert_int_equal(alisio_session_open(host, cwd, NULL, 0, &session), ALISIO_OK);
    assert_int_equal(alisio_prompt(host, session, "hello", 5, &turn), ALISIO_OK);
    while (ends == before)
        assert_true(alisio_run(host, 1000) >= 0);
    assert_int_equal(alisio_destroy(host, NULL, NULL), ALISIO_OK);
}

static void assert_no_lock_is_held(void)
{
    char pattern[80];
    glob_t found;

    snprintf(pattern, sizeof pattern, "%s/locks/*", state_dir);
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        int fd = open(found.gl_pathv[i], O_RDWR | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
        close(fd);
        unlink(found.gl_pathv[i]);
    }
    globfree(&found);
}

static void a_session_closes_although_memory_ended(void **state)
{
    alisio_host *host = NULL;
    uint64_t session;
    bool hit = true;
    (void)state;

    assert_int_equal(create(&host), ALISIO_OK);
    for (unsigned long n = 1; hit; n++) {
        int rc = ALISIO_OK;
        assert_int_equal(alisio_session_open(host, cwd, NULL, 0, &session), ALISIO_OK);
        al_mem_fail(true, n);
        alisio_session_close(host, session);
        for (int i = 0; i < 3; i++)
            alisio_run(host, 0);
        hit = al_mem_fail(true, 0);
        for (int i = 0; i < 50 && rc != ALISIO_ENOTFOUND; i++) {
            rc = alisio_session_close(host, session);
            alisio_run(host, 20);
        }
        assert_int_equal(rc, ALISIO_ENOTFOUND);
        assert_no_lock_is_held();
    }
    assert_int_equal(alisio_destroy(host, NULL, NULL), ALISIO_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_host_that_cannot_be_made_leaves_nothing, make_folders,
                                        remove_folders),
        cmocka_unit_test_setup_teardown(a_host_stays_usable_without_memory, make_folders,
                                        remove_folders),
        cmocka_unit_test_setup_teardown(a_session_closes_although_memory_ended, make_folders,
                                        remove_folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
