/* Numbers of a trace from their decimal text: exact nanoseconds, ids, and doubles. No Python here. */
#ifndef FORETRACE_NUMBER_H
#define FORETRACE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#define NUMBER_MISSING INT64_MIN
#define NUMBER_MISSING32 INT32_MIN

/* A decimal text as a double, correctly rounded, whatever the locale. */
typedef double (*number_to_double)(const char *text);

/* Nanoseconds for decimal microseconds, halves away from zero; NUMBER_MISSING where it is none or too large. */
int64_t number_nanoseconds(const uint8_t *p, size_t n);

/* A whole number written in digits, or NUMBER_MISSING where larger than limit or no such text. */
int64_t number_integer(const uint8_t *p, size_t n, int64_t limit);

/* The double for a JSON number; negative zero becomes zero. */
double number_real(const uint8_t *p, size_t n, number_to_double convert);

/* Ten to the power of n, exact: n is at most 22. */
double number_power(unsigned n);

/* A JSON number with a fraction or exponent as a whole number, cut towards zero; else NUMBER_MISSING. */
int64_t number_truncated(const uint8_t *p, size_t n, int64_t limit, number_to_double convert);

#endif
