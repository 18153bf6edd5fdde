/*
 * The public face of the queues: units come and go, offers are taken, refusals are filed. What is
 * filed where, and what is offered when, is elastic_lane.c and elastic_group.c.
 */
#include "quota-tree/elastic_queue.h"
#include "base/num.h"
#include "quota-tree/elastic_group.h"
#include <assert.h>

struct elastic_queues *elastic_queue_create(struct elastic_tree *tree,
					    const struct elastic_queue_options *options)
{
	struct elastic_queues *q = xcalloc(1, sizeof(*q));
	q->tree = tree;
	q->quota = elastic_tree_quota(tree);
	if (options)
		q->options = *options;
	q->n_nodes = quota_tree_n_nodes(q->quota);
	q->n_resources = quota_tree_n_resources(q->quota);
	q->queues = xcalloc(q->n_nodes, sizeof(*q->queues));
	for (uint32_t n = 0; n < q->n_nodes; n++) {
		rank_init(&q->queues[n].units, &elastic_by_queue_order);
		q->queues[n].offer.kind = OFFER_QUEUE;
		q->queues[n].config.threshold = ELASTIC_PRIORITY_THRESHOLD;
	}
	q->node_groups =
	    xcalloc((size_t)q->n_nodes * q->n_resources * GROUP_NODE_KINDS, sizeof(struct group *));
	q->n_node_groups = xcalloc(q->n_nodes, sizeof(*q->n_node_groups));
	q->n_below = xcalloc(q->n_resources, sizeof(*q->n_below));
	if (quota_tree_has_floors(q->quota))
		q->waiting_above = xcalloc(q->n_nodes, sizeof(*q->waiting_above));
	elastic_group_init(q);
	return q;
}

static void unit_free(struct elastic_queues *q, struct elastic_unit *unit)
{
	if (unit->prev)
		unit->prev->next = unit->next;
	else
		q->units = unit->next;
	if (unit->next)
		unit->next->prev = unit->prev;
	elastic_lane_unref(q, unit->lane);
	free(unit);
}

struct elastic_queues *elastic_queue_destroy(struct elastic_queues *q)
{
	if (!q)
		return NULL;
	while (q->units) {
		if (!q->units->admitted)
			elastic_lane_leave(q, q->units);
		unit_free(q, q->units);
	}
	elastic_group_done(q);
	map_done(&q->lanes);
	free(q->queues);
	free(q->node_groups);
	free(q->n_node_groups);
	free(q->n_below);
	free(q->waiting_above);
	free(q);
	return NULL;
}

void elastic_queue_configure(struct elastic_queues *q, uint32_t node,
			     const struct elastic_queue_config *config)
{
	assert(node < q->n_nodes && config->policy < ELASTIC_POLICY_MAX);
	struct queue *queue = &q->queues[node];
	size_t n = rank_len(&queue->units), i = 0;
	struct elastic_unit **units = xcalloc(n, sizeof(struct elastic_unit *));
	struct rank_node *first;
	while ((first = rank_first(&queue->units))) {
		units[i] = rank_entry(first, struct elastic_unit, by_queue);
		elastic_lane_leave(q, units[i++]);
	}
	queue->config = *config;
	for (i = 0; i < n; i++)
		elastic_lane_enter(q, units[i]);
	free(units);
}

struct elastic_queue_config elastic_queue_config_of(const struct elastic_queues *q, uint32_t node)
{
	assert(node < q->n_nodes);
	return q->queues[node].config;
}

/* A cache line; a unit is two or three of them. */
#define UNIT_ALIGN 64
static_assert(sizeof(struct elastic_unit) % UNIT_ALIGN == 0, "aligned_alloc wants whole lines");

static struct elastic_unit *unit_new(struct elastic_queues *q, const struct elastic_unit_spec *spec)
{
	struct elastic_unit *unit = aligned_alloc(UNIT_ALIGN, sizeof(*unit));
	if (!unit)
		abort();
	*unit = (struct elastic_unit){0};
	unit->lane = elastic_lane_get(q, spec);
	unit->priority = spec->priority;
	unit->first_attempt = num_max(0, spec->first_attempt);
	unit->name = spec->name;
	unit->owner = spec->owner;
	unit->sequence = q->sequence++;
	unit->next = q->units;
	if (unit->next)
		unit->next->prev = unit;
	q->units = unit;
	return unit;
}

struct elastic_unit *elastic_queue_add(struct elastic_queues *q,
				       const struct elastic_unit_spec *spec)
{
	struct elastic_unit *unit = unit_new(q, spec);
	elastic_lane_enter(q, unit);
	return unit;
}

int elastic_queue_restore(struct elastic_queues *q, const struct elastic_unit_spec *spec,
			  struct elastic_unit **ret)
{
	struct quota_request req = {
	    .amounts = spec->amounts,
	    .n_amounts = spec->n_amounts,
	    .nonpreemptible = spec->nonpreemptible,
	};
	int r = quota_tree_charge_forced(q->quota, spec->node, &req);
	if (r < 0)
		return r;
	*ret = unit_new(q, spec);
	(*ret)->admitted = true;
	q->n_admitted++;
	elastic_lane_changed(q, spec->node);
	return 0;
}

static void unit_release(struct elastic_queues *q, struct elastic_unit *unit)
{
	struct quota_request req = elastic_lane_request(unit->lane);
	quota_tree_release(q->quota, unit->lane->node, &req);
	unit->admitted = false;
	q->n_admitted--;
	q->releases++;
	elastic_lane_released(q, unit->lane->node, &req);
}

void elastic_queue_remove(struct elastic_queues *q, struct elastic_unit *unit)
{
	if (unit->admitted)
		unit_release(q, unit);
	else
		elastic_lane_leave(q, unit);
	unit_free(q, unit);
}

void elastic_queue_requeue(struct elastic_queues *q, struct elastic_unit *unit)
{
	assert(unit->admitted);
	unit_release(q, unit);
	elastic_lane_enter(q, unit);
}

static enum group_kind kind_of(const struct quota_verdict *v)
{
	return v->reason == QUOTA_OVER_FIRM  ? GROUP_FIRM
	       : v->reason == QUOTA_OVERFLOW ? GROUP_OVERFLOW
					     : GROUP_MAX;
}

/* Whether a ready lane may be offered to core; files it where it has to wait if not. */
static bool lane_passes(struct elastic_queues *q, struct lane *lane)
{
	struct quota_request req = elastic_lane_request(lane);
	struct quota_verdict v;
	if (!quota_tree_test(q->quota, lane->node, &req, &v)) {
		struct group *g = elastic_group_at(q, v.node, v.resource, kind_of(&v));
		elastic_lane_file(q, lane, g, v.request);
		return false;
	}
	uint32_t r = elastic_lane_oversold_by(q, lane);
	if (r != QUOTA_NO_RESOURCE) {
		elastic_lane_file(q, lane, &q->min_groups[r], 0);
		return false;
	}
	struct group *shape = elastic_group_find_shape(q, lane->shape);
	if (shape && shape->parked) {
		elastic_lane_file(q, lane, shape, 0);
		return false;
	}
	return true;
}

struct elastic_unit *elastic_queue_next(struct elastic_queues *q)
{
	struct rank_node *first;
	while ((first = rank_first(&q->offers))) {
		struct offer *offer = rank_entry(first, struct offer, by_order);
		struct elastic_unit *unit = offer->unit;
		if (offer->kind != OFFER_GROUP) {
			if (lane_passes(q, unit->lane))
				return unit;
			continue;
		}
		struct group *g = rank_entry(offer, struct group, offer);
		struct lane *best = elastic_group_best(q, g);
		if (best == unit->lane && elastic_lane_head(best) == unit)
			elastic_lane_ready(q, best); /* goes on by its own offer */
		else
			elastic_group_sync(q, g); /* the room is gone since */
	}
	return NULL;
}

int elastic_queue_admit(struct elastic_queues *q, struct elastic_unit *unit,
			struct quota_verdict *ret_verdict)
{
	assert(!unit->admitted);
	struct quota_request req = elastic_lane_request(unit->lane);
	int r = quota_tree_charge(q->quota, unit->lane->node, &req, ret_verdict);
	if (r < 0)
		return r;
	elastic_lane_leave(q, unit);
	unit->admitted = true;
	q->n_admitted++;
	return 0;
}

void elastic_queue_park(struct elastic_queues *q, struct elastic_unit *unit)
{
	assert(!unit->admitted);
	struct group *g = elastic_group_of_shape(q, unit->lane->shape);
	g->parked = true;
	elastic_lane_ready(q, unit->lane);
	elastic_lane_file(q, unit->lane, g, 0);
}

void elastic_queue_skip(struct elastic_queues *q, struct elastic_unit *unit)
{
	assert(!unit->admitted);
	elastic_lane_ready(q, unit->lane);
	elastic_lane_file(q, unit->lane, &q->skipped, 0);
}

void elastic_queue_rewind(struct elastic_queues *q)
{
	struct rank_node *first;
	while ((first = rank_first(&q->skipped.lanes)))
		elastic_lane_ready(q, rank_entry(first, struct lane, by_group));
}

void elastic_queue_hold(struct elastic_queues *q, struct elastic_unit *unit)
{
	assert(!unit->admitted);
	elastic_lane_ready(q, unit->lane);
	elastic_lane_file(q, unit->lane, &q->held, 0);
}

void elastic_queue_let_go(struct elastic_queues *q)
{
	struct rank_node *first;
	while ((first = rank_first(&q->held.lanes)))
		elastic_lane_ready(q, rank_entry(first, struct lane, by_group));
}

uint64_t elastic_queue_releases(const struct elastic_queues *q)
{
	return q->releases;
}

static void wake_group(struct elastic_queues *q, struct group *g)
{
	g->parked = false;
	if (rank_len(&g->lanes) > 0)
		elastic_group_sync(q, g);
	else
		elastic_group_drop_shape(q, g);
}

void elastic_queue_wake_shape(struct elastic_queues *q, uint32_t shape)
{
	struct group *g = elastic_group_find_shape(q, shape);
	if (g)
		wake_group(q, g);
}

void elastic_queue_wake_all_shapes(struct elastic_queues *q)
{
	map_foreach (&q->shapes, e) {
		wake_group(q, e->value);
	}
}

bool elastic_queue_shape_is_parked(const struct elastic_queues *q, uint32_t shape)
{
	const struct group *g = elastic_group_find_shape(q, shape);
	return g && g->parked;
}

struct elastic_unit *elastic_queue_parked_first(const struct elastic_queues *q, uint32_t shape)
{
	const struct group *g = elastic_group_find_shape(q, shape);
	for (size_t i = 0; g && g->parked && i < rank_len(&g->lanes); i++) {
		const struct lane *lane = rank_entry(rank_at(&g->lanes, i), struct lane, by_group);
		struct quota_request req = elastic_lane_request(lane);
		if (quota_tree_test(q->quota, lane->node, &req, NULL))
			return elastic_lane_head(lane);
	}
	return NULL;
}
