/* The linker names the library this code was loaded from by its full path; a program it may name as
 * it was typed, which says nothing about where it is, so that is asked of the system. */
#include "prim/helper.h"
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

static int found(const char *folder, size_t len, const char *inside, const char *name, al_buf *out)
{
    al_buf_clear(out);
    al_buf_add(out, folder, len);
    al_buf_str(out, inside);
    al_buf_char(out, '/');
    al_buf_str(out, name);
    return !out->failed && access(out->data, X_OK) == 0;
}

static int beside(const char *file, const char *name, al_buf *out)
{
    const char *slash = strrchr(file, '/');
    size_t len;

    if (file[0] != '/')
        return 0;
    len = (size_t)(slash - file);
    return found(file, len, "/../libexec/alisio", name, out) ||
           found(file, len, "/libexec/alisio", name, out);
}

int al_helper_path(const char *dir, const char *name, al_buf *out, al_err *err)
{
    char program[4096];
    size_t size = sizeof program;
    Dl_info here;

    if (dir) {
        if (found(dir, strlen(dir), "", name, out))
            return AL_OK;
    } else if (dladdr((void *)(uintptr_t)al_helper_path, &here) && here.dli_fname &&
               beside(here.dli_fname, name, out)) {
        return AL_OK;
    } else if (uv_exepath(program, &size) == 0 && beside(program, name, out)) {
        return AL_OK;
    }
    return al_err_set(err, AL_ENOTFOUND, "not_found", name,
                      "the helper program is not where it was installed");
}
