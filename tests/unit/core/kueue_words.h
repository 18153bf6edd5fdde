#ifndef TESTS_CORE_KUEUE_WORDS_H
#define TESTS_CORE_KUEUE_WORDS_H
/*
 * What the stories about Kueue's queues share: flavors, queues of one flavor and jobs in a few
 * words, and what their Workloads say. What has a namespace is in the namespace default.
 */
#include "world.h"

#include "core/kueue/kueue.h"
#include "core/kueue/workload.h"

#define STORY(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

/* A field of a Job's Workload; "" when it has none. */
static inline const char *wl(struct world *w, const char *job, const char *path)
{
	return world_workload(w, job, path);
}

/* A field of a condition of a Workload; "" when there is none. */
static inline const char *condition(struct world *w, const char *ns, const char *name,
				    const char *type, const char *field)
{
	return world_condition(w, TYPE_WORKLOAD, ns, name, type, field);
}

/* The same of the Workload of a Job. */
static inline const char *of_job(struct world *w, const char *job, const char *type,
				 const char *field)
{
	return world_workload_condition(w, job, type, field);
}

/* `spec`: what is inside its braces. */
static inline void flavor(struct world *w, const char *name, const char *spec)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b,
		 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'ResourceFlavor','metadata':{'name'"
		 ":'%s'},'spec':{%s}}",
		 name, spec);
	assert_int_equal(world_create(w, TYPE_RESOURCE_FLAVOR, b.ptr), ERR_NONE);
}

/* One group, cpu alone, of one flavor; `more` goes on with its spec. */
static inline void cluster_queue(struct world *w, const char *name, const char *flavor_name,
				 int cpus, const char *more)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b,
		 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'ClusterQueue','metadata':{'name':"
		 "'%s'},'spec':{'namespaceSelector':{},'resourceGroups':[{'coveredResources':['cpu'"
		 "],'flavors':[{'name':'%s','resources':[{'name':'cpu','nominalQuota':%d}]}]}]%s}}",
		 name, flavor_name, cpus, more);
	assert_int_equal(world_create(w, TYPE_CLUSTER_QUEUE, b.ptr), ERR_NONE);
}

static inline void local_queue(struct world *w, const char *name, const char *behind)
{
	auto_buf b = BUF_INIT;

	buf_addf(
	    &b,
	    "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'LocalQueue','metadata':{'name':'%s'"
	    ",'namespace':'default'},'spec':{'clusterQueue':'%s'}}",
	    name, behind);
	assert_int_equal(world_create(w, TYPE_LOCAL_QUEUE, b.ptr), ERR_NONE);
}

static inline void queued_job(struct world *w, const char *name, const char *queue, int pods,
			      int cpus)
{
	char more[256];

	(void)snprintf(more, sizeof(more), ",'labels':{'kueue.x-k8s.io/queue-name':'%s'}", queue);
	assert_int_equal(world_job(w, "default", name, pods, cpus, more), ERR_NONE);
}

/* Thousandths of a cpu that are taken of a queue's flavor. */
static inline int64_t used(struct world *w, const char *queue, const char *flavor_name)
{
	struct kueue_forest *f = w->core->kueue->forest;

	return kueue_forest_usage(f, kueue_forest_queue(f, span_of(queue)),
				  kueue_forest_flavor(f, span_of(flavor_name)),
				  kueue_forest_find_resource(f, SPAN("cpu")));
}

#endif
