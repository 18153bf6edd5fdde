#include "core/kueue/feature_gates.h"

#include "core/kueue/settings.h"

#include <stddef.h>

#define SWITCH(member) offsetof(struct kueue_settings, member), NULL
#define FIXED(why)     SIZE_MAX, why

/* Why a gate cannot be switched. */
#define NEVER_OTHERWISE "the hub has no other way"
#define NO_DRA		"devices of resourceClaims are not counted here"
#define NO_GATING	"the annotation admission-gated-by means nothing here; use spec.active"
#define NO_SLICES                                                                                  \
	"a running job that grows is queued anew as a whole; elastic-job means nothing here"
#define NO_PODS	     "Pods are not queued here, only the jobs that make them"
#define NO_SUCH_KIND "jobs of this kind do not run here"
#define NOT_BUILT    "this is not built here"
#define ONE_MEMBER                                                                                 \
	"the hub sends a job to one member itself: no other Kueue and no copies that race"
#define OWN_METRICS "the hub's metrics are its own: /metrics"
#define OWN_NODES   "the member's scheduler picks the nodes; hotSwap says when one is lost"
#define OWN_STORE   "the hub writes its own store"

static const struct gate {
	const char *name;
	bool on; /* the default, and the one value of a fixed gate */
	size_t offset;
	const char *why; /* of a fixed gate */
} gates[] = {
    {"AdmissionFairSharing", true, SWITCH(admission_fair_sharing)},
    {"AdmissionGatedBy", false, FIXED(NO_GATING)},
    {"AssignQueueLabelsForPods", true, FIXED(NEVER_OTHERWISE)},
    {"CleanupProvisioningRequestsOnEviction", true, FIXED(NEVER_OTHERWISE)},
    {"ConcurrentAdmission", false, FIXED(NOT_BUILT)},
    {"CustomMetricLabels", false, FIXED(OWN_METRICS)},
    {"DeferRayServiceFinalizationForRedisCleanup", false, FIXED(NO_SUCH_KIND)},
    {"DisableWaitForPodsReady", false, SWITCH(no_wait_for_pods_ready)},
    {"DynamicQuotaOrchestration", false, FIXED(NOT_BUILT)},
    {"ElasticJobsViaWorkloadSlices", false, FIXED(NO_SLICES)},
    {"ElasticJobsViaWorkloadSlicesWithPartialReplicaScaleUp", false, FIXED(NO_SLICES)},
    {"ElasticJobsViaWorkloadSlicesWithTAS", false, FIXED(NO_SLICES)},
    {"FailureRecoveryPolicy", false, FIXED(NO_PODS)},
    {"FairSharingPreemptWithinNominal", true, SWITCH(engine.preempt_within_nominal)},
    {"FairSharingPrioritizeNonBorrowing", true, SWITCH(engine.prioritize_non_borrowing)},
    {"FairSharingReevaluatePreemptionCandidates", false, FIXED(NOT_BUILT)},
    {"FastQuotaReleaseInPodIntegration", false, FIXED(NO_PODS)},
    {"FinishOrphanedWorkloads", true, FIXED(NEVER_OTHERWISE)},
    {"FlavorFungibility", true, SWITCH(engine.flavor_fungibility)},
    {"FlavorFungibilityPreserveScanProgress", true, SWITCH(engine.preserve_scan_progress)},
    {"HierarchicalCohorts", true, FIXED(NEVER_OTHERWISE)},
    {"KueueDRAIntegration", false, FIXED(NO_DRA)},
    {"KueueDRAIntegrationConsumableCapacity", false, FIXED(NO_DRA)},
    {"KueueDRAIntegrationExtendedResource", false, FIXED(NO_DRA)},
    {"KueueDRAIntegrationPartitionableDevices", false, FIXED(NO_DRA)},
    {"KueueDRARejectWorkloadsWhenDRADisabled", false, FIXED(NO_DRA)},
    {"LWSImmutableGroupSize", false, FIXED(NO_SUCH_KIND)},
    {"LocalQueueMetrics", false, FIXED(OWN_METRICS)},
    {"ManagedJobsNamespaceSelectorAlwaysRespected", true, FIXED(NEVER_OTHERWISE)},
    {"MetricForWorkloadCreationLatency", false, FIXED(OWN_METRICS)},
    {"MetricsForCohorts", false, FIXED(OWN_METRICS)},
    {"MultiKueue", true, FIXED("an AdmissionCheck of MultiKueue names a job's members here")},
    {"MultiKueueAdaptersForCustomJobs", false, FIXED(ONE_MEMBER)},
    {"MultiKueueAllowInsecureKubeconfigs", false, FIXED(ONE_MEMBER)},
    {"MultiKueueClusterProfile", false, FIXED("members come with muster join")},
    {"MultiKueueIncrementalDispatcherConfig", false, FIXED(ONE_MEMBER)},
    {"MultiKueueIncrementalDispatcherRespectConfigOrder", true, FIXED(NEVER_OTHERWISE)},
    {"MultiKueueKubeConfigPathValidation", false, FIXED("members come with muster join")},
    {"MultiKueueManagerQuotaAutomation", false, FIXED(ONE_MEMBER)},
    {"MultiKueueOrchestratedPreemption", false, FIXED(ONE_MEMBER)},
    {"MultiKueueRedoAdmissionOnEvictionInWorker", false, FIXED(ONE_MEMBER)},
    {"MultiKueueRemoteSpecSync", false, FIXED(ONE_MEMBER)},
    {"MultiKueueWaitForWorkloadAdmitted", false, FIXED(ONE_MEMBER)},
    {"ObjectRetentionPolicies", true, FIXED(NEVER_OTHERWISE)},
    {"PartialAdmission", true, SWITCH(engine.partial_admission)},
    {"PodIntegrationValidateGroupOwner", false, FIXED(NO_PODS)},
    {"PrioritizePreemptorWorkloads", false, SWITCH(engine.prioritize_preemptors)},
    {"PriorityBoost", false, SWITCH(priority_boost)},
    {"PrioritySortingWithinCohort", true, SWITCH(engine.priority_sorting_within_cohort)},
    {"PropagateBatchJobLabelsToWorkload", true, FIXED(NEVER_OTHERWISE)},
    {"QuotaCheckStrategy", true, SWITCH(quota_check_strategy)},
    {"ReclaimablePods", true, SWITCH(reclaimable_pods)},
    {"RecomputeAssignmentUponPreemptionTargetsOverlap", true, SWITCH(engine.recompute_on_overlap)},
    {"RejectUpdatesToCQWithInvalidOnFlavors", true, FIXED(NEVER_OTHERWISE)},
    {"RemoveFinalizersWithStrictPatch", true, FIXED(OWN_STORE)},
    {"ReservedResourceNameValidation", true, FIXED(NEVER_OTHERWISE)},
    {"SchedulerLibraryIntegration", false, FIXED(OWN_NODES)},
    {"SchedulerLongRequeueInterval", false, FIXED("what could help wakes a workload at once")},
    {"SchedulerTimestampPreemptionBuffer", false, FIXED(NOT_BUILT)},
    {"SchedulingEquivalenceHashing", true, SWITCH(engine.equivalence_hashing)},
    {"SchedulingEquivalenceHashingIgnorePodSetName", true, FIXED(NEVER_OTHERWISE)},
    {"ShortWorkloadNames", false, SWITCH(short_names)},
    {"SkipAncestorCheckForDeletedWorkloads", true, FIXED(NEVER_OTHERWISE)},
    {"SkipFinalizersForPodsSuspendedByParent", true, FIXED(NO_PODS)},
    {"SkipReassignmentForPodOwnedWorkloads", true, FIXED(NO_PODS)},
    {"SparkApplicationIntegration", false, FIXED(NO_SUCH_KIND)},
    {"TASAssignmentsEncodingByHostnamePrefix", false, FIXED(OWN_NODES)},
    {"TASBalancedPlacement", false, FIXED(NOT_BUILT)},
    {"TASCacheNodeMatchResults", true, FIXED(NEVER_OTHERWISE)},
    {"TASCacheTopologyTree", false, FIXED(NOT_BUILT)},
    {"TASCachingRemainingResources", true, FIXED(NEVER_OTHERWISE)},
    {"TASFailedNodeReplacement", true, FIXED(OWN_NODES)},
    {"TASFailedNodeReplacementFailFast", true, FIXED(OWN_NODES)},
    {"TASHandleOverlappingFlavors", true, FIXED(NEVER_OTHERWISE)},
    {"TASMultiLayerTopology", true, FIXED(NEVER_OTHERWISE)},
    {"TASProfileMixed", true, FIXED(NEVER_OTHERWISE)},
    {"TASRecomputeAssignmentWithinSchedulingCycle", true, FIXED(NEVER_OTHERWISE)},
    {"TASReplaceNodeDueToNotReadyOverFixedTime", false, FIXED(OWN_NODES)},
    {"TASReplaceNodeOnNodeTaints", true, FIXED(OWN_NODES)},
    {"TASReplaceNodeOnPodTermination", true, FIXED(OWN_NODES)},
    {"TASRespectNodeAffinityPreferred", false, FIXED(NOT_BUILT)},
    {"TASValidateWorkloadSliceSize", true, FIXED(NEVER_OTHERWISE)},
    {"TLSOptions", false, FIXED("the hub's TLS is its own")},
    {"TopologyAwareScheduling", true, FIXED(NEVER_OTHERWISE)},
    {"UnadmittedWorkloadsExplicitStatus", false, SWITCH(explicit_status)},
    {"UnadmittedWorkloadsObservability", true, SWITCH(observability)},
    {"ValidateRayAndSparkJobUpdates", true, FIXED(NEVER_OTHERWISE)},
    {"VectorizedResourceRequests", true, FIXED(NEVER_OTHERWISE)},
    {"VisibilityOnDemand", true, FIXED(NEVER_OTHERWISE)},
    {"WorkloadIdentifierAnnotations", true, FIXED(NO_PODS)},
    {"WorkloadPriorityClassDefaulting", true, SWITCH(priority_class_defaulting)},
    {"WorkloadRequestUseMergePatch", false, FIXED(OWN_STORE)},
    {"WorkloadValidateResourcesAreNonNegative", true, FIXED(NEVER_OTHERWISE)},
    {"WorkloadValidationForPodSetMetadata", true, FIXED(NEVER_OTHERWISE)},
};

int feature_gates_set(struct kueue_settings *s, const char *name, bool on, struct err *reterr)
{
	for (size_t i = 0; i < ARRAY_LEN(gates); i++) {
		if (strcmp(gates[i].name, name) != 0)
			continue;
		if (!gates[i].why)
			*(bool *)((char *)s + gates[i].offset) = on;
		else if (on != gates[i].on)
			return err_set(reterr, ERR_INVALID, "%s is always %s here: %s", name,
				       gates[i].on ? "on" : "off", gates[i].why);
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
	if (s->explicit_status && !s->observability)
		return err_set(reterr, ERR_INVALID,
			       "UnadmittedWorkloadsExplicitStatus needs "
			       "UnadmittedWorkloadsObservability");
	if (s->engine.ignore_undeclared && !s->quota_check_strategy)
		return err_set(reterr, ERR_INVALID,
			       "quotaCheckStrategy needs the feature gate QuotaCheckStrategy");
	return 0;
}
