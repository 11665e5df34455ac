/* A folder as one ZIP file, the same bytes for the same files: names sorted, times fixed. */
#ifndef AL_PRIM_ARCHIVE_H
#define AL_PRIM_ARCHIVE_H
#include "prim/artifact.h"

/* Zips the files below `folder` of the scan ("" for all of it) into dest, which must be new: 0600,
 * synced. Names in it begin with the folder's own. A failure leaves nothing. Blocks. */
int al_archive_zip(const al_source *s, const char *folder, const char *dest, al_source_copied *out,
                   al_err *err);

#endif
