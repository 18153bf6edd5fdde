/*
 * A dry run of a quota tree's edit names the jobs whose fate changes, and changes nothing.
 */
#include "world.h"

#include "base/json.h"

static int open_world(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));
	world_open(w);
	w->after_turn = world_check;
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	world_close(*state);
	free(*state);
	return 0;
}

/* Two leaves; a policy that queues Jobs of default, which is in leaf a. */
static void put_tree(struct world *w)
{
	assert_int_equal(
	    world_create(w, TYPE_ELASTIC_QUOTA_TREE,
			 "{'apiVersion':'scheduling.sigs.k8s.io/v1beta1','kind':'ElasticQuotaTree',"
			 "'metadata':{'name':'tree','namespace':'kube-system'},'spec':{'root':{"
			 "'name':'root','min':{'cpu':40},'max':{'cpu':40},'children':[{'name':'a',"
			 "'namespaces':['default'],'min':{'cpu':0},'max':{'cpu':2}},{'name':'b',"
			 "'namespaces':['other'],'min':{'cpu':0},'max':{'cpu':40}}]}}}"),
	    ERR_NONE);
	assert_int_equal(
	    world_create(w, TYPE_PROPAGATION_POLICY,
			 "{'apiVersion':'policy.karmada.io/v1alpha1','kind':'PropagationPolicy',"
			 "'metadata':{'name':'p','namespace':'default'},'spec':{'suspension':{"
			 "'scheduling':true},'resourceSelectors':[{'apiVersion':'batch/v1','kind':"
			 "'Job'}],'placement':{'customSchedulingType':'Gang'}}}"),
	    ERR_NONE);
}

/* The warnings of a dry run; leaf a's max and namespace. */
static const char *preview(struct world *w, const char *max, const char *ns)
{
	char patch[512];

	(void)snprintf(patch, sizeof(patch),
		       "{'spec':{'root':{'name':'root','min':{'cpu':40},'max':{'cpu':40},"
		       "'children':[{'name':'a','namespaces':['%s'],'min':{'cpu':0},'max':{'cpu':"
		       "%s}},{'name':'b','namespaces':['other'],'min':{'cpu':0},'max':{'cpu':40}}]"
		       "}}}",
		       ns, max);
	w->dry_run = true;
	assert_int_equal(world_patch(w, TYPE_ELASTIC_QUOTA_TREE, "kube-system", "tree", patch),
			 ERR_NONE);
	w->dry_run = false;
	return w->warnings ? w->warnings : "";
}

static void submit(struct world *w, int jobs)
{
	char name[16];

	for (int i = 0; i < jobs; i++) {
		(void)snprintf(name, sizeof(name), "j%02d", i);
		assert_int_equal(world_job(w, "default", name, 1, 1, ""), ERR_NONE);
	}
	world_settle(w);
}

static void more_room_names_the_jobs_that_would_start(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 4, 16);

	put_tree(w);
	m->run_time = 600 * USEC_PER_SEC;
	submit(w, 5);
	assert_int_equal(m->starts, 2);
	assert_string_equal(preview(w, "4", "default"),
			    "Job default/j02 would start\nJob default/j03 would start\n");
	world_settle(w);
	assert_int_equal(m->starts, 2);
	assert_string_equal(preview(w, "2", "default"), "");
}

static void less_room_names_the_jobs_that_stand_above(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 4, 16);

	put_tree(w);
	m->run_time = 600 * USEC_PER_SEC;
	submit(w, 2);
	const char *text = preview(w, "1", "default");
	assert_non_null(strstr(text, "Job default/j00 would no longer be within max"));
	assert_non_null(strstr(text, ": cpu of root/a\nJob default/j01"));
}

static void a_gang_that_asks_for_more_than_the_new_max_never_starts(void **state)
{
	struct world *w = *state;

	put_tree(w);
	assert_int_equal(world_job(w, "default", "big", 2, 1, ""), ERR_NONE);
	assert_string_equal(preview(w, "1", "default"),
			    "Job default/big could never start: it asks for more than max\n");
}

static void jobs_that_lose_their_quota_are_named_twenty_at_most(void **state)
{
	struct world *w = *state;

	put_tree(w);
	submit(w, 25);
	const char *text = preview(w, "2", "elsewhere");
	assert_non_null(strstr(text, "Job default/j19 would no longer belong to any"));
	assert_null(strstr(text, "j20"));
	assert_non_null(strstr(text, "\nand 5 more jobs would no longer belong to any"));
	w->dry_run = true;
	assert_int_equal(world_delete(w, TYPE_ELASTIC_QUOTA_TREE, "kube-system", "tree"), ERR_NONE);
	w->dry_run = false;
	assert_non_null(strstr(w->warnings, "and 5 more jobs would no longer belong"));
	assert_true(world_exists(w, TYPE_ELASTIC_QUOTA_TREE, "kube-system", "tree"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(more_room_names_the_jobs_that_would_start),
	    TEST(less_room_names_the_jobs_that_stand_above),
	    TEST(a_gang_that_asks_for_more_than_the_new_max_never_starts),
	    TEST(jobs_that_lose_their_quota_are_named_twenty_at_most),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
