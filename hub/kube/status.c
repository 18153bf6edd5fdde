#include "kube/status.h"

#include "base/json.h"

#include <errno.h>

static const char *named(const char *name)
{
	return name ? name : "";
}

int status_set_not_found(struct err *reterr, const struct kind *k, const char *name)
{
	char resource[KIND_API_VERSION_MAX];
	return err_set(reterr, ERR_NOT_FOUND, "%s \"%s\" not found",
		       kind_resource_name(k, resource), named(name));
}

int status_set_already_exists(struct err *reterr, const struct kind *k, const char *name)
{
	char resource[KIND_API_VERSION_MAX];
	return err_set(reterr, ERR_ALREADY_EXISTS, "%s \"%s\" already exists",
		       kind_resource_name(k, resource), named(name));
}

int status_set_conflict(struct err *reterr, const struct kind *k, const char *name, const char *why)
{
	char resource[KIND_API_VERSION_MAX];
	if (!why)
		why = "the object has been modified; please apply your changes to the latest "
		      "version and try again";
	return err_set(reterr, ERR_CONFLICT, "Operation cannot be fulfilled on %s \"%s\": %s",
		       kind_resource_name(k, resource), named(name), why);
}

int status_set_forbidden(struct err *reterr, const struct kind *k, const char *name,
			 const char *why)
{
	char resource[KIND_API_VERSION_MAX];
	return err_set(reterr, ERR_FORBIDDEN, "%s \"%s\" is forbidden: %s",
		       kind_resource_name(k, resource), named(name), why);
}

int status_set_invalid(struct err *reterr, const struct kind *k, const char *name,
		       const struct field_errors *e)
{
	auto_buf text = BUF_INIT;
	field_errors_message(e, k->kind, k->group, named(name), &text);
	return err_set_field(reterr, ERR_INVALID, e->n ? e->items[0].field : "", "%s",
			     buf_ok(&text) ? text.ptr : "the object is invalid");
}

/* ---- JSON ---- */

/* "key":"value", with a comma when something stands before it; nothing for an absent value. */
static void add_text(struct buf *out, const char *key, const char *value)
{
	if (!value || !value[0])
		return;
	if (out->ptr[out->len - 1] != '{')
		buf_add_char(out, ',');
	buf_addf(out, "\"%s\":", key);
	buf_add_json_str(out, span_of(value));
}

static void add_cause(struct buf *out, const char *reason, const char *message, const char *field)
{
	if (out->ptr[out->len - 1] != '[')
		buf_add_char(out, ',');
	buf_add_char(out, '{');
	add_text(out, "reason", reason);
	add_text(out, "message", message);
	add_text(out, "field", field);
	buf_add_char(out, '}');
}

static void add_field_error(struct buf *out, const struct field_error *e)
{
	auto_buf body = BUF_INIT;
	field_error_body(e, &body);
	add_cause(out, field_reason_name(e->reason), body.ptr, e->field);
}

static void add_causes(struct buf *out, const struct err *e, const struct status_subject *s)
{
	size_t n_errors = s->errors ? s->errors->n : 0;
	bool from_err = e && e->kind == ERR_INVALID && e->field[0] && n_errors == 0;

	if (n_errors + s->n_causes == 0 && !from_err)
		return;
	buf_add_str(out, out->ptr[out->len - 1] == '{' ? "\"causes\":[" : ",\"causes\":[");
	for (size_t i = 0; i < n_errors; i++)
		add_field_error(out, &s->errors->items[i]);
	for (size_t i = 0; i < s->n_causes; i++)
		add_cause(out, s->causes[i].reason, s->causes[i].message, s->causes[i].field);
	if (from_err)
		add_cause(out, field_reason_name(FIELD_INVALID), e->text, e->field);
	buf_add_char(out, ']');
}

/* details.kind is the resource, except in an Invalid and some others, where it is the Kind. */
static void add_details(struct buf *out, const struct err *e, const struct status_subject *s)
{
	const struct kind *k = s->kind;
	bool invalid = (e && e->kind == ERR_INVALID) || s->of_kind;

	buf_add_str(out, ",\"details\":{");
	size_t empty = out->len;
	add_text(out, "name", s->name);
	add_text(out, "group", k ? k->group : NULL);
	add_text(out, "kind", k ? (invalid ? k->kind : k->plural) : NULL);
	add_text(out, "uid", s->uid);
	add_causes(out, e, s);
	if (s->retry_after_seconds)
		buf_addf(out, "%s\"retryAfterSeconds\":%d", out->len == empty ? "" : ",",
			 s->retry_after_seconds);
	buf_add_char(out, '}');
}

static void add_message(struct buf *out, const struct err *e, const struct status_subject *s)
{
	const struct kind *k = s->kind;
	auto_buf text = BUF_INIT;

	if (s->message)
		buf_add_str(&text, s->message);
	else if (s->errors && field_errors_any(s->errors) && k)
		field_errors_message(s->errors, k->kind, k->group, named(s->name), &text);
	else if (e->kind == ERR_INVALID && e->field[0] && !strstr(e->text, e->field))
		buf_addf(&text, "%s: %s", e->field, e->text);
	else
		buf_add_str(&text, e->text);
	buf_add_str(out, ",\"message\":");
	buf_add_json_str(out, buf_ok(&text) ? buf_span(&text) : span_of(e->text));
}

void status_failure(const struct err *e, const struct status_subject *subject, struct buf *out)
{
	static const struct status_subject nothing;
	const struct status_subject *s = subject ? subject : &nothing;
	bool details = s->kind || s->name || s->uid || s->n_causes || s->retry_after_seconds ||
		       s->nothing || (s->errors && s->errors->n) ||
		       (e->kind == ERR_INVALID && e->field[0]);
	auto_buf b = BUF_MAX(out->max);

	buf_add_str(&b, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
			"\"status\":\"Failure\"");
	add_message(&b, e, s);
	buf_addf(&b, ",\"reason\":\"%s\"", err_reason(e->kind));
	if (details)
		add_details(&b, e, s);
	buf_addf(&b, ",\"code\":%d}", err_http_code(e->kind));
	if (buf_ok(&b))
		buf_add_span(out, buf_span(&b));
	else
		out->failed = true;
}

void status_success(const struct status_subject *subject, struct buf *out)
{
	auto_buf b = BUF_INIT;
	buf_add_str(&b, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
			"\"status\":\"Success\"");
	add_details(&b, NULL, subject);
	buf_add_char(&b, '}');
	buf_add_span(out, buf_span(&b));
}

int status_parse(struct span json, struct err *ret)
{
	struct span key = SPAN_NONE, value, kind = SPAN_NONE, message = SPAN_NONE;
	int64_t code = 0;
	auto_buf text = BUF_INIT;

	if (json_text_type(json) != JSON_OBJECT)
		return -EINVAL;
	for (size_t at = 0; json_text_next(json, &at, &key, &value);) {
		if (span_is(key, "kind"))
			kind = json_text_plain(value);
		else if (span_is(key, "message"))
			message = value;
		else if (span_is(key, "code") && json_text_int64(value, &code) < 0)
			code = 0;
	}
	if (!span_is(kind, "Status"))
		return -EINVAL;
	if (json_text_string(message, &text) < 0 || !buf_ok(&text))
		buf_clear(&text);
	if (code < 400 || code > 599)
		code = 500;
	(void)err_set(ret, err_kind_from_http((int)code), "%.*s", SPAN_ARGS(buf_span(&text)));
	return 0;
}
