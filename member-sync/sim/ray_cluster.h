#ifndef MEMBER_SYNC_SIM_RAY_CLUSTER_H
#define MEMBER_SYNC_SIM_RAY_CLUSTER_H
/*
 * RayCluster as KubeRay 1.3 drives it: the head and the worker groups are kept as they are asked,
 * until the object goes; suspension takes the pods away.
 *
 * Pure: see plan.h. Set 0 is the head (one pod), set i + 1 is worker group i. A pod that ended is
 * deleted and made again. Not simulated: the autoscaler, services, addresses of the head, upgrades.
 */
#include "member-sync/sim/conditions.h"
#include "member-sync/sim/plan.h"

#define RAY_CLUSTER_MAX_GROUPS 16

struct ray_cluster_spec {
	int32_t pods[RAY_CLUSTER_MAX_GROUPS + 1]; /* per set: replicas times hosts */
	size_t n_sets;
	bool suspend;
	int64_t min_workers, max_workers; /* replicas, as status tells them */
	int64_t workers;		  /* replicas that are asked for */
};

struct ray_cluster_state {
	const char *state; /* static: "", "ready", "suspended" */
	struct conditions conditions;
	int32_t ready, available; /* worker pods */
	int64_t desired, min, max;
	usec updated, ready_at, suspended_at; /* 0: unset */
};

/* Known texts of `state`; "" for others. */
const char *ray_cluster_text(struct span text);
/* True when the state changed. */
bool ray_cluster_decide(const struct ray_cluster_spec *spec, const struct pod_view *pods,
			size_t n_pods, usec now, struct ray_cluster_state *state,
			struct plan *plan);

#endif
