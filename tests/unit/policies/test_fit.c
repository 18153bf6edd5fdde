#include "fixture.h"

static bool fits(struct world *w, uint32_t c, struct shape *s)
{
	struct fit_result r;

	return fit_gang(w->f, c, s, FIT_NODES, &r);
}

/* V26 of reference ack-fleet: nodes with 3+3+3 free, a job of 2 pods of 4. */
static void V26_sums_accept_what_no_node_can_hold(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *s = gang(&w, 2, 100, 4);
	struct fit_result r;
	struct fit_misfit why;

	add_nodes(&w, c, 3, 8000, 3);
	assert_false(fit_gang(w.f, c, s, FIT_NODES, &r));
	assert_true(fit_gang(w.f, c, s, FIT_SUM, &r));
	assert_int_equal(r.n_slots, 0);
	fit_explain(w.f, c, s, FIT_NODES, &why);
	assert_int_equal(why.reason, FIT_TOO_SMALL);
	assert_true(why.in_pods);
	assert_int_equal(why.total, 0);
	assert_int_equal(why.largest_node, 3);
	struct shape *more = gang(&w, 3, 100, 4);
	assert_false(fit_gang(w.f, c, more, FIT_SUM, &r));
	fit_explain(w.f, c, more, FIT_SUM, &why);
	assert_int_equal(why.reason, FIT_TOO_SMALL);
	assert_int_equal(why.need, 12);
	assert_int_equal(why.total, 9);
	fleet_shape_unref(w.f, s);
	fleet_shape_unref(w.f, more);
	world_done(&w);
}

static void small_holes_are_filled_first(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *s = gang(&w, 3, 100, 1);
	struct fit_result r;

	add_node(&w, c, "whole", 8000, 8, NULL);
	add_node(&w, c, "half", 8000, 4, NULL);
	uint32_t one = add_node(&w, c, "one", 8000, 1, NULL);
	uint32_t two = add_node(&w, c, "two", 8000, 2, NULL);
	assert_true(fit_gang(w.f, c, s, FIT_NODES, &r));
	assert_int_equal(r.n_slots, 2);
	for (size_t i = 0; i < r.n_slots; i++)
		assert_true((r.slots[i].node == one && r.slots[i].count == 1) ||
			    (r.slots[i].node == two && r.slots[i].count == 2));
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void many_kinds_of_nodes_are_taken_in_the_same_order(void **state)
{
	/* 46 holes of 65 to 110 pods, met in an order that is neither up nor down. */
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct request buf[2][2];
	struct pod_set sets[] = {pods(&w, "small", 65 + 66 + 67, 1000, 0, buf[0]),
				 pods(&w, "large", 1, 110000, 0, buf[1])};
	struct fit_result r;
	char name[16];

	for (int i = 0; i < 46; i++) {
		int cpus = 65 + i * 17 % 46;
		snprintf(name, sizeof(name), "n%d", cpus);
		add_node(&w, c, name, cpus * 1000, 0, NULL);
	}
	for (size_t n_sets = 1; n_sets <= 2; n_sets++) {
		struct shape *s = shape_of(&w, sets, n_sets, NULL);
		uint32_t pods_on_small = 0;
		assert_true(fit_gang(w.f, c, s, FIT_NODES, &r));
		assert_int_equal(r.n_slots, 2 + n_sets);
		for (size_t i = 0; i < r.n_slots; i++) {
			struct span node = cluster_view_node_name(w.f, c, r.slots[i].node);
			if (r.slots[i].set == 1)
				assert_true(span_is(node, "n110"));
			else if (span_is(node, "n65") || span_is(node, "n66") ||
				 span_is(node, "n67"))
				pods_on_small += r.slots[i].count;
		}
		assert_int_equal(pods_on_small, 65 + 66 + 67);
		fleet_shape_unref(w.f, s);
	}
	world_done(&w);
}

static void pods_without_devices_stay_off_nodes_that_have_some(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *s = gang(&w, 4, 1000, 0);
	struct fit_result r;

	uint32_t gpu = add_node(&w, c, "gpu", 4000, 8, NULL);
	uint32_t cpu = add_node(&w, c, "cpu", 64000, 0, NULL);
	assert_true(fit_gang(w.f, c, s, FIT_NODES, &r));
	assert_int_equal(r.n_slots, 1);
	assert_int_equal(r.slots[0].node, cpu);
	/* They may when there is nothing else. */
	cluster_view_node_remove(w.f, c, cpu);
	assert_true(fit_gang(w.f, c, s, FIT_NODES, &r));
	assert_int_equal(r.slots[0].node, gpu);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void pod_slots_count(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c"), n;
	struct amount all[] = {{RESOURCE_CPU, 8000}, {RESOURCE_PODS, 3}};
	struct node_spec spec = {
	    .name = SPAN("n"), .allocatable = all, .n_allocatable = 2, .ready = true};
	struct shape *three = gang(&w, 3, 0, 0), *four = gang(&w, 4, 0, 0);

	assert_int_equal(cluster_view_node_upsert(w.f, c, &spec, &n, &w.err), 0);
	assert_true(fits(&w, c, three));
	assert_false(fits(&w, c, four));
	/* A node that does not say how many pods it takes takes none. */
	spec.n_allocatable = 1;
	assert_int_equal(cluster_view_node_upsert(w.f, c, &spec, &n, &w.err), 0);
	assert_false(fits(&w, c, three));
	fleet_shape_unref(w.f, three);
	fleet_shape_unref(w.f, four);
	world_done(&w);
}

static void node_selector_affinity_and_taints_are_kubernetes(void **state)
{
	static const struct span gold[] = {SPAN("gold"), SPAN("silver")}, six[] = {SPAN("6")},
				 names[] = {SPAN("n")};
	static const struct label tier_gold = {SPAN("tier"), SPAN("gold")},
				  tier_iron = {SPAN("tier"), SPAN("iron")};
	static const struct node_expr in_gold = {SPAN("tier"), NODE_OP_IN, gold, 2},
				      not_gold = {SPAN("tier"), NODE_OP_NOT_IN, gold, 2},
				      newer = {SPAN("gen"), NODE_OP_GT, six, 1},
				      by_name = {SPAN("metadata.name"), NODE_OP_IN, names, 1},
				      not_by_name = {SPAN("metadata.name"), NODE_OP_NOT_IN, names,
						     1};
	static const struct node_term gold_term = {&in_gold, 1, NULL, 0},
				      not_gold_term = {&not_gold, 1, NULL, 0},
				      newer_term = {&newer, 1, NULL, 0}, empty = {0},
				      name_term = {NULL, 0, &by_name, 1},
				      not_name_term = {NULL, 0, &not_by_name, 1};
	static const struct node_term either[] = {{&not_gold, 1, NULL, 0}, {&newer, 1, NULL, 0}};
	static const struct toleration tol = {.key = SPAN("gpu"), .exists = true};
	static const struct {
		struct pod_set set;
		bool fits, fits_tainted;
	} rows[] = {
	    {{.count = 1}, true, false},
	    {{.tolerations = &tol, .n_tolerations = 1}, true, true},
	    {{.selector = &tier_gold, .n_selector = 1}, true, false},
	    {{.selector = &tier_iron, .n_selector = 1}, false, false},
	    {{.terms = &gold_term, .n_terms = 1}, true, false},
	    {{.terms = &not_gold_term, .n_terms = 1}, false, false},
	    {{.terms = &newer_term, .n_terms = 1}, true, false},
	    {{.terms = either, .n_terms = 2}, true, false},
	    {{.terms = &empty, .n_terms = 1}, false, false},
	    {{.terms = &name_term, .n_terms = 1}, true, false},
	    {{.terms = &not_name_term, .n_terms = 1}, false, false},
	    {{.terms = &gold_term,
	      .n_terms = 1,
	      .selector = &tier_iron,
	      .n_selector = 1,
	      .tolerations = &tol,
	      .n_tolerations = 1},
	     false,
	     false},
	};
	const struct label labels[] = {{SPAN("tier"), SPAN("gold")}, {SPAN("gen"), SPAN("7")}};
	const struct taint taints[] = {{SPAN("soft"), SPAN(""), TAINT_PREFER_NO_SCHEDULE},
				       {SPAN("gpu"), SPAN(""), TAINT_NO_SCHEDULE}};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t tainted = 0; tainted < 2; tainted++) {
			struct world w = world_create();
			uint32_t c = add_cluster(&w, "c");
			struct node_spec more = {.labels = labels,
						 .n_labels = 2,
						 .taints = taints,
						 .n_taints = 1 + tainted,
						 .ready = true};
			struct pod_set set = rows[i].set;
			set.count = 1;
			add_node(&w, c, "n", 1000, 0, &more);
			struct shape *s = shape_of(&w, &set, 1, NULL);
			if (fits(&w, c, s) != (tainted ? rows[i].fits_tainted : rows[i].fits))
				fail_msg("row %zu, tainted %zu", i, tainted);
			fleet_shape_unref(w.f, s);
			world_done(&w);
		}
}

static void several_sets_compete_for_one_node(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct request buf[2][2];
	struct pod_set sets[] = {pods(&w, "small", 2, 1000, 1, buf[0]),
				 pods(&w, "large", 1, 1000, 6, buf[1])};
	struct shape *s = shape_of(&w, sets, 2, NULL);
	struct fit_misfit why;

	add_nodes(&w, c, 1, 8000, 8);
	assert_true(fits(&w, c, s));
	charge_pod(&w, c, 0, 0, 1, true);
	assert_false(fits(&w, c, s));
	fit_explain(w.f, c, s, FIT_NODES, &why);
	assert_int_equal(why.reason, FIT_INSUFFICIENT_FREE);
	assert_int_equal(why.set, FIT_WHOLE_GANG);
	assert_int_equal(why.need, 8);
	assert_int_equal(why.free, 7);
	add_node(&w, c, "n1", 8000, 1, NULL);
	assert_true(fits(&w, c, s));
	charge_pod(&w, c, 0, 0, 1, false);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void a_second_order_is_tried_before_does_not_fit(void **state)
{
	/* The large pod takes the smallest hole that holds it, which is the only one where the pod
	 * with the selector may go; the set with least room must choose first. */
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct request buf[2][2];
	struct label here = {SPAN("disk"), SPAN("ssd")};
	struct node_spec ssd = {.labels = &here, .n_labels = 1, .ready = true};
	struct pod_set sets[] = {pods(&w, "large", 1, 4000, 0, buf[0]),
				 pods(&w, "bound", 1, 2000, 0, buf[1])};

	sets[1].selector = &here;
	sets[1].n_selector = 1;
	struct shape *s = shape_of(&w, sets, 2, NULL);
	add_node(&w, c, "ssd", 4000, 0, &ssd);
	add_node(&w, c, "other", 9000, 0, NULL);
	assert_true(fits(&w, c, s));
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static uint32_t rack_node(struct world *w, uint32_t c, const char *name, const char *rack,
			  int64_t gpus)
{
	struct label l = {SPAN("rack"), span_of(rack)};
	struct node_spec more = {.labels = &l, .n_labels = rack != NULL, .ready = true};

	return add_node(w, c, name, 64000, gpus, &more);
}

static void exclusive_groups_get_a_domain_each(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct request buf[2];
	struct pod_set set = pods(&w, "slice", 4, 100, 4, buf);
	struct fit_result r;
	struct fit_misfit why;

	set.groups = 2; /* two groups of two pods */
	struct shape *s = shape_of(&w, &set, 1, "rack");
	rack_node(&w, c, "a1", "a", 8);
	rack_node(&w, c, "loose", NULL, 64);
	assert_false(fits(&w, c, s));
	fit_explain(w.f, c, s, FIT_NODES, &why);
	assert_int_equal(why.reason, FIT_FRAGMENTED);
	assert_true(why.topology);
	assert_int_equal(why.need, 2);
	assert_int_equal(why.largest, 1);
	rack_node(&w, c, "b1", "b", 4);
	assert_false(fits(&w, c, s));
	uint32_t b2 = rack_node(&w, c, "b2", "b", 4);
	assert_true(fit_gang(w.f, c, s, FIT_NODES, &r));
	assert_int_equal(r.n_slots, 3);
	/* A pod of another exclusive job anywhere in a domain takes all of it. */
	struct pod_usage other = {NULL, 0, true};
	cluster_view_pod_charge(w.f, c, b2, &other);
	assert_false(fits(&w, c, s));
	cluster_view_pod_release(w.f, c, b2, &other);
	assert_true(fit_gang(w.f, c, s, FIT_NODES, &r));
	/* So does an assumed one, even where room is left. */
	rack_node(&w, c, "d1", "d", 64);
	rack_node(&w, c, "e1", "e", 64);
	assert_true(fit_gang(w.f, c, s, FIT_NODES, &r));
	assert_int_equal(ledger_assume(w.l, 1, s, c, r.slots, r.n_slots, 0, &w.err), 0);
	assert_true(fit_gang(w.f, c, s, FIT_NODES, &r));
	assert_int_equal(ledger_assume(w.l, 2, s, c, r.slots, r.n_slots, 0, &w.err), 0);
	assert_false(fits(&w, c, s));
	ledger_drop(w.l, 1);
	assert_true(fits(&w, c, s));
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void an_empty_gang_fits_anywhere(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *none = shape_of(&w, NULL, 0, NULL), *zero = gang(&w, 0, 100, 1);

	assert_true(fits(&w, c, none));
	assert_true(fits(&w, c, zero));
	fleet_shape_unref(w.f, none);
	fleet_shape_unref(w.f, zero);
	world_done(&w);
}

static void reasons_name_the_first_thing_that_is_wrong(void **state)
{
	static const struct label gold = {SPAN("tier"), SPAN("gold")};
	static const struct taint taint = {SPAN("gpu"), SPAN("x"), TAINT_NO_EXECUTE};
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct request buf[2];
	struct pod_set set = pods(&w, "w", 4, 1000, 2, buf);
	struct fit_misfit why;

	set.selector = &gold;
	set.n_selector = 1;
	struct shape *s = shape_of(&w, &set, 1, NULL);
	fit_explain(w.f, c, s, FIT_NODES, &why);
	assert_int_equal(why.reason, FIT_NO_NODES);
	add_node(&w, c, "plain", 64000, 64, NULL);
	fit_explain(w.f, c, s, FIT_NODES, &why);
	assert_int_equal(why.reason, FIT_AFFINITY_MISMATCH);
	struct node_spec more = {
	    .labels = &gold, .n_labels = 1, .taints = &taint, .n_taints = 1, .ready = true};
	add_node(&w, c, "g1", 8000, 3, &more);
	fit_explain(w.f, c, s, FIT_NODES, &why);
	assert_int_equal(why.reason, FIT_TAINTED);
	assert_true(span_is(why.taint.key, "gpu"));
	more.n_taints = 0;
	add_node(&w, c, "g1", 8000, 3, &more);
	fit_explain(w.f, c, s, FIT_NODES, &why);
	assert_int_equal(why.reason, FIT_TOO_SMALL);
	assert_int_equal(why.resource, w.gpu);
	assert_int_equal(why.need, 8);
	assert_int_equal(why.total, 3);
	more.unschedulable = true;
	for (int i = 0; i < 4; i++) {
		static const char *const names[] = {"g1", "g2", "g3", "g4"};
		add_node(&w, c, names[i], 8000, 3, &more);
	}
	fit_explain(w.f, c, s, FIT_NODES, &why);
	assert_int_equal(why.reason, FIT_UNSCHEDULABLE);
	assert_int_equal(why.nodes_off, 4);
	more.unschedulable = false;
	add_node(&w, c, "g1", 8000, 3, &more);
	fit_explain(w.f, c, s, FIT_NODES, &why);
	assert_int_equal(why.reason, FIT_INSUFFICIENT_FREE);
	assert_int_equal(why.free, 3);
	add_node(&w, c, "g2", 8000, 3, &more);
	add_node(&w, c, "g3", 8000, 3, &more);
	fit_explain(w.f, c, s, FIT_NODES, &why);
	assert_int_equal(why.reason, FIT_FRAGMENTED);
	assert_int_equal(why.need, 4);
	assert_int_equal(why.largest, 3);
	assert_int_equal(why.per_pod, 2);
	assert_int_equal(why.largest_node, 3);
	add_node(&w, c, "g4", 8000, 3, &more);
	fit_explain(w.f, c, s, FIT_NODES, &why);
	assert_int_equal(why.reason, FIT_OK);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(V26_sums_accept_what_no_node_can_hold),
	    cmocka_unit_test(small_holes_are_filled_first),
	    cmocka_unit_test(many_kinds_of_nodes_are_taken_in_the_same_order),
	    cmocka_unit_test(pods_without_devices_stay_off_nodes_that_have_some),
	    cmocka_unit_test(pod_slots_count),
	    cmocka_unit_test(node_selector_affinity_and_taints_are_kubernetes),
	    cmocka_unit_test(several_sets_compete_for_one_node),
	    cmocka_unit_test(a_second_order_is_tried_before_does_not_fit),
	    cmocka_unit_test(exclusive_groups_get_a_domain_each),
	    cmocka_unit_test(an_empty_gang_fits_anywhere),
	    cmocka_unit_test(reasons_name_the_first_thing_that_is_wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
