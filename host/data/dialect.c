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

/* A record that the sample cuts counts only when it is the first; a quote left open ends the
 * sample. */
static int score(const char *text, size_t len, bool whole, char delimiter, struct score *s)
{
    size_t counts[MOST_FIELDS + 1] = { 0 }, at = 0, fields;
    int found = 1;
    al_csv c;

    *s = (struct score){ 0 };
    al_csv_init(&c, delimiter, AL_DIALECT_SAMPLE);
    while (at < len) {
        al_csv_record r;

        found = al_csv_read(&c, text + at, len - at, whole, NULL, 0, &r, NULL);
        if (found == 0 && at == 0)
            found = al_csv_read(&c, text, len, true, NULL, 0, &r, NULL);
        if (found <= 0)
            break;
        at += r.used;
        if (r.blank)
            continue;
        fields = r.fields < MOST_FIELDS ? r.fields : MOST_FIELDS;
        if (s->rows++ == 0)
            s->first = fields;
        if (fields > 1 && ++counts[fields] > s->alike)
            s->alike = counts[fields];
    }
    al_csv_free(&c);
    return found == AL_ENOMEM ? found : AL_OK;
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
