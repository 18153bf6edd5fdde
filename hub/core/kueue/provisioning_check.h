#ifndef CORE_KUEUE_PROVISIONING_CHECK_H
#define CORE_KUEUE_PROVISIONING_CHECK_H
/*
 * The admission check that asks members for nodes (reference/kueue.md 2.8; DESIGN section 4).
 *
 * When a workload has its quota, and its row says so, the hub makes a ProvisioningRequest
 * "<workload>-<check>-<attempt>" with its PodTemplate; core/provisioning takes it to members. That
 * one says Provisioned makes the check Ready and fixes the member in the same commit; a round that
 * failed everywhere is the check's Retry, with Kueue's back-off, and in the end Rejected; capacity
 * that was revoked under a workload that runs is Rejected. Once the workload holds no quota any
 * more its request is deleted, unless it failed: that one stays until the next attempt, so that
 * people see why.
 *
 * Level-triggered: a workload that is marked is looked at with the next batch that has room, also
 * after a restart. Of several checks of this controller the first asks, for all of them.
 */
#include "core/kueue/workload.h"
#include "core/provisioning/request.h"

struct provisioning_check { /* of one workload; NULL while it holds no quota */
	char *check, *request;
	int32_t attempt;
	bool ready;
	uint64_t managed; /* bit per pod set: its pods go to the nodes that are asked for */
	char *told;	  /* the check's message as last written */
};

/* How a request is to be decided. */
struct provisioning_terms {
	struct workload *workload; /* NULL: a user's own */
	struct job *job;	   /* of it, or NULL */
	struct provision_options options;
	int32_t attempt;
	bool admitted;
};
/* False when nothing is to be decided now: its workload is not known yet, or does not want it any
 * more; then it is deleted here. */
bool provisioning_check_terms(struct core *c, struct provisioning_request *r,
			      struct provisioning_terms *ret);

/* The workload reserves quota and has checks: looked at with one of the next batches. */
void provisioning_check_mark(struct core *c, struct workload *w);
/* It holds no quota any more. */
void provisioning_check_drop(struct core *c, struct workload *w);
void provisioning_check_free(struct workload *w);
/* Looks at those that are marked, and at the checks themselves. True when nothing is left. */
bool provisioning_check_run(struct core *c);

/* A decision about the workload's request. */
void provisioning_check_news(struct core *c, struct workload *w, struct provisioning_request *r);
/* The request's object is gone, by somebody's hand. */
void provisioning_check_lost(struct core *c, struct provisioning_request *r);

/* The request that a workload's nodes come from; NULL: none is wanted. *ret_known is false while
 * that is not decided: it must not be placed yet. */
struct provisioning_request *provisioning_check_request(const struct core *c,
							const struct workload *w, bool *ret_known);

#endif
