/*
 * The elastic tree's reclaim, step by step: who is stopped, when its quota is free, who goes first
 * then, and when nobody is stopped at all (reference/ack-fleet.md, V23 to V25 and V28).
 */
#include "world.h"

#include "core/admission/reclaim.h"

#define STORY(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
#define ON	    "'reclaim-policy':'ReclaimMin','reclaim-protect-time':'0s'"

/* Leaves a (namespace team-a) and b (team-b) below a root of `root` cpus; policies that queue. */
/* Not one that was suspended and waits where it is. */
static bool is_unsuspended(const struct model_copy *c)
{
	return c && !c->suspended;
}

static void tree(struct world *w, int root, int min_a, int max_a, int min_b, int max_b,
		 const char *attributes)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b,
		 "{'apiVersion':'scheduling.sigs.k8s.io/v1beta1','kind':'ElasticQuotaTree',"
		 "'metadata':{'name':'tree','namespace':'kube-system'},'spec':{'root':{'name':"
		 "'root','attributes':{%s},'min':{'cpu':%d},'max':{'cpu':%d},'children':[{'name':"
		 "'a','namespaces':['team-a'],'min':{'cpu':%d},'max':{'cpu':%d}},{'name':'b',"
		 "'namespaces':['team-b'],'min':{'cpu':%d},'max':{'cpu':%d}}]}}}",
		 attributes, root, root, min_a, max_a, min_b, max_b);
	world_space(w, "team-a");
	world_space(w, "team-b");
	assert_int_equal(world_create(w, TYPE_ELASTIC_QUOTA_TREE, b.ptr), ERR_NONE);
	world_policy(w, "team-a", ",'suspension':{'scheduling':true}");
	world_policy(w, "team-b", ",'suspension':{'scheduling':true}");
}

static void job(struct world *w, const char *ns, const char *name, int pods, int cpus)
{
	assert_int_equal(world_job(w, ns, name, pods, cpus, ""), ERR_NONE);
	world_settle(w);
	w->now += USEC_PER_SEC;
}

static bool runs(const struct model *m, const char *ns, const char *name)
{
	const struct model_copy *c = model_copy(m, ns, name);
	return c && !c->suspended && !c->deleting;
}

/* Settles over the pauses between looks. */
static void work(struct world *w)
{
	for (int i = 0; i < 4; i++) {
		world_settle(w);
		world_advance(w, 200 * USEC_PER_MS);
	}
	world_settle(w);
}

/* ---- who is stopped ---- */

/* V23: five cpus, a has borrowed one; b wants its own. */
static void an_owner_takes_back_one_job_of_a_borrower(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 5);
	char name[8];

	m->run_time = 3600 * USEC_PER_SEC;
	tree(w, 5, 4, 5, 1, 5, ON);
	for (int i = 0; i < 5; i++) {
		(void)snprintf(name, sizeof(name), "a%d", i);
		job(w, "team-a", name, 1, 1);
	}
	assert_int_equal(world_used(w, "root/a", "cpu"), 5000);
	job(w, "team-b", "b0", 1, 1);
	work(w);
	assert_true(runs(m, "team-b", "b0"));
	/* The latest of a's: the others run on. */
	assert_false(is_unsuspended(model_copy(m, "team-a", "a4")));
	for (int i = 0; i < 4; i++) {
		(void)snprintf(name, sizeof(name), "a%d", i);
		assert_true(runs(m, "team-a", name));
	}
	assert_int_equal(world_used(w, "root/a", "cpu"), 4000);
	assert_int_equal(
	    world_events(w, "a4", "Preempted", "quota root/b takes back its min for Job team-b/b0"),
	    1);
	assert_int_equal(world_events(w, "b0", "PreemptedOthers", "1 job(s)"), 1);
	/* b is at its min: its second one waits, nobody goes for it. */
	job(w, "team-b", "b1", 1, 1);
	work(w);
	assert_false(is_unsuspended(model_copy(m, "team-b", "b1")));
	assert_int_equal(world_used(w, "root/a", "cpu"), 4000);
}

static void without_the_attribute_nobody_is_stopped(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 5);

	m->run_time = 3600 * USEC_PER_SEC;
	tree(w, 5, 4, 5, 1, 5, "");
	job(w, "team-a", "a0", 1, 5);
	job(w, "team-b", "b0", 1, 1);
	work(w);
	assert_true(runs(m, "team-a", "a0"));
	assert_false(is_unsuspended(model_copy(m, "team-b", "b0")));
	assert_true(world_exists(w, TYPE_JOB, "team-b", "b0"));
}

/* The victim came first and would fit again the moment it has left: the owner goes before it. */
static void the_owner_goes_first_when_the_borrower_has_left(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 10);

	/* The other member has room for the victim, but only the quota that it gave back. */
	world_join(w, "c2", 1, 5);
	m->run_time = w->members[1]->run_time = 3600 * USEC_PER_SEC;
	tree(w, 10, 4, 10, 6, 10, ON);
	assert_int_equal(world_job(w, "default", "filler", 1, 5, ""), ERR_NONE);
	world_settle(w);
	struct model *other = w->members[1];
	assert_true(runs(other, "default", "filler"));
	job(w, "team-a", "a0", 1, 5);
	assert_true(runs(m, "team-a", "a0"));
	model_finish(other, model_copy(other, "default", "filler"), false);
	world_settle(w);
	job(w, "team-b", "b0", 1, 6);
	work(w);
	assert_true(runs(m, "team-b", "b0"));
	assert_false(is_unsuspended(model_copy(m, "team-a", "a0")));
	assert_false(is_unsuspended(model_copy(other, "team-a", "a0")));
	/* Its place is kept: it starts before a later one of its quota. */
	job(w, "team-a", "a1", 1, 5);
	model_finish(m, model_copy(m, "team-b", "b0"), false);
	work(w);
	assert_true(runs(m, "team-a", "a0") || runs(other, "team-a", "a0"));
	/* And it ran on one member at a time. */
	assert_int_equal(m->starts + other->starts, 5);
}

/* All that can be done while the member does not answer what is about `name`. */
static void settle_without(struct world *w, const char *name)
{
	for (int round = 0; round < 40; round++) {
		struct order *next = NULL;
		for (size_t i = 0; i < w->orders.len && !next; i++)
			if (!w->orders.items[i]->path || !strstr(w->orders.items[i]->path, name))
				next = w->orders.items[i];
		if (next)
			world_answer(w, next);
		world_streams(w);
		for (size_t i = 0; i < w->n_members; i++)
			(void)model_step(w->members[i], w->now);
		world_streams(w);
	}
}

/* Two have to go, and one is slower: what the first one left is not its own again meanwhile. */
static void what_one_victim_left_is_kept_until_the_other_has_gone(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8), *other = world_join(w, "c2", 1, 8);

	m->run_time = other->run_time = 3600 * USEC_PER_SEC;
	tree(w, 8, 0, 8, 6, 8, ON);
	job(w, "team-a", "a0", 1, 3);
	job(w, "team-a", "a1", 1, 3);
	assert_int_equal(world_job(w, "team-b", "b0", 1, 6, ""), ERR_NONE);
	world_run(w);
	world_advance(w, 200 * USEC_PER_MS);
	assert_non_null(world_find(w, "PATCH", "jobs/a0"));
	assert_non_null(world_find(w, "PATCH", "jobs/a1"));
	settle_without(w, "a1");
	assert_int_equal(world_used(w, "root/a", "cpu"), 3000);
	assert_false(is_unsuspended(model_copy(m, "team-a", "a0")));
	assert_false(is_unsuspended(model_copy(other, "team-a", "a0")));
	assert_non_null(strstr(world_query(w, "namespaces/team-a/jobs/a0/why"),
			       "What it asks is kept for Job team-b/b0"));
	/* Something small of the same tree that takes nothing of it goes on. */
	job(w, "team-a", "small", 1, 2);
	work(w);
	assert_true(runs(m, "team-b", "b0") || runs(other, "team-b", "b0"));
	assert_true(runs(m, "team-a", "small") || runs(other, "team-a", "small"));
}

static void quota_is_free_when_the_pods_are_gone(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 10);
	struct order *o;

	m->run_time = 3600 * USEC_PER_SEC;
	tree(w, 10, 4, 10, 6, 10, ON);
	job(w, "team-a", "a0", 1, 5);
	assert_int_equal(world_job(w, "team-b", "b0", 1, 6, ""), ERR_NONE);
	world_run(w);
	world_advance(w, 200 * USEC_PER_MS);
	/* Told to leave, still there: its quota is taken, and says so. */
	o = world_find(w, "PATCH", "jobs/a0");
	assert_non_null(o);
	assert_int_equal(world_used(w, "root/a", "cpu"), 5000);
	assert_null(world_find(w, "POST", "namespaces/team-b/jobs"));
	const char *why = world_query(w, "namespaces/team-b/jobs/b0/why");
	assert_non_null(strstr(why, "\"reason\":\"WaitingForReclaim\""));
	assert_non_null(strstr(why, "takes back its min from jobs that borrowed it: it starts on "
				    "cluster c1 when 1 job(s) there have stopped."));
	/* A job outside the tree that would fit beside it does not take the room. */
	assert_int_equal(world_job(w, "default", "plain", 1, 5, ""), ERR_NONE);
	world_run(w);
	work(w);
	assert_true(runs(m, "team-b", "b0"));
	assert_false(is_unsuspended(model_copy(m, "default", "plain")));
	model_finish(m, model_copy(m, "team-b", "b0"), false);
	work(w);
	assert_true(runs(m, "team-a", "a0"));
	assert_true(runs(m, "default", "plain"));
}

/* V25: b is at its min; only its own job of lower priority may go. */
static void beyond_its_min_a_job_takes_only_from_its_own_quota(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 12);

	m->run_time = 3600 * USEC_PER_SEC;
	assert_int_equal(world_create(w, TYPE_PRIORITY_CLASS,
				      "{'apiVersion':'scheduling.k8s.io/v1','kind':'PriorityClass',"
				      "'metadata':{'name':'high'},'value':50}"),
			 ERR_NONE);
	tree(w, 12, 4, 12, 4, 12, ON);
	job(w, "team-a", "a0", 1, 8);
	job(w, "team-b", "b0", 1, 4);
	assert_int_equal(
	    world_create(w, TYPE_JOB,
			 "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'b1',"
			 "'namespace':'team-b'},'spec':{'template':{'spec':{'priorityClassName':"
			 "'high','restartPolicy':'Never','containers':[{'name':'c','image':'i',"
			 "'resources':{'requests':{'cpu':'4'}}}]}}}}"),
	    ERR_NONE);
	work(w);
	assert_true(runs(m, "team-a", "a0"));
	assert_true(runs(m, "team-b", "b1"));
	assert_false(is_unsuspended(model_copy(m, "team-b", "b0")));
	assert_int_equal(world_events(w, "b0", "Preempted", "of higher priority in quota root/b"),
			 1);
}

/* Jobs of 5 cpus that run in each of the four namespaces. */
static void expect_running(const struct model *m, int a1, int a2, int b1, int b2)
{
	const int want[] = {a1, a2, b1, b2};
	char ns[16], name[8];

	for (int n = 0; n < 4; n++) {
		int running = 0;
		(void)snprintf(ns, sizeof(ns), "namespace%d", n + 1);
		for (int i = 0; i < 5; i++) {
			(void)snprintf(name, sizeof(name), "j%d", i);
			running += runs(m, ns, name);
		}
		assert_int_equal(running, want[n]);
	}
}

/* V1 to V4: leaves of min 10 and max 20 below two halves of a root of 40; five jobs of 5 cpus in
 * one namespace after the other. */
static void every_owner_comes_to_its_min_one_after_the_other(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 40);
	char ns[16], name[8];

	m->run_time = 3600 * USEC_PER_SEC;
#define LEAF(name, ns)                                                                             \
	"{'name':'" name "','namespaces':['" ns "'],'min':{'cpu':10},'max':{'cpu':20}}"
#define HALF(name, one, other)                                                                     \
	"{'name':'" name "','min':{'cpu':20},'max':{'cpu':40},'children':[" one "," other "]}"
	assert_int_equal(
	    world_create(w, TYPE_ELASTIC_QUOTA_TREE,
			 "{'apiVersion':'scheduling.sigs.k8s.io/v1beta1','kind':'ElasticQuotaTree',"
			 "'metadata':{'name':'tree','namespace':'kube-system'},'spec':{'root':{"
			 "'name':'root','attributes':{" ON "},'min':{'cpu':40},'max':{'cpu':40},"
			 "'children':[" HALF(
			     "a", LEAF("a.1", "namespace1"),
			     LEAF("a.2", "namespace2")) "," HALF("b", LEAF("b.1", "namespace3"),
								 LEAF("b.2", "namespace4")) "]}}}"),
	    ERR_NONE);
	for (int n = 0; n < 4; n++) {
		static const int want[4][4] = {
		    {4, 0, 0, 0}, {4, 4, 0, 0}, {3, 3, 2, 0}, {2, 2, 2, 2}};
		(void)snprintf(ns, sizeof(ns), "namespace%d", n + 1);
		world_space(w, ns);
		world_policy(w, ns, ",'suspension':{'scheduling':true}");
		for (int i = 0; i < 5; i++) {
			(void)snprintf(name, sizeof(name), "j%d", i);
			job(w, ns, name, 1, 5);
		}
		work(w);
		work(w);
		work(w);
		expect_running(m, want[n][0], want[n][1], want[n][2], want[n][3]);
	}
}

/* ---- who is not ---- */

/* V28: what could be had is not enough for the gang. */
static void nobody_is_stopped_for_a_gang_that_still_cannot_start(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 3);

	m->run_time = 3600 * USEC_PER_SEC;
	tree(w, 6, 1, 6, 5, 6, ON);
	job(w, "team-a", "a0", 2, 1);
	job(w, "team-a", "a1", 2, 1);
	job(w, "team-a", "a2", 2, 1);
	/* Quota could be had; but no node of three cpus holds a pod of five. */
	job(w, "team-b", "big", 1, 5);
	work(w);
	assert_true(runs(m, "team-a", "a0"));
	assert_true(runs(m, "team-a", "a1"));
	assert_true(runs(m, "team-a", "a2"));
	assert_int_equal(world_events(w, "a2", "Preempted", ""), 0);
	/* One that nodes can hold is served, with no more victims than it needs. */
	job(w, "team-b", "fits", 1, 2);
	work(w);
	assert_true(runs(m, "team-b", "fits"));
}

static void a_job_is_spared_while_it_is_protected(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 5);

	m->run_time = 3600 * USEC_PER_SEC;
	tree(w, 5, 4, 5, 1, 5, "'reclaim-policy':'ReclaimMin','reclaim-protect-time':'1m'");
	job(w, "team-a", "a0", 1, 5);
	job(w, "team-b", "b0", 1, 1);
	work(w);
	assert_true(runs(m, "team-a", "a0"));
	world_advance(w, 30 * USEC_PER_SEC);
	work(w);
	assert_true(runs(m, "team-a", "a0"));
	/* Nothing else changes: time alone brings it about. */
	world_advance(w, 30 * USEC_PER_SEC);
	work(w);
	assert_true(runs(m, "team-b", "b0"));
	assert_false(is_unsuspended(model_copy(m, "team-a", "a0")));
}

static void jobs_that_say_they_are_not_preemptible_stay(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 5);

	m->run_time = 3600 * USEC_PER_SEC;
	tree(w, 5, 4, 5, 1, 5, ON);
	assert_int_equal(
	    world_job(w, "team-a", "a0", 1, 4,
		      ",'labels':{'quota.scheduling.alibabacloud.com/preemptible':'false'}"),
	    ERR_NONE);
	world_settle(w);
	job(w, "team-a", "a1", 1, 1);
	job(w, "team-b", "b0", 1, 1);
	work(w);
	assert_true(runs(m, "team-a", "a0"));
	assert_true(runs(m, "team-b", "b0"));
	assert_false(is_unsuspended(model_copy(m, "team-a", "a1")));
}

/* Of two members the one where fewer have to go. */
static void the_member_with_the_fewest_victims_is_chosen(void **state)
{
	struct world *w = *state;
	struct model *m1 = world_join(w, "c1", 1, 4), *m2 = world_join(w, "c2", 1, 4);

	m1->run_time = m2->run_time = 3600 * USEC_PER_SEC;
	tree(w, 8, 4, 8, 4, 8, ON);
	job(w, "team-a", "a0", 1, 2);
	job(w, "team-a", "a1", 1, 2);
	job(w, "team-a", "whole", 1, 4);
	struct model *two = model_copy(m1, "team-a", "a0") ? m1 : m2;
	struct model *one = two == m1 ? m2 : m1;
	assert_true(runs(two, "team-a", "a1"));
	assert_true(runs(one, "team-a", "whole"));
	job(w, "team-b", "b0", 1, 4);
	work(w);
	assert_true(runs(one, "team-b", "b0"));
	assert_true(runs(two, "team-a", "a0"));
	assert_true(runs(two, "team-a", "a1"));
}

/* ---- around it ---- */

static void a_restart_in_the_middle_ends_well(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 10);

	m->run_time = 3600 * USEC_PER_SEC;
	tree(w, 10, 4, 10, 6, 10, ON);
	job(w, "team-a", "a0", 1, 5);
	assert_int_equal(world_job(w, "team-b", "b0", 1, 6, ""), ERR_NONE);
	world_run(w);
	world_advance(w, 200 * USEC_PER_MS);
	assert_non_null(world_find(w, "PATCH", "jobs/a0"));
	world_restart(w);
	for (int i = 0; i < 20 && !runs(m, "team-b", "b0"); i++)
		work(w);
	assert_true(runs(m, "team-b", "b0"));
}

/* What the first victim left would be its own again if the claim had been forgotten: a member and
 * the quota for it are there. */
static void a_restart_keeps_what_victims_left_for_their_owner(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8), *other = world_join(w, "c2", 1, 8);

	m->run_time = other->run_time = 3600 * USEC_PER_SEC;
	tree(w, 8, 0, 8, 6, 8, ON);
	job(w, "team-a", "a0", 1, 3);
	job(w, "team-a", "a1", 1, 3);
	assert_int_equal(world_job(w, "team-b", "b0", 1, 6, ""), ERR_NONE);
	world_run(w);
	world_advance(w, 200 * USEC_PER_MS);
	settle_without(w, "a1");
	assert_int_equal(world_used(w, "root/a", "cpu"), 3000);
	world_restart(w);
	settle_without(w, "a1");
	world_advance(w, 2 * USEC_PER_SEC);
	settle_without(w, "a1");
	assert_false(is_unsuspended(model_copy(m, "team-a", "a0")));
	assert_false(is_unsuspended(model_copy(other, "team-a", "a0")));
	assert_non_null(strstr(world_query(w, "namespaces/team-b/jobs/b0/why"),
			       "takes back its min from jobs that borrowed it: it starts on "
			       "cluster c1 when 1 job(s) there have stopped."));
	assert_non_null(strstr(world_query(w, "namespaces/team-a/jobs/a0/why"),
			       "What it asks is kept for Job team-b/b0"));
	world_restart(w);
	for (int i = 0; i < 20 && !runs(m, "team-b", "b0"); i++)
		work(w);
	assert_true(runs(m, "team-b", "b0"));
	/* Three starts of three jobs: nobody was started to be stopped again. */
	assert_int_equal(m->starts + other->starts, 3);
	assert_int_equal(world_used(w, "root/a", "cpu"), 0);
	/* Nothing is kept any more, now and after a restart. */
	world_restart(w);
	job(w, "team-a", "small", 1, 2);
	work(w);
	assert_true(runs(m, "team-a", "small") || runs(other, "team-a", "small"));
}

/* The owner is gone when the hub is back: what was kept for it is anybody's. */
static void a_claim_without_its_owner_ends_with_a_restart(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);

	m->run_time = 3600 * USEC_PER_SEC;
	tree(w, 8, 0, 8, 6, 8, ON);
	job(w, "team-a", "a0", 1, 3);
	job(w, "team-a", "a1", 1, 3);
	assert_int_equal(world_job(w, "team-b", "b0", 1, 6, ""), ERR_NONE);
	world_run(w);
	world_advance(w, 200 * USEC_PER_MS);
	settle_without(w, "a1");
	world_send_delete(w, TYPE_JOB, "team-b", "b0");
	(void)world_turn(w);
	world_restart(w);
	for (int i = 0; i < 10; i++)
		work(w);
	assert_true(runs(m, "team-a", "a0"));
	assert_true(runs(m, "team-a", "a1"));
}

static void an_edit_says_who_would_be_stopped(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 5);

	m->run_time = 3600 * USEC_PER_SEC;
	tree(w, 5, 4, 5, 1, 5, "");
	job(w, "team-a", "a0", 1, 4);
	job(w, "team-a", "a1", 1, 1);
	job(w, "team-b", "b0", 1, 1);
	w->dry_run = true;
	assert_int_equal(world_patch(w, TYPE_ELASTIC_QUOTA_TREE, "kube-system", "tree",
				     "{'spec':{'root':{'attributes':{" ON "}}}}"),
			 ERR_NONE);
	w->dry_run = false;
	assert_string_equal(w->warnings, "Job team-a/a1 would be stopped and queued again, so that "
					 "Job team-b/b0 can start\n");
	work(w);
	assert_true(runs(m, "team-a", "a1"));
	assert_int_equal(world_patch(w, TYPE_ELASTIC_QUOTA_TREE, "kube-system", "tree",
				     "{'spec':{'root':{'attributes':{" ON "}}}}"),
			 ERR_NONE);
	work(w);
	assert_false(is_unsuspended(model_copy(m, "team-a", "a1")));
	assert_true(runs(m, "team-b", "b0"));
}

static void bad_attributes_are_refused(void **state)
{
	struct world *w = *state;

	tree(w, 5, 4, 5, 1, 5, "");
	assert_int_equal(
	    world_patch(w, TYPE_ELASTIC_QUOTA_TREE, "kube-system", "tree",
			"{'spec':{'root':{'attributes':{'reclaim-policy':'Always'}}}}"),
	    ERR_INVALID);
	assert_non_null(strstr(w->err.text, "spec.root.attributes[reclaim-policy]"));
	assert_int_equal(
	    world_patch(w, TYPE_ELASTIC_QUOTA_TREE, "kube-system", "tree",
			"{'spec':{'root':{'attributes':{'reclaim-protect-time':'soon'}}}}"),
	    ERR_INVALID);
	assert_non_null(strstr(w->err.text, "must be a duration such as 30s, 5m or 1h30m"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(an_owner_takes_back_one_job_of_a_borrower),
	    STORY(without_the_attribute_nobody_is_stopped),
	    STORY(the_owner_goes_first_when_the_borrower_has_left),
	    STORY(what_one_victim_left_is_kept_until_the_other_has_gone),
	    STORY(quota_is_free_when_the_pods_are_gone),
	    STORY(every_owner_comes_to_its_min_one_after_the_other),
	    STORY(beyond_its_min_a_job_takes_only_from_its_own_quota),
	    STORY(nobody_is_stopped_for_a_gang_that_still_cannot_start),
	    STORY(a_job_is_spared_while_it_is_protected),
	    STORY(jobs_that_say_they_are_not_preemptible_stay),
	    STORY(the_member_with_the_fewest_victims_is_chosen),
	    STORY(a_restart_in_the_middle_ends_well),
	    STORY(a_restart_keeps_what_victims_left_for_their_owner),
	    STORY(a_claim_without_its_owner_ends_with_a_restart),
	    STORY(an_edit_says_who_would_be_stopped),
	    STORY(bad_attributes_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
