/* Relationships, and the names of parts in them. */
#include "data/opc.h"
#include "base/buf.h"
#include "data/xml.h"
#include <stdlib.h>
#include <string.h>

#define MOST_RELS 65536

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
}

int al_opc_missing(const char *part, al_err *err)
{
    al_err_set(err, AL_EDATA, "ingest_invalid", part, "the workbook lacks this part");
    return al_err_reason(err, AL_EDATA, "missing");
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Appends segments of a path to those of out, a separator behind each. */
static void add_segments(al_buf *out, const char *p, size_t len)
{
    const char *end = p + len, *from = p;

    for (;; p++) {
        size_t n = (size_t)(p - from);

        if (p < end && *p != '/')
            continue;
        if (n == 2 && memcmp(from, "..", 2) == 0) {
            out->len -= out->len > 0;
            while (out->len > 0 && out->data[out->len - 1] != '/')
                out->len--;
        } else if (n > 0 && !(n == 1 && *from == '.')) {
            al_buf_add(out, from, n);
            al_buf_char(out, '/');
        }
        if (p >= end)
            return;
        from = p + 1;
    }
}

char *al_opc_resolve(const char *base, const char *target, size_t len)
{
    const char *folder = strrchr(base, '/');
    al_buf plain, out;

    al_buf_init(&plain, 0);
    al_buf_init(&out, 0);
    for (size_t i = 0; i < len; i++) {
        char c = target[i] == '\\' ? '/' : target[i];

        if (c == '%' && i + 2 < len && hex(target[i + 1]) >= 0 && hex(target[i + 2]) >= 0) {
            c = (char)(hex(target[i + 1]) << 4 | hex(target[i + 2]));
            i += 2;
        }
        al_buf_char(&plain, c);
    }
    if (folder && !(plain.len && *plain.data == '/'))
        add_segments(&out, base, (size_t)(folder - base));
    add_segments(&out, plain.data ? plain.data : "", plain.len);
    if (out.len) /* the last separator */
        out.data[--out.len] = '\0';
    else
        al_buf_str(&out, "");
    al_buf_free(&plain);
    if (out.failed)
        al_buf_free(&out);
    return al_buf_steal(&out);
}

struct reading {
    al_rels *rels;
    const char *base;
};

static const char *last_word(const al_xml_attr *a, size_t *len)
{
    const char *at = a->value + a->len;

    while (at > a->value && at[-1] != '/')
        at--;
    *len = a->len - (size_t)(at - a->value);
    return at;
}

static int on_start(void *data, const al_xml_name *name, const al_xml_attr *attrs, size_t n,
                    al_err *err)
{
    struct reading *r = data;
    const al_xml_attr *id = al_xml_attr_of(attrs, n, "Id");
    const al_xml_attr *type = al_xml_attr_of(attrs, n, "Type");
    const al_xml_attr *target = al_xml_attr_of(attrs, n, "Target");
    const al_xml_attr *mode = al_xml_attr_of(attrs, n, "TargetMode");
    const char *word;
    size_t len;
    al_rel *rel;

    if (!AL_XML_IS(name, "Relationship") || !id || !type || !target ||
        (mode && al_xml_is(mode->value, mode->len, "External", 8)))
        return AL_OK;
    if (r->rels->count == r->rels->room) {
        size_t room = r->rels->room ? r->rels->room * 2 : 16;

        if (room > MOST_RELS)
            return al_err_set(err, AL_EDATA, "ingest_invalid", r->base, "too many relationships");
        rel = realloc(r->rels->items, room * sizeof *rel);
        if (!rel)
            return no_memory(err);
        r->rels->items = rel;
        r->rels->room = room;
    }
    rel = &r->rels->items[r->rels->count++];
    word = last_word(type, &len);
    *rel = (al_rel){ strndup(id->value, id->len), strndup(word, len),
                     al_opc_resolve(r->base, target->value, target->len) };
    return rel->id && rel->type && rel->part ? AL_OK : no_memory(err);
}

static int on_end(void *data, const al_xml_name *name, al_err *err)
{
    (void)data, (void)name, (void)err;
    return AL_OK;
}

int al_rels_read(al_rels *rels, al_zip *zip, const char *part, al_err *err)
{
    static const al_xml_events events = { .start = on_start, .end = on_end };
    const char *file = strrchr(part, '/') ? strrchr(part, '/') + 1 : part;
    struct reading r = { rels, part };
    const al_zip_entry *entry;
    al_buf name;

    *rels = (al_rels){ 0 };
    al_buf_init(&name, 0);
    al_buf_add(&name, part, (size_t)(file - part));
    al_buf_printf(&name, "_rels/%s.rels", file);
    if (name.failed) {
        al_buf_free(&name);
        return no_memory(err);
    }
    entry = al_zip_find(zip, name.data);
    al_buf_free(&name);
    return entry ? al_xml_part(zip, entry, &events, &r, NULL, err) : AL_OK;
}

void al_rels_free(al_rels *rels)
{
    for (size_t i = 0; i < rels->count; i++) {
        free(rels->items[i].id);
        free(rels->items[i].type);
        free(rels->items[i].part);
    }
    free(rels->items);
    *rels = (al_rels){ 0 };
}

const al_rel *al_rels_by_id(const al_rels *rels, const char *id, size_t len)
{
    for (size_t i = 0; i < rels->count; i++)
        if (al_xml_is(rels->items[i].id, strlen(rels->items[i].id), id, len))
            return &rels->items[i];
    return NULL;
}

const al_rel *al_rels_by_type(const al_rels *rels, const char *type)
{
    for (size_t i = 0; i < rels->count; i++)
        if (strcmp(rels->items[i].type, type) == 0)
            return &rels->items[i];
    return NULL;
}
