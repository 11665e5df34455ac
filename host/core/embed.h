/* What the files behind alisio.h share: the public host, its queue of callbacks, its native tools.
 *
 * Code of the program that embeds us never runs inside the loop or inside Lua: whatever it is to
 * hear is put into the outbox, and embed_flush calls it when the loop has returned. So it may call
 * every function of alisio.h, those included that have to run the loop until something is done. */
#ifndef AL_CORE_EMBED_H
#define AL_CORE_EMBED_H
#include "alisio.h"
#include "core/drive.h"
#include "core/host.h"
#include <stdatomic.h>
#include <stdbool.h>

typedef struct embed_item embed_item;
typedef struct embed_tool embed_tool;
typedef struct embed_turn embed_turn;

struct embed_item {
    embed_item *next;
    void (*run)(alisio_host *host, embed_item *item); /* frees the item */
};

struct alisio_host {
    al_host *core;
    embed_item *first, *last;
    bool flushing; /* a callback is running */
    bool running;  /* inside alisio_run */
    bool ending;   /* alisio_destroy began */
    atomic_bool stop;
    uint64_t last_id;
    embed_tool *tools;
    embed_turn *turns;         /* that run */
    struct alisio_call *calls; /* that run, or wait to */
    void (*on_event)(alisio_host *host, const alisio_event *event, void *data);
    void *on_event_data;
    void (*done)(void *data);
    void *done_data;
    char detail[2048];

    uv_loop_t *outer;  /* borrowed; NULL: the program calls alisio_run */
    uv_poll_t poll;    /* on outer: the core's loop has something to do */
    uv_timer_t timer;  /* on outer: so it will have by then */
    int outer_handles; /* of these two, open */
    al_drive_fd fd;    /* what alisio_fd gave; fd -1 before */
};

void embed_put(alisio_host *h, embed_item *item);
/* Calls what was in the outbox when it began. */
void embed_flush(alisio_host *h);
/* Something may have become ready outside the loop: it is looked at soon. */
void embed_touch(alisio_host *h);
/* Sets alisio_error_detail; answers rc. */
int embed_fail(alisio_host *h, int rc, const char *detail);

/* A call of a function of alisio.ui.embed: texts (NULL is nil), then numbers, then the tool. It
 * answers true, or nil, message, id. */
typedef struct embed_question {
    const char *function;
    const char *const *texts;
    int count;
    const char *bytes; /* one more text, of size bytes; NULL: none */
    size_t size;
    uint64_t numbers[2]; /* 0: none */
    embed_tool *tool;    /* NULL: none; arrives as a function */
    al_task **task;      /* NULL, or where the task that it answers with goes */
    bool waits;          /* runs as a task, and the loop until it is over */
} embed_question;

int embed_ask(alisio_host *h, const embed_question *question); /* ALISIO_OK or an error */

/* embed_loop.c */
int embed_loop_open(alisio_host *h, uv_loop_t *outer, al_err *err);
void embed_loop_close(
    alisio_host *h);            /* closes the handles on outer; ends the host with the last */
void embed_end(alisio_host *h); /* frees it and calls done */

/* embed_tool.c */
int embed_tool_call(lua_State *L); /* upvalue: the tool. (arguments as JSON) → error, JSON; waits */
/* Lets go of the calls nobody waits for any more; what finishes them later frees them. */
void embed_tools_detach(alisio_host *h);
void embed_tools_free(alisio_host *h);

#endif
