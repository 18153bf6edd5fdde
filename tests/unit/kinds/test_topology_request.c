/*
 * Topology annotations: what is read of them, what a Workload says of it, and what is refused, in
 * Kueue's words (pkg/controller/jobframework/tas_validation.go).
 */
#include "kinds_test.h"

#include "kinds/topology_request.h"
#include "kinds/workload_digest.h"

#define K "kueue.x-k8s.io/"

static void read_of(const char *annotations, struct arena *mem, struct topology_request *ret,
		    struct cJSON **ret_tree)
{
	auto_buf text = BUF_INIT;

	buf_addf(&text, "{'metadata':{'annotations':{%s}}}", annotations);
	*ret_tree = tree_of(text.ptr);
	topology_request_read(*ret_tree, mem, ret);
}

/* Through the row and into JSON. */
static void expect_read(const char *annotations, const char *want)
{
	auto_arena mem = ARENA_INIT;
	auto_json *tree = NULL;
	auto_buf row = BUF_INIT, text = BUF_INIT;
	struct topology_request t, back;

	read_of(annotations, &mem, &t, &tree);
	topology_request_pack(&t, &row);
	struct info_reader r = info_reader_make(buf_span(&row));
	topology_request_unpack(&r, &back);
	assert_true(info_reader_ended(&r));
	assert_int_equal(topology_request_asks(&back), want[0] != '\0');
	if (want[0])
		topology_request_print(&back, &text);
	assert_string_equal(text.ptr ? text.ptr : "", want);
}

static void what_is_asked_is_read_kept_and_said(void **state)
{
	(void)state;
	expect_read("", "");
	expect_read("'" K "podset-required-topology':'rack'", "{\"required\":\"rack\"}");
	expect_read("'" K "podset-preferred-topology':'rack','" K "podset-group-name':'g'",
		    "{\"preferred\":\"rack\",\"podSetGroupName\":\"g\"}");
	expect_read("'" K "podset-unconstrained-topology':'true'", "{\"unconstrained\":true}");
	expect_read("'" K "podset-unconstrained-topology':'false'", "");
	expect_read("'" K "podset-slice-required-topology':'pool','" K "podset-slice-size':'2'",
		    "{\"podSetSliceRequiredTopology\":\"pool\",\"podSetSliceSize\":2}");
	expect_read("'" K "podset-required-topology':'block','" K
		    "podset-slice-required-topology-constraints':"
		    "'[{\\\"topology\\\":\\\"rack\\\",\\\"size\\\":4},"
		    "{\\\"topology\\\":\\\"host\\\",\\\"size\\\":2}]'",
		    "{\"required\":\"block\",\"podsetSliceRequiredTopologyConstraints\":["
		    "{\"topology\":\"rack\",\"size\":4},{\"topology\":\"host\",\"size\":2}]}");
	/* A group of no level, a slice without a size: nothing. */
	expect_read("'" K "podset-group-name':'g','" K "podset-slice-required-topology':'pool'",
		    "");
}

static void levels_are_named_once_each(void **state)
{
	(void)state;
	auto_arena mem = ARENA_INIT;
	auto_json *tree = NULL;
	struct topology_request t;
	struct span levels[TOPOLOGY_MAX_LAYERS + 1];

	read_of("'" K "podset-required-topology':'rack','" K
		"podset-slice-required-topology':'rack','" K "podset-slice-size':'2'",
		&mem, &t, &tree);
	assert_int_equal(topology_request_levels(&t, levels), 1);
	assert_text(levels[0], "rack");
}

static void a_workload_says_the_same(void **state)
{
	(void)state;
	auto_json *tree = tree_of("{'required':'rack','podSetGroupName':'g','podSetSliceRequired"
				  "Topology':'host','podSetSliceSize':2}");
	struct topology_request t;
	auto_buf text = BUF_INIT;

	topology_request_from_object(tree, &t);
	topology_request_print(&t, &text);
	assert_string_equal(text.ptr,
			    "{\"required\":\"rack\",\"podSetGroupName\":\"g\",\"podSetSliceRequired"
			    "Topology\":\"host\",\"podSetSliceSize\":2}");
	topology_request_from_object(NULL, &t);
	assert_false(topology_request_asks(&t));
}

/* ---- rules ---- */

#define AT "spec.template.metadata.annotations"

static void expect_job(int pods, const char *annotations, const char *want)
{
	auto_buf job = BUF_INIT;

	buf_addf(
	    &job,
	    "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'j','namespace':'d'},"
	    "'spec':{'parallelism':%d,'completions':%d,'template':{'metadata':{'annotations':"
	    "{%s}},'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'i'}]}}}}",
	    pods, pods, annotations);
	expect_wrong(TYPE_JOB, job.ptr, want);
}

static void one_of_three_may_be_asked(void **state)
{
	(void)state;
	expect_job(2, "'" K "podset-required-topology':'cloud.com/rack'", "");
	expect_job(2,
		   "'" K "podset-required-topology':'cloud.com/rack','" K
		   "podset-preferred-topology':'cloud.com/block'",
		   AT ": Invalid value: must not contain more than one topology annotation: "
		      "[\"kueue.x-k8s.io/podset-required-topology\", "
		      "\"kueue.x-k8s.io/podset-preferred-topology\", "
		      "\"kueue.x-k8s.io/podset-unconstrained-topology\"]\n");
	expect_job(2, "'" K "podset-unconstrained-topology':'perhaps'",
		   AT "[" K "podset-unconstrained-topology]: Invalid value: \"perhaps\": must be a "
		      "boolean value\n");
}

static void slices_have_a_level_and_a_size(void **state)
{
	(void)state;
	expect_job(4,
		   "'" K "podset-slice-required-topology':'cloud.com/rack','" K
		   "podset-slice-size':'2'",
		   "");
	expect_job(4, "'" K "podset-slice-required-topology':'cloud.com/rack'",
		   AT "[" K "podset-slice-size]: Required value: must be set when "
		      "'kueue.x-k8s.io/podset-slice-required-topology' is specified\n");
	expect_job(4, "'" K "podset-slice-size':'2'",
		   AT "[" K "podset-slice-size]: Forbidden: may not be set when "
		      "'kueue.x-k8s.io/podset-slice-required-topology' is not specified\n");
	expect_job(
	    4,
	    "'" K "podset-slice-required-topology':'cloud.com/rack','" K "podset-slice-size':'5'",
	    AT "[" K "podset-slice-size]: Invalid value: \"5\": must not be greater than pod "
	       "set count 4\n");
	expect_job(
	    4,
	    "'" K "podset-slice-required-topology':'cloud.com/rack','" K "podset-slice-size':'two'",
	    AT "[" K "podset-slice-size]: Invalid value: \"two\": must be a numeric value\n");
	expect_job(
	    4,
	    "'" K "podset-slice-required-topology':'cloud.com/rack','" K "podset-slice-size':'0'",
	    AT "[" K "podset-slice-size]: Invalid value: \"0\": must be greater than or equal "
	       "to 1\n");
}

static void layers_divide_each_other(void **state)
{
	(void)state;
#define LAYERS		   "'" K "podset-slice-required-topology-constraints':'"
#define LAYER(level, size) "{\\\"topology\\\":\\\"" level "\\\",\\\"size\\\":" size "}"
#define AT_LAYERS	   AT "[" K "podset-slice-required-topology-constraints]"
	expect_job(8, LAYERS "[" LAYER("rack", "4") "," LAYER("host", "2") "]'", "");
	expect_job(8, LAYERS "[" LAYER("rack", "4") "," LAYER("host", "3") "]'",
		   AT_LAYERS "[1].size: Invalid value: 3: must evenly divide the parent layer size "
			     "4\n");
	expect_job(8, LAYERS "[" LAYER("rack", "4") "," LAYER("rack", "2") "]'",
		   AT_LAYERS "[1].topology: Duplicate value: \"rack (also at index 0)\"\n");
	expect_job(2, LAYERS "[" LAYER("rack", "4") "]'",
		   AT_LAYERS ": Invalid value: 4: must not be greater than pod set count 2\n");
	expect_job(2, LAYERS "[]'", AT_LAYERS ": Invalid value: \"[]\": must have 1 to 3 layers\n");
	expect_job(2, LAYERS "nonsense'",
		   AT_LAYERS ": Invalid value: \"nonsense\": must be a valid JSON array\n");
}

static void groups_are_of_two_that_agree(void **state)
{
	(void)state;
#define ROLE(level, n, group)                                                                      \
	"{'replicas':" n ",'template':{'metadata':{'annotations':{'" K                             \
	"podset-required-topology':'" level "','" K "podset-group-name':'" group                   \
	"'}},'spec':{'containers':[{'name':'pytorch','image':'i'}]}}}"
#define TORCH(master, worker)                                                                      \
	"{'apiVersion':'kubeflow.org/v1','kind':'PyTorchJob','metadata':{'name':'p','namespace':"  \
	"'d'},'spec':{'pytorchReplicaSpecs':{'Master':" master ",'Worker':" worker "}}}"
#define IN(role) "spec.pytorchReplicaSpecs[" role "].template.metadata.annotations"
	expect_wrong(TYPE_PYTORCH_JOB, TORCH(ROLE("rack", "1", "g"), ROLE("rack", "4", "g")), "");
	expect_wrong(
	    TYPE_PYTORCH_JOB, TORCH(ROLE("rack", "1", "g"), ROLE("block", "4", "g")),
	    IN("Master") ": Invalid value: must specify "
			 "'kueue.x-k8s.io/podset-required-topology' or "
			 "'kueue.x-k8s.io/podset-preferred-topology' topology consistent "
			 "with '" IN("Worker") "' in group 'g'\n" IN(
			     "Worker") ": Invalid "
				       "value: must specify 'kueue.x-k8s.io/podset-required-topology' or "
				       "'kueue.x-k8s.io/podset-preferred-topology' topology consistent "
				       "with '" IN("Master") "' in group 'g'\n");
	expect_wrong(
	    TYPE_PYTORCH_JOB, TORCH(ROLE("rack", "1", "g"), ROLE("rack", "4", "h")),
	    IN("Master") "[" K "podset-group-name]: Invalid value: \"g\": can only define "
			 "groups of exactly 2 pod sets, got: 1 pod set(s)\n" IN(
			     "Worker") "[" K
				       "podset-group-name]: Invalid value: \"h\": can only define "
				       "groups of exactly 2 pod sets, got: 1 pod set(s)\n");
	expect_job(2, "'" K "podset-group-name':'g'",
		   AT "[" K "podset-group-name]: Forbidden: may not be set when neither "
		      "'kueue.x-k8s.io/podset-preferred-topology' nor "
		      "'kueue.x-k8s.io/podset-required-topology' is specified\n");
}

/* ---- rows of before ---- */

/* One of version 5 ends without the Workload that it names; one of version 4 also without the pod
 * sets that take provisioned nodes: all of them did. */
static void rows_without_consumers_are_read(void **state)
{
	(void)state;
	auto_arena mem = ARENA_INIT;
	auto_buf row = BUF_INIT;
	struct job_digest d = {.provisioning_request = SPAN("r"), .limit_seconds = -1}, back;

	job_digest_pack(&d, &row);
	assert_int_equal(job_digest_unpack(buf_span(&row), &mem, &back), 0);
	assert_int_equal(back.consumers, 0);
	assert_null(back.prebuilt.ptr);
	row.len--;
	row.ptr[0] = 5;
	assert_int_equal(job_digest_unpack(buf_span(&row), &mem, &back), 0);
	assert_int_equal(back.consumers, 0);
	assert_null(back.prebuilt.ptr);
	row.len--;
	row.ptr[0] = 4;
	assert_int_equal(job_digest_unpack(buf_span(&row), &mem, &back), 0);
	assert_true(back.consumers == UINT64_MAX);
}

/* A digest of version 3 ends its pod sets without a topology. */
static void older_rows_are_read(void **state)
{
	(void)state;
	auto_arena mem = ARENA_INIT;
	auto_buf row = BUF_INIT;
	struct job_pod_set set = {.name = SPAN("main"), .count = 2, .groups = 1};
	struct job_digest d = {.pod_sets = &set, .n_pod_sets = 1, .limit_seconds = -1}, back;

	job_digest_pack(&d, &row);
	assert_int_equal(job_digest_unpack(buf_span(&row), &mem, &back), 0);
	/* The same bytes without the one that says "no topology": it is the one behind the path of
	 * the only set, and everything behind the sets is as long in both. */
	auto_buf sets = BUF_INIT, old = BUF_INIT;
	struct job_digest none = d;
	none.n_pod_sets = 0;
	job_digest_pack(&none, &sets);
	/* And without those that say "no pod set takes provisioned nodes" and "it names no
	 * Workload", at the end. */
	row.len -= 2;
	sets.len -= 2;
	size_t behind = 0; /* bytes behind the number of sets */
	while (behind < sets.len &&
	       row.ptr[row.len - 1 - behind] == sets.ptr[sets.len - 1 - behind])
		behind++;
	assert_true(behind > 0 && behind < row.len);
	for (size_t cut = 0; cut <= behind; cut++) {
		old.len = 0;
		buf_add(&old, row.ptr, row.len - 1 - cut);
		buf_add(&old, row.ptr + row.len - cut, cut);
		old.ptr[0] = 3;
		if (job_digest_unpack(buf_span(&old), &mem, &back) == 0 && back.n_pod_sets == 1 &&
		    back.pod_sets[0].count == 2 && back.limit_seconds == -1) {
			assert_false(topology_request_asks(&back.pod_sets[0].topology));
			return;
		}
	}
	fail_msg("no row of version 3 could be read");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_asked_is_read_kept_and_said),
	    cmocka_unit_test(levels_are_named_once_each),
	    cmocka_unit_test(a_workload_says_the_same),
	    cmocka_unit_test(one_of_three_may_be_asked),
	    cmocka_unit_test(slices_have_a_level_and_a_size),
	    cmocka_unit_test(layers_divide_each_other),
	    cmocka_unit_test(groups_are_of_two_that_agree),
	    cmocka_unit_test(rows_without_consumers_are_read),
	    cmocka_unit_test(older_rows_are_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
