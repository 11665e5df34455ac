/* For the tests of workbooks: they are put together, ingested, and their tables shown as text. */
#ifndef TESTS_WORKBOOK_H
#define TESTS_WORKBOOK_H
#include "data.h"
#include "data/ingest.h"
#include "zipmaker.h"

static char path[256];
static int output;
static al_buf bytes, result; /* of the workbook; of the ingestion */
static al_err err;
static al_ingest_options options;

static inline int set_up(void **state)
{
    (void)state;
    al_buf_init(&bytes, 0);
    al_buf_init(&result, 0);
    al_ingest_defaults(&options);
    options.name = "book.xlsx";
    output = file_with("", 0, path);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    close(output);
    unlink(path);
    al_buf_free(&bytes);
    al_buf_free(&result);
    return 0;
}

static inline int ingest(void)
{
    int input = file_with(bytes.data, bytes.len, NULL), rc;
    al_link nobody;

    al_link_init(&nobody, -1);
    memset(&err, 0, sizeof err);
    al_buf_clear(&result);
    assert_int_equal(ftruncate(output, 0), 0);
    rc = al_ingest_run(&options, input, output, &nobody, &result, &err);
    close(input);
    if (rc != AL_OK)
        assert_int_equal(lseek(output, 0, SEEK_END), 0);
    return rc;
}

static inline bool says(const char *part)
{
    return strstr(result.data, part) != NULL;
}

/* The columns of the table, `|`, its rows with `/` between: values as SQL quotes them. */
static inline void holds(const char *table, const char *want)
{
    sqlite3 *db = open_file(path);
    sqlite3_stmt *stmt;
    al_buf sql, got;

    assert_string_equal(ask(db, "PRAGMA integrity_check"), "ok");
    al_buf_init(&sql, 0);
    al_buf_init(&got, 0);
    al_buf_printf(&sql, "SELECT * FROM \"%s\" ORDER BY rowid", table);
    if (sqlite3_prepare_v2(db, sql.data, -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql.data, sqlite3_errmsg(db));
    for (int i = 0; i < sqlite3_column_count(stmt); i++)
        al_buf_printf(&got, "%s%s", i ? "," : "", sqlite3_column_name(stmt, i));
    al_buf_char(&got, '|');
    for (int row = 0; sqlite3_step(stmt) == SQLITE_ROW; row++)
        for (int i = 0; i < sqlite3_column_count(stmt); i++) {
            const char *text = (const char *)sqlite3_column_text(stmt, i);
            bool quoted = sqlite3_column_type(stmt, i) == SQLITE_TEXT;

            al_buf_printf(&got, "%s%s%s%s",
                          i     ? ","
                          : row ? "/"
                                : "",
                          quoted ? "'" : "", text ? text : "-", quoted ? "'" : "");
        }
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    assert_string_equal(got.data, want);
    al_buf_free(&sql);
    al_buf_free(&got);
}

/* Ingests, and compares as above. */
static inline void gives(const char *table, const char *want)
{
    if (ingest() != AL_OK)
        fail_msg("%s: %s: %s", err.id, err.object, err.detail);
    holds(table, want);
}

/* Cells in a column with the header "v", a row each, and what `holds` shows of them. */
struct shown {
    const char *cell, *want;
};

static inline void shows(void (*sheet_of)(const char *rows), const char *row, const char *header,
                         const struct shown *cases, size_t n)
{
    al_buf rows, want;

    al_buf_init(&rows, 0);
    al_buf_init(&want, 0);
    al_buf_printf(&rows, "<%s>%s</%s>", row, header, row);
    al_buf_str(&want, "v|");
    for (size_t i = 0; i < n; i++) {
        al_buf_printf(&rows, "<%s>%s</%s>", row, cases[i].cell, row);
        al_buf_printf(&want, "%s%s", i ? "/" : "", cases[i].want);
    }
    sheet_of(rows.data);
    gives("s_sheet1", want.data);
    al_buf_free(&rows);
    al_buf_free(&want);
}

static inline void fails(int code, const char *id, const char *object, const char *detail)
{
    assert_int_equal(ingest(), code);
    assert_string_equal(err.id, id);
    assert_string_equal(err.object, object);
    if (!strstr(err.detail, detail))
        fail_msg("%s does not say %s", err.detail, detail);
}

#endif
