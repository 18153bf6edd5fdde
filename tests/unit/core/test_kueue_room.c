/*
 * Preemption for nodes in Kueue's queues (hub/core/kueue/room.h, claim.h): who leaves when quota
 * fits and nodes do not, which member gains, and for whom the nodes are kept meanwhile.
 */
#include "world.h"

#include "core/job.h"
#include "core/kueue/kueue.h"
#include "core/kueue/workload.h"
#include "core/member.h"

#define STORY(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

#define HIGH ",'kueue.x-k8s.io/priority-class':'high'"

static const char OWN_QUEUE[] = ",'preemption':{'withinClusterQueue':'LowerPriority'}";

static void queue(struct world *w, int cpus, const char *more)
{
	world_flavor(w, "f", "");
	world_priority(w, "high", 1000);
	world_cluster_queue(w, "cq", "f", cpus, more);
	world_local_queue(w, "lq", "cq");
}

static const char *reason(struct world *w, const char *job, const char *type)
{
	return world_workload_condition(w, job, type, "reason");
}

/* One turn after the other, no answers: the moment after the decision. */
static void decide(struct world *w)
{
	world_run(w);
}

/* 20 cpus of quota; 8 of nodes, all taken by two jobs of 4. */
static void a_head_that_lacks_nodes_alone_preempts_for_them(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 4);

	m->run_time = 600 * USEC_PER_SEC;
	queue(w, 20, OWN_QUEUE);
	world_queued_job(w, "low1", "lq", 1, 4, "");
	world_settle(w);
	world_advance(w, USEC_PER_SEC);
	world_queued_job(w, "low2", "lq", 1, 4, "");
	world_settle(w);
	world_queued_job(w, "prod", "lq", 1, 4, HIGH);
	decide(w);
	/* The one that holds its quota for less time; the other is not needed. */
	assert_string_equal(reason(w, "low2", "Preempted"), "InClusterQueue");
	assert_string_equal(reason(w, "low1", "Evicted"), "");
	assert_string_equal(reason(w, "prod", "QuotaReserved"), "WaitingForPreemptedWorkloads");
	assert_string_equal(world_workload_condition(w, "prod", "QuotaReserved", "message"),
			    "no member cluster has room. Pending the preemption of 1 workload(s): "
			    "Job default/low2 on c1");
	world_settle(w);
	assert_non_null(model_copy(m, "default", "prod"));
	assert_non_null(model_copy(m, "default", "low1"));
	assert_true(model_copy(m, "default", "low2")->suspended);
}

/* 4 cpus of quota, all held on c1; c2, which came later, is free and fits the head to the last cpu.
 */
static void who_lacks_quota_alone_is_kept_nodes_where_placement_would_put_it(void **state)
{
	struct world *w = *state;
	struct model *c1 = world_join(w, "c1", 2, 8);

	c1->run_time = 600 * USEC_PER_SEC;
	queue(w, 4, OWN_QUEUE);
	world_queued_job(w, "low", "lq", 1, 4, "");
	world_settle(w);
	assert_non_null(model_copy(c1, "default", "low"));
	struct model *c2 = world_join(w, "c2", 1, 4);
	world_settle(w);
	world_queued_job(w, "prod", "lq", 1, 4, HIGH);
	decide(w);
	assert_string_equal(reason(w, "low", "Preempted"), "InClusterQueue");
	const struct job *prod = world_record(w, TYPE_JOB, "default", "prod");
	uint32_t kept = ledger_cluster(w->core->ledger, prod->number);
	assert_int_not_equal(kept, CLUSTER_NONE);
	assert_string_equal(member_by_view(w->core, kept)->name, "c2");
	world_settle(w);
	assert_non_null(model_copy(c2, "default", "prod"));
}

static void a_queue_that_preempts_nobody_takes_no_nodes_either(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 4);

	m->run_time = 600 * USEC_PER_SEC;
	queue(w, 20, "");
	world_queued_job(w, "low", "lq", 1, 4, "");
	world_settle(w);
	world_queued_job(w, "prod", "lq", 1, 4, HIGH);
	world_settle(w);
	assert_string_equal(reason(w, "low", "Evicted"), "");
	assert_string_equal(reason(w, "prod", "QuotaReserved"), "TopologyPlacementFailed");
}

/* b lends 4 to a; both jobs of a stand on the nodes. With reclaim b may take from who borrows, and
 * only while it does not borrow itself. */
static void nodes_are_taken_from_queues_that_borrow(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 4);

	m->run_time = 600 * USEC_PER_SEC;
	world_flavor(w, "f", "");
	world_cluster_queue(w, "a", "f", 4, ",'cohortName':'all'");
	world_cluster_queue(w, "b", "f", 12,
			    ",'cohortName':'all','preemption':{'reclaimWithinCohort':'Any'}");
	world_local_queue(w, "qa", "a");
	world_local_queue(w, "qb", "b");
	world_queued_job(w, "a1", "qa", 1, 4, "");
	world_settle(w);
	world_advance(w, USEC_PER_SEC);
	world_queued_job(w, "a2", "qa", 1, 4, "");
	world_settle(w);
	world_queued_job(w, "b1", "qb", 1, 4, "");
	world_settle(w);
	assert_non_null(model_copy(m, "default", "b1"));
	assert_string_equal(reason(w, "a2", "Preempted"), "InCohortReclamation");
	assert_string_equal(reason(w, "a1", "Evicted"), "");
	/* a keeps within its quota now: nobody gives up nodes to b's next one. */
	world_queued_job(w, "b2", "qb", 1, 4, "");
	world_settle(w);
	assert_string_equal(reason(w, "b2", "QuotaReserved"), "TopologyPlacementFailed");
	assert_non_null(model_copy(m, "default", "a1"));
}

/* Flavor x is taken by a job of lower priority, y has room: nobody is evicted. */
static void another_flavor_with_room_comes_before_victims(void **state)
{
	struct world *w = *state;
	struct model *x = world_join(w, "c1", 1, 4), *y = world_join(w, "c2", 1, 4);

	x->run_time = y->run_time = 600 * USEC_PER_SEC;
	model_label_nodes(x, "pool", "x");
	model_label_nodes(y, "pool", "y");
	world_settle(w);
	world_flavor(w, "x", "'nodeLabels':{'pool':'x'}");
	world_flavor(w, "y", "'nodeLabels':{'pool':'y'}");
	world_priority(w, "high", 1000);
	world_cluster_queue(w, "cq", "x y", 20, OWN_QUEUE);
	world_local_queue(w, "lq", "cq");
	world_queued_job(w, "low", "lq", 1, 4, "");
	world_settle(w);
	assert_non_null(model_copy(x, "default", "low"));
	world_queued_job(w, "prod1", "lq", 1, 4, HIGH);
	world_settle(w);
	assert_non_null(model_copy(y, "default", "prod1"));
	assert_non_null(model_copy(x, "default", "low"));
	/* None has: then the first flavor where somebody may be asked to go. */
	world_queued_job(w, "prod2", "lq", 1, 4, HIGH);
	world_settle(w);
	assert_non_null(model_copy(x, "default", "prod2"));
	assert_true(model_copy(x, "default", "low")->suspended);
}

/* While the victim's pods end, its nodes are nobody else's: not for a job outside any queue, which
 * needs no quota, and not for one of the same queue behind. */
static void nodes_are_kept_for_whom_they_were_freed(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 4);

	m->run_time = 600 * USEC_PER_SEC;
	queue(w, 20, OWN_QUEUE);
	world_queued_job(w, "low1", "lq", 1, 2, "");
	world_settle(w);
	world_queued_job(w, "prod", "lq", 1, 4, HIGH);
	decide(w);
	assert_string_equal(reason(w, "low1", "Preempted"), "InClusterQueue");
	/* 2 cpus are free right now. */
	assert_int_equal(world_job(w, "default", "free", 1, 2, ""), ERR_NONE);
	world_queued_job(w, "low2", "lq", 1, 2, "");
	decide(w);
	assert_false(world_record(w, TYPE_JOB, "default", "free")->holds);
	assert_false(world_record(w, TYPE_JOB, "default", "low2")->holds);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "prod"));
	assert_null(model_copy(m, "default", "free"));
	model_finish(m, model_copy(m, "default", "prod"), false);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "low1"));
	assert_non_null(model_copy(m, "default", "low2"));
}

static void nodes_are_free_again_when_the_preemptor_goes(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 4);

	m->run_time = 600 * USEC_PER_SEC;
	queue(w, 20, OWN_QUEUE);
	world_queued_job(w, "low", "lq", 1, 2, "");
	world_settle(w);
	world_queued_job(w, "prod", "lq", 1, 4, HIGH);
	assert_int_equal(world_job(w, "default", "free", 1, 2, ""), ERR_NONE);
	decide(w);
	assert_false(world_record(w, TYPE_JOB, "default", "free")->holds);
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "prod"), ERR_NONE);
	decide(w);
	assert_true(world_record(w, TYPE_JOB, "default", "free")->holds);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "low"));
	assert_int_equal(w->core->kueue->claims.len, 0);
}

/* The member works for a while, and tells nothing of it: pods that are gone there are gone later
 * here, and others have taken their nodes by then. */
static void behind_our_back(struct world *w, struct model *m)
{
	for (int i = 0; i < 20; i++) {
		while (w->orders.len > 0)
			world_answer(w, w->orders.items[0]);
		(void)model_step(m, w->now);
	}
}

/*
 * Two nodes of 3 and 4 cpus of quota: "fixed" has 2 cpus of one node, low1 both its pods of 1 on
 * the other; 1 and 1 are free. prod (one pod of 2) has quota and no node, low2 (two pods of 1) has
 * both. Were prod passed over, low2 would take the quota, and one of them be evicted for it: but
 * the member's scheduler fills nodes in order, whatever the hub assumed, and where low1 was there
 * would be low2, and so on for ever (seed 154 of the simulation).
 */
static void victims_do_not_take_turns_on_the_nodes(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 3);

	m->run_time = 600 * USEC_PER_SEC;
	queue(w, 4, OWN_QUEUE);
	world_queued_job(w, "low1", "lq", 2, 1, "");
	world_settle(w);
	model_add_node(m, "second", 3, 0);
	model_add_pod(m, "kube-system", "fixed", "second", 2);
	world_settle(w);
	world_queued_job(w, "prod", "lq", 1, 2, HIGH);
	world_queued_job(w, "low2", "lq", 2, 1, "");
	for (int i = 0; i < 10; i++) {
		behind_our_back(w, m);
		world_streams(w);
	}
	world_settle(w);
	assert_non_null(model_copy(m, "default", "prod"));
	assert_int_equal(world_events(w, "low1", "Stopped", "Preempted") +
			     world_events(w, "low2", "Stopped", "Preempted"),
			 1);
	assert_int_equal(w->core->kueue->claims.len, 0);
}

/* Both members need one victim more; on c2 one goes already, for a job that was deleted since. */
static void who_goes_already_costs_nothing(void **state)
{
	struct world *w = *state;
	struct model *a = world_join(w, "c1", 1, 4), *b = world_join(w, "c2", 1, 5);

	a->run_time = b->run_time = 600 * USEC_PER_SEC;
	queue(w, 20, OWN_QUEUE);
	world_queued_job(w, "on-a", "lq", 1, 4, "");
	world_settle(w);
	world_queued_job(w, "on-b", "lq", 1, 5, "");
	world_settle(w);
	assert_non_null(model_copy(b, "default", "on-b"));
	world_queued_job(w, "large", "lq", 1, 5, HIGH);
	decide(w);
	assert_string_equal(reason(w, "on-b", "Preempted"), "InClusterQueue");
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "large"), ERR_NONE);
	world_queued_job(w, "prod", "lq", 1, 4, HIGH);
	world_settle(w);
	assert_non_null(model_copy(b, "default", "prod"));
	assert_non_null(model_copy(a, "default", "on-a"));
	assert_string_equal(reason(w, "on-a", "Evicted"), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(a_head_that_lacks_nodes_alone_preempts_for_them),
	    STORY(who_lacks_quota_alone_is_kept_nodes_where_placement_would_put_it),
	    STORY(a_queue_that_preempts_nobody_takes_no_nodes_either),
	    STORY(nodes_are_taken_from_queues_that_borrow),
	    STORY(another_flavor_with_room_comes_before_victims),
	    STORY(nodes_are_kept_for_whom_they_were_freed),
	    STORY(nodes_are_free_again_when_the_preemptor_goes),
	    STORY(victims_do_not_take_turns_on_the_nodes),
	    STORY(who_goes_already_costs_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
