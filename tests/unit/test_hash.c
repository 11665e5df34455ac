#include "base/hash.h"
#include "unit.h"
#include <fcntl.h>
#include <unistd.h>

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define ABC   "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static void known_sums(void **state)
{
    char hex[65];
    (void)state;
    assert_int_equal(al_sha256_of("", 0, hex), AL_OK);
    assert_string_equal(hex, EMPTY);
    assert_int_equal(al_sha256_of("abc", 3, hex), AL_OK);
    assert_string_equal(hex, ABC);
}

static void in_parts(void **state)
{
    al_sha256 *s = NULL;
    char hex[65];
    (void)state;
    assert_int_equal(al_sha256_open(&s, NULL), AL_OK);
    assert_int_equal(al_sha256_add(s, "a", 1), AL_OK);
    assert_int_equal(al_sha256_add(s, "", 0), AL_OK);
    assert_int_equal(al_sha256_add(s, "bc", 2), AL_OK);
    assert_int_equal(al_sha256_end(s, hex), AL_OK);
    assert_string_equal(hex, ABC);
    al_sha256_close(s);
    al_sha256_close(NULL);
}

static void of_a_file_from_its_start(void **state)
{
    FILE *f = tmpfile();
    char hex[65], want[65], *big = calloc(1, 700001);
    al_err err = { 0 };
    int null = open("/dev/null", O_WRONLY);
    (void)state;
    assert_non_null(f);
    assert_non_null(big);
    assert_int_equal(fwrite(big, 1, 700001, f), 700001);
    fflush(f);
    assert_int_equal(lseek(fileno(f), 5, SEEK_SET), 5);
    assert_int_equal(al_sha256_fd(fileno(f), hex, &err), AL_OK);
    al_sha256_of(big, 700001, want);
    assert_string_equal(hex, want);
    assert_int_equal(lseek(fileno(f), 0, SEEK_CUR), 5); /* not moved */
    assert_int_equal(al_sha256_fd(null, hex, &err), AL_EIO);
    assert_string_equal(hex, "");
    assert_string_equal(err.id, "io_error");
    close(null);
    fclose(f);
    free(big);
}

static void hex_and_xxh3(void **state)
{
    char out[9];
    (void)state;
    al_hex(out, "\x00\x9f\xA0\xff", 4);
    assert_string_equal(out, "009fa0ff");
    al_hex(out, "", 0);
    assert_string_equal(out, "");
    assert_true(al_hash64("", 0) == UINT64_C(0x2D06800538D394C2)); /* from the XXH3 test vectors */
    assert_true(al_hash64("a", 1) != al_hash64("b", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_sums),
        cmocka_unit_test(in_parts),
        cmocka_unit_test(of_a_file_from_its_start),
        cmocka_unit_test(hex_and_xxh3),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
