#ifndef CORE_KUEUE_ADMISSION_RECORD_H
#define CORE_KUEUE_ADMISSION_RECORD_H
/*
 * What a Workload's admission gives it: by pod set, pods and flavors; as the core keeps it while
 * the workload holds its quota, and as status.admission tells it (reference/kueue.md section 1.4).
 */
#include "core/kueue/workload.h"

/* Counts and distinct flavors by pod set into w->sets, in place of those there. */
void admission_record_take(struct workload *w, const struct kueue_assignment *a);
/* The JSON of status.admission; caller frees. A pod set whose flavor has a topology and one of
 * these checks that asks for nodes, which have to come first, says delayedTopologyRequest: Pending
 * (*ret_delayed: some do). */
char *admission_record_text(const struct core *c, const struct workload *w,
			    const struct kueue_assignment *a, const char *const *checks,
			    size_t n_checks, bool *ret_delayed);

#endif
