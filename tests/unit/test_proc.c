/* The host's side of the jail on a loop of the test's own, with the jail program of this build. */
#include "child.h"
#include "prim/proc.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static char jail[4096];
static uv_loop_t loop;

typedef struct seen {
    al_proc *p;
    char out[256], err[256];
    al_proc_result result;
    al_err failure;
    int ends, stream_ends, writes, closed;
    al_err write_failure;
} seen;

static void on_closed(void *data)
{
    ((seen *)data)->closed++;
}

static void on_end(void *data, const al_err *err, const al_proc_result *result)
{
    seen *s = data;

    s->ends++;
    if (err)
        s->failure = *err;
    else
        s->result = *result;
}

static void on_read(void *data, int stream, const char *bytes, size_t len)
{
    seen *s = data;
    char *to = stream == 1 ? s->out : s->err;

    if (stream == 0) {
        s->stream_ends++;
        return;
    }
    assert_true(strlen(to) + len < sizeof s->out);
    strncat(to, bytes, len);
    al_proc_read(s->p, on_read, s); /* asked again from inside, it comes later */
}

static void on_write(void *data, const al_err *err)
{
    seen *s = data;

    s->writes++;
    if (err)
        s->write_failure = *err;
}

static void start(seen *s, al_proc_options *o, const char *script)
{
    const char *argv[] = { "sh", "-c", script, NULL };

    memset(s, 0, sizeof *s);
    o->jail = jail;
    o->argv = argv;
    assert_int_equal(al_proc_spawn(&s->p, &loop, o, &s->failure), AL_OK);
}

static void release(seen *s)
{
    al_proc_release(s->p, on_closed, s);
    assert_int_equal(s->closed, 0); /* never from inside the call */
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(s->closed, 1);
}

static void until(const int *counter)
{
    while (*counter == 0 && uv_run(&loop, UV_RUN_ONCE))
        continue;
    assert_int_equal(*counter, 1);
}

static void reads_and_waits(void **state)
{
    al_proc_options o = { 0 };
    seen s;

    (void)state;
    start(&s, &o, "echo out; echo err >&2; exit 3");
    al_proc_read(s.p, on_read, &s);
    al_proc_wait(s.p, on_end, &s);
    assert_int_equal(s.ends + s.stream_ends, 0);
    until(&s.stream_ends);
    until(&s.ends);
    assert_string_equal(s.out, "out\n");
    assert_string_equal(s.err, "err\n");
    assert_string_equal(s.result.reason, "exited");
    assert_int_equal(s.result.code, 3);
    assert_int_equal(s.result.signal, 0);
    assert_true(al_proc_pid(s.p) > 1);
    s.ends = 0; /* it can be asked again */
    al_proc_wait(s.p, on_end, &s);
    until(&s.ends);
    release(&s);
}

static void tells_what_cannot_be_started(void **state)
{
    const char *argv[] = { "no-such-program", NULL };
    al_proc_options o = { .jail = jail, .argv = argv };
    seen s = { 0 };

    (void)state;
    assert_int_equal(al_proc_spawn(&s.p, &loop, &o, NULL), AL_OK);
    al_proc_wait(s.p, on_end, &s);
    until(&s.ends);
    assert_string_equal(s.failure.id, "not_found");
    assert_string_equal(s.failure.object, "no-such-program");
    release(&s);

    o.cwd = "/no/such/folder";
    assert_int_equal(al_proc_spawn(&s.p, &loop, &o, &s.failure), AL_ENOTFOUND);
    assert_string_equal(s.failure.object, "/no/such/folder");
    o.cwd = NULL;
    o.jail = "/no/such/jail";
    assert_int_equal(al_proc_spawn(&s.p, &loop, &o, &s.failure), AL_ENOTFOUND);
    assert_string_equal(s.failure.object, "/no/such/jail");
    uv_run(&loop, UV_RUN_DEFAULT);
}

static void writes_its_input(void **state)
{
    al_proc_options o = { .open_stdin = true };
    al_err err = { 0 };
    seen s;

    (void)state;
    start(&s, &o, "cat");
    assert_int_equal(al_proc_write(s.p, "hello\n", 6, on_write, &s, &err), AL_OK);
    assert_int_equal(al_proc_write(s.p, "x", 1, on_write, &s, &err), AL_EBUSY);
    assert_int_equal(s.writes, 0);
    until(&s.writes);
    assert_int_equal(s.write_failure.code, AL_OK);
    al_proc_close_stdin(s.p);
    assert_int_equal(al_proc_write(s.p, "x", 1, on_write, &s, &err), AL_EINVAL);
    al_proc_read(s.p, on_read, &s);
    until(&s.stream_ends);
    assert_string_equal(s.out, "hello\n");
    release(&s);
}

static void an_unread_input_is_an_error_and_no_signal(void **state)
{
    al_proc_options o = { .open_stdin = true };
    seen s;

    (void)state;
    signal(SIGPIPE, SIG_DFL);
    start(&s, &o, "exec <&-; exit 0");
    al_proc_wait(s.p, on_end, &s);
    until(&s.ends);
    assert_int_equal(al_proc_write(s.p, "x", 1, on_write, &s, NULL), AL_OK);
    until(&s.writes);
    assert_int_equal(s.write_failure.code, AL_EIO);
    assert_string_equal(s.write_failure.reason, "closed");
    release(&s);
}

static void stops(void **state)
{
    al_proc_options o = { 0 };
    seen s;

    (void)state;
    start(&s, &o, "sleep 60 & sleep 60");
    al_proc_wait(s.p, on_end, &s);
    al_proc_stop(s.p);
    al_proc_stop(s.p);
    until(&s.ends);
    assert_string_equal(s.result.reason, "stopped");
    assert_false(s.result.left);
    release(&s);
}

static void a_released_process_ends(void **state)
{
    al_proc_options o = { 0 };
    uint64_t begin = uv_hrtime();
    seen s;

    (void)state;
    start(&s, &o, "sleep 60");
    al_proc_read(s.p, on_read, &s);
    al_proc_wait(s.p, on_end, &s);
    release(&s);
    assert_int_equal(s.ends + s.stream_ends, 0);
    assert_true(uv_hrtime() - begin < 5000000000u);
}

static void a_killed_jail_is_told(void **state)
{
    al_proc_options o = { 0 };
    seen s;

    (void)state;
    start(&s, &o, "sleep 60 & kill -9 $PPID; sleep 60");
    al_proc_read(s.p, on_read, &s);
    al_proc_wait(s.p, on_end, &s);
    until(&s.ends);
    assert_string_equal(s.result.reason, "lost");
    assert_int_equal(s.result.code, -1);
    until(&s.stream_ends);
    release(&s);
}

static void a_stopped_jail_does_not_outlive_the_time(void **state)
{
    al_proc_options o = { .timeout_ms = 50 };
    seen s;

    (void)state;
    start(&s, &o, "kill -STOP $PPID; sleep 60");
    al_proc_wait(s.p, on_end, &s);
    until(&s.ends);
#if defined(__linux__) && !defined(AL_PORTABLE)
    assert_string_equal(s.result.reason, "timeout"); /* it is seen and continued */
#endif
    release(&s);
}

static void a_jail_that_is_kept_stopped_does_not_either(void **state)
{
    al_proc_options o = { .timeout_ms = 50 };
    seen s;

    (void)state;
    start(&s, &o, "while :; do kill -STOP $PPID; done");
    al_proc_wait(s.p, on_end, &s);
    until(&s.ends);
    assert_int_equal(s.result.left, 0);
    release(&s);
}

static int find_jail(void **state)
{
    size_t size = sizeof jail;
    char *slash;

    (void)state;
    if (uv_exepath(jail, &size) != 0)
        return -1;
    for (int i = 0; i < 2; i++) { /* B/unit/test_proc -> B */
        slash = strrchr(jail, '/');
        if (!slash)
            return -1;
        *slash = '\0';
    }
    strcat(jail, "/libexec/alisio/jail");
    return access(jail, X_OK) == 0 ? uv_loop_init(&loop) : -1;
}

static int close_loop(void **state)
{
    (void)state;
    uv_run(&loop, UV_RUN_DEFAULT);
    return uv_loop_close(&loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_and_waits),
        cmocka_unit_test(tells_what_cannot_be_started),
        cmocka_unit_test(writes_its_input),
        cmocka_unit_test(an_unread_input_is_an_error_and_no_signal),
        cmocka_unit_test(stops),
        cmocka_unit_test(a_released_process_ends),
        cmocka_unit_test(a_killed_jail_is_told),
        cmocka_unit_test(a_stopped_jail_does_not_outlive_the_time),
        cmocka_unit_test(a_jail_that_is_kept_stopped_does_not_either),
    };
    return cmocka_run_group_tests_name("proc", tests, find_jail, close_loop);
}
