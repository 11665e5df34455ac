/* Detection of the delimiter: the sample is parsed with each candidate. */
#include "data/dialect.h"
#include "data/csv.h"
#include <string.h>

#define MOST_FIELDS 1024 /* rows with more count as having so many */

/* The largest number of rows that have the same number of fields, above one. A record that the
 * sample cuts counts only when it is the first; a quote left open ends the sample. */
static int score(const char *text, size_t len, bool whole, char delimiter, size_t *most)
{
    size_t counts[MOST_FIELDS + 1] = { 0 }, at = 0, fields;
    int found = 1;
    al_csv c;

    al_csv_init(&c, delimiter, AL_DIALECT_SAMPLE);
    *most = 0;
    while (at < len) {
        al_csv_record r;

        found = al_csv_read(&c, text + at, len - at, whole, NULL, 0, &r, NULL);
        if (found == 0 && at == 0)
            found = al_csv_read(&c, text, len, true, NULL, 0, &r, NULL);
        if (found <= 0)
            break;
        at += r.used;
        fields = r.fields < MOST_FIELDS ? r.fields : MOST_FIELDS;
        if (!r.blank && fields > 1 && ++counts[fields] > *most)
            *most = counts[fields];
    }
    al_csv_free(&c);
    return found == AL_ENOMEM ? found : AL_OK;
}

int al_dialect_delimiter(const char *text, size_t len, bool whole, bool tabs, char *delimiter,
                         al_err *err)
{
    const char *candidates = tabs ? "\t,;|" : ",;\t|";
    size_t best = 0;

    *delimiter = candidates[0];
    for (const char *d = candidates; *d; d++) {
        size_t rows;

        if (score(text, len, whole, *d, &rows) != AL_OK)
            return al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
        if (rows > best) {
            best = rows;
            *delimiter = *d;
        }
    }
    return AL_OK;
}
