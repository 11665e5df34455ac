/* gzip by zlib, because libarchive does not check its CRC; the others by libarchive. */
#include "data/unpack.h"
#include "data/archive.h"
#include "data/expansion.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define BLOCK     131072u
#define GZIP_BITS (15 + 16) /* the widest window; a gzip header and trailer, both checked */

struct al_unpack {
    int fd;
    uint64_t size, at; /* at: what was read of the file, or passed */
    al_packing packing;
    al_expansion expansion;
    bool ended;
    /* gzip */
    z_stream z;
    bool inside; /* a member */
    unsigned char *in;
    /* the others */
    al_archive archive;
    const unsigned char *block;
    size_t left; /* of block */
};

static int invalid(const char *reason, const char *detail, uint64_t offset, al_err *err)
{
    al_err_set(err, AL_EDATA, "ingest_invalid", "input", detail);
    if (err)
        err->offset = offset;
    return al_err_reason(err, AL_EDATA, reason);
}

/* The next bytes of the file into u->in; *n is 0 at its end. */
static int read_block(al_unpack *u, size_t *n, al_err *err)
{
    ssize_t got;

    do
        got = pread(u->fd, u->in, BLOCK, (off_t)u->at);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return al_err_errno(err, errno, "input");
    u->at += (uint64_t)got;
    *n = (size_t)got;
    return AL_OK;
}

static int trailing(uint64_t offset, al_err *err)
{
    return invalid("trailing", "other bytes stand behind the packed data", offset, err);
}

/* ---- gzip ---- */

static int open_gzip(al_unpack *u, al_err *err)
{
    u->in = malloc(BLOCK);
    if (!u->in || inflateInit2(&u->z, GZIP_BITS) != Z_OK)
        return al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
    u->inside = true;
    return AL_OK;
}

/* Between members: another one, or zero bytes up to the end, with which tapes and disks fill up. */
static int next_member(al_unpack *u, al_err *err)
{
    while (u->z.avail_in > 0 && *u->z.next_in == 0) {
        u->z.next_in++;
        u->z.avail_in--;
    }
    if (u->z.avail_in == 0)
        return AL_OK;
    if (*u->z.next_in != 0x1f)
        return trailing(u->at - u->z.avail_in, err);
    u->inside = true;
    return inflateReset(&u->z) == Z_OK ? AL_OK : invalid("damaged", "damaged", u->at, err);
}

static int inflate_some(al_unpack *u, al_err *err)
{
    int status = inflate(&u->z, Z_NO_FLUSH);

    if (status == Z_STREAM_END)
        u->inside = false;
    else if (status == Z_MEM_ERROR)
        return al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
    else if (status != Z_OK && status != Z_BUF_ERROR)
        return invalid("damaged", u->z.msg ? u->z.msg : "damaged gzip data", u->at - u->z.avail_in,
                       err);
    return AL_OK;
}

static int read_gzip(al_unpack *u, void *out, size_t len, size_t *got, al_err *err)
{
    uInt room = len < BLOCK ? (uInt)len : BLOCK;
    int rc = AL_OK;
    size_t n;

    u->z.next_out = out;
    u->z.avail_out = room;
    while (rc == AL_OK && u->z.avail_out == room) {
        if (u->z.avail_in == 0) {
            rc = read_block(u, &n, err);
            if (rc == AL_OK && n == 0 && u->inside)
                rc = invalid("truncated", "the gzip data is cut short", u->at, err);
            if (rc != AL_OK || n == 0)
                break;
            u->z.next_in = u->in;
            u->z.avail_in = (uInt)n;
        }
        rc = u->inside ? inflate_some(u, err) : next_member(u, err);
    }
    *got = room - u->z.avail_out;
    return rc;
}

/* ---- the others ---- */

static int open_archive(al_unpack *u, al_err *err)
{
    static const al_archive_kind kinds[] = {
        [AL_BZIP2] = AL_ARCHIVE_BZIP2,
        [AL_XZ] = AL_ARCHIVE_XZ,
        [AL_ZSTD] = AL_ARCHIVE_ZSTD,
    };
    struct archive_entry *entry;
    int rc = al_archive_open(&u->archive, u->fd, u->size, kinds[u->packing], err);

    if (rc == AL_OK)
        rc = al_archive_next(&u->archive, &entry, "input", err);
    u->ended = rc == 0;
    return rc < 0 ? rc : AL_OK;
}

/* libarchive takes anything behind the last stream for the end. */
static int check_rest(al_unpack *u, al_err *err)
{
    size_t n = 1;
    int rc = AL_OK;

    u->at = al_archive_position(&u->archive);
    u->in = malloc(BLOCK);
    if (!u->in)
        return al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
    while (rc == AL_OK && n > 0) {
        rc = read_block(u, &n, err);
        for (size_t i = 0; i < n && rc == AL_OK; i++)
            if (u->in[i] != 0)
                rc = trailing(u->at - n + i, err);
    }
    return rc;
}

static int read_archive(al_unpack *u, void *out, size_t len, size_t *got, al_err *err)
{
    int rc = AL_OK;

    if (u->left == 0) {
        rc = al_archive_data(&u->archive, &u->block, &u->left, "input", err);
        if (rc == AL_OK && u->left == 0)
            rc = check_rest(u, err);
        else
            u->at = al_archive_position(&u->archive);
    }
    *got = u->left < len ? u->left : len;
    if (rc == AL_OK && *got > 0) {
        memcpy(out, u->block, *got);
        u->block += *got;
        u->left -= *got;
    }
    return rc;
}

/* ---- all ---- */

int al_unpack_open(al_unpack **out, int fd, uint64_t size, al_packing packing, uint64_t max_bytes,
                   al_err *err)
{
    al_unpack *u = calloc(1, sizeof *u);
    int rc;

    *out = NULL;
    if (!u)
        return al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
    u->fd = fd;
    u->size = size;
    u->packing = packing;
    u->expansion = (al_expansion){ .packed = size, .max_bytes = max_bytes };
    rc = packing == AL_GZIP ? open_gzip(u, err) : open_archive(u, err);
    if (rc == AL_OK)
        *out = u;
    else
        al_unpack_close(u);
    return rc;
}

void al_unpack_close(al_unpack *u)
{
    if (!u)
        return;
    if (u->packing == AL_GZIP)
        inflateEnd(&u->z);
    else
        al_archive_close(&u->archive);
    free(u->in);
    free(u);
}

int al_unpack_read(al_unpack *u, void *out, size_t len, size_t *got, al_err *err)
{
    int rc;

    *got = 0;
    if (u->ended)
        return AL_OK;
    rc = u->packing == AL_GZIP ? read_gzip(u, out, len, got, err)
                               : read_archive(u, out, len, got, err);
    if (rc != AL_OK)
        return rc;
    u->ended = *got == 0;
    return al_expansion_add(&u->expansion, *got, "input", err);
}

uint64_t al_unpack_consumed(const al_unpack *u)
{
    return u->at < u->size ? u->at : u->size;
}
