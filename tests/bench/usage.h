#ifndef TESTS_BENCH_USAGE_H
#define TESTS_BENCH_USAGE_H
/*
 * What a fleet has used by a moment: CPU time by process and thread, and rows of the hub's stores;
 * and what one job cost between two of them. CPU time is the measure where programs share a
 * machine.
 */
#include "bench.h"
#include "fleet.h"

struct usage {
	double at, hub, sims, own; /* seconds; of CPU but for the first */
	uint64_t finished;
	uint64_t truth, mirror; /* revisions: each row of an object takes one */
	struct process_thread threads[2][PROCESS_THREADS_MAX];
	size_t n_threads[2];
};

void usage_take(struct fleet *f, uint64_t finished, struct usage *ret);
/* Rows way-...: jobs a second (floor beside them), rows and microseconds a job. */
void usage_print(struct bench *b, const struct usage *from, const struct usage *to, double floor);

#endif
