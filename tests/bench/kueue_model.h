#ifndef TESTS_BENCH_KUEUE_MODEL_H
#define TESTS_BENCH_KUEUE_MODEL_H
/*
 * A scenario at zero latency: a virtual clock creates the workloads at their intervals, the engine
 * decides, workloads end when their time is over, and victims stop at once. What a real hub needs
 * longer is its own doing. Preempted work starts over, so the wall is above the physical floor of
 * quota alone.
 */
#include "kueue_scenario.h"

struct kueue_model_result {
	double wall; /* s, virtual */
	size_t admissions[KUEUE_CLASSES], evictions;
	double useful, lost;	     /* CPU seconds */
	double waits[KUEUE_CLASSES]; /* s from creation to admission, the mean of all admissions */
	double cpu_us;		     /* of this process, a workload */
};

void kueue_model_run(const struct kueue_scenario *s, struct kueue_model_result *ret);

#endif
