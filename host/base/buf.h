/* A growing byte buffer with a cap: everything that comes from outside is collected in one. */
#ifndef AL_BASE_BUF_H
#define AL_BASE_BUF_H
#include <stddef.h>
#include <stdint.h>

typedef struct al_buf {
    char *data; /* NULL while empty; always NUL-terminated behind len otherwise */
    size_t len;
    size_t cap;
    size_t max; /* len never passes this; 0 means no cap */
    int failed; /* the first AL_ENOMEM or AL_ELIMIT; once set, every append answers it */
} al_buf;

void al_buf_init(al_buf *b, size_t max);
void al_buf_free(al_buf *b);  /* frees the bytes; b may be used again (max kept) */
void al_buf_clear(al_buf *b); /* len = 0, memory kept, failed = 0 */

/* All return AL_OK, AL_ENOMEM or AL_ELIMIT and leave b unchanged on failure but for `failed`. So a
 * run of appends may be checked once, at its end, by b->failed. */
int al_buf_reserve(al_buf *b, size_t more);
int al_buf_add(al_buf *b, const void *bytes, size_t len);
int al_buf_str(al_buf *b, const char *text);
int al_buf_char(al_buf *b, char c);
int al_buf_printf(al_buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void al_buf_drop(al_buf *b, size_t len); /* removes len bytes at the front */
char *al_buf_steal(al_buf *b);           /* the bytes, the caller's to free(); b is empty after */

#endif
