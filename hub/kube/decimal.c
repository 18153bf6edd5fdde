#include "kube/decimal.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int exponent_of(struct span s)
{
	bool negative = s.len && s.ptr[0] == '-';
	int e = 0;

	for (size_t i = 0; i < s.len && e < DECIMAL_MAX_EXPONENT; i++)
		if (is_digit(s.ptr[i]))
			e = e * 10 + (s.ptr[i] - '0');
	if (e > DECIMAL_MAX_EXPONENT)
		e = DECIMAL_MAX_EXPONENT;
	return negative ? -e : e;
}

static struct decimal normal(struct decimal d)
{
	if (d.digits == 0)
		return (struct decimal){0};
	while (d.digits % 10 == 0) {
		d.digits /= 10;
		d.exponent++;
	}
	return d;
}

struct decimal decimal_parse(struct span number)
{
	struct decimal d = {0};
	bool negative = number.len && number.ptr[0] == '-', fraction = false;
	int taken = 0;

	for (size_t i = 0; i < number.len; i++) {
		char c = number.ptr[i];
		if (c == 'e' || c == 'E') {
			d.exponent +=
			    exponent_of(span_make(number.ptr + i + 1, number.len - i - 1));
			break;
		}
		if (c == '.')
			fraction = true;
		if (!is_digit(c))
			continue;
		if (taken < DECIMAL_MAX_DIGITS) {
			d.digits = d.digits * 10 + (c - '0');
			taken += d.digits != 0;
			d.exponent -= fraction;
		} else {
			d.exponent += !fraction;
		}
	}
	if (negative)
		d.digits = -d.digits;
	return normal(d);
}

static int sign_of(struct decimal d)
{
	return (d.digits > 0) - (d.digits < 0);
}

static int count_digits(__int128 v)
{
	int n = 0;
	for (; v; v /= 10)
		n++;
	return n;
}

static __int128 scaled(__int128 v, int by)
{
	while (by-- > 0)
		v *= 10;
	return v;
}

int decimal_cmp(struct decimal a, struct decimal b)
{
	int sign = sign_of(a);

	if (sign != sign_of(b))
		return sign - sign_of(b);
	if (sign == 0)
		return 0;
	int na = count_digits(a.digits), nb = count_digits(b.digits);
	if (na + a.exponent != nb + b.exponent)
		return na + a.exponent < nb + b.exponent ? -sign : sign;
	__int128 x = scaled(a.digits, nb - na), y = scaled(b.digits, na - nb);
	return (x > y) - (x < y);
}

bool decimal_is_multiple(struct decimal a, struct decimal of)
{
	__int128 m = of.digits < 0 ? -of.digits : of.digits;
	__int128 r = a.digits < 0 ? -a.digits : a.digits;

	if (m == 0)
		return false;
	if (r == 0)
		return true;
	if (a.exponent < of.exponent) {
		if (of.exponent - a.exponent > DECIMAL_MAX_DIGITS - count_digits(m))
			return false;
		return r % scaled(m, of.exponent - a.exponent) == 0;
	}
	r %= m;
	for (int i = a.exponent - of.exponent; i > 0 && r; i--)
		r = r * 10 % m;
	return r == 0;
}
