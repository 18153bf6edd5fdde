/*
 * Random forests under random edits, charges, releases and trials. After every step the numbers
 * must be those of a recomputation; what fits() allowed must keep every limit; a rollback must
 * restore every byte.
 */
#include "kueue_testing.h"
#include "quota-tree/kueue_node.h"

enum { COHORTS = 6, QUEUES = 10, CHARGES = 60, STEPS = 6000 };

static const struct span flavors[] = {SPAN("f0"), SPAN("f1"), SPAN("f2")};
static const struct span resources[] = {SPAN("cpu"), SPAN("memory"), SPAN("gpu")};

struct charge {
	uint32_t queue;
	size_t n;
	struct kueue_use uses[3];
};

struct world {
	uint64_t rng;
	bool edges; /* numbers near the end of int64 */
	struct kueue_forest *f;
	struct VEC(struct charge) charges;
	size_t refused, allowed, raised;
};

static int64_t pick_number(struct world *w)
{
	if (w->edges && test_below(&w->rng, 8) == 0)
		return INT64_MAX - (int64_t)test_below(&w->rng, 3);
	return (int64_t)test_below(&w->rng, 20);
}

static int64_t pick_limit(struct world *w)
{
	return test_below(&w->rng, 2) ? UNLIMITED : pick_number(w);
}

/* One group of some resources, another of the rest, each with some flavors. */
static size_t pick_groups(struct world *w, struct kueue_group_spec groups[2],
			  struct kueue_quota quotas[18])
{
	size_t split = 1 + test_below(&w->rng, 2), flavor = test_below(&w->rng, 2) + 1, n = 0;

	groups[n++] = (struct kueue_group_spec){resources, split, flavors, flavor, quotas};
	if (test_below(&w->rng, 2))
		groups[n++] = (struct kueue_group_spec){resources + split, 3 - split,
							flavors + flavor, 3 - flavor, quotas + 9};
	for (size_t i = 0; i < 18; i++)
		quotas[i] = (struct kueue_quota){pick_number(w), pick_limit(w), pick_limit(w)};
	return n;
}

static struct span cohort_name(struct world *w, char out[8])
{
	uint32_t i = test_below(&w->rng, COHORTS + 1);

	if (i == COHORTS)
		return SPAN_NONE;
	snprintf(out, 8, "c%u", i);
	return span_of(out);
}

static void edit_queue(struct world *w)
{
	struct kueue_group_spec groups[2];
	struct kueue_quota quotas[18];
	char name[8], cohort[8];
	struct kueue_queue_spec spec = {.weight = 1, .groups = groups};
	struct err err = ERR_INIT;

	snprintf(name, sizeof(name), "q%u", test_below(&w->rng, QUEUES));
	if (test_below(&w->rng, 6) == 0) {
		kueue_forest_remove_queue(w->f, span_of(name));
		return;
	}
	spec.name = span_of(name);
	spec.cohort = cohort_name(w, cohort);
	spec.n_groups = pick_groups(w, groups, quotas);
	assert_ok(kueue_forest_set_queue(w->f, &spec, &err), &err);
}

static void edit_cohort(struct world *w)
{
	struct kueue_group_spec groups[2];
	struct kueue_quota quotas[18];
	char name[8], parent[8];
	struct kueue_cohort_spec spec = {.weight = 1, .groups = groups};
	struct err err = ERR_INIT;

	snprintf(name, sizeof(name), "c%u", test_below(&w->rng, COHORTS));
	if (test_below(&w->rng, 4) == 0) {
		kueue_forest_remove_cohort(w->f, span_of(name));
		return;
	}
	spec.name = span_of(name);
	spec.parent = cohort_name(w, parent);
	spec.n_groups = pick_groups(w, groups, quotas);
	assert_ok(kueue_forest_set_cohort(w->f, &spec, &err), &err);
}

static bool pick_charge(struct world *w, struct charge *ret)
{
	char name[8];
	uint32_t flavor = test_below(&w->rng, 3);

	snprintf(name, sizeof(name), "q%u", test_below(&w->rng, QUEUES));
	*ret = (struct charge){.queue = kueue_forest_queue(w->f, span_of(name))};
	for (uint32_t r = 0; r < 3; r++)
		if (test_below(&w->rng, 2))
			ret->uses[ret->n++] =
			    (struct kueue_use){kueue_forest_intern_flavor(w->f, flavors[flavor]),
					       kueue_forest_resource(w->f, resources[r]),
					       1 + (int64_t)test_below(&w->rng, 8)};
	return ret->queue != KUEUE_NONE && ret->n > 0;
}

/* What charging c raised stands within the limits of every node on the path. */
static void assert_limits(struct world *w, const struct charge *c, const int64_t *before)
{
	for (size_t i = 0; i < c->n; i++) {
		size_t level = 0;
		for (uint32_t at = c->queue; at != KUEUE_NONE;
		     at = kueue_forest_parent(w->f, at), level++) {
			const struct kueue_cell *cell = kueue_cell(
			    kueue_node(w->f, at), c->uses[i].flavor, c->uses[i].resource);
			int64_t max = cell->subtree;
			if (kueue_forest_parent(w->f, at) != KUEUE_NONE)
				max = kueue_amount_add(max, cell->borrowing);
			assert_true(cell->usage <= max || cell->usage == before[level * 3 + i]);
			w->raised += cell->usage != before[level * 3 + i];
		}
	}
}

static void charge(struct world *w, bool forced)
{
	int64_t before[(KUEUE_MAX_DEPTH + 1) * 3] = {0};
	struct charge c;

	if (!pick_charge(w, &c))
		return;
	if (!forced && !kueue_forest_fits(w->f, c.queue, c.uses, c.n)) {
		w->refused++;
		return;
	}
	for (size_t i = 0; i < c.n; i++) {
		size_t level = 0;
		for (uint32_t at = c.queue; at != KUEUE_NONE;
		     at = kueue_forest_parent(w->f, at), level++)
			before[level * 3 + i] =
			    kueue_forest_usage(w->f, at, c.uses[i].flavor, c.uses[i].resource);
	}
	kueue_forest_charge(w->f, c.queue, c.uses, c.n);
	vec_push(&w->charges, c);
	if (forced)
		return;
	w->allowed++;
	assert_limits(w, &c, before);
}

static void release(struct world *w)
{
	if (w->charges.len == 0)
		return;
	size_t i = test_below(&w->rng, (uint32_t)w->charges.len);
	struct charge c = w->charges.items[i];

	w->charges.items[i] = w->charges.items[--w->charges.len];
	kueue_forest_release(w->f, c.queue, c.uses, c.n);
}

/* All usage there is, in the order of nodes and cells. */
static void dump(const struct world *w, struct buf *out)
{
	vec_foreach (&w->f->nodes, n)
		for (size_t i = 0; *n && i < (*n)->row.len; i++) {
			int64_t usage = (*n)->tree->cells.items[(*n)->row.items[i].cell].usage;
			if (usage != 0) {
				buf_add(out, (const char *)&(*n)->row.items[i].key, 8);
				buf_add(out, (const char *)&usage, sizeof(usage));
			}
		}
}

static void try(struct world *w)
{
	auto_buf before = BUF_INIT, after = BUF_INIT;
	size_t mark = kueue_forest_mark(w->f);

	dump(w, &before);
	for (uint32_t i = test_below(&w->rng, 6); i-- > 0;) {
		struct charge c;
		if (test_below(&w->rng, 3) == 0) {
			size_t inner = kueue_forest_mark(w->f);
			if (pick_charge(w, &c))
				kueue_forest_charge(w->f, c.queue, c.uses, c.n);
			kueue_forest_rollback(w->f, inner);
		} else if (w->charges.len > i && test_below(&w->rng, 2)) {
			c = w->charges.items[i];
			kueue_forest_release(w->f, c.queue, c.uses, c.n);
		} else if (pick_charge(w, &c)) {
			kueue_forest_charge(w->f, c.queue, c.uses, c.n);
		}
	}
	kueue_forest_rollback(w->f, mark);
	dump(w, &after);
	assert_true(span_eq(buf_span(&before), buf_span(&after)));
}

/* Without debt every queue can have what it keeps for itself. */
static void assert_lenders_keep_their_own(struct world *w)
{
	vec_foreach (&w->f->nodes, it) {
		const struct kueue_node *n = *it;
		for (size_t i = 0; n && n->queue && i < n->row.len; i++) {
			uint32_t cell = n->row.items[i].cell;
			assert_true(kueue_cell_available(n, cell) >=
				    kueue_cell_local_room(&n->tree->cells.items[cell]));
		}
	}
}

static void assert_usage_is_the_sum_of_charges(struct world *w)
{
	vec_foreach (&w->f->nodes, it) {
		const struct kueue_node *n = *it;
		for (size_t i = 0; n && n->queue && i < n->row.len; i++) {
			const struct kueue_cell *c = &n->tree->cells.items[n->row.items[i].cell];
			int64_t sum = 0;
			vec_foreach (&w->charges, charge)
				for (size_t u = 0; charge->queue == n->number && u < charge->n; u++)
					if (charge->uses[u].flavor == c->flavor &&
					    charge->uses[u].resource == c->resource)
						sum += charge->uses[u].value;
			assert_int_equal(c->usage, sum);
		}
	}
}

/* Who stands below whom is the same before and after the trees are compiled. */
static void assert_ways_up(struct world *w)
{
	struct up {
		uint32_t parent, root;
		enum kueue_inactive active;
	} before[QUEUES + COHORTS + 1];
	struct kueue_forest *f = w->f;
	struct err err = ERR_INIT;

	assert_true(f->nodes.len <= ARRAY_LEN(before));
	for (uint32_t i = 0; i < f->nodes.len; i++)
		if (f->nodes.items[i])
			before[i] = (struct up){kueue_forest_parent(f, i), kueue_forest_root(f, i),
						kueue_forest_active(f, i)};
	assert_ok(kueue_forest_check(f, &err), &err);
	for (uint32_t i = 0; i < f->nodes.len; i++)
		if (f->nodes.items[i]) {
			assert_int_equal(before[i].parent, kueue_forest_parent(f, i));
			assert_int_equal(before[i].root, kueue_forest_root(f, i));
			assert_int_equal(before[i].active, kueue_forest_active(f, i));
			assert_int_equal(before[i].parent, f->nodes.items[i]->parent);
		}
}

static void run(uint64_t seed, bool edges, bool edits)
{
	struct world w = {.rng = seed, .edges = edges, .f = kt_forest()};
	struct err err = ERR_INIT;

	for (int i = 0; i < 40; i++) {
		edit_cohort(&w);
		edit_queue(&w);
	}
	for (int step = 0; step < STEPS; step++) {
		uint32_t dice = test_below(&w.rng, 20);

		if (dice < 8 && w.charges.len < CHARGES)
			charge(&w, edits && dice == 0);
		else if (dice < 14)
			release(&w);
		else if (dice < 18)
			try(&w);
		else if (edits && dice == 18)
			edit_queue(&w);
		else if (edits)
			edit_cohort(&w);
		if (edits && dice >= 18 && step % 4 == 0)
			assert_ways_up(&w);
		if (step % 8 == 0 && kueue_forest_check(w.f, &err) < 0)
			fail_msg("step %d: %s", step, err.text);
		if (step % 8 == 0)
			assert_usage_is_the_sum_of_charges(&w);
		if (!edits)
			assert_lenders_keep_their_own(&w);
	}
	assert_true(w.refused > 50 && w.allowed > 50 && w.raised > 50);
	while (w.charges.len)
		release(&w);
	vec_foreach (&w.f->nodes, n)
		for (size_t i = 0; *n && i < (*n)->row.len; i++)
			assert_int_equal((*n)->tree->cells.items[(*n)->row.items[i].cell].usage, 0);
	vec_done(&w.charges);
	kueue_forest_destroy(w.f);
}

static void numbers_stay_true_under_edits(void **state)
{
	for (uint64_t seed = 1; seed <= 6; seed++)
		run(seed, false, true);
}

static void numbers_near_the_end_of_int64_stay_true(void **state)
{
	for (uint64_t seed = 11; seed <= 14; seed++)
		run(seed, true, true);
}

static void charges_that_fit_keep_every_limit_and_every_lender(void **state)
{
	for (uint64_t seed = 21; seed <= 26; seed++)
		run(seed, false, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(numbers_stay_true_under_edits),
	    cmocka_unit_test(numbers_near_the_end_of_int64_stay_true),
	    cmocka_unit_test(charges_that_fit_keep_every_limit_and_every_lender),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
