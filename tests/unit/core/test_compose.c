/*
 * What a job of each kind asks of its queue (reference/kueue.md 2.1 and 2.11), by numbers.
 */
#include "../kinds/kinds_test.h"

#include "core/kueue/compose.h"

#include <ctype.h>

#define UID "11111111-2222-4333-8444-555555555555"

struct composed {
	struct arena mem;
	struct buf bytes;
	struct job_digest job;
	struct workload_digest w;
};

static void compose(uint16_t type, const char *json, const struct compose_options *o,
		    struct composed *ret)
{
	auto_json *tree = tree_of(json);
	struct err e = ERR_INIT;
	const struct kind *k = hub_kind(type);

	*ret = (struct composed){.mem = ARENA_INIT};
	if (k->digest(k, tree, &ret->bytes, &e) < 0)
		fail_msg("%s: %s", e.field, e.text);
	assert_int_equal(job_digest_unpack(buf_span(&ret->bytes), &ret->mem, &ret->job), 0);
	if (compose_workload(&ret->job, type, o, &ret->mem, &ret->w, &e) < 0)
		fail_msg("%s", e.text);
}

static void done(struct composed *c)
{
	buf_done(&c->bytes);
	arena_done(&c->mem);
}

/* "name count*cpu" of every pod set, the cpu in milli-units per pod: "main 3*500". */
static void expect_sets(const struct composed *c, const char *want)
{
	auto_buf text = BUF_INIT;
	auto_arena mem = ARENA_INIT;
	const struct kueue_pod_set *sets = compose_engine_sets(&c->w, NULL, &mem);

	for (size_t i = 0; i < c->w.n_pod_sets; i++) {
		int64_t cpu = 0;
		for (size_t k = 0; k < sets[i].n_requests; k++)
			if (span_is(sets[i].requests[k].resource, "cpu"))
				cpu = sets[i].requests[k].value;
		buf_addf(&text, "%s%.*s %d*%lld", i ? ", " : "", SPAN_ARGS(sets[i].name),
			 sets[i].count, (long long)cpu);
	}
	assert_string_equal(text.ptr, want);
}

static const struct compose_options plain = {false, false};

#define POD(cpu) "{'spec':{'containers':[{'name':'c','resources':{'requests':{'cpu':" cpu "}}}]}}"
#define CLASSED(cpu, class)                                                                        \
	"{'spec':{'priorityClassName':'" class "','containers':[{'name':'c','resources':"          \
					       "{'requests':{'cpu':" cpu "}}}]}}"

static void a_job_is_one_set_main_of_min_parallelism_completions(void **state)
{
	struct composed c;

	(void)state;
	compose(TYPE_JOB, "{'spec':{'parallelism':8,'completions':3,'template':" POD("'500m'") "}}",
		&plain, &c);
	expect_sets(&c, "main 3*500");
	assert_int_equal(c.w.pod_sets[0].min_count, 0);
	assert_int_equal(c.w.priority_source, WORKLOAD_PRIORITY_NONE);
	done(&c);
}

static void job_min_parallelism_is_the_least_count_of_its_set(void **state)
{
	struct composed c;

	(void)state;
	compose(TYPE_JOB,
		"{'metadata':{'annotations':{'kueue.x-k8s.io/job-min-parallelism':'3'}},"
		"'spec':{'parallelism':8,'template':" POD("1") "}}",
		&plain, &c);
	assert_int_equal(c.w.pod_sets[0].min_count, 3);
	done(&c);
	/* Not below what it asks, or no number: no partial admission. */
	compose(TYPE_JOB,
		"{'metadata':{'annotations':{'kueue.x-k8s.io/job-min-parallelism':'8'}},"
		"'spec':{'parallelism':8,'template':" POD("1") "}}",
		&plain, &c);
	assert_int_equal(c.w.pod_sets[0].min_count, 0);
	done(&c);
	compose(TYPE_JOB,
		"{'metadata':{'annotations':{'kueue.x-k8s.io/job-min-parallelism':'-1'}},"
		"'spec':{'parallelism':8,'template':" POD("1") "}}",
		&plain, &c);
	assert_int_equal(c.w.pod_sets[0].min_count, 0);
	done(&c);
}

/* Per pod: init 3 cpus alone beside its sidecar's 250m, then 2 + 1 + 250m: 3250m; overhead 100m;
 * the container without a request is counted by its limit. */
static void a_pod_asks_the_larger_of_start_and_run_with_overhead_and_limits(void **state)
{
	struct composed c;

	(void)state;
	compose(TYPE_JOB,
		"{'spec':{'parallelism':2,'template':{'spec':{'overhead':{'cpu':'100m'},"
		"'initContainers':[{'name':'s','restartPolicy':'Always','resources':{'requests':"
		"{'cpu':'250m'}}},{'name':'i','resources':{'requests':{'cpu':3}}}],"
		"'containers':[{'name':'a','resources':{'requests':{'cpu':2}}},"
		"{'name':'b','resources':{'limits':{'cpu':1}}}]}}}}",
		&plain, &c);
	expect_sets(&c, "main 2*3350");
	done(&c);
}

static void a_job_set_has_a_set_per_replicated_job_of_replicas_times_pods(void **state)
{
	struct composed c;

	(void)state;
	compose(TYPE_JOB_SET,
		"{'spec':{'replicatedJobs':[{'name':'slice','replicas':3,'template':{'spec':{"
		"'parallelism':4,'completions':2,'template':" POD(
		    "2") "}}},"
			 "{'name':'driver','template':{'spec':{'template':" CLASSED(
			     "1", "high") "}}}]}}",
		&plain, &c);
	expect_sets(&c, "slice 6*2000, driver 1*1000");
	assert_int_equal(c.w.priority_source, WORKLOAD_PRIORITY_POD_CLASS);
	assert_text(c.w.priority_class, "high");
	done(&c);
}

static void a_pytorch_job_asks_master_then_worker_and_its_policys_class_goes_first(void **state)
{
	struct composed c;

	(void)state;
	compose(TYPE_PYTORCH_JOB,
		"{'spec':{'runPolicy':{'schedulingPolicy':{'priorityClass':'run'}},"
		"'pytorchReplicaSpecs':{'Worker':{'replicas':4,'template':" POD(
		    "2") "},"
			 "'Master':{'template':" CLASSED("1", "pod") "}}}}",
		&plain, &c);
	expect_sets(&c, "master 1*1000, worker 4*2000");
	assert_text(c.w.priority_class, "run");
	assert_int_equal(c.w.priority_source, WORKLOAD_PRIORITY_POD_CLASS);
	done(&c);
}

static void a_tf_job_asks_its_roles_in_kueues_order(void **state)
{
	struct composed c;

	(void)state;
	compose(TYPE_TF_JOB,
		"{'spec':{'tfReplicaSpecs':{'Evaluator':{'template':" POD(
		    "5") "},"
			 "'Worker':{'replicas':3,'template':" POD(
			     "4") "},"
				  "'PS':{'replicas':2,'template':" POD(
				      "3") "},"
					   "'Chief':{'template':" POD("1") "}}}}",
		&plain, &c);
	expect_sets(&c, "chief 1*1000, ps 2*3000, worker 3*4000, evaluator 1*5000");
	done(&c);
}

/* XGBoostJob, PaddleJob and JAXJob: master, worker; absent roles are skipped, replicas are 1. */
static void the_siblings_ask_master_and_worker(void **state)
{
	struct composed c;

	(void)state;
	compose(TYPE_XGBOOST_JOB,
		"{'spec':{'xgbReplicaSpecs':{'Worker':{'replicas':3,'template':" POD(
		    "2") "},"
			 "'Master':{'template':" POD("1") "}}}}",
		&plain, &c);
	expect_sets(&c, "master 1*1000, worker 3*2000");
	done(&c);
	compose(TYPE_PADDLE_JOB,
		"{'spec':{'paddleReplicaSpecs':{'Worker':{'replicas':2,'template':" POD("2") "}}}}",
		&plain, &c);
	expect_sets(&c, "worker 2*2000");
	done(&c);
	compose(TYPE_JAX_JOB,
		"{'spec':{'jaxReplicaSpecs':{'Worker':{'template':" POD("'1500m'") "}}}}", &plain,
		&c);
	expect_sets(&c, "worker 1*1500");
	done(&c);
}

/* Without a class of the policy that of the first role that names one, in the order of pod sets. */
static void the_first_role_that_names_a_class_decides(void **state)
{
	struct composed c;

	(void)state;
	compose(TYPE_TF_JOB,
		"{'spec':{'tfReplicaSpecs':{'Evaluator':{'template':" CLASSED(
		    "1", "late") "},"
				 "'Worker':{'template':" CLASSED(
				     "1", "early") "},'Chief':{'template':" POD("1") "}}}}",
		&plain, &c);
	expect_sets(&c, "chief 1*1000, worker 1*1000, evaluator 1*1000");
	assert_text(c.w.priority_class, "early");
	done(&c);
}

static void an_mpi_job_asks_launcher_then_worker(void **state)
{
	struct composed c;

	(void)state;
	compose(TYPE_MPI_JOB,
		"{'spec':{'mpiReplicaSpecs':{'Worker':{'replicas':2,'template':" POD(
		    "4") "},"
			 "'Launcher':{'replicas':1,'template':" POD("1") "}}}}",
		&plain, &c);
	expect_sets(&c, "launcher 1*1000, worker 2*4000");
	done(&c);
}

#define RAY_CLUSTER                                                                                \
	"'rayClusterSpec':{'headGroupSpec':{'template':" POD(                                      \
	    "2") "},"                                                                              \
		 "'workerGroupSpecs':[{'groupName':'GPU','replicas':2,'numOfHosts':3,'template'"   \
		 ":" POD("1") "}]}"

static void a_ray_job_asks_head_and_groups_and_no_submitter(void **state)
{
	struct composed c;

	(void)state;
	compose(TYPE_RAY_JOB, "{'spec':{" RAY_CLUSTER "}}", &plain, &c);
	expect_sets(&c, "head 1*2000, gpu 6*1000");
	done(&c);
}

/* Workers of several hosts are counted in pods; a suspended group asks none. */
static void a_ray_cluster_asks_head_and_groups(void **state)
{
	struct composed c;

	(void)state;
	compose(TYPE_RAY_CLUSTER,
		"{'spec':{'headGroupSpec':{'template':" POD(
		    "2") "},'workerGroupSpecs':[{'groupName':'a','replicas':2,'numOfHosts':4,"
			 "'template':" POD("1") "},{'groupName':'b','replicas':5,'suspend':true,"
						"'template':" POD("1") "}]}}",
		&plain, &c);
	expect_sets(&c, "head 1*2000, a 8*1000");
	done(&c);
}

/* 2 cpus and the autoscaler's 500m and 512Mi, or what its options say instead. */
static void a_head_with_an_autoscaler_asks_for_both(void **state)
{
	struct composed c;

	(void)state;
	compose(
	    TYPE_RAY_CLUSTER,
	    "{'spec':{'enableInTreeAutoscaling':true,'headGroupSpec':{'template':" POD(
		"2") "},'workerGroupSpecs':[{'groupName':'a','replicas':2,'template':" POD("1") "}]}}",
	    &plain, &c);
	expect_sets(&c, "head 1*2500, a 2*1000");
	assert_int_equal(c.w.pod_sets[0].pod.requests[1].value, 512 << 20);
	done(&c);
	compose(TYPE_RAY_JOB,
		"{'spec':{'rayClusterSpec':{'enableInTreeAutoscaling':true,'autoscalerOptions':"
		"{'resources':{'requests':{'cpu':'100m'}}},'headGroupSpec':{'template':" POD(
		    "2") "},'workerGroupSpecs':[]}}}",
		&plain, &c);
	expect_sets(&c, "head 1*2100");
	done(&c);
}

/* 2 cpus and the 500m and 200Mi of the container that KubeRay puts beside the head. */
static void a_head_with_the_submitter_beside_it_asks_for_both(void **state)
{
	struct composed c;

	(void)state;
	compose(TYPE_RAY_JOB,
		"{'spec':{'submissionMode':'SidecarMode','rayClusterSpec':{'headGroupSpec':"
		"{'template':" POD("2") "}}}}",
		&plain, &c);
	expect_sets(&c, "head 1*2500");
	assert_int_equal(c.w.pod_sets[0].pod.requests[1].value, 200 << 20);
	done(&c);
}

/* The Job that cleans Redis up asks 200m and 256Mi: max(100m, 200m), max(2, 200m). */
static void a_fault_tolerant_head_has_room_for_the_clean_up(void **state)
{
	struct composed c;

	(void)state;
	compose(
	    TYPE_RAY_CLUSTER,
	    "{'spec':{'gcsFaultToleranceOptions':{'redisAddress':'redis:6379'},'headGroupSpec':{"
	    "'template':" POD("'100m'") "},'workerGroupSpecs':[]}}",
	    &plain, &c);
	expect_sets(&c, "head 1*200");
	assert_int_equal(c.w.pod_sets[0].pod.requests[1].value, 256 << 20);
	done(&c);
	compose(TYPE_RAY_JOB,
		"{'metadata':{'annotations':{'ray.io/ft-enabled':'True'}},'spec':{'rayClusterSpec':"
		"{'enableInTreeAutoscaling':true,'headGroupSpec':{'template':" POD(
		    "2") "},'workerGroupSpecs':[]}}}",
		&plain, &c);
	expect_sets(&c, "head 1*2500");
	assert_int_equal(c.w.pod_sets[0].pod.requests[1].value, (256 << 20) + (512 << 20));
	done(&c);
	compose(
	    TYPE_RAY_JOB,
	    "{'metadata':{'annotations':{'ray.io/ft-enabled':'false'}},'spec':{'rayClusterSpec':"
	    "{'headGroupSpec':{'template':" POD("2") "},'workerGroupSpecs':[]}}}",
	    &plain, &c);
	expect_sets(&c, "head 1*2000");
	assert_int_equal(c.w.pod_sets[0].pod.n_requests, 1);
	done(&c);
}

static void the_setting_counts_a_ray_jobs_submitter(void **state)
{
	const struct compose_options counted = {.ray_submitter = true};
	struct composed c;

	(void)state;
	compose(TYPE_RAY_JOB, "{'spec':{" RAY_CLUSTER "}}", &counted, &c);
	expect_sets(&c, "head 1*2000, gpu 6*1000, submitter 1*500");
	assert_int_equal(c.w.pod_sets[2].pod.requests[1].value, 200 << 20);
	done(&c);
	compose(TYPE_RAY_JOB, "{'spec':{'submitterPodTemplate':" POD("'750m'") "," RAY_CLUSTER "}}",
		&counted, &c);
	expect_sets(&c, "head 1*2000, gpu 6*1000, submitter 1*750");
	done(&c);
	compose(TYPE_RAY_JOB, "{'spec':{'submissionMode':'HTTPMode'," RAY_CLUSTER "}}", &counted,
		&c);
	expect_sets(&c, "head 1*2000, gpu 6*1000");
	done(&c);
}

static void the_label_goes_before_the_default_class_and_that_before_the_pods(void **state)
{
	const struct compose_options has_default = {.has_default_class = true};
	struct composed c;

	(void)state;
	compose(TYPE_JOB,
		"{'metadata':{'labels':{'kueue.x-k8s.io/priority-class':'urgent',"
		"'kueue.x-k8s.io/max-exec-time-seconds':'90'}},"
		"'spec':{'template':" CLASSED("1", "pod") "}}",
		&has_default, &c);
	assert_int_equal(c.w.priority_source, WORKLOAD_PRIORITY_CLASS);
	assert_text(c.w.priority_class, "urgent");
	assert_int_equal(c.w.max_execution_seconds, 90);
	done(&c);
	compose(TYPE_JOB, "{'spec':{'template':" CLASSED("1", "pod") "}}", &has_default, &c);
	assert_int_equal(c.w.priority_source, WORKLOAD_PRIORITY_CLASS);
	assert_text(c.w.priority_class, "default");
	done(&c);
	compose(TYPE_JOB, "{'spec':{'template':" CLASSED("1", "pod") "}}", &plain, &c);
	assert_int_equal(c.w.priority_source, WORKLOAD_PRIORITY_POD_CLASS);
	assert_text(c.w.priority_class, "pod");
	done(&c);
}

static void names_are_those_that_kueue_gives(void **state)
{
	char name[STORE_MAX_NAME + 1], longest[STORE_MAX_NAME + 1];

	(void)state;
	/* SHA-1 of "Job\nbatch\ntrain\n<uid>" begins with 7950d, and so on. */
	assert_string_equal(compose_name(hub_kind(TYPE_JOB), "train", UID, COMPOSE_NAME_LONG, name),
			    "job-train-7950d");
	assert_string_equal(
	    compose_name(hub_kind(TYPE_PYTORCH_JOB), "train", UID, COMPOSE_NAME_LONG, name),
	    "pytorchjob-train-2dfa6");
	assert_string_equal(
	    compose_name(hub_kind(TYPE_JOB_SET), "multislice", UID, COMPOSE_NAME_LONG, name),
	    "jobset-multislice-a9325");
	assert_string_equal(compose_name(hub_kind(TYPE_RAY_JOB), "r", UID, COMPOSE_NAME_LONG, name),
			    "rayjob-r-e8e84");
	memset(longest, 'a', STORE_MAX_NAME);
	longest[STORE_MAX_NAME] = '\0';
	compose_name(hub_kind(TYPE_JOB), longest, UID, COMPOSE_NAME_LONG, name);
	assert_int_equal(strlen(name), STORE_MAX_NAME);
	assert_string_equal(name + STORE_MAX_NAME - 6, "-9b458");
	assert_memory_equal(name, "job-aaa", 7);
	compose_name(hub_kind(TYPE_JOB), longest, UID, COMPOSE_NAME_SHORT, name);
	assert_int_equal(strlen(name), 63);
	assert_string_equal(name + 57, "-9b458");
}

static void too_many_pod_sets_are_refused(void **state)
{
	auto_arena mem = ARENA_INIT;
	struct job_digest job = {.n_pod_sets = KUEUE_MAX_POD_SETS + 1};
	struct workload_digest w;
	struct err e = ERR_INIT;

	(void)state;
	assert_true(compose_workload(&job, TYPE_JOB_SET, &plain, &mem, &w, &e) < 0);
	assert_int_equal(e.kind, ERR_INVALID);
	assert_string_equal(e.text, "the job has 19 pod sets, a Workload at most 18");
}

static void node_requirements_reach_the_engine(void **state)
{
	struct composed c;

	(void)state;
	compose(TYPE_JOB,
		"{'spec':{'template':{'spec':{'nodeSelector':{'disk':'ssd'},'tolerations':[{'key':"
		"'gpu','operator':'Exists','effect':'NoSchedule'}],'affinity':{'nodeAffinity':{"
		"'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{"
		"'matchExpressions':[{'key':'zone','operator':'In','values':['a']}],'matchFields':"
		"[{'key':'metadata.name','operator':'In','values':['n1']}]}]}}},"
		"'containers':[{'name':'c'}]}}}}",
		&plain, &c);
	const struct kueue_pod_set *sets = compose_engine_sets(&c.w, NULL, &c.mem);
	const struct constraint *k = &sets[0].constraint;
	assert_int_equal(k->n_selector, 1);
	assert_text(k->selector[0].value, "ssd");
	assert_int_equal(k->n_tolerations, 1);
	assert_true(k->tolerations[0].exists);
	assert_int_equal(k->n_terms, 1);
	assert_int_equal(k->terms[0].n_labels, 1);
	assert_text(k->terms[0].labels[0].key, "zone");
	assert_int_equal(k->terms[0].n_fields, 1);
	assert_text(k->terms[0].fields[0].key, "metadata.name");
	done(&c);
}

/* The engine is told what the pods ask themselves beside what a transformation makes of it. */
static void what_pods_ask_is_known_beside_what_is_made_of_it(void **state)
{
	struct transform_output output = {.resource = "credits", .milli = 1000};
	struct transform t = {.input = "cpu", .outputs = &output, .n_outputs = 1, .replace = true};
	const struct transform_rules rules = {.items = &t, .n = 1};
	auto_arena mem = ARENA_INIT;
	struct composed c;

	(void)state;
	compose(TYPE_JOB, "{'spec':{'template':" POD("3") "}}", &plain, &c);
	const struct kueue_pod_set *set = compose_engine_sets(&c.w, &rules, &mem);
	assert_int_equal(set->n_requests, 1);
	assert_true(span_is(set->requests[0].resource, "credits"));
	assert_int_equal(set->n_asked, 1);
	assert_true(span_is(set->asked[0], "cpu"));
	assert_null(compose_engine_sets(&c.w, NULL, &mem)->asked);
	done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_job_is_one_set_main_of_min_parallelism_completions),
	    cmocka_unit_test(job_min_parallelism_is_the_least_count_of_its_set),
	    cmocka_unit_test(a_pod_asks_the_larger_of_start_and_run_with_overhead_and_limits),
	    cmocka_unit_test(a_job_set_has_a_set_per_replicated_job_of_replicas_times_pods),
	    cmocka_unit_test(
		a_pytorch_job_asks_master_then_worker_and_its_policys_class_goes_first),
	    cmocka_unit_test(a_tf_job_asks_its_roles_in_kueues_order),
	    cmocka_unit_test(the_siblings_ask_master_and_worker),
	    cmocka_unit_test(the_first_role_that_names_a_class_decides),
	    cmocka_unit_test(an_mpi_job_asks_launcher_then_worker),
	    cmocka_unit_test(a_ray_cluster_asks_head_and_groups),
	    cmocka_unit_test(a_head_with_an_autoscaler_asks_for_both),
	    cmocka_unit_test(a_head_with_the_submitter_beside_it_asks_for_both),
	    cmocka_unit_test(a_ray_job_asks_head_and_groups_and_no_submitter),
	    cmocka_unit_test(a_fault_tolerant_head_has_room_for_the_clean_up),
	    cmocka_unit_test(the_setting_counts_a_ray_jobs_submitter),
	    cmocka_unit_test(the_label_goes_before_the_default_class_and_that_before_the_pods),
	    cmocka_unit_test(names_are_those_that_kueue_gives),
	    cmocka_unit_test(too_many_pod_sets_are_refused),
	    cmocka_unit_test(node_requirements_reach_the_engine),
	    cmocka_unit_test(what_pods_ask_is_known_beside_what_is_made_of_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
