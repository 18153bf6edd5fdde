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

const char *names_dns_label_rule(void)
{
	return "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or "
	       "'-', and must start and end with an alphanumeric character (at most 63)";
}

const char *names_dns_subdomain_rule(void)
{
	return "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
	       "'-' or '.', and must start and end with an alphanumeric character (at most 253)";
}

const char *names_dns1035_rule(void)
{
	return "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start "
	       "with an alphabetic character, and end with an alphanumeric character (at most 63)";
}

const char *names_qualified_rule(void)
{
	return "name part must consist of alphanumeric characters, '-', '_' or '.', and must start "
	       "and end with an alphanumeric character (at most 63), with an optional DNS subdomain "
	       "prefix and '/'";
}

const char *names_label_value_rule(void)
{
	return "a valid label must be an empty string or consist of alphanumeric characters, '-', "
	       "'_' or '.', and must start and end with an alphanumeric character (at most 63)";
}
