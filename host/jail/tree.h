/* The processes below this one: who they are and how to end them. A process that left its parent,
 * group or session is still found, because al_tree_adopt makes orphans children of this process.
 * One caller a program, one thread. */
#ifndef AL_JAIL_TREE_H
#define AL_JAIL_TREE_H
#include <stdbool.h>

/* Orphans below become children of this process instead of process 1's. False where the system has
 * no such thing: then only the process groups of direct children can be ended. */
bool al_tree_adopt(void);

/* How many processes are below this one now, zombies included; -1 where that cannot be seen. Cheap
 * enough to be asked 50 times a second. */
int al_tree_count(void);

bool al_tree_empty(void); /* no process is below this one, not even one that waits to be reaped */

/* Sends SIGKILL to every process below this one, and reaps, until none is left: true. False when
 * after ms milliseconds one still is, which then cannot be killed (uninterruptible, or
 * set-user-ID). Every child that ends is waited for and its status told to on_end (may be NULL). */
bool al_tree_end(unsigned ms, void (*on_end)(void *data, int pid, int status), void *data);

#endif
