/* ZIP by libarchive's reader that seeks: it goes by the central directory, so entries with data
 * descriptors have their sizes. Each pass over the file has a handle of its own. */
#include "data/zip.h"
#include "data/archive.h"
#include "data/expansion.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* Of a central directory, which libarchive keeps in memory: 65,536 entries and long names. */
#define DIRECTORY_BYTES (UINT64_C(8) << 20)

#define MOST_PASSED (4 * (uint64_t)AL_ZIP_MAX_ENTRIES)

struct entry {
    al_zip_entry public;
    uint64_t counted; /* of its bytes, by the expansion */
};

struct al_zip {
    int fd;
    uint64_t size;
    struct entry *entries;
    size_t count, room;
    pthread_mutex_t lock; /* of the counts and of what is idle */
    al_zip_stream *idle;  /* closed: the next one may go on from there, or NULL */
    uint64_t passed;      /* headers */
    al_expansion expansion;
    _Atomic uint64_t consumed;
};

struct al_zip_stream {
    al_zip *zip;
    struct entry *entry;
    al_archive archive;
    uint64_t told;              /* of archive.taken, to zip->consumed */
    const unsigned char *block; /* libarchive's */
    size_t left;                /* of it */
    uint64_t at;                /* of the entry, behind the block */
    bool ended, failed;
    size_t passed; /* headers of entries */
};

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
}

static int too_many(al_err *err)
{
    al_err_setf(err, AL_ELIMIT, "ingest_limit", "input",
                "a zip file with more than %d entries, or a directory of more than %llu bytes",
                AL_ZIP_MAX_ENTRIES, (unsigned long long)DIRECTORY_BYTES);
    return al_err_reason(err, AL_ELIMIT, "entries");
}

/* Forward slashes, nothing in front; NULL without memory. */
static char *clean_name(const char *name)
{
    char *copy;

    while (*name == '/' || *name == '\\' || (*name == '.' && (name[1] == '/' || name[1] == '\\')))
        name++;
    copy = strdup(name);
    for (char *p = copy; p && *p; p++)
        if (*p == '\\')
            *p = '/';
    return copy;
}

static int add_entry(al_zip *z, const al_archive *a, struct archive_entry *e, al_err *err)
{
    const char *stored = a->lib->archive_entry_pathname(e);
    char *name;
    size_t len;
    struct entry *grown;

    if (z->count == AL_ZIP_MAX_ENTRIES)
        return too_many(err);
    if (z->count == z->room) {
        z->room = z->room ? z->room * 2 : 64;
        grown = realloc(z->entries, z->room * sizeof *grown);
        if (!grown)
            return no_memory(err);
        z->entries = grown;
    }
    name = clean_name(stored ? stored : "");
    if (!name)
        return no_memory(err);
    len = strlen(name);
    z->entries[z->count++] = (struct entry){
        .public = {
            .name = name,
            .size = a->lib->archive_entry_size_is_set(e)
                        ? (uint64_t)a->lib->archive_entry_size(e)
                        : 0,
            .folder = a->lib->archive_entry_filetype(e) != AE_IFREG || (len && name[len - 1] == '/'),
            .encrypted = a->lib->archive_entry_is_encrypted(e) != 0,
        },
    };
    return AL_OK;
}

static int list_entries(al_zip *z, al_err *err)
{
    struct archive_entry *e;
    al_archive a;
    int rc = al_archive_open(&a, z->fd, z->size, AL_ARCHIVE_ZIP, err);

    if (rc == AL_OK) {
        a.may_take = DIRECTORY_BYTES;
        rc = al_archive_next(&a, &e, "input", err);
        a.may_take = UINT64_MAX;
    }
    if (a.too_much)
        rc = too_many(err);
    while (rc == 1) {
        rc = add_entry(z, &a, e, err);
        if (rc == AL_OK)
            rc = al_archive_next(&a, &e, "input", err);
    }
    al_archive_close(&a);
    return rc;
}

int al_zip_open(al_zip **out, int fd, uint64_t max_bytes, al_err *err)
{
    struct stat st;
    al_zip *z;
    int rc;

    *out = NULL;
    if (fstat(fd, &st) != 0)
        return al_err_errno(err, errno, "input");
    z = calloc(1, sizeof *z);
    if (!z)
        return no_memory(err);
    z->fd = fd;
    z->size = (uint64_t)st.st_size;
    z->expansion = (al_expansion){ .packed = z->size, .max_bytes = max_bytes };
    pthread_mutex_init(&z->lock, NULL);
    rc = list_entries(z, err);
    if (rc == AL_OK)
        *out = z;
    else
        al_zip_close(z);
    return rc;
}

static void free_stream(al_zip_stream *s)
{
    if (!s)
        return;
    al_archive_close(&s->archive);
    free(s);
}

void al_zip_close(al_zip *z)
{
    if (!z)
        return;
    free_stream(z->idle);
    for (size_t i = 0; i < z->count; i++)
        free((char *)z->entries[i].public.name);
    free(z->entries);
    pthread_mutex_destroy(&z->lock);
    free(z);
}

size_t al_zip_count(const al_zip *z)
{
    return z->count;
}

const al_zip_entry *al_zip_at(const al_zip *z, size_t i)
{
    return &z->entries[i].public;
}

const al_zip_entry *al_zip_find(const al_zip *z, const char *name)
{
    for (size_t i = 0; i < z->count; i++) {
        const al_zip_entry *e = &z->entries[i].public;

        if (!e->folder && strcasecmp(e->name, name) == 0)
            return e;
    }
    return NULL;
}

/* What says itself that it is too large need not be read to be refused. */
static int check_size(al_zip *z, const struct entry *e, al_err *err)
{
    uint64_t size = e->public.size;
    al_expansion after;

    pthread_mutex_lock(&z->lock);
    after = z->expansion;
    size -= size < e->counted ? size : e->counted;
    pthread_mutex_unlock(&z->lock);
    return al_expansion_add(&after, size, e->public.name, err);
}

/* Each entry in front costs a look at its header: a file cannot have many of them passed again and
 * again, by parts that it wants in an order that is not its own. */
static int pass_headers(al_zip_stream *s, size_t n, al_err *err)
{
    bool too_many;

    pthread_mutex_lock(&s->zip->lock);
    s->zip->passed += n;
    too_many = s->zip->passed > MOST_PASSED;
    pthread_mutex_unlock(&s->zip->lock);
    return too_many ? al_err_set(err, AL_EDATA, "ingest_invalid", s->entry->public.name,
                                 "its parts lie in an order that takes too long to read")
                    : AL_OK;
}

static int find_header(al_zip_stream *s, al_err *err)
{
    const char *name = s->entry->public.name;
    size_t wanted = (size_t)(s->entry - s->zip->entries) + 1;
    struct archive_entry *e;
    int rc = pass_headers(s, wanted - s->passed, err);

    while (rc == AL_OK && s->passed < wanted) {
        rc = al_archive_next(&s->archive, &e, name, err);
        if (rc < 0)
            return rc;
        if (rc == 0)
            return al_err_set(err, AL_EIO, "io_error", "input",
                              "the file changed while it was read");
        rc = AL_OK;
        s->passed++;
    }
    return rc;
}

/* The idle one, when it has not passed the entry. */
static al_zip_stream *take_idle(al_zip *z, const struct entry *entry)
{
    al_zip_stream *s = NULL;

    pthread_mutex_lock(&z->lock);
    if (z->idle && z->idle->passed <= (size_t)(entry - z->entries)) {
        s = z->idle;
        z->idle = NULL;
    }
    pthread_mutex_unlock(&z->lock);
    return s;
}

int al_zip_stream_open(al_zip_stream **out, al_zip *z, const al_zip_entry *entry, al_err *err)
{
    al_zip_stream *s;
    int rc;

    *out = NULL;
    if (entry->encrypted) {
        al_err_set(err, AL_ENOTSUP, "dataset_unsupported", entry->name,
                   "encrypted: save it without a password");
        return al_err_reason(err, AL_ENOTSUP, "encrypted");
    }
    rc = check_size(z, (const struct entry *)entry, err); /* its first member */
    if (rc != AL_OK)
        return rc;
    s = take_idle(z, (const struct entry *)entry);
    if (s) {
        rc = AL_OK;
    } else {
        s = calloc(1, sizeof *s);
        if (!s)
            return no_memory(err);
        s->zip = z;
        rc = al_archive_open(&s->archive, z->fd, z->size, AL_ARCHIVE_ZIP, err);
    }
    s->entry = (struct entry *)entry;
    s->left = s->at = 0;
    s->ended = false;
    if (rc == AL_OK)
        rc = find_header(s, err);
    s->failed = rc != AL_OK;
    if (rc == AL_OK)
        *out = s;
    else
        al_zip_stream_close(s);
    return rc;
}

void al_zip_stream_close(al_zip_stream *s)
{
    al_zip_stream *other;

    if (!s)
        return;
    if (s->failed) {
        free_stream(s);
        return;
    }
    pthread_mutex_lock(&s->zip->lock);
    other = s->zip->idle;
    s->zip->idle = s;
    pthread_mutex_unlock(&s->zip->lock);
    free_stream(other);
}

/* Counts what was not counted before. */
static int count(al_zip_stream *s, al_err *err)
{
    struct entry *e = s->entry;
    uint64_t more;
    int rc;

    pthread_mutex_lock(&s->zip->lock);
    more = s->at > e->counted ? s->at - e->counted : 0;
    e->counted += more;
    rc = al_expansion_add(&s->zip->expansion, more, e->public.name, err);
    pthread_mutex_unlock(&s->zip->lock);
    return rc;
}

static int next_block(al_zip_stream *s, al_err *err)
{
    int rc = al_archive_data(&s->archive, &s->block, &s->left, s->entry->public.name, err);

    atomic_fetch_add(&s->zip->consumed, s->archive.taken - s->told);
    s->told = s->archive.taken;
    s->at += s->left;
    s->ended = s->left == 0;
    if (rc == AL_OK)
        rc = count(s, err);
    if (rc == AL_OK && s->entry->public.size && s->at > s->entry->public.size) {
        al_err_set(err, AL_EDATA, "ingest_invalid", s->entry->public.name,
                   "more bytes than the directory says");
        rc = al_err_reason(err, AL_EDATA, "damaged");
    }
    s->failed = rc != AL_OK;
    return rc;
}

int al_zip_stream_read(al_zip_stream *s, void *out, size_t len, size_t *got, al_err *err)
{
    int rc = s->left || s->ended ? AL_OK : next_block(s, err);

    *got = s->left < len ? s->left : len;
    if (rc != AL_OK || *got == 0)
        return rc;
    memcpy(out, s->block, *got);
    s->block += *got;
    s->left -= *got;
    return AL_OK;
}

uint64_t al_zip_consumed(const al_zip *z)
{
    return atomic_load(&z->consumed);
}
