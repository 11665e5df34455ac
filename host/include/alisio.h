/* alisio.h - run the agent inside another program (an editor, a GUI, a server).
 *
 * Threads: a host belongs to the thread that runs its loop, "the host thread". Call everything here
 *   on that thread, except functions marked [any thread]. Callbacks arrive on the host thread.
 * Memory: strings are UTF-8, NUL-terminated, and copied on the way in. What a callback is handed
 *   dies when the callback returns. Functions that return a pointer say how long it lives.
 * Errors: functions returning int give ALISIO_OK (0) or a negative alisio_error. Out-parameters are
 * written only on success. ALISIO_EINVAL means the caller broke a rule stated here. Callbacks
 * return normally (no longjmp, no C++ exception). They may call anything here except alisio_run and
 * alisio_destroy, which answer ALISIO_EBUSY. Times are milliseconds, sizes bytes. Ids are never 0
 * and never reused within a host. */
#ifndef ALISIO_H
#define ALISIO_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#define ALISIO_API     __attribute__((visibility("default")))
#define ALISIO_VERSION 0x00000001u /* major << 16 | minor; changes: docs/api-changes.md */

typedef struct alisio_host alisio_host; /* one Lua state, one loop, any number of sessions */
typedef struct alisio_call alisio_call; /* one running call of a native tool */
struct uv_loop_s;

typedef enum alisio_error {
    ALISIO_OK = 0,
    ALISIO_EINVAL = -1,    /* an argument or the order of calls breaks a rule of this header */
    ALISIO_ENOMEM = -2,    /* out of memory; the host stays usable */
    ALISIO_EBUSY = -3,     /* not from a callback, or the session already has a turn running */
    ALISIO_ENOTFOUND = -4, /* no such session, turn or request (it may just have ended) */
    ALISIO_EEXISTS = -5,   /* a tool of that name is registered */
    ALISIO_ESCRIPT = -6,   /* Lua code failed; alisio_error_detail has the message and traceback */
    ALISIO_EIO = -7,       /* a file, socket or child process failed */
    ALISIO_ECANCELED = -8, /* stopped by alisio_cancel or alisio_destroy */
    ALISIO_EVERSION = -9,  /* a struct was built for a newer library */
    ALISIO_ELOCKED = -10 /* the session is held by another process; ask for it read-only or wait */
} alisio_error;

typedef enum alisio_event_kind { /* derived from the event's "type" (cli-json.md). Ignore unknown
                                    kinds. */
                                 ALISIO_EV_SESSION =
                                     1, /* session_opened; its `session` is what resume_id takes */
                                 ALISIO_EV_TEXT = 2, /* message_delta, message_completed */
                                 ALISIO_EV_TOOL =
                                     3, /* tool_started, tool_progress, tool_completed */
                                 ALISIO_EV_PERMISSION =
                                     4, /* permission_requested: answer with alisio_answer */
                                 ALISIO_EV_TURN_END = 5, /* run_completed (a turn here is a run
                                                            there), exactly once */
                                 ALISIO_EV_LOG = 6,      /* log */
                                 ALISIO_EV_OTHER = 7     /* every other type; read its "type" */
} alisio_event_kind;

typedef struct alisio_event {
    uint32_t size; /* bytes filled in by the library; fields are only ever appended */
    int32_t kind;  /* alisio_event_kind */
    int32_t error; /* ALISIO_EV_TURN_END: ALISIO_OK, ALISIO_ECANCELED, ALISIO_ESCRIPT or ALISIO_EIO;
                      else 0 */
    uint64_t session; /* 0 when the event belongs to no session */
    uint64_t turn;    /* 0 outside a turn */
    uint64_t request; /* ALISIO_EV_PERMISSION: what alisio_answer wants; else 0 */
    const char *json; /* one line of `run --json`, never NULL; dies with the callback */
    size_t json_len;
} alisio_event;

typedef struct alisio_options {
    uint32_t size;          /* set by ALISIO_OPTIONS_INIT */
    struct uv_loop_s *loop; /* borrowed, must outlive the host. NULL: the host makes its own */
    const char *config_dir; /* folder with init.lua. NULL: no user configuration is read at all */
    const char *state_dir;  /* required: folder for datasets and artifacts, made if missing */
    const char
        *helper_dir; /* folder of the engine and jail programs. NULL: where they were installed */
    int read_only;   /* 1: no tool that writes, runs or connects is there at all */
    int log_level;   /* 0 none, 1 errors, 2 warnings, 3 information; as ALISIO_EV_LOG */
    void (*on_event)(alisio_host *host, const alisio_event *event, void *data); /* required */
    void *on_event_data; /* passed through untouched */
} alisio_options;
#define ALISIO_OPTIONS_INIT                                              \
    {                                                                    \
        sizeof(alisio_options), NULL, NULL, NULL, NULL, 0, 1, NULL, NULL \
    }

typedef struct alisio_tool {
    uint32_t size;            /* sizeof(alisio_tool) */
    const char *name;         /* [a-z][a-z0-9_]*, unique in the host */
    const char *description;  /* shown to the model */
    const char *input_schema; /* JSON Schema of the arguments */
    const char *effect;       /* required: read, write, process, external or internal */
    const char *capability;   /* NULL, or a name a user can grant by itself */
    void (*call)(alisio_call *call, const char *args_json, size_t len, void *data); /* required */
    void (*cancel)(alisio_call *call,
                   void *data);    /* NULL allowed; the call must still be finished */
    void (*free_data)(void *data); /* NULL allowed; runs once, when data is let go */
    void *data;
} alisio_tool;

ALISIO_API uint32_t alisio_version(void); /* ALISIO_VERSION of the library in use [any thread] */
ALISIO_API const char *alisio_error_name(int error); /* static text, never NULL [any thread] */
/* Why the last failed call on `host` failed. Never NULL; lives until the next call on the host. */
ALISIO_API const char *alisio_error_detail(const alisio_host *host);
/* Makes a host on this thread and runs init.lua. On failure `why` (NULL allowed) gets the reason,
 * cut to why_size. Errors: ALISIO_EINVAL, ALISIO_EVERSION, ALISIO_ENOMEM, ALISIO_ESCRIPT,
 * ALISIO_EIO. */
ALISIO_API int alisio_create(alisio_host **out, const alisio_options *options, char *why,
                             size_t why_size);
/* Cancels every turn and frees the host. done(data) runs once, after the last handle closed: before
 * this returns on an own loop, later from the caller's loop on a borrowed one (keep running it).
 * host and done may be NULL. */
ALISIO_API int alisio_destroy(alisio_host *host, void (*done)(void *data), void *data);
/* Own loop only. Handles events for at most timeout_ms (0: what is ready; -1: until alisio_stop or
 * idle). Returns 1 while work remains, 0 when idle, ALISIO_EINVAL on a borrowed loop, ALISIO_EBUSY
 * when nested. In another kind of main loop: poll alisio_fd for reading, then alisio_run(host, 0).
 */
ALISIO_API int alisio_run(alisio_host *host, int timeout_ms);
ALISIO_API int alisio_fd(
    const alisio_host *host); /* descriptor to poll, never to read or close; ALISIO_EINVAL */
ALISIO_API int alisio_stop(alisio_host *host); /* makes alisio_run return soon [any thread] */
/* Calls fn(host, data) on the host thread, in order. ALISIO_ENOMEM; ALISIO_ECANCELED once
 * alisio_destroy began. [any thread; not after done ran] */
ALISIO_API int alisio_post(alisio_host *host, void (*fn)(alisio_host *host, void *data),
                           void *data);
/* A conversation in absolute folder cwd; resume_id from an ALISIO_EV_SESSION of an earlier run, or
 * NULL. flags: 0 or ALISIO_SESSION_READ_ONLY. Errors: ALISIO_EINVAL, ALISIO_ENOTFOUND (resume_id),
 * ALISIO_ELOCKED (held by another process; open it read-only), ALISIO_ENOMEM, ALISIO_EIO,
 * ALISIO_ESCRIPT. */
#define ALISIO_SESSION_READ_ONLY 1
ALISIO_API int alisio_session_open(alisio_host *host, const char *cwd, const char *resume_id,
                                   int flags, uint64_t *session);
ALISIO_API int alisio_session_close(alisio_host *host,
                                    uint64_t session); /* cancels its turn; ALISIO_ENOTFOUND */
/* Starts a turn with Markdown text and returns at once; its events follow, ALISIO_EV_TURN_END last.
 * Errors: ALISIO_EBUSY (a turn runs), ALISIO_ENOTFOUND, ALISIO_ENOMEM, ALISIO_ESCRIPT. */
ALISIO_API int alisio_prompt(alisio_host *host, uint64_t session, const char *text, size_t len,
                             uint64_t *turn);
ALISIO_API int alisio_cancel(alisio_host *host,
                             uint64_t turn); /* open questions count as refused; ALISIO_ENOTFOUND */
/* Answers ALISIO_EV_PERMISSION with one of its option ids; NULL dismisses, which counts as refused.
 * ALISIO_ENOTFOUND: already answered, or its turn was cancelled. */
ALISIO_API int alisio_answer(alisio_host *host, uint64_t request, const char *option_id);
/* Adds a native tool, under the same permission policy as others. ALISIO_EEXISTS, ALISIO_EINVAL,
 * ALISIO_ENOMEM. */
ALISIO_API int alisio_tool_add(alisio_host *host, const alisio_tool *tool);
/* Ends a tool call, exactly once per call: 0 and a JSON result, or a negative alisio_error and a
 * JSON string saying why. [any thread] */
ALISIO_API int alisio_call_finish(alisio_call *call, int error, const char *json, size_t len);

#ifdef __cplusplus
}
#endif
#endif
