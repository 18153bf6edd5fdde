#include "core/kueue/queue_status.h"

#include "base/json.h"
#include "base/num.h"
#include "core/kueue/cluster_queue.h"
#include "core/kueue/local_queue.h"
#include "core/kueue/ready.h"
#include "core/kueue/usage.h"
#include "core/kueue/workload_restore.h"
#include "kube/quantity.h"

/* Rows of queues are a part of the load, not the whole: with thousands of busy queues each is shown
 * less often, the one that waits longest first. */
#define STATUS_INTERVAL	 (100 * USEC_PER_MS)
#define STATUS_ROWS	 64 /* of ClusterQueues in an interval, and as many of LocalQueues */
#define STATUS_PATIENCE	 USEC_PER_SEC /* behind batches that are full of other things */
#define STATUS_LATE_ROWS 8

/* ---- what is to be shown ---- */

void queue_status_dirty(struct core *c, struct cluster_queue *q)
{
	if (!q || q->status_dirty)
		return;
	q->status_dirty = true;
	vec_push(&c->kueue->dirty_queues, q);
}

void queue_status_dirty_local(struct core *c, struct local_queue *q)
{
	if (!q || !q->exists || q->status_dirty)
		return;
	q->status_dirty = true;
	vec_push(&c->kueue->dirty_locals, q);
}

void queue_status_dirty_locals(struct core *c, const struct cluster_queue *q)
{
	vec_foreach (&c->kueue->locals_by_number, p)
		if (*p && (*p)->cluster_queue && strcmp((*p)->cluster_queue, q->name) == 0)
			queue_status_dirty_local(c, *p);
}

void queue_status_touch(struct core *c, const struct workload *w)
{
	queue_status_dirty(c, workload_cluster_queue(c, w));
	queue_status_dirty_local(c, w->queue);
}

void queue_status_forget(struct core *c, const struct cluster_queue *q)
{
	vec_foreach (&c->kueue->dirty_queues, p)
		if (*p == q)
			*p = NULL;
}

void queue_status_forget_local(struct core *c, const struct local_queue *q)
{
	vec_foreach (&c->kueue->dirty_locals, p)
		if (*p == q)
			*p = NULL;
}

/* ---- usage ---- */

void workload_count_usage(struct core *c, struct workload *w)
{
	struct cluster_queue *q = workload_cluster_queue(c, w);
	bool admitted =
	    w->unit->state == KUEUE_ADMITTED || (w->unit->state == KUEUE_EVICTED && w->admitted_at);

	workload_uncount_usage(c, w);
	w->counted_reserved = true;
	if (w->queue)
		usage_add(&w->queue->reserved, w->unit->uses, w->unit->n_uses);
	w->counted_admitted = admitted;
	if (admitted && w->queue)
		usage_add(&w->queue->admitted, w->unit->uses, w->unit->n_uses);
	if (admitted && q)
		usage_add(&q->admitted, w->unit->uses, w->unit->n_uses);
	ready_review(c, w);
	queue_status_touch(c, w);
}

void workload_uncount_usage(struct core *c, struct workload *w)
{
	struct cluster_queue *q = workload_cluster_queue(c, w);

	ready_forget(c, w);
	if (!w->unit)
		return;
	queue_status_touch(c, w);
	if (w->counted_reserved && w->queue)
		usage_subtract(&w->queue->reserved, w->unit->uses, w->unit->n_uses);
	if (w->counted_admitted && w->queue)
		usage_subtract(&w->queue->admitted, w->unit->uses, w->unit->n_uses);
	if (w->counted_admitted && q)
		usage_subtract(&q->admitted, w->unit->uses, w->unit->n_uses);
	w->counted_reserved = w->counted_admitted = false;
}

/* ---- texts ---- */

static void add_quantity(struct buf *b, const char *key, struct span resource, int64_t v)
{
	char text[QUANTITY_TEXT];
	buf_addf(b, ",\"%s\":\"%s\"", key, quantity_format(resource, v, text));
}

struct flavors_text {
	const struct core *c;
	const struct cluster_queue *q; /* whose flavors */
	const struct usage *admitted;  /* NULL: what is reserved, by all */
	const struct usage *reserved;  /* of a LocalQueue; NULL: the ClusterQueue's */
	bool shows_borrowed;
};

static int64_t total(const struct flavors_text *t, uint32_t flavor, uint32_t resource)
{
	if (t->admitted)
		return usage_of(t->admitted, flavor, resource);
	if (t->reserved)
		return usage_of(t->reserved, flavor, resource);
	return kueue_forest_usage(t->c->kueue->forest, t->q->node, flavor, resource);
}

static void add_flavor(const struct flavors_text *t, const struct kueue_group_spec *g, size_t i,
		       struct buf *b)
{
	struct kueue_forest *f = t->c->kueue->forest;
	uint32_t flavor = kueue_forest_flavor(f, g->flavors[i]);

	buf_add_str(b, "{\"name\":");
	buf_add_json_str(b, g->flavors[i]);
	buf_add_str(b, ",\"resources\":[");
	for (size_t r = 0; r < g->n_resources; r++) {
		uint32_t resource = kueue_forest_find_resource(f, g->resources[r]);
		int64_t used = total(t, flavor, resource);
		int64_t nominal = g->quotas[i * g->n_resources + r].nominal;
		buf_add_str(b, r ? ",{\"name\":" : "{\"name\":");
		buf_add_json_str(b, g->resources[r]);
		if (t->shows_borrowed)
			add_quantity(b, "borrowed", g->resources[r],
				     used > nominal ? used - nominal : 0);
		add_quantity(b, "total", g->resources[r], used);
		buf_add_char(b, '}');
	}
	buf_add_str(b, "]}");
}

static void add_flavors(const struct flavors_text *t, const char *key, struct buf *b)
{
	const struct kueue_queue_spec *s =
	    t->q && t->q->node != KUEUE_NONE
		? kueue_forest_queue_spec(t->c->kueue->forest, t->q->node)
		: NULL;
	bool first = true;

	buf_addf(b, ",\"%s\":[", key);
	for (size_t g = 0; s && g < s->n_groups; g++) {
		for (size_t i = 0; i < s->groups[g].n_flavors; i++) {
			if (!first)
				buf_add_char(b, ',');
			first = false;
			add_flavor(t, &s->groups[g], i, b);
		}
	}
	buf_add_char(b, ']');
}

static void add_counts(struct kueue_counts n, struct buf *b)
{
	buf_addf(b, "\"pendingWorkloads\":%zu,\"reservingWorkloads\":%zu,\"admittedWorkloads\":%zu",
		 n.pending, n.reserving, n.admitted);
}

/* The condition Active; its time is the stored one while the status is. */
static void add_active(const struct core *c, const struct store_object *o, bool active,
		       const char *reason, struct span message, struct buf *b)
{
	struct span stored = store_object_part(o, o->extents.status);
	char when[CLOCK_TEXT_MAX];
	struct span list, one, type, status, since;
	const char *value = active ? "\"True\"" : "\"False\"";

	clock_format(c->now, when);
	if (stored.len && json_text_member(stored, "conditions", &list) == 0 &&
	    json_text_type(list) == JSON_ARRAY)
		for (size_t pos = 0; json_text_next(list, &pos, NULL, &one);)
			if (json_text_member(one, "type", &type) == 0 &&
			    span_is(type, "\"Active\"") &&
			    json_text_member(one, "status", &status) == 0 &&
			    span_is(status, value) &&
			    json_text_member(one, "lastTransitionTime", &since) == 0)
				(void)snprintf(when, sizeof(when), "%.*s",
					       SPAN_ARGS(json_text_plain(since)));
	buf_addf(b,
		 ",\"conditions\":[{\"type\":\"Active\",\"status\":%s,\"lastTransitionTime\":"
		 "\"%s\",\"observedGeneration\":%lld,\"reason\":\"%s\",\"message\":",
		 value, when, (long long)object_generation(o), reason);
	buf_add_json_str(b, message);
	buf_add_str(b, "}]");
}

/* ---- rows ---- */

static void put_status(struct core *c, const struct kind *kind, const struct store_object *o,
		       const struct buf *text)
{
	struct object_draft draft;

	if (!buf_ok(text) || span_eq(store_object_part(o, o->extents.status), buf_span(text)) ||
	    core_splice_status(c, kind, o, buf_span(text), false, &draft, NULL) < 0)
		return;
	(void)core_put(c, kind, o->key.ns, o->key.name, &draft);
}

static void show_cluster_queue(struct core *c, struct cluster_queue *q)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_CLUSTER_QUEUE);
	struct kueue *k = c->kueue;
	auto_buf text = BUF_MAX(STORE_MAX_OBJECT / 2), message = BUF_INIT;
	struct store_object o;
	bool active;

	if (registry_get(c->batch, kind, SPAN(""), span_of(q->name), &o) < 0)
		return;
	struct kueue_counts n = {0};
	if (q->node != KUEUE_NONE)
		n = kueue_queues_count(k->queues, q->node);
	if (q->deleting && n.reserving == 0) {
		/* Its quota goes with it: what was admitted by it is written first. */
		if (kueue_owes_admissions(c))
			queue_status_dirty(c, q);
		else
			core_remove_finalizer(c, kind, &o, KUEUE_FINALIZER);
		return;
	}
	buf_add_char(&text, '{');
	add_counts(n, &text);
	add_flavors(&(struct flavors_text){.c = c, .q = q, .shows_borrowed = true},
		    "flavorsReservation", &text);
	add_flavors(
	    &(struct flavors_text){
		.c = c, .q = q, .admitted = &q->admitted, .shows_borrowed = true},
	    "flavorsUsage", &text);
	if (k->settings.engine.fair_sharing && q->node != KUEUE_NONE)
		buf_addf(&text, ",\"fairSharing\":{\"weightedShare\":%lld}",
			 (long long)kueue_share_status(kueue_forest_share(k->forest, q->node)));
	const char *reason = cluster_queue_activity(c, q, &active, &message);
	add_active(c, &o, active, reason, buf_span(&message), &text);
	buf_add_char(&text, '}');
	put_status(c, kind, &o, &text);
}

static const char *local_activity(const struct core *c, const struct local_queue *q,
				  bool *ret_active, const char **ret_message)
{
	const struct cluster_queue *behind = local_queue_cluster(c, q);
	auto_buf unused = BUF_INIT;

	*ret_active = false;
	*ret_message = "LocalQueue is stopped";
	if (q->stop != KUEUE_STOP_NONE)
		return "Stopped";
	*ret_message = "Can't submit new workloads to clusterQueue";
	if (!behind)
		return "ClusterQueueDoesNotExist";
	(void)cluster_queue_activity(c, behind, ret_active, &unused);
	if (!*ret_active)
		return "ClusterQueueIsInactive";
	*ret_message = "Can submit new workloads to localQueue";
	return "Ready";
}

static int64_t milli(double v)
{
	return v < 9e15 ? (int64_t)(v * 1000) : INT64_MAX;
}

/* As Kueue writes it: quantities, and when they were settled. */
static void add_consumed(const struct core *c, const struct local_queue *q,
			 const struct cluster_queue *behind, struct buf *b)
{
	const struct kueue *k = c->kueue;
	const struct kueue_queue_spec *s = behind && behind->node != KUEUE_NONE
					       ? kueue_forest_queue_spec(k->forest, behind->node)
					       : NULL;
	char when[CLOCK_TEXT_MAX], text[QUANTITY_TEXT];
	int64_t at = 0;
	bool first = true;

	if (!s || !s->admission_fair_sharing)
		return;
	buf_add_str(b, ",\"fairSharing\":{\"weightedShare\":0,"
		       "\"admissionFairSharingStatus\":{\"consumedResources\":{");
	for (size_t g = 0; g < s->n_groups; g++)
		for (size_t r = 0; r < s->groups[g].n_resources; r++) {
			struct span name = s->groups[g].resources[r];
			double v = kueue_queues_local_consumed(k->queues, behind->node, q->number,
							       name, &at);
			buf_add_str(b, first ? "" : ",");
			first = false;
			buf_add_json_str(b, name);
			buf_addf(b, ":\"%s\"", quantity_format(SPAN("cpu"), milli(v), text));
		}
	buf_addf(b, "},\"lastUpdate\":\"%s\"}}", clock_format(at ? at : c->now, when));
}

void queue_status_sample_usage(struct core *c)
{
	struct kueue *k = c->kueue;

	if (k->usage_due > c->now)
		return;
	k->usage_due = num_min(kueue_queues_sample_usage(k->queues, c->now),
			       c->now + k->settings.engine.usage_sampling_interval);
	vec_foreach (&k->locals_by_number, p) {
		const struct cluster_queue *q = *p ? local_queue_cluster(c, *p) : NULL;
		const struct kueue_queue_spec *s =
		    q && q->node != KUEUE_NONE ? kueue_forest_queue_spec(k->forest, q->node) : NULL;
		if (s && s->admission_fair_sharing)
			queue_status_dirty_local(c, *p);
	}
	c->pump_wanted = true;
}

static void show_local_queue(struct core *c, struct local_queue *q)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_LOCAL_QUEUE);
	const struct cluster_queue *behind = local_queue_cluster(c, q);
	auto_buf text = BUF_MAX(STORE_MAX_OBJECT / 2);
	const char *message;
	struct store_object o;
	bool active;

	if (registry_get(c->batch, kind, q->ns, q->name, &o) < 0)
		return;
	struct kueue_counts n = {0};
	if (behind && behind->node != KUEUE_NONE)
		n = kueue_queues_count_local(c->kueue->queues, behind->node, q->number);
	buf_add_char(&text, '{');
	add_counts(n, &text);
	add_flavors(&(struct flavors_text){.c = c, .q = behind, .reserved = &q->reserved},
		    "flavorsReservation", &text);
	add_flavors(&(struct flavors_text){.c = c, .q = behind, .admitted = &q->admitted},
		    "flavorsUsage", &text);
	add_consumed(c, q, behind, &text);
	const char *reason = local_activity(c, q, &active, &message);
	add_active(c, &o, active, reason, span_of(message), &text);
	buf_add_char(&text, '}');
	put_status(c, kind, &o, &text);
}

static size_t flush_queues(struct core *c, size_t most)
{
	struct kueue *k = c->kueue;
	size_t n = 0;

	for (; n < k->dirty_queues.len && n < most && !registry_batch_full(c->batch); n++) {
		struct cluster_queue *q = k->dirty_queues.items[n];
		if (!q)
			continue;
		q->status_dirty = false;
		show_cluster_queue(c, q);
	}
	return n;
}

static size_t flush_locals(struct core *c, size_t most)
{
	struct kueue *k = c->kueue;
	size_t n = 0;

	for (; n < k->dirty_locals.len && n < most && !registry_batch_full(c->batch); n++) {
		struct local_queue *q = k->dirty_locals.items[n];
		if (!q)
			continue;
		q->status_dirty = false;
		show_local_queue(c, q);
	}
	return n;
}

#define DROP_FIRST(v, n)                                                                           \
	do {                                                                                       \
		if (n)                                                                             \
			memmove((v)->items, (v)->items + (n),                                      \
				((v)->len - (n)) * sizeof(*(v)->items));                           \
		(v)->len -= (n);                                                                   \
	} while (0)

/* Those that wait longest, at most so many of each sort. */
static void flush_some(struct core *c, size_t most)
{
	struct kueue *k = c->kueue;
	size_t n = flush_queues(c, most);

	DROP_FIRST(&k->dirty_queues, n);
	n = flush_locals(c, most);
	DROP_FIRST(&k->dirty_locals, n);
}

void queue_status_flush(struct core *c)
{
	struct kueue *k = c->kueue;

	if (c->now < k->status_due || (!k->dirty_queues.len && !k->dirty_locals.len) ||
	    registry_batch_full(c->batch))
		return;
	flush_some(c, STATUS_ROWS);
	k->status_due = c->now + STATUS_INTERVAL;
}

void queue_status_flush_late(struct core *c)
{
	struct kueue *k = c->kueue;

	if (c->now < k->status_due + STATUS_PATIENCE ||
	    (!k->dirty_queues.len && !k->dirty_locals.len))
		return;
	flush_some(c, STATUS_LATE_ROWS);
	k->status_due = c->now - STATUS_PATIENCE + STATUS_INTERVAL;
}

usec queue_status_due(const struct core *c)
{
	const struct kueue *k = c->kueue;
	return k->dirty_queues.len || k->dirty_locals.len ? k->status_due : INT64_MAX;
}
