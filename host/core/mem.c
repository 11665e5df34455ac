/* The allocators of core. Only the host thread allocates through them while a failure is armed. */
#include "core/mem.h"

#ifdef AL_TEST_HOOKS
typedef struct countdown {
    unsigned long left; /* requests until the one that fails; 0: none is armed */
    bool fired;
    bool again; /* Lua collects garbage and asks a second time: that fails as well */
} countdown;

static countdown zero_count, lua_count;

static bool fails(countdown *c)
{
    if (c->left == 0 || --c->left > 0)
        return false;
    c->fired = true;
    return true;
}

static bool lua_fails(void)
{
    if (lua_count.again) {
        lua_count.again = false;
        return true;
    }
    return lua_count.again = fails(&lua_count);
}

bool al_mem_fail(bool lua, unsigned long n)
{
    countdown *c = lua ? &lua_count : &zero_count;
    bool fired = c->fired;
    *c = (countdown){ .left = n };
    return fired;
}

void *al_mem_zero(size_t size)
{
    return fails(&zero_count) ? NULL : calloc(1, size);
}
#endif

void *al_mem_lua(void *data, void *block, size_t old_size, size_t new_size)
{
    (void)data;
    if (new_size == 0) {
        free(block);
        return NULL;
    }
#ifdef AL_TEST_HOOKS
    if ((!block || new_size > old_size) && lua_fails())
        return NULL;
#endif
    (void)old_size;
    return realloc(block, new_size);
}
