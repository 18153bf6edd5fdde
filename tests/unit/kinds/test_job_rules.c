/* Bad input to jobs of every kind: the exact path and words of everything that is wrong. */
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
	    "spec.template.labels: Invalid value: \"bad key\": name part must consist of "
	    "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
	    "character (e.g. 'MyName',  or 'my.name',  or "
	    "'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')\n"
	    "spec.template.labels: Invalid value: \"-\": a valid label must be an empty "
	    "string or consist of alphanumeric characters, '-', '_' or '.', and must start and end "
	    "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
	    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')\n"
	    "spec.template.spec.containers[0].env[0].name: Invalid value: \"A=B\": a valid "
	    "environment variable name must consist only of printable ASCII characters other than "
	    "'='\n"
	    "spec.template.spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "
	    "\"p\": error converting fieldPath: field label not supported\n"
	    "spec.template.spec.containers[0].env[0].valueFrom: Invalid value: \"\": may not be "
	    "specified when `value` is not empty\n"
	    "spec.template.spec.containers[0].env[1].valueFrom: Invalid value: \"\": must specify "
	    "one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or "
	    "`fileKeyRef`\n"
	    "spec.template.spec.containers[0].volumeMounts[1].name: Not found: \"w\"\n"
	    "spec.template.spec.containers[0].resources.limits[gpu]: Invalid value: \"gpu\": must be "
	    "a standard resource for containers\n"
	    "spec.template.spec.containers[0].resources.requests: Invalid value: \"1500m\": must "
	    "be less than or equal to cpu limit of 1\n"
	    "spec.template.spec.initContainers[0].name: Duplicate value: \"a\"\n"
	    "spec.template.spec.nodeSelector: Invalid value: \"/\": a valid label must be an empty "
	    "string or consist of alphanumeric characters, '-', '_' or '.', and must start and end "
	    "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
	    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')\n"
	    "spec.template.spec.tolerations[0].operator: Invalid value: \"v\": value must be empty "
	    "when `operator` is 'Exists'\n"
	    "spec.template.spec.tolerations[1].operator: Invalid value: \"Equal\": operator must be "
	    "Exists when `key` is empty, which means \"match all values and all keys\"\n"
	    "spec.template.spec.tolerations[2].effect: Invalid value: \"NoSchedule\": effect must be "
	    "'NoExecute' when `tolerationSeconds` is set\n"
	    "metadata.labels: Invalid value: \"bad key\": name part must consist of "
	    "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
	    "character (e.g. 'MyName',  or 'my.name',  or "
	    "'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')\n"
	    "metadata.labels: Invalid value: \"-\": a valid label must be an empty "
	    "string or consist of alphanumeric characters, '-', '_' or '.', and must start and end "
	    "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
	    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')\n");
}

#define PROBED_JOB(label)                                                                          \
	"{'metadata':{'name':'j'" label "},'spec':{'template':{'spec':{'restartPolicy':'Never',"   \
	"'containers':[{'name':'c','image':'i','livenessProbe':{}}]}}}}"

static void a_template_that_was_stored_before_a_rule_is_not_judged_by_it(void **state)
{
	(void)state;
	auto_json *stored = tree_of(PROBED_JOB(""));
	auto_json *labelled = tree_of(PROBED_JOB(",'labels':{'a':'b'}"));
	auto_buf refused = BUF_INIT, wrong = BUF_INIT;

	admit(hub_kind(TYPE_JOB), stored, NULL, &refused, NULL);
	assert_string_equal(refused.ptr,
			    "spec.template.spec.containers[0].livenessProbe: Required value: must "
			    "specify a handler type\n");
	admit(hub_kind(TYPE_JOB), labelled, stored, &wrong, NULL);
	assert_string_equal(wrong.ptr, "");
}

static void the_pods_of_other_kinds_are_not_judged_by_the_rules_of_core(void **state)
{
	(void)state;
	expect_wrong(
	    TYPE_PYTORCH_JOB,
	    PYTORCH("'Master':{'template':{'spec':{'containers':[{'name':'pytorch',"
		    "'image':'i','livenessProbe':{},'ports':[{'name':'A','containerPort':1}],"
		    "'resources':{'requests':{'example.com/gpu':'1'}}}],"
		    "'hostAliases':[{'ip':'x'}]}}}"),
	    "");
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
		     "spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode\n"
		     "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is "
		     "specified\n");
	expect_wrong(TYPE_JOB, "{}",
		     "spec.template.spec.containers: Required value\n"
		     "spec.template.spec.restartPolicy: Required value: valid values: "
		     "\"OnFailure\", \"Never\"\n");
	expect_wrong(TYPE_JOB, "{'spec':{'parallelism':-1," JOB_POD "}}",
		     "spec.parallelism: Invalid value: -1: must be greater than or equal to 0\n");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_pytorch_job_is_filled_in),
	    cmocka_unit_test(a_pytorch_job_has_one_master_and_known_roles),
	    cmocka_unit_test(a_pytorch_pod_needs_its_container_and_image),
	    cmocka_unit_test(quantities_are_refused_with_their_whole_path),
	    cmocka_unit_test(pod_templates_keep_the_rules_of_pods),
	    cmocka_unit_test(a_template_that_was_stored_before_a_rule_is_not_judged_by_it),
	    cmocka_unit_test(the_pods_of_other_kinds_are_not_judged_by_the_rules_of_core),
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
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
