#include "base/wire.h"
#include "data.h"
#include "data/link.h"
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

static int ends[2]; /* the engine's, the host's */
static al_link link_;

static int open_link(void **state)
{
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    al_link_init(&link_, ends[0]);
    return 0;
}

static int close_link(void **state)
{
    (void)state;
    close(ends[0]);
    if (ends[1] >= 0)
        close(ends[1]);
    return 0;
}

/* Past the moment when the next look is due. */
static int check(al_err *err)
{
    link_.checked = 0;
    return al_link_check(&link_, err);
}

static void nothing_came(void **state)
{
    (void)state;
    assert_int_equal(check(NULL), AL_OK);
}

static void a_cancel_is_taken_out(void **state)
{
    al_err err = { 0 };

    (void)state;
    assert_int_equal(al_wire_send(ends[1], AL_WIRE_CANCEL, "", 0, NULL, 0), AL_OK);
    assert_int_equal(check(&err), AL_ECANCELED);
    assert_string_equal(err.id, "cancelled");
    assert_int_equal(check(NULL), AL_ECANCELED);
    al_link_init(&link_, ends[0]); /* the next request */
    assert_int_equal(check(NULL), AL_OK);
}

static void *look_for_long(void *arg)
{
    const time_t end = time(NULL) + 20;
    int *rc = arg;

    while ((*rc = al_link_check(&link_, NULL)) == AL_OK && time(NULL) < end)
        sched_yield();
    return NULL;
}

static void every_thread_hears_of_a_cancel(void **state)
{
    pthread_t threads[4];
    int rc[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look_for_long, &rc[i]), 0);
    assert_int_equal(al_wire_send(ends[1], AL_WIRE_CANCEL, "", 0, NULL, 0), AL_OK);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(rc[i], AL_ECANCELED);
    }
}

static void what_else_came_stays(void **state)
{
    al_wire_type type;
    int nfds = 0;
    al_buf body;

    (void)state;
    assert_int_equal(al_wire_send(ends[1], AL_WIRE_REQUEST, "{}", 2, NULL, 0), AL_OK);
    assert_int_equal(check(NULL), AL_OK);
    al_buf_init(&body, 100);
    assert_int_equal(al_wire_recv(ends[0], &type, &body, NULL, &nfds), 1);
    assert_int_equal(type, AL_WIRE_REQUEST);
    assert_string_equal(body.data, "{}");
    al_buf_free(&body);
}

static void half_a_cancel_is_none_yet(void **state)
{
    (void)state;
    assert_int_equal(write(ends[1], "\0\0\0", 3), 3);
    assert_int_equal(check(NULL), AL_OK);
    assert_int_equal(write(ends[1], "\0\6", 2), 2);
    assert_int_equal(check(NULL), AL_ECANCELED);
}

static void a_host_that_left_cancels(void **state)
{
    (void)state;
    close(ends[1]);
    ends[1] = -1;
    assert_int_equal(check(NULL), AL_ECANCELED);
}

static void progress_comes_now_and_then(void **state)
{
    char bytes[200] = "";

    (void)state;
    assert_int_equal(al_link_progress(&link_, 1, 2, 3, NULL), AL_OK);
    assert_int_equal(recv(ends[1], bytes, sizeof bytes, MSG_DONTWAIT), -1);
    link_.told = 0;
    link_.checked = 0;
    assert_int_equal(al_link_progress(&link_, 10, 20, 3, NULL), AL_OK);
    assert_true(recv(ends[1], bytes, sizeof bytes - 1, MSG_DONTWAIT) > AL_WIRE_HEAD);
    assert_string_equal(bytes + AL_WIRE_HEAD, "{\"bytes\":10,\"total\":20,\"rows\":3}");
}

static void a_deadline_answers_by_itself(void **state)
{
    char bytes[600] = "";
    int status;
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        volatile unsigned long n = 0;

        al_link_deadline(&link_, 20);
        for (;;)
            n++;
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_true(recv(ends[1], bytes, sizeof bytes - 1, MSG_DONTWAIT) > AL_WIRE_HEAD);
    assert_int_equal(bytes[4], AL_WIRE_ERROR);
    assert_non_null(strstr(bytes + AL_WIRE_HEAD, "\"code\":\"query_timeout\""));
}

static void a_deadline_can_be_taken_back(void **state)
{
    (void)state;
    al_link_deadline(&link_, 10);
    al_link_no_deadline(&link_);
    usleep(30000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_link, close_link)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_came),
        TEST(a_cancel_is_taken_out),
        TEST(every_thread_hears_of_a_cancel),
        TEST(what_else_came_stays),
        TEST(half_a_cancel_is_none_yet),
        TEST(a_host_that_left_cancels),
        TEST(progress_comes_now_and_then),
        TEST(a_deadline_answers_by_itself),
        TEST(a_deadline_can_be_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
