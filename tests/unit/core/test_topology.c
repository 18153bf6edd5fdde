/*
 * Topology in the fleet: racks and blocks by Kueue's annotations, for jobs in a queue and outside
 * any; what reaches the member, what the Workload says, and why a gang waits.
 */
#include "world.h"

#include "core/kueue/workload.h"

#define STORY(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
#define BLOCK	    "cloud.example.com/block"
#define RACK	    "cloud.example.com/rack"

/* Racks r1 and r2 have two nodes each, in block A; r3 in B has one. */
static struct model *site(struct world *w, const char *name, int cpus)
{
	static const char *const where[][2] = {
	    {"A", "r1"}, {"A", "r1"}, {"A", "r2"}, {"A", "r2"}, {"B", "r3"}};
	struct model *m = world_join(w, name, 5, cpus);
	char node[32];

	for (int i = 0; i < 5; i++) {
		(void)snprintf(node, sizeof(node), "%s-n%d", name, i);
		model_place_node(m, node, where[i][0], where[i][1]);
	}
	world_settle(w);
	return m;
}

static enum err_kind job(struct world *w, const char *name, const char *queue, int pods, int cpus,
			 const char *annotations)
{
	auto_buf b = BUF_INIT;

	buf_addf(
	    &b,
	    "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'%s','namespace':"
	    "'default','labels':{%s%s%s}},'spec':{'parallelism':%d,'completions':%d,"
	    "'template':{'metadata':{'annotations':{%s}},'spec':{'restartPolicy':'Never',"
	    "'containers':[{'name':'c','image':'i','resources':{'requests':{'cpu':'%d'}}}]}}}}",
	    name, queue ? "'kueue.x-k8s.io/queue-name':'" : "", queue ? queue : "",
	    queue ? "'" : "", pods, pods, annotations, cpus);
	return world_create(w, TYPE_JOB, b.ptr);
}

#define ASK(what, level) "'kueue.x-k8s.io/podset-" what "-topology':'" level "'"

static void topology(struct world *w)
{
	assert_int_equal(
	    world_create(w, TYPE_TOPOLOGY,
			 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'Topology','metadata':{"
			 "'name':'site'},'spec':{'levels':[{'nodeLabel':'" BLOCK
			 "'},{'nodeLabel':'" RACK "'}]}}"),
	    ERR_NONE);
}

static void queue(struct world *w)
{
	assert_int_equal(
	    world_create(w, TYPE_RESOURCE_FLAVOR,
			 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'ResourceFlavor',"
			 "'metadata':{'name':'tas'},'spec':{'nodeLabels':{'" BLOCK
			 "':'A'},'topologyName':'site'}}"),
	    ERR_NONE);
	assert_int_equal(
	    world_create(w, TYPE_CLUSTER_QUEUE,
			 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'ClusterQueue','metadata':{"
			 "'name':'cq'},'spec':{'namespaceSelector':{},'resourceGroups':[{"
			 "'coveredResources':['cpu'],'flavors':[{'name':'tas','resources':[{'name':"
			 "'cpu','nominalQuota':100}]}]}]}}"),
	    ERR_NONE);
	assert_int_equal(
	    world_create(w, TYPE_LOCAL_QUEUE,
			 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'LocalQueue','metadata':{"
			 "'name':'lq','namespace':'default'},'spec':{'clusterQueue':'cq'}}"),
	    ERR_NONE);
	world_run(w);
}

static const char *wl(struct world *w, const char *name, const char *path)
{
	const struct job *j = world_record(w, TYPE_JOB, "default", name);
	char text[STORE_MAX_NAME + 1];

	if (!j || !j->workload)
		return "";
	(void)snprintf(text, sizeof(text), "%.*s", SPAN_ARGS(j->workload->name));
	return world_field(w, TYPE_WORKLOAD, "default", text, path);
}

static bool copy_has(const struct model *m, const char *name, const char *text)
{
	const struct model_copy *c = model_copy(m, "default", name);

	return c && strstr(c->body, text);
}

static const char *reason_of(struct world *w, const char *name)
{
	const struct job *j = world_record(w, TYPE_JOB, "default", name);
	return j && j->top_reason ? j->top_reason : "";
}

/* ---- outside any queue ---- */

static void a_required_rack_is_chosen_and_written_into_the_copy(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	/* Two pods of 8 fill a rack; r3 has room for one only. No Topology object is needed. */
	assert_int_equal(job(w, "one", NULL, 2, 8, ASK("required", RACK)), ERR_NONE);
	world_settle(w);
	assert_true(copy_has(m, "one", "\"nodeSelector\":{\"" RACK "\":\"r1\"}"));
	/* The next one gets the other rack, a third none: r3 is too small. */
	assert_int_equal(job(w, "two", NULL, 2, 8, ASK("required", RACK)), ERR_NONE);
	assert_int_equal(job(w, "three", NULL, 2, 4, ASK("required", RACK)), ERR_NONE);
	assert_int_equal(job(w, "four", NULL, 2, 8, ASK("required", RACK)), ERR_NONE);
	world_settle(w);
	assert_true(copy_has(m, "two", "\"nodeSelector\":{\"" RACK "\":\"r2\"}"));
	assert_true(copy_has(m, "three", "\"nodeSelector\":{\"" RACK "\":\"r3\"}"));
	assert_null(model_copy(m, "default", "four"));
}

static void a_topology_object_gives_the_levels_above(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	topology(w);
	assert_int_equal(job(w, "one", NULL, 2, 8, ASK("required", RACK)), ERR_NONE);
	world_settle(w);
	assert_true(
	    copy_has(m, "one", "\"nodeSelector\":{\"" BLOCK "\":\"A\",\"" RACK "\":\"r1\"}"));
	/* Preferred: no rack has room for three of 8 cpus, nor block A any more. */
	assert_int_equal(job(w, "wide", NULL, 3, 8, ASK("preferred", RACK)), ERR_NONE);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "wide"));
	assert_false(copy_has(m, "wide", "nodeSelector"));
}

static void preferred_keeps_to_the_narrowest_domain_that_was_found(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	topology(w);
	assert_int_equal(job(w, "block", NULL, 4, 8, ASK("preferred", RACK)), ERR_NONE);
	world_settle(w);
	assert_true(copy_has(m, "block", "\"nodeSelector\":{\"" BLOCK "\":\"A\"}"));
}

static void a_gang_waits_for_room_in_one_rack_and_is_told_so(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	assert_int_equal(job(w, "first", NULL, 2, 5, ASK("required", RACK)), ERR_NONE);
	assert_int_equal(job(w, "second", NULL, 2, 5, ASK("required", RACK)), ERR_NONE);
	world_settle(w);
	assert_int_equal(job(w, "waits", NULL, 2, 4, ASK("required", BLOCK)), ERR_NONE);
	assert_int_equal(job(w, "none", NULL, 3, 4, ASK("required", RACK)), ERR_NONE);
	world_settle(w);
	/* r3, in B, still has 8 cpus on one node. */
	assert_non_null(model_copy(m, "default", "waits"));
	assert_int_equal(world_events(w, "none", "ScheduleBindingFailed", ""), 1);
	model_finish(m, model_copy(m, "default", "first"), false);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "none"));
	assert_true(copy_has(m, "none", "\"" RACK "\":\"r1\""));
}

static void what_was_chosen_is_remembered_by_a_restart(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	topology(w);
	assert_int_equal(job(w, "one", NULL, 2, 8, ASK("required", RACK)), ERR_NONE);
	world_run(w);
	/* Decided and committed, not one order answered. */
	char *before = xstrdup(world_record(w, TYPE_JOB, "default", "one")->domains);
	assert_string_equal(before, "[{\"" BLOCK "\":\"A\",\"" RACK "\":\"r1\"}]");
	world_restart(w);
	assert_string_equal(world_record(w, TYPE_JOB, "default", "one")->domains, before);
	free(before);
	world_settle(w);
	assert_true(copy_has(m, "one", "\"" RACK "\":\"r1\""));
	model_finish(m, model_copy(m, "default", "one"), false);
	world_settle(w);
}

static void a_level_that_the_topology_lacks_holds_nobody_up(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	/* Slices of 2 of 3 pods cannot be: the job is held and told, others go on. */
	assert_int_equal(job(w, "odd", NULL, 3, 1,
			     "'kueue.x-k8s.io/podset-slice-required-topology':'" RACK
			     "','kueue.x-k8s.io/podset-slice-size':'2'"),
			 ERR_NONE);
	assert_int_equal(job(w, "even", NULL, 4, 1,
			     "'kueue.x-k8s.io/podset-slice-required-topology':'" RACK
			     "','kueue.x-k8s.io/podset-slice-size':'2'"),
			 ERR_NONE);
	world_settle(w);
	assert_string_equal(reason_of(w, "odd"), "TopologyPlacementFailed");
	assert_int_equal(world_events(w, "odd", "ScheduleBindingFailed",
				      "3 pods cannot be split into slices of 2"),
			 1);
	assert_non_null(model_copy(m, "default", "even"));
	/* Both of its slices are in one rack: its template names that. */
	assert_true(copy_has(m, "even", "\"nodeSelector\":{\"" RACK "\":\"r"));
	assert_false(copy_has(m, "even", "schedulingGates"));
}

/* ---- in several domains: pod by pod ---- */

#define SLICES(size)                                                                               \
	"'kueue.x-k8s.io/podset-slice-required-topology':'" RACK "','kueue.x-k8s.io/podset-slice-" \
	"size':'" size "'"

static bool is_on(const struct model *m, const char *name, int64_t index, const char *a,
		  const char *b)
{
	const char *node = model_pod_node(model_copy(m, "default", name), index);

	return node && (strcmp(node, a) == 0 || strcmp(node, b) == 0);
}

/* Four pods that fill racks r1 and r2; left alone, the member's scheduler would begin elsewhere and
 * split them. */
static bool is_in_its_racks(const struct model *m, const char *name)
{
	return is_on(m, name, 0, "c1-n0", "c1-n1") && is_on(m, name, 1, "c1-n0", "c1-n1") &&
	       is_on(m, name, 2, "c1-n2", "c1-n3") && is_on(m, name, 3, "c1-n2", "c1-n3");
}

static void each_of_several_slices_is_held_to_its_rack(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	m->binds_from = 1;
	topology(w);
	assert_int_equal(job(w, "even", NULL, 4, 8, SLICES("2")), ERR_NONE);
	world_settle(w);
	assert_string_equal(world_record(w, TYPE_JOB, "default", "even")->domains,
			    "[[{\"" BLOCK "\":\"A\"},{\"" RACK "\":\"r1\"},2,{\"" RACK
			    "\":\"r2\"},2]]");
	assert_true(copy_has(m, "even", "\"nodeSelector\":{\"" BLOCK "\":\"A\"}"));
	assert_true(
	    copy_has(m, "even", "\"schedulingGates\":[{\"name\":\"kueue.x-k8s.io/topology\"}]"));
	assert_true(is_in_its_racks(m, "even"));
	assert_int_equal(m->ungated, 4);
	/* Made anew, they go where those before them were. */
	m->binds_from = 2;
	model_recreate(m, model_copy(m, "default", "even"), true);
	world_settle(w);
	assert_true(is_in_its_racks(m, "even"));
	assert_int_equal(m->ungated, 8);
}

static void pods_of_a_preferred_rack_that_was_not_are_held_where_they_were_planned(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	m->binds_from = 2;
	assert_int_equal(job(w, "wide", NULL, 3, 8, ASK("preferred", RACK)), ERR_NONE);
	world_settle(w);
	assert_string_equal(world_record(w, TYPE_JOB, "default", "wide")->domains,
			    "[[{},{\"" RACK "\":\"r1\"},2,{\"" RACK "\":\"r3\"},1]]");
	assert_true(is_on(m, "wide", 0, "c1-n0", "c1-n1"));
	assert_true(is_on(m, "wide", 1, "c1-n0", "c1-n1"));
	assert_true(is_on(m, "wide", 2, "c1-n4", "c1-n4"));
}

/* Of four patches one is answered, one is carried out and lost, the others never arrive. */
static void a_restart_lets_go_of_those_that_are_left(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);
	struct order *o;

	m->binds_from = 1;
	topology(w);
	assert_int_equal(job(w, "even", NULL, 4, 8, SLICES("2")), ERR_NONE);
	world_run(w);
	while (!world_find(w, "PATCH", "/pods/")) {
		for (size_t i = 0; i < w->orders.len; i++)
			world_answer(w, w->orders.items[0]);
		world_streams(w);
		(void)model_step(m, w->now);
		world_streams(w);
	}
	world_answer(w, world_find(w, "PATCH", "/pods/"));
	o = world_find(w, "PATCH", "/pods/");
	world_lose(w, o, true);
	world_streams(w);
	world_restart(w);
	world_settle(w);
	world_advance(w, 2 * USEC_PER_SEC);
	world_settle(w);
	assert_true(is_in_its_racks(m, "even"));
	assert_int_equal(m->ungated, 4);
}

static void a_member_that_refuses_to_let_go_is_told_of(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	topology(w);
	m->no_patches = true;
	assert_int_equal(job(w, "even", NULL, 4, 8, SLICES("2")), ERR_NONE);
	world_settle(w);
	for (int i = 0; i < 8; i++) {
		world_advance(w, USEC_PER_SEC);
		world_settle(w);
	}
	assert_int_equal(world_events(w, "even", "TopologyUngateFailed", "pods is forbidden"), 1);
	assert_null(model_pod_node(model_copy(m, "default", "even"), 0));
	m->no_patches = false;
	world_advance(w, 40 * USEC_PER_SEC);
	world_settle(w);
	assert_true(is_in_its_racks(m, "even"));
}

static void a_leader_and_its_workers_share_a_rack(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);
	auto_buf b = BUF_INIT;

#define ROLE(n)                                                                                    \
	"{'replicas':" n ",'template':{'metadata':{'annotations':{" ASK(                           \
	    "required", RACK) ",'kueue.x-k8s.io/podset-group-name':'gang'}},'spec':{'containers':" \
			      "[{'name':'pytorch','image':'i','resources':{'requests':{'cpu':4}}}" \
			      "]}}}"
	/* r3 would be the tightest rack for the master alone; r1 holds it and three workers. */
	buf_add_str(&b, "{'apiVersion':'kubeflow.org/v1','kind':'PyTorchJob','metadata':{'name':"
			"'p','namespace':'default'},'spec':{'pytorchReplicaSpecs':{'Master':" ROLE(
			    "1") ",'Worker':" ROLE("3") "}}}");
	assert_int_equal(world_create(w, TYPE_PYTORCH_JOB, b.ptr), ERR_NONE);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "p"));
	assert_string_equal(world_record(w, TYPE_PYTORCH_JOB, "default", "p")->domains,
			    "[{\"" RACK "\":\"r1\"},{\"" RACK "\":\"r1\"}]");
}

static void slices_inside_slices_are_read_from_their_annotation(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	topology(w);
	/* Four in one block, of which each two in one rack: all of A's racks, one pod each too few.
	 */
	assert_int_equal(job(w, "layers", NULL, 4, 8,
			     "'kueue.x-k8s.io/podset-slice-required-topology-constraints':"
			     "'[{\\\"topology\\\":\\\"" BLOCK "\\\",\\\"size\\\":4},"
			     "{\\\"topology\\\":\\\"" RACK "\\\",\\\"size\\\":2}]'"),
			 ERR_NONE);
	world_settle(w);
	/* One slice is the whole set: its block is enforced. */
	assert_true(copy_has(m, "layers", "\"nodeSelector\":{\"" BLOCK "\":\"A\"}"));
	const struct job *j = world_record(w, TYPE_JOB, "default", "layers");
	const struct pod_topology *t = &shape_spec(j->shape)->sets[0].topology;
	assert_int_equal(t->slice_size, 4);
	assert_int_equal(t->n_inner, 1);
	assert_int_equal(t->inner[0].size, 2);
	assert_int_equal(t->inner[0].level, 1);
}

/* ---- in a queue ---- */

static void a_queued_gang_gets_an_assignment_that_is_true(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	topology(w);
	queue(w);
	assert_int_equal(job(w, "one", "lq", 2, 8, ASK("required", RACK)), ERR_NONE);
	world_settle(w);
	assert_true(copy_has(m, "one", "\"" BLOCK "\":\"A\",\"" RACK "\":\"r1\""));
#define ASSIGNMENT "status.admission.podSetAssignments.0.topologyAssignment."
	assert_string_equal(wl(w, "one", ASSIGNMENT "levels.0"), BLOCK);
	assert_string_equal(wl(w, "one", ASSIGNMENT "levels.1"), RACK);
	assert_string_equal(wl(w, "one", ASSIGNMENT "slices.0.domainCount"), "1");
	assert_string_equal(wl(w, "one", ASSIGNMENT "slices.0.valuesPerLevel.0.universalValue"),
			    "A");
	assert_string_equal(wl(w, "one", ASSIGNMENT "slices.0.valuesPerLevel.1.universalValue"),
			    "r1");
	assert_string_equal(wl(w, "one", ASSIGNMENT "slices.0.universalPodCount"), "2");
	assert_string_equal(wl(w, "one", "spec.podSets.0.topologyRequest.required"), RACK);
	/* One that asks for nothing in a queue of such flavors is unconstrained. */
	assert_int_equal(job(w, "plain", "lq", 1, 1, ""), ERR_NONE);
	world_settle(w);
	assert_true(copy_has(m, "plain", "\"nodeSelector\":{\"" BLOCK "\":\"A\"}"));
	assert_string_equal(wl(w, "plain", ASSIGNMENT "levels.0"), "");
}

static void quota_without_a_rack_is_a_placement_that_failed(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	topology(w);
	queue(w);
	assert_int_equal(job(w, "one", "lq", 2, 5, ASK("required", RACK)), ERR_NONE);
	assert_int_equal(job(w, "two", "lq", 2, 5, ASK("required", RACK)), ERR_NONE);
	world_settle(w);
	/* Block A has 3 free cpus on each of four nodes: no rack holds three pods of 3. */
	assert_int_equal(job(w, "three", "lq", 3, 3, ASK("required", RACK)), ERR_NONE);
	world_settle(w);
	assert_null(model_copy(m, "default", "three"));
	assert_string_equal(reason_of(w, "three"), "TopologyPlacementFailed");
	bool told = false;
	for (int i = 0; i < 4; i++) {
		char path[64];
		(void)snprintf(path, sizeof(path), "status.conditions.%d.message", i);
		told |=
		    strstr(wl(w, "three", path), "had room for 2 of 3 pods in one " RACK) != NULL;
	}
	assert_true(told);
	model_finish(m, model_copy(m, "default", "two"), false);
	world_settle(w);
	assert_true(copy_has(m, "three", "\"" RACK "\":\"r2\""));
}

static void a_flavor_without_its_topology_makes_the_queue_inactive(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	queue(w);
	world_advance(w, 200 * 1000);
	assert_string_equal(
	    world_field(w, TYPE_CLUSTER_QUEUE, "", "cq", "status.conditions.0.reason"),
	    "TopologyNotFound");
	assert_string_equal(
	    world_field(w, TYPE_CLUSTER_QUEUE, "", "cq", "status.conditions.0.message"),
	    "Can't admit new workloads: there is no Topology \"site\" for TAS flavor "
	    "\"tas\".");
	assert_int_equal(job(w, "one", "lq", 2, 8, ASK("required", RACK)), ERR_NONE);
	world_settle(w);
	assert_null(model_copy(m, "default", "one"));
	topology(w);
	world_settle(w);
	assert_true(copy_has(m, "one", "\"" RACK "\":\"r1\""));
}

static void a_level_that_is_not_in_the_topology_is_no_flavor(void **state)
{
	struct world *w = *state;

	site(w, "c1", 8);
	topology(w);
	queue(w);
	assert_int_equal(job(w, "one", "lq", 1, 1, ASK("required", "cloud.example.com/hall")),
			 ERR_NONE);
	world_settle(w);
	assert_string_equal(reason_of(w, "one"), "NoMatchingFlavor");
}

static void an_evicted_gang_may_get_another_rack(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	topology(w);
	queue(w);
	assert_int_equal(job(w, "one", "lq", 2, 8, ASK("required", RACK)), ERR_NONE);
	world_settle(w);
	const struct job *j = world_record(w, TYPE_JOB, "default", "one");
	char name[STORE_MAX_NAME + 1];
	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(j->workload->name));
	assert_int_equal(
	    world_patch(w, TYPE_WORKLOAD, "default", name, "{'spec':{'active':false}}"), ERR_NONE);
	world_settle(w);
	assert_null(world_record(w, TYPE_JOB, "default", "one")->domains);
	assert_string_equal(wl(w, "one", "status.admission"), "");
	model_remove_node(m, "c1-n0");
	world_settle(w);
	assert_int_equal(world_patch(w, TYPE_WORKLOAD, "default", name, "{'spec':{'active':true}}"),
			 ERR_NONE);
	world_settle(w);
	assert_true(copy_has(m, "one", "\"" RACK "\":\"r2\""));
	assert_string_equal(wl(w, "one", ASSIGNMENT "slices.0.valuesPerLevel.1.universalValue"),
			    "r2");
}

static void an_assignment_names_every_domain(void **state)
{
	struct world *w = *state;

	site(w, "c1", 8);
	topology(w);
	queue(w);
	assert_int_equal(job(w, "even", "lq", 4, 8, SLICES("2")), ERR_NONE);
	world_settle(w);
	assert_string_equal(wl(w, "even", ASSIGNMENT "levels.1"), RACK);
	assert_string_equal(wl(w, "even", ASSIGNMENT "slices.0.domainCount"), "2");
	assert_string_equal(wl(w, "even", ASSIGNMENT "slices.0.valuesPerLevel.0.universalValue"),
			    "A");
	assert_string_equal(wl(w, "even", ASSIGNMENT "slices.0.valuesPerLevel.1.prefix"), "r");
	assert_string_equal(wl(w, "even", ASSIGNMENT "slices.0.valuesPerLevel.1.roots.1"), "2");
	assert_string_equal(wl(w, "even", ASSIGNMENT "slices.0.universalPodCount"), "2");
}

/* ---- nodes that are lost ---- */

/* Slices in r1 and r2, and r3 is large enough for one: a node of r1 goes. */
static struct model *slices_lose_a_node(struct world *w)
{
	struct model *m = site(w, "c1", 8);

	m->run_time = 100000 * USEC_PER_SEC;
	topology(w);
	return m;
}

static void wait_a_little(struct world *w)
{
	for (int i = 0; i < 10; i++) {
		world_advance(w, USEC_PER_SEC);
		world_settle(w);
	}
}

static void slices_that_must_leave_a_rack_start_anew_elsewhere(void **state)
{
	struct world *w = *state;
	struct model *m = slices_lose_a_node(w);

	assert_int_equal(job(w, "even", NULL, 4, 8, SLICES("2")), ERR_NONE);
	world_settle(w);
	assert_true(is_in_its_racks(m, "even"));
	model_add_node(m, "c1-n5", 8, 0);
	model_place_node(m, "c1-n5", "B", "r3");
	char *before = xstrdup(model_copy(m, "default", "even")->uid);
	model_remove_node(m, "c1-n0");
	world_settle(w);
	wait_a_little(w);
	assert_string_not_equal(model_copy(m, "default", "even")->uid, before);
	assert_string_equal(world_record(w, TYPE_JOB, "default", "even")->domains,
			    "[[{},{\"" BLOCK "\":\"A\",\"" RACK "\":\"r2\"},2,{\"" BLOCK
			    "\":\"B\",\"" RACK "\":\"r3\"},2]]");
	assert_true(is_on(m, "even", 0, "c1-n2", "c1-n3"));
	assert_true(is_on(m, "even", 2, "c1-n4", "c1-n5"));
	free(before);
}

/* Rack r1 has one node left. Two small pods still fit into it: the copy stays, with its selectors;
 * two large ones do not: the gang starts anew in r2, not in places that its copy cannot use. */
static void the_nodes_that_a_queued_gang_lost_are_shown_until_they_are_replaced(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 4);

	topology(w);
	queue(w);
	m->run_time = 100000 * USEC_PER_SEC;
	assert_int_equal(job(w, "gang", "lq", 2, 4, ASK("required", RACK)), ERR_NONE);
	world_settle(w);
	const struct model_copy *c = model_copy(m, "default", "gang");
	assert_non_null(c);
	auto_free char *lost = xstrdup(c->pods.items[0]->node);
	bool in_r1 = copy_has(m, "gang", "\"r1\"");
	model_add_node(m, "spare", 4, 0);
	model_place_node(m, "spare", "A", in_r1 ? "r1" : "r2");
	world_settle(w);
	model_remove_node(m, lost);
	world_settle(w);
	assert_string_equal(wl(w, "gang", "status.unhealthyNodes.0.name"), lost);
	assert_string_equal(wl(w, "gang", "status.unhealthyNodes.1.name"), "");
	model_recreate(m, model_copy(m, "default", "gang"), false);
	world_settle(w);
	world_advance(w, 2 * USEC_PER_SEC);
	world_settle(w);
	assert_int_equal(world_events(w, "gang", "HotSwapDone", ""), 1);
	assert_string_equal(wl(w, "gang", "status.unhealthyNodes.0.name"), "");
}

static void a_gang_that_loses_a_node_keeps_to_its_rack_or_moves_whole(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	m->run_time = 100000 * USEC_PER_SEC;
	topology(w);
	assert_int_equal(job(w, "large", NULL, 2, 5, ASK("required", RACK)), ERR_NONE);
	assert_int_equal(job(w, "small", NULL, 2, 1, ASK("required", RACK)), ERR_NONE);
	world_settle(w);
	assert_true(copy_has(m, "large", "\"" RACK "\":\"r1\""));
	const char *uid = model_copy(m, "default", "large")->uid;
	char *before = xstrdup(uid);
	/* The model's scheduler knows no selectors: whichever nodes they are on, all of r1 but one
	 * goes away. */
	bool small_in_r1 = copy_has(m, "small", "\"" RACK "\":\"r1\"");
	char *small_uid = xstrdup(model_copy(m, "default", "small")->uid);
	model_remove_node(m, model_copy(m, "default", "large")->pods.items[0]->node);
	world_settle(w);
	for (int i = 0; i < 10; i++) {
		world_advance(w, USEC_PER_SEC);
		world_settle(w);
	}
	assert_non_null(model_copy(m, "default", "large"));
	assert_string_not_equal(model_copy(m, "default", "large")->uid, before);
	assert_false(copy_has(m, "large", "\"" RACK "\":\"r1\""));
	assert_int_equal(world_events(w, "large", "HotSwap", "its topology domain on cluster c1"),
			 1);
	if (small_in_r1)
		assert_string_equal(model_copy(m, "default", "small")->uid, small_uid);
	free(before);
	free(small_uid);
}

/* A JobSet makes all its pods anew anyway: the same copy, and other domains for them. */
static void a_job_set_gets_other_domains_in_place(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	m->run_time = 100000 * USEC_PER_SEC;
	assert_int_equal(
	    world_create(
		w, TYPE_JOB_SET,
		"{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet','metadata':{'name':"
		"'set','namespace':'default'},'spec':{'replicatedJobs':[{'name':'w','replicas':2,"
		"'template':{'spec':{'parallelism':2,'completions':2,'template':{'metadata':{"
		"'annotations':{" SLICES(
		    "2") "}},'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'i',"
			 "'resources':{'requests':{'cpu':'8'}}}]}}}}}]}}"),
	    ERR_NONE);
	world_settle(w);
	struct model_copy *copy = model_copy(m, "default", "set");
	assert_non_null(copy);
	assert_true(is_in_its_racks(m, "set"));
	model_add_node(m, "c1-n5", 8, 0);
	model_place_node(m, "c1-n5", "B", "r3");
	model_remove_node(m, "c1-n0");
	world_settle(w);
	wait_a_little(w);
	assert_ptr_equal(model_copy(m, "default", "set"), copy);
	assert_string_equal(world_record(w, TYPE_JOB_SET, "default", "set")->domains,
			    "[[{},{\"" RACK "\":\"r2\"},2,{\"" RACK "\":\"r3\"},2]]");
	model_recreate(m, copy, true);
	world_settle(w);
	size_t in_r2 = 0, in_r3 = 0;
	for (int i = 0; i < 4; i++) {
		in_r2 += is_on(m, "set", i, "c1-n2", "c1-n3");
		in_r3 += is_on(m, "set", i, "c1-n4", "c1-n5");
	}
	assert_int_equal(in_r2, 2);
	assert_int_equal(in_r3, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(a_required_rack_is_chosen_and_written_into_the_copy),
	    STORY(a_topology_object_gives_the_levels_above),
	    STORY(preferred_keeps_to_the_narrowest_domain_that_was_found),
	    STORY(a_gang_waits_for_room_in_one_rack_and_is_told_so),
	    STORY(what_was_chosen_is_remembered_by_a_restart),
	    STORY(each_of_several_slices_is_held_to_its_rack),
	    STORY(pods_of_a_preferred_rack_that_was_not_are_held_where_they_were_planned),
	    STORY(a_restart_lets_go_of_those_that_are_left),
	    STORY(a_member_that_refuses_to_let_go_is_told_of),
	    STORY(an_assignment_names_every_domain),
	    STORY(a_job_set_gets_other_domains_in_place),
	    STORY(slices_that_must_leave_a_rack_start_anew_elsewhere),
	    STORY(a_level_that_the_topology_lacks_holds_nobody_up),
	    STORY(a_leader_and_its_workers_share_a_rack),
	    STORY(slices_inside_slices_are_read_from_their_annotation),
	    STORY(a_queued_gang_gets_an_assignment_that_is_true),
	    STORY(quota_without_a_rack_is_a_placement_that_failed),
	    STORY(a_flavor_without_its_topology_makes_the_queue_inactive),
	    STORY(a_level_that_is_not_in_the_topology_is_no_flavor),
	    STORY(an_evicted_gang_may_get_another_rack),
	    STORY(the_nodes_that_a_queued_gang_lost_are_shown_until_they_are_replaced),
	    STORY(a_gang_that_loses_a_node_keeps_to_its_rack_or_moves_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
