#include "base/cpu.h"

static bool plain;

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
