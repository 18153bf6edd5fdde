/*
 * What users write into a job after Kueue's queue has admitted it: edit -> outcome, as Kueue's
 * jobframework and webhooks have it (pkg/controller/jobframework/reconciler.go, validation.go).
 */
#include "core/job.h"
#include "core/kueue/workload.h"
#include "world.h"

static void edit(struct world *w, const char *patch)
{
	assert_int_equal(world_patch(w, TYPE_JOB, "default", "one", patch), ERR_NONE);
}

static struct model *admitted(struct world *w)
{
	struct model *m = world_join(w, "c1", 2, 8);

	m->run_time = 3600 * USEC_PER_SEC;
	world_flavor(w, "f", "");
	world_cluster_queue(w, "cq", "f", 16, "");
	world_local_queue(w, "lq", "cq");
	world_local_queue(w, "other", "cq");
	world_queued_job(w, "one", "lq", 2, 1, "");
	world_settle(w);
	world_advance(w, USEC_PER_SEC);
	assert_false(model_copy(m, "default", "one")->suspended);
	return m;
}

static void a_workload_that_somebody_deletes_stops_its_job_and_is_made_anew(void **state)
{
	struct world *w = *state;
	struct model *m = admitted(w);
	char name[STORE_MAX_NAME + 1];

	const struct job *j = world_record(w, TYPE_JOB, "default", "one");
	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(j->workload->name));
	auto_free char *uid =
	    xstrdup(world_field(w, TYPE_WORKLOAD, "default", name, "metadata.uid"));
	assert_int_equal(world_delete(w, TYPE_WORKLOAD, "default", name), ERR_NONE);
	world_settle(w);
	world_advance(w, USEC_PER_SEC);
	world_settle(w);
	assert_int_equal(m->stops, 1);
	assert_string_not_equal(world_field(w, TYPE_WORKLOAD, "default", name, "metadata.uid"),
				uid);
	assert_false(model_copy(m, "default", "one")->suspended);
}

enum outcome {
	AMENDED,     /* the running copy has it too */
	STARTS_ANEW, /* OutOfSync: another Workload, another epoch */
	REFUSED,     /* 422 */
	TOLD,	     /* its member refuses, and its user is told */
};

/* Kueue-queued Job of 2 pods, admitted and running. The first number is that of its metadata. */
static const struct edit {
	const char *what, *patch;
	enum outcome outcome;
} edits[] = {
    {"more pods", "{'metadata':{'generation':2},'spec':{'parallelism':3,'completions':3}}",
     STARTS_ANEW},
    {"other requests",
     "{'metadata':{'generation':2},'spec':{'template':{'spec':{'containers':[{'name':'c',"
     "'image':'i','resources':{'requests':{'cpu':'2'}}}]}}}}",
     STARTS_ANEW},
    {"other nodes",
     "{'metadata':{'generation':2},'spec':{'template':{'spec':{'nodeSelector':{'a':'b'}}}}}",
     STARTS_ANEW},
    {"another image",
     "{'metadata':{'generation':2},'spec':{'template':{'spec':{'containers':[{'name':'c',"
     "'image':'other','resources':{'requests':{'cpu':'1'}}}]}}}}",
     STARTS_ANEW},
    {"the same requests in other words",
     "{'metadata':{'generation':2},'spec':{'template':{'spec':{'containers':[{'name':'c',"
     "'image':'i','resources':{'requests':{'cpu':'1000m'}}}]}}}}",
     TOLD},
    {"tolerations, which Kueue does not compare once it is admitted",
     "{'metadata':{'generation':2},'spec':{'template':{'spec':{'tolerations':[{'key':'a',"
     "'operator':'Exists'}]}}}}",
     TOLD},
    {"its least parallelism",
     "{'metadata':{'annotations':{'kueue.x-k8s.io/job-min-parallelism':'1'}}}", STARTS_ANEW},
    {"a priority class, which it had not",
     "{'metadata':{'labels':{'kueue.x-k8s.io/priority-class':'prod'}}}", REFUSED},
    {"its most time to run",
     "{'metadata':{'labels':{'kueue.x-k8s.io/max-exec-time-seconds':'60'}}}", REFUSED},
    {"another queue", "{'metadata':{'labels':{'kueue.x-k8s.io/queue-name':'other'}}}", REFUSED},
    {"no queue", "{'metadata':{'labels':{'kueue.x-k8s.io/queue-name':null}}}", REFUSED},
    {"what is no matter of the queue", "{'metadata':{'generation':2},'spec':{'backoffLimit':9}}",
     AMENDED},
    {"a label", "{'metadata':{'labels':{'team':'a'}}}", AMENDED},
    {"an annotation", "{'metadata':{'annotations':{'note':'a'}}}", AMENDED},
};

static void check_edit(struct world *w, const struct edit *e)
{
	struct model *m = admitted(w);
	char name[STORE_MAX_NAME + 1];

	const struct job *j = world_record(w, TYPE_JOB, "default", "one");
	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(j->workload->name));
	auto_free char *uid =
	    xstrdup(world_field(w, TYPE_WORKLOAD, "default", name, "metadata.uid"));
	enum err_kind answer = world_patch(w, TYPE_JOB, "default", "one", e->patch);
	if ((answer == ERR_INVALID) != (e->outcome == REFUSED))
		fail_msg("%s: answered %d", e->what, (int)answer);
	for (int i = 0; i < 4; i++) {
		world_settle(w);
		world_advance(w, USEC_PER_SEC);
	}
	bool anew =
	    strcmp(world_field(w, TYPE_WORKLOAD, "default", name, "metadata.uid"), uid) != 0;
	size_t told = world_events(w, "one", "EditApplied", "Cluster c1 has the edit of ");
	if (anew != (e->outcome == STARTS_ANEW) || m->stops != (anew ? 1u : 0u))
		fail_msg("%s: another Workload %d, stopped %u times", e->what, anew,
			 (unsigned)m->stops);
	if (told != (e->outcome == AMENDED ? 1u : 0u))
		fail_msg("%s: told %zu times", e->what, told);
	told = world_events(w, "one", "EditNotApplied", "field is immutable");
	if (told != (e->outcome == TOLD ? 1u : 0u))
		fail_msg("%s: its user was told %zu times", e->what, told);
	if (anew && world_events(w, "one", "DeletedWorkload", "Deleted not matching Workload") != 1)
		fail_msg("%s: nobody was told that its Workload went", e->what);
}

static void each_edit_of_an_admitted_job_has_its_outcome(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(edits); i++) {
		void *s = NULL;
		assert_int_equal(world_setup(&s), 0);
		check_edit(s, &edits[i]);
		assert_int_equal(world_teardown(&s), 0);
	}
}

static const char *of_workload(struct world *w, const char *path)
{
	return world_workload(w, "one", path);
}

/* Its place before those that preempt follows; nothing is stopped. */
static void a_running_job_may_change_its_priority_class(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	world_flavor(w, "f", "");
	world_cluster_queue(w, "cq", "f", 2,
			    ",'preemption':{'withinClusterQueue':'LowerPriority'}");
	world_local_queue(w, "lq", "cq");
	world_priority(w, "low", 10);
	world_priority(w, "prod", 1000);
	world_queued_job(w, "one", "lq", 2, 1, ",'kueue.x-k8s.io/priority-class':'low'");
	world_settle(w);
	edit(w, "{'metadata':{'labels':{'kueue.x-k8s.io/priority-class':'prod'}}}");
	world_settle(w);
	assert_string_equal(of_workload(w, "spec.priority"), "1000");
	assert_string_equal(of_workload(w, "spec.priorityClassRef.name"), "prod");
	world_queued_job(w, "two", "lq", 2, 1, ",'kueue.x-k8s.io/priority-class':'prod'");
	world_settle(w);
	assert_false(model_copy(m, "default", "one")->suspended);
	assert_int_equal(m->stops, 0);
	edit(w, "{'metadata':{'labels':{'kueue.x-k8s.io/priority-class':'low'}}}");
	world_settle(w);
	world_advance(w, USEC_PER_SEC);
	world_settle(w);
	assert_int_equal(m->stops, 1);
	assert_false(model_copy(m, "default", "two")->suspended);
	/* It waits now; a class never goes all the same. */
	assert_int_equal(world_patch(w, TYPE_JOB, "default", "one",
				     "{'metadata':{'labels':{'kueue.x-k8s.io/priority-class':"
				     "null}}}"),
			 ERR_INVALID);
	assert_non_null(strstr(w->err.text, "cannot be removed from a workload"));
}

static void a_job_with_more_pods_is_admitted_and_starts_with_them(void **state)
{
	struct world *w = *state;
	struct model *m = admitted(w);

	assert_int_equal(world_patch(w, TYPE_JOB, "default", "one", edits[0].patch), ERR_NONE);
	world_settle(w);
	world_restart(w);
	for (int i = 0; i < 4; i++) {
		world_settle(w);
		world_advance(w, USEC_PER_SEC);
	}
	const struct model_copy *c = model_copy(m, "default", "one");
	assert_false(c->suspended);
	assert_int_equal(c->n_pods, 3);
	const struct job *j = world_record(w, TYPE_JOB, "default", "one");
	assert_int_equal(j->workload->sets[0].count, 3);
}

/* ---- with quota, and no member yet ---- */

static void a_job_edited_while_its_checks_are_pending_is_asked_for_anew(void **state)
{
	struct world *w = *state;

	(void)world_join(w, "c1", 2, 8);
	assert_int_equal(
	    world_create(w, TYPE_ADMISSION_CHECK,
			 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'AdmissionCheck','metadata'"
			 ":{'name':'budget'},'spec':{'controllerName':'example.com/budget'},"
			 "'status':{'conditions':[{'type':'Active','status':'True','reason':"
			 "'Active','message':'','lastTransitionTime':'2026-01-01T00:00:00Z'}]}}"),
	    ERR_NONE);
	world_flavor(w, "f", "");
	world_cluster_queue(w, "cq", "f", 16,
			    ",'admissionChecksStrategy':{'admissionChecks':[{'name':'budget'}]}");
	world_local_queue(w, "lq", "cq");
	world_queued_job(w, "one", "lq", 2, 1, "");
	world_settle(w);
	assert_string_equal(world_workload_condition(w, "one", "QuotaReserved", "status"), "True");
	auto_free char *uid = xstrdup(world_workload(w, "one", "metadata.uid"));
	edit(w, "{'metadata':{'generation':2},'spec':{'parallelism':3,'completions':3}}");
	for (int i = 0; i < 3; i++) {
		world_settle(w);
		world_advance(w, USEC_PER_SEC);
	}
	assert_string_not_equal(world_workload(w, "one", "metadata.uid"), uid);
	assert_string_equal(world_workload(w, "one", "spec.podSets.0.count"), "3");
	assert_string_equal(world_workload(w, "one", "status.admission.podSetAssignments.0.count"),
			    "3");
	auto_free char *before = world_memory(w);
	world_restart(w);
	auto_free char *after = world_memory(w);
	assert_string_equal(before, after);
}

/* ---- elastic quota ---- */

static void what_a_job_holds_of_a_tree_does_not_change_and_the_rest_reaches_its_copy(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	m->run_time = 3600 * USEC_PER_SEC;
	world_teams(w, 24, 8);
	assert_int_equal(world_job(w, "team-a", "one", 2, 1, ""), ERR_NONE);
	world_settle(w);
	const char *more = "{'metadata':{'generation':2},'spec':{'parallelism':3,'completions':3}}";
	assert_int_equal(world_patch(w, TYPE_JOB, "team-a", "one", more), ERR_INVALID);
	assert_int_equal(world_patch(w, TYPE_JOB, "team-a", "one",
				     "{'metadata':{'labels':{'team':'b'}},'spec':{"
				     "'activeDeadlineSeconds':60}}"),
			 ERR_NONE);
	world_settle(w);
	const char *body = model_copy(m, "team-a", "one")->body;
	assert_non_null(strstr(body, "\"team\":\"b\""));
	assert_non_null(strstr(body, "\"activeDeadlineSeconds\":60"));
	assert_int_equal(m->stops, 0);
	/* Suspended it holds nothing: then it may ask for more. */
	assert_int_equal(world_patch(w, TYPE_JOB, "team-a", "one", "{'spec':{'suspend':true}}"),
			 ERR_NONE);
	world_settle(w);
	assert_int_equal(world_patch(w, TYPE_JOB, "team-a", "one", more), ERR_NONE);
	assert_int_equal(world_patch(w, TYPE_JOB, "team-a", "one", "{'spec':{'suspend':false}}"),
			 ERR_NONE);
	world_settle(w);
	assert_int_equal(model_copy(m, "team-a", "one")->n_pods, 3);
}

/* ---- what reaches the running copy ---- */

static bool says(const struct model *m, const char *name, const char *text)
{
	return strstr(model_copy(m, "default", name)->body, text) != NULL;
}

static bool owes_nothing(struct world *w, const char *name)
{
	const struct job *j = world_record(w, TYPE_JOB, "default", name);

	return !j->amendment && !j->edit_row && !j->dispatch.edited;
}

/* A job of one pod in no queue, on c1. */
static struct model *running(struct world *w)
{
	struct model *m = world_join(w, "c1", 2, 8);

	m->run_time = 3600 * USEC_PER_SEC;
	assert_int_equal(world_job(w, "default", "one", 1, 1,
				   ",'labels':{'team':'a','old':'x'},'annotations':{'n':'1'}"),
			 ERR_NONE);
	world_settle(w);
	assert_false(model_copy(m, "default", "one")->suspended);
	return m;
}

static void labels_and_annotations_reach_the_copy_and_leave_it_and_nothing_restarts(void **state)
{
	struct world *w = *state;
	struct model *m = running(w);

	edit(w, "{'metadata':{'labels':{'team':'b','old':null},'annotations':{'n':null,'k':'v'}}}");
	world_settle(w);
	assert_true(says(m, "one", "\"team\":\"b\""));
	assert_true(says(m, "one", "\"k\":\"v\""));
	assert_false(says(m, "one", "\"old\""));
	assert_false(says(m, "one", "\"n\":\"1\""));
	assert_int_equal(m->starts, 1);
	assert_int_equal(m->stops, 0);
	assert_int_equal(world_events(w, "one", "EditApplied", "metadata.labels.team"), 1);
	assert_true(owes_nothing(w, "one"));
	/* Status that comes back is no edit. */
	uint64_t orders = w->core->counters.orders;
	world_advance(w, 5 * USEC_PER_SEC);
	world_settle(w);
	assert_int_equal(w->core->counters.orders, orders);
}

static void an_unqueued_job_gets_as_many_pods_as_its_user_says(void **state)
{
	struct world *w = *state;
	struct model *m = running(w);

	edit(w, "{'metadata':{'generation':2},'spec':{'parallelism':3,'completions':3}}");
	world_settle(w);
	assert_int_equal(model_copy(m, "default", "one")->n_pods, 3);
	assert_int_equal(m->stops, 0);
	auto_free char *before = world_memory(w);
	world_restart(w);
	auto_free char *after = world_memory(w);
	assert_string_equal(before, after);
	world_settle(w);
	assert_true(owes_nothing(w, "one"));
}

#define OTHER_IMAGE                                                                                \
	"{'metadata':{'generation':2},'spec':{'template':{'spec':{'containers':[{'name':'c',"      \
	"'image':'other','resources':{'requests':{'cpu':1}}}]}}}}"

/* Of a Job that has started no template may change: its member says so. */
static void what_the_member_refuses_is_told_once_and_tried_again_with_the_next_edit(void **state)
{
	struct world *w = *state;
	struct model *m = running(w);

	edit(w, OTHER_IMAGE);
	world_settle(w);
	assert_false(says(m, "one", "other"));
	assert_int_equal(
	    world_events(w, "one", "EditNotApplied", "spec.template: field is immutable"), 1);
	assert_string_equal(world_condition(w, TYPE_RESOURCE_BINDING, "default", "one-job",
					    "EditApplied", "reason"),
			    "EditRefused");
	for (int i = 0; i < 3; i++) {
		world_restart(w);
		world_settle(w);
		world_advance(w, 60 * USEC_PER_SEC);
	}
	assert_null(world_find(w, "PATCH", "/jobs/one"));
	assert_int_equal(world_events(w, "one", "EditNotApplied", ""), 1);
	/* With the template as it was the rest is taken. */
	edit(w, "{'metadata':{'labels':{'team':'c'}},'spec':{'template':{'spec':{'containers':[{"
		"'name':'c','image':'i','resources':{'requests':{'cpu':'1'}}}]}}}}");
	world_settle(w);
	assert_true(says(m, "one", "\"team\":\"c\""));
	assert_string_equal(world_condition(w, TYPE_RESOURCE_BINDING, "default", "one-job",
					    "EditApplied", "reason"),
			    "");
	assert_true(owes_nothing(w, "one"));
}

/* What its member does not take of the spec holds back no label of the same edit, nor later ones.
 */
static void labels_do_not_wait_for_a_spec_that_is_refused(void **state)
{
	struct world *w = *state;
	struct model *m = running(w);

	edit(w, "{'metadata':{'labels':{'team':'b'}},'spec':{'template':{'spec':{'containers':[{"
		"'name':'c','image':'other','resources':{'requests':{'cpu':1}}}]}}}}");
	world_settle(w);
	assert_true(says(m, "one", "\"team\":\"b\""));
	assert_false(says(m, "one", "other"));
	assert_int_equal(world_events(w, "one", "EditApplied", "metadata.labels.team"), 1);
	assert_int_equal(
	    world_events(w, "one", "EditNotApplied", "spec.template: field is immutable"), 1);
	assert_string_equal(world_condition(w, TYPE_RESOURCE_BINDING, "default", "one-job",
					    "EditApplied", "reason"),
			    "EditRefused");
	world_restart(w);
	world_settle(w);
	edit(w, "{'metadata':{'labels':{'team':'c'}}}");
	world_settle(w);
	assert_true(says(m, "one", "\"team\":\"c\""));
	assert_false(says(m, "one", "other"));
	assert_string_equal(world_condition(w, TYPE_RESOURCE_BINDING, "default", "one-job",
					    "EditApplied", "reason"),
			    "EditRefused");
}

/* The answer is lost, the patch landed or not, and the hub dies at each step of the way. */
static void an_edit_is_carried_over_once_whatever_dies(void **state)
{
	struct world *w = *state;
	struct model *m = running(w);
	bool carried_out = false;

	edit(w, "{'metadata':{'labels':{'team':'b','old':null}}}");
	for (int i = 0; i < 24; i++) {
		if (w->orders.len && i % 3 == 2)
			world_lose(w, w->orders.items[0], carried_out = !carried_out);
		else if (w->orders.len)
			world_answer(w, w->orders.items[0]);
		world_turn(w);
		if (i % 4 == 3) {
			world_restart(w);
			world_streams(w);
		}
		if (i == 12)
			edit(w, "{'metadata':{'labels':{'team':'a','new':'y'}}}");
		world_advance(w, 200 * USEC_PER_MS);
	}
	world_settle(w);
	assert_true(says(m, "one", "\"team\":\"a\""));
	assert_true(says(m, "one", "\"new\":\"y\""));
	assert_false(says(m, "one", "\"old\""));
	assert_int_equal(m->starts, 1);
	assert_true(owes_nothing(w, "one"));
}

/* Written and taken back while the answer to the first patch is out. */
static void an_edit_that_is_taken_back_while_it_is_under_way_is_taken_back_there_too(void **state)
{
	struct world *w = *state;
	struct model *m = running(w);

	edit(w, "{'metadata':{'labels':{'team':'b'}}}");
	world_answer(w, world_find(w, "GET", "/jobs/one"));
	world_run(w);
	struct order *patch = world_find(w, "PATCH", "/jobs/one");
	assert_non_null(patch);
	edit(w, "{'metadata':{'labels':{'team':'a'}}}");
	world_answer(w, patch);
	assert_true(says(m, "one", "\"team\":\"b\""));
	world_settle(w);
	assert_true(says(m, "one", "\"team\":\"a\""));
	assert_true(owes_nothing(w, "one"));
}

/* The create is out when the edit comes: the copy may be of either job. */
static void an_edit_before_the_copy_is_known_reaches_it(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	m->run_time = 3600 * USEC_PER_SEC;
	assert_int_equal(world_job(w, "default", "one", 1, 1, ",'labels':{'team':'a'}"), ERR_NONE);
	struct order *create;
	while (!(create = world_find(w, "POST", "/jobs"))) {
		world_answer(w, w->orders.items[0]);
		world_run(w);
	}
	edit(w, "{'metadata':{'labels':{'team':'b'}}}");
	world_answer(w, create);
	world_settle(w);
	assert_true(says(m, "one", "\"team\":\"b\""));
	assert_int_equal(m->creates, 1);
	assert_true(owes_nothing(w, "one"));
}

/* Somebody on the member writes the copy between the read and the patch. */
static void a_patch_of_a_copy_that_changed_meanwhile_is_made_again(void **state)
{
	struct world *w = *state;
	struct model *m = running(w);

	edit(w, "{'metadata':{'labels':{'team':'b'}}}");
	world_answer(w, world_find(w, "GET", "/jobs/one"));
	world_run(w);
	model_copy(m, "default", "one")->revision++;
	world_answer(w, world_find(w, "PATCH", "/jobs/one"));
	world_run(w);
	assert_false(says(m, "one", "\"team\":\"b\""));
	world_advance(w, USEC_PER_SEC);
	world_settle(w);
	assert_true(says(m, "one", "\"team\":\"b\""));
	assert_int_equal(world_events(w, "one", "EditNotApplied", ""), 0);
}

static void a_suspended_job_resumes_as_it_was_edited(void **state)
{
	struct world *w = *state;
	struct model *m = running(w);

	edit(w, "{'metadata':{'generation':2},'spec':{'suspend':true}}");
	world_settle(w);
	assert_string_equal(world_step(w, "default", "one-job"), "Parked");
	edit(w, "{'metadata':{'labels':{'old':null,'team':'b'}}}");
	world_settle(w);
	edit(w, "{'metadata':{'generation':3},'spec':{'suspend':false}}");
	world_settle(w);
	assert_false(model_copy(m, "default", "one")->suspended);
	assert_int_equal(m->creates, 1);
	assert_true(says(m, "one", "\"team\":\"b\""));
	assert_false(says(m, "one", "\"old\""));
	assert_true(owes_nothing(w, "one"));
}

static void a_finished_or_deleted_job_leaves_no_row_of_its_edits(void **state)
{
	struct world *w = *state;
	struct model *m = running(w);
	auto_buf key = BUF_INIT;
	auto_reader *reader = NULL;
	struct span value;

	edit(w, OTHER_IMAGE);
	world_settle(w);
	buf_addf(&key, "edit/%s", world_record(w, TYPE_JOB, "default", "one")->uid_text);
	model_finish(m, model_copy(m, "default", "one"), false);
	world_settle(w);
	assert_int_equal(store_read_begin(w->truth, &reader, NULL), 0);
	assert_int_equal(store_get_aux(reader, STORE_AUX_SETTING, buf_span(&key), &value), -ENOENT);
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_edit_of_an_admitted_job_has_its_outcome),
	    STORY(a_running_job_may_change_its_priority_class),
	    STORY(a_job_with_more_pods_is_admitted_and_starts_with_them),
	    STORY(a_workload_that_somebody_deletes_stops_its_job_and_is_made_anew),
	    STORY(a_job_edited_while_its_checks_are_pending_is_asked_for_anew),
	    STORY(what_a_job_holds_of_a_tree_does_not_change_and_the_rest_reaches_its_copy),
	    STORY(labels_and_annotations_reach_the_copy_and_leave_it_and_nothing_restarts),
	    STORY(an_unqueued_job_gets_as_many_pods_as_its_user_says),
	    STORY(what_the_member_refuses_is_told_once_and_tried_again_with_the_next_edit),
	    STORY(labels_do_not_wait_for_a_spec_that_is_refused),
	    STORY(an_edit_is_carried_over_once_whatever_dies),
	    STORY(an_edit_that_is_taken_back_while_it_is_under_way_is_taken_back_there_too),
	    STORY(an_edit_before_the_copy_is_known_reaches_it),
	    STORY(a_patch_of_a_copy_that_changed_meanwhile_is_made_again),
	    STORY(a_suspended_job_resumes_as_it_was_edited),
	    STORY(a_finished_or_deleted_job_leaves_no_row_of_its_edits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
