/*
 * Why a job waits, in one word: every reason that the hub itself gives (reference ux.md, "reason
 * codes"), with its sentence where other software shows it. What one cluster says is policies'
 * business: test_verdict.c.
 */
#include "world.h"

#include "core/query.h"

#define STORY(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

static char sentence[512];

/* The reason of a Job, and its sentence in `sentence`. */
static const char *reason(struct world *w, const char *ns, const char *name)
{
	size_t position;
	struct job *j = world_record(w, TYPE_JOB, ns, name);

	assert_non_null(j);
	return query_standing(w->core, j, sentence, sizeof(sentence), &position);
}

static void WaitingForQuota_until_a_job_ends(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 64);
	world_teams(w, 16, 4);
	assert_int_equal(world_job(w, "team-a", "runs", 4, 1, ""), ERR_NONE);
	assert_int_equal(world_job(w, "team-a", "waits", 2, 1, ""), ERR_NONE);
	world_settle(w);
	assert_string_equal(reason(w, "team-a", "waits"), "WaitingForQuota");
	assert_string_equal(sentence,
			    "Insufficient quota(cpu) in quota root/a: request 2, max 4, used 4, "
			    "oversellreate 1. Wait for running jobs to complete");
}

static void ExceedsMaxQuota_however_long_it_waits(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 64);
	world_teams(w, 16, 4);
	assert_int_equal(world_job(w, "team-a", "huge", 5, 1, ""), ERR_NONE);
	world_settle(w);
	assert_string_equal(reason(w, "team-a", "huge"), "ExceedsMaxQuota");
	assert_int_equal(world_edit_tree(w, 16, 5), ERR_NONE);
	world_settle(w);
	assert_string_not_equal(world_step(w, "team-a", "huge-job"), "Idle");
}

static void AheadInQueue_names_who_blocks(void **state)
{
	struct world *w = *state;
	const struct elastic_queue_config block = {.policy = ELASTIC_BLOCK};
	uint32_t node = 0;

	world_join(w, "c1", 1, 64);
	world_teams(w, 16, 4);
	assert_int_equal(elastic_tree_find(w->core->quota.tree, SPAN("a"), &node), 0);
	elastic_queue_configure(w->core->quota.queues, node, &block);
	assert_int_equal(world_job(w, "team-a", "first", 5, 1, ""), ERR_NONE);
	w->now += USEC_PER_SEC;
	assert_int_equal(world_job(w, "team-a", "second", 1, 1, ""), ERR_NONE);
	world_settle(w);
	assert_string_equal(reason(w, "team-a", "second"), "AheadInQueue");
	assert_non_null(strstr(sentence, "at position 2 behind"));
	assert_non_null(strstr(sentence, "first"));
}

/* Quota is there, nodes are not: the reason is the nearest cluster's. */
static void the_nearest_clusters_reason_when_quota_is_not_what_lacks(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 2, 4);
	world_teams(w, 16, 12);
	assert_int_equal(world_job(w, "team-a", "runs", 2, 3, ""), ERR_NONE);
	assert_int_equal(world_job(w, "team-a", "split", 1, 2, ""), ERR_NONE);
	assert_int_equal(world_job(w, "team-a", "full", 2, 3, ""), ERR_NONE);
	world_settle(w);
	assert_string_equal(reason(w, "team-a", "split"), "GangFragmented");
	assert_string_equal(reason(w, "team-a", "full"), "InsufficientFree");
}

static void NeverFits_where_no_node_is_big_enough(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 4);
	assert_int_equal(world_job(w, "default", "huge", 1, 5, ""), ERR_NONE);
	world_settle(w);
	assert_string_equal(reason(w, "default", "huge"), "NeverFits");
	assert_int_equal(world_events(w, "huge", "ScheduleBindingFailed", "0/1 clusters"), 1);
}

static void NoClusters_before_one_has_joined(void **state)
{
	struct world *w = *state;

	assert_int_equal(world_job(w, "default", "early", 1, 1, ""), ERR_NONE);
	world_settle(w);
	assert_string_equal(reason(w, "default", "early"), "NoClusters");
	world_join(w, "c1", 1, 4);
	world_settle(w);
	assert_string_not_equal(world_step(w, "default", "early-job"), "Idle");
}

/* V29 of reference ack-fleet: rejected, and never dequeued. */
static void V29_NoElasticQuota_for_a_job_of_no_leaf(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 64);
	world_teams(w, 16, 4);
	world_space(w, "sales");
	world_policy(w, "sales", ",'suspension':{'scheduling':true}");
	assert_int_equal(world_job(w, "sales", "stray", 1, 1, ""), ERR_NONE);
	world_settle(w);
	assert_string_equal(reason(w, "sales", "stray"), "NoElasticQuota");
	assert_string_equal(sentence, "the job doesn't belong to any elastic quota");
	assert_int_equal(world_events(w, "stray", "ScheduleBindingFailed",
				      "the job doesn't belong to any elastic quota"),
			 1);
	world_advance(w, 3600 * USEC_PER_SEC);
	world_settle(w);
	assert_string_equal(world_step(w, "sales", "stray-job"), "Idle");
	assert_int_equal(world_used(w, "root", "cpu"), 0);
}

static void QueueNotFound_waits_for_the_queue(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 4);
	assert_int_equal(world_job(w, "default", "queued", 1, 1,
				   ",'labels':{'kueue.x-k8s.io/queue-name':'nowhere'}"),
			 ERR_NONE);
	world_settle(w);
	assert_string_equal(reason(w, "default", "queued"), "QueueNotFound");
	assert_string_equal(sentence, "LocalQueue nowhere doesn't exist");
	assert_string_equal(world_step(w, "default", "queued-job"), "Idle");
}

static void Suspended_by_the_user_or_by_the_policy(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 4);
	world_space(w, "paused");
	world_policy(w, "paused", ",'suspension':{'dispatching':true}");
	assert_int_equal(world_job(w, "paused", "held", 1, 1, ""), ERR_NONE);
	assert_int_equal(world_create(w, TYPE_JOB,
				      "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':"
				      "'own','namespace':'default'},'spec':{'suspend':true,"
				      "'template':{'spec':{'restartPolicy':'Never','containers':[{"
				      "'name':'c','image':'x'}]}}}}"),
			 ERR_NONE);
	world_settle(w);
	assert_string_equal(reason(w, "paused", "held"), "Suspended");
	assert_string_equal(sentence, "The policy suspends dispatching.");
	assert_string_equal(reason(w, "default", "own"), "Suspended");
	assert_string_equal(sentence, "The job is suspended by its own field.");
}

static int strict_setup(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));

	w->require_policy = true;
	world_open(w);
	w->after_turn = world_check;
	*state = w;
	return 0;
}

static void NoPolicy_where_one_is_required(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 4);
	assert_int_equal(world_job(w, "default", "alone", 1, 1, ""), ERR_NONE);
	world_settle(w);
	assert_string_equal(reason(w, "default", "alone"), "NoPolicy");
	world_policy(w, "default", "");
	world_settle(w);
	assert_string_not_equal(world_step(w, "default", "alone-job"), "Idle");
}

/* ---- whose policy it is ---- */

static enum err_kind put_policy(struct world *w, const char *name, int priority, const char *kind)
{
	char text[512];

	(void)snprintf(text, sizeof(text),
		       "{'apiVersion':'policy.karmada.io/v1alpha1','kind':'PropagationPolicy',"
		       "'metadata':{'name':'%s','namespace':'default'},'spec':{'priority':%d,"
		       "'resourceSelectors':[{'apiVersion':'batch/v1','kind':'%s'}],"
		       "'suspension':{'dispatching':true}}}",
		       name, priority, kind);
	return world_create(w, TYPE_PROPAGATION_POLICY, text);
}

static const char *policy(struct world *w, const char *name)
{
	const struct job *j = world_record(w, TYPE_JOB, "default", name);

	return j->policy_name ? j->policy_name : "";
}

static void a_claimed_job_is_not_stolen_by_a_policy_of_higher_priority(void **state)
{
	struct world *w = *state;

	assert_int_equal(put_policy(w, "low", 1, "Job"), ERR_NONE);
	assert_int_equal(world_job(w, "default", "old", 1, 1, ""), ERR_NONE);
	assert_string_equal(policy(w, "old"), "low");
	assert_int_equal(put_policy(w, "high", 9, "Job"), ERR_NONE);
	assert_int_equal(world_job(w, "default", "new", 1, 1, ""), ERR_NONE);
	world_settle(w);
	assert_string_equal(policy(w, "old"), "low");
	assert_string_equal(policy(w, "new"), "high");
	world_restart(w);
	assert_string_equal(policy(w, "old"), "low");
	/* Let go by its policy, it belongs to the best that is there. */
	assert_int_equal(world_delete(w, TYPE_PROPAGATION_POLICY, "default", "low"), ERR_NONE);
	world_settle(w);
	assert_string_equal(policy(w, "old"), "high");
	assert_int_equal(world_patch(w, TYPE_PROPAGATION_POLICY, "default", "high",
				     "{'spec':{'resourceSelectors':[{'apiVersion':'batch/v1',"
				     "'kind':'Job','name':'other'}]}}"),
			 ERR_NONE);
	world_settle(w);
	assert_string_equal(policy(w, "old"), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(WaitingForQuota_until_a_job_ends),
	    STORY(ExceedsMaxQuota_however_long_it_waits),
	    STORY(AheadInQueue_names_who_blocks),
	    STORY(the_nearest_clusters_reason_when_quota_is_not_what_lacks),
	    STORY(NeverFits_where_no_node_is_big_enough),
	    STORY(NoClusters_before_one_has_joined),
	    STORY(V29_NoElasticQuota_for_a_job_of_no_leaf),
	    STORY(QueueNotFound_waits_for_the_queue),
	    STORY(Suspended_by_the_user_or_by_the_policy),
	    cmocka_unit_test_setup_teardown(NoPolicy_where_one_is_required, strict_setup,
					    world_teardown),
	    STORY(a_claimed_job_is_not_stolen_by_a_policy_of_higher_priority),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
