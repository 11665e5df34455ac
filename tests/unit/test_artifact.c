/* The scan of an output folder, copying from it, types; and the ZIP made from it. */
#include "base/fs.h"
#include "base/hash.h"
#include "prim/archive.h"
#include "prim/artifact.h"
#include "unit.h"
#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <locale.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char base[64], folder[80], dest[96];
static int dir; /* of the folder */
static al_err err;

static int make_base(void **state)
{
    (void)state;
    err = (al_err){ 0 };
    snprintf(base, sizeof base, "/tmp/alisio-artifact-XXXXXX");
    if (!mkdtemp(base))
        return -1;
    snprintf(folder, sizeof folder, "%s/staging", base);
    snprintf(dest, sizeof dest, "%s/copy", base);
    if (mkdir(folder, 0700) < 0)
        return -1;
    dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir < 0;
}

static int drop_base(void **state)
{
    (void)state;
    close(dir);
    int tmp = open("/tmp", O_RDONLY | O_DIRECTORY);
    int rc = al_fs_remove_tree(tmp, base + 5, &err);
    close(tmp);
    return rc;
}

static void put(const char *name, const char *text)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void folder_named(const char *name)
{
    assert_int_equal(mkdirat(dir, name, 0700), 0);
}

static void expect_refusal(const char *reason, const char *path)
{
    al_source *s = NULL;
    al_source_limits small = { 3, 10, 20 };
    assert_int_equal(al_source_scan(&s, folder, &small, &err), AL_EDATA);
    assert_string_equal(err.id, "artifact_rejected");
    assert_string_equal(err.reason, reason);
    if (path)
        assert_string_equal(err.object, path);
}

static al_source *scan(void)
{
    al_source *s = NULL;
    assert_int_equal(al_source_scan(&s, folder, NULL, &err), AL_OK);
    return s;
}

static void lists_sorted_and_composed(void **state)
{
    (void)state;
    folder_named("b");
    put("b/n\xCC\x83.txt", "x"); /* n and a combining tilde */
    put("a.md", "hello");
    put("b/a", "");
    al_source *s = scan();
    assert_int_equal(al_source_count(s), 4);
    const char *expected[] = { "a.md", "b", "b/a", "b/ñ.txt" };
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(al_source_at(s, i)->path, expected[i]);
    assert_true(al_source_find(s, "b")->dir);
    assert_int_equal(al_source_find(s, "a.md")->bytes, 5);
    assert_null(al_source_find(s, "zz"));
    al_source_close(s);
}

static void an_empty_folder_is_fine(void **state)
{
    (void)state;
    al_source *s = scan();
    assert_int_equal(al_source_count(s), 0);
    assert_null(al_source_find(s, "a"));
    al_source_close(s);
}

static void refuses_links_of_every_kind(void **state)
{
    (void)state;
    put("ok", "x");
    assert_int_equal(symlinkat("ok", dir, "l"), 0);
    expect_refusal("symlink", "l");
    unlinkat(dir, "l", 0);
    folder_named("d");
    assert_int_equal(symlinkat("..", dir, "d/up"), 0);
    expect_refusal("symlink", "d/up");
    unlinkat(dir, "d/up", 0);
    assert_int_equal(linkat(dir, "ok", dir, "d/hard", 0), 0);
    expect_refusal("hardlink", NULL);
}

static void refuses_a_folder_that_is_a_link(void **state)
{
    al_source *s = NULL;
    char link[96];
    (void)state;
    snprintf(link, sizeof link, "%s/link", base);
    assert_int_equal(symlink(folder, link), 0);
    assert_int_equal(al_source_scan(&s, link, NULL, &err), AL_EDATA);
    assert_string_equal(err.reason, "symlink");
}

static void refuses_what_is_no_file(void **state)
{
    (void)state;
    assert_int_equal(mkfifoat(dir, "pipe", 0600), 0);
    expect_refusal("special_file", "pipe");
    unlinkat(dir, "pipe", 0);
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    snprintf(a.sun_path, sizeof a.sun_path, "%s/s", folder);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    expect_refusal("special_file", "s");
    close(fd);
}

/* What a mode shuts is shut for everyone but root. */
static void refuses_a_file_that_cannot_be_read(void **state)
{
    bool root = geteuid() == 0;

    (void)state;
    put("f", "x");
    assert_int_equal(fchmodat(dir, "f", 0, 0), 0);
    al_source *s = scan();
    if (root) {
        assert_int_equal(chmod(base, 0755), 0);
        assert_int_equal(fchmod(dir, 0755), 0);
        assert_int_equal(seteuid(65534), 0);
    }
    assert_int_equal(al_source_stream(s, al_source_find(s, "f"), NULL, NULL, &err), AL_EDATA);
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_string_equal(err.reason, "unreadable");
    al_source_close(s);
}

/* A character that composition takes apart: three bytes become six. */
static void refuses_names_that_grow_too_long(void **state)
{
    char name[256] = "";

    (void)state;
    for (int i = 0; i < 42; i++)
        strcat(name, "\xEF\xAC\xAC");
    put(name, "x");
    al_source_close(scan());
    strcat(name, "\xEF\xAC\xAC");
    put(name, "x");
    expect_refusal("bad_name", name);
}

/* Its names can be read, what they are cannot. */
static void refuses_a_folder_that_cannot_be_entered(void **state)
{
    bool root = geteuid() == 0;

    (void)state;
    folder_named("d");
    put("d/f", "x");
    assert_int_equal(fchmodat(dir, "d", 0444, 0), 0);
    if (root) {
        assert_int_equal(chmod(base, 0755), 0);
        assert_int_equal(fchmod(dir, 0755), 0);
        assert_int_equal(seteuid(65534), 0);
    }
    expect_refusal("unreadable", "d/f");
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(fchmodat(dir, "d", 0700, 0), 0);
}

static void refuses_names(void **state)
{
    static const struct {
        const char *name, *reason;
    } cases[] = {
        { ".hidden", "hidden" },
        { "...", "hidden" },
        { ". ", "hidden" },
        { "\xff", "bad_name" },
        { "a\xC3", "bad_name" },
        { "\xED\xA0\x80", "bad_name" }, /* half of a pair */
        { "\xC0\xAF", "bad_name" },     /* a slash in too many bytes */
        { "a\nb", "bad_name" },
        { "\x1b[31m", "bad_name" },
        { "a\x7f", "bad_name" },
        { "a\xC2\x9B"
          "31mb",
          "bad_name" }, /* CSI in one character */
        { "a ", "bad_name" },
        { " ", "bad_name" },
        { "a.md  ", "bad_name" },
        { "a\xC2\xA0", "bad_name" },     /* a space that does not break */
        { "a\xE3\x80\x80", "bad_name" }, /* the wide one */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put(cases[i].name, "x");
        expect_refusal(cases[i].reason, cases[i].name);
        unlinkat(dir, cases[i].name, 0);
        assert_int_equal(mkdirat(dir, cases[i].name, 0700), 0);
        expect_refusal(cases[i].reason, cases[i].name);
        unlinkat(dir, cases[i].name, AT_REMOVEDIR);
    }
    put(" a", "x");
    put("b c.", "x");
    put("\xE2\x80\xAEtxt", "x"); /* shown by who shows it */
    al_source_close(scan());
    put("caf\xC3\xA9", "1");
    put("cafe\xCC\x81", "2");
    al_source *s = NULL;
    assert_int_equal(al_source_scan(&s, folder, NULL, &err), AL_EDATA);
    assert_string_equal(err.reason, "name_clash");
    assert_string_equal(err.object, "caf\xC3\xA9");
}

static void refuses_empty_and_deep_folders(void **state)
{
    (void)state;
    folder_named("e");
    expect_refusal("empty", "e");
    char path[64] = "e";
    for (int i = 0; i < 7; i++) {
        strcat(path, "/e");
        folder_named(path);
    }
    strcat(path, "/f"); /* the ninth part */
    put(path, "x");
    expect_refusal("depth", "e/e/e/e/e/e/e/e");
    unlinkat(dir, path, 0);
    unlinkat(dir, "e/e/e/e/e/e/e/e", AT_REMOVEDIR);
    put("e/e/e/e/e/e/e/f", "x");
    al_source_close(scan());
}

static void refuses_more_than_the_limits(void **state)
{
    (void)state;
    put("a", "0123456789");
    put("b", "0123456789");
    al_source *s = NULL;
    al_source_limits small = { 3, 10, 20 };
    assert_int_equal(al_source_scan(&s, folder, &small, &err), AL_OK);
    al_source_close(s);
    put("c", "x");
    expect_refusal("maxOutputBytes", NULL);
    put("c", "");
    put("d", "");
    expect_refusal("maxFiles", NULL);
    unlinkat(dir, "d", 0);
    put("a", "0123456789x");
    expect_refusal("maxFileBytes", "a");
}

static void copies_with_digest_and_type(void **state)
{
    al_source_copied got = { 0 };
    char hex[65];
    struct stat st;
    (void)state;
    put("a.html", " <!DOCTYPE html><p>x");
    assert_int_equal(fchmodat(dir, "a.html", 06755, 0), 0);
    al_source *s = scan();
    assert_int_equal(al_source_copy(s, al_source_find(s, "a.html"), dest, &got, &err), AL_OK);
    assert_int_equal(got.bytes, 20);
    assert_string_equal(got.mime, "text/html");
    assert_int_equal(al_artifact_digest(dest, hex, &err), AL_OK);
    assert_string_equal(got.sha256, hex);
    assert_int_equal(stat(dest, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(al_source_copy(s, al_source_find(s, "a.html"), dest, &got, &err), AL_EEXISTS);
    al_source_close(s);
}

/* What changed between the scan and the copy is refused, whatever it became. */
static void refuses_what_changed_since(void **state)
{
    static const char *const cases[] = { "rewritten", "grown",   "linked", "hard",
                                         "replaced",  "removed", "folder" };
    al_source_copied got;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put("f", "first");
        al_source *s = scan();
        const al_source_item *item = al_source_find(s, "f");
        switch (i) {
        case 0: put("f", "other"); break;
        case 1: put("f", "first and more"); break;
        case 2:
            unlinkat(dir, "f", 0);
            assert_int_equal(symlinkat("/etc/passwd", dir, "f"), 0);
            break;
        case 3: assert_int_equal(linkat(dir, "f", dir, "g", 0), 0); break;
        case 4:
            put("g", "first");
            assert_int_equal(renameat(dir, "g", dir, "f"), 0);
            break;
        case 5: unlinkat(dir, "f", 0); break;
        default: unlinkat(dir, "f", 0); folder_named("f");
        }
        assert_int_equal(al_source_copy(s, item, dest, &got, &err), AL_EDATA);
        assert_string_equal(err.id, "artifact_rejected");
        assert_string_equal(err.object, "f");
        assert_int_equal(access(dest, F_OK), -1);
        al_source_close(s);
        al_fs_remove_tree(dir, "f", NULL);
        al_fs_remove_tree(dir, "g", NULL);
    }
}

/* The times of a file say nothing of a write that goes on, or of memory that is mapped to it. */
static void refuses_what_is_still_written(void **state)
{
#ifdef F_SETLEASE
    al_source_copied got;

    (void)state;
    put("f", "first");
    for (int mapped = 0; mapped < 2; mapped++) {
        int fd = openat(dir, "f", O_RDWR);
        void *memory = mapped ? mmap(NULL, 5, PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
        if (mapped)
            close(fd);
        al_source *s = scan();
        assert_int_equal(al_source_copy(s, al_source_find(s, "f"), dest, &got, &err), AL_EDATA);
        assert_string_equal(err.reason, "unreadable");
        assert_string_equal(err.detail, "is still being written");
        assert_int_equal(access(dest, F_OK), -1);
        if (mapped)
            munmap(memory, 5);
        else
            close(fd);
        assert_int_equal(al_source_copy(s, al_source_find(s, "f"), dest, &got, &err), AL_OK);
        unlink(dest);
        al_source_close(s);
    }
#else
    (void)state;
    skip();
#endif
}

/* The first entry of an OpenDocument file. */
#define ODF(kind)                \
    "PK\3\4"                     \
    "12345678901234567890123456" \
    "mimetypeapplication/vnd.oasis.opendocument." kind

static void tells_types_by_their_bytes(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *mime;
    } cases[] = {
        { "%PDF-1.7", 8, "application/pdf" },
        { "PK\3\4....", 8, "application/zip" },
        { "RIFF....WEBP", 12, "image/webp" },
        { "\xEF\xBB\xBF <svg xmlns", 14, "image/svg+xml" },
        { "<?xml version='1.0'?><svg>", 26, "image/svg+xml" },
        { "<?xml version='1.0'?><a>", 24, "text/xml" },
        { "<HTML>", 6, "text/html" },
        { "plain\xe9", 6, "text/plain" },
        { "\xff\xfe"
          "a\0",
          4, "text/plain" },
        { "<!-- a --> <!-- b --><svg>", 26, "image/svg+xml" },
        { "<!DOCTYPE svg PUBLIC 'x'>", 25, "image/svg+xml" },
        { "<?xml version='1.0'?>\n<!-- c -->\n<!DOCTYPE svg", 46, "image/svg+xml" },
        { "<?xml version='1.0'?><!DOCTYPE html>", 36, "text/html" },
        { "<!-- a --><!doctype HTML>", 25, "text/html" },
        { "<!-- <svg>", 10, "text/plain" },
        { "<?xml <svg>", 11, "text/xml" },
        { "<p><svg>", 8, "text/plain" },
        { ODF("text"), sizeof ODF("text") - 1, "application/vnd.oasis.opendocument.text" },
        { ODF("spreadsheet"), sizeof ODF("spreadsheet") - 1,
          "application/vnd.oasis.opendocument.spreadsheet" },
        { ODF("tex"), sizeof ODF("tex") - 1, "application/zip" },
        { "PK\3\4", 4, "application/zip" },
        { "a\0b", 3, NULL },
        { "", 0, NULL },
        { "\x89PN", 3, "text/plain" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *mime = al_artifact_sniff(cases[i].bytes, cases[i].len);
        if (cases[i].mime)
            assert_string_equal(mime, cases[i].mime);
        else
            assert_null(mime);
    }
}

static void zips_the_same_bytes_each_time(void **state)
{
    al_source_copied one = { 0 }, two = { 0 };
    (void)state;
    folder_named("site");
    folder_named("site/sub");
    put("site/b.txt", "bbb");
    put("site/sub/ñ.txt", "n");
    put("other", "o");
    al_source *s = scan();
    assert_int_equal(al_archive_zip(s, "site", dest, &one, &err), AL_OK);
    al_source_close(s);

    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0), c = uselocale(utf8);
    struct archive *a = archive_read_new();
    struct archive_entry *e;
    archive_read_support_format_zip(a);
    assert_int_equal(archive_read_open_filename(a, dest, 10240), ARCHIVE_OK);
    assert_int_equal(archive_read_next_header(a, &e), ARCHIVE_OK);
    assert_string_equal(archive_entry_pathname(e), "site/b.txt");
    assert_int_equal(archive_read_next_header(a, &e), ARCHIVE_OK);
    assert_string_equal(archive_entry_pathname_utf8(e), "site/sub/ñ.txt");
    assert_int_equal(archive_read_next_header(a, &e), ARCHIVE_EOF);
    archive_read_free(a);
    uselocale(c);
    freelocale(utf8);

    unlink(dest);
    assert_int_equal(fchmodat(dir, "site/b.txt", 0755, 0), 0);
    put("site/b.txt", "bbb"); /* another time, another mode */
    s = scan();
    assert_int_equal(al_archive_zip(s, "site", dest, &two, &err), AL_OK);
    assert_string_equal(one.sha256, two.sha256);
    assert_int_equal(one.bytes, two.bytes);
    unlink(dest);
    put("site/b.txt", "ccc");
    assert_int_equal(al_archive_zip(s, "site", dest, &two, &err), AL_EDATA);
    assert_int_equal(access(dest, F_OK), -1);
    al_source_close(s);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_base, drop_base)
    const struct CMUnitTest tests[] = {
        TEST(lists_sorted_and_composed),
        TEST(an_empty_folder_is_fine),
        TEST(refuses_links_of_every_kind),
        TEST(refuses_a_folder_that_is_a_link),
        TEST(refuses_what_is_no_file),
        TEST(refuses_names),
        TEST(refuses_names_that_grow_too_long),
        TEST(refuses_a_folder_that_cannot_be_entered),
        TEST(refuses_empty_and_deep_folders),
        TEST(refuses_more_than_the_limits),
        TEST(copies_with_digest_and_type),
        TEST(refuses_what_changed_since),
        TEST(refuses_a_file_that_cannot_be_read),
        TEST(refuses_what_is_still_written),
        TEST(tells_types_by_their_bytes),
        TEST(zips_the_same_bytes_each_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
