/*
 * What users write into a job after Kueue's queue has admitted it: edit -> outcome, as Kueue's
 * jobframework and webhooks have it (pkg/controller/jobframework/reconciler.go, validation.go).
 */
#include "core/job.h"
#include "core/kueue/workload.h"
#include "world.h"

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
	GOES_ON,       /* and its user is told that it does */
	STARTS_ANEW,   /* OutOfSync: another Workload, another epoch */
	REFUSED,       /* 422 */
	NOTHING_TO_DO, /* what the hub itself acts on */
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
    {"another queue", "{'metadata':{'labels':{'kueue.x-k8s.io/queue-name':'other'}}}", REFUSED},
    {"no queue", "{'metadata':{'labels':{'kueue.x-k8s.io/queue-name':null}}}", REFUSED},
    {"what is no matter of the queue", "{'metadata':{'generation':2},'spec':{'backoffLimit':9}}",
     GOES_ON},
    {"a label", "{'metadata':{'labels':{'team':'a'}}}", NOTHING_TO_DO},
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
	size_t told = world_events(w, "one", "EditNotApplied", "goes on with the job as it was");
	if (anew != (e->outcome == STARTS_ANEW) || m->stops != (anew ? 1u : 0u))
		fail_msg("%s: another Workload %d, stopped %u times", e->what, anew,
			 (unsigned)m->stops);
	if (told != (e->outcome == GOES_ON ? 1u : 0u))
		fail_msg("%s: told %zu times", e->what, told);
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

#define STORY(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_edit_of_an_admitted_job_has_its_outcome),
	    STORY(a_job_with_more_pods_is_admitted_and_starts_with_them),
	    STORY(a_workload_that_somebody_deletes_stops_its_job_and_is_made_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
