#include "kinds_test.h"

#include <errno.h>

struct indexed {
	struct arena mem;
	struct buf bytes;
	struct job_digest d;
};

static void done(struct indexed *i)
{
	buf_done(&i->bytes);
	arena_done(&i->mem);
}

static void index_of(uint16_t type, const char *job, struct indexed *ret)
{
	auto_json *tree = tree_of(job);
	struct err e = ERR_INIT;
	const struct kind *k = hub_kind(type);

	*ret = (struct indexed){.mem = ARENA_INIT};
	if (k->digest(k, tree, &ret->bytes, &e) < 0)
		fail_msg("%s: %s", e.field, e.text);
	assert_int_equal(job_digest_unpack(buf_span(&ret->bytes), &ret->mem, &ret->d), 0);
}

static void expect_set(const struct job_digest *d, size_t i, const char *name, int64_t count)
{
	assert_true(i < d->n_pod_sets);
	assert_text(d->pod_sets[i].name, name);
	assert_int_equal(d->pod_sets[i].count, count);
}

#define POD(requests)                                                                              \
	"{'spec':{'containers':[{'name':'c','resources':{'requests':{" requests "}}}]}}"

static void a_pytorch_job_has_master_then_worker(void **state)
{
	(void)state;
	struct indexed i;
	index_of(
	    TYPE_PYTORCH_JOB,
	    "{'metadata':{'labels':{'kueue.x-k8s.io/queue-name':'q','team':'a'}},"
	    "'spec':{'runPolicy':{'suspend':true,'ttlSecondsAfterFinished':60},"
	    "'pytorchReplicaSpecs':{'Worker':{'replicas':4,'template':" POD(
		"'cpu':'2'") "},"
			     "'Master':{'template':" POD("'cpu':'500m','nvidia.com/gpu':1") "}}}}",
	    &i);
	assert_int_equal(i.d.n_pod_sets, 2);
	expect_set(&i.d, 0, "master", 1);
	expect_set(&i.d, 1, "worker", 4);
	assert_int_equal(i.d.pod_sets[0].pod.n_requests, 2);
	assert_true(i.d.suspend);
	assert_true(i.d.preemptible);
	assert_false(i.d.single_template);
	assert_int_equal(i.d.ttl_seconds, 60);
	assert_text(i.d.queue_name, "q");
	assert_null(i.d.quota_name.ptr);
	assert_int_equal(i.d.n_labels, 2);
	done(&i);
}

static void a_job_is_one_set_no_larger_than_its_completions(void **state)
{
	(void)state;
	struct indexed i;
	index_of(TYPE_JOB,
		 "{'metadata':{'annotations':{'kueue.x-k8s.io/queue-name':'old'}},"
		 "'spec':{'parallelism':8,'completions':3,'template':" POD("'cpu':1") "}}",
		 &i);
	assert_int_equal(i.d.n_pod_sets, 1);
	expect_set(&i.d, 0, "main", 3);
	assert_true(i.d.single_template);
	assert_int_equal(i.d.ttl_seconds, -1);
	assert_text(i.d.queue_name, "old");
	done(&i);
	index_of(TYPE_JOB, "{'spec':{'parallelism':0,'template':" POD("") "}}", &i);
	assert_int_equal(i.d.n_pod_sets, 0);
	done(&i);
}

static void a_job_set_multiplies_and_keeps_topology_groups(void **state)
{
	(void)state;
	struct indexed i;
	index_of(
	    TYPE_JOB_SET,
	    "{'metadata':{'annotations':{'alpha.jobset.sigs.k8s.io/exclusive-topology':'pool'}},"
	    "'spec':{'suspend':false,'replicatedJobs':["
	    "{'name':'slice','replicas':3,'template':{'spec':{'parallelism':2,'completions':2,"
	    "'template':" POD(
		"'google.com/tpu':4") "}}},"
				      "{'name':'driver','template':{'metadata':{'annotations':"
				      "{'alpha.jobset.sigs.k8s.io/exclusive-topology':'rack'}},'spec':{'template':" POD(
					  "") "}}}]}}",
	    &i);
	assert_int_equal(i.d.n_pod_sets, 2);
	expect_set(&i.d, 0, "slice", 6);
	assert_int_equal(i.d.pod_sets[0].groups, 3);
	assert_text(i.d.pod_sets[0].exclusive_topology, "pool");
	expect_set(&i.d, 1, "driver", 1);
	assert_text(i.d.pod_sets[1].exclusive_topology, "rack");
	done(&i);
}

static void with_the_node_selector_strategy_each_job_has_nodes_of_its_name(void **state)
{
	(void)state;
	struct indexed i;
	index_of(TYPE_JOB_SET,
		 "{'metadata':{'name':'js','namespace':'team','annotations':{"
		 "'alpha.jobset.sigs.k8s.io/exclusive-topology':'pool',"
		 "'alpha.jobset.sigs.k8s.io/node-selector':''}},'spec':{'replicatedJobs':["
		 "{'name':'slice','replicas':2,'template':{'spec':{'template':" POD("") "}}}]}}",
		 &i);
	assert_int_equal(i.d.n_pod_sets, 1);
	const struct job_pod_set *set = &i.d.pod_sets[0];
	assert_int_equal(set->groups, 2);
	assert_text(set->exclusive_topology, "alpha.jobset.sigs.k8s.io/namespaced-job");
	assert_int_equal(set->pod.n_affinity, 1);
	assert_int_equal(set->pod.affinity[0].n_requirements, 1);
	const struct info_requirement *r = &set->pod.affinity[0].requirements[0];
	assert_text(r->key, "alpha.jobset.sigs.k8s.io/namespaced-job");
	assert_int_equal(r->n_values, 2);
	assert_text(r->values[0], "team_js-slice-0");
	assert_text(r->values[1], "team_js-slice-1");
	assert_int_equal(set->pod.n_tolerations, 1);
	assert_text(set->pod.tolerations[0].key, "alpha.jobset.sigs.k8s.io/no-schedule");
	done(&i);
}

static void roles_of_tf_and_mpi_jobs_come_in_their_own_order(void **state)
{
	(void)state;
	struct indexed i;
	index_of(TYPE_TF_JOB,
		 "{'spec':{'tfReplicaSpecs':{'Worker':{'replicas':2,'template':" POD(
		     "") "},"
			 "'PS':{'template':" POD("") "},'Chief':{'template':" POD("") "}}}}",
		 &i);
	expect_set(&i.d, 0, "chief", 1);
	expect_set(&i.d, 1, "ps", 1);
	expect_set(&i.d, 2, "worker", 2);
	done(&i);
	index_of(TYPE_MPI_JOB,
		 "{'spec':{'mpiReplicaSpecs':{'Worker':{'replicas':2,'template':" POD(
		     "") "},"
			 "'Launcher':{'template':" POD("") "}}}}",
		 &i);
	expect_set(&i.d, 0, "launcher", 1);
	expect_set(&i.d, 1, "worker", 2);
	done(&i);
}

static void the_other_training_jobs_and_ray_clusters_are_counted(void **state)
{
	(void)state;
	struct indexed i;
#define TWO_ROLES(specs)                                                                           \
	"{'spec':{'" specs                                                                         \
	"':{'Worker':{'replicas':3,'template':" POD("") "},'Master':{"                             \
							"'template':" POD("") "}}}}"
	index_of(TYPE_XGBOOST_JOB, TWO_ROLES("xgbReplicaSpecs"), &i);
	expect_set(&i.d, 0, "master", 1);
	expect_set(&i.d, 1, "worker", 3);
	done(&i);
	index_of(TYPE_PADDLE_JOB, TWO_ROLES("paddleReplicaSpecs"), &i);
	expect_set(&i.d, 0, "master", 1);
	expect_set(&i.d, 1, "worker", 3);
	done(&i);
	index_of(TYPE_JAX_JOB,
		 "{'spec':{'jaxReplicaSpecs':{'Worker':{'replicas':3,'template':" POD("") "}}}}",
		 &i);
	assert_int_equal(i.d.n_pod_sets, 1);
	expect_set(&i.d, 0, "worker", 3);
	done(&i);
	index_of(TYPE_RAY_CLUSTER,
		 "{'spec':{'headGroupSpec':{'template':" POD(
		     "") "},'workerGroupSpecs':[{'groupName':'g','replicas':2,'numOfHosts':2,"
			 "'template':" POD("") "}]}}",
		 &i);
	assert_int_equal(i.d.n_pod_sets, 2);
	expect_set(&i.d, 0, "ray-head", 1);
	expect_set(&i.d, 1, "g", 4);
	done(&i);
}

static void a_ray_job_counts_head_and_groups_but_not_its_submitter(void **state)
{
	(void)state;
	struct indexed i;
	index_of(
	    TYPE_RAY_JOB,
	    "{'spec':{'ttlSecondsAfterFinished':0,'submitterPodTemplate':{'spec':{'containers':[],"
	    "'serviceAccountName':'sub'}},'rayClusterSpec':{'headGroupSpec':{'template':" POD("") "},'workerGroupSpecs':[{'groupName':'gpu','replicas':2,'numOfHosts':4,'template':" POD(
		"") "},{'groupName':'idle','replicas':0,'template':" POD("") "},"
									     "{'groupName':'off','replicas':3,'suspend':true,'template':" POD(
										 "") "}]}}}",
	    &i);
	assert_int_equal(i.d.n_pod_sets, 2);
	expect_set(&i.d, 0, "ray-head", 1);
	expect_set(&i.d, 1, "gpu", 8);
	assert_int_equal(i.d.ttl_seconds, -1);
	assert_int_equal(i.d.n_dependencies, 1);
	assert_text(i.d.dependencies[0].name, "sub");
	assert_text(i.d.submitter->name, "submitter");
	done(&i);
}

static void a_submitter_has_a_pod_of_its_own_in_one_mode(void **state)
{
	static const struct {
		const char *mode;
		bool has;
	} modes[] = {{"K8sJobMode", true}, {"HTTPMode", false}, {"InteractiveMode", false}};
	struct indexed i;
	(void)state;

	for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
		auto_buf job = BUF_INIT;
		/* Where there is no such pod its template is not looked at either. */
		buf_addf(&job,
			 "{'spec':{'submissionMode':'%s','submitterPodTemplate':{'spec':{"
			 "'containers':[],'serviceAccountName':'sub'}},'rayClusterSpec':{"
			 "'headGroupSpec':{'template':" POD("") "}}}}",
			 modes[m].mode);
		index_of(TYPE_RAY_JOB, job.ptr, &i);
		assert_int_equal(i.d.n_pod_sets, 1);
		assert_int_equal(i.d.submitter != NULL, modes[m].has);
		assert_int_equal(i.d.n_dependencies, modes[m].has);
		done(&i);
	}
}

static void what_pods_name_is_listed_once(void **state)
{
	(void)state;
	static const char *const want[] = {"3/sa",  "0/vol", "1/sec", "2/claim", "0/proj", "1/psec",
					   "1/csi", "0/env", "1/key", "0/from",	 "1/pull"};
	struct indexed i;
	index_of(
	    TYPE_JOB,
	    "{'spec':{'template':{'spec':{'serviceAccountName':'sa','volumes':["
	    "{'name':'a','configMap':{'name':'vol'}},{'name':'b','secret':{'secretName':'sec'}},"
	    "{'name':'c','persistentVolumeClaim':{'claimName':'claim'}},"
	    "{'name':'d','projected':{'sources':[{'configMap':{'name':'proj'}},"
	    "{'secret':{'name':'psec'}},{'serviceAccountToken':{'path':'t'}},"
	    "{'configMap':{'name':'kube-root-ca.crt'}}]}},"
	    "{'name':'e','csi':{'driver':'x','nodePublishSecretRef':{'name':'csi'}}},"
	    "{'name':'f','configMap':{'name':'vol'}},{'name':'g','emptyDir':{}}],"
	    "'containers':[{'name':'c','env':["
	    "{'name':'E','valueFrom':{'configMapKeyRef':{'name':'env','key':'k'}}},"
	    "{'name':'S','valueFrom':{'secretKeyRef':{'name':'key','key':'k'}}},"
	    "{'name':'P','value':'plain'}],"
	    "'envFrom':[{'configMapRef':{'name':'from'}},{'secretRef':{'name':'sec'}}]}],"
	    "'imagePullSecrets':[{'name':'pull'}]}}}}",
	    &i);
	assert_int_equal(i.d.n_dependencies, ARRAY_LEN(want));
	for (size_t n = 0; n < ARRAY_LEN(want); n++) {
		char got[64];
		(void)snprintf(got, sizeof(got), "%d/%.*s", (int)i.d.dependencies[n].kind,
			       SPAN_ARGS(i.d.dependencies[n].name));
		assert_string_equal(got, want[n]);
	}
	done(&i);
	index_of(TYPE_JOB, "{'spec':{'template':{'spec':{'serviceAccountName':'default'}}}}", &i);
	assert_int_equal(i.d.n_dependencies, 0);
	done(&i);
}

static void many_dependencies_are_listed_once_too(void **state)
{
	(void)state;
	auto_buf job = BUF_INIT;
	struct indexed i;
	buf_add_str(&job, "{'spec':{'template':{'spec':{'containers':[{'name':'c','envFrom':[");
	for (int n = 0; n < 100; n++)
		buf_addf(&job, "%s{'%s':{'name':'n%d'}}", n ? "," : "",
			 n % 2 ? "configMapRef" : "secretRef", n / 4);
	buf_add_str(&job, "]}]}}}}");
	index_of(TYPE_JOB, job.ptr, &i);
	assert_int_equal(i.d.n_dependencies, 50);
	for (size_t n = 0; n < i.d.n_dependencies; n++) {
		char want[24];
		(void)snprintf(want, sizeof(want), "n%zu", n / 2);
		assert_true(span_is(i.d.dependencies[n].name, want));
		assert_int_equal(i.d.dependencies[n].kind, n % 2 ? 0 : 1);
	}
	done(&i);
}

static void labels_choose_quota_and_preemption(void **state)
{
	(void)state;
	struct indexed i;
	index_of(TYPE_JOB,
		 "{'metadata':{'labels':{'quota.scheduling.koordinator.sh/name':'k',"
		 "'quota.scheduling.alibabacloud.com/name':'a',"
		 "'quota.scheduling.alibabacloud.com/preemptible':'false'},"
		 "'annotations':{'autoscaling.x-k8s.io/consume-provisioning-request':'pr'}},"
		 "'spec':{'template':{'spec':{'priorityClassName':'high','containers':[]}}}}",
		 &i);
	assert_text(i.d.quota_name, "a");
	assert_text(i.d.provisioning_request, "pr");
	assert_true(i.d.consumers == UINT64_MAX);
	assert_text(i.d.priority_class, "high");
	assert_false(i.d.preemptible);
	done(&i);
}

static void only_sets_that_name_a_request_take_its_nodes(void **state)
{
	(void)state;
	struct indexed i;
	index_of(
	    TYPE_PYTORCH_JOB,
	    "{'spec':{'pytorchReplicaSpecs':{'Master':{'template':" POD(
		"'cpu':1") "},'Worker':{"
			   "'replicas':2,'template':{'metadata':{'annotations':{'cluster-autoscaler."
			   "kubernetes.io/consume-provisioning-request':'pr'}},'spec':{'containers':[{'name':"
			   "'c'}]}}}}}}",
	    &i);
	expect_set(&i.d, 1, "worker", 2);
	assert_text(i.d.provisioning_request, "pr");
	assert_int_equal(i.d.consumers, 2);
	done(&i);
	index_of(TYPE_JOB, "{'spec':{'template':" POD("'cpu':1") "}}", &i);
	assert_int_equal(i.d.consumers, 0);
	done(&i);
}

static void everything_placement_reads_survives_the_row(void **state)
{
	(void)state;
	struct indexed i;
	index_of(TYPE_JOB,
		 "{'spec':{'template':{'spec':{'nodeSelector':{'a':'b'},"
		 "'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':"
		 "{'nodeSelectorTerms':[{'matchExpressions':[{'key':'k','operator':'NotIn',"
		 "'values':['x','y']},{'key':'g','operator':'Gt','values':['4']}]},"
		 "{'matchFields':[{'key':'metadata.name','operator':'In','values':['n']}]}]}}},"
		 "'tolerations':[{'key':'t','operator':'Exists','effect':'NoExecute'},"
		 "{'operator':'Exists'},{'key':'u','operator':'Exists','effect':'NoExecute',"
		 "'tolerationSeconds':300},{'key':'v','operator':'Exists','effect':'NoExecute',"
		 "'tolerationSeconds':-1}],'containers':[]}}}}",
		 &i);
	const struct template_info *t = &i.d.pod_sets[0].pod;
	assert_int_equal(t->n_node_selector, 1);
	assert_text(t->node_selector[0].value, "b");
	assert_int_equal(t->n_affinity, 2);
	assert_int_equal(t->affinity[0].n_requirements, 2);
	assert_int_equal(t->affinity[0].requirements[0].op, MATCH_NOT_IN);
	assert_text(t->affinity[0].requirements[0].values[1], "y");
	assert_int_equal(t->affinity[0].requirements[1].op, MATCH_GT);
	assert_true(t->affinity[1].requirements[0].is_field);
	assert_int_equal(t->n_tolerations, 4);
	assert_int_equal(t->tolerations[0].effect, INFO_NO_EXECUTE);
	assert_false(t->tolerations[0].any_effect);
	assert_false(t->tolerations[0].limited);
	assert_true(t->tolerations[2].limited);
	assert_int_equal(t->tolerations[2].seconds, 300);
	assert_int_equal(t->tolerations[2].effect, INFO_NO_EXECUTE);
	assert_text(t->tolerations[2].key, "u");
	assert_true(t->tolerations[3].limited);
	assert_int_equal(t->tolerations[3].seconds, 0);
	assert_int_equal(t->tolerations[1].op, TOLERATE_EXISTS);
	assert_true(t->tolerations[1].any_effect);
	assert_null(t->tolerations[1].key.ptr);
	done(&i);
}

static void a_digest_is_refused_for_too_many_pods_or_bad_amounts(void **state)
{
	(void)state;
	auto_json *many = tree_of("{'spec':{'parallelism':100001,'template':{'spec':{}}}}");
	auto_json *bad = tree_of("{'spec':{'template':" POD("'cpu':'1e30'") "}}");
	auto_json *together = tree_of(
	    "{'spec':{'parallelism':2,'completions':2,'template':" POD("'memory':'5E'") "}}");
	auto_buf out = BUF_INIT;
	struct err e = ERR_INIT;
	const struct kind *k = hub_kind(TYPE_JOB);

	assert_int_equal(k->digest(k, many, &out, &e), err_errno(ERR_INVALID));
	assert_string_equal(e.field, "spec");
	assert_non_null(strstr(e.text, "100001"));
	assert_int_equal(k->digest(k, together, &out, &e), err_errno(ERR_INVALID));
	assert_string_equal(e.field, "spec");
	assert_non_null(strstr(e.text, "memory"));
	assert_int_equal(k->digest(k, bad, &out, &e), err_errno(ERR_INVALID));
	assert_string_equal(e.field, "spec.template.spec.containers[0].resources.requests[cpu]");
	assert_int_equal(out.len, 0);
}

static void every_cut_of_a_digest_is_malformed(void **state)
{
	(void)state;
	struct indexed i;
	index_of(
	    TYPE_PYTORCH_JOB,
	    "{'metadata':{'labels':{'a':'b'}},'spec':{'pytorchReplicaSpecs':{'Master':{'template':"
	    "{'spec':{'tolerations':[{'key':'t'}],'nodeSelector':{'x':'y'},'containers':[{'name':"
	    "'c','env':[{'name':'e','valueFrom':{'secretKeyRef':{'name':'s'}}}],"
	    "'resources':{'limits':{'cpu':1}}}]}}}}}}",
	    &i);
	for (size_t n = 0; n < i.bytes.len; n++) {
		auto_arena mem = ARENA_INIT;
		struct job_digest d;
		char *cut = xstrndup(i.bytes.ptr, n);
		assert_int_equal(job_digest_unpack(span_make(cut, n), &mem, &d), -EINVAL);
		free(cut);
	}
	buf_add_char(&i.bytes, 'x');
	assert_int_equal(job_digest_unpack(buf_span(&i.bytes), &i.mem, &i.d), -EINVAL);
	done(&i);
}

/* The annotation may be longer than a label's value, and goes before it. */
static void the_workload_that_it_names_is_read(void **state)
{
	(void)state;
	struct indexed i;
	index_of(TYPE_JOB,
		 "{'metadata':{'labels':{'kueue.x-k8s.io/prebuilt-workload-name':'a'}},'spec':{"
		 "'template':" POD("") "}}",
		 &i);
	assert_text(i.d.prebuilt, "a");
	done(&i);
	index_of(TYPE_JOB,
		 "{'metadata':{'annotations':{'kueue.x-k8s.io/prebuilt-workload-name':'b'},"
		 "'labels':{'kueue.x-k8s.io/prebuilt-workload-name':'a'}},'spec':{'template':" POD(
		     "") "}}",
		 &i);
	assert_text(i.d.prebuilt, "b");
	done(&i);
	index_of(TYPE_JOB, "{'metadata':{},'spec':{'template':" POD("") "}}", &i);
	assert_null(i.d.prebuilt.ptr);
	done(&i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_pytorch_job_has_master_then_worker),
	    cmocka_unit_test(a_job_is_one_set_no_larger_than_its_completions),
	    cmocka_unit_test(a_job_set_multiplies_and_keeps_topology_groups),
	    cmocka_unit_test(with_the_node_selector_strategy_each_job_has_nodes_of_its_name),
	    cmocka_unit_test(roles_of_tf_and_mpi_jobs_come_in_their_own_order),
	    cmocka_unit_test(the_other_training_jobs_and_ray_clusters_are_counted),
	    cmocka_unit_test(a_ray_job_counts_head_and_groups_but_not_its_submitter),
	    cmocka_unit_test(a_submitter_has_a_pod_of_its_own_in_one_mode),
	    cmocka_unit_test(what_pods_name_is_listed_once),
	    cmocka_unit_test(many_dependencies_are_listed_once_too),
	    cmocka_unit_test(labels_choose_quota_and_preemption),
	    cmocka_unit_test(only_sets_that_name_a_request_take_its_nodes),
	    cmocka_unit_test(everything_placement_reads_survives_the_row),
	    cmocka_unit_test(a_digest_is_refused_for_too_many_pods_or_bad_amounts),
	    cmocka_unit_test(every_cut_of_a_digest_is_malformed),
	    cmocka_unit_test(the_workload_that_it_names_is_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
