/* Processes on libuv. Every program the host starts runs below the jail program, which gives it a
 * session of its own, sees to its limits and time, and ends it with all it started: when it is
 * over, on request, and when this process dies in whatever way.
 *
 * Reading is by pull: a stream that nobody reads fills, and its writer waits. All calls and
 * callbacks on the loop's thread; a callback never comes from inside a call. */
#ifndef AL_PRIM_PROC_H
#define AL_PRIM_PROC_H
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

typedef struct al_proc al_proc;

/* What a program can reach, each a NULL-terminated list of absolute paths or NULL: files and
 * folders to read and run, to read and change, and folders that are its own memory. A layer that
 * the system lacks, a place that is not there: the program is not started. Linux only. */
typedef struct al_proc_sandbox {
    const char *const *read, *const *write, *const *memory;
    bool namespaces; /* in a system of its own, which holds nothing but these; needed for memory */
} al_proc_sandbox;

typedef struct al_proc_options {
    const char *jail;        /* path of the jail program */
    const char *const *argv; /* NULL-terminated; argv[0] without a slash is looked up in PATH */
    const char *const *env;  /* "NAME=value", NULL-terminated, exact; NULL: this process's own */
    const char *cwd;         /* NULL: this process's own */
    bool open_stdin;         /* al_proc_write may be used; else the input is empty */
    uint64_t timeout_ms;     /* 0: none */
    uint64_t grace_ms;       /* between SIGTERM and SIGKILL when it is stopped; 0: none */
    bool confined;           /* no new privileges, no core file, and these limits, each 0: none */
    uint64_t memory_bytes, open_files, file_bytes, cpu_ms, processes;
    const al_proc_sandbox *sandbox; /* NULL: none */
    const char *mark; /* an entry of env that only this tree has: with it, processes are ended even
                       * when one of them killed the jail. NULL: by process group only */
} al_proc_options;

typedef struct al_proc_result {
    char reason[16];    /* exited, signaled, timeout, stopped, limit; lost: the jail was killed */
    char limit[16];     /* with limit: processes, cpuMs, fileBytes */
    int code;           /* exit code, -1 without one */
    int signal;         /* 0 without one */
    unsigned ended;     /* processes that were alive when the program was over */
    bool left;          /* a process could not be ended */
    unsigned processes; /* most seen at once, 0 when they were not counted */
    uint64_t wall_ms, user_ms, system_ms, max_rss_bytes;
} al_proc_result;

/* stream 1 or 2 with len > 0 bytes, which last for the call; 0 when both are at their end. */
typedef void (*al_proc_read_cb)(void *data, int stream, const char *bytes, size_t len);
typedef void (*al_proc_write_cb)(void *data, const al_err *err); /* NULL: all was written */
/* err: the program could not be started (not_found, io_error; its name is the object), and result
 * is NULL. */
typedef void (*al_proc_end_cb)(void *data, const al_err *err, const al_proc_result *result);

/* Starts the jail; what the jail cannot start is told by al_proc_wait. AL_ENOMEM, AL_ENOTFOUND
 * (cwd or the jail), AL_EIO. */
int al_proc_spawn(al_proc **out, uv_loop_t *loop, const al_proc_options *options, al_err *err);

/* Gives the handle up: what still runs is ended without anybody waiting, callbacks do not come any
 * more. Accepts NULL. closed (NULL allowed) runs once the last handle is off the loop. */
void al_proc_release(al_proc *p, void (*closed)(void *data), void *data);

/* One read, one write and one wait at a time; cb NULL forgets the one that waits. */
void al_proc_read(al_proc *p, al_proc_read_cb cb, void *data);
void al_proc_wait(al_proc *p, al_proc_end_cb cb, void *data);

/* Copies bytes and writes them all. AL_EINVAL without an open input, AL_EBUSY while another write
 * is under way, AL_ENOMEM: then cb is not called. AL_EIO with reason "closed" in cb: nobody reads
 * any more. */
int al_proc_write(al_proc *p, const void *bytes, size_t len, al_proc_write_cb cb, void *data,
                  al_err *err);
void al_proc_forget_write(al_proc *p); /* the bytes are still written, cb is not called */
void al_proc_close_stdin(al_proc *p);  /* after what is being written */

void al_proc_stop(al_proc *p);      /* ends the tree; al_proc_wait tells when that is done */
long al_proc_pid(const al_proc *p); /* of the program; 0 while it is not known */

#endif
