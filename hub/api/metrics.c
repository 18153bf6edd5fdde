#include "api/metrics.h"

/* Upper bounds in microseconds. */
static const usec bounds[METRICS_BUCKETS] = {500,     1000,    2500,	 5000,	  10000,
					     25000,   50000,   100000,	 250000,  500000,
					     1000000, 2500000, 10000000, 60000000};

static const char *const verbs[METRICS_VERBS] = {
    "GET",   "LIST",	"WATCH", "POST", "PUT", "PATCH", "DELETE", "DELETECOLLECTION",
    "OTHER", "CONNECT",
};

void metrics_request(struct metrics *m, int verb, int code, usec duration)
{
	size_t b = 0, i = 0;
	if (verb < 0 || verb >= METRICS_VERBS)
		verb = 8;
	while (b < METRICS_BUCKETS && duration > bounds[b])
		b++;
	m->duration[verb].bucket[b]++;
	m->duration[verb].count++;
	m->duration[verb].sum += duration;
	while (i < METRICS_CODES - 1 && m->codes[verb][i].code && m->codes[verb][i].code != code)
		i++;
	m->codes[verb][i].code = code;
	m->codes[verb][i].n++;
}

static void print_seconds(usec t, struct buf *out)
{
	buf_addf(out, "%lld.%06lld", (long long)(t / USEC_PER_SEC), (long long)(t % USEC_PER_SEC));
}

static void print_durations(const struct metrics *m, struct buf *out)
{
	buf_add_str(out, "# HELP apiserver_request_duration_seconds Response latency.\n"
			 "# TYPE apiserver_request_duration_seconds histogram\n");
	for (int v = 0; v < METRICS_VERBS; v++) {
		uint64_t n = 0;
		if (!m->duration[v].count)
			continue;
		for (int b = 0; b < METRICS_BUCKETS; b++) {
			n += m->duration[v].bucket[b];
			buf_addf(out, "apiserver_request_duration_seconds_bucket{verb=\"%s\",le=\"",
				 verbs[v]);
			print_seconds(bounds[b], out);
			buf_addf(out, "\"} %llu\n", (unsigned long long)n);
		}
		buf_addf(out,
			 "apiserver_request_duration_seconds_bucket{verb=\"%s\",le=\"+Inf\"} %llu\n"
			 "apiserver_request_duration_seconds_count{verb=\"%s\"} %llu\n"
			 "apiserver_request_duration_seconds_sum{verb=\"%s\"} ",
			 verbs[v], (unsigned long long)m->duration[v].count, verbs[v],
			 (unsigned long long)m->duration[v].count, verbs[v]);
		print_seconds(m->duration[v].sum, out);
		buf_add_char(out, '\n');
	}
}

void metrics_print(const struct metrics *m, size_t inflight, size_t connections, struct buf *out)
{
	buf_add_str(out, "# HELP apiserver_request_total Requests by verb and code.\n"
			 "# TYPE apiserver_request_total counter\n");
	for (int v = 0; v < METRICS_VERBS; v++)
		for (int i = 0; i < METRICS_CODES && m->codes[v][i].code; i++)
			buf_addf(out, "apiserver_request_total{verb=\"%s\",code=\"%d\"} %llu\n",
				 verbs[v], m->codes[v][i].code,
				 (unsigned long long)m->codes[v][i].n);
	print_durations(m, out);
	buf_addf(out,
		 "# TYPE apiserver_current_inflight_requests gauge\n"
		 "apiserver_current_inflight_requests %zu\n"
		 "# TYPE apiserver_longrunning_requests gauge\n"
		 "apiserver_longrunning_requests{verb=\"WATCH\"} %lld\n"
		 "# TYPE apiserver_watch_events_total counter\n"
		 "apiserver_watch_events_total %llu\n"
		 "# TYPE apiserver_terminated_watchers_total counter\n"
		 "apiserver_terminated_watchers_total %llu\n"
		 "# TYPE muster_api_connections gauge\nmuster_api_connections %zu\n",
		 inflight, (long long)m->watches, (unsigned long long)m->watch_events,
		 (unsigned long long)m->watch_closed_slow, connections);
}
