#include "quota-tree/elastic_lane.h"
#include "base/num.h"
#include <assert.h>

/* Order of candidates; total, because sequences differ. */
static bool unit_before(const struct elastic_unit *a, const struct elastic_unit *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank;
	if (a->age != b->age)
		return a->age < b->age;
	int c = span_cmp(a->name, b->name);
	return c ? c < 0 : a->sequence < b->sequence;
}

static bool by_queue_before(const struct rank_node *a, const struct rank_node *b)
{
	return unit_before(rank_entry_const(a, struct elastic_unit, by_queue),
			   rank_entry_const(b, struct elastic_unit, by_queue));
}

static bool by_lane_before(const struct rank_node *a, const struct rank_node *b)
{
	return unit_before(rank_entry_const(a, struct elastic_unit, by_lane),
			   rank_entry_const(b, struct elastic_unit, by_lane));
}

static bool offer_before(const struct rank_node *a, const struct rank_node *b)
{
	return unit_before(rank_entry_const(a, struct offer, by_order)->unit,
			   rank_entry_const(b, struct offer, by_order)->unit);
}

struct elastic_unit *elastic_lane_head(const struct lane *lane)
{
	struct rank_node *n = rank_first(&lane->units);
	return n ? rank_entry(n, struct elastic_unit, by_lane) : NULL;
}

static bool by_group_before(const struct rank_node *a, const struct rank_node *b)
{
	return unit_before(elastic_lane_head(rank_entry_const(a, struct lane, by_group)),
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

const struct rank_order elastic_by_queue_order = {.before = by_queue_before};
static const struct rank_order by_lane_order = {.before = by_lane_before};
static const struct rank_order by_offer_order = {.before = offer_before};
static const struct rank_order by_group_order = {.before = by_group_before, .fix = by_group_fix};

static void offer_set(struct elastic_queues *q, struct offer *offer, struct elastic_unit *unit)
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

void elastic_lane_init(struct elastic_queues *q)
{
	rank_init(&q->offers, &by_offer_order);
	group_init(&q->skipped, GROUP_SKIP);
	q->min_groups = xcalloc(q->n_resources, sizeof(*q->min_groups));
	for (uint32_t r = 0; r < q->n_resources; r++) {
		group_init(&q->min_groups[r], GROUP_MIN);
		q->min_groups[r].resource = r;
	}
}

void elastic_lane_done(struct elastic_queues *q)
{
	map_foreach (&q->shapes, e) {
		free(e->value);
	}
	map_done(&q->shapes);
	map_done(&q->lanes);
	free(q->min_groups);
}

static void lane_sync(struct elastic_queues *q, struct lane *lane)
{
	bool offered = !lane->group && !q->queues[lane->node].strict;
	offer_set(q, &lane->offer, offered ? elastic_lane_head(lane) : NULL);
}

/* Whether only the head of the queue may go. */
static bool is_strict(const struct queue *queue, const struct elastic_unit *head)
{
	if (queue->config.policy == ELASTIC_BLOCK)
		return true;
	return queue->config.policy == ELASTIC_INTELLIGENT && head &&
	       head->priority >= queue->config.threshold;
}

static void queue_sync(struct elastic_queues *q, struct queue *queue)
{
	struct rank_node *first = rank_first(&queue->units);
	struct elastic_unit *head = first ? rank_entry(first, struct elastic_unit, by_queue) : NULL;
	bool strict = is_strict(queue, head);
	if (strict != queue->strict) {
		queue->strict = strict;
		for (struct lane *lane = queue->lanes; lane; lane = lane->next)
			lane_sync(q, lane);
	}
	offer_set(q, &queue->offer, strict && head && !head->lane->group ? head : NULL);
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
	offer_set(q, &g->offer, best ? elastic_lane_head(best) : NULL);
}

static struct group **node_group(const struct elastic_queues *q, uint32_t node, uint32_t resource,
				 enum group_kind kind)
{
	size_t at = ((size_t)node * q->n_resources + resource) * GROUP_NODE_KINDS + (size_t)kind;
	return &q->node_groups[at];
}

struct group *elastic_group_at(struct elastic_queues *q, uint32_t node, uint32_t resource,
			       enum group_kind kind)
{
	struct group **slot = node_group(q, node, resource, kind);
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

/* Takes a lane out of its group; the group goes when it was the last. The lane's own offer is the
 * caller's to set. */
static void group_remove(struct elastic_queues *q, struct lane *lane)
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
		*node_group(q, g->node, g->resource, g->kind) = NULL;
		free(g);
	}
}

void elastic_lane_file(struct elastic_queues *q, struct lane *lane, struct group *g, int64_t need)
{
	assert(!lane->group && elastic_lane_head(lane));
	lane->group = g;
	lane->need = need;
	rank_insert(&g->lanes, &lane->by_group);
	if (g->kind == GROUP_MIN)
		q->queues[lane->node].n_min_lanes++;
	if (g->kind < GROUP_NODE_KINDS) {
		for (uint32_t n = lane->node; q->waiting_above && n != g->node;
		     n = quota_tree_parent(q->quota, n))
			q->waiting_above[n]++;
	}
	elastic_group_sync(q, g);
	lane_sync(q, lane);
	queue_sync(q, &q->queues[lane->node]);
}

void elastic_lane_ready(struct elastic_queues *q, struct lane *lane)
{
	if (!lane->group)
		return;
	group_remove(q, lane);
	lane_sync(q, lane);
	queue_sync(q, &q->queues[lane->node]);
}

struct quota_request elastic_lane_request(const struct lane *lane)
{
	return (struct quota_request){
	    .amounts = lane->amounts,
	    .n_amounts = lane->n_amounts,
	    .nonpreemptible = lane->nonpreemptible,
	};
}

#define LANE_KEY_MAX                                                                               \
	(3 * sizeof(uint32_t) + QUOTA_MAX_RESOURCES * (sizeof(uint32_t) + sizeof(int64_t)))

static size_t key_put(char *key, size_t len, const void *bytes, size_t n)
{
	memcpy(key + len, bytes, n);
	return len + n;
}

/* Field by field: a struct's padding is no part of a key. */
static size_t lane_key(char *key, uint32_t node, uint32_t shape, bool nonpreemptible,
		       const struct quota_amount *amounts, size_t n_amounts)
{
	uint32_t flag = nonpreemptible;
	size_t len = key_put(key, 0, &node, sizeof(node));
	len = key_put(key, len, &shape, sizeof(shape));
	len = key_put(key, len, &flag, sizeof(flag));
	for (size_t i = 0; i < n_amounts; i++) {
		len = key_put(key, len, &amounts[i].resource, sizeof(amounts[i].resource));
		len = key_put(key, len, &amounts[i].value, sizeof(amounts[i].value));
	}
	return len;
}

struct lane *elastic_lane_get(struct elastic_queues *q, const struct elastic_unit_spec *spec)
{
	assert(spec->node < q->n_nodes && spec->n_amounts <= QUOTA_MAX_RESOURCES);
	char key[LANE_KEY_MAX];
	size_t len = lane_key(key, spec->node, spec->shape, spec->nonpreemptible, spec->amounts,
			      spec->n_amounts);
	struct lane *lane = map_get(&q->lanes, span_make(key, len));
	if (!lane) {
		lane = xcalloc(1, sizeof(*lane));
		lane->node = spec->node;
		lane->shape = spec->shape;
		lane->nonpreemptible = spec->nonpreemptible;
		lane->n_amounts = spec->n_amounts;
		lane->amounts = xcalloc(spec->n_amounts, sizeof(*lane->amounts));
		if (spec->n_amounts)
			memcpy(lane->amounts, spec->amounts,
			       spec->n_amounts * sizeof(*lane->amounts));
		lane->offer.kind = OFFER_LANE;
		rank_init(&lane->units, &by_lane_order);
		struct queue *queue = &q->queues[lane->node];
		lane->next = queue->lanes;
		if (lane->next)
			lane->next->prev = lane;
		queue->lanes = lane;
		map_put(&q->lanes, span_make(key, len), lane);
	}
	lane->refs++;
	return lane;
}

void elastic_lane_unref(struct elastic_queues *q, struct lane *lane)
{
	if (--lane->refs > 0)
		return;
	assert(!lane->group && !lane->offer.unit && rank_len(&lane->units) == 0);
	char key[LANE_KEY_MAX];
	size_t len = lane_key(key, lane->node, lane->shape, lane->nonpreemptible, lane->amounts,
			      lane->n_amounts);
	map_remove(&q->lanes, span_make(key, len));
	if (lane->prev)
		lane->prev->next = lane->next;
	else
		q->queues[lane->node].lanes = lane->next;
	if (lane->next)
		lane->next->prev = lane->prev;
	free(lane->amounts);
	free(lane);
}

/* A lane's place in its group is that of its head: out and in again when the head changes. */
static void change_units(struct elastic_queues *q, struct lane *lane, struct elastic_unit *unit,
			 bool enter)
{
	struct elastic_unit *head = elastic_lane_head(lane);
	if (!enter && lane->group && rank_len(&lane->units) == 1)
		group_remove(q, lane); /* nobody in it waits any more */
	bool moves = lane->group && (enter ? unit_before(unit, head) : head == unit);
	if (moves)
		rank_remove(&lane->group->lanes, &lane->by_group);
	if (enter)
		rank_insert(&lane->units, &unit->by_lane);
	else
		rank_remove(&lane->units, &unit->by_lane);
	if (moves) {
		rank_insert(&lane->group->lanes, &lane->by_group);
		elastic_group_sync(q, lane->group);
	}
}

void elastic_lane_enter(struct elastic_queues *q, struct elastic_unit *unit)
{
	struct queue *queue = &q->queues[unit->lane->node];
	bool later = queue->config.policy == ELASTIC_INTELLIGENT && !unit->lane->nonpreemptible;
	/* Signed numbers in the order of unsigned ones; high priorities first. */
	uint32_t of_queue = INT32_MAX - (uint32_t)queue->config.priority;
	uint32_t own = INT32_MAX - (uint32_t)unit->priority;
	unit->rank = (uint64_t)of_queue << 32 | own;
	unit->age = (uint64_t)later << 63 | (uint64_t)unit->first_attempt;
	rank_insert(&queue->units, &unit->by_queue);
	change_units(q, unit->lane, unit, true);
	q->n_pending++;
	lane_sync(q, unit->lane);
	queue_sync(q, queue);
	elastic_lane_changed(q, unit->lane->node);
}

void elastic_lane_leave(struct elastic_queues *q, struct elastic_unit *unit)
{
	struct queue *queue = &q->queues[unit->lane->node];
	rank_remove(&queue->units, &unit->by_queue);
	change_units(q, unit->lane, unit, false);
	q->n_pending--;
	lane_sync(q, unit->lane);
	queue_sync(q, queue);
	elastic_lane_changed(q, unit->lane->node);
}

/* A release that a floor absorbs leaves the nodes above as they were, but makes what their waiters
 * below this floor need there less: those are looked at again. */
static void retry_below(struct elastic_queues *q, uint32_t floor_node)
{
	uint32_t end = elastic_tree_subtree_end(q->tree, floor_node);
	for (uint32_t n = floor_node; n < end; n++) {
		for (struct lane *lane = q->queues[n].lanes; lane; lane = lane->next) {
			struct group *g = lane->group;
			/* Above: an ancestor, which preorder numbers lower. */
			if (g && g->kind < GROUP_NODE_KINDS && g->node < floor_node)
				elastic_lane_ready(q, lane);
		}
	}
}

void elastic_lane_released(struct elastic_queues *q, uint32_t node, const struct quota_request *req)
{
	for (uint32_t n = node; n != QUOTA_NO_NODE; n = quota_tree_parent(q->quota, n)) {
		bool absorbs = false;
		for (size_t i = 0; i < req->n_amounts; i++) {
			uint32_t r = req->amounts[i].resource;
			if (r >= q->n_resources)
				continue;
			for (int kind = 0; q->n_node_groups[n] && kind < GROUP_NODE_KINDS; kind++) {
				struct group *g = *node_group(q, n, r, (enum group_kind)kind);
				if (g)
					elastic_group_sync(q, g);
			}
			absorbs = absorbs || (q->waiting_above && q->waiting_above[n] &&
					      quota_tree_local(q->quota, n, r) > 0);
		}
		if (absorbs)
			retry_below(q, n);
		if (q->queues[n].n_min_lanes == 0)
			continue;
		/* This quota may stand below its own min now, and then nobody's min is in its way.
		 */
		for (struct lane *lane = q->queues[n].lanes; lane; lane = lane->next) {
			if (lane->group && lane->group->kind == GROUP_MIN)
				elastic_lane_ready(q, lane);
		}
	}
	elastic_lane_changed(q, node);
}

void elastic_lane_changed(struct elastic_queues *q, uint32_t node)
{
	if (!q->options.check_oversold || !quota_tree_is_leaf(q->quota, node))
		return;
	struct queue *queue = &q->queues[node];
	uint64_t below = 0;
	for (uint32_t r = 0; rank_len(&queue->units) > 0 && r < q->n_resources; r++) {
		struct quota_state s;
		quota_tree_get(q->quota, node, r, &s);
		if (s.used < s.nominal_oversold && r != elastic_tree_jobs_resource(q->tree))
			below |= (uint64_t)1 << r;
	}
	uint64_t changed = below ^ queue->below;
	queue->below = below;
	for (uint32_t r = 0; changed && r < q->n_resources; r++) {
		uint64_t bit = (uint64_t)1 << r;
		if (!(changed & bit))
			continue;
		q->n_below[r] += below & bit ? 1 : (uint32_t)-1;
		if (q->n_below[r] == 0)
			elastic_group_sync(q, &q->min_groups[r]);
	}
}
