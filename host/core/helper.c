/* Where our own programs are. */
#include "base/path.h"
#include "core/state.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__linux__) && !defined(AL_PORTABLE)
#include <link.h>
#endif

/* The file that holds this code when it is a shared library; false when it is the program itself.
 */
static bool library_file(char *out)
{
#if defined(__linux__) && !defined(AL_PORTABLE)
    Dl_info info;
    struct link_map *map = NULL;

    return dladdr1((void *)library_file, &info, (void **)&map, RTLD_DL_LINKMAP) && map &&
           map->l_name[0] == '/' && realpath(map->l_name, out);
#else /* a program started by a relative path, or by PATH, does not have a full name here */
    Dl_info info;

    return dladdr((void *)library_file, &info) && info.dli_fname[0] == '/' &&
           realpath(info.dli_fname, out);
#endif
}

static bool own_folder(char *out)
{
    char file[PATH_MAX];
    size_t size = sizeof file;

    if (!library_file(out)) {
        if (uv_exepath(file, &size) != 0 || !realpath(file, out))
            return false;
    }
    char *slash = strrchr(out, '/');
    if (slash)
        *slash = '\0';
    return slash != NULL;
}

/* out = folder + tail + name; is it a program? */
static bool try_place(al_buf *out, const char *folder, const char *tail, const char *name)
{
    al_buf_clear(out);
    al_buf_printf(out, "%s%s/%s", folder, tail, name);
    return !out->failed && access(out->data, X_OK) == 0;
}

int al_host_helper(const al_host *h, const char *name, al_buf *out, al_err *err)
{
    char folder[PATH_MAX], parent[PATH_MAX];

    if (h->helper_dir) {
        if (try_place(out, h->helper_dir, "", name))
            return AL_OK;
        return al_err_set(err, AL_ENOTFOUND, "not_found", out->data, "no such program");
    }
    if (!own_folder(folder))
        return al_err_set(err, AL_EIO, "io_error", name, "the program's own folder is unknown");
    strcpy(parent, folder);
    char *slash = strrchr(parent, '/');
    *(slash ? slash : parent) = '\0';
    /* The build tree first: build/san stands inside build, which has helpers of its own. */
    if (try_place(out, folder, "/libexec/alisio", name) ||
        try_place(out, parent, "/libexec/alisio", name))
        return AL_OK;
    return al_err_setf(err, AL_ENOTFOUND, "not_found", name,
                       "neither %s/libexec/alisio/%s nor %s is there", folder, name, out->data);
}
