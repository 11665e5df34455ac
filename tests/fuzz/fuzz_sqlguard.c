/* data/sqlguard with any statement: what its text lets through is one statement to SQLite too, the
 * dataset stays as it is, and every failure has its name. */
#include "base/hash.h"
#include "data/dataset.h"
#include "data/sqlguard.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int dataset = -1;
static al_guard *guard;
static char digest[65];

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void make_dataset(void)
{
    const al_cell labels[] = { al_cell_text("id", 2), al_cell_text("word", 4) };
    const al_dataset_options o = { .max_rows = 10 };
    const al_dataset_meta meta = { .format = "csv" };
    al_cell cells[] = { al_cell_integer(1), al_cell_text("a", 1), al_cell_real(2.5),
                        al_cell_null() };
    const al_batch b = { .cells = cells, .columns = 2, .rows = 2 };
    al_dataset *d;

    dataset = memfd_create("fuzz", MFD_CLOEXEC);
    check(dataset >= 0);
    check(al_dataset_open(&d, dataset, &o, NULL) == AL_OK);
    check(al_dataset_sheet(d, "data", "data", labels, 2, NULL) == AL_OK);
    check(al_dataset_rows(d, &b, NULL) == AL_OK);
    check(al_dataset_finish(d, &meta, NULL) == AL_OK);
    al_dataset_close(d);
    check(al_sha256_fd(dataset, digest, NULL) == AL_OK);
    check(al_guard_open(&guard, dataset, -1, NULL) == AL_OK);
}

static bool is_one_of(const char *id, const char *const *ids)
{
    for (; *ids; ids++)
        if (strcmp(id, *ids) == 0)
            return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const ids[] = { "query_rejected", "query_failed", "query_timeout", NULL };
    const char *sql = (const char *)data;
    sqlite3_stmt *stmt;
    al_err err = { 0 };
    char hex[65];
    int rc, passed;

    if (dataset < 0)
        make_dataset();
    passed = al_guard_check(sql, size, NULL) == AL_OK;
    al_guard_limit(guard, NULL, 100);
    rc = al_guard_prepare(guard, sql, size, &stmt, &err);
    check(passed || rc != AL_OK);
    check(!passed || strcmp(err.detail, "more than one statement") != 0);
    if (rc == AL_OK) {
        for (int rows = 0; rows < 1000; rows++) {
            rc = al_guard_step(guard, stmt, &err);
            if (rc != SQLITE_ROW)
                break;
        }
        sqlite3_finalize(stmt);
    }
    if (rc < 0)
        check(is_one_of(err.id, ids));
    if (err.id && strcmp(err.id, "query_timeout") == 0) {
        al_guard_close(guard); /* it stays stopped */
        check(al_guard_open(&guard, dataset, -1, NULL) == AL_OK);
    }
    check(al_sha256_fd(dataset, hex, NULL) == AL_OK && strcmp(hex, digest) == 0);
    return 0;
}
