#ifndef POLICIES_LEDGER_H
#define POLICIES_LEDGER_H
/*
 * Assumed jobs: decided, not yet visible as pods. What they will take is charged to the fleet at
 * the decision, so the second job of the same second sees what the first one left (V27 of the
 * reference on the fleet).
 *
 * Placement names a node for every pod, so the capacity is right pod by pod. The member's own
 * scheduler may bind pods elsewhere: when a pod of the job is seen bound, one assumed pod of the
 * same set is given back, the one on that node if there is one, else the last assumed. Core
 * charges the real pod itself (cluster_view_pod_charge), in the same batch. Pods of other jobs that
 * were assumed where it is now move on (ledger_rehome).
 *
 * An entry goes when all its pods were seen, when core drops it (the job finished, was taken back
 * or never started), or when its deadline passes and core says so. The ledger is derived: after a
 * restart core assumes again what the store says was decided. Keys are core's job numbers; 0 is
 * none.
 */
#include "policies/cluster_view.h"
#include "policies/fit.h"

struct ledger;

struct ledger *ledger_create(struct fleet *f);	 /* the fleet must outlive it */
struct ledger *ledger_destroy(struct ledger *l); /* gives everything back to the fleet */

/*
 * Charges a decided job. `slots` is the node list of the decision (copied); what it leaves of the
 * shape's pods, as in sum-of-free mode, is held against the totals of the cluster only.
 * `deadline_us` is when core wants to hear of it from ledger_expired(); 0 never. ERR_ALREADY_EXISTS
 * when the job is assumed already. Keeps its own reference on the shape.
 */
int ledger_assume(struct ledger *l, uint64_t job, struct shape *shape, uint32_t cluster,
		  const struct fit_slot *slots, size_t n_slots, int64_t deadline_us,
		  struct err *reterr) MUST_CHECK;

/*
 * Keeps nodes for a job that waits until others, whom it preempted, have left them: nobody else is
 * given that room meanwhile, though more is then asked of the nodes than they have. It counts as
 * assumed until ledger_drop(), which must come before the job is assumed for good. A claim takes
 * the place of the one that the job had; the same one again, its slots in any order, changes
 * nothing. Errors as above; then the job has no claim.
 */
int ledger_claim(struct ledger *l, uint64_t job, struct shape *shape, uint32_t cluster,
		 const struct fit_slot *slots, size_t n_slots, struct err *reterr) MUST_CHECK;

/*
 * A pod of set `set` of the job was seen bound to `node` (NODE_NONE when it came and went unseen):
 * one assumed pod of that set is given back. Returns true when one was held; false for a job or
 * set that holds nothing, as with a pod that replaces an earlier one. Call it once per pod uid.
 */
bool ledger_observe(struct ledger *l, uint64_t job, uint32_t set, uint32_t node);

/*
 * The other way round: a pod of the job that was seen on `node` is no more, and its controller
 * makes another one, whose room is kept until that is seen. Where the controller's pod may not go
 * to that node, ledger_rehome() finds another. A job that holds nothing gets an entry anew;
 * ERR_BAD_REQUEST when it is assumed on another cluster, or has no such set.
 */
int ledger_await(struct ledger *l, uint64_t job, struct shape *shape, uint32_t cluster,
		 uint32_t set, uint32_t node, struct err *reterr) MUST_CHECK;

/* Whether a pod of this set is still to come to this very node. */
bool ledger_expects(const struct ledger *l, uint64_t job, uint32_t set, uint32_t node);

/*
 * The node has less room than was assumed: pods were bound there that were assumed elsewhere, or it
 * shrank, or takes no pods any more. Looked at by the next ledger_rehome(). Cheap when it is not
 * so.
 */
void ledger_crowded(struct ledger *l, uint32_t cluster, uint32_t node);
/*
 * Assumed pods that their node cannot hold beside what is bound there move to nodes of the cluster
 * that can, where there are any, the youngest jobs' first: the member's scheduler will do the same,
 * and that room must not be given away meanwhile. What finds no room stays, and is tried again with
 * the next call. Call it before decisions. Jobs with a topology are left where they are, and so are
 * claims: those they claim from make way, or the claim is made anew.
 */
void ledger_rehome(struct ledger *l);

/* Gives back what the job still holds. Returns true when it held something. */
bool ledger_drop(struct ledger *l, uint64_t job);

/* Moves the deadline of a job (a pod was seen, so the member is at work). */
void ledger_extend(struct ledger *l, uint64_t job, int64_t deadline_us);

/* The job with the earliest deadline at or before `now_us`, 0 when there is none. It stays
 * assumed until core drops or extends it: capacity is not given away behind core's back. */
uint64_t ledger_expired(const struct ledger *l, int64_t now_us);
/* The earliest deadline, INT64_MAX when none: for core's timer. */
int64_t ledger_next_deadline(const struct ledger *l);

/* Pods still held for a job, and where. CLUSTER_NONE and 0 when not assumed. */
uint32_t ledger_cluster(const struct ledger *l, uint64_t job);
int64_t ledger_pods(const struct ledger *l, uint64_t job);
size_t ledger_count(const struct ledger *l);

#endif
