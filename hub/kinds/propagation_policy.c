/*
 * Rules of PropagationPolicy and ClusterPropagationPolicy, in both groups, beyond their schema:
 * Karmada's validating webhook, and what this hub does not do yet said aloud.
 */
#include "base/json.h"
#include "base/map.h"
#include "kinds/hooks.h"
#include "kinds/refuse.h"
#include "kube/selector.h"

static void check_label_selector(const struct cJSON *holder, const char *path,
				 struct field_errors *errors)
{
	auto_selector s = SELECTOR_INIT;
	char below[REFUSE_PATH_MAX];

	(void)snprintf(below, sizeof(below), "%.400s.labelSelector", path);
	(void)!selector_add_label_selector(&s, json_get(holder, "labelSelector"), below, errors);
}

static void check_field_selector(const struct cJSON *affinity, const char *path,
				 struct field_errors *errors)
{
	static const char *const keys[] = {"provider", "region", "zone"};
	size_t i = 0;

	json_foreach (json_path(affinity, "fieldSelector", "matchExpressions", NULL), e) {
		const char *key = json_str(e, "key"), *op = json_str(e, "operator");
		bool known = false;
		for (size_t n = 0; n < ARRAY_LEN(keys); n++)
			known = known || (key && strcmp(key, keys[n]) == 0);
		if (!known)
			refuse_text(errors, FIELD_NOT_SUPPORTED, key,
				    "supported values: \"provider\", \"region\", \"zone\"",
				    "%.300s.fieldSelector.matchExpressions[%zu].key", path, i);
		if (op && strcmp(op, "In") != 0 && strcmp(op, "NotIn") != 0)
			refuse_text(errors, FIELD_NOT_SUPPORTED, op,
				    "supported values: \"In\", \"NotIn\"",
				    "%.300s.fieldSelector.matchExpressions[%zu].operator", path, i);
		i++;
	}
}

static void check_affinity(const struct cJSON *affinity, const char *path,
			   struct field_errors *errors)
{
	check_label_selector(affinity, path, errors);
	check_field_selector(affinity, path, errors);
}

static void check_affinities(const struct cJSON *placement, struct field_errors *errors)
{
	const struct cJSON *one = json_get(placement, "clusterAffinity");
	const struct cJSON *list = json_get(placement, "clusterAffinities");
	struct map names = MAP_INIT;
	char path[64];
	size_t i = 0;

	if (one && json_first(list))
		refuse(errors, FIELD_INVALID, NULL,
		       "clusterAffinities cannot co-exist with clusterAffinity",
		       "spec.placement.clusterAffinities");
	check_affinity(one, "spec.placement.clusterAffinity", errors);
	json_foreach (list, term) {
		const char *name = json_str(term, "affinityName");
		(void)snprintf(path, sizeof(path), "spec.placement.clusterAffinities[%zu]", i++);
		if (name && !name[0])
			refuse(errors, FIELD_REQUIRED, NULL, "", "%s.affinityName", path);
		else if (name && map_put(&names, span_of(name), &names))
			refuse_text(errors, FIELD_DUPLICATE, name, "", "%s.affinityName", path);
		check_affinity(term, path, errors);
	}
	map_done(&names);
}

static void check_spread(const struct cJSON *placement, struct field_errors *errors)
{
	size_t i = 0;

	json_foreach (json_get(placement, "spreadConstraints"), s) {
		const char *label = json_str(s, "spreadByLabel");
		int64_t min = 0, max = 0;
		if (label && label[0] && json_get(s, "spreadByField"))
			refuse(errors, FIELD_INVALID, s,
			       "spreadByLabel should not co-exist with spreadByField",
			       "spec.placement.spreadConstraints[%zu]", i);
		(void)json_int64(s, "minGroups", &min);
		if (json_int64(s, "maxGroups", &max) == 0 && max > 0 && max < min)
			refuse(errors, FIELD_INVALID, json_get(s, "maxGroups"),
			       "must not be less than minGroups",
			       "spec.placement.spreadConstraints[%zu].maxGroups", i);
		i++;
	}
}

static void check_selectors(const struct kind *k, const struct cJSON *object,
			    struct field_errors *errors)
{
	const char *ns = json_value_str(json_path(object, "metadata", "namespace", NULL));
	char path[64];
	size_t i = 0;

	json_foreach (json_path(object, "spec", "resourceSelectors", NULL), s) {
		const char *of = json_str(s, "namespace");
		(void)snprintf(path, sizeof(path), "spec.resourceSelectors[%zu]", i++);
		check_label_selector(s, path, errors);
		if (k->scope == KIND_NAMESPACED && of && of[0] && ns && strcmp(of, ns) != 0)
			refuse_text(errors, FIELD_INVALID, of,
				    "must be empty or the policy's own namespace", "%s.namespace",
				    path);
	}
}

static bool failover_is_patient(const char *purge)
{
	return !purge || (strcmp(purge, "Directly") != 0 && strcmp(purge, "Immediately") != 0);
}

static void check_failover(const struct cJSON *spec, const struct kind_write *w,
			   struct field_errors *errors)
{
	const struct cJSON *failover = json_get(spec, "failover");
	const struct cJSON *app = json_get(failover, "application");
	const struct cJSON *grace = json_get(app, "gracePeriodSeconds");
	const char *purge = json_str(app, "purgeMode");
	int64_t seconds;

	if (grace && purge && strcmp(purge, "Gracefully") != 0 && strcmp(purge, "Graciously") != 0)
		refuse(errors, FIELD_INVALID, grace,
		       "only takes effect when purgeMode is gracefully",
		       "spec.failover.application.gracePeriodSeconds");
	if (grace && json_value_int64(grace, &seconds) == 0 && seconds <= 0)
		refuse(errors, FIELD_INVALID, grace, "must be greater than 0",
		       "spec.failover.application.gracePeriodSeconds");
	if (json_get(app, "statePreservation"))
		refuse(errors, FIELD_FORBIDDEN, NULL,
		       "state of a failed job is not carried to the next cluster by this hub; "
		       "keep checkpoints in storage that all clusters reach",
		       "spec.failover.application.statePreservation");
	if (app && failover_is_patient(purge))
		refuse_warn(w->warnings,
			    "spec.failover.application.purgeMode: the old copy goes before the job "
			    "is placed anew, as Directly has it");
	if (json_get(failover, "cluster"))
		refuse_warn(w->warnings,
			    "spec.failover.cluster has no effect: a job leaves a cluster that is "
			    "lost only when that is declared dead");
}

void propagation_policy_validate(const struct kind *k, const struct cJSON *object,
				 const struct kind_write *w, struct field_errors *errors)
{
	const struct cJSON *spec = json_get(object, "spec");
	const struct cJSON *placement = json_get(spec, "placement");
	const struct cJSON *suspension = json_get(spec, "suspension");

	check_selectors(k, object, errors);
	check_affinities(placement, errors);
	check_spread(placement, errors);
	if (json_bool(suspension, "dispatching", false) &&
	    json_get(suspension, "dispatchingOnClusters"))
		refuse(errors, FIELD_INVALID, NULL,
		       "dispatchingOnClusters cannot co-exist with dispatching",
		       "spec.suspension.dispatchingOnClusters");
	check_failover(spec, w, errors);
}
