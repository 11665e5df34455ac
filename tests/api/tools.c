/* Native tools and the questions before them, with a model of the user's own that calls the tool
 * the prompt names: answered from another thread, allowed, refused, cancelled, finished after the
 * end. */
#include "api.h"
#include <pthread.h>
#include <sys/stat.h>

static const char init_lua[] =
    "local alisio = require 'alisio'\n"
    "alisio.setup { model = 'caller' }\n"
    "alisio.model {\n"
    "  name = 'caller',\n"
    "  stream = function(request, emit)\n"
    "    local last = request.messages[#request.messages]\n"
    "    if last.role == 'tool' then\n"
    "      emit { type = 'text', text = 'The tool said: ' .. last.text }\n"
    "      return { stop = 'end', usage = { inputTokens = 1, outputTokens = 1 } }\n"
    "    end\n"
    "    emit { type = 'tool_call', id = 'call_1', name = last.text, input = { a = 20, b = 22 } }\n"
    "    return { stop = 'tools', usage = { inputTokens = 1, outputTokens = 1 } }\n"
    "  end,\n"
    "}\n";

typedef struct state {
    alisio_call *held; /* by hold_call */
    int calls, cancels, frees;
    char args[128];
    const char *answer; /* to a question; "" leaves it open, "cancel" cancels the turn */
} state;

static void *finish_later(void *data)
{
    static const char result[] = "{\"text\":\"42, from a thread\"}";

    usleep(20000);
    if (alisio_call_finish(data, 0, result, strlen(result)) != ALISIO_OK)
        failed++;
    return NULL;
}

static void thread_call(alisio_call *call, const char *args, size_t len, void *data)
{
    state *st = data;
    pthread_t thread;

    st->calls++;
    snprintf(st->args, sizeof st->args, "%.*s", (int)len, args);
    pthread_create(&thread, NULL, finish_later, call);
    pthread_detach(thread);
}

static void failing_call(alisio_call *call, const char *args, size_t len, void *data)
{
    (void)args, (void)len;
    ((state *)data)->calls++;
    SAME(alisio_call_finish(call, 1, "\"x\"", 3), ALISIO_EINVAL);
    SAME(alisio_call_finish(call, ALISIO_EIO, "\"the disk is gone\"", 18), ALISIO_OK);
}

static void hold_call(alisio_call *call, const char *args, size_t len, void *data)
{
    state *st = data;

    (void)args, (void)len;
    st->calls++;
    st->held = call;
}

static void on_cancel(alisio_call *call, void *data)
{
    state *st = data;

    CHECK(call == st->held);
    st->cancels++;
}

static void on_free(void *data)
{
    ((state *)data)->frees++;
}

static void answer(alisio_host *host, const alisio_event *event, seen *s)
{
    state *st = s->data;

    if (event->kind != ALISIO_EV_PERMISSION || !strcmp(st->answer, ""))
        return;
    CHECK(event->request != 0);
    if (!strcmp(st->answer, "cancel")) {
        SAME(alisio_cancel(host, event->turn), ALISIO_OK);
        return;
    }
    SAME(alisio_answer(host, event->request, "no such option"), ALISIO_EINVAL);
    SAME(alisio_answer(host, event->request, *st->answer == '-' ? NULL : st->answer), ALISIO_OK);
    SAME(alisio_answer(host, event->request, "deny"), ALISIO_ENOTFOUND);
}

static int add(alisio_host *host, const char *name, const char *effect,
               void (*call)(alisio_call *, const char *, size_t, void *), state *st)
{
    alisio_tool t = { sizeof t,
                      name,
                      "Adds two numbers.",
                      "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},"
                      "\"b\":{\"type\":\"integer\"}},\"required\":[\"a\",\"b\"]}",
                      effect,
                      NULL,
                      call,
                      on_cancel,
                      on_free,
                      st };
    return alisio_tool_add(host, &t);
}

static const char *run_turn(alisio_host *host, uint64_t session, const char *text, seen *s)
{
    uint64_t turn = 0;
    int ends = s->ends;

    s->len = 0;
    s->text[0] = '\0';
    SAME(alisio_prompt(host, session, text, strlen(text), &turn), ALISIO_OK);
    for (int i = 0; s->ends == ends && i < 100; i++)
        alisio_run(host, 1000);
    SAME(s->ends, ends + 1);
    return s->text;
}

static void test_add(alisio_host *host, state *st)
{
    alisio_tool t = { .size = sizeof t + 1,
                      .name = "x",
                      .description = "x",
                      .input_schema = "{}",
                      .effect = "read",
                      .call = hold_call };

    SAME(alisio_tool_add(host, &t), ALISIO_EVERSION);
    t.size = sizeof t;
    t.name = "Not A Name";
    SAME(alisio_tool_add(host, &t), ALISIO_EINVAL);
    t.name = "x";
    t.effect = "harmless";
    SAME(alisio_tool_add(host, &t), ALISIO_EINVAL);
    t.effect = "read";
    t.input_schema = "{";
    SAME(alisio_tool_add(host, &t), ALISIO_EINVAL);
    t.description = NULL;
    SAME(alisio_tool_add(host, &t), ALISIO_EINVAL);
    SAME(add(host, "add_read", "read", thread_call, st), ALISIO_OK);
    SAME(add(host, "add_read", "read", thread_call, st), ALISIO_EEXISTS);
    SAME(add(host, "read_file", "read", thread_call, st), ALISIO_EEXISTS);
    SAME(add(host, "add_failing", "read", failing_call, st), ALISIO_OK);
    SAME(add(host, "add_write", "write", thread_call, st), ALISIO_OK);
    SAME(add(host, "add_hold", "read", hold_call, st), ALISIO_OK);
    SAME(st->frees, 0);
}

static void test_calls(alisio_host *host, uint64_t session, seen *s, state *st)
{
    CHECK(strstr(run_turn(host, session, "add_read", s), "The tool said: 42, from a thread"));
    SAME(strcmp(st->args, "{\"a\":20,\"b\":22}"), 0);
    CHECK(strstr(run_turn(host, session, "add_failing", s), "the disk is gone"));
    SAME(st->calls, 2);
    SAME(s->kinds[ALISIO_EV_PERMISSION], 0);
}

static void test_questions(alisio_host *host, uint64_t session, seen *s, state *st)
{
    s->then = answer;
    st->calls = 0;
    st->answer = "allow_once";
    CHECK(strstr(run_turn(host, session, "add_write", s), "The tool said: 42"));
    SAME(st->calls, 1);
    st->answer = "deny";
    CHECK(strstr(run_turn(host, session, "add_write", s), "\"status\":\"denied\""));
    st->answer = "-";
    CHECK(strstr(run_turn(host, session, "add_write", s), "\"status\":\"denied\""));
    SAME(st->calls, 1);
    st->answer = "cancel";
    run_turn(host, session, "add_write", s);
    SAME(s->end_error, ALISIO_ECANCELED);
    SAME(alisio_answer(host, s->request, "allow_once"), ALISIO_ENOTFOUND);
    SAME(st->calls, 1);
    st->answer = "allow_session";
    run_turn(host, session, "add_write", s);
    st->answer = "";
    run_turn(host, session, "add_write", s); /* not asked again */
    SAME(st->calls, 3);
    s->then = NULL;
}

static uint64_t start_held(alisio_host *host, uint64_t session, state *st)
{
    uint64_t turn = 0;

    st->held = NULL;
    SAME(alisio_prompt(host, session, "add_hold", 8, &turn), ALISIO_OK);
    for (int i = 0; !st->held && i < 100; i++)
        alisio_run(host, 100);
    CHECK(st->held);
    return turn;
}

static void test_cancel(alisio_host *host, uint64_t session, seen *s, state *st)
{
    int ends = s->ends;
    uint64_t turn = start_held(host, session, st);

    SAME(alisio_cancel(host, turn), ALISIO_OK);
    for (int i = 0; s->ends == ends && i < 100; i++)
        alisio_run(host, 100);
    SAME(s->end_error, ALISIO_ECANCELED);
    SAME(st->cancels, 1);
    SAME(alisio_call_finish(st->held, 0, "1", 1), ALISIO_OK);
    while (alisio_run(host, 100) == 1)
        ;
}

int main(void)
{
    static seen s;
    static state st;
    const char *dir = temp_folder(), *config = temp_folder(), *cwd = temp_folder();
    alisio_options o = options_for(dir, &s);
    uint64_t session = 0;
    char path[300];
    FILE *f;

    snprintf(path, sizeof path, "%s/init.lua", config);
    f = fopen(path, "w");
    CHECK(f && fputs(init_lua, f) >= 0 && fclose(f) == 0);
    o.config_dir = config;
    st.answer = "";
    s.data = &st;
    alisio_host *host = make_host(&o);
    test_add(host, &st);
    SAME(alisio_session_open(host, cwd, NULL, 0, &session), ALISIO_OK);
    test_calls(host, session, &s, &st);
    test_questions(host, session, &s, &st);
    test_cancel(host, session, &s, &st);

    start_held(host, session, &st);
    SAME(alisio_destroy(host, NULL, NULL), ALISIO_OK); /* does not wait for the call */
    SAME(s.end_error, ALISIO_ECANCELED);
    SAME(st.cancels, 2);
    SAME(st.frees, 3); /* the held one's data is still in use */
    SAME(alisio_call_finish(st.held, 0, "1", 1), ALISIO_OK);
    SAME(st.frees, 4);
    remove_folder(dir);
    remove_folder(config);
    remove_folder(cwd);
    return summary();
}
