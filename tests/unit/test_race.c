/* Somebody changes a folder while it is published, as fast as possible: no byte from outside comes
 * in, and what is handed out is a file as it once was.
 *
 * RACES says how many tries (20,000; `make soak` makes a million), TMPDIR where the folder lies. A
 * try is one scan, or one file that is opened by its path and read. */
#include "base/fs.h"
#include "prim/artifact.h"
#include "unit.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#define WHOLE 40000 /* bytes of a file that is written over in place */

static char base[128], folder[160], dest[160];
static int dir; /* of the folder */
static atomic_bool stop;
static char texts[2][WHOLE];

static void put_at(const char *name, const char *bytes, size_t len, int flags)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0644);

    if (fd >= 0 && pwrite(fd, bytes, len, 0) < 0)
        perror(name);
    if (fd >= 0)
        close(fd);
}

static int make_world(void **state)
{
    const char *tmp = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";

    (void)state;
    memset(texts[0], 'a', WHOLE);
    memset(texts[1], 'b', WHOLE);
    snprintf(base, sizeof base, "%.90s/alisio-race-XXXXXX", tmp);
    if (!mkdtemp(base))
        return -1;
    snprintf(folder, sizeof folder, "%s/staging", base);
    snprintf(dest, sizeof dest, "%s/copy", base);
    if (mkdir(folder, 0700) < 0)
        return -1;
    dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || mkdirat(dir, "../outside", 0700) < 0 || mkdirat(dir, "d", 0700) < 0)
        return -1;
    put_at("../secret", "SECRET", 6, 0);
    put_at("../outside/inner", "SECRET", 6, 0);
    put_at("../outside/secret", "SECRET", 6, 0);
    put_at("d/inner", "inside", 6, 0);
    put_at("whole", texts[0], WHOLE, 0);
    return 0;
}

static int drop_world(void **state)
{
    int parent = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

    (void)state;
    close(dir);
    rc = al_fs_remove_tree(parent, "staging", NULL) | al_fs_remove_tree(parent, "outside", NULL);
    unlinkat(parent, "secret", 0);
    unlinkat(parent, "copy", 0);
    close(parent);
    return rc | rmdir(base);
}

/* ---- those who change it ---- */

/* A file, a link to a secret, another name of it, a fifo, nothing, in turn. */
static void *swap_file(void *arg)
{
    (void)arg;
    while (!stop) {
        put_at("t", "inside", 6, O_TRUNC);
        renameat(dir, "t", dir, "f");
        if (symlinkat("../secret", dir, "t") == 0)
            renameat(dir, "t", dir, "f");
        put_at("t", "inside", 6, O_TRUNC);
        renameat(dir, "t", dir, "f");
        if (linkat(dir, "../secret", dir, "t", 0) == 0)
            renameat(dir, "t", dir, "f");
        unlinkat(dir, "t", 0);
        if (mkfifoat(dir, "t", 0600) == 0)
            renameat(dir, "t", dir, "f");
        unlinkat(dir, "f", 0);
    }
    return NULL;
}

/* A folder and a link to another one outside. */
static void *swap_folder(void *arg)
{
    (void)arg;
    while (!stop) {
        renameat(dir, "d", dir, "../d");
        if (symlinkat("../outside", dir, "d") == 0)
            unlinkat(dir, "d", 0);
        renameat(dir, "../d", dir, "d");
        usleep(1);
    }
    return NULL;
}

/* One length, two texts, and what is between them. */
static void *write_over(void *arg)
{
    (void)arg;
    for (unsigned i = 0; !stop; i++) {
        put_at("whole", texts[i & 1], WHOLE, 0);
        if (i % 64 == 0)
            usleep(200);
    }
    return NULL;
}

/* ---- who publishes ---- */

static int collect(void *data, const void *bytes, size_t len, al_err *err)
{
    al_buf *b = data;
    (void)err;
    return al_buf_add(b, bytes, len);
}

/* What came of the path is what once stood there, whole. */
static void check_bytes(const char *path, const al_buf *got)
{
    if (!strcmp(path, "whole")) {
        assert_int_equal(got->len, WHOLE);
        assert_true(!memcmp(got->data, texts[0], WHOLE) || !memcmp(got->data, texts[1], WHOLE));
        return;
    }
    assert_true(!strcmp(path, "f") || !strcmp(path, "t") || !strcmp(path, "d/inner"));
    if (got->len) /* none yet is what it was for a moment */
        assert_string_equal(got->data, "inside");
}

static void check_copy(const char *path)
{
    al_buf got;

    al_buf_init(&got, 0);
    assert_int_equal(al_fs_read(dest, &got, NULL), AL_OK);
    check_bytes(path, &got);
    al_buf_free(&got);
    unlink(dest);
}

typedef struct counts {
    unsigned long tries, read, refused;
} counts;

static void read_file(const al_source *s, const al_source_item *item, counts *n)
{
    al_source_copied copied;
    al_err err = { 0 };
    al_buf got;
    int rc;

    al_buf_init(&got, 0);
    if (n->tries++ % 100)
        rc = al_source_stream(s, item, collect, &got, &err);
    else if ((rc = al_source_copy(s, item, dest, &copied, &err)) == AL_OK)
        check_copy(item->path);
    /* Even what is refused in the end began with no byte of another file. */
    if (got.len && strcmp(item->path, "whole"))
        assert_string_equal(got.data, "inside");
    if (rc == AL_OK && got.data)
        check_bytes(item->path, &got);
    else if (rc < 0)
        assert_string_equal(err.id, "artifact_rejected");
    n->read += rc == AL_OK;
    n->refused += rc < 0;
    al_buf_free(&got);
}

static void publish(counts *n)
{
    al_source *s = NULL;
    al_err err = { 0 };

    n->tries++;
    if (al_source_scan(&s, folder, NULL, &err) < 0) {
        assert_string_equal(err.id, "artifact_rejected");
        n->refused++;
        return;
    }
    for (int round = 0; round < 8; round++)
        for (size_t i = 0; i < al_source_count(s); i++) {
            const al_source_item *item = al_source_at(s, i);
            assert_null(strstr(item->path, "secret"));
            if (!item->dir)
                read_file(s, item, n);
        }
    al_source_close(s);
}

static void no_byte_from_outside(void **state)
{
    static void *(*const changes[])(void *) = { swap_file, swap_folder, write_over };
    const char *races = getenv("RACES");
    unsigned long wanted = races ? strtoul(races, NULL, 10) : 20000;
    pthread_t threads[3];
    counts n = { 0 };

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, changes[i], NULL), 0);
    while (n.tries < wanted)
        publish(&n);
    stop = true;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("# %lu tries: %lu files read, %lu times refused\n", n.tries, n.read, n.refused);
    assert_true(n.read > 0 && n.refused > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_byte_from_outside, make_world, drop_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
