/*
 * What other controllers' checks ask of a workload's pods (core/kueue/check_updates.h): placement
 * is asked for it, the copy has it, and what contradicts itself starts nowhere.
 */
#include "kueue_words.h"

#include "core/job.h"

/* Checks of somebody else's controller, and a queue of 8 cpus that asks them. */
static void queue_with(struct world *w, const char *const *checks, size_t n)
{
	auto_buf more = BUF_INIT;

	buf_add_str(&more, ",'admissionChecksStrategy':{'admissionChecks':[");
	for (size_t i = 0; i < n; i++) {
		auto_buf check = BUF_INIT;
		buf_addf(&check,
			 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'AdmissionCheck',"
			 "'metadata':{'name':'%s'},'spec':{'controllerName':'example.com/%s'},"
			 "'status':{'conditions':[{'type':'Active','status':'True','reason':"
			 "'Active','message':'','lastTransitionTime':'2026-01-01T00:00:00Z'}]}}",
			 checks[i], checks[i]);
		assert_int_equal(world_create(w, TYPE_ADMISSION_CHECK, check.ptr), ERR_NONE);
		buf_addf(&more, "%s{'name':'%s'}", i ? "," : "", checks[i]);
	}
	buf_add_str(&more, "]}");
	cluster_queue(w, "cq", "f", 8, more.ptr);
	local_queue(w, "lq", "cq");
}

/* Their states, as their controllers write them: all Ready, with podSetUpdates of pod set main. */
static void answer(struct world *w, const char *job, const char *const *checks,
		   const char *const *updates, size_t n)
{
	char when[CLOCK_TEXT_MAX];
	auto_buf text = BUF_INIT;

	buf_add_str(&text, "{'status':{'admissionChecks':[");
	for (size_t i = 0; i < n; i++)
		buf_addf(&text,
			 "%s{'name':'%s','state':'Ready','message':'','lastTransitionTime':'%s',"
			 "'podSetUpdates':[{'name':'main'%s}]}",
			 i ? "," : "", checks[i], clock_format(w->now, when), updates[i]);
	buf_add_str(&text, "]}}");
	const struct job *j = world_record(w, TYPE_JOB, "default", job);
	auto_buf name = BUF_INIT;
	buf_add_span(&name, j->workload->name);
	assert_int_equal(world_patch(w, TYPE_WORKLOAD, "default", name.ptr, text.ptr), ERR_NONE);
	world_settle(w);
}

static const char *const one_check[] = {"budget"}, *const two_checks[] = {"budget", "zone"};

static struct model *member(struct world *w, const char *name, const char *pool)
{
	struct model *m = world_join(w, name, 1, 4);

	m->run_time = 100000 * USEC_PER_SEC;
	if (pool)
		model_label_nodes(m, "pool", pool);
	world_settle(w);
	return m;
}

static const struct job *record(struct world *w, const char *name)
{
	return world_record(w, TYPE_JOB, "default", name);
}

static bool why_says(struct world *w, const char *name, const char *text)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "namespaces/default/jobs/%s/why", name);
	const char *answer = world_query(w, path);
	if (strstr(answer, text))
		return true;
	print_error("%s\n", answer);
	return false;
}

/* c1 comes first by every other rule. */
static void a_selector_chooses_the_member(void **state)
{
	struct world *w = *state;
	const char *updates[] = {",'nodeSelector':{'pool':'paid'}"};

	member(w, "c1", NULL);
	struct model *m = member(w, "c2", "paid");
	flavor(w, "f", "");
	queue_with(w, one_check, 1);
	queued_job(w, "one", "lq", 1, 2);
	world_settle(w);
	assert_false(record(w, "one")->holds);
	answer(w, "one", one_check, updates, 1);
	assert_int_equal(record(w, "one")->dispatch.member, m->number);
	assert_non_null(
	    strstr(model_copy(m, "default", "one")->body, "\"nodeSelector\":{\"pool\":\"paid\"}"));
	/* And after a restart it asks the same. */
	world_restart(w);
	world_settle(w);
	const struct pod_set *set = &shape_spec(record(w, "one")->shape)->sets[0];
	assert_int_equal(set->n_selector, 1);
	assert_true(span_is(set->selector[0].value, "paid"));
}

static void without_such_nodes_it_waits_and_says_so(void **state)
{
	struct world *w = *state;
	const char *updates[] = {",'nodeSelector':{'pool':'paid'}"};

	struct model *m = member(w, "c1", "free");
	flavor(w, "f", "");
	queue_with(w, one_check, 1);
	queued_job(w, "one", "lq", 1, 2);
	world_settle(w);
	answer(w, "one", one_check, updates, 1);
	assert_int_equal(m->creates, 0);
	assert_false(record(w, "one")->holds);
	assert_true(why_says(w, "one", "\"verdict\":\"AffinityMismatch\""));
	/* Its quota is kept, and it starts with the first node that is one of these. */
	assert_int_equal(used(w, "cq", "f"), 2000);
	world_restart(w);
	assert_false(record(w, "one")->holds);
	struct model *late = member(w, "c2", "paid");
	assert_int_equal(record(w, "one")->dispatch.member, late->number);
}

/* The only node is tainted; without the toleration nobody goes there. */
static void a_toleration_lets_it_in(void **state)
{
	struct world *w = *state;
	const char *none[] = {""}, *tolerates[] = {",'tolerations':[{'key':'maintenance',"
						   "'operator':'Exists'}]"};
	struct model *m = member(w, "c1", NULL);

	model_set_node(m, "c1-n0", true, true);
	world_settle(w);
	flavor(w, "f", "");
	queue_with(w, one_check, 1);
	queued_job(w, "one", "lq", 1, 2);
	queued_job(w, "two", "lq", 1, 2);
	world_settle(w);
	answer(w, "one", one_check, none, 1);
	assert_false(record(w, "one")->holds);
	answer(w, "two", one_check, tolerates, 1);
	assert_true(record(w, "two")->holds);
	assert_false(record(w, "one")->holds);
}

#define CONFLICT "in admission check \"zone\": invalid admission check PodSetUpdate: conflict for "

static void two_checks_that_differ_start_nothing(void **state)
{
	static const char words[] = CONFLICT "labels: conflict for key=tier, value1=a, value2=b";
	struct world *w = *state;
	const char *updates[] = {",'labels':{'tier':'a'}", ",'labels':{'tier':'b'}"};
	const char *mended[] = {",'labels':{'tier':'a'}", ",'labels':{'tier':'a','zone':'z'}"};

	struct model *m = member(w, "c1", NULL);
	flavor(w, "f", "");
	queue_with(w, two_checks, 2);
	queued_job(w, "one", "lq", 1, 2);
	world_settle(w);
	answer(w, "one", two_checks, updates, 2);
	assert_int_equal(m->creates, 0);
	assert_string_equal(of_job(w, "one", "Evicted", "reason"),
			    "DeactivatedDueToAdmissionCheck");
	assert_string_equal(of_job(w, "one", "Evicted", "message"), words);
	assert_string_equal(wl(w, "one", "spec.active"), "false");
	assert_int_equal(used(w, "cq", "f"), 0);
	/* Mended, and let in again by its user. */
	const struct job *j = record(w, "one");
	auto_buf name = BUF_INIT;
	buf_add_span(&name, j->workload->name);
	assert_int_equal(
	    world_patch(w, TYPE_WORKLOAD, "default", name.ptr, "{'spec':{'active':true}}"),
	    ERR_NONE);
	world_settle(w);
	answer(w, "one", two_checks, mended, 2);
	assert_true(record(w, "one")->holds);
	assert_non_null(strstr(model_copy(m, "default", "one")->body, "\"zone\":\"z\""));
}

static void a_check_may_not_contradict_the_flavor(void **state)
{
	struct world *w = *state;
	const char *same[] = {"", ",'nodeSelector':{'pool':'paid'}"};
	const char *other[] = {"", ",'nodeSelector':{'pool':'free'}"};

	struct model *m = member(w, "c1", "paid");
	flavor(w, "f", "'nodeLabels':{'pool':'paid'}");
	queue_with(w, two_checks, 2);
	queued_job(w, "one", "lq", 1, 2);
	queued_job(w, "two", "lq", 1, 2);
	world_settle(w);
	answer(w, "one", two_checks, same, 2);
	assert_non_null(model_copy(m, "default", "one"));
	answer(w, "two", two_checks, other, 2);
	assert_null(model_copy(m, "default", "two"));
	assert_string_equal(of_job(w, "two", "Evicted", "message"),
			    CONFLICT "nodeSelector: conflict for key=pool, value1=paid, "
				     "value2=free");
}

/* Found at the check, not when the copy is made. */
static void a_check_may_not_contradict_the_pods(void **state)
{
	struct world *w = *state;
	const char *same[] = {",'nodeSelector':{'pool':'paid'},'labels':{'tier':'a'}"};
	const char *other[] = {",'nodeSelector':{'pool':'free'}"};

	struct model *m = member(w, "c1", "paid");
	flavor(w, "f", "");
	queue_with(w, one_check, 1);
	for (int i = 0; i < 2; i++) {
		auto_buf b = BUF_INIT;
		buf_addf(&b,
			 "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'%s',"
			 "'namespace':'default','labels':{'kueue.x-k8s.io/queue-name':'lq'}},"
			 "'spec':{'template':{'spec':{'restartPolicy':'Never','nodeSelector':{"
			 "'pool':'paid'},'containers':[{'name':'c','image':'i','resources':{"
			 "'requests':{'cpu':'1'}}}]}}}}",
			 i ? "two" : "one");
		assert_int_equal(world_create(w, TYPE_JOB, b.ptr), ERR_NONE);
	}
	world_settle(w);
	answer(w, "one", one_check, same, 1);
	assert_non_null(model_copy(m, "default", "one"));
	answer(w, "two", one_check, other, 1);
	assert_null(model_copy(m, "default", "two"));
	assert_string_equal(of_job(w, "two", "Evicted", "message"),
			    "invalid admission check PodSetUpdate: conflict for nodeSelector: "
			    "conflict for key=pool, value1=paid, value2=free");
	assert_int_equal(used(w, "cq", "f"), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(a_selector_chooses_the_member),
	    STORY(without_such_nodes_it_waits_and_says_so),
	    STORY(a_toleration_lets_it_in),
	    STORY(two_checks_that_differ_start_nothing),
	    STORY(a_check_may_not_contradict_the_flavor),
	    STORY(a_check_may_not_contradict_the_pods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
