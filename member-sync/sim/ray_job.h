#ifndef MEMBER_SYNC_SIM_RAY_JOB_H
#define MEMBER_SYNC_SIM_RAY_JOB_H
/*
 * RayJob as KubeRay drives it (kubernetes-api.md 4.4), seen from its two status strings.
 *
 * Pure: see plan.h. Set 0 is the head (one pod), set i + 1 is worker group i; in K8sJobMode the
 * last set is the submitter. When every pod of the cluster runs the entrypoint is submitted, as
 * `submission` says: by a pod of its own, which runs beside the entrypoint and stays behind for its
 * log (two more are tried when it fails); by the operator over HTTP; by a container beside the
 * head; or by a person, who then writes spec.jobId. The entrypoint lasts as the head's template
 * says; the cluster's pods live until shutdown. Not simulated: the Job around the submitter's pod,
 * RayCluster objects, autoscaling, deletion strategies.
 */
#include "member-sync/sim/plan.h"

#define RAY_JOB_MAX_GROUPS 16

enum ray_job_submission { RAY_HTTP, RAY_K8S_JOB, RAY_SIDECAR, RAY_INTERACTIVE };

struct ray_job_spec {
	int32_t pods[RAY_JOB_MAX_GROUPS + 1]; /* per set: replicas times hosts */
	size_t n_sets;			      /* of the cluster: without the submitter's */
	enum ray_job_submission submission;
	bool submitted; /* RAY_INTERACTIVE: by a person */
	bool suspend, shutdown;
	int64_t ttl;		 /* seconds from the end to the shutdown */
	int64_t active_deadline; /* seconds; -1: none */
	int32_t backoff_limit;
	usec duration; /* of the entrypoint, as it is in simulated time */
	int32_t exit_code;
};

struct ray_job_state {
	const char *job;	/* static texts: "", "PENDING", "RUNNING", "SUCCEEDED", ... */
	const char *deployment; /* "", "Initializing", "Running", ... */
	const char *reason;
	const char *message;
	int32_t attempt; /* which cluster: its name follows from it */
	bool has_cluster;
	int32_t failed, succeeded;
	usec started, running, ended; /* 0: unset; running: the entrypoint's start */
};

/* Known texts, so that states can be read back; NULL when the text is none of them. */
const char *ray_job_text(struct span text);
bool ray_job_finished(const struct ray_job_state *s);
/* Whether pods of this set come from the submitter's template. */
bool ray_job_is_submitter(const struct ray_job_spec *spec, int32_t set);
bool ray_job_decide(const struct ray_job_spec *spec, const struct pod_view *pods, size_t n_pods,
		    usec now, struct ray_job_state *state, struct plan *plan);

#endif
