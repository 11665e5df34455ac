/* For fuzzers that ingest: from bytes to a dataset that SQLite finds whole, or to an error with its
 * name and nothing left. */
#ifndef FUZZ_INGEST_H
#define FUZZ_INGEST_H
#include "base/hash.h"
#include "data/ingest.h"
#include "data/vfs.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void check(bool holds)
{
    if (!holds)
        abort();
}

/* A file in memory: nothing waits for a disk. */
static inline int nameless(void)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    check(fd >= 0);
    return fd;
}

static inline void check_whole(int fd)
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

/* hex: the hash of the dataset. */
static inline int ingest(const al_ingest_options *o, const void *bytes, size_t len, char hex[65])
{
    int in = nameless(), out = nameless(), rc;
    al_buf result;
    al_link nobody;
    al_err err = { 0 };

    check(write(in, bytes, len) == (ssize_t)len);
    al_buf_init(&result, 0);
    al_link_init(&nobody, -1);
    rc = al_ingest_run(o, in, out, &nobody, &result, &err);
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

#endif
