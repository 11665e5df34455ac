/* Filling, printing and reading al_err. The table at the top is the list of ids and reasons that
 * may cross from another process: an id from outside is answered only by its own static copy. */
#include "base/err.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/utf8.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *id;
    int code;
} ids[] = {
    { "artifact_rejected", AL_EDATA },
    { "cancelled", AL_ECANCELED },
    { "config_invalid", AL_EDATA },
    { "dataset_unsupported", AL_ENOTSUP },
    { "engine_failed", AL_EIO },
    { "ingest_invalid", AL_EDATA },
    { "ingest_limit", AL_ELIMIT },
    { "internal", AL_EIO },
    { "io_error", AL_EIO },
    { "no_space", AL_EIO },
    { "no_usable_columns", AL_EDATA },
    { "not_found", AL_ENOTFOUND },
    { "permission_denied", AL_EDENIED },
    { "provider_failed", AL_EIO },
    { "python_missing", AL_ENOTFOUND },
    { "query_failed", AL_EDATA },
    { "query_rejected", AL_EDENIED },
    { "query_timeout", AL_ETIMEOUT },
    { "session_locked", AL_ELOCKED },
    { "usage", AL_EINVAL },
};

static const char *const reasons[] = {
    "bad_manifest", "bad_name",   "bad_path",     "corrupt",   "damaged",        "depth",
    "empty",        "encrypted",  "entries",      "expansion", "hardlink",       "hidden",
    "maxCellBytes", "maxColumns", "maxFileBytes", "maxFiles",  "maxOutputBytes", "maxRows",
    "missing",      "name_clash", "number",       "shape",     "sheet",          "special_file",
    "surrogate",    "symlink",    "syntax",       "trailing",  "truncated",      "unreadable",
    "utf8",         "view",       "xml",
};

static void copy_cut(char *out, size_t size, const char *text)
{
    size_t len = text ? strlen(text) : 0;

    if (len >= size)
        len = al_utf8_cut(text, len, size - 1);
    if (len)
        memmove(out, text, len);
    out[len] = '\0';
}

int al_err_set(al_err *err, int code, const char *id, const char *object, const char *detail)
{
    if (!err)
        return code;
    err->code = code;
    err->id = id;
    err->reason = NULL;
    err->line = err->column = err->offset = 0;
    copy_cut(err->object, sizeof err->object, object);
    copy_cut(err->detail, sizeof err->detail, detail);
    return code;
}

int al_err_setf(al_err *err, int code, const char *id, const char *object, const char *format, ...)
{
    char detail[2 * sizeof err->detail];
    va_list args;

    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    return al_err_set(err, code, id, object, detail);
}

int al_err_errno(al_err *err, int errnum, const char *object)
{
    int code = AL_EIO;
    const char *id = "io_error";

    switch (errnum) {
    case ENOSPC:
    case EDQUOT: id = "no_space"; break;
    case ENOENT:
    case ENOTDIR:
        id = "not_found";
        code = AL_ENOTFOUND;
        break;
    case EEXIST: code = AL_EEXISTS; break;
    case ENOMEM: code = AL_ENOMEM; break;
    default: break;
    }
    return al_err_set(err, code, id, object, strerror(errnum));
}

int al_err_reason(al_err *err, int code, const char *reason)
{
    if (!err)
        return code;
    err->reason = reason;
    return err->code;
}

const char *al_err_text(const al_err *err, char *out, size_t size)
{
    const char *what = err->detail[0] ? err->detail : err->id ? err->id : "failed";
    const char *colon = err->object[0] ? ": " : "";

    if (err->line && err->column)
        snprintf(out, size, "%s%s%s (line %llu, column %llu)", err->object, colon, what,
                 (unsigned long long)err->line, (unsigned long long)err->column);
    else if (err->line)
        snprintf(out, size, "%s%s%s (line %llu)", err->object, colon, what,
                 (unsigned long long)err->line);
    else
        snprintf(out, size, "%s%s%s", err->object, colon, what);
    return out;
}

static void place(al_json_out *o, const char *key, uint64_t value)
{
    al_json_key(o, key);
    al_json_int(o, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

static void field(al_json_out *o, const char *key, const char *text)
{
    if (!text || !*text)
        return;
    al_json_key(o, key);
    al_json_cstring(o, text);
}

int al_err_json(const al_err *err, al_buf *out)
{
    char message[sizeof err->object + sizeof err->detail + 80];
    al_json_out o;

    al_json_out_init(&o, out);
    al_json_begin_object(&o);
    field(&o, "code", err->id ? err->id : "internal");
    field(&o, "message", al_err_text(err, message, sizeof message));
    field(&o, "reason", err->reason);
    if (err->line)
        place(&o, "line", err->line);
    if (err->column)
        place(&o, "column", err->column);
    if (err->line || err->code == AL_EDATA)
        place(&o, "offset", err->offset);
    field(&o, "object", err->object);
    field(&o, "detail", err->detail);
    al_json_end_object(&o);
    return out->failed;
}

static void known_id(al_err *err, const char *text)
{
    err->id = "engine_failed";
    err->code = AL_EIO;
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        if (strcmp(text, ids[i].id) == 0) {
            err->id = ids[i].id;
            err->code = ids[i].code;
        }
}

static const char *known_reason(const char *text)
{
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (strcmp(text, reasons[i]) == 0)
            return reasons[i];
    return NULL;
}

static uint64_t get_place(const char *json, size_t len, const char *key)
{
    int64_t value = 0;

    return al_json_get_int(json, len, key, &value) && value > 0 ? (uint64_t)value : 0;
}

static const char *get_text(const char *json, size_t len, const char *key, al_buf *b)
{
    al_buf_clear(b);
    return al_json_get_string(json, len, key, b) && b->data ? b->data : "";
}

int al_err_parse(const char *json, size_t len, al_err *err)
{
    al_buf b;
    const char *text;

    *err = (al_err){ 0 };
    al_buf_init(&b, 64 * 1024);
    text = get_text(json, len, "code", &b);
    if (!*text) {
        al_buf_free(&b);
        return al_err_set(err, AL_EDATA, "engine_failed", NULL, "an error that cannot be read");
    }
    known_id(err, text);
    err->reason = known_reason(get_text(json, len, "reason", &b));
    copy_cut(err->object, sizeof err->object, get_text(json, len, "object", &b));
    text = get_text(json, len, "detail", &b);
    copy_cut(err->detail, sizeof err->detail, *text ? text : get_text(json, len, "message", &b));
    err->line = get_place(json, len, "line");
    err->column = get_place(json, len, "column");
    err->offset = get_place(json, len, "offset");
    al_buf_free(&b);
    return AL_OK;
}
