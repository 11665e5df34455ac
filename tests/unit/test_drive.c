#include "core/drive.h"
#include "core/post.h"
#include "lua_host.h"
#include "unit.h"
#include <poll.h>
#include <unistd.h>

static void on_timer(uv_timer_t *timer)
{
    ++*(int *)timer->data;
}

static void on_readable(uv_poll_t *watcher, int status, int events)
{
    char byte;
    (void)status, (void)events;

    assert_int_equal(read(*(int *)watcher->data, &byte, 1), 1);
    uv_poll_stop(watcher);
}

static uv_poll_t watcher;
static int pipe_fds[2];

/* Runs late in a turn of the loop: what it adds is not known to the kernel when the turn is over.
 */
static void add_watcher(uv_check_t *check)
{
    uv_poll_start(&watcher, UV_READABLE, on_readable);
    uv_check_stop(check);
}

static int readable(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    return poll(&p, 1, 1000);
}

static void says_when_to_come_again(void **state)
{
    al_host *host = ((lua_host *)*state)->host;
    uv_loop_t *loop = al_host_loop(host);
    uv_timer_t timer;
    int fired = 0;

    assert_int_equal(al_drive(host), -1);
    uv_timer_init(loop, &timer);
    timer.data = &fired;
    uv_timer_start(&timer, on_timer, 100, 0);
    int timeout = al_drive(host);
    assert_true(timeout > 0 && timeout <= 100);
    uv_timer_start(&timer, on_timer, 0, 0);
    assert_int_equal(al_drive_timeout(host), 0);
    assert_int_equal(al_drive(host), -1);
    assert_int_equal(fired, 1);
    uv_close((uv_handle_t *)&timer, NULL);
    assert_int_equal(al_drive(host), -1);
}

static void tells_the_kernel_about_new_descriptors(void **state)
{
    al_host *host = ((lua_host *)*state)->host;
    uv_loop_t *loop = al_host_loop(host);
    uv_check_t check;

    assert_int_equal(pipe(pipe_fds), 0);
    uv_poll_init(loop, &watcher, pipe_fds[0]);
    watcher.data = &pipe_fds[0];
    uv_check_init(loop, &check);
    uv_check_start(&check, add_watcher);
    uv_run(loop, UV_RUN_NOWAIT);
    assert_int_equal(al_drive_timeout(host), 0);
    assert_int_equal(al_drive(host), -1);
    assert_int_equal(write(pipe_fds[1], "x", 1), 1);
    assert_int_equal(readable(uv_backend_fd(loop)), 1);
    assert_int_equal(al_drive(host), -1);
    uv_close((uv_handle_t *)&check, NULL);
    uv_close((uv_handle_t *)&watcher, NULL);
    al_drive(host);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

static void becomes_readable_for_timers(void **state)
{
    al_host *host = ((lua_host *)*state)->host;
    uv_loop_t *loop = al_host_loop(host);
    uv_timer_t timer;
    al_drive_fd d;
    int fired = 0;

    uv_timer_init(loop, &timer);
    timer.data = &fired;
    uv_timer_start(&timer, on_timer, 20, 0);
    assert_int_equal(al_drive_fd_open(&d, host), 0);
    if (d.timer_fd >= 0) { /* where the system has such a descriptor */
        al_drive_fd_arm(&d, al_drive(host));
        assert_int_equal(readable(d.fd), 1);
        al_drive_fd_arm(&d, al_drive(host));
        assert_int_equal(fired, 1);
    }
    al_drive_fd_close(&d);
    uv_close((uv_handle_t *)&timer, NULL);
    al_drive(host);
}

static void on_post(al_host *host, void *data)
{
    (void)host;
    ++*(int *)data;
}

static void becomes_readable_for_posts_while_idle(void **state)
{
    al_host *host = ((lua_host *)*state)->host;
    int n = 0;

    assert_int_equal(al_drive(host), -1);
    assert_int_equal(al_post(host, on_post, &n), AL_OK);
    assert_int_equal(readable(uv_backend_fd(al_host_loop(host))), 1);
    assert_int_equal(al_drive(host), -1);
    assert_int_equal(n, 1);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, lua_host_open, lua_host_close)
    const struct CMUnitTest tests[] = {
        TEST(says_when_to_come_again),
        TEST(tells_the_kernel_about_new_descriptors),
        TEST(becomes_readable_for_timers),
        TEST(becomes_readable_for_posts_while_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
