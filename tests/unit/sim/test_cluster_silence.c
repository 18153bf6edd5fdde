/*
 * A node whose kubelet is silent: what the cluster says of it and of its pods, and how they end.
 */
#include "cluster_harness.h"

#include "base/json.h"
#include "registry/registry.h"

static const char nodes_yaml[] = "kind: Node\n"
				 "metadata: {name: a}\n"
				 "status:\n"
				 "  allocatable: {cpu: \"2\"}\n";

static int setup(void **state)
{
	return harness_setup(nodes_yaml);
}

/* Two pods of a CPU each, that tolerate a lost node for five seconds. */
#define JOB(name, more)                                                                            \
	"{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'" name "'},'spec':{" more       \
	"'completionMode':'Indexed','parallelism':2,'completions':2,'template':{'metadata':{"      \
	"'annotations':{'muster.dev/sim-duration':'600s'}},'spec':{'restartPolicy':'Never',"       \
	"'tolerations':[{'key':'node.kubernetes.io/unreachable','operator':'Exists',"              \
	"'effect':'NoExecute','tolerationSeconds':5}],'containers':[{'name':'c','image':'x',"      \
	"'resources':{'requests':{'cpu':'1'}}}]}}}}"

static void put_node(const char *name, const struct cJSON *tree)
{
	struct command *c =
	    command_create(COMMAND_UPDATE, kind(TYPE_NODE), SPAN(""), span_of(name));
	c->expected_revision = revision_of(TYPE_NODE, "", name);
	c->draft = draft(kind(TYPE_NODE), tree);
	submit(c);
	assert_int_equal(t.err.kind, ERR_NONE);
}

static void set_silent(const char *name, bool silent)
{
	auto_json *node = get(TYPE_NODE, "", name);
	struct cJSON *meta = json_ensure_object(node, "metadata");

	json_set_str(json_ensure_object(meta, "annotations"), "muster.dev/sim-kubelet",
		     silent ? "silent" : "heard");
	put_node(name, node);
}

static void taint(const char *name, const char *key)
{
	auto_json *node = get(TYPE_NODE, "", name);
	struct cJSON *spec = json_ensure_object(node, "spec"), *one = json_object();

	if (!json_get(spec, "taints"))
		json_set(spec, "taints", json_array());
	json_set_str(one, "key", key);
	json_set_str(one, "value", "nodeshutdown");
	json_set_str(one, "effect", "NoExecute");
	json_append(json_get(spec, "taints"), one);
	put_node(name, node);
}

/* "True", or what its Ready condition says, and its taints. */
static const char *said(const char *name)
{
	static char text[400];
	auto_json *node = get(TYPE_NODE, "", name);
	int n =
	    snprintf(text, sizeof(text), "%s",
		     json_str(json_at(json_path(node, "status", "conditions", NULL), 0), "status"));

	json_foreach (json_path(node, "spec", "taints", NULL), one)
		n += snprintf(text + n, sizeof(text) - (size_t)n, " %s:%s", json_str(one, "key"),
			      json_str(one, "effect"));
	return text;
}

/* Of the pods of namespace default, by what `is` says of a tree. */
static size_t pods(bool (*is)(const struct cJSON *pod))
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
		n += is(tree);
	}
	store_iter_end(it);
	return n;
}

static bool is_terminating(const struct cJSON *pod)
{
	const struct cJSON *meta = json_get(pod, "metadata");
	int64_t grace = 0;

	if (!json_str(meta, "deletionTimestamp"))
		return false;
	(void)!json_int64(meta, "deletionGracePeriodSeconds", &grace);
	assert_int_equal(grace, 30);
	return true;
}

static bool is_ready(const struct cJSON *pod)
{
	json_foreach (json_path(pod, "status", "conditions", NULL), it)
		if (strcmp(json_str(it, "type"), "Ready") == 0)
			return strcmp(json_str(it, "status"), "True") == 0;
	return false;
}

static bool is_running(const struct cJSON *pod)
{
	const char *phase = json_value_str(json_path(pod, "status", "phase", NULL));

	return phase && strcmp(phase, "Running") == 0 && !is_terminating(pod);
}

#define TAINTS " node.kubernetes.io/unreachable:NoSchedule node.kubernetes.io/unreachable:NoExecute"

static void its_node_is_unknown_after_the_grace_and_its_pods_do_not_end(void **state)
{
	create(TYPE_JOB, JOB("j", ""));
	assert_int_equal(pods(is_ready), 2);
	set_silent("a", true);
	pass(49 * S);
	assert_string_equal(said("a"), "True");
	assert_int_equal(pods(is_ready), 2);
	pass(S);
	assert_string_equal(said("a"), "Unknown" TAINTS);
	assert_int_equal(pods(is_ready), 0);
	assert_int_equal(pods(is_terminating), 0);
	pass(5 * S);
	assert_int_equal(pods(is_terminating), 2);
	/* Their Job counts them as failed, and replaces them after its wait. */
	pass(3600 * S);
	pass(S);
	assert_int_equal(pods(is_terminating), 2);
	assert_int_equal(count(TYPE_POD), 4);
	char lines[4096];
	assert_int_equal(runs(lines, sizeof(lines)), 0);
	restart();
	pass(3600 * S);
	assert_int_equal(pods(is_terminating), 2);
	/* It is back: it ends them, and there is room for the others. */
	set_silent("a", false);
	assert_string_equal(said("a"), "True");
	pass(S);
	assert_int_equal(pods(is_terminating), 0);
	assert_int_equal(pods(is_running), 2);
	assert_int_equal(pods(is_ready), 2);
	assert_int_equal(runs(lines, sizeof(lines)), 2);
	assert_non_null(strstr(lines, "Killed"));
	auto_json *job = get(TYPE_JOB, "default", "j");
	int64_t failed = 0;
	assert_int_equal(json_int64(json_get(job, "status"), "failed", &failed), 0);
	assert_int_equal(failed, 2);
}

static void a_short_silence_changes_nothing(void **state)
{
	char lines[4096];

	create(TYPE_JOB, JOB("j", ""));
	set_silent("a", true);
	pass(52 * S);
	assert_int_equal(pods(is_ready), 0);
	set_silent("a", false);
	pass(S);
	assert_string_equal(said("a"), "True");
	assert_int_equal(pods(is_ready), 2);
	/* What ends in a silence is told when it is over. */
	pass(500 * S);
	set_silent("a", true);
	pass(49 * S);
	assert_int_equal(pods(is_running), 2);
	assert_string_equal(conditions(TYPE_JOB, "j"), "");
	set_silent("a", false);
	pass(S);
	assert_string_equal(conditions(TYPE_JOB, "j"), "SuccessCriteriaMet Complete");
	assert_int_equal(runs(lines, sizeof(lines)), 2);
	assert_null(strstr(lines, "Killed"));
}

static void a_job_that_gives_up_is_not_over_before_its_pods(void **state)
{
	create(TYPE_JOB, JOB("j", "'backoffLimit':0,"));
	set_silent("a", true);
	pass(50 * S);
	pass(60 * S);
	assert_string_equal(conditions(TYPE_JOB, "j"), "FailureTarget");
	assert_int_equal(pods(is_terminating), 2);
	set_silent("a", false);
	pass(S);
	assert_string_equal(conditions(TYPE_JOB, "j"), "FailureTarget Failed");
	assert_int_equal(count(TYPE_POD), 0);
}

static void a_deleted_node_ends_its_pods(void **state)
{
	create(TYPE_JOB, JOB("j", ""));
	set_silent("a", true);
	pass(50 * S);
	delete (TYPE_JOB, "default", "j");
	pass(10 * S);
	assert_int_equal(pods(is_terminating), 2);
	delete (TYPE_NODE, "", "a");
	pass(S);
	assert_int_equal(count(TYPE_POD), 0);
}

static void a_node_out_of_service_ends_its_pods(void **state)
{
	create(TYPE_JOB, JOB("j", ""));
	set_silent("a", true);
	pass(50 * S);
	pass(10 * S);
	assert_int_equal(pods(is_terminating), 2);
	taint("a", "node.kubernetes.io/out-of-service");
	pass(S);
	assert_int_equal(pods(is_terminating), 0);
	delete (TYPE_JOB, "default", "j");
	pass(S);
	assert_int_equal(count(TYPE_POD), 0);
}

/* What is bound to it meanwhile starts when it is back; a patch of a Terminating pod does not end
 * it, a forced delete does. */
static void whoever_deletes_a_pod_there_waits_unless_by_force(void **state)
{
	set_silent("a", true);
	create(TYPE_JOB, JOB("j", ""));
	assert_int_equal(count(TYPE_POD), 2);
	assert_int_equal(pods(is_running), 0);
	set_silent("a", false);
	pass(S);
	assert_int_equal(pods(is_running), 2);
	create(TYPE_POD, "{'metadata':{'name':'alone'},'spec':{'nodeName':'a','containers':"
			 "[{'name':'c','image':'x'}]},'status':{'phase':'Pending'}}");
	pass(S);
	assert_string_equal(phase("alone"), "Running");
	set_silent("a", true);
	delete (TYPE_POD, "default", "alone");
	assert_int_equal(pods(is_terminating), 1);
	auto_json *pod = get(TYPE_POD, "default", "alone");
	json_set_str(json_ensure_object(json_ensure_object(pod, "metadata"), "labels"), "a", "b");
	update(TYPE_POD, "alone", pod);
	pass(10 * S);
	assert_int_equal(pods(is_terminating), 1);
	struct command *c =
	    command_create(COMMAND_DELETE, kind(TYPE_POD), SPAN("default"), SPAN("alone"));
	c->expected_revision = revision_of(TYPE_POD, "default", "alone");
	c->force = true;
	submit(c);
	assert_string_equal(phase("alone"), "absent");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(its_node_is_unknown_after_the_grace_and_its_pods_do_not_end),
	    T(a_short_silence_changes_nothing),
	    T(a_job_that_gives_up_is_not_over_before_its_pods),
	    T(a_deleted_node_ends_its_pods),
	    T(a_node_out_of_service_ends_its_pods),
	    T(whoever_deletes_a_pod_there_waits_unless_by_force),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
