#include "kinds/refuse.h"

#include "base/buf.h"

#include <stdarg.h>

#define ADD(e, reason, shown, detail, path_fmt)                                                    \
	do {                                                                                       \
		char path_[REFUSE_PATH_MAX];                                                       \
		va_list ap_;                                                                       \
		va_start(ap_, path_fmt);                                                           \
		(void)vsnprintf(path_, sizeof(path_), path_fmt, ap_);                              \
		va_end(ap_);                                                                       \
		field_errors_add(e, reason, path_, shown, "%s", detail);                           \
	} while (0)

void refuse(struct field_errors *e, enum field_reason reason, const struct cJSON *value,
	    const char *detail, const char *path_fmt, ...)
{
	auto_buf shown = BUF_INIT;

	if (value)
		json_print(value, &shown);
	ADD(e, reason, shown.ptr, detail, path_fmt);
}

void refuse_text(struct field_errors *e, enum field_reason reason, const char *value,
		 const char *detail, const char *path_fmt, ...)
{
	auto_buf shown = BUF_INIT;

	if (value)
		buf_add_json_str(&shown, span_of(value));
	ADD(e, reason, shown.ptr, detail, path_fmt);
}

static size_t at_write(const struct at *at, char *out, size_t size)
{
	size_t n = at->above ? at_write(at->above, out, size) : 0;
	size_t left = n < size ? size - n : 0;
	int more;

	if (at->step == AT_STEP_INDEX)
		more = snprintf(out + n, left, "[%zu]", at->index);
	else if (at->step == AT_STEP_KEY)
		more = snprintf(out + n, left, "[%s]", at->name);
	else
		more = snprintf(out + n, left, "%s%s", n ? "." : "", at->name);
	n += more > 0 ? (size_t)more : 0;
	return n < size ? n : size - 1;
}

const char *at_text(const struct at *at, char out[REFUSE_PATH_MAX])
{
	(void)at_write(at, out, REFUSE_PATH_MAX);
	return out;
}

void refuse_at(struct field_errors *e, enum field_reason reason, const struct cJSON *value,
	       const char *detail, const struct at *at)
{
	char path[REFUSE_PATH_MAX];

	refuse(e, reason, value, detail, "%s", at_text(at, path));
}

void refuse_text_at(struct field_errors *e, enum field_reason reason, const char *value,
		    const char *detail, const struct at *at)
{
	char path[REFUSE_PATH_MAX];

	refuse_text(e, reason, value, detail, "%s", at_text(at, path));
}

void refuse_unsupported(struct field_errors *e, const char *value, const char *const *supported,
			const struct at *at)
{
	auto_buf words = BUF_INIT;

	buf_add_str(&words, "supported values: ");
	for (size_t i = 0; supported[i]; i++)
		buf_addf(&words, "%s\"%s\"", i ? ", " : "", supported[i]);
	refuse_text_at(e, FIELD_NOT_SUPPORTED, value, words.ptr, at);
}

void refuse_unfit(struct field_errors *e, const char *text, bool (*fits)(struct span),
		  const char *(*rule)(struct span), const struct at *at)
{
	if (!fits(span_of(text)))
		refuse_text_at(e, FIELD_INVALID, text, rule(span_of(text)), at);
}

void refuse_change(struct field_errors *e, const struct cJSON *before, const struct cJSON *after,
		   const char *path)
{
	if (before && after ? json_equal(before, after) : before == after)
		return;
	refuse(e, FIELD_INVALID, after, "field is immutable", "%s", path);
}

void refuse_warn(struct buf *warnings, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	if (!warnings)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	buf_addf(warnings, "%s\n", line);
}
