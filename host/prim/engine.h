/* The client of the engine: a process of ours that reads files nobody trusts.
 *
 * It gets a socket as descriptor 3 and the folder for nameless temporary files as 4, nothing else.
 * One request at a time: send, then take frames until a RESULT or an error. Every byte that comes
 * back is treated as hostile; an engine that breaks the protocol, overstays its time or does not
 * answer a cancel within AL_ENGINE_CANCEL_MS is killed. Loop thread only. */
#ifndef AL_PRIM_ENGINE_H
#define AL_PRIM_ENGINE_H
#include "base/err.h"
#include "base/wire.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#define AL_ENGINE_CANCEL_MS 100
#define AL_ENGINE_MAX_ROWS  (96u << 20) /* bytes of rows for one request; more is a breach */

typedef struct al_engine al_engine;

/* Starts `program` (an absolute path) with tmp_dir (made when missing). */
int al_engine_start(al_engine **out, uv_loop_t *loop, const char *program, const char *tmp_dir,
                    al_err *err);

/* Sends a request with up to AL_WIRE_MAX_FDS descriptors, which are duplicated. timeout_ms 0 waits
 * without end. AL_EBUSY while a request is on, "engine_failed" when the process is gone. */
int al_engine_send(al_engine *e, const char *json, size_t len, const int *fds, int nfds,
                   uint64_t timeout_ms, al_err *err);

/* The next frame of the request: 1 with PROGRESS, ROWS or RESULT in *type and a body that lives
 * until the next call on e; 0 when nothing came yet; AL_E* when the request failed: what the engine
 * reported, or engine_failed, query_timeout, cancelled. After RESULT and errors e is idle (or dead,
 * see al_engine_alive). */
int al_engine_take(al_engine *e, al_wire_type *type, const char **body, size_t *len, al_err *err);
bool al_engine_has_news(const al_engine *e); /* whether take would say something now */
/* Calls ready(data) once, from the loop, when it would. */
void al_engine_wait(al_engine *e, void (*ready)(void *data), void *data);
/* Asks the engine to stop; take then reports what came of it, soon. */
void al_engine_cancel(al_engine *e);

bool al_engine_alive(const al_engine *e); /* may be sent a request, or is busy with one */
bool al_engine_busy(const al_engine *e);
int al_engine_pid(const al_engine *e);

/* Ends the process (a busy one is killed) and frees e, then calls closed(data) from the loop. A
 * wait that is on is told first. */
void al_engine_close(al_engine *e, void (*closed)(void *data), void *data);

#endif
