/* What the files of core share about the host; nobody else includes it. */
#ifndef AL_CORE_STATE_H
#define AL_CORE_STATE_H
#include "core/host.h"
#include <stdint.h>

typedef struct al_posted al_posted;

struct al_host {
    lua_State *L;    /* NULL once it was closed */
    lua_State *side; /* results are pushed here and moved to their task; it never runs one */
    uv_loop_t loop;
    bool closing; /* al_host_close began */
    bool ended;   /* no task is left, and the handles close */
    int holds;    /* open handles and operations; 0 frees the host */
    int expects;  /* reasons for `wake` to keep the loop alive */

    al_task *tasks;   /* all that are not over */
    al_task *running; /* the one inside lua_resume */
    al_task *ready_first, *ready_last;
    al_task *late_first, *late_last; /* cancelled ones, by deadline */
    bool unheard;                    /* a task failed and nobody waited for it yet */
    lua_CFunction pcall, xpcall;
    uv_idle_t ready;   /* active while a task is ready */
    uv_timer_t reaper; /* the first deadline of the late */

    uv_async_t wake;
    uv_mutex_t post_lock; /* guards the three below */
    al_posted *posted_first, *posted_last;
    bool post_closed;

    char warning[512]; /* pieces of the one that Lua is giving */
    void (*report)(al_host *host, const char *text, void *data);
    void *data;
    int argc;
    char **argv;
    char *helper_dir;
};

/* task.c */
void al_task_init(al_host *host);    /* its handles on the loop */
void al_task_open_lua(lua_State *L); /* may raise */
void al_task_cancel_all(al_host *host);
void al_task_end(al_host *host);        /* closes its handles */
void al_task_stop_after(al_task *task); /* uv_stop when it is over */
/* fn(data) is called when the task is over, outside of Lua; one a task. */
void al_task_watch(al_task *task, void (*fn)(void *data), void *data);
void al_task_deadlock(al_task *task); /* its wait raises */
/* [message] → [message and where the task at index, which is over, failed]; may raise */
void al_task_traceback(lua_State *L, int index);
/* post.c */
int al_post_init(al_host *host);   /* 0 or an error of libuv */
void al_post_end(al_host *host);   /* what was posted before still runs, */
void al_post_drain(al_host *host); /* at the latest here */
/* host.c */
void al_host_settle(al_host *host);              /* a closing host without tasks goes on closing */
void al_host_handle_closed(uv_handle_t *handle); /* a uv_close_cb: drops one hold */
/* loader.c */
void al_loader_open(lua_State *L); /* may raise */

#endif
