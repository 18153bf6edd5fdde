#ifndef TESTS_CORE_PROVISIONING_WORDS_H
#define TESTS_CORE_PROVISIONING_WORDS_H
/*
 * What the stories about ProvisioningRequests share: what a member says of one, and a user's
 * template, request and job, and a queue whose check asks for nodes, in a few words.
 */
#include "world.h"

#include "core/kueue/kueue.h"
#include "core/kueue/workload.h"
#include "core/provisioning/request.h"

/* How long a member that accepted may take while there are others. */
#define PATIENCE (600 * USEC_PER_SEC)
#define CONDITION(type, status, reason, message)                                                   \
	"{'type':'" type "','status':'" status "','reason':'" reason "','message':'" message       \
	"','lastTransitionTime':'2026-01-01T00:00:00Z'}"
#define CONDITIONS(...) "{'conditions':[" __VA_ARGS__ "]}"
/* The same, of one that knows its nodes by this mark. */
#define NODES_OF(mark, ...)                                                                        \
	"{'conditions':[" __VA_ARGS__ "],'provisioningClassDetails':{'ResizeRequestName':'" mark   \
	"'}}"
#define ACCEPTED    CONDITION("Accepted", "True", "Accepted", "queued")
#define PROVISIONED CONDITION("Provisioned", "True", "Provisioned", "All nodes are ready")
#define QUOTA                                                                                      \
	CONDITION("Provisioned", "False", "QuotaExceeded", "Quota \\\"P4\\\" exceeded. Limit: 1.0")
#define FAILED	CONDITION("Failed", "True", "NoMatchingNodePool", "No pool can hold these pods")
#define EXPIRED CONDITION("BookingExpired", "True", "Expired", "Nobody came")
#define REVOKED CONDITION("CapacityRevoked", "True", "MaxRunDurationExceeded", "too long")

static inline int setup(void **state)
{
	int r = world_setup(state);
	struct world *w = *state;

	w->core->settings.provision_patience = PATIENCE;
	return r;
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, setup, world_teardown)

/* ---- users' own ---- */

/* A PodTemplate in the namespace default. */
static inline void template(struct world *w, const char *name)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b,
		 "{'apiVersion':'v1','kind':'PodTemplate','metadata':{'name':'%s','namespace':"
		 "'default'},'template':{'spec':{'containers':[{'name':'c','image':'i'}]}}}",
		 name);
	assert_int_equal(world_create(w, TYPE_POD_TEMPLATE, b.ptr), ERR_NONE);
}

/* A request for two pods like those of the template "pod". */
static inline void request(struct world *w, const char *name)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b,
		 "{'apiVersion':'autoscaling.x-k8s.io/v1','kind':'ProvisioningRequest','metadata':"
		 "{'name':'%s','namespace':'default'},'spec':{'provisioningClassName':"
		 "'queued-provisioning.gke.io','podSets':[{'count':2,'podTemplateRef':{'name':"
		 "'pod'}}]}}",
		 name);
	assert_int_equal(world_create(w, TYPE_PROVISIONING_REQUEST, b.ptr), ERR_NONE);
}

/* Of a request, by a path as world_field() takes it. */
static inline const char *field(struct world *w, const char *name, const char *path)
{
	return world_field(w, TYPE_PROVISIONING_REQUEST, "default", name, path);
}

static inline void create(struct world *w, uint16_t type, const char *text)
{
	assert_int_equal(world_create(w, type, text), ERR_NONE);
}

/* ---- who takes the nodes ---- */

/* Of two pods of 3 cpus each, for the member's nodes of the pool "queued". */
static inline void big_template(struct world *w)
{
	create(w, TYPE_POD_TEMPLATE,
	       "{'apiVersion':'v1','kind':'PodTemplate','metadata':{'name':'pod','namespace':"
	       "'default'},'template':{'spec':{'nodeSelector':{'pool':'queued'},'containers':[{"
	       "'name':'c','image':'i','resources':{'requests':{'cpu':'3'}}}]}}}");
}

/* A job of two pods of 3 cpus that takes the nodes of this request. */
static inline void consumer(struct world *w, const char *name, const char *of)
{
	auto_buf b = BUF_INIT;

	buf_addf(
	    &b,
	    "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'%s','namespace':"
	    "'default'},'spec':{'parallelism':2,'completions':2,'template':{'metadata':{"
	    "'annotations':{'autoscaling.x-k8s.io/consume-provisioning-request':'%s'}},'spec':{"
	    "'restartPolicy':'Never','containers':[{'name':'c','image':'i','resources':{"
	    "'requests':{'cpu':'3'}}}]}}}}",
	    name, of);
	create(w, TYPE_JOB, b.ptr);
	world_settle(w);
}

/* A job of one pod that nothing keeps away from any node, whatever its taints. */
static inline void anybody(struct world *w, const char *name, int cpus)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b,
		 "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'%s','namespace':"
		 "'default'},'spec':{'template':{'spec':{'restartPolicy':'Never','tolerations':[{"
		 "'operator':'Exists'}],'containers':[{'name':'c','image':'i','resources':{"
		 "'requests':{'cpu':'%d'}}}]}}}}",
		 name, cpus);
	create(w, TYPE_JOB, b.ptr);
	world_settle(w);
}

static inline struct model_copy *sent(struct world *w, struct model *m, const char *name)
{
	world_settle(w);
	return model_copy(m, "default", name);
}

static inline void of_request(struct world *w, struct model *m, const char *name,
			      const char *status)
{
	model_set_status(m, model_copy(m, "default", name), status);
	world_settle(w);
}

/* ---- the admission check ---- */

/* Queue lq with 10 cpus of the flavor f, whose check asks for nodes; `config`: more of the check's
 * spec, or "". */
static inline void checked_queue_of(struct world *w, const char *flavor, const char *config)
{
	auto_buf b = BUF_INIT, f = BUF_INIT;

	buf_addf(&f,
		 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'ResourceFlavor','metadata':{'name'"
		 ":'f'},'spec':%s}",
		 flavor);
	create(w, TYPE_RESOURCE_FLAVOR, f.ptr);
	create(w, TYPE_ADMISSION_CHECK,
	       "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'AdmissionCheck','metadata':{'name':"
	       "'prov'},'spec':{'controllerName':'kueue.x-k8s.io/provisioning-request',"
	       "'parameters':{'apiGroup':'kueue.x-k8s.io','kind':'ProvisioningRequestConfig',"
	       "'name':'config'}}}");
	buf_addf(&b,
		 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'ProvisioningRequestConfig',"
		 "'metadata':{'name':'config'},'spec':{'provisioningClassName':"
		 "'queued-provisioning.gke.io'%s}}",
		 config);
	create(w, TYPE_PROVISIONING_REQUEST_CONFIG, b.ptr);
	create(w, TYPE_CLUSTER_QUEUE,
	       "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'ClusterQueue','metadata':{'name':"
	       "'cq'},'spec':{'namespaceSelector':{},'admissionChecksStrategy':{"
	       "'admissionChecks':[{'name':'prov'}]},'resourceGroups':[{'coveredResources':['cpu'"
	       "],'flavors':[{'name':'f','resources':[{'name':'cpu','nominalQuota':10}]}]}]}}");
	create(w, TYPE_LOCAL_QUEUE,
	       "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'LocalQueue','metadata':{'name':"
	       "'lq','namespace':'default'},'spec':{'clusterQueue':'cq'}}");
	world_settle(w);
}

static inline void checked_queue(struct world *w, const char *config)
{
	checked_queue_of(w, "{'nodeLabels':{'pool':'queued'}}", config);
}

/* Two pods of 3 cpus in queue lq, for at most 600 seconds. */
static inline void job(struct world *w, const char *name)
{
	assert_int_equal(world_job(w, "default", name, 2, 3,
				   ",'labels':{'kueue.x-k8s.io/queue-name':'lq'},'annotations':{"
				   "'provreq.kueue.x-k8s.io/maxRunDurationSeconds':'600'}"),
			 ERR_NONE);
	world_settle(w);
}

/* Of a job's workload. Static until the next call. */
static inline const char *workload_name(struct world *w, const char *name)
{
	static char text[STORE_MAX_NAME + 1];
	const struct job *j = world_record(w, TYPE_JOB, "default", name);

	assert_non_null(j);
	assert_non_null(j->workload);
	(void)snprintf(text, sizeof(text), "%.*s", SPAN_ARGS(j->workload->name));
	return text;
}

/* Of the first attempts of jobs called "j". */
static inline const char *request_name(struct world *w, int attempt)
{
	static char text[STORE_MAX_NAME + 32];

	(void)snprintf(text, sizeof(text), "%s-prov-%d", workload_name(w, "j"), attempt);
	return text;
}

/* Of what the workload of "j" says about its one check. */
static inline const char *check(struct world *w, const char *key)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "status.admissionChecks.0.%s", key);
	return world_field(w, TYPE_WORKLOAD, "default", workload_name(w, "j"), path);
}

/* Of the same workload's condition of this type; "" when there is none. */
static inline const char *condition(struct world *w, const char *type, const char *key)
{
	char path[64];

	for (int i = 0; i < 12; i++) {
		(void)snprintf(path, sizeof(path), "status.conditions.%d.type", i);
		if (strcmp(world_field(w, TYPE_WORKLOAD, "default", workload_name(w, "j"), path),
			   type) != 0)
			continue;
		(void)snprintf(path, sizeof(path), "status.conditions.%d.%s", i, key);
		return world_field(w, TYPE_WORKLOAD, "default", workload_name(w, "j"), path);
	}
	return "";
}

/* What this member was asked in this attempt, or NULL. */
static inline struct model_copy *asked(struct world *w, struct model *m, int attempt)
{
	return model_copy(m, "default", request_name(w, attempt));
}

/* The member says this about it. */
static inline void says(struct world *w, struct model *m, int attempt, const char *status)
{
	struct model_copy *c = asked(w, m, attempt);

	assert_non_null(c);
	model_set_status(m, c, status);
	world_settle(w);
}

#endif
