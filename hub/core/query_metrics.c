/*
 * What the core adds to /metrics: members, jobs, queues, quota, and its own work, as Prometheus
 * text (format 0.0.4). Asked as a query, so that it is read on the core's thread.
 *
 * Bounds: MAX_QUOTA_SAMPLES of the tree; of jobs CENSUS_STEP are looked at per question, so that
 * a million of them do not hold up a batch: with more, the numbers are those of the last whole
 * count.
 */
#include "core/kueue/kueue_metrics.h"
#include "core/member.h"
#include "core/metrics_text.h"
#include "core/query.h"

#include <inttypes.h>

#define MAX_QUOTA_SAMPLES 5000

/* Upper bounds of a commit's time in microseconds: a batch without a sync, a good disk's sync, a
 * bad one's. */
static const usec commit_bounds[CORE_COMMIT_BUCKETS] = {
    250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 1000000, 10000000};

static void number(struct buf *b, const char *name, const char *type, const char *help, uint64_t v)
{
	metrics_head(b, name, type, help);
	buf_addf(b, "%s %" PRIu64 "\n", name, v);
}

void query_count_commit(struct core_counters *k, usec took)
{
	size_t i = 0;

	while (i < CORE_COMMIT_BUCKETS && took > commit_bounds[i])
		i++;
	k->commits[i]++;
	k->commit_time += took;
}

static void add_commits(const struct core_counters *k, struct buf *b)
{
	uint64_t n = 0;

	metrics_head(b, "muster_commit_duration_seconds", "histogram",
		     "Time of the store's commit of one batch.");
	for (size_t i = 0; i < CORE_COMMIT_BUCKETS; i++) {
		n += k->commits[i];
		buf_add_str(b, "muster_commit_duration_seconds_bucket{le=\"");
		metrics_seconds(b, commit_bounds[i]);
		buf_addf(b, "\"} %" PRIu64 "\n", n);
	}
	n += k->commits[CORE_COMMIT_BUCKETS];
	buf_addf(b,
		 "muster_commit_duration_seconds_bucket{le=\"+Inf\"} %" PRIu64
		 "\nmuster_commit_duration_seconds_count %" PRIu64
		 "\nmuster_commit_duration_seconds_sum ",
		 n, n);
	metrics_seconds(b, k->commit_time);
	buf_add_char(b, '\n');
}

static void add_members(const struct core *c, struct buf *b)
{
	metrics_head(b, "muster_member_ready", "gauge",
		     "Whether a member cluster is ready, 1 or 0.");
	vec_foreach (&c->members, p) {
		if (!*p)
			continue;
		buf_add_str(b, "muster_member_ready{cluster=\"");
		metrics_label(b, span_of((*p)->name));
		buf_addf(b, "\"} %d\n", (*p)->condition == MEMBER_READY);
	}
	metrics_head(b, "muster_member_nodes", "gauge",
		     "Nodes of a member, and those that take pods.");
	vec_foreach (&c->members, p) {
		static const char *const states[] = {"known", "usable"};
		uint32_t n[2] = {0};
		if (*p && (*p)->view != CLUSTER_NONE)
			cluster_view_node_counts(c->fleet, (*p)->view, &n[0], &n[1]);
		for (size_t i = 0; *p && i < ARRAY_LEN(states); i++) {
			buf_add_str(b, "muster_member_nodes{cluster=\"");
			metrics_label(b, span_of((*p)->name));
			buf_addf(b, "\",state=\"%s\"} %" PRIu32 "\n", states[i], n[i]);
		}
	}
}

/* ---- jobs ---- */

static enum job_phase phase_of(const struct job *j)
{
	if (j->finished)
		return JOB_FINISHED;
	if (j->deleting || j->gone || j->dispatch.step == DISPATCH_WITHDRAWING ||
	    j->dispatch.step == DISPATCH_STOPPING)
		return JOB_ENDING;
	if (j->dispatch.step == DISPATCH_STARTED)
		return j->phase == COPY_RUNNING ? JOB_RUNNING : JOB_STARTING;
	return dispatch_is_free(&j->dispatch) ? JOB_QUEUED : JOB_PLACING;
}

static void take_census(struct core *c)
{
	struct job_census *s = &c->census;
	const struct map *m = &c->jobs_by_number;
	size_t end = s->at + CORE_CENSUS_STEP;

	for (; s->at < m->n_entries && s->at < end; s->at++)
		if (m->entries[s->at].key)
			s->counting[phase_of(m->entries[s->at].value)]++;
	if (s->at < m->n_entries)
		return;
	memcpy(s->counted, s->counting, sizeof(s->counted));
	memset(s->counting, 0, sizeof(s->counting));
	s->at = 0;
}

static void add_jobs(struct core *c, struct buf *b)
{
	static const char *const names[JOB_PHASE_MAX] = {
	    [JOB_QUEUED] = "Queued",   [JOB_PLACING] = "Placing", [JOB_STARTING] = "Starting",
	    [JOB_RUNNING] = "Running", [JOB_ENDING] = "Ending",	  [JOB_FINISHED] = "Finished"};

	take_census(c);
	metrics_head(b, "muster_jobs", "gauge",
		     "Live jobs by phase; finished ones until they are written.");
	for (size_t i = 0; i < JOB_PHASE_MAX; i++)
		buf_addf(b, "muster_jobs{phase=\"%s\"} %zu\n", names[i], c->census.counted[i]);
	number(b, "muster_jobs_admitted_total", "counter", "Jobs that were given quota and nodes.",
	       c->counters.admitted);
	number(b, "muster_jobs_finished_total", "counter", "Jobs that came to an end.",
	       c->counters.finished);
}

/* ---- quota ---- */

static void add_quota_node(const struct core *c, uint32_t node, size_t *left, struct buf *b)
{
	const struct quota_tree *q = elastic_tree_quota_const(c->quota.tree);

	for (uint32_t r = 0; r < quota_tree_n_resources(q); r++) {
		struct span name = quota_tree_resource_name(q, r);
		struct quota_state s;
		quota_tree_get(q, node, r, &s);
		const int64_t values[] = {s.used, s.nominal, s.max};
		static const char *const words[] = {"used", "min", "max"};
		if (!s.stated && s.used == 0)
			continue;
		for (size_t i = 0; i < ARRAY_LEN(values) && *left; i++) {
			if (values[i] == QUOTA_UNLIMITED || values[i] < 0)
				continue;
			*left -= 1;
			buf_add_str(b, "muster_quota{quota=\"");
			metrics_label(b, elastic_tree_path(c->quota.tree, node));
			buf_add_str(b, "\",resource=\"");
			metrics_label(b, name);
			buf_addf(b, "\",value=\"%s\"} ", words[i]);
			metrics_amount(b, name, values[i]);
			buf_add_char(b, '\n');
		}
	}
}

static void add_quota(const struct core *c, struct buf *b)
{
	uint32_t n =
	    c->quota.tree ? quota_tree_n_nodes(elastic_tree_quota_const(c->quota.tree)) : 0;
	size_t left = MAX_QUOTA_SAMPLES;

	metrics_head(b, "muster_quota", "gauge",
		     "Quota tree: used, min and max in the resource's unit.");
	for (uint32_t i = 0; i < n && left; i++)
		add_quota_node(c, i, &left, b);
	metrics_head(b, "muster_queue_pending", "gauge", "Jobs that wait in a queue.");
	for (uint32_t i = 0; i < n && i < MAX_QUOTA_SAMPLES; i++) {
		buf_add_str(b, "muster_queue_pending{quota=\"");
		metrics_label(b, elastic_tree_path(c->quota.tree, i));
		buf_addf(b, "\"} %zu\n", elastic_queue_pending(c->quota.queues, i));
	}
}

void query_metrics(struct core *c, struct buf *out)
{
	add_members(c, out);
	add_jobs(c, out);
	add_quota(c, out);
	add_commits(&c->counters, out);
	metrics_head(out, "muster_decision_seconds_total", "counter",
		     "CPU time of deciding who is admitted, commits apart.");
	buf_add_str(out, "muster_decision_seconds_total ");
	metrics_seconds(out, c->counters.decide_time);
	buf_add_char(out, '\n');
	kueue_metrics_add(c, out);
	number(out, "muster_workloads_reserved_total", "counter",
	       "Workloads that were given quota in a Kueue queue.", c->counters.reserved);
	number(out, "muster_batches_total", "counter", "Batches that were planned.",
	       c->counters.batches);
	number(out, "muster_orders_total", "counter", "Orders sent to members.",
	       c->counters.orders);
	number(out, "muster_facts_total", "counter", "Facts taken from members.",
	       c->counters.facts);
	number(out, "muster_inbox_commands", "gauge", "Commands that wait for the core.",
	       inbox_depth(c->inbox));
	number(out, "muster_dirty_jobs", "gauge", "Jobs that wait to be written.", c->dirty.len);
	number(out, "muster_store_starved", "gauge",
	       "Whether the store has no room and writes are refused.", c->starved_since != 0);
}
