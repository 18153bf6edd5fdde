#include "fixture.h"

/*
 * Random histories of a small fleet: nodes come, change and go, pods too, clusters lose their
 * health, jobs are assumed, observed and dropped. After every step a decision from the incremental
 * structures must equal the one computed from scratch; now and then everything incremental is
 * recomputed.
 */

enum { CLUSTERS = 6, NODES = 5, SHAPES = 14, POLICIES = 4, ASKS = SHAPES * POLICIES, PODS = 40 };

struct history {
	struct world w;
	uint64_t rnd;
	struct shape *shapes[SHAPES];
	struct ask *asks[ASKS];
	bool alive[CLUSTERS];
	struct pod {
		uint32_t cluster, node;
		int64_t cpu, gpu;
		bool used;
	} pods[PODS];
	uint64_t next_job, jobs[32];
	uint64_t digest; /* of all decisions */
	uint64_t fits, wakes;
};

static const char *const cluster_names[CLUSTERS] = {"c1", "c2", "c3", "c4", "c5", "c6"};
static const char *const node_names[NODES] = {"n1", "n2", "n3", "n4", "n5"};

static void put_cluster(struct history *h, int c)
{
	static const struct taint taint = {SPAN("maintenance"), SPAN(""), TAINT_NO_EXECUTE};
	struct label label = {SPAN("tier"), below(&h->rnd, 2) ? SPAN("gold") : SPAN("iron")};
	struct cluster_spec spec = {
	    .name = span_of(cluster_names[c]),
	    .labels = &label,
	    .n_labels = 1,
	    .region = c % 2 ? SPAN("north") : SPAN("south"),
	    .taints = &taint,
	    .n_taints = below(&h->rnd, 6) == 0,
	    .ready = below(&h->rnd, 8) != 0,
	    .fresh = below(&h->rnd, 8) != 0,
	    .cordoned = below(&h->rnd, 8) == 0,
	    .sum_of_free = below(&h->rnd, 12) == 0,
	};
	uint32_t id;

	assert_int_equal(cluster_view_upsert(h->w.f, &spec, &id, &h->w.err), 0);
	h->alive[c] = true;
}

static uint32_t cluster_id(struct history *h, int c)
{
	return cluster_view_find(h->w.f, span_of(cluster_names[c]));
}

static void put_node(struct history *h, int c)
{
	static const struct taint taint = {SPAN("dedicated"), SPAN("x"), TAINT_NO_SCHEDULE};
	const char *name = node_names[below(&h->rnd, NODES)];
	struct label labels[] = {{SPAN("zone"), below(&h->rnd, 2) ? SPAN("a") : SPAN("b")},
				 {SPAN("kubernetes.io/hostname"), span_of(name)}};
	struct node_spec more = {
	    .labels = labels,
	    .n_labels = 2,
	    .taints = &taint,
	    .n_taints = below(&h->rnd, 6) == 0,
	    .ready = below(&h->rnd, 8) != 0,
	    .unschedulable = below(&h->rnd, 10) == 0,
	};

	add_node(&h->w, cluster_id(h, c), name, (1 + below(&h->rnd, 16)) * 1000, below(&h->rnd, 9),
		 &more);
}

static void make_shapes(struct history *h)
{
	static const struct label zone = {SPAN("zone"), SPAN("b")};
	static const struct label host = {SPAN("kubernetes.io/hostname"), SPAN("n2")};
	static const struct toleration tolerates = {.key = SPAN("dedicated"), .exists = true};

	for (int i = 0; i < SHAPES; i++) {
		struct request buf[3][2];
		struct pod_set sets[3];
		size_t n = 1 + (size_t)(i % 3 == 2) + (size_t)(i % 6 == 5);
		for (size_t s = 0; s < n; s++) {
			sets[s] = pods(&h->w, "set", 1 + below(&h->rnd, 6),
				       below(&h->rnd, 4) * 1000, below(&h->rnd, 4), buf[s]);
			sets[s].selector = i == 7 ? &host : &zone;
			sets[s].n_selector = i % 4 == 1 || i == 7;
			sets[s].tolerations = &tolerates;
			sets[s].n_tolerations = i % 2 == 0;
		}
		h->shapes[i] = shape_of(&h->w, sets, n, i == 4 || i == 8 ? "zone" : NULL);
	}
}

static void make_asks(struct history *h)
{
	static const struct span first[] = {SPAN("c1"), SPAN("c4")};
	static const struct span not_c2[] = {SPAN("c2")};
	static const struct label gold = {SPAN("tier"), SPAN("gold")};
	static const struct toleration all = {.exists = true};
	const struct cluster_affinity groups[] = {
	    {.name = SPAN("near"), .cluster_names = first, .n_cluster_names = 2},
	    {.name = SPAN("far"), .exclude = not_c2, .n_exclude = 1},
	};
	const struct cluster_affinity labelled = {
	    .has_labels = true, .labels = {.match_labels = &gold, .n_match_labels = 1}};
	const struct placement_spec policies[POLICIES] = {
	    {0},
	    {.affinities = groups, .n_affinities = 2},
	    {.affinities = &labelled, .n_affinities = 1, .tolerations = &all, .n_tolerations = 1},
	    {.sum_of_free = true},
	};

	for (int i = 0; i < ASKS; i++)
		h->asks[i] = ask_of(&h->w, h->shapes[i % SHAPES], &policies[i / SHAPES]);
}

static struct history *history_create(uint64_t seed)
{
	struct history *h = xcalloc(1, sizeof(*h));

	h->rnd = seed;
	h->w = world_create();
	for (int c = 0; c < CLUSTERS; c++) {
		put_cluster(h, c);
		for (int n = 0; n < NODES; n++)
			put_node(h, c);
	}
	make_shapes(h);
	make_asks(h);
	return h;
}

static void history_destroy(struct history *h)
{
	for (int i = 0; i < ASKS; i++) {
		waiting_unpark(h->w.w, h->asks[i]);
		placer_ask_unref(h->w.p, h->asks[i]);
	}
	for (int i = 0; i < SHAPES; i++)
		fleet_shape_unref(h->w.f, h->shapes[i]);
	world_done(&h->w);
	free(h);
}

/* ---- steps ---- */

static void step_pod(struct history *h)
{
	struct pod *p = &h->pods[below(&h->rnd, PODS)];
	int c = (int)below(&h->rnd, CLUSTERS);

	if (p->used) {
		charge_pod(&h->w, p->cluster, p->node, p->cpu, p->gpu, false);
		p->used = false;
		return;
	}
	if (!h->alive[c])
		return;
	*p = (struct pod){.cluster = cluster_id(h, c),
			  .cpu = below(&h->rnd, 4000),
			  .gpu = below(&h->rnd, 3),
			  .used = true};
	/* Also on nodes that are not there yet. */
	assert_int_equal(cluster_view_node_ref(h->w.f, p->cluster,
					       span_of(node_names[below(&h->rnd, NODES)]), &p->node,
					       &h->w.err),
			 0);
	charge_pod(&h->w, p->cluster, p->node, p->cpu, p->gpu, true);
}

static void step_node(struct history *h)
{
	int c = (int)below(&h->rnd, CLUSTERS);

	if (!h->alive[c])
		return;
	if (below(&h->rnd, 4)) {
		put_node(h, c);
		return;
	}
	uint32_t id = cluster_id(h, c);
	uint32_t node =
	    cluster_view_node_find(h->w.f, id, span_of(node_names[below(&h->rnd, NODES)]));
	if (node != NODE_NONE)
		cluster_view_node_remove(h->w.f, id, node);
}

static void drop_cluster(struct history *h, int c)
{
	uint32_t id = cluster_id(h, c);

	for (size_t i = 0; i < ARRAY_LEN(h->jobs); i++)
		if (h->jobs[i] && ledger_cluster(h->w.l, h->jobs[i]) == id)
			ledger_drop(h->w.l, h->jobs[i]);
	for (int i = 0; i < PODS; i++)
		if (h->pods[i].used && h->pods[i].cluster == id)
			h->pods[i].used = false;
	cluster_view_remove(h->w.f, id);
	h->alive[c] = false;
}

static void step_cluster(struct history *h)
{
	int c = (int)below(&h->rnd, CLUSTERS);

	if (!h->alive[c] || below(&h->rnd, 20))
		put_cluster(h, c);
	else
		drop_cluster(h, c);
}

static void step_job(struct history *h)
{
	size_t at = (size_t)below(&h->rnd, (int64_t)ARRAY_LEN(h->jobs));

	if (h->jobs[at] && below(&h->rnd, 2)) {
		/* A pod of the job shows up bound, on whichever node. */
		ledger_observe(h->w.l, h->jobs[at], (uint32_t)below(&h->rnd, 3),
			       (uint32_t)below(&h->rnd, NODES));
		return;
	}
	if (h->jobs[at])
		ledger_drop(h->w.l, h->jobs[at]);
	h->jobs[at] = 0;
	if (place(&h->w, h->asks[below(&h->rnd, ASKS)], h->next_job + 1) != CLUSTER_NONE)
		h->jobs[at] = ++h->next_job;
}

static void step(struct history *h)
{
	switch (below(&h->rnd, 10)) {
	case 0:
		step_cluster(h);
		break;
	case 1:
	case 2:
		step_node(h);
		break;
	case 3:
	case 4:
	case 5:
		step_job(h);
		break;
	default:
		step_pod(h);
	}
}

/* ---- checks ---- */

static void compare(struct history *h)
{
	struct verdict v[CLUSTERS];
	struct ask *a = h->asks[below(&h->rnd, ASKS)];
	uint32_t cached = decide(&h->w, a), scratch = CLUSTER_NONE;
	size_t n = placement_explain(h->w.p, a, NULL, 0, 0, v, CLUSTERS);

	for (size_t i = 0; i < n; i++)
		if (v[i].code == VERDICT_FITS) {
			assert_int_equal(scratch, CLUSTER_NONE);
			scratch = v[i].cluster;
		}
	assert_int_equal(cached, scratch);
	h->fits += cached != CLUSTER_NONE;
	h->digest = (h->digest ^ cached) * 0x100000001b3ULL;
}

static void decisions_from_the_cache_equal_those_from_scratch(void **state)
{
	struct history *h = history_create(1);

	for (int i = 0; i < 100000; i++) {
		step(h);
		compare(h);
		if (i % 100 == 0)
			assert_null(fleet_verify(h->w.f));
	}
	assert_true(h->fits > 20000 && h->fits < 80000);
	history_destroy(h);
}

static void one_history_gives_one_sequence_of_decisions(void **state)
{
	uint64_t digest[2];

	for (int run = 0; run < 2; run++) {
		struct history *h = history_create(7);
		for (int i = 0; i < 5000; i++) {
			step(h);
			compare(h);
		}
		digest[run] = h->digest;
		history_destroy(h);
	}
	assert_true(digest[0] == digest[1]);
}

/* Whether a decision about the ask is exact, so that less free can never make it fit. */
static bool is_exact(const struct ask *a)
{
	return a->shape->n_parts == 1 && !a->shape->exclusive;
}

static void no_ask_that_a_change_lets_fit_stays_parked(void **state)
{
	struct history *h = history_create(3);

	for (int i = 0; i < 20000; i++) {
		struct ask *woken;

		step(h);
		while ((woken = waiting_next(h->w.w)))
			h->wakes++;
		for (int k = 0; k < ASKS; k++) {
			struct ask *a = h->asks[k];
			bool parked = waiting_is_parked(h->w.w, a);
			if (parked && !is_exact(a))
				continue;
			bool fits = decide(&h->w, a) != CLUSTER_NONE;
			assert_false(parked && fits);
			if (!fits)
				waiting_park(h->w.w, a);
		}
	}
	assert_true(h->wakes > 1000);
	history_destroy(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(decisions_from_the_cache_equal_those_from_scratch),
	    cmocka_unit_test(one_history_gives_one_sequence_of_decisions),
	    cmocka_unit_test(no_ask_that_a_change_lets_fit_stays_parked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
