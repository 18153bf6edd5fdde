#include "member-sync/sim/query_text.h"

static int hex(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

struct span query_text_next(struct span *rest, struct buf *value)
{
	struct span text = span_split(rest, '&');
	struct span name = span_split(&text, '=');

	for (size_t i = 0; i < text.len; i++) {
		bool escaped = text.ptr[i] == '%' && i + 2 < text.len &&
			       hex(text.ptr[i + 1]) >= 0 && hex(text.ptr[i + 2]) >= 0;
		if (escaped) {
			buf_add_char(value,
				     (char)(hex(text.ptr[i + 1]) * 16 + hex(text.ptr[i + 2])));
			i += 2;
		} else {
			buf_add_char(value, text.ptr[i]);
		}
	}
	return name;
}

bool query_text_bool(struct span value)
{
	return value.len && !span_is(value, "0") && !span_is(value, "false");
}
