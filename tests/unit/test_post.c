#include "core/post.h"
#include "lua_host.h"
#include "unit.h"

enum { THREADS = 4, POSTS = 500 };

typedef struct work {
    al_host *host;
    int thread;
} work;

typedef struct note {
    int thread, n;
} note;

static int last[THREADS], taken;

static void take(al_host *host, void *data)
{
    note *n = data;

    assert_int_equal(n->n, last[n->thread] + 1); /* each thread's posts stay in order */
    last[n->thread] = n->n;
    free(n);
    if (++taken == THREADS * POSTS)
        uv_stop(al_host_loop(host));
}

static void post_all(void *data)
{
    work *w = data;

    for (int i = 1; i <= POSTS; i++) {
        note *n = malloc(sizeof *n);
        *n = (note){ w->thread, i };
        assert_int_equal(al_post(w->host, take, n), AL_OK);
    }
}

static void keeps_the_order_of_each_thread(void **state)
{
    lua_host *l = *state;
    uv_thread_t threads[THREADS];
    work works[THREADS];

    taken = 0;
    memset(last, 0, sizeof last);
    al_host_expect(l->host); /* the loop waits for what comes from outside */
    for (int i = 0; i < THREADS; i++) {
        works[i] = (work){ l->host, i };
        uv_thread_create(&threads[i], post_all, &works[i]);
    }
    while (taken < THREADS * POSTS)
        uv_run(al_host_loop(l->host), UV_RUN_DEFAULT);
    for (int i = 0; i < THREADS; i++)
        uv_thread_join(&threads[i]);
    al_host_expected(l->host);
    assert_int_equal(uv_run(al_host_loop(l->host), UV_RUN_DEFAULT), 0);
}

static void count(al_host *host, void *data)
{
    (void)host;
    ++*(int *)data;
}

static void runs_what_was_posted_before_the_end_and_refuses_the_rest(void **state)
{
    lua_host *l = *state;
    int n = 0;

    assert_int_equal(al_post(l->host, count, &n), AL_OK);
    al_host_close_begin(l->host);
    assert_int_equal(al_post(l->host, count, &n), AL_ECANCELED);
    while (!al_host_closed(l->host))
        uv_run(al_host_loop(l->host), UV_RUN_ONCE);
    assert_int_equal(n, 1);
    al_host_free(l->host);
    l->host = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(keeps_the_order_of_each_thread, lua_host_open,
                                        lua_host_close),
        cmocka_unit_test_setup_teardown(runs_what_was_posted_before_the_end_and_refuses_the_rest,
                                        lua_host_open, lua_host_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
