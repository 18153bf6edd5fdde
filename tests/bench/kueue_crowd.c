#include "kueue_crowd.h"

#include "base/vec.h"
#include "bench.h"
#include "http_load.h"
#include "http_watch.h"
#include "kueue_objects.h"
#include "kueue_row.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CONNECTIONS 48

static const struct kueue_class crowd_class = {.name = "small", .cpu = 1000};

struct holder {
	uint32_t number;
	bool evicted;
	uint64_t revision;
	char *conditions;
};

struct crowd {
	struct fleet *fleet;
	bool distinct;
	pthread_mutex_t lock;
	struct VEC(struct holder) holders; /* in the order in which they are to be patched */
	size_t failures;
};

/* ---- creating ---- */

static void make_workload(void *arg, uint64_t n, struct buf *out)
{
	const struct crowd *c = arg;
	struct kueue_class k = crowd_class;
	uint64_t seed = n, r = bench_random(&seed);

	k.priority = (int32_t)(r >> 32) % 10;
	int64_t cpu =
	    c->distinct ? 1000 + (int64_t)(n % 1000003) % 20000 : 1000 * (1 + (int64_t)(r % 20));
	kueue_objects_workload(c->fleet->token, &k, 0, (uint32_t)n, cpu, out);
}

/* A patch may meet an eviction: that comes as a newer row. */
static void count_failures(void *arg, uint64_t n, int status)
{
	struct crowd *c = arg;

	(void)n;
	c->failures += status / 100 != 2 && status != 409;
}

static void run(struct crowd *c, struct http_load l, struct http_load_result *ret)
{
	struct err e = ERR_INIT;

	l.port = process_port(&c->fleet->hub, 0);
	l.token = c->fleet->token;
	l.connections = CONNECTIONS;
	l.answered = count_failures;
	l.arg = c;
	if (http_load_run(&l, ret, &e) == 0 && c->failures)
		(void)err_set(&e, ERR_INTERNAL, "%s", ret->first_failure);
	if (e.kind != ERR_NONE)
		fleet_die("workloads", &e);
	http_load_done(ret);
}

/* ---- finishing ---- */

static bool note_row(void *arg, char *line, size_t len)
{
	struct crowd *c = arg;
	struct kueue_row row;

	if (!kueue_row_read(span_make(line, len), &row) ||
	    (row.state != LEDGER_HOLDS && row.state != LEDGER_EVICTED))
		return true;
	pthread_mutex_lock(&c->lock);
	vec_push(&c->holders, (struct holder){row.number, row.state == LEDGER_EVICTED, row.revision,
					      xstrndup(row.conditions.ptr, row.conditions.len)});
	pthread_mutex_unlock(&c->lock);
	return true;
}

static uint64_t may_patch(void *arg)
{
	struct crowd *c = arg;

	pthread_mutex_lock(&c->lock);
	uint64_t n = c->holders.len;
	pthread_mutex_unlock(&c->lock);
	return n;
}

static void make_patch(void *arg, uint64_t n, struct buf *out)
{
	struct crowd *c = arg;
	auto_buf body = BUF_INIT;
	char path[160], full[240];

	pthread_mutex_lock(&c->lock);
	struct holder a = c->holders.items[n];
	c->holders.items[n].conditions = NULL;
	pthread_mutex_unlock(&c->lock);
	if (a.evicted)
		kueue_row_release(a.revision, span_of(a.conditions), &body);
	else
		kueue_row_finish(a.revision, span_of(a.conditions), &body);
	kueue_objects_workload_path(&crowd_class, 0, a.number, path);
	snprintf(full, sizeof(full), "%s/status?fieldManager=performance-runner", path);
	kueue_objects_request(out, "PATCH", full, c->fleet->token, "application/merge-patch+json",
			      buf_span(&body));
	free(a.conditions);
}

/* ---- what the hub counts ---- */

struct counted {
	double decide_s, admitted, decided;
};

static bool take_metric(void *arg, char *line, size_t len)
{
	struct counted *k = arg;

	(void)len;
	(void)sscanf(line, "muster_decision_seconds_total %lf", &k->decide_s);
	(void)sscanf(line, "muster_workloads_reserved_total %lf", &k->admitted);
	static const char decisions[] = "muster_admission_decisions_total{";
	const char *value = strstr(line, "} ");
	if (value && strncmp(line, decisions, sizeof(decisions) - 1) == 0)
		k->decided += strtod(value + 2, NULL);
	return true;
}

static struct counted count(struct crowd *c)
{
	struct counted k = {0};
	struct err e = ERR_INIT;
	const struct http_watch get = {.port = process_port(&c->fleet->hub, 0),
				       .path = "/metrics",
				       .token = c->fleet->token,
				       .line = take_metric,
				       .arg = &k};

	if (http_watch_get(&get, &e) < 0)
		fleet_die("metrics", &e);
	return k;
}

static size_t private_bytes(const struct crowd *c)
{
	size_t resident, of_files;

	process_resident(&c->fleet->hub, &resident, &of_files);
	return resident - of_files;
}

void kueue_crowd_run(struct fleet *f, size_t n, bool distinct, double seconds,
		     struct kueue_crowd_result *ret)
{
	const struct kueue_scenario one = {
	    .name = "crowd",
	    .cohorts = 1,
	    .width = 1,
	    .classes = {{.name = "small"}, {.name = "medium"}, {.name = "large"}}};
	struct crowd c = {.fleet = f, .distinct = distinct, .lock = PTHREAD_MUTEX_INITIALIZER};
	struct http_watch w = {.port = process_port(&f->hub, 0),
			       .path = KUEUE_OBJECTS_API "/workloads?watch=true",
			       .token = f->token,
			       .line = note_row,
			       .arg = &c};
	struct http_load_result r;
	struct err e = ERR_INIT;

	kueue_objects_create(f, &one, (struct kueue_quota_pair){200000, 0});
	*ret = (struct kueue_crowd_result){.before = private_bytes(&c)};
	run(&c, (struct http_load){.seconds = 600, .requests = n, .make = make_workload}, &r);
	ret->created_per_s = (double)r.done / r.seconds;
	ret->after = private_bytes(&c);
	struct counted from = count(&c);
	double cpu = process_cpu(&f->hub);
	struct http_watch_thread *watch = http_watch_start(&w, &e);
	if (!watch)
		fleet_die("watch", &e);
	run(&c, (struct http_load){.seconds = seconds, .make = make_patch, .allowed = may_patch},
	    &r);
	struct counted to = count(&c);
	double decide_us = (to.decide_s - from.decide_s) * 1e6;
	ret->admissions = (size_t)(to.admitted - from.admitted);
	ret->decisions = (size_t)(to.decided - from.decided);
	ret->decision_us = decide_us / (to.decided - from.decided);
	ret->admission_us = decide_us / (to.admitted - from.admitted);
	ret->hub_us = (process_cpu(&f->hub) - cpu) * 1e6 / (to.admitted - from.admitted);
	http_watch_stop(watch);
	vec_foreach (&c.holders, a)
		free(a->conditions);
	vec_done(&c.holders);
	pthread_mutex_destroy(&c.lock);
}
