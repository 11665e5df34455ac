/* Opening, running and closing a host. Closing takes three steps, each from the loop: the tasks
 * end, the Lua state closes (which closes what scripts left open), the last handle closes. */
#include "core/host.h"
#include "core/loader.h"
#include "core/mem.h"
#include "core/post.h"
#include "core/state.h"
#include "core/tool.h"
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>

static void free_args(al_host *h)
{
    for (int i = 0; h->argv && i < h->argc; i++)
        free(h->argv[i]);
    free(h->argv);
    free(h->helper_dir);
}

void al_host_hold(al_host *h)
{
    h->holds++;
}

void al_host_drop(al_host *h)
{
    h->holds--;
}

void al_host_handle_closed(uv_handle_t *handle)
{
    al_host_drop(handle->data);
}

/* ---- Opening ---- */

static char *copy_text(const char *text)
{
    char *copy = al_mem_zero(strlen(text) + 1);

    return copy ? strcpy(copy, text) : NULL;
}

static bool copy_options(al_host *h, const al_host_options *o)
{
    h->report = o->report;
    h->data = o->data;
    if (o->helper_dir && !(h->helper_dir = copy_text(o->helper_dir)))
        return false;
    if (o->argc > 0 && !(h->argv = al_mem_zero((size_t)o->argc * sizeof *h->argv)))
        return false;
    for (; h->argc < o->argc; h->argc++)
        if (!(h->argv[h->argc] = copy_text(o->argv[h->argc])))
            return false;
    return true;
}

static void on_warning(void *data, const char *text, int more)
{
    al_host *h = data;
    size_t used = strlen(h->warning);

    snprintf(h->warning + used, sizeof h->warning - used, "%s", text);
    if (more)
        return;
    if (h->warning[0] != '@')
        al_host_report(h, h->warning);
    h->warning[0] = '\0';
}

static int open_lua(lua_State *L)
{
    luaL_openlibs(L);
    al_task_open_lua(L);
    al_tool_open(L);
    al_loader_open(L);
    return 0;
}

static int on_panic(lua_State *L)
{
    const char *text = lua_tostring(L, -1);

    fprintf(stderr, "alisio: error outside any protection: %s\n", text ? text : "?");
    return 0; /* Lua aborts */
}

static int start_lua(al_host *h, al_err *err)
{
    h->L = lua_newstate(al_mem_lua, NULL);
    if (!h->L)
        return al_err_set(err, AL_ENOMEM, "internal", "Lua", "not enough memory");
    *(al_host **)lua_getextraspace(h->L) = h;
    lua_atpanic(h->L, on_panic);
    lua_setwarnf(h->L, on_warning, h);
    lua_pushcfunction(h->L, open_lua);
    int rc = lua_pcall(h->L, 0, 0, 0);
    if (rc == LUA_OK)
        return AL_OK;
    const char *text = lua_tostring(h->L, -1);
    return al_err_set(err, rc == LUA_ERRMEM ? AL_ENOMEM : AL_ESCRIPT, "internal", "Lua", text);
}

static int start_loop(al_host *h, al_err *err)
{
    int rc = uv_loop_init(&h->loop);

    if (rc == 0 && (rc = al_post_init(h)) != 0)
        uv_loop_close(&h->loop);
    if (rc != 0)
        return al_err_set(err, AL_EIO, "io_error", "event loop", uv_strerror(rc));
    al_task_init(h);
    return AL_OK;
}

int al_host_open(al_host **out, const al_host_options *o, al_err *err)
{
    al_host *h = al_mem_zero(sizeof *h);
    int rc;

    if (!h)
        return al_err_set(err, AL_ENOMEM, "internal", "host", "not enough memory");
    if (!copy_options(h, o))
        rc = al_err_set(err, AL_ENOMEM, "internal", "host", "not enough memory");
    else if (uv_mutex_init(&h->post_lock) < 0)
        rc = al_err_set(err, AL_EIO, "io_error", "mutex", "cannot be made");
    else if ((rc = start_loop(h, err)) != AL_OK)
        uv_mutex_destroy(&h->post_lock);
    if (rc != AL_OK) {
        free_args(h);
        free(h);
        return rc;
    }
    rc = start_lua(h, err);
    if (rc == AL_OK)
        *out = h;
    else
        al_host_close(h);
    return rc;
}

/* ---- Closing ---- */

void al_host_settle(al_host *h)
{
    lua_State *L = h->L;

    if (!h->closing || h->tasks || h->ended)
        return;
    h->ended = true;
    al_post_drain(h);
    if (L)
        lua_close(L);
    h->L = NULL;
    al_task_end(h);
    uv_close((uv_handle_t *)&h->wake, al_host_handle_closed);
}

static void close_forgotten(uv_handle_t *handle, void *data)
{
    (void)data;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

void al_host_close_begin(al_host *h)
{
    h->closing = true;
    al_post_end(h);
    al_task_cancel_all(h);
    al_host_settle(h);
}

bool al_host_closed(const al_host *h)
{
    return h->ended && h->holds == 0;
}

void al_host_free(al_host *h)
{
    uv_walk(&h->loop, close_forgotten, NULL);
    uv_run(&h->loop, UV_RUN_DEFAULT);
    uv_loop_close(&h->loop);
    uv_mutex_destroy(&h->post_lock);
    free_args(h);
    free(h);
}

void al_host_close(al_host *h)
{
    if (!h)
        return;
    al_host_close_begin(h);
    while (!al_host_closed(h))
        uv_run(&h->loop, UV_RUN_ONCE);
    al_host_free(h);
}

/* ---- Running ---- */

void al_host_wait(al_host *h, al_task *task)
{
    al_task_stop_after(task);
    while (!al_task_over(task))
        if (!uv_run(&h->loop, UV_RUN_DEFAULT)) /* nothing is open that could still bring it */
            al_task_deadlock(task);
}

typedef struct main_call {
    const char *module, *name;
    al_task *task;
    int code;
    char **text;
} main_call;

static int main_end(lua_State *L, int status, lua_KContext context)
{
    (void)L, (void)status, (void)context;
    return 1;
}

static int main_body(lua_State *L) /* [call] → what the function returns */
{
    main_call *call = lua_touserdata(L, 1);
    al_host *h = al_host_of(L);

    lua_getglobal(L, "require");
    lua_pushstring(L, call->module);
    lua_call(L, 1, 1);
    lua_getfield(L, -1, call->name);
    lua_createtable(L, h->argc, 0);
    for (int i = 0; i < h->argc; i++) {
        lua_pushstring(L, h->argv[i]);
        lua_rawseti(L, -2, i);
    }
    lua_callk(L, 1, 1, 0, main_end);
    return main_end(L, LUA_OK, 0);
}

static int main_spawn(lua_State *L) /* [call] → [task] */
{
    main_call *call = lua_touserdata(L, 1);

    lua_pushcfunction(L, main_body);
    lua_insert(L, 1);
    call->task = al_task_spawn(L, 1);
    return 1;
}

static int main_outcome(lua_State *L) /* [call, task] → [code] or an error with its traceback */
{
    main_call *call = lua_touserdata(L, 1);
    int n, ok = al_task_outcome(L, call->task, &n);

    if (!ok) {
        al_task_traceback(L, 2);
        return lua_error(L);
    }
    call->code = n > 0 ? (int)lua_tointeger(L, -n) : 0;
    return 0;
}

static int keep_text(al_host *h, char **text) /* pops the message */
{
    const char *message = lua_tostring(h->L, -1);

    *text = copy_text(message ? message : "error value is not text");
    lua_pop(h->L, 1);
    return AL_ESCRIPT;
}

int al_host_main(al_host *h, const char *module, const char *name, int *code, char **text)
{
    main_call call = { .module = module, .name = name };
    int rc;

    lua_pushcfunction(h->L, main_spawn);
    lua_pushlightuserdata(h->L, &call);
    if (lua_pcall(h->L, 1, 1, 0) != LUA_OK) /* [task] */
        return keep_text(h, text);
    al_host_wait(h, call.task);
    lua_pushcfunction(h->L, main_outcome);
    lua_insert(h->L, -2);
    lua_pushlightuserdata(h->L, &call);
    lua_insert(h->L, -2); /* [main_outcome, call, task] */
    rc = lua_pcall(h->L, 2, 0, 0);
    if (rc != LUA_OK)
        return keep_text(h, text);
    *code = call.code;
    return AL_OK;
}

/* ---- Facts ---- */

lua_State *al_host_lua(al_host *h)
{
    return h->L;
}

void *al_host_data(al_host *h)
{
    return h->data;
}

bool al_host_closing(const al_host *h)
{
    return h->closing;
}

int al_host_args(const al_host *h, char ***argv)
{
    *argv = h->argv;
    return h->argc;
}

void al_host_report(al_host *h, const char *text)
{
    if (h->report)
        h->report(h, text, h->data);
    else
        fprintf(stderr, "alisio: %s\n", text);
}
