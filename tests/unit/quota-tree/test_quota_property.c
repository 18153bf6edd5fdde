/*
 * Random forests, random charges, releases and edits; after every step the engine's numbers must be
 * those of a full recomputation from the list of charges, by the definitions of quota_tree.h in
 * 128 bits: no cells, no local, no increments.
 */
#include "base/num.h"
#include "quota-tree/quota_tree.h"
#include "testing.h"
#include <errno.h>

#define NODES	  40
#define RESOURCES 4
#define CHARGES	  48
#define STEPS	  15000

typedef __int128 wide;

struct charge {
	bool live;
	uint32_t node;
	bool nonpreemptible;
	size_t n;
	struct quota_amount amounts[RESOURCES];
};

struct world {
	uint64_t rng;
	bool edges; /* numbers near the ends of int64 */
	uint32_t n_nodes;
	uint32_t parents[NODES];
	uint32_t depths[NODES];
	bool stated[NODES][RESOURCES];
	struct quota_limit limits[NODES][RESOURCES];
	int64_t permille;
	bool max_binds_all;
	struct charge charges[CHARGES];
	struct quota_tree *tree;
	/* the recomputation */
	wide used[NODES][RESOURCES], counted[NODES][RESOURCES], firm_used[NODES][RESOURCES];
	size_t accepted, refused, forced, edits;
};

static const char *const names[RESOURCES] = {"cpu", "memory", "gpu", "jobs"};

static int64_t pick_number(struct world *w)
{
	if (w->edges && test_below(&w->rng, 3) == 0)
		return INT64_MAX - 1 - (int64_t)test_below(&w->rng, 100);
	if (w->edges && test_below(&w->rng, 4) == 0)
		return INT64_MAX / 2 - 50 + (int64_t)test_below(&w->rng, 100);
	return (int64_t)test_below(&w->rng, 40);
}

static int64_t pick_or_unlimited(struct world *w, uint32_t one_in)
{
	return test_below(&w->rng, one_in) == 0 ? UNLIMITED : pick_number(w);
}

static void pick_limits(struct world *w)
{
	for (uint32_t n = 0; n < w->n_nodes; n++) {
		for (uint32_t r = 0; r < RESOURCES; r++) {
			w->stated[n][r] = test_below(&w->rng, 5) > 0;
			w->limits[n][r] = (struct quota_limit){
			    .resource = span_of(names[r]),
			    .nominal = pick_number(w),
			    .borrowing = pick_or_unlimited(w, 5),
			    .lending =
				test_below(&w->rng, w->edges ? 12 : 2) ? UNLIMITED : pick_number(w),
			    .firm = pick_or_unlimited(w, 4),
			};
		}
	}
	/* Every resource is named, so that the engine's indexes are ours. */
	for (uint32_t r = 0; r < RESOURCES; r++)
		w->stated[0][r] = true;
}

static int64_t scaled(const struct world *w, int64_t v)
{
	wide s = (wide)v * w->permille / 1000;
	return v == UNLIMITED || s > UNLIMITED ? UNLIMITED : (int64_t)s;
}

static int64_t max_of(const struct world *w, uint32_t n, uint32_t r)
{
	const struct quota_limit *l = &w->limits[n][r];
	return w->stated[n][r] ? scaled(w, num_add_sat(l->nominal, l->borrowing)) : UNLIMITED;
}

static int64_t firm_of(const struct world *w, uint32_t n, uint32_t r)
{
	return w->stated[n][r] ? scaled(w, w->limits[n][r].firm) : UNLIMITED;
}

static int64_t floor_of(const struct world *w, uint32_t n, uint32_t r)
{
	const struct quota_limit *l = &w->limits[n][r];
	return w->stated[n][r] && l->nominal > l->lending ? l->nominal - l->lending : 0;
}

static wide wide_max(wide a, wide b)
{
	return a > b ? a : b;
}

/* All numbers, from the list of charges and perhaps one more. */
static void recompute(struct world *w, const struct charge *extra)
{
	memset(w->used, 0, sizeof(w->used));
	memset(w->counted, 0, sizeof(w->counted));
	memset(w->firm_used, 0, sizeof(w->firm_used));
	for (size_t i = 0; i <= CHARGES; i++) {
		const struct charge *c = i < CHARGES ? &w->charges[i] : extra;
		if (!c || !c->live)
			continue;
		for (size_t k = 0; k < c->n; k++) {
			uint32_t r = c->amounts[k].resource;
			w->used[c->node][r] += c->amounts[k].value;
			w->counted[c->node][r] += c->amounts[k].value;
			if (c->nonpreemptible)
				w->firm_used[c->node][r] += c->amounts[k].value;
		}
	}
	for (uint32_t n = w->n_nodes; n-- > 0;) {
		uint32_t p = w->parents[n];
		for (uint32_t r = 0; p != QUOTA_NO_NODE && r < RESOURCES; r++) {
			w->used[p][r] += w->used[n][r];
			w->counted[p][r] += wide_max(w->counted[n][r], floor_of(w, n, r));
			w->firm_used[p][r] += w->firm_used[n][r];
		}
	}
}

/* What the engine must answer, and at which node and resource. */
static enum quota_reason naive_test(struct world *w, const struct charge *c, uint32_t *node,
				    uint32_t *resource)
{
	static wide before[NODES][RESOURCES];
	recompute(w, NULL);
	memcpy(before, w->counted, sizeof(before));
	recompute(w, c);
	for (uint32_t n = c->node; n != QUOTA_NO_NODE; n = w->parents[n]) {
		for (size_t k = 0; k < c->n; k++) {
			uint32_t r = c->amounts[k].resource;
			bool by_firm = c->nonpreemptible && firm_of(w, n, r) != UNLIMITED;
			*node = n;
			*resource = r;
			if (w->used[n][r] > INT64_MAX)
				return QUOTA_OVERFLOW;
			if (by_firm && w->firm_used[n][r] > firm_of(w, n, r))
				return QUOTA_OVER_FIRM;
			if (by_firm && !w->max_binds_all)
				continue;
			if (max_of(w, n, r) != UNLIMITED && w->counted[n][r] > before[n][r] &&
			    w->counted[n][r] > max_of(w, n, r))
				return QUOTA_OVER_MAX;
		}
	}
	return QUOTA_FITS;
}

static int build_tree(struct world *w, struct quota_tree **ret)
{
	struct quota_node_spec nodes[NODES];
	static struct quota_limit packed[NODES][RESOURCES];
	for (uint32_t n = 0; n < w->n_nodes; n++) {
		size_t len = 0;
		for (uint32_t r = 0; r < RESOURCES; r++) {
			if (w->stated[n][r])
				packed[n][len++] = w->limits[n][r];
		}
		nodes[n] = (struct quota_node_spec){w->parents[n], packed[n], len};
	}
	struct quota_spec spec = {.nodes = nodes,
				  .n_nodes = w->n_nodes,
				  .oversell_permille = w->permille,
				  .max_binds_all = w->max_binds_all};
	return quota_tree_create(&spec, ret, NULL);
}

static bool floors_overflow(struct world *w)
{
	struct charge saved[CHARGES];
	memcpy(saved, w->charges, sizeof(saved));
	memset(w->charges, 0, sizeof(w->charges));
	recompute(w, NULL);
	memcpy(w->charges, saved, sizeof(saved));
	for (uint32_t n = 0; n < w->n_nodes; n++) {
		for (uint32_t r = 0; r < RESOURCES; r++) {
			if (w->counted[n][r] > INT64_MAX)
				return true;
		}
	}
	return false;
}

/* New limits on the same nodes, and all that runs charged again: an edit, or a restart. */
static void rebuild(struct world *w)
{
	struct quota_tree *next = NULL;
	do {
		pick_limits(w);
		int r = build_tree(w, &next);
		assert_int_equal(r != 0, floors_overflow(w));
	} while (!next);
	quota_tree_destroy(w->tree);
	w->tree = next;
	for (size_t i = 0; i < CHARGES; i++) {
		const struct charge *c = &w->charges[i];
		struct quota_request req = {c->amounts, c->n, c->nonpreemptible};
		if (c->live)
			assert_int_equal(quota_tree_charge_forced(w->tree, c->node, &req), 0);
	}
}

static void pick_tree(struct world *w)
{
	w->n_nodes = 1 + test_below(&w->rng, NODES);
	w->permille = test_below(&w->rng, 3) ? 1000 : 1 + test_below(&w->rng, 3000);
	w->max_binds_all = test_below(&w->rng, 3) == 0;
	memset(w->charges, 0, sizeof(w->charges));
	for (uint32_t n = 0; n < w->n_nodes; n++) {
		/* Mostly one tree, sometimes a forest; at most six deep. */
		w->parents[n] =
		    n == 0 || test_below(&w->rng, 25) == 0 ? QUOTA_NO_NODE : test_below(&w->rng, n);
		while (w->parents[n] != QUOTA_NO_NODE && w->depths[w->parents[n]] >= 6)
			w->parents[n] = w->parents[w->parents[n]];
		w->depths[n] = w->parents[n] == QUOTA_NO_NODE ? 1 : w->depths[w->parents[n]] + 1;
	}
	rebuild(w);
}

static void pick_charge(struct world *w, struct charge *c)
{
	*c = (struct charge){.live = true,
			     .node = test_below(&w->rng, w->n_nodes),
			     .nonpreemptible = test_below(&w->rng, 3) == 0};
	for (uint32_t r = 0; r < RESOURCES; r++) {
		int64_t value =
		    test_below(&w->rng, 2) ? pick_number(w) : 1 + test_below(&w->rng, 5);
		if (test_below(&w->rng, 2) && value > 0)
			c->amounts[c->n++] = (struct quota_amount){r, value};
	}
}

static void expect_numbers(struct world *w)
{
	recompute(w, NULL);
	for (uint32_t n = 0; n < w->n_nodes; n++) {
		for (uint32_t r = 0; r < RESOURCES; r++) {
			struct quota_state s;
			quota_tree_get(w->tree, n, r, &s);
			wide counted = w->counted[n][r] > INT64_MAX ? INT64_MAX : w->counted[n][r];
			assert_true(s.used == w->used[n][r]);
			assert_true(s.counted == counted);
			assert_true(s.nonpreemptible_used == w->firm_used[n][r]);
		}
	}
}

static void expect_explained(struct world *w, const struct charge *c, enum quota_reason reason,
			     uint32_t node)
{
	struct quota_verdict path[QUOTA_MAX_DEPTH];
	struct quota_request req = {c->amounts, c->n, c->nonpreemptible};
	size_t depth = quota_tree_explain(w->tree, c->node, &req, path, QUOTA_MAX_DEPTH);
	assert_int_equal(depth, w->depths[c->node]);
	enum quota_reason first = QUOTA_FITS;
	bool never = false;
	for (size_t i = 0; i < depth; i++) {
		if (first == QUOTA_FITS && path[i].reason != QUOTA_FITS) {
			first = path[i].reason;
			assert_int_equal(path[i].node, node);
		}
		if (path[i].reason != QUOTA_FITS)
			assert_true((wide)path[i].counted + path[i].request > path[i].limit);
		never = never || path[i].never;
	}
	assert_int_equal(first == QUOTA_FITS, reason == QUOTA_FITS);

	struct charge saved[CHARGES];
	uint32_t at, resource;
	memcpy(saved, w->charges, sizeof(saved));
	memset(w->charges, 0, sizeof(w->charges));
	enum quota_reason empty = naive_test(w, c, &at, &resource);
	memcpy(w->charges, saved, sizeof(saved));
	assert_int_equal(never, empty != QUOTA_FITS);
}

static void expect_headroom(struct world *w, uint32_t node, uint32_t resource)
{
	int64_t room = quota_tree_headroom(w->tree, node, resource);
	struct charge c = {.live = true, .node = node, .n = 1, .amounts = {{resource, room}}};
	uint32_t at, which;
	if (room > 0)
		assert_int_equal(naive_test(w, &c, &at, &which), QUOTA_FITS);
	if (room < INT64_MAX) {
		c.amounts[0].value = room + 1;
		assert_int_not_equal(naive_test(w, &c, &at, &which), QUOTA_FITS);
	}
}

static void step_charge(struct world *w, struct charge *slot)
{
	struct charge c;
	pick_charge(w, &c);
	struct quota_request req = {c.amounts, c.n, c.nonpreemptible};
	uint32_t node = 0, resource = 0;
	enum quota_reason reason = naive_test(w, &c, &node, &resource);
	struct quota_verdict v = {0};
	if (test_below(&w->rng, 8) == 0)
		expect_explained(w, &c, reason, node);
	bool fits = quota_tree_test(w->tree, c.node, &req, &v);
	assert_int_equal(fits, reason == QUOTA_FITS);
	if (!fits) {
		assert_int_equal(v.reason, reason);
		assert_int_equal(v.node, node);
		assert_int_equal(v.resource, resource);
		assert_true((wide)v.counted + v.request > v.limit);
		w->refused++;
	}
	bool force = !fits && test_below(&w->rng, 6) == 0;
	int r = force ? quota_tree_charge_forced(w->tree, c.node, &req)
		      : quota_tree_charge(w->tree, c.node, &req, NULL);
	if (force)
		assert_int_equal(r == -EOVERFLOW, reason == QUOTA_OVERFLOW || r != 0);
	else
		assert_int_equal(r, fits ? 0 : -EDQUOT);
	if (r == 0)
		*slot = c;
	w->accepted += r == 0;
	w->forced += r == 0 && force;
}

static void run(uint64_t seed, bool edges)
{
	static struct world w;
	memset(&w, 0, sizeof(w));
	w.rng = seed;
	w.edges = edges;
	for (int step = 0; step < STEPS; step++) {
		if (step % 500 == 0)
			pick_tree(&w);
		struct charge *slot = &w.charges[test_below(&w.rng, CHARGES)];
		if (test_below(&w.rng, 120) == 0) {
			rebuild(&w);
			w.edits++;
		} else if (slot->live) {
			struct quota_request req = {slot->amounts, slot->n, slot->nonpreemptible};
			quota_tree_release(w.tree, slot->node, &req);
			slot->live = false;
		} else {
			step_charge(&w, slot);
		}
		expect_numbers(&w);
		if (step % 16 == 0)
			expect_headroom(&w, test_below(&w.rng, w.n_nodes),
					test_below(&w.rng, RESOURCES));
		struct err err = ERR_INIT;
		if (step % 16 == 0 && quota_tree_check(w.tree, &err) != 0)
			fail_msg("%s", err.text);
	}
	/* The test is worth nothing if it walks one side only. */
	assert_true(w.accepted > STEPS / 10 && w.refused > STEPS / 10);
	assert_true(w.forced > 10 && w.edits > 10);
	w.tree = quota_tree_destroy(w.tree);
}

static void incremental_numbers_equal_a_full_recomputation(void **state)
{
	(void)state;
	static const uint64_t seeds[] = {1, 2, 3, 4, 5};
	for (size_t i = 0; i < ARRAY_LEN(seeds); i++)
		run(seeds[i], false);
}

static void they_do_at_the_ends_of_int64_too(void **state)
{
	(void)state;
	static const uint64_t seeds[] = {11, 12, 13, 14, 15};
	for (size_t i = 0; i < ARRAY_LEN(seeds); i++)
		run(seeds[i], true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(incremental_numbers_equal_a_full_recomputation),
	    cmocka_unit_test(they_do_at_the_ends_of_int64_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
