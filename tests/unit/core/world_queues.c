/*
 * Kueue's objects in a few words, for stories (world.h).
 */
#include "world.h"

#include "base/json.h"
#include "core/kueue/kueue.h"
#include "core/kueue/workload.h"

#define V1BETA2 "'apiVersion':'kueue.x-k8s.io/v1beta2'"

void world_flavor(struct world *w, const char *name, const char *spec)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b, "{" V1BETA2 ",'kind':'ResourceFlavor','metadata':{'name':'%s'},'spec':{%s}}",
		 name, spec);
	assert_int_equal(world_create(w, TYPE_RESOURCE_FLAVOR, b.ptr), ERR_NONE);
}

void world_cluster_queue(struct world *w, const char *name, const char *flavors, int cpus,
			 const char *more)
{
	struct span rest = span_of(flavors);
	auto_buf b = BUF_INIT;

	buf_addf(
	    &b,
	    "{" V1BETA2 ",'kind':'ClusterQueue','metadata':{'name':'%s'},'spec':"
	    "{'namespaceSelector':{},'resourceGroups':[{'coveredResources':['cpu'],'flavors':[",
	    name);
	for (bool first = true; rest.len; first = false) {
		struct span flavor = span_split(&rest, ' ');
		buf_addf(&b, "%s{'name':'%.*s','resources':[{'name':'cpu','nominalQuota':%d}]}",
			 first ? "" : ",", SPAN_ARGS(flavor), cpus);
	}
	buf_addf(&b, "]}]%s}}", more);
	assert_int_equal(world_create(w, TYPE_CLUSTER_QUEUE, b.ptr), ERR_NONE);
}

void world_local_queue(struct world *w, const char *name, const char *behind)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b,
		 "{" V1BETA2 ",'kind':'LocalQueue','metadata':{'name':'%s','namespace':'default'},"
		 "'spec':{'clusterQueue':'%s'}}",
		 name, behind);
	assert_int_equal(world_create(w, TYPE_LOCAL_QUEUE, b.ptr), ERR_NONE);
}

void world_priority(struct world *w, const char *name, int value)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b,
		 "{" V1BETA2 ",'kind':'WorkloadPriorityClass','metadata':{'name':'%s'},'value':%d}",
		 name, value);
	assert_int_equal(world_create(w, TYPE_WORKLOAD_PRIORITY_CLASS, b.ptr), ERR_NONE);
}

void world_queued_job(struct world *w, const char *name, const char *queue, int pods, int cpus,
		      const char *labels)
{
	auto_buf more = BUF_INIT;

	buf_addf(&more, ",'labels':{'kueue.x-k8s.io/queue-name':'%s'%s}", queue, labels);
	assert_int_equal(world_job(w, "default", name, pods, cpus, more.ptr), ERR_NONE);
}

const char *world_workload(struct world *w, const char *job, const char *path)
{
	const struct job *j = world_record(w, TYPE_JOB, "default", job);
	char name[STORE_MAX_NAME + 1];

	if (!j || !j->workload)
		return "";
	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(j->workload->name));
	return world_field(w, TYPE_WORKLOAD, "default", name, path);
}

const char *world_condition(struct world *w, uint16_t type, const char *ns, const char *name,
			    const char *condition, const char *field)
{
	char path[64];

	for (int i = 0; i < 16; i++) {
		(void)snprintf(path, sizeof(path), "status.conditions.%d.type", i);
		if (strcmp(world_field(w, type, ns, name, path), condition) != 0)
			continue;
		(void)snprintf(path, sizeof(path), "status.conditions.%d.%s", i, field);
		return world_field(w, type, ns, name, path);
	}
	return "";
}

const char *world_workload_condition(struct world *w, const char *job, const char *condition,
				     const char *field)
{
	const struct job *j = world_record(w, TYPE_JOB, "default", job);
	char name[STORE_MAX_NAME + 1];

	if (!j || !j->workload)
		return "";
	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(j->workload->name));
	return world_condition(w, TYPE_WORKLOAD, "default", name, condition, field);
}
