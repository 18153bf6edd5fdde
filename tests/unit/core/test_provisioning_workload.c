/*
 * A workload and the ProvisioningRequests of its admission check: for which of its pods they are
 * made, how long they stay with it, and what a restart, a deletion or a lost member leaves.
 */
#include "provisioning_words.h"

#include "core/member.h"

static void pod_sets_that_use_nothing_managed_need_no_nodes(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);

	model_label_nodes(m, "pool", "queued");
	checked_queue(w, ",'managedResources':['nvidia.com/gpu']");
	job(w, "j");
	assert_string_equal(check(w, "state"), "Ready");
	assert_string_equal(check(w, "message"), "The provisioning request is not needed");
	assert_non_null(model_copy(m, "default", "j"));
	assert_int_equal(world_count(w, TYPE_PROVISIONING_REQUEST, "default"), 0);
}

static void pods_that_the_check_does_not_manage_need_room_of_their_own(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 0, 8);

	checked_queue(w, ",'managedResources':['nvidia.com/gpu']");
	assert_int_equal(
	    world_patch(w, TYPE_CLUSTER_QUEUE, "", "cq",
			"{'spec':{'resourceGroups':[{'coveredResources':['cpu','nvidia.com/gpu'],"
			"'flavors':[{'name':'f','resources':[{'name':'cpu','nominalQuota':10},{"
			"'name':'nvidia.com/gpu','nominalQuota':10}]}]}]}}"),
	    ERR_NONE);
	create(w, TYPE_PYTORCH_JOB,
	       "{'apiVersion':'kubeflow.org/v1','kind':'PyTorchJob','metadata':{'name':'p',"
	       "'namespace':'default','labels':{'kueue.x-k8s.io/queue-name':'lq'}},'spec':{"
	       "'pytorchReplicaSpecs':{'Master':{'replicas':1,'template':{'spec':{'containers':[{"
	       "'name':'pytorch','image':'i','resources':{'requests':{'cpu':'2'}}}]}}},'Worker':{"
	       "'replicas':2,'template':{'spec':{'containers':[{'name':'pytorch','image':'i',"
	       "'resources':{'limits':{'cpu':'1','nvidia.com/gpu':'1'}}}]}}}}}}");
	world_settle(w);
	const struct job *j = world_record(w, TYPE_PYTORCH_JOB, "default", "p");
	char name[STORE_MAX_NAME + 16];
	(void)snprintf(name, sizeof(name), "%.*s-prov-1", SPAN_ARGS(j->workload->name));
	assert_string_equal(field(w, name, "spec.podSets.0.count"), "2");
	/* These nodes are the workers' own; there is none for the master. */
	model_provision_node(m, "queued-1", "mine");
	model_set_status(m, model_copy(m, "default", name),
			 NODES_OF("mine", ACCEPTED "," PROVISIONED));
	world_settle(w);
	assert_null(model_copy(m, "default", "p"));
	assert_string_equal(world_field(w, TYPE_WORKLOAD, "default",
					j->workload->key + strlen("default/"),
					"status.admissionChecks.0.state"),
			    "Ready");
	(void)model_add_node(m, "plain", 4, 0);
	model_label_nodes(m, "pool", "queued");
	world_settle(w);
	assert_non_null(model_copy(m, "default", "p"));
	world_restart(w);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "p"));
}

static void restarts_in_the_middle_change_nothing(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 0, 8);

	m->run_time = 3600 * USEC_PER_SEC;
	checked_queue(w, "");
	job(w, "j");
	world_restart(w);
	world_settle(w);
	assert_non_null(asked(w, m, 1));
	says(w, m, 1, CONDITIONS(ACCEPTED));
	world_restart(w);
	world_settle(w);
	assert_string_equal(check(w, "state"), "Pending");
	model_provision_node(m, "queued-1", NULL);
	says(w, m, 1, CONDITIONS(ACCEPTED "," PROVISIONED));
	world_restart(w);
	world_settle(w);
	assert_string_equal(condition(w, "Admitted", "status"), "True");
	assert_non_null(model_copy(m, "default", "j"));
	assert_non_null(asked(w, m, 1));
	assert_int_equal(m->creates, 2);
}

static void a_deleted_job_takes_its_request_along(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 0, 8);
	char name[STORE_MAX_NAME + 32];

	checked_queue(w, "");
	job(w, "j");
	(void)snprintf(name, sizeof(name), "%s", request_name(w, 1));
	says(w, m, 1, CONDITIONS(ACCEPTED));
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "j"), ERR_NONE);
	world_settle(w);
	assert_false(world_exists(w, TYPE_PROVISIONING_REQUEST, "default", name));
	assert_null(model_copy(m, "default", name));
	assert_int_equal(w->core->provisioning->by_number.len, 0);
}

static void a_request_of_a_check_that_somebody_deletes_is_made_again(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 0, 8);

	checked_queue(w, "");
	job(w, "j");
	char first[OBJECT_UID_TEXT];
	(void)snprintf(first, sizeof(first), "%s", asked(w, m, 1)->job_uid);
	assert_int_equal(world_delete(w, TYPE_PROVISIONING_REQUEST, "default", request_name(w, 1)),
			 ERR_NONE);
	for (int i = 0; i < 5; i++) {
		world_settle(w);
		world_advance(w, USEC_PER_SEC);
	}
	assert_non_null(asked(w, m, 1));
	assert_string_not_equal(asked(w, m, 1)->job_uid, first);
}

static void a_lost_member_takes_its_nodes_and_another_is_asked(void **state)
{
	struct world *w = *state;
	struct model *a = world_join(w, "c1", 0, 8), *b = world_join(w, "c2", 0, 8);

	checked_queue(w, "");
	job(w, "j");
	says(w, a, 1, CONDITIONS(ACCEPTED));
	world_unjoin(w, "c1");
	for (int i = 0; i < 4; i++) {
		world_settle(w);
		world_advance(w, USEC_PER_SEC);
	}
	assert_null(asked(w, a, 1));
	assert_non_null(asked(w, b, 1));
	model_provision_node(b, "queued-1", NULL);
	says(w, b, 1, CONDITIONS(ACCEPTED "," PROVISIONED));
	assert_non_null(model_copy(b, "default", "j"));
}

static void a_check_without_config_is_not_active(void **state)
{
	struct world *w = *state;

	create(w, TYPE_ADMISSION_CHECK,
	       "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'AdmissionCheck','metadata':{'name':"
	       "'prov'},'spec':{'controllerName':'kueue.x-k8s.io/provisioning-request',"
	       "'parameters':{'apiGroup':'kueue.x-k8s.io','kind':'ProvisioningRequestConfig',"
	       "'name':'config'}}}");
	world_settle(w);
	assert_string_equal(
	    world_field(w, TYPE_ADMISSION_CHECK, "", "prov", "status.conditions.0.status"),
	    "False");
	assert_string_equal(
	    world_field(w, TYPE_ADMISSION_CHECK, "", "prov", "status.conditions.0.reason"),
	    "BadParametersRef");
}

static void set_active(struct world *w, const char *workload, bool active)
{
	assert_int_equal(
	    world_patch(w, TYPE_WORKLOAD, "default", workload,
			active ? "{'spec':{'active':true}}" : "{'spec':{'active':false}}"),
	    ERR_NONE);
	for (int i = 0; i < 3; i++) {
		world_settle(w);
		world_advance(w, USEC_PER_SEC);
	}
}

static void who_comes_back_after_an_eviction_gets_new_nodes(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 0, 8);
	char uid[64], name[STORE_MAX_NAME + 32];

	m->run_time = 3600 * USEC_PER_SEC;
	checked_queue(w, "");
	job(w, "j");
	(void)snprintf(name, sizeof(name), "%s", workload_name(w, "j"));
	model_provision_node(m, "queued-1", NULL);
	says(w, m, 1, CONDITIONS(ACCEPTED "," PROVISIONED));
	(void)snprintf(uid, sizeof(uid), "%s", asked(w, m, 1)->job_uid);
	assert_string_equal(condition(w, "Admitted", "status"), "True");
	set_active(w, name, false);
	assert_null(asked(w, m, 1));
	assert_int_equal(world_count(w, TYPE_PROVISIONING_REQUEST, "default"), 0);
	set_active(w, name, true);
	assert_non_null(asked(w, m, 1));
	assert_string_not_equal(asked(w, m, 1)->job_uid, uid);
	assert_string_equal(check(w, "state"), "Pending");
}

static void who_is_parked_goes_where_the_new_nodes_are(void **state)
{
	struct world *w = *state;
	struct model *a = world_join(w, "c1", 0, 8), *b = world_join(w, "c2", 0, 8);
	char name[STORE_MAX_NAME + 32];

	a->run_time = b->run_time = 3600 * USEC_PER_SEC;
	checked_queue(w, "");
	job(w, "j");
	(void)snprintf(name, sizeof(name), "%s", workload_name(w, "j"));
	const struct job *j = world_record(w, TYPE_JOB, "default", "j");
	model_provision_node(a, "queued-1", NULL);
	says(w, a, 1, CONDITIONS(ACCEPTED "," PROVISIONED));
	assert_non_null(model_copy(a, "default", "j"));
	set_active(w, name, false);
	assert_int_equal(j->dispatch.step, DISPATCH_PARKED);
	set_active(w, name, true);
	/* What is left of its former nodes is none of its new request's. */
	says(w, a, 1, CONDITIONS(FAILED));
	assert_false(j->holds);
	assert_non_null(model_copy(a, "default", "j"));
	model_provision_node(b, "queued-2", NULL);
	says(w, b, 1, CONDITIONS(ACCEPTED "," PROVISIONED));
	assert_true(j->holds);
	assert_ptr_equal(member_placed(w->core, j), member_by_name(w->core, SPAN("c2")));
	assert_null(model_copy(a, "default", "j"));
	assert_non_null(model_copy(b, "default", "j"));
	assert_int_equal(j->dispatch.step, DISPATCH_STARTED);
}

static void quota_is_given_back_before_who_was_just_edited_takes_it(void **state)
{
	struct world *w = *state;
	char name[STORE_MAX_NAME + 1];

	world_join(w, "c1", 0, 8);
	checked_queue(w, "");
	job(w, "j");
	job(w, "k");
	(void)snprintf(name, sizeof(name), "%s", workload_name(w, "k"));
	assert_true(workload_holds_quota(world_record(w, TYPE_JOB, "default", "j")->workload));
	assert_false(workload_holds_quota(world_record(w, TYPE_JOB, "default", "k")->workload));
	world_send_delete(w, TYPE_JOB, "default", "j");
	while (w->waiting)
		world_turn(w);
	/* In the batch that lets the job go, and gives its quota to the other. */
	world_send_patch(w, TYPE_WORKLOAD, "default", name, "{'metadata':{'labels':{'a':'b'}}}");
	while (w->waiting)
		world_turn(w);
	world_settle(w);
	world_check(w);
	assert_false(world_exists(w, TYPE_JOB, "default", "j"));
	assert_true(workload_holds_quota(world_record(w, TYPE_JOB, "default", "k")->workload));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(pod_sets_that_use_nothing_managed_need_no_nodes),
	    STORY(pods_that_the_check_does_not_manage_need_room_of_their_own),
	    STORY(restarts_in_the_middle_change_nothing),
	    STORY(a_deleted_job_takes_its_request_along),
	    STORY(a_request_of_a_check_that_somebody_deletes_is_made_again),
	    STORY(a_lost_member_takes_its_nodes_and_another_is_asked),
	    STORY(a_check_without_config_is_not_active),
	    STORY(who_comes_back_after_an_eviction_gets_new_nodes),
	    STORY(who_is_parked_goes_where_the_new_nodes_are),
	    STORY(quota_is_given_back_before_who_was_just_edited_takes_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
