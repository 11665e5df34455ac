#include "data.h"
#include "data/feed.h"
#include "zipmaker.h"
#include <stdlib.h>

static al_err err;
static al_zip *zip;
static int fd;

static void open_zip(const char *bytes, size_t len, uint32_t spoil)
{
    const struct member members[] = {
        { .name = "part", .bytes = bytes, .len = len, .spoil = spoil },
        { .name = "secret", .bytes = "x", .encrypted = true },
    };
    al_buf b;

    al_buf_init(&b, 0);
    make_zip(&b, members, 2);
    fd = file_with(b.data, b.len, NULL);
    assert_int_equal(al_zip_open(&zip, fd, UINT64_C(1) << 30, NULL), AL_OK);
    al_buf_free(&b);
}

static void shut(void)
{
    al_zip_close(zip);
    close(fd);
}

/* All of it comes, in blocks, with what was kept in front of the next; small ones without a thread,
 * large ones with. */
static void blocks(void **state)
{
    const size_t sizes[] = { 1, AL_FEED_BLOCK - 1, AL_FEED_BLOCK, AL_FEED_BLOCK + 1,
                             AL_FEED_BLOCK * 11 + 5 };

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *bytes = malloc(sizes[i]);
        size_t len, keep = 0, at = 0;
        const char *data;
        bool last = false;
        al_feed *feed;

        for (size_t k = 0; k < sizes[i]; k++)
            bytes[k] = (char)(k * 31 + k / 1000);
        open_zip(bytes, sizes[i], 0);
        assert_int_equal(al_feed_open(&feed, zip, al_zip_at(zip, 0), &err), AL_OK);
        while (!last) {
            assert_int_equal(al_feed_next(feed, keep, &data, &len, &last, &err), AL_OK);
            assert_true(len >= keep && len - keep <= AL_FEED_BLOCK);
            assert_memory_equal(data, bytes + at - keep, len);
            at += len - keep;
            keep = len < 50000 ? len / 2 : 50000;
        }
        assert_int_equal(at, sizes[i]);
        al_feed_close(feed);
        shut();
        free(bytes);
    }
}

static void left_in_the_middle(void **state)
{
    const size_t size = AL_FEED_BLOCK * 20;
    char *bytes = calloc(1, size);
    const char *data;
    size_t len;
    bool last;
    al_feed *feed;

    (void)state;
    open_zip(bytes, size, 0);
    for (int taken = 0; taken < 4; taken++) {
        assert_int_equal(al_feed_open(&feed, zip, al_zip_at(zip, 0), &err), AL_OK);
        for (int i = 0; i < taken; i++)
            assert_int_equal(al_feed_next(feed, 0, &data, &len, &last, &err), AL_OK);
        al_feed_close(feed);
    }
    shut();
    free(bytes);
    al_feed_close(NULL);
}

static void errors(void **state)
{
    const size_t size = AL_FEED_BLOCK * 5;
    char *bytes = calloc(1, size);
    const char *data;
    size_t len, all = 0;
    bool last = false;
    al_feed *feed;
    int rc = AL_OK;

    (void)state;
    open_zip(bytes, size, 1);
    assert_int_equal(al_feed_open(&feed, zip, al_zip_at(zip, 1), &err), AL_ENOTSUP);
    assert_null(feed);
    assert_int_equal(al_feed_open(&feed, zip, al_zip_at(zip, 0), &err), AL_OK);
    while (rc == AL_OK && !last) {
        rc = al_feed_next(feed, 0, &data, &len, &last, &err);
        all += rc == AL_OK ? len : 0;
    }
    assert_int_equal(rc, AL_EDATA);
    assert_string_equal(err.object, "part");
    assert_true(all <= size);
    al_feed_close(feed);
    shut();
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks),
        cmocka_unit_test(left_in_the_middle),
        cmocka_unit_test(errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
