#ifndef TESTS_BENCH_KUEUE_SCENARIO_H
#define TESTS_BENCH_KUEUE_SCENARIO_H
/*
 * The scenarios that Kueue publishes figures of (reference/kueue.md section 3.2): cohorts of
 * ClusterQueues of 20 CPU that may borrow 100, reclaim Any, within LowerPriority; in each queue
 * three classes of workloads, one created every so often, running so long.
 */
#include <stddef.h>
#include <stdint.h>

#define KUEUE_CLASSES	       3
#define KUEUE_NOMINAL_MILLI    INT64_C(20000)
#define KUEUE_BORROWING_MILLI  INT64_C(100000)
#define KUEUE_SCENARIO_COHORTS 32 /* at most */

struct kueue_class {
	const char *name;
	size_t per_queue;
	int64_t every, runs; /* us */
	int64_t cpu;	     /* thousandths */
	int32_t priority;
};

struct kueue_scenario {
	const char *name;
	size_t cohorts, width; /* queues of a cohort */
	struct kueue_class classes[KUEUE_CLASSES];
	double floor; /* s: quota alone, nothing preempted */
};

/* NULL when there is none of that name. */
const struct kueue_scenario *kueue_scenario_find(const char *name);
static inline size_t kueue_scenario_queues(const struct kueue_scenario *s)
{
	return s->cohorts * s->width;
}
size_t kueue_scenario_workloads(const struct kueue_scenario *s);

/* One workload of it; numbers are places in the order queue, class, n-th of the class. */
struct kueue_creation {
	int64_t at; /* us after the start */
	uint32_t number, queue, class;
};
/* All of them by time, then number; malloc'd, kueue_scenario_workloads() of them. */
struct kueue_creation *kueue_scenario_creations(const struct kueue_scenario *s);

#endif
