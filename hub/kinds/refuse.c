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
