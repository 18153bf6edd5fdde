/*
 * JobSets with the node-selector strategy: their user labels the nodes of each child Job.
 */
#include "hot_swap_words.h"

#include "core/domain.h"
#include "model_parts.h"

#define KEY "alpha.jobset.sigs.k8s.io/namespaced-job"

static void label_node(struct world *w, struct model *m, size_t node, const char *value)
{
	m->nodes.items[node]->label_key = KEY;
	m->nodes.items[node]->label_value = value;
	model_tell_node(m, m->nodes.items[node]);
	world_settle(w);
}

static void a_job_set_waits_for_nodes_of_each_of_its_jobs(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 4);
	const struct job *j;

	assert_int_equal(
	    world_create(w, TYPE_JOB_SET,
			 "{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet','metadata':{"
			 "'name':'gang','namespace':'default','annotations':{"
			 "'alpha.jobset.sigs.k8s.io/exclusive-topology':'cloud.example.com/rack',"
			 "'alpha.jobset.sigs.k8s.io/node-selector':'true'}},'spec':{"
			 "'replicatedJobs':[{'name':'slice','replicas':2,'template':{'spec':{"
			 "'parallelism':1,'completions':1,'template':{'spec':{'containers':[{"
			 "'name':'c','image':'i','resources':{'requests':{'cpu':'4'}}}]}}}}}]}}"),
	    ERR_NONE);
	world_settle(w);
	j = world_record(w, TYPE_JOB_SET, "default", "gang");
	assert_false(j->holds);
	label_node(w, m, 1, "default_gang-slice-1");
	label_node(w, m, 2, "default_other-slice-0");
	assert_false(j->holds);
	label_node(w, m, 3, "default_gang-slice-1"); /* the same Job's */
	assert_false(j->holds);
	label_node(w, m, 2, "default_gang-slice-0");
	assert_true(j->holds);
	/* JobSet's controller itself holds the pods to the labels. */
	assert_null(j->domains);
	assert_false(model_copy(m, "default", "gang")->suspended);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(a_job_set_waits_for_nodes_of_each_of_its_jobs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
