/*
 * What metadata.managedFields say of the statuses and objects that the hub writes
 * (managed_draft.h), alone and beside others that write the same.
 */
#include "kueue_words.h"

/* "manager" or "manager/subresource" of every entry, with "{..}" when it is spelled out:
 * "kubectl musterd/status{..} ". Good until the next call. */
static const char *owners(struct world *w, uint16_t type, const char *ns, const char *name)
{
	static char out[512];
	char path[64];
	size_t n = 0;

	out[0] = '\0';
	for (int i = 0; i < 10; i++) {
		(void)snprintf(path, sizeof(path), "metadata.managedFields.%d.manager", i);
		const char *manager = world_field(w, type, ns, name, path);
		if (!manager[0])
			break;
		(void)snprintf(path, sizeof(path), "metadata.managedFields.%d.subresource", i);
		const char *sub = world_field(w, type, ns, name, path);
		(void)snprintf(path, sizeof(path), "metadata.managedFields.%d.fieldsV1", i);
		const char *fields = world_field(w, type, ns, name, path);
		n += (size_t)snprintf(out + n, sizeof(out) - n, "%s%s%s%s ", manager,
				      sub[0] ? "/" : "", sub,
				      strcmp(fields, "{}") != 0 ? "{..}" : "");
	}
	return out;
}

static const char *fields_of(struct world *w, uint16_t type, const char *name, const char *manager)
{
	char path[64];

	for (int i = 0; i < 10; i++) {
		(void)snprintf(path, sizeof(path), "metadata.managedFields.%d.manager", i);
		if (strcmp(world_field(w, type, "default", name, path), manager) != 0)
			continue;
		(void)snprintf(path, sizeof(path), "metadata.managedFields.%d.fieldsV1", i);
		return world_field(w, type, "default", name, path);
	}
	return "";
}

#define ENTRY(manager, version)                                                                    \
	"{'manager':'" manager "','operation':'Update','apiVersion':'" version                     \
	"','time':'2023-11-14T22:13:20Z','fieldsType':'FieldsV1','fieldsV1':"
#define MADE_BY_KUBECTL ",'managedFields':[" ENTRY("kubectl", "batch/v1") "{}}]"

static void every_status_of_a_jobs_life_is_the_hubs(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);
	char first[CLOCK_TEXT_MAX];

	world_teams(w, 16, 12);
	world_run(w);
	assert_int_equal(world_job(w, "team-a", "one", 2, 2, MADE_BY_KUBECTL), ERR_NONE);
	world_settle(w);
	assert_string_equal(owners(w, TYPE_JOB, "team-a", "one"), "kubectl musterd/status ");
	assert_string_equal(owners(w, TYPE_RESOURCE_BINDING, "team-a", "one-job"),
			    "musterd musterd/status ");
	assert_string_equal(owners(w, TYPE_QUEUE_UNIT, "team-a", "one-job-rb-qu"),
			    "musterd musterd/status ");
	(void)snprintf(first, sizeof(first), "%s",
		       world_field(w, TYPE_JOB, "team-a", "one", "metadata.managedFields.1.time"));
	world_advance(w, 5 * USEC_PER_SEC);
	model_finish(m, model_copy(m, "team-a", "one"), true);
	world_settle(w);
	assert_string_equal(world_field(w, TYPE_JOB, "team-a", "one", "status.conditions.0.type"),
			    "Failed");
	assert_string_equal(owners(w, TYPE_JOB, "team-a", "one"), "kubectl musterd/status ");
	assert_true(strcmp(first, world_field(w, TYPE_JOB, "team-a", "one",
					      "metadata.managedFields.1.time")) < 0);
	assert_string_equal(
	    world_field(w, TYPE_JOB, "team-a", "one", "metadata.managedFields.0.time"),
	    "2023-11-14T22:13:20Z");
	assert_string_equal(
	    world_field(w, TYPE_JOB, "team-a", "one", "metadata.managedFields.1.apiVersion"),
	    "batch/v1");
}

/* Its owners were reset: as the apiserver, the hub starts no list by an update. */
static void a_job_without_owners_gets_none(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 8);
	world_teams(w, 16, 12);
	assert_int_equal(world_job(w, "team-a", "one", 2, 2, ""), ERR_NONE);
	world_settle(w);
	assert_string_equal(world_field(w, TYPE_JOB, "team-a", "one", "status.active"), "2");
	assert_string_equal(owners(w, TYPE_JOB, "team-a", "one"), "");
}

#define V2 "kueue.x-k8s.io/v1beta2"

static void own(struct world *w, const char *name, int cpus)
{
	auto_buf b = BUF_INIT;

	buf_addf(
	    &b,
	    "{'apiVersion':'" V2 "','kind':'Workload','metadata':{'name':'%s','namespace':"
	    "'default','managedFields':[" ENTRY(
		"creator",
		V2) "{}}]},'spec':{'active':true,"
		    "'queueName':'lq','priority':0,'podSets':[{'name':'main','count':1,'template':{"
		    "'spec':{'containers':[{'name':'c','resources':{'requests':{'cpu':%d}}}]}}}]}}",
	    name, cpus);
	assert_int_equal(world_create(w, TYPE_WORKLOAD, b.ptr), ERR_NONE);
}

static void queue(struct world *w)
{
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 6, "");
	local_queue(w, "lq", "cq");
}

/* What a client's write of one condition leaves (managed_update spelled the hub's entry out). */
#define TWO_WRITERS                                                                                     \
	"[" ENTRY("creator", V2) "{}}," ENTRY(                                                          \
	    "musterd",                                                                                  \
	    V2) "{'f:status':{'.':{},'f:conditions':{'.':{},'k:{\\'type\\':\\'QuotaReserved\\'}':{"     \
		"'.':{},'f:status':{},'f:type':{},'f:reason':{},'f:message':{},"                        \
		"'f:lastTransitionTime':{}}}}},'subresource':'status'}," ENTRY(                         \
		    "other",                                                                            \
		    V2) "{'f:status':{'f:conditions':{'k:{\\'type\\':\\'Seen\\'}':{'.':{},'f:type':{}," \
			"'f:status':{},'f:reason':{},'f:message':{},'f:lastTransitionTime':{}}}}},"     \
			"'subresource':'status'}]"

#define CONDITION(type, status)                                                                    \
	"{'type':'" type "','status':'" status "','reason':'R','message':'',"                      \
	"'lastTransitionTime':'2023-11-14T22:13:20Z'}"

static void a_condition_of_another_stays_the_others(void **state)
{
	struct world *w = *state;

	queue(w);
	own(w, "large", 6);
	own(w, "a", 3);
	world_settle(w);
	assert_string_equal(owners(w, TYPE_WORKLOAD, "default", "a"), "creator musterd/status ");
	assert_string_equal(condition(w, "default", "a", "QuotaReserved", "status"), "False");
	assert_int_equal(
	    world_patch(w, TYPE_WORKLOAD, "default", "a",
			"{'metadata':{'managedFields':" TWO_WRITERS
			"},'status':{'conditions':[" CONDITION(
			    "QuotaReserved", "False") "," CONDITION("Seen", "True") "]}}"),
	    ERR_NONE);
	world_settle(w);
	/* Room for it: the hub admits it, and takes nothing that is not its own. */
	world_advance(w, 5 * USEC_PER_SEC);
	assert_int_equal(world_delete(w, TYPE_WORKLOAD, "default", "large"), ERR_NONE);
	world_settle(w);
	assert_string_equal(condition(w, "default", "a", "Admitted", "status"), "True");
	assert_string_equal(condition(w, "default", "a", "Seen", "status"), "True");
	assert_string_equal(owners(w, TYPE_WORKLOAD, "default", "a"),
			    "creator other/status{..} musterd/status{..} ");
	assert_non_null(strstr(fields_of(w, TYPE_WORKLOAD, "a", "other"), "Seen"));
	const char *hubs = fields_of(w, TYPE_WORKLOAD, "a", "musterd");
	assert_null(strstr(hubs, "Seen"));
	assert_non_null(strstr(hubs, "Admitted"));
	assert_non_null(strstr(hubs, "f:clusterQueue"));
}

/* What a client's annotation leaves of the hub's entry for all but the status. */
#define SPEC_OF_HUB   ENTRY("musterd", V2) "{'f:spec':{'.':{},'f:priority':{}}}}"
#define STATUS_OF_HUB ENTRY("musterd", V2) "{},'subresource':'status'}"
#define AN_EDITOR                                                                                  \
	"[" SPEC_OF_HUB "," STATUS_OF_HUB                                                          \
	"," ENTRY("editor", V2) "{'f:metadata':{'f:annotations':{'.':{},'f:a':{}}}}}]"

static void a_jobs_workload_is_made_by_the_hub_and_keeps_its_editors_entry(void **state)
{
	struct world *w = *state;
	char name[STORE_MAX_NAME + 1];

	world_join(w, "c1", 1, 8);
	queue(w);
	own(w, "large", 6);
	world_priority(w, "high", 100);
	world_priority(w, "low", 1);
	assert_int_equal(world_job(w, "default", "one", 2, 1,
				   ",'labels':{'kueue.x-k8s.io/queue-name':'lq',"
				   "'kueue.x-k8s.io/priority-class':'low'}"),
			 ERR_NONE);
	world_settle(w);
	const struct job *j = world_record(w, TYPE_JOB, "default", "one");
	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(j->workload->name));
	assert_string_equal(owners(w, TYPE_WORKLOAD, "default", name), "musterd musterd/status ");
	assert_int_equal(
	    world_patch(w, TYPE_WORKLOAD, "default", name,
			"{'metadata':{'annotations':{'a':'b'},'managedFields':" AN_EDITOR "}}"),
	    ERR_NONE);
	world_settle(w);
	/* Written anew from its job, with another priority. */
	assert_int_equal(world_patch(w, TYPE_JOB, "default", "one",
				     "{'metadata':{'labels':{'kueue.x-k8s.io/priority-class':"
				     "'high'}}}"),
			 ERR_NONE);
	world_settle(w);
	assert_string_equal(world_field(w, TYPE_WORKLOAD, "default", name, "spec.priority"), "100");
	assert_non_null(strstr(owners(w, TYPE_WORKLOAD, "default", name), "editor{..} "));
	assert_non_null(strstr(owners(w, TYPE_WORKLOAD, "default", name), "musterd/status "));
	assert_non_null(strstr(fields_of(w, TYPE_WORKLOAD, name, "editor"), "f:a"));
	assert_non_null(strstr(fields_of(w, TYPE_WORKLOAD, name, "musterd"), "f:priority"));
}

static void statuses_of_queues_trees_and_clusters_are_the_hubs(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 8);
	assert_int_equal(world_create(w, TYPE_RESOURCE_FLAVOR,
				      "{'apiVersion':'" V2
				      "','kind':'ResourceFlavor','metadata':{'name':'f',"
				      "'managedFields':[" ENTRY("kubectl", V2) "{}}]},'spec':{}}"),
			 ERR_NONE);
	assert_int_equal(
	    world_create(
		w, TYPE_CLUSTER_QUEUE,
		"{'apiVersion':'" V2 "','kind':'ClusterQueue','metadata':{'name':'cq',"
		"'managedFields':[" ENTRY(
		    "kubectl",
		    V2) "{}}]},'spec':{'namespaceSelector':{},'resourceGroups':[{'coveredResources':["
			"'cpu'],'flavors':[{'name':'f','resources':[{'name':'cpu','nominalQuota':4}]}]"
			"}]}}"),
	    ERR_NONE);
	world_settle(w);
	world_advance(w, USEC_PER_SEC);
	assert_string_equal(owners(w, TYPE_CLUSTER_QUEUE, "", "cq"), "kubectl musterd/status ");
	assert_string_equal(owners(w, TYPE_RESOURCE_FLAVOR, "", "f"), "kubectl ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(every_status_of_a_jobs_life_is_the_hubs),
	    STORY(a_job_without_owners_gets_none),
	    STORY(a_condition_of_another_stays_the_others),
	    STORY(a_jobs_workload_is_made_by_the_hub_and_keeps_its_editors_entry),
	    STORY(statuses_of_queues_trees_and_clusters_are_the_hubs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
