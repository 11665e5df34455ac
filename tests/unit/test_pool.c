#include "base/err.h"
#include "data/pool.h"
#include "unit.h"
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define JOBS 200

struct job {
    int number;
    int run_rc, turn_rc, after_rc;
};

static struct job jobs[JOBS];
static atomic_int running, most_running, turning, freed[JOBS], afters;
static int turns; /* so far; only in turns, which go one at a time */
static bool in_order;

static int answer(int rc, int number, al_err *err)
{
    return rc == AL_OK ? AL_OK : al_err_setf(err, rc, "internal", "job", "%d", number);
}

static int run(void *arg, al_err *err)
{
    struct job *job = arg;
    int now = atomic_fetch_add(&running, 1) + 1, most = atomic_load(&most_running);

    while (now > most && !atomic_compare_exchange_weak(&most_running, &most, now)) {
    }
    usleep((unsigned)(job->number * 7919 % 300)); /* they do not end as they began */
    atomic_fetch_sub(&running, 1);
    return answer(job->run_rc, job->number, err);
}

static int turn(void *arg, al_err *err)
{
    struct job *job = arg;

    assert_int_equal(atomic_fetch_add(&turning, 1), 0);
    in_order = in_order && job->number == turns;
    turns++;
    atomic_fetch_sub(&turning, 1);
    return answer(job->turn_rc, job->number, err);
}

static int after(void *arg, al_err *err)
{
    struct job *job = arg;

    atomic_fetch_add(&afters, 1);
    return answer(job->after_rc, job->number, err);
}

static void free_job(void *arg)
{
    atomic_fetch_add(&freed[((struct job *)arg)->number], 1);
}

static const al_pool_calls calls = { run, turn, after, free_job };

/* Submits all jobs until one is refused; what the pool says in the end. */
static int work(unsigned threads, al_err *err)
{
    al_pool *p;
    int rc = AL_OK, n = 0;

    turns = 0;
    in_order = true;
    running = most_running = afters = 0;
    for (int i = 0; i < JOBS; i++) {
        jobs[i].number = i;
        freed[i] = 0;
    }
    assert_int_equal(al_pool_open(&p, threads, &calls, NULL), AL_OK);
    while (n < JOBS && rc == AL_OK)
        rc = al_pool_submit(p, &jobs[n++], err);
    rc = al_pool_wait(p, err);
    al_pool_close(p);
    for (int i = 0; i < JOBS; i++)
        assert_int_equal(freed[i], i < n);
    assert_true(in_order);
    assert_true(most_running <= (int)threads);
    return rc;
}

static void jobs_end_in_order(void **state)
{
    (void)state;
    memset(jobs, 0, sizeof jobs);
    for (unsigned threads = 1; threads <= 8; threads++) {
        assert_int_equal(work(threads, NULL), AL_OK);
        assert_int_equal(turns, JOBS);
        assert_int_equal(afters, JOBS);
    }
}

/* Whatever thread meets which error first: the first job in order is told of, and none behind it
 * has its turn. */
static void the_first_error_counts(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 8; threads++)
        for (int way = 0; way < 2; way++) {
            al_err err = { 0 };

            memset(jobs, 0, sizeof jobs);
            jobs[41].run_rc = AL_EIO;
            jobs[42].run_rc = AL_EDATA;
            jobs[40].run_rc = way ? AL_ELIMIT : AL_OK;
            jobs[40].turn_rc = way ? AL_OK : AL_ELIMIT;
            assert_int_equal(work(threads, &err), AL_ELIMIT);
            assert_string_equal(err.detail, "40");
            assert_int_equal(turns, way ? 40 : 41);
            assert_int_equal(afters, 40);
        }
}

static void what_fails_behind_a_turn_counts_too(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 4; threads++) {
        al_err err = { 0 };

        memset(jobs, 0, sizeof jobs);
        jobs[JOBS - 1].after_rc = AL_EIO;
        assert_int_equal(work(threads, &err), AL_EIO);
        assert_string_equal(err.detail, "199");
    }
}

static void jobs_left_are_freed(void **state)
{
    al_pool *p;

    (void)state;
    memset(jobs, 0, sizeof jobs);
    for (int i = 0; i < 3; i++)
        freed[jobs[i].number = i] = 0;
    assert_int_equal(al_pool_open(&p, 3, &calls, NULL), AL_OK);
    in_order = true;
    turns = 0;
    for (int i = 0; i < 3; i++)
        assert_int_equal(al_pool_submit(p, &jobs[i], NULL), AL_OK);
    al_pool_close(p);
    for (int i = 0; i < 3; i++)
        assert_int_equal(freed[i], 1);
    assert_int_equal(al_pool_open(&p, 0, &calls, NULL), AL_OK);
    assert_true(al_pool_threads(p) >= 1);
    al_pool_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_end_in_order),
        cmocka_unit_test(the_first_error_counts),
        cmocka_unit_test(what_fails_behind_a_turn_counts_too),
        cmocka_unit_test(jobs_left_are_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
