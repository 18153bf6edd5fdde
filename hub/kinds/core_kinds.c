/* Hooks of Namespace, ServiceAccount, Pod, PodTemplate, Lease and PriorityClass. */
#include "base/json.h"
#include "kinds/defaults.h"
#include "kinds/hooks.h"
#include "kinds/pod_defaults.h"
#include "kinds/pod_rules.h"
#include "kinds/refuse.h"
#include "kinds/system_classes.h"
#include "kube/names.h"

#define NAMESPACE_NAME_LABEL "kubernetes.io/metadata.name"

static bool has_text(const struct cJSON *list, const char *text)
{
	json_foreach (list, v) {
		const char *s = json_value_str(v);
		if (s && strcmp(s, text) == 0)
			return true;
	}
	return false;
}

void namespace_default(const struct kind *k, struct cJSON *object, const struct kind_write *w)
{
	struct cJSON *meta = json_get(object, "metadata");
	struct cJSON *labels = json_ensure_object(meta, "labels");
	struct cJSON *spec, *list;

	(void)k;
	if (labels)
		json_set_str(labels, NAMESPACE_NAME_LABEL, json_str(meta, "name"));
	spec = json_ensure_object(object, "spec");
	if (w->old) { /* which holds only what /finalize changes, and may have emptied for good */
		const struct cJSON *was = json_path(w->old, "spec", "finalizers", NULL);
		if (strcmp(w->subresource, "finalize") == 0 || !spec)
			return;
		json_remove(spec, "finalizers");
		if (was)
			json_set(spec, "finalizers", json_dup(was));
		return;
	}
	list = json_get(spec, "finalizers");
	if (!json_is(list, JSON_ARRAY)) {
		list = json_array();
		json_set(spec, "finalizers", list);
	}
	if (!has_text(list, "kubernetes"))
		json_append(list, json_new_str("kubernetes"));
	defaults_set(json_ensure_object(object, "status"), "phase", json_new_str("Active"));
}

void namespace_validate(const struct kind *k, const struct cJSON *object,
			const struct kind_write *w, struct field_errors *errors)
{
	(void)k;
	(void)w;
	json_foreach (json_path(object, "spec", "finalizers", NULL), f) {
		const char *name = json_value_str(f);
		if (!name)
			continue;
		if (!names_is_qualified(span_of(name)))
			refuse_text(errors, FIELD_INVALID, name,
				    names_qualified_rule(span_of(name)), "spec.finalizers");
		else if (!strchr(name, '/') && strcmp(name, "kubernetes") != 0)
			refuse_text(errors, FIELD_INVALID, name,
				    "name is neither a standard finalizer name nor is it fully "
				    "qualified",
				    "spec.finalizers");
	}
}

/* ---- ServiceAccount ---- */

/* Of its secrets only the names count. */
void service_account_default(const struct kind *k, struct cJSON *object, const struct kind_write *w)
{
	(void)k;
	(void)w;
	json_foreach (json_get(object, "secrets"), s)
		for (struct cJSON *c = json_first(s), *next; c; c = next) {
			next = json_next(c);
			if (strcmp(json_key(c), "name") != 0)
				json_remove_child(s, c);
		}
}

/* ---- Pod ---- */

/* As the API server's strategy says it on creation. */
static void say_gated(struct cJSON *status)
{
	struct cJSON *one = json_object(), *list = json_array();

	json_set_str(one, "type", "PodScheduled");
	json_set_str(one, "status", "False");
	json_set_str(one, "reason", "SchedulingGated");
	json_set_str(one, "message", "Scheduling is blocked due to non-empty scheduling gates");
	json_append(list, one);
	json_set(status, "conditions", list);
}

static void default_spec(struct cJSON *spec)
{
	pod_defaults_spec(spec);
	pod_defaults_pod(spec);
}

void pod_default(const struct kind *k, struct cJSON *object, const struct kind_write *w)
{
	struct cJSON *spec = json_get(object, "spec");

	(void)k;
	if (!spec || w->subresource[0])
		return;
	default_spec(spec);
	if (w->old)
		return;
	struct cJSON *status = json_ensure_object(object, "status");
	defaults_set(status, "phase", json_new_str("Pending"));
	if (json_len(json_get(spec, "schedulingGates")) > 0 && !json_get(status, "conditions"))
		say_gated(status);
}

#define POD_UPDATES                                                                                \
	"pod updates may not change fields other than containers[*].image, "                       \
	"initContainers[*].image, activeDeadlineSeconds, tolerations and "                         \
	"terminationGracePeriodSeconds"

/* What of a pod's spec may never change. Owned. */
static struct cJSON *fixed_pod_spec(const struct cJSON *object)
{
	static const char *const movable[] = {
	    "activeDeadlineSeconds", "tolerations",  "terminationGracePeriodSeconds",
	    "schedulingGates",	     "nodeSelector", "nodeName",
	};
	struct cJSON *spec = json_dup(json_get(object, "spec"));

	/* The simulator's controllers store pods as their templates are. */
	if (spec)
		default_spec(spec);
	for (size_t i = 0; i < ARRAY_LEN(movable); i++)
		json_remove(spec, movable[i]);
	json_foreach (json_get(spec, "containers"), c)
		json_remove(c, "image");
	json_foreach (json_get(spec, "initContainers"), c)
		json_remove(c, "image");
	return spec;
}

static bool has_gate(const struct cJSON *gates, const char *name)
{
	json_foreach (gates, g) {
		const char *n = json_str(g, "name");
		if (n && strcmp(n, name) == 0)
			return true;
	}
	return false;
}

/* Gates only go; and while there is one, node selectors may be added (KEP-3521, KEP-3838). */
static void check_gates(const struct cJSON *was, const struct cJSON *now,
			struct field_errors *errors)
{
	const struct cJSON *gates = json_get(was, "schedulingGates");
	const struct cJSON *selector = json_get(now, "nodeSelector");

	json_foreach (json_get(now, "schedulingGates"), g) {
		const char *name = json_str(g, "name");
		if (name && !has_gate(gates, name))
			refuse(errors, FIELD_FORBIDDEN, NULL,
			       "only deletion is allowed, but found new scheduling gate",
			       "spec.schedulingGates");
	}
	if (json_len(gates) == 0) {
		if (!json_equal(json_get(was, "nodeSelector"), selector))
			refuse(errors, FIELD_FORBIDDEN, NULL, POD_UPDATES, "spec");
		return;
	}
	json_foreach (json_get(was, "nodeSelector"), pair)
		if (!json_equal(pair, json_get(selector, json_key(pair))))
			refuse(errors, FIELD_INVALID, NULL,
			       "only additions to spec.nodeSelector are allowed (no mutations or "
			       "deletions)",
			       "spec.nodeSelector");
}

void pod_validate(const struct kind *k, const struct cJSON *object, const struct kind_write *w,
		  struct field_errors *errors)
{
	(void)k;
	if (w->subresource[0])
		return;
	if (!json_get(object, "spec")) {
		refuse(errors, FIELD_REQUIRED, NULL, "", "spec");
		return;
	}
	if (!w->old || !json_equal(json_get(w->old, "spec"), json_get(object, "spec")))
		pod_rules_check_spec(json_get(object, "spec"), "spec", errors);
	if (!w->old)
		return;
	auto_json *before = fixed_pod_spec(w->old);
	auto_json *after = fixed_pod_spec(object);
	if (!json_equal(before, after))
		refuse(errors, FIELD_FORBIDDEN, NULL, POD_UPDATES, "spec");
	check_gates(json_get(w->old, "spec"), json_get(object, "spec"), errors);
}

void pod_template_default(const struct kind *k, struct cJSON *object, const struct kind_write *w)
{
	(void)k;
	(void)w;
	pod_defaults_spec(json_path(object, "template", "spec", NULL));
}

void pod_template_validate(const struct kind *k, const struct cJSON *object,
			   const struct kind_write *w, struct field_errors *errors)
{
	(void)k;
	pod_rules_check_template(json_get(object, "template"), json_get(w->old, "template"),
				 "template", errors);
}

/* ---- Lease ---- */

/* Fields of a feature that is off in Kubernetes 1.36 unless somebody turns it on. */
void lease_default(const struct kind *k, struct cJSON *object, const struct kind_write *w)
{
	static const char *const gated[] = {"strategy", "preferredHolder"};
	const struct cJSON *old = json_get(w->old, "spec");

	(void)k;
	for (size_t i = 0; i < ARRAY_LEN(gated); i++)
		if (!json_get(old, gated[i]))
			json_remove(json_get(object, "spec"), gated[i]);
}

/* ---- PriorityClass ---- */

static void check_preemption(const struct cJSON *object, struct field_errors *errors)
{
	static const char *const policies[] = {"PreemptLowerPriority", "Never", NULL};
	const char *policy = json_str(object, "preemptionPolicy");
	const struct at *at = AT_ROOT("preemptionPolicy");

	if (policy && !policy[0])
		refuse_at(errors, FIELD_REQUIRED, NULL, "", at);
	else if (policy && strcmp(policy, policies[0]) != 0 && strcmp(policy, policies[1]) != 0)
		refuse_unsupported(errors, policy, policies, at);
}

static void refuse_priority_change(const struct cJSON *old, const struct cJSON *object,
				   struct field_errors *errors)
{
	if (!json_equal(json_get(old, "value"), json_get(object, "value")))
		refuse(errors, FIELD_FORBIDDEN, NULL, "may not be changed in an update.", "value");
	refuse_change(errors, json_get(old, "preemptionPolicy"),
		      json_get(object, "preemptionPolicy"), "preemptionPolicy");
}

/* Upstream's admission: no other name may begin so, and its value is what it was born with. */
static void check_reserved(const char *name, const struct cJSON *object,
			   struct field_errors *errors)
{
	const struct system_class *c = system_class_find(span_of(name));
	char words[200], all[300];
	int64_t value = 0;

	(void)json_int64(object, "value", &value);
	if (!c)
		(void)snprintf(words, sizeof(words), "%.120s is not a known system priority class",
			       name);
	else if (value != c->value)
		(void)snprintf(words, sizeof(words), "value of %s PriorityClass must be %d", name,
			       c->value);
	else if (json_bool(object, "globalDefault", false))
		(void)snprintf(words, sizeof(words),
			       "globalDefault of %s PriorityClass must be false", name);
	else
		return;
	(void)snprintf(
	    all, sizeof(all),
	    "priority class names with 'system-' prefix are reserved for system use only. error: %s",
	    words);
	refuse(errors, FIELD_FORBIDDEN, NULL, all, "metadata.name");
}

void priority_class_validate(const struct kind *k, const struct cJSON *object,
			     const struct kind_write *w, struct field_errors *errors)
{
	const char *name = json_value_str(json_path(object, "metadata", "name", NULL));
	int64_t value = 0;

	(void)k;
	(void)json_int64(object, "value", &value);
	check_preemption(object, errors);
	if (w->old) {
		refuse_priority_change(w->old, object, errors);
		return;
	}
	if (name && strncmp(name, SYSTEM_CLASS_PREFIX, strlen(SYSTEM_CLASS_PREFIX)) == 0)
		check_reserved(name, object, errors);
	else if (value > HIGHEST_USER_PRIORITY)
		refuse(errors, FIELD_FORBIDDEN, NULL,
		       "maximum allowed value of a user defined priority is 1000000000", "value");
}
