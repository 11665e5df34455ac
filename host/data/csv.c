/* The parser of delimited text. What is found with AVX2, SSE2 or plain C is the same. */
#include "data/csv.h"
#include "data/bytemask.h"
#include <stdlib.h>
#include <string.h>

#define BLOCK  AL_MASK_BLOCK
#define AHEAD  64   /* blocks whose masks are made in one go */
#define PIECES 4096 /* bytes of scratch memory that are had at a time, or more */

/* A bit for each of 64 bytes. */
struct masks {
    uint64_t delimiters, feeds, returns, quotes;
};

static void masks_plain(const char *text, size_t n, char delimiter, struct masks *out)
{
    for (size_t i = 0; i < n; i++, text += BLOCK)
        out[i] = (struct masks){ al_mask_plain(text, delimiter), al_mask_plain(text, '\n'),
                                 al_mask_plain(text, '\r'), al_mask_plain(text, '"') };
}

#if AL_CPU_X86
static void masks_sse2(const char *text, size_t n, char delimiter, struct masks *out)
{
    for (size_t i = 0; i < n; i++, text += BLOCK) {
        __m128i v[4];

        for (unsigned k = 0; k < 4; k++)
            v[k] = _mm_loadu_si128((const __m128i *)(const void *)(text + 16 * k));
        out[i] = (struct masks){ al_mask_sse2(v, delimiter), al_mask_sse2(v, '\n'),
                                 al_mask_sse2(v, '\r'), al_mask_sse2(v, '"') };
    }
}

AL_AVX2 static void masks_avx2(const char *text, size_t n, char delimiter, struct masks *out)
{
    for (size_t i = 0; i < n; i++, text += BLOCK) {
        __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)text);
        __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(text + 32));

        out[i] = (struct masks){ al_mask_avx2(a, b, delimiter), al_mask_avx2(a, b, '\n'),
                                 al_mask_avx2(a, b, '\r'), al_mask_avx2(a, b, '"') };
    }
}
#endif

static void make_masks(const char *text, size_t n, char delimiter, struct masks *out)
{
#if AL_CPU_X86
    if (al_cpu_avx2()) {
        masks_avx2(text, n, delimiter, out);
        return;
    }
    if (!al_cpu_plain()) {
        masks_sse2(text, n, delimiter, out);
        return;
    }
#endif
    masks_plain(text, n, delimiter, out);
}

/* The scan. */

void al_csv_scan_open(al_csv_scan *s, char delimiter)
{
    *s = (al_csv_scan){ .delimiter = delimiter, .separated = true, .at_start = true };
}

void al_csv_scan_close(al_csv_scan *s)
{
    free(s->ends);
    memset(s, 0, sizeof *s);
}

uint64_t *al_csv_scan_take(al_csv_scan *s)
{
    uint64_t *ends = s->ends;

    al_csv_scan_open(s, s->delimiter);
    return ends;
}

/* The bytes of the block that are inside quotes, those too. `separators`: all of the block, inside
 * quotes or not. A quote opens a field only at its front, where the byte before is a separator. */
static inline uint64_t inside_quotes(al_csv_scan *s, uint64_t quotes, uint64_t separators)
{
    uint64_t inside = 0, left = quotes;
    unsigned from = 0;

    if (s->closing) {
        s->closing = false;
        s->inside = left & 1; /* doubled */
        left &= ~UINT64_C(1);
    }
    while (left) {
        unsigned i = (unsigned)__builtin_ctzll(left);

        left &= left - 1;
        if (!s->inside) {
            if (i ? separators >> (i - 1) & 1 : s->separated) {
                s->inside = true;
                s->opened = s->at + i;
                from = i;
            }
        } else if (i == BLOCK - 1) {
            s->closing = true; /* or the first of two: the next block knows */
        } else if (quotes >> (i + 1) & 1) {
            left &= left - 1;
        } else {
            inside |= (~UINT64_C(0) >> (BLOCK - 1 - i)) & (~UINT64_C(0) << from);
            s->inside = false;
        }
    }
    return s->inside ? inside | ~UINT64_C(0) << from : inside;
}

/* Not every x86-64 has an instruction for it. */
static inline unsigned count_bits(uint64_t v)
{
    v -= v >> 1 & UINT64_C(0x5555555555555555);
    v = (v & UINT64_C(0x3333333333333333)) + (v >> 2 & UINT64_C(0x3333333333333333));
    v = (v + (v >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
    return (unsigned)(v * UINT64_C(0x0101010101010101) >> 56);
}

/* Behind the line end whose first byte is at p; text is at least one byte longer, or ends in a zero
 * byte. */
static inline size_t behind_line(const char *text, size_t p)
{
    return p + 1 + (text[p] == '\r' && text[p + 1] == '\n');
}

/* The first of the rows that ends at or behind the limit; -1 when there is none. */
static int row_at_limit(const al_csv_scan *s, const char *text, uint64_t rows, size_t limit)
{
    for (; rows; rows &= rows - 1) {
        int i = __builtin_ctzll(rows);

        if (behind_line(text, s->at + (size_t)i) >= limit)
            return i;
    }
    return -1;
}

/* One block, of which `valid` are the bytes that are there. True when the segment ends in it. */
static inline bool scan_block(al_csv_scan *s, const char *text, const struct masks *m,
                              uint64_t valid, size_t limit)
{
    uint64_t separators = m->delimiters | m->feeds | m->returns;
    uint64_t inside =
        (m->quotes || s->inside) ? inside_quotes(s, m->quotes & valid, separators) : 0;
    uint64_t outside = valid & ~inside, keep = ~UINT64_C(0);
    uint64_t returns = m->returns & outside, second = m->feeds & (returns << 1 | s->after_cr);
    uint64_t records = returns | (m->feeds & outside & ~second);
    uint64_t blanks = records & ((records | second) << 1 | s->at_start) & ~second;
    bool found = false;

    second &= outside;
    if (s->at + BLOCK + 1 >= limit) {
        int i = row_at_limit(s, text, records & ~blanks, limit);

        if (i >= 0) {
            found = true;
            keep = ~UINT64_C(0) >> (BLOCK - 1 - i);
            s->end = behind_line(text, s->at + (size_t)i);
        }
    }
    s->ends[s->at / BLOCK] = ((m->delimiters & outside) | records) & keep;
    s->lines += count_bits(records & keep);
    s->blanks += blanks & keep ? count_bits(blanks & keep) : 0;
    if (inside & keep)
        s->quoted_lines +=
            count_bits(inside & keep & m->feeds & ~(m->returns << 1 | s->after_any_cr)) +
            count_bits(inside & keep & m->returns);
    if (s->ends[s->at / BLOCK])
        s->last_field = s->at + BLOCK - (size_t)__builtin_clzll(s->ends[s->at / BLOCK]);
    if (records)
        s->last_end = s->at + BLOCK - (size_t)__builtin_clzll(records);
    s->separated = separators >> (BLOCK - 1);
    s->after_cr = returns >> (BLOCK - 1);
    s->after_any_cr = m->returns >> (BLOCK - 1);
    s->at_start = (records | second) >> (BLOCK - 1);
    return found;
}

/* LF, CRLF and CR each end one line. */
static uint64_t count_lines(const char *p, const char *end)
{
    uint64_t n = 0;

    for (; p < end; p++)
        n += *p == '\n' || (*p == '\r' && !(p + 1 < end && p[1] == '\n'));
    return n;
}

static int cell_too_long(size_t field, size_t max, uint64_t line, al_err *err)
{
    if (field)
        al_err_setf(err, AL_ELIMIT, "ingest_limit", "analysis.data.maxCellBytes",
                    "field %zu is longer than %zu bytes", field, max);
    else
        al_err_setf(err, AL_ELIMIT, "ingest_limit", "analysis.data.maxCellBytes",
                    "a field is longer than %zu bytes", max);
    if (err)
        err->line = line;
    return al_err_reason(err, AL_ELIMIT, "maxCellBytes");
}

static int unclosed(uint64_t line, al_err *err)
{
    al_err_set(err, AL_EDATA, "ingest_invalid", "input",
               "a quoted field begins here and is never closed");
    if (err)
        err->line = line;
    return al_err_reason(err, AL_EDATA, "syntax");
}

static int row_too_long(uint64_t line, al_err *err)
{
    al_err_setf(err, AL_ELIMIT, "ingest_limit", "row", "a row is longer than %u bytes",
                AL_CSV_MAX_RECORD);
    if (err)
        err->line = line;
    return AL_ELIMIT;
}

static int check_sizes(const al_csv_scan *s, const char *text, size_t len, size_t max_cell,
                       uint64_t line, al_err *err)
{
    size_t at = s->at < len ? s->at : len;

    if (at > s->last_field && at - s->last_field > 2 * max_cell + 2)
        return cell_too_long(0, max_cell, line + count_lines(text, text + s->last_field), err);
    if (at > s->last_end && at - s->last_end > AL_CSV_MAX_RECORD)
        return row_too_long(line + count_lines(text, text + s->last_end), err);
    return AL_OK;
}

static int need_words(al_csv_scan *s, size_t len, al_err *err)
{
    size_t words = len / BLOCK + 2;
    uint64_t *more;

    if (words <= s->words)
        return AL_OK;
    words += words / 2;
    more = realloc(s->ends, words * sizeof *more);
    if (!more)
        return al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
    s->ends = more;
    s->words = words;
    return AL_OK;
}

static void count_rows(al_csv_scan *s)
{
    s->rows = s->lines - s->blanks;
    s->lines += s->quoted_lines;
}

/* The text is over: its last record may do without a line end. */
static int end_text(al_csv_scan *s, const char *text, size_t len, uint64_t line, al_err *err)
{
    size_t from = s->last_end ? behind_line(text, s->last_end - 1) : 0;

    if (s->inside && !s->closing)
        return unclosed(line + count_lines(text, text + s->opened), err);
    count_rows(s);
    s->rows += from < len;
    s->end = len;
    return 1;
}

int al_csv_scan_text(al_csv_scan *s, const char *text, size_t len, bool last, size_t limit,
                     size_t max_cell, uint64_t line, al_err *err)
{
    struct masks masks[AHEAD];
    int rc = need_words(s, len, err);

    /* The byte behind a block decides what a return at its end is. */
    while (rc == AL_OK && (last ? s->at < len : s->at + BLOCK < len)) {
        size_t left = len - s->at, n = last ? (left + BLOCK - 1) / BLOCK : (left - 1) / BLOCK;

        n = n < AHEAD ? n : AHEAD;
        make_masks(text + s->at, n, s->delimiter, masks);
        for (size_t i = 0; i < n; i++, s->at += BLOCK) {
            size_t have = len - s->at;
            uint64_t valid = have < BLOCK ? ~(~UINT64_C(0) << have) : ~UINT64_C(0);

            if (scan_block(s, text, &masks[i], valid, limit)) {
                count_rows(s);
                return 1;
            }
        }
        rc = check_sizes(s, text, len, max_cell, line, err);
    }
    if (rc != AL_OK)
        return rc;
    return last ? end_text(s, text, len, line, err) : 0;
}

/* The fields. */

struct al_csv_scratch {
    struct al_csv_scratch *next;
    size_t used, room;
    char bytes[];
};

void al_csv_irregular_add(al_csv_irregular *to, const al_csv_irregular *more)
{
    for (size_t i = 0; i < AL_CSV_LINES && i < more->count && to->count + i < AL_CSV_LINES; i++)
        to->lines[to->count + i] = more->lines[i];
    to->count += more->count;
}

void al_csv_fields_open(al_csv_fields *f, const char *text, size_t len, const uint64_t *ends,
                        char delimiter, size_t max_cell, uint64_t line)
{
    *f = (al_csv_fields){
        .text = text,
        .len = len,
        .ends = ends,
        .delimiter = delimiter,
        .max_cell = max_cell,
        .line = line,
        .bits = len ? ends[0] : 0,
        .counted_line = line,
        .number = al_cell_slack_number(),
    };
}

void al_csv_fields_close(al_csv_fields *f)
{
    struct al_csv_scratch *s = f->scratch;

    while (s) {
        struct al_csv_scratch *next = s->next;

        free(s);
        s = next;
    }
    f->scratch = NULL;
}

/* The number of the line on which the byte at p stands; p never goes back. */
static uint64_t line_of(al_csv_fields *f, size_t p)
{
    f->counted_line += count_lines(f->text + f->counted, f->text + p);
    f->counted = p;
    return f->counted_line;
}

static char *scratch_room(al_csv_fields *f, size_t bytes)
{
    struct al_csv_scratch *s = f->scratch;

    if (!s || s->room - s->used < bytes) {
        size_t room = s && s->room >= PIECES ? s->room * 2 : PIECES;

        room = room < bytes ? bytes : room;
        s = malloc(sizeof *s + room + AL_CELL_SLACK);
        if (!s)
            return NULL;
        s->next = f->scratch;
        s->used = 0;
        s->room = room;
        f->scratch = s;
    }
    return s->bytes + s->used;
}

/* A quoted field with quotes in it or text behind it, from behind its first quote to its end. */
static int unquote(al_csv_fields *f, const char *from, const char *end, al_cell *cell)
{
    char *start = scratch_room(f, (size_t)(end - from)), *to = start;

    if (!start)
        return AL_ENOMEM;
    for (;;) {
        const char *q = memchr(from, '"', (size_t)(end - from));
        size_t n = (size_t)((q ? q : end) - from);

        memcpy(to, from, n);
        to += n;
        if (!q)
            break;
        from = q + 1;
        if (from == end || *from != '"') { /* closed; what follows is literal */
            memcpy(to, from, (size_t)(end - from));
            to += end - from;
            break;
        }
        *to++ = '"';
        from++;
    }
    f->scratch->used += (size_t)(to - start);
    *cell = al_cell_text(start, (size_t)(to - start));
    return AL_OK;
}

static int quoted(al_csv_fields *f, const char *p, const char *end, al_cell *cell)
{
    const char *q = memchr(p + 1, '"', (size_t)(end - p - 1));

    if (!q || q + 1 != end)
        return unquote(f, p + 1, end, cell);
    *cell = al_cell_text(p + 1, (size_t)(q - p - 1));
    return AL_OK;
}

/* Where the next field ends. */
static inline size_t next_end(al_csv_fields *f)
{
    size_t p;

    while (!f->bits) {
        if ((f->word + 1) * BLOCK >= f->len)
            return f->len;
        f->bits = f->ends[++f->word];
    }
    p = f->word * BLOCK + (size_t)__builtin_ctzll(f->bits);
    f->bits &= f->bits - 1;
    return p;
}

/* The fields of the next record: the first `room` of them to cells. Like al_csv_record, but blank
 * lines are records without fields. numbers: texts that are numbers become them. */
static inline int record(al_csv_fields *f, al_cell *cells, size_t room, bool numbers,
                         size_t *fields, al_err *err)
{
    size_t n = 0, start = f->at, from = start;

    f->start = start;
    if (start >= f->len)
        return 0;
    for (;;) {
        size_t end = next_end(f);
        const char *p = f->text + from;
        bool over = end >= f->len || f->text[end] != f->delimiter;
        al_cell cell = al_cell_null();

        if (over && n == 0 && end == start) {
            f->at = end < f->len ? behind_line(f->text, end) : end;
            *fields = 0;
            return 1;
        }
        if (end > from) {
            if (*p == '"') {
                if (quoted(f, p, f->text + end, &cell) != AL_OK)
                    return al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
            } else {
                cell = al_cell_text(p, end - from);
            }
            if (cell.len > f->max_cell)
                return cell_too_long(n + 1, f->max_cell, line_of(f, from), err);
            if (n < room) {
                if (numbers || cell.len == 0)
                    al_cell_parse_slack(&cells[n], cell.text, cell.len, f->number);
                else
                    cells[n] = cell;
            }
        } else if (n < room) {
            cells[n] = cell;
        }
        n++;
        if (over) {
            f->at = end < f->len ? behind_line(f->text, end) : end;
            *fields = n;
            return 1;
        }
        from = end + 1;
    }
}

uint64_t al_csv_line(al_csv_fields *f)
{
    return line_of(f, f->start);
}

int al_csv_record(al_csv_fields *f, al_cell *cells, size_t room, size_t *fields, al_err *err)
{
    int rc;

    do
        rc = record(f, cells, room, false, fields, err);
    while (rc == 1 && *fields == 0);
    return rc;
}

static void note_irregular(al_csv_fields *f, al_csv_irregular *i)
{
    if (i->count < AL_CSV_LINES)
        i->lines[i->count] = al_csv_line(f);
    i->count++;
}

int al_csv_rows(al_csv_fields *f, al_batch *b, al_err *err)
{
    b->rows = 0;
    b->segment_end = false;
    while (b->rows < b->room) {
        al_cell *row = b->cells + b->rows * b->columns;
        size_t fields;
        int rc = record(f, row, b->columns, true, &fields, err);

        if (rc <= 0)
            return rc;
        if (fields == 0)
            continue;
        for (size_t i = fields; i < b->columns; i++)
            row[i] = al_cell_null();
        if (fields != b->columns)
            note_irregular(f, fields < b->columns ? &f->short_rows : &f->long_rows);
        b->rows++;
    }
    return AL_OK;
}
