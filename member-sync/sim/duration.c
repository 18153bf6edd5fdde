#include "member-sync/sim/duration.h"
#include "base/num.h"
#include <errno.h>

static const struct {
	const char *name;
	usec each;
} units[] = {
    {"us", 1},
    {"ms", USEC_PER_MS},
    {"s", USEC_PER_SEC},
    {"m", 60 * USEC_PER_SEC},
    {"h", 3600 * USEC_PER_SEC},
};

static size_t digits_at(struct span s)
{
	size_t n = 0;
	while (n < s.len && s.ptr[n] >= '0' && s.ptr[n] <= '9')
		n++;
	return n;
}

static struct span after(struct span s, size_t n)
{
	return span_make(s.ptr + n, s.len - n);
}

/* One number with its unit from the front of *s. */
static int take_one(struct span *s, usec *ret)
{
	uint64_t whole = 0, fraction = 0;
	usec scale = 1, value;
	size_t n = digits_at(*s);
	if (n > 12 || (n && num_parse_u64(span_make(s->ptr, n), UINT64_MAX, &whole)))
		return -EINVAL;
	*s = after(*s, n);
	if (s->len && *s->ptr == '.') {
		*s = after(*s, 1);
		size_t f = digits_at(*s);
		if (!f || f > 9 || num_parse_u64(span_make(s->ptr, f), UINT64_MAX, &fraction))
			return -EINVAL;
		*s = after(*s, f);
		for (size_t i = 0; i < f; i++)
			scale *= 10;
	} else if (!n) {
		return -EINVAL;
	}
	size_t len = 0;
	while (len < s->len && s->ptr[len] >= 'a' && s->ptr[len] <= 'z')
		len++;
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (!span_is(span_make(s->ptr, len), units[i].name))
			continue;
		if (num_mul_overflows((int64_t)whole, units[i].each, &value))
			return -EINVAL;
		*ret = num_add_sat(value, num_mul_sat((int64_t)fraction, units[i].each) / scale);
		*s = after(*s, len);
		return 0;
	}
	return -EINVAL;
}

int duration_parse(struct span text, usec *ret)
{
	usec sum = 0;
	if (span_is(text, "0")) {
		*ret = 0;
		return 0;
	}
	if (!text.len)
		return -EINVAL;
	while (text.len) {
		usec one;
		if (take_one(&text, &one))
			return -EINVAL;
		sum = num_add_sat(sum, one);
		if (sum > DURATION_MAX)
			return -EINVAL;
	}
	*ret = sum;
	return 0;
}
