/* Packs bytes for tests, by libarchive's writer. */
#ifndef TESTS_PACKER_H
#define TESTS_PACKER_H
#include "base/buf.h"
#include "data/unpack.h"
#include "unit.h"
#include <archive.h>
#include <archive_entry.h>

static inline void pack(al_buf *out, al_packing packing, const void *bytes, size_t len)
{
    struct archive *a = archive_write_new();
    struct archive_entry *e = archive_entry_new();
    size_t room = len + 65536, used = 0;

    assert_int_equal(al_buf_reserve(out, room), AL_OK);
    archive_write_set_bytes_in_last_block(a, 1);
    archive_entry_set_pathname(e, "zeros");
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_size(e, (la_int64_t)len);
    assert_int_equal(packing == AL_ZIP ? archive_write_set_format_zip(a)
                                       : archive_write_set_format_raw(a),
                     ARCHIVE_OK);
    assert_int_equal(packing == AL_GZIP    ? archive_write_add_filter_gzip(a)
                     : packing == AL_BZIP2 ? archive_write_add_filter_bzip2(a)
                     : packing == AL_XZ    ? archive_write_add_filter_xz(a)
                     : packing == AL_ZSTD  ? archive_write_add_filter_zstd(a)
                                           : ARCHIVE_OK,
                     ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(a, out->data + out->len, room, &used), ARCHIVE_OK);
    assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
    assert_int_equal(archive_write_data(a, bytes, len), len);
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
    archive_entry_free(e);
    out->len += used;
}

#endif
