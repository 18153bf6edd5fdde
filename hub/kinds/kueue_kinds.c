/*
 * Hooks of Kueue's smaller kinds: ResourceFlavor, Topology, AdmissionCheck, MultiKueueCluster,
 * ProvisioningRequestConfig; and of the autoscaler's ProvisioningRequest. Rules, paths and words of
 * Kueue's webhooks and of the rules in the CustomResourceDefinitions; reference/kueue.md 1.3.
 */
#include "base/json.h"
#include "base/num.h"
#include "kinds/hooks.h"
#include "kinds/refuse.h"
#include "kinds/taints.h"
#include "kube/names.h"

#define MAX_NODE_LABELS 8
#define MAX_PARAMETERS	100
#define MAX_DETAILS	64

static void check_count(const struct cJSON *map, size_t most, const char *path,
			struct field_errors *errors)
{
	auto_json *n = json_new_int((int64_t)json_len(map));
	char words[64];

	if (json_len(map) <= most)
		return;
	(void)snprintf(words, sizeof(words), "must have at most %zu items", most);
	refuse(errors, FIELD_TOO_MANY, n, words, "%s", path);
}

/* ---- ResourceFlavor ---- */

static void check_labels(const struct cJSON *labels, const char *path, struct field_errors *errors)
{
	json_foreach (labels, l) {
		const char *key = json_key(l), *value = json_value_str(l);
		if (key && !names_is_qualified(span_of(key)))
			refuse_text(errors, FIELD_INVALID, key, names_qualified_rule(span_of(key)),
				    "%s", path);
		if (value && !names_is_label_value(span_of(value)))
			refuse_text(errors, FIELD_INVALID, value,
				    names_label_value_rule(span_of(value)), "%s", path);
	}
}

void resource_flavor_validate(const struct kind *k, const struct cJSON *object,
			      const struct kind_write *w, struct field_errors *errors)
{
	const struct cJSON *spec = json_get(object, "spec"), *old = json_get(w->old, "spec");
	const struct cJSON *labels = json_get(spec, "nodeLabels");

	(void)k;
	if (json_get(spec, "topologyName") && json_len(labels) == 0)
		refuse(errors, FIELD_INVALID, NULL,
		       "at least one nodeLabel is required when topology is set", "spec");
	if (json_get(old, "topologyName") && !json_equal(old, spec))
		refuse(errors, FIELD_INVALID, NULL,
		       "resourceFlavorSpec are immutable when topologyName is set", "spec");
	check_count(labels, MAX_NODE_LABELS, "spec.nodeLabels", errors);
	check_labels(labels, "spec.nodeLabels", errors);
	taints_check_flavor(json_get(spec, "nodeTaints"), "spec.nodeTaints", errors);
	taints_check_tolerations(json_get(spec, "tolerations"), "spec.tolerations", errors);
}

/* ---- Topology ---- */

static bool is_hostname(const struct cJSON *level)
{
	const char *label = json_str(level, "nodeLabel");
	return label && strcmp(label, "kubernetes.io/hostname") == 0;
}

void topology_validate(const struct kind *k, const struct cJSON *object, const struct kind_write *w,
		       struct field_errors *errors)
{
	const struct cJSON *levels = json_path(object, "spec", "levels", NULL);
	const struct cJSON *before = json_path(w->old, "spec", "levels", NULL);
	bool twice = false, above = false;

	(void)k;
	json_foreach (levels, a) {
		above |= is_hostname(a) && json_next(a);
		for (const struct cJSON *b = json_next(a); b; b = json_next(b))
			twice |= json_equal(a, b);
	}
	if (before && levels && !json_equal(before, levels))
		refuse(errors, FIELD_INVALID, NULL, "field is immutable", "spec.levels");
	if (twice)
		refuse(errors, FIELD_INVALID, NULL, "must be unique", "spec.levels");
	if (above && !is_hostname(json_at(levels, json_len(levels) - 1)))
		refuse(errors, FIELD_INVALID, NULL,
		       "the kubernetes.io/hostname label can only be used at the lowest level of "
		       "topology",
		       "spec.levels");
}

/* ---- AdmissionCheck ---- */

void admission_check_validate(const struct kind *k, const struct cJSON *object,
			      const struct kind_write *w, struct field_errors *errors)
{
	const struct cJSON *name = json_path(object, "spec", "controllerName", NULL);
	const struct cJSON *before = json_path(w->old, "spec", "controllerName", NULL);

	(void)k;
	if (w->subresource[0])
		return;
	if (name && json_value_str(name) && !json_value_str(name)[0])
		refuse(errors, FIELD_INVALID, name, "must be non-empty", "spec.controllerName");
	if (before && name)
		refuse_change(errors, before, name, "spec.controllerName");
}

/* ---- MultiKueueCluster, ProvisioningRequestConfig ---- */

void multi_kueue_cluster_validate(const struct kind *k, const struct cJSON *object,
				  const struct kind_write *w, struct field_errors *errors)
{
	const struct cJSON *source = json_path(object, "spec", "clusterSource", NULL);

	(void)k;
	if (w->subresource[0] || !source)
		return;
	if (!json_get(source, "kubeConfig") == !json_get(source, "clusterProfileRef"))
		refuse(errors, FIELD_INVALID, NULL,
		       "exactly one of the fields in [kubeConfig clusterProfileRef] must be set",
		       "spec.clusterSource");
}

void provisioning_request_config_validate(const struct kind *k, const struct cJSON *object,
					  const struct kind_write *w, struct field_errors *errors)
{
	(void)k;
	(void)w;
	check_count(json_path(object, "spec", "parameters", NULL), MAX_PARAMETERS,
		    "spec.parameters", errors);
}

/* ---- ProvisioningRequest ---- */

#define MAX_RUN	  "maxRunDurationSeconds"
#define MAX_RUN_S (7 * 86400)

/* How long nodes of queued provisioning may run: a week at most. */
static void check_max_run(const struct cJSON *parameters, struct field_errors *errors)
{
	const struct cJSON *run = json_get(parameters, MAX_RUN);
	int64_t seconds;

	if (json_value_str(run) &&
	    num_parse_i64(span_of(json_value_str(run)), 1, MAX_RUN_S, &seconds) < 0)
		refuse(errors, FIELD_INVALID, run, "must be a number of seconds from 1 to 604800",
		       "spec.parameters[" MAX_RUN "]");
}

void provisioning_request_validate(const struct kind *k, const struct cJSON *object,
				   const struct kind_write *w, struct field_errors *errors)
{
	static const char *const fixed[] = {"parameters", "podSets", "provisioningClassName"};
	const struct cJSON *spec = json_get(object, "spec"), *old = json_get(w->old, "spec");

	(void)k;
	check_count(json_path(object, "status", "provisioningClassDetails", NULL), MAX_DETAILS,
		    "status.provisioningClassDetails", errors);
	if (w->subresource[0])
		return;
	check_count(json_get(spec, "parameters"), MAX_PARAMETERS, "spec.parameters", errors);
	if (!old)
		check_max_run(json_get(spec, "parameters"), errors);
	for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
		const struct cJSON *before = json_get(old, fixed[i]);
		const struct cJSON *now = json_get(spec, fixed[i]);
		if (!before || !now || json_equal(before, now))
			continue;
		refuse(errors, FIELD_INVALID, json_is(now, JSON_STRING) ? now : NULL,
		       "Value is immutable", "spec.%s", fixed[i]);
	}
}
