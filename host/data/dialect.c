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

/* Nearly all is one field: what a few rows hold says nothing of the file. */
static bool splits_nothing(const struct score *s)
{
    return s->first <= 1 && s->alike <= s->rows / 2;
}

/* Lines of quoted texts are rows to a candidate that does not see the quotes, and may be many. A
 * first row that is not split tells them from rows: it is the header, and columns that it does not
 * have would be lost. */
int al_dialect_delimiter(const char *text, size_t len, bool whole, bool tabs, char *delimiter,
                         bool *single, al_err *err)
{
    const char *candidates = tabs ? "\t,;|" : ",;\t|";
    const struct score *best = NULL;
    struct score scores[4];
    bool header = false; /* one of them splits the first row, and most others like each other */

    for (int i = 0; i < 4; i++) {
        struct score *s = &scores[i];

        if (score(text, len, whole, candidates[i], s) != AL_OK)
            return al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
        header = header || (s->first > 1 && s->alike > s->rows / 2);
    }
    *delimiter = candidates[0];
    for (int i = 0; i < 4; i++) {
        const struct score *s = &scores[i];

        if (splits_nothing(s) || (header && s->first <= 1) || (best && s->alike <= best->alike))
            continue;
        best = s;
        *delimiter = candidates[i];
    }
    *single = !best;
    return AL_OK;
}
