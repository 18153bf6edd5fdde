#include "kube/names.h"

static bool is_lower_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alnum(char c)
{
	return is_lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

bool names_is_dns_label(struct span s)
{
	if (s.len == 0 || s.len > NAMES_MAX_LABEL || !is_lower_alnum(s.ptr[0]) ||
	    !is_lower_alnum(s.ptr[s.len - 1]))
		return false;
	for (size_t i = 0; i < s.len; i++)
		if (!is_lower_alnum(s.ptr[i]) && s.ptr[i] != '-')
			return false;
	return true;
}

bool names_is_dns_subdomain(struct span s)
{
	char before = '.';

	if (s.len == 0 || s.len > NAMES_MAX_SUBDOMAIN)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		/* Parts start and end with a letter or digit; only the whole has a length limit. */
		if (is_lower_alnum(c) || (c == '-' && before != '.') ||
		    (c == '.' && is_lower_alnum(before)))
			before = c;
		else
			return false;
	}
	return is_lower_alnum(before);
}

bool names_is_dns1035(struct span s)
{
	return names_is_dns_label(s) && s.ptr[0] >= 'a';
}

/* Letters, digits, '-', '_' and '.', with a letter or digit at both ends. */
static bool is_name_part(struct span s)
{
	if (s.len == 0 || s.len > NAMES_MAX_LABEL || !is_alnum(s.ptr[0]) ||
	    !is_alnum(s.ptr[s.len - 1]))
		return false;
	for (size_t i = 0; i < s.len; i++)
		if (!is_alnum(s.ptr[i]) && s.ptr[i] != '-' && s.ptr[i] != '_' && s.ptr[i] != '.')
			return false;
	return true;
}

bool names_is_qualified(struct span s)
{
	struct span rest = s, head = span_split(&rest, '/');
	if (!rest.ptr)
		return is_name_part(head);
	return names_is_dns_subdomain(head) && is_name_part(rest);
}

bool names_is_label_value(struct span s)
{
	return s.len == 0 || is_name_part(s);
}

bool names_is_path_segment(struct span s)
{
	if (s.len == 0 || span_is(s, ".") || span_is(s, "..") || s.len > NAMES_MAX_SUBDOMAIN)
		return false;
	return !memchr(s.ptr, '/', s.len) && !memchr(s.ptr, '%', s.len);
}

/* The words of apimachinery, with the patterns it names in them. */
#define LABEL_KEY_FORM                                                                             \
	"must consist of alphanumeric characters, '-', '_' or '.', and must start and end with "   \
	"an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "  \
	"validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define SUBDOMAIN_FORM                                                                             \
	"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' "  \
	"or '.', and must start and end with an alphanumeric character (e.g. 'example.com', "      \
	"regex used for validation is "                                                            \
	"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define LONG_LABEL     "must be no more than 63 characters"
#define LONG_SUBDOMAIN "must be no more than 253 characters"

const char *names_dns_label_rule(struct span s)
{
	if (s.len > NAMES_MAX_LABEL)
		return LONG_LABEL;
	if (names_is_dns_subdomain(s))
		return "must not contain dots";
	return "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or "
	       "'-', and must start and end with an alphanumeric character (e.g. 'my-name',  or "
	       "'123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
}

const char *names_dns_subdomain_rule(struct span s)
{
	return s.len > NAMES_MAX_SUBDOMAIN ? LONG_SUBDOMAIN : SUBDOMAIN_FORM;
}

const char *names_dns1035_rule(struct span s)
{
	if (s.len > NAMES_MAX_LABEL)
		return LONG_LABEL;
	return "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start "
	       "with an alphabetic character, and end with an alphanumeric character (e.g. "
	       "'my-name',  or 'abc-123', regex used for validation is "
	       "'[a-z]([-a-z0-9]*[a-z0-9])?')";
}

const char *names_qualified_rule(struct span s)
{
	struct span rest = s, prefix = span_split(&rest, '/'), name = rest.ptr ? rest : prefix;

	if (rest.ptr && memchr(rest.ptr, '/', rest.len))
		return "a valid label key " LABEL_KEY_FORM
		       " with an optional DNS subdomain prefix and '/' (e.g. "
		       "'example.com/MyName')";
	if (rest.ptr && !prefix.len)
		return "prefix part must be non-empty";
	if (rest.ptr && prefix.len > NAMES_MAX_SUBDOMAIN)
		return "prefix part " LONG_SUBDOMAIN;
	if (rest.ptr && !names_is_dns_subdomain(prefix))
		return "prefix part " SUBDOMAIN_FORM;
	if (!name.len)
		return "name part must be non-empty";
	if (name.len > NAMES_MAX_LABEL)
		return "name part must be no more than 63 bytes";
	return "name part " LABEL_KEY_FORM;
}

const char *names_label_value_rule(struct span s)
{
	if (s.len > NAMES_MAX_LABEL)
		return "must be no more than 63 bytes";
	return "a valid label must be an empty string or consist of alphanumeric characters, '-', "
	       "'_' or '.', and must start and end with an alphanumeric character (e.g. "
	       "'MyValue',  or 'my_value',  or '12345', regex used for validation is "
	       "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
}

const char *names_path_segment_rule(struct span s)
{
	if (span_is(s, "."))
		return "may not be '.'";
	if (span_is(s, ".."))
		return "may not be '..'";
	if (s.ptr && memchr(s.ptr, '/', s.len))
		return "may not contain '/'";
	return s.len > NAMES_MAX_SUBDOMAIN ? LONG_SUBDOMAIN : "may not contain '%'";
}
