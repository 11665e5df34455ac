/* Doubles as decimal text and back. */
#include "base/num.h"
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The digits of |v| (no point, no zeros at the end) and the power of ten of the first one. */
static int digits_of(double v, int precision, char *digits, int *exponent)
{
    char text[40];
    int n = 0;
    char *e;

    snprintf(text, sizeof text, "%.*e", precision - 1, v);
    e = strchr(text, 'e');
    *exponent = atoi(e + 1);
    for (char *p = text; p < e; p++)
        if (*p >= '0' && *p <= '9')
            digits[n++] = *p;
    while (n > 1 && digits[n - 1] == '0')
        n--;
    digits[n] = '\0';
    return n;
}

static bool reads_back(const char *digits, int n, int exponent, double v)
{
    char text[48];

    snprintf(text, sizeof text, "%se%d", digits, exponent - n + 1);
    return strtod(text, NULL) == v;
}

/* Precision 15 always suffices for what has few digits; a subnormal may need fewer, so it starts
 * lower. At a power of two the gap below is half the gap above, and the nearest 16 digits may miss
 * where the next ones up read back. */
static int shortest_digits(double v, char *digits, int *exponent)
{
    for (int precision = v < DBL_MIN ? 1 : 15; precision < 17; precision++) {
        int n = digits_of(v, precision, digits, exponent);

        if (reads_back(digits, n, *exponent, v))
            return n;
        if (n == precision && digits[n - 1] < '9') {
            digits[n - 1]++;
            if (reads_back(digits, n, *exponent, v))
                return n;
        }
    }
    return digits_of(v, 17, digits, exponent);
}

size_t al_num_shortest(double v, char *out)
{
    char digits[24], *p = out;
    int n, exponent;

    if (signbit(v)) {
        *p++ = '-';
        v = -v;
    }
    if (v == 0) {
        memcpy(p, "0.0", 4);
        return (size_t)(p - out) + 3;
    }
    n = shortest_digits(v, digits, &exponent);
    if (exponent < -4 || exponent > 15) {
        *p++ = digits[0];
        if (n > 1)
            p += sprintf(p, ".%s", digits + 1);
        p += sprintf(p, "e%d", exponent);
    } else if (exponent < 0) {
        p += sprintf(p, "0.%.*s%s", -exponent - 1, "000", digits);
    } else {
        for (int i = 0; i <= exponent || i < n; i++) {
            if (i == exponent + 1)
                *p++ = '.';
            *p++ = i < n ? digits[i] : '0';
        }
        if (n <= exponent + 1)
            p += sprintf(p, ".0");
    }
    *p = '\0';
    return (size_t)(p - out);
}

/* More digits than this change nothing but whether the rest is zero. */
#define MAX_DIGITS 800

double al_num_parse(const char *text, size_t len)
{
    static const double tens[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    char digits[MAX_DIGITS + 32];
    const char *p = text, *end = text + len;
    bool negative = p < end && *p == '-', point = false, rest = false;
    long exponent = 0, written = 0;
    uint64_t mantissa = 0;
    int n = 0;
    double v;

    for (p += negative; p < end && *p != 'e' && *p != 'E'; p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        if (point)
            exponent--;
        if (n == 0 && *p == '0')
            continue;
        if (n < MAX_DIGITS) {
            digits[n++] = *p;
            mantissa = mantissa * 10 + (uint64_t)(*p - '0');
        } else {
            rest = rest || *p != '0';
            exponent++;
        }
    }
    if (p < end) {
        bool down = ++p < end && *p == '-';

        p += p < end && (*p == '-' || *p == '+');
        for (; p < end; p++)
            written = written < 100000000 ? written * 10 + (*p - '0') : written;
        exponent += down ? -written : written;
    }
    if (n == 0)
        return negative ? -0.0 : 0.0;
    if (n <= 15 && exponent >= -22 && exponent <= 22) { /* both exact: one rounding */
        v = exponent < 0 ? (double)mantissa / tens[-exponent] : (double)mantissa * tens[exponent];
    } else {
        if (rest)
            digits[n++] = '1', exponent--;
        snprintf(digits + n, sizeof digits - (size_t)n, "e%ld", exponent);
        v = strtod(digits, NULL); /* no decimal point in it, so no locale */
    }
    return negative ? -v : v;
}
