/* Memory for arrays that are walked all over. */
#ifndef AL_DATA_LARGE_H
#define AL_DATA_LARGE_H
#include <stddef.h>

/* As malloc; large ones come in huge pages where the system has them, which spares most page faults
 * and misses of the address cache. To be given to free. */
void *al_large_alloc(size_t bytes);

#endif
