#ifndef MEMBER_SYNC_SIM_BATCH_POLICY_H
#define MEMBER_SYNC_SIM_BATCH_POLICY_H
/*
 * What a batch/v1 Job says about its failed pods and about early success: podFailurePolicy
 * (KEP-3329), backoffLimitPerIndex and maxFailedIndexes (KEP-3850), successPolicy (KEP-3998).
 *
 * Pure: from the rules and one pod, or the indexes that are done, to what they ask for. Most Jobs
 * have none of this, so it stands apart from the spec that every Job has.
 */
#include "base/span.h"
#include "member-sync/sim/plan.h"

#define BATCH_POLICY_MAX_RULES 20 /* upstream's own limit, for both lists */

enum batch_action { BATCH_COUNT, BATCH_IGNORE, BATCH_FAIL_INDEX, BATCH_FAIL_JOB };

struct batch_failure_rule { /* exit codes or the condition DisruptionTarget */
	enum batch_action action;
	bool by_exit_code, not_in, by_disruption;
	char container[64]; /* "": any */
	uint64_t codes[4];  /* a bit per exit code from 0 to 255 */
};

struct batch_success_rule {
	bool *indexes; /* owned, a flag per index; NULL: all of the job's */
	int64_t count; /* so many of them; -1: every one */
};

struct batch_policy {
	struct batch_failure_rule failure[BATCH_POLICY_MAX_RULES];
	size_t n_failure;
	struct batch_success_rule success[BATCH_POLICY_MAX_RULES];
	size_t n_success;
	int64_t limit_per_index;    /* of failures; -1: no such limit */
	int64_t max_failed_indexes; /* -1: none */
};

struct batch_policy *batch_policy_destroy(struct batch_policy *p); /* NULL is fine; returns NULL */

/* What the first rule that matches a failed pod asks for: BATCH_COUNT when none does, and when p
 * is NULL. *ret_rule (may be NULL): its index, untouched when none matches. */
enum batch_action batch_policy_judge(const struct batch_policy *p, const struct pod_view *pod,
				     size_t *ret_rule);
/* The controller's words about a pod that matches a rule. */
void batch_policy_explain(const struct batch_policy *p, size_t rule, const struct pod_view *pod,
			  char *out, size_t size);
/* Index of the first success rule that the done flags (n of them; NULL: none) satisfy, or -1. */
int batch_policy_met(const struct batch_policy *p, const bool *done, int64_t n);

#endif
