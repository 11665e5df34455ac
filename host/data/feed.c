/* A ring of blocks between the thread that unpacks and the one that parses. Where no thread can be
 * had, the blocks are unpacked when they are asked for. */
#include "data/feed.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 4

struct block {
    char bytes[AL_FEED_KEEP + AL_FEED_BLOCK];
    size_t len; /* behind the room for what is kept */
    bool last;
    int rc; /* of unpacking it */
};

struct al_feed {
    al_zip_stream *stream;
    struct block *blocks;
    /* filled: blocks unpacked so far; taken: those handed out. The one handed out last is still in
     * use, so the thread stays BLOCKS - 1 before it. */
    uint64_t filled, taken;
    bool threaded, stop;
    al_err failed; /* of the block that could not be unpacked, the last one */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t moved;
};

static void fill(al_feed *f, struct block *b)
{
    size_t got = 1;

    b->rc = AL_OK;
    for (b->len = 0; b->rc == AL_OK && got > 0 && b->len < AL_FEED_BLOCK; b->len += got)
        b->rc = al_zip_stream_read(f->stream, b->bytes + AL_FEED_KEEP + b->len,
                                   AL_FEED_BLOCK - b->len, &got, &f->failed);
    b->last = got == 0;
}

static void *run(void *data)
{
    al_feed *f = data;
    bool ended = false;

    while (!ended) {
        struct block *b;

        pthread_mutex_lock(&f->lock);
        while (!f->stop && f->filled - f->taken >= BLOCKS - 1)
            pthread_cond_wait(&f->moved, &f->lock);
        ended = f->stop;
        b = &f->blocks[f->filled % BLOCKS];
        pthread_mutex_unlock(&f->lock);
        if (ended)
            break;
        fill(f, b);
        ended = b->rc != AL_OK || b->last;
        pthread_mutex_lock(&f->lock);
        f->filled++;
        pthread_cond_signal(&f->moved);
        pthread_mutex_unlock(&f->lock);
    }
    return NULL;
}

int al_feed_open(al_feed **out, al_zip *zip, const al_zip_entry *entry, al_err *err)
{
    al_feed *f = calloc(1, sizeof *f);
    int rc;

    *out = NULL;
    if (f)
        f->blocks = malloc(BLOCKS * sizeof *f->blocks);
    rc = f && f->blocks ? al_zip_stream_open(&f->stream, zip, entry, err)
                        : al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
    if (rc != AL_OK) {
        if (f)
            free(f->blocks);
        free(f);
        return rc;
    }
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->moved, NULL);
    /* Small entries are there before a thread is. */
    if (entry->size > AL_FEED_BLOCK)
        f->threaded = pthread_create(&f->thread, NULL, run, f) == 0;
    *out = f;
    return AL_OK;
}

void al_feed_close(al_feed *f)
{
    if (!f)
        return;
    if (f->threaded) {
        pthread_mutex_lock(&f->lock);
        f->stop = true;
        pthread_cond_signal(&f->moved);
        pthread_mutex_unlock(&f->lock);
        pthread_join(f->thread, NULL);
    }
    pthread_mutex_destroy(&f->lock);
    pthread_cond_destroy(&f->moved);
    al_zip_stream_close(f->stream);
    free(f->blocks);
    free(f);
}

int al_feed_next(al_feed *f, size_t keep, const char **data, size_t *len, bool *last, al_err *err)
{
    struct block *b = &f->blocks[f->taken % BLOCKS];
    const struct block *before = &f->blocks[(f->taken + BLOCKS - 1) % BLOCKS];

    if (f->threaded) {
        pthread_mutex_lock(&f->lock);
        while (f->filled == f->taken)
            pthread_cond_wait(&f->moved, &f->lock);
        pthread_mutex_unlock(&f->lock);
    } else {
        fill(f, b);
    }
    if (b->rc != AL_OK) {
        if (err)
            *err = f->failed;
        return b->rc;
    }
    memcpy(b->bytes + AL_FEED_KEEP - keep, before->bytes + AL_FEED_KEEP + before->len - keep, keep);
    *data = b->bytes + AL_FEED_KEEP - keep;
    *len = keep + b->len;
    *last = b->last;
    pthread_mutex_lock(&f->lock);
    f->taken++;
    pthread_cond_signal(&f->moved);
    pthread_mutex_unlock(&f->lock);
    return AL_OK;
}
