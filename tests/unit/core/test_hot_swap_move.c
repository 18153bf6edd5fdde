/*
 * A gang that lost a node and that its member cannot hold any more: it moves to another member,
 * where its room is kept.
 */
#include "hot_swap_words.h"

#include "core/kueue/workload.h"

static void without_room_it_moves_to_another_member(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 2), *other;

	job(w, "gang", 2, "high");
	auto_free char *node = node_of(m, "gang");
	other = member(w, "c2", 2);
	model_remove_node(m, node);
	model_recreate(m, model_copy(m, "default", "gang"), false);
	world_settle(w);
	later(w, 2000);
	assert_int_equal(world_events(w, "gang", "HotSwap", "cluster c2 can"), 1);
	assert_null(model_copy(m, "default", "gang"));
	assert_int_equal(bound(w, other, "gang"), 2);
	assert_int_equal(record(w, "gang")->dispatch.epoch, 2);
}

/* A gang of two on c1 that has to move to c2, with orders that nobody has answered yet. */
static struct model *moving(struct world *w, struct model **ret_from)
{
	struct model *from = member(w, "c1", 2), *to;

	job(w, "gang", 2, "low");
	auto_free char *node = node_of(from, "gang");
	to = member(w, "c2", 2);
	model_remove_node(from, node);
	for (struct fact *f; (f = model_next_fact(from));)
		world_push(w, f);
	world_run(w);
	assert_int_equal(world_events(w, "gang", "HotSwap", "cluster c2 can"), 1);
	*ret_from = from;
	return to;
}

static void the_room_that_a_gang_moves_to_is_kept_for_it(void **state)
{
	struct world *w = *state;
	struct model *from, *to = moving(w, &from);

	/* Somebody of a higher priority comes before the gang has left. */
	auto_free char *thief = world_job_text("default", "thief", 1, 4, "");
	assert_int_equal(world_create(w, TYPE_JOB, thief), ERR_NONE);
	world_run(w);
	assert_false(record(w, "thief")->holds);
	world_settle(w);
	later(w, 2000);
	assert_null(model_copy(from, "default", "gang"));
	assert_int_equal(bound(w, to, "gang"), 2);
	assert_null(record(w, "gang")->swap);
	assert_false(record(w, "thief")->holds &&
		     record(w, "thief")->dispatch.member == to->number);
}

static void a_restart_keeps_the_room_that_a_gang_moves_to(void **state)
{
	struct world *w = *state;
	struct model *from, *to = moving(w, &from);

	world_restart(w);
	world_run(w);
	auto_free char *thief = world_job_text("default", "thief", 2, 4, "");
	assert_int_equal(world_create(w, TYPE_JOB, thief), ERR_NONE);
	world_settle(w);
	later(w, 2000);
	later(w, 2000);
	assert_int_equal(bound(w, to, "gang"), 2);
	assert_false(record(w, "thief")->holds);
	/* Nothing is left of it: a second restart finds no row. */
	world_restart(w);
	world_settle(w);
	assert_null(record(w, "gang")->swap);
}

static void the_room_of_a_gang_that_is_deleted_is_for_others(void **state)
{
	struct world *w = *state;
	struct model *from, *to = moving(w, &from);

	job(w, "thief", 2, "low");
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "gang"), ERR_NONE);
	world_settle(w);
	later(w, 2000);
	assert_int_equal(bound(w, to, "thief"), 2);
}

/* ---- queues ---- */

static void a_queued_gang_that_moves_is_requeued_for_node_failures(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 2), *other;

	one_queue(w, 12, "");
	job_in(w, "gang", 2, "high", QUEUED);
	auto_free char *node = node_of(m, "gang");
	other = member(w, "c2", 2);
	model_remove_node(m, node);
	model_recreate(m, model_copy(m, "default", "gang"), false);
	world_settle(w);
	later(w, 2000);
	assert_int_equal(bound(w, other, "gang"), 2);
	assert_true(workload_holds_quota(record(w, "gang")->workload));
}

/* Room is kept on c2 for the gang's two pods, beside two jobs of one pod there; then its queue has
 * 12 cpus left, of which those two use 8: one of them has to go for quota, and none for nodes. */
static void a_gang_that_moves_preempts_nobody_for_the_room_that_it_has(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 2), *other;

	one_queue(w, 16, ",'preemption':{'withinClusterQueue':'LowerPriority'}");
	job_in(w, "gang", 2, "high", QUEUED);
	auto_free char *node = node_of(m, "gang");
	other = member(w, "c2", 4);
	job_in(w, "low1", 1, "low", QUEUED);
	job_in(w, "low2", 1, "low", QUEUED);
	assert_int_equal(bound(w, other, "low1") + bound(w, other, "low2"), 2);
	model_remove_node(m, node);
	world_streams(w);
	world_run(w);
	assert_int_equal(world_events(w, "gang", "HotSwap", "cluster c2 can"), 1);
	assert_int_equal(
	    world_patch(w, TYPE_CLUSTER_QUEUE, "", "cq",
			"{'spec':{'resourceGroups':[{'coveredResources':['cpu'],'flavors':[{'name':"
			"'f','resources':[{'name':'cpu','nominalQuota':12}]}]}]}}"),
	    ERR_NONE);
	model_recreate(m, model_copy(m, "default", "gang"), false);
	world_settle(w);
	later(w, 2000);
	assert_int_equal(bound(w, other, "gang"), 2);
	assert_null(record(w, "gang")->swap);
	assert_int_equal(bound(w, other, "low1") + bound(w, other, "low2"), 1);
	assert_int_equal(workload_holds_quota(record(w, "low1")->workload) +
			     workload_holds_quota(record(w, "low2")->workload),
			 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(without_room_it_moves_to_another_member),
	    STORY(the_room_that_a_gang_moves_to_is_kept_for_it),
	    STORY(a_restart_keeps_the_room_that_a_gang_moves_to),
	    STORY(the_room_of_a_gang_that_is_deleted_is_for_others),
	    STORY(a_queued_gang_that_moves_is_requeued_for_node_failures),
	    STORY(a_gang_that_moves_preempts_nobody_for_the_room_that_it_has),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
