#include "quota-tree/elastic_group.h"
#include "base/num.h"
#include <assert.h>

static bool offer_before(const struct rank_node *a, const struct rank_node *b)
{
	return elastic_unit_before(rank_entry_const(a, struct offer, by_order)->unit,
				   rank_entry_const(b, struct offer, by_order)->unit);
}

static bool by_group_before(const struct rank_node *a, const struct rank_node *b)
{
	return elastic_unit_before(elastic_lane_head(rank_entry_const(a, struct lane, by_group)),
				   elastic_lane_head(rank_entry_const(b, struct lane, by_group)));
}

static void by_group_fix(struct rank_node *n)
{
	struct lane *lane = rank_entry(n, struct lane, by_group);
	lane->least_need = lane->need;
	if (n->left)
		lane->least_need = num_min(lane->least_need,
					   rank_entry(n->left, struct lane, by_group)->least_need);
	if (n->right)
		lane->least_need = num_min(lane->least_need,
					   rank_entry(n->right, struct lane, by_group)->least_need);
}

static const struct rank_order by_offer_order = {.before = offer_before};
static const struct rank_order by_group_order = {.before = by_group_before, .fix = by_group_fix};

void elastic_group_offer(struct elastic_queues *q, struct offer *offer, struct elastic_unit *unit)
{
	if (offer->unit == unit)
		return;
	if (offer->unit)
		rank_remove(&q->offers, &offer->by_order);
	offer->unit = unit;
	if (unit)
		rank_insert(&q->offers, &offer->by_order);
}

static void group_init(struct group *g, enum group_kind kind)
{
	*g = (struct group){.kind = kind, .offer.kind = OFFER_GROUP};
	rank_init(&g->lanes, &by_group_order);
}

void elastic_group_init(struct elastic_queues *q)
{
	rank_init(&q->offers, &by_offer_order);
	group_init(&q->skipped, GROUP_SKIP);
	group_init(&q->held, GROUP_HOLD);
	q->min_groups = xcalloc(q->n_resources, sizeof(*q->min_groups));
	for (uint32_t r = 0; r < q->n_resources; r++) {
		group_init(&q->min_groups[r], GROUP_MIN);
		q->min_groups[r].resource = r;
	}
}

void elastic_group_done(struct elastic_queues *q)
{
	map_foreach (&q->shapes, e) {
		free(e->value);
	}
	map_done(&q->shapes);
	free(q->min_groups);
}

/* The room that a group's lanes are measured by now. */
static int64_t group_room(const struct elastic_queues *q, const struct group *g)
{
	struct quota_state s;
	switch (g->kind) {
	case GROUP_MAX:
		return quota_tree_room(q->quota, g->node, g->resource, false);
	case GROUP_FIRM:
		return quota_tree_room(q->quota, g->node, g->resource, true);
	case GROUP_OVERFLOW:
		quota_tree_get(q->quota, g->node, g->resource, &s);
		return INT64_MAX - s.used;
	case GROUP_SHAPE:
		return g->parked ? -1 : 0;
	case GROUP_MIN:
		return q->n_below[g->resource] ? -1 : 0;
	default:
		return -1;
	}
}

/* First in order among those whose need the room holds: the aggregate tells which side has one. */
struct lane *elastic_group_best(const struct elastic_queues *q, const struct group *g)
{
	int64_t room = group_room(q, g);
	struct rank_node *n = g->lanes.root;
	while (n) {
		struct lane *lane = rank_entry(n, struct lane, by_group);
		if (lane->least_need > room)
			return NULL;
		if (n->left && rank_entry(n->left, struct lane, by_group)->least_need <= room)
			n = n->left;
		else if (lane->need <= room)
			return lane;
		else
			n = n->right;
	}
	return NULL;
}

void elastic_group_sync(struct elastic_queues *q, struct group *g)
{
	struct lane *best = elastic_group_best(q, g);
	elastic_group_offer(q, &g->offer, best ? elastic_lane_head(best) : NULL);
}

struct group **elastic_group_slot(const struct elastic_queues *q, uint32_t node, uint32_t resource,
				  enum group_kind kind)
{
	size_t at = ((size_t)node * q->n_resources + resource) * GROUP_NODE_KINDS + (size_t)kind;
	return &q->node_groups[at];
}

struct group *elastic_group_at(struct elastic_queues *q, uint32_t node, uint32_t resource,
			       enum group_kind kind)
{
	struct group **slot = elastic_group_slot(q, node, resource, kind);
	if (!*slot) {
		*slot = xcalloc(1, sizeof(**slot));
		group_init(*slot, kind);
		(*slot)->node = node;
		(*slot)->resource = resource;
		q->n_node_groups[node]++;
	}
	return *slot;
}

static struct span shape_key(const uint32_t *shape)
{
	return span_make((const char *)shape, sizeof(*shape));
}

struct group *elastic_group_find_shape(const struct elastic_queues *q, uint32_t shape)
{
	return q->shapes.len ? map_get(&q->shapes, shape_key(&shape)) : NULL;
}

struct group *elastic_group_of_shape(struct elastic_queues *q, uint32_t shape)
{
	struct group *g = elastic_group_find_shape(q, shape);
	if (!g) {
		g = xcalloc(1, sizeof(*g));
		group_init(g, GROUP_SHAPE);
		g->shape = shape;
		map_put(&q->shapes, shape_key(&shape), g);
	}
	return g;
}

void elastic_group_drop_shape(struct elastic_queues *q, struct group *g)
{
	if (g->parked || rank_len(&g->lanes) > 0)
		return;
	map_remove(&q->shapes, shape_key(&g->shape));
	free(g);
}

void elastic_group_leave(struct elastic_queues *q, struct lane *lane)
{
	struct group *g = lane->group;
	rank_remove(&g->lanes, &lane->by_group);
	lane->group = NULL;
	elastic_group_sync(q, g);
	if (g->kind == GROUP_MIN) {
		q->queues[lane->node].n_min_lanes--;
	} else if (g->kind == GROUP_SHAPE) {
		elastic_group_drop_shape(q, g);
	} else if (g->kind < GROUP_NODE_KINDS) {
		for (uint32_t n = lane->node; q->waiting_above && n != g->node;
		     n = quota_tree_parent(q->quota, n))
			q->waiting_above[n]--;
		if (rank_len(&g->lanes) > 0)
			return;
		q->n_node_groups[g->node]--;
		*elastic_group_slot(q, g->node, g->resource, g->kind) = NULL;
		free(g);
	}
}
