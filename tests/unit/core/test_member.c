/*
 * Members come, go, come back as others and are declared dead: what becomes of their jobs, and what
 * is left of them (DESIGN section 7).
 */
#include "world.h"

#include "core/member.h"
#include "kube/object.h"

#define STORY(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

/* A job of two pods that runs on c1. */
static struct model *one_runs(struct world *w)
{
	struct model *m = world_join(w, "c1", 2, 8);

	assert_int_equal(world_job(w, "default", "one", 2, 3, ""), ERR_NONE);
	world_settle(w);
	assert_string_equal(world_step(w, "default", "one-job"), "Suspended");
	assert_int_equal(m->starts, 1);
	return m;
}

/* ---- what streams told ---- */

/* What the core did not keep is told again: it is not passed over because of what came later. */
static void facts_of_before_a_failed_commit_move_no_cursor(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);
	struct model_pod *x = model_add_pod(m, "elsewhere", "x", "c1-n0", 2),
			 *y = model_add_pod(m, "elsewhere", "y", "c1-n0", 3);

	world_streams(w);
	assert_int_equal(world_requested(w, m), 5000);
	model_end_pod(m, x);
	struct fact *lost = model_next_fact(m);
	model_end_pod(m, y);
	struct fact *later = model_next_fact(m);
	assert_null(model_next_fact(m));
	world_push(w, lost);
	store_faulty_fail(w->mirror, STORE_CALL_APPLY, 1, ERR_NO_SPACE, false);
	(void)world_turn(w);
	assert_int_equal(w->err.kind, ERR_NO_SPACE);
	/* This one was on its way when the core went back to what is on disk. */
	world_push(w, later);
	world_advance(w, 2 * USEC_PER_SEC);
	world_restart(w);
	world_streams(w);
	assert_int_equal(m->joins, 3); /* at first, after the failure, after the restart */
	assert_int_equal(world_requested(w, m), 0);
	assert_int_equal(m->lists[STREAM_PODS], 1);
}

/* A stream of pods that lags, and a copy that was deleted without them: what the stream has not
 * told is asked of the member before the job goes elsewhere. */
static void pods_that_no_stream_told_of_keep_their_job_from_moving(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8), *other;
	struct order *start;
	struct fact *f;

	assert_int_equal(world_job(w, "default", "one", 2, 3, ""), ERR_NONE);
	while (!(start = world_find(w, "PATCH", "/jobs/one"))) {
		world_answer(w, w->orders.items[0]);
		world_run(w);
	}
	world_answer(w, start);
	world_run(w);
	while (model_step(m, w->now)) {
	}
	struct model_copy *copy = model_copy(m, "default", "one");
	assert_true(model_copy_works(copy));
	model_orphan(m, copy);
	while ((f = model_next_fact(m))) {
		if (f->op == FACT_POD)
			fact_destroy(f);
		else
			world_push(w, f);
	}
	world_run(w);
	assert_string_equal(world_step(w, "default", "one-job"), "Withdrawing");
	other = world_join(w, "c2", 2, 8);
	for (int i = 0; i < 10; i++) {
		world_advance(w, 10 * USEC_PER_SEC);
		world_settle(w);
		assert_int_equal(other->creates, 0);
	}
	vec_foreach (&copy->pods, p)
		model_end_pod(m, *p);
	world_advance(w, 60 * USEC_PER_SEC);
	world_settle(w);
	assert_int_equal(m->creates + other->creates, 2);
	assert_string_equal(world_step(w, "default", "one-job"), "Suspended");
}

/* ---- room ---- */

/* Two nodes of 4 cpus and jobs of one pod of 4. The member binds the first job's pod where the
 * second one was assumed: the other node is the second one's now, and a third has to wait. */
static void room_that_a_pod_left_by_being_bound_elsewhere_is_not_free(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 4);

	assert_int_equal(world_job(w, "default", "one", 1, 4, ""), ERR_NONE);
	assert_int_equal(world_job(w, "default", "two", 1, 4, ""), ERR_NONE);
	assert_int_equal(world_job(w, "default", "three", 1, 4, ""), ERR_NONE);
	const struct job *three = world_record(w, TYPE_JOB, "default", "three");
	assert_int_equal(three->dispatch.step, DISPATCH_IDLE);
	while (!world_find(w, "PATCH", "/jobs/one"))
		world_answer(w, w->orders.items[0]);
	world_answer(w, world_find(w, "PATCH", "/jobs/one"));
	struct model_copy *copy = model_copy(m, "default", "one");
	/* The hub fills from the last node on, the member from the first. */
	m->binds_from = 0;
	assert_true(model_step(m, w->now));
	world_streams(w);
	assert_non_null(copy);
	assert_int_equal(three->dispatch.step, DISPATCH_IDLE);
	world_settle(w);
	assert_int_equal(three->dispatch.step, DISPATCH_IDLE);
	assert_int_equal(m->starts, 2);
	assert_int_equal(world_requested(w, m), 8000);
}

/* ---- an unjoin ---- */

static void an_unjoin_leaves_nothing_behind(void **state)
{
	struct world *w = *state;
	struct model *m = one_runs(w);
	uint32_t number = m->number;

	assert_true(world_digests(w, number) > 0);
	assert_int_equal(world_count(w, TYPE_POD, "default"), 2);
	for (int i = 0; i < 300; i++) {
		char name[32];
		(void)snprintf(name, sizeof(name), "other%d", i);
		(void)model_add_pod(m, "elsewhere", name, "c1-n0", 0);
	}
	world_streams(w);
	assert_true(world_digests(w, number) > 300);
	world_unjoin(w, "c1");
	world_settle(w);
	assert_false(world_exists(w, TYPE_CLUSTER, "", "c1"));
	assert_int_equal(model_left(m), 0);
	assert_false(m->joined);
	assert_int_equal(world_digests(w, number), 0);
	assert_int_equal(world_count(w, TYPE_POD, "default"), 0);
	assert_int_equal(w->core->members_by_name.len, 0);
	/* The job waits for another one. */
	assert_string_equal(world_step(w, "default", "one-job"), "Idle");
	world_join(w, "c2", 2, 8);
	world_settle(w);
	assert_string_equal(world_step(w, "default", "one-job"), "Suspended");
}

static void pods_of_finished_jobs_go_with_their_copies_also_after_a_restart(void **state)
{
	struct world *w = *state;
	struct model *m = one_runs(w);

	model_finish(m, model_copy(m, "default", "one"), false);
	world_settle(w);
	assert_null(world_record(w, TYPE_JOB, "default", "one"));
	world_restart(w);
	world_settle(w);
	assert_int_equal(world_count(w, TYPE_POD, "default"), 2);
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "one"), ERR_NONE);
	world_settle(w);
	assert_int_equal(model_left(m), 1); /* the namespace */
	assert_int_equal(world_count(w, TYPE_POD, "default"), 0);
}

/* ---- the end of a member ---- */

/* Nobody but the hub takes its finalizer off: that would say that nothing is left there. */
static void an_unjoin_cannot_be_forced_by_patching_the_finalizer(void **state)
{
	struct world *w = *state;
	struct model *m = one_runs(w);

	world_unjoin(w, "c1");
	assert_int_equal(world_patch(w, TYPE_CLUSTER, "", "c1", "{'metadata':{'finalizers':null}}"),
			 ERR_NONE);
	assert_true(world_exists(w, TYPE_CLUSTER, "", "c1"));
	assert_non_null(model_copy(m, "default", "one"));
	assert_string_equal(world_step(w, "default", "one-job"), "Withdrawing");
}

static void a_member_declared_dead_gives_its_jobs_to_others(void **state)
{
	struct world *w = *state;
	struct model *m = one_runs(w);

	model_replace(m, 77);
	world_push(w, model_stranger(m));
	world_run(w);
	assert_string_equal(world_field(w, TYPE_CLUSTER, "", "c1", "status.conditions.0.reason"),
			    "ClusterIdentityChanged");
	/* Until somebody says so, it may run there still. */
	struct model *other = world_join(w, "c2", 2, 8);
	world_settle(w);
	assert_null(model_copy(other, "default", "one"));
	assert_int_equal(world_patch(w, TYPE_CLUSTER, "", "c1",
				     "{'metadata':{'annotations':{'muster.dev/dead':'true'}}}"),
			 ERR_NONE);
	world_settle(w);
	assert_non_null(model_copy(other, "default", "one"));
	/* Unjoined and joined again it is a member like any other. */
	uint32_t before = m->number;
	world_unjoin(w, "c1");
	world_settle(w);
	assert_false(world_exists(w, TYPE_CLUSTER, "", "c1"));
	world_rejoin(w, m);
	world_settle(w);
	assert_int_not_equal(m->number, before);
	assert_string_equal(world_field(w, TYPE_CLUSTER, "", "c1", "status.conditions.0.status"),
			    "True");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(facts_of_before_a_failed_commit_move_no_cursor),
	    STORY(pods_that_no_stream_told_of_keep_their_job_from_moving),
	    STORY(room_that_a_pod_left_by_being_bound_elsewhere_is_not_free),
	    STORY(an_unjoin_leaves_nothing_behind),
	    STORY(pods_of_finished_jobs_go_with_their_copies_also_after_a_restart),
	    STORY(an_unjoin_cannot_be_forced_by_patching_the_finalizer),
	    STORY(a_member_declared_dead_gives_its_jobs_to_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
