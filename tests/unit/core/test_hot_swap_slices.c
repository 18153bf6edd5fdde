/*
 * A multislice JobSet with an exclusive topology loses a node: which pools its slices are in then.
 * Two slices of two pods, a whole node each; the model's scheduler takes the first node that a pod
 * may stand on, and that is one of the broken pool while there are any.
 */
#include "hot_swap_words.h"

#include "core/domain.h"

#define POOL "cloud.example.com/rack"

/* Pools r0, r1 and so on of `size` nodes: r0-0, r0-1, r1-0. */
static struct model *pools(struct world *w, int n, int size)
{
	static const char *const names[] = {"r0", "r1", "r2", "r3"};
	struct model *m = member(w, "c1", 0);
	char name[32];

	for (int i = 0; i < n * size; i++) {
		(void)snprintf(name, sizeof(name), "r%d-%d", i / size, i % size);
		model_add_node(m, name, 4, 0);
		model_place_node(m, name, "A", names[i / size]);
	}
	world_settle(w);
	return m;
}

/* `more` goes on with its metadata. */
static void multislice(struct world *w, const char *more)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b,
		 "{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet','metadata':{'name':"
		 "'gang','namespace':'default','annotations':{"
		 "'alpha.jobset.sigs.k8s.io/exclusive-topology':'" POOL "'}%s},'spec':{"
		 "'failurePolicy':{'maxRestarts':3},'replicatedJobs':[{'name':'slice','replicas':2,"
		 "'template':{'spec':{'parallelism':2,'completions':2,'backoffLimit':0,'template':{"
		 "'spec':{'priorityClassName':'high','restartPolicy':'Never','containers':[{"
		 "'name':'c','image':'i','resources':{'requests':{'cpu':'4'}}}]}}}}}]}}",
		 more);
	assert_int_equal(world_create(w, TYPE_JOB_SET, b.ptr), ERR_NONE);
	world_settle(w);
}

static struct job *gang(struct world *w)
{
	return world_record(w, TYPE_JOB_SET, "default", "gang");
}

/* The pool of both pods of a slice; "" when one has no node, or they are in two. */
static const char *pool_of(const struct model *m, int slice)
{
	static char out[2][8];
	const struct model_copy *c = model_copy(m, "default", "gang");
	const char *one = model_pod_node(c, 2 * slice), *two = model_pod_node(c, 2 * slice + 1);

	if (!one || !two || strncmp(one, two, 2) != 0)
		return "";
	(void)snprintf(out[slice], sizeof(out[slice]), "%.2s", one);
	return out[slice];
}

static void restart_all(struct world *w, struct model *m)
{
	model_recreate(m, model_copy(m, "default", "gang"), true);
	world_settle(w);
}

static void lose(struct world *w, struct model *m, const char *node)
{
	model_set_node(m, node, false, false);
	world_settle(w);
}

static void every_slice_is_held_to_a_pool_of_its_own(void **state)
{
	struct world *w = *state;
	struct model *m = pools(w, 3, 2);

	multislice(w, "");
	assert_string_equal(gang(w)->domains,
			    "[[{},{\"" POOL "\":\"r0\"},2,{\"" POOL "\":\"r1\"},2]]");
	assert_string_equal(pool_of(m, 0), "r0");
	assert_string_equal(pool_of(m, 1), "r1");
	assert_int_equal(m->ungated, 4);
}

static void a_broken_slice_gets_a_whole_pool_and_the_other_one_stays(void **state)
{
	struct world *w = *state;
	struct model *m = pools(w, 3, 2);

	multislice(w, "");
	lose(w, m, "r0-0");
	later(w, 5100);
	assert_int_equal(world_events(w, "gang", "HotSwap", "spare nodes of cluster c1"), 1);
	assert_string_equal(gang(w)->domains,
			    "[[{},{\"" POOL "\":\"r2\"},2,{\"" POOL "\":\"r1\"},2]]");
	restart_all(w, m);
	later(w, 1100);
	assert_string_equal(pool_of(m, 0), "r2");
	assert_string_equal(pool_of(m, 1), "r1");
	assert_int_equal(world_events(w, "gang", "HotSwapDone", ""), 1);
	assert_null(gang(w)->swap);
	assert_int_equal(m->creates, 1);
}

/* JobSet restarts before the node is taken for lost: what would go to the broken pool waits. */
static void pods_of_a_quick_restart_wait_for_the_decision(void **state)
{
	struct world *w = *state;
	struct model *m = pools(w, 3, 2);

	multislice(w, "");
	lose(w, m, "r0-0");
	restart_all(w, m);
	later(w, 2000);
	assert_null(model_pod_node(model_copy(m, "default", "gang"), 0));
	assert_null(model_pod_node(model_copy(m, "default", "gang"), 1));
	assert_string_equal(pool_of(m, 1), "r1");
	later(w, 3100);
	assert_string_equal(pool_of(m, 0), "r2");
	later(w, 1100);
	assert_int_equal(world_events(w, "gang", "HotSwapDone", ""), 1);
}

static void they_go_back_when_the_node_does_within_its_time(void **state)
{
	struct world *w = *state;
	struct model *m = pools(w, 3, 2);

	multislice(w, "");
	lose(w, m, "r0-0");
	restart_all(w, m);
	later(w, 2000);
	model_set_node(m, "r0-0", true, false);
	world_settle(w);
	assert_string_equal(pool_of(m, 0), "r0");
	assert_int_equal(world_events(w, "gang", "HotSwap", ""), 0);
}

static void a_pool_with_a_spare_node_is_not_left(void **state)
{
	struct world *w = *state;
	struct model *m = pools(w, 2, 3);

	multislice(w, "");
	model_set_node(m, model_pod_node(model_copy(m, "default", "gang"), 0), true, true);
	world_settle(w);
	/* Its Job makes the lost pod anew, beside the other one. */
	model_recreate(m, model_copy(m, "default", "gang"), false);
	world_settle(w);
	later(w, 1100);
	assert_string_equal(pool_of(m, 0), "r0");
	assert_string_equal(pool_of(m, 1), "r1");
	assert_int_equal(world_events(w, "gang", "HotSwapDone", ""), 1);
}

/* The third pool is a lower job's: it goes, and comes back when the node does. */
static void a_lower_job_gives_up_its_whole_pool(void **state)
{
	struct world *w = *state;
	struct model *m = pools(w, 3, 2);

	multislice(w, "");
	job(w, "low", 2, "low");
	lose(w, m, "r0-0");
	later(w, 5100);
	assert_int_equal(world_events(w, "low", "Preempted", "JobSet default/gang"), 1);
	restart_all(w, m);
	later(w, 1100);
	assert_string_equal(pool_of(m, 0), "r2");
	assert_string_equal(pool_of(m, 1), "r1");
	assert_int_equal(bound(w, m, "low"), 0);
	model_set_node(m, "r0-0", true, false);
	world_settle(w);
	later(w, 1100);
	assert_int_equal(bound(w, m, "low"), 2);
}

/* Half a pool is no room: its pods wait, and go back to the pool when the node does. */
static void without_a_whole_pool_it_waits(void **state)
{
	struct world *w = *state;
	struct model *m = pools(w, 2, 2);

	multislice(w, "");
	lose(w, m, "r0-0");
	later(w, 5100);
	assert_int_equal(swap_step(gang(w)), SWAP_WAITING);
	restart_all(w, m);
	later(w, 30000);
	assert_int_equal(bound(w, m, "gang"), 0);
	model_set_node(m, "r0-0", true, false);
	world_settle(w);
	later(w, 1100);
	assert_string_equal(pool_of(m, 0), "r0");
	assert_string_equal(pool_of(m, 1), "r1");
}

static void a_restart_keeps_the_pools_that_were_chosen(void **state)
{
	struct world *w = *state;
	struct model *m = pools(w, 4, 2);

	multislice(w, "");
	lose(w, m, "r0-0");
	later(w, 5100);
	auto_free char *before = xstrdup(gang(w)->domains);
	world_restart(w);
	assert_string_equal(gang(w)->domains, before);
	world_settle(w);
	restart_all(w, m);
	later(w, 1100);
	assert_string_equal(pool_of(m, 0), "r2");
	assert_string_equal(pool_of(m, 1), "r1");
	assert_int_equal(world_events(w, "gang", "HotSwapDone", ""), 1);
}

/* Kueue knows nothing of an exclusive topology: its Workload has no TopologyAssignment. */
static void a_queued_one_is_swapped_alike(void **state)
{
	struct world *w = *state;
	struct model *m = pools(w, 3, 2);

	one_queue(w, 16, "");
	multislice(w, QUEUED);
	assert_string_equal(pool_of(m, 0), "r0");
	assert_string_equal(
	    world_workload(w, "gang", "status.admission.podSetAssignments.0.topologyAssignment"),
	    "");
	lose(w, m, "r0-0");
	later(w, 5100);
	restart_all(w, m);
	later(w, 1100);
	assert_string_equal(pool_of(m, 0), "r2");
	assert_string_equal(pool_of(m, 1), "r1");
	assert_int_equal(gang(w)->dispatch.epoch, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(every_slice_is_held_to_a_pool_of_its_own),
	    STORY(a_broken_slice_gets_a_whole_pool_and_the_other_one_stays),
	    STORY(pods_of_a_quick_restart_wait_for_the_decision),
	    STORY(they_go_back_when_the_node_does_within_its_time),
	    STORY(a_pool_with_a_spare_node_is_not_left),
	    STORY(a_lower_job_gives_up_its_whole_pool),
	    STORY(without_a_whole_pool_it_waits),
	    STORY(a_restart_keeps_the_pools_that_were_chosen),
	    STORY(a_queued_one_is_swapped_alike),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
