/* The engine: reads data files and answers questions about datasets, for a host that gave it a
 * socket (3) and a folder for nameless files (4), and takes everything else from itself before it
 * reads the first request. */
#include "data/engine.h"
#include "base/err.h"
#include "jail/landlock.h"
#include "jail/limits.h"
#include "jail/sanitizer.h"
#include "jail/seccomp.h"
#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SOCKET = 3, TMP = 4 };

#define ARENAS 16 /* 64 MiB of addresses each, which the limit counts, however many threads */

#if AL_SANITIZER
/* The search for leaks needs what the engine gives up; the unit tests look for them. */
const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
#endif

/* What the system does not have is done without; what it has must work. */
static bool refused(int rc)
{
    return rc != AL_OK && rc != AL_ENOTSUP;
}

static int confine(al_err *err)
{
    const al_limits limits = {
        .memory_bytes = UINT64_C(4) << 30,
        .open_files = 64,
        .no_core = true,
    };
    const al_landlock_rule rule = {
        .fd = TMP,
        .path = NULL,
        .access = AL_ACCESS_READ | AL_ACCESS_WRITE,
    };
    int rc = al_limits_set(&limits, err);

    if (rc == AL_OK)
        rc = al_landlock_restrict(&rule, 1, err);
    return refused(rc) ? rc : al_seccomp_engine(TMP, err);
}

int main(int argc, char **argv)
{
    char text[1024];
    al_err err = { 0 };

    (void)argv;
    if (argc > 1 || fcntl(SOCKET, F_GETFD) < 0 || fcntl(TMP, F_GETFD) < 0) {
        fputs("alisio engine: started by alisio only, with its descriptors\n", stderr);
        return 2;
    }
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, ARENAS);
#endif
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* then EFBIG says so */
    al_limits_close_from(TMP + 1);
    al_engine_prepare(SOCKET);
    if (refused(confine(&err))) {
        fprintf(stderr, "alisio engine: %s\n", al_err_text(&err, text, sizeof text));
        return 2;
    }
    return al_engine_serve(SOCKET, TMP);
}
