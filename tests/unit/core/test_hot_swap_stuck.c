/*
 * Nodes of which nothing is heard: their pods are deleted, and stay Terminating. Who waits for them
 * is told, what they held is nobody's room, and they end when their kubelet is back.
 */
#include "hot_swap_words.h"

/* The gang's first node falls silent, and its pod there is deleted. */
static char *fall_silent(struct world *w, struct model *m)
{
	char *node = node_of(m, "gang");

	model_set_node(m, node, false, false);
	world_settle(w);
	model_hang(m, node);
	world_settle(w);
	later(w, 5100);
	return node;
}

static void a_pod_that_does_not_end_counts_as_lost(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	job(w, "gang", 2, "high");
	auto_free char *node = fall_silent(w, m);
	assert_int_equal(world_events(w, "gang", "HotSwap", "spare nodes of cluster c1"), 1);
	/* Its controller waits; the silent node is no room for anybody. */
	model_recreate(m, model_copy(m, "default", "gang"), false);
	job(w, "late", 1, "low");
	assert_false(record(w, "late")->holds);
	later(w, 54000);
	assert_int_equal(world_events(w, "gang", "HotSwapBlocked", ""), 0);
	later(w, 6000);
	assert_int_equal(world_events(w, "gang", "HotSwapBlocked", node), 1);
	assert_int_equal(world_events(w, "gang", "HotSwapBlocked", "out-of-service"), 1);
	assert_true(why_says(w, "gang", "are Terminating and do not end"));
	later(w, 120000);
	assert_int_equal(world_events(w, "gang", "HotSwapBlocked", ""), 1);
	/* The admin deletes the node: Kubernetes takes its pods away, and the gang goes on. */
	model_recreate(m, model_copy(m, "default", "gang"), false);
	model_unhang(m, node);
	model_remove_node(m, node);
	world_settle(w);
	struct model_copy *c = model_copy(m, "default", "gang");
	c->pods.items[0]->gone = c->pods.items[0]->hung = false;
	model_recreate(m, c, false);
	world_settle(w);
	later(w, 1100);
	assert_int_equal(bound(w, m, "gang"), 2);
	assert_int_equal(world_events(w, "gang", "HotSwapDone", ""), 1);
	assert_null(record(w, "gang")->swap);
}

/* The pod is about to end: that its node is well again does not bring it back. */
static void a_kubelet_that_returns_ends_the_old_pod(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	job(w, "gang", 2, "high");
	auto_free char *node = fall_silent(w, m);
	model_set_node(m, node, true, false);
	world_settle(w);
	later(w, 2000);
	assert_int_equal(world_events(w, "gang", "HotSwapDone", ""), 0);
	model_unhang(m, node);
	struct model_copy *c = model_copy(m, "default", "gang");
	world_settle(w);
	c->pods.items[0]->gone = c->pods.items[0]->hung = false;
	model_recreate(m, c, true);
	world_settle(w);
	later(w, 1100);
	assert_int_equal(bound(w, m, "gang"), 2);
	assert_int_equal(world_events(w, "gang", "HotSwapDone", ""), 1);
}

static void a_restart_knows_of_pods_that_do_not_end(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	job(w, "gang", 2, "high");
	auto_free char *node = fall_silent(w, m);
	world_restart(w);
	world_settle(w);
	later(w, 61000);
	later(w, 1100);
	assert_int_equal(world_events(w, "gang", "HotSwapBlocked", node), 1);
	assert_int_equal(swap_step(record(w, "gang")), SWAP_RESERVED);
}

/* It may still run where it was: it starts nowhere else, and the room that was kept for it there is
 * others' after ten minutes. */
static void a_gang_starts_nowhere_else_while_its_pods_do_not_end(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 2), *other;

	job(w, "gang", 2, "high");
	other = member(w, "c2", 2);
	auto_free char *node = fall_silent(w, m);
	assert_int_equal(world_events(w, "gang", "HotSwap", "cluster c2 can"), 1);
	assert_int_equal(m->deletes, 1);
	later(w, 61000);
	assert_int_equal(world_events(w, "gang", "HotSwapBlocked", "cannot start elsewhere"), 1);
	job(w, "thief", 2, "low");
	assert_int_equal(bound(w, other, "thief"), 0);
	for (int i = 0; i < 6; i++)
		later(w, 100000);
	assert_int_equal(bound(w, other, "thief"), 2);
	assert_string_equal(status(w, "gang"), "Withdrawing");
	/* The kubelet is back: now the gang is free, and waits for room. */
	model_unhang(m, node);
	model_set_node(m, node, true, false);
	world_settle(w);
	later(w, 2000);
	assert_int_equal(bound(w, m, "gang"), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(a_pod_that_does_not_end_counts_as_lost),
	    STORY(a_kubelet_that_returns_ends_the_old_pod),
	    STORY(a_restart_knows_of_pods_that_do_not_end),
	    STORY(a_gang_starts_nowhere_else_while_its_pods_do_not_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
