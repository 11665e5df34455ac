/* Work that other threads hand to the host thread. */
#ifndef AL_CORE_POST_H
#define AL_CORE_POST_H
#include "core/task.h"

/* Calls fn(host, data) on the host thread, from its loop, in the order of the calls. AL_ENOMEM;
 * AL_ECANCELED once al_host_close_begin was called. [any thread; not after the host was freed] */
int al_post(al_host *host, void (*fn)(al_host *host, void *data), void *data);
/* Makes the loop return from its wait. [any thread] */
void al_post_wake(al_host *host);

#endif
