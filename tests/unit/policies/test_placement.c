#include "fixture.h"

#include <errno.h>

static void put(struct world *w, const struct cluster_spec *spec)
{
	uint32_t c;

	assert_int_equal(cluster_view_upsert(w->f, spec, &c, &w->err), 0);
}

/* A gang of one small pod, decided under a placement; the name of the cluster, or "". */
static struct span decide_under(struct world *w, const struct placement_spec *p,
				const struct api_kind *kind)
{
	struct shape *s = gang(w, 1, 100, 0);
	struct ask *a;
	static const struct api_kind any;

	assert_int_equal(placer_ask_ref(w->p, s, p, kind ? kind : &any, &a, &w->err), 0);
	uint32_t c = decide(w, a);
	placer_ask_unref(w->p, a);
	fleet_shape_unref(w->f, s);
	return c == CLUSTER_NONE ? SPAN("") : cluster_view_spec(w->f, c)->name;
}

static void affinity_selects_by_names_labels_fields_and_exclusion(void **state)
{
	static const struct label gold = {SPAN("tier"), SPAN("gold")};
	static const struct span zones[] = {SPAN("z1"), SPAN("z2")}, z2[] = {SPAN("z2")},
				 z9[] = {SPAN("z9")}, aws[] = {SPAN("aws")},
				 north[] = {SPAN("north")};
	static const struct span b[] = {SPAN("b")}, a[] = {SPAN("a")},
				 ab[] = {SPAN("a"), SPAN("b")};
	static const struct node_expr zone_in = {SPAN("zone"), NODE_OP_IN, z2, 1},
				      zone_in_none = {SPAN("zone"), NODE_OP_IN, z9, 1},
				      zone_not = {SPAN("zone"), NODE_OP_NOT_IN, z2, 1},
				      provider = {SPAN("provider"), NODE_OP_IN, aws, 1},
				      region_not = {SPAN("region"), NODE_OP_NOT_IN, north, 1};
	static const struct {
		struct cluster_affinity aff;
		const char *chosen;
	} rows[] = {
	    {{.n_exclude = 0}, "a"},
	    {{.cluster_names = b, .n_cluster_names = 1}, "b"},
	    {{.cluster_names = ab, .n_cluster_names = 2, .exclude = a, .n_exclude = 1}, "b"},
	    {{.exclude = ab, .n_exclude = 2}, "c"},
	    {{.has_labels = true, .labels = {.match_labels = &gold, .n_match_labels = 1}}, "b"},
	    {{.fields = &zone_in, .n_fields = 1}, "c"},
	    {{.fields = &zone_in_none, .n_fields = 1}, ""},
	    {{.fields = &zone_not, .n_fields = 1}, "a"},
	    {{.fields = &provider, .n_fields = 1}, "b"},
	    {{.fields = &region_not, .n_fields = 1}, "b"},
	};
	struct world w = world_create();

	put(&w, &(struct cluster_spec){
		    .name = SPAN("a"), .region = SPAN("north"), .ready = true, .fresh = true});
	put(&w, &(struct cluster_spec){.name = SPAN("b"),
				       .labels = &gold,
				       .n_labels = 1,
				       .provider = SPAN("aws"),
				       .ready = true,
				       .fresh = true});
	put(&w, &(struct cluster_spec){
		    .name = SPAN("c"), .zones = zones, .n_zones = 2, .ready = true, .fresh = true});
	for (uint32_t c = 0; c < 3; c++)
		add_nodes(&w, c, 1, 1000, 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct placement_spec p = {.affinities = &rows[i].aff, .n_affinities = 1};
		struct span chosen = decide_under(&w, &p, NULL);
		if (!span_is(chosen, rows[i].chosen))
			fail_msg("row %zu: %.*s", i, SPAN_ARGS(chosen));
	}
	world_done(&w);
}

static void the_first_group_in_which_some_cluster_fits_wins(void **state)
{
	static const struct span first[] = {SPAN("z")}, second[] = {SPAN("a"), SPAN("z")};
	static const struct cluster_affinity groups[] = {
	    {.name = SPAN("home"), .cluster_names = first, .n_cluster_names = 1},
	    {.name = SPAN("spill"), .cluster_names = second, .n_cluster_names = 2},
	};
	static const struct placement_spec p = {.affinities = groups, .n_affinities = 2};
	struct world w = world_create();
	uint32_t z = add_cluster(&w, "z"), a = add_cluster(&w, "a");
	struct shape *s = gang(&w, 4, 100, 1);
	struct ask *ask = ask_of(&w, s, &p);
	struct placement_decision d;

	add_nodes(&w, a, 1, 8000, 4);
	add_nodes(&w, z, 1, 8000, 4);
	/* "a" is the tighter fit, the smaller name, and in the second group. */
	assert_true(placement_decide(w.p, ask, NULL, 0, 0, &d));
	assert_int_equal(d.cluster, z);
	assert_int_equal(d.group, 0);
	charge_pod(&w, z, 0, 0, 1, true);
	assert_true(placement_decide(w.p, ask, NULL, 0, 0, &d));
	assert_int_equal(d.cluster, a);
	assert_int_equal(d.group, 1);
	charge_pod(&w, z, 0, 0, 1, false);
	placer_ask_unref(w.p, ask);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

/* c, then b: what the queue names, in its order, and of it what the policy selects. */
static void clusters_that_a_queue_names_go_in_its_order(void **state)
{
	static const struct span queue[] = {SPAN("c"), SPAN("b"), SPAN("a")}, not_a[] = {SPAN("a")};
	static const struct cluster_affinity policy = {.exclude = not_a, .n_exclude = 1};
	static const struct placement_spec p = {
	    .affinities = &policy, .n_affinities = 1, .only = queue, .n_only = 3};
	struct world w = world_create();
	uint32_t a = add_cluster(&w, "a"), b = add_cluster(&w, "b"), c = add_cluster(&w, "c"),
		 d = add_cluster(&w, "d");
	struct shape *s = gang(&w, 4, 100, 1);
	struct ask *ask = ask_of(&w, s, &p);
	struct placement_decision got;

	add_nodes(&w, a, 1, 8000, 4);
	add_nodes(&w, b, 1, 8000, 4);
	add_nodes(&w, c, 1, 8000, 8);
	add_nodes(&w, d, 1, 8000, 4);
	assert_true(placement_decide(w.p, ask, NULL, 0, 0, &got));
	assert_int_equal(got.cluster, c);
	charge_pod(&w, c, 0, 0, 5, true);
	assert_true(placement_decide(w.p, ask, NULL, 0, 0, &got));
	assert_int_equal(got.cluster, b);
	charge_pod(&w, b, 0, 0, 1, true);
	assert_false(placement_decide(w.p, ask, NULL, 0, 0, &got));
	charge_pod(&w, c, 0, 0, 5, false);
	charge_pod(&w, b, 0, 0, 1, false);
	placer_ask_unref(w.p, ask);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void only_healthy_serving_untainted_clusters_are_candidates(void **state)
{
	static const struct taint taint = {SPAN("cluster.karmada.io/not-ready"), SPAN(""),
					   TAINT_NO_SCHEDULE};
	static const struct toleration all = {.exists = true};
	static const struct api_kind served[] = {{SPAN("kubeflow.org/v1"), SPAN("PyTorchJob")}},
				     other = {SPAN("jobset.x-k8s.io/v1alpha2"), SPAN("JobSet")},
				     old = {SPAN("kubeflow.org/v1beta1"), SPAN("PyTorchJob")};
	static const struct placement_spec any = {0},
					   tolerant = {.tolerations = &all, .n_tolerations = 1};
	struct world w = world_create();
	struct cluster_spec spec = {
	    .name = SPAN("c"), .kinds = served, .n_kinds = 1, .ready = true, .fresh = true};

	put(&w, &spec);
	add_nodes(&w, 0, 1, 1000, 0);
	assert_true(span_is(decide_under(&w, &any, NULL), "c"));
	assert_true(span_is(decide_under(&w, &any, &served[0]), "c"));
	assert_true(span_is(decide_under(&w, &any, &other), ""));
	assert_true(span_is(decide_under(&w, &any, &old), ""));
	cluster_view_set_health(w.f, 0, false, true, 1);
	assert_true(span_is(decide_under(&w, &any, NULL), ""));
	cluster_view_set_health(w.f, 0, true, false, 1);
	assert_true(span_is(decide_under(&w, &any, NULL), ""));
	cluster_view_set_health(w.f, 0, true, true, 1);
	cluster_view_set_cordoned(w.f, 0, true);
	assert_true(span_is(decide_under(&w, &any, NULL), ""));
	cluster_view_set_cordoned(w.f, 0, false);
	spec.taints = &taint;
	spec.n_taints = 1;
	put(&w, &spec);
	assert_true(span_is(decide_under(&w, &any, NULL), ""));
	assert_true(span_is(decide_under(&w, &tolerant, NULL), "c"));
	world_done(&w);
}

/* The order in which clusters are preferred; each row differs in one thing. */
static void the_score_prefers_holes_then_tightness_then_load_then_name(void **state)
{
	struct world w = world_create();
	uint32_t b = add_cluster(&w, "b"), a = add_cluster(&w, "a");
	struct shape *s = gang(&w, 2, 1000, 1);
	struct ask *ask = ask_of(&w, s, NULL);

	add_nodes(&w, a, 1, 16000, 8);
	add_nodes(&w, b, 1, 16000, 8);
	assert_int_equal(decide(&w, ask), a); /* the name */
	charge_pod(&w, a, 0, 6000, 0, true);
	assert_int_equal(decide(&w, ask), b); /* less loaded: both still have room for 8 */
	charge_pod(&w, b, 0, 8000, 0, true);
	assert_int_equal(decide(&w, ask), a);
	charge_pod(&w, b, 0, 8000, 1, true);
	charge_pod(&w, b, 0, 8000, 0, false);
	assert_int_equal(decide(&w, ask), b); /* the tighter fit: 7 left against 8 */
	add_node(&w, a, "n1", 4000, 2, NULL);
	assert_int_equal(decide(&w, ask), a); /* a hole of two, no whole node is broken */
	charge_pod(&w, a, 0, 6000, 0, false);
	charge_pod(&w, b, 0, 8000, 1, false);
	placer_ask_unref(w.p, ask);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void the_order_in_which_the_fleet_became_known_does_not_matter(void **state)
{
	uint64_t rnd = 9;

	for (int round = 0; round < 50; round++) {
		static const char *const names[] = {"a", "b", "c", "d", "e"};
		struct world w[2] = {world_create(), world_create()};
		uint32_t chosen[2];
		uint64_t start = rnd;
		for (int k = 0; k < 2; k++) {
			for (int i = 0; i < 5; i++)
				add_cluster(&w[k], names[k ? 4 - i : i]);
			for (int i = 0; i < 5; i++) {
				int at = k ? 4 - i : i;
				uint64_t r = start + (uint64_t)at * 1000;
				uint32_t c = cluster_view_find(w[k].f, span_of(names[at]));
				for (int n = 0; n < 6; n++) {
					/* The same content, also by way of pods that are gone. */
					uint32_t node = add_node(&w[k], c, names[n % 5], 16000,
								 1 + below(&r, 8), NULL);
					int64_t cpu = below(&r, 9000);
					charge_pod(&w[k], c, node, 1, k, true);
					charge_pod(&w[k], c, node, cpu, 0, true);
					charge_pod(&w[k], c, node, 1, k, false);
				}
			}
			struct shape *s = gang(&w[k], 1 + round % 7, 1000, 1 + round % 3);
			struct ask *a = ask_of(&w[k], s, NULL);
			uint32_t c = decide(&w[k], a);
			chosen[k] = c == CLUSTER_NONE
					? CLUSTER_NONE
					: (uint32_t)cluster_view_spec(w[k].f, c)->name.ptr[0];
			placer_ask_unref(w[k].p, a);
			fleet_shape_unref(w[k].f, s);
		}
		assert_int_equal(chosen[0], chosen[1]);
		next_random(&rnd);
		world_done(&w[0]);
		world_done(&w[1]);
	}
}

static void excluded_clusters_are_passed_over_until_their_time(void **state)
{
	struct world w = world_create();
	uint32_t a = add_cluster(&w, "a"), b = add_cluster(&w, "b");
	struct shape *s = gang(&w, 1, 100, 0);
	struct ask *ask = ask_of(&w, s, NULL);
	struct placement_decision d;
	const struct placement_exclusion x[] = {{a, 100}, {b, 50}, {77, 100}};

	add_nodes(&w, a, 1, 1000, 0);
	add_nodes(&w, b, 1, 1000, 0);
	assert_false(placement_decide(w.p, ask, x, 3, 49, &d));
	assert_true(placement_decide(w.p, ask, x, 3, 50, &d));
	assert_int_equal(d.cluster, b);
	assert_true(placement_decide(w.p, ask, x, 3, 100, &d));
	assert_int_equal(d.cluster, a);
	/* It was for that job only. */
	assert_int_equal(decide(&w, ask), a);
	placer_ask_unref(w.p, ask);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void one_cluster_can_be_asked_alone(void **state)
{
	struct world w = world_create();
	uint32_t a = add_cluster(&w, "a"), b = add_cluster(&w, "b");
	struct shape *s = gang(&w, 1, 100, 1);
	struct ask *ask = ask_of(&w, s, NULL);
	struct placement_decision d;

	add_nodes(&w, a, 1, 1000, 1);
	assert_false(placement_decide_on(w.p, ask, b, &d));
	assert_false(placement_decide_on(w.p, ask, 99, &d));
	add_nodes(&w, b, 1, 1000, 8);
	assert_true(placement_decide_on(w.p, ask, b, &d));
	assert_int_equal(d.cluster, b);
	assert_int_equal(d.n_slots, 1);
	cluster_view_set_cordoned(w.f, b, true);
	assert_false(placement_decide_on(w.p, ask, b, &d));
	placer_ask_unref(w.p, ask);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void equal_asks_are_one_and_clusters_may_come_and_go(void **state)
{
	struct world w = world_create();
	struct shape *s = gang(&w, 1, 100, 0);
	struct ask *ask = ask_of(&w, s, NULL), *same = ask_of(&w, s, NULL);
	char name[16];

	assert_ptr_equal(ask, same);
	assert_int_equal(decide(&w, ask), CLUSTER_NONE);
	for (int i = 40; i-- > 0;) {
		snprintf(name, sizeof(name), "c%02d", i);
		uint32_t c = add_cluster(&w, name);
		add_nodes(&w, c, 1, 1000, 0);
		assert_int_equal(decide(&w, ask), c);
	}
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "c%02d", i);
		uint32_t c = cluster_view_find(w.f, span_of(name));
		assert_int_equal(decide(&w, ask), c);
		cluster_view_remove(w.f, c);
	}
	assert_int_equal(decide(&w, ask), CLUSTER_NONE);
	placer_ask_unref(w.p, ask);
	placer_ask_unref(w.p, same);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static uint32_t best_from_scratch(struct world *w, struct ask *a)
{
	struct verdict v[2];
	size_t n = placement_explain(w->p, a, NULL, 0, 0, v, 2);

	for (size_t i = 0; i < n; i++)
		if (v[i].code == VERDICT_FITS)
			return v[i].cluster;
	return CLUSTER_NONE;
}

/* More kinds of pods than there are lanes: the ones not decided for longest are counted anew. */
static void asks_beyond_the_lanes_are_decided_all_the_same(void **state)
{
	enum { MANY = LANES_MAX + 200 };
	struct world w = world_create();
	uint32_t a = add_cluster(&w, "a"), b = add_cluster(&w, "b");
	struct shape **shapes = xcalloc(MANY, sizeof(*shapes));
	struct ask **asks = xcalloc(MANY, sizeof(*asks));

	add_nodes(&w, a, 2, 400, 0);
	add_nodes(&w, b, 1, 2000, 0);
	for (int i = 0; i < MANY; i++) {
		shapes[i] = gang(&w, 2, 1 + i, 0);
		asks[i] = ask_of(&w, shapes[i], NULL);
	}
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < MANY; i++)
			assert_int_equal(decide(&w, asks[i]), best_from_scratch(&w, asks[i]));
	assert_null(fleet_verify(w.f));
	/* With all lanes held by parked asks, the rest is counted node by node. */
	for (int i = 0; i < MANY; i++) {
		decide(&w, asks[i]);
		waiting_park(w.w, asks[i]);
	}
	for (int i = MANY; i-- > 0;)
		assert_int_equal(decide(&w, asks[i]), best_from_scratch(&w, asks[i]));
	charge_pod(&w, b, 0, 1, 0, true);
	charge_pod(&w, b, 0, 1, 0, false);
	size_t woken = 0;
	while (waiting_next(w.w))
		woken++;
	assert_int_equal(woken, MANY);
	for (int i = 0; i < MANY; i++) {
		placer_ask_unref(w.p, asks[i]);
		fleet_shape_unref(w.f, shapes[i]);
	}
	free(shapes);
	free(asks);
	world_done(&w);
}

static void a_cluster_may_ask_for_sums(void **state)
{
	struct world w = world_create();
	struct cluster_spec spec = {
	    .name = SPAN("c"), .ready = true, .fresh = true, .sum_of_free = true};
	struct shape *s = gang(&w, 2, 100, 4);
	struct ask *ask = ask_of(&w, s, NULL);

	put(&w, &spec);
	add_nodes(&w, 0, 3, 8000, 3);
	assert_int_equal(decide(&w, ask), 0);
	spec.sum_of_free = false;
	put(&w, &spec);
	assert_int_equal(decide(&w, ask), CLUSTER_NONE);
	placer_ask_unref(w.p, ask);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void a_decision_looks_only_at_what_changed(void **state)
{
	struct world w = world_create();
	struct shape *s = gang(&w, 2, 100, 1);
	struct ask *ask = ask_of(&w, s, NULL);
	struct placer_stats before, after;
	char name[16];

	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "c%02d", i);
		add_nodes(&w, add_cluster(&w, name), 2, 8000, 8);
	}
	decide(&w, ask);
	placer_stats(w.p, &before);
	assert_true(before.rescored >= 100);
	decide(&w, ask);
	placer_stats(w.p, &after);
	assert_int_equal(after.rescored, before.rescored);
	charge_pod(&w, 17, 0, 100, 1, true);
	charge_pod(&w, 17, 1, 100, 1, true);
	charge_pod(&w, 40, 0, 100, 1, true);
	decide(&w, ask);
	placer_stats(w.p, &after);
	assert_int_equal(after.rescored, before.rescored + 2);
	assert_int_equal(after.decisions, 3);
	assert_int_equal(after.placed, 3);
	assert_int_equal(after.asks, 1);
	placer_ask_unref(w.p, ask);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void a_placement_beyond_the_limits_is_refused(void **state)
{
	static struct cluster_affinity many[PLACEMENT_MAX_AFFINITIES + 1];
	struct placement_spec p = {.affinities = many, .n_affinities = ARRAY_LEN(many)};
	struct world w = world_create();
	struct shape *s = gang(&w, 1, 1, 0);
	struct api_kind any = {0};
	struct ask *a;

	assert_int_equal(placer_ask_ref(w.p, s, &p, &any, &a, &w.err), -EDOM);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(affinity_selects_by_names_labels_fields_and_exclusion),
	    cmocka_unit_test(the_first_group_in_which_some_cluster_fits_wins),
	    cmocka_unit_test(clusters_that_a_queue_names_go_in_its_order),
	    cmocka_unit_test(only_healthy_serving_untainted_clusters_are_candidates),
	    cmocka_unit_test(the_score_prefers_holes_then_tightness_then_load_then_name),
	    cmocka_unit_test(the_order_in_which_the_fleet_became_known_does_not_matter),
	    cmocka_unit_test(excluded_clusters_are_passed_over_until_their_time),
	    cmocka_unit_test(one_cluster_can_be_asked_alone),
	    cmocka_unit_test(equal_asks_are_one_and_clusters_may_come_and_go),
	    cmocka_unit_test(asks_beyond_the_lanes_are_decided_all_the_same),
	    cmocka_unit_test(a_cluster_may_ask_for_sums),
	    cmocka_unit_test(a_decision_looks_only_at_what_changed),
	    cmocka_unit_test(a_placement_beyond_the_limits_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
