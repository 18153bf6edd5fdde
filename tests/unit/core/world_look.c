#include "world.h"

#include "base/json.h"
#include "core/admission/failover.h"
#include "core/admission/starvation.h"
#include "core/binding.h"
#include "core/job.h"
#include "core/kueue/workload.h"
#include "core/member.h"
#include "policies/cluster_view.h"

#include <inttypes.h>

static struct store *store_for(struct world *w, uint16_t type)
{
	return kind_by_type(kinds_hub(), type)->mirrored ? w->mirror : w->truth;
}

/* A few results stay good at once, so that two may stand in one assertion. */
static char *ring_slot(void)
{
	static char ring[8][4096];
	static size_t at;
	return ring[at++ % 8];
}

static const struct cJSON *walk(const struct cJSON *node, const char *path)
{
	struct span rest = span_of(path);

	while (rest.len && node) {
		struct span part = span_split(&rest, '.');
		auto_free char *key = xstrndup(part.ptr, part.len);
		for (char *p = key; *p; p++)
			*p = *p == '!' ? '.' : *p; /* muster!dev/epoch */
		node = json_is(node, JSON_ARRAY) ? json_at(node, (size_t)strtoul(key, NULL, 10))
						 : json_get(node, key);
	}
	return node;
}

const char *world_field(struct world *w, uint16_t type, const char *ns, const char *name,
			const char *path)
{
	auto_reader *r = NULL;
	struct store_object o;
	auto_json *tree = NULL;
	auto_buf text = BUF_INIT;
	char *out = ring_slot();

	out[0] = '\0';
	assert_int_equal(store_read_begin(store_for(w, type), &r, NULL), 0);
	if (store_get(r, &(struct store_key){type, span_of(ns), span_of(name)}, &o) < 0)
		return out;
	assert_int_equal(object_tree(&o, &tree, NULL), 0);
	const struct cJSON *node = walk(tree, path);
	if (!node)
		return out;
	if (json_value_str(node))
		buf_add_str(&text, json_value_str(node));
	else
		json_print(node, &text);
	(void)snprintf(out, 4096, "%.*s", (int)text.len, text.ptr ? text.ptr : "");
	return out;
}

bool world_exists(struct world *w, uint16_t type, const char *ns, const char *name)
{
	auto_reader *r = NULL;
	struct store_object o;

	assert_int_equal(store_read_begin(store_for(w, type), &r, NULL), 0);
	return store_get(r, &(struct store_key){type, span_of(ns), span_of(name)}, &o) == 0;
}

size_t world_count(struct world *w, uint16_t type, const char *ns)
{
	auto_reader *r = NULL;
	size_t n = 0;

	assert_int_equal(store_read_begin(store_for(w, type), &r, NULL), 0);
	assert_int_equal(store_count(r, type, ns ? span_of(ns) : SPAN_NONE, 100000, &n), 0);
	return n;
}

size_t world_events(struct world *w, const char *job, const char *reason, const char *text)
{
	auto_reader *r = NULL;
	struct store_iter *it;
	struct store_object o;
	struct err err;
	int fail = 0;
	size_t n = 0;

	assert_int_equal(store_read_begin(w->mirror, &r, NULL), 0);
	assert_int_equal(store_iter_begin(r, &(struct store_range){.type = TYPE_EVENT}, &it, &err),
			 0);
	while (store_iter_next(it, &o, &fail)) {
		auto_json *tree = NULL;
		assert_int_equal(object_tree(&o, &tree, NULL), 0);
		const char *name = json_str(json_get(tree, "involvedObject"), "name");
		n += name && strcmp(name, job) == 0 &&
		     strcmp(json_str(tree, "reason"), reason) == 0 &&
		     strstr(json_str(tree, "message"), text) != NULL;
	}
	store_iter_end(it);
	return n;
}

int64_t world_requested(struct world *w, const struct model *m)
{
	struct member *member = w->core->members.items[m->number];
	struct cluster_totals t;
	uint32_t cpu;

	assert_int_equal(
	    resource_table_index(fleet_resources(w->core->fleet), SPAN("cpu"), &cpu, NULL), 0);
	cluster_view_totals(w->core->fleet, member->view, cpu, &t);
	return t.requested;
}

static int count_row(void *arg, struct span key, struct span value)
{
	(void)key;
	(void)value;
	++*(size_t *)arg;
	return 0;
}

size_t world_digests(struct world *w, uint32_t member)
{
	uint32_t number = __builtin_bswap32(member);
	auto_reader *r = NULL;
	size_t n = 0;

	assert_int_equal(store_read_begin(w->mirror, &r, NULL), 0);
	assert_int_equal(store_scan_aux(r, STORE_AUX_DIGEST,
					span_make((const char *)&number, sizeof(number)), count_row,
					&n),
			 0);
	return n;
}

const char *world_step(struct world *w, const char *ns, const char *binding)
{
	return world_field(w, TYPE_RESOURCE_BINDING, ns, binding,
			   "metadata.annotations.muster!dev/dispatch");
}

struct job *world_record(struct world *w, uint16_t type, const char *ns, const char *name)
{
	return job_by_key(w->core, type, span_of(ns), span_of(name));
}

static const struct quota_tree *quota_of(const struct world *w)
{
	return w->core->quota.tree ? elastic_tree_quota_const(w->core->quota.tree) : NULL;
}

int64_t world_used(struct world *w, const char *node, const char *resource)
{
	const struct quota_tree *q = quota_of(w);
	struct quota_state s;
	uint32_t n;

	if (!q || elastic_tree_find(w->core->quota.tree, span_of(node), &n) < 0)
		return -1;
	for (uint32_t r = 0; r < quota_tree_n_resources(q); r++) {
		if (!span_is(quota_tree_resource_name(q, r), resource))
			continue;
		quota_tree_get(q, n, r, &s);
		return s.used;
	}
	return -1;
}

/* ---- all of it ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_job(const struct world *w, const struct job *j, struct buf *b)
{
	const struct core *c = w->core;
	/* What a withdrawal learns of the copy is read again; what held its job back, and where it
	 * waits, is looked at when that is done. */
	bool withdrawing = j->dispatch.step == DISPATCH_WITHDRAWING;

	buf_addf(b, "%s/%s priority=%d attempt=%" PRId64 " hold=%d holds=%d must_queue=%d", j->ns,
		 j->name, j->priority, j->first_attempt, withdrawing ? 0 : (int)j->hold, j->holds,
		 j->must_queue);
	buf_addf(b, " member=%u epoch=%" PRIu64 " uid=%s withdrawing=%d", j->dispatch.member,
		 j->dispatch.epoch, withdrawing ? "" : j->dispatch.uid, withdrawing);
	/* Of a job that is over, a record that came back knows the pods that are told of since. */
	buf_addf(b, " pods=%u held=%" PRId64, j->holds ? j->live_pods : 0,
		 ledger_pods(c->ledger, j->number));
	failover_add(c, j, b);
	if (j->workload)
		buf_addf(b, " workload=%d wait=%d evicted=%d",
			 j->workload->unit ? (int)j->workload->unit->state : -1,
			 withdrawing && !j->workload->unit ? -1 : (int)j->workload->wait,
			 j->workload->evicted_at != 0);
	if (j->unit)
		buf_addf(b, " unit=%s position=%zu",
			 elastic_tree_path(c->quota.tree, elastic_unit_node(j->unit)).ptr,
			 elastic_queue_position(c->quota.queues, j->unit));
	buf_addf(b, " waits=%d\n", j->heap_at > 0);
}

static void add_clusters(const struct world *w, struct buf *b)
{
	const struct fleet *f = w->core->fleet;
	struct cluster_totals t;

	for (uint32_t i = 0; i < cluster_view_count(f); i++) {
		uint32_t view = cluster_view_by_name(f, i), cpu, total, usable;
		const struct member *m = member_by_name(w->core, cluster_view_spec(f, view)->name);
		if (m && m->deleting)
			continue; /* how far its unjoin is, is not kept */
		if (resource_table_index(fleet_resources(w->core->fleet), SPAN("cpu"), &cpu, NULL) <
		    0)
			continue;
		cluster_view_totals(f, view, cpu, &t);
		cluster_view_node_counts(f, view, &total, &usable);
		buf_addf(b,
			 "cluster %.*s nodes=%u usable=%u cpu=%" PRId64 " requested=%" PRId64
			 " assumed=%" PRId64 "\n",
			 SPAN_ARGS(cluster_view_spec(f, view)->name), total, usable, t.allocatable,
			 t.requested, t.assumed);
	}
}

static void add_quota(const struct world *w, struct buf *b)
{
	const struct quota_tree *q = quota_of(w);
	struct quota_state s;

	for (uint32_t n = 0; q && n < quota_tree_n_nodes(q); n++) {
		buf_addf(b, "quota %s", elastic_tree_path(w->core->quota.tree, n).ptr);
		for (uint32_t r = 0; r < quota_tree_n_resources(q); r++) {
			quota_tree_get(q, n, r, &s);
			buf_addf(b, " %" PRId64, s.used);
		}
		buf_addf(b, " pending=%zu\n", elastic_queue_pending(w->core->quota.queues, n));
	}
}

char *world_job_line(struct world *w, const struct job *j)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b, "%s in_flight=%d reading=%d retry=%" PRId64 " finished=%d deleting=%d ",
		 dispatch_step_name(j->dispatch.step), j->dispatch.in_flight, j->dispatch.reading,
		 j->dispatch.retry_at ? j->dispatch.retry_at - w->now : 0, j->finished,
		 j->deleting);
	buf_addf(&b, "reason=%s ", j->top_reason ? j->top_reason : "none");
	add_job(w, j, &b);
	return buf_steal(&b, NULL);
}

char *world_memory(struct world *w)
{
	struct VEC(char *) lines = {0};
	auto_buf out = BUF_INIT;

	map_foreach (&w->core->jobs_by_number, e) {
		auto_buf line = BUF_INIT;
		add_job(w, e->value, &line);
		vec_push(&lines, buf_steal(&line, NULL));
	}
	if (lines.len)
		qsort(lines.items, lines.len, sizeof(*lines.items), by_text);
	vec_foreach (&lines, l) {
		buf_add_str(&out, *l);
		free(*l);
	}
	vec_done(&lines);
	add_clusters(w, &out);
	add_quota(w, &out);
	world_add_kueue(w, &out);
	return buf_steal(&out, NULL);
}

/* ---- invariants ---- */

/* No job's pods work on two members, whatever the hub knows. */
static void check_single(const struct world *w)
{
	for (size_t a = 0; a < w->n_members; a++) {
		vec_foreach (&w->members[a]->all_copies, ca) {
			if ((*ca)->gone || !(*ca)->job_uid || !model_copy_works(*ca))
				continue;
			for (size_t b = a + 1; b < w->n_members; b++)
				vec_foreach (&w->members[b]->all_copies, cb)
					if (!(*cb)->gone && (*cb)->job_uid &&
					    strcmp((*ca)->job_uid, (*cb)->job_uid) == 0 &&
					    model_copy_works(*cb))
						fail_msg("job %s runs on two members", (*ca)->name);
		}
	}
}

static int64_t cpus_of(const struct model_copy *c)
{
	int64_t sum = 0;

	vec_foreach (&c->pods, p)
		for (size_t i = 0; i < (*p)->n_requests; i++)
			if (span_is((*p)->requests[i].resource, "cpu"))
				sum += (*p)->requests[i].value;
	return sum;
}

/* What was started on a member and is not over fits on it, all at once. Only for members of one
 * node: on others pods bind where they like, and what they take from another job's nodes is made
 * up for elsewhere only when there is room. */
static void check_capacity(const struct model *m)
{
	int64_t asked = 0;

	if (m->nodes.len != 1)
		return;
	vec_foreach (&m->all_copies, c)
		if (!(*c)->gone && (!(*c)->suspended || model_copy_works(*c)) &&
		    !copy_phase_is_terminal((*c)->phase))
			asked += cpus_of(*c);
	if (asked > m->nodes.items[0]->cpu_milli)
		fail_msg("%s is oversold: %" PRId64 " of %" PRId64, m->name, asked,
			 m->nodes.items[0]->cpu_milli);
}

/* Usage is what the jobs that hold it ask, and the engine's own books agree. */
static void check_quota(const struct world *w)
{
	const struct quota_tree *q = quota_of(w);
	struct err err = ERR_INIT;
	size_t holding = 0;

	if (!q)
		return;
	if (elastic_queue_check(w->core->quota.queues, &err) < 0)
		fail_msg("quota: %s", err.text);
	map_foreach (&w->core->jobs_by_number, e) {
		const struct job *j = e->value;
		bool charged = j->unit && elastic_unit_is_admitted(j->unit);
		holding += charged;
		/* Ahead of its time for a job that a cluster is kept free for. */
		if (j->unit && charged != j->holds && !starvation_holds(w->core, j))
			fail_msg("%s/%s: charged %d, holds %d", j->ns, j->name, charged, j->holds);
	}
	assert_int_equal(elastic_queue_admitted_total(w->core->quota.queues), holding);
}

/* A job that holds is placed, and one that is placed and not over holds. */
static void check_holds(const struct world *w)
{
	map_foreach (&w->core->jobs_by_number, e) {
		const struct job *j = e->value;
		uint32_t where;
		bool placed = dispatch_holds(&j->dispatch, &where);
		if (j->holds && !placed)
			fail_msg("%s/%s holds without a placement", j->ns, j->name);
		if (placed && !j->holds && !j->finished)
			fail_msg("%s/%s is placed (%s) and holds nothing", j->ns, j->name,
				 dispatch_step_name(j->dispatch.step));
	}
}

void world_check(struct world *w)
{
	world_replay(w);
	check_single(w);
	for (size_t i = 0; i < w->n_members; i++)
		check_capacity(w->members[i]);
	if (core_has_failed(w->core) || w->core->rebuild)
		return;
	check_quota(w);
	check_holds(w);
	world_check_kueue(w);
}
