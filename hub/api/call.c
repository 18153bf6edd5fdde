#include "api/call.h"

#include "api/audit.h"
#include "api/feed.h"
#include "api/gzip.h"
#include "api/option_errors.h"
#include "api/turns.h"
#include "base/yaml_write.h"
#include <stdarg.h>

/* Of header lines; with the others they fit what the engine takes. */
#define CALL_MAX_WARNINGS 2500

static void run_on_worker(struct task *t)
{
	struct call *c = (struct call *)((char *)t - offsetof(struct call, task));
	c->on_worker(c);
}

static void run_on_loop(struct task *t)
{
	struct call *c = (struct call *)((char *)t - offsetof(struct call, task));
	if (call_api(c)->ended)
		c->gone = true; /* nobody will send it */
	c->on_loop(c);
}

void call_to_worker(struct call *c, void (*on_worker)(struct call *c))
{
	c->on_worker = on_worker;
	c->task.run = run_on_worker;
	if (call_api(c)->ended)
		on_worker(c); /* there are no workers any more: it is quick, for it is gone */
	else
		workers_submit(call_api(c)->workers, &c->task);
}

void call_to_loop(struct call *c, void (*on_loop)(struct call *c))
{
	c->on_loop = on_loop;
	c->task.run = run_on_loop;
	mailbox_post(&call_api(c)->mailbox, &c->task);
}

static void compress_body(struct call *c)
{
	c->answer.gzipped = gzip_whole(&c->answer.body);
	if (c->answer.gzipped)
		buf_add_str(&c->answer.headers,
			    "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n");
	call_to_loop(c, call_finish);
}

/* What is asked for as YAML is made as JSON. */
static bool wants_yaml(const struct call *c)
{
	const struct answer *a = &c->answer;

	return c->accept.yaml && !a->translated && !a->gzipped && a->body.len && !c->gone &&
	       a->content_type && strcmp(a->content_type, "application/json") == 0;
}

static void translate_body(struct call *c)
{
	struct buf yaml = BUF_MAX(c->answer.body.max);

	yaml_write_json(buf_span(&c->answer.body), &yaml);
	buf_done(&c->answer.body);
	c->answer.body = yaml;
	c->answer.content_type = "application/yaml";
	call_to_loop(c, call_finish);
}

static void audit_once(struct call *c)
{
	bool made = !c->answer.body.failed;
	if (!call_api(c)->audit || c->audited)
		return;
	c->audited = true;
	if (!made)
		c->answer.code = 500;
	audit_call(call_api(c)->audit, c, made ? AUDIT_RESPONSE_COMPLETE : AUDIT_PANIC);
}

struct metrics_series *call_series(struct call *c)
{
	const struct request_info *i = &c->info;
	const struct kind *k = c->kind;
	if (c->series)
		return c->series;
	if (!k && i->is_resource) /* refused before it was looked for */
		k = kind_by_resource(c->kinds, i->group, i->version, i->resource);
	c->series = metrics_series(&call_api(c)->metrics, i, c->request->method, k);
	return c->series;
}

void call_add_headers(struct call *c)
{
	struct buf *h = &c->answer.headers;
	(void)buf_reserve(h, 256); /* all of it: every GET comes here */
	buf_add_str(h, "Audit-Id: ");
	buf_add_str(h, c->audit_id);
	buf_add_str(h, "\r\n");
	buf_add_span(h, turns_headers(c));
}

bool call_stream(struct call *c, bool messages)
{
	call_add_headers(c);
	struct span headers = buf_span(&c->answer.headers);
	bool there = messages ? http_stream_begin_messages(c->x, headers)
			      : http_stream_begin(c->x, 200, "application/json", headers);
	buf_done(&c->answer.headers);
	return there;
}

void call_count(struct call *c)
{
	audit_once(c);
	metrics_count(call_series(c), c->answer.code, clock_monotonic() - c->started);
	turns_release(c);
	kind_set_unref(c->kinds);
	c->kinds = NULL;
}

void call_finish(struct call *c)
{
	struct answer *a = &c->answer;
	struct http_response r = {
	    .code = a->code, .content_type = a->content_type, .close = call_api(c)->closing};
	struct buf headers;
	audit_once(c);
	if (a->body.failed) {
		buf_done(&a->body);
		call_failf(c, ERR_INTERNAL, "the answer is too large to be put together");
		r.code = a->code;
		r.content_type = a->content_type;
	}
	if (wants_yaml(c)) {
		a->translated = true;
		call_to_worker(c, translate_body);
		return;
	}
	if (a->body.len > GZIP_MIN && !a->gzipped && !c->gone &&
	    negotiate_gzip(c->request->accept_encoding)) {
		a->gzipped = true; /* tried */
		call_to_worker(c, compress_body);
		return;
	}
	call_add_headers(c);
	call_count(c);
	if (a->code >= 500)
		log_warn(call_api(c)->options.log, "request failed",
			 "code=%d method=%s path=%.*s user=%.*s", a->code,
			 http_method_name(c->request->method), SPAN_ARGS(c->info.path),
			 SPAN_ARGS(c->user.name));
	r.headers = buf_span(&a->headers);
	r.body = buf_steal(&a->body, &r.len);
	headers = a->headers;
	http_respond(c->x, &r); /* the call's memory goes with it */
	buf_done(&headers);
}

void call_ok(struct call *c, int code, const char *content_type)
{
	c->answer.code = code;
	c->answer.content_type = content_type;
	c->answer.body.max = (size_t)256 << 20;
}

void call_fail_with(struct call *c, const struct err *e, const struct status_subject *subject)
{
	static const struct status_subject nothing;
	struct status_subject options;

	buf_clear(&c->answer.body);
	call_ok(c, err_http_code(e->kind), "application/json");
	if (option_subject(c, e, &options))
		subject = &options;
	else if (e->kind == ERR_BAD_REQUEST || e->kind == ERR_UNSUPPORTED_MEDIA ||
		 e->kind == ERR_NOT_ACCEPTABLE)
		subject = &nothing; /* it is about the request */
	if (e->kind == ERR_TOO_MANY || (subject && subject->retry_after_seconds))
		buf_addf(&c->answer.headers, "Retry-After: %d\r\n",
			 subject && subject->retry_after_seconds ? subject->retry_after_seconds
								 : 1);
	status_failure(e, subject, &c->answer.body);
	option_done(c);
}

void call_fail(struct call *c, const struct err *e)
{
	struct status_subject s = {.kind = c->kind};
	char name[STORE_MAX_NAME + 1];
	if (c->info.name.len && c->info.name.len <= STORE_MAX_NAME) {
		snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(c->info.name));
		s.name = name;
	}
	call_fail_with(c, e, &s);
}

void call_failf(struct call *c, enum err_kind kind, const char *fmt, ...)
{
	char text[400];
	struct err e = ERR_INIT;
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	(void)err_set(&e, kind, "%s", text);
	call_fail(c, &e);
}

void call_refuse(struct call *c, enum err_kind kind)
{
	static const struct status_subject nothing = {.nothing = true};
	struct err e = ERR_INIT;

	(void)err_set(&e, kind, "%s",
		      kind == ERR_NOT_FOUND
			  ? "the server could not find the requested resource"
			  : "the server does not allow this method on the requested resource");
	call_fail_with(c, &e, &nothing);
}

void call_no_page(struct call *c)
{
	call_ok(c, 404, "text/plain; charset=utf-8");
	buf_add_str(&c->answer.headers, "X-Content-Type-Options: nosniff\r\n");
	buf_add_str(&c->answer.body, "404 page not found\n");
}

/* RFC 9111 5.5: 299, no agent, and the words as a quoted string. */
void call_warn(struct call *c, struct span lines)
{
	while (lines.len) {
		struct span line = span_split(&lines, '\n');
		struct buf *h = &c->answer.headers;
		size_t before = h->len;
		if (!line.len)
			continue;
		buf_add_str(h, "Warning: 299 - \"");
		for (size_t i = 0; i < line.len; i++) {
			if (line.ptr[i] == '"' || line.ptr[i] == '\\')
				buf_add_char(h, '\\');
			buf_add_char(h, (unsigned char)line.ptr[i] < 0x20 ? ' ' : line.ptr[i]);
		}
		buf_add_str(h, "\"\r\n");
		if (h->len > CALL_MAX_WARNINGS)
			h->len = before;
	}
}

struct span call_param(const struct call *c, const char *name)
{
	struct span v = http_param(c->request, name);
	return v.len ? v : SPAN_NONE;
}

int call_read_dry_run(struct call *c, struct err *reterr)
{
	struct span values[HTTP_MAX_PARAMS];
	size_t n = 0;

	for (size_t i = 0; i < c->request->n_params; i++)
		if (span_is(c->request->params[i].name, "dryRun"))
			values[n++] = c->request->params[i].value;
	if (n)
		option_check_dry_run(c, option_kind_of_write(c), values, n);
	return option_check(c, reterr);
}

int call_authorize(const struct call *c, enum api_verb verb, struct err *reterr)
{
	struct rbac_request q;
	auth_request(&c->info, c->request, &q);
	q.verb = span_of(api_verb_name(verb));
	return auth_authorize(c->listener->authorizer, &c->user, &q, reterr);
}

struct store *call_store(const struct call *c)
{
	return backend_store(c->listener->backend, c->kind);
}

static bool in_mirror(const struct call *c)
{
	return call_store(c) != c->listener->backend->truth;
}

struct feed *call_feed(const struct call *c)
{
	return in_mirror(c) ? c->listener->mirror : c->listener->truth;
}

const uint8_t *call_token_key(const struct call *c)
{
	return in_mirror(c) ? c->listener->mirror_key : c->listener->truth_key;
}
