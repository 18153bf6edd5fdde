/*
 * Scenario read: the API's reads over TLS beside what libwebsockets does by itself (http_floor.h)
 * in the same run: GET of a 2 KB object, LIST of 100,000 of them with its memory and what others
 * feel of it, and watchers that have nothing to do.
 *
 * Figures and floors take turns, and a ratio is the median over the turns, since the machine's
 * speed moves between seconds.
 */
#include "base/json.h"
#include "bench.h"
#include "front_scene.h"
#include "http_download.h"
#include "http_load.h"
#include "http_watch.h"
#include "kinds/kinds.h"
#include "kinds/types.h"
#include "kube/meta.h"
#include "kube/object.h"
#include "lateness.h"
#include <limits.h>
#include <openssl/rand.h>
#include <pthread.h>

#define JOBS_PATH "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
#define TURNS	  7

struct scene {
	struct bench *bench;
	struct front_scene front;
	int n_objects, n_watchers;
	size_t object_bytes;
};

/* ---- what is served ---- */

static void fill_random(void *arg, void *out, size_t n)
{
	(void)arg;
	if (RAND_bytes(out, (int)n) != 1)
		abort();
}

/* A PyTorchJob that is 2 KB as it is stored. */
static void make_object(int i, const struct kind *k, struct object_draft *ret)
{
	static const struct meta_random random = {fill_random, NULL};
	struct meta_write w = {.kind = k,
			       .ns = SPAN("default"),
			       .subresource = "",
			       .now = clock_now(),
			       .random = &random};
	struct field_errors errors = {0};
	struct err e = ERR_INIT;
	auto_buf text = BUF_INIT;
	auto_json *tree = NULL;
	buf_addf(
	    &text,
	    "{\"apiVersion\":\"kubeflow.org/v1\",\"kind\":\"PyTorchJob\",\"metadata\":{\"name\":"
	    "\"job-%06d\",\"annotations\":{\"note\":\"",
	    i);
	for (int n = 0; n < 48; n++)
		buf_add_str(&text, "what a job of two kilobytes says: ");
	buf_add_str(&text,
		    "\"}},\"spec\":{\"pytorchReplicaSpecs\":{\"Master\":{\"replicas\":1,"
		    "\"template\":{\"spec\":{\"containers\":[{\"name\":\"pytorch\",\"image\":"
		    "\"train:1\"}]}}}}}}");
	if (json_parse(buf_span(&text), NULL, &tree, &e) < 0 ||
	    meta_prepare_create(tree, &w, &errors, &e) < 0 ||
	    object_draft_from_tree(k, tree, ret, &e) < 0)
		front_scene_die("object", e.text);
}

static void seed_batch(struct store *store, const struct kind *k, int from, int n)
{
	struct object_draft drafts[STORE_MAX_CHANGES];
	struct store_change changes[STORE_MAX_CHANGES];
	char names[STORE_MAX_CHANGES][24];
	struct err e = ERR_INIT;
	for (int i = 0; i < n; i++) {
		struct store_key key = {k->type, SPAN("default"), SPAN_NONE};
		snprintf(names[i], sizeof(names[i]), "job-%06d", from + i);
		key.name = span_of(names[i]);
		make_object(from + i, k, &drafts[i]);
		object_draft_change(&drafts[i], &key, &changes[i]);
	}
	if (store_apply(store, changes, (size_t)n, clock_now(), &e) < 0)
		front_scene_die("seed", e.text);
	for (int i = 0; i < n; i++)
		object_draft_done(&drafts[i]);
}

static void seed(const struct front_scene *front)
{
	const struct scene *s = front->arg;
	const struct kind *k = kind_by_type(kinds_hub(), TYPE_PYTORCH_JOB);
	char path[PATH_MAX];
	struct store_options o = {.path = path,
				  .map_bytes = (size_t)8 << 30,
				  .no_sync = true,
				  .log_max_bytes = (uint64_t)64 << 20,
				  .first_revision = STORE_FIRST_REVISION};
	struct store *store = NULL;
	struct err e = ERR_INIT;
	snprintf(path, sizeof(path), "%s/store", front->dir);
	if (store_open_lmdb(&o, &store, &e) < 0)
		front_scene_die("store", e.text);
	for (int at = 0; at < s->n_objects; at += STORE_MAX_CHANGES) {
		int n = s->n_objects - at;
		seed_batch(store, k, at, n < STORE_MAX_CHANGES ? n : STORE_MAX_CHANGES);
	}
	store_close(store);
}

/* ---- numbers ---- */

static void row(const struct scene *s, const char *metric, const char *unit, double value,
		double floor, double target, enum bench_goal goal)
{
	bench_print(s->bench,
		    &(struct bench_row){"read", metric, unit, value, floor, target, goal});
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(const double *values, size_t n)
{
	double sorted[TURNS];
	memcpy(sorted, values, n * sizeof(*values));
	qsort(sorted, n, sizeof(*sorted), by_value);
	return sorted[n / 2];
}

struct peak {
	const struct process *p;
	size_t most;
};

/* ---- GET ---- */

static void make_get(void *arg, uint64_t n, struct buf *out)
{
	const struct scene *s = arg;
	char path[128];
	snprintf(path, sizeof(path), JOBS_PATH "/job-%06d",
		 (int)(n * 7919 % (uint64_t)s->n_objects));
	http_load_head(out, "GET", path, s->front.token, 0);
}

static void make_raw(void *arg, uint64_t n, struct buf *out)
{
	const struct scene *s = arg;
	char path[32];
	(void)n;
	snprintf(path, sizeof(path), "/%zu", s->object_bytes);
	http_load_head(out, "GET", path, s->front.token, 0);
}

struct rate {
	double per_second, cpu_us, p99_ms;
};

static struct rate load(struct scene *s, const struct process *p, int port, double rate,
			double seconds, void (*make)(void *, uint64_t, struct buf *))
{
	struct http_load l = {.port = port,
			      .token = s->front.token,
			      .connections = rate > 0 ? 16 : 64,
			      .rate = rate,
			      .seconds = seconds,
			      .make = make,
			      .arg = s};
	struct http_load_result r;
	struct err e = ERR_INIT;
	double cpu = process_cpu(p);
	if (http_load_run(&l, &r, &e) < 0 || r.failed)
		front_scene_die("load", r.failed ? r.first_failure : e.text);
	struct rate ret = {.per_second = (double)r.done / r.seconds,
			   .cpu_us = (process_cpu(p) - cpu) / (double)r.done * 1e6,
			   .p99_ms = bench_percentile(r.latencies, r.done, 99) * 1e3};
	http_load_done(&r);
	return ret;
}

static struct http_download_result download(const struct scene *s, int port, const char *path,
					    struct peak *peak);

static void bench_get(struct scene *s)
{
	double ratio[TURNS], cpu_ratio[TURNS];
	struct rate get = {0}, raw = {0};
	int turns = s->bench->quick ? 1 : TURNS;
	double seconds = s->bench->quick ? 0.3 : 2;
	/* The first touch of a page of the store costs a fault, once in its life. */
	(void)download(s, s->front.port, JOBS_PATH, NULL);
	for (int i = 0; i < turns; i++) {
		raw = load(s, &s->front.floor, s->front.floor_port, 0, seconds, make_raw);
		get = load(s, &s->front.server, s->front.port, 0, seconds, make_get);
		ratio[i] = get.per_second / raw.per_second;
		cpu_ratio[i] = raw.cpu_us / get.cpu_us;
	}
	row(s, "get-2kb", "1/s", get.per_second, raw.per_second, 0, BENCH_INFO);
	row(s, "get-2kb-server-cpu", "us", get.cpu_us, raw.cpu_us, 0, BENCH_INFO);
	row(s, "get-2kb-cpu-of-floor", "x", median(cpu_ratio, (size_t)turns), 1, 0, BENCH_INFO);
	row(s, "get-2kb-of-floor", "x", median(ratio, (size_t)turns), 1, 0.8, BENCH_AT_LEAST);
}

/* ---- LIST ---- */

static size_t private_bytes(const struct process *p)
{
	size_t resident = 0, private = 0;
	if (process_memory(p, "data.mdb", &resident, &private) < 0)
		front_scene_die("memory", "cannot be read");
	return private;
}

static void note_peak(void *arg)
{
	struct peak *k = arg;
	size_t now = private_bytes(k->p);
	if (now > k->most)
		k->most = now;
}

static struct http_download_result download(const struct scene *s, int port, const char *path,
					    struct peak *peak)
{
	struct http_download d = {.port = port,
				  .path = path,
				  .token = s->front.token,
				  .progress = peak ? note_peak : NULL,
				  .arg = peak};
	struct http_download_result r;
	struct err e = ERR_INIT;
	if (http_download(&d, &r, &e) < 0)
		front_scene_die(path, e.text);
	return r;
}

struct lister {
	const struct scene *scene;
	const char *path;
	int port;
	_Atomic bool stop;
};

static void *list_on(void *arg)
{
	struct lister *l = arg;
	while (!l->stop)
		(void)download(l->scene, l->port, l->path, NULL);
	return NULL;
}

/* Load while somebody takes everything, again and again. */
static struct rate load_beside(struct scene *s, struct lister *l, const struct process *p,
			       double seconds, void (*make)(void *, uint64_t, struct buf *))
{
	pthread_t thread;
	struct rate ret;
	l->scene = s;
	if (pthread_create(&thread, NULL, list_on, l))
		front_scene_die("thread", "cannot start");
	ret = load(s, p, l->port, 500, seconds, make);
	l->stop = true;
	pthread_join(thread, NULL);
	return ret;
}

/* Turns of the server's loop: all, and those of more than a millisecond. */
struct turns {
	double all, short_ones;
};

static bool note_turns(void *arg, char *line, size_t len)
{
	static const char bucket[] = "muster_api_loop_turn_cpu_seconds_bucket{le=\"0.001\"} ";
	static const char count[] = "muster_api_loop_turn_cpu_seconds_count ";
	struct turns *t = arg;
	(void)len;
	if (strncmp(line, bucket, sizeof(bucket) - 1) == 0)
		t->short_ones = strtod(line + sizeof(bucket) - 1, NULL);
	else if (strncmp(line, count, sizeof(count) - 1) == 0)
		t->all = strtod(line + sizeof(count) - 1, NULL);
	return true;
}

static struct turns read_turns(const struct scene *s)
{
	struct turns t = {0};
	struct http_watch w = {.port = s->front.port,
			       .path = "/metrics",
			       .token = s->front.token,
			       .line = note_turns,
			       .arg = &t};
	struct err e = ERR_INIT;
	if (http_watch_get(&w, &e) < 0)
		front_scene_die("metrics", e.text);
	return t;
}

/* What others wait for a GET while somebody lists everything: beside the same of the floor, for on
 * two cores the two clients, the loop and the worker wait for each other's processor too. The floor
 * of the GETs alone is how late the machine wakes a thread that does nothing. */
static void bench_beside(struct scene *s, size_t bytes)
{
	double alone[TURNS], raw[TURNS], beside[TURNS], late[TURNS], turns = 0, longer = 0;
	double seconds = s->bench->quick ? 1 : 3;
	int n = s->bench->quick ? 1 : TURNS;
	char path[32];
	snprintf(path, sizeof(path), "/%zu", bytes);
	for (int i = 0; i < n; i++) {
		struct lister floor = {.path = path, .port = s->front.floor_port};
		struct lister list = {.path = JOBS_PATH, .port = s->front.port};
		struct lateness *meter = lateness_begin();
		alone[i] = load(s, &s->front.server, s->front.port, 500, seconds, make_get).p99_ms;
		late[i] = lateness_end(meter);
		raw[i] = load_beside(s, &floor, &s->front.floor, seconds, make_raw).p99_ms;
		struct turns before = read_turns(s);
		beside[i] = load_beside(s, &list, &s->front.server, seconds, make_get).p99_ms;
		struct turns after = read_turns(s);
		turns += after.all - before.all;
		longer += after.all - before.all - (after.short_ones - before.short_ones);
	}
	double one = median(alone, (size_t)n), floor = median(raw, (size_t)n);
	row(s, "get-p99-alone", "ms", one, median(late, (size_t)n), 0, BENCH_INFO);
	row(s, "get-p99-beside-list", "ms", median(beside, (size_t)n), floor,
	    2 * (one > floor ? one : floor), BENCH_AT_MOST);
	row(s, "loop-turns-over-1ms-beside-list", "%", turns > 0 ? longer / turns * 100 : 0, 0, 1,
	    BENCH_AT_MOST);
}

static void bench_list(struct scene *s)
{
	double ratio[TURNS], cpu_ratio[TURNS], seconds[TURNS];
	int turns = s->bench->quick ? 1 : TURNS;
	struct http_download_result list = download(s, s->front.port, JOBS_PATH, NULL), raw;
	double list_cpu = 0, raw_cpu = 0;
	struct peak peak = {.p = &s->front.server};
	size_t before = private_bytes(&s->front.server);
	char path[32];
	snprintf(path, sizeof(path), "/%zu", list.bytes);
	for (int i = 0; i < turns; i++) {
		raw_cpu = process_cpu(&s->front.floor);
		raw = download(s, s->front.floor_port, path, NULL);
		raw_cpu = process_cpu(&s->front.floor) - raw_cpu;
		list_cpu = process_cpu(&s->front.server);
		list = download(s, s->front.port, JOBS_PATH, NULL);
		list_cpu = process_cpu(&s->front.server) - list_cpu;
		ratio[i] = list.seconds / raw.seconds;
		cpu_ratio[i] = list_cpu / raw_cpu;
		seconds[i] = list.seconds;
	}
	(void)download(s, s->front.port, JOBS_PATH, &peak);
	row(s, "list-bytes", "MiB", (double)list.bytes / 1048576, 0, 0, BENCH_INFO);
	row(s, "list", "s", median(seconds, (size_t)turns), raw.seconds, 0, BENCH_INFO);
	row(s, "list-server-cpu", "ms", list_cpu * 1e3, raw_cpu * 1e3, 0, BENCH_INFO);
	row(s, "list-cpu-of-raw-bytes", "x", median(cpu_ratio, (size_t)turns), 1, 0, BENCH_INFO);
	row(s, "list-of-raw-bytes", "x", median(ratio, (size_t)turns), 1, 1.2, BENCH_AT_MOST);
	row(s, "list-memory", "MiB",
	    peak.most > before ? (double)(peak.most - before) / 1048576 : 0, 0, 16, BENCH_AT_MOST);
	bench_beside(s, list.bytes);
}

/* ---- watchers that have nothing to do ---- */

static void bench_idle_watchers(struct scene *s)
{
	struct http_download d = {.port = s->front.port,
				  .path = "/api/v1/namespaces/default/configmaps?watch=true",
				  .token = s->front.token};
	struct http_crowd *crowd = NULL;
	struct err e = ERR_INIT;
	size_t resident = 0, private = 0;
	uint64_t start = bench_now_ns();
	int seconds = s->bench->quick ? 1 : 10;
	if (http_crowd_open(&d, (size_t)s->n_watchers, &crowd, &e) < 0)
		front_scene_die("watchers", e.text);
	double each = (double)(bench_now_ns() - start) / s->n_watchers / 1e6;
	double cpu = process_cpu(&s->front.server);
	if (http_crowd_stay(crowd, seconds, &e) < 0)
		front_scene_die("watchers", e.text);
	cpu = (process_cpu(&s->front.server) - cpu) / seconds * 100;
	if (process_memory(&s->front.server, "data.mdb", &resident, &private) < 0)
		front_scene_die("memory", "cannot be read");
	http_crowd_close(crowd);
	row(s, "watchers-connect", "ms", each, 0, 0, BENCH_INFO);
	/* The pages of the store are those of the LIST before, not of the watchers. */
	row(s, "watchers-memory", "MiB", (double)private / 1048576, 0, 300, BENCH_AT_MOST);
	row(s, "watchers-idle-cpu", "%", cpu, 0, 1, BENCH_AT_MOST);
}

int main(int argc, char **argv)
{
	struct bench b;
	struct scene s = {.bench = &b};
	const struct {
		const char *name;
		void (*run)(struct scene *s);
	} sections[] = {
	    {"get", bench_get}, {"list", bench_list}, {"watchers", bench_idle_watchers}};
	bench_init(&b, argc, argv);
	s.n_objects = b.quick ? 2000 : 100000;
	s.n_watchers = b.quick ? 200 : 10000;
	s.front = (struct front_scene){.seed = seed, .arg = &s};
	front_scene_start(&s.front);
	s.object_bytes = download(&s, s.front.port, JOBS_PATH "/job-000001", NULL).bytes;
	for (size_t i = 0; i < ARRAY_LEN(sections); i++)
		if (!b.section || strcmp(b.section, sections[i].name) == 0)
			sections[i].run(&s);
	front_scene_stop(&s.front);
	return bench_finish(&b);
}
