#ifndef POLICIES_PROPAGATION_H
#define POLICIES_PROPAGATION_H
/*
 * PropagationPolicy and ClusterPropagationPolicy as plain structs, and which of them takes an
 * object.
 *
 * Precedence is Karmada's (reference federation 2.1): a policy of the object's own namespace
 * before any cluster-wide one; then higher priority; then the more precise selector (name, then
 * label selector, then kind alone); then the smaller name. Cluster-wide policies skip Karmada's
 * system namespaces, and ours (kube-*). When none matches, a built-in policy (Gang, every cluster)
 * stands in; core may refuse that (requirePolicy).
 *
 * The index keeps policies by (namespace, apiVersion, kind, name where one is given), so the cost
 * of a match does not grow with policies for other things. It owns deep copies; pointers handed out
 * live until that policy is put again or removed. One claimed object keeps its policy: stickiness
 * is core's business, not this one's.
 */
#include "policies/failover.h"
#include "policies/placement_spec.h"

struct resource_selector {
	struct span api_version, kind;
	struct span ns;	  /* absent: the policy's own; for cluster-wide ones any */
	struct span name; /* absent: all of the kind */
	bool has_labels;  /* ignored when a name is set */
	struct label_selector labels;
};

struct propagation_policy {
	struct span ns; /* absent: ClusterPropagationPolicy */
	struct span name;
	const struct resource_selector *selectors;
	size_t n_selectors;
	struct placement_spec placement;
	int64_t priority;	  /* int32 in the API */
	bool suspend_scheduling;  /* suspension.scheduling: queue first */
	bool suspend_dispatching; /* suspension.dispatching */
	bool propagate_deps;
	bool preserve_on_deletion;
	struct failover_rule failover; /* failover.application */
	uint64_t revision;	       /* core's; not compared */
};

enum {
	PROPAGATION_MAX_SELECTORS = 1024,
};

struct propagation_index;

struct propagation_index *propagation_index_create(void);
struct propagation_index *propagation_index_destroy(struct propagation_index *x);

/* Checks limits: ERR_INVALID with the field path under spec. */
int propagation_policy_check(const struct propagation_policy *p, struct err *reterr) MUST_CHECK;

/* Adds or replaces (namespace, name). Fails as propagation_policy_check() does, and then changes
 * nothing. */
int propagation_index_put(struct propagation_index *x, const struct propagation_policy *p,
			  struct err *reterr) MUST_CHECK;
void propagation_index_remove(struct propagation_index *x, struct span ns, struct span name);
const struct propagation_policy *propagation_index_get(const struct propagation_index *x,
						       struct span ns, struct span name);
size_t propagation_index_count(const struct propagation_index *x);

/* What a policy may select. */
struct propagation_object {
	struct span api_version, kind, ns, name;
	const struct label *labels;
	size_t n_labels;
};

/* The policy that takes the object, NULL when none does. */
const struct propagation_policy *propagation_match(const struct propagation_index *x,
						   const struct propagation_object *o);

/* Whether this policy selects the object at all, better ones or not. */
bool propagation_selects(const struct propagation_policy *p, const struct propagation_object *o);

/* Gang, every cluster, dependencies propagated. Static. Its name is absent. */
const struct propagation_policy *propagation_builtin(void);

/* Whether cluster-wide policies leave this namespace alone: karmada-system, karmada-cluster,
 * karmada-es-*, kube-system, kube-public, kube-node-lease, kube-queue. */
bool propagation_is_system_namespace(struct span ns);

#endif
