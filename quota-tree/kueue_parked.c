/*
 * What a parked class lacks, and who is found when quota is given back.
 *
 * A class was hopeless because one of its pod sets found no flavor for one resource group. For each
 * flavor of that group that is not ruled out until an edit (taints, labels, potential), some
 * resource is short: more is needed than could be there with all that the queue could possibly
 * preempt or reclaim. As long as that bound lies below the need, the flavor cannot serve it,
 * whatever else changes; so one such cell for each flavor proves the class hopeless, and the class
 * is filed there by its need. Groups of one cell are ordered by what the root of the tree must have
 * free before their least need could be met.
 */
#include "base/num.h"
#include "quota-tree/kueue_class.h"
#include <assert.h>

static struct kueue_wait *wait_at(struct rank_node *n)
{
	return rank_entry(n, struct kueue_wait, by_group);
}

static bool before_by_need(const struct rank_node *a, const struct rank_node *b)
{
	const struct kueue_wait *x = rank_entry_const(a, struct kueue_wait, by_group);
	const struct kueue_wait *y = rank_entry_const(b, struct kueue_wait, by_group);
	return x->need != y->need ? x->need < y->need : x->sequence < y->sequence;
}

static bool before_by_threshold(const struct rank_node *a, const struct rank_node *b)
{
	const struct kueue_wait_group *x = rank_entry_const(a, struct kueue_wait_group, by_cell);
	const struct kueue_wait_group *y = rank_entry_const(b, struct kueue_wait_group, by_cell);
	return x->threshold != y->threshold ? x->threshold < y->threshold : x->number < y->number;
}

static int cmp_turns(const struct kueue_wait_turn *a, const struct kueue_wait_turn *b)
{
	if (a->sticky != b->sticky)
		return a->sticky ? -1 : 1;
	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	return a->queue_order < b->queue_order ? -1 : a->queue_order > b->queue_order;
}

/* Whether the class of `a` goes before that of `b`. */
static bool goes_before(const struct kueue_wait *a, const struct kueue_wait_turn *turn_a,
			const struct kueue_wait *b, const struct kueue_wait_turn *turn_b)
{
	int c = cmp_turns(turn_a, turn_b);
	return c < 0 || (c == 0 && kueue_workload_cmp(a->class->head, b->class->head) < 0);
}

static void take_best_of(struct kueue_wait *w, const struct kueue_wait *child)
{
	if (!goes_before(child->best, &child->best_turn, w->best, &w->best_turn))
		return;
	w->best = child->best;
	w->best_turn = child->best_turn;
}

static void fix_best(struct rank_node *n)
{
	struct kueue_wait *w = wait_at(n);
	w->best = w;
	w->best_turn = w->turn;
	if (n->left)
		take_best_of(w, wait_at(n->left));
	if (n->right)
		take_best_of(w, wait_at(n->right));
}

/* The one that goes first of those that need at most so much. */
static struct kueue_wait *best_within(const struct rank_tree *waits, int64_t bound)
{
	const struct kueue_wait_turn *turn = NULL;
	struct kueue_wait *best = NULL;
	struct rank_node *n = waits->root;
	while (n) {
		struct kueue_wait *w = wait_at(n);
		if (w->need > bound) {
			n = n->left;
			continue;
		}
		if (!best || goes_before(w, &w->turn, best, turn)) {
			best = w;
			turn = &w->turn;
		}
		struct kueue_wait *left = n->left ? wait_at(n->left) : NULL;
		if (left && goes_before(left->best, &left->best_turn, best, turn)) {
			best = left->best;
			turn = &left->best_turn;
		}
		n = n->right;
	}
	return best;
}

static const struct rank_order need_order = {.before = before_by_need, .fix = fix_best};
static const struct rank_order threshold_order = {.before = before_by_threshold};

/* The head of its class, and that one's turn, change only while it is out (kueue_parked_lift). */
static void wait_insert(struct kueue_wait_group *g, struct kueue_wait *w)
{
	const struct kueue_workload *head = w->class->head;
	w->turn = (struct kueue_wait_turn){head->queue_order, head->priority, head->sticky};
	rank_insert(&g->waits, &w->by_group);
}

/* ---- thresholds ---- */

/* What the root must have free before the group's least need could be met: INT64_MIN when that
 * cannot be told, INT64_MAX when only changes in the queue itself can help. */
static int64_t threshold_of(const struct kueue_queues *q, const struct kueue_wait_group *g)
{
	const struct kueue_queue_spec *spec = kueue_forest_queue_spec(q->forest, g->queue->node);
	uint32_t flavor = g->cell->flavor, resource = g->cell->resource, node = g->queue->node;
	if (!rank_len(&g->waits) || !spec)
		return INT64_MAX;
	int64_t need = wait_at(rank_first(&g->waits))->need;
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

static void rethreshold(const struct kueue_queues *q, struct kueue_wait_group *g)
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

static struct kueue_wait_cell *cell_find(const struct kueue_tree *t, uint32_t flavor,
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
	struct kueue_wait_cell *cell = cell_find(t, flavor, resource);
	if (cell)
		return cell;
	cell = xcalloc(1, sizeof(*cell));
	cell->flavor = flavor;
	cell->resource = resource;
	rank_init(&cell->groups, &threshold_order);
	vec_push(&t->cells, cell);
	return cell;
}

static struct kueue_wait_group *group_get(struct kueue_queues *q, struct kueue_queue *queue,
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
	g->quota = kueue_parked_quota(q, queue->node, flavor, resource);
	g->number = q->groups++;
	rank_init(&g->waits, &need_order);
	vec_push(&queue->groups, g);
	rethreshold(q, g);
	return g;
}

void kueue_parked_queue_done(struct kueue_queue *queue)
{
	vec_foreach (&queue->groups, it) {
		struct kueue_wait_group *g = *it;
		assert(!rank_len(&g->waits));
		rank_remove(&g->cell->groups, &g->by_cell);
		free(g);
	}
	vec_clear(&queue->groups);
	vec_clear(&queue->open);
	if (queue->tree)
		kueue_queue_sync_live(queue);
}

void kueue_parked_tree_done(struct kueue_tree *t)
{
	vec_foreach (&t->cells, it)
		free(*it);
	vec_done(&t->cells);
}

/* ---- filing ---- */

void kueue_parked_clear(struct kueue_queues *q, struct kueue_class *c)
{
	kueue_link_take(&c->woken);
	c->restless = c->reserving = c->due = false;
	vec_foreach (&c->waits, it) {
		struct kueue_wait *w = *it;
		if (rank_has(&w->by_group)) {
			struct kueue_wait_group *g = w->group;
			rank_remove(&g->waits, &w->by_group);
			rethreshold(q, g);
		}
		free(w);
	}
	vec_clear(&c->waits);
	vec_clear(&c->demand);
}

/* Files a wait under the first of its demands that its flavor lacks; false when it lacks none. */
static bool wait_file(struct kueue_queues *q, struct kueue_wait *w)
{
	struct kueue_class *c = w->class;
	vec_foreach (&c->demand, d) {
		if (d->value <=
		    kueue_bound_of(q, c->lane->queue, w->flavor, d->resource, c->priority))
			continue;
		struct kueue_wait_group *g =
		    group_get(q, c->lane->queue, w->flavor, d->resource, c->priority);
		w->group = g;
		w->need = d->value;
		w->sequence = q->sequence++;
		wait_insert(g, w);
		if (rank_first(&g->waits) == &w->by_group)
			rethreshold(q, g);
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

static void put_ring(struct kueue_class *c, struct kueue_link *ring)
{
	if (kueue_link_is_in(&c->woken))
		kueue_link_take(&c->woken);
	kueue_link_put(ring, &c->woken);
}

void kueue_parked_lift(struct kueue_class *c)
{
	vec_foreach (&c->waits, it) {
		if (rank_has(&(*it)->by_group))
			rank_remove(&(*it)->group->waits, &(*it)->by_group);
	}
}

void kueue_parked_drop(struct kueue_class *c)
{
	vec_foreach (&c->waits, it) {
		if ((*it)->group)
			wait_insert((*it)->group, *it);
	}
}

void kueue_parked_make_restless(struct kueue_class *c)
{
	c->restless = true;
	put_ring(c, &c->lane->queue->tree->restless);
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
		if (!wait_file(q, w)) {
			kueue_parked_make_restless(c);
			return;
		}
	}
	if (reserves && c->waits.len && t->queues.len > 1) {
		c->reserving = true;
		put_ring(c, &t->reserving);
	}
}

/* ---- waking ---- */

/* Which of its classes goes first, and whether it could be helped, is looked at when the queue's
 * turn comes. */
static void open_group(struct kueue_wait_group *g)
{
	if (g->open)
		return;
	g->open = true;
	vec_push(&g->queue->open, g);
	kueue_queue_sync_live(g->queue);
}

static bool touches(const struct kueue_wait_group *g, const struct kueue_use *u)
{
	return g->cell->flavor == u->flavor && g->cell->resource == u->resource;
}

void kueue_parked_charged(struct kueue_queues *q, struct kueue_queue *queue,
			  const struct kueue_use *uses, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		vec_foreach (&queue->groups, it) {
			struct kueue_wait_group *g = *it;
			if (!touches(g, &uses[i]))
				continue;
			rethreshold(q, g);
			if (rank_len(&g->waits) &&
			    wait_at(rank_first(&g->waits))->need <=
				kueue_bound_of(q, queue, g->cell->flavor, g->cell->resource,
					       g->priority))
				open_group(g);
		}
	}
}

/* Whether its flavor lacks nothing; else it waits under what it lacks now. */
static bool wait_is_over(struct kueue_queues *q, struct kueue_wait *w)
{
	struct kueue_class *c = w->class;
	bool lacks = false;
	vec_foreach (&c->demand, d)
		lacks |= d->value >
			 kueue_bound_of(q, c->lane->queue, w->flavor, d->resource, c->priority);
	if (!lacks)
		return true;
	rank_remove(&w->group->waits, &w->by_group);
	rethreshold(q, w->group);
	(void)wait_file(q, w);
	return false;
}

/* It could be helped, but Kueue would try it only after the next release in the tree. */
static void make_due(struct kueue_queues *q, struct kueue_wait *w)
{
	struct kueue_class *c = w->class;
	rank_remove(&w->group->waits, &w->by_group);
	rethreshold(q, w->group);
	w->group = NULL;
	if (c->restless)
		return;
	c->due = true;
	put_ring(c, &c->lane->queue->tree->due);
}

/* The class of the group that goes first and could be helped, if its turn is still to come. */
static struct kueue_class *best_of(struct kueue_queues *q, struct kueue_wait_group *g)
{
	const struct kueue_tree *t = g->queue->tree;
	for (;;) {
		int64_t bound =
		    kueue_bound_of(q, g->queue, g->cell->flavor, g->cell->resource, g->priority);
		struct kueue_wait *w = best_within(&g->waits, bound);
		if (!w)
			return NULL;
		if (!wait_is_over(q, w))
			continue;
		if (t->wake > kueue_heap_settled(g->queue) && w->class->tried_wake < t->wake)
			return w->class;
		make_due(q, w);
	}
}

struct kueue_class *kueue_parked_best(struct kueue_queues *q, struct kueue_queue *queue)
{
	struct kueue_class *best = NULL;
	size_t kept = 0;
	/* Groups opened on the way are looked at too. */
	for (size_t i = 0; i < queue->open.len; i++) {
		struct kueue_wait_group *g = queue->open.items[i];
		struct kueue_class *c = best_of(q, g);
		if (!c) {
			g->open = false;
			continue;
		}
		queue->open.items[kept++] = g;
		if (!best || kueue_workload_cmp(c->head, best->head) < 0)
			best = c;
	}
	queue->open.len = kept;
	kueue_queue_sync_live(queue);
	return best;
}

static void wake_ring(struct kueue_queues *q, struct kueue_link *ring)
{
	while (ring->next != ring)
		kueue_class_wake(q, rank_entry(ring->next, struct kueue_class, woken));
}

void kueue_parked_wake_tree(struct kueue_queues *q, struct kueue_tree *t)
{
	kueue_heap_forget_empty(q, t);
	vec_foreach (&t->queues, it)
		kueue_heap_wake(q, *it);
	if (t->live.next != &t->live) {
		t->dirty = true;
		kueue_tree_ask(q, t);
	}
}

/* The groups of a cell whose least need the root could meet now, or nobody knows. */
static void open_cell(struct kueue_queues *q, struct kueue_tree *t, struct kueue_wait_cell *cell)
{
	int64_t room = kueue_bound_free(q, t->root, cell->flavor, cell->resource);
	struct rank_node *n;
	for (size_t i = 0; (n = rank_at(&cell->groups, i)); i++) {
		struct kueue_wait_group *g = rank_entry(n, struct kueue_wait_group, by_cell);
		if (g->threshold > room)
			break;
		open_group(g);
	}
}

void kueue_parked_reserving(struct kueue_queues *q, struct kueue_tree *t)
{
	for (struct kueue_link *l = t->reserving.next, *next; l != &t->reserving; l = next) {
		struct kueue_class *c = rank_entry(l, struct kueue_class, woken);
		next = l->next;
		if (c->tried_wake < t->wake)
			kueue_class_wake(q, c);
	}
}

void kueue_parked_released(struct kueue_queues *q, struct kueue_queue *queue,
			   const struct kueue_use *uses, size_t n)
{
	struct kueue_tree *t = queue->tree;
	t->wake++;
	kueue_tree_ask(q, t);
	kueue_heap_forget_empty(q, t);
	if (q->options.one_head_per_cycle) {
		kueue_parked_wake_tree(q, t);
		return;
	}
	wake_ring(q, &t->restless);
	wake_ring(q, &t->due);
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < queue->groups.len; k++) {
			if (touches(queue->groups.items[k], &uses[i]))
				rethreshold(q, queue->groups.items[k]);
		}
		struct kueue_wait_cell *cell = cell_find(t, uses[i].flavor, uses[i].resource);
		if (cell)
			open_cell(q, t, cell);
	}
	if (t->live.next != &t->live)
		t->dirty = true;
}

int kueue_parked_check(const struct kueue_queues *q, const struct kueue_queue *queue,
		       struct err *reterr)
{
	vec_foreach (&queue->groups, it) {
		const struct kueue_wait_group *g = *it;
		struct rank_node *first = rank_first(&g->waits);
		if (!first)
			continue;
		if (!g->open &&
		    wait_at(first)->need <=
			kueue_bound_of(q, queue, g->cell->flavor, g->cell->resource, g->priority))
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
