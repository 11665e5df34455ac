/* al_hash64 for inner loops: part of the code that uses it. */
#ifndef AL_BASE_HASH_INLINE_H
#define AL_BASE_HASH_INLINE_H
#include "base/hash.h"
#include <stddef.h>
#include <stdint.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

static inline uint64_t al_hash64_inline(const void *bytes, size_t len)
{
    return XXH3_64bits(bytes, len);
}

/* One of 2^64 such hashes. */
static inline uint64_t al_hash64_keyed_inline(const void *bytes, size_t len, uint64_t key)
{
    return XXH3_64bits_withSeed(bytes, len, key);
}

/* Of two numbers, keyed with al_hash_secret. */
static inline uint64_t al_hash_pair_inline(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 u128;
    const u128 product = (u128)(a ^ al_hash_secret.a) * (b ^ al_hash_secret.b);

    return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

#endif
