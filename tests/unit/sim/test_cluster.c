/*
 * Jobs, pods and nodes of a whole simulated cluster.
 */
#include "cluster_harness.h"

static const char nodes_yaml[] =
    "kind: Node\n"
    "metadata:\n"
    "  name: gpu\n"
    "  annotations: {muster.dev/sim-count: \"2\"}\n"
    "status:\n"
    "  allocatable: {cpu: \"8\", memory: 32Gi, nvidia.com/gpu: \"8\"}\n"
    "---\n"
    "kind: Node\n"
    "metadata: {name: solo}\n"
    "status:\n"
    "  allocatable: {cpu: \"2\", memory: 4Gi}\n";

static int setup(void **state)
{
	return harness_setup(nodes_yaml);
}

#define POD_SPEC(name, requests)                                                                   \
	"'spec':{'containers':[{'name':'" name "','image':'x','resources':{'requests':{" requests  \
	"}}}]}"

#define PYTORCH(name, more, restart, notes)                                                        \
	"{'apiVersion':'kubeflow.org/v1','kind':'PyTorchJob','metadata':{'name':'" name            \
	"','annotations':{'muster.dev/job-uid':'hub-1','muster.dev/epoch':'7'}},"                  \
	"'spec':{'runPolicy':{" more "},'pytorchReplicaSpecs':{'Master':{'replicas':1,"            \
	"'restartPolicy':'" restart "','template':{'metadata':{'annotations':{" notes              \
	"}}," POD_SPEC(                                                                            \
	    "pytorch",                                                                             \
	    "'cpu':'1','nvidia.com/gpu':'4'") "}},"                                                \
					      "'Worker':{'replicas':2,'restartPolicy':'" restart   \
					      "','template':{'metadata':{'annotations':{" notes    \
					      "}}," POD_SPEC(                                      \
						  "pytorch",                                       \
						  "'cpu':'1','nvidia.com/gpu':'4'") "}}}}}"

static void nodes_come_from_the_file_once(void **state)
{
	auto_json *node = get(TYPE_NODE, "", "gpu-1");
	assert_non_null(node);
	assert_string_equal(json_value_str(json_path(node, "status", "allocatable", "pods", NULL)),
			    "110");
	auto_json *solo = get(TYPE_NODE, "", "solo");
	assert_non_null(solo);
	delete (TYPE_NODE, "", "gpu-0");
	restart();
	assert_int_equal(revision_of(TYPE_NODE, "", "gpu-0"), 0);
	struct cluster_stats st;
	cluster_stats(t.c, &st);
	assert_int_equal(st.nodes, 2);
}

static void a_pytorch_job_runs_to_its_end(void **state)
{
	char lines[4096];
	create(TYPE_PYTORCH_JOB, PYTORCH("train", "", "Never", "'muster.dev/sim-duration':'5s'"));
	assert_string_equal(conditions(TYPE_PYTORCH_JOB, "train"), "Created Running");
	assert_string_equal(phase("train-master-0"), "Running");
	assert_string_equal(phase("train-worker-1"), "Running");
	auto_json *pod = get(TYPE_POD, "default", "train-worker-0");
	assert_string_equal(json_str(json_path(pod, "metadata", "labels", NULL),
				     "training.kubeflow.org/replica-type"),
			    "worker");
	assert_non_null(json_value_str(json_path(pod, "spec", "nodeName", NULL)));
	assert_int_equal(count(TYPE_SERVICE), 3);
	assert_true(count(TYPE_EVENT) >= 9);
	pass(5 * S);
	assert_string_equal(conditions(TYPE_PYTORCH_JOB, "train"),
			    "Created Running=False Succeeded");
	assert_string_equal(phase("train-master-0"), "Succeeded");
	assert_int_equal(runs(lines, sizeof(lines)), 3);
	assert_non_null(strstr(lines, "\"jobUid\":\"hub-1\",\"epoch\":\"7\""));
	assert_null(strstr(lines, "Failed"));
	struct cluster_stats st;
	cluster_stats(t.c, &st);
	assert_int_equal(st.jobs, 0); /* over: only the store remembers */
	assert_int_equal(st.pods, 0);
}

static void a_copy_is_born_suspended_then_released(void **state)
{
	create(TYPE_PYTORCH_JOB,
	       PYTORCH("copy", "'suspend':true", "Never", "'muster.dev/sim-duration':'1s'"));
	assert_string_equal(conditions(TYPE_PYTORCH_JOB, "copy"), "Created Suspended");
	assert_int_equal(count(TYPE_POD), 0);
	set_suspend(TYPE_PYTORCH_JOB, "copy", false);
	assert_string_equal(conditions(TYPE_PYTORCH_JOB, "copy"),
			    "Created Suspended=False Running");
	set_suspend(TYPE_PYTORCH_JOB, "copy", true);
	assert_int_equal(count(TYPE_POD), 0);
	assert_int_equal(count(TYPE_SERVICE), 0);
	set_suspend(TYPE_PYTORCH_JOB, "copy", false);
	pass(S);
	assert_string_equal(conditions(TYPE_PYTORCH_JOB, "copy"),
			    "Created Suspended=False Running=False Succeeded");
	char lines[4096];
	assert_int_equal(runs(lines, sizeof(lines)), 6);
	assert_non_null(strstr(lines, "Killed"));
}

/* Its templates are not read again while they stay: they must be when they do not. */
static void a_changed_template_makes_other_pods(void **state)
{
	create(TYPE_PYTORCH_JOB, PYTORCH("copy", "'suspend':true", "Never", ""));
	auto_json *job = get(TYPE_PYTORCH_JOB, "default", "copy");
	struct cJSON *workers = json_path(job, "spec", "pytorchReplicaSpecs", "Worker", NULL);
	json_set_int(workers, "replicas", 1);
	json_set_str(json_path(workers, "template", "metadata", "annotations", NULL), "told",
		     "yes");
	update(TYPE_PYTORCH_JOB, "copy", job);
	set_suspend(TYPE_PYTORCH_JOB, "copy", false);
	assert_int_equal(count(TYPE_POD), 2);
	auto_json *pod = get(TYPE_POD, "default", "copy-worker-0");
	assert_string_equal(json_str(json_path(pod, "metadata", "annotations", NULL), "told"),
			    "yes");
}

static void a_failing_job_fails(void **state)
{
	create(TYPE_PYTORCH_JOB,
	       PYTORCH("bad", "", "Never",
		       "'muster.dev/sim-duration':'1s','muster.dev/sim-exit-code':'3'"));
	pass(S);
	assert_string_equal(conditions(TYPE_PYTORCH_JOB, "bad"), "Created Running=False Failed");
	assert_string_equal(phase("bad-master-0"), "Failed");
}

static void on_failure_restarts_in_place_with_backoff(void **state)
{
	create(TYPE_PYTORCH_JOB,
	       PYTORCH("loop", "'backoffLimit':4", "OnFailure",
		       "'muster.dev/sim-duration':'1s','muster.dev/sim-exit-code':'1'"));
	pass(S);
	assert_string_equal(phase("loop-master-0"), "Running");
	pass(10 * S);
	auto_json *pod = get(TYPE_POD, "default", "loop-master-0");
	int64_t restarts = 0;
	json_int64(json_at(json_path(pod, "status", "containerStatuses", NULL), 0), "restartCount",
		   &restarts);
	assert_int_equal(restarts, 1);
	pass(S);
	pass(20 * S); /* a second one each: past the limit of four */
	assert_string_equal(conditions(TYPE_PYTORCH_JOB, "loop"), "Created Running=False Failed");
}

#define JOB(name, more, requests)                                                                  \
	"{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'" name                          \
	"'},'spec':{'template':{'metadata':{'annotations':{'muster.dev/sim-duration':'2s'}},"      \
	"'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'x','resources':"       \
	"{'requests':{" requests "}}}]}}" more "}}"

static void a_job_completes_its_indexes(void **state)
{
	create(TYPE_JOB, JOB("idx", ",'completionMode':'Indexed','completions':3,'parallelism':2",
			     "'cpu':'1'"));
	auto_json *before = get(TYPE_JOB, "default", "idx");
	int64_t active = 0;
	json_int64(json_get(before, "status"), "active", &active);
	assert_int_equal(active, 2);
	pass(2 * S);
	pass(2 * S);
	auto_json *job = get(TYPE_JOB, "default", "idx");
	assert_string_equal(json_value_str(json_path(job, "status", "completedIndexes", NULL)),
			    "0-2");
	assert_string_equal(conditions(TYPE_JOB, "idx"), "SuccessCriteriaMet Complete");
	assert_int_equal(count(TYPE_POD), 3);
}

static void rules_about_failed_pods_come_from_the_object(void **state)
{
	create(TYPE_JOB,
	       "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'strict'},'spec':{"
	       "'completionMode':'Indexed','completions':2,'parallelism':2,"
	       "'backoffLimitPerIndex':1,'podFailurePolicy':{'rules':["
	       "{'action':'FailJob','onExitCodes':{'containerName':'c','operator':'In',"
	       "'values':[3]}},"
	       "{'action':'Ignore','onPodConditions':[{'type':'DisruptionTarget'}]}]},"
	       "'template':{'metadata':{'annotations':{'muster.dev/sim-duration':'2s',"
	       "'muster.dev/sim-exit-code':'3'}},'spec':{'restartPolicy':'Never','containers':["
	       "{'name':'c','image':'x','resources':{'requests':{'nvidia.com/gpu':'8'}}}]}}}}");
	delete (TYPE_NODE, "", "gpu-0"); /* takes a pod, which is not the job's fault */
	settle();
	auto_json *disturbed = get(TYPE_JOB, "default", "strict");
	assert_null(json_path(disturbed, "status", "failed", NULL));
	pass(2 * S);
	auto_json *job = get(TYPE_JOB, "default", "strict");
	const struct cJSON *failed = json_at(json_path(job, "status", "conditions", NULL), 1);
	assert_string_equal(json_str(failed, "type"), "Failed");
	assert_string_equal(json_str(failed, "reason"), "PodFailurePolicy");
	assert_non_null(strstr(json_str(failed, "message"), "failed with exit code 3 matching "
							    "FailJob rule at index 0"));
}

static void a_job_that_grows_keeps_what_is_done(void **state)
{
	create(TYPE_JOB, JOB("grow", ",'completionMode':'Indexed','completions':2,'parallelism':2",
			     "'cpu':'1'"));
	pass(S);
	auto_json *tree = get(TYPE_JOB, "default", "grow");
	json_set_int(json_get(tree, "spec"), "completions", 40);
	json_set_int(json_get(tree, "spec"), "parallelism", 40);
	struct command *c =
	    command_create(COMMAND_UPDATE, kind(TYPE_JOB), SPAN("default"), SPAN("grow"));
	c->expected_revision = revision_of(TYPE_JOB, "default", "grow");
	c->draft = draft(kind(TYPE_JOB), tree);
	submit(c);
	for (int i = 0; i < 8; i++)
		pass(S);
	auto_json *job = get(TYPE_JOB, "default", "grow");
	assert_string_equal(json_value_str(json_path(job, "status", "completedIndexes", NULL)),
			    "0-39");
}

static void a_pod_that_fits_nowhere_waits_for_room(void **state)
{
	create(TYPE_JOB, JOB("big", ",'completions':3,'parallelism':3", "'nvidia.com/gpu':'8'"));
	struct cluster_stats st;
	cluster_stats(t.c, &st);
	assert_int_equal(st.pods_pending, 1);
	pass(2 * S);
	cluster_stats(t.c, &st);
	assert_int_equal(st.pods_pending, 0);
	pass(2 * S);
	assert_string_equal(conditions(TYPE_JOB, "big"), "SuccessCriteriaMet Complete");
}

static void deleting_a_job_takes_its_pods(void **state)
{
	char lines[4096];
	create(TYPE_JOB, JOB("gone", ",'parallelism':2,'completions':2", "'cpu':'1'"));
	delete (TYPE_JOB, "default", "gone");
	assert_int_equal(count(TYPE_POD), 0);
	assert_int_equal(runs(lines, sizeof(lines)), 2);
	assert_non_null(strstr(lines, "Killed"));
	struct cluster_stats st;
	cluster_stats(t.c, &st);
	assert_int_equal(st.pods + st.jobs, 0);
}

static void a_deleted_node_takes_its_pods_with_it(void **state)
{
	char lines[4096];
	create(TYPE_PYTORCH_JOB,
	       PYTORCH("lost", "", "OnFailure", "'muster.dev/sim-duration':'60s'"));
	auto_json *pod = get(TYPE_POD, "default", "lost-master-0");
	auto_free char *node = xstrdup(json_value_str(json_path(pod, "spec", "nodeName", NULL)));
	delete (TYPE_NODE, "", node);
	auto_json *again = get(TYPE_POD, "default", "lost-master-0");
	/* made again, on the other node or waiting for it */
	assert_string_not_equal(json_value_str(json_path(pod, "metadata", "uid", NULL)),
				json_value_str(json_path(again, "metadata", "uid", NULL)));
	const char *there = json_value_str(json_path(again, "spec", "nodeName", NULL));
	assert_true(!there || strcmp(there, node) != 0);
	assert_true(runs(lines, sizeof(lines)) >= 1);
	assert_non_null(strstr(lines, "Killed"));
}

static void a_restart_goes_on_where_it_was(void **state)
{
	char lines[4096];
	create(TYPE_PYTORCH_JOB, PYTORCH("keep", "", "Never", "'muster.dev/sim-duration':'5s'"));
	create(TYPE_JOB, JOB("big", ",'completions':3,'parallelism':3", "'nvidia.com/gpu':'8'"));
	uint64_t before = store_revision(cluster_backend(t.c)->truth);
	restart();
	settle();
	assert_int_equal(store_revision(cluster_backend(t.c)->truth), before);
	pass(6 * S);
	restart();
	pass(6 * S);
	pass(6 * S);
	assert_string_equal(conditions(TYPE_PYTORCH_JOB, "keep"),
			    "Created Running=False Succeeded");
	assert_string_equal(conditions(TYPE_JOB, "big"), "SuccessCriteriaMet Complete");
	assert_int_equal(runs(lines, sizeof(lines)), 6);
}

#define JOB_SET(name, more)                                                                        \
	"{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet','metadata':{'name':'" name       \
	"'},'spec':{" more "'replicatedJobs':[{'name':'w','replicas':2,'template':{'spec':"        \
	"{'parallelism':2,'completions':2,'backoffLimit':0,'template':{'metadata':{'annotations':" \
	"{'muster.dev/sim-duration':'3s'}}," POD_SPEC("c", "'cpu':'1'") "}}}}]}}"

static void a_job_set_runs_its_jobs(void **state)
{
	create(TYPE_JOB_SET, JOB_SET("set", "'suspend':true,"));
	assert_string_equal(conditions(TYPE_JOB_SET, "set"), "Suspended");
	assert_int_equal(count(TYPE_JOB), 2);
	assert_int_equal(count(TYPE_POD), 0);
	set_suspend(TYPE_JOB_SET, "set", false);
	assert_int_equal(count(TYPE_POD), 4);
	assert_int_equal(count(TYPE_SERVICE), 1);
	auto_json *job = get(TYPE_JOB, "default", "set-w-1");
	const struct cJSON *labels = json_path(job, "metadata", "labels", NULL);
	assert_string_equal(json_str(labels, "jobset.sigs.k8s.io/job-index"), "1");
	assert_string_equal(json_str(labels, "jobset.sigs.k8s.io/global-replicas"), "2");
	assert_int_equal(strlen(json_str(labels, "jobset.sigs.k8s.io/job-key")), 40);
	auto_json *running = get(TYPE_JOB_SET, "default", "set");
	int64_t ready = 0;
	json_int64(json_at(json_path(running, "status", "replicatedJobsStatus", NULL), 0), "ready",
		   &ready);
	assert_int_equal(ready, 2);
	pass(3 * S);
	assert_string_equal(conditions(TYPE_JOB_SET, "set"), "Suspended=False Completed");
	auto_json *over = get(TYPE_JOB_SET, "default", "set");
	assert_string_equal(json_value_str(json_path(over, "status", "terminalState", NULL)),
			    "Completed");
	delete (TYPE_JOB_SET, "default", "set");
	assert_int_equal(count(TYPE_JOB) + count(TYPE_POD) + count(TYPE_SERVICE), 0);
	struct cluster_stats st;
	cluster_stats(t.c, &st);
	assert_int_equal(st.pods + st.jobs, 0);
}

static void a_job_set_restarts_after_a_failure(void **state)
{
	create(TYPE_JOB_SET, JOB_SET("again", "'failurePolicy':{'maxRestarts':1},"));
	assert_int_equal(count(TYPE_POD), 4);
	/* the first pod of the first job loses its node's grace: its object is removed as Failed */
	auto_json *job = get(TYPE_JOB, "default", "again-w-0");
	auto_free char *uid = xstrdup(json_value_str(json_path(job, "metadata", "uid", NULL)));
	delete (TYPE_NODE, "", "solo");
	pass(S);
	auto_json *set = get(TYPE_JOB_SET, "default", "again");
	int64_t restarts = 0;
	json_int64(json_get(set, "status"), "restarts", &restarts);
	assert_int_equal(restarts, 1);
	auto_json *anew = get(TYPE_JOB, "default", "again-w-0");
	assert_string_not_equal(json_value_str(json_path(anew, "metadata", "uid", NULL)), uid);
	pass(4 * S);
	assert_string_equal(conditions(TYPE_JOB_SET, "again"), "RestartingJobSet=False Completed");
}

/* kubectl taint nodes NAME maintenance=x:NoExecute */
static void taint(const char *node)
{
	auto_json *tree = get(TYPE_NODE, "", node);
	struct cJSON *spec = json_ensure_object(tree, "spec"), *taints = json_array(),
		     *one = json_object();
	json_set_str(one, "key", "maintenance");
	json_set_str(one, "value", "x");
	json_set_str(one, "effect", "NoExecute");
	json_append(taints, one);
	json_set(spec, "taints", taints);
	struct command *c =
	    command_create(COMMAND_UPDATE, kind(TYPE_NODE), SPAN(""), span_of(node));
	c->expected_revision = revision_of(TYPE_NODE, "", node);
	c->draft = draft(kind(TYPE_NODE), tree);
	submit(c);
	assert_int_equal(t.err.kind, ERR_NONE);
}

static void a_noexecute_taint_drives_pods_out(void **state)
{
	char lines[4096];
	create(TYPE_PYTORCH_JOB,
	       PYTORCH("out", "", "OnFailure", "'muster.dev/sim-duration':'60s'"));
	auto_json *pod = get(TYPE_POD, "default", "out-master-0");
	auto_free char *node = xstrdup(json_value_str(json_path(pod, "spec", "nodeName", NULL)));
	taint(node);
	auto_json *again = get(TYPE_POD, "default", "out-master-0");
	assert_string_not_equal(json_value_str(json_path(pod, "metadata", "uid", NULL)),
				json_value_str(json_path(again, "metadata", "uid", NULL)));
	const char *there = json_value_str(json_path(again, "spec", "nodeName", NULL));
	assert_true(!there || strcmp(there, node) != 0);
	auto_json *still = get(TYPE_NODE, "", node);
	assert_non_null(still);
	assert_true(runs(lines, sizeof(lines)) >= 1);
	assert_non_null(strstr(lines, "Killed"));
}

static void a_taint_that_is_tolerated_for_seconds_drives_pods_out_after_them(void **state)
{
	char lines[4096];
	create(TYPE_PYTORCH_JOB,
	       "{'apiVersion':'kubeflow.org/v1','kind':'PyTorchJob','metadata':{'name':'while'},"
	       "'spec':{'pytorchReplicaSpecs':{'Master':{'replicas':1,'restartPolicy':'Never',"
	       "'template':{'metadata':{'annotations':{'muster.dev/sim-duration':'600s'}},'spec':"
	       "{'tolerations':[{'key':'maintenance','operator':'Exists','effect':'NoExecute',"
	       "'tolerationSeconds':30}],'containers':[{'name':'pytorch','image':'x','resources':"
	       "{'requests':{'cpu':'1'}}}]}}}}}}");
	auto_json *pod = get(TYPE_POD, "default", "while-master-0");
	taint(json_value_str(json_path(pod, "spec", "nodeName", NULL)));
	pass(29 * S);
	assert_string_equal(phase("while-master-0"), "Running");
	assert_int_equal(runs(lines, sizeof(lines)), 0);
	pass(2 * S);
	assert_int_equal(runs(lines, sizeof(lines)), 1);
	assert_non_null(strstr(lines, "Killed"));
}

static void a_rule_restarts_the_failed_job_alone(void **state)
{
	create(TYPE_JOB_SET,
	       JOB_SET("one", "'failurePolicy':{'maxRestarts':2,'rules':[{'name':'no','action':"
			      "'FailJobSet','onJobFailureMessagePatterns':['NCCL']},{'name':'r',"
			      "'action':'RestartJob','onJobFailureMessagePatterns':['x','backoff "
			      "limit$']}]},"));
	auto_json *was = get(TYPE_JOB, "default", "one-w-0"),
		  *other = get(TYPE_JOB, "default", "one-w-1");
	/* "solo" has room for two: those of the first job, which came first, or of the second */
	taint("solo");
	pass(S);
	auto_json *set = get(TYPE_JOB_SET, "default", "one");
	int64_t restarts = -1;
	json_int64(json_get(set, "status"), "restarts", &restarts);
	assert_int_equal(restarts, 0);
	auto_json *zero = get(TYPE_JOB, "default", "one-w-0"),
		  *first = get(TYPE_JOB, "default", "one-w-1");
	const char *key = "jobset.sigs.k8s.io/job-restart-attempt";
	const char *a = json_str(json_path(zero, "metadata", "labels", NULL), key);
	const char *b = json_str(json_path(first, "metadata", "labels", NULL), key);
	assert_non_null(a);
	assert_non_null(b);
	assert_true((strcmp(a, "1") == 0) != (strcmp(b, "1") == 0));
	bool zero_anew = strcmp(a, "1") == 0;
	assert_int_equal(strcmp(json_value_str(json_path(was, "metadata", "uid", NULL)),
				json_value_str(json_path(zero, "metadata", "uid", NULL))) != 0,
			 zero_anew);
	assert_int_equal(strcmp(json_value_str(json_path(other, "metadata", "uid", NULL)),
				json_value_str(json_path(first, "metadata", "uid", NULL))) != 0,
			 !zero_anew);
	restart(); /* what is counted outlives it */
	settle();
	pass(5 * S);
	assert_string_equal(conditions(TYPE_JOB_SET, "one"), "Completed");
}

#define RAY                                                                                        \
	"{'apiVersion':'ray.io/v1','kind':'RayJob','metadata':{'name':'ray'},'spec':{"             \
	"'entrypoint':'x','shutdownAfterJobFinishes':true,'rayClusterSpec':{'headGroupSpec':"      \
	"{'rayStartParams':{},'template':{'metadata':{'annotations':{'muster.dev/sim-duration':"   \
	"'4s'}}," POD_SPEC("ray-head",                                                             \
			   "'cpu':'1'") "}},'workerGroupSpecs':[{'groupName':'g',"                 \
					"'replicas':2,'rayStartParams':{},'template':{" POD_SPEC(  \
					    "ray-worker", "'cpu':'1'") "}}]}}}"

static const char *ray_status(const char *key)
{
	static char text[64];
	auto_json *tree = get(TYPE_RAY_JOB, "default", "ray");
	const char *s = json_value_str(json_path(tree, "status", key, NULL));
	snprintf(text, sizeof(text), "%s", s ? s : "");
	return text;
}

static void a_ray_job_runs_and_shuts_down(void **state)
{
	create(TYPE_RAY_JOB, RAY);
	assert_string_equal(ray_status("jobDeploymentStatus"), "Running");
	assert_int_equal(count(TYPE_POD), 4); /* with the submitter's */
	restart();
	pass(3 * S);
	assert_string_equal(ray_status("jobStatus"), "RUNNING");
	pass(S);
	assert_string_equal(ray_status("jobStatus"), "SUCCEEDED");
	assert_string_equal(ray_status("jobDeploymentStatus"), "Complete");
	assert_int_equal(count(TYPE_POD), 1);
}

/* One that fits a node of 8 cpus alone, with so many for its head. */
#define RAY_SUBMITTED(mode, cpu)                                                                   \
	"{'apiVersion':'ray.io/v1','kind':'RayJob','metadata':{'name':'ray'},'spec':{"             \
	"'submissionMode':'" mode "','rayClusterSpec':{'headGroupSpec':{'template':{" POD_SPEC(    \
	    "ray-head", "'cpu':'" cpu "'") "}}}}}"

static void a_ray_job_is_submitted_over_http_or_from_beside_its_head(void **state)
{
	create(TYPE_RAY_JOB, RAY_SUBMITTED("HTTPMode", "8"));
	assert_string_equal(ray_status("jobStatus"), "RUNNING");
	assert_int_equal(count(TYPE_POD), 1);
	delete (TYPE_RAY_JOB, "default", "ray");
	settle();
	assert_int_equal(count(TYPE_POD), 0);
	/* The container beside the head asks half a cpu. */
	create(TYPE_RAY_JOB, RAY_SUBMITTED("SidecarMode", "8"));
	assert_string_equal(ray_status("jobStatus"), "");
	delete (TYPE_RAY_JOB, "default", "ray");
	settle();
	create(TYPE_RAY_JOB, RAY_SUBMITTED("SidecarMode", "7500m"));
	assert_string_equal(ray_status("jobStatus"), "RUNNING");
	assert_int_equal(count(TYPE_POD), 1);
}

static void a_ttl_removes_a_finished_job(void **state)
{
	create(TYPE_JOB, JOB("ttl", ",'ttlSecondsAfterFinished':5", "'cpu':'1'"));
	pass(2 * S);
	assert_true(revision_of(TYPE_JOB, "default", "ttl") > 0);
	pass(5 * S);
	assert_int_equal(revision_of(TYPE_JOB, "default", "ttl"), 0);
	assert_int_equal(count(TYPE_POD), 0);
}

static void many_jobs_need_more_than_one_batch(void **state)
{
	create(TYPE_JOB, JOB("wide", ",'parallelism':300,'completions':300", ""));
	struct cluster_stats st;
	cluster_stats(t.c, &st);
	assert_int_equal(st.pods, 300);
	assert_int_equal(st.pods_pending, 0);
	pass(2 * S);
	assert_string_equal(conditions(TYPE_JOB, "wide"), "SuccessCriteriaMet Complete");
}

static void a_full_store_refuses_writes_and_recovers(void **state)
{
	struct err e = ERR_INIT;
	usec due;
	create(TYPE_PYTORCH_JOB, PYTORCH("early", "", "Never", "'muster.dev/sim-duration':'5s'"));
	cluster_close(t.c);
	t.map_bytes = (size_t)1 << 20; /* what is in it already, and little more */
	open_cluster();
	int failures = 0;
	/* controllers go on; writes fail now and then, and nothing half done is seen */
	for (int i = 0; i < 2000 && !failures; i++) {
		char name[32], text[512];
		snprintf(name, sizeof(name), "fill-%d", i);
		snprintf(
		    text, sizeof(text),
		    "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'%s','namespace':"
		    "'default','uid':'22222222-0000-4000-8000-%012d'},'data':{'k':'%0300d'}}",
		    name, i, i);
		auto_free char *json = unquote(text);
		auto_json *tree = NULL;
		assert_int_equal(json_parse(span_of(json), NULL, &tree, &e), 0);
		struct command *c = command_create(COMMAND_CREATE, kind(TYPE_CONFIG_MAP),
						   SPAN("default"), span_of(name));
		c->draft = draft(kind(TYPE_CONFIG_MAP), tree);
		c->done = done;
		c->subresource = "";
		struct backend *b = cluster_backend(t.c);
		assert_int_equal(b->ops->submit(b, c, &e), 0);
		failures += cluster_step(t.c, t.now, &due, &e) != 0;
	}
	assert_int_equal(failures, 1);
	assert_int_equal(e.kind, ERR_NO_SPACE);
	assert_int_equal(t.err.kind, ERR_NO_SPACE); /* the client heard it */
	struct cluster_stats st;
	cluster_stats(t.c, &st);
	assert_int_equal(st.pods, 3); /* the caches are what the store says */
	assert_int_equal(st.jobs, 1);
	cluster_close(t.c);
	t.map_bytes = (size_t)256 << 20; /* there is room again */
	open_cluster();
	pass(6 * S);
	assert_string_equal(conditions(TYPE_PYTORCH_JOB, "early"),
			    "Created Running=False Succeeded");
}

/* Takes the gate `name` off a pod, and holds it to a node. */
static void ungate(const char *pod, const char *node)
{
	auto_json *tree = get(TYPE_POD, "default", pod);
	struct cJSON *spec = json_get(tree, "spec");

	json_remove(spec, "schedulingGates");
	json_set_str(json_ensure_object(spec, "nodeSelector"), "kubernetes.io/hostname", node);
	update(TYPE_POD, pod, tree);
	settle();
}

/* As upstream (KEP-3521): nobody binds it while it has a gate; then its new selectors count. */
static void a_gated_pod_is_bound_when_its_gates_are_gone(void **state)
{
	create(
	    TYPE_PYTORCH_JOB,
	    "{'apiVersion':'kubeflow.org/v1','kind':'PyTorchJob','metadata':{'name':'g'},'spec':{"
	    "'pytorchReplicaSpecs':{'Worker':{'replicas':2,'restartPolicy':'Never','template':{"
	    "'spec':{'schedulingGates':[{'name':'topology'}],'containers':[{'name':'pytorch',"
	    "'image':'i','resources':{'requests':{'cpu':'1'}}}]}}}}}}");
	settle();
	for (int i = 0; i < 2; i++) {
		auto_json *pod = get(TYPE_POD, "default", i ? "g-worker-1" : "g-worker-0");
		const struct cJSON *said = json_at(json_path(pod, "status", "conditions", NULL), 0);
		assert_null(json_path(pod, "spec", "nodeName", NULL));
		assert_string_equal(json_str(said, "reason"), "SchedulingGated");
	}
	ungate("g-worker-1", "gpu-1");
	auto_json *bound = get(TYPE_POD, "default", "g-worker-1");
	assert_string_equal(json_str(json_get(bound, "spec"), "nodeName"), "gpu-1");
	assert_string_equal(phase("g-worker-1"), "Running");
	assert_string_equal(phase("g-worker-0"), "Pending");
	/* A restart knows of the gate that is left. */
	restart();
	settle();
	assert_string_equal(phase("g-worker-0"), "Pending");
	ungate("g-worker-0", "gpu-0");
	assert_string_equal(phase("g-worker-0"), "Running");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(nodes_come_from_the_file_once),
	    T(a_pytorch_job_runs_to_its_end),
	    T(a_copy_is_born_suspended_then_released),
	    T(a_changed_template_makes_other_pods),
	    T(a_failing_job_fails),
	    T(on_failure_restarts_in_place_with_backoff),
	    T(a_job_completes_its_indexes),
	    T(rules_about_failed_pods_come_from_the_object),
	    T(a_job_that_grows_keeps_what_is_done),
	    T(a_pod_that_fits_nowhere_waits_for_room),
	    T(deleting_a_job_takes_its_pods),
	    T(a_deleted_node_takes_its_pods_with_it),
	    T(a_restart_goes_on_where_it_was),
	    T(a_job_set_runs_its_jobs),
	    T(a_job_set_restarts_after_a_failure),
	    T(a_noexecute_taint_drives_pods_out),
	    T(a_taint_that_is_tolerated_for_seconds_drives_pods_out_after_them),
	    T(a_rule_restarts_the_failed_job_alone),
	    T(a_ray_job_runs_and_shuts_down),
	    T(a_ray_job_is_submitted_over_http_or_from_beside_its_head),
	    T(a_ttl_removes_a_finished_job),
	    T(many_jobs_need_more_than_one_batch),
	    T(a_gated_pod_is_bound_when_its_gates_are_gone),
	    T(a_full_store_refuses_writes_and_recovers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
