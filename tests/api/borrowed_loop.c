/* A host on the loop of the program, beside a timer of the program: turns end, the loop ends when
 * nothing is left to do, and after done() the host has left nothing on it. */
#include "api.h"
#include <uv.h>

static int ticks, dones;

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
    ticks++;
}

static void on_done(void *data)
{
    SAME(dones, 0);
    dones++;
    *(alisio_host **)data = NULL;
}

static void cancel_at_once(alisio_host *host, const alisio_event *event, seen *s)
{
    (void)s;
    if (event->turn && event->kind != ALISIO_EV_TURN_END)
        alisio_cancel(host, event->turn);
}

int main(void)
{
    static seen s;
    static const char prompt[] = "hello";
    const char *state = temp_folder(), *cwd = temp_folder();
    alisio_options o = options_for(state, &s);
    uint64_t session = 0, turn = 0;
    alisio_host *host;
    uv_timer_t timer;
    uv_loop_t loop;

    uv_loop_init(&loop);
    uv_timer_init(&loop, &timer);
    uv_timer_start(&timer, on_tick, 1, 1);
    uv_unref((uv_handle_t *)&timer);
    o.loop = &loop;
    host = make_host(&o);
    SAME(alisio_run(host, 0), ALISIO_EINVAL);
    SAME(alisio_fd(host), ALISIO_EINVAL);
    SAME(uv_run(&loop, UV_RUN_DEFAULT), 0); /* an idle host does not keep the loop */

    SAME(alisio_session_open(host, cwd, NULL, 0, &session), ALISIO_OK);
    SAME(alisio_prompt(host, session, prompt, strlen(prompt), &turn), ALISIO_OK);
    SAME(s.ends, 0);
    SAME(uv_run(&loop, UV_RUN_DEFAULT), 0);
    SAME(s.ends, 1);
    SAME(s.end_error, ALISIO_OK);
    SAME(s.ended_turn, turn);
    CHECK(ticks > 0);

    s.then = cancel_at_once;
    SAME(alisio_prompt(host, session, prompt, strlen(prompt), &turn), ALISIO_OK);
    uv_run(&loop, UV_RUN_DEFAULT);
    SAME(s.ends, 2);
    SAME(s.end_error, ALISIO_ECANCELED);
    SAME(alisio_cancel(host, turn), ALISIO_ENOTFOUND);

    s.then = NULL;
    SAME(alisio_prompt(host, session, prompt, strlen(prompt), &turn), ALISIO_OK);
    for (int i = 0; i < 3; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
    SAME(alisio_destroy(host, on_done, &host), ALISIO_OK); /* while a turn runs */
    SAME(alisio_destroy(host, on_done, &host), ALISIO_EBUSY);
    SAME(dones, 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    SAME(dones, 1);
    CHECK(!host);
    SAME(s.ends, 3);
    SAME(s.end_error, ALISIO_ECANCELED);

    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    SAME(uv_loop_close(&loop), 0);
    remove_folder(state);
    remove_folder(cwd);
    return summary();
}
