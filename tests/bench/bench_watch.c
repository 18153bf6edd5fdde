/*
 * Scenario watch: changes on their way to many watchers over TLS, all of them on one machine with
 * their server. Objects whose event has 500 bytes are replaced, each with the time when that was
 * meant to happen in it.
 *
 * lag: at 100 changes a second, from that time until the last byte was read by each watcher. rate:
 * as fast as the watchers read, beside the floor: the same crowd reading endless answers in pieces
 * of 64 KiB, which is what the library delivers when events are coalesced into few writes. Turns
 * are taken, and the ratio is the median.
 */
#include "bench.h"
#include "front_scene.h"
#include "http_download.h"
#include "http_load.h"
#include <pthread.h>

#define PATH	  "/api/v1/namespaces/default/configmaps"
#define OBJECTS	  50
#define TURNS	  5
#define MAX_LAGS  ((size_t)1 << 20)
#define AHEAD	  100 /* changes that the slowest may have before it */
#define EVENT_LEN 500

struct scene {
	struct bench *bench;
	struct front_scene front;
	size_t n_watchers, padding;
	struct http_crowd_count *count; /* of the crowd that paces the changes */
	uint64_t before;		/* events when they began */
};

static void row(const struct scene *s, const char *metric, const char *unit, double value,
		double floor, double target, enum bench_goal goal)
{
	bench_print(s->bench,
		    &(struct bench_row){"watch", metric, unit, value, floor, target, goal});
}

/* ---- the changes ---- */

static void make_change(void *arg, uint64_t n, struct buf *out)
{
	const struct scene *s = arg;
	char path[96], body[1024], pad[600];
	memset(pad, 'x', sizeof(pad));
	snprintf(path, sizeof(path), PATH "/c-%02d", (int)(n % OBJECTS));
	int len =
	    snprintf(body, sizeof(body),
		     "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
		     "\"c-%02d\"},\"data\":{\"due\":\"%020llu\",\"pad\":\"%.*s\"}}",
		     (int)(n % OBJECTS), (unsigned long long)bench_now_ns(), (int)s->padding, pad);
	http_load_head(out, "PUT", path, s->front.token, (size_t)len);
	buf_add(out, body, (size_t)len);
}

/* With a time, so that who begins a watch can tell when all that is there has come. */
static void make_first(void *arg, uint64_t n, struct buf *out)
{
	const struct scene *s = arg;
	char body[192];
	int len = snprintf(body, sizeof(body),
			   "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
			   "\"c-%02d\"},\"data\":{\"due\":\"%020llu\"}}",
			   (int)n, (unsigned long long)bench_now_ns());
	http_load_head(out, "POST", PATH, s->front.token, (size_t)len);
	buf_add(out, body, (size_t)len);
}

static uint64_t allowed(void *arg)
{
	const struct scene *s = arg;
	return (s->count->events - s->before) / s->n_watchers + AHEAD;
}

static struct http_load_result change(struct scene *s, struct http_load l)
{
	struct http_load_result r;
	struct err e = ERR_INIT;
	l.port = s->front.port;
	l.token = s->front.token;
	l.arg = s;
	if (http_load_run(&l, &r, &e) < 0 || r.failed)
		front_scene_die("change", r.failed ? r.first_failure : e.text);
	return r;
}

/* ---- the watchers ---- */

struct follower {
	struct http_crowd *crowd;
	struct http_crowd_count count;
	const char *path;
	pthread_t thread;
};

static void *follow(void *arg)
{
	struct follower *f = arg;
	struct err e = ERR_INIT;
	if (http_crowd_follow(f->crowd, &f->count, &e) < 0)
		front_scene_die(f->path, e.text);
	return NULL;
}

static struct follower *follower_start(const struct scene *s, int port, const char *path)
{
	struct http_download d = {.port = port, .path = path, .token = s->front.token};
	struct follower *f = xcalloc(1, sizeof(*f));
	struct err e = ERR_INIT;
	f->count.lags = xcalloc(MAX_LAGS, sizeof(double));
	f->count.max_lags = MAX_LAGS;
	f->path = path;
	if (http_crowd_open(&d, s->n_watchers, &f->crowd, &e) < 0)
		front_scene_die("watchers", e.text);
	if (pthread_create(&f->thread, NULL, follow, f))
		front_scene_die("thread", "cannot start");
	return f;
}

static void follower_stop(struct follower *f)
{
	f->count.stop = true;
	pthread_join(f->thread, NULL);
	http_crowd_close(f->crowd);
	free(f->count.lags);
	free(f);
}

/* Until so many events came; false when they do not. */
static bool await(const struct follower *f, uint64_t events)
{
	uint64_t until = bench_now_ns() + 20000000000ULL;
	while (f->count.events < events && bench_now_ns() < until)
		nanosleep(&(struct timespec){0, 2000000}, NULL);
	return f->count.events >= events;
}

/* ---- figures ---- */

/* One change more, and where its event is in what the follower read. */
static uint64_t change_one(struct scene *s, const struct follower *f)
{
	uint64_t events = f->count.events;
	struct http_load_result r =
	    change(s, (struct http_load){
			  .connections = 1, .requests = 1, .seconds = 10, .make = make_change});
	if (!await(f, events + 1))
		front_scene_die("watch", "a change is not told");
	http_load_done(&r);
	return f->count.last_at;
}

/* The padding that makes an event EVENT_LEN bytes long, learned from two changes. */
static void fit_events(struct scene *s)
{
	const size_t watchers = s->n_watchers;
	s->n_watchers = 1;
	struct follower *f = follower_start(s, s->front.port, PATH "?watch=true");
	if (!await(f, OBJECTS)) /* what is there comes first */
		front_scene_die("watch", "what is there is not told");
	uint64_t first = change_one(s, f), len = change_one(s, f) - first;
	s->padding = len < EVENT_LEN ? EVENT_LEN - len : 0;
	follower_stop(f);
	s->n_watchers = watchers;
}

static void bench_lag(struct scene *s)
{
	struct follower *f = follower_start(s, s->front.port, PATH "?watch=true");
	uint64_t first = s->n_watchers * OBJECTS; /* what is there comes first */
	double seconds = s->bench->quick ? 0.5 : 8;
	await(f, first);
	f->count.n_lags = 0;
	double cpu = process_cpu(&s->front.server);
	uint64_t bytes = f->count.bytes, events = f->count.events;
	struct http_load_result r =
	    change(s, (struct http_load){
			  .connections = 4, .rate = 100, .seconds = seconds, .make = make_change});
	bool all = await(f, events + r.done * s->n_watchers);
	cpu = process_cpu(&s->front.server) - cpu;
	events = f->count.events - events;
	row(s, "events-missing", "", all ? 0 : (double)(r.done * s->n_watchers - events), 0, 0,
	    BENCH_AT_MOST);
	row(s, "event-bytes", "B", (double)(f->count.bytes - bytes) / (double)events, 0, 0,
	    BENCH_INFO);
	row(s, "lag-p50", "ms", bench_percentile(f->count.lags, f->count.n_lags, 50) * 1e3, 0, 0,
	    BENCH_INFO);
	row(s, "lag-p99", "ms", bench_percentile(f->count.lags, f->count.n_lags, 99) * 1e3, 0, 100,
	    BENCH_AT_MOST);
	row(s, "lag-server-cpu", "us/event", cpu / (double)events * 1e6, 0, 0, BENCH_INFO);
	http_load_done(&r);
	follower_stop(f);
}

struct rate {
	double mib, events, cpu_ns;
};

static struct rate rate_of(const struct scene *s, struct follower *f, const struct process *p,
			   double seconds, bool changes)
{
	uint64_t start = bench_now_ns(), bytes = f->count.bytes, events = f->count.events;
	double cpu = process_cpu(p);
	if (changes) {
		struct scene own = *s;
		own.count = &f->count;
		own.before = events;
		struct http_load_result r = change(&own, (struct http_load){.connections = 16,
									    .seconds = seconds,
									    .allowed = allowed,
									    .make = make_change});
		http_load_done(&r);
	} else {
		nanosleep(&(struct timespec){(time_t)seconds,
					     (long)((seconds - (double)(time_t)seconds) * 1e9)},
			  NULL);
	}
	double took = (double)(bench_now_ns() - start) / 1e9;
	double got = (double)(f->count.bytes - bytes);
	return (struct rate){.mib = got / took / 1048576,
			     .events = (double)(f->count.events - events) / took,
			     .cpu_ns = (process_cpu(p) - cpu) / got * 1e9};
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void bench_rate(struct scene *s)
{
	double ratio[TURNS], cpu[TURNS], seconds = s->bench->quick ? 0.5 : 4;
	struct rate raw = {0}, watch = {0};
	int turns = s->bench->quick ? 1 : TURNS;
	for (int i = 0; i < turns; i++) {
		struct follower *f = follower_start(s, s->front.floor_port, "/100000000000");
		raw = rate_of(s, f, &s->front.floor, seconds, false);
		follower_stop(f);
		f = follower_start(s, s->front.port, PATH "?watch=true");
		await(f, s->n_watchers * OBJECTS);
		watch = rate_of(s, f, &s->front.server, seconds, true);
		follower_stop(f);
		ratio[i] = watch.mib / raw.mib;
		cpu[i] = raw.cpu_ns / watch.cpu_ns;
	}
	qsort(ratio, (size_t)turns, sizeof(*ratio), by_value);
	qsort(cpu, (size_t)turns, sizeof(*cpu), by_value);
	row(s, "rate", "1/s", watch.events, raw.mib * 1048576 / EVENT_LEN, 0, BENCH_INFO);
	row(s, "rate-bytes", "MiB/s", watch.mib, raw.mib, 0, BENCH_INFO);
	row(s, "rate-server-cpu", "ns/B", watch.cpu_ns, raw.cpu_ns, 0, BENCH_INFO);
	row(s, "rate-cpu-of-floor", "x", cpu[turns / 2], 1, 0, BENCH_INFO);
	row(s, "rate-of-floor", "x", ratio[turns / 2], 1, 0.7, BENCH_AT_LEAST);
}

int main(int argc, char **argv)
{
	struct bench b;
	struct scene s = {.bench = &b};
	const struct {
		const char *name;
		void (*run)(struct scene *s);
	} sections[] = {{"lag", bench_lag}, {"rate", bench_rate}};
	bench_init(&b, argc, argv);
	s.n_watchers = b.quick ? 50 : 1000;
	front_scene_start(&s.front);
	struct http_load_result r = change(
	    &s, (struct http_load){
		    .connections = 1, .requests = OBJECTS, .seconds = 60, .make = make_first});
	http_load_done(&r);
	fit_events(&s);
	for (size_t i = 0; i < ARRAY_LEN(sections); i++)
		if (!b.section || strcmp(b.section, sections[i].name) == 0)
			sections[i].run(&s);
	front_scene_stop(&s.front);
	return bench_finish(&b);
}
