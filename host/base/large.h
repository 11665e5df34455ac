/* Memory for large arrays: in pages of 2 MiB where the system has them, since those that are
 * reached at random, or touched for the first time, cost most of their time with pages of 4 KiB. */
#ifndef AL_BASE_LARGE_H
#define AL_BASE_LARGE_H
#include <stddef.h>

/* Zeroed; NULL when there is no memory. */
void *al_large_alloc(size_t bytes);
/* bytes as they were asked for; p may be NULL. */
void al_large_free(void *p, size_t bytes);

#endif
