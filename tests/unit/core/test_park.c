/*
 * An evicted job's copy: suspended where it is, resumed there with what its next admission adds, or
 * deleted there before anything begins elsewhere; whatever dies on the way.
 */
#include "core/kueue/workload.h"
#include "world.h"

#define API "'apiVersion':'kueue.x-k8s.io/v1beta2','kind':"

static void make(struct world *w, uint16_t type, const char *text)
{
	assert_int_equal(world_create(w, type, text), ERR_NONE);
}

static void flavor(struct world *w, const char *name, const char *spec)
{
	char text[512];

	(void)snprintf(text, sizeof(text),
		       "{" API "'ResourceFlavor','metadata':{'name':'%s'},"
		       "'spec':{%s}}",
		       name, spec);
	make(w, TYPE_RESOURCE_FLAVOR, text);
}

/* ClusterQueue cq of flavors f1 and f2, so many cpus each, LocalQueue lq in default, classes. */
static void queues(struct world *w, int one, int two)
{
	char text[1024];

	make(w, TYPE_WORKLOAD_PRIORITY_CLASS,
	     "{" API "'WorkloadPriorityClass','metadata':{'name':'prod'},'value':1000}");
	(void)snprintf(
	    text, sizeof(text),
	    "{" API "'ClusterQueue','metadata':{'name':'cq'},'spec':{'namespaceSelector':{},"
	    "'preemption':{'withinClusterQueue':'LowerPriority'},'resourceGroups':[{"
	    "'coveredResources':['cpu'],'flavors':[{'name':'f1','resources':[{'name':'cpu',"
	    "'nominalQuota':%d}]},{'name':'f2','resources':[{'name':'cpu','nominalQuota':%d}]}"
	    "]}]}}",
	    one, two);
	make(w, TYPE_CLUSTER_QUEUE, text);
	make(w, TYPE_LOCAL_QUEUE,
	     "{" API "'LocalQueue','metadata':{'name':'lq','namespace':'default'},'spec':{"
	     "'clusterQueue':'cq'}}");
}

static void job(struct world *w, const char *name, int pods, int cpus, const char *more)
{
	char text[512];

	(void)snprintf(text, sizeof(text), ",'labels':{'kueue.x-k8s.io/queue-name':'lq'%s", more);
	assert_int_equal(world_job(w, "default", name, pods, cpus, text), ERR_NONE);
}

static void set_active(struct world *w, const char *name, bool active)
{
	const struct job *j = world_record(w, TYPE_JOB, "default", name);
	char workload[STORE_MAX_NAME + 1];

	(void)snprintf(workload, sizeof(workload), "%.*s", SPAN_ARGS(j->workload->name));
	assert_int_equal(
	    world_patch(w, TYPE_WORKLOAD, "default", workload,
			active ? "{'spec':{'active':true}}" : "{'spec':{'active':false}}"),
	    ERR_NONE);
}

static bool says(const struct model_copy *c, const char *text)
{
	return strstr(c->body, text) != NULL;
}

static const char *step_of(struct world *w)
{
	return world_step(w, "default", "one-job");
}

/* f1 at first; f1 is taken when it comes back, so f2's labels have to replace f1's. */
static void what_an_admission_added_is_taken_off_and_the_next_one_added(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 16);

	m->run_time = 600 * USEC_PER_SEC;
	flavor(w, "f1", "'tolerations':[{'key':'spot','operator':'Exists'}]");
	flavor(w, "f2", "'nodeLabels':{'pool':'b'}");
	model_label_nodes(m, "pool", "b");
	queues(w, 4, 4);
	job(w, "one", 1, 4, "}");
	world_settle(w);
	assert_true(says(model_copy(m, "default", "one"), "\"key\":\"spot\""));
	set_active(w, "one", false);
	world_settle(w);
	assert_string_equal(step_of(w), "Parked");
	assert_int_equal(m->stops, 1);
	job(w, "two", 1, 4, "}");
	world_settle(w);
	set_active(w, "one", true);
	world_settle(w);
	const struct model_copy *c = model_copy(m, "default", "one");
	assert_false(c->suspended);
	assert_int_equal(m->deletes, 0);
	assert_int_equal(m->creates, 2);
	assert_true(says(c, "\"nodeSelector\":{\"pool\":\"b\"}"));
	assert_false(says(c, "spot"));
	assert_int_equal(c->epoch, 3);
	assert_int_equal(c->pods.items[0]->epoch, 3);
}

/* 4 pods asked, 2 are enough: 2 at first; all 4 once there is room. */
static void a_job_that_was_admitted_in_part_gets_all_its_pods_when_it_comes_back(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 16);

	m->run_time = 600 * USEC_PER_SEC;
	flavor(w, "f1", "");
	flavor(w, "f2", "");
	queues(w, 4, 0);
	job(w, "other", 1, 2, "}");
	world_settle(w);
	job(w, "one", 4, 1, "},'annotations':{'kueue.x-k8s.io/job-min-parallelism':'2'}");
	world_settle(w);
	assert_int_equal(model_copy(m, "default", "one")->n_pods, 2);
	set_active(w, "one", false);
	world_settle(w);
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "other"), ERR_NONE);
	world_settle(w);
	set_active(w, "one", true);
	world_settle(w);
	const struct model_copy *c = model_copy(m, "default", "one");
	assert_int_equal(m->creates, 2);
	assert_int_equal(c->n_pods, 4);
	assert_int_equal(c->pods.len, 4);
	assert_false(c->suspended);
}

/* Admitted in part on c1: 2 of 4. Evicted, c1 has no nodes left, and more quota is free: all 4
 * start on c2, and what Kueue stores says so at each step. The job itself never says anything else.
 */
static void a_job_that_was_admitted_in_part_gets_all_its_pods_on_another_member(void **state)
{
	struct world *w = *state;
	struct model *a = world_join(w, "c1", 1, 16), *b;

	a->run_time = 600 * USEC_PER_SEC;
	flavor(w, "f1", "");
	flavor(w, "f2", "");
	queues(w, 4, 0);
	job(w, "other", 1, 2, "}");
	world_settle(w);
	job(w, "one", 4, 1, "},'annotations':{'kueue.x-k8s.io/job-min-parallelism':'2'}");
	world_settle(w);
	assert_true(says(model_copy(a, "default", "one"), "\"parallelism\":2"));
	assert_string_equal(world_workload(w, "one", "status.admission.podSetAssignments.0.count"),
			    "2");
	assert_string_equal(world_field(w, TYPE_JOB, "default", "one", "spec.parallelism"), "4");
	set_active(w, "one", false);
	world_settle(w);
	assert_string_equal(step_of(w), "Parked");
	b = world_join(w, "c2", 1, 16);
	b->run_time = 600 * USEC_PER_SEC;
	model_remove_node(a, a->nodes.items[0]->name);
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "other"), ERR_NONE);
	world_settle(w);
	world_restart(w);
	set_active(w, "one", true);
	world_settle(w);
	assert_null(model_copy(a, "default", "one"));
	const struct model_copy *c = model_copy(b, "default", "one");
	assert_false(c->suspended);
	assert_true(says(c, "\"parallelism\":4"));
	assert_int_equal(c->n_pods, 4);
	assert_string_equal(world_workload(w, "one", "status.admission.podSetAssignments.0.count"),
			    "4");
	assert_string_equal(world_workload(w, "one", "spec.podSets.0.count"), "4");
}

/* one runs on c1; parked there, c1 takes nobody, so that it goes to c2. */
static struct model *parked_and_bound_for_c2(struct world *w, struct model **ret_c2)
{
	struct model *a = world_join(w, "c1", 1, 8);

	a->run_time = 600 * USEC_PER_SEC;
	flavor(w, "f1", "");
	flavor(w, "f2", "");
	queues(w, 4, 0);
	job(w, "one", 1, 4, "}");
	world_settle(w);
	set_active(w, "one", false);
	world_settle(w);
	assert_string_equal(step_of(w), "Parked");
	assert_int_equal(world_requested(w, a), 0);
	*ret_c2 = world_join(w, "c2", 1, 8);
	(*ret_c2)->run_time = 600 * USEC_PER_SEC;
	model_remove_node(a, a->nodes.items[0]->name);
	world_settle(w);
	return a;
}

static void a_parked_copy_goes_before_its_job_begins_elsewhere(void **state)
{
	struct world *w = *state;
	struct model *b, *a = parked_and_bound_for_c2(w, &b);

	set_active(w, "one", true);
	assert_string_equal(step_of(w), "Leaving");
	/* Placed there, with quota and nodes, but nothing was sent there yet. */
	assert_string_equal(
	    world_field(w, TYPE_RESOURCE_BINDING, "default", "one-job", "spec.clusters.0.name"),
	    "c2");
	assert_int_equal(b->creates, 0);
	assert_non_null(world_find(w, "DELETE", "/jobs/one"));
	assert_null(world_find(w, "POST", "/jobs"));
	world_settle(w);
	assert_null(model_copy(a, "default", "one"));
	assert_false(model_copy(b, "default", "one")->suspended);
	assert_int_equal(world_record(w, TYPE_JOB, "default", "one")->dispatch.step,
			 DISPATCH_STARTED);
}

/* Killed after every turn of the way, with every order's answer lost, carried out or not. */
static void a_move_survives_a_kill_at_every_step(void **state)
{
	struct world *w = *state;
	struct model *b, *a = parked_and_bound_for_c2(w, &b);
	bool carried_out = false;

	set_active(w, "one", true);
	for (int i = 0; i < 60; i++) {
		if (w->orders.len && i % 3 == 2) {
			world_lose(w, w->orders.items[0], carried_out = !carried_out);
		} else if (w->orders.len) {
			world_answer(w, w->orders.items[0]);
		}
		world_turn(w);
		if (i % 2) {
			world_restart(w);
			world_streams(w);
		}
		(void)model_step(a, w->now);
		(void)model_step(b, w->now);
		world_advance(w, 200 * USEC_PER_MS);
	}
	world_settle(w);
	assert_null(model_copy(a, "default", "one"));
	assert_false(model_copy(b, "default", "one")->suspended);
	assert_int_equal(b->starts, 1);
}

/* The other member is unjoined while its job is still on the way: it is placed anew. */
static void a_member_that_leaves_keeps_no_job_that_was_to_come(void **state)
{
	struct world *w = *state;
	struct model *b;

	(void)parked_and_bound_for_c2(w, &b);
	set_active(w, "one", true);
	assert_string_equal(step_of(w), "Leaving");
	world_unjoin(w, "c2");
	world_settle(w);
	assert_false(world_exists(w, TYPE_CLUSTER, "", "c2"));
	assert_string_equal(step_of(w), "Idle");
	const struct job *j = world_record(w, TYPE_JOB, "default", "one");
	assert_false(j->holds || workload_holds_quota(j->workload));
}

/* Placed on c2 and stopped before its copy on c1 is gone: "Withdrawing", and nothing is held. */
static void stopped_on_its_way(struct world *w)
{
	struct model *b;

	(void)parked_and_bound_for_c2(w, &b);
	set_active(w, "one", true);
	assert_string_equal(step_of(w), "Leaving");
	assert_int_equal(
	    world_patch(w, TYPE_CLUSTER_QUEUE, "", "cq", "{'spec':{'stopPolicy':'HoldAndDrain'}}"),
	    ERR_NONE);
	assert_string_equal(step_of(w), "Withdrawing");
	assert_false(world_record(w, TYPE_JOB, "default", "one")->holds);
}

static size_t pending(struct world *w)
{
	struct kueue *k = w->core->kueue;

	return kueue_queues_count(k->queues, kueue_forest_queue(k->forest, SPAN("cq"))).pending;
}

static void who_lost_its_place_is_pending_though_its_copy_is_yet_to_go(void **state)
{
	struct world *w = *state;

	stopped_on_its_way(w);
	assert_int_equal(pending(w), 1);
	auto_free char *before = world_memory(w);
	world_restart(w);
	auto_free char *after = world_memory(w);
	assert_string_equal(before, after);
	assert_int_equal(pending(w), 1);
	world_run(w);
	assert_int_equal(
	    world_patch(w, TYPE_CLUSTER_QUEUE, "", "cq", "{'spec':{'stopPolicy':'None'}}"),
	    ERR_NONE);
	world_settle(w);
	assert_int_equal(pending(w), 0);
	assert_false(model_copy(w->members[1], "default", "one")->suspended);
}

static void who_is_deleted_then_is_pending_no_more(void **state)
{
	struct world *w = *state;

	stopped_on_its_way(w);
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "one"), ERR_NONE);
	assert_true(world_exists(w, TYPE_JOB, "default", "one"));
	assert_int_equal(pending(w), 0);
	world_restart(w);
	assert_int_equal(pending(w), 0);
	world_settle(w);
	assert_false(world_exists(w, TYPE_JOB, "default", "one"));
}

static void a_parked_job_that_is_deleted_leaves_nothing(void **state)
{
	struct world *w = *state;
	struct model *b, *a = parked_and_bound_for_c2(w, &b);

	world_restart(w);
	world_settle(w);
	assert_string_equal(step_of(w), "Parked");
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "one"), ERR_NONE);
	world_settle(w);
	assert_null(model_copy(a, "default", "one"));
	assert_false(world_exists(w, TYPE_JOB, "default", "one"));
	assert_null(world_record(w, TYPE_JOB, "default", "one"));
}

static void a_parked_copy_that_somebody_deletes_is_made_anew_when_its_turn_comes(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);

	flavor(w, "f1", "");
	flavor(w, "f2", "");
	queues(w, 4, 0);
	m->run_time = 600 * USEC_PER_SEC;
	job(w, "one", 1, 4, "}");
	world_settle(w);
	set_active(w, "one", false);
	world_settle(w);
	model_vanish(m, model_copy(m, "default", "one"));
	world_settle(w);
	assert_string_equal(step_of(w), "Idle");
	set_active(w, "one", true);
	world_settle(w);
	assert_false(model_copy(m, "default", "one")->suspended);
	assert_int_equal(m->creates, 2);
}

/* An edit that no queue may make in place: the copy is made anew, on the same member. */
static void a_job_edited_while_it_is_parked_starts_as_edited(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);

	flavor(w, "f1", "");
	flavor(w, "f2", "");
	queues(w, 4, 0);
	m->run_time = 600 * USEC_PER_SEC;
	job(w, "one", 1, 4, "}");
	world_settle(w);
	set_active(w, "one", false);
	world_settle(w);
	assert_int_equal(world_patch(w, TYPE_JOB, "default", "one",
				     "{'spec':{'template':{'spec':{'schedulerName':'mine'}}}}"),
			 ERR_NONE);
	set_active(w, "one", true);
	world_settle(w);
	const struct model_copy *c = model_copy(m, "default", "one");
	assert_false(c->suspended);
	assert_true(says(c, "mine"));
	assert_int_equal(m->creates, 2);
	assert_int_equal(m->deletes, 1);
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(what_an_admission_added_is_taken_off_and_the_next_one_added),
	    STORY(a_job_that_was_admitted_in_part_gets_all_its_pods_when_it_comes_back),
	    STORY(a_job_that_was_admitted_in_part_gets_all_its_pods_on_another_member),
	    STORY(a_parked_copy_goes_before_its_job_begins_elsewhere),
	    STORY(a_move_survives_a_kill_at_every_step),
	    STORY(a_member_that_leaves_keeps_no_job_that_was_to_come),
	    STORY(who_lost_its_place_is_pending_though_its_copy_is_yet_to_go),
	    STORY(who_is_deleted_then_is_pending_no_more),
	    STORY(a_parked_job_that_is_deleted_leaves_nothing),
	    STORY(a_parked_copy_that_somebody_deletes_is_made_anew_when_its_turn_comes),
	    STORY(a_job_edited_while_it_is_parked_starts_as_edited),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
