/*
 * A running gang loses a node: where it goes on, who goes for it, and what a restart remembers.
 * Nodes have 4 cpus, and every pod takes a whole one.
 */
#include "world.h"

#include "core/job.h"
#include "core/kueue/workload.h"
#include "core/swap/swap.h"

static int setup(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));

	world_open(w);
	w->after_turn = world_check;
	*state = w;
	return 0;
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, setup, world_teardown)

/* A member with `nodes` nodes called <name>-0 and so on, and the classes low (10) and high (1000).
 */
static struct model *member(struct world *w, const char *name, int nodes)
{
	struct model *m = world_join(w, name, nodes, 4);

	m->run_time = 100000 * USEC_PER_SEC;
	if (!world_exists(w, TYPE_PRIORITY_CLASS, "", "low")) {
		world_create(w, TYPE_PRIORITY_CLASS,
			     "{'apiVersion':'scheduling.k8s.io/v1','kind':'PriorityClass',"
			     "'metadata':{'name':'low'},'value':10}");
		world_create(w, TYPE_PRIORITY_CLASS,
			     "{'apiVersion':'scheduling.k8s.io/v1','kind':'PriorityClass',"
			     "'metadata':{'name':'high'},'value':1000}");
	}
	return m;
}

/* pod: more fields of the pods' spec, with a comma each. */
static void job_of(struct world *w, const char *name, int pods, const char *pod, const char *more)
{
	auto_free char *text = world_job_text("default", name, pods, 4, more);
	auto_buf b = BUF_INIT;
	char *spec = strstr(text, "'containers'");

	buf_add(&b, text, (size_t)(spec - text));
	buf_add_str(&b, pod);
	buf_add_str(&b, spec);
	assert_int_equal(world_create(w, TYPE_JOB, b.ptr), ERR_NONE);
	world_settle(w);
}

static void job_in(struct world *w, const char *name, int pods, const char *class_name,
		   const char *more)
{
	auto_buf pod = BUF_INIT;

	buf_addf(&pod, "'priorityClassName':'%s',", class_name);
	job_of(w, name, pods, pod.ptr, more);
}

static void job(struct world *w, const char *name, int pods, const char *class_name)
{
	job_in(w, name, pods, class_name, "");
}

static void later(struct world *w, int ms)
{
	world_advance(w, ms * USEC_PER_MS);
	world_settle(w);
}

static size_t bound(struct world *w, const struct model *m, const char *name)
{
	struct model_copy *c = model_copy(m, "default", name);
	(void)w;
	return c ? model_copy_bound(c) : 0;
}

/* The node of its first pod. */
static char *node_of(const struct model *m, const char *name)
{
	return xstrdup(model_copy(m, "default", name)->pods.items[0]->node);
}

static struct job *record(struct world *w, const char *name)
{
	return world_record(w, TYPE_JOB, "default", name);
}

static const char *status(struct world *w, const char *name)
{
	static char out[64];
	char path[128];
	(void)snprintf(path, sizeof(path), "namespaces/default/jobs/%s/why", name);
	const char *at = strstr(world_query(w, path), "\"status\":\"");
	(void)snprintf(out, sizeof(out), "%.*s", at ? (int)strcspn(at + 10, "\"") : 0,
		       at ? at + 10 : "");
	return out;
}

static bool why_says(struct world *w, const char *name, const char *words)
{
	char path[128];
	(void)snprintf(path, sizeof(path), "namespaces/default/jobs/%s/why", name);
	return strstr(world_query(w, path), words) != NULL;
}

/* ---- spare nodes ---- */

static void a_spare_node_is_kept_for_the_gang(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 4);

	job(w, "gang", 2, "high");
	job(w, "low", 1, "low");
	auto_free char *node = node_of(m, "gang");
	model_remove_node(m, node);
	world_settle(w);
	assert_int_equal(world_events(w, "gang", "HotSwap", "spare nodes of cluster c1"), 1);
	assert_int_equal(world_events(w, "gang", "HotSwap", "is gone"), 1);
	assert_string_equal(status(w, "gang"), "Recovering");
	assert_true(why_says(w, "gang", "room for 1 pods is kept on spare nodes"));
	/* The room is taken: another one waits, though the node is empty. */
	job(w, "late", 1, "low");
	assert_false(record(w, "late")->holds);
	assert_int_equal(world_events(w, "low", "Preempted", ""), 0);
	model_recreate(m, model_copy(m, "default", "gang"), false);
	world_settle(w);
	later(w, 1100);
	assert_int_equal(bound(w, m, "gang"), 2);
	assert_int_equal(world_events(w, "gang", "HotSwapDone", ""), 1);
	assert_null(record(w, "gang")->swap);
	assert_string_equal(status(w, "gang"), "Running");
	assert_int_equal(m->creates, 2); /* its copy was never touched */
	assert_false(record(w, "late")->holds);
}

static void a_tainted_node_is_lost_at_once(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	job(w, "gang", 2, "high");
	auto_free char *node = node_of(m, "gang");
	model_set_node(m, node, true, true);
	world_settle(w);
	assert_int_equal(world_events(w, "gang", "HotSwap", "is tainted NoExecute"), 1);
}

/* ---- tolerationSeconds ---- */

#define TOLERATES                                                                                  \
	"'priorityClassName':'high','tolerations':[{'key':'maintenance','operator':'Exists',"      \
	"'effect':'NoExecute','tolerationSeconds':60}],"

static void a_taint_that_is_tolerated_for_a_minute_is_lost_after_it(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	job_of(w, "gang", 2, TOLERATES, "");
	auto_free char *node = node_of(m, "gang");
	model_set_node(m, node, true, true);
	world_settle(w);
	later(w, 30000);
	model_set_node(m, node, true, true); /* told of again: the minute is the same one */
	world_settle(w);
	later(w, 29000);
	assert_int_equal(world_events(w, "gang", "HotSwap", ""), 0);
	assert_string_equal(status(w, "gang"), "Running");
	later(w, 1100);
	assert_int_equal(world_events(w, "gang", "HotSwap", "is tainted NoExecute"), 1);
	model_recreate(m, model_copy(m, "default", "gang"), false);
	world_settle(w);
	later(w, 1100);
	assert_int_equal(bound(w, m, "gang"), 2);
	assert_int_equal(world_events(w, "gang", "HotSwapDone", ""), 1);
}

static void a_taint_that_goes_within_its_time_loses_nothing(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	job_of(w, "gang", 2, TOLERATES, "");
	auto_free char *node = node_of(m, "gang");
	model_set_node(m, node, true, true);
	world_settle(w);
	later(w, 30000);
	model_set_node(m, node, true, false);
	world_settle(w);
	later(w, 60000);
	assert_int_equal(world_events(w, "gang", "HotSwap", ""), 0);
	assert_null(record(w, "gang")->swap);
}

static void another_lost_node_leaves_tolerated_pods_where_they_are(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 4);

	job_of(w, "gang", 2, TOLERATES, "");
	auto_free char *first = node_of(m, "gang");
	auto_free char *second = xstrdup(model_copy(m, "default", "gang")->pods.items[1]->node);
	model_set_node(m, first, true, true);
	world_settle(w);
	model_remove_node(m, second);
	world_settle(w);
	/* Of the two pods one is missing; the other has its minute, and is missing then. */
	assert_int_equal(world_events(w, "gang", "HotSwap", "room for 1 pods"), 1);
	assert_int_equal(world_events(w, "gang", "HotSwap", "is gone"), 1);
	model_set_node(m, first, true, false); /* for the model: who is tainted is lost */
	world_settle(w);
	model_recreate(m, model_copy(m, "default", "gang"), false);
	world_settle(w);
	later(w, 1100);
	assert_int_equal(world_events(w, "gang", "HotSwapDone", ""), 1);
	later(w, 60000);
	assert_int_equal(world_events(w, "gang", "HotSwap", ""), 1);
	assert_int_equal(bound(w, m, "gang"), 2);
}

/* ---- time ---- */

static void four_seconds_of_not_ready_do_nothing(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	job(w, "gang", 2, "high");
	job(w, "low", 1, "low");
	auto_free char *node = node_of(m, "gang");
	model_set_node(m, node, false, false);
	world_settle(w);
	later(w, 4000);
	model_set_node(m, node, true, false);
	world_settle(w);
	later(w, 60000);
	assert_int_equal(world_events(w, "gang", "HotSwap", ""), 0);
	assert_int_equal(world_events(w, "low", "Preempted", ""), 0);
	assert_null(record(w, "gang")->swap);
	assert_int_equal(record(w, "gang")->dispatch.epoch, 1);
}

static void five_seconds_of_not_ready_are_enough(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	job(w, "gang", 2, "high");
	auto_free char *node = node_of(m, "gang");
	model_set_node(m, node, false, false);
	world_settle(w);
	later(w, 4900);
	assert_int_equal(swap_step(record(w, "gang")), SWAP_SUSPECTED);
	assert_string_equal(status(w, "gang"), "Running");
	later(w, 200);
	assert_int_equal(swap_step(record(w, "gang")), SWAP_RESERVED);
	assert_int_equal(world_events(w, "gang", "HotSwap", "is not ready"), 1);
}

static void the_time_of_not_ready_outlives_a_restart(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	job(w, "gang", 2, "high");
	auto_free char *node = node_of(m, "gang");
	model_set_node(m, node, false, false);
	world_settle(w);
	later(w, 3000);
	world_restart(w);
	later(w, 1000);
	assert_int_equal(swap_step(record(w, "gang")), SWAP_SUSPECTED);
	later(w, 1100);
	assert_int_equal(swap_step(record(w, "gang")), SWAP_RESERVED);
}

static void pods_that_fail_before_the_node_is_told_of_are_not_forgotten(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 2);

	job(w, "gang", 1, "high");
	job(w, "low", 1, "low");
	auto_free char *node = node_of(m, "gang");
	struct model_copy *c = model_copy(m, "default", "gang");
	/* The pod goes, and its successor finds no place; only then is the node seen. */
	model_end_pod(m, c->pods.items[0]);
	c->pods.items[0]->gone = false;
	m->nodes.items[0]->down = m->nodes.items[1]->down = true;
	model_recreate(m, c, true);
	world_settle(w);
	m->nodes.items[0]->down = m->nodes.items[1]->down = false;
	model_set_node(m, node, false, false);
	world_settle(w);
	later(w, 5100);
	assert_int_equal(world_events(w, "low", "Preempted", "which lost nodes"), 1);
	assert_int_equal(bound(w, m, "gang"), 1);
}

/* ---- victims ---- */

static void the_lowest_goes_and_returns_when_the_node_does(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 4);

	job(w, "gang", 2, "high");
	job(w, "mid", 1, "high");
	job(w, "low", 1, "low");
	auto_free char *node = node_of(m, "gang");
	model_set_node(m, node, false, false);
	world_settle(w);
	later(w, 5100);
	assert_int_equal(world_events(w, "gang", "HotSwap", "preempting Job default/low"), 1);
	assert_int_equal(world_events(w, "low", "Preempted", "Job default/gang (priority 1000)"),
			 1);
	assert_true(model_copy(m, "default", "low")->suspended);
	assert_string_equal(world_step(w, "default", "low-job"), "Parked");
	assert_non_null(model_copy(m, "default", "mid"));
	model_recreate(m, model_copy(m, "default", "gang"), false);
	world_settle(w);
	later(w, 1100);
	assert_int_equal(bound(w, m, "gang"), 2);
	assert_int_equal(world_events(w, "gang", "HotSwapDone", ""), 1);
	assert_false(record(w, "low")->holds);
	model_set_node(m, node, true, false);
	world_settle(w);
	assert_true(record(w, "low")->holds);
	assert_int_equal(bound(w, m, "low"), 1);
	assert_int_equal(record(w, "gang")->dispatch.epoch, 1);
}

static void a_restart_in_the_middle_leads_to_the_same(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	job(w, "gang", 2, "high");
	job(w, "low", 1, "low");
	auto_free char *node = node_of(m, "gang");
	model_set_node(m, node, false, false);
	world_settle(w);
	world_advance(w, 5100 * USEC_PER_MS); /* decided; the victim's end is not answered yet */
	assert_int_equal(world_events(w, "gang", "HotSwap", "preempting Job default/low"), 1);
	auto_free char *before = world_memory(w);
	world_restart(w);
	assert_int_equal(swap_step(record(w, "gang")), SWAP_RESERVED);
	auto_free char *after = world_memory(w);
	assert_string_equal(before, after);
	world_settle(w);
	job(w, "late", 1, "low"); /* the room is the gang's */
	assert_false(record(w, "late")->holds);
	model_recreate(m, model_copy(m, "default", "gang"), false);
	world_settle(w);
	later(w, 1100);
	assert_int_equal(bound(w, m, "gang"), 2);
	assert_int_equal(world_events(w, "gang", "HotSwap", ""), 1);
	assert_int_equal(world_events(w, "gang", "HotSwapDone", ""), 1);
	assert_int_equal(world_events(w, "low", "Preempted", ""), 1);
}

static void nobody_lower_waits_and_says_why(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	job(w, "gang", 2, "high");
	job(w, "equal", 1, "high");
	auto_free char *node = node_of(m, "gang");
	model_remove_node(m, node);
	world_settle(w);
	assert_int_equal(swap_step(record(w, "gang")), SWAP_WAITING);
	assert_int_equal(
	    world_events(w, "gang", "HotSwapWaiting", "no job of lower priority than 1000"), 1);
	assert_true(why_says(w, "gang", "1 pods wait for room: no node of cluster c1 is spare"));
	later(w, 30000);
	assert_int_equal(world_events(w, "gang", "HotSwapWaiting", ""), 1); /* told once */
	world_restart(w);
	later(w, 30000);
	assert_int_equal(swap_step(record(w, "gang")), SWAP_WAITING);
	assert_int_equal(world_events(w, "gang", "HotSwapWaiting", ""), 1);
	/* A node comes: it is the gang's before anybody's. */
	job(w, "late", 1, "high");
	model_add_node(m, "fresh", 4, 0);
	world_settle(w);
	later(w, 1100);
	assert_int_equal(swap_step(record(w, "gang")), SWAP_RESERVED);
	assert_false(record(w, "late")->holds);
	model_recreate(m, model_copy(m, "default", "gang"), false);
	world_settle(w);
	later(w, 1100);
	assert_int_equal(bound(w, m, "gang"), 2);
}

static void a_class_that_never_preempts_evicts_nobody(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	world_create(
	    w, TYPE_PRIORITY_CLASS,
	    "{'apiVersion':'scheduling.k8s.io/v1','kind':'PriorityClass','metadata':{'name'"
	    ":'polite'},'value':2000,'preemptionPolicy':'Never'}");
	job(w, "gang", 2, "polite");
	job(w, "low", 1, "low");
	model_remove_node(m, model_copy(m, "default", "gang")->pods.items[0]->node);
	world_settle(w);
	assert_int_equal(world_events(w, "low", "Preempted", ""), 0);
	assert_int_equal(world_events(w, "gang", "HotSwapWaiting", "preempts nobody"), 1);
}

static void nobody_goes_for_what_cannot_start_then(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 4);

	job(w, "gang", 3, "high");
	job(w, "low", 1, "low");
	struct model_copy *c = model_copy(m, "default", "gang");
	auto_free char *one = xstrdup(c->pods.items[0]->node),
		       *two = xstrdup(c->pods.items[1]->node);
	model_set_node(m, one, true, true);
	model_set_node(m, two, true, true);
	world_settle(w);
	later(w, 10000);
	assert_int_equal(world_events(w, "low", "Preempted", ""), 0);
	assert_int_equal(swap_step(record(w, "gang")), SWAP_WAITING);
}

/* ---- another member ---- */

static void without_room_it_moves_to_another_member(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 2), *other;

	job(w, "gang", 2, "high");
	auto_free char *node = node_of(m, "gang");
	other = member(w, "c2", 2);
	model_remove_node(m, node);
	model_recreate(m, model_copy(m, "default", "gang"), false);
	world_settle(w);
	later(w, 2000);
	assert_int_equal(world_events(w, "gang", "HotSwap", "cluster c2 can"), 1);
	assert_null(model_copy(m, "default", "gang"));
	assert_int_equal(bound(w, other, "gang"), 2);
	assert_int_equal(record(w, "gang")->dispatch.epoch, 2);
}

/* A gang of two on c1 that has to move to c2, with orders that nobody has answered yet. */
static struct model *moving(struct world *w, struct model **ret_from)
{
	struct model *from = member(w, "c1", 2), *to;

	job(w, "gang", 2, "low");
	auto_free char *node = node_of(from, "gang");
	to = member(w, "c2", 2);
	model_remove_node(from, node);
	for (struct fact *f; (f = model_next_fact(from));)
		world_push(w, f);
	world_run(w);
	assert_int_equal(world_events(w, "gang", "HotSwap", "cluster c2 can"), 1);
	*ret_from = from;
	return to;
}

static void the_room_that_a_gang_moves_to_is_kept_for_it(void **state)
{
	struct world *w = *state;
	struct model *from, *to = moving(w, &from);

	/* Somebody of a higher priority comes before the gang has left. */
	auto_free char *thief = world_job_text("default", "thief", 1, 4, "");
	assert_int_equal(world_create(w, TYPE_JOB, thief), ERR_NONE);
	world_run(w);
	assert_false(record(w, "thief")->holds);
	world_settle(w);
	later(w, 2000);
	assert_null(model_copy(from, "default", "gang"));
	assert_int_equal(bound(w, to, "gang"), 2);
	assert_null(record(w, "gang")->swap);
	assert_false(record(w, "thief")->holds &&
		     record(w, "thief")->dispatch.member == to->number);
}

static void a_restart_keeps_the_room_that_a_gang_moves_to(void **state)
{
	struct world *w = *state;
	struct model *from, *to = moving(w, &from);

	world_restart(w);
	world_run(w);
	auto_free char *thief = world_job_text("default", "thief", 2, 4, "");
	assert_int_equal(world_create(w, TYPE_JOB, thief), ERR_NONE);
	world_settle(w);
	later(w, 2000);
	later(w, 2000);
	assert_int_equal(bound(w, to, "gang"), 2);
	assert_false(record(w, "thief")->holds);
	/* Nothing is left of it: a second restart finds no row. */
	world_restart(w);
	world_settle(w);
	assert_null(record(w, "gang")->swap);
}

static void the_room_of_a_gang_that_is_deleted_is_for_others(void **state)
{
	struct world *w = *state;
	struct model *from, *to = moving(w, &from);

	job(w, "thief", 2, "low");
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "gang"), ERR_NONE);
	world_settle(w);
	later(w, 2000);
	assert_int_equal(bound(w, to, "thief"), 2);
}

/* ---- queues ---- */

static void kueue(struct world *w, int cpus)
{
	auto_buf b = BUF_INIT;

	world_create(w, TYPE_RESOURCE_FLAVOR,
		     "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'ResourceFlavor','metadata':{"
		     "'name':'f'},'spec':{}}");
	buf_addf(&b,
		 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'ClusterQueue','metadata':{'name':"
		 "'cq'},'spec':{'namespaceSelector':{},'resourceGroups':[{'coveredResources':['cpu'"
		 "],'flavors':[{'name':'f','resources':[{'name':'cpu','nominalQuota':%d}]}]}]}}",
		 cpus);
	assert_int_equal(world_create(w, TYPE_CLUSTER_QUEUE, b.ptr), ERR_NONE);
	assert_int_equal(
	    world_create(w, TYPE_LOCAL_QUEUE,
			 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'LocalQueue','metadata':{"
			 "'name':'lq','namespace':'default'},'spec':{'clusterQueue':'cq'}}"),
	    ERR_NONE);
}

#define QUEUED ",'labels':{'kueue.x-k8s.io/queue-name':'lq'}"

static void a_queued_victim_is_evicted_and_keeps_its_place(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	kueue(w, 12);
	job_in(w, "gang", 2, "high", QUEUED);
	job_in(w, "low", 1, "low", QUEUED);
	auto_free char *node = node_of(m, "gang");
	model_remove_node(m, node);
	world_settle(w);
	const struct job *low = record(w, "low");
	assert_int_equal(world_events(w, "low", "Preempted", "which lost nodes"), 1);
	assert_false(workload_holds_quota(low->workload));
	assert_true(workload_holds_quota(record(w, "gang")->workload));
	model_recreate(m, model_copy(m, "default", "gang"), false);
	world_settle(w);
	later(w, 1100);
	assert_int_equal(bound(w, m, "gang"), 2);
	model_add_node(m, "back", 4, 0);
	world_settle(w);
	later(w, 1100);
	assert_true(low->holds);
	assert_int_equal(bound(w, m, "low"), 1);
}

static void a_queued_gang_that_moves_is_requeued_for_node_failures(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 2), *other;

	kueue(w, 12);
	job_in(w, "gang", 2, "high", QUEUED);
	auto_free char *node = node_of(m, "gang");
	other = member(w, "c2", 2);
	model_remove_node(m, node);
	model_recreate(m, model_copy(m, "default", "gang"), false);
	world_settle(w);
	later(w, 2000);
	assert_int_equal(bound(w, other, "gang"), 2);
	assert_true(workload_holds_quota(record(w, "gang")->workload));
}

/* ---- the elastic tree ---- */

static void team_job(struct world *w, const char *ns, const char *name, int pods,
		     const char *class_name)
{
	auto_free char *text = world_job_text(ns, name, pods, 4, "");
	auto_buf b = BUF_INIT;
	char *spec = strstr(text, "'containers'");

	buf_add(&b, text, (size_t)(spec - text));
	buf_addf(&b, "'priorityClassName':'%s',%s", class_name, spec);
	assert_int_equal(world_create(w, TYPE_JOB, b.ptr), ERR_NONE);
	world_settle(w);
}

static void jobs_of_the_tree_are_swapped_alike(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 3);

	world_teams(w, 24, 16);
	team_job(w, "team-a", "gang", 2, "high");
	team_job(w, "team-b", "low", 1, "low");
	model_remove_node(m, model_copy(m, "team-a", "gang")->pods.items[0]->node);
	world_settle(w);
	assert_int_equal(world_events(w, "low", "Preempted", "Job team-a/gang"), 1);
	assert_int_equal(world_used(w, "root/a", "cpu"), 8000);
	assert_int_equal(world_used(w, "root/b", "cpu"), 0);
	model_recreate(m, model_copy(m, "team-a", "gang"), false);
	world_settle(w);
	later(w, 1100);
	assert_int_equal(model_copy_bound(model_copy(m, "team-a", "gang")), 2);
	model_add_node(m, "back", 4, 0);
	world_settle(w);
	assert_int_equal(world_used(w, "root/b", "cpu"), 4000);
}

/* ---- domains ---- */

/* A gang of two that must be in one rack, and racks of `first` and two nodes. */
static struct model *racks(struct world *w, int first)
{
	struct model *m = member(w, "c1", first + 2);

	for (size_t i = 0; i < m->nodes.len; i++)
		model_place_node(m, m->nodes.items[i]->name, "A", i < (size_t)first ? "r1" : "r2");
	world_settle(w);
	auto_free char *text = world_job_text("default", "gang", 2, 4, "");
	auto_buf b = BUF_INIT;
	char *spec = strstr(text, "'template':{") + strlen("'template':{");

	buf_add(&b, text, (size_t)(spec - text));
	buf_addf(&b,
		 "'metadata':{'annotations':{'kueue.x-k8s.io/podset-required-topology':"
		 "'cloud.example.com/rack'}},%s",
		 spec);
	assert_int_equal(world_create(w, TYPE_JOB, b.ptr), ERR_NONE);
	world_settle(w);
	assert_int_equal(bound(w, m, "gang"), 2);
	return m;
}

static void a_gang_bound_to_a_rack_finds_its_spare_node_there(void **state)
{
	struct world *w = *state;
	struct model *m = racks(w, 3);

	/* Of three and two nodes the tighter rack was taken; a third node comes to it. */
	const char *rack = strstr(record(w, "gang")->domains, "r1") ? "r1" : "r2";
	model_add_node(m, "fresh", 4, 0);
	model_place_node(m, "fresh", "A", rack);
	world_settle(w);
	uint64_t starts = m->starts;
	model_remove_node(m, model_copy(m, "default", "gang")->pods.items[0]->node);
	world_settle(w);
	assert_int_equal(world_events(w, "gang", "HotSwap", "spare nodes of cluster c1"), 1);
	assert_int_equal(m->starts, starts); /* its copy stays */
	assert_int_equal(record(w, "gang")->dispatch.epoch, 1);
}

static void a_rack_that_cannot_hold_its_gang_is_left_for_another(void **state)
{
	struct world *w = *state;
	struct model *m = racks(w, 2);
	char *node = model_copy(m, "default", "gang")->pods.items[0]->node;
	bool in_r1 = strstr(record(w, "gang")->domains, "r1") != NULL;

	model_remove_node(m, node);
	world_settle(w);
	later(w, 2000);
	assert_int_equal(world_events(w, "gang", "HotSwap", "another one can"), 1);
	assert_int_equal(record(w, "gang")->dispatch.epoch, 2);
	assert_non_null(strstr(record(w, "gang")->domains, in_r1 ? "r2" : "r1"));
	assert_int_equal(bound(w, m, "gang"), 2);
}

/* ---- gangs that restart as a whole ---- */

static void a_controller_that_restarts_all_finds_its_old_nodes_kept(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 4);

	job(w, "gang", 3, "low");
	auto_free char *node = node_of(m, "gang");
	struct model_copy *c = model_copy(m, "default", "gang");
	model_set_node(m, node, false, false);
	world_settle(w);
	/* All pods go; for a moment every node is empty, and others would like them. */
	for (size_t i = 0; i < c->pods.len; i++)
		model_end_pod(m, c->pods.items[i]);
	world_streams(w);
	world_run(w);
	job(w, "other", 2, "low");
	assert_false(record(w, "other")->holds);
	for (size_t i = 0; i < c->pods.len; i++)
		c->pods.items[i]->gone = false;
	free(c->pods.items[0]->node);
	c->pods.items[0]->node = xstrdup(node);
	model_recreate(m, c, true);
	world_settle(w);
	later(w, 6000);
	later(w, 1100);
	assert_int_equal(bound(w, m, "gang"), 3);
	assert_null(record(w, "gang")->swap);
	assert_false(record(w, "other")->holds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(a_spare_node_is_kept_for_the_gang),
	    STORY(a_tainted_node_is_lost_at_once),
	    STORY(a_taint_that_is_tolerated_for_a_minute_is_lost_after_it),
	    STORY(a_taint_that_goes_within_its_time_loses_nothing),
	    STORY(another_lost_node_leaves_tolerated_pods_where_they_are),
	    STORY(four_seconds_of_not_ready_do_nothing),
	    STORY(five_seconds_of_not_ready_are_enough),
	    STORY(the_time_of_not_ready_outlives_a_restart),
	    STORY(pods_that_fail_before_the_node_is_told_of_are_not_forgotten),
	    STORY(the_lowest_goes_and_returns_when_the_node_does),
	    STORY(a_restart_in_the_middle_leads_to_the_same),
	    STORY(nobody_lower_waits_and_says_why),
	    STORY(a_class_that_never_preempts_evicts_nobody),
	    STORY(nobody_goes_for_what_cannot_start_then),
	    STORY(without_room_it_moves_to_another_member),
	    STORY(the_room_that_a_gang_moves_to_is_kept_for_it),
	    STORY(a_restart_keeps_the_room_that_a_gang_moves_to),
	    STORY(the_room_of_a_gang_that_is_deleted_is_for_others),
	    STORY(a_queued_victim_is_evicted_and_keeps_its_place),
	    STORY(a_queued_gang_that_moves_is_requeued_for_node_failures),
	    STORY(jobs_of_the_tree_are_swapped_alike),
	    STORY(a_gang_bound_to_a_rack_finds_its_spare_node_there),
	    STORY(a_rack_that_cannot_hold_its_gang_is_left_for_another),
	    STORY(a_controller_that_restarts_all_finds_its_old_nodes_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
