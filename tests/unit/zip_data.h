/* For tests of what comes in zip files: makes them in memory. */
#ifndef TESTS_ZIP_DATA_H
#define TESTS_ZIP_DATA_H
#include "base/buf.h"
#include "data.h"
#include <archive.h>
#include <archive_entry.h>

typedef struct zip_part {
    const char *name; /* ending in a slash: a folder */
    const char *bytes;
    size_t len; /* 0: up to the NUL */
} zip_part;

static inline la_ssize_t zip_write(struct archive *a, void *data, const void *bytes, size_t len)
{
    (void)a;
    assert_int_equal(al_buf_add(data, bytes, len), AL_OK);
    return (la_ssize_t)len;
}

/* options: of libarchive's writer, or NULL; the parts end with one without a name. */
static inline void zip_make(al_buf *out, const char *options, const zip_part *parts)
{
    struct archive *a = archive_write_new();

    al_buf_clear(out);
    assert_int_equal(archive_write_set_format_zip(a), ARCHIVE_OK);
    if (options && archive_write_set_options(a, options) != ARCHIVE_OK)
        fail_msg("%s: %s", options, archive_error_string(a));
    archive_write_set_passphrase(a, "secret");
    archive_write_set_bytes_in_last_block(a, 1);
    assert_int_equal(archive_write_open(a, out, NULL, zip_write, NULL), ARCHIVE_OK);
    for (; parts->name; parts++) {
        struct archive_entry *e = archive_entry_new();
        size_t len = parts->len ? parts->len : parts->bytes ? strlen(parts->bytes) : 0;
        bool folder = parts->name[strlen(parts->name) - 1] == '/';

        archive_entry_set_pathname(e, parts->name);
        archive_entry_set_filetype(e, folder ? AE_IFDIR : AE_IFREG);
        archive_entry_set_size(e, (la_int64_t)len);
        archive_entry_set_perm(e, 0644);
        if (archive_write_header(a, e) != ARCHIVE_OK)
            fail_msg("%s: %s", parts->name, archive_error_string(a));
        if (len)
            assert_int_equal(archive_write_data(a, parts->bytes, len), len);
        archive_entry_free(e);
    }
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
}

#endif
