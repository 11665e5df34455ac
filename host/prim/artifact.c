/* The scan of an output folder and copying from it; base/fs opens paths beneath, archive.c zips. */
#include "prim/artifact.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/utf8.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __APPLE__
#define st_mtim st_mtimespec
#define st_ctim st_ctimespec
#endif

struct al_source {
    int fd;
    al_source_item *items;
    size_t count, room;
    al_source_limits limits;
    uint64_t files, dirs, bytes;
};

static int refuse(al_err *err, const char *path, const char *reason, const char *detail)
{
    al_err_set(err, AL_EDATA, "artifact_rejected", path, detail);
    return al_err_reason(err, AL_EDATA, reason);
}

static int no_memory(al_err *err, const char *path)
{
    return al_err_set(err, AL_ENOMEM, "internal", path, "not enough memory");
}

/* An entry could not be opened: what base/fs says, in the words of this module. */
static int refuse_open(al_err *err, const char *path, const al_err *why)
{
    if (why->code == AL_ENOMEM || !strcmp(why->detail, strerror(EMFILE)) ||
        !strcmp(why->detail, strerror(ENFILE))) {
        if (err)
            *err = *why;
        return why->code; /* our own trouble, not the folder's */
    }
    if (why->code == AL_ENOTFOUND)
        return refuse(err, path, "unreadable", "is gone");
    return refuse(err, path, why->reason ? why->reason : "unreadable", why->detail);
}

/* ---- scanning ---- */

/* C0, DEL and C1, which a terminal may obey; and a space at the end, which other systems drop. */
static bool is_bad(const char *name, size_t len)
{
    uint32_t cp = 0;

    for (size_t at = 0; at < len;) {
        int n = al_utf8_decode(name + at, len - at, &cp);
        if (!n || cp < 0x20 || (cp >= 0x7F && cp < 0xA0))
            return true;
        at += (size_t)n;
    }
    return al_utf8_class(cp) & AL_UTF8_SPACE;
}

const char *al_artifact_name(const char *name, size_t len, al_buf *nfc)
{
    if (len && name[0] == '.')
        return "hidden";
    if (!len || is_bad(name, len) || memchr(name, '/', len))
        return "bad_name";
    /* The composed form may be longer than the name was. */
    if (al_utf8_nfc(nfc, name, len) == AL_EDATA || nfc->len > NAME_MAX)
        return "bad_name";
    return NULL;
}

static int check_limits(al_source *s, const al_source_item *item, al_err *err)
{
    const al_source_limits *l = &s->limits;

    if (item->dir)
        s->dirs++;
    else
        s->files++, s->bytes += item->bytes;
    /* Every folder must hold a file in the end, so this bounds folders too. */
    if (s->files > l->max_files || s->dirs / AL_SOURCE_DEPTH > l->max_files)
        return refuse(err, item->path, "maxFiles", "more files than analysis.limits.maxFiles");
    if (item->bytes > l->max_file_bytes)
        return refuse(err, item->path, "maxFileBytes", "larger than analysis.limits.maxFileBytes");
    if (s->bytes > l->max_output_bytes)
        return refuse(err, item->path, "maxOutputBytes",
                      "more bytes in all than analysis.limits.maxOutputBytes");
    return AL_OK;
}

static char *join(const char *dir, const char *name)
{
    size_t a = strlen(dir), b = strlen(name);
    char *out = malloc(a + b + 2);

    if (!out)
        return NULL;
    memcpy(out, dir, a);
    if (a)
        out[a++] = '/';
    memcpy(out + a, name, b + 1);
    return out;
}

/* Adds one entry; it is the caller's to look into folders. */
static int add_item(al_source *s, const al_source_item *in, const char *raw_name, const char *name,
                    const struct stat *st, al_err *err)
{
    al_source_item item = { .dir = S_ISDIR(st->st_mode),
                            .bytes = S_ISDIR(st->st_mode) ? 0 : (uint64_t)st->st_size,
                            .dev = st->st_dev,
                            .ino = st->st_ino,
                            .mtime = st->st_mtim,
                            .ctime = st->st_ctim };

    if (s->count == s->room) {
        size_t room = s->room ? s->room * 2 : 64;
        al_source_item *items = realloc(s->items, room * sizeof *items);
        if (!items)
            return no_memory(err, name);
        s->items = items;
        s->room = room;
    }
    item.path = join(in ? in->path : "", name);
    item.raw = join(in ? in->raw : "", raw_name);
    s->items[s->count++] = item;
    if (!item.path || !item.raw)
        return no_memory(err, name);
    return check_limits(s, &item, err);
}

static int refuse_at(const al_source_item *in, const char *raw, const char *reason,
                     const char *detail, al_err *err)
{
    char *path = join(in ? in->path : "", raw);
    int rc = refuse(err, path ? path : raw, reason, detail);

    free(path);
    return rc;
}

static int scan_entry(al_source *s, const al_source_item *in, int fd, const char *raw, al_err *err)
{
    struct stat st;
    al_buf name;
    const char *reason;
    int rc;

    if (fstatat(fd, raw, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? AL_OK /* gone since it was listed */
                               : refuse_at(in, raw, "unreadable", strerror(errno), err);
    al_buf_init(&name, 0);
    reason = al_artifact_name(raw, strlen(raw), &name);
    if (!reason && S_ISLNK(st.st_mode))
        reason = "symlink";
    if (!reason && !S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
        reason = "special_file";
    if (!reason && S_ISREG(st.st_mode) && st.st_nlink != 1)
        reason = "hardlink";
    if (name.failed == AL_ENOMEM)
        rc = no_memory(err, raw);
    else if (reason)
        rc = refuse_at(in, raw, reason, "may not be published", err);
    else
        rc = add_item(s, in, raw, name.data, &st, err);
    al_buf_free(&name);
    return rc;
}

static int scan_folder(al_source *s, const al_source_item *in, int depth, al_err *err);

/* Looks into the folders that were added from `first` on. */
static int scan_added(al_source *s, size_t first, size_t end, int depth, al_err *err)
{
    int rc = AL_OK;

    for (size_t i = first; i < end && rc == AL_OK; i++) {
        al_source_item in = s->items[i]; /* items may move */
        size_t before = s->count;
        if (!in.dir)
            continue;
        rc = depth >= AL_SOURCE_DEPTH ? refuse(err, in.path, "depth", "is too deep")
                                      : scan_folder(s, &in, depth + 1, err);
        if (rc == AL_OK && s->count == before)
            rc = refuse(err, in.path, "empty", "is an empty folder");
    }
    return rc;
}

static int scan_folder(al_source *s, const al_source_item *in, int depth, al_err *err)
{
    al_err why = { 0 };
    size_t first = s->count;
    int rc = AL_OK, fd;
    DIR *dir;
    struct dirent *d;

    fd = al_fs_open_beneath(s->fd, in ? in->raw : ".", O_RDONLY | O_DIRECTORY, 0, &why);
    if (fd < 0)
        return refuse_open(err, in ? in->path : ".", &why);
    dir = fdopendir(fd);
    if (!dir) {
        close(fd);
        return no_memory(err, in ? in->path : ".");
    }
    while (rc == AL_OK && (errno = 0, d = readdir(dir)) != NULL)
        if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
            rc = scan_entry(s, in, fd, d->d_name, err);
    if (rc == AL_OK && errno) /* a part of a folder is none */
        rc = refuse(err, in ? in->path : ".", "unreadable", strerror(errno));
    closedir(dir);
    return rc == AL_OK ? scan_added(s, first, s->count, depth, err) : rc;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const al_source_item *)a)->path, ((const al_source_item *)b)->path);
}

static int check_clashes(const al_source *s, al_err *err)
{
    for (size_t i = 1; i < s->count; i++)
        if (!strcmp(s->items[i - 1].path, s->items[i].path))
            return refuse(err, s->items[i].path, "name_clash",
                          "two names are the same when composed");
    return AL_OK;
}

int al_source_scan(al_source **out, const char *folder, const al_source_limits *limits, al_err *err)
{
    static const al_source_limits none = { UINT64_MAX, UINT64_MAX, UINT64_MAX };
    al_source *s = calloc(1, sizeof *s);
    struct stat st;
    int rc;

    if (!s)
        return no_memory(err, folder);
    s->limits = limits ? *limits : none;
    s->fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (s->fd < 0) {
        int errnum = errno;
        bool link = lstat(folder, &st) == 0 && S_ISLNK(st.st_mode);
        rc = link ? refuse(err, folder, "symlink", "is a link") : al_err_errno(err, errnum, folder);
    } else
        rc = scan_folder(s, NULL, 1, err);
    if (rc == AL_OK && s->count)
        qsort(s->items, s->count, sizeof *s->items, by_path);
    if (rc == AL_OK)
        rc = check_clashes(s, err);
    if (rc == AL_OK)
        *out = s;
    else
        al_source_close(s);
    return rc;
}

void al_source_close(al_source *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++) {
        free(s->items[i].path);
        free(s->items[i].raw);
    }
    free(s->items);
    if (s->fd >= 0)
        close(s->fd);
    free(s);
}

size_t al_source_count(const al_source *s)
{
    return s->count;
}

const al_source_item *al_source_at(const al_source *s, size_t i)
{
    return &s->items[i];
}

const al_source_item *al_source_find(const al_source *s, const char *path)
{
    al_source_item key = { .path = (char *)path };
    return s->count ? bsearch(&key, s->items, s->count, sizeof key, by_path) : NULL;
}

/* ---- reading ---- */

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* The very file the scan saw, unchanged since. */
static int check_same(int fd, const al_source_item *item, al_err *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return al_err_errno(err, errno, item->path);
    if (!S_ISREG(st.st_mode))
        return refuse(err, item->path, "special_file", "is not a regular file");
    if (st.st_nlink != 1)
        return refuse(err, item->path, st.st_nlink ? "hardlink" : "unreadable",
                      "changed while it was published");
    if (st.st_dev != item->dev || st.st_ino != item->ino || (uint64_t)st.st_size != item->bytes ||
        !same_time(st.st_mtim, item->mtime) || !same_time(st.st_ctim, item->ctime))
        return refuse(err, item->path, "unreadable", "changed while it was published");
    return AL_OK;
}

/* Keeps others from opening the file for writing until it is closed, a minute at most, where the
 * system can: the times of a file tell of a write when it begins, not of one that is going on. A
 * file that somebody writes to already is refused. Who waits to write is told of by a signal, which
 * kills by default; SIGURG does not. */
static int hold_still(int fd, const al_source_item *item, al_err *err)
{
#ifdef F_SETLEASE
    if (fcntl(fd, F_SETSIG, SIGURG) == 0 && fcntl(fd, F_SETLEASE, F_RDLCK) < 0 && errno == EAGAIN)
        return refuse(err, item->path, "unreadable", "is still being written");
#else
    (void)fd, (void)item, (void)err;
#endif
    return AL_OK;
}

static int stream_bytes(int fd, const al_source_item *item, al_source_sink sink, void *data,
                        al_err *err)
{
    char buf[65536];
    uint64_t at = 0;

    for (;;) {
        ssize_t n = pread(fd, buf, sizeof buf, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return refuse(err, item->path, "unreadable", strerror(errno));
        if (at + (uint64_t)n > item->bytes || (n == 0 && at < item->bytes))
            return refuse(err, item->path, "unreadable", "changed while it was published");
        if (n == 0)
            return AL_OK;
        int rc = sink(data, buf, (size_t)n, err);
        if (rc < 0)
            return rc;
        at += (uint64_t)n;
    }
}

int al_source_stream(const al_source *s, const al_source_item *item, al_source_sink sink,
                     void *data, al_err *err)
{
    al_err why = { 0 };
    int rc, fd;

    fd = al_fs_open_beneath(s->fd, item->raw, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &why);
    if (fd < 0)
        return refuse_open(err, item->path, &why);
    rc = hold_still(fd, item, err);
    if (rc == AL_OK)
        rc = check_same(fd, item, err);
    if (rc == AL_OK)
        rc = stream_bytes(fd, item, sink, data, err);
    if (rc == AL_OK)
        rc = check_same(fd, item, err);
    close(fd);
    return rc;
}

typedef struct copy {
    int fd;
    const char *dest;
    al_sha256 *sha;
    char head[AL_SNIFF_BYTES];
    size_t head_len;
} copy;

static int copy_sink(void *data, const void *bytes, size_t len, al_err *err)
{
    copy *c = data;
    size_t room = sizeof c->head - c->head_len, n = len < room ? len : room;

    memcpy(c->head + c->head_len, bytes, n);
    c->head_len += n;
    if (al_sha256_add(c->sha, bytes, len) < 0)
        return al_err_set(err, AL_EIO, "internal", c->dest, "SHA-256 failed");
    return al_fs_write_all(c->fd, bytes, len, c->dest, err);
}

int al_source_copy(const al_source *s, const al_source_item *item, const char *dest,
                   al_source_copied *out, al_err *err)
{
    copy c = { .fd = -1, .dest = dest };
    int rc = al_sha256_open(&c.sha, err);

    if (rc < 0)
        return rc;
    c.fd = open(dest, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (c.fd < 0)
        rc = al_err_errno(err, errno, dest);
    else
        rc = al_source_stream(s, item, copy_sink, &c, err);
    if (rc == AL_OK && fsync(c.fd) < 0)
        rc = al_err_errno(err, errno, dest);
    if (rc == AL_OK && al_sha256_end(c.sha, out->sha256) < 0)
        rc = al_err_set(err, AL_EIO, "internal", dest, "SHA-256 failed");
    if (c.fd >= 0) {
        if (close(c.fd) < 0 && rc == AL_OK)
            rc = al_err_errno(err, errno, dest);
        if (rc < 0)
            unlink(dest);
    }
    al_sha256_close(c.sha);
    out->bytes = item->bytes;
    out->mime = al_artifact_sniff(c.head, c.head_len);
    return rc;
}

/* ---- types ---- */

static bool begins(const char *bytes, size_t len, size_t at, const char *magic, size_t n)
{
    return len >= at + n && !memcmp(bytes + at, magic, n);
}

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
        p++;
    return p;
}

static bool has_tag(const char *p, const char *end, const char *tag)
{
    size_t n = strlen(tag);
    return (size_t)(end - p) >= n && !strncasecmp(p, tag, n);
}

/* Passes one of what may stand before the first element of XML and HTML: a declaration, a comment.
 * Its beginning where it does not end in these bytes, or is none. */
static const char *skip_prolog(const char *p, const char *end)
{
    const char *close = has_tag(p, end, "<?xml") ? "?>" : has_tag(p, end, "<!--") ? "-->" : NULL;
    const char *at = close ? memmem(p, (size_t)(end - p), close, strlen(close)) : NULL;

    return at ? skip_space(at + strlen(close), end) : p;
}

static const char *sniff_markup(const char *p, const char *end)
{
    bool xml = has_tag(p, end, "<?xml");

    for (const char *next; (next = skip_prolog(p, end)) != p;)
        p = next;
    if (has_tag(p, end, "<!doctype html") || has_tag(p, end, "<html"))
        return "text/html";
    if (has_tag(p, end, "<!doctype svg") || has_tag(p, end, "<svg"))
        return "image/svg+xml";
    return xml ? "text/xml" : "text/plain";
}

static const char *sniff_text(const char *bytes, size_t len)
{
    const char *end = bytes + len, *p = bytes;

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c == 0 || (c < 0x20 && !strchr("\t\n\f\r\033", c)))
            return NULL;
    }
    if (begins(bytes, len, 0, "\xEF\xBB\xBF", 3))
        p += 3;
    return sniff_markup(skip_space(p, end), end);
}

/* OpenDocument files begin with their type, stored as it is. */
static const char *sniff_zip(const char *bytes, size_t len)
{
#define ODF "application/vnd.oasis.opendocument."
    static const char mark[] = "mimetype" ODF;
    static const char *const types[] = { ODF "text", ODF "spreadsheet", ODF "presentation" };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const char *kind = types[i] + sizeof ODF - 1;
        if (begins(bytes, len, 30, mark, sizeof mark - 1) &&
            begins(bytes, len, 30 + sizeof mark - 1, kind, strlen(kind)))
            return types[i];
    }
    return "application/zip";
#undef ODF
}

const char *al_artifact_sniff(const char *bytes, size_t len)
{
    static const struct {
        const char *magic;
        size_t len;
        const char *mime;
    } known[] = {
        { "%PDF-", 5, "application/pdf" },
        { "\x89PNG\r\n\x1a\n", 8, "image/png" },
        { "\xff\xd8\xff", 3, "image/jpeg" },
        { "GIF87a", 6, "image/gif" },
        { "GIF89a", 6, "image/gif" },
        { "PK\x05\x06", 4, "application/zip" },
        { "\x1f\x8b", 2, "application/gzip" },
        { "BZh", 3, "application/x-bzip2" },
        { "\xfd"
          "7zXZ\0",
          6, "application/x-xz" },
        { "\x28\xb5\x2f\xfd", 4, "application/zstd" },
        { "SQLite format 3\0", 16, "application/vnd.sqlite3" },
        { "\x7f"
          "ELF",
          4, "application/x-executable" },
        { "\xff\xfe", 2, "text/plain" }, /* UTF-16 says so itself */
        { "\xfe\xff", 2, "text/plain" },
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (begins(bytes, len, 0, known[i].magic, known[i].len))
            return known[i].mime;
    if (begins(bytes, len, 0, "PK\x03\x04", 4))
        return sniff_zip(bytes, len);
    if (begins(bytes, len, 0, "RIFF", 4) && begins(bytes, len, 8, "WEBP", 4))
        return "image/webp";
    return len ? sniff_text(bytes, len) : NULL;
}

int al_artifact_digest(const char *path, char hex[65], al_err *err)
{
    al_err why = { 0 };
    int rc, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    hex[0] = '\0';
    if (fd < 0)
        return al_err_errno(err, errno, path);
    rc = al_sha256_fd(fd, hex, &why);
    close(fd);
    return rc < 0 ? al_err_set(err, rc, why.id, path, why.detail) : AL_OK;
}
