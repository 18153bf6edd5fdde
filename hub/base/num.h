#ifndef BASE_NUM_H
#define BASE_NUM_H
/*
 * Integers from outside: checked arithmetic, and text to number without locale, sign surprises
 * or trailing bytes. Floating point is written only, where a wire format has it.
 */
#include "base/compat.h"
#include "base/span.h"
#include <stdbool.h>
#include <stdint.h>

/* Each returns true on overflow and leaves *ret untouched then. */
static inline bool num_add_overflows(int64_t a, int64_t b, int64_t *ret)
{
	int64_t r;
	if (__builtin_add_overflow(a, b, &r))
		return true;
	*ret = r;
	return false;
}

static inline bool num_sub_overflows(int64_t a, int64_t b, int64_t *ret)
{
	int64_t r;
	if (__builtin_sub_overflow(a, b, &r))
		return true;
	*ret = r;
	return false;
}

static inline bool num_mul_overflows(int64_t a, int64_t b, int64_t *ret)
{
	int64_t r;
	if (__builtin_mul_overflow(a, b, &r))
		return true;
	*ret = r;
	return false;
}

/* Addition that stays at the ends of int64. */
static inline int64_t num_add_sat(int64_t a, int64_t b)
{
	int64_t r;
	if (!__builtin_add_overflow(a, b, &r))
		return r;
	return a < 0 ? INT64_MIN : INT64_MAX;
}

static inline int64_t num_sub_sat(int64_t a, int64_t b)
{
	int64_t r;
	if (!__builtin_sub_overflow(a, b, &r))
		return r;
	return a < 0 ? INT64_MIN : INT64_MAX;
}

static inline int64_t num_mul_sat(int64_t a, int64_t b)
{
	int64_t r;
	if (!__builtin_mul_overflow(a, b, &r))
		return r;
	return (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
}

static inline int64_t num_min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int64_t num_max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Decimal digits only, whole span, at most `max`. 0, -EINVAL (not a number) or -ERANGE. */
int num_parse_u64(struct span s, uint64_t max, uint64_t *ret) MUST_CHECK;
/* As above with an optional leading '-'. */
int num_parse_i64(struct span s, int64_t min, int64_t max, int64_t *ret) MUST_CHECK;

/* The whole span as a decimal floating-point number, "1.5e3"; also "inf", "nan" and hexadecimal, as
 * C and Go have them. No blanks. -EINVAL when it is none, or longer than NUM_DOUBLE_MAX. */
#define NUM_DOUBLE_MAX 63
int num_parse_double(struct span s, double *ret) MUST_CHECK;

#define NUM_DOUBLE_TEXT 32
/* A JSON number that reads back as just this double, with as few digits as do; NULL for infinities
 * and what is not a number. Returns out. */
const char *num_format_double(double v, char out[NUM_DOUBLE_TEXT]);

#endif
