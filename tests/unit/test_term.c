/* The terminal on a pseudo terminal: raw mode, its end, and keys. */
#include "prim/term.h"
#include "unit.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static int master = -1, slave = -1;
static uv_loop_t loop;
static al_keys *keys;
static al_err err;

static int open_pty(void **state)
{
    (void)state;
    err = (al_err){ 0 };
    master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
        return -1;
    slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    if (slave < 0 || uv_loop_init(&loop) < 0)
        return -1;
    setenv("TERM", "xterm", 1);
    return al_keys_open(&keys, &loop, slave, &err);
}

static int close_pty(void **state)
{
    (void)state;
    al_term_cooked();
    if (keys)
        al_keys_close(keys, NULL, NULL);
    keys = NULL;
    uv_run(&loop, UV_RUN_DEFAULT);
    close(master);
    close(slave);
    return uv_loop_close(&loop);
}

static bool is_raw(void)
{
    struct termios t;
    assert_int_equal(tcgetattr(slave, &t), 0);
    return !(t.c_lflag & (ICANON | ECHO));
}

static void knows_terminals_and_their_size(void **state)
{
    struct winsize w = { .ws_col = 97, .ws_row = 31 };
    int columns = 0, rows = 0, file = open("/dev/null", O_RDONLY);
    (void)state;
    assert_true(al_term_is_tty(slave));
    assert_false(al_term_is_tty(file));
    assert_int_equal(ioctl(slave, TIOCSWINSZ, &w), 0);
    assert_true(al_term_size(slave, &columns, &rows));
    assert_int_equal(columns, 97);
    assert_int_equal(rows, 31);
    assert_false(al_term_size(file, &columns, &rows));
    assert_int_equal(al_term_raw(file, true, &err), AL_EIO);
    close(file);
}

static void raw_mode_is_given_back(void **state)
{
    (void)state;
    assert_false(is_raw());
    assert_int_equal(al_term_raw(slave, true, &err), AL_OK);
    assert_true(is_raw());
    assert_int_equal(al_term_raw(slave, true, &err), AL_EBUSY);
    al_term_cooked();
    assert_false(is_raw());
    al_term_cooked();
}

/* What the terminal was told since the last look. */
static const char *told(void)
{
    static char bytes[256];
    ssize_t n;

    fcntl(master, F_SETFL, O_NONBLOCK);
    n = read(master, bytes, sizeof bytes - 1);
    bytes[n > 0 ? n : 0] = '\0';
    return bytes;
}

static const char other[] = "\033[?1049h\033[?25l\033[H";
static const char first[] = "\033[0m\033[?25h\033[?1049l";

static void the_other_screen_lasts_as_long_as_raw_mode(void **state)
{
    (void)state;
    assert_int_equal(al_term_other_screen(slave, &err), AL_EINVAL);
    assert_string_equal(told(), "");
    assert_int_equal(al_term_raw(slave, true, &err), AL_OK);
    assert_int_equal(al_term_other_screen(slave, &err), AL_OK);
    assert_string_equal(told(), other);
    al_term_cooked();
    assert_string_equal(told(), first);
    al_term_cooked();
    assert_string_equal(told(), "");
}

/* A child ends in raw mode, in its own way; the terminal must be as it was. */
static void end_in_raw_mode(void (*how)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        if (al_term_raw(slave, true, NULL) != AL_OK || al_term_other_screen(slave, NULL) != AL_OK)
            _exit(9);
        how();
        _exit(8);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) >= 8);
    assert_false(is_raw());
    const char *all = told();
    assert_true(strlen(all) == strlen(other) + strlen(first));
    assert_string_equal(all + strlen(other), first);
}

static void end_by_exit(void)
{
    exit(0);
}

static void end_by_term(void)
{
    raise(SIGTERM);
}

static void end_by_abort(void)
{
    abort();
}

static void end_by_interrupt(void)
{
    raise(SIGINT);
}

static void every_end_gives_the_terminal_back(void **state)
{
    (void)state;
    end_in_raw_mode(end_by_exit);
    end_in_raw_mode(end_by_term);
    end_in_raw_mode(end_by_abort);
    end_in_raw_mode(end_by_interrupt);
}

static void handlers_of_others_are_let_alone(void **state)
{
    struct sigaction now;
    (void)state;
    signal(SIGTERM, SIG_IGN);
    assert_int_equal(al_term_raw(slave, true, &err), AL_OK);
    sigaction(SIGTERM, NULL, &now);
    assert_true(now.sa_handler == SIG_IGN);
    sigaction(SIGHUP, NULL, &now);
    assert_true(now.sa_handler != SIG_DFL);
    al_term_cooked();
    sigaction(SIGHUP, NULL, &now);
    assert_true(now.sa_handler == SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

static struct {
    bool done;
    int rc;
    al_key key;
} answer;

static void on_key(int rc, const al_key *key, void *data)
{
    (void)data;
    answer.done = true;
    answer.rc = rc;
    if (key)
        answer.key = *key;
}

static int wait_key(int64_t timeout_ms)
{
    answer.done = false;
    assert_int_equal(al_keys_wait(keys, timeout_ms, on_key, NULL, &err), AL_OK);
    while (!answer.done)
        uv_run(&loop, UV_RUN_ONCE);
    return answer.rc;
}

static void type(const char *bytes)
{
    assert_int_equal(write(master, bytes, strlen(bytes)), (ssize_t)strlen(bytes));
}

static void expect(const char *name, bool ctrl, bool alt, bool shift)
{
    assert_int_equal(wait_key(5000), AL_OK);
    assert_string_equal(answer.key.name, name);
    assert_int_equal(answer.key.ctrl, ctrl);
    assert_int_equal(answer.key.alt, alt);
    assert_int_equal(answer.key.shift, shift);
}

static void names_keys(void **state)
{
    (void)state;
    assert_int_equal(al_term_raw(slave, false, &err), AL_OK);
    type("a\xC3\xB1\r\x03\x1b[A\x1b[1;5C\x1b"
         "f\x7f\t\x1bOP");
    expect("a", false, false, false);
    expect("ñ", false, false, false);
    expect("Enter", false, false, false);
    expect("c", true, false, false);
    expect("Up", false, false, false);
    expect("Right", true, false, false);
    expect("f", false, true, false);
    expect("Backspace", false, false, false);
    expect("Tab", false, false, false);
    expect("F1", false, false, false);
    type("\x1b"); /* alone */
    expect("Escape", false, false, false);
    type("\x1b[");
    type("B"); /* in two pieces */
    expect("Down", false, false, false);
}

static void waits_end(void **state)
{
    (void)state;
    assert_int_equal(al_term_raw(slave, true, &err), AL_OK);
    assert_int_equal(wait_key(20), AL_ETIMEOUT);
    answer.done = false;
    assert_int_equal(al_keys_wait(keys, -1, on_key, NULL, &err), AL_OK);
    assert_int_equal(al_keys_wait(keys, -1, on_key, NULL, &err), AL_EBUSY);
    al_keys_cancel(keys);
    assert_false(answer.done); /* never from inside the call */
    while (!answer.done)
        uv_run(&loop, UV_RUN_ONCE);
    assert_int_equal(answer.rc, AL_ECANCELED);
    answer.done = false;
    assert_int_equal(al_keys_wait(keys, -1, on_key, NULL, &err), AL_OK);
    al_keys_close(keys, NULL, NULL);
    keys = NULL;
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_true(answer.done);
    assert_int_equal(answer.rc, AL_ECANCELED);
}

static void the_end_of_the_input_is_an_answer(void **state)
{
    (void)state;
    assert_int_equal(al_term_raw(slave, true, &err), AL_OK);
    close(master);
    master = open("/dev/null", O_RDWR);
    assert_int_equal(wait_key(5000), AL_ENOTFOUND);
}

static void writes_all_of_it(void **state)
{
    int pipe_fds[2];
    char text[200000];
    (void)state;
    memset(text, 'x', sizeof text);
    assert_int_equal(pipe(pipe_fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        size_t n = 0;
        ssize_t got;
        close(pipe_fds[1]);
        while ((got = read(pipe_fds[0], text, 1000)) > 0)
            n += (size_t)got;
        _exit(n == sizeof text ? 0 : 1);
    }
    close(pipe_fds[0]);
    fcntl(pipe_fds[1], F_SETFL, O_NONBLOCK);
    assert_int_equal(al_term_write(pipe_fds[1], text, sizeof text, &err), AL_OK);
    close(pipe_fds[1]);
    int status = 1;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_pty, close_pty)
    const struct CMUnitTest tests[] = {
        TEST(knows_terminals_and_their_size),
        TEST(raw_mode_is_given_back),
        TEST(the_other_screen_lasts_as_long_as_raw_mode),
        TEST(every_end_gives_the_terminal_back),
        TEST(handlers_of_others_are_let_alone),
        TEST(names_keys),
        TEST(waits_end),
        TEST(the_end_of_the_input_is_an_answer),
        TEST(writes_all_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
