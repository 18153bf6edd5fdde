#include "fixture.h"

#include <errno.h>

static int64_t free_of(const struct world *w, uint32_t c, uint32_t resource)
{
	struct cluster_totals t;

	cluster_view_totals(w->f, c, resource, &t);
	return t.free;
}

static void free_is_what_pods_leave(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c"), n = add_node(&w, c, "n", 8000, 8, NULL);
	struct cluster_totals t;

	add_node(&w, c, "m", 4000, 2, NULL);
	charge_pod(&w, c, n, 3000, 5, true);
	cluster_view_totals(w.f, c, w.gpu, &t);
	assert_int_equal(t.allocatable, 10);
	assert_int_equal(t.requested, 5);
	assert_int_equal(t.free, 5);
	assert_int_equal(t.largest, 3);
	assert_int_equal(cluster_view_node_free(w.f, c, n, RESOURCE_PODS), 109);
	/* One node is charged beyond what it has; the other's free is not touched by that. */
	charge_pod(&w, c, n, 9000, 8, true);
	assert_int_equal(cluster_view_node_free(w.f, c, n, w.gpu), -5);
	assert_int_equal(free_of(&w, c, w.gpu), 2);
	charge_pod(&w, c, n, 9000, 8, false);
	charge_pod(&w, c, n, 3000, 5, false);
	assert_int_equal(free_of(&w, c, w.gpu), 10);
	assert_int_equal(free_of(&w, c, RESOURCE_CPU), 12000);
	world_done(&w);
}

static void pods_may_come_before_their_node_and_stay_when_it_goes(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c"), n, total, usable;

	assert_int_equal(cluster_view_node_ref(w.f, c, SPAN("n"), &n, &w.err), 0);
	charge_pod(&w, c, n, 1000, 3, true);
	cluster_view_node_counts(w.f, c, &total, &usable);
	assert_int_equal(total, 0);
	assert_int_equal(add_node(&w, c, "n", 8000, 8, NULL), n);
	assert_int_equal(free_of(&w, c, w.gpu), 5);
	cluster_view_node_remove(w.f, c, n);
	cluster_view_node_remove(w.f, c, n);
	assert_int_equal(free_of(&w, c, w.gpu), 0);
	assert_int_equal(cluster_view_node_find(w.f, c, SPAN("n")), n);
	assert_int_equal(add_node(&w, c, "n", 8000, 8, NULL), n);
	assert_int_equal(free_of(&w, c, w.gpu), 5);
	cluster_view_node_remove(w.f, c, n);
	charge_pod(&w, c, n, 1000, 3, false);
	/* With the last pod the name is forgotten, and the number is free for another. */
	assert_int_equal(cluster_view_node_find(w.f, c, SPAN("n")), NODE_NONE);
	assert_int_equal(add_node(&w, c, "other", 1000, 1, NULL), n);
	assert_true(span_is(cluster_view_node_name(w.f, c, n), "other"));
	world_done(&w);
}

/* A node names more kinds of resources than any before it, and no job has asked for them yet. */
static void a_node_may_bring_many_new_resources(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c"), node;
	struct amount all[24];
	char name[32];

	add_nodes(&w, c, 2, 1000, 1);
	for (uint32_t i = 0; i < ARRAY_LEN(all); i++) {
		(void)snprintf(name, sizeof(name), "example.com/device-%u", i);
		assert_int_equal(resource_table_index(fleet_resources(w.f), span_of(name),
						      &all[i].resource, &w.err),
				 0);
		all[i].value = 100 + i;
	}
	const struct node_spec spec = {.name = SPAN("wide"),
				       .ready = true,
				       .allocatable = all,
				       .n_allocatable = ARRAY_LEN(all)};
	assert_int_equal(cluster_view_node_upsert(w.f, c, &spec, &node, &w.err), 0);
	for (uint32_t i = 0; i < ARRAY_LEN(all); i++) {
		assert_int_equal(cluster_view_node_free(w.f, c, node, all[i].resource), 100 + i);
		assert_int_equal(cluster_view_node_free(w.f, c, 0, all[i].resource), 0);
	}
	assert_int_equal(cluster_view_node_free(w.f, c, 0, RESOURCE_CPU), 1000);
	world_done(&w);
}

static void nodes_that_take_no_pods_are_not_counted(void **state)
{
	static const struct node_spec off[] = {{.ready = false},
					       {.ready = true, .unschedulable = true}};
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c"), total, usable;

	for (size_t i = 0; i < ARRAY_LEN(off); i++) {
		add_node(&w, c, "n", 8000, 8, NULL);
		assert_int_equal(free_of(&w, c, w.gpu), 8);
		add_node(&w, c, "n", 8000, 8, &off[i]);
		assert_int_equal(free_of(&w, c, w.gpu), 0);
		cluster_view_node_counts(w.f, c, &total, &usable);
		assert_int_equal(total, 1);
		assert_int_equal(usable, 0);
	}
	world_done(&w);
}

static void a_heartbeat_is_no_change(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");

	add_node(&w, c, "n", 8000, 8, NULL);
	uint64_t before = cluster_view_version(w.f, c);
	add_node(&w, c, "n", 8000, 8, NULL);
	cluster_view_set_health(w.f, c, true, true, 5);
	cluster_view_set_cordoned(w.f, c, false);
	assert_int_equal(add_cluster(&w, "c"), c);
	assert_true(cluster_view_version(w.f, c) == before);
	cluster_view_set_health(w.f, c, false, true, 7);
	assert_true(cluster_view_version(w.f, c) > before);
	assert_int_equal(cluster_view_spec(w.f, c)->ready_since_us, 7);
	assert_int_equal(cluster_view_spec(w.f, c)->fresh_since_us, 0);
	world_done(&w);
}

static void every_part_of_a_cluster_that_changes_is_a_change(void **state)
{
	static const struct label l[] = {{SPAN("a"), SPAN("1")}, {SPAN("a"), SPAN("2")}};
	static const struct taint t[] = {{SPAN("a"), SPAN("1"), TAINT_NO_SCHEDULE},
					 {SPAN("a"), SPAN("1"), TAINT_NO_EXECUTE}};
	static const struct api_kind k[] = {{SPAN("v1"), SPAN("A")}, {SPAN("v1"), SPAN("B")}};
	static const struct span z[] = {SPAN("z1"), SPAN("z2")};
	/* Each differs from the one before in one thing. */
	static const struct cluster_spec rows[] = {
	    {.ready = true},
	    {.ready = false},
	    {.fresh = true},
	    {.cordoned = true},
	    {.sum_of_free = true},
	    {.provider = SPAN("p")},
	    {.region = SPAN("r")},
	    {.labels = l, .n_labels = 1},
	    {.labels = l + 1, .n_labels = 1},
	    {.taints = t, .n_taints = 1},
	    {.taints = t + 1, .n_taints = 1},
	    {.kinds = k, .n_kinds = 1},
	    {.kinds = k + 1, .n_kinds = 1},
	    {.zones = z, .n_zones = 1},
	    {.zones = z + 1, .n_zones = 1},
	    {.zones = z, .n_zones = 2},
	};
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct cluster_spec spec = rows[i];
		uint64_t before = cluster_view_version(w.f, c);
		spec.name = SPAN("c");
		assert_int_equal(cluster_view_upsert(w.f, &spec, &c, &w.err), 0);
		assert_true(cluster_view_version(w.f, c) > before);
		before = cluster_view_version(w.f, c);
		spec.ready_since_us = (int64_t)i;
		assert_int_equal(cluster_view_upsert(w.f, &spec, &c, &w.err), 0);
		assert_true(cluster_view_version(w.f, c) == before);
		assert_int_equal(cluster_view_spec(w.f, c)->ready_since_us, i);
		/* What we hold may be handed in again. */
		spec = *cluster_view_spec(w.f, c);
		spec.cordoned = !spec.cordoned;
		assert_int_equal(cluster_view_upsert(w.f, &spec, &c, &w.err), 0);
		assert_true(cluster_view_version(w.f, c) > before);
	}
	world_done(&w);
}

static void clusters_are_walked_in_order_of_name_and_their_numbers_reused(void **state)
{
	struct world w = world_create();
	uint32_t b = add_cluster(&w, "b"), a = add_cluster(&w, "a"), c = add_cluster(&w, "c");

	assert_int_equal(cluster_view_by_name(w.f, 0), a);
	assert_int_equal(cluster_view_by_name(w.f, 2), c);
	assert_int_equal(cluster_view_by_name(w.f, 3), CLUSTER_NONE);
	add_nodes(&w, b, 3, 1000, 1);
	cluster_view_remove(w.f, b);
	assert_int_equal(cluster_view_find(w.f, SPAN("b")), CLUSTER_NONE);
	assert_null(cluster_view_spec(w.f, b));
	assert_int_equal(cluster_view_count(w.f), 2);
	assert_int_equal(add_cluster(&w, "aa"), b);
	assert_int_equal(cluster_view_by_name(w.f, 1), b);
	assert_int_equal(free_of(&w, b, w.gpu), 0);
	world_done(&w);
}

static void what_is_beyond_the_limits_is_refused(void **state)
{
	struct world w = world_create();
	struct cluster_spec spec = {.name = SPAN("")};
	struct node_spec node = {.name = SPAN("n"), .n_labels = CLUSTER_VIEW_MAX_LABELS + 1};
	uint32_t c, n;

	assert_int_equal(cluster_view_upsert(w.f, &spec, &c, &w.err), -EDOM);
	assert_string_equal(w.err.field, "metadata.name");
	spec = (struct cluster_spec){.name = SPAN("c"), .n_taints = CLUSTER_VIEW_MAX_TAINTS + 1};
	assert_int_equal(cluster_view_upsert(w.f, &spec, &c, &w.err), -EMSGSIZE);
	assert_string_equal(w.err.field, "spec.taints");
	c = add_cluster(&w, "c");
	assert_int_equal(cluster_view_node_upsert(w.f, c, &node, &n, &w.err), -EMSGSIZE);
	assert_int_equal(cluster_view_node_ref(w.f, c, SPAN(""), &n, &w.err), -EDOM);
	world_done(&w);
}

static void vectors_grow_with_the_kinds_of_resources(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c"), n = add_node(&w, c, "n", 8000, 8, NULL), at;
	struct shape *s = gang(&w, 2, 1000, 4);
	struct ask *a = ask_of(&w, s, NULL);
	char name[64];

	charge_pod(&w, c, n, 1000, 1, true);
	assert_int_equal(decide(&w, a), CLUSTER_NONE);
	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "example.com/r%d", i);
		assert_int_equal(
		    resource_table_index(fleet_resources(w.f), span_of(name), &at, &w.err), 0);
		struct amount some = {at, 5};
		struct pod_usage usage = {&some, 1, false};
		cluster_view_pod_charge(w.f, c, n, &usage);
		assert_int_equal(cluster_view_node_free(w.f, c, n, at), -5);
		cluster_view_pod_release(w.f, c, n, &usage);
		assert_null(fleet_verify(w.f));
	}
	charge_pod(&w, c, n, 1000, 1, false);
	assert_int_equal(decide(&w, a), c);
	placer_ask_unref(w.p, a);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void huge_amounts_are_cut_and_come_back(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c"), n = add_node(&w, c, "n", INT64_MAX, INT64_MAX, NULL);

	assert_int_equal(free_of(&w, c, w.gpu), RESOURCE_AMOUNT_MAX);
	for (int i = 0; i < 3; i++)
		charge_pod(&w, c, n, INT64_MAX, -5, true);
	assert_int_equal(free_of(&w, c, RESOURCE_CPU), 0);
	assert_int_equal(free_of(&w, c, w.gpu), RESOURCE_AMOUNT_MAX);
	for (int i = 0; i < 3; i++)
		charge_pod(&w, c, n, INT64_MAX, -5, false);
	assert_int_equal(free_of(&w, c, RESOURCE_CPU), RESOURCE_AMOUNT_MAX);
	world_done(&w);
}

static void nodes_are_alike_until_somebody_asks_for_their_difference(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct request buf[2];
	struct label want = {SPAN("disk"), SPAN("ssd")};
	struct pod_set set = pods(&w, "w", 2, 1000, 0, buf);

	for (int i = 0; i < 6; i++) {
		char name[8];
		snprintf(name, sizeof(name), "n%d", i);
		struct label l[] = {{SPAN("kubernetes.io/hostname"), span_of(name)},
				    {SPAN("disk"), i < 2 ? SPAN("ssd") : SPAN("hdd")}};
		struct node_spec more = {.labels = l, .n_labels = 2, .ready = true};
		add_node(&w, c, name, 1000, 0, &more);
	}
	assert_int_equal(w.f->clusters[c].n_groups, 1);
	set.selector = &want;
	set.n_selector = 1;
	struct shape *s = shape_of(&w, &set, 1, NULL);
	assert_int_equal(w.f->clusters[c].n_groups, 2);
	struct ask *a = ask_of(&w, s, NULL);
	assert_int_equal(decide(&w, a), c);
	charge_pod(&w, c, 1, 500, 0, true);
	assert_int_equal(decide(&w, a), CLUSTER_NONE);
	charge_pod(&w, c, 1, 500, 0, false);
	placer_ask_unref(w.p, a);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(free_is_what_pods_leave),
	    cmocka_unit_test(pods_may_come_before_their_node_and_stay_when_it_goes),
	    cmocka_unit_test(a_node_may_bring_many_new_resources),
	    cmocka_unit_test(nodes_that_take_no_pods_are_not_counted),
	    cmocka_unit_test(a_heartbeat_is_no_change),
	    cmocka_unit_test(every_part_of_a_cluster_that_changes_is_a_change),
	    cmocka_unit_test(clusters_are_walked_in_order_of_name_and_their_numbers_reused),
	    cmocka_unit_test(what_is_beyond_the_limits_is_refused),
	    cmocka_unit_test(vectors_grow_with_the_kinds_of_resources),
	    cmocka_unit_test(huge_amounts_are_cut_and_come_back),
	    cmocka_unit_test(nodes_are_alike_until_somebody_asks_for_their_difference),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
