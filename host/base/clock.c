/* Time and randomness. The faked kinds exist only in builds with AL_TEST_HOOKS. */
#include "base/clock.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#if defined(__APPLE__) || (defined(__linux__) && !defined(AL_PORTABLE))
#include <sys/random.h>
#endif

#ifdef AL_TEST_HOOKS
/* The number in the environment variable, or false when there is none. */
static bool hook(const char *name, int64_t *out)
{
    const char *text = getenv(name);
    char *end;

    if (!text || !*text)
        return false;
    *out = strtoll(text, &end, 10);
    return *end == '\0';
}
#endif

int64_t al_clock_now(void)
{
    struct timespec t;

#ifdef AL_TEST_HOOKS
    static atomic_llong calls;
    int64_t fixed;

    if (hook("ALISIO_TEST_CLOCK", &fixed))
        return fixed + atomic_fetch_add(&calls, 1);
#endif
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

uint64_t al_clock_monotonic(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#ifdef AL_TEST_HOOKS
/* SplitMix64, so that a run with a seed repeats itself. Every byte takes one step: the sequence
 * does not depend on how it is asked for. */
static void seeded(int64_t seed, unsigned char *out, size_t len)
{
    static atomic_ullong steps;

    for (size_t i = 0; i < len; i++) {
        uint64_t z = (uint64_t)seed +
                     (uint64_t)(atomic_fetch_add(&steps, 1) + 1) * UINT64_C(0x9E3779B97F4A7C15);

        z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
        z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
        out[i] = (unsigned char)(z >> 56);
    }
}
#endif

/* At most 256 bytes a call: what getentropy takes, and what getrandom never cuts short. */
static int some(unsigned char *out, size_t len)
{
#if defined(__linux__) && !defined(AL_PORTABLE)
    ssize_t n = getrandom(out, len, 0);
    return n < 0 ? -1 : (int)n;
#else
    return getentropy(out, len) == 0 ? (int)len : -1;
#endif
}

int al_clock_random(void *out, size_t len, al_err *err)
{
    unsigned char *p = out;

#ifdef AL_TEST_HOOKS
    int64_t seed;

    if (hook("ALISIO_TEST_SEED", &seed)) {
        seeded(seed, p, len);
        return AL_OK;
    }
#endif
    while (len) {
        int n = some(p, len < 256 ? len : 256);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return al_err_errno(err, errno, "random numbers");
        p += n;
        len -= (size_t)n;
    }
    return AL_OK;
}
