#include "base/wire.h"
#include "data/work.h"
#include "unit.h"
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

struct job {
    atomic_int begun[1000];
    size_t fails_at;
};

static int count(void *arg, const al_work_part *part, al_err *err)
{
    struct job *j = arg;

    assert_true(part->thread < part->work->threads);
    atomic_fetch_add(&j->begun[part->index], 1);
    if (part->index == j->fails_at)
        return al_err_set(err, AL_EDATA, "io_error", "x", "");
    return AL_OK;
}

static void every_piece_once(void **state)
{
    (void)state;
    for (unsigned threads = 0; threads < 6; threads++) {
        struct job *j = calloc(1, sizeof *j);
        al_work w;

        j->fails_at = SIZE_MAX;
        al_work_init(&w, threads, NULL);
        assert_true(w.threads >= 1);
        assert_int_equal(al_work_each(&w, 1000, count, j, NULL), AL_OK);
        for (int i = 0; i < 1000; i++)
            assert_int_equal(j->begun[i], 1);
        assert_int_equal(al_work_each(&w, 0, count, j, NULL), AL_OK);
        free(j);
    }
}

static void the_failure_is_told(void **state)
{
    struct job *j = calloc(1, sizeof *j);
    al_err err;
    al_work w;

    (void)state;
    j->fails_at = 10;
    al_work_init(&w, 3, NULL);
    assert_int_equal(al_work_each(&w, 1000, count, j, &err), AL_EDATA);
    assert_string_equal(err.object, "x");
    free(j);
}

static int wait_for_cancel(void *arg, const al_work_part *part, al_err *err)
{
    (void)arg;
    for (;;) {
        int rc = al_work_tick(part, err);

        if (rc != AL_OK)
            return rc;
        poll(NULL, 0, 1);
    }
}

static void a_cancel_stops_all(void **state)
{
    al_link link;
    al_work w;
    al_err err;
    int ends[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    al_link_init(&link, ends[0]);
    al_work_init(&w, 3, &link);
    assert_int_equal(al_wire_send(ends[1], AL_WIRE_CANCEL, "", 0, NULL, 0), AL_OK);
    assert_int_equal(al_work_each(&w, 100, wait_for_cancel, NULL, &err), AL_ECANCELED);
    assert_string_equal(err.id, "cancelled");
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_piece_once),
        cmocka_unit_test(the_failure_is_told),
        cmocka_unit_test(a_cancel_stops_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
