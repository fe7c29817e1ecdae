/* Decimal text to integers and doubles. Integer arithmetic only where exactness is promised. */
#include "number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int is_digit(uint8_t c)
{
    return (uint8_t)(c - '0') <= 9;
}

static int is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void strip(const uint8_t **p, size_t *n)
{
    while (*n && is_space(**p)) {
        ++*p;
        --*n;
    }
    while (*n && is_space((*p)[*n - 1])) {
        --*n;
    }
}

/* [sign] digits [. digits] [e [sign] digits], at least one digit before the exponent. */
static int64_t nanoseconds_slow(const uint8_t *p, size_t n)
{
    const uint8_t *end = p + n, *digits, *point = NULL, *digits_end;
    int negative = 0;
    int64_t exponent = 0, shift, kept = 0, furthest = INT64_MAX;
    uint64_t value = 0;
    size_t seen = 0;
    int next = -1;
    if (p < end && (*p == '-' || *p == '+')) {
        negative = *p++ == '-';
        furthest = negative ? -INT64_MAX : INT64_MAX;
    }
    digits = p;
    while (p < end && (is_digit(*p) || (*p == '.' && !point))) {
        if (*p == '.') {
            point = p;
        } else {
            seen++;
        }
        p++;
    }
    digits_end = p;
    if (!seen) {
        return NUMBER_MISSING;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        int down = 0;
        p++;
        if (p < end && (*p == '-' || *p == '+')) {
            down = *p++ == '-';
        }
        if (p == end) {
            return NUMBER_MISSING;
        }
        while (p < end && is_digit(*p)) {
            if (exponent < 1000000000000) {
                exponent = exponent * 10 + (*p - '0');
            }
            p++;
        }
        if (down) {
            exponent = -exponent;
        }
    }
    if (p != end) {
        return NUMBER_MISSING;
    }
    /* Digits to take into the whole number of nanoseconds: those before the point, the exponent, three more. */
    shift = (point ? point - digits : digits_end - digits) + exponent + 3;
    for (p = digits; p < digits_end; p++) {
        int digit;
        if (*p == '.') {
            continue;
        }
        digit = *p - '0';
        if (kept == shift) {
            next = digit;
            break;
        }
        if (kept > shift) {
            break;
        }
        if (value > (UINT64_MAX - 9) / 10) {
            return furthest;
        }
        value = value * 10 + (uint64_t)digit;
        kept++;
    }
    if (value) {
        for (; kept < shift; kept++) {
            if (value > UINT64_MAX / 10) {
                return furthest;
            }
            value *= 10;
        }
    }
    value += next >= 5;
    if (value > (uint64_t)INT64_MAX) {
        return furthest;
    }
    return negative ? -(int64_t)value : (int64_t)value;
}

int64_t number_nanoseconds(const uint8_t *p, size_t n)
{
    const uint8_t *end, *q;
    int64_t value = 0;
    int negative;
    strip(&p, &n);
    end = p + n;
    negative = n && *p == '-';
    q = p + negative;
    if (n <= 19 && q < end) {
        const uint8_t *first = q;
        while (q < end && is_digit(*q)) {
            value = value * 10 + (*q++ - '0');
        }
        if (q - first <= 15 && q > first) {
            if (q == end) {
                value *= 1000;
                return negative ? -value : value;
            }
            if (*q == '.' && end - q <= 4 && end - q > 1) {
                int places = 3;
                for (q++; q < end && is_digit(*q); q++, places--) {
                    value = value * 10 + (*q - '0');
                }
                if (q == end) {
                    for (; places > 0; places--) {
                        value *= 10;
                    }
                    return negative ? -value : value;
                }
            }
        }
    }
    return nanoseconds_slow(p, n);
}

int64_t number_integer(const uint8_t *p, size_t n, int64_t limit)
{
    uint64_t value = 0;
    const uint8_t *end;
    int negative = 0;
    strip(&p, &n);
    end = p + n;
    if (p < end && (*p == '-' || *p == '+')) {
        negative = *p++ == '-';
    }
    if (p == end) {
        return NUMBER_MISSING;
    }
    for (; p < end; p++) {
        if (!is_digit(*p)) {
            return NUMBER_MISSING;
        }
        if (value > (uint64_t)INT64_MAX / 10) {
            value = UINT64_MAX; /* too large, but the rest must still be digits */
            continue;
        }
        value = value * 10 + (uint64_t)(*p - '0');
    }
    if (value > (uint64_t)limit) {
        return NUMBER_MISSING;
    }
    return negative ? -(int64_t)value : (int64_t)value;
}

double number_power(unsigned n)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    return powers[n];
}

/* Up to 15 digits and a power of ten below 1e22 give the exact double with one operation. */
static int real_fast(const uint8_t *p, size_t n, double *out)
{
    const uint8_t *end = p + n;
    int negative = 0, point = 0;
    unsigned digits = 0, places = 0;
    uint64_t value = 0;
    if (n > 17) {
        return 0;
    }
    if (p < end && *p == '-') {
        negative = 1;
        p++;
    }
    for (; p < end; p++) {
        if (*p == '.' && !point) {
            point = 1;
        } else if (is_digit(*p)) {
            value = value * 10 + (uint64_t)(*p - '0');
            digits++;
            places += (unsigned)point;
        } else {
            return 0;
        }
    }
    if (!digits || digits > 15) {
        return 0;
    }
    *out = (double)value / number_power(places);
    if (negative) {
        *out = -*out;
    }
    return 1;
}

double number_real(const uint8_t *p, size_t n, number_to_double convert)
{
    char small[64], *text = small;
    double value;
    if (real_fast(p, n, &value)) {
        return value + 0.0;
    }
    if (n >= sizeof small) {
        text = malloc(n + 1);
        if (!text) {
            return NAN;
        }
    }
    memcpy(text, p, n);
    text[n] = 0;
    value = convert(text);
    if (text != small) {
        free(text);
    }
    return value + 0.0;
}

int64_t number_truncated(const uint8_t *p, size_t n, int64_t limit, number_to_double convert)
{
    double value = number_real(p, n, convert);
    /* (double)INT64_MAX is 2^63, one over: it must stay out. A 32-bit limit is exact. */
    double bound = (double)limit;
    if (limit == INT64_MAX ? fabs(value) < bound : fabs(value) <= bound) {
        return (int64_t)value;
    }
    return NUMBER_MISSING;
}
