#ifndef TESTS_BENCH_KUEUE_CROWD_H
#define TESTS_BENCH_KUEUE_CROWD_H
/*
 * Many workloads that wait in one ClusterQueue of a real hub: they are created, and then each that
 * is admitted is finished at once, for a while, so that one decision follows the other with nearly
 * all of them pending. What a decision costs the hub counts itself (/metrics): its time is that of
 * planning, the commit apart.
 */
#include "fleet.h"
#include "kueue_scenario.h"
#include <stdbool.h>

struct kueue_crowd_result {
	double created_per_s;
	/* counted by the hub while they were finished; a decision: that one is admitted, or waits
	 */
	size_t admissions, decisions;
	double decision_us;   /* each */
	double admission_us;  /* each, with the decisions that others go on waiting */
	double hub_us;	      /* CPU of all its threads for an admission */
	size_t before, after; /* private bytes: empty, and with all of them pending */
};

/* A queue of 200 CPU; 20 shapes and 10 priorities, or nearly a shape for each. */
void kueue_crowd_run(struct fleet *f, size_t n, bool distinct, double seconds,
		     struct kueue_crowd_result *ret);

#endif
