/* The engine's client against a fake engine: this program again, started with a socket as
 * descriptor 3. What the fake does is the "do" of the request. */
#include "base/json.h"
#include "prim/engine.h"
#include "prim/fs.h"
#include "unit.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- the fake engine ---- */

static void answer(al_wire_type type, const char *body)
{
    if (al_wire_send(3, type, body, strlen(body), NULL, 0) < 0)
        _exit(9);
}

static void put_bytes(const char *bytes, size_t len)
{
    if (write(3, bytes, len) != (ssize_t)len)
        _exit(9);
}

/* Writes what it was handed: the text of descriptor 0 of the request to its second one. */
static void copy_files(const int *fds, int n)
{
    char text[64];
    ssize_t got = n == 2 ? pread(fds[0], text, sizeof text, 0) : -1;
    if (got < 0 || write(fds[1], text, (size_t)got) != got)
        answer(AL_WIRE_ERROR, "{\"code\":\"io_error\",\"message\":\"no files\"}");
    else
        answer(AL_WIRE_RESULT, "{\"copied\":true}");
}

static void only_what_it_should_have(void)
{
    struct stat st;
    int extra = 0;
    for (int fd = 5; fd < 64; fd++)
        extra += fcntl(fd, F_GETFD) >= 0;
    bool folder = fstat(4, &st) == 0 && S_ISDIR(st.st_mode);
    answer(AL_WIRE_RESULT, extra || !folder || getenv("HOME") ? "{\"ok\":false}" : "{\"ok\":true}");
}

static void obey(const char *what, const int *fds, int n)
{
    if (!strcmp(what, "rows")) {
        answer(AL_WIRE_PROGRESS, "{\"bytes\":1}");
        answer(AL_WIRE_ROWS, "{\"rows\":[[1]],\"kinds\":[\"i\"]}");
        answer(AL_WIRE_RESULT, "{}");
    } else if (!strcmp(what, "error")) {
        answer(AL_WIRE_ERROR,
               "{\"code\":\"query_failed\",\"message\":\"m\",\"detail\":\"no such column\"}");
    } else if (!strcmp(what, "late")) {
        answer(AL_WIRE_ERROR, "{\"code\":\"query_timeout\",\"message\":\"\"}");
        _exit(1);
    } else if (!strcmp(what, "copy")) {
        copy_files(fds, n);
    } else if (!strcmp(what, "look")) {
        only_what_it_should_have();
    } else if (!strcmp(what, "crash")) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    } else if (!strcmp(what, "exit")) {
        answer(AL_WIRE_PROGRESS, "{}");
        _exit(7);
    } else if (!strcmp(what, "hang")) {
        for (;;)
            pause();
    } else if (!strcmp(what, "huge")) {
        put_bytes("\xff\xff\xff\xff\x04", 5);
    } else if (!strcmp(what, "flood")) {
        static char rows[8 << 20];
        memset(rows, ' ', sizeof rows - 1);
        for (;;)
            answer(AL_WIRE_ROWS, rows);
    } else if (!strcmp(what, "kind")) {
        put_bytes("\x02\0\0\0\x01{}", 7);
    } else if (!strcmp(what, "bytes")) { /* a frame in single bytes */
        const char frame[] = "\x02\0\0\0\x04{}";
        for (size_t i = 0; i < 7; i++) {
            put_bytes(frame + i, 1);
            usleep(1000);
        }
    } else if (!strcmp(what, "garbage")) {
        answer(AL_WIRE_ERROR, "[1,2");
    } else if (!strcmp(what, "obey")) { /* waits for the cancel */
        al_buf body;
        al_wire_type type;
        int none = 0;
        al_buf_init(&body, 1024);
        if (al_wire_recv(3, &type, &body, NULL, &none) == 1 && type == AL_WIRE_CANCEL)
            answer(AL_WIRE_ERROR, "{\"code\":\"cancelled\",\"message\":\"\"}");
        al_buf_free(&body);
    }
}

static int fake_engine(void)
{
    al_buf body, what;
    al_wire_type type;

    al_buf_init(&body, AL_WIRE_MAX);
    al_buf_init(&what, 64);
    for (;;) {
        int fds[AL_WIRE_MAX_FDS], n = AL_WIRE_MAX_FDS;
        if (al_wire_recv(3, &type, &body, fds, &n) != 1)
            return 0;
        if (al_json_get_string(body.data, body.len, "do", &what))
            obey(what.data, fds, n);
        for (int i = 0; i < n; i++)
            close(fds[i]);
        al_buf_clear(&body);
        al_buf_clear(&what);
    }
}

/* ---- the tests ---- */

static uv_loop_t loop;
static char self[512], tmp[64];
static al_engine *engine;
static al_err err;
static bool closed;

static void on_closed(void *data)
{
    *(bool *)data = true;
}

static int open_engine(void **state)
{
    (void)state;
    err = (al_err){ 0 };
    strcpy(tmp, "/tmp/alisio-engine-XXXXXX");
    if (!mkdtemp(tmp) || uv_loop_init(&loop) < 0)
        return -1;
    return al_engine_start(&engine, &loop, self, tmp, &err);
}

static int close_engine(void **state)
{
    (void)state;
    closed = false;
    if (engine)
        al_engine_close(engine, on_closed, &closed);
    while (engine && !closed)
        uv_run(&loop, UV_RUN_ONCE);
    engine = NULL;
    rmdir(tmp);
    uv_run(&loop, UV_RUN_DEFAULT);
    return uv_loop_close(&loop);
}

static void on_ready(void *data)
{
    *(bool *)data = true;
}

static void ask(const char *what, uint64_t timeout_ms)
{
    char json[64];
    snprintf(json, sizeof json, "{\"do\":\"%s\"}", what);
    assert_int_equal(al_engine_send(engine, json, strlen(json), NULL, 0, timeout_ms, &err), AL_OK);
}

/* The next frame or the error, however long it takes. */
static int take(al_wire_type *type, char *text, size_t size)
{
    const char *body;
    size_t len;

    if (!al_engine_has_news(engine)) {
        bool ready = false;
        al_engine_wait(engine, on_ready, &ready);
        while (!ready)
            uv_run(&loop, UV_RUN_ONCE);
    }
    int rc = al_engine_take(engine, type, &body, &len, &err);
    if (rc == 1)
        snprintf(text, size, "%.*s", (int)len, body);
    return rc;
}

static void expect_failure(const char *what, int code, const char *id)
{
    al_wire_type type;
    char text[256];
    ask(what, 0);
    int rc;
    do
        rc = take(&type, text, sizeof text);
    while (rc == 1);
    assert_int_equal(rc, code);
    assert_string_equal(err.id, id);
    assert_false(al_engine_busy(engine));
}

static void hands_over_frames_in_order(void **state)
{
    al_wire_type type;
    char text[256];
    (void)state;
    for (int i = 0; i < 3; i++) {
        ask("rows", 1000);
        assert_int_equal(al_engine_send(engine, "{}", 2, NULL, 0, 0, &err), AL_EBUSY);
        assert_int_equal(take(&type, text, sizeof text), 1);
        assert_int_equal(type, AL_WIRE_PROGRESS);
        assert_int_equal(take(&type, text, sizeof text), 1);
        assert_int_equal(type, AL_WIRE_ROWS);
        assert_string_equal(text, "{\"rows\":[[1]],\"kinds\":[\"i\"]}");
        assert_int_equal(take(&type, text, sizeof text), 1);
        assert_int_equal(type, AL_WIRE_RESULT);
        assert_true(al_engine_alive(engine));
        assert_false(al_engine_busy(engine));
    }
}

static void joins_what_comes_in_pieces(void **state)
{
    al_wire_type type;
    char text[256];
    (void)state;
    ask("bytes", 0);
    assert_int_equal(take(&type, text, sizeof text), 1);
    assert_string_equal(text, "{}");
}

static void passes_files_and_nothing_else(void **state)
{
    al_wire_type type;
    char text[256] = "";
    int fds[2] = { open("/proc/self/comm", O_RDONLY | O_CLOEXEC),
                   open(tmp, O_TMPFILE | O_RDWR, 0600) };
    (void)state;
    ask("look", 0);
    assert_int_equal(take(&type, text, sizeof text), 1);
    assert_string_equal(text, "{\"ok\":true}");
    assert_int_equal(al_engine_send(engine, "{\"do\":\"copy\"}", 13, fds, 2, 0, &err), AL_OK);
    assert_int_equal(take(&type, text, sizeof text), 1);
    assert_string_equal(text, "{\"copied\":true}");
    assert_true(pread(fds[1], text, sizeof text, 0) > 0);
    close(fds[0]);
    close(fds[1]);
}

static void reports_the_engines_own_errors(void **state)
{
    (void)state;
    expect_failure("error", AL_EDATA, "query_failed");
    assert_string_equal(err.detail, "no such column");
    assert_true(al_engine_alive(engine));
    expect_failure("error", AL_EDATA, "query_failed");
}

static void says_that_it_died(void **state)
{
    (void)state;
    expect_failure("exit", AL_EIO, "engine_failed");
    assert_non_null(strstr(err.detail, "7"));
    assert_false(al_engine_alive(engine));
    assert_int_equal(al_engine_send(engine, "{}", 2, NULL, 0, 0, &err), AL_EIO);
}

static void says_which_signal_ended_it(void **state)
{
    (void)state;
    expect_failure("crash", AL_EIO, "engine_failed");
    assert_non_null(strstr(err.detail, "signal 11"));
}

static void kills_what_breaks_the_protocol(void **state)
{
    (void)state;
    expect_failure("huge", AL_EIO, "engine_failed");
    assert_false(al_engine_alive(engine));
}

static void a_flood_of_rows_is_dammed(void **state)
{
    (void)state;
    expect_failure("flood", AL_EIO, "engine_failed");
    assert_false(al_engine_alive(engine));
}

static void takes_no_request_from_an_engine(void **state)
{
    (void)state;
    expect_failure("kind", AL_EIO, "engine_failed");
}

static void survives_an_error_that_is_none(void **state)
{
    (void)state;
    expect_failure("garbage", AL_EIO, "engine_failed");
}

static double seconds(void)
{
    return (double)uv_hrtime() / 1e9;
}

static void kills_what_overstays_its_time(void **state)
{
    al_wire_type type;
    char text[256];
    double start = seconds();
    (void)state;
    ask("hang", 100);
    assert_int_equal(take(&type, text, sizeof text), AL_ETIMEOUT);
    assert_string_equal(err.id, "query_timeout");
    assert_true(seconds() - start < 2);
    assert_false(al_engine_alive(engine));
}

/* Its end may be on the way: whoever asks next must not meet it. */
static void trusts_none_that_ran_out_of_time(void **state)
{
    (void)state;
    expect_failure("late", AL_ETIMEOUT, "query_timeout");
    assert_false(al_engine_alive(engine));
}

static void cancels_gently_first(void **state)
{
    al_wire_type type;
    char text[256];
    (void)state;
    ask("obey", 0);
    al_engine_cancel(engine);
    assert_int_equal(take(&type, text, sizeof text), AL_ECANCELED);
    assert_true(al_engine_alive(engine));
    expect_failure("error", AL_EDATA, "query_failed");
}

static void cancels_for_good_soon(void **state)
{
    al_wire_type type;
    char text[256];
    double start = seconds();
    (void)state;
    ask("hang", 0);
    al_engine_cancel(engine);
    assert_int_equal(take(&type, text, sizeof text), AL_ECANCELED);
    assert_true(seconds() - start < 2);
    assert_false(al_engine_alive(engine));
}

static void closing_ends_a_busy_engine(void **state)
{
    bool ready = false;
    (void)state;
    ask("hang", 0);
    al_engine_wait(engine, on_ready, &ready);
    int pid = al_engine_pid(engine);
    closed = false;
    al_engine_close(engine, on_closed, &closed);
    while (!closed)
        uv_run(&loop, UV_RUN_ONCE);
    assert_true(ready);
    assert_int_equal(kill(pid, 0), -1);
    engine = NULL;
}

static void names_a_program_that_is_not_there(void **state)
{
    al_engine *none = NULL;
    (void)state;
    assert_int_equal(al_engine_start(&none, &loop, "/no/such/engine", tmp, &err), AL_EIO);
    assert_string_equal(err.id, "engine_failed");
    assert_string_equal(err.object, "/no/such/engine");
}

int main(void)
{
    struct stat st;
    if (fstat(3, &st) == 0 && S_ISSOCK(st.st_mode) && fcntl(4, F_GETFD) >= 0)
        return fake_engine();
    for (int fd = 5; fd < 256; fd++)
        fcntl(fd, F_SETFD, FD_CLOEXEC); /* what this program was started with is no leak of ours */
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_engine, close_engine)
    const struct CMUnitTest tests[] = {
        TEST(hands_over_frames_in_order),
        TEST(joins_what_comes_in_pieces),
        TEST(passes_files_and_nothing_else),
        TEST(reports_the_engines_own_errors),
        TEST(says_that_it_died),
        TEST(says_which_signal_ended_it),
        TEST(kills_what_breaks_the_protocol),
        TEST(a_flood_of_rows_is_dammed),
        TEST(takes_no_request_from_an_engine),
        TEST(survives_an_error_that_is_none),
        TEST(kills_what_overstays_its_time),
        TEST(trusts_none_that_ran_out_of_time),
        TEST(cancels_gently_first),
        TEST(cancels_for_good_soon),
        TEST(closing_ends_a_busy_engine),
        TEST(names_a_program_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
