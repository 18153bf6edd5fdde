/*
 * What crosses the border between the hub and a member: the copy of a job on its way out, and
 * its status on the way back.
 */
#include "base/json.h"
#include "kinds/job_digest.h"
#include "kinds/job_keys.h"
#include "kinds/job_shape.h"
#include "kinds/types.h"

#include <errno.h>

/* What a copy has of the hub's metadata; everything else belongs to the hub's object alone. */
static struct cJSON *copy_metadata(struct cJSON *job)
{
	static const char *const kept[] = {"name", "namespace", "labels", "annotations"};
	struct cJSON *from = json_get(job, "metadata"), *to = json_object();

	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		struct cJSON *value = json_take(from, kept[i]);
		if (value)
			json_add(to, kept[i], value);
	}
	return to;
}

static void mark_object(struct cJSON *meta, const struct job_copy_options *o, const char *hash)
{
	char epoch[24];
	struct cJSON *labels = json_ensure_object(meta, "labels");
	struct cJSON *annotations = json_ensure_object(meta, "annotations");

	/* The hub has queued the job: a queue on the member would hold it a second time, and a
	 * webhook there would look at the least parallelism beside the one that was admitted. */
	json_remove(labels, JOB_KEY_QUEUE);
	json_remove(annotations, JOB_KEY_QUEUE);
	json_remove(annotations, JOB_KEY_MIN_PARALLELISM);
	json_remove(annotations, JOB_KEY_LAST_APPLIED);
	json_set_str(labels, COPY_LABEL_HUB_UID, o->hub_uid);
	json_set_str(annotations, COPY_ANNOTATION_JOB_UID, o->job_uid);
	(void)snprintf(epoch, sizeof(epoch), "%llu", (unsigned long long)o->epoch);
	json_set_str(annotations, COPY_ANNOTATION_EPOCH, epoch);
	json_set_str(annotations, COPY_ANNOTATION_SPEC_HASH, hash);
}

/* ---- what a queue adds ---- */

static int add_pairs(struct cJSON *to, const struct cJSON *pairs, const char *path,
		     const char *what, struct err *reterr)
{
	json_foreach (pairs, p) {
		const struct cJSON *was = json_get(to, json_key(p));
		if (was && !json_equal(was, p))
			return err_set_field(reterr, ERR_INVALID, path,
					     "%s %s is set to another value by the job", what,
					     json_key(p));
		if (!was)
			json_add(to, json_key(p), json_dup(p));
	}
	return 0;
}

static int add_to_object(struct cJSON *parent, const char *key, const struct cJSON *pairs,
			 const char *path, struct err *reterr)
{
	if (!json_first(pairs))
		return 0;
	struct cJSON *to = json_ensure_object(parent, key);
	if (!to)
		return err_set_field(reterr, ERR_INVALID, path, "%s is not an object", key);
	return add_pairs(to, pairs, path, key, reterr);
}

static void add_to_array(struct cJSON *spec, const char *key, const struct cJSON *list)
{
	if (!json_first(list))
		return;
	if (!json_is(json_get(spec, key), JSON_ARRAY))
		json_set(spec, key, json_array());
	json_foreach (list, one)
		json_append(json_get(spec, key), json_dup(one));
}

static bool has_gate(const struct cJSON *spec, const char *name)
{
	json_foreach (json_get(spec, "schedulingGates"), g) {
		const char *n = json_str(g, "name");
		if (n && name && strcmp(n, name) == 0)
			return true;
	}
	return false;
}

static int update_template(const struct job_template *t, const struct cJSON *update,
			   struct err *reterr)
{
	struct cJSON *meta = json_ensure_object(t->node, "metadata");
	struct cJSON *spec = json_ensure_object(t->node, "spec");

	if (!meta || !spec)
		return err_set_field(reterr, ERR_INVALID, t->path, "not a pod template");
	int r = add_to_object(meta, "labels", json_get(update, "labels"), t->path, reterr);
	if (r == 0)
		r = add_to_object(meta, "annotations", json_get(update, "annotations"), t->path,
				  reterr);
	if (r == 0)
		r = add_to_object(spec, "nodeSelector", json_get(update, "nodeSelector"), t->path,
				  reterr);
	if (r < 0)
		return r;
	add_to_array(spec, "tolerations", json_get(update, "tolerations"));
	const struct cJSON *gates = json_get(update, "schedulingGates");
	if (!has_gate(spec, json_str(json_first(gates), "name")))
		add_to_array(spec, "schedulingGates", gates);
	return 0;
}

/* Fewer pods than it asks, of a Job alone (job-min-parallelism). */
static void update_count(uint16_t type, struct cJSON *copy, const struct cJSON *update)
{
	const char *equal = json_value_str(
	    json_path(copy, "metadata", "annotations", JOB_KEY_EQUAL_COMPLETIONS, NULL));
	struct cJSON *spec = json_get(copy, "spec");
	int64_t count;

	if (type != TYPE_JOB || json_int64(update, "count", &count) < 0)
		return;
	json_set_int(spec, "parallelism", count);
	if (equal && strcmp(equal, "true") == 0)
		json_set_int(spec, "completions", count);
}

/* ---- pods that take the nodes of a ProvisioningRequest ---- */

static void default_pair(struct cJSON *pairs, const char *key, const char *value)
{
	if (value && !json_get(pairs, key))
		json_set_str(pairs, key, value);
}

static bool tolerates(const struct cJSON *spec, const char *key)
{
	json_foreach (json_get(spec, "tolerations"), t) {
		const char *of = json_str(t, "key");
		if (of && strcmp(of, key) == 0)
			return true;
	}
	return false;
}

/* Both spellings of the annotations; not to be moved, unless their user says so; and the taint of
 * queued pools. Clusters whose autoscaler does this itself find it done. */
static void mark_consumer(const struct job_template *t)
{
	struct cJSON *a = json_path(t->node, "metadata", "annotations", NULL);
	const char *request = json_str(a, JOB_KEY_CONSUME), *class;
	struct cJSON *spec = json_get(t->node, "spec");

	request = request ? request : json_str(a, JOB_KEY_CONSUME_OLD);
	if (!request || !spec)
		return;
	class = json_str(a, JOB_KEY_PROVISIONING_CLASS);
	class = class ? class : json_str(a, JOB_KEY_PROVISIONING_CLASS_OLD);
	default_pair(a, JOB_KEY_CONSUME, request);
	default_pair(a, JOB_KEY_CONSUME_OLD, request);
	default_pair(a, JOB_KEY_PROVISIONING_CLASS, class);
	default_pair(a, JOB_KEY_PROVISIONING_CLASS_OLD, class);
	default_pair(a, JOB_KEY_SAFE_TO_EVICT, "false");
	if (tolerates(spec, JOB_KEY_QUEUED_POOL))
		return;
	if (!json_is(json_get(spec, "tolerations"), JSON_ARRAY))
		json_set(spec, "tolerations", json_array());
	struct cJSON *toleration = json_object();
	json_set_str(toleration, "key", JOB_KEY_QUEUED_POOL);
	json_set_str(toleration, "operator", "Exists");
	json_set_str(toleration, "effect", "NoSchedule");
	json_append(json_get(spec, "tolerations"), toleration);
}

/* The container that submits, as KubeRay makes it when no template is given. */
static struct cJSON *plain_submitter(const struct cJSON *ray)
{
	struct cJSON *c = json_object(), *resources = json_object();
	struct cJSON *requests = json_ensure_object(resources, "requests");
	struct cJSON *limits = json_ensure_object(resources, "limits");
	const char *image = json_str(ray, "image"), *policy = json_str(ray, "imagePullPolicy");

	json_set_str(c, "name", "ray-job-submitter");
	json_set_str(c, "image", image ? image : "");
	if (policy)
		json_set_str(c, "imagePullPolicy", policy);
	json_set_str(requests, "cpu", "500m");
	json_set_str(requests, "memory", "200Mi");
	json_set_str(limits, "cpu", "1");
	json_set_str(limits, "memory", "1Gi");
	json_set(c, "resources", resources);
	return c;
}

/* A RayJob's submitter has a pod of its own (ray-operator/controllers/ray/common/job.go there):
 * without a template its pod could not be told to be the job's, so the copy has the one that
 * KubeRay would take. */
static void give_submitter(struct cJSON *copy)
{
	struct cJSON *spec = json_get(copy, "spec");
	const struct cJSON *head =
	    json_path(spec, "rayClusterSpec", "headGroupSpec", "template", "spec", NULL);
	const struct cJSON *ray = json_first(json_get(head, "containers"));
	const struct cJSON *secrets = json_get(head, "imagePullSecrets");
	const char *mode = json_str(spec, "submissionMode");

	if (json_get(spec, "submitterPodTemplate") || !ray || (mode && strcmp(mode, "K8sJobMode")))
		return;
	struct cJSON *pod =
	    json_ensure_object(json_ensure_object(spec, "submitterPodTemplate"), "spec");
	struct cJSON *containers = json_array();
	json_append(containers, plain_submitter(ray));
	json_set(pod, "containers", containers);
	json_set_str(pod, "restartPolicy", "Never");
	if (secrets)
		json_set(pod, "imagePullSecrets", json_dup(secrets));
}

static const struct cJSON *update_of(const struct cJSON *updates, const char *set)
{
	json_foreach (updates, u) {
		const char *name = json_str(u, "name");
		if (name && set && strcmp(name, set) == 0)
			return u;
	}
	return NULL;
}

static int mark_templates(const struct job_shape *s, struct cJSON *copy,
			  const struct job_copy_options *o, struct err *reterr)
{
	auto_arena mem = ARENA_INIT;
	struct job_templates all = {0};
	char epoch[24];

	(void)snprintf(epoch, sizeof(epoch), "%llu", (unsigned long long)o->epoch);
	if (s->type == TYPE_RAY_JOB)
		give_submitter(copy);
	s->templates(copy, &mem, &all);
	for (size_t i = 0; i < all.n; i++) {
		if (!all.items[i].node)
			continue;
		struct cJSON *meta = json_ensure_object(all.items[i].node, "metadata");
		struct cJSON *labels = meta ? json_ensure_object(meta, "labels") : NULL;
		if (!labels)
			return err_set_field(reterr, ERR_INVALID, all.items[i].path,
					     "the pod template cannot be labelled");
		json_set_str(labels, POD_LABEL_HUB_UID, o->hub_uid);
		json_set_str(labels, POD_LABEL_JOB_UID, o->job_uid);
		json_set_str(labels, POD_LABEL_POD_SET, all.items[i].set);
		json_set_str(labels, POD_LABEL_EPOCH, epoch);
		const struct cJSON *update = update_of(o->pod_set_updates, all.items[i].set);
		int r = update ? update_template(&all.items[i], update, reterr) : 0;
		if (r < 0)
			return r;
		mark_consumer(&all.items[i]);
		update_count(s->type, copy, update);
	}
	return 0;
}

/* FNV-1a over the spec as the hub wants it, before a queue adds anything. */
static void hash_spec(const struct cJSON *spec, char out[17])
{
	uint64_t h = 14695981039346656037u;
	auto_buf text = BUF_INIT;

	json_print(spec, &text);
	for (size_t i = 0; i < text.len; i++)
		h = (h ^ (unsigned char)text.ptr[i]) * 1099511628211u;
	(void)snprintf(out, 17, "%016llx", (unsigned long long)h);
}

int job_copy_tree(const struct kind *k, struct cJSON *job, const struct job_copy_options *o,
		  struct cJSON **ret, struct err *reterr)
{
	const struct job_shape *s = job_shape_of(k->type);
	struct cJSON *spec = json_take(job, "spec");
	auto_json *copy = json_object();
	char version[KIND_API_VERSION_MAX], hash[17];

	if (!s || !json_is(spec, JSON_OBJECT)) {
		json_free(spec);
		return err_set(reterr, ERR_INVALID, "not a job with a spec");
	}
	json_add(copy, "apiVersion", json_new_str(kind_api_version(k, version)));
	json_add(copy, "kind", json_new_str(k->kind));
	json_add(copy, "metadata", copy_metadata(job));
	json_add(copy, "spec", spec);
	struct cJSON *policy = s->policy ? json_ensure_object(spec, s->policy) : spec;
	if (!policy)
		return err_set(reterr, ERR_INVALID, "spec.%s is not an object", s->policy);
	json_set_bool(policy, "suspend", o->suspend);
	/* Whoever writes for MultiKueue hands the job to its manager: here, to the hub. On the
	 * member it is the kind's own controller's. */
	const char *manager = json_str(policy, "managedBy");
	if (manager && strcmp(manager, JOB_MANAGER_MULTIKUEUE) == 0)
		json_remove(policy, "managedBy");
	if (s->hub_ttl)
		json_remove(policy, "ttlSecondsAfterFinished");
	/* KubeRay suspends only jobs that take their cluster down, and an idle cluster would hold
	 * what the hub has given back. */
	if (k->type == TYPE_RAY_JOB)
		json_set_bool(spec, "shutdownAfterJobFinishes", true);
	hash_spec(spec, hash);
	mark_object(json_get(copy, "metadata"), o, hash);
	int r = mark_templates(s, copy, o, reterr);
	if (r < 0)
		return r;
	*ret = steal_ptr(&copy);
	return 0;
}

int job_copy_make(const struct kind *k, struct cJSON *job, const struct job_copy_options *o,
		  struct buf *out, struct err *reterr)
{
	auto_json *copy = NULL;

	int r = job_copy_tree(k, job, o, &copy, reterr);
	if (r < 0)
		return r;
	json_print(copy, out);
	return buf_ok(out) ? 0 : err_set(reterr, ERR_TOO_LARGE, "the copy is too large");
}

const char *job_suspend_path(const struct kind *k)
{
	const struct job_shape *s = job_shape_of(k->type);

	return s && s->policy ? "/spec/runPolicy/suspend" : "/spec/suspend";
}

/* ---- status ---- */

static bool is_kubeflow(uint16_t type)
{
	return type == TYPE_PYTORCH_JOB || type == TYPE_TF_JOB || type == TYPE_MPI_JOB ||
	       type == TYPE_XGBOOST_JOB || type == TYPE_PADDLE_JOB || type == TYPE_JAX_JOB;
}

static bool is_suspension(struct span type)
{
	return span_is(type, "\"Suspended\"") || span_is(type, "\"RayClusterSuspended\"") ||
	       span_is(type, "\"RayClusterSuspending\"");
}

/* The conditions, without Suspended unless it is shown; returns how many there are. */
static size_t add_conditions(struct span list, bool shown, struct buf *out)
{
	struct span c, type;
	size_t n = 0;

	buf_add_str(out, "\"conditions\":[");
	for (size_t pos = 0; json_text_next(list, &pos, NULL, &c);) {
		if (!shown && json_text_member(c, "type", &type) == 0 && is_suspension(type))
			continue;
		if (n++)
			buf_add_char(out, ',');
		buf_add_span(out, c);
	}
	buf_add_char(out, ']');
	return n;
}

/* A RayJob has no conditions; it says so in its deployment status, a RayCluster in its state. */
static bool is_ray_suspension(uint16_t type, struct span key, struct span value)
{
	if (type == TYPE_RAY_CLUSTER)
		return span_is(key, "state") && span_is(value, "\"suspended\"");
	return type == TYPE_RAY_JOB && span_is(key, "jobDeploymentStatus") &&
	       (span_is(value, "\"Suspended\"") || span_is(value, "\"Suspending\""));
}

int job_hub_status(uint16_t type, struct span member_status, bool suspended, struct buf *out,
		   struct err *reterr)
{
	struct span key = SPAN_NONE, value;
	size_t conditions = 0, start = out->len;
	const char *sep = "{";

	if (json_text_type(member_status) != JSON_OBJECT)
		return err_set(reterr, ERR_INVALID, "the status is not an object");
	for (size_t pos = 0; json_text_next(member_status, &pos, &key, &value);) {
		if (!suspended && is_ray_suspension(type, key, value))
			continue;
		buf_add_str(out, sep);
		sep = ",";
		if (span_is(key, "conditions") && json_text_type(value) == JSON_ARRAY) {
			conditions = add_conditions(value, suspended, out);
			continue;
		}
		buf_add_char(out, '"');
		buf_add_span(out, key);
		buf_add_str(out, "\":");
		buf_add_span(out, value);
	}
	buf_add_str(out, *sep == '{' ? "{}" : "}");
	if (is_kubeflow(type) && conditions == 0) {
		/* Nothing that users may see yet: the hub's own Created stays. */
		out->len = start;
		return -ENOENT;
	}
	return buf_ok(out) ? 0 : err_set(reterr, ERR_TOO_LARGE, "the status is too large");
}

/* What the kind's own controller would write about a job that is made suspended. */
static void add_suspended(uint16_t type, const char *at, struct buf *out)
{
	const char *reason = type == TYPE_JOB ? "JobSuspended" : "SuspendedJobs";
	const char *message = type == TYPE_JOB ? "Job suspended" : "jobset is suspended";

	if (type == TYPE_RAY_JOB)
		buf_add_str(out, "{\"jobDeploymentStatus\":\"Suspended\"}");
	else if (type == TYPE_RAY_CLUSTER)
		buf_add_str(out, "{\"state\":\"suspended\"}");
	else if (type == TYPE_JOB || type == TYPE_JOB_SET)
		buf_addf(out,
			 "{\"conditions\":[{\"type\":\"Suspended\",\"status\":\"True\","
			 "\"reason\":\"%s\",\"message\":\"%s\",%s%s%s"
			 "\"lastTransitionTime\":\"%s\"}]}",
			 reason, message, type == TYPE_JOB ? "\"lastProbeTime\":\"" : "",
			 type == TYPE_JOB ? at : "", type == TYPE_JOB ? "\"," : "", at);
}

void job_accepted_status(const struct kind *k, const char *name, bool suspended, usec now,
			 struct buf *out)
{
	char at[CLOCK_TEXT_MAX];

	clock_format(now, at);
	if (!is_kubeflow(k->type)) {
		if (suspended)
			add_suspended(k->type, at, out);
		return;
	}
	buf_addf(
	    out,
	    "{\"conditions\":[{\"type\":\"Created\",\"status\":\"True\",\"reason\":\"%sCreated\","
	    "\"message\":\"%s %s is created.\",\"lastUpdateTime\":\"%s\","
	    "\"lastTransitionTime\":\"%s\"}]}",
	    k->kind, k->kind, name, at, at);
}
