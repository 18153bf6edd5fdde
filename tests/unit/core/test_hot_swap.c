/*
 * A running gang loses a node: when a node counts as lost, and the spare nodes that are kept then.
 */
#include "hot_swap_words.h"

/* ---- spare nodes ---- */

static void a_spare_node_is_kept_for_the_gang(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 4);

	job(w, "gang", 2, "high");
	job(w, "low", 1, "low");
	auto_free char *node = node_of(m, "gang");
	model_remove_node(m, node);
	world_settle(w);
	assert_int_equal(world_events(w, "gang", "HotSwap", "spare nodes of cluster c1"), 1);
	assert_int_equal(world_events(w, "gang", "HotSwap", "is gone"), 1);
	assert_string_equal(status(w, "gang"), "Recovering");
	assert_true(why_says(w, "gang", "room for 1 pods is kept on spare nodes"));
	/* The room is taken: another one waits, though the node is empty. */
	job(w, "late", 1, "low");
	assert_false(record(w, "late")->holds);
	assert_int_equal(world_events(w, "low", "Preempted", ""), 0);
	model_recreate(m, model_copy(m, "default", "gang"), false);
	world_settle(w);
	later(w, 1100);
	assert_int_equal(bound(w, m, "gang"), 2);
	assert_int_equal(world_events(w, "gang", "HotSwapDone", ""), 1);
	assert_null(record(w, "gang")->swap);
	assert_string_equal(status(w, "gang"), "Running");
	assert_int_equal(m->creates, 2); /* its copy was never touched */
	assert_false(record(w, "late")->holds);
}

static void a_tainted_node_is_lost_at_once(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	job(w, "gang", 2, "high");
	auto_free char *node = node_of(m, "gang");
	model_set_node(m, node, true, true);
	world_settle(w);
	assert_int_equal(world_events(w, "gang", "HotSwap", "is tainted NoExecute"), 1);
}

/* Both lose a node at once, and one is spare. */
static void both_lose_a_node(struct world *w, struct model *m, const char *one, const char *two)
{
	auto_free char *a = node_of(m, one), *b = node_of(m, two);

	model_set_node(m, a, true, true);
	model_set_node(m, b, true, true);
	for (struct fact *f; (f = model_next_fact(m));)
		world_push(w, f);
	world_run(w);
	world_settle(w);
	later(w, 1100);
}

static void of_two_gangs_the_higher_one_gets_the_spare_node(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 5);

	job(w, "low", 2, "low");
	job(w, "high", 2, "high");
	both_lose_a_node(w, m, "low", "high");
	assert_int_equal(swap_step(record(w, "high")), SWAP_RESERVED);
	assert_int_equal(swap_step(record(w, "low")), SWAP_WAITING);
	assert_int_equal(world_events(w, "low", "Preempted", ""), 0);
}

static void of_two_equal_gangs_the_older_one_gets_the_spare_node(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 5);

	job(w, "zeta", 2, "high");
	later(w, 1000);
	job(w, "alpha", 2, "high");
	both_lose_a_node(w, m, "alpha", "zeta");
	assert_int_equal(swap_step(record(w, "zeta")), SWAP_RESERVED);
	assert_int_equal(swap_step(record(w, "alpha")), SWAP_WAITING);
}

/* ---- tolerationSeconds ---- */

#define TOLERATES                                                                                  \
	"'priorityClassName':'high','tolerations':[{'key':'maintenance','operator':'Exists',"      \
	"'effect':'NoExecute','tolerationSeconds':60}],"

static void a_taint_that_is_tolerated_for_a_minute_is_lost_after_it(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	job_of(w, "gang", 2, TOLERATES, "");
	auto_free char *node = node_of(m, "gang");
	model_set_node(m, node, true, true);
	world_settle(w);
	later(w, 30000);
	model_set_node(m, node, true, true); /* told of again: the minute is the same one */
	world_settle(w);
	later(w, 29000);
	assert_int_equal(world_events(w, "gang", "HotSwap", ""), 0);
	assert_string_equal(status(w, "gang"), "Running");
	later(w, 1100);
	assert_int_equal(world_events(w, "gang", "HotSwap", "is tainted NoExecute"), 1);
	model_recreate(m, model_copy(m, "default", "gang"), false);
	world_settle(w);
	later(w, 1100);
	assert_int_equal(bound(w, m, "gang"), 2);
	assert_int_equal(world_events(w, "gang", "HotSwapDone", ""), 1);
}

static void a_taint_that_goes_within_its_time_loses_nothing(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	job_of(w, "gang", 2, TOLERATES, "");
	auto_free char *node = node_of(m, "gang");
	model_set_node(m, node, true, true);
	world_settle(w);
	later(w, 30000);
	model_set_node(m, node, true, false);
	world_settle(w);
	later(w, 60000);
	assert_int_equal(world_events(w, "gang", "HotSwap", ""), 0);
	assert_null(record(w, "gang")->swap);
}

static void another_lost_node_leaves_tolerated_pods_where_they_are(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 4);

	job_of(w, "gang", 2, TOLERATES, "");
	auto_free char *first = node_of(m, "gang");
	auto_free char *second = xstrdup(model_copy(m, "default", "gang")->pods.items[1]->node);
	model_set_node(m, first, true, true);
	world_settle(w);
	model_remove_node(m, second);
	world_settle(w);
	/* Of the two pods one is missing; the other has its minute, and is missing then. */
	assert_int_equal(world_events(w, "gang", "HotSwap", "room for 1 pods"), 1);
	assert_int_equal(world_events(w, "gang", "HotSwap", "is gone"), 1);
	model_set_node(m, first, true, false); /* for the model: who is tainted is lost */
	world_settle(w);
	model_recreate(m, model_copy(m, "default", "gang"), false);
	world_settle(w);
	later(w, 1100);
	assert_int_equal(world_events(w, "gang", "HotSwapDone", ""), 1);
	later(w, 60000);
	assert_int_equal(world_events(w, "gang", "HotSwap", ""), 1);
	assert_int_equal(bound(w, m, "gang"), 2);
}

/* ---- time ---- */

static void four_seconds_of_not_ready_do_nothing(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	job(w, "gang", 2, "high");
	job(w, "low", 1, "low");
	auto_free char *node = node_of(m, "gang");
	model_set_node(m, node, false, false);
	world_settle(w);
	later(w, 4000);
	model_set_node(m, node, true, false);
	world_settle(w);
	later(w, 60000);
	assert_int_equal(world_events(w, "gang", "HotSwap", ""), 0);
	assert_int_equal(world_events(w, "low", "Preempted", ""), 0);
	assert_null(record(w, "gang")->swap);
	assert_int_equal(record(w, "gang")->dispatch.epoch, 1);
}

static void five_seconds_of_not_ready_are_enough(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	job(w, "gang", 2, "high");
	auto_free char *node = node_of(m, "gang");
	model_set_node(m, node, false, false);
	world_settle(w);
	later(w, 4900);
	assert_int_equal(swap_step(record(w, "gang")), SWAP_SUSPECTED);
	assert_string_equal(status(w, "gang"), "Running");
	later(w, 200);
	assert_int_equal(swap_step(record(w, "gang")), SWAP_RESERVED);
	assert_int_equal(world_events(w, "gang", "HotSwap", "is not ready"), 1);
}

/* What a member last said of its nodes is no reason while it says nothing at all. */
static void of_a_member_that_is_silent_nothing_is_decided(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	job(w, "gang", 2, "high");
	auto_free char *node = node_of(m, "gang");
	model_set_node(m, node, false, false);
	world_settle(w);
	struct fact *f = model_ready(m);
	f->member_state.condition = MEMBER_UNREACHABLE;
	world_push(w, f);
	world_run(w);
	world_advance(w, 10 * USEC_PER_SEC);
	world_run(w);
	assert_int_equal(swap_step(record(w, "gang")), SWAP_SUSPECTED);
	world_push(w, model_ready(m));
	world_settle(w);
	later(w, 1100);
	assert_int_equal(swap_step(record(w, "gang")), SWAP_RESERVED);
}

static void switched_off_it_looks_at_no_node(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	w->core->settings.hot_swap = false;
	job(w, "gang", 2, "high");
	auto_free char *node = node_of(m, "gang");
	model_set_node(m, node, true, true);
	world_settle(w);
	later(w, 10000);
	assert_int_equal(swap_step(record(w, "gang")), SWAP_NONE);
	assert_int_equal(world_events(w, "gang", "HotSwap", ""), 0);
}

static void the_time_of_not_ready_outlives_a_restart(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	job(w, "gang", 2, "high");
	auto_free char *node = node_of(m, "gang");
	model_set_node(m, node, false, false);
	world_settle(w);
	later(w, 3000);
	world_restart(w);
	later(w, 1000);
	assert_int_equal(swap_step(record(w, "gang")), SWAP_SUSPECTED);
	later(w, 1100);
	assert_int_equal(swap_step(record(w, "gang")), SWAP_RESERVED);
}

static void pods_that_fail_before_the_node_is_told_of_are_not_forgotten(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 2);

	job(w, "gang", 1, "high");
	job(w, "low", 1, "low");
	auto_free char *node = node_of(m, "gang");
	struct model_copy *c = model_copy(m, "default", "gang");
	/* The pod goes, and its successor finds no place; only then is the node seen. */
	model_end_pod(m, c->pods.items[0]);
	c->pods.items[0]->gone = false;
	m->nodes.items[0]->down = m->nodes.items[1]->down = true;
	model_recreate(m, c, true);
	world_settle(w);
	m->nodes.items[0]->down = m->nodes.items[1]->down = false;
	model_set_node(m, node, false, false);
	world_settle(w);
	later(w, 5100);
	assert_int_equal(world_events(w, "low", "Preempted", "which lost nodes"), 1);
	assert_int_equal(bound(w, m, "gang"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(a_spare_node_is_kept_for_the_gang),
	    STORY(a_tainted_node_is_lost_at_once),
	    STORY(of_two_gangs_the_higher_one_gets_the_spare_node),
	    STORY(of_two_equal_gangs_the_older_one_gets_the_spare_node),
	    STORY(a_taint_that_is_tolerated_for_a_minute_is_lost_after_it),
	    STORY(a_taint_that_goes_within_its_time_loses_nothing),
	    STORY(another_lost_node_leaves_tolerated_pods_where_they_are),
	    STORY(four_seconds_of_not_ready_do_nothing),
	    STORY(five_seconds_of_not_ready_are_enough),
	    STORY(of_a_member_that_is_silent_nothing_is_decided),
	    STORY(switched_off_it_looks_at_no_node),
	    STORY(the_time_of_not_ready_outlives_a_restart),
	    STORY(pods_that_fail_before_the_node_is_told_of_are_not_forgotten),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
