/*
 * Quantities and addresses, as Kubernetes adds them (k8s.io/apiserver/pkg/cel/library/quantity.go,
 * ip.go, cidr.go). Quantities are exact in thousandths, and what is smaller is rounded up, as
 * everywhere in this hub.
 */
#include "base/num.h"
#include "kube/cel/cel_list.h"
#include "kube/quantity.h"

#include <arpa/inet.h>
#include <errno.h>

typedef struct cel_value value;
#define CALL(name) static value name(struct cel_run *r, const value *a, size_t n)

/* ---- quantities ---- */

static bool read_quantity(struct span s, __int128 *ret)
{
	int64_t v;
	int e = quantity_parse(s, QUANTITY_MILLI | QUANTITY_NEGATIVE, &v);

	*ret = v;
	if (e == -ERANGE) {
		e = quantity_parse(s, QUANTITY_NEGATIVE, &v);
		*ret = (__int128)v * CEL_QUANTITY_UNIT;
	}
	return e == 0;
}

static value quantity_of(struct cel_run *r, __int128 amount)
{
	__int128 *p = arena_new(r->mem, __int128);

	memcpy(p, &amount, sizeof(amount));
	return (value){.kind = CEL_QUANTITY, .amount = p};
}

CALL(quantity)
{
	__int128 v = 0;

	(void)n;
	return read_quantity(a[0].text, &v) ? quantity_of(r, v)
					    : cel_fail("a quantity that cannot be read");
}

CALL(is_quantity)
{
	__int128 v;

	(void)r, (void)n;
	return cel_bool(read_quantity(a[0].text, &v));
}

CALL(sign)
{
	(void)r, (void)n;
	return cel_int((*a[0].amount > 0) - (*a[0].amount < 0));
}

static bool as_integer(const value *v, int64_t *ret)
{
	__int128 whole = *v->amount / CEL_QUANTITY_UNIT;

	if (*v->amount % CEL_QUANTITY_UNIT || whole > INT64_MAX || whole < INT64_MIN)
		return false;
	*ret = (int64_t)whole;
	return true;
}

CALL(is_integer)
{
	int64_t v;

	(void)r, (void)n;
	return cel_bool(as_integer(&a[0], &v));
}

CALL(to_integer)
{
	int64_t v = 0;

	(void)r, (void)n;
	return as_integer(&a[0], &v) ? cel_int(v) : cel_fail("cannot convert value to integer");
}

CALL(to_float)
{
	(void)r, (void)n;
	return (value){.kind = CEL_DOUBLE, .real = (double)*a[0].amount / CEL_QUANTITY_UNIT};
}

static __int128 amount_of(const value *v)
{
	return v->kind == CEL_INT ? (__int128)v->number * CEL_QUANTITY_UNIT : *v->amount;
}

/* Of int64 thousandths times a few steps: far from the ends of 128 bits. */
CALL(add)
{
	(void)n;
	return quantity_of(r, amount_of(&a[0]) + amount_of(&a[1]));
}

CALL(subtract)
{
	(void)n;
	return quantity_of(r, amount_of(&a[0]) - amount_of(&a[1]));
}

CALL(is_greater)
{
	(void)r, (void)n;
	return cel_bool(*a[0].amount > *a[1].amount);
}

CALL(is_less)
{
	(void)r, (void)n;
	return cel_bool(*a[0].amount < *a[1].amount);
}

CALL(compare)
{
	(void)r, (void)n;
	return cel_int((*a[0].amount > *a[1].amount) - (*a[0].amount < *a[1].amount));
}

#define Q CEL_QUANTITY
#define S CEL_STRING

static const struct cel_function quantities[] = {
    {"quantity", false, 1, {S}, Q, CEL_GIVES_KIND, quantity},
    {"isQuantity", false, 1, {S}, CEL_BOOL, CEL_GIVES_KIND, is_quantity},
    {"sign", false, 1, {Q}, CEL_INT, CEL_GIVES_KIND, sign},
    {"isInteger", true, 1, {Q}, CEL_BOOL, CEL_GIVES_KIND, is_integer},
    {"asInteger", true, 1, {Q}, CEL_INT, CEL_GIVES_KIND, to_integer},
    {"asApproximateFloat", true, 1, {Q}, CEL_DOUBLE, CEL_GIVES_KIND, to_float},
    {"add", true, 2, {Q, Q}, Q, CEL_GIVES_KIND, add},
    {"add", true, 2, {Q, CEL_INT}, Q, CEL_GIVES_KIND, add},
    {"sub", true, 2, {Q, Q}, Q, CEL_GIVES_KIND, subtract},
    {"sub", true, 2, {Q, CEL_INT}, Q, CEL_GIVES_KIND, subtract},
    {"isGreaterThan", true, 2, {Q, Q}, CEL_BOOL, CEL_GIVES_KIND, is_greater},
    {"isLessThan", true, 2, {Q, Q}, CEL_BOOL, CEL_GIVES_KIND, is_less},
    {"compareTo", true, 2, {Q, Q}, CEL_INT, CEL_GIVES_KIND, compare},
};

const struct cel_table cel_table_quantities = {quantities, ARRAY_LEN(quantities)};

/* ---- addresses ---- */

static bool read_ip(struct span s, struct cel_address *ret)
{
	char text[INET6_ADDRSTRLEN + 1];

	*ret = (struct cel_address){.family = 4, .bits = 32};
	if (s.len == 0 || s.len >= sizeof(text) || memchr(s.ptr, '\0', s.len))
		return false;
	memcpy(text, s.ptr, s.len);
	text[s.len] = '\0';
	if (inet_pton(AF_INET, text, ret->bytes) == 1)
		return true;
	*ret = (struct cel_address){.family = 6, .bits = 128};
	/* An IPv4 address within an IPv6 one is refused, as upstream refuses it. */
	return inet_pton(AF_INET6, text, ret->bytes) == 1 &&
	       memcmp(ret->bytes, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12) != 0;
}

static bool read_cidr(struct span s, struct cel_address *ret)
{
	struct span bits = s, address = span_split(&bits, '/');
	uint64_t n;

	if (!bits.len || (bits.len > 1 && bits.ptr[0] == '0') || !read_ip(address, ret) ||
	    num_parse_u64(bits, ret->bits, &n) < 0)
		return false;
	ret->bits = (uint8_t)n;
	return true;
}

static value address_of(struct cel_run *r, enum cel_kind kind, const struct cel_address *from)
{
	struct cel_address *p = arena_new(r->mem, struct cel_address);

	*p = *from;
	return (value){.kind = kind, .address = p};
}

static void print_ip(const struct cel_address *a, char out[INET6_ADDRSTRLEN])
{
	if (!inet_ntop(a->family == 4 ? AF_INET : AF_INET6, a->bytes, out, INET6_ADDRSTRLEN))
		out[0] = '\0';
}

CALL(ip)
{
	struct cel_address v;

	(void)n;
	return read_ip(a[0].text, &v) ? address_of(r, CEL_IP, &v)
				      : cel_fail("an IP address that cannot be read");
}

CALL(is_ip)
{
	struct cel_address v;

	(void)r, (void)n;
	return cel_bool(read_ip(a[0].text, &v));
}

CALL(is_canonical)
{
	struct cel_address v;
	char text[INET6_ADDRSTRLEN];

	(void)r, (void)n;
	if (!read_ip(a[0].text, &v))
		return cel_fail("an IP address that cannot be read");
	print_ip(&v, text);
	return cel_bool(span_is(a[0].text, text));
}

CALL(family)
{
	(void)r, (void)n;
	return cel_int(a[0].address->family);
}

CALL(is_unspecified)
{
	static const uint8_t none[16] = {0};

	(void)r, (void)n;
	return cel_bool(memcmp(a[0].address->bytes, none, a[0].address->family == 4 ? 4 : 16) == 0);
}

CALL(is_loopback)
{
	static const uint8_t one[16] = {[15] = 1};
	const struct cel_address *v = a[0].address;

	(void)r, (void)n;
	return cel_bool(v->family == 4 ? v->bytes[0] == 127 : memcmp(v->bytes, one, 16) == 0);
}

static bool is_local_multicast(const struct cel_address *v)
{
	return v->family == 4 ? memcmp(v->bytes, "\xe0\0\0", 3) == 0
			      : v->bytes[0] == 0xff && (v->bytes[1] & 0x0f) == 2;
}

static bool is_local_unicast(const struct cel_address *v)
{
	return v->family == 4 ? v->bytes[0] == 169 && v->bytes[1] == 254
			      : v->bytes[0] == 0xfe && (v->bytes[1] & 0xc0) == 0x80;
}

CALL(is_link_local_multicast)
{
	(void)r, (void)n;
	return cel_bool(is_local_multicast(a[0].address));
}

CALL(is_link_local_unicast)
{
	(void)r, (void)n;
	return cel_bool(is_local_unicast(a[0].address));
}

CALL(is_global_unicast)
{
	const struct cel_address *v = a[0].address;
	bool multicast = v->family == 4 ? (v->bytes[0] & 0xf0) == 0xe0 : v->bytes[0] == 0xff;
	bool broadcast = v->family == 4 && memcmp(v->bytes, "\xff\xff\xff\xff", 4) == 0;

	return cel_bool(!multicast && !broadcast && !is_unspecified(r, a, n).flag &&
			!is_loopback(r, a, n).flag && !is_local_unicast(v));
}

CALL(cidr)
{
	struct cel_address v;

	(void)n;
	return read_cidr(a[0].text, &v) ? address_of(r, CEL_CIDR, &v)
					: cel_fail("a CIDR that cannot be read");
}

CALL(is_cidr)
{
	struct cel_address v;

	(void)r, (void)n;
	return cel_bool(read_cidr(a[0].text, &v));
}

static void mask(struct cel_address *v)
{
	for (size_t bit = v->bits; bit < 128; bit++)
		v->bytes[bit / 8] &= (uint8_t) ~(0x80u >> bit % 8);
}

static bool is_within(const struct cel_address *in, const struct cel_address *v)
{
	struct cel_address x = *in, y = *v;

	y.bits = x.bits;
	mask(&x);
	mask(&y);
	return x.family == y.family && memcmp(x.bytes, y.bytes, 16) == 0;
}

CALL(contains_ip)
{
	struct cel_address v;

	(void)r, (void)n;
	if (a[1].kind == CEL_IP)
		return cel_bool(is_within(a[0].address, a[1].address));
	return read_ip(a[1].text, &v) ? cel_bool(is_within(a[0].address, &v))
				      : cel_fail("an IP address that cannot be read");
}

CALL(contains_cidr)
{
	struct cel_address v;

	(void)r, (void)n;
	if (a[1].kind == CEL_CIDR)
		v = *a[1].address;
	else if (!read_cidr(a[1].text, &v))
		return cel_fail("a CIDR that cannot be read");
	return cel_bool(v.bits >= a[0].address->bits && is_within(a[0].address, &v));
}

CALL(ip_of)
{
	struct cel_address v = *a[0].address;

	(void)n;
	v.bits = v.family == 4 ? 32 : 128;
	return address_of(r, CEL_IP, &v);
}

CALL(masked)
{
	struct cel_address v = *a[0].address;

	(void)n;
	mask(&v);
	return address_of(r, CEL_CIDR, &v);
}

CALL(prefix_length)
{
	(void)r, (void)n;
	return cel_int(a[0].address->bits);
}

CALL(to_string)
{
	char ip_text[INET6_ADDRSTRLEN];
	auto_buf b = BUF_INIT;

	(void)n;
	print_ip(a[0].address, ip_text);
	buf_add_str(&b, ip_text);
	if (a[0].kind == CEL_CIDR)
		buf_addf(&b, "/%u", a[0].address->bits);
	return cel_string_of(r->mem, buf_span(&b));
}

#define B   CEL_BOOL
#define IP  CEL_IP
#define NET CEL_CIDR

static const struct cel_function addresses[] = {
    {"ip", false, 1, {S}, IP, CEL_GIVES_KIND, ip},
    {"isIP", false, 1, {S}, B, CEL_GIVES_KIND, is_ip},
    {"ip.isCanonical", false, 1, {S}, B, CEL_GIVES_KIND, is_canonical},
    {"family", true, 1, {IP}, CEL_INT, CEL_GIVES_KIND, family},
    {"isUnspecified", true, 1, {IP}, B, CEL_GIVES_KIND, is_unspecified},
    {"isLoopback", true, 1, {IP}, B, CEL_GIVES_KIND, is_loopback},
    {"isLinkLocalMulticast", true, 1, {IP}, B, CEL_GIVES_KIND, is_link_local_multicast},
    {"isLinkLocalUnicast", true, 1, {IP}, B, CEL_GIVES_KIND, is_link_local_unicast},
    {"isGlobalUnicast", true, 1, {IP}, B, CEL_GIVES_KIND, is_global_unicast},
    {"string", false, 1, {IP}, S, CEL_GIVES_KIND, to_string},
    {"cidr", false, 1, {S}, NET, CEL_GIVES_KIND, cidr},
    {"isCIDR", false, 1, {S}, B, CEL_GIVES_KIND, is_cidr},
    {"containsIP", true, 2, {NET, S}, B, CEL_GIVES_KIND, contains_ip},
    {"containsIP", true, 2, {NET, IP}, B, CEL_GIVES_KIND, contains_ip},
    {"containsCIDR", true, 2, {NET, S}, B, CEL_GIVES_KIND, contains_cidr},
    {"containsCIDR", true, 2, {NET, NET}, B, CEL_GIVES_KIND, contains_cidr},
    {"ip", true, 1, {NET}, IP, CEL_GIVES_KIND, ip_of},
    {"masked", true, 1, {NET}, NET, CEL_GIVES_KIND, masked},
    {"prefixLength", true, 1, {NET}, CEL_INT, CEL_GIVES_KIND, prefix_length},
    {"string", false, 1, {NET}, S, CEL_GIVES_KIND, to_string},
};

const struct cel_table cel_table_addresses = {addresses, ARRAY_LEN(addresses)};
