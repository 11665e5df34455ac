/* The one count that bombs meet. */
#include "data/expansion.h"

int al_expansion_add(al_expansion *x, uint64_t n, const char *object, al_err *err)
{
    uint64_t most = x->packed > AL_EXPANSION_FLOOR / AL_EXPANSION_FACTOR
                        ? x->packed * AL_EXPANSION_FACTOR
                        : AL_EXPANSION_FLOOR;

    x->bytes += n;
    if (x->bytes > x->max_bytes) {
        al_err_setf(err, AL_ELIMIT, "ingest_limit", "analysis.data.maxFileBytes",
                    "more than %llu bytes when unpacked", (unsigned long long)x->max_bytes);
        return al_err_reason(err, AL_ELIMIT, "maxFileBytes");
    }
    if (x->bytes > most) {
        al_err_setf(err, AL_ELIMIT, "ingest_limit", object,
                    "its %llu bytes expand to more than %llu, which no table does",
                    (unsigned long long)x->packed, (unsigned long long)most);
        return al_err_reason(err, AL_ELIMIT, "expansion");
    }
    return AL_OK;
}
