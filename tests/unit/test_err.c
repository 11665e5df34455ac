#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"
#include "unit.h"
#include <errno.h>

static void set_fills_every_field(void **state)
{
    al_err err;
    (void)state;
    memset(&err, 0x5A, sizeof err);
    assert_int_equal(al_err_set(&err, AL_EIO, "io_error", "a.csv", NULL), AL_EIO);
    assert_int_equal(err.code, AL_EIO);
    assert_string_equal(err.id, "io_error");
    assert_null(err.reason);
    assert_int_equal(err.line + err.column + err.offset, 0);
    assert_string_equal(err.object, "a.csv");
    assert_string_equal(err.detail, "");
    assert_int_equal(al_err_set(NULL, AL_EBUSY, "internal", "x", "y"), AL_EBUSY);
    assert_int_equal(al_err_reason(NULL, AL_EBUSY, "symlink"), AL_EBUSY);
    assert_int_equal(al_err_reason(&err, AL_EBUSY, "symlink"), AL_EIO);
    assert_string_equal(err.reason, "symlink");
}

static void long_texts_are_cut_between_characters(void **state)
{
    char text[2000];
    al_err err;
    (void)state;
    for (size_t i = 0; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "\xC3\xA9", 3);
    al_err_set(&err, AL_EIO, "io_error", text, text + 2);
    assert_int_equal(strlen(err.object), 510);
    assert_int_equal(strlen(err.detail), 254);
    assert_int_equal(al_utf8_valid(err.object, 510), 510);
    al_err_setf(&err, AL_EIO, "io_error", text, "a%s", text);
    assert_int_equal(strlen(err.detail), 255);
    assert_int_equal(al_utf8_valid(err.detail, 255), 255);
}

static void may_be_set_from_itself(void **state)
{
    al_err err;
    (void)state;
    al_err_set(&err, AL_EIO, "io_error", "name", "why");
    al_err_setf(&err, AL_EDATA, "ingest_invalid", err.object, "because %s", err.detail);
    assert_string_equal(err.object, "name");
    assert_string_equal(err.detail, "because why");
}

static void errno_has_its_ids(void **state)
{
    al_err err;
    (void)state;
    assert_int_equal(al_err_errno(&err, ENOSPC, "f"), AL_EIO);
    assert_string_equal(err.id, "no_space");
    al_err_errno(&err, EDQUOT, "f");
    assert_string_equal(err.id, "no_space");
    assert_int_equal(al_err_errno(&err, ENOENT, "f"), AL_ENOTFOUND);
    assert_string_equal(err.id, "not_found");
    assert_int_equal(al_err_errno(&err, EEXIST, "f"), AL_EEXISTS);
    assert_int_equal(al_err_errno(&err, EACCES, "f"), AL_EIO);
    assert_string_equal(err.id, "io_error");
    assert_string_equal(err.detail, strerror(EACCES));
}

static void text_names_the_place(void **state)
{
    char out[128];
    al_err err;
    (void)state;
    al_err_set(&err, AL_EDATA, "ingest_invalid", "a.json", "expected ','");
    assert_string_equal(al_err_text(&err, out, sizeof out), "a.json: expected ','");
    err.line = 3;
    assert_string_equal(al_err_text(&err, out, sizeof out), "a.json: expected ',' (line 3)");
    err.column = 7;
    assert_string_equal(al_err_text(&err, out, sizeof out),
                        "a.json: expected ',' (line 3, column 7)");
    assert_string_equal(al_err_text(&err, out, 7), "a.json");
    al_err_set(&err, AL_EDATA, "ingest_invalid", NULL, NULL);
    assert_string_equal(al_err_text(&err, out, sizeof out), "ingest_invalid");
}

static void crosses_a_process_and_back(void **state)
{
    al_err err, back;
    al_buf b;
    (void)state;
    al_buf_init(&b, 0);
    al_err_set(&err, AL_EDATA, "ingest_invalid", "a \"b\".csv", "bad \x01 byte");
    err.reason = "utf8";
    err.line = 4;
    err.column = 2;
    err.offset = 77;
    assert_int_equal(al_err_json(&err, &b), AL_OK);
    assert_string_equal(b.data, "{\"code\":\"ingest_invalid\",\"message\":\"a \\\"b\\\".csv: bad "
                                "\\u0001 byte (line 4, column 2)\",\"reason\":\"utf8\",\"line\":4,"
                                "\"column\":2,\"offset\":77,\"object\":\"a \\\"b\\\".csv\","
                                "\"detail\":\"bad \\u0001 byte\"}");
    assert_int_equal(al_err_parse(b.data, b.len, &back), AL_OK);
    assert_int_equal(back.code, AL_EDATA);
    assert_string_equal(back.id, "ingest_invalid");
    assert_string_equal(back.reason, "utf8");
    assert_int_equal(back.line, 4);
    assert_int_equal(back.column, 2);
    assert_int_equal(back.offset, 77);
    assert_string_equal(back.object, err.object);
    assert_string_equal(back.detail, err.detail);
    al_buf_free(&b);
}

/* Those of every reader: what is not known there is dropped. */
static void reasons_come_back(void **state)
{
    static const char *const reasons[] = { "corrupt", "damaged",   "depth",  "encrypted", "entries",
                                           "number",  "expansion", "shape",  "surrogate", "syntax",
                                           "sheet",   "trailing",  "utf8",   "view",      "xml",
                                           "maxRows", "truncated", "missing" };

    (void)state;
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        al_err err, back;
        al_buf b;

        al_err_set(&err, AL_EDATA, "ingest_invalid", "input", "wrong");
        al_err_reason(&err, AL_EDATA, reasons[i]);
        al_buf_init(&b, 0);
        assert_int_equal(al_err_json(&err, &b), AL_OK);
        assert_int_equal(al_err_parse(b.data, b.len, &back), AL_OK);
        assert_non_null(back.reason);
        assert_string_equal(back.reason, reasons[i]);
        al_buf_free(&b);
    }
}

static void hostile_errors_are_answered(void **state)
{
    static const char *const not_errors[] = {
        "", "[]", "{}", "{\"code\":7}", "{\"code\":\"\"}", "{\"code\":\"io_error\"", "\xFF"
    };
    const char *strange = "{\"code\":\"no_such_id\",\"reason\":\"no_such_reason\",\"line\":-5,"
                          "\"column\":1e3,\"offset\":\"x\",\"object\":[1],\"message\":\"hm\"}";
    al_err err;
    (void)state;
    for (size_t i = 0; i < sizeof not_errors / sizeof not_errors[0]; i++) {
        assert_int_equal(al_err_parse(not_errors[i], strlen(not_errors[i]), &err), AL_EDATA);
        assert_int_equal(err.code, AL_EDATA);
        assert_string_equal(err.id, "engine_failed");
    }
    assert_int_equal(al_err_parse(strange, strlen(strange), &err), AL_OK);
    assert_string_equal(err.id, "engine_failed");
    assert_int_equal(err.code, AL_EIO);
    assert_null(err.reason);
    assert_int_equal(err.line + err.column + err.offset, 0);
    assert_string_equal(err.object, "");
    assert_string_equal(err.detail, "hm");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_fills_every_field),
        cmocka_unit_test(long_texts_are_cut_between_characters),
        cmocka_unit_test(may_be_set_from_itself),
        cmocka_unit_test(errno_has_its_ids),
        cmocka_unit_test(text_names_the_place),
        cmocka_unit_test(crosses_a_process_and_back),
        cmocka_unit_test(reasons_come_back),
        cmocka_unit_test(hostile_errors_are_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
