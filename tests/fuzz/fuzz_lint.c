/* data/lint with any page: it ends, reads nothing outside, and a comment in front changes nothing.
 */
#include "data/lint.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char comment[] = "<!-- <svg width=1> -->";
    const unsigned found = al_lint_page((const char *)data, size);
    char *page = malloc(sizeof comment - 1 + size);

    if (!page)
        return 0;
    memcpy(page, comment, sizeof comment - 1);
    memcpy(page + sizeof comment - 1, data, size);
    if (al_lint_page(page, sizeof comment - 1 + size) != found || found > 7)
        abort();
    free(page);
    return 0;
}
