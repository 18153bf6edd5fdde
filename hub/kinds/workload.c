/*
 * The validation of Kueue's Workload. Rules and words of its webhook (pkg/webhooks) and of the
 * rules in its CustomResourceDefinition; reference/kueue.md 1.3. Where such a rule stands at the
 * root of the object, whose path is nothing, the path here is that of the field it speaks of.
 */
#include "base/json.h"
#include "kinds/hooks.h"
#include "kinds/refuse.h"
#include "kinds/taints.h"
#include "kinds/topology_assignment.h"
#include "kube/names.h"
#include "kube/quantity.h"

#define IMMUTABLE "field is immutable"

static bool condition_is_true(const struct cJSON *object, const char *type)
{
	json_foreach (json_path(object, "status", "conditions", NULL), c) {
		const char *t = json_str(c, "type"), *status = json_str(c, "status");
		if (t && strcmp(t, type) == 0)
			return status && strcmp(status, "True") == 0;
	}
	return false;
}

static bool is_reserved(const struct cJSON *object)
{
	return condition_is_true(object, "QuotaReserved");
}

static const struct cJSON *named(const struct cJSON *list, const char *name)
{
	json_foreach (list, it) {
		const char *n = json_str(it, "name");
		if (n && name && strcmp(n, name) == 0)
			return it;
	}
	return NULL;
}

static bool is(const struct cJSON *object, const char *key, const char *value)
{
	const char *v = json_str(object, key);
	return v && strcmp(v, value) == 0;
}

static void refuse_unknown_set(const struct cJSON *sets, const char *name, const char *path,
			       struct field_errors *errors)
{
	const char *sep = "supported values: ";
	auto_buf words = BUF_INIT;

	json_foreach (sets, s) {
		buf_addf(&words, "%s\"%s\"", sep, json_str(s, "name"));
		sep = ", ";
	}
	refuse_text(errors, FIELD_NOT_SUPPORTED, name, words.ptr ? words.ptr : "", "%s.name", path);
}

/* ---- spec ---- */

static void check_containers(const struct cJSON *set, size_t i, const char *list,
			     struct field_errors *errors)
{
	const struct cJSON *containers = json_path(set, "template", "spec", list, NULL);
	auto_json *pods = json_new_str("pods");
	size_t n = 0;

	json_foreach (containers, c) {
		size_t at = n++;
		if (json_get(json_path(c, "resources", "requests", NULL), "pods"))
			refuse(errors, FIELD_INVALID, pods,
			       "the key is reserved for internal kueue use",
			       "spec.podSets[%zu].template.spec.%s[%zu].resources.requests[pods]",
			       i, list, at);
	}
}

/* The names of what it asks more of than it may have; an empty array when all is well. */
static struct cJSON *above_limits(const struct cJSON *resources)
{
	const struct cJSON *limits = json_get(resources, "limits");
	struct cJSON *names = json_array();

	json_foreach (json_get(resources, "requests"), r) {
		unsigned unit = quantity_unit(span_of(json_key(r)));
		const struct cJSON *limit = json_get(limits, json_key(r));
		int64_t asked, most;
		if (limit && quantity_from_node(r, unit, &asked) == 0 &&
		    quantity_from_node(limit, unit, &most) == 0 && asked > most)
			json_append(names, json_new_str(json_key(r)));
	}
	return names;
}

/* Kueue takes such a Workload and never admits it (ValidateResources, pkg/workload/resources.go);
 * here it is told at once. */
static void check_limits(const struct cJSON *sets, const char *list, struct field_errors *errors)
{
	size_t i = 0;

	json_foreach (sets, set) {
		size_t at = 0;
		json_foreach (json_path(set, "template", "spec", list, NULL), c) {
			auto_json *names = above_limits(json_get(c, "resources"));
			if (json_len(names))
				refuse(errors, FIELD_INVALID, names,
				       "requests must not exceed its limits",
				       "spec.podSets[%zu].template.spec.%s[%zu]", i, list, at);
			at++;
		}
		i++;
	}
}

static void check_pod_sets(const struct cJSON *sets, struct field_errors *errors)
{
	int64_t variable = 0, min, count;
	size_t i = 0;

	json_foreach (sets, set) {
		if (json_int64(set, "minCount", &min) == 0) {
			variable++;
			if (json_int64(set, "count", &count) == 0 && min > count)
				refuse(errors, FIELD_INVALID, NULL,
				       "minCount should be positive and less or equal to count",
				       "spec.podSets[%zu]", i);
		}
		check_containers(set, i, "initContainers", errors);
		check_containers(set, i++, "containers", errors);
	}
	if (variable > 1) {
		auto_json *n = json_new_int(variable);
		refuse(errors, FIELD_INVALID, n, "at most one podSet can use minCount",
		       "spec.podSets");
	}
}

static void check_class(const struct cJSON *spec, struct field_errors *errors)
{
	const struct cJSON *ref = json_get(spec, "priorityClassRef");

	if (!ref)
		return;
	if (!json_get(spec, "priority"))
		refuse(errors, FIELD_INVALID, NULL,
		       "priority should not be nil when priorityClassRef is set", "spec");
	if (is(ref, "group", "scheduling.k8s.io") && !is(ref, "kind", "PriorityClass"))
		refuse(errors, FIELD_INVALID, NULL,
		       "only the PriorityClass kind is allowed for the scheduling.k8s.io group",
		       "spec.priorityClassRef");
	if (is(ref, "group", "kueue.x-k8s.io") && !is(ref, "kind", "WorkloadPriorityClass"))
		refuse(
		    errors, FIELD_INVALID, NULL,
		    "only the WorkloadPriorityClass kind is allowed for the kueue.x-k8s.io group",
		    "spec.priorityClassRef");
}

/* ---- status ---- */

static void check_usage(const struct cJSON *assignment, size_t i, struct field_errors *errors)
{
	int64_t count = 0, v;
	char words[64];

	if (json_int64(assignment, "count", &count) < 0 || count <= 0)
		return;
	json_foreach (json_get(assignment, "resourceUsage"), usage) {
		const char *resource = json_key(usage);
		unsigned unit = quantity_unit(span_of(resource)) | QUANTITY_NEGATIVE;
		if (quantity_from_node(usage, unit, &v) < 0 || v % count == 0)
			continue;
		(void)snprintf(words, sizeof(words), "is not a multiple of %lld", (long long)count);
		refuse(errors, FIELD_INVALID, usage, words,
		       "status.admission.podSetAssignments[%zu].resourceUsage[%.200s]", i,
		       resource);
	}
}

static void check_admission(const struct cJSON *object, struct field_errors *errors)
{
	const struct cJSON *sets = json_path(object, "spec", "podSets", NULL);
	const struct cJSON *admission = json_path(object, "status", "admission", NULL);
	const struct cJSON *assignments = json_get(admission, "podSetAssignments");
	char path[96];
	size_t i = 0;

	json_foreach (assignments, a) {
		(void)snprintf(path, sizeof(path),
			       "status.admission.podSetAssignments[%zu].topologyAssignment", i);
		topology_assignment_check(json_get(a, "topologyAssignment"), path, errors);
		i++;
	}
	if (!admission || !is_reserved(object))
		return;
	if (json_len(sets) != json_len(assignments))
		refuse(errors, FIELD_INVALID, NULL,
		       "podSetAssignments must have the same number of podSets as the spec",
		       "status.admission.podSetAssignments");
	i = 0;
	json_foreach (assignments, a) {
		const char *name = json_str(a, "name");
		if (!named(sets, name))
			refuse_text(errors, FIELD_NOT_FOUND, name, "",
				    "status.admission.podSetAssignments[%zu].name", i);
		check_usage(a, i++, errors);
	}
}

static void check_reclaimable(const struct cJSON *object, struct field_errors *errors)
{
	const struct cJSON *sets = json_path(object, "spec", "podSets", NULL);
	char path[128], words[64];
	int64_t count = 0, most = 0;

	json_foreach (json_path(object, "status", "reclaimablePods", NULL), r) {
		const char *name = json_str(r, "name");
		const struct cJSON *set = named(sets, name);
		(void)snprintf(path, sizeof(path), "status.reclaimablePods[%.63s]", name);
		if (!set) {
			refuse_unknown_set(sets, name, path, errors);
			continue;
		}
		if (json_int64(r, "count", &count) < 0 || json_int64(set, "count", &most) < 0 ||
		    count <= most)
			continue;
		(void)snprintf(words, sizeof(words), "should be less or equal to %lld",
			       (long long)most);
		refuse(errors, FIELD_INVALID, json_get(r, "count"), words, "%s.count", path);
	}
}

static void check_pairs(const struct cJSON *map, const char *path, const char *field, bool values,
			struct field_errors *errors)
{
	json_foreach (map, m) {
		const char *key = json_key(m), *value = json_value_str(m);
		if (key && !names_is_qualified(span_of(key)))
			refuse_text(errors, FIELD_INVALID, key, names_qualified_rule(span_of(key)),
				    "%s.%s", path, field);
		if (values && value && !names_is_label_value(span_of(value)))
			refuse_text(errors, FIELD_INVALID, value,
				    names_label_value_rule(span_of(value)), "%s.%s", path, field);
	}
}

static void check_update(const struct cJSON *sets, const struct cJSON *update, const char *path,
			 struct field_errors *errors)
{
	char below[128];

	if (!named(sets, json_str(update, "name")))
		refuse_unknown_set(sets, json_str(update, "name"), path, errors);
	(void)snprintf(below, sizeof(below), "%.100s.tolerations", path);
	taints_check_tolerations(json_get(update, "tolerations"), below, errors);
	check_pairs(json_get(update, "annotations"), path, "annotations", false, errors);
	check_pairs(json_get(update, "nodeSelector"), path, "nodeSelector", true, errors);
	check_pairs(json_get(update, "labels"), path, "labels", true, errors);
}

static void check_checks(const struct cJSON *object, struct field_errors *errors)
{
	const struct cJSON *sets = json_path(object, "spec", "podSets", NULL);
	char path[96];
	size_t i = 0;

	json_foreach (json_path(object, "status", "admissionChecks", NULL), c) {
		size_t j = 0, at = i++;
		json_foreach (json_get(c, "podSetUpdates"), u) {
			(void)snprintf(path, sizeof(path),
				       "status.admissionChecks[%zu].podSetUpdates[%zu]", at, j++);
			check_update(sets, u, path, errors);
		}
	}
}

static void check_clusters(const struct cJSON *status, struct field_errors *errors)
{
	if (json_get(status, "clusterName") && json_len(json_get(status, "nominatedClusterNames")))
		refuse(errors, FIELD_INVALID, NULL,
		       "clusterName and nominatedClusterNames are mutually exclusive", "status");
}

/* ---- changes ---- */

/* All but that the count of a set shrinks, as elastic jobs do. */
static void check_same_sets(const struct cJSON *before, const struct cJSON *now,
			    struct field_errors *errors)
{
	const struct cJSON *old = json_first(before);
	size_t i = 0;

	if (json_equal(before, now))
		return;
	if (json_len(before) != json_len(now)) {
		refuse(errors, FIELD_INVALID, now, IMMUTABLE, "spec.podSets");
		return;
	}
	json_foreach (now, set) {
		int64_t was = 0, is_now = 0;
		auto_json *same = json_dup(set);
		(void)json_int64(old, "count", &was);
		(void)json_int64(set, "count", &is_now);
		if (is_now < was)
			json_set_int(same, "count", was);
		if (!json_equal(old, same))
			refuse(errors, FIELD_INVALID, set, IMMUTABLE, "spec.podSets[%zu]", i);
		old = json_next(old);
		i++;
	}
}

#define RESERVED_RULE(field) field " is immutable while workload quota reserved"

static bool differs(const struct cJSON *a, const struct cJSON *b)
{
	return a && b && !json_equal(a, b);
}

static void check_same_class(const struct cJSON *old, const struct cJSON *spec,
			     struct field_errors *errors)
{
	const struct cJSON *before = json_get(old, "priorityClassRef");
	const struct cJSON *now = json_get(spec, "priorityClassRef");
	const char *path = "spec.priorityClassRef";

	if (!before != !now)
		refuse(errors, FIELD_INVALID, NULL, RESERVED_RULE("priorityClassRef"), "%s", path);
	if (differs(json_get(before, "group"), json_get(now, "group")))
		refuse(errors, FIELD_INVALID, json_get(now, "group"),
		       RESERVED_RULE("priorityClassRef.group"), "%s.group", path);
	if (differs(json_get(before, "kind"), json_get(now, "kind")))
		refuse(errors, FIELD_INVALID, json_get(now, "kind"),
		       RESERVED_RULE("priorityClassRef.kind"), "%s.kind", path);
	if (is(now, "group", "scheduling.k8s.io") &&
	    differs(json_get(before, "name"), json_get(now, "name")))
		refuse(errors, FIELD_INVALID, json_get(now, "name"),
		       "priorityClassRef.name is immutable for scheduling.k8s.io/priorityclass "
		       "while workload quota reserved",
		       "%s.name", path);
}

static void check_same_time(const struct cJSON *old, const struct cJSON *object,
			    struct field_errors *errors)
{
	const char *field = "maximumExecutionTimeSeconds";
	int64_t before = 0, now = 0;

	if (!condition_is_true(old, "Admitted") || !condition_is_true(object, "Admitted"))
		return;
	(void)json_int64(json_get(old, "spec"), field, &before);
	(void)json_int64(json_get(object, "spec"), field, &now);
	if (before != now)
		refuse(errors, FIELD_INVALID, json_path(object, "spec", field, NULL),
		       RESERVED_RULE("maximumExecutionTimeSeconds"), "spec.%s", field);
}

static void check_same_spec(const struct cJSON *old, const struct cJSON *object,
			    struct field_errors *errors)
{
	const struct cJSON *before = json_get(old, "spec"), *now = json_get(object, "spec");

	check_same_time(old, object, errors);
	if (!is_reserved(old))
		return;
	check_same_sets(json_get(before, "podSets"), json_get(now, "podSets"), errors);
	check_same_class(before, now, errors);
	if (is_reserved(object) &&
	    differs(json_get(before, "queueName"), json_get(now, "queueName")))
		refuse(errors, FIELD_INVALID, json_get(now, "queueName"),
		       RESERVED_RULE("queueName"), "spec.queueName");
}

/* Places may still be found once nodes are provisioned; nothing else changes. */
static void check_same_admission(const struct cJSON *before, const struct cJSON *now,
				 struct field_errors *errors)
{
	static const char *const free_fields[] = {"topologyAssignment", "delayedTopologyRequest"};
	if (!before || !now || json_equal(before, now))
		return;
	auto_json *a = json_dup(before), *b = json_dup(now);
	struct cJSON *both[] = {a, b};

	for (size_t i = 0; i < ARRAY_LEN(both); i++)
		json_foreach (json_get(both[i], "podSetAssignments"), p)
			for (size_t j = 0; j < ARRAY_LEN(free_fields); j++)
				json_remove(p, free_fields[j]);
	if (!json_equal(a, b))
		refuse(errors, FIELD_INVALID, now, IMMUTABLE, "status.admission");
}

static void check_less_reclaimable(const struct cJSON *before, const struct cJSON *now,
				   struct field_errors *errors)
{
	int64_t was = 0, count = 0;
	char words[64];

	json_foreach (before, old) {
		const char *name = json_str(old, "name");
		const struct cJSON *r = named(now, name);
		if (!r) {
			refuse(errors, FIELD_REQUIRED, NULL, "cannot be removed",
			       "status.reclaimablePods[%.63s]", name);
			continue;
		}
		if (json_int64(old, "count", &was) < 0 || json_int64(r, "count", &count) < 0 ||
		    count >= was)
			continue;
		(void)snprintf(words, sizeof(words), "cannot be less then %lld", (long long)was);
		refuse(errors, FIELD_INVALID, json_get(r, "count"), words,
		       "status.reclaimablePods[%.63s].count", name);
	}
}

/* What a check gave the pods stays, once it was ready. */
static void check_same_updates(const struct cJSON *before, const struct cJSON *now,
			       struct field_errors *errors)
{
	size_t i = 0;

	json_foreach (before, old) {
		const struct cJSON *c = named(now, json_str(old, "name"));
		size_t at = i++;
		const struct cJSON *x = json_get(old, "podSetUpdates");
		const struct cJSON *y = json_get(c, "podSetUpdates");
		if (!is(old, "state", "Ready") || !is(c, "state", "Ready"))
			continue;
		if (x && y ? !json_equal(x, y) : x != y)
			refuse(errors, FIELD_INVALID, y, IMMUTABLE,
			       "status.admissionChecks[%zu].podSetUpdates", at);
	}
}

static void check_same_status(const struct cJSON *old, const struct cJSON *object,
			      struct field_errors *errors)
{
	const struct cJSON *before = json_get(old, "status"), *now = json_get(object, "status");

	check_same_admission(json_get(before, "admission"), json_get(now, "admission"), errors);
	if (is_reserved(old) && is_reserved(object))
		check_less_reclaimable(json_get(before, "reclaimablePods"),
				       json_get(now, "reclaimablePods"), errors);
	check_same_updates(json_get(before, "admissionChecks"), json_get(now, "admissionChecks"),
			   errors);
	if (differs(json_get(before, "clusterName"), json_get(now, "clusterName")))
		refuse(errors, FIELD_INVALID, NULL, "clusterName is immutable once set", "status");
}

void workload_validate(const struct kind *k, const struct cJSON *object, const struct kind_write *w,
		       struct field_errors *errors)
{
	const struct cJSON *spec = json_get(object, "spec");

	(void)k;
	check_pod_sets(json_get(spec, "podSets"), errors);
	if (!w->old) {
		check_limits(json_get(spec, "podSets"), "initContainers", errors);
		check_limits(json_get(spec, "podSets"), "containers", errors);
	}
	check_class(spec, errors);
	check_admission(object, errors);
	check_reclaimable(object, errors);
	check_checks(object, errors);
	check_clusters(json_get(object, "status"), errors);
	if (!w->old)
		return;
	check_same_spec(w->old, object, errors);
	check_same_status(w->old, object, errors);
}
