/* Formats: what is packed by its first bytes, what is known and not read by its magic number, a
 * container by its entries, then text by name and look. */
#include "data/format.h"
#include "base/json.h"
#include "base/path.h"
#include "data/dialect.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_BACK 65557 /* where the end of a zip's directory stands: 22 bytes and a comment */

struct head {
    unsigned char bytes[AL_FORMAT_HEAD + 16]; /* zeros behind, as the dialect wants them */
    size_t len;
};

struct magic {
    size_t at;
    const char *bytes;
    size_t len;
    const char *detail;
};

#define MAGIC_AT(at, bytes, detail)          \
    {                                        \
        at, bytes, sizeof(bytes) - 1, detail \
    }
#define MAGIC(bytes, detail) MAGIC_AT(0, bytes, detail)

static const struct magic packed[] = {
    [AL_GZIP] = MAGIC("\x1f\x8b", "gzip"),  [AL_BZIP2] = MAGIC("BZh", "bzip2"),
    [AL_XZ] = MAGIC("\xfd\x37zXZ\0", "xz"), [AL_ZSTD] = MAGIC("\x28\xb5\x2f\xfd", "zstd"),
    [AL_ZIP] = MAGIC("PK\3\4", "zip"),
};

/* These are no text. Where the magic alone could begin one, a NUL has to be near. */
static const struct magic binaries[] = {
    MAGIC(
        "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "an old Office file (.xls) or an encrypted workbook: save it as .xlsx without a password"),
    MAGIC("PAR1", "a Parquet file: export it as CSV"),
    MAGIC("\x50\x2a\x4d\x18", "a zstd file as pzstd writes them: unpack it first"),
    MAGIC("ARROW1", "an Arrow or Feather file: export it as CSV"),
    MAGIC("FEA1", "a Feather file: export it as CSV"),
    MAGIC("\xff\xff\xff\xff", "an Arrow stream or another binary file: export it as CSV"),
    MAGIC("ORC", "an ORC file: export it as CSV"),
    MAGIC("Obj\1", "an Avro file: export it as CSV"),
    MAGIC("\x89HDF", "an HDF5 file: export it as CSV"),
    MAGIC("CDF\1", "a NetCDF file: export it as CSV"),
    MAGIC("CDF\2", "a NetCDF file: export it as CSV"),
    MAGIC("\x93NUMPY", "a NumPy array: export it as CSV"),
    MAGIC("\x80\x02", "a Python pickle or another binary file: export it as CSV"),
    MAGIC("\x80\x03", "a Python pickle or another binary file: export it as CSV"),
    MAGIC("\x80\x04\x95", "a Python pickle: export it as CSV"),
    MAGIC("\x80\x05\x95", "a Python pickle: export it as CSV"),
    MAGIC("RDX2\n", "an R data file: export its tables as CSV"),
    MAGIC("RDX3\n", "an R data file: export its tables as CSV"),
    MAGIC("X\n\0\0\0", "an R data file: export its tables as CSV"),
    MAGIC("MATLAB 5.0 MAT-file", "a MATLAB file: export it as CSV"),
    MAGIC("$FL2", "an SPSS file (.sav): export it as CSV"),
    MAGIC("$FL3", "an SPSS file (.zsav): export it as CSV"),
    MAGIC("<stata_dta>", "a Stata file (.dta): export it as CSV"),
    MAGIC("\x72\x02\1\0", "a Stata file (.dta): export it as CSV"),
    MAGIC("\x73\x02\1\0", "a Stata file (.dta): export it as CSV"),
    MAGIC_AT(12, "\xc2\xea\x81\x60\xb3\x14\x11\xcf", "a SAS file (.sas7bdat): export it as CSV"),
    MAGIC("SQLite format 3\0", "an SQLite database: export its tables as CSV"),
    MAGIC_AT(8, "DUCK", "a DuckDB database: export its tables as CSV"),
    MAGIC_AT(4, "Standard Jet DB", "an Access database: export its tables as CSV"),
    MAGIC_AT(4, "Standard ACE DB", "an Access database: export its tables as CSV"),
    MAGIC_AT(257, "ustar", "a tar archive: unpack it first"),
    MAGIC("7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it first"),
    MAGIC("Rar!\x1a", "a RAR archive: unpack it first"),
    MAGIC("MSCF\0", "a cabinet archive: unpack it first"),
    MAGIC("\x04\x22\x4d\x18", "an lz4 file: unpack it first"),
    MAGIC("\x1f\x9d", "a file packed by compress (.Z): unpack it first"),
    MAGIC("LZIP\1", "an lzip file: unpack it first"),
    MAGIC("\xff\6\0\0sNaPpY", "a snappy file: unpack it first"),
    MAGIC("]\0\0", "an lzma file: unpack it first"),
    MAGIC("PK\5\6", "an empty zip file"),
    MAGIC("PK\7\x8", "one part of a zip file in several parts: put them together first"),
    MAGIC("\x89PNG", "a PNG image"),
    MAGIC("\xff\xd8\xff", "a JPEG image"),
    MAGIC("GIF8", "a GIF image"),
    MAGIC("II*\0", "a TIFF image"),
    MAGIC("MM\0*", "a TIFF image"),
    MAGIC_AT(8, "WEBP", "a WebP image"),
    MAGIC("BM", "a BMP image"),
    MAGIC("RIFF", "a sound or film (RIFF)"),
    MAGIC("ID3", "a sound (MP3)"),
    MAGIC("OggS", "a sound or film (Ogg)"),
    MAGIC("fLaC", "a sound (FLAC)"),
    MAGIC_AT(4, "ftyp", "a film or picture (MP4, HEIC)"),
    MAGIC("\x1a\x45\xdf\xa3", "a film (Matroska)"),
    MAGIC("\x7f\x45LF", "a program"),
    MAGIC("MZ", "a program"),
    MAGIC("\xcf\xfa\xed\xfe", "a program"),
    MAGIC("\xca\xfe\xba\xbe", "a program"),
    MAGIC("\0asm", "a program (WebAssembly)"),
};

/* These are text, and no table; case does not count. */
static const struct magic texts[] = {
    MAGIC("%PDF-", "a PDF document: copy the table out of it"),
    MAGIC("%!PS", "a PostScript document"),
    MAGIC("{\\rtf", "an RTF document: save the table as CSV"),
    MAGIC("<!doctype html", "an HTML page: save the table as CSV"),
    MAGIC("<html", "an HTML page: save the table as CSV"),
    MAGIC("<table", "an HTML page: save the table as CSV"),
    MAGIC("<svg", "an SVG image"),
    MAGIC("<?xml", "an XML file: convert it to CSV"),
    MAGIC("HEADER RECORD*******LIBRARY HEADER", "a SAS transport file (.xpt): export it as CSV"),
    MAGIC("-----BEGIN ", "a key or certificate"),
    MAGIC("version https://git-lfs.github.com", "a pointer of Git LFS: fetch the file itself"),
};

/* What else comes as a zip, by an entry that it has. */
static const struct package {
    const char *prefix, *detail;
} packages[] = {
    { "word/", "a Word document (.docx): save the table as CSV" },
    { "ppt/", "a presentation (.pptx): save the table as CSV" },
    { "xl/workbook.bin", "a binary workbook (.xlsb): save it as .xlsx" },
    { "Index/Document.iwa", "a Numbers document: export it as .xlsx or CSV" },
    { "META-INF/MANIFEST.MF", "a program (Java archive)" },
    { "AndroidManifest.xml", "a program (Android)" },
};

struct kind {
    const char *extension;
    al_format format;
    bool zipped;
};

static const struct kind kinds[] = {
    { "csv", { "csv", true, al_read_delimited }, false },
    { "tsv", { "tsv", true, al_read_delimited }, false },
    { "tab", { "tsv", true, al_read_delimited }, false },
    { "json", { "json", true, al_read_json }, false },
    { "jsonl", { "jsonl", true, al_read_json }, false },
    { "ndjson", { "jsonl", true, al_read_json }, false },
    { "xlsx", { "xlsx", true, al_read_xlsx }, true },
    { "xlsm", { "xlsx", true, al_read_xlsx }, true },
    { "ods", { "ods", true, al_read_ods }, true },
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

static const struct kind *kind_of_name(const char *file_name)
{
    const char *extension = al_path_ext(file_name);

    return find_kind(*extension == '.' ? extension + 1 : extension);
}

static int take(const struct kind *k, al_format *out)
{
    *out = k->format;
    return AL_OK;
}

static int peek(al_source_file *source, struct head *h, al_err *err)
{
    memset(h->bytes, 0, sizeof h->bytes);
    return al_source_file_peek(source, h->bytes, AL_FORMAT_HEAD, &h->len, err);
}

/* ---- magic numbers ---- */

static bool has(const struct magic *m, const unsigned char *bytes, size_t len)
{
    return m->bytes && len >= m->at + m->len && memcmp(bytes + m->at, m->bytes, m->len) == 0;
}

static al_packing packing_of(const unsigned char *bytes, size_t len)
{
    for (size_t i = 0; i < sizeof packed / sizeof packed[0]; i++)
        /* bzip2's own three letters may begin a text. */
        if (has(&packed[i], bytes, len) &&
            (i != AL_BZIP2 ||
             (len >= 10 && (memcmp(bytes + 4, "1AY&SY", 6) == 0 ||
                            memcmp(bytes + 4, "\x17\x72\x45\x38\x50\x90", 6) == 0))))
            return (al_packing)i;
    return AL_PLAIN;
}

/* In windows-1252 all but control characters are letters. */
static bool may_be_text(const struct magic *m)
{
    for (size_t i = 0; i < m->len; i++)
        if (m->bytes[i] == 0x7F ||
            ((unsigned char)m->bytes[i] < 0x20 && !memchr("\t\n\r", m->bytes[i], 3)))
            return false;
    return true;
}

static const char *binary(const struct head *h)
{
    bool nul = memchr(h->bytes, 0, h->len) != NULL;

    for (size_t i = 0; i < sizeof binaries / sizeof binaries[0]; i++)
        if (has(&binaries[i], h->bytes, h->len) && (nul || !may_be_text(&binaries[i])))
            return binaries[i].detail;
    return NULL;
}

/* Where the text begins, behind a byte-order mark and white space. */
static size_t text_start(const struct head *h)
{
    size_t i = h->len >= 3 && memcmp(h->bytes, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;

    while (i < h->len && memchr(" \t\r\n", h->bytes[i], 4))
        i++;
    return i;
}

static const char *other_text(const struct head *h)
{
    size_t at = text_start(h);

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (h->len - at >= texts[i].len &&
            strncasecmp((const char *)h->bytes + at, texts[i].bytes, texts[i].len) == 0)
            return texts[i].detail;
    return NULL;
}

/* ---- text ---- */

enum look { NO_JSON, VALUES, BROKEN_RECORDS, RECORDS, LINES };

/* The first tokens: those of a record, or of a list of records or lists, if empty ones. */
static bool begins_records(const char *text, size_t len)
{
    al_json_type t[3];
    al_json j;

    al_json_open(&j, text, len, 0);
    for (int i = 0; i < 3; i++)
        t[i] = al_json_next(&j);
    al_json_close(&j);
    return (t[0] == AL_JSON_OBJECT && t[1] == AL_JSON_KEY) ||
           (t[0] == AL_JSON_ARRAY && (t[1] == AL_JSON_OBJECT || t[1] == AL_JSON_ARRAY)) ||
           (t[2] == AL_JSON_END && (t[1] == AL_JSON_OBJECT_END || t[1] == AL_JSON_ARRAY_END));
}

/* What the text behind one whole value makes of it. */
static enum look with_rest(const char *rest, size_t len)
{
    bool line = false;
    size_t i = 0;

    for (; i < len && memchr(" \t\r\n", rest[i], 4); i++)
        line = line || rest[i] == '\n' || rest[i] == '\r';
    if (i == len)
        return RECORDS;
    return line && memchr("{[", rest[i], 2) ? LINES : BROKEN_RECORDS;
}

static enum look json_look(const struct head *h)
{
    size_t at = text_start(h), all = h->len - at, start, len;
    const char *text = (const char *)h->bytes + at;
    bool records = begins_records(text, all), cut;
    enum look look = BROKEN_RECORDS;
    al_json j;

    if (all == 0 || !memchr("{[", text[0], 2))
        return NO_JSON;
    al_json_open(&j, text, all, 0);
    al_json_next(&j);
    if (al_json_skip(&j, &start, &len) == AL_OK) {
        look = with_rest(text + start + len, all - start - len);
    } else {
        /* By the end of what is looked at, perhaps within a character; or too deep to follow. */
        const char *why = j.err.reason ? j.err.reason : "";

        cut = strcmp(why, "truncated") == 0 || strcmp(why, "depth") == 0 || j.err.offset + 4 >= all;
        look = cut ? RECORDS : BROKEN_RECORDS;
    }
    al_json_close(&j);
    return records ? look : look == BROKEN_RECORDS ? NO_JSON : VALUES;
}

static bool utf16(const struct head *h)
{
    return h->len >= 2 &&
           (memcmp(h->bytes, "\xFF\xFE", 2) == 0 || memcmp(h->bytes, "\xFE\xFF", 2) == 0);
}

/* Rows of several fields, and nothing that JSON begins with. */
static bool table_look(const struct head *h)
{
    size_t at = text_start(h);
    char delimiter;
    bool single;

    if (at == h->len || memchr("{[", h->bytes[at], 2) || utf16(h))
        return false;
    return al_dialect_delimiter((const char *)h->bytes + at, h->len - at, h->len < AL_FORMAT_HEAD,
                                false, &delimiter, &single, NULL) == AL_OK &&
           !single && memchr(h->bytes + at, delimiter, h->len - at);
}

static const struct kind *kind_of_json(const struct head *h, const struct kind *named)
{
    if (table_look(h))
        return NULL;
    /* A list of records is none of lines; a line that is a list is no record. */
    if (strcmp(named->format.name, "jsonl") == 0 && json_look(h) == RECORDS &&
        h->bytes[text_start(h)] == '[')
        return find_kind("json");
    return named;
}

/* The name has its say where the bytes do not contradict it. */
static const struct kind *kind_of_text(const struct head *h, const struct kind *named)
{
    enum look look;

    if (named && named->zipped)
        named = NULL;
    if (named && strncmp(named->format.name, "json", 4) == 0)
        return kind_of_json(h, named);
    look = json_look(h);
    if (look == NO_JSON || (named && (look == VALUES || look == BROKEN_RECORDS)))
        return named;
    return find_kind(look == LINES ? "jsonl" : "json");
}

static int decide_plain(const struct head *h, const char *file_name, const char *wanted,
                        al_format *out, al_err *err)
{
    const char *detail = binary(h);
    const struct kind *k;

    if (detail)
        return unsupported(detail, err);
    if (wanted) {
        k = find_kind(wanted);
        if (!k)
            return al_err_setf(err, AL_ENOTSUP, "dataset_unsupported", "format",
                               "%.40s is no format known here", wanted);
        if (k->zipped)
            return al_err_setf(err, AL_EDATA, "ingest_invalid", "input", "it is no .%s file",
                               k->format.name);
        return take(k, out);
    }
    detail = other_text(h);
    if (detail)
        return unsupported(detail, err);
    k = kind_of_text(h, kind_of_name(file_name));
    if (k)
        return take(k, out);
    *out = (al_format){ "csv", false, al_read_delimited };
    return AL_OK;
}

/* ---- what is packed ---- */

static int decide_inside(al_source_file *source, const char *inner_name, const char *wanted,
                         al_format *out, al_err *err)
{
    struct head h;
    int rc = peek(source, &h, err);
    al_packing again;

    if (rc != AL_OK)
        return rc;
    again = packing_of(h.bytes, h.len);
    if (again != AL_PLAIN)
        return al_err_setf(err, AL_ENOTSUP, "dataset_unsupported", "input",
                           "a %s file inside another: unpack it once first", packed[again].detail);
    return decide_plain(&h, inner_name, wanted, out, err);
}

/* "a.csv.gz" is a.csv inside. */
static void inner_name(const char *file_name, char *out, size_t size)
{
    static const char *const extensions[] = { ".gz", ".gzip", ".bz2", ".xz", ".zst", ".zstd" };
    const char *extension = al_path_ext(file_name);

    snprintf(out, size, "%s", al_path_base(file_name));
    for (size_t i = 0; i < sizeof extensions / sizeof extensions[0]; i++)
        if (strcasecmp(extension, extensions[i]) == 0 && strlen(out) > strlen(extension))
            out[strlen(out) - strlen(extension)] = '\0';
}

static int decide_stream(al_source_file *source, al_packing packing, const char *file_name,
                         const char *wanted, al_format *out, al_err *err)
{
    char name[512];
    int rc = al_source_file_unpack(source, packing, err);

    inner_name(file_name, name, sizeof name);
    return rc == AL_OK ? decide_inside(source, name, wanted, out, err) : rc;
}

/* The entry `mimetype` of packages that have one, cut to size; "" without. */
static int read_mimetype(al_zip *z, char *out, size_t size, al_err *err)
{
    const al_zip_entry *e = al_zip_find(z, "mimetype");
    al_zip_stream *s = NULL;
    size_t got = 1, len = 0;
    int rc = e && !e->encrypted ? al_zip_stream_open(&s, z, e, err) : AL_OK;

    while (s && rc == AL_OK && got > 0 && len + 1 < size) {
        rc = al_zip_stream_read(s, out + len, size - 1 - len, &got, err);
        if (rc == AL_OK)
            len += got;
    }
    out[len] = '\0';
    al_zip_stream_close(s);
    return rc;
}

static bool has_prefix(const al_zip *z, const char *prefix)
{
    for (size_t i = 0; i < al_zip_count(z); i++)
        if (strncasecmp(al_zip_at(z, i)->name, prefix, strlen(prefix)) == 0)
            return true;
    return false;
}

/* How many files there are in it besides folders and what macOS adds; *first is one. */
static size_t count_files(const al_zip *z, const al_zip_entry **first)
{
    size_t n = 0;

    for (size_t i = 0; i < al_zip_count(z); i++) {
        const al_zip_entry *e = al_zip_at(z, i);

        if (e->folder || strncmp(e->name, "__MACOSX/", 9) == 0)
            continue;
        if (n++ == 0)
            *first = e;
    }
    return n;
}

static int decide_files(al_source_file *source, const char *wanted, al_format *out, al_err *err)
{
    const al_zip_entry *e = NULL;
    size_t n = count_files(al_source_file_zip(source), &e);
    int rc;

    if (n != 1)
        return n == 0 ? unsupported("an empty zip file", err)
                      : al_err_setf(err, AL_ENOTSUP, "dataset_unsupported", "input",
                                    "a zip file with %zu files: unpack it, and take one", n);
    rc = al_source_file_unzip(source, e, err);
    return rc == AL_OK ? decide_inside(source, e->name, wanted, out, err) : rc;
}

static int decide_zip(al_source_file *source, const char *wanted, al_format *out, al_err *err)
{
    static const char sheet[] = "application/vnd.oasis.opendocument.spreadsheet";
    char type[80];
    int rc = al_source_file_open_zip(source, err);
    al_zip *z = al_source_file_zip(source);

    if (rc == AL_OK)
        rc = read_mimetype(z, type, sizeof type, err);
    if (rc != AL_OK)
        return rc;
    for (size_t i = 0; i < sizeof packages / sizeof packages[0]; i++)
        if (has_prefix(z, packages[i].prefix))
            return unsupported(packages[i].detail, err);
    if (has_prefix(z, "xl/"))
        return take(find_kind("xlsx"), out);
    if (strncmp(type, sheet, sizeof sheet - 1) == 0)
        return take(find_kind("ods"), out);
    if (type[0])
        return al_err_setf(err, AL_ENOTSUP, "dataset_unsupported", "input",
                           "a file of the type %.80s: save the table as CSV", type);
    return decide_files(source, wanted, out, err);
}

/* A zip may have anything in front, a program that unpacks it for one. */
static bool ends_as_zip(int fd)
{
    static const char end[] = "PK\5\6";
    char tail[LOOK_BACK];
    struct stat st;
    ssize_t n;

    if (fstat(fd, &st) != 0 || st.st_size < 22)
        return false;
    do
        n = pread(fd, tail, sizeof tail, st.st_size > LOOK_BACK ? st.st_size - LOOK_BACK : 0);
    while (n < 0 && errno == EINTR);
    return n > 0 && memmem(tail, (size_t)n, end, 4) != NULL;
}

bool al_format_needs_archive(int fd)
{
    unsigned char head[16];
    ssize_t n;
    al_packing packing;

    do
        n = pread(fd, head, sizeof head, 0);
    while (n < 0 && errno == EINTR);
    packing = n > 0 ? packing_of(head, (size_t)n) : AL_PLAIN;
    return packing == AL_PLAIN ? ends_as_zip(fd) : packing != AL_GZIP;
}

int al_format_find(al_source_file *source, const char *file_name, const char *wanted,
                   al_format *out, al_err *err)
{
    const struct kind *named = kind_of_name(file_name);
    struct head h;
    al_packing packing;
    int rc = peek(source, &h, err);

    if (rc != AL_OK)
        return rc;
    packing = packing_of(h.bytes, h.len);
    if (packing == AL_PLAIN && named && named->zipped && ends_as_zip(al_source_file_fd(source)))
        packing = AL_ZIP;
    switch (packing) {
    case AL_PLAIN: return decide_plain(&h, file_name, wanted, out, err);
    case AL_ZIP: return decide_zip(source, wanted, out, err);
    default: return decide_stream(source, packing, file_name, wanted, out, err);
    }
}
