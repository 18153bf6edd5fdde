/*
 * A workload whose queue has several checks that ask members for nodes: who asks for which pods,
 * and how their requests go round together, since the gang starts on one member.
 *
 * The job has one master, who wants a cpu, and two workers, who want a GPU each.
 */
#include "world.h"

#include "core/job.h"
#include "core/kueue/workload.h"

#define CONDITION(type, status, reason)                                                            \
	"{'type':'" type "','status':'" status "','reason':'" reason                               \
	"','message':'m','lastTransitionTime':'2026-01-01T00:00:00Z'}"
#define ACCEPTED    "{'conditions':[" CONDITION("Accepted", "True", "Accepted") "]}"
#define PROVISIONED "{'conditions':[" CONDITION("Provisioned", "True", "Provisioned") "]}"
#define FAILED	    "{'conditions':[" CONDITION("Failed", "True", "NoMatchingNodePool") "]}"
#define REVOKED                                                                                    \
	"{'conditions':[" CONDITION("Provisioned", "True", "Provisioned") "," CONDITION(           \
	    "CapacityRevoked", "True", "MaxRunDurationExceeded") "]}"

#define STORY(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

static void create(struct world *w, uint16_t type, const char *text)
{
	assert_int_equal(world_create(w, type, text), ERR_NONE);
}

static void check(struct world *w, const char *name, const char *class, const char *config)
{
	auto_buf a = BUF_INIT, b = BUF_INIT;

	buf_addf(
	    &a,
	    "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'AdmissionCheck','metadata':{'name':"
	    "'%s'},'spec':{'controllerName':'kueue.x-k8s.io/provisioning-request',"
	    "'parameters':{'apiGroup':'kueue.x-k8s.io','kind':'ProvisioningRequestConfig',"
	    "'name':'%s'}}}",
	    name, name);
	create(w, TYPE_ADMISSION_CHECK, a.ptr);
	buf_addf(&b,
		 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'ProvisioningRequestConfig',"
		 "'metadata':{'name':'%s'},'spec':{'provisioningClassName':'%s'%s}}",
		 name, class, config);
	create(w, TYPE_PROVISIONING_REQUEST_CONFIG, b.ptr);
}

/* Two flavors: one with cpus, one with GPUs too. `checks`: of the ClusterQueue. */
static void queue(struct world *w, const char *checks)
{
	auto_buf b = BUF_INIT;

	create(w, TYPE_RESOURCE_FLAVOR,
	       "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'ResourceFlavor','metadata':{'name':"
	       "'plain'}}");
	create(w, TYPE_RESOURCE_FLAVOR,
	       "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'ResourceFlavor','metadata':{'name':"
	       "'gpus'}}");
	buf_addf(&b,
		 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'ClusterQueue','metadata':{'name':"
		 "'cq'},'spec':{'namespaceSelector':{},'admissionChecksStrategy':{"
		 "'admissionChecks':[%s]},'resourceGroups':[{'coveredResources':['cpu',"
		 "'nvidia.com/gpu'],'flavors':[{'name':'plain','resources':[{'name':'cpu',"
		 "'nominalQuota':10},{'name':'nvidia.com/gpu','nominalQuota':0}]},{'name':'gpus',"
		 "'resources':[{'name':'cpu','nominalQuota':10},{'name':'nvidia.com/gpu',"
		 "'nominalQuota':10}]}]}]}}",
		 checks);
	create(w, TYPE_CLUSTER_QUEUE, b.ptr);
	create(w, TYPE_LOCAL_QUEUE,
	       "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'LocalQueue','metadata':{'name':"
	       "'lq','namespace':'default'},'spec':{'clusterQueue':'cq'}}");
	world_settle(w);
}

static void job(struct world *w)
{
	create(w, TYPE_PYTORCH_JOB,
	       "{'apiVersion':'kubeflow.org/v1','kind':'PyTorchJob','metadata':{'name':'p',"
	       "'namespace':'default','labels':{'kueue.x-k8s.io/queue-name':'lq'}},'spec':{"
	       "'pytorchReplicaSpecs':{'Master':{'replicas':1,'template':{'spec':{'containers':[{"
	       "'name':'pytorch','image':'i','resources':{'requests':{'cpu':'1'}}}]}}},'Worker':{"
	       "'replicas':2,'template':{'spec':{'containers':[{'name':'pytorch','image':'i',"
	       "'resources':{'limits':{'cpu':'1','nvidia.com/gpu':'1'}}}]}}}}}}");
	world_settle(w);
}

/* By what they manage: GPUs first, and all the rest. */
static void by_resource(struct world *w, const char *rest)
{
	check(w, "a-gpus", "queued-provisioning.gke.io", ",'managedResources':['nvidia.com/gpu']");
	check(w, "b-rest", "check-capacity.autoscaling.x-k8s.io", rest);
	queue(w, "{'name':'a-gpus'},{'name':'b-rest'}");
	job(w);
}

static const char *workload(struct world *w)
{
	const struct job *j = world_record(w, TYPE_PYTORCH_JOB, "default", "p");

	assert_non_null(j->workload);
	return j->workload->key + strlen("default/");
}

static const char *of_workload(struct world *w, const char *path)
{
	return world_field(w, TYPE_WORKLOAD, "default", workload(w), path);
}

static bool is(struct world *w, const char *type, const char *status, const char *reason)
{
	char path[64];

	for (int i = 0; i < 12; i++) {
		(void)snprintf(path, sizeof(path), "status.conditions.%d.type", i);
		if (strcmp(of_workload(w, path), type) != 0)
			continue;
		(void)snprintf(path, sizeof(path), "status.conditions.%d.status", i);
		bool same = strcmp(of_workload(w, path), status) == 0;
		(void)snprintf(path, sizeof(path), "status.conditions.%d.reason", i);
		return same && (!reason || strcmp(of_workload(w, path), reason) == 0);
	}
	return false;
}

static const char *name_of(struct world *w, const char *check, int attempt)
{
	static char text[4][STORE_MAX_NAME + 32];
	static int next;
	char *out = text[next++ % 4];

	(void)snprintf(out, sizeof(text[0]), "%s-%s-%d", workload(w), check, attempt);
	return out;
}

static struct model_copy *asked(struct world *w, const struct model *m, const char *check,
				int attempt)
{
	return model_copy(m, "default", name_of(w, check, attempt));
}

static void says(struct world *w, struct model *m, const char *check, int attempt,
		 const char *status)
{
	struct model_copy *c = asked(w, m, check, attempt);

	assert_non_null(c);
	model_set_status(m, c, status);
	world_settle(w);
}

static const char *of_request(struct world *w, const char *check, int attempt, const char *path)
{
	return world_field(w, TYPE_PROVISIONING_REQUEST, "default", name_of(w, check, attempt),
			   path);
}

/* ---- who asks for what ---- */

static void each_check_asks_for_what_its_config_manages(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 0, 8);

	model_provision_node(m, "came", NULL);
	m->run_time = 3600 * USEC_PER_SEC;
	by_resource(w, "");
	assert_string_equal(of_request(w, "a-gpus", 1, "spec.podSets.0.count"), "2");
	assert_string_equal(of_request(w, "a-gpus", 1, "spec.provisioningClassName"),
			    "queued-provisioning.gke.io");
	assert_string_equal(of_request(w, "b-rest", 1, "spec.podSets.0.count"), "1");
	assert_string_equal(of_request(w, "b-rest", 1, "spec.podSets.1.count"), "");
	assert_string_equal(of_request(w, "b-rest", 1, "spec.provisioningClassName"),
			    "check-capacity.autoscaling.x-k8s.io");
	says(w, m, "a-gpus", 1, PROVISIONED);
	/* One of two is not enough. */
	assert_string_equal(of_workload(w, "status.admissionChecks.0.state"), "Pending");
	assert_string_equal(of_workload(w, "status.admissionChecks.1.state"), "Pending");
	assert_null(model_copy(m, "default", "p"));
	says(w, m, "b-rest", 1, ACCEPTED);
	assert_null(model_copy(m, "default", "p"));
	says(w, m, "b-rest", 1, PROVISIONED);
	assert_string_equal(of_workload(w, "status.admissionChecks.0.state"), "Ready");
	assert_string_equal(of_workload(w, "status.admissionChecks.1.state"), "Ready");
	assert_string_equal(of_workload(w, "status.admissionChecks.0.podSetUpdates.0.name"),
			    "worker");
	assert_string_equal(of_workload(w, "status.admissionChecks.1.podSetUpdates.0.name"),
			    "master");
	assert_true(is(w, "Admitted", "True", NULL));
	struct model_copy *c = model_copy(m, "default", "p");
	assert_non_null(c);
	assert_non_null(strstr(c->body, name_of(w, "a-gpus", 1)));
	assert_non_null(strstr(c->body, name_of(w, "b-rest", 1)));
	char a[STORE_MAX_NAME + 32], b[STORE_MAX_NAME + 32];
	(void)snprintf(a, sizeof(a), "%s", name_of(w, "a-gpus", 1));
	(void)snprintf(b, sizeof(b), "%s", name_of(w, "b-rest", 1));
	model_finish(m, c, false);
	world_settle(w);
	assert_false(world_exists(w, TYPE_PROVISIONING_REQUEST, "default", a));
	assert_false(world_exists(w, TYPE_PROVISIONING_REQUEST, "default", b));
	assert_null(model_copy(m, "default", a));
	assert_null(model_copy(m, "default", b));
}

static void a_check_of_some_flavors_asks_for_the_pods_that_got_them(void **state)
{
	struct world *w = *state;

	(void)world_join(w, "c1", 0, 8);
	check(w, "a-plain", "check-capacity.autoscaling.x-k8s.io", "");
	check(w, "b-gpus", "queued-provisioning.gke.io", "");
	queue(w, "{'name':'a-plain','onFlavors':['plain']},{'name':'b-gpus','onFlavors':['gpus']}");
	job(w);
	assert_string_equal(of_request(w, "a-plain", 1, "spec.podSets.0.count"), "1");
	assert_string_equal(of_request(w, "b-gpus", 1, "spec.podSets.0.count"), "2");
}

static void what_the_first_check_asks_for_the_second_does_not(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 0, 8);

	model_provision_node(m, "came", NULL);
	check(w, "a-all", "queued-provisioning.gke.io", "");
	check(w, "b-all", "queued-provisioning.gke.io", "");
	queue(w, "{'name':'a-all'},{'name':'b-all'}");
	job(w);
	assert_string_equal(of_request(w, "a-all", 1, "spec.podSets.0.count"), "3");
	assert_false(world_exists(w, TYPE_PROVISIONING_REQUEST, "default", name_of(w, "b-all", 1)));
	assert_string_equal(of_workload(w, "status.admissionChecks.1.state"), "Ready");
	assert_false(is(w, "Admitted", "True", NULL));
	says(w, m, "a-all", 1, PROVISIONED);
	assert_true(is(w, "Admitted", "True", NULL));
}

/* ---- together ---- */

static void what_one_of_them_fails_they_leave_together(void **state)
{
	struct world *w = *state;
	struct model *a = world_join(w, "c1", 0, 8), *b = world_join(w, "c2", 0, 8);

	model_provision_node(b, "came", NULL);
	by_resource(w, "");
	says(w, a, "a-gpus", 1, PROVISIONED);
	assert_null(asked(w, b, "a-gpus", 1));
	says(w, a, "b-rest", 1, FAILED);
	assert_null(asked(w, a, "a-gpus", 1)); /* its nodes are of no use there */
	assert_null(asked(w, a, "b-rest", 1));
	says(w, b, "b-rest", 1, PROVISIONED);
	world_restart(w);
	world_settle(w);
	assert_null(model_copy(b, "default", "p"));
	says(w, b, "a-gpus", 1, PROVISIONED);
	assert_true(is(w, "Admitted", "True", NULL));
	assert_non_null(model_copy(b, "default", "p"));
	assert_null(model_copy(a, "default", "p"));
}

static void the_check_that_failed_is_tried_again_by_its_own_config(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 0, 8);

	by_resource(w, ",'retryStrategy':{'backoffLimitCount':1,'backoffBaseSeconds':20,"
		       "'backoffMaxSeconds':60}");
	says(w, m, "a-gpus", 1, PROVISIONED);
	auto_free char *uid = xstrdup(of_request(w, "a-gpus", 1, "metadata.uid"));
	says(w, m, "b-rest", 1, FAILED);
	assert_true(is(w, "Evicted", "True", "AdmissionCheck"));
	assert_string_equal(of_workload(w, "status.admissionChecks.1.retryCount"), "1");
	assert_null(asked(w, m, "a-gpus", 1));
	world_advance(w, 19 * USEC_PER_SEC);
	world_settle(w);
	assert_null(asked(w, m, "b-rest", 2));
	world_advance(w, 2 * USEC_PER_SEC);
	world_settle(w);
	/* Nodes are never used again: the first asks anew, with its first attempt. */
	assert_non_null(asked(w, m, "b-rest", 2));
	assert_non_null(asked(w, m, "a-gpus", 1));
	assert_string_not_equal(of_request(w, "a-gpus", 1, "metadata.uid"), uid);
	says(w, m, "b-rest", 2, FAILED);
	assert_true(is(w, "Evicted", "True", "DeactivatedDueToAdmissionCheck"));
	assert_null(asked(w, m, "a-gpus", 1));
}

static void nodes_that_one_of_them_loses_end_the_run(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 0, 8);

	model_provision_node(m, "came", NULL);
	m->run_time = 3600 * USEC_PER_SEC;
	by_resource(w, "");
	says(w, m, "a-gpus", 1, PROVISIONED);
	says(w, m, "b-rest", 1, PROVISIONED);
	assert_true(is(w, "Admitted", "True", NULL));
	says(w, m, "b-rest", 1, REVOKED);
	for (int i = 0; i < 3; i++) {
		world_advance(w, USEC_PER_SEC);
		world_settle(w);
	}
	assert_true(is(w, "Evicted", "True", "DeactivatedDueToAdmissionCheck"));
}

static void a_request_that_somebody_deletes_is_made_again_for_the_same_round(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 0, 8);

	model_provision_node(m, "came", NULL);
	by_resource(w, "");
	says(w, m, "b-rest", 1, PROVISIONED);
	assert_int_equal(
	    world_delete(w, TYPE_PROVISIONING_REQUEST, "default", name_of(w, "a-gpus", 1)),
	    ERR_NONE);
	for (int i = 0; i < 5; i++) { /* its predecessor goes first */
		world_settle(w);
		world_advance(w, USEC_PER_SEC);
	}
	world_settle(w);
	assert_non_null(asked(w, m, "a-gpus", 1));
	says(w, m, "a-gpus", 1, PROVISIONED);
	if (asked(w, m, "b-rest", 1))
		says(w, m, "b-rest", 1, PROVISIONED);
	assert_true(is(w, "Admitted", "True", NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(each_check_asks_for_what_its_config_manages),
	    STORY(a_check_of_some_flavors_asks_for_the_pods_that_got_them),
	    STORY(what_the_first_check_asks_for_the_second_does_not),
	    STORY(what_one_of_them_fails_they_leave_together),
	    STORY(the_check_that_failed_is_tried_again_by_its_own_config),
	    STORY(nodes_that_one_of_them_loses_end_the_run),
	    STORY(a_request_that_somebody_deletes_is_made_again_for_the_same_round),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
