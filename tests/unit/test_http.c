/* prim/http against a server in the same loop that says exactly what a test wrote down. */
#include "prim/http.h"
#include <netdb.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static uv_loop_t loop;
static al_http *client;

/* --- the server --- */

static uv_tcp_t server;
static int port;
static const char *replies[4]; /* one a connection */
static size_t reply_len;       /* 0: strlen */
static int connections;
static bool keep_open;    /* do not close after the reply */
static bool reset_reused; /* break a connection at its second request */
static al_buf seen;       /* what the clients sent */
static uv_write_t writes[4];

static void free_handle(uv_handle_t *h)
{
    free(h);
}

static void on_written(uv_write_t *w, int status)
{
    if ((status < 0 || !keep_open) && !uv_is_closing((uv_handle_t *)w->handle))
        uv_close((uv_handle_t *)w->handle, free_handle);
}

static void alloc(uv_handle_t *h, size_t n, uv_buf_t *buf)
{
    static char bytes[65536];
    (void)h, (void)n;
    *buf = uv_buf_init(bytes, sizeof bytes);
}

static void on_data(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
    if (n < 0) {
        if (!uv_is_closing((uv_handle_t *)s))
            uv_close((uv_handle_t *)s, free_handle);
        return;
    }
    if (reset_reused && !s->data) {
        uv_tcp_close_reset((uv_tcp_t *)s, free_handle);
        return;
    }
    al_buf_add(&seen, buf->base, (size_t)n);
    if (s->data && strstr(seen.data, "\r\n\r\n")) {
        const char *reply = s->data;
        uv_buf_t out =
            uv_buf_init((char *)reply, (unsigned)(reply_len ? reply_len : strlen(reply)));
        s->data = NULL;
        uv_write(&writes[connections % 4], s, &out, 1, on_written);
    }
}

static void on_connection(uv_stream_t *s, int status)
{
    uv_tcp_t *peer = calloc(1, sizeof *peer);
    assert_int_equal(status, 0);
    uv_tcp_init(&loop, peer);
    uv_accept(s, (uv_stream_t *)peer);
    al_buf_clear(&seen);
    peer->data = (void *)replies[connections++ % 4];
    uv_read_start((uv_stream_t *)peer, alloc, on_data);
}

static int set_up(void **state)
{
    struct sockaddr_in any;
    int len = sizeof any;
    (void)state;

    uv_loop_init(&loop);
    uv_ip4_addr("127.0.0.1", 0, &any);
    uv_tcp_init(&loop, &server);
    uv_tcp_bind(&server, (struct sockaddr *)&any, 0);
    uv_listen((uv_stream_t *)&server, 8, on_connection);
    uv_tcp_getsockname(&server, (struct sockaddr *)&any, &len);
    port = ntohs(any.sin_port);
    memset(replies, 0, sizeof replies);
    reply_len = 0;
    connections = 0;
    keep_open = reset_reused = false;
    return al_http_new(&client, &loop, NULL);
}

static void close_all(uv_handle_t *h, void *arg)
{
    (void)arg;
    if (!uv_is_closing(h))
        uv_close(h, h == (uv_handle_t *)&server ? NULL : free_handle);
}

/* Everything of the client must go by itself; what is left then is the server's. */
static int tear_down(void **state)
{
    (void)state;
    al_http_free(client);
    for (int i = 0; i < 10; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
    uv_walk(&loop, close_all, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    al_buf_free(&seen);
    return uv_loop_close(&loop);
}

/* --- the client --- */

static void on_news(void *data)
{
    ++*(int *)data;
}

static const char *url(const char *path)
{
    static char text[200];
    snprintf(text, sizeof text, "http://127.0.0.1:%d%s", port, path);
    return text;
}

static al_http_transfer *start(al_http_request r, int *news)
{
    al_http_transfer *t;
    al_err err = { 0 };
    if (!r.method)
        r.method = "GET";
    if (!r.url)
        r.url = url("/a?key=hidden");
    assert_int_equal(al_http_start(&t, client, &r, on_news, news, &err), AL_OK);
    return t;
}

typedef struct answer {
    int status;
    al_err err;
    al_buf body;
    char headers[1000];
} answer;

static answer fetch(al_http_request r)
{
    int news = 0;
    answer a = { 0 };
    al_http_transfer *t = start(r, &news);

    while (!al_http_ended(t, &a.err)) {
        size_t len;
        uv_run(&loop, UV_RUN_ONCE);
        const char *bytes = al_http_peek(t, &len);
        al_buf_add(&a.body, bytes, len);
        al_http_drain(t);
    }
    size_t len;
    a.status = al_http_status(t);
    const char *headers = al_http_headers(t, &len);
    if (len > sizeof a.headers)
        len = sizeof a.headers;
    memcpy(a.headers, headers, len);
    for (size_t i = 0; i + 1 < len; i++)
        if (!a.headers[i])
            a.headers[i] = '\n';
    al_http_close(t);
    assert_true(news > 0);
    return a;
}

static void check_failure(al_http_request r, const char *reason, const char *says)
{
    answer a = fetch(r);
    assert_string_equal(a.err.id, "io_error");
    assert_string_equal(a.err.reason, reason);
    if (says)
        assert_non_null(strstr(a.err.detail, says));
    assert_null(strstr(a.err.object, "hidden"));
    al_buf_free(&a.body);
}

#define OK "HTTP/1.1 200 OK\r\n"

static void an_answer_has_status_headers_and_body(void **state)
{
    (void)state;
    replies[0] = "HTTP/1.1 100 Continue\r\n\r\n"
                 "HTTP/1.1 404 No\r\nX-One:  a\r\nEmpty:\r\nContent-Length: 5\r\n\r\nhello";
    answer a = fetch((al_http_request){ 0 });
    assert_int_equal(a.err.code, AL_OK);
    assert_int_equal(a.status, 404);
    assert_string_equal(a.headers, "x-one: a\nempty: \ncontent-length: 5");
    assert_string_equal(a.body.data, "hello");
    assert_non_null(strstr(seen.data, "GET /a?key=hidden HTTP/1.1\r\n"));
    assert_non_null(strstr(seen.data, "User-Agent: alisio/"));
    al_buf_free(&a.body);
}

static void the_request_is_sent_as_given(void **state)
{
    const char *headers[] = { "Content-Type: application/json", "X-Empty:", "Authorization: K" };
    (void)state;
    replies[0] = OK "Content-Length: 0\r\n\r\n";
    answer a = fetch((al_http_request){
        .method = "POST", .headers = headers, .nheaders = 3, .body = "{\"a\":1}", .body_len = 7 });
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(seen.data, "POST /a"));
    assert_non_null(strstr(seen.data, "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(seen.data, "\r\nX-Empty:\r\n"));
    assert_non_null(strstr(seen.data, "\r\nAuthorization: K\r\n"));
    assert_non_null(strstr(seen.data, "\r\n\r\n{\"a\":1}"));
    assert_null(strstr(seen.data, "Expect:"));
    al_buf_free(&a.body);
}

static void redirects_stay_on_the_host(void **state)
{
    const char *key[] = { "Authorization: Bearer k" };
    char other[200];
    (void)state;

    replies[0] = "HTTP/1.1 302 F\r\nLocation: /b\r\nContent-Length: 4\r\n\r\ngone";
    replies[1] = OK "Content-Length: 2\r\n\r\nok";
    answer a = fetch((al_http_request){ 0 });
    assert_int_equal(a.status, 200);
    assert_string_equal(a.body.data, "ok");
    assert_non_null(strstr(seen.data, "GET /b "));
    al_buf_free(&a.body);

    static const char *const elsewhere[] = { "http://localhost:%d/",   "https://127.0.0.1:%d/",
                                             "http://u@127.0.0.1:%d/", "//evil.example:%d/",
                                             "http://127.0.0.1:1%d/",  "file:///etc/passwd" };
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
        char target[100];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(target, sizeof target, elsewhere[i], port % 5000);
#pragma GCC diagnostic pop
        snprintf(other, sizeof other, "HTTP/1.1 307 F\r\nLocation: %s\r\n\r\n", target);
        replies[connections % 4] = other;
        check_failure((al_http_request){ 0 }, "redirect", "redirects to ");
    }
    replies[connections % 4] = "HTTP/1.1 302 F\r\nLocation: /b\r\n\r\n";
    check_failure((al_http_request){ .headers = key, .nheaders = 1 }, "redirect", "/b");
    replies[connections % 4] = "HTTP/1.1 308 F\r\nLocation: /b\r\n\r\n";
    check_failure((al_http_request){ .method = "POST", .body = "x", .body_len = 1 }, "redirect",
                  "/b");
    for (int i = 0; i < 4; i++)
        replies[i] = "HTTP/1.1 302 F\r\nLocation: /again\r\nConnection: close\r\n\r\n";
    check_failure((al_http_request){ 0 }, "redirect", "Maximum");
}

static void silence_and_slowness_end_in_a_timeout(void **state)
{
    (void)state;
    keep_open = true;
    replies[0] = OK "Content-Length: 9\r\n\r\nhalf";
    check_failure((al_http_request){ .idle_ms = 30 }, "timeout", "nothing came for 30 ms");
    replies[1] = "";
    check_failure((al_http_request){ .idle_ms = 30 }, "timeout", NULL);
    replies[2] = "";
    check_failure((al_http_request){ .total_ms = 30 }, "timeout", NULL);
}

static void too_much_is_refused(void **state)
{
    (void)state;
    replies[0] = OK "\r\n0123456789";
    check_failure((al_http_request){ .max_bytes = 9 }, "maxBytes", NULL);
    replies[1] = OK "\r\n0123456789";
    answer a = fetch((al_http_request){ .max_bytes = 10 });
    assert_int_equal(a.err.code, AL_OK);
    al_buf_free(&a.body);
}

static void endless_headers_are_refused(void **state)
{
    static char flood[600000];
    (void)state;

    strcpy(flood, OK);
    for (size_t at = strlen(flood); at + 1100 < sizeof flood; at += 1004) {
        memset(flood + at, 'x', 1002);
        memcpy(flood + at, "a: ", 3);
        memcpy(flood + at + 1002, "\r\n", 2);
    }
    replies[0] = flood;
    answer a = fetch((al_http_request){ 0 });
    assert_int_not_equal(a.err.code, AL_OK);
    al_buf_free(&a.body);
}

static void broken_answers_are_named(void **state)
{
    (void)state;
    replies[0] = OK "Content-Length: 9\r\n\r\nhalf";
    check_failure((al_http_request){ 0 }, "aborted", NULL);
    replies[1] = OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhel";
    check_failure((al_http_request){ 0 }, "aborted", NULL);
    replies[2] = "SSH-2.0-OpenSSH\r\n";
    check_failure((al_http_request){ 0 }, "protocol", NULL);
    replies[3] = "";
    check_failure((al_http_request){ 0 }, "aborted", NULL);
    check_failure((al_http_request){ .url = "http://127.0.0.1:1/" }, "connect", NULL);
    check_failure((al_http_request){ .url = "http://no-such-host.invalid/" }, "resolve", NULL);
}

/* The server may give up a connection in the moment in which it is used again. */
static void a_stale_connection_is_replaced(void **state)
{
    (void)state;
    keep_open = reset_reused = true;
    for (int i = 0; i < 4; i++)
        replies[i] = OK "Content-Length: 2\r\n\r\nok";
    for (int i = 1; i <= 4; i++) {
        answer a = fetch((al_http_request){ .method = "POST", .body = "x", .body_len = 1 });
        assert_int_equal(a.err.code, AL_OK);
        assert_string_equal(a.body.data, "ok");
        assert_int_equal(connections, i);
        al_buf_free(&a.body);
    }
}

static void a_slow_reader_makes_the_server_wait(void **state)
{
    const size_t size = 16 * 1024 * 1024;
    char *big = malloc(size);
    int news = 0;
    size_t len, got = 0;
    (void)state;

    memset(big, 'x', size);
    memcpy(big, OK "\r\n", strlen(OK "\r\n"));
    replies[0] = big;
    reply_len = size;
    al_http_transfer *t = start((al_http_request){ .idle_ms = 300 }, &news);
    for (uint64_t end = uv_hrtime() + 700000000; uv_hrtime() < end;)
        uv_run(&loop, UV_RUN_NOWAIT);
    al_http_peek(t, &len);
    assert_true(len >= AL_HTTP_WINDOW && len < 2 * AL_HTTP_WINDOW);
    assert_false(al_http_ended(t, NULL)); /* the reader's slowness is no silence of the server */
    for (;;) {
        al_http_peek(t, &len);
        got += len;
        al_http_drain(t);
        if (len == 0 && al_http_ended(t, NULL))
            break;
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(got, size - strlen(OK "\r\n"));
    al_http_close(t);
    free(big);
}

static void a_transfer_can_be_closed_at_any_time(void **state)
{
    (void)state;
    keep_open = true;
    for (int turns = 0; turns < 12; turns++) {
        int news = 0;
        replies[connections % 4] = OK "Content-Length: 9\r\n\r\nhalf";
        al_http_transfer *t = start((al_http_request){ .idle_ms = 1000 }, &news);
        for (int i = 0; i < turns; i++)
            uv_run(&loop, UV_RUN_NOWAIT);
        al_http_close(t);
        int before = news;
        uv_run(&loop, UV_RUN_NOWAIT);
        assert_int_equal(news, before);
    }
}

static void a_client_can_go_before_its_transfers(void **state)
{
    int news = 0;
    al_err err = { 0 };
    (void)state;

    keep_open = true;
    replies[0] = OK "\r\n";
    al_http_transfer *t = start((al_http_request){ .idle_ms = 1000 }, &news);
    for (int i = 0; i < 10; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
    al_http_free(client);
    client = NULL;
    assert_true(al_http_ended(t, &err));
    assert_int_equal(err.code, AL_ECANCELED);
    al_http_close(t);
}

static bool slow_names; /* getaddrinfo sleeps */

__attribute__((visibility("default"))) int getaddrinfo(const char *node, const char *service,
                                                       const struct addrinfo *hints,
                                                       struct addrinfo **res)
{
    (void)service, (void)hints;
    *res = NULL;
    if (slow_names && strstr(node, "slow"))
        usleep(500000);
    return EAI_NONAME;
}

static void a_name_that_is_slow_to_find_holds_nothing_up(void **state)
{
    int news = 0;
    (void)state;

    slow_names = true;
    al_http_transfer *t = start((al_http_request){ .url = "http://slow.invalid/" }, &news);
    for (int i = 0; i < 5; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
    uint64_t began = uv_hrtime();
    al_http_close(t);
    al_http_free(client);
    client = NULL;
    assert_true(uv_hrtime() - began < 400000000); /* not the 500 ms of the lookup */
    slow_names = false;
    usleep(600000); /* the lookup's thread ends by itself */
}

static void what_cannot_be_sent_is_refused(void **state)
{
    static const struct {
        const char *method, *url, *header, *reason;
    } cases[] = { { "GET", "ftp://a/", "A: b", "url" },
                  { "GET", "file:///etc/passwd", "A: b", "url" },
                  { "GET", "http://u:hidden@a/", "A: b", "url" },
                  { "GET", "not a url", "A: b", "url" },
                  { "GET", "", "A: b", "url" },
                  { "GE T", "http://a/", "A: b", "request" },
                  { "", "http://a/", "A: b", "request" },
                  { "GET", "http://a/", "A: b\r\nC: d", "request" },
                  { "GET", "http://a/", "A\n: hidden", "request" },
                  { "GET", "http://a/", "no colon", "request" },
                  { "GET", "http://a/", ": hidden", "request" } };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *headers[] = { cases[i].header };
        al_http_request r = {
            .method = cases[i].method, .url = cases[i].url, .headers = headers, .nheaders = 1
        };
        al_http_transfer *t;
        al_err err = { 0 };
        int news;
        assert_int_equal(al_http_start(&t, client, &r, on_news, &news, &err), AL_EINVAL);
        assert_null(t);
        assert_string_equal(err.reason, cases[i].reason);
        assert_null(strstr(err.object, "hidden"));
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_answer_has_status_headers_and_body),
        TEST(the_request_is_sent_as_given),
        TEST(redirects_stay_on_the_host),
        TEST(silence_and_slowness_end_in_a_timeout),
        TEST(too_much_is_refused),
        TEST(endless_headers_are_refused),
        TEST(broken_answers_are_named),
        TEST(a_stale_connection_is_replaced),
        TEST(a_slow_reader_makes_the_server_wait),
        TEST(a_transfer_can_be_closed_at_any_time),
        TEST(a_client_can_go_before_its_transfers),
        TEST(a_name_that_is_slow_to_find_holds_nothing_up),
        TEST(what_cannot_be_sent_is_refused),
    };
    static const char *const proxies[] = { "http_proxy", "all_proxy", "ALL_PROXY" };
    for (size_t i = 0; i < 3; i++)
        unsetenv(proxies[i]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
