/* Paths as text. */
#include "base/path.h"
#include "base/err.h"
#include <string.h>

int al_path_join(al_buf *out, const char *a, const char *b)
{
    size_t len = strlen(a);

    if (*b == '/' || !len)
        return al_buf_str(out, b);
    al_buf_add(out, a, len);
    if (*b && a[len - 1] != '/')
        al_buf_char(out, '/');
    return al_buf_str(out, b);
}

const char *al_path_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

const char *al_path_ext(const char *path)
{
    const char *base = al_path_base(path), *dot = strrchr(base, '.');

    return dot && dot != base ? dot : base + strlen(base);
}

bool al_path_beneath(const char *path, size_t len)
{
    size_t from = 0;

    if (!len || path[0] == '/' || memchr(path, '\0', len))
        return false;
    for (size_t i = 0; i <= len; i++) {
        if (i < len && path[i] != '/')
            continue;
        if (i - from == 2 && memcmp(path + from, "..", 2) == 0)
            return false;
        from = i + 1;
    }
    return true;
}

/* Takes the last component off, back to `floor`; false when it is ".." or nothing is left. */
static bool take_last(al_buf *out, size_t floor)
{
    size_t slash = out->len;

    while (slash > floor && out->data[slash - 1] != '/')
        slash--;
    if (out->len == floor || (out->len - slash == 2 && memcmp(out->data + slash, "..", 2) == 0))
        return false;
    out->len = slash > floor ? slash - 1 : floor;
    out->data[out->len] = '\0';
    return true;
}

int al_path_clean(al_buf *out, const char *path)
{
    bool absolute = *path == '/';
    size_t floor;

    if (absolute)
        al_buf_char(out, '/');
    else
        al_buf_reserve(out, 0);
    floor = out->len;
    for (const char *p = path; *p && !out->failed;) {
        size_t n = strcspn(p, "/");
        bool up = n == 2 && memcmp(p, "..", 2) == 0;
        bool stay = n == 0 || (n == 1 && *p == '.');

        if (up && (take_last(out, floor) || absolute))
            stay = true;
        if (!stay) {
            if (out->len > floor)
                al_buf_char(out, '/');
            al_buf_add(out, p, n);
        }
        p += n + (p[n] == '/');
    }
    if (out->len == floor && !absolute)
        al_buf_char(out, '.');
    return out->failed;
}
