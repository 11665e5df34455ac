/* What a dataset says of itself. */
#ifndef AL_DATA_DESCRIBE_H
#define AL_DATA_DESCRIBE_H
#include "base/err.h"
#include "base/json.h"
#include <stdint.h>

/* Adds the keys format, encoding, delimiter, header, rows, irregularRows, sheets and notes to the
 * object that o has begun; each sheet with its columns and its first `sample` rows, their cells
 * cut. fd: the dataset, borrowed; tmp: see al_guard_open. */
int al_describe(int fd, int tmp, uint64_t sample, al_json_out *o, al_err *err);

#endif
