/*
 * JobSets with an exclusive topology on a whole simulated cluster.
 */
#include "cluster_harness.h"

static const char nodes_yaml[] =
    "kind: Node\n"
    "metadata: {name: a, labels: {pool: p, alpha.jobset.sigs.k8s.io/namespaced-job: "
    "default_js-w-1}}\n"
    "spec: {taints: [{key: alpha.jobset.sigs.k8s.io/no-schedule, effect: NoSchedule}]}\n"
    "status:\n"
    "  allocatable: {cpu: \"2\"}\n"
    "---\n"
    "kind: Node\n"
    "metadata: {name: b, labels: {pool: q, alpha.jobset.sigs.k8s.io/namespaced-job: "
    "default_js-w-0}}\n"
    "status:\n"
    "  allocatable: {cpu: \"2\"}\n"
    "---\n"
    "kind: Node\n"
    "metadata: {name: c, labels: {pool: r}}\n"
    "status:\n"
    "  allocatable: {cpu: \"2\"}\n";

static int setup(void **state)
{
	return harness_setup(nodes_yaml);
}

#define JOB_SET(annotation)                                                                        \
	"{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet','metadata':{'name':'js',"        \
	"'annotations':{'alpha.jobset.sigs.k8s.io/exclusive-topology':'pool'" annotation "}},"     \
	"'spec':{'replicatedJobs':[{'name':'w','replicas':2,'template':{'spec':{'parallelism':2,"  \
	"'completions':2,'template':{'metadata':{'annotations':{'muster.dev/sim-duration':"        \
	"'600s'}},'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'x',"          \
	"'resources':{'requests':{'cpu':'1'}}}]}}}}}]}}"

/* Of the pods whose name begins so: how many stand on the node; the name of the last one. */
static size_t on_node(const char *prefix, const char *node, char name[128])
{
	auto_reader *r = NULL;
	struct err e = ERR_INIT;
	struct store_range range = {.type = TYPE_POD, .ns = SPAN("default")};
	struct store_iter *it;
	struct store_object o;
	size_t n = 0;
	int failed;

	assert_int_equal(store_read_begin(cluster_backend(t.c)->truth, &r, &e), 0);
	assert_int_equal(store_iter_begin(r, &range, &it, &e), 0);
	while (store_iter_next(it, &o, &failed)) {
		auto_json *tree = NULL;
		assert_int_equal(json_parse(o.json, NULL, &tree, &e), 0);
		const char *at = json_value_str(json_path(tree, "spec", "nodeName", NULL));
		if (!span_starts(o.key.name, span_of(prefix)) || !at || strcmp(at, node) != 0)
			continue;
		snprintf(name, 128, "%.*s", SPAN_ARGS(o.key.name));
		n++;
	}
	store_iter_end(it);
	return n;
}

static void each_job_is_on_the_nodes_with_its_name(void **state)
{
	char name[128];

	create(TYPE_JOB_SET, JOB_SET(",'alpha.jobset.sigs.k8s.io/node-selector':''"));
	assert_int_equal(on_node("js-w-0", "b", name), 2);
	assert_int_equal(on_node("js-w-1", "a", name), 2);
}

/* Its Job has retries: the others stand where they were, and a domain is free beside them. */
static void a_pod_that_is_made_again_comes_back_to_its_jobs_domain(void **state)
{
	char name[128];

	create(TYPE_JOB_SET, JOB_SET(""));
	const char *home = on_node("js-w-0", "b", name) ? "b" : "c";
	for (int i = 0; i < 3; i++) {
		assert_int_equal(on_node("js-w-0", home, name), 2);
		delete (TYPE_POD, "default", name);
		pass(11 * S);
	}
	assert_int_equal(on_node("js-w-0", home, name), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(each_job_is_on_the_nodes_with_its_name),
	    T(a_pod_that_is_made_again_comes_back_to_its_jobs_domain),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
