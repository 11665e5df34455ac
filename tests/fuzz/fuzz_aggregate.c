/* data/aggregate and data/filter with any request: an answer that is JSON, or a refusal by name.
 * The first byte says how much of the text is a filter of the whole request. */
#include "base/json.h"
#include "data/aggregate.h"
#include "data/dataset.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int dataset = -1;
static al_store *store;

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void make_dataset(void)
{
    const al_cell labels[] = { al_cell_text("id", 2), al_cell_text("day", 3),
                               al_cell_text("n", 1) };
    const al_dataset_options o = { .max_rows = 10 };
    const al_dataset_meta meta = { .format = "csv" };
    al_cell cells[] = { al_cell_integer(1),
                        al_cell_text("2024-01-05", 10),
                        al_cell_real(2.5),
                        al_cell_integer(2),
                        al_cell_text("2024-02-05", 10),
                        al_cell_text("x", 1),
                        al_cell_integer(3),
                        al_cell_null(),
                        al_cell_integer(-7) };
    const al_batch b = { .cells = cells, .columns = 3, .rows = 3 };
    al_dataset *d;

    dataset = memfd_create("fuzz", MFD_CLOEXEC);
    check(dataset >= 0);
    check(al_dataset_open(&d, dataset, &o, NULL) == AL_OK);
    check(al_dataset_sheet(d, "data", "data", labels, 3, NULL) == AL_OK);
    check(al_dataset_rows(d, &b, NULL) == AL_OK);
    check(al_dataset_finish(d, &meta, NULL) == AL_OK);
    al_dataset_close(d);
    check(al_store_open(&store, NULL) == AL_OK);
}

static void check_answer(const al_buf *answer)
{
    size_t at, len;
    al_json j;

    al_json_open(&j, answer->data, answer->len, 0);
    check(al_json_next(&j) == AL_JSON_OBJECT);
    check(al_json_skip(&j, &at, &len) == AL_OK);
    check(al_json_next(&j) == AL_JSON_END);
    al_json_close(&j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data + 1;
    al_aggregate_options o = { .threads = 1 };
    al_err err = { 0 };
    al_buf answer;
    size_t filter;
    int rc;

    if (dataset < 0)
        make_dataset();
    if (size == 0)
        return 0;
    size--;
    filter = data[0] < size ? data[0] : 0;
    o.filter = filter ? text : NULL;
    o.filter_len = filter;
    o.groups = text + filter;
    o.groups_len = size - filter;
    if (size > filter && text[size - 1] == 's') { /* samples instead */
        o.samples = o.groups;
        o.samples_len = o.groups_len - 1;
        o.groups = NULL;
    }
    al_buf_init(&answer, 0);
    rc = al_aggregate_run(store, dataset, &o, NULL, &answer, &err);
    if (rc == AL_OK)
        check_answer(&answer);
    else
        check(strcmp(err.id, "query_rejected") == 0);
    al_buf_free(&answer);
    return 0;
}
