/*
 * Paths that are no resources: version and health.
 *
 * /livez, /readyz and /healthz answer "ok", or, with ?verbose or when a check fails, a line for
 * each, as apiserver's healthz package prints them; /readyz/NAME is one check; ?exclude=NAME leaves
 * one out. Why one failed is in the log, not in the answer.
 */
#include "api/call.h"

#include <sys/utsname.h>

#define TEXT "text/plain; charset=utf-8"

static bool is_check(const struct call *c, const char *root, struct span *ret_check)
{
	struct span p = c->info.path, r = span_of(root);
	if (!span_starts(p, r) || (p.len > r.len && p.ptr[r.len] != '/') || p.len == r.len + 1)
		return false;
	*ret_check =
	    p.len > r.len + 1 ? span_make(p.ptr + r.len + 1, p.len - r.len - 1) : SPAN_NONE;
	return true;
}

static bool excluded(const struct call *c, const char *name)
{
	for (size_t i = 0; i < c->request->n_params; i++)
		if (span_is(c->request->params[i].name, "exclude") &&
		    span_is(c->request->params[i].value, name))
			return true;
	return false;
}

struct check {
	const char *name;
	bool ready_only;
	bool (*passes)(const struct call *c);
};

static bool ping(const struct call *c)
{
	(void)c;
	return true;
}

static bool has_store(const struct call *c)
{
	auto_reader *reader = NULL;
	return store_read_begin(c->listener->backend->truth, &reader, NULL) == 0;
}

static bool not_stopping(const struct call *c)
{
	return !call_api(c)->stopping;
}

static const struct check checks[] = {
    {"ping", false, ping},
    {"store", false, has_store},
    {"shutdown", true, not_stopping},
};

static bool run_check(struct call *c, const struct check *check)
{
	bool passes = check->passes(c);
	if (!passes)
		log_warn(call_api(c)->options.log, "health check failed", "check=%s path=%.*s",
			 check->name, SPAN_ARGS(c->info.path));
	return passes;
}

/* /readyz/NAME */
static void run_one(struct call *c, bool ready, struct span name)
{
	for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
		if (!span_is(name, checks[i].name) || (checks[i].ready_only && !ready))
			continue;
		if (run_check(c, &checks[i])) {
			call_ok(c, 200, TEXT);
			buf_add_str(&c->answer.body, "ok");
		} else {
			call_ok(c, 500, TEXT);
			buf_addf(&c->answer.body, "internal server error: %s failed\n",
				 checks[i].name);
		}
		return;
	}
	call_no_page(c);
}

static bool is_check_name(struct span name)
{
	for (size_t i = 0; i < ARRAY_LEN(checks); i++)
		if (span_is(name, checks[i].name))
			return true;
	return false;
}

static void warn_of_exclusions(const struct call *c, struct buf *text)
{
	for (size_t i = 0; i < c->request->n_params; i++) {
		const struct http_param *p = &c->request->params[i];
		if (span_is(p->name, "exclude") && !is_check_name(p->value))
			buf_addf(text,
				 "warn: some health checks cannot be excluded: no matches for "
				 "\"%.*s\"\n",
				 (int)(p->value.len > 64 ? 64 : p->value.len), p->value.ptr);
	}
}

static void run_all(struct call *c, const char *root, bool ready)
{
	bool ok = true, verbose = http_param(c->request, "verbose").ptr != NULL;
	auto_buf text = BUF_INIT;
	for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
		bool passes;
		if (checks[i].ready_only && !ready)
			continue;
		if (excluded(c, checks[i].name)) {
			buf_addf(&text, "[+]%s excluded: ok\n", checks[i].name);
			continue;
		}
		passes = run_check(c, &checks[i]);
		ok = ok && passes;
		buf_addf(&text, passes ? "[+]%s ok\n" : "[-]%s failed: reason withheld\n",
			 checks[i].name);
	}
	warn_of_exclusions(c, &text);
	call_ok(c, ok ? 200 : 500, TEXT);
	if (ok && !verbose) {
		buf_add_str(&c->answer.body, "ok");
		return;
	}
	buf_add_span(&c->answer.body, buf_span(&text));
	buf_addf(&c->answer.body, "%s check %s\n", root + 1, ok ? "passed" : "failed");
}

static void run_checks(struct call *c, const char *root, struct span only)
{
	bool ready = strcmp(root, "/readyz") == 0;
	if (only.len) {
		run_one(c, ready, only);
		return;
	}
	buf_add_str(&c->answer.headers, "X-Content-Type-Options: nosniff\r\n");
	run_all(c, root, ready);
}

/* major and minor must parse: kubectl's skew check reads them. */
static void version(struct call *c)
{
	const char *v = c->listener->backend->version;
	struct span minor = span_of(v), major = span_split(&minor, '.');
	struct utsname u = {0};
	if (span_starts(major, SPAN("v")))
		major = span_make(major.ptr + 1, major.len - 1);
	minor = span_split(&minor, '.');
	(void)uname(&u);
	call_ok(c, 200, "application/json");
	buf_addf(&c->answer.body,
		 "{\"major\":\"%.*s\",\"minor\":\"%.*s\",\"gitVersion\":\"%s\",\"gitCommit\":\"\","
		 "\"gitTreeState\":\"clean\",\"buildDate\":\"1970-01-01T00:00:00Z\","
		 "\"goVersion\":\"none\",\"compiler\":\"%s\",\"platform\":\"linux/%s\"}\n",
		 SPAN_ARGS(major), SPAN_ARGS(minor), v,
#ifdef __clang__
		 "clang",
#else
		 "gcc",
#endif
		 !strcmp(u.machine, "x86_64")	 ? "amd64"
		 : !strcmp(u.machine, "aarch64") ? "arm64"
						 : u.machine);
}

/* These are for reading only, there too; the checks answer whatever the method. */
static bool is_read_only(struct span path)
{
	return span_is(path, "/version") || span_is(path, "/version/") ||
	       span_is(path, "/openid/v1/jwks") ||
	       span_is(path, "/.well-known/openid-configuration");
}

void call_health(struct call *c)
{
	static const char *const roots[] = {"/healthz", "/livez", "/readyz"};
	struct span check;
	size_t i = 0;
	if (is_read_only(c->info.path) && c->request->method != HTTP_GET &&
	    c->request->method != HTTP_HEAD) {
		call_refuse(c, ERR_METHOD_NOT_ALLOWED);
		call_finish(c);
		return;
	}
	while (i < ARRAY_LEN(roots) && !is_check(c, roots[i], &check))
		i++;
	if (i < ARRAY_LEN(roots)) {
		run_checks(c, roots[i], check);
	} else if (span_is(c->info.path, "/version") || span_is(c->info.path, "/version/")) {
		version(c);
	} else if (span_is(c->info.path, "/metrics")) {
		call_metrics(c);
		return;
	} else if (span_is(c->info.path, "/openid/v1/jwks") ||
		   span_is(c->info.path, "/.well-known/openid-configuration")) {
		call_openid(c);
		return;
	} else {
		call_no_page(c);
	}
	call_finish(c);
}
