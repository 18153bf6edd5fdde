/*
 * Named steps of a job's life (DESIGN section 4): what holds it, what lets it go, what users'
 * edits mean, and what is told.
 */
#include "world.h"

#include "kube/object.h"

#define STORY(name)  cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
#define STRICT(name) cmocka_unit_test_setup_teardown(name, strict_setup, world_teardown)

static const char *reason(struct world *w, const char *ns, const char *binding)
{
	return world_field(w, TYPE_RESOURCE_BINDING, ns, binding, "status.conditions.0.reason");
}

static void a_job_whose_namespace_owns_no_leaf_says_so_once(void **state)
{
	struct world *w = *state;

	world_teams(w, 16, 12);
	world_policy(w, "default", ",'suspension':{'scheduling':true}");
	world_join(w, "c1", 1, 8);
	assert_int_equal(world_job(w, "default", "one", 1, 1, ""), ERR_NONE);
	world_settle(w);
	assert_string_equal(world_step(w, "default", "one-job"), "Idle");
	assert_string_equal(reason(w, "default", "one-job"), "NoElasticQuota");
	assert_int_equal(world_events(w, "one", "ScheduleBindingFailed",
				      "the job doesn't belong to any elastic quota"),
			 1);
	world_restart(w);
	world_settle(w);
	assert_int_equal(world_events(w, "one", "ScheduleBindingFailed", ""), 1);
}

static void a_queue_that_does_not_exist_is_waited_for(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 8);
	assert_int_equal(
	    world_job(w, "default", "one", 1, 1, ",'labels':{'kueue.x-k8s.io/queue-name':'q'}"),
	    ERR_NONE);
	world_settle(w);
	assert_string_equal(world_step(w, "default", "one-job"), "Idle");
	assert_string_equal(reason(w, "default", "one-job"), "QueueNotFound");
}

static void suspending_a_running_job_suspends_its_copy_and_resuming_goes_on_with_it(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);

	world_teams(w, 16, 12);
	assert_int_equal(world_job(w, "team-a", "one", 2, 2, ""), ERR_NONE);
	world_settle(w);
	assert_int_equal(world_used(w, "root/a", "cpu"), 4000);
	assert_string_equal(world_field(w, TYPE_JOB, "team-a", "one", "status.active"), "2");
	assert_int_equal(world_patch(w, TYPE_JOB, "team-a", "one", "{'spec':{'suspend':true}}"),
			 ERR_NONE);
	assert_int_equal(world_used(w, "root/a", "cpu"), 4000); /* its pods are there */
	world_settle(w);
	world_advance(w, USEC_PER_SEC);
	assert_true(model_copy(m, "team-a", "one")->suspended);
	assert_string_equal(world_step(w, "team-a", "one-job"), "Parked");
	assert_string_equal(world_field(w, TYPE_JOB, "team-a", "one", "status.conditions.0.type"),
			    "Suspended");
	assert_int_equal(world_used(w, "root/a", "cpu"), 0);
	assert_int_equal(world_requested(w, m), 0);
	assert_string_equal(reason(w, "team-a", "one-job"), "Suspended");
	/* nor does it look as if it still ran */
	assert_string_equal(world_field(w, TYPE_JOB, "team-a", "one", "status.active"), "");
	assert_int_equal(world_patch(w, TYPE_JOB, "team-a", "one", "{'spec':{'suspend':false}}"),
			 ERR_NONE);
	world_settle(w);
	assert_non_null(model_copy(m, "team-a", "one"));
	assert_int_equal(model_copy(m, "team-a", "one")->epoch, 3);
	assert_int_equal(m->creates, 1);
	assert_int_equal(m->starts, 2);
	assert_int_equal(world_used(w, "root/a", "cpu"), 4000);
}

static void a_job_that_waits_holds_neither_quota_nor_nodes(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 4);

	world_teams(w, 16, 12);
	assert_int_equal(world_job(w, "team-a", "large", 1, 6, ""), ERR_NONE);
	world_settle(w);
	assert_int_equal(world_used(w, "root/a", "cpu"), 0);
	assert_int_equal(ledger_count(w->core->ledger), 0);
	/* It parks: another of its queue goes, and a node that is large enough wakes it. */
	assert_int_equal(world_job(w, "team-a", "small", 1, 1, ""), ERR_NONE);
	world_settle(w);
	assert_string_equal(world_step(w, "team-a", "small-job"), "Suspended");
	model_add_node(m, "more", 8, 0);
	world_settle(w);
	assert_string_equal(world_step(w, "team-a", "large-job"), "Suspended");
	assert_int_equal(world_used(w, "root/a", "cpu"), 7000);
}

static void a_finished_job_gives_back_in_the_commit_that_says_so(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 4);
	bool over = false;

	world_teams(w, 16, 4);
	assert_int_equal(world_job(w, "team-a", "one", 1, 4, ""), ERR_NONE);
	world_settle(w);
	model_finish(m, model_copy(m, "team-a", "one"), true);
	for (struct fact *f; (f = model_next_fact(m));)
		world_push(w, f);
	for (int i = 0; i < 5 && !over; i++) {
		(void)world_turn(w);
		over = strcmp(world_field(w, TYPE_JOB, "team-a", "one", "status.conditions.0.type"),
			      "Failed") == 0;
		assert_string_equal(
		    world_field(w, TYPE_QUEUE_UNIT, "team-a", "one-job-rb-qu", "status.phase"),
		    over ? "Failed" : "Dequeued");
	}
	assert_true(over);
	assert_int_equal(world_used(w, "root/a", "cpu"), 0);
}

static void deleting_a_waiting_job_leaves_nothing(void **state)
{
	struct world *w = *state;

	world_teams(w, 16, 4);
	assert_int_equal(world_job(w, "team-a", "one", 1, 4, ""), ERR_NONE);
	assert_int_equal(world_delete(w, TYPE_JOB, "team-a", "one"), ERR_NONE);
	world_settle(w);
	assert_int_equal(world_count(w, TYPE_QUEUE_UNIT, "team-a"), 0);
	assert_int_equal(world_count(w, TYPE_RESOURCE_BINDING, "team-a"), 0);
	assert_int_equal(w->core->jobs_by_number.len, 0);
}

static void without_the_tree_its_jobs_run_on_and_others_wait(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 16);
	world_teams(w, 16, 4);
	assert_int_equal(world_job(w, "team-a", "one", 1, 4, ""), ERR_NONE);
	world_settle(w);
	assert_int_equal(world_delete(w, TYPE_ELASTIC_QUOTA_TREE, "kube-system", "tree"), ERR_NONE);
	assert_int_equal(world_job(w, "team-a", "two", 1, 4, ""), ERR_NONE);
	world_settle(w);
	assert_string_equal(world_step(w, "team-a", "one-job"), "Suspended");
	assert_string_equal(reason(w, "team-a", "two-job"), "NoElasticQuota");
	auto_free char *again = world_tree_text("again", 16, 8);
	assert_int_equal(world_create(w, TYPE_ELASTIC_QUOTA_TREE, again), ERR_NONE);
	world_settle(w);
	assert_string_equal(world_step(w, "team-a", "two-job"), "Suspended");
	assert_int_equal(world_used(w, "root/a", "cpu"), 8000);
}

static int strict_setup(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));

	w->require_policy = true;
	world_open(w);
	w->after_turn = world_check;
	*state = w;
	return 0;
}

static void a_policy_that_comes_takes_the_jobs_that_waited_for_one(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 8);
	assert_int_equal(world_job(w, "default", "one", 1, 1, ""), ERR_NONE);
	world_settle(w);
	assert_false(world_exists(w, TYPE_RESOURCE_BINDING, "default", "one-job"));
	world_policy(w, "default", "");
	world_settle(w);
	assert_string_equal(world_step(w, "default", "one-job"), "Suspended");
}

/* They have no bindings that could say who came first, and the same second of creation. */
static void jobs_that_waited_for_a_policy_keep_their_order_over_a_restart(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 8);
	assert_int_equal(world_job(w, "default", "z-first", 1, 8, ""), ERR_NONE);
	assert_int_equal(world_job(w, "default", "a-second", 1, 8, ""), ERR_NONE);
	world_settle(w);
	world_restart(w);
	world_settle(w);
	world_policy(w, "default", "");
	world_settle(w);
	assert_string_equal(world_step(w, "default", "z-first-job"), "Suspended");
	assert_string_equal(world_step(w, "default", "a-second-job"), "Idle");
}

static void a_job_that_no_policy_selects_is_one_row_with_the_condition_created(void **state)
{
	struct world *w = *state;
	const char *conditions = "status.conditions";
	char text[512];

	(void)snprintf(text, sizeof(text),
		       "{'apiVersion':'kubeflow.org/v1','kind':'PyTorchJob','metadata':{'name':"
		       "'one','namespace':'default'},'spec':{'pytorchReplicaSpecs':{'Master':{"
		       "'replicas':1,'template':{'spec':{'containers':[{'name':'pytorch','image':"
		       "'i'}]}}}}}}");
	uint64_t before = store_revision(w->truth);
	assert_int_equal(world_create(w, TYPE_PYTORCH_JOB, text), ERR_NONE);
	world_settle(w);
	assert_int_equal(store_revision(w->truth), before + 1);
	assert_non_null(strstr(world_field(w, TYPE_PYTORCH_JOB, "default", "one", conditions),
			       "\"PyTorchJobCreated\""));
	world_restart(w);
	world_settle(w);
	assert_int_equal(store_revision(w->truth), before + 1);
	assert_int_equal(world_delete(w, TYPE_PYTORCH_JOB, "default", "one"), ERR_NONE);
	world_settle(w);
	assert_false(world_exists(w, TYPE_PYTORCH_JOB, "default", "one"));
}

static size_t stored_len(struct world *w, const char *name)
{
	auto_reader *r = NULL;
	struct store_object o;
	const struct store_key key = {TYPE_JOB, SPAN("default"), span_of(name)};

	assert_int_equal(store_read_begin(w->truth, &r, NULL), 0);
	assert_int_equal(store_get(r, &key, &o), 0);
	return o.json.len - o.extents.revision.len;
}

static void send_padded(struct world *w, const char *name, size_t padding)
{
	auto_free char *filler = xcalloc(1, padding + 1);
	auto_buf more = BUF_INIT;

	memset(filler, 'x', padding);
	buf_addf(&more, ",'annotations':{'a':'%s'}", filler);
	auto_free char *text = world_job_text("default", name, 1, 1, more.ptr);
	world_send_create(w, TYPE_JOB, text);
}

/* The hub's finalizer counts; and what came in the same batch is not lost with it. */
static void a_job_that_outgrows_its_row_by_what_the_hub_adds_is_refused_alone(void **state)
{
	struct world *w = *state;

	send_padded(w, "probe", 1);
	world_run(w);
	size_t one = stored_len(w, "probe");
	send_padded(w, "heavy", STORE_MAX_OBJECT - 5 - one);
	send_padded(w, "other", 1);
	world_run(w);
	assert_false(world_exists(w, TYPE_JOB, "default", "heavy"));
	assert_true(world_exists(w, TYPE_JOB, "default", "other"));
	assert_int_equal(w->refused, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(a_job_whose_namespace_owns_no_leaf_says_so_once),
	    STORY(a_queue_that_does_not_exist_is_waited_for),
	    STORY(suspending_a_running_job_suspends_its_copy_and_resuming_goes_on_with_it),
	    STORY(a_job_that_waits_holds_neither_quota_nor_nodes),
	    STORY(a_finished_job_gives_back_in_the_commit_that_says_so),
	    STORY(deleting_a_waiting_job_leaves_nothing),
	    STORY(without_the_tree_its_jobs_run_on_and_others_wait),
	    STORY(a_job_that_outgrows_its_row_by_what_the_hub_adds_is_refused_alone),
	    STRICT(a_policy_that_comes_takes_the_jobs_that_waited_for_one),
	    STRICT(jobs_that_waited_for_a_policy_keep_their_order_over_a_restart),
	    STRICT(a_job_that_no_policy_selects_is_one_row_with_the_condition_created),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
