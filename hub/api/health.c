/* Paths that are no resources: version, health, metrics. */
#include "api/call.h"

#include <sys/utsname.h>

static bool is_check(const struct call *c, const char *root, struct span *ret_check)
{
	struct span p = c->info.path, r = span_of(root);
	if (!span_starts(p, r) || (p.len > r.len && p.ptr[r.len] != '/'))
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

static void run_checks(struct call *c, const char *root, struct span only)
{
	bool ready = strcmp(root, "/readyz") == 0, ok = true, found = !only.len;
	bool verbose = http_param(c->request, "verbose").ptr != NULL;
	struct buf text = BUF_INIT;
	for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
		bool passes;
		if ((checks[i].ready_only && !ready) ||
		    (only.len && !span_is(only, checks[i].name)))
			continue;
		found = true;
		if (excluded(c, checks[i].name)) {
			buf_addf(&text, "[+]%s excluded: ok\n", checks[i].name);
			continue;
		}
		passes = checks[i].passes(c);
		ok = ok && passes;
		buf_addf(&text, "[%c]%s %s\n", passes ? '+' : '-', checks[i].name,
			 passes ? "ok" : "failed");
	}
	call_ok(c, !found ? 404 : ok ? 200 : 500, "text/plain; charset=utf-8");
	if (!found)
		buf_add_str(&c->answer.body, "404 page not found\n");
	else if (ok && !verbose)
		buf_add_str(&c->answer.body, "ok");
	else {
		buf_add_span(&c->answer.body, buf_span(&text));
		buf_addf(&c->answer.body, "%s check %s\n", root + 1, ok ? "passed" : "failed");
	}
	buf_done(&text);
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

static void metrics(struct call *c)
{
	struct api *a = call_api(c);
	call_ok(c, 200, "text/plain; version=0.0.4; charset=utf-8");
	metrics_print(&a->metrics, http_server_active(a->http), http_server_connections(a->http),
		      &c->answer.body);
}

void call_health(struct call *c)
{
	static const char *const roots[] = {"/healthz", "/livez", "/readyz"};
	struct span check;
	size_t i = 0;
	while (i < ARRAY_LEN(roots) && !is_check(c, roots[i], &check))
		i++;
	if (i < ARRAY_LEN(roots)) {
		run_checks(c, roots[i], check);
	} else if (span_is(c->info.path, "/version")) {
		version(c);
	} else if (span_is(c->info.path, "/metrics")) {
		metrics(c);
	} else if (span_is(c->info.path, "/openid/v1/jwks") ||
		   span_is(c->info.path, "/.well-known/openid-configuration")) {
		call_openid(c);
		return;
	} else {
		call_ok(c, 404, "text/plain; charset=utf-8");
		buf_add_str(&c->answer.body, "404 page not found\n");
	}
	call_finish(c);
}
