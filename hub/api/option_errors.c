#include "api/option_errors.h"

#include "base/num.h"

#include <errno.h>
#include <stdarg.h>

struct option_errors {
	struct kind kind; /* only its names */
	struct field_errors errors;
};

static struct option_errors *errors_of(struct call *c, const char *options)
{
	struct option_errors *o = c->options;

	if (!o) {
		o = arena_new(c->mem, struct option_errors);
		o->kind.kind = options;
		o->kind.plural = options;
		o->kind.group = "meta.k8s.io";
		c->options = o;
	}
	return o;
}

void option_refuse(struct call *c, const char *options, enum field_reason reason, const char *field,
		   const char *value, const char *detail_fmt, ...)
{
	char detail[240];
	va_list args;

	va_start(args, detail_fmt);
	(void)vsnprintf(detail, sizeof(detail), detail_fmt, args);
	va_end(args);
	field_errors_add(&errors_of(c, options)->errors, reason, field, value, "%s", detail);
}

void option_refuse_text(struct call *c, const char *options, enum field_reason reason,
			const char *field, struct span value, const char *detail)
{
	auto_buf shown = BUF_INIT;

	buf_add_json_str(&shown, value);
	option_refuse(c, options, reason, field, shown.ptr, "%s", detail);
}

int option_number(const struct call *c, const char *name, int64_t *ret, struct err *reterr)
{
	struct span v = http_param(c->request, name);
	auto_buf shown = BUF_INIT;
	int r = v.ptr ? num_parse_i64(v, INT64_MIN, INT64_MAX, ret) : 0;

	if (!r)
		return 0;
	buf_add_json_str(&shown, span_make(v.ptr, v.len < 80 ? v.len : 80));
	return err_set(reterr, ERR_BAD_REQUEST, "strconv.ParseInt: parsing %s: %s", shown.ptr,
		       r == -ERANGE ? "value out of range" : "invalid syntax");
}

void option_check_dry_run(struct call *c, const char *options, const struct span *values, size_t n)
{
	auto_buf shown = BUF_INIT;
	bool known = true;

	for (size_t i = 0; i < n; i++) {
		buf_add_str(&shown, i ? "," : "[");
		buf_add_json_str(&shown, values[i]);
		known = known && span_is(values[i], "All");
	}
	buf_add_char(&shown, ']');
	c->dry_run = c->dry_run || n > 0;
	if (!known)
		option_refuse(c, options, FIELD_NOT_SUPPORTED, "dryRun", shown.ptr,
			      "supported values: \"All\"");
}

int option_check(const struct call *c, struct err *reterr)
{
	const struct option_errors *o = c->options;

	if (!o || !field_errors_any(&o->errors))
		return 0;
	return status_set_invalid(reterr, &o->kind, "", &o->errors);
}

const char *option_kind_of_write(const struct call *c)
{
	switch (c->request->method) {
	case HTTP_POST:
		return "CreateOptions";
	case HTTP_PUT:
		return "UpdateOptions";
	case HTTP_DELETE:
		return "DeleteOptions";
	default:
		return "PatchOptions";
	}
}

bool option_subject(const struct call *c, const struct err *e, struct status_subject *ret)
{
	const struct option_errors *o = c->options;

	if (!o || e->kind != ERR_INVALID || !field_errors_any(&o->errors))
		return false;
	*ret = (struct status_subject){.kind = &o->kind, .errors = &o->errors};
	return true;
}

void option_done(struct call *c)
{
	if (c->options)
		field_errors_done(&c->options->errors);
}
