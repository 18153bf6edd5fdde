/*
 * An edit gives a job that is placed more pod sets than it had, after pods of it came and went.
 */
#include "core/job.h"
#include "world.h"

#define REPLICAS(type, n)                                                                          \
	"'" type "':{'replicas':" n ",'template':{'spec':{'containers':[{'name':'pytorch',"        \
	"'image':'x','resources':{'requests':{'cpu':'1'}}}]}}}"

static void pods_of_an_added_set_are_counted_beside_those_that_went(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);
	const struct job *j;

	m->run_time = 3600 * USEC_PER_SEC;
	assert_int_equal(world_create(w, TYPE_PYTORCH_JOB,
				      "{'apiVersion':'kubeflow.org/v1','kind':'PyTorchJob',"
				      "'metadata':{'name':'one','namespace':'default'},'spec':{"
				      "'pytorchReplicaSpecs':{" REPLICAS("Worker", "1") "}}}"),
			 ERR_NONE);
	world_settle(w);
	struct model_copy *c = model_copy(m, "default", "one");
	assert_int_equal(model_copy_bound(c), 1);
	model_recreate(m, c, true);
	world_settle(w);
	j = world_record(w, TYPE_PYTORCH_JOB, "default", "one");
	assert_non_null(j->spent);
	assert_int_equal(j->spent[0], 1);
	assert_int_equal(
	    world_patch(w, TYPE_PYTORCH_JOB, "default", "one",
			"{'metadata':{'generation':2},'spec':{'pytorchReplicaSpecs':{" REPLICAS(
			    "Master", "1") "," REPLICAS("Chief", "1") "}}}"),
	    ERR_NONE);
	world_settle(w);
	j = world_record(w, TYPE_PYTORCH_JOB, "default", "one");
	size_t last = j->digest.n_pod_sets - 1;
	assert_true(last > 0);
	assert_int_equal(j->spent[last], 0);
	/* A pod of the last set comes, and goes. */
	struct model_pod *p = c->pods.items[0];
	free(p->set);
	p->set = xstrndup(j->digest.pod_sets[last].name.ptr, j->digest.pod_sets[last].name.len);
	model_recreate(m, c, true);
	world_settle(w);
	model_recreate(m, c, true);
	world_settle(w);
	assert_true(j->spent[last] > 0);
	auto_free char *before = world_memory(w);
	world_restart(w);
	auto_free char *after = world_memory(w);
	assert_string_equal(before, after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(pods_of_an_added_set_are_counted_beside_those_that_went,
					    world_setup, world_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
