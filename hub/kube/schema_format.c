/*
 * The string formats of apiextensions (supportedFormats) beyond those that compiled kinds use.
 * Sources: k8s.io/kube-openapi/pkg/validation/strfmt; RFC 4291, 4122, 3339.
 */
#include "kube/schema_rules.h"

#include "base/clock.h"
#include "base/compat.h"
#include "base/num.h"
#include "kube/names.h"
#include "kube/schema.h"

#include <arpa/inet.h>

#define HEX "[0-9a-fA-F]"

struct format {
	const char *name;
	const char *pattern; /* or NULL: */
	bool (*fits)(struct span s);
};

static bool is_ip(struct span s, int family)
{
	char text[64];
	unsigned char address[16];

	if (s.len >= sizeof(text) || memchr(s.ptr, '\0', s.len))
		return false;
	memcpy(text, s.ptr, s.len);
	text[s.len] = '\0';
	return inet_pton(family, text, address) == 1;
}

static bool is_ipv4(struct span s)
{
	return is_ip(s, AF_INET);
}

static bool is_ipv6(struct span s)
{
	return is_ip(s, AF_INET6);
}

static bool is_cidr(struct span s)
{
	struct span rest = s, address = span_split(&rest, '/');
	uint64_t bits;

	if (!rest.ptr || num_parse_u64(rest, 128, &bits) < 0)
		return false;
	return is_ipv6(address) || (is_ipv4(address) && bits <= 32);
}

static bool is_date_time(struct span s)
{
	usec t;
	return clock_parse(s, &t) == 0;
}

static bool is_date(struct span s)
{
	char text[32];
	usec t;

	if (s.len != 10)
		return false;
	(void)snprintf(text, sizeof(text), "%.*sT00:00:00Z", SPAN_ARGS(s));
	return clock_parse(span_of(text), &t) == 0;
}

static const struct format formats[] = {
    {"bsonobjectid", "^" HEX "{24}$", NULL},
    {"uri", "^[A-Za-z][A-Za-z0-9+.-]*:[^\\s]*$|^/[^\\s]*$", NULL},
    {"email", "^[^@\\s<>]+@[^@\\s<>]+$", NULL},
    {"hostname",
     "^([a-zA-Z0-9\\p{L}]([a-zA-Z0-9\\p{L}-]{0,61}[a-zA-Z0-9\\p{L}])?)"
     "(\\.[a-zA-Z0-9\\p{L}]([a-zA-Z0-9\\p{L}-]{0,61}[a-zA-Z0-9\\p{L}])?)*\\.?$",
     NULL},
    {"ipv4", NULL, is_ipv4},
    {"ipv6", NULL, is_ipv6},
    {"cidr", NULL, is_cidr},
    {"mac",
     "^" HEX "{2}([:-]" HEX "{2}){5}$|^" HEX "{2}([:-]" HEX "{2}){7}$|^(" HEX "{4}\\.){2}" HEX
     "{4}$",
     NULL},
    {"uuid", "^" HEX "{8}-?" HEX "{4}-?" HEX "{4}-?" HEX "{4}-?" HEX "{12}$", NULL},
    {"uuid3", "^" HEX "{8}-?" HEX "{4}-?3" HEX "{3}-?" HEX "{4}-?" HEX "{12}$", NULL},
    {"uuid4", "^" HEX "{8}-?" HEX "{4}-?4" HEX "{3}-?[89abAB]" HEX "{3}-?" HEX "{12}$", NULL},
    {"uuid5", "^" HEX "{8}-?" HEX "{4}-?5" HEX "{3}-?[89abAB]" HEX "{3}-?" HEX "{12}$", NULL},
    {"isbn", "^([0-9][- ]?){9}[0-9Xx]$|^97[89][- ]?([0-9][- ]?){9}[0-9]$", NULL},
    {"isbn10", "^([0-9][- ]?){9}[0-9Xx]$", NULL},
    {"isbn13", "^97[89][- ]?([0-9][- ]?){9}[0-9]$", NULL},
    {"creditcard",
     "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|"
     "3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$",
     NULL},
    {"ssn", "^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$", NULL},
    {"hexcolor", "^#?(" HEX "{3}|" HEX "{6})$", NULL},
    {"rgbcolor",
     "^rgb\\(\\s*((25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])\\s*,\\s*){2}"
     "(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])\\s*\\)$",
     NULL},
    {"byte", "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$", NULL},
    {"date", NULL, is_date},
    {"date-time", NULL, is_date_time},
    {"datetime", NULL, is_date_time},
    {"duration",
     "^[-+]?(0|([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|\xc2\xb5s|ms|s|m|h|d|w)"
     "(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|\xc2\xb5s|ms|s|m|h|d|w))*)$",
     NULL},
    {"k8s-short-name", NULL, names_is_dns_label},
    {"k8s-long-name", NULL, names_is_dns_subdomain},
};

static const struct format *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}

bool schema_format_is_known(const char *format)
{
	return find(format) != NULL;
}

bool schema_format_fits(const char *format, struct span text)
{
	const struct format *f = find(format);

	if (!f)
		return true;
	return f->fits ? f->fits(text) : schema_pattern_matches(f->pattern, text);
}
