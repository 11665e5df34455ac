/* Time and randomness, the only place where the host asks for them. Builds with AL_TEST_HOOKS (all
 * but release) honour ALISIO_TEST_CLOCK (milliseconds since 1970: wall time stands still there and
 * moves one millisecond a call) and ALISIO_TEST_SEED (randomness becomes a fixed sequence). */
#ifndef AL_BASE_CLOCK_H
#define AL_BASE_CLOCK_H
#include "base/err.h"
#include <stddef.h>
#include <stdint.h>

int64_t al_clock_now(void);        /* milliseconds since 1970, UTC */
uint64_t al_clock_monotonic(void); /* nanoseconds from an arbitrary start, never faked */
int al_clock_random(void *out, size_t len, al_err *err);

#endif
