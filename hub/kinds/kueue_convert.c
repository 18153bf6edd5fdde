/*
 * kueue.x-k8s.io/v1beta1 to v1beta2, in which rows are kept, and back: what has another name or
 * shape there (reference/kueue.md 1.1). Everything else passes as it is, so that nothing that a
 * version does not rename is lost on the way through it.
 *
 * One way only, as in Kueue: a ClusterQueue's admissionChecks come back as
 * admissionChecksStrategy, the policies Borrow and Preempt as MayStopSearch, and an
 * AdmissionCheck's retryDelayMinutes as its default. A Workload's priorityClassName without a
 * source is not kept.
 */
#include "base/json.h"
#include "kinds/hooks.h"
#include "kinds/refuse.h"
#include "kinds/topology_assignment.h"

#define STORED_VERSION "kueue.x-k8s.io/v1beta2"
#define RETRY_DELAY    15 /* minutes */
#define WORKLOAD_CLASS "kueue.x-k8s.io/workloadpriorityclass"
#define POD_CLASS      "scheduling.k8s.io/priorityclass"

static void set_version(const struct kind *k, struct cJSON *object, enum kind_conversion way)
{
	char own[KIND_API_VERSION_MAX];
	const char *now = way == KIND_TO_STORED ? STORED_VERSION : kind_api_version(k, own);
	struct cJSON *old = json_get(object, "apiVersion");

	if (old)
		json_replace(object, old, json_new_str(now));
}

struct names {
	const char *ours, *stored; /* v1beta1, v1beta2 */
};

static void rename_member(struct cJSON *object, struct names n, enum kind_conversion way)
{
	const char *from = way == KIND_TO_STORED ? n.ours : n.stored;
	const char *to = way == KIND_TO_STORED ? n.stored : n.ours;

	json_set(object, to, json_take(object, from));
}

/* ---- ClusterQueue ---- */

static void settle_policy(struct cJSON *fungibility, const char *field, const char *old)
{
	struct cJSON *policy = json_get(fungibility, field);
	const char *value = json_value_str(policy);

	if (value && strcmp(value, old) == 0)
		json_replace(fungibility, policy, json_new_str("MayStopSearch"));
}

static struct cJSON *rule_of(const struct cJSON *rules, const char *name)
{
	json_foreach (rules, r) {
		const char *of = json_str(r, "name");
		if (of && name && strcmp(of, name) == 0)
			return json_dup(r);
	}
	struct cJSON *rule = json_object();
	json_set_str(rule, "name", name);
	return rule;
}

/* The list names the checks; rules of them that stand there already keep their flavors. */
static void join_checks(struct cJSON *spec)
{
	auto_json *names = json_take(spec, "admissionChecks");
	const struct cJSON *rules =
	    json_path(spec, "admissionChecksStrategy", "admissionChecks", NULL);
	struct cJSON *joined;

	if (!json_first(names))
		return;
	joined = json_array();
	json_foreach (names, n)
		json_append(joined, rule_of(rules, json_value_str(n)));
	json_set(json_ensure_object(spec, "admissionChecksStrategy"), "admissionChecks", joined);
}

void cluster_queue_convert(const struct kind *k, struct cJSON *object, enum kind_conversion way)
{
	struct cJSON *spec = json_get(object, "spec");
	struct cJSON *fungibility = json_get(spec, "flavorFungibility");

	set_version(k, object, way);
	rename_member(spec, (struct names){"cohort", "cohortName"}, way);
	if (way != KIND_TO_STORED)
		return;
	settle_policy(fungibility, "whenCanBorrow", "Borrow");
	settle_policy(fungibility, "whenCanPreempt", "Preempt");
	join_checks(spec);
}

/* In v1beta1 a queue without the field takes all namespaces, unless it is one that takes none
 * already: through this version nobody can have meant to change that. */
void cluster_queue_v1beta1_default(const struct kind *k, struct cJSON *object,
				   const struct kind_write *w)
{
	struct cJSON *spec = json_get(object, "spec");

	(void)k;
	if (w->subresource[0] || !spec || json_get(spec, "namespaceSelector"))
		return;
	if (w->old && !json_path(w->old, "spec", "namespaceSelector", NULL))
		return;
	json_set(spec, "namespaceSelector", json_object());
	refuse_warn(w->warnings, "spec.namespaceSelector: missing, so all namespaces are taken; in "
				 "kueue.x-k8s.io/v1beta2 a missing selector takes none");
}

void cluster_queue_v1beta1_validate(const struct kind *k, const struct cJSON *object,
				    const struct kind_write *w, struct field_errors *errors)
{
	const struct cJSON *spec = json_get(object, "spec");
	const struct cJSON *rules = json_get(spec, "admissionChecksStrategy");
	const struct cJSON *before = json_path(w->old, "spec", "admissionChecksStrategy", NULL);

	(void)k;
	if (w->subresource[0] || !rules || !json_len(json_get(spec, "admissionChecks")))
		return;
	/* A strategy that was there is what an earlier list became. */
	if (before && json_equal(before, rules))
		return;
	refuse(errors, FIELD_INVALID, NULL,
	       "Either AdmissionChecks or AdmissionCheckStrategy can be set, but not both", "spec");
}

/* ---- LocalQueue, AdmissionCheck, MultiKueueCluster ---- */

void local_queue_convert(const struct kind *k, struct cJSON *object, enum kind_conversion way)
{
	set_version(k, object, way);
	rename_member(json_get(object, "status"), (struct names){"flavorUsage", "flavorsUsage"},
		      way);
}

void admission_check_convert(const struct kind *k, struct cJSON *object, enum kind_conversion way)
{
	struct cJSON *spec = json_get(object, "spec");

	set_version(k, object, way);
	if (way == KIND_TO_STORED)
		json_remove(spec, "retryDelayMinutes");
	else if (spec)
		json_set_int(spec, "retryDelayMinutes", RETRY_DELAY);
}

void multi_kueue_cluster_convert(const struct kind *k, struct cJSON *object,
				 enum kind_conversion way)
{
	static const char *const sources[] = {"kubeConfig", "clusterProfileRef"};
	struct cJSON *spec = json_get(object, "spec"), *inner;

	set_version(k, object, way);
	if (!spec)
		return;
	if (way == KIND_TO_STORED) {
		inner = json_object();
		for (size_t i = 0; i < ARRAY_LEN(sources); i++)
			json_set(inner, sources[i], json_take(spec, sources[i]));
		json_set(spec, "clusterSource", inner);
		return;
	}
	inner = json_take(spec, "clusterSource");
	for (size_t i = 0; i < ARRAY_LEN(sources); i++)
		json_set(spec, sources[i], json_take(inner, sources[i]));
	json_free(inner);
}

/* ---- Workload ---- */

static void class_to_stored(struct cJSON *spec)
{
	auto_json *name = json_take(spec, "priorityClassName");
	auto_json *source = json_take(spec, "priorityClassSource");
	const char *of = json_value_str(source);
	bool own = of && strcmp(of, WORKLOAD_CLASS) == 0;

	if (!own && !(of && strcmp(of, POD_CLASS) == 0))
		return;
	struct cJSON *ref = json_object();
	json_set_str(ref, "group", own ? "kueue.x-k8s.io" : "scheduling.k8s.io");
	json_set_str(ref, "kind", own ? "WorkloadPriorityClass" : "PriorityClass");
	json_set_str(ref, "name", json_value_str(name));
	json_set(spec, "priorityClassRef", ref);
}

static void class_from_stored(struct cJSON *spec)
{
	auto_json *ref = json_take(spec, "priorityClassRef");
	const char *group = json_str(ref, "group");

	if (!ref)
		return;
	json_set_str(spec, "priorityClassName", json_str(ref, "name"));
	json_set_str(spec, "priorityClassSource",
		     group && strcmp(group, "scheduling.k8s.io") == 0 ? POD_CLASS : WORKLOAD_CLASS);
}

void workload_convert(const struct kind *k, struct cJSON *object, enum kind_conversion way)
{
	struct cJSON *spec = json_get(object, "spec"), *status = json_get(object, "status");

	set_version(k, object, way);
	if (way == KIND_TO_STORED)
		class_to_stored(spec);
	else
		class_from_stored(spec);
	rename_member(status,
		      (struct names){"accumulatedPastExexcutionTimeSeconds",
				     "accumulatedPastExecutionTimeSeconds"},
		      way);
	json_foreach (json_path(status, "admission", "podSetAssignments", NULL), a) {
		struct cJSON *assignment = json_get(a, "topologyAssignment");
		if (way == KIND_TO_STORED)
			topology_assignment_to_slices(assignment);
		else
			topology_assignment_to_domains(assignment);
	}
}

static bool is_reserved(const struct cJSON *object)
{
	json_foreach (json_path(object, "status", "conditions", NULL), c) {
		const char *type = json_str(c, "type"), *status = json_str(c, "status");
		if (type && status && strcmp(type, "QuotaReserved") == 0)
			return strcmp(status, "True") == 0;
	}
	return false;
}

static bool differs(const struct cJSON *a, const struct cJSON *b)
{
	return a && b && !json_equal(a, b);
}

static void check_class_change(const struct cJSON *old, const struct cJSON *spec,
			       struct field_errors *errors)
{
	const char *source = json_str(spec, "priorityClassSource");

	if (differs(json_get(old, "priorityClassSource"), json_get(spec, "priorityClassSource")))
		refuse(errors, FIELD_INVALID, json_get(spec, "priorityClassSource"),
		       "priorityClassSource is immutable while workload quota reserved",
		       "spec.priorityClassSource");
	if (source && strcmp(source, WORKLOAD_CLASS) != 0 &&
	    differs(json_get(old, "priorityClassName"), json_get(spec, "priorityClassName")))
		refuse(errors, FIELD_INVALID, json_get(spec, "priorityClassName"),
		       "priorityClassName is immutable while workload quota reserved and "
		       "priorityClassSource is not equal to " WORKLOAD_CLASS,
		       "spec.priorityClassName");
}

void workload_v1beta1_validate(const struct kind *k, const struct cJSON *object,
			       const struct kind_write *w, struct field_errors *errors)
{
	const struct cJSON *spec = json_get(object, "spec");
	const char *name = json_str(spec, "priorityClassName");
	const char *source = json_str(spec, "priorityClassSource");

	(void)k;
	if (w->subresource[0])
		return;
	if (name && !json_get(spec, "priority"))
		refuse(errors, FIELD_INVALID, NULL,
		       "priority should not be nil when priorityClassName is set", "spec");
	if (source && source[0] && !name)
		refuse(errors, FIELD_REQUIRED, NULL, "the source needs a name",
		       "spec.priorityClassName");
	if (name && !(source && source[0]) && !w->old)
		refuse_warn(w->warnings, "spec.priorityClassName: not kept without "
					 "spec.priorityClassSource");
	if (w->old && is_reserved(w->old))
		check_class_change(json_get(w->old, "spec"), spec, errors);
}
