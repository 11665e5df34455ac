/* The engine's end of the socket while a request is served: progress out, cancel in. */
#ifndef AL_DATA_LINK_H
#define AL_DATA_LINK_H
#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"
#include <stdatomic.h>
#include <stdint.h>

typedef struct al_link {
    int fd;                /* -1: nobody is there; nothing is sent, nothing cancels (tests) */
    atomic_ullong checked; /* when, in nanoseconds */
    uint64_t told;
    atomic_bool looking, cancelled;
} al_link;

void al_link_init(al_link *link, int fd);

/* Sends a frame. AL_EIO when the host is gone. */
int al_link_send(al_link *link, al_wire_type type, const al_buf *body, al_err *err);
/* Asks, a few hundred times a second however often it is called, whether the host cancelled the
 * request or went away: AL_ECANCELED, "cancelled", from then on. On any thread. */
int al_link_check(al_link *link, al_err *err);
/* The same, and says how far an ingestion is, a few times a second. */
int al_link_progress(al_link *link, uint64_t bytes, uint64_t total, uint64_t rows, al_err *err);

/* From now on, unless it is taken back, the process answers query_timeout by itself and ends when
 * `ms` have passed: for what neither progress handler nor interrupt can stop. */
void al_link_deadline(al_link *link, uint64_t ms);
void al_link_no_deadline(al_link *link);

#endif
