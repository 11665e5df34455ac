/* data/ingest on any file: a dataset that SQLite finds whole, the same whatever the reads and
 * windows, or an error with its name and nothing left. */
#include "base/hash.h"
#include "data/ingest.h"
#include "data/vfs.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

/* A file in memory: nothing waits for a disk. */
static int nameless(void)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    check(fd >= 0);
    return fd;
}

static void check_whole(int fd)
{
    sqlite3_stmt *stmt;
    sqlite3 *db;
    al_vfs vfs;

    check(al_vfs_open(&vfs, fd, -1, NULL) == AL_OK);
    check(sqlite3_open_v2("dataset", &db, SQLITE_OPEN_READONLY, vfs.name) == SQLITE_OK);
    check(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &stmt, NULL) == SQLITE_OK);
    check(sqlite3_step(stmt) == SQLITE_ROW);
    check(strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") == 0);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    al_vfs_close(&vfs);
}

static int run(const uint8_t *data, size_t size, size_t reads, size_t window, char hex[65])
{
    int in = nameless(), out = nameless(), rc;
    al_ingest_options o;
    al_buf result;
    al_link nobody;
    al_err err = { 0 };

    check(write(in, data, size) == (ssize_t)size);
    al_ingest_defaults(&o);
    o.max_cell_bytes = 4096;
    o.read_limit = reads;
    o.window = window;
    al_buf_init(&result, 0);
    al_link_init(&nobody, -1);
    rc = al_ingest_run(&o, in, out, &nobody, &result, &err);
    check((rc == AL_OK) == (err.code == AL_OK));
    if (rc == AL_OK) {
        check_whole(out);
        check(al_sha256_fd(out, hex, NULL) == AL_OK);
    } else {
        check(lseek(out, 0, SEEK_END) == 0);
        check(strcmp(err.id, "ingest_invalid") == 0 || strcmp(err.id, "ingest_limit") == 0 ||
              strcmp(err.id, "dataset_unsupported") == 0);
    }
    close(in);
    close(out);
    al_buf_free(&result);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char one[65], other[65];
    int rc = run(data, size, 0, 0, one);

    check(run(data, size, 1 + size % 7, 16 + size % 50, other) == rc);
    check(rc != AL_OK || strcmp(one, other) == 0);
    return 0;
}
