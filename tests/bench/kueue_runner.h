#ifndef TESTS_BENCH_KUEUE_RUNNER_H
#define TESTS_BENCH_KUEUE_RUNNER_H
/*
 * Kueue's performance runner against a real hub (reference/kueue.md section 3.1): it creates
 * Workload objects at the scenario's times, watches them, patches each admitted one Finished when
 * it has run from the moment that its admission was seen, and takes the reservation off an evicted
 * one at once, which starts over. Both patches are merge patches of the status that carry the
 * resourceVersion they were made from, so that a finish never meets an eviction.
 *
 * One thread sends, one reads the watch; the results may be read once it has stopped.
 */
#include "fleet.h"
#include "kueue_ledger.h"

struct kueue_runner_result {
	double wall; /* s, from the start to the last finish */
	size_t admissions[KUEUE_CLASSES], evictions, conflicts, failures;
	double lost;		      /* CPU seconds */
	double *waits[KUEUE_CLASSES]; /* s from creation to each admission, in no order */
	double lag;		      /* s by which the last creation came late */
	size_t revisions, violations;
	char first_violation[160], first_failure[256];
};

/* The scenario's queues, and what they need. */
void kueue_runner_set_up(struct fleet *f, const struct kueue_scenario *s);
/* Returns when every workload has finished, or after `seconds`: -ETIMEDOUT. `tick` is called ten
 * times a second meanwhile. */
int kueue_runner_run(struct fleet *f, const struct kueue_scenario *s, double seconds,
		     void (*tick)(void *arg), void *arg,
		     struct kueue_runner_result *ret) MUST_CHECK;
void kueue_runner_result_done(struct kueue_runner_result *r);

#endif
