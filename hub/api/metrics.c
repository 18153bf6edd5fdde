#include "api/metrics.h"

/* Upper bounds in milliseconds: those of apiserver_request_duration_seconds. */
static const int bounds[METRICS_BUCKETS] = {5,	  25,	 50,	100,   200,   400,   600,  800,
					    1000, 1250,	 1500,	2000,  3000,  4000,  5000, 6000,
					    8000, 10000, 15000, 20000, 30000, 45000, 60000};

static const char *const bound_texts[METRICS_BUCKETS] = {
    "0.005", "0.025", "0.05", "0.1", "0.2", "0.4", "0.6", "0.8", "1",  "1.25", "1.5", "2",
    "3",     "4",     "5",    "6",   "8",   "10",  "15",  "20",	 "30", "45",   "60"};

/* Subresources that have a series of their own; others are "other". */
static const char *const subresources[] = {"status", "scale",	"finalize", "log",
					   "proxy",  "exec",	"attach",   "portforward",
					   "token",  "binding", "eviction", "approval"};
/* Paths that are no resources, as apiserver puts them into "subresource". */
static const char *const paths[] = {"/healthz", "/livez", "/readyz", "/metrics", "/version",
				    "/openapi", "/apis",  "/api",    "/openid",	 "/.well-known"};

static const char *verb_of(const struct request_info *i, enum http_method method)
{
	static const char *const verbs[API_VERB_MAX] = {
	    [API_GET] = "GET",	     [API_LIST] = "LIST",
	    [API_WATCH] = "WATCH",   [API_CREATE] = "POST",
	    [API_UPDATE] = "PUT",    [API_PATCH] = "PATCH",
	    [API_DELETE] = "DELETE", [API_DELETE_COLLECTION] = "DELETECOLLECTION",
	};
	static const char *const streams[] = {"proxy", "exec", "attach", "portforward"};
	if (!i->is_resource)
		return http_method_name(method);
	for (size_t s = 0; s < ARRAY_LEN(streams); s++)
		if (span_is(i->subresource, streams[s]))
			return "CONNECT";
	return verbs[i->verb];
}

static const char *word_of(struct span s, const char *const *words, size_t n)
{
	if (!s.len)
		return "";
	for (size_t i = 0; i < n; i++)
		if (span_is(s, words[i]))
			return words[i];
	return "other";
}

static const char *path_of(struct span path)
{
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		size_t n = strlen(paths[i]);
		if (span_starts(path, span_of(paths[i])) && (path.len == n || path.ptr[n] == '/'))
			return paths[i];
	}
	return "other";
}

/* apiserver's CleanScope. */
static const char *scope_of(const struct request_info *i)
{
	if (!i->is_resource)
		return "";
	if (i->name.len || i->verb == API_CREATE)
		return "resource";
	return i->ns.len ? "namespace" : "cluster";
}

static const struct metrics_labels overflow = {"other", "", "", "", "", ""};

static struct metrics_series *series_create(struct metrics *m, struct span key,
					    const struct metrics_labels *l)
{
	struct metrics_series *s = xcalloc(1, sizeof(*s));
	s->labels = (struct metrics_labels){
	    l->verb,	    xstrdup(l->group), xstrdup(l->version), xstrdup(l->resource),
	    l->subresource, l->scope};
	(void)map_put(&m->by_labels, key, s);
	vec_push(&m->series, s);
	return s;
}

static bool same_labels(const struct metrics_labels *a, const struct metrics_labels *b)
{
	/* The other words are static. */
	return a->verb == b->verb && a->subresource == b->subresource && a->scope == b->scope &&
	       strcmp(a->resource, b->resource) == 0 && strcmp(a->version, b->version) == 0 &&
	       strcmp(a->group, b->group) == 0;
}

static struct metrics_series *find_series(struct metrics *m, const struct metrics_labels *l)
{
	const char *parts[] = {l->verb,	 l->subresource, l->scope,
			       l->group, l->version,	 l->resource};
	struct metrics_series *s;
	char key[512];
	size_t n = 0;
	for (size_t p = 0; p < ARRAY_LEN(parts); p++) {
		size_t len = strlen(parts[p]);
		if (n + len + 1 > sizeof(key))
			break;
		memcpy(key + n, parts[p], len);
		n += len;
		key[n++] = '\n';
	}
	s = map_get(&m->by_labels, span_make(key, n));
	if (s)
		return s;
	if (m->series.len < METRICS_MAX_SERIES)
		return series_create(m, span_make(key, n), l);
	s = map_get(&m->by_labels, SPAN("other"));
	return s ? s : series_create(m, SPAN("other"), &overflow);
}

struct metrics_series *metrics_series(struct metrics *m, const struct request_info *i,
				      enum http_method method, const struct kind *kind)
{
	struct metrics_labels l = {
	    .verb = verb_of(i, method),
	    .group = kind ? kind->group : "",
	    .version = kind ? kind->version : "",
	    .resource = kind ? kind->plural : "",
	    .subresource = i->is_resource
			       ? word_of(i->subresource, subresources, ARRAY_LEN(subresources))
			       : path_of(i->path),
	    .scope = scope_of(i)};
	size_t at = (kind ? kind->type * (size_t)5 + (size_t)i->verb : 0) % METRICS_RECENT;
	if (!m->recent[at] || !same_labels(&m->recent[at]->labels, &l))
		m->recent[at] = find_series(m, &l);
	return m->recent[at];
}

void metrics_count(struct metrics_series *s, int code, usec duration)
{
	size_t b = 0, i = 0;
	while (b < METRICS_BUCKETS && duration > bounds[b] * USEC_PER_MS)
		b++;
	s->bucket[b]++;
	s->count++;
	s->sum += duration;
	while (i < METRICS_CODES - 1 && s->codes[i].code && s->codes[i].code != code)
		i++;
	s->codes[i].code = i < METRICS_CODES - 1 ? code : 0;
	s->codes[i].n++;
}

void metrics_done(struct metrics *m)
{
	vec_foreach (&m->series, p) {
		free((char *)(uintptr_t)(*p)->labels.group);
		free((char *)(uintptr_t)(*p)->labels.version);
		free((char *)(uintptr_t)(*p)->labels.resource);
		free(*p);
	}
	vec_done(&m->series);
	map_done(&m->by_labels);
}

void metrics_copy(const struct metrics *m, const struct metrics_gauges *g, struct metrics_copy *ret)
{
	ret->n = m->series.len;
	ret->series = xcalloc(ret->n + 1, sizeof(*ret->series));
	for (size_t i = 0; i < ret->n; i++)
		ret->series[i] = *m->series.items[i];
	ret->watch_closed_slow = m->watch_closed_slow;
	ret->watches = m->watches;
	ret->gauges = *g;
}

void metrics_copy_done(struct metrics_copy *c)
{
	free(c->series);
	*c = (struct metrics_copy){0};
}

/* ---- text ---- */

void metrics_add_label(struct buf *out, struct span value)
{
	for (size_t i = 0; i < value.len; i++) {
		char ch = value.ptr[i];
		if (ch == '"' || ch == '\\')
			buf_add_char(out, '\\');
		if (ch == '\n')
			buf_add_str(out, "\\n");
		else
			buf_add_char(out, ch);
	}
}

void metrics_add_seconds(struct buf *out, usec t)
{
	buf_addf(out, "%lld.%06lld", (long long)(t / USEC_PER_SEC), (long long)(t % USEC_PER_SEC));
}

static void head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void labels(struct buf *out, const struct metrics_labels *l, bool dry_run)
{
	buf_addf(out,
		 "{component=\"apiserver\"%s,group=\"%s\",resource=\"%s\",scope=\"%s\","
		 "subresource=\"%s\",verb=\"%s\",version=\"%s\"",
		 dry_run ? ",dry_run=\"\"" : "", l->group, l->resource, l->scope, l->subresource,
		 l->verb, l->version);
}

static void print_totals(const struct metrics_copy *c, struct buf *out)
{
	head(out, "apiserver_request_total", "counter",
	     "Counter of apiserver requests broken out for each verb, group, version, resource, "
	     "scope, component, and HTTP response code.");
	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 0; k < METRICS_CODES; k++) {
			const struct metrics_series *s = &c->series[i];
			if (!s->codes[k].n)
				continue;
			buf_add_str(out, "apiserver_request_total");
			labels(out, &s->labels, true);
			buf_addf(out, ",code=\"%d\"} %llu\n", s->codes[k].code,
				 (unsigned long long)s->codes[k].n);
		}
}

static void print_duration(const struct metrics_series *s, struct buf *out)
{
	uint64_t n = 0;
	for (size_t b = 0; b <= METRICS_BUCKETS; b++) {
		n += s->bucket[b];
		buf_add_str(out, "apiserver_request_duration_seconds_bucket");
		labels(out, &s->labels, true);
		buf_addf(out, ",le=\"%s\"} %llu\n", b < METRICS_BUCKETS ? bound_texts[b] : "+Inf",
			 (unsigned long long)n);
	}
	buf_add_str(out, "apiserver_request_duration_seconds_sum");
	labels(out, &s->labels, true);
	buf_add_str(out, "} ");
	metrics_add_seconds(out, s->sum);
	buf_add_str(out, "\napiserver_request_duration_seconds_count");
	labels(out, &s->labels, true);
	buf_addf(out, "} %llu\n", (unsigned long long)s->count);
}

/* Watches and connections last as long as their clients like: apiserver leaves them out too. */
static bool has_duration(const struct metrics_series *s)
{
	return s->count && strcmp(s->labels.verb, "WATCH") != 0 &&
	       strcmp(s->labels.verb, "CONNECT") != 0;
}

static void print_watches(const struct metrics_copy *c, struct buf *out)
{
	head(out, "apiserver_longrunning_requests", "gauge",
	     "Gauge of all active long-running apiserver requests broken out by verb, group, "
	     "version, resource, scope and component.");
	for (size_t i = 0; i < c->n; i++) {
		if (!c->series[i].open)
			continue;
		buf_add_str(out, "apiserver_longrunning_requests");
		labels(out, &c->series[i].labels, false);
		buf_addf(out, "} %lld\n", (long long)c->series[i].open);
	}
	head(out, "apiserver_watch_events_total", "counter",
	     "Number of events sent in watch clients.");
	for (size_t i = 0; i < c->n; i++) {
		const struct metrics_labels *l = &c->series[i].labels;
		if (c->series[i].events)
			buf_addf(out,
				 "apiserver_watch_events_total{group=\"%s\",resource=\"%s\","
				 "scope=\"%s\",version=\"%s\"} %llu\n",
				 l->group, l->resource, l->scope, l->version,
				 (unsigned long long)c->series[i].events);
	}
	head(out, "apiserver_terminated_watchers_total", "counter",
	     "Watchers closed because they did not take their events.");
	buf_addf(out, "apiserver_terminated_watchers_total %llu\n",
		 (unsigned long long)c->watch_closed_slow);
	head(out, "muster_api_watchers", "gauge", "Open watches.");
	buf_addf(out, "muster_api_watchers %lld\n", (long long)c->watches);
}

static void number(struct buf *out, const char *name, const char *type, const char *help,
		   uint64_t v)
{
	head(out, name, type, help);
	buf_addf(out, "%s %llu\n", name, (unsigned long long)v);
}

static void add_nanoseconds(struct buf *out, int64_t ns)
{
	buf_addf(out, "%lld.%09lld", (long long)(ns / 1000000000), (long long)(ns % 1000000000));
}

static void print_turns(const struct turn_times *t, struct buf *out)
{
	static const char name[] = "muster_api_loop_turn_cpu_seconds";
	uint64_t sum = 0;
	head(out, name, "histogram",
	     "CPU time that the API's loop works at a stretch, between two looks at its sockets.");
	for (size_t i = 0; i < TURN_CLOCK_BUCKETS; i++) {
		sum += t->bucket[i];
		buf_addf(out, "%s_bucket{le=\"%s\"} %llu\n", name, turn_clock_bound(i),
			 (unsigned long long)sum);
	}
	buf_addf(out, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum ", name, (unsigned long long)t->count,
		 name);
	add_nanoseconds(out, t->sum_ns);
	buf_addf(out, "\n%s_count %llu\n", name, (unsigned long long)t->count);
	head(out, "muster_api_loop_turn_cpu_max_seconds", "gauge", "The longest of them so far.");
	buf_add_str(out, "muster_api_loop_turn_cpu_max_seconds ");
	add_nanoseconds(out, t->max_ns);
	buf_add_char(out, '\n');
}

static void print_gauges(const struct metrics_gauges *g, struct buf *out)
{
	head(out, "apiserver_current_inflight_requests", "gauge",
	     "Number of currently used inflight request limit of this apiserver per request kind.");
	buf_addf(out,
		 "apiserver_current_inflight_requests{request_kind=\"mutating\"} %zu\n"
		 "apiserver_current_inflight_requests{request_kind=\"readOnly\"} %zu\n",
		 g->executing_write, g->executing_read);
	head(out, "apiserver_flowcontrol_current_inqueue_requests", "gauge",
	     "Number of requests currently pending in queues of fair queuing.");
	buf_addf(out,
		 "apiserver_flowcontrol_current_inqueue_requests{flow_schema=\"users\","
		 "priority_level=\"global\"} %zu\n",
		 g->waiting);
	head(out, "apiserver_flowcontrol_dispatched_requests_total", "counter",
	     "Number of requests executed by fair queuing.");
	buf_addf(out,
		 "apiserver_flowcontrol_dispatched_requests_total{flow_schema=\"users\","
		 "priority_level=\"global\"} %llu\n"
		 "apiserver_flowcontrol_dispatched_requests_total{flow_schema=\"exempt\","
		 "priority_level=\"exempt\"} %llu\n",
		 (unsigned long long)g->dispatched, (unsigned long long)g->exempt);
	head(out, "apiserver_flowcontrol_rejected_requests_total", "counter",
	     "Number of requests rejected by fair queuing.");
	buf_addf(out,
		 "apiserver_flowcontrol_rejected_requests_total{flow_schema=\"users\","
		 "priority_level=\"global\",reason=\"queue-full\"} %llu\n",
		 (unsigned long long)g->refused);
	number(out, "apiserver_flowcontrol_nominal_limit_seats", "gauge",
	       "Seats that requests of users share.", g->seats);
	number(out, "apiserver_flowcontrol_current_executing_seats", "gauge",
	       "Seats that are taken.", g->seats_taken);
	number(out, "muster_api_flows", "gauge", "Users with requests under way or waiting.",
	       g->flows);
	number(out, "apiserver_audit_event_total", "counter",
	       "Counter of audit events generated and sent to the audit backend.", g->audit_events);
	number(out, "muster_audit_events_dropped_total", "counter",
	       "Audit events that found no room in the buffer.", g->audit_lost);
	number(out, "muster_api_connections", "gauge", "Open connections.", g->connections);
	print_turns(&g->turns, out);
}

void metrics_print(const struct metrics_copy *c, struct buf *out)
{
	print_totals(c, out);
	head(out, "apiserver_request_duration_seconds", "histogram",
	     "Response latency distribution in seconds for each verb, dry run value, group, "
	     "version, resource, subresource, scope and component.");
	for (size_t i = 0; i < c->n; i++)
		if (has_duration(&c->series[i]))
			print_duration(&c->series[i], out);
	print_watches(c, out);
	print_gauges(&c->gauges, out);
}
