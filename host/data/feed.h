/* The bytes of one entry of a zip file, block by block, unpacked ahead of the reader by a thread of
 * its own. */
#ifndef AL_DATA_FEED_H
#define AL_DATA_FEED_H
#include "base/err.h"
#include "data/zip.h"
#include <stdbool.h>
#include <stddef.h>

#define AL_FEED_BLOCK (256u << 10)
#define AL_FEED_KEEP  (64u << 10) /* bytes of a block that may be seen again with the next */

typedef struct al_feed al_feed;

/* Errors of al_zip_stream_open; those of al_zip_stream_read come with al_feed_next. */
int al_feed_open(al_feed **out, al_zip *zip, const al_zip_entry *entry, al_err *err);
void al_feed_close(al_feed *f);
/* The next block, with the last `keep` <= AL_FEED_KEEP bytes of the one before in front of it. It
 * is the caller's until the next call; *last: no other comes. */
int al_feed_next(al_feed *f, size_t keep, const char **data, size_t *len, bool *last, al_err *err);

#endif
