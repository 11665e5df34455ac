/* prim/sse: the same events whatever the pieces, and every rule of the format. */
#include "prim/sse.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Writes all events of a stream as "[type|data|id|retry]", fed in pieces of `step` bytes. */
static char *events_of(const char *bytes, size_t len, size_t step)
{
    al_sse p;
    al_buf out = { 0 };
    al_err err = { 0 };
    int rc = 0;

    al_sse_init(&p, 1000, 2000);
    for (size_t at = 0; at < len && rc >= 0; at += step) {
        size_t left = len - at < step ? len - at : step;
        char *piece = malloc(left); /* exactly as long: reading past it would be seen */
        memcpy(piece, bytes + at, left);
        const char *cursor = piece;
        while ((rc = al_sse_next(&p, &cursor, &left, &err)) == 1) {
            al_buf_printf(&out, "[%s|", p.event);
            al_buf_add(&out, p.data, p.data_len);
            al_buf_printf(&out, "|%s|%d]", p.id, (int)p.retry);
        }
        free(piece);
    }
    if (rc >= 0 && al_sse_finish(&p, &err) == 1) {
        al_buf_str(&out, "[unfinished|");
        al_buf_add(&out, p.data, p.data_len);
        al_buf_char(&out, ']');
    }
    if (rc < 0)
        al_buf_printf(&out, "(%s)", err.reason);
    al_sse_free(&p);
    al_buf_char(&out, '\0');
    return al_buf_steal(&out);
}

static void check(const char *bytes, size_t len, const char *expected)
{
    for (size_t step = 1; step <= len; step++) {
        char *seen = events_of(bytes, len, step);
        assert_string_equal(seen, expected);
        free(seen);
    }
}

#define CHECK(bytes, expected) check(bytes, sizeof(bytes) - 1, expected)

static void lines_end_in_lf_crlf_or_cr(void **state)
{
    (void)state;
    CHECK("data: a\n\ndata: b\n\n", "[|a||-1][|b||-1]");
    CHECK("data: a\r\n\r\ndata: b\r\n\r\n", "[|a||-1][|b||-1]");
    CHECK("data: a\r\rdata: b\r\r", "[|a||-1][|b||-1]");
    CHECK("data: a\r\n\rdata: b\n\r\n", "[|a||-1][|b||-1]");
}

static void nothing_else_ends_a_line(void **state)
{
    (void)state;
    CHECK("data: a\xc2\x85 b\xe2\x80\xa8 c\xe2\x80\xa9 d\v e\f\n\n",
          "[|a\xc2\x85 b\xe2\x80\xa8 c\xe2\x80\xa9 d\v e\f||-1]");
}

static void one_space_after_the_colon_is_dropped(void **state)
{
    (void)state;
    CHECK("data:a\n\ndata: a\n\ndata:  a\n\ndata:\n\ndata\n\n",
          "[|a||-1][|a||-1][| a||-1][|||-1][|||-1]");
}

static void data_lines_are_joined(void **state)
{
    (void)state;
    CHECK("data: a\ndata\ndata: b\n\n", "[|a\n\nb||-1]");
}

static void comments_and_keepalives_make_no_event(void **state)
{
    (void)state;
    CHECK(":\n\n: hello\n\nevent: keepalive\n\n:\ndata: a\n:\n\n", "[|a||-1]");
    CHECK("data: : keepalive\n\n", "[|: keepalive||-1]");
}

static void fields_do_what_they_say(void **state)
{
    (void)state;
    CHECK("event: ping\nid: 7\nretry: 250\ndata: x\n\ndata: y\n\n", "[ping|x|7|250][|y|7|-1]");
    CHECK("retry: 1x\nid: a\0b\nother: 1\ndatax: 2\ndata: x\n\n", "[|x||-1]");
    CHECK("event: gone\n\ndata: x\n\n", "[|x||-1]");
}

static void one_mark_at_the_start_is_dropped(void **state)
{
    (void)state;
    CHECK("\xef\xbb\xbf"
          "data: a\n\n",
          "[|a||-1]");
    CHECK("\xef\xbb"
          "data: a\n\ndata: b\n\n",
          "[|b||-1]");
    CHECK("\xef\xbb\xbf\xef\xbb\xbf"
          "data: a\n\n",
          "");
}

static void bad_utf8_is_replaced(void **state)
{
    (void)state;
    CHECK("data: a\xff"
          "b\xe2\x82\n\n",
          "[|a\xef\xbf\xbd"
          "b\xef\xbf\xbd\xef\xbf\xbd||-1]");
    CHECK("data: \xe2\x82\xac\n\n", "[|\xe2\x82\xac||-1]");
}

static void an_unfinished_event_is_handed_out_at_the_end(void **state)
{
    (void)state;
    CHECK("data: a\n\ndata: [DONE]\n", "[|a||-1][unfinished|[DONE]]");
    CHECK("data: a\n\ndata: [DONE]", "[|a||-1][unfinished|[DONE]]");
    CHECK("data: a\n\nevent: x\n", "[|a||-1]");
}

static void long_lines_and_events_are_refused(void **state)
{
    char line[1200] = "data: ", many[4000];
    (void)state;

    memset(line + 6, 'x', sizeof line - 6);
    line[sizeof line - 1] = '\n';
    check(line, sizeof line, "(maxBytes)");
    check(line, sizeof line - 1, "(maxBytes)");
    memset(many, 'x', sizeof many);
    for (size_t i = 0; i + 500 <= sizeof many; i += 500) {
        memcpy(many + i, "data: ", 6);
        many[i + 499] = '\n';
    }
    for (size_t step = 1; step < 700; step += 37) {
        char *seen = events_of(many, sizeof many, step);
        assert_string_equal(seen, "(maxBytes)");
        free(seen);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_end_in_lf_crlf_or_cr),
        cmocka_unit_test(nothing_else_ends_a_line),
        cmocka_unit_test(one_space_after_the_colon_is_dropped),
        cmocka_unit_test(data_lines_are_joined),
        cmocka_unit_test(comments_and_keepalives_make_no_event),
        cmocka_unit_test(fields_do_what_they_say),
        cmocka_unit_test(one_mark_at_the_start_is_dropped),
        cmocka_unit_test(bad_utf8_is_replaced),
        cmocka_unit_test(an_unfinished_event_is_handed_out_at_the_end),
        cmocka_unit_test(long_lines_and_events_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
