/*
 * Jobs that are over, on their member: their copies and pods stay, to be read, for as long as
 * members.keepFinished says or the hub's object is there (DESIGN section 4.6), and cost no memory.
 */
#include "world.h"

#include "core/member.h"

#define STORY(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
#define JOBS	    100
#define FEW	    (64 + 2 * 16) /* records that may wait for a walk: 16 pods run at a time */

/* So many jobs of two pods, all over. */
static struct model *all_over(struct world *w)
{
	struct model *m = world_join(w, "c1", 2, 8);
	char name[32];

	for (int i = 0; i < JOBS; i++) {
		(void)snprintf(name, sizeof(name), "job%d", i);
		assert_int_equal(world_job(w, "default", name, 2, 1, ""), ERR_NONE);
	}
	for (int i = 0; i < JOBS && m->finished < JOBS; i++) {
		world_settle(w);
		world_advance(w, USEC_PER_SEC);
	}
	world_settle(w);
	assert_int_equal(m->finished, JOBS);
	assert_int_equal(w->core->jobs_by_number.len, 0);
	return m;
}

static size_t records(struct world *w, const struct model *m)
{
	/* Each turn forgets some of what there is to forget. */
	for (int i = 0; i < 8; i++)
		(void)world_turn(w);
	return member_by_number(w->core, m->number)->pods.len;
}

static void pods_of_finished_jobs_can_be_read_and_have_no_records(void **state)
{
	struct world *w = *state;
	struct model *m = all_over(w);

	assert_int_equal(world_count(w, TYPE_POD, "default"), 2 * JOBS);
	assert_in_range(records(w, m), 0, FEW);
	world_restart(w);
	world_settle(w);
	assert_int_equal(records(w, m), 0);
	assert_int_equal(world_count(w, TYPE_POD, "default"), 2 * JOBS);
	assert_int_equal(m->lists[STREAM_PODS], 1);
}

static void a_pod_without_a_record_goes_with_its_copy(void **state)
{
	struct world *w = *state;
	struct model *m = all_over(w);

	assert_in_range(records(w, m), 0, FEW);
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "job0"), ERR_NONE);
	world_settle(w);
	assert_false(world_exists(w, TYPE_JOB, "default", "job0"));
	assert_int_equal(world_count(w, TYPE_POD, "default"), 2 * JOBS - 2);
	assert_int_equal(world_digests(w, m->number), 2 + 2 * JOBS - 2);
	world_unjoin(w, "c1");
	world_settle(w);
	assert_false(world_exists(w, TYPE_CLUSTER, "", "c1"));
	assert_int_equal(model_left(m), 0);
	assert_int_equal(world_count(w, TYPE_POD, "default"), 0);
	assert_int_equal(world_digests(w, m->number), 0);
}

static void a_list_that_does_not_name_a_pod_without_a_record_takes_it(void **state)
{
	struct world *w = *state;
	struct model *m = all_over(w);

	world_restart(w); /* none has a record */
	model_vanish(m, model_copy(m, "default", "job7"));
	model_relist(m);
	world_settle(w);
	assert_int_equal(m->lists[STREAM_PODS], 2);
	assert_int_equal(world_count(w, TYPE_POD, "default"), 2 * JOBS - 2);
	assert_int_equal(world_digests(w, m->number), 2 + 2 * JOBS - 2);
	assert_in_range(records(w, m), 0, FEW);
	assert_int_equal(world_count(w, TYPE_POD, "default"), 2 * JOBS - 2);
}

static void copies_and_pods_go_when_they_were_kept_long_enough(void **state)
{
	struct world *w = *state;
	struct model *m = all_over(w);

	world_advance(w, 86000 * USEC_PER_SEC);
	world_settle(w);
	assert_int_equal(world_count(w, TYPE_POD, "default"), 2 * JOBS);
	for (int i = 0; i < 100 && model_left(m) > 1; i++) {
		world_advance(w, 60 * USEC_PER_SEC);
		world_settle(w);
	}
	assert_int_equal(model_left(m), 1); /* the namespace */
	assert_int_equal(world_count(w, TYPE_POD, "default"), 0);
	assert_int_equal(world_digests(w, m->number), 2);
	assert_int_equal(world_count(w, TYPE_JOB, "default"), JOBS);
}

/* The rows of a member that is dead name pods that run elsewhere by now. */
static void what_a_dead_member_leaves_takes_no_pod_of_another(void **state)
{
	struct world *w = *state;
	struct model *dead = world_join(w, "c1", 1, 4), *other;

	assert_int_equal(world_job(w, "default", "one", 2, 2, ""), ERR_NONE);
	world_settle(w);
	assert_int_equal(dead->starts, 1);
	model_replace(dead, 77);
	world_push(w, model_stranger(dead));
	world_run(w);
	other = world_join(w, "c2", 1, 4);
	assert_int_equal(world_patch(w, TYPE_CLUSTER, "", "c1",
				     "{'metadata':{'annotations':{'muster.dev/dead':'true'}}}"),
			 ERR_NONE);
	world_settle(w);
	assert_int_equal(other->starts, 1);
	assert_int_equal(world_count(w, TYPE_POD, "default"), 2);
	world_unjoin(w, "c1");
	world_settle(w);
	assert_false(world_exists(w, TYPE_CLUSTER, "", "c1"));
	assert_int_equal(world_digests(w, dead->number), 0);
	assert_int_equal(world_count(w, TYPE_POD, "default"), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(pods_of_finished_jobs_can_be_read_and_have_no_records),
	    STORY(a_pod_without_a_record_goes_with_its_copy),
	    STORY(a_list_that_does_not_name_a_pod_without_a_record_takes_it),
	    STORY(copies_and_pods_go_when_they_were_kept_long_enough),
	    STORY(what_a_dead_member_leaves_takes_no_pod_of_another),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
