/* Resource limits of the calling process, inherited by what it starts. */
#ifndef AL_JAIL_LIMITS_H
#define AL_JAIL_LIMITS_H
#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct al_limits { /* 0 leaves a limit as it is */
    uint64_t memory_bytes; /* address space; none is set in sanitizer builds, which cannot run so */
    uint64_t open_files;   /* descriptors */
    uint64_t file_bytes;   /* largest file written; past it EFBIG, or SIGXFSZ where not ignored */
    uint64_t cpu_seconds;  /* SIGXCPU at that, SIGKILL one second later */
    bool no_core;          /* no core files */
} al_limits;

/* Sets soft and hard limit; one that is lower already stays. AL_EIO names the limit refused. */
int al_limits_set(const al_limits *limits, al_err *err);

/* Closes every descriptor from `first` on. */
void al_limits_close_from(int first);

#endif
