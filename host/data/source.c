/* Reading by pread. A second pass over the file (its encoding turned out to be another) is compared
 * with the part that the first one read, by their hashes. */
#include "data/source.h"
#include "base/hash.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef __APPLE__
#define st_mtim st_mtimespec
#endif

#define HASH_BESIDE (1u << 20) /* bytes of a packed file that a thread is worth */

static const char changed[] = "the file changed while it was read";

struct al_source_file {
    int fd;
    uint64_t size, max_bytes, at;
    size_t most; /* bytes a read gives; 0: any */
    al_sha256 *hash;
    al_sha256 *again; /* in a second pass, until it has read what the first did */
    uint64_t first_bytes;
    char first_hex[65];
    /* a packed file: what is in it */
    al_packing packing;
    al_unpack *unpack;
    al_zip *zip;
    const al_zip_entry *entry;
    al_zip_stream *stream;  /* of the entry */
    struct timespec before; /* when it was changed last */
    /* its hash, made beside all that */
    pthread_t hasher;
    bool hashing;
    atomic_bool stop;
    int hash_rc;
    al_err hash_err;
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
    s->before = st.st_mtim;
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
    if (s->hashing) {
        atomic_store(&s->stop, true);
        pthread_join(s->hasher, NULL);
    }
    al_sha256_close(s->hash);
    al_sha256_close(s->again);
    al_unpack_close(s->unpack);
    al_zip_stream_close(s->stream);
    al_zip_close(s->zip);
    free(s);
}

int al_source_file_fd(const al_source_file *s)
{
    return s->fd;
}

void al_source_file_limit_reads(al_source_file *s, size_t n)
{
    s->most = n;
}

/* ---- packed files ---- */

/* Begins to give what is in it. */
static int open_packed(al_source_file *s, al_unpack **u, al_zip_stream **z, al_err *err)
{
    return s->packing == AL_ZIP ? al_zip_stream_open(z, s->zip, s->entry, err)
                                : al_unpack_open(u, s->fd, s->size, s->packing, s->max_bytes, err);
}

static int reopen_packed(al_source_file *s, al_err *err)
{
    al_unpack_close(s->unpack);
    al_zip_stream_close(s->stream);
    s->unpack = NULL;
    s->stream = NULL;
    return open_packed(s, &s->unpack, &s->stream, err);
}

static int read_at(al_source_file *s, uint64_t at, void *out, size_t len, size_t *got, al_err *err);
static int hash_failed(al_err *err);

/* The hash of a packed file, whose parts are read in any order and more than once. */
static int hash_packed(al_source_file *s, al_err *err)
{
    static const size_t room = 1u << 17;
    unsigned char *bytes = malloc(room);
    uint64_t at = 0;
    size_t got = 1;
    int rc = bytes ? AL_OK : al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");

    for (; rc == AL_OK && got > 0 && !atomic_load(&s->stop); at += got) {
        rc = read_at(s, at, bytes, room, &got, err);
        if (rc == AL_OK && at + got > s->size)
            break; /* changed */
        if (rc == AL_OK && al_sha256_add(s->hash, bytes, got) != AL_OK)
            rc = hash_failed(err);
    }
    free(bytes);
    return rc == AL_OK && at != s->size ? al_err_set(err, AL_EIO, "io_error", "input", changed)
                                        : rc;
}

static void *hash_beside(void *data)
{
    al_source_file *s = data;

    s->hash_rc = hash_packed(s, &s->hash_err);
    return NULL;
}

/* Where no thread can be had, or is worth it, the hash is made in the end. */
static void begin_hash(al_source_file *s)
{
    if (!s->hashing && s->size > HASH_BESIDE)
        s->hashing = pthread_create(&s->hasher, NULL, hash_beside, s) == 0;
}

int al_source_file_unpack(al_source_file *s, al_packing packing, al_err *err)
{
    s->packing = packing;
    begin_hash(s);
    return reopen_packed(s, err);
}

int al_source_file_open_zip(al_source_file *s, al_err *err)
{
    begin_hash(s);
    return al_zip_open(&s->zip, s->fd, s->max_bytes, err);
}

int al_source_file_unzip(al_source_file *s, const al_zip_entry *entry, al_err *err)
{
    s->entry = entry;
    return al_source_file_unpack(s, AL_ZIP, err);
}

al_zip *al_source_file_zip(al_source_file *s)
{
    return s->zip;
}

static int read_packed(al_unpack *u, al_zip_stream *z, void *out, size_t len, size_t *got,
                       al_err *err)
{
    return z ? al_zip_stream_read(z, out, len, got, err) : al_unpack_read(u, out, len, got, err);
}

static bool is_packed(const al_source_file *s)
{
    return s->packing != AL_PLAIN || s->zip;
}

/* ---- bytes ---- */

static int read_at(al_source_file *s, uint64_t at, void *out, size_t len, size_t *got, al_err *err)
{
    ssize_t n;

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

/* A file that grows is read as far as it went; one that was written over or cut is a mixture. (What
 * the kernel makes up while it is read has no size.) */
static int check_unchanged(const al_source_file *s, bool may_grow, al_err *err)
{
    struct stat now;
    uint64_t size;

    if (fstat(s->fd, &now) != 0)
        return al_err_errno(err, errno, "input");
    size = (uint64_t)now.st_size;
    if (may_grow && (s->size == 0 || (size > s->size && size >= s->at)))
        return AL_OK;
    if (size != s->size || memcmp(&now.st_mtim, &s->before, sizeof s->before) != 0)
        return al_err_set(err, AL_EIO, "io_error", "input", changed);
    return AL_OK;
}

/* The file's own next bytes, counted and hashed. */
static int read_raw(al_source_file *s, void *out, size_t len, size_t *got, al_err *err)
{
    int rc = read_at(s, s->at, out, len, got, err);

    if (rc == AL_OK && s->again)
        rc = check_again(s, out, *got, err);
    if (rc == AL_OK && *got == 0)
        rc = check_unchanged(s, true, err);
    if (rc != AL_OK || *got == 0)
        return rc;
    if (al_sha256_add(s->hash, out, *got) != AL_OK)
        return hash_failed(err);
    s->at += *got;
    return s->at > s->max_bytes ? too_large(s->at, s->max_bytes, err) : AL_OK;
}

int al_source_file_read(al_source_file *s, void *out, size_t len, size_t *got, al_err *err)
{
    if (s->most && len > s->most)
        len = s->most;
    return s->packing == AL_PLAIN ? read_raw(s, out, len, got, err)
                                  : read_packed(s->unpack, s->stream, out, len, got, err);
}

int al_source_file_peek(al_source_file *s, void *out, size_t len, size_t *got, al_err *err)
{
    al_zip_stream *z = NULL;
    al_unpack *u = NULL;
    size_t n = 1;
    int rc = s->packing == AL_PLAIN ? AL_OK : open_packed(s, &u, &z, err);

    *got = 0;
    while (rc == AL_OK && n > 0 && *got < len) {
        char *to = (char *)out + *got;

        rc = s->packing == AL_PLAIN ? read_at(s, *got, to, len - *got, &n, err)
                                    : read_packed(u, z, to, len - *got, &n, err);
        if (rc == AL_OK)
            *got += n;
    }
    al_unpack_close(u);
    al_zip_stream_close(z);
    return rc;
}

int al_source_file_rewind(al_source_file *s, al_err *err)
{
    int rc;

    if (s->packing != AL_PLAIN)
        return reopen_packed(s, err);
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
    uint64_t n = s->unpack ? al_unpack_consumed(s->unpack) : s->zip ? al_zip_consumed(s->zip) : 0;

    if (n > s->size) /* parts of a zip may be read again */
        n = s->size;
    return n > s->at ? n : s->at;
}

uint64_t al_source_file_size(const al_source_file *s)
{
    return s->size;
}

int al_source_file_sha256(al_source_file *s, char hex[65], al_err *err)
{
    int rc = AL_OK;

    hex[0] = '\0';
    if (s->hashing) {
        pthread_join(s->hasher, NULL);
        s->hashing = false;
        rc = s->hash_rc;
        if (rc != AL_OK && err)
            *err = s->hash_err;
    } else if (is_packed(s)) {
        rc = hash_packed(s, err);
    }
    if (rc != AL_OK)
        return rc;
    if (s->again)
        return al_err_set(err, AL_EIO, "io_error", "input", changed);
    if (is_packed(s))
        s->at = s->size;
    rc = check_unchanged(s, !is_packed(s), err);
    if (rc != AL_OK)
        return rc;
    return al_sha256_end(s->hash, hex) == AL_OK ? AL_OK : hash_failed(err);
}
