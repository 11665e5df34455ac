/* data/regex with any pattern (the first line) and any text (the rest): a pattern that is taken
 * finds the same in a group of its own, and when it may also match nothing it finds something
 * anywhere. */
#include "base/buf.h"
#include "data/regex.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

/* 1 or 0, -1 when the pattern between head and tail is none. */
static int finds(const char *head, const char *pattern, size_t len, const char *tail,
                 const char *text, size_t size)
{
    al_buf whole;
    al_regex *r;
    al_err err;
    int found = -1;

    al_buf_init(&whole, 0);
    al_buf_str(&whole, head);
    al_buf_add(&whole, pattern, len);
    al_buf_str(&whole, tail);
    if (al_regex_open(&r, whole.data ? whole.data : "", whole.len, &err) == AL_OK) {
        found = al_regex_find(r, text, size);
        check(al_regex_find(r, text, size) == (found == 1));
        al_regex_close(r);
    } else {
        check(!strcmp(err.id, "query_failed") && err.detail[0]);
    }
    al_buf_free(&whole);
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *pattern = (const char *)data, *lf = memchr(data, '\n', size);
    const size_t len = lf ? (size_t)(lf - pattern) : size;
    const char *text = lf ? lf + 1 : pattern + size;
    const size_t rest = size - (size_t)(text - pattern);
    const int found = finds("", pattern, len, "", text, rest);
    int grouped, optional;

    if (found < 0 || (len >= 4 && memcmp(pattern, "(?i)", 4) == 0))
        return 0;
    grouped = finds("(?:", pattern, len, ")", text, rest); /* -1: too long or too deep now */
    check(grouped == found || grouped < 0);
    optional = finds("(", pattern, len, ")?", text, rest);
    check(optional != 0);
    return 0;
}
