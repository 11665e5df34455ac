/* That it gives the same events as expat is what test_xml.c and the fuzzer look at; here, that it
 * does not leave to expat what is usual. */
#include "data/xmlscan.h"
#include "unit.h"

static int on_start(void *data, const al_xml_name *name, const al_xml_attr *attrs, size_t n,
                    al_err *err)
{
    (void)name, (void)attrs, (void)n, (void)err;
    ++*(int *)data;
    return AL_OK;
}

static int on_end(void *data, const al_xml_name *name, al_err *err)
{
    (void)data, (void)name, (void)err;
    return AL_OK;
}

static const al_xml_events events = { .start = on_start, .end = on_end };

/* How many bytes it takes of the document, and what it says then. */
static al_xmlscan_end scan(const char *doc, size_t *used, bool *ended)
{
    int rc, elements = 0;
    al_xmlscan s = { .events = &events, .data = &elements };
    al_xmlscan_end end = al_xmlscan_feed(&s, doc, strlen(doc), used, &rc, NULL);

    assert_int_equal(s.at, *used);
    *ended = s.ended;
    al_xmlscan_free(&s);
    return end;
}

static void usual(void **state)
{
    static const char *const docs[] = {
        "<a/>",
        "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\r\n<a/>\r\n",
        "<?xml version='1.0' encoding='utf-8'?><a></a >",
        "<?xml version=\"1.0\"?>\n<a b=\"1\" c='2'\n\td = 'x\"y'>t</a>",
        "<x:a xmlns:x=\"http://x/y\"><x:b r=\"A1\" s=\"2\" x:t='s'/>\t\n</x:a>",
        "<a>&amp;&lt;&gt;&quot;&apos;&#10;&#xe9;&#x1F600;</a>",
        "<a b='\xC3\xA9\xE2\x82\xAC'>\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80 ] ]] > ' \" ]</a>",
    };
    size_t used;
    bool ended;

    (void)state;
    for (size_t i = 0; i < sizeof docs / sizeof docs[0]; i++)
        if (scan(docs[i], &used, &ended) != AL_XMLSCAN_MORE || !ended || used != strlen(docs[i]))
            fail_msg("stops at %zu of %s", used, docs[i]);
}

/* `|` shows where it stops. */
static void for_expat(void **state)
{
    static const char *const docs[] = {
        "|\xEF\xBB\xBF<a/>",
        "|<?xml version='1.1'?><a/>",
        "|<?xml version='1.0' encoding='latin1'?><a/>",
        "|<?xml-stylesheet?><a/>",
        "|<!DOCTYPE a><a/>",
        "|<!-- c --><a/>",
        "|<\xC3\xA9/>",
        "|<a b='&amp;'/>",
        "|<a b='1\n2'/>",
        "|<a b=1/>",
        "|<a b='1'c='2'/>",
        "|<a b='1' x:b='2'/>",
        "|<a / >",
        "|<a b/>",
        "|x",
        "<a>|<!-- c --></a>",
        "<a>|<![CDATA[x]]></a>",
        "<a>x|<?pi?></a>",
        "<a>x|\r\n</a>",
        "<a>|&nbsp;</a>",
        "<a>|&#0;</a>",
        "<a>|&#xD800;</a>",
        "<a>|&#;</a>",
        "<a>x|]]></a>",
        "<a>x|\x01</a>",
        "<a>x|\xED\xA0\x80 </a>",
        "<a>x|\xEF\xBF\xBE </a>",
        "<a>|</b>",
        "<a/>|<b/>",
        "<a/>|</a>",
    };
    size_t used;
    bool ended;

    (void)state;
    for (size_t i = 0; i < sizeof docs / sizeof docs[0]; i++) {
        const char *stop = strchr(docs[i], '|');
        char doc[100];

        snprintf(doc, sizeof doc, "%.*s%s", (int)(stop - docs[i]), docs[i], stop + 1);
        if (scan(doc, &used, &ended) != AL_XMLSCAN_OTHER || used != (size_t)(stop - docs[i]))
            fail_msg("stops at %zu of %s", used, docs[i]);
    }
}

static void not_whole_yet(void **state)
{
    static const char *const docs[] = {
        "|<?xml version='1.0'",
        "|<a b='1",
        "|<a b='1'",
        "|<a /",
        "|<",
        "<a>x|</a",
        "<a>x|</",
        "<a>x|&am",
        "<a>x|]",
        "<a>x|]]",
        "<a>x|\xE2\x82",
    };
    size_t used;
    bool ended;

    (void)state;
    for (size_t i = 0; i < sizeof docs / sizeof docs[0]; i++) {
        const char *stop = strchr(docs[i], '|');
        char doc[100];

        snprintf(doc, sizeof doc, "%.*s%s", (int)(stop - docs[i]), docs[i], stop + 1);
        if (scan(doc, &used, &ended) != AL_XMLSCAN_MORE || used != (size_t)(stop - docs[i]))
            fail_msg("stops at %zu of %s", used, docs[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usual),
        cmocka_unit_test(for_expat),
        cmocka_unit_test(not_whole_yet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
