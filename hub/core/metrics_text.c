#include "core/metrics_text.h"

#include <inttypes.h>

void metrics_head(struct buf *b, const char *name, const char *type, const char *help)
{
	buf_addf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metrics_label(struct buf *b, struct span value)
{
	for (size_t i = 0; i < value.len; i++) {
		if (value.ptr[i] == '"' || value.ptr[i] == '\\')
			buf_add_char(b, '\\');
		if (value.ptr[i] == '\n')
			buf_add_str(b, "\\n");
		else
			buf_add_char(b, value.ptr[i]);
	}
}

void metrics_seconds(struct buf *b, usec t)
{
	buf_addf(b, "%" PRId64 ".%06" PRId64, t / USEC_PER_SEC, t % USEC_PER_SEC);
}

void metrics_amount(struct buf *b, struct span resource, int64_t v)
{
	if (span_is(resource, "cpu"))
		buf_addf(b, "%" PRId64 ".%03d", v / 1000, (int)(v % 1000));
	else
		buf_add_i64(b, v);
}
