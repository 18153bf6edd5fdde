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
 * after a restart.
 *
 * Several checks of this controller on one workload each ask for pod sets of their own, as their
 * configs say: those that request what the config manages, that got a flavor that the check is for
 * (onFlavors), and that no earlier check asks for. Since the gang starts on one member, their
 * requests go round together: the first one leads, the others are asked where it is, and nodes are
 * there when all of them say so on one member. So these checks become Ready together; when the
 * round is over, the checks whose requests failed are Retry, or Rejected, each by its own config.
 */
#include "core/kueue/workload.h"
#include "core/provisioning/request.h"

struct job_term;
struct workload_status;

struct provisioning_check { /* of one workload; none while it holds no quota */
	struct provisioning_check *next;
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
	bool leads;
	struct provisioning_request *lead; /* of its round, or itself; NULL: it is not there */
};
/* False when nothing is to be decided now: its workload is not known yet, or does not want it any
 * more; then it is deleted here. */
bool provisioning_check_terms(struct core *c, struct provisioning_request *r,
			      struct provisioning_terms *ret);

/* The workload reserves quota and has checks: looked at with one of the next batches. */
void provisioning_check_mark(struct core *c, struct workload *w);
/* At a restart, when it holds quota, before its job: its checks with the requests that they had, as
 * far as these are known; provisioning_check_mark() looks at them properly. */
void provisioning_check_restore(struct core *c, struct workload *w,
				const struct workload_status *s);
/* It holds no quota any more. */
void provisioning_check_drop(struct core *c, struct workload *w);
void provisioning_check_free(struct workload *w);
/* Looks at those that are marked, and at the checks themselves. True when nothing is left. */
bool provisioning_check_run(struct core *c);

/* The node labels that the check's config has its pods ask for, of what the request's status says,
 * added to what they ask. Arrays from `mem`. */
void provisioning_check_labels(struct core *c, const struct provisioning_check *p,
			       const struct provisioning_request *r, struct arena *mem,
			       struct job_term *t);

/* What stands in the workload's status now. */
void provisioning_check_tell(struct core *c, struct workload *w, struct provisioning_check *p,
			     const char *state, int64_t requeue_after, const char *updates,
			     const char *message);
/* Checks became Ready: when they were the last the workload can be placed. */
void provisioning_check_settle(struct core *c, struct workload *w);
/* The workload's check that asks with this request; NULL. */
struct provisioning_check *provisioning_check_of(const struct workload *w, const char *request);
/* Something of one request of a round changed: the others are decided anew. */
void provisioning_check_wake(struct core *c, const struct provisioning_request *r);

/* A decision about the workload's round, or news of one of its requests (provisioning_state.c). */
void provisioning_check_news(struct core *c, struct workload *w, struct provisioning_request *lead);
/* What members said in an attempt, while its request is there: one that failed stays until the next
 * attempt. False, and nothing added, when nobody was asked or nothing is known. */
bool provisioning_check_last_words(const struct core *c, const struct workload *w,
				   struct span check, int32_t attempt, struct buf *out);
/* The request's object is gone, by somebody's hand. */
void provisioning_check_lost(struct core *c, struct provisioning_request *r);

/* The request that a workload's nodes come from, of several the first; NULL: none is wanted.
 * *ret_known is false while that is not decided: it must not be placed yet. */
struct provisioning_request *provisioning_check_request(const struct core *c,
							const struct workload *w, bool *ret_known);

#endif
