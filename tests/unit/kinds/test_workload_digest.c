#include "kinds_test.h"

#include "kinds/hooks.h"
#include "kinds/job_path.h"
#include "kinds/workload_digest.h"

#include <errno.h>

#define POD "{'spec':{'containers':[{'name':'c','resources':{'requests':{'cpu':2}}}]}}"

static void a_workload_is_read_and_comes_back_from_its_row(void **state)
{
	auto_json *tree = tree_of(
	    "{'spec':{'queueName':'q','priority':7,'active':false,'priorityClassRef':{'group':"
	    "'kueue.x-k8s.io','kind':'WorkloadPriorityClass','name':'high'},"
	    "'maximumExecutionTimeSeconds':60,'podSets':[{'name':'head','template':" POD
	    "},{'name':'w','count':4,'minCount':2,'topologyRequest':{'podSetGroupName':'g'},"
	    "'template':" POD "},{'name':'none','count':0,'template':" POD "}]}}");
	auto_buf bytes = BUF_INIT;
	auto_arena mem = ARENA_INIT;
	struct workload_digest d;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(workload_index(NULL, tree, &bytes, &e), 0);
	assert_int_equal(workload_digest_unpack(buf_span(&bytes), &mem, &d), 0);
	assert_text(d.queue_name, "q");
	assert_int_equal(d.priority, 7);
	assert_true(d.inactive);
	assert_int_equal(d.priority_source, WORKLOAD_PRIORITY_CLASS);
	assert_text(d.priority_class, "high");
	assert_int_equal(d.max_execution_seconds, 60);
	assert_int_equal(d.n_pod_sets, 3);
	assert_int_equal(d.pod_sets[0].count, 1);
	assert_int_equal(d.pod_sets[0].pod.requests[0].value, 2000);
	assert_int_equal(d.pod_sets[1].min_count, 2);
	assert_text(d.groups_of[1], "g");
	assert_int_equal(d.pod_sets[2].count, 0);
	for (size_t cut = 0; cut < bytes.len; cut++)
		assert_int_equal(workload_digest_unpack(span_make(bytes.ptr, cut), &mem, &d),
				 -EINVAL);
}

static void what_is_absent_has_kueues_defaults(void **state)
{
	auto_json *tree = tree_of("{'spec':{'podSets':[{'template':" POD "}]}}");
	auto_buf bytes = BUF_INIT;
	auto_arena mem = ARENA_INIT;
	struct workload_digest d;

	(void)state;
	assert_int_equal(workload_index(NULL, tree, &bytes, NULL), 0);
	assert_int_equal(workload_digest_unpack(buf_span(&bytes), &mem, &d), 0);
	assert_int_equal(d.queue_name.len, 0);
	assert_false(d.inactive);
	assert_int_equal(d.priority_source, WORKLOAD_PRIORITY_NONE);
	assert_text(d.pod_sets[0].name, "main");
	assert_int_equal(d.pod_sets[0].count, 1);
}

static void expect_refused(const char *object, const char *field)
{
	auto_json *tree = tree_of(object);
	auto_buf bytes = BUF_INIT;
	struct err e = ERR_INIT;

	assert_true(workload_index(NULL, tree, &bytes, &e) < 0);
	assert_int_equal(e.kind, ERR_INVALID);
	assert_string_equal(e.field, field);
}

static void quantities_and_counts_that_cannot_be_are_refused_with_their_field(void **state)
{
	(void)state;
	expect_refused("{'spec':{'podSets':[{'template':{'spec':{'containers':[{'name':'c',"
		       "'resources':{'requests':{'cpu':'-1'}}}]}}}]}}",
		       "spec.podSets[0].template.spec.containers[0].resources.requests[cpu]");
	expect_refused("{'spec':{'podSets':[{'template':" POD "},{'count':100001,'template':" POD
		       "}]}}",
		       "spec.podSets[1].count");
}

static void paths_lead_through_arrays_and_keys(void **state)
{
	static const char job[] =
	    "{\"spec\":{\"roles\":{\"Worker\":{\"template\":{\"a\":1}}},\"jobs\":[{\"name\":\"x\"},"
	    "{\"template\":{\"spec\":{\"b\":2}}}]}}";
	struct span at;

	(void)state;
	assert_int_equal(job_path_find(span_of(job), SPAN("spec.roles[Worker].template"), &at), 0);
	assert_text(at, "{\"a\":1}");
	assert_int_equal(job_path_find(span_of(job), SPAN("spec.jobs[1].template.spec"), &at), 0);
	assert_text(at, "{\"b\":2}");
	assert_int_equal(job_path_find(span_of(job), SPAN("spec.jobs[2].template"), &at), -ENOENT);
	assert_int_equal(job_path_find(span_of(job), SPAN("spec.jobs[x]"), &at), -ENOENT);
	assert_int_equal(job_path_find(span_of(job), SPAN("spec.roles[Master]"), &at), -ENOENT);
	assert_int_equal(job_path_find(span_of(job), SPAN("spec.roles[Worker"), &at), 0);
	assert_int_equal(job_path_find(span_of(job), SPAN("spec..roles"), &at), -ENOENT);
	assert_int_equal(job_path_find(span_of(job), SPAN("["), &at), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_workload_is_read_and_comes_back_from_its_row),
	    cmocka_unit_test(what_is_absent_has_kueues_defaults),
	    cmocka_unit_test(quantities_and_counts_that_cannot_be_are_refused_with_their_field),
	    cmocka_unit_test(paths_lead_through_arrays_and_keys),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
