/*
 * Who goes for a gang that lost a node, and returns with it: outside queues, in Kueue's and in the
 * elastic tree.
 */
#include "hot_swap_words.h"

#include "core/kueue/workload.h"

/* ---- victims ---- */

static void the_lowest_goes_and_returns_when_the_node_does(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 4);

	job(w, "gang", 2, "high");
	job(w, "mid", 1, "high");
	job(w, "low", 1, "low");
	auto_free char *node = node_of(m, "gang");
	model_set_node(m, node, false, false);
	world_settle(w);
	later(w, 5100);
	assert_int_equal(world_events(w, "gang", "HotSwap", "preempting Job default/low"), 1);
	assert_int_equal(world_events(w, "low", "Preempted", "Job default/gang (priority 1000)"),
			 1);
	assert_true(model_copy(m, "default", "low")->suspended);
	assert_string_equal(world_step(w, "default", "low-job"), "Parked");
	assert_non_null(model_copy(m, "default", "mid"));
	model_recreate(m, model_copy(m, "default", "gang"), false);
	world_settle(w);
	later(w, 1100);
	assert_int_equal(bound(w, m, "gang"), 2);
	assert_int_equal(world_events(w, "gang", "HotSwapDone", ""), 1);
	assert_false(record(w, "low")->holds);
	model_set_node(m, node, true, false);
	world_settle(w);
	assert_true(record(w, "low")->holds);
	assert_int_equal(bound(w, m, "low"), 1);
	assert_int_equal(record(w, "gang")->dispatch.epoch, 1);
}

/* Its victim's pod does not end: the gang, which runs where it was, waits for that one too. */
static void who_has_yet_to_stop_for_the_gang_is_told(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	job(w, "gang", 2, "high");
	job(w, "low", 1, "low");
	auto_free char *node = node_of(m, "gang");
	auto_free char *other = xstrdup(node_of_pod(m, "low"));
	model_hang(m, other);
	model_set_node(m, node, false, false);
	world_settle(w);
	later(w, 5100);
	assert_true(why_says(w, "gang",
			     "\"waitsFor\":{\"count\":1,\"message\":\"Waits for 1 preempted "
			     "job to stop: Job default/low on c1 (1 pod left; pod "));
	assert_true(
	    why_says(w, "low", "\"message\":\"Gives way to Job default/gang: 1 pod left\""));
	model_unhang(m, other);
	world_settle(w);
	later(w, 1100);
	assert_false(why_says(w, "gang", "waitsFor"));
}

/* A node that is well again is used at once, as Kubernetes and Kueue do; a gang that left it does
 * not go back, so that what flaps is met by those alone who returned to it. */
static void a_node_that_flaps_hits_the_gang_once(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	job(w, "gang", 2, "high");
	job(w, "low", 1, "low");
	auto_free char *node = node_of(m, "gang");
	model_set_node(m, node, false, false);
	world_settle(w);
	later(w, 5100);
	model_recreate(m, model_copy(m, "default", "gang"), false);
	world_settle(w);
	later(w, 1100);
	assert_int_equal(world_events(w, "gang", "HotSwapDone", ""), 1);
	for (int i = 1; i <= 3; i++) {
		model_set_node(m, node, true, false);
		world_settle(w);
		later(w, 1100);
		assert_string_equal(node_of_pod(m, "low"), node);
		model_set_node(m, node, false, false);
		world_settle(w);
		later(w, 5100);
		model_recreate(m, model_copy(m, "default", "low"), false);
		world_settle(w);
		assert_int_equal(bound(w, m, "gang"), 2);
		assert_int_equal(swap_step(record(w, "low")), SWAP_WAITING);
	}
	assert_int_equal(world_events(w, "gang", "HotSwap", ""), 1);
	assert_int_equal(record(w, "gang")->dispatch.epoch, 1);
	assert_int_equal(world_events(w, "low", "Preempted", ""), 1);
}

static void a_restart_in_the_middle_leads_to_the_same(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	job(w, "gang", 2, "high");
	job(w, "low", 1, "low");
	auto_free char *node = node_of(m, "gang");
	model_set_node(m, node, false, false);
	world_settle(w);
	world_advance(w, 5100 * USEC_PER_MS); /* decided; the victim's end is not answered yet */
	assert_int_equal(world_events(w, "gang", "HotSwap", "preempting Job default/low"), 1);
	auto_free char *before = world_memory(w);
	world_restart(w);
	assert_int_equal(swap_step(record(w, "gang")), SWAP_RESERVED);
	auto_free char *after = world_memory(w);
	assert_string_equal(before, after);
	world_settle(w);
	job(w, "late", 1, "low"); /* the room is the gang's */
	assert_false(record(w, "late")->holds);
	model_recreate(m, model_copy(m, "default", "gang"), false);
	world_settle(w);
	later(w, 1100);
	assert_int_equal(bound(w, m, "gang"), 2);
	assert_int_equal(world_events(w, "gang", "HotSwap", ""), 1);
	assert_int_equal(world_events(w, "gang", "HotSwapDone", ""), 1);
	assert_int_equal(world_events(w, "low", "Preempted", ""), 1);
}

static void nobody_lower_waits_and_says_why(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	job(w, "gang", 2, "high");
	job(w, "equal", 1, "high");
	auto_free char *node = node_of(m, "gang");
	model_remove_node(m, node);
	world_settle(w);
	assert_int_equal(swap_step(record(w, "gang")), SWAP_WAITING);
	assert_int_equal(
	    world_events(w, "gang", "HotSwapWaiting", "no job of lower priority than 1000"), 1);
	assert_true(why_says(w, "gang", "1 pods wait for room: no node of cluster c1 is spare"));
	later(w, 30000);
	assert_int_equal(world_events(w, "gang", "HotSwapWaiting", ""), 1); /* told once */
	world_restart(w);
	later(w, 30000);
	assert_int_equal(swap_step(record(w, "gang")), SWAP_WAITING);
	assert_int_equal(world_events(w, "gang", "HotSwapWaiting", ""), 1);
	/* A node comes: it is the gang's before anybody's. */
	job(w, "late", 1, "high");
	model_add_node(m, "fresh", 4, 0);
	world_settle(w);
	later(w, 1100);
	assert_int_equal(swap_step(record(w, "gang")), SWAP_RESERVED);
	assert_false(record(w, "late")->holds);
	model_recreate(m, model_copy(m, "default", "gang"), false);
	world_settle(w);
	later(w, 1100);
	assert_int_equal(bound(w, m, "gang"), 2);
}

static void a_class_that_never_preempts_evicts_nobody(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	world_create(
	    w, TYPE_PRIORITY_CLASS,
	    "{'apiVersion':'scheduling.k8s.io/v1','kind':'PriorityClass','metadata':{'name'"
	    ":'polite'},'value':2000,'preemptionPolicy':'Never'}");
	job(w, "gang", 2, "polite");
	job(w, "low", 1, "low");
	model_remove_node(m, model_copy(m, "default", "gang")->pods.items[0]->node);
	world_settle(w);
	assert_int_equal(world_events(w, "low", "Preempted", ""), 0);
	assert_int_equal(world_events(w, "gang", "HotSwapWaiting", "preempts nobody"), 1);
}

static void nobody_goes_for_what_cannot_start_then(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 4);

	job(w, "gang", 3, "high");
	job(w, "low", 1, "low");
	struct model_copy *c = model_copy(m, "default", "gang");
	auto_free char *one = xstrdup(c->pods.items[0]->node),
		       *two = xstrdup(c->pods.items[1]->node);
	model_set_node(m, one, true, true);
	model_set_node(m, two, true, true);
	world_settle(w);
	later(w, 10000);
	assert_int_equal(world_events(w, "low", "Preempted", ""), 0);
	assert_int_equal(swap_step(record(w, "gang")), SWAP_WAITING);
}

/* ---- queues ---- */

static void a_queued_victim_is_evicted_and_keeps_its_place(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	one_queue(w, 12, "");
	job_in(w, "gang", 2, "high", QUEUED);
	job_in(w, "low", 1, "low", QUEUED);
	auto_free char *node = node_of(m, "gang");
	model_remove_node(m, node);
	world_settle(w);
	const struct job *low = record(w, "low");
	assert_int_equal(world_events(w, "low", "Preempted", "which lost nodes"), 1);
	assert_false(workload_holds_quota(low->workload));
	assert_true(workload_holds_quota(record(w, "gang")->workload));
	model_recreate(m, model_copy(m, "default", "gang"), false);
	world_settle(w);
	later(w, 1100);
	assert_int_equal(bound(w, m, "gang"), 2);
	model_add_node(m, "back", 4, 0);
	world_settle(w);
	later(w, 1100);
	assert_true(low->holds);
	assert_int_equal(bound(w, m, "low"), 1);
}

/* ---- the elastic tree ---- */

static void team_job(struct world *w, const char *ns, const char *name, int pods,
		     const char *class_name)
{
	auto_free char *text = world_job_text(ns, name, pods, 4, "");
	auto_buf b = BUF_INIT;
	char *spec = strstr(text, "'containers'");

	buf_add(&b, text, (size_t)(spec - text));
	buf_addf(&b, "'priorityClassName':'%s',%s", class_name, spec);
	assert_int_equal(world_create(w, TYPE_JOB, b.ptr), ERR_NONE);
	world_settle(w);
}

static void jobs_of_the_tree_are_swapped_alike(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	world_teams(w, 24, 16);
	team_job(w, "team-a", "gang", 2, "high");
	team_job(w, "team-b", "low", 1, "low");
	model_remove_node(m, model_copy(m, "team-a", "gang")->pods.items[0]->node);
	world_settle(w);
	assert_int_equal(world_events(w, "low", "Preempted", "Job team-a/gang"), 1);
	assert_int_equal(world_used(w, "root/a", "cpu"), 8000);
	assert_int_equal(world_used(w, "root/b", "cpu"), 0);
	model_recreate(m, model_copy(m, "team-a", "gang"), false);
	world_settle(w);
	later(w, 1100);
	assert_int_equal(model_copy_bound(model_copy(m, "team-a", "gang")), 2);
	model_add_node(m, "back", 4, 0);
	world_settle(w);
	assert_int_equal(world_used(w, "root/b", "cpu"), 4000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(the_lowest_goes_and_returns_when_the_node_does),
	    STORY(who_has_yet_to_stop_for_the_gang_is_told),
	    STORY(a_node_that_flaps_hits_the_gang_once),
	    STORY(a_restart_in_the_middle_leads_to_the_same),
	    STORY(nobody_lower_waits_and_says_why),
	    STORY(a_class_that_never_preempts_evicts_nobody),
	    STORY(nobody_goes_for_what_cannot_start_then),
	    STORY(a_queued_victim_is_evicted_and_keeps_its_place),
	    STORY(jobs_of_the_tree_are_swapped_alike),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
