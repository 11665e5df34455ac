/* An HTTP client: libcurl's multi interface on libuv. Pull, not push: a transfer collects what the
 * server sends, says through `notify` that there is something new, and pauses the server while
 * nobody takes it. Only http and https, certificates checked, proxies as curl reads them from the
 * environment, certificates from the system's store, $CURL_CA_BUNDLE or $SSL_CERT_FILE.
 *
 * A redirect is followed for GET and HEAD without an Authorization header, at most 5 times, on the
 * same scheme, host and port (or from http to https of one host on their usual ports); any other is
 * an error that names the target.
 *
 * Errors are `io_error` with a reason: `url` (cannot be one, or not http), `request` (a method or
 * header that cannot be sent), `resolve`, `connect`, `tls`, `timeout`, `redirect`, `maxBytes`,
 * `protocol` (not HTTP), `aborted` (the connection broke), `library` (no libcurl). The object is
 * the URL without its query. All functions are for the loop's thread. */
#ifndef AL_PRIM_HTTP_H
#define AL_PRIM_HTTP_H
#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#define AL_HTTP_WINDOW     (256u * 1024) /* bytes held before the server has to wait */
#define AL_HTTP_HEADER_MAX (256u * 1024)

typedef struct al_http al_http;                   /* the connections of one loop */
typedef struct al_http_transfer al_http_transfer; /* one request and its answer */

typedef struct al_http_request {
    const char *method; /* "GET", … */
    const char *url;
    const char *const *headers; /* "Name: value" each */
    size_t nheaders;
    const char *body; /* NULL: none */
    size_t body_len;
    unsigned connect_ms, idle_ms, total_ms; /* 0: no such limit; idle is between two bytes */
    uint64_t max_bytes;                     /* of the answer's body, 0: no limit */
} al_http_request;

/* AL_OK, AL_ENOMEM, or AL_ENOTSUP with reason `library`: libcurl is loaded at the first call. */
int al_http_new(al_http **out, uv_loop_t *loop, al_err *err);
/* gone(data) is called once nothing of the client is left, not even on the loop. */
void al_http_on_gone(al_http *client, void (*gone)(void *data), void *data);
/* Accepts NULL. Transfers still open stay valid until closed, but get nothing more. */
void al_http_free(al_http *client);

/* Sends the request (copied). notify(data) is called, never from inside, when headers, bytes or the
 * end have come since the last look. */
int al_http_start(al_http_transfer **out, al_http *client, const al_http_request *request,
                  void (*notify)(void *data), void *data, al_err *err);

/* The status of the answer, 0 until its headers are complete. */
int al_http_status(const al_http_transfer *t);
/* Its headers, "name: value" each with a NUL behind, names in lower case; *len is that of all. */
const char *al_http_headers(const al_http_transfer *t, size_t *len);
/* Bytes of the body that wait to be taken. */
const char *al_http_peek(const al_http_transfer *t, size_t *len);
/* Drops what al_http_peek showed and lets the server go on. */
void al_http_drain(al_http_transfer *t);
/* Whether the answer is over; *err is then AL_OK or what broke it. Bytes may still wait. */
bool al_http_ended(const al_http_transfer *t, al_err *err);
/* Stops the transfer where it is and frees it; notify is not called again. Accepts NULL. */
void al_http_close(al_http_transfer *t);

#endif
