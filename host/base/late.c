/* dlopen where that is how it is done, else copies of what was linked. */
#include "base/late.h"
#include <stdio.h>
#include <string.h>

#if AL_LATE
#include <dlfcn.h>

bool al_late_load(const char *const *files, const al_late *functions, size_t n, char *why,
                  size_t room)
{
    void *library = NULL;

    for (size_t i = 0; files[i] && !library; i++)
        library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why, room, "%s", dlerror());
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        void *found = dlsym(library, functions[i].name);

        if (!found) {
            snprintf(why, room, "it has no %s: it is too old", functions[i].name);
            return false;
        }
        memcpy(functions[i].place, &found, sizeof found);
    }
    return true;
}

#else

bool al_late_load(const char *const *files, const al_late *functions, size_t n, char *why,
                  size_t room)
{
    (void)files, (void)why, (void)room;
    for (size_t i = 0; i < n; i++)
        memcpy(functions[i].place, &functions[i].linked, sizeof functions[i].linked);
    return true;
}
#endif
