/* The host: one Lua state on one libuv loop, which is the host's own. A program that has another
 * loop drives this one from it (drive.h).
 *
 * Neighbours: task.c runs coroutines on it, post.c brings work from other threads, loader.c fills
 * `require`. Host thread only, but where [any thread] is said. */
#ifndef AL_CORE_HOST_H
#define AL_CORE_HOST_H
#include "base/buf.h"
#include "base/err.h"
#include "core/task.h"
#include <lua.h>
#include <stdbool.h>
#include <uv.h>

typedef struct al_host_options {
    const char
        *helper_dir; /* folder of engine and jail; NULL: found beside the program or library */
    int argc;        /* what host.host.argv() answers; copied */
    char **argv;
    /* An error that no code waited for. NULL: written to standard error. */
    void (*report)(al_host *host, const char *text, void *data);
    void *data;
} al_host_options;

/* Errors: AL_ENOMEM, AL_EIO (no loop), AL_ESCRIPT. */
int al_host_open(al_host **out, const al_host_options *options, al_err *err);

/* Closing: begin cancels every task; from then on the loop gives them their second, closes the Lua
 * state and every handle, until al_host_closed; then free. Begin is not for inside a Lua call, free
 * not for inside the loop. al_host_close does all three, and accepts NULL. */
void al_host_close_begin(al_host *host);
bool al_host_closed(const al_host *host);
void al_host_free(al_host *host);
void al_host_close(al_host *host);

/* Runs the loop until the task is over. When nothing is left that could end a wait of it, that wait
 * raises. Not from inside the loop. */
void al_host_wait(al_host *host, al_task *task);
/* Runs the function `name` of module `module` with the options' arguments as the main task, until
 * it returns; *code is the integer it returned (0 without one). AL_ESCRIPT: *text (the caller's to
 * free) says why, with a traceback. */
int al_host_main(al_host *host, const char *module, const char *name, int *code, char **text);

lua_State *al_host_lua(al_host *host);
void *al_host_data(al_host *host); /* options.data */
bool al_host_closing(const al_host *host);
int al_host_args(const al_host *host, char ***argv);
/* Appends the path of one of our own programs ("engine", "jail"): in helper_dir, else in
 * libexec/alisio or ../libexec/alisio beside the running program or library; never by PATH or the
 * working folder. AL_ENOTFOUND names the places that were tried. */
int al_host_helper(const al_host *host, const char *name, al_buf *out, al_err *err);

/* A handle of a binding is open on the loop (or a worker still holds the host): the host is closed
 * only after as many drops as holds. Operations of al_op_wait count by themselves. */
void al_host_hold(al_host *host);
void al_host_drop(al_host *host);
/* Something outside (another thread, a person) will wake the host: the loop is not idle until as
 * many al_host_expected calls. */
void al_host_expect(al_host *host);
void al_host_expected(al_host *host);

/* Says it where errors go that no code waited for. Never raises. */
void al_host_report(al_host *host, const char *text);

#endif
