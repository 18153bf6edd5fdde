#include "core/kueue/provisioning_spec.h"

#include "base/json.h"
#include "base/num.h"
#include "core/provisioning/request.h"
#include "kinds/job_keys.h"

#include <inttypes.h>

#define PARAMETER "provreq.kueue.x-k8s.io/"
#define MAX_RUN	  "maxRunDurationSeconds"
#define RUN_MAX_S (REQUEST_MAX_RUN / USEC_PER_SEC)

/* ---- pod sets ---- */

static int64_t amount_of(const struct job_pod_set *s, struct span resource)
{
	for (size_t i = 0; i < s->pod.n_requests; i++)
		if (span_eq(s->pod.requests[i].resource, resource))
			return s->pod.requests[i].value;
	return 0;
}

static bool requests_any(const struct cJSON *managed, const struct job_pod_set *s)
{
	json_foreach (managed, r)
		if (json_value_str(r) && amount_of(s, span_of(json_value_str(r))) > 0)
			return true;
	return false;
}

size_t provisioning_spec_managed(const struct provisioning_config *config,
				 const struct workload_digest *d, bool *managed)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n_pod_sets; i++) {
		managed[i] = d->pod_sets[i].count > 0 &&
			     (!config->managed || requests_any(config->managed, &d->pod_sets[i]));
		n += managed[i];
	}
	return n;
}

/* Extended resources of any kind: devices. */
static int64_t devices_of(const struct job_pod_set *s)
{
	int64_t sum = 0;

	for (size_t i = 0; i < s->pod.n_requests; i++)
		if (memchr(s->pod.requests[i].resource.ptr, '/', s->pod.requests[i].resource.len))
			sum = num_add_sat(sum, s->pod.requests[i].value);
	return sum;
}

static int64_t managed_of(const struct cJSON *managed, const struct job_pod_set *s)
{
	int64_t sum = 0;

	json_foreach (managed, r)
		if (json_value_str(r))
			sum = num_add_sat(sum, amount_of(s, span_of(json_value_str(r))));
	return sum;
}

static bool is_larger(const struct cJSON *managed, const struct job_pod_set *a,
		      const struct job_pod_set *b)
{
	const int64_t pairs[][2] = {
	    {managed_of(managed, a), managed_of(managed, b)},
	    {devices_of(a), devices_of(b)},
	    {amount_of(a, SPAN("cpu")), amount_of(b, SPAN("cpu"))},
	    {amount_of(a, SPAN("memory")), amount_of(b, SPAN("memory"))},
	};

	for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
		if (pairs[i][0] != pairs[i][1])
			return pairs[i][0] > pairs[i][1];
	return false;
}

size_t provisioning_spec_largest(const struct provisioning_spec *s)
{
	const struct job_pod_set *sets = s->digest->pod_sets;
	size_t best = s->digest->n_pod_sets;

	for (size_t i = 0; i < s->digest->n_pod_sets; i++)
		if (s->managed[i] && (best == s->digest->n_pod_sets ||
				      is_larger(s->config->managed, &sets[i], &sets[best])))
			best = i;
	return best;
}

int64_t provisioning_spec_pods(const struct provisioning_spec *s)
{
	int64_t n = 0;

	for (size_t i = 0; i < s->digest->n_pod_sets; i++)
		if (s->managed[i])
			n = num_add_sat(n, s->digest->pod_sets[i].count);
	return num_min(n, (int64_t)INT32_MAX);
}

/* ---- pod sets that are alike ---- */

static void copy_field(const struct cJSON *from, const char *key, struct cJSON *to)
{
	const struct cJSON *v = json_get(from, key);

	if (v)
		json_set(to, key, json_dup(v));
}

static void copy_requests(const struct cJSON *spec, const char *key, struct cJSON *to)
{
	struct cJSON *list = json_array();

	json_foreach (json_get(spec, key), container) {
		struct cJSON *one = json_object();
		copy_field(container, "resources", one);
		copy_field(container, "restartPolicy", one); /* of a sidecar */
		json_append(list, one);
	}
	json_set(to, key, list);
}

/* What scheduling looks at in a pod's spec; owned. */
static struct cJSON *requirements_of(const struct cJSON *template)
{
	static const char *const fields[] = {
	    "nodeSelector",	 "affinity",  "tolerations",	  "topologySpreadConstraints",
	    "priorityClassName", "priority",  "runtimeClassName", "schedulerName",
	    "overhead",		 "resources", "resourceClaims",	  "schedulingGates",
	};
	const struct cJSON *spec = json_get(template, "spec");
	struct cJSON *out = json_object();

	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		copy_field(spec, fields[i], out);
	copy_requests(spec, "initContainers", out);
	copy_requests(spec, "containers", out);
	return out;
}

static bool are_alike(enum provisioning_merge policy, const struct cJSON *a, const struct cJSON *b)
{
	if (policy == PROVISIONING_MERGE_NONE)
		return false;
	if (policy == PROVISIONING_MERGE_TEMPLATES)
		return json_equal(a, b);
	auto_json *x = requirements_of(a), *y = requirements_of(b);
	return json_equal(x, y);
}

size_t provisioning_spec_groups(const struct provisioning_spec *s,
				const struct cJSON *const *templates,
				struct provisioning_group *ret)
{
	size_t n = 0;

	if (strcmp(s->config->class, PROVISIONING_QUEUED_CLASS) == 0) {
		ret[0] = (struct provisioning_group){provisioning_spec_largest(s),
						     provisioning_spec_pods(s)};
		return 1;
	}
	for (size_t i = 0; i < s->digest->n_pod_sets; i++) {
		size_t at = 0;
		if (!s->managed[i])
			continue;
		while (at < n && !are_alike(s->config->merge, templates[ret[at].set], templates[i]))
			at++;
		if (at == n)
			ret[n++] = (struct provisioning_group){i, 0};
		ret[at].count = num_min(num_add_sat(ret[at].count, s->digest->pod_sets[i].count),
					(int64_t)INT32_MAX);
	}
	return n;
}

/* ---- names ---- */

static void limit(struct buf *b)
{
	uint64_t h = 14695981039346656037u; /* FNV-1a */

	if (b->len <= STORE_MAX_NAME)
		return;
	for (size_t i = 0; i < b->len; i++)
		h = (h ^ (unsigned char)b->ptr[i]) * 1099511628211u;
	auto_free char *was = xstrdup(b->ptr);
	buf_clear(b);
	buf_addf(b, "%.*s-%016" PRIx64, STORE_MAX_NAME - 17, was, h);
}

void provisioning_spec_name(struct span workload, const char *check, int32_t attempt,
			    struct buf *out)
{
	buf_addf(out, "%.*s-%s-%d", SPAN_ARGS(workload), check, attempt);
	limit(out);
}

void provisioning_spec_template_name(const char *request, struct span set, struct buf *out)
{
	buf_addf(out, "ppt-%s-%.*s", request, SPAN_ARGS(set));
	limit(out);
}

/* ---- the request ---- */

static void clamp_run(struct cJSON *parameters)
{
	const char *run = json_str(parameters, MAX_RUN);
	int64_t seconds;

	if (run && num_parse_i64(span_of(run), 1, INT64_MAX, &seconds) == 0 && seconds > RUN_MAX_S)
		json_set_str(parameters, MAX_RUN, "604800");
}

void provisioning_spec_request(const struct provisioning_spec *s, const char *request,
			       const struct provisioning_group *groups, size_t n_groups,
			       const struct cJSON *annotations, struct buf *out)
{
	struct cJSON *parameters =
	    s->config->parameters ? json_dup(s->config->parameters) : json_object();

	json_foreach (annotations, a)
		if (strncmp(json_key(a), PARAMETER, strlen(PARAMETER)) == 0 && json_value_str(a))
			json_set_str(parameters, json_key(a) + strlen(PARAMETER),
				     json_value_str(a));
	clamp_run(parameters);
	buf_add_str(out, "{\"provisioningClassName\":");
	buf_add_json_str(out, span_of(s->config->class));
	if (json_first(parameters)) {
		buf_add_str(out, ",\"parameters\":");
		json_print(parameters, out);
	}
	json_free(parameters);
	buf_add_str(out, ",\"podSets\":[");
	for (size_t i = 0; i < n_groups; i++) {
		auto_buf name = BUF_INIT;
		provisioning_spec_template_name(request, s->digest->pod_sets[groups[i].set].name,
						&name);
		buf_addf(out,
			 "%s{\"count\":%" PRId64 ",\"podTemplateRef\":{\"name\":", i ? "," : "",
			 groups[i].count);
		buf_add_json_str(out, buf_span(&name));
		buf_add_str(out, "}}");
	}
	buf_add_str(out, "]}");
}

/* ---- what the pods are told ---- */

static void add_annotations(const struct provisioning_spec *s, const char *request, struct buf *out)
{
	static const char *const spellings[][2] = {
	    {JOB_KEY_CONSUME, JOB_KEY_PROVISIONING_CLASS},
	    {JOB_KEY_CONSUME_OLD, JOB_KEY_PROVISIONING_CLASS_OLD},
	};

	for (size_t i = 0; i < ARRAY_LEN(spellings); i++) {
		buf_addf(out, "%s\"%s\":", i ? "," : "", spellings[i][0]);
		buf_add_json_str(out, span_of(request));
		buf_addf(out, ",\"%s\":", spellings[i][1]);
		buf_add_json_str(out, span_of(s->config->class));
	}
}

static void add_selector(const struct provisioning_spec *s, const struct cJSON *status,
			 struct buf *out)
{
	const struct cJSON *details = json_get(status, "provisioningClassDetails");
	size_t n = 0;

	json_foreach (s->config->node_selector, k) {
		const char *key = json_str(k, "key"),
			   *from = json_str(k, "valueFromProvisioningClassDetail");
		const char *value = from ? json_str(details, from) : NULL;
		if (!key || !value)
			continue;
		buf_add_str(out, n++ ? "," : ",\"nodeSelector\":{");
		buf_add_json_str(out, span_of(key));
		buf_add_char(out, ':');
		buf_add_json_str(out, span_of(value));
	}
	if (n)
		buf_add_char(out, '}');
}

void provisioning_spec_updates(const struct provisioning_spec *s, const char *request,
			       const struct cJSON *status, struct buf *out)
{
	const char *sep = "";

	buf_add_char(out, '[');
	for (size_t i = 0; i < s->digest->n_pod_sets; i++) {
		if (!s->managed[i])
			continue;
		buf_addf(out, "%s{\"name\":", sep);
		buf_add_json_str(out, s->digest->pod_sets[i].name);
		buf_add_str(out, ",\"annotations\":{");
		add_annotations(s, request, out);
		buf_add_char(out, '}');
		add_selector(s, status, out);
		buf_add_str(out, ",\"tolerations\":[{\"key\":\"" JOB_KEY_QUEUED_POOL
				 "\",\"operator\":\"Exists\",\"effect\":\"NoSchedule\"}]}");
		sep = ",";
	}
	buf_add_char(out, ']');
}
