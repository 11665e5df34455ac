/* Anonymous mappings; whether they become large pages is up to the system. */
#include "base/large.h"
#include <stdlib.h>
#include <sys/mman.h>

#define LARGE ((size_t)4 << 20) /* smaller ones come from the heap */

void *al_large_alloc(size_t bytes)
{
    void *p;

    if (bytes < LARGE)
        return calloc(1, bytes ? bytes : 1);
    p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
#ifdef MADV_HUGEPAGE
    madvise(p, bytes, MADV_HUGEPAGE);
#endif
    return p;
}

void al_large_free(void *p, size_t bytes)
{
    if (!p)
        return;
    if (bytes < LARGE)
        free(p);
    else
        munmap(p, bytes);
}
