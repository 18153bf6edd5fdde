#include "kube/schema_walk.h"

#include "base/buf.h"
#include "base/json.h"

#include <stdarg.h>

void schema_walk_path(const struct schema_walk *w, bool brackets, struct buf *out)
{
	size_t depth = w->depth < SCHEMA_MAX_DEPTH ? w->depth : SCHEMA_MAX_DEPTH;

	for (size_t i = 0; i < depth; i++) {
		const struct schema_segment *s = &w->path[i];
		if (s->step == SCHEMA_STEP_INDEX)
			buf_addf(out, "[%zu]", s->index);
		else if (s->step == SCHEMA_STEP_KEY && brackets)
			buf_addf(out, "[%s]", s->name);
		else
			buf_addf(out, "%s%s", out->len ? "." : "", s->name);
	}
	if (!out->len)
		buf_add_str(out, "");
}

void schema_walk_refuse(struct schema_walk *w, enum field_reason reason, const char *value,
			const char *fmt, ...)
{
	auto_buf path = BUF_INIT;
	char detail[FIELD_ERROR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	schema_walk_path(w, true, &path);
	field_errors_add(w->errors, reason, path.ptr ? path.ptr : "", value, "%s", detail);
}

void schema_walk_refuse_type(struct schema_walk *w, const struct cJSON *value, const char *wanted)
{
	auto_buf path = BUF_INIT, shown = BUF_INIT;

	schema_walk_path(w, true, &path);
	buf_addf(&shown, "\"%s\"", json_type_name(json_type_of(value)));
	w->type_errors++;
	schema_walk_refuse(w, FIELD_TYPE_INVALID, shown.ptr,
			   "%.200s in body must be of type %s: %s", path.ptr ? path.ptr : "",
			   wanted, shown.ptr);
}
