/*
 * Large gangs that starve for quota of the ElasticQuotaTree: who may pass them, until when, and
 * what they are told (core/admission/elastic_wait.h). Nodes there are plenty.
 *
 * Unless a story says more: root 12, team-a with min 4 and max 16, team-b with min 4 and max 12.
 */
#include "starvation_words.h"

static void assert_told(struct world *w, const char *ns, const char *name, const char *text)
{
	char path[96];

	(void)snprintf(path, sizeof(path), "namespaces/%s/jobs/%s/why", ns, name);
	const char *why = world_query(w, path);
	if (!strstr(why, text))
		fail_msg("%s is not told: %s\n%s", name, text, why);
}

static struct model *member(struct world *w, int seconds)
{
	struct model *m = world_join(w, "c1", 8, 16);

	m->run_time = seconds * USEC_PER_SEC;
	return m;
}

static struct model *teams(struct world *w, int seconds)
{
	world_teams(w, 12, 16);
	return member(w, seconds);
}

/* Small jobs of 2 cpus, one every ten seconds, each of 40 s and a limit of 100 s: they take what
 * comes free. After how many seconds the gang has started, `most` when it has not. */
static int starts_after(struct world *w, const char *ns, const char *gang, const char *stream,
			int most)
{
	for (int t = 0; t < most; t += 10) {
		char name[48];
		if (is_placed(w, ns, gang))
			return t;
		(void)snprintf(name, sizeof(name), "%s-small-%d", gang, t);
		limited_job(w, stream, name, 1, 2, 100);
		later(w, 10);
	}
	return most;
}

static void busy(struct world *w, const char *stream)
{
	for (int i = 0; i < 4; i++) {
		char name[32];
		(void)snprintf(name, sizeof(name), "first-%d", i);
		limited_job(w, stream, name, 1, 2, 100);
		later(w, 10);
	}
}

/* A gang of 8 of team-a that has waited long, for what this job of team-b has. */
static void gang_starves_behind(struct world *w, const char *holder, int cpus, int limit)
{
	limited_job(w, "team-b", holder, 1, cpus, limit);
	limited_job(w, "team-a", "gang", 1, 8, 0);
	later(w, 70);
}

/* team-b has 6 of 12 for 500 s, the gang starves, and 5 more are refused to team-b for it. */
static struct model *kept_from_small(struct world *w)
{
	struct model *m = teams(w, 1000);

	gang_starves_behind(w, "long", 6, 500);
	limited_job(w, "team-b", "small", 1, 5, 2000);
	assert_false(is_placed(w, "team-b", "small"));
	return m;
}

static void small_jobs_of_its_leaf_pass_a_gang_until_it_starves(void **state)
{
	struct world *w = *state;

	teams(w, 40);
	busy(w, "team-b");
	limited_job(w, "team-b", "gang", 1, 8, 0);
	assert_in_range(starts_after(w, "team-b", "gang", "team-b", 400), 60, 160);
	for (int i = 0; i < 30; i++)
		later(w, 10);
	assert_true(is_placed(w, "team-b", "gang-small-0"));
	assert_true(is_placed(w, "team-b", "gang-small-60"));
}

static void without_starvation_after_they_pass_it_for_ever(void **state)
{
	struct world *w = *state;

	w->core->settings.starve_after = 0;
	teams(w, 40);
	busy(w, "team-b");
	limited_job(w, "team-b", "gang", 1, 8, 0);
	assert_int_equal(starts_after(w, "team-b", "gang", "team-b", 400), 400);
}

/* team-b borrows what team-a needs above its min: 12 less team-b's min of 4 are nobody else's. */
static void borrowers_of_another_leaf_pass_a_gang_until_it_starves(void **state)
{
	struct world *w = *state;

	teams(w, 40);
	busy(w, "team-b");
	limited_job(w, "team-a", "gang", 1, 8, 0);
	assert_in_range(starts_after(w, "team-a", "gang", "team-b", 400), 60, 160);
}

static void the_bound_is_told_and_who_costs_nothing_passes(void **state)
{
	struct world *w = *state;

	teams(w, 1000);
	gang_starves_behind(w, "long", 6, 500);
	assert_told(
	    w, "team-a", "gang",
	    "Quota that comes free for root/a is kept for it, which has waited long: it has "
	    "its quota by ");
	limited_job(w, "team-b", "too-long", 1, 5, 600); /* of 12 - 8 it may have 4 for long */
	assert_false(is_placed(w, "team-b", "too-long"));
	assert_told(w, "team-b", "too-long", "Quota of root/a is kept for job team-a/gang");
	limited_job(w, "team-b", "short", 1, 6, 400);
	assert_true(is_placed(w, "team-b", "short"));
	later(w, 500);
	assert_true(is_placed(w, "team-a", "gang"));
}

static void a_leaf_may_always_use_its_min(void **state)
{
	struct world *w = *state;

	teams(w, 5000);
	limited_job(w, "team-a", "long", 1, 4, 500);
	limited_job(w, "team-a", "gang", 1, 10, 0); /* 12 less team-b's 4 are 8 */
	later(w, 70);
	assert_told(w, "team-a", "gang",
		    "no bound on its wait exists, as it has to borrow what root/b may take back. "
		    "Else it has its quota by ");
	limited_job(w, "team-b", "own", 1, 4, 2000);
	assert_true(is_placed(w, "team-b", "own"));
	limited_job(w, "team-b", "more", 1, 3, 4000);
	assert_false(is_placed(w, "team-b", "more"));
}

static void a_job_without_a_limit_leaves_no_bound(void **state)
{
	struct world *w = *state;

	teams(w, 5000);
	gang_starves_behind(w, "endless", 6, 0);
	assert_told(w, "team-a", "gang",
		    "no bound on its wait exists, as jobs without a time limit");
	/* Nothing is kept in vain, but its own queue keeps its order. */
	limited_job(w, "team-b", "other", 1, 2, 0);
	assert_true(is_placed(w, "team-b", "other"));
	limited_job(w, "team-a", "behind", 1, 1, 10);
	assert_false(is_placed(w, "team-a", "behind"));
}

static void a_gang_that_leaves_gives_up_what_is_kept(void **state)
{
	struct world *w = *state;

	kept_from_small(w);
	assert_int_equal(world_delete(w, TYPE_JOB, "team-a", "gang"), ERR_NONE);
	world_settle(w);
	assert_true(is_placed(w, "team-b", "small"));
}

static void a_gang_that_fits_no_more_gives_up_what_is_kept(void **state)
{
	struct world *w = *state;

	kept_from_small(w);
	assert_int_equal(world_edit_tree(w, 12, 6), ERR_NONE);
	world_settle(w);
	assert_true(is_placed(w, "team-b", "small"));
}

static void a_restart_keeps_what_was_kept(void **state)
{
	struct world *w = *state;

	kept_from_small(w);
	world_restart(w);
	world_settle(w);
	later(w, 2);
	assert_false(is_placed(w, "team-b", "small"));
	assert_told(w, "team-a", "gang", "it has its quota by ");
}

/* Quota comes free, but a job without a limit has the only cluster. */
static void quota_is_not_kept_for_a_gang_without_a_cluster(void **state)
{
	struct world *w = *state;
	struct model *m;

	world_teams(w, 12, 16);
	m = world_join(w, "c1", 1, 12);
	m->run_time = 5000 * USEC_PER_SEC;
	assert_int_equal(world_job(w, "default", "outside", 1, 3, ""), ERR_NONE);
	world_settle(w);
	limited_job(w, "team-b", "long", 1, 4, 100);
	limited_job(w, "team-a", "gang", 1, 10, 0);
	later(w, 70);
	limited_job(w, "team-a", "small", 1, 3, 2000);
	assert_false(is_placed(w, "team-a", "small"));
	model_finish(m, model_copy(m, "team-b", "long"), false);
	later(w, 1);
	later(w, 11);
	assert_false(is_placed(w, "team-a", "gang"));
	assert_true(is_placed(w, "team-a", "small"));
}

/* ---- deeper ---- */

/* root 12; x min 6 with leaves x1 and x2, min 3 each; y min 4. */
static void deep_tree(struct world *w)
{
	static const char *const spaces[] = {"x1", "x2", "y"};

	for (size_t i = 0; i < ARRAY_LEN(spaces); i++)
		world_space(w, spaces[i]);
	assert_int_equal(
	    world_create(w, TYPE_ELASTIC_QUOTA_TREE,
			 "{'apiVersion':'scheduling.sigs.k8s.io/v1beta1','kind':'ElasticQuotaTree',"
			 "'metadata':{'name':'tree','namespace':'kube-system'},'spec':{'root':{"
			 "'name':'root','min':{'cpu':12},'max':{'cpu':12},'children':[{'name':'x',"
			 "'min':{'cpu':6},'max':{'cpu':12},'children':[{'name':'x-1','namespaces':["
			 "'x1'],'min':{'cpu':3},'max':{'cpu':12}},{'name':'x-2','namespaces':['x2']"
			 ",'min':{'cpu':3},'max':{'cpu':12}}]},{'name':'y-1','namespaces':['y'],"
			 "'min':{'cpu':4},'max':{'cpu':12}}]}}}"),
	    ERR_NONE);
	for (size_t i = 0; i < ARRAY_LEN(spaces); i++)
		world_policy(w, spaces[i], ",'suspension':{'scheduling':true}");
}

static void a_side_of_the_tree_keeps_its_min(void **state)
{
	struct world *w = *state;

	deep_tree(w);
	member(w, 5000);
	limited_job(w, "x1", "long", 1, 4, 500);
	limited_job(w, "y", "gang", 1, 9, 0); /* 12 less x's 6 are 6 */
	later(w, 70);
	assert_told(w, "y", "gang", "as it has to borrow what root/x may take back");
	limited_job(w, "x2", "of-x", 1, 2, 2000); /* 4 + 2 are x's own, though x-1 has borrowed */
	assert_true(is_placed(w, "x2", "of-x"));
	limited_job(w, "x2", "more", 1, 3, 2000);
	assert_false(is_placed(w, "x2", "more"));
}

static void gangs_of_many_leaves_start_one_after_the_other(void **state)
{
	struct world *w = *state;

	deep_tree(w);
	member(w, 90);
	busy(w, "x1");
	limited_job(w, "y", "gang-1", 1, 6, 100);
	limited_job(w, "x2", "gang-2", 1, 8, 100);
	limited_job(w, "x1", "gang-3", 1, 7, 100);
	assert_in_range(starts_after(w, "y", "gang-1", "x1", 400), 40, 160);
	int second = starts_after(w, "x2", "gang-2", "y", 400);
	assert_in_range(second, 0, 130);
	int third = starts_after(w, "x1", "gang-3", "x2", 400);
	assert_in_range(third, 0, 130);
	assert_in_range(second + third, 80, 240);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(small_jobs_of_its_leaf_pass_a_gang_until_it_starves),
	    STORY(without_starvation_after_they_pass_it_for_ever),
	    STORY(borrowers_of_another_leaf_pass_a_gang_until_it_starves),
	    STORY(the_bound_is_told_and_who_costs_nothing_passes),
	    STORY(a_leaf_may_always_use_its_min),
	    STORY(a_job_without_a_limit_leaves_no_bound),
	    STORY(a_gang_that_leaves_gives_up_what_is_kept),
	    STORY(a_gang_that_fits_no_more_gives_up_what_is_kept),
	    STORY(a_restart_keeps_what_was_kept),
	    STORY(quota_is_not_kept_for_a_gang_without_a_cluster),
	    STORY(a_side_of_the_tree_keeps_its_min),
	    STORY(gangs_of_many_leaves_start_one_after_the_other),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
