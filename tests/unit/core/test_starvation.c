/*
 * Large gangs among small jobs: who is passed, for how long, and what is kept free for whom.
 */
#include "starvation_words.h"

/* A small job every ten seconds, each of which lasts forty on one of four nodes: the adversary.
 * Returns after how many seconds the gang started, `most` when it did not. */
static int starts_after(struct world *w, const char *gang, int most)
{
	for (int t = 0; t < most; t += 10) {
		char name[32];
		if (is_placed(w, "default", gang))
			return t;
		(void)snprintf(name, sizeof(name), "small-%d", t);
		limited_job(w, "default", name, 1, 4, 100);
		later(w, 10);
	}
	return most;
}

static struct model *busy_member(struct world *w, const char *name)
{
	struct model *m = world_join(w, name, 4, 4);

	m->run_time = 40 * USEC_PER_SEC;
	for (int i = 0; i < 4; i++) {
		char first[32];
		(void)snprintf(first, sizeof(first), "%s-%d", name, i);
		limited_job(w, "default", first, 1, 4, 100);
		later(w, 10);
	}
	return m;
}

static void small_jobs_pass_a_gang_for_ever_where_nothing_is_reserved(void **state)
{
	struct world *w = *state;

	w->core->settings.starve_after = 0;
	busy_member(w, "c1");
	limited_job(w, "default", "gang", 4, 4, 0);
	assert_int_equal(starts_after(w, "gang", 1000), 1000);
}

static void a_gang_starts_within_its_bound(void **state)
{
	struct world *w = *state;

	busy_member(w, "c1");
	limited_job(w, "default", "gang", 4, 4, 0);
	/* 60 s until it starves, then at most the longest limit: 100 s */
	int after = starts_after(w, "gang", 1000);
	assert_in_range(after, 60, 160);
	assert_int_equal(world_events(w, "gang", "CapacityReserved", "Cluster c1"), 1);
	/* those that were kept waiting go on afterwards */
	for (int i = 0; i < 40; i++)
		later(w, 10);
	for (int t = 0; t < after; t += 10) {
		char name[32];
		(void)snprintf(name, sizeof(name), "small-%d", t);
		assert_true(is_placed(w, "default", name));
	}
}

/* A job that runs on one node of four, and a gang that has starved for a second behind it. */
static void gang_behind(struct world *w, const char *name, int limit)
{
	world_join(w, "c1", 4, 4)->run_time = 5000 * USEC_PER_SEC;
	limited_job(w, "default", name, 1, 4, limit);
	limited_job(w, "default", "gang", 4, 4, 0);
	later(w, 61);
}

static void only_what_ends_in_time_starts_on_a_reserved_cluster(void **state)
{
	struct world *w = *state;

	gang_behind(w, "long", 600);
	assert_int_equal(world_events(w, "gang", "CapacityReserved", "Cluster c1"), 1);
	limited_job(w, "default", "endless", 1, 2, 0);
	assert_false(is_placed(w, "default", "endless"));
	assert_non_null(strstr(world_query(w, "namespaces/default/jobs/endless/why"),
			       "\"verdict\":\"Reserved\""));
	limited_job(w, "default", "too-long", 1, 3, 560); /* 539 s are left */
	assert_false(is_placed(w, "default", "too-long"));
	limited_job(w, "default", "short", 1, 1, 530);
	assert_true(is_placed(w, "default", "short"));
	assert_non_null(strstr(world_query(w, "namespaces/default/jobs/gang/why"),
			       "Cluster c1 is kept free for it"));
}

static void a_job_without_a_limit_leaves_no_bound(void **state)
{
	struct world *w = *state;

	gang_behind(w, "endless", 0);
	assert_int_equal(world_events(w, "gang", "CapacityReserved", ""), 0);
	assert_non_null(strstr(world_query(w, "namespaces/default/jobs/gang/why"),
			       "No bound on its wait exists"));
	limited_job(w, "default", "other", 1, 4, 0);
	assert_true(is_placed(w, "default", "other")); /* nothing is kept free in vain */
}

/* One node of four is busy for so many seconds: the gang of team-a waits, though its quota fits. */
static struct model *teams_with_a_gang_that_waits(struct world *w, int seconds)
{
	struct model *m = world_join(w, "c1", 4, 4);

	world_teams(w, 24, 16);
	m->run_time = seconds * USEC_PER_SEC;
	limited_job(w, "team-b", "long", 1, 4, 600);
	m->run_time = 500 * USEC_PER_SEC;
	limited_job(w, "team-a", "gang", 4, 4, 0);
	return m;
}

static void quota_is_charged_ahead_and_given_back(void **state)
{
	struct world *w = *state;

	teams_with_a_gang_that_waits(w, 500);
	assert_int_equal(world_used(w, "root/a", "cpu"), 0);
	later(w, 61);
	assert_int_equal(world_used(w, "root/a", "cpu"), 16000);
	limited_job(w, "team-a", "small", 1, 1, 10); /* it could run, but its quota is the gang's */
	assert_false(is_placed(w, "team-a", "small"));
	assert_int_equal(world_delete(w, TYPE_JOB, "team-a", "gang"), ERR_NONE);
	world_settle(w);
	assert_true(is_placed(w, "team-a", "small"));
	assert_int_equal(world_used(w, "root/a", "cpu"), 1000);
}

static void a_gang_with_quota_ahead_starts_with_it(void **state)
{
	struct world *w = *state;
	struct model *m = teams_with_a_gang_that_waits(w, 100);

	later(w, 61);
	later(w, 50);
	assert_true(is_placed(w, "team-a", "gang"));
	assert_int_equal(world_used(w, "root/a", "cpu"), 16000);
	model_finish(m, model_copy(m, "team-a", "gang"), false);
	world_settle(w);
	assert_int_equal(world_used(w, "root/a", "cpu"), 0);
}

static void at_most_one_of_four_clusters_is_kept_free(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 3; i++) {
		char name[8], text[16];
		(void)snprintf(name, sizeof(name), "c%d", i);
		world_join(w, name, 1, 8)->run_time = 500 * USEC_PER_SEC;
		(void)snprintf(text, sizeof(text), "long-%d", i);
		limited_job(w, "default", text, 1, 5, 600 + 10 * i);
	}
	limited_job(w, "default", "one", 1, 8, 0);
	limited_job(w, "default", "two", 1, 7, 0);
	later(w, 61);
	assert_int_equal(world_events(w, "one", "CapacityReserved", "Cluster c0"), 1);
	assert_int_equal(world_events(w, "two", "CapacityReserved", ""), 0);
	limited_job(w, "default", "small", 1, 3, 0);
	assert_true(is_placed(w, "default", "small")); /* on another one */
	assert_string_not_equal(
	    world_field(w, TYPE_RESOURCE_BINDING, "default", "small-job", "spec.clusters.0.name"),
	    "c0");
}

static void a_restart_makes_the_reservation_again(void **state)
{
	struct world *w = *state;

	teams_with_a_gang_that_waits(w, 500);
	later(w, 61);
	world_restart(w);
	later(w, 1);
	later(w, 31);
	assert_int_equal(world_used(w, "root/a", "cpu"), 16000);
	limited_job(w, "default", "endless", 1, 2, 0);
	assert_false(is_placed(w, "default", "endless"));
}

static void an_edit_of_the_tree_keeps_what_was_charged_ahead(void **state)
{
	struct world *w = *state;

	teams_with_a_gang_that_waits(w, 500);
	later(w, 61);
	assert_int_equal(world_edit_tree(w, 28, 16), ERR_NONE);
	later(w, 31);
	assert_int_equal(world_used(w, "root/a", "cpu"), 16000);
	assert_int_equal(world_edit_tree(w, 28, 8), ERR_NONE); /* it fits its quota no more */
	later(w, 31);
	assert_int_equal(world_used(w, "root/a", "cpu"), 0);
	limited_job(w, "default", "endless", 1, 2, 0);
	assert_true(is_placed(w, "default", "endless"));
}

/* ---- Kueue's queues ---- */

static void queue(struct world *w, int cpus)
{
	world_flavor(w, "f", "");
	world_cluster_queue(w, "cq", "f", cpus, "");
	world_local_queue(w, "lq", "cq");
}

/* In queue lq; maximum execution time `limit` seconds, 0: none. */
static void queued(struct world *w, const char *name, int pods, int cpus, int limit)
{
	char labels[96] = "";

	if (limit)
		(void)snprintf(labels, sizeof(labels),
			       ",'kueue.x-k8s.io/max-exec-time-seconds':'%d'", limit);
	world_queued_job(w, name, "lq", pods, cpus, labels);
	world_settle(w);
}

static void a_gang_of_a_queue_starts_within_its_bound(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 4, 4);
	int after = -1;

	m->run_time = 40 * USEC_PER_SEC;
	queue(w, 100);
	for (int t = 0; t < 400 && after < 0; t += 10) {
		char name[32];
		(void)snprintf(name, sizeof(name), "small-%d", t);
		queued(w, name, 1, 4, 100);
		if (t == 40)
			queued(w, "gang", 4, 4, 0);
		later(w, 10);
		if (t >= 40 && is_placed(w, "default", "gang"))
			after = t - 30;
	}
	assert_in_range(after, 60, 160);
	assert_int_equal(world_events(w, "gang", "CapacityReserved", "Cluster c1"), 1);
}

/* A small job whenever ten seconds have passed, as many as quota lets run; nodes there are. After
 * how many seconds the gang has started, `most` when it has not. */
static int starts_after_small_ones(struct world *w, const char *gang, int most)
{
	for (int t = 0; t < most; t += 10) {
		char name[32];
		if (is_placed(w, "default", gang))
			return t;
		(void)snprintf(name, sizeof(name), "tiny-%d", t);
		queued(w, name, 1, 2, 100);
		later(w, 10);
	}
	return most;
}

static void small_jobs_do_not_take_quota_from_a_gang_for_ever(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 8, 8);

	m->run_time = 40 * USEC_PER_SEC;
	queue(w, 10);
	for (int i = 0; i < 3; i++) {
		char name[32];
		(void)snprintf(name, sizeof(name), "first-%d", i);
		queued(w, name, 1, 2, 100);
		later(w, 10);
	}
	queued(w, "gang", 1, 8, 0);
	/* Some time after it began to starve: what runs then ends 40 s later. */
	assert_in_range(starts_after_small_ones(w, "gang", 400), 60, 110);
	/* Those that were refused meanwhile go on. */
	for (int i = 0; i < 30; i++)
		later(w, 10);
	assert_true(is_placed(w, "default", "tiny-0"));
	assert_true(is_placed(w, "default", "tiny-70"));
	assert_true(is_placed(w, "default", "tiny-80"));
}

static void without_starvation_after_small_jobs_do(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 8, 8);

	w->core->settings.starve_after = 0;
	m->run_time = 40 * USEC_PER_SEC;
	queue(w, 10);
	for (int i = 0; i < 3; i++) {
		char name[32];
		(void)snprintf(name, sizeof(name), "first-%d", i);
		queued(w, name, 1, 2, 100);
		later(w, 10);
	}
	queued(w, "gang", 1, 8, 0);
	assert_int_equal(starts_after_small_ones(w, "gang", 400), 400);
}

/* Who starves and who waits behind it are told; when it goes, the others start at once. */
static void quota_is_kept_until_the_gang_leaves(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 8, 8);

	m->run_time = 1000 * USEC_PER_SEC;
	queue(w, 10);
	queued(w, "first", 1, 4, 500);
	queued(w, "gang", 1, 8, 0);
	later(w, 70);
	/* Of 10 it leaves 2 beside it: no more, for longer than until the first one's end. */
	queued(w, "behind", 1, 3, 500);
	queued(w, "short", 3, 1, 400);
	assert_false(is_placed(w, "default", "behind"));
	assert_true(is_placed(w, "default", "short"));
	assert_non_null(strstr(world_query(w, "namespaces/default/jobs/gang/why"),
			       "Quota that comes free for ClusterQueue cq is kept for it, which "
			       "has waited long: it has its quota by "));
	assert_non_null(strstr(world_query(w, "namespaces/default/jobs/behind/why"),
			       "Quota of ClusterQueue cq is kept for workload default/job-gang-"));
	assert_string_equal(world_workload_condition(w, "behind", "QuotaReserved", "reason"),
			    "WaitingForQuota");
	/* A restart begins with the refusal that tells it. */
	world_restart(w);
	world_settle(w);
	later(w, 1);
	assert_false(is_placed(w, "default", "behind"));
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "gang"), ERR_NONE);
	world_settle(w);
	assert_true(is_placed(w, "default", "behind"));
}

static void quota_of_a_queue_is_reserved_ahead_and_given_back(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 4, 4)->run_time = 5000 * USEC_PER_SEC;
	queue(w, 20);
	queued(w, "long", 1, 4, 600);
	queued(w, "gang", 4, 4, 0);
	assert_string_equal(world_workload_condition(w, "gang", "QuotaReserved", "reason"),
			    "TopologyPlacementFailed");
	later(w, 61);
	assert_string_equal(world_workload_condition(w, "gang", "QuotaReserved", "status"), "True");
	assert_string_not_equal(world_workload_condition(w, "gang", "Admitted", "status"), "True");
	/* 20 of 20 are held: nobody passes. */
	queued(w, "small", 1, 1, 10);
	assert_false(is_placed(w, "default", "small"));
	/* Not after a restart either. */
	world_restart(w);
	later(w, 1);
	assert_false(is_placed(w, "default", "small"));
	later(w, 32);
	assert_string_equal(world_workload_condition(w, "gang", "QuotaReserved", "status"), "True");
	limited_job(w, "default", "endless", 1, 1, 0);
	assert_false(is_placed(w, "default", "endless"));
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "gang"), ERR_NONE);
	world_settle(w);
	assert_true(is_placed(w, "default", "small"));
	assert_true(is_placed(w, "default", "endless"));
}

static void only_what_ends_in_time_passes_a_gang_of_a_queue(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 4, 4);

	m->run_time = 300 * USEC_PER_SEC;
	queue(w, 100);
	queued(w, "long", 1, 4, 600);
	queued(w, "gang", 4, 4, 0);
	later(w, 61);
	queued(w, "endless", 1, 1, 0);
	queued(w, "too-long", 1, 2, 560);
	assert_false(is_placed(w, "default", "endless"));
	assert_false(is_placed(w, "default", "too-long"));
	m->run_time = 100 * USEC_PER_SEC;
	queued(w, "short", 1, 3, 530);
	assert_true(is_placed(w, "default", "short"));
	assert_non_null(strstr(world_query(w, "namespaces/default/jobs/gang/why"),
			       "Cluster c1 is kept free for it"));
	later(w, 250);
	assert_true(is_placed(w, "default", "gang"));
	assert_string_equal(world_workload_condition(w, "gang", "Admitted", "status"), "True");
}

static void no_bound_exists_for_a_gang_of_a_queue_behind_jobs_without_a_limit(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 4, 4)->run_time = 5000 * USEC_PER_SEC;
	queue(w, 100);
	queued(w, "endless", 1, 4, 0);
	queued(w, "gang", 4, 4, 0);
	later(w, 61);
	later(w, 40);
	assert_int_equal(world_events(w, "gang", "CapacityReserved", ""), 0);
	assert_string_equal(world_workload_condition(w, "gang", "QuotaReserved", "status"),
			    "False");
	assert_non_null(strstr(world_query(w, "namespaces/default/jobs/gang/why"),
			       "No bound on its wait exists"));
	queued(w, "other", 1, 4, 0);
	assert_true(is_placed(w, "default", "other"));
}

/* x is busy for long; y has a free flavor: nothing is promised where the gang can start. */
static void a_flavor_with_room_comes_before_a_promise(void **state)
{
	struct world *w = *state;
	struct model *x = world_join(w, "c1", 1, 4), *y = world_join(w, "c2", 1, 4);

	x->run_time = y->run_time = 5000 * USEC_PER_SEC;
	model_label_nodes(x, "pool", "x");
	model_label_nodes(y, "pool", "y");
	world_settle(w);
	world_flavor(w, "x", "'nodeLabels':{'pool':'x'}");
	world_flavor(w, "y", "'nodeLabels':{'pool':'y'}");
	world_cluster_queue(w, "cq", "x y", 100, "");
	world_local_queue(w, "lq", "cq");
	queued(w, "on-x", 1, 4, 600);
	queued(w, "on-y", 1, 4, 600);
	queued(w, "gang", 1, 4, 0);
	later(w, 59);
	model_finish(y, model_copy(y, "default", "on-y"), false);
	later(w, 2);
	assert_non_null(model_copy(y, "default", "gang"));
	assert_int_equal(world_events(w, "gang", "CapacityReserved", ""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(small_jobs_pass_a_gang_for_ever_where_nothing_is_reserved),
	    STORY(a_gang_starts_within_its_bound),
	    STORY(only_what_ends_in_time_starts_on_a_reserved_cluster),
	    STORY(a_job_without_a_limit_leaves_no_bound),
	    STORY(quota_is_charged_ahead_and_given_back),
	    STORY(a_gang_with_quota_ahead_starts_with_it),
	    STORY(at_most_one_of_four_clusters_is_kept_free),
	    STORY(a_restart_makes_the_reservation_again),
	    STORY(an_edit_of_the_tree_keeps_what_was_charged_ahead),
	    STORY(a_gang_of_a_queue_starts_within_its_bound),
	    STORY(small_jobs_do_not_take_quota_from_a_gang_for_ever),
	    STORY(without_starvation_after_small_jobs_do),
	    STORY(quota_is_kept_until_the_gang_leaves),
	    STORY(quota_of_a_queue_is_reserved_ahead_and_given_back),
	    STORY(only_what_ends_in_time_passes_a_gang_of_a_queue),
	    STORY(no_bound_exists_for_a_gang_of_a_queue_behind_jobs_without_a_limit),
	    STORY(a_flavor_with_room_comes_before_a_promise),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
