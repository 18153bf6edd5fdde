#ifndef CORE_KUEUE_CLAIM_H
#define CORE_KUEUE_CLAIM_H
/*
 * Nodes that a preemptor's victims are leaving are kept for it, as kube-scheduler keeps a nominated
 * node: else whoever asks next takes them, the victims themselves first of all, and somebody is
 * evicted for a gang that then cannot start.
 *
 * A workload has a claim (policies/ledger.h) from the cycle in which it preempts until it is placed
 * or stops being its queue's preemptor. Its own nodes do not stand in its way: a trial lifts the
 * claim first. Where a member's scheduler binds others' pods to nodes that were claimed, the next
 * attempt finds the gang short again, and takes further victims while it keeps what it has: so
 * victims that take turns on the nodes cannot keep it out for ever. Claims are derived; after a
 * restart the preemptor makes a new one.
 */
#include "core/kueue/workload.h"
#include "policies/evict_fit.h"

/* In place of the claim that it had; the job's shape is that of its ask. */
void claim_take(struct core *c, struct workload *w, uint32_t cluster, const struct fit_slot *slots,
		size_t n_slots);
/* Gives it back; without one nothing happens. Those who lack that room are woken. */
void claim_drop(struct core *c, struct workload *w);
/* In a trial on one member: what the workload claims there is out of the way. *job is the caller's,
 * and lives as long as the trial. */
void claim_lift(struct core *c, const struct workload *w, struct evict_fit *trial,
		struct evict_job *job);
/* Whether the gang of its ask fits on the member that it claims. */
bool claim_fits(struct core *c, const struct workload *w);
/* Drops those of workloads that are not their queue's preemptor any more. */
void claim_sweep(struct core *c);
/* A member leaves the fleet. */
void claim_leave(struct core *c, uint32_t cluster);

#endif
