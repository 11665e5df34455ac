/* Native tools: a tool of the program, called from Lua, answered from any thread.
 *
 * A call has up to three owners: the task that waits for it, the program until alisio_call_finish,
 * and the outbox while the program is yet to hear of its start or its cancelling. The last frees
 * it: a program may finish a call long after its task was cancelled, or after the host is gone. */
#include "core/embed.h"
#include "core/mem.h"
#include "core/post.h"
#include "core/state.h"
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

struct embed_tool {
    embed_tool *next;
    atomic_int refs; /* the host, and each call */
    void (*call)(alisio_call *call, const char *args_json, size_t len, void *data);
    void (*cancel)(alisio_call *call, void *data);
    void (*free_data)(void *data);
    void *data;
};

struct alisio_call {
    al_op op; /* of the task that waits; first */
    embed_tool *tool;
    alisio_call *prev, *next; /* of the host, while a task waits */
    embed_item start, cancel;
    bool started, skipped;
    atomic_int refs;
    atomic_bool finished;
    uv_mutex_t lock;   /* keeps the host while another thread posts to it */
    alisio_host *host; /* NULL: no task waits any more */
    int error;
    char *json; /* the answer */
    size_t len;
    char args[];
};

static void tool_release(embed_tool *tool)
{
    if (atomic_fetch_sub(&tool->refs, 1) > 1)
        return;
    if (tool->free_data)
        tool->free_data(tool->data);
    free(tool);
}

static void call_release(alisio_call *call)
{
    if (atomic_fetch_sub(&call->refs, 1) > 1)
        return;
    tool_release(call->tool);
    uv_mutex_destroy(&call->lock);
    free(call->json);
    free(call);
}

/* No task waits any more: with its answer, or because it was cancelled. */
static void call_leave(alisio_call *call, al_push push)
{
    alisio_host *h = call->host;

    uv_mutex_lock(&call->lock);
    call->host = NULL;
    uv_mutex_unlock(&call->lock);
    if (call->prev)
        call->prev->next = call->next;
    else
        h->calls = call->next;
    if (call->next)
        call->next->prev = call->prev;
    al_op_done(&call->op, push, call);
    call_release(call);
}

/* ---- the way in ---- */

static void run_start(alisio_host *h, embed_item *item)
{
    alisio_call *call = (alisio_call *)((char *)item - offsetof(alisio_call, start));
    (void)h;

    if (call->skipped) { /* the program never hears of it */
        call_leave(call, NULL);
        call_release(call);
    } else {
        call->started = true;
        call->tool->call(call, call->args, strlen(call->args), call->tool->data);
    }
    call_release(call);
}

static void run_cancel(alisio_host *h, embed_item *item)
{
    alisio_call *call = (alisio_call *)((char *)item - offsetof(alisio_call, cancel));
    (void)h;

    if (!atomic_load(&call->finished))
        call->tool->cancel(call, call->tool->data);
    call_release(call);
}

static void on_cancel(al_op *op)
{
    alisio_call *call = (alisio_call *)op; /* op is the first member */

    if (!call->started) {
        call->skipped = true;
    } else if (call->tool->cancel) {
        atomic_fetch_add(&call->refs, 1);
        call->cancel.run = run_cancel;
        embed_put(call->host, &call->cancel);
    }
}

int embed_tool_call(lua_State *L)
{
    embed_tool *tool = lua_touserdata(L, lua_upvalueindex(1));
    size_t len;
    const char *args = luaL_checklstring(L, 1, &len);
    al_task *task = al_task_check(L);
    alisio_host *h = al_host_data(al_host_of(L));
    alisio_call *call = al_mem_zero(sizeof *call + len + 1);

    if (!call)
        return luaL_error(L, "not enough memory");
    if (uv_mutex_init(&call->lock) != 0) {
        free(call);
        return luaL_error(L, "no mutex can be made");
    }
    memcpy(call->args, args, len);
    atomic_fetch_add(&tool->refs, 1);
    call->tool = tool;
    call->host = h;
    call->next = h->calls;
    if (h->calls)
        h->calls->prev = call;
    h->calls = call;
    atomic_init(&call->refs, 3); /* the task, the program, the outbox */
    call->start.run = run_start;
    embed_put(h, &call->start);
    return al_op_wait(L, task, &call->op, on_cancel);
}

/* ---- the way back ---- */

static int push_answer(lua_State *L, void *arg)
{
    alisio_call *call = arg;

    lua_pushinteger(L, call->error);
    lua_pushlstring(L, call->json, call->len);
    return 2;
}

static void on_finished(al_host *core, void *data)
{
    alisio_call *call = data;
    (void)core;

    uv_mutex_lock(&call->lock); /* until the thread that posted it is through */
    alisio_host *h = call->host;
    uv_mutex_unlock(&call->lock);
    if (h)
        call_leave(call, push_answer);
    call_release(call);
}

int alisio_call_finish(alisio_call *call, int error, const char *json, size_t len)
{
    int rc = AL_ECANCELED;

    if (!call || !json || error > 0)
        return ALISIO_EINVAL;
    char *copy = malloc(len + 1);
    if (!copy)
        return ALISIO_ENOMEM;
    memcpy(copy, json, len);
    uv_mutex_lock(&call->lock);
    call->error = error;
    call->json = copy;
    call->len = len;
    atomic_store(&call->finished, true);
    if (call->host)
        rc = al_post(call->host->core, on_finished, call);
    if (rc == AL_ENOMEM) { /* the caller may try again */
        atomic_store(&call->finished, false);
        call->json = NULL;
        free(copy);
    }
    uv_mutex_unlock(&call->lock);
    if (rc == AL_ENOMEM)
        return ALISIO_ENOMEM;
    if (rc != AL_OK)
        call_release(call); /* nobody waits */
    return ALISIO_OK;
}

void embed_tools_detach(alisio_host *h)
{
    alisio_call *call = h->calls, *next;

    for (; h->core->ended && call; call = next) {
        next = call->next;
        if (call->started) /* the outbox has the others */
            call_leave(call, NULL);
    }
}

/* ---- tools ---- */

static embed_tool *tool_new(const alisio_tool *t)
{
    embed_tool *tool = al_mem_zero(sizeof *tool);

    if (!tool)
        return NULL;
    atomic_init(&tool->refs, 1);
    tool->call = t->call;
    tool->cancel = t->cancel;
    tool->free_data = t->free_data;
    tool->data = t->data;
    return tool;
}

void embed_tools_free(alisio_host *h)
{
    embed_tool *tool;

    while ((tool = h->tools)) {
        h->tools = tool->next;
        tool_release(tool);
    }
}

int alisio_tool_add(alisio_host *h, const alisio_tool *t)
{
    if (!h || !t || !t->name || !t->description || !t->input_schema || !t->effect || !t->call)
        return ALISIO_EINVAL;
    if (t->size > sizeof *t)
        return embed_fail(h, ALISIO_EVERSION, "the tool was built for a newer library");
    if (t->size < sizeof *t)
        return embed_fail(h, ALISIO_EINVAL, "the size of the tool is not set");
    embed_tool *tool = tool_new(t);
    if (!tool)
        return embed_fail(h, ALISIO_ENOMEM, "not enough memory");
    const char *texts[] = { t->name, t->description, t->input_schema, t->effect, t->capability };
    int rc = embed_ask(
        h, &(embed_question){ .function = "add_tool", .texts = texts, .count = 5, .tool = tool });
    if (rc != ALISIO_OK) {
        free(tool);
        return rc;
    }
    tool->next = h->tools;
    h->tools = tool;
    return ALISIO_OK;
}
