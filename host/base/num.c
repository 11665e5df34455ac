/* Doubles as decimal text and back.
 *
 * The way there is Schubfach (Raffaello Giulietti, "The Schubfach way to render doubles", 2021): of
 * the decimals within the rounding interval of v the shortest, of those the nearest to v. All in
 * integers, so neither locale nor rounding mode has a say. */
#include "base/num.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

typedef struct decimal {
    uint64_t digits; /* value = digits * 10^exponent */
    int exponent;
} decimal;

enum { POW10_MIN = -292 };
static const struct {
    uint64_t high, low;
} pow10_128[] = {
#include "base/num_pow10.inc"
};

/* Floors of logarithms, exact over the exponents of a double. The shifts are of negative numbers,
 * too, which every compiler we use does arithmetically. */
static int floor_log2_pow10(int e)
{
    return e * 1741647 >> 19;
}

static int floor_log10_pow2(int e)
{
    return e * 1262611 >> 22;
}

static int floor_log10_three_quarters_pow2(int e)
{
    return (e * 1262611 - 524031) >> 22;
}

/* The 64 leading bits of 10^k * x, the last one set when anything behind them is. */
static uint64_t round_to_odd(int k, uint64_t x)
{
    u128 low = (u128)pow10_128[k - POW10_MIN].low * x;
    u128 sum = (u128)pow10_128[k - POW10_MIN].high * x + (uint64_t)(low >> 64);

    return (uint64_t)(sum >> 64) | ((uint64_t)sum > 1);
}

/* v > 0, finite: c * 2^q with the neighbours c - 1 and c + 1. */
static decimal shortest(uint64_t c, int q, bool lower_is_closer)
{
    bool open = c & 1; /* the ends of the interval belong to it only when they round to even c */
    uint64_t left = 4 * c - 2 + lower_is_closer, right = 4 * c + 2;
    int k = lower_is_closer ? floor_log10_three_quarters_pow2(q) : floor_log10_pow2(q);
    int h = q + floor_log2_pow10(-k) + 1;
    uint64_t lower = round_to_odd(-k, left << h) + open;
    uint64_t upper = round_to_odd(-k, right << h) - open;
    uint64_t v = round_to_odd(-k, 4 * c << h), s = v / 4;
    bool below, above;

    if (s >= 10) { /* one digit less, when exactly one of the two candidates is inside */
        uint64_t tens = s / 10;

        below = lower <= 40 * tens;
        above = 40 * tens + 40 <= upper;
        if (below != above)
            return (decimal){ tens + above, k + 1 };
    }
    below = lower <= 4 * s;
    above = 4 * s + 4 <= upper;
    if (below != above)
        return (decimal){ s + above, k };
    return (decimal){ s + (v > 4 * s + 2 || (v == 4 * s + 2 && (s & 1))), k };
}

static decimal decimal_of(double v)
{
    uint64_t bits, fraction;
    decimal d;
    int biased;

    memcpy(&bits, &v, sizeof bits);
    fraction = bits & ((UINT64_C(1) << 52) - 1);
    biased = (int)(bits >> 52 & 0x7FF);
    if (biased == 0)
        d = shortest(fraction, -1074, false);
    else
        d = shortest(fraction | UINT64_C(1) << 52, biased - 1075, fraction == 0 && biased > 1);
    while (d.digits % 10 == 0) {
        d.digits /= 10;
        d.exponent++;
    }
    return d;
}

/* Writes value in decimal, without a NUL; returns how many digits. */
static int put_digits(char *out, uint64_t value)
{
    char reversed[20];
    int n = 0;

    do
        reversed[n++] = (char)('0' + value % 10);
    while (value /= 10);
    for (int i = 0; i < n; i++)
        out[i] = reversed[n - 1 - i];
    return n;
}

/* One digit, a point and the others where there are any, the power of ten. */
static char *put_scientific(char *p, const char *digits, int n, int exponent)
{
    *p++ = digits[0];
    if (n > 1)
        *p++ = '.';
    memcpy(p, digits + 1, (size_t)n - 1);
    p += n - 1;
    *p++ = 'e';
    if (exponent < 0)
        *p++ = '-';
    return p + put_digits(p, (uint64_t)(exponent < 0 ? -exponent : exponent));
}

/* `whole` of the digits stand before the point; zeros fill up on either side. */
static char *put_plain(char *p, const char *digits, int n, int whole)
{
    int before = whole < 0 ? 0 : whole < n ? whole : n;

    memcpy(p, digits, (size_t)before);
    p += before;
    if (whole <= 0)
        *p++ = '0';
    for (int i = n; i < whole; i++)
        *p++ = '0';
    *p++ = '.';
    for (int i = whole; i < 0; i++)
        *p++ = '0';
    memcpy(p, digits + before, (size_t)(n - before));
    p += n - before;
    if (n <= whole)
        *p++ = '0';
    return p;
}

size_t al_num_shortest(double v, char *out)
{
    char digits[20], *p = out;
    int n, exponent;
    decimal d;

    if (signbit(v))
        *p++ = '-';
    if (v == 0) {
        memcpy(p, "0.0", 4);
        return (size_t)(p - out) + 3;
    }
    d = decimal_of(v);
    n = put_digits(digits, d.digits);
    exponent = d.exponent + n - 1; /* of the first digit */
    if (exponent < -4 || exponent > 15)
        p = put_scientific(p, digits, n, exponent);
    else
        p = put_plain(p, digits, n, exponent + 1);
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
