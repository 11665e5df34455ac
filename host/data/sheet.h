/* Sheets of a workbook on their way into the dataset: cells by column, rows one after another.
 *
 * What is left of a sheet is what its CSV export would give, without the rows that hold nothing:
 * the first row with a value is the header, unless all its values are numbers; columns begin at the
 * sheet's first. A sheet without a value has no table. */
#ifndef AL_DATA_SHEET_H
#define AL_DATA_SHEET_H
#include "base/buf.h"
#include "data/ident.h"
#include "data/ingest.h"

struct al_segment;

typedef struct al_sheets { /* of one workbook */
    al_ingest *in;
    al_idents *tables;
    size_t begun, made;    /* sheets, those of them that have a table */
    size_t all_columns;    /* of their tables */
    uint64_t spent, most;  /* bytes that al_sheets_spend counted; that may be */
    al_buf hidden, empty;  /* their names, as the inside of a JSON array */
    uint64_t uncalculated; /* formulas without a value */
    /* of the sheet in work */
    const char *name;
    al_cell *row;
    size_t width, room;   /* columns of the row with a value (to the last one); that fit */
    size_t values;        /* in the row */
    uint64_t rows;        /* of the sheet so far, the header among them */
    size_t columns;       /* of its widest row so far */
    size_t table_columns; /* that its table has; the jobs' business */
    uint64_t segment_end; /* offset at which the segment ends */
    struct al_segment *segment;
} al_sheets;

int al_sheets_open(al_sheets *s, al_ingest *in, al_err *err);
/* Waits for the rows that were handed on: what they point to must be there until then. */
void al_sheets_close(al_sheets *s);
/* After the last sheet: waits for its rows, writes the notes. "ingest_invalid" when no sheet had a
 * value. */
int al_sheets_finish(al_sheets *s, al_err *err);

/* Counts what a few bytes of the file make many times: n times so many bytes, by a rough measure.
 * "ingest_limit" when it is out of all proportion to the file. */
int al_sheets_spend(al_sheets *s, uint64_t n, uint64_t bytes, al_err *err);

/* Begins the next sheet. name: UTF-8, borrowed until the sheet ends. */
int al_sheet_begin(al_sheets *s, const char *name, bool hidden, al_err *err);
/* Ends it. */
int al_sheet_end(al_sheets *s, al_err *err);

/* A cell of the row in work; column from 0. NULL cells are not there. The text must live until
 * al_sheets_close, or come from al_sheet_text since the row before ended. "ingest_limit" for too
 * many columns, too long a text. */
int al_sheet_cell(al_sheets *s, size_t column, const al_cell *cell, al_err *err);
/* The cell to come shows a text of so many bytes that the file holds once for all; it is counted as
 * by al_sheets_spend. */
int al_sheet_shared(al_sheets *s, size_t len, al_err *err);
/* Room for a text that lives as long as the row in work needs it; NULL without memory. */
char *al_sheet_text(al_sheets *s, size_t len);
/* Ends the row: row `number` of the sheet, from 1, and the same again up to `times` in all. offset:
 * of the sheet's text behind it. */
int al_sheet_row(al_sheets *s, uint64_t number, uint64_t times, uint64_t offset, al_err *err);

#endif
