/* Bad input by kind: the exact path and words of everything that is wrong. */
#include "kinds_test.h"

#define POD	   "{'spec':{'containers':[{'name':'pytorch','image':'i'}]}}"
#define MASTER	   "'Master':{'template':" POD "}"
#define PYTORCH(s) "{'metadata':{'name':'j'},'spec':{'pytorchReplicaSpecs':{" s "}}}"

static void a_pytorch_job_is_filled_in(void **state)
{
	(void)state;
	auto_json *tree = tree_of(PYTORCH("'master':{'template':" POD "}"));
	auto_buf wrong = BUF_INIT;

	admit(hub_kind(TYPE_PYTORCH_JOB), tree, NULL, &wrong, NULL);
	assert_string_equal(wrong.ptr, "");
	assert_tree(json_get(tree, "spec"),
		    "{'nprocPerNode':'auto','runPolicy':{'cleanPodPolicy':'None','suspend':false},"
		    "'pytorchReplicaSpecs':{'Master':{'replicas':1,'restartPolicy':'OnFailure',"
		    "'template':{'spec':{'containers':[{'name':'pytorch','image':'i'}]}}}}}");
}

static void a_pytorch_job_has_one_master_and_known_roles(void **state)
{
	(void)state;
	expect_wrong(TYPE_PYTORCH_JOB, PYTORCH(MASTER), "");
	expect_wrong(TYPE_PYTORCH_JOB, PYTORCH(""),
		     "spec.pytorchReplicaSpecs: Required value: must name at least one role\n");
	expect_wrong(TYPE_PYTORCH_JOB, "{'metadata':{'name':'j'},'spec':{}}",
		     "spec.pytorchReplicaSpecs: Required value\n");
	expect_wrong(
	    TYPE_PYTORCH_JOB, "{'metadata':{'name':'j'},'spec':{'pytorchReplicaSpecs':1}}",
	    "spec.pytorchReplicaSpecs: Invalid value: \"number\": spec.pytorchReplicaSpecs "
	    "in body must be of type object: \"number\"\n");
	expect_wrong(TYPE_PYTORCH_JOB, PYTORCH("'Master':{'replicas':2,'template':" POD "}"),
		     "spec.pytorchReplicaSpecs[Master].replicas: Invalid value: 2: must be 1\n");
	expect_wrong(TYPE_PYTORCH_JOB, PYTORCH("'Boss':{'template':" POD "}"),
		     "spec.pytorchReplicaSpecs: Unsupported value: \"Boss\": supported values: "
		     "\"Master\", \"Worker\"\n");
	expect_wrong(TYPE_PYTORCH_JOB, PYTORCH("'Master':{}"),
		     "spec.pytorchReplicaSpecs[Master].template: Required value\n");
	expect_wrong(TYPE_PYTORCH_JOB,
		     "{'metadata':{'name':'1j'},'spec':{'runPolicy':{'managedBy':'me'},"
		     "'pytorchReplicaSpecs':{" MASTER "}}}",
		     "metadata.name: Invalid value: \"1j\": a DNS-1035 label must consist of lower "
		     "case alphanumeric characters or '-', start with an alphabetic character, and "
		     "end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
		     "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')\n"
		     "spec.runPolicy.managedBy: Unsupported value: \"me\": supported values: "
		     "\"kubeflow.org/training-operator\", \"kueue.x-k8s.io/multikueue\"\n");
}

static void a_pytorch_pod_needs_its_container_and_image(void **state)
{
	(void)state;
	expect_wrong(
	    TYPE_PYTORCH_JOB,
	    PYTORCH("'Worker':{'template':{'spec':{'containers':[{'name':'main'}]}}}"),
	    "spec.pytorchReplicaSpecs[Worker].template.spec.containers[0].image: Required "
	    "value\n"
	    "spec.pytorchReplicaSpecs[Worker].template.spec.containers: Required value: must "
	    "have at least one container with name pytorch\n");
	expect_wrong(TYPE_PYTORCH_JOB, PYTORCH("'Worker':{'template':{'spec':{'containers':[]}}}"),
		     "spec.pytorchReplicaSpecs[Worker].template.spec.containers: Required value\n");
}

static void quantities_are_refused_with_their_whole_path(void **state)
{
	(void)state;
	auto_json *tree = tree_of(PYTORCH(
	    "'Worker':{'template':{'spec':{'containers':[{'name':'pytorch','image':'i','resources':"
	    "{'requests':{'cpu':'many','memory':'-1Gi','nvidia.com/gpu':'1e30'}}}]}}}"));
	struct field_errors e = {.n = 0};
	static const char *const resources[] = {"cpu", "memory", "nvidia.com/gpu"};

	schema_apply(hub_kind(TYPE_PYTORCH_JOB)->schema, tree, &e, NULL);
	assert_int_equal(e.n, 3);
	for (size_t i = 0; i < 3; i++) {
		char path[256];
		(void)snprintf(path, sizeof(path),
			       "spec.pytorchReplicaSpecs[Worker].template.spec.containers[0]."
			       "resources.requests[%s]",
			       resources[i]);
		assert_string_equal(e.items[i].field, path);
	}
	field_errors_done(&e);
}

static void pod_templates_keep_the_rules_of_pods(void **state)
{
	(void)state;
	expect_wrong(
	    TYPE_JOB,
	    "{'spec':{'template':{'metadata':{'labels':{'bad key':'v','k':'-'}},'spec':{"
	    "'restartPolicy':'Never','nodeSelector':{'a':'/'},"
	    "'tolerations':[{'operator':'Exists','key':'k','value':'v'},{'operator':'Equal'},"
	    "{'key':'k','effect':'NoSchedule','tolerationSeconds':5}],"
	    "'volumes':[{'name':'v','emptyDir':{}}],"
	    "'containers':[{'name':'a','image':'i','volumeMounts':[{'name':'v','mountPath':'/v'},"
	    "{'name':'w','mountPath':'/w'}],'env':[{'name':'A=B','value':'x','valueFrom':"
	    "{'fieldRef':{'fieldPath':'p'}}},{'name':'C','valueFrom':{}}],"
	    "'resources':{'limits':{'cpu':1,'gpu':1},'requests':{'cpu':'1500m'}}}],"
	    "'initContainers':[{'name':'a','image':'i'}]}}}}",
	    "spec.template.metadata.labels: Invalid value: \"bad key\": name part must consist of "
	    "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
	    "character (e.g. 'MyName',  or 'my.name',  or "
	    "'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')\n"
	    "spec.template.metadata.labels: Invalid value: \"-\": a valid label must be an empty "
	    "string or consist of alphanumeric characters, '-', '_' or '.', and must start and end "
	    "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
	    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')\n"
	    "spec.template.spec.containers[0].name: Duplicate value: \"a\"\n"
	    "spec.template.spec.containers[0].env[0].name: Invalid value: \"A=B\": an environment "
	    "variable name may not contain '='\n"
	    "spec.template.spec.containers[0].env[0].valueFrom: Invalid value: \"\": may not be "
	    "specified when `value` is not empty\n"
	    "spec.template.spec.containers[0].env[1].valueFrom: Invalid value: {}: must specify one "
	    "of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`\n"
	    "spec.template.spec.containers[0].volumeMounts[1].name: Invalid value: \"w\": must be the "
	    "name of a volume\n"
	    "spec.template.spec.containers[0].resources.limits[gpu]: Invalid value: \"gpu\": must be "
	    "a standard resource type or fully qualified\n"
	    "spec.template.spec.containers[0].resources.requests[cpu]: Invalid value: \"1500m\": must "
	    "be less than or equal to cpu limit\n"
	    "spec.template.spec.nodeSelector: Invalid value: \"/\": a valid label must be an empty "
	    "string or consist of alphanumeric characters, '-', '_' or '.', and must start and end "
	    "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
	    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')\n"
	    "spec.template.spec.tolerations[0].operator: Invalid value: \"v\": value must be empty "
	    "when `operator` is 'Exists'\n"
	    "spec.template.spec.tolerations[1].operator: Invalid value: \"Equal\": operator must be "
	    "Exists when `key` is empty, which means \"match all values and all keys\"\n"
	    "spec.template.spec.tolerations[2].effect: Invalid value: \"NoSchedule\": effect must be "
	    "'NoExecute' when `tolerationSeconds` is set\n");
}

#define JOB_POD                                                                                    \
	"'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'i'}]}}"

static void a_job_is_filled_in_and_needs_a_final_restart_policy(void **state)
{
	(void)state;
	auto_json *tree = tree_of("{'spec':{" JOB_POD "}}");
	auto_buf wrong = BUF_INIT;

	admit(hub_kind(TYPE_JOB), tree, NULL, &wrong, NULL);
	assert_string_equal(wrong.ptr, "");
	json_remove(json_get(tree, "spec"), "template");
	assert_tree(
	    json_get(tree, "spec"),
	    "{'completions':1,'parallelism':1,'backoffLimit':6,'completionMode':'NonIndexed',"
	    "'suspend':false,'manualSelector':false,'podReplacementPolicy':"
	    "'TerminatingOrFailed'}");
	expect_wrong(
	    TYPE_JOB,
	    "{'spec':{'completionMode':'Indexed','parallelism':2,'template':{'spec':"
	    "{'containers':[{'name':'c','image':'i'}]}}}}",
	    "spec.completions: Required value: when completion mode is Indexed\n"
	    "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", "
	    "\"Never\"\n");
	expect_wrong(TYPE_JOB, "{'spec':{'maxFailedIndexes':1," JOB_POD "}}",
		     "spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode\n");
	expect_wrong(TYPE_JOB, "{}", "spec: Required value\n");
	expect_wrong(
	    TYPE_JOB, "{'spec':{'parallelism':-1," JOB_POD "}}",
	    "spec.parallelism: Invalid value: -1: spec.parallelism in body should be greater "
	    "than or equal to 0\n");
}

static void a_jobs_template_moves_only_while_it_never_ran(void **state)
{
	(void)state;
	static const char steered[] =
	    "{'spec':{'suspend':false,'template':{'metadata':{'labels':{'a':'b'}},'spec':{"
	    "'restartPolicy':'Never','nodeSelector':{'x':'y'},"
	    "'containers':[{'name':'c','image':'i'}]}}}}";
	expect_wrong_update(TYPE_JOB, "{'spec':{'suspend':true," JOB_POD "}}", steered, "");
	expect_wrong_update(
	    TYPE_JOB,
	    "{'spec':{'suspend':true," JOB_POD "},'status':{'startTime':'2026-01-01T00:00:00Z'}}",
	    steered,
	    "spec.template: Invalid value: {\"metadata\":{\"labels\":{\"a\":\"b\"}},"
	    "\"spec\":{\"restartPolicy\":\"Never\",\"nodeSelector\":{\"x\":\"y\"},"
	    "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{},"
	    "\"terminationMessagePath\":\"/dev/termination-log\","
	    "\"terminationMessagePolicy\":\"File\",\"imagePullPolicy\":\"Always\"}],"
	    "\"dnsPolicy\":\"ClusterFirst\",\"schedulerName\":\"default-scheduler\","
	    "\"securityContext\":{},\"terminationGracePeriodSeconds\":30}}: field is immutable\n");
	expect_wrong_update(TYPE_JOB, "{'spec':{'completions':2," JOB_POD "}}",
			    "{'spec':{'completions':3,'parallelism':4," JOB_POD "}}",
			    "spec.completions: Invalid value: 3: field is immutable\n");
	expect_wrong_update(TYPE_JOB, "{'spec':{'completions':2," JOB_POD "}}",
			    "{'spec':{'completions':2,'parallelism':4," JOB_POD "}}", "");
}

#define JS(rest)                                                                                   \
	"{'metadata':{'name':'js'},'spec':{'replicatedJobs':[{'name':'a','template':{'spec':{"     \
	"'template':{'spec':{'containers':[{'name':'c','image':'i'}]}}}}},"                        \
	"{'name':'b','dependsOn':[{'name':'a','status':'Ready'}],'replicas':2,'template':{'spec':" \
	"{'template':{'spec':{'containers':[{'name':'c','image':'i'}]}}}}}]" rest "}}"

static void a_job_set_is_filled_in(void **state)
{
	(void)state;
	auto_json *tree = tree_of(JS(",'failurePolicy':{'rules':[{'action':'FailJobSet'}]}"));
	auto_buf wrong = BUF_INIT;

	admit(hub_kind(TYPE_JOB_SET), tree, NULL, &wrong, NULL);
	assert_string_equal(wrong.ptr, "");
	struct cJSON *spec = json_get(tree, "spec");
	struct cJSON *first = json_at(json_get(spec, "replicatedJobs"), 0);
	assert_tree(json_path(first, "template", "spec", NULL),
		    "{'completionMode':'Indexed','template':{'spec':{'restartPolicy':'OnFailure',"
		    "'containers':[{'name':'c','image':'i'}]}}}");
	assert_string_equal(json_str(first, "groupName"), "default");
	json_remove(spec, "replicatedJobs");
	assert_tree(spec, "{'successPolicy':{'operator':'All'},"
			  "'startupPolicy':{'startupPolicyOrder':'AnyOrder'},"
			  "'network':{'enableDNSHostnames':true,'publishNotReadyAddresses':true},"
			  "'failurePolicy':{'maxRestarts':0,'restartStrategy':'Recreate','rules':["
			  "{'action':'FailJobSet','name':'failurePolicyRule0'}]}}");
}

static void a_job_set_names_only_what_is_in_it(void **state)
{
	(void)state;
	expect_wrong(
	    TYPE_JOB_SET, JS(",'successPolicy':{'operator':'Any','targetReplicatedJobs':['x']}"),
	    "spec.successPolicy.targetReplicatedJobs[0]: Invalid value: \"x\": must be the "
	    "name of a replicated job\n");
	expect_wrong(
	    TYPE_JOB_SET,
	    JS(",'failurePolicy':{'rules':[{'action':'FailJobSet','name':'9'},"
	       "{'action':'FailJobSet','name':'r'},{'action':'RestartJobSet','name':'r',"
	       "'onJobFailureReasons':['Sad'],'targetReplicatedJobs':['y']}]}"),
	    "spec.failurePolicy.rules[0].name: Invalid value: \"9\": must have 1 to 128 "
	    "characters and match ^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$\n"
	    "spec.failurePolicy.rules[2].targetReplicatedJobs[0]: Invalid value: \"y\": must be "
	    "the name of a replicated job\n"
	    "spec.failurePolicy.rules[2].name: Duplicate value: \"r\"\n"
	    "spec.failurePolicy.rules[2].onJobFailureReasons[0]: Invalid value: \"Sad\": must "
	    "be a reason for which a Job fails\n");
	expect_wrong(
	    TYPE_JOB_SET, JS(",'coordinator':{'replicatedJob':'b','jobIndex':2,'podIndex':1}"),
	    "spec.coordinator.jobIndex: Invalid value: 2: must be less than the replicas of "
	    "the replicated job\n"
	    "spec.coordinator.podIndex: Invalid value: 1: must be less than the completions "
	    "of the job\n");
	expect_wrong(TYPE_JOB_SET, JS(",'startupPolicy':{'startupPolicyOrder':'InOrder'}"),
		     "spec.replicatedJobs[1].dependsOn: Invalid value: [{\"name\":\"a\",\"status\":"
		     "\"Ready\"}]: startupPolicy InOrder and dependsOn cannot be used together\n");
}

static void names_made_from_a_job_set_must_fit(void **state)
{
	(void)state;
	expect_wrong(
	    TYPE_JOB_SET,
	    "{'metadata':{'name':'a-set-with-a-name-that-is-fairly-long-but-still-legal'},"
	    "'spec':{'replicatedJobs':[{'name':'wk','template':{'spec':{'template':{'spec':"
	    "{'containers':[{'name':'c','image':'i'}]}}}}}]}}",
	    "spec.replicatedJobs[0].name: Invalid value: \"wk\": names of its pods would have "
	    "66 characters, at most 63 may be\n");
	expect_wrong(
	    TYPE_JOB_SET,
	    "{'metadata':{'name':'js'},'spec':{'managedBy':'me','network':{'subdomain':'1'},"
	    "'replicatedJobs':[{'name':'x','replicas':2147483647,'template':{'spec':{"
	    "'parallelism':2,'template':{'spec':{'containers':[{'name':'c','image':'i'}]}}}}},"
	    "{'name':'x','template':{'spec':{'template':{'spec':{'containers':[{'name':'c',"
	    "'image':'i'}]}}}}}]}}",
	    "spec.network.subdomain: Invalid value: \"1\": a DNS-1035 label must consist of "
	    "lower case alphanumeric characters or '-', start with an alphabetic character, "
	    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
	    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')\n"
	    "spec.replicatedJobs[1]: Duplicate value: {\"name\":\"x\"}\n"
	    "spec.replicatedJobs[0].replicas: Invalid value: 2147483647: the product of "
	    "replicas and parallelism must not exceed 2147483647\n"
	    "spec.managedBy: Invalid value: \"me\": must be a valid domain-prefixed path\n");
}

static void a_job_set_changes_only_where_queues_may_steer(void **state)
{
	(void)state;
	static const char steered[] =
	    "{'metadata':{'name':'js'},'spec':{'suspend':false,'replicatedJobs':[{'name':'a',"
	    "'template':{'spec':{'template':{'metadata':{'labels':{'x':'y'}},'spec':{"
	    "'nodeSelector':{'pool':'p'},'containers':[{'name':'c','image':'i'}]}}}}}]}}";
	static const char held[] =
	    "{'metadata':{'name':'js'},'spec':{'suspend':true,'replicatedJobs':[{'name':'a',"
	    "'template':{'spec':{'template':{'spec':{'containers':[{'name':'c','image':'i'}]}}}}}]}}";
	static const char runs[] =
	    "{'metadata':{'name':'js'},'spec':{'suspend':false,'replicatedJobs':[{'name':'a',"
	    "'template':{'spec':{'template':{'spec':{'containers':[{'name':'c','image':'i'}]}}}}}]}}";
	expect_wrong_update(TYPE_JOB_SET, held, steered, "");
	expect_wrong_update(TYPE_JOB_SET, runs, steered,
			    "spec.replicatedJobs: Invalid value: field is immutable\n");
	expect_wrong_update(
	    TYPE_JOB_SET, JS(""), JS(",'network':{'subdomain':'n'}"),
	    "spec.network: Invalid value: {\"subdomain\":\"n\",\"enableDNSHostnames\":"
	    "true,\"publishNotReadyAddresses\":true}: field is immutable\n");
}

static void tf_and_mpi_jobs_have_roles_of_their_own(void **state)
{
	(void)state;
	expect_wrong(
	    TYPE_TF_JOB,
	    "{'metadata':{'name':'j'},'spec':{'tfReplicaSpecs':{'Chief':{'template':{'spec':"
	    "{'containers':[{'name':'tensorflow','image':'i'}]}}},'Master':{'template':{'spec':"
	    "{'containers':[{'name':'tensorflow','image':'i'}]}}}}}}",
	    "spec.tfReplicaSpecs[Master]: Forbidden: a job has a Chief or a Master, not both\n");
	expect_wrong(
	    TYPE_MPI_JOB,
	    "{'metadata':{'name':'j'},'spec':{'mainContainer':'run','mpiReplicaSpecs':{'Worker':"
	    "{'template':{'spec':{'containers':[{'name':'mpi','image':'i'}]}}}}}}",
	    "spec.mpiReplicaSpecs[Worker].template.spec.containers: Required value: must have "
	    "at least one container with name run\n"
	    "spec.mpiReplicaSpecs[Launcher]: Required value\n");
}

#define ROLE(container)                                                                            \
	"{'template':{'spec':{'containers':[{'name':'" container "','image':'i'}]}}}"
#define TRAINING(specs, roles) "{'metadata':{'name':'j'},'spec':{'" specs "':{" roles "}}}"

static void the_other_training_jobs_have_containers_and_roles_of_their_own(void **state)
{
	(void)state;
	auto_json *tree = tree_of(TRAINING("jaxReplicaSpecs", "'worker':" ROLE("jax")));
	auto_buf wrong = BUF_INIT;

	admit(hub_kind(TYPE_JAX_JOB), tree, NULL, &wrong, NULL);
	assert_string_equal(wrong.ptr, "");
	assert_tree(json_get(tree, "spec"),
		    "{'jaxReplicaSpecs':{'Worker':{'template':{'spec':{'containers':[{'name':'jax',"
		    "'image':'i'}]}},'replicas':1,'restartPolicy':'OnFailure'}},'runPolicy':{"
		    "'cleanPodPolicy':'None','suspend':false}}");
	expect_wrong(TYPE_JAX_JOB, TRAINING("jaxReplicaSpecs", "'Master':" ROLE("jax")),
		     "spec.jaxReplicaSpecs: Unsupported value: \"Master\": supported values: "
		     "\"Worker\"\nspec.jaxReplicaSpecs[Worker]: Required value\n");
	expect_wrong(TYPE_XGBOOST_JOB, TRAINING("xgbReplicaSpecs", "'Worker':" ROLE("xgboost")),
		     "spec.xgbReplicaSpecs[Master]: Required value\n");
	expect_wrong(TYPE_XGBOOST_JOB, TRAINING("xgbReplicaSpecs", "'Master':" ROLE("main")),
		     "spec.xgbReplicaSpecs[Master].template.spec.containers: Required value: must "
		     "have at least one container with name xgboost\n");
	expect_wrong(TYPE_PADDLE_JOB, TRAINING("paddleReplicaSpecs", "'Worker':" ROLE("paddle")),
		     "");
	expect_wrong(TYPE_PADDLE_JOB, TRAINING("paddleReplicaSpecs", ""),
		     "spec.paddleReplicaSpecs: Required value: must name at least one role\n");
}

static void a_ray_cluster_is_checked_as_that_of_a_job(void **state)
{
	(void)state;
#define CLUSTER(more) "{'metadata':{'name':'c'},'spec':{'headGroupSpec':" ROLE("ray") more "}}"
	expect_wrong(TYPE_RAY_CLUSTER, CLUSTER(""), "");
	expect_wrong(TYPE_RAY_CLUSTER, "{'metadata':{'name':'c'},'spec':{}}",
		     "spec.headGroupSpec: Required value\n");
	expect_wrong(TYPE_RAY_CLUSTER,
		     CLUSTER(",'workerGroupSpecs':[{'groupName':'g','template':{'spec':{"
			     "'containers':[]}}},{'groupName':'g','template':{'spec':{"
			     "'containers':[{'name':'c','image':'i'}]}}}]"),
		     "spec.workerGroupSpecs[0].template.spec.containers: Required value\n"
		     "spec.workerGroupSpecs[1].groupName: Duplicate value: \"g\"\n");
}

#define RAY(more)                                                                                  \
	"{'metadata':{'name':'r'},'spec':{'rayClusterSpec':{'headGroupSpec':{'template':{'spec':"  \
	"{'containers':[{'name':'h','image':'i'}]}}}" more "}}}"

static void a_ray_job_makes_its_own_cluster(void **state)
{
	(void)state;
	expect_wrong(TYPE_RAY_JOB, RAY(""), "");
	expect_wrong(TYPE_RAY_JOB, "{'metadata':{'name':'r'},'spec':{'clusterSelector':{'a':'b'}}}",
		     "spec.clusterSelector: Forbidden: jobs on an existing Ray cluster cannot be "
		     "suspended, and the hub starts every job from suspension\n");
	expect_wrong(TYPE_RAY_JOB, "{'metadata':{'name':'r'},'spec':{}}",
		     "spec.rayClusterSpec: Required value\n");
	expect_wrong(
	    TYPE_RAY_JOB,
	    RAY(",'workerGroupSpecs':[{'groupName':'g','minReplicas':2,'maxReplicas':1,"
		"'template':{'spec':{'containers':[]}}}]"),
	    "spec.rayClusterSpec.workerGroupSpecs[0].minReplicas: Invalid value: 2: must not "
	    "be greater than maxReplicas\n"
	    "spec.rayClusterSpec.workerGroupSpecs[0].template.spec.containers: Required "
	    "value\n");
}

#define RAY_HEAD(restart)                                                                          \
	"'rayClusterSpec':{'headGroupSpec':{'template':{'spec':{'restartPolicy':" restart          \
	",'containers':[{'name':'h','image':'i'}]}}}}"

static void what_submits_a_ray_job_goes_with_its_mode(void **state)
{
	(void)state;
	expect_wrong(TYPE_RAY_JOB,
		     "{'metadata':{'name':'r'},'spec':{'submissionMode':'InteractiveMode',"
		     "'backoffLimit':1," RAY_HEAD("'Never'") "}}",
		     "spec.backoffLimit: Invalid value: 1: must be 0 with submissionMode "
		     "InteractiveMode\n");
	expect_wrong(TYPE_RAY_JOB,
		     "{'metadata':{'name':'r'},'spec':{'submissionMode':'SidecarMode'," RAY_HEAD(
			 "'Never'") "}}",
		     "");
	expect_wrong(TYPE_RAY_JOB,
		     "{'metadata':{'name':'r'},'spec':{'submissionMode':'SidecarMode',"
		     "'submitterConfig':{}," RAY_HEAD("'Always'") "}}",
		     "spec.submitterConfig: Forbidden: may not be set with submissionMode "
		     "SidecarMode\n"
		     "spec.rayClusterSpec.headGroupSpec.template.spec.restartPolicy: Invalid "
		     "value: \"Always\": must be Never or unset with submissionMode "
		     "SidecarMode\n");
}

#define POLICY(spec)                                                                               \
	"{'metadata':{'name':'p','namespace':'n'},'spec':{'resourceSelectors':[{'apiVersion':"     \
	"'batch/v1','kind':'Job'}]" spec "}}"

static void a_policy_selects_one_way(void **state)
{
	(void)state;
	expect_wrong(TYPE_PROPAGATION_POLICY, POLICY(""), "");
	expect_wrong(TYPE_PROPAGATION_POLICY, "{'metadata':{'name':'p'},'spec':{}}",
		     "spec.resourceSelectors: Required value\n");
	expect_wrong(TYPE_PROPAGATION_POLICY,
		     "{'metadata':{'name':'p'},'spec':{'resourceSelectors':[]}}",
		     "spec.resourceSelectors: Invalid value: []: should have at least 1 items\n");
	expect_wrong(
	    TYPE_PROPAGATION_POLICY,
	    POLICY(",'placement':{'clusterAffinity':{'clusterNames':['a']},'clusterAffinities':"
		   "[{'affinityName':'x'},{'affinityName':'x'}]}"),
	    "spec.placement.clusterAffinities: Invalid value: clusterAffinities cannot "
	    "co-exist with clusterAffinity\n"
	    "spec.placement.clusterAffinities[1].affinityName: Duplicate value: \"x\"\n");
	expect_wrong(TYPE_PROPAGATION_POLICY,
		     POLICY(",'placement':{'replicaScheduling':{'customSchedulingType':'Pack'}}"),
		     "spec.placement.replicaScheduling.customSchedulingType: Unsupported value: "
		     "\"Pack\": supported values: \"Gang\"\n");
	expect_wrong(
	    TYPE_PROPAGATION_POLICY,
	    "{'metadata':{'name':'p','namespace':'n'},'spec':{'resourceSelectors':[{"
	    "'apiVersion':'v1','kind':'Pod','namespace':'m'}]}}",
	    "spec.resourceSelectors[0].namespace: Invalid value: \"m\": must be empty or the "
	    "policy's own namespace\n");
}

static void failover_is_accepted_in_both_spellings(void **state)
{
	(void)state;
	static const char *const modes[] = {"Directly", "Gracefully", "Never", "Immediately",
					    "Graciously"};
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		auto_buf text = BUF_INIT, wrong = BUF_INIT, warnings = BUF_INIT;
		buf_addf(&text,
			 "{'metadata':{'name':'p'},'spec':{'resourceSelectors':[{'apiVersion':'v1',"
			 "'kind':'Pod'}],'failover':{'application':{'purgeMode':'%s'}}}}",
			 modes[i]);
		auto_json *tree = tree_of(text.ptr);
		admit(hub_kind(TYPE_PROPAGATION_POLICY), tree, NULL, &wrong, &warnings);
		assert_string_equal(wrong.ptr, "");
		assert_int_equal(warnings.len > 0, strcmp(modes[i], "Directly") != 0 &&
						       strcmp(modes[i], "Immediately") != 0);
	}
}

#define FAILOVER(behaviour)                                                                        \
	"{'metadata':{'name':'p'},'spec':{'resourceSelectors':[{'apiVersion':'v1','kind':'Pod'}]," \
	"'failover':{" behaviour "}}}"

static void failover_has_times_that_can_be(void **state)
{
	(void)state;
	expect_wrong(TYPE_PROPAGATION_POLICY,
		     FAILOVER("'application':{'decisionConditions':{'tolerationSeconds':0},"
			      "'purgeMode':'Gracefully','gracePeriodSeconds':1}"),
		     "");
	expect_wrong(TYPE_PROPAGATION_POLICY,
		     FAILOVER("'application':{'purgeMode':'Never','gracePeriodSeconds':5}"),
		     "spec.failover.application.gracePeriodSeconds: Invalid value: 5: only takes "
		     "effect when purgeMode is gracefully\n");
	expect_wrong(TYPE_CLUSTER_PROPAGATION_POLICY,
		     FAILOVER("'application':{'gracePeriodSeconds':0}"),
		     "spec.failover.application.gracePeriodSeconds: Invalid value: 0: must be "
		     "greater than 0\n");
	expect_wrong(TYPE_PROPAGATION_POLICY,
		     FAILOVER("'application':{'statePreservation':{'rules':[]}}"),
		     "spec.failover.application.statePreservation: Forbidden: state of a failed "
		     "job is not carried to the next cluster by this hub; keep checkpoints in "
		     "storage that all clusters reach\n");
}

static void failover_of_clusters_is_told_to_do_nothing(void **state)
{
	(void)state;
	auto_buf wrong = BUF_INIT, warnings = BUF_INIT;
	auto_json *tree = tree_of(FAILOVER("'cluster':{'purgeMode':'Directly'}"));

	admit(hub_kind(TYPE_PROPAGATION_POLICY), tree, NULL, &wrong, &warnings);
	assert_string_equal(wrong.ptr, "");
	assert_non_null(strstr(warnings.ptr, "spec.failover.cluster has no effect"));
}

static void a_cluster_has_urls_and_unique_taints(void **state)
{
	(void)state;
	expect_wrong(TYPE_CLUSTER, "{'metadata':{'name':'c'},'spec':{'syncMode':'Push'}}", "");
	expect_wrong(
	    TYPE_CLUSTER,
	    "{'metadata':{'name':'a.b'},'spec':{'apiEndpoint':'ftp://x','zone':'z','zones':['z'],"
	    "'taints':[{'key':'k','effect':'NoSchedule'},{'key':'k','effect':'NoSchedule'}]}}",
	    "spec.syncMode: Required value\n"
	    "metadata.name: Invalid value: \"a.b\": must not contain dots\n"
	    "spec.apiEndpoint: Invalid value: \"ftp://x\": must be a URL\n"
	    "spec.taints[1]: Duplicate value: \"k:NoSchedule\": taints must be unique by key "
	    "and effect pair\n"
	    "spec.zone: Forbidden: zone and zones exclude each other\n");
}

static void a_quota_tree_has_names_and_amounts(void **state)
{
	(void)state;
	expect_wrong(TYPE_ELASTIC_QUOTA_TREE, "{'spec':{}}", "spec.root: Required value\n");
	expect_wrong(
	    TYPE_ELASTIC_QUOTA_TREE,
	    "{'spec':{'root':{'name':'root','children':[{'name':'a'},{'min':{'cpu':1}}]}}}",
	    "spec.root.children[1].name: Required value\n");
	expect_wrong(
	    TYPE_ELASTIC_QUOTA_TREE,
	    "{'spec':{'root':{'name':'root','children':[{'name':'a','max':{'cpu':'1e30'}}]}}}",
	    "spec.root.children[0].max[cpu]: Invalid value: \"1e30\": must fit in 64 bits\n");
}

static void a_priority_class_is_fixed_and_bounded(void **state)
{
	(void)state;
	expect_wrong(TYPE_PRIORITY_CLASS, "{'metadata':{'name':'p'},'value':1000000001}",
		     "value: Forbidden: maximum allowed value of a user defined priority is "
		     "1000000000\n");
	expect_wrong(
	    TYPE_PRIORITY_CLASS, "{'metadata':{'name':'system-x'},'value':1}",
	    "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved "
	    "for system use only\n");
	expect_wrong(TYPE_PRIORITY_CLASS, "{'metadata':{'name':'zero'}}", "");
	expect_wrong_update(TYPE_PRIORITY_CLASS, "{'metadata':{'name':'p'},'value':1}",
			    "{'metadata':{'name':'p'},'value':2,'preemptionPolicy':'Never'}",
			    "value: Forbidden: may not be changed in an update.\n"
			    "preemptionPolicy: Forbidden: may not be changed in an update.\n");
}

static void secrets_and_config_maps_keep_their_keys(void **state)
{
	(void)state;
	auto_json *tree = tree_of("{'data':{'old':'eA=='},'stringData':{'a':'x','b':'hello','c':'',"
				  "'d':'ab'}}");
	auto_buf wrong = BUF_INIT;

	admit(hub_kind(TYPE_SECRET), tree, NULL, &wrong, NULL);
	assert_string_equal(wrong.ptr, "");
	assert_tree(tree, "{'metadata':{},'type':'Opaque','data':{'old':'eA==','a':'eA==',"
			  "'b':'aGVsbG8=','c':'','d':'YWI='}}");
	expect_wrong(TYPE_SECRET, "{'type':'kubernetes.io/tls','data':{'tls.crt':'eA=='}}",
		     "data[tls.key]: Required value\n");
	expect_wrong(TYPE_SECRET, "{'type':'kubernetes.io/basic-auth','data':{'user':'eA=='}}",
		     "data[username]: Required value\ndata[password]: Required value\n");
	expect_wrong(TYPE_SECRET, "{'type':'kubernetes.io/basic-auth','data':{'username':'eA=='}}",
		     "");
	expect_wrong(TYPE_SECRET, "{'type':'kubernetes.io/service-account-token'}",
		     "metadata.annotations[kubernetes.io/service-account.name]: Required value\n");
	expect_wrong(TYPE_SECRET,
		     "{'metadata':{'annotations':{'kubernetes.io/service-account.name':'x'}},"
		     "'type':'kubernetes.io/service-account-token'}",
		     "");
	expect_wrong(
	    TYPE_SECRET,
	    "{'type':'kubernetes.io/dockerconfigjson','data':{'.dockerconfigjson':'eA=='}}",
	    "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": must be "
	    "a JSON document\n");
	expect_wrong(
	    TYPE_SECRET,
	    "{'type':'kubernetes.io/dockerconfigjson','data':{'.dockerconfigjson':'e30='}}", "");
	expect_wrong(TYPE_CONFIG_MAP,
		     "{'data':{'a b':'x','k':'y'},'binaryData':{'k':'eA==','l':'x'}}",
		     "binaryData[l]: Invalid value: \"x\": must be base64\n"
		     "data[a b]: Invalid value: \"a b\": a valid config key must consist of "
		     "alphanumeric characters, '-', '_' or '.'\n"
		     "binaryData[k]: Invalid value: \"k\": duplicate of key present in data\n");
	expect_wrong_update(TYPE_CONFIG_MAP, "{'immutable':true,'data':{'a':'b'}}",
			    "{'immutable':true,'data':{'a':'c'}}",
			    "data: Forbidden: field is immutable when `immutable` is set\n");
	expect_wrong_update(TYPE_SECRET, "{'type':'a'}", "{'type':'b'}",
			    "type: Invalid value: \"b\": field is immutable\n");
}

static void an_event_lies_beside_its_object(void **state)
{
	(void)state;
	expect_wrong(TYPE_EVENT,
		     "{'metadata':{'name':'e','namespace':'a'},'involvedObject':{'namespace':'b'}}",
		     "involvedObject.namespace: Invalid value: \"b\": does not match "
		     "event.namespace\n");
	expect_wrong(TYPE_EVENT,
		     "{'metadata':{'name':'e','namespace':'default'},'involvedObject':"
		     "{'kind':'Cluster','name':'c'}}",
		     "");
}

static void an_event_changes_shape_and_back(void **state)
{
	(void)state;
	static const char core[] =
	    "{'apiVersion':'v1','kind':'Event','involvedObject':{'name':'j'},'message':'m',"
	    "'source':{'component':'c'},'firstTimestamp':'2026-01-01T00:00:00Z','count':2,"
	    "'reportingComponent':'r','type':'Normal'}";
	static const char newer[] =
	    "{'apiVersion':'events.k8s.io/v1','kind':'Event','regarding':{'name':'j'},'note':'m',"
	    "'deprecatedSource':{'component':'c'},'deprecatedFirstTimestamp':'2026-01-01T00:00:00Z',"
	    "'deprecatedCount':2,'reportingController':'r','type':'Normal'}";
	const struct kind *k =
	    kind_by_resource(kinds_hub(), SPAN("events.k8s.io"), SPAN("v1"), SPAN("events"));
	auto_json *tree = tree_of(core);

	assert_non_null(k->convert);
	k->convert(k, tree, KIND_FROM_STORED);
	assert_tree(tree, newer);
	k->convert(k, tree, KIND_TO_STORED);
	assert_tree(tree, core);
}

static void a_namespace_is_born_active(void **state)
{
	(void)state;
	auto_json *tree = tree_of("{'metadata':{'name':'n'}}");
	auto_buf wrong = BUF_INIT;

	admit(hub_kind(TYPE_NAMESPACE), tree, NULL, &wrong, NULL);
	assert_tree(tree, "{'metadata':{'name':'n','labels':{'kubernetes.io/metadata.name':'n'}},"
			  "'spec':{'finalizers':['kubernetes']},'status':{'phase':'Active'}}");
}

static void a_pods_spec_is_fixed_but_for_its_images(void **state)
{
	(void)state;
	const struct kind *k = kind_by_type(kinds_sim(), TYPE_POD);
	auto_json *old =
	    tree_of("{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':"
		    "'i','resources':{'limits':{'cpu':1}}}]}}");
	auto_json *image =
	    tree_of("{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':"
		    "'j','resources':{'limits':{'cpu':1}}}]}}");
	auto_json *more =
	    tree_of("{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':"
		    "'i','resources':{'limits':{'cpu':2}}}]}}");
	auto_buf wrong = BUF_INIT;

	admit(k, old, NULL, &wrong, NULL);
	assert_string_equal(json_str(json_get(old, "status"), "phase"), "Pending");
	assert_non_null(json_path(json_at(json_path(old, "spec", "containers", NULL), 0),
				  "resources", "requests", "cpu", NULL));
	admit(k, image, old, &wrong, NULL);
	assert_string_equal(wrong.ptr, "");
	admit(k, more, old, &wrong, NULL);
	assert_true(
	    span_starts(buf_span(&wrong), SPAN("spec: Forbidden: pod updates may not change")));
}

static void gates_of_a_pod_only_go_and_selectors_come_with_them(void **state)
{
	(void)state;
	const struct kind *k = kind_by_type(kinds_sim(), TYPE_POD);
#define GATED_POD(spec)                                                                            \
	tree_of("{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'i'}]" spec    \
		"}}")
	auto_json *old = GATED_POD(",'nodeSelector':{'a':'1'},'schedulingGates':[{'name':'g'}]");
	auto_json *go = GATED_POD(",'nodeSelector':{'a':'1','b':'2'}");
	auto_json *other = GATED_POD(",'nodeSelector':{'a':'2'}");
	auto_json *gate = GATED_POD(",'nodeSelector':{'a':'1'},'schedulingGates':[{'name':'h'}]");
	auto_json *late = GATED_POD(",'nodeSelector':{'a':'1','b':'2','c':'3'}");
#undef GATED_POD
	auto_buf wrong = BUF_INIT;

	admit(k, old, NULL, &wrong, NULL);
	assert_string_equal(
	    json_str(json_at(json_path(old, "status", "conditions", NULL), 0), "reason"),
	    "SchedulingGated");
	admit(k, other, old, &wrong, NULL);
	assert_string_equal(wrong.ptr, "spec.nodeSelector: Invalid value: only additions to "
				       "spec.nodeSelector are allowed (no mutations or "
				       "deletions)\n");
	buf_clear(&wrong);
	admit(k, gate, old, &wrong, NULL);
	assert_string_equal(wrong.ptr, "spec.schedulingGates: Forbidden: only deletion is allowed, "
				       "but found new scheduling gate\n");
	buf_clear(&wrong);
	admit(k, go, old, &wrong, NULL);
	assert_string_equal(wrong.ptr, "");
	admit(k, late, go, &wrong, NULL);
	assert_true(
	    span_starts(buf_span(&wrong), SPAN("spec: Forbidden: pod updates may not change")));
}

/* The simulator's controllers write pods without defaults; what is stored gets them first. */
static void an_update_may_bring_the_defaults_of_a_pod(void **state)
{
	(void)state;
	const struct kind *k = kind_by_type(kinds_sim(), TYPE_POD);
#define BARE                                                                                       \
	"{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'i','resources':"      \
	"{'limits':{'cpu':1}}}]}}"
	auto_json *old = tree_of(BARE), *now = tree_of(BARE);
#undef BARE
	auto_buf wrong = BUF_INIT;

	schema_renew(k, old);
	admit(k, now, old, &wrong, NULL);
	assert_string_equal(wrong.ptr, "");
	assert_non_null(json_path(now, "spec", "dnsPolicy", NULL));
}

static void rbac_rules_say_what_they_are_for(void **state)
{
	(void)state;
	expect_wrong(TYPE_ROLE,
		     "{'metadata':{'name':'r'},'rules':[{'verbs':['get'],'apiGroups':[''],"
		     "'resources':['pods']}]}",
		     "");
	expect_wrong(TYPE_ROLE, "{'metadata':{'name':'r'},'rules':[{'verbs':[]}]}",
		     "rules[0].verbs: Required value: verbs must contain at least one value\n"
		     "rules[0].apiGroups: Required value: resource rules must supply at least one "
		     "api group\n"
		     "rules[0].resources: Required value: resource rules must supply at least one "
		     "resource\n");
	expect_wrong(TYPE_ROLE,
		     "{'metadata':{'name':'r'},'rules':[{'verbs':['get'],'nonResourceURLs':['/x']}"
		     "]}",
		     "rules[0].nonResourceURLs: Invalid value: [\"/x\"]: namespaced rules cannot "
		     "apply to non-resource URLs\n");
	expect_wrong(
	    TYPE_CLUSTER_ROLE,
	    "{'metadata':{'name':'r'},'rules':[{'verbs':['get'],'nonResourceURLs':['/x'],"
	    "'resources':['pods']}],'aggregationRule':{}}",
	    "rules[0].nonResourceURLs: Invalid value: [\"/x\"]: rules cannot apply to both "
	    "regular resources and non-resource URLs\n"
	    "aggregationRule.clusterRoleSelectors: Required value: at least one "
	    "clusterRoleSelector required if aggregationRule is non-nil\n");
}

#define ROLE_REF "'roleRef':{'kind':'ClusterRole','name':'view'}"

static void a_binding_names_a_role_and_real_subjects(void **state)
{
	(void)state;
	auto_json *tree =
	    tree_of("{'metadata':{'name':'b'}," ROLE_REF ",'subjects':[{'kind':'User',"
		    "'name':'u'}]}");
	auto_buf wrong = BUF_INIT;

	admit(hub_kind(TYPE_ROLE_BINDING), tree, NULL, &wrong, NULL);
	assert_string_equal(wrong.ptr, "");
	assert_tree(json_get(tree, "subjects"),
		    "[{'kind':'User','name':'u','apiGroup':'rbac.authorization.k8s.io'}]");
	expect_wrong(TYPE_CLUSTER_ROLE_BINDING,
		     "{'metadata':{'name':'b'}," ROLE_REF ",'subjects':[{'kind':'ServiceAccount',"
		     "'name':'u'},{'kind':'Robot','name':'x'},{'kind':'User','name':''}]}",
		     "subjects[0].namespace: Required value\n"
		     "subjects[1].kind: Unsupported value: \"Robot\": supported values: \"Group\", "
		     "\"ServiceAccount\", \"User\"\n"
		     "subjects[2].name: Required value\n");
	expect_wrong(TYPE_CLUSTER_ROLE_BINDING,
		     "{'metadata':{'name':'b'},'roleRef':{'kind':'Role','name':'x'}}",
		     "roleRef.kind: Unsupported value: \"Role\": supported values: "
		     "\"ClusterRole\"\n");
}

static void a_binding_stays_with_its_role(void **state)
{
	(void)state;
	auto_json *old = tree_of("{'metadata':{'name':'b'}," ROLE_REF "}");
	auto_json *tree =
	    tree_of("{'metadata':{'name':'b'},'roleRef':{'kind':'ClusterRole','name':'edit'}}");
	auto_buf wrong = BUF_INIT;

	admit(hub_kind(TYPE_ROLE_BINDING), tree, old, &wrong, NULL);
	assert_non_null(strstr(wrong.ptr, "cannot change roleRef"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_pytorch_job_is_filled_in),
	    cmocka_unit_test(a_pytorch_job_has_one_master_and_known_roles),
	    cmocka_unit_test(a_pytorch_pod_needs_its_container_and_image),
	    cmocka_unit_test(quantities_are_refused_with_their_whole_path),
	    cmocka_unit_test(pod_templates_keep_the_rules_of_pods),
	    cmocka_unit_test(a_job_is_filled_in_and_needs_a_final_restart_policy),
	    cmocka_unit_test(a_jobs_template_moves_only_while_it_never_ran),
	    cmocka_unit_test(a_job_set_is_filled_in),
	    cmocka_unit_test(a_job_set_names_only_what_is_in_it),
	    cmocka_unit_test(names_made_from_a_job_set_must_fit),
	    cmocka_unit_test(a_job_set_changes_only_where_queues_may_steer),
	    cmocka_unit_test(tf_and_mpi_jobs_have_roles_of_their_own),
	    cmocka_unit_test(the_other_training_jobs_have_containers_and_roles_of_their_own),
	    cmocka_unit_test(a_ray_cluster_is_checked_as_that_of_a_job),
	    cmocka_unit_test(a_ray_job_makes_its_own_cluster),
	    cmocka_unit_test(what_submits_a_ray_job_goes_with_its_mode),
	    cmocka_unit_test(a_policy_selects_one_way),
	    cmocka_unit_test(failover_is_accepted_in_both_spellings),
	    cmocka_unit_test(failover_has_times_that_can_be),
	    cmocka_unit_test(failover_of_clusters_is_told_to_do_nothing),
	    cmocka_unit_test(a_cluster_has_urls_and_unique_taints),
	    cmocka_unit_test(a_quota_tree_has_names_and_amounts),
	    cmocka_unit_test(a_priority_class_is_fixed_and_bounded),
	    cmocka_unit_test(secrets_and_config_maps_keep_their_keys),
	    cmocka_unit_test(an_event_lies_beside_its_object),
	    cmocka_unit_test(an_event_changes_shape_and_back),
	    cmocka_unit_test(a_namespace_is_born_active),
	    cmocka_unit_test(a_pods_spec_is_fixed_but_for_its_images),
	    cmocka_unit_test(an_update_may_bring_the_defaults_of_a_pod),
	    cmocka_unit_test(gates_of_a_pod_only_go_and_selectors_come_with_them),
	    cmocka_unit_test(rbac_rules_say_what_they_are_for),
	    cmocka_unit_test(a_binding_names_a_role_and_real_subjects),
	    cmocka_unit_test(a_binding_stays_with_its_role),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
