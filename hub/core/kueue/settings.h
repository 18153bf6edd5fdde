#ifndef CORE_KUEUE_SETTINGS_H
#define CORE_KUEUE_SETTINGS_H
/*
 * The section `kueue:` of the configuration, as far as the core acts on it; names and defaults of
 * config.kueue.x-k8s.io (reference/kueue.md 1.8 and 2.8).
 */
#include "base/clock.h"
#include "quota-tree/kueue_spec.h"

struct kueue_settings {
	struct kueue_options engine;
	bool ray_submitter; /* count a RayJob's submitter pod */
	/* waitForPodsReady */
	bool wait_for_pods_ready;
	usec pods_ready_timeout, backoff_base, backoff_max;
	int32_t backoff_limit;	  /* -1: endless */
	bool requeue_by_creation; /* requeuingStrategy.timestamp: Creation */
	/* objectRetentionPolicies; -1: for ever */
	usec retain_finished;
};

/* Kueue's defaults. */
struct kueue_settings kueue_settings_default(void);

#endif
