/* Pages that deserve a warning, and pages that look as if they did. */
#include "data.h"
#include "data/lint.h"

static void expect(unsigned found, const char *const *pages, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(pages[i]);
        /* Memory of its own size: a sanitizer sees a byte that is read behind it. */
        char *copy = malloc(len ? len : 1);
        memcpy(copy, pages[i], len);
        if (al_lint_page(copy, len) != found)
            fail_msg("%u, not %u: %s", al_lint_page(copy, len), found, pages[i]);
        free(copy);
    }
}

#define EXPECT(found, ...)                                  \
    do {                                                    \
        static const char *const pages[] = __VA_ARGS__;     \
        expect(found, pages, sizeof pages / sizeof *pages); \
    } while (0)

static void scripts_and_styles_of_the_network(void **state)
{
    (void)state;
    EXPECT(AL_LINT_NETWORK, {
                                "<script src=\"https://cdn.example/x.js\"></script>",
                                "<SCRIPT defer\nSRC = 'HTTP://cdn.example/x.js'>",
                                "<script async src=//cdn.example/x.js></script>",
                                "<script src=' https://x' src='here.js'></script>",
                                "<link rel=stylesheet href='https://x/y.css'>",
                                "<link href=//x/y.css rel='preload stylesheet'/>",
                                "<link rel=modulepreload href=https://x>",
                                "<style>@import url(https://x/y.css);</style>",
                                "<style>p{}\n@import '//x/y.css'</style>",
                                "<script type=module>import * as d3 from \"https://x/d3\"</script>",
                                "<script type=\"module\">import 'https://x'</script>",
                                "<script>import( 'https://x' )</script>",
                                "<script>importScripts('https://x')</script>",
                                "<base href=https://cdn.example/><script src=x.js></script>",
                                "<svg><script href='https://x'/></svg>",
                                "<svg><script xlink:href='https://x'/></svg>",
                                "<!-- > --><script src=https://x></script>",
                                "<p title='a>b'><script src=https://x></script>",
                                "<title><script></title><script src=https://x></script>",
                                "<script>if (a<b) '<!--'</script><script src=https://x></script>",
                            });
}

static void what_is_in_the_page_is_fine(void **state)
{
    (void)state;
    EXPECT(0, {
                  "",
                  "<",
                  "text https://x",
                  "<script>fetch('https://x')</script>",
                  "<script src=data:text/javascript,1></script>",
                  "<script src=lib/x.js></script><link rel=stylesheet href=x.css>",
                  "<script>const from = 'a'; const s = \"comes from 'https://x'\"</script>",
                  "<script>'<script src=https://x>'</script>",
                  "<a href=https://x>import \"https://x\"</a><img src=https://x>",
                  "<link rel=canonical href=https://x><link rel=icon href=https://x>",
                  "<!-- <script src=https://x></script> --><p>",
                  "<!-- <script src=https://x></script>",
                  "<textarea><script src=https://x></script></textarea>",
                  "<p data-x='<script src=https://x>'>",
                  "<script data-src=https://x></script>",
                  "<base href=https://x><script src=data:,1></script><a href=y>",
                  "<style>p{background:url(https://x)}</style>",
              });
}

static void drawings_that_do_not_scale(void **state)
{
    (void)state;
    EXPECT(AL_LINT_FIXED_SVG, {
                                  "<svg width=\"300\" height=\"200\"></svg>",
                                  "<SVG WIDTH=300px>",
                                  "<svg height='20' width=' 12.5cm '/>",
                                  "<svg style='height:20px;width:300px'>",
                                  "<svg style='width : 300px'>",
                                  "<svg viewBox='0 0 1 1'></svg><svg width=1></svg>",
                                  "<svg viewBox='0 0 1 1'/><svg width=1>",
                              });
    EXPECT(0, {
                  "<svg viewBox=\"0 0 300 200\" width=\"300\" height=\"200\"></svg>",
                  "<svg width='100%' height=200>",
                  "<svg width=20em><svg width=auto>",
                  "<svg style='max-width:300px;width:100%'>",
                  "<svg>",
                  "<svg viewBox='0 0 9 9'><svg width=3></svg></svg>",
                  "<p>&lt;svg width=300&gt;</p><svgx width=3>",
              });
}

static void slices_by_hand(void **state)
{
    (void)state;
    EXPECT(AL_LINT_SVG_ARCS,
           {
               "<path d=\"M 1 1 L 2 2 A 3 3 0 0 1 4 4 Z\">",
               "<path fill=red d='M100,100 L100,0 A100,100 0 1,1 99.9,0 z'/>",
               "<path d='m0 0l1e2 0a5 5 0 0 0 1 1z'>",
               "<path d='M1 0A1 1 0 0 1 0 1L0 0Z'>",
               "<path d='M1 0A1 1 0 0 1 0 1L0 2A2 2 0 0 0 2 0Z'>",
               "<path d='M1 0A1 1 0 1 1 -1 0A1 1 0 1 1 1 0Z'>",
               "<path d='M0 0 L1 1 A1 1 0 0 1 2 2 L0 0'>",
               "<svg class=mine><path d='M0 0L1 1A1 1 0 0 1 2 2Z'></svg>",
               "<svg class='alisio-chart'></svg><path d='M0 0L1 1A1 1 0 0 1 2 2Z'>",
               "<path\nd='M0 0\nL1 1\nA1 1 0 0 1 2 2\nZ'>",
           });
    EXPECT(0,
           {
               "<path d='M0 0L9 9'><path d=''><path>",
               "<path d='M0 0L1 1L2 2Z'>",
               "<path d='M1 2h3a1 1 0 0 1 1 1v4a1 1 0 0 1-1 1H2a1 1 0 0 1-1-1z'>",
               "<path d='M0 0C1 1 2 2 3 3A1 1 0 0 1 2 2Z'>",
               "<path d='M0 0A1 1 0 0 1 2 2'>",
               "<path id='M0 0L1 1A1 1 0 0 1 2 2Z'>",
               "<svg class=\"wide alisio-chart\"><svg><g/></svg><path d='M0 0L1 1A1 1 0 0 1 2 2Z'>"
               "</svg>",
               "<script>'<path d=\"M0 0L1 1A1 1 0 0 1 2 2Z\">'</script>",
           });
}

/* Bytes without end, NUL among them, and what nests: in time that grows as they do. */
static void hostile_pages_take_no_long_time(void **state)
{
    static const char *const parts[] = {
        "<",       "<svg ",       "<p a='",        "<!--",           "<script>import", "</",
        "\0<a\0=", "import from", "<svg><path d=", "<style>@import", "<title>"
    };
    size_t size = 4u << 20;
    char *page = malloc(size);

    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t len = strlen(parts[i]) ? strlen(parts[i]) : 5;
        for (size_t at = 0; at + len <= size; at += len)
            memcpy(page + at, parts[i], len);
        al_lint_page(page, size - size % len);
    }
    free(page);
}

static void answers_for_a_file(void **state)
{
    static const char page[] = "<script src=//x></script><svg width=3></svg>";
    char wide[2 * sizeof page];
    al_err err = { 0 };
    al_buf result;
    int fd;

    (void)state;
    al_buf_init(&result, 0);
    fd = file_with(page, strlen(page), NULL);
    assert_int_equal(al_lint_run(fd, &result, &err), AL_OK);
    assert_string_equal(result.data, "{\"found\":[\"network_resource\",\"fixed_svg\"]}");
    close(fd);

    for (int big = 0; big < 2; big++) {
        memcpy(wide, big ? "\xFE\xFF" : "\xFF\xFE", 2);
        for (size_t i = 0; i < strlen(page); i++) {
            wide[2 + 2 * i + !big] = '\0';
            wide[2 + 2 * i + big] = page[i];
        }
        fd = file_with(wide, 2 + 2 * strlen(page), NULL);
        al_buf_clear(&result);
        assert_int_equal(al_lint_run(fd, &result, &err), AL_OK);
        assert_string_equal(result.data, "{\"found\":[\"network_resource\",\"fixed_svg\"]}");
        close(fd);
    }

    fd = file_with("", 0, NULL);
    al_buf_clear(&result);
    assert_int_equal(al_lint_run(fd, &result, &err), AL_OK);
    assert_string_equal(result.data, "{\"found\":[]}");
    close(fd);
    assert_int_equal(al_lint_run(fd, &result, &err), AL_EIO);
    assert_string_equal(err.id, "io_error");
    al_buf_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scripts_and_styles_of_the_network),
        cmocka_unit_test(what_is_in_the_page_is_fine),
        cmocka_unit_test(drawings_that_do_not_scale),
        cmocka_unit_test(slices_by_hand),
        cmocka_unit_test(hostile_pages_take_no_long_time),
        cmocka_unit_test(answers_for_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
