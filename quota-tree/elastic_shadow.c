#include "quota-tree/elastic_shadow.h"

#include "base/num.h"
#include "quota-tree/elastic_lane.h"
#include <stdlib.h>

void elastic_shadow_done(struct elastic_shadow *s)
{
	vec_done(&s->slack);
	vec_done(&s->rooms);
}

static int cmp_ending(const void *a, const void *b)
{
	const struct elastic_ending *x = a, *y = b;
	return (x->at > y->at) - (x->at < y->at);
}

void elastic_ending_sort(struct elastic_ending *endings, size_t n)
{
	if (n > 1)
		qsort(endings, n, sizeof(*endings), cmp_ending);
}

/* ---- trials ---- */

struct ends VEC(struct elastic_ending);

struct cast {
	struct quota_tree *quota;
	struct ends ends; /* those too of who was cast before, and holds his quota ahead */
	size_t done;	  /* of them, released on trial */
};

static void release(struct cast *c, size_t i, bool undo)
{
	const struct elastic_unit *u = c->ends.items[i].unit;
	struct quota_request req = elastic_lane_request(u->lane);
	if (!undo)
		quota_tree_release(c->quota, u->lane->node, &req);
	else if (quota_tree_charge_forced(c->quota, u->lane->node, &req) < 0)
		abort(); /* it was there before */
}

/* Everybody who ends at `at` or before; the next end. */
static int64_t let_end(struct cast *c, int64_t at)
{
	while (c->done < c->ends.len && c->ends.items[c->done].at <= at)
		release(c, c->done++, false);
	return c->done < c->ends.len ? c->ends.items[c->done].at : ELASTIC_SHADOW_NEVER;
}

static bool fits(const struct cast *c, const struct elastic_shadow *s)
{
	struct quota_request req = elastic_lane_request(s->unit->lane);
	return quota_tree_test(c->quota, s->unit->lane->node, &req, NULL);
}

/* ---- the slack ---- */

static void measure(const struct quota_tree *quota, struct elastic_shadow *s)
{
	const struct lane *l = s->unit->lane;

	vec_clear(&s->slack);
	for (uint32_t n = l->node; n != QUOTA_NO_NODE; n = quota_tree_parent(quota, n))
		for (size_t i = 0; i < l->n_amounts; i++) {
			uint32_t r = l->amounts[i].resource;
			int64_t room = r < quota_tree_n_resources(quota)
					   ? quota_tree_room(quota, n, r, l->nonpreemptible)
					   : QUOTA_UNLIMITED;
			vec_push(&s->slack, num_sub_sat(room, l->amounts[i].value));
		}
}

/* ---- lenders ---- */

struct top_up {
	uint32_t node;
	struct quota_amount amount;
};
struct top_ups VEC(struct top_up);

static int64_t left_of_min(const struct quota_tree *quota, uint32_t node, uint32_t resource)
{
	struct quota_state s;
	quota_tree_get(quota, node, resource, &s);
	return num_max(0, num_sub_sat(s.nominal_oversold, s.used));
}

/* Charges what is left of the child's min; returns how much that is. */
static int64_t fill_up(struct cast *c, struct elastic_shadow *s, uint32_t child,
		       struct top_ups *done)
{
	const struct lane *l = s->unit->lane;
	int64_t sum = 0;

	for (uint32_t i = 0; i < l->n_amounts; i++) {
		struct top_up t = {child, {l->amounts[i].resource, 0}};
		if (t.amount.resource >= quota_tree_n_resources(c->quota))
			continue;
		t.amount.value = left_of_min(c->quota, child, t.amount.resource);
		const struct quota_request req = {&t.amount, 1, l->nonpreemptible};
		if (t.amount.value == 0 || quota_tree_charge_forced(c->quota, child, &req) < 0)
			continue;
		vec_push(done, t);
		vec_push(&s->rooms, (struct elastic_side_room){child, i, t.amount.value});
		sum = num_add_sat(sum, t.amount.value);
	}
	return sum;
}

static void find_lender(struct cast *c, const struct elastic_tree *tree, struct elastic_shadow *s)
{
	struct top_ups done = {0};
	uint32_t most = QUOTA_NO_NODE;
	int64_t best = 0;

	vec_clear(&s->rooms);
	for (uint32_t below = s->unit->lane->node, n = quota_tree_parent(c->quota, below);
	     n != QUOTA_NO_NODE; below = n, n = quota_tree_parent(c->quota, n)) {
		for (uint32_t child = n + 1; child < elastic_tree_subtree_end(tree, n);
		     child = elastic_tree_subtree_end(tree, child)) {
			int64_t sum = child == below ? 0 : fill_up(c, s, child, &done);
			if (sum <= best)
				continue;
			best = sum;
			most = child;
		}
	}
	s->lender = most;
	if (fits(c, s)) {
		s->lender = QUOTA_NO_NODE;
		measure(c->quota, s);
	}
	vec_foreach (&done, t) {
		const struct quota_request req = {&t->amount, 1, s->unit->lane->nonpreemptible};
		quota_tree_release(c->quota, t->node, &req);
	}
	vec_done(&done);
}

/* ---- the shadow time ---- */

static void cast_one(struct cast *c, const struct elastic_tree *tree, struct elastic_shadow *s,
		     int64_t now)
{
	int64_t at = now, next = let_end(c, now);

	s->at = ELASTIC_SHADOW_NEVER;
	s->lender = QUOTA_NO_NODE;
	vec_clear(&s->slack);
	vec_clear(&s->rooms);
	while (!fits(c, s) && next != ELASTIC_SHADOW_NEVER) {
		at = next;
		next = let_end(c, at);
	}
	if (fits(c, s)) {
		s->at = at;
		measure(c->quota, s);
		find_lender(c, tree, s);
	}
	while (c->done > 0)
		release(c, --c->done, true);
}

/* False: the sums would overflow, then it is nobody's concern. */
static bool hold_ahead(struct cast *c, const struct elastic_shadow *s)
{
	struct elastic_ending e = {num_add_sat(s->at, s->limit), s->unit};
	struct quota_request req = elastic_lane_request(s->unit->lane);
	size_t at = c->ends.len;

	if (quota_tree_charge_forced(c->quota, s->unit->lane->node, &req) < 0)
		return false;
	if (e.at == ELASTIC_SHADOW_NEVER)
		return true;
	vec_push(&c->ends, e);
	for (; at > 0 && c->ends.items[at - 1].at > e.at; at--)
		c->ends.items[at] = c->ends.items[at - 1];
	c->ends.items[at] = e;
	return true;
}

void elastic_shadow_cast(struct elastic_queues *q, struct elastic_shadow *const *shadows,
			 size_t n_shadows, const struct elastic_ending *endings, size_t n,
			 int64_t now)
{
	struct cast c = {.quota = q->quota};
	struct VEC(const struct elastic_unit *) ahead = {0};

	for (size_t i = 0; i < n && endings[i].at != ELASTIC_SHADOW_NEVER; i++)
		vec_push(&c.ends, endings[i]);
	for (size_t i = 0; i < n_shadows; i++) {
		cast_one(&c, q->tree, shadows[i], now);
		if (shadows[i]->at != ELASTIC_SHADOW_NEVER && hold_ahead(&c, shadows[i]))
			vec_push(&ahead, shadows[i]->unit);
	}
	vec_foreach (&ahead, u) {
		struct quota_request req = elastic_lane_request((*u)->lane);
		quota_tree_release(q->quota, (*u)->lane->node, &req);
	}
	vec_done(&ahead);
	vec_done(&c.ends);
}

/* ---- who may pass ---- */

static bool is_below(const struct elastic_queues *q, uint32_t node, uint32_t above)
{
	return node >= above && node < elastic_tree_subtree_end(q->tree, above);
}

/* The child of `node` that the other one stands below, or is; QUOTA_NO_NODE when it is the node. */
static uint32_t side_of(const struct elastic_queues *q, uint32_t node, uint32_t other)
{
	uint32_t side = QUOTA_NO_NODE;
	for (uint32_t n = other; n != node; n = quota_tree_parent(q->quota, n))
		side = n;
	return side;
}

static int64_t asked(const struct elastic_unit *u, uint32_t resource)
{
	for (size_t i = 0; i < u->lane->n_amounts; i++)
		if (u->lane->amounts[i].resource == resource)
			return u->lane->amounts[i].value;
	return 0;
}

static int64_t *room_of(const struct elastic_shadow *s, uint32_t side, uint32_t amount)
{
	vec_foreach (&s->rooms, r)
		if (s->lender == QUOTA_NO_NODE && r->side == side && r->amount == amount)
			return &r->room;
	return NULL;
}

/* Non-preemptible units are held to a node's min where it has one: others do not matter there. */
static bool matters(const struct elastic_queues *q, const struct elastic_shadow *s,
		    const struct elastic_unit *unit, uint32_t node, uint32_t resource)
{
	struct quota_state state;

	if (!s->unit->lane->nonpreemptible || unit->lane->nonpreemptible)
		return true;
	quota_tree_get(q->quota, node, resource, &state);
	return state.firm == QUOTA_UNLIMITED;
}

/* Where the paths meet, and from there to the root. */
static uint32_t meet(const struct elastic_queues *q, const struct elastic_shadow *s,
		     const struct elastic_unit *unit, size_t *ret_place)
{
	uint32_t n = s->unit->lane->node;
	size_t place = 0;
	for (; n != QUOTA_NO_NODE && !is_below(q, unit->lane->node, n);
	     n = quota_tree_parent(q->quota, n))
		place++;
	*ret_place = place;
	return n;
}

static bool is_in_time(const struct elastic_shadow *s, int64_t ends_at)
{
	return ends_at != ELASTIC_SHADOW_NEVER && ends_at <= s->at;
}

bool elastic_shadow_lets(const struct elastic_queues *q, const struct elastic_shadow *s,
			 const struct elastic_unit *unit, int64_t ends_at)
{
	const struct lane *l = s->unit->lane;
	size_t place;

	if (s->at == ELASTIC_SHADOW_NEVER)
		return unit->lane->node != l->node;
	if (is_in_time(s, ends_at))
		return true;
	uint32_t from = meet(q, s, unit, &place);
	uint32_t side = from == QUOTA_NO_NODE ? from : side_of(q, from, unit->lane->node);
	for (uint32_t i = 0; i < l->n_amounts && from != QUOTA_NO_NODE; i++) {
		uint32_t r = l->amounts[i].resource;
		int64_t value = asked(unit, r);
		if (value == 0 || r >= quota_tree_n_resources(q->quota) ||
		    (side != QUOTA_NO_NODE && value <= left_of_min(q->quota, side, r)))
			continue;
		const int64_t *room = side == QUOTA_NO_NODE ? NULL : room_of(s, side, i);
		value = room ? num_max(0, value - *room) : value;
		size_t k = place;
		for (uint32_t n = from; n != QUOTA_NO_NODE; n = quota_tree_parent(q->quota, n), k++)
			if (matters(q, s, unit, n, r) &&
			    value > s->slack.items[k * l->n_amounts + i])
				return false;
	}
	return true;
}

void elastic_shadow_took(const struct elastic_queues *q, struct elastic_shadow *s,
			 const struct elastic_unit *unit, int64_t ends_at)
{
	const struct lane *l = s->unit->lane;
	size_t place;

	if (s->at == ELASTIC_SHADOW_NEVER || is_in_time(s, ends_at))
		return;
	uint32_t from = meet(q, s, unit, &place);
	uint32_t side = from == QUOTA_NO_NODE ? from : side_of(q, from, unit->lane->node);
	for (uint32_t i = 0; i < l->n_amounts && from != QUOTA_NO_NODE; i++) {
		int64_t value = asked(unit, l->amounts[i].resource);
		int64_t *room = side == QUOTA_NO_NODE ? NULL : room_of(s, side, i);
		int64_t own = room ? num_min(*room, value) : 0;
		if (room)
			*room -= own;
		for (size_t k = place; k * l->n_amounts < s->slack.len; k++) {
			int64_t *slack = &s->slack.items[k * l->n_amounts + i];
			*slack = num_sub_sat(*slack, value - own);
		}
	}
}
