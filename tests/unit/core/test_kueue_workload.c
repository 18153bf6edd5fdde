/*
 * Workloads as objects that others write too: those of creators without a job, and who may say what
 * about an admission.
 */
#include "kueue_words.h"

static void own(struct world *w, const char *name, const char *queue, int pods, int cpus,
		int priority)
{
	auto_buf b = BUF_INIT;

	buf_addf(
	    &b,
	    "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'Workload','metadata':{'name':'%s',"
	    "'namespace':'default'},'spec':{'active':true,'queueName':'%s','priority':%d,"
	    "'podSets':[{'name':'main','count':%d,'template':{'spec':{'containers':[{'name':'c'"
	    ",'resources':{'requests':{'cpu':%d}}}]}}}]}}",
	    name, queue, priority, pods, cpus);
	assert_int_equal(world_create(w, TYPE_WORKLOAD, b.ptr), ERR_NONE);
}

static void nobody_but_the_hub_writes_an_admission(void **state)
{
	struct world *w = *state;

	own(w, "a", "lq", 1, 1, 0);
	assert_int_equal(world_patch(w, TYPE_WORKLOAD, "default", "a",
				     "{'status':{'admission':{'clusterQueue':'cq',"
				     "'podSetAssignments':[]}}}"),
			 ERR_INVALID);
	assert_string_equal(w->err.field, "status.admission");
	assert_int_equal(
	    world_patch(w, TYPE_WORKLOAD, "default", "a",
			"{'status':{'conditions':[{'type':'Admitted','status':'True','reason':'X',"
			"'message':'','lastTransitionTime':'2026-01-01T00:00:00Z'}]}}"),
	    ERR_INVALID);
	assert_string_equal(w->err.field, "status.conditions");
}

static void a_workload_without_a_job_takes_quota_alone_and_ends_by_its_creator(void **state)
{
	struct world *w = *state;

	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 6, "");
	local_queue(w, "lq", "cq");
	own(w, "a", "lq", 2, 3, 0);
	own(w, "b", "lq", 1, 1, 0);
	world_settle(w);
	assert_string_equal(condition(w, "default", "a", "Admitted", "status"), "True");
	assert_string_equal(condition(w, "default", "b", "QuotaReserved", "status"), "False");
	assert_int_equal(used(w, "cq", "f"), 6000);
	world_restart(w);
	world_settle(w);
	assert_int_equal(used(w, "cq", "f"), 6000);
	assert_int_equal(
	    world_patch(w, TYPE_WORKLOAD, "default", "a",
			"{'status':{'conditions':[{'type':'Finished','status':'True','reason':"
			"'ByTest','message':'','lastTransitionTime':'2026-01-01T00:00:00Z'}]}}"),
	    ERR_NONE);
	world_settle(w);
	assert_int_equal(used(w, "cq", "f"), 1000);
	assert_string_equal(condition(w, "default", "b", "Admitted", "status"), "True");
}

/* A Workload of one pod that asks for these, and of so many that ask for a cpu and a card. */
static void asks(struct world *w, const char *name, const char *requests, int cards)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b,
		 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'Workload','metadata':{'name':'%s',"
		 "'namespace':'default'},'spec':{'active':true,'queueName':'lq','podSets':[{'name':"
		 "'main','count':1,'template':{'spec':{'containers':[{'name':'c','resources':{"
		 "'requests':{%s}}}]}}}",
		 name, requests);
	if (cards >= 0)
		buf_addf(&b,
			 ",{'name':'cards','count':%d,'template':{'spec':{'containers':[{'name':'c'"
			 ",'resources':{'requests':{'cpu':1,'card':1}}}]}}}",
			 cards);
	buf_add_str(&b, "]}}");
	assert_int_equal(world_create(w, TYPE_WORKLOAD, b.ptr), ERR_NONE);
	world_settle(w);
}

static void queue_of_two_flavors(struct world *w, const char *check)
{
	auto_buf b = BUF_INIT;

	flavor(w, "plain", "");
	flavor(w, "cards", "");
	assert_int_equal(
	    world_create(w, TYPE_ADMISSION_CHECK,
			 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'AdmissionCheck','metadata'"
			 ":{'name':'budget'},'spec':{'controllerName':'example.com/budget'},"
			 "'status':{'conditions':[{'type':'Active','status':'True','reason':"
			 "'Active','message':'','lastTransitionTime':'2026-01-01T00:00:00Z'}]}}"),
	    ERR_NONE);
	buf_addf(
	    &b,
	    "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'ClusterQueue','metadata':{'name':"
	    "'cq'},'spec':{'namespaceSelector':{},'resourceGroups':[{'coveredResources':['cpu'"
	    "],'flavors':[{'name':'plain','resources':[{'name':'cpu','nominalQuota':9}]}]},{"
	    "'coveredResources':['card'],'flavors':[{'name':'cards','resources':[{'name':"
	    "'card','nominalQuota':9}]}]}],'admissionChecksStrategy':{'admissionChecks':[%s]}}}",
	    check);
	assert_int_equal(world_create(w, TYPE_CLUSTER_QUEUE, b.ptr), ERR_NONE);
	local_queue(w, "lq", "cq");
}

static void a_check_of_a_flavor_is_for_whom_that_is_assigned_used_or_not(void **state)
{
	struct world *w = *state;

	queue_of_two_flavors(w, "{'name':'budget','onFlavors':['cards']}");
	asks(w, "without", "'cpu':1", -1);
	assert_string_equal(condition(w, "default", "without", "Admitted", "status"), "True");
	asks(w, "one", "'cpu':1", 1);
	assert_string_equal(condition(w, "default", "one", "Admitted", "status"), "False");
	asks(w, "zero", "'cpu':1", 0);
	assert_string_equal(condition(w, "default", "zero", "QuotaReserved", "status"), "True");
	assert_string_equal(condition(w, "default", "zero", "Admitted", "status"), "False");
}

static void a_check_of_the_whole_queue_is_not_for_whom_no_flavor_is_assigned(void **state)
{
	struct world *w = *state;

	queue_of_two_flavors(w, "{'name':'budget'}");
	asks(w, "some", "'cpu':1", -1);
	assert_string_equal(condition(w, "default", "some", "Admitted", "status"), "False");
	asks(w, "nothing", "", -1);
	assert_string_equal(condition(w, "default", "nothing", "Admitted", "status"), "True");
}

/* "a" holds 6 of 6; its creator gives it back, deactivated, and "b" gets it. */
static void a_creator_may_give_a_reservation_back(void **state)
{
	struct world *w = *state;

	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 6, "");
	local_queue(w, "lq", "cq");
	own(w, "a", "lq", 2, 3, 0);
	own(w, "b", "lq", 1, 1, 0);
	world_settle(w);
	assert_int_equal(used(w, "cq", "f"), 6000);
	assert_int_equal(
	    world_patch(w, TYPE_WORKLOAD, "default", "a",
			"{'status':{'admission':null,'conditions':[{'type':'Requeued','status':"
			"'False','reason':'ByTest','message':'','lastTransitionTime':"
			"'2026-01-01T00:00:00Z'}]}}"),
	    ERR_NONE);
	world_settle(w);
	assert_string_equal(condition(w, "default", "b", "Admitted", "status"), "True");
	assert_true(used(w, "cq", "f") <= 6000);
	world_restart(w);
	world_settle(w);
	assert_string_equal(condition(w, "default", "b", "Admitted", "status"), "True");
}

/* Whoever may write the status of a job's workload does not get its quota for others. */
static void nobody_takes_what_a_job_holds(void **state)
{
	struct world *w = *state;
	char name[STORE_MAX_NAME + 1];

	world_join(w, "c1", 1, 8);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 6, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 2, 3);
	world_settle(w);
	const struct job *j = world_record(w, TYPE_JOB, "default", "one");
	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(j->workload->name));
	assert_int_equal(
	    world_patch(w, TYPE_WORKLOAD, "default", name, "{'status':{'admission':null}}"),
	    ERR_INVALID);
	assert_string_equal(w->err.field, "status.admission");
	assert_int_equal(
	    world_patch(w, TYPE_WORKLOAD, "default", name, "{'status':{'conditions':null}}"),
	    ERR_INVALID);
	assert_string_equal(w->err.field, "status.conditions");
	assert_int_equal(world_patch(w, TYPE_WORKLOAD, "default", name, "{'status':null}"),
			 ERR_INVALID);
	assert_int_equal(used(w, "cq", "f"), 6000);
}

/* More than a batch has rows for: Events wait for later batches, and none is lost or said twice. */
static void events_of_many_admissions_at_once_are_all_told(void **state)
{
	struct world *w = *state;
	char name[16];

	flavor(w, "f", "");
	local_queue(w, "lq", "cq");
	for (int i = 0; i < 150; i++) {
		(void)snprintf(name, sizeof(name), "w%d", i);
		own(w, name, "lq", 1, 1, 0);
	}
	cluster_queue(w, "cq", "f", 150, "");
	world_settle(w);
	assert_int_equal(used(w, "cq", "f"), 150000);
	for (int i = 0; i < 150; i += 7) {
		(void)snprintf(name, sizeof(name), "w%d", i);
		assert_int_equal(world_events(w, name, "QuotaReserved", "cq"), 1);
		assert_int_equal(world_events(w, name, "Admitted", "cq"), 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(nobody_but_the_hub_writes_an_admission),
	    STORY(events_of_many_admissions_at_once_are_all_told),
	    STORY(a_workload_without_a_job_takes_quota_alone_and_ends_by_its_creator),
	    STORY(a_check_of_a_flavor_is_for_whom_that_is_assigned_used_or_not),
	    STORY(a_check_of_the_whole_queue_is_not_for_whom_no_flavor_is_assigned),
	    STORY(a_creator_may_give_a_reservation_back),
	    STORY(nobody_takes_what_a_job_holds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
