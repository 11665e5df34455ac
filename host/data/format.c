/* Formats by magic number, then by the name, then by the look of the text. */
#include "data/format.h"
#include "base/path.h"
#include <string.h>
#include <strings.h>

struct magic {
    const char *bytes;
    size_t len;
    const char *detail;
};

#define MAGIC(bytes, detail)             \
    {                                    \
        bytes, sizeof(bytes) - 1, detail \
    }

static const struct magic magics[] = {
    MAGIC("PK\3\4", "a zip file or a workbook (.xlsx, .ods): export the sheet as CSV"),
    MAGIC("PK\5\6", "an empty zip file"),
    MAGIC("\x1f\x8b", "a gzip file: unpack it first"),
    MAGIC("BZh91AY&SY", "a bzip2 file: unpack it first"),
    MAGIC("\xfd"
          "7zXZ\0",
          "an xz file: unpack it first"),
    MAGIC("\x28\xb5\x2f\xfd", "a zstd file: unpack it first"),
    MAGIC("\x04\x22\x4d\x18", "an lz4 file: unpack it first"),
    MAGIC("7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it first"),
    MAGIC("Rar!\x1a", "a RAR archive: unpack it first"),
    MAGIC("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
          "an old Office file (.xls) or an encrypted workbook: save it as .xlsx or CSV"),
    MAGIC("PAR1\x15", "a Parquet file: export it as CSV"),
    MAGIC("ARROW1\0\0", "an Arrow file: export it as CSV"),
    MAGIC("\x89HDF", "an HDF5 file: export it as CSV"),
    MAGIC("SQLite format 3\0", "an SQLite database: export its tables as CSV"),
    MAGIC("%PDF-", "a PDF document"),
    MAGIC("\x89PNG", "a PNG image"),
    MAGIC("\xff\xd8\xff", "a JPEG image"),
    MAGIC("GIF89a", "a GIF image"),
    MAGIC("\x7f"
          "ELF",
          "a program"),
};

struct kind {
    const char *extension;
    al_format format; /* without a reader: known, not read */
    const char *detail;
};

static const struct kind kinds[] = {
    { "csv", { "csv", true, al_read_delimited }, NULL },
    { "tsv", { "tsv", true, al_read_delimited }, NULL },
    { "tab", { "tsv", true, al_read_delimited }, NULL },
    { "json", { "json", true, NULL }, "JSON is not read yet: convert it to CSV" },
    { "jsonl", { "jsonl", true, NULL }, "JSON Lines are not read yet: convert them to CSV" },
    { "ndjson", { "jsonl", true, NULL }, "JSON Lines are not read yet: convert them to CSV" },
    { "xlsx", { "xlsx", true, NULL }, "workbooks are not read yet: export the sheet as CSV" },
    { "ods", { "ods", true, NULL }, "workbooks are not read yet: export the sheet as CSV" },
};

static int unsupported(const char *detail, al_err *err)
{
    return al_err_set(err, AL_ENOTSUP, "dataset_unsupported", "input", detail);
}

static const struct kind *find_kind(const char *extension)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcasecmp(kinds[i].extension, extension) == 0)
            return &kinds[i];
    return NULL;
}

static int take(const struct kind *k, al_format *out, al_err *err)
{
    *out = k->format;
    return k->format.read ? AL_OK : unsupported(k->detail, err);
}

static bool starts(const unsigned char *p, size_t len, const char *text)
{
    return len >= strlen(text) && strncasecmp((const char *)p, text, strlen(text)) == 0;
}

/* A file whose name says nothing. */
static int by_look(const unsigned char *head, size_t len, al_format *out, al_err *err)
{
    size_t i = len >= 3 && memcmp(head, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;

    while (i < len && (head[i] == ' ' || head[i] == '\t' || head[i] == '\r' || head[i] == '\n'))
        i++;
    if (i < len && (head[i] == '{' || head[i] == '['))
        return take(find_kind("json"), out, err);
    if (starts(head + i, len - i, "<!doctype html") || starts(head + i, len - i, "<html"))
        return unsupported("an HTML page: save the table as CSV", err);
    if (starts(head + i, len - i, "<?xml"))
        return unsupported("an XML file: convert it to CSV", err);
    *out = (al_format){ "csv", false, al_read_delimited };
    return AL_OK;
}

int al_format_decide(const unsigned char *head, size_t len, const char *file_name,
                     const char *wanted, al_format *out, al_err *err)
{
    const char *extension = al_path_ext(file_name);
    const struct kind *k;

    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++)
        if (len >= magics[i].len && memcmp(head, magics[i].bytes, magics[i].len) == 0)
            return unsupported(magics[i].detail, err);
    if (wanted) {
        k = find_kind(wanted);
        return k ? take(k, out, err)
                 : al_err_setf(err, AL_ENOTSUP, "dataset_unsupported", "format",
                               "%.40s is no format known here", wanted);
    }
    k = find_kind(*extension == '.' ? extension + 1 : extension);
    return k ? take(k, out, err) : by_look(head, len, out, err);
}
