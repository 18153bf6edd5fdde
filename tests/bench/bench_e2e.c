/*
 * The whole way: the real hub and simulated members as processes, jobs created over TLS, and what
 * becomes of them followed by watches as any client would (DESIGN figures of part A).
 *
 * The simulators share the machine with the hub and this generator, so beside each wall-clock
 * figure stands what one job cost in CPU time, by process and by thread.
 *
 *   rest      resident memory after start
 *   latency   submit to unsuspended on the member, an idle hub, jobs 20 ms apart
 *   burst     1,000 jobs of one or two pods at once onto 10 members
 *   way       jobs finished a second over 60 s with 3 members, then 100,000 finished jobs: memory
 *             and restart
 */
#include "bench.h"
#include "fleet.h"
#include "http_load.h"
#include "http_watch.h"
#include "job_times.h"
#include "usage.h"

#include <signal.h>

#define OUTSTANDING 2000 /* created and not finished, at most: enough to keep every part busy */

struct way {
	struct bench *b;
	struct fleet fleet;
	struct job_times times;
	const char *duration;
	bool pairs; /* every other job has a worker */
};

static void way_open(struct way *w, struct bench *b)
{
	*w = (struct way){.b = b, .duration = "0.1s"};
	job_times_init(&w->times);
	fleet_open(&w->fleet);
}

static void way_close(struct way *w)
{
	job_times_done(&w->times);
	if (!fleet_close(&w->fleet)) {
		fprintf(stderr, "bench_e2e: a program did not end well\n");
		w->b->failed++;
	}
}

static void await_all(struct way *w, enum job_stage s, uint64_t n, double seconds)
{
	static const char *const names[] = {"started", "running", "finished"};
	if (job_times_await(&w->times, s, n, seconds))
		return;
	fprintf(stderr, "bench_e2e: %s: %llu of %llu\n", names[s],
		(unsigned long long)atomic_load(&w->times.n[s]), (unsigned long long)n);
	exit(1);
}

/* ---- the load ---- */

/* A PyTorchJob of 2 KB. */
static void make_job(void *arg, uint64_t n, struct buf *out)
{
	struct way *w = arg;
	size_t sets = w->pairs && n % 2 ? 2 : 1;
	auto_buf b = BUF_INIT;
	buf_addf(&b,
		 "{\"apiVersion\":\"kubeflow.org/v1\",\"kind\":\"PyTorchJob\",\"metadata\":{"
		 "\"name\":\"job-%07llu\",\"labels\":{\"team\":\"vision\",\"app\":\"train\"}},"
		 "\"spec\":{\"runPolicy\":{\"cleanPodPolicy\":\"None\"},\"pytorchReplicaSpecs\":{",
		 (unsigned long long)n);
	for (size_t i = 0; i < sets; i++) {
		buf_addf(&b,
			 "%s\"%s\":{\"replicas\":1,\"restartPolicy\":\"Never\",\"template\":{"
			 "\"metadata\":{\"annotations\":{\"muster.dev/sim-duration\":\"%s\"}},"
			 "\"spec\":{\"containers\":[{\"name\":\"pytorch\",\"image\":\"registry."
			 "example/vision/train:2026.11\",\"command\":[\"python\",\"-m\",\"torch."
			 "distributed.run\",\"/workspace/train.py\",\"--epochs=90\"],\"resources\":"
			 "{\"requests\":{\"cpu\":\"1\",\"memory\":\"4Gi\"}},\"env\":[",
			 i ? "," : "", i ? "Worker" : "Master", w->duration);
		for (int k = 0; b.len < (size_t)1980 * (i + 1) / sets; k++)
			buf_addf(&b, "%s{\"name\":\"TRAIN_OPTION_%02d\",\"value\":\"v-%02d\"}",
				 k ? "," : "", k, k);
		buf_add_str(&b, "]}]}}}");
	}
	buf_add_str(&b, "}}}");
	http_load_head(out, "POST", JOB_TIMES_PATH, w->fleet.token, b.len);
	buf_add_span(out, buf_span(&b));
	w->times.created[n] = job_times_now();
}

static uint64_t may_create(void *arg)
{
	struct way *w = arg;
	return atomic_load(&w->times.n[JOB_FINISHED]) + OUTSTANDING;
}

static void make_version(void *arg, uint64_t n, struct buf *out)
{
	const struct way *w = arg;
	(void)n;
	http_load_head(out, "GET", "/version", w->fleet.token, 0);
}

/* Returns how many were answered a second. */
static double run_load(struct way *w, const struct http_load *how, const char *what)
{
	struct http_load l = *how;
	struct http_load_result r;
	struct err e = ERR_INIT;
	l.port = process_port(&w->fleet.hub, 0);
	l.token = w->fleet.token;
	l.arg = w;
	if (http_load_run(&l, &r, &e) == 0 && r.failed)
		(void)err_set(&e, ERR_INTERNAL, "%s", r.first_failure);
	if (e.kind != ERR_NONE)
		fleet_die(what, &e);
	double rate = (double)r.done / r.seconds;
	http_load_done(&r);
	return rate;
}

static void create(struct way *w, struct http_load how)
{
	how.make = make_job;
	(void)run_load(w, &how, "create");
}

/* How many small TLS answers a second this machine gives: a job costs more than its requests. */
static double probe_answers(struct way *w)
{
	const struct http_load l = {.connections = 16, .seconds = 1, .make = make_version};
	return run_load(w, &l, "version");
}

/* ---- scenarios ---- */

static void scenario_rest(struct bench *b)
{
	struct way w;
	size_t resident = 0, private = 0;
	way_open(&w, b);
	process_memory(&w.fleet.hub, ".mdb", &resident, &private);
	bench_print(b, &(struct bench_row){"e2e", "resident-after-start", "MiB",
					   (double)resident / 1048576, 0, 20, BENCH_AT_MOST});
	way_close(&w);
}

static void scenario_latency(struct bench *b)
{
	struct way w;
	int n = b->quick ? 50 : 500;
	double *waits = xcalloc((size_t)n, sizeof(double));
	way_open(&w, b);
	fleet_start_members(&w.fleet, 3, 16, false);
	fleet_join(&w.fleet);
	job_times_watch(&w.times, &w.fleet, true);
	create(&w, (struct http_load){
		       .connections = 1, .seconds = 120, .requests = (uint64_t)n, .rate = 50});
	await_all(&w, JOB_STARTED, (uint64_t)n, 60);
	for (int i = 0; i < n; i++)
		waits[i] = (w.times.at[JOB_STARTED][i] - w.times.created[i]) * 1e3;
	double floor = bench_probe_durable_appends(w.fleet.dir, 4096);
	floor = floor > 0 ? 1e3 / floor : 0; /* ms of one durable write; a start needs two */
	bench_print(b, &(struct bench_row){"e2e", "submit-to-unsuspended-p50", "ms",
					   bench_percentile(waits, (size_t)n, 50), 2 * floor, 10,
					   BENCH_AT_MOST});
	bench_print(b, &(struct bench_row){"e2e", "submit-to-unsuspended-p99", "ms",
					   bench_percentile(waits, (size_t)n, 99), 2 * floor, 50,
					   BENCH_AT_MOST});
	free(waits);
	way_close(&w);
}

static double last_of(const struct way *w, enum job_stage s, uint64_t n)
{
	double last = 0;
	for (uint64_t i = 0; i < n; i++)
		last = w->times.at[s][i] > last ? w->times.at[s][i] : last;
	return last;
}

static void scenario_burst(struct bench *b)
{
	struct way w;
	uint64_t n = 1000;
	way_open(&w, b);
	w.duration = "20s";
	w.pairs = true;
	fleet_start_members(&w.fleet, 10, 16, false);
	fleet_join(&w.fleet);
	job_times_watch(&w.times, &w.fleet, true);
	double began = job_times_now();
	create(&w, (struct http_load){.connections = 16, .seconds = 60, .requests = n});
	bench_print(b,
		    &(struct bench_row){"e2e", "burst-1000-created", "s", job_times_now() - began});
	await_all(&w, JOB_RUNNING, n, 60);
	await_all(&w, JOB_STARTED, n, 60);
	bench_print(b, &(struct bench_row){"e2e", "burst-1000-unsuspended-on-10", "s",
					   last_of(&w, JOB_STARTED, n) - began});
	bench_print(b,
		    &(struct bench_row){"e2e", "burst-1000-running-on-10", "s",
					last_of(&w, JOB_RUNNING, n) - began, 0, 3, BENCH_AT_MOST});
	way_close(&w);
}

struct creator {
	struct way *way;
	uint64_t jobs;
};

static void *creator_main(void *arg)
{
	struct creator *c = arg;
	create(c->way,
	       (struct http_load){
		   .connections = 16, .seconds = 3600, .requests = c->jobs, .allowed = may_create});
	return NULL;
}

static bool until_over(void *arg, char *line, size_t len)
{
	bool *over = arg;
	*over = memmem(line, len, "\"phase\":\"Succeeded\"", 19);
	return !*over;
}

/* A pod is the last that the hub writes of a job. */
static void await_last_pod(struct way *w, uint64_t jobs)
{
	char path[200];
	bool over = false;
	struct err e = ERR_INIT;
	snprintf(path, sizeof(path),
		 "/api/v1/namespaces/default/pods?watch=true&timeoutSeconds=60&"
		 "fieldSelector=metadata.name%%3Djob-%07llu-master-0",
		 (unsigned long long)jobs - 1);
	const struct http_watch watch = {.port = process_port(&w->fleet.hub, 0),
					 .path = path,
					 .token = w->fleet.token,
					 .line = until_over,
					 .arg = &over};
	if (http_watch_get(&watch, &e) == 0 && !over)
		(void)err_set(&e, ERR_INTERNAL, "not seen to its end");
	if (e.kind != ERR_NONE)
		fleet_die("the last job's pod", &e);
}

static double private_mib(struct way *w)
{
	size_t resident = 0, private = 0;
	process_memory(&w->fleet.hub, ".mdb", &resident, &private);
	return (double)private / 1048576;
}

static void measure_finished(struct way *w, uint64_t n)
{
	char metric[64];
	job_times_unwatch(&w->times);
	await_last_pod(w, n);
	snprintf(metric, sizeof(metric), "private-with-%llu-finished", (unsigned long long)n);
	bench_print(
	    w->b, &(struct bench_row){"e2e", metric, "MiB", private_mib(w), 0, 100, BENCH_AT_MOST});
	if (process_stop(&w->fleet.hub) < 0)
		w->b->failed++;
	double began = job_times_now();
	fleet_start_hub(&w->fleet);
	double took = job_times_now() - began;
	snprintf(metric, sizeof(metric), "restart-with-%llu-finished", (unsigned long long)n);
	bench_print(w->b, &(struct bench_row){"e2e", metric, "s", took, 0, 1, BENCH_AT_MOST});
	bench_print(w->b, &(struct bench_row){"e2e", "private-after-that-restart", "MiB",
					      private_mib(w), 0, 100, BENCH_AT_MOST});
}

static void scenario_way(struct bench *b)
{
	struct way w;
	struct usage from, to;
	struct creator creator = {&w, b->quick ? 10000 : 100000};
	atomic_uint_fast64_t *finished = &w.times.n[JOB_FINISHED];
	pthread_t thread;
	way_open(&w, b);
	fleet_start_members(&w.fleet, 3, 64, true);
	fleet_join(&w.fleet);
	double floor = probe_answers(&w) / 4; /* a create, and three requests to the member */
	job_times_watch(&w.times, &w.fleet, false);
	if (pthread_create(&thread, NULL, creator_main, &creator) != 0)
		abort();
	await_all(&w, JOB_FINISHED, b->quick ? 1000 : 5000, 120);
	usage_take(&w.fleet, atomic_load(finished), &from);
	(void)job_times_await(&w.times, JOB_FINISHED, creator.jobs - OUTSTANDING,
			      b->quick ? 10 : 60);
	usage_take(&w.fleet, atomic_load(finished), &to);
	usage_print(b, &from, &to, floor);
	await_all(&w, JOB_FINISHED, creator.jobs, 600);
	pthread_join(thread, NULL);
	measure_finished(&w, creator.jobs);
	way_close(&w);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct bench *b);
	} scenarios[] = {
	    {"rest", scenario_rest},
	    {"latency", scenario_latency},
	    {"burst", scenario_burst},
	    {"way", scenario_way},
	};
	struct bench b;
	bench_init(&b, argc, argv);
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < ARRAY_LEN(scenarios); i++)
		if (!b.section || strcmp(b.section, scenarios[i].name) == 0)
			scenarios[i].run(&b);
	return bench_finish(&b);
}
