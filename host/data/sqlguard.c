/* Lexical check, authorizer, progress handler, limits. */
#include "data/sqlguard.h"
#include "base/clock.h"
#include "data/dataset.h"
#include "data/sqlfunctions.h"
#include "data/vfs.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SOFT_HEAP  (INT64_C(192) << 20)
#define HARD_HEAP  (INT64_C(256) << 20)
#define TICK_STEPS 2000 /* virtual machine instructions between two looks at the clock */

struct al_guard {
    al_vfs vfs;
    sqlite3 *db;
    al_link *link;     /* NULL: nothing cancels */
    uint64_t deadline; /* nanoseconds; 0: none */
    bool stepping;     /* what runs, not what is compiled, asks the authorizer */
    int stopped;       /* why the progress handler said stop: AL_ETIMEOUT, AL_ECANCELED */
    char denied[128];  /* what the authorizer refused first */
};

/* Sorted. What later versions of SQLite add to it harmlessly stands here already. */
static const char *const functions[] = {
    "->",
    "->>",
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "avg",
    "ceil",
    "ceiling",
    "changes",
    "char",
    "coalesce",
    "concat",
    "concat_ws",
    "cos",
    "cosh",
    "count",
    "cume_dist",
    "current_date",
    "current_time",
    "current_timestamp",
    "date",
    "datetime",
    "degrees",
    "dense_rank",
    "exp",
    "first_value",
    "floor",
    "format",
    "glob",
    "group_concat",
    "hex",
    "if",
    "ifnull",
    "iif",
    "instr",
    "json",
    "json_array",
    "json_array_length",
    "json_error_position",
    "json_extract",
    "json_group_array",
    "json_group_object",
    "json_insert",
    "json_object",
    "json_patch",
    "json_pretty",
    "json_quote",
    "json_remove",
    "json_replace",
    "json_set",
    "json_type",
    "json_valid",
    "julianday",
    "lag",
    "last_value",
    "lead",
    "length",
    "like",
    "likelihood",
    "likely",
    "ln",
    "log",
    "log10",
    "log2",
    "lower",
    "ltrim",
    "max",
    "median",
    "min",
    "mod",
    "mode",
    "nth_value",
    "ntile",
    "nullif",
    "octet_length",
    "percent_rank",
    "percentile",
    "percentile_cont",
    "percentile_disc",
    "pi",
    "pow",
    "power",
    "printf",
    "quote",
    "radians",
    "random",
    "randomblob",
    "rank",
    "regexp",
    "replace",
    "round",
    "row_number",
    "rtrim",
    "sign",
    "sin",
    "sinh",
    "soundex",
    "sqlite_compileoption_get",
    "sqlite_compileoption_used",
    "sqlite_source_id",
    "sqlite_version",
    "sqrt",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "strftime",
    "string_agg",
    "substr",
    "substring",
    "subtype",
    "sum",
    "tan",
    "tanh",
    "time",
    "timediff",
    "total",
    "total_changes",
    "trim",
    "trunc",
    "typeof",
    "unhex",
    "unicode",
    "unixepoch",
    "unlikely",
    "upper",
    "var_pop",
    "var_samp",
    "variance",
    "zeroblob",
};

/* ---- the text ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

/* Behind the token at p, as SQLite cuts them, for those that may hold a semicolon: a quoted string
 * or name, or a comment (up to the end when it is never closed). Else one character. */
static const char *skip_token(const char *p, const char *end)
{
    char close = *p == '[' ? ']' : *p;

    if (*p == '-' && p + 1 < end && p[1] == '-') {
        const char *lf = memchr(p, '\n', (size_t)(end - p));

        return lf ? lf + 1 : end;
    }
    if (*p == '/' && p + 1 < end && p[1] == '*') {
        for (p += 2; p + 1 < end && !(p[0] == '*' && p[1] == '/'); p++)
            ;
        return p + 1 < end ? p + 2 : end;
    }
    if (*p != '\'' && *p != '"' && *p != '`' && *p != '[')
        return p + 1;
    for (p++; p < end; p++) {
        if (*p != close)
            continue;
        if (close == ']' || p + 1 == end || p[1] != close)
            return p + 1;
        p++; /* doubled */
    }
    return end;
}

static bool is_comment(const char *p, const char *end)
{
    return p + 1 < end && ((p[0] == '-' && p[1] == '-') || (p[0] == '/' && p[1] == '*'));
}

static const char *skip_blank(const char *p, const char *end)
{
    while (p < end && (is_space(*p) || is_comment(p, end)))
        p = is_space(*p) ? p + 1 : skip_token(p, end);
    return p;
}

/* Nothing but blanks and semicolons is left. */
static bool is_over(const char *p, const char *end)
{
    for (p = skip_blank(p, end); p < end && *p == ';';)
        p = skip_blank(p + 1, end);
    return p == end;
}

static int rejected(const char *detail, al_err *err)
{
    return al_err_set(err, AL_EDENIED, "query_rejected", "", detail);
}

static bool is_word(const char *p, const char *end, const char *word)
{
    size_t n = strlen(word);
    char next;

    if ((size_t)(end - p) < n || strncasecmp(p, word, n) != 0)
        return false;
    next = p + n < end ? p[n] : ' ';
    return !((next >= '0' && next <= '9') || ((next | 0x20) >= 'a' && (next | 0x20) <= 'z') ||
             next == '_' || next == '$' || (unsigned char)next >= 0x80);
}

int al_guard_check(const char *sql, size_t len, al_err *err)
{
    const char *p, *end = sql + len;

    if (len > AL_GUARD_MAX_SQL)
        return rejected("the statement is too long", err);
    if (memchr(sql, '\0', len))
        return rejected("the statement holds a NUL character", err);
    p = skip_blank(sql, end);
    if (p == end)
        return rejected("there is no statement", err);
    if (!is_word(p, end, "select") && !is_word(p, end, "with"))
        return rejected("a statement begins with SELECT or WITH", err);
    while (p < end && *p != ';')
        p = skip_token(p, end);
    return is_over(p, end) ? AL_OK : rejected("more than one statement", err);
}

/* ---- what a statement may do ---- */

static int deny(al_guard *g, const char *what, const char *name)
{
    if (!g->denied[0])
        snprintf(g->denied, sizeof g->denied, "%s%s%.60s", what, name ? " " : "", name ? name : "");
    return SQLITE_DENY;
}

static int compare_names(const void *a, const void *b)
{
    return strcasecmp(a, *(const char *const *)b);
}

/* Columns of a table may be asked for, and nothing else a pragma tells or does. */
static bool is_table_info(const char *name)
{
    return name && (strcasecmp(name, "table_info") == 0 || strcasecmp(name, "table_xinfo") == 0);
}

static int authorize(void *arg, int action, const char *a, const char *b, const char *database,
                     const char *inner)
{
    al_guard *g = arg;

    (void)database, (void)inner;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ: /* of what can be found: other virtual tables cannot connect */
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_FUNCTION:
        if (b && bsearch(b, functions, sizeof functions / sizeof functions[0], sizeof functions[0],
                         compare_names))
            return SQLITE_OK;
        return deny(g, "the function is not allowed:", b);
    case SQLITE_PRAGMA: /* those that pragma_table_info runs; no statement is one */
        if (g->stepping && is_table_info(a))
            return SQLITE_OK;
        return deny(g, "pragmas are not allowed:", a);
    case SQLITE_ATTACH:
    case SQLITE_DETACH: return deny(g, "other databases are not allowed", NULL);
    default: return deny(g, "only reading from the dataset's tables is allowed", NULL);
    }
}

static int tick(void *arg)
{
    al_guard *g = arg;

    if (g->deadline && al_clock_monotonic() > g->deadline)
        g->stopped = AL_ETIMEOUT;
    else if (g->link && al_link_check(g->link, NULL) != AL_OK)
        g->stopped = AL_ECANCELED;
    return g->stopped != 0;
}

/* ---- the connection ---- */

static int damaged(al_err *err, const char *detail)
{
    al_err_set(err, AL_EIO, "io_error", "dataset", detail);
    return al_err_reason(err, AL_EIO, "corrupt");
}

/* The statement's place for an offset of SQLite's. */
static void set_place(al_err *err, const char *sql, int offset)
{
    if (!err || !sql || offset < 0)
        return;
    err->line = 1;
    err->column = 1;
    err->offset = (uint64_t)offset;
    for (int i = 0; i < offset; i++) {
        err->column += ((unsigned char)sql[i] & 0xC0) != 0x80;
        if (sql[i] == '\n') {
            err->line++;
            err->column = 1;
        }
    }
}

/* Why SQLite said rc. */
static int failed(al_guard *g, int rc, const char *sql, al_err *err)
{
    const char *words = g->db ? sqlite3_errmsg(g->db) : sqlite3_errstr(rc);

    if (g->denied[0])
        return rejected(g->denied, err);
    if (g->stopped == AL_ECANCELED)
        return al_err_set(err, AL_ECANCELED, "cancelled", "", "");
    if (g->stopped == AL_ETIMEOUT)
        return al_err_set(err, AL_ETIMEOUT, "query_timeout", "analysis.data.queryTimeoutMs",
                          "the statement took too long");
    switch (rc & 0xFF) {
    case SQLITE_FULL:
        return al_err_set(err, AL_EIO, "no_space", "tmp", "no space for what does not fit memory");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return damaged(err, words);
    case SQLITE_IOERR: return al_err_set(err, AL_EIO, "io_error", "dataset", words);
    case SQLITE_NOMEM:
        return al_err_setf(err, AL_ENOMEM, "query_failed", "",
                           "the statement needs more than %d MiB of memory",
                           (int)(HARD_HEAP >> 20));
    default: al_err_set(err, AL_EDATA, "query_failed", "", words);
    }
    set_place(err, sql, g->db ? sqlite3_error_offset(g->db) : -1);
    return AL_EDATA;
}

static int run(al_guard *g, const char *sql)
{
    return sqlite3_exec(g->db, sql, NULL, NULL, NULL);
}

/* Tables made by this program, and nothing beside them. */
static int check_schema(al_guard *g, al_err *err)
{
    static const char sql[] = "SELECT count(*) FILTER (WHERE type<>'table' OR sql NOT LIKE "
                              "'CREATE TABLE \"%'), count(*) FILTER (WHERE name='_alisio_meta') "
                              "FROM sqlite_schema";
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(g->db, sql, -1, &stmt, NULL);
    bool good;

    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    good = rc == SQLITE_ROW && sqlite3_column_int(stmt, 0) == 0 && sqlite3_column_int(stmt, 1) == 1;
    if (rc == SQLITE_ROW)
        rc = good ? AL_OK : damaged(err, "the file is no dataset of this program");
    else
        rc = failed(g, rc, NULL, err);
    sqlite3_finalize(stmt);
    return rc;
}

static void set_limits(sqlite3 *db)
{
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 64 << 20);
    sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, AL_GUARD_MAX_SQL);
    sqlite3_limit(db, SQLITE_LIMIT_VDBE_OP, 1000 * 1000);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 2000);
    sqlite3_limit(db, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
    sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
}

static void set_config(sqlite3 *db)
{
    static const struct {
        int what, value;
    } settings[] = {
        { SQLITE_DBCONFIG_DEFENSIVE, 1 },
        { SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
        { SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
        { SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 },
        { SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
        { SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0 },
        { SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0 },
        { SQLITE_DBCONFIG_DQS_DML, 0 }, /* "nope" is a column that is missing, not a text */
        { SQLITE_DBCONFIG_DQS_DDL, 0 },
    };

    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        sqlite3_db_config(db, settings[i].what, settings[i].value, NULL);
}

/* Table-valued functions must connect while nothing forbids the table they declare. */
static int connect_functions(al_guard *g)
{
    int rc = run(g, "SELECT 1 FROM json_each('[]'), json_tree('[]')");

    if (rc == SQLITE_OK)
        rc = run(g, "SELECT 1 FROM pragma_table_info(''), pragma_table_xinfo('')");
    return rc;
}

static int open_db(al_guard *g, al_err *err)
{
    int rc =
        sqlite3_open_v2("file:dataset?immutable=1", &g->db,
                        SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, g->vfs.name);

    if (rc != SQLITE_OK)
        return failed(g, rc, NULL, err);
    set_config(g->db);
    set_limits(g->db);
    rc = al_sqlfunctions_add(g->db);
    if (rc == SQLITE_OK)
        rc = run(g, "PRAGMA query_only=1; PRAGMA cell_size_check=1; PRAGMA cache_size=-32768;");
    if (rc == SQLITE_OK && g->vfs.tmp < 0)
        rc = run(g, "PRAGMA temp_store=memory");
    if (rc != SQLITE_OK)
        return failed(g, rc, NULL, err);
    rc = check_schema(g, err);
    if (rc != AL_OK)
        return rc;
    rc = connect_functions(g);
    if (rc != SQLITE_OK)
        return failed(g, rc, NULL, err);
    sqlite3_set_authorizer(g->db, authorize, g);
    sqlite3_progress_handler(g->db, TICK_STEPS, tick, g);
    return AL_OK;
}

int al_guard_open(al_guard **out, int fd, int tmp, al_err *err)
{
    al_guard *g = calloc(1, sizeof *g);
    int rc;

    *out = NULL;
    if (!g)
        return al_err_set(err, AL_ENOMEM, "internal", "dataset", "not enough memory");
    sqlite3_soft_heap_limit64(SOFT_HEAP);
    sqlite3_hard_heap_limit64(HARD_HEAP);
    rc = al_vfs_open(&g->vfs, fd, tmp, err);
    if (rc == AL_OK)
        rc = open_db(g, err);
    if (rc != AL_OK)
        al_guard_close(g);
    else
        *out = g;
    return rc;
}

void al_guard_close(al_guard *g)
{
    if (!g)
        return;
    sqlite3_close(g->db);
    al_vfs_close(&g->vfs);
    free(g);
}

void al_guard_limit(al_guard *g, al_link *link, uint64_t ms)
{
    g->link = link;
    g->deadline = al_clock_monotonic() + ms * 1000000;
}

int al_guard_prepare(al_guard *g, const char *sql, size_t len, sqlite3_stmt **out, al_err *err)
{
    const char *tail = NULL;
    int rc = al_guard_check(sql, len, err);

    *out = NULL;
    if (rc != AL_OK)
        return rc;
    g->denied[0] = '\0';
    rc = sqlite3_prepare_v2(g->db, sql, (int)len, out, &tail);
    if (rc != SQLITE_OK)
        return failed(g, rc, sql, err);
    if (!*out || !is_over(tail, sql + len))
        rc = rejected("more than one statement", err);
    else if (!sqlite3_stmt_readonly(*out) || sqlite3_stmt_isexplain(*out))
        rc = rejected("only reading from the dataset's tables is allowed", err);
    if (rc != AL_OK) {
        sqlite3_finalize(*out);
        *out = NULL;
    }
    return rc;
}

int al_guard_step(al_guard *g, sqlite3_stmt *stmt, al_err *err)
{
    int rc;

    g->stepping = true;
    rc = sqlite3_step(stmt);
    g->stepping = false;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? rc : failed(g, rc, sqlite3_sql(stmt), err);
}
