#include "core/kueue/compose.h"

#include "base/num.h"
#include "core/pod_constraint.h"
#include "kinds/job_keys.h"
#include "kinds/types.h"

#include <ctype.h>
#include <openssl/evp.h>

#define HASH_DIGITS   5
#define DEFAULT_CLASS "default"

/* ---- the name ---- */

static void hash_of(const struct kind *kind, const char *name, const char *uid,
		    char out[HASH_DIGITS + 1])
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned n = 0;
	auto_buf text = BUF_INIT;

	buf_addf(&text, "%s\n%s\n%s\n%s", kind->kind, kind->group, name, uid);
	if (EVP_Digest(text.ptr, text.len, sum, &n, EVP_sha1(), NULL) != 1 || n < 3)
		memset(sum, 0, sizeof(sum)); /* no SHA-1 in this OpenSSL: kind and name are left */
	(void)snprintf(out, HASH_DIGITS + 1, "%02x%02x%x", sum[0], sum[1], sum[2] >> 4);
}

const char *compose_name(const struct kind *kind, const char *job_name, const char *uid_text,
			 int max, char out[STORE_MAX_NAME + 1])
{
	char digits[HASH_DIGITS + 1];
	int room = max - HASH_DIGITS - 1;
	int n = 0;

	hash_of(kind, job_name, uid_text, digits);
	for (const char *k = kind->kind; *k && n < room; k++)
		out[n++] = (char)tolower((unsigned char)*k);
	n += snprintf(out + n, (size_t)(room - n) + 1, "-%s", job_name);
	n = n < room ? n : room;
	(void)snprintf(out + n, (size_t)(STORE_MAX_NAME + 1 - n), "-%s", digits);
	return out;
}

/* ---- pod sets ---- */

static bool is_ray(uint16_t type)
{
	return type == TYPE_RAY_JOB || type == TYPE_RAY_CLUSTER;
}

static struct span set_name(const struct job_pod_set *s, uint16_t type, struct arena *mem)
{
	if (is_ray(type) && span_is(s->name, "ray-head"))
		return SPAN("head");
	char *name = arena_strndup(mem, s->name.ptr, s->name.len);
	for (size_t i = 0; i < s->name.len; i++)
		name[i] = (char)tolower((unsigned char)name[i]);
	return span_make(name, s->name.len);
}

static int pod_sets_of(const struct job_digest *job, uint16_t type,
		       const struct compose_options *options, struct arena *mem,
		       struct workload_digest *ret, struct err *reterr)
{
	const struct job_pod_set *submitter = options->ray_submitter ? job->submitter : NULL;
	size_t n = job->n_pod_sets + (submitter ? 1 : 0);

	if (n > KUEUE_MAX_POD_SETS)
		return err_set(reterr, ERR_INVALID,
			       "the job has %zu pod sets, a Workload at most %d", n,
			       KUEUE_MAX_POD_SETS);
	ret->pod_sets = arena_array(mem, struct job_pod_set, n);
	ret->groups_of = arena_array(mem, struct span, n);
	ret->n_pod_sets = n;
	for (size_t i = 0; i < job->n_pod_sets; i++) {
		ret->pod_sets[i] = job->pod_sets[i];
		ret->pod_sets[i].name = set_name(&job->pod_sets[i], type, mem);
		ret->groups_of[i] = job->pod_sets[i].topology.group;
	}
	if (submitter)
		ret->pod_sets[n - 1] = *submitter;
	return 0;
}

/* ---- priority and limits ---- */

static void priority_of(const struct job_digest *job, bool has_default_class,
			struct workload_digest *ret)
{
	struct span label = job_digest_label(job, JOB_KEY_PRIORITY_CLASS);

	ret->priority_source = WORKLOAD_PRIORITY_CLASS;
	ret->priority_class = label;
	if (label.len)
		return;
	ret->priority_class = SPAN(DEFAULT_CLASS);
	if (has_default_class)
		return;
	ret->priority_class =
	    job->scheduling_class.len ? job->scheduling_class : job->priority_class;
	ret->priority_source =
	    ret->priority_class.len ? WORKLOAD_PRIORITY_POD_CLASS : WORKLOAD_PRIORITY_NONE;
}

static int64_t max_execution(const struct job_digest *job)
{
	uint64_t seconds;

	if (num_parse_u64(job_digest_label(job, JOB_KEY_MAX_EXECUTION), INT32_MAX, &seconds) < 0)
		return 0;
	return (int64_t)seconds;
}

int compose_workload(const struct job_digest *job, uint16_t type,
		     const struct compose_options *options, struct arena *mem,
		     struct workload_digest *ret, struct err *reterr)
{
	struct workload_digest d = {.queue_name = job->queue_name};

	int r = pod_sets_of(job, type, options, mem, &d, reterr);
	if (r < 0)
		return r;
	priority_of(job, options->has_default_class, &d);
	d.max_execution_seconds = max_execution(job);
	*ret = d;
	return 0;
}

/* ---- the engine's words ---- */

struct kueue_pod_set *compose_engine_sets(const struct workload_digest *d,
					  const struct transform_rules *rules, struct arena *mem)
{
	struct kueue_pod_set *out = arena_array(mem, struct kueue_pod_set, d->n_pod_sets);

	for (size_t i = 0; i < d->n_pod_sets; i++) {
		const struct job_pod_set *s = &d->pod_sets[i];
		struct kueue_request *requests =
		    arena_array(mem, struct kueue_request, s->pod.n_requests);
		for (size_t k = 0; k < s->pod.n_requests; k++)
			requests[k] = (struct kueue_request){s->pod.requests[k].resource,
							     s->pod.requests[k].value};
		size_t n_requests = s->pod.n_requests;
		bool changes = rules && (rules->n || rules->n_excluded);
		struct span *asked = arena_array(mem, struct span, n_requests + 1);
		for (size_t k = 0; k < n_requests; k++)
			asked[k] = requests[k].resource;
		if (rules)
			requests =
			    transform_requests(rules, requests, n_requests, mem, &n_requests);
		struct span named[TOPOLOGY_MAX_LAYERS + 1];
		size_t n_levels = topology_request_levels(&s->topology, named);
		struct span *levels = arena_array(mem, struct span, n_levels);
		for (size_t k = 0; k < n_levels; k++)
			levels[k] = named[k];
		out[i] = (struct kueue_pod_set){
		    .name = s->name,
		    .count = (int32_t)s->count,
		    .min_count = (int32_t)s->min_count,
		    .group = d->groups_of ? d->groups_of[i] : SPAN_NONE,
		    .requests = requests,
		    .n_requests = n_requests,
		    .asked = changes ? asked : NULL,
		    .n_asked = changes ? s->pod.n_requests : 0,
		    .constraint = pod_constraint(&s->pod, mem),
		    .topology = topology_request_asks(&s->topology),
		    .levels = levels,
		    .n_levels = n_levels,
		};
	}
	return out;
}
