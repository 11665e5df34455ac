/* The growing buffer. One byte is always kept for the NUL behind the data. */
#include "base/buf.h"
#include "base/err.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void al_buf_init(al_buf *b, size_t max)
{
    *b = (al_buf){ .max = max };
}

void al_buf_free(al_buf *b)
{
    free(b->data);
    al_buf_init(b, b->max);
}

void al_buf_clear(al_buf *b)
{
    b->len = 0;
    b->failed = AL_OK;
    if (b->data)
        b->data[0] = '\0';
}

int al_buf_reserve(al_buf *b, size_t more)
{
    size_t need, cap;
    char *data;

    if (b->failed)
        return b->failed;
    if (b->max && more > b->max - b->len)
        return b->failed = AL_ELIMIT;
    if (more >= SIZE_MAX / 2 - b->len)
        return b->failed = AL_ENOMEM;
    need = b->len + more + 1;
    if (need <= b->cap)
        return AL_OK;
    cap = b->cap < 32 ? 64 : b->cap * 2;
    if (b->max && b->max < SIZE_MAX / 2 && cap > b->max + 1)
        cap = b->max + 1;
    if (cap < need)
        cap = need;
    data = realloc(b->data, cap);
    if (!data)
        return b->failed = AL_ENOMEM;
    data[b->len] = '\0';
    b->data = data;
    b->cap = cap;
    return AL_OK;
}

int al_buf_add(al_buf *b, const void *bytes, size_t len)
{
    if (al_buf_reserve(b, len) != AL_OK)
        return b->failed;
    if (len)
        memcpy(b->data + b->len, bytes, len);
    b->len += len;
    b->data[b->len] = '\0';
    return AL_OK;
}

int al_buf_str(al_buf *b, const char *text)
{
    return al_buf_add(b, text, strlen(text));
}

int al_buf_char(al_buf *b, char c)
{
    return al_buf_add(b, &c, 1);
}

int al_buf_printf(al_buf *b, const char *format, ...)
{
    char small[256];
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    if (n < 0)
        return b->failed ? b->failed : (b->failed = AL_ENOMEM);
    if ((size_t)n < sizeof small)
        return al_buf_add(b, small, (size_t)n);
    if (al_buf_reserve(b, (size_t)n) != AL_OK)
        return b->failed;
    va_start(args, format);
    vsnprintf(b->data + b->len, (size_t)n + 1, format, args);
    va_end(args);
    b->len += (size_t)n;
    return AL_OK;
}

void al_buf_drop(al_buf *b, size_t len)
{
    if (len >= b->len)
        len = b->len;
    if (!len)
        return;
    b->len -= len;
    memmove(b->data, b->data + len, b->len + 1);
}

char *al_buf_steal(al_buf *b)
{
    char *data = b->data ? b->data : calloc(1, 1);

    if (data)
        al_buf_init(b, b->max);
    return data;
}
