#include "base/cpu.h"
#include <unistd.h>
#if defined(__linux__) && !defined(AL_PORTABLE)
#include <sched.h>
#endif

static bool plain;

unsigned al_cpu_count(void)
{
    long n = 0;
#if defined(__linux__) && !defined(AL_PORTABLE)
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) == 0)
        n = CPU_COUNT(&set);
#endif
    if (n <= 0)
        n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)n : 1;
}

bool al_cpu_avx2(void)
{
#if AL_CPU_X86
    return !plain && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("popcnt");
#else
    return false;
#endif
}

bool al_cpu_plain(void)
{
    return plain;
}

void al_cpu_set_plain(bool on)
{
    plain = on;
}
