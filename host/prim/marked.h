/* Processes known by an entry of their environment. */
#ifndef AL_PRIM_MARKED_H
#define AL_PRIM_MARKED_H
#include <stdbool.h>

/* Kills every process of this user that was started with `mark` ("NAME=value") in its environment,
 * until none is left: true. False when one still is after ms, and where environments of others
 * cannot be read. A process that was started without the mark, or changed where its environment
 * stands, is not found. Blocks; for a worker. */
bool al_marked_end(const char *mark, unsigned ms);

#endif
