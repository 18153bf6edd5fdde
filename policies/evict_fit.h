#ifndef POLICIES_EVICT_FIT_H
#define POLICIES_EVICT_FIT_H
/*
 * Would the gang fit on this member if these jobs were gone? The nodes' side of preemption: the
 * queues' side says who may be asked to go and in which order (quota-tree/kueue_preempt.h,
 * struct kueue_room; quota-tree/elastic_reclaim.h), a trial here says whether it would help.
 *
 * A trial works on one candidate member, in place: taking a job gives the pods that it has there
 * back to their nodes, bound ones and those that the ledger only assumes; giving it back undoes
 * exactly that. A take costs what its pods cost, a look what a fit costs; nothing is copied, and
 * the fleet does not count any of it as a change: versions, waiting asks and scores stay as they
 * are. Between begin and end nobody else may change or decide on the fleet.
 *
 * Of several members that a set of victims would make room on, evict_option_choose() takes the one
 * with the fewest victims, then the least work lost, then the best placement score.
 *
 * Pure; one thread.
 */
#include "base/vec.h"
#include "policies/ledger.h"
#include "policies/placement.h"

/* Pods of a job that are bound to one node of the member and asks the same. */
struct evict_pods {
	uint32_t node;
	uint32_t count;
	const struct pod_usage *usage; /* of one pod, as it was charged */
};

/* A running job on the member. */
struct evict_job {
	uint64_t number; /* what the ledger knows it by */
	const struct evict_pods *pods;
	size_t n_pods;
};

/* Fields are private; zero it before the first begin. Memory is reused from trial to trial. */
struct evict_fit {
	struct fleet *f;
	struct ledger *l;
	struct ask *ask;
	uint32_t cluster, group;
	uint64_t freed;
	struct fit_result result;
	struct VEC(const struct evict_job *) taken;
};

/* Starts a trial of the ask's gang on one member. False, and no trial, when the member is no
 * candidate for it (policy, health, taints, API): then nobody's leaving would help. */
bool evict_fit_begin(struct evict_fit *t, struct fleet *f, struct ledger *l, struct ask *ask,
		     uint32_t cluster);
/* Whether the job holds anything on this member that some pod of the gang could use: room on a node
 * that would take such a pod, of a resource that it asks (or a domain, where the gang needs one of
 * its own). The job must not be taken. */
bool evict_fit_useful(const struct evict_fit *t, const struct evict_job *job);
/* The job's pods are gone, until it is given back. Borrowed until then. */
void evict_fit_take(struct evict_fit *t, const struct evict_job *job);
void evict_fit_give_back(struct evict_fit *t, const struct evict_job *job);
/* Whether the whole gang fits now. */
bool evict_fit_fits(struct evict_fit *t);
/* Where, when it did: borrowed until the next fit or decision on this fleet. */
const struct fit_result *evict_fit_result(const struct evict_fit *t);
/* How good the placement is as things stand, smaller is better: comparable between members for the
 * same ask. Only where it fits. */
uint64_t evict_fit_score(struct evict_fit *t);
/* Ends the trial; what is still taken is given back. */
void evict_fit_end(struct evict_fit *t);
void evict_fit_done(struct evict_fit *t); /* frees its memory; no trial may be running */

/* What evicting a job throws away: pods times the time that they ran, microseconds; saturates. */
int64_t evict_lost_work(int64_t pods, int64_t started_us, int64_t now_us);

/* One member with the victims that would make room there. */
struct evict_option {
	uint32_t cluster;
	size_t n_victims;
	int64_t lost_us; /* sum of evict_lost_work() */
	uint64_t score;	 /* evict_fit_score() with the victims gone */
};
/* Negative, 0 or positive; 0 only for the same member. */
int evict_option_cmp(const struct evict_option *a, const struct evict_option *b);
/* Index of the best; n must not be 0. */
size_t evict_option_choose(const struct evict_option *options, size_t n);

#endif
