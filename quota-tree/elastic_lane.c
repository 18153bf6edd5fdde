#include "quota-tree/elastic_lane.h"
#include "base/num.h"
#include "quota-tree/elastic_group.h"
#include <assert.h>

bool elastic_unit_before(const struct elastic_unit *a, const struct elastic_unit *b)
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
	return elastic_unit_before(rank_entry_const(a, struct elastic_unit, by_queue),
				   rank_entry_const(b, struct elastic_unit, by_queue));
}

static bool by_lane_before(const struct rank_node *a, const struct rank_node *b)
{
	return elastic_unit_before(rank_entry_const(a, struct elastic_unit, by_lane),
				   rank_entry_const(b, struct elastic_unit, by_lane));
}

struct elastic_unit *elastic_lane_head(const struct lane *lane)
{
	struct rank_node *n = rank_first(&lane->units);
	return n ? rank_entry(n, struct elastic_unit, by_lane) : NULL;
}

const struct rank_order elastic_by_queue_order = {.before = by_queue_before};
static const struct rank_order by_lane_order = {.before = by_lane_before};

static void lane_sync(struct elastic_queues *q, struct lane *lane)
{
	bool offered = !lane->group && !q->queues[lane->node].strict;
	elastic_group_offer(q, &lane->offer, offered ? elastic_lane_head(lane) : NULL);
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
	elastic_group_offer(q, &queue->offer, strict && head && !head->lane->group ? head : NULL);
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
	elastic_group_leave(q, lane);
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
		elastic_group_leave(q, lane); /* nobody in it waits any more */
	bool moves = lane->group && (enter ? elastic_unit_before(unit, head) : head == unit);
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
				struct group *g =
				    *elastic_group_slot(q, n, r, (enum group_kind)kind);
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

uint32_t elastic_lane_oversold_by(const struct elastic_queues *q, const struct lane *lane)
{
	if (!q->options.check_oversold || lane->nonpreemptible)
		return QUOTA_NO_RESOURCE;
	uint32_t found = QUOTA_NO_RESOURCE;
	for (size_t i = 0; i < lane->n_amounts; i++) {
		uint32_t r = lane->amounts[i].resource;
		struct quota_state s;
		if (r >= q->n_resources || r == elastic_tree_jobs_resource(q->tree))
			continue;
		quota_tree_get(q->quota, lane->node, r, &s);
		if (s.used < s.nominal_oversold)
			return QUOTA_NO_RESOURCE;
		if (found == QUOTA_NO_RESOURCE && q->n_below[r] > 0)
			found = r;
	}
	return found;
}
