/* For tests of readers: files that become a dataset in this process. */
#ifndef TESTS_INGESTION_H
#define TESTS_INGESTION_H
#include "base/buf.h"
#include "data.h"
#include "data/ingest.h"

static char path[256]; /* of the dataset */
static int output;
static al_link nobody;
static al_buf result;
static al_err err;
static al_ingest_options options;

static int set_up(void **state)
{
    (void)state;
    al_link_init(&nobody, -1);
    al_buf_init(&result, 0);
    al_ingest_defaults(&options);
    options.name = "data.csv";
    output = file_with("", 0, path);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(output);
    unlink(path);
    al_buf_free(&result);
    return 0;
}

/* A failure must leave no dataset. */
static int ingest_bytes(const char *bytes, size_t len)
{
    int input = file_with(bytes, len, NULL), rc;

    memset(&err, 0, sizeof err);
    al_buf_clear(&result);
    assert_int_equal(ftruncate(output, 0), 0);
    rc = al_ingest_run(&options, input, output, &nobody, &result, &err);
    close(input);
    if (rc != AL_OK)
        assert_int_equal(lseek(output, 0, SEEK_END), 0);
    return rc;
}

#endif
