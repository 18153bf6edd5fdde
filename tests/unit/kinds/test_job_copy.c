#include "kinds_test.h"

#include <errno.h>

static const struct job_copy_options options = {
    .hub_uid = "hub", .job_uid = "job", .epoch = 7, .suspend = true};

static void expect_copy(uint16_t type, const char *job, const char *want)
{
	auto_json *tree = tree_of(job);
	auto_json *copy = NULL;
	auto_buf out = BUF_INIT;
	struct err e = ERR_INIT;

	if (job_copy_make(hub_kind(type), tree, &options, &out, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(json_parse(buf_span(&out), NULL, &copy, NULL), 0);
	/* Says of which spec it was made (test_job_rewrite.c). */
	assert_true(json_remove(json_path(copy, "metadata", "annotations", NULL),
				COPY_ANNOTATION_SPEC_HASH));
	assert_tree(copy, want);
}

static void a_copy_is_suspended_and_names_its_job(void **state)
{
	(void)state;
	expect_copy(
	    TYPE_PYTORCH_JOB,
	    "{'apiVersion':'kubeflow.org/v1','kind':'PyTorchJob','metadata':{'name':'j',"
	    "'namespace':'n','uid':'u','resourceVersion':'5','generation':2,"
	    "'creationTimestamp':'2026-01-01T00:00:00Z','finalizers':['muster.dev/dispatch'],"
	    "'ownerReferences':[],'managedFields':[],'labels':{'a':'b',"
	    "'kueue.x-k8s.io/queue-name':'q'},'annotations':{"
	    "'kubectl.kubernetes.io/last-applied-configuration':'{}','note':'x'}},"
	    "'spec':{'runPolicy':{'ttlSecondsAfterFinished':5,'backoffLimit':1},"
	    "'pytorchReplicaSpecs':{'Master':{'template':{'spec':{}}}}},"
	    "'status':{'startTime':'2026-01-01T00:00:00Z'}}",
	    "{'apiVersion':'kubeflow.org/v1','kind':'PyTorchJob','metadata':{'name':'j',"
	    "'namespace':'n','labels':{'a':'b','muster.dev/hub-uid':'hub'},"
	    "'annotations':{'note':'x','muster.dev/job-uid':'job','muster.dev/epoch':'7'}},"
	    "'spec':{'runPolicy':{'backoffLimit':1,'suspend':true},"
	    "'pytorchReplicaSpecs':{'Master':{'template':{'spec':{},'metadata':{'labels':{"
	    "'muster.dev/hub-uid':'hub','muster.dev/job-uid':'job',"
	    "'muster.dev/pod-set':'master','muster.dev/epoch':'7'}}}}}}}");
}

static void every_template_of_a_job_set_is_marked(void **state)
{
	(void)state;
	expect_copy(
	    TYPE_JOB_SET,
	    "{'metadata':{'name':'j'},'spec':{'ttlSecondsAfterFinished':5,'suspend':false,"
	    "'replicatedJobs':[{'name':'a','template':{'spec':{'template':{'metadata':"
	    "{'labels':{'x':'y'}}}}}}]}}",
	    "{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet','metadata':{'name':'j',"
	    "'labels':{'muster.dev/hub-uid':'hub'},'annotations':{'muster.dev/job-uid':'job',"
	    "'muster.dev/epoch':'7'}},'spec':{'suspend':true,'replicatedJobs':[{'name':'a',"
	    "'template':{'spec':{'template':{'metadata':{'labels':{'x':'y',"
	    "'muster.dev/hub-uid':'hub','muster.dev/job-uid':'job',"
	    "'muster.dev/pod-set':'a','muster.dev/epoch':'7'}}}}}}]}}");
}

static void a_ray_job_keeps_its_ttl_and_shuts_its_cluster_down(void **state)
{
	(void)state;
	expect_copy(
	    TYPE_RAY_JOB,
	    "{'metadata':{'name':'j'},'spec':{'ttlSecondsAfterFinished':5,"
	    "'shutdownAfterJobFinishes':false}}",
	    "{'apiVersion':'ray.io/v1','kind':'RayJob','metadata':{'name':'j',"
	    "'labels':{'muster.dev/hub-uid':'hub'},'annotations':{'muster.dev/job-uid':'job',"
	    "'muster.dev/epoch':'7'}},'spec':{'ttlSecondsAfterFinished':5,"
	    "'shutdownAfterJobFinishes':true,'suspend':true}}");
}

#define HEAD                                                                                       \
	"'rayClusterSpec':{'headGroupSpec':{'template':{'spec':{'imagePullSecrets':["              \
	"{'name':'s'}],'containers':[{'name':'h','image':'ray:1'}]}}}}"

/* What the copy of a RayJob says at the path, as text; free it. */
static char *copied(const char *spec, const char *first, const char *second)
{
	auto_json *tree = tree_of(spec), *copy = NULL;
	auto_buf out = BUF_INIT;

	assert_int_equal(job_copy_tree(hub_kind(TYPE_RAY_JOB), tree, &options, &copy, NULL), 0);
	const struct cJSON *at = json_path(copy, "spec", first, second, NULL);
	if (at)
		json_print(at, &out);
	return xstrndup(out.ptr ? out.ptr : "", out.len);
}

static void a_ray_jobs_submitter_is_told_to_be_the_jobs(void **state)
{
	(void)state;
	auto_free char *spec =
	    copied("{'metadata':{'name':'j'},'spec':{" HEAD "}}", "submitterPodTemplate", "spec");
	assert_string_equal(spec,
			    "{\"containers\":[{\"name\":\"ray-job-submitter\",\"image\":\"ray:1\","
			    "\"resources\":{\"requests\":{\"cpu\":\"500m\",\"memory\":\"200Mi\"},"
			    "\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}}}],\"restartPolicy\":"
			    "\"Never\",\"imagePullSecrets\":[{\"name\":\"s\"}]}");
	auto_free char *marks = copied("{'metadata':{'name':'j'},'spec':{" HEAD "}}",
				       "submitterPodTemplate", "metadata");
	assert_non_null(strstr(marks, "\"muster.dev/pod-set\":\"submitter\""));
	auto_free char *own = copied("{'metadata':{'name':'j'},'spec':{'submitterPodTemplate':"
				     "{'spec':{'containers':[{'name':'mine'}]}}," HEAD "}}",
				     "submitterPodTemplate", "spec");
	assert_string_equal(own, "{\"containers\":[{\"name\":\"mine\"}]}");
	auto_free char *none =
	    copied("{'metadata':{'name':'j'},'spec':{'submissionMode':'HTTPMode'," HEAD "}}",
		   "submitterPodTemplate", NULL);
	assert_string_equal(none, "");
}

#define CONSUMER(annotations, spec)                                                                \
	"{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'j'},'spec':{'template':{"       \
	"'metadata':{'annotations':{" annotations "}},'spec':{" spec "}}}}"
#define MARKED(annotations, spec)                                                                             \
	"{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'j','labels':{"                             \
	"'muster.dev/hub-uid':'hub'},'annotations':{'muster.dev/job-uid':'job',"                              \
	"'muster.dev/epoch':'7'}},'spec':{'suspend':true,'template':{'metadata':{'annotations':{" annotations \
	"},'labels':{'muster.dev/hub-uid':'hub','muster.dev/job-uid':'job',"                                  \
	"'muster.dev/pod-set':'main','muster.dev/epoch':'7'}},'spec':{" spec "}}}}"
#define NEW(key)  "'autoscaling.x-k8s.io/" key "'"
#define OLD(key)  "'cluster-autoscaler.kubernetes.io/" key "'"
#define QUEUED	  "{'key':'cloud.google.com/gke-queued','operator':'Exists','effect':'NoSchedule'}"
#define OWN_WORDS "{'key':'cloud.google.com/gke-queued','operator':'Equal','value':'true'}"

/* Whichever spelling its user has, autoscalers of both find theirs. What the user says of eviction
 * and of the queued pool's taint stays as it is. */
static void who_takes_provisioned_nodes_says_so_in_both_spellings(void **state)
{
	(void)state;
	expect_copy(
	    TYPE_JOB,
	    CONSUMER(
		NEW("consume-provisioning-request") ":'r'," NEW("provisioning-class-name") ":'c'",
		""),
	    MARKED(
		NEW("consume-provisioning-request") ":'r'," NEW("provisioning-class-name") ":'c'," OLD(
		    "consume-provisioning-request") ":'r'," OLD("provisioning-class-name") ":'c'," OLD("safe-to-evict") ":'false'",
		"'tolerations':[" QUEUED "]"));
	expect_copy(
	    TYPE_JOB,
	    CONSUMER(OLD("consume-provisioning-request") ":'r'," OLD(
			 "provisioning-class-name") ":'c'," OLD("safe-to-evict") ":'true'",
		     "'tolerations':[" OWN_WORDS "]"),
	    MARKED(
		OLD("consume-provisioning-request") ":'r'," OLD("provisioning-class-name") ":'c'," OLD(
		    "safe-to-evict") ":'true'," NEW("consume-provisioning-request") ":'r'," NEW("provisioning-class-name") ":'c'",
		"'tolerations':[" OWN_WORDS "]"));
}

static void a_copy_is_its_members_own_job(void **state)
{
	(void)state;
	auto_free char *mine = copied("{'metadata':{'name':'j'},'spec':{'managedBy':"
				      "'kueue.x-k8s.io/multikueue'," HEAD "}}",
				      "managedBy", NULL);
	assert_string_equal(mine, "");
	auto_free char *other = copied(
	    "{'metadata':{'name':'j'},'spec':{'managedBy':'ray.io/kuberay-operator'," HEAD "}}",
	    "managedBy", NULL);
	assert_string_equal(other, "\"ray.io/kuberay-operator\"");
}

static void a_job_without_a_spec_has_no_copy(void **state)
{
	(void)state;
	auto_json *tree = tree_of("{'metadata':{'name':'j'}}");
	auto_buf out = BUF_INIT;
	assert_int_equal(job_copy_make(hub_kind(TYPE_JOB), tree, &options, &out, NULL),
			 err_errno(ERR_INVALID));
	assert_int_equal(out.len, 0);
}

static void the_suspend_field_is_where_the_kind_has_it(void **state)
{
	(void)state;
	assert_string_equal(job_suspend_path(hub_kind(TYPE_TF_JOB)), "/spec/runPolicy/suspend");
	assert_string_equal(job_suspend_path(hub_kind(TYPE_RAY_JOB)), "/spec/suspend");
	assert_string_equal(job_suspend_path(hub_kind(TYPE_RAY_CLUSTER)), "/spec/suspend");
	assert_string_equal(job_suspend_path(hub_kind(TYPE_JAX_JOB)), "/spec/runPolicy/suspend");
}

static void what_a_queue_owns_a_user_does_not_change(void **state)
{
	static const struct {
		uint16_t type;
		const char *field;
	} kinds[] = {
	    {TYPE_JOB, "'suspend':%s"},
	    {TYPE_JOB_SET, "'suspend':%s,'replicatedJobs':[]"},
	    {TYPE_RAY_JOB, "'suspend':%s"},
	    {TYPE_RAY_CLUSTER, "'suspend':%s"},
	    {TYPE_TF_JOB, "'runPolicy':{'suspend':%s},'tfReplicaSpecs':{}"},
	    {TYPE_XGBOOST_JOB, "'runPolicy':{'suspend':%s},'xgbReplicaSpecs':{}"},
	    {TYPE_PADDLE_JOB, "'runPolicy':{'suspend':%s},'paddleReplicaSpecs':{}"},
	    {TYPE_JAX_JOB, "'runPolicy':{'suspend':%s},'jaxReplicaSpecs':{}"},
	    {TYPE_PYTORCH_JOB, "'runPolicy':{'suspend':%s},'pytorchReplicaSpecs':{}"},
	    {TYPE_MPI_JOB, "'runPolicy':{'suspend':%s},'mpiReplicaSpecs':{}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const struct kind *k = hub_kind(kinds[i].type);
		for (int queued = 0; queued < 2; queued++) {
			struct buf text[2] = {BUF_INIT, BUF_INIT};
			auto_buf spec = BUF_INIT, said = BUF_INIT;
			struct cJSON *tree[2];
			for (int n = 0; n < 2; n++) {
				char field[160];
				(void)snprintf(field, sizeof(field), "%s", kinds[i].field);
				char *at = strstr(field, "%s");
				*at = '\0';
				buf_addf(&text[n],
					 "{'metadata':{'name':'j','labels':{%s}},'spec':{%s%s%s}}",
					 queued ? "'kueue.x-k8s.io/queue-name':'q'" : "", field,
					 n ? "true" : "false", at + 2);
				tree[n] = tree_of(text[n].ptr);
			}
			k->default_object(k, tree[1],
					  &(struct kind_write){.old = tree[0],
							       .subresource = "",
							       .warnings = &said});
			json_print(json_get(tree[1], "spec"), &spec);
			assert_true((strstr(spec.ptr, "\"suspend\":true") == NULL) == queued);
			assert_true((said.len > 0) == queued);
			json_free(tree[0]);
			json_free(tree[1]);
			buf_done(&text[0]);
			buf_done(&text[1]);
		}
	}
}

static void expect_status(uint16_t type, const char *member, const char *want)
{
	auto_arena mem = ARENA_INIT;
	auto_buf out = BUF_INIT;
	int r = job_hub_status(type, quoted(&mem, member), false, &out, NULL);

	if (!want) {
		assert_int_equal(r, -ENOENT);
		assert_int_equal(out.len, 0);
		return;
	}
	assert_int_equal(r, 0);
	assert_true(span_eq(buf_span(&out), quoted(&mem, want)));
}

static void the_hubs_own_suspension_is_hidden(void **state)
{
	(void)state;
	expect_status(
	    TYPE_PYTORCH_JOB,
	    "{'conditions':[{'type':'Created','status':'True'},"
	    "{'type':'Suspended','status':'False'},{'type':'Running','status':'True'}],"
	    "'replicaStatuses':{'Master':{'active':1}}}",
	    "{'conditions':[{'type':'Created','status':'True'},"
	    "{'type':'Running','status':'True'}],'replicaStatuses':{'Master':{'active':1}}}");
	expect_status(TYPE_JOB_SET, "{'restarts':0,'conditions':[{'type':'Suspended'}]}",
		      "{'restarts':0,'conditions':[]}");
	expect_status(TYPE_RAY_JOB, "{'jobDeploymentStatus':'Suspended','jobId':'x'}",
		      "{'jobId':'x'}");
	expect_status(TYPE_RAY_JOB, "{'jobDeploymentStatus':'Running'}",
		      "{'jobDeploymentStatus':'Running'}");
	expect_status(TYPE_RAY_CLUSTER,
		      "{'state':'suspended','conditions':[{'type':'RayClusterSuspended'},"
		      "{'type':'HeadPodReady'}]}",
		      "{'conditions':[{'type':'HeadPodReady'}]}");
	expect_status(TYPE_RAY_CLUSTER, "{'state':'ready'}", "{'state':'ready'}");
	expect_status(TYPE_JOB, "{}", "{}");
	expect_status(TYPE_JOB, "{'active':1}", "{'active':1}");
}

static void created_stays_until_the_member_says_more(void **state)
{
	(void)state;
	expect_status(TYPE_PYTORCH_JOB, "{'conditions':[{'type':'Suspended','status':'True'}]}",
		      NULL);
	expect_status(TYPE_MPI_JOB, "{}", NULL);
	auto_buf out = BUF_INIT;
	assert_int_equal(job_hub_status(TYPE_JOB, SPAN("[]"), false, &out, NULL),
			 err_errno(ERR_INVALID));
}

static void acceptance_writes_created_as_the_operator_does(void **state)
{
	(void)state;
	auto_buf out = BUF_INIT;
	job_accepted_status(hub_kind(TYPE_PYTORCH_JOB), "mnist", false, 0, &out);
	assert_string_equal(out.ptr,
			    "{\"conditions\":[{\"type\":\"Created\",\"status\":\"True\",\"reason\":"
			    "\"PyTorchJobCreated\",\"message\":\"PyTorchJob mnist is created.\","
			    "\"lastUpdateTime\":\"1970-01-01T00:00:00Z\",\"lastTransitionTime\":"
			    "\"1970-01-01T00:00:00Z\"}]}");
	buf_clear(&out);
	job_accepted_status(hub_kind(TYPE_JOB), "j", false, 0, &out);
	assert_int_equal(out.len, 0);
}

static void a_job_that_is_made_suspended_says_so(void **state)
{
	(void)state;
	auto_buf out = BUF_INIT;
	job_accepted_status(hub_kind(TYPE_JOB), "j", true, 0, &out);
	assert_string_equal(
	    out.ptr, "{\"conditions\":[{\"type\":\"Suspended\",\"status\":\"True\",\"reason\":"
		     "\"JobSuspended\",\"message\":\"Job suspended\",\"lastProbeTime\":"
		     "\"1970-01-01T00:00:00Z\",\"lastTransitionTime\":"
		     "\"1970-01-01T00:00:00Z\"}]}");
	buf_clear(&out);
	job_accepted_status(hub_kind(TYPE_JOB_SET), "j", true, 0, &out);
	assert_string_equal(
	    out.ptr, "{\"conditions\":[{\"type\":\"Suspended\",\"status\":\"True\",\"reason\":"
		     "\"SuspendedJobs\",\"message\":\"jobset is suspended\","
		     "\"lastTransitionTime\":\"1970-01-01T00:00:00Z\"}]}");
	buf_clear(&out);
	job_accepted_status(hub_kind(TYPE_RAY_JOB), "j", true, 0, &out);
	assert_string_equal(out.ptr, "{\"jobDeploymentStatus\":\"Suspended\"}");
	buf_clear(&out);
	job_accepted_status(hub_kind(TYPE_RAY_CLUSTER), "j", true, 0, &out);
	assert_string_equal(out.ptr, "{\"state\":\"suspended\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_copy_is_suspended_and_names_its_job),
	    cmocka_unit_test(every_template_of_a_job_set_is_marked),
	    cmocka_unit_test(a_ray_job_keeps_its_ttl_and_shuts_its_cluster_down),
	    cmocka_unit_test(a_ray_jobs_submitter_is_told_to_be_the_jobs),
	    cmocka_unit_test(who_takes_provisioned_nodes_says_so_in_both_spellings),
	    cmocka_unit_test(a_copy_is_its_members_own_job),
	    cmocka_unit_test(a_job_without_a_spec_has_no_copy),
	    cmocka_unit_test(what_a_queue_owns_a_user_does_not_change),
	    cmocka_unit_test(the_suspend_field_is_where_the_kind_has_it),
	    cmocka_unit_test(the_hubs_own_suspension_is_hidden),
	    cmocka_unit_test(created_stays_until_the_member_says_more),
	    cmocka_unit_test(acceptance_writes_created_as_the_operator_does),
	    cmocka_unit_test(a_job_that_is_made_suspended_says_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
