#include "base/buf.h"
#include "data/xml.h"
#include "unit.h"
#include <stdlib.h>

/* What comes of a document, as text: <name a=v>, </name>, texts as they are. */
struct log {
    al_buf b;
    al_xml *xml;
    uint64_t end_of_a; /* offset behind the first </a> */
    const char *refuse;
};

static al_err err;

static void put_name(al_buf *b, const al_xml_name *name)
{
    if (name->space_len) {
        al_buf_add(b, name->space, name->space_len);
        al_buf_char(b, '|');
    }
    al_buf_add(b, name->local, name->len);
}

static int on_start(void *data, const al_xml_name *name, const al_xml_attr *attrs, size_t n,
                    al_err *e)
{
    struct log *l = data;

    if (l->refuse && al_xml_is(name->local, name->len, l->refuse, strlen(l->refuse)))
        return al_err_set(e, AL_ELIMIT, "ingest_limit", "here", "enough");
    al_buf_char(&l->b, '<');
    put_name(&l->b, name);
    for (size_t i = 0; i < n; i++) {
        al_buf_char(&l->b, ' ');
        put_name(&l->b, &attrs[i].name);
        al_buf_char(&l->b, '=');
        al_buf_add(&l->b, attrs[i].value, attrs[i].len);
    }
    return al_buf_char(&l->b, '>');
}

static int on_end(void *data, const al_xml_name *name, al_err *e)
{
    struct log *l = data;

    (void)e;
    if (AL_XML_IS(name, "a") && !l->end_of_a)
        l->end_of_a = al_xml_offset(l->xml);
    al_buf_str(&l->b, "</");
    put_name(&l->b, name);
    return al_buf_char(&l->b, '>');
}

static int on_text(void *data, const char *text, size_t len, al_err *e)
{
    struct log *l = data;

    (void)e;
    return al_buf_add(&l->b, text, len);
}

static struct log events_log;

/* Feeds the document in pieces of n bytes, what was not used again in front of the next. */
static bool scan; /* the scanner comes first */

static int read_in(const char *doc, size_t len, size_t n, bool namespaces)
{
    static al_xml_events events = { .start = on_start, .end = on_end, .text = on_text };
    size_t from = 0, to = 0, used;
    char *piece;
    int rc;

    memset(&err, 0, sizeof err);
    al_buf_clear(&events_log.b);
    events_log.end_of_a = 0;
    events.namespaces = namespaces;
    events.scan = scan && !namespaces;
    rc = al_xml_open(&events_log.xml, "part.xml", &events, &events_log, &err);
    for (bool last = false; rc == AL_OK && !last;) {
        to = to + n < len ? to + n : len;
        last = to == len;
        piece = malloc(to - from + 1); /* nothing behind it may be read */
        memcpy(piece, doc + from, to - from);
        rc = al_xml_feed(events_log.xml, piece, to - from, last, &used, &err);
        assert_true(used <= to - from && (rc != AL_OK || !last || used == to - from));
        from += used;
        free(piece);
    }
    al_xml_close(events_log.xml);
    return rc;
}

static void gives(const char *doc, const char *want)
{
    for (size_t n = 1; n < strlen(doc) + 2; n++) {
        if (read_in(doc, strlen(doc), n, false) != AL_OK)
            fail_msg("%s: %s", doc, err.detail);
        assert_string_equal(events_log.b.data, want);
    }
}

static void fails(const char *doc, const char *says)
{
    for (size_t n = 1; n < strlen(doc) + 2; n++) {
        if (read_in(doc, strlen(doc), n, false) != AL_EDATA)
            fail_msg("%s is accepted", doc);
        assert_string_equal(err.id, "ingest_invalid");
        assert_string_equal(err.object, "part.xml");
        if (!strstr(err.detail, says))
            fail_msg("%s: %s does not say %s", doc, err.detail, says);
    }
}

static void documents(void **state)
{
    (void)state;
    gives("<a/>", "<a></a>");
    gives(
        "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\r\n<a b='1' c=\"x\">t</a>\n",
        "<a b=1 c=x>t</a>");
    gives("<a><b x='1'/>one<c>two</c>\n</a>", "<a><b x=1></b>one<c>two</c>\n</a>");
    gives("<x:a xmlns:x='u' x:b='1'/>", "<x|a xmlns|x=u x|b=1></x|a>");
    gives("<a>&lt;&amp;&gt;&quot;&apos;&#65;&#x42;&#x1F600;</a>",
          "<a><&>\"'AB\xF0\x9F\x98\x80</a>");
    gives("<a b='&lt;&#10;\n\t.'/>", "<a b=<\n  .></a>");
    gives("<a><!-- c --><![CDATA[<&]]>x<?pi y?></a><!-- d -->", "<a><&x</a>");
    gives("<a>1\r\n2\r3\n4</a>", "<a>1\n2\n3\n4</a>");
    gives("<a\n b = '1'\t></a >", "<a b=1></a>");
    gives("\xEF\xBB\xBF<a>\xC3\xA9\xE2\x82\xAC</a>", "<a>\xC3\xA9\xE2\x82\xAC</a>");
    gives("<?xml version='1.0' encoding='ISO-8859-1'?><a>\xE9</a>", "<a>\xC3\xA9</a>");
    gives("<a>]]</a>", "<a>]]</a>");
    gives("<\xC3\xA9>x</\xC3\xA9>", "<\xC3\xA9>x</\xC3\xA9>");
}

static void utf16(void **state)
{
    static const char doc[] = "\xFF\xFE<\0a\0>\0\xE9\0<\0/\0a\0>\0";

    (void)state;
    for (size_t n = 1; n < sizeof doc; n++) {
        assert_int_equal(read_in(doc, sizeof doc - 1, n, false), AL_OK);
        assert_string_equal(events_log.b.data, "<a>\xC3\xA9</a>");
    }
}

static void not_well_formed(void **state)
{
    (void)state;
    fails("", "no element");
    fails("<a>", "no element");
    fails("<a", "unclosed token");
    fails("<a></b>", "mismatched tag");
    fails("<a/><b/>", "junk");
    fails("<a/>x", "junk");
    fails("text", "syntax");
    fails("<a b='1' b='2'/>", "duplicate");
    fails("<a>&nbsp;</a>", "undefined entity");
    fails("<a>]]></a>", "invalid token");
    fails("<a b='<'/>", "invalid token");
    fails("<a b=1/>", "invalid token");
    fails("<a>\x01</a>", "invalid token");
    fails("<a>\xC3</a>", "invalid token");
    fails("<a>\xED\xA0\x80</a>", "invalid token");
    fails("<a>\xEF\xBF\xBF</a>", "invalid token");
    fails("<a>&#0;</a>", "character number");
    fails("<a>& b</a>", "invalid token");
    fails("<a><b></a></b>", "mismatched tag");
}

static void no_document_type(void **state)
{
    (void)state;
    fails("<!DOCTYPE a><a/>", "document type");
    fails("<?xml version='1.0'?>\n<!DOCTYPE a [<!ENTITY b 'bbbbb'>]><a>&b;</a>", "document type");
    fails("<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>", "document type");
}

static void offsets(void **state)
{
    static const struct {
        const char *doc;
        uint64_t at;
    } cases[] = {
        { "<r><a/>x</r>", 7 },
        { "<r><a>x</a>x</r>", 11 },
        { "<r><!-- c --><a>x</a>x</r>", 21 },
        { "<r>&amp;<b/><a>\r\n</a><a/></r>", 21 },
        { "<?xml version=\"1.0\"?>\n<a/>", 26 },
        { "<r>\xC3\xA9<?pi?><a>1</a></r>", 19 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t n = 1; n < 40; n++) {
            assert_int_equal(read_in(cases[i].doc, strlen(cases[i].doc), n, false), AL_OK);
            assert_int_equal(events_log.end_of_a, cases[i].at);
        }
}

static void namespaces(void **state)
{
    static const char doc[] = "<a xmlns='one' xmlns:t='two' t:b='1' c='2'><t:d/><e xmlns=''/></a>";

    (void)state;
    assert_int_equal(read_in(doc, strlen(doc), 7, true), AL_OK);
    assert_string_equal(events_log.b.data, "<one|a two|b=1 c=2><two|d></two|d><e></e></one|a>");
}

static void handlers_stop_it(void **state)
{
    (void)state;
    events_log.refuse = "stop";
    for (size_t n = 1; n < 20; n++) {
        assert_int_equal(read_in("<a><stop/><b/></a>", 18, n, false), AL_ELIMIT);
        assert_string_equal(err.object, "here");
        assert_string_equal(events_log.b.data, "<a>");
    }
    events_log.refuse = NULL;
}

static void too_deep(void **state)
{
    al_buf doc;

    (void)state;
    al_buf_init(&doc, 0);
    for (int i = 0; i < AL_XML_DEPTH; i++)
        al_buf_str(&doc, "<a>");
    for (int i = 0; i < AL_XML_DEPTH; i++)
        al_buf_str(&doc, "</a>");
    assert_int_equal(read_in(doc.data, doc.len, 100, false), AL_OK);
    al_buf_clear(&doc);
    for (int i = 0; i <= AL_XML_DEPTH; i++)
        al_buf_str(&doc, "<a>");
    assert_int_equal(read_in(doc.data, doc.len, 100, false), AL_EDATA);
    assert_non_null(strstr(err.detail, "deep"));
    al_buf_free(&doc);
}

static void too_long_a_tag(void **state)
{
    size_t len = AL_XML_TOKEN + 200000;
    char *doc = malloc(len);

    (void)state;
    memset(doc, 'x', len);
    memcpy(doc, "<a b='", 6);
    assert_int_equal(read_in(doc, len, 60000, false), AL_EDATA);
    assert_non_null(strstr(err.detail, "too long"));
    free(doc);
}

static int set_up(void **state)
{
    (void)state;
    al_buf_init(&events_log.b, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    al_buf_free(&events_log.b);
    return 0;
}

static int with_expat(void **state)
{
    scan = false;
    return set_up(state);
}

static int with_scanner(void **state)
{
    scan = true;
    return set_up(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents),        cmocka_unit_test(utf16),
        cmocka_unit_test(not_well_formed),  cmocka_unit_test(no_document_type),
        cmocka_unit_test(offsets),          cmocka_unit_test(namespaces),
        cmocka_unit_test(handlers_stop_it), cmocka_unit_test(too_deep),
        cmocka_unit_test(too_long_a_tag),
    };
    int failed = cmocka_run_group_tests_name("by expat", tests, with_expat, tear_down);

    return failed + cmocka_run_group_tests_name("by the scanner", tests, with_scanner, tear_down);
}
