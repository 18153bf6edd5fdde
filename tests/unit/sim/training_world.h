#ifndef TESTS_SIM_TRAINING_WORLD_H
#define TESTS_SIM_TRAINING_WORLD_H
/*
 * One job of a training kind before its controller: a set of one pod and one of two, the pods as
 * they are said to be, and what was decided last. Each decision takes a second.
 */
#include "member-sync/sim/training.h"
#include "sim_test.h"

struct world {
	struct training_spec spec;
	struct training_state state;
	struct pod_view pods[16];
	size_t n;
	struct plan plan;
	bool services, changed;
	usec now;
};

static struct world w;

static inline void training_setup(enum training_kind kind, struct training_replica first,
				  struct training_replica second)
{
	w = (struct world){.now = T0};
	w.spec = (struct training_spec){
	    .kind = kind,
	    .types = {first, second},
	    .n_types = 2,
	    .backoff_limit = -1,
	    .active_deadline = -1,
	    .ttl = -1,
	};
}

static inline int teardown(void **state)
{
	plan_done(&w.plan);
	return 0;
}

/* The last plan goes, and time goes on. */
static inline struct training_view next_view(const char *name)
{
	struct training_view v = {.spec = &w.spec,
				  .ns = "team",
				  .name = name,
				  .pods = w.pods,
				  .n_pods = w.n,
				  .now = w.now};

	plan_done(&w.plan);
	w.plan = (struct plan){0};
	w.now += S;
	return v;
}

static inline struct pod_view *pod(int32_t set, int32_t index, enum pod_phase phase)
{
	for (size_t i = 0; i < w.n; i++)
		if (w.pods[i].set == set && w.pods[i].index == index) {
			w.pods[i].phase = phase;
			return &w.pods[i];
		}
	w.pods[w.n] = (struct pod_view){.set = set, .index = index, .phase = phase};
	return &w.pods[w.n++];
}

#endif
