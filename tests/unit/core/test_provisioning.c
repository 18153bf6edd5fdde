/*
 * ProvisioningRequests step by step: a user's own on its way to a member and back, those of an
 * admission check through every state that the document about queued provisioning names, jobs that
 * take the nodes, and what a restart, a lost answer or a lost member leaves.
 */
#include "world.h"

#include "core/kueue/kueue.h"
#include "core/kueue/workload.h"
#include "core/provisioning/request.h"

#define PATIENCE (600 * USEC_PER_SEC)
#define CONDITION(type, status, reason, message)                                                   \
	"{'type':'" type "','status':'" status "','reason':'" reason "','message':'" message       \
	"','lastTransitionTime':'2026-01-01T00:00:00Z'}"
#define CONDITIONS(...) "{'conditions':[" __VA_ARGS__ "]}"
#define ACCEPTED	CONDITION("Accepted", "True", "Accepted", "queued")
#define PROVISIONED	CONDITION("Provisioned", "True", "Provisioned", "All nodes are ready")
#define QUOTA                                                                                      \
	CONDITION("Provisioned", "False", "QuotaExceeded", "Quota \\\"P4\\\" exceeded. Limit: 1.0")
#define FAILED	CONDITION("Failed", "True", "NoMatchingNodePool", "No pool can hold these pods")
#define EXPIRED CONDITION("BookingExpired", "True", "Expired", "Nobody came")
#define REVOKED CONDITION("CapacityRevoked", "True", "MaxRunDurationExceeded", "too long")

static int setup(void **state)
{
	int r = world_setup(state);
	struct world *w = *state;

	w->core->settings.provision_patience = PATIENCE;
	return r;
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, setup, world_teardown)

/* ---- users' own ---- */

static void template(struct world *w, const char *name)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b,
		 "{'apiVersion':'v1','kind':'PodTemplate','metadata':{'name':'%s','namespace':"
		 "'default'},'template':{'spec':{'containers':[{'name':'c','image':'i'}]}}}",
		 name);
	assert_int_equal(world_create(w, TYPE_POD_TEMPLATE, b.ptr), ERR_NONE);
}

static void request(struct world *w, const char *name)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b,
		 "{'apiVersion':'autoscaling.x-k8s.io/v1','kind':'ProvisioningRequest','metadata':"
		 "{'name':'%s','namespace':'default'},'spec':{'provisioningClassName':"
		 "'queued-provisioning.gke.io','podSets':[{'count':2,'podTemplateRef':{'name':"
		 "'pod'}}]}}",
		 name);
	assert_int_equal(world_create(w, TYPE_PROVISIONING_REQUEST, b.ptr), ERR_NONE);
}

static const char *field(struct world *w, const char *name, const char *path)
{
	return world_field(w, TYPE_PROVISIONING_REQUEST, "default", name, path);
}

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

/* ---- the admission check ---- */

static void create(struct world *w, uint16_t type, const char *text)
{
	assert_int_equal(world_create(w, type, text), ERR_NONE);
}

/* Queue lq with 10 cpus, whose check asks for nodes; retry: of the config, or "". */
static void checked_queue(struct world *w, const char *config)
{
	auto_buf b = BUF_INIT;

	create(w, TYPE_RESOURCE_FLAVOR,
	       "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'ResourceFlavor','metadata':{'name':"
	       "'f'},'spec':{'nodeLabels':{'pool':'queued'}}}");
	create(w, TYPE_ADMISSION_CHECK,
	       "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'AdmissionCheck','metadata':{'name':"
	       "'prov'},'spec':{'controllerName':'kueue.x-k8s.io/provisioning-request',"
	       "'parameters':{'apiGroup':'kueue.x-k8s.io','kind':'ProvisioningRequestConfig',"
	       "'name':'config'}}}");
	buf_addf(&b,
		 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'ProvisioningRequestConfig',"
		 "'metadata':{'name':'config'},'spec':{'provisioningClassName':"
		 "'queued-provisioning.gke.io'%s}}",
		 config);
	create(w, TYPE_PROVISIONING_REQUEST_CONFIG, b.ptr);
	create(w, TYPE_CLUSTER_QUEUE,
	       "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'ClusterQueue','metadata':{'name':"
	       "'cq'},'spec':{'namespaceSelector':{},'admissionChecksStrategy':{"
	       "'admissionChecks':[{'name':'prov'}]},'resourceGroups':[{'coveredResources':['cpu'"
	       "],'flavors':[{'name':'f','resources':[{'name':'cpu','nominalQuota':10}]}]}]}}");
	create(w, TYPE_LOCAL_QUEUE,
	       "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'LocalQueue','metadata':{'name':"
	       "'lq','namespace':'default'},'spec':{'clusterQueue':'cq'}}");
	world_settle(w);
}

static void job(struct world *w, const char *name)
{
	assert_int_equal(world_job(w, "default", name, 2, 3,
				   ",'labels':{'kueue.x-k8s.io/queue-name':'lq'},'annotations':{"
				   "'provreq.kueue.x-k8s.io/maxRunDurationSeconds':'600'}"),
			 ERR_NONE);
	world_settle(w);
}

static const char *workload_name(struct world *w, const char *name)
{
	static char text[STORE_MAX_NAME + 1];
	const struct job *j = world_record(w, TYPE_JOB, "default", name);

	assert_non_null(j);
	assert_non_null(j->workload);
	(void)snprintf(text, sizeof(text), "%.*s", SPAN_ARGS(j->workload->name));
	return text;
}

/* Of the first attempts of jobs called "j". */
static const char *request_name(struct world *w, int attempt)
{
	static char text[STORE_MAX_NAME + 32];

	(void)snprintf(text, sizeof(text), "%s-prov-%d", workload_name(w, "j"), attempt);
	return text;
}

static const char *check(struct world *w, const char *key)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "status.admissionChecks.0.%s", key);
	return world_field(w, TYPE_WORKLOAD, "default", workload_name(w, "j"), path);
}

static const char *condition(struct world *w, const char *type, const char *key)
{
	char path[64];

	for (int i = 0; i < 12; i++) {
		(void)snprintf(path, sizeof(path), "status.conditions.%d.type", i);
		if (strcmp(world_field(w, TYPE_WORKLOAD, "default", workload_name(w, "j"), path),
			   type) != 0)
			continue;
		(void)snprintf(path, sizeof(path), "status.conditions.%d.%s", i, key);
		return world_field(w, TYPE_WORKLOAD, "default", workload_name(w, "j"), path);
	}
	return "";
}

static struct model_copy *asked(struct world *w, struct model *m, int attempt)
{
	return model_copy(m, "default", request_name(w, attempt));
}

static void says(struct world *w, struct model *m, int attempt, const char *status)
{
	struct model_copy *c = asked(w, m, attempt);

	assert_non_null(c);
	model_set_status(m, c, status);
	world_settle(w);
}

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
	(void)model_add_node(b, "queued-1", 8, 0);
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
	(void)model_add_node(m, "queued-1", 8, 0);
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

static void capacity_that_is_revoked_deactivates_who_runs_there(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 0, 8);

	m->run_time = 3600 * USEC_PER_SEC;
	checked_queue(w, "");
	job(w, "j");
	(void)model_add_node(m, "queued-1", 8, 0);
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
	(void)model_add_node(m, "queued-1", 8, 0);
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
	(void)model_add_node(m, "queued-1", 8, 0);
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

static void nodes_behind_a_silent_member_are_asked_for_elsewhere_in_the_end(void **state)
{
	struct world *w = *state;
	struct model *a = world_join(w, "c1", 0, 8), *b = world_join(w, "c2", 0, 8);

	other_check(w);
	job(w, "j");
	says(w, a, 1, CONDITIONS(ACCEPTED "," PROVISIONED));
	assert_string_equal(check(w, "state"), "Ready");
	struct fact *f = model_ready(a);
	f->member_state.condition = MEMBER_UNREACHABLE;
	world_push(w, f);
	world_advance(w, 659 * USEC_PER_SEC);
	world_run(w);
	assert_null(asked(w, b, 1));
	world_advance(w, 2 * USEC_PER_SEC);
	for (int i = 0; i < 40 && !asked(w, b, 1); i++) {
		if (w->orders.len == 0)
			break;
		struct order *o = w->orders.items[0];
		if (o->member == b->number)
			world_answer(w, o);
		else
			world_lose(w, o, false);
		world_streams(w);
	}
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

static void who_comes_back_after_an_eviction_gets_new_nodes(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 0, 8);
	char uid[64], name[STORE_MAX_NAME + 32];

	m->run_time = 3600 * USEC_PER_SEC;
	checked_queue(w, "");
	job(w, "j");
	(void)snprintf(name, sizeof(name), "%s", workload_name(w, "j"));
	(void)model_add_node(m, "queued-1", 8, 0);
	says(w, m, 1, CONDITIONS(ACCEPTED "," PROVISIONED));
	(void)snprintf(uid, sizeof(uid), "%s", asked(w, m, 1)->job_uid);
	assert_string_equal(condition(w, "Admitted", "status"), "True");
	assert_int_equal(
	    world_patch(w, TYPE_WORKLOAD, "default", name, "{'spec':{'active':false}}"), ERR_NONE);
	for (int i = 0; i < 3; i++) {
		world_settle(w);
		world_advance(w, USEC_PER_SEC);
	}
	assert_null(asked(w, m, 1));
	assert_int_equal(world_count(w, TYPE_PROVISIONING_REQUEST, "default"), 0);
	assert_int_equal(world_patch(w, TYPE_WORKLOAD, "default", name, "{'spec':{'active':true}}"),
			 ERR_NONE);
	world_settle(w);
	assert_non_null(asked(w, m, 1));
	assert_string_not_equal(asked(w, m, 1)->job_uid, uid);
	assert_string_equal(check(w, "state"), "Pending");
}

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
	/* Their nodes are kept for the workers; the hub knows of none for the master. */
	model_set_status(m, model_copy(m, "default", name), CONDITIONS(ACCEPTED "," PROVISIONED));
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
	(void)model_add_node(m, "queued-1", 8, 0);
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
	(void)model_add_node(b, "queued-1", 8, 0);
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
	(void)model_add_node(b, "queued-1", 8, 0);
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
	    STORY(a_workload_with_quota_asks_for_nodes_and_starts_where_they_come),
	    STORY(provisioned_is_ready_and_placed_in_one_commit),
	    STORY(a_round_that_failed_is_tried_again_later_and_in_the_end_given_up),
	    STORY(capacity_that_is_revoked_deactivates_who_runs_there),
	    STORY(nodes_that_outlive_their_run_are_taken_back_by_the_hub),
	    STORY(without_a_limit_of_its_own_a_run_ends_after_seven_days),
	    STORY(a_booking_that_expires_before_another_check_is_ready_is_a_failed_attempt),
	    STORY(nodes_behind_a_silent_member_are_asked_for_elsewhere_in_the_end),
	    STORY(who_comes_back_after_an_eviction_gets_new_nodes),
	    STORY(pod_sets_that_use_nothing_managed_need_no_nodes),
	    STORY(pods_that_the_check_does_not_manage_need_room_of_their_own),
	    STORY(restarts_in_the_middle_change_nothing),
	    STORY(a_deleted_job_takes_its_request_along),
	    STORY(a_request_of_a_check_that_somebody_deletes_is_made_again),
	    STORY(a_lost_member_takes_its_nodes_and_another_is_asked),
	    STORY(a_check_without_config_is_not_active),
	    STORY(a_job_that_names_a_request_goes_where_its_nodes_are_once_they_are),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
