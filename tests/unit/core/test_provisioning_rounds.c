/*
 * ProvisioningRequests of an admission check through every state that the document about queued
 * provisioning names: nodes that come, fail to come, are taken back, expire or fall silent.
 */
#include "provisioning_words.h"

static void a_workload_with_quota_asks_for_nodes_and_starts_where_they_come(void **state)
{
	struct world *w = *state;
	struct model *a = world_join(w, "c1", 0, 8), *b = world_join(w, "c2", 0, 8);

	b->run_time = 3600 * USEC_PER_SEC;
	checked_queue(w, "");
	assert_string_equal(
	    world_field(w, TYPE_ADMISSION_CHECK, "", "prov", "status.conditions.0.status"), "True");
	job(w, "j");
	assert_string_equal(condition(w, "QuotaReserved", "status"), "True");
	assert_string_equal(check(w, "state"), "Pending");
	const char *name = request_name(w, 1);
	assert_string_equal(field(w, name, "spec.podSets.0.count"), "2");
	assert_string_equal(field(w, name, "spec.parameters.maxRunDurationSeconds"), "600");
	assert_string_equal(field(w, name, "metadata.ownerReferences.0.kind"), "Workload");
	char template[STORE_MAX_NAME + 48];
	(void)snprintf(template, sizeof(template), "ppt-%s-main", name);
	assert_string_equal(world_field(w, TYPE_POD_TEMPLATE, "default", template,
					"template.spec.nodeSelector.pool"),
			    "queued");
	says(w, a, 1, CONDITIONS(FAILED));
	assert_string_equal(check(w, "state"), "Pending");
	says(w, b, 1, CONDITIONS(ACCEPTED "," QUOTA));
	assert_non_null(strstr(check(w, "message"), "QuotaExceeded: Quota"));
	assert_non_null(strstr(check(w, "message"), "cluster c2"));
	assert_null(model_copy(b, "default", "j"));
	const char *why = world_query(w, "namespaces/default/jobs/j/why");
	assert_non_null(strstr(why, "WaitingForProvisioning"));
	assert_non_null(strstr(why, "\"neverFits\":false"));
	assert_non_null(strstr(why, "\"cluster\":\"c1\",\"verdict\":\"Failed\""));
	assert_non_null(strstr(why, "\"cluster\":\"c2\",\"verdict\":\"Accepted\""));
	model_provision_node(b, "queued-1", NULL);
	says(w, b, 1, CONDITIONS(ACCEPTED "," PROVISIONED));
	assert_string_equal(check(w, "state"), "Ready");
	assert_string_equal(check(w, "podSetUpdates.0.name"), "main");
	assert_string_equal(condition(w, "Admitted", "status"), "True");
	assert_null(model_copy(a, "default", "j"));
	struct model_copy *c = model_copy(b, "default", "j");
	assert_non_null(c);
	assert_false(c->suspended);
	assert_non_null(strstr(c->body, "\"autoscaling.x-k8s.io/consume-provisioning-request\""));
	assert_non_null(
	    strstr(c->body, "\"cluster-autoscaler.kubernetes.io/consume-provisioning-request\""));
	assert_non_null(
	    strstr(c->body, "\"cluster-autoscaler.kubernetes.io/safe-to-evict\":\"false\""));
	assert_non_null(strstr(c->body, "cloud.google.com/gke-queued"));
	/* An expired booking means nothing to who runs. */
	says(w, b, 1, CONDITIONS(ACCEPTED "," PROVISIONED "," EXPIRED));
	assert_string_equal(condition(w, "Admitted", "status"), "True");
	/* Its end takes the request along. */
	char request[STORE_MAX_NAME + 32];
	(void)snprintf(request, sizeof(request), "%s", request_name(w, 1));
	model_finish(b, c, false);
	world_settle(w);
	assert_false(world_exists(w, TYPE_PROVISIONING_REQUEST, "default", request));
	assert_null(model_copy(b, "default", request));
}

static void provisioned_is_ready_and_placed_in_one_commit(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 0, 8);

	checked_queue(w, "");
	job(w, "j");
	model_provision_node(m, "queued-1", NULL);
	model_set_status(m, asked(w, m, 1), CONDITIONS(ACCEPTED "," PROVISIONED));
	for (struct fact *f; (f = model_next_fact(m));)
		world_push(w, f);
	for (int i = 0; i < 10 && strcmp(check(w, "state"), "Ready") != 0; i++)
		(void)world_turn(w);
	assert_string_equal(check(w, "state"), "Ready");
	assert_string_equal(condition(w, "Admitted", "status"), "True");
	assert_int_equal(world_record(w, TYPE_JOB, "default", "j")->dispatch.member, m->number);
}

static void a_round_that_failed_is_tried_again_later_and_in_the_end_given_up(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 0, 8);

	checked_queue(w, ",'retryStrategy':{'backoffLimitCount':1,'backoffBaseSeconds':60,"
			 "'backoffMaxSeconds':1800}");
	job(w, "j");
	says(w, m, 1, CONDITIONS(FAILED));
	assert_string_equal(condition(w, "Evicted", "reason"), "AdmissionCheck");
	assert_string_equal(condition(w, "QuotaReserved", "status"), "False");
	assert_string_equal(check(w, "state"), "Pending");
	assert_string_equal(check(w, "retryCount"), "1");
	/* The failed one tells why, for as long as nobody tries again. */
	assert_string_equal(field(w, request_name(w, 1), "status.conditions.0.type"), "Failed");
	assert_null(asked(w, m, 1));
	world_advance(w, 59 * USEC_PER_SEC);
	world_settle(w);
	assert_false(world_exists(w, TYPE_PROVISIONING_REQUEST, "default", request_name(w, 2)));
	world_restart(w);
	world_settle(w);
	world_advance(w, 2 * USEC_PER_SEC);
	world_settle(w);
	assert_non_null(asked(w, m, 2));
	assert_false(world_exists(w, TYPE_PROVISIONING_REQUEST, "default", request_name(w, 1)));
	says(w, m, 2, CONDITIONS(FAILED));
	assert_string_equal(condition(w, "Evicted", "reason"), "DeactivatedDueToAdmissionCheck");
	assert_string_equal(
	    world_field(w, TYPE_WORKLOAD, "default", workload_name(w, "j"), "spec.active"),
	    "false");
	assert_string_equal(field(w, request_name(w, 2), "status.conditions.0.type"), "Failed");
}

static bool why(struct world *w, const char *text)
{
	return strstr(world_query(w, "namespaces/default/jobs/j/why"), text) != NULL;
}

/* The check itself says, as in Kueue, that it is Pending again, and no more. */
static void why_repeats_the_members_reason_until_the_next_attempt(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 0, 8);
	const char *words = "Failed on cluster c1: NoMatchingNodePool: No pool can hold these pods";

	checked_queue(w, ",'retryStrategy':{'backoffLimitCount':1,'backoffBaseSeconds':60,"
			 "'backoffMaxSeconds':1800}");
	job(w, "j");
	says(w, m, 1, CONDITIONS(FAILED));
	assert_string_equal(check(w, "message"),
			    "Reset to Pending after eviction. Previously: Retry");
	assert_true(why(w, words));
	assert_true(why(w, "\"attempt\":1,"));
	world_restart(w);
	world_settle(w);
	assert_true(why(w, words));
	world_advance(w, 61 * USEC_PER_SEC);
	world_settle(w);
	assert_non_null(asked(w, m, 2));
	assert_false(why(w, words));
	says(w, m, 2, CONDITIONS(FAILED));
	assert_true(why(w, words));
	assert_true(why(w, "\"attempt\":2,"));
}

static void capacity_that_is_revoked_deactivates_who_runs_there(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 0, 8);

	m->run_time = 3600 * USEC_PER_SEC;
	checked_queue(w, "");
	job(w, "j");
	model_provision_node(m, "queued-1", NULL);
	says(w, m, 1, CONDITIONS(ACCEPTED "," PROVISIONED));
	assert_non_null(model_copy(m, "default", "j"));
	says(w, m, 1, CONDITIONS(ACCEPTED "," PROVISIONED "," REVOKED));
	for (int i = 0; i < 3; i++) {
		world_advance(w, USEC_PER_SEC);
		world_settle(w);
	}
	assert_string_equal(condition(w, "Evicted", "reason"), "DeactivatedDueToAdmissionCheck");
	struct model_copy *c = model_copy(m, "default", "j");
	assert_true(!c || c->suspended);
	assert_string_equal(condition(w, "QuotaReserved", "status"), "False");
}

static void nodes_that_outlive_their_run_are_taken_back_by_the_hub(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 0, 8);

	m->run_time = 3600 * USEC_PER_SEC;
	checked_queue(w, "");
	job(w, "j");
	model_provision_node(m, "queued-1", NULL);
	says(w, m, 1, CONDITIONS(ACCEPTED "," PROVISIONED));
	world_advance(w, 650 * USEC_PER_SEC);
	world_settle(w);
	assert_string_equal(condition(w, "Admitted", "status"), "True");
	world_advance(w, 11 * USEC_PER_SEC);
	for (int i = 0; i < 3; i++) {
		world_settle(w);
		world_advance(w, USEC_PER_SEC);
	}
	assert_string_equal(condition(w, "Evicted", "reason"), "DeactivatedDueToAdmissionCheck");
}

static void without_a_limit_of_its_own_a_run_ends_after_seven_days(void **state)
{
	const usec day = (usec)86400 * USEC_PER_SEC;
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 0, 8);

	m->run_time = 30 * day;
	checked_queue(w, "");
	assert_int_equal(
	    world_job(w, "default", "j", 2, 3, ",'labels':{'kueue.x-k8s.io/queue-name':'lq'}"),
	    ERR_NONE);
	world_settle(w);
	assert_string_equal(field(w, request_name(w, 1), "spec.parameters.maxRunDurationSeconds"),
			    "");
	model_provision_node(m, "queued-1", NULL);
	says(w, m, 1, CONDITIONS(ACCEPTED "," PROVISIONED));
	world_advance(w, 7 * day);
	world_settle(w);
	assert_string_equal(condition(w, "Admitted", "status"), "True");
	world_advance(w, 61 * USEC_PER_SEC);
	for (int i = 0; i < 3; i++) {
		world_settle(w);
		world_advance(w, USEC_PER_SEC);
	}
	assert_string_equal(condition(w, "Evicted", "reason"), "DeactivatedDueToAdmissionCheck");
}

static void other_check(struct world *w)
{
	create(w, TYPE_ADMISSION_CHECK,
	       "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'AdmissionCheck','metadata':{'name':"
	       "'zother'},'spec':{'controllerName':'example.com/other'},'status':{'conditions':[{"
	       "'type':'Active','status':'True','reason':'Active','message':'','lastTransitionTime'"
	       ":'2026-01-01T00:00:00Z'}]}}");
	checked_queue(w, "");
	assert_int_equal(world_patch(w, TYPE_CLUSTER_QUEUE, "", "cq",
				     "{'spec':{'admissionChecksStrategy':{'admissionChecks':[{"
				     "'name':'prov'},{'name':'zother'}]}}}"),
			 ERR_NONE);
	world_settle(w);
}

static void a_booking_that_expires_before_another_check_is_ready_is_a_failed_attempt(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 0, 8);

	other_check(w);
	job(w, "j");
	says(w, m, 1, CONDITIONS(ACCEPTED "," PROVISIONED));
	assert_string_equal(check(w, "state"), "Ready");
	assert_string_not_equal(condition(w, "Admitted", "status"), "True");
	says(w, m, 1, CONDITIONS(ACCEPTED "," PROVISIONED "," EXPIRED));
	assert_string_equal(condition(w, "Evicted", "reason"), "AdmissionCheck");
	assert_string_equal(check(w, "retryCount"), "1");
	assert_null(asked(w, m, 1));
}

/* Everybody but it answers what is asked of them, for a while. */
static void all_but(struct world *w, const struct model *silent)
{
	for (int i = 0; i < 40 && w->orders.len; i++) {
		struct order *o = w->orders.items[0];
		if (o->member != silent->number)
			world_answer(w, o);
		else
			world_lose(w, o, false);
		world_streams(w);
	}
}

static void nodes_behind_a_silent_member_are_asked_for_elsewhere_in_the_end(void **state)
{
	struct world *w = *state;
	struct model *a = world_join(w, "c1", 0, 8), *b = world_join(w, "c2", 0, 8);

	other_check(w);
	/* Without a limit of its run, which would end the wait too. */
	assert_int_equal(
	    world_job(w, "default", "j", 2, 3, ",'labels':{'kueue.x-k8s.io/queue-name':'lq'}"),
	    ERR_NONE);
	world_settle(w);
	says(w, a, 1, CONDITIONS(ACCEPTED "," PROVISIONED));
	assert_string_equal(check(w, "state"), "Ready");
	struct fact *f = model_ready(a);
	f->member_state.condition = MEMBER_UNREACHABLE;
	world_push(w, f);
	world_advance(w, 659 * USEC_PER_SEC);
	world_run(w);
	all_but(w, a);
	assert_null(asked(w, b, 1));
	world_advance(w, 2 * USEC_PER_SEC);
	all_but(w, a);
	assert_non_null(asked(w, b, 1));
	assert_string_equal(check(w, "state"), "Pending");
	/* It answers again: what stands there goes. */
	world_push(w, model_ready(a));
	world_settle(w);
	world_advance(w, 31 * USEC_PER_SEC);
	world_settle(w);
	assert_null(asked(w, a, 1));
	assert_non_null(asked(w, b, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(a_workload_with_quota_asks_for_nodes_and_starts_where_they_come),
	    STORY(provisioned_is_ready_and_placed_in_one_commit),
	    STORY(a_round_that_failed_is_tried_again_later_and_in_the_end_given_up),
	    STORY(why_repeats_the_members_reason_until_the_next_attempt),
	    STORY(capacity_that_is_revoked_deactivates_who_runs_there),
	    STORY(nodes_that_outlive_their_run_are_taken_back_by_the_hub),
	    STORY(without_a_limit_of_its_own_a_run_ends_after_seven_days),
	    STORY(a_booking_that_expires_before_another_check_is_ready_is_a_failed_attempt),
	    STORY(nodes_behind_a_silent_member_are_asked_for_elsewhere_in_the_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
