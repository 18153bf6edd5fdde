/*
 * Kueue's invariants in a world: the engine's own, jobs and workloads in step, and what somebody
 * learns who only reads the watch log: no row of a Workload raises a ClusterQueue, or its cohort,
 * above its quota. Cells of cpu, cohorts of one level.
 */
#include "world.h"

#include "base/json.h"
#include "core/kueue/kueue.h"
#include "core/kueue/workload.h"
#include "kube/quantity.h"

#include <inttypes.h>

struct world_queue {
	char cohort[64];
	int64_t nominal, borrowing; /* borrowing -1: no limit */
	bool gone;
};

struct world_held {
	char queue[64];
	int64_t cpu;
};

static int64_t milli(const struct cJSON *node)
{
	int64_t v = 0;

	if (node)
		assert_int_equal(quantity_from_node(node, QUANTITY_MILLI, &v), 0);
	return v;
}

/* A cohort with quota of its own counts as one more queue of it, which nobody is admitted to. */
static void take_queue(struct world_replay *p, const struct store_log_row *row,
		       const struct cJSON *tree)
{
	const struct cJSON *spec = json_get(tree, "spec");
	bool is_cohort = row->object.key.type == TYPE_COHORT;
	const char *cohort =
	    is_cohort ? json_str(json_get(tree, "metadata"), "name") : json_str(spec, "cohortName");
	auto_buf key = BUF_INIT;

	buf_addf(&key, "%s%.*s", is_cohort ? "/" : "", SPAN_ARGS(row->object.key.name));
	struct world_queue *q = map_get(&p->queues, buf_span(&key));
	if (!q) {
		q = xcalloc(1, sizeof(*q));
		map_put(&p->queues, buf_span(&key), q);
	}
	*q = (struct world_queue){.gone = row->op == STORE_LOG_DELETED, .borrowing = 0};
	(void)snprintf(q->cohort, sizeof(q->cohort), "%s", cohort ? cohort : "");
	json_foreach (json_get(spec, "resourceGroups"), g)
		json_foreach (json_get(g, "flavors"), f)
			json_foreach (json_get(f, "resources"), r) {
				if (strcmp(json_str(r, "name"), "cpu") != 0)
					continue;
				q->nominal += milli(json_get(r, "nominalQuota"));
				if (!json_get(r, "borrowingLimit"))
					q->borrowing = -1;
				else if (q->borrowing >= 0)
					q->borrowing += milli(json_get(r, "borrowingLimit"));
			}
}

static int64_t held_in(const struct world_replay *p, const char *queue, const char *cohort)
{
	int64_t sum = 0;

	map_foreach (&p->workloads, e) {
		const struct world_held *h = e->value;
		const struct world_queue *q = map_get_str(&p->queues, h->queue);
		if (queue ? strcmp(h->queue, queue) == 0
			  : q && cohort && strcmp(q->cohort, cohort) == 0)
			sum += h->cpu;
	}
	return sum;
}

static void check_raise(const struct world_replay *p, const char *queue, uint64_t revision)
{
	const struct world_queue *q = map_get_str(&p->queues, queue);
	int64_t own = held_in(p, queue, NULL), all = 0;

	if (!q || q->gone)
		return;
	if (!q->cohort[0] && own > q->nominal)
		fail_msg("revision %" PRIu64 " raises queue %s to %" PRId64 " of %" PRId64,
			 revision, queue, own, q->nominal);
	if (!q->cohort[0])
		return;
	if (q->borrowing >= 0 && own > q->nominal + q->borrowing)
		fail_msg("revision %" PRIu64 " lets queue %s borrow to %" PRId64, revision, queue,
			 own);
	map_foreach (&p->queues, e) {
		const struct world_queue *o = e->value;
		if (!o->gone && strcmp(o->cohort, q->cohort) == 0)
			all += o->nominal;
	}
	if (held_in(p, NULL, q->cohort) > all)
		fail_msg("revision %" PRIu64 " raises cohort %s above %" PRId64, revision,
			 q->cohort, all);
}

static bool is_finished(const struct cJSON *tree)
{
	json_foreach (json_path(tree, "status", "conditions", NULL), k)
		if (strcmp(json_str(k, "type"), "Finished") == 0)
			return strcmp(json_str(k, "status"), "True") == 0;
	return false;
}

/* Of an assignment: without the pods that will not run again. */
static int64_t cpu_of(const struct cJSON *tree, const struct cJSON *assignment)
{
	int64_t all = milli(json_path(assignment, "resourceUsage", "cpu", NULL)), pods, gone;

	json_foreach (json_path(tree, "status", "reclaimablePods", NULL), r)
		if (strcmp(json_str(r, "name"), json_str(assignment, "name")) == 0 &&
		    json_int64(assignment, "count", &pods) == 0 &&
		    json_int64(r, "count", &gone) == 0 && pods > 0)
			return gone >= pods ? 0 : all / pods * (pods - gone);
	return all;
}

static void take_workload(struct world_replay *p, const struct store_log_row *row,
			  const struct cJSON *tree)
{
	const struct cJSON *admission = json_path(tree, "status", "admission", NULL);
	auto_buf key = BUF_INIT;

	buf_addf(&key, "%.*s/%.*s", SPAN_ARGS(row->object.key.ns), SPAN_ARGS(row->object.key.name));
	struct world_held *h = map_get(&p->workloads, buf_span(&key));
	if (!h) {
		h = xcalloc(1, sizeof(*h));
		map_put(&p->workloads, buf_span(&key), h);
	}
	int64_t was = h->cpu;
	h->cpu = 0;
	if (row->op == STORE_LOG_DELETED || !admission || is_finished(tree))
		return;
	(void)snprintf(h->queue, sizeof(h->queue), "%s", json_str(admission, "clusterQueue"));
	json_foreach (json_get(admission, "podSetAssignments"), a)
		h->cpu += cpu_of(tree, a);
	if (h->cpu > was)
		check_raise(p, h->queue, row->revision);
}

void world_replay_kueue(struct world_replay *p, const struct store_log_row *row)
{
	uint16_t type = row->object.key.type;
	auto_json *tree = NULL;

	if (type != TYPE_WORKLOAD && type != TYPE_CLUSTER_QUEUE && type != TYPE_COHORT)
		return;
	assert_int_equal(object_tree(&row->object, &tree, NULL), 0);
	if (type == TYPE_WORKLOAD)
		take_workload(p, row, tree);
	else
		take_queue(p, row, tree);
}

void world_replay_kueue_done(struct world_replay *p)
{
	map_foreach (&p->queues, e)
		free(e->value);
	map_foreach (&p->workloads, e)
		free(e->value);
	map_done(&p->queues);
	map_done(&p->workloads);
}

void world_check_kueue(struct world *w)
{
	const struct kueue *k = w->core->kueue;
	struct err err = ERR_INIT;

	if (kueue_queues_check(k->queues, &err) < 0 || kueue_forest_check(k->forest, &err) < 0)
		fail_msg("%s", err.text);
	map_foreach (&w->core->jobs_by_number, e) {
		const struct job *j = e->value;
		if (j->workload && j->holds && !workload_holds_quota(j->workload))
			fail_msg("%s holds nodes without quota", j->name);
		if (j->workload && workload_holds_quota(j->workload) &&
		    j->workload->unit->state == KUEUE_ADMITTED && !j->holds)
			fail_msg("%s is admitted and holds no nodes", j->name);
	}
}

void world_add_kueue(const struct world *w, struct buf *out)
{
	const struct kueue *k = w->core->kueue;

	map_foreach (&k->cluster_queues, e) {
		const struct cluster_queue *q = e->value;
		struct kueue_counts n = {0};
		if (q->node != KUEUE_NONE)
			n = kueue_queues_count(k->queues, q->node);
		buf_addf(out, "queue %s stop=%d %zu %zu %zu", q->name, (int)q->stop, n.pending,
			 n.reserving, n.admitted);
		for (size_t i = 0; i < n.pending; i++)
			buf_addf(out, " %.*s",
				 SPAN_ARGS(kueue_queues_at(k->queues, q->node, i)->name));
		buf_add_char(out, '\n');
	}
}
