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
#include "http_load.h"
#include "http_watch.h"
#include "process.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMBERS_MAX 16
#define JOBS_MAX    400000
#define OUTSTANDING 2000 /* created and not finished, at most: enough to keep every part busy */
#define JOBS_PATH   "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"

struct way {
	struct bench *b;
	char dir[64], kubeconfig[96], log[96], token[128];
	struct process hub, sims;
	char listen[64];
	int n_members;
	char sim_tokens[MEMBERS_MAX][128];
	struct http_watch_thread *watches[MEMBERS_MAX + 1];
	const char *duration;
	bool pairs;					/* every other job has a worker */
	double *created, *started, *running, *finished; /* by number of the job, in seconds */
	atomic_uint_fast64_t n_started, n_running, n_finished;
};

static double now_s(void)
{
	return (double)bench_now_ns() / 1e9;
}

/* Leaves the directory: programs.log is in it. */
static void die(const char *what, const struct err *e)
{
	fprintf(stderr, "bench_e2e: %s: %s\n", what, e->text);
	exit(1);
}

/* ---- programs ---- */

static char *program(char *out, const char *name)
{
	const char *build = getenv("MUSTER_BUILD");
	snprintf(out, PATH_MAX, "%s/%s", build ? build : ".", name);
	return out;
}

static void read_token(const char *dir, char token[128])
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/pki/admin.token", dir);
	FILE *f = fopen(path, "r");
	if (!f || !fgets(token, 128, f))
		die(path, &(struct err){.text = "no token"});
	token[strcspn(token, "\n")] = '\0';
	fclose(f);
}

static void start_hub(struct way *w)
{
	char path[PATH_MAX], data[96];
	struct err e = ERR_INIT;
	snprintf(data, sizeof(data), "%s/hub", w->dir);
	snprintf(w->kubeconfig, sizeof(w->kubeconfig), "%s/kubeconfig", w->dir);
	if (!w->listen[0])
		snprintf(w->listen, sizeof(w->listen), "127.0.0.1:0");
	const char *argv[] = {program(path, "musterd"),
			      "--data-dir",
			      data,
			      "--kubeconfig-out",
			      w->kubeconfig,
			      "--listen",
			      w->listen,
			      NULL};
	if (process_start(&w->hub, argv, 1, w->log, &e) < 0)
		die("musterd", &e);
	snprintf(w->listen, sizeof(w->listen), "127.0.0.1:%d", process_port(&w->hub, 0));
	read_token(data, w->token);
}

static void write_nodes(const char *path, int nodes)
{
	FILE *f = fopen(path, "w");
	if (!f)
		die(path, &(struct err){.text = "cannot be written"});
	fprintf(f,
		"apiVersion: v1\nkind: Node\nmetadata:\n  name: node\n  annotations:\n"
		"    muster.dev/sim-count: \"%d\"\nstatus:\n  allocatable:\n    cpu: \"96\"\n"
		"    memory: 1000Gi\n    pods: \"110\"\n    nvidia.com/gpu: \"8\"\n",
		nodes);
	fclose(f);
}

/* With a directory they keep their tokens where watches find them; without, their stores are in
 * memory, which costs the machine less. */
static void start_sims(struct way *w, int members, int nodes, bool in_memory)
{
	char path[PATH_MAX], nodes_file[96], config[96], data[96], count[8];
	struct err e = ERR_INIT;
	w->n_members = members;
	snprintf(nodes_file, sizeof(nodes_file), "%s/nodes.yaml", w->dir);
	snprintf(config, sizeof(config), "%s/member", w->dir);
	snprintf(data, sizeof(data), "%s/members", w->dir);
	snprintf(count, sizeof(count), "%d", members);
	write_nodes(nodes_file, nodes);
	const char *argv[] = {program(path, "member-sync/sim/muster-sim"),
			      "--name",
			      "m",
			      "--count",
			      count,
			      "--nodes",
			      nodes_file,
			      "--kubeconfig-out",
			      config,
			      in_memory ? NULL : "--data-dir",
			      data,
			      NULL};
	if (process_start(&w->sims, argv, members, w->log, &e) < 0)
		die("muster-sim", &e);
	for (int i = 0; i < members && !in_memory; i++) {
		char dir[128];
		snprintf(dir, sizeof(dir), "%s/m-%d", data, i);
		read_token(dir, w->sim_tokens[i]);
	}
}

static bool count_synced(void *arg, char *line, size_t len)
{
	(void)len;
	for (char *at = line; (at = strstr(at, "\"synced\":true")); at++)
		++*(int *)arg;
	return true;
}

static void join(struct way *w)
{
	char path[PATH_MAX], config[128], name[16];
	struct err e = ERR_INIT;
	setenv("KUBECONFIG", w->kubeconfig, 1);
	for (int i = 0; i < w->n_members; i++) {
		snprintf(config, sizeof(config), "%s/member-%d", w->dir, i);
		snprintf(name, sizeof(name), "m-%d", i);
		const char *argv[] = {
		    program(path, "deploy/cli/muster"), "join", name, "--kubeconfig", config, NULL};
		if (process_run(argv, w->log, &e) < 0)
			die("join", &e);
	}
	for (int synced = 0, tries = 0; synced < w->n_members; tries++) {
		synced = 0;
		if (tries > 1000)
			die("join", &(struct err){.text = "not every member is Ready"});
		usleep(20000);
		if (http_watch_get(
			&(struct http_watch){.port = process_port(&w->hub, 0),
					     .path = "/apis/muster.dev/v1alpha1/clusters",
					     .token = w->token,
					     .line = count_synced,
					     .arg = &synced},
			&e) < 0)
			die("clusters", &e);
	}
}

/* ---- what becomes of jobs ---- */

static double *slot(double *times, const char *line)
{
	const char *at = strstr(line, "\"name\":\"job-");
	unsigned long n = at ? strtoul(at + 12, NULL, 10) : JOBS_MAX;
	return n < JOBS_MAX ? &times[n] : NULL;
}

static void once(double *at, atomic_uint_fast64_t *count)
{
	if (!at || *at > 0)
		return;
	*at = now_s();
	atomic_fetch_add(count, 1);
}

static bool hub_line(void *arg, char *line, size_t len)
{
	struct way *w = arg;
	if (memmem(line, len, "\"type\":\"Succeeded\"", 18)) {
		once(slot(w->running, line), &w->n_running);
		once(slot(w->finished, line), &w->n_finished);
	} else if (memmem(line, len, "\"type\":\"Running\"", 16)) {
		once(slot(w->running, line), &w->n_running);
	}
	return true;
}

static bool member_line(void *arg, char *line, size_t len)
{
	struct way *w = arg;
	if (!memmem(line, len, "\"suspend\":true", 14))
		once(slot(w->started, line), &w->n_started);
	return true;
}

static void watch_all(struct way *w, bool members)
{
	struct http_watch hub = {.port = process_port(&w->hub, 0),
				 .path = JOBS_PATH "?watch=true",
				 .token = w->token,
				 .line = hub_line,
				 .arg = w};
	struct err e = ERR_INIT;
	w->watches[MEMBERS_MAX] = http_watch_start(&hub, &e);
	for (int i = 0; members && i < w->n_members; i++) {
		struct http_watch m = {.port = process_port(&w->sims, i),
				       .path = JOBS_PATH "?watch=true",
				       .token = w->sim_tokens[i],
				       .line = member_line,
				       .arg = w};
		w->watches[i] = http_watch_start(&m, &e);
	}
	if (e.kind != ERR_NONE)
		die("watch", &e);
}

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
	http_load_head(out, "POST", JOBS_PATH, w->token, b.len);
	buf_add_span(out, buf_span(&b));
	w->created[n] = now_s();
}

static uint64_t may_create(void *arg)
{
	struct way *w = arg;
	return atomic_load(&w->n_finished) + OUTSTANDING;
}

static void way_open(struct way *w, struct bench *b)
{
	*w = (struct way){.b = b, .duration = "0.1s"};
	snprintf(w->dir, sizeof(w->dir), "/tmp/bench-e2e-XXXXXX");
	if (!mkdtemp(w->dir))
		die("/tmp", &(struct err){.text = "no directory"});
	snprintf(w->log, sizeof(w->log), "%s/programs.log", w->dir);
	w->created = xcalloc(JOBS_MAX, sizeof(double));
	w->started = xcalloc(JOBS_MAX, sizeof(double));
	w->running = xcalloc(JOBS_MAX, sizeof(double));
	w->finished = xcalloc(JOBS_MAX, sizeof(double));
	start_hub(w);
}

static void way_close(struct way *w)
{
	char command[128];
	for (int i = 0; i <= MEMBERS_MAX; i++)
		http_watch_stop(w->watches[i]);
	if (process_stop(&w->hub) < 0 || process_stop(&w->sims) < 0) {
		fprintf(stderr, "bench_e2e: a program did not end well\n");
		w->b->failed++;
	}
	snprintf(command, sizeof(command), "rm -rf %s", w->dir);
	if (system(command) != 0)
		fprintf(stderr, "bench_e2e: %s is left\n", w->dir);
	free(w->created);
	free(w->started);
	free(w->running);
	free(w->finished);
}

static void create(struct way *w, const struct http_load *how)
{
	struct http_load l = *how;
	struct http_load_result r;
	struct err e = ERR_INIT;
	l.port = process_port(&w->hub, 0);
	l.token = w->token;
	l.make = make_job;
	l.arg = w;
	if (http_load_run(&l, &r, &e) < 0)
		die("create", &e);
	if (r.failed)
		die("create", &(struct err){.text = "refused"});
	http_load_done(&r);
}

static bool await(atomic_uint_fast64_t *count, uint64_t n, double seconds)
{
	double until = now_s() + seconds;
	while (atomic_load(count) < n) {
		if (now_s() > until)
			return false;
		usleep(1000);
	}
	return true;
}

static void await_all(const char *what, atomic_uint_fast64_t *count, uint64_t n, double seconds)
{
	if (!await(count, n, seconds)) {
		fprintf(stderr, "bench_e2e: %s: %llu of %llu\n", what,
			(unsigned long long)atomic_load(count), (unsigned long long)n);
		exit(1);
	}
}

/* ---- scenarios ---- */

static void scenario_rest(struct bench *b)
{
	struct way w;
	size_t resident = 0, private = 0;
	way_open(&w, b);
	process_memory(&w.hub, ".mdb", &resident, &private);
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
	start_sims(&w, 3, 16, false);
	join(&w);
	watch_all(&w, true);
	create(&w, &(struct http_load){
		       .connections = 1, .seconds = 120, .requests = (uint64_t)n, .rate = 50});
	await_all("started", &w.n_started, (uint64_t)n, 60);
	for (int i = 0; i < n; i++)
		waits[i] = (w.started[i] - w.created[i]) * 1e3;
	double floor = bench_probe_durable_appends(w.dir, 4096);
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

static void scenario_burst(struct bench *b)
{
	struct way w;
	uint64_t n = 1000;
	double began, running = 0, started = 0;
	way_open(&w, b);
	w.duration = "20s";
	w.pairs = true;
	start_sims(&w, 10, 16, false);
	join(&w);
	watch_all(&w, true);
	began = now_s();
	create(&w, &(struct http_load){.connections = 16, .seconds = 60, .requests = n});
	bench_print(b, &(struct bench_row){"e2e", "burst-1000-created", "s", now_s() - began});
	await_all("running", &w.n_running, n, 60);
	await_all("started", &w.n_started, n, 60);
	for (uint64_t i = 0; i < n; i++) {
		running = w.running[i] > running ? w.running[i] : running;
		started = w.started[i] > started ? w.started[i] : started;
	}
	bench_print(
	    b, &(struct bench_row){"e2e", "burst-1000-unsuspended-on-10", "s", started - began});
	bench_print(b, &(struct bench_row){"e2e", "burst-1000-running-on-10", "s", running - began,
					   0, 3, BENCH_AT_MOST});
	way_close(&w);
}

struct usage {
	double at, hub, sims, own;
	uint64_t finished, truth, mirror; /* revisions: each row of an object takes one */
	struct process_thread threads[2][PROCESS_THREADS_MAX];
	size_t n_threads[2];
};

static bool read_revision(void *arg, char *line, size_t len)
{
	const char *at = memmem(line, len, "\"resourceVersion\":\"", 19);
	*(uint64_t *)arg = at ? strtoull(at + 19, NULL, 10) : 0;
	return false;
}

/* Of the newest row of the store that this list comes from. */
static uint64_t list_revision(struct way *w, const char *path)
{
	uint64_t revision = 0;
	struct err e = ERR_INIT;
	if (http_watch_get(&(struct http_watch){.port = process_port(&w->hub, 0),
						.path = path,
						.token = w->token,
						.line = read_revision,
						.arg = &revision},
			   &e) < 0)
		die("list", &e);
	return revision;
}

static void take_usage(struct way *w, struct usage *u)
{
	u->at = now_s();
	u->finished = atomic_load(&w->n_finished);
	u->hub = process_cpu(&w->hub);
	u->sims = process_cpu(&w->sims);
	u->truth = list_revision(w, "/api/v1/namespaces/none/configmaps");
	u->mirror = list_revision(w, "/api/v1/namespaces/none/pods");
	u->own = (double)bench_cpu_now_ns() / 1e9;
	u->n_threads[0] = process_threads(&w->hub, u->threads[0], PROCESS_THREADS_MAX);
	u->n_threads[1] = process_threads(&w->sims, u->threads[1], PROCESS_THREADS_MAX);
}

static void print_cpu(struct bench *b, const char *metric, double seconds, double jobs)
{
	bench_print(b, &(struct bench_row){"e2e", metric, "us/job", seconds / jobs * 1e6});
}

/* Threads of one name are one row. */
static void print_threads(struct bench *b, const char *who, const struct usage *from,
			  const struct usage *to, int which, double jobs)
{
	for (size_t i = 0; i < to->n_threads[which]; i++) {
		const struct process_thread *t = &to->threads[which][i];
		char metric[64];
		double cpu = 0;
		bool first = true;
		for (size_t k = 0; k < to->n_threads[which]; k++) {
			const struct process_thread *other = &to->threads[which][k];
			if (strcmp(other->name, t->name) != 0)
				continue;
			first = first && k >= i;
			cpu += other->cpu;
		}
		for (size_t k = 0; k < from->n_threads[which]; k++)
			if (strcmp(from->threads[which][k].name, t->name) == 0)
				cpu -= from->threads[which][k].cpu;
		snprintf(metric, sizeof(metric), "way-cpu-%s-%s", who, t->name);
		if (first && cpu > 0)
			print_cpu(b, metric, cpu, jobs);
	}
}

static void print_way(struct way *w, const struct usage *from, const struct usage *to, double floor)
{
	double jobs = (double)(to->finished - from->finished);
	struct bench *b = w->b;
	bench_print(b,
		    &(struct bench_row){"e2e", "way-3-members-finished", "1/s",
					jobs / (to->at - from->at), floor, 1000, BENCH_AT_LEAST});
	bench_print(b, &(struct bench_row){"e2e", "way-rows-of-truth", "rows/job",
					   (double)(to->truth - from->truth) / jobs});
	bench_print(b, &(struct bench_row){"e2e", "way-rows-of-mirror", "rows/job",
					   (double)(to->mirror - from->mirror) / jobs});
	print_cpu(b, "way-cpu-hub", to->hub - from->hub, jobs);
	print_threads(b, "hub", from, to, 0, jobs);
	print_cpu(b, "way-cpu-sims", to->sims - from->sims, jobs);
	print_threads(b, "sims", from, to, 1, jobs);
	print_cpu(b, "way-cpu-generator", to->own - from->own, jobs);
}

struct creator {
	struct way *way;
	uint64_t jobs;
};

static void *creator_main(void *arg)
{
	struct creator *c = arg;
	create(c->way,
	       &(struct http_load){
		   .connections = 16, .seconds = 3600, .requests = c->jobs, .allowed = may_create});
	return NULL;
}

static void make_version(void *arg, uint64_t n, struct buf *out)
{
	const struct way *w = arg;
	(void)n;
	http_load_head(out, "GET", "/version", w->token, 0);
}

/* How many small TLS answers a second this machine gives: a job costs more than its requests. */
static double probe_answers(struct way *w)
{
	struct http_load l = {.port = process_port(&w->hub, 0),
			      .token = w->token,
			      .connections = 16,
			      .seconds = 1,
			      .make = make_version,
			      .arg = w};
	struct http_load_result r;
	struct err e = ERR_INIT;
	if (http_load_run(&l, &r, &e) < 0)
		die("version", &e);
	double rate = (double)r.done / r.seconds;
	http_load_done(&r);
	return rate;
}

static void measure_finished(struct way *w, uint64_t n)
{
	size_t resident = 0, private = 0;
	char metric[64];
	for (int i = 0; i <= MEMBERS_MAX; i++) {
		http_watch_stop(w->watches[i]);
		w->watches[i] = NULL;
	}
	usleep(2000000); /* what the last jobs left to do */
	process_memory(&w->hub, ".mdb", &resident, &private);
	snprintf(metric, sizeof(metric), "private-with-%llu-finished", (unsigned long long)n);
	bench_print(w->b, &(struct bench_row){"e2e", metric, "MiB", (double)private / 1048576, 0,
					      100, BENCH_AT_MOST});
	if (process_stop(&w->hub) < 0)
		w->b->failed++;
	double began = now_s();
	start_hub(w);
	double took = now_s() - began;
	snprintf(metric, sizeof(metric), "restart-with-%llu-finished", (unsigned long long)n);
	bench_print(w->b, &(struct bench_row){"e2e", metric, "s", took, 0, 1, BENCH_AT_MOST});
	process_memory(&w->hub, ".mdb", &resident, &private);
	bench_print(w->b, &(struct bench_row){"e2e", "private-after-that-restart", "MiB",
					      (double)private / 1048576, 0, 100, BENCH_AT_MOST});
}

static void scenario_way(struct bench *b)
{
	struct way w;
	struct usage from, to;
	struct creator creator = {&w, b->quick ? 10000 : 100000};
	pthread_t thread;
	way_open(&w, b);
	start_sims(&w, 3, 64, true);
	join(&w);
	double floor = probe_answers(&w) / 4; /* a create, and three requests to the member */
	watch_all(&w, false);
	if (pthread_create(&thread, NULL, creator_main, &creator) != 0)
		abort();
	await_all("finished", &w.n_finished, b->quick ? 1000 : 5000, 120);
	take_usage(&w, &from);
	(void)await(&w.n_finished, creator.jobs - OUTSTANDING, b->quick ? 10 : 60);
	take_usage(&w, &to);
	print_way(&w, &from, &to, floor);
	await_all("finished", &w.n_finished, creator.jobs, 600);
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
