#include "quota-tree/kueue_parked.h"
#include "base/num.h"
#include "quota-tree/kueue_engine.h"

void kueue_parked_clear(struct kueue_queues *q, struct kueue_class *c)
{
	kueue_link_take(&c->woken);
	c->restless = c->reserving = c->due = false;
	vec_foreach (&c->waits, it) {
		struct kueue_wait *w = *it;
		if (w->in) {
			kueue_wait_take(w);
			kueue_wait_rethreshold(q, w->group);
		}
		free(w);
	}
	vec_clear(&c->waits);
	vec_clear(&c->demand);
}

bool kueue_parked_refile(struct kueue_queues *q, struct kueue_wait *w)
{
	struct kueue_class *c = w->class;
	vec_foreach (&c->demand, d) {
		if (d->value <=
		    kueue_bound_of(q, c->lane->queue, w->flavor, d->resource, c->priority))
			continue;
		struct kueue_wait_group *g =
		    kueue_wait_group(q, c->lane->queue, w->flavor, d->resource, c->priority);
		w->group = g;
		w->need = d->value;
		bool least = w->need < g->least;
		kueue_wait_put(w);
		if (least)
			kueue_wait_rethreshold(q, g);
		return true;
	}
	w->group = NULL;
	return false;
}

static int32_t least_count(const struct kueue_queues *q, const struct kueue_class *c, size_t set)
{
	const struct kueue_shape_set *s = &c->shape->sets[set];
	int32_t count = c->alone ? kueue_workload_count(c->alone, set) : s->count;
	if (q->options.partial_admission && s->min_count > 0 && s->min_count < count)
		return s->min_count;
	return count;
}

/* What the pod set (or, where the group has one flavor, all of them together) asks of a group's
 * resources at the least. */
static void fill_demand(struct kueue_queues *q, struct kueue_class *c,
			const struct kueue_group_spec *group, size_t pod_set)
{
	struct kueue_use asks[KUEUE_MAX_REQUESTS + 1];
	vec_clear(&c->demand);
	for (size_t s = 0; s < c->shape->n_sets; s++) {
		if (s != pod_set && group->n_flavors != 1)
			continue;
		size_t n = kueue_workload_requests(q->forest, c->head, c->lane->queue->node, s,
						   least_count(q, c, s), asks);
		for (size_t i = 0; i < n; i++) {
			struct span name = kueue_forest_resource_name(q->forest, asks[i].resource);
			struct kueue_held *d = NULL;
			vec_foreach (&c->demand, it) {
				if (it->resource == asks[i].resource)
					d = it;
			}
			for (size_t r = 0; !d && r < group->n_resources; r++) {
				if (!span_eq(group->resources[r], name))
					continue;
				vec_push(&c->demand,
					 (struct kueue_held){.resource = asks[i].resource});
				d = &c->demand.items[c->demand.len - 1];
			}
			if (d)
				d->value = num_add_sat(d->value, asks[i].value);
		}
	}
}

/* Whether this attempt ruled the flavor out until an edit, or placement refused it. */
static bool is_ruled_out(const struct kueue_assignment *a, size_t set, uint32_t flavor,
			 bool partial, bool alone)
{
	vec_foreach (&a->reasons, r) {
		if (r->flavor != flavor || r->pod_set != set)
			continue;
		if (r->why == KUEUE_WHY_NO_FLAVOR || r->why == KUEUE_WHY_TAINT ||
		    r->why == KUEUE_WHY_AFFINITY)
			return true;
		/* Not because of what earlier pod sets took there: they may go elsewhere. */
		if (r->why == KUEUE_WHY_MAX && !partial && r->asked > r->max)
			return true;
		/* Of several pod sets placement refuses combinations, not flavors. */
		if (r->why == KUEUE_WHY_PLACEMENT && alone)
			return true;
	}
	return false;
}

static const struct kueue_group_spec *group_covering(const struct kueue_queues *q, uint32_t node,
						     uint32_t resource)
{
	const struct kueue_queue_spec *spec = kueue_forest_queue_spec(q->forest, node);
	struct span name = kueue_forest_resource_name(q->forest, resource);
	for (size_t g = 0; spec && g < spec->n_groups; g++) {
		for (size_t r = 0; r < spec->groups[g].n_resources; r++) {
			if (span_eq(spec->groups[g].resources[r], name))
				return &spec->groups[g];
		}
	}
	return NULL;
}

/* The pod set and resource that found no flavor; KUEUE_NONE when only the whole was too much. The
 * reasons of a pod set that got nothing are those of the group that failed; one that is short of
 * candidates keeps the flavors that it would have. */
static uint32_t what_failed(const struct kueue_assignment *a, size_t n_sets, size_t *ret_set)
{
	if (a->mode == KUEUE_NO_FIT) {
		vec_foreach (&a->reasons, r) {
			*ret_set = r->pod_set;
			if (r->resource != KUEUE_NONE && r->pod_set < n_sets)
				return r->resource;
		}
	}
	for (size_t s = 0; s < n_sets; s++) {
		for (uint32_t k = a->first_choice[s]; k < a->first_choice[s + 1]; k++) {
			*ret_set = s;
			if (a->choices.items[k].mode < KUEUE_PREEMPT)
				return a->choices.items[k].resource;
		}
	}
	return KUEUE_NONE;
}

void kueue_parked_lift(struct kueue_class *c)
{
	vec_foreach (&c->waits, it) {
		kueue_wait_take(*it);
	}
}

void kueue_parked_drop(struct kueue_class *c)
{
	vec_foreach (&c->waits, it) {
		if ((*it)->group)
			kueue_wait_put(*it);
	}
}

void kueue_parked_make_restless(struct kueue_class *c)
{
	c->restless = true;
	kueue_class_put_ring(c, &c->lane->queue->tree->restless);
}

void kueue_parked_file(struct kueue_queues *q, struct kueue_class *c,
		       const struct kueue_assignment *a, bool reserves)
{
	struct kueue_tree *t = c->lane->queue->tree;
	uint32_t node = c->lane->queue->node;
	if (q->options.one_head_per_cycle)
		return; /* everything of the tree wakes together */
	size_t set = 0;
	uint32_t failed = what_failed(a, c->shape->n_sets, &set);
	if (c->lane->queue->fair || failed == KUEUE_NONE || !c->head) {
		kueue_parked_make_restless(c);
		return;
	}
	const struct kueue_group_spec *group = group_covering(q, node, failed);
	if (!group)
		return;
	fill_demand(q, c, group, set);
	bool partial = q->options.partial_admission && kueue_workload_is_partial(c->head);
	for (size_t i = 0; i < group->n_flavors; i++) {
		uint32_t flavor = kueue_forest_flavor(q->forest, group->flavors[i]);
		if (is_ruled_out(a, set, flavor, partial, c->shape->n_sets == 1))
			continue;
		struct kueue_wait *w = xcalloc(1, sizeof(*w));
		w->class = c;
		w->flavor = flavor;
		vec_push(&c->waits, w);
		if (!kueue_parked_refile(q, w)) {
			kueue_parked_make_restless(c);
			return;
		}
	}
	if (reserves && c->waits.len && t->queues.len > 1) {
		c->reserving = true;
		kueue_class_put_ring(c, &t->reserving);
	}
}
