/*
 * The nodes that came for a ProvisioningRequest: who may be placed there, before and after a
 * consumer was, what a restart makes of it, and where in a topology their pods go.
 */
#include "provisioning_words.h"

#include "core/job.h"

static struct model *asked_member(struct world *w)
{
	struct model *m = world_join(w, "c1", 0, 8);

	m->run_time = 3600 * USEC_PER_SEC;
	big_template(w);
	request(w, "r");
	world_settle(w);
	assert_non_null(model_copy(m, "default", "r"));
	return m;
}

static void restart(struct world *w)
{
	world_restart(w);
	world_settle(w);
}

/* ---- nodes that nobody marked ---- */

/* Of 8 cpus 6 are claimed. */
static void what_came_is_claimed_until_a_consumer_is_there(void **state)
{
	struct world *w = *state;
	struct model *m = asked_member(w);

	model_provision_node(m, "queued-1", NULL);
	of_request(w, m, "r", CONDITIONS(ACCEPTED "," PROVISIONED));
	anybody(w, "too-big", 3);
	assert_null(sent(w, m, "too-big"));
	anybody(w, "beside", 2);
	assert_non_null(sent(w, m, "beside"));
	restart(w);
	assert_null(sent(w, m, "too-big"));
	consumer(w, "takes", "r");
	assert_non_null(sent(w, m, "takes"));
	assert_null(sent(w, m, "too-big"));
	restart(w);
	/* The claim is not there a second time when its room was taken and given back. */
	model_finish(m, model_copy(m, "default", "takes"), false);
	assert_non_null(sent(w, m, "too-big"));
}

static void nodes_that_are_seen_late_are_claimed_in_that_batch(void **state)
{
	struct world *w = *state;
	struct model *m = asked_member(w);

	anybody(w, "lurks", 3);
	of_request(w, m, "r", CONDITIONS(ACCEPTED "," PROVISIONED));
	consumer(w, "takes", "r");
	assert_null(sent(w, m, "takes"));
	model_provision_node(m, "queued-1", NULL);
	assert_non_null(sent(w, m, "takes"));
	assert_null(sent(w, m, "lurks"));
}

static void nothing_is_claimed_once_the_booking_has_expired(void **state)
{
	struct world *w = *state;
	struct model *m = asked_member(w);

	model_provision_node(m, "queued-1", NULL);
	of_request(w, m, "r", CONDITIONS(ACCEPTED "," PROVISIONED));
	anybody(w, "next", 3);
	assert_null(sent(w, m, "next"));
	of_request(w, m, "r", CONDITIONS(ACCEPTED "," PROVISIONED "," EXPIRED));
	assert_non_null(sent(w, m, "next"));
}

static void nothing_is_claimed_once_the_capacity_is_revoked(void **state)
{
	struct world *w = *state;
	struct model *m = asked_member(w);

	model_provision_node(m, "queued-1", NULL);
	of_request(w, m, "r", CONDITIONS(ACCEPTED "," PROVISIONED));
	anybody(w, "next", 3);
	assert_null(sent(w, m, "next"));
	of_request(w, m, "r", CONDITIONS(ACCEPTED "," PROVISIONED "," REVOKED));
	assert_non_null(sent(w, m, "next"));
}

static void nothing_is_claimed_for_a_request_that_was_cancelled(void **state)
{
	struct world *w = *state;
	struct model *m = asked_member(w);

	model_provision_node(m, "queued-1", NULL);
	of_request(w, m, "r", CONDITIONS(ACCEPTED "," PROVISIONED));
	anybody(w, "next", 3);
	assert_null(sent(w, m, "next"));
	assert_int_equal(world_delete(w, TYPE_PROVISIONING_REQUEST, "default", "r"), ERR_NONE);
	assert_non_null(sent(w, m, "next"));
}

static void a_member_that_leaves_takes_the_claim_along(void **state)
{
	struct world *w = *state;
	struct model *m = asked_member(w);

	model_provision_node(m, "queued-1", NULL);
	of_request(w, m, "r", CONDITIONS(ACCEPTED "," PROVISIONED));
	assert_int_equal(ledger_count(w->core->ledger), 1);
	world_unjoin(w, "c1");
	world_settle(w);
	assert_int_equal(ledger_count(w->core->ledger), 0);
}

/* ---- nodes that say whose they are ---- */

static void a_marked_node_is_for_its_request_alone(void **state)
{
	struct world *w = *state;
	struct model *m = asked_member(w);

	request(w, "other");
	world_settle(w);
	model_provision_node(m, "queued-1", "first");
	of_request(w, m, "r", NODES_OF("first", ACCEPTED "," PROVISIONED));
	anybody(w, "small", 1);
	assert_null(sent(w, m, "small")); /* though 2 cpus are left, and it tolerates everything */
	of_request(w, m, "other", NODES_OF("second", ACCEPTED "," PROVISIONED));
	consumer(w, "of-other", "other");
	assert_null(sent(w, m, "of-other"));
	consumer(w, "of-r", "r");
	assert_non_null(sent(w, m, "of-r"));
	model_provision_node(m, "queued-2", "second");
	struct model_copy *c = sent(w, m, "of-other");
	assert_non_null(c);
	const struct job *j = world_record(w, TYPE_JOB, "default", "of-other");
	assert_non_null(memmem(j->assignment, j->assignment_len, "queued-2", 8));
	assert_null(memmem(j->assignment, j->assignment_len, "queued-1", 8));
}

static void what_is_left_of_a_request_serves_no_other(void **state)
{
	struct world *w = *state;
	struct model *m = asked_member(w);

	model_provision_node(m, "queued-1", "first");
	of_request(w, m, "r", NODES_OF("first", ACCEPTED "," PROVISIONED));
	consumer(w, "of-r", "r");
	model_finish(m, sent(w, m, "of-r"), false);
	of_request(w, m, "r", NODES_OF("first", ACCEPTED "," PROVISIONED "," EXPIRED));
	request(w, "other");
	world_settle(w);
	of_request(w, m, "other", NODES_OF("second", ACCEPTED "," PROVISIONED));
	consumer(w, "of-other", "other");
	anybody(w, "small", 1);
	restart(w);
	assert_null(sent(w, m, "of-other"));
	assert_null(sent(w, m, "small"));
	/* Cancelled: its nodes are nobody's until the member takes them away. */
	assert_int_equal(world_delete(w, TYPE_PROVISIONING_REQUEST, "default", "r"), ERR_NONE);
	assert_null(sent(w, m, "of-other"));
	assert_null(sent(w, m, "small"));
}

static void a_restart_still_knows_whose_nodes_they_are(void **state)
{
	struct world *w = *state;
	struct model *m = asked_member(w);

	of_request(w, m, "r", NODES_OF("first", ACCEPTED));
	restart(w);
	model_provision_node(m, "queued-1", "first");
	of_request(w, m, "r", CONDITIONS(ACCEPTED "," PROVISIONED));
	restart(w);
	consumer(w, "of-r", "r");
	assert_non_null(sent(w, m, "of-r"));
	restart(w);
	/* What it asks is still what it asked when it was placed. */
	const struct job *j = world_record(w, TYPE_JOB, "default", "of-r");
	const struct pod_set *set = &shape_spec(j->shape)->sets[0];
	assert_int_equal(set->n_selector, 1);
	assert_true(span_is(set->selector[0].value, "first"));
}

static void of_a_gang_only_those_that_name_the_request_take_its_nodes(void **state)
{
	struct world *w = *state;
	struct model *m = asked_member(w);

	model_provision_node(m, "queued-1", "first");
	of_request(w, m, "r", NODES_OF("first", ACCEPTED "," PROVISIONED));
	create(w, TYPE_PYTORCH_JOB,
	       "{'apiVersion':'kubeflow.org/v1','kind':'PyTorchJob','metadata':{'name':'p',"
	       "'namespace':'default'},'spec':{'pytorchReplicaSpecs':{'Master':{'replicas':1,"
	       "'template':{'spec':{'containers':[{'name':'pytorch','image':'i','resources':{"
	       "'requests':{'cpu':'1'}}}]}}},'Worker':{'replicas':2,'template':{'metadata':{"
	       "'annotations':{'cluster-autoscaler.kubernetes.io/consume-provisioning-request':"
	       "'r'}},'spec':{'containers':[{'name':'pytorch','image':'i','resources':{'requests':{"
	       "'cpu':'3'}}}]}}}}}}");
	assert_null(sent(w, m, "p")); /* 2 cpus are left, and are not the master's */
	(void)model_add_node(m, "plain", 1, 0);
	assert_non_null(sent(w, m, "p"));
}

static void the_workload_of_a_check_goes_to_its_own_nodes(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 0, 8);

	m->run_time = 3600 * USEC_PER_SEC;
	checked_queue(w, "");
	model_provision_node(m, "foreign", "somebody");
	job(w, "j");
	says(w, m, 1, NODES_OF("mine", ACCEPTED "," PROVISIONED));
	assert_string_equal(check(w, "state"), "Ready");
	assert_null(sent(w, m, "j"));
	const char *why = world_query(w, "namespaces/default/jobs/j/why");
	assert_non_null(strstr(why, "All nodes are ready; its nodes as the hub sees them: "));
	model_provision_node(m, "queued-1", "mine");
	assert_non_null(sent(w, m, "j"));
	restart(w);
	const struct job *j = world_record(w, TYPE_JOB, "default", "j");
	assert_non_null(memmem(j->assignment, j->assignment_len, "queued-1", 8));
	bool marked = false;
	const struct pod_set *set = &shape_spec(j->shape)->sets[0];
	for (size_t i = 0; i < set->n_selector; i++)
		marked = marked || span_is(set->selector[i].value, "mine");
	assert_true(marked);
}

/* As users of other autoscalers configure it: the label is theirs. */
static void a_label_of_the_config_is_asked_for_too(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 0, 8);

	checked_queue(w, ",'podSetUpdates':{'nodeSelector':[{'key':'example.com/request',"
			 "'valueFromProvisioningClassDetail':'Ticket'}]}");
	model_provision_node(m, "other", NULL);
	job(w, "j");
	says(w, m, 1,
	     "{'conditions':[" ACCEPTED "," PROVISIONED
	     "],'provisioningClassDetails':{'Ticket':'t7'}}");
	assert_string_equal(check(w, "podSetUpdates.0.nodeSelector.example!com/request"), "t7");
	assert_null(sent(w, m, "j"));
	struct model_node *n = model_add_node(m, "queued-1", 8, 0);
	n->label_key = "example.com/request";
	n->label_value = "t7";
	n->other_key = "pool";
	n->other_value = "queued";
	assert_non_null(sent(w, m, "j"));
}

/* ---- more of them than one request may have ---- */

/* Asks for `count` pods of one cpu of a pool; `more`: of the pod's spec. */
static void large_request(struct world *w, const char *name, int count, const char *more)
{
	auto_buf t = BUF_INIT, r = BUF_INIT;

	buf_addf(&t,
		 "{'apiVersion':'v1','kind':'PodTemplate','metadata':{'name':'%s','namespace':"
		 "'default'},'template':{'metadata':{'labels':{'app':'a'}},'spec':{'nodeSelector':{"
		 "'cloud.google.com/gke-nodepool':'big'},'containers':[{'name':'c','image':'i',"
		 "'resources':{'requests':{'cpu':'1'}}}]%s}}}",
		 name, more);
	create(w, TYPE_POD_TEMPLATE, t.ptr);
	buf_addf(&r,
		 "{'apiVersion':'autoscaling.x-k8s.io/v1','kind':'ProvisioningRequest','metadata':"
		 "{'name':'%s','namespace':'default'},'spec':{'provisioningClassName':"
		 "'queued-provisioning.gke.io','podSets':[{'count':%d,'podTemplateRef':{'name':"
		 "'%s'}}]}}",
		 name, count, name);
	create(w, TYPE_PROVISIONING_REQUEST, r.ptr);
	for (int i = 0; i < 3; i++) {
		world_settle(w);
		world_advance(w, USEC_PER_SEC);
	}
}

#define ALONE                                                                                      \
	",'affinity':{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{"      \
	"'topologyKey':'kubernetes.io/hostname','labelSelector':{'matchLabels':{'app':'a'}}}]}}"

static void pods_that_keep_each_other_away_take_a_node_each(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 0, 8);

	large_request(w, "most", 1000, ALONE);
	assert_non_null(model_copy(m, "default", "most"));
	large_request(w, "more", 1001, ALONE);
	assert_null(model_copy(m, "default", "more"));
	assert_string_equal(field(w, "more", "status.conditions.0.type"), "Failed");
	assert_non_null(strstr(field(w, "more", "status.conditions.0.message"),
			       "TooManyNodes: 1001 nodes would be needed"));
	assert_non_null(strstr(field(w, "more", "status.conditions.0.message"), "at most 1000"));
	restart(w);
	assert_null(model_copy(m, "default", "more"));
	/* What cannot be proved is for the member to say. */
	large_request(w, "unknown", 2000, "");
	assert_non_null(model_copy(m, "default", "unknown"));
}

static void a_pool_whose_machines_are_known_has_no_more_than_that(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 0, 8);
	struct model_node *n = model_add_node(m, "big-1", 4, 0); /* four pods each */

	n->label_key = "cloud.google.com/gke-nodepool";
	n->label_value = "big";
	world_settle(w);
	large_request(w, "most", 4000, "");
	assert_non_null(model_copy(m, "default", "most"));
	large_request(w, "more", 4001, "");
	assert_null(model_copy(m, "default", "more"));
	assert_non_null(
	    strstr(field(w, "more", "status.conditions.0.message"), "1001 nodes would be needed"));
	/* Where nothing is known of its pool another member may have larger machines. */
	struct model *b = world_join(w, "c2", 0, 8);
	large_request(w, "elsewhere", 4001, "");
	assert_null(model_copy(m, "default", "elsewhere"));
	assert_non_null(model_copy(b, "default", "elsewhere"));
}

/* ---- where in a topology ---- */

static const char *assignment(struct world *w, const char *key)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "status.admission.podSetAssignments.0.%s", key);
	return world_field(w, TYPE_WORKLOAD, "default", workload_name(w, "j"), path);
}

static void racks(struct world *w)
{
	create(w, TYPE_TOPOLOGY,
	       "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'Topology','metadata':{'name':'t'},"
	       "'spec':{'levels':[{'nodeLabel':'cloud.example.com/rack'}]}}");
	checked_queue_of(w, "{'nodeLabels':{'cloud.example.com/block':'b'},'topologyName':'t'}",
			 "");
}

/* Two pods of 3 cpus in one rack. */
static void job_in_a_rack(struct world *w)
{
	create(w, TYPE_JOB,
	       "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'j','namespace':"
	       "'default','labels':{'kueue.x-k8s.io/queue-name':'lq'}},'spec':{"
	       "'parallelism':2,'completions':2,'template':{'metadata':{'annotations':{"
	       "'kueue.x-k8s.io/podset-required-topology':'cloud.example.com/rack'}},"
	       "'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'i',"
	       "'resources':{'requests':{'cpu':'3'}}}]}}}}");
	world_settle(w);
}

/* Kueue's second pass: which rack is known when the nodes are. */
static void places_are_found_when_the_nodes_have_come(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 0, 8);

	m->run_time = 3600 * USEC_PER_SEC;
	racks(w);
	job_in_a_rack(w);
	assert_string_equal(condition(w, "QuotaReserved", "status"), "True");
	assert_string_equal(assignment(w, "delayedTopologyRequest"), "Pending");
	assert_string_equal(assignment(w, "topologyAssignment.levels.0"), "");
	(void)model_add_node(m, "half-a", 4, 0);
	model_place_node(m, "half-a", "b", "r1");
	says(w, m, 1, CONDITIONS(ACCEPTED "," PROVISIONED));
	assert_string_equal(check(w, "state"), "Ready");
	assert_string_equal(condition(w, "Admitted", "status"), "False");
	assert_string_equal(condition(w, "Admitted", "reason"), "PendingDelayedTopologyRequests");
	assert_string_equal(condition(w, "Admitted", "message"),
			    "There are pending delayed topology requests");
	/* Two halves in two racks are no rack. */
	(void)model_add_node(m, "half-b", 4, 0);
	model_place_node(m, "half-b", "b", "r2");
	restart(w);
	assert_string_equal(assignment(w, "delayedTopologyRequest"), "Pending");
	(void)model_add_node(m, "whole", 8, 0);
	model_place_node(m, "whole", "b", "r9");
	world_settle(w);
	assert_string_equal(condition(w, "Admitted", "status"), "True");
	assert_string_equal(assignment(w, "delayedTopologyRequest"), "Ready");
	assert_string_equal(assignment(w, "topologyAssignment.levels.0"), "cloud.example.com/rack");
	assert_string_equal(
	    assignment(w, "topologyAssignment.slices.0.valuesPerLevel.0.universalValue"), "r9");
	assert_non_null(model_copy(m, "default", "j"));
}

static void without_a_topology_nothing_is_delayed(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 0, 8);

	checked_queue(w, "");
	job(w, "j");
	assert_string_equal(assignment(w, "delayedTopologyRequest"), "");
	model_provision_node(m, "queued-1", NULL);
	says(w, m, 1, CONDITIONS(ACCEPTED "," PROVISIONED));
	assert_string_equal(condition(w, "Admitted", "status"), "True");
	assert_string_equal(assignment(w, "delayedTopologyRequest"), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(what_came_is_claimed_until_a_consumer_is_there),
	    STORY(nodes_that_are_seen_late_are_claimed_in_that_batch),
	    STORY(nothing_is_claimed_once_the_booking_has_expired),
	    STORY(nothing_is_claimed_once_the_capacity_is_revoked),
	    STORY(nothing_is_claimed_for_a_request_that_was_cancelled),
	    STORY(a_member_that_leaves_takes_the_claim_along),
	    STORY(a_marked_node_is_for_its_request_alone),
	    STORY(what_is_left_of_a_request_serves_no_other),
	    STORY(a_restart_still_knows_whose_nodes_they_are),
	    STORY(of_a_gang_only_those_that_name_the_request_take_its_nodes),
	    STORY(the_workload_of_a_check_goes_to_its_own_nodes),
	    STORY(a_label_of_the_config_is_asked_for_too),
	    STORY(pods_that_keep_each_other_away_take_a_node_each),
	    STORY(a_pool_whose_machines_are_known_has_no_more_than_that),
	    STORY(places_are_found_when_the_nodes_have_come),
	    STORY(without_a_topology_nothing_is_delayed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
