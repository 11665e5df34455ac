/* Makes ZIP files for tests, the odd ones too: entries are stored as they are, and each says how it
 * is written. */
#ifndef TESTS_ZIPMAKER_H
#define TESTS_ZIPMAKER_H
#include "base/buf.h"
#include <stdbool.h>
#include <string.h>

struct member {
    const char *name, *bytes;
    size_t len;      /* of bytes; 0: up to their NUL */
    bool descriptor; /* sizes and CRC stand behind the bytes, 0 in front of them */
    bool wide;       /* ZIP64 */
    bool encrypted;  /* says so */
    unsigned method; /* says so */
    uint32_t spoil;  /* XORed into the CRC */
};

static inline uint32_t crc32_of(const char *p, size_t n)
{
    uint32_t crc = ~0u;

    for (size_t i = 0; i < n; i++) {
        crc ^= (unsigned char)p[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));
    }
    return ~crc;
}

static inline void put(al_buf *b, int bytes, uint64_t value)
{
    for (int i = 0; i < bytes; i++)
        al_buf_char(b, (char)(value >> 8 * i));
}

/* What the local header and the central one have in common. */
static inline void put_head(al_buf *b, const struct member *m, uint32_t crc, uint32_t size,
                            int extra)
{
    put(b, 2, m->wide ? 45 : 20);
    put(b, 2, (m->descriptor ? 8 : 0) | (m->encrypted ? 1 : 0) | 0x800);
    put(b, 2, m->method);
    put(b, 4, 0x21 << 16); /* 1980-01-01 */
    put(b, 4, crc);
    put(b, 4, size);
    put(b, 4, size);
    put(b, 2, strlen(m->name));
    put(b, 2, (uint64_t)extra);
}

static inline void put_wide(al_buf *b, uint64_t size)
{
    put(b, 2, 1);
    put(b, 2, 16);
    put(b, 8, size);
    put(b, 8, size);
}

/* Appends the whole file to b, which may hold something already. */
static inline void make_zip(al_buf *b, const struct member *members, size_t n)
{
    al_buf central;
    size_t at, start = b->len;

    al_buf_init(&central, 0);
    for (size_t i = 0; i < n; i++) {
        const struct member *m = &members[i];
        size_t len = m->len ? m->len : strlen(m->bytes);
        uint32_t crc = crc32_of(m->bytes, len) ^ m->spoil;

        at = b->len - start;
        put(b, 4, 0x04034b50);
        put_head(b, m, m->descriptor ? 0 : crc,
                 m->descriptor ? 0
                 : m->wide     ? ~0u
                               : (uint32_t)len,
                 m->wide ? 20 : 0);
        al_buf_str(b, m->name);
        if (m->wide)
            put_wide(b, m->descriptor ? 0 : len);
        al_buf_add(b, m->bytes, len);
        if (m->descriptor) {
            put(b, 4, 0x08074b50);
            put(b, 4, crc);
            put(b, m->wide ? 8 : 4, len);
            put(b, m->wide ? 8 : 4, len);
        }
        put(&central, 4, 0x02014b50);
        put(&central, 2, 0x314);
        put_head(&central, m, crc, m->wide ? ~0u : (uint32_t)len, m->wide ? 20 : 0);
        put(&central, 6, 0);
        put(&central, 4,
            m->name[0] && m->name[strlen(m->name) - 1] == '/' ? 0x41ed0010 : 0x81a40000);
        put(&central, 4, at);
        al_buf_str(&central, m->name);
        if (m->wide)
            put_wide(&central, len);
    }
    at = b->len - start;
    al_buf_add(b, central.data, central.len);
    put(b, 4, 0x06054b50);
    put(b, 4, 0);
    put(b, 2, n);
    put(b, 2, n);
    put(b, 4, central.len);
    put(b, 4, at);
    put(b, 2, 0);
    al_buf_free(&central);
}

#endif
