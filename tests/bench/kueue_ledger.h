#ifndef TESTS_BENCH_KUEUE_LEDGER_H
#define TESTS_BENCH_KUEUE_LEDGER_H
/*
 * What a scenario's Workloads hold by their rows alone, revision by revision, and whether that may
 * be: no queue above nominal + borrowing limit, no cohort above the sum of its queues (nothing is
 * lent twice), nobody admitted before an older one of its class and queue. A workload that was
 * preempted once is left out of the last: its preemptor may stand before it (2.3).
 *
 * Thread: the one that reads the watch.
 */
#include "kueue_scenario.h"
#include <stdbool.h>

enum ledger_state {
	LEDGER_ABSENT,
	LEDGER_PENDING,
	LEDGER_HOLDS, /* admitted */
	LEDGER_EVICTED,
	LEDGER_FINISHED,
};

struct ledger_entry {
	uint32_t queue;
	uint8_t class, state;
	bool was_preempted;
	uint64_t since;	 /* revision at which it began to wait */
	int64_t created; /* s */
};

struct kueue_ledger {
	const struct kueue_scenario *s;
	struct ledger_entry *entries; /* by number */
	uint32_t *first;	      /* number of the first of each (queue, class) */
	int64_t *held;		      /* by queue, thousandths */
	int64_t cohorts[KUEUE_SCENARIO_COHORTS];
	uint64_t revision, revisions;
	size_t violations;
	char first_violation[160];
};

void kueue_ledger_init(struct kueue_ledger *l, const struct kueue_scenario *s);
void kueue_ledger_done(struct kueue_ledger *l);
/* A row: the workload's number, its state now and its creationTimestamp. Returns what it was. */
enum ledger_state kueue_ledger_take(struct kueue_ledger *l, uint32_t number,
				    enum ledger_state state, uint64_t revision, int64_t created);

#endif
