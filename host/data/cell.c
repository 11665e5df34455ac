/* From text to cell. The common numbers (up to 15 significant digits and small exponents) are made
 * with one rounding of exact values; what is longer is compared, digit for digit, with the shortest
 * text of the double it would become. */
#include "data/cell.h"
#include "base/cpu.h"
#include "base/num.h"
#include <math.h>
#include <string.h>
#if AL_CPU_X86
#include <immintrin.h>
#endif

#define SURE_DIGITS 15 /* no two decimals with so few digits are the same double */
#define MOST_DIGITS 17 /* no shortest text has more */
#define MAX_POWER   22 /* 10^22 is the largest power of ten that a double holds */

static const double powers[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

/* A decimal as written: 0.d1d2d3… × 10^point, with zeros at both ends of the digits dropped. */
struct decimal {
    char digits[MOST_DIGITS];
    int n; /* MOST_DIGITS + 1: there are more */
    int64_t point;
};

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* text is a number as the grammar of al_cell_parse has it. */
static void read_decimal(struct decimal *d, const char *text, size_t len)
{
    const char *p = text + (*text == '-'), *end = text + len;
    int64_t exponent = 0, before = 0, zeros = 0;
    bool fraction = false, down;

    d->n = 0;
    for (; p < end && (is_digit(*p) || *p == '.'); p++) {
        if (*p == '.') {
            fraction = true;
            continue;
        }
        if (d->n == 0 && *p == '0') {
            before -= fraction;
            continue;
        }
        before += !fraction;
        if (*p == '0') {
            zeros++;
            continue;
        }
        for (; zeros > 0 && d->n <= MOST_DIGITS; zeros--) {
            if (d->n < MOST_DIGITS)
                d->digits[d->n] = '0';
            d->n++;
        }
        zeros = 0;
        if (d->n < MOST_DIGITS)
            d->digits[d->n] = *p;
        d->n += d->n <= MOST_DIGITS;
    }
    if (p < end) {
        p++;
        down = *p == '-';
        p += *p == '-' || *p == '+';
        for (; p < end; p++)
            if (exponent < INT32_MAX)
                exponent = exponent * 10 + (*p - '0');
        exponent = down ? -exponent : exponent;
    }
    d->point = before + exponent;
}

/* Whether the shortest text of v has the digits and the magnitude of text. */
static __attribute__((noinline)) bool keeps_digits(const char *text, size_t len, double v)
{
    struct decimal written, stored;
    char shortest[32];

    if (!isfinite(v))
        return false;
    read_decimal(&written, text, len);
    if (written.n == 0 || v == 0)
        return written.n == 0 && v == 0;
    if (written.n > MOST_DIGITS)
        return false;
    read_decimal(&stored, shortest, al_num_shortest(v, shortest));
    return written.n == stored.n && written.point == stored.point &&
           memcmp(written.digits, stored.digits, (size_t)written.n) == 0;
}

/* Whether all eight bytes (the first one lowest) are digits. */
static inline bool eight_digits(uint64_t v)
{
    return ((v & UINT64_C(0xF0F0F0F0F0F0F0F0)) |
            ((v + UINT64_C(0x0606060606060606)) & UINT64_C(0xF0F0F0F0F0F0F0F0)) >> 4) ==
           UINT64_C(0x3333333333333333);
}

/* Their value: neighbours are joined three times. */
static inline uint64_t value_of_eight(uint64_t v)
{
    v = (v & UINT64_C(0x0F0F0F0F0F0F0F0F)) * 2561 >> 8;
    v = (v & UINT64_C(0x00FF00FF00FF00FF)) * 6553601 >> 16;
    return (v & UINT64_C(0x0000FFFF0000FFFF)) * UINT64_C(42949672960001) >> 32;
}

/* Digits from p on into *mantissa, which is right while it has at most 19 of them. */
static inline const char *take_digits(const char *p, const char *end, uint64_t *mantissa)
{
    uint64_t m = *mantissa;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    while (end - p >= 8) {
        uint64_t v;

        memcpy(&v, p, sizeof v);
        if (!eight_digits(v))
            break;
        m = m * 100000000 + value_of_eight(v);
        p += 8;
    }
#endif
    while (p < end && is_digit(*p))
        m = m * 10 + (uint64_t)(*p++ - '0');
    *mantissa = m;
    return p;
}

static bool integer(al_cell *cell, uint64_t mantissa, long digits, bool negative)
{
    if (digits > 16 || mantissa > AL_CELL_MAX_INTEGER || (negative && mantissa == 0))
        return false;
    *cell = al_cell_integer(negative ? -(int64_t)mantissa : (int64_t)mantissa);
    return true;
}

/* The number that text, a digit or a minus, begins with: where it ends, or NULL when there is none.
 * What no integer and no double keeps is TEXT. */
const char *al_cell_number(al_cell *cell, const char *text, const char *end)
{
    const char *p = text, *from;
    bool negative = *p == '-';
    uint64_t mantissa = 0;
    long digits, exponent = 0, written = 0;
    double v;

    p += negative;
    from = p;
    p = take_digits(p, end, &mantissa);
    digits = (long)(p - from);
    if (digits == 0 || (*from == '0' && digits > 1))
        return NULL;
    if (p == end || (*p != '.' && (*p | 0x20) != 'e')) {
        if (!integer(cell, mantissa, digits, negative))
            *cell = al_cell_text(text, (size_t)(p - text));
        return p;
    }
    if (*p == '.') {
        from = ++p;
        p = take_digits(p, end, &mantissa);
        if (p == from)
            return NULL;
        exponent = (long)(from - p);
        digits -= exponent;
    }
    if (p < end && (*p | 0x20) == 'e') {
        bool down = ++p < end && *p == '-';

        p += p < end && (*p == '-' || *p == '+');
        from = p;
        for (; p < end && is_digit(*p); p++)
            written = written < 100000 ? written * 10 + (*p - '0') : written;
        if (p == from)
            return NULL;
        exponent += down ? -written : written;
    }
    if (digits <= SURE_DIGITS && exponent >= -MAX_POWER && exponent <= MAX_POWER) {
        v = (double)mantissa;
        v = exponent < 0 ? v / powers[-exponent] : v * powers[exponent];
        *cell = al_cell_real(negative ? -v : v);
        return p;
    }
    v = al_num_parse(text, (size_t)(p - text));
    if (keeps_digits(text, (size_t)(p - text), v))
        *cell = al_cell_real(v);
    else
        *cell = al_cell_text(text, (size_t)(p - text));
    return p;
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* n bytes, 1 to 8, the last one highest; zeros below. */
static inline uint64_t load_high(const char *p, size_t n)
{
    uint32_t low = 0, high;
    uint64_t v;

    if (n >= 4) {
        memcpy(&low, p, 4);
        memcpy(&high, p + n - 4, 4);
        v = low | (uint64_t)high << 8 * (n - 4);
    } else {
        v = (unsigned char)p[0] | (uint64_t)(unsigned char)p[n / 2] << 8 * (n / 2) |
            (uint64_t)(unsigned char)p[n - 1] << 8 * (n - 1);
    }
    return v << 8 * (8 - n);
}

/* Most numbers are short: up to eight digits, one point among them, without a loop. v: the bytes,
 * the last one highest. False where there is anything else. */
static inline bool short_number(al_cell *cell, const char *p, size_t n, bool negative, uint64_t v)
{
    const uint64_t low = UINT64_C(0x7F7F7F7F7F7F7F7F);
    uint64_t x = v ^ UINT64_C(0x2E2E2E2E2E2E2E2E);
    uint64_t points = ~(((x & low) + low) | x | low); /* 0x80 in each byte that is one */
    unsigned fraction = 0;

    if (points) {
        unsigned at = (unsigned)__builtin_ctzll(points) >> 3;

        if (at == 7 || at == 8 - n) /* first or last */
            return false;
        fraction = 7 - at;
        v = (v & ((UINT64_C(1) << 8 * at) - 1)) << 8 | (v & ~UINT64_C(0) << 8 * (at + 1));
        n--;
    }
    v |= n < 8 ? UINT64_C(0x3030303030303030) >> 8 * n : 0;
    if (!eight_digits(v) || (*p == '0' && n > fraction + 1))
        return false;
    v = value_of_eight(v);
    if (fraction) {
        double real = (double)v / powers[fraction];

        *cell = al_cell_real(negative ? -real : real);
        return true;
    }
    if (negative && v == 0)
        return false;
    *cell = al_cell_integer(negative ? -(int64_t)v : (int64_t)v);
    return true;
}
#endif

bool al_cell_whole_number(al_cell *cell, const char *text, size_t len)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    bool negative = *text == '-';
    const char *p = text + negative;
    size_t n = len - negative;

    if (n - 1 < 8 && short_number(cell, p, n, negative, load_high(p, n)))
        return true;
#endif
    return al_cell_number(cell, text, text + len) == text + len;
}

/* Numbers whose text has bytes behind it. */
static const char *slack_number(al_cell *cell, const char *text, const char *end)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    bool negative = *text == '-';
    const char *p = text + negative;
    size_t n = (size_t)(end - p);
    uint64_t v;

    memcpy(&v, p, sizeof v);
    if (n - 1 < 8 && short_number(cell, p, n, negative, v << (64 - 8 * n) % 64))
        return end;
#endif
    return al_cell_number(cell, text, end);
}

#if AL_CPU_X86
/* Integers of up to 16 digits and decimals of up to 15 go without a loop. */
__attribute__((target("avx2"))) static const char *slack_number_avx2(al_cell *cell,
                                                                     const char *text,
                                                                     const char *end)
{
    const __m128i tens = _mm_set1_epi16(1 << 8 | 10), hundreds = _mm_set1_epi32(1 << 16 | 100);
    const __m128i ten_thousands = _mm_set1_epi32(1 << 16 | 10000), nine = _mm_set1_epi8(9);
    const __m128i places = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const bool negative = *text == '-';
    const char *p = text + negative;
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p), digits, from;
    unsigned points, others, n, count, point = 16;
    uint64_t value;

    points = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('.')));
    digits = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
    others = ~(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(digits, nine), digits));
    n = (unsigned)__builtin_ctz((others & ~points) | 1u << 16);
    n = (size_t)(end - p) < n ? (unsigned)(end - p) : n;
    points &= (1u << n) - 1;
    count = n;
    if (points) {
        point = (unsigned)__builtin_ctz(points);
        count--;
    }
    if (p + n < end && ((p[n] | 0x20) == 'e' || (n == 16 && (is_digit(p[n]) || p[n] == '.'))))
        return al_cell_number(cell, text, end);
    if (n == 0 || (points & (points - 1)) || point == 0 || point == n - 1 ||
        (points && count > SURE_DIGITS) || (*p == '0' && n > 1 && point > 1))
        return al_cell_number(cell, text, end);
    /* The digits go to the end, the point out and zeros to the beginning. */
    from = _mm_add_epi8(places, _mm_set1_epi8((char)((int)count - 16)));
    from = _mm_sub_epi8(from, _mm_cmpgt_epi8(from, _mm_set1_epi8((char)((int)point - 1))));
    digits = _mm_shuffle_epi8(digits, from);
    digits = _mm_madd_epi16(_mm_maddubs_epi16(digits, tens), hundreds);
    digits = _mm_madd_epi16(_mm_packus_epi32(digits, digits), ten_thousands);
    value = (uint64_t)_mm_cvtsi128_si64(digits);
    value = (value & UINT32_MAX) * 100000000 + (value >> 32);
    if (points)
        *cell = al_cell_real((negative ? -(double)value : (double)value) / powers[count - point]);
    else if (!integer(cell, value, (long)count, negative))
        *cell = al_cell_text(text, (size_t)(p + n - text));
    return p + n;
}
#endif

al_cell_number_fn *al_cell_slack_number(void)
{
#if AL_CPU_X86
    if (al_cpu_avx2())
        return slack_number_avx2;
#endif
    return slack_number;
}
