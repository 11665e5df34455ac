/* Memory in large pieces. Where it is reached at random, or for the first time, most of the time
 * would go to finding pages of 4 KiB; large ones are asked for where the system has them. */
#ifndef AL_BASE_BIG_H
#define AL_BASE_BIG_H
#include <stddef.h>

#define AL_BIG_PAGE ((size_t)2 << 20)

/* Zeros, or NULL without memory. Fewer bytes than AL_BIG_PAGE are had from calloc. */
void *al_big_alloc(size_t bytes);
/* p may be NULL; bytes: what it was asked for with. */
void al_big_free(void *p, size_t bytes);

/* As malloc, for what is filled anyway; to be given to free. */
void *al_big_malloc(size_t bytes);

#endif
