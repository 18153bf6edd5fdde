#include "core/kueue/local_queue.h"

#include "base/json.h"
#include "core/admission/settle.h"
#include "core/kueue/cluster_queue.h"
#include "core/kueue/queue_status.h"
#include "core/kueue/quota_decode.h"
#include "core/kueue/usage.h"
#include "core/kueue/workload.h"
#include "kube/quantity.h"

struct local_queue *local_queue_find(const struct core *c, struct span ns, struct span name)
{
	auto_buf key = BUF_INIT;

	buf_addf(&key, "%.*s/%.*s", SPAN_ARGS(ns), SPAN_ARGS(name));
	return map_get(&c->kueue->local_queues, buf_span(&key));
}

/* Numbers are not given twice: the engine remembers what a LocalQueue has used. */
static uint32_t take_number(struct kueue *k, struct local_queue *q)
{
	vec_push(&k->locals_by_number, q);
	return (uint32_t)k->locals_by_number.len - 1;
}

struct local_queue *local_queue_get(struct core *c, struct span ns, struct span name)
{
	struct kueue *k = c->kueue;
	struct local_queue *q = local_queue_find(c, ns, name);
	auto_buf key = BUF_INIT;

	if (q)
		return q;
	q = xcalloc(1, sizeof(*q));
	buf_addf(&key, "%.*s/%.*s", SPAN_ARGS(ns), SPAN_ARGS(name));
	q->key = xstrndup(key.ptr, key.len);
	q->ns = span_make(q->key, ns.len);
	q->name = span_make(q->key + ns.len + 1, name.len);
	q->weight = 1;
	q->number = take_number(k, q);
	map_put(&k->local_queues, buf_span(&key), q);
	return q;
}

static void drop_consumed(struct local_queue *q)
{
	vec_foreach (&q->consumed, u)
		free(u->resource);
	vec_done(&q->consumed);
}

void local_queue_free(struct local_queue *q)
{
	if (!q)
		return;
	drop_consumed(q);
	usage_done(&q->reserved);
	usage_done(&q->admitted);
	free(q->cluster_queue);
	free(q->spec_text);
	free(q->key);
	free(q);
}

void local_queue_unneeded(struct core *c, struct local_queue *q)
{
	struct kueue *k = c->kueue;

	if (q->exists || q->workloads)
		return;
	queue_status_forget_local(c, q);
	(void)map_remove(&k->local_queues, span_of(q->key));
	k->locals_by_number.items[q->number] = NULL;
	local_queue_free(q);
}

struct cluster_queue *local_queue_cluster(const struct core *c, const struct local_queue *q)
{
	return q && q->exists && q->cluster_queue ? cluster_queue_find(c, span_of(q->cluster_queue))
						  : NULL;
}

/* ---- refiling ---- */

/* What the engine is told of it, as soon as the queue behind it is there. */
static void join_engine(struct core *c, struct local_queue *q)
{
	const struct cluster_queue *behind = local_queue_cluster(c, q);
	struct kueue_queues *queues = c->kueue->queues;

	if (!behind || behind->node == KUEUE_NONE)
		return;
	kueue_queues_set_local_weight(queues, behind->node, q->number, q->weight);
	vec_foreach (&q->consumed, u)
		kueue_queues_restore_usage(queues, behind->node, q->number, span_of(u->resource),
					   u->value, q->consumed_at);
	drop_consumed(q);
}

static void refile(struct core *c, struct local_queue *q)
{
	struct workload *next;

	join_engine(c, q);
	for (struct workload *w = q->workloads; w; w = next) {
		next = w->queue_next;
		workload_review(c, w);
	}
}

void local_queue_refile_all(struct core *c, struct span cluster_queue)
{
	vec_foreach (&c->kueue->locals_by_number, p)
		if (*p && (*p)->cluster_queue && span_is(cluster_queue, (*p)->cluster_queue))
			refile(c, *p);
}

void local_queue_refile_namespace(struct core *c, struct span ns)
{
	vec_foreach (&c->kueue->locals_by_number, p)
		if (*p && span_eq((*p)->ns, ns))
			refile(c, *p);
}

/* ---- the object ---- */

/* What status.fairSharing remembers of its usage (AdmissionFairSharing). */
static void take_consumed(struct local_queue *q, const struct store_object *o)
{
	auto_json *tree = NULL;
	int64_t at;

	if (json_parse(store_object_part(o, o->extents.status), NULL, &tree, NULL) < 0)
		return;
	const struct cJSON *status =
	    json_path(tree, "fairSharing", "admissionFairSharingStatus", NULL);
	const char *since = json_str(status, "lastUpdate");
	if (!since || clock_parse(span_of(since), &at) < 0)
		return;
	q->consumed_at = at;
	json_foreach (json_get(status, "consumedResources"), r) {
		int64_t milli;
		if (quantity_from_node(r, QUANTITY_MILLI, &milli) == 0)
			vec_push(&q->consumed,
				 (struct local_usage){xstrdup(json_key(r)), (double)milli / 1000});
	}
}

static void offer_jobs(struct core *c, struct span ns, bool unqueued_only)
{
	map_foreach (&c->jobs_by_number, e) {
		struct job *j = e->value;
		if (span_is(ns, j->ns) && !(unqueued_only && j->digest.queue_name.len) &&
		    !j->must_queue && dispatch_is_free(&j->dispatch) && !j->finished &&
		    !j->deleting && !j->gone)
			settle_offer(c, j);
	}
}

void local_queue_offer_namespace(struct core *c, struct span ns)
{
	offer_jobs(c, ns, false);
}

void local_queue_observe(struct core *c, const struct store_object *o)
{
	struct local_queue *q = local_queue_get(c, o->key.ns, o->key.name);
	struct span text = store_object_part(o, o->extents.spec);
	auto_json *tree = NULL;

	if (q->exists && q->spec_text && span_is(text, q->spec_text))
		return;
	if (object_tree(o, &tree, NULL) < 0)
		return;
	const struct cJSON *spec = json_get(tree, "spec");
	const char *cluster_queue = json_str(spec, "clusterQueue");
	enum kueue_stop stop = quota_decode_stop(json_str(spec, "stopPolicy"));
	bool is_new = !q->exists;

	q->exists = true;
	q->stop = stop;
	q->weight = quota_decode_weight(json_get(spec, "fairSharing"));
	free(q->spec_text);
	q->spec_text = xstrndup(text.ptr, text.len);
	free(q->cluster_queue);
	q->cluster_queue = cluster_queue ? xstrdup(cluster_queue) : NULL;
	if (c->restoring)
		take_consumed(q, o);
	refile(c, q);
	/* One named "default" takes jobs that name none. */
	if (is_new && span_is(q->name, "default") && !c->restoring)
		offer_jobs(c, q->ns, true);
	queue_status_dirty_local(c, q);
	c->pump_wanted = true;
}

void local_queue_forget(struct core *c, struct span ns, struct span name)
{
	struct local_queue *q = local_queue_find(c, ns, name);

	if (!q || !q->exists)
		return;
	q->exists = false;
	free(q->cluster_queue);
	q->cluster_queue = NULL;
	refile(c, q);
	local_queue_unneeded(c, q);
}
