#include "member-sync/sim/cluster.h"
#include "base/num.h"
#include "kinds/kinds.h"
#include "member-sync/sim/cluster_logs.h"
#include "member-sync/sim/cluster_priv.h"
#include "member-sync/sim/cluster_provisioning.h"
#include "member-sync/sim/cluster_streams.h"
#include "member-sync/sim/kubelet_request.h"
#include "member-sync/sim/pod_class.h"
#include <errno.h>
#include <sys/stat.h>

/* Rows of background work per step: commands and pods come first. */
#define WORK_ROWS 32

static const char *const born_with[] = {"default", "kube-system", "kube-public", "kube-node-lease"};

int cluster_fail(struct cluster *c, const struct err *why)
{
	if (c->failed.kind == ERR_NONE)
		c->failed = *why;
	return err_errno(why->kind);
}

int cluster_current(struct cluster *c, const struct kind *k, struct span ns, struct span name,
		    uint64_t revision, struct store_object *ret)
{
	int rc = registry_get(c->batch, k, ns, name, ret);
	return rc ? rc : ret->revision == revision ? 0 : -ESTALE;
}

/* ---- timers: a binary heap; each record knows its place ---- */

static void place(struct cluster *c, size_t i, struct sim_timer t)
{
	c->timers.items[i] = t;
	if (t.pod)
		t.pod->heap_slot = i + 1;
	else
		t.job->heap_slot = i + 1;
}

static void sift(struct cluster *c, size_t i, struct sim_timer t)
{
	while (i && c->timers.items[(i - 1) / 2].at > t.at) {
		place(c, i, c->timers.items[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	for (;;) {
		size_t kid = 2 * i + 1;
		if (kid >= c->timers.len)
			break;
		if (kid + 1 < c->timers.len &&
		    c->timers.items[kid + 1].at < c->timers.items[kid].at)
			kid++;
		if (c->timers.items[kid].at >= t.at)
			break;
		place(c, i, c->timers.items[kid]);
		i = kid;
	}
	place(c, i, t);
}

void cluster_timer_set(struct cluster *c, usec at, struct sim_pod *pod, struct sim_job *job)
{
	struct sim_timer t = {at, pod, job};
	size_t slot = pod ? pod->heap_slot : job->heap_slot;
	if (!slot) {
		vec_push(&c->timers, t);
		slot = c->timers.len;
	}
	sift(c, slot - 1, t);
}

void cluster_timer_drop(struct cluster *c, size_t *slot)
{
	size_t i = *slot;
	*slot = 0;
	if (!i)
		return;
	struct sim_timer last = c->timers.items[--c->timers.len];
	if (i - 1 < c->timers.len)
		sift(c, i - 1, last);
}

/* ---- caches ---- */

static void drop_caches(struct cluster *c)
{
	map_foreach (&c->pods, e)
		cluster_pods_forget(c, e->value);
	map_foreach (&c->jobs, e)
		cluster_jobs_forget(c, e->value);
	map_done(&c->pods);
	map_done(&c->jobs);
	c->pods = c->jobs = MAP_INIT;
	map_foreach (&c->silent, e)
		free(e->value);
	map_done(&c->silent);
	c->silent = MAP_INIT;
	pod_class_done(c);
	c->provisioning = cluster_provisioning_destroy(c->provisioning);
	scheduler_destroy(c->scheduler);
	c->scheduler = NULL;
	vec_clear(&c->timers);
	c->queue = NULL;
	c->queue_tail = &c->queue;
	c->pending = NULL;
	c->pending_tail = &c->pending;
	c->n_pending = 0;
}

static int load_type(struct cluster *c, struct store_reader *r, const struct kind *k,
		     void (*add)(struct cluster *c, const struct store_object *o),
		     struct err *reterr)
{
	struct store_range range = {.type = k->type};
	struct store_iter *it;
	struct store_object o;
	int failed = 0;
	int rc = store_iter_begin(r, &range, &it, reterr);
	if (rc)
		return rc;
	while (store_iter_next(it, &o, &failed))
		add(c, &o);
	store_iter_end(it);
	return failed ? err_set(reterr, ERR_INTERNAL, "cannot read %s", k->plural) : 0;
}

/* Owners before what they own: nodes, JobSets, other jobs, pods. */
static int load_caches(struct cluster *c, struct err *reterr)
{
	static const uint16_t jobs[] = {
	    TYPE_JOB_SET,     TYPE_JOB,	       TYPE_PYTORCH_JOB, TYPE_TF_JOB,  TYPE_MPI_JOB,
	    TYPE_XGBOOST_JOB, TYPE_PADDLE_JOB, TYPE_JAX_JOB,	 TYPE_RAY_JOB, TYPE_RAY_CLUSTER};
	auto_reader *r = NULL;
	c->scheduler = scheduler_create();
	c->provisioning = cluster_provisioning_create(c);
	int rc = store_read_begin(c->store, &r, reterr);
	if (!rc)
		rc = cluster_provisioning_load(c->provisioning, r, reterr);
	if (!rc)
		rc = load_type(c, r, c->node_kind, cluster_nodes_add, reterr);
	for (size_t i = 0; !rc && i < ARRAY_LEN(jobs); i++) {
		const struct kind *k = kind_by_type(c->kinds, jobs[i]);
		if (k)
			rc = load_type(c, r, k, cluster_jobs_add, reterr);
	}
	if (!rc)
		rc = load_type(c, r, c->pod_kind, cluster_pods_add, reterr);
	if (!rc)
		rc = load_type(c, r, c->provisioning_kind, cluster_provisioning_add, reterr);
	c->pending_new = true;
	return rc;
}

/* ---- opening ---- */

static int make_birth(struct cluster *c, struct err *reterr)
{
	struct registry_batch *b;
	struct span loaded;
	int rc = registry_begin(c->reg, c->now, &b, reterr);
	if (rc)
		return rc;
	for (size_t i = 0; !rc && i < ARRAY_LEN(born_with); i++)
		rc = registry_ensure_namespace(b, born_with[i], reterr);
	bool is_new =
	    registry_get_aux(b, false, STORE_AUX_SETTING, SPAN("sim.nodes"), &loaded) == -ENOENT;
	if (!rc && !registry_batch_empty(b))
		rc = registry_commit(b, reterr);
	registry_end(b);
	if (rc || !is_new || !c->options.nodes_file)
		return rc;
	rc = cluster_nodes_load_file(c, c->options.nodes_file, reterr);
	if (!rc)
		rc = registry_begin(c->reg, c->now, &b, reterr);
	if (rc)
		return rc;
	registry_put_aux(b, false, STORE_AUX_SETTING, SPAN("sim.nodes"), SPAN("1"));
	rc = registry_commit(b, reterr);
	registry_end(b);
	return rc;
}

static int open_store(struct cluster *c, struct err *reterr)
{
	char path[4096], runs[4096];
	const char *dir = c->options.data_dir;
	struct store_options o = {.path = path,
				  .map_bytes = c->options.map_bytes,
				  .no_sync = !c->options.sync,
				  .first_revision = STORE_FIRST_REVISION,
				  /* nobody resumes a simulated cluster's watch from yesterday */
				  .log_max_bytes = (uint64_t)256 << 20};
	if (!dir) {
		o.path = NULL;
		int rc = runs_open(NULL, &c->runs, reterr);
		return rc ? rc : store_open_memory(&o, &c->store, reterr);
	}
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return err_set(reterr, ERR_INTERNAL, "%s: %s", dir, strerror(errno));
	if ((size_t)snprintf(path, sizeof(path), "%s/store", dir) >= sizeof(path) ||
	    (size_t)snprintf(runs, sizeof(runs), "%s/runs.jsonl", dir) >= sizeof(runs))
		return err_set(reterr, ERR_BAD_REQUEST, "%s: path too long", dir);
	int rc = runs_open(runs, &c->runs, reterr);
	return rc ? rc : store_open_lmdb(&o, &c->store, reterr);
}

static void find_kinds(struct cluster *c)
{
	c->kinds = kinds_sim();
	c->node_kind = kind_by_type(c->kinds, TYPE_NODE);
	c->pod_kind = kind_by_type(c->kinds, TYPE_POD);
	c->event_kind = kind_by_type(c->kinds, TYPE_EVENT);
	c->service_kind = kind_by_type(c->kinds, TYPE_SERVICE);
	c->batch_kind = kind_by_type(c->kinds, TYPE_JOB);
	c->namespace_kind = kind_by_type(c->kinds, TYPE_NAMESPACE);
	c->provisioning_kind = kind_by_type(c->kinds, TYPE_PROVISIONING_REQUEST);
}

/* On any thread. */
static int ask_kubelets(void *arg, struct relay *r, struct err *reterr)
{
	struct cluster *c = arg;
	struct kubelet_request at;
	(void)kubelet_request_parse(relay_question(r)->path, &at);
	if (span_is(at.subresource, "log"))
		return cluster_logs_proxy(c->logs, r, reterr);
	return cluster_streams_proxy(c->streams, r, reterr);
}

static int open_all(struct cluster *c, struct err *reterr)
{
	int rc = open_store(c, reterr);
	if (rc)
		return rc;
	struct registry_options ro = {.kinds = c->kinds,
				      .truth = c->store,
				      .seed = c->options.seed,
				      .in_use = cluster_silence_in_use,
				      .in_use_arg = c};
	rc = registry_open(&ro, &c->reg, reterr);
	if (!rc)
		rc = make_birth(c, reterr);
	if (!rc)
		rc = load_caches(c, reterr);
	if (rc)
		return rc;
	c->logs = cluster_logs_create(c);
	c->streams = cluster_streams_create(c);
	c->inbox = inbox_create(&(struct inbox_options){.kinds = c->kinds,
							.source = registry_kind_source(c->reg),
							.truth = c->store,
							.version = c->options.version,
							.runs_pods = true,
							.proxy = ask_kubelets,
							.proxy_arg = c,
							.wakeup = c->options.wakeup});
	return 0;
}

int cluster_open(const struct cluster_options *o, struct cluster **ret, struct err *reterr)
{
	struct cluster *c = xcalloc(1, sizeof(*c));
	c->options = *o;
	if (c->options.time_scale < 1)
		c->options.time_scale = 1;
	c->name = xstrdup(o->name);
	c->queue_tail = &c->queue;
	c->pending_tail = &c->pending;
	c->now = clock_now();
	find_kinds(c);
	int rc = open_all(c, reterr);
	if (rc) {
		cluster_close(c);
		return err_wrap(reterr, "cluster %s", o->name);
	}
	*ret = c;
	return 0;
}

struct cluster *cluster_close(struct cluster *c)
{
	if (!c)
		return NULL;
	inbox_destroy(c->inbox);
	cluster_logs_destroy(c->logs);
	cluster_streams_destroy(c->streams);
	if (c->scheduler)
		drop_caches(c);
	vec_done(&c->timers);
	registry_close(c->reg);
	store_close(c->store);
	runs_close(c->runs);
	free(c->name);
	free(c);
	return NULL;
}

struct backend *cluster_backend(struct cluster *c)
{
	return inbox_backend(c->inbox);
}

const char *cluster_name(const struct cluster *c)
{
	return c->name;
}

void cluster_shut(struct cluster *c)
{
	inbox_shut(c->inbox);
}

void cluster_stats(const struct cluster *c, struct cluster_stats *ret)
{
	*ret = c->stats;
	ret->pods_pending = c->n_pending;
	ret->nodes = scheduler_node_count(c->scheduler);
}

/* ---- a step ---- */

static bool run_timers(struct cluster *c)
{
	while (c->timers.len && c->timers.items[0].at <= c->now) {
		struct sim_timer t = c->timers.items[0];
		if (registry_batch_room(c->batch) < 2 * REGISTRY_RESERVE ||
		    registry_batch_full(c->batch))
			return false;
		if (t.job) {
			cluster_timer_drop(c, &t.job->heap_slot);
			cluster_jobs_enqueue(c, t.job);
			continue;
		}
		cluster_timer_drop(c, &t.pod->heap_slot);
		cluster_kubelet_due(c, t.pod);
		/* What could not be done now set its timer to now again: next step. */
		if (t.pod->heap_slot && c->timers.items[t.pod->heap_slot - 1].at <= c->now)
			return false;
	}
	return true;
}

static void observe(struct cluster *c)
{
	size_t n;
	const struct registry_change *changes = registry_changes(c->batch, &n);
	for (size_t i = 0; i < n; i++) {
		const struct kind *k = changes[i].kind;
		if (k->type == TYPE_POD)
			cluster_pods_observe(c, &changes[i]);
		else if (k->type == TYPE_NODE)
			cluster_nodes_observe(c, &changes[i]);
		else if (k->type == TYPE_PROVISIONING_REQUEST || k->type == TYPE_POD_TEMPLATE)
			cluster_provisioning_observe(c->provisioning, &changes[i]);
		else if (cluster_jobs_is_kind(k))
			cluster_jobs_observe(c, &changes[i]);
	}
}

static int commit(struct cluster *c, struct err *reterr)
{
	int rc = 0;
	if (c->failed.kind != ERR_NONE) {
		*reterr = c->failed;
		return err_errno(c->failed.kind);
	}
	bool empty = registry_batch_empty(c->batch);
	rc = registry_commit(c->batch, reterr);
	if (!rc && !empty)
		observe(c);
	return rc;
}

/* The caches are ahead of the store now: back to what is true. */
static int recover(struct cluster *c, int rc, struct err *reterr)
{
	struct err why = *reterr;
	log_warn(c->options.log, "batch failed", "cluster=%s cause=\"%s\"", c->name, why.text);
	drop_caches(c);
	c->failed = ERR_INIT;
	int again = load_caches(c, reterr);
	return again ? again : rc;
}

int cluster_step(struct cluster *c, usec now, usec *ret_due, struct err *reterr)
{
	int rc = registry_begin(c->reg, now, &c->batch, reterr);
	if (rc)
		return rc;
	c->now = registry_now(c->batch);
	c->stats.steps++;
	inbox_drain(c->inbox, c->batch);
	usec logs_due = cluster_logs_step(c->logs);
	usec streams_due = cluster_streams_step(c->streams);
	bool all = run_timers(c);
	all = cluster_silence_step(c) && all;
	all = cluster_kubelet_schedule(c) && all;
	all = cluster_jobs_sync(c) && all;
	all = cluster_provisioning_step(c->provisioning) && all;
	if (registry_due(c->reg) <= c->now)
		all = !registry_work(c->batch, WORK_ROWS) && all;
	rc = commit(c, reterr);
	/* A failed commit still answers: each command carries the error. */
	inbox_release(c->inbox, c->batch);
	registry_end(c->batch);
	c->batch = NULL;
	if (rc)
		return recover(c, rc, reterr);
	bool busy = !all || c->queue || c->pending_new || !inbox_is_empty(c->inbox);
	usec due = registry_due(c->reg);
	if (c->timers.len && c->timers.items[0].at < due)
		due = c->timers.items[0].at;
	if (c->pending && c->scheduled_at != scheduler_generation(c->scheduler))
		busy = true;
	due = num_min(due, cluster_silence_due(c));
	if (logs_due < due)
		due = logs_due;
	if (cluster_provisioning_due(c->provisioning) < due)
		due = cluster_provisioning_due(c->provisioning);
	if (streams_due < due)
		due = streams_due;
	*ret_due = busy ? 0 : due;
	return 0;
}
