/* The reader of JSON and JSONL: window, shape, first keys, then segments of objects, which any
 * thread makes rows of.
 *
 * A late key is a column from its object on. A segment is read with the keys known then; when those
 * before it turn out to have brought more, it is read once again, in its turn. So the columns of
 * each row are the same however many threads there are. */
#include "data/encoding.h"
#include "data/ingest.h"
#include "data/jsonrows.h"
#include "data/jsonscan.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_BYTES (AL_DATASET_SEGMENT + (512u << 10)) /* most segments fit */
#define LOOK_BYTES   (4u << 20) /* of one object: it is looked at before there is more of it */

struct key {
    char *text;
    size_t len;
};

struct state {
    al_ingest *in;
    al_json_shape shape;
    al_window window;
    size_t at;             /* of the window: what was read already */
    uint64_t line, column; /* of it, as in al_json_segment */
    bool first;            /* it is the front */
    al_json_scan scan;     /* of the text from `at` on */
    pthread_mutex_t lock;  /* of the keys, which grow in turns and are read by others */
    struct key *keys;
    size_t nkeys, key_room;
    al_json_odd odd; /* made in turns */
};

struct segment {
    al_job job;
    struct state *state;
    al_json_segment text;
    char *buffer;
    al_jsonrows *rows;
    size_t known; /* keys in front of it */
};

static int no_memory(al_err *err)
{
    return al_err_set(err, AL_ENOMEM, "internal", "input", "not enough memory");
}

static int more(struct state *s, al_err *err)
{
    int rc = al_ingest_step(s->in, err);

    if (rc == AL_OK)
        rc = al_window_more(&s->window, s->at, err);
    s->at = 0;
    return rc;
}

/* The text from s->at on. */
static al_json_segment left(const struct state *s)
{
    return (al_json_segment){
        .text = s->window.data + s->at,
        .len = s->window.len - s->at,
        .first = s->first,
        .last = s->window.last,
        .offset = s->window.offset + s->at,
        .line = s->line,
        .column = s->column,
    };
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* ---- segments ---- */

static int keep_key(struct state *s, const char *text, size_t len)
{
    struct key key = { malloc(len + AL_JSON_KEY_SPARE), len };

    if (key.text && s->nkeys == s->key_room) {
        size_t room = s->key_room ? s->key_room * 2 : 32;
        struct key *more_keys = realloc(s->keys, room * sizeof *more_keys);

        if (more_keys) {
            s->keys = more_keys;
            s->key_room = room;
        }
    }
    if (!key.text || s->nkeys == s->key_room) {
        free(key.text);
        return AL_ENOMEM;
    }
    memcpy(key.text, text, len);
    memset(key.text + len, 0, AL_JSON_KEY_SPARE);
    s->keys[s->nkeys++] = key;
    return AL_OK;
}

static int open_rows(struct state *s, const al_json_segment *text, al_jsonrows **rows,
                     size_t *known, al_err *err)
{
    int rc = al_jsonrows_open(rows, s->shape, text, (size_t)s->in->options->max_columns,
                              (size_t)s->in->options->max_cell_bytes, err);

    pthread_mutex_lock(&s->lock);
    *known = s->nkeys;
    for (size_t i = 0; i < s->nkeys && rc == AL_OK; i++)
        if (al_jsonrows_know(*rows, s->keys[i].text, s->keys[i].len) != AL_OK)
            rc = no_memory(err);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

static int segment_run(al_job *job, al_rows *out, al_err *err)
{
    struct segment *g = (struct segment *)job;
    al_batch b = { .rows = 1 };
    int rc;

    al_jsonrows_close(g->rows);
    rc = open_rows(g->state, &g->text, &g->rows, &g->known, err);
    while (rc == AL_OK && b.rows > 0) {
        rc = al_jsonrows_next(g->rows, SIZE_MAX, &b, err);
        if (rc == AL_OK && b.rows > 0)
            rc = al_rows_add(out, &b, err);
    }
    return rc;
}

static void add_odd(al_json_odd *to, const al_json_odd *from)
{
    for (uint64_t i = 0; i < from->repeats && i < AL_JSON_NOTED; i++)
        if (to->repeats + i < AL_JSON_NOTED)
            to->lines[to->repeats + i] = from->lines[i];
    to->repeats += from->repeats;
    to->replaced += from->replaced;
}

static int segment_turn(al_job *job, al_err *err)
{
    struct segment *g = (struct segment *)job;
    struct state *s = g->state;
    int rc = AL_OK;

    if (g->known < s->nkeys)
        return AL_JOB_AGAIN;
    for (size_t i = s->nkeys; i < al_jsonrows_columns(g->rows) && rc == AL_OK; i++) {
        size_t len;
        const char *key = al_jsonrows_key(g->rows, i, &len);
        const al_cell label = al_cell_text(key, len);

        pthread_mutex_lock(&s->lock);
        rc = keep_key(s, key, len) == AL_OK ? AL_OK : no_memory(err);
        pthread_mutex_unlock(&s->lock);
        if (rc == AL_OK)
            rc = al_dataset_column(s->in->dataset, &label, err);
    }
    add_odd(&s->odd, al_jsonrows_odd(g->rows));
    return rc;
}

static void segment_free(al_job *job)
{
    struct segment *g = (struct segment *)job;

    al_jsonrows_close(g->rows);
    if (g->buffer)
        al_window_give(&g->state->window, g->buffer);
    free(g);
}

/* Characters of valid UTF-8: the bytes that continue none. */
static uint64_t characters(const char *p, const char *end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t n = (uint64_t)(end - p), word;

    for (; end - p >= 8; p += 8) {
        memcpy(&word, p, 8);
        n -= ((word >> 7 & ~word >> 6 & ones) * ones) >> 56;
    }
    for (; p < end; p++)
        n -= ((unsigned char)*p & 0xC0) == 0x80;
    return n;
}

/* What is left of a text behind its first n bytes. */
static al_json_segment behind(const al_json_segment *text, size_t n)
{
    const char *p = text->text, *end = p + n, *lf;
    al_json_segment rest = *text;

    while ((lf = memchr(p, '\n', (size_t)(end - p)))) {
        rest.line++;
        rest.column = 0;
        p = lf + 1;
    }
    rest.column += characters(p, end);
    rest.first &= n == 0;
    rest.text += n;
    rest.len -= n;
    rest.offset += n;
    return rest;
}

/* The first len bytes of what is left become a segment, and the window goes on behind them. */
static int submit(struct state *s, size_t len, al_err *err)
{
    struct segment *g = calloc(1, sizeof *g);
    const size_t from = s->at;
    al_json_segment next;

    if (!g)
        return no_memory(err);
    g->job = (al_job){ s->scan.objects, segment_run, segment_turn, segment_free };
    g->state = s;
    g->text = left(s);
    if (s->shape == AL_JSON_LINES) {
        s->line += s->scan.lines;
    } else {
        next = behind(&g->text, len);
        s->line = next.line;
        s->column = next.column;
    }
    s->first = false;
    al_json_scan_open(&s->scan, s->shape, false);
    g->text.last &= len == g->text.len;
    g->text.len = len;
    g->buffer = al_window_take(&s->window, from + len);
    s->at = 0;
    if (!g->buffer) {
        segment_free(&g->job);
        return no_memory(err);
    }
    g->text.text = g->buffer + from;
    return al_dataset_submit(s->in->dataset, &g->job, err);
}

static int too_long(uint64_t line, al_err *err)
{
    al_err_setf(err, AL_ELIMIT, "ingest_limit", "row", "an object takes more than %u bytes",
                AL_JSON_MAX_RECORD);
    if (err)
        err->line = line;
    return AL_ELIMIT;
}

/* Whether more text may take the error away. */
static bool may_pass(const al_json_segment *text, const al_err *e)
{
    if (text->last || e->code != AL_EDATA || !e->reason)
        return false;
    return strcmp(e->reason, "truncated") == 0 || e->offset + 16 >= text->offset + text->len;
}

/* Looks at the objects in front of text, up to the first with a key in it, for an error that is
 * there whatever follows. *rows, which the caller closes, then knows the keys, or none. */
static int look(struct state *s, const al_json_segment *text, al_jsonrows **rows, al_err *err)
{
    al_err found = { 0 };
    al_batch b;
    size_t known;
    int rc = open_rows(s, text, rows, &known, &found);

    if (rc == AL_OK) {
        do
            rc = al_jsonrows_next(*rows, 1, &b, &found);
        while (rc == AL_OK && b.rows > 0 && al_jsonrows_columns(*rows) == 0);
    }
    if (rc == AL_OK || may_pass(text, &found))
        return AL_OK;
    if (err)
        *err = found;
    return rc;
}

/* The same for an object that seems not to end; an error in those in front of it comes first. */
static int look_at_last(struct state *s, const al_json_segment *text, al_err *err)
{
    al_json_segment ended = *text, last = behind(text, s->scan.end);
    al_jsonrows *rows;
    al_err found = { 0 };
    al_batch b = { .rows = 1 };
    size_t known;
    int rc = AL_OK, before = AL_OK;

    if (s->scan.at - s->scan.end > AL_JSON_MAX_RECORD) {
        rc = too_long(last.line, &found);
    } else {
        rc = look(s, &last, &rows, &found);
        al_jsonrows_close(rows);
    }
    if (rc == AL_OK)
        return rc;
    if (s->scan.end > 0) {
        ended.len = s->scan.end;
        ended.last = false;
        before = open_rows(s, &ended, &rows, &known, err);
        while (before == AL_OK && b.rows > 0)
            before = al_jsonrows_next(rows, SIZE_MAX, &b, err);
        al_jsonrows_close(rows);
    }
    if (before != AL_OK)
        return before;
    if (err)
        *err = found;
    return rc;
}

static int read_segments(struct state *s, al_err *err)
{
    size_t looked = LOOK_BYTES;

    for (;;) {
        al_json_segment text = left(s);
        size_t limit = (size_t)(AL_DATASET_SEGMENT - text.offset % AL_DATASET_SEGMENT);
        bool whole = al_json_scan_text(&s->scan, text.text, text.len, text.last, limit);
        size_t open = s->scan.at - s->scan.end;
        int rc = AL_OK;

        if (open > looked || open > AL_JSON_MAX_RECORD) {
            rc = look_at_last(s, &text, err);
            looked = 2 * open;
        }
        if (rc == AL_OK && (text.last || (whole && s->scan.end < text.len))) {
            bool over = !whole || s->scan.end == text.len;

            rc = submit(s, whole ? s->scan.end : text.len, err);
            if (over)
                return rc;
            looked = LOOK_BYTES;
            if (rc == AL_OK)
                rc = al_ingest_step(s->in, err);
        } else if (rc == AL_OK) {
            rc = more(s, err);
        }
        if (rc != AL_OK)
            return rc;
    }
}

/* ---- the front ---- */

static int empty(const char *detail, al_err *err)
{
    al_err_set(err, AL_EDATA, "ingest_invalid", "input", detail);
    return al_err_reason(err, AL_EDATA, "empty");
}

/* Under the name .json an array, or objects one behind the other. */
static int find_shape(struct state *s, al_err *err)
{
    size_t i = 0;

    while (!(i < s->window.len && !is_space(s->window.data[i]))) {
        int rc;

        if (i < s->window.len) {
            i++;
            continue;
        }
        if (s->window.last)
            return empty("there is nothing in it", err);
        if (i > AL_JSON_MAX_RECORD)
            return too_long(s->line, err);
        rc = more(s, err);
        if (rc != AL_OK)
            return rc;
    }
    s->shape = strcmp(s->in->meta.format, "jsonl") == 0 ? AL_JSON_LINES
               : s->window.data[i] == '['               ? AL_JSON_LIST
                                                        : AL_JSON_STREAM;
    al_json_scan_open(&s->scan, s->shape, true);
    return AL_OK;
}

static int sheet_with_keys(struct state *s, const al_jsonrows *rows, al_err *err)
{
    size_t n = al_jsonrows_columns(rows);
    al_cell *labels = malloc(n * sizeof *labels);
    int rc = labels ? AL_OK : no_memory(err);

    for (size_t i = 0; i < n && rc == AL_OK; i++) {
        size_t len;
        const char *key = al_jsonrows_key(rows, i, &len);

        labels[i] = al_cell_text(key, len);
        rc = keep_key(s, key, len) == AL_OK ? AL_OK : no_memory(err);
    }
    if (rc == AL_OK)
        rc = al_dataset_sheet(s->in->dataset, "data", "data", labels, n, err);
    free(labels);
    return rc;
}

/* Begins the sheet with the keys of the first object that has any. */
static int begin_sheet(struct state *s, al_err *err)
{
    int rc = find_shape(s, err);

    while (rc == AL_OK) {
        const al_json_segment text = left(s);
        al_jsonrows *rows;

        rc = look(s, &text, &rows, err);
        if (rc == AL_OK && al_jsonrows_columns(rows) > 0) {
            rc = sheet_with_keys(s, rows, err);
            al_jsonrows_close(rows);
            return rc;
        }
        al_jsonrows_close(rows);
        if (rc == AL_OK && s->window.last)
            rc = empty("there is no object with a key in it", err);
        if (rc == AL_OK && s->window.len > AL_JSON_MAX_RECORD)
            rc = too_long(s->line, err);
        if (rc == AL_OK)
            rc = more(s, err);
    }
    return rc;
}

static void note_all(struct state *s)
{
    const al_json_odd *o = &s->odd;

    al_ingest_note(s->in, "repeated_keys", o->repeats, o->lines,
                   o->repeats < AL_JSON_NOTED ? (size_t)o->repeats : AL_JSON_NOTED);
    al_ingest_note(s->in, "replaced_characters", s->window.replaced + o->replaced, NULL, 0);
}

static int read_as(al_ingest *in, const char *encoding, al_err *err)
{
    struct state s = { .in = in, .line = 1, .first = true };
    al_err before = { 0 };
    int rc = al_ingest_begin(in, err), ended = AL_OK;

    pthread_mutex_init(&s.lock, NULL);
    if (rc == AL_OK)
        rc = al_window_open(&s.window, in->source, encoding,
                            in->options->window ? in->options->window : WINDOW_BYTES, err);
    if (rc == AL_OK)
        rc = al_window_more(&s.window, 0, err);
    if (rc == AL_OK) {
        in->meta.encoding = al_window_encoding(&s.window);
        rc = begin_sheet(&s, err);
    }
    if (rc == AL_OK) {
        rc = read_segments(&s, err);
        ended = al_dataset_wait(in->dataset, &before);
    }
    if (ended != AL_OK) { /* what went wrong in a segment before comes first */
        rc = ended;
        if (err)
            *err = before;
    }
    if (rc == AL_OK)
        note_all(&s);
    al_window_close(&s.window);
    for (size_t i = 0; i < s.nkeys; i++)
        free(s.keys[i].text);
    free(s.keys);
    pthread_mutex_destroy(&s.lock);
    return rc;
}

int al_read_json(al_ingest *in, al_err *err)
{
    return al_ingest_text(in, read_as, err);
}
