#ifndef POLICIES_PLACEMENT_SPEC_H
#define POLICIES_PLACEMENT_SPEC_H
/*
 * The placement part of a policy as plain structs: which clusters it selects, in which order, and
 * how. Field for field Karmada's (reference federation 2.1), with Fleet's customSchedulingType.
 *
 * Views, except what placement_spec_dup() returns. Spread constraints and replica division are kept
 * and shown; a gang goes to one cluster whatever they say.
 */
#include "base/arena.h"
#include "base/err.h"
#include "kube/label_match.h"
#include "policies/pod_set.h"

enum {
	PLACEMENT_MAX_AFFINITIES = 64, /* ordered groups of one policy; six bits of a score */
	PLACEMENT_MAX_NAMES = 4096,
	PLACEMENT_MAX_NAME_LEN = 32, /* affinityName, as Karmada limits it */
};

/* clusterAffinity, or one of the ordered clusterAffinities. Empty selects every cluster. */
struct cluster_affinity {
	struct span name; /* affinityName; absent in a single clusterAffinity */
	const struct span *cluster_names;
	size_t n_cluster_names;
	const struct span *exclude;
	size_t n_exclude;
	bool has_labels;
	struct label_selector labels;
	const struct node_expr *fields; /* keys provider, region, zone; In, NotIn */
	size_t n_fields;
};

enum replica_scheduling { REPLICA_DUPLICATED, REPLICA_DIVIDED };

struct spread_constraint { /* accepted and kept; one cluster satisfies or ignores them all */
	struct span field, label;
	int64_t min_groups, max_groups;
};

/* A cluster that cannot take these jobs now, whatever room it has, and why: a sentence. Not a
 * policy's word but the core's, which has seen a conflict there, or the jobs fail (failover.h). */
struct placement_refusal {
	struct span cluster, why;
	bool failed;
};

struct placement_spec {
	/* One entry without a name for clusterAffinity, several for clusterAffinities, none for
	 * every cluster. The first group in which some cluster fits wins. */
	const struct cluster_affinity *affinities;
	size_t n_affinities;
	/* Clusters that the job's queue names, in its order, which goes before that of the
	 * affinities; none: it names none. */
	const struct span *only;
	size_t n_only;
	const struct toleration *tolerations; /* clusterTolerations */
	size_t n_tolerations;
	const struct spread_constraint *spread;
	size_t n_spread;
	const struct placement_refusal *refusals;
	size_t n_refusals;
	enum replica_scheduling replica_scheduling;
	bool gang;	  /* customSchedulingType: Gang; jobs are gangs in any case */
	bool sum_of_free; /* this policy asks for totals instead of node by node (V26) */
};

/* Checks limits: ERR_INVALID with the field path under spec.placement. */
int placement_spec_check(const struct placement_spec *s, struct err *reterr) MUST_CHECK;
/* A deep copy in `a`. */
struct placement_spec placement_spec_dup(struct arena *a, const struct placement_spec *from);

#endif
