#ifndef TESTS_CORE_TOPOLOGY_SITE_H
#define TESTS_CORE_TOPOLOGY_SITE_H
/*
 * What the stories of topology share: a member of racks in blocks, a Topology object, a queue whose
 * flavor has it, jobs that ask for levels, and where their pods are.
 */
#include "world.h"

#include "core/kueue/workload.h"

#define STORY(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
#define BLOCK	    "cloud.example.com/block"
#define RACK	    "cloud.example.com/rack"

/* Racks r1 and r2 have two nodes each, in block A; r3 in B has one. */
static inline struct model *site(struct world *w, const char *name, int cpus)
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

static inline enum err_kind job(struct world *w, const char *name, const char *queue, int pods,
				int cpus, const char *annotations)
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

static inline void topology(struct world *w)
{
	assert_int_equal(
	    world_create(w, TYPE_TOPOLOGY,
			 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'Topology','metadata':{"
			 "'name':'site'},'spec':{'levels':[{'nodeLabel':'" BLOCK
			 "'},{'nodeLabel':'" RACK "'}]}}"),
	    ERR_NONE);
}

static inline void queue(struct world *w)
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

static inline const char *wl(struct world *w, const char *name, const char *path)
{
	const struct job *j = world_record(w, TYPE_JOB, "default", name);
	char text[STORE_MAX_NAME + 1];

	if (!j || !j->workload)
		return "";
	(void)snprintf(text, sizeof(text), "%.*s", SPAN_ARGS(j->workload->name));
	return world_field(w, TYPE_WORKLOAD, "default", text, path);
}

static inline bool copy_has(const struct model *m, const char *name, const char *text)
{
	const struct model_copy *c = model_copy(m, "default", name);

	return c && strstr(c->body, text);
}

static inline const char *reason_of(struct world *w, const char *name)
{
	const struct job *j = world_record(w, TYPE_JOB, "default", name);
	return j && j->top_reason ? j->top_reason : "";
}

#define SLICES(size)                                                                               \
	"'kueue.x-k8s.io/podset-slice-required-topology':'" RACK "','kueue.x-k8s.io/podset-slice-" \
	"size':'" size "'"

static inline bool is_on(const struct model *m, const char *name, int64_t index, const char *a,
			 const char *b)
{
	const char *node = model_pod_node(model_copy(m, "default", name), index);

	return node && (strcmp(node, a) == 0 || strcmp(node, b) == 0);
}

/* Four pods that fill racks r1 and r2; left alone, the member's scheduler would begin elsewhere and
 * split them. */
static inline bool is_in_its_racks(const struct model *m, const char *name)
{
	return is_on(m, name, 0, "c1-n0", "c1-n1") && is_on(m, name, 1, "c1-n0", "c1-n1") &&
	       is_on(m, name, 2, "c1-n2", "c1-n3") && is_on(m, name, 3, "c1-n2", "c1-n3");
}

#endif
