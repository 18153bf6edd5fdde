/*
 * The Jobs of a JobSet: their names, labels and templates (kubernetes-api.md 4.1).
 */
#include "base/json.h"
#include "member-sync/sim/cluster_priv.h"
#include <errno.h>
#include <openssl/sha.h>

#define PREFIX	       "jobset.sigs.k8s.io/"
#define EXCLUSIVE      "alpha.jobset.sigs.k8s.io/exclusive-topology"
#define NODE_SELECTOR  "alpha.jobset.sigs.k8s.io/node-selector" /* the strategy; a flag */
#define NAMESPACED_JOB "alpha.jobset.sigs.k8s.io/namespaced-job"
#define NO_SCHEDULE    "alpha.jobset.sigs.k8s.io/no-schedule"
#define ROWS_EACH      4

struct child {
	const struct sim_job *parent;
	const struct cJSON *set; /* the JobSet's tree */
	const struct cJSON *replicated;
	const struct job_set_create *slot;
	char name[STORE_MAX_NAME + 1];
	char key[2 * SHA_DIGEST_LENGTH + 1];
};

/* A value of a label, which has at most 63 characters. */
static void job_key(struct child *k)
{
	char text[2 * STORE_MAX_NAME];
	unsigned char digest[SHA_DIGEST_LENGTH];
	int n = snprintf(text, sizeof(text), "%s/%s", k->parent->ns, k->name);
	SHA1((const unsigned char *)text, (size_t)n, digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(k->key + 2 * i, 3, "%02x", digest[i]);
}

static void set_number(struct cJSON *to, const char *key, int64_t v)
{
	char text[24];
	snprintf(text, sizeof(text), "%lld", (long long)v);
	json_set_str(to, key, text);
}

static const char *subdomain(const struct child *k)
{
	const char *s = json_value_str(json_path(k->set, "spec", "network", "subdomain", NULL));
	return s && *s ? s : k->parent->name;
}

static void add_coordinator(const struct child *k, struct cJSON *to)
{
	const struct cJSON *c = json_path(k->set, "spec", "coordinator", NULL);
	const char *replicated = json_str(c, "replicatedJob");
	int64_t job = 0, pod = 0;
	auto_buf endpoint = BUF_INIT;
	if (!replicated)
		return;
	(void)!json_int64(c, "jobIndex", &job);
	(void)!json_int64(c, "podIndex", &pod);
	buf_addf(&endpoint, "%s-%s-%lld-%lld.%s", k->parent->name, replicated, (long long)job,
		 (long long)pod, subdomain(k));
	json_set(to, PREFIX "coordinator", json_new_span(buf_span(&endpoint)));
}

static void add_marks(const struct child *k, struct cJSON *to)
{
	const struct job_set_spec *spec = k->parent->spec.job_set;
	const struct job_set_replicated *r = &spec->jobs[k->slot->set];
	int64_t all = 0, before = 0, group = 0, group_before = 0;
	for (size_t i = 0; i < spec->n_jobs; i++) {
		bool same = strcmp(spec->jobs[i].group, r->group) == 0;
		bool earlier = i < (size_t)k->slot->set;
		all += spec->jobs[i].replicas;
		before += earlier ? spec->jobs[i].replicas : 0;
		group += same ? spec->jobs[i].replicas : 0;
		group_before += same && earlier ? spec->jobs[i].replicas : 0;
	}
	json_set_str(to, PREFIX "jobset-name", k->parent->name);
	json_set_str(to, PREFIX "jobset-uid", k->parent->uid_text);
	json_set_str(to, PREFIX "replicatedjob-name", r->name);
	set_number(to, PREFIX "replicatedjob-replicas", r->replicas);
	set_number(to, PREFIX "global-replicas", all);
	set_number(to, PREFIX "job-index", k->slot->index);
	set_number(to, PREFIX "job-global-index", before + k->slot->index);
	json_set_str(to, PREFIX "job-key", k->key);
	set_number(to, PREFIX "restart-attempt", k->slot->attempt);
	if (spec->restarts_jobs)
		set_number(to, PREFIX "job-restart-attempt", k->slot->job_attempt);
	json_set_str(to, PREFIX "group-name", r->group);
	set_number(to, PREFIX "group-replicas", group);
	set_number(to, PREFIX "job-group-index", group_before + k->slot->index);
	add_coordinator(k, to);
}

static struct cJSON *expression(const char *op, const char *value)
{
	struct cJSON *e = json_object();
	json_set_str(e, "key", PREFIX "job-key");
	json_set_str(e, "operator", op);
	if (value) {
		struct cJSON *values = json_array();
		json_append(values, json_new_str(value));
		json_set(e, "values", values);
	}
	return e;
}

static struct cJSON *affinity_term(const char *topology, struct cJSON *one, struct cJSON *two)
{
	struct cJSON *term = json_object(), *selector = json_object(), *list = json_array();
	json_append(list, one);
	json_append(list, two);
	json_set(selector, "matchExpressions", list);
	json_set(term, "labelSelector", selector);
	json_set_str(term, "topologyKey", topology);
	return term;
}

static void add_term(struct cJSON *spec, const char *which, struct cJSON *take_term)
{
	struct cJSON *affinity = json_ensure_object(json_ensure_object(spec, "affinity"), which);
	const char *key = "requiredDuringSchedulingIgnoredDuringExecution";
	if (!json_get(affinity, key))
		json_set(affinity, key, json_array());
	json_append(json_get(affinity, key), take_term);
}

/* The nodes that its user has labelled with the Job's name, and perhaps tainted. */
static void select_labelled(const struct child *k, struct cJSON *pod_spec)
{
	auto_buf name = BUF_INIT;
	struct cJSON *toleration = json_object();

	buf_addf(&name, "%s_%s", k->parent->ns, k->name);
	json_set(json_ensure_object(pod_spec, "nodeSelector"), NAMESPACED_JOB,
		 json_new_span(buf_span(&name)));
	if (!json_is(json_get(pod_spec, "tolerations"), JSON_ARRAY))
		json_set(pod_spec, "tolerations", json_array());
	json_set_str(toleration, "key", NO_SCHEDULE);
	json_set_str(toleration, "operator", "Exists");
	json_set_str(toleration, "effect", "NoSchedule");
	json_append(json_get(pod_spec, "tolerations"), toleration);
}

/* All pods of the Job in one domain, and no other Job's pods in it. JobSet says this of the
 * leader and pins the followers by node selector; for a scheduler it comes to the same. */
static void make_exclusive(const struct child *k, struct cJSON *pod_spec)
{
	const char *topology = json_value_str(
	    json_path(k->replicated, "template", "metadata", "annotations", EXCLUSIVE, NULL));
	if (!topology)
		topology =
		    json_value_str(json_path(k->set, "metadata", "annotations", EXCLUSIVE, NULL));
	if (!topology)
		return;
	if (json_path(k->set, "metadata", "annotations", NODE_SELECTOR, NULL) ||
	    json_path(k->replicated, "template", "metadata", "annotations", NODE_SELECTOR, NULL)) {
		select_labelled(k, pod_spec);
		return;
	}
	add_term(pod_spec, "podAffinity", affinity_term(topology, expression("In", k->key), NULL));
	add_term(pod_spec, "podAntiAffinity",
		 affinity_term(topology, expression("Exists", NULL), expression("NotIn", k->key)));
}

static void add_owner(const struct sim_job *parent, struct cJSON *meta)
{
	char version[KIND_API_VERSION_MAX];
	struct cJSON *list = json_array(), *ref = json_object();
	json_set_str(ref, "apiVersion", kind_api_version(parent->kind, version));
	json_set_str(ref, "kind", parent->kind->kind);
	json_set_str(ref, "name", parent->name);
	json_set_str(ref, "uid", parent->uid_text);
	json_set_bool(ref, "controller", true);
	json_set_bool(ref, "blockOwnerDeletion", true);
	json_append(list, ref);
	json_set(meta, "ownerReferences", list);
}

static void set_pod_template(const struct child *k, struct cJSON *template)
{
	struct cJSON *meta = json_ensure_object(template, "metadata");
	struct cJSON *spec = json_ensure_object(template, "spec");
	add_marks(k, json_ensure_object(meta, "labels"));
	add_marks(k, json_ensure_object(meta, "annotations"));
	if (!spec)
		return;
	if (!json_str(spec, "restartPolicy"))
		json_set_str(spec, "restartPolicy", "OnFailure");
	json_set_str(spec, "subdomain", subdomain(k));
	make_exclusive(k, spec);
}

static struct cJSON *make_tree(struct cluster *c, const struct child *k)
{
	char version[KIND_API_VERSION_MAX], uid_text[OBJECT_UID_TEXT], time[CLOCK_TEXT_MAX];
	uint8_t uid[STORE_UID_LEN];
	const struct cJSON *from = json_get(k->replicated, "template");
	struct cJSON *job = json_object(), *meta = json_object(), *spec;
	registry_new_uid(c->reg, uid);
	json_set_str(job, "apiVersion", kind_api_version(c->batch_kind, version));
	json_set_str(job, "kind", c->batch_kind->kind);
	json_set_str(meta, "name", k->name);
	json_set_str(meta, "namespace", k->parent->ns);
	json_set_str(meta, "uid", object_uid_format(uid, uid_text));
	json_set_str(meta, "creationTimestamp", clock_format(c->now, time));
	json_set_int(meta, "generation", 1);
	json_set(meta, "labels", json_dup(json_path(from, "metadata", "labels", NULL)));
	json_set(meta, "annotations", json_dup(json_path(from, "metadata", "annotations", NULL)));
	add_marks(k, json_ensure_object(meta, "labels"));
	add_marks(k, json_ensure_object(meta, "annotations"));
	add_owner(k->parent, meta);
	json_set(job, "metadata", meta);
	json_set(job, "spec", json_dup(json_get(from, "spec")));
	spec = json_ensure_object(job, "spec");
	json_set_bool(spec, "suspend", k->parent->spec.job_set->suspend);
	if (!json_str(spec, "completionMode"))
		json_set_str(spec, "completionMode", "Indexed");
	set_pod_template(k, json_ensure_object(spec, "template"));
	return job;
}

static int create_one(struct cluster *c, const struct child *k)
{
	struct store_object there;
	struct object_draft d;
	struct err why = ERR_INIT;
	struct span ns = span_of(k->parent->ns), name = span_of(k->name);
	int rc = registry_get(c->batch, c->batch_kind, ns, name, &there);
	if (rc != -ENOENT)
		return rc; /* a foreign Job of that name, or one still going: looked at again */
	auto_json *tree = make_tree(c, k);
	struct kind_write w = {.subresource = "", .now = c->now};
	if (c->batch_kind->default_object)
		c->batch_kind->default_object(c->batch_kind, tree, &w);
	rc = object_draft_from_tree(c->batch_kind, tree, &d, &why);
	if (rc)
		return cluster_fail(c, &why);
	return registry_put(c->batch, c->batch_kind, ns, name, &d);
}

static int create_service(struct cluster *c, struct sim_job *parent, const struct child *any)
{
	char selector[400];
	const struct cJSON *network = json_path(any->set, "spec", "network", NULL);
	if (!json_bool(network, "enableDNSHostnames", true))
		return 0;
	snprintf(selector, sizeof(selector), "\"" PREFIX "jobset-name\":\"%s\"", parent->name);
	return cluster_services_create(c, parent, subdomain(any), selector, NULL);
}

int cluster_children_create(struct cluster *c, struct sim_job *parent,
			    const struct store_object *parent_object,
			    const struct job_set_create *creates, size_t n)
{
	struct err why = ERR_INIT;
	auto_json *tree = NULL;
	int rc = object_tree(parent_object, &tree, &why);
	if (rc)
		return cluster_fail(c, &why);
	struct child k = {.parent = parent, .set = tree};
	rc = create_service(c, parent, &k);
	for (size_t i = 0; i < n && rc != -EIO; i++) {
		if (registry_batch_room(c->batch) < ROWS_EACH + REGISTRY_RESERVE)
			return -ENOSPC;
		k.slot = &creates[i];
		k.replicated = json_at(json_path(tree, "spec", "replicatedJobs", NULL),
				       (size_t)creates[i].set);
		snprintf(k.name, sizeof(k.name), "%s-%s-%d", parent->name,
			 parent->spec.job_set->jobs[creates[i].set].name, creates[i].index);
		job_key(&k);
		rc = create_one(c, &k);
	}
	return rc == -EIO ? rc : 0;
}

static void merge(struct cJSON *to, const struct cJSON *from, const char *key)
{
	const struct cJSON *pairs = json_get(from, key);

	if (!json_first(pairs))
		return;
	struct cJSON *into = json_ensure_object(to, key);
	json_foreach (pairs, p)
		json_set(into, json_key(p), json_dup(p));
}

static void take_over(struct cJSON *to, const struct cJSON *from, const char *key)
{
	if (json_get(from, key))
		json_set(to, key, json_dup(json_get(from, key)));
}

/* What a queue wrote into the set's template while it was suspended, as JobSet's controller takes
 * it over into the Jobs that it resumes. */
static void refresh_template(struct cJSON *job, const struct cJSON *set)
{
	const char *name =
	    json_str(json_path(job, "metadata", "labels", NULL), PREFIX "replicatedjob-name");
	struct cJSON *to = json_path(job, "spec", "template", NULL);

	json_foreach (json_path(set, "spec", "replicatedJobs", NULL), r) {
		const char *of = json_str(r, "name");
		const struct cJSON *from = json_path(r, "template", "spec", "template", NULL);
		if (!name || !of || strcmp(name, of) != 0 || !to)
			continue;
		merge(json_ensure_object(to, "metadata"), json_get(from, "metadata"), "labels");
		merge(json_ensure_object(to, "metadata"), json_get(from, "metadata"),
		      "annotations");
		merge(json_ensure_object(to, "spec"), json_get(from, "spec"), "nodeSelector");
		take_over(json_get(to, "spec"), json_get(from, "spec"), "tolerations");
		take_over(json_get(to, "spec"), json_get(from, "spec"), "schedulingGates");
	}
}

int cluster_children_suspend(struct cluster *c, struct sim_job *child,
			     const struct store_object *set, bool suspend)
{
	auto_json *parent = NULL;
	struct store_object o;
	struct object_draft d;
	struct err why = ERR_INIT;
	auto_json *tree = NULL;
	int64_t generation;
	int rc = cluster_current(c, child->kind, span_of(child->ns), span_of(child->name),
				 child->revision, &o);
	if (rc)
		return rc;
	rc = object_tree(&o, &tree, &why);
	if (!rc && !suspend)
		rc = object_tree(set, &parent, &why);
	if (!rc) {
		struct cJSON *meta = json_ensure_object(tree, "metadata");
		if (parent)
			refresh_template(tree, parent);
		json_set_bool(json_ensure_object(tree, "spec"), "suspend", suspend);
		if (json_int64(meta, "generation", &generation) == 0)
			json_set_int(meta, "generation", generation + 1);
		rc = object_draft_from_tree(child->kind, tree, &d, &why);
	}
	if (rc)
		return cluster_fail(c, &why);
	return registry_put(c->batch, child->kind, span_of(child->ns), span_of(child->name), &d);
}
