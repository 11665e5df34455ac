/* Bytes between our own processes: frames of the engine, the spec of the jail.
 *
 * A frame is u32 little-endian length of the body (<= AL_WIRE_MAX), u8 type, body (JSON). The peer
 * is hostile: a length above the cap or an unknown type is an error, nothing is allocated for it.
 */
#ifndef AL_BASE_WIRE_H
#define AL_BASE_WIRE_H
#include "base/buf.h"
#include "base/err.h"
#include <stddef.h>
#include <stdint.h>

#define AL_WIRE_VERSION 1
#define AL_WIRE_MAX     (16u * 1024 * 1024)
#define AL_WIRE_HEAD    5
#define AL_WIRE_MAX_FDS 4

typedef enum al_wire_type {
    AL_WIRE_REQUEST = 1, /* host -> engine, descriptors beside it */
    AL_WIRE_PROGRESS = 2,
    AL_WIRE_ROWS = 3,
    AL_WIRE_RESULT = 4, /* ends the request */
    AL_WIRE_ERROR = 5,  /* ends the request */
    AL_WIRE_CANCEL = 6  /* host -> engine */
} al_wire_type;

/* Appends head and body. AL_ELIMIT when the body is too long; out's own failures. */
int al_wire_frame(al_buf *out, al_wire_type type, const void *body, size_t len);
/* Looks at the first bytes of a stream: 1 with *type, *body, *len and *used set when a whole frame
 * is there (body points into bytes), 0 when more is needed, AL_EDATA when it can never be one. */
int al_wire_parse(const char *bytes, size_t have, al_wire_type *type, const char **body,
                  size_t *len, size_t *used);

/* Blocking, for the engine's side of a socket (a descriptor in non-blocking mode is waited for).
 * Whole frames; descriptors by SCM_RIGHTS with the first byte. Received descriptors are O_CLOEXEC;
 * *nfds holds the room in fds on the way in; more than fit are all closed and are AL_EDATA, those
 * that come with a later byte are dropped. body is replaced, and grows only as bytes arrive.
 * al_wire_send: AL_OK, AL_EIO, AL_ELIMIT, AL_EINVAL (too many descriptors). al_wire_recv: 1 a
 * frame, 0 the peer closed between frames, AL_EIO, AL_EDATA, AL_ENOMEM, AL_ELIMIT (body->max). */
int al_wire_send(int fd, al_wire_type type, const void *body, size_t len, const int *fds, int nfds);
int al_wire_recv(int fd, al_wire_type *type, al_buf *body, int *fds, int *nfds);
/* Waits for the first byte of a frame and looks at the descriptors with it, as al_wire_recv, which
 * still finds everything there. */
int al_wire_peek(int fd, int *fds, int *nfds);

#endif
