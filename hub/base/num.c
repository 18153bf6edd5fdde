#include "base/num.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int num_parse_u64(struct span s, uint64_t max, uint64_t *ret)
{
	uint64_t v = 0;

	if (s.len == 0)
		return -EINVAL;
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] < '0' || s.ptr[i] > '9')
			return -EINVAL;
	for (size_t i = 0; i < s.len; i++) {
		if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(s.ptr[i] - '0'), &v))
			return -ERANGE;
	}
	if (v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

int num_parse_i64(struct span s, int64_t min, int64_t max, int64_t *ret)
{
	bool negative = s.len > 0 && s.ptr[0] == '-';
	uint64_t u;
	struct span digits = negative ? span_make(s.ptr + 1, s.len - 1) : s;
	int r = num_parse_u64(digits, negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX, &u);
	if (r < 0)
		return r;
	int64_t v =
	    negative ? (u == (uint64_t)INT64_MAX + 1 ? INT64_MIN : -(int64_t)u) : (int64_t)u;
	if (v < min || v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

/* The bits, so that 0 and -0 are two. */
static bool is_same_double(double a, double b)
{
	return memcmp(&a, &b, sizeof(a)) == 0;
}

const char *num_format_double(double v, char out[NUM_DOUBLE_TEXT])
{
	if (!isfinite(v))
		return NULL;
	if (fabs(v) < 1e15 && is_same_double((double)(int64_t)v, v)) {
		snprintf(out, NUM_DOUBLE_TEXT, "%" PRId64, (int64_t)v);
		return out;
	}
	/* 17 digits always tell doubles apart. */
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(out, NUM_DOUBLE_TEXT, "%.*g", digits, v);
		if (is_same_double(strtod(out, NULL), v))
			break;
	}
	return out;
}

int num_parse_double(struct span s, double *ret)
{
	char text[NUM_DOUBLE_MAX + 1], *end;

	if (!s.len || s.len > NUM_DOUBLE_MAX || strchr(" \t\n\v\f\r", s.ptr[0]))
		return -EINVAL;
	memcpy(text, s.ptr, s.len);
	text[s.len] = '\0';
	double v = strtod(text, &end);
	if (end != text + s.len)
		return -EINVAL;
	*ret = v;
	return 0;
}
