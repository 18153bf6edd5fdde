/*
 * The pod that submits a RayJob (core/job.h, job_placed): it has room on the nodes, by default no
 * quota, and its job starts nowhere without it.
 */
#include "kueue_words.h"

#include "core/job.h"
#include "core/swap/swap.h"

/* A RayJob whose head asks so many cpus; `spec` and `labels` go on with their objects. */
static void ray(struct world *w, const char *name, int cpus, const char *spec, const char *labels)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b,
		 "{'apiVersion':'ray.io/v1','kind':'RayJob','metadata':{'name':'%s','namespace':"
		 "'default','labels':{%s}},'spec':{'entrypoint':'run','rayClusterSpec':{"
		 "'headGroupSpec':{'template':{'spec':{'containers':[{'name':'h','image':'i',"
		 "'resources':{'requests':{'cpu':%d}}}]}}}}%s}}",
		 name, labels, cpus, spec);
	assert_int_equal(world_create(w, TYPE_RAY_JOB, b.ptr), ERR_NONE);
	world_run(w);
}

static struct job *record(struct world *w, const char *name)
{
	return world_record(w, TYPE_RAY_JOB, "default", name);
}

static bool is_placed(struct world *w, const char *name)
{
	return record(w, name)->holds;
}

static bool why_says(struct world *w, const char *name, const char *text)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "namespaces/default/rayjobs/%s/why", name);
	const char *answer = world_query(w, path);
	if (strstr(answer, text))
		return true;
	print_error("%s\n", answer);
	return false;
}

static struct model *member(struct world *w, const char *name, int nodes, int cpus)
{
	struct model *m = world_join(w, name, nodes, cpus);

	m->run_time = 100000 * USEC_PER_SEC;
	return m;
}

static void lose_node(struct world *w, struct model *m, const char *node)
{
	auto_free char *name = xstrdup(node);

	model_remove_node(m, name);
	world_settle(w);
}

static const char *node_of(struct model *m, const char *name, size_t pod)
{
	return model_copy(m, "default", name)->pods.items[pod]->node;
}

/* The head fills the only node of c1; c2 has half a cpu left beside it. */
static void a_job_goes_where_its_submitter_fits_too(void **state)
{
	struct world *w = *state;

	member(w, "c1", 1, 2);
	ray(w, "one", 2, "", "");
	assert_false(is_placed(w, "one"));
	assert_true(why_says(w, "one", "needs 2500m cpu, all matching nodes together have 2"));
	assert_true(why_says(w, "one", "\"submitter\":{\"cpu\":\"500m\",\"memory\":\"200Mi\"}"));
	struct model *m = member(w, "c2", 1, 3);
	world_settle(w);
	assert_true(is_placed(w, "one"));
	assert_int_equal(model_copy_bound(model_copy(m, "default", "one")), 2);
	assert_int_equal(world_requested(w, m), 2500);
}

static void a_template_says_how_much_and_where(void **state)
{
	struct world *w = *state;

	member(w, "c1", 1, 3);
	struct model *m = member(w, "c2", 1, 4);
	model_label_nodes(m, "pool", "x");
	world_settle(w);
	ray(w, "large", 2,
	    ",'submitterPodTemplate':{'spec':{'containers':[{'name':'s','image':'i','resources':{"
	    "'requests':{'cpu':2}}}]}}",
	    "");
	assert_int_equal(record(w, "large")->dispatch.member, m->number);
	ray(w, "apart", 2,
	    ",'submitterPodTemplate':{'spec':{'nodeSelector':{'pool':'y'},'containers':[{'name':"
	    "'s','image':'i'}]}}",
	    "");
	assert_false(is_placed(w, "apart"));
	assert_true(why_says(w, "apart", "submitter: "));
}

/* Two cpus: nothing else asks for a pod, except the container beside the head. */
static void other_modes_ask_for_no_such_pod(void **state)
{
	struct world *w = *state;

	member(w, "c1", 1, 2);
	ray(w, "beside", 2, ",'submissionMode':'SidecarMode'", "");
	assert_false(is_placed(w, "beside"));
	assert_true(why_says(w, "beside", "2500m"));
	ray(w, "http", 2, ",'submissionMode':'HTTPMode'", "");
	assert_true(is_placed(w, "http"));
	member(w, "c2", 1, 2);
	world_settle(w);
	ray(w, "hand", 2, ",'submissionMode':'InteractiveMode'", "");
	assert_true(is_placed(w, "hand"));
}

/* 4 cpus: 2 and 500m are the RayJob's, of which no pod is to be seen yet; 1.5 are left. */
static void its_room_is_kept_until_it_comes(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 1, 4);

	ray(w, "one", 2, "", "");
	assert_true(is_placed(w, "one"));
	world_job(w, "default", "fits", 1, 1, "");
	world_run(w);
	world_job(w, "default", "late", 1, 1, "");
	world_run(w);
	assert_true(world_record(w, TYPE_JOB, "default", "fits")->holds);
	assert_false(world_record(w, TYPE_JOB, "default", "late")->holds);
	world_settle(w);
	/* And it is not counted twice when it has come. */
	assert_int_equal(world_requested(w, m), 3500);
	assert_int_equal(model_copy_bound(model_copy(m, "default", "one")), 2);
	ray(w, "tight", 0, "", "");
	assert_true(is_placed(w, "tight"));
}

static void a_restart_remembers_its_room(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 1, 4);

	ray(w, "one", 3, "", "");
	world_restart(w);
	world_job(w, "default", "late", 1, 1, "");
	world_settle(w);
	assert_int_equal(model_copy_bound(model_copy(m, "default", "one")), 2);
	assert_false(world_record(w, TYPE_JOB, "default", "late")->holds);
	world_restart(w);
	world_settle(w);
	assert_false(world_record(w, TYPE_JOB, "default", "late")->holds);
	assert_int_equal(world_requested(w, m), 3500);
}

/* Quota of 2 cpus, and nodes for two: one runs, as the guide to Ray's priorities tells it. */
static void quota_leaves_it_out(void **state)
{
	struct world *w = *state;

	member(w, "c1", 2, 4);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 2, "");
	local_queue(w, "lq", "cq");
	ray(w, "one", 2, "", "'kueue.x-k8s.io/queue-name':'lq'");
	ray(w, "two", 2, "", "'kueue.x-k8s.io/queue-name':'lq'");
	world_settle(w);
	assert_int_equal(used(w, "cq", "f"), 2000);
	assert_true(is_placed(w, "one"));
	assert_false(is_placed(w, "two"));
}

/* Quota is there, room for the submitter is not: it is looked for in the same step. */
static void quota_is_not_taken_where_it_has_no_room(void **state)
{
	struct world *w = *state;

	member(w, "c1", 1, 2);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 8, "");
	local_queue(w, "lq", "cq");
	ray(w, "one", 2, "", "'kueue.x-k8s.io/queue-name':'lq'");
	world_settle(w);
	assert_int_equal(used(w, "cq", "f"), 0);
	assert_true(why_says(w, "one", "TopologyPlacementFailed"));
	assert_true(why_says(w, "one", "needs 2500m cpu"));
}

/* With the setting it has a flavor too, and goes where that one's nodes are. */
static void a_counted_submitter_goes_to_its_flavors_nodes(void **state)
{
	struct world *w = *state;

	w->kueue = "{'countRaySubmitter':true,'resources':{'excludeResourcePrefixes':['memory']}}";
	world_restart(w);
	member(w, "c1", 1, 8);
	struct model *m = member(w, "c2", 1, 4);
	model_label_nodes(m, "pool", "x");
	world_settle(w);
	flavor(w, "f", "'nodeLabels':{'pool':'x'}");
	cluster_queue(w, "cq", "f", 8, "");
	local_queue(w, "lq", "cq");
	ray(w, "one", 2, "", "'kueue.x-k8s.io/queue-name':'lq'");
	world_settle(w);
	assert_int_equal(used(w, "cq", "f"), 2500);
	struct model_copy *copy = model_copy(m, "default", "one");
	const char *submitter = strstr(copy->body, "\"submitterPodTemplate\"");
	assert_non_null(strstr(submitter, "\"nodeSelector\":{\"pool\":\"x\"}"));
	/* 5.5 of 8 are left, and 1.5 cpus on its nodes. */
	ray(w, "two", 2, "", "'kueue.x-k8s.io/queue-name':'lq'");
	world_settle(w);
	assert_false(is_placed(w, "two"));
}

/* Three nodes of 2 cpus: a head on one, the submitter on another. */
static void a_submitter_is_no_head(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3, 2);

	ray(w, "one", 2, "", "");
	world_settle(w);
	assert_string_not_equal(node_of(m, "one", 0), node_of(m, "one", 1));
	lose_node(w, m, node_of(m, "one", 0));
	assert_int_equal(swap_step(record(w, "one")), SWAP_RESERVED);
	assert_int_equal(world_events(w, "one", "HotSwap", "room for 1 pods"), 1);
	model_recreate(m, model_copy(m, "default", "one"), false);
	world_settle(w);
	world_advance(w, 1100 * USEC_PER_MS);
	world_settle(w);
	assert_null(record(w, "one")->swap);
	assert_int_equal(model_copy_bound(model_copy(m, "default", "one")), 2);
}

static void a_submitter_that_loses_its_node_gets_room(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3, 2);

	ray(w, "one", 2, "", "");
	world_settle(w);
	lose_node(w, m, node_of(m, "one", 1));
	assert_int_equal(swap_step(record(w, "one")), SWAP_RESERVED);
	assert_int_equal(world_events(w, "one", "HotSwap", "room for 1 pods"), 1);
	/* The spare node is kept for 500m of it. */
	world_job(w, "default", "late", 1, 2, "");
	world_settle(w);
	assert_false(world_record(w, TYPE_JOB, "default", "late")->holds);
	model_recreate(m, model_copy(m, "default", "one"), false);
	world_settle(w);
	world_advance(w, 1100 * USEC_PER_MS);
	world_settle(w);
	assert_null(record(w, "one")->swap);
}

/* The cluster is up before its job is submitted: nobody waits for the submitter. */
static void pods_are_ready_when_the_cluster_is(void **state)
{
	struct world *w = *state;

	w->kueue = "{'waitForPodsReady':{'enable':true}}";
	world_restart(w);
	struct model *m = member(w, "c1", 1, 4);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 8, "");
	local_queue(w, "lq", "cq");
	ray(w, "one", 2, "", "'kueue.x-k8s.io/queue-name':'lq'");
	world_settle(w);
	assert_int_equal(model_copy_bound(model_copy(m, "default", "one")), 2);
	assert_int_equal(record(w, "one")->ready_pods, 2);
	assert_int_equal(record(w, "one")->ready_beside, 1);
	/* The head goes: what stays beside it does not make up for it. */
	model_end_pod(m, model_copy(m, "default", "one")->pods.items[0]);
	world_settle(w);
	const struct workload *own = record(w, "one")->workload;
	assert_true(own->unready_since > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(a_job_goes_where_its_submitter_fits_too),
	    STORY(a_template_says_how_much_and_where),
	    STORY(other_modes_ask_for_no_such_pod),
	    STORY(its_room_is_kept_until_it_comes),
	    STORY(a_restart_remembers_its_room),
	    STORY(quota_leaves_it_out),
	    STORY(quota_is_not_taken_where_it_has_no_room),
	    STORY(a_counted_submitter_goes_to_its_flavors_nodes),
	    STORY(a_submitter_is_no_head),
	    STORY(a_submitter_that_loses_its_node_gets_room),
	    STORY(pods_are_ready_when_the_cluster_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
