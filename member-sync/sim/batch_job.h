#ifndef MEMBER_SYNC_SIM_BATCH_JOB_H
#define MEMBER_SYNC_SIM_BATCH_JOB_H
/*
 * batch/v1 Job as kube-controller-manager drives it (kubernetes-api.md 4.3): Indexed and
 * NonIndexed, parallelism, backoffLimit, deadlines, suspend and resume.
 *
 * Pure: see plan.h. Finished pods are counted from the pods themselves; what the caller knows of
 * finished pods that are gone is given in `gone`. Not simulated: waits between retries per index
 * (they are the whole job's), manual selectors, podReplacementPolicy, termination periods.
 */
#include "member-sync/sim/batch_policy.h"
#include "member-sync/sim/conditions.h"
#include "member-sync/sim/plan.h"

#define BATCH_JOB_MAX_COMPLETIONS 100000

struct batch_job_spec {
	int64_t parallelism;
	int64_t completions; /* -1: unset, any success is enough */
	int64_t backoff_limit;
	int64_t active_deadline; /* seconds; -1: none */
	int64_t ttl;		 /* seconds after it finished; -1: never */
	bool indexed, suspend;
	int32_t time_scale;	     /* divides the waits between retries; at least 1 */
	struct batch_policy *policy; /* owned by the record; NULL: none */
};

struct batch_job_state {
	struct conditions conditions;
	int64_t active, ready, succeeded, failed;
	usec started, completed; /* 0: unset */
	/* Indexed: completions flags, owned; NULL until the first one is done */
	bool *done;
	bool *failed_indexes; /* likewise, where backoffLimitPerIndex says so */
	/* Not in the status: pods that finished and are gone, and the attempts so far */
	int64_t gone_succeeded, gone_failed;
	int32_t attempts;
};

void batch_job_state_done(struct batch_job_state *s);
bool batch_job_finished(const struct batch_job_state *s);
/* Pods that a complete job has seen succeed. */
int64_t batch_job_wanted(const struct batch_job_spec *spec);

/* state is the last one and becomes the next; true when its visible part changed. */
bool batch_job_decide(const struct batch_job_spec *spec, const struct pod_view *pods, size_t n_pods,
		      usec now, struct batch_job_state *state, struct plan *plan);

/* "0-3,5" of the done flags into out, and back. */
struct buf;
void batch_job_print_indexes(const bool *done, int64_t n, struct buf *out);
/* -EINVAL for text that is not such a list below n; then *done is unspecified. */
int batch_job_parse_indexes(struct span text, bool *done, int64_t n) MUST_CHECK;

#endif
