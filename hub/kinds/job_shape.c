#include "kinds/job_shape.h"

#include "base/json.h"
#include "base/num.h"
#include "kinds/job_keys.h"
#include "kinds/refuse.h"
#include "kinds/types.h"

#include <stdarg.h>

static const char *text(struct arena *mem, const char *fmt, ...) PRINTF_LIKE(2, 3);
static const char *text(struct arena *mem, const char *fmt, ...)
{
	char one[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(one, sizeof(one), fmt, ap);
	va_end(ap);
	return arena_strndup(mem, one, strlen(one));
}

static int64_t number(const struct cJSON *object, const char *key, int64_t otherwise)
{
	int64_t v;
	return json_int64(object, key, &v) == 0 && v >= 0 ? v : otherwise;
}

static struct job_template *push(struct job_templates *t)
{
	t->items[t->n] = (struct job_template){.groups = 1};
	return &t->items[t->n++];
}

static const char *annotation(const struct cJSON *object, const char *key)
{
	const char *v = json_value_str(json_path(object, "metadata", "annotations", key, NULL));
	return v && v[0] ? v : NULL;
}

/* ---- batch/v1 ---- */

/* Pods of a Job at a time: no more than completions are ever needed. */
static int64_t job_pods(const struct cJSON *spec)
{
	int64_t parallelism = number(spec, "parallelism", 1);
	return num_min(parallelism, number(spec, "completions", parallelism));
}

static void job_templates_of_job(const struct cJSON *job, struct arena *mem,
				 struct job_templates *ret)
{
	const struct cJSON *spec = json_get(job, "spec");

	ret->items = arena_array(mem, struct job_template, 1);
	struct job_template *t = push(ret);
	t->set = "main";
	t->path = "spec.template";
	t->node = json_get(spec, "template");
	t->count = job_pods(spec);
	const char *min = annotation(job, JOB_KEY_MIN_PARALLELISM);
	uint64_t enough;
	if (min && num_parse_u64(span_of(min), INT32_MAX, &enough) == 0 &&
	    (int64_t)enough < t->count)
		t->min_count = (int64_t)enough;
}

/* ---- jobset.x-k8s.io ---- */

static bool has_annotation(const struct cJSON *object, const char *key)
{
	return json_path(object, "metadata", "annotations", key, NULL) != NULL;
}

static void job_templates_of_job_set(const struct cJSON *job, struct arena *mem,
				     struct job_templates *ret)
{
	const struct cJSON *list = json_path(job, "spec", "replicatedJobs", NULL);
	const char *all = annotation(job, JOB_KEY_EXCLUSIVE_TOPOLOGY);
	size_t i = 0;

	ret->items = arena_array(mem, struct job_template, json_len(list));
	json_foreach (list, r) {
		const struct cJSON *job_template = json_get(r, "template");
		const struct cJSON *spec = json_get(job_template, "spec");
		struct job_template *t = push(ret);
		const char *own = annotation(job_template, JOB_KEY_EXCLUSIVE_TOPOLOGY);
		t->set = json_str(r, "name");
		t->path = text(mem, "spec.replicatedJobs[%zu].template.spec.template", i++);
		t->node = json_get(spec, "template");
		t->groups = number(r, "replicas", 1);
		t->count = num_mul_sat(t->groups, job_pods(spec));
		t->topology = own ? own : all;
		if (t->topology && (has_annotation(job, JOB_KEY_NODE_SELECTOR) ||
				    has_annotation(job_template, JOB_KEY_NODE_SELECTOR))) {
			const struct cJSON *meta = json_get(job, "metadata");
			const char *ns = json_str(meta, "namespace"),
				   *name = json_str(meta, "name");
			t->topology = JOB_KEY_NAMESPACED_JOB;
			t->labelled = text(mem, "%s_%s-%s-", ns ? ns : "", name ? name : "",
					   t->set ? t->set : "");
		}
		if (!t->topology || t->groups == 0)
			t->groups = 1;
	}
}

/* ---- kubeflow.org ---- */

static bool among(const char *const *names, const char *name)
{
	for (; *names; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

void job_shape_each_role(const struct cJSON *replica_specs, const char *const *order,
			 void (*each)(void *arg, const char *role, struct cJSON *spec), void *arg)
{
	for (const char *const *role = order; *role; role++) {
		struct cJSON *spec = json_get(replica_specs, *role);
		if (spec)
			each(arg, *role, spec);
	}
	json_foreach (replica_specs, spec)
		if (json_key(spec) && !among(order, json_key(spec)))
			each(arg, json_key(spec), spec);
}

struct roles {
	struct arena *mem;
	const char *specs; /* member of spec that holds the roles */
	struct job_templates *ret;
};

static void push_role(void *arg, const char *role, struct cJSON *spec)
{
	struct roles *r = arg;
	struct job_template *t = push(r->ret);
	char *set = arena_strndup(r->mem, role, strlen(role));

	for (char *p = set; *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p - 'A' + 'a');
	t->set = set;
	t->path = text(r->mem, "spec.%s[%.200s].template", r->specs, role);
	t->node = json_get(spec, "template");
	t->count = number(spec, "replicas", 1);
}

static void kubeflow_templates(const struct cJSON *job, const char *specs, const char *const *order,
			       struct arena *mem, struct job_templates *ret)
{
	const struct cJSON *map = json_path(job, "spec", specs, NULL);
	struct roles r = {mem, specs, ret};

	ret->items = arena_array(mem, struct job_template, json_len(map));
	job_shape_each_role(map, order, push_role, &r);
}

static void job_templates_of_pytorch(const struct cJSON *job, struct arena *mem,
				     struct job_templates *ret)
{
	static const char *const order[] = {"Master", "Worker", NULL};
	kubeflow_templates(job, "pytorchReplicaSpecs", order, mem, ret);
}

static void job_templates_of_tf(const struct cJSON *job, struct arena *mem,
				struct job_templates *ret)
{
	static const char *const order[] = {"Chief", "Master", "PS", "Worker", "Evaluator", NULL};
	kubeflow_templates(job, "tfReplicaSpecs", order, mem, ret);
}

static void job_templates_of_mpi(const struct cJSON *job, struct arena *mem,
				 struct job_templates *ret)
{
	static const char *const order[] = {"Launcher", "Worker", NULL};
	kubeflow_templates(job, "mpiReplicaSpecs", order, mem, ret);
}

static void job_templates_of_xgboost(const struct cJSON *job, struct arena *mem,
				     struct job_templates *ret)
{
	static const char *const order[] = {"Master", "Worker", NULL};
	kubeflow_templates(job, "xgbReplicaSpecs", order, mem, ret);
}

static void job_templates_of_paddle(const struct cJSON *job, struct arena *mem,
				    struct job_templates *ret)
{
	static const char *const order[] = {"Master", "Worker", NULL};
	kubeflow_templates(job, "paddleReplicaSpecs", order, mem, ret);
}

static void job_templates_of_jax(const struct cJSON *job, struct arena *mem,
				 struct job_templates *ret)
{
	static const char *const order[] = {"Worker", NULL};
	kubeflow_templates(job, "jaxReplicaSpecs", order, mem, ret);
}

/* ---- ray.io ---- */

/* root: where the cluster's spec stands in the object */
static void push_group(const struct cJSON *group, const char *root, size_t i, struct arena *mem,
		       struct job_templates *ret)
{
	struct job_template *t = push(ret);

	t->set = json_str(group, "groupName");
	t->path = text(mem, "%s.workerGroupSpecs[%zu].template", root, i);
	t->node = json_get(group, "template");
	if (!json_bool(group, "suspend", false))
		t->count =
		    num_mul_sat(number(group, "replicas", 0), number(group, "numOfHosts", 1));
}

/* As KubeRay decides (ray-operator/controllers/ray/utils/util.go, IsGCSFaultToleranceEnabled): by
 * the options, or by the older annotation of the job. */
static bool has_fault_tolerant_gcs(const struct cJSON *job, const struct cJSON *cluster)
{
	const char *older =
	    json_str(json_path(job, "metadata", "annotations", NULL), "ray.io/ft-enabled");
	char text[8];
	size_t n = 0;

	for (; older && older[n] && n + 1 < sizeof(text); n++)
		text[n] =
		    (char)(older[n] >= 'A' && older[n] <= 'Z' ? older[n] + 'a' - 'A' : older[n]);
	text[n] = '\0';
	return json_get(cluster, "gcsFaultToleranceOptions") || strcmp(text, "true") == 0;
}

/* Head and groups; room for one template more. */
static void push_cluster(const struct cJSON *job, const struct cJSON *cluster, const char *root,
			 struct arena *mem, struct job_templates *ret)
{
	const struct cJSON *head = json_get(cluster, "headGroupSpec");
	const struct cJSON *groups = json_get(cluster, "workerGroupSpecs");
	size_t i = 0;

	ret->items = arena_array(mem, struct job_template, json_len(groups) + 2);
	if (head) {
		struct job_template *t = push(ret);
		t->set = "ray-head";
		t->path = text(mem, "%s.headGroupSpec.template", root);
		t->node = json_get(head, "template");
		t->count = 1;
		t->autoscaler = json_bool(cluster, "enableInTreeAutoscaling", false);
		t->autoscaler_options = json_get(cluster, "autoscalerOptions");
		t->redis_cleanup = has_fault_tolerant_gcs(job, cluster);
	}
	json_foreach (groups, g)
		push_group(g, root, i++, mem, ret);
}

static void job_templates_of_ray_cluster(const struct cJSON *job, struct arena *mem,
					 struct job_templates *ret)
{
	push_cluster(job, json_get(job, "spec"), "spec", mem, ret);
}

/* The submitter starts when the cluster is up and is not part of the gang, but needs room, and its
 * dependencies travel. It has a pod of its own in K8sJobMode alone, where its template is read; in
 * SidecarMode it is a container of the head's pod. */
static void job_templates_of_ray(const struct cJSON *job, struct arena *mem,
				 struct job_templates *ret)
{
	const struct cJSON *spec = json_get(job, "spec");

	push_cluster(job, json_get(spec, "rayClusterSpec"), "spec.rayClusterSpec", mem, ret);
	const char *mode = json_str(spec, "submissionMode");
	if (ret->n && mode && strcmp(mode, "SidecarMode") == 0)
		ret->items[0].submitter_beside = true;
	if (!mode || strcmp(mode, "K8sJobMode") == 0) {
		struct job_template *t = push(ret);
		t->set = "submitter";
		t->path = "spec.submitterPodTemplate";
		t->node = json_get(spec, "submitterPodTemplate");
		t->count = 1;
		t->uncounted = true;
	}
}

static const struct job_shape shapes[] = {
    {TYPE_JOB, NULL, true, job_templates_of_job},
    {TYPE_PYTORCH_JOB, "runPolicy", true, job_templates_of_pytorch},
    {TYPE_TF_JOB, "runPolicy", true, job_templates_of_tf},
    {TYPE_MPI_JOB, "runPolicy", true, job_templates_of_mpi},
    {TYPE_JOB_SET, NULL, true, job_templates_of_job_set},
    {TYPE_RAY_JOB, NULL, false, job_templates_of_ray},
    {TYPE_RAY_CLUSTER, NULL, false, job_templates_of_ray_cluster},
    {TYPE_XGBOOST_JOB, "runPolicy", true, job_templates_of_xgboost},
    {TYPE_PADDLE_JOB, "runPolicy", true, job_templates_of_paddle},
    {TYPE_JAX_JOB, "runPolicy", true, job_templates_of_jax},
};

const struct job_shape *job_shape_of(uint16_t type)
{
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
		if (shapes[i].type == type)
			return &shapes[i];
	return NULL;
}

struct cJSON *job_shape_policy(const struct job_shape *s, const struct cJSON *job)
{
	struct cJSON *spec = json_get(job, "spec");
	return s->policy ? json_get(spec, s->policy) : spec;
}

static bool names_queue(const struct cJSON *job)
{
	const struct cJSON *meta = json_get(job, "metadata");

	return json_str(json_get(meta, "labels"), JOB_KEY_QUEUE) ||
	       json_str(json_get(meta, "annotations"), JOB_KEY_QUEUE);
}

void job_shape_keep_suspend(const struct kind *k, struct cJSON *job, const struct kind_write *w)
{
	const struct job_shape *s = job_shape_of(k->type);

	if (!s || !w->old || w->subresource[0] || !names_queue(job) || !names_queue(w->old))
		return;
	struct cJSON *policy = job_shape_policy(s, job);
	bool was = json_bool(job_shape_policy(s, w->old), "suspend", false);
	if (!policy || json_bool(policy, "suspend", false) == was)
		return;
	json_set_bool(policy, "suspend", was);
	refuse_warn(w->warnings,
		    "spec%s%s.suspend: it belongs to the job's queue and stays as it was; "
		    "spec.active of its Workload stops the job",
		    s->policy ? "." : "", s->policy ? s->policy : "");
}
