#include "base/err.h"
#include "base/wire.h"
#include "unit.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

static int pair[2];

static int make_pair(void **state)
{
    (void)state;
    return socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
}

static int close_pair(void **state)
{
    (void)state;
    if (pair[0] >= 0)
        close(pair[0]);
    if (pair[1] >= 0)
        close(pair[1]);
    return 0;
}

static int open_files(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void parse_takes_whole_frames_only(void **state)
{
    const char *body;
    al_wire_type type;
    size_t len, used;
    al_buf b;
    (void)state;
    al_buf_init(&b, 0);
    assert_int_equal(al_wire_frame(&b, AL_WIRE_RESULT, "{}", 2), AL_OK);
    assert_int_equal(al_wire_frame(&b, AL_WIRE_CANCEL, NULL, 0), AL_OK);
    assert_int_equal(b.len, 12);
    assert_memory_equal(b.data, "\x02\0\0\0\x04{}\0\0\0\0\x06", 12);
    for (size_t n = 0; n < 7; n++)
        assert_int_equal(al_wire_parse(b.data, n, &type, &body, &len, &used), 0);
    assert_int_equal(al_wire_parse(b.data, b.len, &type, &body, &len, &used), 1);
    assert_int_equal(type, AL_WIRE_RESULT);
    assert_int_equal(len, 2);
    assert_int_equal(used, 7);
    assert_memory_equal(body, "{}", 2);
    assert_int_equal(al_wire_parse(b.data + 7, 5, &type, &body, &len, &used), 1);
    assert_int_equal(type, AL_WIRE_CANCEL);
    assert_int_equal(len, 0);
    al_buf_free(&b);
}

static void parse_refuses_at_the_first_wrong_byte(void **state)
{
    const char *body;
    al_wire_type type;
    size_t len, used;
    (void)state;
    assert_int_equal(al_wire_parse("\x01\x00\x00\x01", 4, &type, &body, &len, &used), AL_EDATA);
    assert_int_equal(al_wire_parse("\xFF\xFF\xFF\xFF", 4, &type, &body, &len, &used), AL_EDATA);
    assert_int_equal(al_wire_parse("\x00\x00\x00\x01\x01", 5, &type, &body, &len, &used), 0);
    assert_int_equal(al_wire_parse("\0\0\0\0\0", 5, &type, &body, &len, &used), AL_EDATA);
    assert_int_equal(al_wire_parse("\0\0\0\0\x07", 5, &type, &body, &len, &used), AL_EDATA);
    assert_int_equal(al_wire_parse("\0\0\0\0\xFF", 5, &type, &body, &len, &used), AL_EDATA);
}

static void too_much_is_not_sent(void **state)
{
    al_buf b;
    int fds[AL_WIRE_MAX_FDS + 1] = { 0 };
    (void)state;
    al_buf_init(&b, 6);
    assert_int_equal(al_wire_frame(&b, AL_WIRE_ROWS, "ab", 2), AL_ELIMIT);
    assert_int_equal(b.len, 0); /* no head without its body */
    assert_int_equal(al_wire_frame(&b, AL_WIRE_ROWS, "", AL_WIRE_MAX + 1), AL_ELIMIT);
    assert_int_equal(al_wire_send(pair[0], AL_WIRE_ROWS, "", AL_WIRE_MAX + 1, NULL, 0), AL_ELIMIT);
    assert_int_equal(al_wire_send(pair[0], AL_WIRE_ROWS, "", 0, fds, AL_WIRE_MAX_FDS + 1),
                     AL_EINVAL);
    al_buf_free(&b);
}

static void descriptors_ride_along(void **state)
{
    int files = open_files(), p[2], got[AL_WIRE_MAX_FDS], n = AL_WIRE_MAX_FDS;
    al_wire_type type;
    al_buf body;
    (void)state;
    al_buf_init(&body, 0);
    assert_int_equal(pipe(p), 0);
    assert_int_equal(al_wire_send(pair[0], AL_WIRE_REQUEST, "{\"v\":1}", 7, p, 2), AL_OK);
    assert_int_equal(al_wire_recv(pair[1], &type, &body, got, &n), 1);
    assert_int_equal(type, AL_WIRE_REQUEST);
    assert_string_equal(body.data, "{\"v\":1}");
    assert_int_equal(n, 2);
    assert_true(fcntl(got[0], F_GETFD) & FD_CLOEXEC);
    assert_int_equal(write(got[1], "x", 1), 1);
    assert_int_equal(read(p[0], body.data, 1), 1);
    assert_int_equal(body.data[0], 'x');
    for (int i = 0; i < 2; i++) {
        close(p[i]);
        close(got[i]);
    }
    assert_int_equal(open_files(), files);
    al_buf_free(&body);
}

static void a_peek_takes_nothing(void **state)
{
    int files = open_files(), p[2], seen[AL_WIRE_MAX_FDS], n = AL_WIRE_MAX_FDS;
    al_wire_type type;
    al_buf body;

    (void)state;
    al_buf_init(&body, 0);
    assert_int_equal(pipe(p), 0);
    assert_int_equal(al_wire_send(pair[0], AL_WIRE_REQUEST, "{}", 2, p, 2), AL_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(i == 0 ? al_wire_peek(pair[1], seen, &n)
                                : al_wire_recv(pair[1], &type, &body, seen, &n),
                         i);
        assert_int_equal(n, 2);
        close(seen[0]);
        close(seen[1]);
        n = AL_WIRE_MAX_FDS;
    }
    assert_string_equal(body.data, "{}");
    close(p[0]);
    close(p[1]);
    assert_int_equal(open_files(), files);
    al_buf_free(&body);
}

static void unwanted_descriptors_are_closed(void **state)
{
    int files = open_files(), fds[3] = { 0, 1, 2 }, got[2], n = 2;
    al_wire_type type;
    al_buf body;
    (void)state;
    al_buf_init(&body, 0);
    al_wire_send(pair[0], AL_WIRE_REQUEST, "{}", 2, fds, 3);
    assert_int_equal(al_wire_recv(pair[1], &type, &body, got, &n), AL_EDATA);
    assert_int_equal(n, 0);
    assert_int_equal(open_files(), files);
    al_buf_free(&body);
}

static void no_room_for_descriptors(void **state)
{
    int files = open_files(), fds[1] = { 0 };
    al_wire_type type;
    al_buf body;
    (void)state;
    al_buf_init(&body, 0);
    al_wire_send(pair[0], AL_WIRE_REQUEST, "{}", 2, fds, 1);
    assert_int_equal(al_wire_recv(pair[1], &type, &body, NULL, NULL), AL_EDATA);
    assert_int_equal(open_files(), files);
    al_buf_free(&body);
}

/* More in one message than the control buffer can hold: the kernel cuts it. */
static void floods_of_descriptors_are_closed(void **state)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(20 * sizeof(int))];
    } control = { 0 };
    struct iovec iov = { "\0\0\0\0\1", 5 };
    struct msghdr msg = { .msg_iov = &iov,
                          .msg_iovlen = 1,
                          .msg_control = control.bytes,
                          .msg_controllen = sizeof control.bytes };
    int files = open_files(), got[AL_WIRE_MAX_FDS], n = AL_WIRE_MAX_FDS;
    al_wire_type type;
    al_buf body;
    (void)state;
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(20 * sizeof(int)); /* twenty times descriptor 0 */
    al_buf_init(&body, 0);
    assert_int_equal(sendmsg(pair[0], &msg, 0), 5);
    assert_int_equal(al_wire_recv(pair[1], &type, &body, got, &n), AL_EDATA);
    assert_int_equal(n, 0);
    assert_int_equal(open_files(), files);
    al_buf_free(&body);
}

static void *send_big(void *body)
{
    return (void *)(intptr_t)al_wire_send(pair[0], AL_WIRE_ROWS, body, AL_WIRE_MAX, NULL, 0);
}

static void the_largest_frame_passes(void **state)
{
    char *big = malloc(AL_WIRE_MAX);
    pthread_t thread;
    al_wire_type type;
    al_buf body;
    void *rc;
    (void)state;
    assert_non_null(big);
    memset(big, 'z', AL_WIRE_MAX);
    big[AL_WIRE_MAX - 1] = '!';
    fcntl(pair[0], F_SETFL, O_NONBLOCK); /* waited for all the same */
    fcntl(pair[1], F_SETFL, O_NONBLOCK);
    al_buf_init(&body, 0);
    assert_int_equal(pthread_create(&thread, NULL, send_big, big), 0);
    assert_int_equal(al_wire_recv(pair[1], &type, &body, NULL, NULL), 1);
    pthread_join(thread, &rc);
    assert_int_equal((intptr_t)rc, AL_OK);
    assert_int_equal(body.len, AL_WIRE_MAX);
    assert_memory_equal(body.data, big, AL_WIRE_MAX);
    al_buf_free(&body);
    free(big);
}

static void the_end_is_told_from_a_cut(void **state)
{
    static const char *const cuts[] = { "\5", "\5\0\0\0", "\5\0\0\0\1", "\5\0\0\0\1abc" };
    static const size_t lens[] = { 1, 4, 5, 8 };
    al_wire_type type;
    al_buf body;
    (void)state;
    al_buf_init(&body, 0);
    close(pair[0]);
    assert_int_equal(al_wire_recv(pair[1], &type, &body, NULL, NULL), 0);
    close(pair[1]);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(make_pair(NULL), 0);
        assert_int_equal(write(pair[0], cuts[i], lens[i]), (ssize_t)lens[i]);
        close(pair[0]);
        assert_int_equal(al_wire_recv(pair[1], &type, &body, NULL, NULL), AL_EDATA);
        close(pair[1]);
    }
    pair[0] = pair[1] = -1;
    al_buf_free(&body);
}

static void hostile_heads(void **state)
{
    al_wire_type type;
    al_buf body;
    (void)state;
    al_buf_init(&body, 0);
    assert_int_equal(write(pair[0], "\xFF\xFF\xFF\xFF\1", 5), 5);
    assert_int_equal(al_wire_recv(pair[1], &type, &body, NULL, NULL), AL_EDATA);
    assert_true(body.cap == 0); /* nothing was allocated for it */
    assert_int_equal(write(pair[0], "\0\0\0\0\x2A", 5), 5);
    assert_int_equal(al_wire_recv(pair[1], &type, &body, NULL, NULL), AL_EDATA);
    /* A claim of 16 MiB that does not come costs no 16 MiB. */
    assert_int_equal(write(pair[0], "\0\0\0\1\1abc", 8), 8);
    shutdown(pair[0], SHUT_WR);
    assert_int_equal(al_wire_recv(pair[1], &type, &body, NULL, NULL), AL_EDATA);
    assert_true(body.cap < 200000);
    al_buf_free(&body);
}

static void the_readers_cap_holds(void **state)
{
    al_wire_type type;
    al_buf body;
    (void)state;
    al_buf_init(&body, 3);
    al_wire_send(pair[0], AL_WIRE_REQUEST, "1234", 4, NULL, 0);
    assert_int_equal(al_wire_recv(pair[1], &type, &body, NULL, NULL), AL_ELIMIT);
    al_buf_free(&body);
}

static void a_gone_peer_is_an_error_not_a_signal(void **state)
{
    al_wire_type type;
    al_buf body;
    (void)state;
    al_buf_init(&body, 0);
    close(pair[1]);
    pair[1] = -1;
    assert_int_equal(al_wire_send(pair[0], AL_WIRE_ERROR, "{}", 2, NULL, 0), AL_EIO);
    assert_int_equal(al_wire_recv(-1, &type, &body, NULL, NULL), AL_EIO);
    al_buf_free(&body);
}

#define in_pair(f) cmocka_unit_test_setup_teardown(f, make_pair, close_pair)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse_takes_whole_frames_only),
        cmocka_unit_test(parse_refuses_at_the_first_wrong_byte),
        in_pair(too_much_is_not_sent),
        in_pair(descriptors_ride_along),
        in_pair(a_peek_takes_nothing),
        in_pair(unwanted_descriptors_are_closed),
        in_pair(no_room_for_descriptors),
        in_pair(floods_of_descriptors_are_closed),
        in_pair(the_largest_frame_passes),
        in_pair(the_end_is_told_from_a_cut),
        in_pair(hostile_heads),
        in_pair(the_readers_cap_holds),
        in_pair(a_gone_peer_is_an_error_not_a_signal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
