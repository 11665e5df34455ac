/* SHA-256 by libcrypto's EVP, XXH3 by libxxhash. */
#include "base/hash.h"
#include "base/clock.h"
#include <errno.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>

struct al_sha256 {
    EVP_MD_CTX *ctx;
};

int al_sha256_open(al_sha256 **out, al_err *err)
{
    al_sha256 *s = calloc(1, sizeof *s);

    *out = NULL;
    if (s)
        s->ctx = EVP_MD_CTX_new();
    if (!s || !s->ctx || !EVP_DigestInit_ex(s->ctx, EVP_sha256(), NULL)) {
        al_sha256_close(s);
        return al_err_set(err, AL_ENOMEM, "internal", NULL, "no memory for SHA-256");
    }
    *out = s;
    return AL_OK;
}

int al_sha256_add(al_sha256 *s, const void *bytes, size_t len)
{
    return EVP_DigestUpdate(s->ctx, bytes, len) ? AL_OK : AL_EIO;
}

int al_sha256_end(al_sha256 *s, char hex[65])
{
    unsigned char sum[EVP_MAX_MD_SIZE];

    hex[0] = '\0';
    if (!EVP_DigestFinal_ex(s->ctx, sum, NULL))
        return AL_EIO;
    al_hex(hex, sum, 32);
    return AL_OK;
}

void al_sha256_close(al_sha256 *s)
{
    if (!s)
        return;
    EVP_MD_CTX_free(s->ctx);
    free(s);
}

int al_sha256_of(const void *bytes, size_t len, char hex[65])
{
    unsigned char sum[EVP_MAX_MD_SIZE];

    hex[0] = '\0';
    if (!EVP_Digest(bytes, len, sum, NULL, EVP_sha256(), NULL))
        return AL_EIO;
    al_hex(hex, sum, 32);
    return AL_OK;
}

int al_sha256_fd(int fd, char hex[65], al_err *err)
{
    enum { CHUNK = 256 * 1024 };
    char *chunk = malloc(CHUNK);
    al_sha256 *s = NULL;
    off_t at = 0;
    int rc = al_sha256_open(&s, err);

    hex[0] = '\0';
    if (rc == AL_OK && !chunk)
        rc = al_err_set(err, AL_ENOMEM, "internal", NULL, "not enough memory");
    while (rc == AL_OK) {
        ssize_t n = pread(fd, chunk, CHUNK, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            rc = al_err_errno(err, errno, NULL);
        if (n <= 0)
            break;
        at += n;
        if (al_sha256_add(s, chunk, (size_t)n) != AL_OK)
            rc = al_err_set(err, AL_EIO, "internal", NULL, "SHA-256 failed");
    }
    if (rc == AL_OK && al_sha256_end(s, hex) != AL_OK)
        rc = al_err_set(err, AL_EIO, "internal", NULL, "SHA-256 failed");
    al_sha256_close(s);
    free(chunk);
    return rc;
}

al_hash_key al_hash_secret = { .b = 1 };

static void make_secret(void)
{
    al_hash_key key;

    if (al_clock_random(&key, sizeof key, NULL) == AL_OK)
        al_hash_secret = key; /* what there is serves as well; it is only not secret */
}

void al_hash_prepare(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_secret);
}

uint64_t al_hash64(const void *bytes, size_t len)
{
    return XXH3_64bits(bytes, len);
}

void al_hex(char *out, const void *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *in = bytes;

    for (size_t i = 0; i < len; i++) {
        *out++ = digits[in[i] >> 4];
        *out++ = digits[in[i] & 15];
    }
    *out = '\0';
}
