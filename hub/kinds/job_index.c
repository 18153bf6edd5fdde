/*
 * The digest hook of every job kind: reads a job's tree by its shape and packs what the core
 * indexes.
 */
#include "base/json.h"
#include "base/num.h"
#include "kinds/hooks.h"
#include "kinds/job_dependencies.h"
#include "kinds/job_keys.h"
#include "kinds/job_shape.h"
#include "kinds/mpi_job.h"
#include "kinds/types.h"
#include "kube/field_errors.h"
#include "kube/quantity.h"

/* What KubeRay's own submitter asks for. */
#define MAX_LABELLED	    1024 /* values of one requirement that placement takes */
#define SUBMITTER_MILLI_CPU 500
#define SUBMITTER_BYTES	    (200 << 20)

static struct span label(const struct cJSON *job, const char *where, const char *key)
{
	const char *v = json_value_str(json_path(job, "metadata", where, key, NULL));
	return v && v[0] ? span_of(v) : SPAN_NONE;
}

static struct span first_of(struct span a, struct span b)
{
	return a.ptr ? a : b;
}

static void read_labels(const struct cJSON *job, struct arena *mem, struct job_digest *d)
{
	const struct cJSON *labels = json_path(job, "metadata", "labels", NULL);

	d->labels = arena_array(mem, struct info_pair, json_len(labels));
	json_foreach (labels, l)
		if (json_key(l) && json_value_str(l))
			d->labels[d->n_labels++] =
			    (struct info_pair){span_of(json_key(l)), span_of(json_value_str(l))};
}

static void read_names(const struct cJSON *job, struct job_digest *d)
{
	struct span preemptible = first_of(label(job, "labels", JOB_KEY_PREEMPTIBLE),
					   label(job, "labels", JOB_KEY_PREEMPTIBLE_KOORDINATOR));

	d->queue_name =
	    first_of(label(job, "labels", JOB_KEY_QUEUE), label(job, "annotations", JOB_KEY_QUEUE));
	d->prebuilt = first_of(label(job, "annotations", JOB_KEY_PREBUILT),
			       label(job, "labels", JOB_KEY_PREBUILT));
	d->quota_name = first_of(label(job, "labels", JOB_KEY_QUOTA),
				 label(job, "labels", JOB_KEY_QUOTA_KOORDINATOR));
	d->provisioning_request = first_of(label(job, "annotations", JOB_KEY_CONSUME),
					   label(job, "annotations", JOB_KEY_CONSUME_OLD));
	d->consumers = d->provisioning_request.len ? UINT64_MAX : 0;
	d->preemptible = !span_is(preemptible, "false");
}

static void read_policy(const struct job_shape *s, const struct cJSON *job, struct job_digest *d)
{
	const struct cJSON *policy = job_shape_policy(s, job);
	int64_t ttl = 0, limit = 0;

	d->suspend = json_bool(policy, "suspend", false);
	d->ttl_seconds = d->limit_seconds = -1;
	if (json_int64(policy, "activeDeadlineSeconds", &limit) == 0 && limit >= 0)
		d->limit_seconds = limit;
	const char *class = json_str(json_get(policy, "schedulingPolicy"), "priorityClass");
	d->scheduling_class = class && class[0] ? span_of(class) : SPAN_NONE;
	if (s->hub_ttl && json_int64(policy, "ttlSecondsAfterFinished", &ttl) == 0 && ttl >= 0)
		d->ttl_seconds = ttl;
}

static int64_t amount_of(const struct cJSON *requests, const char *resource, unsigned flags,
			 int64_t otherwise)
{
	int64_t v;

	/* Its own resources replace all that KubeRay would give. */
	if (!requests)
		return otherwise;
	return json_get(requests, resource) &&
		       quantity_from_node(json_get(requests, resource), flags, &v) == 0 && v > 0
		   ? v
		   : 0;
}

static void add_amount(struct job_pod_set *set, const char *resource, int64_t value,
		       struct arena *mem)
{
	struct info_amount *all = arena_array(mem, struct info_amount, set->pod.n_requests + 1);
	size_t n = 0;

	for (size_t i = 0; i < set->pod.n_requests; i++) {
		all[n] = set->pod.requests[i];
		if (span_is(all[n].resource, resource)) {
			all[n].value = num_add_sat(all[n].value, value);
			value = 0;
		}
		n++;
	}
	if (value)
		all[n++] = (struct info_amount){span_of(resource), value};
	set->pod.requests = all;
	set->pod.n_requests = n;
}

/* The autoscaler runs beside the head: 500m and 512Mi unless its options say more (KubeRay;
 * reference/kueue.md 2.11). A head whose start-up containers ask more than all that run is counted
 * a little too large. */
static void add_autoscaler(const struct job_template *t, struct job_pod_set *set, struct arena *mem)
{
	const struct cJSON *resources = json_get(t->autoscaler_options, "resources");
	const struct cJSON *requests = json_get(resources, "requests");

	requests = requests ? requests : resources;
	add_amount(set, "cpu", amount_of(requests, "cpu", QUANTITY_MILLI, 500), mem);
	add_amount(set, "memory", amount_of(requests, "memory", QUANTITY_WHOLE, 512 << 20), mem);
}

/* The container that submits beside the head, as KubeRay makes it. */
static void add_submitter(struct job_pod_set *set, struct arena *mem)
{
	add_amount(set, "cpu", SUBMITTER_MILLI_CPU, mem);
	add_amount(set, "memory", SUBMITTER_BYTES, mem);
}

/* The Job that cleans Redis up asks 200m and 256Mi, when the head is gone: the head's first
 * container counts as at least that (Kueue's pkg/controller/jobs/raycluster/common.go). */
static void add_redis_cleanup(const struct job_template *t, struct job_pod_set *set,
			      struct arena *mem)
{
	static const struct {
		const char *resource;
		unsigned flags;
		int64_t least;
	} asks[] = {{"cpu", QUANTITY_MILLI, 200}, {"memory", QUANTITY_WHOLE, 256 << 20}};
	const struct cJSON *resources =
	    json_get(json_first(json_path(t->node, "spec", "containers", NULL)), "resources");

	for (size_t i = 0; i < ARRAY_LEN(asks); i++) {
		const struct cJSON *from = json_get(resources, "requests");
		if (!json_get(from, asks[i].resource))
			from = json_get(resources, "limits");
		int64_t has = from ? amount_of(from, asks[i].resource, asks[i].flags, 0) : 0;
		if (has < asks[i].least)
			add_amount(set, asks[i].resource, asks[i].least - has, mem);
	}
}

/* As JobSet's controller gives each child Job the node selector of its own name: each of the groups
 * has a domain alone, and those are the domains that there are for them. */
static void hold_to_labelled(const struct job_template *t, struct job_pod_set *set,
			     struct arena *mem)
{
	struct template_info *pod = &set->pod;
	struct info_requirement own = {.key = SPAN(JOB_KEY_NAMESPACED_JOB), .op = MATCH_IN};
	size_t terms = pod->n_affinity ? pod->n_affinity : 1;
	size_t n = (size_t)num_min(t->groups, MAX_LABELLED);
	auto_buf name = BUF_INIT;

	own.values = arena_array(mem, struct span, n);
	for (; own.n_values < n; own.n_values++) {
		buf_clear(&name);
		buf_addf(&name, "%s%zu", t->labelled, own.n_values);
		own.values[own.n_values] = arena_span(mem, buf_span(&name));
	}
	struct info_term *affinity = arena_array(mem, struct info_term, terms);
	for (size_t i = 0; i < terms; i++) {
		struct info_term was =
		    i < pod->n_affinity ? pod->affinity[i] : (struct info_term){0};
		if (i < pod->n_affinity && !was.n_requirements)
			continue; /* matches nothing, and still does */
		affinity[i].requirements =
		    arena_array(mem, struct info_requirement, was.n_requirements + 1);
		for (size_t k = 0; k < was.n_requirements; k++)
			affinity[i].requirements[k] = was.requirements[k];
		affinity[i].requirements[was.n_requirements] = own;
		affinity[i].n_requirements = was.n_requirements + 1;
	}
	pod->affinity = affinity;
	pod->n_affinity = terms;
	struct info_toleration *all =
	    arena_array(mem, struct info_toleration, pod->n_tolerations + 1);
	for (size_t i = 0; i < pod->n_tolerations; i++)
		all[i] = pod->tolerations[i];
	all[pod->n_tolerations++] = (struct info_toleration){.key = SPAN(JOB_KEY_NO_SCHEDULE),
							     .value = SPAN(""),
							     .op = TOLERATE_EXISTS,
							     .effect = INFO_NO_SCHEDULE};
	pod->tolerations = all;
}

static int read_pod_set(const struct job_template *t, struct arena *mem, struct job_digest *d,
			struct field_errors *errors)
{
	struct job_pod_set *set = &d->pod_sets[d->n_pod_sets];
	int r = template_info_decode(t->node, t->path, mem, &set->pod, errors);

	if (r < 0)
		return r;
	if (t->redis_cleanup)
		add_redis_cleanup(t, set, mem);
	if (t->autoscaler)
		add_autoscaler(t, set, mem);
	if (t->submitter_beside)
		add_submitter(set, mem);
	if (t->labelled)
		hold_to_labelled(t, set, mem);
	struct span consumed = first_of(label(t->node, "annotations", JOB_KEY_CONSUME),
					label(t->node, "annotations", JOB_KEY_CONSUME_OLD));
	if (!d->provisioning_request.ptr)
		d->provisioning_request = consumed;
	if (!d->priority_class.ptr)
		d->priority_class = set->pod.priority_class;
	if (t->count == 0)
		return 0;
	set->name = span_of(t->set ? t->set : "");
	set->count = t->count;
	set->groups = t->groups;
	set->min_count = t->min_count;
	set->path = span_of(t->path);
	set->exclusive_topology = span_of(t->topology);
	topology_request_read(t->node, mem, &set->topology);
	if (consumed.len && d->n_pod_sets < JOB_MAX_POD_SETS)
		d->consumers |= UINT64_C(1) << d->n_pod_sets;
	d->n_pod_sets++;
	return 0;
}

static int read_submitter(const struct job_template *t, struct arena *mem, struct job_digest *d,
			  struct field_errors *errors)
{
	d->submitter = arena_new(mem, struct job_pod_set);
	*d->submitter = (struct job_pod_set){.name = span_of(t->set), .count = 1, .groups = 1};
	if (!t->node) {
		/* What KubeRay gives a submitter without a template. */
		struct info_amount *amounts = arena_array(mem, struct info_amount, 2);
		amounts[0] = (struct info_amount){SPAN("cpu"), SUBMITTER_MILLI_CPU};
		amounts[1] = (struct info_amount){SPAN("memory"), SUBMITTER_BYTES};
		d->submitter->pod.requests = amounts;
		d->submitter->pod.n_requests = 2;
		return 0;
	}
	d->submitter->path = span_of(t->path);
	return template_info_decode(t->node, t->path, mem, &d->submitter->pod, errors);
}

/* The field that holds the template with the most pods: what to look at when a sum is too large. */
static const char *largest_of(const struct job_templates *all, struct arena *mem)
{
	const struct job_template *most = NULL;

	for (size_t i = 0; i < all->n; i++)
		if (all->items[i].node && !all->items[i].uncounted &&
		    (!most || all->items[i].count > most->count))
			most = &all->items[i];
	struct span path = most ? span_of(most->path) : SPAN("spec");
	if (span_ends(path, SPAN(".template")))
		path.len -= strlen(".template");
	return arena_strndup(mem, path.ptr, path.len);
}

/* What the whole gang asks for of one resource. False when it cannot be counted. */
static bool countable(const struct job_digest *d, struct span resource)
{
	int64_t sum = 0;

	for (size_t i = 0; i < d->n_pod_sets; i++) {
		const struct job_pod_set *set = &d->pod_sets[i];
		for (size_t j = 0; j < set->pod.n_requests; j++) {
			int64_t all;
			if (span_cmp(set->pod.requests[j].resource, resource) != 0)
				continue;
			if (num_mul_overflows(set->pod.requests[j].value, set->count, &all) ||
			    num_add_overflows(sum, all, &sum))
				return false;
		}
	}
	return true;
}

/* The gang's size, in pods and in what they ask for together. */
static int check_size(const struct job_digest *d, const char *field, struct err *reterr)
{
	int64_t pods = 0;

	for (size_t i = 0; i < d->n_pod_sets; i++)
		pods = num_add_sat(pods, d->pod_sets[i].count);
	if (pods > JOB_MAX_PODS)
		return err_set_field(reterr, ERR_INVALID, field,
				     "the job asks for %lld pods, at most %d may be",
				     (long long)pods, JOB_MAX_PODS);
	for (size_t i = 0; i < d->n_pod_sets; i++)
		for (size_t j = 0; j < d->pod_sets[i].pod.n_requests; j++) {
			struct span resource = d->pod_sets[i].pod.requests[j].resource;
			if (!countable(d, resource))
				return err_set_field(
				    reterr, ERR_INVALID, field,
				    "what all %lld pods ask for of %.*s together must fit in 64 bits",
				    (long long)pods, SPAN_ARGS(resource));
		}
	return 0;
}

static int read_pod_sets(const struct job_templates *all, struct arena *mem,
			 struct job_dependencies *deps, struct job_digest *d,
			 struct field_errors *errors)
{
	int r = 0;

	d->pod_sets = arena_array(mem, struct job_pod_set, all->n);
	for (size_t i = 0; i < all->n; i++) {
		const struct job_template *t = &all->items[i];
		if (!t->node && !t->uncounted)
			continue;
		if (t->node)
			job_dependencies_add(deps, t->node);
		int failed = t->uncounted ? read_submitter(t, mem, d, errors)
					  : read_pod_set(t, mem, d, errors);
		r = r ? r : failed;
	}
	d->dependencies = deps->list.items;
	d->n_dependencies = deps->list.len;
	return r;
}

static int refuse(const struct field_errors *errors, struct err *reterr)
{
	auto_buf text = BUF_INIT;

	field_error_body(&errors->items[0], &text);
	return err_set_field(reterr, ERR_INVALID, errors->items[0].field, "%.400s", text.ptr);
}

int job_index(const struct kind *k, const struct cJSON *object, struct buf *out, struct err *reterr)
{
	const struct job_shape *shape = job_shape_of(k->type);
	auto_arena mem = ARENA_INIT;
	struct job_dependencies deps = {.mem = &mem};
	struct field_errors errors = {.n = 0};
	struct job_digest d = {.single_template = k->type == TYPE_JOB};
	struct job_templates all = {0};

	d.beta = k->type == TYPE_MPI_JOB && mpi_job_is_beta(object);
	d.launcher_works =
	    d.beta && json_bool(json_get(object, "spec"), "runLauncherAsWorker", false);
	shape->templates(object, &mem, &all);
	read_labels(object, &mem, &d);
	read_names(object, &d);
	read_policy(shape, object, &d);
	int r = read_pod_sets(&all, &mem, &deps, &d, &errors);
	if (r < 0)
		r = refuse(&errors, reterr);
	else if (d.n_pod_sets > JOB_MAX_POD_SETS)
		r = err_set_field(reterr, ERR_INVALID, "spec",
				  "the job has %zu pod sets, at most %d may be", d.n_pod_sets,
				  JOB_MAX_POD_SETS);
	else
		r = check_size(&d, largest_of(&all, &mem), reterr);
	if (r == 0)
		job_digest_pack(&d, out);
	field_errors_done(&errors);
	job_dependencies_done(&deps);
	return r;
}
