#ifndef TESTS_CORE_HOT_SWAP_WORDS_H
#define TESTS_CORE_HOT_SWAP_WORDS_H
/*
 * What the stories about hot-swap share: members of which every node has 4 cpus, jobs of which
 * every pod takes a whole node, two classes of priority, and what a job is told. All in the
 * namespace default.
 */
#include "world.h"

#include "core/job.h"
#include "core/swap/swap.h"

#define STORY(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

/* A member with `nodes` nodes called <name>-0 and so on, and the classes low (10) and high (1000).
 */
static inline struct model *member(struct world *w, const char *name, int nodes)
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
static inline void job_of(struct world *w, const char *name, int pods, const char *pod,
			  const char *more)
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

static inline void job_in(struct world *w, const char *name, int pods, const char *class_name,
			  const char *more)
{
	auto_buf pod = BUF_INIT;

	buf_addf(&pod, "'priorityClassName':'%s',", class_name);
	job_of(w, name, pods, pod.ptr, more);
}

static inline void job(struct world *w, const char *name, int pods, const char *class_name)
{
	job_in(w, name, pods, class_name, "");
}

static inline void later(struct world *w, int ms)
{
	world_advance(w, ms * USEC_PER_MS);
	world_settle(w);
}

static inline size_t bound(struct world *w, const struct model *m, const char *name)
{
	struct model_copy *c = model_copy(m, "default", name);
	(void)w;
	return c ? model_copy_bound(c) : 0;
}

/* The node of its first pod, borrowed; "" without one. */
static inline const char *node_of_pod(const struct model *m, const char *name)
{
	const struct model_copy *c = model_copy(m, "default", name);

	return c && c->pods.items[0]->node ? c->pods.items[0]->node : "";
}

/* The same, for the caller to free. */
static inline char *node_of(const struct model *m, const char *name)
{
	return xstrdup(model_copy(m, "default", name)->pods.items[0]->node);
}

static inline struct job *record(struct world *w, const char *name)
{
	return world_record(w, TYPE_JOB, "default", name);
}

static inline const char *status(struct world *w, const char *name)
{
	static char out[64];
	char path[128];
	(void)snprintf(path, sizeof(path), "namespaces/default/jobs/%s/why", name);
	const char *at = strstr(world_query(w, path), "\"status\":\"");
	(void)snprintf(out, sizeof(out), "%.*s", at ? (int)strcspn(at + 10, "\"") : 0,
		       at ? at + 10 : "");
	return out;
}

static inline bool why_says(struct world *w, const char *name, const char *words)
{
	char path[128];
	(void)snprintf(path, sizeof(path), "namespaces/default/jobs/%s/why", name);
	return strstr(world_query(w, path), words) != NULL;
}

/* ClusterQueue cq of one flavor, and LocalQueue lq before it; `more` is put into cq's spec. */
static inline void one_queue(struct world *w, int cpus, const char *more)
{
	world_flavor(w, "f", "");
	world_cluster_queue(w, "cq", "f", cpus, more);
	world_local_queue(w, "lq", "cq");
}

#define QUEUED ",'labels':{'kueue.x-k8s.io/queue-name':'lq'}"

#endif
