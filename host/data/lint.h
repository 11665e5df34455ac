/* Looks at a published page for what goes wrong where it is shown: charts drawn by hand, and
 * scripts or styles from the network. It only ever makes warnings. */
#ifndef AL_DATA_LINT_H
#define AL_DATA_LINT_H
#include "base/buf.h"
#include "base/err.h"
#include <stddef.h>

#define AL_LINT_BYTES (16u << 20) /* of a page that are looked at */

enum {
    AL_LINT_NETWORK = 1,   /* a script or stylesheet that is not in the page */
    AL_LINT_FIXED_SVG = 2, /* an <svg> of a fixed width without a viewBox */
    AL_LINT_SVG_ARCS = 4   /* a pie's slice as a path; not in an <svg class="alisio-chart"> */
};

/* The OR of AL_LINT_*. The page is any bytes; the time is linear in them. */
unsigned al_lint_page(const char *page, size_t len);

/* Appends {"found":[…]} for the page behind fd, in UTF-8, one of its subsets, or UTF-16 with a
 * mark: network_resource, fixed_svg, svg_arcs. "io_error" when it cannot be read. */
int al_lint_run(int fd, al_buf *result, al_err *err);

#endif
