#ifndef CORE_KUEUE_SETTINGS_H
#define CORE_KUEUE_SETTINGS_H
/*
 * The section `kueue:` of the configuration, as far as the core acts on it; names and defaults of
 * config.kueue.x-k8s.io (reference/kueue.md 1.8 and 2.8). Unknown names are errors, and so is what
 * exists in Kueue and has no effect here.
 */
#include "base/clock.h"
#include "core/kueue/transform.h"
#include "quota-tree/kueue_spec.h"

struct cJSON;

enum { KUEUE_MAX_USAGE_WEIGHTS = 64 };
struct kueue_usage_weight {
	const char *resource;
	double weight; /* in thousandths */
};

struct kueue_settings {
	struct kueue_options engine;
	struct transform_rules resources; /* borrowed from what they were read from */
	bool ray_submitter;		  /* count a RayJob's submitter pod */
	bool manage_unqueued;		  /* manageJobsWithoutQueueName */
	/* managedJobsNamespaceSelector, checked; NULL: all but kube-system and kueue-system */
	const struct cJSON *managed_namespaces;
	const struct kueue_usage_weight *usage_weights; /* admissionFairSharing.resourceWeights */
	size_t n_usage_weights;
	/* waitForPodsReady */
	bool wait_for_pods_ready, block_admission;
	usec pods_ready_timeout, backoff_base, backoff_max;
	usec recovery_timeout;	  /* -1: as pods_ready_timeout; 0: never */
	int32_t backoff_limit;	  /* -1: endless */
	bool requeue_by_creation; /* requeuingStrategy.timestamp: Creation */
	/* objectRetentionPolicies; -1: for ever */
	usec retain_finished;	 /* a finished Workload, then it goes */
	usec retain_deactivated; /* a job whose Workload the hub deactivated; then it goes */
	/* feature gates that are core's */
	bool no_wait_for_pods_ready;	/* DisableWaitForPodsReady */
	bool priority_class_defaulting; /* WorkloadPriorityClassDefaulting */
	bool reclaimable_pods;		/* ReclaimablePods */
	bool admission_fair_sharing;	/* AdmissionFairSharing */
	bool quota_check_strategy;	/* QuotaCheckStrategy */
	bool observability;		/* UnadmittedWorkloadsObservability */
	bool explicit_status;		/* UnadmittedWorkloadsExplicitStatus */
	bool priority_boost;		/* PriorityBoost */
	bool short_names;		/* ShortWorkloadNames */
};

/* Kueue's defaults. */
struct kueue_settings kueue_settings_default(void);
/* Reads the section over *s. Texts are borrowed from the tree, lists are in the arena. ERR_INVALID
 * with the field's path, "kueue.fairSharing.preemptionStrategies". */
int kueue_settings_read(const struct cJSON *section, struct arena *mem, struct kueue_settings *s,
			struct err *reterr) MUST_CHECK;
/* "1h30m", "90s", "500ms": Go's durations, of whole numbers. -EINVAL. */
int kueue_settings_duration(const char *text, usec *ret) MUST_CHECK;

#endif
