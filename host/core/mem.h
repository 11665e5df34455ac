/* Memory of core: calloc, which test builds can make fail at a chosen call. */
#ifndef AL_CORE_MEM_H
#define AL_CORE_MEM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#ifdef AL_TEST_HOOKS
void *al_mem_zero(size_t size); /* zeroed, the caller's to free(); NULL when there is none */
/* The n-th request after this call fails, once, together with the retry that follows it when the
 * request is Lua's; n = 0 lets everything pass again. Answers whether the request armed before had
 * come to fail. `lua`: count what Lua asks for, else what al_mem_zero is asked for. */
bool al_mem_fail(bool lua, unsigned long n);
#else
#define al_mem_zero(size) calloc(1, (size))
#endif

/* The allocator of every Lua state of the host (a lua_Alloc). */
void *al_mem_lua(void *data, void *block, size_t old_size, size_t new_size);

#endif
