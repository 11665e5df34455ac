/* The cells of one worksheet of an XLSX workbook. */
#ifndef AL_DATA_WORKSHEET_H
#define AL_DATA_WORKSHEET_H
#include "data/numfmt.h"
#include "data/sheet.h"
#include "data/strings.h"
#include "data/zip.h"

typedef struct al_workbook { /* what its worksheets share */
    al_strings strings;
    unsigned char *styles; /* an al_numfmt each */
    size_t nstyles;
    bool from_1904;
} al_workbook;

/* Gives the part's rows to the sheet that was begun. Beside the errors of both: "ingest_invalid"
 * with the sheet's name and the line of a cell that points to no string. */
int al_worksheet_read(al_sheets *sheets, const al_workbook *book, al_zip *zip,
                      const al_zip_entry *entry, al_err *err);

#endif
