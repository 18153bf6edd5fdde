/*
 * Large gangs that starve for quota of their cohort: who may pass them, until when, and what they
 * are told (core/kueue/quota_wait.h). Nodes there are plenty.
 */
#include "starvation_words.h"

/* With a `kueue:` section of the configuration. */
static void configure(struct world *w, const char *section)
{
	w->kueue = section;
	world_restart(w);
}

/* ClusterQueue `name` of cohort `all` with LocalQueue `lq-<name>`; `more` begins with a comma. */
static void queue(struct world *w, const char *name, int cpus, const char *more)
{
	char text[256], local[32];

	(void)snprintf(text, sizeof(text), ",'cohortName':'all'%s", more);
	(void)snprintf(local, sizeof(local), "lq-%s", name);
	world_cluster_queue(w, name, "f", cpus, text);
	world_local_queue(w, local, name);
}

/* The cohort's own, that belongs to no queue. */
static void cohort(struct world *w, int cpus)
{
	char text[512];

	(void)snprintf(text, sizeof(text),
		       "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'Cohort','metadata':{'name':"
		       "'all'},'spec':{'resourceGroups':[{'coveredResources':['cpu'],'flavors':[{"
		       "'name':'f','resources':[{'name':'cpu','nominalQuota':%d}]}]}]}}",
		       cpus);
	assert_int_equal(world_create(w, TYPE_COHORT, text), ERR_NONE);
}

/* Queues a and b own nothing: what they use is the cohort's. */
static void borrowers(struct world *w, int cpus)
{
	cohort(w, cpus);
	queue(w, "a", 0, "");
	queue(w, "b", 0, "");
}

/* A job of one pod in the LocalQueue of a queue; maximum execution time `limit` seconds, 0: none.
 * `more` are further labels. */
static void job_with(struct world *w, const char *name, const char *queue, int cpus, int limit,
		     const char *more)
{
	char labels[160] = "", local[32];

	(void)snprintf(local, sizeof(local), "lq-%s", queue);
	if (limit)
		(void)snprintf(labels, sizeof(labels),
			       ",'kueue.x-k8s.io/max-exec-time-seconds':'%d'%s", limit, more);
	else
		(void)snprintf(labels, sizeof(labels), "%s", more);
	world_queued_job(w, name, local, 1, cpus, labels);
	world_settle(w);
}

static void job(struct world *w, const char *name, const char *queue, int cpus, int limit)
{
	job_with(w, name, queue, cpus, limit, "");
}

static bool runs(struct world *w, const char *name)
{
	const struct job *j = world_record(w, TYPE_JOB, "default", name);
	return !j || j->holds || j->finished;
}

static void assert_told(struct world *w, const char *name, const char *text)
{
	char path[96];

	(void)snprintf(path, sizeof(path), "namespaces/default/jobs/%s/why", name);
	const char *why = world_query(w, path);
	if (!strstr(why, text))
		fail_msg("%s is not told: %s\n%s", name, text, why);
}

/* Flavor f and room for everybody; jobs last `seconds` unless they are stopped before. */
static struct model *member(struct world *w, int seconds)
{
	struct model *m = world_join(w, "c1", 8, 16);

	world_flavor(w, "f", "");
	m->run_time = seconds * USEC_PER_SEC;
	return m;
}

/* Small jobs of 2 cpus in queue b, one every ten seconds, each of 40 s and a limit of 100 s: they
 * take what comes free. After how many seconds the gang has started, `most` when it has not. */
static int starts_after(struct world *w, const char *gang, const char *stream, int most)
{
	for (int t = 0; t < most; t += 10) {
		char name[32];
		if (runs(w, gang))
			return t;
		(void)snprintf(name, sizeof(name), "%s-small-%d", gang, t);
		job(w, name, stream, 2, 100);
		later(w, 10);
	}
	return most;
}

static void busy(struct world *w, const char *stream)
{
	for (int i = 0; i < 4; i++) {
		char name[32];
		(void)snprintf(name, sizeof(name), "first-%d", i);
		job(w, name, stream, 2, 100);
		later(w, 10);
	}
}

/* A gang of 8 of queue a that has waited long, for what this holder has. */
static void gang_starves_behind(struct world *w, const char *holder, const char *queue, int cpus,
				int limit)
{
	job(w, holder, queue, cpus, limit);
	job(w, "gang", "a", 8, 0);
	later(w, 70);
}

/* ---- a bound ---- */

static void a_gang_that_borrows_what_is_nobodys_starts_within_its_bound(void **state)
{
	struct world *w = *state;

	member(w, 40);
	borrowers(w, 10);
	busy(w, "b");
	job(w, "gang", "a", 8, 0);
	/* 60 s until it starves; what runs then ends after 100 at the latest. */
	assert_in_range(starts_after(w, "gang", "b", 400), 60, 160);
	for (int i = 0; i < 30; i++)
		later(w, 10);
	job(w, "last", "b", 2, 100);
	assert_true(runs(w, "last"));
}

static void without_starvation_after_it_waits_for_ever(void **state)
{
	struct world *w = *state;

	w->core->settings.starve_after = 0;
	member(w, 40);
	borrowers(w, 10);
	busy(w, "b");
	job(w, "gang", "a", 8, 0);
	assert_int_equal(starts_after(w, "gang", "b", 400), 400);
}

/* a never reclaims, and b borrows all of a's quota again and again. */
static void a_gang_within_its_own_quota_gets_it_back_from_borrowers(void **state)
{
	struct world *w = *state;

	member(w, 40);
	queue(w, "a", 10, "");
	queue(w, "b", 0, "");
	busy(w, "b");
	job(w, "gang", "a", 8, 0);
	assert_in_range(starts_after(w, "gang", "b", 400), 60, 160);
}

static void the_bound_is_told_with_its_time(void **state)
{
	struct world *w = *state;

	member(w, 1000);
	borrowers(w, 10);
	gang_starves_behind(w, "long", "b", 4, 500);
	job(w, "behind", "b", 3, 600);
	assert_told(w, "gang",
		    "Quota that comes free for ClusterQueue a is kept for it, which has waited "
		    "long: it has its quota by ");
	assert_told(w, "gang", "none that goes before it comes.");
	assert_told(w, "behind", "Quota of ClusterQueue a is kept for workload default/job-gang-");
	assert_string_equal(world_workload_condition(w, "behind", "QuotaReserved", "reason"),
			    "WaitingForQuota");
}

static void what_ends_in_time_or_fits_beside_it_passes(void **state)
{
	struct world *w = *state;

	member(w, 1000);
	borrowers(w, 10);
	gang_starves_behind(w, "long", "b", 4, 500);
	job(w, "too-long", "b", 3, 440); /* 430 s are left */
	assert_false(runs(w, "too-long"));
	job(w, "short", "b", 4, 400);
	assert_true(runs(w, "short"));
	job(w, "beside", "b", 2, 0); /* 2 of 10 are left beside it */
	assert_true(runs(w, "beside"));
	job(w, "more", "b", 1, 0);
	assert_false(runs(w, "more"));
	later(w, 500);
	assert_true(runs(w, "gang"));
}

/* Whose deadline is told is refused at first; then the one in its way ends long before his limit.
 */
static void an_early_end_lets_those_pass_who_were_refused(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, 5000);

	borrowers(w, 10);
	job(w, "one", "b", 3, 1000);
	gang_starves_behind(w, "two", "b", 3, 500);
	job(w, "small", "b", 3, 2000);
	assert_false(runs(w, "small"));
	/* It needs both gone. Without the gang it may start at once. */
	model_finish(m, model_copy(m, "default", "one"), false);
	later(w, 2);
	assert_false(runs(w, "small"));
	model_finish(m, model_copy(m, "default", "two"), false);
	later(w, 2);
	assert_true(runs(w, "gang"));
	assert_false(runs(w, "small"));
	model_finish(m, model_copy(m, "default", "gang"), false);
	later(w, 2);
	assert_true(runs(w, "small"));
}

/* ---- no bound ---- */

static void a_lender_may_take_back_what_the_gang_must_borrow(void **state)
{
	struct world *w = *state;

	member(w, 1000);
	queue(w, "a", 2, "");
	queue(w, "lender", 8, "");
	queue(w, "d", 0, "");
	gang_starves_behind(w, "long", "d", 4, 500);
	job(w, "borrower", "d", 3, 2000);
	assert_false(runs(w, "borrower"));
	assert_told(w, "gang",
		    "no bound on its wait exists, as it has to borrow what ClusterQueue lender may "
		    "take back. Else it has its quota by ");
	job(w, "own", "lender", 6, 2000);
	assert_true(runs(w, "own")); /* what is its own is never kept from it */
	later(w, 2);
	assert_told(w, "gang", "no bound on its wait exists, as");
	later(w, 500);
	assert_false(runs(w, "gang")); /* 10 - 6 */
}

static void a_holder_without_a_limit_leaves_no_bound(void **state)
{
	struct world *w = *state;

	member(w, 5000);
	borrowers(w, 10);
	gang_starves_behind(w, "endless", "b", 4, 0);
	assert_told(w, "gang",
		    "no bound on its wait exists, as workloads without a time limit hold "
		    "what it needs");
	/* In other queues nothing is kept in vain; its own keeps its order. */
	job(w, "other", "b", 3, 0);
	assert_true(runs(w, "other"));
	job(w, "behind", "a", 1, 10);
	assert_false(runs(w, "behind"));
}

static void with_fair_sharing_a_smaller_share_goes_first(void **state)
{
	struct world *w = *state;

	configure(w, "{'fairSharing':{}}");
	member(w, 1000);
	borrowers(w, 12);
	queue(w, "d", 0, "");
	gang_starves_behind(w, "long", "b", 6, 500);
	assert_told(w, "gang",
		    "no bound on its wait exists, as with fair sharing queues of a "
		    "smaller share borrow before it");
	/* b would have 6 + 5 of 12, a 8. d would have 5: it goes first. */
	job(w, "more", "b", 5, 2000);
	assert_false(runs(w, "more"));
	job(w, "little", "d", 5, 2000);
	assert_true(runs(w, "little"));
}

static void a_local_queue_that_used_less_goes_first(void **state)
{
	struct world *w = *state;

	configure(w, "{'admissionFairSharing':{'usageHalfLifeTime':'168h',"
		     "'usageSamplingInterval':'5m'}}");
	member(w, 5000);
	queue(w, "a", 10, ",'admissionScope':{'admissionMode':'UsageBasedAdmissionFairSharing'}");
	world_local_queue(w, "lq-other", "a");
	gang_starves_behind(w, "long", "a", 4, 500);
	assert_told(w, "gang", "no bound on its wait exists, as LocalQueues that used less");
	job(w, "behind", "a", 3, 2000);
	assert_false(runs(w, "behind"));
	job(w, "first", "other", 3, 2000);
	assert_true(runs(w, "first"));
}

static void higher_priority_goes_first(void **state)
{
	struct world *w = *state;

	member(w, 1000);
	cohort(w, 10);
	world_priority(w, "high", 100);
	queue(w, "a", 0, "");
	queue(w, "b", 0, "");
	gang_starves_behind(w, "long", "b", 4, 500);
	job(w, "low", "b", 3, 2000);
	assert_false(runs(w, "low"));
	job_with(w, "urgent", "b", 3, 2000, ",'kueue.x-k8s.io/priority-class':'high'");
	assert_true(runs(w, "urgent"));
}

/* ---- what is kept is let go ---- */

/* long holds 4 of 10 for 500 s, the gang wants 8 and starves, small is refused for it. */
static struct model *kept_from_small(struct world *w)
{
	struct model *m = member(w, 1000);

	borrowers(w, 10);
	gang_starves_behind(w, "long", "b", 4, 500);
	job(w, "small", "b", 3, 2000);
	assert_false(runs(w, "small"));
	return m;
}

static void a_gang_that_leaves_gives_up_what_is_kept(void **state)
{
	struct world *w = *state;

	kept_from_small(w);
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "gang"), ERR_NONE);
	world_settle(w);
	assert_true(runs(w, "small"));
}

static void a_gang_that_fits_no_more_gives_up_what_is_kept(void **state)
{
	struct world *w = *state;

	kept_from_small(w);
	assert_int_equal(
	    world_patch(w, TYPE_COHORT, "", "all",
			"{'spec':{'resourceGroups':[{'coveredResources':['cpu'],'flavors':[{'name':"
			"'f','resources':[{'name':'cpu','nominalQuota':7}]}]}]}}"),
	    ERR_NONE);
	world_settle(w);
	assert_true(runs(w, "small"));
	assert_string_equal(world_workload_condition(w, "gang", "QuotaReserved", "reason"),
			    "ExceedsMaxQuota");
}

static void a_queue_that_is_stopped_gives_up_what_is_kept(void **state)
{
	struct world *w = *state;

	kept_from_small(w);
	assert_int_equal(
	    world_patch(w, TYPE_CLUSTER_QUEUE, "", "a", "{'spec':{'stopPolicy':'Hold'}}"),
	    ERR_NONE);
	world_settle(w);
	later(w, 2);
	assert_true(runs(w, "small"));
}

static void a_gang_whose_queue_was_made_anew_starves_there(void **state)
{
	struct world *w = *state;

	member(w, 1000);
	borrowers(w, 10);
	job(w, "long", "b", 4, 500);
	job(w, "gang", "a", 8, 0);
	later(w, 10);
	assert_int_equal(world_delete(w, TYPE_CLUSTER_QUEUE, "", "a"), ERR_NONE);
	world_settle(w);
	world_cluster_queue(w, "a", "f", 0, ",'cohortName':'all'");
	world_settle(w);
	later(w, 70);
	job(w, "small", "b", 3, 2000);
	assert_false(runs(w, "small"));
}

static void a_gang_that_is_made_inactive_gives_up_what_is_kept(void **state)
{
	struct world *w = *state;
	char name[STORE_MAX_NAME + 1];

	kept_from_small(w);
	(void)snprintf(name, sizeof(name), "%s", world_workload(w, "gang", "metadata.name"));
	assert_int_equal(
	    world_patch(w, TYPE_WORKLOAD, "default", name, "{'spec':{'active':false}}"), ERR_NONE);
	world_settle(w);
	later(w, 2);
	assert_true(runs(w, "small"));
}

/* Its quota comes free, but the only cluster is full of a job without a limit. */
static void quota_is_not_kept_for_a_gang_that_no_cluster_can_be_promised_to(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 16);

	world_flavor(w, "f", "");
	m->run_time = 5000 * USEC_PER_SEC;
	queue(w, "a", 0, "");
	queue(w, "b", 30, "");
	assert_int_equal(world_job(w, "default", "outside", 1, 10, ""), ERR_NONE);
	world_settle(w);
	job(w, "long", "b", 1, 100);
	job(w, "gang", "a", 30, 0);
	later(w, 70);
	job(w, "small", "a", 1, 2000);
	assert_false(runs(w, "small"));
	model_finish(m, model_copy(m, "default", "long"), false);
	later(w, 1);
	later(w, 10);
	assert_false(runs(w, "gang"));
	assert_true(runs(w, "small"));
}

/* ---- several ---- */

static void several_gangs_start_one_after_the_other(void **state)
{
	struct world *w = *state;

	member(w, 90);
	borrowers(w, 10);
	queue(w, "d", 0, "");
	busy(w, "b");
	job(w, "gang-1", "a", 8, 100);
	job(w, "gang-2", "d", 7, 100);
	job(w, "gang-3", "a", 9, 100);
	/* Each within 100 s of the one before it. */
	int first = starts_after(w, "gang-1", "b", 400);
	assert_in_range(first, 60, 160);
	assert_false(runs(w, "gang-2"));
	later(w, 2);
	assert_told(w, "gang-2", "it has its quota by ");
	assert_in_range(starts_after(w, "gang-2", "d", 400), 80, 120);
	assert_false(runs(w, "gang-3"));
	assert_in_range(starts_after(w, "gang-3", "b", 400), 80, 120);
}

static void a_gang_behind_another_is_told_whom_it_waits_for_and_when_it_has_its_quota(void **state)
{
	struct world *w = *state;

	member(w, 1000);
	borrowers(w, 10);
	queue(w, "d", 0, "");
	job(w, "long", "b", 4, 500);
	job(w, "gang-1", "a", 8, 100);
	later(w, 70);
	job(w, "gang-2", "d", 5, 600);
	assert_false(runs(w, "gang-2"));
	assert_told(w, "gang-2",
		    "Quota of ClusterQueue a is kept for workload default/job-gang-1-");
	later(w, 70);
	assert_told(w, "gang-2",
		    "Quota of ClusterQueue a is kept for workload default/job-gang-1-");
	assert_told(w, "gang-2",
		    " Quota that comes free for ClusterQueue d is kept for it, which has waited "
		    "long: it has its quota by ");
}

static void a_gang_behind_one_without_a_limit_is_told_whom_it_waits_for(void **state)
{
	struct world *w = *state;
	char path[] = "namespaces/default/jobs/gang-2/why";

	member(w, 1000);
	borrowers(w, 10);
	queue(w, "d", 0, "");
	gang_starves_behind(w, "long", "b", 4, 500);
	job(w, "gang-2", "d", 5, 600);
	later(w, 70);
	assert_told(w, "gang-2", "Quota of ClusterQueue a is kept for workload default/job-gang-");
	assert_null(strstr(world_query(w, path), "ClusterQueue d is kept"));
}

static void two_gangs_of_two_queues_never_wait_for_each_other(void **state)
{
	struct world *w = *state;

	member(w, 90);
	queue(w, "a", 5, "");
	queue(w, "b", 5, ",'queueingStrategy':'StrictFIFO'");
	job(w, "first", "a", 5, 100);
	job(w, "gang-b", "b", 9, 100);
	job(w, "gang-a", "a", 9, 100);
	job(w, "own-b", "b", 5, 100);
	later(w, 70);
	later(w, 30);
	assert_true(runs(w, "gang-b"));
	assert_false(runs(w, "gang-a"));
	for (int i = 0; i < 12; i++)
		later(w, 10);
	assert_true(runs(w, "gang-a") || runs(w, "own-b"));
	for (int i = 0; i < 12; i++)
		later(w, 10);
	assert_true(runs(w, "gang-a"));
	assert_true(runs(w, "own-b"));
}

static void a_restart_keeps_what_was_kept(void **state)
{
	struct world *w = *state;

	kept_from_small(w);
	world_restart(w);
	world_settle(w);
	later(w, 1);
	assert_false(runs(w, "small"));
	assert_told(w, "gang", "it has its quota by ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(a_gang_that_borrows_what_is_nobodys_starts_within_its_bound),
	    STORY(without_starvation_after_it_waits_for_ever),
	    STORY(a_gang_within_its_own_quota_gets_it_back_from_borrowers),
	    STORY(the_bound_is_told_with_its_time),
	    STORY(what_ends_in_time_or_fits_beside_it_passes),
	    STORY(an_early_end_lets_those_pass_who_were_refused),
	    STORY(a_lender_may_take_back_what_the_gang_must_borrow),
	    STORY(a_holder_without_a_limit_leaves_no_bound),
	    STORY(with_fair_sharing_a_smaller_share_goes_first),
	    STORY(a_local_queue_that_used_less_goes_first),
	    STORY(higher_priority_goes_first),
	    STORY(a_gang_that_leaves_gives_up_what_is_kept),
	    STORY(a_gang_that_fits_no_more_gives_up_what_is_kept),
	    STORY(a_queue_that_is_stopped_gives_up_what_is_kept),
	    STORY(a_gang_whose_queue_was_made_anew_starves_there),
	    STORY(a_gang_that_is_made_inactive_gives_up_what_is_kept),
	    STORY(quota_is_not_kept_for_a_gang_that_no_cluster_can_be_promised_to),
	    STORY(several_gangs_start_one_after_the_other),
	    STORY(a_gang_behind_another_is_told_whom_it_waits_for_and_when_it_has_its_quota),
	    STORY(a_gang_behind_one_without_a_limit_is_told_whom_it_waits_for),
	    STORY(two_gangs_of_two_queues_never_wait_for_each_other),
	    STORY(a_restart_keeps_what_was_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
