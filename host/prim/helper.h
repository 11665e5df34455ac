/* Where the helper programs (engine, jail) stand. */
#ifndef AL_PRIM_HELPER_H
#define AL_PRIM_HELPER_H
#include "base/buf.h"
#include "base/err.h"

/* The path of the helper `name` into out (cleared first): in dir when that is not NULL; else in
 * ../libexec/alisio or libexec/alisio beside the library this code is in, or beside the program.
 * Never by PATH, never in the working folder. AL_ENOTFOUND when it is in neither. */
int al_helper_path(const char *dir, const char *name, al_buf *out, al_err *err);

#endif
