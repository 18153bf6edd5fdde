/*
 * A user's own ProvisioningRequests step by step: on their way to a member and back, what a
 * restart, a lost answer or a lost member leaves, and jobs that take the nodes.
 */
#include "provisioning_words.h"

#define REQUEST_PATH  "/apis/autoscaling.x-k8s.io/v1/namespaces/default/provisioningrequests"
#define TEMPLATE_PATH "/api/v1/namespaces/default/podtemplates"

static void a_request_goes_to_a_member_and_its_status_comes_back(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);

	template(w, "pod");
	request(w, "by-hand");
	world_settle(w);
	struct model_copy *c = model_copy(m, "default", "by-hand");
	assert_non_null(c);
	assert_string_equal(c->job_uid, field(w, "by-hand", "metadata.uid"));
	assert_non_null(strstr(c->body, "ppt-by-hand-pod"));
	const struct cJSON *t = model_thing(m, TEMPLATE_PATH "/ppt-by-hand-pod");
	assert_non_null(t);
	assert_string_equal(field(w, "by-hand", "metadata.annotations.muster!dev/cluster"), "c1");
	model_set_status(m, c, CONDITIONS(ACCEPTED "," QUOTA));
	world_settle(w);
	assert_string_equal(field(w, "by-hand", "status.conditions.1.reason"), "QuotaExceeded");
	model_set_status(m, c, CONDITIONS(ACCEPTED "," PROVISIONED));
	world_settle(w);
	assert_string_equal(field(w, "by-hand", "status.conditions.1.type"), "Provisioned");
	assert_string_equal(field(w, "by-hand", "status.conditions.1.status"), "True");
	assert_int_equal(world_delete(w, TYPE_PROVISIONING_REQUEST, "default", "by-hand"),
			 ERR_NONE);
	world_settle(w);
	assert_null(model_copy(m, "default", "by-hand"));
	assert_int_equal(w->core->provisioning->by_number.len, 0);
}

static void a_member_with_the_older_version_alone_is_spoken_to_in_it(void **state)
{
	struct world *w = *state;

	w->v1beta1 = true;
	struct model *m = world_join(w, "c1", 1, 8);
	template(w, "pod");
	request(w, "old");
	world_settle(w);
	struct model_copy *c = model_copy(m, "default", "old");
	assert_non_null(c);
	assert_non_null(strstr(c->body, "\"autoscaling.x-k8s.io/v1beta1\""));
	const struct cJSON *t = model_thing(m, TEMPLATE_PATH "/ppt-old-pod");
	assert_string_equal(
	    json_str(json_at(json_path(t, "metadata", "ownerReferences", NULL), 0), "apiVersion"),
	    "autoscaling.x-k8s.io/v1beta1");
	model_set_status(m, c, CONDITIONS(ACCEPTED "," PROVISIONED));
	world_settle(w);
	assert_string_equal(field(w, "old", "status.conditions.1.type"), "Provisioned");
	world_restart(w);
	world_settle(w);
	assert_ptr_equal(model_copy(m, "default", "old"), c);
	assert_int_equal(m->creates, 1);
	assert_int_equal(world_delete(w, TYPE_PROVISIONING_REQUEST, "default", "old"), ERR_NONE);
	world_settle(w);
	assert_null(model_copy(m, "default", "old"));
	assert_int_equal(w->core->provisioning->by_number.len, 0);
}

static void a_request_waits_for_its_template(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);

	request(w, "early");
	world_settle(w);
	assert_null(model_copy(m, "default", "early"));
	template(w, "pod");
	world_settle(w);
	assert_non_null(model_copy(m, "default", "early"));
}

static void a_request_without_a_member_says_so_and_goes_to_the_first_that_comes(void **state)
{
	struct world *w = *state;

	template(w, "pod");
	request(w, "lonely");
	world_settle(w);
	assert_string_equal(field(w, "lonely", "status.conditions.0.reason"), "NoCluster");
	struct model *m = world_join(w, "c1", 1, 8);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "lonely"));
	assert_string_equal(field(w, "lonely", "status.conditions.0.reason"), "");
}

static void what_one_member_fails_the_next_is_asked(void **state)
{
	struct world *w = *state;
	struct model *a = world_join(w, "c1", 1, 8), *b = world_join(w, "c2", 1, 8);

	template(w, "pod");
	request(w, "r");
	world_settle(w);
	assert_null(model_copy(b, "default", "r"));
	model_set_status(a, model_copy(a, "default", "r"), CONDITIONS(FAILED));
	world_settle(w);
	assert_null(model_copy(a, "default", "r"));
	assert_non_null(model_copy(b, "default", "r"));
	assert_string_equal(field(w, "r", "metadata.annotations.muster!dev/cluster"), "c2");
	assert_string_equal(field(w, "r", "status.conditions.0.type"), "");
	model_set_status(b, model_copy(b, "default", "r"), CONDITIONS(FAILED));
	world_settle(w);
	/* Nobody is left: the end, as the last one put it. */
	assert_string_equal(field(w, "r", "status.conditions.0.type"), "Failed");
	assert_string_equal(field(w, "r", "status.conditions.0.reason"), "NoMatchingNodePool");
	assert_null(model_copy(b, "default", "r"));
}

static void a_member_that_takes_too_long_gives_way_to_the_next(void **state)
{
	struct world *w = *state;
	struct model *a = world_join(w, "c1", 1, 8), *b = world_join(w, "c2", 1, 8);

	template(w, "pod");
	request(w, "r");
	world_settle(w);
	model_set_status(a, model_copy(a, "default", "r"), CONDITIONS(ACCEPTED));
	world_settle(w);
	world_advance(w, PATIENCE - USEC_PER_SEC);
	world_settle(w);
	assert_null(model_copy(b, "default", "r"));
	world_advance(w, 2 * USEC_PER_SEC);
	world_settle(w);
	assert_null(model_copy(a, "default", "r"));
	assert_non_null(model_copy(b, "default", "r"));
	/* There is nobody after it: it may wait for ever. */
	world_advance(w, 10 * PATIENCE);
	world_settle(w);
	assert_non_null(model_copy(b, "default", "r"));
}

static void a_member_that_accepts_nothing_gives_way_sooner(void **state)
{
	struct world *w = *state;
	struct model *a = world_join(w, "c1", 1, 8), *b = world_join(w, "c2", 1, 8);

	w->core->settings.provision_discovery = 60 * USEC_PER_SEC;
	template(w, "pod");
	request(w, "r");
	world_settle(w);
	assert_non_null(model_copy(a, "default", "r"));
	world_advance(w, 61 * USEC_PER_SEC);
	world_settle(w);
	assert_null(model_copy(a, "default", "r"));
	assert_non_null(model_copy(b, "default", "r"));
}

static void of_several_that_are_asked_the_first_with_nodes_wins(void **state)
{
	struct world *w = *state;
	struct model *a = world_join(w, "c1", 1, 8), *b = world_join(w, "c2", 1, 8);

	w->core->settings.provision_parallel = 2;
	template(w, "pod");
	request(w, "r");
	world_settle(w);
	assert_non_null(model_copy(a, "default", "r"));
	assert_non_null(model_copy(b, "default", "r"));
	model_set_status(b, model_copy(b, "default", "r"), CONDITIONS(ACCEPTED "," PROVISIONED));
	world_settle(w);
	assert_null(model_copy(a, "default", "r"));
	assert_non_null(model_copy(b, "default", "r"));
	assert_string_equal(field(w, "r", "metadata.annotations.muster!dev/cluster"), "c2");
	assert_string_equal(field(w, "r", "status.conditions.1.type"), "Provisioned");
	/* An expired booking is no reason to ask again. */
	model_set_status(b, model_copy(b, "default", "r"),
			 CONDITIONS(ACCEPTED "," PROVISIONED "," EXPIRED));
	world_settle(w);
	assert_null(model_copy(a, "default", "r"));
	assert_non_null(model_copy(b, "default", "r"));
	assert_string_equal(field(w, "r", "status.conditions.2.type"), "BookingExpired");
}

static void a_member_that_does_not_take_the_class_is_not_asked(void **state)
{
	struct world *w = *state;
	struct model *a = world_join(w, "c1", 1, 8), *b = world_join(w, "c2", 1, 8);

	assert_int_equal(
	    world_patch(w, TYPE_CLUSTER, "", "c1",
			"{'metadata':{'annotations':{'muster.dev/provisioning-classes':"
			"'check-capacity.autoscaling.x-k8s.io, other'}}}"),
	    ERR_NONE);
	template(w, "pod");
	request(w, "r");
	world_settle(w);
	assert_null(model_copy(a, "default", "r"));
	assert_non_null(model_copy(b, "default", "r"));
}

static void a_member_has_no_more_waiting_requests_than_it_may(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);

	assert_int_equal(world_patch(w, TYPE_CLUSTER, "", "c1",
				     "{'metadata':{'annotations':{'muster.dev/"
				     "provisioning-accepted':'2'}}}"),
			 ERR_NONE);
	template(w, "pod");
	request(w, "r1");
	world_settle(w);
	request(w, "r2");
	world_settle(w);
	request(w, "r3");
	world_settle(w);
	request(w, "r4");
	world_settle(w);
	assert_non_null(model_copy(m, "default", "r1"));
	assert_non_null(model_copy(m, "default", "r2"));
	assert_null(model_copy(m, "default", "r3"));
	assert_string_equal(field(w, "r3", "status.conditions.0.type"), "Accepted");
	assert_string_equal(field(w, "r3", "status.conditions.0.status"), "False");
	assert_string_equal(field(w, "r3", "status.conditions.0.reason"), "TooManyAccepted");
	model_set_status(m, model_copy(m, "default", "r1"), CONDITIONS(ACCEPTED));
	world_settle(w);
	assert_null(model_copy(m, "default", "r3"));
	/* One that has its nodes waits no more; one that is deleted neither. */
	model_set_status(m, model_copy(m, "default", "r1"), CONDITIONS(ACCEPTED "," PROVISIONED));
	world_settle(w);
	assert_non_null(model_copy(m, "default", "r3"));
	assert_string_equal(field(w, "r3", "status.conditions.0.reason"), "");
	assert_null(model_copy(m, "default", "r4"));
	assert_int_equal(world_delete(w, TYPE_PROVISIONING_REQUEST, "default", "r2"), ERR_NONE);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "r4"));
}

static void who_waits_for_a_crowded_member_has_not_failed_elsewhere(void **state)
{
	struct world *w = *state;
	struct model *a = world_join(w, "c1", 1, 8), *b = world_join(w, "c2", 1, 8);

	assert_int_equal(world_patch(w, TYPE_CLUSTER, "", "c2",
				     "{'metadata':{'annotations':{'muster.dev/"
				     "provisioning-accepted':'1'}}}"),
			 ERR_NONE);
	template(w, "pod");
	request(w, "first");
	world_settle(w);
	model_set_status(a, model_copy(a, "default", "first"), CONDITIONS(FAILED));
	world_settle(w);
	assert_non_null(model_copy(b, "default", "first"));
	request(w, "second");
	world_settle(w);
	model_set_status(a, model_copy(a, "default", "second"), CONDITIONS(FAILED));
	world_settle(w);
	assert_null(model_copy(b, "default", "second"));
	model_set_status(b, model_copy(b, "default", "first"), CONDITIONS(PROVISIONED));
	world_settle(w);
	assert_non_null(model_copy(b, "default", "second"));
}

static void a_foreign_object_of_the_name_is_left_alone(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);
	struct order *foreign = order_create(ORDER_CALL, m->number);

	foreign->method = "POST";
	foreign->path = xstrdup(REQUEST_PATH);
	foreign->body = xstrdup("{\"metadata\":{\"name\":\"r\"},\"spec\":{}}");
	foreign->body_len = strlen(foreign->body);
	model_put_thing(m, "/api/v1/namespaces/default", "{}");
	fact_destroy(model_call(m, foreign));
	order_destroy(foreign);
	template(w, "pod");
	request(w, "r");
	world_settle(w);
	assert_string_equal(field(w, "r", "status.conditions.0.type"), "Failed");
	assert_non_null(model_copy(m, "default", "r"));
	assert_null(model_copy(m, "default", "r")->hub_uid);
	assert_int_equal(m->deletes, 0);
}

/* ---- what goes wrong on the way ---- */

/* Every order of a request's life is lost once, carried out or not, with a restart behind it or
 * not: there is one copy in the end, with its template, and after the deletion none. */
static void run_with_loss(struct world *w, struct model *m, int at, bool carried_out, bool restart)
{
	int n = 0;

	for (int i = 0; i < 200 && w->orders.len; i++) {
		if (n++ == at) {
			world_lose(w, w->orders.items[0], carried_out);
			if (restart)
				world_restart(w);
		} else {
			world_answer(w, w->orders.items[0]);
		}
		world_streams(w);
	}
	for (int i = 0; i < 20; i++) {
		world_advance(w, USEC_PER_SEC);
		world_settle(w);
	}
	(void)m;
}

static void lost_answers_and_restarts_leave_one_copy_and_then_none(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);

	template(w, "pod");
	for (int at = 0; at < 4; at++) {
		for (int how = 0; how < 4; how++) {
			uint64_t creates = m->creates;
			request(w, "r");
			world_run(w);
			run_with_loss(w, m, at, how & 1, how & 2);
			assert_non_null(model_copy(m, "default", "r"));
			assert_non_null(model_thing(m, TEMPLATE_PATH "/ppt-r-pod"));
			assert_true(m->creates - creates <= 2);
			assert_int_equal(world_delete(w, TYPE_PROVISIONING_REQUEST, "default", "r"),
					 ERR_NONE);
			run_with_loss(w, m, at, how & 1, how & 2);
			assert_null(model_copy(m, "default", "r"));
			/* Its owner is gone: a real member collects it. */
			(void)model_drop_thing(m, TEMPLATE_PATH "/ppt-r-pod");
			assert_int_equal(w->core->provisioning->by_number.len, 0);
		}
	}
}

static void a_restart_remembers_who_was_asked_and_who_has_nodes(void **state)
{
	struct world *w = *state;
	struct model *a = world_join(w, "c1", 1, 8), *b = world_join(w, "c2", 1, 8);

	template(w, "pod");
	request(w, "r");
	world_settle(w);
	model_set_status(a, model_copy(a, "default", "r"), CONDITIONS(FAILED));
	world_settle(w);
	model_set_status(b, model_copy(b, "default", "r"), CONDITIONS(ACCEPTED "," PROVISIONED));
	world_settle(w);
	world_restart(w);
	world_settle(w);
	assert_null(model_copy(a, "default", "r"));
	assert_non_null(model_copy(b, "default", "r"));
	assert_string_equal(field(w, "r", "status.conditions.1.type"), "Provisioned");
	assert_string_equal(field(w, "r", "metadata.annotations.muster!dev/cluster"), "c2");
}

static void a_member_that_is_unjoined_gives_its_requests_back(void **state)
{
	struct world *w = *state;
	struct model *a = world_join(w, "c1", 1, 8), *b = world_join(w, "c2", 1, 8);

	template(w, "pod");
	request(w, "r");
	world_settle(w);
	model_set_status(a, model_copy(a, "default", "r"), CONDITIONS(ACCEPTED "," PROVISIONED));
	world_settle(w);
	world_unjoin(w, "c1");
	for (int i = 0; i < 5; i++) {
		world_advance(w, USEC_PER_SEC);
		world_settle(w);
	}
	assert_null(model_copy(a, "default", "r"));
	assert_false(world_exists(w, TYPE_CLUSTER, "", "c1"));
	assert_non_null(model_copy(b, "default", "r"));
}

/* ---- jobs that name a request ---- */

static void a_job_that_names_a_request_goes_where_its_nodes_are_once_they_are(void **state)
{
	struct world *w = *state;
	struct model *a = world_join(w, "c1", 4, 8), *b = world_join(w, "c2", 0, 8);
	auto_free char *text = world_job_text("default", "eats", 2, 3, "");
	auto_buf consumer = BUF_INIT;
	char *at = strstr(text, "'template':{");

	b->run_time = 3600 * USEC_PER_SEC;
	assert_non_null(at);
	at += strlen("'template':{");
	buf_addf(&consumer,
		 "%.*s'metadata':{'annotations':{'cluster-autoscaler.kubernetes.io/"
		 "consume-provisioning-request':'r','cluster-autoscaler.kubernetes.io/"
		 "safe-to-evict':'true'}},%s",
		 (int)(at - text), text, at);
	create(w, TYPE_JOB, consumer.ptr);
	world_settle(w);
	assert_null(model_copy(a, "default", "eats"));
	struct job *j = world_record(w, TYPE_JOB, "default", "eats");
	assert_non_null(strstr(j->hold_detail, "does not exist"));
	template(w, "pod");
	assert_int_equal(world_patch(w, TYPE_CLUSTER, "", "c1",
				     "{'metadata':{'annotations':{'muster.dev/"
				     "provisioning-classes':'none'}}}"),
			 ERR_NONE);
	request(w, "r");
	world_settle(w);
	model_set_status(b, model_copy(b, "default", "r"), CONDITIONS(ACCEPTED "," QUOTA));
	world_settle(w);
	assert_non_null(strstr(j->hold_detail, "QuotaExceeded"));
	assert_string_equal(j->top_reason, "WaitingForProvisioning");
	model_provision_node(b, "queued-1", NULL);
	model_set_status(b, model_copy(b, "default", "r"), CONDITIONS(ACCEPTED "," PROVISIONED));
	world_settle(w);
	assert_null(model_copy(a, "default", "eats"));
	struct model_copy *c = model_copy(b, "default", "eats");
	assert_non_null(c);
	assert_non_null(strstr(c->body, "safe-to-evict\":\"true\""));
	assert_non_null(strstr(c->body, "\"autoscaling.x-k8s.io/consume-provisioning-request\""));
	assert_non_null(strstr(c->body, "cloud.google.com/gke-queued"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(a_request_goes_to_a_member_and_its_status_comes_back),
	    STORY(a_member_with_the_older_version_alone_is_spoken_to_in_it),
	    STORY(a_request_waits_for_its_template),
	    STORY(a_request_without_a_member_says_so_and_goes_to_the_first_that_comes),
	    STORY(what_one_member_fails_the_next_is_asked),
	    STORY(a_member_that_takes_too_long_gives_way_to_the_next),
	    STORY(a_member_that_accepts_nothing_gives_way_sooner),
	    STORY(of_several_that_are_asked_the_first_with_nodes_wins),
	    STORY(a_member_that_does_not_take_the_class_is_not_asked),
	    STORY(a_member_has_no_more_waiting_requests_than_it_may),
	    STORY(who_waits_for_a_crowded_member_has_not_failed_elsewhere),
	    STORY(a_foreign_object_of_the_name_is_left_alone),
	    STORY(lost_answers_and_restarts_leave_one_copy_and_then_none),
	    STORY(a_restart_remembers_who_was_asked_and_who_has_nodes),
	    STORY(a_member_that_is_unjoined_gives_its_requests_back),
	    STORY(a_job_that_names_a_request_goes_where_its_nodes_are_once_they_are),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
