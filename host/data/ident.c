/* Identifiers: folded, cut and made unique. The set is a small open table of the names given. */
#include "data/ident.h"
#include "base/hash.h"
#include "base/utf8.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef char name[AL_IDENT_MAX + 1];

struct al_idents {
    name *slots; /* "" is free */
    size_t cap, used;
};

int al_idents_open(al_idents **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? AL_OK : AL_ENOMEM;
}

void al_idents_close(al_idents *ids)
{
    if (!ids)
        return;
    free(ids->slots);
    free(ids);
}

static name *find(const al_idents *ids, const char *wanted)
{
    size_t mask = ids->cap - 1, i = (size_t)al_hash64(wanted, strlen(wanted)) & mask;

    while (ids->slots[i][0] && strcmp(ids->slots[i], wanted) != 0)
        i = (i + 1) & mask;
    return &ids->slots[i];
}

static int grow(al_idents *ids)
{
    al_idents bigger = { .cap = ids->cap ? ids->cap * 2 : 64, .used = ids->used };

    bigger.slots = calloc(bigger.cap, sizeof *bigger.slots);
    if (!bigger.slots)
        return AL_ENOMEM;
    for (size_t i = 0; i < ids->cap; i++)
        if (ids->slots[i][0])
            memcpy(find(&bigger, ids->slots[i]), ids->slots[i], sizeof(name));
    free(ids->slots);
    *ids = bigger;
    return AL_OK;
}

int al_idents_reserve(al_idents *ids, const char *given)
{
    name *slot;

    if (ids->used * 2 >= ids->cap && grow(ids) != AL_OK)
        return AL_ENOMEM;
    slot = find(ids, given);
    if (!(*slot)[0])
        ids->used++;
    snprintf(*slot, sizeof *slot, "%s", given);
    return AL_OK;
}

static size_t trim(char *text, size_t len)
{
    while (len > 0 && text[len - 1] == '_')
        len--;
    text[len] = '\0';
    return len;
}

/* Appends the folded label to out, which holds a prefix of n characters; the length after it. */
static size_t add_folded(char *out, size_t n, const char *folded, size_t len)
{
    size_t from = n;

    for (size_t i = 0; i < len && n < AL_IDENT_MAX; i++) {
        unsigned char c = (unsigned char)folded[i];
        bool keep = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');

        if (keep && n == from && from == 0 && isdigit(c))
            out[n++] = '_';
        if (keep && n < AL_IDENT_MAX)
            out[n++] = (char)c;
        else if (!keep && n > from && out[n - 1] != '_')
            out[n++] = '_';
    }
    return from + trim(out + from, n - from);
}

/* Long labels are read as far as their first characters could matter. */
static int fold(al_buf *folded, const char *label, size_t len)
{
    al_buf_init(folded, 0);
    return al_utf8_fold(folded, label, al_utf8_cut(label, len, 16384));
}

int al_idents_name(al_idents *ids, const char *prefix, const char *label, size_t len,
                   const char *fallback, size_t ordinal, char out[AL_IDENT_MAX + 1])
{
    char base[AL_IDENT_MAX + 1], suffix[24];
    size_t at = strlen(prefix), n;
    al_buf folded;

    if (fold(&folded, label, len) != AL_OK || (ids->cap == 0 && grow(ids) != AL_OK)) {
        al_buf_free(&folded);
        return AL_ENOMEM;
    }
    memcpy(base, prefix, at + 1);
    n = add_folded(base, at, folded.data, folded.len);
    al_buf_free(&folded);
    if (n == at)
        n += (size_t)snprintf(base + at, sizeof base - at, "%s%zu", fallback, ordinal);
    strcpy(out, base);
    for (unsigned i = 2; (*find(ids, out))[0]; i++) {
        size_t tail = (size_t)snprintf(suffix, sizeof suffix, "_%u", i);
        size_t keep = n + tail > AL_IDENT_MAX ? AL_IDENT_MAX - tail : n;

        memcpy(out, base, keep);
        strcpy(out + keep, suffix);
    }
    return al_idents_reserve(ids, out);
}
