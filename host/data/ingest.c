/* One ingestion from descriptor to descriptor. */
#include "data/ingest.h"
#include "base/json.h"
#include "data/describe.h"
#include "data/format.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void al_ingest_defaults(al_ingest_options *o)
{
    *o = (al_ingest_options){
        .name = "",
        .header = -1,
        .sample = 5,
        .max_rows = 5000000,
        .max_columns = 1000,
        .max_cell_bytes = 1u << 20,
        .max_file_bytes = UINT64_C(4) << 30,
    };
}

int al_ingest_begin(al_ingest *in, al_err *err)
{
    const al_dataset_options o = { .max_rows = in->options->max_rows,
                                   .threads = (unsigned)in->options->threads,
                                   .link = in->link };

    al_dataset_close(in->dataset);
    in->dataset = NULL;
    al_buf_clear(&in->notes);
    return al_dataset_open(&in->dataset, in->out, &o, err);
}

int al_ingest_step(al_ingest *in, al_err *err)
{
    return al_link_progress(in->link, al_source_file_bytes(in->source),
                            al_source_file_size(in->source), al_dataset_row_count(in->dataset),
                            err);
}

int al_ingest_text(al_ingest *in, int (*read)(al_ingest *in, const char *encoding, al_err *err),
                   al_err *err)
{
    const char *wanted = in->options->encoding;
    al_err first = { 0 };
    int rc = read(in, wanted, &first);

    /* It looked like UTF-8 up to here: all that was made of it is made again. */
    if (rc == AL_EDATA && !wanted && first.reason && strcmp(first.reason, "utf8") == 0) {
        rc = al_source_file_rewind(in->source, err);
        return rc == AL_OK ? read(in, "windows-1252", err) : rc;
    }
    if (rc != AL_OK && err)
        *err = first;
    return rc;
}

void al_ingest_note(al_ingest *in, const char *id, uint64_t count, const uint64_t *lines, size_t n)
{
    al_json_out o;

    if (count == 0)
        return;
    if (in->notes.len)
        al_buf_char(&in->notes, ',');
    al_json_out_init(&o, &in->notes);
    al_json_begin_object(&o);
    al_json_key(&o, "id");
    al_json_cstring(&o, id);
    al_json_key(&o, "count");
    al_json_int(&o, (int64_t)count);
    if (lines) {
        al_json_key(&o, "lines");
        al_json_begin_array(&o);
        for (size_t i = 0; i < n; i++)
            al_json_int(&o, (int64_t)lines[i]);
        al_json_end_array(&o);
    }
    al_json_end_object(&o);
}

/* Pages are read back for the description, and written at their places. */
static int check_output(int fd, al_err *err)
{
    int flags = fcntl(fd, F_GETFL);
    struct stat st;

    if (flags < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size != 0 ||
        (flags & O_ACCMODE) != O_RDWR || (flags & O_APPEND))
        return al_err_set(err, AL_EINVAL, "internal", "output",
                          "the output must be an empty regular file, open for reading and writing");
    return AL_OK;
}

static int read_file(al_ingest *in, al_err *err)
{
    al_format format;
    int rc = al_format_find(in->source, in->options->name, in->options->format, &format, err);

    if (rc != AL_OK)
        return rc;
    in->meta.format = format.name;
    in->format_sure = format.sure;
    rc = format.read(in, err);
    if (rc == AL_OK && in->notes.failed)
        rc = al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
    return rc == AL_OK ? al_dataset_finish(in->dataset, &in->meta, err) : rc;
}

static int describe(const al_ingest *in, int output, al_buf *result, al_err *err)
{
    al_json_out o;
    char hex[65];
    int rc = al_source_file_sha256(in->source, hex, err);

    if (rc != AL_OK)
        return rc;
    al_json_out_init(&o, result);
    al_json_begin_object(&o);
    rc = al_describe(output, -1, in->options->sample, &o, err);
    al_json_key(&o, "sha256");
    al_json_cstring(&o, hex);
    al_json_key(&o, "bytes");
    al_json_int(&o, (int64_t)al_source_file_bytes(in->source));
    al_json_end_object(&o);
    return rc;
}

int al_ingest_run(const al_ingest_options *o, int input, int output, al_link *link, al_buf *result,
                  al_err *err)
{
    al_ingest in = { .options = o, .link = link, .out = output };
    int rc = check_output(output, err);

    if (rc != AL_OK)
        return rc;
    in.meta.notes = &in.notes;
    rc = al_source_file_open(&in.source, input, o->max_file_bytes, err);
    if (rc == AL_OK) {
        al_source_file_limit_reads(in.source, o->read_limit);
        rc = read_file(&in, err);
    }
    if (rc == AL_OK)
        rc = describe(&in, output, result, err);
    if (rc != AL_OK && ftruncate(output, 0) != 0)
        rc = AL_EIO; /* page 1 was not written, so it is no dataset all the same */
    al_dataset_close(in.dataset);
    al_source_file_close(in.source);
    al_buf_free(&in.notes);
    return rc;
}
