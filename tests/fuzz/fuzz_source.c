/* data/format and data/source on any file: packed or not, what comes out is the same whatever the
 * reads, after a peek and a rewind too, and the hash is that of the file; or an error by its name.
 */
#include "base/hash.h"
#include "data/format.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST 300000 /* bytes that come out: larger bombs cost only time */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_error(int rc, const al_err *err)
{
    check((rc == AL_OK) == (err->code == AL_OK));
    check(rc == AL_OK || strcmp(err->id, "ingest_invalid") == 0 ||
          strcmp(err->id, "ingest_limit") == 0 || strcmp(err->id, "dataset_unsupported") == 0);
}

/* All that comes out, or the error of it. */
static int drain(al_source_file *s, size_t piece, al_buf *out, al_err *err)
{
    char bytes[4096];
    size_t got = 1;
    int rc = AL_OK;

    al_buf_clear(out);
    while (rc == AL_OK && got > 0) {
        rc = al_source_file_read(s, bytes, piece, &got, err);
        if (rc == AL_OK)
            al_buf_add(out, bytes, got);
        check(al_source_file_bytes(s) <= al_source_file_size(s));
    }
    return rc;
}

static int run(int fd, const char *name, size_t piece, al_buf *out, const char *hash)
{
    al_err err = { 0 };
    al_source_file *s;
    al_format format;
    char hex[65];
    int rc, again;

    check(al_source_file_open(&s, fd, MOST, NULL) == AL_OK);
    rc = al_format_find(s, name, NULL, &format, &err);
    check_error(rc, &err);
    if (rc == AL_OK && (format.read == al_read_xlsx || format.read == al_read_ods)) {
        check(al_source_file_sha256(s, hex, NULL) == AL_OK); /* read by their parts only */
        check(strcmp(hex, hash) == 0);
        al_source_file_close(s);
        return rc;
    }
    if (rc == AL_OK) {
        rc = drain(s, piece, out, &err);
        check_error(rc, &err);
    }
    if (rc == AL_OK) {
        al_buf second;

        al_buf_init(&second, 0);
        check(al_source_file_rewind(s, NULL) == AL_OK);
        again = drain(s, 4096, &second, &err);
        check(again == AL_OK && second.len == out->len);
        check(out->len == 0 || memcmp(second.data, out->data, out->len) == 0);
        check(al_source_file_sha256(s, hex, NULL) == AL_OK);
        check(strcmp(hex, hash) == 0);
        al_buf_free(&second);
    }
    al_source_file_close(s);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = { "a.csv", "a.json", "a.xlsx", "a", "a.csv.gz" };
    const char *name = names[size % 5];
    int fd = memfd_create("fuzz", MFD_CLOEXEC), rc;
    char hash[65];
    al_buf one, other;

    check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    al_sha256_of(data, size, hash);
    al_format_needs_archive(fd);
    al_buf_init(&one, 0);
    al_buf_init(&other, 0);
    rc = run(fd, name, 4096, &one, hash);
    check(run(fd, name, 1 + size % 100, &other, hash) == rc);
    check(rc != AL_OK ||
          (one.len == other.len && (one.len == 0 || memcmp(one.data, other.data, one.len) == 0)));
    al_buf_free(&one);
    al_buf_free(&other);
    close(fd);
    return 0;
}
