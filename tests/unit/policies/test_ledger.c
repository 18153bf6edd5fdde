#include "fixture.h"

#include <errno.h>

static int64_t free_gpus(const struct world *w, uint32_t c)
{
	struct cluster_totals t;

	cluster_view_totals(w->f, c, w->gpu, &t);
	return t.free;
}

static int64_t assumed_gpus(const struct world *w, uint32_t c)
{
	struct cluster_totals t;

	cluster_view_totals(w->f, c, w->gpu, &t);
	assert_int_equal(t.requested + t.assumed + t.free, t.allocatable);
	return t.assumed;
}

/* V27 of reference ack-fleet: c1 free 8, two jobs of 8 decided in the same second. */
static void V27_the_second_job_of_the_same_second_sees_what_the_first_left(void **state)
{
	struct world w = world_create();
	uint32_t c1 = add_cluster(&w, "c1");
	struct shape *s = gang(&w, 8, 100, 1);
	struct ask *a = ask_of(&w, s, NULL);

	add_nodes(&w, c1, 1, 8000, 8);
	assert_int_equal(place(&w, a, 1), c1);
	assert_int_equal(free_gpus(&w, c1), 0);
	assert_int_equal(assumed_gpus(&w, c1), 8);
	assert_int_equal(place(&w, a, 2), CLUSTER_NONE);
	/* With a second cluster it goes there. */
	uint32_t c2 = add_cluster(&w, "c2");
	add_nodes(&w, c2, 1, 8000, 8);
	assert_int_equal(place(&w, a, 2), c2);
	assert_true(ledger_drop(w.l, 1));
	assert_false(ledger_drop(w.l, 1));
	assert_int_equal(free_gpus(&w, c1), 8);
	placer_ask_unref(w.p, a);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void pods_that_show_up_take_the_place_of_what_was_assumed(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *s = gang(&w, 4, 100, 2);
	struct ask *a = ask_of(&w, s, NULL);

	add_nodes(&w, c, 2, 8000, 4);
	assert_int_equal(place(&w, a, 7), c);
	for (uint32_t pod = 0; pod < 4; pod++) {
		assert_int_equal(ledger_pods(w.l, 7), 4 - pod);
		assert_true(ledger_observe(w.l, 7, 0, pod / 2));
		charge_pod(&w, c, pod / 2, 100, 2, true);
		assert_int_equal(free_gpus(&w, c), 0);
		assert_int_equal(assumed_gpus(&w, c), 6 - 2 * (int64_t)pod);
	}
	assert_int_equal(ledger_count(w.l), 0);
	assert_int_equal(ledger_cluster(w.l, 7), CLUSTER_NONE);
	/* One more pod, as when one was replaced: nothing is held for it. */
	assert_false(ledger_observe(w.l, 7, 0, 1));
	for (uint32_t pod = 0; pod < 4; pod++)
		charge_pod(&w, c, pod / 2, 100, 2, false);
	placer_ask_unref(w.p, a);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void a_pod_takes_the_place_of_the_one_assumed_on_its_node(void **state)
{
	/* Whichever node shows its pods first. */
	for (uint32_t first = 0; first < 2; first++) {
		struct world w = world_create();
		uint32_t c = add_cluster(&w, "c");
		struct shape *s = gang(&w, 4, 100, 2);
		struct ask *a = ask_of(&w, s, NULL);

		add_nodes(&w, c, 2, 8000, 4);
		assert_int_equal(place(&w, a, 1), c);
		for (uint32_t pod = 0; pod < 4; pod++) {
			uint32_t node = pod < 2 ? first : 1 - first;
			assert_true(ledger_observe(w.l, 1, 0, node));
			charge_pod(&w, c, node, 100, 2, true);
			assert_int_equal(cluster_view_node_free(w.f, c, 0, w.gpu), 0);
			assert_int_equal(cluster_view_node_free(w.f, c, 1, w.gpu), 0);
		}
		placer_ask_unref(w.p, a);
		fleet_shape_unref(w.f, s);
		world_done(&w);
	}
}

static void alike_nodes_move_together_and_are_counted_one_by_one(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	/* Half a node each, one to a node because of cpu; the other ask sees what is left. */
	struct shape *s = gang(&w, 10, 5000, 4), *t = gang(&w, 4, 1000, 1);
	struct ask *a = ask_of(&w, s, NULL), *b = ask_of(&w, t, NULL);

	add_nodes(&w, c, 12, 8000, 8);
	assert_int_equal(decide(&w, b), c);
	assert_int_equal(place(&w, a, 1), c);
	assert_null(fleet_verify(w.f));
	assert_int_equal(w.f->clusters[c].n_groups, 2);
	assert_int_equal(place(&w, b, 2), c);
	assert_null(fleet_verify(w.f));
	ledger_drop(w.l, 1);
	assert_null(fleet_verify(w.f));
	ledger_drop(w.l, 2);
	assert_int_equal(w.f->clusters[c].n_groups, 1);
	/* A node named twice is charged twice. */
	const struct fit_slot twice[] = {{3, 0, 4}, {4, 0, 1}, {3, 0, 4}, {4, 0, 1}};
	assert_int_equal(ledger_assume(w.l, 3, s, c, twice, 4, 0, &w.err), 0);
	assert_int_equal(cluster_view_node_free(w.f, c, 3, RESOURCE_PODS), 102);
	assert_null(fleet_verify(w.f));
	ledger_drop(w.l, 3);
	assert_int_equal(cluster_view_node_free(w.f, c, 3, RESOURCE_PODS), 110);
	placer_ask_unref(w.p, a);
	placer_ask_unref(w.p, b);
	fleet_shape_unref(w.f, s);
	fleet_shape_unref(w.f, t);
	world_done(&w);
}

static void a_pod_on_another_node_frees_the_one_that_was_assumed(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *s = gang(&w, 2, 100, 4);
	struct ask *a = ask_of(&w, s, NULL);
	struct placement_decision d;

	add_nodes(&w, c, 4, 8000, 4);
	assert_true(placement_decide(w.p, a, NULL, 0, 0, &d));
	uint32_t assumed[2] = {d.slots[0].node, d.slots[1].node}, other = 0;
	assert_int_equal(ledger_assume(w.l, 1, s, c, d.slots, d.n_slots, 0, &w.err), 0);
	while (other == assumed[0] || other == assumed[1])
		other++;
	/* The member bound the first pod elsewhere: the last one assumed goes. */
	assert_true(ledger_observe(w.l, 1, 0, other));
	charge_pod(&w, c, other, 100, 4, true);
	assert_int_equal(free_gpus(&w, c), 8);
	assert_int_equal(cluster_view_node_free(w.f, c, assumed[0], w.gpu), 0);
	assert_int_equal(cluster_view_node_free(w.f, c, assumed[1], w.gpu), 4);
	assert_int_equal(cluster_view_node_free(w.f, c, other, w.gpu), 0);
	/* Nobody saw where the second one was bound. */
	assert_true(ledger_observe(w.l, 1, 0, NODE_NONE));
	assert_int_equal(ledger_count(w.l), 0);
	charge_pod(&w, c, other, 100, 4, false);
	placer_ask_unref(w.p, a);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

/* One pod each of 4 GPUs on nodes of 4; the member binds the first where the second was assumed. */
static void what_was_assumed_where_another_pod_was_bound_moves_on(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *s = gang(&w, 1, 100, 4);
	struct ask *a = ask_of(&w, s, NULL);
	struct placement_decision d;
	uint32_t node[2];

	add_nodes(&w, c, 2, 8000, 4);
	for (uint64_t job = 1; job <= 2; job++) {
		assert_true(placement_decide(w.p, a, NULL, 0, 0, &d));
		node[job - 1] = d.slots[0].node;
		assert_int_equal(ledger_assume(w.l, job, s, c, d.slots, d.n_slots, 0, &w.err), 0);
	}
	charge_pod(&w, c, node[1], 100, 4, true);
	ledger_crowded(w.l, c, node[1]);
	assert_true(ledger_observe(w.l, 1, 0, node[1]));
	assert_int_equal(cluster_view_node_free(w.f, c, node[0], w.gpu), 4);
	ledger_rehome(w.l);
	assert_int_equal(cluster_view_node_free(w.f, c, node[0], w.gpu), 0);
	assert_int_equal(cluster_view_node_free(w.f, c, node[1], w.gpu), 0);
	assert_int_equal(place(&w, a, 3), CLUSTER_NONE);
	/* The second one is bound where it now is assumed. */
	charge_pod(&w, c, node[0], 100, 4, true);
	assert_true(ledger_observe(w.l, 2, 0, node[0]));
	assert_int_equal(cluster_view_node_free(w.f, c, node[0], w.gpu), 0);
	assert_int_equal(ledger_count(w.l), 0);
	charge_pod(&w, c, node[0], 100, 4, false);
	charge_pod(&w, c, node[1], 100, 4, false);
	placer_ask_unref(w.p, a);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void what_finds_no_other_node_moves_when_one_comes(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *s = gang(&w, 2, 100, 2);
	struct ask *a = ask_of(&w, s, NULL);

	add_nodes(&w, c, 1, 8000, 4);
	assert_int_equal(place(&w, a, 1), c);
	charge_pod(&w, c, 0, 100, 4, true); /* a foreign one */
	ledger_crowded(w.l, c, 0);
	ledger_rehome(w.l);
	assert_int_equal(cluster_view_node_free(w.f, c, 0, w.gpu), -4);
	add_nodes(&w, c, 2, 8000, 4);
	ledger_rehome(w.l);
	assert_int_equal(cluster_view_node_free(w.f, c, 0, w.gpu), 0);
	assert_int_equal(assumed_gpus(&w, c), 4);
	assert_int_equal(free_gpus(&w, c), 4);
	charge_pod(&w, c, 0, 100, 4, false);
	assert_true(ledger_drop(w.l, 1));
	assert_int_equal(free_gpus(&w, c), 12);
	placer_ask_unref(w.p, a);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

/* A node of 4 GPUs with a pod of 4, which is to leave for job 1. */
static void a_claim_keeps_nodes_that_others_still_stand_on(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *s = gang(&w, 1, 100, 4);
	struct ask *a = ask_of(&w, s, NULL);
	const struct fit_slot slot = {0, 0, 1};

	add_nodes(&w, c, 1, 8000, 4);
	charge_pod(&w, c, 0, 100, 4, true);
	assert_int_equal(ledger_claim(w.l, 1, s, c, &slot, 1, &w.err), 0);
	assert_int_equal(cluster_view_node_free(w.f, c, 0, w.gpu), -4);
	charge_pod(&w, c, 0, 100, 4, false);
	assert_int_equal(place(&w, a, 2), CLUSTER_NONE);
	/* A claim is no placement: that takes its place. */
	assert_int_equal(ledger_assume(w.l, 1, s, c, &slot, 1, 0, &w.err), -EEXIST);
	assert_true(ledger_drop(w.l, 1));
	assert_int_equal(place(&w, a, 2), c);
	placer_ask_unref(w.p, a);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void a_claim_is_replaced_and_the_same_one_changes_nothing(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *s = gang(&w, 1, 100, 4);
	const struct fit_slot first = {0, 0, 1}, second = {1, 0, 1}, none = {7, 0, 1};

	add_nodes(&w, c, 2, 8000, 4);
	assert_int_equal(ledger_claim(w.l, 1, s, c, &first, 1, &w.err), 0);
	uint64_t version = w.f->version;
	assert_int_equal(ledger_claim(w.l, 1, s, c, &first, 1, &w.err), 0);
	assert_int_equal(w.f->version, version);
	assert_int_equal(ledger_claim(w.l, 1, s, c, &second, 1, &w.err), 0);
	assert_int_equal(cluster_view_node_free(w.f, c, 0, w.gpu), 4);
	assert_int_equal(cluster_view_node_free(w.f, c, 1, w.gpu), 0);
	/* the same slots of another member are another claim */
	uint32_t other = add_cluster(&w, "other");
	add_nodes(&w, other, 2, 8000, 4);
	assert_int_equal(ledger_claim(w.l, 1, s, other, &second, 1, &w.err), 0);
	assert_int_equal(cluster_view_node_free(w.f, c, 1, w.gpu), 4);
	assert_int_equal(cluster_view_node_free(w.f, other, 1, w.gpu), 0);
	assert_int_equal(ledger_claim(w.l, 1, s, c, &none, 1, &w.err), -EINVAL);
	assert_int_equal(ledger_count(w.l), 0);
	assert_int_equal(ledger_assume(w.l, 2, s, c, &first, 1, 0, &w.err), 0);
	assert_int_equal(ledger_claim(w.l, 2, s, c, &first, 1, &w.err), -EEXIST);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void the_slots_of_a_claim_come_in_any_order(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *s = gang(&w, 2, 100, 4);
	const struct fit_slot slots[] = {{0, 0, 1}, {1, 0, 1}},
			      other_way[] = {{1, 0, 1}, {0, 0, 1}};
	const struct fit_slot others[] = {{1, 0, 1}, {2, 0, 1}};

	add_nodes(&w, c, 3, 8000, 4);
	assert_int_equal(ledger_claim(w.l, 1, s, c, slots, 2, &w.err), 0);
	uint64_t version = w.f->version;
	assert_int_equal(ledger_claim(w.l, 1, s, c, other_way, 2, &w.err), 0);
	assert_int_equal(w.f->version, version);
	assert_int_equal(ledger_claim(w.l, 1, s, c, others, 2, &w.err), 0);
	assert_int_equal(cluster_view_node_free(w.f, c, 0, w.gpu), 4);
	assert_int_equal(cluster_view_node_free(w.f, c, 2, w.gpu), 0);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

/* Job 2 is assumed on the node that job 1 claims beyond what it has: nobody moves for a claim. */
static void assumed_pods_do_not_move_for_a_claim(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *s = gang(&w, 1, 100, 2);
	const struct fit_slot slot = {0, 0, 1};

	add_nodes(&w, c, 2, 8000, 4);
	charge_pod(&w, c, 0, 100, 2, true);
	assert_int_equal(ledger_assume(w.l, 2, s, c, &slot, 1, 0, &w.err), 0);
	assert_int_equal(ledger_claim(w.l, 1, s, c, &slot, 1, &w.err), 0);
	ledger_crowded(w.l, c, 0);
	ledger_rehome(w.l);
	assert_int_equal(cluster_view_node_free(w.f, c, 0, w.gpu), -2);
	assert_int_equal(cluster_view_node_free(w.f, c, 1, w.gpu), 4);
	/* A pod of 2 more is bound there: now the assumed one has no room, claim or not. */
	charge_pod(&w, c, 0, 100, 2, true);
	ledger_crowded(w.l, c, 0);
	ledger_rehome(w.l);
	assert_int_equal(cluster_view_node_free(w.f, c, 0, w.gpu), -2);
	assert_int_equal(cluster_view_node_free(w.f, c, 1, w.gpu), 2);
	charge_pod(&w, c, 0, 100, 4, false);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void deadlines_come_up_in_order_and_can_be_moved(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *s = gang(&w, 1, 1, 0);
	static const int64_t deadlines[] = {50, 20, 0, 40, 20, 30};

	assert_int_equal(ledger_next_deadline(w.l), INT64_MAX);
	for (uint64_t job = 1; job <= ARRAY_LEN(deadlines); job++)
		assert_int_equal(ledger_assume(w.l, job, s, c, NULL, 0, deadlines[job - 1], &w.err),
				 0);
	assert_int_equal(ledger_next_deadline(w.l), 20);
	assert_int_equal(ledger_expired(w.l, 19), 0);
	assert_int_equal(ledger_expired(w.l, 20), 2);
	/* It is held until core says so. */
	assert_int_equal(ledger_expired(w.l, 100), 2);
	assert_int_equal(ledger_pods(w.l, 2), 1);
	ledger_extend(w.l, 2, 60);
	assert_int_equal(ledger_expired(w.l, 100), 5);
	static const uint64_t order[] = {5, 6, 4, 1, 2};
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		assert_int_equal(ledger_expired(w.l, 100), order[i]);
		assert_true(ledger_drop(w.l, order[i]));
	}
	assert_int_equal(ledger_expired(w.l, 100), 0);
	assert_int_equal(ledger_count(w.l), 1);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

/* Each comes before all others, so that it rises from the last place to the first. */
static void deadlines_that_come_earlier_and_earlier_are_in_order(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *s = gang(&w, 1, 1, 0);

	for (uint64_t job = 1; job <= 15; job++)
		assert_int_equal(ledger_assume(w.l, job, s, c, NULL, 0, 100 - (int64_t)job, &w.err),
				 0);
	for (uint64_t job = 15; job >= 1; job--) {
		assert_int_equal(ledger_next_deadline(w.l), 100 - (int64_t)job);
		assert_int_equal(ledger_expired(w.l, 100), job);
		assert_true(ledger_drop(w.l, job));
	}
	assert_int_equal(ledger_next_deadline(w.l), INT64_MAX);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void what_has_no_node_is_held_against_the_sums(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *s = gang(&w, 2, 100, 4);
	const struct placement_spec by_sum = {.sum_of_free = true};
	struct ask *a = ask_of(&w, s, &by_sum);

	add_nodes(&w, c, 4, 8000, 3);
	/* 12 free in sum: one job of 8 fits, the next one does not, though no node was charged. */
	assert_int_equal(place(&w, a, 1), c);
	assert_int_equal(free_gpus(&w, c), 12);
	assert_int_equal(decide(&w, a), CLUSTER_NONE);
	assert_true(ledger_observe(w.l, 1, 0, 0));
	charge_pod(&w, c, 0, 100, 3, true);
	assert_int_equal(ledger_pods(w.l, 1), 1);
	assert_true(ledger_drop(w.l, 1));
	assert_int_equal(decide(&w, a), c);
	charge_pod(&w, c, 0, 100, 3, false);
	placer_ask_unref(w.p, a);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void what_makes_no_sense_is_refused_and_changes_nothing(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *s = gang(&w, 2, 100, 1);

	add_nodes(&w, c, 2, 8000, 8);
	const struct fit_slot many = {0, 0, 3}, no_set = {0, 1, 1}, no_node = {9, 0, 1},
			      none = {0, 0, 0}, good = {1, 0, 2};
	const struct fit_slot *bad[] = {&many, &no_set, &no_node, &none};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(ledger_assume(w.l, 1, s, c, bad[i], 1, 0, &w.err), -EINVAL);
	assert_int_equal(ledger_assume(w.l, 0, s, c, &good, 1, 0, &w.err), -EINVAL);
	assert_int_equal(ledger_assume(w.l, 1, s, 99, &good, 1, 0, &w.err), -ENOENT);
	assert_int_equal(free_gpus(&w, c), 16);
	assert_int_equal(ledger_assume(w.l, 1, s, c, &good, 1, 0, &w.err), 0);
	assert_int_equal(ledger_assume(w.l, 1, s, c, &good, 1, 0, &w.err), -EEXIST);
	assert_int_equal(free_gpus(&w, c), 14);
	assert_false(ledger_observe(w.l, 1, 5, 0));
	assert_false(ledger_observe(w.l, 2, 0, 0));
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void a_node_that_goes_under_an_assumption_gives_it_back_in_the_end(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *s = gang(&w, 1, 100, 8);
	struct ask *a = ask_of(&w, s, NULL);

	add_nodes(&w, c, 1, 8000, 8);
	assert_int_equal(place(&w, a, 1), c);
	cluster_view_node_remove(w.f, c, 0);
	assert_int_equal(cluster_view_node_find(w.f, c, SPAN("n0")), 0);
	assert_true(ledger_drop(w.l, 1));
	assert_int_equal(cluster_view_node_find(w.f, c, SPAN("n0")), NODE_NONE);
	assert_int_equal(assumed_gpus(&w, c), 0);
	placer_ask_unref(w.p, a);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void room_for_a_pod_that_is_made_anew_is_kept(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *s = gang(&w, 2, 100, 8);
	struct ask *a = ask_of(&w, s, NULL);

	add_nodes(&w, c, 2, 8000, 8);
	assert_int_equal(place(&w, a, 1), c);
	assert_true(ledger_observe(w.l, 1, 0, 0));
	assert_true(ledger_observe(w.l, 1, 0, 1));
	assert_int_equal(ledger_count(w.l), 0); /* all were seen; then both go */
	for (uint32_t node = 0; node < 2; node++)
		assert_int_equal(ledger_await(w.l, 1, s, c, 0, node, &w.err), 0);
	assert_int_equal(ledger_pods(w.l, 1), 2);
	assert_int_equal(decide(&w, a), CLUSTER_NONE);
	assert_true(ledger_observe(w.l, 1, 0, 1));
	assert_int_equal(ledger_pods(w.l, 1), 1);
	assert_int_equal(assumed_gpus(&w, c), 8);
	assert_int_equal(ledger_await(w.l, 1, s, c, 7, 0, &w.err), -EINVAL);
	assert_true(ledger_drop(w.l, 1));
	assert_int_equal(free_gpus(&w, c), 16);
	placer_ask_unref(w.p, a);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

/* Two of one set and one of another on one node: each set is seen as often as it was awaited. */
static void awaited_pods_of_two_sets_are_counted_by_set(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct request one[2], many[2];
	const struct pod_set sets[] = {pods(&w, "leader", 1, 100, 1, one),
				       pods(&w, "worker", 2, 200, 2, many)};
	struct shape *s = shape_of(&w, sets, 2, NULL);

	add_nodes(&w, c, 1, 8000, 8);
	assert_int_equal(ledger_await(w.l, 1, s, c, 1, 0, &w.err), 0);
	assert_int_equal(ledger_await(w.l, 1, s, c, 0, 0, &w.err), 0);
	assert_int_equal(ledger_await(w.l, 1, s, c, 1, 0, &w.err), 0);
	assert_int_equal(assumed_gpus(&w, c), 5);
	assert_true(ledger_observe(w.l, 1, 0, 0));
	assert_int_equal(assumed_gpus(&w, c), 4);
	assert_false(ledger_observe(w.l, 1, 0, 0));
	assert_true(ledger_observe(w.l, 1, 1, 0));
	assert_true(ledger_observe(w.l, 1, 1, 0));
	assert_int_equal(assumed_gpus(&w, c), 0);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void an_awaited_pod_moves_off_a_node_that_takes_none(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *s = gang(&w, 1, 100, 8);
	struct node_spec down = {.ready = false};

	add_nodes(&w, c, 2, 8000, 8);
	add_node(&w, c, "n0", 8000, 8, &down);
	assert_int_equal(ledger_await(w.l, 1, s, c, 0, 0, &w.err), 0);
	ledger_rehome(w.l);
	assert_int_equal(free_gpus(&w, c), 0); /* that of n1 */
	assert_true(ledger_drop(w.l, 1));
	assert_int_equal(free_gpus(&w, c), 8);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static int64_t requested_gpus(const struct world *w, uint32_t c)
{
	struct cluster_totals t;

	cluster_view_totals(w->f, c, w->gpu, &t);
	return t.requested;
}

/* Job 1 is assumed on n0, which is lost; n1 has pods of 3 GPUs, and no room for it. */
static void a_lost_nodes_assumption_takes_nothing_from_what_is_told_of_others(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *s = gang(&w, 1, 100, 2);
	const struct fit_slot slot = {0, 0, 1};
	struct node_spec down = {.ready = false};

	add_nodes(&w, c, 2, 8000, 4);
	charge_pod(&w, c, 1, 100, 3, true);
	assert_int_equal(ledger_assume(w.l, 1, s, c, &slot, 1, 0, &w.err), 0);
	assert_int_equal(requested_gpus(&w, c), 3);
	add_node(&w, c, "n0", 8000, 4, &down);
	assert_int_equal(requested_gpus(&w, c), 3);
	ledger_crowded(w.l, c, 0);
	ledger_rehome(w.l);
	assert_int_equal(requested_gpus(&w, c), 3);
	charge_pod(&w, c, 1, 100, 3, false);
	assert_int_equal(requested_gpus(&w, c), 0);
	ledger_rehome(w.l);
	assert_int_equal(free_gpus(&w, c), 2); /* it moved there */
	assert_int_equal(requested_gpus(&w, c), 0);
	fleet_shape_unref(w.f, s);
	assert_true(ledger_drop(w.l, 1));
	world_done(&w);
}

static void many_jobs_come_and_go(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *s = gang(&w, 2, 10, 1);
	struct ask *a = ask_of(&w, s, NULL);
	uint64_t rnd = 5;

	add_nodes(&w, c, 50, 64000, 8);
	for (uint64_t job = 1; job <= 5000; job++) {
		if (place(&w, a, job) == CLUSTER_NONE || below(&rnd, 3) == 0)
			ledger_drop(w.l, 1 + (uint64_t)below(&rnd, (int64_t)job));
	}
	for (uint64_t job = 1; job <= 5000; job++)
		ledger_drop(w.l, job);
	assert_int_equal(ledger_count(w.l), 0);
	assert_int_equal(free_gpus(&w, c), 400);
	placer_ask_unref(w.p, a);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(V27_the_second_job_of_the_same_second_sees_what_the_first_left),
	    cmocka_unit_test(pods_that_show_up_take_the_place_of_what_was_assumed),
	    cmocka_unit_test(a_pod_takes_the_place_of_the_one_assumed_on_its_node),
	    cmocka_unit_test(alike_nodes_move_together_and_are_counted_one_by_one),
	    cmocka_unit_test(a_pod_on_another_node_frees_the_one_that_was_assumed),
	    cmocka_unit_test(what_was_assumed_where_another_pod_was_bound_moves_on),
	    cmocka_unit_test(what_finds_no_other_node_moves_when_one_comes),
	    cmocka_unit_test(a_claim_keeps_nodes_that_others_still_stand_on),
	    cmocka_unit_test(a_claim_is_replaced_and_the_same_one_changes_nothing),
	    cmocka_unit_test(the_slots_of_a_claim_come_in_any_order),
	    cmocka_unit_test(assumed_pods_do_not_move_for_a_claim),
	    cmocka_unit_test(deadlines_come_up_in_order_and_can_be_moved),
	    cmocka_unit_test(deadlines_that_come_earlier_and_earlier_are_in_order),
	    cmocka_unit_test(what_has_no_node_is_held_against_the_sums),
	    cmocka_unit_test(what_makes_no_sense_is_refused_and_changes_nothing),
	    cmocka_unit_test(a_node_that_goes_under_an_assumption_gives_it_back_in_the_end),
	    cmocka_unit_test(room_for_a_pod_that_is_made_anew_is_kept),
	    cmocka_unit_test(awaited_pods_of_two_sets_are_counted_by_set),
	    cmocka_unit_test(an_awaited_pod_moves_off_a_node_that_takes_none),
	    cmocka_unit_test(a_lost_nodes_assumption_takes_nothing_from_what_is_told_of_others),
	    cmocka_unit_test(many_jobs_come_and_go),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
