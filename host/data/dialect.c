/* Detection of the delimiter: the sample is parsed with each candidate. */
#include "data/dialect.h"
#include "data/csv.h"
#include <string.h>

#define MOST_FIELDS 1024 /* rows with more count as having so many */

struct score {
    size_t rows;  /* in the sample */
    size_t alike; /* most of them that have the same number of fields, above one */
    size_t first; /* fields of the first one */
};

/* How many fields a record of the sample has. A record that the sample cuts counts only when it is
 * the first; a quote left open ends the sample. */
static int score(const char *text, size_t len, bool whole, char delimiter, struct score *s)
{
    size_t counts[MOST_FIELDS + 1] = { 0 }, n;
    al_csv_scan scan;
    al_csv_fields fields;
    bool open_end = !whole && len > 0 && text[len - 1] != '\n' && text[len - 1] != '\r';
    int rc;

    *s = (struct score){ 0 };
    al_csv_scan_open(&scan, delimiter);
    rc = al_csv_scan_text(&scan, text, len, true, SIZE_MAX, SIZE_MAX / 4, 1, NULL);
    open_end = open_end || rc == AL_EDATA;
    if (rc >= 0 || rc == AL_EDATA) {
        rc = AL_OK;
        al_csv_fields_open(&fields, text, len, scan.ends, delimiter, SIZE_MAX, 1);
        while (rc == AL_OK && al_csv_record(&fields, NULL, 0, &n, NULL) == 1) {
            if (fields.at == len && open_end && s->rows > 0)
                break;
            n = n < MOST_FIELDS ? n : MOST_FIELDS;
            if (s->rows++ == 0)
                s->first = n;
            if (n > 1 && ++counts[n] > s->alike)
                s->alike = counts[n];
        }
        al_csv_fields_close(&fields);
    }
    al_csv_scan_close(&scan);
    return rc;
}

int al_dialect_delimiter(const char *text, size_t len, bool whole, bool tabs, char *delimiter,
                         bool *single, al_err *err)
{
    const char *candidates = tabs ? "\t,;|" : ",;\t|";
    struct score best = { 0 };

    *delimiter = candidates[0];
    for (const char *d = candidates; *d; d++) {
        struct score s;

        if (score(text, len, whole, *d, &s) != AL_OK)
            return al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
        if (d == candidates || s.alike > best.alike) {
            best = s;
            *delimiter = *d;
        }
    }
    *single = best.first <= 1 && best.alike <= best.rows / 2;
    if (*single)
        *delimiter = candidates[0]; /* what a few rows hold says nothing of the file */
    return AL_OK;
}
