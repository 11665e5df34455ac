/* alisio.h - the agent inside another program: an editor, a desktop program, a server.
 *
 * Threads. A host belongs to the thread that made it, "the host thread". Everything here is for
 * that thread, except what is marked [any thread]; callbacks come on it too. Memory. Text is UTF-8
 * and ends with a NUL; it is copied when it is handed in. What a callback is handed is gone when
 * the callback returns. Where a function returns a pointer, it says until when. Errors. A function
 * that returns int answers ALISIO_OK or a negative alisio_error, and writes to its out-parameters
 * only on success. ALISIO_EINVAL: the caller broke a rule of this header. Callbacks. They return
 * normally: no longjmp, no C++ exception. They may call everything here but alisio_run and
 * alisio_destroy, which answer ALISIO_EBUSY. Times are milliseconds, sizes bytes. Ids are not 0 and
 * not used twice in a host.
 *
 * docs/embedding.md shows whole programs. */
#ifndef ALISIO_H
#define ALISIO_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#define ALISIO_API     __attribute__((visibility("default")))
#define ALISIO_VERSION 0x00000001u /* major << 16 | minor */

typedef struct alisio_host alisio_host; /* a Lua state and a loop, with any number of sessions */
typedef struct alisio_call alisio_call; /* a call of a native tool that is not finished */
struct uv_loop_s;

typedef enum alisio_error {
    ALISIO_OK = 0,
    ALISIO_EINVAL = -1,    /* an argument, or the order of the calls, is against a rule */
    ALISIO_ENOMEM = -2,    /* no memory; the host can still be used */
    ALISIO_EBUSY = -3,     /* not from a callback; or the session has a turn that runs */
    ALISIO_ENOTFOUND = -4, /* no such session, turn or question, or not any more */
    ALISIO_EEXISTS = -5,   /* there is a tool of that name */
    ALISIO_ESCRIPT = -6,   /* Lua code failed: alisio_error_detail says where */
    ALISIO_EIO = -7,       /* a file, a socket or a process failed */
    ALISIO_ECANCELED = -8, /* stopped by alisio_cancel or alisio_destroy */
    ALISIO_EVERSION = -9,  /* a struct was made for a newer library */
    ALISIO_ELOCKED = -10   /* another process holds the session: wait, or open it read-only */
} alisio_error;

typedef enum alisio_event_kind { /* follows from the event's "type"; more may be added: ignore them
                                  */
                                 ALISIO_EV_SESSION =
                                     1, /* session_opened: its `session` is what resume_id takes */
                                 ALISIO_EV_TEXT = 2, /* message_delta, message_completed */
                                 ALISIO_EV_TOOL =
                                     3, /* tool_started, tool_progress, tool_completed */
                                 ALISIO_EV_PERMISSION =
                                     4, /* permission_requested: alisio_answer answers it */
                                 ALISIO_EV_TURN_END = 5, /* run_completed: a turn's last event,
                                                            which always comes, once */
                                 ALISIO_EV_LOG = 6,      /* log */
                                 ALISIO_EV_OTHER = 7     /* all other types */
} alisio_event_kind;

typedef struct alisio_event {
    uint32_t size;    /* of what the library filled in; fields are only ever added at the end */
    int32_t kind;     /* alisio_event_kind */
    int32_t error;    /* of ALISIO_EV_TURN_END: OK, ECANCELED, ESCRIPT or EIO; else 0 */
    uint64_t session; /* 0: of no session */
    uint64_t turn;    /* 0: outside of a turn */
    uint64_t request; /* of ALISIO_EV_PERMISSION: for alisio_answer; else 0 */
    const char *json; /* a line of `alisio run --json`, as docs/events.md has it; never NULL */
    size_t json_len;
} alisio_event;

typedef struct alisio_options {
    uint32_t size; /* ALISIO_OPTIONS_INIT sets it */
    struct uv_loop_s
        *loop; /* of the program, which outlives the host; NULL: the host has its own */
    const char *config_dir; /* folder of config.json and init.lua; NULL: no configuration is read,
                               the environment's neither */
    const char *state_dir;  /* required: folder of the sessions, made when it is missing */
    const char *helper_dir; /* folder of the programs engine and jail; NULL: where they were
                               installed beside this library or program */
    int read_only;          /* 1: without any tool that writes, runs or connects */
    int log_level;          /* ALISIO_EV_LOG: 0 none, 1 errors, 2 warnings too, 3 information too */
    void (*on_event)(alisio_host *host, const alisio_event *event, void *data); /* required */
    void *on_event_data;
} alisio_options;
#define ALISIO_OPTIONS_INIT                                              \
    {                                                                    \
        sizeof(alisio_options), NULL, NULL, NULL, NULL, 0, 1, NULL, NULL \
    }

typedef struct alisio_tool {
    uint32_t size;            /* sizeof(alisio_tool) */
    const char *name;         /* [a-z][a-z0-9_]*, at most 64 characters, the only one in the host */
    const char *description;  /* for the model */
    const char *input_schema; /* JSON Schema of the arguments */
    const char *effect; /* read, write, process, external or internal: what it does to the world */
    const char *capability; /* NULL, or a name that a user can allow by itself */
    void (*call)(alisio_call *call, const char *args_json, size_t len, void *data); /* required */
    void (*cancel)(alisio_call *call, void *data); /* NULL, or hears that no one waits any more; the
                                                      call still has to be finished */
    void (*free_data)(void *data); /* NULL, or called once, when neither the host nor a call needs
                                      data any more: when a call outlives the host, in the thread
                                      that finishes it */
    void *data;
} alisio_tool;

ALISIO_API uint32_t alisio_version(void); /* ALISIO_VERSION of the library that runs [any thread] */
ALISIO_API const char *alisio_error_name(int error); /* a fixed text, never NULL [any thread] */
/* Why the last call on the host that failed did: never NULL, until the next call. */
ALISIO_API const char *alisio_error_detail(const alisio_host *host);

/* Makes a host and runs init.lua. When it fails, `why` (may be NULL) gets the reason, cut to
 * why_size. ALISIO_EINVAL, ALISIO_EVERSION, ALISIO_ENOMEM, ALISIO_ESCRIPT, ALISIO_EIO. */
ALISIO_API int alisio_create(alisio_host **out, const alisio_options *options, char *why,
                             size_t why_size);
/* Cancels every turn, lets them end, frees the host. done(data) is called once, when nothing is
 * left of it: before this returns, or from the program's loop, which has to go on until then. Calls
 * of native tools are not waited for. host and done may be NULL. */
ALISIO_API int alisio_destroy(alisio_host *host, void (*done)(void *data), void *data);

/* On a loop of the host's own: does what there is to do for at most timeout_ms (0: what is ready;
 * -1: until alisio_stop, or nothing is left). Answers 1 while something is left, 0 when not,
 * ALISIO_EINVAL on a loop of the program, ALISIO_EBUSY inside itself. */
ALISIO_API int alisio_run(alisio_host *host, int timeout_ms);
/* For another kind of main loop: readable when alisio_run(host, 0) would do something. Never to be
 * read or closed. ALISIO_EINVAL on a loop of the program. Outside of Linux it does not see timers:
 * there, also call alisio_run(host, 0) a few times a second. */
ALISIO_API int alisio_fd(const alisio_host *host);
ALISIO_API int alisio_stop(alisio_host *host); /* alisio_run returns soon [any thread] */
/* Calls fn(host, data) on the host thread, in the order of the calls. ALISIO_ENOMEM;
 * ALISIO_ECANCELED once alisio_destroy began. [any thread, until done is called] */
ALISIO_API int alisio_post(alisio_host *host, void (*fn)(alisio_host *host, void *data),
                           void *data);

/* Opens a conversation in folder cwd (absolute): a new one, or with resume_id the one of an earlier
 * ALISIO_EV_SESSION. With ALISIO_SESSION_READ_ONLY one that another process holds opens, too, but
 * takes no prompt. ALISIO_EINVAL, ALISIO_ENOTFOUND (resume_id), ALISIO_ELOCKED, ALISIO_ENOMEM,
 * ALISIO_EIO, ALISIO_ESCRIPT. */
#define ALISIO_SESSION_READ_ONLY 1
ALISIO_API int alisio_session_open(alisio_host *host, const char *cwd, const char *resume_id,
                                   int flags, uint64_t *session);
/* Cancels its turn and lets go of the session. ALISIO_ENOTFOUND. */
ALISIO_API int alisio_session_close(alisio_host *host, uint64_t session);
/* Begins a turn with a text in Markdown and returns; its events follow, ALISIO_EV_TURN_END last.
 * ALISIO_EBUSY (a turn runs), ALISIO_ENOTFOUND, ALISIO_ELOCKED, ALISIO_ENOMEM, ALISIO_ESCRIPT. */
ALISIO_API int alisio_prompt(alisio_host *host, uint64_t session, const char *text, size_t len,
                             uint64_t *turn);
/* Ends a turn early: what it asked counts as refused. ALISIO_ENOTFOUND. */
ALISIO_API int alisio_cancel(alisio_host *host, uint64_t turn);
/* Answers ALISIO_EV_PERMISSION with the id of one of its options; NULL refuses. ALISIO_EINVAL (no
 * such option), ALISIO_ENOTFOUND (answered before, or its turn has ended). */
ALISIO_API int alisio_answer(alisio_host *host, uint64_t request, const char *option_id);

/* Adds a native tool; the rules that hold for other tools hold for it. ALISIO_EEXISTS,
 * ALISIO_EINVAL, ALISIO_EVERSION, ALISIO_ENOMEM. */
ALISIO_API int alisio_tool_add(alisio_host *host, const alisio_tool *tool);
/* Ends a call of a native tool; every call has to be ended, once. error 0 and the result as JSON (a
 * text, or an object with a text `text`), or a negative alisio_error and the reason as a JSON text.
 * ALISIO_EINVAL; ALISIO_ENOMEM: the call is not ended. [any thread, after alisio_destroy too] */
ALISIO_API int alisio_call_finish(alisio_call *call, int error, const char *json, size_t len);

#ifdef __cplusplus
}
#endif
#endif
