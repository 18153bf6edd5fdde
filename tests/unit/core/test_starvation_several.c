/*
 * Several gangs that starve for room, clusters that come and go, and what is let go when a gang
 * cannot start any more.
 */
#include "starvation_words.h"

static bool is_told(struct world *w, const char *ns, const char *name, const char *text)
{
	char path[96];

	(void)snprintf(path, sizeof(path), "namespaces/%s/jobs/%s/why", ns, name);
	return strstr(world_query(w, path), text) != NULL;
}

/* A small job every ten seconds, each of which lasts forty on one of four nodes. Returns after how
 * many seconds the gang started, `most` when it did not. */
static int starts_after(struct world *w, const char *gang, int most)
{
	for (int t = 0; t < most; t += 10) {
		char name[32];
		if (is_placed(w, "default", gang))
			return t;
		(void)snprintf(name, sizeof(name), "%s-small-%d", gang, t);
		limited_job(w, "default", name, 1, 4, 100);
		later(w, 10);
	}
	return most;
}

/* One cluster may be kept free at a time: each gets it after the one before. */
static void gangs_get_their_cluster_one_after_the_other(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 4, 4);

	m->run_time = 40 * USEC_PER_SEC;
	for (int i = 0; i < 4; i++) {
		char name[32];
		(void)snprintf(name, sizeof(name), "first-%d", i);
		limited_job(w, "default", name, 1, 4, 100);
		later(w, 10);
	}
	limited_job(w, "default", "gang-1", 4, 4, 100);
	limited_job(w, "default", "gang-2", 3, 4, 100);
	limited_job(w, "default", "gang-3", 4, 3, 100);
	assert_in_range(starts_after(w, "gang-1", 1000), 60, 160);
	assert_false(is_placed(w, "default", "gang-2"));
	/* Each runs for 40 s; what may pass ends within 100. */
	assert_in_range(starts_after(w, "gang-2", 1000), 30, 150);
	assert_false(is_placed(w, "default", "gang-3"));
	assert_in_range(starts_after(w, "gang-3", 1000), 30, 150);
}

static void a_cluster_that_leaves_is_not_waited_for(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 8)->run_time = 1000 * USEC_PER_SEC;
	world_join(w, "c2", 1, 8)->run_time = 1000 * USEC_PER_SEC;
	limited_job(w, "default", "on-1", 1, 5, 300);
	limited_job(w, "default", "on-2", 1, 5, 900);
	limited_job(w, "default", "gang", 1, 8, 0);
	later(w, 61);
	assert_int_equal(world_events(w, "gang", "CapacityReserved", "Cluster c1"), 1);
	world_unjoin(w, "c1");
	world_settle(w);
	later(w, 1);
	assert_int_equal(world_events(w, "gang", "CapacityReserved", "Cluster c2"), 1);
	assert_true(is_told(w, "default", "gang", "Cluster c2 is kept free for it"));
}

static void a_cluster_that_has_room_much_earlier_is_kept_instead(void **state)
{
	struct world *w = *state;
	struct model *m;

	world_join(w, "c1", 1, 8)->run_time = 2000 * USEC_PER_SEC;
	m = world_join(w, "c2", 1, 8);
	m->run_time = 2000 * USEC_PER_SEC;
	limited_job(w, "default", "on-1", 1, 5, 1000);
	limited_job(w, "default", "on-2", 1, 4, 1500);
	limited_job(w, "default", "also-on-2", 1, 4, 200);
	limited_job(w, "default", "gang", 1, 8, 0);
	later(w, 61);
	assert_int_equal(world_events(w, "gang", "CapacityReserved", "Cluster c1"), 1);
	/* The longer one ends early: c2 has room after 200, not 1500. */
	struct model *of = model_copy(m, "default", "on-2") ? m : w->members[0];
	model_finish(of, model_copy(of, "default", "on-2"), false);
	world_settle(w);
	later(w, 31);
	assert_int_equal(world_events(w, "gang", "CapacityReserved", "Cluster c2"), 1);
	later(w, 120);
	assert_true(is_placed(w, "default", "gang"));
	/* c1 is others' again. */
	limited_job(w, "default", "endless", 1, 3, 0);
	assert_true(is_placed(w, "default", "endless"));
}

/* One node of four is busy for long: the gang of team-a waits, though its quota fits. */
static void a_cut_of_its_quota_gives_up_the_cluster(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 4, 4);

	world_teams(w, 24, 16);
	m->run_time = 5000 * USEC_PER_SEC;
	limited_job(w, "team-b", "long", 1, 4, 600);
	limited_job(w, "team-a", "gang", 4, 4, 0);
	later(w, 61);
	limited_job(w, "default", "endless", 1, 2, 0);
	assert_false(is_placed(w, "default", "endless"));
	assert_int_equal(world_edit_tree(w, 24, 8), ERR_NONE);
	world_settle(w);
	assert_true(is_placed(w, "default", "endless"));
	assert_int_equal(world_used(w, "root/a", "cpu"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(gangs_get_their_cluster_one_after_the_other),
	    STORY(a_cluster_that_leaves_is_not_waited_for),
	    STORY(a_cluster_that_has_room_much_earlier_is_kept_instead),
	    STORY(a_cut_of_its_quota_gives_up_the_cluster),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
