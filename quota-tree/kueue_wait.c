#include "quota-tree/kueue_wait.h"
#include "base/num.h"
#include "quota-tree/kueue_engine.h"
#include <assert.h>

static bool before_by_threshold(const struct rank_node *a, const struct rank_node *b)
{
	const struct kueue_wait_group *x = rank_entry_const(a, struct kueue_wait_group, by_cell);
	const struct kueue_wait_group *y = rank_entry_const(b, struct kueue_wait_group, by_cell);
	return x->threshold != y->threshold ? x->threshold < y->threshold : x->number < y->number;
}

static const struct rank_order threshold_order = {.before = before_by_threshold};

static int cmp_waits(const void *a, const void *b)
{
	const struct kueue_wait *x = a, *y = b;
	return kueue_class_cmp(x->class, y->class);
}

void kueue_wait_put(struct kueue_wait *w)
{
	struct kueue_wait_group *g = w->group;
	assert(!w->in);
	rank_list_insert(&g->waits, w->class->turn, w, w->need);
	w->in = true;
	g->least = num_min(g->least, w->need);
}

void kueue_wait_take(struct kueue_wait *w)
{
	struct kueue_wait_group *g = w->group;
	if (!w->in)
		return;
	rank_list_remove(&g->waits, w->class->turn, w);
	w->in = false;
	g->least = rank_list_least_mark(&g->waits);
}

/* ---- thresholds ---- */

/* What the root must have free before the group's least need could be met: INT64_MIN when that
 * cannot be told, INT64_MAX when only changes in the queue itself can help. */
static int64_t threshold_of(const struct kueue_queues *q, const struct kueue_wait_group *g)
{
	const struct kueue_queue_spec *spec = kueue_forest_queue_spec(q->forest, g->queue->node);
	uint32_t flavor = g->cell->flavor, resource = g->cell->resource, node = g->queue->node;
	if (g->least == INT64_MAX || !spec)
		return INT64_MAX;
	int64_t need = g->least;
	int64_t own = kueue_bound_own(g->queue, spec, flavor, resource, g->priority);
	uint32_t parent = kueue_forest_parent(q->forest, node);
	if (parent == KUEUE_NONE)
		return num_sub_sat(need, own);
	if (parent != g->queue->tree->root)
		return INT64_MIN;
	int64_t within = kueue_bound_free(q, node, flavor, resource);
	if (spec->preemption.reclaim_within_cohort != KUEUE_PREEMPT_NEVER &&
	    (kueue_bound_is_unknown(q, spec) || num_add_sat(within, own) >= need))
		return INT64_MIN;
	int64_t usage = kueue_forest_usage(q->forest, node, flavor, resource);
	int64_t cap = num_sub_sat(num_add_sat(g->quota.nominal, g->quota.borrowing), usage);
	if (num_add_sat(cap, own) < need)
		return INT64_MAX;
	int64_t local = 0;
	if (g->quota.lending != QUOTA_UNLIMITED && g->quota.nominal > g->quota.lending)
		local = num_max(0, num_sub_sat(g->quota.nominal - g->quota.lending, usage));
	return num_sub_sat(num_sub_sat(need, own), local);
}

void kueue_wait_rethreshold(const struct kueue_queues *q, struct kueue_wait_group *g)
{
	int64_t threshold = threshold_of(q, g);
	if (threshold == g->threshold && rank_has(&g->by_cell))
		return;
	if (rank_has(&g->by_cell))
		rank_remove(&g->cell->groups, &g->by_cell);
	g->threshold = threshold;
	rank_insert(&g->cell->groups, &g->by_cell);
}

/* ---- cells and groups ---- */

struct kueue_wait_cell *kueue_wait_cell(const struct kueue_tree *t, uint32_t flavor,
					uint32_t resource)
{
	vec_foreach (&t->cells, it) {
		if ((*it)->flavor == flavor && (*it)->resource == resource)
			return *it;
	}
	return NULL;
}

static struct kueue_wait_cell *cell_get(struct kueue_tree *t, uint32_t flavor, uint32_t resource)
{
	struct kueue_wait_cell *cell = kueue_wait_cell(t, flavor, resource);
	if (cell)
		return cell;
	cell = xcalloc(1, sizeof(*cell));
	cell->flavor = flavor;
	cell->resource = resource;
	rank_init(&cell->groups, &threshold_order);
	vec_push(&t->cells, cell);
	return cell;
}

struct kueue_wait_group *kueue_wait_group(struct kueue_queues *q, struct kueue_queue *queue,
					  uint32_t flavor, uint32_t resource, int32_t priority)
{
	vec_foreach (&queue->groups, it) {
		if ((*it)->priority == priority && (*it)->cell->flavor == flavor &&
		    (*it)->cell->resource == resource)
			return *it;
	}
	struct kueue_wait_group *g = xcalloc(1, sizeof(*g));
	g->queue = queue;
	g->cell = cell_get(queue->tree, flavor, resource);
	g->priority = priority;
	g->least = INT64_MAX;
	g->quota = kueue_bound_quota(q, queue->node, flavor, resource);
	g->number = q->groups++;
	rank_list_init(&g->waits, cmp_waits);
	size_t k = queue->groups.len;
	vec_push(&queue->groups, g);
	for (; k > 0 && queue->groups.items[k - 1]->priority < priority; k--)
		queue->groups.items[k] = queue->groups.items[k - 1];
	queue->groups.items[k] = g;
	kueue_wait_rethreshold(q, g);
	return g;
}

void kueue_wait_queue_done(struct kueue_queue *queue)
{
	vec_foreach (&queue->groups, it) {
		struct kueue_wait_group *g = *it;
		assert(!rank_list_len(&g->waits));
		rank_remove(&g->cell->groups, &g->by_cell);
		free(g);
	}
	vec_clear(&queue->groups);
	vec_clear(&queue->open);
	if (queue->tree)
		kueue_lane_sync_live(queue);
}

void kueue_wait_tree_done(struct kueue_tree *t)
{
	vec_foreach (&t->cells, it)
		free(*it);
	vec_done(&t->cells);
}

/* ---- for tests ---- */

int kueue_wait_check(const struct kueue_queues *q, const struct kueue_queue *queue,
		     struct err *reterr)
{
	vec_foreach (&queue->groups, it) {
		const struct kueue_wait_group *g = *it;
		if (g->least != rank_list_least_mark(&g->waits))
			return err_set(reterr, ERR_INTERNAL,
				       "queue %.*s: a group's least need is wrong",
				       SPAN_ARGS(kueue_forest_name(q->forest, queue->node)));
		if (g->least == INT64_MAX)
			continue;
		if (!g->open && g->least <= kueue_bound_of(q, queue, g->cell->flavor,
							   g->cell->resource, g->priority))
			return err_set(reterr, ERR_INTERNAL,
				       "queue %.*s: a class waits for what it could have",
				       SPAN_ARGS(kueue_forest_name(q->forest, queue->node)));
		if (g->threshold > threshold_of(q, g))
			return err_set(reterr, ERR_INTERNAL,
				       "queue %.*s: a group would be found too late",
				       SPAN_ARGS(kueue_forest_name(q->forest, queue->node)));
	}
	return 0;
}
