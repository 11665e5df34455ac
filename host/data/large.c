/* Huge pages are asked for, never needed. */
#include "data/large.h"
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

void *al_large_alloc(size_t bytes)
{
#ifdef MADV_HUGEPAGE
    void *p = NULL;

    if (bytes >= 2 * HUGE_PAGE && posix_memalign(&p, HUGE_PAGE, bytes) == 0) {
        madvise(p, bytes, MADV_HUGEPAGE);
        return p;
    }
#endif
    return malloc(bytes);
}
