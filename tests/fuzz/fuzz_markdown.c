/* prim/markdown and prim/text on any bytes: nothing of the text acts, lines are bounded, and what
 * is shown is UTF-8. The first byte chooses the width. */
#include "base/utf8.h"
#include "prim/artifact.h"
#include "prim/markdown.h"
#include "prim/text.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

/* No control character but line feeds, tabs and colours of our own. */
static void check_harmless(const al_buf *b, bool colour)
{
    check(al_utf8_valid(b->data ? b->data : "", b->len) == b->len);
    for (size_t i = 0; i < b->len; i++) {
        unsigned char c = (unsigned char)b->data[i];
        if (c == 0x1B) {
            check(colour && i + 1 < b->len && b->data[i + 1] == '[');
            for (i += 2; i < b->len && b->data[i] != 'm'; i++)
                check(b->data[i] >= '0' && b->data[i] <= '9');
        } else {
            check(c >= 0x20 ? c != 0x7F : c == '\n' || c == '\t');
        }
    }
}

static void draw(const char *text, size_t len, size_t columns, bool colour)
{
    al_buf out;
    al_buf_init(&out, 0);
    check(al_markdown(&out, text, len, columns, colour, NULL) == AL_OK);
    check_harmless(&out, colour);
    al_buf_free(&out);
}

static void lay_out(const char *text, size_t len, size_t columns)
{
    al_buf seen, out;
    al_buf_init(&seen, 0);
    al_buf_init(&out, 0);
    check(al_text_visible(&seen, text, len, true) == AL_OK);
    check_harmless(&seen, false);
    check(al_text_truncate(&out, text, len, columns) == AL_OK);
    check(al_text_width(out.data ? out.data : "", out.len) <= columns);
    al_buf_clear(&out);
    check(al_text_wrap(&out, seen.data ? seen.data : "", seen.len, columns) == AL_OK);
    al_buf_free(&seen);
    al_buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const char *text = (const char *)data + 1;
    draw(text, size - 1, data[0], data[0] % 2);
    lay_out(text, size - 1, data[0] % 40 + 2);
    al_artifact_sniff(text, size - 1);
    return 0;
}
