/* See http.h. libcurl's callbacks only collect: they fill the transfer and put it on the client's
 * list of news, and `notify` is called from there once libcurl has returned.
 *
 * On Linux libcurl is loaded at the first request, with the two dozen functions below: linked, it
 * would cost every start of the program 4 ms. */
#include "prim/http.h"
#include "base/late.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#define MAX_REDIRECTS 5L

/* --- libcurl --- */

#define CURL_FUNCTIONS(X)       \
    X(curl_global_init)         \
    X(curl_free)                \
    X(curl_slist_append)        \
    X(curl_slist_free_all)      \
    X(curl_url)                 \
    X(curl_url_cleanup)         \
    X(curl_url_get)             \
    X(curl_url_set)             \
    X(curl_easy_init)           \
    X(curl_easy_cleanup)        \
    X(curl_easy_setopt)         \
    X(curl_easy_getinfo)        \
    X(curl_easy_pause)          \
    X(curl_easy_strerror)       \
    X(curl_multi_init)          \
    X(curl_multi_cleanup)       \
    X(curl_multi_setopt)        \
    X(curl_multi_add_handle)    \
    X(curl_multi_remove_handle) \
    X(curl_multi_socket_action) \
    X(curl_multi_assign)        \
    X(curl_multi_info_read)

static struct {
    CURL_FUNCTIONS(AL_LATE_MEMBER)
} curl;

static char load_error[200]; /* why libcurl cannot be used, "" when it can */

static void load(void)
{
#define FUNCTION(name) AL_LATE_FUNCTION(curl, name),
    static const char *const files[] = { "libcurl.so.4", "libcurl-gnutls.so.4", NULL };
    static const al_late functions[] = { CURL_FUNCTIONS(FUNCTION) };

    if (al_late_load(files, functions, sizeof functions / sizeof functions[0], load_error,
                     sizeof load_error) &&
        curl.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        snprintf(load_error, sizeof load_error, "libcurl cannot be initialised");
}

/* --- types --- */

struct al_http {
    uv_loop_t *loop;
    CURLM *multi;
    uv_timer_t timer; /* libcurl's own */
    int refs;         /* the owner, each transfer, the timer, each socket */
    bool closed;      /* given up by the owner */
    void (*gone)(void *data);
    void *gone_data;
    al_http_transfer *all; /* open transfers */
    al_http_transfer *news, **news_end;
};

typedef struct http_socket {
    uv_poll_t poll;
    al_http *client;
    curl_socket_t fd;
    int events;
} http_socket;

struct al_http_transfer {
    al_http *client;
    CURL *easy;
    struct curl_slist *headers_out;
    char *body_out;
    uv_timer_t idle;
    unsigned idle_ms;
    uint64_t max_bytes, got_bytes;
    void (*notify)(void *data);
    void *data;
    al_http_transfer *next, *prev;
    al_http_transfer *next_news;
    bool in_news, paused, ended;
    bool follows; /* redirects are allowed at all */
    int status;
    al_buf headers, body;
    char *location; /* of the header block being read */
    al_err err;
    char about[512]; /* the URL, without query, for errors */
    char curl_text[CURL_ERROR_SIZE];
};

/* --- URLs --- */

static char *url_part(CURLU *u, CURLUPart part, unsigned flags)
{
    char *text = NULL;
    curl.curl_url_get(u, part, &text, flags);
    return text; /* curl_free, NULL when there is none */
}

static bool same(const char *a, const char *b)
{
    return a && b && strcasecmp(a, b) == 0;
}

static int url_error(const al_http_request *r, const char *text, al_err *err)
{
    char about[512];
    const char *stop = strchr(r->url, '@') ? ":" : "?#"; /* no user name, no password */
    snprintf(about, sizeof about, "%.*s", (int)strcspn(r->url, stop), r->url);
    al_err_set(err, AL_EINVAL, "io_error", about, text);
    return al_err_reason(err, AL_EINVAL, "url");
}

/* Checks the URL and writes what may be shown of it. Secrets do not belong into it: it ends up in
 * messages and logs. */
static int check_url(al_http_transfer *t, const al_http_request *r, al_err *err)
{
    CURLU *u = curl.curl_url();
    if (!u)
        return al_err_set(err, AL_ENOMEM, "internal", "http", "not enough memory");
    int rc = AL_OK;
    if (curl.curl_url_set(u, CURLUPART_URL, r->url, 0) != CURLUE_OK) {
        curl.curl_url_cleanup(u);
        return url_error(r, "this is no URL", err);
    }
    char *scheme = url_part(u, CURLUPART_SCHEME, 0), *user = url_part(u, CURLUPART_USER, 0);
    char *host = url_part(u, CURLUPART_HOST, 0), *port = url_part(u, CURLUPART_PORT, 0);
    char *path = url_part(u, CURLUPART_PATH, 0);
    if (!same(scheme, "http") && !same(scheme, "https"))
        rc = url_error(r, "only http and https can be used", err);
    else if (user)
        rc = url_error(r, "a user name in the URL is not allowed: send a header instead", err);
    else
        snprintf(t->about, sizeof t->about, "%s://%s%s%s%s", scheme, host, port ? ":" : "",
                 port ? port : "", path ? path : "");
    for (char *parts[] = { scheme, user, host, port, path }, **p = parts; p < parts + 5; p++)
        curl.curl_free(*p);
    curl.curl_url_cleanup(u);
    return rc;
}

/* May the answer at `from` send us to `to`? Same place, or the same host's usual https port. */
static bool may_follow(const char *from, const char *to, char *target, size_t size)
{
    bool ok = false;
    CURLU *a = curl.curl_url(), *b = curl.curl_url();

    snprintf(target, size, "%.*s", (int)strcspn(to, "?#"), to);
    if (a && b && curl.curl_url_set(a, CURLUPART_URL, from, 0) == CURLUE_OK &&
        curl.curl_url_set(b, CURLUPART_URL, from, 0) == CURLUE_OK &&
        curl.curl_url_set(b, CURLUPART_URL, to, 0) == CURLUE_OK) {
        char *scheme_a = url_part(a, CURLUPART_SCHEME, 0);
        char *scheme_b = url_part(b, CURLUPART_SCHEME, 0);
        char *host_a = url_part(a, CURLUPART_HOST, 0), *host_b = url_part(b, CURLUPART_HOST, 0);
        char *port_a = url_part(a, CURLUPART_PORT, CURLU_DEFAULT_PORT);
        char *port_b = url_part(b, CURLUPART_PORT, CURLU_DEFAULT_PORT);
        char *user = url_part(b, CURLUPART_USER, 0);
        ok = !user && same(host_a, host_b) &&
             ((same(scheme_a, scheme_b) && same(port_a, port_b)) ||
              (same(scheme_a, "http") && same(port_a, "80") && same(scheme_b, "https") &&
               same(port_b, "443")));
        for (char *p[] = { scheme_a, scheme_b, host_a, host_b, port_a, port_b, user }, **q = p;
             q < p + 7; q++)
            curl.curl_free(*q);
    }
    curl.curl_url_cleanup(a);
    curl.curl_url_cleanup(b);
    return ok;
}

/* --- what libcurl tells --- */

static void add_news(al_http_transfer *t)
{
    al_http *client = t->client;

    if (t->in_news)
        return;
    t->in_news = true;
    t->next_news = NULL;
    *client->news_end = t;
    client->news_end = &t->next_news;
}

static void tell_news(al_http *client)
{
    al_http_transfer *t;

    client->refs++;
    while ((t = client->news)) {
        client->news = t->next_news;
        if (!client->news)
            client->news_end = &client->news;
        t->in_news = false;
        t->notify(t->data); /* may close any transfer */
    }
    client->refs--; /* the caller holds one */
}

static int failed(al_http_transfer *t, int code, const char *reason, const char *detail)
{
    if (t->err.code)
        return t->err.code;
    al_err_set(&t->err, code, code == AL_ENOMEM ? "internal" : "io_error", t->about, detail);
    return al_err_reason(&t->err, code, reason);
}

static void on_idle(uv_timer_t *timer)
{
    al_http_transfer *t = timer->data;
    char text[80];

    if (t->ended)
        return;
    snprintf(text, sizeof text, "nothing came for %u ms", t->idle_ms);
    failed(t, AL_ETIMEOUT, "timeout", text);
    t->ended = true;
    if (t->client->multi)
        curl.curl_multi_remove_handle(t->client->multi, t->easy);
    add_news(t);
    tell_news(t->client);
}

static void touch(al_http_transfer *t)
{
    if (t->idle_ms)
        uv_timer_start(&t->idle, on_idle, t->idle_ms, 0);
}

static size_t on_body(char *bytes, size_t size, size_t n, void *data)
{
    al_http_transfer *t = data;
    size_t len = size * n;

    if (t->body.len >= AL_HTTP_WINDOW) {
        t->paused = true;
        uv_timer_stop(&t->idle);
        return CURL_WRITEFUNC_PAUSE;
    }
    touch(t);
    t->got_bytes += len;
    if (t->max_bytes && t->got_bytes > t->max_bytes) {
        failed(t, AL_ELIMIT, "maxBytes", "the answer is larger than allowed");
        return 0;
    }
    if (al_buf_add(&t->body, bytes, len) < 0) {
        failed(t, AL_ENOMEM, NULL, "not enough memory");
        return 0;
    }
    add_news(t);
    return len;
}

/* All headers of one block are there: interim ones and redirects to follow are passed over. */
static bool end_of_headers(al_http_transfer *t)
{
    char *from = NULL, target[256], text[400];
    long status = 0;

    curl.curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status < 200)
        return true;
    if (status >= 300 && status < 400 && t->location) {
        curl.curl_easy_getinfo(t->easy, CURLINFO_EFFECTIVE_URL, &from);
        if (may_follow(from, t->location, target, sizeof target) && t->follows)
            return true;
        snprintf(text, sizeof text, "it redirects to %s, which is not followed", target);
        failed(t, AL_EDENIED, "redirect", text);
        return false;
    }
    t->status = (int)status;
    add_news(t);
    return true;
}

static bool take_location(al_http_transfer *t, const char *value, size_t len)
{
    free(t->location);
    t->location = strndup(value, len);
    return t->location != NULL;
}

static size_t on_header(char *line, size_t size, size_t n, void *data)
{
    al_http_transfer *t = data;
    size_t len = size * n, all = len;

    touch(t);
    if (t->status) /* trailers */
        return all;
    while (len > 0 && (line[len - 1] == '\r' || line[len - 1] == '\n'))
        len--;
    if (len == 0)
        return end_of_headers(t) ? all : 0;
    if (len >= 5 && memcmp(line, "HTTP/", 5) == 0) {
        al_buf_clear(&t->headers);
        free(t->location);
        t->location = NULL;
        return all;
    }
    char *colon = memchr(line, ':', len);
    if (!colon || memchr(line, '\0', len))
        return all;
    size_t name = (size_t)(colon - line), value = name + 1;
    while (value < len && (line[value] == ' ' || line[value] == '\t'))
        value++;
    if (name == 8 && strncasecmp(line, "location", 8) == 0 &&
        !take_location(t, line + value, len - value))
        return 0;
    for (size_t i = 0; i < name; i++)
        al_buf_char(&t->headers, (char)tolower((unsigned char)line[i]));
    al_buf_str(&t->headers, ": ");
    al_buf_add(&t->headers, line + value, len - value);
    if (al_buf_char(&t->headers, '\0') == AL_OK)
        return all;
    failed(t, AL_ELIMIT, "protocol", "the headers are too large");
    return 0;
}

static void explain(al_http_transfer *t, CURLcode rc)
{
    const char *text = t->curl_text[0] ? t->curl_text : curl.curl_easy_strerror(rc);
    double connected = 0;

    curl.curl_easy_getinfo(t->easy, CURLINFO_PRETRANSFER_TIME, &connected);
    if (rc == CURLE_OPERATION_TIMEDOUT && connected <= 0)
        rc = CURLE_COULDNT_CONNECT;
    switch (rc) {
    case CURLE_OK: break;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST: failed(t, AL_EIO, "resolve", text); break;
    case CURLE_COULDNT_CONNECT: failed(t, AL_EIO, "connect", text); break;
    case CURLE_OPERATION_TIMEDOUT: failed(t, AL_ETIMEOUT, "timeout", text); break;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR: failed(t, AL_EIO, "tls", text); break;
    case CURLE_TOO_MANY_REDIRECTS: failed(t, AL_EDENIED, "redirect", text); break;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM: failed(t, AL_EIO, "protocol", text); break;
    case CURLE_OUT_OF_MEMORY: failed(t, AL_ENOMEM, NULL, text); break;
    default: failed(t, AL_EIO, "aborted", text); break;
    }
}

static void after_action(al_http *client)
{
    CURLMsg *message;
    int left;

    while ((message = curl.curl_multi_info_read(client->multi, &left))) {
        CURLcode rc = message->data.result;
        al_http_transfer *t = NULL;
        curl.curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &t);
        uv_timer_stop(&t->idle);
        curl.curl_multi_remove_handle(client->multi, t->easy); /* ends *message */
        explain(t, rc);
        t->ended = true;
        add_news(t);
    }
    tell_news(client);
}

/* --- libuv on one side, the multi handle on the other --- */

static void unref(al_http *client)
{
    if (--client->refs > 0)
        return;
    if (client->gone)
        client->gone(client->gone_data);
    free(client);
}

static void act(al_http *client, curl_socket_t fd, int flags)
{
    int running;

    if (!client->multi)
        return;
    client->refs++;
    curl.curl_multi_socket_action(client->multi, fd, flags, &running);
    after_action(client);
    unref(client);
}

/* An error of the socket stops the handle; libcurl learns of it as it reads. */
static void on_poll(uv_poll_t *poll, int status, int events)
{
    http_socket *s = (http_socket *)poll;
    int flags = status < 0 ? CURL_CSELECT_IN | CURL_CSELECT_OUT : 0;

    if (events & UV_READABLE)
        flags |= CURL_CSELECT_IN;
    if (events & UV_WRITABLE)
        flags |= CURL_CSELECT_OUT;
    act(s->client, s->fd, flags);
    if (status < 0 && !uv_is_closing((uv_handle_t *)poll))
        uv_poll_start(poll, s->events, on_poll);
}

static void socket_closed(uv_handle_t *handle)
{
    al_http *client = ((http_socket *)handle)->client;
    free(handle);
    unref(client);
}

static http_socket *socket_new(al_http *client, curl_socket_t fd)
{
    http_socket *s = calloc(1, sizeof *s);

    if (!s || uv_poll_init_socket(client->loop, &s->poll, fd) != 0) {
        free(s);
        return NULL;
    }
    s->client = client;
    s->fd = fd;
    client->refs++;
    curl.curl_multi_assign(client->multi, fd, s);
    return s;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *data, void *socket_data)
{
    al_http *client = data;
    http_socket *s = socket_data;
    int events =
        (what != CURL_POLL_OUT ? UV_READABLE : 0) | (what != CURL_POLL_IN ? UV_WRITABLE : 0);

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (s) {
            uv_poll_stop(&s->poll);
            uv_close((uv_handle_t *)&s->poll, socket_closed);
            curl.curl_multi_assign(client->multi, fd, NULL);
        }
        return 0;
    }
    if (!s && !(s = socket_new(client, fd)))
        return -1;
    s->events = events;
    return uv_poll_start(&s->poll, events, on_poll) == 0 ? 0 : -1;
}

static void on_timeout(uv_timer_t *timer)
{
    act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static int on_timer(CURLM *multi, long ms, void *data)
{
    al_http *client = data;

    (void)multi;
    if (ms < 0)
        uv_timer_stop(&client->timer);
    else
        uv_timer_start(&client->timer, on_timeout, (uint64_t)ms, 0);
    return 0;
}

/* --- the client --- */

int al_http_new(al_http **out, uv_loop_t *loop, al_err *err)
{
    static uv_once_t once = UV_ONCE_INIT;

    *out = NULL;
    uv_once(&once, load);
    if (load_error[0]) {
        al_err_set(err, AL_ENOTSUP, "io_error", "libcurl", load_error);
        return al_err_reason(err, AL_ENOTSUP, "library");
    }
    al_http *client = calloc(1, sizeof *client);
    if (!client || !(client->multi = curl.curl_multi_init())) {
        free(client);
        return al_err_set(err, AL_ENOMEM, "internal", "http", "not enough memory");
    }
    client->loop = loop;
    client->refs = 2; /* the owner and the timer */
    client->news_end = &client->news;
    uv_timer_init(loop, &client->timer);
    client->timer.data = client;
    curl.curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl.curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
    curl.curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl.curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
    *out = client;
    return AL_OK;
}

void al_http_on_gone(al_http *client, void (*gone)(void *data), void *data)
{
    client->gone = gone;
    client->gone_data = data;
}

static void client_timer_closed(uv_handle_t *handle)
{
    unref(handle->data);
}

void al_http_free(al_http *client)
{
    if (!client || client->closed)
        return;
    client->closed = true;
    for (al_http_transfer *t = client->all; t; t = t->next) {
        if (!t->ended)
            curl.curl_multi_remove_handle(client->multi, t->easy);
        uv_timer_stop(&t->idle);
        t->ended = true;
        failed(t, AL_ECANCELED, "aborted", "the host is closing");
    }
    CURLM *multi = client->multi;
    curl.curl_multi_cleanup(multi); /* closes sockets, which still need the handle */
    client->multi = NULL;
    uv_close((uv_handle_t *)&client->timer, client_timer_closed);
    unref(client);
}

/* --- one transfer --- */

static void transfer_closed(uv_handle_t *handle)
{
    al_http_transfer *t = handle->data;
    al_http *client = t->client;

    curl.curl_slist_free_all(t->headers_out);
    free(t->body_out);
    free(t->location);
    al_buf_free(&t->headers);
    al_buf_free(&t->body);
    free(t);
    unref(client);
}

void al_http_close(al_http_transfer *t)
{
    if (!t)
        return;
    al_http *client = t->client;
    if (t->in_news) {
        al_http_transfer **p = &client->news;
        while (*p != t)
            p = &(*p)->next_news;
        *p = t->next_news;
        if (client->news_end == &t->next_news)
            client->news_end = p;
    }
    if (!t->ended && client->multi)
        curl.curl_multi_remove_handle(client->multi, t->easy);
    curl.curl_easy_cleanup(t->easy);
    *(t->prev ? &t->prev->next : &client->all) = t->next;
    if (t->next)
        t->next->prev = t->prev;
    uv_close((uv_handle_t *)&t->idle, transfer_closed);
}

static bool is_token(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("!#$%&'*+-.^_`|~", text[i]))
            return false;
    return len > 0;
}

/* Nothing that could become a second header or a second request. */
static int check_request(const al_http_request *r, al_err *err)
{
    bool ok = is_token(r->method, strlen(r->method));
    const char *bad = r->method;

    for (size_t i = 0; ok && i < r->nheaders; i++) {
        const char *h = r->headers[i];
        bad = h;
        ok = h[strcspn(h, "\r\n")] == '\0' && is_token(h, strcspn(h, ":")) && strchr(h, ':');
    }
    if (ok)
        return AL_OK;
    char name[64]; /* the value may be a secret */
    snprintf(name, sizeof name, "%.*s", strchr(bad, ':') ? (int)strcspn(bad, ":\r\n") : 0, bad);
    al_err_set(err, AL_EINVAL, "io_error", name, "this method or header cannot be sent");
    return al_err_reason(err, AL_EINVAL, "request");
}

static bool has_header(const al_http_request *r, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < r->nheaders; i++)
        if (strncasecmp(r->headers[i], name, len) == 0 && r->headers[i][len] == ':')
            return true;
    return false;
}

static bool add_header(al_http_transfer *t, const char *header)
{
    struct curl_slist *list = curl.curl_slist_append(t->headers_out, header);
    if (list)
        t->headers_out = list;
    return list != NULL;
}

/* libcurl reads "Name:" as "do not send Name"; an empty value is written "Name;". */
static bool add_user_header(al_http_transfer *t, const char *header)
{
    size_t name = strcspn(header, ":");

    if (header[name + 1 + strspn(header + name + 1, " \t")] != '\0')
        return add_header(t, header);
    char *copy = strndup(header, name + 1);
    if (!copy)
        return false;
    copy[name] = ';';
    bool ok = add_header(t, copy);
    free(copy);
    return ok;
}

static bool set_headers(al_http_transfer *t, const al_http_request *r)
{
    if (!add_header(t, "Expect:"))
        return false;
    if (r->body && !has_header(r, "Content-Type") && !add_header(t, "Content-Type:"))
        return false;
    for (size_t i = 0; i < r->nheaders; i++)
        if (!add_user_header(t, r->headers[i]))
            return false;
    return true;
}

static void set_body(al_http_transfer *t, const al_http_request *r)
{
    if (r->body) {
        curl.curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_len);
        curl.curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, t->body_out);
    } else if (strcmp(r->method, "HEAD") == 0) {
        curl.curl_easy_setopt(t->easy, CURLOPT_NOBODY, 1L);
    }
    if (strcmp(r->method, "GET") != 0 && strcmp(r->method, "HEAD") != 0)
        curl.curl_easy_setopt(t->easy, CURLOPT_CUSTOMREQUEST, r->method);
}

static void set_options(al_http_transfer *t, const al_http_request *r)
{
    CURL *easy = t->easy;
    const char *ca = getenv("CURL_CA_BUNDLE");

    if (!ca || !*ca)
        ca = getenv("SSL_CERT_FILE");
    if (ca && *ca)
        curl.curl_easy_setopt(easy, CURLOPT_CAINFO, ca);
    curl.curl_easy_setopt(easy, CURLOPT_URL, r->url);
    curl.curl_easy_setopt(easy, CURLOPT_PRIVATE, t);
#if LIBCURL_VERSION_NUM >= 0x075500
    curl.curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl.curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#endif
    curl.curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, t->follows ? 1L : 0L);
    curl.curl_easy_setopt(easy, CURLOPT_MAXREDIRS, MAX_REDIRECTS);
    curl.curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    curl.curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    curl.curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl.curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl.curl_easy_setopt(easy, CURLOPT_USERAGENT, "alisio/" AL_VERSION_TEXT);
    curl.curl_easy_setopt(easy, CURLOPT_HTTPHEADER, t->headers_out);
    curl.curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                          (long)(r->connect_ms ? r->connect_ms : INT32_MAX));
    curl.curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)r->total_ms);
    curl.curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl.curl_easy_setopt(easy, CURLOPT_WRITEDATA, t);
    curl.curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl.curl_easy_setopt(easy, CURLOPT_HEADERDATA, t);
    curl.curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, t->curl_text);
#if LIBCURL_VERSION_NUM >= 0x075700
    /* a name still being looked up must not hold up the end of a transfer */
    curl.curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
}

static bool prepare(al_http_transfer *t, const al_http_request *r)
{
    if (!(t->easy = curl.curl_easy_init()) || !set_headers(t, r))
        return false;
    if (r->body) {
        t->body_out = malloc(r->body_len + 1);
        if (!t->body_out)
            return false;
        memcpy(t->body_out, r->body, r->body_len);
    }
    t->follows = !has_header(r, "Authorization") &&
                 (strcmp(r->method, "GET") == 0 || strcmp(r->method, "HEAD") == 0);
    set_options(t, r);
    set_body(t, r);
    return curl.curl_multi_add_handle(t->client->multi, t->easy) == CURLM_OK;
}

int al_http_start(al_http_transfer **out, al_http *client, const al_http_request *request,
                  void (*notify)(void *data), void *data, al_err *err)
{
    al_http_transfer *t = calloc(1, sizeof *t);

    *out = NULL;
    if (!t)
        return al_err_set(err, AL_ENOMEM, "internal", "http", "not enough memory");
    int rc = check_request(request, err);
    if (rc == AL_OK)
        rc = check_url(t, request, err);
    if (rc < 0) {
        free(t);
        return rc;
    }
    t->client = client;
    t->notify = notify;
    t->data = data;
    t->idle_ms = request->idle_ms;
    t->max_bytes = request->max_bytes;
    al_buf_init(&t->headers, AL_HTTP_HEADER_MAX);
    uv_timer_init(client->loop, &t->idle);
    t->idle.data = t;
    client->refs++;
    t->next = client->all;
    if (t->next)
        t->next->prev = t;
    client->all = t;
    if (!prepare(t, request)) {
        t->ended = true; /* it never began */
        al_http_close(t);
        return al_err_set(err, AL_ENOMEM, "internal", "http", "not enough memory");
    }
    touch(t);
    *out = t;
    return AL_OK;
}

int al_http_status(const al_http_transfer *t)
{
    return t->status;
}

const char *al_http_headers(const al_http_transfer *t, size_t *len)
{
    *len = t->headers.len;
    return t->headers.len ? t->headers.data : "";
}

const char *al_http_peek(const al_http_transfer *t, size_t *len)
{
    *len = t->body.len;
    return t->body.len ? t->body.data : "";
}

void al_http_drain(al_http_transfer *t)
{
    al_buf_clear(&t->body);
    if (!t->paused || t->ended)
        return;
    t->paused = false;
    touch(t);
    curl.curl_easy_pause(t->easy, CURLPAUSE_CONT); /* may fill the body again at once */
}

bool al_http_ended(const al_http_transfer *t, al_err *err)
{
    if (t->ended && err)
        *err = t->err;
    return t->ended;
}
