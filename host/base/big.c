#include "base/big.h"
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

static void want_big_pages(void *p, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    madvise(p, bytes, MADV_HUGEPAGE); /* the system may do without */
#else
    (void)p, (void)bytes;
#endif
}

void *al_big_alloc(size_t bytes)
{
    void *p;

    if (bytes < AL_BIG_PAGE)
        return calloc(1, bytes);
    p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    want_big_pages(p, bytes);
    return p;
}

void al_big_free(void *p, size_t bytes)
{
    if (bytes < AL_BIG_PAGE)
        free(p);
    else if (p)
        munmap(p, bytes);
}

void *al_big_malloc(size_t bytes)
{
    void *p;

    if (bytes < 2 * AL_BIG_PAGE || posix_memalign(&p, AL_BIG_PAGE, bytes) != 0)
        return malloc(bytes);
    want_big_pages(p, bytes);
    return p;
}
