/* Numbers as text: the shortest decimal form that reads back as the same double. */
#ifndef AL_BASE_NUM_H
#define AL_BASE_NUM_H
#include <stddef.h>
#include <stdint.h>

/* The shortest text that reads back as v, in the form JSON allows ("1.5", "1e+300" as "1e300",
 * "-0.0", "100.0"): always with a fraction or an exponent. Finite v only. Returns its length;
 * out holds at least 32 bytes and is terminated. Locale never matters. */
size_t al_num_shortest(double v, char *out);

/* Reads a JSON number of len bytes as the nearest double, whatever the locale. Zeros in front and
 * no digit on one side of the point are understood, too. */
double al_num_parse(const char *text, size_t len);

#endif
