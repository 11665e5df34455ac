/* Reading by pread. A second pass over the file (its encoding turned out to be another) is compared
 * with the part that the first one read, by their hashes. */
#include "data/source.h"
#include "base/hash.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char changed[] = "the file changed while it was read";

struct al_source_file {
    int fd;
    uint64_t size, max_bytes, at;
    size_t most; /* bytes a read gives; 0: any */
    al_sha256 *hash;
    al_sha256 *again; /* in a second pass, until it has read what the first did */
    uint64_t first_bytes;
    char first_hex[65];
};

static int too_large(uint64_t bytes, uint64_t max, al_err *err)
{
    al_err_setf(err, AL_ELIMIT, "ingest_limit", "analysis.data.maxFileBytes",
                "%llu bytes, where %llu are allowed", (unsigned long long)bytes,
                (unsigned long long)max);
    return al_err_reason(err, AL_ELIMIT, "maxFileBytes");
}

int al_source_file_open(al_source_file **out, int fd, uint64_t max_bytes, al_err *err)
{
    struct stat st;
    al_source_file *s;
    int rc;

    *out = NULL;
    if (fstat(fd, &st) != 0)
        return al_err_errno(err, errno, "input");
    if (!S_ISREG(st.st_mode))
        return al_err_set(err, AL_EDATA, "ingest_invalid", "input", "not a regular file");
    if ((uint64_t)st.st_size > max_bytes)
        return too_large((uint64_t)st.st_size, max_bytes, err);
    s = calloc(1, sizeof *s);
    if (!s)
        return al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
    s->fd = fd;
    s->size = (uint64_t)st.st_size;
    s->max_bytes = max_bytes;
    rc = al_sha256_open(&s->hash, err);
    if (rc != AL_OK) {
        free(s);
        return rc;
    }
    *out = s;
    return AL_OK;
}

void al_source_file_close(al_source_file *s)
{
    if (!s)
        return;
    al_sha256_close(s->hash);
    al_sha256_close(s->again);
    free(s);
}

void al_source_file_limit_reads(al_source_file *s, size_t n)
{
    s->most = n;
}

int al_source_file_read_at(al_source_file *s, uint64_t at, void *out, size_t len, size_t *got,
                           al_err *err)
{
    ssize_t n;

    if (s->most && len > s->most)
        len = s->most;
    do
        n = pread(s->fd, out, len, (off_t)at);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return al_err_errno(err, errno, "input");
    *got = (size_t)n;
    return AL_OK;
}

static int hash_failed(al_err *err)
{
    return al_err_set(err, AL_EIO, "internal", "input", "SHA-256 failed");
}

/* Compares with the first pass, where that one stopped. */
static int check_again(al_source_file *s, const void *bytes, size_t len, al_err *err)
{
    uint64_t left = s->first_bytes - s->at;
    char hex[65];

    if (al_sha256_add(s->again, bytes, len < left ? len : (size_t)left) != AL_OK)
        return hash_failed(err);
    if (len < left)
        return AL_OK;
    if (al_sha256_end(s->again, hex) != AL_OK)
        return hash_failed(err);
    al_sha256_close(s->again);
    s->again = NULL;
    return strcmp(hex, s->first_hex) == 0 ? AL_OK
                                          : al_err_set(err, AL_EIO, "io_error", "input", changed);
}

int al_source_file_read(al_source_file *s, void *out, size_t len, size_t *got, al_err *err)
{
    int rc = al_source_file_read_at(s, s->at, out, len, got, err);

    if (rc == AL_OK && s->again)
        rc = check_again(s, out, *got, err);
    if (rc != AL_OK || *got == 0)
        return rc;
    if (al_sha256_add(s->hash, out, *got) != AL_OK)
        return hash_failed(err);
    s->at += *got;
    return s->at > s->max_bytes ? too_large(s->at, s->max_bytes, err) : AL_OK;
}

int al_source_file_read_rest(al_source_file *s, al_err *err)
{
    size_t room = 1u << 20, got = 1;
    char *bytes = malloc(room);
    int rc = AL_OK;

    if (!bytes)
        return al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
    while (rc == AL_OK && got > 0)
        rc = al_source_file_read(s, bytes, room, &got, err);
    free(bytes);
    return rc;
}

int al_source_file_peek(al_source_file *s, void *out, size_t len, size_t *got, al_err *err)
{
    size_t n = 0;

    *got = 0;
    while (*got < len) {
        int rc = al_source_file_read_at(s, *got, (char *)out + *got, len - *got, &n, err);

        if (rc != AL_OK)
            return rc;
        if (n == 0)
            break;
        *got += n;
    }
    return AL_OK;
}

int al_source_file_rewind(al_source_file *s, al_err *err)
{
    int rc;

    if (al_sha256_end(s->hash, s->first_hex) != AL_OK)
        return hash_failed(err);
    al_sha256_close(s->hash);
    s->hash = NULL;
    s->first_bytes = s->at;
    s->at = 0;
    rc = al_sha256_open(&s->hash, err);
    return rc == AL_OK ? al_sha256_open(&s->again, err) : rc;
}

uint64_t al_source_file_bytes(const al_source_file *s)
{
    return s->at;
}

uint64_t al_source_file_size(const al_source_file *s)
{
    return s->size;
}

int al_source_file_sha256(al_source_file *s, char hex[65], al_err *err)
{
    hex[0] = '\0';
    if (s->again)
        return al_err_set(err, AL_EIO, "io_error", "input", changed);
    return al_sha256_end(s->hash, hex) == AL_OK ? AL_OK : hash_failed(err);
}
