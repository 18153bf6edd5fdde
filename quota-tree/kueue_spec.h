#ifndef QUOTA_TREE_KUEUE_SPEC_H
#define QUOTA_TREE_KUEUE_SPEC_H
/*
 * What Kueue's objects say, as plain structs: the words of the Kueue dialect of the quota engine.
 *
 * Views: spans and arrays belong to the caller and are only read during the call that takes them.
 * Names and meanings are those of kueue.x-k8s.io/v1beta2 (reference/kueue.md sections 1.3 and 2);
 * defaults and validation have been applied before (hub/kinds). cpu is in milli-units, everything
 * else in whole units, int64.
 */
#include "base/span.h"
#include "kube/constraint.h"
#include "quota-tree/quota_tree.h"

enum { /* reference 1.3 */
       KUEUE_MAX_GROUPS = 16,
       KUEUE_MAX_FLAVORS = 64, /* of one group */
       KUEUE_MAX_COVERED = 64, /* resources of one group */
       KUEUE_MAX_POD_SETS = 18,
       KUEUE_MAX_REQUESTS = 32, /* resources that one pod set asks */
       KUEUE_MAX_DEPTH = 16,	/* cohorts above a queue; a deeper tree counts as a cycle */
       KUEUE_MAX_LABELS = 8,	/* of a flavor; taints and tolerations too */
       KUEUE_MAX_LEVELS = 16,	/* of a topology */
       KUEUE_MAX_NODES = 1 << 17,
       KUEUE_MAX_NAMES = 1 << 14, /* of flavors, and of resources */
};

#define KUEUE_NONE UINT32_MAX

enum kueue_strategy { KUEUE_BEST_EFFORT_FIFO = 0, KUEUE_STRICT_FIFO };
enum kueue_stop { KUEUE_STOP_NONE = 0, KUEUE_STOP_HOLD, KUEUE_STOP_HOLD_AND_DRAIN };
enum kueue_preempt_policy {
	KUEUE_PREEMPT_NEVER = 0,
	KUEUE_PREEMPT_LOWER_PRIORITY,
	KUEUE_PREEMPT_LOWER_OR_NEWER_EQUAL, /* withinClusterQueue only */
	KUEUE_PREEMPT_ANY,		    /* reclaimWithinCohort only */
};
enum kueue_fungibility { KUEUE_MAY_STOP_SEARCH = 0, KUEUE_TRY_NEXT_FLAVOR };
enum kueue_preference { KUEUE_BORROWING_OVER_PREEMPTION = 0, KUEUE_PREEMPTION_OVER_BORROWING };

struct kueue_preemption {
	enum kueue_preempt_policy within_cluster_queue;
	enum kueue_preempt_policy reclaim_within_cohort;
	enum kueue_preempt_policy borrow_within_cohort; /* NEVER or LOWER_PRIORITY */
	bool has_max_priority_threshold;
	int32_t max_priority_threshold;
};

struct kueue_flavor_spec {
	struct span name;
	const struct label *labels; /* spec.nodeLabels */
	size_t n_labels;
	const struct taint *taints; /* spec.nodeTaints */
	size_t n_taints;
	const struct toleration *tolerations; /* added to the pods' own */
	size_t n_tolerations;
	struct span topology; /* spec.topologyName, or empty */
};

struct kueue_topology_spec {
	struct span name;
	const struct span *levels; /* spec.levels[].nodeLabel */
	size_t n_levels;
};

struct kueue_quota {
	int64_t nominal;   /* >= 0; QUOTA_UNLIMITED saturates */
	int64_t borrowing; /* QUOTA_UNLIMITED: no limit */
	int64_t lending;   /* QUOTA_UNLIMITED: unset, all of it may be lent */
};

/* One resource group. quotas[f * n_resources + r] is flavor f's of resource r. */
struct kueue_group_spec {
	const struct span *resources; /* coveredResources */
	size_t n_resources;
	const struct span *flavors; /* in order of preference */
	size_t n_flavors;
	const struct kueue_quota *quotas;
};

struct kueue_cohort_spec { /* a Cohort object; a cohort that is only named needs none */
	struct span name;
	struct span parent; /* or empty; may name one that does not exist */
	const struct kueue_group_spec *groups;
	size_t n_groups;
	double weight; /* fairSharing.weight; 1 unless stated */
};

struct kueue_queue_spec { /* a ClusterQueue */
	struct span name;
	struct span cohort; /* or empty */
	const struct kueue_group_spec *groups;
	size_t n_groups;
	enum kueue_strategy strategy;
	enum kueue_stop stop;
	struct kueue_preemption preemption;
	enum kueue_fungibility when_can_borrow, when_can_preempt;
	enum kueue_preference preference;
	double weight;
	/* Core's word on what the engine cannot see: its checks, its topologies, its deletion. An
	 * inactive queue offers nobody and keeps what it admitted. Unknown flavors make it inactive
	 * without that (reason FlavorNotFound). */
	bool inactive;
	bool admission_fair_sharing; /* admissionScope: UsageBasedAdmissionFairSharing */
};

struct kueue_request {
	struct span resource;
	int64_t value; /* of one pod, >= 0 */
};

struct kueue_pod_set {
	struct span name;
	int32_t count;
	int32_t min_count; /* 0: no partial admission */
	struct span group; /* podset-group-name, or empty */
	const struct kueue_request *requests;
	size_t n_requests;
	/* What the pods themselves ask for, where `requests` are what transformations made of it;
	 * NULL: the resources of `requests`. */
	const struct span *asked;
	size_t n_asked;
	struct constraint constraint; /* selector, required affinity, tolerations of the template */
	/* topologyRequest: whether there is one, and the levels (node labels) that it names:
	 * required, preferred, and of its slices; none when it is unconstrained. */
	bool topology;
	const struct span *levels;
	size_t n_levels;
};

/* A workload. Times are UTC microseconds. */
struct kueue_workload_spec {
	struct span name; /* namespace/name: unique */
	struct span uid;  /* last tie-break */
	uint32_t
	    local_queue;  /* core's dense number of its LocalQueue, for fair sharing among them */
	int32_t priority; /* effective */
	int64_t created;  /* creationTimestamp */
	int64_t queue_order; /* queue-order timestamp (reference 2.1) */
	const struct kueue_pod_set *pod_sets;
	size_t n_pod_sets;
	/* The caller's number for what decides placement beside the pod sets (policy, kind of job):
	 * two workloads of one shape agree in it. 0: it needs no placement. */
	uint32_t placement;
	void *owner; /* core's own; never looked at */
};

/* config.kueue.x-k8s.io, the parts that decide; feature gates by name (reference 1.8). */
enum kueue_fair_strategy {
	KUEUE_LESS_THAN_OR_EQUAL_TO_FINAL_SHARE = 0,
	KUEUE_LESS_THAN_INITIAL_SHARE,
};
struct kueue_options {
	bool fair_sharing;
	enum kueue_fair_strategy fair_strategies[2];
	size_t n_fair_strategies; /* 0: both, in the order above */
	bool ignore_undeclared;	  /* quotaCheckStrategy: IgnoreUndeclared */
	bool partial_admission;
	bool flavor_fungibility;
	bool topology_aware; /* TopologyAwareScheduling */
	bool priority_sorting_within_cohort;
	bool equivalence_hashing;
	bool preempt_within_nominal;   /* FairSharingPreemptWithinNominal */
	bool prioritize_non_borrowing; /* FairSharingPrioritizeNonBorrowing */
	bool prioritize_preemptors;    /* PrioritizePreemptorWorkloads */
	bool recompute_on_overlap;     /* RecomputeAssignmentUponPreemptionTargetsOverlap */
	bool preserve_scan_progress;   /* FlavorFungibilityPreserveScanProgress */
	bool one_head_per_cycle;       /* exactly Kueue's pace; off: queues go on within a cycle */
	/* AdmissionFairSharing, us: usageHalfLifeTime (0: nothing is remembered) and
	 * usageSamplingInterval */
	int64_t usage_half_life, usage_sampling_interval;
};
/* The defaults of reference 1.8. */
struct kueue_options kueue_options_default(void);

#endif
