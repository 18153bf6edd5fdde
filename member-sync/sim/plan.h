#ifndef MEMBER_SYNC_SIM_PLAN_H
#define MEMBER_SYNC_SIM_PLAN_H
/*
 * What job controllers see of pods, and what they decide.
 *
 * A decision is a function from plain structs and `now` to a new state and a plan; nothing here
 * knows stores or JSON. Pods of a job are told apart by (set, index, attempt): their names follow
 * from these, so deciding twice makes nothing twice.
 */
#include "base/clock.h"
#include "base/span.h"
#include "base/vec.h"
#include "kube/pod_info.h"
#include <stdbool.h>
#include <stdint.h>

struct sim_container {
	char *name, *image;
};

struct pod_view {
	int32_t set;   /* index of the pod set in the job's spec */
	int32_t index; /* within the set; -1 when it has none */
	int32_t attempt;
	enum pod_phase phase;
	bool deleting, ready;
	bool evicted;	   /* deleting, not by its controller, and it does not end yet */
	int32_t restarts;  /* of its container, in place */
	int32_t exit_code; /* of a finished pod */
	bool disrupted;	   /* failed by its node, not by itself: condition DisruptionTarget */
	usec finished;
	struct span ns, name; /* for messages */
	const struct sim_container *containers;
	size_t n_containers;
};

struct plan_create {
	int32_t set, index, attempt;
};

struct plan {
	struct VEC(struct plan_create) creates;
	struct VEC(size_t) deletes; /* indexes into the pods that were given */
	usec again;		    /* decide again at this time; 0: only after a change */
};

static inline void plan_done(struct plan *p)
{
	vec_done(&p->creates);
	vec_done(&p->deletes);
}

static inline void plan_again(struct plan *p, usec at)
{
	if (!p->again || at < p->again)
		p->again = at;
}

#endif
