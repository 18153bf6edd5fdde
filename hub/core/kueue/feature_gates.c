#include "core/kueue/feature_gates.h"

#include "core/kueue/settings.h"

#include <stddef.h>

#define SWITCH(member) offsetof(struct kueue_settings, member)
#define FIXED	       SIZE_MAX

static const struct gate {
	const char *name;
	bool on; /* the default, and the one value of a fixed gate */
	size_t offset;
} gates[] = {
    {"PartialAdmission", true, SWITCH(engine.partial_admission)},
    {"FlavorFungibility", true, SWITCH(engine.flavor_fungibility)},
    {"PrioritySortingWithinCohort", true, SWITCH(engine.priority_sorting_within_cohort)},
    {"SchedulingEquivalenceHashing", true, SWITCH(engine.equivalence_hashing)},
    {"FairSharingPreemptWithinNominal", true, SWITCH(engine.preempt_within_nominal)},
    {"FairSharingPrioritizeNonBorrowing", true, SWITCH(engine.prioritize_non_borrowing)},
    {"PrioritizePreemptorWorkloads", false, SWITCH(engine.prioritize_preemptors)},
    {"RecomputeAssignmentUponPreemptionTargetsOverlap", true, SWITCH(engine.recompute_on_overlap)},
    {"FlavorFungibilityPreserveScanProgress", true, SWITCH(engine.preserve_scan_progress)},
    {"AdmissionFairSharing", true, SWITCH(admission_fair_sharing)},
    {"AdmissionGatedBy", true, FIXED},
    {"AssignQueueLabelsForPods", true, FIXED},
    {"CleanupProvisioningRequestsOnEviction", true, FIXED},
    {"ConcurrentAdmission", false, FIXED},
    {"CustomMetricLabels", false, FIXED},
    {"DisableWaitForPodsReady", false, SWITCH(no_wait_for_pods_ready)},
    {"DynamicQuotaOrchestration", false, FIXED},
    {"ElasticJobsViaWorkloadSlices", true, FIXED},
    {"ElasticJobsViaWorkloadSlicesWithPartialReplicaScaleUp", false, FIXED},
    {"ElasticJobsViaWorkloadSlicesWithTAS", false, FIXED},
    {"FailureRecoveryPolicy", false, FIXED},
    {"FairSharingReevaluatePreemptionCandidates", false, FIXED},
    {"FastQuotaReleaseInPodIntegration", false, FIXED},
    {"FinishOrphanedWorkloads", true, FIXED},
    {"KueueDRAIntegrationConsumableCapacity", false, FIXED},
    {"LocalQueueMetrics", true, FIXED},
    {"MetricsForCohorts", true, FIXED},
    {"MultiKueue", true, FIXED},
    {"MultiKueueAdaptersForCustomJobs", true, FIXED},
    {"MultiKueueClusterProfile", false, FIXED},
    {"MultiKueueIncrementalDispatcherConfig", true, FIXED},
    {"MultiKueueIncrementalDispatcherRespectConfigOrder", true, FIXED},
    {"MultiKueueManagerQuotaAutomation", false, FIXED},
    {"MultiKueueOrchestratedPreemption", false, FIXED},
    {"MultiKueueRemoteSpecSync", true, FIXED},
    {"PriorityBoost", false, FIXED},
    {"QuotaCheckStrategy", true, SWITCH(quota_check_strategy)},
    {"ReclaimablePods", true, SWITCH(reclaimable_pods)},
    {"RejectUpdatesToCQWithInvalidOnFlavors", true, FIXED},
    {"ReservedResourceNameValidation", true, FIXED},
    {"SchedulerLibraryIntegration", false, FIXED},
    {"SchedulingEquivalenceHashingIgnorePodSetName", true, FIXED},
    {"ShortWorkloadNames", false, FIXED},
    {"SparkApplicationIntegration", false, FIXED},
    {"TASBalancedPlacement", false, FIXED},
    {"TASFailedNodeReplacement", true, FIXED},
    {"TASFailedNodeReplacementFailFast", true, FIXED},
    {"TASMultiLayerTopology", true, FIXED},
    {"TASProfileMixed", true, FIXED},
    {"TASReplaceNodeDueToNotReadyOverFixedTime", false, FIXED},
    {"TASReplaceNodeOnNodeTaints", true, FIXED},
    {"TASReplaceNodeOnPodTermination", true, FIXED},
    {"TASRespectNodeAffinityPreferred", false, FIXED},
    {"TopologyAwareScheduling", true, FIXED},
    {"UnadmittedWorkloadsExplicitStatus", false, FIXED},
    {"UnadmittedWorkloadsObservability", true, SWITCH(observability)},
    {"VisibilityOnDemand", true, FIXED},
    {"WorkloadIdentifierAnnotations", true, FIXED},
    {"WorkloadPriorityClassDefaulting", true, SWITCH(priority_class_defaulting)},
    {"WorkloadRequestUseMergePatch", false, FIXED},
    {"WorkloadValidateResourcesAreNonNegative", true, FIXED},
};

int feature_gates_set(struct kueue_settings *s, const char *name, bool on, struct err *reterr)
{
	for (size_t i = 0; i < ARRAY_LEN(gates); i++) {
		if (strcmp(gates[i].name, name) != 0)
			continue;
		if (gates[i].offset != FIXED)
			*(bool *)((char *)s + gates[i].offset) = on;
		else if (on != gates[i].on)
			return err_set(reterr, ERR_INVALID, "%s is always %s here", name,
				       gates[i].on ? "on" : "off");
		return 0;
	}
	return err_set(reterr, ERR_INVALID, "unknown feature gate %s", name);
}

int feature_gates_check(const struct kueue_settings *s, struct err *reterr)
{
	if (s->engine.preserve_scan_progress && !s->engine.flavor_fungibility)
		return err_set(reterr, ERR_INVALID,
			       "FlavorFungibilityPreserveScanProgress needs FlavorFungibility: "
			       "switch it off too");
	if (s->engine.ignore_undeclared && !s->quota_check_strategy)
		return err_set(reterr, ERR_INVALID,
			       "quotaCheckStrategy needs the feature gate QuotaCheckStrategy");
	return 0;
}
