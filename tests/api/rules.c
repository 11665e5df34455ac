/* The rules of the header: versions and sizes, missing arguments, what a callback may not call, the
 * order of posts, alisio_stop from another thread, two hosts in one program. */
#include "api.h"
#include <pthread.h>

static int order[64], posted;
static alisio_host *the_host;

static void note(alisio_host *host, void *data)
{
    (void)host;
    if (posted < 64)
        order[posted++] = (int)(intptr_t)data;
}

static void forbidden(alisio_host *host, void *data)
{
    uint64_t session = 0;

    SAME(alisio_run(host, 0), ALISIO_EBUSY);
    SAME(alisio_destroy(host, NULL, NULL), ALISIO_EBUSY);
    SAME(alisio_session_open(host, data, NULL, 0, &session), ALISIO_OK); /* that it may */
    SAME(alisio_session_close(host, session), ALISIO_OK);
    posted++;
}

static void *post_and_stop(void *data)
{
    for (intptr_t i = 0; i < 50; i++)
        if (alisio_post(data, note, (void *)i) != ALISIO_OK)
            failed++;
    usleep(20000);
    alisio_stop(data);
    return NULL;
}

static void keep(alisio_host *host, const alisio_event *event, seen *s)
{
    (void)event, (void)s;
    the_host = host;
}

static void test_create(const char *state)
{
    static seen s;
    alisio_options o = options_for(state, &s);
    alisio_host *host = NULL;
    char why[8] = "";

    SAME(alisio_create(NULL, &o, NULL, 0), ALISIO_EINVAL);
    SAME(alisio_create(&host, NULL, NULL, 0), ALISIO_EINVAL);
    o.size = sizeof o + 8;
    SAME(alisio_create(&host, &o, why, sizeof why), ALISIO_EVERSION);
    SAME(strlen(why), 7); /* cut */
    o.size = 4;
    SAME(alisio_create(&host, &o, NULL, 0), ALISIO_EINVAL);
    o = options_for(NULL, &s);
    SAME(alisio_create(&host, &o, NULL, 0), ALISIO_EINVAL);
    o = options_for(state, &s);
    o.on_event = NULL;
    SAME(alisio_create(&host, &o, NULL, 0), ALISIO_EINVAL);
    o = options_for("/proc/nothing/can/be/made/here", &s);
    CHECK(alisio_create(&host, &o, NULL, 0) < 0);
    CHECK(!host);
    for (int error = 0; error >= -10; error--)
        CHECK(strcmp(alisio_error_name(error), "unknown error") != 0);
    SAME(strcmp(alisio_error_name(-11), "unknown error"), 0);
    SAME(strcmp(alisio_error_name(1), "unknown error"), 0);
}

static void test_null(void)
{
    uint64_t id = 0;

    SAME(alisio_run(NULL, 0), ALISIO_EINVAL);
    SAME(alisio_fd(NULL), ALISIO_EINVAL);
    SAME(alisio_stop(NULL), ALISIO_EINVAL);
    SAME(alisio_post(NULL, note, NULL), ALISIO_EINVAL);
    SAME(alisio_session_open(NULL, "/", NULL, 0, &id), ALISIO_EINVAL);
    SAME(alisio_prompt(NULL, 1, "x", 1, &id), ALISIO_EINVAL);
    SAME(alisio_call_finish(NULL, 0, "1", 1), ALISIO_EINVAL);
    SAME(alisio_destroy(NULL, NULL, NULL), ALISIO_OK);
    SAME(strlen(alisio_error_detail(NULL)), 0);
}

static void test_threads(alisio_host *host, const char *cwd)
{
    pthread_t thread;

    posted = 0;
    pthread_create(&thread, NULL, post_and_stop, host);
    while (posted < 50)
        alisio_run(host, 1000);
    pthread_join(thread, NULL);
    for (int i = 0; i < 50; i++)
        if (order[i] != i)
            failed++;
    posted = 0;
    SAME(alisio_post(host, forbidden, (void *)cwd), ALISIO_OK);
    while (!posted)
        alisio_run(host, 1000);
}

int main(void)
{
    static seen one, two;
    const char *state = temp_folder(), *other = temp_folder(), *cwd = temp_folder();
    alisio_options o, p;
    alisio_host *a, *b;
    uint64_t session = 0, session_b = 0, turn = 0;

    test_create(state);
    test_null();
    o = options_for(state, &one);
    p = options_for(other, &two);
    a = make_host(&o);
    b = make_host(&p);
    one.then = two.then = keep;
    test_threads(a, cwd);

    SAME(alisio_session_open(a, cwd, NULL, 0, &session), ALISIO_OK);
    SAME(alisio_session_open(b, cwd, NULL, 0, &session_b), ALISIO_OK);
    SAME(alisio_prompt(a, session, "hello", 5, &turn), ALISIO_OK);
    SAME(alisio_prompt(b, session_b, "hello", 5, &turn), ALISIO_OK);
    while (!one.ends || !two.ends) {
        alisio_run(a, 10);
        CHECK(!the_host || the_host == a);
        the_host = NULL;
        alisio_run(b, 10);
        CHECK(!the_host || the_host == b);
        the_host = NULL;
    }
    SAME(one.ends, 1);
    SAME(two.ends, 1);
    SAME(alisio_destroy(a, NULL, NULL), ALISIO_OK);
    SAME(alisio_prompt(b, session_b, "hello", 5, &turn), ALISIO_OK);
    SAME(alisio_destroy(b, NULL, NULL), ALISIO_OK); /* its turn never began */
    SAME(two.ends, 2);
    SAME(two.end_error, ALISIO_ECANCELED);
    remove_folder(state);
    remove_folder(other);
    remove_folder(cwd);
    return summary();
}
