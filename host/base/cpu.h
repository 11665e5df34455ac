/* Which processors there are, and what they can do beyond what all of their family can. */
#ifndef AL_BASE_CPU_H
#define AL_BASE_CPU_H
#include <stdbool.h>

#if defined(__x86_64__) && !defined(AL_PORTABLE)
#define AL_CPU_X86 1 /* SSE2 is at hand, and al_cpu_avx2 may be true */
#else
#define AL_CPU_X86 0
#endif

/* Processors that this process may use, at least 1. */
unsigned al_cpu_count(void);

/* AVX2, with BMI and POPCNT. */
bool al_cpu_avx2(void);
/* Whether plain C is to be used even where there is something faster: for tests, which compare. Set
 * before threads are started. */
bool al_cpu_plain(void);
void al_cpu_set_plain(bool plain);

#endif
