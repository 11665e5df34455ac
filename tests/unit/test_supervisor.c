/* The whole watch, with a shell as the program and the test as its host. */
#include "child.h"
#include "jail/session.h"
#include "jail/supervisor.h"
#include "jail/tree.h"
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

static int host_end; /* of the channel */

static long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static al_outcome watch_shell(al_watch w, const al_limits *limits, const char *script)
{
    char *const argv[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };
    al_session s = { .argv = argv };
    al_started started;
    al_outcome out;
    int pair[2];

    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    host_end = pair[0];
    w.channel = pair[1];
    if (limits)
        s.limits = *limits;
    al_supervisor_prepare();
    al_tree_adopt();
    CHECK(al_session_start(&s, &started, NULL) == AL_OK);
    w.over = started.over;
    al_supervise(&w, started.pid, &out);
    CHECK(al_tree_empty() && !out.left);
    return out;
}

static int tells_exit_and_signal(void *arg)
{
    al_outcome out = watch_shell((al_watch){ 0 }, NULL, "exit 3");

    (void)arg;
    CHECK(strcmp(out.reason, "exited") == 0 && out.code == 3 && out.signal == 0 && out.ended == 0);
    out = watch_shell((al_watch){ 0 }, NULL, "kill -USR1 $$");
    CHECK(strcmp(out.reason, "signaled") == 0 && out.code == -1 && out.signal == SIGUSR1);
    return 0;
}

static int ends_at_the_time_out(void *arg)
{
    const long start = now_ms();
    al_outcome out = watch_shell((al_watch){ .timeout_ms = 100 }, NULL, "sleep 60 & sleep 60");

    (void)arg;
    CHECK(strcmp(out.reason, "timeout") == 0 && out.signal == SIGKILL);
    CHECK(out.wall_ms >= 100 && now_ms() - start < 1000);
    return 0;
}

static int gives_grace(void *arg)
{
    const al_watch w = { .timeout_ms = 100, .grace_ms = 2000 };
    al_outcome out = watch_shell(w, NULL, "trap 'exit 5' TERM; while :; do sleep 0.01; done");

    (void)arg;
    CHECK(strcmp(out.reason, "timeout") == 0 && out.code == 5 && out.wall_ms < 1500);
    return 0;
}

static int ends_what_stays_behind(void *arg)
{
    al_outcome out = watch_shell((al_watch){ 0 }, NULL, "sleep 60 & sleep 60 & exit 0");

    (void)arg;
    CHECK(strcmp(out.reason, "exited") == 0 && out.code == 0);
#if defined(__linux__) && !defined(AL_PORTABLE)
    CHECK(out.ended == 2);
#endif
    return 0;
}

static void speak(const char *bytes)
{
    const int host = host_end;

    if (fork() != 0)
        return;
    usleep(50000);
    if (bytes)
        CHECK(write(host, bytes, strlen(bytes)) > 0);
    else
        shutdown(host, SHUT_RDWR);
    _exit(0);
}

static void talk(int sig)
{
    (void)sig;
    speak("x");
}

static void hang_up(int sig)
{
    (void)sig;
    speak(NULL);
}

/* The channel exists once the watch has begun, so the host's part is played from a timer. */
static al_outcome watch_while(void (*host)(int))
{
    signal(SIGALRM, host);
    ualarm(50000, 0);
    return watch_shell((al_watch){ .timeout_ms = 5000 }, NULL, "sleep 60");
}

static int stops_on_request(void *arg)
{
    al_outcome out = watch_while(talk);

    (void)arg;
    CHECK(strcmp(out.reason, "stopped") == 0 && out.wall_ms < 2000);
    return 0;
}

static int sees_the_host_die(void *arg)
{
    al_outcome out = watch_while(hang_up);

    (void)arg;
    CHECK(strcmp(out.reason, "host_gone") == 0 && out.wall_ms < 2000);
    return 0;
}

static int limits_processes(void *arg)
{
    const al_watch w = { .max_processes = 4, .timeout_ms = 5000 };
    al_outcome out = watch_shell(w, NULL, "for i in 1 2 3 4 5 6; do sleep 60 & done; wait");

    (void)arg;
    CHECK(strcmp(out.reason, "limit") == 0 && strcmp(out.limit, "processes") == 0);
    CHECK(out.processes > 4 && out.wall_ms < 1000);
    return 0;
}

static int limits_time_of_the_processor(void *arg)
{
    const al_limits limits = { .cpu_seconds = 1 };
    al_outcome out = watch_shell((al_watch){ .timeout_ms = 30000 }, &limits, "while :; do :; done");

    (void)arg;
    CHECK(strcmp(out.reason, "limit") == 0 && strcmp(out.limit, "cpuMs") == 0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHILD_TEST(tells_exit_and_signal),
        CHILD_TEST(ends_at_the_time_out),
        CHILD_TEST(gives_grace),
        CHILD_TEST(ends_what_stays_behind),
        CHILD_TEST(stops_on_request),
        CHILD_TEST(sees_the_host_die),
#if defined(__linux__) && !defined(AL_PORTABLE)
        CHILD_TEST(limits_processes),
#endif
        CHILD_TEST(limits_time_of_the_processor),
    };
    (void)limits_processes;
    return cmocka_run_group_tests_name("supervisor", tests, NULL, NULL);
}
