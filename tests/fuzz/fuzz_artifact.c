/* prim/artifact with any leading bytes and any name: what is kept as a name is UTF-8, composed, and
 * kept again as it is. */
#include "base/utf8.h"
#include "prim/artifact.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    al_buf name, again;

    al_artifact_sniff(bytes, size < AL_SNIFF_BYTES ? size : AL_SNIFF_BYTES);
    al_buf_init(&name, 0);
    al_buf_init(&again, 0);
    if (!al_artifact_name(bytes, size, &name)) {
        check(name.len && name.len < 256 && !memchr(name.data, '/', name.len));
        check(al_utf8_valid(name.data, name.len) == name.len);
        check(!al_artifact_name(name.data, name.len, &again));
        check(again.len == name.len && !memcmp(again.data, name.data, name.len));
    }
    al_buf_free(&name);
    al_buf_free(&again);
    return 0;
}
