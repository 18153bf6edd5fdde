#ifndef CORE_DISPATCH_UNGATER_H
#define CORE_DISPATCH_UNGATER_H
/*
 * Lets pods go into the topology domain that each was given, as Kueue's topology ungater does on
 * its own cluster: where a pod set stands in several domains (core/domain.h) its pods are born
 * behind the scheduling gate kueue.x-k8s.io/topology, and one patch on the member takes the gate
 * off and adds the node selectors of the pod's domain.
 *
 * Which domain: by the index of the pod, where its kind gives one (a Job's completion index, a
 * JobSet's job index and that, a training job's replica index): the first domain in the order of
 * their values takes the first indexes, and so on. So each slice is a run of indexes, and a pod
 * that is made anew goes where the one before it was. Pods without an index, and those beyond the
 * set's count, get the first domain that has fewer pods than it was given.
 *
 * A pod whose domain has lost a node waits behind its gate until the job has another one, or the
 * node is back (swap/swap.h): once it is let go it cannot go anywhere else.
 *
 * Nothing here is truth: the domains stand in the binding, the gate and the selectors in the pod.
 * A patch names the uid and the gate, so that it does nothing twice; one that was lost with a
 * restart is sent again. Costs one patch a pod, for such sets alone, at most 32 at a time on a
 * member. A pod that cannot be patched waits behind its gate, its job is told, and it is tried
 * again with back-off.
 *
 * The member needs pods' nodeSelector to be mutable behind a gate (Kubernetes 1.27), and the hub
 * the right to patch pods there. Core thread only.
 */
#include "core/dispatch/courier.h"
#include "core/state.h"

struct ungater *ungater_create(void);
struct ungater *ungater_destroy(struct ungater *u); /* NULL is fine; returns NULL */

/* The pod of this record was told of, or read at a restart; json: its text, absent: that of its
 * object at the hub. Key: namespace/name. */
void ungater_look(struct core *c, struct member *m, struct member_pod *p,
		  const struct pod_info *info, struct span key, struct span json);
/* FACT_RESULT of a call with CALL_UNGATE. */
void ungater_outcome(struct core *c, struct member *m, const struct call *call,
		     const struct order_outcome *r);
/* The job's domains are others from now on, its copy is the same. */
void ungater_reset(struct core *c, const struct job *j);
/* What pods wait for may have come: those that nothing went wrong with are looked at now. */
void ungater_hurry(struct core *c);

/* Sends what is due. */
void ungater_run(struct core *c);
usec ungater_due(const struct core *c);

#endif
