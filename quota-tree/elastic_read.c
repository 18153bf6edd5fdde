/*
 * Reading the queues: who stands where, and why (elastic_queue.h).
 */
#include "quota-tree/elastic_group.h"
#include <assert.h>
#include <errno.h>

static const char *const policy_names[ELASTIC_POLICY_MAX] = {
    [ELASTIC_PRIORITY] = "Priority",
    [ELASTIC_BLOCK] = "Block",
    [ELASTIC_INTELLIGENT] = "Intelligent",
};

const char *elastic_policy_to_string(enum elastic_policy policy)
{
	return policy >= 0 && policy < ELASTIC_POLICY_MAX ? policy_names[policy] : "";
}

int elastic_policy_from_string(struct span name, enum elastic_policy *ret)
{
	if (name.len == 0 || span_is(name, "Round")) {
		*ret = ELASTIC_PRIORITY;
		return 0;
	}
	for (int i = 0; i < ELASTIC_POLICY_MAX; i++) {
		if (span_is(name, policy_names[i])) {
			*ret = (enum elastic_policy)i;
			return 0;
		}
	}
	return -EINVAL;
}

static void add_head(struct elastic_unit **out, size_t *n, size_t max, struct elastic_unit *unit)
{
	size_t at = *n;

	while (at > 0 && elastic_by_queue_order.before(&unit->by_queue, &out[at - 1]->by_queue))
		at--;
	if (at == max)
		return;
	*n += *n < max;
	for (size_t i = *n - 1; i > at; i--)
		out[i] = out[i - 1];
	out[at] = unit;
}

size_t elastic_queue_heads(const struct elastic_queues *q, struct elastic_unit **out, size_t max)
{
	size_t n = 0;

	for (uint32_t node = 0; node < q->n_nodes && max > 0; node++) {
		const struct queue *queue = &q->queues[node];
		if (queue->strict && rank_len(&queue->units) > 0) {
			add_head(out, &n, max, elastic_queue_at(q, node, 1));
			continue;
		}
		for (const struct lane *l = queue->lanes; l; l = l->next) {
			struct elastic_unit *head = elastic_lane_head(l);
			if (head)
				add_head(out, &n, max, head);
		}
	}
	return n;
}

void *elastic_unit_owner(const struct elastic_unit *unit)
{
	return unit->owner;
}

uint32_t elastic_unit_node(const struct elastic_unit *unit)
{
	return unit->lane->node;
}

uint32_t elastic_unit_shape(const struct elastic_unit *unit)
{
	return unit->lane->shape;
}

int32_t elastic_unit_priority(const struct elastic_unit *unit)
{
	return unit->priority;
}

struct span elastic_unit_name(const struct elastic_unit *unit)
{
	return unit->name;
}

bool elastic_unit_is_admitted(const struct elastic_unit *unit)
{
	return unit->admitted;
}

struct quota_request elastic_unit_request(const struct elastic_unit *unit)
{
	return elastic_lane_request(unit->lane);
}

size_t elastic_queue_pending(const struct elastic_queues *q, uint32_t node)
{
	assert(node < q->n_nodes);
	return rank_len(&q->queues[node].units);
}

size_t elastic_queue_pending_total(const struct elastic_queues *q)
{
	return q->n_pending;
}

size_t elastic_queue_admitted_total(const struct elastic_queues *q)
{
	return q->n_admitted;
}

size_t elastic_queue_position(const struct elastic_queues *q, const struct elastic_unit *unit)
{
	if (unit->admitted)
		return 0;
	return rank_of(&q->queues[unit->lane->node].units, &unit->by_queue) + 1;
}

struct elastic_unit *elastic_queue_at(const struct elastic_queues *q, uint32_t node,
				      size_t position)
{
	assert(node < q->n_nodes);
	struct rank_node *n = position ? rank_at(&q->queues[node].units, position - 1) : NULL;
	return n ? rank_entry(n, struct elastic_unit, by_queue) : NULL;
}

/* The first other leaf below its min with pending units, for the resource that
 * elastic_lane_oversold_by() names.
 */
static uint32_t find_blocker(const struct elastic_queues *q, uint32_t resource)
{
	for (uint32_t n = 0; n < q->n_nodes; n++) {
		if (q->queues[n].below & ((uint64_t)1 << resource))
			return n;
	}
	return QUOTA_NO_NODE;
}

/* What stops the lane itself, whatever stands ahead of it; ELASTIC_READY if nothing. */
static enum elastic_state lane_state(const struct elastic_queues *q, const struct lane *lane,
				     struct elastic_standing *ret)
{
	struct quota_request req = elastic_lane_request(lane);
	if (!quota_tree_test(q->quota, lane->node, &req, &ret->verdict))
		return ELASTIC_QUOTA;
	uint32_t r = elastic_lane_oversold_by(q, lane);
	if (r != QUOTA_NO_RESOURCE) {
		ret->blocker = find_blocker(q, r);
		return ELASTIC_MIN;
	}
	if (elastic_queue_shape_is_parked(q, lane->shape))
		return ELASTIC_PLACEMENT;
	return lane->group == &q->skipped || lane->group == &q->held ? ELASTIC_SKIPPED
								     : ELASTIC_READY;
}

void elastic_queue_standing(const struct elastic_queues *q, const struct elastic_unit *unit,
			    struct elastic_standing *ret)
{
	struct lane *lane = unit->lane;
	const struct queue *queue = &q->queues[lane->node];
	*ret = (struct elastic_standing){
	    .state = ELASTIC_ADMITTED,
	    .node = lane->node,
	    .pending = rank_len(&queue->units),
	    .blocker = QUOTA_NO_NODE,
	};
	if (unit->admitted)
		return;
	ret->position = elastic_queue_position(q, unit);
	ret->state = lane_state(q, lane, ret);
	const struct elastic_unit *head = elastic_queue_at(q, lane->node, 1);
	struct elastic_standing of_head = {0};
	if (queue->strict && head != unit && lane_state(q, head->lane, &of_head) != ELASTIC_READY) {
		ret->state = ELASTIC_BEHIND;
		ret->ahead = head;
	}
}
