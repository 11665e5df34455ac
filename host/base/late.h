/* Libraries that few runs need and every start would pay for: on Linux they are loaded at their
 * first use. Elsewhere, and with AL_PORTABLE, they are linked; the table of functions is filled all
 * the same. */
#ifndef AL_BASE_LATE_H
#define AL_BASE_LATE_H
#include <stdbool.h>
#include <stddef.h>

#if defined(__linux__) && !defined(AL_PORTABLE)
#define AL_LATE 1
#else
#define AL_LATE 0
#endif

typedef struct al_late {
    const char *name;
    void *place;          /* the pointer to it in the table */
    void (*linked)(void); /* the function itself, where it is linked */
} al_late;

/* A member of the table, and how it is filled. */
#define AL_LATE_MEMBER(name) __typeof__(&name) name;
#if AL_LATE
#define AL_LATE_FUNCTION(table, name) \
    {                                 \
#name, &(table).name, NULL    \
    }
#else
#define AL_LATE_FUNCTION(table, name)              \
    {                                              \
#name, &(table).name, (void (*)(void))name \
    }
#endif

/* Loads the first of the files (file names, NULL at the end) that is there, for good, and fills in
 * the functions. False, with the reason in why, when there is none or one lacks a function. */
bool al_late_load(const char *const *files, const al_late *functions, size_t n, char *why,
                  size_t room);

#endif
