/*
 * The public face of the queues: units come and go, offers are taken, refusals are filed. What is
 * filed where, and what is offered when, is elastic_lane.c.
 */
#include "quota-tree/elastic_queue.h"
#include "base/num.h"
#include "quota-tree/elastic_lane.h"
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
	elastic_lane_init(q);
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
	elastic_lane_done(q);
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

/* The resource for which another leaf's min stands before this lane, or QUOTA_NO_RESOURCE. A lane
 * whose own quota is below its min in something it asks may go; a leaf counted in n_below for a
 * resource that is asked is then never the lane's own. */
static uint32_t oversold_by(const struct elastic_queues *q, const struct lane *lane)
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
	uint32_t r = oversold_by(q, lane);
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

/* The first other leaf below its min with pending units, for the resource that oversold_by() names.
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
	uint32_t r = oversold_by(q, lane);
	if (r != QUOTA_NO_RESOURCE) {
		ret->blocker = find_blocker(q, r);
		return ELASTIC_MIN;
	}
	if (elastic_queue_shape_is_parked(q, lane->shape))
		return ELASTIC_PLACEMENT;
	return lane->group && lane->group->kind == GROUP_SKIP ? ELASTIC_SKIPPED : ELASTIC_READY;
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

/* What is charged without the admitted units must be nothing. */
static int check_usage(const struct elastic_queues *q, struct err *reterr)
{
	struct quota_tree *quota = quota_tree_dup(q->quota);
	size_t n_admitted = 0, n_pending = 0;
	for (const struct elastic_unit *u = q->units; u; u = u->next) {
		struct quota_request req = elastic_lane_request(u->lane);
		n_admitted += u->admitted;
		n_pending += !u->admitted;
		if (u->admitted)
			quota_tree_release(quota, u->lane->node, &req);
	}
	int result = 0;
	for (uint32_t n = 0; n < q->n_nodes && result == 0; n++) {
		for (uint32_t r = 0; r < q->n_resources && result == 0; r++) {
			struct quota_state s;
			quota_tree_get(quota, n, r, &s);
			if (s.used != 0 || s.nonpreemptible_used != 0)
				result = err_set(reterr, ERR_INTERNAL,
						 "node %u holds %lld that no unit has", n,
						 (long long)s.used);
		}
	}
	quota_tree_destroy(quota);
	if (result == 0 && (n_admitted != q->n_admitted || n_pending != q->n_pending))
		result = err_set(reterr, ERR_INTERNAL, "units are miscounted");
	return result;
}

/* Every lane with pending units is offered, or in a group that offers what could fit, or held back
 * by a strict queue whose head is. */
static int check_lane(const struct elastic_queues *q, const struct lane *lane, struct err *reterr)
{
	const struct queue *queue = &q->queues[lane->node];
	struct elastic_unit *head = elastic_lane_head(lane);
	if (!head)
		return lane->group || lane->offer.unit
			   ? err_set(reterr, ERR_INTERNAL, "an empty lane waits")
			   : 0;
	if (lane->group) {
		if (lane->offer.unit)
			return err_set(reterr, ERR_INTERNAL, "a lane waits and is offered");
		if (elastic_group_best(q, lane->group) && !lane->group->offer.unit)
			return err_set(reterr, ERR_INTERNAL, "a group does not offer its best");
		return 0;
	}
	struct elastic_unit *first = elastic_queue_at(q, lane->node, 1);
	if (queue->strict ? queue->offer.unit != (first->lane->group ? NULL : first)
			  : lane->offer.unit != head)
		return err_set(reterr, ERR_INTERNAL, "a ready lane of node %u is not offered",
			       lane->node);
	return 0;
}

int elastic_queue_check(const struct elastic_queues *q, struct err *reterr)
{
	int r = quota_tree_check(q->quota, reterr);
	if (r == 0)
		r = check_usage(q, reterr);
	for (uint32_t n = 0; n < q->n_nodes && r == 0; n++) {
		size_t in_lanes = 0;
		for (const struct lane *l = q->queues[n].lanes; l && r == 0; l = l->next) {
			in_lanes += rank_len(&l->units);
			r = check_lane(q, l, reterr);
		}
		if (r == 0 && in_lanes != rank_len(&q->queues[n].units))
			r = err_set(reterr, ERR_INTERNAL, "a unit of node %u is in no lane", n);
	}
	return r;
}
