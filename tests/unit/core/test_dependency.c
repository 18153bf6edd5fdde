/*
 * What copies need on a member: created, kept up to date, counted, removed, and never anybody
 * else's (DESIGN section 4 item 4, section 7).
 */
#include "world.h"

#include "base/json.h"

#define MAP_PATH "/api/v1/namespaces/default/configmaps/settings"

static int open_world(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));
	world_open(w);
	w->after_turn = world_check;
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	world_close(*state);
	free(*state);
	return 0;
}

static void create_map(struct world *w, const char *value)
{
	char text[256];

	(void)snprintf(text, sizeof(text),
		       "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'settings',"
		       "'namespace':'default'},'data':{'key':'%s','old':'1'}}",
		       value);
	assert_int_equal(world_create(w, TYPE_CONFIG_MAP, text), ERR_NONE);
}

/* A Job whose pods take their environment from the ConfigMap, and run in `class` or "". */
static void create_job(struct world *w, const char *name, const char *class)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b,
		 "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'%s','namespace':"
		 "'default'},'spec':{'parallelism':1,'completions':1,'template':{'spec':{%s%s%s"
		 "'containers':[{'name':'c','image':'i','envFrom':[{'configMapRef':{'name':"
		 "'settings'}}],'resources':{'requests':{'cpu':'1'}}}]}}}}",
		 name, class[0] ? "'priorityClassName':'" : "", class, class[0] ? "'," : "");
	assert_int_equal(world_create(w, TYPE_JOB, b.ptr), ERR_NONE);
}

static void create_class(struct world *w, const char *name, int value)
{
	char text[256];

	(void)snprintf(text, sizeof(text),
		       "{'apiVersion':'scheduling.k8s.io/v1','kind':'PriorityClass','metadata':{"
		       "'name':'%s'},'value':%d}",
		       name, value);
	assert_int_equal(world_create(w, TYPE_PRIORITY_CLASS, text), ERR_NONE);
}

static const char *datum(const struct model *m, const char *key)
{
	const char *v = json_str(json_get(model_thing(m, MAP_PATH), "data"), key);
	return v ? v : "";
}

static void a_change_at_the_hub_reaches_the_members_object(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	create_map(w, "a");
	create_job(w, "one", "");
	world_settle(w);
	assert_string_equal(datum(m, "key"), "a");
	assert_int_equal(world_patch(w, TYPE_CONFIG_MAP, "default", "settings",
				     "{'data':{'key':'b','old':null}}"),
			 ERR_NONE);
	world_settle(w);
	assert_string_equal(datum(m, "key"), "b");
	assert_string_equal(datum(m, "old"), "");
}

static void a_change_while_the_hub_was_down_is_carried_over(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	create_map(w, "a");
	m->run_time = 3600 * USEC_PER_SEC;
	create_job(w, "one", "");
	world_settle(w);
	(void)world_patch(w, TYPE_CONFIG_MAP, "default", "settings", "{'data':{'key':'b'}}");
	assert_non_null(world_find(w, "PATCH", MAP_PATH));
	world_restart(w);
	world_settle(w);
	assert_string_equal(datum(m, "key"), "b");
}

static void nothing_is_sent_again_when_nothing_changed(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	m->run_time = 3600 * USEC_PER_SEC;
	create_map(w, "a");
	create_job(w, "one", "");
	world_settle(w);
	uint64_t writes = m->thing_writes;
	world_restart(w);
	world_settle(w);
	world_advance(w, 120 * USEC_PER_SEC);
	world_settle(w);
	assert_int_equal(m->thing_writes, writes);
}

static void it_goes_with_the_last_copy_that_needs_it(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	create_map(w, "a");
	create_job(w, "one", "");
	create_job(w, "two", "");
	world_settle(w);
	world_advance(w, 5 * USEC_PER_SEC);
	world_settle(w);
	assert_int_equal(m->finished, 2);
	(void)world_delete(w, TYPE_JOB, "default", "one");
	world_settle(w);
	assert_non_null(model_thing(m, MAP_PATH));
	world_restart(w);
	world_settle(w);
	assert_non_null(model_thing(m, MAP_PATH));
	(void)world_delete(w, TYPE_JOB, "default", "two");
	world_settle(w);
	world_advance(w, USEC_PER_SEC);
	world_settle(w);
	assert_null(model_thing(m, MAP_PATH));
	assert_non_null(model_thing(m, "/api/v1/namespaces/default"));
}

static void one_that_was_to_go_when_the_hub_died_goes_after_all(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	create_map(w, "a");
	create_job(w, "one", "");
	world_settle(w);
	(void)world_delete(w, TYPE_JOB, "default", "one");
	while (!world_find(w, "GET", MAP_PATH)) {
		if (w->orders.len)
			world_answer(w, w->orders.items[0]);
		model_step(m, w->now);
		world_streams(w);
		world_run(w);
	}
	world_restart(w);
	world_settle(w);
	world_advance(w, 2 * USEC_PER_SEC);
	world_settle(w);
	assert_null(model_thing(m, MAP_PATH));
}

static void what_is_deleted_at_the_hub_is_deleted_and_comes_back(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	m->run_time = 3600 * USEC_PER_SEC;
	create_map(w, "a");
	create_job(w, "one", "");
	world_settle(w);
	(void)world_delete(w, TYPE_CONFIG_MAP, "default", "settings");
	world_settle(w);
	assert_null(model_thing(m, MAP_PATH));
	create_map(w, "again");
	world_settle(w);
	assert_string_equal(datum(m, "key"), "again");
}

static void one_deleted_on_the_member_is_put_back_by_the_next_job(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	create_map(w, "a");
	create_job(w, "one", "");
	world_settle(w);
	assert_true(model_drop_thing(m, MAP_PATH));
	create_job(w, "two", "");
	world_settle(w);
	assert_string_equal(datum(m, "key"), "a");
}

static void a_foreign_one_is_a_conflict_and_stays_as_it_is(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	model_put_thing(m, "/api/v1/namespaces/default", "{'metadata':{'name':'default'}}");
	model_put_thing(m, MAP_PATH, "{'metadata':{'name':'settings'},'data':{'key':'theirs'}}");
	create_map(w, "a");
	create_job(w, "one", "");
	world_settle(w);
	assert_int_equal(m->creates, 0);
	assert_string_equal(datum(m, "key"), "theirs");
	assert_non_null(
	    strstr(world_query(w, "namespaces/default/jobs/one/why"),
		   "\"verdict\":\"Conflict\",\"never\":false,\"decider\":\"cluster admin\","
		   "\"message\":\"it has a ConfigMap \\\"settings\\\" of its own, which is not"));
	assert_int_equal(world_events(w, "one", "ScheduleBindingFailed", "ConfigMap"), 1);
	assert_string_equal(world_field(w, TYPE_RESOURCE_BINDING, "default", "one-job",
					"status.conditions.0.reason"),
			    "Conflict");
	assert_non_null(strstr(world_field(w, TYPE_RESOURCE_BINDING, "default", "one-job",
					   "status.conditions.0.message"),
			       "ConfigMap"));
}

static void a_conflict_that_is_solved_lets_the_job_go(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	model_put_thing(m, "/api/v1/namespaces/default", "{'metadata':{'name':'default'}}");
	model_put_thing(m, MAP_PATH, "{'metadata':{'name':'settings'}}");
	create_map(w, "a");
	create_job(w, "one", "");
	world_settle(w);
	assert_int_equal(m->creates, 0);
	assert_true(model_drop_thing(m, MAP_PATH));
	world_advance(w, 31 * USEC_PER_SEC);
	world_settle(w);
	assert_int_equal(m->starts, 1);
	assert_string_equal(datum(m, "key"), "a");
}

static void a_conflict_sends_the_job_to_another_cluster(void **state)
{
	struct world *w = *state;
	struct model *m1 = world_join(w, "c1", 2, 8), *m2 = world_join(w, "c2", 2, 16);

	create_map(w, "a");
	model_put_thing(m1, "/api/v1/namespaces/default", "{'metadata':{'name':'default'}}");
	model_put_thing(m1, MAP_PATH, "{'metadata':{'name':'settings'}}");
	create_job(w, "one", "");
	create_job(w, "two", "");
	world_settle(w);
	assert_int_equal(m1->creates, 0);
	assert_int_equal(m2->starts, 2);
}

static void a_class_of_another_value_gives_a_verdict(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	create_map(w, "a");
	create_class(w, "high", 1000);
	model_put_thing(m, "/apis/scheduling.k8s.io/v1/priorityclasses/high",
			"{'metadata':{'name':'high'},'value':5}");
	create_job(w, "one", "high");
	world_settle(w);
	assert_int_equal(m->creates, 0);
	assert_non_null(strstr(world_query(w, "namespaces/default/jobs/one/why"),
			       "whose value is not the hub's 1000"));
	create_job(w, "plain", "");
	world_settle(w);
	assert_int_equal(m->starts, 1);
}

static void a_foreign_class_of_the_same_value_is_used_and_left_alone(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	create_map(w, "a");
	create_class(w, "high", 1000);
	model_put_thing(m, "/apis/scheduling.k8s.io/v1/priorityclasses/high",
			"{'metadata':{'name':'high'},'value':1000}");
	create_job(w, "one", "high");
	world_settle(w);
	assert_int_equal(m->starts, 1);
	(void)world_delete(w, TYPE_JOB, "default", "one");
	(void)world_delete(w, TYPE_PRIORITY_CLASS, "", "high");
	world_settle(w);
	world_advance(w, 60 * USEC_PER_SEC);
	world_settle(w);
	assert_non_null(model_thing(m, "/apis/scheduling.k8s.io/v1/priorityclasses/high"));
}

static void a_class_of_ours_goes_when_the_hub_has_none_and_no_copy_uses_it(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);
	static const char path[] = "/apis/scheduling.k8s.io/v1/priorityclasses/high";

	m->run_time = 600 * USEC_PER_SEC;
	create_map(w, "a");
	create_class(w, "high", 1000);
	create_job(w, "one", "high");
	world_settle(w);
	assert_non_null(model_thing(m, path));
	(void)world_delete(w, TYPE_PRIORITY_CLASS, "", "high");
	world_settle(w);
	assert_non_null(model_thing(m, path));
	(void)world_delete(w, TYPE_JOB, "default", "one");
	world_settle(w);
	world_advance(w, 10 * USEC_PER_SEC);
	world_settle(w);
	assert_null(model_thing(m, path));
}

static void a_namespace_goes_when_it_is_gone_at_the_hub(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	assert_int_equal(world_create(w, TYPE_NAMESPACE,
				      "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':"
				      "'team','labels':{'a':'1'}}}"),
			 ERR_NONE);
	assert_int_equal(world_job(w, "team", "one", 1, 1, ""), ERR_NONE);
	world_settle(w);
	assert_non_null(model_thing(m, "/api/v1/namespaces/team"));
	(void)world_patch(w, TYPE_NAMESPACE, "", "team", "{'metadata':{'labels':{'a':'2'}}}");
	world_settle(w);
	assert_string_equal(json_str(json_path(model_thing(m, "/api/v1/namespaces/team"),
					       "metadata", "labels", NULL),
				     "a"),
			    "2");
	(void)world_delete(w, TYPE_NAMESPACE, "", "team");
	world_settle(w);
	world_advance(w, 20 * USEC_PER_SEC);
	world_settle(w);
	assert_false(world_exists(w, TYPE_NAMESPACE, "", "team"));
	assert_null(model_thing(m, "/api/v1/namespaces/team"));
}

static void a_lost_answer_is_asked_for_again(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	create_map(w, "a");
	create_job(w, "one", "");
	world_answer(w, world_find(w, "POST", "/api/v1/namespaces"));
	world_lose(w, world_find(w, "POST", "configmaps"), true);
	world_advance(w, USEC_PER_SEC);
	world_settle(w);
	assert_int_equal(m->starts, 1);
	(void)world_delete(w, TYPE_JOB, "default", "one");
	world_settle(w);
	world_advance(w, USEC_PER_SEC);
	world_settle(w);
	assert_null(model_thing(m, MAP_PATH));
}

static void an_unjoin_takes_all_of_it_and_nothing_foreign(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	create_map(w, "a");
	model_put_thing(m, "/api/v1/namespaces/other", "{'metadata':{'name':'other'}}");
	create_job(w, "one", "");
	world_settle(w);
	(void)world_delete(w, TYPE_CLUSTER, "", "c1");
	world_settle(w);
	world_advance(w, 10 * USEC_PER_SEC);
	world_settle(w);
	assert_false(world_exists(w, TYPE_CLUSTER, "", "c1"));
	assert_int_equal(model_left(m), 1);
	assert_non_null(model_thing(m, "/api/v1/namespaces/other"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_change_at_the_hub_reaches_the_members_object),
	    TEST(a_change_while_the_hub_was_down_is_carried_over),
	    TEST(nothing_is_sent_again_when_nothing_changed),
	    TEST(it_goes_with_the_last_copy_that_needs_it),
	    TEST(one_that_was_to_go_when_the_hub_died_goes_after_all),
	    TEST(what_is_deleted_at_the_hub_is_deleted_and_comes_back),
	    TEST(one_deleted_on_the_member_is_put_back_by_the_next_job),
	    TEST(a_foreign_one_is_a_conflict_and_stays_as_it_is),
	    TEST(a_conflict_that_is_solved_lets_the_job_go),
	    TEST(a_conflict_sends_the_job_to_another_cluster),
	    TEST(a_class_of_another_value_gives_a_verdict),
	    TEST(a_foreign_class_of_the_same_value_is_used_and_left_alone),
	    TEST(a_class_of_ours_goes_when_the_hub_has_none_and_no_copy_uses_it),
	    TEST(a_namespace_goes_when_it_is_gone_at_the_hub),
	    TEST(a_lost_answer_is_asked_for_again),
	    TEST(an_unjoin_takes_all_of_it_and_nothing_foreign),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
