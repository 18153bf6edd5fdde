/*
 * What the conditions of Kueue's objects say, word for word (pkg/cache/scheduler/clusterqueue.go,
 * pkg/controller/admissionchecks), and of which generation of the object they speak. What the API
 * does to metadata.generation on a user's edit, the edits here do themselves.
 */
#include "kueue_words.h"

static void check(struct world *w, const char *name, const char *controller, const char *kind)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b,
		 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'AdmissionCheck','metadata':{'name'"
		 ":'%s'},'spec':{'controllerName':'kueue.x-k8s.io/%s','parameters':{'apiGroup':"
		 "'kueue.x-k8s.io','kind':'%s','name':'config'}}}",
		 name, controller, kind);
	assert_int_equal(world_create(w, TYPE_ADMISSION_CHECK, b.ptr), ERR_NONE);
}

/* Of the condition Active of an object without a namespace. */
static const char *active(struct world *w, uint16_t type, const char *name, const char *field)
{
	return world_condition(w, type, "", name, "Active", field);
}

/* One second later: statuses of queues are written at most every 100 ms. */
static void later(struct world *w)
{
	world_settle(w);
	world_advance(w, USEC_PER_SEC);
}

static void edit_queue(struct world *w, uint16_t type, const char *ns, const char *name,
		       const char *patch)
{
	assert_int_equal(world_patch(w, type, ns, name, patch), ERR_NONE);
	later(w);
}

static void conditions_of_queues_follow_their_generation(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 8);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 4, "");
	local_queue(w, "lq", "cq");
	later(w);
	assert_string_equal(active(w, TYPE_CLUSTER_QUEUE, "cq", "status"), "True");
	edit_queue(w, TYPE_CLUSTER_QUEUE, "", "cq",
		   "{'metadata':{'generation':2},'spec':{'queueingStrategy':'StrictFIFO'}}");
	assert_string_equal(active(w, TYPE_CLUSTER_QUEUE, "cq", "observedGeneration"), "2");
	assert_string_equal(active(w, TYPE_CLUSTER_QUEUE, "cq", "status"), "True");
	edit_queue(w, TYPE_LOCAL_QUEUE, "default", "lq",
		   "{'metadata':{'generation':2},'spec':{'stopPolicy':'Hold'}}");
	assert_string_equal(
	    world_condition(w, TYPE_LOCAL_QUEUE, "default", "lq", "Active", "observedGeneration"),
	    "2");
}

static const char *generation(struct world *w, const char *job)
{
	return wl(w, job, "metadata.generation");
}

/* What was written before an edit speaks of the generation that it saw. */
static void conditions_of_a_workload_tell_which_generation_they_saw(void **state)
{
	struct world *w = *state;
	char name[STORE_MAX_NAME + 1];

	world_join(w, "c1", 1, 8);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 4, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 1, 4);
	queued_job(w, "two", "lq", 1, 4);
	world_settle(w);
	assert_string_equal(of_job(w, "one", "Admitted", "observedGeneration"), "1");
	assert_string_equal(of_job(w, "two", "QuotaReserved", "observedGeneration"), "1");
	const struct job *j = world_record(w, TYPE_JOB, "default", "two");
	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(j->workload->name));
	assert_int_equal(world_patch(w, TYPE_WORKLOAD, "default", name,
				     "{'metadata':{'generation':2},'spec':{'active':false}}"),
			 ERR_NONE);
	world_settle(w);
	assert_string_equal(generation(w, "two"), "2");
	assert_string_equal(of_job(w, "two", "QuotaReserved", "reason"), "Deactivated");
	assert_string_equal(of_job(w, "two", "QuotaReserved", "observedGeneration"), "2");
	assert_string_equal(of_job(w, "two", "PodsReady", "observedGeneration"), "1");
}

static void the_generation_goes_on_after_a_restart(void **state)
{
	struct world *w = *state;
	static const char *const edits[] = {"{'spec':{'parallelism':2,'completions':2}}",
					    "{'spec':{'parallelism':3,'completions':3}}"};

	world_join(w, "c1", 1, 8);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 2, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 1, 4);
	world_settle(w);
	for (size_t i = 0; i < ARRAY_LEN(edits); i++) {
		assert_int_equal(world_patch(w, TYPE_JOB, "default", "one", edits[i]), ERR_NONE);
		world_settle(w);
		assert_string_equal(generation(w, "one"), i ? "3" : "2");
		world_restart(w);
		world_settle(w);
	}
}

/* The hub's own hand changes a spec, too: after its time a workload without a job is put off. */
static void deactivation_by_the_hub_is_a_generation(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 8);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 4, "");
	local_queue(w, "lq", "cq");
	assert_int_equal(
	    world_create(
		w, TYPE_WORKLOAD,
		"{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'Workload','metadata':"
		"{'name':'own','namespace':'default','generation':1},'spec':{'queueName':'lq',"
		"'maximumExecutionTimeSeconds':60,'podSets':[{'name':'main','count':1,"
		"'template':{'spec':{'containers':[{'name':'c','resources':{'requests':"
		"{'cpu':2}}}]}}}]}}"),
	    ERR_NONE);
	world_settle(w);
	world_advance(w, 61 * USEC_PER_SEC);
	world_settle(w);
	assert_string_equal(world_field(w, TYPE_WORKLOAD, "default", "own", "spec.active"),
			    "false");
	assert_string_equal(world_field(w, TYPE_WORKLOAD, "default", "own", "metadata.generation"),
			    "2");
}

static void set_checks(struct world *w, const char *list)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b, "{'spec':{'admissionChecksStrategy':{'admissionChecks':[%s]}}}", list);
	edit_queue(w, TYPE_CLUSTER_QUEUE, "", "cq", b.ptr);
}

static void a_queue_names_the_checks_that_it_cannot_have(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 8);
	flavor(w, "f", "");
	assert_int_equal(world_create(w, TYPE_MULTI_KUEUE_CONFIG,
				      "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':"
				      "'MultiKueueConfig','metadata':{'name':'config'},'spec':"
				      "{'clusters':['c1']}}"),
			 ERR_NONE);
	assert_int_equal(world_create(w, TYPE_PROVISIONING_REQUEST_CONFIG,
				      "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':"
				      "'ProvisioningRequestConfig','metadata':{'name':'config'},"
				      "'spec':{'provisioningClassName':'x'}}"),
			 ERR_NONE);
	check(w, "a", "multikueue", "MultiKueueConfig");
	check(w, "b", "multikueue", "MultiKueueConfig");
	check(w, "p", "provisioning-request", "ProvisioningRequestConfig");
	cluster_queue(w, "cq", "f", 4, "");
	set_checks(w, "{'name':'a'},{'name':'b'}");
	assert_string_equal(active(w, TYPE_CLUSTER_QUEUE, "cq", "reason"),
			    "MultipleMultiKueueAdmissionChecks");
	assert_string_equal(active(w, TYPE_CLUSTER_QUEUE, "cq", "message"),
			    "Can't admit new workloads: Cannot use multiple MultiKueue "
			    "AdmissionChecks on the same ClusterQueue, found: a,b.");
	set_checks(w, "{'name':'a','onFlavors':['f']},{'name':'p'}");
	assert_string_equal(active(w, TYPE_CLUSTER_QUEUE, "cq", "reason"),
			    "MultiKueueAdmissionCheckAppliedPerFlavor");
	assert_string_equal(active(w, TYPE_CLUSTER_QUEUE, "cq", "message"),
			    "Can't admit new workloads: Cannot specify MultiKueue AdmissionCheck "
			    "per flavor, found: a, Cannot use both MultiKueue and "
			    "ProvisioningRequest AdmissionChecks together, found: a, p.");
	set_checks(w, "{'name':'a'}");
	assert_string_equal(active(w, TYPE_CLUSTER_QUEUE, "cq", "status"), "True");
}

static void a_check_tells_missing_clusters_from_inactive_ones(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 8);
	check(w, "a", "multikueue", "MultiKueueConfig");
	check(w, "p", "provisioning-request", "ProvisioningRequestConfig");
	later(w);
	assert_string_equal(active(w, TYPE_ADMISSION_CHECK, "a", "message"),
			    "Cannot load the AdmissionChecks parameters: "
			    "MultiKueueConfig.kueue.x-k8s.io \"config\" not found");
	assert_string_equal(active(w, TYPE_ADMISSION_CHECK, "p", "message"),
			    "ProvisioningRequestConfig.kueue.x-k8s.io \"config\" not found");
	assert_int_equal(world_create(w, TYPE_MULTI_KUEUE_CONFIG,
				      "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':"
				      "'MultiKueueConfig','metadata':{'name':'config'},'spec':"
				      "{'clusters':['x','y','c1','z']}}"),
			 ERR_NONE);
	assert_int_equal(
	    world_create(w, TYPE_MULTI_KUEUE_CLUSTER,
			 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':"
			 "'MultiKueueCluster','metadata':{'name':'y','generation':1},'spec':"
			 "{'clusterSource':{'kubeConfig':{'location':'s',"
			 "'locationType':'Secret'}}}}"),
	    ERR_NONE);
	later(w);
	assert_string_equal(active(w, TYPE_ADMISSION_CHECK, "a", "reason"), "SomeActiveClusters");
	assert_string_equal(active(w, TYPE_ADMISSION_CHECK, "a", "message"),
			    "Missing clusters: [x z], Inactive clusters: [y]");
	assert_string_equal(active(w, TYPE_MULTI_KUEUE_CLUSTER, "y", "observedGeneration"), "1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(conditions_of_queues_follow_their_generation),
	    STORY(conditions_of_a_workload_tell_which_generation_they_saw),
	    STORY(the_generation_goes_on_after_a_restart),
	    STORY(deactivation_by_the_hub_is_a_generation),
	    STORY(a_queue_names_the_checks_that_it_cannot_have),
	    STORY(a_check_tells_missing_clusters_from_inactive_ones),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
