/* Decoders. UTF-8 is read where it will stay and checked there; the other encodings come through a
 * buffer of raw bytes. */
#include "data/encoding.h"
#include "base/big.h"
#include "base/utf8.h"
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define RAW_BYTES 65536
#define PIECE     262144 /* bytes that are read, hashed and checked while a cache holds them */

struct buffer {          /* of a window, with its padding */
    struct buffer *next; /* of those that were given back */
    size_t room;         /* without the padding */
    char text[];
};

struct al_decoder {
    al_source_file *source;
    const struct encoding *encoding;
    char *buffer; /* the text of a struct buffer */
    size_t room;  /* of it */
    size_t tail;  /* UTF-8: bytes behind the text that begin a character */
    unsigned char *raw;
    size_t raw_from, raw_to;
    uint32_t high;         /* UTF-16: the first half of a pair, 0 for none */
    bool ended;            /* the source is */
    pthread_mutex_t mutex; /* of spares */
    struct buffer *spares;
};

/* Adds to the window what fits; sets d->ended at the end of the source. */
typedef int (*fill_fn)(al_window *w, al_err *err);

struct encoding {
    const char *name;
    fill_fn fill;
};

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
}

/* The bytes that are wrong stand behind the text. */
static int not_utf8(const al_window *w, al_err *err)
{
    uint64_t offset = al_source_file_bytes(w->decoder->source) - w->decoder->tail;

    al_err_setf(err, AL_EDATA, "ingest_invalid", "input", "not valid UTF-8 at byte %llu",
                (unsigned long long)offset);
    if (err)
        err->offset = offset;
    return al_err_reason(err, AL_EDATA, "utf8");
}

/* Whether the n (1 to 3) bytes at p could begin one character. */
static bool begins_character(const unsigned char *p, size_t n)
{
    size_t size = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    char whole[4] = { 0 };
    uint32_t cp;

    if (p[0] < 0xC2 || p[0] > 0xF4 || n >= size)
        return false;
    /* The lowest and the highest character that begin so: one of them is good if any is. */
    for (unsigned char rest = 0x80; rest >= 0x80; rest = rest == 0x80 ? 0xBF : 0) {
        memset(whole, rest, sizeof whole);
        memcpy(whole, p, n);
        if (al_utf8_decode(whole, size, &cp) == (int)size)
            return true;
    }
    return false;
}

static int fill_utf8(al_window *w, al_err *err)
{
    struct al_decoder *d = w->decoder;

    while (!d->ended && w->len + d->tail < d->room) {
        char *from = d->buffer + w->len;
        size_t room = d->room - w->len - d->tail, got, have, good;
        int rc =
            al_source_file_read(d->source, from + d->tail, room < PIECE ? room : PIECE, &got, err);

        if (rc != AL_OK)
            return rc;
        d->ended = got == 0;
        have = d->tail + got;
        good = al_utf8_valid(from, have);
        w->len += good;
        d->tail = have - good;
        if (d->tail && (d->ended || d->tail > 3 ||
                        !begins_character((const unsigned char *)from + good, d->tail)))
            return not_utf8(w, err);
    }
    return AL_OK;
}

/* Raw bytes, at least `least` of them unless the source ends. */
static int raw_bytes(struct al_decoder *d, size_t least, al_err *err)
{
    if (d->raw_from > 0) {
        memmove(d->raw, d->raw + d->raw_from, d->raw_to - d->raw_from);
        d->raw_to -= d->raw_from;
        d->raw_from = 0;
    }
    while (!d->ended && d->raw_to < least) {
        size_t got;
        int rc =
            al_source_file_read(d->source, d->raw + d->raw_to, RAW_BYTES - d->raw_to, &got, err);

        if (rc != AL_OK)
            return rc;
        d->ended = got == 0;
        d->raw_to += got;
    }
    return AL_OK;
}

static int fill_windows1252(al_window *w, al_err *err)
{
    static const uint16_t c1[32] = { /* 0x80 to 0x9F */
                                     0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                     0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D,   0x017D, 0x8F,
                                     0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                     0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178
    };
    struct al_decoder *d = w->decoder;

    while (w->len + 3 <= d->room) {
        if (d->raw_from == d->raw_to) {
            int rc = raw_bytes(d, 1, err);

            if (rc != AL_OK || d->raw_to == 0)
                return rc;
        }
        while (d->raw_from < d->raw_to && w->len + 3 <= d->room) {
            unsigned char c = d->raw[d->raw_from++];
            uint32_t cp = c >= 0x80 && c < 0xA0 ? c1[c - 0x80] : c;

            if (c < 0x80)
                d->buffer[w->len++] = (char)c;
            else
                w->len += (size_t)al_utf8_encode(cp, d->buffer + w->len);
        }
    }
    return AL_OK;
}

static void put_replacement(al_window *w)
{
    w->len += (size_t)al_utf8_encode(0xFFFD, w->decoder->buffer + w->len);
    w->replaced++;
}

static void put_utf16(al_window *w, uint32_t unit)
{
    struct al_decoder *d = w->decoder;
    bool second = unit >= 0xDC00 && unit <= 0xDFFF;
    uint32_t first = d->high;

    d->high = 0;
    if (first && second) {
        unit = 0x10000 + ((first - 0xD800) << 10) + (unit - 0xDC00);
    } else {
        if (first)
            put_replacement(w);
        if (unit >= 0xD800 && unit <= 0xDBFF) {
            d->high = unit;
            return;
        }
        if (second) {
            put_replacement(w);
            return;
        }
    }
    w->len += (size_t)al_utf8_encode(unit, d->buffer + w->len);
}

static int fill_utf16(al_window *w, al_err *err)
{
    struct al_decoder *d = w->decoder;
    unsigned low = d->encoding->name[6] == 'b'; /* where the low byte of a unit stands */

    while (w->len + 6 <= d->room) { /* a unit makes at most two characters */
        if (d->raw_to - d->raw_from < 2) {
            int rc = raw_bytes(d, 2, err);

            if (rc != AL_OK)
                return rc;
        }
        if (d->raw_to - d->raw_from < 2) { /* the end; half a pair or half a unit may be left */
            if (d->high)
                put_replacement(w);
            if (d->raw_to - d->raw_from == 1)
                put_replacement(w);
            d->high = 0;
            d->raw_from = d->raw_to;
            return AL_OK;
        }
        while (d->raw_to - d->raw_from >= 2 && w->len + 6 <= d->room) {
            const unsigned char *p = d->raw + d->raw_from;

            put_utf16(w, (uint32_t)p[low] | (uint32_t)p[1 - low] << 8);
            d->raw_from += 2;
        }
    }
    return AL_OK;
}

static const struct encoding encodings[] = {
    { "utf-8", fill_utf8 },
    { "utf-16le", fill_utf16 },
    { "utf-16be", fill_utf16 },
    { "windows-1252", fill_windows1252 },
};
enum { UTF8, UTF16LE, UTF16BE, WINDOWS1252, UTF16 /* in the order its mark says, or little */ };

static const struct {
    const char *name;
    int encoding;
} names[] = {
    { "utf-8", UTF8 },
    { "utf8", UTF8 },
    { "utf-16le", UTF16LE },
    { "utf-16be", UTF16BE },
    { "utf-16", UTF16 },
    { "utf16", UTF16 },
    { "windows-1252", WINDOWS1252 },
    { "cp1252", WINDOWS1252 },
    { "iso-8859-1", WINDOWS1252 },
    { "latin1", WINDOWS1252 },
};

/* The mark at the front of the file: how long, and of which encoding. */
static size_t find_mark(const unsigned char *p, size_t n, int *encoding)
{
    if (n >= 3 && p[0] == 0xEF && p[1] == 0xBB && p[2] == 0xBF) {
        *encoding = UTF8;
        return 3;
    }
    if (n >= 2 && ((p[0] == 0xFF && p[1] == 0xFE) || (p[0] == 0xFE && p[1] == 0xFF))) {
        *encoding = p[0] == 0xFF ? UTF16LE : UTF16BE;
        return 2;
    }
    return 0;
}

static int by_name(const char *wanted, int *encoding, al_err *err)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcasecmp(wanted, names[i].name) == 0) {
            *encoding = names[i].encoding;
            return AL_OK;
        }
    return al_err_setf(err, AL_EDATA, "ingest_invalid", "encoding",
                       "%.40s is no encoding known here: utf-8, utf-16le, utf-16be, windows-1252",
                       wanted);
}

/* Chooses the encoding; *skip is the length of the mark. A mark decides unless another encoding was
 * asked for. That of UTF-8 is skipped in front of windows-1252 too: it is what gave the wrong hope.
 */
static int choose(al_source_file *source, const char *wanted, int *encoding, size_t *skip,
                  al_err *err)
{
    unsigned char front[4];
    int marked = -1, rc;
    size_t got;

    rc = al_source_file_peek(source, front, sizeof front, &got, err);
    *encoding = UTF8;
    if (rc == AL_OK && wanted)
        rc = by_name(wanted, encoding, err);
    if (rc != AL_OK)
        return rc;
    *skip = find_mark(front, got, &marked);
    if (!wanted && marked >= 0)
        *encoding = marked;
    if (*encoding == UTF16)
        *encoding = marked == UTF16BE ? UTF16BE : UTF16LE;
    if (marked != *encoding && !(marked == UTF8 && *encoding == WINDOWS1252))
        *skip = 0;
    return AL_OK;
}

static int skip_mark(al_source_file *source, size_t n, al_err *err)
{
    unsigned char bytes[4];

    while (n > 0) {
        size_t got;
        int rc = al_source_file_read(source, bytes, n, &got, err);

        if (rc != AL_OK)
            return rc;
        if (got == 0)
            return al_err_set(err, AL_EIO, "io_error", "input", "the file became shorter");
        n -= got;
    }
    return AL_OK;
}

static struct buffer *buffer_of(char *text)
{
    return (struct buffer *)(void *)(text - offsetof(struct buffer, text));
}

static void free_buffer(struct buffer *b)
{
    if (b)
        al_big_free(b, sizeof *b + b->room + AL_WINDOW_PADDING);
}

static char *new_buffer(size_t room)
{
    struct buffer *b = al_big_alloc(sizeof *b + room + AL_WINDOW_PADDING);

    if (!b)
        return NULL;
    b->room = room;
    return b->text;
}

int al_window_open(al_window *w, al_source_file *source, const char *encoding, size_t bytes,
                   al_err *err)
{
    struct al_decoder *d = calloc(1, sizeof *d);
    int which = UTF8, rc;
    size_t mark = 0;

    memset(w, 0, sizeof *w);
    w->decoder = d;
    if (!d)
        return no_memory(err);
    d->source = source;
    pthread_mutex_init(&d->mutex, NULL);
    d->room = bytes ? bytes : AL_WINDOW_BYTES;
    d->buffer = new_buffer(d->room);
    d->raw = malloc(RAW_BYTES);
    rc = d->buffer && d->raw ? choose(source, encoding, &which, &mark, err) : no_memory(err);
    if (rc == AL_OK) {
        d->encoding = &encodings[which];
        rc = skip_mark(source, mark, err);
    }
    w->data = d->buffer;
    if (rc != AL_OK)
        al_window_close(w);
    return rc;
}

void al_window_close(al_window *w)
{
    if (!w->decoder)
        return;
    for (struct buffer *b = w->decoder->spares, *next; b; b = next) {
        next = b->next;
        free_buffer(b);
    }
    pthread_mutex_destroy(&w->decoder->mutex);
    if (w->decoder->buffer)
        free_buffer(buffer_of(w->decoder->buffer));
    free(w->decoder->raw);
    free(w->decoder);
    memset(w, 0, sizeof *w);
}

/* Half of the window at least is free afterwards. */
static int make_room(al_window *w, al_err *err)
{
    struct al_decoder *d = w->decoder;
    char *more;

    if (w->len <= d->room / 2)
        return AL_OK;
    more = new_buffer(d->room * 2);
    if (!more)
        return no_memory(err);
    memcpy(more, d->buffer, w->len + d->tail);
    free_buffer(buffer_of(d->buffer));
    d->buffer = more;
    d->room *= 2;
    w->data = more;
    return AL_OK;
}

int al_window_more(al_window *w, size_t used, al_err *err)
{
    struct al_decoder *d = w->decoder;
    int rc;

    memmove(d->buffer, d->buffer + used, w->len - used + d->tail);
    w->len -= used;
    w->offset += used;
    rc = make_room(w, err);
    if (rc == AL_OK)
        rc = d->encoding->fill(w, err);
    if (rc != AL_OK)
        return rc;
    w->last = d->ended && d->tail == 0 && d->raw_from == d->raw_to && !d->high;
    if (!d->tail)
        memset(d->buffer + w->len, 0, AL_WINDOW_PADDING);
    return AL_OK;
}

/* A spare buffer that is not as large as the one in use is let go. */
static char *take_spare(struct al_decoder *d)
{
    struct buffer *b;

    pthread_mutex_lock(&d->mutex);
    b = d->spares;
    if (b)
        d->spares = b->next;
    pthread_mutex_unlock(&d->mutex);
    if (b && b->room == d->room)
        return b->text;
    free_buffer(b);
    return new_buffer(d->room);
}

char *al_window_take(al_window *w, size_t used)
{
    struct al_decoder *d = w->decoder;
    char *text = d->buffer, *next = take_spare(d);

    if (!next)
        return NULL;
    memcpy(next, text + used, w->len - used + d->tail);
    if (!d->tail)
        memset(next + (w->len - used), 0, AL_WINDOW_PADDING);
    d->buffer = next;
    w->data = next;
    w->len -= used;
    w->offset += used;
    return text;
}

void al_window_give(al_window *w, char *text)
{
    struct al_decoder *d = w->decoder;
    struct buffer *b = buffer_of(text);

    pthread_mutex_lock(&d->mutex);
    b->next = d->spares;
    d->spares = b;
    pthread_mutex_unlock(&d->mutex);
}

const char *al_window_encoding(const al_window *w)
{
    return w->decoder->encoding->name;
}
