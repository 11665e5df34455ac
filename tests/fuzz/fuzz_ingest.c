/* data/ingest on any file: a dataset that SQLite finds whole, the same whatever the reads and
 * windows, or an error with its name and nothing left. */
#include "ingest.h"

static int run(const uint8_t *data, size_t size, size_t reads, size_t window, char hex[65])
{
    al_ingest_options o;

    al_ingest_defaults(&o);
    o.max_cell_bytes = 4096;
    o.read_limit = reads;
    o.window = window;
    return ingest(&o, data, size, hex);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char one[65], other[65];
    int rc = run(data, size, 0, 0, one);

    check(run(data, size, 1 + size % 7, 16 + size % 50, other) == rc);
    check(rc != AL_OK || strcmp(one, other) == 0);
    return 0;
}
