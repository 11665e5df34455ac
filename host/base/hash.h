/* Hashes: SHA-256 for identity (libcrypto), XXH3 for tables, hex. */
#ifndef AL_BASE_HASH_H
#define AL_BASE_HASH_H
#include "base/err.h"
#include <stddef.h>
#include <stdint.h>

typedef struct al_sha256 al_sha256;
int al_sha256_open(al_sha256 **out, al_err *err);
int al_sha256_add(al_sha256 *s, const void *bytes, size_t len); /* AL_OK or AL_EIO */
int al_sha256_end(al_sha256 *s, char hex[65]);                  /* finishes; close it still */
void al_sha256_close(al_sha256 *s);
int al_sha256_of(const void *bytes, size_t len, char hex[65]);
/* The whole of an open file from its offset 0, by pread; the offset is not moved. */
int al_sha256_fd(int fd, char hex[65], al_err *err);

uint64_t al_hash64(const void *bytes, size_t len);

/* What hashes of tables are keyed with, or chosen values could all be put in one place of them:
 * numbers of chance, other ones in every process, from al_hash_prepare on. */
typedef struct al_hash_key {
    uint64_t a, b, text;
} al_hash_key;
extern al_hash_key al_hash_secret;
void al_hash_prepare(void); /* once or more, by any thread */

void al_hex(char *out, const void *bytes, size_t len); /* out holds 2 * len + 1 */

#endif
