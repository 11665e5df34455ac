/* The one error value of the host: what failed, named so that a person can act on it.
 *
 * A failing function returns a negative AL_E* and fills the caller's al_err (last parameter, NULL
 * allowed). It is set once, where the failure is seen. Sentences are made later, in Lua, from `id`
 * and the fields; al_err_text is the fallback for programs without Lua. */
#ifndef AL_BASE_ERR_H
#define AL_BASE_ERR_H
#include <stddef.h>
#include <stdint.h>

enum {
    AL_OK = 0,
    AL_EINVAL = -1,    /* the caller broke a rule */
    AL_ENOMEM = -2,    /* out of memory */
    AL_EBUSY = -3,     /* not now */
    AL_ENOTFOUND = -4, /* no such thing */
    AL_EEXISTS = -5,   /* it is there already */
    AL_ESCRIPT = -6,   /* Lua code failed */
    AL_EIO = -7,       /* a file, socket or process failed */
    AL_ECANCELED = -8, /* stopped on request */
    AL_EVERSION = -9,  /* made for another version */
    AL_ELOCKED = -10,  /* held by another process */
    AL_EDATA = -11,    /* the input is not what it should be: line, column, offset say where */
    AL_ELIMIT = -12,   /* a limit was reached; object names the key */
    AL_EDENIED = -13,  /* a rule forbids it */
    AL_ETIMEOUT = -14, /* took too long */
    AL_ENOTSUP = -15   /* this system or build cannot do it */
};

typedef struct al_err {
    int code;       /* AL_OK or AL_E* */
    const char *id; /* static text: a code of `--json` errors, "io_error", "ingest_invalid", … */
    const char *reason; /* static text or NULL: what kind of it, "symlink", "maxFiles", … */
    uint64_t line;      /* 1-based, 0 unknown */
    uint64_t column;    /* 1-based, 0 unknown */
    uint64_t offset;    /* byte offset from 0; meaningful only with line != 0 or AL_EDATA */
    char object[512];   /* the path, URL, key or name it is about; cut when longer */
    char detail[256];   /* what the system or a library said; cut when longer */
} al_err;

/* Sets *err (NULL allowed) and returns code. id is kept by pointer: static text only. object and
 * detail are copied, NULL counts as "". reason, line, column and offset become 0. */
int al_err_set(al_err *err, int code, const char *id, const char *object, const char *detail);

/* As al_err_set with detail made from a printf format. */
int al_err_setf(al_err *err, int code, const char *id, const char *object, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* As al_err_set for a failed system call: id is "no_space" for ENOSPC and EDQUOT, "not_found" for
 * ENOENT and ENOTDIR (AL_ENOTFOUND), else "io_error"; detail is strerror(errnum). */
int al_err_errno(al_err *err, int errnum, const char *object);

/* Adds the sub-reason (static text) and returns err->code, or code when err is NULL. */
int al_err_reason(al_err *err, int code, const char *reason);

/* "object: detail (line 3, column 7)" into out, cut to size and terminated; returns out. */
const char *al_err_text(const al_err *err, char *out, size_t size);

struct al_buf;
/* Appends {"code":id,"message":…,"reason"?,"line"?,"column"?,"offset"?,"object"?,"detail"?}. */
int al_err_json(const al_err *err, struct al_buf *out);

/* Reads what al_err_json wrote (an engine's error frame); unknown ids become "engine_failed". The
 * text is hostile: any shape is answered, never trusted. AL_EDATA when it is not such an object. */
int al_err_parse(const char *json, size_t len, al_err *err);

#endif
