/*
 * Hooks of Kueue's queues: ClusterQueue, Cohort, LocalQueue. Rules, paths and words of Kueue's
 * webhooks (pkg/webhooks) and of the rules in its CustomResourceDefinitions;
 * reference/kueue.md 1.3.
 */
#include "base/json.h"
#include "kinds/hooks.h"
#include "kinds/refuse.h"
#include "kinds/resource_groups.h"
#include "kube/selector.h"

static bool is(const struct cJSON *object, const char *key, const char *value)
{
	const char *v = json_str(object, key);
	return v && strcmp(v, value) == 0;
}

/* ---- ClusterQueue ---- */

void cluster_queue_default(const struct kind *k, struct cJSON *object, const struct kind_write *w)
{
	(void)k;
	if (!w->subresource[0])
		resource_groups_default(json_path(object, "spec", "resourceGroups", NULL),
					w->warnings);
}

/* The definition's rule, beside which the webhook's names each limit (resource_groups.h). */
static void check_limits(const struct cJSON *spec, struct field_errors *errors)
{
	if (json_get(spec, "cohortName"))
		return;
	json_foreach (json_get(spec, "resourceGroups"), g)
		json_foreach (json_get(g, "flavors"), f)
			json_foreach (json_get(f, "resources"), r)
				if (json_get(r, "borrowingLimit")) {
					refuse(errors, FIELD_INVALID, NULL,
					       "borrowingLimit must be nil when cohort is empty",
					       "spec");
					return;
				}
}

static void check_policies(const struct cJSON *spec, const struct kind_write *w,
			   struct field_errors *errors)
{
	const struct cJSON *preemption = json_get(spec, "preemption");
	const struct cJSON *borrow = json_get(preemption, "borrowWithinCohort");
	const struct cJSON *fungibility = json_get(spec, "flavorFungibility");

	if (is(preemption, "reclaimWithinCohort", "Never") && borrow &&
	    !is(borrow, "policy", "Never"))
		refuse(errors, FIELD_INVALID, NULL,
		       "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never",
		       "spec.preemption");
	if (json_get(fungibility, "preference") &&
	    !(is(fungibility, "whenCanBorrow", "TryNextFlavor") &&
	      is(fungibility, "whenCanPreempt", "TryNextFlavor")))
		refuse(errors, FIELD_INVALID, NULL,
		       "preference can only be set when both whenCanBorrow and whenCanPreempt are "
		       "TryNextFlavor",
		       "spec.flavorFungibility");
	if (json_get(preemption, "reclaimOutOfCohort"))
		refuse_warn(w->warnings, "spec.preemption.reclaimOutOfCohort: not a setting of "
					 "Kueue; kept, without an effect");
	if (json_get(spec, "concurrentAdmissionPolicy"))
		refuse_warn(w->warnings,
			    "spec.concurrentAdmissionPolicy: kept, without an effect: the feature "
			    "gate ConcurrentAdmission is not supported");
}

static bool has_flavor(const struct cJSON *spec, const char *name)
{
	json_foreach (json_get(spec, "resourceGroups"), g)
		json_foreach (json_get(g, "flavors"), f)
			if (is(f, "name", name))
				return true;
	return false;
}

static void name_flavors(const struct cJSON *spec, struct buf *out)
{
	const char *sep = "supported values: ";

	json_foreach (json_get(spec, "resourceGroups"), g)
		json_foreach (json_get(g, "flavors"), f) {
			buf_addf(out, "%s\"%s\"", sep, json_str(f, "name"));
			sep = ", ";
		}
}

/* onFlavors names flavors of this queue; what stood there already is let be, as long as the
 * queue's flavors stay. */
static void check_on_flavors(const struct cJSON *spec, const struct cJSON *old,
			     struct field_errors *errors)
{
	const struct cJSON *before =
	    json_path(old, "admissionChecksStrategy", "admissionChecks", NULL);
	const struct cJSON *checks =
	    json_path(spec, "admissionChecksStrategy", "admissionChecks", NULL);
	size_t i = 0;

	if (before && json_equal(before, checks) &&
	    json_equal(json_get(old, "resourceGroups"), json_get(spec, "resourceGroups")))
		return;
	json_foreach (checks, c) {
		size_t j = 0, at = i++;
		json_foreach (json_get(c, "onFlavors"), f) {
			auto_buf names = BUF_INIT;
			size_t n = j++;
			if (!json_value_str(f) || has_flavor(spec, json_value_str(f)))
				continue;
			name_flavors(spec, &names);
			refuse(errors, FIELD_NOT_SUPPORTED, f, names.ptr ? names.ptr : "",
			       "spec.admissionChecksStrategy.admissionChecks[%zu].onFlavors[%zu]",
			       at, n);
		}
	}
}

static void check_selector(const struct cJSON *spec, struct field_errors *errors)
{
	auto_selector s = SELECTOR_INIT;
	int r = selector_add_label_selector(&s, json_get(spec, "namespaceSelector"),
					    "spec.namespaceSelector", errors);
	(void)r; /* what is wrong stands in errors */
}

void cluster_queue_validate(const struct kind *k, const struct cJSON *object,
			    const struct kind_write *w, struct field_errors *errors)
{
	const struct cJSON *spec = json_get(object, "spec");
	const struct cJSON *old = json_get(w->old, "spec");
	const char *cohort = json_str(spec, "cohortName");
	const struct resource_groups_rules rules = {
	    .parent = "cohort", .has_parent = cohort && cohort[0], .lend_own_only = true};

	(void)k;
	if (w->subresource[0])
		return;
	check_limits(spec, errors);
	resource_groups_check(json_get(spec, "resourceGroups"), &rules, w->warnings, errors);
	check_selector(spec, errors);
	check_policies(spec, w, errors);
	resource_groups_check_sharing(json_get(spec, "fairSharing"), errors);
	check_on_flavors(spec, old, errors);
	if (w->old)
		refuse_change(errors, json_get(old, "concurrentAdmissionPolicy"),
			      json_get(spec, "concurrentAdmissionPolicy"),
			      "spec.concurrentAdmissionPolicy");
}

/* ---- Cohort ---- */

void cohort_default(const struct kind *k, struct cJSON *object, const struct kind_write *w)
{
	cluster_queue_default(k, object, w);
}

void cohort_validate(const struct kind *k, const struct cJSON *object, const struct kind_write *w,
		     struct field_errors *errors)
{
	const struct cJSON *spec = json_get(object, "spec");
	const char *parent = json_str(spec, "parentName");
	const struct resource_groups_rules rules = {.parent = "parent",
						    .has_parent = parent && parent[0]};

	(void)k;
	if (w->subresource[0])
		return;
	resource_groups_check(json_get(spec, "resourceGroups"), &rules, w->warnings, errors);
	resource_groups_check_sharing(json_get(spec, "fairSharing"), errors);
}

/* ---- LocalQueue ---- */

void local_queue_validate(const struct kind *k, const struct cJSON *object,
			  const struct kind_write *w, struct field_errors *errors)
{
	const struct cJSON *before = json_path(w->old, "spec", "clusterQueue", NULL);
	const struct cJSON *now = json_path(object, "spec", "clusterQueue", NULL);

	(void)k;
	if (w->subresource[0])
		return;
	/* A rule of a transition: giving or taking away the value is none. */
	if (before && now)
		refuse_change(errors, before, now, "spec.clusterQueue");
	resource_groups_check_sharing(json_path(object, "spec", "fairSharing", NULL), errors);
}
