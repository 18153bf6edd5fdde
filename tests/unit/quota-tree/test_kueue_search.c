/*
 * Assignments and searches for victims on random forests: what they promise must hold whatever the
 * numbers, and the forest must stand as before, byte for byte.
 */
#include "kueue_testing.h"
#include "quota-tree/kueue_node.h"

enum { QUEUES = 8, HOLDERS = 60, ROUNDS = 400 };

static const struct span flavors[] = {SPAN("f0"), SPAN("f1")};
static const struct span resources[] = {SPAN("cpu"), SPAN("memory")};

struct world {
	struct kt_world w;
	uint64_t rng;
	uint32_t queues[QUEUES];
	struct VEC(struct kueue_workload *) holders;
	size_t fits, preempts, victims, borrowing, foreign, combinations, rooms;
};

static int64_t number(struct world *w, uint32_t below)
{
	return (int64_t)test_below(&w->rng, below);
}

static int64_t limit(struct world *w, uint32_t below)
{
	return test_below(&w->rng, 3) ? NO : number(w, below);
}

static void pick_quotas(struct world *w, struct kueue_quota quotas[4], uint32_t most)
{
	for (size_t i = 0; i < 4; i++)
		quotas[i] =
		    (struct kueue_quota){number(w, most), limit(w, 2 * most), limit(w, most)};
}

static void make_forest(struct world *w)
{
	struct kueue_quota quotas[4];
	const struct kueue_group_spec group = {resources, 2, flavors, 2, quotas};
	static const char *const cohorts[] = {"root", "left", "right", "deep"};
	static const char *const parents[] = {NULL, "root", "root", "left"};
	static const char *const homes[] = {"root", "left", "right", "deep"};
	struct err err = ERR_INIT;

	kt_flavor(w->w.f, "f0");
	kt_flavor(w->w.f, "f1");
	for (size_t i = 0; i < ARRAY_LEN(cohorts); i++) {
		pick_quotas(w, quotas, 8);
		const struct kueue_cohort_spec spec = {.name = span_of(cohorts[i]),
						       .parent = span_of(parents[i]),
						       .groups = &group,
						       .n_groups = test_below(&w->rng, 2),
						       .weight = (double)number(w, 3)};
		assert_ok(kueue_forest_set_cohort(w->w.f, &spec, &err), &err);
	}
	for (int i = 0; i < QUEUES; i++) {
		char name[8];

		snprintf(name, sizeof(name), "q%d", i);
		pick_quotas(w, quotas, 30);
		struct kueue_queue_spec spec = {
		    .weight = (double)number(w, 3),
		    .when_can_borrow = (enum kueue_fungibility)number(w, 2),
		    .when_can_preempt = (enum kueue_fungibility)number(w, 2),
		    .preference = (enum kueue_preference)number(w, 2),
		    .preemption = {.within_cluster_queue = (enum kueue_preempt_policy)number(w, 3),
				   .reclaim_within_cohort = test_below(&w->rng, 2)
								? KUEUE_PREEMPT_ANY
								: KUEUE_PREEMPT_LOWER_PRIORITY,
				   .borrow_within_cohort = (enum kueue_preempt_policy)number(w, 2),
				   .has_max_priority_threshold = test_below(&w->rng, 2),
				   .max_priority_threshold = (int32_t)number(w, 4)}};
		w->queues[i] =
		    kt_queue_of(w->w.f, name, homes[test_below(&w->rng, 4)], &group, 1, &spec);
	}
}

/* One or two pod sets of some cpu and memory. */
static struct kueue_workload *make_workload(struct world *w, uint32_t most, int64_t at)
{
	struct kueue_request requests[2] = {{resources[0], 1 + number(w, most)},
					    {resources[1], number(w, most)}};
	const struct kueue_pod_set sets[] = {
	    {.name = SPAN("a"), .count = 1, .requests = requests, .n_requests = 2},
	    {.name = SPAN("b"),
	     .count = 1 + (int32_t)number(w, 3),
	     .min_count = (int32_t)number(w, 2),
	     .requests = requests,
	     .n_requests = 1}};
	char name[24];
	const struct kueue_workload_spec spec = {
	    .name = span_of(name),
	    .uid = span_of(name),
	    .priority = (int32_t)number(w, 5),
	    .queue_order = at,
	    .created = at,
	    .pod_sets = sets,
	    .n_pod_sets = 1 + test_below(&w->rng, 2),
	};
	struct kueue_workload *wl;
	struct err err = ERR_INIT;

	snprintf(name, sizeof(name), "w%llu", (unsigned long long)test_random(&w->rng));
	assert_ok(kueue_workload_create(&w->w.shapes, w->w.f,
					w->queues[test_below(&w->rng, QUEUES)], &spec, &wl, &err),
		  &err);
	return wl;
}

static void dump(const struct world *w, struct buf *out)
{
	vec_foreach (&w->w.f->nodes, n)
		for (size_t i = 0; *n && i < (*n)->row.len; i++)
			buf_add(out,
				(const char *)&(*n)->tree->cells.items[(*n)->row.items[i].cell],
				sizeof(struct kueue_cell));
}

static void assert_sums(const struct world *w, const struct kueue_workload *wl)
{
	const struct kueue_assignment *a = &w->w.a;

	vec_foreach (&a->uses, use) {
		int64_t sum = 0;
		for (size_t i = 0; i < a->choices.len; i++)
			if (a->choices.items[i].flavor == use->flavor &&
			    a->choices.items[i].resource == use->resource)
				sum += a->requests.items[i].value;
		assert_int_equal(use->value, sum);
		assert_true(kueue_forest_lists(w->w.f, wl->queue, use->flavor, use->resource));
	}
}

static bool holds_needed(const struct world *w, const struct kueue_workload *victim)
{
	vec_foreach (&w->w.a.choices, c)
		for (size_t i = 0; i < victim->n_uses; i++)
			if (c->mode != KUEUE_FIT && c->flavor == victim->uses[i].flavor &&
			    c->resource == victim->uses[i].resource)
				return true;
	return false;
}

/* Whether the queue uses more than its quota in a cell that needs preemption. */
static bool borrows_needed(const struct world *w, uint32_t queue)
{
	vec_foreach (&w->w.a.choices, c) {
		const struct kueue_use use = {c->flavor, c->resource, 0};
		if (c->mode != KUEUE_FIT && kueue_forest_borrows_on(w->w.f, queue, &use, 1))
			return true;
	}
	return false;
}

static bool allowed(const struct world *w, const struct kueue_workload *wl,
		    const struct kueue_workload *victim)
{
	const struct kueue_preemption *p = &kueue_forest_queue_spec(w->w.f, wl->queue)->preemption;
	enum kueue_preempt_policy policy =
	    victim->queue == wl->queue ? p->within_cluster_queue : p->reclaim_within_cohort;

	if (policy == KUEUE_PREEMPT_ANY)
		return true;
	if (policy == KUEUE_PREEMPT_NEVER)
		return false;
	return victim->priority < wl->priority ||
	       (policy == KUEUE_PREEMPT_LOWER_OR_NEWER_EQUAL && victim->priority == wl->priority &&
		victim->queue_order > wl->queue_order);
}

static void assert_victims(struct world *w, const struct kueue_workload *wl)
{
	struct kueue_forest *f = w->w.f;
	const struct kueue_assignment *a = &w->w.a;
	size_t mark = kueue_forest_mark(f);

	vec_foreach (&w->w.v.items, v) {
		assert_true(holds_needed(w, v->workload));
		assert_true(allowed(w, wl, v->workload));
		if (v->workload->queue != wl->queue) {
			assert_int_equal(kueue_forest_root(f, v->workload->queue),
					 kueue_forest_root(f, wl->queue));
			assert_true(borrows_needed(w, v->workload->queue));
			w->foreign++;
		}
	}
	vec_foreach (&w->w.v.items, v)
		kueue_forest_release(f, v->workload->queue, v->workload->uses, v->workload->n_uses);
	assert_true(kueue_forest_fits(f, wl->queue, a->uses.items, a->uses.len));
	assert_int_equal(kueue_forest_borrows_with(f, wl->queue, a->uses.items, a->uses.len),
			 w->w.v.borrows);
	/* Nobody goes who could stay. */
	vec_foreach (&w->w.v.items, v) {
		size_t inner = kueue_forest_mark(f);
		kueue_forest_charge(f, v->workload->queue, v->workload->uses, v->workload->n_uses);
		assert_false(kueue_forest_fits(f, wl->queue, a->uses.items, a->uses.len) &&
			     !kueue_forest_borrows_with(f, wl->queue, a->uses.items, a->uses.len));
		if (w->w.v.borrows || f->options.fair_sharing)
			assert_false(kueue_forest_fits(f, wl->queue, a->uses.items, a->uses.len));
		kueue_forest_rollback(f, inner);
	}
	kueue_forest_rollback(f, mark);
	w->preempts++;
	w->victims += w->w.v.items.len;
	w->borrowing += w->w.v.borrows;
}

/* ---- nodes: holders of an even number sit on one each ---- */

struct nodes {
	int free, needed, taken;
};

static bool sits_there(const struct kueue_workload *w)
{
	return w->reserved_at % 2 == 0;
}

static bool useful(void *context, const struct kueue_workload *w)
{
	(void)context;
	return sits_there(w);
}

static void take(void *context, const struct kueue_workload *w)
{
	struct nodes *n = context;

	n->free += sits_there(w);
	n->taken++;
}

static void give_back(void *context, const struct kueue_workload *w)
{
	struct nodes *n = context;

	n->free -= sits_there(w);
	n->taken--;
}

static bool fits(void *context)
{
	const struct nodes *n = context;

	return n->free >= n->needed;
}

/* Victims for quota and nodes: enough of both, nobody for neither, and all given back. */
static void assert_room(struct world *w, const struct kueue_workload *wl)
{
	struct nodes nodes = {.needed = (int)number(w, 4)};
	const struct kueue_room room = {&nodes, useful, take, give_back, fits};
	struct kueue_forest *f = w->w.f;
	const struct kueue_assignment *a = &w->w.a;
	size_t mark;
	int freed = 0;

	kueue_preempt(f, wl, a, &room, &w->w.v);
	assert_int_equal(nodes.free, 0);
	assert_int_equal(nodes.taken, 0);
	if (w->w.v.items.len == 0)
		return;
	mark = kueue_forest_mark(f);
	vec_foreach (&w->w.v.items, v) {
		assert_true(allowed(w, wl, v->workload));
		assert_true(sits_there(v->workload) || holds_needed(w, v->workload));
		kueue_forest_release(f, v->workload->queue, v->workload->uses, v->workload->n_uses);
		freed += sits_there(v->workload);
	}
	assert_true(kueue_forest_fits(f, wl->queue, a->uses.items, a->uses.len));
	assert_true(freed >= nodes.needed);
	kueue_forest_rollback(f, mark);
	w->rooms++;
}

/* Every combination fits and none comes twice, but for those that fit, with victims for nodes. */
static void assert_combinations(struct world *w, const struct kueue_workload *wl)
{
	struct kueue_assignment *a = &w->w.a;
	uint64_t seen[256];
	size_t n = 0;

	do {
		uint64_t hash = 1469598103934665603u + (a->pass == KUEUE_PASS_ROOM);
		vec_foreach (&a->choices, c)
			hash = (hash ^ (c->flavor + 1)) * 1099511628211u;
		for (size_t i = 0; i < n; i++)
			assert_true(seen[i] != hash);
		assert_true(n < ARRAY_LEN(seen));
		seen[n++] = hash;
		assert_sums(w, wl);
		assert_true(a->mode == KUEUE_FIT || a->mode == KUEUE_PREEMPT ||
			    a->mode == KUEUE_RECLAIM);
		if (a->mode == KUEUE_FIT)
			assert_true(
			    kueue_forest_fits(w->w.f, wl->queue, a->uses.items, a->uses.len));
	} while (kueue_assign_next(w->w.f, wl, a));
	assert_int_equal(a->mode, KUEUE_NO_FIT);
	w->combinations += n;
}

static void hold(struct world *w, struct kueue_workload *wl, int64_t at)
{
	wl->n_uses = w->w.a.uses.len;
	wl->uses = xcalloc(wl->n_uses, sizeof(*wl->uses));
	memcpy(wl->uses, w->w.a.uses.items, wl->n_uses * sizeof(*wl->uses));
	wl->state = test_below(&w->rng, 8) ? KUEUE_ADMITTED : KUEUE_EVICTED;
	wl->reserved_at = at;
	kueue_holders_add(w->w.f, wl);
	vec_push(&w->holders, wl);
}

static void let_go(struct world *w, size_t i)
{
	struct kueue_workload *wl = w->holders.items[i];

	w->holders.items[i] = w->holders.items[--w->holders.len];
	kueue_holders_remove(w->w.f, wl);
	kueue_workload_free(&w->w.shapes, wl);
}

static void round_of(struct world *w, int64_t at)
{
	auto_buf before = BUF_INIT, after = BUF_INIT;
	struct kueue_workload *wl = make_workload(w, at % 3 ? 8 : 25, at);

	dump(w, &before);
	kueue_assign(w->w.f, wl, NULL, &w->w.a);
	if (w->w.a.mode == KUEUE_FIT || w->w.a.mode >= KUEUE_PREEMPT)
		assert_combinations(w, wl);
	kueue_nominate(w->w.f, wl, &w->w.a, &w->w.v);
	assert_sums(w, wl);
	if (w->w.v.items.len)
		assert_victims(w, wl);
	if (w->w.a.mode != KUEUE_NO_FIT)
		assert_room(w, wl);
	dump(w, &after);
	assert_true(span_eq(buf_span(&before), buf_span(&after)));
	if (w->w.a.mode == KUEUE_FIT && w->w.a.uses.len && w->holders.len < HOLDERS) {
		w->fits++;
		hold(w, wl, at);
		return;
	}
	kueue_workload_free(&w->w.shapes, wl);
	if (w->holders.len && test_below(&w->rng, 4) == 0)
		let_go(w, test_below(&w->rng, (uint32_t)w->holders.len));
}

static void run(uint64_t seed, bool fair, struct world *total)
{
	struct kueue_options options = kueue_options_default();

	options.fair_sharing = fair;
	options.preempt_within_nominal = seed % 2;
	struct world w = {.w = kt_world_with(options), .rng = seed};
	make_forest(&w);
	kt_check(w.w.f); /* compiles it, for the first dump */
	for (int i = 0; i < ROUNDS; i++)
		round_of(&w, i);
	kt_check(w.w.f);
	while (w.holders.len)
		let_go(&w, 0);
	vec_done(&w.holders);
	kt_done(&w.w);
	total->fits += w.fits;
	total->preempts += w.preempts;
	total->victims += w.victims;
	total->borrowing += w.borrowing;
	total->foreign += w.foreign;
	total->combinations += w.combinations;
	total->rooms += w.rooms;
}

static void assert_busy(const struct world *total)
{
	/* Every branch was really walked. */
	assert_true(total->fits > 500 && total->preempts > 200 && total->foreign > 100);
	assert_true(total->victims > total->preempts && total->borrowing > 20);
	assert_true(total->combinations > 1000 && total->rooms > 500);
}

static void classical_searches_keep_their_promises(void **state)
{
	struct world total = {0};

	for (uint64_t seed = 1; seed <= 30; seed++)
		run(seed, false, &total);
	assert_busy(&total);
}

static void fair_searches_keep_their_promises(void **state)
{
	struct world total = {0};

	for (uint64_t seed = 101; seed <= 130; seed++)
		run(seed, true, &total);
	assert_busy(&total);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(classical_searches_keep_their_promises),
	    cmocka_unit_test(fair_searches_keep_their_promises),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
