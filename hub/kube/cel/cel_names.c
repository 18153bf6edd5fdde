#include "kube/cel/cel_names.h"

#include "base/compat.h"

static const char *const reserved[] = {
    "true",	"false",   "null",	"in",	    "as",  "break",  "const",
    "continue", "else",	   "for",	"function", "if",  "import", "let",
    "loop",	"package", "namespace", "return",   "var", "void",   "while"};

bool cel_name_is_reserved(struct span name)
{
	for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
		if (span_is(name, reserved[i]))
			return true;
	return false;
}

static bool is_escaped_word(struct span name)
{
	return name.len > 4 && span_starts(name, SPAN("__")) && span_ends(name, SPAN("__")) &&
	       cel_name_is_reserved(span_make(name.ptr + 2, name.len - 4));
}

bool cel_name_unescape(struct span name, char out[CEL_NAME_MAX])
{
	static const struct {
		struct span escaped;
		const char *plain;
	} parts[] = {{SPAN("__underscores__"), "__"},
		     {SPAN("__dot__"), "."},
		     {SPAN("__dash__"), "-"},
		     {SPAN("__slash__"), "/"}};
	size_t n = 0;

	if (name.len >= CEL_NAME_MAX)
		return false;
	if (is_escaped_word(name))
		name = span_make(name.ptr + 2, name.len - 4);
	while (name.len) {
		size_t i = 0;
		while (i < ARRAY_LEN(parts) && !span_starts(name, parts[i].escaped))
			i++;
		size_t taken = i < ARRAY_LEN(parts) ? parts[i].escaped.len : 1;
		if (i == ARRAY_LEN(parts))
			out[n++] = name.ptr[0];
		for (const char *p = i < ARRAY_LEN(parts) ? parts[i].plain : ""; *p; p++)
			out[n++] = *p;
		name = span_make(name.ptr + taken, name.len - taken);
	}
	out[n] = '\0';
	return true;
}
