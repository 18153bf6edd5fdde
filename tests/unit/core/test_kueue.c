/*
 * Kueue's queues in the fleet, step by step (DESIGN section 4; reference/kueue.md 2): what waits
 * for what, what is taken together, what the objects say, and what a restart remembers.
 */
#include "world.h"

#include "core/kueue/kueue.h"
#include "core/kueue/workload.h"
#include "kube/object.h"

#define STORY(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

static const char *wl(struct world *w, const char *job, const char *path)
{
	const struct job *j = world_record(w, TYPE_JOB, "default", job);
	static char name[STORE_MAX_NAME + 1];

	if (j && j->workload)
		(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(j->workload->name));
	return j && j->workload ? world_field(w, TYPE_WORKLOAD, "default", name, path) : "";
}

/* Status of a condition of a Workload: "True", "False" or "". */
static const char *condition(struct world *w, const char *ns, const char *name, const char *type,
			     const char *field)
{
	char path[64];

	for (int i = 0; i < 16; i++) {
		(void)snprintf(path, sizeof(path), "status.conditions.%d.type", i);
		if (strcmp(world_field(w, TYPE_WORKLOAD, ns, name, path), type) != 0)
			continue;
		(void)snprintf(path, sizeof(path), "status.conditions.%d.%s", i, field);
		return world_field(w, TYPE_WORKLOAD, ns, name, path);
	}
	return "";
}

static const char *of_job(struct world *w, const char *job, const char *type, const char *field)
{
	const struct job *j = world_record(w, TYPE_JOB, "default", job);
	char name[STORE_MAX_NAME + 1];

	if (!j || !j->workload)
		return "";
	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(j->workload->name));
	return condition(w, "default", name, type, field);
}

static void flavor(struct world *w, const char *name, const char *spec)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b,
		 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'ResourceFlavor','metadata':{'name'"
		 ":'%s'},'spec':{%s}}",
		 name, spec);
	assert_int_equal(world_create(w, TYPE_RESOURCE_FLAVOR, b.ptr), ERR_NONE);
}

/* One group, cpu alone; flavors: "'name':'a',...cpus". */
static void cluster_queue(struct world *w, const char *name, const char *flavor_name, int cpus,
			  const char *more)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b,
		 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'ClusterQueue','metadata':{'name':"
		 "'%s'},'spec':{'namespaceSelector':{},'resourceGroups':[{'coveredResources':['cpu'"
		 "],'flavors':[{'name':'%s','resources':[{'name':'cpu','nominalQuota':%d}]}]}]%s}}",
		 name, flavor_name, cpus, more);
	assert_int_equal(world_create(w, TYPE_CLUSTER_QUEUE, b.ptr), ERR_NONE);
}

static void local_queue(struct world *w, const char *name, const char *behind)
{
	auto_buf b = BUF_INIT;

	buf_addf(
	    &b,
	    "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'LocalQueue','metadata':{'name':'%s'"
	    ",'namespace':'default'},'spec':{'clusterQueue':'%s'}}",
	    name, behind);
	assert_int_equal(world_create(w, TYPE_LOCAL_QUEUE, b.ptr), ERR_NONE);
}

static void queued_job(struct world *w, const char *name, const char *queue, int pods, int cpus)
{
	char more[256];

	(void)snprintf(more, sizeof(more), ",'labels':{'kueue.x-k8s.io/queue-name':'%s'}", queue);
	assert_int_equal(world_job(w, "default", name, pods, cpus, more), ERR_NONE);
}

static int64_t used(struct world *w, const char *queue, const char *flavor_name)
{
	struct kueue_forest *f = w->core->kueue->forest;

	return kueue_forest_usage(f, kueue_forest_queue(f, span_of(queue)),
				  kueue_forest_flavor(f, span_of(flavor_name)),
				  kueue_forest_find_resource(f, SPAN("cpu")));
}

/* ---- one queue ---- */

static void a_queued_job_takes_quota_and_a_member_in_one_commit(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	flavor(w, "default-flavor", "");
	cluster_queue(w, "cq", "default-flavor", 10, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 2, 3);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "one"));
	assert_false(model_copy(m, "default", "one")->suspended);
	assert_int_equal(used(w, "cq", "default-flavor"), 6000);
	assert_string_equal(of_job(w, "one", "QuotaReserved", "status"), "True");
	assert_string_equal(of_job(w, "one", "Admitted", "status"), "True");
	assert_string_equal(wl(w, "one", "status.admission.clusterQueue"), "cq");
	assert_string_equal(wl(w, "one", "status.admission.podSetAssignments.0.flavors.cpu"),
			    "default-flavor");
	assert_string_equal(wl(w, "one", "status.admission.podSetAssignments.0.resourceUsage.cpu"),
			    "6");
	assert_string_equal(wl(w, "one", "spec.podSets.0.name"), "main");
	assert_string_equal(wl(w, "one", "spec.queueName"), "lq");
	assert_string_equal(wl(w, "one", "metadata.finalizers.0"),
			    "kueue.x-k8s.io/resource-in-use");
	assert_string_equal(wl(w, "one", "metadata.ownerReferences.0.kind"), "Job");
	assert_int_equal(
	    world_events(w, "one", "CreatedWorkload", "Created Workload: default/job-one-"), 1);
	assert_int_equal(world_events(w, "one", "Started", "Admitted by clusterQueue cq"), 1);
}

static void the_next_job_waits_for_quota_and_starts_when_the_first_has_ended(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 6, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 2, 3);
	queued_job(w, "two", "lq", 1, 3);
	world_settle(w);
	assert_null(model_copy(m, "default", "two"));
	assert_string_equal(of_job(w, "two", "QuotaReserved", "status"), "False");
	assert_string_equal(of_job(w, "two", "QuotaReserved", "reason"), "WaitingForQuota");
	assert_string_equal(world_step(w, "default", "two-job"), "Idle");
	model_finish(m, model_copy(m, "default", "one"), false);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "two"));
	assert_string_equal(of_job(w, "two", "Admitted", "status"), "True");
	assert_int_equal(used(w, "cq", "f"), 3000);
}

static void queues_count_who_waits_in_them(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 8)->run_time = 600 * USEC_PER_SEC;
	flavor(w, "default-flavor", "");
	cluster_queue(w, "cq", "default-flavor", 4, "");
	local_queue(w, "q", "cq");
	queued_job(w, "one", "q", 1, 4);
	world_settle(w);
	world_advance(w, USEC_PER_SEC);
	queued_job(w, "two", "q", 1, 4);
	world_settle(w);
	world_advance(w, USEC_PER_SEC);
	assert_string_equal(
	    world_field(w, TYPE_LOCAL_QUEUE, "default", "q", "status.pendingWorkloads"), "1");
	assert_string_equal(world_field(w, TYPE_CLUSTER_QUEUE, "", "cq", "status.pendingWorkloads"),
			    "1");
	assert_string_equal(
	    world_field(w, TYPE_CLUSTER_QUEUE, "", "cq", "status.admittedWorkloads"), "1");
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "two"), ERR_NONE);
	world_settle(w);
	world_advance(w, USEC_PER_SEC);
	assert_string_equal(world_field(w, TYPE_CLUSTER_QUEUE, "", "cq", "status.pendingWorkloads"),
			    "0");
}

static void pods_that_all_run_are_ready_and_not_timed_out(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);

	m->run_time = 24 * 3600 * USEC_PER_SEC;
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 6, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 2, 3);
	world_settle(w);
	assert_string_equal(of_job(w, "one", "PodsReady", "status"), "True");
	assert_string_equal(of_job(w, "one", "PodsReady", "reason"), "Started");
	world_restart(w);
	world_settle(w);
	world_advance(w, 31 * 60 * USEC_PER_SEC); /* past waitForPodsReady.timeout */
	world_settle(w);
	assert_string_equal(of_job(w, "one", "Admitted", "status"), "True");
	assert_non_null(model_copy(m, "default", "one"));
}

static void a_finished_jobs_workload_says_so_and_holds_nothing(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);
	char name[STORE_MAX_NAME + 1];

	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 6, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 1, 3);
	world_settle(w);
	const struct job *j = world_record(w, TYPE_JOB, "default", "one");
	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(j->workload->name));
	model_finish(m, model_copy(m, "default", "one"), false);
	world_settle(w);
	assert_string_equal(condition(w, "default", name, "Finished", "status"), "True");
	assert_string_equal(condition(w, "default", name, "Finished", "reason"), "Succeeded");
	assert_int_equal(used(w, "cq", "f"), 0);
	assert_int_equal(w->core->kueue->workloads.len, 0);
	world_restart(w);
	assert_int_equal(used(w, "cq", "f"), 0);
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "one"), ERR_NONE);
	world_settle(w);
	assert_int_equal(world_count(w, TYPE_WORKLOAD, "default"), 0);
}

static void a_queue_that_comes_later_takes_the_jobs_that_waited_for_it(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);

	queued_job(w, "one", "lq", 1, 3);
	world_settle(w);
	assert_string_equal(of_job(w, "one", "QuotaReserved", "reason"), "Misconfigured");
	assert_string_equal(of_job(w, "one", "QuotaReserved", "message"),
			    "LocalQueue lq doesn't exist");
	local_queue(w, "lq", "cq");
	world_settle(w);
	assert_null(model_copy(m, "default", "one"));
	cluster_queue(w, "cq", "f", 6, "");
	world_settle(w);
	assert_null(model_copy(m, "default", "one"));
	world_advance(w, USEC_PER_SEC);
	assert_string_equal(
	    world_field(w, TYPE_CLUSTER_QUEUE, "", "cq", "status.conditions.0.reason"),
	    "FlavorNotFound");
	flavor(w, "f", "");
	world_settle(w);
	assert_non_null(model_copy(m, "default", "one"));
	world_advance(w, USEC_PER_SEC);
	assert_string_equal(
	    world_field(w, TYPE_CLUSTER_QUEUE, "", "cq", "status.conditions.0.reason"), "Ready");
	assert_string_equal(
	    world_field(w, TYPE_CLUSTER_QUEUE, "", "cq", "status.admittedWorkloads"), "1");
	assert_string_equal(
	    world_field(w, TYPE_CLUSTER_QUEUE, "", "cq", "status.flavorsUsage.0.resources.0.total"),
	    "3");
	assert_string_equal(
	    world_field(w, TYPE_LOCAL_QUEUE, "default", "lq", "status.admittedWorkloads"), "1");
}

/* ---- placement ---- */

static void quota_without_a_member_is_not_taken(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 4);

	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 100, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "large", "lq", 1, 6);
	queued_job(w, "small", "lq", 1, 2);
	world_settle(w);
	assert_null(model_copy(m, "default", "large"));
	assert_non_null(model_copy(m, "default", "small"));
	assert_int_equal(used(w, "cq", "f"), 2000);
	assert_string_equal(of_job(w, "large", "QuotaReserved", "reason"),
			    "TopologyPlacementFailed");
	/* A node that is large enough wakes it. */
	model_add_node(m, "more", 8, 0);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "large"));
	assert_int_equal(used(w, "cq", "f"), 8000);
}

static void a_job_without_a_queue_is_not_counted(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);

	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 1, "");
	local_queue(w, "lq", "cq");
	assert_int_equal(world_job(w, "default", "free", 1, 4, ""), ERR_NONE);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "free"));
	assert_int_equal(world_count(w, TYPE_WORKLOAD, "default"), 0);
}

static void a_local_queue_named_default_takes_jobs_that_name_none(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 8);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 5, "");
	local_queue(w, "default", "cq");
	assert_int_equal(world_job(w, "default", "one", 1, 4, ""), ERR_NONE);
	world_settle(w);
	assert_int_equal(used(w, "cq", "f"), 4000);
	assert_string_equal(wl(w, "one", "spec.queueName"), "default");
}

/* Two flavors by node label; each member has nodes of one of them. Quota of the first is there, its
 * nodes are full: the job gets the second flavor, and its pods the second's label. */
static void a_flavor_that_no_member_can_serve_now_is_passed_over(void **state)
{
	struct world *w = *state;
	struct model *a = world_join(w, "c1", 1, 4), *b = world_join(w, "c2", 1, 8);

	model_label_nodes(a, "pool", "reserved");
	model_label_nodes(b, "pool", "spot");
	world_settle(w);
	flavor(w, "reserved", "'nodeLabels':{'pool':'reserved'}");
	flavor(w, "spot",
	       "'nodeLabels':{'pool':'spot'},'tolerations':[{'key':'spot','operator':"
	       "'Exists'}]");
	assert_int_equal(
	    world_create(
		w, TYPE_CLUSTER_QUEUE,
		"{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'ClusterQueue','metadata':{"
		"'name':'cq'},'spec':{'namespaceSelector':{},'resourceGroups':[{"
		"'coveredResources':['cpu'],'flavors':[{'name':'reserved','resources':[{"
		"'name':'cpu','nominalQuota':8}]},{'name':'spot','resources':[{'name':'cpu'"
		",'nominalQuota':8}]}]}]}}"),
	    ERR_NONE);
	local_queue(w, "lq", "cq");
	queued_job(w, "first", "lq", 1, 3);
	world_settle(w);
	assert_non_null(model_copy(a, "default", "first"));
	assert_int_equal(used(w, "cq", "reserved"), 3000);
	queued_job(w, "second", "lq", 1, 3);
	world_settle(w);
	assert_non_null(model_copy(b, "default", "second"));
	assert_string_equal(wl(w, "second", "status.admission.podSetAssignments.0.flavors.cpu"),
			    "spot");
	assert_int_equal(used(w, "cq", "reserved"), 3000);
	assert_int_equal(used(w, "cq", "spot"), 3000);
	/* What the copy's pods ask and carry. */
	const char *body = model_copy(b, "default", "second")->body;
	assert_non_null(strstr(body, "\"nodeSelector\":{\"pool\":\"spot\"}"));
	assert_non_null(strstr(body, "\"kueue.x-k8s.io/podset\":\"main\""));
	assert_non_null(strstr(body, "\"kueue.x-k8s.io/cluster-queue-name\":\"cq\""));
	assert_non_null(strstr(body, "\"kueue.x-k8s.io/local-queue-name\":\"lq\""));
	assert_non_null(
	    strstr(body, "\"tolerations\":[{\"key\":\"spot\",\"operator\":\"Exists\"}]"));
	world_restart(w);
	world_settle(w);
	assert_int_equal(used(w, "cq", "spot"), 3000);
	/* More of each: neither has nodes for it. */
	queued_job(w, "third", "lq", 1, 5);
	world_settle(w);
	model_finish(b, model_copy(b, "default", "second"), false);
	world_settle(w);
	assert_non_null(model_copy(b, "default", "third"));
}

static void who_waits_is_told_in_order(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 8);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 2, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 1, 2);
	queued_job(w, "two", "lq", 1, 2);
	queued_job(w, "three", "lq", 1, 1);
	world_settle(w);
	const char *all = world_query(w, "kueue/v1beta2/clusterqueues/cq/pendingworkloads");
	const char *two = strstr(all, "job-two-"), *three = strstr(all, "job-three-");
	assert_null(strstr(all, "job-one-"));
	assert_non_null(two);
	assert_true(two < three);
	assert_non_null(strstr(all, "\"positionInClusterQueue\":0,\"positionInLocalQueue\":0"));
	const char *second = world_query(
	    w, "kueue/v1beta1/namespaces/default/localqueues/lq/pendingworkloads?offset=1&limit=1");
	assert_null(strstr(second, "job-two-"));
	assert_non_null(strstr(second, "job-three-"));
	const char *why = world_query(w, "namespaces/default/jobs/three/why");
	assert_non_null(strstr(why, "\"position\":2,\"reason\":\"WaitingForQuota\""));
	const char *queues = world_query(w, "queues");
	assert_non_null(strstr(queues, "\"name\":\"cq\""));
	assert_non_null(strstr(queues, "\"pending\":2"));
}

/* ---- restart ---- */

static void a_restart_counts_what_workloads_hold_again(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 6, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 2, 3);
	queued_job(w, "two", "lq", 1, 3);
	world_settle(w);
	world_restart(w);
	assert_int_equal(used(w, "cq", "f"), 6000);
	world_settle(w);
	assert_null(model_copy(m, "default", "two"));
	model_finish(m, model_copy(m, "default", "one"), false);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "two"));
	assert_int_equal(used(w, "cq", "f"), 3000);
}

/* ---- taking back ---- */

static void priority_class(struct world *w, const char *name, int value)
{
	char text[256];

	(void)snprintf(text, sizeof(text),
		       "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'WorkloadPriorityClass',"
		       "'metadata':{'name':'%s'},'value':%d}",
		       name, value);
	assert_int_equal(world_create(w, TYPE_WORKLOAD_PRIORITY_CLASS, text), ERR_NONE);
}

static void classed_job(struct world *w, const char *name, const char *queue, const char *class,
			int cpus)
{
	char more[256];

	(void)snprintf(more, sizeof(more),
		       ",'labels':{'kueue.x-k8s.io/queue-name':'%s','kueue.x-k8s.io/priority-class'"
		       ":'%s'}",
		       queue, class);
	assert_int_equal(world_job(w, "default", name, 1, cpus, more), ERR_NONE);
}

static void a_prod_job_preempts_a_dev_job_which_keeps_its_place(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);

	priority_class(w, "prod", 1000);
	priority_class(w, "dev", 100);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 4, ",'preemption':{'withinClusterQueue':'LowerPriority'}");
	local_queue(w, "lq", "cq");
	classed_job(w, "dev1", "lq", "dev", 4);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "dev1"));
	assert_string_equal(wl(w, "dev1", "spec.priority"), "100");
	assert_string_equal(wl(w, "dev1", "spec.priorityClassRef.name"), "dev");
	classed_job(w, "dev2", "lq", "dev", 4);
	classed_job(w, "prod1", "lq", "prod", 4);
	/* Told at once; its quota is not free while its pods are there. */
	assert_int_equal(used(w, "cq", "f"), 4000);
	assert_string_equal(of_job(w, "dev1", "Evicted", "reason"), "Preempted");
	assert_string_equal(of_job(w, "dev1", "Preempted", "reason"), "InClusterQueue");
	assert_string_equal(of_job(w, "dev1", "QuotaReserved", "status"), "True");
	assert_string_equal(of_job(w, "prod1", "QuotaReserved", "status"), "False");
	world_settle(w);
	assert_true(model_copy(m, "default", "dev1")->suspended);
	assert_string_equal(world_step(w, "default", "dev1-job"), "Parked");
	assert_non_null(model_copy(m, "default", "prod1"));
	assert_int_equal(used(w, "cq", "f"), 4000);
	assert_string_equal(of_job(w, "dev1", "QuotaReserved", "status"), "False");
	assert_string_equal(of_job(w, "dev1", "Requeued", "reason"), "Preempted");
	assert_string_equal(wl(w, "dev1", "status.admission.clusterQueue"), "");
	assert_int_equal(world_events(w, "dev1", "Stopped", "Preempted to accommodate a workload"),
			 1);
	/* dev1 was there before dev2. */
	model_finish(m, model_copy(m, "default", "prod1"), false);
	world_settle(w);
	assert_false(model_copy(m, "default", "dev1")->suspended);
	assert_int_equal(model_copy(m, "default", "dev1")->epoch, 3);
	assert_int_equal(m->deletes, 0);
	assert_null(model_copy(m, "default", "dev2"));
	assert_string_equal(of_job(w, "dev1", "Evicted", "status"), "False");
}

static void a_preemption_survives_a_restart_at_any_moment(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);

	priority_class(w, "prod", 1000);
	priority_class(w, "dev", 100);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 4, ",'preemption':{'withinClusterQueue':'LowerPriority'}");
	local_queue(w, "lq", "cq");
	classed_job(w, "dev1", "lq", "dev", 4);
	world_settle(w);
	classed_job(w, "prod1", "lq", "prod", 4);
	world_restart(w);
	assert_int_equal(used(w, "cq", "f"), 4000);
	world_settle(w);
	world_restart(w);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "prod1"));
	assert_true(model_copy(m, "default", "dev1")->suspended);
	assert_int_equal(used(w, "cq", "f"), 4000);
}

static void a_borrower_gives_back_to_the_queue_that_lent(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 16);

	m->run_time = 600 * USEC_PER_SEC;
	flavor(w, "f", "");
	cluster_queue(w, "a", "f", 4, ",'cohortName':'all'");
	cluster_queue(w, "b", "f", 4,
		      ",'cohortName':'all','preemption':{'reclaimWithinCohort':'Any'}");
	local_queue(w, "qa", "a");
	local_queue(w, "qb", "b");
	queued_job(w, "a1", "qa", 1, 4);
	world_settle(w);
	world_advance(w, USEC_PER_SEC);
	queued_job(w, "a2", "qa", 1, 4);
	world_settle(w);
	assert_int_equal(used(w, "a", "f"), 8000);
	queued_job(w, "b1", "qb", 1, 4);
	world_settle(w);
	assert_int_equal(used(w, "a", "f"), 4000);
	assert_int_equal(used(w, "b", "f"), 4000);
	assert_non_null(model_copy(m, "default", "b1"));
	/* The newer of equals gives way. */
	assert_string_equal(of_job(w, "a2", "Preempted", "reason"), "InCohortReclamation");
	assert_string_equal(of_job(w, "a1", "Evicted", "status"), "");
}

/* Quota would be free with dev gone, nodes never: 12 cpus on a node of 8. */
static void nobody_is_evicted_for_a_gang_that_could_not_start(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);

	priority_class(w, "prod", 1000);
	priority_class(w, "dev", 100);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 12, ",'preemption':{'withinClusterQueue':'LowerPriority'}");
	local_queue(w, "lq", "cq");
	classed_job(w, "dev1", "lq", "dev", 4);
	world_settle(w);
	classed_job(w, "prod1", "lq", "prod", 12);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "dev1"));
	assert_string_equal(of_job(w, "dev1", "Evicted", "status"), "");
	assert_string_equal(of_job(w, "prod1", "QuotaReserved", "reason"),
			    "TopologyPlacementFailed");
	/* With a node that would do, dev gives way: quota is for one of them. */
	model_add_node(m, "large", 12, 0);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "prod1"));
	assert_true(model_copy(m, "default", "dev1")->suspended);
}

/* 4 cpus more: two dev jobs on c1, or one on c2. */
static void the_member_with_the_fewest_victims_is_taken(void **state)
{
	struct world *w = *state;
	struct model *a = world_join(w, "c1", 1, 4), *b = world_join(w, "c2", 1, 5);

	priority_class(w, "prod", 1000);
	priority_class(w, "dev", 100);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 8, ",'preemption':{'withinClusterQueue':'LowerPriority'}");
	local_queue(w, "lq", "cq");
	classed_job(w, "small1", "lq", "dev", 2);
	classed_job(w, "small2", "lq", "dev", 2);
	world_settle(w);
	classed_job(w, "large", "lq", "dev", 4);
	world_settle(w);
	assert_non_null(model_copy(a, "default", "small1"));
	assert_non_null(model_copy(a, "default", "small2"));
	assert_non_null(model_copy(b, "default", "large"));
	classed_job(w, "prod", "lq", "prod", 4);
	world_settle(w);
	assert_non_null(model_copy(b, "default", "prod"));
	assert_non_null(model_copy(a, "default", "small1"));
	assert_non_null(model_copy(a, "default", "small2"));
	assert_true(model_copy(b, "default", "large")->suspended);
}

static void a_workload_that_its_user_deactivates_stops_and_comes_back_when_told(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);
	char name[STORE_MAX_NAME + 1];

	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 4, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 1, 4);
	world_settle(w);
	const struct job *j = world_record(w, TYPE_JOB, "default", "one");
	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(j->workload->name));
	assert_int_equal(
	    world_patch(w, TYPE_WORKLOAD, "default", name, "{'spec':{'active':false}}"), ERR_NONE);
	world_settle(w);
	assert_true(model_copy(m, "default", "one")->suspended);
	assert_int_equal(used(w, "cq", "f"), 0);
	assert_string_equal(of_job(w, "one", "Evicted", "reason"), "Deactivated");
	world_restart(w);
	world_settle(w);
	assert_true(model_copy(m, "default", "one")->suspended);
	assert_int_equal(world_patch(w, TYPE_WORKLOAD, "default", name, "{'spec':{'active':true}}"),
			 ERR_NONE);
	world_settle(w);
	assert_false(model_copy(m, "default", "one")->suspended);
}

static void hold_lets_run_what_runs_and_drain_takes_it_back(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 16);

	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 8, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 1, 2);
	world_settle(w);
	assert_int_equal(
	    world_patch(w, TYPE_CLUSTER_QUEUE, "", "cq", "{'spec':{'stopPolicy':'Hold'}}"),
	    ERR_NONE);
	queued_job(w, "two", "lq", 1, 2);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "one"));
	assert_null(model_copy(m, "default", "two"));
	assert_string_equal(of_job(w, "two", "QuotaReserved", "reason"), "OnHold");
	assert_int_equal(
	    world_patch(w, TYPE_CLUSTER_QUEUE, "", "cq", "{'spec':{'stopPolicy':'HoldAndDrain'}}"),
	    ERR_NONE);
	world_settle(w);
	assert_true(model_copy(m, "default", "one")->suspended);
	assert_int_equal(used(w, "cq", "f"), 0);
	assert_string_equal(of_job(w, "one", "Requeued", "status"), "False");
	assert_int_equal(
	    world_patch(w, TYPE_CLUSTER_QUEUE, "", "cq", "{'spec':{'stopPolicy':'None'}}"),
	    ERR_NONE);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "one"));
	assert_non_null(model_copy(m, "default", "two"));
	assert_string_equal(of_job(w, "one", "Requeued", "reason"), "ClusterQueueRestarted");
}

static void a_job_over_its_execution_time_is_deactivated(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);

	m->run_time = 600 * USEC_PER_SEC;
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 4, "");
	local_queue(w, "lq", "cq");
	assert_int_equal(world_job(w, "default", "one", 1, 2,
				   ",'labels':{'kueue.x-k8s.io/queue-name':'lq',"
				   "'kueue.x-k8s.io/max-exec-time-seconds':'60'}"),
			 ERR_NONE);
	world_settle(w);
	world_advance(w, 59 * USEC_PER_SEC);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "one"));
	world_advance(w, 2 * USEC_PER_SEC);
	world_settle(w);
	assert_true(model_copy(m, "default", "one")->suspended);
	assert_int_equal(used(w, "cq", "f"), 0);
	assert_string_equal(of_job(w, "one", "Evicted", "reason"),
			    "DeactivatedDueToMaximumExecutionTimeExceeded");
	assert_string_equal(wl(w, "one", "spec.active"), "false");
}

static void a_deleted_job_frees_its_quota_with_its_copy(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 8);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 4, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 1, 4);
	queued_job(w, "two", "lq", 1, 4);
	world_settle(w);
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "one"), ERR_NONE);
	assert_int_equal(used(w, "cq", "f"), 4000);
	world_settle(w);
	assert_int_equal(world_count(w, TYPE_WORKLOAD, "default"), 1);
	assert_string_equal(of_job(w, "two", "Admitted", "status"), "True");
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "two"), ERR_NONE);
	world_settle(w);
	assert_int_equal(used(w, "cq", "f"), 0);
	assert_int_equal(world_count(w, TYPE_WORKLOAD, "default"), 0);
	assert_int_equal(w->core->kueue->workloads.len, 0);
}

/* ---- Workloads of their own ---- */

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
	    STORY(a_queued_job_takes_quota_and_a_member_in_one_commit),
	    STORY(the_next_job_waits_for_quota_and_starts_when_the_first_has_ended),
	    STORY(queues_count_who_waits_in_them),
	    STORY(pods_that_all_run_are_ready_and_not_timed_out),
	    STORY(a_finished_jobs_workload_says_so_and_holds_nothing),
	    STORY(a_queue_that_comes_later_takes_the_jobs_that_waited_for_it),
	    STORY(quota_without_a_member_is_not_taken),
	    STORY(a_job_without_a_queue_is_not_counted),
	    STORY(a_local_queue_named_default_takes_jobs_that_name_none),
	    STORY(a_flavor_that_no_member_can_serve_now_is_passed_over),
	    STORY(who_waits_is_told_in_order),
	    STORY(a_restart_counts_what_workloads_hold_again),
	    STORY(a_prod_job_preempts_a_dev_job_which_keeps_its_place),
	    STORY(a_preemption_survives_a_restart_at_any_moment),
	    STORY(a_borrower_gives_back_to_the_queue_that_lent),
	    STORY(nobody_is_evicted_for_a_gang_that_could_not_start),
	    STORY(the_member_with_the_fewest_victims_is_taken),
	    STORY(a_workload_that_its_user_deactivates_stops_and_comes_back_when_told),
	    STORY(hold_lets_run_what_runs_and_drain_takes_it_back),
	    STORY(a_job_over_its_execution_time_is_deactivated),
	    STORY(a_deleted_job_frees_its_quota_with_its_copy),
	    STORY(nobody_but_the_hub_writes_an_admission),
	    STORY(events_of_many_admissions_at_once_are_all_told),
	    STORY(a_workload_without_a_job_takes_quota_alone_and_ends_by_its_creator),
	    STORY(a_creator_may_give_a_reservation_back),
	    STORY(nobody_takes_what_a_job_holds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
