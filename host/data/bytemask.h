/* A bit for each of 64 bytes, set where the byte is c. What each of these finds is the same. */
#ifndef AL_DATA_BYTEMASK_H
#define AL_DATA_BYTEMASK_H
#include "base/cpu.h"
#include <stdint.h>
#include <string.h>
#if AL_CPU_X86
#include <immintrin.h>
#endif

#define AL_MASK_BLOCK 64

static inline uint64_t al_mask_plain(const char *text, char c)
{
    const uint64_t low = UINT64_C(0x7F7F7F7F7F7F7F7F);
    uint64_t mask = 0, word, x;

    for (unsigned k = 0; k < AL_MASK_BLOCK; k += 8) {
        memcpy(&word, text + k, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        word = __builtin_bswap64(word);
#endif
        x = word ^ UINT64_C(0x0101010101010101) * (unsigned char)c;
        x = ~(((x & low) + low) | x | low); /* 0x80 in each byte that was c */
        mask |= ((x >> 7) * UINT64_C(0x0102040810204080) >> 56) << k;
    }
    return mask;
}

#if AL_CPU_X86
static inline uint64_t al_mask_sse2(const __m128i v[4], char c)
{
    const __m128i want = _mm_set1_epi8(c);
    uint64_t mask = 0;

    for (unsigned i = 0; i < 4; i++)
        mask |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v[i], want)) << 16 * i;
    return mask;
}

#define AL_AVX2 __attribute__((target("avx2")))

AL_AVX2 static inline uint64_t al_mask_avx2(__m256i a, __m256i b, char c)
{
    const __m256i want = _mm256_set1_epi8(c);

    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, want)) |
           (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(b, want)) << 32;
}
#endif

#endif
