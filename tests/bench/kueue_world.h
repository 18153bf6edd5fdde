#ifndef TESTS_BENCH_KUEUE_WORLD_H
#define TESTS_BENCH_KUEUE_WORLD_H
/* The engine of Kueue's dialect alone, with queues of one flavor and one resource. */
#include "quota-tree/kueue_queues.h"

struct kueue_world {
	struct kueue_forest *f;
	struct kueue_queues *q;
	uint32_t *queues;
	size_t n_queues;
};

/* Queues of `nominal` milli-CPU in cohorts of `width`; one queue alone is in none. */
struct kueue_world kueue_world_make(size_t cohorts, size_t width, int64_t nominal,
				    int64_t borrowing);
/* Checks its sums first; ends the program when they are wrong. */
void kueue_world_done(struct kueue_world *w);
/* A workload of one pod, its number being its name. */
struct kueue_workload *kueue_world_add(struct kueue_world *w, uint32_t queue, uint64_t number,
				       int32_t priority, int64_t at, int64_t cpu, void *owner);

#endif
